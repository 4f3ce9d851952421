"""Cameras calibrated from pictures of a checkerboard.

python examples/calibrate.py [FOLDER]
"""

import sys
from pathlib import Path

import cv2
import numpy as np

import bdis
from bdis.cameras.boards import Board
from bdis.cameras.calibrate import calibrate_stereo, coverage_picture

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
folder.mkdir(parents=True, exist_ok=True)

# Pictures to try it on: a board that two cameras, 5 mm apart, see from ten sides.
board, matrix = Board(columns=9, rows=6, square_mm=3.0), np.array([[420.0, 0, 199.5], [0, 420, 149.5], [0, 0, 1]])
squares = np.kron(np.indices((7, 10)).sum(0) % 2, np.ones((40, 40))) * 230
texture = np.pad(squares, 40, constant_values=230).astype(np.uint8)
to_board = np.array([[3 / 40, 0, -79.5 * 3 / 40], [0, 3 / 40, -79.5 * 3 / 40], [0, 0, 1]])  # px of the texture to mm


def picture(angle, camera_x):
    turn, _ = cv2.Rodrigues(np.array([0.5 * np.cos(angle), 0.5 * np.sin(angle), 0.1]))
    move = np.array([8 * np.sin(angle) - camera_x, 5 * np.cos(angle), 65]) - turn @ [12, 7.5, 0]
    homography = matrix @ np.column_stack([turn[:, 0], turn[:, 1], move]) @ to_board
    return cv2.warpPerspective(texture, homography, (400, 300), flags=cv2.INTER_AREA, borderValue=110)


pairs = [(f"view {number}", picture(number, 0), picture(number, 5)) for number in range(10)]

# Your own pictures, on the command line:  bdis calibrate boards --board 9x6 --square 3 -o cameras.toml
found = calibrate_stereo(pairs, board)
found.cameras.save(folder / "calibrated.toml")
bdis.write_image(folder / "calibrated.png", coverage_picture(found))
print(f"baseline {-found.cameras.translation_mm[0]:.3f} +- {found.baseline_sigma_mm:.3f} mm", *found.warnings)
print(f"written to {folder}: calibrated.toml, calibrated.png")
