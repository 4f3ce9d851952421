"""``.npz`` of NumPy users: arrays with names such as K1, mtxL or cameraMatrix1; zero-based, as OpenCV gives them."""

import re
from typing import Any

import numpy as np

from ...common.arrays import Array
from ...common.npz import Npz
from .base import CalibrationFile, CalibrationFormat, CalibrationText, Size, check_size
from .matrices import matrix_of, short_repr
from .opencv import cameras_of

# Names without what is neither letter nor digit, in lower case; a side may stand before or after.
_MATRIX = {"k", "m", "mtx", "matrix", "cameramatrix", "cammatrix", "cammtx", "camera", "intrinsic", "intrinsics",
           "intrinsicmatrix", "intrinsicsmatrix"}  # fmt: skip
_DISTORTION = {"d", "dist", "distcoeff", "distcoeffs", "distcoef", "distcoefs", "distortion", "distortioncoefficients",
               "distcoefficients", "distortioncoeffs"}  # fmt: skip
_PROJECTION = {"p", "proj", "projection", "projectionmatrix"}
_PAIRS = (("1", "2"), ("left", "right"), ("l", "r"), ("0", "1"))
_WHOLE = {
    "R": {"r", "rot", "rotation", "rotationmatrix", "rmat"},
    "T": {"t", "trans", "translation", "translationvector", "tvec"},
    "Q": {"q"},
}
_SIZES = {"size", "imagesize", "imgsize"}  # (width, height)
_SHAPES = {"shape", "imageshape", "imgshape"}  # (height, width)
_MOST_ARRAYS, _MOST_NUMBERS = 200, 64


def _recognises(file: CalibrationText) -> bool:
    return file.content.startswith(b"PK\x03\x04")


def _read(file: CalibrationText) -> CalibrationFile:
    arrays = _arrays(file.content)
    matrices: dict[str, Array] = {}
    for letter, stems in (("K", _MATRIX), ("D", _DISTORTION), ("P", _PROJECTION)):
        matrices |= _of_both_sides(arrays, letter, stems)
    for name, spellings in _WHOLE.items():
        found = [spelling for spelling in arrays if _plain(spelling) in spellings]
        if found:
            matrices[name] = _one_of(arrays, found)
    if "K1" in matrices and ("D1" not in matrices or "D2" not in matrices):
        raise ValueError(
            f"camera matrices without distortion of both cameras, among {_names(arrays)}; expected D1 and D2"
        )
    return cameras_of("NumPy .npz", matrices, _size(arrays, matrices), file, lacking=f"its arrays are {_names(arrays)}")


def _arrays(content: bytes) -> dict[str, Array]:
    """The small arrays of numbers in the file; larger ones, such as maps and points, are not looked at."""
    try:
        archive = Npz(content)
        names = archive.names()
        if len(names) > _MOST_ARRAYS:
            raise ValueError(f"{len(names)} arrays; a calibration has at most {_MOST_ARRAYS}")
        return {name: archive[name] for name in names if archive.is_small(name, _MOST_NUMBERS)}
    except MemoryError:
        raise
    except Exception as error:  # zipfile and NumPy raise many kinds for damaged content
        raise ValueError(f"a .npz that is damaged, or holds no plain arrays: {str(error)[:200]}") from error


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def _of_both_sides(arrays: dict[str, Array], letter: str, stems: set[str]) -> dict[str, Array]:
    """The matrices of the left and right camera under any usual pair of names; two pairs must agree."""
    for left, right in _PAIRS:
        sides = []
        for side in (left, right):
            wanted = {f"{stem}{side}" for stem in stems} | {f"{side}{stem}" for stem in stems}
            sides.append([name for name in arrays if _plain(name) in wanted])
        if all(sides):
            return {f"{letter}{number}": _one_of(arrays, names) for number, names in enumerate(sides, 1)}
    return {}


def _one_of(arrays: dict[str, Array], names: list[str]) -> Array:
    """The array under several names, which must agree."""
    first = matrix_of(arrays[names[0]], _shown(names[0]))
    for other in names[1:]:
        if not np.array_equal(first, arrays[other]):
            raise ValueError(f"{_shown(names[0])} and {_shown(other)} differ; which is meant?")
    return first


def _size(arrays: dict[str, Array], matrices: dict[str, Array]) -> Size | None:
    """Size of the images; refused if the principal point lies in the middle only with width and height exchanged."""
    for name, array in arrays.items():
        if _plain(name) not in _SIZES | _SHAPES or array.size < 2:
            continue
        numbers: list[Any] = array.ravel().tolist()[:2]
        size = check_size(numbers if _plain(name) in _SIZES else numbers[::-1])
        if size is not None and "K1" in matrices and matrices["K1"].shape == (3, 3):
            centre = matrices["K1"][:2, 2]
            off, exchanged = (np.abs(centre - np.array(each) / 2).max() for each in (size, size[::-1]))
            if exchanged < off and not (0 < centre[0] < size[0] and 0 < centre[1] < size[1]):
                raise ValueError(
                    f"{_shown(name)} is {numbers}, but the principal point is {centre.tolist()}: exchanged?"
                )
        return size
    return None


def _shown(name: str) -> str:
    return short_repr(name).strip("'\"")


def _names(arrays: dict[str, Array]) -> str:
    return ", ".join(_shown(name) for name in list(arrays)[:20]) or "none"


FORMAT = CalibrationFormat("NumPy .npz (K1, D1, K2, D2, R, T, or mtxL, distL and the like)", _recognises, _read)
