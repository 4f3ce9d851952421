"""Depth for ROS: every frame as messages, of which only those are made that somebody listens to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...cameras.rig import Rig
from ...connections.ros.image_messages import Fields, depth_fields, image_fields
from ...connections.ros.message_types import build_message
from ...connections.ros.messages import camera_info_fields, disparity_fields, point_cloud_fields
from ..sources.ros_topics import RosSource
from ..stream.depth_stream import DepthFrame
from .live_output import LiveOutput


class RosTopic(NamedTuple):
    """A topic that is published.

    Attributes
    ----------
    topic : str
        Below the name of the node.
    type : str
        Of its messages.
    """

    topic: str
    type: str


TOPICS = {
    "disparity": RosTopic("disparity", "stereo_msgs/msg/DisparityImage"),
    "depth": RosTopic("depth/image", "sensor_msgs/msg/Image"),
    "camera_info": RosTopic("depth/camera_info", "sensor_msgs/msg/CameraInfo"),
    "sigma": RosTopic("sigma/image", "sensor_msgs/msg/Image"),
    "left": RosTopic("left/image_rect", "sensor_msgs/msg/Image"),
    "points": RosTopic("points", "sensor_msgs/msg/PointCloud2"),
    "status": RosTopic("status", "std_msgs/msg/String"),
}


@dataclass
class RosOptions:
    """What may be changed while depth is published.

    Attributes
    ----------
    max_depth_mm : float or None
        What is farther is unknown, and no point of the cloud.
    min_probability : float
        Of the points of the cloud.
    publish_cloud : bool
        Whether there is a cloud at all.
    cloud_every : int
        Of how many rows and columns one is used for it.
    """

    max_depth_mm: float | None = None
    min_probability: float = 0.0
    publish_cloud: bool = True
    cloud_every: int = 1


class RosOutput(LiveOutput):
    """Publishes disparity, depth, its standard deviation and points with the stamp and frame_id of the left image.

    Parameters
    ----------
    source : RosSource
        Knows the headers of the frames.
    rig : Rig
        The rectified cameras, with their size.
    searched : tuple of float
        Smallest and largest disparity that the matcher looks for, px.
    is_ros1 : bool
        Messages are those of ROS 1, else of ROS 2.
    send : callable
        Sends a message to the node.
    wanted : callable
        Returns the keys of the topics that somebody listens to.
    options : RosOptions
        May be changed at any time.
    """

    name = "ROS"

    def __init__(
        self,
        source: RosSource,
        rig: Rig,
        searched: tuple[float, float],
        is_ros1: bool,
        send: Callable[..., None],
        wanted: Callable[[], list[str]],
        options: RosOptions,
    ):
        self._source, self._rig, self._searched, self._is_ros1 = source, rig, searched, is_ros1
        self._publish, self._wanted, self._options = send, wanted, options
        super().__init__()

    def _send(self, frame: DepthFrame) -> None:
        try:
            header = self._source.header_of(frame.index)
        except KeyError:
            raise ValueError(f"the stamp of frame {frame.index} is not known any more") from None
        for key in self._wanted():
            fields = self._fields(key, frame)
            if fields is not None:
                data = build_message(TOPICS[key].type, fields, header.stamp_ns, header.frame_id, is_ros1=self._is_ros1)
                self._publish("publish", data, key=key)

    def _fields(self, key: str, frame: DepthFrame) -> Fields | None:
        """The fields of a message; None if there is none of this frame."""
        rig, result, options = self._rig, frame.result, self._options
        if key == "disparity":
            return disparity_fields(result.disparity, rig, self._searched)
        if key == "depth":
            return depth_fields(rig.depth(result, max_depth_mm=options.max_depth_mm))
        if key == "camera_info":
            return camera_info_fields(rig, "left")
        if key == "left":
            return image_fields(frame.left)
        if key == "sigma" and result.variance is not None:
            return depth_fields(self._sigma_mm(result))
        if key == "points" and options.publish_cloud:
            cloud = rig.cloud(
                result, frame.left, max_depth_mm=options.max_depth_mm, min_probability=options.min_probability,
                every=options.cloud_every,
            )  # fmt: skip
            return point_cloud_fields(cloud)
        return None

    def _sigma_mm(self, result: Any) -> Any:
        """The standard deviation of the depth, unknown where the depth is."""
        sigma = self._rig.depth_sigma(result)
        if self._options.max_depth_mm is not None:
            sigma[~(self._rig.depth(result) <= self._options.max_depth_mm)] = float("nan")
        return sigma
