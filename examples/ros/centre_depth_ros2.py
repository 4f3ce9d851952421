"""The distance in the middle of the picture and its standard deviation, from what ``bdis ros2`` publishes.

Run where ROS 2 is sourced, beside ``bdis ros2``:  python3 examples/ros/centre_depth_ros2.py
"""

import struct

import rclpy
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image


def middle_mm(image):
    """The value in the middle of an image in metres, in mm; NaN if it is unknown."""
    place = image.height // 2 * image.step + image.width // 2 * 4
    return 1e3 * struct.unpack_from("<f", image.data, place)[0]


latest = {}


def heard(name, image):
    latest[name] = image
    depth, sigma = latest.get("depth"), latest.get("sigma")
    if depth is not None and sigma is not None and depth.header.stamp == sigma.header.stamp:
        time_s = depth.header.stamp.sec + 1e-9 * depth.header.stamp.nanosec
        print(f"{time_s:.3f}: {middle_mm(depth):.2f} +- {middle_mm(sigma):.2f} mm", flush=True)


rclpy.init()
node = rclpy.create_node("centre_depth")
for name in ("depth", "sigma"):
    topic = f"/bdis/{name}/image"
    node.create_subscription(Image, topic, lambda image, name=name: heard(name, image), qos_profile_sensor_data)
rclpy.spin(node)
