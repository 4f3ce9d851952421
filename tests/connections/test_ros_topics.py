"""Live topics: which are a pair, which images belong together, and what is said if they do not."""

import numpy as np
import pytest

pytest.importorskip("rosbags")
pytest.importorskip("cv2")

import bdis
from bdis.cameras.rectifier import Rectifier
from bdis.connections.ros.live_topics import LiveTopics
from bdis.connections.ros.messages import camera_info_fields, cameras_of
from bdis.connections.ros.pairing import StampPairs
from bdis.connections.ros.stereo_topics import StereoTopics, find_live_topics
from bdis.connections.ros.topic_cameras import decide_camera
from bdis.connections.ros2.bdis_ros.bridge import BridgeError, Message
from bdis.video.sources import BadFrame
from bdis.video.sources.ros_topics import RosSource

from ..cameras.raw_pairs import raw_pair
from .ros_messages import TOPICS, image_message, info_message, state

MS = 1_000_000
RIG = bdis.Rig(50, 2.5, 1.5, 5, size=(6, 4))


# --- Pairs ------------------------------------------------------------------------------------------------------------


def test_left_and_right_are_paired_whichever_comes_first():
    pairs = StampPairs(0.005)
    found = []
    for time in range(0, 400 * MS, 40 * MS):
        sides = (0, 1) if time % 80 else (1, 0)
        found += [pair for side in sides if (pair := pairs.add(side, 10**12 + time + side * MS, (side, time)))]
    assert len(found) == 10
    assert all(pair.left == (0, pair.right[1]) and pair.stamp_ns == 10**12 + pair.left[1] for pair in found)
    assert (pairs.unpaired, pairs.late) == (0, 0)


def test_an_image_that_is_lost_costs_only_its_own_pair():
    pairs = StampPairs(0.005)
    found = []
    for number in range(10):
        for side in (0, 1):
            if (number, side) != (4, 1):
                found.append(pairs.add(side, 10**12 + number * 40 * MS, number))
    assert [pair.left for pair in found if pair] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert pairs.unpaired == 1


def test_cameras_that_are_not_synchronised_are_never_paired_and_memory_stays_bounded():
    pairs = StampPairs(0.005, capacity=5)
    for number in range(1000):
        assert pairs.add(0, 10**12 + number * 40 * MS, number) is None
        assert pairs.add(1, 10**12 + number * 40 * MS + 20 * MS, number) is None
    assert sum(map(len, pairs._waiting)) == 10
    assert pairs.unpaired == 1990
    assert pairs.nearest_s == pytest.approx(0.02)


def test_images_out_of_order_are_late_but_a_clock_that_is_set_back_is_followed():
    pairs = StampPairs(0.005)
    assert not pairs.add(0, 10**12, "a")
    assert pairs.add(1, 10**12, "a")
    assert not pairs.add(0, 10**12 - 40 * MS, "late")
    assert not pairs.add(1, 10**12, "twice")
    assert pairs.late == 2
    assert not pairs.add(0, 10**11, "replayed")
    assert pairs.add(1, 10**11, "replayed")


# --- Topics -----------------------------------------------------------------------------------------------------------


def image_topics(*names):
    return dict.fromkeys(names, "sensor_msgs/msg/Image")


def test_a_pair_is_found_by_its_names():
    assert find_live_topics(image_topics("/camera/image_raw", "/left_arm/image")) is None
    names = [f"/endo/{side}/image_raw/compressed" for side in ("left", "right")]
    compressed = dict.fromkeys(names, "sensor_msgs/msg/CompressedImage")
    found = find_live_topics(compressed)
    assert (found.left, found.right_info) == ("/endo/left/image_raw/compressed", "/endo/right/camera_info")
    raw = image_topics("/endo/left/image_raw", "/endo/right/image_raw")
    assert find_live_topics({**compressed, **raw}).left.endswith("raw")


def test_what_image_transport_offers_beside_an_image_is_no_second_camera():
    sides = ("left", "right")
    topics = image_topics(*(f"/endo/{side}/image_raw" for side in sides))
    for way in ("compressed", "compressedDepth", "zstd"):
        topics |= dict.fromkeys([f"/endo/{side}/image_raw/{way}" for side in sides], "sensor_msgs/msg/CompressedImage")
    assert find_live_topics(topics).left == "/endo/left/image_raw"


