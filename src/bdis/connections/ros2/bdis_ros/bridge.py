"""The bridge between a ROS node and bdis: messages over a Unix socket in a folder that no other user can enter.

Both ends use this file, and the node's end may be as old as Python 3.8, so it needs the standard library only.

A message is a prefix of 16 bytes (the letters ``BDIS``, the version of the protocol, the sizes of what follows), a JSON
object with its ``kind`` and fields, and a payload: a serialised ROS message or nothing.

========== ======== ================================================================================
kind       sent by  fields
========== ======== ================================================================================
hello      node     ``ros`` (1 or 2), ``python``
welcome    bdis     ``node``, ``publications``, ``parameters``
state      node     ``topics``, ``wanted``, ``parameters``, ``problem``; every ``STATE_S``
subscribe  bdis     ``topics``: which topic is which of left, right, left_info and right_info
image      node     ``key``, ``type``; payload
info       node     ``key``, ``type``; payload
publish    bdis     ``key``; payload
alive      bdis     every ``STATE_S``, so that a process that hangs is told from one that waits
note       node     ``text``, for the user
========== ======== ================================================================================
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import struct
import tempfile
import threading
from typing import Any, Callable, NoReturn  # noqa: UP035  (Python 3.8)

VERSION = 1
MAX_HEADER = 1 << 16
MAX_PAYLOAD = 1 << 28  # a cloud of 4096x3072 points has 240 MB
STATE_S = 0.5  # from one sign of life to the next
MAX_PATH = 100  # bytes; systems allow 103 to 107
SILENCE_S = 20.0  # without one, the other end is given up
_PREFIX = struct.Struct("<4sBxxxII")  # magic, version, bytes of the header, bytes of the payload
_MAGIC = b"BDIS"


class BridgeError(ValueError):
    """What came is not a message of this protocol."""


class Message:
    """One message.

    Attributes
    ----------
    kind : str
        What it is.
    fields : dict
        Its header, of which nothing is checked but that it is a JSON object.
    payload : bytearray or bytes
        A serialised ROS message; empty if there is none.
    """

    def __init__(self, kind: str, fields: dict[str, Any], payload: Any = b""):
        self.kind, self.fields, self.payload = kind, fields, payload

    def get(self, name: str, kind: type) -> Any:
        """Return a field, or raise BridgeError if it is missing or of another type.

        Examples
        --------
        >>> Message("hello", {"ros": 2}).get("ros", int)
        2
        """
        value = self.fields.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise BridgeError(f"a message {self.kind!r:.40} without a proper {name!r}")
        return value


def encode(kind: str, payload: Any = b"", **fields: Any) -> bytes:
    """Return the prefix and the header of a message; the payload follows it.

    Examples
    --------
    >>> encode("alive")[:4]
    b'BDIS'
    """
    header = json.dumps(dict(fields, kind=kind)).encode()
    if len(header) > MAX_HEADER or len(payload) > MAX_PAYLOAD:
        raise BridgeError(f"a message {kind!r} of {len(header)} + {len(payload)} bytes is too large")
    return _PREFIX.pack(_MAGIC, VERSION, len(header), len(payload)) + header


def decode(receive: Callable[[int], Any]) -> Message:
    """Read one message.

    Parameters
    ----------
    receive : callable
        Takes a number of bytes and returns as many; raises EOFError at the end.

    Returns
    -------
    Message

    Raises
    ------
    BridgeError
        It is not a message, or one of another version, or too large; nothing after it can be read.
    EOFError
        There is none.

    Examples
    --------
    >>> import io
    >>> message = decode(io.BytesIO(encode("note", text="hello")).read)
    >>> message.kind, message.get("text", str)
    ('note', 'hello')
    """
    prefix = receive(_PREFIX.size)
    if len(prefix) < _PREFIX.size:
        raise EOFError("the other end has closed the connection")
    magic, version, header_size, payload_size = _PREFIX.unpack(prefix)
    if magic != _MAGIC:
        raise BridgeError("the other end does not speak the protocol of bdis")
    if version != VERSION:
        raise BridgeError(
            f"the other end speaks version {version} of the protocol, expected {VERSION}: "
            "let node and bdis be of one version"
        )
    if header_size > MAX_HEADER or payload_size > MAX_PAYLOAD:
        raise BridgeError(f"a message of {header_size} + {payload_size} bytes is too large")
    try:
        header = json.loads(bytes(receive(header_size)).decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BridgeError(f"a message whose header is not JSON: {error}") from error
    if not isinstance(header, dict) or not isinstance(header.get("kind"), str):
        raise BridgeError("a message without a kind")
    payload = receive(payload_size) if payload_size else b""
    if len(payload) < payload_size:
        raise EOFError("the connection ended within a message")
    return Message(header["kind"], header, payload)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class Link:
    """One end of a connection; any thread may send, one receives.

    Parameters
    ----------
    connection : socket
        Connected; the link closes it.

    Examples
    --------
    >>> ours, theirs = (Link(end) for end in socket.socketpair())
    >>> ours.send("image", b"pixels", key="left")
    >>> message = theirs.receive()
    >>> message.get("key", str), bytes(message.payload)
    ('left', b'pixels')
    >>> ours.close(), theirs.close()
    (None, None)
    """

    def __init__(self, connection: socket.socket):
        connection.settimeout(SILENCE_S)
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, kind: str, payload: Any = b"", **fields: Any) -> None:
        """Send a message; OSError if the other end has gone or does not read."""
        head = encode(kind, payload, **fields)
        with self._sending:
            try:
                self._connection.sendall(head)
                if payload:
                    self._connection.sendall(payload)
            except OSError:
                self.close()  # a message sent in part cannot be continued
                raise

    def receive(self) -> Message:
        """Wait for a message; EOFError or OSError if the other end has gone or is silent, BridgeError as in decode."""
        return decode(self._receive)

    def close(self) -> None:
        """Close the connection; a thread that receives or sends is woken."""
        with contextlib.suppress(OSError):  # it is closed already
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _receive(self, count: int) -> bytearray:
        data = bytearray(count)
        view, got = memoryview(data), 0
        while got < count:
            try:
                received = self._connection.recv_into(view[got:])
            except socket.timeout as error:  # noqa: UP041  (another class before Python 3.10)
                raise OSError(f"the other end is silent for {SILENCE_S:g} s") from error
            if not received:
                raise EOFError("the other end has closed the connection")
            got += received
        return data


def default_socket() -> str:
    """Where bdis and a node that was started by itself meet.

    Returns
    -------
    str
        In the folder of this user's session, else in a folder of the user's own beside other temporary files.

    Examples
    --------
    >>> os.path.basename(default_socket())
    'ros.socket'
    """
    session = os.environ.get("XDG_RUNTIME_DIR")
    if session:
        return os.path.join(session, "bdis", "ros.socket")
    return os.path.join(tempfile.gettempdir(), f"bdis-ros-{os.getuid()}", "ros.socket")


def check_private(folder: str) -> None:
    """Raise PermissionError unless a folder is this user's (or root's) own and nobody else may enter it."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.getuid(), 0) or stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(
            f"{folder} must be a folder that only you may enter (chmod 700), as whoever connects sees the images"
        )


def connect(path: str) -> Link:
    """Connect to bdis.

    Returns
    -------
    Link

    Raises
    ------
    OSError
        Nobody listens there, or others may enter its folder.
    """
    check_private(os.path.dirname(path) or ".")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(SILENCE_S)
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return Link(connection)


def listen(path: str) -> socket.socket:
    """Listen for nodes.

    Returns
    -------
    socket

    Raises
    ------
    OSError
        Another process listens there already, others may enter its folder, or there is no such folder.
    """
    folder = os.path.dirname(path) or "."
    if len(os.fsencode(path)) > MAX_PATH:
        raise OSError(f"{path} is too long for a socket; give a shorter --socket")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    check_private(folder)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if os.path.exists(path):
            _remove_abandoned(path)
        listener.bind(path)
        listener.listen(2)
    except OSError:
        listener.close()
        raise
    return listener


def _remove_abandoned(path: str) -> None:
    """Remove the socket of a process that has ended; OSError if it lives, or if it is something else."""
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise OSError(f"{path} is there already and is not a socket")
    try:
        connect(path).close()
    except ConnectionRefusedError:
        os.unlink(path)
        return
    raise OSError(f"another bdis listens at {path} already; end it, or give both sides another --socket")
