"""The presets side by side
========================

What each preset finds on one scene, and where it is wrong.

``python examples/presets.py [FOLDER]`` runs it as a script.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import bdis
from bdis.synthetic import render

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
folder.mkdir(parents=True, exist_ok=True)

pair = render("instruments", seed=5)
presets = ("fast", "paper", "balanced", "accurate")
figure, axes = plt.subplots(2, len(presets), figsize=(14, 5.6), layout="constrained")
nearest, farthest = pair.full_disparity.max(), pair.full_disparity.min()
print("preset     known   median error px   off by more than 1 px")
for (above, below), preset in zip(axes.T, presets):
    result = bdis.StereoMatcher(preset).match(pair.left, pair.right)
    error_px = np.abs(result.disparity - pair.disparity)  # of pixels that both cameras see
    scored = np.isfinite(error_px)
    print(
        f"{preset:9} {result.coverage:6.1%} {np.median(error_px[scored]):17.2f} {(error_px[scored] > 1).mean():23.1%}"
    )
    above.imshow(result.disparity, cmap=plt.cm.turbo.with_extremes(bad="lightgrey"), vmin=farthest, vmax=nearest)
    errors = below.imshow(error_px, cmap=plt.cm.magma.with_extremes(bad="lightgrey"), vmin=0, vmax=2)
    above.set_title(preset)
for axis in axes.flat:
    axis.set_axis_off()
figure.colorbar(errors, ax=axes[1], label="error, px")
figure.savefig(folder / "presets.png")
print(f"written to {folder}: presets.png")
