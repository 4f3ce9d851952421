"""What is run for the paper's tables: its methods, its data as far as they are here, and its ablation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...matching.matcher import StereoMatcher
from ..baselines import METHODS, Method, method
from ..datasets import Dataset, Entry, Frame, open_dataset
from ..datasets.authors import CAMERAS
from ..runner import BenchmarkPlan, DatasetChoice, with_settings
from ..summary import counted
from . import printed

SYNTHETIC_SETS = ("30", "31")
FURTHER_SETS = ("32", "33")  # of the same virtual colon, published without a table
HAMLYN_SETS = ("6", "20", "21")
SETS_OF_288_ROWS = ("20", "21")
HAMLYN_MAX_MM = 300.0  # larger depths count as unknown, as in the rectified Hamlyn release
PUBLISHED = " (published depth)"
AGAINST = " against ELAS"
TIME_AT = "time at "
TIMED_SIZES = ("1280x720", "720x576")  # beside 640x480, which the virtual colon has
VARIANCE = "bdis-paper with variance"
WITH_GAMMA_OF_288_ROWS = "bdis-paper, min_valid 0.25"
OUR_DIS = "dis"
ABLATIONS: dict[str, dict[str, Any]] = {
    "no sGMM": {"sigma_spatial": None},
    "no coarse-to-fine": {"propagate": False},
    "no dynamic sigma": {"sigma_r": 8.0},
}


@dataclass(frozen=True)
class PaperData:
    """Where the data of the paper's tables are.

    Attributes
    ----------
    authors : Path
        The folder of the authors' data set: Tables I, V, VI, VII and VIII.
    scared : Path or None
        SCARED: Tables II and III, and its part of VI and VII.
    servct : Path or None
        SERV-CT: Table IV, and its part of VI.
    """

    authors: Path
    scared: Path | None = None
    servct: Path | None = None


def paper_plans(
    where: PaperData, extra: Sequence[Method], *, most: int | None, rounds: int, jobs: int, assess: bool = True
) -> tuple[BenchmarkPlan, BenchmarkPlan, list[str]]:
    """The runs behind the paper's tables.

    Parameters
    ----------
    where : PaperData
        The folders.
    extra : sequence of Method
        Methods to compare beside those of the paper and the default one; the paper's networks are among these.
    most : int or None
        At most this many frames of each set.
    rounds, jobs : int
        As in :class:`bdis.evaluation.runner.BenchmarkPlan`.
    assess : bool
        As there.

    Returns
    -------
    comparison, ablation : BenchmarkPlan
        What to run.
    notes : list of str
        What is missing, in words.

    Raises
    ------
    ValueError
        There is neither a virtual colon nor a Hamlyn set, or a folder is not what it should be.
    """
    found = [group.removeprefix("set ") for group in open_dataset(where.authors, "authors").groups]
    synthetic = [name for name in SYNTHETIC_SETS if name in found]
    hamlyn = [name for name in HAMLYN_SETS if name in found]
    if not synthetic and not hamlyn:
        raise ValueError(
            f"{where.authors} has sets {', '.join(found)}; the paper's tables need 30 and 31, or 6, 20 and 21"
        )
    paper = method(printed.METHOD_NAMES["BDIS"])
    methods, notes = _available_methods(extra)
    methods.append(_variant(paper, VARIANCE, {"variance": "paper"}))
    if missing := [name for name in (*SYNTHETIC_SETS, *HAMLYN_SETS) if name not in found]:
        notes.append(f"{where.authors} has no set {', '.join(missing)}: left out")

    colon = [name for name in (*synthetic, *FURTHER_SETS) if name in found]
    choices = _colon_choices(where.authors, colon, most) if colon else []
    ablation = _colon_choices(where.authors, synthetic, most) if synthetic else []
    real, missing_data = _real_choices(where, most)
    choices += real
    ablation += [choice for choice in real if choice.data.kind == "scared"]
    notes += missing_data
    choices += _hamlyn_choices(where.authors, hamlyn, most, methods, notes)
    if rounds:
        choices += _timed_choices(2 if most is None else min(most, 2))
    if any(choice.data.name == HAMLYN_288 for choice in choices):
        methods.append(_variant(paper, WITH_GAMMA_OF_288_ROWS, {"min_valid": 0.25}))
        choices = [_without_the_other_gamma(choice, paper.name) for choice in choices]
    without = [_variant(paper, name, changes) for name, changes in ABLATIONS.items()]
    return (
        BenchmarkPlan(choices, methods, rounds=rounds, jobs=jobs, assess=assess),
        BenchmarkPlan(ablation, [paper, *without], rounds=0, jobs=jobs, assess=assess),
        notes,
    )


HAMLYN_288 = "Hamlyn, 288 rows"


def _available_methods(extra: Sequence[Method]) -> tuple[list[Method], list[str]]:
    """The paper's methods, our own DIS, the default and the further ones, and notes on those that cannot run here."""
    given = {each.name: each for each in extra}
    methods, notes = [], []
    for known, name in printed.METHOD_NAMES.items():
        if name in given:
            methods.append(given.pop(name))
        elif METHODS[name].needs is None:
            methods.append(METHODS[name])
        elif known in printed.NETWORKS:
            notes.append(f"{known} is not run: --weights {name}=FILE")
        else:
            notes.append(f"method {name} needs {METHODS[name].needs}: {known} is not run")
    for name in (OUR_DIS, next(iter(METHODS))):
        methods.append(given.pop(name, METHODS[name]))
    return [*methods, *given.values()], notes


