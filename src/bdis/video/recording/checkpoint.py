"""What the next frame of a recording needs of those before, kept so that a resumed run gives the same bits."""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ...common.atomic import write_whole
from ...matching.result import FrameMemory, StereoResult
from ...matching.settings import Settings

CHECKPOINT = "resume.npz"
_EARLIER = "resume.earlier.npz"  # after a power cut the newest may be ahead of the videos


@dataclass(frozen=True)
class Checkpoint:
    """The result of a frame, as far as the next one is averaged with it.

    Attributes
    ----------
    index : int
        Number of the frame in its source.
    result : StereoResult
        Its result, for ``previous`` of :meth:`bdis.StereoMatcher.match`.
    """

    index: int
    result: StereoResult


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Keep a checkpoint, and the one before it.

    Raises
    ------
    OSError
        It cannot be written.
    """
    result, memory = checkpoint.result, checkpoint.result.memory
    arrays = {
        "index": checkpoint.index,
        "disparity": result.disparity,
        "row_offset": result.row_offset,
        "row_tilt": result.row_tilt,
    }
    if memory is not None:
        arrays |= {"left": memory.left, "trust": memory.trust, "settings": json.dumps(asdict(memory.settings))}
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    with contextlib.suppress(FileNotFoundError):
        os.replace(folder / CHECKPOINT, folder / _EARLIER)
    write_whole(folder / CHECKPOINT, content.getvalue())


def read_checkpoints(folder: Path) -> list[Checkpoint]:
    """All checkpoints of a recording, the newest first; those that cannot be read are left out."""
    found = []
    for name in (CHECKPOINT, _EARLIER):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile):
            found.append(_read(folder / name))
    return found


def remove_checkpoints(folder: Path) -> None:
    """Remove all checkpoints of a recording, which is complete."""
    for name in (CHECKPOINT, _EARLIER):
        (folder / name).unlink(missing_ok=True)


def _read(path: Path) -> Checkpoint:
    with np.load(path, allow_pickle=False) as arrays:
        memory = None
        if "left" in arrays:
            settings = Settings(**json.loads(str(arrays["settings"])))
            memory = FrameMemory(arrays["left"], arrays["trust"], settings)
        disparity = arrays["disparity"]
        offset, tilt = float(arrays["row_offset"]), float(arrays["row_tilt"])
        result = StereoResult(disparity, np.zeros_like(disparity), row_offset=offset, row_tilt=tilt, memory=memory)
        return Checkpoint(int(arrays["index"]), result)
