"""``bdis run`` from bag to bag."""

import signal

import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from bdis.connections.ros import bag1_file, mcap_file
from bdis.connections.ros.bag import Bag
from bdis.connections.ros.message_types import parse_message
from bdis.connections.ros.messages import stamp_ns_of
from bdis.video.recording import read_frame_log, read_manifest
from tests.cli.commands import fails, needs_posix
from tests.cli.recordings import FAST, finished, start, wait_for_frames
from tests.connections.bags import FRAME_ID, RIGHT, START_NS, rendered, stereo, write_bag

ALL = "disparity,depth,depth-mm,sigma,cloud,left,right"


def depths(path, topic="/stereo/left/depth/image_rect"):
    """Stamp, coordinate frame and values of every message of a depth image."""
    with Bag(path) as bag:
        messages = [parse_message(bag.read(each), bag.topics[topic], bag.is_ros1) for each in bag.messages(topic)]
    return [
        (stamp_ns_of(each.header), each.header.frame_id, each.data.view("<f4").reshape(each.height, each.width))
        for each in messages
    ]


@pytest.mark.parametrize(("save", "name"), [("bag", "depth.mcap"), ("ros1-bag", "depth.bag")])
def test_from_bag_to_bag(tmp_path, capsys, save, name):
    place, out = write_bag(tmp_path, stereo(), "bag"), tmp_path / "out"
    options = ["--save", f"{save},depth", "--bag-contents", ALL, "--bag-namespace", "/scope", "-o", str(out)]
    assert run(["run", str(place), *FAST, *options]) == 0
    said = capsys.readouterr().out
    assert "/endo/left/image_rect and /endo/right/image_rect: 4 pairs" in said
    assert "images are rectified" in said
    found = depths(out / name, "/scope/left/depth/image_rect")
    assert [(stamp, frame_id) for stamp, frame_id, _ in found] == [
        (START_NS + 40_000_000 * number, FRAME_ID) for number in range(4)
    ]
    for number, (_, _, depth_m) in enumerate(found):
        np.testing.assert_allclose(1e3 * depth_m, bdis.read_depth(out / "depth" / f"{number:06d}.tiff"), rtol=1e-5)
    assert run(["run", str(place), *FAST, *options, "--resume"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_the_images_in_a_bag_of_ours_are_a_source(tmp_path, capsys):
    place = write_bag(tmp_path, stereo())
    for name, source in (("first", place), ("second", tmp_path / "first" / "depth.mcap")):
        options = ["--save", "bag", "--bag-contents", "depth,left,right", "-o", str(tmp_path / name)]
        assert run(["run", str(source), *FAST, *options]) == 0
    first, second = ((tmp_path / name / "depth.mcap").read_bytes() for name in ("first", "second"))
    assert first == second


def test_start_and_stop(tmp_path, capsys):
    place, out = write_bag(tmp_path, stereo()), tmp_path / "out"
    assert run(["run", str(place), *FAST, "--save", "bag", "--start", "1", "--stop", "0.12s", "-o", str(out)]) == 0
    assert [stamp for stamp, _, _ in depths(out / "depth.mcap")] == [START_NS + 40_000_000, START_NS + 80_000_000]


def test_tolerance_pairs_stamps_that_are_not_exact(tmp_path, capsys):
    messages = stereo()
    for message in messages:
        message.stamp_ns += 15_000_000 * (message.topic == RIGHT)
    place = write_bag(tmp_path, messages)
    arguments = ["run", place, *FAST, "--save", "bag,left"]
    fails(capsys, [*arguments, "-o", tmp_path / "out"], 1, "stamps are 15 ms apart or more", "--tolerance MS")
    fails(capsys, [*arguments, "--tolerance", "-1"], 2, "--tolerance is -1; expected 0 to 1000 ms")
    fails(capsys, ["run", "render:plane", *FAST, "--tolerance", "5"], 1, "is for recordings of ROS")
    assert run([str(each) for each in [*arguments, "--tolerance", "16", "-o", tmp_path / "out"]]) == 0
    assert len(depths(tmp_path / "out" / "depth.mcap")) == 4


def test_a_source_without_stamps_gets_some(tmp_path, capsys):
    arguments = ["run", "render:plane,frames=2,height=48,width=64", *FAST, "--save", "bag", "-o", str(tmp_path / "out")]
    assert run(arguments) == 0
    found = depths(tmp_path / "out" / "depth.mcap")
    assert [each[:2] for each in found] == [
        (10**9, "stereo_left_optical_frame"), (10**9 + 40_000_000, "stereo_left_optical_frame"),
    ]  # fmt: skip


def test_a_given_calibration_wins(tmp_path, capsys):
    place, out = write_bag(tmp_path, stereo()), tmp_path / "out"
    cameras = ["--focal", "200", "--baseline", "7"]
    assert run(["run", str(place), *FAST, "--save", "bag", "-o", str(out), *cameras]) == 0
    assert read_manifest(out)["calibration"]["baseline_mm"] == 7
    assert rendered()[1].baseline_mm != 7


def test_maximum_depth_holds_for_all_that_is_in_a_bag(tmp_path, capsys):
    place, out = write_bag(tmp_path, stereo()), tmp_path / "out"
    assert run(["run", str(place), *FAST, "--save", "bag", "-o", str(out)]) == 0
    limit_mm = 1e3 * float(np.nanmedian(depths(out / "depth.mcap")[0][2]))
    out = tmp_path / "limited"
    assert run(["run", str(place), *FAST, "--save", "bag", "--max-depth", f"{limit_mm}", "-o", str(out)]) == 0
    for topic in ("/stereo/left/depth/image_rect", "/stereo/left/depth/sigma"):
        assert 0.3 < np.isnan(depths(out / "depth.mcap", topic)[0][2]).mean() < 0.9
    assert 1e3 * np.nanmax(depths(out / "depth.mcap")[0][2]) <= 1.001 * limit_mm


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--topics", "/a", "/b"], 1, "no images on '/a'"),
        (["--save", "bag", "--bag-contents", "everything"], 2, "expected one or more of disparity"),
        (["--save", "bag", "--bag-namespace", "my stereo"], 2, "no namespace of ROS"),
        (["--bag-namespace", "/a"], 2, "need --save bag"),
        (["--save", "bag", "--set", "variance=false"], 2, "a bag with sigma needs the variance"),
        (["--layout", "side-by-side"], 1, "a recording of ROS"),
        (["--fps", "30"], 1, "which has its own"),
    ],
)
def test_what_is_refused(tmp_path, capsys, options, code, words):
    place = write_bag(tmp_path, stereo())
    fails(capsys, ["run", place, *FAST, "-o", tmp_path / "out", *options], code, words)


