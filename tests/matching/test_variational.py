"""The variational refinement against its oracle, and what must hold of it for any picture.

The guard-page test runs in a child process; to see one case again, under a debugger if need be:

    python -m tests.matching.test_variational SEED
"""

import sys
from typing import Any

import numpy as np
import pytest

import bdis
from bdis.matching.kernels.pyramid import Image, Seen
from bdis.matching.memory import Arena
from bdis.matching.variational import VariationalRefinement, whole_spans
from bdis.synthetic import render
from bdis.vector.crew import Threads
from tests import guard_pages, naive_variational
from tests.matching.records import map_of, with_padding
from tests.matching.test_memory_safety import guard_stages
from tests.scenes import smooth_noise, warped_pair

SIZES = [(40, 64), (97, 131), (64, 150), (33, 47), (5, 33), (9, 16), (1, 70), (50, 1)]
SCALE = bdis.Settings().intensity_scale
CASES = 200


def stage(pair, disparity, masks=None, **settings: Any) -> VariationalRefinement:
    """A refinement of ``disparity`` (px) for a pair in grey levels."""
    width = disparity.shape[1]
    stored = [np.rint(SCALE * image.astype(float)).astype(np.int16) for image in pair]
    images = [Image(pixels=with_padding(image), width=width) for image in stored]
    masks = masks or [np.ones(disparity.shape, bool)] * 2
    seen = [Seen(mask=with_padding(mask.astype(np.uint8)), width=width) for mask in masks]
    chosen = bdis.Settings(**{"refinement_rounds": 1, "refinement_smoothing": 36.0, **settings})
    return VariationalRefinement(
        *images, *seen, map_of(disparity), whole_spans(*disparity.shape, Arena(0)), chosen, Arena(1 << 20)
    )


def refined(pair, disparity, masks=None, **settings: Any) -> np.ndarray:
    """The refined disparity."""
    made = stage(pair, disparity, masks, **settings)
    Threads(settings.get("threads", 1)).run(lambda crew: made.run(masks is not None, crew))
    return made.disparity.values[:, : disparity.shape[1]]


def oracle(pair, disparity, masks=None, rounds=1, strength=36.0, follows_slopes=True):
    left, right = (image.astype(float) for image in pair)
    masks = masks or [np.ones(disparity.shape, bool)] * 2
    start = disparity.astype(np.float32).astype(float)
    return naive_variational.refine(left, right, *masks, start, rounds, strength, follows_slopes)


def random_masks(shape, rng):
    return [rng.random(shape) < 0.95 for _ in range(2)]


