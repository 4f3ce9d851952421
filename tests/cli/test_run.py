"""``bdis run`` when it ends well, and what it refuses."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from bdis.matching.matcher import StereoMatcher
from bdis.synthetic.renderer import render
from bdis.video.recording import read_depth_video, read_frame_log, read_manifest
from bdis.video.sources import RenderedSource
from tests.cli.commands import fails
from tests.cli.recordings import FAST, SMALL, check_readable, finished, frames_in, indices, stop_after
from tests.video.videos import damage, packets_of, write_video

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


def test_what_is_doubtful_about_a_calibration_is_in_the_manifest(tmp_path, capsys):
    """Whoever opens the recording has not seen what the terminal said."""
    given = ["--focal", "100", "--baseline", "5", "--cx", "20"]
    assert run(["run", SMALL, *FAST, *given, "--save", "depth", "-o", str(tmp_path)]) == 0
    said = capsys.readouterr()
    remark = "principal point 29 % of the width off the middle"
    assert "warning: --cx and --cy put the principal point at (20.0, 31.5), 29 % of the width" in said.err
    assert remark in said.out
    assert read_manifest(tmp_path)["calibration_remarks"] == [remark]


def test_what_is_doubtful_about_the_source_is_in_the_manifest(tmp_path, capsys):
    videos = [
        write_video(tmp_path / f"{side}.mkv", 6, join=side, times=lambda i, late=late: Fraction(i + late, 20))
        for side, late in (("left", 0), ("right", 2))
    ]
    assert run(["run", *map(str, videos), *FAST, "--save", "disparity", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    warning = "the videos begin 0.100 s apart by their time stamps; they are paired as if they began together"
    assert said.err.count(f"warning: {warning}") == 1
    assert warning in " ".join(said.out.split())
    assert read_manifest(tmp_path / "out")["source_remarks"] == [warning]


def test_a_frame_number_in_a_matroska_video_with_bursts_was_not_said_to_be_doubtful(tmp_path, capsys):
    """Its header has one rate; that the times are others shows only while it is read."""
    video = write_video(
        tmp_path / "bursts.mkv", 40, times=lambda i: Fraction(i, 40) if i < 20 else Fraction(i - 15, 10)
    )
    assert run(["run", str(video), *FAST, "--save", "disparity", "--start", "7", "-o", str(tmp_path / "number")]) == 0
    said = capsys.readouterr().err
    assert said.count("--start 7: the frame rate of") == 1
    assert "give a time, such as --start 0.325s" in said
    assert run(["run", str(video), *FAST, "--save", "disparity", "--start", "0.3s", "-o", str(tmp_path / "time")]) == 0
    assert "the frame rate of" not in capsys.readouterr().err


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


def test_a_depth_video_has_hundredths_of_a_millimetre_and_not_twelve_depths(tmp_path, capsys):
    """The depths of one frame of a plane differ by less than 12 mm."""
    assert run(["run", SMALL, *FAST, "--save", "video,depth", "--stop", "1", "-o", str(tmp_path)]) == 0
    ((_, _, shown),) = read_depth_video(tmp_path / "depth.mkv")
    exact = bdis.read_depth(tmp_path / "depth" / "000000.tiff")
    np.testing.assert_allclose(shown, exact, atol=0.0051)
    assert len(np.unique(shown[np.isfinite(shown)])) > 100
    entry = read_manifest(tmp_path)["video"]
    assert entry == {"unit": "0.01 mm", "steps_per_mm": 100, "unknown": 0, "largest_mm": 655.35, "pixels_beyond": 0}
    assert "steps of 0.01 mm, up to 655.35 mm" in capsys.readouterr().out


class Approaching(RenderedSource):
    """A textured plane that moves: its disparity grows from 4 to 16 px, so that its depth shrinks to a quarter."""

    FRAMES = 40

    def __init__(self):
        super().__init__("plane", frames=self.FRAMES, height=64, width=96)
        self._texture = np.random.default_rng(0).integers(1, 255, (16, 40), np.uint8).repeat(4, 0).repeat(4, 1)

    def _load(self, index):
        shift = 4 + 12 * index // (self.FRAMES - 1)
        return self._texture[:64, 20:116].copy(), self._texture[:64, 20 + shift : 116 + shift].copy()


def saturated(folder, near, far):
    """Share of the known pixels of each frame that are outside the range of the preview."""
    return [
        np.mean((depth < near) | (depth > far), where=np.isfinite(depth))
        for _, _, depth in read_depth_video(folder / "depth.mkv")
    ]


def test_the_preview_does_not_saturate_in_later_frames(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("bdis.video.sources.open_source", lambda *_, **__: Approaching())
    assert run(["run", "render:plane", "-o", str(tmp_path)]) == 0
    shown = read_manifest(tmp_path)["preview"]
    assert shown["range_from"] == "frames of the whole clip"
    assert max(saturated(tmp_path, shown["near"], shown["far"])) < 0.1
    assert f"depth {shown['near']:g} to {shown['far']:g} mm" in capsys.readouterr().out


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


def lossy_video(folder, ending="mkv", **options):
    """A video with a hole in the middle."""
    pairs = [render("plane", 64, 96, frame=number) for number in range(3)]
    whole = write_video(
        folder / f"video.{ending}", 30, fps=25, gop=4,
        pair=lambda index: (pairs[index % 3].left, pairs[index % 3].right), **options,
    )  # fmt: skip
    places = packets_of(whole)
    damage(whole, places[12][0] - 8, places[17][0] - places[12][0])
    return [str(whole), "--focal", "80", "--baseline", "5", "--layout", "side-by-side"]


def test_every_frame_is_recorded_or_counted_as_lost(tmp_path, capsys):
    source = lossy_video(tmp_path)
    assert run(["run", *source, *FAST, "--save", "video,depth", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    manifest, records = read_manifest(tmp_path / "out"), read_frame_log(tmp_path / "out" / "frames.csv")
    assert manifest["lost"] >= 4
    assert manifest["frames"] + manifest["lost"] == manifest["run"]["source"]["frames"] == 30
    assert sum(record.lost_before for record in records) == manifest["lost"]
    assert f"{manifest['lost']} frames of the 30 that the source says it has are damaged or missing" in said.out


def test_lost_frames_are_counted_once_when_a_run_is_resumed(tmp_path, capsys, monkeypatch):
    source = lossy_video(tmp_path)
    command = ["run", *source, "--save", "video,depth", "-o"]
    assert run([*command, str(tmp_path / "whole")]) == 0
    for frames in (8, 3):  # before the hole, and after it
        with monkeypatch.context() as patch:
            stop_after(patch, frames)
            resume = ["--resume"] if (tmp_path / "parts").exists() else []
            fails(capsys, [*command, tmp_path / "parts", *resume], 1, "enough")
    assert run([*command, str(tmp_path / "parts"), "--resume"]) == 0
    whole, parts = (read_manifest(tmp_path / name) for name in ("whole", "parts"))
    assert parts["lost"] == whole["lost"] > 0
    assert indices(tmp_path / "parts") == indices(tmp_path / "whole")
    for index in indices(tmp_path / "whole"):
        one, other = (tmp_path / name / "depth" / f"{index:06d}.tiff" for name in ("whole", "parts"))
        assert one.read_bytes() == other.read_bytes()


def test_frames_missing_at_the_end_are_counted(tmp_path, capsys):
    source = lossy_video(tmp_path, "mp4", container_options={"movflags": "faststart"})
    content = Path(source[0]).read_bytes()
    Path(source[0]).write_bytes(content[: 8 * len(content) // 10])
    assert run(["run", *source, *FAST, "--save", "video", "-o", str(tmp_path / "out"), "--json"]) == 0
    answer, manifest = json.loads(capsys.readouterr().out), read_manifest(tmp_path / "out")
    assert answer["lost"] == manifest["lost"] > 5
    assert manifest["frames"] + manifest["lost"] == 30


# --- Warnings about pictures ------------------------------------------------------------------------------------------


def test_swapped_views_are_said_once_and_counted_to_the_end(tmp_path, capsys, monkeypatch):
    load = RenderedSource._load
    monkeypatch.setattr(RenderedSource, "_load", lambda self, index: load(self, index)[::-1])
    monkeypatch.setattr("bdis.video.recording.picture_warnings.CHECK_EVERY_S", 0.0)
    monkeypatch.setattr("bdis.video.recording.picture_warnings.CHECK_SHARE", 1e9)
    source = "render:tissue,frames=3,height=160,width=240"
    assert run(["run", source, *FAST, "--save", "disparity", "-o", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.err.count("look swapped") == 1
    assert "warning: frame 0: " in said.err
    manifest = read_manifest(tmp_path)
    (swapped,) = [entry for entry in manifest["warnings"] if "look swapped" in entry["text"]]
    assert swapped["first_frame"] == 0
    assert 1 <= swapped["frames"] <= manifest["checked_frames"] <= 3
    assert "first at frame 0" in said.out


def test_a_warning_that_begins_later_says_when(tmp_path, capsys, monkeypatch):
    load = RenderedSource._load

    def blind(self, index):
        left, right = load(self, index)
        return (left, right) if index < 5 else (left, np.full_like(right, 128))

    monkeypatch.setattr(RenderedSource, "_load", blind)
    assert run(["run", SMALL, *FAST, "--save", "disparity", "-o", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (few,) = [entry for entry in answer["picture_warnings"] if "of the pixels are known" in entry["text"]]
    assert (few["first_frame"], few["frames"]) == (5, 7)
    assert answer["picture_warnings"] == read_manifest(tmp_path)["warnings"]


@pytest.mark.parametrize("bars", ["outside", "between"])
def test_bars_in_a_video_after_a_black_beginning_are_in_the_manifest(tmp_path, capsys, bars):
    scene, bar = RenderedSource("tissue", frames=12, height=96, width=128), np.zeros((96, 16, 3), np.uint8)

    def with_bars(index):
        frame = scene.read()
        left, right = frame.left, frame.right
        if index < 5:
            left = right = np.zeros_like(left)
        parts = (bar, left, right, bar) if bars == "outside" else (left, bar, bar, right)
        return np.hstack(parts[:2]), np.hstack(parts[2:])

    video = write_video(tmp_path / "both.mp4", 12, pair=with_bars, options={"crf": "20"})
    assert run(["run", str(video), *FAST, "--save", "disparity", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert said.err.count("black bars of") == 1
    assert "black bars of" in said.out
    (entry,) = [each for each in read_manifest(tmp_path / "out")["warnings"] if "black bars" in each["text"]]
    assert entry["first_frame"] == 5
    assert entry["frames"] >= 6


def test_a_warning_is_about_no_more_frames_than_there_are(tmp_path):
    """8 of 5: a close look at a frame, which ends later, found what a glance at it had found."""
    source = "render:tissue,frames=5,height=240,width=320,vertical_shift_px=1.5"
    assert run(["run", source, "--save", "disparity", "-o", str(tmp_path)]) == 0
    warnings = read_manifest(tmp_path)["warnings"]
    assert any("lower than the left" in entry["text"] for entry in warnings)
    assert all(entry["frames"] <= 5 for entry in warnings)


def test_the_bits_of_the_pixels_are_said_and_a_change_is_warned_of(tmp_path, capsys, monkeypatch):
    load = RenderedSource._load

    def darker_and_darker(self, index):
        return tuple((image.astype(np.uint16) << 4) >> (2 * (index > 1)) for image in load(self, index))

    monkeypatch.setattr(RenderedSource, "_load", darker_and_darker)
    source = "render:tissue,frames=3,height=160,width=240"
    assert run(["run", source, *FAST, "--save", "disparity", "-o", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "12 bits (--set bits=N if that is wrong)" in said.out
    assert "frame 2: the brightest pixels of some frames have 10 bits, of others 12: --set bits=12" in said.err
    assert read_manifest(tmp_path)["bits"] == [10, 12]


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
