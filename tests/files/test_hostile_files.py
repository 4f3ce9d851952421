"""Files that promise gigabytes, hold something else than they should, or carry more than pixels."""

import io
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

import bdis
from bdis.common.printable import printable
from bdis.files.image_headers import check_header

cv2 = pytest.importorskip("cv2")

ONE = np.full((2, 3), 0.5, np.float32)
ESCAPE = b"\x1b]0;title\x07\x1b[31m"
MOST_BYTES = 100_000_000


def chunk(kind, data):
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def png(width, height, pixels=None, extra=b""):
    rows = bytes((width + 1) * height) if pixels is None else pixels
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [chunk(b"IHDR", header), extra, chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def tiff(width, height):
    tags = [(256, 4, width), (257, 4, height), (258, 3, 32), (259, 3, 1), (262, 3, 1), (273, 4, 8), (277, 3, 1),
            (278, 4, height), (279, 4, 16), (339, 3, 3)]  # fmt: skip
    entries = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
    return b"II*\0" + struct.pack("<I", 24) + bytes(16) + struct.pack("<H", len(tags)) + entries + bytes(4)


def npy_header(shape):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


PROMISES = {
    "image.png": png(60_000, 60_000, b""),
    "image.tiff": tiff(60_000, 60_000),
    "image.pgm": b"P5 60000 60000 255\n",
    "map.tiff": tiff(60_000, 60_000),
    "map.png": png(60_000, 60_000, b""),
    "map.pfm": b"Pf 60000 60000 -1.0\n",
    "map.npy": npy_header((60_000, 60_000)) + bytes(100),
}


@pytest.mark.parametrize("name", PROMISES)
def test_a_header_that_promises_gigabytes_is_refused_before_memory_is_taken(name, tmp_path):
    (tmp_path / name).write_bytes(PROMISES[name])
    read = bdis.read_image if name.startswith("image") else bdis.read_disparity
    tracemalloc.start()
    with pytest.raises(ValueError, match=rf"{name}.*at most 67108864 pixels are read, as in 8192x8192"):
        read(tmp_path / name)
    assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    tracemalloc.stop()


@pytest.mark.parametrize(
    "texts",
    [np.array(["dark"] * 21), np.array(["d" * 501]), np.float32([1]), np.array([b"dark"])],
    ids=["too many", "too long", "numbers", "bytes"],
)
def test_warnings_in_the_file_of_a_result_are_few_and_short(texts, tmp_path):
    (tmp_path / "result.npz").write_bytes(npz(disparity=ONE, probability=ONE, warnings=texts))
    with pytest.raises(ValueError, match="expected at most 20 texts of 500 letters"):
        bdis.read_result(tmp_path / "result.npz")


def test_warnings_in_the_file_of_a_result_cannot_steer_a_terminal(tmp_path):
    text = ESCAPE.decode() + "\nbdis: all is well"
    (tmp_path / "result.npz").write_bytes(npz(disparity=ONE, probability=ONE, warnings=np.array([text])))
    (read,) = bdis.read_result(tmp_path / "result.npz").warnings
    assert read.isprintable()
    assert "\\x1b[31m bdis: all is well" in read


def test_a_result_of_megabytes_does_not_become_gigabytes(tmp_path):
    """Zeros compress a thousandfold: two million bytes became two thousand million."""
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("disparity.npy", "w") as file:
        file.write(npy_header((25_000, 20_000)))
        for _ in range(100):
            file.write(bytes(1_000_000))  # the rest is not needed to see that it is refused
    for read in (bdis.read_result, bdis.read_disparity):
        tracemalloc.start()
        with pytest.raises(ValueError, match=r"bomb.npz .*shape \(25000, 20000\); at most 67108864 pixels"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"disparity": np.array([["a", "b", "c"]] * 2)}, "an array of <U1; expected numbers"),
        ({"disparity": ONE.astype(complex)}, "an array of complex128; expected numbers"),
        ({"disparity": ONE[0]}, r"shape \(3,\).*expected one \(height, width\)"),
        ({"probability": ONE[:1]}, r"probability has shape \(1, 3\), disparity \(2, 3\)"),
        ({"variance": ONE[None]}, r"variance has shape \(1, 2, 3\)"),
        ({"probability": 3 * ONE}, "probability must be from 0 to 1"),
        ({"probability": np.nan * ONE}, "probability must be from 0 to 1"),
        ({"variance": -ONE}, "variance must not be negative"),
        ({"row_offset": np.array(np.inf)}, "row_offset and row_tilt must be finite"),
        ({"small_left": ONE}, r"small_left is float32 of shape \(2, 3\); expected uint8, \(height, width\)"),
        ({"small_left": np.ones((2, 3, 3), np.uint8)}, r"small_left is uint8 of shape \(2, 3, 3\); expected"),
        ({"small_left": np.ones((0, 3), np.uint8)}, r"small_left is uint8 of shape \(0, 3\); expected"),
        ({"small_left": np.array([["a"]])}, "small_left must hold at most 65536 numbers"),
        ({"small_left": np.ones((257, 256), np.uint8)}, "small_left must hold at most 65536 numbers"),
    ],
)
def test_a_result_of_any_type_or_shape_is_refused(arrays, words, tmp_path):
    path = tmp_path / "result.npz"
    path.write_bytes(npz(**{"disparity": ONE, "probability": ONE, **arrays}))
    with pytest.raises(ValueError, match=f"result.npz cannot be read as a result with disparity.*: .*{words}"):
        bdis.read_result(path)


