"""A rendered pair that the tests of the commands share."""

import numpy as np
import pytest

import bdis
from bdis.synthetic.renderer import render
from tests.cli.commands import HEIGHT, WIDTH


@pytest.fixture(scope="module")
def scene():
    return render("tissue", HEIGHT, WIDTH, seed=2)


@pytest.fixture(scope="module")
def folder(scene, tmp_path_factory):
    """left.png, right.png and rig.toml of a rendered scene; tests do not change it."""
    folder = tmp_path_factory.mktemp("pair")
    bdis.write_image(folder / "left.png", scene.left)
    bdis.write_image(folder / "right.png", scene.right)
    rig = bdis.Rig(scene.focal_px, (WIDTH - 1) / 2, (HEIGHT - 1) / 2, scene.baseline_mm, size=(WIDTH, HEIGHT))
    rig.save(folder / "rig.toml")
    return folder


@pytest.fixture
def pair(folder):
    return [str(folder / "left.png"), str(folder / "right.png")]


@pytest.fixture
def calib(folder):
    return ["--calib", str(folder / "rig.toml")]


@pytest.fixture(scope="module")
def raw(scene, tmp_path_factory):
    """The scene as a right camera that is turned a little would see it: left.png, right.png and their calibration."""
    cv2 = pytest.importorskip("cv2")
    folder = tmp_path_factory.mktemp("raw")
    k = np.array([[scene.focal_px, 0, 159.5], [0, scene.focal_px, 119.5], [0, 0, 1]])
    turn, _ = cv2.Rodrigues(np.array([0.02, 0.01, 0.03]))
    turned = cv2.warpPerspective(scene.right, k @ turn @ np.linalg.inv(k), (WIDTH, HEIGHT))
    bdis.write_image(folder / "left.png", scene.left)
    bdis.write_image(folder / "right.png", turned)
    storage = cv2.FileStorage(str(folder / "endoscope_calibration.yaml"), cv2.FILE_STORAGE_WRITE)
    shift = turn @ np.array([[-scene.baseline_mm], [0], [0]])
    for name, value in {"M1": k, "D1": np.zeros(5), "M2": k, "D2": np.zeros(5), "R": turn, "T": shift}.items():
        storage.write(name, value)
    storage.release()
    return folder


@pytest.fixture
def raw_arguments(raw):
    return [str(raw / "left.png"), str(raw / "right.png"), "--calib", str(raw / "endoscope_calibration.yaml")]
