"""Neural networks to compare with: PSMNet, GwcNet, and any stereo network in an ONNX file.

They need the extras ``bdis[networks]`` (torch) and ``bdis[onnx]`` (ONNX Runtime), which are imported when a network is
loaded.  Weights are not part of bdis.

    >>> from bdis.evaluation.networks import load_network
    >>> network = load_network("psmnet", weights="pretrained_model_KITTI2015.tar")  # doctest: +SKIP
    >>> network.match(left, right).disparity  # doctest: +SKIP
"""

from __future__ import annotations

import os
import warnings as python_warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...common.declared import check_names
from ...common.optional import require
from ..baselines.pair import check_max_disparity
from .options import TRAINED_DISPARITY, NetworkOptions

if TYPE_CHECKING:
    from .matcher import NetworkMatcher

NETWORKS = ("psmnet", "gwcnet-g", "gwcnet-gc")

__all__ = ["NETWORKS", "NetworkOptions", "load_network"]


def load_network(
    name: str, weights: str | os.PathLike[str], max_disparity: float = TRAINED_DISPARITY, **options: Any
) -> NetworkMatcher:
    """A network with weights, ready to match.

    Parameters
    ----------
    name : {"psmnet", "gwcnet-g", "gwcnet-gc"}
    weights : str or path-like
        A published checkpoint, or one that ``bdis networks finetune`` wrote.  Nothing in it is run.
    max_disparity : float
        px; time and memory grow with it, in steps of 16.
    **options
        Of :class:`bdis.evaluation.networks.NetworkOptions`.  How the weights were trained is known of the published
        ones, of others it is assumed, with a warning.

    Returns
    -------
    NetworkMatcher
        ``match(left, right)`` returns a :class:`bdis.StereoResult`.

    Raises
    ------
    ImportError
        torch is not installed; the message says how to install it.
    ValueError, TypeError
        An unknown network or option, or a file that cannot be used.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> load_network("psmnet", "no such file", 0)
    Traceback (most recent call last):
    ValueError: max_disparity must be None or above 0 and below 1e5 px, but it is 0
    """
    found = open_network(name, weights, max_disparity, **options)
    for text in found.remarks:
        python_warnings.warn(text, stacklevel=2)
    return found


def open_network(
    name: str, weights: str | os.PathLike[str], max_disparity: float = TRAINED_DISPARITY, **options: Any
) -> NetworkMatcher:
    """As :func:`load_network`, for callers that show the matcher's ``remarks`` themselves."""
    if name not in NETWORKS:
        raise ValueError(f"unknown network {name!r}; there are {', '.join(NETWORKS)}")
    most = check_max_disparity(max_disparity)
    check_names(options, NetworkOptions, what="option")
    checked = NetworkOptions(**options)
    require("torch", f"the network {name}")
    from .matcher import NetworkMatcher

    return NetworkMatcher(name, Path(weights), most or TRAINED_DISPARITY, checked)
