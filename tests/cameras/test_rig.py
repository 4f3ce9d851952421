"""From disparity to millimetres: numbers worked out by hand, sizes that do not fit, units that do."""

import dataclasses
import re

import numpy as np
import pytest

import bdis

RIG = bdis.Rig(focal_px=500, cx=100, cy=50, baseline_mm=5, size=(200, 120))  # f b = 2500 px mm
VERGED = bdis.Rig(focal_px=500, cx=0, cy=0, baseline_mm=5, cx_right=10)  # doffs 10 px
FITTED = dataclasses.replace(RIG, sigma_scale=1.31, sigma_scale_range=(1.2, 1.45), sigma_preset="fast")


def result(disparity, variance=None):
    disparity = np.float32(disparity)
    probability = np.where(np.isnan(disparity), 0, 0.8).astype(np.float32)
    return bdis.StereoResult(disparity, probability, None if variance is None else np.float32(variance))


def test_depth_is_focal_times_baseline_over_disparity():
    depth = bdis.Rig(500, 0, 0, 5).depth(result([[25, 50, 0.5, np.nan]]))
    assert depth.dtype == np.float32
    np.testing.assert_array_equal(depth, np.float32([[100, 50, 5000, np.nan]]))


def test_what_is_not_in_front_of_the_cameras_has_no_depth():
    assert np.isnan(bdis.Rig(500, 0, 0, 5).depth(result([[0, -3]]))).all()
    depth = VERGED.depth(result([[0, -5, -10, -11]]))  # d + doffs = 10, 5, 0, -1
    np.testing.assert_array_equal(depth, np.float32([[250, 500, np.nan, np.nan]]))


@pytest.mark.parametrize("rig", [RIG, VERGED], ids=["parallel", "verged"])
def test_disparity_inverts_depth(rig):
    depth = np.linspace(20, 300, 57, dtype=np.float32)
    np.testing.assert_allclose(rig.depth(rig.disparity(depth)), depth, rtol=1e-5)
    assert np.isnan(rig.disparity([0.0, -1.0, np.nan])).all()


def test_depth_variance_follows_the_slope_of_depth_over_disparity():
    rig = VERGED
    given = result([[15.0, 40.0, np.nan]], [[0.04, 0.01, np.nan]])  # d + doffs = 25, 50
    # slope = f b / (d + doffs)^2 = 4 and 1 mm per px
    np.testing.assert_allclose(rig.depth_variance(given), [[16 * 0.04, 1 * 0.01, np.nan]], rtol=1e-5)
    step = 1e-2
    nudged = rig.depth(given.disparity + step) - rig.depth(given.disparity - step)
    np.testing.assert_allclose(rig.depth_variance(given), (nudged / (2 * step)) ** 2 * given.variance, rtol=1e-3)


def test_depth_beyond_the_limit_is_unknown():
    given = result([[25, 50, 50.1, np.nan]])  # 100, 50, 49.9 mm
    rig = bdis.Rig(500, 0, 0, 5)
    np.testing.assert_array_equal(np.isnan(rig.depth(given, max_depth_mm=50)), [[True, False, False, True]])
    np.testing.assert_array_equal(rig.depth(given, max_depth_mm=200), rig.depth(given))


@pytest.mark.parametrize("limit", [np.nan, 0, -5.0])
def test_a_limit_of_the_depth_that_is_no_number_was_ignored(limit):
    given, rig = result([[25, 50]]), bdis.Rig(500, 0, 0, 5)
    for limited in (rig.depth, rig.points, rig.cloud):
        with pytest.raises(ValueError, match="max_depth_mm must be above 0, but it is"):
            limited(given, max_depth_mm=limit)
    assert rig.depth(given, max_depth_mm=np.inf).tolist() == [[100, 50]]


