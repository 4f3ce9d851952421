"""Calibration files that were made to do harm: to take forever, to fill the memory, to steer the terminal."""

import time

import numpy as np
import pytest

import bdis
from bdis.cameras.formats import read_calibration
from bdis.cameras.formats.ros import camera_info_pair

N = 100_000  # characters
SECONDS = 3.0  # on a busy machine; alone, each takes at most 0.3 s. Before, 40 kB of the worst took 5 to 24 s
RIG = 'format = "bdis-rig"\nfocal_px = 500\ncx = 320\ncy = 240\nbaseline_mm = 5\n'

SLOW = {
    "blank lines": "a: 1\n" + "\n" * N,
    "blank lines before a word": "\n" * N + "x",
    "comments that never end": "<!--" * (N // 4),
    "comments in XML that never end": "<opencv_storage>" + "<!--" * (N // 4),
    "a name and spaces": "name" + " " * N + "x",
    "spaces in a value": "cam0=[1\na=x" + " " * N + "x",
    "escaped quotes": '["' + '\\"' * (N // 2) + "]",
    "digits and a letter": "a: " + "1" * N + "x",
    "a list over many lines": "a: [" + "\n1," * (N // 3) + "]",
    "brackets that never close": "a: " + "[" * N,
    "quotes of both kinds": "a: [" + "\"'" * (N // 2) + "]",
    "nested XML": "<a>" * (N // 3),
    "many names": "".join(f"a{number}: 1\n" for number in range(N // 8)),
}


@pytest.mark.parametrize("kind", SLOW)
def test_a_calibration_of_100_kb_takes_no_time(kind, tmp_path):
    path = tmp_path / "left.yaml"
    path.write_text(SLOW[kind])
    began = time.perf_counter()
    with pytest.raises(ValueError, match="left.yaml: "):
        read_calibration(path)
    assert time.perf_counter() - began < SECONDS


@pytest.mark.parametrize("name", ["a = " + "[" * 5000, "a" + ".a" * 50_000 + " = 1", RIG + "# " + "x" * N])
def test_toml_that_is_nested_or_long_is_refused_at_once(name, tmp_path):
    path = tmp_path / "rig.toml"
    path.write_text(name)
    began = time.perf_counter()
    with pytest.raises(ValueError, match="rig.toml: .*(nested|characters)"):
        read_calibration(path)
    assert time.perf_counter() - began < SECONDS


def test_a_calibration_file_of_megabytes_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "left.yaml"
    with open(path, "wb") as file:
        file.truncate(50 * 2**30)  # takes no space on the disk
    with pytest.raises(ValueError, match="left.yaml has more than 1 MB, the most that such a file may have"):
        read_calibration(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RIG.replace("= 500", '= "500"'), "focal_px must be a finite number, but it is '500'"),
        (RIG.replace("= 500", "= " + "9" * 400), "focal_px must be a finite number, but it is 9999"),
        (RIG.replace("= 500", "= true"), "focal_px must be a finite number, but it is True"),
        (RIG + "size = 640\n", "size must be .width, height. in px, but it is 640"),
        (RIG + "size = [inf, 480]\n", "size must be"),
        (RIG + "size = [100000, 100000]\n", "size is 100000x100000; at most"),
        (RIG.replace('"bdis-rig"', '["bdis-rig"]'), "format is .'bdis-rig'.; expected"),
    ],
)
def test_values_of_the_wrong_kind_are_value_errors(text, words, tmp_path):
    (tmp_path / "rig.toml").write_text(text)
    with pytest.raises(ValueError, match=f"rig.toml: {words}"):
        bdis.Rig.load(tmp_path / "rig.toml")


@pytest.mark.parametrize("focal", [0.0, 1e-300, 5e-324])
def test_a_focal_length_of_hardly_anything_is_refused_without_an_overflow(focal):
    """Found by fuzzing bags: the baseline, which is divided by it, became infinite with a warning of NumPy."""
    projection = [[focal, 0, 320, 0], [0, focal, 240, 0], [0, 0, 1, 0]]
    left = {"k": np.eye(3), "d": np.zeros(5), "r": np.eye(3), "p": projection}
    right = {**left, "p": projection[0][:3] + [-5.0] + projection[1] + projection[2]}
    with pytest.raises(ValueError, match="a rectified camera has one, above 0"):
        camera_info_pair(left, right, 1000.0, "m")


@pytest.mark.parametrize("name", ["\x1f", "\x1c ", "\u2003", ""])
def test_a_name_of_nothing_but_blanks_is_refused(name, tmp_path):
    """Found by fuzzing pairs of files: Python takes some control characters for blanks, and nothing was left."""
    path = tmp_path / "left.yaml"
    path.write_text(f"{name}: 1\nQ: [1, 2]\n", encoding="utf-8")
    with pytest.raises(ValueError, match="left.yaml"):
        read_calibration(path)


def test_a_name_twice_is_refused(tmp_path):
    """Which of them is meant?  Two messages of a camera in one file used to become a mixture of both."""
    path = tmp_path / "rig.yaml"
    path.write_text("Q: [1, 2]\nT: 1\nQ: [3, 4]\n")
    with pytest.raises(ValueError, match="line 3 .*'Q' is there twice"):
        read_calibration(path)


def test_a_matrix_does_not_say_that_it_has_minus_one_rows(tmp_path):
    numbers = ", ".join(map(str, np.eye(4).ravel()))
    (tmp_path / "q.yaml").write_text(f"Q: {{rows: -1, cols: 4, data: [{numbers}]}}")
    with pytest.raises(ValueError, match="Q is not a matrix of numbers"):
        read_calibration(tmp_path / "q.yaml")


@pytest.mark.parametrize(
    "text",
    [
        RIG + '"\\u001b]0;title\\u0007" = 1\n',
        RIG.replace('"bdis-rig"', '"bdis-\\u001b[31m"'),
    ],
)
def test_text_of_a_calibration_file_does_not_steer_the_terminal(text, tmp_path):
    (tmp_path / "rig.toml").write_text(text)
    with pytest.raises(ValueError, match="rig.toml") as error:
        read_calibration(tmp_path / "rig.toml")
    assert str(error.value).isprintable()


def test_models_in_a_camchain_do_not_steer_the_terminal(tmp_path):
    camera = "  intrinsics: [1, 1, 1, 1]\n  resolution: [64, 48]\n  camera_model: \x1bc"
    (tmp_path / "camchain.yaml").write_text(f"cam0:\n{camera}\ncam1:\n{camera}\n")
    with pytest.raises(ValueError, match=r"camera model \\x1bc; expected pinhole") as error:
        read_calibration(tmp_path / "camchain.yaml")
    assert str(error.value).isprintable()
