"""A recording that Foxglove opens as it is: an MCAP file with the messages of every frame."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ...cameras.rig import Rig
from ...common.arrays import Array
from ...common.atomic import Place
from ...common.optional import require
from ...connections import foxglove as messages
from ..stream.depth_stream import DepthFrame
from .video_file import DiskFile, earlier_file
from .writer import FrameWriter

FOXGLOVE_FILE = "foxglove.mcap"
MAX_RECORD_BYTES = 2**30
PURPOSE = "recording for Foxglove"


class FoxgloveFile(FrameWriter):
    """Writes frames to an MCAP file; each is a chunk of its own, on the disk before the next one comes.

    The time of a message is that of its frame in the source, from 0: Foxglove shows it as seconds after 1970.

    Parameters
    ----------
    path : path
        The file.
    rig : Rig
        Of the frames.
    max_depth_mm : float, optional
        Pixels that are farther away are unknown.
    keep : int
        Keep so many frames of an existing file, and continue after them.

    Raises
    ------
    OSError
        The file cannot be written.
    ImportError
        foxglove-sdk or mcap is not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     FoxgloveFile(f"{folder}/{FOXGLOVE_FILE}", Rig(500, 320, 240, 5)).close()
    ...     count_foxglove_frames(f"{folder}/{FOXGLOVE_FILE}")
    0
    """

    def __init__(self, path: Place, rig: Rig, max_depth_mm: float | None = None, *, keep: int = 0):
        self._path, self._rig, self._max_depth_mm = Path(path), rig, max_depth_mm
        foxglove, mcap = require("foxglove", PURPOSE), require("foxglove.mcap", PURPOSE)
        earlier = earlier_file(self._path)
        if keep and not earlier.exists():
            os.replace(self._path, earlier)
        self._context = foxglove.Context()
        self._channels = messages.open_channels(self._context)
        self._file = DiskFile(self._path)
        # One thread compresses: with more, the bits would depend on the machine.
        options = mcap.MCAPWriteOptions(
            compression=mcap.MCAPCompression.Lz4, chunk_size=None, compression_threads=0, profile=""
        )
        self._writer = foxglove.open_mcap(_Writable(self._file), context=self._context, writer_options=options)
        try:
            if keep:
                self._copy(earlier, keep)
        except BaseException:
            self.close()
            os.replace(earlier, self._path)
            raise
        earlier.unlink(missing_ok=True)

    def write(self, frame: DepthFrame, depth_mm: Array | None) -> None:
        time_ns = round(1e9 * frame.time_s)
        for topic, message in messages.frame_messages(
            self._rig, frame.left, frame.result, time_ns, max_depth_mm=self._max_depth_mm, is_suspect=frame.is_suspect
        ):
            self._channels[topic].log(message, log_time=time_ns)
        self._finish_frame()

    def close(self) -> None:
        if self._file.is_closed:
            return
        try:
            if not self._file.has_failed:
                self._writer.close()
                self._check()
        finally:
            self._file.close()

    def _finish_frame(self) -> None:
        self._writer.flush()
        self._check()
        self._file.mark_complete()

    def _check(self) -> None:
        """Raise the error of a write; the package only logs it."""
        if self._file.error is not None:
            raise self._file.error

    def _copy(self, earlier: Path, keep: int) -> None:
        frames = 0
        for topic, time_ns, message in _messages_of(earlier):
            if frames == keep:
                return
            self._channels[topic].log(message, log_time=time_ns)
            if topic == messages.DEPTH:
                frames += 1
                self._finish_frame()
        if frames < keep:
            raise OSError(f"{earlier} has {frames} frames that can be read; {keep} were there before")


class _Writable:
    """What the package wants of a file.

    It ends the process if a position is not where it expects it to be, as after a failed write.  So it is told that all
    is well, and the file keeps the error.
    """

    def __init__(self, file: DiskFile):
        self._file, self._place, self._end = file, 0, 0

    def write(self, content: bytes) -> int:
        with contextlib.suppress(OSError):
            self._file.write(content)
        self._place += len(content)
        self._end = max(self._end, self._place)
        return len(content)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._end}[whence]
        if not self._file.has_failed:
            self._file.seek(self._place)
        return self._place

    def flush(self) -> None:
        """All is written at once."""


def count_foxglove_frames(path: Place) -> int:
    """Count the frames of an MCAP file that can be read, even if its recording was interrupted.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    int
        Number of frames; 0 if there is no such file.

    Examples
    --------
    >>> count_foxglove_frames("missing.mcap")
    0
    """
    path = Path(path)
    earlier = earlier_file(path)
    return sum(topic == messages.DEPTH for topic, _, _ in _messages_of(earlier if earlier.exists() else path))


def _messages_of(path: Path) -> Iterator[tuple[str, int, bytes]]:
    """The messages of all complete chunks of a file: their topics, times and contents."""
    mcap, records = require("mcap.stream_reader", PURPOSE), require("mcap.records", PURPOSE)
    topics: dict[int, str] = {}
    # A file that was cut off ends with one of many errors of mcap, struct or LZ4.
    with contextlib.suppress(Exception), open(path, "rb") as file:
        for record in mcap.StreamReader(file, validate_crcs=True, record_size_limit=MAX_RECORD_BYTES).records:
            if isinstance(record, records.Channel):
                topics[record.id] = record.topic
            elif isinstance(record, records.Message):
                yield topics[record.channel_id], record.log_time, record.data