def assert_close(computed, reference, rounds):
    """The inverses in weights and bonds are right to 0.13 %, and each round carries on what the last one left."""
    np.testing.assert_array_equal(np.isnan(computed), np.isnan(reference))
    known = ~np.isnan(reference)
    error = np.abs(computed - reference)[known]
    if error.size:
        assert np.percentile(error, 95) < (3e-3 if rounds == 1 else 0.03)
    if rounds == 1:
        assert not error.size or error.max() < 0.02


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("hidden", [False, True], ids=["seen", "masks"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_random_pictures(size, hidden, rounds):
    rng = np.random.default_rng([*size, hidden])
    left, right, truth = warped_pair(*size, seed=3)
    masks = random_masks(size, rng) if hidden else None
    disparity = truth + rng.normal(0, 0.5, size) + np.where(np.arange(size[1]) > size[1] // 2, 3, 0)
    computed = refined((left, right), disparity, masks, refinement_rounds=rounds)
    assert_close(computed, oracle((left, right), disparity, masks, rounds), rounds)


@pytest.mark.parametrize("scene", ["tissue", "instruments"])
@pytest.mark.parametrize("size", [(96, 128), (75, 101)], ids=str)
def test_rendered_pictures(size, scene):
    pair = render(scene, *size, seed=5, disparity_px=12, noise=1.0)
    images = [image[..., :3].mean(-1) if image.ndim == 3 else image for image in (pair.left, pair.right)]
    images = [np.rint(image) for image in images]
    rng = np.random.default_rng(7)
    truth = pair.full_disparity
    disparity = truth + rng.normal(0, 0.5, size)
    for rounds in (1, 3):
        computed = refined(images, disparity, refinement_rounds=rounds)
        assert_close(computed, oracle(images, disparity, rounds=rounds), rounds)
    before, after = (np.median(np.abs(values - truth)) for values in (disparity, computed))
    assert after < before / 2


def test_each_round_starts_where_the_last_one_ended():
    left, right, truth = warped_pair(40, 64, seed=3)
    disparity = once = truth + np.random.default_rng(0).normal(0, 0.5, truth.shape)
    for _ in range(3):  # slopes are those of the map at the begin of the first round
        once = refined((left, right), once, refinement_slopes=False)
    together = refined((left, right), disparity, refinement_rounds=3, refinement_slopes=False)
    np.testing.assert_array_equal(together, once)


@pytest.mark.parametrize("strength", [0.001, 0.5, 10000.0])
def test_other_strengths(strength):
    left, right, truth = warped_pair(40, 64, seed=3)
    disparity = truth + np.random.default_rng(0).normal(0, 0.5, truth.shape)
    computed = refined((left, right), disparity, refinement_smoothing=strength)
    assert_close(computed, oracle((left, right), disparity, strength=strength), 1)


@pytest.mark.parametrize("follows_slopes", [False, True])
@pytest.mark.parametrize("size", [(97, 131), (71, 66), (36, 37), (32, 32)], ids=str)
def test_slopes(size, follows_slopes):
    left, right, truth = warped_pair(*size, seed=3)
    y, x = np.mgrid[: size[0], : size[1]]
    disparity = truth + 0.12 * x - 0.08 * y + np.where(x + y > 70, 4, 0)
    disparity += np.random.default_rng(0).normal(0, 0.1, size)
    disparity[10:14, 20:40] = np.nan
    computed = refined((left, right), disparity, refinement_slopes=follows_slopes)
    assert_close(computed, oracle((left, right), disparity, follows_slopes=follows_slopes), 1)


def test_a_slope_without_texture_stays_one():
    flat = np.full((80, 120), 100.0)
    y, x = np.mgrid[:80, :120]
    slope = 4 + 0.05 * x + 0.03 * y
    disparity = slope + np.random.default_rng(5).uniform(-0.3, 0.3, flat.shape)
    errors = {
        follows: np.abs(refined((flat, flat), disparity, refinement_rounds=5, refinement_slopes=follows) - slope)
        for follows in (False, True)
    }
    assert errors[True].mean() < errors[False].mean() / 2


@pytest.mark.parametrize("hidden", [False, True], ids=["seen", "masks"])
@pytest.mark.parametrize("size", [*SIZES, (13, 40), (30, 40)], ids=str)
def test_result_does_not_depend_on_the_number_of_threads(size, hidden):
    rng = np.random.default_rng(1)
    left, right, truth = warped_pair(*size, seed=3)
    masks = random_masks(size, rng) if hidden else None
    disparity = truth + rng.normal(0, 0.5, size)
    disparity[rng.random(size) < 0.02] = np.nan
    alone = refined((left, right), disparity, masks, refinement_rounds=3)
    for threads in (2, 3, 7):
        several = refined((left, right), disparity, masks, refinement_rounds=3, threads=threads)
        np.testing.assert_array_equal(several, alone)


def test_a_shifted_picture_converges_to_its_shift():
    picture = smooth_noise(64, 140, np.random.default_rng(4)).astype(float)
    shift = 5
    left, right = picture[:, 10 : 10 + 110], picture[:, 10 + shift : 10 + shift + 110]
    y, x = np.mgrid[:64, :110]
    disparity = shift + 0.7 * np.sin(x / 5) * np.cos(y / 7)
    values = refined((left, right), disparity, refinement_rounds=10)
    inside = np.s_[:, shift + 3 :]
    error = np.abs(values[inside] - shift)
    assert np.median(error) < 0.01
    assert np.percentile(error, 99) < 0.1


def test_a_picture_without_texture_is_smoothed():
    flat = np.full((40, 64), 100.0)
    disparity = 6 + np.random.default_rng(5).uniform(-0.5, 0.5, flat.shape)
    values = refined((flat, flat), disparity, refinement_rounds=10)
    assert values.std() < disparity.std() / 3


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99, 1.0])
def test_unknown_pixels_stay_unknown_and_do_not_spread(share):
    rng = np.random.default_rng(2)
    left, right, truth = warped_pair(50, 77, seed=3)
    disparity = truth + rng.normal(0, 0.3, truth.shape)
    disparity[rng.random(truth.shape) < share] = np.nan
    values = refined((left, right), disparity, refinement_rounds=3)
    np.testing.assert_array_equal(np.isnan(values), np.isnan(disparity))
    assert_close(refined((left, right), disparity), oracle((left, right), disparity), 1)


def test_absurd_disparities_do_not_spread():
    left, right, truth = warped_pair(50, 77, seed=3)
    disparity = truth.copy()
    disparity[20, 30], disparity[25, 40], disparity[30, 50] = np.inf, -np.inf, 3e38
    values = refined((left, right), disparity, refinement_rounds=3)
    absurd = ~(np.abs(disparity) < 1e6)
    np.testing.assert_array_equal(values[absurd], disparity[absurd].astype(np.float32))
    assert np.abs(values - truth)[~absurd].max() < 1
    disparity[:] = np.random.default_rng(0).uniform(-9e5, 9e5, truth.shape)
    assert np.isfinite(refined((left, right), disparity, refinement_rounds=3)).all()


def test_no_rounds_change_nothing():
    left, right, truth = warped_pair(30, 40, seed=3)
    values = refined((left, right), truth, refinement_rounds=0)
    np.testing.assert_array_equal(values, truth.astype(np.float32))


# --- Memory -----------------------------------------------------------------------------------------------------------


def run_case(seed: int) -> None:
    """Refine a random map with everything at guard pages and all scratch full of garbage."""
    rng = np.random.default_rng(seed)
    size = tuple(int(side) for side in rng.choice([1, 2, 7, 16, 17, 31, 32, 33, 47, 64, 65, 96, 127], 2))
    threads, hidden = int(rng.integers(1, 4)), bool(rng.integers(2))
    edge = str(rng.choice(["end", "start"]))
    print(f"seed {seed}: {size=} {threads=} {hidden=} guard at the {edge}", flush=True)
    pair = [rng.integers(0, 256, size).astype(float) for _ in range(2)]
    disparity = rng.uniform(-20, size[1] + 20, size)
    disparity[rng.random(size) < 0.1] = rng.choice([np.nan, np.inf, 1e30])
    masks = random_masks(size, rng) if hidden else None
    expected = refined(pair, disparity, masks, refinement_rounds=3)

    made = stage(pair, disparity, masks, refinement_rounds=3, threads=threads)
    given = [*made._images, *made._seen, made.disparity]
    arrays = [record.pixels if isinstance(record, Image) else getattr(record, "mask", None) for record in given[:4]]
    arrays.append(made.disparity.values)
    arena = guard_pages.Arena(edge)
    guard_stages(made, arena, rng)
    for record, array in zip(given, arrays):  # only scratch is garbage
        name = next(name for name in ("pixels", "mask", "values") if name in record.fields)
        getattr(record, name)[...] = array
    made._settings.spans[...] = 0, size[1]
    Threads(threads).run(lambda crew: made.run(hidden, crew))
    assert arena.is_intact(), "the kernel wrote beside an array"
    np.testing.assert_array_equal(made.disparity.values[:, : size[1]], expected)


@pytest.mark.skipif(bool(guard_pages.MISSING), reason=guard_pages.MISSING or "-")
def test_no_access_outside_arrays():
    guard_pages.assert_finished(guard_pages.run_child("tests.matching.test_variational", 0, CASES), CASES)


if __name__ == "__main__":
    guard_pages.main(run_case, sys.argv[1:])
