"""Frames of interlaced video without their combs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...common.optional import require


class Deinterlacer:
    """Passes decoded frames through FFmpeg's filter bwdif, which returns a frame when it has got the next one.

    Parameters
    ----------
    stream : av.VideoStream
        The video.
    """

    def __init__(self, stream: Any):
        self._av = require("av", "reading videos")
        self._graph = self._av.filter.Graph()
        nodes = [
            self._graph.add_buffer(template=stream),
            self._graph.add("bwdif", "mode=send_frame:deint=all"),
            self._graph.add("buffersink"),
        ]
        self._graph.link_nodes(*nodes).configure()

    def __call__(self, frames: list[Any], is_last: bool) -> Iterator[Any]:
        """The frames that are ready after these; all that are left, if these are the last."""
        for frame in [*frames, None] if is_last else frames:
            self._graph.push(frame)
            while True:
                try:
                    yield self._graph.pull()
                except (self._av.error.BlockingIOError, self._av.error.EOFError):
                    break
