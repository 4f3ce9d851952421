"""Frames of data sets, measured on a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..evaluation.baselines import Method, method
from ..evaluation.datasets import open_dataset
from ..evaluation.runner import BenchmarkPlan, DatasetChoice, FrameWork, measure_frame
from ..evaluation.sweep import swept_methods
from .cluster_choice import ClusterChoice
from .conductor import Conductor, Step
from .connection import Connection
from .freed_memory import keep_freed_memory
from .machine_lock import one_of_this_machine


@dataclass(frozen=True)
class DatasetRequest:
    """A data set as a user gives it.

    Attributes
    ----------
    identity : str
        See :class:`bdis.evaluation.runner.DatasetChoice`.
    place : str
        A folder as absolute path, or a rendered scene.
    kind : str or None
        Of the data set; None to recognise it.
    options : tuple of (str, str)
        Of the data set.
    frames : int or None
        Most frames of each group.
    """

    identity: str
    place: str
    kind: str | None
    options: tuple[tuple[str, str], ...]
    frames: int | None


@dataclass(frozen=True)
class BenchRequest:
    """A benchmark as a user asks for it; every worker makes the same plan of it.

    Attributes
    ----------
    datasets : tuple of DatasetRequest
        What to run on.
    methods : tuple of str
        Names of methods.
    sweep : tuple of str
        Settings to combine, see :func:`bdis.evaluation.sweep.swept_methods`.
    occluded, assess : bool
        As in :class:`bdis.evaluation.runner.BenchmarkPlan`.
    rounds : int
        The same.
    """

    datasets: tuple[DatasetRequest, ...]
    methods: tuple[str, ...]
    sweep: tuple[str, ...] = ()
    occluded: bool = False
    assess: bool = True
    rounds: int = 5

    def plan(self) -> BenchmarkPlan:
        """The plan, with the data sets opened.

        Examples
        --------
        >>> scene = DatasetRequest("plane", "render:plane,frames=2,height=48,width=64", None, (), None)
        >>> plan = BenchRequest((scene,), ("sgbm",), ("preset=fast,paper",)).plan()
        >>> [method.name for method in plan.methods]
        ['sgbm', 'preset=fast', 'preset=paper']
        """
        choices = [
            DatasetChoice(each.identity, open_dataset(each.place, each.kind, **dict(each.options)).thinned(each.frames))
            for each in self.datasets
        ]
        methods: list[Method] = [method(name) for name in self.methods]
        methods += swept_methods(self.sweep) if self.sweep else []
        return BenchmarkPlan(choices, methods, self.occluded, self.rounds, 1, self.assess)


_plan = lru_cache(1)(BenchRequest.plan)  # of a worker: frames of one benchmark follow each other


_is_warm: set[BenchRequest] = set()


def measure(request: BenchRequest, work: FrameWork) -> dict[str, Any]:
    """Measure a frame, on a worker; the first one alone on its machine, as kernels may have to be compiled for it."""
    keep_freed_memory()
    with contextlib.nullcontext() if request in _is_warm else one_of_this_machine():
        record = measure_frame(_plan(request), work)
    _is_warm.add(request)
    return record


class BenchFrames(Conductor):
    """The frames of a benchmark.

    Parameters
    ----------
    request : BenchRequest
        What to run.
    works : list of FrameWork
        The frames that are not measured yet.
    choice : ClusterChoice
        As in :class:`Conductor`.

    Attributes
    ----------
    failed : dict of int to str
        By index of the frame, why it could not be measured.
    """

    def __init__(self, request: BenchRequest, works: list[FrameWork], choice: ClusterChoice):
        super().__init__(choice)
        self._request, self._works = request, works
        self.failed: dict[int, str] = {}
        self._found: list[tuple[int, dict[str, Any]]] = []
        self.add(Step(0, number) for number in range(len(works)))

    def call_of(self, step: Step) -> tuple[Callable[..., dict[str, Any]], list[Any], str]:
        work = self._works[step.item]
        return measure, [self._request, work], str(work.index)

    def go_on(self, step: Step, answer: dict[str, Any]) -> None:
        self._found.append((self._works[step.item].index, answer))

    def fail(self, step: Step, reason: str) -> None:
        self.failed[self._works[step.item].index] = reason

    def measured(self, connection: Connection) -> Iterator[tuple[int, dict[str, Any]]]:
        """Index and record of every frame, as they come.

        Raises
        ------
        ValueError
            Frames could not be measured; raised after all others.
        ConnectionLost
            The cluster has gone.
        """
        while self.is_going:
            connection = self.turn(connection)
            found, self._found = self._found, []
            yield from found
        if self.failed:
            index, reason = next(iter(self.failed.items()))
            raise ValueError(f"{len(self.failed)} of {len(self._works)} frames failed; frame {index}: {reason}")
