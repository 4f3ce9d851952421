"""Every layout is read back by a small reader of its own, written from the description of the layout."""

import json
import os

import numpy as np
import pytest

import bdis
from bdis.connections.exports import LAYOUTS, ExportFrame, ExportPlan, export_frames, read_poses

cv2 = pytest.importorskip("cv2")
HEIGHT, WIDTH, COUNT, STEPS = 32, 48, 3, 100
RIG = bdis.Rig(60, 25.25, 14.5, 4, size=(WIDTH, HEIGHT))


def frame(number):
    rng = np.random.default_rng(number)
    depth = rng.uniform(20, 200, (HEIGHT, WIDTH)).astype(np.float32)
    depth[:5, :7] = np.nan
    image = rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    return ExportFrame(10 + 2 * number, 0.4 + 0.08 * number, image, depth, (depth / 100).astype(np.float32))


FRAMES = [frame(number) for number in range(COUNT)]


def turned(angle):
    pose = np.eye(4)
    pose[:3, :3] = cv2.Rodrigues(np.array([0.1, angle, -0.2]))[0]
    pose[:3, 3] = 3 * angle, 2, -1
    return pose


POSES = np.array([turned(0.3 * number) for number in range(COUNT)])


def exported(folder, layout, frames=FRAMES, **choices):
    plan = ExportPlan(RIG, (HEIGHT, WIDTH), COUNT, has_sigma=True, **choices)
    writer = export_frames(iter(frames), folder / "out", layout, plan)
    return folder / "out", writer


def read_png(path):
    return cv2.imread(str(path), cv2.IMREAD_UNCHANGED)


def check_depth(steps, truth, per_mm=STEPS):
    assert steps.dtype == np.uint16
    known = np.isfinite(truth)
    np.testing.assert_array_equal(steps > 0, known)
    np.testing.assert_allclose(steps[known] / per_mm, truth[known], atol=0.5001 / per_mm)


def check_image(path, image):
    np.testing.assert_array_equal(read_png(path)[..., ::-1], image)


def point_of(frame, row, column):
    """A pixel in the coordinate frame of the camera, mm."""
    z = float(frame.depth_mm[row, column])
    return np.array([(column - RIG.cx) / RIG.focal_px * z, (row - RIG.cy) / RIG.focal_px * z, z, 1])


# --- EndoNeRF ---------------------------------------------------------------------------------------------------------


def test_endonerf_has_equal_counts_depth_and_poses_bounds(tmp_path):
    folder, writer = exported(tmp_path, "endonerf", poses=POSES)
    parts = {part: sorted((folder / part).glob("*.png")) for part in ("images", "depth", "masks")}
    assert {len(paths) for paths in parts.values()} == {COUNT}
    rows = np.load(folder / "poses_bounds.npy")
    assert rows.shape == (COUNT, 17)
    for number, each in enumerate(FRAMES):
        check_image(parts["images"][number], each.left)
        check_depth(read_png(parts["depth"][number]), each.depth_mm)
        np.testing.assert_array_equal(read_png(parts["masks"][number]) == 255, np.isnan(each.depth_mm))
        matrix, bounds = rows[number, :15].reshape(3, 5), rows[number, 15:]
        np.testing.assert_array_equal(matrix[:, 4], [HEIGHT, WIDTH, RIG.focal_px])
        np.testing.assert_allclose(bounds / STEPS, [np.nanmin(each.depth_mm), np.nanmax(each.depth_mm)], rtol=1e-6)
    # As EndoGaussian reads poses: the second and third axes are turned. Two cameras must see a point at one place, but
    # for the world, which is turned as well.
    to_world = [np.vstack([row[:15].reshape(3, 5)[:, :4] * [1, -1, -1, 1], [0, 0, 0, 1]]) for row in rows]
    for pose in to_world:
        pose[:3, 3] /= STEPS
    there, here = (np.linalg.inv(poses[0]) @ poses[2] for poses in (POSES, to_world))
    np.testing.assert_allclose(here, there, atol=1e-9)
    assert "no principal point" in writer.cautions()[0]


def test_a_still_camera_has_the_identity(tmp_path):
    folder, _ = exported(tmp_path, "endonerf")
    np.testing.assert_array_equal(
        np.load(folder / "poses_bounds.npy")[:, :15].reshape(-1, 3, 5)[0, :, :4], np.eye(4)[:3]
    )


# --- TUM --------------------------------------------------------------------------------------------------------------


