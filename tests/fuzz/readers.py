"""Every reader of files and texts that others wrote, and the exceptions that it documents.

A reader gets a folder and the content of one file; it writes that file, and what else a valid input needs, and reads it
as a user would.  Any exception but those of ``may_raise`` is a finding, and so are output on the terminal, more than a
few seconds, and more than 2 GB of memory.  ``run.py`` invents contents, ``test_corpus.py`` reads the kept ones.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

import bdis
from bdis.cameras.formats import read_calibration
from bdis.common.assignments import read_values, split_assignments
from bdis.connections.exports import read_poses
from bdis.connections.igtl import HEADER_BYTES, MAX_BODY_BYTES, parse_header, parse_image
from bdis.connections.ros.image_messages import compressed_image_of, image_of
from bdis.connections.ros.message_types import CAMERA_INFO, COMPRESSED, IMAGE, parse_message
from bdis.connections.ros.messages import cameras_of
from bdis.connections.ros2.bdis_ros import bridge
from bdis.evaluation.samples import Sample
from bdis.files.maps import stored_disparity
from bdis.matching.settings import Settings, settings_for
from bdis.video.sources import BadFrame, BagSource, open_source
from bdis.video.sources.pipe import parse_pipe_format
from tests.fuzz.contents import NEXT_FILE, NPY_WORDS, SIZE, Reader, any_of, check_map, text, written
from tests.fuzz.datasets import DATASETS
from tests.fuzz.recordings import RECORDINGS

# --- Calibrations -----------------------------------------------------------------------------------------------------


def _rectify(cameras: bdis.StereoCalibration) -> None:
    if cameras.size[0] * cameras.size[1] < 10_000:  # more takes long, and reaches no other code
        cameras.rectify()


def _load_cameras(path: Path, right: Path | None = None) -> None:
    """Both entrances, with and without what a user may state."""
    loads: list[Callable[[], object]] = [
        lambda: read_calibration(path, right),
        lambda: bdis.Rig.load(path, right),
        lambda: bdis.Rig.load(path, right, unit="cm"),
        lambda: bdis.Rig.load(path, right, baseline_mm=5.0),
        lambda: bdis.StereoCalibration.load(path, right, size=SIZE),
        lambda: bdis.StereoCalibration.load(path, right, unit="m"),
        lambda: _rectify(bdis.StereoCalibration.load(path, right, size=SIZE)),
    ]
    any_of(loads)


def _calibration(folder: Path, content: bytes) -> None:
    left, _, right = content.partition(NEXT_FILE)
    written(folder, "right.yaml", right)
    _load_cameras(written(folder, "left.yaml", left))


def _calibration_with_right(folder: Path, content: bytes) -> None:
    left, _, right = content.partition(NEXT_FILE)
    _load_cameras(written(folder, "a.json", left), written(folder, "b.json", right))


def _calibration_toml(folder: Path, content: bytes) -> None:
    _load_cameras(written(folder, "rig.toml", content))


def _calibration_of_ending(name: str) -> Callable[[Path, bytes], None]:
    return lambda folder, content: _load_cameras(written(folder, name, content))


def _poses(folder: Path, content: bytes) -> None:
    poses = read_poses(written(folder, "groundtruth.txt", content), "mm", [0, 2], times_s=[0.0, 0.08])
    assert poses.shape == (2, 4, 4)
    assert np.isfinite(poses).all()


# --- Bags of ROS ------------------------------------------------------------------------------------------------------


def _bag(name: str) -> Callable[[Path, bytes], None]:
    """All frames and the cameras of a bag."""

    def read(folder: Path, content: bytes) -> None:
        source = BagSource(written(folder, name, content))
        try:
            for _ in range(source.length + len(source.remarks)):
                with contextlib.suppress(BadFrame):
                    source.read()
            source.find_camera(lambda warning: None)
        finally:
            source.close()

    return read


_MESSAGES = [(kind, is_ros1) for kind in (IMAGE, COMPRESSED, CAMERA_INFO) for is_ros1 in (False, True)]


def _ros_message(folder: Path, content: bytes) -> None:
    """A message, whose type the first byte chooses."""
    kind, is_ros1 = _MESSAGES[content[0] % len(_MESSAGES) if content else 0]
    message = parse_message(content[1:], kind, is_ros1)
    if kind == CAMERA_INFO:
        cameras_of(message, message)
    elif kind == COMPRESSED:
        compressed_image_of(message)
    else:
        image_of(message)


def _bridge_message(folder: Path, content: bytes) -> None:
    """A message between a ROS node and bdis, with one of its fields."""
    message = bridge.decode(io.BytesIO(content).read)
    assert len(message.payload) < len(content)
    message.get("topics", dict)


# --- Videos -----------------------------------------------------------------------------------------------------------


def _video(name: str) -> Callable[[Path, bytes], None]:
    """The first frames of a video; all that it promises are counted."""

    def read(folder: Path, content: bytes) -> None:
        source = open_source(written(folder, name, content))
        try:
            for _ in range(8):
                try:
                    if source.read() is None:
                        break
                except BadFrame:
                    continue
        finally:
            source.close()

    return read


def _pipe_format(folder: Path, content: bytes) -> None:
    assert parse_pipe_format(text(content)).frame_bytes != 0


# --- Images, maps, clouds ---------------------------------------------------------------------------------------------


def _with_png_checksums(content: bytes) -> bytes:
    """The same PNG with right checksums: an invented change would otherwise never come as far as the decoder."""
    start = 8
    if not content.startswith(b"\x89PNG\r\n\x1a\n"):
        return content
    parts = [content[:start]]
    while start + 12 <= len(content):
        end = start + 8 + int.from_bytes(content[start : start + 4], "big")
        if end + 4 > len(content):
            break
        parts += [content[start:end], zlib.crc32(content[start + 4 : end]).to_bytes(4, "big")]
        start = end + 4
    return b"".join([*parts, content[start:]])


def _image(folder: Path, content: bytes) -> None:
    bdis.read_image(written(folder, "left.png", _with_png_checksums(content)))


def _map(name: str) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        path = written(folder, name, _with_png_checksums(content))
        any_of([lambda: check_map(bdis.read_depth(path)), lambda: check_map(bdis.read_disparity(path))])
        stored_disparity(path)

    return read


def _result(folder: Path, content: bytes) -> None:
    found = bdis.read_result(written(folder, "result.npz", content))
    for array in (found.disparity, found.probability, found.variance):
        if array is not None:
            assert array.dtype == np.float32
            assert array.shape == found.disparity.shape
            assert array.ndim == 2
    if found.saved_left is not None:
        assert found.saved_left.dtype == np.uint8
        assert found.saved_left.ndim == 2
    assert all(text.isprintable() for text in found.warnings)


def _result_array(folder: Path, content: bytes) -> None:
    """A valid archive around an invented array: a changed archive would fail its checksum."""
    good = io.BytesIO()
    np.save(good, np.full((1, 2), 0.5, np.float32))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("disparity.npy", content)
        archive.writestr("probability.npy", good.getvalue())
    _result(folder, buffer.getvalue())


def _ply(folder: Path, content: bytes) -> None:
    bdis.read_ply(written(folder, "cloud.ply", content))


# --- Settings, scenes, samples ----------------------------------------------------------------------------------------


def _settings(folder: Path, content: bytes) -> None:
    settings_for("balanced", read_values(split_assignments(text(content).split("\n"), "--set"), Settings))


def _scene_address(folder: Path, content: bytes) -> None:
    open_source(f"render:{text(content)}")


def _sample(folder: Path, content: bytes) -> None:
    Sample(written(folder, "sample.npz", content))


_CALIBRATION_WORDS = (
    "%YAML:1.0", "!!opencv-matrix", "rows: ", "cols: ", "data: [", "M1", "M2", "K1", "K2", "D1", "P1", "P2", "Q:", "R:",
    "T:", "cam0", "cam1", "intrinsics", "resolution", "T_cn_cnm1", "distortion_model", "distortion_coeffs", "radtan",
    "camera_model", "pinhole", "camera_matrix", "projection_matrix", "rectification_matrix", "image_width", "doffs=",
    "distortion_coefficients", "baseline=", "cam0=[", "width=", "<opencv_storage>", "<data>", "<!--", "-->", ".Nan",
    ".Inf", "1e999", "<Q>", "</", "image_size", "format", "bdis-rig", "bdis-stereo-calibration",
    "[StereoLeft]", "[StereoRight]", "fc_x=", "kc_0=", "R_0=", "T_0=", "res_x=", "Camera-0-F: ", "Camera-1-K: ",
    "Width: ", "Extrinsic-Omega: ", "Extrinsic-T: ", '"camera-calibration"', '"KL"', '"DR"', '"CameraParameters1"',
    '"PoseCamera2"', '"RotationOfCamera2"', '"RadialDistortion"', '"WorldUnits"',
)  # fmt: skip
_TOML_WORDS = (
    'format = "bdis-rig"', 'format = "bdis-stereo-calibration"', "focal_px = ", "cx = ", "cy = ", "baseline_mm = ",
    "size = [", "sigma_scale = ", "sigma_scale_range = [", "sigma_preset = ", "left_matrix", "right_matrix",
    "rotation", "translation_mm", "fisheye", "true", "nan", "inf", "1e400", "[[", "]]", '"""', "1979-05-27",
    "left_distortion", "right_distortion",
)  # fmt: skip
_MAT_WORDS = ("MATLAB 5.0 MAT-file", "MATLAB 7.3 MAT-file", "IM", "CameraParameters1", "CameraParameters2", "K",
              "IntrinsicMatrix", "RotationOfCamera2", "TranslationOfCamera2", "PoseCamera2", "ImageSize")  # fmt: skip

