"""Video mode: less flicker, and never a memory of what is no longer there."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import bdis
from bdis.synthetic.renderer import render


def play(frames, **settings):
    """Results of a matcher that is given its last one."""
    matcher, result, results = bdis.StereoMatcher(**settings), None, []
    for frame in frames:
        result = matcher.match(frame.left, frame.right, previous=result)
        results.append(result)
    return results


def exposures(scene, count=12, **options):
    """A static scene with new sensor noise in every frame."""
    pair = render(scene, 240, 320, noise=2.0, disparity_px=20, **options)
    return [pair.with_noise(2.0, noise_seed=k) for k in range(count)]


def flicker(results):
    """Temporal standard deviation in px, over the pixels that are always there."""
    stack = np.stack([result.disparity for result in results[4:]])
    always = np.isfinite(stack).all(0)
    return stack[:, always].std(0).mean()


def mean_error(results, frames):
    """px, over all frames but the first."""
    return np.mean([np.nanmean(np.abs(r.disparity - f.disparity)) for r, f in zip(results[1:], frames[1:])])


def assert_known_alike(video, fresh):
    """Averaging neither adds pixels nor takes any away, and says nothing new about how sure they are."""
    for one, other in zip(video, fresh):
        np.testing.assert_array_equal(one.known, other.known)
        np.testing.assert_array_equal(one.probability, other.probability)


@pytest.mark.parametrize("scene", ["tissue", "colon", "instruments"])
def test_a_static_scene_flickers_less(scene):
    frames = exposures(scene, seed=5)
    matcher = bdis.StereoMatcher()
    fresh = [matcher.match(frame.left, frame.right) for frame in frames]
    video = play(frames)
    assert flicker(video) < 0.75 * flicker(fresh)
    assert mean_error(video, frames) < mean_error(fresh, frames)
    assert_known_alike(video, fresh)


def test_a_static_scene_without_noise_stays_as_it_is():
    frame = render("tissue", 240, 320, seed=12, noise=0.0, disparity_px=20)
    first, second, third = play([frame] * 3)
    assert third.memory.trust.all()
    np.testing.assert_array_equal(second.disparity, first.disparity)
    np.testing.assert_array_equal(third.disparity, first.disparity)


def test_after_a_cut_it_is_a_fresh_start():
    before = play(exposures("tissue", 4, seed=6))[-1]
    after = render("colon", 240, 320, seed=7)
    fresh = bdis.StereoMatcher().match(after.left, after.right)
    cut = bdis.StereoMatcher().match(after.left, after.right, previous=before)
    np.testing.assert_array_equal(cut.disparity, fresh.disparity)
    np.testing.assert_array_equal(cut.probability, fresh.probability)


def test_after_a_change_of_exposure_it_is_a_fresh_start():
    first, second, third = exposures("tissue", 3, seed=13)
    matcher = bdis.StereoMatcher()
    before = matcher.match(second.left, second.right, previous=matcher.match(first.left, first.right))
    brighter = [np.minimum(1.05 * view, 255).astype(np.uint8) for view in (third.left, third.right)]
    fresh, changed = matcher.match(*brighter), matcher.match(*brighter, previous=before)
    np.testing.assert_array_equal(changed.disparity, fresh.disparity)


@pytest.mark.parametrize("step", [1, 6])
def test_a_moving_camera_gets_fresh_starts(step):
    frames = [render("colon", 240, 320, seed=8, frame=step * k, disparity_px=20) for k in range(5)]
    matcher = bdis.StereoMatcher()
    fresh, video = [matcher.match(frame.left, frame.right) for frame in frames], play(frames)
    assert mean_error(video, frames) < 1.01 * mean_error(fresh, frames)
    assert_known_alike(video, fresh)


def test_what_moves_in_front_of_a_still_camera_is_fresh():
    """A window of the left half shows another part of the scene in every frame; the right half flickers less."""
    scene = render("tissue", 240, 480, seed=14, disparity_px=20, noise=0.0)
    rng = np.random.default_rng(0)
    frames = []
    for k in range(6):
        pair = []
        for clean in (scene.left, scene.right):
            view = clean[:, :320].astype(float)
            view[60:180, 20:120] = clean[60:180, 20 + 20 * k : 120 + 20 * k]
            pair.append(np.clip(view + rng.normal(0, 2, view.shape), 1, 255).astype(np.uint8))
        frames.append(pair)
    matcher = bdis.StereoMatcher()
    result, fresh, video = None, [], []
    for pair in frames:
        fresh.append(matcher.match(*pair).disparity)
        result = matcher.match(*pair, previous=result)
        video.append(result.disparity)
    for one, other in zip(video[1:], fresh[1:]):
        np.testing.assert_array_equal(one[60:180, 20:120], other[60:180, 20:120])
    right = slice(200, 320)
    still = [np.nanmean(np.std([values[:, right] for values in results[2:]], 0)) for results in (video, fresh)]
    assert still[0] < 0.8 * still[1]


def test_it_depends_on_the_result_given_and_nothing_else():
    frames = exposures("tissue", 4, seed=9)
    video = play(frames)
    again = bdis.StereoMatcher().match(frames[3].left, frames[3].right, previous=video[2])
    np.testing.assert_array_equal(again.disparity, video[3].disparity)
    threads = bdis.StereoMatcher(threads=3).match(frames[3].left, frames[3].right, previous=video[2])
    np.testing.assert_array_equal(threads.disparity, video[3].disparity)


@pytest.mark.parametrize("settings", [{"smoothing": 0.0}, {"preset": "fast"}, {"preset": "paper"}], ids=str)
def test_settings_without_a_surface_ignore_it(settings):
    frames = exposures("tissue", 3, seed=10)
    video = play(frames, **settings)
    fresh = bdis.StereoMatcher(**settings).match(frames[2].left, frames[2].right)
    assert video[2].memory is None
    np.testing.assert_array_equal(video[2].disparity, fresh.disparity)


@pytest.mark.parametrize("settings", [{"dense": True}, {"slanted": False}, {"finest_level": 0}], ids=str)
def test_other_surfaces_flicker_less_too(settings):
    frames = exposures("tissue", 8, seed=10)
    matcher = bdis.StereoMatcher(**settings)
    assert flicker(play(frames, **settings)) < 0.8 * flicker([matcher.match(f.left, f.right) for f in frames])


@pytest.mark.parametrize("changes", [{"finest_level": 2}, {"max_disparity": 60.0}, {"preset": "accurate"}], ids=str)
def test_a_result_of_other_settings_is_not_used(changes):
    frames = exposures("tissue", 3, seed=11)
    other = play(frames, **changes)[-1]
    mixed = bdis.StereoMatcher().match(frames[0].left, frames[0].right, previous=other)
    fresh = bdis.StereoMatcher().match(frames[0].left, frames[0].right)
    np.testing.assert_array_equal(mixed.disparity, fresh.disparity)


def test_a_copied_result_is_as_good():
    """Pickled, mirrored in memory or read-only."""
    first, second = exposures("tissue", 2, seed=15)
    matcher = bdis.StereoMatcher()
    before = matcher.match(first.left, first.right)
    expected = matcher.match(second.left, second.right, previous=before)
    mirrored = np.ascontiguousarray(before.disparity[:, ::-1])[:, ::-1]
    mirrored.flags.writeable = False
    for copy in (pickle.loads(pickle.dumps(before)), replace(before, disparity=mirrored)):
        result = matcher.match(second.left, second.right, previous=copy)
        np.testing.assert_array_equal(result.disparity, expected.disparity)


def test_the_result_before_stays_as_it_is():
    first, second = exposures("tissue", 2, seed=16)
    matcher = bdis.StereoMatcher()
    before = matcher.match(first.left, first.right)
    kept = before.disparity.copy()
    matcher.match(second.left, second.right, previous=before)
    np.testing.assert_array_equal(before.disparity, kept)
    assert matcher._stages.video._previous.values is None  # nor is it held


def test_something_else_than_a_result_says_so():
    image = np.full((48, 64), 9, np.uint8)
    with pytest.raises(TypeError, match="previous must be the result of the frame before, but it is ndarray"):
        bdis.StereoMatcher().match(image, image, previous=image)


def test_a_result_of_another_size_says_so():
    matcher = bdis.StereoMatcher()
    small, large = np.full((48, 64), 9, np.uint8), np.full((60, 80), 9, np.uint8)
    with pytest.raises(ValueError, match=r"80x60 but previous has shape \(48, 64\)"):
        matcher.match(large, large, previous=matcher.match(small, small))


def with_memory(result, **changes):
    return replace(result, memory=replace(result.memory, **changes))


def with_nan(array):
    changed = array.astype(np.float32)
    changed.flat[len(changed) // 2] = np.nan
    return changed


TAMPERED = {
    "row_offset is NaN": lambda result: replace(result, row_offset=np.nan),
    "row_offset is infinite": lambda result: replace(result, row_offset=np.inf),
    "row_offset is beyond the image": lambda result: replace(result, row_offset=1e18),
    "row_tilt is NaN": lambda result: replace(result, row_tilt=np.nan),
    "row_tilt is steep": lambda result: replace(result, row_tilt=0.5),
    "disparity is int": lambda result: replace(result, disparity=np.zeros(result.disparity.shape, int)),
    "disparity is no array": lambda result: replace(result, disparity=result.disparity.tolist()),
    "trust has a NaN": lambda result: with_memory(result, trust=with_nan(result.memory.trust)),
    "trust is large": lambda result: with_memory(result, trust=result.memory.trust + 3),
    "trust is negative": lambda result: with_memory(result, trust=result.memory.trust - 1),
    "trust has one row": lambda result: with_memory(result, trust=result.memory.trust[:1]),
    "left has a NaN": lambda result: with_memory(result, left=with_nan(result.memory.left)),
    "left has one row": lambda result: with_memory(result, left=result.memory.left[:1]),
    "left is a list": lambda result: with_memory(result, left=result.memory.left.tolist()),
}


@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_a_previous_that_was_tampered_with_is_refused(change, has_mask):
    """A NaN became an index, or an empty result for the rest of the video."""
    frame = render("tissue", 96, 128, seed=17, disparity_px=10)
    mask = np.ones((96, 128), bool)
    mask[30:60, 40:70] = False
    masks = {"left_mask": mask, "right_mask": mask} if has_mask else {}
    matcher = bdis.StereoMatcher()
    before = matcher.match(frame.left, frame.right, **masks)
    expected = matcher.match(frame.left, frame.right, previous=before, **masks)
    with pytest.raises((ValueError, TypeError), match=r"previous.*(give the result as|leave it out)"):
        matcher.match(frame.left, frame.right, previous=change(before), **masks)
    after = matcher.match(frame.left, frame.right, previous=before, **masks)
    np.testing.assert_array_equal(after.disparity, expected.disparity)
