"""Videos as sources: every frame once, at its time, from anywhere; damage, two files, URLs."""

import http.server
import itertools
import socket
import threading
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from bdis import StereoMatcher
from bdis.video.opened_source import parse_time
from bdis.video.sources import (
    BadFrame,
    Source,
    SourceLost,
    guess_layout,
    open_source,
)
from bdis.video.sources.track import Track
from bdis.video.sources.views import Splitter
from bdis.video.stream.depth_stream import DepthStream
from tests.video.videos import (
    FRAMES,
    HEIGHT,
    RIGHT_OFFSET,
    WIDTH,
    brightness,
    damage,
    flat_pair,
    index_of,
    packets_of,
    read_all,
    write_video,
)

# ---------------------------------------------------------------- videos


@pytest.mark.parametrize("ending", ["mp4", "mkv", "ts", "mov"])
def test_every_frame_of_a_video_comes_once_in_order_with_its_time(folder, ending):
    frames, complaints = read_all(open_source(write_video(folder / f"whole.{ending}", FRAMES)))
    assert complaints == []
    assert [frame.index for frame in frames] == list(range(FRAMES))
    assert [index_of(frame.left) for frame in frames] == list(range(FRAMES))
    np.testing.assert_allclose([frame.time_s for frame in frames], np.arange(FRAMES) / 20, atol=1e-3)


@pytest.mark.parametrize("fps", [20, 30])  # Matroska rounds the times of 30 frames/s to whole ms
@pytest.mark.parametrize("ending", ["mp4", "mkv", "ts", "mpg", "h264", "avi"])  # the last three know less of time
@pytest.mark.parametrize("wanted", [0, 1, 7, 8, 9, 23, FRAMES - 1])
def test_seeking_lands_on_the_very_frame(folder, ending, wanted, fps):
    path = folder / f"seek{fps}.{ending}"
    codec = {"codec": "mpeg2video", "options": {"b": "8M", "bf": "2"}} if ending == "mpg" else {}
    with open_source(path if path.exists() else write_video(path, FRAMES, fps=fps, **codec)) as source:
        source.read()
        source.seek(source.time_of(wanted))
        frame = source.read()
        assert frame is not None
        assert (frame.index, index_of(frame.left)) == (wanted, wanted)


def test_every_time_of_a_frame_leads_back_to_it(video):
    with open_source(video) as source:
        for frame in list(source)[::5]:
            source.seek(frame.time_s)
            assert source.read().index == frame.index


@pytest.mark.parametrize("ending", ["mp4", "mkv"])
def test_a_seek_to_a_key_frame_does_not_decode_all_frames_before_it(folder, ending, monkeypatch):
    """Each piece of a batch decoded ten seconds of video before its first frame."""
    path = write_video(folder / f"keys.{ending}", 60, gop=20, options={"crf": "4", "preset": "ultrafast", "bf": "0"})
    decoded, decode_more = [], Track._decode_more
    monkeypatch.setattr(Track, "_decode_more", lambda track: decoded.append(1) or decode_more(track))
    with open_source(path) as source:
        source.seek(source.time_of(40))
        assert source.read().index == 40
        assert len(decoded) < 5


def test_a_seek_finds_a_frame_shortly_before_a_key_frame_where_times_are_uneven(folder):
    times = {19: Fraction(985, 1000), 20: Fraction(990, 1000)}  # frame 20 is a key frame
    path = write_video(folder / "uneven.mkv", gop=20, times=lambda index: times.get(index, Fraction(index, 20)))
    with open_source(path) as source:
        source.seek(0.98)
        assert index_of(source.read().left) == 19


def test_a_seek_in_a_format_that_jumps_too_far_finds_the_frame_all_the_same(folder, monkeypatch):
    path, jump = write_video(folder / "late.mp4", 60, gop=20), Track._jump
    monkeypatch.setattr(Track, "_jump", lambda track, time_s: jump(track, time_s + 0.9))
    with open_source(path) as source:
        source.seek(source.time_of(25))
        assert source.read().index == 25