def test_of_two_stereo_cameras_none_is_chosen():
    names = [f"/{camera}/{side}/image_raw" for camera in ("endo", "room") for side in ("left", "right")]
    with pytest.raises(ValueError, match=r"2 stereo cameras: /endo/left/image_raw, /room/left/image_raw; .*--topics"):
        find_live_topics(image_topics(*names))


class Info:
    def __init__(self, **fields):
        self.__dict__.update(fields)


def infos_of(rig, **changes):
    return tuple(Info(**camera_info_fields(rig, side) | {"roi": None} | changes) for side in ("left", "right"))


RAW = StereoTopics.of_images("/endo/left/image_raw", "/endo/right/image_raw")
RECT = StereoTopics.of_images("/endo/left/image_rect", "/endo/right/image_rect")
NOTHING = (np.zeros((4, 6), np.uint8),) * 2


def raw_infos():
    """camera_info of raw cameras, with R and P as ROS's calibrator computes them; and the pair."""
    import cv2

    left, right, cameras, pair = raw_pair(size=(320, 240))
    found = cv2.stereoRectify(
        cameras.left_matrix, cameras.left_distortion, cameras.right_matrix, cameras.right_distortion, cameras.size,
        cameras.rotation, cameras.translation_mm.reshape(3, 1) / 1e3, flags=cv2.CALIB_ZERO_DISPARITY, alpha=0,
    )  # fmt: skip
    width, height = cameras.size
    infos = tuple(
        Info(width=width, height=height, distortion_model="plumb_bob", k=k, d=d, r=r, p=p, roi=None)
        for k, d, r, p in (
            (cameras.left_matrix, cameras.left_distortion, found[0], found[2]),
            (cameras.right_matrix, cameras.right_distortion, found[1], found[3]),
        )
    )
    return left, right, cameras, pair, infos


def decided(topics, infos, images, rectify=None):
    """The cameras, and why these."""
    camera, (remark,), said = decided_with_doubts(topics, infos, images, rectify)
    assert not said
    return camera, remark


def decided_with_doubts(topics, infos, images, rectify=None):
    """The cameras, why these, and what is warned of."""
    said = []
    names = topics.left, topics.right
    return *decide_camera(cameras_of(*infos), names, rectify, iter([images]), said.append), said


def test_raw_topics_are_rectified_with_d_k_r_and_p():
    left, right, cameras, _, infos = raw_infos()
    camera, remark = decided(RAW, infos, (left, right))
    assert "images rectified with it: topic /endo/left/image_raw" in remark
    expected = cameras.rectify(alpha=0)
    assert camera.rig.focal_px == pytest.approx(expected.rig.focal_px)
    assert camera.rig.baseline_mm == pytest.approx(expected.rig.baseline_mm)
    for ours, theirs in zip(camera(left, right), expected(left, right)):
        assert np.mean(np.abs(ours.astype(int) - theirs) > 1) < 1e-3


def test_the_rectified_cameras_are_those_of_p_even_if_opencv_would_choose_others():
    left, right, _, _, infos = raw_infos()
    for info in infos:
        info.p = info.p * 1.0
        info.p[0, 0] = info.p[1, 1] = 0.8 * info.p[0, 0]  # a wider view
        info.p[0, 3] *= 0.8
    camera, _ = decided(RAW, infos, (left, right))
    assert camera.rig.focal_px == pytest.approx(infos[0].p[0, 0])
    depth = camera.rig.depth(bdis.StereoMatcher("fast").match(*camera(left, right)))
    same, _ = decided(RAW, raw_infos()[4], (left, right))
    reference = same.rig.depth(bdis.StereoMatcher("fast").match(*same(left, right)))
    assert np.nanmedian(depth) == pytest.approx(np.nanmedian(reference), rel=0.05)


def test_rectified_topics_are_not_rectified_again():
    left, right, _, _, infos = raw_infos()
    raw, _ = decided(RAW, infos, (left, right))
    camera, remark = decided(RECT, infos, raw(left, right))
    assert isinstance(camera, bdis.Rig)
    assert remark == "images are rectified: topic /endo/left/image_rect"
    camera, remark = decided(RAW, infos_of(RIG), NOTHING)
    assert camera == RIG
    assert "no distortion or rotation" in remark


