"""``bdis run --resume`` verifies what is there: what is missing or has changed is made again, with the same bits."""

import itertools
import json

import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from bdis.video.recording import RecordedDepth, frame_files, read_depth_video, read_manifest, recording
from tests.cli.commands import fails
from tests.cli.recordings import FAST, SMALL, contents, indices, stop_after

av = pytest.importorskip("av")
MOVING = "render:tissue,frames=12,height=96,width=128"


@pytest.mark.parametrize("preset", ["fast", "balanced"])
def test_frame_files_that_are_missing_or_empty_are_made_again(tmp_path, capsys, preset):
    command = ["run", MOVING, "--preset", preset, "--save", "depth,sigma,video", "-o", str(tmp_path)]
    assert run(command) == 0
    before = contents(tmp_path)
    log = (tmp_path / "frames.csv").read_bytes()
    for index in range(1, 11):
        (tmp_path / "depth" / f"{index:06d}.tiff").unlink()
    (tmp_path / "sigma" / "000011.tiff").write_bytes(b"")
    capsys.readouterr()
    assert run([*command, "--resume"]) == 0
    said = capsys.readouterr()
    assert "nothing to do" not in said.out
    assert "11 frames in" in said.err
    assert "made again" in said.err
    assert contents(tmp_path) == before
    assert (tmp_path / "frames.csv").read_bytes() == log
    assert read_manifest(tmp_path)["state"] == "complete"
    assert run([*command, "--resume"]) == 0
    assert "nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize("frames", [12, 13], ids=["as the manifest says", "more than the manifest says"])
@pytest.mark.parametrize("save", ["depth,video,preview", "video"])
def test_a_line_of_a_frame_that_the_source_lacks_stayed_for_ever(tmp_path, capsys, save, frames):
    """Every --resume matched all frames again, and called the recording complete with a frame too many."""
    command = ["run", SMALL, *FAST, "--save", save, "-o", str(tmp_path)]
    assert run(command) == 0
    before, log = contents(tmp_path), (tmp_path / "frames.csv").read_bytes()
    last = log.splitlines()[-1]
    (tmp_path / "frames.csv").write_bytes(log + last.replace(b"11,", b"25,", 1) + b"\n")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "frames": frames}))
    capsys.readouterr()
    assert run([*command, "--resume"]) == 0
    said = capsys.readouterr().err
    assert "1 frames of frames.csv did not come from the source, such as frame 25: taken out of it" in said
    assert (tmp_path / "frames.csv").read_bytes() == log
    assert contents(tmp_path) == before
    assert (read_manifest(tmp_path)["state"], read_manifest(tmp_path)["frames"]) == ("complete", 12)
    assert run([*command, "--resume"]) == 0
    assert "nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize("is_complete", [True, False], ids=["complete", "interrupted"])
def test_a_deleted_preview_does_not_restart_everything(tmp_path, capsys, monkeypatch, is_complete):
    command = ["run", SMALL, *FAST, "--save", "depth,video,preview", "-o"]
    assert run([*command, str(tmp_path / "whole")]) == 0
    with monkeypatch.context() as patch:
        if not is_complete:
            stop_after(patch, 8)
            fails(capsys, [*command, tmp_path / "parts"], 1, "enough")
        else:
            assert run([*command, str(tmp_path / "parts")]) == 0
    (tmp_path / "parts" / "preview.mp4").unlink()
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts" / "depth").iterdir()}
    capsys.readouterr()
    assert run([*command, str(tmp_path / "parts"), "--resume"]) == 0
    assert "nan" not in capsys.readouterr().out
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())