def test_seeking_past_the_end_is_the_end_and_back_again_works(video):
    with open_source(video) as source:
        source.seek(1000.0)
        assert source.read() is None
        source.seek(0.0)
        assert source.read().index == 0


@pytest.mark.parametrize("ending", ["mp4", "mkv"])  # a TS has no list of key frames: it may be any frame there
def test_seeking_before_a_time_lands_on_a_key_frame(folder, ending):
    """Whoever needs some frame near a time does not wait for all frames after a key frame to be decoded."""
    path = write_video(folder / f"before.{ending}", FRAMES, gop=8)
    with open_source(path) as source:
        for wanted in (3, 8, 15, 39):
            source.seek_before(source.time_of(wanted + 1))
            frame = source.read()
            assert frame.index % 8 == 0
            assert wanted - 8 < frame.index <= wanted
            assert abs(index_of(frame.left) - frame.index % 40) <= 1


def test_seeking_before_a_time_in_two_videos_pairs_their_frames(folder):
    """Their key frames are others."""
    left = write_video(folder / "left.mp4", FRAMES, join="left", gop=8)
    right = write_video(folder / "right.mp4", FRAMES, join="right", gop=11)
    with open_source(left, right=right) as source:
        source.seek_before(1.0)
        frame = source.read()
        assert frame.index == 16
        assert float(np.mean(frame.right)) - float(np.mean(frame.left)) == pytest.approx(RIGHT_OFFSET, abs=1)


def test_a_seek_can_say_what_the_frame_is_numbered(video):
    with open_source(video) as source:
        source.seek(0.5, index=77)
        assert [source.read().index for _ in range(2)] == [77, 78]


def test_a_video_of_uneven_times_keeps_them(folder):
    path = write_video(folder / "uneven.mkv", 12, times=lambda index: Fraction(index * index, 100))
    frames, _ = read_all(open_source(path))
    np.testing.assert_allclose([frame.time_s for frame in frames], np.arange(12) ** 2 / 100, atol=1e-3)
    assert all(one.index < other.index for one, other in itertools.pairwise(frames))


@pytest.mark.parametrize("join", ["side-by-side", "top-bottom"])
@pytest.mark.parametrize("color", [False, True])
def test_views_are_taken_apart(folder, join, color):
    # The shape of 64x96 (top-bottom) and 128x48 (side-by-side) tells which it is.
    frames, _ = read_all(open_source(write_video(folder / f"{join}.mp4", 3, join=join), color=color))
    shape = (HEIGHT, WIDTH, 3) if color else (HEIGHT, WIDTH)
    for frame in frames:
        assert frame.left.shape == frame.right.shape == shape
        assert abs(frame.left.mean() - brightness(frame.index)) < 2
        assert abs(frame.right.mean() - frame.left.mean() - RIGHT_OFFSET) < 2


def test_squeezed_views_are_stretched(folder):
    path = write_video(folder / "squeezed.mp4", 2)
    frames, _ = read_all(open_source(path, squeezed=True))
    assert frames[0].left.shape == (HEIGHT, 2 * WIDTH, 3)
    frames, _ = read_all(open_source(path, layout="top-bottom", squeezed=True))
    assert frames[0].left.shape == (HEIGHT, 2 * WIDTH, 3)


def test_black_of_a_video_is_black():
    """Video has black at 16; a matcher takes 0 for not seen."""
    import av

    frame = av.VideoFrame.from_ndarray(np.full((HEIGHT, WIDTH, 3), 0, np.uint8), format="rgb24").reformat(
        format="yuv420p"
    )
    assert np.frombuffer(frame.planes[0], np.uint8).max() == 16
    assert frame.to_ndarray(format="gray").max() == 0


@pytest.mark.parametrize(
    ("size", "squeezed", "layout"),
    [
        ((2560, 720), False, "side-by-side"),
        ((1280, 480), False, "side-by-side"),
        ((2048, 1024), False, "side-by-side"),
        ((1280, 1440), False, "top-bottom"),
        ((1280, 2048), False, "top-bottom"),
        ((1920, 1080), True, "side-by-side"),
        ((720, 576), True, "side-by-side"),
    ],
)
def test_the_shape_tells_the_layout(size, squeezed, layout):
    assert guess_layout(*size, squeezed) == layout