def test_a_result_is_float32_with_nan_for_what_is_not_finite(tmp_path):
    """An infinite disparity would be a depth of 0 mm."""
    path = tmp_path / "result.npz"
    path.write_bytes(npz(disparity=np.array([[1.5, np.inf, 1e300]]), probability=np.array([[1, 0, 0]])))
    result = bdis.read_result(path)
    assert result.disparity.dtype == result.probability.dtype == np.float32
    np.testing.assert_array_equal(result.disparity, [[1.5, np.nan, np.nan]])


def test_texts_and_profiles_of_a_png_do_not_reach_the_terminal(tmp_path, capfd):
    for kind, data in (
        (b"tEXt", b"Comment\0" + ESCAPE),
        (b"iCCP", ESCAPE + b"\0\0x"),
        (b"zTXt", b"a"),
        (b"eXIf", b"?"),
    ):
        (tmp_path / "left.png").write_bytes(png(4, 3, extra=chunk(kind, data)))
        assert bdis.read_image(tmp_path / "left.png").shape == (3, 4)
    assert capfd.readouterr() == ("", "")


def test_what_stands_behind_a_png_does_not_take_gigabytes(tmp_path, monkeypatch):
    """OpenCV took memory for a chunk of 2 GB that was promised behind the last one."""
    promised = b"\x7a\0\0\0IDAT"
    good = png(4, 3)
    seen = []
    decode = cv2.imdecode
    monkeypatch.setattr(cv2, "imdecode", lambda content, how: seen.append(bytes(content)) or decode(content, how))
    (tmp_path / "left.png").write_bytes(good + promised)
    assert bdis.read_image(tmp_path / "left.png").shape == (3, 4)
    assert seen == [good]
    (tmp_path / "left.png").write_bytes(good[:-12] + chunk(b"IEND", b"more") + promised)
    with pytest.raises(ValueError, match="left.png is a PNG that is cut short or damaged"):
        bdis.read_image(tmp_path / "left.png")


def test_only_the_documented_formats_reach_a_decoder(tmp_path):
    for ending in (".bmp", ".webp"):
        (tmp_path / "left.png").write_bytes(cv2.imencode(ending, np.zeros((40, 50, 3), np.uint8))[1].tobytes())
        with pytest.raises(ValueError, match="not PNG, JPEG, TIFF, PGM or PPM, or cut short"):
            bdis.read_image(tmp_path / "left.png")


def pages(roles, *, is_big=False, last=0):
    """A TIFF of 1x1 pixels whose directories have these roles; ``last`` is what the last one says of a further one."""
    start, step, entry = (16, 8 + 4 * 20 + 8, "<HHQQ") if is_big else (8, 2 + 4 * 12 + 4, "<HHII")
    offset, count = ("<Q", "<Q") if is_big else ("<I", "<H")
    content = (b"II+\0" + struct.pack("<HH", 8, 0) if is_big else b"II*\0") + struct.pack(offset, start)
    for number, role in enumerate(roles, 1):
        tags = [(254, 4, role), (256, 3, 1), (257, 3, 1), (273, 4, 0)]
        following = start + step * number if number < len(roles) else last
        content += struct.pack(count, 4) + b"".join(
            struct.pack(entry, tag, kind, 1, value) for tag, kind, value in tags
        )
        content += struct.pack(offset, following)
    return content


