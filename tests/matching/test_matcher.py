"""The whole pipeline against the oracle, and what a matcher promises about itself."""

import gc
import tracemalloc

import numpy as np
import pytest

import bdis
from tests import naive
from tests.scenes import warped_pair

SIZES = [(96, 128), (97, 131), (64, 150), (33, 47), (32, 32)]
SETTINGS = [
    ("paper", {}),
    ("paper-2021", {}),
    ("dis", {}),
    ("fast", {}),
    ("balanced", {}),
    ("accurate", {}),
    ("balanced", {"smoothing": 0.0, "slanted": False}),
    ("balanced", {"start": "zero", "finest_level": 2, "min_probability": 0.1}),
    ("balanced", {"slanted": False, "smoothing_rounds": 0, "min_disparity": -4.0, "max_disparity": 9.0}),
    ("paper", {"sigma_spatial": None}),
    ("paper", {"propagate": False, "level_weights": "2^n"}),
    ("fast", {"patch_size": 12}),
    ("fast", {"patch_size": 4, "overlap": 0.5, "window_step": 0.7}),
    ("fast", {"patch_size": 6, "overlap": 0.9, "newton": False}),
    ("fast", {"patch_size": 16, "overlap": 0.7, "sigma_r": 4.0}),
    ("fast", {"finest_level": 2, "level_weights": "equal"}),
    ("fast", {"finest_level": 0}),
    ("balanced", {"finest_level": 0}),
    ("accurate", {"finest_level": 0}),
    ("dis", {"finest_level": 0}),
    ("fast", {"finest_level": 0, "coarsest_level": 0, "patch_size": 12}),
    ("fast", {"min_disparity": -4.0, "max_disparity": 9.0, "segment_filter": False}),
]


def with_borders(left, right):
    """Black where a rectified image has nothing: along the sides, at the top and in a hole."""
    left, right = left.copy(), right.copy()
    left[:, :9] = 0
    left[:5] = 0
    right[:, -7:] = 0
    right[20:24, 15:25] = 0
    return left, right


@pytest.mark.parametrize("black", [False, True], ids=["seen", "borders"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("preset", "changes"), SETTINGS, ids=str)
def test_equals_the_oracle(preset, changes, size, black):
    left, right, _ = warped_pair(*size, seed=1)
    if black:
        left, right = with_borders(left, right)
    matcher = bdis.StereoMatcher(preset, **changes)
    if min(size) <= 2 ** (matcher.settings.finest_level) * (matcher.settings.patch_size - 1):
        pytest.skip("no patch fits the finest level of this size; see test_too_small_for_a_patch_says_so")
    result = matcher.match(left, right)
    disparity, probability, *_ = naive.match(left, right, matcher.settings)
    if matcher.settings.smoothing:
        # The second search sees a warped image in whole grey steps; one step more or less moves a patch a little.
        known = ~np.isnan(disparity)
        assert np.mean(known != result.known) < 5e-3
        known &= result.known
        if known.any():
            error = np.abs(result.disparity - disparity)[known]
            assert np.percentile(error, 99) < 5e-3
            assert np.mean(error >= 0.1) <= (
                1e-3 if naive.has_labels(matcher.settings) else 0
            )  # a label or the surface
            assert np.percentile(np.abs(result.probability - probability)[known], 99) < 2e-3
        return
    np.testing.assert_array_equal(np.isnan(result.disparity), np.isnan(disparity))
    # Float32 against float64; a search that stops one step earlier or later differs by its last step at most.
    np.testing.assert_allclose(result.disparity, disparity, atol=2e-3)
    known = ~np.isnan(disparity)
    assert not known.any() or np.percentile(np.abs(result.disparity - disparity)[known], 99) < 1e-4
    np.testing.assert_allclose(result.probability, probability, atol=1e-4)


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("finest_level", [0, 1])
def test_colour_equals_the_oracle(finest_level, channels):
    rng = np.random.default_rng(5)
    left, right, _ = warped_pair(70, 91, seed=2)
    tint = rng.uniform(0.4, 1, (1, 1, channels))
    left, right = ((image[..., None] * tint).astype(np.uint8) for image in (left, right))
    matcher = bdis.StereoMatcher("fast", finest_level=finest_level)
    disparity, *_ = naive.match(left, right, matcher.settings)
    np.testing.assert_allclose(matcher.match(left, right).disparity, disparity, atol=1e-3)


def test_too_small_for_a_patch_says_so():
    image = np.full((40, 40), 9, np.uint8)
    with pytest.raises(ValueError, match="40x40.*patch_size 16.*finest_level 3"):
        bdis.StereoMatcher("fast", patch_size=16, finest_level=3).match(image, image)


def traced_match(matcher, left, right):
    """The result, and the most bytes allocated at once on the way."""
    gc.collect()
    tracemalloc.start()
    try:
        result = matcher.match(left, right)
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("finest_level", [0, 1])
def test_nothing_is_allocated_after_the_first_frame_but_the_result(finest_level):
    left, right, _ = warped_pair(240, 320, seed=3)
    matcher = bdis.StereoMatcher("fast", finest_level=finest_level)
    matcher.match(left, right)
    result, peak = traced_match(matcher, left, right)
    returned = result.disparity.nbytes + result.probability.nbytes
    assert peak < returned + 40_000  # Python's own frames, tuples and futures


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        ({}, 100),
        ({"preset": "accurate", "variance": True}, 150),
        ({"label_level": None, "finest_level": 0, "variance": True}, 150),
        ({"preset": "fast", "finest_level": 0}, 65),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float64])
