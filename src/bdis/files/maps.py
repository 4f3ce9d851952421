"""Images, disparity and depth: from files, and to files that are written whole or not at all."""

import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.atomic import Place, write_whole
from ..common.optional import require
from ..matching.result import StereoResult
from .pfm import decode_pfm, encode_pfm

Array = np.ndarray[Any, np.dtype[Any]]
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".pgm", ".ppm")
_PNG_START = b"\x89PNG\r\n\x1a\n"
_KITTI_SCALE = 256.0  # steps per px


# --- Images -----------------------------------------------------------------------------------------------------------


def read_image(path: Place) -> Array:
    """Read a PNG, JPEG, TIFF, PGM or PPM image as it is stored, without rotation by its metadata.

    Returns
    -------
    uint8, uint16 or float32, (height, width) grey or (height, width, 3) RGB; transparency is left out

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not an image, or is cut short or damaged.
    ImportError
        OpenCV is not installed.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_image(f"{folder}/left.png", np.full((40, 50, 3), (200, 90, 80), np.uint8))
    ...     read_image(f"{folder}/left.png")[0, 0].tolist()
    [200, 90, 80]
    """
    return decode_image(Path(path).read_bytes(), path)


def decode_image(content: bytes, name: Place) -> Array:
    """The same from the content of a file that is in memory, called ``name`` in errors.

    Examples
    --------
    >>> import numpy as np
    >>> decode_image(_encode(np.full((2, 3), 7, np.uint8), ".png"), "seven").tolist()
    [[7, 7, 7], [7, 7, 7]]
    """
    image = _decode(content, name)
    if image.dtype not in (np.uint8, np.uint16, np.float32):
        raise ValueError(f"{name} has pixels of type {image.dtype}; expected 8 or 16 bit, or float32")
    if image.ndim == 3:
        image = np.ascontiguousarray(image[..., 2::-1])  # BGR or BGRA to RGB
    return image


def write_image(path: Place, image: Array) -> None:
    """Write a grey or RGB image, uint8 or uint16, in the format of the ending of ``path``.

    Raises
    ------
    ValueError
        An unknown ending, or an image the format cannot hold.
    OSError
        The file cannot be written; nothing half-written is left.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_image(f"{folder}/mask.pgm", np.full((40, 50), 255, np.uint8))
    ...     read_image(f"{folder}/mask.pgm").shape
    (40, 50)
    """
    image = np.asarray(image)
    if image.dtype not in (np.uint8, np.uint16):
        raise ValueError(f"the image has pixels of type {image.dtype}; expected uint8 or uint16")
    ending = Path(path).suffix.lower()
    if ending in (".jpg", ".jpeg") and image.dtype != np.uint8:
        raise ValueError("JPEG holds 8 bit only; write 16 bit as PNG or TIFF")
    if ending not in IMAGE_ENDINGS:
        raise ValueError(f"{path} ends with {ending!r}; images are written as {', '.join(IMAGE_ENDINGS)}")
    write_whole(path, _encode(image[..., ::-1] if image.ndim == 3 else image, ending))


def _decode(content: bytes, path: Place) -> Array:
    if content.startswith(_PNG_START):
        _check_whole_png(content, path)  # first, as libpng complains on the terminal
    cv2 = require("cv2", "reading images")
    logging = cv2.utils.logging
    level = logging.getLogLevel()
    logging.setLogLevel(logging.LOG_LEVEL_SILENT)  # what is wrong is said below, in words
    try:
        image: Array | None = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error:
        image = None
    finally:
        logging.setLogLevel(level)
    if image is None:
        raise ValueError(
            f"{path} cannot be read as an image ({len(content)} bytes): not {', '.join(IMAGE_ENDINGS)}, or cut short"
        )
    return image


def _check_whole_png(content: bytes, path: Place) -> None:
    """Every chunk complete and undamaged, up to the last one."""
    at = len(_PNG_START)
    while at + 12 <= len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        end = at + 12 + length
        if end > len(content) or zlib.crc32(content[at + 4 : end - 4]) != int.from_bytes(content[end - 4 : end], "big"):
            break
        if content[at + 4 : at + 8] == b"IEND":
            return
        at = end
    raise ValueError(f"{path} is a PNG that is cut short or damaged, after {at} of its {len(content)} bytes")


