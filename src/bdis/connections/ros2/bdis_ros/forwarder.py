"""What the nodes of ROS 1 and ROS 2 have in common: messages go from topics to bdis, and back to other topics.

A node converts nothing.  Serialised ROS messages pass through it as they are, which is quick, and needs no package but
those of ROS.
"""

from __future__ import annotations

import argparse
import os
import platform
import queue
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from typing import Any, Callable  # noqa: UP035  (Python 3.8)

from .bridge import STATE_S, BridgeError, Link, Message, connect, default_socket

RETRY_S = 1.0  # from one attempt to reach bdis to the next
REPEAT_S = 30.0  # until a line about the same problem is repeated
MAX_TOPICS = 300  # that bdis is told of
LISTED = ("Image", "CompressedImage", "CameraInfo")


class RosNode(ABC):
    """The few things that a node does with ROS; a version of ROS is a subclass.

    All methods but ``publish`` are called from one thread.

    Attributes
    ----------
    ros : int
        Version of ROS.
    problem : str
        Why nothing can be forwarded now; empty if all is well.
    forward : callable
        Takes the key of a subscription, the type of its topic and a serialised message.
    """

    ros = 0

    def __init__(self) -> None:
        self.problem = ""
        self.forward: Callable[[str, str, Any], None] = lambda key, kind, data: None

    @abstractmethod
    def start(self, name: str) -> bool:
        """Join ROS under this name; False, with a ``problem``, if ROS is not there yet."""

    @abstractmethod
    def work(self, seconds: float) -> bool:
        """Let ROS work for a while; False if it has ended this node."""

    @abstractmethod
    def topics(self) -> list[list[str]]:
        """Names and types of all topics: a list of pairs."""

    @abstractmethod
    def subscribe(self, key: str, topic: str, kind: str) -> None:
        """Forward messages of a topic; one that was subscribed under this key before is left."""

    @abstractmethod
    def advertise(self, key: str, topic: str, kind: str, latched: bool) -> None:
        """Offer a topic; ImportError if ROS does not know its type."""

    @abstractmethod
    def publish(self, key: str, data: Any) -> None:
        """Publish a serialised message."""

    @abstractmethod
    def wanted(self) -> list[str]:
        """Keys of the topics that somebody listens to."""

    @abstractmethod
    def declare(self, parameters: list[dict[str, Any]]) -> None:
        """Offer parameters: a list of declarations as in :func:`problem_of`."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Values of the parameters by name."""

    @abstractmethod
    def clear(self) -> None:
        """Leave all topics."""

    @abstractmethod
    def stop(self) -> None:
        """Leave ROS."""


def problem_of(declaration: dict[str, Any], value: object) -> str:
    """Say what is wrong with the value of a parameter.

    Parameters
    ----------
    declaration : dict
        ``name``, ``default``, and either ``choices`` or ``low`` and ``high``, or neither for true or false.
    value : object
        A value.

    Returns
    -------
    str
        Empty if nothing is wrong.

    Examples
    --------
    >>> problem_of({"name": "cloud_every", "default": 1, "low": 1, "high": 64}, 0)
    'cloud_every is 0; expected a whole number from 1 to 64'
    >>> problem_of({"name": "publish_cloud", "default": True}, False)
    ''
    """
    default, choices = declaration["default"], declaration.get("choices")
    if isinstance(default, bool):
        is_right, expected = isinstance(value, bool), "true or false"
    elif choices is not None:
        is_right, expected = value in choices, f"one of {', '.join(choices)}"
    else:
        low, high = declaration["low"], declaration["high"]
        is_number = isinstance(value, (int, float) if isinstance(default, float) else int)
        is_right = is_number and not isinstance(value, bool) and low <= value <= high
        expected = f"a {'' if isinstance(default, float) else 'whole '}number from {low:g} to {high:g}"
    return "" if is_right else f"{declaration['name']} is {value!r:.80}; expected {expected}"