def test_depth_sigma_is_the_square_root_of_the_depth_variance():
    given = result([[15.0, 40.0, -20.0, np.nan]], [[0.04, 0.01, 0.01, np.nan]])
    assert VERGED.depth_sigma(given).dtype == np.float32
    np.testing.assert_allclose(VERGED.depth_sigma(given), [[4 * 0.2, 1 * 0.1, np.nan, np.nan]], rtol=1e-6)
    with pytest.raises(ValueError, match=r"no variance.*variance=True"):
        VERGED.depth_sigma(result([[25.0]]))


def test_depth_variance_without_a_variance_says_how_to_get_one():
    with pytest.raises(ValueError, match=r"no variance.*variance=True"):
        VERGED.depth_variance(result([[25.0]]))


def test_cloud_points_project_back_to_their_pixels():
    rng = np.random.default_rng(0)
    disparity = rng.uniform(10, 60, (120, 200)).astype(np.float32)
    disparity[rng.random(disparity.shape) < 0.3] = np.nan
    left = rng.integers(0, 255, (120, 200, 3), dtype=np.uint8)
    given = result(disparity, np.full_like(disparity, 0.04))
    cloud = RIG.cloud(given, left)
    x, y, z = cloud.points.T
    columns, rows = x / z * 500 + 100, y / z * 500 + 50
    expected_rows, expected_columns = np.nonzero(given.known)
    np.testing.assert_allclose(columns, expected_columns, atol=1e-3)
    np.testing.assert_allclose(rows, expected_rows, atol=1e-3)
    np.testing.assert_array_equal(cloud.colors, left[given.known])
    np.testing.assert_allclose(cloud.sigma_mm, np.sqrt(RIG.depth_variance(given)[given.known]))
    assert RIG.cloud(result(disparity)).sigma_mm is None


def test_cloud_agrees_with_the_q_matrix():
    disparity = np.random.default_rng(1).uniform(5, 60, (40, 50)).astype(np.float32)
    for rig in (bdis.Rig(500, 21.5, 17.25, 5), bdis.Rig(500, 21.5, 17.25, 5, cx_right=30)):
        rows, columns = np.mgrid[:40, :50]
        homogeneous = np.stack([columns, rows, disparity, np.ones_like(disparity)], -1) @ rig.Q.T
        np.testing.assert_allclose(
            rig.cloud(result(disparity)).points, (homogeneous[..., :3] / homogeneous[..., 3:]).reshape(-1, 3), rtol=1e-4
        )


def test_q_is_opencv_s():
    cv2 = pytest.importorskip("cv2")
    k = np.array([[500.0, 0, 99.5], [0, 500, 59.5], [0, 0, 1]])
    *_, left, right, q, _, _ = cv2.stereoRectify(
        k, np.zeros(5), k, np.zeros(5), (200, 120), np.eye(3), np.array([[-5.0], [0], [0]])
    )[:7]
    rig = bdis.Rig(right[0, 0], left[0, 2], left[1, 2], 5, right[0, 2])
    np.testing.assert_allclose(rig.Q, q, atol=1e-9)


def test_cloud_leaves_out_what_is_far_or_unsure():
    disparity = np.float32([[25, 50, 100]])
    given = bdis.StereoResult(disparity, np.float32([[0.9, 0.9, 0.2]]))
    rig = bdis.Rig(500, 0, 0, 5)
    assert len(rig.cloud(given)) == 3
    assert rig.cloud(given, max_depth_mm=60).points[:, 2].tolist() == [50, 25]
    assert rig.cloud(given, min_probability=0.5).points[:, 2].tolist() == [100, 50]


