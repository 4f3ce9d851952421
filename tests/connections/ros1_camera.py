"""A stereo camera in ROS 1, run by the Python that has rospy: publishes two pictures again and again.

The only argument is a JSON file: topics, rate, size, encoding, camera_info and the files with the pictures.  Every
line on stdin is JSON that replaces some of it while it runs.
"""

import json
import sys
import threading

import rospy
from sensor_msgs.msg import CameraInfo, Image


def camera_info(header, values):
    info = CameraInfo(header=header, width=values["width"], height=values["height"])
    info.distortion_model = values.get("distortion_model", "plumb_bob")
    info.D, info.K, info.R, info.P = values["D"], values["K"], values["R"], values["P"]
    return info


def main():
    with open(sys.argv[1]) as file:
        config = json.load(file)
    rospy.init_node("camera", disable_signals=True)
    publishers = {
        side: (
            rospy.Publisher(config[side]["topic"], Image, queue_size=2),
            rospy.Publisher(config[side]["info_topic"], CameraInfo, queue_size=2),
        )
        for side in ("left", "right")
    }

    def listen():
        for line in sys.stdin:
            for name, value in json.loads(line).items():
                if isinstance(value, dict):
                    config[name].update(value)
                else:
                    config[name] = value

    threading.Thread(target=listen, daemon=True).start()
    pictures = {}
    while not rospy.is_shutdown():
        stamp = rospy.Time.now()
        for side, (images, infos) in publishers.items():
            values = config[side]
            shift = rospy.Duration.from_sec(values.get("late_s", 0.0))
            key = values["file"]
            if key not in pictures:
                with open(key, "rb") as file:
                    pictures[key] = file.read()
            image = Image(height=values["height"], width=values["width"], encoding=values["encoding"])
            image.header.stamp, image.header.frame_id = stamp + shift, values["frame_id"]
            image.step, image.data = len(pictures[key]) // values["height"], pictures[key]
            if values.get("publishes", True):
                images.publish(image)
            if values.get("info"):
                infos.publish(camera_info(image.header, values["info"]))
        rospy.rostime.wallsleep(1 / config["rate"])


main()
