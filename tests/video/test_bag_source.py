"""Bags as sources: which topics, which pairs, which cameras; and what is said when that is not clear."""

import numpy as np
import pytest

import bdis
from bdis.connections.ros.image_messages import image_fields
from bdis.connections.ros.message_types import CAMERA_INFO, COMPRESSED, IMAGE
from bdis.connections.ros.stereo_topics import find_topics
from bdis.video.opened_source import SourceRequest
from bdis.video.sources import BadFrame, BagSource
from bdis.video.stream.depth_stream import DepthStream
from tests.cameras.raw_pairs import raw_pair, turn
from tests.connections.bags import (
    FRAME_ID,
    LEFT,
    RIGHT,
    START_NS,
    Recorded,
    compressed,
    raw_info_fields,
    rendered,
    stereo,
    write_bag,
    write_mcap,
)

STEP_NS = 40_000_000


def opened(tmp_path, messages, **options):
    return BagSource(write_bag(tmp_path, messages), **options)


def read_all(source):
    """Frames, and the messages of those that cannot be read."""
    frames, problems = [], []
    while True:
        try:
            frame = source.read()
        except BadFrame as error:
            problems.append((str(error), error.count))
            continue
        if frame is None:
            return frames, problems
        frames.append(frame)


# --- Frames -----------------------------------------------------------------------------------------------------------


def test_times_stamps_and_coordinate_frame_are_those_of_the_bag(tmp_path):
    with opened(tmp_path, stereo()) as source:
        frames = list(source)
        assert (source.length, source.fps, source.is_live) == (4, 25.0, False)
    assert [frame.index for frame in frames] == [0, 1, 2, 3]
    assert [frame.time_s for frame in frames] == [0, 0.04, 0.08, 0.12]
    assert [frame.stamp_ns for frame in frames] == [START_NS + number * STEP_NS for number in range(4)]
    assert {frame.frame_id for frame in frames} == {FRAME_ID}


def test_seek(tmp_path):
    with opened(tmp_path, stereo()) as source:
        for index in (2, 0, 3):
            source.seek(source.time_of(index))
            assert source.read().index == index
        source.seek(0.05)
        assert source.read().index == 2
        source.seek(0.0, index=3)
        assert source.read().index == 3
        source.seek(9)
        assert source.read() is None
        source.close()
        assert source.read().index == 0


@pytest.mark.parametrize("ending", [".png", ".jpg"])
def test_compressed_images(tmp_path, ending):
    topics = [f"/endo/{side}/image_rect/compressed" for side in ("left", "right")]
    with opened(
        tmp_path, stereo(left=topics[0], right=topics[1], encode=compressed(ending), kind=COMPRESSED)
    ) as source:
        frames = list(source)
        assert source.rig == rendered()[1]
    assert np.abs(frames[3].right.astype(int) - rendered()[0][3].right).mean() < 8


def test_the_stream_passes_stamp_and_frame_on(tmp_path):
    with DepthStream(opened(tmp_path, stereo()), bdis.StereoMatcher("fast")) as stream:
        found = [(frame.stamp_ns, frame.frame_id) for frame in stream]
    assert found == [(START_NS + number * STEP_NS, FRAME_ID) for number in range(4)]
    assert stream.rig == rendered()[1]


# --- Pairs ------------------------------------------------------------------------------------------------------------


def moved(messages, topic, by_ns):
    """The same messages, with other stamps on one topic."""
    images = iter(by_ns)
    return [
        Recorded(each.topic, each.kind, each.stamp_ns + next(images), each.fields, each.log_ns)
        if each.topic == topic else each
        for each in messages
    ]  # fmt: skip


def test_stamps_may_differ_a_little(tmp_path):
    with opened(tmp_path, moved(stereo(), RIGHT, [2_000_000, -3_000_000, 0, 9_000_000])) as source:
        assert len(list(source)) == 4
        assert "stamps up to 9 ms apart" in source.remarks[0]