def test_rows_that_contradict_the_name_are_refused_unless_the_user_says():
    left, right, _, _, infos = raw_infos()
    with pytest.raises(ValueError, match="named as rectified, but its images look raw.*--rectify or --no-rectify"):
        decided(RECT, infos, (left, right))
    assert isinstance(decided(RECT, infos, (left, right), rectify=True)[0], Rectifier)
    assert isinstance(decided(RAW, infos, (left, right), rectify=False)[0], bdis.Rig)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"binning_x": 2}, "binned"),
        ({"k": np.zeros(9)}, "no calibration"),
        ({"p": np.array([50, 0, 2.5, 0, 0, 50, 1.5, 0, 0, 0, 1, 0.0])}, "no baseline"),
    ],
)
def test_a_camera_info_that_cannot_be_used_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        decided(RAW, infos_of(RIG, **changes), NOTHING)


def in_unit(scale):
    """camera_info whose P is in another unit than m, or has T instead of -f T."""
    infos = infos_of(RIG)
    infos[1].p = infos[1].p * np.where(np.arange(12) == 3, scale, 1)
    return infos


@pytest.mark.parametrize(("scale", "distance"), [(1000, "5000 mm"), (1 / 500, "0.01 mm")])
def test_a_camera_info_in_millimetres_gave_a_depth_of_metres_without_a_word(scale, distance):
    words = f"the cameras are {distance} apart, which no stereo camera is; P.0,3. .*--calib FILE"
    with pytest.raises(ValueError, match=words):
        decided_with_doubts(RECT, in_unit(scale), NOTHING)


def test_a_camera_info_in_centimetres_is_warned_of():
    _, remarks, said = decided_with_doubts(RECT, in_unit(100), NOTHING)
    assert remarks[1:] == ["baseline 500 mm"]
    assert "the camera_info has a baseline of 500 mm, read in m (ROS convention); if that is not so, P[0,3]" in said[0]
    assert len(said) == 1


@pytest.mark.parametrize("topics", [RECT, RAW])
@pytest.mark.parametrize("has_size", [True, False])
def test_a_camera_info_of_images_of_half_the_size_gave_half_the_depth_without_a_word(topics, has_size):
    """Of resized images, or where a driver leaves width and height 0."""
    half = bdis.Rig(272, 159.5, 119.5, 5, size=(320, 240))
    images = (np.zeros((480, 640), np.uint8),) * 2
    infos = infos_of(half, **({"width": 640, "height": 480} if has_size else {"width": 0, "height": 0}))
    _, remarks, said = decided_with_doubts(topics, infos, images)
    assert remarks[1:] == ["principal point 25 % of the width off the middle"]
    assert "the camera_info has its principal point at (159.5, 119.5), 25 % of the width off the middle" in said[0]
    twice = bdis.Rig(1088, 639.5, 479.5, 5, size=(1280, 960))
    infos = infos_of(twice, **({"width": 640, "height": 480} if has_size else {"width": 0, "height": 0}))
    words = (
        r"the camera_info has its principal point at \(639.5, 479.5\), outside the images of 640x480; .*--calib FILE"
    )
    with pytest.raises(ValueError, match=words):
        decided_with_doubts(topics, infos, images)


def test_names_that_contradict_each_other_are_refused():
    left, right, _, _, infos = raw_infos()
    mixed = StereoTopics.of_images("/endo/left/image_rect", "/endo/right/image_raw")
    with pytest.raises(ValueError, match="--rectify or --no-rectify"):
        decided(mixed, infos, (left, right))


# --- What comes over the bridge ---------------------------------------------------------------------------------------


@pytest.fixture
def live():
    """Topics with a node that is there, what is sent to it, and what the user is told."""
    sent, said = [], []
    topics = LiveTopics(2, lambda kind, payload=b"", **fields: sent.append((kind, fields)), said.append)
    topics.handle(Message("hello", {"ros": 2}))
    topics.sent, topics.said = sent, said
    return topics


