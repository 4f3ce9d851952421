"""Rectified images show what parallel cameras would see; pairs that are not rectified, or swapped, are noticed."""

import numpy as np
import pytest

import bdis
from bdis.synthetic.renderer import render

cv2 = pytest.importorskip("cv2")

WIDTH, HEIGHT = 320, 240


def turn(x, y, z):
    return cv2.Rodrigues(np.array([x, y, z], float))[0]


def cameras(fisheye=False):
    return bdis.StereoCalibration(
        left_matrix=np.array([[300.0, 0, 165], [0, 302, 118], [0, 0, 1]]),
        left_distortion=np.array([-0.05, 0.01, 0.002, -0.001]) if fisheye else np.array([-0.2, 0.05, 1e-3, -5e-4, 0]),
        right_matrix=np.array([[305.0, 0, 158], [0, 303, 122], [0, 0, 1]]),
        right_distortion=np.array([-0.04, 0.02, 0.001, 0]) if fisheye else np.array([-0.22, 0.06, -1e-3, 2e-4, 0]),
        rotation=turn(0.01, -0.02, 0.015),
        translation_mm=np.array([-5.4, 0.1, -0.2]),
        size=(WIDTH, HEIGHT),
        fisheye=fisheye,
    )


def rays(camera, side, places):
    """Directions in the raw camera's frame of raw pixels (n, 2)."""
    undistort = cv2.fisheye.undistortPoints if camera.fisheye else cv2.undistortPoints
    matrix, distortion = getattr(camera, f"{side}_matrix"), getattr(camera, f"{side}_distortion")
    found = undistort(places.reshape(-1, 1, 2), matrix, distortion).reshape(-1, 2)
    return np.column_stack([found, np.ones(len(found))])


@pytest.mark.parametrize("fisheye", [False, True], ids=["pinhole", "fisheye"])
def test_same_row_and_rig_give_the_point_that_raw_rays_meet_at(fisheye):
    """Pictures whose pixels hold their own coordinates tell where each rectified pixel comes from."""
    raw = cameras(fisheye)
    rectifier = raw.rectify()
    rig = rectifier.rig
    rows, columns = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    own_place = np.dstack([columns, rows, np.zeros_like(rows)])
    left, right = rectifier(own_place, own_place)
    rng = np.random.default_rng(0)
    z = rng.uniform(40, 120, 300)
    column, row = rng.integers(90, 230, 300), rng.integers(60, 180, 300)
    other = column - rig.disparity(z)
    whole = np.floor(other).astype(int)
    part = (other - whole)[:, None]
    from_right = right[row, whole, :2] * (1 - part) + right[row, whole + 1, :2] * part
    a = rays(raw, "left", left[row, column, :2].astype(float))
    b = rays(raw, "right", from_right.astype(float)) @ raw.rotation  # in the left camera's frame
    centre = -raw.rotation.T @ raw.translation_mm
    for ray_a, ray_b, depth, u, v in zip(a, b, z, column, row):
        lengths, *_ = np.linalg.lstsq(np.column_stack([ray_a, -ray_b]), centre, rcond=None)
        gap = ray_a * lengths[0] - (centre + ray_b * lengths[1])
        expected = depth * np.linalg.norm([(u - rig.cx) / rig.focal_px, (v - rig.cy) / rig.focal_px, 1])
        assert np.linalg.norm(gap) < 0.03
        assert np.linalg.norm(ray_a * lengths[0]) == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("channels", [None, 3])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_pixels_never_seen_are_exactly_black_and_no_other(kind, channels):
    shape = (HEIGHT, WIDTH) if channels is None else (HEIGHT, WIDTH, channels)
    rectifier = cameras().rectify(alpha=1)
    for image, seen in zip(rectifier(*2 * [np.full(shape, 200, kind)]), (rectifier.left_seen, rectifier.right_seen)):
        assert image.dtype == kind
        assert image.shape == shape
        assert (image[seen] == 200).all()
        assert (image[~seen] == 0).all()
        assert 0.5 < seen.mean() < 1


