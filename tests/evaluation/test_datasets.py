"""Every loader on a small folder in exactly the published layout; rendered content, so that depth can be checked."""

import gzip
import io
import json
import tarfile

import cv2
import numpy as np
import pytest

import bdis
from bdis.evaluation.datasets import KINDS, Frame, open_dataset, write_rendered
from bdis.evaluation.datasets.authors import decode_depth
from bdis.evaluation.datasets.frame import in_order
from bdis.evaluation.datasets.scared import _Archive, rectified_depth
from bdis.synthetic.renderer import render

HEIGHT, WIDTH = 96, 128


@pytest.fixture(scope="module")
def scene():
    return render("instruments", HEIGHT, WIDTH, seed=3, noise=0.0)


def rig_of(scene):
    return bdis.Rig(scene.focal_px, scene.cx, scene.cy, scene.baseline_mm, size=(WIDTH, HEIGHT))


def write(path, image):
    path.parent.mkdir(parents=True, exist_ok=True)
    bdis.write_image(path, image)


def only(data):
    (frame,) = data.frames()
    return frame


def matrix(array):
    array = np.atleast_2d(array)
    rows, columns = array.shape
    return {"type_id": "opencv-matrix", "rows": rows, "cols": columns, "dt": "d", "data": array.ravel().tolist()}


def assert_pair(frame, scene):
    np.testing.assert_array_equal(frame.left, scene.left)
    np.testing.assert_array_equal(frame.right, scene.right)
    assert frame.rig.focal_px == pytest.approx(scene.focal_px)
    assert frame.rig.baseline_mm == pytest.approx(scene.baseline_mm)


# --- The authors' set -------------------------------------------------------------------------------------------------


def authors_depth_image(depth_mm):
    """Whole millimetres as a percentage of 255 in green, the fraction in red, as the set has it."""
    whole = np.floor(depth_mm)
    red, green = np.rint(255 * (depth_mm - whole)), np.rint(whole * 2.55)
    return np.stack([red, green, np.zeros_like(red)], -1).astype(np.uint8)


def write_authors_set(folder, scene, name, frames, first_depth=1):
    depth = scene.depth_mm / 3  # into the range of the virtual colon; some of it from 30 mm on
    for number in frames:
        for side, image in (("left", scene.left), ("right", scene.right)):
            write(folder / name / "images_rectified" / side / f"{number}.png", image)
        write(folder / name / f"depth_{number - 1 + first_depth:07d}.png", authors_depth_image(depth + 0.1 * number))
    return depth


def test_authors_set(tmp_path, scene):
    depth = write_authors_set(tmp_path / "dataset", scene, "30", [1, 2, 10])
    data = open_dataset(tmp_path)
    assert data.kind == "authors"
    assert [str(frame) for frame in data.frames()] == ["set 30/1", "set 30/2", "set 30/10"]
    frame = data[1].read()
    expected = np.where(depth + 0.2 < 29.9, depth + 0.2, np.nan)
    known = np.isfinite(expected)
    np.testing.assert_allclose(frame.depth_mm[known], expected[known], atol=0.5 / 255 + 1e-4)
    assert np.isnan(frame.depth_mm[depth + 0.2 > 30.1]).all()
    assert (frame.rig.focal_px, frame.rig.baseline_mm, frame.max_depth_mm) == (520, 0.5, 30)


def test_authors_decodings_by_hand():
    """By hand: 12.2 mm is R 51, G 31; and B = 0."""
    pixel = np.uint8([[[51, 31, 0]]])
    assert decode_depth(pixel)[0, 0] == pytest.approx(12.2)
    assert decode_depth(pixel, "published")[0, 0] == pytest.approx(1 / 256 + 100 * 32 / 256 + 52 / 256 - 0.5)
    with pytest.raises(ValueError, match="'exact' or 'published', but it is 'other'"):
        decode_depth(pixel, "other")


