"""Depth of one pair
=================

Match it, convert to mm, write the depth, a point cloud and a picture.

``python examples/pair.py [FOLDER]`` runs it as a script.
"""

import sys
from pathlib import Path

import bdis
from bdis.synthetic import render

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
folder.mkdir(parents=True, exist_ok=True)

# %%
# The pair, and the cameras that took it. Of your own::
#
#     left, right = bdis.read_image("left.png"), bdis.read_image("right.png")
#     rig = bdis.Rig.load("calibration.yaml")

pair = render("tissue", seed=7)
left, right = pair.left, pair.right
rig = bdis.Rig(focal_px=pair.focal_px, cx=pair.cx, cy=pair.cy, baseline_mm=pair.baseline_mm, size=(640, 480))

# %%
# Match, and convert to mm.

matcher = bdis.StereoMatcher("balanced", variance=True)
result = matcher.match(left, right)
depth_mm = rig.depth(result)
cloud = rig.cloud(result, colors=left, max_depth_mm=200)

# %%
# Files, and what to look at first.

bdis.write_depth(folder / "depth.tiff", depth_mm)
bdis.write_ply(folder / "cloud.ply", cloud)
bdis.write_preview(folder / "pair.png", left, result, rig)

print(f"{result.coverage:.0%} of the pixels have a depth, {len(cloud)} points in the cloud")
print(f"depth at the centre: {depth_mm[240, 320]:.2f} mm, sigma {rig.depth_sigma(result)[240, 320]:.2f} mm")
for warning in bdis.check_rectification(left, right, result).warnings:
    print(f"warning: {warning}")
print(f"written to {folder}: depth.tiff, cloud.ply, pair.png")
