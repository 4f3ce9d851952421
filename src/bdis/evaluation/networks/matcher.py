"""PSMNet and GwcNet behind ``match(left, right)``."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ...common.arrays import size_text
from ...matching.result import StereoResult
from ...vector.memory_room import check_room
from ..baselines.pair import finished
from .architectures import make_network
from .checkpoints import Checkpoint, Training, read_checkpoint
from .layers import Prediction, StereoNetwork
from .options import STEP, NetworkOptions
from .own_confidence import with_own_confidence
from .rgb_pair import imagenet, next_multiple, rgb_pair

# Peak of a match beyond what the process had before: 840 MB at 640x480 px and 192 disparities, 170 to 300 at 256x256.
BASE_BYTES, BYTES_PER_CELL = 150_000_000, 14
_ONE_AT_A_TIME = threading.Lock()  # two matches at once would need twice the memory, and be no faster

Progress = Callable[[int, int], None]  # steps done, steps in total


class NetworkMatcher:
    """A network with weights.

    Parameters
    ----------
    name : {"psmnet", "gwcnet-g", "gwcnet-gc"}
    weights : Path
        File of weights.
    max_disparity : float
        px; disparities up to it are found.
    options : NetworkOptions
        Its own ``max_disparity`` is not looked at.

    Attributes
    ----------
    remarks : tuple of str
        What to know of the weights before the result is trusted.

    Raises
    ------
    ValueError, OSError
        The file cannot be used, or there is no such device; the message says why.
    """

    def __init__(self, name: str, weights: Path, max_disparity: float, options: NetworkOptions):
        checkpoint = read_checkpoint(Path(weights), name)
        training = checkpoint.training or Training("unknown")
        aligned = training.align_corners if options.align_corners is None else options.align_corners
        scale = training.disparity_scale if options.disparity_scale is None else options.disparity_scale
        self.name, self.options, self.max_disparity, self.disparity_scale = name, options, float(max_disparity), scale
        self.remarks = _remarks(name, Path(weights), checkpoint, options)
        self.device = _device(options.device)
        searched = next_multiple(math.ceil(max_disparity / min(scale, 1.0)), STEP)
        self.network: StereoNetwork = make_network(name, searched, align_corners=aligned)
        self.network.load_state_dict(checkpoint.tensors)
        self.network.eval().to(self.device)

    def memory_bytes(self, height: int, width: int) -> int:
        """About how much memory a match of images of this size takes.

        Parameters
        ----------
        height, width : int
            px.

        Returns
        -------
        int
        """
        cells = next_multiple(height, STEP) * next_multiple(width, STEP) * self.network.max_disparity
        return BASE_BYTES + BYTES_PER_CELL * cells

    def match(self, left: Any, right: Any, *, progress: Progress | None = None) -> StereoResult:
        """Match a rectified pair.

        Parameters
        ----------
        left, right : ndarray of uint8, uint16, float32 or float64, shape (h, w), (h, w, 3) RGB or (h, w, 4) RGBA
            The images.
        progress : callable or None
            Called with the number of steps done and their total.

        Returns
        -------
        StereoResult
            Probability and variance are from the network's distribution over disparities, unless the options say
            otherwise; then the probability is 1 where there is a disparity.

        Raises
        ------
        ValueError, TypeError
            Not a rectified pair, or too small for this network; the message says why.
        MemoryError
            There is not enough memory.
        """
        pair = rgb_pair(left, right)
        height, width = pair.left.shape[:2]
        self._check_size(height, width)
        with _ONE_AT_A_TIME:
            if self.device.type == "cpu":
                megabytes = self.memory_bytes(height, width) // 1_000_000
                check_room(megabytes, f"to match {size_text((height, width))} images with {self.name}")
            inputs = [as_input(image, self.device) for image in (pair.left, pair.right)]
            with torch.inference_mode(), threads_of_torch(self.options.threads), _reporting(self.network, progress):
                found = self.network(*inputs)[-1]
        disparity, variance = self._cut(found, height, width)
        result = finished(disparity, pair.grey, self.max_disparity)
        return with_own_confidence(result, variance) if self.options.confidence == "own" else result

    def _check_size(self, height: int, width: int) -> None:
        smallest = self.network.smallest_px
        if next_multiple(height, STEP) < smallest or next_multiple(width, STEP) < smallest:
            raise ValueError(
                f"the images are {size_text((height, width))}, and {self.name} takes {smallest}x{smallest} px or more: "
                f"it averages its features over windows of up to {smallest} px; take gwcnet-g, or larger images"
            )

    def _cut(self, found: Prediction, height: int, width: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Disparity and variance without what was padded, in px and px^2 of the image."""
        disparity, variance = (each[0, -height:, :width].cpu().numpy() for each in found)
        return disparity * np.float32(self.disparity_scale), variance * np.float32(self.disparity_scale**2)


def as_input(image: NDArray[np.float32], device: torch.device) -> Tensor:
    """An image as the networks take it.

    Parameters
    ----------
    image : ndarray of float32, shape (h, w, 3)
        RGB, 0 to 1.
    device : torch.device

    Returns
    -------
    Tensor, shape (1, 3, height, width)
        Normalised, then padded with 0 at the top and on the right to multiples of 16, as the authors do.

    Examples
    --------
    >>> as_input(np.zeros((33, 48, 3), np.float32), torch.device("cpu")).shape
    torch.Size([1, 3, 48, 48])
    """
    height, width = image.shape[:2]
    tensor = torch.from_numpy(np.ascontiguousarray(imagenet(image).transpose(2, 0, 1)[None]))
    padding = (0, next_multiple(width, STEP) - width, next_multiple(height, STEP) - height, 0)
    return functional.pad(tensor, padding).to(device)


def _device(wanted: str) -> torch.device:
    has_cuda = torch.cuda.is_available()
    if wanted == "cuda" and not has_cuda:
        raise ValueError("device=cuda, but torch finds no graphics card that it can use; take device=cpu")
    return torch.device("cuda" if has_cuda and wanted != "cpu" else "cpu")


@contextlib.contextmanager
def threads_of_torch(count: int) -> Iterator[None]:
    """Context manager in which torch uses so many threads of the processor."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _reporting(network: StereoNetwork, progress: Progress | None) -> Iterator[None]:
    """Report after each large part of the network."""
    done = 0

    def step(*_: object) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(min(done, network.steps), network.steps)

    hooks = [part.register_forward_hook(step) for part in network.children()] if progress is not None else []
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _remarks(name: str, path: Path, checkpoint: Checkpoint, options: NetworkOptions) -> tuple[str, ...]:
    """What cannot be known of the weights, and matters."""
    if checkpoint.training is not None or options.align_corners is not None:
        return ()
    known = f"{path.name} is no checkpoint that bdis knows (git id {checkpoint.identity[:12]})"
    if name != "psmnet":
        return (f"{known}: taken as trained with align_corners=False, as GwcNet's published weights are",)
    return (
        f"{known}: taken as trained with align_corners=False, torch's default since 0.4. The author's first weights "
        "need align_corners=true, and those of Scene Flow disparity_scale=1.17 as well; wrong ones give wrong depth",
    )