def test_a_bag_without_camera_info_has_no_depth(tmp_path, capsys):
    place = write_bag(tmp_path, stereo(infos=False))
    fails(capsys, ["run", place, *FAST, "--save", "bag", "-o", tmp_path / "out"], 2, "needs --calib FILE")
    assert run(["run", str(place), *FAST, "--save", "disparity", "-o", str(tmp_path / "out")]) == 0
    assert "warning: calibration none: the bag has no camera_info of both cameras" in capsys.readouterr().err


@needs_posix
def test_killed_and_resumed_with_the_same_bits(tmp_path):
    out = tmp_path / "out"
    arguments = ["run", "render:plane,frames=300,distinct=3,height=64,width=96", *FAST, "--save", "bag,ros1-bag", "-o"]
    process = start(*arguments, out)
    wait_for_frames(out, 10)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    logged = len(read_frame_log(out / "frames.csv"))
    for name, count_frames in (("depth.mcap", mcap_file.count_frames), ("depth.bag", bag1_file.count_frames)):
        assert logged <= count_frames(out / name) <= logged + 2
        assert len(depths(out / name)) >= logged  # it can be read without having been closed
    assert finished(*arguments, out, "--resume")[0] == 0
    assert finished(*arguments, tmp_path / "whole")[0] == 0
    for name in ("depth.mcap", "depth.bag"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
