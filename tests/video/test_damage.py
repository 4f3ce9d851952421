"""Damaged videos: every frame that the file promises is delivered or counted as lost."""

import os
import threading
import time

import av
import numpy as np
import pytest

from bdis.common import reading
from bdis.video.recording.video_file import count_readable_frames
from bdis.video.sources import open_source
from tests.video.corruption import FORMATS, FRAMES, account_of, corrupted, moving, write_whole_videos
from tests.video.videos import damage, packets_of, read_all, write_video


@pytest.fixture(scope="module")
def whole(folder):
    return write_whole_videos(folder)


@pytest.mark.parametrize("ending", FORMATS)
def test_an_intact_video_promises_and_delivers_all_frames(whole, ending):
    account = account_of(whole[ending])
    assert (account.promised, account.delivered, account.lost, account.said) == (FRAMES, FRAMES, 0, [])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ending", FORMATS)
def test_delivered_and_lost_frames_are_those_that_were_promised(whole, folder, ending, seed):
    path = folder / f"corrupted.{ending}"
    path.write_bytes(corrupted(whole[ending].read_bytes(), seed))
    account = account_of(path)
    assert account.is_settled, account


def test_a_damaged_transport_stream_does_not_stop_with_list_index_out_of_range(whole, folder):
    """Damage that looks like one more stream."""
    content = bytearray(whole["ts"].read_bytes())
    rng = np.random.default_rng(0)
    for packet in rng.choice(len(content) // 188, 40, replace=False):
        content[packet * 188 + rng.integers(1, 12)] ^= 1 << rng.integers(8)
    with_sound = _with_sound(whole["mkv"], folder / "sound.ts").read_bytes()
    (folder / "joined.ts").write_bytes(bytes(content) + with_sound)
    account = account_of(folder / "joined.ts")
    assert account.delivered > FRAMES
    (folder / "bits.ts").write_bytes(content)
    assert account_of(folder / "bits.ts").is_settled


def test_frames_that_pyav_cannot_assign_to_a_stream_are_passed_over(whole, monkeypatch):
    source = open_source(whole["ts"])
    source.read()
    rest = source._track._packets

    def broken():
        yield next(rest)
        raise IndexError("list index out of range")

    source._track._packets = broken()
    frames, complaints = read_all(source)
    assert len(frames) + sum(int(text.split()[0]) for text in complaints) == FRAMES - 1


def test_a_truncated_mjpeg_avi_says_how_many_frames_are_missing(whole, folder):
    path = folder / "cut.avi"
    content = whole["avi"].read_bytes()
    path.write_bytes(content[: 8 * len(content) // 10])
    account = account_of(path)
    assert account.promised == FRAMES
    assert 60 < account.delivered < 80
    assert account.delivered + account.lost == FRAMES
    assert any("missing" in text for text in account.said)


def test_a_grey_part_of_a_damaged_mjpeg_frame_is_not_delivered(whole, folder):
    path = folder / "grey.avi"
    path.write_bytes(whole["avi"].read_bytes())
    position, size = packets_of(path)[10]
    damage(path, position + 700, size - 800)
    account = account_of(path)
    assert (account.delivered, account.lost, account.said) == (FRAMES - 1, 1, ["frame 10 at 0.500 s is damaged"])


def test_every_frame_that_a_matroska_file_lost_is_counted_not_one_for_all(whole, folder):
    path = folder / "hole.mkv"
    path.write_bytes(whole["mkv"].read_bytes())
    places = packets_of(path)
    damage(path, places[30][0] - 8, places[42][0] - places[30][0])
    account = account_of(path)
    assert account.lost >= 10
    assert account.delivered + account.lost == FRAMES


@pytest.mark.parametrize("missing", [1, 2])
def test_a_short_gap_is_counted_too(folder, missing):
    from fractions import Fraction

    path = write_video(
        folder / f"gap{missing}.mkv", 20, times=lambda index: Fraction(index + missing * (index >= 7), 20)
    )
    account = account_of(path)
    assert (account.delivered, account.lost) == (20, missing)
    assert "missing after frame 6" in account.said[0]


def test_frames_that_an_mp4_never_had_are_not_lost(folder):
    from fractions import Fraction

    path = write_video(folder / "left_out.mp4", 40, times=lambda index: Fraction(index + 2 * (index >= 7), 20))
    account = account_of(path)
    assert (account.promised, account.delivered, account.lost, account.said) == (40, 40, 0, [])


@pytest.mark.parametrize("tag", ["soon", "1:2", "00:00:xx", "", "::", "-1:00:00", "nan:nan:nan"])
def test_a_malformed_duration_tag_does_not_refuse_a_good_video(whole, folder, tag):
    path = folder / "tag.mkv"
    content = whole["mkv"].read_bytes()
    good = b"00:00:04.500000000"
    assert content.count(good) == 1
    path.write_bytes(content.replace(good, tag.encode().ljust(len(good), b"\0")))
    assert account_of(path).delivered == FRAMES
    assert account_of(path).said == []


def test_two_videos_without_times_are_suspect_after_a_lost_frame(folder):
    mjpeg = {"codec": "mjpeg", "options": {}, "pixel_format": "yuvj420p", "pair": moving}
    left = write_video(folder / "left.avi", 20, join="left", **mjpeg)
    right = write_video(folder / "right.avi", 20, join="right", **mjpeg)
    position, size = packets_of(right)[9]
    damage(right, position + 700, size - 800)
    frames, complaints = read_all(open_source(left, right))
    assert any("views may be of different moments" in text for text in complaints)
    assert [frame.index for frame in frames] == [index for index in range(20) if index != 9]
    assert all(frame.is_suspect == (frame.index > 9) for frame in frames)


@pytest.mark.parametrize("side", ["left", "right"])
def test_pairs_lost_with_either_video_are_counted_once(folder, side):
    paths = {join: write_video(folder / f"pairs-{join}.mkv", 40, join=join, pair=moving) for join in ("left", "right")}
    places = packets_of(paths[side])
    for index in (10, 11, 12, 25):
        damage(paths[side], *places[index])
    delivered = lost = 0
    with open_source(paths["left"], paths["right"]) as source:
        assert source.length == 40
        for _ in range(60):
            try:
                if source.read() is None:
                    break
                delivered += 1
            except ValueError as error:
                lost += error.count
    assert lost >= 3
    assert delivered + lost == 40


# --- Pipes ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def fifo(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_pipe_nobody_writes_to_is_an_error_and_does_not_block_for_ever(fifo, monkeypatch):
    monkeypatch.setattr(reading, "PIPE_WAIT_S", 0.3)
    begin = time.monotonic()
    with pytest.raises(OSError, match=r"nobody has written to this pipe for 0.3 s"):
        open_source(fifo).read()
    assert time.monotonic() - begin < 5


def test_a_pipe_whose_writer_stops_is_an_error(fifo, whole, monkeypatch):
    monkeypatch.setattr(reading, "PIPE_WAIT_S", 0.5)
    is_done = threading.Event()

    def write_half():
        content = whole["ts"].read_bytes()
        with open(fifo, "wb") as file:
            file.write(content[: len(content) // 2])
            file.flush()
            is_done.wait(20)

    threading.Thread(target=write_half, daemon=True).start()
    with open_source(fifo) as source, pytest.raises(OSError, match="nobody has written to this pipe"):
        list(source)
    is_done.set()


def test_a_pipe_somebody_writes_to_is_read_to_its_end(fifo, whole):
    def write():
        with open(fifo, "wb") as file:
            file.write(whole["ts"].read_bytes())

    threading.Thread(target=write, daemon=True).start()
    with open_source(fifo) as source:
        assert source.is_live
        assert sum(1 for _ in source) == FRAMES


def test_a_title_in_another_encoding_refused_a_good_video(whole, tmp_path):
    """PyAV takes all texts of a file for UTF-8."""
    path, content = tmp_path / "latin.mkv", whole["mkv"].read_bytes()
    assert b"Lavf" in content  # the program that wrote it, in its tags
    path.write_bytes(content.replace(b"Lavf", b"L\xe4vf"))
    with open_source(path) as source:
        assert sum(1 for _ in source) == FRAMES
    assert count_readable_frames(path) == FRAMES


def _with_sound(video, path):
    """The video with a sound track beside it."""
    with av.open(str(video)) as silent, av.open(str(path), "w") as both:
        picture = both.add_stream_from_template(silent.streams.video[0])
        sound = both.add_stream("aac", rate=8000)
        quiet = av.AudioFrame.from_ndarray(np.zeros((1, 32000), np.float32), format="fltp", layout="mono")
        quiet.rate = 8000
        both.mux(sound.encode(quiet))
        both.mux(sound.encode())
        for packet in silent.demux(video=0):
            if packet.dts is not None:
                packet.stream = picture
                both.mux(packet)
    return path