def _encode(image: Array, ending: str) -> bytes:
    cv2 = require("cv2", "writing images")
    done, content = cv2.imencode(ending, np.ascontiguousarray(image))
    if not done:
        raise ValueError(f"an image of shape {image.shape}, {image.dtype}, cannot be written as {ending}")
    return bytes(content)


# --- Disparity --------------------------------------------------------------------------------------------------------


def write_disparity(path: Place, disparity: Array) -> None:
    """Write a disparity in px, NaN = unknown, in the format of the ending of ``path``.

    ``.tiff``, ``.npy``: float32, NaN = unknown.  ``.pfm``: float32, inf = unknown, as Middlebury has it.  ``.png``:
    uint16 of 256ths of a px, 0 = unknown, as KITTI has it.

    Raises
    ------
    ValueError
        Another ending, or a disparity that a PNG cannot hold (negative, or 256 px and more).
    OSError
        The file cannot be written; nothing half-written is left.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_disparity(f"{folder}/disparity.png", np.float32([[2.5, np.nan]]))
    ...     read_disparity(f"{folder}/disparity.png").tolist()
    [[2.5, nan]]
    """
    _write_map(path, _float_map(disparity, "disparity"), "a disparity", _kitti)


def read_disparity(path: Place) -> NDArray[np.float32]:
    """Read what :func:`write_disparity` or :func:`write_result` wrote, or Middlebury's and KITTI's own files.

    Returns
    -------
    float32 (height, width), px; NaN = unknown

    Raises
    ------
    ValueError
        Another ending, or not such a file.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_disparity(f"{folder}/disparity.pfm", np.float32([[-2.5, np.nan]]))
    ...     read_disparity(f"{folder}/disparity.pfm").tolist()
    [[-2.5, nan]]
    """
    ending = _ending(path, (".tif", ".tiff", ".pfm", ".npy", ".npz", ".png"), "a disparity")
    if ending == ".npz":
        return read_result(path).disparity
    return _read_map(path, ending, _KITTI_SCALE, "a disparity")


def _write_map(
    path: Place, values: NDArray[np.float32], what: str, to_png: Callable[[NDArray[np.float32]], NDArray[np.uint16]]
) -> None:
    ending = _ending(path, (".tif", ".tiff", ".pfm", ".npy", ".png"), what)
    if ending == ".pfm":
        content = encode_pfm(np.where(np.isnan(values), np.float32(np.inf), values))
    elif ending == ".npy":
        content = _npy(values)
    else:
        content = _encode(to_png(values) if ending == ".png" else values, ending)
    write_whole(path, content)


def _kitti(disparity: NDArray[np.float32]) -> NDArray[np.uint16]:
    known = np.isfinite(disparity)
    steps = np.rint(disparity[known] * np.float32(_KITTI_SCALE))
    if steps.size and (steps.min() < 0 or steps.max() > 65535):
        low, high = disparity[known].min(), disparity[known].max()
        raise ValueError(f"the disparity goes from {low:g} to {high:g} px; a PNG holds 0 to 255.99, write TIFF or PFM")
    out = np.zeros(disparity.shape, np.uint16)
    out[known] = np.maximum(steps, 1)  # 0 would mean unknown
    return out


# --- Depth ------------------------------------------------------------------------------------------------------------


def write_depth(path: Place, depth_mm: Array) -> None:
    """Write a depth in mm, NaN = unknown, in the format of the ending of ``path``.

    ``.tiff``, ``.npy``: float32 mm, NaN = unknown.  ``.pfm``: float32 mm, inf = unknown.  ``.png``: uint16, whole mm,
    0 = unknown, also what is further than 65.5 m.

    Raises
    ------
    ValueError
        Another ending.
    OSError
        The file cannot be written; nothing half-written is left.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_depth(f"{folder}/depth.png", np.float32([[61.7, np.nan]]))
    ...     read_depth(f"{folder}/depth.png").tolist()
    [[62.0, nan]]
    """
    _write_map(path, _float_map(depth_mm, "depth_mm"), "a depth", _whole_mm)


def _whole_mm(depth_mm: NDArray[np.float32]) -> NDArray[np.uint16]:
    with np.errstate(invalid="ignore"):
        holds = (depth_mm > 0) & (depth_mm <= 65535)
    whole = np.zeros(depth_mm.shape, np.uint16)
    whole[holds] = np.maximum(np.rint(depth_mm[holds]), 1)  # 0 would mean unknown
    return whole


