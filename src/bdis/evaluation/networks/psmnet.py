"""PSMNet with stacked hourglasses, from its paper (Chang and Chen, "Pyramid Stereo Matching Network", CVPR 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .layers import (
    QUARTER,
    StereoNetwork,
    Trunk,
    concatenated,
    conv_2d,
    conv_3d,
    conv_3d_relu,
    head,
    last_features,
    to_size,
    twice_as_large,
)

WINDOWS = (64, 32, 16, 8)  # of branches 1 to 4, px of the features


class PooledTrunk(Trunk):
    """Features that know their surroundings: means over windows of four sizes beside what is seen in detail."""

    def __init__(self, align_corners: bool):
        super().__init__()
        self.align_corners = align_corners
        for number, window in enumerate(WINDOWS, 1):
            branch = nn.Sequential(nn.AvgPool2d(window), conv_2d(128, 32, size=1), nn.ReLU())
            setattr(self, f"branch{number}", branch)
        self.lastconv = last_features(32)

    def forward(self, image: Tensor) -> Tensor:
        """Features (batch, 32, h / 4, w / 4) of an image."""
        second, _, fourth = self.levels(image)
        size = fourth.shape[2], fourth.shape[3]
        pooled = [
            to_size(branch(fourth), size, align_corners=self.align_corners)
            for branch in (self.branch4, self.branch3, self.branch2, self.branch1)
        ]
        return self.lastconv(torch.cat([second, fourth, *pooled], 1))


class Hourglass(nn.Module):
    """Sees the volume at a half and a quarter of its size, and what earlier hourglasses saw there."""

    def __init__(self, channels: int = 32):
        super().__init__()
        self.conv1 = conv_3d_relu(channels, 2 * channels, stride=2)
        self.conv2 = conv_3d(2 * channels, 2 * channels)
        self.conv3 = conv_3d_relu(2 * channels, 2 * channels, stride=2)
        self.conv4 = conv_3d_relu(2 * channels, 2 * channels)
        self.conv5 = twice_as_large(2 * channels, 2 * channels)
        self.conv6 = twice_as_large(2 * channels, channels)

    def forward(
        self, x: Tensor, first_before: Tensor | None, last_after: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One hourglass.

        Parameters
        ----------
        x : Tensor
            Volume of 32 channels.
        first_before, last_after : Tensor or None
            What the first hourglass returned as ``before`` and the last one as ``after``; None in the first.

        Returns
        -------
        out, before, after : Tensor
            The volume to add, and what was seen at half the size on the way down and on the way up.
        """
        before = self.conv2(self.conv1(x))
        before = (before if last_after is None else before + last_after).relu()
        after = self.conv5(self.conv4(self.conv3(before)))
        after = (after + (before if first_before is None else first_before)).relu()
        return self.conv6(after), before, after


class PSMNet(StereoNetwork):
    """Pyramid Stereo Matching Network.

    Parameters
    ----------
    max_disparity : int
        px, a multiple of 16.
    align_corners : bool
        How interpolation was done when the weights were trained.

    Examples
    --------
    >>> sum(parameter.numel() for parameter in PSMNet().parameters())
    5224768
    """

    loss_weights = (0.5, 0.7, 1.0)
    steps = 10
    smallest_px = QUARTER * max(WINDOWS)

    def __init__(self, max_disparity: int = 192, align_corners: bool = False):
        super().__init__(max_disparity, align_corners)
        self.feature_extraction = PooledTrunk(align_corners)
        self.before_hourglasses(64)
        self.dres2, self.dres3, self.dres4 = Hourglass(), Hourglass(), Hourglass()
        self.classif1, self.classif2, self.classif3 = head(), head(), head()

    def evidence(self, left: Tensor, right: Tensor) -> list[Tensor]:
        """Outputs of the heads, each added to the one before."""
        features = self.feature_extraction(left), self.feature_extraction(right)
        start = self.dres0(concatenated(*features, self.max_disparity // QUARTER))
        start = self.dres1(start) + start
        out, first_before, after = self.dres2(start, None, None)
        found = [self.classif1(out := out + start)]
        for hourglass, classify in ((self.dres3, self.classif2), (self.dres4, self.classif3)):
            out, _, after = hourglass(out, first_before, after)
            found.append(classify(out := out + start) + found[-1])
        return found if self.training else found[-1:]