def test_a_picture_that_could_be_one_view_is_asked_about():
    with pytest.raises(ValueError, match="1920x1080 has the shape of one view.*side-by-side"):
        guess_layout(1920, 1080)


def test_a_picture_that_cannot_be_halved_is_refused():
    with pytest.raises(ValueError, match="101x40 cannot be halved"):
        Splitter("side-by-side")(np.zeros((40, 101), np.uint8))


def test_deinterlaced_frames_keep_their_number_and_time(folder):
    path = write_video(folder / "interlaced.mp4", 20)
    frames, _ = read_all(open_source(path, deinterlace=True))
    assert [frame.index for frame in frames] == [index_of(frame.left) for frame in frames] == list(range(20))
    with open_source(path, deinterlace=True) as source:
        source.seek(0.5)
        assert source.read().index == 10


def test_deinterlacing_removes_the_comb(folder):
    def combed(index):
        """Even rows of a bright bar, odd rows of the same bar half a field later."""
        left = np.full((HEIGHT, WIDTH, 3), 60, np.uint8)
        for parity in (0, 1):
            begin = 8 + 4 * index + 2 * parity
            left[parity::2, begin : begin + 12] = 200
        return left, left

    path = write_video(folder / "combed.mp4", 8, pair=combed)

    def comb(frame):
        rows = frame.left[4:-4].astype(float)
        return np.abs(rows[1:-1] - (rows[:-2] + rows[2:]) / 2).mean()

    plain, _ = read_all(open_source(path, color=False))
    smooth, _ = read_all(open_source(path, color=False, deinterlace=True))
    assert comb(smooth[4]) < 0.3 * comb(plain[4])


# ---------------------------------------------------------------- two videos


def test_two_videos_are_paired_by_time(folder):
    left = write_video(folder / "left.mp4", FRAMES, join="left")
    right = write_video(folder / "right.mp4", FRAMES, join="right")
    with open_source(left, right) as source:
        frames, complaints = read_all(source)
        assert (source.length, complaints, len(frames)) == (FRAMES, [], FRAMES)
        source.seek(0.75)
        frame = source.read()
    assert frame.index == index_of(frame.left) == 15
    assert abs(frame.right.mean() - frame.left.mean() - RIGHT_OFFSET) < 2


def test_a_frame_that_one_video_lacks_is_reported_and_the_rest_stays_in_step(folder):
    left = write_video(folder / "left2.mkv", 20, join="left")
    gap = write_video(
        folder / "gap.mkv", 19, join="right", pair=lambda i: flat_pair(i + (i >= 9)),
        times=lambda i: Fraction(i + (i >= 9), 20),
    )  # fmt: skip
    frames, complaints = read_all(open_source(left, gap))
    assert complaints == [f"{gap} has no frame at 0.450 s"]
    assert [frame.index for frame in frames] == [i for i in range(20) if i != 9]
    assert all(abs(frame.right.mean() - frame.left.mean() - RIGHT_OFFSET) < 2 for frame in frames)


def test_a_damaged_frame_of_one_video_is_counted_once(folder):
    left = write_video(folder / "left3.mp4", 20, join="left")
    right = write_video(folder / "right3.mp4", 20, join="right")
    damage(right, *packets_of(right)[9])
    frames, complaints = read_all(open_source(left, right))
    assert len(complaints) == 1
    assert len(frames) == 19


def test_videos_whose_clocks_differ_stay_in_step(folder):
    """29.75 frames/s for 30: after 5 s a frame of the left one has no partner."""
    left = write_video(folder / "steady.mp4", 300, join="left", fps=30)
    slow = write_video(folder / "slow.mkv", 298, join="right", times=lambda i: Fraction(i * 4, 119), fps=30)
    frames, complaints = read_all(open_source(left, slow))
    assert 1 <= len(complaints) <= 3
    assert all("has no frame" in text for text in complaints)
    for frame in frames:
        number = index_of(frame.right - float(RIGHT_OFFSET))  # modulo 40
        apart_s = min(abs(frame.time_s - (number + 40 * lap) * 4 / 119) for lap in range(8))
        assert apart_s <= 0.6 / 30 + 1e-3


