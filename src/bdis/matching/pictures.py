"""What is wrong with a pair, told from small copies of its images: swapped, mirrored, the same twice, unlike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array
from .given_map import FEW_FIT, suspicions
from .picture_quality import Strips, interlaced, poor_quality
from .readings import matches_by_chance, other_reading
from .uncorrected_rows import uncorrected_rows

if TYPE_CHECKING:
    from .result import StereoResult

SHORT_SIDE_PX = 48  # of the small copies, or more
INEXACT_ROWS_PX = 1.0  # rows that differ by more belong to a calibration that is not exact
FEW_KNOWN = 0.5  # share of the seen pixels; with fewer it is looked for a reason
HARDLY_ANY = 0.1  # share of the seen pixels; with fewer there is a warning in any case
HARDLY = "only"  # how a warning of that begins
# If every pixel gets a disparity, those count as known that have a higher probability: 44 to 98 % of them in 19 real
# and rendered pairs, at most 8 % in unrelated ones and 20 % in swapped ones.
LIKELY = 0.1
EVERY_PIXEL = 0.99  # share of the seen pixels: are all known?  Without ``dense`` so many are only where all is well.
UNLIKE_BRIGHTNESS = 1.3  # factor; at 1.4 the error grows by 15 % and coverage shrinks by up to a quarter
# Of white, the brightest place; the brightest pixel, from which white was told, has a quarter or more, but in floats.
# With an eighth the error grows by an eighth on rendered tissue and doubles in the colon, with less it grows on.
UNUSED_RANGE = 0.125
# The same for floats that are read as 0 to 255, for which no value speaks: white may be 100.  With 0.4 the error grows
# by a half in the colon; 41 real pairs and 20 rendered ones reach 0.65 and more.
UNUSED_OF_255 = 0.4
BLUE_SHARE = 0.75  # of the pixels; tissue in the right order of channels has at most 0.02, any real pair 0.1
NO_PARALLAX_PX = 0.1
MANY_AT_ZERO = 0.03  # share of the known pixels

_BRIGHT, _DARK = 230, 30  # grey levels beyond which colours are not told apart


class SmallPair(NamedTuple):
    """Small copies of a pair that was matched.

    Attributes
    ----------
    left, right : ndarray of int16, shape (h, w)
        Grey value x intensity scale; 0 was not seen.
    grey : int
        The intensity scale, steps per grey level.
    px : int
        px of the image that a pixel of these is wide.
    smallest, largest : float
        Disparities that were searched, px of the image; infinite where there is no limit.
    colors : ndarray, shape (n, 3), or None
        Some pixels of the left image, red, green and blue of 0 to 255; None for a grey one.
    is_given : bool
        The disparities were given by the user (`bdis.assess`), and only judged.
    moved : (float, float)
        The row offset and tilt by which ``right`` was moved up, as in the result; later estimates moved only the finer
        levels.
    told_white : float or None
        Brightness of white if it was told from the brightest pixel; None if it was given, or follows from the type.
    is_float : bool
        The pixels were given as floats.
    strips : Strips or None
        A few rows of both images.
    """

    left: NDArray[np.int16]
    right: NDArray[np.int16]
    grey: int
    px: int
    smallest: float
    largest: float
    colors: Array | None
    is_given: bool = False
    moved: tuple[float, float] = (0.0, 0.0)
    told_white: float | None = None
    is_float: bool = False
    strips: Strips | None = None


def small_left(result: StereoResult) -> NDArray[np.uint8] | None:
    """The small copy of the left image in grey levels, 0 where nothing was seen; None if there is none.

    Examples
    --------
    >>> from bdis import StereoResult
    >>> image = np.array([[0, 4, 1608]], np.int16)
    >>> small = SmallPair(image, image, 16, 8, 0, np.inf, None)
    >>> small_left(StereoResult(image, image, pictures=small)).tolist()
    [[0, 1, 100]]
    """
    small = result.pictures
    if small is None:
        return result.saved_left
    grey = np.clip(np.rint(small.left / small.grey), 1, 255)
    return np.where(small.left > 0, grey, 0).astype(np.uint8)


def warnings_of(result: StereoResult) -> tuple[str, ...]:
    """What the user should know of a pair before the result is trusted, one sentence each.

    Parameters
    ----------
    result : StereoResult
        Of a matcher; read from a file or made by other means it has no pictures, and less can be told.

    Returns
    -------
    tuple of str
    """
    is_given = result.pictures is not None and result.pictures.is_given
    same, unlike = same_picture(result), (unlike_map if is_given else unlike_pictures)(result)
    found = [same, unlike, "" if same or unlike else uncorrected_rows(result), "" if same else infinitely_far(result)]
    if not found[2]:
        found.append(differing_rows(result))
    if unlike.startswith(HARDLY) and result.pictures is not None and not is_given:  # no other reading explains it
        found.append(narrow_range(result.pictures))
    if result.pictures is not None:
        found += [unlike_brightness(result.pictures), unused_range(result.pictures), blue_tissue(result.pictures)]
        strips = result.pictures.strips
        if strips is not None and not same:
            found.append(interlaced(strips))
        if strips is not None and not any(found) and not doubts_nothing(result):  # else errors are large anyway
            found.append(poor_quality(strips))
    return (*(suspicions(result) if is_given else ()), *(text for text in found if text))


def same_picture(result: StereoResult) -> str:
    """A warning if left and right show the same; empty if they do not.

    Examples
    --------
    >>> import bdis
    >>> image = np.random.default_rng(0).integers(1, 255, (32, 48), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
    >>> same_picture(bdis.StereoMatcher("fast").match(image, image))
    'left and right are the same picture: its disparity is 0 everywhere, and says nothing about depth'
    """
    small = result.pictures
    if small is not None and small.left.any() and np.array_equal(small.left, small.right):
        return "left and right are the same picture: its disparity is 0 everywhere, and says nothing about depth"
    known = result.disparity[result.known]
    if len(known) > FEW_KNOWN * result.disparity.size and np.percentile(np.abs(known), 95) < NO_PARALLAX_PX:
        return "the disparity is 0 everywhere: left and right show the same view"
    return ""


def infinitely_far(result: StereoResult) -> str:
    """A warning if many pixels look infinitely far because no smaller disparity is searched; empty if they do not.

    Examples
    --------
    >>> from bdis import StereoResult
    >>> image, one = np.full((2, 2), 160, np.int16), np.ones((2, 2), np.float32)
    >>> small = SmallPair(image, image, 16, 8, 0, np.inf, None)
    >>> infinitely_far(StereoResult(0 * one, 0.9 * one, pictures=small)).split(":")[0]
    '100% of the disparities are 0 px, the smallest that is searched, as if all of this were infinitely far'
    """
    known, small = result.disparity[result.known], result.pictures
    if small is None or small.is_given or small.smallest != 0 or not len(known) or doubts_nothing(result):
        return ""
    share = float(np.mean(known < NO_PARALLAX_PX))
    if share < MANY_AT_ZERO:
        return ""
    return (
        f"{share:.0%} of the disparities are 0 px, the smallest that is searched, as if all of this were infinitely "
        "far: if the cameras are turned towards each other, set min_disparity below 0 (with a calibration this is done)"
    )


def unlike_pictures(result: StereoResult) -> str:
    """A warning if the images do not match, and why if that can be told; empty if they do.

    Examples
    --------
    >>> import bdis
    >>> from bdis.synthetic.renderer import render
    >>> pair = render("tissue", 240, 320)
    >>> unlike_pictures(bdis.StereoMatcher().match(pair.right, pair.left))
    'left and right look swapped (or the cameras are turned towards each other: then set min_disparity below 0)'
    """
    small = result.pictures
    seen = float(np.mean(small.left > 0)) if small is not None else 1.0
    known = result.coverage / seen if seen > 0 else 0.0
    fills_all = known >= EVERY_PIXEL
    enough = _likely_share(result) / seen if fills_all else known
    if small is not None and small.left.any():
        if (doubts_nothing(result) or enough < FEW_KNOWN) and (reason := other_reading(small)):
            return reason
        if doubts_nothing(result) and matches_by_chance(small):
            return (
                "left and right match hardly better than pictures of different scenes: do both images show the same "
                "scene, at the same time, and are they rectified?"
            )
    return few_likely(result, known, seen) if fills_all else few_known(known)


def doubts_nothing(result: StereoResult) -> bool:
    """Whether every disparity is as sure as can be, as those of ``dis``.

    Examples
    --------
    >>> from bdis import StereoResult
    >>> one = np.ones((2, 2), np.float32)
    >>> doubts_nothing(StereoResult(one, one)), doubts_nothing(StereoResult(one, 0.9 * one))
    (True, False)
    """
    known = result.known
    return bool(known.any() and (result.probability[known] == 1).all())


def unlike_map(result: StereoResult) -> str:
    """A warning if hardly any of the disparities that were given fits the images; empty if enough do.

    Examples
    --------
    >>> import bdis
    >>> from bdis.synthetic.renderer import render
    >>> pair = render("tissue", 240, 320)
    >>> unlike_map(bdis.assess(pair.left, pair.right, 2 * pair.disparity))
    'only 0.0% of the disparities fit the images: are they of this pair, of its left image, and in px?'
    """
    known, small = result.known, result.pictures
    fitting = float((result.probability[known] > 0.5).mean()) if known.any() else 1.0
    if fitting >= FEW_FIT:
        return ""
    reason = other_reading(small) if small is not None and small.left.any() else ""
    return reason or (
        f"only {fitting:.1%} of the disparities fit the images: are they of this pair, of its left image, and in px?"
    )


def few_known(share: float) -> str:
    """A warning if hardly any pixel is known; empty if enough are.

    Examples
    --------
    >>> few_known(0.021)
    'only 2.1% of the pixels are known: do both images show the same scene, at the same time, and are they rectified?'
    """
    if share >= HARDLY_ANY:
        return ""
    return (
        f"{HARDLY} {share:.1%} of the pixels are known: do both images show the same scene, at the same time, and are "
        "they rectified?"
    )


def few_likely(result: StereoResult, known: float, seen: float = 1.0) -> str:
    """A warning if every pixel has a disparity, but hardly any is likely to be right; empty otherwise.

    ``known`` is the share of the seen pixels that have a disparity, ``seen`` the share of pixels that the camera saw.

    Examples
    --------
    >>> from bdis import StereoResult
    >>> one = np.ones((4, 4), np.float32)
    >>> few_likely(StereoResult(one, 0.02 * one), known=1).split(":")[0]
    'only 0.0% of the disparities are likely'
    """
    if not known >= EVERY_PIXEL or (share := _likely_share(result) / seen) >= HARDLY_ANY:
        return ""
    return (
        f"{HARDLY} {share:.1%} of the disparities are likely: do both images show the same scene, at the same time, "
        "and are they rectified?"
    )


def _likely_share(result: StereoResult) -> float:
    return float((result.probability > LIKELY).mean())


def narrow_range(small: SmallPair) -> str:
    """A question whether the scene is nearer or farther than is searched; empty if everything is.

    Examples
    --------
    >>> image = np.full((2, 2), 160, np.int16)
    >>> narrow_range(SmallPair(image, image, 16, 8, 0, 20, None))
    'disparities from 0 to 20 px are searched: is the scene within them?'
    """
    if small.smallest == 0 and not math.isfinite(small.largest):
        return ""
    largest = f" to {small.largest:g} px" if math.isfinite(small.largest) else " px on"
    return f"disparities from {small.smallest:g}{largest} are searched: is the scene within them?"


def differing_rows(result: StereoResult) -> str:
    """A warning if rows of the right image were moved by more than a px; empty if they were not.

    Examples
    --------
    >>> from bdis import StereoResult
    >>> nothing = np.zeros((1, 1), np.float32)
    >>> differing_rows(StereoResult(nothing, nothing, row_offset=-1.42))
    'the right image lies 1.4 px higher than the left one: this result is corrected, but the calibration is not exact'
    """
    if not result.largest_row_offset > INEXACT_ROWS_PX:
        return ""
    where = "lower" if result.row_offset > 0 else "higher"
    tilt = "" if result.row_tilt == 0 else f", and {result.largest_row_offset:.1f} px at one border"
    # An image that is turned has tilted columns as well, which change the disparities and cannot be told from depth.
    is_tilted = result.largest_row_offset - abs(result.row_offset) > INEXACT_ROWS_PX
    rows_only = "the rows of this result are corrected, its columns are not"
    corrected = rows_only if is_tilted else "this result is corrected"
    return (
        f"the right image lies {abs(result.row_offset):.1f} px {where} than the left one{tilt}: {corrected}, "
        f"{'and' if is_tilted else 'but'} the calibration is not exact"
    )


def unlike_brightness(small: SmallPair) -> str:
    """A warning if one image is much brighter than the other; empty if it is not.

    Examples
    --------
    >>> left = np.full((48, 64), 1600, np.int16)
    >>> unlike_brightness(SmallPair(left, left // 2, 16, 8, 0, np.inf, None))
    'the left image is 2.0 times as bright as the right one: with the same exposure more would be known'
    """
    seen = (small.left > 0) & (small.right > 0)
    if not seen.any():
        return ""
    left, right = (max(float(np.median(image[seen])), 1.0) for image in (small.left, small.right))
    if max(left, right) < UNLIKE_BRIGHTNESS * min(left, right):
        return ""
    brighter, other = ("left", "right") if left > right else ("right", "left")
    factor = max(left, right) / min(left, right)
    return (
        f"the {brighter} image is {factor:.1f} times as bright as the {other} one: "
        "with the same exposure more would be known"
    )


def unused_range(small: SmallPair) -> str:
    """A warning if white was told from a brightest pixel that nothing else comes near; empty if it was not.

    Examples
    --------
    >>> image = np.full((48, 64), 160, np.int16)
    >>> unused_range(SmallPair(image, image, 16, 8, 0, np.inf, None, told_white=65535.0))
    'the images are read as 0 to 65535, as their brightest pixel has it, but reach only 3.9%: pass bits=, or scale them'
    """
    brightest = max(int(small.left.max(initial=0)), int(small.right.max(initial=0))) / (255 * small.grey)
    least = UNUSED_OF_255 if small.is_float and small.told_white == 255 else UNUSED_RANGE
    if small.told_white is None or not 0 < brightest < least:
        return ""
    return (
        f"the images are read as 0 to {small.told_white:g}, as their brightest pixel has it, but reach only "
        f"{brightest:.1%}: pass bits=, or scale them"
    )


def blue_tissue(small: SmallPair) -> str:
    """A warning if the left image is blue where nothing that an endoscope sees is; empty if it is not.

    Examples
    --------
    >>> small = SmallPair(np.ones((2, 2)), np.ones((2, 2)), 16, 8, 0, np.inf, np.array([[60, 90, 180]]))
    >>> blue_tissue(small)
    'the colours look like BGR, as from cv2.imread, not RGB: pass bgr=True, or image[..., ::-1]'
    """
    if small.colors is None:
        return ""
    colors = small.colors[(small.colors.max(1) > _DARK) & (small.colors.min(1) < _BRIGHT)]
    if not len(colors) or np.mean(colors[:, 2] > 1.1 * colors[:, 0]) < BLUE_SHARE:
        return ""
    return "the colours look like BGR, as from cv2.imread, not RGB: pass bgr=True, or image[..., ::-1]"
