"""Runs methods over data sets: accuracy with several frames in parallel, then times, one match at a time."""

from __future__ import annotations

import contextlib
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..common.atomic import write_whole
from ..common.optional import require
from ..matching.matcher import StereoMatcher
from ..matching.result import StereoResult
from . import confidence, metrics
from .assessed import with_assessed_confidence
from .baselines import Matcher, Method
from .datasets import Dataset, Entry, Frame
from .errors import compare
from .paper.calibration import within_196_sigma
from .run_log import RunLog, key_of, source_hash
from .samples import pack_sample

TIMED_FRAMES = 8  # of each group, evenly spaced


@dataclass(frozen=True)
class DatasetChoice:
    """A data set to run on.

    Attributes
    ----------
    identity : str
        Where it comes from and with which options; results are reused only for the same identity.
    data : Dataset
        Its frames.
    timed : bool
        Whether times are measured on it.
    without : tuple of str
        Names of methods that are not run on it.
    """

    identity: str
    data: Dataset
    timed: bool = True
    without: tuple[str, ...] = ()

    def method_names(self, plan: BenchmarkPlan) -> list[str]:
        """Names of the methods that run on it."""
        return [method.name for method in self._methods(plan)]

    def method_keys(self, plan: BenchmarkPlan) -> list[str]:
        """What the results of these methods depend on, beside the code."""
        return [method.name + method.identity for method in self._methods(plan)]

    def _methods(self, plan: BenchmarkPlan) -> list[Method]:
        return [method for method in plan.methods if method.name not in self.without]


@dataclass(frozen=True)
class BenchmarkPlan:
    """What to run.

    Attributes
    ----------
    choices : sequence of DatasetChoice
        The data sets.
    methods : sequence of Method
        The methods that are compared.
    occluded : bool
        Whether pixels that the right camera does not see are scored as well.
    rounds : int
        How often each timed frame is matched by each method; 0 for no times.
    jobs : int
        Frames processed at a time while accuracy is measured; times are always measured one match at a time.
    assess : bool
        Whether methods without a confidence are given that of :func:`bdis.assess`; it does not count in their times.
    """

    choices: Sequence[DatasetChoice]
    methods: Sequence[Method]
    occluded: bool = False
    rounds: int = 5
    jobs: int = 1
    assess: bool = True


@dataclass(frozen=True)
class Outcome:
    """The results of a run; ``frames`` and ``times`` hold only what JSON can express.

    Attributes
    ----------
    methods : list of str
        Names of the methods.
    frames : list of dict
        One record per frame: "group", "frame", "size", "methods" with the metrics of each method, and "skipped" with
        the reason if the frame has no score.
    times : dict of str to dict of str to list of float
        Milliseconds, by group and method.
    samples : dict of str to Path
        By group, a file with the maps of one frame.
    set_up : dict of str to str
        By method, how it is set up, in words.
    """

    methods: list[str]
    frames: list[dict[str, Any]] = field(default_factory=list)
    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    samples: dict[str, Path] = field(default_factory=dict)
    set_up: dict[str, str] = field(default_factory=dict)


Progress = Callable[[str, int, int], None]  # name of the phase, steps done, steps in total


@dataclass(frozen=True)
class FrameWork:
    """A frame to measure, so that another process can do it.

    Attributes
    ----------
    index : int
        Among all frames of the plan.
    choice, entry : int
        Number of the data set in the plan, and of the frame in the data set.
    sample : Path or None
        Where its maps are written, if they are wanted.
    """

    index: int
    choice: int
    entry: int
    sample: Path | None


Elsewhere = Callable[[list[FrameWork]], Iterator[tuple[int, dict[str, Any]]]]  # index and record, in any order


