"""The examples run as a user would run them, and write what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = (
    "pair", "raw_cameras", "video", "uncertainty", "compare_methods", "other_matchers", "slicer", "foxglove_live",
    "pipe", "export", "calibrate", "bag", "notebook",
    "presets", "rows", "measure", "own_rig",
)  # fmt: skip


def test_all_examples_are_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_example_runs_and_writes_its_files(name, tmp_path):
    for package in ("cv2", "matplotlib", "av", "foxglove", "rosbags"):
        pytest.importorskip(package)
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), str(tmp_path / "out")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    ((folder, files),) = re.findall(r"^written to (.*): (.*)$", done.stdout, re.MULTILINE)
    for file in files.split(", "):
        assert (Path(folder) / file).stat().st_size > 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", NAMES)
def test_example_is_short_and_says_what_it_does(name):
    text = (EXAMPLES / f"{name}.py").read_text()
    assert len([line for line in text.splitlines() if line and not line.startswith("#")]) <= 40
    assert text.startswith('"""')
    assert f"python examples/{name}.py [FOLDER]" in text
