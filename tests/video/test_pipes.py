"""Pipes as sources, written to by ffmpeg and gst-launch: every frame or the newest, and writers that misbehave."""

import io
import os
import shutil
import subprocess
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest

import bdis
from bdis.common import reading
from bdis.video.sources import BadFrame, open_source
from bdis.video.sources.pipe import parse_pipe_format
from bdis.video.stream.depth_stream import DepthStream
from tests.cli.commands import COMMAND

pytest.importorskip("av")
if not hasattr(os, "mkfifo"):
    pytest.skip("no named pipes", allow_module_level=True)
FFMPEG = shutil.which("ffmpeg")
needs_ffmpeg = pytest.mark.skipif(FFMPEG is None, reason="ffmpeg is not installed (make peers)")
FRAMES, RATE = 20, 25
RAW = f"rawvideo:96x40:rgb24:{RATE}"
PICTURES = [
    np.random.default_rng(index).integers(0, 256, (40, 96, 3), np.uint8) // 8 + np.uint8(10 * index)
    for index in range(FRAMES)
]
CONTENT = b"".join(picture.tobytes() for picture in PICTURES)


@pytest.fixture
def fifo(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def write(path, content, pause_s=0.0, keep=None):
    """Write to a pipe from a thread, frame by frame; ``keep``: an event that lets it close the pipe."""

    def run():
        with open(path, "wb", buffering=0) as file:
            try:
                for begin in range(0, len(content), 96 * 40 * 3):
                    file.write(content[begin : begin + 96 * 40 * 3])
                    time.sleep(pause_s)
                if keep is not None:
                    keep.wait(20)
            except BrokenPipeError:
                pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def ffmpeg(*arguments, **options):
    source = ["-f", "lavfi", "-i", f"testsrc2=size=96x40:rate={RATE}", "-frames:v", str(FRAMES)]
    return subprocess.Popen([FFMPEG, "-v", "error", "-y", *source, *arguments], stdin=subprocess.DEVNULL, **options)


def sizes_and_times(source):
    return [(frame.left.shape, round(frame.time_s, 3)) for frame in source]


# --- What comes through -----------------------------------------------------------------------------------------------


def test_raw_frames_arrive_bit_for_bit(fifo):
    write(fifo, CONTENT)
    with open_source(fifo, pipe_format=RAW, all_frames=True) as source:
        frames = list(source)
    assert [frame.index for frame in frames] == list(range(FRAMES))
    assert [frame.time_s for frame in frames] == pytest.approx([index / RATE for index in range(FRAMES)])
    for frame, picture in zip(frames, PICTURES, strict=True):
        assert np.array_equal(frame.left, picture[:, :48])
        assert np.array_equal(frame.right, picture[:, 48:])


def test_top_bottom_raw_frames_are_split(fifo):
    write(fifo, CONTENT)
    with open_source(fifo, pipe_format=RAW, all_frames=True, layout="top-bottom") as source:
        frame = source.read()
    assert np.array_equal(frame.right, PICTURES[0][20:])


@needs_ffmpeg
@pytest.mark.parametrize(
    ("options", "pipe_format"),
    [
        (["-f", "yuv4mpegpipe", "-pix_fmt", "yuv420p"], None),
        (["-f", "yuv4mpegpipe", "-pix_fmt", "yuv420p"], "y4m"),
        (["-f", "nut", "-c:v", "rawvideo", "-pix_fmt", "rgb24"], None),
        (["-f", "nut", "-c:v", "rawvideo", "-pix_fmt", "yuv422p"], "nut"),
        (["-f", "rawvideo", "-pix_fmt", "uyvy422"], f"rawvideo:96x40:uyvy422:{RATE}"),
        (["-f", "mpegts", "-c:v", "mpeg2video"], None),
    ],
)
def test_what_ffmpeg_writes_is_read_frame_by_frame(fifo, options, pipe_format):
    with ffmpeg(*options, str(fifo)) as process, open_source(fifo, pipe_format=pipe_format, all_frames=True) as source:
        found = sizes_and_times(source)
    assert process.returncode == 0
    assert found == [((40, 48, 3), round(index / RATE, 3)) for index in range(FRAMES)]


@needs_ffmpeg
def test_two_pipes_are_the_two_views(tmp_path):
    places = [tmp_path / "left", tmp_path / "right"]
    processes = []
    for place in places:
        os.mkfifo(place)
        processes.append(ffmpeg("-f", "yuv4mpegpipe", "-pix_fmt", "yuv420p", str(place)))
    with open_source(*places, all_frames=True) as source:
        frames = list(source)
    assert [process.wait(10) for process in processes] == [0, 0]
    assert len(frames) == FRAMES
    assert all(np.array_equal(frame.left, frame.right) for frame in frames)


def write_views(tmp_path, container, codec, frames_of_views, rates=(RATE, RATE)):
    """Two pipes with a view each, whose frame i has the grey level 10 * i; frames that are not listed are lost."""
    places = []
    for name, frames, rate in zip(("left", "right"), frames_of_views, rates, strict=True):
        os.mkfifo(tmp_path / name)
        places.append(tmp_path / name)
        write(places[-1], grey_video(container, codec, frames, rate))
    return places


def grey_video(container, codec, frames, rate):
    import av

    content = io.BytesIO()
    with av.open(content, "w", format=container) as output:
        stream = output.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for index in frames:
            picture = np.full((48, 64, 3), 10 * index, np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")
            frame.pts, frame.time_base = index, Fraction(1, rate)
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return content.getvalue()


def numbers_of(source):
    """Of every frame of a source, which moment each view is of; and what was said about those that are lost."""
    pairs, said = [], []
    with source:
        while True:
            try:
                frame = source.read()
            except BadFrame as error:
                said.append(str(error))
                continue
            if frame is None:
                return pairs, said
            pairs.append((round(frame.left.mean() / 10), round(frame.right.mean() / 10)))


@pytest.mark.parametrize(("container", "codec"), [("nut", "rawvideo"), ("matroska", "ffv1"), ("mpegts", "mpeg2video")])
def test_a_lost_frame_of_one_of_two_pipes_shifted_all_later_pairs(tmp_path, container, codec):
    places = write_views(tmp_path, container, codec, (range(FRAMES), [i for i in range(FRAMES) if i != 7]))
    pairs, said = numbers_of(open_source(*places, all_frames=True))
    assert pairs == [(i, i) for i in range(FRAMES) if i != 7]
    assert len(said) == 1
    assert "right has no frame at 0.280 s" in said[0]


@pytest.mark.parametrize("all_frames", [True, False])
def test_two_pipes_of_different_rates_were_paired_by_order(tmp_path, all_frames):
    places = write_views(tmp_path, "yuv4mpegpipe", "wrapped_avframe", (range(FRAMES), range(FRAMES)), (25, 12))
    with (
        open_source(*places, all_frames=all_frames) as source,
        pytest.raises(ValueError, match=r"left has 25 frames per second but .*right has 12"),
    ):
        source.read()


def test_two_pipes_begin_again_with_the_pair_that_was_first(tmp_path):
    places = write_views(tmp_path, "nut", "rawvideo", (range(FRAMES), range(1, FRAMES)))
    with open_source(*places, all_frames=True) as source:
        before = [source.read().left.mean() for _ in range(3)]
        source.rewind()
        assert [source.read().left.mean() for _ in range(3)] == before


def test_a_right_pipe_that_ends_first_is_said(tmp_path):
    places = [tmp_path / "left", tmp_path / "right"]
    for place, count in zip(places, (FRAMES, 7)):
        os.mkfifo(place)
        write(place, CONTENT[: count * 96 * 40 * 3])
    with open_source(*places, pipe_format=RAW, all_frames=True) as source:
        for _ in range(7):
            assert source.read() is not None
        with pytest.raises(BadFrame, match="right ended before .*left"):
            source.read()
        assert source.read() is None


def test_gst_launch_writes_to_the_standard_input():
    inspect = shutil.which("gst-inspect-1.0")
    if inspect is None or subprocess.run([inspect, "y4menc"], capture_output=True, check=False).returncode:
        pytest.skip("gst-launch-1.0 with its y4menc is not installed (make peers)")
    pictures = ["videotestsrc", f"num-buffers={FRAMES}", "!", f"video/x-raw,width=96,height=40,framerate={RATE}/1"]
    command = ["gst-launch-1.0", "-q", *pictures, "!", "videoconvert", "!", "y4menc", "!", "fdsink", "fd=1"]
    code = (
        "from bdis.video.sources import open_source\n"
        "with open_source('-', all_frames=True) as source:\n"
        "    print(source.name, sum(1 for _ in source))"
    )
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        done = subprocess.run(
            [sys.executable, "-c", code], stdin=writer.stdout, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.stdout.split() == ["standard", "input", str(FRAMES)], done.stderr


# --- Newest or all ----------------------------------------------------------------------------------------------------


def test_a_live_pipe_drops_frames_and_counts_them(fifo):
    write(fifo, CONTENT, pause_s=0.002)
    stream = DepthStream(open_source(fifo, pipe_format=RAW), bdis.StereoMatcher("fast"))
    delivered = 0
    for _ in stream:
        delivered += 1
        time.sleep(0.05)
    assert delivered < FRAMES
    assert delivered + stream.statistics().dropped == FRAMES


def test_with_all_frames_the_writer_waits(fifo):
    write(fifo, CONTENT)
    stream = DepthStream(open_source(fifo, pipe_format=RAW, all_frames=True), bdis.StereoMatcher("fast"))
    delivered = [frame.index for frame in stream if not time.sleep(0.01)]
    assert delivered == list(range(FRAMES))


def test_a_pipe_of_which_all_frames_matter_begins_again_once(fifo):
    write(fifo, CONTENT)
    with open_source(fifo, pipe_format=RAW, all_frames=True) as source:
        first = [source.read().index for _ in range(3)]
        source.rewind()
        assert first + [3] == [source.read().index for _ in range(4)]
        source.rewind()
        assert source.read().index == 4


@needs_ffmpeg
def test_the_command_records_every_frame_of_its_standard_input(tmp_path):
    options = ["--all-frames", "--focal", "60", "--baseline", "4", "--preset", "fast", "--save", "depth"]
    with ffmpeg("-f", "yuv4mpegpipe", "-pix_fmt", "yuv420p", "-", stdout=subprocess.PIPE) as process:
        done = subprocess.run(
            [*COMMAND, "run", "-", *options, "-o", str(tmp_path / "out")], stdin=process.stdout, capture_output=True,
            text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out" / "depth").iterdir())) == FRAMES
    assert "standard input, side-by-side, 48x40" in done.stdout


# --- Faults -----------------------------------------------------------------------------------------------------------


def test_a_wrong_size_is_said_at_the_end(fifo):
    write(fifo, CONTENT)
    said = []
    with open_source(fifo, pipe_format="rawvideo:98x40:rgb24:25", all_frames=True) as source:
        while True:
            try:
                if source.read() is None:
                    break
            except BadFrame as error:
                said.append(str(error))
    remainder = len(CONTENT) % (98 * 40 * 3)
    assert f"ended {remainder} bytes into a frame of 11760" in said[-1]
    assert "the size or the pixels in the pipe format are wrong" in said[-1]


def test_a_writer_that_stops_within_a_frame_is_an_error_in_time(fifo, monkeypatch):
    monkeypatch.setattr(reading, "PIPE_WAIT_S", 0.3)
    done = threading.Event()
    write(fifo, CONTENT[:-5000], keep=done)
    begin = time.monotonic()
    with open_source(fifo, pipe_format=RAW) as source, pytest.raises(OSError, match="nobody has written"):
        list(source)
    done.set()
    assert time.monotonic() - begin < 5


def test_garbage_is_refused_with_what_to_say(fifo):
    write(fifo, np.random.default_rng(0).bytes(2_000_000))
    with (
        open_source(fifo) as source,
        pytest.raises(ValueError, match="no video that FFmpeg recognises .* rawvideo:WID"),
    ):
        source.read()


@pytest.mark.parametrize("content", [b"", b"YUV4MPEG2 W96 H40"])
def test_a_pipe_that_is_closed_at_once_is_refused(fifo, content):
    write(fifo, content)
    with open_source(fifo) as source, pytest.raises(ValueError, match=r"bytes were read"):
        source.read()


@pytest.mark.parametrize(
    "text",
    ["", "mp4", "rawvideo", "rawvideo:640x480", "rawvideo:640x480:rgb24", "rawvideo:0x480:rgb24:25",
     "rawvideo:640x480:rgb24:0", "rawvideo:640x480:rgb99:25", "rawvideo:65535x65535:rgb24:25",
     "rawvideo:640x480:rgb24:25:x", "rawvideo:-640x480:rgb24:25"],
)  # fmt: skip
def test_formats_that_make_no_sense_are_refused(text):
    with pytest.raises(ValueError, match=r"pipe format|picture in the pipe"):
        parse_pipe_format(text)


def test_options_of_pipes_are_refused_elsewhere():
    with pytest.raises(ValueError, match="pipe_format is for pipes, but render:plane is a rendered scene"):
        open_source("render:plane", pipe_format="y4m")
    with pytest.raises(ValueError, match="all_frames is for pipes"):
        open_source("render:plane", all_frames=True)
    with pytest.raises(ValueError, match="the same pipe"):
        open_source("-", "-")


def test_a_terminal_and_a_number_that_is_not_open_are_refused(monkeypatch):
    with open_source("pipe:987") as source, pytest.raises(OSError, match="no such pipe"):
        source.read()
    monkeypatch.setattr(os, "isatty", lambda number: True)
    with open_source("-") as source, pytest.raises(OSError, match="a terminal writes no video"):
        source.read()
