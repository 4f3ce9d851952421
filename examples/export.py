"""A recording in the layouts of reconstruction tools.

python examples/export.py [FOLDER]
"""

import shutil
import sys
from pathlib import Path

import numpy as np

import bdis
from bdis.connections.exports import ExportFrame, ExportPlan, export_frames
from bdis.video.recording import RecordedDepth, Recording, RecordingPlan

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output") / "export-example"
shutil.rmtree(folder, ignore_errors=True)  # of an earlier run: recordings and exports need new folders

# The same on the command line:  bdis run surgery.mp4 --calib endoscope.yaml --save depth,left -o recording
source = bdis.open_source("render:colon,frames=4,height=120,width=160")
recording = Recording(folder / "recording", RecordingPlan(("depth", "left"), (120, 160), source.rig), {})
with bdis.DepthStream(source, bdis.StereoMatcher("fast"), source.rig) as stream:
    for frame in stream:
        recording.add(frame)
recording.close("complete")

# bdis export recording --to endonerf -o endonerf
recorded = RecordedDepth(folder / "recording")
plan = ExportPlan(recorded.rig, recorded.shape, count=len(recorded.records), steps_per_mm=100)
for layout in ("endonerf", "tum"):
    frames = (
        ExportFrame(each.record.index, each.record.time_s, each.left, each.depth_mm) for each in recorded.frames()
    )
    export_frames(frames, folder / layout, layout, plan)

bounds = np.load(folder / "endonerf" / "poses_bounds.npy")[:, 15:] / plan.steps_per_mm
print(f"{len(bounds)} frames, {bounds.min():.1f} to {bounds.max():.1f} mm away")
print(f"written to {folder}: endonerf/poses_bounds.npy, endonerf/export.json, tum/associations.txt")
