"""Recordings: what is written is what is read, also when the writing did not end well."""

import errno
import json
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import bdis
from bdis.display.colors import UNKNOWN_ON_DARK, round_range
from bdis.video.recording import (
    OUTPUTS,
    DepthVideo,
    FrameRecord,
    FrameWriter,
    Output,
    PreviewVideo,
    Recording,
    RecordingPlan,
    read_depth_video,
    read_frame_log,
    read_manifest,
)
from bdis.video.recording.frame_log import FrameLog
from bdis.video.recording.outputs import Earlier
from bdis.video.recording.preview_picture import PreviewPicture
from bdis.video.recording.video_file import count_readable_frames
from bdis.video.sources import open_source
from bdis.video.stream.depth_stream import DepthStream

av = pytest.importorskip("av")
HEIGHT, WIDTH = 64, 96
SOURCE = f"render:plane,frames=6,height={HEIGHT},width={WIDTH}"
EVERYTHING = ("depth", "disparity", "probability", "sigma", "cloud", "video", "preview")


@pytest.fixture(scope="module")
def frames():
    with DepthStream(open_source(SOURCE), bdis.StereoMatcher("fast", variance=True)) as stream:
        return list(stream)


@pytest.fixture(scope="module")
def rig():
    return open_source(SOURCE).rig


def in_steps(count, steps_per_mm):
    """Depths that a video can hold exactly."""
    rng = np.random.default_rng(count)
    steps = rng.integers(0, 65536, (count, HEIGHT, WIDTH))
    steps[:, 0, :2] = 1, 65535
    return np.where(steps > 0, steps / np.float32(steps_per_mm), np.float32(np.nan)).astype(np.float32)


def write_video(path, depths, times, **options):
    video = DepthVideo(path, (WIDTH, HEIGHT), **{"steps_per_mm": 100, **options})
    for depth, time_s in zip(depths, times):
        video.write(depth, time_s)
    video.close()


def times_of(path):
    with av.open(str(path)) as container:
        return [frame.time for frame in container.decode(video=0)]


# --- Depth video ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps_per_mm", [1, 100])
def test_depth_video_gives_back_every_bit(tmp_path, steps_per_mm):
    depths, times = in_steps(5, steps_per_mm), [0.0, 0.033, 0.1, 7.0, 7.001]
    write_video(tmp_path / "depth.mkv", depths, times, steps_per_mm=steps_per_mm)
    read = list(read_depth_video(tmp_path / "depth.mkv"))
    assert [index for index, _, _ in read] == [0, 1, 2, 3, 4]
    assert [time_s for _, time_s, _ in read] == times
    np.testing.assert_array_equal([depth for _, _, depth in read], depths)
    assert read[0][2].dtype == np.float32


def test_depth_video_is_what_other_tools_read(tmp_path):
    """16-bit grey FFV1 in Matroska, with what the values mean."""
    write_video(tmp_path / "depth.mkv", np.full((1, HEIGHT, WIDTH), 61.7, np.float32), [0], steps_per_mm=1)
    with av.open(str(tmp_path / "depth.mkv")) as container:
        (stream,) = container.streams
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("ffv1", "gray16le")
        assert container.metadata["COMMENT"] == "depth in mm = value / 1; 0 = unknown, or more than 65535 mm"
        assert next(container.decode(video=0)).to_ndarray()[0, 0] == 62


def test_depth_that_does_not_fit_is_unknown_and_counted(tmp_path):
    video = DepthVideo(tmp_path / "depth.mkv", (3, 2), steps_per_mm=100)
    first_depth = np.float32([[655.35, 655.36, 1e9], [1, 2, 3]])
    second_depth = np.float32([[0.001, np.nan, 5], [1, 2, 3]])
    video.write(first_depth, 0)
    video.write(second_depth, 1)
    video.close()
    assert video.too_far == 2
    (_, _, first), (_, _, second) = read_depth_video(tmp_path / "depth.mkv")
    np.testing.assert_array_equal(first, np.float32([[655.35, np.nan, np.nan], [1, 2, 3]]))
    np.testing.assert_array_equal(second, np.float32([[0.01, np.nan, 5], [1, 2, 3]]))  # 0 would mean unknown


