"""Image pyramid by 2x2 means, in scaled integers, and which of its pixels were seen by the camera.

Level 0 is the image itself, level 1 its first halving; both are made from the image as the user gave it.

An exactly black pixel of a rectified image was never seen (padding, undistortion); a pyramid pixel is unseen if any
of its four parents is.  An odd last row or column counts twice.
"""

from numba import float32, int32, int64, uint64

from ...vector.cache import inner
from ...vector.crew import Crew, any_of, meet, share
from ...vector.records import Bytes, GivenBytes, GivenFloats, Record, Shorts, kernel
from ...vector.simd import (
    LANES,
    any_lane,
    floor,
    interleave,
    load,
    load_grey_pairs,
    load_pair_sums,
    prefetch,
    select,
    smaller,
    splat,
    store,
    to_int,
)
from .layout import PAD, ROWS


class ByteImage(Record):
    """An image as the user gave it, uint8.

    Attributes
    ----------
    pixels : ndarray of uint8, shape (h, w * channels)
        Rows may lie apart.
    """

    pixels: GivenBytes


class FloatImage(Record):
    """An image as the user gave it, made grey.

    Attributes
    ----------
    pixels : ndarray of float32, shape (h, w)
        Brightness; 0 = not seen.
    factor : float
        What turns it into the grey steps of the levels.
    white : int
        Grey steps of white; brighter pixels are cut off.
    """

    pixels: GivenFloats
    factor: float
    white: int


class Image(Record):
    """One image of a level.

    Attributes
    ----------
    pixels : ndarray of int16, shape (h, image_stride(width))
        Grey value x intensity scale.
    width : int
        px.
    """

    pixels: Shorts
    width: int


class Seen(Record):
    """Which pixels of one image of a level the camera saw.

    Attributes
    ----------
    mask : ndarray of uint8, shape (h, image_stride(width))
        1 = seen.
    width : int
        px.
    """

    mask: Bytes
    width: int


class Views(Record):
    """Both images of a level, as the search reads them.  All of shape (h, image_stride(width)).

    Attributes
    ----------
    left, right : ndarray of int16
        Grey value x intensity scale.
    gradient : ndarray of int16
        left[x + 1] - left[x - 1]: twice the central difference.
    usable_left : ndarray of uint8
        1 where the pixel and both horizontal neighbours were seen; only filled if some pixel was not.
    usable_right : ndarray of uint8
        1 where the pixel and its right neighbour were seen; likewise.
    width : int
        px.
    """

    left: Shorts
    gradient: Shorts
    right: Shorts
    usable_left: Bytes
    usable_right: Bytes
    width: int


@inner
def repeat_border(image, row, width):
    """Fill the padding of one row with the row's first and last pixel."""
    row = uint64(row)
    store(image, row, uint64(0), splat(int32(image[row, PAD])))
    edge = splat(int32(image[row, PAD + width - 1]))
    last = image.shape[1] - LANES
    for col in range(uint64(PAD + width), uint64(last), uint64(LANES)):
        store(image, row, col, edge)
    store(image, row, uint64(last), edge)