def test_tum_has_times_depth_and_associations(tmp_path):
    folder, _ = exported(tmp_path, "tum", poses=POSES, steps_per_mm=5)
    lists = {
        name: [line.split() for line in (folder / f"{name}.txt").read_text().splitlines() if line[0] != "#"]
        for name in ("rgb", "depth", "associations", "groundtruth")
    }
    assert "5000 per metre" in (folder / "depth.txt").read_text()
    for number, (each, line) in enumerate(zip(FRAMES, lists["associations"], strict=True)):
        assert line == [*lists["rgb"][number], *lists["depth"][number]]
        assert float(line[0]) == pytest.approx(each.time_s, abs=1e-6)
        check_image(folder / line[1], each.left)
        check_depth(read_png(folder / line[3]), each.depth_mm, 5)
    again = read_poses(folder / "groundtruth.txt", "m", range(COUNT))
    np.testing.assert_allclose(again, POSES, atol=1e-6)


def test_tum_refuses_times_that_do_not_grow(tmp_path):
    with pytest.raises(ValueError, match="frame 10 is at 0.400000 s and the one before it at 0.400000 s"):
        exported(tmp_path, "tum", [FRAMES[0]] * 3)
    assert not (tmp_path / "out").exists()


# --- COLMAP -----------------------------------------------------------------------------------------------------------


def read_colmap(path):
    """As COLMAP's documentation says: width&height&channels& and float32, columns running fastest."""
    width, height, channels, values = path.read_bytes().split(b"&", 3)
    shape = int(width), int(height), int(channels)
    return np.frombuffer(values, np.float32).reshape(shape, order="F").transpose(1, 0, 2).squeeze()


def test_colmap_projects_points_to_where_they_were_seen(tmp_path):
    folder, _ = exported(tmp_path, "colmap-depth", poses=POSES)
    dense = folder / "dense"
    ((*_, w, h, fx, fy, cx, cy),) = [
        map(float, line.split()[2:]) for line in (dense / "sparse" / "cameras.txt").read_text().splitlines()[1:]
    ]
    assert (w, h) == (WIDTH, HEIGHT)
    lines = [line for line in (dense / "sparse" / "images.txt").read_text().splitlines() if line[:1] != "#"]
    assert len(lines) == 2 * COUNT
    for number, each in enumerate(FRAMES):
        _, qw, qx, qy, qz, *translation, camera, name = lines[2 * number].split()
        assert camera == "1"
        check_image(dense / "images" / name, each.left)
        depth = read_colmap(dense / "stereo" / "depth_maps" / f"{name}.geometric.bin")
        known = np.isfinite(each.depth_mm)
        np.testing.assert_array_equal(depth[known], each.depth_mm[known])
        assert not depth[~known].any()
        np.testing.assert_array_equal(read_png(dense / "masks" / f"{name}.png") == 255, known)
        x, y, z, s = map(float, (qx, qy, qz, qw))
        rotation = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * s), 2 * (x * z + y * s)],
                             [2 * (x * y + z * s), 1 - 2 * (x * x + z * z), 2 * (y * z - x * s)],
                             [2 * (x * z - y * s), 2 * (y * z + x * s), 1 - 2 * (x * x + y * y)]])  # fmt: skip
        at = rotation @ (POSES[number] @ point_of(each, 20, 30))[:3] + np.array(translation, float)
        # The middle of pixel (30, 20) is at (30.5, 20.5) for COLMAP.
        assert fx * at[0] / at[2] + cx == pytest.approx(30.5, abs=1e-5)
        assert fy * at[1] / at[2] + cy == pytest.approx(20.5, abs=1e-5)


# --- Nerfstudio -------------------------------------------------------------------------------------------------------


def test_nerfstudio_puts_points_where_they_are_in_metres(tmp_path):
    folder, writer = exported(tmp_path, "nerfstudio", poses=POSES)
    content = json.loads((folder / "transforms.json").read_text())
    assert (content["w"], content["h"]) == (WIDTH, HEIGHT)
    for each, pose, entry in zip(FRAMES, POSES, content["frames"], strict=True):
        check_image(folder / entry["file_path"], each.left)
        steps = read_png(folder / entry["depth_file_path"])
        check_depth(steps, each.depth_mm)
        np.testing.assert_array_equal(read_png(folder / entry["mask_path"]) > 0, np.isfinite(each.depth_mm))
        z = steps[20, 30] * content["depth_unit_scale_factor"]  # m
        ray = (30.5 - content["cx"]) / content["fl_x"], -(20.5 - content["cy"]) / content["fl_y"], -1
        there = np.array(entry["transform_matrix"]) @ [*(z * np.array(ray)), 1]
        np.testing.assert_allclose(1000 * there[:3], (pose @ point_of(each, 20, 30))[:3], atol=0.01)
    assert "--depth-unit-scale-factor 1e-05" in writer.cautions()[0]


