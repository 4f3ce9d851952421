"""Image files."""

import zlib
from pathlib import Path

import numpy as np

from ..common.arrays import Array
from ..common.atomic import Place, write_whole
from ..common.optional import require
from ..common.reading import MAX_IMAGE_BYTES, read_limited
from ..matching.images import as_image_array
from .image_headers import check_header, is_png
from .tiff_damage import check_deflate
from .tiff_tags import TIFF_STARTS

IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".pgm", ".ppm")
_SILENT = 0  # level of OpenCV's log
_PNG_START = 8  # bytes before the first chunk
_PNG_CHUNKS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")  # all that pixels are made of


def read_image(path: Place) -> Array:
    """Read an image as it is stored; an orientation in its metadata is ignored, or of a TIFF refused.

    Damage is noticed where the format has checksums: in PNG and in TIFF with Deflate.  In JPEG, PGM and PPM, and in
    TIFF that is not compressed or with LZW, only what is cut short or cannot be decoded is; wrong pixels are not.

    Parameters
    ----------
    path : str or path-like
        PNG, JPEG, TIFF, PGM or PPM file.

    Returns
    -------
    ndarray of uint8, uint16 or float32, shape (h, w) or (h, w, 3)
        Grey or RGB image; transparency is dropped.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        The file is not an image, is truncated or damaged, is a TIFF of several pages or with another orientation than
        1, or has more than 2^26 pixels (8192x8192).
    ImportError
        OpenCV is not installed.

    See Also
    --------
    write_image

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_image(f"{folder}/left.png", np.full((40, 50, 3), (200, 90, 80), np.uint8))
    ...     read_image(f"{folder}/left.png")[0, 0].tolist()
    [200, 90, 80]
    """
    return decode_image(read_limited(path, MAX_IMAGE_BYTES), path)


def write_image(path: Place, image: Array, *, bgr: bool = False) -> None:
    """Write an image in the format of the ending of ``path``.

    Parameters
    ----------
    path : str or path-like
        File ending with ``.png``, ``.jpg``, ``.jpeg``, ``.tif``, ``.tiff``, ``.pgm`` or ``.ppm``; an existing file is
        replaced.
    image : ndarray of uint8 or uint16, shape (h, w) or (h, w, 3)
        Grey or RGB image.
    bgr : bool, optional
        The channels are in the order blue, green, red, as ``cv2.imread`` returns them.

    Raises
    ------
    TypeError
        The image is None or has a mask.
    ValueError
        An unknown ending, or an image that the format cannot store.
    OSError
        The file cannot be written; no partial file is left.
    ImportError
        OpenCV is not installed.

    See Also
    --------
    read_image

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_image(f"{folder}/mask.pgm", np.full((40, 50), 255, np.uint8))
    ...     read_image(f"{folder}/mask.pgm").shape
    (40, 50)
    """
    image = as_image_array(image, "image")
    if image.dtype not in (np.uint8, np.uint16):
        raise ValueError(f"the image has pixels of type {image.dtype}; expected uint8 or uint16")
    ending = Path(path).suffix.lower()
    if ending in (".jpg", ".jpeg") and image.dtype != np.uint8:
        raise ValueError("JPEG stores 8 bit only; write 16 bit as PNG or TIFF")
    if ending not in IMAGE_ENDINGS:
        raise ValueError(f"{path} ends with {ending!r}; images are written as {', '.join(IMAGE_ENDINGS)}")
    write_whole(path, encode_pixels(image[..., ::-1] if image.ndim == 3 and not bgr else image, ending))


def decode_image(content: bytes, name: Place) -> Array:
    """Decode the content of an image file, like :func:`read_image`.

    Parameters
    ----------
    content : bytes
        Content of the file.
    name : str or path-like
        Name of the file for error messages.

    Returns
    -------
    ndarray of uint8, uint16 or float32, shape (h, w) or (h, w, 3)
        Grey or RGB image.

    Raises
    ------
    ValueError
        The content is not an image, or it is truncated or damaged.

    Examples
    --------
    >>> import numpy as np
    >>> decode_image(encode_pixels(np.full((2, 3), 7, np.uint8), ".png"), "seven").tolist()
    [[7, 7, 7], [7, 7, 7]]
    """
    image = decode_pixels(content, name)
    if image.dtype not in (np.uint8, np.uint16, np.float32):
        raise ValueError(f"{name} has pixels of type {image.dtype}; expected 8 or 16 bit, or float32")
    if image.ndim == 3 and image.shape[2] not in (3, 4):
        raise ValueError(f"{name} has {image.shape[2]} channels; expected 1, 3 or 4")
    if image.ndim == 3:
        image = np.ascontiguousarray(image[..., 2::-1])  # BGR or BGRA to RGB
    return image


def decode_pixels(content: bytes, name: Place) -> Array:
    """Decode the content of an image file to the pixels that OpenCV returns: any type, channels in BGR order."""
    check_header(content, name)
    if is_png(content):
        content = _only_pixels(content, name)
    cv2 = require("cv2", "reading images")
    logging = getattr(cv2.utils, "logging", cv2)  # of OpenCV 5; OpenCV 4 has the same functions at the top
    level = logging.getLogLevel()
    logging.setLogLevel(_SILENT)  # the error below replaces what OpenCV would print
    try:
        image: Array | None = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error:
        image = None
    finally:
        logging.setLogLevel(level)
    if image is None:
        raise ValueError(
            f"{name} cannot be read as an image ({len(content)} bytes): damaged, cut short or of an unusual kind"
        )
    if content[:4] in TIFF_STARTS:
        check_deflate(content, name)  # afterwards: only so is its size one that OpenCV reads
    return image


def encode_pixels(image: Array, ending: str) -> bytes:
    """Encode pixels, channels in BGR order, as the content of an image file with this ending."""
    cv2 = require("cv2", "writing images")
    done, content = cv2.imencode(ending, np.ascontiguousarray(image))
    if not done:
        raise ValueError(f"an image of shape {image.shape}, {image.dtype}, cannot be written as {ending}")
    return bytes(content)


def _only_pixels(content: bytes, name: Place) -> bytes:
    """A PNG without its texts, profiles and animations, about which libpng would print complaints on the terminal.

    Nothing behind its last chunk is left either: OpenCV would take what stands there for the length of a further one,
    and memory for so many bytes.  Raises ValueError unless every chunk up to the last is complete and has the right
    checksum.
    """
    at, kept, has_more = _PNG_START, [content[:_PNG_START]], False
    while at + 12 <= len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        end = at + 12 + length
        if end > len(content) or zlib.crc32(content[at + 4 : end - 4]) != int.from_bytes(content[end - 4 : end], "big"):
            break
        kind = content[at + 4 : at + 8]
        if kind in _PNG_CHUNKS:
            kept.append(content[at:end])
        else:
            has_more = True
        if kind == b"IEND" and length > 0:  # OpenCV would read on
            break
        if kind == b"IEND":
            has_more |= end < len(content)
            return b"".join(kept) if has_more else content  # most files have pixels only, and are not copied
        at = end
    raise ValueError(f"{name} is a PNG that is cut short or damaged, after {at} of its {len(content)} bytes")
