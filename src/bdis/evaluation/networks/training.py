"""What a network is trained on and how one step is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ...common.arrays import Array
from ..datasets import Dataset, Entry, Frame
from .layers import StereoNetwork
from .rgb_pair import imagenet, rgb_pair

VALIDATED = 40 / 300  # share of the pairs that is kept for validation, as in the paper


class Crop(NamedTuple):
    """Parts of pairs: images (n, 3, h, w), normalised, and disparities (n, h, w) in px, NaN where unknown."""

    left: Tensor
    right: Tensor
    disparity: Tensor


def split(data: Sequence[Dataset], validated: int | None = None) -> tuple[list[Entry], list[Entry]]:
    """Pairs for training and for validation: the last ones of each group, as neighbours in a video are alike.

    Parameters
    ----------
    data : sequence of Dataset
    validated : int, optional
        How many pairs are kept for validation; by default 40 of 300.

    Returns
    -------
    training, validation : list of Entry

    Raises
    ------
    ValueError
        There are too few pairs.

    Examples
    --------
    >>> from bdis.evaluation.datasets import open_dataset
    >>> training, validation = split([open_dataset("render:plane,frames=300")])
    >>> len(training), len(validation), validation[0].name
    (260, 40, '000260')
    """
    entries = [entry for each in data for entry in each]
    wanted = round(len(entries) * VALIDATED) if validated is None else validated
    wanted = max(wanted, 1)
    if wanted >= len(entries):
        raise ValueError(f"{len(entries)} pairs, of which {wanted} are for validation; at least one more is needed")
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.group, []).append(entry)
    kept: list[Entry] = []
    for number, members in enumerate(groups.values(), 1):
        share = round(wanted * sum(map(len, list(groups.values())[:number])) / len(entries)) - len(kept)
        kept += members[len(members) - share :]
    chosen = set(map(id, kept))
    return [entry for entry in entries if id(entry) not in chosen], kept


def crop(entries: Sequence[Entry], size: tuple[int, int], random: np.random.Generator | None) -> Crop:
    """Read pairs and cut a part of each out.

    Parameters
    ----------
    entries : sequence of Entry
    size : tuple of int
        Height and width; smaller images are padded at the top and on the right.
    random : Generator or None
        Chooses the places; None for the middle.

    Returns
    -------
    Crop

    Raises
    ------
    ValueError
        A pair has no reference.

    Examples
    --------
    >>> from bdis.evaluation.datasets import open_dataset
    >>> crop(open_dataset("render:plane,frames=2,height=48,width=64"), (32, 32), None).left.shape
    torch.Size([2, 3, 32, 32])
    """
    parts = [_cut(entry.read(), size, random) for entry in entries]
    left, right, disparity = (torch.from_numpy(np.stack(each)) for each in zip(*parts))
    return Crop(left, right, disparity)


def _cut(frame: Frame, size: tuple[int, int], random: np.random.Generator | None) -> tuple[Array, Array, Array]:
    if frame.disparity is None:
        raise ValueError(f"{frame} has no reference disparity; a network can only be trained where there is one")
    pair = rgb_pair(frame.left, frame.right)
    reference = np.where(pair.grey.seen, frame.disparity, np.float32(np.nan))
    maps = [*(imagenet(image) for image in (pair.left, pair.right)), reference[..., None]]
    free = [max(own - wanted, 0) for own, wanted in zip(reference.shape, size)]
    top, first = (each // 2 if random is None else int(random.integers(each + 1)) for each in free)
    cut = [each[top : top + size[0], first : first + size[1]] for each in maps]
    left, right, disparity = (_padded(each, size, value) for each, value in zip(cut, (0, 0, np.nan)))
    return left, right, disparity[0]


def _padded(values: Array, size: tuple[int, int], value: float) -> NDArray[np.float32]:
    """(h, w, channels) as (channels, height, width) of this size."""
    rows, columns = (wanted - own for wanted, own in zip(size, values.shape))
    padded = np.pad(values, ((rows, 0), (0, columns), (0, 0)), constant_values=value)
    return np.ascontiguousarray(padded.transpose(2, 0, 1), np.float32)


def loss_of(network: StereoNetwork, seen: Crop, scale: float) -> Tensor | None:
    """The loss in training: smooth absolute error of all heads, where the disparity is within the network's range.

    Parameters
    ----------
    network : StereoNetwork
        In training.
    seen : Crop
    scale : float
        Factor on the network's disparities.

    Returns
    -------
    Tensor or None
        None if no pixel has such a disparity.
    """
    known = _within(network, seen, scale)
    if not bool(known.any()):
        return None
    target = seen.disparity[known]
    found = network(seen.left, seen.right)
    losses = [functional.smooth_l1_loss(scale * each.disparity[known], target) for each in found]
    return torch.stack([weight * loss for weight, loss in zip(network.loss_weights, losses)]).sum()


def errors_of(network: StereoNetwork, seen: Crop, scale: float) -> Tensor:
    """Absolute errors in px of a network that is not in training, one per pixel with a reference."""
    known = _within(network, seen, scale)
    found = network(seen.left, seen.right)[-1].disparity
    return (scale * found - seen.disparity)[known].abs()


def _within(network: StereoNetwork, seen: Crop, scale: float) -> Tensor:
    return (seen.disparity > 0) & (seen.disparity < scale * network.max_disparity)  # NaN is neither