@pytest.mark.parametrize(
    ("colors", "expected"),
    [
        (np.full((1, 1), 7, np.uint8), [7, 7, 7]),
        (np.uint8([[[1, 2, 3]]]), [1, 2, 3]),
        (np.uint8([[[1, 2, 3, 255]]]), [1, 2, 3]),
        (np.uint16([[[256, 512, 65535]]]), [1, 2, 255]),
        (np.uint16([[[16, 32, 4095]]]), [1, 2, 255]),
        (np.float32([[[0, 0.5, 1]]]), [0, 128, 255]),
    ],
    ids=["grey", "rgb", "rgba", "16 bit", "12 bit", "float"],
)
def test_cloud_takes_colours_of_every_kind(colors, expected):
    assert bdis.Rig(500, 0, 0, 5).cloud(result([[25]]), colors).colors.tolist() == [expected]


def test_scaled_sees_the_same_points():
    half = RIG.scaled(0.5)
    assert half.size == (100, 60)
    # The left edge of the picture lies at -0.5 px; its angle does not change.
    for name in ("cx", "cy"):
        assert (getattr(half, name) + 0.5) / half.focal_px == pytest.approx((getattr(RIG, name) + 0.5) / RIG.focal_px)
    assert half.depth(np.float32([[12.5]] * 60).repeat(100, 1))[0, 0] == 100
    assert VERGED.scaled(2).doffs == pytest.approx(20)
    assert VERGED.scaled(2).scaled(0.5).cx == pytest.approx(VERGED.cx)


def test_wrong_size_offers_scaled():
    with pytest.raises(ValueError, match="the images are 100x60 but the calibration is for 200x120") as error:
        RIG.depth(np.zeros((60, 100), np.float32))
    assert "rig.scaled(0.5)" in str(error.value)
    with pytest.raises(ValueError, match="another shape"):
        RIG.depth(np.zeros((60, 120), np.float32))
    with pytest.raises(ValueError, match="colors is 3x3 but the result is 2x1"):
        VERGED.cloud(result([[1, 2]]), np.zeros((3, 3), np.uint8))


@pytest.mark.parametrize("rig", [bdis.Rig(544, 319.5, 239.5, 5), bdis.Rig(544, 319.5, 239.5, 5, cx_right=300)])
def test_a_rig_without_a_size_gave_any_depth_for_images_of_half_the_size(rig):
    """Its principal point is their corner; the command refused the same."""
    half = result(np.full((240, 320), 25.0), np.full((240, 320), 0.04))
    words = r"principal point at \(319.5, 239.5\), outside the images of 320x240; if they were resized, use rig.scaled"
    for used in (rig.depth, rig.cloud, rig.points, rig.depth_sigma, rig.depth_interval):
        with pytest.raises(ValueError, match=words):
            used(half)
    with pytest.raises(ValueError, match=words):
        rig.depth(half.disparity)
    whole = np.full((480, 640), 50.0, np.float32)
    assert rig.scaled(0.5).depth(half)[0, 0] == pytest.approx(rig.depth(whole)[0, 0], rel=0.1)
    assert rig.depth(np.float32([25, 50])).shape == (2,)  # no image
    part = dataclasses.replace(rig, size=(320, 240))  # of a part of larger images, whose centre is beside it
    assert part.depth(half).shape == (240, 320)


@pytest.mark.parametrize("mark", [-1, 0])
def test_a_mark_of_unknown_pixels_became_a_plausible_depth_with_verged_cameras(mark, recwarn):
    verged = bdis.Rig(500, 159.5, 119.5, 5, cx_right=189.5)
    disparity = np.random.default_rng(3).uniform(20, 30, (240, 320)).astype(np.float32)
    verged.depth(disparity)
    assert not recwarn
    disparity[:, :100] = mark
    words = f"31% of the disparities are exactly {mark} px, the smallest, which is a depth of 8.*set them to NaN"
    for used in (verged.depth, verged.points):
        with pytest.warns(UserWarning, match=words) as told:
            used(disparity)
        assert len(told) == 1
        assert told[0].filename == __file__
    disparity[:, :100] = -31  # beyond infinity, and without a depth
    verged.depth(disparity)
    bdis.Rig(500, 159.5, 119.5, 5).depth(np.where(disparity < 0, np.float32(-1), disparity))
    verged.depth(result(disparity))
    assert not recwarn


