"""The networks by name, without weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .gwcnet import GwcNet
from .layers import StereoNetwork
from .psmnet import PSMNet

ARCHITECTURES: dict[str, Callable[..., StereoNetwork]] = {
    "psmnet": PSMNet,
    "gwcnet-g": partial(GwcNet, concatenates=False),
    "gwcnet-gc": partial(GwcNet, concatenates=True),
}


def make_network(name: str, max_disparity: int, *, align_corners: bool = False) -> StereoNetwork:
    """A network with random weights.

    Parameters
    ----------
    name : str
        A key of ``ARCHITECTURES``.
    max_disparity : int
        px, a multiple of 16.
    align_corners : bool
        How interpolation was done when the weights that it will be given were trained.

    Returns
    -------
    StereoNetwork

    Examples
    --------
    >>> make_network("gwcnet-g", 48).max_disparity
    48
    """
    return ARCHITECTURES[name](max_disparity, align_corners)
