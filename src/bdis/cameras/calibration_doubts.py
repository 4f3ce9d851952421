"""What speaks against a calibration: is it of images of this size, and in the unit in which it was read?

Nothing here is certain: crops and verged cameras have their principal point beside the middle, and robots have large
baselines.  So it is told, and refused only where no camera is like that.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..common.arrays import Array
from .formats import RIG_OF_BDIS, CalibrationFile

if TYPE_CHECKING:  # which import this
    from .calibration import StereoCalibration
    from .rig import Rig

# A share of width or height.  Images of 3/4 or 3/2 of the size are 17 % off; the rigs of the authors' data sets are at
# most 7 % off, raw cameras of SCARED 4 %.
OFF_MIDDLE = 0.15
SAME_SHARE = 0.03  # of width and height, but for the few per cent by which any camera is off
# Endoscopes have 1 to 12 mm, cameras of robots and rigs of Middlebury up to some 200 mm.  That of an endoscope in cm is
# taken for less than 1 mm in a file that is read in mm, and for more than 400 mm in one that is read in m.
USUAL_BASELINE_MM = (1.0, 300.0)
# Shares of the width: angles of view of 6 degrees (microscopes) to 136.  A focal length in mm is outside.
USUAL_FOCAL = (0.2, 10.0)
# fy / fx, which is how wide a pixel is over its height.  Square pixels have 1: of published calibrations of da Vinci
# endoscopes it is within .5 %, of other cameras within 1.2 %.  Standards of video have others (4:3 and 16:9 pictures in
# the same columns), and Hamlyn's calibrations, of PAL, are 0.1 to 2.1 % off them.
SAME_ASPECT = 0.03  # a share
PIXELS_OF_PAL, PIXELS_OF_NTSC = (12 / 11, 16 / 11), (10 / 11, 40 / 33)
# Rows, and the least and the largest width over these, of sizes whose pixels are not square.  PAL has up to 5 columns
# to 4 rows, often cropped; wider images of as many rows, 768x576 and 1024x576, have square pixels.
PIXELS_OF_SIZES = (
    ((576, 288), (1.0, 1.27), PIXELS_OF_PAL),
    ((480, 240), (1.44, 1.52), PIXELS_OF_NTSC),
    ((1080,), (1.32, 1.35), (4 / 3,)),  # HDV
)
USUAL_SHAPES = (4 / 3, 5 / 4, 16 / 9)  # width over height of square pixels
UNIT_OF_FILE = "the file is in another unit: say in which (--unit, in Python unit=...)"


class Doubt(NamedTuple):
    """Something that the user should look at.

    Attributes
    ----------
    remark : str
        In a few words, for lists of what is known about a calibration.
    warning : str
        What it may mean, and what to do.
    """

    remark: str
    warning: str


def centres_of(cameras: Rig | StereoCalibration | CalibrationFile) -> Array:
    """The principal points (x, y) of the left and the right camera, px, shape (2, 2).

    >>> from bdis import Rig
    >>> centres_of(Rig(500, 320, 240, 5, cx_right=350)).tolist()
    [[320.0, 240.0], [350.0, 240.0]]
    """
    from .rig import Rig

    if isinstance(cameras, CalibrationFile):
        return cameras.centres
    if isinstance(cameras, Rig):
        return np.array([[cameras.cx, cameras.cy], [cameras.cx + cameras.doffs, cameras.cy]])
    return np.array([cameras.left_matrix[:2, 2], cameras.right_matrix[:2, 2]])


def check_inside(centres: Array, size: tuple[int, int], origin: str, advice: str) -> None:
    """Raise ValueError if a principal point is outside of the images.

    Parameters
    ----------
    centres : ndarray, shape (n, 2)
        Principal points (x, y), px.
    size : (int, int)
        Width and height of the images, px.
    origin : str
        How the message begins: what says where they are.
    advice : str
        How it ends: what to do.

    Raises
    ------
    ValueError
        One is outside.

    Examples
    --------
    >>> check_inside(np.array([[319.5, 239.5]]), (320, 240), "raw.yml has its principal point", "were they resized?")
    Traceback (most recent call last):
    ValueError: raw.yml has its principal point at (319.5, 239.5), outside the images of 320x240; were they resized?
    """
    for x, y in centres:  # the first pixel ends at -0.5
        if not (-0.5 < x < size[0] - 0.5 and -0.5 < y < size[1] - 0.5):
            raise ValueError(f"{origin} at ({x:.1f}, {y:.1f}), outside the images of {size[0]}x{size[1]}; {advice}")


def off_middle(
    cameras: Rig | StereoCalibration | CalibrationFile, size: tuple[int, int], origin: str, advice: str
) -> Doubt | None:
    """Whether the principal points are far from the middle of the images, as they are after resizing or a crop.

    Those of verged cameras are off the middle to opposite sides, so it is their mean that counts.

    Parameters
    ----------
    cameras : Rig, StereoCalibration or CalibrationFile
    size, origin, advice
        As in :func:`check_inside`.

    Returns
    -------
    Doubt or None
        None if they are near.

    Examples
    --------
    >>> from bdis import Rig
    >>> origin, advice = "rig.toml has its principal point", "were they resized?"
    >>> off_middle(Rig(544, 319.5, 239.5, 5), (400, 300), origin, advice).remark
    'principal point 30 % of the width off the middle'
    >>> off_middle(Rig(500, 220, 239.5, 5, cx_right=420), (640, 480), origin, advice)  # verged
    """
    x, y = centres_of(cameras).mean(0)
    shares = abs(x - (size[0] - 1) / 2) / size[0], abs(y - (size[1] - 1) / 2) / size[1]
    if max(shares) <= OFF_MIDDLE:
        return None
    side = "height" if shares[1] > shares[0] else "width"
    share = f"{100 * max(shares):.0f} % of the {side} off the middle"
    return Doubt(
        f"principal point {share}",
        f"{origin} at ({x:.1f}, {y:.1f}), {share} of the images of {size[0]}x{size[1]}; {advice}",
    )


def unusual_focal(focal_px: float, size: tuple[int, int], origin: str, advice: str) -> Doubt | None:
    """Whether the focal length is that of hardly any camera with images of this size.

    Parameters
    ----------
    focal_px : float
    size : (int, int)
        Width and height of the images, px.
    origin : str
        How the message begins: what says how long it is.
    advice : str
        How it ends: what to do.

    Returns
    -------
    Doubt or None
        None if it is usual.

    Examples
    --------
    >>> unusual_focal(54400, (640, 480), "rig.toml has", "is it in px?").remark
    'focal length 54400 px'
    >>> unusual_focal(544, (640, 480), "rig.toml has", "is it in px?")
    """
    if USUAL_FOCAL[0] * size[0] <= focal_px <= USUAL_FOCAL[1] * size[0]:
        return None
    angle, focal = 2 * math.degrees(math.atan(size[0] / 2 / focal_px)), f"{focal_px:.6g} px"
    return Doubt(
        f"focal length {focal}",
        f"{origin} a focal length of {focal}: images of {size[0]}x{size[1]} see {angle:.3g} degrees; {advice}",
    )


def unusual_baseline(found: CalibrationFile, origin: str, advice: str = UNIT_OF_FILE) -> Doubt | None:
    """Whether a baseline whose unit nobody stated is that of hardly any endoscope or other stereo camera.

    Parameters
    ----------
    found : CalibrationFile
    origin : str
        Name of the file, for the message.
    advice : str
        How the message ends: what it means if the unit is another one, and what to do.

    Returns
    -------
    Doubt or None
        None if it is usual, or its unit is stated.

    Examples
    --------
    >>> unusual_baseline(CalibrationFile("K.txt", "m (K.txt convention)", None, {"baseline_mm": 500}), "K.txt").remark
    'baseline 500 mm'
    >>> unusual_baseline(CalibrationFile("K.txt", "m (K.txt convention)", None, {"baseline_mm": 5}), "K.txt")
    """
    baseline = found.length_mm
    if found.states_unit or USUAL_BASELINE_MM[0] <= baseline <= USUAL_BASELINE_MM[1]:
        return None
    return Doubt(
        f"baseline {baseline:.4g} mm",
        f"{origin} has a baseline of {baseline:.4g} mm, read in {found.unit}; if that is not so, {advice}",
    )


def unequal_focals(found: CalibrationFile, size: tuple[int, int] | None, origin: str) -> Doubt | None:
    """Whether a raw camera has another focal length along columns than along rows, with no reason for it.

    Rectification makes one of both, and both cameras are usually wrong alike, so that no rows differ.

    Parameters
    ----------
    found : CalibrationFile
    size : (int, int) or None
        Width and height of its images, px; None if it is not known, and may be any.
    origin : str
        Name of the file, for the message.

    Returns
    -------
    Doubt or None
        None if its pixels are square, or those of a video standard with images of this size; or if there are no raw
        cameras.

    Examples
    --------
    >>> k = np.array([[500, 0, 319.5], [0, 550, 239.5], [0, 0, 1]])
    >>> found = CalibrationFile("OpenCV", "mm", raw={"left_matrix": k, "right_matrix": k})
    >>> unequal_focals(found, (640, 480), "raw.yml").remark
    'focal lengths 500 and 550 px'
    >>> unequal_focals(found, (720, 576), "raw.yml")  # PAL
    """
    if found.raw is None:
        return None
    usual = np.array(_pixels_of(size))
    for side in ("left", "right"):
        matrix = np.reshape(found.raw[f"{side}_matrix"], (3, 3))
        along, down = float(matrix[0, 0]), float(matrix[1, 1])
        if np.abs(down / along / usual - 1).min() > SAME_ASPECT:
            off = 100 * (max(along, down) / min(along, down) - 1)
            return Doubt(
                f"focal lengths {along:g} and {down:g} px",
                f"{origin} has focal lengths of {along:g} px along rows and {down:g} px along columns in its {side} "
                f"camera, {off:.0f} % apart, as if pixels were not square; if they are, one of both is wrong, and with "
                "it depth or height: correct it; if views were squeezed into one image, add --squeezed and give the "
                "calibration of views of their full size",
            )
    return None


def _pixels_of(size: tuple[int, int] | None) -> list[float]:
    """Width over height of the pixels that images of this size may have; of any if it is None."""
    if size is None:
        television = (*PIXELS_OF_PAL, *PIXELS_OF_NTSC)
        return [1.0, 2.0, 0.5, 4 / 3, *television, *(0.5 * pixel for pixel in television)]
    found = [1.0]
    # As it is, and with what was left out to hold only a field of a video, or to fit two views into an image.
    for width, height, left_out in ((size[0], size[1], 1.0), (size[0], 2 * size[1], 0.5), (2 * size[0], size[1], 2.0)):
        shape = width / height
        if left_out != 1 and min(abs(shape / usual - 1) for usual in USUAL_SHAPES) < SAME_ASPECT:
            found.append(left_out)
        for rows, (narrowest, widest), pixels in PIXELS_OF_SIZES:
            if height in rows and narrowest <= shape <= widest:
                found += [left_out * pixel for pixel in pixels]
    return found


def without_distortion(found: CalibrationFile, origin: str) -> Doubt | None:
    """Whether raw cameras were taken to have no distortion because their file says nothing of it.

    Parameters
    ----------
    found : CalibrationFile
    origin : str
        Name of the file, for the message.

    Returns
    -------
    Doubt or None
        None if the file says what distortion they have.
    """
    if not found.lacks_distortion:
        return None
    return Doubt(
        found.assumed,
        f"{origin} says nothing of the distortion of its cameras, which is read as none; if their lenses have any, the "
        "depth is wrong: add the coefficients (D1 and D2)",
    )


def off_middle_as_stated(found: CalibrationFile, origin: str) -> Doubt | None:
    """Whether the principal points are far from the middle of images of the size that the file states.

    A rig of bdis may be of a crop: it is believed, unless it is off by the same share of width and height, as after
    resizing.

    Parameters
    ----------
    found : CalibrationFile
    origin : str
        Name of the file, for the message.

    Returns
    -------
    Doubt or None
        None if they are near, or the file states no size.

    Examples
    --------
    >>> rectified = {"focal_px": 272, "cx": 159.5, "cy": 119.5, "baseline_mm": 5}
    >>> off_middle_as_stated(CalibrationFile("OpenCV", "mm", (640, 480), rectified), "stereo.yml").remark
    'principal point 25 % of the width off the middle'
    """
    if found.size is None:
        return None
    across, down = (found.centres.mean(0) + 0.5) / found.size
    if found.format == RIG_OF_BDIS and abs(across - down) > SAME_SHARE:
        return None
    return off_middle(
        found,
        found.size,
        f"{origin} says that its images are {found.size[0]}x{found.size[1]}, but has its principal point",
        "if that is of images of another size, the depth is wrong by that factor: correct one of both",
    )


def doubts_of(found: CalibrationFile, origin: str, size: tuple[int, int] | None = None) -> list[Doubt | None]:
    """What speaks against the cameras in a file, whatever they are used for; see also :func:`without_distortion`.

    Parameters
    ----------
    found : CalibrationFile
    origin : str
        Name of the file, for the messages.
    size : (int, int), optional
        Width and height of its images, px.  Default: what the file says.

    Returns
    -------
    list of (Doubt or None)

    Examples
    --------
    >>> rectified = {"focal_px": 4, "cx": 319.5, "cy": 239.5, "baseline_mm": 500}
    >>> found = CalibrationFile("K.txt", "m (K.txt convention)", (640, 480), rectified)
    >>> told(doubts_of(found, "K.txt"), lambda warning: None)
    ['focal length 4 px', 'baseline 500 mm']
    """
    size = found.size or size
    focal = None if size is None else unusual_focal(found.focal_px, size, f"{origin} has", "is it in px of its images?")
    return [
        focal, off_middle_as_stated(found, origin), unusual_baseline(found, origin),
        unequal_focals(found, size, origin),
    ]  # fmt: skip


def tell_python(text: str) -> None:
    """Warn those who call bdis from Python; ``warn`` of :func:`told` in what they call."""
    warnings.warn(text, stacklevel=4)


def told(doubts: Iterable[Doubt | None], warn: Callable[[str], None]) -> list[str]:
    """Warn of those doubts that there are; the remarks on them.

    >>> told([None, Doubt("baseline 500 mm", "it may be in another unit")], print)
    it may be in another unit
    ['baseline 500 mm']
    """
    there = [doubt for doubt in doubts if doubt is not None]
    for doubt in there:
        warn(doubt.warning)
    return [doubt.remark for doubt in there]
