"""Depth of a video
================

Every frame matched, recorded and read back.

``python examples/video.py [FOLDER]`` runs it as a script.
"""

import shutil
import sys
from pathlib import Path

import numpy as np

import bdis
from bdis.video.recording import Recording, RecordingPlan, read_depth_video

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
target = folder / "video-example"
shutil.rmtree(target, ignore_errors=True)  # of an earlier run: a recording needs a new folder

# Your own video:  source = bdis.open_source("surgery.mp4"), and rig = bdis.Rig.load("calibration.yaml")
source = bdis.open_source("render:colon,frames=8,height=240,width=320")
rig = source.rig
plan = RecordingPlan(save=("video",), shape=(240, 320), rig=rig, fps=source.fps, steps_per_mm=100)

recording = Recording(target, plan, about={"source": source.name})
with bdis.DepthStream(source, bdis.StereoMatcher("fast"), rig) as stream:
    for frame in stream:
        recording.add(frame)
recording.close("complete")
statistics = stream.statistics()
print(f"{statistics.frames} frames, {statistics.match_ms.p50:.1f} ms to match one")
bdis.write_preview(target / "last_frame.png", frame.left, frame.result, rig)

for index, time_s, depth_mm in read_depth_video(target / "depth.mkv"):
    print(f"frame {index} at {time_s:.2f} s: median depth {np.nanmedian(depth_mm):.1f} mm")
print(f"written to {target}: depth.mkv, frames.csv, manifest.json, rig.toml, last_frame.png")
