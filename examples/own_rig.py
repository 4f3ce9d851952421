"""Sigma fitted to a rig
=====================

A few frames with a reference tell by which factor the errors of these cameras are larger or smaller than sigma says.
``bdis certainty fit`` does the same for a folder of frames.

``python examples/own_rig.py [FOLDER]`` runs it as a script.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

from bdis.evaluation.certainty_fit import SHARES, fit_errors, reliability_curves
from bdis.evaluation.datasets import open_dataset
from bdis.evaluation.frame_errors import frame_errors
from bdis.matching.settings import Settings

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
folder.mkdir(parents=True, exist_ok=True)

# Cameras with much noise.  Your own frames: open_dataset("my-frames"), see docs/benchmarking.md
cameras = "height=240,width=320,noise=6"
errors = frame_errors(open_dataset(f"render:colon,frames=4,{cameras}"), Settings())
fit = fit_errors(errors)
print(f"sigma x {fit.factor:.2f}, 95 % confidence {fit.low:.2f} to {fit.high:.2f}", *fit.warnings, sep="\n")
fit.rig.save(folder / "fitted.toml")

others = frame_errors(open_dataset(f"render:colon,frames=3,seed=8,{cameras}"), Settings())  # not those of the fit
figure, axis = plt.subplots(figsize=(5, 4.4), layout="constrained")
axis.plot([0, 1], [0, 1], color="grey", linewidth=1)
for label, scale in (("as it is", 1.0), (f"sigma x {fit.factor:.2f}", fit.factor)):
    curves = reliability_curves(others, scale)
    axis.plot(SHARES, curves.inside, label=label)
axis.set(xlabel="share that the interval shall hold", ylabel="share that it holds", title="frames not used for the fit")
axis.legend()
figure.savefig(folder / "own_rig.png")
print(f"written to {folder}: fitted.toml, own_rig.png")
