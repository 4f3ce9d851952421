"""``bdis run`` that is interrupted, killed or has no room, and ``--resume``."""

import errno
import json
import os
import shutil
import signal
import subprocess
from fractions import Fraction

import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from bdis.synthetic.renderer import render
from bdis.video.recording import read_depth_video, read_frame_log, read_manifest, recording
from tests.cli.commands import fails, needs_posix
from tests.cli.recordings import (
    ENDLESS,
    FAST,
    SMALL,
    check_readable,
    contents,
    finished,
    frames_in,
    indices,
    start,
    stop_after,
    wait_for_frames,
)
from tests.video.videos import flat_pair, write_video

av = pytest.importorskip("av")


# --- It ends before the end -------------------------------------------------------------------------------------------


@needs_posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_stopped_from_outside_leaves_all_readable_and_goes_on(tmp_path, name):
    how = signal.Signals[name]
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
        assert f"{frames} frames are in {out}; the same command with --resume continues" in said
    process = start("run", ENDLESS, *FAST, "--save", "video,preview,depth", "-o", out, "--resume")
    wait_for_frames(out, frames + 10)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert check_readable(out, frames + 10) == read_manifest(out)["frames"]
    assert [part["after_frames"] for part in read_manifest(out)["parts"]] == [0, frames]


@needs_posix
def test_a_closed_terminal_does_not_stop_a_run_after_nohup(tmp_path):
    process = start(
        "run", SMALL, *FAST, "-o", tmp_path, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    wait_for_frames(tmp_path, 1)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert check_readable(tmp_path) == 12


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
        (["--start", "1000"], "after the end of"),
        (["--start", "99:00"], "after the end of"),
        (["--start", "nans"], "expected a frame number, or a time such as 90s"),
        *((["--start", text], f"--start {text}: expected a frame number") for text in ("-1", "-0.5s", "-0:03", "0:-3")),
        (["--stop", "-1"], "--stop -1: expected a frame number"),
        (["--start", "9" * 400], "9: expected a frame number"),
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
        (["--no-average-frames"], "average_frames was True, now False"),
    ):
        fails(capsys, [*command, *options, "--resume"], 1, "cannot be continued", words)
    other = ["run", SMALL.replace("plane", "tissue"), *FAST, "-o", tmp_path, "--resume"]
    fails(capsys, other, 1, "source.left was")
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def write_clip(folder, frames=6, scene="plane", ending="png"):
    for view in ("left", "right"):
        (folder / view).mkdir(parents=True, exist_ok=True)
        for index in range(frames):
            bdis.write_image(folder / view / f"{index}.{ending}", getattr(render(scene, 64, 96, frame=index), view))
    return folder


def test_what_is_complete_with_lost_frames_says_how_many(tmp_path, capsys):
    clip = write_clip(tmp_path / "clip")
    (clip / "right" / "2.png").write_bytes(b"torn")
    command = ["run", str(clip), *FAST, "--save", "disparity", "-o", str(tmp_path / "out")]
    assert run(command) == 0
    assert "1 frames of the 6" in capsys.readouterr().out
    assert run([*command, "--resume"]) == 0
    said = capsys.readouterr().out
    assert "is complete: 5 frames and 1 lost, which are damaged or missing in the source, nothing to do" in said


@pytest.mark.parametrize("is_complete", [True, False], ids=["complete", "interrupted"])
def test_another_clip_under_the_names_of_the_first_is_not_its_continuation(tmp_path, capsys, monkeypatch, is_complete):
    clip = write_clip(tmp_path / "clip", ending="tiff")  # which all have the same size
    command = ["run", str(clip), *FAST, "--save", "disparity", "-o", str(tmp_path / "out")]
    with monkeypatch.context() as patch:
        if not is_complete:
            stop_after(patch, 3)
        assert run(command) == (0 if is_complete else 1)
    before = contents(tmp_path / "out")
    write_clip(clip, scene="tissue", ending="tiff")
    capsys.readouterr()
    fails(capsys, [*command, "--resume"], 1, "cannot be continued", "source.content.sha256 was")
    assert contents(tmp_path / "out") == before


