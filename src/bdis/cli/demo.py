"""``bdis demo``."""

import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ..cameras.rig import Rig
from ..common.atomic import all_or_nothing
from ..files.maps import write_image
from ..matching.result import StereoResult
from . import terminal
from .outputs import describe, write_figures, write_outputs
from .presets import parse_settings, with_uncertainty

HEIGHT, WIDTH = 480, 640
SEED = 7
TIMED_FRAMES = 200
FORMATS = ["tiff", "npz", "ply", "preview"]


def run_demo(out: Path, preset: str) -> None:
    """Render, match, compare with the truth, write, and print a short table."""
    settings = parse_settings(preset, [])
    with all_or_nothing(out) as stage:
        from ..matching.matcher import StereoMatcher
        from ..synthetic.renderer import render

        with terminal.working(f"rendering a {WIDTH}x{HEIGHT} pair of wet tissue"):
            pair = render("tissue", HEIGHT, WIDTH, seed=SEED)
        rig = Rig(pair.focal_px, (WIDTH - 1) / 2, (HEIGHT - 1) / 2, pair.baseline_mm, size=(WIDTH, HEIGHT))
        matcher = StereoMatcher(**asdict(settings))
        sure_matcher = StereoMatcher(**asdict(with_uncertainty(settings, [])))
        begin = time.perf_counter()
        with terminal.working("loading the kernels"):
            matcher.match(pair.left, pair.right)
            result = sure_matcher.match(pair.left, pair.right)
        first_s = time.perf_counter() - begin
        with terminal.working(f"matching {TIMED_FRAMES} frames on one core"):
            times = []
            for _ in range(TIMED_FRAMES):
                begin = time.perf_counter()
                matcher.match(pair.left, pair.right)
                times.append(time.perf_counter() - begin)
        frame_s = float(np.median(times))
        error = _error_mm(result, rig, pair.depth_mm, pair.disparity)
        figures = describe(result, rig, settings, preset, None)
        figures |= {
            "median_error_mm": float(np.nanmedian(error)),
            "mean_error_mm": float(np.nanmean(error)),
            "first_match_s": first_s,
            "ms_per_frame": 1e3 * frame_s,
            "frames_per_second": 1 / frame_s,
        }
        with terminal.working("writing"):
            write_image(stage / "left.png", pair.left)
            write_image(stage / "right.png", pair.right)
            rig.save(stage / "rig.toml")
            truth = np.where(np.isnan(pair.disparity), np.nan, pair.depth_mm)
            title = f"{figures['median_error_mm']:.2f} mm median error, {1e3 * frame_s:.1f} ms per frame on one core"
            write_outputs(stage, FORMATS, pair.left, result, rig, true_depth_mm=truth, title=title)
            written = write_figures(stage, figures)
    low, high = pair.depth_mm.min(), pair.depth_mm.max()
    terminal.table(
        [
            (
                "scene",
                f"{WIDTH}x{HEIGHT}, {low:.0f} to {high:.0f} mm away, cameras {pair.baseline_mm:g} mm apart",
            ),
            ("depth error", f"{figures['median_error_mm']:.3f} mm median, {figures['mean_error_mm']:.3f} mm mean"),
            ("coverage", f"{figures['coverage']:.1%} of the pixels"),
            ("time", f"{1e3 * frame_s:.2f} ms per frame, {1 / frame_s:.0f} Hz (preset {preset}, one core)"),
            ("first match", f"{first_s:.1f} s, kernels compiled or loaded"),
            ("written", f"{out}: {', '.join(written)}"),
        ]
    )
    terminal.say(f"\nLook at {out / 'preview.png'}, then match it yourself, or turn it in the browser:")
    files = f"{out}/left.png {out}/right.png --calib {out}/rig.toml"
    terminal.say(f"  bdis match {files}\n  bdis view {files}")
    terminal.give({**figures, "folder": out, "files": written})


def view_demo(out: Path, preset: str, host: str, port: int, browser: bool) -> None:
    """Watch the scene of the demo while the cameras move."""
    from ..video.sources import RenderedSource
    from .view import Page, show

    page = Page(host, port, browser, out, preset)
    page.check()
    terminal.say("\nEach frame of the scene is rendered once, about a second each, then it plays at its own speed.")
    show(
        RenderedSource("tissue", height=HEIGHT, width=WIDTH, seed=SEED),
        None,
        parse_settings(preset, ["variance=true"]),
        page,
    )


def _error_mm(result: StereoResult, rig: Rig, true_depth_mm: np.ndarray, true_disparity: np.ndarray) -> np.ndarray:
    """Distance to the exact depth where the right camera sees the point as well."""
    error = np.abs(rig.depth(result) - true_depth_mm)
    return np.where(np.isnan(true_disparity), np.nan, error)
