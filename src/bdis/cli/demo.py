"""``bdis demo``: match a rendered pair and compare with its exact depth."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import terminal
from .options import Debug, Json, Out, Preset
from .output_folder import output_folder
from .view import PageOptions

if TYPE_CHECKING:
    from ..cameras.rig import Rig
    from ..matching.matcher import StereoMatcher
    from ..matching.result import StereoResult
    from ..synthetic import RenderedPair

HEIGHT, WIDTH = 480, 640
SEED = 7
TIMED_FRAMES = 200
FORMATS = ["tiff", "npz", "ply", "preview"]


def demo(
    *,
    out: Out = Path("bdis-demo"),
    preset: Preset = "balanced",
    view: Annotated[
        bool, typer.Option("--view", help="Then show the scene in the browser, with moving cameras.")
    ] = False,
    page: PageOptions,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Match a rendered pair and compare with its exact depth.

    \b
    bdis demo
    bdis demo -o somewhere --preset fast
    bdis demo --view

    Files written: the images, their calibration, disparity, depth, point cloud, a preview and run.json with the
    errors and times.
    """
    from ..cameras.rig import Rig
    from ..cameras.rig_settings import with_uncertainty
    from ..matching.matcher import StereoMatcher
    from ..synthetic import render
    from .presets import parse_settings
    from .result_files import summarise

    settings = parse_settings(preset, [])
    with output_folder(out) as stage:
        with terminal.working(f"rendering tissue, {WIDTH}x{HEIGHT}"):
            pair = render("tissue", HEIGHT, WIDTH, seed=SEED)
        rig = Rig(pair.focal_px, (WIDTH - 1) / 2, (HEIGHT - 1) / 2, pair.baseline_mm, size=(WIDTH, HEIGHT))
        matcher = StereoMatcher(settings)
        variance_matcher = StereoMatcher(with_uncertainty(settings, []))
        begin = time.perf_counter()
        with terminal.working("loading the kernels"):
            matcher.match(pair.left, pair.right)
            result = variance_matcher.match(pair.left, pair.right)
        first_s = time.perf_counter() - begin
        frame_s = _median_time_s(matcher, pair)
        summary = summarise(result, rig, settings, preset)
        summary |= _errors_mm(result, rig, pair)
        summary |= {"first_match_s": first_s, "ms_per_frame": 1e3 * frame_s, "frames_per_second": 1 / frame_s}
        with terminal.working("writing"):
            written = _write(stage, pair, result, rig, summary)
    _report(summary, pair, out, written)
    if view:
        _view(page, out, preset)


def _median_time_s(matcher: StereoMatcher, pair: RenderedPair) -> float:
    """Median time of a match in s."""
    import numpy as np

    times = []
    with terminal.working(f"matching {TIMED_FRAMES} times on one core, to measure the speed"):
        for _ in range(TIMED_FRAMES):
            begin = time.perf_counter()
            matcher.match(pair.left, pair.right)
            times.append(time.perf_counter() - begin)
    return float(np.median(times))


def _errors_mm(result: StereoResult, rig: Rig, pair: RenderedPair) -> dict[str, float]:
    """Median and mean distance to the exact depth, of the points that both cameras see."""
    import numpy as np

    error = np.abs(rig.depth(result) - _visible_depth_mm(pair))
    return {"median_error_mm": float(np.nanmedian(error)), "mean_error_mm": float(np.nanmean(error))}


def _visible_depth_mm(pair: RenderedPair) -> Any:
    """The exact depth, NaN where the right camera does not see the point."""
    import numpy as np

    return np.where(np.isnan(pair.disparity), np.nan, pair.depth_mm)


def _write(folder: Path, pair: RenderedPair, result: StereoResult, rig: Rig, summary: dict[str, Any]) -> list[str]:
    """Write all files; their names are returned."""
    from ..files.images import write_image
    from .result_files import write_outputs, write_summary

    write_image(folder / "left.png", pair.left)
    write_image(folder / "right.png", pair.right)
    rig.save(folder / "rig.toml")
    title = f"{summary['median_error_mm']:.2f} mm median error, {summary['ms_per_frame']:.1f} ms per frame on one core"
    write_outputs(folder, FORMATS, pair.left, result, rig, true_depth_mm=_visible_depth_mm(pair), title=title)
    return write_summary(folder, summary)


def _report(summary: dict[str, Any], pair: RenderedPair, out: Path, written: list[str]) -> None:
    """Print the outcome, and what to try next."""
    low, high = pair.depth_mm.min(), pair.depth_mm.max()
    speed = f"{summary['ms_per_frame']:.2f} ms per frame, {summary['frames_per_second']:.0f} frames/s"
    terminal.table(
        [
            ("scene", f"{WIDTH}x{HEIGHT}, {low:.0f} to {high:.0f} mm away, baseline {pair.baseline_mm:g} mm"),
            ("depth error", f"{summary['median_error_mm']:.3f} mm median, {summary['mean_error_mm']:.3f} mm mean"),
            ("known", f"{summary['coverage']:.1%} of the pixels"),
            ("time", f"{speed} (preset {summary['preset']}, one core)"),
            ("first match", f"{summary['first_match_s']:.1f} s, with the time to load or compile the kernels"),
            ("written", f"{out}: {', '.join(written)}"),
        ]
    )
    files = (out / "left.png", out / "right.png", "--calib", out / "rig.toml")
    terminal.say(f"\nLook at {out / 'preview.png'}. Then match the pair yourself, or see it in the browser:")
    for command in ("match", "view"):
        terminal.say(f"  {terminal.command_line(command, *files)}")
    terminal.give({**summary, "folder": out, "files": written})


def _view(page: PageOptions, out: Path, preset: str) -> None:
    """Show the scene in the browser while the cameras move."""
    from ..video.sources import RenderedSource
    from .presets import parse_settings
    from .view import show

    terminal.say("\nThe video is slow at first: every frame is rendered once, which takes about a second each.")
    source = RenderedSource("tissue", height=HEIGHT, width=WIDTH, seed=SEED)
    show(source, None, parse_settings(preset, ["variance=true"]), page, preset=preset, out=out)
