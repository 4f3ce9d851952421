"""The bonds between neighbouring pixels of a surface, and what its recursions need of them.

A bond is weak across edges of the left image.
"""

from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Record, kernel
from ...vector.simd import LANES, absolute, lane_numbers, larger, load, select, splat, store, to_float
from ...vector.tiles import transpose_tile
from .layout import PAD
from .pyramid import Image
from .surface import Surface

# What halving and doubling each of these does to error and coverage was measured: docs/constants.md.
WEAKEST = 0.3  # ^8 is the least that is left of a bond, so that what is known reaches every pixel; 0.6: +2 % error


class Bonds(Record):
    """How strongly neighbours are bound.

    Attributes
    ----------
    strength : float
        Of a bond between pixels of the same grey value.
    sharpness : float
        1 / the step of the image, as stored, that leaves about 1/e of a bond.
    """

    strength: float
    sharpness: float


@inner
def weaken(step, sharpness):
    """What a step leaves of a bond: (1 - t / 8)^8 with t = |step| * sharpness, close to e^-t and cheaper."""
    rest = splat(float32(1)) - absolute(step) * sharpness * splat(float32(0.125))
    rest = larger(rest, splat(float32(WEAKEST)))
    rest = rest * rest
    rest = rest * rest
    return rest * rest


@inner
def bond_rows(left, surface, strength, sharpness, begin, end):
    """Bonds to the right neighbour, rows ``begin`` to ``end - 1`` of ``surface.total``; 0 from the last column on."""
    out, width = surface.total, surface.width
    factor, scale = splat(float32(sharpness)), splat(float32(strength))
    zero, last = splat(float32(0)), splat(int32(width - 1))
    for y in range(uint64(begin), uint64(end)):
        for x in range(uint64(0), uint64(out.shape[1]), uint64(LANES)):
            if int64(x) >= width:
                store(out, y, x, zero)
                continue
            step = to_float(load(left, y, x + uint64(PAD + 1)) - load(left, y, x + uint64(PAD)))
            bond = scale * weaken(step, factor)
            store(out, y, x, select(lane_numbers() + splat(int32(x)) < last, bond, zero))


@inner
def bond_columns(left, surface, strength, sharpness, begin, end):
    """Bonds to the neighbour below, rows ``begin`` to ``end - 1`` of ``surface.bond_y``; 0 in the last row."""
    width = surface.width
    factor = splat(float32(sharpness))
    last = left.shape[0] - 1
    for y in range(begin, end):
        row, below = uint64(y), uint64(min(y + 1, last))
        scale = splat(float32(strength if y < last else 0))
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            step = to_float(load(left, below, x + uint64(PAD)) - load(left, row, x + uint64(PAD)))
            bond = scale * weaken(step, factor)
            store(surface.bond_y, row, x, bond)


@inner
def shares_along_rows(surface, begin, end):
    """Turn bonds into what the recursions along rows need, tile by tile: bond and 1 / pivot, sixteen rows abreast."""
    one, width = splat(float32(1)), surface.width
    bonds, shares, stride = surface.bond_x, surface.share_x, surface.total.shape[1]
    for top in range(begin, end, LANES):
        base = uint64(top // LANES * stride)
        for x in range(uint64(0), uint64(stride), uint64(LANES)):
            transpose_tile(surface.total, uint64(top), x, bonds, base + x, uint64(0))
        bond_before = carry = splat(float32(0))
        for x in range(uint64(width)):
            bond = load(bonds, base + x, uint64(0))
            share = one / (one + bond_before + bond - bond_before * carry)
            store(shares, base + x, uint64(0), share)
            bond_before, carry = bond, bond * share


@inner
def shares_along_columns(surface, begin, end):
    """1 / pivot of the recursions down the columns ``begin`` to ``end - 1``."""
    one, height = splat(float32(1)), surface.height
    bonds, shares = surface.bond_y, surface.share_y
    for y in range(uint64(height)):
        for x in range(uint64(begin), uint64(end), uint64(LANES)):
            pivot = one + load(bonds, y, x)
            if y > uint64(0):
                before = load(bonds, y - uint64(1), x)
                pivot = pivot + before - before * before * load(shares, y - uint64(1), x)
            store(shares, y, x, one / pivot)


@kernel
def bind(guide: Image, surface: Surface, bonds: Bonds, crew: Crew) -> None:
    """Bonds between the pixels of the left image, weakened by the steps between them.

    Writes ``surface.bond_x``, ``share_x``, ``bond_y`` and ``share_y``.
    """
    left, height = guide.pixels, surface.height
    strength, sharpness = bonds.strength, bonds.sharpness
    begin, end = share(crew, height, LANES)
    zero = splat(float32(0))
    bond_rows(left, surface, strength, sharpness, begin, end)
    if begin < end == height:  # rows that only fill the last tile
        for y in range(uint64(height), uint64(surface.total.shape[0])):
            for x in range(uint64(0), uint64(surface.total.shape[1]), uint64(LANES)):
                store(surface.total, y, x, zero)
    shares_along_rows(surface, begin, end)
    bond_columns(left, surface, strength, sharpness, begin, end)
    if not meet(crew):
        return
    begin, end = share(crew, surface.width, LANES)
    shares_along_columns(surface, begin, end)
    meet(crew)
