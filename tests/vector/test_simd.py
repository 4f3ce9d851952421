"""Every function of the vector toolkit against NumPy: odd values, all array types, unaligned places, borders.

Vectors exist only in compiled code, so each test compiles a small function that loads, computes and stores.
"""

import numpy as np
import pytest
from numba import njit

from bdis.vector import simd

LANES = simd.LANES
TINY, HUGE = np.float32(1e-42), np.finfo(np.float32).max  # TINY is subnormal
FLOATS = np.array(
    [0.0, -0.0, 1.5, -2.5, np.nan, np.inf, -np.inf, TINY, -TINY, HUGE, -HUGE, 1 / 3, -7.25, 2.0**24 + 2, 0.1, -1.0],
    np.float32,
)
OTHERS = np.array(
    [-0.0, 3.0, 1.5, np.nan, 1.0, np.inf, 2.0, TINY, 4.0, 2.0, -HUGE, -1 / 3, 0.5, -1.0, np.nan, 0.0], np.float32
)
INTS = np.array(
    [0, 1, -1, 2**31 - 1, -(2**31), 7, -7, 255, 256, -256, 65535, 12345678, -98765, 3, 1 << 30, 42], np.int32
)
OTHER_INTS = np.array([5, -1, -1, 1, 1, -7, 7, 255, 1, 255, 65537, 1000, 1000, 3, 4, 41], np.int32)
ROW = 1  # where the data stand in arrays of three rows
compiled = njit(error_model="numpy")


def rows_with(values: np.ndarray) -> np.ndarray:
    """Three rows of an array with other numbers around ``values``, which begin at column 3 of row 1."""
    array = np.full((3, len(values) + 7), 77, values.dtype)
    array[ROW, 3 : 3 + len(values)] = values
    return array


def loaded(values: np.ndarray) -> np.ndarray:
    return values.reshape(1, -1).copy()


def rotated(values: np.ndarray) -> list[np.ndarray]:
    """All pairs of lanes meet in some of these."""
    return [np.roll(values, k) for k in range(LANES)]


@compiled
def float_operators(a, b, out):
    x, y = simd.load(a, 0, 0), simd.load(b, 0, 0)
    simd.store(out, 0, 0, x + y)
    simd.store(out, 1, 0, x - y)
    simd.store(out, 2, 0, x * y)
    simd.store(out, 3, 0, x / y)
    z = x
    z += y
    simd.store(out, 4, 0, z)
    z = x
    z -= y
    simd.store(out, 5, 0, z)
    simd.store(out, 6, 0, simd.smaller(x, y))
    simd.store(out, 7, 0, simd.larger(x, y))
    simd.store(out, 8, 0, simd.select(x < y, x, y))


def test_float_operators():
    for other in rotated(OTHERS):
        out = np.zeros((9, LANES), np.float32)
        float_operators(loaded(FLOATS), loaded(other), out)
        with np.errstate(all="ignore"):
            expected = [FLOATS + other, FLOATS - other, FLOATS * other, FLOATS / other, FLOATS + other, FLOATS - other]
            expected += [np.where(other > FLOATS, FLOATS, other), np.where(other < FLOATS, FLOATS, other)]
            expected += [np.where(other > FLOATS, FLOATS, other)]
        np.testing.assert_array_equal(out, expected)


@compiled
def float_functions(a, out):
    x = simd.load(a, 0, 0)
    simd.store(out, 0, 0, simd.floor(x))
    simd.store(out, 1, 0, simd.square_root(x))
    simd.store(out, 2, 0, simd.absolute(x))


def test_float_functions():
    out = np.zeros((3, LANES), np.float32)
    float_functions(loaded(FLOATS), out)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, [np.floor(FLOATS), np.sqrt(FLOATS), np.abs(FLOATS)])
    assert not np.signbit(out[2]).any()


@compiled
def comparisons(a, b):
    x, y = simd.load(a, 0, 0), simd.load(b, 0, 0)
    less, equal = x < y, x == y
    return (
        simd.mask_bits(less),
        simd.mask_bits(x <= y),
        simd.mask_bits(x > y),
        simd.mask_bits(x >= y),
        simd.mask_bits(equal),
        simd.mask_bits(less & equal),
        simd.mask_bits(less | equal),
        simd.mask_bits(less ^ equal),
        int(simd.any_lane(less)),
        int(simd.every_lane(less)),
    )


