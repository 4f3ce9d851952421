"""The range of the preview's colours, from frames of the whole clip: a first pass over a few of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...cameras.rectifier import Rectifier
from ...cameras.rig import Rig
from ...display.colors import round_range
from ...matching.matcher import StereoMatcher
from ..sources import BadFrame, Source, StereoFrame

SAMPLES = 24  # frames, one of each of so many equal parts
# Parts between a key frame and the part that it was to lead to.  If key frames are g parts apart, a jump takes
# (g - 1)^2 / 2g parts to decode on average, and reading on takes one: that is less from g = 3.7 on.
FARTHEST_JUMP = 2.0
MIN_COVERAGE = 0.2  # share of known pixels that a frame needs to say something about the range
FARTHEST = 8.0  # times the median depth: frames that are matched badly have pixels at almost any depth
OUTLIERS = 12  # one in so many samples may lie outside: a single frame that is matched badly does not count


def range_of_clip(
    source: Source,
    matcher: StereoMatcher,
    camera: Rectifier | Rig | None = None,
    *,
    start_s: float = 0.0,
    stop_s: float | None = None,
    max_depth_mm: float | None = None,
) -> tuple[float, float] | None:
    """Find the range of depth (of disparity, if the cameras are not known) in a whole clip.

    Parameters
    ----------
    source : Source
        Not live; closed afterwards.
    matcher : StereoMatcher
        Matches the frames.
    camera : Rectifier or Rig, optional
        As in :class:`bdis.DepthStream`.
    start_s, stop_s : float, optional
        The part of the clip, seconds.
    max_depth_mm : float, optional
        What is farther away is unknown.

    Returns
    -------
    (float, float) or None
        In mm or px; None if the length of the source is not known, or its frames show nothing.

    Examples
    --------
    >>> import bdis
    >>> source = bdis.open_source("render:plane,frames=3,height=48,width=64")
    >>> near, far = range_of_clip(source, bdis.StereoMatcher("fast"), source.rig)
    >>> near < 60 < far
    True
    """
    if source.length is None or not source.fps:
        return None
    rig = camera.rig if isinstance(camera, Rectifier) else camera
    ranges = []  # of each frame: low end, middle and high end
    with source:
        for frame in _sampled(source, start_s, min(source.length / source.fps, stop_s or np.inf)):
            pair = frame.left, frame.right
            try:
                result = matcher.match(*(camera(*pair) if isinstance(camera, Rectifier) else pair))
                values = result.disparity if rig is None else rig.depth(result, max_depth_mm=max_depth_mm)
            except (ValueError, TypeError):  # of another size than other frames, or than the rig; the stream reports it
                continue
            known = values[np.isfinite(values)]
            if known.size >= MIN_COVERAGE * values.size:
                ranges.append(np.percentile(known, [2, 50, 98]))
    if not ranges:
        return None
    lows, middles, highs = np.sort(np.transpose(ranges))
    left_out = len(ranges) // OUTLIERS
    low, high = lows[left_out], highs[-1 - left_out]
    if rig is not None:
        high = min(high, FARTHEST * float(np.median(middles)))
    return round_range(np.array([low, high]))


def _sampled(source: Source, start_s: float, end_s: float) -> Iterator[StereoFrame]:
    """A frame of each of equal parts from the start to the end: in a video a key frame, if that part has one."""
    last: int | None = None
    part_s = (end_s - start_s) / SAMPLES
    is_jumping = source.seeks_quickly
    for begin_s in np.linspace(start_s, end_s, SAMPLES, endpoint=False):
        try:
            if last is None:
                source.seek(float(begin_s))
            elif is_jumping:
                source.seek_before(float(begin_s + 0.99 * part_s))  # the next part begins with its end
            frame = source.read()
            if frame is not None and frame.time_s < begin_s - FARTHEST_JUMP * part_s:
                is_jumping = False  # key frames lie so far apart that reading on is quicker
            while frame is not None and frame.time_s < begin_s:
                frame = source.read()
        except BadFrame:
            continue
        except OSError:  # the stream reports it when it gets there
            return
        if frame is None:
            return
        if last is None or frame.index > last:
            last = frame.index
            yield frame
