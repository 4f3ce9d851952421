"""Disparity maps, depth maps and whole results in files."""

import io
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..common.arrays import Array, without_mask
from ..common.atomic import Place, write_whole
from ..common.npz import Npz
from ..common.reading import MAX_IMAGE_BYTES, read_limited
from ..matching.disparity_px import as_disparity_px
from ..matching.pictures import small_left
from ..matching.result import StereoResult
from .map_formats import FloatMap, Quantity, as_map, check_ending, decode_map, readable, write_map

_KITTI_STEPS = 256.0  # per px
_MOST_WARNINGS, _LONGEST_WARNING = 20, 500  # sentences and letters in the file of a result
_MOST_SMALL = 1 << 16  # pixels of the small copy of the left image there; usual are 64 x 85


def write_disparity(path: Place, disparity: Array) -> None:
    """Write a disparity map in the format of the ending of ``path``.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing file is replaced.  ``.tif``, ``.tiff`` and ``.npy`` store float32 with NaN for
        unknown pixels; ``.pfm`` stores float32 with infinity for unknown pixels, as Middlebury does; ``.png`` stores
        uint16 in steps of 1/256 px with 0 for unknown pixels, as KITTI does.
    disparity : ndarray, shape (h, w)
        Disparity in px; NaN, infinite or masked where unknown.

    Raises
    ------
    TypeError
        The disparity holds no numbers.
    ValueError
        Another ending or shape, a disparity that a PNG cannot store (negative, or 256 px and more), or one that is not
        in px: int16 as OpenCV's matchers and :meth:`StereoMatcher.compute` give it, uint16 as KITTI stores it, or one
        that mostly exceeds its width.
    OSError
        The file cannot be written; no partial file is left.
    ImportError
        OpenCV is not installed; it is needed for TIFF and PNG.

    See Also
    --------
    read_disparity

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_disparity(f"{folder}/disparity.png", np.float32([[2.5, np.nan]]))
    ...     read_disparity(f"{folder}/disparity.png").tolist()
    [[2.5, nan]]
    """
    write_map(path, as_disparity_px(disparity), "disparity", _DISPARITY)


def read_disparity(path: Place, *, scale: float = _KITTI_STEPS, unknown: float | None = None) -> NDArray[np.float32]:
    """Read a disparity map.

    Parameters
    ----------
    path : str or path-like
        File written by :func:`write_disparity` or :func:`write_result`, or a disparity of the Middlebury or KITTI data
        sets.
    scale : float, optional
        Steps of a PNG per px.
    unknown : float, optional
        A further value in px that means unknown, such as -1.

    Returns
    -------
    ndarray of float32, shape (h, w)
        Disparity in px; NaN where unknown.

    Raises
    ------
    ValueError
        Another ending, the content is not a disparity map of that format, or it is not in px: TIFF and NPY of int16,
        as OpenCV's matchers give it, or of uint16, as KITTI stores it in PNG, or one that mostly exceeds its width.
    OSError
        The file cannot be read.
    ImportError
        OpenCV is not installed; it is needed for TIFF and PNG.

    See Also
    --------
    write_disparity

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_disparity(f"{folder}/disparity.pfm", np.float32([[-2.5, np.nan]]))
    ...     read_disparity(f"{folder}/disparity.pfm").tolist()
    [[-2.5, nan]]
    """
    stored = decode_map(path, replace(_DISPARITY, png_steps=scale))
    return as_disparity_px(stored, unknown=unknown, file=path)


def stored_disparity(path: Place) -> Array:
    """The numbers in a file with a disparity, in the type that they have there, whether they are px or not.

    Parameters
    ----------
    path : str or path-like
        File that :func:`read_disparity` reads, or refuses because it is not in px.

    Returns
    -------
    ndarray, shape (h, w)
        Of a PNG in px as float32, NaN where unknown.

    Raises
    ------
    ValueError, OSError, ImportError
        As :func:`read_disparity`, but for numbers that are not in px.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/disparity.npy", np.int16([[40, -16]]))
    ...     stored_disparity(f"{folder}/disparity.npy").dtype
    dtype('int16')
    """
    return decode_map(path, _DISPARITY)


