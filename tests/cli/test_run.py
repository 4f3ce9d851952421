"""``bdis run`` as a user runs it: what it leaves when it ends well, is interrupted, killed, or has no room."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from bdis.synthetic.renderer import render
from bdis.video.recording import read_depth_video, read_frame_log, read_manifest, recording
from tests.video.videos import write_video

av = pytest.importorskip("av")
COMMAND = [sys.executable, "-c", "from bdis.cli import main; main()"]
SMALL = "render:plane,frames=12,height=64,width=96"
ENDLESS = "render:plane,frames=1000000,distinct=3,height=64,width=96"
FAST = ["--preset", "fast"]
needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="uses signals and limits of POSIX")


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


def fails(capsys, arguments, code, *words):
    assert run([str(argument) for argument in arguments]) == code
    said = capsys.readouterr().err
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, said
    assert "Traceback" not in said
    for word in words:
        assert word in errors[0]


# --- All goes well ----------------------------------------------------------------------------------------------------


def test_run_writes_videos_times_calibration_and_manifest(tmp_path):
    code, out, said = finished("run", SMALL, *FAST, "-o", tmp_path / "out")
    assert code == 0, said
    assert "warning" not in said
    assert "12 of 12 frames" in said
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "depth.mkv", "frames.csv", "manifest.json", "preview.mp4", "rig.toml",
    ]  # fmt: skip
    for words in ("frames/s", "latency", "known", "depth.mkv"):
        assert words in out
    assert check_readable(tmp_path / "out") == 12
    manifest = read_manifest(tmp_path / "out")
    assert (manifest["state"], manifest["frames"], manifest["reason"]) == ("complete", 12, None)
    assert manifest["run"]["settings"]["max_iterations"] == bdis.PRESETS["fast"].max_iterations
    assert manifest["run"]["settings"]["variance"] is False
    assert manifest["machine"]["numba"]
    assert manifest["machine"]["av"]
    assert manifest["parts"][0]["figures"]["latency_ms"]["p99"] > 0
    assert bdis.Rig.load(tmp_path / "out" / "rig.toml").size == (96, 64)


def test_files_per_frame_and_json(tmp_path, capsys):
    save = "depth,disparity,probability,sigma,cloud"
    assert run(["run", SMALL, *FAST, "--save", save, "--every", "5", "-o", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["state"] == "complete"
    assert answer["frames"] == 3
    assert answer["warnings"] == []
    for kind in save.split(","):
        assert sorted(path.stem for path in (tmp_path / kind).iterdir()) == ["000000", "000005", "000010"]
    depth = bdis.read_depth(tmp_path / "depth" / "000005.tiff")
    cloud = bdis.read_ply(tmp_path / "cloud" / "000005.ply")
    np.testing.assert_array_equal(cloud.points[:, 2], depth[np.isfinite(depth)])
    sigma = bdis.read_depth(tmp_path / "sigma" / "000005.tiff")
    assert 0 < np.nanmedian(sigma) < 5
    assert read_manifest(tmp_path)["run"]["settings"]["variance"] is True


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (["--start", "3", "--stop", "7"], [3, 4, 5, 6]),
        (["--start", "0.12s", "--stop", "0:00.28"], [3, 4, 5, 6]),
        (["--start", "2", "--every", "4"], [2, 6, 10]),
    ],
)
def test_part_of_a_video(tmp_path, span, expected, capsys):
    assert run(["run", SMALL, *FAST, *span, "--save", "video", "-o", str(tmp_path)]) == 0
    assert indices(tmp_path) == expected
    read = [(index, time_s) for index, time_s, _ in read_depth_video(tmp_path / "depth.mkv")]
    assert read == [(index, index / 25) for index in expected]
    assert f"{len(expected)} of {len(expected)} frames" in capsys.readouterr().err


def test_whole_millimetres_and_a_limit(tmp_path):
    limit = "62"
    options = ["--save", "video,depth", "--steps-per-mm", "1", "--max-depth", limit]
    assert run(["run", SMALL, *FAST, *options, "--stop", "1", "-o", str(tmp_path)]) == 0
    ((_, _, whole),) = read_depth_video(tmp_path / "depth.mkv")
    exact = bdis.read_depth(tmp_path / "depth" / "000000.tiff")
    np.testing.assert_array_equal(whole, np.rint(exact))
    assert np.nanmax(exact) <= 62
    assert read_manifest(tmp_path)["video"]["steps_per_mm"] == 1


def test_colours_of_the_preview_stay_the_same(tmp_path):
    assert run(["run", SMALL, *FAST, "--save", "preview", "--range", "20,200", "-o", str(tmp_path)]) == 0
    assert read_manifest(tmp_path)["preview"] == {"shows": "depth_mm", "near": 20.0, "far": 200.0}
    pictures = np.stack(frames_in(tmp_path / "preview.mp4")).astype(int)
    assert len(pictures) == 12
    bars = pictures[:, :, -100:]
    assert np.abs(bars - bars[0]).mean() < 1
    assert np.abs(bars - bars[0]).max() < 40  # H.264 is not exact


def test_depth_further_than_the_video_can_say(tmp_path, capsys):
    assert run(["run", SMALL, *FAST, "--save", "video", "--steps-per-mm", "2000", "-o", str(tmp_path)]) == 0
    assert "a smaller --steps-per-mm has room for them" in capsys.readouterr().err


def test_without_calibration_there_is_disparity(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("bdis.video.sources.RenderedSource.rig", None)
    assert run(["run", SMALL, *FAST, "-o", str(tmp_path / "out")]) == 0
    assert "disparity is saved instead" in capsys.readouterr().err
    assert len(list((tmp_path / "out" / "disparity").iterdir())) == len(frames_in(tmp_path / "out" / "preview.mp4"))
    assert read_manifest(tmp_path / "out")["preview"]["shows"] == "disparity_px"
    fails(capsys, ["run", SMALL, "--save", "video,cloud", "-o", tmp_path / "b"], 2, "--save cloud,video needs --calib")


# --- Damaged frames ---------------------------------------------------------------------------------------------------


def test_damaged_frames_are_skipped_and_counted(tmp_path, capsys, monkeypatch):
    from bdis.video.sources import RenderedSource

    load = RenderedSource._load

    def damaged(self, index):
        if 2 <= index < 10:
            raise ValueError("it is damaged")
        return load(self, index)

    monkeypatch.setattr(RenderedSource, "_load", damaged)
    assert run(["run", SMALL, *FAST, "--save", "video", "-o", str(tmp_path), "--json"]) == 0
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert (answer["frames"], answer["figures"]["damaged"]) == (4, 8)
    assert indices(tmp_path) == [0, 1, 10, 11]
    assert said.err.count("it is damaged") == 5
    assert "only counted" in said.err


# --- It ends before the end -------------------------------------------------------------------------------------------


@needs_posix
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_stopped_from_outside_leaves_all_readable_and_goes_on(tmp_path, how):
    out = tmp_path / "out"
    process = start("run", ENDLESS, *FAST, "--save", "video,preview,depth", "-o", out)
    wait_for_frames(out, 15)
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    frames = check_readable(out, 15, how == signal.SIGKILL)
    manifest = read_manifest(out)
    assert "Traceback" not in said
    if how == signal.SIGKILL:
        assert manifest["state"] == "running"
    else:
        assert process.returncode == 128 + how
        assert (manifest["state"], manifest["reason"], manifest["frames"]) == ("interrupted", how.name, frames)
        assert len(frames_in(out / "preview.mp4")) == len(list(read_depth_video(out / "depth.mkv"))) == frames
        assert f"{frames} frames are in {out}, the same command with --resume goes on" in said
    process = start("run", ENDLESS, *FAST, "--save", "video,preview,depth", "-o", out, "--resume")
    wait_for_frames(out, frames + 10)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert check_readable(out, frames + 10) == read_manifest(out)["frames"]
    assert [part["after_frames"] for part in read_manifest(out)["parts"]] == [0, frames]


@needs_posix
@pytest.mark.parametrize("save", ["video,preview", "video,preview,depth"])
def test_no_room_left_leaves_all_readable(tmp_path, save):
    """No file may grow beyond 60 kB."""
    import resource

    code, _, said = finished(
        "run", ENDLESS, *FAST, "--save", save, "-o", tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)),
    )  # fmt: skip
    assert code == 1, said
    assert "File too large" in said
    assert "complete and readable" in said
    assert "Traceback" not in said
    frames = check_readable(tmp_path)
    manifest = read_manifest(tmp_path)
    assert (manifest["state"], manifest["frames"]) == ("failed", frames)
    assert "File too large" in manifest["reason"]


@needs_posix
def test_full_disk_and_then_room_again(tmp_path):
    """A disk of 400 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a small disk")
    try:
        code, _, said = finished("run", ENDLESS, *FAST, "-o", disk / "out")
        assert code == 1, said
        assert "No space left on device" in said
        assert "complete and readable" in said
        frames = check_readable(disk / "out")
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        process = start("run", ENDLESS, *FAST, "-o", disk / "out", "--resume")
        wait_for_frames(disk / "out", frames + 20)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert check_readable(disk / "out", frames + 20)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_error_in_the_source_is_told_and_kept(tmp_path, capsys, monkeypatch):
    from bdis.video.sources import RenderedSource

    read = RenderedSource.read

    def broken(self):
        if self._next == 5:
            raise OSError(5, "Input/output error", "video.mp4")
        return read(self)

    monkeypatch.setattr(RenderedSource, "read", broken)
    fails(capsys, ["run", SMALL, *FAST, "-o", tmp_path], 1, "video.mp4: Input/output error")
    assert check_readable(tmp_path) == 5
    manifest = read_manifest(tmp_path)
    assert (manifest["state"], manifest["frames"]) == ("failed", 5)


