"""``bdis run``: depth of a whole video, unattended."""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from . import terminal
from .camera_options import CameraOptions
from .frame_progress import frame_progress
from .options import AverageFrames, Debug, Json, MaxDepth, Out, Preset, Set, Start, must_be, parse_names
from .signals import StopOnSignal
from .terminal import UsageError
from .video_source import FrameWarnings, OpenedSource, SourceOptions, frame_at, open_with_camera, parse_time

if TYPE_CHECKING:
    from ..cameras.rig import Rig
    from ..matching.matcher import StereoMatcher
    from ..matching.settings import Settings
    from ..video.recording import Recording
    from ..video.sources import Source
    from ..video.stream.depth_stream import DepthFrame, DepthStream

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
            help="What to write, separated by commas. One file per frame: depth, disparity, probability, sigma (the "
            "standard deviation of the depth), cloud. One file in all: video (the depth, lossless FFV1), preview (an "
            f"MP4 to look at).  [default: {','.join(DEFAULT_SAVE)}]",
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
            "chosen from the first frames]",
        ),
    ] = None,
    steps_per_mm: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Resolution of the depth video, whose values are the depth in mm times N: 1 stores whole mm, as most "
            "tools expect, 100 stores hundredths of a mm, up to 655 mm.",
        ),
    ] = 1,
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
    from ..video.recording import OUTPUTS, Recording, RecordingPlan, check_new, is_complete, read_manifest
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
        plan = RecordingPlan(outputs, opened.shape, opened.rig, fps, max_depth, steps_per_mm, near_far)
        start_s, stop_s = _span(source, start, stop, resume)
        calib = camera_options.calib
        settings = opened.settings_of_rig(settings, set_ or [], calib)
        about = {
            "bdis": __version__,
            "source": _about_source(source_options, source),
            "calib_sha256": None if calib is None else hashlib.sha256(calib.read_bytes()).hexdigest(),
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
        _warm_up(matcher, opened, start_s, warnings)
        recording = Recording(out, plan, about, resume=resume)
    except BaseException:
        source.close()
        raise
    resumed_after, last = recording.frames, recording.last
    try:
        stream = DepthStream(
            source, matcher, opened.camera,
            # The last finished frame is matched once more, because the next one builds on its result, as in any video.
            start_s=start_s if last is None else max(0.0, last.time_s - TIME_TOLERANCE_S),
            start_index=None if last is None else last.index,
            stop_s=stop_s, every=every, video=average_frames, report=warnings,
        )  # fmt: skip
    except BaseException as error:
        source.close()
        recording.close("failed", str(error) or type(error).__name__)
        raise
    total = _total(source, start_s, stop_s, every)
    coverage = _record(recording, stream, total, None if last is None else last.index, warnings)
    _report(opened, recording, stream, warnings, preset, resumed_after, coverage)


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
            "without them there are disparity, probability and preview"
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


def _warm_up(matcher: StereoMatcher, opened: OpenedSource, start_s: float, warnings: FrameWarnings) -> None:
    """Load or compile all kernels before times are measured, and check that the frames are rectified."""
    from ..cameras.checks import check_rectification
    from ..cameras.rectifier import Rectifier

    with terminal.working("reading the first frame"):
        frame = frame_at(opened.source, start_s, opened.first)
        left, right = frame.left, frame.right
        if isinstance(opened.camera, Rectifier):
            left, right = opened.camera(left, right)
    with terminal.working("loading the kernels"):
        result = matcher.match(left, right)
        matcher.match(left, right, previous=result)  # uses the kernels of video
        check = check_rectification(left, right, result)
    for text in check.warnings:
        warnings.warn(text)


def _record(
    recording: Recording, stream: DepthStream, total: int | None, done_until: int | None, warnings: FrameWarnings
) -> float:
    """Record the stream; the mean coverage is returned. However it ends, the recording is closed and says why."""
    recording.statistics = stream.statistics
    terminal.mode.interrupted = f"interrupted at once; what is in {recording.folder} is readable"
    frames, summed, warn_of_rows = 0, 0.0, _RowWarning(warnings)
    try:
        before = recording.frames
        speed = frame_progress(total, before, lambda: stream.statistics().recent_fps)
        with StopOnSignal(stream.close) as stop, speed as progress:
            for frame in stream:
                if done_until is not None and frame.index <= done_until:
                    continue
                recording.add(frame)
                frames, summed = frames + 1, summed + recording.coverage
                warn_of_rows(frame)
                progress(before + frames)
                if frames == 1:
                    _check_fits(frame, recording, warnings)
            if stop.signal is None:
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


class _RowWarning:
    """Warns once of rows that differ, unless that was said about the first frame."""

    def __init__(self, warnings: FrameWarnings):
        self._warnings, self._is_said = warnings, any("right image" in text for text in warnings.warnings)

    def __call__(self, frame: DepthFrame) -> None:
        from ..cameras.checks import row_warning

        if not self._is_said and (text := row_warning(frame.result)) is not None:
            self._warnings.warn(f"frame {frame.index}: {text}")
            self._is_said = True


def _how_to_resume(recording: Recording, source: Source) -> str:
    there = f"{recording.frames} frames are in {recording.folder}"
    return there if source.is_live else f"{there}; the same command with --resume continues from there"


def _check_fits(frame: DepthFrame, recording: Recording, warnings: FrameWarnings) -> None:
    """Warn at the first frame, and not after hours, if the depth video cannot hold the depth."""
    if recording.too_far > 0.01 * frame.left.shape[0] * frame.left.shape[1]:
        warnings.warn(
            f"{recording.too_far} pixels of the first frame are beyond {recording.most_depth_mm:g} mm, the largest "
            "depth that the depth video can store, and become unknown in it; use a smaller --steps-per-mm"
        )


def _report(
    opened: OpenedSource,
    recording: Recording,
    stream: DepthStream,
    warnings: FrameWarnings,
    preset: str,
    resumed_after: int,
    coverage: float,
) -> None:
    """Print the outcome."""
    if coverage < 0.1:
        warnings.warn(f"only {coverage:.1%} of the pixels are known: is this a rectified stereo video?")
    statistics = stream.statistics()
    height, width = recording.plan.shape
    files = recording.outputs()
    source, layout = opened.source.name, opened.source.layout
    views = "" if layout is None else f", {layout}"
    rows: list[tuple[str, str]] = [("source", f"{source}{views}, {width}x{height}, preset {preset}")]
    rows += [("calibration", remark) for remark in opened.remarks]
    rows.append(("frames", f"{recording.frames}" + (f", {resumed_after} of them before" if resumed_after else "")))
    if statistics.frames > 1:
        rows += _speed_rows(statistics)
        rows.append(("known", f"{coverage:.1%} of the pixels"))
    if statistics.damaged or statistics.dropped:
        rows.append(("lost", f"{statistics.damaged} frames damaged or missing, {statistics.dropped} dropped"))
    if statistics.suspect:
        rows.append(("suspect", f"{statistics.suspect} frames depend on damaged ones; frames.csv marks them"))
    if "video" in recording.plan.save:
        steps = recording.plan.steps_per_mm
        rows.append(("depth video", f"mm x {steps}" if steps > 1 else "whole mm; --steps-per-mm 100 keeps hundredths"))
    rows.append(("written", f"{recording.folder}: {', '.join(files)}"))
    terminal.table(rows)
    terminal.give(
        {
            "folder": recording.folder, "state": "complete", "frames": recording.frames,
            "resumed_after": resumed_after, "size": [width, height], "preset": preset, "calibration": opened.remarks,
            "coverage": coverage, "figures": asdict(statistics), "warnings": warnings.warnings, "files": files,
        }
    )  # fmt: skip


def _speed_rows(statistics: Any) -> list[tuple[str, str]]:
    """Speed and latency of a stream."""
    latency = statistics.latency_ms
    return [
        ("speed", f"{statistics.fps:.1f} frames/s, {statistics.match_ms.p50:.1f} ms to match one"),
        ("latency", f"median {latency.p50:.0f} ms, 95 % below {latency.p95:.0f} ms, 99 % below {latency.p99:.0f} ms"),
    ]
