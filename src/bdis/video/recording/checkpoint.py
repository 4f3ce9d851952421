"""What the next frame of a recording needs of those before, kept so that a resumed run gives the same bits."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ...common.arrays import Array
from ...common.atomic import write_whole
from ...common.npz import NUMBERS_AND_TEXT, Npz
from ...common.reading import MAX_IMAGE_BYTES, parse_json, read_limited
from ...matching.result import FrameMemory, StereoResult
from ...matching.settings import Settings

CHECKPOINT = "resume.npz"
_DIGEST = "sha256"
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
    stored = {name: np.asarray(value) for name, value in arrays.items()}
    content = io.BytesIO()
    np.savez(content, **stored, **{_DIGEST: np.asarray(_digest(stored))})  # type: ignore[arg-type]
    with contextlib.suppress(FileNotFoundError):
        os.replace(folder / CHECKPOINT, folder / _EARLIER)
    write_whole(folder / CHECKPOINT, content.getvalue())


def read_checkpoints(folder: Path) -> tuple[list[Checkpoint], list[str]]:
    """All checkpoints of a recording that are as they were written, and the names of the files that are not.

    Parameters
    ----------
    folder : Path
        Folder of the recording.

    Returns
    -------
    found : list of Checkpoint
        The newest first.
    unusable : list of str
        Files that are damaged, or were written by a version of bdis that stored something else.
    """
    found, unusable = [], []
    for name in (CHECKPOINT, _EARLIER):
        try:
            found.append(_read(folder / name))
        except FileNotFoundError:
            continue
        except Exception:  # zipfile and NumPy raise many kinds for damaged content
            unusable.append(name)
    return found, unusable


def remove_checkpoints(folder: Path) -> None:
    """Remove all checkpoints of a recording, which is complete."""
    for name in (CHECKPOINT, _EARLIER):
        (folder / name).unlink(missing_ok=True)


def _read(path: Path) -> Checkpoint:
    file = Npz(read_limited(path, MAX_IMAGE_BYTES), NUMBERS_AND_TEXT)
    arrays = {name: file[name] for name in file.names()}
    if str(arrays.pop(_DIGEST)) != _digest(arrays):
        raise ValueError
    memory = None
    if "left" in arrays:
        settings = Settings(**parse_json(str(arrays["settings"])))
        memory = FrameMemory(_map(arrays, "left", np.int16), _map(arrays, "trust", np.float32), settings)
    disparity = _map(arrays, "disparity", np.float32)
    index, offset, tilt = int(arrays["index"]), float(arrays["row_offset"]), float(arrays["row_tilt"])
    if index < 0 or not math.isfinite(offset) or not math.isfinite(tilt):
        raise ValueError
    result = StereoResult(disparity, np.zeros_like(disparity), row_offset=offset, row_tilt=tilt, memory=memory)
    return Checkpoint(index, result)


def _digest(arrays: dict[str, Array]) -> str:
    """SHA-256 of all that is kept: a value that could be right is not told from a changed one by its range."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _map(arrays: dict[str, Array], name: str, kind: type) -> Array:
    found = arrays[name]
    if found.ndim != 2 or found.dtype != kind:
        raise ValueError
    return found
