"""ELAS: support points, the few pixels on a grid whose disparity is beyond doubt.

Grids are int32 (rows, columns) with the disparity in px, -1 where there is none; grid point (j, i) is the pixel
(j step, i step).  Descriptors are those of ``elas_descriptors.py``.
"""

from numba import float64, int32, int64, uint64, void

from .....vector.array_types import BYTES, INTS
from .....vector.cache import inner, kernel
from .descriptors import CENTRE, MARGIN, SIZE, distance_of_four

REACH = 2  # px from a support point to the four descriptors that describe it
BORDER = MARGIN + REACH  # px along the image's border without support points
FOUR = 4 * SIZE


@inner
def _gather_corners(descriptors, y, out_four):
    """The descriptors at (+-2, +-2) of every pixel in row ``y``, side by side: pixel x at ``[0, 64 x : 64 x + 64]``."""
    size, reach = uint64(SIZE), uint64(REACH)
    width = uint64(descriptors.shape[1]) // size
    for x in range(uint64(BORDER), width - uint64(BORDER)):
        for corner in range(uint64(4)):
            row = y - reach if corner < uint64(2) else y + reach
            col = (x - reach if corner % uint64(2) == uint64(0) else x + reach) * size
            place = x * uint64(FOUR) + corner * size
            for k in range(size):
                out_four[0, place + k] = descriptors[row, col + k]


@inner
def _texture(descriptors, y, x):
    """Sum of |descriptor - 128|."""
    total = int32(0)
    for k in range(uint64(SIZE)):
        total += abs(int32(descriptors[y, x * uint64(SIZE) + k]) - int32(CENTRE))
    return total


@inner
def _best_disparity(four, other_four, x, towards, largest, max_ratio, costs):
    """The disparity of least cost, -1 if another one more than 1 px away costs almost as little.

    ``towards``: -1 if the other image is the right one, 1 if it is the left one.  ``costs``: scratch, int32 (1, n).
    """
    place = x * uint64(FOUR)
    best, best_cost = int64(0), int64(1 << 30)
    for d in range(largest + 1):
        other = uint64(int64(x) + towards * d)
        cost = distance_of_four(four, uint64(0), place, other_four, uint64(0), other * uint64(FOUR))
        costs[0, uint64(d)] = cost
        if cost < best_cost:
            best, best_cost = d, int64(cost)
    second_cost = int32(1 << 30)
    for d in range(uint64(max(0, best - 1))):
        second_cost = min(second_cost, costs[0, d])
    for d in range(uint64(best + 2), uint64(largest + 1)):
        second_cost = min(second_cost, costs[0, d])
    return best if best_cost < max_ratio * second_cost else int64(-1)


@kernel(void(BYTES, BYTES, int64, int64, int64, float64, int64, BYTES, BYTES, INTS, INTS))
def elas_match_support(
    left, right, step, max_disparity, min_texture, max_ratio, max_difference, left_four, right_four, costs, out_grid
):
    """Match every point of the grid from left to right and back; what is not textured, unique and consistent is -1.

    Scratch: ``left_four``, ``right_four`` uint8 (1, 64 w); ``costs`` int32 (1, max_disparity + 1).
    """
    height, width = left.shape[0], left.shape[1] // SIZE
    last = width - 1 - BORDER
    out_grid[:] = -1
    for j in range(out_grid.shape[0]):
        y = j * step
        if y < BORDER or y >= height - BORDER:
            continue
        _gather_corners(left, uint64(y), left_four)
        _gather_corners(right, uint64(y), right_four)
        for i in range(out_grid.shape[1]):
            x = i * step
            if x < BORDER or x > last or _texture(left, uint64(y), uint64(x)) < min_texture:
                continue
            d = _best_disparity(left_four, right_four, uint64(x), -1, min(max_disparity, x - BORDER), max_ratio, costs)
            if d < 0 or _texture(right, uint64(y), uint64(x - d)) < min_texture:
                continue
            back = _best_disparity(
                right_four, left_four, uint64(x - d), 1, min(max_disparity, last - (x - d)), max_ratio, costs
            )
            if back >= 0 and abs(back - d) <= max_difference:
                out_grid[j, i] = d


@kernel(void(INTS, int64, int64, int64, INTS))
def elas_drop_unsupported(grid, window, tolerance, min_others, out_grid):
    """Keep points that ``min_others`` others within ``window`` grid steps support, up to ``tolerance`` px apart."""
    rows, columns = grid.shape
    for j in range(rows):
        for i in range(columns):
            others = -1  # a point agrees with itself
            if grid[j, i] >= 0:
                for v in range(max(0, j - window), min(rows, j + window + 1)):
                    for u in range(max(0, i - window), min(columns, i + window + 1)):
                        others += grid[v, u] >= 0 and abs(grid[v, u] - grid[j, i]) <= tolerance
            out_grid[j, i] = grid[j, i] if others >= min_others else -1


@inner
def _repeated(grid, j, i, down, along, reach, tolerance):
    """Does a point within ``reach`` grid steps in direction (down, along) have the same disparity?"""
    for k in range(1, reach + 1):
        v, u = j + k * down, i + k * along
        if v < 0 or u < 0 or v >= grid.shape[0] or u >= grid.shape[1]:
            return False
        if grid[v, u] >= 0 and abs(grid[v, u] - grid[j, i]) <= tolerance:
            return True
    return False


@kernel(void(INTS, int64, int64, int64))
def elas_drop_redundant(grid, reach, tolerance, vertical):
    """Drop points, in place, that repeat one on either side of them: along the column if ``vertical``, else the row.

    One after the other: a dropped point no longer makes the next one redundant, so none is further than ``reach`` away.
    """
    down, along = (1, 0) if vertical else (0, 1)
    for j in range(grid.shape[0]):
        for i in range(grid.shape[1]):
            if grid[j, i] >= 0 and (
                _repeated(grid, j, i, -down, -along, reach, tolerance)
                and _repeated(grid, j, i, down, along, reach, tolerance)
            ):
                grid[j, i] = -1