@pytest.mark.parametrize(("frames", "kept"), [(1, "at the end"), (7, "at the end"), (7, "early"), (11, "never")])
def test_a_resumed_run_with_averaged_frames_has_the_same_bits(tmp_path, monkeypatch, capsys, frames, kept):
    """Each frame builds on all before it; a killed process may have kept what the next one needs long ago or never."""
    command = ["run", MOVING, "--save", "depth,sigma,video,preview", "--range", "20,120", "-o"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run([*command, str(whole)]) == 0
    with monkeypatch.context() as patch:
        stop_after(patch, frames)
        if kept != "at the end":
            write, count = recording.write_checkpoint, [0]

            def write_first(*arguments):
                count[0] += 1
                if kept == "early" and count[0] == 1:
                    write(*arguments)

            patch.setattr(recording, "write_checkpoint", write_first)
            patch.setattr(recording, "CHECKPOINT_INTERVAL_S", 0.0)
        fails(capsys, [*command, parts], 1, "enough")
    assert (parts / "resume.npz").exists() == (kept != "never")
    assert run([*command, str(parts), "--resume"]) == 0
    assert contents(parts) == contents(whole)
    assert not list(parts.glob("resume*"))


@pytest.mark.parametrize("changed", ["trust", "disparity", "left", "index", "bytes", "no digest"])
def test_a_damaged_checkpoint_costs_no_frames(tmp_path, monkeypatch, capsys, changed):
    """Every later frame was refused with it, and lost; or was averaged with what no frame had."""
    command = ["run", MOVING, "--save", "depth", "-o"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run([*command, str(whole)]) == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 7)
        fails(capsys, [*command, parts], 1, "enough")
    damage_checkpoint(parts / "resume.npz", changed)
    capsys.readouterr()
    assert run([*command, str(parts), "--resume"]) == 0
    said = capsys.readouterr()
    assert f"resume.npz in {parts} is damaged or of another version of bdis, and is not used" in said.err
    assert "7 frames are matched again" in said.err
    assert contents(parts) == contents(whole)
    manifest = read_manifest(parts)
    assert (manifest["state"], manifest["frames"], manifest["lost"]) == ("complete", 12, 0)


def damage_checkpoint(path, changed):
    if changed == "bytes":
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        return
    arrays = dict(np.load(path))
    if changed == "no digest":
        del arrays["sha256"]
    elif changed == "trust":
        arrays["trust"][:] = np.nan
    else:
        arrays[changed] = arrays[changed] - 1
    np.savez(path, **arrays)


@pytest.mark.parametrize("preset", ["fast", "balanced"])
def test_frame_files_with_other_content_of_the_same_size_are_made_again(tmp_path, capsys, preset):
    command = ["run", MOVING, "--preset", preset, "--save", "depth,left,video", "-o", str(tmp_path)]
    assert run(command) == 0
    before, log = contents(tmp_path), (tmp_path / "frames.csv").read_bytes()
    depth = [tmp_path / "depth" / f"{index:06d}.tiff" for index in range(12)]
    first, second = depth[3].read_bytes(), depth[4].read_bytes()
    depth[3].write_bytes(second)
    depth[4].write_bytes(first)
    depth[7].write_bytes(bytes(len(depth[7].read_bytes())))
    capsys.readouterr()
    assert run([*command, "--resume"]) == 0
    assert "3 frames in" in capsys.readouterr().err
    assert contents(tmp_path) == before
    assert (tmp_path / "frames.csv").read_bytes() == log
    assert run([*command, "--resume"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_frames_that_another_encoder_has_made_again_are_not_made_again_forever(tmp_path, capsys, monkeypatch):
    command = ["run", MOVING, *FAST, "--save", "left", "-o", str(tmp_path)]
    assert run(command) == 0
    (tmp_path / "left" / "000004.png").write_bytes(b"")
    with monkeypatch.context() as patch:  # a PNG may end with what no reader looks at
        patch.setattr(frame_files, "write_image", write_image_and_more)
        assert run([*command, "--resume"]) == 0
    capsys.readouterr()
    assert run([*command, "--resume"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def write_image_and_more(path, image):
    bdis.write_image(path, image)
    path.write_bytes(path.read_bytes() + b"more")


@pytest.mark.parametrize("preset", ["fast", "balanced"])
def test_another_rig_in_a_complete_recording_is_put_right_and_no_frame_is_matched_again(tmp_path, capsys, preset):
    command = ["run", MOVING, "--preset", preset, "--save", "depth,video", "-o", str(tmp_path)]
    assert run(command) == 0
    before = contents(tmp_path)
    text = (tmp_path / "rig.toml").read_text()
    (tmp_path / "rig.toml").write_text(text.replace("baseline_mm = 5.0", "baseline_mm = 50.0"))
    assert (tmp_path / "rig.toml").read_text() != text
    manifest = read_manifest(tmp_path)
    capsys.readouterr()
    assert run([*command, "--resume"]) == 0
    said = capsys.readouterr()
    assert "rig.toml in" in said.err
    assert "not the rig of this recording: written again" in said.err
    assert "matched again" not in said.err
    assert "is complete: 12 frames, no frame to be made again" in said.out
    assert contents(tmp_path) == before
    again = read_manifest(tmp_path)
    assert {**again, "parts": again["parts"][:1]} == manifest


def test_files_of_frames_that_no_log_knows_are_told(tmp_path, capsys):
    command = ["run", SMALL, *FAST, "--save", "depth", "-o", str(tmp_path)]
    assert run(command) == 0
    (tmp_path / "depth" / "000999.tiff").write_bytes((tmp_path / "depth" / "000003.tiff").read_bytes())
    (tmp_path / "depth" / "mine.tiff").write_bytes(b"")  # nobody takes it for a frame
    capsys.readouterr()
    assert run([*command, "--resume"]) == 0
    said = capsys.readouterr()
    assert "has 1 file of frames that are not in frames.csv, such as depth/000999.tiff" in said.err
    assert "nothing to do" in said.out
    (tmp_path / "depth" / "000003.tiff").unlink()
    assert run([*command, "--resume"]) == 0
    assert "depth/000999.tiff" in capsys.readouterr().err


def test_frames_that_are_not_in_order_in_the_log_are_not_read_with_the_depth_of_others(tmp_path, capsys):
    command = ["run", SMALL, *FAST, "--save", "depth,video", "-o", str(tmp_path)]
    assert run(command) == 0
    before, log = contents(tmp_path), (tmp_path / "frames.csv").read_text()
    header, *lines = log.splitlines(keepends=True)
    (tmp_path / "frames.csv").write_text("".join([header, *reversed(lines)]))
    for read in (RecordedDepth, lambda folder: next(read_depth_video(folder / "depth.mkv"))):
        with pytest.raises(ValueError, match="each frame once and in order: 10 follows 11; bdis run --resume repairs"):
            read(tmp_path)
    capsys.readouterr()
    assert run([*command, "--resume"]) == 0
    assert "has frames more than once or not in order" in capsys.readouterr().err
    assert contents(tmp_path) == before
    assert (tmp_path / "frames.csv").read_text() == log


def test_a_frame_that_is_in_the_log_twice_is_kept_once(tmp_path, capsys):
    command = ["run", SMALL, *FAST, "--save", "depth,video", "-o", str(tmp_path)]
    assert run(command) == 0
    before, log = contents(tmp_path), (tmp_path / "frames.csv").read_text()
    lines = log.splitlines(keepends=True)
    (tmp_path / "frames.csv").write_text("".join([*lines[:4], lines[3], *lines[4:], *lines[2:4]]))
    with pytest.raises(ValueError, match="each frame once and in order: 2 follows 2; bdis run --resume repairs it"):
        RecordedDepth(tmp_path)
    capsys.readouterr()
    assert run([*command, "--resume"]) == 0
    said = capsys.readouterr()
    assert "has frames more than once or not in order: the last line of each is kept" in said.err
    assert "is complete: 12 frames" in said.out
    assert contents(tmp_path) == before
    assert (tmp_path / "frames.csv").read_text() == log
    assert RecordedDepth(tmp_path).records[-1].index == 11


def test_a_log_without_checksums_is_continued(tmp_path, capsys):
    """As those of earlier versions."""
    command = ["run", SMALL, *FAST, "--save", "depth", "-o", str(tmp_path)]
    assert run(command) == 0
    lines = (tmp_path / "frames.csv").read_text().splitlines()
    (tmp_path / "frames.csv").write_text("".join(f"{line.rpartition(',')[0]}\n" for line in lines))
    capsys.readouterr()
    assert run([*command, "--resume"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_a_lost_log_of_frames_is_made_again(tmp_path, capsys):
    command = ["run", SMALL, *FAST, "--save", "depth", "-o", str(tmp_path)]
    assert run(command) == 0
    before = contents(tmp_path)
    (tmp_path / "frames.csv").unlink()
    assert run([*command, "--resume"]) == 0
    assert contents(tmp_path) == before
    assert indices(tmp_path) == list(range(12))


@pytest.mark.parametrize(
    ("line", "save", "preset"),
    [
        *itertools.product([1, 6, 12], ["depth,video,preview", "depth", "video", "preview,disparity"], ["fast"]),
        (6, "depth,video", "balanced"),
    ],
)
def test_a_lost_line_of_the_log_gave_every_later_frame_the_depth_of_another(tmp_path, capsys, line, save, preset):
    command = ["run", MOVING, "--preset", preset, "--save", save, "-o", str(tmp_path)]
    assert run(command) == 0
    before, log = contents(tmp_path), (tmp_path / "frames.csv").read_text()
    lines = log.splitlines(keepends=True)
    (tmp_path / "frames.csv").write_text("".join(lines[:line] + lines[line + 1 :]))
    if "preview,disparity" not in save:
        with pytest.raises(ValueError, match="has 11 lines, and the recording 12 frames; bdis run --resume"):
            RecordedDepth(tmp_path)
    if "video" in save:
        with pytest.raises(ValueError, match=r"frames.csv has 11 lines"):
            next(read_depth_video(tmp_path / "depth.mkv"))
    capsys.readouterr()
    assert run([*command, "--resume"]) == 0
    said = capsys.readouterr()
    assert ("lacks lines" in said.err) == (line < 12)
    assert contents(tmp_path) == before
    assert without_measured_times(tmp_path / "frames.csv") == without_measured_times(log)
    assert read_manifest(tmp_path)["frames"] == 12
    assert run([*command, "--resume"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def without_measured_times(log):
    text = log if isinstance(log, str) else log.read_text()
    return [[*line.split(",")[:2], *line.split(",")[7:]] for line in text.splitlines()]


@pytest.mark.parametrize("start", ["0", "5"])
@pytest.mark.parametrize("line", [1, 4])
def test_a_lost_line_of_an_unfinished_recording_is_seen_by_the_times_of_its_video(
    tmp_path, capsys, monkeypatch, line, start
):
    command = ["run", MOVING, *FAST, "--save", "depth,video", "--start", start, "-o"]
    assert run([*command, str(tmp_path / "whole")]) == 0
    parts = tmp_path / "parts"
    with monkeypatch.context() as patch:
        stop_after(patch, 7 if start == "0" else 5)
        fails(capsys, [*command, parts], 1, "enough")
    lines = (parts / "frames.csv").read_text().splitlines()
    lines = [each.rpartition(",")[0] + "\n" for each in lines]  # as of an earlier version, without their numbers
    (parts / "frames.csv").write_text("".join(lines[:line] + lines[line + 1 :]))
    with pytest.raises(ValueError, match=r"depth.mkv: .* frames.csv says frame .* --resume repairs it"):
        list(read_depth_video(parts / "depth.mkv"))
    assert run([*command, str(parts), "--resume"]) == 0
    assert contents(parts) == contents(tmp_path / "whole")
    assert len(list(read_depth_video(parts / "depth.mkv"))) == (12 if start == "0" else 7)


@pytest.mark.parametrize("save", ["bag", "ros1-bag", "disparity,preview", "depth,foxglove"])
@pytest.mark.parametrize("line", [1, 4])
def test_a_lost_line_of_an_unfinished_recording_without_a_depth_video_gave_later_frames_the_depth_of_others(
    tmp_path, capsys, monkeypatch, line, save
):
    if "bag" in save:
        pytest.importorskip("rosbags")
    if "foxglove" in save:
        pytest.importorskip("foxglove")
    command = ["run", MOVING, *FAST, "--save", save, *(["--bag-contents", "depth"] if "bag" in save else []), "-o"]
    assert run([*command, str(tmp_path / "whole")]) == 0
    parts = tmp_path / "parts"
    with monkeypatch.context() as patch:
        stop_after(patch, 7)
        fails(capsys, [*command, parts], 1, "enough")
    lines = (parts / "frames.csv").read_text().splitlines(keepends=True)
    (parts / "frames.csv").write_text("".join(lines[:line] + lines[line + 1 :]))
    if "disparity" not in save:
        with pytest.raises(ValueError, match=r"frames.csv lacks lines: .* --resume repairs it"):
            RecordedDepth(parts)
    assert run([*command, str(parts), "--resume"]) == 0
    assert "lacks lines" in capsys.readouterr().err
    assert contents(parts) == contents(tmp_path / "whole")
    assert without_measured_times(parts / "frames.csv") == without_measured_times(tmp_path / "whole" / "frames.csv")


def test_a_depth_video_that_is_not_of_its_log_is_refused_and_made_again(tmp_path, capsys):
    """Of a recording from another start: as many frames, all of them at other times."""
    command = ["run", MOVING, *FAST, "--save", "video"]
    assert run([*command, "--stop", "5", "-o", str(tmp_path / "first")]) == 0
    assert run([*command, "--start", "5", "--stop", "10", "-o", str(tmp_path / "second")]) == 0
    before = contents(tmp_path / "first")
    (tmp_path / "second" / "depth.mkv").replace(tmp_path / "first" / "depth.mkv")
    for read in (lambda: list(read_depth_video(tmp_path / "first" / "depth.mkv")),
                 lambda: list(RecordedDepth(tmp_path / "first").frames())):  # fmt: skip
        with pytest.raises(ValueError, match=r"frame 1 is at 0.200 s, and frames.csv says frame 0 at 0.000 s"):
            read()
    capsys.readouterr()
    assert run([*command, "--stop", "5", "-o", str(tmp_path / "first"), "--resume"]) == 0
    assert "5 frames in" in capsys.readouterr().err
    assert contents(tmp_path / "first") == before
