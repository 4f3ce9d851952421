"""Files: the same numbers back, clear words about broken ones, and never half of one."""

import dataclasses
import errno
import json
import os
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

import bdis
from bdis.common.atomic import all_or_nothing, write_whole
from bdis.files import map_formats
from bdis.files.pfm import decode_pfm, encode_pfm
from bdis.synthetic import render

cv2 = pytest.importorskip("cv2")

RNG = np.random.default_rng(0)
DISPARITY = RNG.uniform(0.5, 120, (40, 50)).astype(np.float32)
DISPARITY[RNG.random((40, 50)) < 0.3] = np.nan


# --- Images -----------------------------------------------------------------------------------------------------------


GREY, RGB = (40, 50), (40, 50, 3)


@pytest.mark.parametrize(
    ("ending", "shape"),
    [("png", GREY), ("png", RGB), ("tiff", GREY), ("tiff", RGB), ("tif", RGB), ("pgm", GREY), ("ppm", RGB)],
)
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_images_come_back(ending, kind, shape, tmp_path):
    image = RNG.integers(0, np.iinfo(kind).max, shape, dtype=kind)
    bdis.write_image(tmp_path / f"image.{ending}", image)
    again = bdis.read_image(tmp_path / f"image.{ending}")
    assert again.dtype == kind
    np.testing.assert_array_equal(again, image)


def test_jpeg_comes_back_nearly(tmp_path):
    image = np.full((40, 50, 3), (200, 90, 80), np.uint8)
    bdis.write_image(tmp_path / "image.jpg", image)
    assert np.abs(bdis.read_image(tmp_path / "image.jpg").astype(int) - image).max() <= 3
    with pytest.raises(ValueError, match="JPEG stores 8 bit only"):
        bdis.write_image(tmp_path / "image.jpg", image.astype(np.uint16))


def test_colours_are_rgb_and_transparency_is_left_out(tmp_path):
    cv2.imwrite(str(tmp_path / "image.png"), np.full((2, 3, 4), (10, 20, 30, 128), np.uint8))  # blue, green, red, alpha
    image = bdis.read_image(tmp_path / "image.png")
    assert image.shape == (2, 3, 3)
    assert image[0, 0].tolist() == [30, 20, 10]


