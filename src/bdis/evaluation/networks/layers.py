"""What PSMNet and GwcNet have in common: their layers, the trunk that sees one image, and the way to a disparity.

The names of attributes and the places in a sequence are those of the published checkpoints, which hold tensors under
these names; an activation has no tensors, but takes a place.  Tensors are float32, (batch, channels, height, width) or,
in volumes, (batch, channels, disparity, height, width).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

QUARTER = 4  # px of the image that a pixel of the features, and a level of a volume, is wide
ROWS_AT_ONCE = 32  # of which the distribution over disparities is in memory


class Prediction(NamedTuple):
    """What a network finds: tensors of shape (batch, height, width), px and px^2."""

    disparity: Tensor
    variance: Tensor


# --- Layers ---------------------------------------------------------------------------------------------------------


def conv_2d(inputs: int, outputs: int, size: int = 3, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    """A convolution and a batch norm; with a stride of 1 the size stays."""
    padding = dilation * (size // 2)
    convolution = nn.Conv2d(inputs, outputs, size, stride, padding, dilation, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))


def conv_3d(inputs: int, outputs: int, size: int = 3, stride: int = 1) -> nn.Sequential:
    """The same for volumes."""
    convolution = nn.Conv3d(inputs, outputs, size, stride, size // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm3d(outputs))


def conv_3d_relu(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    """The same with an activation, one level deeper in the names."""
    return nn.Sequential(conv_3d(inputs, outputs, stride=stride), nn.ReLU())


def twice_as_large(inputs: int, outputs: int) -> nn.Sequential:
    """A transposed convolution that doubles the size of a volume, and a batch norm."""
    convolution = nn.ConvTranspose3d(inputs, outputs, 3, 2, padding=1, output_padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm3d(outputs))


def head(channels: int = 32) -> nn.Sequential:
    """From a volume of features to one number per disparity: the larger, the more probable."""
    return nn.Sequential(conv_3d(channels, channels), nn.ReLU(), nn.Conv3d(channels, 1, 3, padding=1, bias=False))


def last_features(outputs: int) -> nn.Sequential:
    """From all 320 channels of features to those that a volume holds."""
    return nn.Sequential(conv_2d(320, 128), nn.ReLU(), nn.Conv2d(128, outputs, 1, bias=False))


class ResidualBlock(nn.Module):
    """Two convolutions, whose result is added to their input; nothing is cut off after the sum."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, dilation: int = 1):
        super().__init__()
        self.conv1 = nn.Sequential(conv_2d(inputs, outputs, stride=stride, dilation=dilation), nn.ReLU())
        self.conv2 = conv_2d(outputs, outputs, dilation=dilation)
        is_same = stride == 1 and inputs == outputs
        self.downsample = None if is_same else conv_2d(inputs, outputs, size=1, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        """Add to ``x``, brought to the same size."""
        added = self.conv2(self.conv1(x))
        return added + (x if self.downsample is None else self.downsample(x))


def _blocks(count: int, inputs: int, outputs: int, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    rest = [ResidualBlock(outputs, outputs, dilation=dilation) for _ in range(count - 1)]
    return nn.Sequential(ResidualBlock(inputs, outputs, stride, dilation), *rest)


class Trunk(nn.Module):
    """The part of both networks that sees one image: features at a quarter of its size."""

    def __init__(self) -> None:
        super().__init__()
        self.firstconv = nn.Sequential(
            conv_2d(3, 32, stride=2), nn.ReLU(), conv_2d(32, 32), nn.ReLU(), conv_2d(32, 32), nn.ReLU()
        )
        self.layer1 = _blocks(3, 32, 32)
        self.layer2 = _blocks(16, 32, 64, stride=2)
        self.layer3 = _blocks(3, 64, 128)
        self.layer4 = _blocks(3, 128, 128, dilation=2)

    def levels(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The features after layers 2, 3 and 4: 64, 128 and 128 channels."""
        second = self.layer2(self.layer1(self.firstconv(image)))
        third = self.layer3(second)
        return second, third, self.layer4(third)


# --- Volumes --------------------------------------------------------------------------------------------------------


def concatenated(left: Tensor, right: Tensor, levels: int) -> Tensor:
    """A volume of the features of both images: at level d, left column x beside right column x - d, 0 where x < d.

    Parameters
    ----------
    left, right : Tensor, shape (batch, c, h, w)
    levels : int

    Returns
    -------
    Tensor, shape (batch, 2 c, levels, h, w)

    Examples
    --------
    >>> left, right = torch.tensor([[[[1.0, 2.0, 3.0]]]]), torch.tensor([[[[4.0, 5.0, 6.0]]]])
    >>> concatenated(left, right, 2)[0, :, 1, 0].tolist()  # disparity 1
    [[0.0, 2.0, 3.0], [0.0, 4.0, 5.0]]
    """
    batch, channels, height, width = left.shape
    volume = left.new_zeros(batch, 2 * channels, levels, height, width)
    for level in range(min(levels, width)):
        volume[:, :channels, level, :, level:] = left[..., level:]
        volume[:, channels:, level, :, level:] = right[..., : width - level]
    return volume


def correlated(left: Tensor, right: Tensor, levels: int, groups: int) -> Tensor:
    """A volume of correlations: for each group of consecutive channels the mean of the products, 0 where x < d.

    Parameters
    ----------
    left, right : Tensor, shape (batch, c, h, w)
    levels, groups : int

    Returns
    -------
    Tensor, shape (batch, groups, levels, h, w)

    Examples
    --------
    >>> left = torch.tensor([[[[1.0, 2.0]], [[3.0, 4.0]]]])  # two channels, two columns
    >>> correlated(left, left, 2, groups=1)[0, 0, :, 0].tolist()
    [[5.0, 10.0], [0.0, 7.0]]
    """
    batch, channels, height, width = left.shape
    volume = left.new_zeros(batch, groups, levels, height, width)
    for level in range(min(levels, width)):
        product = left[..., level:] * right[..., : width - level]
        volume[:, :, level, :, level:] = product.unflatten(1, (groups, channels // groups)).mean(2)
    return volume


# --- From evidence to disparity -------------------------------------------------------------------------------------


def to_size(x: Tensor, size: tuple[int, ...], *, align_corners: bool) -> Tensor:
    """Linear interpolation to another size, in two or three dimensions."""
    return functional.interpolate(
        x, size, mode="trilinear" if len(size) == 3 else "bilinear", align_corners=align_corners
    )


def expected_disparity(
    evidence: Tensor, max_disparity: int, size: tuple[int, int], *, align_corners: bool
) -> Prediction:
    """Mean and variance of the distribution over disparities that a head gives.

    Parameters
    ----------
    evidence : Tensor, shape (batch, 1, levels, h / 4, w / 4)
        Output of a head.
    max_disparity : int
        px; disparities from 0 to one below it are weighed.
    size : tuple of int
        Height and width of the image.
    align_corners : bool
        How the evidence is brought to that size.

    Returns
    -------
    Prediction

    Examples
    --------
    >>> evidence = torch.full((1, 1, 4, 1, 1), -100.0)
    >>> evidence[:, :, 1:3] = 100.0  # halfway between two levels, as levels are 4 px wide and begin at 0
    >>> found = expected_disparity(evidence, 16, (4, 4), align_corners=False)
    >>> round(float(found.disparity[0, 0, 0]), 2), found.variance.shape
    (7.5, torch.Size([1, 4, 4]))
    """
    whole = to_size(evidence, (max_disparity, *size), align_corners=align_corners)[:, 0]
    disparities = torch.arange(max_disparity, dtype=whole.dtype, device=whole.device).view(1, -1, 1, 1)
    parts = []
    for top, bottom in pairwise([*range(0, size[0], ROWS_AT_ONCE), size[0]]):
        probability = whole[:, :, top:bottom].softmax(1)
        mean = (probability * disparities).sum(1)
        variance = (probability * (disparities - mean.unsqueeze(1)) ** 2).sum(1)
        parts.append(Prediction(mean, variance))
    return Prediction(torch.cat([part.disparity for part in parts], 1), torch.cat([part.variance for part in parts], 1))


class StereoNetwork(nn.Module):
    """Base of the networks: what they need to be told beside their weights.

    Parameters
    ----------
    max_disparity : int
        px, a multiple of 16.
    align_corners : bool
        How interpolation was done when the weights were trained.
    """

    loss_weights: tuple[float, ...]  # of the predictions in training, the last one being the result
    steps: int  # large parts that a match passes through
    smallest_px = 16  # height and width of the smallest image

    def __init__(self, max_disparity: int, align_corners: bool):
        super().__init__()
        self.max_disparity, self.align_corners = max_disparity, align_corners

    def before_hourglasses(self, channels: int) -> None:
        """Make the first layers that see a volume of so many channels."""
        self.dres0 = nn.Sequential(conv_3d(channels, 32), nn.ReLU(), conv_3d(32, 32), nn.ReLU())
        self.dres1 = nn.Sequential(conv_3d(32, 32), nn.ReLU(), conv_3d(32, 32))

    def evidence(self, left: Tensor, right: Tensor) -> list[Tensor]:
        """Outputs of the heads; only the last one, which is the result, if the network is not in training."""
        raise NotImplementedError

    def forward(self, left: Tensor, right: Tensor) -> list[Prediction]:
        """Match a pair.

        Parameters
        ----------
        left, right : Tensor, shape (batch, 3, h, w)
            RGB, normalised; h and w multiples of 16.

        Returns
        -------
        list of Prediction
            The last one is the result; in training there are earlier ones, weighed by ``loss_weights``.
        """
        size = left.shape[2], left.shape[3]
        return [
            expected_disparity(each, self.max_disparity, size, align_corners=self.align_corners)
            for each in self.evidence(left, right)
        ]