# --- Going on ---------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("options", [[], ["--every", "2", "--start", "1", "--stop", "10"]], ids=["all", "some"])
def test_in_two_parts_as_in_one(tmp_path, monkeypatch, options, capsys):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    command = ["run", SMALL, *FAST, "--save", "video,preview,depth", *options, "-o"]
    assert run([*command, str(whole)]) == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        fails(capsys, [*command, parts], 1, "enough")
    assert len(indices(parts)) == 3
    assert run([*command, str(parts), "--resume"]) == 0
    assert "3 of them before" in capsys.readouterr().out
    times = [[(record.index, record.time_s) for record in read_frame_log(out / "frames.csv")] for out in (whole, parts)]
    assert times[0] == times[1]
    for before, after in zip(read_depth_video(whole / "depth.mkv"), read_depth_video(parts / "depth.mkv"), strict=True):
        assert before[:2] == after[:2]
        np.testing.assert_array_equal(before[2], after[2])
    names = sorted(path.name for path in (whole / "depth").iterdir())
    assert names == sorted(path.name for path in (parts / "depth").iterdir())
    for name in names:
        assert (whole / "depth" / name).read_bytes() == (parts / "depth" / name).read_bytes()
    pictures = [np.stack(frames_in(out / "preview.mp4")).astype(int) for out in (whole, parts)]
    assert np.abs(pictures[0] - pictures[1]).mean() < 2  # H.264 is not exact
    assert read_manifest(whole)["preview"] == read_manifest(parts)["preview"]


