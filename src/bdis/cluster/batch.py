"""The recordings of a batch, step by step on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from . import steps
from .cluster_choice import ClusterChoice
from .conductor import Conductor, Step
from .jobs import Job
from .journal import Journal
from .steps import Done, Outline

_FINISH, _JOIN, _RECORD, _BEGIN = range(4)  # what is begun is finished first
_FUNCTIONS: dict[int, Callable[..., Done]] = {
    _FINISH: steps.finish, _JOIN: steps.join_video, _RECORD: steps.record, _BEGIN: steps.begin
}  # fmt: skip


class Batch(Conductor):
    """The work on all recordings that are not done yet; failures are in the journal.

    Parameters
    ----------
    jobs : sequence of Job
        The recordings.
    journal : Journal
        Knows what is done, and keeps what happens.
    choice, looked
        As in :class:`Conductor`.
    told : callable
        Called with every event of the journal.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        journal: Journal,
        choice: ClusterChoice,
        told: Callable[[dict[str, Any]], None] = lambda event: None,
        looked: Callable[[], None] = lambda: None,
    ):
        super().__init__(choice, looked)
        self._jobs, self._journal, self._told = jobs, journal, told
        self._outlines: dict[int, Outline] = {}
        self._missing: dict[int, set[Step]] = {}  # by recording: what must end before its next step
        self.add(Step(_BEGIN, order) for order, job in enumerate(jobs) if journal.states[job.name].state != "done")

    def call_of(self, step: Step) -> tuple[Callable[..., Done], list[Any], str]:
        job = self._jobs[step.item]
        arguments: list[Any] = [job]
        if step.kind != _BEGIN:
            arguments.append(self._outlines[step.item])
        if step.kind in (_RECORD, _JOIN):
            arguments.append(step.part)
        return _FUNCTIONS[step.kind], arguments, f"{job.name}-{step.part}"

    def go_on(self, step: Step, answer: Done) -> None:
        job, order, done = self._jobs[step.item], step.item, answer
        facts = {"seconds": round(done.seconds, 3), "host": done.host, "warnings": list(done.warnings)}
        if self._journal.states[job.name].state == "failed":
            return  # a piece of a recording that failed elsewhere
        if step.kind == _BEGIN and done.outline is not None:
            pieces = len(done.outline.pieces)
            self._tell(job.name, "begun", pieces=pieces, **facts)
            self._outlines[order] = done.outline
            self._add_all(order, _RECORD, pieces)
        elif step.kind in (_RECORD, _JOIN):
            if step.kind == _RECORD:
                self._tell(job.name, "piece", piece=step.part, frames=done.frames, **facts)
            self._missing[order].discard(step)
            videos = len(self._outlines[order].videos)
            if self._missing[order]:
                return
            if step.kind == _RECORD and videos > 1:  # each by a worker; a single one is joined when all is finished
                self._add_all(order, _JOIN, videos)
            else:
                self.add([Step(_FINISH, order)])
        else:
            self._outlines.pop(order, None)
            self._missing.pop(order, None)
            self._tell(job.name, "done", frames=done.frames, sizes=done.sizes, **facts)

    def _add_all(self, order: int, kind: int, count: int) -> None:
        self._missing[order] = {Step(kind, order, number) for number in range(count)}
        self.add(self._missing[order])

    def fail(self, step: Step, reason: str) -> None:
        job = self._jobs[step.item]
        if self._journal.states[job.name].state == "failed":
            return
        self.drop(step.item)
        self._tell(job.name, "failed", reason=_with_hint(reason, job))

    def _tell(self, name: str, event: str, **facts: Any) -> None:
        self._told(self._journal.add(name, event, **facts))


def _with_hint(reason: str, job: Job) -> str:
    """Why a recording failed; of a file that a worker does not find, though it is here, what that means."""
    source = job.request.source
    given = [source.source, source.right, *source.cameras.calib]
    is_here = any(path is not None and str(path) in reason and os.path.exists(path) for path in given)
    if is_here and "no such" in reason.lower():
        return f"{reason}; it is there on this machine: all machines must see it under the same path"
    return reason
