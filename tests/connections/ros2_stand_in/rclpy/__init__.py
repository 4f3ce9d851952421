"""A stand-in for ROS 2's rclpy: the few names that the node uses, within one process.  Not ROS.

``GRAPH`` is all that there is of ROS: tests publish into it and listen to it.
"""

import queue
import threading


class Graph:
    """Topics, who listens to them, and what the node has declared."""

    def __init__(self):
        self.types, self.subscriptions, self.heard, self.listeners = {}, {}, {}, set()
        self.latched, self.parameters, self.callbacks = {}, {}, []
        self.is_ok, self.work = False, queue.Queue()
        self.changed = threading.Condition()

    def publish(self, topic, data):
        """A message of another node."""
        for callback in self.subscriptions.get(topic, {}).values():
            self.work.put((callback, data))

    def set_parameter(self, name, value):
        """Another node sets a parameter; the node's answer is returned."""

        class Parameter:
            pass

        changed = Parameter()
        changed.name, changed.value = name, value
        answers = [callback([changed]) for callback in self.callbacks]
        if all(answer.successful for answer in answers):
            self.parameters[name] = value
        return answers[0]


GRAPH = Graph()


def init(args=None):
    GRAPH.is_ok = True


def ok():
    return GRAPH.is_ok


def shutdown():
    GRAPH.is_ok = False


def create_node(name):
    return Node(name)


def spin(node):
    while GRAPH.is_ok:
        try:
            callback, data = GRAPH.work.get(timeout=0.1)
        except queue.Empty:
            continue
        callback(data)


def _with_objects(callback, message_class):
    """A callback for messages that are not serialised."""
    from bdis.connections.ros.message_types import parse_message

    package = message_class.__module__.partition(".")[0]
    return lambda data: callback(parse_message(data, f"{package}/msg/{message_class.__name__}", is_ros1=False))


class Publisher:
    def __init__(self, message_class, topic, quality):
        self._class, self.topic, self._quality = message_class, topic, quality

    def publish(self, data):
        if not isinstance(data, (self._class, bytes)):  # as rclpy does
            raise TypeError(f"expected {self._class}, got {type(data)}")
        with GRAPH.changed:
            GRAPH.heard.setdefault(self.topic, []).append(data)
            GRAPH.changed.notify_all()

    def get_subscription_count(self):
        return int(self.topic in GRAPH.listeners)


class Node:
    def __init__(self, name):
        self._name = name

    def _resolved(self, topic):
        return f"/{self._name}/{topic[2:]}" if topic.startswith("~/") else topic

    def get_topic_names_and_types(self):
        return [(topic, [kind]) for topic, kind in GRAPH.types.items()]

    def create_publisher(self, message_class, topic, quality):
        GRAPH.latched[self._resolved(topic)] = quality.durability == "transient local"
        return Publisher(message_class, self._resolved(topic), quality)

    def create_subscription(self, message_class, topic, callback, quality, *, raw=False):
        assert quality.reliability == "best effort"
        if not raw:
            callback = _with_objects(callback, message_class)
        key = object()
        GRAPH.subscriptions.setdefault(topic, {})[key] = callback
        return topic, key

    def destroy_subscription(self, subscription):
        topic, key = subscription
        del GRAPH.subscriptions[topic][key]

    def declare_parameter(self, name, value):
        GRAPH.parameters.setdefault(name, value)

    def get_parameter(self, name):
        class Parameter:
            value = GRAPH.parameters[name]

        return Parameter

    def add_on_set_parameters_callback(self, callback):
        GRAPH.callbacks.append(callback)

    def destroy_node(self):
        pass