def test_the_pair_is_subscribed_to_once_it_is_there(live):
    assert live.waiting_for() == "waiting for the ROS node"
    live.handle(state(TOPICS[:1]))
    assert "image topics there: /endo/left/image_raw" in live.waiting_for()
    live.handle(state(TOPICS[:2]))
    assert live.sent == [
        ("subscribe", {"topics": {key: tuple(TOPICS[place]) for place, key in enumerate(("left", "right"))}})
    ]
    assert "waiting for /endo/left/camera_info and /endo/right/camera_info" in live.waiting_for()
    live.handle(state())
    live.handle(state())
    assert len(live.sent) == 2
    live.handle(Message("hello", {"ros": 2}))  # another node knows nothing of it
    live.handle(state())
    assert len(live.sent[2][1]["topics"]) == 4


def test_a_topic_of_another_type_is_said(live):
    live.topics = StereoTopics.of_images("/endo/left/image_raw", "/endo/right/image_raw")
    live.handle(state([["/endo/left/image_raw", "std_msgs/msg/String"]]))
    assert "/endo/left/image_raw is of type std_msgs/msg/String; expected sensor_msgs/msg/Image or" in live.said[0]
    live.handle(state(problem="there is no ROS master"))
    assert live.waiting_for() == "there is no ROS master"


def test_only_the_newest_pair_waits_and_the_others_are_counted(live):
    live.handle(state())
    for number in range(1, 4):
        for key in ("left", "right"):
            live.handle(image_message(key, number * 40 * MS, np.full((4, 6), number, np.uint8)))
    pair = live.next_pair(0)
    assert (pair.stamp_ns, pair.frame_id, int(pair.images()[1][0, 0])) == (120 * MS, "endo_left", 3)
    assert live.next_pair(0) is None
    assert live.counts() == (6, 3, 0, 0, 2, 0)


def test_a_source_ends_when_the_cameras_or_the_size_change(live):
    live.handle(state())
    for side in ("left", "right"):
        live.handle(info_message(side, RIG))

    def pair(number, **options):
        for key in ("left", "right"):
            live.handle(image_message(key, number * 40 * MS, **options))

    source = RosSource(live)
    pair(1)
    frame = source.read()
    assert (frame.index, source.header_of(0)) == (0, (40 * MS, "endo_left"))
    pair(2, encoding="nv21")
    with pytest.raises(BadFrame, match="encoded as 'nv21'; expected one of mono8"):
        source.read()
    pair(3, pixels=np.zeros((8, 6), np.uint8))
    assert source.read() is None
    assert source.change == "the images are 6x8 now, before they were 6x4"
    source = RosSource(live)
    for side in ("left", "right"):
        live.handle(info_message(side, RIG))
    pair(4)
    assert source.read() is not None
    live.handle(info_message("left", RIG, k=np.array([51, 0, 2.5, 0, 51, 1.5, 0, 0, 1.0])))
    pair(5)
    assert source.read() is None
    assert source.change == "camera_info has changed"
    source.end()
    assert source.read() is None


def test_faults_are_counted_and_said_once(live):
    live.handle(state())
    for _ in range(3):
        live.handle(Message("image", {"key": "left", "type": "sensor_msgs/msg/Image"}, b"damaged"))
    live.handle(Message("image", {"key": "left", "type": "std_msgs/msg/String"}, b""))
    assert live.counts().damaged == 4
    assert sum("damaged message" in text for text in live.said) == 1
    for message in (Message("image", {"key": "up", "type": ""}), Message("order", {})):
        with pytest.raises(BridgeError):
            live.handle(message)
    live.handle(Message("note", {"text": "\x1b[2J"}))
    assert live.said[-1] == "the ROS node: \\x1b[2J"


def test_stamps_that_never_fit_are_said(live):
    live.handle(state())
    for side in ("left", "right"):
        live.handle(info_message(side, RIG))
    for number in range(1, 7):
        assert live.waiting_for() == "" or number == 1  # one camera may be heard before the other
        for place, key in enumerate(("left", "right")):
            live.handle(image_message(key, number * 40 * MS + place * 17 * MS))
    assert "differ by 17.0 ms, more than the tolerance of 5 ms" in live.waiting_for()


def test_images_without_stamps_are_said(live):
    live.handle(state())
    for _ in range(2):
        for key in ("left", "right"):
            live.handle(image_message(key, 0))
    assert any("its stamps are 0" in text for text in live.said)