def test_published_decoding_is_a_group_of_its_own(tmp_path, scene):
    write_authors_set(tmp_path, scene, "30", [1])
    exact, published = (only(open_dataset(tmp_path, decoding=name)) for name in ("exact", "published"))
    assert published.group == "set 30 (published depth)"
    difference = np.abs(exact.depth_mm - published.depth_mm)
    assert 0.05 < np.nanmax(difference) < 0.4


def test_set_32_counts_its_depth_from_0_and_repeats_a_pair(tmp_path, scene):
    depth = write_authors_set(tmp_path, scene, "32", [15, 16, 17], first_depth=0)
    data = open_dataset(tmp_path)
    assert [entry.name for entry in data] == ["15", "17"]
    known = depth < 25
    np.testing.assert_allclose(data[1].read().depth_mm[known], depth[known] + 1.7, atol=0.01)


def test_authors_set_without_depth_or_camera(tmp_path, scene):
    for name in ("6", "21"):
        for side in ("left", "right"):
            write(tmp_path / name / "images_rectified" / side / "1.png", scene.left)
    hamlyn, unknown = open_dataset(tmp_path).frames()
    assert not hamlyn.has_reference
    assert hamlyn.rig.baseline_mm == 5.379
    assert unknown.rig is None
    rig_of(scene).save(tmp_path / "rig.toml")
    assert only(open_dataset(tmp_path, sets="21", rig=str(tmp_path / "rig.toml"))).rig == rig_of(scene)
    with pytest.raises(ValueError, match="has no set 30; there are 6, 21"):
        open_dataset(tmp_path, sets="30")


# --- SERV-CT ----------------------------------------------------------------------------------------------------------


def write_servct(folder, scene, experiment, number, reference="CT"):
    base = folder / f"Experiment_{experiment}"
    write(base / "Left_rectified" / f"{number:03d}.png", scene.left)
    write(base / "Right_rectified" / f"{number:03d}.png", scene.right)
    truth = base / f"Ground_truth_{reference}"
    write(truth / "DepthL" / f"{number:03d}.png", np.rint(scene.depth_mm * 256).astype(np.uint16))
    write(truth / "Disparity" / f"{number:03d}.png", np.rint(scene.full_disparity * 256).astype(np.uint16))
    colours = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    colours[scene.occluded] = (255, 0, 0)
    colours[:4] = (0, 0, 255)
    write(truth / "OcclusionL" / f"{number:03d}.png", colours)
    f, cx, cy, b = scene.focal_px, scene.cx, scene.cy, scene.baseline_mm
    calibration = {
        "P1": matrix([[f, 0, cx, 0], [0, f, cy, 0], [0, 0, 1, 0]]),
        "P2": matrix([[f, 0, cx, -f * b], [0, f, cy, 0], [0, 0, 1, 0]]),
        "Q": matrix([[1, 0, 0, -cx], [0, 1, 0, -cy], [0, 0, 0, f], [0, 0, 1 / b, 0]]),
    }
    path = base / "Rectified_calibration" / f"{number:03d}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(calibration))


def test_servct(tmp_path, scene):
    write_servct(tmp_path / "SERV-CT", scene, 1, 1)
    write_servct(tmp_path / "SERV-CT", scene, 2, 9)
    write_servct(tmp_path / "SERV-CT", scene, 2, 9, "RGB")
    data = open_dataset(tmp_path)
    assert (data.kind, data.groups) == ("serv-ct", ["SERV-CT Experiment 1", "SERV-CT Experiment 2"])
    frame = data[0].read()
    assert_pair(frame, scene)
    np.testing.assert_allclose(frame.depth_mm[4:], scene.depth_mm[4:], atol=1 / 256)
    np.testing.assert_allclose(frame.disparity[4:], scene.full_disparity[4:], atol=1 / 256)
    assert np.isnan(frame.depth_mm[:4]).all()  # blue: no reference
    np.testing.assert_array_equal(frame.occluded[4:], scene.occluded[4:])
    assert np.isnan(frame.without_occluded().depth_mm[4:][scene.occluded[4:]]).all()
    truth = tmp_path / "SERV-CT" / "Experiment_1" / "Ground_truth_CT"
    write(truth / "DepthL" / "001.png", np.rint(scene.depth_mm).astype(np.uint8))  # 8 bit: not scaled
    np.testing.assert_allclose(data[0].read().depth_mm[4:], scene.depth_mm[4:], atol=0.5)
    assert [str(f) for f in open_dataset(tmp_path / "SERV-CT", reference="RGB").frames()] == [
        "SERV-CT Experiment 2/009"
    ]


