"""The bridge between bdis and a ROS node: what is said, who may speak, and what becomes of nonsense."""

import ast
import io
import json
import os
import socket
import struct
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rosbags")

from bdis.connections.ros.live_topics import LiveTopics
from bdis.connections.ros.node_link import NodeLink, NodeProcess, find_python
from bdis.connections.ros2.bdis_ros import bridge
from bdis.connections.ros2.bdis_ros.bridge import BridgeError, Link, connect, decode, encode, listen

from .ros_messages import from_the_wire, image_message, mutated, on_the_wire, state

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="live ROS needs Unix sockets")
CONNECTIONS = Path(bridge.__file__).parents[2]


@pytest.fixture
def place(tmp_path):
    """Where a socket may be: short, as systems limit its length."""
    (tmp_path / "s").mkdir(mode=0o700)
    return str(tmp_path / "s" / "ros")


def wait_until(is_true, seconds=10.0):
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_message_comes_as_it_was_sent():
    message = from_the_wire(encode("image", b"abc", key="left") + b"abc")
    assert (message.kind, message.fields["key"], bytes(message.payload)) == ("image", "left", b"abc")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "does not speak"),
        (struct.pack("<4sBxxxII", b"BDIS", 9, 2, 0) + b"{}", "version 9"),
        (struct.pack("<4sBxxxII", b"BDIS", 1, 1 << 17, 0), "too large"),
        (struct.pack("<4sBxxxII", b"BDIS", 1, 2, 1 << 29), "too large"),
        (struct.pack("<4sBxxxII", b"BDIS", 1, 2, 0) + b"[]", "without a kind"),
        (struct.pack("<4sBxxxII", b"BDIS", 1, 3, 0) + b"\xff\xff\xff", "not JSON"),
        (struct.pack("<4sBxxxII", b"BDIS", 1, 15, 0) + b'{"kind": NaN}  ', "not JSON"),
        (struct.pack("<4sBxxxII", b"BDIS", 1, 60000, 0) + b"[" * 60000, "not JSON"),
    ],
)
def test_nonsense_is_refused_before_memory_is_taken(data, words):
    with pytest.raises(BridgeError, match=words):
        decode(io.BytesIO(data).read)


def test_what_is_too_large_is_not_sent():
    with pytest.raises(BridgeError, match="too large"):
        encode("note", text="x" * (1 << 17))


def test_only_the_user_may_enter_the_folder_of_the_socket(tmp_path):
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o755)
    for call in (listen, connect):
        with pytest.raises(PermissionError, match="only you may enter"):
            call(str(open_to_all / "ros"))


def test_a_socket_in_use_is_said_and_an_abandoned_one_is_taken_over(place):
    abandoned = listen(place)
    abandoned.close()
    with listen(place), pytest.raises(OSError, match="another bdis listens"):
        listen(place)
    os.unlink(place)
    Path(place).write_text("something else")
    with pytest.raises(OSError, match="not a socket"):
        listen(place)
    with pytest.raises(OSError, match="too long"):
        listen("/" + "x" * 200)


class Report(list):
    __call__ = list.append


@pytest.fixture
def served(place):
    """A link, what came, and what was reported."""
    came, said = [], Report()
    with NodeLink(place, 2, {"node": "bdis", "publications": [], "parameters": []}, came.append, said) as link:
        yield link, came, said


def test_a_node_that_is_killed_is_noticed_and_the_next_one_is_welcome(served, place):
    link, came, said = served
    for count in (1, 2):
        node = connect(place)
        node.send("hello", ros=2, python="3.8.10")
        assert node.receive().get("node", str) == "bdis"
        wait_until(lambda: link.is_connected)
        link.send("publish", b"depth", key="depth")
        assert node.receive().kind in ("publish", "alive")
        node._connection.close()  # as kill -9 does
        wait_until(lambda: link.lost == count)
        with pytest.raises(OSError, match="no ROS node"):
            link.send("publish", b"depth", key="depth")
    assert [message.kind for message in came] == ["hello", "hello"]
    assert "is gone" in said[-1]


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (encode("hello", ros=1, python="3.8"), "of ROS 1, but this is bdis ros2"),
        (encode("hello", ros="two"), "without a proper 'ros'"),
        (encode("alive"), "instead of hello"),
        (b"nonsense that is long enough", "does not speak"),
    ],
)
def test_who_does_not_say_hello_is_not_served(served, place, first, words):
    link, came, said = served
    stranger = connect(place)
    stranger._connection.sendall(first)
    with pytest.raises((EOFError, OSError)):
        stranger.receive()
    stranger.close()
    wait_until(lambda: said)
    assert words in said[0]
    assert not came
    assert not link.was_connected


