"""NumPy's files of arrays, ``.npy`` and ``.npz``, from others: only numbers, and only as many as are read."""

import io
import math
import zipfile
from typing import IO, Any

import numpy as np

from .arrays import Array
from .printable import printable
from .reading import MAX_PIXELS

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_MAX_BYTES = 8 * MAX_PIXELS  # of an array
_BYTES_OF_LETTER = 4
NUMBERS = "biuf"  # NumPy's letters for kinds of numbers: bool, int, unsigned, float
NUMBERS_AND_TEXT = "biufU"


def read_npy(file: IO[bytes], kinds: str = NUMBERS) -> Array:
    """Read an array, if its header promises one that is read.

    Parameters
    ----------
    file : file object
        Content of an ``.npy`` file; can be read again from its beginning.
    kinds : str
        NumPy's letters for the kinds of elements to accept.

    Returns
    -------
    ndarray

    Raises
    ------
    Exception
        NumPy raises many kinds for damaged content; a caller turns them into one.

    Examples
    --------
    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.array(["text"]))
    >>> read_npy(buffer)
    Traceback (most recent call last):
    ValueError: an array of <U4; expected numbers
    """
    shape, dtype = _promised(file)
    if dtype.kind not in kinds:
        raise ValueError(f"an array of {dtype}; expected numbers")
    if math.prod(shape[:2]) > MAX_PIXELS or math.prod(shape) * dtype.itemsize > _MAX_BYTES:
        raise ValueError(f"an array of shape {shape}; at most {MAX_PIXELS} pixels are read, as in 8192x8192")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def _promised(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of elements that the header of an ``.npy`` file promises."""
    file.seek(0)
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"an array in version {version} of NumPy's format; expected 1.0 or 2.0")
    shape, _, dtype = _HEADERS[version](file)
    return shape, dtype


class Npz:
    """The arrays of an ``.npz`` file, each read when it is asked for.

    Parameters
    ----------
    content : bytes
        Content of the file.
    kinds : str
        As in :func:`read_npy`.

    Raises
    ------
    Exception
        As :func:`read_npy`, here and when an array is read.

    Examples
    --------
    >>> buffer = io.BytesIO()
    >>> np.savez(buffer, disparity=np.float32([[2.5]]))
    >>> arrays = Npz(buffer.getvalue())
    >>> "variance" in arrays, arrays["disparity"].tolist()
    (False, [[2.5]])
    """

    def __init__(self, content: bytes, kinds: str = NUMBERS):
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        self._names, self._kinds = set(self._archive.namelist()), kinds

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._names

    def names(self) -> list[str]:
        """Names of all arrays."""
        return [name.removesuffix(".npy") for name in self._archive.namelist() if name.endswith(".npy")]

    def is_small(self, name: str, most: int) -> bool:
        """Whether an array is one of numbers, at most ``most`` of them; only its header is read."""
        with self._archive.open(f"{name}.npy") as file:
            shape, dtype = _promised(file)
        return dtype.kind in self._kinds and math.prod(shape) <= most

    def holds_texts(self, name: str, most: int, longest: int) -> bool:
        """Whether an array is one of text that :meth:`texts` reads; only its header is read."""
        with self._archive.open(f"{name}.npy") as file:
            shape, dtype = _promised(file)
        return dtype.kind == "U" and math.prod(shape) <= most and dtype.itemsize <= _BYTES_OF_LETTER * longest

    def texts(self, name: str, most: int, longest: int) -> tuple[str, ...]:
        r"""An array of text as lines that may be shown.

        Parameters
        ----------
        name : str
            Of the array.
        most, longest : int
            As many texts, and of as many characters, are read; more is a ValueError, before memory is taken.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> buffer = io.BytesIO()
        >>> np.savez(buffer, warnings=np.array(["dark", "red\x1b[31m"]))
        >>> Npz(buffer.getvalue()).texts("warnings", 9, 99)
        ('dark', 'red\\x1b[31m')
        """
        with self._archive.open(f"{name}.npy") as file:
            if not self.holds_texts(name, most, longest):
                shape, dtype = _promised(file)
                expected = f"expected at most {most} texts of {longest} letters"
                raise ValueError(f"{name} is an array of {dtype} of shape {shape}; {expected}")
            found = read_npy(file, "U")
        return tuple(printable(" ".join(str(text).split("\n"))) for text in found.ravel())

    def __getitem__(self, name: str) -> Array:
        if name not in self:
            raise ValueError(f"there is no array {name}")
        with self._archive.open(f"{name}.npy") as file:
            return read_npy(file, self._kinds)
