"""A run as a user asks for it, and what that means for the source at hand: settings, outputs, span and plan.

``bdis run`` and ``bdis batch`` both begin here, so that they record the same.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ...cameras.given_cameras import Working
from ...cameras.rectifier import Rectifier
from ...cameras.rig import Rig
from ...cameras.rig_settings import settings_of, with_uncertainty
from ...common.bad_request import BadRequest
from ...common.json_text import json_ready
from ...common.version import __version__
from ...matching.matcher import StereoMatcher
from ...matching.settings import Settings
from ..opened_source import OpenedSource, SourceRequest, frame_at, parse_time
from ..sources import Source
from .bag_output import BagPlan
from .clip_range import range_of_clip
from .depth_video import MOST_STEPS, STEPS_PER_MM
from .outputs import BAGS, OUTPUTS, RecordingPlan

DEFAULT_SAVE, DEFAULT_WITHOUT_RIG = ("video", "preview"), ("disparity", "preview")
TIME_TOLERANCE_S = 1e-6  # a time may differ by less than this after it was written and read
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to record of a source, and how; as the options of ``bdis run``.

    Attributes
    ----------
    source : SourceRequest
        Where the frames come from, and their cameras.
    save : tuple of str, optional
        Names of :data:`bdis.video.recording.OUTPUTS`.  Default: the depth video and the preview.
    every : int
        Only every so many frames.
    start, stop : str, optional
        Frame number or time, see :func:`bdis.video.opened_source.parse_time`.
    preset : str
        Preset of settings.
    assignments : tuple of str
        Changes to it, such as ``"patch_size=6"``.
    average_frames : bool
        Average what stands still with the frame before.
    max_depth_mm : float, optional
        What is farther is unknown.
    near_far : (float, float), optional
        Range of the preview's colours.
    steps_per_mm : int
        Resolution of the depth video.
    bag : BagPlan
        What a bag has.
    sends : bool
        Other programs get the frames too, in colour and with their variance.

    Raises
    ------
    BadRequest
        A value that cannot be, whatever the source.

    Examples
    --------
    >>> RunRequest(SourceRequest("render:plane"), steps_per_mm=0)
    Traceback (most recent call last):
    bdis.common.bad_request.BadRequest: --steps-per-mm is 0; expected 1 to 65535
    """

    source: SourceRequest
    save: tuple[str, ...] | None = None
    every: int = 1
    start: str | None = None
    stop: str | None = None
    preset: str = "balanced"
    assignments: tuple[str, ...] = ()
    average_frames: bool = True
    max_depth_mm: float | None = None
    near_far: tuple[float, float] | None = None
    steps_per_mm: int = STEPS_PER_MM
    bag: BagPlan = field(default_factory=BagPlan)
    sends: bool = False

    def __post_init__(self) -> None:
        self.settings()
        if not 1 <= self.steps_per_mm <= MOST_STEPS:
            raise BadRequest(f"--steps-per-mm is {self.steps_per_mm}; expected 1 to {MOST_STEPS}")

    def settings(self) -> Settings:
        """Settings of the matcher; with a variance only if it is saved or sent, because it takes time."""
        save = self.save or DEFAULT_SAVE
        try:
            settings = settings_of(self.preset, self.assignments)
        except (ValueError, TypeError) as error:
            raise BadRequest(str(error)) from error
        if self.sends or any(OUTPUTS[name].uses_variance for name in save):
            settings = with_uncertainty(settings, self.assignments)
        if "sigma" in save and settings.variance is False:
            raise BadRequest("--save sigma needs the variance, which --set variance=false turns off")
        if any(name in BAGS for name in save) and "sigma" in self.bag.contents and settings.variance is False:
            raise BadRequest(
                "a bag with sigma needs the variance, which --set variance=false turns off: --bag-contents"
            )
        return settings

    def prepare(
        self,
        *,
        resume: bool = False,
        warn: Callable[[str], None] = _log.warning,
        working: Working = lambda text: contextlib.nullcontext(),
    ) -> PreparedRun:
        """Open the source, and find out what the request means for it.

        Parameters
        ----------
        resume : bool
            An earlier run is continued.
        warn, working : callable
            As in :meth:`bdis.cameras.given_cameras.GivenCameras.load`.

        Returns
        -------
        PreparedRun

        Raises
        ------
        BadRequest
            The request does not fit the source.
        ValueError, OSError
            The source or its calibration cannot be read.

        Examples
        --------
        >>> prepared = RunRequest(SourceRequest("render:plane,frames=9,height=32,width=48"), every=2).prepare()
        >>> prepared.plan.save, prepared.total
        (('video', 'preview'), 5)
        """
        color = self.sends or any(OUTPUTS[name].uses_color for name in self.save or DEFAULT_SAVE)
        with working("opening the source"):
            opened = self.source.open(color=color, warn=warn, working=working)
        source = opened.source
        try:
            fps = None if source.fps is None else source.fps / self.every
            outputs = _outputs(self.save, opened.rig, warn)
            start_s, stop_s = _span(source, self.start, self.stop, resume, warn)
            settings = opened.settings_of_rig(self.settings(), self.assignments)
            # A frame builds on the one before if it is averaged with it, or takes over where its rows were.
            remembers = self.average_frames and (settings.smoothing > 0 or settings.align_rows == "auto")
            plan = RecordingPlan(
                outputs, opened.shape, opened.rig, fps, self.max_depth_mm, self.steps_per_mm, self.near_far,
                remembers=remembers, bag=self.bag,
            )  # fmt: skip
            about = {
                "bdis": __version__,
                "source": _about_source(self.source, source),
                "calib_sha256": opened.calib_sha256,
                "rectified_here": opened.is_rectified_here,
                "preset": self.preset,
                "settings": asdict(settings),
                "average_frames": self.average_frames,
                "every": self.every,
                "start_s": start_s,
                "stop_s": stop_s,
            }  # everything that decides the result: a run can only be continued with the same
        except BaseException:
            source.close()
            raise
        return PreparedRun(self, opened, settings, plan, about, start_s, stop_s)


