"""Files that others wrote: what is no file must not keep a program waiting for ever."""

import os
import subprocess
import threading
import time

import pytest

import bdis
from bdis.cli.app import run
from bdis.common import reading
from bdis.common.reading import read_limited
from tests.cli.commands import COMMAND, fails

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes in folders")


@pytest.fixture
def fifo(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PIPE_WAIT_S", 0.3)
    os.mkfifo(tmp_path / "pipe.png")
    return tmp_path / "pipe.png"


@needs_pipes
def test_a_pipe_that_nobody_writes_to_blocked_for_ever(fifo):
    with pytest.raises(OSError, match=r"nobody has written to this pipe for 0.3 s; .*: '.*pipe.png'"):
        read_limited(fifo, 100)


@needs_pipes
def test_a_pipe_as_image_calibration_or_file_of_an_earlier_run_is_an_error(fifo, scene_pair, tmp_path, capsys):
    left, right = scene_pair
    words = "nobody has written to this pipe"
    fails(capsys, ["match", fifo, right, "-o", tmp_path / "o"], 1, words)
    fails(capsys, ["match", left, right, "--calib", fifo, "-o", tmp_path / "o"], 1, words)
    (tmp_path / "old").mkdir()
    os.mkfifo(tmp_path / "old" / "manifest.json")
    fails(capsys, ["run", "render:plane", "--resume", "-o", tmp_path / "old"], 1, words)


@needs_pipes
def test_what_comes_through_a_pipe_in_parts_is_read_to_its_end(fifo):
    def write():
        with open(fifo, "wb", buffering=0) as file:
            for part in (b"one ", b"two ", bytes(200_000)):
                file.write(part)
                time.sleep(0.1)

    writer = threading.Thread(target=write)
    writer.start()
    assert read_limited(fifo, 2**20) == b"one two " + bytes(200_000)
    writer.join()
    writer = threading.Thread(target=lambda: fifo.write_bytes(b"12345"))
    writer.start()
    with pytest.raises(ValueError, match="more than 4 bytes"):
        read_limited(fifo, 4)
    writer.join()


@needs_pipes
def test_an_image_may_come_from_a_command(scene_pair, tmp_path):
    left, right = scene_pair
    command = " ".join(f"'{part}'" for part in COMMAND)
    line = f"{command} match <(sleep 0.5; cat '{left}') '{right}' --format npy -o '{tmp_path / 'out'}'"
    subprocess.run(["bash", "-c", line], check=True, capture_output=True, timeout=120)
    assert (tmp_path / "out" / "disparity.npy").exists()
    assert run(["match", str(left), str(right), "--format", "npy", "-o", str(tmp_path / "other")]) == 0
    assert (tmp_path / "out" / "disparity.npy").read_bytes() == (tmp_path / "other" / "disparity.npy").read_bytes()


@pytest.fixture
def scene_pair(tmp_path):
    pair = bdis.synthetic.render("plane", 48, 64)
    for side in ("left", "right"):
        bdis.write_image(tmp_path / f"{side}.png", getattr(pair, side))
    return tmp_path / "left.png", tmp_path / "right.png"
