"""Video: which parts of the picture stand still, and their disparities drawn toward those of the frame before.

What moves by u px changes its pixels by u times the gradient there; sensor noise changes them in any way, however it
depends on brightness.  So the level-1 images of both frames are cut into blocks, and in each block the difference is
explained by a motion as far as possible (least squares).  A block has moved if the motion is long enough to matter, and
explains much more than it would of noise; if much is left that no short motion explains; or if the mean brightness
differs.
"""

from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Bytes, Floats, GivenFloats, Record, kernel
from ...vector.simd import LANES, lane_numbers, load, select, splat, store, sum_lanes, to_float
from .layout import PAD, ROWS, Maps
from .pyramid import Image

BLOCK = 16  # px of level 1; the last blocks of a row and of a column are longer
# What halving and doubling each of these does was measured: docs/constants.md.  Flicker is that of still / creeping
# cameras as a share of what single frames have, 0.565 / 0.655 as is; where not said, it stays so.
MIN_MOTION = 0.3  # px of level 1 from frame to frame: what moves less is averaged; 0.15: 0.77 creeping, 0.6: 0.59;
# averaging what moves by 2 px adds 4 % of error
MIN_EXPLAINED = 6.0  # times what is explained of noise; noise alone reaches this in one block of four hundred
MIN_REST = 16.0  # grey levels^2 that are not explained: more than noise leaves, if it is also...
MIN_REST_MOTION = 1.0  # ... as much as a motion by so many px of level 1 would make
MIN_BRIGHTER = 1.0  # grey levels: a mean difference that counts, if it is also...
MIN_BRIGHTER_NOISE = 12.0  # ... so many times its variance
MAX_MOVED = 0.4  # share of the blocks with a difference: if more have moved, the camera has, and nothing is averaged
STIFFNESS = 0.05  # (grey levels / px)^2 per px: weaker texture does not tell motion from noise
LEAST_NOISE = 0.01  # grey levels^2, variance of the difference; also the least that counts as a difference
MOST_TRUST = 2 / 3  # how far disparities are drawn from the third frame on, half way in the second; 0.33: 0.78 / 0.82,
# 0.9: 0.45 / 0.57, but creeping adds up to errors
NEAR = 0.4  # px: at this distance they are drawn a quarter as far; 0.2: 0.71 / 0.76, 0.8: 0.47 / 0.59
DIFFERS, MOVED = 1, 2  # flags of a block


class FrameChange(Record):
    """What has changed since the frame before, in blocks of level 1.  All of shape (blocks down, blocks across).

    Attributes
    ----------
    flags : ndarray of uint8
        Sum of DIFFERS and MOVED.
    before : ndarray of float32
        Trust in the frame before that one.
    trust : ndarray of float32
        How far disparities are drawn toward those of the frame before, 0 to 1; 0 where the picture has moved.
    grey : float
        One grey level as stored.
    """

    flags: Bytes
    before: Floats
    trust: Floats
    grey: float


class PreviousDisparity(Record):
    """Result of the frame before.

    Attributes
    ----------
    values : ndarray of float32, shape (h, w)
        px of the image, NaN = unknown.
    """

    values: GivenFloats


@inner
def block_end(block, blocks, size):
    """Row or column behind the last one of a block."""
    return size if block == blocks - 1 else (block + 1) * BLOCK


@inner
def explain(left, before, top, bottom, first, last):
    """Sums over a block: pixels, difference d, d^2, and about their means gx^2, gx gy, gy^2, gx d, gy d."""
    zero, half = splat(float32(0)), splat(float32(0.5))
    quarter, height = half * half, left.shape[0]
    n = sd = dd = sx = sy = xx = xy = yy = xd = yd = zero
    for y in range(top, bottom):
        row, above, below = uint64(y), uint64(max(y - 1, 0)), uint64(min(y + 1, height - 1))
        for x in range(first, last, LANES):
            at, one = uint64(PAD + x), uint64(1)
            inside = lane_numbers() + splat(int32(x)) < splat(int32(last))
            difference = to_float(load(left, row, at) - load(before, row, at))
            # The gradient of the mean of both frames: that of one alone would share its noise with the difference.
            right = load(left, row, at + one) + load(before, row, at + one)
            along = to_float(right - load(left, row, at - one) - load(before, row, at - one))
            lower = load(left, below, at) + load(before, below, at)
            down = to_float(lower - load(left, above, at) - load(before, above, at))
            d, gx = select(inside, difference, zero), select(inside, quarter * along, zero)
            gy = select(inside, quarter * down, zero)
            n += select(inside, splat(float32(1)), zero)
            sd, sx, sy, dd = sd + d, sx + gx, sy + gy, dd + d * d
            xx, xy, yy, xd, yd = xx + gx * gx, xy + gx * gy, yy + gy * gy, xd + gx * d, yd + gy * d
    count, d_sum, x_sum, y_sum = sum_lanes(n), sum_lanes(sd), sum_lanes(sx), sum_lanes(sy)
    x_mean, y_mean = x_sum / count, y_sum / count
    return (
        count, d_sum, sum_lanes(dd), sum_lanes(xx) - x_mean * x_sum, sum_lanes(xy) - x_mean * y_sum,
        sum_lanes(yy) - y_mean * y_sum, sum_lanes(xd) - x_mean * d_sum, sum_lanes(yd) - y_mean * d_sum,
    )  # fmt: skip


