"""TIFFs that are to be turned, or are damaged where OpenCV does not say so."""

import struct
import time
import tracemalloc
import zlib

import numpy as np
import pytest

import bdis
from bdis.files.image_headers import check_header
from bdis.files.images import decode_image
from bdis.files.tiff_damage import check_deflate

cv2 = pytest.importorskip("cv2")


def tiff(tags, pixels=b"", *, order="<", is_big=False):
    """A TIFF of one page: tags as (number, kind, numbers or None for the place of ``pixels``)."""
    kinds = {1: "B", 3: "H", 4: "I", 8: "h", 9: "i", 16: "Q"}
    count, entry, offset, room = ("Q", "HHQ", "Q", 8) if is_big else ("H", "HHI", "I", 4)
    start = b"II" if order == "<" else b"MM"
    start += struct.pack(f"{order}HHH", 43, 8, 0) if is_big else struct.pack(f"{order}H", 42)
    first = len(start) + room
    at = first + struct.calcsize(f"={count}") + len(tags) * (struct.calcsize(f"={entry}") + room) + room
    entries, behind = b"", b""
    lists = sum(struct.calcsize(kinds[kind]) * len(numbers) for _, kind, numbers in tags if numbers is not None)
    for tag, kind, numbers in tags:
        numbers = [at + lists] if numbers is None else numbers
        packed = struct.pack(f"{order}{len(numbers)}{kinds[kind]}", *numbers)
        entries += struct.pack(f"{order}{entry}", tag, kind, len(numbers))
        if len(packed) > room:
            entries += struct.pack(f"{order}{offset}", at + len(behind))
            behind += packed
        else:
            entries += packed.ljust(room, b"\0")
    head = start + struct.pack(f"{order}{offset}", first) + struct.pack(f"{order}{count}", len(tags))
    return head + entries + bytes(room) + behind.ljust(lists, b"\0") + pixels


def grey_tiff(image, changed=(), *, compression=1, order="<", is_big=False):
    """One strip; ``changed`` tags replace those of a usual file."""
    pixels = image.tobytes() if compression == 1 else zlib.compress(image.tobytes())
    height, width = image.shape
    tags = {256: (3, [width]), 257: (3, [height]), 258: (3, [8]), 259: (3, [compression]), 262: (3, [1]),
            273: (4, None), 277: (3, [1]), 278: (3, [height]), 279: (4, [len(pixels)])} | dict(changed)  # fmt: skip
    return tiff([(tag, *tags[tag]) for tag in sorted(tags)], pixels, order=order, is_big=is_big)


GREY = np.random.default_rng(0).integers(0, 255, (48, 64), dtype=np.uint8)
KINDS = [(order, is_big) for order in "<>" for is_big in (False, True)]


@pytest.mark.parametrize(("order", "is_big"), KINDS)
def test_a_tiff_was_turned_although_orientation_is_ignored(order, is_big):
    for number in (0, 1):
        content = grey_tiff(GREY, {274: (3, [number])}, order=order, is_big=is_big)
        np.testing.assert_array_equal(decode_image(content, "a.tif"), GREY)
    for kind in (1, 3, 4, 8, 9, 16) if is_big else (1, 3, 4, 8, 9):  # libtiff takes any
        for number in (2, 3, 4, 6, 8, 9):
            content = grey_tiff(GREY, {274: (kind, [number])}, order=order, is_big=is_big)
            with pytest.raises(ValueError, match=rf"a.tif is a TIFF with orientation {number} .*tiffset -s 274 1"):
                decode_image(content, "a.tif")


def test_a_disparity_tiff_was_turned(tmp_path):
    (tmp_path / "map.tiff").write_bytes(grey_tiff(GREY, {274: (3, [4])}))
    for read in (bdis.read_disparity, bdis.read_depth, bdis.read_image):
        with pytest.raises(ValueError, match="map.tiff is a TIFF with orientation 4"):
            read(tmp_path / "map.tiff")


def test_an_orientation_behind_a_thousand_tags_is_refused_with_them():
    tags = [(256, 3, [64]), (257, 3, [48]), *[(300, 3, [1])] * 1100, (274, 3, [4])]
    with pytest.raises(ValueError, match="cannot be read as an image"):
        check_header(tiff(tags), "a.tif")


@pytest.mark.parametrize("compression", [8, 32946])
@pytest.mark.parametrize(("order", "is_big"), KINDS)
def test_a_flipped_bit_in_a_tiff_with_deflate_was_not_noticed(order, is_big, compression):
    content = grey_tiff(GREY, compression=compression, order=order, is_big=is_big)
    np.testing.assert_array_equal(decode_image(content, "a.tif"), GREY)
    begin = content.index(zlib.compress(GREY.tobytes()))
    random = np.random.default_rng(0)
    for at in random.integers(begin, len(content), 60):
        damaged = bytearray(content)
        damaged[at] ^= 1 << random.integers(8)
        with pytest.raises(ValueError, match=r"a.tif .*damaged"):
            decode_image(bytes(damaged), "a.tif")