_PNG_WORDS = ("IHDR", "IDAT", "PLTE", "tRNS", "IEND", "iCCP", "tEXt", "acTL")


def _igtl_message(folder: Path, content: bytes) -> object:
    header = parse_header(content[:HEADER_BYTES].ljust(HEADER_BYTES, b"\0"))
    assert header.body_bytes <= MAX_BODY_BYTES
    return parse_image(header, content[HEADER_BYTES : HEADER_BYTES + header.body_bytes])


READERS: dict[str, Reader] = {
    "calibration": Reader(_calibration, words=_CALIBRATION_WORDS),
    "calibration_pair": Reader(_calibration_with_right, words=_CALIBRATION_WORDS),
    "calibration_toml": Reader(_calibration_toml, words=_TOML_WORDS),
    "calibration_npz": Reader(_calibration_of_ending("stereo.npz"), words=(*NPY_WORDS, "K1.npy", "mtxL.npy", "T.npy")),
    "calibration_mat": Reader(_calibration_of_ending("stereo.mat"), (ValueError, OSError, ImportError), _MAT_WORDS),
    "poses": Reader(_poses, words=("0 0 0 0 0 0 0 1", "# ", "nan", "1e999", "1 0 0 0")),
    "bag_ros1": Reader(_bag("a.bag"), words=("#ROSBAG V2.0", "op=", "conn=", "compression=", "index_pos=", "size=")),
    "bag_mcap": Reader(_bag("a.mcap"), words=("MCAP0", "cdr", "ros1", "ros2msg", "zstd", "lz4")),
    "bag_sqlite": Reader(_bag("a.db3"), words=("SQLite format 3", "messages", "topics", "cdr")),
    "ros_message": Reader(_ros_message, words=("mono8", "bgr8", "bayer_rggb8", "plumb_bob", "jpeg")),
    "image": Reader(_image, words=(*_PNG_WORDS, "II*\\x00", "P6\\x0a")),
    "map_tiff": Reader(_map("map.tiff")),
    "map_pfm": Reader(_map("map.pfm"), words=("Pf", "PF", "-1.0", "1e999")),
    "map_npy": Reader(_map("map.npy"), words=NPY_WORDS),
    "map_png": Reader(_map("map.png"), words=_PNG_WORDS),
    "map_npz": Reader(_map("map.npz"), words=(*NPY_WORDS, "PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06")),
    "result": Reader(_result, words=(*NPY_WORDS, "PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06")),
    "result_array": Reader(_result_array, words=NPY_WORDS),
    "sample": Reader(_sample, words=(*NPY_WORDS, "PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06")),
    "ply": Reader(_ply, words=("ply", "format ", "binary_little_endian 1.0", "element vertex ", "property float ",
                               "property uchar ", "end_header", "red", "sigma")),
    "bridge_message": Reader(_bridge_message, (bridge.BridgeError, EOFError),
                             ("BDIS\\x01", '{"kind": "state"', '"topics": {')),
    "video": Reader(_video("a.mkv"), words=("YUV4MPEG2 W64 H48 F25:1 C420jpeg", "FRAME", "DURATION", "V_FFV1", "moov")),
    "pipe_format": Reader(_pipe_format, words=("rawvideo:", "1280x480", ":rgb24:", "y4m", "nut")),
    "igtl_message": Reader(_igtl_message, (ValueError,), ("\\x00\\x01IMAGE", "\\x00\\x02IMAGE", "TRANSFORM")),
    "settings": Reader(_settings, (ValueError, TypeError), tuple(Settings.__dataclass_fields__)),
    "scene_address": Reader(_scene_address, words=("plane", "colon", ",frames=", ",height=", ",seed=", ",noise_seed=",
                                                   ",disparity_px=", ",fps=", ",distinct=", "none", "nan", "1e400")),
    **RECORDINGS,
    **DATASETS,
}  # fmt: skip
