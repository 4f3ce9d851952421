"""Layouts that reconstruction tools read, one file each, written from any frames with depth.

To add a layout, write a module with a :class:`~.frame.LayoutWriter` and add it to ``LAYOUTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ...common.atomic import Place, all_or_nothing, named
from .colmap_depth import ColmapDepthWriter
from .endonerf import EndoNerfWriter
from .frame import ABOUT, MOST_STEPS, STEPS_PER_MM, ExportFrame, ExportPlan, LayoutWriter
from .nerfstudio import NerfstudioWriter
from .poses import read_poses
from .tum import TumWriter
from .zarr_group import ZarrWriter

__all__ = [
    "ABOUT",
    "LAYOUTS",
    "MOST_STEPS",
    "STEPS_PER_MM",
    "ExportFrame",
    "ExportPlan",
    "LayoutWriter",
    "check_empty",
    "export_frames",
    "read_poses",
]

LAYOUTS: dict[str, type[LayoutWriter]] = {
    each.name: each for each in (EndoNerfWriter, TumWriter, ColmapDepthWriter, NerfstudioWriter, ZarrWriter)
}


def export_frames(
    frames: Iterable[ExportFrame],
    folder: Place,
    layout: str,
    plan: ExportPlan,
    *,
    progress: Callable[[int], None] = lambda done: None,
) -> LayoutWriter:
    """Write frames in the layout of another tool: all of them, or nothing.

    Parameters
    ----------
    frames : iterable of ExportFrame
        As many as ``plan.count``.
    folder : str or path-like
        A new or empty folder.
    layout : str
        A key of ``LAYOUTS``.
    plan : ExportPlan
        The cameras, and the choices of the user.
    progress : callable
        Called with the number of frames done.

    Returns
    -------
    LayoutWriter
        Has the number of pixels that were too far, and what the layout cannot express.

    Raises
    ------
    FileExistsError
        The folder is not empty.
    ValueError
        There is no such layout, or frames do not fit the plan.
    OSError
        Something cannot be written, for example because the disk is full; the folder is as it was before.
    ImportError
        An optional package is missing.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from bdis import Rig
    >>> image, depth_mm = np.full((48, 64, 3), 90, np.uint8), np.full((48, 64), 61.74, np.float32)
    >>> plan = ExportPlan(Rig(50, 31.5, 23.5, 5), (48, 64), count=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = export_frames([ExportFrame(0, 0.0, image, depth_mm)], folder, "endonerf", plan)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['depth', 'export.json', 'images', 'masks', 'poses_bounds.npy']
    """
    if layout not in LAYOUTS:
        raise ValueError(f"there is no layout {layout!r}; choose among {', '.join(LAYOUTS)}")
    check_empty(Path(folder))
    with all_or_nothing(folder) as stage:
        try:
            writer = LAYOUTS[layout](stage, plan)
            for frame in frames:
                writer.add(frame)
                progress(writer.written)
            writer.finish()
        except OSError as error:
            if error.filename is not None and Path(error.filename).is_relative_to(stage):
                raise named(error, Path(folder) / Path(error.filename).relative_to(stage)) from error
            raise
    return writer


def check_empty(folder: Path) -> None:
    """Raise FileExistsError unless a folder is new or empty.

    >>> check_empty(Path(__file__).parent)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileExistsError: ... is not empty: an export needs a folder of its own
    """
    if not folder.exists():
        return
    names = sorted(path.name for path in folder.iterdir())
    if names and all(name.startswith(".unfinished-") for name in names):
        raise FileExistsError(
            f"{folder} holds {names[0]} of an export that was killed, or that is still running: remove it if it is not"
        )
    if names:
        raise FileExistsError(f"{folder} is not empty: an export needs a folder of its own")