# --- Zarr -------------------------------------------------------------------------------------------------------------


def test_zarr_has_arrays_with_units(tmp_path):
    zarr = pytest.importorskip("zarr")
    folder, _ = exported(tmp_path, "zarr", poses=POSES)
    group = zarr.open_group(str(folder), mode="r")
    assert set(group.array_keys()) == {"left", "depth", "sigma", "time", "index", "pose"}
    for number, each in enumerate(FRAMES):
        np.testing.assert_array_equal(group["left"][number], each.left)
        np.testing.assert_array_equal(group["depth"][number], each.depth_mm)
        np.testing.assert_array_equal(group["sigma"][number], each.sigma_mm)
    assert group["time"][:].tolist() == [each.time_s for each in FRAMES]
    assert group["index"][:].tolist() == [10, 12, 14]
    np.testing.assert_array_equal(group["pose"][:], POSES)
    assert {name: group[name].attrs["units"] for name in ("depth", "sigma", "time")} == {
        "depth": "mm", "sigma": "mm", "time": "s"}  # fmt: skip
    assert group.attrs["camera"]["focal_px"] == RIG.focal_px


# --- All --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["endonerf", "tum", "colmap-depth", "nerfstudio"])
@pytest.mark.parametrize("white", ["known", "unknown"])
def test_the_polarity_of_masks_is_a_choice_and_written_down(layout, white, tmp_path):
    folder, _ = exported(tmp_path, layout, white=white)
    first = sorted(folder.rglob("masks/*.png"))[0]
    is_white = read_png(first) == 255
    np.testing.assert_array_equal(is_white, np.isfinite(FRAMES[0].depth_mm) == (white == "known"))
    assert json.loads((folder / "export.json").read_text())["masks"].startswith(f"255 = {white}, 0 = ")


@pytest.mark.parametrize("layout", ["endonerf", "tum", "nerfstudio"])
def test_what_is_too_far_for_16_bits_is_unknown_and_counted(layout, tmp_path):
    folder, writer = exported(tmp_path, layout, steps_per_mm=1000, white="known")  # up to 65.535 mm
    depth = read_png(sorted(folder.rglob("depth/*.png"))[0])
    mask = read_png(sorted(folder.rglob("masks/*.png"))[0])
    is_near = np.nan_to_num(FRAMES[0].depth_mm) > 0
    is_near &= np.nan_to_num(FRAMES[0].depth_mm, nan=99.0) <= 65.535
    np.testing.assert_array_equal(depth > 0, is_near)
    np.testing.assert_array_equal(mask == 255, is_near)
    assert writer.too_far == sum(int((each.depth_mm > 65.535).sum()) for each in FRAMES)
    about = json.loads((folder / "export.json").read_text())["depth"]
    assert (about["pixels_beyond"], about["unit"], about["largest_mm"]) == (writer.too_far, "0.001 mm", 65.535)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_frame_that_fails_leaves_nothing(layout, tmp_path):
    def frames():
        yield FRAMES[0]
        raise ValueError("frame 12 is damaged")

    with pytest.raises(ValueError, match="frame 12 is damaged"):
        exported(tmp_path, layout, frames())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="only 2 of the 3 frames"):
        exported(tmp_path, layout, FRAMES[:2])
    with pytest.raises(ValueError, match="more than the 3 frames"):
        exported(tmp_path, layout, FRAMES + [frame(5)])
    small = ExportFrame(0, 0.0, FRAMES[0].left[:16], FRAMES[0].depth_mm, FRAMES[0].sigma_mm)
    with pytest.raises(ValueError, match="left of frame 0 is 48x16; the cameras are for 48x32"):
        exported(tmp_path, layout, [small])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_files_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not empty: an export needs a folder of its own"):
        exported(tmp_path, "tum")
    (tmp_path / "out" / "mine.txt").rename(tmp_path / "out" / ".unfinished-12345678")
    with pytest.raises(FileExistsError, match=r"holds .unfinished-12345678 of an export that was killed"):
        exported(tmp_path, "tum")