def test_videos_that_begin_apart_by_their_time_stamps_were_paired_without_a_word(folder):
    """The right one misses the first four frames."""
    left = write_video(folder / "left5.mkv", 20, join="left", times=lambda i: Fraction(i, 20))
    late = write_video(
        folder / "late.mkv", 16, join="right", pair=lambda i: flat_pair(i + 4), times=lambda i: Fraction(i + 4, 20)
    )
    said = []
    source = open_source(left, late)
    for frame in DepthStream(source, StereoMatcher("fast"), report=said.append):
        assert frame.index < 16
    warning = "the videos begin 0.200 s apart by their time stamps; they are paired as if they began together"
    assert list(source.warnings) == [warning]
    assert said[0] == warning
    with open_source(left, write_video(folder / "same.mkv", 20, join="right")) as other:
        assert other.read() is not None
        assert not other.warnings


def test_bursts_that_begin_apart_by_less_than_the_average_step_were_paired_without_a_word(folder):
    """The right one misses the first frame, whose step is shorter than half of the average one."""

    def in_bursts(index: int) -> Fraction:
        return index // 5 + Fraction(index % 5, 50)

    left = write_video(folder / "bursts_left.mkv", 40, join="left", times=in_bursts)
    late, same = (
        write_video(
            folder / f"bursts_{first}.mkv", 40 - first, join="right", times=lambda i: in_bursts(i + first),
            pair=lambda i: flat_pair(i + first),
        )
        for first in (1, 0)
    )  # fmt: skip
    said, source = [], open_source(left, late)
    list(DepthStream(source, StereoMatcher("fast"), report=said.append))
    warning = "the videos begin 0.020 s apart by their time stamps; they are paired as if they began together"
    assert list(source.warnings) == [warning]
    assert said.count(warning) == 1
    source = open_source(left, same)
    assert read_all(source)[1] == []
    assert not source.warnings


def paused(index: int) -> Fraction:
    """Time of a frame of a recorder of 50 frames/s that was paused for 8 s after its first 20 frames."""
    return Fraction(index, 50) + (8 if index >= 20 else 0)


def write_without(path, lost, join, times):
    """A view of 40 frames of which some are lost."""
    there = [index for index in range(FRAMES) if index not in lost]
    return write_video(
        path, len(there), join=join, pair=lambda i: flat_pair(there[i]), times=lambda i: times(there[i]), fps=50
    )


@pytest.mark.parametrize(
    ("lost_left", "lost_right"),
    [((), (5,)), ((), (19,)), ((), (20,)), ((5,), ()), ((6,), (5,)), ((18,), (19,)), ((), (5, 6, 30)), ((38,), (39,))],
)
def test_a_lost_frame_of_videos_that_were_paused_shifted_all_later_pairs(folder, lost_left, lost_right):
    """The average rate of an MP4 counts the pause, so that a tolerance from it is larger than a step."""
    left = write_without(folder / "paused_left.mp4", lost_left, "left", paused)
    right = write_without(folder / "paused_right.mp4", lost_right, "right", paused)
    source = open_source(left, right)
    assert source.fps < 10
    source._check_rates = lambda: None  # one frame of so few changes the average
    frames, _ = read_all(source)
    views = [(index_of(frame.left), index_of(frame.right - float(RIGHT_OFFSET))) for frame in frames]
    assert views == [(i, i) for i in range(FRAMES) if i not in lost_left + lost_right]


def test_a_seek_to_a_key_frame_of_videos_that_were_paused_gave_a_loss_that_was_none(folder):
    places = [write_without(folder / f"seek_{join}.mp4", (), join, paused) for join in ("left", "right")]
    with open_source(*places) as source:
        source.seek_before(0.35)
        frame = source.read()
    assert (index_of(frame.left), index_of(frame.right - float(RIGHT_OFFSET))) == (16, 16)


