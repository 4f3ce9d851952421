"""COLMAP's dense workspace: float32 depth maps in mm beside the images, and a sparse model in text without points.

COLMAP puts the centre of the first pixel at (0.5, 0.5), and its poses are from the world to the camera.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ...common.atomic import write_whole
from .frame import ExportFrame, ExportPlan, LayoutWriter
from .poses import quaternions_of


class ColmapDepthWriter(LayoutWriter):
    """Writes COLMAP's dense workspace, see :class:`~.frame.LayoutWriter`."""

    name = "colmap-depth"
    has_steps = False

    def __init__(self, folder: Path, plan: ExportPlan):
        super().__init__(folder, plan)
        self._dense = folder / "dense"
        for part in ("images", "masks", "sparse", "stereo/depth_maps"):
            (self._dense / part).mkdir(parents=True)
        self._names: list[str] = []

    def _write(self, frame: ExportFrame) -> None:
        name = f"{frame.index:06d}.png"
        known = self.known(frame)
        self.write_left(self._dense / "images" / name, frame)
        self.write_mask(self._dense / "masks" / f"{name}.png", known)  # COLMAP appends .png to the image's name
        depth = np.where(known, frame.depth_mm, np.float32(0))
        write_whole(self._dense / "stereo" / "depth_maps" / f"{name}.geometric.bin", colmap_array(depth))
        self._names.append(name)

    def _finish(self) -> None:
        rig, (height, width) = self.plan.rig, self.plan.shape
        camera = f"1 PINHOLE {width} {height} {rig.focal_px!r} {rig.focal_px!r} {rig.cx + 0.5!r} {rig.cy + 0.5!r}"
        self._write_lines("cameras.txt", ["# CAMERA_ID MODEL WIDTH HEIGHT fx fy cx cy (px)", camera])
        lines = ["# IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME (world to camera, mm), then its points: none"]
        for number, name in enumerate(self._names):
            pose = np.linalg.inv(self.plan.pose(number))
            x, y, z, w = quaternions_of(pose[None, :3, :3])[0]
            values = " ".join(f"{value:.12g}" for value in (w, x, y, z, *pose[:3, 3]))
            lines += [f"{number + 1} {values} 1 {name}", ""]
        self._write_lines("images.txt", lines)
        self._write_lines("points3D.txt", ["# no points: the depth is in stereo/depth_maps"])

    def about_depth(self) -> dict[str, Any]:
        return {"unit": "mm", "type": "float32", "unknown": 0}

    def _write_lines(self, name: str, lines: list[str]) -> None:
        write_whole(self._dense / "sparse" / name, "".join(f"{line}\n" for line in lines).encode())


def colmap_array(values: np.ndarray[Any, Any]) -> bytes:
    """The content of a ``.bin`` file of COLMAP: width&height&channels& as text, then float32 row by row.

    >>> colmap_array(np.float32([[1, 2, 3]]))[:6]
    b'3&1&1&'
    """
    height, width = values.shape
    return f"{width}&{height}&1&".encode() + np.ascontiguousarray(values, "<f4").tobytes()
