"""The ROS 1 node of ``bdis ros1``, which starts it in the Python that has rospy."""

from __future__ import annotations

import os
import sys
import time
import xmlrpc.client
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ros2"))  # what both nodes share

from bdis_ros.forwarder import RosNode, run

MASTER_S = 3.0  # a master that takes longer is not there
BUFFER_BYTES = 1 << 26  # rospy takes only what fits at once; a smaller one lets old images queue up


class Ros1Node(RosNode):  # type: ignore[misc]  # bdis_ros is not known to mypy by this name
    """Joins ROS 1 once its master is there, and registers again when the master was restarted."""

    ros = 1

    def __init__(self) -> None:
        super().__init__()
        self._rospy: Any = import_module("rospy")
        self._uri = os.environ.get("ROS_MASTER_URI", "http://localhost:11311")
        try:
            self._master: Any = xmlrpc.client.ServerProxy(self._uri, transport=_ImpatientTransport())
        except OSError:
            sys.exit(f"ROS_MASTER_URI is {self._uri!r}; expected an address such as http://localhost:11311")
        self._name = ""
        self._publishers: dict[str, Any] = {}
        self._subscribers: dict[str, Any] = {}
        self._declared: list[dict[str, Any]] = []
        self._values: dict[str, Any] = {}

    def start(self, name: str) -> bool:
        if self._ask("getPid") is None:
            return False
        if not self._name:
            self._rospy.init_node(name, disable_signals=True)
            self._name = self._rospy.get_name()
        return True

    def work(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._name and self._rospy.is_shutdown():
                return False
            time.sleep(0.05)
        if self._name and self._ask("getPid") is not None and self._ask("lookupNode", self._name) is None:
            self._register_again()
        return True

    def topics(self) -> list[list[str]]:
        return self._ask("getPublishedTopics", "") or []

    def subscribe(self, key: str, topic: str, kind: str) -> None:
        self._leave(self._subscribers, key)
        self._subscribers[key] = self._rospy.Subscriber(
            topic, self._rospy.AnyMsg, self._received, callback_args=key, queue_size=1, buff_size=BUFFER_BYTES
        )

    def advertise(self, key: str, topic: str, kind: str, latched: bool) -> None:
        self._leave(self._publishers, key)
        package, _, name = kind.split("/")
        message_class = getattr(import_module(f"{package}.msg"), name)
        self._publishers[key] = self._rospy.Publisher(topic, message_class, latch=latched, queue_size=1)

    def publish(self, key: str, data: Any) -> None:
        if key in self._publishers:
            message = self._rospy.AnyMsg()
            message.deserialize(data)
            try:
                self._publishers[key].publish(message)
            except self._rospy.ROSException as error:
                raise RuntimeError(str(error)) from error

    def wanted(self) -> list[str]:
        return [key for key, publisher in list(self._publishers.items()) if publisher.get_num_connections()]

    def declare(self, parameters: list[dict[str, Any]]) -> None:
        self._declared = parameters
        given = self._ask("getParam", self._name) or {}
        for each in parameters:
            value = self._values.get(each["name"], each["default"])
            if each["name"] not in given:
                self._ask("setParam", f"{self._name}/{each['name']}", value)

    def parameters(self) -> dict[str, Any]:
        given = self._ask("getParam", self._name)
        if isinstance(given, dict):
            self._values = {each["name"]: given.get(each["name"], each["default"]) for each in self._declared}
        return self._values

    def clear(self) -> None:
        for registered in (self._publishers, self._subscribers):
            for key in list(registered):
                self._leave(registered, key)

    def stop(self) -> None:
        self._rospy.signal_shutdown("bdis has ended")

    def _received(self, message: Any, key: str) -> None:
        self.forward(key, message._connection_header["type"], message._buff)

    @staticmethod
    def _leave(registered: dict[str, Any], key: str) -> None:
        earlier = registered.pop(key, None)
        if earlier is not None:
            earlier.unregister()

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Call the master; None if it refuses, or is not there, which becomes the ``problem``."""
        try:
            code, _, value = getattr(self._master, method)(self._name or "/bdis", *arguments)
        except (OSError, xmlrpc.client.Error, ValueError) as error:
            self.problem = f"there is no ROS master at {self._uri} ({error}); waiting for it"
            return None
        self.problem = ""
        return value if code == 1 else None

    def _register_again(self) -> None:
        """Tell a master that was restarted what the one before it knew; connections that live are kept."""
        uri = self._rospy.get_node_uri()
        own: Any = xmlrpc.client.ServerProxy(uri, transport=_ImpatientTransport())
        for topic, kind in own.getPublications(self._name)[2]:
            self._ask("registerPublisher", topic, kind, uri)
        for topic, kind in own.getSubscriptions(self._name)[2]:
            publishers = self._ask("registerSubscriber", topic, kind, uri)
            own.publisherUpdate("/master", topic, publishers or [])
        self.declare(self._declared)


class _ImpatientTransport(xmlrpc.client.Transport):
    """Does not wait for ever for a machine that does not answer."""

    def make_connection(self, host: Any) -> Any:
        connection: Any = super().make_connection(host)
        connection.timeout = MASTER_S
        return connection


if __name__ == "__main__":
    sys.exit(run(Ros1Node()))
