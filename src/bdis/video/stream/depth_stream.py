"""read -> rectify -> match -> deliver: each step in a thread of its own, with short queues between them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from ...cameras.black_bars import unlike_bars
from ...cameras.calibration import StereoCalibration
from ...cameras.rectifier import Rectifier
from ...cameras.rgb import as_rgb_bytes
from ...cameras.rig import Rig
from ...common.arrays import Array, size_text
from ...display.card import card
from ...display.map_picture import MapPicture
from ...matching.matcher import StereoMatcher
from ...matching.result import StereoResult
from ...matching.result_pictures import pictures_of
from ..sources import Source
from .queue import FrameQueue, QueueClosed
from .reader import AtEnd, QueuedFrame, Reader
from .statistics import StatisticsCollector, StreamStatistics

QUEUED_FRAMES = 2  # between two steps, of a file; of a live source only the newest frame waits
STOP_S = 5.0  # a thread that takes longer to end hangs in a driver, and is abandoned


@dataclass(frozen=True, repr=False)
class DepthFrame:
    """A matched pair.

    Attributes
    ----------
    index : int
        Number of the frame in its source, from 0.
    time_s : float
        When it was taken: seconds from the start of a file, or from when a camera was opened.
    left, right : ndarray, shape (h, w) or (h, w, 3)
        The rectified images that were matched, grey or RGB.
    result : StereoResult
        What the matcher returned.
    is_suspect : bool
        It was decoded from a damaged frame of its video; its images may be wrong.
    read_s, rectify_s, match_s : float
        Time that each step took, seconds.
    arrived_s : float
        When the source had it, on the clock of ``time.perf_counter``.
    lost_before : int
        Frames that were damaged or missing since the one before it.
    stamp_ns, frame_id : int, str or None
        As in :class:`StereoFrame`.
    is_cut : bool
        Both images were cut from one picture as they are; those that were rectified here are not.
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
    lost_before: int = 0
    stamp_ns: int | None = None
    frame_id: str | None = None
    is_cut: bool = False

    def __repr__(self) -> str:
        parts = [f"{self.index} at {self.time_s:.3f} s", size_text(self.left.shape)]
        parts += [f"{self.result.coverage:.1%} known", f"matched in {1e3 * self.match_s:.1f} ms"]
        if self.is_suspect:
            parts.append("suspect: decoded from a damaged frame")
        if self.lost_before:
            parts.append(f"{self.lost_before} lost before it")
        return f"DepthFrame({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """For notebooks: the left image, disparity and its uncertainty, coverage, time and warnings."""
        grey = as_rgb_bytes(self.left).mean(2)
        pictures = [MapPicture("left image, grey", grey, "gray", (0.0, 255.0)), *pictures_of(self.result)]
        return card(repr(self), pictures=pictures, warnings=(*self.damage, *self.result.warnings))

    @property
    def damage(self) -> tuple[str, ...]:
        """What to know of the frame itself before its depth is trusted, a sentence each; empty if nothing is known."""
        suspect = "this frame was decoded from a damaged one: its images may be wrong" if self.is_suspect else ""
        return tuple(text for text in (suspect, self.wrong_cut) if text)

    @cached_property
    def wrong_cut(self) -> str:
        """A warning if black bars show that both images were cut from one picture in the wrong place; else empty."""
        return unlike_bars(self.left, self.right) if self.is_cut else ""


class DepthStream:
    """Matches every frame of a file, or always the newest frame of a live source.

    Iterate over the stream to get its frames; it can be iterated over once.  Reading, rectifying and matching run in
    threads while the body of the loop handles the frame before.  An exception in the body ends the stream; an
    exception in one of the threads is raised by the loop, after the frames before it.

    Parameters
    ----------
    source : Source
        Where the frames come from, from the next one that it would read on; closed at the end.  While one stream runs,
        no other can read the same source: open it once for each.
    matcher : StereoMatcher, optional
        Must not be used elsewhere while the stream runs.  Default: ``StereoMatcher()``.
    camera : Rectifier or Rig, optional
        A Rectifier if the images of the source have to be rectified, or the Rig of images that are rectified.
        Default: that of the source, if it has one.
    start_s : float
        Where to start in a file, seconds.
    start_index : int, optional
        Number of the frame at ``start_s``, if it is known.
    stop_s : float, optional
        Where to stop in a file, seconds; a frame at exactly this time is left out.
    every : int
        Use only every so many frames.
    previous : StereoResult, optional
        The result of the frame at ``start_s``, if it was matched before: the stream begins with the frame after it.
    video : bool
        Average what stands still with the result of the frame before (``previous`` of :meth:`StereoMatcher.match`);
        else every frame is matched by itself.
    paced : bool
        Play a file at its own speed instead of as fast as possible.
    at_end : {"stop", "loop", "wait"}
        At the end of a file, end the stream, start again, or pause until :meth:`seek`.
    report : callable, optional
        Called with a sentence for every lost frame and every retry, and with the warnings of the source.  Default: they
        are logged as warnings.

    Attributes
    ----------
    source : Source
        As given.
    reader : Reader
        Reads the source; ``reader.paced`` and ``reader.at_end`` may be changed while the stream runs.
    video : bool
        As given; may be changed while the stream runs.

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
    >>> stream.statistics().frames
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
        previous: StereoResult | None = None,
        video: bool = True,
        paced: bool = False,
        at_end: AtEnd = "stop",
        report: Callable[[str], None] | None = None,
    ):
        _check_camera(camera)
        self.source, self.camera = source, camera
        self._matcher = StereoMatcher() if matcher is None else matcher
        self.video = video
        self._previous = previous
        self._report = report or logging.getLogger(__name__).warning
        self._statistics = StatisticsCollector()
        capacity = 1 if source.drops_frames else QUEUED_FRAMES
        self._to_rectify: FrameQueue[QueuedFrame] = FrameQueue(capacity, source.drops_frames)
        self._to_match: FrameQueue[QueuedFrame] = FrameQueue(capacity, source.drops_frames)
        self._to_deliver: FrameQueue[tuple[int, DepthFrame]] = FrameQueue(capacity, source.drops_frames)
        self._queues: tuple[FrameQueue[Any], ...] = (self._to_rectify, self._to_match, self._to_deliver)
        self.reader = Reader(
            source, self._statistics, self._report, self._discard_queued,
            start_s=start_s, start_index=start_index, stop_s=stop_s, every=every, paced=paced, at_end=at_end,
        )  # fmt: skip
        self._last: QueuedFrame | None = None
        self._shape: tuple[int, ...] | None = None  # of the first frame; frames of another size are skipped
        self._threads: list[threading.Thread] = []

    def __iter__(self) -> Iterator[DepthFrame]:
        self._start()
        try:
            while True:
                seek_count, frame = self._to_deliver.get()
                if seek_count == self.reader.seek_count:
                    self._statistics.add_delivered(
                        time.perf_counter() - frame.arrived_s, frame.is_suspect, frame.lost_before
                    )
                    yield frame
        except QueueClosed:
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
        for queue in self._queues:
            queue.close()
        for thread in self._threads:
            # A thread that is not alive has ended, or is about to start and will end at once.
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(STOP_S)
        if not self._threads:
            self._close_unread_source()
        elif not self._threads[0].is_alive():  # else it hangs in a driver, and the source is still in use
            self.source.end_reading(self)

    def _close_unread_source(self) -> None:
        try:
            self.source.begin_reading(self)
        except RuntimeError:  # the stream that reads it closes it
            return
        self.source.close()
        self.source.end_reading(self)

    def statistics(self) -> StreamStatistics:
        """Frames per second, latency and lost frames up to now; also after the end."""
        return self._statistics.statistics(sum(queue.dropped for queue in self._queues))

    @cached_property
    def rig(self) -> Rig | None:
        """The rectified cameras; None if they are not known."""
        if self.camera is None:
            self.camera = self.source.camera
        if isinstance(self.camera, Rectifier):
            return self.camera.rig
        return self.camera

    # ------------------------------------------------------------ control, from any thread

    @property
    def matcher(self) -> StereoMatcher:
        """The matcher in use."""
        return self._matcher

    @property
    def is_paused(self) -> bool:
        """Whether the stream is paused."""
        return self.reader.is_paused

    def pause(self) -> None:
        """Deliver no more frames than those that were read already."""
        self.reader.pause()

    def play(self) -> None:
        """Continue after :meth:`pause`."""
        self.reader.play()

    def step(self) -> None:
        """Pause, and deliver one more frame."""
        self.reader.step()

    def seek(self, time_s: float) -> None:
        """Continue with the frame at ``time_s``, which is delivered even while paused.

        Raises
        ------
        ValueError
            The source is live.
        """
        self.reader.seek(time_s)

    def use(self, matcher: StereoMatcher) -> None:
        """Use another matcher from the next frame on; while paused, the last frame is matched again with it."""
        self._matcher = matcher
        last = self._last
        if last is not None and self.is_paused:
            self._to_match.put(replace(last, is_repeated=True, lost_before=0, arrived_s=time.perf_counter()))

    # ------------------------------------------------------------ the steps, one thread each

    def _start(self) -> None:
        if self._threads:
            raise RuntimeError("a stream can be run only once")
        self.source.begin_reading(self)
        try:
            _ = self.rig  # a source may have to read a frame for it; from now on only the reading thread may
        except BaseException:
            self.source.end_reading(self)
            raise
        steps: list[tuple[Callable[[FrameQueue[Any]], None], FrameQueue[Any]]] = [(self._read, self._to_match)]
        if isinstance(self.camera, Rectifier):
            steps = [(self._read, self._to_rectify), (self._rectify, self._to_match)]
        steps.append((self._match, self._to_deliver))
        self._threads = [
            threading.Thread(target=self._run_step, args=step, name=f"bdis{step[0].__name__}", daemon=True)
            for step in steps
        ]
        for thread in self._threads:
            thread.start()

    def _run_step(self, step: Callable[[FrameQueue[Any]], None], output: FrameQueue[Any]) -> None:
        """Run a step; however it ends, its output is closed, with its error if there is one."""
        error: BaseException | None = None
        try:
            step(output)
        except QueueClosed:
            pass
        except BaseException as caught:
            error = caught
        output.close(error)

    def _read(self, output: FrameQueue[QueuedFrame]) -> None:
        try:
            while (queued := self.reader.read()) is not None and output.put(queued):
                pass
        finally:
            self.source.close()

    def _rectify(self, output: FrameQueue[QueuedFrame]) -> None:
        assert isinstance(self.camera, Rectifier)
        is_first, lost = True, 0
        while True:
            queued = self._to_rectify.get()
            begin = time.perf_counter()
            try:
                left, right = self.camera(queued.frame.left, queued.frame.right)
            except (ValueError, TypeError) as error:
                lost += self._skip(queued, error, is_first)
                continue
            took = time.perf_counter() - begin
            self._statistics.add_time("rectify", took)
            frame, lost_before = replace(queued.frame, left=left, right=right), queued.lost_before + lost
            is_first, lost = False, 0
            if not output.put(replace(queued, frame=frame, rectify_s=took, lost_before=lost_before)):
                return

    def _match(self, output: FrameQueue[tuple[int, DepthFrame]]) -> None:
        previous, last_matcher = self._previous, self._matcher
        is_first, lost = True, 0
        if previous is None:
            last_seek_count = self.reader.seek_count
        else:  # the frame that this is the result of
            first = self._to_match.get()
            self._check_size(first.frame.left)
            self._check_previous(first, previous)
            last_seek_count, is_first = first.seek_count, False
        while True:
            queued = self._to_match.get()
            matcher, frame, seek_count = self._matcher, queued.frame, queued.seek_count
            if matcher is not last_matcher or seek_count != last_seek_count or queued.is_repeated or not self.video:
                previous = None
            begin = time.perf_counter()
            try:
                self._check_size(frame.left)
                result = matcher.match(frame.left, frame.right, previous=previous)
            except (ValueError, TypeError) as error:
                lost += self._skip(queued, error, is_first)
                continue
            took = time.perf_counter() - begin
            self._statistics.add_time("match", took)
            previous, last_matcher, last_seek_count, is_first = result, matcher, seek_count, False
            self._last = queued
            done = DepthFrame(
                frame.index, frame.time_s, frame.left, frame.right, result, frame.is_suspect,
                queued.read_s, queued.rectify_s, took, queued.arrived_s, queued.lost_before + lost,
                frame.stamp_ns, frame.frame_id,
                is_cut=self.source.layout is not None and not isinstance(self.camera, Rectifier),
            )  # fmt: skip
            lost = 0
            if not output.put((seek_count, done)):
                return

    def _discard_queued(self) -> None:
        for queue in self._queues:
            queue.clear()

    def _check_size(self, left: Array) -> None:
        shape = left.shape[:2]
        if self._shape is not None and self._shape != shape:
            raise ValueError(f"it is {size_text(shape)} but the frames before it are {size_text(self._shape)}")
        self._shape = shape

    def _check_previous(self, queued: QueuedFrame, previous: StereoResult) -> None:
        """Check the result that the stream begins with; no frame after it is to blame if the matcher refuses it."""
        frame = queued.frame
        try:
            self._matcher.match(frame.left, frame.right, previous=previous)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"{self.source.name}: the result of frame {frame.index}, after which to begin, is refused: {error}"
            ) from error

    def _skip(self, queued: QueuedFrame, error: Exception, is_first: bool) -> int:
        """Report a frame that cannot be matched; if it is the first one, none can be, and the error is raised.

        Returns
        -------
        int
            How many frames are lost with it: those before it, and itself.
        """
        if is_first:
            raise error
        self._statistics.add_damaged()
        self._report(f"{self.source.name}: frame {queued.frame.index}: {error}; skipped")
        return queued.lost_before + 1


def _check_camera(camera: object) -> None:
    """Raise TypeError if images cannot be matched with what was given as their cameras."""
    if isinstance(camera, StereoCalibration):
        raise TypeError("camera is a StereoCalibration, of images that are not rectified: give camera.rectify()")
    if not isinstance(camera, Rectifier | Rig | None):
        given = type(camera).__name__
        raise TypeError(f"camera is a {given}; expected a Rectifier, a Rig such as Rig.load(path), or None")
