"""A recording that was made in pieces is the one that ``bdis run`` writes."""

import json

import numpy as np
import pytest

from bdis import StereoMatcher, open_source
from bdis.cameras.given_cameras import GivenCameras
from bdis.cli.app import run as command
from bdis.video.opened_source import SourceRequest
from bdis.video.recording import read_depth_video, read_frame_log, read_manifest
from bdis.video.recording.pieces import NotJoinable, cut, join, record_piece
from bdis.video.recording.run_request import RunRequest
from tests.cli.recordings import contents
from tests.video.videos import write_video

pytest.importorskip("av")
FRAMES = 70
RENDERED = f"render:tissue,frames={FRAMES},distinct=12,height=64,width=96"
EVERYTHING = ("depth", "disparity", "probability", "sigma", "cloud", "video", "preview")
RIG = GivenCameras(focal=80.0, baseline=4.0)
RIG_OPTIONS = ["--focal", 80, "--baseline", 4]


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    """Both views, with a key frame every 12 frames: not where pieces begin."""
    pairs = [(frame.left, frame.right) for frame in open_source(RENDERED)]
    path = tmp_path_factory.mktemp("source") / "both.mp4"
    return write_video(path, FRAMES, pair=lambda index: pairs[index], fps=25, gop=12)


def in_pieces(request, folder, piece_frames=25):
    """What the workers of a cluster do, in another order; the recording, and how many pieces it was made of."""
    matcher = StereoMatcher(request.prepare().settings)
    run = request.prepare().with_clip_range(matcher)
    pieces = cut(run, piece_frames)
    made = [folder / f"piece{piece.number}" for piece in pieces]
    folder.mkdir()
    for piece, path in reversed(list(zip(pieces, made))):
        record_piece(run, piece, matcher, path, lambda text: None)
    join(run.plan, run.about, pieces, made, folder / "joined")
    return folder / "joined", len(pieces)


def by_run(folder, *arguments):
    assert command(["run", *map(str, arguments), "-o", str(folder)]) == 0
    return folder


def results(records):
    """What a log says but for the times that were measured."""
    return [
        (each.index, each.time_s, each.coverage, each.suspect, each.lost_before, each.file_bytes) for each in records
    ]


def assert_same(joined, whole, capsys):
    capsys.readouterr()
    ours, theirs = contents(joined), contents(whole)
    assert sorted(ours) == sorted(theirs)
    assert [name for name in ours if ours[name] != theirs[name]] == []
    assert results(read_frame_log(joined / "frames.csv")) == results(read_frame_log(whole / "frames.csv"))
    left_out = {"parts", "checked_frames", "warnings", "machine"}
    kept = [
        {name: value for name, value in read_manifest(folder).items() if name not in left_out}
        for folder in (joined, whole)
    ]
    assert kept[0] == kept[1]


@pytest.mark.parametrize("every", [1, 2])
def test_pieces_of_a_video_joined_are_the_files_of_run_bit_for_bit(video, tmp_path, capsys, every):
    request = RunRequest(SourceRequest(str(video), cameras=RIG), EVERYTHING, preset="fast", every=every)
    joined, count = in_pieces(request, tmp_path / "pieces")
    assert count == {1: 3, 2: 2}[every]
    save = ["--save", ",".join(EVERYTHING), "--every", every]
    assert_same(joined, by_run(tmp_path / "whole", video, *RIG_OPTIONS, "--preset", "fast", *save), capsys)


def test_pieces_of_a_span_joined_are_the_files_of_run_bit_for_bit(tmp_path, capsys):
    request = RunRequest(SourceRequest(RENDERED), preset="fast", start="7", stop="2.4s")
    joined, count = in_pieces(request, tmp_path / "pieces")
    assert count == 3
    assert_same(
        joined, by_run(tmp_path / "whole", RENDERED, "--preset", "fast", "--start", 7, "--stop", "2.4s"), capsys
    )


def test_a_joined_recording_is_complete_for_resume(tmp_path, capsys):
    joined, _ = in_pieces(RunRequest(SourceRequest(RENDERED), preset="fast"), tmp_path / "pieces")
    assert command(["run", RENDERED, "--preset", "fast", "-o", str(joined), "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["frames"] == FRAMES


def test_pieces_of_averaged_frames_differ_little_after_a_cut(tmp_path):
    request = RunRequest(SourceRequest(RENDERED), ("video",))
    joined, _ = in_pieces(request, tmp_path / "pieces")
    whole = by_run(tmp_path / "whole", RENDERED, "--save", "video")
    depths = [[depth for _, _, depth in read_depth_video(folder / "depth.mkv")] for folder in (joined, whole)]
    differences = np.abs(np.array(depths[0]) - np.array(depths[1]))
    assert not np.nan_to_num(differences[:25]).any()
    assert np.nanmedian(differences[25:]) < 0.05  # mm, at about 60 mm


def test_a_video_that_lost_frames_cannot_be_joined(video, tmp_path):
    damaged = tmp_path / "damaged.mp4"
    content = bytearray(video.read_bytes())
    middle = len(content) // 3
    content[middle : middle + 4000] = bytes(4000)
    damaged.write_bytes(content)
    request = RunRequest(SourceRequest(str(damaged), cameras=RIG), ("video",), preset="fast")
    with pytest.raises(NotJoinable, match="piece 0 has"):
        in_pieces(request, tmp_path / "pieces")
    assert cut(request.prepare(), 100)[0].end is None