def read_depth(path: Place, *, scale: float = 1.0) -> NDArray[np.float32]:
    """Read what :func:`write_depth` or :func:`write_result` wrote, or the uint16 depth of data sets.

    Parameters
    ----------
    scale : steps per mm of a PNG; SERV-CT has 256

    Returns
    -------
    float32 (height, width), mm; NaN = unknown

    Raises
    ------
    ValueError
        Another ending, or not such a file.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_image(f"{folder}/serv-ct.png", np.uint16([[256 * 80, 0]]))
    ...     read_depth(f"{folder}/serv-ct.png", scale=256).tolist()
    [[80.0, nan]]
    """
    ending = _ending(path, (".tif", ".tiff", ".pfm", ".npy", ".npz", ".png"), "a depth")
    if ending == ".npz":
        depth: NDArray[np.float32] = _from_npz(path, lambda arrays: arrays["depth_mm"], "a result with depth_mm")
        return depth
    return _read_map(path, ending, scale, "a depth")


# --- Results ----------------------------------------------------------------------------------------------------------


def write_result(path: Place, result: StereoResult, depth_mm: Array | None = None) -> None:
    """Write disparity, probability, variance (if there is one) and, if given, depth_mm as ``.npz``.

    Raises
    ------
    ValueError
        Another ending.
    OSError
        The file cannot be written; nothing half-written is left.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_result(f"{folder}/result.npz", StereoResult(np.float32([[2.5]]), np.float32([[0.5]])))
    ...     read_result(f"{folder}/result.npz").probability.tolist()
    [[0.5]]
    """
    _ending(path, (".npz",), "a result")
    arrays = {"disparity": result.disparity, "probability": result.probability}
    if result.variance is not None:
        arrays["variance"] = result.variance
    if depth_mm is not None:
        arrays["depth_mm"] = np.asarray(depth_mm, np.float32)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]  # the stub takes them for its own keyword
    write_whole(path, buffer.getvalue())


def read_result(path: Place) -> StereoResult:
    """Read what :func:`write_result` wrote.

    Raises
    ------
    ValueError
        Not such a file, or cut short.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_result(f"{folder}/result.npz", StereoResult(np.float32([[2.5]]), np.float32([[0.5]])))
    ...     read_result(f"{folder}/result.npz").disparity.tolist()
    [[2.5]]
    """
    result: StereoResult = _from_npz(
        path,
        lambda arrays: StereoResult(arrays["disparity"], arrays["probability"], arrays.get("variance")),
        "a result with disparity and probability",
    )
    return result


# --- What disparity and depth have in common --------------------------------------------------------------------------


def _ending(path: Place, known: tuple[str, ...], what: str) -> str:
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise ValueError(f"{path} ends with {ending!r}; {what} is kept as {', '.join(known)}")
    return ending


def _float_map(values: Any, name: str) -> NDArray[np.float32]:
    array = np.asarray(values, np.float32)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}; expected (height, width)")
    return array


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _read_map(path: Place, ending: str, png_scale: float, what: str) -> NDArray[np.float32]:
    content = Path(path).read_bytes()
    if ending == ".npy":
        values = _readable(lambda: np.load(io.BytesIO(content), allow_pickle=False), path, what)
    elif ending == ".pfm":
        values = _readable(lambda: decode_pfm(content), path, what)
    else:
        values = _decode(content, path)
    if values.ndim != 2:
        raise ValueError(f"{path} has shape {values.shape}; expected {what} of (height, width)")
    if ending == ".png":
        if values.dtype != np.uint16:
            raise ValueError(f"{path} is {values.dtype}; {what} as PNG is uint16")
        return np.where(values > 0, values / np.float32(png_scale), np.float32(np.nan)).astype(np.float32)
    values = values.astype(np.float32)
    return np.where(np.isfinite(values), values, np.float32(np.nan))


def _from_npz(path: Place, pick: Callable[[Any], Any], what: str) -> Any:
    content = Path(path).read_bytes()

    def load() -> Any:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return pick(arrays)

    return _readable(load, path, what)


def _readable(load: Callable[[], Any], path: Place, what: str) -> Any:
    """Call ``load``; whatever NumPy or zipfile raise about a damaged file becomes one clear error."""
    try:
        return load()
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{path} cannot be read as {what}: {error or type(error).__name__}") from error
