"""A distance and its uncertainty
==============================

How far two points of the tissue are from each other, in mm, and how sure that is.

``python examples/measure.py [FOLDER]`` runs it as a script.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import bdis
from bdis.synthetic import render

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
folder.mkdir(parents=True, exist_ok=True)

pair = render("tissue", seed=7)
rig = bdis.Rig(focal_px=pair.focal_px, cx=pair.cx, cy=pair.cy, baseline_mm=pair.baseline_mm, size=(640, 480))
result = bdis.StereoMatcher("balanced", variance=True).match(pair.left, pair.right)
depth_mm, sigma_mm = rig.depth(result), rig.depth_sigma(result)

# %%
# Each depth is known along a ray; its error moves the point along that ray.

here, there = (150, 170), (330, 480)  # row and column; far apart, so that their errors are independent
rays = [np.array([(x - rig.cx) / rig.focal_px, (y - rig.cy) / rig.focal_px, 1]) for y, x in (here, there)]
first, second = (ray * depth_mm[place] for ray, place in zip(rays, (here, there)))
distance_mm = np.linalg.norm(second - first)
along = (second - first) / distance_mm  # an error of depth counts as far as its ray points along the line
distance_sigma = np.hypot(*(along @ ray * sigma_mm[place] for ray, place in zip(rays, (here, there))))
true_mm = np.linalg.norm(rays[1] * pair.depth_mm[there] - rays[0] * pair.depth_mm[here])
print(f"{distance_mm:.2f} mm, sigma {distance_sigma:.2f} mm; in truth {true_mm:.2f} mm")

# %%
# The line in the left image.

figure, axis = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
axis.imshow(pair.left)
axis.plot([here[1], there[1]], [here[0], there[0]], "o-", color="white")
axis.set_title(f"{distance_mm:.1f} mm, sigma {distance_sigma:.2f} mm")
axis.set_axis_off()
figure.savefig(folder / "measure.png")
print(f"written to {folder}: measure.png")
