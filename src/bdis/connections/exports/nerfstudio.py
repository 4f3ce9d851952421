"""Nerfstudio: ``transforms.json`` with images, depth and masks; lengths in metres, the axes of OpenGL.

The centre of the first pixel is (0.5, 0.5) there, and pixels that are 0 in a mask are not used.
"""

from pathlib import Path
from typing import Any

from ...common.atomic import write_whole
from ...common.json_text import json_text
from .frame import FLIP, ExportFrame, ExportPlan, LayoutWriter


class NerfstudioWriter(LayoutWriter):
    """Writes Nerfstudio's layout, see :class:`~.frame.LayoutWriter`."""

    name = "nerfstudio"

    def __init__(self, folder: Path, plan: ExportPlan):
        super().__init__(folder, plan)
        for part in ("images", "depth", "masks"):
            (folder / part).mkdir()
        self._frames: list[dict[str, Any]] = []

    def _write(self, frame: ExportFrame) -> None:
        name = f"{frame.index:06d}.png"
        self.write_left(self.folder / "images" / name, frame)
        self.write_steps(self.folder / "depth" / name, frame)
        self.write_mask(self.folder / "masks" / name, self.known(frame))
        pose = self.plan.pose(self.written) @ FLIP
        pose[:3, 3] /= 1000
        self._frames.append(
            {
                "file_path": f"images/{name}",
                "depth_file_path": f"depth/{name}",
                "mask_path": f"masks/{name}",
                "time": frame.time_s,
                "transform_matrix": pose.tolist(),
            }
        )

    def _finish(self) -> None:
        rig, (height, width) = self.plan.rig, self.plan.shape
        content = {
            "camera_model": "OPENCV",
            "w": width, "h": height, "fl_x": rig.focal_px, "fl_y": rig.focal_px,
            "cx": rig.cx + 0.5, "cy": rig.cy + 0.5, "k1": 0.0, "k2": 0.0, "p1": 0.0, "p2": 0.0,
            "depth_unit_scale_factor": self.depth_factor,
            "frames": self._frames,
        }  # fmt: skip
        write_whole(self.folder / "transforms.json", f"{json_text(content)}\n".encode())

    @property
    def depth_factor(self) -> float:
        """From values of the depth images to metres."""
        return self.plan.unit_mm / 1000

    def cautions(self) -> list[str]:
        if self.plan.steps_per_mm == 1:
            return []
        return [
            "Nerfstudio takes the unit of depth from its command line and not from transforms.json: "
            f"add --depth-unit-scale-factor {self.depth_factor:g}"
        ]