def test_frames_of_one_time_are_all_kept(tmp_path):
    write_video(tmp_path / "depth.mkv", in_steps(3, 100), [1.0, 1.0, 1.0])
    assert len(list(read_depth_video(tmp_path / "depth.mkv"))) == 3


@pytest.mark.parametrize("steps_per_mm", [0, -1, 70_000])
def test_wrong_scale_is_refused(tmp_path, steps_per_mm):
    with pytest.raises(ValueError, match="expected 1 to 65535"):
        DepthVideo(tmp_path / "depth.mkv", (WIDTH, HEIGHT), steps_per_mm=steps_per_mm)


def test_other_files_are_no_depth_videos(tmp_path):
    (tmp_path / "text.mkv").write_text("hello")
    with pytest.raises(ValueError, match="cannot be read as a video"):
        list(read_depth_video(tmp_path / "text.mkv"))
    draw = PreviewPicture("depth", (HEIGHT, WIDTH), (0, 1))
    preview = PreviewVideo(tmp_path / "preview.mp4", draw)
    preview.write(np.zeros((HEIGHT, WIDTH), np.uint8), np.zeros((HEIGHT, WIDTH), np.float32), 0)
    preview.close()
    with pytest.raises(ValueError, match="not a depth video of bdis"):
        list(read_depth_video(tmp_path / "preview.mp4"))
    with pytest.raises(OSError, match="missing"):
        list(read_depth_video(tmp_path / "missing.mkv"))


# --- Videos that were not finished ------------------------------------------------------------------------------------


VIDEOS = ["depth.mkv", "preview.mp4"]


def open_video(folder, name, keep=0):
    """A video, and what writes a depth to it."""
    if name == "depth.mkv":
        video = DepthVideo(folder / name, (WIDTH, HEIGHT), steps_per_mm=100, keep=keep)
        return video, video.write
    draw = PreviewPicture("depth", (HEIGHT, WIDTH), (0, 655))
    video = PreviewVideo(folder / name, draw, first_s=0.0, keep=keep)
    return video, lambda depth, time_s: video.write(np.full((HEIGHT, WIDTH), 90, np.uint8), depth, time_s)


@pytest.mark.parametrize("name", VIDEOS)
def test_all_but_the_last_frame_can_be_read_at_any_time(tmp_path, name):
    """What a killed process leaves is what is on the disk now."""
    video, write = open_video(tmp_path, name)
    for count, depth in enumerate(in_steps(8, 100), 1):
        write(depth, count / 25)
        shutil.copy(tmp_path / name, tmp_path / f"killed-{name}")
        assert count_readable_frames(tmp_path / f"killed-{name}") == count - 1
        if count > 1:
            assert len(times_of(tmp_path / f"killed-{name}")) == count - 1
    video.close()


@pytest.mark.parametrize("name", VIDEOS)
def test_cut_anywhere_the_frames_before_can_be_read(tmp_path, name):
    video, write = open_video(tmp_path, name)
    depths = in_steps(6, 100)
    ends = []
    for number, depth in enumerate(depths):
        write(depth, number / 25)
        ends.append((tmp_path / name).stat().st_size)  # of the frame before
    whole = (tmp_path / name).read_bytes()  # before close, which may write the file anew
    video.close()
    for end in range(ends[2], len(whole), 997):
        (tmp_path / f"cut-{name}").write_bytes(whole[:end])
        before = sum(place <= end for place in ends[1:])
        assert before <= count_readable_frames(tmp_path / f"cut-{name}") <= before + 1
        if name == "depth.mkv":
            read = [depth for _, _, depth in read_depth_video(tmp_path / f"cut-{name}")]
            assert before <= len(read)
            np.testing.assert_array_equal(read[:before], depths[:before])


