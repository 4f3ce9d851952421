"""What every layout is written from: frames with depth, the choices of the user, and the interface of a writer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...cameras.rgb import as_rgb_bytes
from ...cameras.rig import Rig
from ...common.arrays import Array, size_text
from ...common.atomic import write_whole
from ...common.json_text import json_text
from ...files.images import encode_pixels, write_image

MOST_STEPS = 65535  # of a 16-bit image
STEPS_PER_MM = 100  # 0.01 mm, up to 655.35 mm
ABOUT = "export.json"
White = Literal["known", "unknown"]
FLIP = np.diag([1.0, -1.0, -1.0, 1.0])  # from axes right, down, forwards (OpenCV) to right, up, backwards (OpenGL)


@dataclass(frozen=True)
class ExportFrame:
    """A frame as it is exported.

    Attributes
    ----------
    index : int
        Its number in the source.
    time_s : float
        Its time in the source.
    left : ndarray of uint8 or uint16, shape (h, w) or (h, w, 3)
        Rectified left image, grey or RGB.
    depth_mm : ndarray of float32, shape (h, w)
        NaN = unknown.
    sigma_mm : ndarray of float32, shape (h, w), or None
        Standard deviation of the depth.
    """

    index: int
    time_s: float
    left: Array
    depth_mm: Array
    sigma_mm: Array | None = None


@dataclass(frozen=True)
class ExportPlan:
    """What is the same for all frames of an export.

    Attributes
    ----------
    rig : Rig
        The rectified cameras.
    shape : (int, int)
        Height and width of the images, px.
    count : int
        Number of frames.
    steps_per_mm : int
        Values of 16-bit depth images are the depth in mm times this.
    white : {"known", "unknown"} or None
        Which pixels are white (255) in masks.  Default: as the tools of a layout expect it.
    poses : ndarray of float64, shape (count, 4, 4), or None
        From the left camera to the world, in mm, with the axes of OpenCV: right, down, forwards.  Default: a camera
        that stands still, at the origin.
    has_sigma : bool
        Frames have ``sigma_mm``.
    about : dict
        What else to write down, such as the name of the recording.
    """

    rig: Rig
    shape: tuple[int, int]
    count: int
    steps_per_mm: int = STEPS_PER_MM
    white: White | None = None
    poses: NDArray[np.float64] | None = None
    has_sigma: bool = False
    about: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.steps_per_mm <= MOST_STEPS:
            raise ValueError(f"steps_per_mm is {self.steps_per_mm}; expected 1 to {MOST_STEPS}")
        if self.poses is not None and self.poses.shape != (self.count, 4, 4):
            raise ValueError(f"poses have shape {self.poses.shape}; expected {(self.count, 4, 4)}")
        self.rig.check_fits(self.shape)

    def pose(self, number: int) -> NDArray[np.float64]:
        """Pose of the frame that is written as number ``number``, from 0."""
        return np.eye(4) if self.poses is None else self.poses[number]

    @property
    def unit_mm(self) -> float:
        """Length in mm of one step of 16-bit depth."""
        return 1 / self.steps_per_mm


class LayoutWriter(ABC):
    """Writes frames in the layout of some tool.

    Parameters
    ----------
    folder : Path
        An empty folder.
    plan : ExportPlan
        What is the same for all frames.

    Attributes
    ----------
    written : int
        Number of frames so far.
    too_far : int
        Number of pixels so far whose depth was too large for 16 bits; they are unknown in the export.
    """

    name: str
    usual_white: White = "known"  # of masks, as the tools of this layout expect it
    has_steps = True  # depth as 16-bit values

    def __init__(self, folder: Path, plan: ExportPlan):
        self.folder, self.plan = folder, plan
        self.written = self.too_far = 0

    @property
    def white(self) -> White:
        """Which pixels are white in masks."""
        return self.plan.white or self.usual_white

    def add(self, frame: ExportFrame) -> None:
        """Write a frame.

        Raises
        ------
        ValueError
            There are more frames than the plan says, or it has another size.
        OSError
            It cannot be written.
        """
        if self.written == self.plan.count:
            raise ValueError(f"more than the {self.plan.count} frames that were promised")
        for name in ("left", "depth_mm", "sigma_mm"):
            array = getattr(frame, name)
            if array is not None and array.shape[:2] != self.plan.shape:
                raise ValueError(
                    f"{name} of frame {frame.index} is {size_text(array.shape)}; the cameras are for "
                    f"{size_text(self.plan.shape)}"
                )
        if self.plan.has_sigma and frame.sigma_mm is None:
            raise ValueError(f"frame {frame.index} has no sigma_mm, but the frames before it do")
        self._write(frame)
        self.written += 1

    @abstractmethod
    def _write(self, frame: ExportFrame) -> None:
        """Write the files of a frame."""

    def finish(self) -> None:
        """Write what is known only at the end.

        Raises
        ------
        ValueError
            Frames are missing.
        OSError
            Something cannot be written.
        """
        if self.written != self.plan.count:
            raise ValueError(f"only {self.written} of the {self.plan.count} frames that were promised")
        self._finish()
        self._write_about()

    @abstractmethod
    def _finish(self) -> None:
        """Write the files that all frames share."""

    def cautions(self) -> list[str]:
        """What the layout cannot express of these cameras, for messages."""
        return []

    def about(self) -> dict[str, Any]:
        """What a reader must know to understand the files."""
        height, width = self.plan.shape
        rig = self.plan.rig
        return {
            "format": "bdis-export",
            "layout": self.name,
            "frames": self.plan.count,
            "size": [width, height],
            "camera": {"focal_px": rig.focal_px, "cx": rig.cx, "cy": rig.cy, "baseline_mm": rig.baseline_mm,
                       "first_pixel_centre": [0, 0]},
            "depth": self.about_depth(),
            "masks": f"255 = {self.white}, 0 = {'unknown' if self.white == 'known' else 'known'}",
            "poses": "identity" if self.plan.poses is None else "from a file",
            "cautions": self.cautions(),
            **self.plan.about,
        }  # fmt: skip

    def about_depth(self) -> dict[str, Any]:
        """Unit and meaning of the depth."""
        return {
            "unit": f"{self.plan.unit_mm:g} mm",
            "steps_per_mm": self.plan.steps_per_mm,
            "unknown": 0,
            "largest_mm": MOST_STEPS / self.plan.steps_per_mm,
            "pixels_beyond": self.too_far,
        }

    def _write_about(self) -> None:
        write_whole(self.folder / ABOUT, f"{json_text(self.about())}\n".encode())

    # --- What several layouts write -----------------------------------------------------------------------------------

    def write_left(self, path: Path, frame: ExportFrame) -> None:
        """Write the left image as 8-bit RGB, which is what these tools read."""
        write_image(path, as_rgb_bytes(frame.left))

    def write_steps(self, path: Path, frame: ExportFrame) -> None:
        """Write the depth as a 16-bit PNG, and count what is too far for it."""
        steps, too_far = depth_steps(frame.depth_mm, self.plan.steps_per_mm)
        self.too_far += too_far
        write_whole(path, encode_pixels(steps, ".png"))

    def write_mask(self, path: Path, known: Array) -> None:
        """Write which pixels are known, as an 8-bit PNG with the chosen polarity."""
        is_white = known if self.white == "known" else ~known
        write_image(path, np.where(is_white, np.uint8(255), np.uint8(0)))

    def known(self, frame: ExportFrame) -> NDArray[np.bool_]:
        """Pixels whose depth is known in the export."""
        depth = np.asarray(frame.depth_mm)
        with np.errstate(invalid="ignore"):
            known = np.isfinite(depth) & (depth > 0)
            if self.has_steps:
                known &= np.rint(depth * self.plan.steps_per_mm) <= MOST_STEPS
            return np.asarray(known)


def depth_steps(depth_mm: Array, steps_per_mm: int) -> tuple[NDArray[np.uint16], int]:
    """Depth as 16-bit values.

    Parameters
    ----------
    depth_mm : ndarray of float, shape (h, w)
        NaN = unknown.
    steps_per_mm : int
        Values are the depth in mm times this.

    Returns
    -------
    steps : ndarray of uint16, shape (h, w)
        0 = unknown, or more than 65535 steps.
    too_far : int
        Number of pixels with more than 65535 steps.

    Examples
    --------
    >>> steps, too_far = depth_steps(np.float32([[61.74, np.nan, 700, 0.001]]), 100)
    >>> steps.tolist(), too_far
    ([[6174, 0, 0, 1]], 1)
    """
    depth = np.asarray(depth_mm, np.float64)
    with np.errstate(invalid="ignore"):
        known = np.isfinite(depth) & (depth > 0)
        steps = np.maximum(np.rint(np.where(known, depth, 0) * steps_per_mm), 1)  # 0 would mean unknown
    too_far = known & (steps > MOST_STEPS)
    return np.where(known & ~too_far, steps, 0).astype(np.uint16), int(np.count_nonzero(too_far))


WriterType = Callable[[Path, ExportPlan], LayoutWriter]
