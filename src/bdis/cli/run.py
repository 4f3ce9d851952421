"""``bdis run``: a whole video, unattended."""

import contextlib
import hashlib
import math
import re
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..cameras.checks import check_rectification
from ..cameras.rectifier import Rectifier
from ..cameras.rig import Rig
from ..matching.matcher import StereoMatcher
from ..matching.settings import Settings
from ..video.recording import (
    MOST_STEPS,
    NEED_DEPTH,
    OUTPUTS,
    Plan,
    Recording,
    check_new,
    is_complete,
    read_manifest,
)
from ..video.sources import Source, StereoFrame
from ..video.stream.depth_stream import DepthFrame, DepthStream
from . import terminal
from .frame_progress import frame_progress
from .inputs import Camera
from .live import Reports, SourceOptions, frame_at, open_with_camera, parse_time
from .presets import parse_settings, with_uncertainty
from .stopping import GentleStop
from .terminal import UsageError

DEFAULT_SAVE, DEFAULT_WITHOUT_RIG = ("video", "preview"), ("disparity", "preview")
A_HAIR_S = 1e-6  # times that were written and read may differ by less


@dataclass(frozen=True)
class Request:
    """What the user asks for, as it was typed."""

    source: SourceOptions
    camera: Camera
    out: Path
    save: list[str] | None
    every: int
    start: str | None
    stop: str | None
    resume: bool
    preset: str
    assignments: list[str]
    max_depth_mm: float | None
    near_far: str | None
    steps_per_mm: int


def run_run(request: Request) -> None:
    """Open, match, write, and say what came of it."""
    wanted = _parse_save(request.save)
    settings = _settings(request, wanted or DEFAULT_SAVE)
    near_far = _parse_range(request.near_far)
    _check_numbers(request)
    earlier = read_manifest(request.out) if request.resume else None
    if earlier is None:
        check_new(request.out)
    color = bool({"cloud", "preview"} & set(wanted or DEFAULT_SAVE))
    source, camera, first, remarks = open_with_camera(request.source, request.camera, color=color)
    try:
        rig = camera.rig if isinstance(camera, Rectifier) else camera
        shape = camera.left_seen.shape if isinstance(camera, Rectifier) else first.left.shape[:2]
        fps = None if source.fps is None else source.fps / request.every
        plan = Plan(
            _save(wanted, rig), shape, rig, fps, request.max_depth_mm, request.steps_per_mm, near_far
        )  # fmt: skip
        start_s, stop_s = _span(request, source)
        about = _about(request, settings, source, start_s, stop_s)
        if earlier is not None and is_complete(request.out, plan, about):
            source.close()
            terminal.say(f"{request.out} is complete: {earlier['frames']} frames, nothing to do")
            terminal.give({"folder": request.out, **earlier})
            return
        matcher = StereoMatcher(**asdict(settings))
        reports = Reports()
        _warm_up(matcher, camera, frame_at(source, start_s, first), reports)
        recording = Recording(request.out, plan, about, resume=request.resume)
    except BaseException:
        source.close()
        raise
    resumed_after, last = recording.frames, recording.last
    stream = DepthStream(
        source, matcher, camera,
        # The last frame that is done is matched once more, so that the next one has one to start from, as in video.
        start_s=start_s if last is None else max(0.0, last.time_s - A_HAIR_S),
        start_index=None if last is None else last.index,
        stop_s=stop_s, every=request.every, report=reports,
    )  # fmt: skip
    total = _total(source, start_s, stop_s, request.every)
    coverage = _record(recording, stream, total, None if last is None else last.index, reports)
    _report(request, recording, stream, source, remarks, reports, resumed_after, coverage)


# --- What the options mean --------------------------------------------------------------------------------------------


