"""read -> rectify -> match -> deliver: the steps overlap in threads, with short queues between them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from ...cameras.rectifier import Rectifier
from ...cameras.rig import Rig
from ...common.arrays import Array, size_text
from ...matching.matcher import StereoMatcher
from ...matching.result import StereoResult
from ..sources import Source
from .queue import Ended, Lane
from .reader import Arrival, AtEnd, Reader
from .statistics import Figures, Meter

QUEUED_FRAMES = 2  # of a file, between two steps; of a live source only the newest waits
STOP_S = 5.0  # a thread that does not end by then hangs in a driver, and is left to itself


@dataclass(frozen=True)
class DepthFrame:
    """A matched pair.

    Attributes
    ----------
    index, time_s : of the source's frame
    left, right : the rectified images that were matched, grey or RGB
    result : StereoResult
    is_suspect : it builds on a damaged frame of its video, and may show what is not there
    read_s, rectify_s, match_s : what the steps took
    arrived_s : when the source had it, on the clock of ``time.perf_counter``
    """

    index: int
    time_s: float
    left: Array
    right: Array
    result: StereoResult
    is_suspect: bool
    read_s: float
    rectify_s: float
    match_s: float
    arrived_s: float


class DepthStream:
    """Depth of every frame of a file, or of the newest frame of a live source.

    Iterate over it; the loop's body is the last step.  An error in the body ends the stream, an error in a step comes
    out of the loop after the frames before it.

    Parameters
    ----------
    source : Source; closed at the end
    matcher : StereoMatcher; not to be used elsewhere meanwhile.  None: the default one
    camera : Rectifier, which rectifies on the way, or Rig of a source that is rectified.  None: what the source knows
    start_s, stop_s : s from the start of a file
    start_index : what to number the frame at ``start_s``, if it is known
    every : take only every so many frames
    video : let each frame start from the one before it (``previous`` of :meth:`StereoMatcher.match`)
    paced : play a file at its own speed instead of as fast as it goes
    at_end : "stop", or "loop" (from the beginning again), or "wait" (for a seek)
    report : called with a sentence for every frame that is lost and every retry; None: they are logged

    Examples
    --------
    >>> import bdis
    >>> from bdis.video.sources import open_source
    >>> source = open_source("render:plane,frames=3,height=48,width=64")
    >>> with DepthStream(source, bdis.StereoMatcher("fast")) as stream:
    ...     for frame in stream:
    ...         print(frame.index, round(frame.result.coverage))
    0 1
    1 1
    2 1
    >>> stream.figures().frames
    3
    """

    def __init__(
        self,
        source: Source,
        matcher: StereoMatcher | None = None,
        camera: Rectifier | Rig | None = None,
        *,
        start_s: float = 0.0,
        start_index: int | None = None,
        stop_s: float | None = None,
        every: int = 1,
        video: bool = True,
        paced: bool = False,
        at_end: AtEnd = "stop",
        report: Callable[[str], None] | None = None,
    ):
        self.source, self.camera = source, camera
        self._matcher = StereoMatcher() if matcher is None else matcher
        self._video = video
        self._report = report or logging.getLogger(__name__).warning
        self._meter = Meter()
        capacity = 1 if source.is_live else QUEUED_FRAMES
        self._to_rectify: Lane[Arrival] = Lane(capacity, source.is_live)
        self._to_match: Lane[Arrival] = Lane(capacity, source.is_live)
        self._to_deliver: Lane[tuple[int, DepthFrame]] = Lane(capacity, source.is_live)
        self._lanes: tuple[Lane[Any], ...] = (self._to_rectify, self._to_match, self._to_deliver)
        self.reader = Reader(
            source, self._meter, self._report, self._throw_away,
            start_s=start_s, start_index=start_index, stop_s=stop_s, every=every, paced=paced, at_end=at_end,
        )  # fmt: skip
        self._last: Arrival | None = None
        self._shape: tuple[int, ...] | None = None  # of the images; one of another size is of no use
        self._threads: list[threading.Thread] = []

    # ------------------------------------------------------------ for the one who listens

    def __iter__(self) -> Iterator[DepthFrame]:
        self._start()
        try:
            while True:
                take, frame = self._to_deliver.get()
                if take == self.reader.take:
                    self._meter.delivered(time.perf_counter() - frame.arrived_s, frame.is_suspect)
                    yield frame
        except Ended:
            return
        finally:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all threads and close the source."""
        self.reader.stop()
        for lane in self._lanes:
            lane.end()
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():  # not alive: over, or about to start
                thread.join(STOP_S)
        if not self._threads:
            self.source.close()

    def figures(self) -> Figures:
        """How it is doing, or how it went."""
        return self._meter.figures(sum(lane.dropped for lane in self._lanes))

    @cached_property
    def rig(self) -> Rig | None:
        """The rectified cameras, if they are known."""
        if isinstance(self.camera, Rectifier):
            return self.camera.rig
        return self.source.rig if self.camera is None else self.camera

    # ------------------------------------------------------------ for the one who steers

    @property
    def matcher(self) -> StereoMatcher:
        return self._matcher

    @property
    def is_paused(self) -> bool:
        return self.reader.is_paused

    def pause(self) -> None:
        """Hold after the frames that are on their way."""
        self.reader.pause()

    def play(self) -> None:
        """Go on after :meth:`pause`."""
        self.reader.play()

    def step(self) -> None:
        """Let one frame through, and hold."""
        self.reader.step()

    def seek(self, time_s: float) -> None:
        """Go on with the frame at ``time_s``, which is also shown if the stream is paused.

        Raises
        ------
        ValueError
            The source is live.
        """
        self.reader.seek(time_s)

    def use(self, matcher: StereoMatcher) -> None:
        """Match with another matcher from the next frame on; a paused stream does its last frame again."""
        self._matcher = matcher
        last = self._last
        if last is not None and self.is_paused:
            self._to_match.put(replace(last, again=True, arrived_s=time.perf_counter()))

    # ------------------------------------------------------------ the steps, one thread each

    def _start(self) -> None:
        if self._threads:
            raise RuntimeError("a stream can be run only once")
        _ = self.rig  # a source may have to read a frame to know; from now on it belongs to a thread
        steps: list[tuple[Callable[[Lane[Any]], None], Lane[Any]]] = [(self._read, self._to_match)]
        if isinstance(self.camera, Rectifier):
            steps = [(self._read, self._to_rectify), (self._rectify, self._to_match)]
        steps.append((self._match, self._to_deliver))
        self._threads = [
            threading.Thread(target=self._guarded, args=step, name=f"bdis{step[0].__name__}", daemon=True)
            for step in steps
        ]
        for thread in self._threads:
            thread.start()

    def _guarded(self, step: Callable[[Lane[Any]], None], output: Lane[Any]) -> None:
        """Run a step; however it ends, the one after it hears of it."""
        error: BaseException | None = None
        try:
            step(output)
        except Ended:
            pass
        except BaseException as caught:
            error = caught
        output.end(error)

    def _read(self, output: Lane[Arrival]) -> None:
        try:
            while (work := self.reader.read()) is not None and output.put(work):
                pass
        finally:
            self.source.close()

    def _rectify(self, output: Lane[Arrival]) -> None:
        assert isinstance(self.camera, Rectifier)
        is_first = True
        while True:
            work = self._to_rectify.get()
            begin = time.perf_counter()
            try:
                left, right = self.camera(work.frame.left, work.frame.right)
            except (ValueError, TypeError) as error:
                self._lost(work, error, is_first)
                continue
            is_first = False
            took = time.perf_counter() - begin
            self._meter.time("rectify", took)
            if not output.put(replace(work, frame=replace(work.frame, left=left, right=right), rectify_s=took)):
                return

    def _match(self, output: Lane[tuple[int, DepthFrame]]) -> None:
        previous: StereoResult | None = None
        last_matcher, last_take = self._matcher, self.reader.take
        is_first = True
        while True:
            work = self._to_match.get()
            matcher, frame = self._matcher, work.frame
            if matcher is not last_matcher or work.take != last_take or work.again or not self._video:
                previous = None
            begin = time.perf_counter()
            try:
                self._check_size(frame.left)
                result = matcher.match(frame.left, frame.right, previous=previous)
            except (ValueError, TypeError) as error:
                self._lost(work, error, is_first)
                continue
            took = time.perf_counter() - begin
            self._meter.time("match", took)
            previous, last_matcher, last_take, is_first = result, matcher, work.take, False
            self._last = work
            done = DepthFrame(
                frame.index, frame.time_s, frame.left, frame.right, result, frame.is_suspect,
                work.read_s, work.rectify_s, took, work.arrived_s,
            )  # fmt: skip
            if not output.put((work.take, done)):
                return

    def _throw_away(self) -> None:
        for lane in self._lanes:
            lane.clear()

    def _check_size(self, left: Array) -> None:
        shape = left.shape[:2]
        if self._shape not in (None, shape):
            sizes = size_text(shape), size_text(self._shape or shape)
            raise ValueError(f"it is {sizes[0]} but the frames before it are {sizes[1]}")
        self._shape = shape

    def _lost(self, work: Arrival, error: Exception, is_first: bool) -> None:
        """A frame that cannot be used: one among good ones is skipped, but if the first cannot, none can."""
        if is_first:
            raise error
        self._meter.damaged()
        self._report(f"{self.source.name}: frame {work.frame.index}: {error}; skipped")
