"""ROS for longer: mutated messages, a node that is killed again and again, and how long depth takes.

Run with ``pytest -s tests/torture/ros.py``; latency and frames/s mean something on a machine that does nothing else.
"""

import os
import time

import numpy as np
import pytest

from bdis.synthetic import render

from ..connections.ros1_world import TYPES, World, camera_config, missing, wait_until
from ..connections.test_ros1 import more, node_of
from ..connections.test_ros_bridge import feed
from .figures import figure

MESSAGES = 10_000
KILLS = 10
HEIGHT, WIDTH = 480, 640
RATE = 25.0  # frames/s of the camera
SECONDS = 20.0  # of each measurement, after the first frames

needs_ros = pytest.mark.skipif(bool(missing()), reason=missing() or "-")


def test_mutated_messages(capfd):
    begin = time.monotonic()
    read, refused = feed(np.random.default_rng(2), MESSAGES)
    with capfd.disabled():
        figure(
            "ROS bridge, mutated messages",
            f"{MESSAGES} in {time.monotonic() - begin:.1f} s: {read} read, {refused} refused, no other error",
        )


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.close()


@needs_ros
def test_a_node_that_is_killed_again_and_again(world, capfd):
    world.master()
    world.camera(camera_config(world.folder, render("tissue", 96, 128, seed=3)))
    bdis = world.bdis("--preset", "fast")
    listener = world.listener("depth/image", "status")
    more(listener, "depth/image")
    gaps = []
    for _ in range(KILLS):
        node = wait_until(lambda: node_of(bdis))
        begin = time.monotonic()
        os.kill(node, 9)
        more(listener, "depth/image", 1)
        more(listener, "depth/image", 2)
        gaps.append(time.monotonic() - begin)
        time.sleep(1)
    wait_until(lambda: listener.status().get("nodes_lost") == KILLS)
    assert "Traceback" not in bdis.lines.text()
    with capfd.disabled():
        figure("ROS node, kill -9", f"{KILLS} kills: depth is back after {max(gaps):.1f} s at most")


@needs_ros
@pytest.mark.parametrize("preset", ["fast", "balanced"])
@pytest.mark.parametrize("topics", [("depth/image",), tuple(TYPES)], ids=["depth", "all topics"])
def test_latency(world, preset, topics, capfd):
    """From the stamp, which the camera sets before it publishes, to a listener that has the depth."""
    world.master()
    world.camera(camera_config(world.folder, render("tissue", HEIGHT, WIDTH, seed=3), rate=RATE))
    bdis = world.bdis("--preset", preset)
    listener = world.listener(*{*topics, "status"})
    without = world.listener("/endo/right/image_raw")  # what rospy itself takes
    more(listener, "depth/image", 30)
    before = listener.status()
    seconds = time.monotonic()
    begin = len(listener.heard("depth/image"))
    time.sleep(SECONDS)
    seconds = time.monotonic() - seconds
    heard = listener.heard("depth/image")[begin:]
    after = listener.status()

    def milliseconds(lines):
        times = np.array([1e3 * line["now"] - line["stamp"] / 1e6 for line in lines])
        return f"{np.median(times):.1f} ms ({np.percentile(times, 95):.1f})"

    with capfd.disabled():
        left_out = sum(after[name] - before[name] for name in ("dropped", "replaced", "unpaired", "not_published"))
        figure(
            f"ROS 1, {preset}, {'depth' if len(topics) == 1 else 'all topics'}",
            f"{WIDTH}x{HEIGHT} at {RATE:g}/s: stamp to depth received {milliseconds(heard)}, median (95 %); an image "
            f"alone {milliseconds(without.heard('/endo/right/image_raw')[-300:])}; "
            f"in bdis {after['latency_ms']:.1f} ms; "
            f"{len(heard) / seconds:.1f} frames/s, {left_out} left out",
        )
    assert len(heard) > RATE / 2 * SECONDS
    assert "Traceback" not in bdis.lines.text()