def _parse_save(given: list[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = [name.strip().lower() for text in given for name in text.split(",")]
    for name in names:
        if name not in OUTPUTS:
            raise UsageError(f"--save {name!r}: expected of {', '.join(OUTPUTS)}")
    return tuple(name for name in OUTPUTS if name in names)


def _save(wanted: tuple[str, ...] | None, rig: Rig | None) -> tuple[str, ...]:
    """What can be saved; without calibration there is disparity and no depth."""
    if wanted is None:
        if rig is not None:
            return DEFAULT_SAVE
        terminal.warn("no depth without --calib FILE, or --focal PX and --baseline MM: disparity is saved instead")
        return DEFAULT_WITHOUT_RIG
    impossible = [name for name in wanted if rig is None and name in NEED_DEPTH]
    if impossible:
        raise UsageError(
            f"--save {','.join(impossible)} needs --calib FILE, or --focal PX and --baseline MM; "
            "without them there are disparity, probability and preview"
        )
    return wanted


def _settings(request: Request, save: tuple[str, ...]) -> Settings:
    """With a variance only if something is saved of it: it takes time."""
    settings = parse_settings(request.preset, request.assignments)
    if {"sigma", "cloud"} & set(save):
        settings = with_uncertainty(settings, request.assignments)
    if "sigma" in save and settings.variance is False:
        raise UsageError("--save sigma needs the variance that --set variance=false turns off")
    return settings


def _parse_range(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        near, far = (float(part) for part in text.split(","))
    except ValueError:
        near = far = math.nan
    if not (near < far and math.isfinite(far - near)):
        raise UsageError(f"--range {text}: expected NEAR,FAR such as 30,120, the smaller one first")
    return near, far


def _check_numbers(request: Request) -> None:
    if request.every < 1:
        raise UsageError(f"--every is {request.every}; expected 1 or more")
    if not 1 <= request.steps_per_mm <= MOST_STEPS:
        raise UsageError(f"--steps-per-mm is {request.steps_per_mm}; expected 1 to {MOST_STEPS}")
    if request.max_depth_mm is not None and not request.max_depth_mm > 0:
        raise UsageError(f"--max-depth is {request.max_depth_mm:g}; expected mm above 0")


def _span(request: Request, source: Source) -> tuple[float, float | None]:
    """First moment and the one after the last, s."""
    if source.is_live and (request.start is not None or request.resume):
        option = "--resume" if request.resume else "--start"
        raise UsageError(f"{option}: {source.name} is live, there is nothing to go back to")
    start_s = parse_time(request.start, source, "--start") or 0.0
    stop_s = parse_time(request.stop, source, "--stop")
    if start_s < 0 or (stop_s is not None and not stop_s > start_s):
        raise UsageError(f"--start {request.start or 0} to --stop {request.stop or 'the end'} holds no frames")
    return start_s, stop_s


def _total(source: Source, start_s: float, stop_s: float | None, every: int) -> int | None:
    """How many frames there will be, as far as the source knows."""
    if source.fps is None or (source.length is None and stop_s is None):
        return None
    ends = [source.length, None if stop_s is None else math.ceil(stop_s * source.fps - A_HAIR_S)]
    frames = min(end for end in ends if end is not None) - math.ceil(start_s * source.fps - A_HAIR_S)
    return max(0, -(-frames // every))


def _about(
    request: Request, settings: Settings, source: Source, start_s: float, stop_s: float | None
) -> dict[str, Any]:
    """All that decides the frames, for the manifest; files by name and content, as disks get other places."""
    files = [Path(name) for name in (request.source.left, request.source.right) if name is not None]
    calib = request.camera.calib
    return {
        "bdis": __version__,
        "source": {
            **asdict(request.source),
            "layout": source.layout,
            "left": _public(request.source.left),
            "right": None if request.source.right is None else _public(request.source.right),
            "bytes": [file.stat().st_size for file in files if file.is_file()],
            "frames": source.length,
            "fps": source.fps,
        },
        "calib_sha256": None if calib is None else hashlib.sha256(calib.read_bytes()).hexdigest(),
        "preset": request.preset,
        "settings": asdict(settings),
        "every": request.every,
        "start_s": start_s,
        "stop_s": stop_s,
    }


def _public(place: str) -> str:
    """A source as others may read of it: a file without its folders, a URL without its password.

    >>> _public("rtsp://me:secret@10.0.0.7/left")
    'rtsp://10.0.0.7/left'
    """
    if Path(place).exists():
        return Path(place).name
    return re.sub(r"(?<=://)[^/@]*@", "", place)


# --- The work ---------------------------------------------------------------------------------------------------------


def _warm_up(matcher: StereoMatcher, camera: Rectifier | Rig | None, frame: StereoFrame, reports: Reports) -> None:
    """Compile and load everything before the clock runs, and see whether this is a rectified pair."""
    left, right = frame.left, frame.right
    if isinstance(camera, Rectifier):
        left, right = camera(left, right)
    with terminal.working("getting ready"):
        result = matcher.match(left, right)
        second = matcher.match(left, right, previous=result)
        matcher.match(left, right, previous=second)  # only now all of video mode has run
        check = check_rectification(left, right, result)
    for text in check.warnings:
        reports.warn(text)


def _record(
    recording: Recording, stream: DepthStream, total: int | None, done_until: int | None, reports: Reports
) -> float:
    """Run the stream into the recording; the mean coverage.  However it ends, the recording is closed and says how."""
    recording.figures = stream.figures
    terminal.mode.interrupted = f"interrupted at once; what is in {recording.folder} is readable"
    frames, summed = 0, 0.0
    try:
        before = recording.frames
        speed = frame_progress(total, before, lambda: stream.figures().recent_fps)
        with GentleStop(stream.close) as stop, speed as progress:
            for frame in stream:
                if done_until is not None and frame.index <= done_until:
                    continue
                recording.add(frame)
                frames, summed = frames + 1, summed + recording.coverage
                progress(before + frames)
                if frames == 1:
                    _check_fits(frame, recording, reports)
            if stop.signal is None:
                recording.close("complete")
                return summed / frames if frames else math.nan
    except BaseException as error:
        stream.close()
        with contextlib.suppress(OSError):  # the first error is the one to tell
            recording.close("failed", str(error) or type(error).__name__)
        terminal.note(f"what was written until then is complete and readable; {_go_on(recording, stream.source)}")
        raise
    recording.close("interrupted", signal.Signals(stop.signal).name)
    terminal.mode.interrupted = f"interrupted; {_go_on(recording, stream.source)}"
    if stop.signal == signal.SIGINT:
        raise KeyboardInterrupt
    terminal.note(terminal.mode.interrupted)
    sys.exit(128 + stop.signal)


def _go_on(recording: Recording, source: Source) -> str:
    there = f"{recording.frames} frames are in {recording.folder}"
    return there if source.is_live else f"{there}, the same command with --resume goes on from there"


def _check_fits(frame: DepthFrame, recording: Recording, reports: Reports) -> None:
    """Does the depth fit the video?  Said at once, not after hours."""
    if recording.too_far > 0.01 * frame.left.shape[0] * frame.left.shape[1]:
        reports.warn(
            f"{recording.too_far} pixels are further than {recording.most_depth_mm:g} mm, which the depth video keeps "
            "as unknown; a smaller --steps-per-mm has room for them"
        )


def _report(
    request: Request,
    recording: Recording,
    stream: DepthStream,
    source: Source,
    remarks: list[str],
    reports: Reports,
    resumed_after: int,
    coverage: float,
) -> None:
    figures = stream.figures()
    height, width = recording.plan.shape
    files = recording.outputs()
    if coverage < 0.1:
        reports.warn(f"only {coverage:.1%} of the pixels are known: is this a rectified stereo video?")
    latency, match = figures.latency_ms, figures.match_ms
    views = "" if source.layout is None else f", {source.layout}"
    rows: list[tuple[str, str]] = [("source", f"{source.name}{views}, {width}x{height}, preset {request.preset}")]
    rows += [("calibration", remark) for remark in remarks]
    rows.append(("frames", f"{recording.frames}" + (f", {resumed_after} of them before" if resumed_after else "")))
    if figures.frames > 1:
        rows.append(("speed", f"{figures.fps:.1f} frames/s, {match.p50:.1f} ms to match one"))
        rows.append(("latency", f"{latency.p50:.0f} ms, 95 % below {latency.p95:.0f}, 99 % below {latency.p99:.0f}"))
        rows.append(("known", f"{coverage:.1%} of the pixels"))
    if figures.damaged or figures.dropped:
        rows.append(("lost", f"{figures.damaged} damaged or missing, {figures.dropped} dropped"))
    if figures.suspect:
        rows.append(("suspect", f"{figures.suspect} frames build on damaged ones; frames.csv tells which"))
    if "video" in recording.plan.save:
        finer = "whole mm; --steps-per-mm 100 keeps hundredths"
        rows.append(("depth video", f"mm x {request.steps_per_mm}" if request.steps_per_mm > 1 else finer))
    rows.append(("written", f"{request.out}: {', '.join(files)}"))
    terminal.table(rows)
    terminal.give(
        {
            "folder": request.out, "state": "complete", "frames": recording.frames, "resumed_after": resumed_after,
            "size": [width, height], "preset": request.preset, "calibration": remarks, "coverage": coverage,
            "figures": asdict(figures), "warnings": reports.warnings, "files": files,
        }
    )  # fmt: skip