def _colon_choices(path: Path, names: list[str], most: int | None) -> list[DatasetChoice]:
    """The virtual colon with exact and with published depth."""
    exact, published = (
        open_dataset(path, "authors", sets="+".join(names), decoding=decoding).thinned(most)
        for decoding in ("exact", "published")
    )
    where = path.resolve()
    return [DatasetChoice(f"{where} exact", exact), DatasetChoice(f"{where} published", published, timed=False)]


def _real_choices(where: PaperData, most: int | None) -> tuple[list[DatasetChoice], list[str]]:
    """SCARED and SERV-CT as far as they are here, and which tables need what is not."""
    choices, notes = [], []
    for path, kind, title, option, tables in (
        (where.scared, "scared", "SCARED", "--scared", ("II", "III")),
        (where.servct, "serv-ct", "SERV-CT", "--serv-ct", ("IV",)),
    ):
        if path is None:
            notes += [f"Table {table} needs {title}: {option} FOLDER" for table in tables]
        else:
            data = open_dataset(path, kind).thinned(most)
            choices.append(DatasetChoice(f"{path.resolve()} {kind}", data, timed=False))
    return choices, notes


def _hamlyn_choices(
    path: Path, names: list[str], most: int | None, methods: list[Method], notes: list[str]
) -> list[DatasetChoice]:
    """Hamlyn with the result of ELAS as its reference; adds to the notes what is left out."""
    if not names:
        return []
    if "elas" not in [each.name for each in methods]:
        notes.append("Table V needs the method elas: left out")
        return []
    choices = []
    for name in names:
        data = open_dataset(path, "authors", sets=name)
        if name not in CAMERAS:
            notes.append(
                f"set {name} ({counted(len(data), 'frame')}) is left out of Table V: the published set has no "
                "calibration files, and its camera is not among those that bdis knows, so that it has no depth in mm"
            )
            continue
        title = HAMLYN_288 if name in SETS_OF_288_ROWS else "Hamlyn"
        against = _against(data.thinned(most), method("elas"), title)
        choices.append(DatasetChoice(f"{path.resolve()} {name} against ELAS", against, timed=False, without=("elas",)))
    return choices


def _without_the_other_gamma(choice: DatasetChoice, paper: str) -> DatasetChoice:
    """The paper's gamma is 0.25 for 288 rows, else 0.75 (IV-A)."""
    left_out = paper if choice.data.name == HAMLYN_288 else WITH_GAMMA_OF_288_ROWS
    return replace(choice, without=(*choice.without, left_out))


def _timed_choices(frames: int) -> list[DatasetChoice]:
    """Rendered scenes of the sizes in Table VIII that the authors' set does not have."""
    choices = []
    for size in TIMED_SIZES:
        scene = f"render:tissue,frames={frames},width={size.split('x')[0]},height={size.split('x')[1]}"
        choices.append(DatasetChoice(scene, _renamed(open_dataset(scene), TIME_AT + size)))
    return choices


def _variant(of: Method, name: str, changes: dict[str, Any]) -> Method:
    """A method of bdis with some settings changed."""

    def make(max_disparity_px: float | None) -> StereoMatcher:
        matcher = of.make(max_disparity_px)
        assert isinstance(matcher, StereoMatcher)
        return with_settings(matcher, **changes)

    return Method(name, f"{of.name}, {changes}", None, make)


def _against(data: Dataset, reference: Method, title: str) -> Dataset:
    """The same frames with the result of a method as their reference."""

    def changed(frame: Frame) -> Frame:
        assert frame.rig is not None
        depth = frame.rig.depth(reference.make(frame.max_disparity_px).match(frame.left, frame.right))
        with np.errstate(invalid="ignore"):
            depth = np.where(depth < HAMLYN_MAX_MM, depth, np.float32(np.nan))
        return replace(frame, reference_depth_mm=depth, max_depth_mm=HAMLYN_MAX_MM)

    entries = [_changed(entry, entry.group + AGAINST, changed) for entry in data]
    return Dataset(title, data.kind, entries)


def _renamed(data: Dataset, group: str) -> Dataset:
    return Dataset(group, data.kind, [_changed(entry, group, lambda frame: frame) for entry in data])


def _changed(entry: Entry, group: str, change: Callable[[Frame], Frame]) -> Entry:
    """The same frame in another group, changed when it is read."""
    return Entry(group, entry.name, lambda: replace(change(entry.read()), group=group))
