"""Separates the two views of a picture that holds both."""

from __future__ import annotations

from ...common.arrays import Array
from ...common.optional import require

SIDE_BY_SIDE, TOP_BOTTOM = LAYOUTS = ("side-by-side", "top-bottom")


def guess_layout(width: int, height: int, squeezed: bool = False) -> str:
    """Guess how two views are arranged in a picture from its shape.

    A single view is assumed to be wider than high, but less than twice as wide.

    Parameters
    ----------
    width, height : int
        Size of the picture, px.
    squeezed : bool
        Each view was squeezed to half its width or height.

    Returns
    -------
    str
        "side-by-side" or "top-bottom".

    Raises
    ------
    ValueError
        The shape fits a single view as well.

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
        f"it holds both, add --layout {SIDE_BY_SIDE} or --layout {TOP_BOTTOM}, and --squeezed if each view has half "
        "its width or height"
    )


class Splitter:
    """Separates pictures into their left and right views.

    Parameters
    ----------
    layout : {"side-by-side", "top-bottom"}, optional
        Left view at the left, or at the top.  Default: :func:`guess_layout` for every picture.
    squeezed : bool
        Each view was squeezed to half its width (side-by-side) or height (top-bottom), and is stretched back.

    Attributes
    ----------
    layout : str or None
        As given.
    used : str or None
        The layout of the last picture.

    Raises
    ------
    ValueError
        There is no such layout.

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
        self.layout, self.squeezed = layout, squeezed
        self.used: str | None = None

    def __call__(self, both: Array) -> tuple[Array, Array]:
        """Split a picture.

        Parameters
        ----------
        both : ndarray, shape (h, w) or (h, w, channels)
            The picture.

        Returns
        -------
        left, right : ndarray
            Views of ``both``, or copies if they were squeezed.

        Raises
        ------
        ValueError
            The layout cannot be guessed, or the picture cannot be halved.
        """
        height, width = both.shape[:2]
        layout = self.used = self.layout or guess_layout(width, height, self.squeezed)
        axis = 1 if layout == SIDE_BY_SIDE else 0
        if both.shape[axis] % 2:
            raise ValueError(f"a picture of {width}x{height} cannot be halved for layout {layout}")
        middle = both.shape[axis] // 2
        left, right = (both[:, :middle], both[:, middle:]) if axis else (both[:middle], both[middle:])
        return (_stretched(left, axis), _stretched(right, axis)) if self.squeezed else (left, right)


def _stretched(view: Array, axis: int) -> Array:
    """A view at twice its size along an axis."""
    cv2 = require("cv2", "stretching squeezed views")
    height, width = view.shape[:2]
    size = (2 * width, height) if axis else (width, 2 * height)
    stretched: Array = cv2.resize(view, size, interpolation=cv2.INTER_LINEAR)
    return stretched
