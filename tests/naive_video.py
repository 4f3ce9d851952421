"""The oracle of video: where the picture stands still, and the average with the frame before."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bdis import Settings

BLOCK = 16  # px of level 1
NOTHING, DIFFERS, MOVED = range(3)


class Memory(NamedTuple):
    """As `bdis.matching.result.FrameMemory`."""

    left: np.ndarray  # of level 1, in steps of 1 / scale grey levels
    trust: np.ndarray  # of each block, 0 to 1
    settings: Settings


def edges(size):
    """Where blocks begin and end; the last one takes what is left over."""
    count = size // BLOCK
    return [(k * BLOCK, size if k == count - 1 else (k + 1) * BLOCK) for k in range(count)]


def state(difference, along, down):
    """What a block has done, from the difference of two frames and the gradients of their mean, in grey levels."""
    d, gradients = difference.ravel(), np.stack([along.ravel(), down.ravel()], 1)
    about, moments = d - d.mean(), gradients - gradients.mean(0)
    # The motion that explains the difference best; weak texture holds it back.
    shares = moments.T @ about
    explained = shares @ np.linalg.solve(moments.T @ moments + 0.05 * d.size * np.eye(2), shares)
    noise = max(about @ about - explained, 0) / (d.size - 3) + 0.01
    texture = (moments**2).sum() / 2
    moves = explained > 6 * 2 * noise and explained - 2 * noise > 0.3**2 * texture
    brighter = abs(d.mean()) > 1 and d.mean() ** 2 > 12 * noise / d.size
    other = noise > 16 and noise * d.size > 1.0**2 * texture  # nothing that short motion explains
    if moves or other or brighter:
        return MOVED
    return DIFFERS if (d**2).mean() > 0.01 else NOTHING


def states(left, before, scale):
    """Of all blocks of two frames."""
    left, before = left / scale, before / scale
    mean = np.pad((left + before) / 2, 1, "edge")
    maps = left - before, (mean[1:-1, 2:] - mean[1:-1, :-2]) / 2, (mean[2:, 1:-1] - mean[:-2, 1:-1]) / 2
    rows, columns = edges(left.shape[0]), edges(left.shape[1])
    return np.array(
        [[state(*(part[top:bottom, first:last] for part in maps)) for first, last in columns] for top, bottom in rows]
    )


def trust(left, memory, scale):
    """How far each block is drawn toward the frame before: half way, then two thirds; not at all where it moved."""
    found = states(left, memory.left.astype(float), scale)
    moved = found == MOVED
    if moved.sum() > 0.4 * (found != NOTHING).sum():  # the camera moves
        return np.zeros(moved.shape)
    around = np.pad(moved, 1)
    height, width = moved.shape
    near = np.any([around[y : y + height, x : x + width] for y in range(3) for x in range(3)], 0)
    return np.where(near, 0, np.minimum(1 / (2 - memory.trust), 2 / 3))


def draw(disparity, before, blocks):
    """Toward the frame ``before``, less where they are apart; what one of them does not know stays as it is."""
    rows, columns = (np.minimum(np.arange(n) // (2 * BLOCK), m - 1) for n, m in zip(disparity.shape, blocks.shape))
    gap = before.astype(float) - disparity
    step = blocks[rows][:, columns] * gap / (1 + (gap / 0.4) ** 2) ** 2
    return disparity + np.where(np.isnan(step), 0, step)


def average(disparity, left, settings, previous):
    """The disparities of a frame, averaged with those of the frame before, and what the next one needs.

    Parameters
    ----------
    disparity : ndarray, shape (h, w)
        Of this frame alone, px.
    left : ndarray, shape of level 1
        Left image.
    settings : bdis.Settings
    previous : naive.Result, bdis.StereoResult or None
        Of the frame before.
    """
    settings = replace(settings, threads=1)
    memory = None if previous is None else previous.memory
    blocks = np.zeros([n // BLOCK for n in left.shape])
    if memory is not None and memory.settings == settings:
        blocks = trust(left, memory, settings.intensity_scale)
        disparity = draw(disparity, previous.disparity, blocks)
    return disparity, Memory(left, blocks, settings)
