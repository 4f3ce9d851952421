"""``bdis ros1`` and ``bdis ros2``: depth of live topics, as a node."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from . import terminal
from .camera_options import CameraOptions
from .options import AverageFrames, Debug, Json, MaxDepth, Preset, Set, must_be
from .terminal import UsageError


def _is_name(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", text) is not None


@dataclass(frozen=True)
class TopicOptions:
    """The options that say what to listen to, and how."""

    topics: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="LEFT RIGHT", help="Topics of the images.  [default: two whose names differ in left and right]"
        ),
    ] = None
    infos: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LEFT RIGHT", help="Topics of the calibration.  [default: camera_info beside the images]"),
    ] = None
    tolerance: Annotated[
        float,
        typer.Option(
            metavar="MS",
            help="By how much the stamps of left and right may differ; below half the time between frames.",
            callback=must_be("0 to 1000 ms", lambda tolerance: 0 <= tolerance <= 1000),
        ),
    ] = 5.0
    node_name: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Name of the node, below which it publishes.",
            callback=must_be("letters, digits and _", _is_name),
        ),
    ] = "bdis"
    ros_python: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The Python that has rospy or rclpy.  [default: found by itself]"),
    ] = None
    no_node: Annotated[
        bool, typer.Option("--no-node", help="Start no node: wait for one that you start, with a launch file or so.")
    ] = False
    socket: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Where bdis and such a node meet, in a folder that only you may enter."),
    ] = None


def ros1(
    *,
    camera: CameraOptions,
    preset: Preset = "balanced",
    set_: Set = None,
    average_frames: AverageFrames = True,
    max_depth: MaxDepth = None,
    listening: TopicOptions,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Publish the depth of live ROS 1 topics.

    \b
    bdis ros1
    bdis ros1 --topics /endo/left/image_raw /endo/right/image_raw --preset fast
    rosparam set /bdis/preset accurate

    Publishes below the name of the node: disparity, depth/image, depth/camera_info, sigma/image, left/image_rect,
    points and status. It may be started before the master. Ctrl-C ends.
    """
    _run(1, camera, preset, set_ or [], average_frames, max_depth, listening)


def ros2(
    *,
    camera: CameraOptions,
    preset: Preset = "balanced",
    set_: Set = None,
    average_frames: AverageFrames = True,
    max_depth: MaxDepth = None,
    listening: TopicOptions,
    write_package: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the node as a ROS 2 package for colcon into this new folder, and end."),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Publish the depth of live ROS 2 topics.

    \b
    source /opt/ros/humble/setup.bash && bdis ros2
    bdis ros2 --write-package ~/ros2_ws/src/bdis_ros
    bdis ros2 --no-node
    ros2 param set /bdis preset accurate

    Publishes below the name of the node: disparity, depth/image, depth/camera_info, sigma/image, left/image_rect,
    points and status. Ctrl-C ends.
    """
    if write_package is not None:
        _write_package(write_package)
        return
    _run(2, camera, preset, set_ or [], average_frames, max_depth, listening)


def _run(
    ros: int,
    camera: CameraOptions,
    preset: str,
    assignments: list[str],
    average_frames: bool,
    max_depth_mm: float | None,
    listening: TopicOptions,
) -> None:
    from ..connections.ros.node_link import NodeProcess, find_python, node_command
    from ..connections.ros.stereo_topics import StereoTopics
    from .ros_session import RosSession

    camera.check(rectifies_without_file=True)
    if listening.no_node and listening.ros_python:
        raise UsageError("--ros-python is of the node that --no-node does not start")
    if listening.socket is not None and not listening.no_node:
        raise UsageError("--socket is for a node that you start yourself: add --no-node")
    if listening.infos is not None and listening.topics is None:
        raise UsageError("--infos needs --topics")
    wanted = None if listening.topics is None else StereoTopics.of_images(*listening.topics, listening.infos)
    session = RosSession(
        ros, camera, preset, assignments, average_frames=average_frames, max_depth_mm=max_depth_mm, wanted=wanted,
        tolerance_s=1e-3 * listening.tolerance, node_name=listening.node_name,
    )  # fmt: skip
    python = None if listening.no_node else find_python(ros, listening.ros_python)
    with _socket(listening) as path, session.listening(path):
        if python is None:
            terminal.say(f"waiting for the ROS {ros} node at {path}  (Ctrl-C ends)")
            session.run(None)
            return
        with NodeProcess(node_command(ros, path, python), session.report) as process:
            terminal.say(f"publishing below /{listening.node_name}  (Ctrl-C ends)")
            session.run(process)
            session.close()  # the node ends with the connection


@contextlib.contextmanager
def _socket(listening: TopicOptions) -> Iterator[str]:
    """The path of the socket: of our own node in a new folder, else the one that is agreed on."""
    from ..connections.ros2.bdis_ros.bridge import default_socket

    if listening.no_node:
        yield listening.socket or os.environ.get("BDIS_SOCKET") or default_socket()
        return
    with tempfile.TemporaryDirectory(prefix="bdis-ros-") as folder:
        yield os.path.join(folder, "ros.socket")


def _write_package(folder: Path) -> None:
    """Copy the ROS 2 package."""
    from ..connections.ros.node_link import CONNECTIONS

    source = CONNECTIONS / "ros2"
    # The __init__.py beside setup.py belongs to bdis; colcon needs none there.
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, folder, ignore=lambda path, names: {
        *unwanted(path, names), *(["__init__.py"] if Path(path) == source else [])
    })  # fmt: skip
    terminal.say(f"{folder} is a ROS 2 package: colcon build, then ros2 launch bdis_ros depth_launch.py")
    terminal.give({"folder": folder})