@pytest.mark.parametrize(
    ("low", "high", "mark", "which"),
    [
        (-90, -30, 0, "the largest"), (-90, -30, -1, "the largest"), (-50, 50, 0, "more than have any other"),
        (-50, 50, -1, "more than have any other"), (-90, -30, 255, "the largest"), (20, 50, 15, "the smallest"),
    ],
)  # fmt: skip
def test_a_mark_of_unknown_pixels_that_is_not_the_smallest_value_became_a_plausible_depth(low, high, mark, which):
    verged = bdis.Rig(500, 159.5, 119.5, 5, cx_right=259.5)
    disparity = np.random.default_rng(3).uniform(low, high, (240, 320)).astype(np.float32)
    disparity[:, :40] = mark
    words = f"disparities are exactly {mark} px, {which}, which is a depth of .* set them to NaN"
    with pytest.warns(UserWarning, match=words):
        verged.depth(disparity)


def test_disparities_that_many_pixels_have_rightly_are_no_marks(recwarn):
    rig, parallel = bdis.Rig(500, 159.5, 119.5, 5, cx_right=259.5), bdis.Rig(500, 159.5, 119.5, 5)
    smooth = np.random.default_rng(3).normal(10, 9, (240, 320)).astype(np.float32)
    wall = np.where(
        np.arange(320) < 60, np.random.default_rng(4).normal(40, 0.3, (240, 320)).astype(np.float32), smooth
    )
    steps = np.rint(16 * wall) / 16  # as of OpenCV's matchers
    whole = np.digitize(smooth, [-5, 0, 5, 6, 8, 11]).astype(np.float32)
    for disparity in (smooth, wall, steps, np.rint(smooth), whole, np.full((240, 320), 12.5)):
        rig.depth(disparity)
        parallel.depth(disparity)
    assert not recwarn


@pytest.mark.parametrize("least", [80, -0.1, np.nan])
def test_a_probability_in_per_cent_gave_an_empty_cloud_without_a_word(least):
    with pytest.raises(ValueError, match="min_probability must be from 0 to 1, but it is"):
        RIG.cloud(result(np.full((120, 200), 25.0)), min_probability=least)
    assert len(RIG.cloud(result(np.full((120, 200), 25.0)), min_probability=0)) == 24000


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"focal_px": 0}, ValueError, "focal_px must be above 0, but it is 0"),
        ({"focal_px": np.nan}, ValueError, "focal_px must be finite"),
        ({"baseline_mm": -5}, ValueError, "swapped"),
        ({"cx": "320"}, TypeError, "cx must be a number, but it is '320'"),
        ({"cy": True}, TypeError, "cy must be a number"),
        ({"size": (640, 0)}, ValueError, "size must be"),
        ({"size": (640.5, 480)}, ValueError, "size must be"),
        ({"size": (640,)}, ValueError, "size must be"),
        ({"sigma_scale": 0}, ValueError, "sigma_scale must be above 0 and at most 100, but it is 0"),
        ({"sigma_scale": 101}, ValueError, "sigma_scale must be above 0 and at most 100, but it is 101"),
        ({"sigma_scale": "1.3"}, TypeError, "sigma_scale must be a number, but it is '1.3'"),
        ({"sigma_preset": "fast"}, ValueError, "sigma_preset is about sigma_scale, which is missing"),
        ({"sigma_scale": 2, "sigma_preset": "fastest"}, ValueError, "sigma_preset must be one of balanced, "),
        ({"sigma_scale": 2, "sigma_preset": ["fast"]}, ValueError, "sigma_preset must be one of balanced, "),
        ({"sigma_scale": 2, "sigma_scale_range": (1, 1.9)}, ValueError, "two numbers around sigma_scale, 2, but it is"),
        ({"sigma_scale": 2, "sigma_scale_range": (1, np.inf)}, ValueError, "but it is 1 to inf"),
        ({"sigma_scale": 2, "sigma_scale_range": (np.nan, 3)}, ValueError, "but it is nan to 3"),
        ({"sigma_scale": 2, "sigma_scale_range": 2}, TypeError, "sigma_scale_range must be two numbers"),
        ({"sigma_scale": 2, "sigma_scale_range": (1, 10**400)}, TypeError, "sigma_scale_range must be two numbers"),
    ],
)
def test_numbers_no_camera_has_are_refused(change, error, words):
    with pytest.raises(error, match=re.escape(words)):
        bdis.Rig(**{"focal_px": 500, "cx": 320, "cy": 240, "baseline_mm": 5, **change})


