"""``bdis run``: depth of a whole video, unattended."""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from . import terminal
from .camera_options import CameraOptions
from .frame_progress import frame_progress
from .options import AverageFrames, Debug, Json, MaxDepth, Out, Preset, Set, Start, must_be, parse_names
from .picture_warnings import PictureWarnings
from .run_summary import report
from .signals import StopOnSignal
from .terminal import UsageError
from .video_source import FrameWarnings, OpenedSource, SourceOptions, frame_at, open_with_camera, parse_time

if TYPE_CHECKING:
    from ..cameras.rig import Rig
    from ..matching.matcher import StereoMatcher
    from ..matching.settings import Settings
    from ..video.recording import Recording
    from ..video.sources import Source
    from ..video.stream.depth_stream import DepthStream

DEFAULT_SAVE, DEFAULT_WITHOUT_RIG = ("video", "preview"), ("disparity", "preview")
TIME_TOLERANCE_S = 1e-6  # a time may differ by less than this after it was written and read


def run(
    *,
    camera_options: CameraOptions,
    out: Out = Path("bdis-run"),
    save: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="What to write, separated by commas. One file per frame: depth, disparity, probability, left (the "
            "rectified left image), sigma (the standard deviation of the depth), cloud. One file in all: video (the "
            f"depth, lossless FFV1), preview (an MP4 to look at).  [default: {','.join(DEFAULT_SAVE)}]",
        ),
    ] = None,
    every: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Process only every Nth frame.",
            callback=must_be("1 or more", lambda every: every >= 1),
        ),
    ] = 1,
    start: Start = None,
    stop: Annotated[
        str | None, typer.Option(metavar="TIME", help="Where to stop; this frame is not processed.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run into the same folder.")] = False,
    preset: Preset = "balanced",
    set_: Set = None,
    average_frames: AverageFrames = True,
    max_depth: MaxDepth = None,
    depth_range: Annotated[
        str | None,
        typer.Option(
            "--range",
            metavar="NEAR,FAR",
            help="Range of the preview's colours: depth in mm, or disparity in px without calibration.  [default: "
            "from frames of the whole clip; live, adapted slowly]",
        ),
    ] = None,
    steps_per_mm: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Resolution of the depth video, whose values are the depth in mm times N: 100 stores hundredths of a "
            "mm up to 655.35 mm, 1 whole mm up to 65.5 m. What is farther is unknown in the video, and counted.",
        ),
    ] = 100,
    source_options: SourceOptions,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compute the depth of every frame of a video.

    \b
    bdis run surgery.mp4 --calib endoscope.yaml -o result
    bdis run left.mp4 right.mp4 --calib endoscope.yaml --start 1:30 --stop 2:00 --save video,cloud --every 5
    bdis run surgery.mp4 --calib endoscope.yaml -o result --resume
    bdis run render:colon --preset fast --save depth

    Besides what --save names, frames.csv is written with the time of every frame, manifest.json with all settings, and
    rig.toml with the rectified cameras.

    After Ctrl-C, a full disk or a killed process, everything written so far is complete and readable, and --resume
    continues.
    """
    from ..matching.matcher import StereoMatcher
    from ..video.recording import (
        OUTPUTS,
        Recording,
        RecordingPlan,
        check_new,
        is_complete,
        range_of_clip,
        read_manifest,
    )
    from ..video.stream.depth_stream import DepthStream

    wanted = None if save is None else tuple(parse_names("--save", save, tuple(OUTPUTS)))
    settings = _settings(preset, set_ or [], wanted or DEFAULT_SAVE)
    near_far = _parse_range(depth_range)
    _check_steps(steps_per_mm)
    earlier = read_manifest(out) if resume else None
    if earlier is None:
        check_new(out)
    color = any(OUTPUTS[name].uses_color for name in wanted or DEFAULT_SAVE)
    with terminal.working("opening the source"):
        opened = open_with_camera(source_options, camera_options, color=color)
    source, warnings = opened.source, FrameWarnings()
    try:
        fps = None if source.fps is None else source.fps / every
        outputs = _outputs(wanted, opened.rig)
        start_s, stop_s = _span(source, start, stop, resume)
        settings = opened.settings_of_rig(settings, set_ or [], camera_options.calib_name)
        # A frame builds on the one before if it is averaged with it, or takes over where its rows were.
        remembers = average_frames and (settings.smoothing > 0 or settings.align_rows == "auto")
        plan = RecordingPlan(
            outputs, opened.shape, opened.rig, fps, max_depth, steps_per_mm, near_far, remembers=remembers
        )
        about = {
            "bdis": __version__,
            "source": _about_source(source_options, source),
            "calib_sha256": [hashlib.sha256(file.read_bytes()).hexdigest() for file in camera_options.calib_files],
            "rectified_here": opened.is_rectified_here,
            "preset": preset,
            "settings": asdict(settings),
            "average_frames": average_frames,
            "every": every,
            "start_s": start_s,
            "stop_s": stop_s,
        }  # everything that decides the result: a run can only be continued with the same
        if earlier is not None and is_complete(out, plan, about):
            source.close()
            terminal.say(f"{out} is complete: {earlier['frames']} frames, nothing to do")
            terminal.give({"folder": out, **earlier})
            return
        matcher = StereoMatcher(settings)
        _warm_up(matcher, opened, start_s)
        if "preview" in outputs and near_far is None and not source.is_live and "preview" not in (earlier or {}):
            with terminal.working("looking through the clip for the range of the preview's colours"):
                clip_range = range_of_clip(
                    source, matcher, opened.camera, start_s=start_s, stop_s=stop_s, max_depth_mm=max_depth
                )
            plan = replace(plan, clip_range=clip_range)
        recording = Recording(out, plan, about, resume=resume)
    except BaseException:
        source.close()
        raise
    resumed_after, restart = recording.frames, recording.restart
    if recording.repaired:
        terminal.note(f"{recording.repaired} frames in {out} are missing or incomplete in some output: made again")
    if recording.repeated > recording.repaired:
        terminal.note(f"{recording.repeated} frames are matched again, as later ones build on them")
    try:
        stream = DepthStream(
            source, matcher, opened.camera,
            start_s=start_s if restart.at is None else max(0.0, restart.at.time_s - TIME_TOLERANCE_S),
            start_index=None if restart.at is None else restart.at.index,
            previous=restart.result, stop_s=stop_s, every=every, video=average_frames, report=warnings,
        )  # fmt: skip
    except BaseException as error:
        source.close()
        recording.close("failed", str(error) or type(error).__name__)
        raise
    total = _total(source, start_s, stop_s, every)
    pictures = PictureWarnings(warnings, earlier or {})
    coverage = _record(recording, stream, total, pictures)
    report(opened, recording, stream, warnings, pictures, preset, resumed_after, coverage)


# --- What the options mean --------------------------------------------------------------------------------------------


def _outputs(wanted: tuple[str, ...] | None, rig: Rig | None) -> tuple[str, ...]:
    """What to save; without calibration there is disparity and no depth."""
    from ..video.recording import OUTPUTS

    if wanted is None:
        if rig is not None:
            return DEFAULT_SAVE
        terminal.warn("no depth without --calib FILE, or --focal PX and --baseline MM: disparity is saved instead")
        return DEFAULT_WITHOUT_RIG
    impossible = [name for name in OUTPUTS if rig is None and name in wanted and OUTPUTS[name].needs_rig]
    if impossible:
        raise UsageError(
            f"--save {','.join(impossible)} needs --calib FILE, or --focal PX and --baseline MM; "
            "without them there are disparity, probability, left and preview"
        )
    return tuple(name for name in OUTPUTS if name in wanted)


def _settings(preset: str, assignments: list[str], save: tuple[str, ...]) -> Settings:
    """Settings of the matcher; with a variance only if it is saved, because it takes time."""
    from ..video.recording import OUTPUTS
    from .presets import parse_settings, with_uncertainty

    settings = parse_settings(preset, assignments)
    if any(OUTPUTS[name].uses_variance for name in save):
        settings = with_uncertainty(settings, assignments)
    if "sigma" in save and settings.variance is False:
        raise UsageError("--save sigma needs the variance, which --set variance=false turns off")
    return settings


def _parse_range(text: str | None) -> tuple[float, float] | None:
    """The two numbers of ``--range``."""
    if text is None:
        return None
    try:
        near, far = (float(part) for part in text.split(","))
    except ValueError:
        near = far = math.nan
    if not (near < far and math.isfinite(far - near)):
        raise UsageError(f"--range {text}: expected NEAR,FAR such as 30,120, the smaller number first")
    return near, far


def _check_steps(steps_per_mm: int) -> None:
    """Raise UsageError if the depth video cannot have such a resolution."""
    from ..video.recording import MOST_STEPS

    if not 1 <= steps_per_mm <= MOST_STEPS:
        raise UsageError(f"--steps-per-mm is {steps_per_mm}; expected 1 to {MOST_STEPS}")


def _span(source: Source, start: str | None, stop: str | None, resume: bool) -> tuple[float, float | None]:
    """Time of the first frame, and the time before which the last one is, in s."""
    if source.is_live and (start is not None or resume):
        option = "--resume" if resume else "--start"
        raise UsageError(f"{option} cannot be used with {source.name}: a live source has no earlier frames")
    start_s = parse_time(start, source, "--start") or 0.0
    stop_s = parse_time(stop, source, "--stop")
    if start_s < 0 or (stop_s is not None and not stop_s > start_s):
        raise UsageError(f"there are no frames from --start {start or 0} to --stop {stop or 'the end'}")
    return start_s, stop_s


def _total(source: Source, start_s: float, stop_s: float | None, every: int) -> int | None:
    """Number of frames to process; None if the source does not know it."""
    if source.fps is None or (source.length is None and stop_s is None):
        return None
    ends = [source.length, None if stop_s is None else math.ceil(stop_s * source.fps - TIME_TOLERANCE_S)]
    frames = min(end for end in ends if end is not None) - math.ceil(start_s * source.fps - TIME_TOLERANCE_S)
    return max(0, -(-frames // every))


def _about_source(options: SourceOptions, source: Source) -> dict[str, Any]:
    """The source, for the manifest; files by name and size, because folders may be moved."""
    places = [place for place in (options.source, options.right) if place is not None]
    return {
        "left": _without_secrets(options.source),
        "right": None if options.right is None else _without_secrets(options.right),
        "layout": source.layout,
        "squeezed": options.squeezed,
        "deinterlace": options.deinterlace,
        "fps": source.fps,
        "bytes": [Path(place).stat().st_size for place in places if Path(place).is_file()],
        "frames": source.length,
    }


def _without_secrets(place: str) -> str:
    """A file without its folders, a URL without user name and password.

    >>> _without_secrets("rtsp://me:secret@10.0.0.7/left")
    'rtsp://10.0.0.7/left'
    """
    if Path(place).exists():
        return Path(place).name
    return re.sub(r"(?<=://)[^/@]*@", "", place)


# --- The work ---------------------------------------------------------------------------------------------------------


def _warm_up(matcher: StereoMatcher, opened: OpenedSource, start_s: float) -> None:
    """Load or compile all kernels before times are measured."""
    from ..cameras.rectifier import Rectifier

    with terminal.working("reading the first frame"):
        frame = frame_at(opened.source, start_s, opened.first)
        left, right = frame.left, frame.right
        if isinstance(opened.camera, Rectifier):
            left, right = opened.camera(left, right)
    with terminal.working("loading the kernels"):
        result = matcher.match(left, right)
        matcher.match(left, right, previous=result)  # uses the kernels of video


def _record(recording: Recording, stream: DepthStream, total: int | None, pictures: PictureWarnings) -> float:
    """Record the stream; the mean coverage is returned. However it ends, the recording is closed and says why."""
    recording.statistics, recording.remarks = stream.statistics, pictures.entries
    terminal.mode.interrupted = f"interrupted at once; what is in {recording.folder} is readable"
    frames, summed = 0, 0.0
    try:
        before, done_until = recording.frames, None if recording.last is None else recording.last.index
        speed = frame_progress(total, before, lambda: stream.statistics().recent_fps)
        with StopOnSignal(stream.close) as stop, speed as progress:
            for frame in stream:
                recording.add(frame)
                if recording.is_whole:
                    break
                if done_until is not None and frame.index <= done_until:
                    continue
                frames, summed = frames + 1, summed + recording.coverage
                pictures.look_at(frame, recording)
                progress(before + frames)
            if stop.signal is None:
                pictures.close()
                recording.close("complete")
                return summed / frames if frames else math.nan
    except BaseException as error:
        stream.close()
        with contextlib.suppress(OSError):  # the first error is the one to report
            recording.close("failed", str(error) or type(error).__name__)
        terminal.note(f"everything written before is complete and readable; {_how_to_resume(recording, stream.source)}")
        raise
    recording.close("interrupted", signal.Signals(stop.signal).name)
    terminal.mode.interrupted = f"interrupted; {_how_to_resume(recording, stream.source)}"
    if stop.signal == signal.SIGINT:
        raise KeyboardInterrupt
    terminal.note(terminal.mode.interrupted)
    sys.exit(128 + stop.signal)


def _how_to_resume(recording: Recording, source: Source) -> str:
    there = f"{recording.frames} frames are in {recording.folder}"
    return there if source.is_live else f"{there}; the same command with --resume continues from there"
