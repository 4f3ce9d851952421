"""Cameras that are not rectified
==============================

Read their calibration, rectify, match.

``python examples/raw_cameras.py [FOLDER]`` runs it as a script.
"""

import sys
from pathlib import Path

import cv2
import numpy as np

import bdis
from bdis.synthetic import render

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
folder.mkdir(parents=True, exist_ok=True)

# A raw pair to try it on: the right camera is turned by about two degrees.
pair = render("tissue", seed=3)
camera_matrix = np.array([[pair.focal_px, 0, pair.cx], [0, pair.focal_px, pair.cy], [0, 0, 1]])
turn, _ = cv2.Rodrigues(np.array([0.02, 0.01, 0.03]))
left = pair.left
right = cv2.warpPerspective(pair.right, camera_matrix @ turn @ np.linalg.inv(camera_matrix), (640, 480))
bdis.StereoCalibration(
    left_matrix=camera_matrix, left_distortion=np.zeros(5), right_matrix=camera_matrix, right_distortion=np.zeros(5),
    rotation=turn, translation_mm=turn @ [-pair.baseline_mm, 0, 0], size=(640, 480),
).save(folder / "cameras.toml")  # fmt: skip

print("as the cameras saw it:", *bdis.check_rectification(left, right).warnings)

cameras = bdis.StereoCalibration.load(folder / "cameras.toml")  # or a file of OpenCV, ROS or Kalibr
rectifier = cameras.rectify()  # its maps are computed once; then call it for every pair
left, right = rectifier(left, right)
result = bdis.StereoMatcher().match(left, right)

depth_mm = rectifier.rig.depth(result)
bdis.write_preview(folder / "raw_cameras.png", left, result, rectifier.rig)
print(f"rectified: {result.coverage:.0%} known, median depth {np.nanmedian(depth_mm):.1f} mm")
print(f"written to {folder}: cameras.toml, raw_cameras.png")
