"""What a matcher returns."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StereoResult:
    """Disparity of the left image and how far to trust it.

    Attributes
    ----------
    disparity : ndarray of float32, shape (h, w)
        px; left pixel x matches right pixel x - disparity; NaN = unknown.
    probability : ndarray of float32, shape (h, w)
        That the disparity is off by less than 1 px; 0 where unknown.  Without a surface and a variance it is the
        paper's posterior instead, which has no such meaning.
    variance : ndarray of float32, shape (h, w), or None
        px^2, NaN where unknown; None if it was not asked for.
    memory : ndarray of float32, shape (2, finest level's h, w), or None
        What the next frame of a video starts from; for :meth:`StereoMatcher.match` only.

    Examples
    --------
    >>> import numpy as np
    >>> result = StereoResult(np.array([[1.5, np.nan]], np.float32), np.array([[0.5, 0.0]], np.float32))
    >>> result.coverage
    0.5
    """

    disparity: NDArray[np.float32]
    probability: NDArray[np.float32]
    variance: NDArray[np.float32] | None = None
    memory: NDArray[np.float32] | None = field(default=None, repr=False, compare=False)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where there is a disparity; ndarray of bool, shape (h, w)."""
        return np.logical_not(np.isnan(self.disparity))

    @property
    def coverage(self) -> float:
        """Share of pixels with a disparity."""
        return float(self.known.mean())
