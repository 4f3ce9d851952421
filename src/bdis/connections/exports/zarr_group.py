"""A Zarr group (format 3): arrays ``left``, ``depth``, ``sigma``, ``time``, ``index`` and ``pose``.

A frame is a chunk of its own.  Depth is float32 in mm with NaN where it is unknown; every array says its unit.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ...common.optional import require
from .frame import ExportFrame, ExportPlan, LayoutWriter


class ZarrWriter(LayoutWriter):
    """Writes a Zarr group, see :class:`~.frame.LayoutWriter`."""

    name = "zarr"
    has_steps = False

    def __init__(self, folder: Path, plan: ExportPlan):
        super().__init__(folder, plan)
        self._group = require("zarr", "exporting to Zarr").open_group(str(folder), mode="w", zarr_format=3)
        count, (height, width) = plan.count, plan.shape
        maps = {"depth": "distance from the left camera along its axis, NaN = unknown"}
        if plan.has_sigma:
            maps["sigma"] = "standard deviation of the depth"
        for name, meaning in maps.items():
            self._array(name, (count, height, width), "float32", "mm", meaning, ("frame", "row", "column"))
        self._array("time", (count,), "float64", "s", "time in the source", ("frame",))
        self._array("index", (count,), "int64", "1", "number in the source", ("frame",))
        self._array("pose", (count, 4, 4), "float64", "mm", "left camera to world, axes right, down, forwards",
                    ("frame", "to", "from"))  # fmt: skip

    def _array(
        self, name: str, shape: tuple[int, ...], kind: str, unit: str, meaning: str, axes: tuple[str, ...]
    ) -> None:
        chunks = (1, *shape[1:]) if len(shape) > 2 else (max(shape[0], 1),)
        self._group.create_array(
            name, shape=shape, dtype=kind, chunks=chunks, dimension_names=axes, fill_value=np.nan if "f" in kind else 0,
            attributes={"units": unit, "long_name": meaning},
        )  # fmt: skip

    def _write(self, frame: ExportFrame) -> None:
        if self.written == 0:  # the first frame says whether images are grey or RGB, of 8 or 16 bits
            axes = ("frame", "row", "column", "channel")[: frame.left.ndim + 1]
            shape = (self.plan.count, *frame.left.shape)
            meaning = "rectified left image, " + ("grey" if frame.left.ndim == 2 else "RGB")
            self._array("left", shape, str(frame.left.dtype), "1", meaning, axes)
        there = self._group["left"]
        if (there.shape[1:], there.dtype) != (frame.left.shape, frame.left.dtype):
            raise ValueError(f"frame {frame.index} is of another kind than the first: {frame.left.dtype}")
        values: dict[str, Any] = {"left": frame.left, "depth": np.asarray(frame.depth_mm, np.float32)}
        if self.plan.has_sigma:
            values["sigma"] = np.asarray(frame.sigma_mm, np.float32)
        values |= {"time": frame.time_s, "index": frame.index, "pose": self.plan.pose(self.written)}
        for name, value in values.items():
            self._group[name][self.written] = value

    def _finish(self) -> None:
        self._group.attrs.update(self.about())

    def about(self) -> dict[str, Any]:
        return {name: value for name, value in super().about().items() if name != "masks"}

    def about_depth(self) -> dict[str, Any]:
        return {"unit": "mm", "type": "float32", "unknown": "NaN"}

    def _write_about(self) -> None:
        """All of it is among the attributes: in a group there are arrays only."""
