"""``bdis ros1`` with a real master, a camera and a listener in rospy: depth is right, and faults are survived."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rosbags")

from bdis.cameras.formats.yaml_subset import parse_yaml
from bdis.synthetic import render

from .ros1_world import ROS_PYTHON, TYPES, Lines, World, camera_config, end, missing, wait_until

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")
HEIGHT, WIDTH = 96, 128
EXAMPLES = Path(__file__).parents[2] / "examples" / "ros"


@pytest.fixture(scope="module")
def pair():
    return render("tissue", HEIGHT, WIDTH, seed=3)


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.close()


def says(bdis, *words, seconds=60.0):
    wait_until(lambda: all(word in bdis.lines.text() for word in words), seconds, f"{words} in {bdis.lines.text()}")


def more(listener, topic, count=3):
    """Wait for further messages of a topic; the last one is returned."""
    before = len(listener.heard(topic))
    wait_until(lambda: len(listener.heard(topic)) >= before + count, what=f"more of {topic}")
    return listener.heard(topic)[-1]


def tell(camera, **changes):
    camera.stdin.write(json.dumps(changes) + "\n")
    camera.stdin.flush()


def node_of(bdis):
    """Number of the process of the node."""
    found = subprocess.run(["pgrep", "-P", str(bdis.pid), "-f", "ros1/node.py"], capture_output=True, text=True)
    return int(found.stdout.split()[0]) if found.stdout.strip() else None


def is_alive(pid):
    """Whether a process runs; one that has ended may still wait for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_depth_is_right_and_faults_are_survived(world, pair):
    bdis = world.bdis("--preset", "fast")
    says(bdis, f"there is no ROS master at http://127.0.0.1:{world.port}")
    master = world.master()
    listener = world.listener(*TYPES)
    camera = world.camera(camera_config(world.folder, pair))
    says(
        bdis,
        "found /endo/left/image_raw and /endo/right/image_raw",
        "images are rectified: camera_info has no distortion or rotation",
    )
    for topic in TYPES:
        more(listener, topic, 2)
    check_same_header(listener)
    check_parameters(world, bdis, listener, pair)
    check_killed_node(bdis, listener)
    listener = check_restarted_master(world, master)
    check_camera_changes(world, bdis, listener, camera, pair)
    tell(camera, left={"publishes": False})
    wait_until(lambda: listener.status()["problem"] == "nothing comes on /endo/left/image_raw")
    check_content(listener, pair)
    assert end(bdis) == 0
    wait_until(lambda: "left out" in bdis.lines.text())
    assert "Traceback" not in bdis.lines.text()


def check_same_header(listener):
    """All results of a frame have the stamp and frame_id of its left image."""
    stamps = [{line["stamp"] for line in listener.heard(topic)} for topic in TYPES if topic != "status"]
    assert set.intersection(*stamps)
    assert {listener.heard(topic)[-1]["frame_id"] for topic in TYPES if topic != "status"} == {"endo_left"}


def check_parameters(world, bdis, listener, pair):
    """One that can be used is taken over, one that cannot be is refused; both while it runs."""
    median_mm = float(np.median(pair.depth_mm))

    def set_parameters(**values):
        text = json.dumps(values)
        subprocess.run(["rosparam", "set", "/bdis", text], env=world.environment, check=True)

    set_parameters(max_depth_m=median_mm / 1e3, preset="slower")
    says(bdis, "max_depth_m is", "preset is 'slower'; expected one of", "fast stays")
    more(listener, "depth/image")
    depth_mm = 1e3 * listener.data("depth/image", np.float32)
    assert np.nanmax(depth_mm) <= median_mm
    assert np.isfinite(depth_mm).mean() < 0.7
    wait_until(lambda: "preset" in listener.status()["refused"])
    set_parameters(max_depth_m=0, preset="fast")
    says(bdis, "max_depth_m is 0 now")


def check_killed_node(bdis, listener):
    os.kill(wait_until(lambda: node_of(bdis)), 9)
    says(bdis, "the ROS node died (killed by signal 9); starting it again")
    more(listener, "depth/image")


def check_restarted_master(world, master):
    """Frames go on without a master, and a new one is told of us; a listener that found us there is returned."""
    master.kill()
    master.wait()
    world.master()
    late = world.listener(*TYPES)
    more(late, "depth/image")
    parameters = subprocess.run(["rosparam", "get", "/bdis"], env=world.environment, capture_output=True, text=True)
    assert "preset: fast" in parameters.stdout
    return late


