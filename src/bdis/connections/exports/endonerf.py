"""EndoNeRF's layout, which EndoGaussian, Deform3DGS and others read as well.

``images/``, ``depth/``, ``masks/`` and ``poses_bounds.npy`` with 17 numbers for each frame: a 3x5 matrix (pose, and
height, width, focal length as its last column), nearest and farthest depth.  These tools have no unit of length of
their own: translations and bounds are in steps of the depth images.  Their axes are those of OpenGL.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np

from ...common.atomic import write_whole
from .frame import FLIP, MOST_STEPS, ExportFrame, ExportPlan, LayoutWriter, White

_OFF_CENTRE_PX = 1.0  # beyond this it is told; EndoGaussian itself rounds half the width


class EndoNerfWriter(LayoutWriter):
    """Writes EndoNeRF's layout, see :class:`~.frame.LayoutWriter`."""

    name = "endonerf"
    usual_white: White = "unknown"  # white is what is left out, as instruments are in EndoNeRF's own data

    def __init__(self, folder: Path, plan: ExportPlan):
        super().__init__(folder, plan)
        for part in ("images", "depth", "masks"):
            (folder / part).mkdir()
        self._bounds: list[tuple[float, float] | None] = []  # of each frame, mm

    def _write(self, frame: ExportFrame) -> None:
        name = f"{self.written:06d}.png"
        known = self.known(frame)
        self.write_left(self.folder / "images" / name, frame)
        self.write_steps(self.folder / "depth" / name, frame)
        self.write_mask(self.folder / "masks" / name, known)
        depths = frame.depth_mm[known]
        self._bounds.append((float(depths.min()), float(depths.max())) if depths.size else None)

    def _finish(self) -> None:
        height, width = self.plan.shape
        there = [bound for bound in self._bounds if bound is not None]
        # A frame without depth gets the bounds of all others; without any, those that 16 bits can hold.
        usual = (min(near for near, _ in there), max(far for _, far in there)) if there else (
            self.plan.unit_mm, MOST_STEPS * self.plan.unit_mm)  # fmt: skip
        rows = []
        for number, bound in enumerate(self._bounds):
            # The world is turned like the camera, so that a camera that stands still has the identity.
            pose = FLIP @ self.plan.pose(number) @ FLIP
            pose[:3, 3] *= self.plan.steps_per_mm
            camera = np.array([[height], [width], [self.plan.rig.focal_px]])
            bounds = np.multiply(bound or usual, self.plan.steps_per_mm)
            rows.append(np.concatenate([np.hstack([pose[:3], camera]).ravel(), bounds]))
        buffer = io.BytesIO()
        np.save(buffer, np.array(rows, np.float64).reshape(-1, 17))
        write_whole(self.folder / "poses_bounds.npy", buffer.getvalue())

    def cautions(self) -> list[str]:
        height, width = self.plan.shape
        rig = self.plan.rig
        off_px = (rig.cx - width / 2, rig.cy - height / 2)
        if max(map(abs, off_px)) <= _OFF_CENTRE_PX:
            return []
        per_100_mm = [100 * shift / rig.focal_px for shift in off_px]
        return [
            f"EndoNeRF's layout has no principal point, and its tools take the middle of the image: off by "
            f"({off_px[0]:.1f}, {off_px[1]:.1f}) px here, which moves points 100 mm away sideways by "
            f"({per_100_mm[0]:.1f}, {per_100_mm[1]:.1f}) mm; their depth stays right"
        ]

    def about(self) -> dict[str, Any]:
        return {
            **super().about(),
            "poses_bounds": f"translations and bounds in steps of the depth images, {self.plan.unit_mm:g} mm; "
            "camera to world, axes right, up, backwards",
        }
