"""Bars of capture cards and players around a picture of both views: it was halved beside its middle without a word."""

import numpy as np
import pytest

from bdis.cameras.black_bars import unlike_bars
from bdis.evaluation.datasets import open_dataset
from bdis.synthetic.renderer import render
from benchmarks.data import AUTHORS_SET

HEIGHT, WIDTH = 240, 320


@pytest.fixture(scope="module", params=["tissue", "colon", "instruments"])
def pair(request):
    return render(request.param, HEIGHT, WIDTH, seed=4)


def halves(picture):
    middle = picture.shape[1] // 2
    return picture[:, :middle], picture[:, middle:]


def black(width, level=0):
    return np.full((HEIGHT, width, 3), level, np.uint8)


@pytest.mark.parametrize("width", [2, 4, 16, 40, 64])
def test_bars_at_both_sides_made_everything_too_near_without_a_word(pair, width):
    text = unlike_bars(*halves(np.hstack([black(width), pair.left, pair.right, black(width)])))
    assert f"black bars of {width} px in the left and 0 px in the right view, at their left borders" in text


@pytest.mark.parametrize("width", [4, 8, 32, 64])
def test_a_gap_between_the_views_made_everything_too_far_without_a_word(pair, width):
    text = unlike_bars(*halves(np.hstack([pair.left, black(width), pair.right])))
    assert f"black bars of 0 px in the left and {width // 2} px in the right view, at their left borders" in text


@pytest.mark.parametrize(("before", "after", "border"), [(64, 0, "left"), (0, 64, "right")])
def test_a_bar_at_one_side_cut_the_views_apart_elsewhere_without_a_word(pair, before, after, border):
    text = unlike_bars(*halves(np.hstack([black(before), pair.left, pair.right, black(after)])))
    assert f"at their {border} borders" in text


def test_bars_above_and_below_views_that_lie_on_each_other(pair):
    picture = np.vstack([black(WIDTH)[:30], pair.left, pair.right, black(WIDTH)[:30]])
    assert "30 px in the left and 0 px in the right view, at their upper borders" in unlike_bars(
        picture[: HEIGHT + 30], picture[HEIGHT + 30 :]
    )


def test_bars_that_are_not_quite_black_grey_or_of_another_type(pair):
    picture = np.hstack([black(40, 16), pair.left, pair.right, black(40, 16)])
    noisy = np.clip(picture + np.random.default_rng(0).normal(0, 2, picture.shape), 0, 255).astype(np.uint8)
    for changed in (noisy, picture[..., 1], picture / np.float32(255), picture.astype(np.uint16) * 257):
        assert "black bars of 40 px" in unlike_bars(*halves(changed))


@pytest.mark.parametrize("quality", [90, 75])
def test_bars_into_which_compression_spills_light(pair, quality):
    cv2 = pytest.importorskip("cv2")
    for picture in (
        np.hstack([black(13), pair.left, pair.right, black(13)]),
        np.hstack([pair.left, black(32), pair.right]),
    ):
        _, coded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
        assert "black bars" in unlike_bars(*halves(cv2.imdecode(coded, cv2.IMREAD_COLOR)))


def test_views_without_bars_and_bars_around_each_view_are_no_reason_to_warn(pair):
    assert unlike_bars(pair.left, pair.right) == ""
    framed = [np.hstack([black(20), view, black(50)]) for view in (pair.left, pair.right)]
    assert unlike_bars(*framed) == ""
    assert unlike_bars(np.zeros_like(pair.left), np.zeros_like(pair.left)) == ""
    assert unlike_bars(np.zeros_like(pair.left), pair.right) == ""


@pytest.mark.parametrize("apart", [0, 10, 25])
@pytest.mark.parametrize("radius", [100, 120, 150, 180])
@pytest.mark.parametrize("is_sharp", [True, False])
def test_round_masks_and_vignettes_are_no_bars(pair, apart, radius, is_sharp):
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    views = []
    for view, side in ((pair.left, 1), (pair.right, -1)):
        far = np.hypot(rows - HEIGHT / 2, columns - WIDTH / 2 - side * apart) / radius
        light = far < 1 if is_sharp else np.clip(1.2 - far**4, 0, 1)
        views.append((view * light[..., None]).astype(np.uint8))
    assert unlike_bars(*views) == ""


def test_the_curved_borders_of_rectified_images_are_no_bars(pair):
    rows = np.linspace(-1, 1, HEIGHT)[:, None]
    columns = np.arange(WIDTH)
    left = np.where((columns < 20 + 6 * rows**2)[..., None], 0, pair.left)
    right = np.where((columns > WIDTH - 14 - 6 * rows**2)[..., None], 0, pair.right)
    assert unlike_bars(left, right) == ""


@pytest.mark.skipif(not AUTHORS_SET.is_dir(), reason=f"the authors' data set is not at {AUTHORS_SET}")
def test_the_black_borders_of_the_authors_images_are_no_bars():
    for frame in open_dataset(AUTHORS_SET):
        images = frame.read()
        assert unlike_bars(images.left, images.right) == "", frame