@pytest.mark.parametrize("options", [[], ["--every", "3", "--start", "0.2s"]], ids=["all", "some"])
def test_video_with_uneven_times_in_two_parts(tmp_path, monkeypatch, options, capsys):
    """Frames of a real video, with frames that depend on later ones and a rate that is not constant."""
    pairs = [render("plane", 64, 96, frame=number) for number in range(3)]
    write_video(
        tmp_path / "video.mp4", 20, fps=25, times=lambda index: Fraction(index * index + 33 * index, 1000),
        pair=lambda index: (pairs[index % 3].left, pairs[index % 3].right),
    )  # fmt: skip
    camera = ["--focal", "80", "--baseline", "5", "--layout", "side-by-side"]
    command = ["run", tmp_path / "video.mp4", *camera, *FAST, *options, "--save", "video", "-o"]
    assert run([*map(str, command), str(tmp_path / "whole")]) == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 4)
        fails(capsys, [*command, tmp_path / "parts"], 1, "enough")
    assert run([*map(str, command), str(tmp_path / "parts"), "--resume"]) == 0
    whole, parts = (list(read_depth_video(tmp_path / name / "depth.mkv")) for name in ("whole", "parts"))
    times = [(index * index + 33 * index) / 1000 for index in (range(6, 20, 3) if options else range(20))]
    assert [time_s for _, time_s, _ in whole] == pytest.approx(times)
    for before, after in zip(whole, parts, strict=True):
        assert before[:2] == after[:2]
        np.testing.assert_array_equal(before[2], after[2])


