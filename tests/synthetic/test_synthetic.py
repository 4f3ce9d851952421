"""Rendered pairs: exact where a formula says so, consistent between the cameras everywhere, and the same every time."""

import numpy as np
import pytest

from bdis.synthetic import SCENES, RenderOptions, render, renderer

SIZE = (72, 96)


def rays(pair):
    """Directions (h, w, 3) with depth 1 through the pixels of the left image."""
    height, width = pair.depth_mm.shape
    y, x = np.mgrid[:height, :width]
    return np.stack([(x - pair.cx) / pair.focal_px, (y - pair.cy) / pair.focal_px, np.ones((height, width))], -1)


def world_of(scene, seed, frame=0, **options):
    return SCENES[scene](np.random.default_rng([seed, 1]), frame, RenderOptions(**options))


def from_right(image, disparity):
    """Values of the right image where the left pixels' points are: linear between columns."""
    height, width = disparity.shape
    place = np.arange(width) - disparity
    x0 = np.clip(np.floor(place).astype(int), 0, width - 2)
    a, rows = place - x0, np.arange(height)[:, None]
    return image[rows, x0] * (1 - a) + image[rows, x0 + 1] * a


def wall_gap(wall, point):
    """Oracle: how far points (n, 3) are in front of a wall, in the wall's own measure."""
    x, y, z = point.T
    if wall[0, 0] == 0:
        kx, ky, phase, height = (wall[2:, k, None] for k in range(4))
        waves = (height * np.sin(kx * x + ky * y + phase)).sum(0)
        return wall[1, 0] + wall[1, 1] * x + wall[1, 2] * y + waves - z
    t = wall[2:4, 1, None] * z + wall[2:4, 2, None]
    t = t - np.floor(t + 0.5)
    bend = wall[2:4, 0, None] * (8 * t - 16 * t * np.abs(t))
    x, y = x - bend[0], y - bend[1]
    rho, theta = np.hypot(x, y), np.arctan2(y, x)
    radius, spacing, per_width, triangle = wall[1, :4]
    narrow = triangle * np.cos(3 * theta)
    folds = len(wall) - 4
    for k in range(int(z.min() // spacing) - 1, int(z.max() // spacing) + 2):
        place, tilt_x, tilt_y, height, crest_x, crest_y = wall[4 + k % folds, :6]
        q = (z - (k + place) * spacing - tilt_x * np.cos(theta) - tilt_y * np.sin(theta)) * per_width
        crest = 0.55 + 0.45 * (np.cos(theta) * crest_x + np.sin(theta) * crest_y)
        narrow = narrow + height * crest * np.maximum(0, 1 - q * q / 9) ** 3 / (1 + q * q)
    return radius * (1 - narrow) - rho


def first_hits(wall, origin, directions, step):
    """Oracle: distance (n,) at which rays first meet a wall, by many small steps and then halving."""
    before, after = np.zeros(len(directions)), np.full(len(directions), np.nan)
    for distance in np.arange(step, 8 * wall[1, 0], step):
        going = np.isnan(after)
        if not going.any():
            break
        behind = wall_gap(wall, origin + distance * directions[going]) <= 0
        after[np.flatnonzero(going)[behind]] = distance
        before[np.flatnonzero(going)[~behind]] = distance
    for _ in range(40):
        middle = (before + after) / 2
        behind = wall_gap(wall, origin + middle[:, None] * directions) <= 0
        before, after = np.where(behind, before, middle), np.where(behind, middle, after)
    return after


# ---------------------------------------------------------------- depth


def test_plane_is_exact():
    pair = render("plane", *SIZE, depth_mm=50, relief_mm=20)
    assert np.abs(pair.depth_mm - 50 / (1 - 0.4 * rays(pair)[..., 0])).max() < 1e-4


def test_sphere_is_exact():
    pair = render("sphere", *SIZE, depth_mm=50, relief_mm=15)
    ray = rays(pair)
    squared = (ray**2).sum(-1)
    under = 50**2 - squared * (50**2 - 15**2)
    reference = np.where(under > 0, (50 - np.sqrt(np.maximum(under, 0))) / squared, 80.0)
    assert 0.1 < (under > 0).mean() < 0.9
    assert np.abs(pair.depth_mm - reference).max() < 1e-4


def test_instruments_are_exact():
    """What is in front of the organ lies on the surface of a rod, and no rod reaches in front of it."""
    world = world_of("instruments", seed=2)
    pair = render("instruments", *SIZE, seed=2)
    point = rays(pair).reshape(-1, 3) * pair.depth_mm.reshape(-1, 1).astype(float)
    outside = []
    for rod in world.rods:
        axis = rod[3:6] - rod[:3]
        along = np.clip((point - rod[:3]) @ axis / (axis @ axis), 0, 1)
        outside.append(np.linalg.norm(point - rod[:3] - along[:, None] * axis, axis=1) - rod[6])
    on_rod, on_wall = np.min(outside, 0), np.abs(wall_gap(world.wall, point))
    assert 0.05 < (np.abs(on_rod) < 1e-3).mean() < 0.6
    assert np.minimum(np.abs(on_rod), on_wall).max() < 1e-3
    assert on_rod.min() > -1e-3


@pytest.mark.parametrize(("scene", "seed", "frame"), [("tissue", 0, 0), ("colon", 3, 21), ("colon", 4, 28)])
def test_first_hit_is_found_where_folds_hide_each_other(scene, seed, frame):
    pair = render(scene, *SIZE, seed=seed, frame=frame, relief_mm=None if scene == "tissue" else 10)
    world = world_of(scene, seed, frame, relief_mm=None if scene == "tissue" else 10)
    left, _ = world.cameras(pair.baseline_mm, pair.focal_px, *SIZE)
    chosen = np.random.default_rng(0).choice(SIZE[0] * SIZE[1], 500, replace=False)
    ray = rays(pair).reshape(-1, 3)[chosen]
    length = np.linalg.norm(ray, axis=1)
    reference = first_hits(world.wall, left[0], (ray / length[:, None]) @ left[1:4], step=0.03) / length
    error = np.abs(pair.depth_mm.ravel()[chosen] - reference)
    assert np.sort(error)[-2] < 1e-3  # one ray may graze a fold within a step


def test_camera_and_disparity_agree():
    pair = render("tissue", *SIZE, seed=1)
    assert (pair.cx, pair.cy) == ((96 - 1) / 2, (72 - 1) / 2)
    np.testing.assert_allclose(pair.full_disparity, pair.focal_px * pair.baseline_mm / pair.depth_mm, rtol=1e-5)
    np.testing.assert_array_equal(np.isnan(pair.disparity), pair.occluded)
    np.testing.assert_array_equal(pair.disparity[~pair.occluded], pair.full_disparity[~pair.occluded])


# ---------------------------------------------------------------- what both cameras see


@pytest.mark.parametrize("scene", SCENES)
def test_diffuse_light_looks_the_same_from_both_cameras(scene):
    pair = render(scene, 240, 320, seed=4, lighting="diffuse", noise=0)
    left, right = (image.mean(2) for image in (pair.left_clean, pair.right_clean))
    difference = np.abs(left - from_right(right, pair.full_disparity))[~pair.occluded]
    assert np.median(difference) < 0.6
    assert np.percentile(difference, 95) < 4.0


def test_headlight_shines_differently_into_both_cameras():
    def bright_spots(lighting):
        pair = render("tissue", 120, 160, seed=2, lighting=lighting, noise=0)
        left, right = (image.min(2) for image in (pair.left_clean, pair.right_clean))
        return (np.abs(left - from_right(right, pair.full_disparity))[~pair.occluded] > 60).sum()

    assert bright_spots("diffuse") == 0
    assert bright_spots("headlight") > 5


def test_occluded_behind_a_ball():
    """On the plane behind the ball, exactly the ball's shadow from the right camera is occluded, and the border."""
    pair = render("sphere", 120, 160, depth_mm=50, relief_mm=15)
    behind = pair.depth_mm > 79
    point = rays(pair) * pair.depth_mm[..., None].astype(float)
    eye, centre = np.array([pair.baseline_mm, 0, 0]), np.array([0, 0, 50.0])
    way = point - eye
    way /= np.linalg.norm(way, axis=-1, keepdims=True)
    miss = np.linalg.norm(np.cross(way, centre - eye), axis=-1)
    outside = np.arange(160) - pair.full_disparity < 0
    clear_cut = behind & (np.abs(miss - 15) > 0.01)
    assert (behind & (miss < 15) & ~outside).any()
    np.testing.assert_array_equal(pair.occluded[clear_cut], ((miss < 15) | outside)[clear_cut])


def test_occluded_behind_folds():
    world = world_of("colon", seed=1)
    pair = render("colon", *SIZE, seed=1)
    left, right = world.cameras(pair.baseline_mm, pair.focal_px, *SIZE)
    inside = np.arange(SIZE[1]) - pair.full_disparity > 0
    inside[::2] = False  # half of the rows are enough
    ray = (rays(pair) * pair.depth_mm[..., None].astype(float))[inside] @ left[1:4] + left[0] - right[0]
    length = np.linalg.norm(ray, axis=1)
    hit = first_hits(world.wall, right[0], ray / length[:, None], step=0.1)
    hidden = hit < 0.99 * length
    assert 20 < hidden.sum() < 0.5 * hidden.size
    assert (hidden != pair.occluded[inside]).mean() < 0.002  # those within 1 % of a crest


# ---------------------------------------------------------------- the same every time


@pytest.mark.parametrize("scene", SCENES)
def test_same_arguments_same_bits(scene):
    first = render(scene, *SIZE, seed=3, frame=2)
    renderer._texture.cache_clear()
    second = render(scene, *SIZE, seed=3, frame=2)
    for name in ("left", "right", "disparity", "full_disparity", "depth_mm", "occluded"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
    for other in (render(scene, *SIZE, seed=4, frame=2), render(scene, *SIZE, seed=3, frame=3)):
        assert (other.left != first.left).mean() > 0.3


@pytest.mark.parametrize("size", [(32, 32), (33, 47), (32, 200)])
@pytest.mark.parametrize("scene", SCENES)
def test_any_size(scene, size):
    pair = render(scene, *size)
    assert pair.left.shape == pair.right.shape == (*size, 3)
    assert pair.depth_mm.shape == pair.disparity.shape == pair.occluded.shape == size
    assert pair.left.min() > 0
    assert np.isfinite(pair.depth_mm).all()
    assert 0 < pair.occluded.mean() < 0.5


def test_another_exposure_of_a_static_scene():
    pair = render("tissue", *SIZE, noise=3, noise_seed=1)
    again = pair.with_noise(3, noise_seed=2)
    assert (pair.left != again.left).mean() > 0.5
    assert again.depth_mm is pair.depth_mm
    np.testing.assert_array_equal(again.left, render("tissue", *SIZE, noise=3, noise_seed=2).left)
    np.testing.assert_array_equal(again.right, render("tissue", *SIZE, noise=3, noise_seed=2).right)


def test_the_colon_is_one_rigid_thing_the_cameras_move_along():
    """A point seen in one frame is on the wall of the next."""
    pair = render("colon", *SIZE, seed=5, frame=10)
    left, _ = world_of("colon", 5, 10).cameras(pair.baseline_mm, pair.focal_px, *SIZE)
    point = (rays(pair) * pair.depth_mm[..., None].astype(float)).reshape(-1, 3) @ left[1:4] + left[0]
    later = world_of("colon", 5, 11)
    assert np.abs(wall_gap(later.wall, point)).max() < 1e-3
    assert 0.5 < np.linalg.norm(later.position - world_of("colon", 5, 10).position) < 2


# ---------------------------------------------------------------- options


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("wanted", [5, 40, 120])
def test_wanted_disparity(scene, wanted):
    pair = render(scene, 120, 160, seed=2, disparity_px=wanted / 4)
    assert np.median(pair.full_disparity) == pytest.approx(wanted / 4, rel=0.05)


def clean(scene="tissue", **options):
    pair = render(scene, *SIZE, seed=1, **options)
    return pair.left_clean.mean(2), pair.right_clean.mean(2)


def test_noise_has_the_given_spread():
    pair = render("plane", 120, 160, noise=4, lighting="diffuse", texture=0.2)
    assert np.std(pair.left - pair.left_clean) == pytest.approx(4, rel=0.02)
    assert np.abs(render("plane", *SIZE, noise=0).left - render("plane", *SIZE).left_clean).max() <= 0.5


def detail(**options):
    return np.abs(np.diff(clean(lighting="diffuse", **options)[0], axis=1)).mean()


def test_blur_texture_and_smoke_change_the_detail():
    assert detail(blur=2.0) < 0.6 * detail(blur=0)
    assert detail(texture=0.3) < 0.6 * detail(texture=1.0)
    assert detail(texture=0.0) < 0.2 * detail(texture=1.0)
    assert detail(smoke=0.8) < 0.6 * detail()


def test_gain_and_vignetting_touch_the_right_camera_only():
    left, right = clean()
    for options, factor in (({"gain_difference": 0.2}, 1.2), ({"gain_difference": -0.2}, 0.8)):
        np.testing.assert_array_equal(clean(**options)[0], left)
        np.testing.assert_allclose(clean(**options)[1], factor * right, rtol=1e-5)
    darker = clean(vignetting_difference=0.4)[1] / right
    assert darker[0, 0] == pytest.approx(0.6, abs=1e-3)
    assert darker[36, 48] == pytest.approx(1, abs=1e-3)


def test_vertical_shift_moves_the_right_picture_down():
    (left, right), (same, moved) = clean(blur=0), clean(blur=0, vertical_shift_px=3)
    np.testing.assert_array_equal(left, same)
    np.testing.assert_allclose(moved[3:], right[:-3], atol=0.05)
    assert render("tissue", *SIZE, vertical_shift_px=3).occluded[-3:].all()


def test_headlight_has_a_dark_rim_and_falls_off():
    headlight, diffuse = (clean("plane", lighting=kind, relief_mm=0)[0] for kind in ("headlight", "diffuse"))
    ratio = headlight / diffuse
    assert ratio[[0, 0, -1, -1], [0, -1, 0, -1]].max() < 0.75 * ratio[30:42, 40:56].mean()


def test_highlights_can_be_turned_off():
    assert (clean(highlights=0)[0] <= clean()[0] + 1e-3).all()
    assert clean(highlights=0)[0].max() < clean()[0].max() - 10


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("lung",), {}, ValueError, "unknown scene 'lung'; there are tissue, colon, instruments, plane, sphere"),
        (("tissue", 31, 64), {}, ValueError, "height must be from 32 to 8192, but it is 31"),
        (("tissue", 48.0, 64), {}, TypeError, "height must be a whole number"),
        (("tissue",), {"seed": -1}, ValueError, "seed must be at least 0, but it is -1"),
        (("tissue",), {"nois": 1}, ValueError, "unknown option nois; there are depth_mm"),
        (("tissue",), {"noise": -1}, ValueError, "noise must be from 0 to 50 grey levels, but it is -1"),
        (("tissue",), {"noise": "loud"}, TypeError, "noise must be a number, but it is 'loud'"),
        (("tissue",), {"smoke": float("nan")}, ValueError, "smoke must be a number, but it is nan"),
        (
            ("tissue",),
            {"lighting": "sun"},
            ValueError,
            "lighting must be one of 'headlight', 'diffuse', but it is 'sun'",
        ),
        (("tissue",), {"relief_mm": 40}, ValueError, "relief_mm is 40; expected 0 to half of depth_mm"),
        (("tissue",), {"baseline_mm": 4, "disparity_px": 9}, ValueError, "give one of them"),
        (("tissue",), {"disparity_px": 600}, ValueError, "disparity_px is 600; expected 1 to 576"),
        (("tissue",), {"focal_px": 10}, ValueError, "focal_px is 10; expected 256 to 6400"),
        (("colon",), {"baseline_mm": 60}, ValueError, "camera would touch the scene"),
    ],
)
def test_what_cannot_be_rendered_says_why(arguments, options, error, message):
    with pytest.raises(error, match=message):
        render(*arguments, **options)


def test_another_exposure_checks_its_arguments():
    pair = render("plane", 32, 32)
    with pytest.raises(ValueError, match="noise must be from 0 to 50"):
        pair.with_noise(99, noise_seed=0)
    with pytest.raises(TypeError, match="noise_seed must be a whole number"):
        pair.with_noise(1, noise_seed=0.5)
