"""Bags of other libraries are read, ours are read by them, and broken ones are read as far as they go."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import bdis
from bdis.connections.ros import bag1_file, mcap_file
from bdis.connections.ros.bag import Bag, is_bag
from bdis.connections.ros.depth_bag import CONTENTS, DepthBag
from bdis.connections.ros.image_messages import image_of
from bdis.connections.ros.message_types import definition_of, parse_message
from bdis.matching.result import StereoResult
from tests.connections.bags import (
    FORMATS,
    FRAME_ID,
    LEFT,
    RIGHT,
    START_NS,
    file_of,
    rendered,
    stereo,
    write_bag,
    write_mcap,
)

HERE = Path(__file__).parent
SYSTEM_PYTHON = "/usr/bin/python3"
CUTS = 40  # of each format; more in tests/torture/ros_messages.py


def images(bag, topic=LEFT):
    return [image_of(parse_message(bag.read(each), bag.topics[topic], bag.is_ros1)) for each in bag.messages(topic)]


# --- Written by others ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", FORMATS)
def test_bags_of_other_libraries(tmp_path, how):
    place = write_bag(tmp_path, stereo(), how)
    assert is_bag(str(place))
    with Bag(place) as bag:
        assert bag.counts == dict.fromkeys([LEFT, "/endo/left/camera_info", RIGHT, "/endo/right/camera_info"], 4)
        for found, frame in zip(images(bag), rendered()[0], strict=True):
            np.testing.assert_array_equal(found, frame.left)
        assert bag.problems == []
        bag.close()
        assert len(images(bag, RIGHT)) == 4  # opened again


def test_mcap_with_messages_of_ros_1(tmp_path):
    from mcap.writer import Writer

    with open(tmp_path / "a.mcap", "wb") as file:
        writer = Writer(file)
        writer.start("ros1", "test")
        channels = {}
        for message in stereo():
            if message.topic not in channels:
                kind, text = message.kind.replace("/msg/", "/"), definition_of(message.kind, is_ros1=True)[0]
                schema = writer.register_schema(kind, "ros1msg", text.encode())
                channels[message.topic] = writer.register_channel(message.topic, "ros1", schema)
            writer.add_message(channels[message.topic], message.log_ns, message.encoded(True), message.log_ns)
        writer.finish()
    with bdis.open_source(tmp_path / "a.mcap") as source:
        assert [frame.stamp_ns for frame in source] == [START_NS + 40_000_000 * number for number in range(4)]
        assert source.rig == rendered()[1]


def check_rosbag(place):
    with bdis.open_source(place) as source:
        first, second = source
        assert source.rig == bdis.Rig(50, 23.5, 15.5, 4, size=(48, 32))
    assert (first.stamp_ns, first.frame_id, second.time_s) == (1_700_000_000 * 10**9, "scope", 0.04)
    np.testing.assert_array_equal(first.left[:, 4:], first.right[:, :-4])
    assert not np.array_equal(first.left, second.left)


def test_a_bag_of_ros_1_itself():
    check_rosbag(HERE / "written_by_rosbag.bag")


@pytest.mark.parametrize("compression", ["none", "bz2", "lz4"])
def test_ros_1_itself_writes_what_we_read(tmp_path, compression):
    if not has_rosbag():
        pytest.skip("no Python with ROS 1's rosbag (Debian: python3-rosbag)")
    place = tmp_path / "scope.bag"
    subprocess.run([SYSTEM_PYTHON, HERE / "rosbag_script.py", place, compression], check=True, timeout=60)
    check_rosbag(place)


def has_rosbag():
    if not shutil.which(SYSTEM_PYTHON):
        return False
    command = [SYSTEM_PYTHON, "-c", "import rosbag, sensor_msgs, stereo_msgs"]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


# --- Written by us ----------------------------------------------------------------------------------------------------


def written(path, frames=3, first=0, keep=0, contents=tuple(CONTENTS)):
    rig = bdis.Rig(500, 2, 1, 5, cx_right=2.5, size=(5, 4))
    disparity = np.arange(20, 40, dtype=np.float32).reshape(4, 5)
    disparity[0, 0] = np.nan
    result = StereoResult(disparity, np.ones_like(disparity), variance=np.full_like(disparity, 0.01))
    left = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    bag = DepthBag(path, rig, contents, is_ros1=path.suffix == ".bag", keep=keep)
    for number in range(first, frames):
        bag.write(
            START_NS + number, FRAME_ID, disparity=disparity, depth_mm=rig.depth(result), left=left, right=left,
            sigma_mm=rig.depth_sigma(result), cloud=rig.cloud(result, left),
        )  # fmt: skip
    bag.close()
    return rig, result


TOPICS = {f"/stereo/{name}" for name, _ in CONTENTS.values()} | {
    "/stereo/left/camera_info",
    "/stereo/right/camera_info",
}


@pytest.mark.parametrize("name", ["depth.mcap", "depth.bag"])
def test_rosbags_reads_ours(tmp_path, name):
    from rosbags.highlevel import AnyReader

    rig, result = written(tmp_path / name)
    with AnyReader([tmp_path / name]) as reader:
        assert {each.topic: each.msgcount for each in reader.connections} == dict.fromkeys(TOPICS, 3)
        for connection, time_ns, content in reader.messages():
            message = reader.deserialize(content, connection.msgtype)
            assert START_NS <= time_ns < START_NS + 3
            assert message.header.frame_id == FRAME_ID
            assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == time_ns
            if connection.topic == "/stereo/left/depth/image_rect":
                found = message.data.view("<f4").reshape(4, 5)
                np.testing.assert_allclose(1e3 * found, rig.depth(result), rtol=1e-6)
            if connection.topic == "/stereo/left/depth/sigma":
                np.testing.assert_allclose(
                    1e3 * message.data.view("<f4").reshape(4, 5), rig.depth_sigma(result), rtol=1e-6
                )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of mcap itself
def test_mcap_reads_ours(tmp_path):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    rig, result = written(tmp_path / "depth.mcap")
    with open(tmp_path / "depth.mcap", "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()], validate_crcs=True)
        statistics = reader.get_summary().statistics
        assert (statistics.message_count, statistics.chunk_count) == (3 * len(TOPICS), 3)
        found = list(reader.iter_decoded_messages(topics=["/stereo/disparity"], start_time=START_NS + 1))
    assert len(found) == 2  # by the index
    disparity = found[0].decoded_message
    values = np.frombuffer(disparity.image.data, "<f4").reshape(4, 5)
    depth_mm = np.where(values < disparity.min_disparity, np.nan, 1e3 * disparity.f * disparity.t / values)
    np.testing.assert_allclose(depth_mm, rig.depth(result), rtol=1e-5)


def test_ros_1_itself_reads_ours(tmp_path):
    if not has_rosbag():
        pytest.skip("no Python with ROS 1's rosbag (Debian: python3-rosbag)")
    written(tmp_path / "depth.bag")
    script = "import rosbag, sys; print([str(m.header.stamp) for t, m, s in rosbag.Bag(sys.argv[1]).read_messages()])"
    done = subprocess.run(
        [SYSTEM_PYTHON, "-c", script, tmp_path / "depth.bag"], capture_output=True, text=True, check=True, timeout=60
    )
    assert eval(done.stdout) == [str(START_NS + number) for number in range(3) for _ in TOPICS]


@pytest.mark.parametrize("name", ["depth.mcap", "depth.bag"])
def test_a_bag_cut_anywhere_is_continued_with_the_same_bits(tmp_path, name):
    count = (bag1_file if name == "depth.bag" else mcap_file).count_frames
    path = tmp_path / name
    written(path, contents=("depth",))
    whole = path.read_bytes()
    assert count(path) == 3
    seen = set()
    for size in [*range(0, len(whole), 97), len(whole)]:
        path.write_bytes(whole[:size])
        frames = count(path)
        seen.add(frames)
        written(path, first=frames, keep=frames, contents=("depth",))
        assert path.read_bytes() == whole
    assert seen == {0, 1, 2, 3}
    assert count(tmp_path / "missing") == 0
    with pytest.raises(ValueError, match="other topics"):
        written(path, first=1, keep=1, contents=("disparity",))


# --- Broken -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", FORMATS)
def test_a_bag_that_ends_anywhere_is_read_as_far_as_it_goes(tmp_path, how):
    path = file_of(write_bag(tmp_path, stereo(), how))
    whole, counts = path.read_bytes(), []
    for size in np.linspace(0, len(whole) - 1, CUTS).astype(int):
        path.write_bytes(whole[:size])
        try:
            with Bag(path) as bag:
                found = images(bag) if LEFT in bag.topics else []
                assert bag.problems or len(found) == 4 or how.startswith("db3"), size
                counts.append(len(found))
                for image, frame in zip(found, rendered()[0]):
                    np.testing.assert_array_equal(image, frame.left)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017  # most are not refused
            counts.append(0)
    if not how.startswith("db3"):  # SQLite keeps pages in any order
        assert counts == sorted(counts)
        assert max(counts) == 4


def test_what_is_no_bag_is_refused_in_words(tmp_path):
    for name in ("a.bag", "b.mcap", "c.db3"):
        (tmp_path / name).write_bytes(b"nothing of the kind" * 9)
        with pytest.raises(ValueError, match=name):
            Bag(tmp_path / name)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "metadata.yaml").write_text("rosbag2_bagfile_information:\n")
    (tmp_path / "folder" / "a.db3.zstd").write_bytes(b"")
    with pytest.raises(ValueError, match="unpack a.db3.zstd"):
        Bag(tmp_path / "folder")


def test_a_wrong_checksum_of_a_chunk_is_noticed(tmp_path):
    path = write_mcap(tmp_path / "a.mcap", stereo())
    content = bytearray(path.read_bytes())
    at = bytes(content).index(rendered()[0][2].left.tobytes()[:100])
    content[at] ^= 1
    path.write_bytes(content)
    with Bag(path) as bag, pytest.raises(ValueError, match="checksum"):
        images(bag)


def test_sizes_that_a_file_declares_are_not_believed(tmp_path):
    path = write_mcap(tmp_path / "a.mcap", stereo(), "lz4")
    content = bytearray(path.read_bytes())
    for record in mcap_file.records(bytes(content), len(mcap_file.MAGIC)):
        if record.kind == mcap_file.CHUNK:
            content[record.begin + 16 : record.begin + 24] = (2**50).to_bytes(8, "little")
    path.write_bytes(content)
    with Bag(path) as bag:
        assert "declares 1125899906842624 bytes" in bag.problems[0]


def test_a_view_in_place_of_a_table_is_refused(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "a.db3") as file:
        file.execute("CREATE TABLE topics (id, name, type, serialization_format)")
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i id, i timestamp FROM n"
        file.execute(f"CREATE VIEW messages AS {endless}")
    file.close()
    with pytest.raises(ValueError, match="no tables"):
        Bag(tmp_path / "a.db3")
