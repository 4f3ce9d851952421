"""A recording that Foxglove opens, and the same live.

python examples/foxglove_live.py [FOLDER]
"""

import shutil
import sys
from pathlib import Path

import bdis
from bdis.video.live.foxglove import FoxgloveOutput
from bdis.video.live.listening import Address
from bdis.video.recording import Recording, RecordingPlan

target = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output") / "foxglove-example"
shutil.rmtree(target, ignore_errors=True)  # of an earlier run: a recording needs a new folder

# Your own video:  source = bdis.open_source("surgery.mp4"), and rig = bdis.Rig.load("calibration.yaml")
source = bdis.open_source("render:colon,frames=5,height=120,width=160")
plan = RecordingPlan(save=("foxglove",), shape=(120, 160), rig=source.rig, fps=source.fps)

recording = Recording(target, plan, about={"source": source.name})
with FoxgloveOutput(Address("127.0.0.1", 0), source.rig) as output:  # usually port 8765; 0 is any that is free
    print(f"in Foxglove: Open connection, ws://{output.address}")
    for frame in bdis.DepthStream(source, bdis.StereoMatcher("fast", variance=True)):
        output.offer(frame)  # returns at once
        recording.add(frame)
recording.close("complete")
print(f"{output.sent} frames sent, {output.unheard} while nobody was connected")
print(f"written to {target}: foxglove.mcap, frames.csv, manifest.json, rig.toml")