def run(
    plan: BenchmarkPlan,
    folder: Path,
    progress: Progress = lambda phase, done, total: None,
    elsewhere: Elsewhere | None = None,
) -> Outcome:
    """Run the plan, reusing the results that an earlier, perhaps interrupted, run left in ``folder``.

    Parameters
    ----------
    plan : BenchmarkPlan
        What to run.
    folder : Path
        Folder for the run log and the samples; created if it does not exist.
    progress : callable
        Called with the name of the phase, the steps done and their total.
    elsewhere : callable, optional
        Has frames measured by other processes, with :func:`measure_frame`; times are measured here nevertheless, one
        match at a time.

    Returns
    -------
    Outcome

    Raises
    ------
    ValueError
        A frame cannot be read.
    OSError
        The folder cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> from bdis.evaluation.baselines import method
    >>> from bdis.evaluation.datasets import open_dataset
    >>> data = open_dataset("render:plane,frames=2,height=48,width=64")
    >>> with tempfile.TemporaryDirectory() as out:
    ...     plan = BenchmarkPlan([DatasetChoice("plane", data)], [method("bdis-fast")], rounds=0)
    ...     outcome = run(plan, Path(out))
    >>> [record["frame"] for record in outcome.frames]
    ['000000', '000001']
    >>> outcome.frames[0]["methods"]["bdis-fast"]["score"]["coverage"] > 0.5
    True
    """
    (folder / "samples").mkdir(parents=True, exist_ok=True)
    work = _Work(plan, folder)
    set_up = {each.name: "; ".join(filter(None, (each.describe(), each.details))) for each in plan.methods}
    outcome = Outcome(list(set_up), samples=work.sample_files, set_up=set_up)
    with single_threaded_opencv():
        outcome.frames.extend(work.accuracy(progress, elsewhere))
        if plan.rounds:
            outcome.times.update(work.times(progress))
    return outcome


class _Work:
    """The frames of a plan with the run log's keys and the sample files that belong to them."""

    def __init__(self, plan: BenchmarkPlan, folder: Path):
        self._plan = plan
        self._items = [(choice, entry) for choice in plan.choices for entry in choice.data]
        self._groups = {entry.group: choice for choice, entry in self._items}
        code = source_hash()
        self._log = RunLog(folder / "journal.jsonl")
        self._log.keep_only(code)
        self._log_lock = threading.Lock()
        self._keys = [
            key_of(code, choice.method_keys(plan), plan.occluded, plan.assess, choice.identity, entry.group, entry.name)
            for choice, entry in self._items
        ]
        methods = [method.name + method.identity for method in plan.methods]
        self._time_keys = {
            group: key_of(code, methods, choice.identity, group, plan.rounds) for group, choice in self._groups.items()
        }
        self._sampled = {group: _middle(group, [entry for _, entry in self._items]) for group in self._groups}
        self.sample_files = {
            group: folder / "samples" / f"{file_name(group)}-{self._keys[index][-8:]}.npz"
            for group, index in self._sampled.items()
        }
        self._matchers = _Matchers(plan.methods)

    def accuracy(self, progress: Progress, elsewhere: Elsewhere | None = None) -> list[dict[str, Any]]:
        """The records of all frames, in order."""
        records: dict[int, dict[str, Any]] = {}
        total = len(self._items)
        progress("accuracy", 0, total)
        jobs = 1 if any(choice.data.forward_only for choice in self._plan.choices) else self._plan.jobs
        found = _in_parallel(self._record, total, jobs) if elsewhere is None else self._from(elsewhere)
        for index, record in found:
            records[index] = record
            progress("accuracy", len(records), total)
        return [records[index] for index in range(total)]

    def _from(self, elsewhere: Elsewhere) -> Iterator[tuple[int, dict[str, Any]]]:
        """Index and record of every frame, those that are not in the log from other processes."""
        numbers = [
            (number, entry) for number, choice in enumerate(self._plan.choices) for entry in range(len(choice.data))
        ]
        missing = []
        for index, (choice, entry) in enumerate(numbers):
            if (record := self._kept(index)) is not None:
                yield index, record
            else:
                missing.append(FrameWork(index, choice, entry, self._sample(index)))
        for index, record in elsewhere(missing):
            self._log.add(self._keys[index], record)
            yield index, record

    def _record(self, index: int) -> dict[str, Any]:
        choice, entry = self._items[index]
        record = self._kept(index)
        if record is None:
            record = _measure(entry, choice, self._plan, self._matchers, self._sample(index))
            with self._log_lock:
                self._log.add(self._keys[index], record)
        return record

    def _kept(self, index: int) -> dict[str, Any] | None:
        """The record of a frame that an earlier run has left, if it can be used."""
        record: dict[str, Any] | None = self._log.get(self._keys[index])
        if record is not None and any("failed" in found for found in record["methods"].values()):
            return None  # perhaps there was no memory at that moment
        sample = self._sample(index)
        return None if sample is not None and not sample.is_file() else record

    def _sample(self, index: int) -> Path | None:
        """The file for the maps of a frame, if it is the one of its group that is kept."""
        group = self._items[index][1].group
        return self.sample_files[group] if self._sampled[group] == index else None

    def times(self, progress: Progress) -> dict[str, dict[str, list[float]]]:
        """Milliseconds by group and method."""
        found = {}
        for group, choice in self._groups.items():
            if not choice.timed:
                continue
            times = self._log.get(self._time_keys[group])
            if times is None:
                times = _time(choice, group, self._plan, progress)
                self._log.add(self._time_keys[group], times)
            found[group] = times
        return found


