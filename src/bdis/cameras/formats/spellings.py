"""Names that people give to the matrices of two cameras: mtxL, distCoeffs_1, right_dist."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...common.arrays import Array
from .matrices import matrix_of, short_repr

# Names without what is neither letter nor digit, in lower case; a side may stand before or after.
DISTORTION = {"d", "dist", "distcoeff", "distcoeffs", "distcoef", "distcoefs", "distortion", "distortioncoefficients",
              "distcoefficients", "distortioncoeffs"}  # fmt: skip
_PAIRS = (("1", "2"), ("left", "right"), ("l", "r"), ("0", "1"))


def plain(name: str) -> str:
    """A name without what is neither letter nor digit, in lower case.

    >>> plain("distCoeffs_1")
    'distcoeffs1'
    """
    return re.sub("[^a-z0-9]", "", name.lower())


def of_both_sides(values: Mapping[str, Any], letter: str, stems: set[str]) -> dict[str, Array]:
    """The matrices of the left and right camera under any usual pair of names; two pairs must agree.

    Parameters
    ----------
    values : mapping of str to matrix
        What is in the file.
    letter : str
        What they are named by in the result, with 1 or 2.
    stems : set of str
        Plain names without the side.

    Returns
    -------
    dict of str to ndarray
        Empty unless both are there; a matrix without numbers is not.

    Raises
    ------
    ValueError
        One of them is no matrix of numbers, or they are there twice and differ.

    Examples
    --------
    >>> of_both_sides({"dist_L": [0.1], "dist_R": [0.2]}, "D", DISTORTION)
    {'D1': array([0.1]), 'D2': array([0.2])}
    """
    for pair in _PAIRS:
        sides = [
            [name for name in values if plain(name) in _with_side(stems, side) and not is_empty(values[name])]
            for side in pair
        ]
        if all(sides):
            return {f"{letter}{number}": one_of(values, names) for number, names in enumerate(sides, 1)}
    return {}


def is_empty(matrix: Any) -> bool:
    """Whether a matrix has no numbers, as OpenCV writes one that was never filled.

    >>> is_empty({"rows": 0, "cols": 0, "data": []}), is_empty([0, 0])
    (True, False)
    """
    numbers = matrix.get("data", 0) if isinstance(matrix, dict) else matrix
    return isinstance(numbers, list | np.ndarray) and len(numbers) == 0


def like_distortion(names: Iterable[str]) -> list[str]:
    """Those names that look like distortion coefficients, under a usual name or any other.

    >>> like_distortion(["K1", "D1", "lens_distortion", "R"])
    ['D1', 'lens_distortion']
    """
    known = {name for pair in _PAIRS for side in pair for name in _with_side(DISTORTION, side)}
    return [name for name in names if re.search("dist(?!ance)", plain(name)) or plain(name) in known]


def one_of(values: Mapping[str, Any], names: list[str]) -> Array:
    """The matrix under several names, which must agree."""
    first = matrix_of(values[names[0]], shown(names[0]))
    for other in names[1:]:
        if not np.array_equal(first, matrix_of(values[other], shown(other))):
            raise ValueError(f"{shown(names[0])} and {shown(other)} differ; which is meant?")
    return first


def shown(name: str) -> str:
    """A name of a file in a message."""
    return short_repr(name).strip("'\"")


def _with_side(stems: set[str], side: str) -> set[str]:
    return {f"{stem}{side}" for stem in stems} | {f"{side}{stem}" for stem in stems}