def deflated(shape=(100, 130, 3), kind=np.uint8):
    """An image with Deflate as OpenCV writes it: strips of a few rows, differences of neighbours."""
    image = np.random.default_rng(0).integers(0, 200, shape).astype(kind)
    return image, cv2.imencode(".tiff", image, [cv2.IMWRITE_TIFF_COMPRESSION, 8])[1].tobytes()


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("shape", [(100, 130), (100, 130, 3), (101, 7, 3), (1, 1)])
def test_whole_tiffs_with_deflate_are_read(shape, kind):
    image, content = deflated(shape, kind)
    again = decode_image(content, "a.tif")
    np.testing.assert_array_equal(again if image.ndim == 2 else again[..., ::-1], image)


@pytest.mark.parametrize("is_padded", [False, True])
def test_the_last_strip_of_a_tiff_may_be_short_or_padded(is_padded):
    strips = [zlib.compress(GREY[top : top + 20].tobytes()) for top in (0, 20, 40)]
    if is_padded:
        strips[2] = zlib.compress(GREY[40:].tobytes() + bytes(12 * 64))
    sizes = [len(strip) for strip in strips]
    before = len(grey_tiff(GREY[:0], {273: (4, [0, 0, 0]), 279: (4, sizes)}))
    places = [before + sum(sizes[:number]) for number in range(3)]
    changed = {259: (3, [8]), 273: (4, places), 278: (3, [20]), 279: (4, sizes), 257: (3, [48])}
    content = grey_tiff(GREY[:0], changed) + b"".join(strips)
    np.testing.assert_array_equal(decode_image(content, "a.tif"), GREY)


def test_tiles_with_deflate_are_read_and_checked():
    padded = np.pad(GREY, ((0, 16), (0, 0)))
    tiles = [zlib.compress(padded[y : y + 32, x : x + 32].tobytes()) for y in (0, 32) for x in (0, 32)]
    sizes = [len(tile) for tile in tiles]

    def content(places):
        tags = [(256, 3, [64]), (257, 3, [48]), (258, 3, [8]), (259, 3, [8]), (262, 3, [1]), (277, 3, [1]),
                (322, 3, [32]), (323, 3, [32]), (324, 4, places), (325, 4, sizes)]  # fmt: skip
        return tiff(tags, b"".join(tiles))

    before = len(content([0] * 4)) - sum(sizes)
    whole = content([before + sum(sizes[:number]) for number in range(4)])
    np.testing.assert_array_equal(decode_image(whole, "a.tif"), GREY)
    damaged = bytearray(whole)
    damaged[-1] ^= 1  # only the checksum: all pixels are right, but who knows that
    with pytest.raises(ValueError, match=r"a.tif .*damaged"):
        decode_image(bytes(damaged), "a.tif")


@pytest.mark.parametrize(
    "changed",
    [
        {273: (4, [2**31])}, {279: (4, [2**31])}, {279: (4, [3])}, {279: (4, [0])}, {273: (16, [2**63])},
        {279: (16, [2**63])}, {279: (4, [1] * 40_000)}, {278: (3, [1])}, {278: (4, [2**32 - 1]), 279: (4, [10])},
        {277: (3, [65535])}, {258: (3, [65535])}, {322: (3, [16]), 323: (3, [16])},
        {322: (4, [2**31]), 323: (4, [2**31])},
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_big", [False, True])
def test_a_tiff_with_deflate_that_lies_about_its_strips_is_refused_at_once(changed, is_big):
    content = grey_tiff(GREY, changed, compression=8, is_big=is_big)
    for check in (check_deflate, decode_image):
        began = time.monotonic()
        with pytest.raises(ValueError, match=r"a.tif .*(damaged|at most)"):
            check(content, "a.tif")
        assert time.monotonic() - began < 2


def test_a_strip_of_gigabytes_is_not_inflated_to_the_end():
    bomb = zlib.compress(bytes(2**28))
    content = grey_tiff(GREY, {279: (4, [len(bomb)]), 259: (3, [8])}).replace(GREY.tobytes(), bomb)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="damaged"):
            check_deflate(content, "a.tif")
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_more_strips_than_any_image_needs_are_not_followed():
    content = grey_tiff(GREY, {256: (3, [1]), 257: (4, [2**26]), 278: (3, [1]), 259: (3, [8])})
    with pytest.raises(ValueError, match="a.tif is a TIFF of 67108864 strips or tiles; at most 262144 are read"):
        check_deflate(content, "a.tif")
