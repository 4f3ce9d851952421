"""PFM, the float image format of Middlebury: rows from the bottom up; the sign of the scale gives the byte order."""

import re

import numpy as np
from numpy.typing import NDArray

from ..common.reading import check_pixels


def encode_pfm(image: NDArray[np.float32]) -> bytes:
    """Encode a float image as the content of a PFM file.

    Parameters
    ----------
    image : ndarray of float32, shape (h, w)
        Values to store.

    Returns
    -------
    bytes
        Content of the file, little-endian.

    Examples
    --------
    >>> import numpy as np
    >>> encode_pfm(np.zeros((1, 2), np.float32))
    b'Pf\\n2 1\\n-1.0\\n\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'
    """
    height, width = image.shape
    return f"Pf\n{width} {height}\n-1.0\n".encode() + image[::-1].astype("<f4").tobytes()


def decode_pfm(content: bytes) -> NDArray[np.float32]:
    """Decode the content of a PFM file with one channel.

    Parameters
    ----------
    content : bytes
        Content of the file.  The magnitude of its scale is ignored, because it has no meaning for disparities.

    Returns
    -------
    ndarray of float32, shape (h, w)
        Values as stored.

    Raises
    ------
    ValueError
        The content is not a PFM file of one channel, or is truncated.

    Examples
    --------
    >>> decode_pfm(b"Pf 2 1 1.0\\n" + np.array([1, 2], ">f4").tobytes()).tolist()
    [[1.0, 2.0]]
    """
    header = re.match(rb"P(f|F)\s++(\d{1,9})\s++(\d{1,9})\s++([-+.\deE]{1,40})\s", content)
    if header is None:
        raise ValueError("not a PFM file: expected 'Pf', width, height and scale")
    if header[1] == b"F":
        raise ValueError("a PFM file of three channels; expected one")
    width, height = int(header[2]), int(header[3])
    check_pixels(width, height, "the image")
    body = content[header.end() :]
    if len(body) < 4 * width * height:
        raise ValueError(f"cut short: {width}x{height} needs {4 * width * height} bytes, it has {len(body)}")
    order = "<f4" if float(header[4]) < 0 else ">f4"
    return np.frombuffer(body, order, width * height).reshape(height, width)[::-1].astype(np.float32)