def bits(mask: np.ndarray) -> int:
    return int(sum(1 << k for k, is_set in enumerate(mask) if is_set))


def check_comparisons(a: np.ndarray, b: np.ndarray) -> None:
    masks = [a < b, a <= b, a > b, a >= b, a == b, (a < b) & (a == b), (a < b) | (a == b), (a < b) ^ (a == b)]
    expected = [*map(bits, masks), int((a < b).any()), int((a < b).all())]
    assert list(comparisons(loaded(a), loaded(b))) == expected


@pytest.mark.parametrize(("a", "b"), [(FLOATS, OTHERS), (INTS, OTHER_INTS)], ids=["floats", "ints"])
def test_comparisons_and_masks(a, b):
    """With NaN every comparison is false."""
    for other in rotated(b):
        check_comparisons(a, other)
    for low, high in ((0, 1), (1, 0), (1, 1)):
        check_comparisons(np.full(LANES, low, a.dtype), np.full(LANES, high, a.dtype))


@compiled
def int_operators(a, b, shift, out):
    x, y, n = simd.load(a, 0, 0), simd.load(b, 0, 0), simd.splat(shift)
    simd.store(out, 0, 0, x + y)
    simd.store(out, 1, 0, x - y)
    simd.store(out, 2, 0, x * y)
    simd.store(out, 3, 0, x & y)
    simd.store(out, 4, 0, x | y)
    simd.store(out, 5, 0, x ^ y)
    simd.store(out, 6, 0, x << n)
    simd.store(out, 7, 0, x >> n)
    z = x
    z += y
    simd.store(out, 8, 0, z)
    z = x
    z -= y
    simd.store(out, 9, 0, z)
    simd.store(out, 10, 0, simd.select(x > y, x, y))
    simd.store(out, 11, 0, simd.smaller(x, y))
    simd.store(out, 12, 0, simd.larger(x, y))


@pytest.mark.parametrize("shift", [0, 1, 16, 31])
def test_int_operators_wrap_around(shift):
    for other in rotated(OTHER_INTS):
        out = np.zeros((13, LANES), np.int32)
        int_operators(loaded(INTS), loaded(other), shift, out)
        a, b = INTS, other
        expected = [a + b, a - b, a * b, a & b, a | b, a ^ b, a << shift, a >> shift, a + b, a - b, np.maximum(a, b)]
        expected += [np.minimum(a, b), np.maximum(a, b)]
        np.testing.assert_array_equal(out, expected)


@compiled
def copy_lanes(source, row, col, target, target_row, target_col):
    simd.store(target, target_row, target_col, simd.load(source, row, col))


RANDOM = np.random.default_rng(0)
MEMORY = {
    "float32": FLOATS,
    "int32": INTS,
    "int16": RANDOM.integers(-(2**15), 2**15, LANES).astype(np.int16),
    "uint8": RANDOM.integers(0, 256, LANES).astype(np.uint8),
}


@pytest.mark.parametrize(
    ("source", "target"),
    [("float32", "float32"), *[(a, b) for a in ("int32", "int16", "uint8") for b in ("int32", "int16", "uint8")]],
)
def test_load_and_store_at_any_column(source, target):
    """Widened with the sign of the type, cut to the low bits, and nothing beside the sixteen lanes is written."""
    values = MEMORY[source]
    for col in range(5):
        out = np.full((3, LANES + 8), 55, target)
        before = out.copy()
        copy_lanes(rows_with(values), ROW, 3, out, 2, col)
        before[2, col : col + LANES] = values.astype(np.int64 if source != "float32" else np.float32).astype(target)
        np.testing.assert_array_equal(out, before)


def test_load_from_a_view_with_distance_between_rows():
    image = RANDOM.integers(0, 256, (4, 3 * LANES), dtype=np.uint8)
    view = image[::2, 5 : 5 + LANES + 2]
    view.flags.writeable = False
    out = np.zeros((1, LANES), np.int32)
    copy_lanes(view, 1, 2, out, 0, 0)
    np.testing.assert_array_equal(out[0], image[2, 7 : 7 + LANES])


