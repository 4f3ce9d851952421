"""``bdis export``: a recording in the layout of another tool."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .camera_options import CameraOptions
from .frame_progress import frame_progress
from .options import UNITS, Debug, Json, Out, must_be
from .terminal import UsageError
from .video_source import SourceOptions, open_with_camera

if TYPE_CHECKING:
    from ..cameras.rig import Rig
    from ..common.arrays import Array
    from ..connections.exports import ExportFrame
    from ..video.opened_source import OpenedSource
    from ..video.recording import FrameRecord, RecordedDepth

NAMES = ("endonerf", "tum", "colmap-depth", "nerfstudio", "zarr")
WHITE = ("known", "unknown")
SAME_TIME_S, SAME_RIG = 1e-6, 1e-9


def export(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="Folder that bdis run made.")],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="LAYOUT",
            help=f"Layout to write: {', '.join(NAMES)}.",
            autocompletion=lambda: list(NAMES),
            callback=must_be(" or ".join(NAMES), lambda name: name in NAMES),
        ),
    ],
    *,
    out: Out = Path("bdis-export"),
    steps_per_mm: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Values of 16-bit depth images are the depth in mm times N: 100 stores hundredths of a mm up to "
            "655.35 mm, 5 is what TUM's own tools expect, 1 stores whole mm.  [default: 100]",
            callback=must_be("1 to 65535", lambda steps: 1 <= steps <= 65535),
        ),
    ] = None,
    white: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(WHITE),
            help="Which pixels are white in masks: those whose depth is known or unknown.  [default: unknown for "
            "endonerf, known for others]",
            callback=must_be("known or unknown", lambda white: white in WHITE),
        ),
    ] = None,
    poses: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Poses of the rectified left camera: TUM's or StereoMIS's rows, or 4x4 matrices.  [default: identity]",
        ),
    ] = None,
    poses_unit: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(UNITS),
            help="Unit of translations in --poses; such files do not say.",
            callback=must_be("mm, cm or m", lambda unit: unit in UNITS),
        ),
    ] = None,
    world_to_camera: Annotated[
        bool, typer.Option("--world-to-camera", help="The poses are from the world to the camera, not the reverse.")
    ] = False,
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE",
            help="The source of the recording, twice if each view has its own; for left images that were not recorded "
            "with --save left. Give the same calibration as then.",
        ),
    ] = None,
    camera_options: CameraOptions,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a recording in the layout of a reconstruction tool.

    \b
    bdis run surgery.mp4 --calib endoscope.yaml --save video,left -o result
    bdis export result --to endonerf -o for-endogaussian
    bdis export result --to tum --poses groundtruth.txt --poses-unit mm -o tum
    bdis export result --to nerfstudio --source surgery.mp4 --calib endoscope.yaml -o scene

    Left images, depth, masks of unknown pixels and poses are written, and export.json says their units. All files
    appear together when they are done; the folder must be new or empty.
    """
    from ..connections.exports import LAYOUTS, STEPS_PER_MM, ExportPlan, check_empty, export_frames, read_poses
    from ..video.recording import RecordedDepth

    if (poses is None) != (poses_unit is None):
        raise UsageError("--poses FILE and --poses-unit (mm, cm or m) must be given together")
    if poses is None and world_to_camera:
        raise UsageError("--world-to-camera needs --poses")
    if steps_per_mm is not None and not LAYOUTS[to].has_steps:
        raise UsageError(f"--steps-per-mm is for 16-bit depth; {to} has floats, in mm")
    if white is not None and to == "zarr":
        raise UsageError("--white is for masks; zarr has none, unknown depth is NaN")
    recorded = RecordedDepth(recording)
    _check_folders(recording, out)
    check_empty(out)
    found_poses = None
    if poses is not None and poses_unit is not None:
        indices = [record.index for record in recorded.records]
        times_s, length = [record.time_s for record in recorded.records], recorded.source.get("frames")
        found_poses = read_poses(
            poses, poses_unit, indices, inverse=world_to_camera, times_s=times_s, source_frames=length
        )
    opened = _open_source(recorded, source, camera_options)
    plan = ExportPlan(
        recorded.rig, recorded.shape, len(recorded.records),
        steps_per_mm=STEPS_PER_MM if steps_per_mm is None else steps_per_mm,
        white=white, poses=found_poses, has_sigma="sigma" in recorded.outputs,  # type: ignore[arg-type]
        about={
            "recording": recording.resolve().name,
            "source": [view for view in map(recorded.source.get, ("left", "right")) if view is not None],
            "suspect_frames": _suspect(recorded),
        },
    )  # fmt: skip
    _warn(recorded)
    began, done = time.monotonic(), 0

    def speed() -> float:
        return done / max(time.monotonic() - began, 1e-9)

    def count(now: int) -> None:
        nonlocal done
        done = now
        progress(now)

    try:
        with frame_progress(plan.count, 0, speed, what="exporting") as progress:
            writer = export_frames(_frames(recorded, opened), out, to, plan, progress=count)
    finally:
        if opened is not None:
            opened.source.close()
    cautions = writer.cautions()
    if writer.too_far:
        cautions.append(
            f"{writer.too_far} pixels are farther than {65535 / plan.steps_per_mm:g} mm and unknown in the export; "
            "a smaller --steps-per-mm reaches farther"
        )
    for caution in cautions:
        terminal.warn(caution)
    about = writer.about()
    depth = about["depth"]
    form = f"float32 in {depth['unit']}" if "type" in depth else f"16 bit in steps of {depth['unit']}"
    rows: list[tuple[object, ...]] = [("frames", plan.count), ("depth", f"{form}, unknown = {depth['unknown']}")]
    rows += [("masks", about["masks"])] if "masks" in about else []
    rows += [("poses", "identity: the camera stands still" if poses is None else f"{poses.name}, in {poses_unit}")]
    terminal.table([*rows, ("written", f"{out}: {', '.join(sorted(path.name for path in out.iterdir()))}")])
    terminal.give({"folder": out, **about, "cautions": cautions})