def check_camera_changes(world, bdis, listener, camera, pair):
    """Stamps that do not fit, an encoding that nobody knows, another calibration: said, counted, followed."""
    tell(camera, right={"late_s": 0.02})
    says(bdis, "differ by 20.0 ms, more than the tolerance of 5 ms")
    tell(camera, right={"late_s": 0.0}, left={"encoding": "nv21"})
    says(bdis, "images are encoded as 'nv21'")
    tell(camera, left={"encoding": "rgb8"})
    info = camera_config(world.folder, pair)["right"]["info"]
    wider = dict(info, P=[2 * number if place == 3 else number for place, number in enumerate(info["P"])])
    for changed, factor in ((wider, 2), (info, 1)):
        tell(camera, right={"info": changed})
        baseline = pytest.approx(factor * pair.baseline_mm / 1e3, rel=1e-6)
        wait_until(lambda: listener.heard("disparity") and listener.heard("disparity")[-1]["T"] == baseline)
    says(bdis, "camera_info has changed: starting again with it")
    wait_until(lambda: listener.status()["state"] == "running")
    counted = listener.status()
    assert counted["unpaired"] > 0
    assert counted["damaged"] > 0
    assert counted["nodes_lost"] >= 1


def check_content(listener, pair):
    """The last frame: depth as rendered, and disparity, sigma and points that agree with it."""
    depth_mm = 1e3 * listener.data("depth/image", np.float32).reshape(HEIGHT, WIDTH)
    sigma_mm = 1e3 * listener.data("sigma/image", np.float32).reshape(HEIGHT, WIDTH)
    assert np.nanmedian(np.abs(depth_mm - pair.depth_mm)) < 1.5  # of 50 to 90 mm, at 128 px
    assert np.isfinite(depth_mm).mean() > 0.8
    np.testing.assert_array_equal(np.isfinite(sigma_mm), np.isfinite(depth_mm))
    shown = listener.heard("disparity")[-1]
    assert shown["f"] == pytest.approx(pair.focal_px, rel=1e-6)
    disparity = listener.data("disparity", np.float32).reshape(HEIGHT, WIDTH)
    known = disparity >= shown["min_disparity"]
    np.testing.assert_array_equal(known, np.isfinite(depth_mm))
    np.testing.assert_allclose(1e3 * shown["f"] * shown["T"] / disparity[known], depth_mm[known], rtol=1e-5)
    points = listener.data("points", np.float32).reshape(-1, 5)
    np.testing.assert_allclose(1e3 * points[:, 2], depth_mm[known], rtol=1e-5)
    packed = points[:, 3].view(np.uint32)
    colors = np.stack([packed >> 16 & 255, packed >> 8 & 255, packed & 255], -1)
    np.testing.assert_array_equal(colors, pair.left[known])
    np.testing.assert_allclose(1e3 * points[:, 4], sigma_mm[known], rtol=1e-4)


def test_a_node_ends_with_bdis_and_raw_topics_are_rectified(world):
    """bdis is killed; before that, its depth is that of the scene which raw cameras see."""
    pytest.importorskip("cv2")
    from ..cameras.raw_pairs import raw_pair

    left, right, cameras, scene = raw_pair(size=(160, 120))
    world.master()
    camera = world.camera(raw_config(world.folder, left, right, cameras))
    bdis = world.bdis("--preset", "fast", "--topics", "/endo/left/image_raw", "/endo/right/image_raw")
    listener = world.listener("depth/image")
    more(listener, "depth/image")
    says(bdis, "images rectified with it: topic /endo/left/image_raw")
    assert camera.poll() is None
    depth_mm = 1e3 * listener.data("depth/image", np.float32)
    assert np.nanmedian(depth_mm) == pytest.approx(np.median(scene.depth_mm), rel=0.04)
    check_example(world, scene)
    node = node_of(bdis)
    bdis.kill()
    wait_until(lambda: not is_alive(node), what="the node has ended")


def check_example(world, scene):
    """The example prints the distance in the middle, as exact as it says."""
    process = world.start(ROS_PYTHON, str(EXAMPLES / "centre_depth_ros1.py"), stdout=subprocess.PIPE)
    lines = Lines(process.stdout)
    wait_until(lambda: "+-" in lines.text(), what="the example prints a depth")
    depth_mm, _, sigma_mm, unit = lines.lines[0].split()[1:]
    expected = scene.depth_mm[scene.depth_mm.shape[0] // 2, scene.depth_mm.shape[1] // 2]
    assert unit == "mm"
    assert 0 < float(sigma_mm) < 0.1 * expected
    assert float(depth_mm) == pytest.approx(expected, rel=0.04)


def raw_config(folder, left, right, cameras):
    """A camera that publishes raw images, with D, K, R and P as ROS's calibrator finds them."""
    from ..cameras.raw_pairs import write_ros

    write_ros(folder, cameras)
    config = {"rate": 10.0}
    for side, pixels in (("left", left), ("right", right)):
        pixels.tofile(folder / f"{side}.raw")
        values = parse_yaml((folder / f"{side}.yaml").read_text())
        names = {"K": "camera_matrix", "D": "distortion_coefficients", "R": "rectification_matrix",
                 "P": "projection_matrix"}  # fmt: skip
        info = {short: values[name]["data"] for short, name in names.items()}
        width, height = cameras.size
        config[side] = {
            "topic": f"/endo/{side}/image_raw", "info_topic": f"/endo/{side}/camera_info", "width": width,
            "height": height, "encoding": "rgb8", "file": str(folder / f"{side}.raw"), "frame_id": f"endo_{side}",
            "info": {"width": width, "height": height, **info},
        }  # fmt: skip
    return config