def _halve_bytes(channels, name):
    @inner
    def brightness(image, row, x):
        """256 x grey value of one pixel, in the weights of `load_grey_pairs`."""
        if channels == 1:
            return int64(256) * image[row, x]
        at = channels * x
        return int64(77) * image[row, at] + int64(150) * image[row, at + 1] + int64(29) * image[row, at + 2]

    def halve(source: ByteImage, target: Image, shift: int, crew: Crew) -> bool:
        image, out = source.pixels, target.pixels
        height, width = image.shape[0], image.shape[1] // channels
        begin, end = share(crew, out.shape[0], ROWS)
        whole = width // 2
        zero, rounding = splat(int32(0)), splat(int32(1 << (shift - 1)))
        black = zero == splat(int32(1))
        for y in range(begin, end):
            top, bottom = uint64(2 * y), uint64(min(2 * y + 1, height - 1))
            x = 0
            while x < whole:
                x = min(x, whole - LANES)  # the last sixteen overlap: never read past the row
                col = uint64(2 * channels * x)
                for part in range(uint64(channels)):  # the next two rows: the hardware does not guess across pages
                    prefetch(image, uint64(2) + top, col + part * uint64(64))
                    prefetch(image, uint64(3) + top, col + part * uint64(64))
                a, b = load_grey_pairs(image, top, col, channels)
                c, d = load_grey_pairs(image, bottom, col, channels)
                black = black | (a == zero) | (b == zero) | (c == zero) | (d == zero)
                store(out, uint64(y), uint64(PAD + x), (a + b + c + d + rounding) >> splat(int32(shift)))
                x += LANES
            if width % 2:
                upper, lower = brightness(image, 2 * y, width - 1), brightness(image, int64(bottom), width - 1)
                out[y, PAD + whole] = (2 * (upper + lower) + (1 << (shift - 1))) >> shift
                black = black | (splat(int32(min(upper, lower))) == zero)
            repeat_border(out, y, (width + 1) // 2)
        meet(crew)
        return any_of(crew, any_lane(black))

    halve.__name__ = halve.__qualname__ = name
    halve.__doc__ = f"""First halving of an image with {channels} channel(s): mean of 2x2 brightnesses x 1024 / 2^shift.
    True if a pixel is black."""
    return kernel(halve)


halve_grey = _halve_bytes(1, "halve_grey")
halve_rgb = _halve_bytes(3, "halve_rgb")
halve_rgba = _halve_bytes(4, "halve_rgba")


@kernel
def halve_floats(source: FloatImage, target: Image, crew: Crew) -> bool:
    """First halving: 2x2 mean in whole grey steps.  True if a pixel is 0."""
    image, out, factor, white = source.pixels, target.pixels, source.factor, source.white
    height, width = image.shape
    begin, end = share(crew, out.shape[0], ROWS)
    black = False
    for y in range(begin, end):
        bottom = min(2 * y + 1, height - 1)
        for x in range((width + 1) // 2):
            last = min(2 * x + 1, width - 1)
            a, b, c, d = image[2 * y, 2 * x], image[2 * y, last], image[bottom, 2 * x], image[bottom, last]
            black |= (a == 0) | (b == 0) | (c == 0) | (d == 0)
            out[y, PAD + x] = min(int64((a + b + c + d) * factor / 4 + 0.5), white)
        repeat_border(out, y, (width + 1) // 2)
    meet(crew)
    return any_of(crew, black)


def _copy_bytes(channels, name):
    def copy(source: ByteImage, target: Image, shift: int, crew: Crew) -> None:
        image, out, width = source.pixels, target.pixels, target.width
        begin, end = share(crew, out.shape[0], ROWS)
        places, rounding = splat(int32(shift)), splat(int32(1 << (shift - 1)))
        for y in range(uint64(begin), uint64(end)):
            x = 0
            while x < width:
                x = min(x, width - 2 * LANES)  # the last thirty-two overlap: never read past the row
                even, odd = load_grey_pairs(image, y, uint64(channels * x), channels)
                first, second = interleave((even + rounding) >> places, (odd + rounding) >> places)
                store(out, y, uint64(PAD + x), first)
                store(out, y, uint64(PAD + x + LANES), second)
                x += 2 * LANES
            repeat_border(out, y, width)
        meet(crew)

    copy.__name__ = copy.__qualname__ = name
    copy.__doc__ = f"""Level 0 of an image with {channels} channel(s): rounded brightness x 256 / 2^shift."""
    return kernel(copy)


copy_grey = _copy_bytes(1, "copy_grey")
copy_rgb = _copy_bytes(3, "copy_rgb")
copy_rgba = _copy_bytes(4, "copy_rgba")


@kernel
def copy_floats(source: FloatImage, target: Image, crew: Crew) -> None:
    """Level 0: brightness in whole grey steps."""
    image, out, width = source.pixels, target.pixels, target.width
    begin, end = share(crew, out.shape[0], ROWS)
    factor, half, white = splat(float32(source.factor)), splat(float32(0.5)), splat(float32(source.white))
    for y in range(uint64(begin), uint64(end)):
        x = 0
        while x < width:
            x = min(x, width - LANES)  # the last sixteen overlap
            grey = floor(load(image, y, uint64(x)) * factor + half)
            store(out, y, uint64(PAD + x), to_int(smaller(grey, white)))
            x += LANES
        repeat_border(out, y, width)
    meet(crew)


@kernel
def halve_pair(left: Image, right: Image, coarser_left: Image, coarser_right: Image, crew: Crew) -> None:
    """The next level of both images: rounded mean of 2x2."""
    begin, end = share(crew, coarser_left.pixels.shape[0], ROWS)
    halve(left, coarser_left.pixels, coarser_left.width, begin, end)
    halve(right, coarser_right.pixels, coarser_right.width, begin, end)
    meet(crew)


@kernel
def halve_image(finer: Image, coarser: Image, crew: Crew) -> None:
    """The next level of one image."""
    begin, end = share(crew, coarser.pixels.shape[0], ROWS)
    halve(finer, coarser.pixels, coarser.width, begin, end)
    meet(crew)


@kernel
def halve_views(left: Image, right: Image, coarser: Views, crew: Crew) -> None:
    """The same for a level that is searched: with the gradient of its left image."""
    begin, end = share(crew, coarser.left.shape[0], ROWS)
    halve(left, coarser.left, coarser.width, begin, end)
    halve(right, coarser.right, coarser.width, begin, end)
    gradient(coarser.left, coarser.gradient, begin, end)
    meet(crew)


@inner
def halve(finer, out, half, begin, end):
    """Rows ``begin`` to ``end - 1`` of the next level of one image, which is ``half`` px wide."""
    image = finer.pixels
    height = image.shape[0]
    two = splat(int32(2))
    for y in range(begin, end):
        top, bottom = uint64(2 * y), uint64(min(2 * y + 1, height - 1))
        for x in range(uint64(0), uint64(half), uint64(LANES)):
            total = load_pair_sums(image, top, uint64(PAD) + x + x) + load_pair_sums(image, bottom, uint64(PAD) + x + x)
            store(out, uint64(y), uint64(PAD) + x, (total + two) >> two)
        repeat_border(out, y, half)


@kernel
def take_gradient(views: Views, crew: Crew) -> None:
    """Fill ``views.gradient``."""
    begin, end = share(crew, views.left.shape[0], ROWS)
    gradient(views.left, views.gradient, begin, end)
    meet(crew)


@inner
def gradient(image, out, begin, end):
    """Twice the central difference along x, over the padded width (0 in the outer padding); some rows."""
    last = uint64(image.shape[1] - LANES)
    zero = splat(int32(0))
    for y in range(uint64(begin), uint64(end)):
        store(out, y, uint64(0), zero)
        store(out, y, last, zero)
        for x in range(uint64(1), last, uint64(LANES)):
            store(out, y, x, load(image, y, x + uint64(1)) - load(image, y, x - uint64(1)))


def _mark_seen(channels, name):
    def mark(source: ByteImage, seen: Seen) -> None:
        image, out, width = source.pixels, seen.mask, seen.width
        zero, one = splat(int32(0)), splat(int32(1))
        for y in range(uint64(out.shape[0])):
            x = 0
            while x < width:
                x = min(x, width - 2 * LANES)  # the last thirty-two overlap
                col = uint64(PAD + x)
                even, odd = load_grey_pairs(image, y, uint64(channels * x), channels)
                first, second = interleave(select(even > zero, one, zero), select(odd > zero, one, zero))
                store(out, y, col, load(out, y, col) & first)
                store(out, y, col + uint64(LANES), load(out, y, col + uint64(LANES)) & second)
                x += 2 * LANES
            repeat_border(out, y, width)

    mark.__name__ = mark.__qualname__ = name
    mark.__doc__ = (
        f"""Pixels of an image with {channels} channel(s) that are black were not seen; alpha does not count."""
    )
    return kernel(mark)


mark_seen_grey = _mark_seen(1, "mark_seen_grey")
mark_seen_rgb = _mark_seen(3, "mark_seen_rgb")
mark_seen_rgba = _mark_seen(4, "mark_seen_rgba")


@kernel
def mark_seen_floats(source: FloatImage, seen: Seen) -> None:
    """Pixels that are 0 were not seen."""
    image, out, width = source.pixels, seen.mask, seen.width
    for y in range(out.shape[0]):
        for x in range(width):
            if image[y, x] == 0:
                out[y, PAD + x] = 0
        repeat_border(out, y, width)


@kernel
def halve_seen(finer: Seen, coarser: Seen) -> None:
    """The next level: seen if all four pixels above were."""
    seen, out, half = finer.mask, coarser.mask, coarser.width
    height = seen.shape[0]
    for y in range(out.shape[0]):
        top, bottom = uint64(2 * y), uint64(min(2 * y + 1, height - 1))
        for x in range(uint64(0), uint64(half), uint64(LANES)):
            a, b = load_grey_pairs(seen, top, uint64(PAD) + x + x, 1)
            c, d = load_grey_pairs(seen, bottom, uint64(PAD) + x + x, 1)
            store(out, uint64(y), uint64(PAD) + x, (a & b & c & d) >> splat(int32(8)))
        repeat_border(out, y, half)


@kernel
def mark_usable(seen_left: Seen, seen_right: Seen, views: Views) -> None:
    """Fill ``views.usable_left`` and ``usable_right``.

    A gradient needs both neighbours of a pixel, an interpolated pixel its right one.
    """
    usable(seen_left.mask, True, views.usable_left)
    usable(seen_right.mask, False, views.usable_right)


@inner
def usable(seen, both_sides, out):
    """1 where a pixel, its right neighbour and (``both_sides``) its left neighbour were seen, over the padded width.

    Padding repeats the border, so its outermost columns are their own neighbours.
    """
    last = seen.shape[1] - 1
    one = uint64(1)
    for y in range(uint64(seen.shape[0])):
        col = 1
        while col < last:
            col = min(col, last - LANES)
            x = uint64(col)
            value = load(seen, y, x) & load(seen, y, x + one)
            if both_sides:
                value = value & load(seen, y, x - one)
            store(out, y, x, value)
            col += LANES
        out[y, 0], out[y, uint64(last)] = out[y, 1], out[y, uint64(last - 1)]