@pytest.mark.parametrize("factor", [0, -1, np.nan, np.inf])
def test_scaling_by_nonsense_is_refused(factor):
    with pytest.raises(ValueError, match="factor must be above 0"):
        RIG.scaled(factor)


@pytest.mark.parametrize("ending", ["toml", "json"])
@pytest.mark.parametrize(
    "rig",
    [RIG, VERGED, bdis.Rig(1 / 3, np.pi, -2.5, 5.379, 1e-7), dataclasses.replace(RIG, sigma_scale=1.31), FITTED],
    ids=["sized", "verged", "odd", "scaled", "fitted"],
)
def test_own_file_gives_the_same_rig_back(rig, ending, tmp_path):
    path = tmp_path / f"rig.{ending}"
    rig.save(path)
    assert bdis.Rig.load(path) == rig


def test_factor_on_sigma_is_kept_by_resizing_and_not_written_without_one(tmp_path):
    assert FITTED.scaled(0.5).about_sigma() == FITTED.about_sigma()
    RIG.save(tmp_path / "rig.toml")
    assert "sigma_scale" not in (tmp_path / "rig.toml").read_text()
    text = (tmp_path / "rig.toml").read_text()
    (tmp_path / "wrong.toml").write_text(f"{text}sigma_scale = -2\n")
    with pytest.raises(ValueError, match="wrong.toml: sigma_scale must be above 0"):
        bdis.Rig.load(tmp_path / "wrong.toml")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sigma_preset = 1", "sigma_preset must be a text, but it is 1"),
        ("sigma_scale_range = [1.0]", "sigma_scale_range must be two numbers"),
        ('sigma_scale_range = [1.0, "2"]', "sigma_scale_range must be a finite number, but it is '2'"),
        ("sigma_scale_range = [1.0, inf]", "sigma_scale_range must be a finite number, but it is inf"),
    ],
)
def test_what_a_file_says_of_the_factor_has_its_type(line, words, tmp_path):
    path = tmp_path / "rig.toml"
    dataclasses.replace(RIG, sigma_scale=1.31).save(path)
    path.write_text(f"{path.read_text()}{line}\n")
    with pytest.raises(ValueError, match=re.escape(words)):
        bdis.Rig.load(path)


def test_own_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ValueError, match=re.escape(".toml or .json")):
        RIG.save(tmp_path / "rig.yaml")
    path = tmp_path / "rig.toml"
    path.write_text('format = "bdis-rig"\nfocal_px = 1\ncx = 1\ncy = 1\nbaseline = 5')
    with pytest.raises(ValueError, match="without baseline_mm, with unknown baseline"):
        bdis.Rig.load(path)


@pytest.mark.parametrize("disparity", [1e-45, 1e-30, 1e-12])
def test_points_almost_at_infinity_are_no_overflow(disparity):
    given = result([[disparity]], [[0.01]])
    rig = bdis.Rig(500, 0, 0, 5)
    assert rig.depth(given)[0, 0] > 1e12
    assert rig.depth_sigma(given)[0, 0] > 1e12
    assert rig.depth_interval(given)[1][0, 0] == np.inf
