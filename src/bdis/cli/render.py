"""``bdis render``: stereo pairs of a synthetic scene with exact depth, in a folder that ``bdis bench`` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common.assignments import read_values, split_assignments
from . import terminal
from .options import Debug, Json, Out, parse_size
from .terminal import UsageError


def render(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help="tissue, colon, instruments, plane or sphere.")],
    out: Out = Path("bdis-rendered"),
    frames: Annotated[
        int, typer.Option(metavar="N", help="Number of frames; the cameras move from frame to frame.")
    ] = 1,
    size: Annotated[str, typer.Option(metavar="WxH", help="Size of the images.")] = "640x480",
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the random shape and texture.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Change an option of the scene, such as smoke=0.4; can be repeated."
        ),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Render stereo pairs with exact depth into a folder.

    \b
    bdis render colon -o colon --frames 20
    bdis render instruments -o smoke --set smoke=0.4 --set lighting=headlight --size 1280x1024
    bdis bench colon --methods bdis,sgbm

    Files written: scene.json, rig.toml, left/ and right/ (8-bit PNG), depth/ (float32 TIFF, mm), disparity/ (float32
    TIFF, px), occluded/ (PNG, 255 where the right camera does not see the point).
    """
    from ..common.declared import check_names
    from ..evaluation.datasets import open_dataset, write_rendered
    from ..synthetic import SCENES, RenderOptions

    if scene not in SCENES:
        raise UsageError(f"unknown scene {scene!r}; there are {', '.join(SCENES)}")
    width, height = parse_size(size)
    try:
        options = read_values(split_assignments(set_ or [], "--set"), RenderOptions)
        check_names(options, RenderOptions, what="option")
    except ValueError as error:
        raise UsageError(str(error)) from error
    with terminal.progress_bar() as progress:
        progress("rendering", 0, frames)  # at once: the first frame may take long, to load or compile the renderer
        write_rendered(
            out, scene, frames, height, width, seed,
            progress=lambda done: progress("rendering", done, frames), **options,
        )  # fmt: skip
    first = open_dataset(out)[0].read()
    depth, rig = first.depth_mm, first.rig
    distances = f"{depth.min():.0f} to {depth.max():.0f} mm away, disparity up to {first.disparity.max():.0f} px"
    terminal.table(
        [
            ("scene", f"{scene}, {frames} frames of {width}x{height}, seed {seed}"),
            ("first frame", f"{distances}, {first.occluded.mean():.1%} hidden from the right camera"),
            ("cameras", f"focal length {rig.focal_px:.1f} px, baseline {rig.baseline_mm:.3g} mm"),
            ("written", f"{out}: scene.json, rig.toml, left/, right/, depth/, disparity/, occluded/"),
        ]
    )
    next_one = terminal.command_line("bench", out, "--methods", "bdis,sgbm", "-o", f"{out}-bench")
    terminal.say(f"\nTry: {next_one}")
    terminal.give({"folder": out, "scene": scene, "frames": frames, "size": [width, height], "options": options})