def test_bytes_of_workspace_a_pixel(kind, settings, most):
    left, right, _ = warped_pair(480, 640, seed=4)
    left, right = ((image.astype(np.float64) / 255).astype(kind) if kind == np.float64 else image.astype(kind)
                   for image in (left, right))  # fmt: skip
    matcher = bdis.StereoMatcher(**settings)
    matcher.match(left[:64, :64], right[:64, :64])
    result, peak = traced_match(matcher, left, right)
    maps = result.disparity, result.probability, result.variance
    extra = peak - sum(values.nbytes for values in maps if values is not None)
    most += 0 if kind == np.uint8 else 14  # images of other kinds are made grey first
    assert extra < most * left.size


def test_results_share_memory_only_with_results_nobody_holds(monkeypatch):
    monkeypatch.setattr("bdis.matching.memory.LARGE_PIXELS", 0)
    monkeypatch.setattr("bdis.matching.memory.KEPT_PIXELS", 0)
    left, right, _ = warped_pair(64, 96, seed=6)
    matcher = bdis.StereoMatcher("fast")
    view = matcher.match(left, right).disparity[10:20]
    copies = [view.copy()]
    held = [matcher.match(right, left) for _ in range(5)]
    addresses = {result.disparity.ctypes.data for result in held}
    assert len(addresses) == 5
    np.testing.assert_array_equal(view, copies[0])
    del held, view
    again = {matcher.match(left, right).disparity.ctypes.data for _ in range(6)}
    assert len(again) <= 2


@pytest.mark.parametrize(
    "look",
    [
        np.ndarray.view, np.transpose, np.diagonal, memoryview, iter,
        lambda values: values.base,
        lambda values: values.ctypes,
        lambda values: values.view(np.uint8)[5:7],
        lambda values: values.view(np.recarray),
        lambda values: values.reshape(-1)[::2],
        lambda values: np.asarray(memoryview(values))[4:],
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["disparity", "probability", "variance"])
def test_a_result_is_not_overwritten_while_anybody_looks_at_a_part_of_it(monkeypatch, name, look):
    monkeypatch.setattr("bdis.matching.memory.KEPT_PIXELS", 0)
    left, right, _ = warped_pair(64, 96, seed=6)
    matcher = bdis.StereoMatcher("fast", variance=True)
    values = getattr(matcher.match(left, right), name)
    begin = values.base.ctypes.data
    end = begin + values.base.nbytes
    looking = look(values)
    del values
    for _ in range(4):
        assert not begin <= matcher.match(right, left).disparity.ctypes.data < end
    del looking


@pytest.mark.parametrize("finest_level", [0, 1])
def test_streamed_results_equal_others(monkeypatch, finest_level):
    """Large results are written past the caches; the same picture in the other way gives the same bits."""
    left, right, _ = warped_pair(96, 128, seed=7)
    settings = {"preset": "fast", "variance": True, "finest_level": finest_level}
    plain = bdis.StereoMatcher(**settings).match(left, right)
    monkeypatch.setattr("bdis.matching.memory.LARGE_PIXELS", 0)
    monkeypatch.setattr("bdis.matching.memory.KEPT_PIXELS", 0)
    matcher = bdis.StereoMatcher(**settings)
    streamed = matcher.match(left, right)
    assert matcher._stages.enlarge._memory.streaming
    for name in ("disparity", "probability", "variance"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(streamed, name))
    np.testing.assert_array_equal(plain.probability, streamed.probability)