@inner
def flags_of(sums, grey):
    """Does a block differ, and has it moved?"""
    n, d, dd, xx, xy, yy, xd, yd = sums
    stiffness, unit = n * float32(STIFFNESS * grey * grey), float32(grey * grey)
    a, b = xx + stiffness, yy + stiffness
    explained = (b * xd * xd - float32(2) * xy * xd * yd + a * yd * yd) / (a * b - xy * xy)
    rest = max(dd - d * d / n - explained, float32(0)) / (n - float32(3)) + float32(LEAST_NOISE) * unit
    of_noise = float32(2) * rest  # two directions
    texture = float32(0.5) * (xx + yy)
    moves = explained > float32(MIN_EXPLAINED) * of_noise
    moves = moves and explained - of_noise > float32(MIN_MOTION * MIN_MOTION) * texture
    is_other = rest > float32(MIN_REST) * unit and rest * n > float32(MIN_REST_MOTION * MIN_REST_MOTION) * texture
    is_brighter = d * d > n * n * float32(MIN_BRIGHTER * MIN_BRIGHTER) * unit
    is_brighter = is_brighter and d * d > float32(MIN_BRIGHTER_NOISE) * n * rest
    differs = dd > n * float32(LEAST_NOISE) * unit
    return (DIFFERS if differs else 0) + (MOVED if moves or is_other or is_brighter else 0)


@inner
def has_moved_near(flags, y, x):
    """Has a block or one beside it moved?"""
    down, across = flags.shape
    for row in range(max(y - 1, 0), min(y + 2, down)):
        for col in range(max(x - 1, 0), min(x + 2, across)):
            if flags[row, col] & MOVED:
                return True
    return False


@kernel
def compare_frames(left: Image, before: Image, change: FrameChange, crew: Crew) -> None:
    """Fill ``change.flags`` and ``change.trust`` from the left level-1 images of both frames."""
    flags, trust = change.flags, change.trust
    down, across = flags.shape
    height, width = left.pixels.shape[0], left.width
    begin, end = share(crew, down, 1)
    for y in range(begin, end):
        bottom = block_end(y, down, height)
        for x in range(across):
            sums = explain(left.pixels, before.pixels, y * BLOCK, bottom, x * BLOCK, block_end(x, across, width))
            flags[y, x] = flags_of(sums, change.grey)
    if not meet(crew):
        return
    differ = moved = 0
    for y in range(down):
        for x in range(across):
            differ += flags[y, x] & DIFFERS != 0
            moved += flags[y, x] & MOVED != 0
    is_still = moved <= MAX_MOVED * differ
    for y in range(begin, end):
        for x in range(across):
            longer = min(float32(1) / (float32(2) - change.before[y, x]), float32(MOST_TRUST))
            trust[y, x] = longer if is_still and not has_moved_near(flags, y, x) else float32(0)
    meet(crew)


@kernel
def draw_to_previous(result: Maps, previous: PreviousDisparity, change: FrameChange, crew: Crew) -> None:
    """Draw disparities toward those of the frame before, less the farther apart they are; unknown in either: as is."""
    values, before, width = result.disparity, previous.values, result.width
    down, across = change.trust.shape
    begin, end = share(crew, values.shape[0], ROWS)
    zero, one, per_px = splat(float32(0)), splat(float32(1)), splat(float32(1 / NEAR))
    for y in range(begin, end):
        row, block_row = uint64(y), min(y // (2 * BLOCK), down - 1)
        for first in range(0, width, LANES):
            trust = change.trust[block_row, min(first // (2 * BLOCK), across - 1)]
            if trust == float32(0):
                continue
            x = min(first, width - LANES)  # the last sixteen overlap: those that are done stay
            here = load(values, row, uint64(x))
            gap = load(before, row, uint64(x)) - here
            far = one + gap * gap * per_px * per_px
            step = splat(trust) * gap / (far * far)
            is_next = (step == step) & (lane_numbers() >= splat(int32(first - x)))
            store(values, row, uint64(x), here + select(is_next, step, zero))
    meet(crew)
