"""Runs methods over data sets: accuracy with frames in parallel, then time, alternately and alone."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..common.atomic import write_whole
from ..common.optional import require
from ..matching.matcher import StereoMatcher
from ..matching.result import StereoResult
from . import metrics as evaluation
from .baselines import Matcher, Method
from .datasets import Dataset, Entry, Frame
from .run_log import Journal, key_of, source_hash
from .samples import pack_sample

TIMED_FRAMES = 8  # of each group, evenly spread


@dataclass(frozen=True)
class Source:
    """A data set and how it was asked for, which tells its records from others'; ``without``: methods not run on it."""

    identity: str
    data: Dataset
    timed: bool = True
    without: tuple[str, ...] = ()

    def names(self, plan: Plan) -> list[str]:
        """The methods that run on it."""
        return [method.name for method in plan.methods if method.name not in self.without]


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Attributes
    ----------
    sources : data sets
    methods : what is compared
    occluded : score pixels the right camera does not see as well
    rounds : how often each timed frame is matched by each method; 0 = no times
    jobs : frames at a time while accuracy is measured; times are always taken alone
    """

    sources: Sequence[Source]
    methods: Sequence[Method]
    occluded: bool = False
    rounds: int = 5
    jobs: int = 1


@dataclass(frozen=True)
class Outcome:
    """What came of it, made of what JSON knows.

    Attributes
    ----------
    frames : a record per frame: group, frame, size, "methods" with the figures of each, or "skipped" with the reason
    times : milliseconds, by group and method
    samples : files with the maps of one frame per group
    """

    methods: list[str]
    frames: list[dict[str, Any]] = field(default_factory=list)
    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    samples: dict[str, Path] = field(default_factory=dict)


Progress = Callable[[str, int, int], None]  # what, done, of


def run(plan: Plan, folder: Path, progress: Progress = lambda what, done, of: None) -> Outcome:
    """Do what the plan says, taking over what an earlier run in ``folder`` has already done.

    Parameters
    ----------
    plan : what to do
    folder : for the journal and the samples; made if need be
    progress : called as work gets done

    Returns
    -------
    Outcome

    Raises
    ------
    ValueError
        A frame cannot be read, or nothing is left to compare.
    OSError
        The folder cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> from bdis.evaluation.baselines import method
    >>> from bdis.evaluation.datasets import open_dataset
    >>> data = open_dataset("render:plane,frames=2,height=48,width=64")
    >>> with tempfile.TemporaryDirectory() as out:
    ...     outcome = run(Plan([Source("plane", data)], [method("bdis-fast")], rounds=0), Path(out))
    >>> [record["frame"] for record in outcome.frames]
    ['000000', '000001']
    >>> outcome.frames[0]["methods"]["bdis-fast"]["score"]["coverage"] > 0.5
    True
    """
    samples = folder / "samples"
    samples.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / "journal.jsonl")
    code, names = source_hash(), [method.name for method in plan.methods]
    work = [(source, entry) for source in plan.sources for entry in source.data]
    keys = [key_of(code, s.names(plan), plan.occluded, s.identity, e.group, e.name) for s, e in work]
    groups = {entry.group: source for source, entry in work}
    time_keys = {group: key_of(code, names, s.identity, group, plan.rounds) for group, s in groups.items()}
    journal.keep_only(code)
    sampled = {group: _middle(group, [entry for _, entry in work]) for group in groups}  # places in the work
    files = {group: samples / f"{_file_name(group)}-{keys[place][-8:]}.npz" for group, place in sampled.items()}
    outcome = Outcome(names, samples=files)
    matchers = _Matchers(plan.methods)

    def measure(place: int) -> dict[str, Any]:
        source, entry = work[place]
        record: dict[str, Any] | None = journal.get(keys[place])
        sample = files[entry.group] if sampled[entry.group] == place else None
        if record is None or (sample is not None and not sample.is_file()):
            record = _measure(entry, source, plan, matchers, sample)
            with writing:
                journal.add(keys[place], record)
        return record

    writing = threading.Lock()
    with _single_threaded_opencv():
        records: dict[int, dict[str, Any]] = {}
        progress("accuracy", 0, len(work))
        jobs = 1 if any(source.data.forward_only for source in plan.sources) else plan.jobs
        for place, record in _in_parallel(measure, len(work), jobs):
            records[place] = record
            progress("accuracy", len(records), len(work))
        outcome.frames.extend(records[place] for place in range(len(work)))
        if plan.rounds:
            for group, source in groups.items():
                if not source.timed:
                    continue
                times = journal.get(time_keys[group])
                if times is None:
                    times = _time(source, group, plan, progress)
                    journal.add(time_keys[group], times)
                outcome.times[group] = times
    return outcome


def with_variance(matcher: Matcher) -> Matcher:
    """The same matcher, saying how sure it is, if it is one of ours; what it predicts does not change.

    Examples
    --------
    >>> with_variance(StereoMatcher("fast")).settings.variance
    True
    """
    if not isinstance(matcher, StereoMatcher) or matcher.settings.variance:
        return matcher
    return StereoMatcher(**asdict(replace(matcher.settings, variance=True)))


class _Matchers:
    """Matchers by method and disparity range, made when needed; each thread has its own."""

    def __init__(self, methods: Sequence[Method]):
        self._methods = {method.name: method for method in methods}
        self._here = threading.local()

    def get(self, name: str, max_disparity_px: float | None, *, sure: bool) -> Matcher:
        made: dict[Any, Matcher] = self._here.__dict__.setdefault("made", {})
        key = name, max_disparity_px, sure
        if key not in made:
            plain = self.get(name, max_disparity_px, sure=False) if sure else self._methods[name].make(max_disparity_px)
            made[key] = with_variance(plain) if sure else plain
        return made[key]


def _measure(entry: Entry, source: Source, plan: Plan, matchers: _Matchers, sample: Path | None) -> dict[str, Any]:
    """All methods on one frame."""
    frame = entry.read()
    if not plan.occluded:
        frame = frame.without_occluded()
    height, width = frame.left.shape[:2]
    record: dict[str, Any] = {"group": entry.group, "frame": entry.name, "size": [width, height]}
    results: dict[str, StereoResult] = {}
    figures: dict[str, dict[str, Any]] = {}
    for name in source.names(plan):
        try:
            matcher = matchers.get(name, frame.max_disparity_px, sure=True)
            results[name] = matcher.match(frame.left, frame.right)
            figures[name] = {"predicted": int(results[name].known.sum())}
        except Exception as error:  # one method's failure is a figure, not the end
            figures[name] = {"failed": f"{type(error).__name__}: {error}"}
    reason = _why_not(frame)
    if reason is None:
        _score(figures, results, frame)
    else:
        record["skipped"] = reason
    if sample is not None:
        write_whole(sample, pack_sample(frame, results))
    return {**record, "methods": figures}


def _score(figures: dict[str, dict[str, Any]], results: dict[str, StereoResult], frame: Frame) -> None:
    found = {name: evaluation.compare(result, frame) for name, result in results.items()}
    equal = evaluation.at_equal_coverage(found)
    for name, each in found.items():
        figures[name] |= {
            "score": asdict(evaluation.score(each)),
            "equal": asdict(equal[name]) if name in equal else None,
            "curve": evaluation.error_coverage(each).tolist(),
            "reliability": evaluation.reliability(each) if each.has_probability else None,
            "in_px": each.in_px,
        }


def _why_not(frame: Frame) -> str | None:
    """Why a frame has no score, or None."""
    if not frame.has_reference:
        return "no reference"
    if frame.disparity is None:
        return "a reference depth, but no camera to compare it by"
    share = float(np.isfinite(frame.disparity).mean())
    if share == 0 or share < frame.min_reference:
        return f"the reference covers {share:.0%} of the pixels; {frame.min_reference:.0%} are asked for"
    return None


def _time(source: Source, group: str, plan: Plan, progress: Progress) -> dict[str, list[float]]:
    """Milliseconds per frame, methods taking turns on each frame, in this thread alone."""
    data = source.data
    members = Dataset(data.name, data.kind, [entry for entry in data if entry.group == group])
    frames = list(members.thinned(TIMED_FRAMES).frames())
    matchers = _Matchers(plan.methods)
    times: dict[str, list[float]] = {name: [] for name in source.names(plan)}
    total = (plan.rounds + 1) * len(frames)
    for turn in range(plan.rounds + 1):
        for place, frame in enumerate(frames):
            for name, taken in times.items():
                matcher = matchers.get(name, frame.max_disparity_px, sure=False)
                begin = time.perf_counter()
                try:
                    matcher.match(frame.left, frame.right)
                except Exception:  # told in the accuracy pass
                    continue
                if turn:  # the first one warms up
                    taken.append(1e3 * (time.perf_counter() - begin))
            progress(f"time of {group}", turn * len(frames) + place + 1, total)
    return times


def _in_parallel(work: Callable[[int], Any], count: int, jobs: int) -> Iterator[tuple[int, Any]]:
    if jobs <= 1 or count <= 1:
        for place in range(count):
            yield place, work(place)
        return
    first = work(0)  # alone, so that kernels are compiled once
    yield 0, first
    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(work, place): place for place in range(1, count)}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextlib.contextmanager
def _single_threaded_opencv() -> Iterator[None]:
    cv2 = require("cv2", "reading images")
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def _middle(group: str, entries: list[Entry]) -> int:
    """The place of the frame in the middle of a group."""
    places = [place for place, entry in enumerate(entries) if entry.group == group]
    return places[len(places) // 2]


def _file_name(group: str) -> str:
    return re.sub(r"[^\w.-]+", "-", group).strip("-")
