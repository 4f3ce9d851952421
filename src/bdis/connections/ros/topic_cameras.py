"""The cameras of two topics: their camera_info, and whether their images have to be rectified with it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from ...cameras.calibration import StereoCalibration
from ...cameras.calibration_doubts import (
    check_inside,
    off_middle,
    told,
    unequal_focals,
    unusual_baseline,
    unusual_focal,
)
from ...cameras.formats import CalibrationFile
from ...cameras.raw_or_rectified import weigh_rows
from ...cameras.rectifier import Rectifier
from ...cameras.rig import Rig
from ...common.arrays import Array, size_text
from ...common.printable import printable
from .messages import OTHER_CALIBRATION
from .stereo_topics import says_rectified

_CENTRE = "the camera_info has its principal point"
_SIZE = f"if its K and P are not of images of this size, {OTHER_CALIBRATION}"
_UNIT = f"P[0,3] of the right camera is not -f T in px m: {OTHER_CALIBRATION}"
_HOW_TO_SAY = "say whether the images are to be rectified: --rectify or --no-rectify"


def decide_camera(
    found: CalibrationFile,
    topics: tuple[str, str],
    rectify: bool | None,
    pairs: Iterator[tuple[Array, Array]],
    warn: Callable[[str], None],
) -> tuple[Rectifier | Rig, list[str]]:
    """Whether the images of two topics are raw, and what makes rectified ones of them if so.

    The name of the topic says it, or else the camera_info, if it has a distortion or rotation to correct.  The rows of
    the images are a witness: where they clearly say otherwise, nothing is assumed.

    Parameters
    ----------
    found : CalibrationFile
        The camera_info.
    topics : (str, str)
        Of the left and right images.
    rectify : bool or None
        What the user says.
    pairs : iterator of pairs of ndarray
        Images to look at.
    warn : callable
        Called with what speaks against the camera_info.

    Returns
    -------
    camera : Rectifier or Rig
        A Rectifier if the images are raw.
    remarks : list of str
        What was decided, and why; and what speaks against the camera_info.

    Raises
    ------
    ValueError
        The names or the witnesses contradict each other, or the camera_info is not of these images.
    """
    assert found.rectified is not None
    first = next(pairs)
    size = first[0].shape[1], first[0].shape[0]
    for centre in (found.centres[0], [found.rectified["cx"], found.rectified["cy"]]):  # of raw and rectified images
        check_inside(np.array([centre]), found.size or size, _CENTRE, _SIZE)
    camera, remark = _decided(found, topics, rectify, first, pairs)
    cameras = camera.cameras if isinstance(camera, Rectifier) else camera
    doubts = (
        off_middle(cameras, size, _CENTRE, _SIZE),
        unusual_focal(found.focal_px, size, "the camera_info has", _SIZE),
        unusual_baseline(found, "the camera_info", _UNIT),
        unequal_focals(found, size, "the camera_info"),
    )
    return camera, [remark, *told(doubts, warn)]


def _decided(
    found: CalibrationFile,
    topics: tuple[str, str],
    rectify: bool | None,
    first: tuple[Array, Array],
    pairs: Iterator[tuple[Array, Array]],
) -> tuple[Rectifier | Rig, str]:
    """What rectifies raw images, or the rig of rectified ones, and why."""
    assert found.rectified is not None
    assert found.raw is not None
    rig = Rig(**found.rectified, size=found.size)
    if found.size is not None and (first[0].shape[1], first[0].shape[0]) != found.size:
        size = size_text(first[0].shape)
        raise ValueError(f"the images are {size} but their camera_info is for {found.size[0]}x{found.size[1]}")
    if not _changes_anything(found):
        return rig, "images are rectified: camera_info has no distortion or rotation"
    rectifier = Rectifier(
        StereoCalibration(**found.raw, size=found.size or (first[0].shape[1], first[0].shape[0])),
        onto=found.rectification,
    )
    if rectify is not None:
        return (rectifier, "images rectified with it, as asked") if rectify else (rig, "images taken as rectified")
    topic, named = topics[0], says_rectified(topics[0])
    if says_rectified(topics[1]) != named:
        raise ValueError(f"only one of {printable(topics[0])} and {printable(topics[1])} is named so; {_HOW_TO_SAY}")
    evidence = weigh_rows(itertools.chain([first], pairs), rectifier, rig)
    reason = f"topic {printable(topic)}" if named is not None else "camera_info has a distortion or rotation"
    is_raw = not named if named is not None else evidence.verdict != "rectified"
    if evidence.verdict == "neither":
        raise ValueError(f"its camera_info is not of these images: {evidence.reason}. If it is, {_HOW_TO_SAY}")
    if evidence.verdict == "transposed":
        raise ValueError(f"{evidence.about_rotation('its camera_info')}. If it is right, {_HOW_TO_SAY}")
    if named is None and evidence.verdict in ("raw", "rectified"):
        reason = evidence.reason
    elif named is None and evidence.verdict == "unclear":
        raise ValueError(
            f"it cannot be told whether the images are rectified already: {evidence.reason}; {_HOW_TO_SAY}"
        )
    elif evidence.verdict in ("raw", "rectified") and is_raw != (evidence.verdict == "raw"):
        kind = "raw" if is_raw else "rectified"
        raise ValueError(
            f"{printable(topic)} is named as {kind}, but its images look {evidence.verdict}: {evidence.reason}; "
            f"{_HOW_TO_SAY}"
        )
    return (rectifier, f"images rectified with it: {reason}") if is_raw else (rig, f"images are rectified: {reason}")


def _changes_anything(found: CalibrationFile) -> bool:
    """Whether rectification would change images: by a distortion, a rotation, or another camera matrix."""
    assert found.raw is not None
    assert found.rectification is not None
    r1, r2, p1, p2 = found.rectification
    raw = found.raw
    matrices = ((raw["left_matrix"], p1), (raw["right_matrix"], p2))
    is_bent = raw["left_distortion"].any() or raw["right_distortion"].any() or raw["fisheye"]
    is_turned = not all(np.allclose(rotation, np.eye(3), atol=1e-6) for rotation in (r1, r2))
    is_zoomed = not all(np.allclose(k, p[:, :3], rtol=1e-4, atol=0.01) for k, p in matrices)
    return bool(is_bent or is_turned or is_zoomed)
