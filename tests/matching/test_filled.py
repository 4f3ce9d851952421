"""What `dense` fills: against the oracle, and what must hold of it for any picture."""

import numpy as np
import pytest

import bdis
from bdis.matching import kernels
from bdis.matching.certainty import fill_rules
from bdis.matching.detail import fill_line, known_blocks
from bdis.matching.kernels.layout import Map, Maps
from bdis.matching.memory import Arena
from bdis.synthetic.renderer import render
from bdis.vector.crew import Threads
from bdis.vector.records import for_members
from tests import naive_filled, naive_surface
from tests.matching.records import seen_of
from tests.scenes import smooth_noise

SIZES = [(1, 16), (7, 17), (20, 33), (48, 160), (75, 96), (50, 203)]


def scattered(size, kind, rng):
    """Disparities with depth edges and slopes, and which of them are known."""
    height, width = size
    y, x = np.mgrid[:height, :width]
    disparity = 4 + 0.05 * x - 0.02 * y + 8 * (np.sin(x / 9 + y / 20) > 0.3) + rng.normal(0, 0.2, size)
    known = np.ones(size, bool)
    if kind == "scattered":
        known = rng.random(size) < 0.3
    elif kind == "holes":
        for _ in range(12):
            top, left = rng.integers(-9, height), rng.integers(-9, width)
            known[max(top, 0) : max(top + 20, 0), max(left, 0) : max(left + 30, 0)] = False
        known[:, : width // 8] = False
        disparity[~known] -= rng.uniform(-3, 6, (~known).sum())
    elif kind == "few":
        known = rng.random(size) < 0.003
    elif kind == "none":
        known[:] = False
    return disparity.astype(np.float32), known


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", ["scattered", "holes", "few", "none", "all"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_equals_the_oracle(size, kind, threads):
    (height, width), rng = size, np.random.default_rng(3)
    disparity, known = scattered(size, kind, rng)
    seen = rng.random(size) < 0.98
    probability, variance = (np.where(known, value, 0).astype(np.float32) for value in (0.7, 0.4))
    result = Maps(disparity=disparity.copy(), probability=probability.copy(), width=width)
    of = Map(values=variance.copy(), width=width)
    blocks, arena = known_blocks(-(-height // 8), -(-width // 8), Arena(0)), Arena(0)
    rules = fill_rules(bdis.Settings(variance=True), width)
    lines = for_members([fill_line(width, arena) for _ in range(threads)])
    mask = seen_of(seen)
    Threads(threads).run(lambda crew: kernels.fill_unknown(result, of, mask, blocks, rules, lines, True, crew))

    known &= seen
    filled, guess = naive_filled.fill(disparity.astype(float), known)
    guess = np.minimum(guess, (0.35 * width) ** 2)
    np.testing.assert_array_equal(result.disparity, np.where(known, disparity, filled).astype(np.float32))
    np.testing.assert_allclose(of.values, np.where(known, variance, guess), rtol=1e-4)
    expected = np.where(known, probability, naive_surface.probability_of(guess))
    np.testing.assert_allclose(result.probability, expected, atol=2e-5)
    if kind == "holes" and size[1] > 90:
        assert 0.002 < (filled != disparity).mean() < 0.2  # some are hidden


def square_before_wall():
    """A textured square 30 px before a wall, the disparity of the left image, and what only that shows."""
    rng = np.random.default_rng(0)
    wall, square = (np.clip(128 + 1.5 * (smooth_noise(200, 400, rng) - 128), 1, 255) for _ in range(2))
    left, right = wall[:, 20:340].copy(), wall[:, 30:350].copy()
    inside = np.s_[50:150, 140:220]
    left[inside], right[50:150, 100:180] = square[inside], square[inside]
    truth, only_left = np.full(left.shape, 10.0), np.zeros(left.shape, bool)
    truth[inside] = 40
    only_left[50:150, 110:140] = True
    left, right = (np.rint(np.clip(image + rng.normal(0, 1.5, image.shape), 1, 255)) for image in (left, right))
    return left.astype(np.uint8), right.astype(np.uint8), truth, only_left


def test_what_only_the_left_camera_sees_lies_with_the_background():
    """A tenth of it lay on a ramp to the foreground."""
    left, right, truth, only_left = square_before_wall()
    result = bdis.StereoMatcher(dense=True).match(left, right)
    assert (np.abs(result.disparity - truth)[only_left] < 1).mean() > 0.95


@pytest.mark.parametrize("scene", ["colon", "sphere"])
def test_hidden_pixels_of_rendered_scenes_lie_with_the_background(scene):
    """They lay on a ramp between both sides: half of them were off by more than 4.6 and 1.7 px."""
    pair = render(scene, 240, 320, seed=8602, disparity_px=20)
    is_filled = ~bdis.StereoMatcher().match(pair.left, pair.right).known
    dense = bdis.StereoMatcher(dense=True).match(pair.left, pair.right)
    is_hidden = is_filled & pair.occluded & (np.arange(320) >= pair.full_disparity)
    assert np.median(np.abs(dense.disparity - pair.full_disparity)[is_hidden]) < 1


def test_intervals_of_filled_pixels_are_no_wider_than_their_errors():
    """Where a tenth of a picture is filled 99.6 % lay inside, since the width was chosen where half of it is."""
    inside, widths = [], []
    for k, scene in enumerate(("tissue", "colon", "instruments", "plane", "sphere")):
        pair = render(scene, seed=8605 + k, disparity_px=30)
        is_filled = ~bdis.StereoMatcher().match(pair.left, pair.right).known
        dense = bdis.StereoMatcher(dense=True, variance=True).match(pair.left, pair.right)
        interval, error = dense.interval(0.95)[is_filled], np.abs(dense.disparity - pair.full_disparity)[is_filled]
        inside.append((error <= interval).mean())
        widths.append(np.median(interval))
    assert 0.93 < np.mean(inside) < 0.995, inside
    assert np.mean(widths) < 20, widths
    assert min(inside) > 0.85, inside


def test_what_is_filled_is_what_is_unknown_without():
    pair = render("instruments", 240, 320, seed=8610, disparity_px=20)
    sparse = bdis.StereoMatcher(variance=True).match(pair.left, pair.right)
    dense = bdis.StereoMatcher(variance=True, dense=True).match(pair.left, pair.right)
    known = sparse.known
    assert dense.known.all()
    ratio = dense.variance[known] / sparse.variance[known]
    assert np.median(np.abs(ratio - 1)) < 1e-2
    assert (np.abs(ratio - 1) < 0.5).mean() > 0.95
