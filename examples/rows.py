"""Rows that differ
================

A calibration that has aged moves one image up or down. ``balanced`` finds out by how much, and says so; matched as it
is, the error grows.

``python examples/rows.py [FOLDER]`` runs it as a script.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import bdis
from bdis.synthetic import render

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
folder.mkdir(parents=True, exist_ok=True)

shifts_px = (0, 0.5, 1, 1.5, 2)
errors = {"auto": [], "off": []}
for shift_px in shifts_px:
    pair = render("tissue", 240, 320, seed=7, vertical_shift_px=shift_px)
    for align_rows, of_setting in errors.items():
        result = bdis.StereoMatcher(align_rows=align_rows).match(pair.left, pair.right)
        of_setting.append(float(np.nanmean(np.abs(result.disparity - pair.disparity))))
        if align_rows == "auto":
            print(f"the right image is {shift_px} px lower; found {result.row_offset:.2f} px", *result.warnings)

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
for align_rows, of_setting in errors.items():
    axis.plot(shifts_px, of_setting, marker="o", label=f'align_rows="{align_rows}"')
axis.set(xlabel="right image lower by, px", ylabel="mean error of the disparity, px", ylim=(0, None))
axis.legend()
figure.savefig(folder / "rows.png")
print(f"written to {folder}: rows.png")