def test_strong_distortion_shows_nothing_twice():
    """r (1 - 0.3 r^2) grows up to r = 1.054 only: what lies further out would show the inside again."""
    k = np.array([[150.0, 0, 159.5], [0, 150, 119.5], [0, 0, 1]])
    bent = np.array([-0.3, 0, 0, 0, 0])
    wide = bdis.StereoCalibration(k, bent, k, bent, np.eye(3), np.array([-5.0, 0, 0]), size=(WIDTH, HEIGHT))
    rectifier = wide.rectify()
    rig = rectifier.rig
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    radius = np.hypot(columns - rig.cx, rows - rig.cy) / rig.focal_px
    left, _ = rectifier(*2 * [np.full((HEIGHT, WIDTH), 200, np.uint8)])
    assert radius.max() > 1.1
    assert (left[radius > 1.056] == 0).all()
    assert (left[radius < 1.052] == 200).all()


def test_images_that_cannot_be_rectified_were_errors_of_opencv_or_lost_their_mask():
    rectifier, image = cameras().rectify(), np.full((HEIGHT, WIDTH), 90, np.uint8)
    for given, message in (
        (np.ma.masked_less(image, 50), "left is a masked array; pass its data, and as left_mask"),
        (None, "left is None; cv2.imread returns that"),
        (image.astype(np.int32), "left has pixels of type int32; expected uint8, uint16, float32 or float64"),
        (image > 0, "left has pixels of type bool"),
    ):
        with pytest.raises(TypeError, match=message):
            rectifier(given, image)
    other_order = rectifier(*2 * [image.astype(">u2")])[0]
    np.testing.assert_array_equal(other_order, rectifier(*2 * [image])[0])


def test_alpha_zero_leaves_nothing_black():
    rectifier = cameras().rectify(alpha=0)
    assert rectifier.left_seen.mean() > 0.99
    assert rectifier.rig.focal_px > cameras().rectify(alpha=1).rig.focal_px
    with pytest.raises(ValueError, match="alpha must be None or from 0 to 1"):
        cameras().rectify(alpha=2)


def test_rig_has_the_distance_between_the_cameras():
    rig = cameras().rectify().rig
    assert rig.baseline_mm == pytest.approx(np.linalg.norm([5.4, 0.1, 0.2]))
    assert rig.size == (WIDTH, HEIGHT)


def test_images_of_another_size_are_refused_and_scaled_offered():
    rectifier = cameras().rectify()
    with pytest.raises(ValueError, match=r"left is 160x120 but the calibration is for 320x240.*scaled\(0.5\)"):
        rectifier(np.zeros((120, 160), np.uint8), np.zeros((120, 160), np.uint8))
    half = cameras().scaled(0.5).rectify()
    assert half.rig.focal_px == pytest.approx(rectifier.rig.focal_px / 2, rel=1e-3)
    half(np.zeros((120, 160), np.uint8), np.zeros((120, 160), np.uint8))


def test_missing_opencv_names_the_pip_command(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r'rectifying images needs cv2 .*: .* -m pip install "opencv-python-headless'):
        cameras().rectify()


# --- Is a pair rectified, and in the right order? ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair():
    return render("tissue", 240, 320, seed=3)


@pytest.fixture(scope="module")
def matcher():
    return bdis.StereoMatcher()


def test_good_pair_has_no_warnings(pair, matcher):
    check = bdis.check_rectification(pair.left, pair.right, matcher.match(pair.left, pair.right))
    assert check.warnings == ()
    assert check.rectified
    assert not check.swapped
    assert check.vertical_px < 0.6
    assert check.horizontal_px == pytest.approx(np.nanmedian(pair.disparity), abs=3)
    assert check.agreement > 0.8


def test_rows_that_differ_are_told_in_words(pair, matcher):
    shifted = np.roll(pair.right, 3, 0)
    check = bdis.check_rectification(pair.left, shifted, matcher.match(pair.left, shifted))
    assert not check.rectified
    assert check.vertical_px == pytest.approx(3, abs=0.3)
    assert "px on median: this pair does not look rectified" in check.warnings[0]
    slightly = np.roll(pair.right, 2, 0)
    assert "not exact" in bdis.check_rectification(pair.left, slightly).warnings[0]