def test_a_full_disk_names_the_file_and_leaves_nothing(tmp_path, monkeypatch):
    replace, count = os.replace, iter(range(100))

    def full(source, target):
        if next(count) == 4:
            raise OSError(28, "No space left on device", str(source))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left") as failed:
        exported(tmp_path, "endonerf")
    assert failed.value.filename == str(tmp_path / "out" / "depth" / "000001.png")
    assert list(tmp_path.iterdir()) == []


# --- Poses ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [16, 12, 4])
def test_matrices_are_read_in_rows_of_any_kind(columns, tmp_path):
    values = POSES[:, :3].reshape(COUNT, 12) if columns == 12 else POSES.reshape(-1, columns)
    np.savetxt(tmp_path / "poses.txt", values, header="4x4 in cm")
    read = read_poses(tmp_path / "poses.txt", "cm", range(COUNT))
    np.testing.assert_allclose(read[:, :3, :3], POSES[:, :3, :3], atol=1e-9)
    np.testing.assert_allclose(read[:, :3, 3], 10 * POSES[:, :3, 3], atol=1e-9)
    inverse = read_poses(tmp_path / "poses.txt", "cm", range(COUNT), inverse=True)
    np.testing.assert_allclose(inverse @ read, np.tile(np.eye(4), (COUNT, 1, 1)), atol=1e-9)


def test_poses_of_a_longer_source_are_taken_by_frame_number(tmp_path):
    rows = [f"{number} {number} 0 0 0 0 0 1" for number in range(20)]
    (tmp_path / "poses.txt").write_text("\n".join(rows))
    assert read_poses(tmp_path / "poses.txt", "mm", [10, 12, 14])[:, 0, 3].tolist() == [10, 12, 14]
    with pytest.raises(ValueError, match="has 20 poses for 2 frames, whose numbers go up to 20"):
        read_poses(tmp_path / "poses.txt", "mm", [0, 20])


def poses_at(stamps, folder):
    (folder / "poses.txt").write_text("".join(f"{stamp} {row} 0 0 0 0 0 1\n" for row, stamp in enumerate(stamps)))
    return folder / "poses.txt"


def test_poses_at_100_hz_were_taken_for_those_of_frames_at_25_hz(tmp_path):
    path = poses_at([1e5 + row / 100 for row in range(100)], tmp_path)
    times_s = [number / 25 for number in range(12)]
    words = (
        r"100 poses for 12 frames, and their times .*: frame 1 is 0.040 s after frame 0, pose 1 is 0.01 after pose 0"
    )
    with pytest.raises(ValueError, match=words):
        read_poses(path, "mm", range(12), times_s=times_s, source_frames=12)
    assert read_poses(path, "mm", range(12), times_s=times_s, source_frames=100)[:, 0, 3].tolist() == list(range(12))


@pytest.mark.parametrize(
    "stamp",
    [lambda row: 1e5 + row / 25 + 0.019 * (row % 2), lambda row: 40 * row, lambda row: row + 1, lambda row: 0],
    ids=["seconds", "ms", "numbers", "none"],
)
def test_poses_whose_times_go_as_those_of_the_frames_are_taken_by_frame_number(tmp_path, stamp):
    path = poses_at([stamp(row) for row in range(20)], tmp_path)
    read = read_poses(path, "mm", [10, 12, 14], times_s=[0.4, 0.48, 0.56], source_frames=300)
    assert read[:, 0, 3].tolist() == [10, 12, 14]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has 0 rows of no numbers; expected rows of 8"),
        ("1 2 3\n", "has 1 rows of 3 numbers; expected"),
        ("1 0 0 0 0 0 0 1\n1 0 0 0\n", "has 2 rows of 4, 8 numbers"),
        ("1 0 0 0 0 0 0 2\n", "the quaternion of pose 0 has length 2; a rotation has 1"),
        ("1 0 0 0 0 2 0 0 0 0 1 0 0 0 0 1\n", "pose 0 is no rigid motion"),
        ("1 0 0 0 0 1 0 0 0 0 -1 0 0 0 0 1\n", "pose 0 is no rigid motion"),
        ("1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 2\n", "pose 0 is no rigid motion"),
        ("1 nan 0 0 0 0 0 1\n", "NaN, infinite or absurd"),
        ("1 0 0 \x1b[2J 0 0 0 1\n", r"line 1: '1 0 0 \\x1b\[2J 0 0 0 1' is no pose"),
    ],
)
def test_what_is_no_pose_is_said_in_one_line(text, words, tmp_path):
    (tmp_path / "poses.txt").write_text(text)
    with pytest.raises(ValueError, match=words):
        read_poses(tmp_path / "poses.txt", "mm", [0])