def raw_video(path, first=0):
    """All of these have the same size."""
    return write_video(path, 12, codec="rawvideo", options={}, pair=lambda i: flat_pair(i + first))


@pytest.mark.parametrize("is_complete", [True, False], ids=["complete", "interrupted"])
def test_a_video_of_the_same_size_in_the_place_of_the_first_was_its_continuation(
    tmp_path, capsys, monkeypatch, is_complete
):
    video = raw_video(tmp_path / "video.avi")
    size = video.stat().st_size
    command = ["run", str(video), *FAST, "--save", "disparity", "-o", str(tmp_path / "out")]
    with monkeypatch.context() as patch:
        if not is_complete:
            stop_after(patch, 3)
        assert run(command) == (0 if is_complete else 1)
    before = contents(tmp_path / "out")
    assert raw_video(video, first=7).stat().st_size == size
    capsys.readouterr()
    fails(capsys, [*command, "--resume"], 1, "cannot be continued", "source.content.sha256 was")
    assert contents(tmp_path / "out") == before
    shutil.copyfile(raw_video(tmp_path / "copy.avi"), video)  # at another time
    assert run([*command, "--resume"]) == 0
    assert read_manifest(tmp_path / "out")["state"] == "complete"


def test_a_recording_that_does_not_tell_the_content_of_its_video_is_continued(tmp_path, monkeypatch, capsys):
    """As those of earlier versions."""
    out = tmp_path / "out"
    command = ["run", str(raw_video(tmp_path / "video.avi")), *FAST, "--save", "disparity", "-o", str(out)]
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        fails(capsys, command, 1, "enough")
    manifest = read_manifest(out)
    manifest["run"]["source"]["content"] = {}
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert run([*command, "--resume"]) == 0


def test_a_copy_of_the_clip_with_other_times_is_its_continuation(tmp_path, monkeypatch, capsys):
    command = ["run", str(write_clip(tmp_path / "clip")), *FAST, "--save", "disparity", "-o"]
    assert run([*command, str(tmp_path / "whole")]) == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        fails(capsys, [*command, tmp_path / "parts"], 1, "enough")
    (tmp_path / "clip").rename(tmp_path / "before")
    shutil.copytree(tmp_path / "before", tmp_path / "clip", copy_function=shutil.copyfile)
    assert run([*command, str(tmp_path / "parts"), "--resume"]) == 0
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_a_manifest_that_does_not_tell_the_content_of_its_source_is_continued(tmp_path, monkeypatch, capsys):
    """As those of earlier versions."""
    out = tmp_path / "out"
    command = ["run", str(write_clip(tmp_path / "clip")), *FAST, "--save", "disparity", "-o", str(out)]
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        fails(capsys, command, 1, "enough")
    manifest = read_manifest(out)
    del manifest["run"]["source"]["content"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert run([*command, "--resume"]) == 0
    assert "content" in read_manifest(out)["run"]["source"]


def test_killed_while_the_first_manifest_was_written(tmp_path, capsys):
    (tmp_path / ".manifest.json.0123abcd.part").write_text("{")
    command = ["run", SMALL, *FAST, "--save", "depth", "-o", str(tmp_path)]
    fails(capsys, [*command, "--resume"], 1, "no recording to continue")
    assert run(command) == 0
    assert not list(tmp_path.glob(".*"))


def test_killed_before_the_first_frame(tmp_path, monkeypatch, capsys):
    command = ["run", SMALL, *FAST, "--save", "video,preview", "-o", str(tmp_path)]
    with monkeypatch.context() as patch:
        stop_after(patch, 0)
        fails(capsys, command, 1, "enough")
    assert indices(tmp_path) == []
    assert run([*command, "--resume"]) == 0
    assert check_readable(tmp_path) == 12
