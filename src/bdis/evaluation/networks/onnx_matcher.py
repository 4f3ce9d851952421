"""Any stereo network in an ONNX file: two images in, one disparity out.

What the file does not say is guessed, and every guess can be overruled, see :class:`OnnxOptions`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.arrays import Array
from ...common.optional import require
from ...common.printable import printable
from ...matching.result import StereoResult
from ..baselines.pair import check_max_disparity, finished
from .options import OnnxOptions
from .rgb_pair import imagenet, next_multiple, rgb_pair

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)
_MAX_PADDING = 0.25  # of the model's size, for which an image is rather padded than resized


class _Input(NamedTuple):
    """An image input of the model."""

    name: str
    dtype: Any
    channels: int
    is_channels_first: bool
    height: int | None  # None: any
    width: int | None


class OnnxMatcher:
    """A stereo network in an ONNX file.

    Parameters
    ----------
    path : Path
        The file.
    max_disparity : float or None
        px; larger ones count as unknown.
    options : OnnxOptions

    Attributes
    ----------
    remarks : tuple of str
        What was guessed.

    Raises
    ------
    ImportError
        ONNX Runtime is not installed; the message says how to install it.
    ValueError
        Not such a network; the message says what was found.
    OSError
        The file cannot be read.
    """

    def __init__(self, path: Path, max_disparity: float | None = None, options: OnnxOptions | None = None):
        self.path, self.options = Path(path), options or OnnxOptions()
        self.max_disparity = check_max_disparity(max_disparity)
        self._session = _open(self.path, self.options)
        inputs = [_described(each, self.path) for each in self._session.get_inputs()]
        if len(inputs) != 2:
            names = printable(", ".join(each.name for each in inputs))
            raise ValueError(f"{self.path} takes {len(inputs)} inputs ({names}); expected two images, left and right")
        self._left, self._right = self._in_order(inputs)
        self._output = self._chosen_output()
        self.pixels = self.options.pixels
        if self.pixels == "auto":
            self.pixels = "0..255" if self._left.dtype is np.uint8 else "imagenet"
        self.remarks = self._guesses()

    def match(self, left: Any, right: Any) -> StereoResult:
        """Match a rectified pair.

        Parameters
        ----------
        left, right : ndarray of uint8, uint16, float32 or float64, shape (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
            The images.

        Returns
        -------
        StereoResult
            Probability is 1 where there is a disparity; variance is None.

        Raises
        ------
        ValueError, TypeError
            Not a rectified pair, or the model fails on it; the message says why.
        """
        pair = rgb_pair(left, right)
        height, width = pair.left.shape[:2]
        frame = self._frame(height, width)
        fed = {
            each.name: self._as_input(image, frame, each)
            for each, image in ((self._left, pair.left), (self._right, pair.right))
        }
        try:
            (found,) = self._session.run([self._output], fed)
        except Exception as error:  # the runtime raises classes of its own
            raise ValueError(f"{self.path} fails on {width}x{height} images: {_one_line(error)}") from None
        disparity = frame.to_image(self._map(found)) * np.float32(self.options.disparity_scale)
        return finished(disparity, pair.grey, self.max_disparity or width)

    # --- What the model says of itself ------------------------------------------------------------------------------

    def _in_order(self, inputs: list[_Input]) -> tuple[_Input, _Input]:
        first, second = inputs
        is_swapped = self.options.order == "right-left"
        if self.options.order == "auto":
            is_swapped = _names_side(first.name, "right") or _names_side(second.name, "left")
        return (second, first) if is_swapped else (first, second)

    def _chosen_output(self) -> str:
        outputs = [each.name for each in self._session.get_outputs()]
        listed = printable(", ".join(f"{number}: {name}" for number, name in enumerate(outputs)))
        number = self.options.output
        if number is not None:
            if number >= len(outputs):
                raise ValueError(f"{self.path} has no output {number}; there are {listed}")
            return str(outputs[number])
        called = [name for name in outputs if "disp" in name.lower()]
        if len(outputs) > 1 and len(called) != 1:
            raise ValueError(f"{self.path} has {len(outputs)} outputs ({listed}); say which with output=NUMBER")
        return str(called[0] if len(outputs) > 1 else outputs[0])

    def _guesses(self) -> tuple[str, ...]:
        guessed = []
        if self.options.pixels == "auto":
            guessed.append(f"pixels={self.pixels}")
        has_sides = _names_side(self._left.name, "left") or _names_side(self._right.name, "right")
        if self.options.order == "auto" and not has_sides:
            guessed.append(f"{self._left.name!r} is the left image (order=right-left if not)")
        if not guessed:
            return ()
        return (f"{self.path.name} does not say how it takes images; assumed {printable(', '.join(guessed))}",)

    # --- Images in, disparity out -----------------------------------------------------------------------------------

    def _frame(self, height: int, width: int) -> _Frame:
        model = self._left
        size = (
            model.height or next_multiple(height, self.options.multiple),
            model.width or next_multiple(width, self.options.multiple),
        )
        is_within = height <= size[0] and width <= size[1]
        if self.options.fit == "pad" and not is_within:
            raise ValueError(
                f"the images are {width}x{height}, and {self.path.name} takes {size[1]}x{size[0]}: they cannot be "
                "padded to it (fit=pad); leave that out, or take smaller images"
            )
        is_close = is_within and height >= (1 - _MAX_PADDING) * size[0] and width >= (1 - _MAX_PADDING) * size[1]
        is_any = model.height is None and model.width is None
        pads = self.options.fit == "pad" or (self.options.fit == "auto" and (is_any or is_close))
        return _Frame((height, width), size, pads)

    def _as_input(self, image: NDArray[np.float32], frame: _Frame, model: _Input) -> Array:
        """float32 (h, w, 3) of 0 to 1 as the model takes it."""
        scaled = _scaled(frame.from_image(image), self.pixels)
        if model.channels == 1:
            scaled = (scaled @ _LUMA)[..., None]
        elif self.options.channels == "bgr":
            scaled = scaled[..., ::-1]
        if model.dtype is np.uint8:
            scaled = np.clip(np.rint(scaled), 0, 255)
        batch = scaled[None].transpose(0, 3, 1, 2) if model.is_channels_first else scaled[None]
        return np.ascontiguousarray(batch.astype(model.dtype))

    def _map(self, found: Any) -> NDArray[np.float32]:
        """The output as (h, w); of a flow, its horizontal part as a disparity."""
        values = np.asarray(found)
        shape = values.shape
        if values.dtype.kind not in "fiu" or values.ndim < 2:
            raise ValueError(f"{self.path} gives {values.dtype} of shape {shape}; expected a map of numbers")
        values = values.astype(np.float32).reshape([size for size in shape if size != 1] or [1, 1])
        if values.ndim == 3 and values.shape[0] == 2:
            return -values[0]
        if values.ndim != 2:
            raise ValueError(f"{self.path} gives an array of shape {shape}; expected one map (height, width)")
        return values


def _scaled(colors: NDArray[np.float32], pixels: str) -> NDArray[np.float32]:
    """RGB of 0 to 1 in another range."""
    if pixels == "imagenet":
        return imagenet(colors)
    low, high = {"0..1": (0, 1), "-1..1": (-1, 1), "0..255": (0, 255)}[pixels]
    return colors * np.float32(high - low) + np.float32(low)


class _Frame(NamedTuple):
    """How an image lies in what the model sees: below and left of padding, or resized."""

    image: tuple[int, int]
    model: tuple[int, int]
    pads: bool

    def from_image(self, image: NDArray[np.float32]) -> NDArray[np.float32]:
        """float32 (h, w, 3) at the size of the model."""
        if self.image == self.model:
            return image
        if self.pads:
            rows, columns = (whole - own for whole, own in zip(self.model, self.image))
            return np.pad(image, ((rows, 0), (0, columns), (0, 0)), mode="edge")
        cv2 = require("cv2", "resizing images")
        return np.asarray(cv2.resize(image, self.model[::-1], interpolation=cv2.INTER_AREA))

    def to_image(self, disparity: NDArray[np.float32]) -> NDArray[np.float32]:
        """A map of any size, px of its own, at the size of the image, px of that."""
        if disparity.shape != self.model:  # a network may answer at a quarter of the size
            disparity = _resized(disparity, self.model)
        if self.pads:
            return disparity[self.model[0] - self.image[0] :, : self.image[1]]
        return _resized(disparity, self.image)


def _resized(disparity: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    if disparity.shape == size:
        return disparity
    cv2 = require("cv2", "resizing disparities")
    factor = np.float32(size[1] / disparity.shape[1])
    return np.asarray(cv2.resize(disparity, size[::-1], interpolation=cv2.INTER_LINEAR)) * factor


def _open(path: Path, options: OnnxOptions) -> Any:
    runtime = require("onnxruntime", "a network in an ONNX file")
    with open(path, "rb"):  # a file that cannot be read has a better message than the runtime's
        pass
    providers = ["CPUExecutionProvider"]
    if options.device != "cpu" and "CUDAExecutionProvider" in runtime.get_available_providers():
        providers.insert(0, "CUDAExecutionProvider")
    elif options.device == "cuda":
        raise ValueError("device=cuda, but ONNX Runtime finds no graphics card that it can use; take device=cpu")
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = options.threads, 1
    settings.log_severity_level = 4  # only what ends the process; errors are raised
    try:
        return runtime.InferenceSession(str(path), settings, providers=providers)
    except Exception as error:  # the runtime raises classes of its own
        raise ValueError(f"{path} is no ONNX model that can be run: {_one_line(error)}") from None


def _described(given: Any, path: Path) -> _Input:
    """An input of the model, if it can be an image."""
    name, shape = str(given.name), list(given.shape)
    sizes = [size if isinstance(size, int) else None for size in shape]
    if given.type not in _TYPES or len(sizes) != 4 or sizes[0] not in (1, None):
        raise ValueError(
            f"{path}: input {name!r} is {given.type} of shape {printable(str(shape))}; expected an image "
            "(1, 3, height, width) or (1, height, width, 3) of float or uint8"
        )
    is_first = sizes[1] in (1, 3) or sizes[3] not in (1, 3)
    channels, height, width = (sizes[1], sizes[2], sizes[3]) if is_first else (sizes[3], sizes[1], sizes[2])
    if channels not in (1, 3, None):
        raise ValueError(f"{path}: input {name!r} has {channels} channels; expected 3 (RGB) or 1 (grey)")
    return _Input(name, _TYPES[given.type], channels or 3, is_first, height, width)


def _names_side(name: str, side: str) -> bool:
    """Whether the name of an input says that it is the left or the right image.

    >>> _names_side("image_left", "left"), _names_side("imgR", "right"), _names_side("input1", "left")
    (True, True, False)
    """
    letter = side[0]
    return side in name.lower() or bool(re.search(rf"(^|[^A-Za-z]){letter}$|[a-z]{letter.upper()}$", name))


def _one_line(error: Exception) -> str:
    return printable(" ".join(str(error).split()))[:200]
