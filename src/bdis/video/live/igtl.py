"""Depth for 3D Slicer, PLUS and other programs that speak OpenIGTLink: a server that never waits for its clients."""

from __future__ import annotations

import logging
import math
import select
import socket
import time
from dataclasses import dataclass

import numpy as np

from ...cameras.rgb import as_rgb_bytes
from ...cameras.rig import Rig
from ...common.arrays import Array
from ...connections import igtl
from ..stream.depth_stream import DepthFrame
from .listening import Address, listen
from .live_output import LiveOutput, NobodyListens

LEFT, DEPTH, SIGMA, POINTS, STATUS = "BDIS_Left", "BDIS_Depth", "BDIS_Sigma", "BDIS_Points", "BDIS_Status"
UNKNOWN_DEPTH, UNKNOWN_SIGMA = 0.0, -1.0  # NaN confuses the windows of 3D Slicer; a sigma of 0 would mean certainty
MAX_POINTS = 20_000  # of the cloud
MAX_CLIENTS = 8
STALL_S = 0.3  # a client that takes no byte for so long is not waited for until it has caught up
PATIENCE_S = 1.0  # nor one that takes longer for a frame
GIVE_UP_S = 10.0  # one that takes no byte for so long is disconnected

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Client:
    """A program that is connected, and what it has not taken of the last frame."""

    socket: socket.socket
    name: str
    rest: memoryview
    begun_s: float  # when it was given the frame
    moved_s: float  # when it last took a part of it
    is_waited_for: bool = True

    @property
    def is_busy(self) -> bool:
        return len(self.rest) > 0


class IgtlOutput(LiveOutput):
    """Sends depth, sigma, the left image, a cloud and a status to every client of an OpenIGTLink server.

    A client that reads slowly gets fewer frames; one that does not read is not waited for, and holds no more memory
    than one frame.  What clients send is not looked at.

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

    Examples
    --------
    >>> with IgtlOutput(Address("127.0.0.1", 0), Rig(500, 320, 240, 5)) as output:
    ...     output.address.host
    '127.0.0.1'
    """

    def __init__(self, address: Address, rig: Rig, max_depth_mm: float | None = None):
        self._listening = listen(address)
        self.address = Address(address.host, self._listening.getsockname()[1])
        self.name = f"OpenIGTLink on {self.address}"
        self._rig, self._max_depth_mm, self._matrix = rig, max_depth_mm, igtl.image_matrix(rig)
        self._clients: list[_Client] = []
        igtl.crc64(b"")  # compiled now, not with the first frame
        super().__init__()

    def _send(self, frame: DepthFrame) -> None:
        self._accept()
        self._drain()
        if not self._clients:
            raise NobodyListens
        waiting = [client for client in self._clients if not client.is_busy]
        if waiting:
            content = memoryview(b"".join(messages(frame, self._rig, self._matrix, self._max_depth_mm)))
            for client in waiting:
                client.rest, client.is_waited_for = content, True
                client.begun_s = client.moved_s = time.monotonic()
        self._push()
        if not any(client in self._clients and not client.is_busy for client in waiting):
            raise OSError("no client has taken all of it in time")

    def _close(self) -> None:
        self._listening.close()
        for client in self._clients:
            client.socket.close()

    def _accept(self) -> None:
        """Take the clients that have connected since the last frame."""
        while True:
            try:
                connection, where = self._listening.accept()
            except OSError:  # there are no more, or one is gone already
                return
            if len(self._clients) >= MAX_CLIENTS:
                logger.warning("%s has %d clients and refuses another", self.name, MAX_CLIENTS)
                connection.close()
                continue
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            now = time.monotonic()
            self._clients.append(_Client(connection, f"{where[0]}:{where[1]}", memoryview(b""), now, now))

    def _drain(self) -> None:
        """Throw away what clients have sent, and notice those that are gone."""
        for client in list(self._clients):
            try:
                if not client.socket.recv(65536):
                    self._remove(client)
            except BlockingIOError:
                pass
            except OSError:
                self._remove(client)

    def _push(self) -> None:
        """Hand out bytes until every client has its frame, or takes no more."""
        while busy := [client for client in self._clients if client.is_busy]:
            now = time.monotonic()
            for client in busy:
                quiet_s = now - client.moved_s
                if quiet_s > STALL_S or now - client.begun_s > PATIENCE_S:
                    client.is_waited_for = False
                if quiet_s > GIVE_UP_S:
                    logger.warning("%s: %s does not read; it is disconnected", self.name, client.name)
                    self._remove(client)
            is_waiting = any(client.is_waited_for for client in busy)
            sockets = [client.socket for client in busy if client in self._clients]
            ready = select.select([], sockets, [], STALL_S / 4 if is_waiting else 0)[1] if sockets else []
            for client in busy:
                if client.socket in ready:
                    self._push_to(client)
            if not is_waiting:
                return

    def _push_to(self, client: _Client) -> None:
        try:
            count = client.socket.send(client.rest)
        except BlockingIOError:
            return
        except OSError:
            self._remove(client)
            return
        client.rest, client.moved_s = client.rest[count:], time.monotonic()

    def _remove(self, client: _Client) -> None:
        client.socket.close()
        client.rest = memoryview(b"")
        self._clients.remove(client)


def messages(frame: DepthFrame, rig: Rig, matrix: Array, max_depth_mm: float | None = None) -> list[bytes]:
    """All messages of a frame.

    Parameters
    ----------
    frame : DepthFrame
        A matched pair; sigma is left out if it has no variance.
    rig : Rig
        Of the rectified images.
    matrix : ndarray, shape (4, 4)
        Of the images, see :func:`bdis.connections.igtl.image_matrix`.
    max_depth_mm : float, optional
        Pixels that are farther away are sent as unknown.

    Returns
    -------
    list of bytes
        Their time is when the source had the frame.
    """
    time_s = time.time() - (time.perf_counter() - frame.arrived_s)
    depth = rig.depth(frame.result, max_depth_mm=max_depth_mm)
    is_unknown = ~np.isfinite(depth)
    left = frame.left if frame.left.dtype == np.uint8 and frame.left.ndim == 2 else as_rgb_bytes(frame.left)
    depth[is_unknown] = UNKNOWN_DEPTH
    images = {LEFT: left, DEPTH: depth}
    if frame.result.variance is not None:
        sigma = rig.depth_sigma(frame.result)
        sigma[is_unknown | ~np.isfinite(sigma)] = UNKNOWN_SIGMA
        images[SIGMA] = sigma
    cloud = rig.cloud(
        frame.result, frame.left, max_depth_mm=max_depth_mm, every=math.ceil(math.sqrt(depth.size / MAX_POINTS))
    )
    status = f"frame {frame.index}, {frame.time_s:.3f} s, {1 - is_unknown.mean():.1%} known"
    if frame.is_suspect:
        status += "; SUSPECT: decoded from a damaged frame"
    return [
        *(igtl.pack("IMAGE", name, time_s, igtl.image_content(image, matrix)) for name, image in images.items()),
        igtl.pack("POLYDATA", POINTS, time_s, igtl.polydata_content(cloud)),
        igtl.pack("STRING", STATUS, time_s, igtl.string_content(status)),
    ]
