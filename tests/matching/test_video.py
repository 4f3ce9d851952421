"""Video mode: less flicker, and never a memory of what is no longer there."""

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


@pytest.mark.parametrize("scene", ["tissue", "colon", "instruments"])
def test_a_static_scene_flickers_less(scene):
    frames = exposures(scene, seed=5)
    matcher = bdis.StereoMatcher()
    fresh = [matcher.match(frame.left, frame.right) for frame in frames]
    video = play(frames)
    assert flicker(video) < 0.95 * flicker(fresh)  # 0.91, 0.71 and 0.70 of it
    truth = frames[0].disparity
    error = [np.nanmedian(np.abs(results[-1].disparity - truth)) for results in (video, fresh)]
    assert error[0] < 1.1 * error[1]
    assert video[-1].coverage > fresh[-1].coverage - 0.04


def test_after_a_cut_it_is_a_fresh_start():
    before = play(exposures("tissue", 4, seed=6))[-1]
    after = render("colon", 240, 320, seed=7)
    fresh = bdis.StereoMatcher().match(after.left, after.right)
    cut = bdis.StereoMatcher().match(after.left, after.right, previous=before)
    np.testing.assert_array_equal(cut.disparity, fresh.disparity)
    np.testing.assert_array_equal(cut.probability, fresh.probability)


def test_fast_motion_is_no_worse_than_a_fresh_start():
    frames = [render("colon", 240, 320, seed=8, frame=6 * k, disparity_px=20) for k in range(6)]
    matcher = bdis.StereoMatcher()
    fresh, video = [matcher.match(frame.left, frame.right) for frame in frames], play(frames)
    for k in (3, 4, 5):
        errors = [np.nanmean(np.abs(results[k].disparity - frames[k].disparity)) for results in (video, fresh)]
        assert errors[0] < 1.15 * errors[1]
        assert video[k].coverage > fresh[k].coverage - 0.05


def test_it_depends_on_the_result_given_and_nothing_else():
    frames = exposures("tissue", 4, seed=9)
    video = play(frames)
    again = bdis.StereoMatcher().match(frames[3].left, frames[3].right, previous=video[2])
    np.testing.assert_array_equal(again.disparity, video[3].disparity)
    threads = bdis.StereoMatcher(threads=3).match(frames[3].left, frames[3].right, previous=video[2])
    np.testing.assert_array_equal(threads.disparity, video[3].disparity)


@pytest.mark.parametrize("settings", [{"smoothing": 0.0}, {"dense": True}, {"slanted": False}], ids=str)
def test_settings_without_a_second_search_ignore_it(settings):
    frames = exposures("tissue", 3, seed=10)
    video = play(frames, **settings)
    fresh = bdis.StereoMatcher(**settings).match(frames[2].left, frames[2].right)
    np.testing.assert_array_equal(video[2].disparity, fresh.disparity)


def test_a_result_of_other_settings_is_no_memory():
    frames = exposures("tissue", 3, seed=11)
    other = play(frames, finest_level=2)[-1]
    mixed = bdis.StereoMatcher().match(frames[0].left, frames[0].right, previous=other)
    fresh = bdis.StereoMatcher().match(frames[0].left, frames[0].right)
    np.testing.assert_array_equal(mixed.disparity, fresh.disparity)


def test_something_else_than_a_result_says_so():
    image = np.full((48, 64), 9, np.uint8)
    with pytest.raises(TypeError, match="previous must be the result of the frame before, but it is ndarray"):
        bdis.StereoMatcher().match(image, image, previous=image)


def test_a_result_of_another_size_says_so():
    matcher = bdis.StereoMatcher()
    small, large = np.full((48, 64), 9, np.uint8), np.full((60, 80), 9, np.uint8)
    with pytest.raises(ValueError, match=r"80x60 but previous has shape \(48, 64\)"):
        matcher.match(large, large, previous=matcher.match(small, small))
