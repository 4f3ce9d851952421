"""Commands in which one allocation or one write fails, and what they must leave then."""

import json
from pathlib import Path

import bdis
from bdis.cli.app import run
from bdis.evaluation.datasets import write_rendered
from bdis.video.recording import read_depth_video, read_frame_log, read_manifest
from bdis.video.recording.video_file import count_readable_frames
from tests.cli.failing import Failing

HEIGHT, WIDTH = 64, 96
FRAMES = 4
WAYS = [("allocations", False), ("writes", False), ("writes", True)]  # what fails, and whether all later ones do too
FULL = "No space left on device"


class Command:
    """A command line, and the checks of what it leaves when it fails; ``folder`` is where it may write."""

    def __init__(self, folder: Path, monkeypatch, capsys):
        self.folder, self._monkeypatch, self._capsys = folder, monkeypatch, capsys
        self.out = folder / "out"
        self.prepare()
        self.expected = None
        assert self.run_with(Failing(), "writes") == 0, self.said  # loads all kernels and packages
        self.expected = self.result()

    def count(self, way: str, forever: bool) -> int:
        """How many calls could fail."""
        self.begin()
        failing = Failing(forever=forever)
        assert self.run_with(failing, way) == 0, self.said
        return failing.calls

    def fail_at(self, number: int, way: str, forever: bool) -> None:
        """Let a call fail, and check what the command says and leaves, and that it works again afterwards."""
        self.begin()
        failing = Failing(number, forever)
        code = self.run_with(failing, way)
        said, where = self.said, f"{way}, call {number}: {self.said}"
        assert failing.has_failed, where
        assert "Traceback" not in said, where
        assert "Exception" not in said, where
        left = [path.name for path in self.folder.rglob(".*")]
        assert left == [], where
        if code == 0:
            self.check_finished(where)
            return
        assert code == 1, where
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, where
        assert ("not enough memory" if way == "allocations" else FULL) in errors[0], where
        self.check(where)

    def run_with(self, failing: Failing, way: str, *more: str) -> int:
        with getattr(failing, way)(self._monkeypatch):
            code = run([*self.arguments(), *more])
        self.said = self._capsys.readouterr().err
        return code

    # What differs between commands.

    def prepare(self) -> None:
        """Make what the command reads."""

    def arguments(self) -> list[str]:
        raise NotImplementedError

    def begin(self) -> None:
        """Restore the output folder to what it is before the command."""
        raise NotImplementedError

    def result(self) -> object:
        """What the command has written, as far as it is the same every time."""
        raise NotImplementedError

    def check(self, where: str) -> None:
        """Check what is left after a failure."""
        raise NotImplementedError

    def check_finished(self, where: str) -> None:
        """Check what is there if the failure did not matter."""
        assert self.result() == self.expected, where


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def clear(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


class Match(Command):
    """``bdis match`` into a folder that has an older result: that stays as it is."""

    old = {"depth.tiff": b"old", "result.npz": b"old", "notes.txt": b"a stranger's",
           "run.json": b'{"bdis": "0.1", "files": ["depth.tiff", "result.npz", "run.json"]}'}  # fmt: skip

    def prepare(self):
        write_rendered(self.folder / "scene", "tissue", 1, HEIGHT, WIDTH)

    def arguments(self):
        scene = self.folder / "scene"
        images = [str(scene / side / "000000.png") for side in ("left", "right")]
        return ["match", *images, "--calib", str(scene / "rig.toml"), "--format", "tiff,ply", "-o", str(self.out)]

    def begin(self):
        clear(self.out)
        for name, content in self.old.items():
            (self.out / name).write_bytes(content)

    def result(self):
        return {name: content for name, content in contents(self.out).items() if name not in ("run.json", "notes.txt")}

    def check(self, where):
        assert contents(self.out) == self.old, where


class Render(Command):
    """``bdis render``: nothing is left, not even the folder."""

    def arguments(self):
        return ["render", "plane", "--frames", "2", "--size", f"{WIDTH}x{HEIGHT}", "-o", str(self.out / "scene")]

    def begin(self):
        clear(self.folder)

    def result(self):
        return contents(self.out)

    def check(self, where):
        assert list(self.folder.iterdir()) == [], where


class Run(Command):
    """``bdis run``: frames in the log are complete, and ``--resume`` makes the same of the rest as one run."""

    def arguments(self):
        source = f"render:plane,frames={FRAMES},distinct={FRAMES},height={HEIGHT},width={WIDTH}"
        return ["run", source, "--preset", "fast", "--save", "depth,cloud,video,preview", "-o", str(self.out)]

    def begin(self):
        clear(self.folder)

    def result(self):
        assert read_manifest(self.out)["state"] == "complete"
        assert [record.index for record in read_frame_log(self.out / "frames.csv")] == list(range(FRAMES))
        assert count_readable_frames(self.out / "preview.mp4") == FRAMES
        changing = ("manifest.json", "frames.csv", "preview.mp4")  # times, and a video that was joined
        return {name: content for name, content in contents(self.out).items() if name not in changing} | {
            "depth.mkv": [depth.tobytes() for _, _, depth in read_depth_video(self.out / "depth.mkv")]
        }

    def check(self, where):
        log = self.out / "frames.csv"
        done = len(read_frame_log(log)) if log.exists() else 0
        for index in range(done):
            assert bdis.read_depth(self.out / "depth" / f"{index:06d}.tiff").shape == (HEIGHT, WIDTH), where
            assert len(bdis.read_ply(self.out / "cloud" / f"{index:06d}.ply")), where
        if done:
            assert count_readable_frames(self.out / "depth.mkv") >= done, where
            assert count_readable_frames(self.out / "preview.mp4") >= done, where
        is_begun = (self.out / "manifest.json").exists()
        if is_begun:
            json.loads((self.out / "manifest.json").read_text())
        assert self.run_with(Failing(), "writes", *(["--resume"] if is_begun else [])) == 0, f"{where}\n{self.said}"
        assert self.result() == self.expected, where


class Bench(Command):
    """``bdis bench``: the same command goes on and has the same numbers."""

    def arguments(self):
        data = f"render:plane,frames=2,height={HEIGHT},width={WIDTH}"
        return ["bench", data, "--methods", "bdis-fast", "--rounds", "0", "--jobs", "1", "-o", str(self.out)]

    def begin(self):
        clear(self.folder)

    def result(self):
        return {name: content for name, content in contents(self.out).items() if name in ("summary.csv", "frames.csv")}

    def check(self, where):
        assert self.run_with(Failing(), "writes") == 0, f"{where}\n{self.said}"
        assert self.result() == self.expected, where

    def check_finished(self, where):
        """A method that fails on a frame is told, and the others go on; the same command repeats that frame."""
        if self.result() != self.expected:
            assert b"MemoryError" in self.result()["frames.csv"], where
            assert "warning: bdis-fast failed on 1 of 2 frames" in where
            self.check(where)


COMMANDS = {"match": Match, "render": Render, "run": Run, "bench": Bench}
