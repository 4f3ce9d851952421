"""Depth of a bag of ROS, as a bag of ROS: for RViz, Foxglove, or programs of your own.

python examples/bag.py [FOLDER]
"""

import shutil
import sys
from pathlib import Path

import numpy as np

import bdis
from bdis.connections.ros.bag import Bag
from bdis.connections.ros.message_types import parse_message
from bdis.video.recording import BagPlan, Recording, RecordingPlan

target = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output", "bag-example")
shutil.rmtree(target, ignore_errors=True)  # of an earlier run


def record(source, name, *contents):
    plan = RecordingPlan(("bag",), (120, 160), source.rig, bag=BagPlan(contents, "/scope"))
    recording = Recording(target / name, plan, about={"source": source.name})
    for frame in bdis.DepthStream(source, bdis.StereoMatcher("fast", variance=True)):
        recording.add(frame)
    recording.close("complete")
    return target / name / "depth.mcap"


# Your own recording:  recording = "surgery.bag", an .mcap, or the folder of a ROS 2 bag, with its camera_info
recording = record(bdis.open_source("render:colon,frames=4,height=120,width=160"), "recording", "left", "right")

with bdis.open_source(recording) as source:
    print(*source.remarks)
    depth = record(source, "depth", "disparity", "depth", "sigma", "cloud")

topic = "/scope/left/depth/image_rect"
with Bag(depth) as bag:
    for message in bag.messages(topic):
        image = parse_message(bag.read(message), bag.topics[topic], bag.is_ros1)
        print(f"{image.header.stamp}: median depth {1e3 * np.nanmedian(image.data.view(np.float32)):.1f} mm")
print(f"written to {target}: recording/depth.mcap, depth/depth.mcap")