def _check_folders(recording: Path, out: Path) -> None:
    """Raise UsageError if the export would go into the recording."""
    if out.resolve().is_relative_to(recording.resolve()):
        raise UsageError(f"-o {out} is in the recording itself; choose a folder of its own")


def _suspect(recorded: RecordedDepth) -> list[int]:
    return [record.index for record in recorded.records if record.suspect]


def _warn(recorded: RecordedDepth) -> None:
    """What a user must know about the recording."""
    state = recorded.manifest["state"]
    if state != "complete":
        terminal.warn(f"the recording is {state}, not complete: its {len(recorded.records)} frames are exported")
    if suspect := _suspect(recorded):
        terminal.warn(f"{len(suspect)} frames were decoded from a damaged video, such as {suspect[0]}: may be wrong")


def _open_source(recorded: RecordedDepth, places: list[str] | None, camera: CameraOptions) -> OpenedSource | None:
    """The source of the recording, for its left images; None if the recording has them."""
    from ..video.recording.run_request import changes_of_source

    has_left = "left" in recorded.outputs
    if not places:
        if camera.calib or camera.focal is not None:
            raise UsageError("--calib and --focal are for --source; the recording has its own cameras")
        if not has_left:
            raise UsageError(
                f"{recorded.folder} has no left images: record with --save left, or give its source again (--source "
                f"{recorded.source.get('left') or 'PLACE'}) with the same calibration"
            )
        return None
    if has_left:
        terminal.note("the left images are taken from the recording, not from --source")
        return None
    if len(places) > 2:
        raise UsageError(f"--source is given {len(places)} times; a stereo pair has one or two sources")
    about, is_folder = recorded.source, Path(places[0]).is_dir()
    fps = about.get("fps") if is_folder else None
    topics = about.get("topics")
    options = SourceOptions(
        source=places[0], right=places[1] if len(places) == 2 else None, layout=about.get("layout"),
        squeezed=bool(about.get("squeezed")), deinterlace=bool(about.get("deinterlace")), fps=fps,
        topics=None if topics is None else tuple(topics), tolerance_ms=about.get("tolerance_ms"),
    )  # fmt: skip
    with terminal.working("opening the source"):
        opened = open_with_camera(options, camera, color=True)
    try:
        if changed := changes_of_source(recorded.source, options.request(camera), opened.source):
            raise ValueError(f"{opened.source.name} is not the source of this recording: {'; '.join(changed)}")
        if opened.calib_sha256 != recorded.manifest["run"].get("calib_sha256", []):
            raise ValueError(
                f"{recorded.folder} was recorded with another calibration file, or without one; give the same"
            )
        if opened.source.is_live:
            raise ValueError(f"{opened.source.name} is live: its frames cannot be read again; record with --save left")
        if opened.rig is None or opened.shape != recorded.shape or not _is_same(opened.rig, recorded.rig):
            raise ValueError(f"the cameras of --source are not those of the recording in {recorded.folder}")
        before = recorded.manifest["run"].get("rectified_here")
        if opened.is_rectified_here != before:
            was = {True: "were", False: "were not"}.get(before, "may or may not have been")
            raise ValueError(
                f"the images in {recorded.folder} {was} rectified by bdis run, and these "
                f"{'would' if opened.is_rectified_here else 'would not'} be: give --rectify or --no-rectify as then"
            )
    except BaseException:
        opened.source.close()
        raise
    return opened


def _is_same(one: Rig, other: Rig) -> bool:
    names = ("focal_px", "cx", "cy", "baseline_mm", "doffs")
    return all(abs(getattr(one, name) - getattr(other, name)) <= SAME_RIG * (1 + one.focal_px) for name in names)


def _frames(recorded: RecordedDepth, opened: OpenedSource | None) -> Iterator[ExportFrame]:
    from ..connections.exports import ExportFrame

    lefts = None if opened is None else _lefts(recorded, opened)
    for frame in recorded.frames():
        left = next(lefts) if lefts is not None else frame.left
        assert left is not None
        yield ExportFrame(frame.record.index, frame.record.time_s, left, frame.depth_mm, frame.sigma_mm)


def _lefts(recorded: RecordedDepth, opened: OpenedSource) -> Iterator[Array]:
    """The rectified left images of the recorded frames, from the source."""
    from ..cameras.rectifier import Rectifier
    from ..video.sources import BadFrame

    opened.source.close()  # it begins again
    for record in recorded.records:
        while True:
            try:
                frame = opened.source.read()
            except BadFrame:
                continue  # it is not in the recording either
            if frame is None or frame.index > record.index:
                raise _other_source(opened, record)
            if frame.index == record.index:
                break
        if abs(frame.time_s - record.time_s) > SAME_TIME_S:
            raise _other_source(opened, record)
        if isinstance(opened.camera, Rectifier):
            yield opened.camera(frame.left, frame.right)[0]
        else:
            yield frame.left


def _other_source(opened: OpenedSource, record: FrameRecord) -> ValueError:
    return ValueError(
        f"{opened.source.name} has no frame {record.index} at {record.time_s:.3f} s: "
        "it is not the source of this recording"
    )
