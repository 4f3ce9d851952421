"""Our end of the bridge to a ROS node: it waits for the node, starts it if asked to, and notices when it is gone."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from ...common.printable import printable
from ..ros2.bdis_ros.bridge import STATE_S, BridgeError, Link, Message, listen

CONNECTIONS = Path(__file__).resolve().parents[1]
FIRST_RETRY_S, LONGEST_RETRY_S = 1.0, 10.0
FIND_S = 30.0  # in which a Python says whether it has rospy
STOP_S = 3.0  # in which a node ends by itself
CLIENTS = {1: "rospy", 2: "rclpy"}  # of ROS 1 and ROS 2


class NodeLink:
    """Listens for a node at a socket, serves it, and waits for the next one when it is gone.

    Parameters
    ----------
    path : str
        The socket, in a folder that only this user may enter; created if it is not there.
    ros : {1, 2}
        Version of ROS that the node must have.
    welcome : dict
        What the node is told: ``node``, ``publications`` and ``parameters``.
    handle : callable
        Gets every :class:`Message`, in a thread of the link.  A BridgeError that it raises ends the connection.
    report : callable
        Called with a sentence when a node comes or goes.

    Attributes
    ----------
    lost : int
        How often a node has gone.
    was_connected : bool
        Whether there has been a node at all.

    Raises
    ------
    OSError
        Another process listens at the socket, or its folder is not private.
    """

    def __init__(
        self,
        path: str,
        ros: int,
        welcome: dict[str, Any],
        handle: Callable[[Message], None],
        report: Callable[[str], None],
    ):
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("live ROS needs Unix sockets, which this system does not have")
        self._path, self._ros, self._welcome = path, ros, welcome
        self._handle, self._report = handle, report
        self._listener = listen(path)
        self._link: Link | None = None
        self._is_closing = threading.Event()
        self.lost, self.was_connected = 0, False
        self._threads = [
            threading.Thread(target=target, name="bdis_ros", daemon=True) for target in (self._serve, self._live)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def is_connected(self) -> bool:
        """Whether a node is there."""
        return self._link is not None

    def send(self, kind: str, payload: Any = b"", **fields: Any) -> None:
        """Send a message to the node.

        Raises
        ------
        OSError
            There is no node, or it does not read.
        """
        link = self._link
        if link is None:
            raise OSError("no ROS node is connected")
        link.send(kind, payload, **fields)

    def close(self) -> None:
        """End the connection and stop listening."""
        self._is_closing.set()
        link = self._link
        if link is not None:
            link.close()
        for thread in self._threads:
            thread.join(STOP_S)
        self._listener.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _serve(self) -> None:
        self._listener.settimeout(STATE_S)
        while not self._is_closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:  # nobody came for a while
                continue
            link = Link(connection)
            try:
                hello = self._greet(link, connection)
                self._handle(hello)
                self._link, self.was_connected = link, True
                while not self._is_closing.is_set():
                    self._handle(link.receive())
            except (OSError, EOFError, BridgeError) as error:
                if not self._is_closing.is_set():
                    self.lost += 1
                    self._report(f"the ROS node is gone: {printable(str(error))}")
            except Exception as error:  # a fault of ours must not end the thread that everything waits for
                self.lost += 1
                self._report(f"what the ROS node sent cannot be handled ({type(error).__name__}: {error}); it is left")
            finally:
                self._link = None
                link.close()

    def _greet(self, link: Link, connection: socket.socket) -> Message:
        """Check who has connected, and say what is wanted of it; its first message is returned."""
        _check_user(connection)
        hello = link.receive()
        if hello.kind != "hello":
            raise BridgeError(f"it said {hello.kind!r:.40} instead of hello")
        ros = hello.get("ros", int)
        if ros != self._ros:
            raise BridgeError(f"it is of ROS {ros}, but this is bdis ros{self._ros}")
        link.send("welcome", **self._welcome)
        self._report(f"the ROS node is there (Python {printable(hello.get('python', str)[:20])})")
        return hello

    def _live(self) -> None:
        while not self._is_closing.wait(STATE_S):
            with contextlib.suppress(OSError):
                self.send("alive")


def _check_user(connection: socket.socket) -> None:
    """Raise BridgeError if another user has connected; the folder's permissions do not let one."""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        user = struct.unpack("3i", credentials)[1]
        if user not in (os.getuid(), 0):
            raise BridgeError(f"it belongs to another user ({user})")