def test_a_node_that_hangs_is_given_up(served, place, monkeypatch):
    link, _, said = served
    monkeypatch.setattr(bridge, "SILENCE_S", 0.3)
    node = connect(place)
    node.send("hello", ros=2, python="3.8")
    wait_until(lambda: link.lost == 1)
    assert "silent for 0.3 s" in said[-1]
    node.close()


def test_a_node_that_cannot_start_says_why_and_is_tried_again(monkeypatch):
    monkeypatch.setattr("bdis.connections.ros.node_link.FIRST_RETRY_S", 0.05)
    said = Report()
    with NodeProcess(["python3", "-c", "import sys; sys.exit('no rospy here')"], said) as process:
        wait_until(lambda: process.restarts >= 2)
    assert "exit code 1: no rospy here" in said[0]


def test_a_python_without_ros_is_said(tmp_path):
    with pytest.raises(ImportError, match=r"no rclpy in .*nowhere.*setup.bash.*--ros-python"):
        find_python(2, str(tmp_path / "nowhere"))


def test_both_ends_of_a_connection_send_at_once():
    ours, theirs = (Link(end) for end in socket.socketpair())
    block = bytes(1 << 20)
    threads = [
        threading.Thread(target=lambda: [ours.send("image", block, key=str(number)) for number in range(10)])
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    received = [theirs.receive() for _ in range(20)]
    for thread in threads:
        thread.join()
    assert all(message.payload == block for message in received)
    ours.close()
    with pytest.raises(EOFError):
        theirs.receive()
    theirs.close()


def feed(random, count):
    """Mutated messages to the parser and what is behind it; how many were read, and how many refused."""
    topics = LiveTopics(1, lambda kind, payload=b"", **fields: None, lambda text: None)
    good = [
        on_the_wire(state()), on_the_wire(image_message("left", 5, ros=1)), encode("note", text="hello"),
        on_the_wire(image_message("right", 5, ros=1)), encode("info", key="left_info", type="sensor_msgs/CameraInfo"),
    ]  # fmt: skip
    for data in good[:2]:
        topics.handle(from_the_wire(data))
    read = refused = 0
    for number in range(count):
        data = good[random.integers(0, len(good))]
        try:
            if number % 2:
                message = from_the_wire(mutated(random, data))
            else:  # what is damaged lies behind the parser
                message = from_the_wire(data)
                message.payload = mutated(random, bytes(message.payload))
            topics.handle(message)
            read += 1
        except (BridgeError, EOFError):
            refused += 1
        pair = topics.next_pair(0)
        if pair is not None:
            try:
                pair.images()
            except ValueError:
                refused += 1
    return read, refused


def test_mutated_messages_are_refused_and_nothing_else_happens():
    read, refused = feed(np.random.default_rng(1), 400)
    assert read > 20
    assert refused > 100


def test_the_nodes_need_no_newer_python_than_3_8_and_no_package():
    allowed = {"rospy", "rclpy", "bdis_ros", "launch", "launch_ros", "setuptools", "__future__"}
    for path in [*CONNECTIONS.glob("ros1/*.py"), *CONNECTIONS.glob("ros2/**/*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                package = name.partition(".")[0]
                assert package in sys.stdlib_module_names or package in allowed, (path.name, name)


def test_states_of_the_node_are_checked():
    topics = LiveTopics(2, lambda kind, payload=b"", **fields: None, lambda text: None)
    for changes in ({"topics": [["/a"]]}, {"topics": 5}, {"ready": 1}, {"parameters": []}):
        with pytest.raises(BridgeError):
            topics.handle(state(**changes))
    json.dumps(topics.counts())
