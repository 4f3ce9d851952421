"""Every reader of files and texts that others wrote, and the exceptions that it documents.

A reader gets a folder and the content of one file; it writes that file, and what else a valid input needs, and reads it
as a user would.  Any exception but those of ``may_raise`` is a finding, and so are output on the terminal, more than a
few seconds, and more than 2 GB of memory.  ``run.py`` invents contents, ``test_corpus.py`` reads the kept ones.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

import bdis
from bdis.cameras.formats import read_calibration
from bdis.common.assignments import read_values, split_assignments
from bdis.connections.exports import read_poses
from bdis.connections.igtl import HEADER_BYTES, MAX_BODY_BYTES, parse_header, parse_image
from bdis.connections.ros.message_types import CAMERA_INFO, COMPRESSED, IMAGE, parse_message
from bdis.connections.ros.messages import cameras_of, compressed_image_of, image_of
from bdis.evaluation.datasets import open_dataset
from bdis.evaluation.run_log import RunLog
from bdis.evaluation.samples import Sample
from bdis.files.maps import holds_sixteenths
from bdis.matching.settings import Settings, settings_for
from bdis.video.recording.depth_video import read_depth_video
from bdis.video.recording.frame_log import FRAME_LOG, read_frame_log
from bdis.video.recording.manifest import MANIFEST, Manifest, read_manifest
from bdis.video.sources import BadFrame, BagSource, open_source

NEXT_FILE = b"\n=== right ===\n"  # between the files of the left and of the right camera
_SIZE = (64, 48)


@dataclass(frozen=True)
class Reader:
    """A public entrance.

    Attributes
    ----------
    read : callable
        Takes an empty folder and the content of a file.
    may_raise : tuple of type
        What its documentation names.
    words : tuple of str
        Words of the format, which the fuzzer puts together.
    """

    read: Callable[[Path, bytes], object]
    may_raise: tuple[type[Exception], ...] = (ValueError, OSError)
    words: tuple[str, ...] = ()


def _written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _any_of(reads: list[Callable[[], object]]) -> None:
    """Call all; if each raised a documented exception, so does this."""
    errors = []
    for read in reads:
        try:
            read()
        except (ValueError, OSError) as error:
            errors.append(error)
    if len(errors) == len(reads):
        raise errors[-1]


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


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
        lambda: bdis.StereoCalibration.load(path, right, size=_SIZE),
        lambda: bdis.StereoCalibration.load(path, right, unit="m"),
        lambda: _rectify(bdis.StereoCalibration.load(path, right, size=_SIZE)),
    ]
    _any_of(loads)


def _calibration(folder: Path, content: bytes) -> None:
    left, _, right = content.partition(NEXT_FILE)
    _written(folder, "right.yaml", right)
    _load_cameras(_written(folder, "left.yaml", left))


def _calibration_with_right(folder: Path, content: bytes) -> None:
    left, _, right = content.partition(NEXT_FILE)
    _load_cameras(_written(folder, "a.json", left), _written(folder, "b.json", right))


def _calibration_toml(folder: Path, content: bytes) -> None:
    _load_cameras(_written(folder, "rig.toml", content))


def _calibration_of_ending(name: str) -> Callable[[Path, bytes], None]:
    return lambda folder, content: _load_cameras(_written(folder, name, content))


def _poses(folder: Path, content: bytes) -> None:
    poses = read_poses(_written(folder, "groundtruth.txt", content), "mm", [0, 2])
    assert poses.shape == (2, 4, 4)
    assert np.isfinite(poses).all()


# --- Bags of ROS ------------------------------------------------------------------------------------------------------


def _bag(name: str) -> Callable[[Path, bytes], None]:
    """All frames and the cameras of a bag."""

    def read(folder: Path, content: bytes) -> None:
        source = BagSource(_written(folder, name, content))
        try:
            for _ in range(source.length + len(source.remarks)):
                with contextlib.suppress(BadFrame):
                    source.read()
            _ = source.camera
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
    bdis.read_image(_written(folder, "left.png", _with_png_checksums(content)))


def _map(name: str) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        path = _written(folder, name, _with_png_checksums(content))
        _any_of([lambda: _check_map(bdis.read_depth(path)), lambda: _check_map(bdis.read_disparity(path))])
        holds_sixteenths(path)

    return read


def _check_map(values: np.ndarray) -> None:
    assert values.dtype == np.float32
    assert values.ndim == 2
    assert not np.isinf(values).any()


def _result(folder: Path, content: bytes) -> None:
    found = bdis.read_result(_written(folder, "result.npz", content))
    for array in (found.disparity, found.probability, found.variance):
        if array is not None:
            assert array.dtype == np.float32
            assert array.shape == found.disparity.shape
            assert array.ndim == 2


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
    bdis.read_ply(_written(folder, "cloud.ply", content))


# --- Settings, scenes, recordings, benchmarks -------------------------------------------------------------------------


def _settings(folder: Path, content: bytes) -> None:
    settings_for("balanced", read_values(split_assignments(_text(content).split("\n"), "--set"), Settings))


def _scene_address(folder: Path, content: bytes) -> None:
    open_source(f"render:{_text(content)}")


def _manifest(folder: Path, content: bytes) -> None:
    _written(folder, MANIFEST, content)
    earlier = read_manifest(folder)
    now = Manifest(folder, {"source": "a.mp4", "settings": {"threads": 1}}, None)
    try:
        now.continue_from(earlier)
    finally:
        again = Manifest(folder, earlier["run"], earlier["calibration"])
        again.continue_from(earlier)
        again.begin_part(0)


def _frame_log(folder: Path, content: bytes) -> None:
    for record in read_frame_log(_written(folder, FRAME_LOG, content)):
        assert record.index >= 0
        assert np.isfinite(record.time_s)


def _run_log(folder: Path, content: bytes) -> None:
    log = RunLog(_written(folder, "journal.jsonl", content))
    log.get("frame 1")
    log.keep_only("frame")
    log.add("frame 2", 1)


def _depth_video(folder: Path, content: bytes) -> None:
    for _, time_s, depth_mm in read_depth_video(_written(folder, "depth.mkv", content)):
        assert np.isfinite(time_s)
        _check_map(depth_mm)


def _sample(folder: Path, content: bytes) -> None:
    Sample(_written(folder, "sample.npz", content))


# --- Data sets --------------------------------------------------------------------------------------------------------


def _grey_png() -> bytes:
    return cv2.imencode(".png", np.full(_SIZE[::-1], 90, np.uint8))[1].tobytes()


def _rendered(folder: Path, content: bytes) -> None:
    _written(folder, "scene.json", content)
    _written(folder, "rig.toml", b'format = "bdis-rig"\nfocal_px = 50\ncx = 31\ncy = 23\nbaseline_mm = 5\n')
    for side in ("left", "right", "occluded"):
        _written(folder, f"{side}/000000.png", _grey_png())
    for kind in ("depth", "disparity"):
        bdis.write_depth(_written(folder, f"{kind}/000000.tiff", b""), np.full(_SIZE[::-1], 9, np.float32))
    open_dataset(folder, "rendered")[0].read()


def _kitti(folder: Path, content: bytes) -> None:
    _written(folder, "calib_cam_to_cam/000000.txt", content)
    for side in ("image_2", "image_3"):
        _written(folder, f"{side}/000000_10.png", _grey_png())
    open_dataset(folder)[0].read()


def _middlebury(folder: Path, content: bytes) -> None:
    _written(folder, "calib.txt", content)
    for name in ("im0.png", "im1.png"):
        _written(folder, name, _grey_png())
    open_dataset(folder)[0].read()


def _scared_files(folder: Path) -> Path:
    keyframe = folder / "dataset_1" / "keyframe_1"
    for name in ("Left_Image.png", "Right_Image.png"):
        _written(keyframe, name, _grey_png())
    matrix = "{rows: 3, cols: 3, data: [50, 0, 31, 0, 50, 23, 0, 0, 1]}"
    rotation = "{rows: 3, cols: 3, data: [1, 0, 0, 0, 1, 0, 0, 0, 1]}"
    calibration = f"M1: {matrix}\nM2: {matrix}\nR: {rotation}\nT: {{rows: 3, cols: 1, data: [-5, 0, 0]}}\n"
    _written(keyframe, "endoscope_calibration.yaml", calibration.encode())
    _written(keyframe, "data/rgb.mp4", b"")
    video = cv2.VideoWriter(
        str(keyframe / "data" / "rgb.mp4"), cv2.VideoWriter.fourcc(*"mp4v"), 5, (_SIZE[0], 2 * _SIZE[1])
    )
    video.write(np.full((2 * _SIZE[1], _SIZE[0], 3), 90, np.uint8))
    video.release()
    return keyframe


def _points_tiff() -> bytes:
    return cv2.imencode(".tiff", np.full((*_SIZE[::-1], 3), 80, np.float32))[1].tobytes()


def _tar(name: str, content: bytes) -> bytes:
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _scared(pack: Callable[[bytes], bytes]) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        keyframe = _scared_files(folder)
        _written(keyframe, "data/frame_data.tar.gz", pack(content))
        points = gzip.compress(_tar("scene_points000000.tiff", _points_tiff()), 1)
        _written(keyframe, "data/scene_points.tar.gz", points)
        open_dataset(folder, frames="sequences")[0].read()

    return read


def _scared_points(folder: Path, content: bytes) -> None:
    keyframe = _scared_files(folder)
    _written(keyframe, "left_depth_map.tiff", content)
    open_dataset(folder)[0].read()


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
    "size = [", "sigma_scale = ", "left_matrix", "right_matrix", "rotation", "translation_mm", "fisheye", "true", "nan",
    "inf", "1e400", "[[", "]]", '"""', "1979-05-27", "left_distortion", "right_distortion",
)  # fmt: skip
_NPY_WORDS = ("\\x93NUMPY", "'descr': ", "'<f4'", "'|O'", "'fortran_order': ", "'shape': (", "True", "disparity.npy")
_MAT_WORDS = ("MATLAB 5.0 MAT-file", "MATLAB 7.3 MAT-file", "IM", "CameraParameters1", "CameraParameters2", "K",
              "IntrinsicMatrix", "RotationOfCamera2", "TranslationOfCamera2", "PoseCamera2", "ImageSize")  # fmt: skip
