"""How the tests look at what ``bdis run`` leaves."""

import json
import subprocess
import time

import pytest

import bdis
from bdis.video.recording import read_depth_video, read_frame_log
from tests.cli.commands import COMMAND

av = pytest.importorskip("av")
SMALL = "render:plane,frames=12,height=64,width=96"
ENDLESS = "render:plane,frames=1000000,distinct=3,height=64,width=96"
FAST = ["--preset", "fast"]


def start(*arguments, **options):
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def finished(*arguments, **options):
    process = start(*arguments, **options)
    out, said = process.communicate(timeout=120)
    return process.returncode, out, said


def frames_in(video, is_killed=False):
    """The pictures; a killed process may leave a part of one more."""
    pictures = []
    with av.open(str(video)) as container:
        try:
            for frame in container.decode(video=0):
                pictures.append(frame.to_ndarray(format="rgb24"))
        except av.InvalidDataError:
            if not is_killed:
                raise
    return pictures


def indices(folder):
    return [record.index for record in read_frame_log(folder / "frames.csv")]


def wait_for_frames(folder, count):
    end = time.monotonic() + 90
    while time.monotonic() < end:
        if (folder / "frames.csv").exists() and len(indices(folder)) >= count:
            return
        time.sleep(0.01)
    raise AssertionError(f"no {count} frames")


def check_readable(folder, least=1, is_killed=False):
    """Every output has every frame of the journal, which has no gap."""
    done = indices(folder)
    assert done == list(range(len(done)))
    assert len(done) >= least
    assert [index for index, _, _ in read_depth_video(folder / "depth.mkv")] == done
    assert len(done) <= len(frames_in(folder / "preview.mp4", is_killed)) <= len(done) + 1
    for record in read_frame_log(folder / "frames.csv"):
        if (folder / "depth").exists():
            assert bdis.read_depth(folder / "depth" / f"{record.index:06d}.tiff").shape == (64, 96)
    json.loads((folder / "manifest.json").read_text())
    return len(done)


class Stop(Exception):
    pass


def stop_after(monkeypatch, frames):
    """Let the next run end with an error after so many frames."""
    from bdis.video.recording import Recording

    add, count = Recording.add, [0]

    def counted(self, frame):
        if count[0] == frames:
            raise Stop("enough")
        count[0] += 1
        add(self, frame)

    monkeypatch.setattr(Recording, "add", counted)


def contents(folder):
    """All results of a recording: what depends on the clock of the machine is left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("frames.csv", "manifest.json")
    }
