"""ELAS: what a pixel looks like, as 16 bytes, and the distance between such descriptors.

Written from the paper: Geiger, Roser, Urtasun, "Efficient Large-Scale Stereo Matching", ACCV 2010.
"""

from llvmlite import ir
from numba import int32, types, uint8, uint64, void
from numba.extending import intrinsic

from .....vector.array_types import BYTES
from .....vector.cache import inner, kernel
from .....vector.simd import call_llvm, element_pointer

SIZE = 16  # bytes of a descriptor
MARGIN = 3  # px along the image's border without one: 2 of its neighbourhood, 1 of the Sobel filter
CENTRE = 128  # a gradient of 0


def _l1_distance_of(size):
    """The L1 distance of ``size`` bytes: ``distance(a, row, col, b, row, col)``, no bounds are checked.

    Spelled as a sum of absolute differences in 32 bit, which LLVM knows as one instruction on most machines.
    """

    @intrinsic
    def distance(typing_context, a, a_row, a_col, b, b_row, b_col):
        def generate(context, builder, sig, args):
            memory, wide = ir.VectorType(ir.IntType(8), size), ir.VectorType(ir.IntType(32), size)
            values = []
            for kind, place in ((sig.args[0], args[:3]), (sig.args[3], args[3:])):
                value = builder.load(element_pointer(context, builder, kind, *place, memory))
                value.align = 1
                values.append(builder.zext(value, wide))
            difference = builder.sub(*values)
            false = ir.Constant(ir.IntType(1), 0)
            absolute = call_llvm(builder, f"llvm.abs.v{size}i32", wide, [difference, false])
            return call_llvm(builder, f"llvm.vector.reduce.add.v{size}i32", ir.IntType(32), [absolute])

        return types.int32(a, types.uint64, types.uint64, b, types.uint64, types.uint64), generate

    return distance


distance_of_one = _l1_distance_of(SIZE)
distance_of_four = _l1_distance_of(4 * SIZE)


@inner
def _eight_bit(gradient):
    """A Sobel response (-1020 to 1020) in 8 bit: full scale is an edge of half the grey levels, beyond it saturates."""
    return uint8(min(max(gradient // int32(4) + int32(CENTRE), int32(0)), int32(255)))


@kernel(void(BYTES, BYTES, BYTES))
def elas_gradients(image, out_dx, out_dy):
    """3x3 Sobel responses of ``image``, uint8 (h, w), in 8 bit around 128; the outermost pixels are not written."""
    height, width = uint64(image.shape[0]), uint64(image.shape[1])
    one = uint64(1)
    for y in range(one, height - one):
        above, below = y - one, y + one
        for x in range(one, width - one):
            before, after = x - one, x + one
            corner_a, corner_b = int32(image[above, before]), int32(image[above, after])
            corner_c, corner_d = int32(image[below, before]), int32(image[below, after])
            two = int32(2)
            across = corner_b - corner_a + corner_d - corner_c
            across += two * (int32(image[y, after]) - int32(image[y, before]))
            down = corner_c - corner_a + corner_d - corner_b
            down += two * (int32(image[below, x]) - int32(image[above, x]))
            out_dx[y, x] = _eight_bit(across)
            out_dy[y, x] = _eight_bit(down)


@kernel(void(BYTES, BYTES, BYTES))
def elas_describe(dx, dy, out_descriptors):
    """Descriptors, uint8 (h, 16 w): pixel (y, x) at ``[y, 16 x : 16 x + 16]``; those in the margin are not written.

    Twelve horizontal gradients, the middle one twice, then four vertical ones.
    """
    height, width = uint64(dx.shape[0]), uint64(dx.shape[1])
    margin, one, two = uint64(MARGIN), uint64(1), uint64(2)
    for y in range(margin, height - margin):
        for x in range(margin, width - margin):
            place = x * uint64(SIZE)
            out_descriptors[y, place] = dx[y - two, x]
            out_descriptors[y, place + uint64(1)] = dx[y - one, x - two]
            out_descriptors[y, place + uint64(2)] = dx[y - one, x]
            out_descriptors[y, place + uint64(3)] = dx[y - one, x + two]
            out_descriptors[y, place + uint64(4)] = dx[y, x - one]
            out_descriptors[y, place + uint64(5)] = dx[y, x]
            out_descriptors[y, place + uint64(6)] = dx[y, x]
            out_descriptors[y, place + uint64(7)] = dx[y, x + one]
            out_descriptors[y, place + uint64(8)] = dx[y + one, x - two]
            out_descriptors[y, place + uint64(9)] = dx[y + one, x]
            out_descriptors[y, place + uint64(10)] = dx[y + one, x + two]
            out_descriptors[y, place + uint64(11)] = dx[y + two, x]
            out_descriptors[y, place + uint64(12)] = dy[y - one, x]
            out_descriptors[y, place + uint64(13)] = dy[y, x - one]
            out_descriptors[y, place + uint64(14)] = dy[y, x + one]
            out_descriptors[y, place + uint64(15)] = dy[y + one, x]