_MANIFEST_WORDS = (
    '"format"',
    '"bdis-recording"',
    '"run"',
    '"calibration"',
    '"parts"',
    '"state"',
    '"frames"',
    "[{",
    "NaN",
)

_PNG_WORDS = ("IHDR", "IDAT", "PLTE", "tRNS", "IEND", "iCCP", "tEXt", "acTL")
_FRAME_WORDS = ('"camera-calibration"', '"KL"', '"KR"', '"DL"', '"DR"', '"R"', '"T"', "NaN", "1e999")


def _igtl_message(folder: Path, content: bytes) -> object:
    header = parse_header(content[:HEADER_BYTES].ljust(HEADER_BYTES, b"\0"))
    assert header.body_bytes <= MAX_BODY_BYTES
    return parse_image(header, content[HEADER_BYTES : HEADER_BYTES + header.body_bytes])


READERS: dict[str, Reader] = {
    "calibration": Reader(_calibration, words=_CALIBRATION_WORDS),
    "calibration_pair": Reader(_calibration_with_right, words=_CALIBRATION_WORDS),
    "calibration_toml": Reader(_calibration_toml, words=_TOML_WORDS),
    "calibration_npz": Reader(_calibration_of_ending("stereo.npz"), words=(*_NPY_WORDS, "K1.npy", "mtxL.npy", "T.npy")),
    "calibration_mat": Reader(_calibration_of_ending("stereo.mat"), (ValueError, OSError, ImportError), _MAT_WORDS),
    "poses": Reader(_poses, words=("0 0 0 0 0 0 0 1", "# ", "nan", "1e999", "1 0 0 0")),
    "bag_ros1": Reader(_bag("a.bag"), words=("#ROSBAG V2.0", "op=", "conn=", "compression=", "index_pos=", "size=")),
    "bag_mcap": Reader(_bag("a.mcap"), words=("MCAP0", "cdr", "ros1", "ros2msg", "zstd", "lz4")),
    "bag_sqlite": Reader(_bag("a.db3"), words=("SQLite format 3", "messages", "topics", "cdr")),
    "ros_message": Reader(_ros_message, words=("mono8", "bgr8", "bayer_rggb8", "plumb_bob", "jpeg")),
    "image": Reader(_image, words=(*_PNG_WORDS, "II*\\x00", "P6\\x0a")),
    "map_tiff": Reader(_map("map.tiff")),
    "map_pfm": Reader(_map("map.pfm"), words=("Pf", "PF", "-1.0", "1e999")),
    "map_npy": Reader(_map("map.npy"), words=_NPY_WORDS),
    "map_png": Reader(_map("map.png"), words=_PNG_WORDS),
    "map_npz": Reader(_map("map.npz"), words=(*_NPY_WORDS, "PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06")),
    "result": Reader(_result, words=(*_NPY_WORDS, "PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06")),
    "result_array": Reader(_result_array, words=_NPY_WORDS),
    "sample": Reader(_sample, words=(*_NPY_WORDS, "PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06")),
    "ply": Reader(_ply, words=("ply", "format ", "binary_little_endian 1.0", "element vertex ", "property float ",
                               "property uchar ", "end_header", "red", "sigma")),
    "igtl_message": Reader(_igtl_message, (ValueError,), ("\\x00\\x01IMAGE", "\\x00\\x02IMAGE", "TRANSFORM")),
    "settings": Reader(_settings, (ValueError, TypeError), tuple(Settings.__dataclass_fields__)),
    "scene_address": Reader(_scene_address, words=("plane", "colon", ",frames=", ",height=", ",seed=", ",noise_seed=",
                                                   ",disparity_px=", ",fps=", ",distinct=", "none", "nan", "1e400")),
    "manifest": Reader(_manifest, words=_MANIFEST_WORDS),
    "frame_log": Reader(_frame_log, words=("index,time_s,", "nan", "1e999", "-1", "suspect")),
    "run_log": Reader(_run_log, (OSError,), ('{"key": "frame 1", "value": ', '"key"', '"value"')),
    "depth_video": Reader(_depth_video, words=("BDIS_STEPS_PER_MM", "V_FFV1")),
    "rendered": Reader(_rendered, words=('"format": "bdis-rendered"', '"scene"', '"frames"', '"max_disparity_px"')),
    "kitti": Reader(_kitti, words=("P_rect_02: ", "P_rect_03: ", "nan", "inf")),
    "middlebury": Reader(_middlebury, words=("cam0=[", "cam1=[", "doffs=", "baseline=", "width=", "height=", "ndisp=")),
    "scared_archive": Reader(_scared(lambda content: gzip.compress(content, 1)), words=("frame_data000000.json",)),
    "scared_gzip": Reader(_scared(lambda content: content)),
    "scared_frame": Reader(_scared(lambda content: gzip.compress(_tar("frame_data000000.json", content), 1)),
                           words=_FRAME_WORDS),
    "scared_points": Reader(_scared_points),
}  # fmt: skip
