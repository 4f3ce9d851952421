"""TUM RGB-D: ``rgb/``, ``depth/`` and lists of both with times in seconds; poses in ``groundtruth.txt``, in metres."""

from pathlib import Path

import numpy as np

from ...common.atomic import write_whole
from .frame import ExportFrame, ExportPlan, LayoutWriter
from .poses import quaternions_of


class TumWriter(LayoutWriter):
    """Writes TUM's layout, see :class:`~.frame.LayoutWriter`."""

    name = "tum"

    def __init__(self, folder: Path, plan: ExportPlan):
        super().__init__(folder, plan)
        for part in ("rgb", "depth", "masks"):
            (folder / part).mkdir()
        self._times: list[str] = []

    def _write(self, frame: ExportFrame) -> None:
        time = f"{frame.time_s:.6f}"
        if self._times and float(time) <= float(self._times[-1]):
            raise ValueError(
                f"frame {frame.index} is at {time} s and the one before it at {self._times[-1]} s; TUM's files are "
                "named by their times, which must grow"
            )
        self.write_left(self.folder / "rgb" / f"{time}.png", frame)
        self.write_steps(self.folder / "depth" / f"{time}.png", frame)
        self.write_mask(self.folder / "masks" / f"{time}.png", self.known(frame))
        self._times.append(time)

    def _finish(self) -> None:
        factor = 1000 * self.plan.steps_per_mm
        for part, title in (("rgb", "color images"), ("depth", f"depth maps, {factor} per metre, 0 = unknown")):
            lines = [f"# {title}", "# timestamp filename", *(f"{time} {part}/{time}.png" for time in self._times)]
            self._write_lines(f"{part}.txt", lines)
        self._write_lines(
            "associations.txt", [f"{time} rgb/{time}.png {time} depth/{time}.png" for time in self._times]
        )
        poses = np.array([self.plan.pose(number) for number in range(self.plan.count)]).reshape(-1, 4, 4)
        rows = np.hstack([poses[:, :3, 3] / 1000, quaternions_of(poses[:, :3, :3])])
        lines = [f"{time} {' '.join(f'{value:.9g}' for value in row)}" for time, row in zip(self._times, rows)]
        self._write_lines("groundtruth.txt", ["# timestamp tx ty tz qx qy qz qw (m)", *lines])

    def _write_lines(self, name: str, lines: list[str]) -> None:
        write_whole(self.folder / name, "".join(f"{line}\n" for line in lines).encode())