class Forwarder:
    """Serves one connection to bdis.

    Parameters
    ----------
    node : RosNode
        The node.
    link : Link
        The connection.
    """

    def __init__(self, node: RosNode, link: Link):
        self._node, self._link = node, link
        self._tasks: queue.Queue[dict[str, Any]] = queue.Queue()
        self._state: dict[str, Any] = {
            "ready": False,
            "problem": "the node is starting",
            "topics": [],
            "wanted": [],
            "parameters": {},
        }
        self._is_ending = threading.Event()

    def run(self) -> str:
        """Forward until the connection or ROS ends.

        Returns
        -------
        str
            Why it ended; empty if ROS ended it.
        """
        self._link.send("hello", ros=self._node.ros, python=platform.python_version())
        try:
            welcome = self._link.receive()
            if welcome.kind != "welcome":
                raise BridgeError(f"bdis said {welcome.kind!r:.40} instead of welcome")
        except (OSError, EOFError, BridgeError) as error:
            return str(error)
        self._node.forward = self._forward
        reasons: list[str] = []
        receiving = threading.Thread(target=self._receive, args=(reasons,), daemon=True)
        threads = [receiving, threading.Thread(target=self._tell_state, daemon=True)]
        for thread in threads:
            thread.start()
        try:
            goes_on = self._work(welcome)
        finally:
            self._is_ending.set()
            self._link.close()
            self._node.clear()
            receiving.join(5)
        return (reasons or ["the connection was lost"])[0] if goes_on else ""

    def _work(self, welcome: Message) -> bool:
        """Everything that talks with ROS, but for publishing; False if ROS has ended the node."""
        node, is_ready = self._node, False
        while not self._is_ending.is_set():
            if not is_ready and node.start(welcome.get("node", str)):
                self._offer(welcome)
                is_ready = True
            while is_ready and not self._tasks.empty():
                self._subscribe(self._tasks.get())
            if is_ready:
                topics = [pair for pair in node.topics() if pair[1].rpartition("/")[2] in LISTED]
                self._state = {
                    "ready": not node.problem, "problem": node.problem, "topics": sorted(topics)[:MAX_TOPICS],
                    "wanted": node.wanted(), "parameters": node.parameters(),
                }  # fmt: skip
            else:
                self._state = dict(self._state, problem=node.problem)
            if not node.work(STATE_S):
                return False
        return True

    def _offer(self, welcome: Message) -> None:
        for offered in welcome.get("publications", list):
            try:
                self._node.advertise(offered["key"], offered["topic"], offered["type"], offered["latched"])
            except (ImportError, AttributeError):
                self._note(f"{offered['topic']} is not published: ROS has no {offered['type']} here")
        self._node.declare(welcome.get("parameters", list))

    def _subscribe(self, topics: dict[str, Any]) -> None:
        for key, (topic, kind) in topics.items():
            try:
                self._node.subscribe(key, topic, kind)
            except Exception as error:  # of ROS, whose exceptions have no common class
                self._note(f"{topic} ({kind}) cannot be subscribed to: {error}")

    def _forward(self, key: str, kind: str, data: Any) -> None:
        try:
            self._link.send("info" if key.endswith("_info") else "image", data, key=key, type=kind)
        except (OSError, BridgeError):
            self._is_ending.set()

    def _note(self, text: str) -> None:
        try:
            self._link.send("note", text=text[:1000])
        except OSError:
            self._is_ending.set()

    def _tell_state(self) -> None:
        """Also a sign of life: it goes on while ROS keeps the other thread waiting."""
        while not self._is_ending.wait(STATE_S):
            try:
                self._link.send("state", **self._state)
            except (OSError, BridgeError):
                self._is_ending.set()

    def _receive(self, reasons: list[str]) -> None:
        try:
            while not self._is_ending.is_set():
                message = self._link.receive()
                if message.kind == "publish":
                    self._publish(message)
                elif message.kind == "subscribe":
                    self._tasks.put(message.get("topics", dict))
        except (OSError, EOFError, BridgeError) as error:
            reasons.append(str(error))
        self._is_ending.set()

    def _publish(self, message: Message) -> None:
        try:
            self._node.publish(message.get("key", str), message.payload)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            self._note(f"a message was not published: {error}")


def run(node: RosNode, arguments: list[str] | None = None) -> int:
    """Run a node until ROS ends it.

    Parameters
    ----------
    node : RosNode
        The node.
    arguments : list of str, optional
        Of the command line; what is not known is left for ROS.

    Returns
    -------
    int
        Exit code.
    """
    parser = argparse.ArgumentParser(description=f"The ROS {node.ros} side of bdis ros{node.ros}.")
    parser.add_argument("--socket", default=os.environ.get("BDIS_SOCKET") or default_socket())
    parser.add_argument("--once", action="store_true", help="end with bdis instead of waiting for the next one")
    options, _ = parser.parse_known_args(arguments)
    if options.once:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches bdis too, which ends the connection
    try:
        _serve(node, options)
    except KeyboardInterrupt:
        pass  # the way to end it
    finally:
        node.stop()
    return 0


def _serve(node: RosNode, options: argparse.Namespace) -> None:
    """Serve bdis, and wait for the next one, until ROS ends the node."""
    said, said_at = "", 0.0
    goes_on = True
    while goes_on:
        try:
            reason = Forwarder(node, connect(options.socket)).run()
            said = ""
        except OSError as error:
            reason = f"{error.strerror or error}: {options.socket}"
        if options.once or not reason:
            return
        if reason != said or time.monotonic() - said_at > REPEAT_S:
            said, said_at = reason, time.monotonic()
            print(f"bdis ros{node.ros} is not there ({reason}); waiting for it", file=sys.stderr, flush=True)
        goes_on = node.work(RETRY_S)
