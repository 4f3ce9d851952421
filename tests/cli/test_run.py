"""``bdis run`` when it ends well, and what it refuses."""

import json

import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from bdis.matching.matcher import StereoMatcher
from bdis.video.recording import read_depth_video, read_manifest
from tests.cli.commands import fails
from tests.cli.recordings import FAST, SMALL, check_readable, finished, frames_in, indices

av = pytest.importorskip("av")


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


def test_rows_that_differ_are_told_once(tmp_path, capsys):
    source = "render:tissue,frames=3,height=240,width=320,vertical_shift_px=1.5"
    assert run(["run", source, "--save", "disparity", "-o", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (warning,) = answer["warnings"]
    assert "the right image lies 1.5 px lower than the left one" in warning


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


@pytest.mark.parametrize(("options", "averages"), [([], True), (["--no-average-frames"], False)], ids=str)
def test_frames_are_averaged_unless_it_is_turned_off(tmp_path, monkeypatch, options, averages):
    given = []

    class Spy(StereoMatcher):
        def match(self, left, right, *, previous=None, **masks):
            given.append(previous is not None)
            return super().match(left, right, previous=previous, **masks)

    monkeypatch.setattr("bdis.matching.matcher.StereoMatcher", Spy)
    assert run(["run", SMALL, *FAST, "--save", "disparity", "-o", str(tmp_path), *options]) == 0
    assert given == [False, True, False, *[averages] * 11]  # two matches load the kernels
    assert read_manifest(tmp_path)["run"]["average_frames"] is averages


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
    assert read_manifest(tmp_path)["preview"] == {
        "shows": "depth_mm", "near": 20.0, "far": 200.0, "range_from": "given",
    }  # fmt: skip
    pictures = np.stack(frames_in(tmp_path / "preview.mp4")).astype(int)
    assert len(pictures) == 12
    bars = pictures[:, :, -100:]
    assert np.abs(bars - bars[0]).mean() < 1
    assert np.abs(bars - bars[0]).max() < 40  # H.264 is not exact


def test_depth_further_than_the_video_can_say(tmp_path, capsys):
    assert run(["run", SMALL, *FAST, "--save", "video", "--steps-per-mm", "2000", "-o", str(tmp_path)]) == 0
    assert "use a smaller --steps-per-mm" in capsys.readouterr().err


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
        (["--save", "depth,movie"], "--save 'movie': expected one or more of depth, disparity"),
        (["--every", "0"], "--every is 0"),
        (["--range", "90,30"], "expected NEAR,FAR"),
        (["--range", "30"], "expected NEAR,FAR"),
        (["--range", "nan,30"], "expected NEAR,FAR"),
        (["--steps-per-mm", "0"], "expected 1 to 65535"),
        (["--max-depth", "-1"], "--max-depth is -1"),
        (["--start", "soon"], "--start soon"),
        (["--start", "5", "--stop", "5"], "there are no frames from --start 5 to --stop 5"),
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
