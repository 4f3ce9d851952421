"""A network matches like any other method: images of any kind and size in, disparity and confidence out."""

import threading

import numpy as np
import pytest

from bdis import StereoResult
from tests.scenes import smooth_noise

from . import rule

torch = pytest.importorskip("torch", reason="networks need torch: make test-networks")

from bdis.evaluation.networks import matcher as module  # noqa: E402
from bdis.evaluation.networks import open_network  # noqa: E402
from bdis.evaluation.networks.layers import expected_disparity  # noqa: E402
from bdis.evaluation.networks.own_confidence import WITHIN_A_PX  # noqa: E402


@pytest.fixture(scope="module")
def small(weights):
    return open_network("gwcnet-g", weights["gwcnet-g"], 32)


def test_match_gives_what_the_network_computes(small):
    left, right = rule.images(64, 96)
    found = small.match(left, right)
    expected = rule.disparity(rule.network("gwcnet-g", 32), (left, right))
    assert isinstance(found, StereoResult)
    np.testing.assert_allclose(found.disparity[found.known], expected[found.known], atol=1e-4)
    x = np.arange(96)
    np.testing.assert_array_equal(found.known, (expected > 0) & (expected <= x) & (left.any(2)))
    assert found.coverage > 0.5


@pytest.mark.parametrize("size", [(32, 32), (33, 47), (64, 97), (65, 96)])
def test_images_of_any_size_are_padded_at_the_top_and_on_the_right(small, size):
    left, right = rule.images(*size)
    found = small.match(left, right)
    assert found.disparity.shape == found.probability.shape == found.variance.shape == size
    height, width = (-(-side // 16) * 16 for side in size)
    padded = [np.zeros((1, 3, height, width), np.float32) for _ in range(2)]
    for image, whole in zip((left, right), padded):
        whole[:, :, height - size[0] :, : size[1]] = rule.as_input(image).numpy()
    with torch.inference_mode():
        expected = rule.network("gwcnet-g", 32)(*map(torch.from_numpy, padded))[-1].disparity[0].numpy()
    expected = expected[height - size[0] :, : size[1]]
    np.testing.assert_allclose(found.disparity[found.known], expected[found.known], atol=1e-4)


def test_psmnet_below_256_px_explains_itself(weights):
    matcher = open_network("psmnet", weights["psmnet"], 16)
    for size in ((240, 320), (320, 240), (64, 64)):
        with pytest.raises(ValueError, match=rf"{size[1]}x{size[0]}, and psmnet takes 256x256 px or more: .*gwcnet-g"):
            matcher.match(*rule.images(*size))
    assert matcher.match(*rule.images(250, 256)).disparity.shape == (250, 256), "that is padded to 256"


def test_scale_and_range(weights, small):
    left, right = rule.images(64, 96)
    plain = small.match(left, right)
    larger = open_network("gwcnet-g", weights["gwcnet-g"], 32, disparity_scale=1.17).match(left, right)
    both = plain.known & larger.known
    np.testing.assert_allclose(larger.disparity[both], 1.17 * plain.disparity[both], rtol=1e-5)
    assert np.nanmax(open_network("gwcnet-g", weights["gwcnet-g"], 20).match(left, right).disparity) <= 20
    assert open_network("gwcnet-g", weights["gwcnet-g"], 20).network.max_disparity == 32
    assert open_network("gwcnet-g", weights["gwcnet-g"], 32, disparity_scale=0.5).network.max_disparity == 64


@pytest.mark.parametrize("kind", [np.uint16, np.float32, np.float64])
def test_all_kinds_of_pixels_are_the_same_picture(small, kind):
    left, right = rule.images(32, 48)
    left[0, 0], scale = 255, 257 if kind is np.uint16 else 1 / 255
    given = [(image * kind(scale)).astype(kind) for image in (left, right)]
    first, again = small.match(left, right), small.match(*given)
    np.testing.assert_allclose(again.disparity, first.disparity, atol=0.01)


def test_grey_and_transparent_images_are_taken(small):
    grey = smooth_noise(32, 48, np.random.default_rng(0))
    as_grey = small.match(grey, grey).disparity
    as_rgb = small.match(np.repeat(grey[..., None], 3, 2), np.repeat(grey[..., None], 3, 2)).disparity
    alpha = np.dstack([grey, grey, grey, np.full_like(grey, 9)])
    np.testing.assert_array_equal(as_grey, as_rgb)
    np.testing.assert_array_equal(small.match(alpha, alpha).disparity, as_rgb)


def test_black_pixels_are_unknown_and_wrong_pairs_are_told(small):
    left, right = rule.images(48, 64)
    left[:16] = 0
    assert not small.match(left, right).known[:16].any()
    with pytest.raises(ValueError, match="left is 64x48 but right is 60x48"):
        small.match(left, right[:, :60])
    with pytest.raises(ValueError, match="NaN"):
        small.match(np.full((48, 64), np.nan), np.ones((48, 64)))


def test_confidence_is_the_width_of_the_distribution(small, weights):
    evidence = torch.full((1, 1, 4, 2, 2), -1e3)
    evidence[:, :, 1] = 0
    narrow = expected_disparity(evidence, 16, (8, 8), align_corners=False)
    wide = expected_disparity(evidence * 0, 16, (8, 8), align_corners=False)
    assert float(narrow.variance.max()) < 2
    assert float(wide.variance[0, 0, 0]) == pytest.approx((16**2 - 1) / 12, rel=1e-4), "of 16 equal ones"
    found = small.match(*rule.images(48, 64))
    known = found.known
    assert (found.variance[known] >= WITHIN_A_PX).all()
    assert np.isnan(found.variance[~known]).all()
    assert (found.probability[~known] == 0).all()
    order = np.argsort(found.variance[known])
    assert (np.diff(found.probability[known][order]) <= 1e-6).all(), "the wider, the less sure"
    without = open_network("gwcnet-g", weights["gwcnet-g"], 32, confidence="assessed").match(*rule.images(48, 64))
    assert without.variance is None
    np.testing.assert_array_equal(without.probability, without.known)


def test_progress_counts_all_steps(small, weights):
    for matcher, size in ((small, (32, 48)), (open_network("psmnet", weights["psmnet"], 16), (256, 256))):
        seen = []
        matcher.match(*rule.images(*size), progress=lambda done, total: seen.append((done, total)))
        total = matcher.network.steps
        assert seen == [(done, total) for done in range(1, total + 1)]
    assert not any(part._forward_hooks for part in small.network.children())


def test_too_little_memory_is_told_before_it_starts(small, monkeypatch):
    asked = []

    def no_room(megabytes, purpose):
        asked.append(megabytes)
        raise MemoryError(f"bdis needs about {megabytes} MB of memory {purpose}")

    monkeypatch.setattr(module, "check_room", no_room)
    with pytest.raises(MemoryError, match="MB of memory to match 64x48 images with gwcnet-g"):
        small.match(*rule.images(48, 64))
    assert asked == [small.memory_bytes(48, 64) // 1_000_000]


def test_the_number_of_threads_of_others_stays_and_matches_take_turns(small):
    torch.set_num_threads(1)
    pair = rule.images(48, 64)
    expected = small.match(*pair).disparity
    found = []
    workers = [threading.Thread(target=lambda: found.append(small.match(*pair).disparity)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert torch.get_num_threads() == 1
    for each in found:
        np.testing.assert_array_equal(each, expected)
    assert len(found) == 3
