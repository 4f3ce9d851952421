"""A sweep over settings: every combination is a method, and those that nothing beats make the Pareto front."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..cameras.rig_settings import settings_of
from ..matching.matcher import StereoMatcher
from ..matching.settings import Settings
from .baselines import Matcher, Method
from .summary import Row

DEFAULT_PRESET = "balanced"
MOST_COMBINATIONS = 1000


@dataclass(frozen=True)
class SweptMethod(Method):
    """Our matcher with settings of a sweep.

    Attributes
    ----------
    chosen : Settings
        Its settings.
    """

    chosen: Settings = Settings()  # noqa: RUF009  # it is frozen

    def make_between(self, smallest_px: float, largest_px: float | None) -> Matcher:
        return StereoMatcher(replace(self.chosen, min_disparity=min(0.0, smallest_px), max_disparity=largest_px))


def swept_methods(sweep: Sequence[str]) -> list[SweptMethod]:
    """One method for each combination of values.

    Parameters
    ----------
    sweep : sequence of str
        Such as "patch_size=6,8,10"; "preset=fast,balanced" gives presets.

    Returns
    -------
    list of SweptMethod

    Raises
    ------
    ValueError
        A setting that does not exist, or a value that it cannot have.

    Examples
    --------
    >>> [method.name for method in swept_methods(["preset=fast", "patch_size=6,8"])]
    ['preset=fast patch_size=6', 'preset=fast patch_size=8']
    """
    names, values = [], []
    for text in sweep:
        name, equals, listed = (part.strip() for part in text.partition("="))
        given = [value.strip() for value in listed.split(",") if value.strip()]
        if not equals or not given or len(set(given)) < len(given) or name in names:
            raise ValueError(f"--sweep {text!r}: expected NAME=VALUE,VALUE,... with each name and value once")
        names.append(name)
        values.append(given)
    combinations = list(itertools.product(*values))
    if len(combinations) > MOST_COMBINATIONS:
        raise ValueError(f"--sweep has {len(combinations)} combinations; at most {MOST_COMBINATIONS} are run")
    return [_method(dict(zip(names, combination))) for combination in combinations]


def _method(given: dict[str, str]) -> SweptMethod:
    preset = given.get("preset", DEFAULT_PRESET)
    assignments = [f"{name}={value}" for name, value in given.items() if name != "preset"]
    chosen = settings_of(preset, assignments)
    name = " ".join(f"{each}={value}" for each, value in given.items())

    def make(max_disparity: float | None) -> Matcher:
        return StereoMatcher(replace(chosen, max_disparity=max_disparity))

    return SweptMethod(
        name, f"a combination of a sweep: {name}", None, make, title=f"bdis {name}", identity=str(asdict(chosen)),
        chosen=chosen,
    )  # fmt: skip


def on_front(rows: Sequence[Row]) -> list[bool]:
    """Which of the methods on a group of frames no other beats in both error and time.

    Parameters
    ----------
    rows : sequence of Row
        Of one group; those without error or time are not on the front.

    Returns
    -------
    list of bool
    """
    points = [_point(row) for row in rows]
    return [point is not None and not any(_beats(other, point) for other in points if other) for point in points]


def _point(row: Row) -> tuple[float, float] | None:
    """Error and time; None if one of them is not known."""
    error = _error(row)
    if row.times is None or not error >= 0:
        return None
    return error, row.times["median_ms"]


def _error(row: Row) -> float:
    """Mean error, px or mm; NaN if there is none."""
    return row.score.epe_px if row.in_px else row.score.mean_mm


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """
    >>> _beats((1.0, 2.0), (1.0, 3.0)), _beats((1.0, 2.0), (1.0, 2.0)), _beats((1.0, 4.0), (2.0, 3.0))
    (True, False, False)
    """
    return one != other and one[0] <= other[0] and one[1] <= other[1]


SWEEP_COLUMNS = ("group", "method", "error", "unit", "coverage", "median_ms", "on_front")


def sweep_table(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    """A line for each method on each group, the fastest first, as in :data:`SWEEP_COLUMNS`."""
    lines: list[tuple[Any, ...]] = []
    for group in dict.fromkeys(row.group for row in rows):
        members = [row for row in rows if row.group == group]
        found = [
            (
                row.group, row.method, _error(row), "px" if row.in_px else "mm", row.score.coverage,
                (row.times or {}).get("median_ms", float("nan")), is_best,
            )
            for row, is_best in zip(members, on_front(members))
        ]  # fmt: skip
        lines += sorted(found, key=lambda line: line[5])
    return lines


def sweep_csv(rows: Sequence[Row]) -> bytes:
    """:func:`sweep_table` as the content of a CSV file."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(SWEEP_COLUMNS)
    writer.writerows(
        [f"{cell:.6g}" if isinstance(cell, float) else cell for cell in line] for line in sweep_table(rows)
    )
    return buffer.getvalue().encode()