@dataclass(frozen=True)
class PreparedRun:
    """A request and the source that it is about.

    Attributes
    ----------
    request : RunRequest
        As given.
    opened : OpenedSource
        The source and its cameras.
    settings : Settings
        Of the matcher, with what the rig says of them.
    plan : RecordingPlan
        What to record.
    about : dict
        Everything else that decides the result.
    start_s, stop_s : float
        The span of the source, seconds; ``stop_s`` is None for its end.
    """

    request: RunRequest
    opened: OpenedSource
    settings: Settings
    plan: RecordingPlan
    about: dict[str, Any]
    start_s: float
    stop_s: float | None

    @property
    def total(self) -> int | None:
        """Number of frames to process; None if the source does not know it."""
        source = self.opened.source
        if source.fps is None or (source.length is None and self.stop_s is None):
            return None
        ends = [source.length, None if self.stop_s is None else math.ceil(self.stop_s * source.fps - TIME_TOLERANCE_S)]
        start = math.ceil(self.start_s * source.fps - TIME_TOLERANCE_S)
        frames = min(end for end in ends if end is not None) - start
        return max(0, -(-frames // self.request.every))

    def warm_up(self, matcher: StereoMatcher, working: Working = lambda text: contextlib.nullcontext()) -> None:
        """Load or compile all kernels before times are measured.

        Raises
        ------
        BadRequest
            The source ends before the start.
        """
        opened = self.opened
        with working("reading the first frame"):
            frame = frame_at(opened.source, self.start_s, opened.first)
            left, right = frame.left, frame.right
            if isinstance(opened.camera, Rectifier):
                left, right = opened.camera(left, right)
        with working("loading the kernels"):
            result = matcher.match(left, right)
            matcher.match(left, right, previous=result)  # uses the kernels of video

    def with_clip_range(
        self, matcher: StereoMatcher, working: Working = lambda text: contextlib.nullcontext()
    ) -> PreparedRun:
        """The same with the range of the preview's colours, from frames of the whole clip, if it needs one."""
        plan, source = self.plan, self.opened.source
        if "preview" not in plan.save or plan.near_far is not None or source.is_live:
            return self
        with working("looking through the clip for the range of the preview's colours"):
            clip_range = range_of_clip(
                source, matcher, self.opened.camera, start_s=self.start_s, stop_s=self.stop_s,
                max_depth_mm=plan.max_depth_mm,
            )  # fmt: skip
        return replace(self, plan=replace(plan, clip_range=clip_range))


def _outputs(wanted: tuple[str, ...] | None, rig: Rig | None, warn: Callable[[str], None]) -> tuple[str, ...]:
    """What to save; without calibration there is disparity and no depth."""
    if wanted is None:
        if rig is not None:
            return DEFAULT_SAVE
        warn("no depth without --calib FILE, or --focal PX and --baseline MM: disparity is saved instead")
        return DEFAULT_WITHOUT_RIG
    impossible = [name for name in OUTPUTS if rig is None and name in wanted and OUTPUTS[name].needs_rig]
    if impossible:
        *others, last = [name for name in OUTPUTS if not OUTPUTS[name].needs_rig]
        raise BadRequest(
            f"--save {','.join(impossible)} needs --calib FILE, or --focal PX and --baseline MM; "
            f"without them there are {', '.join(others)} and {last}"
        )
    return tuple(name for name in OUTPUTS if name in wanted)


def _span(
    source: Source, start: str | None, stop: str | None, resume: bool, warn: Callable[[str], None]
) -> tuple[float, float | None]:
    """Time of the first frame, and the time before which the last one is, in s."""
    if source.is_live and (start is not None or resume):
        option = "--resume" if resume else "--start"
        raise BadRequest(f"{option} cannot be used with {source.name}: a live source has no earlier frames")
    start_s = parse_time(start, source, "--start", warn) or 0.0
    stop_s = parse_time(stop, source, "--stop", warn)
    if start_s < 0 or (stop_s is not None and not stop_s > start_s):
        raise BadRequest(f"there are no frames from --start {start or 0} to --stop {stop or 'the end'}")
    return start_s, stop_s


def _about_source(request: SourceRequest, source: Source) -> dict[str, Any]:
    """The source, for the manifest; files by name and size, because folders may be moved."""
    places = [place for place in (request.source, request.right) if place is not None]
    return {
        "left": without_secrets(request.source),
        "right": None if request.right is None else without_secrets(request.right),
        "layout": source.layout,
        "squeezed": request.squeezed,
        "deinterlace": request.deinterlace,
        "fps": source.fps,
        "bytes": [Path(place).stat().st_size for place in places if Path(place).is_file()],
        "frames": source.length,
        "content": source.fingerprint,
        **({} if request.topics is None else {"topics": list(request.topics)}),
        **({} if request.tolerance_ms is None else {"tolerance_ms": request.tolerance_ms}),
    }


def changes_of_source(before: dict[str, Any], request: SourceRequest, source: Source) -> list[str]:
    """How a source differs from that of a recording: by its size, its number of frames or its content.

    Parameters
    ----------
    before : dict
        What the manifest says of the source; what an earlier version did not write down is not compared.
    request : SourceRequest
        The source that is to be the same.
    source : Source
        The same, opened.

    Returns
    -------
    list of str
        What has changed; empty if it may be the source of the recording.

    Examples
    --------
    >>> request = SourceRequest("render:plane,frames=9,height=32,width=48")
    >>> changes_of_source({"bytes": [], "frames": 5}, request, request.open().source)
    ['frames were 5, now 9']
    """
    now = json_ready(_about_source(request, source))
    return [f"{name} were {before[name]!r}, now {now[name]!r}"
            for name in ("bytes", "frames", "content") if before.get(name, {}) not in ({}, now[name])]  # fmt: skip


def without_secrets(place: str) -> str:
    """A file without its folders, a URL without user name and password.

    >>> without_secrets("rtsp://me:secret@10.0.0.7/left")
    'rtsp://10.0.0.7/left'
    """
    if Path(place).exists():
        return Path(place).name
    return re.sub(r"(?<=://)[^/@]*@", "", place)