def write_depth(path: Place, depth_mm: Array) -> None:
    """Write a depth map in the format of the ending of ``path``.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing file is replaced.  ``.tif``, ``.tiff`` and ``.npy`` store float32 with NaN for
        unknown pixels; ``.pfm`` stores float32 with infinity for unknown pixels; ``.png`` stores uint16 in whole mm
        with 0 for unknown pixels and for depths above 65535 mm.
    depth_mm : ndarray, shape (h, w)
        Depth in mm; NaN, 0, negative or masked where unknown.

    Raises
    ------
    TypeError
        The depth holds no numbers.
    ValueError
        Another ending or shape, or a PNG of depths whose median is below 1 mm, as of depths in metres.
    OSError
        The file cannot be written; no partial file is left.
    ImportError
        OpenCV is not installed; it is needed for TIFF and PNG.

    See Also
    --------
    read_depth

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_depth(f"{folder}/depth.png", np.float32([[61.7, np.nan]]))
    ...     read_depth(f"{folder}/depth.png").tolist()
    [[62.0, nan]]
    """
    write_map(path, depth_mm, "depth_mm", _DEPTH)


def read_depth(path: Place, *, scale: float = 1.0) -> NDArray[np.float32]:
    """Read a depth map.

    Parameters
    ----------
    path : str or path-like
        File written by :func:`write_depth` or :func:`write_result`, or a uint16 PNG of a data set.
    scale : float, optional
        Steps of a PNG per mm; 256 for SERV-CT.

    Returns
    -------
    ndarray of float32, shape (h, w)
        Depth in mm; NaN where unknown: where the file has no finite number above 0.

    Raises
    ------
    ValueError
        Another ending, or the content is not a depth map of that format.
    OSError
        The file cannot be read.
    ImportError
        OpenCV is not installed; it is needed for TIFF and PNG.

    See Also
    --------
    write_depth

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from bdis import write_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_image(f"{folder}/serv-ct.png", np.uint16([[256 * 80, 0]]))
    ...     read_depth(f"{folder}/serv-ct.png", scale=256).tolist()
    [[80.0, nan]]
    """
    depth_mm = as_map(decode_map(path, replace(_DEPTH, png_steps=scale)))
    return np.where(depth_mm > 0, depth_mm, np.float32(np.nan))


def write_result(path: Place, result: StereoResult, depth_mm: Array | None = None) -> None:
    """Write a result as a compressed ``.npz`` file.

    Parameters
    ----------
    path : str or path-like
        File ending with ``.npz``; an existing file is replaced.
    result : StereoResult
        Result of a matcher.  Its arrays are stored as disparity, probability and, if it has one, variance; and if there
        is something to know, the sentences as warnings.  A grey copy of the left image, some 64 pixels high, is stored
        as small_left.
    depth_mm : ndarray, shape (h, w), optional
        Depth in mm, stored as depth_mm; NaN or masked where unknown.

    Raises
    ------
    ValueError
        Another ending.
    OSError
        The file cannot be written; no partial file is left.

    See Also
    --------
    read_result

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_result(f"{folder}/result.npz", StereoResult(np.float32([[2.5]]), np.float32([[0.5]])))
    ...     read_result(f"{folder}/result.npz").probability.tolist()
    [[0.5]]
    """
    check_ending(path, (".npz",), "a result")
    if any(np.ma.isMaskedArray(values) for values in (result.disparity, result.probability, result.variance)):
        result = _without_masks(result)
    arrays: dict[str, Array] = {"disparity": result.disparity, "probability": result.probability}
    if result.variance is not None:
        arrays["variance"] = result.variance
    if depth_mm is not None:
        arrays["depth_mm"] = np.asarray(without_mask(depth_mm), np.float32)
    if result.largest_row_offset > 0:
        arrays |= {"row_offset": np.array(result.row_offset), "row_tilt": np.array(result.row_tilt)}
    if result.warnings:
        arrays["warnings"] = np.array([text[:_LONGEST_WARNING] for text in result.warnings[:_MOST_WARNINGS]])
    left = small_left(result)
    if left is not None and left.size <= _MOST_SMALL:
        arrays["small_left"] = left
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]  # the stub takes them for its own keyword
    write_whole(path, buffer.getvalue())


def _without_masks(result: StereoResult) -> StereoResult:
    """What is masked is unknown."""
    variance = None if result.variance is None else without_mask(result.variance)
    probability = np.ma.filled(result.probability, 0)
    return replace(result, disparity=without_mask(result.disparity), probability=probability, variance=variance)