def test_a_frame_without_its_right_image_is_counted_as_lost(tmp_path):
    messages = [each for each in stereo() if not (each.topic == RIGHT and each.stamp_ns == START_NS + STEP_NS)]
    with opened(tmp_path, messages) as source:
        frames, problems = read_all(source)
        assert "3 pairs; 1 left and 0 right images have no partner within 10 ms" in source.remarks[0]
    assert [frame.index for frame in frames] == [0, 2, 3]
    assert problems == [("frame 1: the left image at 0.040 s has no right one within 10 ms", 1)]
    for frame in frames:  # each with its own partner
        np.testing.assert_array_equal(frame.right, rendered()[0][frame.index].right)


def test_cameras_that_were_not_synchronised_are_refused(tmp_path):
    source = opened(tmp_path, moved(stereo(), RIGHT, [15_000_000] * 4))
    with pytest.raises(ValueError, match=r"stamps are 15 ms apart or more, and 10 ms are tolerated.*--tolerance MS"):
        source.read()
    source = BagSource(tmp_path / "recording.mcap", tolerance_ms=16)
    assert len(list(source)) == 4
    source.close()


def test_stamps_out_of_order_are_sorted_and_said(tmp_path):
    messages = stereo()
    order = [0, 2, 1, 3]
    shuffled = [messages[4 * number + part] for number in order for part in range(4)]
    for number, message in enumerate(shuffled):
        message.log_ns = START_NS + number
    with opened(tmp_path, shuffled) as source:
        frames = list(source)
        assert any("out of order in 1 places" in remark for remark in source.remarks)
    for frame, expected in zip(frames, rendered()[0], strict=True):
        assert frame.time_s == expected.time_s
        np.testing.assert_array_equal(frame.left, expected.left)


def test_stamps_of_zero_are_replaced_by_the_times_of_recording(tmp_path):
    messages = stereo()
    for message in messages:
        message.log_ns, message.stamp_ns = message.stamp_ns, 0
    with opened(tmp_path, messages) as source:
        assert [frame.stamp_ns for frame in source] == [START_NS + number * STEP_NS for number in range(4)]
        assert any("all stamps are 0" in remark for remark in source.remarks)


def test_a_single_stamp_of_zero_is_left_out_and_said(tmp_path):
    with opened(tmp_path, moved(stereo(), RIGHT, [0, -START_NS - STEP_NS, 0, 0])) as source:
        frames, problems = read_all(source)
        assert any("1 images of /endo/right/image_rect have no stamp" in remark for remark in source.remarks)
    assert ([frame.index for frame in frames], len(problems)) == ([0, 2, 3], 1)


# --- Topics -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        (["/left/image_raw", "/right/image_raw"], 0),
        (["/cam1/image_raw", "/cam0/image_raw"], 1),
        (["/davinci/endoscope/Left/image", "/davinci/endoscope/Right/image"], 0),
        (["/a/left/image_raw", "/a/left/image_rect", "/a/right/image_raw", "/a/right/image_rect"], 1),
        (
            [
                "/a/left/image_raw/compressed",
                "/a/left/image_raw",
                "/a/right/image_raw/compressed",
                "/a/right/image_raw",
            ],
            1,
        ),
        (
            [
                f"/a/{side}/image_raw{way}"
                for way in ("", "/compressed", "/compressedDepth")
                for side in ("left", "right")
            ],
            0,
        ),
    ],
)
def test_topics_are_found_by_their_names(topics, expected):
    kinds = {name: COMPRESSED if "/compressed" in name else IMAGE for name in topics}
    assert find_topics(kinds, dict.fromkeys(kinds, 1), lambda topic: 0.0)[0] == topics[expected]


def test_topics_without_names_of_sides_are_told_by_the_camera_info(tmp_path):
    with opened(tmp_path, stereo(left="/scope/b/image_rect", right="/scope/a/image_rect")) as source:
        assert source.topics == ("/scope/b/image_rect", "/scope/a/image_rect")


def test_unclear_and_missing_topics_are_listed(tmp_path):
    messages = stereo() + stereo(left="/other/left/image", right="/other/right/image")
    with pytest.raises(
        ValueError, match=r"not clear.*--topics LEFT RIGHT among /endo/left.*\(4 messages\).*/other/left"
    ):
        opened(tmp_path, messages).read()
    source = BagSource(tmp_path / "recording.mcap", ("/other/left/image", "/other/right/image"))
    assert source.read().index == 0
    source.close()
    with pytest.raises(ValueError, match=r"no images on '/nothing'; choose two among /endo/left/image_rect"):
        BagSource(tmp_path / "recording.mcap", ("/nothing", RIGHT)).read()
    with pytest.raises(ValueError, match="given as both views"):
        BagSource(tmp_path / "recording.mcap", (LEFT, LEFT)).read()
    write_mcap(tmp_path / "one.mcap", [each for each in stereo() if "left" in each.topic])
    with pytest.raises(ValueError, match="no pair of image topics"):
        BagSource(tmp_path / "one.mcap").read()


