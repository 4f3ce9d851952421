"""What can be set about a network, declared once for Python, for the commands and for their help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...common.declared import check_settings, setting, with_attributes

TRAINED_DISPARITY = 192  # px, the range that all published weights were trained with
STEP = 16  # px: sizes and ranges of PSMNet and GwcNet are multiples of it


@with_attributes
@dataclass(frozen=True)
class NetworkOptions:
    """Options of PSMNet and GwcNet.

    Examples
    --------
    >>> NetworkOptions(threads=0)
    Traceback (most recent call last):
    ValueError: threads must be from 1 to 1024, but it is 0
    """

    align_corners: bool | None = setting(
        None, "How interpolation was done when the weights were trained, see torch.", group="Weights",
        if_none="as is known of the checkpoint, else False",
    )  # fmt: skip
    disparity_scale: float | None = setting(
        None, "Factor on all disparities.", group="Weights", above=0, high=10,
        if_none="as is known of the checkpoint, else 1",
    )  # fmt: skip
    max_disparity: int | None = setting(
        None, "Range of disparities.", group="Work", unit="px", low=STEP, high=1024, step=STEP,
        if_none="192, or what the data set needs if that is more",
    )  # fmt: skip
    device: Literal["auto", "cpu", "cuda"] = setting(
        "auto", "Where to compute; auto takes a graphics card if torch can use one.", group="Work"
    )
    threads: int = setting(1, "Threads of torch on the processor.", group="Work", low=1, high=1024)
    confidence: Literal["own", "assessed"] = setting(
        "own", "From the network's distribution over disparities, or none, so that bdis assess gives it.", group="Work"
    )

    def __post_init__(self) -> None:
        check_settings(self)


@with_attributes
@dataclass(frozen=True)
class OnnxOptions:
    """Options of a network in an ONNX file; what is not given is guessed from the model.

    Examples
    --------
    >>> OnnxOptions(pixels="0..1").disparity_scale
    1.0
    """

    order: Literal["auto", "left-right", "right-left"] = setting(
        "auto", "Which image the model takes first; auto goes by the names of its inputs.", group="Input"
    )
    pixels: Literal["auto", "imagenet", "0..1", "-1..1", "0..255"] = setting(
        "auto", "Range of the pixels; auto takes 0..255 for integers, else imagenet (mean and deviation of ImageNet).",
        group="Input",
    )  # fmt: skip
    channels: Literal["rgb", "bgr"] = setting("rgb", "Order of the colours.", group="Input")
    fit: Literal["auto", "pad", "resize"] = setting(
        "auto", "How images are brought to the model's size; auto pads smaller ones and resizes larger ones.",
        group="Input",
    )  # fmt: skip
    multiple: int = setting(
        32,
        "Sizes are padded to a multiple of this, if the model takes any.",
        group="Input",
        unit="px",
        low=1,
        high=1024,
    )
    output: int | None = setting(
        None, "Which output is the disparity, counted from 0.", group="Output", low=0, high=1000,
        if_none="the only one, or the one that is called so",
    )  # fmt: skip
    disparity_scale: float = setting(
        1.0, "Factor on all disparities, such as -1 for a flow from left to right.", group="Output", low=-1e4, high=1e4
    )
    device: Literal["auto", "cpu", "cuda"] = setting(
        "auto", "Where to compute; auto takes a graphics card if ONNX Runtime can use one.", group="Work"
    )
    threads: int = setting(1, "Threads of ONNX Runtime on the processor.", group="Work", low=1, high=1024)

    def __post_init__(self) -> None:
        check_settings(self)


@with_attributes
@dataclass(frozen=True)
class FinetuneOptions:
    """How a network is trained further: by default as the paper says (Section IV-B), and as PSMNet and GwcNet say.

    Examples
    --------
    >>> FinetuneOptions(crop_height=100)
    Traceback (most recent call last):
    ValueError: crop_height must be a multiple of 16 from 32 to 4096, but it is 100
    """

    epochs: int = setting(300, "How often each pair is seen.", group="Training", low=1, high=100_000)
    batch: int = setting(12, "Pairs per step; memory grows with it.", group="Training", low=1, high=1024)
    crop_width: int = setting(
        512, "Width of what is seen of a pair, at a random place.", group="Training", unit="px", low=32, high=4096,
        step=STEP,
    )  # fmt: skip
    crop_height: int = setting(256, "Its height.", group="Training", unit="px", low=32, high=4096, step=STEP)
    learning_rate: float = setting(
        1e-3, "Of Adam; a tenth of it in the last third of the epochs.", group="Training", above=0, high=1
    )
    seed: int = setting(0, "Of the order of the pairs and the places of the crops.", group="Training", low=0, high=1e9)

    def __post_init__(self) -> None:
        check_settings(self)