def test_what_is_complete_is_left_alone(tmp_path, capsys):
    command = ["run", SMALL, *FAST, "-o", str(tmp_path)]
    assert run(command) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert run([*command, "--resume"]) == 0
    assert "is complete: 12 frames, nothing to do" in capsys.readouterr().out
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_what_is_complete_but_of_something_else_is_an_error(tmp_path, capsys):
    assert run(["run", SMALL, *FAST, "--save", "video", "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    fails(capsys, ["run", SMALL, *FAST, "-o", tmp_path, "--resume"], 1, "save was ['video'], now ['video', 'preview']")
    fails(capsys, ["run", "nothing.mp4", *FAST, "-o", tmp_path, "--resume"], 1, "no such file")


def test_what_could_not_be_begun_leaves_room_for_another_try(tmp_path, capsys, monkeypatch):
    command = ["run", SMALL, *FAST, "-o", tmp_path]
    with monkeypatch.context() as patch:
        patch.setattr(recording.Manifest, "write", no_room)
        fails(capsys, command, 1, "No space left")
    assert run([str(part) for part in command]) == 0


def no_room(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device", "manifest.json")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--start", "1000"], "is over"),
        (["--start", "99:00"], "is over"),
        (["--start", "nans"], "expected a frame number, or a time such as 90s"),
    ],
)
def test_a_start_that_is_nowhere(tmp_path, capsys, options, words):
    fails(capsys, ["run", SMALL, *FAST, "-o", tmp_path, *options], 2, words)
    assert not any(tmp_path.iterdir())


def test_a_source_of_which_nothing_can_be_used_says_why(tmp_path, capsys):
    bdis.write_image(tmp_path / "one.png", np.full((64, 96), 9, np.uint8))
    fails(capsys, ["run", tmp_path / "one.png", "-o", tmp_path / "out"], 1, "96x64 has the shape of one view")


def test_other_settings_or_source_cannot_go_on(tmp_path, monkeypatch, capsys):
    command = ["run", SMALL, *FAST, "-o", tmp_path]
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        fails(capsys, command, 1, "enough")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for options, words in (
        (["--set", "patch_size=10"], "settings.patch_size was 8, now 10"),
        (["--every", "2"], "every was 1, now 2"),
        (["--save", "video"], "save was ['video', 'preview'], now ['video']"),
        (["--stop", "5"], "stop_s was nothing, now 0.18"),
    ):
        fails(capsys, [*command, *options, "--resume"], 1, "cannot be continued", words)
    other = ["run", SMALL.replace("plane", "tissue"), *FAST, "-o", tmp_path, "--resume"]
    fails(capsys, other, 1, "source.left was")
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_killed_before_the_first_frame(tmp_path, monkeypatch, capsys):
    command = ["run", SMALL, *FAST, "--save", "video,preview", "-o", str(tmp_path)]
    with monkeypatch.context() as patch:
        stop_after(patch, 0)
        fails(capsys, command, 1, "enough")
    assert indices(tmp_path) == []
    assert run([*command, "--resume"]) == 0
    assert check_readable(tmp_path) == 12


# --- Refused ----------------------------------------------------------------------------------------------------------


def test_folder_with_something_in_it(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    fails(capsys, ["run", SMALL, "-o", tmp_path], 1, str(tmp_path), "is not empty", "--resume")
    fails(capsys, ["run", SMALL, "-o", tmp_path, "--resume"], 1, "no manifest.json")
    fails(capsys, ["run", SMALL, "-o", tmp_path / "new", "--resume"], 1, "no recording to continue")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--save", "depth,movie"], "--save 'movie': expected of depth, disparity"),
        (["--every", "0"], "--every is 0"),
        (["--range", "90,30"], "expected NEAR,FAR"),
        (["--range", "30"], "expected NEAR,FAR"),
        (["--range", "nan,30"], "expected NEAR,FAR"),
        (["--steps-per-mm", "0"], "expected 1 to 65535"),
        (["--max-depth", "-1"], "--max-depth is -1"),
        (["--start", "soon"], "--start soon"),
        (["--start", "5", "--stop", "5"], "holds no frames"),
        (["--preset", "best"], "unknown preset"),
        (["--save", "sigma", "--set", "variance=false"], "variance=false"),
    ],
)
def test_wrong_options(tmp_path, capsys, options, words):
    fails(capsys, ["run", SMALL, "-o", tmp_path / "out", *options], 2, words)
    assert not (tmp_path / "out").exists()


def test_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    fails(capsys, ["run", SMALL, *FAST, "-o", tmp_path / "file" / "out"], 1, str(tmp_path / "file" / "out"))
    fails(capsys, ["run", SMALL, *FAST, "-o", tmp_path / "file"], 1, str(tmp_path / "file"), "Not a directory")
