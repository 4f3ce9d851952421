"""Arrays and cameras as messages of ROS, and back; and messages that lie."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import bdis
from bdis.connections.ros.image_messages import compressed_image_of, image_fields, image_of
from bdis.connections.ros.message_types import CLOUD, COMPRESSED, DISPARITY, IMAGE, build_message, parse_message
from bdis.connections.ros.messages import (
    camera_info_fields,
    cameras_of,
    disparity_fields,
    is_calibrated,
    point_cloud_fields,
    stamp_ns_of,
)
from tests.connections.bags import compressed, rendered
from tests.connections.mutations import messages_to_mutate, mutated, read_mutated

MUTATIONS = 300  # ten thousand in tests/torture/ros_messages.py


def message(encoding, pixels, step=None, order="<"):
    pixels = np.ascontiguousarray(pixels, pixels.dtype.newbyteorder(order))
    height, width = pixels.shape[:2]
    row = pixels.reshape(height, -1).view(np.uint8)
    if step is not None:
        row = np.pad(row, ((0, 0), (0, step - row.shape[1])), constant_values=99)
    about = {"height": height, "width": width, "encoding": encoding, "is_bigendian": order == ">", "step": row.shape[1]}
    return SimpleNamespace(**about, data=row.tobytes())


PIXELS = np.arange(4 * 6 * 4).reshape(4, 6, 4)


@pytest.mark.parametrize(
    ("encoding", "pixels", "expected"),
    [
        ("mono8", PIXELS[..., 0].astype(np.uint8), PIXELS[..., 0]),
        ("8UC1", PIXELS[..., 0].astype(np.uint8), PIXELS[..., 0]),
        ("mono16", PIXELS[..., 0].astype(np.uint16) * 300, PIXELS[..., 0] * 300),
        ("16UC1", PIXELS[..., 0].astype(np.uint16) * 300, PIXELS[..., 0] * 300),
        ("rgb8", PIXELS[..., :3].astype(np.uint8), PIXELS[..., :3]),
        ("bgr8", PIXELS[..., :3].astype(np.uint8), PIXELS[..., 2::-1]),
        ("rgba8", PIXELS.astype(np.uint8), PIXELS[..., :3]),
        ("bgra8", PIXELS.astype(np.uint8), PIXELS[..., 2::-1]),
        ("bgr16", PIXELS[..., :3].astype(np.uint16), PIXELS[..., 2::-1]),
        ("8UC3", PIXELS[..., :3].astype(np.uint8), PIXELS[..., 2::-1]),  # as cv_bridge writes it by default
        ("16UC4", PIXELS.astype(np.uint16), PIXELS[..., 2::-1]),
    ],
)
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("padding", [0, 8])
def test_image_of_each_encoding(encoding, pixels, expected, order, padding):
    step = pixels[0].nbytes + padding
    found = image_of(message(encoding, pixels, step, order))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == pixels.dtype


@pytest.mark.parametrize("pattern", ["rggb", "bggr", "gbrg", "grbg"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_bayer_patterns_have_the_right_colours(pattern, dtype):
    color = np.array([200, 120, 40], dtype)
    mosaic = np.empty((8, 10), dtype)
    for number, name in enumerate(pattern):
        mosaic[number // 2 :: 2, number % 2 :: 2] = color["rgb".index(name)]
    found = image_of(message(f"bayer_{pattern}{8 * np.dtype(dtype).itemsize}", mosaic))
    assert (found == color).all()


@pytest.mark.parametrize(
    ("encoding", "order"), [("yuv422", "UYVY"), ("uyvy", "UYVY"), ("yuv422_yuy2", "YUYV"), ("yuyv", "YUYV")]
)
def test_yuv_of_capture_cards_has_the_right_colours(encoding, order):
    y, u, v = 145, 54, 34  # pure green in BT.601 with 16 to 235, as cameras and cards give it
    values = [{"Y": y, "U": u, "V": v}[name] for name in order]
    pixels = np.tile(np.array(values, np.uint8).reshape(1, 2, 2), (3, 4, 1))
    found = image_of(message(encoding, pixels, pixels[0].nbytes + 8))
    assert found.shape == (3, 8, 3)
    assert np.abs(found.astype(int) - (0, 255, 0)).max() <= 3
    with pytest.raises(ValueError, match="7x3 cannot be encoded"):
        image_of(message(encoding, pixels[:, :7]))


@pytest.mark.parametrize("ending", [".png", ".jpg"])
def test_compressed_images(ending):
    image = rendered()[0][0].left
    found = compressed_image_of(SimpleNamespace(**compressed(ending)(image)))
    assert np.abs(found.astype(int) - image).mean() < (0.01 if ending == ".png" else 8)


def test_compressed_bayer_patterns_become_colours():
    from bdis.files.images import encode_pixels

    mosaic = np.tile(np.array([[200, 120], [120, 40]], np.uint8), (4, 5))
    content = encode_pixels(mosaic, ".png")
    found = compressed_image_of(SimpleNamespace(format="bayer_rggb8; png compressed ", data=content))
    assert (found == (200, 120, 40)).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"encoding": "nv21"}, "encoded as 'nv21'"),
        ({"encoding": "\x1b[31m"}, "encoded as '\\x1b[31m'"),
        ({"step": 5}, "rows of 5"),
        ({"data": bytes(23)}, "23 bytes"),
        ({"data": b""}, "0 bytes"),
        ({"height": 0}, "has none"),
        ({"width": 2**31, "height": 2**31}, "at most"),
        ({"height": 2**31}, "at most"),
        ({"step": 2**31}, "rows of 2147483648"),
    ],
)
def test_an_image_that_lies_is_refused(changes, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        image_of(SimpleNamespace(**vars(message("mono8", np.zeros((4, 6), np.uint8))) | changes))


def test_a_message_with_less_data_than_it_declares_is_refused():
    content = build_message(IMAGE, image_fields(np.zeros((4, 6), np.uint8)), 7, "camera", is_ros1=False)
    with pytest.raises(ValueError, match="bytes"):
        image_of(parse_message(content[:-3], IMAGE, is_ros1=False))


def test_a_fisheye_beside_another_lens_is_refused():
    rig = bdis.Rig(500, 320, 240, 5, size=(640, 480))
    left, right = (SimpleNamespace(**camera_info_fields(rig, side) | {"roi": None}) for side in ("left", "right"))
    right.distortion_model, right.d = "equidistant", np.full(4, 0.1)
    with pytest.raises(ValueError, match="one camera has a fisheye lens and the other has not"):
        cameras_of(left, right)


def test_camera_info_of_a_rig_gives_the_rig():
    rig = bdis.Rig(500.5, 320, 240.25, 5.1, cx_right=322, size=(640, 480))
    infos = [SimpleNamespace(**camera_info_fields(rig, side) | {"roi": None}) for side in ("left", "right")]
    found = cameras_of(*infos)
    assert bdis.Rig(**found.rectified, size=found.size) == rig


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"k": np.zeros(9)}, "no calibration"),
        ({"p": np.zeros(12)}, "no calibration"),
        ({"p": np.full(12, np.nan)}, "NaN"),
        ({"r": np.zeros(4)}, "4 numbers"),
        ({"binning_x": 2}, "binned"),
        ({"roi": SimpleNamespace(x_offset=9, y_offset=0, width=64, height=48)}, "part of the sensor"),
        ({"distortion_model": "fov", "d": np.ones(1)}, "'fov'"),
        ({"width": 2**30, "height": 2**30}, "at most"),
    ],
)
def test_a_camera_info_that_makes_no_sense_is_refused(changes, words):
    rig = bdis.Rig(500, 32, 24, 5, size=(64, 48))
    left, right = (camera_info_fields(rig, side) | {"roi": None} for side in ("left", "right"))
    with pytest.raises(ValueError, match=re.escape(words)):
        cameras_of(SimpleNamespace(**left | changes), SimpleNamespace(**right | changes))


def test_a_camera_info_with_a_signalling_nan_warns_of_nothing():
    signalling = np.frombuffer(bytes.fromhex("010000000000f07f") * 9, np.float64)
    assert is_calibrated(SimpleNamespace(k=signalling))  # and is refused later, as other NaN are


@pytest.mark.parametrize("is_ros1", [False, True])
def test_disparity_image_keeps_the_rules_of_ros(is_ros1):
    rig = bdis.Rig(500, 2, 1, 5, cx_right=12, size=(5, 4))
    disparity = np.full((4, 5), np.nan, np.float32)
    disparity[1:3, 1:4] = [[20, 30, -20], [40, 50, np.nan]]
    content = build_message(DISPARITY, disparity_fields(disparity, rig), 7 * 10**9 + 5, "cam", is_ros1=is_ros1)
    found = parse_message(content, DISPARITY, is_ros1)
    baseline_m = found.T if is_ros1 else found.t
    values = found.image.data.view("<f4").reshape(4, 5)
    known = values >= found.min_disparity
    depth_m = np.where(known, found.f * baseline_m / values, np.nan)
    np.testing.assert_allclose(1e3 * depth_m, rig.depth(disparity), rtol=1e-5)  # -20 is behind infinity
    assert (found.min_disparity, found.max_disparity) == (30, 60)
    window = found.valid_window
    assert (window.x_offset, window.y_offset, window.width, window.height) == (1, 1, 2, 2)
    assert 0 < found.delta_d < 1e-4
    assert stamp_ns_of(found.header) == stamp_ns_of(found.image.header) == 7 * 10**9 + 5
    assert found.header.frame_id == found.image.header.frame_id == "cam"


def test_a_disparity_image_without_any_disparity():
    fields = disparity_fields(np.full((2, 3), np.nan, np.float32), bdis.Rig(500, 2, 1, 5))
    assert (fields["image"]["data"].view("<f4") < fields["min_disparity"]).all()
    assert fields["valid_window"]["width"] == 0


@pytest.mark.parametrize("is_ros1", [False, True])
def test_point_cloud_has_metres_colours_and_sigma(is_ros1):
    cloud = bdis.Cloud(np.float32([[1, 2, 50], [3, 4, 60]]), np.uint8([[1, 2, 3], [250, 0, 9]]), np.float32([0.5, 2]))
    content = build_message(CLOUD, point_cloud_fields(cloud), 7, "cam", is_ros1=is_ros1)
    found = parse_message(content, CLOUD, is_ros1)
    layout = np.dtype(
        {
            "names": [part.name for part in found.fields],
            "formats": ["<f4"] * 5,
            "offsets": [part.offset for part in found.fields],
        }
    )
    assert layout.itemsize == found.point_step
    points = found.data.view(layout)
    np.testing.assert_allclose(points["z"], [0.05, 0.06])
    np.testing.assert_allclose(points["sigma"], [0.0005, 0.002])
    packed = points["rgb"].copy().view(np.uint32)
    assert [hex(color) for color in packed] == ["0x10203", "0xfa0009"]


def test_mutated_messages_are_read_or_refused():
    rng = np.random.default_rng(0)
    whole = messages_to_mutate()
    outcomes = [read_mutated(*mutated(whole[number % len(whole)], rng)) for number in range(MUTATIONS)]
    assert 0 < sum(outcomes) < MUTATIONS  # some can be read, some cannot


@pytest.mark.parametrize("kind", [IMAGE, COMPRESSED])
@pytest.mark.parametrize("is_ros1", [False, True])
def test_a_message_cut_anywhere_is_refused(kind, is_ros1):
    fields = image_fields(np.zeros((2, 3), np.uint8)) if kind == IMAGE else compressed(".png")(rendered()[0][0].left)
    content = build_message(kind, fields, 7, "camera", is_ros1=is_ros1)
    for end in range(0, len(content), max(1, len(content) // 50)):
        assert not read_mutated(content[:end], kind, is_ros1)