@pytest.mark.parametrize("options", [{"topics": (LEFT, RIGHT)}, {"rectify": True}])
def test_options_of_bags_are_refused_elsewhere(options):
    with pytest.raises(ValueError, match="recordings of ROS"):
        bdis.open_source("render:plane", **options)


# --- Cameras ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def raw():
    """Messages of a raw recording, by topic, and the rendered pair that rectifying gives back."""
    size = (320, 240)
    left, right, cameras, pair = raw_pair(size=size)
    half = turn(*np.array((0.006, -0.03, 0.008)) / 2)
    projection = np.hstack([cameras.left_matrix, np.zeros((3, 1))])
    shifted = projection + np.array([[0, 0, 0, -pair.focal_px * pair.baseline_mm], [0] * 4, [0] * 4])
    infos = raw_info_fields(cameras, half, projection, "left"), raw_info_fields(cameras, half.T, shifted, "right")

    def messages(name, images):
        found = []
        for side, image, info in zip(("left", "right"), images, infos):
            found.append(Recorded(f"/endo/{side}/{name}", IMAGE, START_NS, image_fields(image)))
            found.append(Recorded(f"/endo/{side}/camera_info", CAMERA_INFO, START_NS, info))
        return found

    return messages, (left, right), pair


def depth_error(source, pair):
    """Median error of the depth against the truth, as a share."""
    with DepthStream(source, bdis.StereoMatcher("balanced")) as stream:
        (frame,) = stream
        depth = stream.rig.depth(frame.result)
    inner = (slice(30, -30), slice(40, -40))
    return float(np.nanmedian(np.abs(depth - pair.depth_mm)[inner] / pair.depth_mm[inner]))


def test_raw_topics_are_rectified_by_d_k_r_and_p(tmp_path, raw):
    messages, images, pair = raw
    source = opened(tmp_path, messages("image_raw", images))
    assert depth_error(source, pair) < 0.01
    assert isinstance(source.camera, bdis.Rectifier)
    assert "images rectified with it: topic /endo/left/image_raw" in source.camera_remarks
    assert source.camera.rig.focal_px == pair.focal_px  # of P, not what OpenCV would choose
    assert source.rig is None  # it would give a depth of the raw images, without a word
    wrong = BagSource(tmp_path / "recording.mcap", rectify=False)
    assert depth_error(wrong, pair) > 0.05


def test_rectified_topics_are_not_rectified_again(tmp_path, raw):
    messages, _, pair = raw
    images = pair.left, pair.right
    source = opened(tmp_path, messages("image_rect", images))  # with the camera_info of the raw ones, as ROS has it
    assert depth_error(source, pair) < 0.01
    assert isinstance(source.camera, bdis.Rig)
    assert "images are rectified: topic /endo/left/image_rect" in source.camera_remarks
    wrong = BagSource(tmp_path / "recording.mcap", rectify=True)
    assert depth_error(wrong, pair) > 0.05


@pytest.mark.parametrize(("name", "shows_raw"), [("image_rect", True), ("image_raw", False)])
def test_images_that_contradict_their_topic_are_refused(tmp_path, raw, name, shows_raw):
    messages, images, pair = raw
    source = opened(tmp_path, messages(name, images if shows_raw else (pair.left, pair.right)))
    with pytest.raises(ValueError, match=r"is named as r.*, but its images look r.*--rectify or --no-rectify"):
        _ = source.camera
    source.close()


@pytest.mark.parametrize("shows_raw", [True, False])
def test_a_topic_that_says_nothing_is_told_by_its_rows(tmp_path, raw, shows_raw):
    messages, images, pair = raw
    source = opened(tmp_path, messages("image", images if shows_raw else (pair.left, pair.right)))
    assert isinstance(source.camera, bdis.Rectifier if shows_raw else bdis.Rig)
    source.close()


