"""Files of weights: read without running what they hold, and what is known of the published ones."""

from __future__ import annotations

import hashlib
import io
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...common.printable import printable
from ...common.reading import read_limited
from .architectures import ARCHITECTURES, make_network
from .layers import StereoNetwork

MAX_BYTES = 2**30  # of a file; the largest published one, with the state of its optimiser, has some 80 MB
OUR_FORMAT = "bdis-network"  # entry of checkpoints that `bdis networks finetune` writes
_ENTRIES = ("state_dict", "model")  # where PSMNet's and GwcNet's files have the tensors
_COUNTER = ".num_batches_tracked"  # which files of torch before 0.4.1 lack; nothing depends on it


class Training(NamedTuple):
    """How the weights of a checkpoint were trained.

    Attributes
    ----------
    title : str
        What they are.
    align_corners : bool
        How interpolation was done.
    disparity_scale : float
        Factor on the disparities that makes up for a mistake in the training.
    """

    title: str
    align_corners: bool = False
    disparity_scale: float = 1.0


# By git's id of the file (`git hash-object FILE`). The authors' issues 61, 64, 113, 135 and 224 tell how to use them.
KNOWN = {
    "9d79fcd7baa925bd281d2ab8dff7d4e5a1035669": Training("PSMNet KITTI 2015", align_corners=True),
    "1b559df5a97624afedf0369b28ebc01e9b967bc5": Training("PSMNet KITTI 2012", align_corners=True),
    "b407dcbcf5d1dbdbf272bdd0ff316721fc9739e6": Training(
        "PSMNet Scene Flow, the first", align_corners=True, disparity_scale=1.17
    ),
}


class Checkpoint(NamedTuple):
    """What a file of weights holds.

    Attributes
    ----------
    tensors : dict of str to Tensor
        By their names in the network.
    identity : str
        git's id of the file.
    training : Training or None
        None if the file is not known.
    """

    tensors: dict[str, Tensor]
    identity: str
    training: Training | None


def git_id(content: bytes) -> str:
    """The id that git gives to a file of this content.

    Examples
    --------
    >>> git_id(b"hello")
    'b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def read_checkpoint(path: Path, name: str) -> Checkpoint:
    """Read the weights of a network.

    Parameters
    ----------
    path : Path
        A file that torch wrote: a published checkpoint, one of ours, or the tensors alone.
    name : str
        The network that they are for.

    Returns
    -------
    Checkpoint
        With all tensors of the network, float32, and no others.

    Raises
    ------
    ValueError
        Not such a file, or the weights of something else; the message says what.
    OSError
        The file cannot be read.
    """
    content = read_limited(path, MAX_BYTES)
    saved = load_safely(content, path)
    identity = git_id(content)
    return Checkpoint(_fitting(_tensors(saved, path), name, path), identity, KNOWN.get(identity) or _ours(saved))


def load_safely(content: bytes, path: Path) -> Any:
    """What torch saved in a file: tensors, numbers, texts, lists and dicts, and nothing that could run code.

    Raises
    ------
    ValueError
        Anything else.
    """
    try:
        _check_unpacked(content)
        with warnings.catch_warnings():  # what torch says of odd tensors; those are refused later, in our words
            warnings.simplefilter("ignore")
            return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:  # torch raises whatever the damaged place leads to
        if more := _more_than_weights(content, error):
            raise ValueError(
                f"{path} holds more than weights ({more}), which could run code when it is loaded; "
                "it was not loaded. Save the weights alone: torch.save(network.state_dict(), FILE)"
            ) from None
        raise ValueError(
            f"{path} is no file of weights that torch can read: it is cut short, or something else; "
            "expected a published checkpoint (.tar or .ckpt), which is not to be unpacked"
        ) from None


def _more_than_weights(content: bytes, error: Exception) -> str:
    """What a file holds that is no data, as torch found; empty if that is not why it cannot be read."""
    if not isinstance(error, pickle.UnpicklingError):
        return ""
    if found := re.search(r"GLOBAL ([\w.]+)", str(error)):
        return printable(found[1])
    is_newer_pickle = content[:1] == b"\x80" and content[1:2] > b"\x02"  # torch writes protocol 2
    return "a Python pickle" if is_newer_pickle else ""


def _check_unpacked(content: bytes) -> None:
    """Refuse an archive whose parts would take more memory than any file of weights may have."""
    file = io.BytesIO(content)
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            if sum(part.file_size for part in archive.infolist()) > MAX_BYTES:
                raise ValueError("too large")


def _tensors(saved: Any, path: Path) -> dict[str, Tensor]:
    """The tensors by name, without what the authors' training on several graphics cards put before the names."""
    found = saved
    if isinstance(saved, Mapping):
        found = next((saved[entry] for entry in _ENTRIES if isinstance(saved.get(entry), Mapping)), saved)
    if not isinstance(found, Mapping) or not any(isinstance(value, Tensor) for value in found.values()):
        raise ValueError(f"{path} holds no weights; expected tensors by name, or under {' or '.join(_ENTRIES)}")
    return {
        str(key).removeprefix("module."): value.detach() for key, value in found.items() if isinstance(value, Tensor)
    }


