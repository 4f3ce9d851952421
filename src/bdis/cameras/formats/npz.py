"""``.npz`` of NumPy users: arrays with names such as K1, mtxL or cameraMatrix1; zero-based, as OpenCV gives them."""

from typing import Any

import numpy as np

from ...common.arrays import Array
from ...common.npz import Npz
from .base import CalibrationFile, CalibrationFormat, CalibrationText, Size, check_size
from .declared import says_fisheye, unit_stated
from .opencv import cameras_of
from .spellings import DISTORTION, of_both_sides, one_of, plain, shown

_MATRIX = {"k", "m", "mtx", "matrix", "cameramatrix", "cammatrix", "cammtx", "camera", "intrinsic", "intrinsics",
           "intrinsicmatrix", "intrinsicsmatrix"}  # fmt: skip
_PROJECTION = {"p", "proj", "projection", "projectionmatrix"}
_WHOLE = {
    "R": {"r", "rot", "rotation", "rotationmatrix", "rmat"},
    "T": {"t", "trans", "translation", "translationvector", "tvec"},
    "Q": {"q"},
}
_SIZES = {"size", "imagesize", "imgsize"}  # (width, height)
_SHAPES = {"shape", "imageshape", "imgshape"}  # (height, width)
_MOST_ARRAYS, _MOST_NUMBERS, _MOST_TEXTS, _LONGEST_TEXT = 200, 64, 2, 100


def _recognises(file: CalibrationText) -> bool:
    return file.content.startswith(b"PK\x03\x04")


def _read(file: CalibrationText) -> CalibrationFile:
    arrays, said = _contents(file.content)
    matrices: dict[str, Array] = {}
    for letter, stems in (("K", _MATRIX), ("D", DISTORTION), ("P", _PROJECTION)):
        matrices |= of_both_sides(arrays, letter, stems)
    for name, spellings in _WHOLE.items():
        found = [spelling for spelling in arrays if plain(spelling) in spellings]
        if found:
            matrices[name] = one_of(arrays, found)
    if "K1" in matrices and ("D1" not in matrices or "D2" not in matrices):
        raise ValueError(
            f"camera matrices without distortion of both cameras, among {_names(arrays)}; expected D1 and D2"
        )
    fisheye = says_fisheye(said) if "K1" in matrices else None
    unit = unit_stated(said) if file.unit is None else None
    return cameras_of(
        "NumPy .npz", matrices, _size(arrays, matrices), file,
        lacking=f"its arrays are {_names(arrays)}", fisheye=fisheye, unit=unit,
    )  # fmt: skip


def _contents(content: bytes) -> tuple[dict[str, Array], dict[str, Any]]:
    """The small arrays of numbers in the file, and what it says in texts and single numbers.

    Larger ones, such as maps and points, are not looked at.
    """
    try:
        archive = Npz(content)
        names = archive.names()
        if len(names) > _MOST_ARRAYS:
            raise ValueError(f"{len(names)} arrays; a calibration has at most {_MOST_ARRAYS}")
        arrays = {name: archive[name] for name in names if archive.is_small(name, _MOST_NUMBERS)}
        texts = {
            name: _single(list(archive.texts(name, _MOST_TEXTS, _LONGEST_TEXT)))
            for name in names
            if archive.holds_texts(name, _MOST_TEXTS, _LONGEST_TEXT)
        }
    except MemoryError:
        raise
    except Exception as error:  # zipfile and NumPy raise many kinds for damaged content
        raise ValueError(f"a .npz that is damaged, or holds no plain arrays: {str(error)[:200]}") from error
    numbers = {name: _single(each.ravel().tolist()) for name, each in arrays.items()}
    return arrays, numbers | texts


def _single(values: list[Any]) -> Any:
    """The value that all of these are, whole numbers as int; if there are several, the list."""
    if len(set(values)) != 1:
        return values
    value = values[0]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _size(arrays: dict[str, Array], matrices: dict[str, Array]) -> Size | None:
    """Size of the images; refused if the principal point lies in the middle only with width and height exchanged."""
    for name, array in arrays.items():
        if plain(name) not in _SIZES | _SHAPES or array.size < 2:
            continue
        numbers: list[Any] = array.ravel().tolist()[:2]
        size = check_size(numbers if plain(name) in _SIZES else numbers[::-1])
        if size is not None and "K1" in matrices and matrices["K1"].shape == (3, 3):
            centre = matrices["K1"][:2, 2]
            off, exchanged = (np.abs(centre - np.array(each) / 2).max() for each in (size, size[::-1]))
            if exchanged < off and not (0 < centre[0] < size[0] and 0 < centre[1] < size[1]):
                raise ValueError(
                    f"{shown(name)} is {numbers}, but the principal point is {centre.tolist()}: exchanged?"
                )
        return size
    return None


def _names(arrays: dict[str, Array]) -> str:
    return ", ".join(shown(name) for name in list(arrays)[:20]) or "none"


FORMAT = CalibrationFormat("NumPy .npz (K1, D1, K2, D2, R, T, or mtxL, distL and the like)", _recognises, _read)