@compiled
def stream(source, target, row, col):
    simd.prefetch(source, 0, 0)
    simd.store_streaming(target, row, col, simd.load(source, 0, 0))


def test_streaming_store():
    raw = np.zeros(2 * 32 * 4 + 64, np.uint8)
    offset = -raw.ctypes.data % 64
    aligned = raw[offset : offset + 2 * 32 * 4].view(np.float32).reshape(2, 32)
    stream(loaded(FLOATS), aligned, 1, 16)
    np.testing.assert_array_equal(aligned[1, 16:], FLOATS)
    assert (aligned[0] == 0).all()
    assert (aligned[1, :16] == 0).all()


@compiled
def conversions(floats, ints, number, whole, out_floats, out_ints):
    simd.store(out_floats, 0, 0, simd.splat(number))
    simd.store(out_floats, 1, 0, simd.to_float(simd.load(ints, 0, 0)))
    simd.store(out_floats, 2, 0, simd.as_float_bits(simd.load(ints, 0, 0)))
    simd.store(out_ints, 0, 0, simd.splat(whole))
    simd.store(out_ints, 1, 0, simd.lane_numbers())
    simd.store(out_ints, 2, 0, simd.to_int(simd.load(floats, 0, 0)))


@pytest.mark.parametrize("number", [-0.1, np.nan, np.float32(7.5)])
def test_conversions(number):
    finite = np.array([0, -0.0, 0.9, -0.9, 1.5, -1.5, 2e9, -2e9, 1e-40, 7, -7, 123.99, -123.99, 3, 4, 5], np.float32)
    floats, ints = np.zeros((3, LANES), np.float32), np.zeros((3, LANES), np.int32)
    conversions(loaded(finite), loaded(INTS), number, -12345, floats, ints)
    np.testing.assert_array_equal(floats[0], np.full(LANES, number, np.float32))
    np.testing.assert_array_equal(floats[1], INTS.astype(np.float32))
    np.testing.assert_array_equal(floats[2].view(np.int32), INTS)
    np.testing.assert_array_equal(ints[0], -12345)
    np.testing.assert_array_equal(ints[1], np.arange(LANES))
    np.testing.assert_array_equal(ints[2], np.trunc(finite).astype(np.int32))


@pytest.mark.parametrize("distance", [0, 1, 7, 15, 16])
@pytest.mark.parametrize("values", [FLOATS, INTS], ids=["floats", "ints"])
def test_slide(distance, values):
    @compiled
    def slide(a, b, out):
        simd.store(out, 0, 0, simd.slide(simd.load(a, 0, 0), simd.load(b, 0, 0), distance))

    other = values[::-1]
    out = np.zeros((1, LANES), values.dtype)
    slide(loaded(values), loaded(other), out)
    np.testing.assert_array_equal(out[0], np.concatenate([values, other])[distance : distance + LANES])


def test_slide_needs_a_literal_distance():
    @compiled
    def slide(a, distance, out):
        simd.store(out, 0, 0, simd.slide(simd.load(a, 0, 0), simd.load(a, 0, 0), distance))

    with pytest.raises(Exception, match="slide"):
        slide(loaded(FLOATS), 3, loaded(FLOATS))


@compiled
def deinterleave(a, b, out):
    first, second = simd.deinterleave(simd.load(a, 0, 0), simd.load(b, 0, 0))
    simd.store(out, 0, 0, first)
    simd.store(out, 1, 0, second)


@pytest.mark.parametrize(("a", "b"), [(FLOATS, OTHERS), (INTS, OTHER_INTS)], ids=["floats", "ints"])
def test_deinterleave(a, b):
    out = np.zeros((2, LANES), a.dtype)
    deinterleave(loaded(a), loaded(b), out)
    both = np.concatenate([a, b])
    np.testing.assert_array_equal(out, [both[::2], both[1::2]])


@compiled
def bits_of_floats(a, out):
    simd.store(out, 0, 0, simd.as_int_bits(simd.load(a, 0, 0)))


def test_bits_of_floats():
    out = np.zeros((1, LANES), np.int32)
    bits_of_floats(loaded(FLOATS), out)
    np.testing.assert_array_equal(out[0], FLOATS.view(np.int32))


