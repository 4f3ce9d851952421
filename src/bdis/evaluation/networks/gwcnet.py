"""GwcNet from its paper (Guo et al., "Group-wise Correlation Stereo Network", CVPR 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .layers import (
    QUARTER,
    StereoNetwork,
    Trunk,
    concatenated,
    conv_3d,
    conv_3d_relu,
    correlated,
    head,
    last_features,
    twice_as_large,
)

GROUPS = 40  # of 8 channels each
CONCATENATED = 12  # channels of either image


class PlainTrunk(Trunk):
    """Features of three layers side by side, and of GwcNet-gc a few more to be concatenated."""

    def __init__(self, concatenates: bool):
        super().__init__()
        if concatenates:
            self.lastconv = last_features(CONCATENATED)

    def forward(self, image: Tensor) -> Tensor:
        """Features (batch, 320, h / 4, w / 4) of an image."""
        return torch.cat(self.levels(image), 1)


class Hourglass(nn.Module):
    """Sees the volume at a half and a quarter of its size, too."""

    def __init__(self, channels: int = 32):
        super().__init__()
        self.conv1 = conv_3d_relu(channels, 2 * channels, stride=2)
        self.conv2 = conv_3d_relu(2 * channels, 2 * channels)
        self.conv3 = conv_3d_relu(2 * channels, 4 * channels, stride=2)
        self.conv4 = conv_3d_relu(4 * channels, 4 * channels)
        self.conv5 = twice_as_large(4 * channels, 2 * channels)
        self.conv6 = twice_as_large(2 * channels, channels)
        self.redir1 = conv_3d(channels, channels, size=1)
        self.redir2 = conv_3d(2 * channels, 2 * channels, size=1)

    def forward(self, x: Tensor) -> Tensor:
        """A volume (batch, 32, levels, h, w) from another one."""
        half = self.conv2(self.conv1(x))
        back = (self.conv5(self.conv4(self.conv3(half))) + self.redir2(half)).relu()
        return (self.conv6(back) + self.redir1(x)).relu()


class GwcNet(StereoNetwork):
    """Group-wise Correlation Stereo Network.

    Parameters
    ----------
    max_disparity : int
        px, a multiple of 16.
    align_corners : bool
        How interpolation was done when the weights were trained.
    concatenates : bool
        Whether the volume holds features beside the correlations: True for GwcNet-gc, False for GwcNet-g.

    Examples
    --------
    >>> [sum(each.numel() for each in GwcNet(concatenates=gc).parameters()) for gc in (False, True)]
    [6518560, 6909728]
    """

    loss_weights = (0.5, 0.5, 0.7, 1.0)
    steps = 8

    def __init__(self, max_disparity: int = 192, align_corners: bool = False, *, concatenates: bool):
        super().__init__(max_disparity, align_corners)
        self.concatenates = concatenates
        self.feature_extraction = PlainTrunk(concatenates)
        self.before_hourglasses(GROUPS + 2 * CONCATENATED if concatenates else GROUPS)
        self.dres2, self.dres3, self.dres4 = Hourglass(), Hourglass(), Hourglass()
        self.classif0, self.classif1, self.classif2, self.classif3 = head(), head(), head(), head()

    def evidence(self, left: Tensor, right: Tensor) -> list[Tensor]:
        """Outputs of the heads, each by itself."""
        start = self.dres0(self._volume(self.feature_extraction(left), self.feature_extraction(right)))
        start = self.dres1(start) + start
        first = self.dres2(start)
        second = self.dres3(first)
        third = self.dres4(second)
        if not self.training:
            return [self.classif3(third)]
        return [self.classif0(start), self.classif1(first), self.classif2(second), self.classif3(third)]

    def _volume(self, left: Tensor, right: Tensor) -> Tensor:
        levels = self.max_disparity // QUARTER
        volume = correlated(left, right, levels, GROUPS)
        if not self.concatenates:
            return volume
        fewer = self.feature_extraction.lastconv
        return torch.cat([volume, concatenated(fewer(left), fewer(right), levels)], 1)