@pytest.mark.parametrize("late_ms", [0, 3, 10, 16])
def test_pairs_of_a_rate_that_does_not_change_stay_as_they_are(folder, late_ms):
    """Times in whole ms, of which the steps are 33 and 34; the right view is up to half a frame late."""
    left = write_video(folder / "even.mkv", FRAMES, join="left", fps=30, times=lambda i: Fraction(i, 30))
    shifted = write_video(
        folder / "shifted.mkv", FRAMES, join="right", fps=30,
        times=lambda i: Fraction(i, 30) + Fraction(late_ms if i else 0, 1000),
    )  # fmt: skip
    frames, complaints = read_all(open_source(left, shifted))
    assert complaints == []
    assert [index_of(frame.right - float(RIGHT_OFFSET)) for frame in frames] == list(range(FRAMES))


def test_a_damaged_frame_is_told_between_the_frames_before_and_after_it_where_times_differ_a_little(folder):
    """Whether a pair is the nearest one is known from the frames after it, which may be damaged."""
    left = write_video(folder / "left6.mp4", 20, join="left", times=lambda i: Fraction(i, 20), gop=1)
    right = write_video(folder / "right6.mp4", 20, join="right", times=lambda i: Fraction(i, 20) + Fraction(i % 2, 500))
    damage(left, *packets_of(left)[9])
    told = []
    with open_source(left, right) as source:
        for _ in range(21):
            try:
                frame = source.read()
                told.append("end" if frame is None else frame.index)
            except BadFrame as error:
                told.append(f"{error.count} lost")
    assert told == [*range(9), "1 lost", *range(10, 20), "end"]


def test_videos_of_different_lengths_or_rates_are_reported(folder):
    left = write_video(folder / "left4.mp4", 20, join="left")
    short = write_video(folder / "short.mp4", 15, join="right")
    frames, complaints = read_all(open_source(left, short))
    assert len(frames) == 15
    assert len(complaints) == 1
    assert f"{short} has 15 frames and {left} has 20: the rest is skipped" in complaints[0]
    one_less = write_video(folder / "one_less.mp4", 19, join="right")
    _, complaints = read_all(open_source(left, one_less))
    assert "the views after them are of different moments" in complaints[0]
    quick = write_video(folder / "quick.mp4", 20, join="right", fps=30)
    with pytest.raises(ValueError, match="20 frames per second but .* has 30"):
        open_source(left, quick).read()


# ---------------------------------------------------------------- what a file says of its frames


def test_frames_that_a_trimmed_file_hides_were_counted_as_lost(folder):
    """Cut without coding anew: an edit list hides the frames from the key frame to the cut, and some at the end."""
    import av

    path = write_video(folder / "whole.mp4", FRAMES)
    with av.open(str(path)) as source, av.open(str(folder / "trimmed.mp4"), "w") as trimmed:
        stream = trimmed.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = stream
                packet.pts, packet.dts = packet.pts - 5 * packet.duration, packet.dts - 5 * packet.duration
                trimmed.mux(packet)
    source = open_source(folder / "trimmed.mp4")
    length = source.length
    frames, complaints = read_all(source)
    assert complaints == []
    assert length == len(frames) == FRAMES - 5
    assert index_of(frames[0].left) == 5


def test_a_video_that_is_to_be_shown_turned_says_so(video, folder):
    content = bytearray(video.read_bytes())
    matrix = content.index(b"tkhd") + 44  # behind version, times, number, duration, layer and volume
    one, none, whole = (1 << 16).to_bytes(4), bytes(4), (1 << 30).to_bytes(4)
    assert content[matrix : matrix + 36] == one + 3 * none + one + 3 * none + whole
    minus_one = (-(1 << 16)).to_bytes(4, signed=True)
    content[matrix : matrix + 4] = content[matrix + 16 : matrix + 20] = minus_one
    turned = folder / "turned.mp4"
    turned.write_bytes(content)
    with open_source(turned) as source, open_source(video) as straight:
        assert np.array_equal(source.read().left, straight.read().left)
        assert list(source.warnings) == [
            f"{turned} says that it is to be shown turned; its frames are used as they are stored"
        ]
        assert not straight.warnings


