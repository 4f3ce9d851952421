"""``bdis run``: depth of a whole video, unattended."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import terminal
from .camera_options import CameraOptions
from .frame_progress import frame_progress
from .live_options import LiveOptions, LiveOutputs
from .options import Debug, Json, Out
from .record_options import RecordOptions
from .run_summary import report
from .signals import StopOnSignal
from .video_source import FrameWarnings, SourceOptions

if TYPE_CHECKING:
    from ..video.recording import Recording
    from ..video.recording.picture_warnings import PictureWarnings
    from ..video.recording.run_request import PreparedRun
    from ..video.sources import Source
    from ..video.stream.depth_stream import DepthStream


def run(
    *,
    camera_options: CameraOptions,
    out: Out = Path("bdis-run"),
    recorded: RecordOptions,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run into the same folder.")] = False,
    live: LiveOptions,
    source_options: SourceOptions,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compute the depth of every frame of a video.

    \b
    bdis run surgery.mp4 --calib endoscope.yaml -o result
    bdis run left.mp4 right.mp4 --calib endoscope.yaml --start 1:30 --stop 2:00 --save video,cloud --every 5
    bdis run surgery.mp4 --calib endoscope.yaml -o result --resume
    bdis run recording.bag --save bag -o result
    bdis run render:colon --preset fast --save depth

    Besides what --save names, frames.csv is written with the time of every frame, manifest.json with all settings, and
    rig.toml with the rectified cameras.

    After Ctrl-C, a full disk or a killed process, everything written so far is complete and readable, and --resume
    continues.
    """
    from ..matching.matcher import StereoMatcher
    from ..video.opened_source import parse_time
    from ..video.recording import Recording, check_new, read_manifest
    from ..video.recording.picture_warnings import PictureWarnings
    from ..video.recording.run_request import TIME_TOLERANCE_S
    from ..video.stream.depth_stream import DepthStream

    request = recorded.request(source_options.request(camera_options), sends=live.is_used)
    earlier = read_manifest(out) if resume else None
    if earlier is None:
        check_new(out)
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        terminal.warn(text)

    prepared = request.prepare(resume=resume, warn=tell, working=terminal.working)
    opened, warnings, sending = prepared.opened, FrameWarnings(), LiveOutputs([])
    source = opened.source
    try:
        if earlier is not None and _is_done(out, prepared):
            source.close()
            _say_complete(out, prepared, earlier, "nothing to do")
            return
        sending = live.open(opened.rig, request.max_depth_mm)
        matcher = StereoMatcher(prepared.settings)
        prepared.warm_up(matcher, terminal.working)
        if "preview" not in (earlier or {}):
            prepared = prepared.with_clip_range(matcher, terminal.working)
        recording = Recording(out, prepared.plan, prepared.about, resume=resume)
    except BaseException:
        source.close()
        sending.close()
        raise
    resumed_after, restart = recording.frames, recording.restart
    _say_restart(recording)
    if recording.is_whole:
        source.close()
        sending.close()
        recording.close("complete")
        _say_complete(out, prepared, read_manifest(out), "no frame to be made again")
        return
    try:
        stream = DepthStream(
            source, matcher, opened.camera,
            start_s=prepared.start_s if restart.at is None else max(0.0, restart.at.time_s - TIME_TOLERANCE_S),
            start_index=None if restart.at is None else restart.at.index,
            previous=restart.result, stop_s=prepared.stop_s, every=request.every, video=request.average_frames,
            report=warnings,
        )  # fmt: skip
    except BaseException as error:
        source.close()
        sending.close()
        recording.close("failed", str(error) or type(error).__name__)
        raise
    pictures = PictureWarnings(warnings.warn, earlier or {})
    recording.remarks = lambda: {**pictures.entries(), **sending.entries(), **opened.all_remarks}
    coverage = _record(recording, stream, prepared.total, pictures, sending)
    for option, text in (("--start", request.start), ("--stop", request.stop)):  # a varying rate may show only now
        parse_time(text, source, option, lambda text: None if text in told else warnings.warn(text))
    if recording.absent:
        terminal.warn(
            f"{len(recording.absent)} frames of frames.csv did not come from the source, such as frame "
            f"{recording.absent[0]}: taken out of it"
        )
        resumed_after -= len(recording.absent)
    report(opened, recording, stream, warnings, pictures, sending, request.preset, resumed_after, coverage)
    if resume:
        _warn_of_foreign_files(out, prepared)


def _is_done(out: Path, prepared: PreparedRun) -> bool:
    from ..video.recording import is_complete

    with terminal.working("verifying what is there"):
        return is_complete(out, prepared.plan, prepared.about)


def _say_complete(out: Path, prepared: PreparedRun, manifest: dict[str, Any], what: str) -> None:
    _warn_of_foreign_files(out, prepared)
    lost = manifest.get("lost")
    lost_text = (
        f" and {lost} lost, which are damaged or missing in the source" if isinstance(lost, int) and lost else ""
    )
    terminal.say(f"{out} is complete: {manifest['frames']} frames{lost_text}, {what}")
    terminal.give({"folder": out, **manifest})


def _say_restart(recording: Recording) -> None:
    """What of an earlier run cannot be used."""
    out, restart = recording.folder, recording.restart
    if recording.has_lost_rig:
        terminal.note(f"rig.toml in {out} is missing or not the rig of this recording: written again")
    if recording.has_faulty_log:
        terminal.note(f"frames.csv in {out} has frames more than once or not in order: the last line of each is kept")
    if recording.cut_off:
        terminal.note(f"frames.csv in {out} lacks lines: the {recording.cut_off} frames after them are recorded again")
    if recording.repaired:
        terminal.note(f"{recording.repaired} frames in {out} are missing, incomplete or changed: made again")
    for name in restart.unusable:
        terminal.note(f"{name} in {out} is damaged or of another version of bdis, and is not used")
    if recording.repeated > recording.repaired and not recording.is_whole:
        terminal.note(f"{recording.repeated} frames are matched again, as later ones build on them")


def _warn_of_foreign_files(out: Path, prepared: PreparedRun) -> None:
    from ..video.recording import find_foreign_files

    if found := find_foreign_files(out, prepared.plan.save):
        count = "1 file" if len(found) == 1 else f"{len(found)} files"
        terminal.warn(
            f"{out} has {count} of frames that are not in frames.csv, such as {found[0].relative_to(out)}: "
            "they are not of this recording"
        )


def _record(
    recording: Recording, stream: DepthStream, total: int | None, pictures: PictureWarnings, live: LiveOutputs
) -> float:
    """Record the stream; the mean coverage is returned. However it ends, the recording is closed and says why."""
    recording.statistics = stream.statistics
    terminal.mode.interrupted = f"interrupted at once; what is in {recording.folder} is readable"
    frames, summed = 0, 0.0
    try:
        before, done_until = recording.frames, None if recording.last is None else recording.last.index
        speed = frame_progress(total, before, lambda: stream.statistics().recent_fps)
        with live, StopOnSignal(stream.close) as stop, speed as progress:
            for frame in stream:
                live.offer(frame)
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
                live.close()
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