# --- StereoMIS --------------------------------------------------------------------------------------------------------


def write_stereomis(folder, scene, frames=3):
    lines = []
    for side in ("StereoLeft", "StereoRight"):
        lines += [f"[{side}]", f"res_x={WIDTH}", f"res_y={HEIGHT}", f"fc_x={scene.focal_px}", f"fc_y={scene.focal_px}",
                  f"cc_x={scene.cx}", f"cc_y={scene.cy}", *(f"kc_{place}=0" for place in range(8))]  # fmt: skip
    lines += [f"R_{place}={int(place in (0, 4, 8))}" for place in range(9)]
    lines += [f"T_{place}={value}" for place, value in enumerate((-scene.baseline_mm, 0, 0))]
    folder.mkdir(parents=True)
    (folder / "StereoCalibration.ini").write_text("\n".join(lines))
    for number in range(frames):
        write(folder / "video_frames" / f"{number:06d}l.png", scene.left)
        write(folder / "video_frames" / f"{number:06d}r.png", scene.right)
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    mask[10:20, 30:50] = 255
    write(folder / "masks" / "000000l.png", mask)
    poses = "".join(f"{number} {number} 0 0 0 0 0 1\n" for number in range(frames))
    (folder / "groundtruth.txt").write_text(poses)


def test_stereomis_frames_are_rectified_and_have_their_rig(tmp_path, scene):
    write_stereomis(tmp_path / "P1", scene)
    write_stereomis(tmp_path / "P2_1", scene, frames=1)
    data = open_dataset(tmp_path)
    assert (data.kind, len(data), data.groups) == ("stereomis", 4, ["StereoMIS P1", "StereoMIS P2_1"])
    frame = data[1].read()
    assert_pair(frame, scene)
    assert not frame.has_reference
    assert [entry.name for entry in open_dataset(tmp_path / "P1", every=2)] == ["000000", "000002"]
    white, black = (open_dataset(tmp_path / "P1", hide=hide)[0].read().seen for hide in ("white", "black"))
    assert (~white).sum() == pytest.approx(200, abs=4)
    assert black.sum() == pytest.approx(200, abs=4)
    assert open_dataset(tmp_path / "P1", hide="black")[1].read().seen.all()  # a frame without a mask


def test_stereomis_video_has_the_left_view_on_top(tmp_path, scene):
    write_stereomis(tmp_path / "P3", scene)
    for path in (tmp_path / "P3" / "video_frames").iterdir():
        path.unlink()
    (tmp_path / "P3" / "video_frames").rmdir()
    path = tmp_path / "P3" / "P3.mp4"
    video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), 5, (WIDTH, 2 * HEIGHT))
    for _ in range(2):
        video.write(np.vstack([scene.left, scene.right])[..., ::-1])
    video.release()
    data = open_dataset(tmp_path / "P3")
    assert (len(data), data.forward_only) == (2, True)
    left = data[1].read().left
    assert np.abs(left.astype(int) - scene.left).mean() < 12  # the codec loses some
    (tmp_path / "P3" / "other.mp4").write_bytes(b"")
    with pytest.raises(ValueError, match="has 2 videos, such as P3.mp4 and other.mp4; expected one"):
        open_dataset(tmp_path / "P3")


def test_stereomis_is_a_source_of_frames(tmp_path, scene):
    write_stereomis(tmp_path / "P1", scene)
    with bdis.open_source(tmp_path / "P1") as source:
        assert source.rig.baseline_mm == pytest.approx(scene.baseline_mm)
        frames = list(source)
    assert len(frames) == 3
    np.testing.assert_array_equal(frames[2].right, scene.right)


