"""Whoever copies the commands of the README and of the first pages, in their order, gets what they promise."""

import re
import shlex
from pathlib import Path

import cv2
import numpy as np
import pytest

import bdis
from bdis.synthetic import render

pytest.importorskip("typer")
from bdis.cli.app import run
from bdis.viewer import Viewer

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md", "docs/index.md", "docs/installation.md", "docs/start/first_pair.md", "docs/start/own_camera.md",
    "docs/start/own_video.md", "docs/start/from_opencv.md", "docs/start/from_ros.md",
]  # fmt: skip
HEIGHT, WIDTH, FOCAL_PX, BASELINE_MM = 240, 320, 420.0, 5.0
CAMERA = np.array([[FOCAL_PX, 0, (WIDTH - 1) / 2], [0, FOCAL_PX, (HEIGHT - 1) / 2], [0, 0, 1]])
BOARD_MM = 5.0  # a square of the board in docs/start/own_camera.md


def commands(page):
    """Lines of a page that begin with ``bdis``, in blocks of code; and benchmarks, which stand in the text."""
    found = re.findall(
        r"^    (bdis .*)$|^```console\n(.*)\n```|`(bdis bench .*?)`", (ROOT / page).read_text(), re.MULTILINE
    )
    return ["".join(line).partition("  #")[0].strip() for line in found]


@pytest.fixture(scope="module")
def own_files(tmp_path_factory):
    """The files that the pages name, as a reader would have them."""
    folder = tmp_path_factory.mktemp("own")
    pair = render("tissue", HEIGHT, WIDTH, seed=3, focal_px=FOCAL_PX, baseline_mm=BASELINE_MM)
    cameras = bdis.StereoCalibration(
        left_matrix=CAMERA, left_distortion=[0.0] * 5, right_matrix=CAMERA, right_distortion=[0.0] * 5,
        rotation=np.eye(3), translation_mm=[-BASELINE_MM, 0, 0], size=(WIDTH, HEIGHT),
    )  # fmt: skip
    bdis.write_image(folder / "left.png", pair.left)
    bdis.write_image(folder / "right.png", pair.right)
    cameras.save(folder / "endoscope.toml")
    for name, kind in (("calibration.yaml", "opencv"), ("left.yaml", "ros")):
        assert run(["calib", "convert", str(folder / "endoscope.toml"), str(folder / name), "--to", kind]) == 0
    write_boards(folder / "boards")
    write_video(folder / "surgery.mp4", np.hstack([pair.left, pair.right]))
    assert run(["render", "tissue", "-o", str(folder / "my-frames"), "--size", "96x64"]) == 0
    return folder


def write_boards(folder):
    """A checkerboard that the two cameras see from twelve sides."""
    squares = np.kron(np.indices((7, 10)).sum(0) % 2, np.ones((40, 40))) * 230
    texture = np.pad(squares, 40, constant_values=230).astype(np.uint8)
    to_mm = np.array([[BOARD_MM / 40, 0, 0], [0, BOARD_MM / 40, 0], [0, 0, 1]])
    for number in range(12):
        turn, _ = cv2.Rodrigues(np.array([0.5 * np.cos(number), 0.5 * np.sin(number), 0.1]))
        for side, camera_x in (("left", 0.0), ("right", BASELINE_MM)):
            move = np.array([8 * np.sin(number) - camera_x, 5 * np.cos(number), 120]) - turn @ [30, 22.5, 0]
            homography = CAMERA @ np.column_stack([turn[:, 0], turn[:, 1], move]) @ to_mm
            seen = cv2.warpPerspective(texture, homography, (WIDTH, HEIGHT), flags=cv2.INTER_AREA, borderValue=110)
            (folder / side).mkdir(parents=True, exist_ok=True)
            bdis.write_image(folder / side / f"{number:02}.png", seen)


def write_video(path, picture, frames=3):
    """Both views side by side, standing still."""
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.height, stream.width = picture.shape[:2]
        stream.pix_fmt = "yuv444p"
        stream.options = {"crf": "5"}
        for _ in range(frames):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode())


@pytest.mark.parametrize("page", PAGES)
def test_commands_run_in_the_order_of_the_page(page, own_files, tmp_path, monkeypatch, capsys):
    found = commands(page)
    assert found
    for file in own_files.iterdir():
        if f"-o {file.name}" not in " ".join(found):  # what the page itself makes is not there yet
            (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Viewer, "serve", lambda viewer: viewer.wait_for_frame(60))
    for line in found:
        here = line.replace("view 0 ", "view surgery.mp4 ")  # there is no camera here
        here = here.replace("render:colon", "render:colon,height=120,width=160")  # in a moment
        words = shlex.split(here)[1:]
        if words[0] == "view":
            words += ["--no-browser", "--port", "0"]
        assert run(words) == 0, f"{line}\n{capsys.readouterr().err}"