@pytest.mark.parametrize("name", VIDEOS)
def test_a_failed_write_leaves_the_frames_before(tmp_path, name, monkeypatch):
    video, write = open_video(tmp_path, name)
    depths = in_steps(6, 100)
    for number, depth in enumerate(depths[:4]):
        write(depth, number / 25)
    full = OSError(errno.ENOSPC, "No space left on device")
    real = video._file._file._file

    class Full:
        def write(self, content):
            real.write(bytes(content[:100]))
            raise full

        def __getattr__(self, name):
            return getattr(real, name)

    monkeypatch.setattr(video._file._file, "_file", Full())
    with pytest.raises(OSError, match=f"No space left on device.*{name}"):
        write(depths[4], 4 / 25)
    video.close()  # the error was raised already; nothing more is written
    assert count_readable_frames(tmp_path / name) == 3
    assert len(times_of(tmp_path / name)) == 3


@pytest.mark.parametrize("name", VIDEOS)
@pytest.mark.parametrize("keep", [1, 3, 5])
@pytest.mark.parametrize("is_killed", [False, True], ids=["closed", "killed"])
def test_continuing_gives_one_video(tmp_path, name, keep, is_killed):
    depths = in_steps(9, 100)
    video, write = open_video(tmp_path, name)
    for number, depth in enumerate(depths[:6]):
        write(depth, number / 25)
    killed = (tmp_path / name).read_bytes()
    video.close()
    if is_killed:
        (tmp_path / name).write_bytes(killed)
    video, write = open_video(tmp_path, name, keep)
    for number, depth in enumerate(depths[keep:], keep):
        write(depth, number / 25)
    video.close()
    np.testing.assert_allclose(times_of(tmp_path / name), np.arange(9) / 25, atol=1e-9)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    if name == "depth.mkv":
        np.testing.assert_array_equal([depth for _, _, depth in read_depth_video(tmp_path / name)], depths)


def test_continuing_writes_the_same_file_as_never_stopping(tmp_path):
    depths = in_steps(6, 100)
    write_video(tmp_path / "whole.mkv", depths, np.arange(6) / 25)
    write_video(tmp_path / "parts.mkv", depths[:4], np.arange(4) / 25)
    write_video(tmp_path / "parts.mkv", depths[3:], np.arange(3, 6) / 25, keep=3)

    def packets(path):
        with av.open(str(path)) as container:
            return [(packet.pts, bytes(packet)) for packet in container.demux() if packet.size]

    assert packets(tmp_path / "whole.mkv") == packets(tmp_path / "parts.mkv")


def test_killed_while_frames_are_copied(tmp_path):
    """Then the earlier file is beside the new one, and is the one that counts."""
    depths = in_steps(5, 100)
    write_video(tmp_path / "depth.mkv", depths[:1], [0])
    write_video(tmp_path / "depth.earlier.mkv", depths[:4], np.arange(4) / 25)
    assert count_readable_frames(tmp_path / "depth.mkv") == 4
    write_video(tmp_path / "depth.mkv", depths[4:], [4 / 25], keep=4)
    np.testing.assert_array_equal([depth for _, _, depth in read_depth_video(tmp_path / "depth.mkv")], depths)
    assert [path.name for path in tmp_path.iterdir()] == ["depth.mkv"]


def test_no_room_to_copy_frames(tmp_path, monkeypatch):
    depths = in_steps(4, 100)
    write_video(tmp_path / "depth.mkv", depths, np.arange(4) / 25)
    before = (tmp_path / "depth.mkv").read_bytes()

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("bdis.video.recording.video_file._packets", full)
    with pytest.raises(OSError, match="No space"):
        DepthVideo(tmp_path / "depth.mkv", (WIDTH, HEIGHT), keep=3)
    assert (tmp_path / "depth.mkv").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", VIDEOS)
