"""Where the search starts from: which disparities are tried on the coarsest level."""

import pytest

import bdis
from bdis.matching.start import MAX_CELLS, _labels
from bdis.synthetic import render


@pytest.mark.parametrize(("height", "width", "focal_px"), [(128, 1280, 533), (192, 1920, 800)])
def test_a_wide_image_was_unknown_as_only_the_largest_disparities_were_tried(height, width, focal_px):
    scene = render("tissue", height, width, seed=1, disparity_px=20, focal_px=focal_px)
    assert bdis.StereoMatcher().match(scene.left, scene.right).coverage > 0.9


def test_few_levels_were_unknown_as_only_the_largest_disparities_were_tried():
    scene = render("tissue", seed=1, disparity_px=12)
    assert bdis.StereoMatcher(coarsest_level=2).match(scene.left, scene.right).coverage > 0.9


@pytest.mark.parametrize(("smallest", "largest"), [(0, None), (-40, None), (-80, -20), (10, 100)])
@pytest.mark.parametrize("size", [(34, 240), (120, 160), (8, 640), (1000, 1000)])
def test_as_many_as_fit_the_memory_are_tried_from_the_smallest_on(size, smallest, largest):
    height, width = size
    found, count = _labels(height, width, 4, bdis.Settings(min_disparity=smallest, max_disparity=largest))
    assert found - count + 1 == smallest // 4
    assert found <= width
    assert count <= max(MAX_CELLS // (height * width), 16)
