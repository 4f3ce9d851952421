"""The ROS 2 node of bdis: run it where ROS 2 is set up, with ``ros2 run``, a launch file or ``python3 -m``."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any

from .forwarder import RosNode, problem_of, run


class Ros2Node(RosNode):
    """Joins ROS 2."""

    ros = 2

    def __init__(self, arguments: list[str] | None = None):
        super().__init__()
        self._rclpy: Any = import_module("rclpy")
        self._qos: Any = import_module("rclpy.qos")
        self._arguments = arguments
        self._node: Any = None
        self._executor: Any = None
        self._publishers: dict[str, Any] = {}
        self._subscribers: dict[str, Any] = {}
        self._declared: dict[str, dict[str, Any]] = {}

    def start(self, name: str) -> bool:
        if self._node is None:
            self._rclpy.init(args=self._arguments)
            self._node = self._rclpy.create_node(name)
            self._executor = import_module("rclpy.executors").SingleThreadedExecutor()
            self._executor.add_node(self._node)
            self._node.add_on_set_parameters_callback(self._check)
        return True

    def work(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self._node is None or self._rclpy.ok():
            remaining = end - time.monotonic()
            if remaining <= 0:
                return True
            if self._node is None:
                time.sleep(remaining)
            else:
                self._executor.spin_once(timeout_sec=remaining)
        return False

    def topics(self) -> list[list[str]]:
        return [[name, kind] for name, kinds in self._node.get_topic_names_and_types() for kind in kinds]

    def subscribe(self, key: str, topic: str, kind: str) -> None:
        earlier = self._subscribers.pop(key, None)
        if earlier is not None:
            self._node.destroy_subscription(earlier)
        self._subscribers[key] = self._node.create_subscription(
            _class_of(kind), topic, lambda data: self.forward(key, kind, bytes(data)), self._quality(False, False),
            raw=True,
        )  # fmt: skip

    def advertise(self, key: str, topic: str, kind: str, latched: bool) -> None:
        if key not in self._publishers:
            self._publishers[key] = self._node.create_publisher(_class_of(kind), topic, self._quality(True, latched))

    def publish(self, key: str, data: Any) -> None:
        publisher = self._publishers.get(key)
        if publisher is not None:
            publisher.publish(bytes(data))

    def wanted(self) -> list[str]:
        return [key for key, publisher in self._publishers.items() if publisher.get_subscription_count()]

    def declare(self, parameters: list[dict[str, Any]]) -> None:
        for each in parameters:
            if each["name"] not in self._declared:
                self._declared[each["name"]] = each
                self._node.declare_parameter(each["name"], each["default"])

    def parameters(self) -> dict[str, Any]:
        return {name: self._node.get_parameter(name).value for name in self._declared}

    def clear(self) -> None:
        for subscription in self._subscribers.values():
            self._node.destroy_subscription(subscription)
        self._subscribers = {}

    def stop(self) -> None:
        if self._node is not None:
            self._node.destroy_node()
            if self._rclpy.ok():
                self._rclpy.shutdown()

    def _check(self, changes: list[Any]) -> Any:
        """Refuse values that bdis would refuse."""
        problems = [
            problem_of(self._declared[change.name], change.value) for change in changes if change.name in self._declared
        ]
        reason = "; ".join(problem for problem in problems if problem)
        return import_module("rcl_interfaces.msg").SetParametersResult(successful=not reason, reason=reason)

    def _quality(self, reliable: bool, latched: bool) -> Any:
        """Publishers are reliable, which all subscribers accept; subscriptions are not, which accept all publishers."""
        reliability, durability = self._qos.ReliabilityPolicy, self._qos.DurabilityPolicy
        return self._qos.QoSProfile(
            depth=1,
            reliability=reliability.RELIABLE if reliable else reliability.BEST_EFFORT,
            durability=durability.TRANSIENT_LOCAL if latched else durability.VOLATILE,
        )


def _class_of(kind: str) -> Any:
    """The class of a type such as ``sensor_msgs/msg/Image``."""
    package, _, name = kind.split("/")
    return getattr(import_module(f"{package}.msg"), name)


def main() -> int:
    """Run the node; the entry point of the package."""
    return run(Ros2Node(sys.argv))


if __name__ == "__main__":
    sys.exit(main())
