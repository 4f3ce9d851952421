"""Pictures that are interlaced, soft, or show the blocks of a strong JPEG compression: errors are larger than is told.

The law of error was fitted to pictures that are sharp to the pixel and coded well.  What is soft has errors that many
neighbours share, and blocks of 8 px have edges where the scene has none; neither shows in the differences between left
and right.  In an interlaced picture every other row is of another moment, in which things were elsewhere.  All of this
shows in a few rows of the images.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..common.arrays import Array
from .images import LUMA

STRIPS, ROWS = 8, 4  # of each image, spread over its height
BLOCK = 8  # px of a block of JPEG
NARROWEST_PX = 64
# Energy of half the size over that of a quarter of it.  82 views of real pairs and 96 of sharp rendered ones have 0.45
# and more; blurred by a sigma of 2 px 97 % have less than this and by 3 px all, enlarged four times 85 %.  Then 66 to
# 96 % of the errors lie inside of the intervals of 95 %.  Of quarters of these views, two dark ones have less.
SOFT = 0.4
# How much steeper columns at the borders of blocks are than others, less 1, times the difference in grey levels.  The
# same views have at most 1.1; with JPEG of quality 10 nearly all have more than this (69 to 88 % inside), with 20 most
# (82 to 98 %), with 50 a fifth (89 to 99 %).
BLOCKS = 2.5
# Difference of neighbouring rows over that of rows two apart, where it is worth a closer look.  The 82 real views have
# .51 to .67, with every other row moved by 2 px .87 to 1.7; rendered ones with noise have .55 to .94, and moved .82 to
# 1.6.  So this only saves time.
COMBED = 0.7
MOST_MOVED_PX = 24  # of every other row
# How many of the strips must find about the same; how alike rows must be where they fit best, as a correlation times
# the root of the width, as by chance it falls with that; and how much less alike if moved to the other side: slanted
# stripes and a checkerboard are alike on both.  Of the real views and 420 rendered ones with noise, smoke and blur, of
# 120x160 to 480x640, none reaches this, nor do 608 quarters of some and 4500 pictures of noise, stripes and the like.
# With odd rows moved by 2 px 81 of the 82 and 385 of the 420 do, by 1 px 68 and 370.  Strong noise hides it.
STRIPS_ALIKE, ROWS_ALIKE, OTHER_SIDE = 6, 2.5, 0.8


class Strips(NamedTuple):
    """Rows of both images, as they were given.

    Attributes
    ----------
    left, right : ndarray, shape (STRIPS * ROWS, w) or (STRIPS * ROWS, w, channels)
        Groups of rows, each of neighbours.
    white : float
        Brightness of white.
    first_rows : ndarray of int, shape (STRIPS,)
        Which row of the image each group begins with.
    """

    left: Array
    right: Array
    white: float
    first_rows: Array


def rows_of_strips(height: int) -> Array:
    """Which rows of an image are looked at: groups of neighbours, spread over its height.

    Examples
    --------
    >>> rows_of_strips(480)[:6]
    array([ 52,  53,  54,  55, 105, 106])
    """
    first = np.linspace(0, height - ROWS, STRIPS + 2)[1:-1].astype(int)
    return np.asarray((first[:, None] + np.arange(ROWS)).ravel())


def strips_of(left: Array, right: Array, rows: Array, white: float) -> Strips:
    """Copy the rows that tell of the quality of a pair; this takes some microseconds.

    Examples
    --------
    >>> image = np.zeros((48, 64, 3), np.uint8)
    >>> strips_of(image, image, rows_of_strips(48), 255.0).left.shape
    (32, 64, 3)
    """
    return Strips(left.take(rows, 0), right.take(rows, 0), white, rows[::ROWS])


def poor_quality(strips: Strips) -> str:
    """A warning if an image is soft or was compressed strongly; empty if neither shows.

    Examples
    --------
    >>> from bdis.synthetic.renderer import render
    >>> pair = render("tissue", 240, 320)
    >>> poor_quality(strips_of(pair.left, pair.right, rows_of_strips(240), 255.0))
    ''
    >>> small = pair.left[::4, ::4].repeat(4, 0).repeat(4, 1)
    >>> enlarged = sum(np.roll(small, (y, x), (0, 1)) / 64 for y in range(8) for x in range(8)).astype(np.uint8)
    >>> poor_quality(strips_of(enlarged, pair.right, rows_of_strips(240), 255.0)).split(":")[0]
    'the left image looks soft, as if it were out of focus or enlarged'
    """
    if strips.left.shape[1] < NARROWEST_PX:
        return ""
    views = [_grey(rows, strips.white) for rows in (strips.left, strips.right)]
    too_sure = "errors are larger than the probability and the intervals say"
    if which := _which([_is_soft(view) for view in views]):
        look, they = ("looks", "it were") if which.endswith("image") else ("look", "they were")
        return f"{which} {look} soft, as if {they} out of focus or enlarged: {too_sure}"
    if which := _which([_has_blocks(view) for view in views]):
        show = "shows" if which.endswith("image") else "show"
        return f"{which} {show} the blocks of a strong JPEG compression: {too_sure}; use a higher quality"
    return ""


def interlaced(strips: Strips) -> str:
    """A warning if every other row of an image is moved along the rows; empty if it does not show.

    Examples
    --------
    >>> from bdis.synthetic.renderer import render
    >>> pair = render("tissue", 240, 320)
    >>> interlaced(strips_of(pair.left, pair.right, rows_of_strips(240), 255.0))
    ''
    >>> pair.right[1::2] = np.roll(pair.right[1::2], 3, 1)
    >>> interlaced(strips_of(pair.left, pair.right, rows_of_strips(240), 255.0)).split(":")[0]
    'the right image looks interlaced, odd rows lie 3 px beside even ones'
    """
    if strips.left.shape[1] < NARROWEST_PX:
        return ""
    is_first_odd = strips.first_rows % 2 == 1
    moved = [_moved_rows(_grey(rows, strips.white), is_first_odd) for rows in (strips.left, strips.right)]
    which = _which([px != 0 for px in moved])
    if not which:
        return ""
    looks = "looks" if which.endswith("image") else "look"
    return (
        f"{which} {looks} interlaced, odd rows lie {max(map(abs, moved))} px beside even ones: they are of another "
        "moment, and what moved between has a wrong depth; use a progressive signal, or deinterlace (videos: "
        "--deinterlace, in Python open_source(..., deinterlace=True))"
    )


def _moved_rows(strips: Array, is_first_odd: Array) -> int:
    """By how many px odd rows of an image are moved to the right; 0 if they are not, or it does not show."""
    apart = float(np.abs(strips[:, 2:] - strips[:, :2]).mean())
    if not float(np.abs(np.diff(strips, axis=1)).mean()) > COMBED * apart:
        return 0
    is_seen = np.asarray((strips > 0).all(1, keepdims=True))
    steps = np.where(is_seen[..., 1:] & is_seen[..., :-1], np.diff(strips, axis=2), 0)
    length = steps.shape[2] + MOST_MOVED_PX  # nothing comes around to the other end
    waves = np.fft.rfft(steps, length)
    # Each of the two inner rows beside the mean of its neighbours, which lies where the row would without moving, along
    # slanted edges too.  One is odd and one is even, and is moved the other way.
    both = (waves[:, 1] * (waves[:, 0] + waves[:, 2]).conj() + waves[:, 2].conj() * (waves[:, 1] + waves[:, 3])) / 2
    fits = np.fft.irfft(np.where(is_first_odd[:, None], both.conj(), both), length)
    fits = np.concatenate([fits[:, -MOST_MOVED_PX:], fits[:, : MOST_MOVED_PX + 1]], 1)
    total, energy = fits.sum(0), float((steps[:, 1] ** 2 + steps[:, 2] ** 2).sum())
    moved = int(total.argmax()) - MOST_MOVED_PX
    is_alike = np.abs(fits.argmax(1) - MOST_MOVED_PX - moved) <= max(1, abs(moved) // 2)
    best, other = (float(total[MOST_MOVED_PX + px]) for px in (moved, -moved))
    is_told = (
        is_alike.sum() >= STRIPS_ALIKE
        and best > ROWS_ALIKE * energy / steps.shape[2] ** 0.5
        and other < OTHER_SIDE * best
    )
    return moved if is_told else 0


def _which(are: list[bool]) -> str:
    """Which images something is true of; empty if of none."""
    return {(True, True): "the images", (True, False): "the left image", (False, True): "the right image"}.get(
        (are[0], are[1]), ""
    )


def _grey(rows: Array, white: float) -> Array:
    """Brightness (STRIPS, ROWS, w), 0 to 255."""
    # Not their mean: JPEG and videos code colours at half of the size.
    grey = rows.astype(np.float32) if rows.ndim == 2 else rows[..., :3].astype(np.float32) @ np.array(LUMA, np.float32)
    return np.asarray(grey * np.float32(255 / white)).reshape(STRIPS, ROWS, -1)


def _halved(strips: Array) -> Array:
    """Strips of half the size."""
    count, rows, width = strips.shape
    whole = strips[..., : width // 2 * 2].reshape(count, rows // 2, 2, width // 2, 2)
    return np.asarray(whole.mean((2, 4)))


def _is_soft(strips: Array) -> bool:
    half = _halved(strips)
    fine, coarse = (_energy(each) for each in (half, _halved(half)))
    return bool(coarse > 0 and fine < SOFT * coarse)


def _energy(strips: Array) -> float:
    """Root mean square of second differences along the rows, of what was seen."""
    left, middle, right = strips[..., :-2], strips[..., 1:-1], strips[..., 2:]
    is_seen = np.minimum(np.minimum(left, middle), right) > 0
    bends = (left - 2 * middle + right)[is_seen]
    return float(np.sqrt(np.mean(bends**2))) if bends.size else 0.0


def _has_blocks(strips: Array) -> bool:
    steps = np.abs(np.diff(strips, axis=2))
    steps = steps[..., : steps.shape[2] // BLOCK * BLOCK]
    by_column = steps.reshape(-1, steps.shape[2] // BLOCK, BLOCK).mean((0, 1))
    usual, steepest = float(np.median(by_column)), float(by_column.max())
    return bool(usual > 0 and (steepest / usual - 1) * (steepest - usual) > BLOCKS)
