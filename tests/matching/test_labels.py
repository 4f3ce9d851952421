"""The labels against their oracle, step by step and to the last bit, and what must hold of them for any picture."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import bdis
from bdis.matching.fusion import empty_maps
from bdis.matching.kernels import labels as kernels
from bdis.matching.kernels.layout import PAD
from bdis.matching.kernels.pyramid import Image, Seen
from bdis.matching.labels import JUMP, Labels
from bdis.matching.memory import Arena, SharedMemory
from bdis.matching.stages import Stages
from bdis.vector.crew import Threads
from tests import naive_labels
from tests.matching.records import map_of, with_padding
from tests.scenes import smooth_noise, warped_pair

SIZES = [(96, 128), (97, 131), (33, 32), (32, 33), (33, 47), (50, 200), (21, 17)]
NUMBER, WEIGHT = 1, 0.6  # of the level


class Case(NamedTuple):
    """What the labels of a level are computed from."""

    images: list[np.ndarray]  # left and right, whole numbers
    seen: list[np.ndarray]  # left and right, bool
    coarser: np.ndarray  # float32
    settings: bdis.Settings

    @property
    def shape(self) -> tuple[int, ...]:
        return self.images[0].shape

    @property
    def limits(self) -> list[int]:
        return naive_labels.limits_of(self.settings, NUMBER, self.shape[1])

    @property
    def reference(self) -> np.ndarray:
        """What the oracle says."""
        return naive_labels.solve(
            *self.images, *self.seen, self.coarser, *self.limits, self.settings.intensity_scale,
            self.settings.label_noise,
        )  # fmt: skip


def case(size: tuple[int, int], kind: str = "scene", hidden: bool = False, seed: int = 0, **settings: Any) -> Case:
    """A pair of ``kind`` and a coarser level with errors, jumps and holes."""
    rng = np.random.default_rng([*size, seed])
    chosen = bdis.Settings(**settings)
    left, right, truth = warped_pair(*size, seed=3)
    if kind == "noise":
        left, right = (rng.choice([1, 255], size) for _ in range(2))
    elif kind == "even":
        left = right = np.full(size, 100)
    disparity = truth + np.where(np.arange(size[1]) > size[1] // 2, 9, 0)
    coarser = disparity[::2, ::2] / 2 + rng.normal(0, 0.5, (-(-size[0] // 2), -(-size[1] // 2)))
    coarser[rng.random(coarser.shape) < 0.05] += 30
    coarser[rng.random(coarser.shape) < 0.2] = np.nan
    coarser[: len(coarser) // 4] = np.nan
    coarser[-3:] = np.nan
    masks = [rng.random(size) < 0.9 if hidden else np.ones(size, bool) for _ in range(2)]
    images = [chosen.intensity_scale * image.astype(int) for image in (left, right)]
    return Case(images, masks, coarser.astype(np.float32), chosen)


def solved(given: Case) -> Labels:
    """The stage after one run."""
    width, threads = given.shape[1], given.settings.threads
    images = [Image(pixels=with_padding(image.astype(np.int16)), width=width) for image in given.images]
    seen = [Seen(mask=with_padding(mask.astype(np.uint8)), width=width) for mask in given.seen]
    arena = Arena(1 << 20)
    maps, shared = empty_maps(*given.shape, arena), SharedMemory(0, arena)
    stage = Labels(images, seen, map_of(given.coarser), maps, NUMBER, WEIGHT, given.settings, shared)
    has_hidden = not all(mask.all() for mask in given.seen)
    Threads(threads).run(lambda crew: stage.run(has_hidden, crew))
    return stage


def found_by(stage: Labels) -> np.ndarray:
    return stage.found.values[:, : stage.found.width]


CHANGES: list[dict[str, Any]] = [
    {},
    {"min_disparity": -9.0, "max_disparity": 20.0},
    {"min_disparity": 12.0, "max_disparity": 13.5},
    {"min_disparity": -60.0, "max_disparity": -20.0},
    {"patch_size": 12},  # another scale of the grey values
    {"label_noise": 0.0},
    {"label_noise": 3.0},
]


@pytest.mark.parametrize("hidden", [False, True], ids=["seen", "masks"])
@pytest.mark.parametrize("kind", ["scene", "noise", "even"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_step(size, kind, hidden):
    assert_every_step(case(size, kind, hidden))


@pytest.mark.parametrize("hidden", [False, True], ids=["seen", "masks"])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_every_step_within_limits(changes, hidden):
    assert_every_step(case((51, 77), "scene", hidden, **changes))


def assert_every_step(given: Case) -> None:
    """All that the stage leaves in its buffers is what the oracle says."""
    stage, shape, scale = solved(given), given.shape, given.settings.intensity_scale
    images, costs, limits = stage._images, stage._costs, given.limits
    height, width = shape
    left, right = given.images

    both_codes = [naive_labels.codes(image) for image in (left, right)]
    for computed, expected in zip((images.codes_left, images.codes_right), both_codes):
        bits = computed.view(np.uint16)[..., None] >> np.arange(16) & 1
        np.testing.assert_array_equal(bits[:, PAD : PAD + width], expected)
        np.testing.assert_array_equal(computed, with_padding(computed[:, PAD : PAD + width]))
    evidence = naive_labels.evidence(left, given.seen[0], scale, given.settings.label_noise)
    np.testing.assert_array_equal(images.evidence[:, :width], evidence)
    jumps = naive_labels.jumps(left, scale)
    np.testing.assert_array_equal(images.jump_right[:, : width - 1], jumps[0][:, :-1])
    np.testing.assert_array_equal(images.jump_down[:-1, :width], jumps[1][:-1])

    filled = naive_labels.fill_from_background(given.coarser)
    np.testing.assert_array_equal(stage._filled.values[:, PAD : PAD + filled.shape[1]], filled)
    offers = naive_labels.offered(filled, *limits)
    np.testing.assert_array_equal(costs.tops[:, : offers.shape[1]], offers)
    tops = naive_labels.tops_of(offers, shape)
    np.testing.assert_array_equal(costs.top[:, :width], tops)

    bits = naive_labels.differing_bits(*both_codes, tops)
    own = naive_labels.costs_of(bits, evidence, tops, given.seen[1], *limits)
    np.testing.assert_array_equal(costs.costs.reshape(height, width, 16), own)
    rightward, leftward, downward, upward = naive_labels.messages(own, tops, *jumps)
    np.testing.assert_array_equal(costs.totals.reshape(height, width, 16), rightward + leftward + downward)
    totals = rightward + leftward + downward + upward
    np.testing.assert_array_equal(costs.sums.reshape(2, width, 16)[: min(height, 2)], totals[:2])  # of the last rows
    choice = naive_labels.choose(totals, tops)
    np.testing.assert_array_equal(costs.label[:, :width], choice.label)
    np.testing.assert_array_equal(costs.least[:, :width], choice.least)
    np.testing.assert_array_equal(costs.chosen[:, PAD : PAD + width], choice.disparity)
    np.testing.assert_array_equal(found_by(stage), given.reference)
    counts = np.where(np.isnan(given.reference), 0, np.float32(WEIGHT / 2))
    np.testing.assert_array_equal(stage.maps.probability[:, :width], counts)


@pytest.mark.parametrize("hidden", [False, True], ids=["seen", "masks"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_result_does_not_depend_on_the_number_of_threads(size, hidden):
    given = case(size, hidden=hidden)
    alone = found_by(solved(given))
    for threads in (2, 3, 7):
        settings = bdis.Settings(threads=threads)
        np.testing.assert_array_equal(found_by(solved(given._replace(settings=settings))), alone)


def test_no_sum_of_costs_overflows():
    """Totals are int16, and claims hold them above sixteen bits of a disparity."""
    assert 4 * (kernels.FORBIDDEN + JUMP) < 2**15
    assert kernels.NEVER > kernels.FORBIDDEN + JUMP
    assert kernels.NEVER + JUMP + kernels.FORBIDDEN < 2**15


@pytest.mark.parametrize("limits", [(-1e5, 1e5), (-99999.0, -99990.0), (99990.0, 99999.0)], ids=str)
def test_limits_far_beyond_the_image(limits):
    """They do not fit int16."""
    smallest, largest = (float(np.clip(limit, -99999, 99999)) for limit in limits)
    given = case((40, 64), min_disparity=smallest, max_disparity=largest)
    found = found_by(solved(given))
    np.testing.assert_array_equal(found, given.reference)
    assert np.isnan(found).all() == (largest - smallest < 100)


def test_a_wide_picture_with_large_disparities():
    rng = np.random.default_rng(2)
    shift, size = 3300, (8, 3840)
    picture = smooth_noise(size[0], size[1] + shift, rng).astype(int)
    left, right = picture[:, : size[1]], picture[:, shift:]
    coarser = np.full((4, 1920), shift / 2, np.float32)
    ones = np.ones(size, bool)
    given = Case([16 * left, 16 * right], [ones, ones], coarser, bdis.Settings())
    found = found_by(solved(given))
    np.testing.assert_array_equal(found, given.reference)
    assert np.mean(np.abs(found[:, shift + 8 :] - shift) < 0.5) > 0.95
    assert np.isnan(found[:, : shift - 16]).mean() > 0.9


def test_pictures_whose_places_do_not_fit_int16_are_refused():
    """Before anything of their size is allocated."""
    with pytest.raises(ValueError, match=r"32001 px wide; label_level 0 on finest_level 1 is for at most 32000 px"):
        Stages(32, 32001, bdis.Settings(label_level=0))
    with pytest.raises(ValueError, match=r"64001 px wide; label_level 3 on finest_level 1 is for at most 64000 px"):
        Stages(32, 64001, bdis.Settings(label_level=3))


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_nothing_is_known_of_the_coarser_level(changes):
    """The labels begin at 0, or at the limit next to it."""
    given = case((40, 64), **changes)
    given = given._replace(coarser=np.full_like(given.coarser, np.nan))
    np.testing.assert_array_equal(found_by(solved(given)), given.reference)


def test_small_disparities_are_found_from_nothing():
    given = case((40, 64))
    images = [given.images[1], np.roll(given.images[1], -5, 1)]
    nothing = np.full_like(given.coarser, np.nan)
    assert np.nanmedian(found_by(solved(given._replace(images=images, coarser=nothing)))) == 5


@pytest.mark.parametrize("limits", [{"min_disparity": 10.0, "max_disparity": 30.0}, {"max_disparity": 10.0}], ids=str)
def test_a_disparity_at_the_limit_stays_there(limits):
    """What is forbidden beyond does not push it away, and no fraction leads beyond the limit."""
    picture = 16 * smooth_noise(40, 80, np.random.default_rng(4)).astype(int)
    left, right = picture[:, :64], picture[:, 5:69]
    ones = np.ones(left.shape, bool)
    given = Case([left, right], [ones, ones], np.full((20, 32), 2.5, np.float32), bdis.Settings(**limits))
    found = found_by(solved(given))
    assert abs(np.nanmedian(found) - 5) < 0.1
    beyond = found < 5 if "min_disparity" in limits else found > 5
    assert not beyond.any()


def test_what_one_camera_does_not_see_is_unknown():
    """Beside a near object on the left; in the filled map it lies with the background."""
    rng = np.random.default_rng(5)
    far, near = (16 * smooth_noise(64, 128, np.random.default_rng(seed)).astype(int) for seed in (6, 7))
    left, right = far.copy(), np.roll(far, -3, 1)
    left[16:48, 50:80], right[16:48, 50 - 9 : 80 - 9] = near[16:48, 50:80], near[16:48, 50:80]
    coarser = np.full((32, 64), 1.5, np.float32)
    coarser[8:24, 25:40] = 4.5
    ones = np.ones(left.shape, bool)
    given = Case([left, right], [ones, ones], coarser + rng.normal(0, 0.1, coarser.shape), bdis.Settings())
    found = found_by(solved(given))
    assert np.isnan(found[20:44, 45:49]).mean() > 0.8
    assert np.abs(found[20:44, 52:78] - 9).max() < 0.5
    assert np.abs(found[20:44, 84:120] - 3).max() < 0.5
    assert np.median(np.abs(naive_labels.fill_from_background(found)[20:44, 45:49] - 3)) < 1