def test_video_without_frames(tmp_path, name):
    """FFmpeg crashes at the end of an MP4 that it began and that got no frames."""
    video, _ = open_video(tmp_path, name)
    video.close()
    video.close()
    assert count_readable_frames(tmp_path / name) == 0


# --- Preview ----------------------------------------------------------------------------------------------------------


def test_preview_has_the_image_the_colours_and_a_bar():
    draw = PreviewPicture("depth", (480, 640), (30, 90))
    left = np.full((480, 640, 3), (200, 90, 80), np.uint8)
    depth = np.full((480, 640), 30, np.float32)
    depth[:, 320:], depth[:100] = 90, np.nan
    picture = draw(left, depth)
    assert picture.shape[::-1][1:] == draw.size
    assert (picture[:, :640] == (200, 90, 80)).all()
    assert (picture[:100, 640:1280] == UNKNOWN_ON_DARK).all()
    near, far = picture[200, 700], picture[200, 1200]
    assert near[0] > near[2] + 50  # red
    assert far[2] > far[0]
    bar = picture[:, 1280:]
    assert (bar == near).all(-1).any() and (bar == far).all(-1).any()  # noqa: PT018
    assert (bar.min(-1) > 200).sum() > 200  # numbers


def test_the_same_depth_has_the_same_colour_in_every_frame():
    draw = PreviewPicture("depth", (HEIGHT, WIDTH))
    left = np.zeros((HEIGHT, WIDTH), np.uint8)
    ramp = np.linspace(40, 80, HEIGHT * WIDTH, dtype=np.float32).reshape(HEIGHT, WIDTH)
    first = draw(left, ramp).copy()
    for shift in (-20, 500):
        other = ramp + np.float32(shift)
        other[: HEIGHT // 2] = ramp[: HEIGHT // 2]
        np.testing.assert_array_equal(draw(left, other)[: len(first) // 2], first[: len(first) // 2])


def test_range_comes_from_the_first_frame_that_has_one():
    draw = PreviewPicture("disparity", (HEIGHT, WIDTH))
    left, nothing = np.zeros((HEIGHT, WIDTH), np.uint8), np.full((HEIGHT, WIDTH), np.nan, np.float32)
    nothing[0, :5] = 1
    draw(left, nothing)
    assert draw.near_far is None
    draw(left, np.full((HEIGHT, WIDTH), 20, np.float32))
    chosen = draw.near_far
    assert chosen[0] < 20 < chosen[1]
    draw(left, np.full((HEIGHT, WIDTH), 50, np.float32))
    assert draw.near_far == chosen


def test_range_of_a_live_video_follows_slowly():
    draw = PreviewPicture("depth", (HEIGHT, WIDTH))
    left = np.zeros((HEIGHT, WIDTH), np.uint8)
    ramp = np.linspace(40, 80, HEIGHT * WIDTH, dtype=np.float32).reshape(HEIGHT, WIDTH)
    shown = []
    for number in range(600):
        draw(left, ramp + np.float32(0 if number < 100 else 100))
        shown.append(draw.near_far)
    assert len(set(shown[:100])) == 1  # nothing changes: the colours do not
    assert shown[-1][0] <= 140 < 180 <= shown[-1][1]
    assert 2 <= len(set(shown)) <= 8
    changes = [number for number in range(1, 600) if shown[number] != shown[number - 1]]
    assert min(np.diff(changes)) >= 50


@pytest.mark.parametrize(("low", "high"), [(0, 1), (30, 90), (-20, 5), (1000, 1000), (0, 0), (1e-3, 2e-3)])
def test_round_range_holds_the_values(low, high):
    near, far = round_range(np.linspace(low, high, 100))
    assert near <= low
    assert high <= far
    assert near < far


@pytest.mark.parametrize("shape", [(64, 96), (63, 97), (1080, 1920), (480, 1), (2000, 500), (20, 3000)])
def test_preview_of_any_size(shape, tmp_path):
    draw = PreviewPicture("depth", shape, (0, 100))
    assert all(side % 2 == 0 for side in draw.size)
    assert draw.size[0] <= 2 * 640 + 200
    video = PreviewVideo(tmp_path / "preview.mp4", draw)
    video.write(np.zeros(shape, np.uint8), np.full(shape, 50, np.float32), 0)
    video.close()
    assert times_of(tmp_path / "preview.mp4") == [0]


def test_preview_keeps_times_from_zero_on(tmp_path):
    video = PreviewVideo(tmp_path / "preview.mp4", PreviewPicture("depth", (HEIGHT, WIDTH), (0, 100)), fps=29.97)
    for time_s in (90.0, 90.04, 90.5):
        video.write(np.zeros((HEIGHT, WIDTH), np.uint8), np.full((HEIGHT, WIDTH), 50, np.float32), time_s)
    video.close()
    np.testing.assert_allclose(times_of(tmp_path / "preview.mp4"), [0, 0.04, 0.5], atol=1e-4)


# --- Log of frames ----------------------------------------------------------------------------------------------------


def record(index, time_s=0.1):
    return FrameRecord(index, time_s, 1, 2, 3, 4, 5, 0.5)


def test_frame_log_keeps_times_exactly(tmp_path):
    log = FrameLog(tmp_path / "frames.csv")
    times = [float(number * Fraction(1001, 30000)) for number in range(5)] + [np.float64(1 / 3)]
    for number, time_s in enumerate(times):
        log.add(record(number, time_s))
    log.close()
    assert [line.time_s for line in read_frame_log(tmp_path / "frames.csv")] == times


def test_frame_log_that_was_cut_short(tmp_path):
    FrameLog(tmp_path / "frames.csv", [record(0), record(1)]).close()
    text = (tmp_path / "frames.csv").read_text()
    for cut in range(1, 20):
        (tmp_path / "frames.csv").write_text(text[:-cut])
        assert [line.index for line in read_frame_log(tmp_path / "frames.csv")] == [0]


def test_a_frame_log_that_an_editor_of_windows_saved_is_read(tmp_path):
    FrameLog(tmp_path / "frames.csv", [record(0), record(1)]).close()
    text = (tmp_path / "frames.csv").read_bytes()
    (tmp_path / "frames.csv").write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
    assert read_frame_log(tmp_path / "frames.csv") == [record(0), record(1)]


def test_other_tables_are_no_frame_logs(tmp_path):
    (tmp_path / "frames.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="expected index,time_s"):
        read_frame_log(tmp_path / "frames.csv")


def test_frame_log_of_an_earlier_version_is_read(tmp_path):
    (tmp_path / "frames.csv").write_text(
        "index,time_s,read_ms,rectify_ms,match_ms,write_ms,latency_ms,coverage,suspect\n7,0.28,2,0,5,1,9,0.9,1\n"
    )
    (line,) = read_frame_log(tmp_path / "frames.csv")
    assert (line.index, line.suspect, line.lost_before, line.file_bytes) == (7, 1, 0, 0)


def test_preview_without_an_encoder_of_h264(tmp_path, monkeypatch):
    monkeypatch.setattr(av, "codecs_available", {"mpeg4"})
    video = PreviewVideo(tmp_path / "preview.mp4", PreviewPicture("depth", (HEIGHT, WIDTH), (0, 100)), fps=29.97)
    for number in range(5):
        video.write(np.full((HEIGHT, WIDTH, 3), 90, np.uint8), np.full((HEIGHT, WIDTH), 50, np.float32), number / 29.97)
    video.close()
    assert times_of(tmp_path / "preview.mp4") == pytest.approx([number / 29.97 for number in range(5)], abs=1e-4)


# --- Recordings -------------------------------------------------------------------------------------------------------


def test_everything_of_every_frame(tmp_path, frames, rig):
    plan = RecordingPlan(EVERYTHING, (HEIGHT, WIDTH), rig, 25.0, steps_per_mm=100)
    recording = Recording(tmp_path / "out", plan, {"source": SOURCE})
    for frame in frames:
        recording.add(frame)
    recording.close("complete")
    names = [f"{number:06d}" for number in range(6)]
    for kind in ("depth", "disparity", "probability", "sigma", "cloud"):
        assert [path.stem for path in sorted((tmp_path / "out" / kind).iterdir())] == names
    manifest = read_manifest(tmp_path / "out")
    assert manifest["state"] == "complete"
    assert manifest["frames"] == 6
    assert bdis.Rig.load(tmp_path / "out" / "rig.toml") == rig
    for frame, (index, time_s, shown) in zip(frames, read_depth_video(tmp_path / "out" / "depth.mkv"), strict=True):
        assert (index, time_s) == (frame.index, frame.time_s)
        depth = rig.depth(frame.result)
        np.testing.assert_allclose(shown, depth, atol=0.0051)
        files = {kind: tmp_path / "out" / kind / f"{index:06d}.tiff" for kind in EVERYTHING}
        np.testing.assert_array_equal(bdis.read_depth(files["depth"]), depth)
        np.testing.assert_array_equal(bdis.read_disparity(files["disparity"]), frame.result.disparity)
        np.testing.assert_array_equal(bdis.read_disparity(files["probability"]), frame.result.probability)
        np.testing.assert_array_equal(bdis.read_depth(files["sigma"]) ** 2 > 0, rig.depth_variance(frame.result) > 0)
        cloud = bdis.read_ply(tmp_path / "out" / "cloud" / f"{index:06d}.ply")
        np.testing.assert_array_equal(cloud.points[:, 2], depth[np.isfinite(depth)])
        assert cloud.sigma_mm is not None
    assert len(times_of(tmp_path / "out" / "preview.mp4")) == 6
    assert [line.index for line in read_frame_log(tmp_path / "out" / "frames.csv")] == list(range(6))


def test_what_is_too_far_is_unknown_everywhere(tmp_path, frames, rig):
    depth = rig.depth(frames[0].result)
    limit = float(np.nanmedian(depth))
    save = ("depth", "sigma", "cloud", "video")
    recording = Recording(tmp_path, RecordingPlan(save, (HEIGHT, WIDTH), rig, max_depth_mm=limit), {})
    recording.add(frames[0])
    recording.close("complete")
    near = depth <= limit
    ((_, _, shown),) = read_depth_video(tmp_path / "depth.mkv")
    for seen in (shown, *(bdis.read_depth(tmp_path / kind / "000000.tiff") for kind in ("depth", "sigma"))):
        np.testing.assert_array_equal(np.isfinite(seen), near)
    assert len(bdis.read_ply(tmp_path / "cloud" / "000000.ply")) == near.sum()


def test_frame_log_never_has_more_frames_than_the_videos(tmp_path, frames, rig):
    recording = Recording(tmp_path / "out", RecordingPlan(("depth", "video", "preview"), (HEIGHT, WIDTH), rig), {})
    for frame in frames:
        recording.add(frame)
        killed = tmp_path / "killed"
        shutil.copytree(tmp_path / "out", killed)
        done = len(read_frame_log(killed / "frames.csv"))
        assert done == frame.index
        for name in ("depth.mkv", "preview.mp4"):
            assert count_readable_frames(killed / name) == done
        shutil.rmtree(killed)
    recording.close("complete")


def test_continuing_after_fewer_frames_than_the_log_has(tmp_path, frames, rig):
    """A power cut may keep the last lines of the log and lose the last frames of a video."""
    plan = RecordingPlan(("video", "preview"), (HEIGHT, WIDTH), rig)
    recording = Recording(tmp_path, plan, {})
    for frame in frames[:4]:
        recording.add(frame)
    recording.close("interrupted")
    shown = read_manifest(tmp_path)["preview"]
    write_video(tmp_path / "depth.mkv", [rig.depth(frame.result) for frame in frames[:2]], [0, 0.04])
    recording = Recording(tmp_path, plan, {}, resume=True)
    assert (recording.frames, recording.repaired) == (4, 4)  # the preview is made again from a key frame on
    assert recording.restart.at is None
    for frame in frames:
        recording.add(frame)
    recording.close("complete")
    assert len(read_frame_log(tmp_path / "frames.csv")) == 6
    assert len(list(read_depth_video(tmp_path / "depth.mkv"))) == len(times_of(tmp_path / "preview.mp4")) == 6
    manifest = read_manifest(tmp_path)
    assert [part["after_frames"] for part in manifest["parts"]] == [0, 4]
    assert manifest["preview"] == shown
    for frame, (_, _, depth) in zip(frames, read_depth_video(tmp_path / "depth.mkv"), strict=True):
        np.testing.assert_allclose(depth, rig.depth(frame.result), atol=0.0051)


def test_frame_of_another_size(tmp_path, frames, rig):
    recording = Recording(tmp_path, RecordingPlan(("video",), (HEIGHT, WIDTH), rig), {})
    with pytest.raises(ValueError, match="frame 0 is 48x64; the recording is of 96x64"):
        recording.add(replace(frames[0], left=frames[0].left[:, :48]))
    recording.close("failed", "size")


def test_folder_that_is_not_empty(tmp_path, rig):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not empty"):
        Recording(tmp_path, RecordingPlan(("video",), (HEIGHT, WIDTH), rig), {})
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_two_cannot_record_into_one_folder(tmp_path, rig):
    plan = RecordingPlan(("video",), (HEIGHT, WIDTH), rig)
    recording = Recording(tmp_path, plan, {})
    with pytest.raises(ValueError, match="another process is recording into"):
        Recording(tmp_path, plan, {}, resume=True)
    recording.close("interrupted")
    Recording(tmp_path, plan, {}, resume=True).close("interrupted")


def test_a_recording_with_other_settings_is_not_continued(tmp_path, frames, rig):
    plan = RecordingPlan(("video",), (HEIGHT, WIDTH), rig)
    recording = Recording(tmp_path, plan, {"settings": {"patch_size": 8, "threads": 1}})
    recording.add(frames[0])
    recording.close("interrupted")
    words = "settings.patch_size was 8, now 10; steps_per_mm was 100, now 1"
    with pytest.raises(ValueError, match=words):
        Recording(tmp_path, replace(plan, steps_per_mm=1), {"settings": {"patch_size": 10, "threads": 1}}, resume=True)
    other = replace(plan, rig=replace(rig, baseline_mm=4.0))
    with pytest.raises(ValueError, match=r"calibration\.baseline_mm was 5"):
        Recording(tmp_path, other, {"settings": {"patch_size": 8, "threads": 1}}, resume=True)
    Recording(tmp_path, plan, {"settings": {"patch_size": 8, "threads": 2}}, resume=True).close("interrupted")


@pytest.mark.parametrize("content", [None, "{", "[]", '{"format": "other"}'])
def test_nothing_to_continue(tmp_path, rig, content):
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ValueError, match="manifest.json"):
        Recording(tmp_path, RecordingPlan(("video",), (HEIGHT, WIDTH), rig), {}, resume=True)


@pytest.mark.parametrize("name", ["depth", "sigma", "cloud", "video"])
def test_depth_needs_a_rig(name):
    with pytest.raises(ValueError, match=f"{name} needs a rig"):
        RecordingPlan((name,), (HEIGHT, WIDTH))


def test_a_new_output_is_one_line_in_the_table(tmp_path, frames, rig, monkeypatch):
    class Coverage(FrameWriter):
        def __init__(self, path, plan, earlier):
            self.path, self.values = path, []

        def write(self, frame, depth_mm):
            self.values.append(frame.result.coverage)

        def close(self):
            self.path.write_text(str(self.values))

        def manifest_entry(self):
            return {"frames": len(self.values)}

    monkeypatch.setitem(OUTPUTS, "coverage", Output("coverage.txt", Coverage))
    recording = Recording(tmp_path, RecordingPlan(("coverage",), (HEIGHT, WIDTH), rig), {})
    for frame in frames:
        recording.add(frame)
    recording.close("complete")
    assert (tmp_path / "coverage.txt").read_text() == str([frame.result.coverage for frame in frames])
    manifest = read_manifest(tmp_path)
    assert manifest["coverage"] == {"frames": 6}
    assert "coverage.txt" in manifest["outputs"]


# --- Manifests and logs that are damaged ------------------------------------------------------------------------------


MANIFEST_CONTENT = {"format": "bdis-recording", "state": "running", "run": {}, "calibration": None, "parts": []}


@pytest.mark.parametrize(
    "changes",
    [{"run": None}, {"run": [1]}, {"parts": 3}, {"state": 1}, {"calibration": "rig"}],
    ids=lambda changes: str(next(iter(changes.items()))),
)
def test_a_manifest_of_other_kinds_is_damaged(changes, tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({**MANIFEST_CONTENT, **changes}))
    with pytest.raises(ValueError, match=f"manifest.json is damaged: {next(iter(changes))} is missing or"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("near_far", [(1, 1), (5, 2), (0, 1e400), (True, 2), ("a", 2), (3, 3.0000001), (-1e12, 5)])
def test_a_preview_whose_colours_end_where_they_begin_is_damaged(near_far):
    entry = dict(zip(("near", "far"), near_far))
    with pytest.raises(ValueError, match="manifest.json is damaged: near and far are no range"):
        Earlier(entry=entry).range_of_colors()


def test_a_preview_of_negative_disparities_goes_on():
    assert Earlier(entry={"near": -20.0, "far": -5}).range_of_colors() == (-20.0, -5.0)


def test_a_manifest_nested_a_thousand_times_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text("[" * 3000 + "]" * 3000)
    with pytest.raises(ValueError, match="manifest.json is not JSON: it is nested too deeply"):
        read_manifest(tmp_path)


def test_frames_that_come_twice_or_backwards_are_refused(tmp_path, frames):
    """They were written, and the recording called complete; what reads it took the depth of others."""
    recording = Recording(tmp_path, RecordingPlan(("disparity",), (HEIGHT, WIDTH)), {})
    for frame in frames[:3]:
        recording.add(frame)
    for frame in frames[:3]:
        with pytest.raises(ValueError, match=f"frame {frame.index} comes after 2: a recording has each once, in order"):
            recording.add(frame)
    recording.add(frames[4])
    recording.close("complete")
    assert [record.index for record in read_frame_log(tmp_path / "frames.csv")] == [0, 1, 2, 4]


@pytest.mark.parametrize("begin", ["-5,0.0", "0.5,0.0", "0,nan", "0,1e999", "0,two", "0," + "\x1b[31m"])
def test_a_frame_log_with_other_numbers_says_which_line(begin, tmp_path):
    FrameLog(tmp_path / "frames.csv", [FrameRecord(0, 0.0, 2, 0, 5, 1, 9, 0.9)]).close()
    with open(tmp_path / "frames.csv", "a") as file:
        file.write(f"{begin},2.000,0.000,5.000,1.000,9.000,0.9000,0,0,0,0,2\n")
    with pytest.raises(ValueError, match=r"frames.csv, line 3: .* is not the record of a frame") as error:
        read_frame_log(tmp_path / "frames.csv")
    assert str(error.value).isprintable()
