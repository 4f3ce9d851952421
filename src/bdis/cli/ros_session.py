"""What ``bdis ros1`` and ``bdis ros2`` do from start to end: wait for images, match them, and say how it goes."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..cameras.rectifier import Rectifier
from ..cameras.rig_settings import with_rig, with_uncertainty
from ..connections.ros.live_topics import QUIET_S, REPEAT_S, LiveTopics
from ..connections.ros.message_types import build_message
from ..connections.ros.messages import cameras_of
from ..connections.ros.node_link import NodeLink, NodeProcess
from ..connections.ros.stereo_topics import StereoTopics
from ..connections.ros.topic_cameras import decide_camera
from ..connections.ros2.bdis_ros.forwarder import problem_of
from ..video.live.ros import TOPICS, RosOptions, RosOutput
from ..video.recording.picture_warnings import PictureWarnings
from ..video.sources.ros_topics import RosSource
from . import terminal
from .presets import parse_settings
from .run_summary import picture_rows
from .signals import StopOnSignal
from .video_source import FrameWarnings

if TYPE_CHECKING:
    from ..cameras.rig import Rig
    from ..common.arrays import Array
    from ..matching.matcher import StereoMatcher
    from ..video.stream.depth_stream import DepthStream
    from .camera_options import CameraOptions

POLL_S = 0.2
STATUS_S = 1.0
SETTLE_S = 0.3  # after a change of camera_info, in which that of the other camera comes
RETRY_S = 2.0  # until images or cameras that could not be used are tried again
MOST_DEPTH_M = 1000.0


class Cameras(NamedTuple):
    """What images are matched with.

    Attributes
    ----------
    camera : Rectifier or Rig
        What rectifies them, or the cameras of rectified images.
    remarks : list of str
        What the user should know.
    """

    camera: Rectifier | Rig
    remarks: list[str]

    @property
    def rig(self) -> Rig:
        """The rectified cameras, with their size."""
        return self.camera.rig if isinstance(self.camera, Rectifier) else self.camera

    def rectified(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Images as they are matched."""
        return self.camera(left, right) if isinstance(self.camera, Rectifier) else (left, right)


class _Seen(NamedTuple):
    """What became of a frame, for :class:`PictureWarnings`; messages store any depth."""

    coverage: float
    too_far: int = 0
    most_depth_mm: float = math.inf