def test_a_frame_number_in_a_video_of_uneven_times_was_another_frame_without_a_word(folder, video):
    said = []
    with open_source(write_video(folder / "bursts.mp4", FRAMES, fps=50, times=paused)) as source:
        time_s = parse_time("30", source, "--start", said.append)
        assert source.rate_varies
        assert parse_time("9s", source, "--stop", said.append) == 9
        assert parse_time("0", source, "--start", said.append) == 0
    assert len(said) == 1
    assert "--start 30: the frame rate of" in said[0]
    assert f"give a time, such as --start {time_s:.3f}s" in said[0]
    assert source.remarks == [f"the frame rate of {source.name} varies: a place in it is known by its time only"]
    with open_source(video) as even:
        parse_time("30", even, "--start", said.append)
        assert len(list(even)) == FRAMES
        assert not even.rate_varies
        assert even.remarks == []
    assert len(said) == 1


# ---------------------------------------------------------------- damage


def test_a_damaged_frame_is_reported_and_the_rest_is_read(folder):
    path = write_video(folder / "damaged.mp4", FRAMES)
    damage(path, *packets_of(path)[10])
    frames, complaints = read_all(open_source(path))
    assert len(complaints) == 1
    assert len(frames) == FRAMES - 1


def test_frames_that_build_on_a_damaged_one_are_suspect(folder):
    path = write_video(folder / "suspect.mp4", 24, gop=8, options={"crf": "4", "preset": "ultrafast", "bf": "0"})
    damage(path, *packets_of(path)[10])
    frames, complaints = read_all(open_source(path))
    assert complaints == ["frame 10 at 0.500 s is damaged"]
    assert [frame.index for frame in frames if frame.is_suspect] == [11, 12, 13, 14, 15]  # 16 is a key frame
    with open_source(path) as source:
        for sought, is_suspect in ((12, True), (17, False)):
            source.seek(source.time_of(sought))
            assert source.read().is_suspect is is_suspect


