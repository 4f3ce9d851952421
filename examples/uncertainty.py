"""How far to trust a result
=========================

Probability and variance beside the exact depth of a rendered scene. Instruments in front of tissue are a hard case: at
their edges the matcher is too sure.

``python examples/uncertainty.py [FOLDER]`` runs it as a script.
"""

import sys
from pathlib import Path

import numpy as np

import bdis
from bdis.synthetic import render

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
folder.mkdir(parents=True, exist_ok=True)

pair = render("instruments", seed=5)
rig = bdis.Rig(focal_px=pair.focal_px, cx=pair.cx, cy=pair.cy, baseline_mm=pair.baseline_mm, size=(640, 480))
result = bdis.StereoMatcher("balanced", variance=True).match(pair.left, pair.right)

# %%
# The probability is that of an error below 1 px, the interval shall hold a share of the errors.

error_px = np.abs(result.disparity - pair.full_disparity)
print("probability   pixels   of them within 1 px")
for low in (0.35, 0.5, 0.7, 0.9):
    chosen = result.known & (result.probability >= low)
    print(f"   >= {low:.2f}   {chosen.sum():6}   {(error_px[chosen] < 1).mean():.1%}")

for share in (0.68, 0.95):
    inside = (error_px <= result.interval(share))[result.known].mean()
    print(f"{inside:.1%} of the errors are inside the interval that shall hold {share:.0%} of them")

# %%
# What is sure enough to work with.

trusted = rig.cloud(result, colors=pair.left, min_probability=0.9)
print(f"{len(trusted)} points with a probability of at least 0.9, sigma {np.median(trusted.sigma_mm):.2f} mm on median")
bdis.write_ply(folder / "trusted.ply", trusted)
bdis.write_preview(folder / "uncertainty.png", pair.left, result, rig, true_depth_mm=pair.depth_mm)
print(f"written to {folder}: trusted.ply, uncertainty.png")
