"""What all readers of the fuzzer share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

NEXT_FILE = b"\n=== right ===\n"  # between the files of the left and of the right camera
SIZE = (64, 48)


@dataclass(frozen=True)
class Reader:
    """A public entrance.

    Attributes
    ----------
    read : callable
        Takes an empty folder and the content of a file.
    may_raise : tuple of type
        What its documentation names.
    words : tuple of str
        Words of the format, which the fuzzer puts together.
    """

    read: Callable[[Path, bytes], object]
    may_raise: tuple[type[Exception], ...] = (ValueError, OSError)
    words: tuple[str, ...] = ()


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def any_of(reads: list[Callable[[], object]]) -> None:
    """Call all; if each raised a documented exception, so does this."""
    errors = []
    for read in reads:
        try:
            read()
        except (ValueError, OSError) as error:
            errors.append(error)
    if len(errors) == len(reads):
        raise errors[-1]


def text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def check_map(values: np.ndarray) -> None:
    assert values.dtype == np.float32
    assert values.ndim == 2
    assert not np.isinf(values).any()


NPY_WORDS = ("\\x93NUMPY", "'descr': ", "'<f4'", "'|O'", "'fortran_order': ", "'shape': (", "True", "disparity.npy")