def _fitting(tensors: dict[str, Tensor], name: str, path: Path) -> dict[str, Tensor]:
    """The tensors, or an error if they are not those of the network."""
    expected = _shapes(name)
    if problem := _difference(tensors, expected):
        others = [other for other in ARCHITECTURES if other != name and not _difference(tensors, _shapes(other))]
        hint = f"; they are those of {others[0]}" if others else ""
        raise ValueError(f"{path} does not hold the weights of {name}{hint}: {problem}")
    made = {key: value.to(torch.float32) for key, value in tensors.items() if not key.endswith(_COUNTER)}
    if broken := [key for key, value in made.items() if not bool(torch.isfinite(value).all())]:
        raise ValueError(f"{path}: {broken[0]} holds NaN or infinite values; its training must have failed")
    return {key: made[key] if key in made else torch.zeros((), dtype=torch.int64) for key in expected}


def _shapes(name: str) -> dict[str, tuple[int, ...]]:
    """Shapes of all tensors of a network, which is made without memory for them."""
    with torch.device("meta"):
        return {key: tuple(value.shape) for key, value in make_network(name, 16).state_dict().items()}


def _difference(tensors: dict[str, Tensor], expected: dict[str, tuple[int, ...]]) -> str:
    """The first difference in words; empty if there is none."""
    missing = [key for key in expected if key not in tensors and not key.endswith(_COUNTER)]
    if missing:
        return f"{len(missing)} of {len(expected)} tensors are missing, such as {missing[0]}"
    if unknown := [key for key in tensors if key not in expected]:
        return f"{len(unknown)} tensors are unknown, such as {printable(unknown[0][:80])!r}"
    for key, value in tensors.items():
        if tuple(value.shape) != expected[key]:
            return f"{key} is {tuple(value.shape)}, expected {expected[key]}"
        if value.layout != torch.strided or value.is_quantized or value.is_complex():
            return f"{key} is no plain array of numbers"
    return ""


def _ours(saved: Any) -> Training | None:
    """How a checkpoint of `bdis networks finetune` was trained; None if it is none."""
    about = saved.get(OUR_FORMAT) if isinstance(saved, Mapping) else None
    if not isinstance(about, Mapping):
        return None
    aligned, scale = about.get("align_corners"), about.get("disparity_scale")
    if not isinstance(aligned, bool) or not isinstance(scale, float) or not 0 < scale <= 10:
        return None
    return Training("fine-tuned with bdis", aligned, scale)


def about_training(network: StereoNetwork, disparity_scale: float) -> dict[str, Any]:
    """What our own checkpoints say of themselves, see :func:`read_checkpoint`."""
    return {OUR_FORMAT: {"align_corners": network.align_corners, "disparity_scale": float(disparity_scale)}}
