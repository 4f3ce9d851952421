"""What a matcher returns."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StereoResult:
    """Disparity of the left image and how far to trust it.

    Attributes
    ----------
    disparity : float32 (height, width), px; left pixel x matches right pixel x - disparity; NaN = unknown
    probability : float32 (height, width), that the disparity is off by less than 1 px; 0 where unknown.  The paper's
        posterior where neither a surface nor a variance was asked for
    variance : float32 (height, width), px^2, NaN where unknown; None if it was not asked for
    memory : what the next frame of a video starts from, or None; for `StereoMatcher.match` alone

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
        """bool (height, width): where there is a disparity."""
        return np.logical_not(np.isnan(self.disparity))

    @property
    def coverage(self) -> float:
        """Share of pixels with a disparity."""
        return float(self.known.mean())