def with_variance(matcher: Matcher) -> Matcher:
    """The same matcher with ``variance=True`` if it is a :class:`bdis.StereoMatcher`; others are returned unchanged.

    The predicted disparities do not change.

    Parameters
    ----------
    matcher : Matcher
        Any matcher.

    Returns
    -------
    Matcher

    Examples
    --------
    >>> with_variance(StereoMatcher("fast")).settings.variance
    True
    """
    if not isinstance(matcher, StereoMatcher) or matcher.settings.variance:
        return matcher
    return with_settings(matcher, variance=True)


def with_settings(matcher: StereoMatcher, **changes: Any) -> StereoMatcher:
    """A matcher with the settings of another one, some of them changed.

    Examples
    --------
    >>> with_settings(StereoMatcher("paper", max_disparity=64), patch_size=8).settings.max_disparity
    64.0
    """
    return StereoMatcher(matcher.settings, **changes)


class _Matchers:
    """Matchers by method and disparity range, created when first needed; each thread has its own."""

    def __init__(self, methods: Sequence[Method]):
        self._methods = {method.name: method for method in methods}
        self._of_thread = threading.local()

    def get(self, name: str, frame: Frame, *, variance: bool) -> Matcher:
        made: dict[Any, Matcher] = self._of_thread.__dict__.setdefault("made", {})
        key = name, frame.min_disparity_px, frame.max_disparity_px, variance
        if key not in made:
            matcher = self._methods[name].make_between(frame.min_disparity_px, frame.max_disparity_px)
            made[key] = with_variance(matcher) if variance else matcher
        return made[key]


def measure_frame(plan: BenchmarkPlan, work: FrameWork) -> dict[str, Any]:
    """All methods on one frame, wherever that is done.

    Parameters
    ----------
    plan : BenchmarkPlan
        As the one of :func:`run`.
    work : FrameWork
        Which frame.

    Returns
    -------
    dict
        As in :attr:`Outcome.frames`.

    Examples
    --------
    >>> from bdis.evaluation.baselines import method
    >>> from bdis.evaluation.datasets import open_dataset
    >>> data = open_dataset("render:plane,frames=2,height=48,width=64")
    >>> plan = BenchmarkPlan([DatasetChoice("plane", data)], [method("bdis-fast")])
    >>> measure_frame(plan, FrameWork(1, 0, 1, None))["frame"]
    '000001'
    """
    choice = plan.choices[work.choice]
    with single_threaded_opencv():
        return _measure(choice.data[work.entry], choice, plan, _Matchers(plan.methods), work.sample)


def _measure(
    entry: Entry, choice: DatasetChoice, plan: BenchmarkPlan, matchers: _Matchers, sample: Path | None
) -> dict[str, Any]:
    """All methods on one frame."""
    frame = entry.read()
    if not plan.occluded:
        frame = frame.without_occluded()
    height, width = frame.left.shape[:2]
    record: dict[str, Any] = {"group": entry.group, "frame": entry.name, "size": [width, height]}
    results: dict[str, StereoResult] = {}
    methods: dict[str, dict[str, Any]] = {}
    for name in choice.method_names(plan):
        try:
            matcher = matchers.get(name, frame, variance=True)
            results[name] = matcher.match(frame.left, frame.right)
            methods[name] = {"predicted": int(results[name].known.sum())}
        except Exception as error:  # a method that fails is recorded; the others go on
            methods[name] = {"failed": f"{type(error).__name__}: {error}"}
    reason = why_not_scored(frame)
    if reason is None:
        _score(methods, results, frame, assess=plan.assess)
    else:
        record["skipped"] = reason
    if sample is not None:
        write_whole(sample, pack_sample(frame, results))
    return {**record, "methods": methods}