@pytest.mark.parametrize("ending", ["png", "jpg", "tiff", "ppm"])
def test_truncated_image_is_an_error_in_one_sentence(ending, tmp_path, capfd):
    bdis.write_image(tmp_path / f"whole.{ending}", RNG.integers(0, 255, (60, 80, 3), dtype=np.uint8))
    content = (tmp_path / f"whole.{ending}").read_bytes()
    for length in (0, 10, len(content) // 2, len(content) - 5):
        (tmp_path / f"short.{ending}").write_bytes(content[:length])
        with pytest.raises(ValueError, match=rf"short.{ending} .*cut short"):
            bdis.read_image(tmp_path / f"short.{ending}")
    assert capfd.readouterr().err == ""


def test_damaged_png_is_noticed(tmp_path):
    bdis.write_image(tmp_path / "image.png", RNG.integers(0, 255, (60, 80, 3), dtype=np.uint8))
    content = bytearray((tmp_path / "image.png").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "image.png").write_bytes(content)
    with pytest.raises(ValueError, match="cut short or damaged"):
        bdis.read_image(tmp_path / "image.png")


def test_text_is_no_image(tmp_path):
    (tmp_path / "image.png").write_text("hello")
    with pytest.raises(ValueError, match="cannot be read as an image"):
        bdis.read_image(tmp_path / "image.png")
    with pytest.raises(FileNotFoundError):
        bdis.read_image(tmp_path / "missing.png")
    with pytest.raises(IsADirectoryError):
        bdis.read_image(tmp_path)


@pytest.mark.parametrize(("name", "image", "words"), [
    ("a.bmp", np.zeros((4, 4), np.uint8), "ends with '.bmp'"),
    ("a.png", np.zeros((4, 4), np.float32), "float32; expected uint8 or uint16"),
])  # fmt: skip
def test_images_that_are_not_written(name, image, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        bdis.write_image(tmp_path / name, image)
    assert not list(tmp_path.iterdir())


# --- Disparity and depth ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["tiff", "tif", "pfm", "npy"])
@pytest.mark.parametrize("what", ["disparity", "depth"])
def test_float_maps_come_back_bit_for_bit(what, ending, tmp_path):
    path = tmp_path / f"map.{ending}"
    getattr(bdis, f"write_{what}")(path, DISPARITY)
    again = getattr(bdis, f"read_{what}")(path)
    assert again.dtype == np.float32
    np.testing.assert_array_equal(again, DISPARITY)


def test_disparity_png_is_kitti_s(tmp_path):
    path = tmp_path / "disparity.png"
    bdis.write_disparity(path, np.float32([[1.5, np.nan, 0.0, 255.99]]))
    stored = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    assert stored.dtype == np.uint16
    assert stored.tolist() == [[384, 0, 1, 65533]]  # 0 px is known: 1/256
    np.testing.assert_allclose(bdis.read_disparity(path), [[1.5, np.nan, 1 / 256, 255.99]], atol=1 / 512)
    bdis.write_disparity(path, DISPARITY)
    np.testing.assert_allclose(bdis.read_disparity(path), DISPARITY, atol=1 / 512)


@pytest.mark.parametrize("value", [-1.0, 256.0])
def test_disparity_png_refuses_what_it_cannot_hold(value, tmp_path):
    with pytest.raises(ValueError, match="a PNG holds 0 to 255.99, write TIFF or PFM"):
        bdis.write_disparity(tmp_path / "disparity.png", np.float32([[value]]))
    bdis.write_disparity(tmp_path / "disparity.tiff", np.float32([[value]]))
    assert bdis.read_disparity(tmp_path / "disparity.tiff").tolist() == [[value]]


def test_depth_png_is_whole_millimetres(tmp_path):
    path = tmp_path / "depth.png"
    bdis.write_depth(path, np.float32([[61.7, 0.2, np.nan, 70000]]))
    assert cv2.imread(str(path), cv2.IMREAD_UNCHANGED).tolist() == [[62, 1, 0, 0]]
    np.testing.assert_array_equal(bdis.read_depth(path), np.float32([[62, 1, np.nan, np.nan]]))
    np.testing.assert_array_equal(bdis.read_depth(path, scale=256), np.float32([[62 / 256, 1 / 256, np.nan, np.nan]]))


@pytest.mark.parametrize("ending", ["tiff", "pfm", "npy", "png", "npz"])
@pytest.mark.parametrize("kind", [np.uint16, np.float32])
def test_unknown_depth_that_is_0_or_negative_in_a_file_was_known(kind, ending, tmp_path):
    path, stored = tmp_path / f"depth.{ending}", np.array([[60, 0], [0, 80]], kind)
    if kind == np.float32:
        stored[1, 0] = -1
    if ending == "npy":
        np.save(path, stored)
    elif ending == "npz":
        np.savez(path, depth_mm=stored)
    elif ending == "pfm":
        path.write_bytes(encode_pfm(stored.astype(np.float32)))
    else:
        cv2.imwrite(str(path), np.maximum(stored, 0).astype(np.uint16) if ending == "png" else stored)
    np.testing.assert_array_equal(bdis.read_depth(path), [[60, np.nan], [np.nan, 80]])


def test_depth_in_metres_became_1_mm_everywhere(tmp_path):
    depth = np.array([[0.0612, 0.0595, 0, np.nan], [0.058, 1.5, -1, np.inf]])
    with pytest.raises(ValueError, match=r"median of the depth is 0.0604 mm.*whole mm.*metres.*1000 \* depth_mm"):
        bdis.write_depth(tmp_path / "depth.png", depth)
    assert not list(tmp_path.iterdir())
    bdis.write_depth(tmp_path / "depth.tiff", depth)  # of a microscope, perhaps
    assert bdis.read_depth(tmp_path / "depth.tiff")[0, 0] == np.float32(0.0612)
    for near in ([[1.0, 0.5, 1.2]], [[np.nan, 0.0]]):
        bdis.write_depth(tmp_path / "depth.png", near)


@pytest.mark.parametrize("kind", [bool, complex, str, object, "M8[s]"])
@pytest.mark.parametrize("write", [bdis.write_depth, bdis.write_disparity])
@pytest.mark.parametrize("ending", ["png", "tiff", "pfm", "npy"])
def test_what_holds_no_numbers_was_written_as_a_map(ending, write, kind, tmp_path):
    with pytest.raises(TypeError, match=r"(depth_mm|disparity) must be an array of numbers, but it holds"):
        write(tmp_path / f"map.{ending}", np.ones((2, 3), int).astype(kind))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["tiff", "pfm", "npy", "png", "npz"])
def test_masks_were_dropped_and_what_they_hide_was_written(ending, tmp_path):
    path, masked = tmp_path / f"map.{ending}", np.ma.masked_greater(np.float32([[5, 50]]), 10)
    if ending == "npz":
        result = bdis.StereoResult(masked, np.ma.masked_greater(np.float32([[0.5, 2]]), 1), masked)
        bdis.write_result(path, result, depth_mm=masked)
        again = bdis.read_result(path)
        np.testing.assert_array_equal(again.variance, [[5, np.nan]])
        np.testing.assert_array_equal(again.probability, [[0.5, 0]])
    else:
        bdis.write_depth(path, masked)
    np.testing.assert_array_equal(bdis.read_depth(path), [[5, np.nan]])
    if ending != "npz":
        bdis.write_depth(path, np.ma.masked_greater([[5, 50]], 10))
        np.testing.assert_array_equal(bdis.read_depth(path), [[5, np.nan]])


def test_an_image_with_a_mask_is_not_written_without_it(tmp_path):
    with pytest.raises(TypeError, match="image is a masked array; pass its data"):
        bdis.write_image(tmp_path / "image.png", np.ma.masked_less(np.full((40, 50), 9, np.uint8), 5))


def test_pfm_by_hand():
    """Two rows, bottom first; a negative scale is little-endian; its magnitude means nothing."""
    image = np.float32([[1, 2], [3, 4]])
    assert encode_pfm(image) == b"Pf\n2 2\n-1.0\n" + struct.pack("<4f", 3, 4, 1, 2)
    np.testing.assert_array_equal(decode_pfm(b"Pf\n2 2\n1\n" + struct.pack(">4f", 3, 4, 1, 2)), image)
    np.testing.assert_array_equal(decode_pfm(b"Pf\n2 2\n-0.003922\n" + struct.pack("<4f", 3, 4, 1, 2)), image)


def test_pfm_unknown_is_infinite_as_middlebury_has_it(tmp_path):
    bdis.write_disparity(tmp_path / "d.pfm", np.float32([[1, np.nan]]))
    assert np.isposinf(decode_pfm((tmp_path / "d.pfm").read_bytes())[0, 1])


@pytest.mark.parametrize("ending", ["tiff", "pfm", "npy", "png", "npz"])
def test_truncated_maps_are_errors(ending, tmp_path):
    path = tmp_path / f"map.{ending}"
    if ending == "npz":
        bdis.write_result(path, bdis.StereoResult(DISPARITY, np.zeros_like(DISPARITY)))
    else:
        bdis.write_disparity(path, DISPARITY)
    content = path.read_bytes()
    for length in (0, 5, len(content) // 2, len(content) - 20):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=rf"map.{ending} "):
            bdis.read_disparity(path)


def test_maps_of_the_wrong_kind_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"shape \(2, 2, 3\); expected \(height, width\)"):
        bdis.write_disparity(tmp_path / "a.tiff", np.zeros((2, 2, 3)))
    with pytest.raises(ValueError, match="ends with '.jpg'; a disparity is stored as .tif"):
        bdis.write_disparity(tmp_path / "a.jpg", DISPARITY)
    bdis.write_image(tmp_path / "left.png", np.zeros((40, 50), np.uint8))
    with pytest.raises(ValueError, match="is uint8; a disparity as PNG is uint16"):
        bdis.read_disparity(tmp_path / "left.png")
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot be read as a disparity"):
        bdis.read_disparity(tmp_path / "objects.npy")


@pytest.mark.parametrize("ending", ["tiff", "npy"])
@pytest.mark.parametrize(("kind", "steps"), [(np.int16, 16), (np.uint16, 256)])
def test_parts_of_a_px_were_px_once_they_came_from_a_file(kind, steps, ending, tmp_path):
    """What the array is refused for: 3.4 mm instead of 54.4."""
    stored, path = np.full((48, 64), 25 * steps).astype(kind), tmp_path / f"sgbm.{ending}"
    if ending == "npy":
        np.save(path, stored)
    elif not cv2.imwrite(str(path), stored):
        pytest.skip("this OpenCV does not write int16")
    words = rf"sgbm.{ending} is u?int16.* save disparity.astype\(np.float32\) / {steps}, .* as floats"
    with pytest.raises(ValueError, match=words):
        bdis.read_disparity(path)
    with pytest.raises(ValueError, match="is u?int16"):
        bdis.Rig(272, 31.5, 23.5, 5).depth(stored)


def test_whole_px_of_uint16_are_read_with_their_mark_of_unknown_pixels(tmp_path):
    np.save(tmp_path / "px.npy", np.uint16([[25, 65535]]))
    with pytest.raises(ValueError, match="reaches 65535"):
        bdis.read_disparity(tmp_path / "px.npy")
    np.testing.assert_array_equal(bdis.read_disparity(tmp_path / "px.npy", unknown=65535), [[25, np.nan]])


@pytest.mark.parametrize("kind", [bool, complex, "U4", "M8[s]"])
@pytest.mark.parametrize("what", ["disparity", "depth"])
def test_files_without_real_numbers_are_no_maps(what, kind, tmp_path):
    np.save(tmp_path / "map.npy", np.ones((2, 3), int).astype(kind))
    with pytest.raises(ValueError, match=f"map.npy (holds .*; a {what} is numbers|cannot be read as a {what})"):
        getattr(bdis, f"read_{what}")(tmp_path / "map.npy")


def test_a_map_format_is_one_line_of_the_table(tmp_path, monkeypatch):
    def encode(values, ending, quantity):
        return f"{quantity.name}\n{values.tolist()}".encode()

    def decode(content, path, quantity):
        return np.array(json.loads(content.decode().splitlines()[1].replace("nan", "NaN")))

    monkeypatch.setattr(
        map_formats, "FORMATS", (*map_formats.FORMATS, map_formats.MapFormat((".txt",), decode, encode))
    )
    bdis.write_depth(tmp_path / "depth.txt", np.float32([[2.5, np.nan]]))
    assert (tmp_path / "depth.txt").read_text().startswith("a depth\n")
    np.testing.assert_array_equal(bdis.read_depth(tmp_path / "depth.txt"), np.float32([[2.5, np.nan]]))
    with pytest.raises(ValueError, match=r"a depth is stored as .tif, .*, .png, .txt"):
        bdis.write_depth(tmp_path / "depth.exr", np.float32([[2.5]]))


@pytest.mark.parametrize("variance", [None, np.full_like(DISPARITY, 0.04)], ids=["without", "with variance"])
def test_results_come_back(variance, tmp_path):
    result = bdis.StereoResult(DISPARITY, np.where(np.isnan(DISPARITY), 0, 0.5).astype(np.float32), variance)
    bdis.write_result(tmp_path / "result.npz", result, depth_mm=2 * DISPARITY)
    again = bdis.read_result(tmp_path / "result.npz")
    for name in ("disparity", "probability", "variance"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
    np.testing.assert_array_equal(bdis.read_disparity(tmp_path / "result.npz"), DISPARITY)
    np.testing.assert_array_equal(bdis.read_depth(tmp_path / "result.npz"), 2 * DISPARITY)
    bdis.write_result(tmp_path / "result.npz", result)
    with pytest.raises(ValueError, match="cannot be read as a result with depth_mm"):
        bdis.read_depth(tmp_path / "result.npz")


def test_the_warnings_of_a_result_were_lost_in_its_file(tmp_path):
    pair = render("tissue", 240, 320)
    result = bdis.StereoMatcher("fast").match(pair.left, np.maximum(pair.right // 2, 1))
    assert "2.0 times as bright" in result.warnings[0]
    bdis.write_result(tmp_path / "result.npz", result)
    again = bdis.read_result(tmp_path / "result.npz")
    assert again.warnings == result.warnings
    bdis.write_result(tmp_path / "again.npz", again)
    assert bdis.read_result(tmp_path / "again.npz").warnings == result.warnings
    bdis.write_result(tmp_path / "good.npz", bdis.StereoMatcher("fast").match(pair.left, pair.right))
    assert "warnings" not in np.load(tmp_path / "good.npz")


def test_a_small_copy_of_the_left_image_comes_back(tmp_path):
    pair = render("tissue", 240, 320)
    mask = np.arange(320) >= np.full((240, 1), 64)
    result = bdis.StereoMatcher("fast").match(pair.left, pair.right, left_mask=mask)
    bdis.write_result(tmp_path / "result.npz", result)
    saved = bdis.read_result(tmp_path / "result.npz").saved_left
    assert saved.dtype == np.uint8
    assert saved.shape == result.pictures.left.shape
    np.testing.assert_array_equal(saved > 0, result.pictures.left > 0)
    assert np.abs(saved - result.pictures.left / result.pictures.grey)[saved > 0].max() <= 0.5
    assert np.load(tmp_path / "result.npz")["small_left"].nbytes < 10_000
    earlier = {name: values for name, values in np.load(tmp_path / "result.npz").items() if name != "small_left"}
    np.savez(tmp_path / "earlier.npz", **earlier)
    assert bdis.read_result(tmp_path / "earlier.npz").saved_left is None


def test_a_copy_of_the_left_image_that_is_not_small_is_not_written(tmp_path):
    pair = render("plane", 64, 96)
    result = bdis.StereoMatcher("fast").match(pair.left, pair.right)
    large = result.pictures._replace(**dict.fromkeys(("left", "right"), np.full((300, 400), 160, np.int16)))
    bdis.write_result(tmp_path / "result.npz", dataclasses.replace(result, pictures=large))
    assert bdis.read_result(tmp_path / "result.npz").saved_left is None


# --- PLY --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [None, np.float32([0.5, np.nan])])
@pytest.mark.parametrize("colors", [None, np.uint8([[1, 2, 3], [250, 251, 252]])])
def test_clouds_come_back(colors, sigma, tmp_path):
    cloud = bdis.Cloud(np.float32([[1, 2, 50], [-3, 4.5, 60.25]]), colors, sigma)
    bdis.write_ply(tmp_path / "cloud.ply", cloud)
    again = bdis.read_ply(tmp_path / "cloud.ply")
    for name in ("points", "colors", "sigma_mm"):
        np.testing.assert_array_equal(getattr(again, name), getattr(cloud, name))


def test_ply_by_hand(tmp_path):
    cloud = bdis.Cloud(np.float32([[1, 2, 50]]), np.uint8([[7, 8, 9]]), np.float32([0.5]))
    bdis.write_ply(tmp_path / "cloud.ply", cloud)
    header, body = (tmp_path / "cloud.ply").read_bytes().split(b"end_header\n")
    lines = header.decode().splitlines()
    assert lines[:2] == ["ply", "format binary_little_endian 1.0"]
    assert lines[3] == "element vertex 1"
    assert lines[4:] == [f"property {kind} {name}" for kind, name in [
        ("float", "x"), ("float", "y"), ("float", "z"), ("uchar", "red"), ("uchar", "green"), ("uchar", "blue"),
        ("float", "sigma"),
    ]]  # fmt: skip
    assert body == struct.pack("<3f3Bf", 1, 2, 50, 7, 8, 9, 0.5)


def test_ply_of_others_is_read(tmp_path):
    """Big-endian doubles, more properties, faces after the vertices."""
    header = (
        "ply\nformat binary_big_endian 1.0\ncomment made elsewhere\nelement vertex 2\nproperty double x\n"
        "property double y\nproperty double z\nproperty int label\nelement face 1\n"
        "property list uchar int vertex_indices\nend_header\n"
    )
    body = struct.pack(">3di3di", 1, 2, 3, 9, 4, 5, 6, 9) + struct.pack(">B3i", 3, 0, 1, 0)
    (tmp_path / "cloud.ply").write_bytes(header.encode() + body)
    assert bdis.read_ply(tmp_path / "cloud.ply").points.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a PLY file"),
        (
            b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n",
            "format ascii; expected",
        ),
        (b"ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty float x\nend_header\n1234", "without y, z"),
        (
            b"ply\nformat binary_little_endian 1.0\nelement vertex 2\nproperty float x\nproperty float y\n"
            b"property float z\nend_header\n1234",
            "cut short: 2 vertices need 24 bytes, it has 4",
        ),
        (b"ply\nformat binary_little_endian 1.0\nelement face 1\nend_header\n", "begin with vertices"),
    ],
)
def test_broken_ply(content, words, tmp_path):
    (tmp_path / "cloud.ply").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        bdis.read_ply(tmp_path / "cloud.ply")


def test_clouds_that_do_not_fit_together():
    with pytest.raises(ValueError, match=r"colors has shape \(1, 3\); expected \(2, 3\)"):
        bdis.Cloud(np.zeros((2, 3), np.float32), np.zeros((1, 3), np.uint8))


# --- Previews ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variance", [None, np.full_like(DISPARITY, 0.04)], ids=["probability", "sigma"])
@pytest.mark.parametrize("rig", [None, bdis.Rig(60, 25, 20, 5)], ids=["no rig", "rig"])
def test_preview_is_a_picture_of_slide_size(rig, variance, tmp_path):
    result = bdis.StereoResult(DISPARITY, np.where(np.isnan(DISPARITY), 0, 0.5).astype(np.float32), variance)
    path = tmp_path / "preview.png"
    bdis.write_preview(path, RNG.integers(0, 65535, (40, 50, 3), dtype=np.uint16), result, rig, max_depth_mm=100)
    height, width = bdis.read_image(path).shape[:2]
    assert width >= 1000
    assert height >= 400


def test_preview_of_nothing_known(tmp_path):
    unknown = np.full((40, 50), np.nan, np.float32)
    result = bdis.StereoResult(unknown, np.zeros_like(unknown))
    bdis.write_preview(tmp_path / "preview.png", np.zeros((40, 50), np.uint8), result, bdis.Rig(60, 25, 20, 5))
    assert bdis.read_image(tmp_path / "preview.png").size


# --- Whole or not at all ----------------------------------------------------------------------------------------------


def test_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "depth.tiff"
    bdis.write_depth(path, DISPARITY)
    before = path.read_bytes()

    def no_space(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left on device.*depth.tiff") as error:
        bdis.write_depth(path, 2 * DISPARITY)
    assert error.value.filename == str(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_no_such_folder_is_said_with_the_name_that_was_given(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing/depth.tiff"):
        bdis.write_depth(tmp_path / "missing" / "depth.tiff", DISPARITY)


WRITER = """
import sys
from bdis.common.atomic import write_whole
for letter in "bcdefgh" * 1000:
    write_whole(sys.argv[1], letter.encode() * 20_000_000)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process the POSIX way")
def test_killed_while_writing_leaves_a_whole_file(tmp_path):
    path = tmp_path / "big.bin"
    path.write_bytes(b"a" * 20_000_000)
    process = subprocess.Popen([sys.executable, "-c", WRITER, path])
    end = time.monotonic() + 20
    while not list(tmp_path.glob(".*.part")) and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    content = path.read_bytes()
    assert len(content) == 20_000_000
    assert content == content[:1] * len(content)


def fail_half_way(folder):
    with all_or_nothing(folder) as stage:
        write_whole(stage / "a.txt", b"new")
        raise ZeroDivisionError


def test_files_that_belong_together_appear_together(tmp_path):
    folder = tmp_path / "new" / "out"
    with pytest.raises(ZeroDivisionError):
        fail_half_way(folder)
    assert not folder.parent.exists()
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("old")
    with pytest.raises(ZeroDivisionError):
        fail_half_way(folder)
    assert (folder / "a.txt").read_text() == "old"
    with all_or_nothing(folder) as stage:
        write_whole(stage / "a.txt", b"new")
        write_whole(stage / "b.txt", b"new")
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "b.txt"]
    assert (folder / "a.txt").read_text() == "new"


def test_new_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    write_whole(tmp_path / "file", b"")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode
