"""Depth of what another program writes to a pipe, such as ffmpeg with a capture card.

python examples/pipe.py [FOLDER]
"""

import os
import sys
import threading
from pathlib import Path

import numpy as np

import bdis

target = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output") / "pipe-example"
target.mkdir(parents=True, exist_ok=True)
scene = bdis.open_source("render:colon,frames=5,height=120,width=160")


def write_to(pipe: int) -> None:
    """The other program; in a shell it would be  ffmpeg ... -f rawvideo - | bdis run - --pipe-format ..."""
    with os.fdopen(pipe, "wb") as file:
        for frame in scene:
            file.write(np.hstack([frame.left, frame.right]).tobytes())


reading, writing = os.pipe()
rig = scene.rig
threading.Thread(target=write_to, args=(writing,)).start()
# "-" is the standard input; without all_frames the newest frame wins, as from a camera.
source = bdis.open_source(f"pipe:{reading}", pipe_format="rawvideo:320x120:rgb24:25", all_frames=True)
for frame in bdis.DepthStream(source, bdis.StereoMatcher("fast"), rig):
    print(f"frame {frame.index} at {frame.time_s:.2f} s: {frame.result.coverage:.0%} known")
    bdis.write_depth(target / f"{frame.index}.tiff", rig.depth(frame.result))
os.close(reading)
print(f"written to {target}: 0.tiff, 4.tiff")
