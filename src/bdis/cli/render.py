"""``bdis render``: scenes with exact depth, into a folder that ``bdis bench`` reads."""

from pathlib import Path

from ..common.assignments import read_values, split_assignments
from ..common.declared import check_names
from . import terminal
from .terminal import UsageError


def run_render(scene: str, out: Path, frames: int, size: str, seed: int, assignments: list[str]) -> None:
    """Render a sequence, write it, and say what is in it."""
    from ..evaluation.datasets import open_dataset, write_rendered
    from ..synthetic import SCENES, RenderOptions

    if scene not in SCENES:
        raise UsageError(f"unknown scene {scene!r}; there are {', '.join(SCENES)}")
    width, height = parse_size(size)
    try:
        options = read_values(split_assignments(assignments, "--set"), RenderOptions)
        check_names(options, RenderOptions, what="option")
    except ValueError as error:
        raise UsageError(str(error)) from error
    with terminal.progress_bar() as progress:
        write_rendered(
            out,
            scene,
            frames,
            height,
            width,
            seed,
            progress=lambda done: progress("rendering", done, frames),
            **options,
        )
    first = open_dataset(out)[0].read()
    depth, rig = first.depth_mm, first.rig
    words = f"{depth.min():.0f} to {depth.max():.0f} mm away, disparity up to {first.disparity.max():.0f} px"
    terminal.table(
        [
            ("scene", f"{scene}, {frames} frames of {width}x{height}, seed {seed}"),
            ("first frame", f"{words}, {first.occluded.mean():.1%} hidden from the right camera"),
            ("cameras", f"focal {rig.focal_px:.1f} px, baseline {rig.baseline_mm:.3g} mm"),
            ("written", f"{out}: scene.json, rig.toml, left/, right/, depth/, disparity/, occluded/"),
        ]
    )
    terminal.say(f"\nTry: bdis bench {out} --methods bdis,sgbm -o {out}-bench")
    terminal.give({"folder": out, "scene": scene, "frames": frames, "size": [width, height], "options": options})


def parse_size(text: str) -> tuple[int, int]:
    """``640x480`` as width and height."""
    width, times, height = text.lower().partition("x")
    if not (times and width.isdigit() and height.isdigit()):
        raise UsageError(f"--size is {text!r}; expected WIDTHxHEIGHT such as 640x480")
    return int(width), int(height)
