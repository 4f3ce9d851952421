"""``bdis export``: recordings become layouts of other tools, with the depth that was recorded."""

import json

import numpy as np
import pytest

import bdis
from bdis.cli.app import run
from bdis.video.recording import read_depth_video
from tests.cameras.raw_pairs import raw_pair
from tests.cli.commands import fails

cv2 = pytest.importorskip("cv2")
pytest.importorskip("av")
SOURCE = "render:colon,frames=3,height=64,width=96"
FAST = ["--preset", "fast"]


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A recording with depth video and left images; tests do not change it."""
    folder = tmp_path_factory.mktemp("recorded") / "recording"
    assert run(["run", SOURCE, *FAST, "--save", "video,left", "-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def without_left(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "without-left"
    assert run(["run", SOURCE, *FAST, "--save", "depth,sigma", "--every", "2", "-o", str(folder)]) == 0
    return folder


def export(recording, out, *options):
    return run(["export", str(recording), "-o", str(out), *map(str, options)])


def test_the_depth_of_an_export_is_that_of_the_recording(recording, tmp_path, capsys):
    assert export(recording, tmp_path / "out", "--to", "tum", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["frames"], said["layout"], said["depth"]["steps_per_mm"]) == (3, "tum", 100)
    with bdis.open_source(SOURCE) as source:
        for pair, (_, time_s, depth) in zip(source, read_depth_video(recording / "depth.mkv"), strict=True):
            name = f"{time_s:.6f}.png"
            steps = cv2.imread(str(tmp_path / "out" / "depth" / name), cv2.IMREAD_UNCHANGED)
            np.testing.assert_allclose(np.where(steps > 0, steps / 100, np.nan), depth, atol=0.0051)
            np.testing.assert_array_equal(bdis.read_image(tmp_path / "out" / "rgb" / name), pair.left)


@pytest.mark.parametrize(("save", "namespace"), [("bag", "/"), ("ros1-bag", "a/b")])
def test_a_recording_that_is_only_a_bag_is_exported(recording, tmp_path, capsys, save, namespace):
    pytest.importorskip("zarr")
    options = ["--save", save, "--bag-contents", "depth,sigma,left", "--bag-namespace", namespace]
    assert run(["run", SOURCE, *FAST, *options, "-o", str(tmp_path / "bag")]) == 0
    assert export(tmp_path / "bag", tmp_path / "out", "--to", "zarr") == 0
    import zarr

    group = zarr.open_group(str(tmp_path / "out"), mode="r")
    videos = [depth for _, _, depth in read_depth_video(recording / "depth.mkv")]
    np.testing.assert_allclose(group["depth"][:], videos, atol=0.0051)
    np.testing.assert_array_equal(np.isfinite(group["sigma"][:]), np.isfinite(videos))
    with bdis.open_source(SOURCE) as source:
        np.testing.assert_array_equal(group["left"][:], [pair.left for pair in source])
    bag = next((tmp_path / "bag").glob("depth.*"))
    bag.write_bytes(bag.read_bytes()[: bag.stat().st_size // 2])
    fails(capsys, ["export", tmp_path / "bag", "--to", "tum", "-o", tmp_path / "b"], 1, "of 3 frames", "--resume")


def test_left_images_come_from_the_source_if_they_were_not_recorded(without_left, tmp_path, capsys):
    pytest.importorskip("zarr")
    said = fails(capsys, ["export", without_left, "--to", "zarr", "-o", tmp_path / "out"], 2, "has no left images")
    assert f"--source {SOURCE}" in said.err
    assert export(without_left, tmp_path / "out", "--to", "zarr", "--source", SOURCE) == 0
    import zarr

    group = zarr.open_group(str(tmp_path / "out"), mode="r")
    assert group["index"][:].tolist() == [0, 2]
    with bdis.open_source(SOURCE) as source:
        frames = list(source)
    for number, index in enumerate((0, 2)):
        np.testing.assert_array_equal(group["left"][number], frames[index].left)
        depth = bdis.read_depth(without_left / "depth" / f"{index:06d}.tiff")
        np.testing.assert_array_equal(group["depth"][number], depth)


def test_raw_images_are_rectified_again_with_the_same_calibration(tmp_path, capsys):
    left, right, cameras, _ = raw_pair(size=(160, 120))
    for name, image in (("left", left), ("right", right)):
        (tmp_path / "raw" / name).mkdir(parents=True)
        bdis.write_image(tmp_path / "raw" / name / "0.png", image)
    cameras.save(tmp_path / "raw.toml")
    calib = ["--calib", tmp_path / "raw.toml", "--rectify"]
    out = ["-o", str(tmp_path / "recording")]
    assert run(["run", str(tmp_path / "raw"), *map(str, calib), *FAST, "--save", "depth", "--fps", "10", *out]) == 0
    source = ["--to", "endonerf", "--source", tmp_path / "raw"]
    assert export(tmp_path / "recording", tmp_path / "out", *source, *calib) == 0
    expected, _ = cameras.rectify()(left, right)
    np.testing.assert_array_equal(bdis.read_image(tmp_path / "out" / "images" / "000000.png"), expected)
    refused = ["export", tmp_path / "recording", *source, "-o", tmp_path / "b"]
    fails(capsys, refused, 1, "was recorded with another calibration file, or without one; give the same")
    fails(capsys, [*refused, *calib[:2], "--no-rectify"], 1, "were rectified by bdis run, and these would not be")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (SOURCE.replace("colon", "plane") + ",baseline_mm=9", "the cameras of --source are not those of the recording"),
        (SOURCE.replace("frames=3", "frames=2"), "is not the source of this recording: frames were 3, now 2"),
        (SOURCE + ",fps=10", "has no frame 2 at 0.080 s"),
    ],
)
def test_another_source_is_refused(other, words, without_left, tmp_path, capsys):
    fails(capsys, ["export", without_left, "--to", "tum", "-o", tmp_path / "out", "--source", other], 1, words)
    assert not (tmp_path / "out").exists()


def test_left_images_of_another_clip_of_the_same_endoscope_are_refused(tmp_path, capsys):
    """As many frames of the same size at the same times: they were exported with the depth of the recorded clip."""
    texture = np.random.default_rng(3).integers(0, 255, (48, 68), np.uint8)
    for clip in ("clip", "other"):
        for number in range(3):
            for view, first in (("left", 0), ("right", 4)):
                path = tmp_path / clip / view / f"{number}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                bdis.write_image(path, np.roll(texture, number + (clip == "other"), 0)[:, first : first + 64])
    camera = ["--focal", "80", "--baseline", "5"]
    assert (
        run(["run", str(tmp_path / "clip"), *camera, *FAST, "--save", "depth", "-o", str(tmp_path / "recorded")]) == 0
    )
    command = ["export", tmp_path / "recorded", "--to", "tum", *camera, "-o", tmp_path / "out", "--source"]
    fails(capsys, [*command, tmp_path / "other"], 1, "other is not the source of this recording: content")
    (tmp_path / "clip").rename(tmp_path / "moved")
    assert run([*map(str, command), str(tmp_path / "moved")]) == 0
    assert json.loads((tmp_path / "out" / "export.json").read_text())["source"] == ["clip"]


def test_poses_come_from_a_file(recording, tmp_path, capsys):
    poses = tmp_path / "groundtruth.txt"
    poses.write_text("".join(f"{number} {number} 0 0 0 0 0 1\n" for number in range(3)))
    options = ["--to", "tum", "--poses", poses]
    assert export(recording, tmp_path / "out", *options, "--poses-unit", "mm") == 0
    assert (tmp_path / "out" / "groundtruth.txt").read_text().splitlines()[-1] == "0.080000 0.002 0 0 0 0 0 1"
    fails(capsys, ["export", recording, *options, "-o", tmp_path / "b"], 2, "--poses FILE and --poses-unit")
    poses.write_text("0 0 0 0 0 0 0 1\n")
    words = "has 1 poses for 3 frames"
    fails(capsys, ["export", recording, *options, "--poses-unit", "mm", "-o", tmp_path / "b"], 1, words)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--to", "obj"], 2, "--to is 'obj'; expected endonerf or tum or"),
        (["--to", "tum", "--steps-per-mm", "0"], 2, "--steps-per-mm is 0; expected 1 to 65535"),
        (["--to", "zarr", "--steps-per-mm", "9"], 2, "--steps-per-mm is for 16-bit depth; zarr has floats"),
        (["--to", "zarr", "--white", "known"], 2, "zarr has none"),
        (["--to", "tum", "--white", "black"], 2, "expected known or unknown"),
        (["--to", "tum", "--world-to-camera"], 2, "--world-to-camera needs --poses"),
        (["--to", "tum", "--calib", "rig.toml"], 2, "--calib and --focal are for --source"),
        (["--to", "tum", "--poses", "missing.txt", "--poses-unit", "m"], 1, "missing.txt: No such file"),
    ],
)
def test_options_that_cannot_be_are_refused_in_one_line(options, code, words, recording, tmp_path, capsys):
    fails(capsys, ["export", recording, *options, "-o", tmp_path / "out"], code, words)
    assert not (tmp_path / "out").exists()


def test_what_is_no_recording_with_depth_is_refused(recording, tmp_path, capsys):
    fails(capsys, ["export", tmp_path, "--to", "tum"], 1, "is not a recording of bdis run: it has no frames.csv")
    fails(capsys, ["export", recording, "--to", "tum", "-o", recording / "x"], 2, "is in the recording itself")
    run(["run", SOURCE, *FAST, "--save", "left", "-o", str(tmp_path / "a")])
    fails(capsys, ["export", tmp_path / "a", "--to", "tum", "-o", tmp_path / "b"], 1, "has no depth: record it with")


def test_a_damaged_recording_is_refused_and_an_unfinished_one_is_told(recording, tmp_path, capsys):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(recording, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, "state": "interrupted"}))
    log = (copy / "frames.csv").read_text().splitlines(keepends=True)
    (copy / "frames.csv").write_text("".join(log[:3]))
    assert export(copy, tmp_path / "two", "--to", "endonerf") == 0
    assert "the recording is interrupted, not complete: its 2 frames are exported" in capsys.readouterr().err
    assert np.load(tmp_path / "two" / "poses_bounds.npy").shape == (2, 17)
    (copy / "left" / "000001.png").unlink()
    fails(capsys, ["export", copy, "--to", "tum", "-o", tmp_path / "three"], 1, "000001.png: No such file")
    assert not (tmp_path / "three").exists()