def read_result(path: Place) -> StereoResult:
    """Read a result.

    Parameters
    ----------
    path : str or path-like
        File written by :func:`write_result`.

    Returns
    -------
    StereoResult
        With disparity and probability, with variance if the file has one, by how much rows were corrected, the
        warnings, and the small copy of the left image.

    Raises
    ------
    ValueError
        The file is not a result: it is truncated, its arrays differ in shape or hold no numbers, a probability is not
        from 0 to 1, a variance is negative, an array is larger than 8192x8192, the warnings are too many or too long,
        or the copy of the left image is none.
    OSError
        The file cannot be read.

    See Also
    --------
    write_result

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_result(f"{folder}/result.npz", StereoResult(np.float32([[2.5]]), np.float32([[0.5]])))
    ...     read_result(f"{folder}/result.npz").disparity.tolist()
    [[2.5]]
    """
    content = read_limited(path, MAX_IMAGE_BYTES)
    result: StereoResult = readable(lambda: _result_of(Npz(content)), path, "a result with disparity and probability")
    return result


def _result_of(arrays: Npz) -> StereoResult:
    maps = {name: as_map(arrays[name]) for name in ("disparity", "probability", "variance") if name in arrays}
    shape = maps["disparity"].shape
    for name, values in maps.items():
        if len(shape) != 2 or values.shape != shape:
            raise ValueError(f"{name} has shape {values.shape}, disparity {shape}; expected one (height, width)")
    if not ((maps["probability"] >= 0) & (maps["probability"] <= 1)).all():
        raise ValueError("probability must be from 0 to 1 everywhere")
    if "variance" in maps and (maps["variance"] < 0).any():
        raise ValueError("variance must not be negative")
    rows = {name: float(arrays[name]) for name in ("row_offset", "row_tilt") if name in arrays}
    if not np.isfinite(list(rows.values())).all():
        raise ValueError("row_offset and row_tilt must be finite")
    warnings = arrays.texts("warnings", _MOST_WARNINGS, _LONGEST_WARNING) if "warnings" in arrays else ()
    left = _small_left_of(arrays) if "small_left" in arrays else None
    return StereoResult(**maps, **rows, saved_warnings=warnings, saved_left=left)  # type: ignore[arg-type]  # by name


def _small_left_of(arrays: Npz) -> NDArray[np.uint8]:
    if not arrays.is_small("small_left", _MOST_SMALL):
        raise ValueError(f"small_left must hold at most {_MOST_SMALL} numbers")
    left = arrays["small_left"]
    if left.dtype != np.uint8 or left.ndim != 2 or not left.size:
        raise ValueError(f"small_left is {left.dtype} of shape {left.shape}; expected uint8, (height, width)")
    return left


def _disparity_to_png(disparity: FloatMap) -> NDArray[np.uint16]:
    """KITTI's values: 256 per px, 0 = unknown."""
    known = np.isfinite(disparity)
    steps = np.rint(disparity[known] * np.float32(_KITTI_STEPS))
    if steps.size and (steps.min() < 0 or steps.max() > 65535):
        low, high = disparity[known].min(), disparity[known].max()
        raise ValueError(f"the disparity goes from {low:g} to {high:g} px; a PNG holds 0 to 255.99, write TIFF or PFM")
    stored = np.zeros(disparity.shape, np.uint16)
    stored[known] = np.maximum(steps, 1)  # 0 would mean unknown
    return stored


def _depth_to_png(depth_mm: FloatMap) -> NDArray[np.uint16]:
    """Whole mm, 0 = unknown."""
    with np.errstate(invalid="ignore"):
        is_stored = (depth_mm > 0) & (depth_mm <= 65535)
    # All of it would become 1 mm; tissue before an endoscope is some mm away, and nothing of a microscope's fits in.
    if is_stored.any() and (median := float(np.median(depth_mm[is_stored]))) < 1:
        raise ValueError(
            f"the median of the depth is {median:.3g} mm, of which a PNG holds whole mm; if it is in metres, give "
            "1000 * depth_mm, or else write TIFF or PFM"
        )
    stored = np.zeros(depth_mm.shape, np.uint16)
    stored[is_stored] = np.maximum(np.rint(depth_mm[is_stored]), 1)  # 0 would mean unknown
    return stored


_DISPARITY = Quantity("a disparity", "disparity", _disparity_to_png, _KITTI_STEPS)
_DEPTH = Quantity("a depth", "depth_mm", _depth_to_png, 1.0)