def test_rows_that_the_matcher_moved_are_told_in_words(matcher):
    lower = render("tissue", 240, 320, seed=4, vertical_shift_px=1.6)
    result = matcher.match(lower.left, lower.right)
    check = bdis.check_rectification(lower.left, lower.right, result)
    assert check.rectified
    (warning,) = check.warnings
    assert warning.startswith("the right image lies 1.6 px lower than the left one: this result is corrected")
    assert "not exact" in bdis.check_rectification(lower.left, lower.right).warnings[0]
    half = render("tissue", 240, 320, seed=4, vertical_shift_px=0.6)
    result = matcher.match(half.left, half.right)
    assert result.row_offset == pytest.approx(0.6, abs=0.1)
    assert bdis.check_rectification(half.left, half.right, result).warnings == ()


def test_swapped_sides_are_told_in_words(pair, matcher):
    check = bdis.check_rectification(pair.right, pair.left, matcher.match(pair.right, pair.left))
    assert check.swapped
    assert any("left and right look swapped" in text for text in check.warnings)


def test_verged_cameras_are_not_taken_for_swapped(pair):
    """Negative disparities are right if the matcher was told to look for them and found them."""
    matcher = bdis.StereoMatcher(min_disparity=-60, max_disparity=0)
    check = bdis.check_rectification(pair.right, pair.left, matcher.match(pair.right, pair.left))
    assert not check.swapped


def test_nothing_to_see_is_no_verdict(matcher):
    grey = np.full((96, 128), 90, np.uint8)
    check = bdis.check_rectification(grey, grey, matcher.match(grey, grey))
    assert check.features == 0
    assert check.rectified
    assert "not known" in check.warnings[-1]


def test_16_bit_pairs_are_checked_alike(pair):
    wide = [image.astype(np.uint16) * 257 for image in (pair.left, pair.right)]
    narrow, checked = bdis.check_rectification(pair.left, pair.right), bdis.check_rectification(*wide)
    assert (checked.features, checked.vertical_px) == (narrow.features, narrow.vertical_px)


def moved(image, zoom=1.0, degrees=0.0):
    """The image zoomed and turned about its centre."""
    height, width = image.shape[:2]
    matrix = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), degrees, zoom)
    return cv2.warpAffine(image, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)


@pytest.mark.parametrize("preset", ["balanced", "fast"])
@pytest.mark.parametrize("kind", ["tissue", "colon", "instruments"])
@pytest.mark.parametrize("size", [(240, 320), (480, 640)])
def test_an_image_that_is_one_percent_larger_gave_depths_three_percent_off_without_a_word(kind, size, preset):
    pair, matcher = render(kind, *size, seed=3, noise=1.5), bdis.StereoMatcher(preset)
    for zoom, word in ((1.01, "1.0 % larger"), (0.99, "1.0 % smaller")):
        right = moved(pair.right, zoom)
        result = matcher.match(pair.left, right)
        error = np.abs(result.disparity / pair.disparity - 1)[result.known]
        assert 0.02 < np.nanmedian(error) < 0.05
        (text,) = bdis.check_rectification(pair.left, right, result).warnings
        assert f"the right image looks {word} than the left one" in text
    assert not bdis.check_rectification(pair.left, pair.right, matcher.match(pair.left, pair.right)).warnings


@pytest.mark.parametrize("preset", ["balanced", "fast"])
def test_an_image_that_is_turned_by_half_a_degree_is_told(preset):
    pair = render("tissue", 480, 640, seed=3)
    right = moved(pair.right, degrees=0.3)
    (text,) = bdis.check_rectification(pair.left, right, bdis.StereoMatcher(preset).match(pair.left, right)).warnings
    assert "1.7 px at" in text
    assert "columns" in text


@pytest.mark.parametrize("options", [{"noise": 4}, {"blur": 2}, {"smoke": 0.3}])
def test_hard_pictures_are_not_said_to_be_zoomed_or_turned(options):
    for kind in ("tissue", "colon", "instruments"):
        pair = render(kind, 240, 320, seed=5, **options)
        said = " ".join(bdis.check_rectification(pair.left, pair.right).warnings)
        assert "larger" not in said
        assert "smaller" not in said
        assert "turned" not in said