def _score(methods: dict[str, dict[str, Any]], results: dict[str, StereoResult], frame: Frame, *, assess: bool) -> None:
    assessed = {}
    if assess:
        given = {name: with_assessed_confidence(result, frame) for name, result in results.items()}
        assessed = {name: result for name, result in given.items() if result is not None}
    found = {name: compare(assessed.get(name, result), frame) for name, result in results.items()}
    equal = confidence.at_equal_coverage(found)
    for name, each in found.items():
        methods[name] |= {
            "score": asdict(metrics.score(each)),
            "assessed": name in assessed,
            # Stands beside what the paper prints of a method's own variance.
            "within_196_sigma": math.nan if name in assessed else within_196_sigma(each),
            "equal": asdict(equal[name]) if name in equal else None,
            "curve": confidence.error_coverage(each).tolist(),
            "reliability": confidence.reliability(each) if each.has_probability else None,
            "in_px": each.in_px,
        }


def why_not_scored(frame: Frame) -> str | None:
    """The reason why a frame has no score, or None if it has one.

    Examples
    --------
    >>> image = np.full((32, 32), 9, np.uint8)
    >>> why_not_scored(Frame("made up", "1", image, image))
    'no reference'
    """
    if not frame.has_reference:
        return "no reference"
    if frame.disparity is None:
        return "a reference depth, but no calibration to convert it to disparity"
    share = float(np.isfinite(frame.disparity).mean())
    if share == 0 or share < frame.min_reference:
        return f"the reference covers {share:.0%} of the pixels; {frame.min_reference:.0%} are required"
    return None


def _time(choice: DatasetChoice, group: str, plan: BenchmarkPlan, progress: Progress) -> dict[str, list[float]]:
    """Milliseconds per frame, methods taking turns on each frame, in this thread alone."""
    data = choice.data
    members = Dataset(data.name, data.kind, [entry for entry in data if entry.group == group])
    frames = list(members.thinned(TIMED_FRAMES).frames())
    matchers = _Matchers(plan.methods)
    times: dict[str, list[float]] = {name: [] for name in choice.method_names(plan)}
    total = (plan.rounds + 1) * len(frames)
    for turn in range(plan.rounds + 1):
        for index, frame in enumerate(frames):
            for name, taken in times.items():
                matcher = matchers.get(name, frame, variance=False)
                begin = time.perf_counter()
                try:
                    matcher.match(frame.left, frame.right)
                except Exception:  # already recorded with the accuracy
                    continue
                if turn:  # the first round only warms up
                    taken.append(1e3 * (time.perf_counter() - begin))
            progress(f"time of {group}", turn * len(frames) + index + 1, total)
    return times


def _in_parallel(work: Callable[[int], Any], count: int, jobs: int) -> Iterator[tuple[int, Any]]:
    if jobs <= 1 or count <= 1:
        for index in range(count):
            yield index, work(index)
        return
    first = work(0)  # alone, so that kernels are compiled only once
    yield 0, first
    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(work, index): index for index in range(1, count)}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextlib.contextmanager
def single_threaded_opencv() -> Iterator[None]:
    """Context manager in which OpenCV uses one thread, as comparisons of time need it."""
    cv2 = require("cv2", "reading images")
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def _middle(group: str, entries: list[Entry]) -> int:
    """Index of the frame in the middle of a group."""
    members = [index for index, entry in enumerate(entries) if entry.group == group]
    return members[len(members) // 2]


def file_name(group: str) -> str:
    """A name for a file; short enough for all that is added to it, as a group may have the longest name there is."""
    return re.sub(r"[^\w.-]+", "-", group).strip("-")[:60]
