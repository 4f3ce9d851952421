"""What a matcher returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array
from ..common.law import sigmas
from .pictures import SmallPair, warnings_of
from .result_pictures import card_of, plot_comparison, plot_result, text_of
from .settings import Settings


@dataclass(frozen=True, eq=False)
class FrameMemory:
    """What the next frame of a video needs of this one, beside its disparities.

    Attributes
    ----------
    left : ndarray of int16, shape (h, w) of level 1
        Left image, grey value x intensity scale.
    trust : ndarray of float32, shape (blocks down, blocks across)
        How far the disparities were drawn toward those of the frame before, 0 to 1.
    settings : Settings
        Of the matcher, with one thread.
    """

    left: NDArray[np.int16]
    trust: NDArray[np.float32]
    settings: Settings


@dataclass(frozen=True, repr=False)
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
        px^2, NaN where unknown; None if it was not asked for.  Errors follow a Student's t of three degrees of freedom
        with this variance, from which `probability` and `interval` come as well; with ``variance="paper"`` they do not.
    row_offset : float
        px by which the right image was found to lie lower than the left one, at its centre, and was moved up; in a
        video smoothed over time.  0.0 if nothing was corrected: the rows agree, or ``align_rows`` is off.
    row_tilt : float
        What was added to it with every column to the right of the centre.
    memory : FrameMemory or None
        What the next frame of a video needs; for :meth:`StereoMatcher.match` only.  None without a surface.
    bits : int or None
        Of the pixels: 8, 10, 12, 14 or 16, as they were told from the brightest one or set; None for floats within 0..1
        and where it is not known.
    pictures : SmallPair or None
        Small copies of the images, for ``warnings``; None if the result is not that of a matcher.
    match_ms : float or None
        Time that the match took, ms, without that of compiling or loading kernels; the first match of a size, which
        makes the buffers, takes longer.  None if it is not known.
    saved_warnings : tuple of str
        Those that were saved with the result, if it was read from a file, or those of the results that it was combined
        from: `warnings` are these then.
    saved_left : ndarray of uint8, shape (h, w) of a small copy, or None
        The left image that was saved with it, grey levels, 0 where nothing was seen: `bdis.combine` tells by it whether
        results are of one pair.

    Examples
    --------
    >>> import numpy as np
    >>> result = StereoResult(np.array([[1.5, np.nan]], np.float32), np.array([[0.5, 0.0]], np.float32))
    >>> result.coverage
    0.5
    >>> result
    StereoResult(2x1, 50.0% known, disparity 1.5 px on median)
    """

    disparity: NDArray[np.float32]
    probability: NDArray[np.float32]
    variance: NDArray[np.float32] | None = None
    row_offset: float = 0.0
    row_tilt: float = 0.0
    memory: FrameMemory | None = field(default=None, compare=False)
    bits: int | None = None
    pictures: SmallPair | None = field(default=None, compare=False)
    match_ms: float | None = field(default=None, compare=False)
    saved_warnings: tuple[str, ...] = field(default=(), compare=False)
    saved_left: NDArray[np.uint8] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        """For notebooks: thumbnails of the disparity and its uncertainty, coverage, time and warnings."""
        return card_of(self)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to know of the pair before this is trusted, a sentence each; empty if nothing looks wrong.

        Told are images that are swapped, mirrored, the same twice, of different brightness, of different scenes or with
        differing rows, such as those of another zoom, a single pixel that makes all others dark, and blue tissue; with
        a variance also interlaced, soft and strongly compressed ones.  They are looked for when they are first asked
        for, which takes some milliseconds, and up to half a second where something is wrong.

        Examples
        --------
        >>> import numpy as np, bdis
        >>> image = np.random.default_rng(0).integers(1, 255, (32, 48), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
        >>> bdis.StereoMatcher("fast").match(image, image).warnings
        ('left and right are the same picture: its disparity is 0 everywhere, and says nothing about depth',)
        """
        return self.saved_warnings or warnings_of(self)

    @property
    def largest_row_offset(self) -> float:
        """Largest distance of a row of the right image from where it should be, px; it is at one of the borders."""
        half_width: float = self.disparity.shape[1] / 2
        return abs(self.row_offset) + abs(self.row_tilt) * half_width

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where there is a disparity; ndarray of bool, shape (h, w)."""
        return np.logical_not(np.isnan(self.disparity))

    @property
    def coverage(self) -> float:
        """Share of pixels with a disparity."""
        return float(self.known.mean())

    def interval(self, share: float = 0.95) -> NDArray[np.float32]:
        """Half of the interval around the disparity that holds a share of the errors.

        Parameters
        ----------
        share : float
            Above 0 and below 1.

        Returns
        -------
        ndarray of float32, shape (h, w)
            px; NaN where unknown.

        Raises
        ------
        TypeError
            The share is no number.
        ValueError
            It is out of range, or the result has no variance.

        Examples
        --------
        >>> import numpy as np
        >>> one = np.ones((1, 1), np.float32)
        >>> interval = StereoResult(20 * one, one, variance=0.01 * one).interval(0.95)
        >>> f"20 +- {interval[0, 0]:.3f} px"
        '20 +- 0.184 px'
        """
        return np.sqrt(self.known_variance()) * np.float32(sigmas(share))

    def plot(self, *, title: str | None = None) -> Any:
        """Draw the disparity and its standard deviation, or without a variance its probability, with Matplotlib.

        Unknown pixels are grey, the colours span 98 % of the values, and ``warnings`` stand above in red.  Notebooks
        show the figure; in a script call ``matplotlib.pyplot.show()``, or save it.

        Parameters
        ----------
        title : str, optional
            Above the maps.  Default: how many pixels are known.

        Returns
        -------
        ndarray of matplotlib.axes.Axes, shape (2,)

        Raises
        ------
        ImportError
            Matplotlib is not installed.

        See Also
        --------
        Rig.plot_depth : The same in mm.

        Examples
        --------
        >>> import numpy as np
        >>> one = np.ones((40, 60), np.float32)
        >>> axes = StereoResult(20 * one, one, variance=0.01 * one).plot()
        >>> [axis.get_title(loc="left") for axis in axes]
        ['disparity', 'standard deviation']
        >>> import matplotlib.pyplot as plt
        >>> plt.close(axes[0].figure)  # or axes[0].figure.savefig("result.png")
        """
        return plot_result(self, title)

    def compare(self, reference: StereoResult | Array, *, title: str | None = None) -> Any:
        """Draw the disparity beside a reference, and the absolute error, with Matplotlib.

        Both disparities have the same colours; the error is unknown where one of them is.

        Parameters
        ----------
        reference : StereoResult or ndarray, shape (h, w)
            Another result of the same pair, or a disparity in px; NaN where unknown.
        title : str, optional
            Above the maps.  Default: median error, share of errors below 1 px, and how much of the reference is known.

        Returns
        -------
        ndarray of matplotlib.axes.Axes, shape (3,)

        Raises
        ------
        ImportError
            Matplotlib is not installed.
        TypeError
            The reference holds no numbers.
        ValueError
            The reference is of another size, or not in px: int16 as OpenCV's matchers give it, or KITTI's uint16.

        Examples
        --------
        >>> import numpy as np
        >>> one = np.ones((40, 60), np.float32)
        >>> axes = StereoResult(20 * one, one).compare(20.25 * one)
        >>> axes[0].figure.get_suptitle()
        'median error 0.25 px, 100.0% of the errors below 1 px; 100.0% of the pixels with a reference are known'
        >>> import matplotlib.pyplot as plt
        >>> plt.close(axes[0].figure)
        """
        return plot_comparison(self, reference, title)

    def known_variance(self) -> NDArray[np.float32]:
        """The variance, or an error that says how to get it.

        Raises
        ------
        ValueError
            The result has none.
        """
        if self.variance is None:
            raise ValueError("the result has no variance; ask the matcher for it: StereoMatcher(..., variance=True)")
        return self.variance
