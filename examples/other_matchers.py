"""Uncertainty for other matchers
==============================

Give the disparities of other matchers an uncertainty, and make one result of several. A network's disparity map works
the same way: pass it to ``bdis.assess``.

``python examples/other_matchers.py [FOLDER]`` runs it as a script.
"""

import sys
from pathlib import Path

import numpy as np

import bdis
from bdis.evaluation.baselines import method
from bdis.synthetic import render

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
folder.mkdir(parents=True, exist_ok=True)

pair = render("instruments", seed=5)
results = {"bdis": bdis.StereoMatcher(variance=True).match(pair.left, pair.right)}
for name in ("sgbm", "elas"):
    disparity = method(name).make(64).match(pair.left, pair.right).disparity
    results[name] = bdis.assess(pair.left, pair.right, disparity)
results["all three"] = bdis.combine(list(results.values()))

print("matcher     known   inside the 95 % interval   mean error px of the surest 80 % of the picture")
for name, result in results.items():
    error = np.abs(result.disparity - pair.full_disparity)
    inside = np.mean(error[result.known] < result.interval(0.95)[result.known])
    surest = np.argsort(np.where(result.known, result.variance, np.inf), axis=None)[: int(0.8 * error.size)]
    print(f"{name:10}  {result.coverage:5.1%}   {inside:24.1%}   {error.ravel()[surest].mean():.3f}")

rig = bdis.Rig(focal_px=pair.focal_px, cx=pair.cx, cy=pair.cy, baseline_mm=pair.baseline_mm, size=(640, 480))
bdis.write_preview(folder / "all_three.png", pair.left, results["all three"], rig, true_depth_mm=pair.depth_mm)
print(f"written to {folder}: all_three.png")
