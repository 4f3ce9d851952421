"""``bdis certainty``: fit sigma to one's own cameras, and show how far it can be trusted."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.assignments import split_assignments
from . import terminal
from .options import Debug, Json, Preset, Set, must_be
from .terminal import UsageError

if TYPE_CHECKING:
    from ..evaluation.certainty_fit import CertaintyFit
    from ..evaluation.datasets import Dataset
    from ..evaluation.frame_errors import FrameErrors
    from ..matching.settings import Settings

SHOWN_SHARES = (0.68, 0.95)
RIG_ENDINGS = (".toml", ".json")
DEFAULT_FRAMES = 20

DatasetPlace = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="Frames with a reference: folder, KIND:FOLDER, or rendered scene such as render:colon,frames=4.",
    ),
]
Kind = Annotated[
    str | None, typer.Option(metavar="KIND", help="Kind of the data set, if it is not recognised; as in bdis bench.")
]
DatasetOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", help="Option of the data set, such as baseline_mm=5.3; can be repeated; as in bdis bench."
    ),
]
Frames = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Use at most N frames of each group, evenly spaced.",
        callback=must_be("1 or more", lambda frames: frames >= 1),
    ),
]
Occluded = Annotated[bool, typer.Option("--occluded", help="Also count pixels that the right camera does not see.")]

certainty_app = typer.Typer(rich_markup_mode=None)


@certainty_app.callback()
def certainty() -> None:
    """Fit sigma to your own cameras, and check it."""


@certainty_app.command("fit")
def certainty_fit(
    dataset: DatasetPlace,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Rig file to write, .toml or .json: the rig of the data set with the factor.",
            callback=must_be("a file that ends with .toml or .json", lambda path: path.suffix.lower() in RIG_ENDINGS),
        ),
    ] = None,
    preset: Preset = "balanced",
    set_: Set = None,
    kind: Kind = None,
    option: DatasetOption = None,
    frames: Frames = DEFAULT_FRAMES,
    occluded: Occluded = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit sigma to a rig, from a few frames with a reference.

    \b
    bdis certainty fit my-frames -o rig.toml
    bdis match left.png right.png --calib rig.toml
    bdis certainty fit hamlyn:/data/rectified01 --option baseline_mm=5.3 --preset fast -o rig.toml

    The factor is the one with which 95 % of the errors lie in the 95 % interval, and every frame counts the same. Three
    frames suffice if they show different places. The factor belongs to the preset it was fitted with.

    If the data set has no rig, or several, no file is written; the number is printed and can be given to the other
    commands with --set.
    """
    from ..evaluation.certainty_fit import fit_errors

    settings = _settings(preset, set_ or [])
    errors = _measure(_open(dataset, kind, option or [], frames), settings, occluded)
    fit = fit_errors(errors, settings)
    for text in fit.warnings:
        terminal.warn(text)
    written = _write(fit, out)
    _print_fit(fit, errors, preset, written)
    if out is not None and written is None:
        terminal.warn(
            f"{out} is not written, because the data set has no rig that all frames share; "
            f"give --set sigma_scale={fit.sigma_scale:g} to bdis match, run and view instead"
        )
    terminal.give({**asdict(fit), "preset": preset, "written": written})