class RosSession:
    """Depth of live topics until the user or ROS ends it.

    Parameters
    ----------
    ros : {1, 2}
        Version of ROS.
    camera : CameraOptions
        The cameras, if they do not come from ``camera_info``.
    preset : str
        Preset of the matcher.
    assignments : list of str
        Settings that differ from it.
    average_frames : bool
        Average what stands still over time.
    max_depth_mm : float or None
        What is farther is unknown.
    wanted : StereoTopics or None
        The topics; None to find them.
    tolerance_s : float
        By how much the stamps of left and right may differ.
    node_name : str
        Name of the node.
    """

    def __init__(
        self,
        ros: int,
        camera: CameraOptions,
        preset: str,
        assignments: list[str],
        *,
        average_frames: bool,
        max_depth_mm: float | None,
        wanted: StereoTopics | None,
        tolerance_s: float,
        node_name: str,
    ):
        self._ros, self._node_name, self._camera = ros, node_name, camera
        self._preset, self._assignments = preset, assignments
        parse_settings(preset, assignments)  # refuses wrong ones before anything is started
        self._average_frames = average_frames
        self._has_own_cameras = bool(camera.calib) or camera.focal is not None
        self._options = RosOptions(max_depth_mm=max_depth_mm)
        self._warnings = FrameWarnings()
        self._pictures = PictureWarnings(self._warnings.warn, {})
        self._topics = LiveTopics(
            ros, self._send, self.report, wanted=wanted, needs_info=not self._has_own_cameras, tolerance_s=tolerance_s,
            node_name=node_name,
        )  # fmt: skip
        self._link: NodeLink | None = None
        self._stream: DepthStream | None = None
        self._source: RosSource | None = None
        self._output: RosOutput | None = None
        self._cameras: Cameras | None = None
        self._problem = self._said = ""
        self._said_s = 0.0
        self._last_frame_s = time.monotonic()
        self._refused: dict[str, Any] = {}
        self._values = self._parameter_values()
        self._totals = {"frames": 0, "dropped": 0, "not_published": 0, "damaged": 0, "before_start": 0}
        self._is_stopping = threading.Event()
        self._is_warm = False
        self._failure: BaseException | None = None

    # ------------------------------------------------------------ from start to end

    @contextlib.contextmanager
    def listening(self, path: str) -> Iterator[None]:
        """Listen for the node at a socket."""
        welcome = {
            "node": self._node_name,
            "publications": [
                {"key": key, "topic": f"~{'' if self._ros == 1 else '/'}{topic.topic}", "type": topic.type,
                 "latched": key == "status"}
                for key, topic in TOPICS.items()
            ],
            "parameters": self._declarations(),
        }  # fmt: skip
        with NodeLink(path, self._ros, welcome, self._topics.handle, self.report) as self._link:
            yield

    def run(self, process: NodeProcess | None) -> None:
        """Publish depth until a signal comes, or ROS ends the node."""
        minder = threading.Thread(target=self._mind, args=(process,), name="bdis_ros_status", daemon=True)
        with StopOnSignal(self._stop):
            minder.start()
            while not self._is_stopping.is_set():
                self._match_until_change()
        minder.join(2 * STATUS_S)
        if self._failure is not None:
            raise self._failure
        if process is not None and process.is_over.is_set():
            terminal.note("ROS has shut the node down")
        self._say_summary(process)

    def close(self) -> None:
        """End the connection, and with it the node."""
        if self._link is not None:
            self._link.close()

    def report(self, text: str) -> None:
        """Tell the user something about ROS."""
        terminal.note(f"ROS {self._ros}: {text}")

    def _stop(self) -> None:
        self._is_stopping.set()
        if self._source is not None:
            self._source.end()

    def _match_until_change(self) -> None:
        """One stream: it ends when the cameras change, as then everything begins anew."""
        from ..video.stream.depth_stream import DepthStream

        try:
            source, cameras, first = self._open()
            if cameras is None or first is None:
                return
            matcher = self._matcher(cameras.rig)
            self._warm_up(matcher, cameras, first)
        except ValueError as error:
            if self._has_own_cameras:
                raise
            self._totals["before_start"] -= 1
            self._totals["damaged"] += 1
            self._say_problem(str(error))
            self._is_stopping.wait(RETRY_S)
            return
        self._source, self._cameras, self._problem = source, cameras, ""
        self.report("; ".join(cameras.remarks))
        stream = self._stream = DepthStream(
            source, matcher, cameras.camera, video=self._average_frames, report=self._warnings
        )
        output = self._output = RosOutput(
            source, cameras.rig, cameras.rig.disparity_range(), self._topics.is_ros1, self._send, self._wanted,
            self._options,
        )  # fmt: skip
        try:
            with output:
                for frame in stream:
                    output.offer(frame)
                    self._last_frame_s = time.monotonic()
                    self._pictures.look_at(frame, _Seen(frame.result.coverage))
        except (ValueError, TypeError) as error:  # of the first frame
            self._say_problem(str(error))
            self._is_stopping.wait(RETRY_S)
        finally:
            statistics = stream.statistics()
            self._stream = self._output = None
            for name, count in (
                ("frames", statistics.frames), ("dropped", statistics.dropped), ("damaged", statistics.damaged),
                ("not_published", output.dropped),
            ):  # fmt: skip
                self._totals[name] += count
        if source.change and not self._is_stopping.is_set():
            self.report(f"{source.change}: starting again with it")

    # ------------------------------------------------------------ cameras

    def _open(self) -> tuple[RosSource, Cameras | None, tuple[Array, Array] | None]:
        """Wait for images and their cameras, which come with the first pair; None if the user ends it before."""
        topics, changes, changed_s = self._topics, -1, 0.0
        while not self._is_stopping.is_set():
            if topics.changes != changes:
                changes, changed_s = topics.changes, time.monotonic()
            pair = topics.next_pair(POLL_S)
            infos = topics.infos()
            if pair is None or topics.topics is None:
                continue
            self._totals["before_start"] += 1  # this pair shows what the images are, and is not matched
            if time.monotonic() - changed_s < SETTLE_S:
                continue
            source = RosSource(topics)
            if self._has_own_cameras:
                images = pair.images()
                return source, self._own_cameras(images), images
            if infos is not None:
                images = pair.images()
                names = topics.topics.left, topics.topics.right
                found, pairs = cameras_of(*infos), self._pairs(images)
                camera, remarks = decide_camera(found, names, self._camera.rectify, pairs, self._warn_once)
                return source, Cameras(camera, [f"camera_info of {names[0]}", *remarks]), images
        return RosSource(topics), None, None

    def _warn_once(self, text: str) -> None:
        """Warn of cameras, which are found anew after every problem."""
        if text not in self._warnings.warnings:
            self._warnings.warn(text)

    def _own_cameras(self, first: tuple[Array, Array]) -> Cameras:
        """The cameras that the options describe: they win over ``camera_info``."""
        loaded = self._camera.load(self._pairs(first))
        remarks = [f"cameras of {self._camera.calib_name or '--focal and --baseline'}", *loaded.remarks]
        if loaded.raw is not None:
            rectifier = loaded.raw.rectify()
            return Cameras(rectifier, remarks)
        assert loaded.rig is not None
        height, width = first[0].shape[:2]
        rig = replace(loaded.rig, size=(width, height))
        return Cameras(rig, remarks)

    def _pairs(self, first: tuple[Array, Array]) -> Iterator[tuple[Array, Array]]:
        """The first pair, and some that follow."""
        yield first
        while not self._is_stopping.is_set():
            pair = self._topics.next_pair(QUIET_S)
            if pair is None:
                return
            self._totals["before_start"] += 1
            yield pair.images()

    def _matcher(self, rig: Rig) -> StereoMatcher:
        from ..matching.matcher import StereoMatcher

        settings = with_uncertainty(parse_settings(self._preset, self._assignments), self._assignments)
        settings, _ = with_rig(settings, self._assignments, rig, "camera_info")
        return StereoMatcher(settings)

    def _warm_up(self, matcher: StereoMatcher, cameras: Cameras, first: tuple[Array, Array]) -> None:
        """Load or compile the kernels, once."""
        if not self._is_warm:
            with terminal.working("loading the kernels"):
                matcher.match(*cameras.rectified(*first))
            self._is_warm = True
        self._last_frame_s = time.monotonic()

    # ------------------------------------------------------------ beside it, once a second

    def _mind(self, process: NodeProcess | None) -> None:
        """Look after everything but the frames; a failure ends the session, which raises it."""
        try:
            self._mind_until_end(process)
        except BaseException as error:
            self._failure = error
            self._stop()

    def _mind_until_end(self, process: NodeProcess | None) -> None:
        """Take over parameters, publish the status, and say what is missing."""
        while not self._is_stopping.wait(STATUS_S):
            self._take_parameters()
            if time.monotonic() - self._last_frame_s > QUIET_S:
                waiting = self._topics.waiting_for()
                if waiting:
                    self._say_problem(waiting)
            elif self._stream is not None:
                self._problem = ""
            with contextlib.suppress(OSError):
                data = build_message(
                    "std_msgs/msg/String", {"data": json.dumps(self.status())}, is_ros1=self._topics.is_ros1
                )
                self._send("publish", data, key="status")
            if process is not None and process.is_over.is_set():
                self._stop()

    def status(self) -> dict[str, Any]:
        """What the status topic says."""
        stream, cameras, topics = self._stream, self._cameras, self._topics.topics
        now = None if stream is None else stream.statistics()
        is_running = now is not None and not self._problem
        counts, output = self._topics.counts(), self._output
        return {
            "state": "running" if is_running else "waiting",
            "problem": self._problem,
            "left": None if topics is None else topics.left,
            "right": None if topics is None else topics.right,
            "cameras": [] if cameras is None else cameras.remarks,
            "preset": self._preset,
            "parameters": self._values,
            "refused": self._refused,
            "frames": self._totals["frames"] + (0 if now is None else now.frames),
            "frames_per_second": None if now is None or math.isnan(now.recent_fps) else round(now.recent_fps, 2),
            "latency_ms": None if now is None or math.isnan(now.latency_ms.p50) else round(now.latency_ms.p50, 2),
            "dropped": self._totals["dropped"] + (0 if now is None else now.dropped),
            **counts._asdict(),
            "damaged": counts.damaged + self._totals["damaged"] + (0 if now is None else now.damaged),
            "not_published": self._totals["not_published"] + (0 if output is None else output.dropped),
            "nodes_lost": 0 if self._link is None else self._link.lost,
            "warnings": [entry["text"] for entry in self._pictures.entries()["warnings"]],
        }

    def _declarations(self) -> list[dict[str, Any]]:
        """The parameters that ROS may change while this runs."""
        from ..matching.settings import PRESETS

        values = self._values
        return [
            {"name": "preset", "default": values["preset"], "choices": list(PRESETS)},
            {"name": "average_frames", "default": values["average_frames"]},
            {"name": "max_depth_m", "default": values["max_depth_m"], "low": 0.0, "high": MOST_DEPTH_M},
            {"name": "min_probability", "default": values["min_probability"], "low": 0.0, "high": 1.0},
            {"name": "publish_cloud", "default": values["publish_cloud"]},
            {"name": "cloud_every", "default": values["cloud_every"], "low": 1, "high": 64},
        ]

    def _parameter_values(self) -> dict[str, Any]:
        return {
            "preset": self._preset, "average_frames": self._average_frames,
            "max_depth_m": (self._options.max_depth_mm or 0.0) / 1e3, "min_probability": self._options.min_probability,
            "publish_cloud": self._options.publish_cloud, "cloud_every": self._options.cloud_every,
        }  # fmt: skip

    def _take_parameters(self) -> None:
        """Take over what has changed in ROS; what cannot be used is refused, and said."""
        given = self._topics.state.get("parameters", {})
        for declared in self._declarations():
            name = declared["name"]
            value = given.get(name, self._values[name])
            if value == self._values[name]:
                self._refused.pop(name, None)
                continue
            problem = problem_of(declared, value)
            if problem:
                if self._refused.get(name) != problem:
                    self._refused[name] = problem
                    terminal.warn(f"ROS parameter {problem}; {self._values[name]} stays")
                continue
            self._refused.pop(name, None)
            self._values[name] = value
            self._apply(name, value)
            self.report(f"{name} is {value} now")

    def _apply(self, name: str, value: Any) -> None:
        stream, cameras = self._stream, self._cameras
        if name == "preset":
            self._preset = value
            if stream is not None and cameras is not None:
                stream.use(self._matcher(cameras.rig))
        elif name == "average_frames":
            self._average_frames = value
            if stream is not None:
                stream.video = value
        elif name == "max_depth_m":
            self._options.max_depth_mm = 1e3 * value or None
        else:
            setattr(self._options, name, value)

    def _wanted(self) -> list[str]:
        if self._link is None or not self._link.is_connected:
            return []
        wanted = self._topics.state.get("wanted", [])
        return [key for key in TOPICS if key != "status" and key in wanted]

    def _send(self, kind: str, payload: Any = b"", **fields: Any) -> None:
        if self._link is None:
            raise OSError("no ROS node is connected")
        self._link.send(kind, payload, **fields)

    def _say_problem(self, text: str) -> None:
        """Say why there is no depth; the same reason again only after a while."""
        self._problem = text
        now = time.monotonic()
        if text != self._said or now - self._said_s > REPEAT_S:
            self._said, self._said_s = text, now
            self.report(text)

    def _say_summary(self, process: NodeProcess | None) -> None:
        counts = self._topics.counts()
        totals = {**self._totals, **counts._asdict(), "node_restarts": 0 if process is None else process.restarts}
        terminal.table(
            [
                ("frames", f"{totals['frames']} matched of {counts.pairs} pairs"),
                ("left out", f"{totals['dropped'] + counts.replaced} because newer ones had come, "
                             f"{totals['before_start']} before the cameras were known, "
                             f"{totals['not_published']} not published, {totals['damaged'] + counts.damaged} damaged"),
                ("images", f"{counts.images}, {counts.unpaired} without partner, {counts.late} late"),
                *picture_rows(self._pictures),
            ]
        )  # fmt: skip
        terminal.give({**totals, "warnings": self._pictures.entries()["warnings"]})
