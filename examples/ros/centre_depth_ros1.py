"""The distance in the middle of the picture and its standard deviation, from what ``bdis ros1`` publishes.

Run by the Python that has rospy, beside ``bdis ros1``:  /usr/bin/python3 examples/ros/centre_depth_ros1.py
"""

import struct

import message_filters
import rospy
from sensor_msgs.msg import Image


def middle_mm(image):
    """The value in the middle of an image in metres, in mm; NaN if it is unknown."""
    place = image.height // 2 * image.step + image.width // 2 * 4
    return 1e3 * struct.unpack_from("<f", image.data, place)[0]


def heard(depth, sigma):
    print(f"{depth.header.stamp.to_sec():.3f}: {middle_mm(depth):.2f} +- {middle_mm(sigma):.2f} mm", flush=True)


rospy.init_node("centre_depth")
# A large buffer: rospy takes only what fits into it at once, and old images would queue up.
images = [
    message_filters.Subscriber(topic, Image, queue_size=1, buff_size=1 << 26)
    for topic in ("/bdis/depth/image", "/bdis/sigma/image")
]
message_filters.TimeSynchronizer(images, queue_size=5).registerCallback(heard)  # both have the same stamp
rospy.spin()