def test_without_camera_info_there_is_no_rig(tmp_path):
    with opened(tmp_path, stereo(infos=False)) as source:
        assert source.rig is None
        assert source.camera_remarks == ["none: the bag has no camera_info of both cameras"]


def test_a_camera_info_that_changes_is_refused(tmp_path):
    messages = stereo()
    last = next(each for each in reversed(messages) if each.kind == CAMERA_INFO)
    last.fields = last.fields | {"k": last.fields["k"] + 1}
    with opened(tmp_path, messages) as source, pytest.raises(ValueError, match=r"changes after 0\.120 s"):
        _ = source.camera


def test_swapped_topics_are_refused(tmp_path):
    with opened(tmp_path, stereo(), topics=(RIGHT, LEFT)) as source, pytest.raises(ValueError, match="swapped"):
        _ = source.camera


def test_a_camera_info_of_another_size_is_refused(tmp_path):
    small = stereo(encode=lambda image: image_fields(np.ascontiguousarray(image[::2, ::2])))
    with opened(tmp_path, small) as source, pytest.raises(ValueError, match="48x32 but their camera_info is for 96x64"):
        _ = source.camera


def in_unit(scale):
    """The messages of a recording whose P is in another unit than m."""
    messages = stereo()
    for each in messages:
        if each.kind == CAMERA_INFO:
            each.fields = each.fields | {"p": each.fields["p"] * np.where(np.arange(12) == 3, scale, 1)}
    return messages


def test_a_bag_in_millimetres_is_refused_and_one_in_centimetres_told(tmp_path):
    """Both gave a depth without a word, the first of 60 m instead of 60 mm."""
    with opened(tmp_path, in_unit(1000)) as source, pytest.raises(ValueError, match="5000 mm apart, which no stereo"):
        _ = source.rig
    with opened(tmp_path, in_unit(100)) as source, pytest.warns(UserWarning, match="camera_info has a baseline of 500"):
        assert source.rig.baseline_mm == 500
    said = []
    opened_source = SourceRequest(str(tmp_path / "recording.mcap")).open(warn=said.append)
    assert len(said) == 1
    assert opened_source.remarks[-1] == "baseline 500 mm"
    opened_source.source.close()


# --- Faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"encoding": "nv21"}, "encoded as 'nv21'"),
        ({"step": 7}, "rows of 7"),
        ({"height": 2**31}, "at most"),
        ({"data": np.zeros(5, np.uint8)}, "5 bytes"),
    ],
)
def test_a_broken_message_costs_one_frame(tmp_path, changes, words):
    messages = stereo()
    broken = next(each for each in messages if each.topic == LEFT and each.stamp_ns == START_NS + STEP_NS)
    broken.fields = broken.fields | changes
    with opened(tmp_path, messages) as source:
        frames, problems = read_all(source)
    assert [frame.index for frame in frames] == [0, 2, 3]
    assert words in problems[0][0]


def test_images_whose_size_changes_are_skipped_and_counted(tmp_path):
    messages = stereo()
    for message in messages:
        if message.kind == IMAGE and message.stamp_ns == START_NS + 2 * STEP_NS:
            message.fields = image_fields(np.zeros((32, 48, 3), np.uint8))
    said = []
    with DepthStream(opened(tmp_path, messages), bdis.StereoMatcher("fast"), report=said.append) as stream:
        assert [frame.index for frame in stream] == [0, 1, 3]
    assert stream.statistics().damaged == 1
    assert "48x32" in said[0]


def test_a_bag_that_was_cut_before_its_images_says_that_it_was_cut(tmp_path):
    path = write_bag(tmp_path, stereo(), "bag")
    path.write_bytes(path.read_bytes()[:5000])
    with BagSource(path) as source, pytest.raises(ValueError, match="no pair of image topics.*was interrupted"):
        source.read()


def test_a_bag_that_was_cut_says_so_at_its_end(tmp_path):
    path = write_bag(tmp_path, stereo())
    path.write_bytes(path.read_bytes()[:-60_000])
    with BagSource(path) as source:
        frames, problems = read_all(source)
    assert 0 < len(frames) < 4
    assert "its recording was interrupted" in problems[-1][0]
    assert problems[-1][1] == 0
