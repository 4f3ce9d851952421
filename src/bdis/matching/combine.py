"""Several results of one pair made one, by their laws of error."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.law import share_within
from .disparity_px import FARTHEST
from .pictures import small_left
from .result import StereoResult
from .window_means import correlation, window_means

# Chosen with `balanced`, SGBM, BM, ELAS and DIS flow on real, rendered and the authors' pairs; `python -m benchmarks
# --sections combined` measures it. Half or double of a number changes little, but with half of UNKNOWN_TO_LEADER SGBM's
# mismatches make rendered scenes 5 % worse.
OTHERS = 4.0  # factor on the variances of all but the leader when they are weighted
AGREEMENT = 3.0  # exponent: how fast the weight of a disparity falls with its distance from the leader's
SURER = 0.9  # another result leads if its mean sigma is below this share of the first one's
UNKNOWN_TO_LEADER = 20.0  # factor on the variance where the leader knows nothing: it had a reason to leave it out
FEWEST_COMMON = 100  # pixels that two or all know, to compare their sigmas and disparities
UNSURE = 1.0  # px^2: with a larger variance all around a pixel, the leader may have missed the surface
AROUND = 1, 2, 3  # px, steps whose sum is how far around
# Correlation of the small left images, their median: 0.95 and more of one image that was equalised, made grey or
# compressed; at most 0.73 with the next frame of a moving camera, 0.53 with other frames of the authors' sets.
SAME_IMAGE = 0.85
TEXTURED = 4.0  # grey levels^2, variance of the windows that are compared
ROWS = 32  # at a time: what is computed of them stays in the cache


def combine(results: Iterable[StereoResult]) -> StereoResult:
    """The most probable disparity of each pixel, given what several matchers say of it.

    One result leads: the first, unless another is clearly surer on average where all know something.  Disparities
    that agree with its are averaged by their precision.  Others move it only where it is unsure of a whole area; at
    depth edges a mean would lie on neither surface.  Disagreement is part of the variance, the more so the closer the
    two are in the rest of the image, as is that some know nothing of a pixel, most of all the leader.  What it does not
    know comes from the surest of the others.  Matchers see the same images and make the same errors, so that agreement
    between them does not make the variance smaller than theirs.

    Parameters
    ----------
    results : iterable of StereoResult
        Of the same pair, the one to trust most first, each with a variance: from ``StereoMatcher(variance=True)`` or,
        for other matchers, from :func:`bdis.assess`.

    Returns
    -------
    StereoResult
        Known where any of them is; with the warnings of all.

    Raises
    ------
    TypeError
        Something else than results, or one result that is not in a list.
    ValueError
        No results, results of different sizes or of different left images, one without a variance, or one that is
        negative or 0 where the disparity is known: no disparity is exact, and such a result would decide everything.
        Or disparities beyond 100 000 px.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones((1, 1), np.float32)
    >>> sure, unsure = StereoResult(20 * one, one, 0.01 * one), StereoResult(21 * one, one, 0.25 * one)
    >>> result = combine([sure, unsure])
    >>> f"{result.disparity[0, 0]:.2f} px, sigma {np.sqrt(result.variance[0, 0]):.2f} px"
    '20.00 px, sigma 0.13 px'
    """
    if not isinstance(results, Iterable):
        raise TypeError(f"combine takes a list of results, but got {type(results).__name__}: combine([first, second])")
    if not (results := list(results)):
        raise ValueError("there are no results to combine")
    for number, result in enumerate(results):
        _check(result, f"results[{number}]")
    shapes = {result.disparity.shape for result in results}
    if len(shapes) > 1:
        raise ValueError(f"the results have different sizes: {' and '.join(map(str, sorted(shapes)))}")
    images = [small_left(result) for result in results]
    for number, image in enumerate(images):
        if _show_others(images[0], image):
            raise ValueError(
                f"results[{number}] is of another left image than results[0]: combine takes results of one pair"
            )
    disparities = np.stack([result.disparity for result in results])
    variances = np.stack([result.known_variance() for result in results])
    known = np.isfinite(disparities) & np.isfinite(variances)
    disparity, variance = _most_probable(np.where(known, disparities, 0), np.where(known, variances, np.inf))
    is_unknown = ~known.any(0)
    disparity[is_unknown] = variance[is_unknown] = np.nan
    probability = np.where(is_unknown, np.float32(0), share_within(1.0, variance))
    with_pictures = [result for result, image in zip(results, images) if image is not None]
    shown = (with_pictures or results)[0]
    return StereoResult(
        disparity, probability, variance, shown.row_offset, shown.row_tilt, bits=shown.bits, pictures=shown.pictures,
        saved_warnings=tuple(dict.fromkeys(text for result in with_pictures for text in result.warnings)),
        saved_left=shown.saved_left,
    )  # fmt: skip


def _check(result: Any, name: str) -> None:
    """Refuse what would be combined to something that looks right."""
    if not isinstance(result, StereoResult):
        raise TypeError(f"{name} must be a StereoResult, but it is {type(result).__name__}; bdis.assess makes one")
    disparity, variance = np.asarray(result.disparity), np.asarray(result.known_variance())
    if disparity.ndim != 2 or disparity.shape != variance.shape or {disparity.dtype.kind, variance.dtype.kind} != {"f"}:
        raise ValueError(
            f"{name} must have a disparity and a variance of float32, shape (h, w), but they are {disparity.dtype} of "
            f"shape {disparity.shape} and {variance.dtype} of shape {variance.shape}"
        )
    farthest = np.max(np.abs(disparity), where=np.isfinite(disparity), initial=0)
    if farthest > FARTHEST:
        raise ValueError(f"{name} has disparities of up to {farthest:g} px; unknown is NaN")
    if (variance < 0).any():
        raise ValueError(f"{name} has negative variances, down to {np.nanmin(variance):g}; unknown is NaN")
    if ((variance == 0) & np.isfinite(disparity)).any():
        raise ValueError(
            f"{name} has variances of 0, as if its disparities were exact; bdis.assess tells how far to trust them"
        )


def _show_others(first: Array | None, second: Array | None) -> bool:
    """Whether two small copies are plainly of different left images; False if nothing tells."""
    if first is None or second is None or first is second or first.shape != second.shape:
        return False
    images = [small.astype(np.float32) for small in (first, second)]
    is_told = (first > 0) & (second > 0)
    for image in images:
        is_told &= window_means(image * image) - window_means(image) ** 2 > TEXTURED
    if np.count_nonzero(is_told) < FEWEST_COMMON:
        return False
    return bool(np.median(correlation(*images)[is_told]) < SAME_IMAGE)


def _most_probable(disparities: Array, variances: Array) -> tuple[Array, Array]:
    """Disparity and variance of each pixel; an infinite variance = unknown."""
    variances = np.maximum(variances, np.float32(1e-8))
    is_known = np.isfinite(variances)
    leader = _leader(variances, is_known)
    usual = _usual_distances(disparities, is_known, leader)
    unsure = _lowest_around(variances[leader])
    disparity, variance = np.empty((2, *unsure.shape), np.float32)
    for top in range(0, len(unsure), ROWS):
        rows = slice(top, top + ROWS)
        disparity[rows], variance[rows] = _of_rows(
            disparities[:, rows], variances[:, rows], leader, usual, unsure[rows]
        )
    return disparity, variance


def _of_rows(disparities: Array, variances: Array, leader: int, usual: Array, unsure: Array) -> tuple[Array, Array]:
    """Disparity and variance of some rows; ``usual`` and ``unsure`` are what the functions below return."""
    is_known = np.isfinite(variances)
    doubted = OTHERS * variances
    doubted[leader] = variances[leader]
    surest = np.where(is_known[leader], leader, doubted.argmin(0))[None]
    start, its_variance = (np.take_along_axis(of, surest, 0)[0] for of in (disparities, variances))
    distances = (disparities - start) ** 2
    weights = (1 + distances / doubted) ** -AGREEMENT / doubted
    # All others together move the leader as far as one would, and doubt it as much: they are often wrong together.
    # One of them that alone knows a pixel moves it by its share: counted as one, four others make set 31 2.4 % worse.
    others = max(len(variances) - 1, 1)
    weights += (is_known & is_known[leader]) * _share(unsure, usual + UNSURE) / (others * its_variance)
    disparity = _mean(disparities, weights)
    # Where two disagree, the variance that `assess` gives tells little more than how far: what is usual tells more.
    spread = np.where(is_known, _share(its_variance, usual) * distances, 0).sum(0) / others
    distances = (disparities - disparity) ** 2
    variance = _mean(np.where(is_known, variances + distances, 0), 1 / (doubted + distances))
    count = np.maximum(is_known.sum(0), 1)
    variance = (variance + spread / count) * (1 + (len(variances) - count) / others)  # not all know it
    variance *= np.where(is_known[leader], 1, UNKNOWN_TO_LEADER)
    return disparity, variance


def _usual_distances(disparities: Array, is_known: Array, leader: int) -> Array:
    """Square of the mean distance of each result from the leader, shape (n, 1, 1); infinite if that is not known."""
    usual = np.full((len(disparities), 1, 1), np.inf, np.float32)
    for number, disparity in enumerate(disparities):
        in_common = is_known[number] & is_known[leader]
        if number != leader and np.count_nonzero(in_common) >= FEWEST_COMMON:
            usual[number] = np.abs(disparity - disparities[leader])[in_common].mean() ** 2
    return usual


def _lowest_around(values: Array) -> Array:
    """The lowest value of a square around each pixel."""
    for _ in range(2):
        for step in AROUND:
            lowest = values.copy()
            np.minimum(lowest[step:], values[:-step], out=lowest[step:])
            np.minimum(lowest[:-step], values[step:], out=lowest[:-step])
            values = lowest
        values = values.T
    return values


def _share(variance: Array, noise: Array) -> Array:
    """How much of a disagreement may be an error of the leader: much if its variance is larger than usual noise."""
    variance = np.minimum(variance, np.float32(1e8))  # unknown is infinite
    return np.asarray((variance / (variance + noise)) ** 2)


def _leader(variances: Array, is_known: Array) -> int:
    """Which result is trusted most."""
    in_common = is_known.all(0)
    if np.count_nonzero(in_common) < FEWEST_COMMON:
        return 0
    sigmas = np.sqrt(variances[:, in_common]).mean(1, dtype=np.float64)
    return int(sigmas.argmin()) if sigmas.min() < SURER * sigmas[0] else 0


def _mean(values: Array, weights: Array) -> Array:
    """Weighted mean over the results; 0 where nothing has a weight."""
    return np.asarray((weights * values).sum(0) / np.maximum(weights.sum(0), np.float32(1e-30)))
