"""Depth for Foxglove, over its websocket."""

from __future__ import annotations

import threading
import time

from ...cameras.rig import Rig
from ...common.optional import require
from ...connections import foxglove as messages
from ..stream.depth_stream import DepthFrame
from .listening import Address, listen
from .live_output import LiveOutput, NobodyListens

BACKLOG_FRAMES = 3  # that wait for a slow client; older ones are dropped
STOP_SERVER_S = 1.0  # for clients to take leave


class FoxgloveOutput(LiveOutput):
    """Sends frames to every Foxglove that is connected; only the topics that one of them has subscribed to are made.

    The server is that of foxglove-sdk, which looks at no ``Origin``: what is sent can be read by any web page that is
    open in a browser on this machine (``risk``).  A guard in front of it would not help, as such a page can find the
    server's own port behind the guard by trying all.

    Parameters
    ----------
    address : Address
        Where to listen.
    rig : Rig
        Of the rectified images.
    max_depth_mm : float, optional
        Pixels that are farther away are sent as unknown.

    Attributes
    ----------
    address : Address
        Where it listens, with the port that was chosen.

    Raises
    ------
    OSError
        It cannot listen there.
    ImportError
        foxglove-sdk is not installed.

    Examples
    --------
    >>> with FoxgloveOutput(Address("127.0.0.1", 0), Rig(500, 320, 240, 5)) as output:
    ...     output.address.host
    '127.0.0.1'
    """

    risk = (
        "images and depth sent to Foxglove can be read by any web page that is open in a browser on this machine, as "
        "its server does not check who asks: open no pages that you do not trust meanwhile, or use --save foxglove"
    )

    def __init__(self, address: Address, rig: Rig, max_depth_mm: float | None = None):
        foxglove = require("foxglove", "sending to Foxglove")
        with listen(address) as probe:  # its errors say what to do
            port = probe.getsockname()[1]
        self._context = context = foxglove.Context()  # it must live as long as its server
        self._channels = messages.open_channels(context)
        try:
            self._server = foxglove.start_server(
                name="bdis", host=address.host, port=port, context=context,
                message_backlog_size=BACKLOG_FRAMES * len(self._channels),
            )  # fmt: skip
        except Exception as error:  # the package has no errors of its own
            raise OSError(f"cannot listen on {address}: {error}") from None
        self.address = Address(address.host, port)
        self.name = f"Foxglove on {self.address}"
        self._rig, self._max_depth_mm = rig, max_depth_mm
        super().__init__()

    def _send(self, frame: DepthFrame) -> None:
        wanted = [topic for topic, channel in self._channels.items() if channel.has_sinks()]
        if not wanted:
            raise NobodyListens
        time_ns = time.time_ns() - round(1e9 * (time.perf_counter() - frame.arrived_s))
        for topic, message in messages.frame_messages(
            self._rig,
            frame.left,
            frame.result,
            time_ns,
            max_depth_mm=self._max_depth_mm,
            is_suspect=frame.is_suspect,
            wanted=wanted,
        ):
            self._channels[topic].log(message, log_time=time_ns)

    def _close(self) -> None:
        stopping = threading.Thread(target=self._server.stop, daemon=True)  # it waits for a client that does not read
        stopping.start()
        stopping.join(STOP_SERVER_S)