@certainty_app.command("show")
def certainty_show(
    dataset: DatasetPlace,
    rig: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Rig file with a factor, as bdis certainty fit writes it.  [default: that of the data set]",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Picture to write.",
            callback=must_be("a file that ends with .png", lambda path: path.suffix.lower() == ".png"),
        ),
    ] = Path("bdis-certainty.png"),
    preset: Preset = "balanced",
    set_: Set = None,
    kind: Kind = None,
    option: DatasetOption = None,
    frames: Frames = DEFAULT_FRAMES,
    occluded: Occluded = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show how many errors lie in the intervals, before and after a fit.

    \b
    bdis certainty show other-frames --rig rig.toml -o certainty.png

    Use other frames than those of the fit, or the result looks better than it is. The picture has the reliability of
    intervals and of probabilities; ideal is the diagonal.
    """
    from ..common.atomic import write_whole
    from ..evaluation.certainty_fit import reliability_curves
    from ..evaluation.frame_errors import left_out
    from ..evaluation.report.plots import certainty_picture
    from ..evaluation.summary import counted

    given = None if rig is None else _scale_of(rig)
    settings = _settings(preset, set_ or [])
    data = _open(dataset, kind, option or [], frames)
    measured = _measure(data, settings, occluded)
    errors = [each for each in measured if not each.problem]
    for text in left_out(measured):
        terminal.warn(text)
    if not errors:
        raise ValueError(f"{dataset} has no frames to compare with")
    found = given or next((each.rig.sigma_scale for each in errors if each.rig is not None), None)
    scales = {"before": 1.0}
    if found is not None:
        scales["after"] = found / settings.sigma_scale  # the errors were made with that of the settings
    shares = _shares(errors, scales)
    _print_shares(shares, scales)
    titles = [f"{name} (sigma x {scale * settings.sigma_scale:.3g})" for name, scale in scales.items()]
    curves = {title: reliability_curves(errors, scale) for title, scale in zip(titles, scales.values())}
    write_whole(out, certainty_picture(curves, f"{data.name}, preset {preset}, {counted(len(errors), 'frame')}"))
    if found is None:
        terminal.say("\nNo factor yet: bdis certainty fit finds it, and --rig FILE shows its effect.")
    terminal.say(f"\nwritten: {out}")
    terminal.give({"picture": out, "preset": preset, "sigma_scale": found, "shares_inside": shares})


def _settings(preset: str, assignments: list[str]) -> Settings:
    from .presets import parse_settings

    settings = parse_settings(preset, assignments)
    if settings.variance == "paper":
        raise UsageError("--set variance=paper: only the calibrated variance can be fitted; leave it out")
    return settings


def _open(where: str, kind: str | None, options: list[str], frames: int) -> Dataset:
    from ..evaluation.datasets import RENDER, open_dataset
    from .bench import kind_and_place

    try:
        values = split_assignments(options, "--option")
    except ValueError as error:
        raise UsageError(str(error)) from error
    kind, place = kind_and_place(where, kind)
    if place.startswith(RENDER) and values:
        raise UsageError("--option is for folders; the options of a rendered scene follow its name, after commas")
    return open_dataset(place, kind, **values).thinned(frames)


def _measure(data: Dataset, settings: Settings, occluded: bool) -> list[FrameErrors]:
    from ..evaluation.frame_errors import frame_errors

    with terminal.progress_bar() as progress:
        progress("matching", 0, len(data))  # at once: the first frame may take long, to load or compile the kernels
        return frame_errors(
            data, settings, occluded=occluded, progress=lambda done: progress("matching", done, len(data))
        )


def _scale_of(path: Path) -> float:
    """The factor in a rig file."""
    from ..cameras.rig import Rig

    scale = Rig.load(path).sigma_scale
    if scale is None:
        raise ValueError(f"{path} has no sigma_scale; bdis certainty fit DATASET -o {path.name} writes one")
    return scale


def _write(fit: CertaintyFit, out: Path | None) -> Path | None:
    """Save the rig; if that fails, the message has the number, so that it is not lost."""
    if out is None or fit.rig is None:
        return None
    try:
        fit.rig.save(out)
    except OSError as error:
        raise ValueError(
            f"{out}: {error.strerror or error}; the fit is done, use it with --set sigma_scale={fit.sigma_scale:g}"
        ) from error
    return out


def _print_fit(fit: CertaintyFit, errors: list[FrameErrors], preset: str, written: Path | None) -> None:
    used = [each for each in errors if not each.problem]
    terminal.table(
        [(each.name, each.pixels, f"x {each.factor:.3g}") for each in fit.frames],
        ("frame", "pixels", "factor on sigma"),
    )
    before, after = (sum(each.share_inside(0.95, scale) for each in used) / len(used) for scale in (1.0, fit.factor))
    is_known = math.isfinite(fit.low)
    interval = (
        f"95 % confidence {fit.low:.3g} to {fit.high:.3g}" if is_known else "of one frame: no confidence interval"
    )
    rows: list[tuple[str, object]] = [
        ("factor", f"x {fit.factor:.3g}, {interval}, preset {preset}"),
        ("in 95 % interval", f"{before:.1%} of the errors before, {after:.1%} after"),
        ("to use it", f"--set sigma_scale={fit.sigma_scale:g}" + (f", or --calib {written}" if written else "")),
    ]
    if written is not None:
        rows.append(("written", written))
    terminal.say()
    terminal.table(rows)


def _shares(errors: list[FrameErrors], scales: dict[str, float]) -> dict[str, dict[str, Any]]:
    """Share inside the intervals, by frame and name of the scale; "overall" is the mean of the frames."""
    shares: dict[str, dict[str, Any]] = {
        each.name: {
            name: {f"{share:.0%}": each.share_inside(share, scale) for share in SHOWN_SHARES}
            for name, scale in scales.items()
        }
        for each in errors
    }
    shares["overall"] = {
        name: {
            f"{share:.0%}": sum(each.share_inside(share, scale) for each in errors) / len(errors)
            for share in SHOWN_SHARES
        }
        for name, scale in scales.items()
    }
    return shares


def _print_shares(shares: dict[str, dict[str, Any]], scales: dict[str, float]) -> None:
    header = [f"{share:.0%} interval, {name}" for share in SHOWN_SHARES for name in scales]
    rows = [
        (frame, *(f"{100 * found[name][f'{share:.0%}']:.1f} %" for share in SHOWN_SHARES for name in scales))
        for frame, found in shares.items()
    ]
    terminal.table(rows, ("frame", *header))