@compiled
def interleave(a, b, out):
    first, second = simd.interleave(simd.load(a, 0, 0), simd.load(b, 0, 0))
    simd.store(out, 0, 0, first)
    simd.store(out, 0, 16, second)


@pytest.mark.parametrize(("a", "b"), [(FLOATS, OTHERS), (INTS, OTHER_INTS)], ids=["floats", "ints"])
def test_interleave(a, b):
    out = np.zeros((1, 2 * LANES), a.dtype)
    interleave(loaded(a), loaded(b), out)
    np.testing.assert_array_equal(out[0], np.stack([a, b], 1).ravel())


@compiled
def reductions(a, number):
    return simd.sum_lanes(simd.load(a, 0, 0)), simd.trailing_zeros(number)


def test_sum_of_lanes_has_a_fixed_order():
    values = (10.0 ** RANDOM.uniform(-6, 6, LANES)).astype(np.float32)
    total = values
    for distance in (8, 4, 2, 1):
        total = total + np.roll(total, -distance)
    assert reductions(loaded(values), 1)[0] == total[0]
    assert np.isnan(reductions(loaded(FLOATS), 1)[0])


@pytest.mark.parametrize(("number", "zeros"), [(0, 64), (1, 0), (-1, 0), (12, 2), (1 << 62, 62), (-(1 << 63), 63)])
def test_trailing_zeros(number, zeros):
    assert reductions(loaded(FLOATS), number)[1] == zeros


@compiled
def gathered(source, row, index, out):
    simd.store(out, 0, 0, simd.gather(source, row, simd.load(index, 0, 0)))


INDICES = [np.arange(LANES), np.arange(LANES)[::-1] * 2, np.zeros(LANES), np.full(LANES, 39), np.arange(LANES) - 8]


