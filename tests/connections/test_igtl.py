"""Messages of OpenIGTLink, compared with what pyigtl reads and writes; and damaged ones."""

import struct

import numpy as np
import pytest

import bdis
from bdis.cameras.cloud import Cloud
from bdis.connections import igtl

from .mutated import check_image, feed, mutated, whole_messages

pyigtl_messages = pytest.importorskip("pyigtl.messages")
RIG = bdis.Rig(120.0, cx=50.0, cy=30.0, baseline_mm=4.0)
MESSAGES = 400  # the long version is tests/torture/live_messages.py


def unpacked(message):
    """As pyigtl reads it."""
    fields = pyigtl_messages.MessageBase.parse_header(message[:58])
    assert fields["body_size"] == len(message) - 58
    read = pyigtl_messages.MessageBase.create_message(fields["message_type"])
    read.unpack(fields, message[58:])
    return read


def test_the_check_sum_is_that_of_pyigtl():
    content = np.random.default_rng(0).bytes(1000)
    for count in (0, 1, 7, 8, 9, 999, 1000):
        assert igtl.crc64(content[:count]) == pyigtl_messages.CRC64(content[:count])


@pytest.mark.parametrize("shape", [(6, 8), (6, 8, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_pyigtl_reads_our_images_with_rows_matrix_and_time(shape, dtype):
    image = np.random.default_rng(1).integers(0, 200, shape).astype(dtype)
    read = unpacked(igtl.pack("IMAGE", "BDIS_Depth", 1234567890.123, igtl.image_content(image, igtl.image_matrix(RIG))))
    assert np.array_equal(read.image[0], image)
    assert read.device_name == "BDIS_Depth"
    assert read.timestamp == pytest.approx(1234567890.123, abs=1e-6)
    assert read.world_coordinate_system == "ras"
    assert read.ijk_to_world_matrix == pytest.approx(igtl.image_matrix(RIG), abs=1e-4)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("shape", [(6, 8), (6, 8, 3)])
def test_we_read_the_images_of_pyigtl(shape, dtype):
    image = np.random.default_rng(2).integers(0, 200, shape).astype(dtype)
    for version in (1, 2):
        written = pyigtl_messages.ImageMessage(image[None], device_name="Left", timestamp=5.5)
        written.header_version = version
        if version == 2:
            written.metadata = {"FrameNumber": "7"}
        message = written.pack()
        header = igtl.parse_header(message[:58])
        assert (header.kind, header.device, header.time_s) == ("IMAGE", "Left", pytest.approx(5.5))
        assert np.array_equal(igtl.parse_image(header, message[58:]), image)


def test_a_point_of_the_scene_is_where_matrix_and_depth_say():
    matrix = igtl.image_matrix(RIG)
    on_plane = (matrix @ [80, 10, 0, 1])[:3]
    point = on_plane * 60.0 / igtl.PLANE_MM  # a pixel with a depth of 60 mm
    assert point == pytest.approx([(80 - 50) / 120 * 60, (10 - 30) / 120 * 60, 60])


def test_the_cloud_is_laid_out_as_the_protocol_says():
    rng = np.random.default_rng(3)
    points, colors = rng.normal(size=(5, 3)).astype(np.float32), rng.integers(0, 256, (5, 3), np.uint8)
    sigma = rng.random(5).astype(np.float32)
    content = igtl.polydata_content(Cloud(points, colors, sigma))
    counts = struct.unpack_from(">10I", content)
    assert counts == (5, 5, 40, 0, 0, 0, 0, 0, 0, 2)
    assert np.frombuffer(content, ">f4", 15, 40).reshape(5, 3) == pytest.approx(points)
    assert np.frombuffer(content, ">u4", 10, 100).tolist() == [1, 0, 1, 1, 1, 2, 1, 3, 1, 4]
    assert struct.unpack_from(">BBIBBI", content, 140) == (0, 1, 5, 1, 3, 5)
    names = content[152:168]
    assert names == b"Sigma_mm\0Color\0\0"  # padded to an even length
    assert np.frombuffer(content, ">f4", 5, 168) == pytest.approx(sigma)
    assert np.frombuffer(content, ">f4", 15, 188).reshape(5, 3) == pytest.approx(colors / 255, abs=1e-6)
    assert len(content) == 248


def test_text_of_a_status_arrives():
    assert unpacked(igtl.pack("STRING", "BDIS_Status", 1, igtl.string_content("99 % known\x1b"))).string == (
        "99 % known\\x1b"
    )


def _image_message(**changes):
    """An image of 8x6 whose header is changed."""
    fields = {"components": 1, "scalar": 3, "endian": 2, "size": (8, 6, 1), "part": (0, 0, 0, 8, 6, 1), "bytes": 48}
    fields |= changes
    content = struct.pack(
        ">HBBBB3H12f6H", 1, fields["components"], fields["scalar"], fields["endian"], 1, *fields["size"],
        *np.eye(3).ravel(), 0, 0, 0, *fields["part"],
    ) + bytes(fields["bytes"])  # fmt: skip
    return igtl.pack("IMAGE", "Left", 0, content)


def test_big_endian_pixels_are_read():
    message = _image_message(endian=1, scalar=5, bytes=96)[58:-96] + np.arange(48, dtype=">u2").tobytes()
    message = igtl.pack("IMAGE", "Left", 0, message)
    assert igtl.parse_image(igtl.parse_header(message[:58]), message[58:]).ravel().tolist() == list(range(48))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bytes": 47}, "47 bytes of pixels; expected 48"),
        ({"size": (65535, 65535, 1), "part": (0, 0, 0, 65535, 65535, 1)}, "65535x65535"),
        ({"size": (8, 6, 2), "part": (0, 0, 0, 8, 6, 2)}, "expected one whole image"),
        ({"part": (1, 0, 0, 7, 6, 1)}, "expected one whole image"),
        ({"size": (0, 6, 1), "part": (0, 0, 0, 0, 6, 1)}, "expected one whole image"),
        ({"scalar": 11}, "expected 8 or 16 bit, grey or RGB"),
        ({"scalar": 99}, "expected 8 or 16 bit, grey or RGB"),
        ({"components": 4}, "expected 8 or 16 bit, grey or RGB"),
        ({"endian": 9}, "expected 8 or 16 bit, grey or RGB"),
    ],
)
def test_images_that_are_not_what_they_say_are_refused(changes, words):
    message = _image_message(**changes)
    with pytest.raises(ValueError, match=words):
        igtl.parse_image(igtl.parse_header(message[:58]), message[58:])


def test_a_declared_size_of_4_gb_is_refused_before_anything_is_read():
    header = struct.pack(">H12s20sIIQQ", 1, b"IMAGE", b"Left", 0, 0, 2**32, 0)
    with pytest.raises(ValueError, match="declares 4294967296 bytes; at most"):
        igtl.parse_header(header)


def test_a_wrong_check_sum_is_refused():
    message = bytearray(_image_message())
    message[-1] ^= 1
    with pytest.raises(ValueError, match="wrong check sum"):
        igtl.parse_image(igtl.parse_header(bytes(message[:58])), bytes(message[58:]))


def test_a_name_of_a_stranger_does_not_steer_the_terminal():
    message = pyigtl_messages.ImageMessage(np.zeros((1, 2, 2), np.float64), device_name="a\x1b[2J").pack()
    header = igtl.parse_header(message[:58])
    assert header.device == "a\\x1b[2J"


def test_mutated_messages_are_images_or_errors():
    rng, whole = np.random.default_rng(4), whole_messages()
    assert sum(feed(message) is not None for message in whole) == 4
    let_through = 0
    for number in range(MESSAGES):
        image = feed(mutated(whole[number % len(whole)], rng))
        if image is not None:
            let_through += 1
            check_image(image)
    assert 0 < let_through < MESSAGES / 2
