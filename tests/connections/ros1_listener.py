"""A listener in ROS 1, run by the Python that has rospy: prints a line of JSON for every message.

Arguments: a folder, then TYPE:TOPIC for each subscription.  The data of the latest message of a topic is in the folder.
"""

import json
import os
import sys
import time
from importlib import import_module

import rospy

folder = sys.argv[1]


def heard(message, topic):
    now = time.time()
    line = {"topic": topic, "now": now}
    if hasattr(message, "header"):
        line["stamp"] = message.header.stamp.to_nsec()
        line["frame_id"] = message.header.frame_id
    inner = getattr(message, "image", message)
    for name in ("height", "width", "encoding", "step", "point_step", "row_step"):
        if hasattr(inner, name):
            line[name] = getattr(inner, name)
    for name in ("f", "T", "min_disparity", "max_disparity", "delta_d"):
        if hasattr(message, name):
            line[name] = getattr(message, name)
    if hasattr(message, "fields"):
        line["fields"] = [[field.name, field.offset, field.datatype] for field in message.fields]
    data = getattr(inner, "data", b"")
    if isinstance(data, str):
        line["data"] = json.loads(data)
    else:
        path = os.path.join(folder, topic.strip("/").replace("/", "_"))
        with open(path + ".part", "wb") as file:
            file.write(data)
        os.replace(path + ".part", path)
    sys.stdout.write(json.dumps(line) + "\n")  # in one piece: every topic has a thread
    sys.stdout.flush()


rospy.init_node("listener", anonymous=True, disable_signals=True)
for argument in sys.argv[2:]:
    kind, _, topic = argument.partition(":")
    package, name = kind.split("/")
    message_class = getattr(import_module(package + ".msg"), name)
    rospy.Subscriber(
        topic,
        getattr(import_module(package + ".msg"), name),
        heard,
        callback_args=topic,
        queue_size=1,
        buff_size=1 << 26,
    )
print(json.dumps({"ready": True}), flush=True)
rospy.rostime.wallsleep(600)
