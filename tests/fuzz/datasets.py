"""Readers of data sets."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

import bdis
from bdis.evaluation.datasets import open_dataset
from tests.fuzz.contents import SIZE, Reader, written

_FRAME_WORDS = ('"camera-calibration"', '"KL"', '"KR"', '"DL"', '"DR"', '"R"', '"T"', "NaN", "1e999")


def _grey_png() -> bytes:
    return cv2.imencode(".png", np.full(SIZE[::-1], 90, np.uint8))[1].tobytes()


def _rendered(folder: Path, content: bytes) -> None:
    written(folder, "scene.json", content)
    written(folder, "rig.toml", b'format = "bdis-rig"\nfocal_px = 50\ncx = 31\ncy = 23\nbaseline_mm = 5\n')
    for side in ("left", "right", "occluded"):
        written(folder, f"{side}/000000.png", _grey_png())
    for kind in ("depth", "disparity"):
        bdis.write_depth(written(folder, f"{kind}/000000.tiff", b""), np.full(SIZE[::-1], 9, np.float32))
    open_dataset(folder, "rendered")[0].read()


def _kitti(folder: Path, content: bytes) -> None:
    written(folder, "calib_cam_to_cam/000000.txt", content)
    for side in ("image_2", "image_3"):
        written(folder, f"{side}/000000_10.png", _grey_png())
    open_dataset(folder)[0].read()


def _middlebury(folder: Path, content: bytes) -> None:
    written(folder, "calib.txt", content)
    for name in ("im0.png", "im1.png"):
        written(folder, name, _grey_png())
    open_dataset(folder)[0].read()


def _scared_files(folder: Path) -> Path:
    keyframe = folder / "dataset_1" / "keyframe_1"
    for name in ("Left_Image.png", "Right_Image.png"):
        written(keyframe, name, _grey_png())
    matrix = "{rows: 3, cols: 3, data: [50, 0, 31, 0, 50, 23, 0, 0, 1]}"
    rotation = "{rows: 3, cols: 3, data: [1, 0, 0, 0, 1, 0, 0, 0, 1]}"
    calibration = f"M1: {matrix}\nM2: {matrix}\nR: {rotation}\nT: {{rows: 3, cols: 1, data: [-5, 0, 0]}}\n"
    calibration += "D1: {rows: 1, cols: 5, data: [0, 0, 0, 0, 0]}\nD2: {rows: 1, cols: 5, data: [0, 0, 0, 0, 0]}\n"
    written(keyframe, "endoscope_calibration.yaml", calibration.encode())
    written(keyframe, "data/rgb.mp4", b"")
    video = cv2.VideoWriter(
        str(keyframe / "data" / "rgb.mp4"), cv2.VideoWriter.fourcc(*"mp4v"), 5, (SIZE[0], 2 * SIZE[1])
    )
    video.write(np.full((2 * SIZE[1], SIZE[0], 3), 90, np.uint8))
    video.release()
    return keyframe


def _points_tiff() -> bytes:
    return cv2.imencode(".tiff", np.full((*SIZE[::-1], 3), 80, np.float32))[1].tobytes()


def _tar(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _scared(pack: Callable[[bytes], bytes]) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        keyframe = _scared_files(folder)
        written(keyframe, "data/frame_data.tar.gz", pack(content))
        points = gzip.compress(_tar("scene_points000000.tiff", _points_tiff()), 1)
        written(keyframe, "data/scene_points.tar.gz", points)
        open_dataset(folder, frames="sequences")[0].read()

    return read


def _scared_points(folder: Path, content: bytes) -> None:
    keyframe = _scared_files(folder)
    written(keyframe, "left_depth_map.tiff", content)
    open_dataset(folder)[0].read()


DATASETS: dict[str, Reader] = {
    "rendered": Reader(_rendered, words=('"format": "bdis-rendered"', '"scene"', '"frames"', '"max_disparity_px"')),
    "kitti": Reader(_kitti, words=("P_rect_02: ", "P_rect_03: ", "nan", "inf")),
    "middlebury": Reader(_middlebury, words=("cam0=[", "cam1=[", "doffs=", "baseline=", "width=", "height=", "ndisp=")),
    "scared_archive": Reader(_scared(lambda content: gzip.compress(content, 1)), words=("frame_data000000.json",)),
    "scared_gzip": Reader(_scared(lambda content: content)),
    "scared_frame": Reader(_scared(lambda content: gzip.compress(_tar("frame_data000000.json", content), 1)),
                           words=_FRAME_WORDS),
    "scared_points": Reader(_scared_points),
}  # fmt: skip