def test_a_frame_with_a_damaged_part_is_reported(folder):
    noise = np.random.default_rng(0).integers(0, 255, (10, HEIGHT, 2 * WIDTH, 3), np.uint8)
    path = write_video(folder / "part.mp4", 10, pair=lambda i: (noise[i][:, :WIDTH], noise[i][:, WIDTH:]), gop=1)
    position, size = packets_of(path)[4]
    damage(path, position + size // 2, size // 4)
    frames, complaints = read_all(open_source(path))
    assert complaints == ["frame 4 at 0.200 s is damaged"]
    assert [frame.index for frame in frames] == [0, 1, 2, 3, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(("ending", "options"), [("mkv", {}), ("ts", {}), ("mp4", {"movflags": "faststart"})])
def test_a_file_that_is_cut_off_is_read_to_where_it_ends(folder, ending, options):
    path = write_video(folder / f"cut.{ending}", FRAMES, container_options=options)
    content = path.read_bytes()
    path.write_bytes(content[: 2 * len(content) // 3])
    frames, complaints = read_all(open_source(path))
    assert 5 < len(frames) < FRAMES
    if ending != "ts":  # a transport stream has no header to say how long it is
        assert "cut off" in complaints[-1]


def test_frames_that_a_damaged_file_lost_are_counted(folder):
    noise = np.random.default_rng(0).integers(0, 150, (HEIGHT, WIDTH, 3), np.uint8)
    path = write_video(folder / "hole.mkv", 200, pair=lambda i: (noise + np.uint8(i % 100),) * 2)
    size = path.stat().st_size
    damage(path, size // 3, size // 10)
    frames, lost = [], 0
    with open_source(path) as source:
        while True:
            try:
                frame = source.read()
            except BadFrame as error:
                lost += error.count
                continue
            if frame is None:
                break
            frames.append(frame.index)
    assert frames[-1] == 199
    assert len(frames) < 195
    assert abs(len(frames) + lost - 200) <= 2


def test_a_file_with_longer_sound_or_a_late_start_is_not_cut_off(folder):
    import av

    path = folder / "sound.mkv"
    with av.open(str(write_video(folder / "silent.mp4", FRAMES))) as silent, av.open(str(path), "w") as both:
        picture = both.add_stream_from_template(silent.streams.video[0])
        sound = both.add_stream("aac", rate=8000)
        for packet in silent.demux(video=0):
            if packet.dts is not None:
                packet.stream = picture
                both.mux(packet)
        quiet = av.AudioFrame.from_ndarray(np.zeros((1, 8000 * 6), np.float32), format="fltp", layout="mono")
        quiet.rate = 8000
        both.mux(sound.encode(quiet))
        both.mux(sound.encode())
    late = write_video(folder / "late.mkv", FRAMES, times=lambda index: Fraction(60 + index, 20))
    for intact in (path, late):
        with open_source(intact) as source:
            assert source.length == FRAMES
            frames, complaints = read_all(source)
        assert (len(frames), complaints) == (FRAMES, [])
        assert frames[0].index == 0


def test_a_video_of_uneven_times_lacks_nothing(folder):
    path = write_video(
        folder / "pauses.mkv",
        30,
        times=lambda index: Fraction(index + 40 * (index // 10), 20) + Fraction(index % 3, 60),
    )
    frames, complaints = read_all(open_source(path))
    assert (len(frames), complaints) == (30, [])


def test_a_file_whose_disk_fails_is_an_error_and_not_its_end(folder, video, monkeypatch):
    import av

    source = open_source(video)
    source.read()
    track = source._track

    def failing():
        raise av.error.OSError(5, "Input/output error", "disk")
        yield

    monkeypatch.setattr(track, "_packets", failing())
    track._decoded.clear()
    with pytest.raises(OSError, match="Input/output error"):
        source.read()


def test_a_file_that_vanishes_is_an_error_and_is_not_waited_for(folder):
    path = write_video(folder / "vanishing.mp4", 3)
    source = open_source(path)
    source.read()
    source.close()
    path.unlink()
    with pytest.raises(OSError, match="No such file") as caught:
        source.read()
    assert not isinstance(caught.value, SourceLost)


def test_a_recording_without_its_index_says_so(folder):
    path = write_video(folder / "unfinished.mp4", FRAMES)
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(ValueError, match="never finished"):
        open_source(path).read()


@pytest.mark.parametrize("content", [b"", b"not a video at all" * 100])
def test_a_file_that_is_no_video_says_so(folder, content):
    path = folder / "text.mp4"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a video"):
        open_source(path).read()


def test_a_missing_file_says_so():
    with pytest.raises(FileNotFoundError, match="no such file or folder, camera or URL"):
        open_source("nowhere.mp4")


# ---------------------------------------------------------------- URLs


@pytest.fixture(scope="module")
def server(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


def test_a_video_behind_a_url_is_a_file(server, video):
    with open_source(f"{server}/{video.name}") as source:
        assert not source.is_live
        assert len(list(source)) == FRAMES


def test_a_url_that_is_not_there_says_so(server):
    with pytest.raises(OSError, match="404"):
        open_source(f"{server}/nothing.mp4").read()


def until_lost(source: Source) -> list:
    frames = []
    try:
        while True:
            frames.append(source.read())
    except SourceLost:
        source.close()
        return frames


def test_a_stream_is_live_and_comes_back_after_it_was_lost(folder):
    """A transport stream over TCP, whose sender goes away and returns."""
    content = write_video(folder / "live.ts", 20).read_bytes()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def send_twice():
            for _ in range(2):
                connection, _ = listening.accept()
                with connection:
                    connection.sendall(content)

        threading.Thread(target=send_twice, daemon=True).start()
        with open_source(f"tcp://127.0.0.1:{listening.getsockname()[1]}") as source:
            assert source.is_live
            assert source.length is None
            with pytest.raises(ValueError, match="live"):
                source.seek(0.0)
            first, second = [until_lost(source) for _ in range(2)]
    assert len(first) >= 15
    assert len(second) >= 15
    assert second[0].index == first[-1].index + 1  # it goes on counting
    assert second[0].time_s >= first[-1].time_s
