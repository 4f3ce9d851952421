"""``bdis calibrate``: calibrate two cameras from pictures of a board."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .options import Debug, Json, Layout, must_be
from .terminal import UsageError

if TYPE_CHECKING:
    from ..cameras.calibrate import BoardCalibration
    from ..common.arrays import Array

ENDINGS = (".toml", ".json")


def calibrate(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="Pictures of the board: left and right folders, left and right in their names, or both views in one; "
            "if RIGHT is given, only the left ones.",
        ),
    ],
    right: Annotated[
        Path | None, typer.Argument(metavar="RIGHT", help="Pictures of the right camera, if FOLDER has the left ones.")
    ] = None,
    *,
    board: Annotated[
        str,
        typer.Option(
            metavar="COLUMNSxROWS",
            help="Inner corners of a checkerboard, such as 9x6 for one of 10x7 squares; squares of a ChArUco board.",
        ),
    ],
    square: Annotated[
        float,
        typer.Option(
            metavar="MM",
            help="Side of a square. No picture tells whether it is right, and every depth is in proportion to it.",
            callback=must_be("a number of mm above 0", lambda square: square > 0),
        ),
    ],
    marker: Annotated[float | None, typer.Option(metavar="MM", help="Side of a marker: it is a ChArUco board.")] = None,
    dictionary: Annotated[
        str, typer.Option(metavar="NAME", help="Markers of a ChArUco board, as OpenCV names them.")
    ] = "DICT_4X4_50",
    layout: Layout = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Calibration file to write, .toml or .json.")
    ] = Path("cameras.toml"),
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Calibrate two cameras from pictures of a board.

    \b
    bdis calibrate boards --board 9x6 --square 5 -o endoscope.toml
    bdis calibrate left-boards right-boards --board 9x6 --square 5
    bdis calibrate boards --board 8x11 --square 6 --marker 4.5 --dictionary DICT_5X5_100
    bdis run surgery.mp4 --calib endoscope.toml

    The board is a checkerboard or a ChArUco board. Take 15 to 30 pairs: the board in every part of both pictures, near
    and far, tilted by some 30 degrees in all directions, and both pictures taken at one moment. Beside the file a
    picture (.png) shows where corners were seen.
    """
    from ..cameras.boards import Board
    from ..cameras.calibrate import calibrate_stereo, coverage_picture
    from ..cameras.formats.native import native_text
    from ..common.atomic import all_or_nothing, write_whole
    from ..files.images import write_image

    if out.suffix.lower() not in ENDINGS:
        raise UsageError(f"--out is {out}; expected a name ending with {' or '.join(ENDINGS)}")
    columns, rows = _parse_board(board)
    try:
        pattern = Board(columns, rows, square, marker, dictionary)
    except ValueError as error:
        raise UsageError(str(error)) from error
    picture = out.with_suffix(".png")
    for path in (out, picture):
        if path.exists():
            raise FileExistsError(f"{path} exists; choose another name with -o")
    pairs = _pairs(folder, right, layout)
    with terminal.progress_bar() as progress:
        total = len(pairs)
        found = calibrate_stereo(
            _read(pairs, layout), pattern, progress=lambda done: progress("looking for the board", done, total)
        )
    with all_or_nothing(out.parent) as stage:
        write_whole(stage / out.name, native_text(out, found.cameras.content()).encode())
        write_image(stage / picture.name, coverage_picture(found))
    _report(found, out, picture)


def _parse_board(text: str) -> tuple[int, int]:
    columns, times, rows = text.strip().lower().partition("x")
    if not (times and columns.isdecimal() and rows.isdecimal() and len(text) < 12):
        raise UsageError(f"--board is {text!r}; expected COLUMNSxROWS such as 9x6")
    return int(columns), int(rows)


def _pairs(folder: Path, right: Path | None, layout: str | None) -> list[tuple[Path | None, Path | None]]:
    """Files of the left and right pictures; both are the same file if it holds both views."""
    from ..video.sources.folder import find_pairs, images_in, pairs_of

    for place in (folder, right):
        if place is not None and not place.is_dir():
            raise ValueError(f"{place} is no folder; expected one with pictures of the board")
    if right is not None:
        if layout is not None:
            raise UsageError("--layout is for pictures that hold both views, but the right ones are given too")
        pairs = pairs_of(images_in(folder), images_in(right))
    else:
        pairs = [] if layout is not None else find_pairs(folder)
        pairs = pairs or [(file, file) for file in images_in(folder)]
    if not pairs:
        raise ValueError(f"there are no pictures in {folder}")
    return pairs


def _read(
    pairs: list[tuple[Path | None, Path | None]], layout: str | None
) -> Iterator[tuple[str, Array | None, Array | None]]:
    from ..files.images import read_image
    from ..video.sources.views import Splitter

    splitter = Splitter(layout)
    for left, right in pairs:
        if left is not None and left == right:
            yield left.name, *splitter(read_image(left))
        else:
            name = (left or right or Path()).name
            yield name, None if left is None else read_image(left), None if right is None else read_image(right)


def _report(found: BoardCalibration, out: Path, picture: Path) -> None:
    for text in found.warnings:
        terminal.warn(text)
    left_out = [view for view in found.views if not view.is_used]
    for view in left_out:
        terminal.warn(f"{view.name} is left out: {view.why_left_out}")
    used = [view for view in found.views if view.is_used]
    rows = [
        (view.name, f"{view.left_px:.2f}", f"{view.right_px:.2f}", f"{view.rows_px:.2f}", f"{view.tilt_degrees:.0f}")
        for view in used
    ]
    terminal.table(rows, ("view", "left px", "right px", "rows px", "tilt"))
    cameras = found.cameras
    baseline = float((cameras.translation_mm**2).sum() ** 0.5)
    focal = [
        f"{matrix[0, 0]:.2f} +- {sigma:.2f} px"
        for matrix, sigma in zip((cameras.left_matrix, cameras.right_matrix), found.focal_sigma)
    ]
    terminal.table(
        [
            ("views", f"{len(used)} of {len(found.views)}"),
            ("focal length", f"left {focal[0]}, right {focal[1]}"),
            ("baseline", f"{baseline:.3f} +- {found.baseline_sigma_mm:.3f} mm, if the squares are as large as given"),
            ("corners off by", f"{found.error_px:.3f} px (root mean square)"),
            ("rows differ by", f"{found.rows_px:.3f} px after rectification, at most {found.most_rows_px:.2f} px"),
            ("covered", f"{found.coverage[0]:.0%} of the left picture, {found.coverage[1]:.0%} of the right one"),
            ("written", f"{out}, {picture}"),
        ]
    )
    views = [{name: value for name, value in asdict(view).items() if name != "corners"} for view in found.views]
    terminal.give(
        {
            "views": views, "error_px": found.error_px, "rows_px": found.rows_px, "most_rows_px": found.most_rows_px,
            "focal_sigma_px": list(found.focal_sigma), "baseline_mm": baseline,
            "baseline_sigma_mm": found.baseline_sigma_mm, "coverage": list(found.coverage),
            "warnings": found.warnings, "file": out, "picture": picture,
        }
    )  # fmt: skip