def test_stereomis_that_is_wrong(tmp_path, scene):
    write_stereomis(tmp_path / "P1", scene)
    (tmp_path / "P1" / "video_frames" / "000001r.png").unlink()
    with pytest.raises(OSError, match="000001r.png"):
        open_dataset(tmp_path / "P1")[1].read()
    write(tmp_path / "P1" / "masks" / "000000l.png", np.zeros((4, 4), np.uint8))
    with pytest.raises(ValueError, match="000000l.png is 4x4, but its image is 128x96"):
        open_dataset(tmp_path / "P1", hide="white")[0].read()
    with pytest.raises(ValueError, match="hide must be none, white or black, but it is 'tools'"):
        open_dataset(tmp_path / "P1", hide="tools")
    ini = tmp_path / "P1" / "StereoCalibration.ini"
    ini.write_text(ini.read_text().replace("res_x=128", "res_x=140"))
    with pytest.raises(ValueError, match="a view is 128x96, but StereoCalibration.ini is for 140x96"):
        open_dataset(tmp_path / "P1")[0].read()


# --- SCARED -----------------------------------------------------------------------------------------------------------


def points_of(scene):
    """X, Y, Z of every pixel of the left camera."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    z = scene.depth_mm.astype(np.float64)
    return np.stack([(columns - scene.cx) * z / scene.focal_px, (rows - scene.cy) * z / scene.focal_px, z], -1)


def write_keyframe(folder, scene, spelling="M"):
    write(folder / "Left_Image.png", scene.left)
    write(folder / "Right_Image.png", scene.right)
    points = points_of(scene).astype(np.float32)
    points[:5] = np.nan
    assert cv2.imwrite(str(folder / "left_depth_map.tiff"), points[..., ::-1])
    k = np.array([[scene.focal_px, 0, scene.cx], [0, scene.focal_px, scene.cy], [0, 0, 1]])
    storage = cv2.FileStorage(str(folder / "endoscope_calibration.yaml"), cv2.FILE_STORAGE_WRITE)
    for name, value in (
        (f"{spelling}1", k), ("D1", np.zeros((1, 5))), (f"{spelling}2", k), ("D2", np.zeros((1, 5))),
        ("R", np.eye(3)), ("T", np.array([[-scene.baseline_mm], [0], [0]])),
    ):  # fmt: skip
        storage.write(name, value)
    storage.release()
    return k


@pytest.mark.parametrize("spelling", ["M", "K"])
def test_scared_keyframes(tmp_path, scene, spelling):
    """The cameras are parallel already, so that rectifying must change nothing."""
    for number, keyframe in ((1, 1), (1, 4), (4, 1), (10, 2)):
        write_keyframe(tmp_path / f"dataset_{number}" / f"keyframe_{keyframe}", scene, spelling)
    data = open_dataset(tmp_path)
    assert (data.kind, [entry.name for entry in data]) == ("scared", ["D1K1", "D10K2"])  # the paper leaves out others
    frame = data[0].read()
    assert_pair(frame, scene)
    np.testing.assert_allclose(frame.depth_mm[6:], scene.depth_mm[6:], rtol=1e-5)
    assert np.isnan(frame.depth_mm[:4]).all()
    assert frame.min_reference == 0.1
    everything = open_dataset(tmp_path, exclude="none")
    assert [entry.name for entry in everything] == ["D1K1", "D1K4", "D4K1", "D10K2"]
    assert [entry.name for entry in open_dataset(tmp_path / "dataset_1" / "keyframe_1")] == ["D1K1"]
    with pytest.raises(ValueError, match="holds only D4K1, which are left out"):
        open_dataset(tmp_path / "dataset_4")


def test_scared_depth_turns_with_the_camera():
    """A plane seen by a camera that rectification turns: depth must be that of the plane in the new frame."""
    k = np.array([[200.0, 0, 64], [0, 200, 48], [0, 0, 1]])
    turn, _ = cv2.Rodrigues(np.array([0.01, 0.12, 0.02]))
    cameras = bdis.StereoCalibration(k, np.zeros(5), k, np.zeros(5), turn, [-5, 0.2, 0.1], size=(WIDTH, HEIGHT))
    rectifier = cameras.rectify()
    normal, distance = np.array([0.1, -0.2, 1.0]), 80.0  # normal . x = distance, in the raw left camera
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    rays = np.stack([(columns - 64) / 200, (rows - 48) / 200, np.ones((HEIGHT, WIDTH))], -1)
    depth = rectified_depth(rays * (distance / (rays @ normal))[..., None], rectifier)
    rig = rectifier.rig
    rays = np.stack([(columns - rig.cx) / rig.focal_px, (rows - rig.cy) / rig.focal_px, np.ones((HEIGHT, WIDTH))], -1)
    expected = distance / (rays @ (rectifier.left_rotation @ normal))
    known = np.isfinite(depth)
    assert known.mean() > 0.5
    assert np.abs(depth - expected)[known].max() < 0.2  # half a pixel of a slanted plane
    assert np.abs(depth - expected)[known].mean() < 0.06


def test_scared_sequences(tmp_path, scene):
    keyframe = tmp_path / "dataset_1" / "keyframe_1"
    k = write_keyframe(keyframe, scene)
    (keyframe / "data").mkdir()
    video = cv2.VideoWriter(
        str(keyframe / "data" / "rgb.mp4"), cv2.VideoWriter.fourcc(*"mp4v"), 25, (WIDTH, 2 * HEIGHT)
    )
    calibration = {"KL": k.tolist(), "KR": k.tolist(), "R": np.eye(3).tolist(), "T": [[-scene.baseline_mm], [0], [0]]}
    archives = {}
    for name in ("frame_data", "scene_points"):
        archives[name] = tarfile.open(keyframe / "data" / f"{name}.tar.gz", "w:gz")  # noqa: SIM115  # filled below
    for number in range(3):
        video.write(np.vstack([scene.left, scene.right])[..., ::-1].copy())
        points = points_of(scene).astype(np.float32) * (1 + 0.1 * number)
        _, tiff = cv2.imencode(".tiff", np.vstack([points, np.zeros_like(points)])[..., ::-1])
        frame = {"camera-pose": np.eye(4).tolist(), "camera-calibration": calibration}
        for archive, name, content in (
            ("frame_data", f"frame_data{number:06d}.json", json.dumps(frame).encode()),
            ("scene_points", f"scene_points{number:06d}.tiff", bytes(tiff)),
        ):
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            archives[archive].addfile(member, io.BytesIO(content))
    video.release()
    for archive in archives.values():
        archive.close()
    data = open_dataset(tmp_path, frames="sequences", every=2)
    assert [str(frame) for frame in data.frames()] == ["SCARED D1K1 sequence/000000", "SCARED D1K1 sequence/000002"]
    assert data.forward_only
    assert data.thinned(1).forward_only
    last, first = data[1].read(), data[0].read()  # backwards as well
    np.testing.assert_allclose(first.depth_mm[1:-1], scene.depth_mm[1:-1], rtol=1e-5)
    np.testing.assert_allclose(last.depth_mm[1:-1], 1.2 * scene.depth_mm[1:-1], rtol=1e-5)
    assert np.abs(first.left.astype(int) - scene.left).mean() < 12  # a lossy video
    with pytest.raises(ValueError, match="'keyframes' or 'sequences', but it is 'video'"):
        open_dataset(tmp_path, frames="video")


# --- Hamlyn, Middlebury, KITTI ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", ["rectified08", "rectified08/rectified08"])
def test_hamlyn(tmp_path, scene, inner):
    video = tmp_path / inner
    for name in ("image01", "image02"):
        write(video / name / "0000000007.jpg", scene.left)
    depth = np.rint(scene.depth_mm).astype(np.uint16)
    depth[0], depth[1] = 0, 301
    write(video / "depth01" / "0000000007.png", depth)
    (video / "intrinsics.txt").write_text(
        f"{scene.focal_px} 0 {scene.cx} 0\n0 {scene.focal_px} {scene.cy} 0\n0 0 1 0\n"
    )
    frame = only(open_dataset(tmp_path, baseline_mm=5.3))
    assert str(frame) == "Hamlyn rectified08/0000000007"
    assert np.isnan(frame.depth_mm[:2]).all()
    np.testing.assert_allclose(frame.depth_mm[2:], scene.depth_mm[2:], atol=0.5)
    assert frame.rig.baseline_mm == 5.3
    assert only(open_dataset(tmp_path)).rig is None  # the set does not say
    (video / "intrinsics.txt").unlink()
    with pytest.raises(ValueError, match="no intrinsics.txt"):
        open_dataset(tmp_path)


def test_middlebury(tmp_path, scene):
    folder = tmp_path / "Adirondack-perfect"
    write(folder / "im0.png", scene.left)
    write(folder / "im1.png", scene.right)
    disparity = scene.full_disparity - np.float32(2)
    bdis.write_disparity(folder / "disp0.pfm", np.where(np.arange(WIDTH) < 3, np.nan, disparity))
    write(folder / "mask0nocc.png", np.where(scene.occluded, 128, 255).astype(np.uint8))
    f, cx, cy = scene.focal_px, scene.cx, scene.cy
    (folder / "calib.txt").write_text(
        f"cam0=[{f} 0 {cx}; 0 {f} {cy}; 0 0 1]\ncam1=[{f} 0 {cx + 2}; 0 {f} {cy}; 0 0 1]\ndoffs=2\n"
        f"baseline={scene.baseline_mm}\nwidth={WIDTH}\nheight={HEIGHT}\nndisp=70\n"
    )
    for place in (tmp_path, folder):
        frame = only(open_dataset(place))
        assert str(frame) == "Middlebury/Adirondack-perfect"
        assert_pair(frame, scene)
        assert np.isnan(frame.depth_mm[:, :3]).all()
        np.testing.assert_allclose(frame.depth_mm[:, 3:], scene.depth_mm[:, 3:], rtol=1e-5)
        np.testing.assert_array_equal(frame.occluded, scene.occluded)
        assert frame.max_disparity_px == 70


def test_kitti(tmp_path, scene):
    for place in ("image_2", "image_3"):
        write(tmp_path / "training" / place / "000004_10.png", scene.left if place == "image_2" else scene.right)
        write(tmp_path / "training" / place / "000004_11.png", scene.left)  # the next moment, which is not for stereo
    everywhere, visible = scene.full_disparity.copy(), scene.disparity.copy()
    everywhere[:7] = visible[:7] = np.nan
    for name, disparity in (("disp_occ_0", everywhere), ("disp_noc_0", visible)):
        (tmp_path / "training" / name).mkdir()
        bdis.write_disparity(tmp_path / "training" / name / "000004_10.png", disparity)
    frame = only(open_dataset(tmp_path))
    assert (str(frame), frame.rig, frame.depth_mm) == ("KITTI/000004_10", None, None)
    np.testing.assert_allclose(frame.disparity, everywhere, atol=1 / 256)
    np.testing.assert_array_equal(frame.occluded[7:], scene.occluded[7:])
    f, b = scene.focal_px, scene.baseline_mm / 1000
    calibration = tmp_path / "training" / "calib_cam_to_cam" / "000004.txt"
    calibration.parent.mkdir()
    projections = [f"{f} 0 {scene.cx} {shift} 0 {f} {scene.cy} 0 0 0 1 0" for shift in (f * 0.06, f * (0.06 - b))]
    calibration.write_text(f"calib_time: 1\nP_rect_02: {projections[0]}\nP_rect_03: {projections[1]}\n")
    frame = only(open_dataset(tmp_path))
    assert_pair(frame, scene)
    np.testing.assert_allclose(frame.depth_mm[7:], scene.depth_mm[7:], rtol=0.01)


# --- Rendered scenes and plain folders --------------------------------------------------------------------------------


def test_rendered_scenes_are_read_back_exactly(tmp_path):
    options = {"seed": 5, "smoke": 0.2, "disparity_px": 9}
    write_rendered(tmp_path / "out", "colon", frames=2, height=48, width=64, **options)
    written = open_dataset(tmp_path / "out")
    assert written.kind == "rendered"
    rendered = open_dataset("render:colon,frames=2,height=48,width=64,seed=5,smoke=0.2,disparity_px=9")
    for read, made in zip(written.frames(), rendered.frames()):
        assert str(read) == str(made)
        assert read.rig == made.rig
        for name in ("left", "right", "depth_mm", "disparity", "occluded"):
            np.testing.assert_array_equal(getattr(read, name), getattr(made, name))
        np.testing.assert_allclose(read.rig.depth(read.disparity), read.depth_mm, rtol=1e-5)
        assert read.max_disparity_px > read.disparity.max()
    assert json.loads((tmp_path / "out" / "scene.json").read_text())["options"]["smoke"] == 0.2
    with pytest.raises(ValueError, match="not empty"):
        write_rendered(tmp_path / "out", "colon")


def test_a_failed_rendering_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="texture must be from 0 to 3"):
        write_rendered(tmp_path / "out", "plane", texture=9)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("reference", ["depth.tiff", "disparity.pfm", "disparity.png", "depth.npy", None])
def test_plain_folder(tmp_path, scene, reference):
    for side in ("left", "right"):
        write(tmp_path / side / "b2.png", getattr(scene, side))
    rig_of(scene).save(tmp_path / "rig.toml")
    if reference is not None:
        kind, ending = reference.split(".")
        (tmp_path / kind).mkdir()
        if kind == "depth":
            bdis.write_depth(tmp_path / kind / f"b2.{ending}", scene.depth_mm)
        else:
            bdis.write_disparity(tmp_path / kind / f"b2.{ending}", scene.full_disparity)
    data = open_dataset(tmp_path)
    assert data.kind == "folder"
    frame = only(data)
    assert_pair(frame, scene)
    assert frame.has_reference == (reference is not None)
    if reference is not None:
        np.testing.assert_allclose(frame.depth_mm, scene.depth_mm, rtol=1e-3)
        assert frame.max_disparity_px >= scene.full_disparity.max()


def test_scale_of_a_folder_of_pairs(tmp_path, scene):
    for side in ("left", "right"):
        write(tmp_path / side / "1.png", getattr(scene, side))
    write(tmp_path / "disparity" / "1.png", np.rint(scene.full_disparity * 128).astype(np.uint16))
    np.testing.assert_allclose(only(open_dataset(tmp_path, scale=128)).disparity, scene.full_disparity, atol=1 / 128)
    (tmp_path / "right" / "1.png").unlink()
    with pytest.raises(ValueError, match=r"right.1.png is missing; left/ and right/ must have files of the same names"):
        only(open_dataset(tmp_path))


# --- What all have in common ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_folder_is_told_what_was_looked_for(tmp_path, kind):
    (tmp_path / "holiday.txt").write_text("sun")
    with pytest.raises(ValueError, match="is no data set bdis knows") as recognised:
        open_dataset(tmp_path)
    with pytest.raises(ValueError, match="there is no") as forced:
        open_dataset(tmp_path, kind)
    assert KINDS[kind].looked_for in str(recognised.value)
    assert KINDS[kind].looked_for in str(forced.value)


def test_wrong_words(tmp_path):
    with pytest.raises(ValueError, match="unknown kind of data set 'serv'; there are rendered, authors"):
        open_dataset(tmp_path, "serv")
    with pytest.raises(ValueError, match="does not exist; expected the folder of a data set, or render:SCENE"):
        open_dataset(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="unknown scene 'moon'"):
        open_dataset("render:moon")
    with pytest.raises(ValueError, match="'frames' in render:SCENE,...: expected NAME=VALUE"):
        open_dataset("render:colon,frames")
    (tmp_path / "im0.png").touch()
    with pytest.raises(ValueError, match="no option color; there are: none"):
        open_dataset(tmp_path, "middlebury", color=1)
    with pytest.raises(ValueError, match=r"has no im1.png, calib.txt; looked for im0.png"):
        open_dataset(tmp_path)


def test_frames_are_read_one_at_a_time(tmp_path, scene):
    for number in range(3):
        for side in ("left", "right"):
            write(tmp_path / side / f"{number}.png", scene.left)
    (tmp_path / "left" / "2.png").write_bytes(b"broken")
    frames = open_dataset(tmp_path).frames()
    assert [next(frames).name, next(frames).name] == ["0", "1"]
    with pytest.raises(ValueError, match="cannot be read as an image"):
        next(frames)


def test_sizes_must_agree(scene):
    with pytest.raises(ValueError, match="a/1: left is 128x96 but right is 127x96"):
        Frame("a", "1", scene.left, scene.right[:, 1:])


# --- Files that are damaged or were made to do harm -------------------------------------------------------------------


def rendered_folder(folder, **changes):
    write_rendered(folder, "plane", height=32, width=48)
    description = json.loads((folder / "scene.json").read_text())
    (folder / "scene.json").write_text(json.dumps({**description, **changes}))
    return folder


@pytest.mark.parametrize("frames", [10**11, 10**500, 1e11, 2.5, "2", None, True, 0, -1], ids=lambda x: repr(x)[:9])
def test_a_scene_of_1e11_frames_is_refused(frames, tmp_path):
    folder = rendered_folder(tmp_path / "scene", frames=frames)
    with pytest.raises(
        ValueError, match=r"scene.json: frames is .*; expected 1 or more, a whole number of at most 1000000"
    ):
        open_dataset(folder, "rendered")


@pytest.mark.parametrize(
    "options", ["frames=100000000000", "frames=2.5", "frames=two", "height=tall", "height=9999999"]
)
def test_a_scene_address_out_of_range_is_a_value_error(options):
    with pytest.raises(ValueError, match="frames is|height must be"):
        open_dataset(f"render:plane,{options}")


def test_a_scene_nested_a_thousand_times_is_refused(tmp_path):
    folder = rendered_folder(tmp_path / "scene")
    (folder / "scene.json").write_text("[" * 3000 + "]" * 3000)
    with pytest.raises(ValueError, match="scene.json is not JSON: it is nested too deeply"):
        open_dataset(folder, "rendered")


@pytest.mark.parametrize("length", [0, 10, 60, 10_000])
def test_a_scared_archive_that_is_cut_short_says_so(length, tmp_path):
    path = tmp_path / "frame_data.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        content = np.random.default_rng(0).bytes(20_000)  # does not compress
        member = tarfile.TarInfo("frame_data000000.json")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"frame_data.tar.gz is damaged or cut short"):
        _Archive(path).read("frame_data000000.json")


@pytest.mark.parametrize("name", ["frame_data000000.json", "other.json"])
@pytest.mark.parametrize("size", [2**31, 2**60])
def test_a_scared_archive_that_promises_more_than_it_has_was_read_for_ever(name, size, tmp_path):
    member = tarfile.TarInfo(name)
    member.size = size
    path = tmp_path / "frame_data.tar.gz"
    path.write_bytes(gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + 512 * b" "))
    archive = _Archive(path)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"frame_data.tar.gz: a file in it has \d+ bytes; at most"):
            archive.read("frame_data000000.json")


def test_kitti_calibration_without_focal_length_is_refused(tmp_path, scene):
    for place in ("image_2", "image_3"):
        write(tmp_path / place / "000000_10.png", scene.left)
    (tmp_path / "calib_cam_to_cam").mkdir()
    calibration = "".join(f"P_rect_0{camera}: 0 0 31 2 0 0 23 0 0 0 1 0\n" for camera in (2, 3))
    (tmp_path / "calib_cam_to_cam" / "000000.txt").write_text(calibration)
    with pytest.raises(ValueError, match="000000.txt: focal lengths 0 and 0 px"):
        open_dataset(tmp_path)[0].read()


def test_names_with_digits_that_are_no_numbers_are_sorted(tmp_path):
    assert [path.name for path in in_order([tmp_path / "m².png", tmp_path / "m10.png", tmp_path / "m2.png"])] == [
        "m2.png",
        "m10.png",
        "m².png",
    ]
