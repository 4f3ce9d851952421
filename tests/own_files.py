"""The files that pages name, as a reader would have them: small, rendered, and consistent with each other."""

import cv2
import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from bdis.synthetic import render
from tests.cameras import rendered_boards
from tests.cameras.test_other_tools import davinci_text, stereo_parameters, write_mat
from tests.connections.bags import stereo, write_mcap, write_ros1, write_ros2
from tests.evaluation import test_datasets as layouts

HEIGHT, WIDTH, FOCAL_PX, BASELINE_MM = 240, 320, 420.0, 5.0
CAMERA = np.array([[FOCAL_PX, 0, (WIDTH - 1) / 2], [0, FOCAL_PX, (HEIGHT - 1) / 2], [0, 0, 1]])
BOARD_MM = 5.0  # a square of the checkerboard


def write_own_files(folder):
    """All of them."""
    pair = render("tissue", HEIGHT, WIDTH, seed=3, focal_px=FOCAL_PX, baseline_mm=BASELINE_MM)
    write_pair(folder, pair)
    write_calibrations(folder)
    write_boards(folder)
    write_videos(folder, pair)
    write_bags(folder)
    write_datasets(folder)
    (folder / "groundtruth.txt").write_text("".join(f"{time / 25} 0 0 {time} 0 0 0 1\n" for time in range(3)))


def write_pair(folder, pair):
    """Images, a mask, and disparities of another matcher in the three ways that pages name."""
    bdis.write_image(folder / "left.png", pair.left)
    bdis.write_image(folder / "right.png", pair.right)
    bdis.write_image(folder / "both.png", np.hstack([pair.left, pair.right]))
    bdis.write_image(folder / "mask.png", np.full((HEIGHT, WIDTH), 255, np.uint8))
    disparity = pair.full_disparity.astype(np.float32)
    disparity[:, :20] = -1
    bdis.write_disparity(folder / "disparity.tiff", disparity)
    disparity[:, :20] = np.nan
    bdis.write_disparity(folder / "disparity.pfm", disparity)
    bdis.write_image(folder / "disparity.png", np.rint(256 * np.nan_to_num(disparity)).astype(np.uint16))


def write_calibrations(folder):
    """Of the cameras that saw the pair, and of others in formats that are only converted."""
    cameras = bdis.StereoCalibration(
        left_matrix=CAMERA, left_distortion=[0.0] * 5, right_matrix=CAMERA, right_distortion=[0.0] * 5,
        rotation=np.eye(3), translation_mm=[-BASELINE_MM, 0, 0], size=(WIDTH, HEIGHT),
    )  # fmt: skip
    cameras.save(folder / "endoscope.toml")
    cameras.rectify().rig.save(folder / "rig.toml")
    kinds = {"left.yaml": "ros", **dict.fromkeys(("calibration.yaml", "endoscope.yaml", "shared-rig.yaml"), "opencv")}
    for name, kind in kinds.items():
        assert run(["calib", "convert", str(folder / "endoscope.toml"), str(folder / name), "--to", kind]) == 0
    (folder / "StereoCalibration.ini").write_text(davinci_text())
    values = stereo_parameters()
    for side in ("CameraParameters1", "CameraParameters2"):
        values[side]["RadialDistortion"] = values[side]["RadialDistortion"][:2]  # MATLAB's default: two coefficients
    write_mat(folder / "stereo.mat", values)


def write_boards(folder):
    """A checkerboard that the two cameras see from twelve sides, and a ChArUco board."""
    squares = np.kron(np.indices((7, 10)).sum(0) % 2, np.ones((40, 40))) * 230
    texture = np.pad(squares, 40, constant_values=230).astype(np.uint8)
    to_mm = np.array([[BOARD_MM / 40, 0, 0], [0, BOARD_MM / 40, 0], [0, 0, 1]])
    for number in range(12):
        turn, _ = cv2.Rodrigues(np.array([0.5 * np.cos(number), 0.5 * np.sin(number), 0.1]))
        for side, camera_x in (("left", 0.0), ("right", BASELINE_MM)):
            move = np.array([8 * np.sin(number) - camera_x, 5 * np.cos(number), 120]) - turn @ [30, 22.5, 0]
            homography = CAMERA @ np.column_stack([turn[:, 0], turn[:, 1], move]) @ to_mm
            seen = cv2.warpPerspective(texture, homography, (WIDTH, HEIGHT), flags=cv2.INTER_AREA, borderValue=110)
            layouts.write(folder / "boards" / side / f"{number:02}.png", seen)
            layouts.write(folder / f"{side}-boards" / f"{number:02}.png", seen)
    views = [(*turned, 0.9 * x, 0.9 * y, 2 * z) for *turned, x, y, z in rendered_boards.VIEWS]
    pairs = rendered_boards.rendered(8, 11, 6.0, views, marker_mm=4.5, dictionary=cv2.aruco.DICT_5X5_100)
    for number, pictures in enumerate(pairs):
        for side, picture in zip(("left", "right"), pictures):
            layouts.write(folder / "charuco-boards" / side / f"{number:02}.png", picture)


def write_videos(folder, pair):
    """Both views side by side; and two videos that are long enough for a part from 1:30 on, of few and small frames."""
    write_video(folder / "surgery.mp4", np.hstack([pair.left, pair.right]), frames=3, fps=25)
    for name in ("surgeries", "shared-surgeries"):
        (folder / name).mkdir()
        (folder / name / "first.mp4").symlink_to(folder / "surgery.mp4")
    for side in ("left", "right"):
        write_video(folder / f"{side}.mp4", getattr(pair, side), frames=125, fps=1)


def write_video(path, picture, frames, fps):
    """A picture that stands still."""
    av = pytest.importorskip("av")
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=fps)
        stream.height, stream.width = picture.shape[:2]
        stream.pix_fmt = "yuv444p"
        stream.options = {"crf": "5"}
        for _ in range(frames):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode())


def write_bags(folder):
    """Recordings of ROS 1 and 2."""
    if pytest.importorskip("rosbags"):
        write_ros1(folder / "recording.bag", stereo())
        write_mcap(folder / "recording.mcap", stereo())
        raw = stereo(left="/scope/left/image_raw", right="/scope/right/image_raw")
        write_ros2(folder / "recording_folder", raw, "SQLITE3")


def write_datasets(folder):
    """Frames with a reference."""
    for name, seed in (("my-frames", "0"), ("other-frames", "9")):
        frames = ["--frames", "3", "--seed", seed, "--size", f"{WIDTH}x{HEIGHT}"]  # of the cameras of the pair
        assert run(["render", "tissue", "-o", str(folder / name), *frames]) == 0
    scene = render("instruments", layouts.HEIGHT, layouts.WIDTH, seed=3, noise=0.0)
    layouts.write_servct(folder / "data" / "SERV-CT", scene, 1, 1)
    hamlyn = folder / "data" / "rectified01"
    for name, image in (("image01", scene.left), ("image02", scene.right)):
        layouts.write(hamlyn / name / "0000000007.jpg", image)
    layouts.write(hamlyn / "depth01" / "0000000007.png", np.rint(scene.depth_mm).astype(np.uint16))
    rows = f"{scene.focal_px} 0 {scene.cx} 0\n0 {scene.focal_px} {scene.cy} 0\n0 0 1 0\n"
    (hamlyn / "intrinsics.txt").write_text(rows)