@pytest.mark.parametrize("index", INDICES, ids=["in a row", "backwards", "first", "last", "row before"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_gather(index, dtype):
    source = RANDOM.integers(-(10**6), 10**6, (3, 40)).astype(dtype)
    out = np.zeros((1, LANES), dtype)
    gathered(source, ROW, loaded(index.astype(np.int32)), out)
    np.testing.assert_array_equal(out[0], source.ravel()[ROW * 40 + index.astype(int)])


@compiled
def gathered_pairs(source, row, index, out):
    first, second = simd.gather_pairs(source, row, simd.load(index, 0, 0))
    simd.store(out, 0, 0, first)
    simd.store(out, 1, 0, second)


def test_gather_pairs():
    source = RANDOM.normal(size=(3, 41)).astype(np.float32)  # an odd width: rows are not multiples of 8 bytes
    source[ROW, 6] = np.nan
    index = RANDOM.integers(0, 20, LANES)
    index[0] = 3
    out = np.zeros((2, LANES), np.float32)
    gathered_pairs(source, ROW, loaded(index.astype(np.int32)), out)
    np.testing.assert_array_equal(out, [source[ROW, 2 * index], source[ROW, 2 * index + 1]])


# --- Two int16 in a lane ----------------------------------------------------------------------------------------------

SHORTS = RANDOM.integers(-(2**15), 2**15, (4, 2 * LANES + 5)).astype(np.int16)
SHORTS[ROW, :6] = -(2**15), 2**15 - 1, -1, 0, 1, -(2**15)


def halves(out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Low and high int16 of each lane."""
    both = out.view(np.int16).reshape(-1, LANES, 2)
    return both[..., 0].squeeze(), both[..., 1].squeeze()


@compiled
def short_loads(source, row, col, index, out):
    pair, rows = simd.load_pair(source, row, col), simd.load_two_rows(source, row, col)
    simd.store(out, 0, 0, pair)
    simd.store(out, 1, 0, rows)
    simd.store(out, 2, 0, simd.load_pair_sums(source, row, col))
    simd.store(out, 3, 0, simd.subtract_halves(rows, pair))
    simd.store(out, 4, 0, simd.dot_halves(simd.splat(-9), rows, pair))
    shifts = simd.dot_shifts(simd.splat(5), source, row, col, pair)
    simd.store(out, 5, 0, shifts)
    simd.store(out, 6, 0, simd.sort_shifts(shifts))
    simd.store(out, 7, 0, simd.gather_short_pairs(source, row, simd.load(index, 0, 0)))


@pytest.mark.parametrize("col", [0, 1, 4])
def test_pairs_of_shorts(col):
    source = SHORTS // 2  # sums of two products of such numbers fit into int32
    index = RANDOM.integers(0, source.shape[1] - 1, LANES)
    out = np.zeros((8, LANES), np.int32)
    short_loads(source, ROW, col, loaded(index.astype(np.int32)), out)
    wide = source.astype(np.int32)
    low, high = wide[ROW, col], wide[ROW, col + 1]
    first, second = (wide[row, col : col + LANES] for row in (ROW, ROW + 1))
    pair_low, pair_high = halves(out[0])
    assert (pair_low == low).all()
    assert (pair_high == high).all()
    np.testing.assert_array_equal(halves(out[1]), [first, second])
    sums = wide[ROW, col : col + 2 * LANES].reshape(LANES, 2).sum(1)
    np.testing.assert_array_equal(out[2], sums)
    np.testing.assert_array_equal(halves(out[3]), np.stack([first - low, second - high]).astype(np.int16))
    np.testing.assert_array_equal(out[4], -9 + first * low + second * high)
    shifts = 5 + low * first + high * wide[ROW, col + 1 : col + 1 + LANES]
    np.testing.assert_array_equal(out[5], np.concatenate([shifts[::2], shifts[1::2]]))
    np.testing.assert_array_equal(out[6], shifts)
    np.testing.assert_array_equal(halves(out[7]), [source[ROW, index], source[ROW, index + 1]])


@compiled
def near_pairs(source, row, index, out):
    simd.store(out, 0, 0, simd.gather_near_short_pairs(source, row, simd.load(index, 0, 0)))


@pytest.mark.parametrize(
    "steps",
    [
        range(LANES),
        [0, *range(62, 32, -2)[: LANES - 1]],
        [0, *[46] * 14, -16],  # the first and the last that are still near
        [0, *[46] * 14, -17],
        [0, *[47] * 15],
        RANDOM.integers(-100, 100, LANES) * (np.arange(LANES) > 0),
    ],
)
def test_pairs_of_shorts_near_each_other_and_far_apart(steps):
    source = RANDOM.integers(-(2**15), 2**15, (ROW + 1, 256)).astype(np.int16)
    index = 120 + np.array(steps)
    out = np.zeros((1, LANES), np.int32)
    near_pairs(source, ROW, loaded(index.astype(np.int32)), out)
    np.testing.assert_array_equal(halves(out[0]), [source[ROW, index], source[ROW, index + 1]])


@compiled
def short_pairs(source, row, col, out):
    simd.store(out, 0, 0, simd.load_short_pairs(source, row, col))


@pytest.mark.parametrize("col", [0, 1, 4])
def test_neighbouring_shorts_in_pairs(col):
    out = np.zeros((1, LANES), np.int32)
    short_pairs(SHORTS, ROW, col, out)
    expected = SHORTS[ROW, col : col + 2 * LANES]
    np.testing.assert_array_equal(halves(out[0]), [expected[::2], expected[1::2]])


def test_differences_of_shorts_wrap_around():
    out = np.zeros((8, LANES), np.int32)
    short_loads(SHORTS, ROW, 0, np.zeros((1, LANES), np.int32), out)
    low, high = SHORTS[ROW, 0], SHORTS[ROW, 1]
    expected = np.stack([SHORTS[ROW, :LANES] - low, SHORTS[ROW + 1, :LANES] - high])
    np.testing.assert_array_equal(halves(out[3]), expected)
    sums = SHORTS[ROW, : 2 * LANES].astype(np.int32).reshape(LANES, 2).sum(1)
    np.testing.assert_array_equal(out[2], sums)


# --- Sixteen int16 ----------------------------------------------------------------------------------------------------

LEFT, RIGHT = SHORTS[ROW, :LANES], SHORTS[ROW, LANES : 2 * LANES]


@compiled
def short_operators(a, b, shift, out):
    x, y, n = simd.load_shorts(a, 0, 0), simd.load_shorts(b, 0, 0), simd.splat_short(shift)
    simd.store(out, 0, 0, x + y)
    simd.store(out, 1, 0, x - y)
    simd.store(out, 2, 0, x * y)
    simd.store(out, 3, 0, x & y)
    simd.store(out, 4, 0, x | y)
    simd.store(out, 5, 0, x ^ y)
    simd.store(out, 6, 0, x << n)
    simd.store(out, 7, 0, x >> n)
    z = x
    z += y
    simd.store(out, 8, 0, z)
    z = x
    z -= y
    simd.store(out, 9, 0, z)
    simd.store(out, 10, 0, simd.smaller(x, y))
    simd.store(out, 11, 0, simd.larger(x, y))
    simd.store(out, 12, 0, simd.select(x <= y, x, y))
    simd.store(out, 13, 0, simd.count_bits(x))
    return (
        simd.mask_bits(x < y),
        simd.mask_bits(x <= y),
        simd.mask_bits(x > y),
        simd.mask_bits(x >= y),
        simd.mask_bits(x == y),
    )


@pytest.mark.parametrize("shift", [0, 1, 15])
def test_operators_of_shorts_wrap_around(shift):
    for b in rotated(RIGHT):
        a, out = LEFT, np.zeros((14, LANES), np.int16)
        masks = short_operators(loaded(a), loaded(b), shift, out)
        expected = [a + b, a - b, a * b, a & b, a | b, a ^ b, a << np.int16(shift), a >> np.int16(shift), a + b, a - b]
        expected += [np.minimum(a, b), np.maximum(a, b), np.minimum(a, b)]
        expected += [[bin(number & 0xFFFF).count("1") for number in a.tolist()]]
        np.testing.assert_array_equal(out, np.array(expected, np.int16))
        assert list(masks) == [*map(bits, [a < b, a <= b, a > b, a >= b, a == b])]
    assert short_operators(loaded(LEFT), loaded(LEFT), 0, np.zeros((14, LANES), np.int16))[4] == 2**LANES - 1


@compiled
def copy_shorts(source, row, col, number, ints, target, target_row, target_col):
    simd.store(target, target_row, target_col, simd.load_shorts(source, row, col))
    simd.store(target, 0, 0, simd.splat_short(number))
    simd.store(target, 1, 0, simd.to_shorts(simd.load(ints, 0, 0)))


@pytest.mark.parametrize("number", [0, -1, 2**15 - 1, -(2**15), 70000])
@pytest.mark.parametrize("col", [0, 1, 4])
def test_shorts_at_any_column(col, number):
    """Numbers are cut to their low sixteen bits, and nothing beside the lanes is written."""
    out = np.full((4, LANES + 8), 77, np.int16)
    expected = out.copy()
    copy_shorts(SHORTS, ROW, col, number, loaded(INTS), out, 3, 2)
    expected[3, 2 : 2 + LANES] = SHORTS[ROW, col : col + LANES]
    expected[0, :LANES] = np.array(number).astype(np.int16)
    expected[1, :LANES] = INTS.astype(np.int16)
    np.testing.assert_array_equal(out, expected)


@compiled
def smallest_short(a, out):
    simd.store(out, 0, 0, simd.smallest_short(simd.load_shorts(a, 0, 0)))


def test_smallest_of_sixteen_shorts():
    values = RANDOM.integers(3, 2**15, LANES).astype(np.int16)
    values[0] = 2
    out = np.zeros((1, LANES), np.int16)
    for rolled in [*rotated(values), np.zeros(LANES, np.int16), np.full(LANES, 2**15 - 1, np.int16)]:
        smallest_short(loaded(rolled), out)
        np.testing.assert_array_equal(out[0], rolled.min())


# --- Images -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_brightness_of_pairs_of_pixels(channels):
    @compiled
    def brightness(image, row, col, out):
        even, odd = simd.load_grey_pairs(image, row, col, channels)
        simd.store(out, 0, 0, even)
        simd.store(out, 1, 0, odd)

    pixels = RANDOM.integers(0, 256, (2, 2 * LANES + 1, channels), dtype=np.uint8)
    pixels[1, 1], pixels[1, 2] = 255, 0
    out = np.zeros((2, LANES), np.int32)
    brightness(pixels.reshape(2, -1), 1, channels, out)
    weights = np.array([256] if channels == 1 else [77, 150, 29, 0][:channels])
    grey = (pixels[1, 1:].astype(np.int32) * weights).sum(1)
    np.testing.assert_array_equal(out, [grey[::2], grey[1::2]])
