"""What labels compare: codes of both images, and how much each pixel of the left one has to say.

A code says which of sixteen neighbours are brighter than a pixel (census).  The evidence of a pixel is the texture
around it over itself and noise.  A jump of disparity between two pixels costs less where the image has an edge.
"""

from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, meet, share
from ...vector.records import Bytes, Floats, Record, Shorts, kernel
from ...vector.simd import (
    LANES,
    absolute,
    larger,
    load,
    load_shorts,
    select,
    splat,
    splat_short,
    store,
    to_float,
    to_int,
)
from .layout import PAD, ROWS
from .pyramid import repeat_border

EVIDENCE_RADIUS = 2  # px, evidence is the mean of 5x5 pixels
LOWEST_EVIDENCE = 0.02  # a picture without any texture is not left to its corners alone


class LabelImages(Record):
    """The images of a level as the labels compare them.

    Attributes
    ----------
    left, right : ndarray of int16, shape (h, image stride)
        Grey value x intensity scale.
    seen_left, seen_right : ndarray of uint8, shape (h, image stride)
        1 = seen; only read if some pixels were not.
    codes_left, codes_right : ndarray of int16, shape (h, image stride)
        Bit by bit, which neighbours are brighter.
    evidence : ndarray of int16, shape (h, map stride)
        128ths: how much a pixel has to say.
    jump_right, jump_down : ndarray of int16, shape (h, map stride)
        Cost of a jump between a pixel and its neighbour on the right, and below.
    width : int
        px.
    noise : float
        Squared differences over 5x5 pixels, as stored, at which evidence is a half.
    step, jump : int
        Cost of a step to the next disparity, and of a jump where the image is even.
    edge : int
        Difference of two pixels, as stored, that makes a jump between them half as expensive.
    """

    left: Shorts
    right: Shorts
    seen_left: Bytes
    seen_right: Bytes
    codes_left: Shorts
    codes_right: Shorts
    evidence: Shorts
    jump_right: Shorts
    jump_down: Shorts
    width: int
    noise: float
    step: int
    jump: int
    edge: int


class LabelLine(Record):
    """Room for one thread to sum over windows.

    Attributes
    ----------
    sums : ndarray of float32, shape (1, 16 + map stride + 16)
        Sums over the rows of the windows of one row.
    """

    sums: Floats


@inner
def encode(image, codes, width, begin, end):
    """Codes of rows ``begin`` to ``end - 1``: a bit for each brighter one of 8 pixels around, and of 8 two px away."""
    height = image.shape[0]
    zero = splat_short(0)
    for y in range(begin, end):
        for x in range(uint64(PAD), uint64(PAD + width), uint64(LANES)):
            centre = load_shorts(image, uint64(y), x)
            code, bit = zero, 1
            for radius in range(1, 3):
                for j in range(-radius, radius + 1, radius):
                    row = uint64(min(max(y + j, 0), height - 1))
                    for i in range(-radius, radius + 1, radius):
                        if i != 0 or j != 0:
                            brighter = load_shorts(image, row, x + uint64(i)) > centre
                            code = code | select(brighter, splat_short(bit), zero)
                            bit *= 2
            store(codes, uint64(y), x, code)
        repeat_border(codes, y, width)


@inner
def weigh_evidence(images, has_hidden, sums, begin, end):
    """Evidence of rows ``begin`` to ``end - 1``: texture along x over itself and noise."""
    image, height, width = images.left, images.left.shape[0], images.width
    first, one = uint64(LANES), uint64(1)
    noise, lowest = splat(float32(images.noise)), splat(float32(LOWEST_EVIDENCE))
    full, half, zero = splat(float32(128)), splat(float32(0.5)), splat(int32(0))
    for y in range(begin, end):
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            total = splat(float32(0))
            for j in range(-EVIDENCE_RADIUS, EVIDENCE_RADIUS + 1):
                row, at = uint64(min(max(y + j, 0), height - 1)), uint64(PAD) + x
                step = to_float(load(image, row, at + one) - load(image, row, at - one))
                total += step * step
            store(sums, uint64(0), first + x, total)
        store(sums, uint64(0), uint64(0), splat(sums[0, LANES]))
        store(sums, uint64(0), first + uint64(width), splat(sums[0, LANES + width - 1]))
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            at = first + x - uint64(EVIDENCE_RADIUS)
            total = load(sums, uint64(0), at)
            for k in range(uint64(1), uint64(2 * EVIDENCE_RADIUS + 1)):
                total += load(sums, uint64(0), at + k)
            share_of_texture = larger(total / (total + noise), lowest)
            evidence = to_int(share_of_texture * full + half)
            if has_hidden:
                evidence = select(load(images.seen_left, uint64(y), uint64(PAD) + x) > zero, evidence, zero)
            store(images.evidence, uint64(y), x, evidence)


@inner
def weigh_jumps(images, begin, end):
    """Costs of jumps to the right and down: less where the image has an edge, but more than a step."""
    image, height, width = images.left, images.left.shape[0], images.width
    even, edge = splat(float32(images.jump * images.edge)), splat(float32(images.edge))
    least = splat(float32(images.step + images.step // 8))
    for y in range(begin, end):
        row, below = uint64(y), uint64(min(y + 1, height - 1))
        for x in range(uint64(0), uint64(width), uint64(LANES)):
            at = uint64(PAD) + x
            here = load(image, row, at)
            right = absolute(to_float(load(image, row, at + uint64(1)) - here))
            down = absolute(to_float(load(image, below, at) - here))
            store(images.jump_right, row, x, to_int(larger(even / (edge + right), least)))
            store(images.jump_down, row, x, to_int(larger(even / (edge + down), least)))


@kernel
def describe_images(images: LabelImages, has_hidden: bool, line: LabelLine, crew: Crew) -> None:
    """Codes of both images, evidence and jumps of the left one."""
    begin, end = share(crew, images.left.shape[0], ROWS)
    encode(images.left, images.codes_left, images.width, begin, end)
    encode(images.right, images.codes_right, images.width, begin, end)
    weigh_evidence(images, has_hidden, line.sums, begin, end)
    weigh_jumps(images, begin, end)
    meet(crew)