class NodeProcess:
    """Runs the node as a process, and again when it has died.

    Parameters
    ----------
    command : list of str
        As of :func:`node_command`.
    report : callable
        Called with a sentence when it has died.

    Attributes
    ----------
    restarts : int
        How often it was started again.
    is_over : threading.Event
        Set when the node has ended by itself: ROS told it to.
    """

    def __init__(self, command: list[str], report: Callable[[str], None]):
        self._command, self._report = command, report
        self._is_closing = threading.Event()
        self.is_over = threading.Event()
        self.restarts = 0
        self._last_lines: deque[str] = deque(maxlen=3)
        self._process = self._start()
        self._watcher = threading.Thread(target=self._watch, name="bdis_node", daemon=True)
        self._watcher.start()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def close(self) -> None:
        """End the process."""
        self._is_closing.set()
        try:
            self._process.wait(STOP_S)  # it ends with the connection
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._watcher.join(STOP_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _start(self) -> subprocess.Popen[bytes]:
        paths = [str(CONNECTIONS / "ros2"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        return subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=environment, start_new_session=True,
        )  # fmt: skip

    def _watch(self) -> None:
        wait_s = FIRST_RETRY_S
        while True:
            begin_s = time.monotonic()
            assert self._process.stderr is not None
            self._last_lines.clear()
            with self._process.stderr as lines:
                for line in lines:
                    self._last_lines.append(printable(line.decode(errors="replace").strip())[:300])
            code = self._process.wait()
            if self._is_closing.is_set():
                return
            if code == 0:
                self.is_over.set()
                return
            if time.monotonic() - begin_s > LONGEST_RETRY_S:
                wait_s = FIRST_RETRY_S  # it had worked
            why = f"killed by signal {-code}" if code < 0 else f"exit code {code}: {' '.join(self._last_lines)[-300:]}"
            self._report(f"the ROS node died ({why}); starting it again in {wait_s:g} s")
            if self._is_closing.wait(wait_s):
                return
            wait_s = min(2 * wait_s, LONGEST_RETRY_S)
            self.restarts += 1
            self._process = self._start()


def node_command(ros: int, path: str, python: str) -> list[str]:
    """The command that runs the node.

    Parameters
    ----------
    ros : {1, 2}
        Version of ROS.
    path : str
        The socket.
    python : str
        The Python that has rospy or rclpy.

    Returns
    -------
    list of str

    Examples
    --------
    >>> node_command(2, "/run/user/1000/bdis/ros.socket", "/usr/bin/python3")[:3]
    ['/usr/bin/python3', '-m', 'bdis_ros.node']
    """
    program = [str(CONNECTIONS / "ros1" / "node.py")] if ros == 1 else ["-m", "bdis_ros.node"]
    return [python, *program, "--socket", path, "--once"]


def find_python(ros: int, given: str | None = None) -> str:
    """Find a Python that has rospy or rclpy: ours, the system's, or the first one on the path.

    Parameters
    ----------
    ros : {1, 2}
        Version of ROS.
    given : str, optional
        The only one to try.

    Returns
    -------
    str

    Raises
    ------
    ImportError
        There is none.
    """
    client = CLIENTS[ros]
    tried = [given] if given else list(dict.fromkeys(["/usr/bin/python3", "python3", sys.executable]))
    for python in tried:
        try:
            found = subprocess.run([python, "-c", f"import {client}"], capture_output=True, timeout=FIND_S)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if found.returncode == 0:
            return python
    install = "apt install python3-rospy, or source /opt/ros/DISTRO/setup.bash" if ros == 1 else (
        "source /opt/ros/DISTRO/setup.bash, then run this command again"
    )  # fmt: skip
    raise ImportError(
        f"no {client} in {', '.join(tried)}: {install}; or name its Python with --ros-python", name=client
    )