@pytest.mark.parametrize("is_big", [False, True])
def test_a_further_page_of_a_tiff_is_refused_wherever_it_is(is_big):
    check_header(pages([0], is_big=is_big), "a.tif")
    check_header(pages([0, 1, 5, 4], is_big=is_big), "a.tif")  # thumbnails, and masks of what is transparent
    check_header(pages([0], is_big=is_big)[: -8 if is_big else -4], "a.tif")  # some writers leave out the last number
    for content in (
        pages([0, 0], is_big=is_big),
        pages([0, 1, 0], is_big=is_big),
        pages([0, 1], is_big=is_big, last=16 if is_big else 8),  # from the beginning, again and again
        pages([0, 1], is_big=is_big, last=2**31),  # which is cut off
        pages([0] + [1] * 10_000, is_big=is_big),
    ):
        with pytest.raises(ValueError, match="a.tif is a TIFF of several pages, .* make a file of each"):
            check_header(content, "a.tif")


def test_all_pages_of_a_tiff_but_the_first_were_lost_without_a_word(tmp_path):
    frames = [np.full((40, 50, 3), number, np.uint8) for number in range(3)]
    for count, name in ((1, "one.tif"), (3, "three.tif")):
        assert cv2.imwritemulti(str(tmp_path / name), frames[:count])
    assert bdis.read_image(tmp_path / "one.tif").shape == (40, 50, 3)
    for read in (bdis.read_image, bdis.read_depth):
        with pytest.raises(ValueError, match="three.tif is a TIFF of several pages, of which only the first"):
            read(tmp_path / "three.tif")


def test_a_big_tiff_is_read_and_one_that_promises_gigabytes_refused(tmp_path):
    for width, refused in ((2, False), (2**40, True)):
        tags = [(256, 16, width), (257, 4, 2), (258, 3, 32), (259, 3, 1), (262, 3, 1), (273, 16, 16), (277, 3, 1),
                (278, 4, 2), (279, 16, 16), (339, 3, 3)]  # fmt: skip
        entries = b"".join(struct.pack("<HHQQ", tag, kind, 1, value) for tag, kind, value in tags)
        head = b"II+\0" + struct.pack("<HHQ", 8, 0, 32) + np.arange(4, dtype="<f4").tobytes()
        (tmp_path / "map.tiff").write_bytes(head + struct.pack("<Q", len(tags)) + entries + bytes(8))
        if refused:
            with pytest.raises(ValueError, match="map.tiff is 1099511627776x2; at most"):
                bdis.read_disparity(tmp_path / "map.tiff")
        else:
            assert bdis.read_disparity(tmp_path / "map.tiff").tolist() == [[0, 1], [2, 3]]


def test_colors_of_a_ply_that_are_not_bytes_are_refused(tmp_path):
    """Colours from 0 to 1 became black."""
    names = [f"property float {name}\n" for name in ("x", "y", "z", "red", "green", "blue")]
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex 1\n{''.join(names)}end_header\n"
    (tmp_path / "cloud.ply").write_bytes(header.encode() + np.ones(6, "<f4").tobytes())
    with pytest.raises(ValueError, match="colors of type float32; expected uchar"):
        bdis.read_ply(tmp_path / "cloud.ply")


def test_comments_of_a_pgm_are_skipped(tmp_path):
    (tmp_path / "left.pgm").write_bytes(b"P5\n# made by hand\n2 # wide\n1\n255\n\x07\x08")
    assert bdis.read_image(tmp_path / "left.pgm").tolist() == [[7, 8]]


def test_progressive_and_plain_jpeg_are_read(tmp_path):
    image = np.full((40, 50, 3), 90, np.uint8)
    for progressive in (0, 1):
        content = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_PROGRESSIVE, progressive])[1].tobytes()
        (tmp_path / "left.jpg").write_bytes(content)
        assert bdis.read_image(tmp_path / "left.jpg").shape == (40, 50, 3)


def test_words_of_a_ply_do_not_steer_the_terminal(tmp_path):
    path = tmp_path / "cloud.ply"
    for header in ("format \x1b[31m 1.0\n", "format binary_little_endian 1.0\nelement vertex 1\nproperty \x1b[31m x\n"):
        path.write_text(f"ply\n{header}end_header\n")
        with pytest.raises(ValueError, match="cloud.ply") as error:
            bdis.read_ply(path)
        assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("left.png", "left.png"),
        ("Größe 5 µm\nnext", "Größe 5 µm\nnext"),
        ("\x1b[31mred\x07\r", "\\x1b[31mred\\x07\\r"),
        ("gpj.\u202etfel", "gpj.\\u202etfel"),
        ("\x9b31m", "\\x9b31m"),
        ("caf\udce9.png", "caf\\udce9.png"),
    ],
)
def test_printable(text, shown):
    assert printable(text) == shown
