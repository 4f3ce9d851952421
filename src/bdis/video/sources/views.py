"""Two views in one picture, and how to take them apart."""

from ...common.arrays import Array
from ...common.optional import require

SIDE_BY_SIDE, TOP_BOTTOM = LAYOUTS = ("side-by-side", "top-bottom")


def guess_layout(width: int, height: int, squeezed: bool = False) -> str:
    """How two views are arranged in a picture, told from its shape.

    A single view is wider than high, but less than twice as wide.

    Raises
    ------
    ValueError
        The picture could be anything.

    Examples
    --------
    >>> guess_layout(2560, 720), guess_layout(1280, 1440), guess_layout(1920, 1080, squeezed=True)
    ('side-by-side', 'top-bottom', 'side-by-side')
    """
    if width >= 2 * height or (squeezed and width > height):
        return SIDE_BY_SIDE
    if width <= height:
        return TOP_BOTTOM
    raise ValueError(
        f"a picture of {width}x{height} has the shape of one view; if it is the left one, give the right one too; if "
        f"it holds two, say how: --layout {SIDE_BY_SIDE} or {TOP_BOTTOM}, and --squeezed if each has half its width"
    )


class Splitter:
    """Takes pictures of two views apart.

    Parameters
    ----------
    layout : "side-by-side" (left view first) or "top-bottom" (left view on top); None: see :func:`guess_layout`
    squeezed : each view has half its width (side-by-side) or height (top-bottom), and is stretched again

    Examples
    --------
    >>> import numpy as np
    >>> left, right = Splitter()(np.uint8([[1, 1, 2, 2], [1, 1, 2, 2]]))
    >>> left.tolist(), right.tolist()
    ([[1, 1], [1, 1]], [[2, 2], [2, 2]])
    """

    def __init__(self, layout: str | None = None, squeezed: bool = False):
        if layout not in (None, *LAYOUTS):
            raise ValueError(f"layout is {layout!r}; expected {' or '.join(LAYOUTS)}")
        self._layout, self._squeezed = layout, squeezed
        self.used: str | None = None  # the layout of the last picture

    def __call__(self, both: Array) -> tuple[Array, Array]:
        """The left and the right view of a picture (height, width[, channels]); parts of it where that will do."""
        height, width = both.shape[:2]
        layout = self.used = self._layout or guess_layout(width, height, self._squeezed)
        axis = 1 if layout == SIDE_BY_SIDE else 0
        if both.shape[axis] % 2:
            raise ValueError(f"a picture of {width}x{height} cannot be halved for layout {layout}")
        middle = both.shape[axis] // 2
        left, right = (both[:, :middle], both[:, middle:]) if axis else (both[:middle], both[middle:])
        return (_stretched(left, axis), _stretched(right, axis)) if self._squeezed else (left, right)


def _stretched(view: Array, axis: int) -> Array:
    cv2 = require("cv2", "stretching squeezed views")
    height, width = view.shape[:2]
    size = (2 * width, height) if axis else (width, 2 * height)
    stretched: Array = cv2.resize(view, size, interpolation=cv2.INTER_LINEAR)
    return stretched
