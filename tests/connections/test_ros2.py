"""``bdis ros2`` and its node, with a stand-in for rclpy: there is no ROS 2 here to test with.

The stand-in has the few names of rclpy that the node uses.  That the real ones behave in the same way is not tested.
"""

import json
import runpy
import signal
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rosbags")

import bdis
from bdis.cli.app import run as run_command
from bdis.connections.ros.image_messages import depth_fields
from bdis.connections.ros.message_types import build_message, parse_message
from bdis.synthetic import render

from .ros1_world import Lines, wait_until
from .ros_messages import TOPICS, image_message, info_message

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="live ROS needs Unix sockets")
HERE = Path(__file__).parent
PACKAGE = Path(bdis.__file__).parent / "connections" / "ros2"
HEIGHT, WIDTH = 96, 128


@pytest.fixture
def graph(monkeypatch):
    """The ROS of the stand-in."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("rclpy", "rcl_interfaces", "bdis_ros")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(HERE / "ros2_stand_in"))
    monkeypatch.syspath_prepend(str(PACKAGE))
    graph = import_module("rclpy").GRAPH
    graph.types.update(dict(TOPICS))
    yield graph
    graph.is_ok = False


@pytest.fixture
def start_bdis():
    """Starts ``bdis ros2 --no-node`` at a socket; ended at the end."""
    processes = []

    def start(path):
        code = "import sys; from bdis.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", code, "ros2", "--no-node", "--socket", path, "--preset", "fast"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        process.lines = Lines(process.stdout)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def test_depth_of_a_rendered_scene_with_a_stand_in_for_ros_2(graph, start_bdis, tmp_path, capfd):
    path = str(tmp_path / "s" / "ros")
    (tmp_path / "s").mkdir(mode=0o700)
    node = import_module("bdis_ros.node").Ros2Node([])
    over = []
    run = import_module("bdis_ros.forwarder").run
    threading.Thread(target=lambda: over.append(run(node, ["--socket", path])), daemon=True).start()
    wait_until(lambda: "bdis ros2 is not there" in capfd.readouterr().err)

    bdis_process = start_bdis(path)
    wait_until(lambda: "/bdis/points" in graph.latched, what="the topics are offered")
    assert [topic for topic, is_latched in graph.latched.items() if is_latched] == ["/bdis/status"]
    graph.listeners |= {"/bdis/depth/image", "/bdis/disparity", "/bdis/status"}
    pair = render("tissue", HEIGHT, WIDTH, seed=3)
    rig = bdis.Rig(pair.focal_px, (WIDTH - 1) / 2, (HEIGHT - 1) / 2, pair.baseline_mm, size=(WIDTH, HEIGHT))
    wait_until(lambda: len([topic for topic in graph.subscriptions if graph.subscriptions[topic]]) == 4)
    stamps = iter(range(10**18, 2 * 10**18, 40_000_000))

    def publish():
        stamp = next(stamps)
        for side, image in (("left", pair.left), ("right", pair.right)):
            graph.publish(f"/endo/{side}/camera_info", info_message(side, rig).payload)
            graph.publish(f"/endo/{side}/image_raw", image_message(side, stamp, image).payload)

    def more(topic, count=2):
        before = len(graph.heard.get(topic, []))
        wait_until(
            lambda: publish() or len(graph.heard.get(topic, [])) >= before + count, what=bdis_process.lines.text()
        )
        return graph.heard[topic][-1]

    def read(kind, data):
        return parse_message(data, kind, is_ros1=False)

    depth = read("sensor_msgs/msg/Image", more("/bdis/depth/image"))
    depth_mm = 1e3 * depth.data.view(np.float32).reshape(HEIGHT, WIDTH)
    assert np.nanmedian(np.abs(depth_mm - pair.depth_mm)) < 1.5
    assert depth.header.frame_id == "endo_left"
    assert (depth.header.stamp.sec * 10**9 + depth.header.stamp.nanosec - 10**18) % 40_000_000 == 0
    disparity = read("stereo_msgs/msg/DisparityImage", more("/bdis/disparity"))
    assert disparity.t == pytest.approx(pair.baseline_mm / 1e3)
    assert "/bdis/points" not in graph.heard  # nobody listens to it

    # Parameters are checked by the node, and taken over by bdis.
    refused = graph.set_parameter("cloud_every", 0)
    assert (refused.successful, refused.reason) == (False, "cloud_every is 0; expected a whole number from 1 to 64")
    assert graph.set_parameter("max_depth_m", 0.055).successful
    wait_until(lambda: "max_depth_m is 0.055 now" in bdis_process.lines.text())
    for _ in range(3):
        depth = read("sensor_msgs/msg/Image", more("/bdis/depth/image"))
    assert np.nanmax(depth.data.view(np.float32)) <= 0.055

    # bdis is killed: the node waits, and serves the next one.
    bdis_process.kill()
    wait_until(lambda: "waiting for it" in capfd.readouterr().err)
    again = start_bdis(path)
    more("/bdis/depth/image")
    status = json.loads(read("std_msgs/msg/String", more("/bdis/status")).data)
    assert status["left"] == "/endo/left/image_raw"
    assert status["parameters"]["max_depth_m"] == 0.055
    again.send_signal(signal.SIGINT)
    assert again.wait(30) == 0
    graph.is_ok = False  # Ctrl-C in the terminal of the node
    wait_until(lambda: over == [0], what="the node has ended")


def test_the_example_prints_the_distance_in_the_middle(graph, capsys):
    example = HERE.parents[1] / "examples" / "ros" / "centre_depth_ros2.py"
    thread = threading.Thread(target=runpy.run_path, args=(str(example),), daemon=True)
    thread.start()
    wait_until(lambda: len(graph.subscriptions) == 2)
    for stamp_ns, depth_mm, sigma_mm in ((10**9, 61.25, 0.5), (2 * 10**9, np.nan, np.nan)):
        for name, value in (("depth", depth_mm), ("sigma", sigma_mm)):
            fields = depth_fields(np.full((4, 6), value, np.float32))
            message = build_message("sensor_msgs/msg/Image", fields, stamp_ns, "endo_left", is_ros1=False)
            graph.publish(f"/bdis/{name}/image", message)
    wait_until(graph.work.empty)
    graph.is_ok = False
    thread.join(10)
    assert capsys.readouterr().out.splitlines() == ["1.000: 61.25 +- 0.50 mm", "2.000: nan +- nan mm"]


def test_the_package_is_what_colcon_builds(tmp_path, capsys):
    assert run_command(["ros2", "--write-package", str(tmp_path / "bdis_ros")]) == 0
    assert "colcon build" in capsys.readouterr().out
    folder = tmp_path / "bdis_ros"
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert written == {
        "package.xml", "setup.py", "setup.cfg", "README.md", "resource/bdis_ros", "launch/depth_launch.py",
        "bdis_ros/__init__.py", "bdis_ros/bridge.py", "bdis_ros/forwarder.py", "bdis_ros/node.py",
    }  # fmt: skip
    built = subprocess.run(
        [sys.executable, "setup.py", "--quiet", "install", "--single-version-externally-managed",
         "--root", str(tmp_path / "root")],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "No module named 'setuptools'" in built.stderr:
        pytest.skip("no setuptools")
    assert built.returncode == 0, built.stderr
    installed = {path.name for path in (tmp_path / "root").rglob("*")}
    assert {"depth_launch.py", "package.xml", "forwarder.py", "node"} <= installed
    assert run_command(["ros2", "--write-package", str(folder)]) == 1  # nothing is overwritten


def test_options_that_contradict_each_other(capsys):
    for arguments, words in (
        (["--socket", "place"], "add --no-node"),
        (["--no-node", "--ros-python", "x"], "--no-node does not start"),
        (["--infos", "/a", "/b"], "--infos needs --topics"),
        (["--preset", "slower"], "slower"),
        (["--node-name", "a b"], "expected letters, digits and _"),
    ):
        assert run_command(["ros2", *arguments]) == 2
        assert words in capsys.readouterr().err
    assert run_command(["ros2", "--ros-python", "/nowhere/python"]) == 1
    assert "no rclpy in /nowhere/python" in capsys.readouterr().err
