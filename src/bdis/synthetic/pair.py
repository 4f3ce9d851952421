"""A rendered pair and its exact depth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..common.arrays import Array, size_text
from .options import RenderOptions
from .sensor import expose


@dataclass(frozen=True)
class RenderedPair:
    """A rectified pair of images with exact depth.

    Attributes
    ----------
    left, right : ndarray of uint8, shape (height, width, 3)
        RGB.
    disparity : ndarray of float32, shape (height, width)
        Of the left image, px; NaN where the right camera does not see the point.
    depth_mm : ndarray of float32, shape (height, width)
        Of the left image, everywhere.
    focal_px, baseline_mm, cx, cy : float
        The cameras; ``depth_mm = focal_px * baseline_mm / full_disparity``.
    occluded : ndarray of bool, shape (height, width)
        Left pixels whose point is hidden from the right camera or outside its image.
    full_disparity : ndarray of float32, shape (height, width)
        As ``disparity``, but everywhere.
    left_clean, right_clean : ndarray of float32, shape (height, width, 3)
        The images before sensor noise and rounding, grey levels.
    """

    left: Array
    right: Array
    disparity: Array
    depth_mm: Array
    focal_px: float
    baseline_mm: float
    cx: float
    cy: float
    occluded: Array
    full_disparity: Array
    left_clean: Array = field(repr=False)
    right_clean: Array = field(repr=False)

    def __repr__(self) -> str:
        size, low, high = size_text(self.left.shape), self.depth_mm.min(), self.depth_mm.max()
        cameras = f"focal {self.focal_px:.1f} px, baseline {self.baseline_mm:.2f} mm"
        return f"RenderedPair({size}, {low:.1f} to {high:.1f} mm away, {cameras})"

    def with_noise(self, noise: float, noise_seed: int) -> RenderedPair:
        """The same pair with other sensor noise; fast, because nothing is rendered again.

        Parameters
        ----------
        noise : float
            Standard deviation, 0 to 50 grey levels.
        noise_seed : int
            The same seed gives the same bits.

        Returns
        -------
        RenderedPair

        Raises
        ------
        ValueError, TypeError
            Noise out of range, or a seed that is not a whole number from 0 on.

        Examples
        --------
        >>> from bdis.synthetic import render
        >>> pair = render("plane", 32, 48, noise=2.0)
        >>> again = pair.with_noise(2.0, noise_seed=5)
        >>> bool((again.left != pair.left).any()), again.depth_mm is pair.depth_mm
        (True, True)
        """
        checked = RenderOptions(noise=noise, noise_seed=noise_seed)
        if checked.noise_seed is None:
            raise TypeError("noise_seed must be a whole number, but it is None")
        left, right = expose(self.left_clean, self.right_clean, checked.noise, (checked.noise_seed,))
        return replace(self, left=left, right=right)
