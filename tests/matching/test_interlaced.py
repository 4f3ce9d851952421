"""Pictures of two moments, one in the even and one in the odd rows, gave a wrong disparity without a word."""

import numpy as np
import pytest

import bdis
from bdis.matching.picture_quality import MOST_MOVED_PX, ROWS, STRIPS, _moved_rows, interlaced, strips_of
from bdis.matching.picture_quality import rows_of_strips as rows_of
from bdis.synthetic.renderer import render

cv2 = pytest.importorskip("cv2")

INTERLACED = "interlaced, odd rows lie"
KINDS = ["tissue", "colon", "instruments", "sphere", "plane"]


def combed(image, px):
    """With its odd rows moved to the right; what leaves the image comes back on the left."""
    image = image.copy()
    image[1::2] = np.roll(image[1::2], px, 1)
    return image


def said_of(left, right, preset="fast"):
    return " ".join(bdis.StereoMatcher(preset, variance=True).match(left, right).warnings)


def moved_px(image):
    """What is found in one image (h, w) or (h, w, 3)."""
    grey = image.astype(np.float32) if image.ndim == 2 else image.astype(np.float32) @ np.float32([0.299, 0.587, 0.114])
    rows = rows_of(image.shape[0])
    return _moved_rows(grey[rows].reshape(STRIPS, ROWS, -1), rows[::ROWS] % 2 == 1)


@pytest.mark.parametrize("kind", ["tissue", "colon", "instruments"])
def test_an_interlaced_view_gave_too_narrow_intervals_without_a_word(kind):
    pair = render(kind, 480, 640, seed=9, noise=1.5)
    result = bdis.StereoMatcher("balanced", variance=True).match(pair.left, combed(pair.right, 3))
    is_judged = result.known & np.isfinite(pair.disparity)
    error = np.abs(result.disparity - pair.disparity)[is_judged]
    assert np.mean(error < result.interval(0.95)[is_judged]) < 0.92
    assert "the right image looks interlaced, odd rows lie 3 px beside even ones" in " ".join(result.warnings)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("px", [2, -3, 10])
@pytest.mark.parametrize("size", [(480, 640), (241, 322)])
def test_it_is_said_which_view_is_interlaced_and_by_how_much(kind, px, size):
    pair = render(kind, *size, seed=4, noise=1)
    for left, right, which in (
        (combed(pair.left, px), pair.right, "the left image looks"),
        (pair.left, combed(pair.right, px), "the right image looks"),
        (combed(pair.left, px), combed(pair.right, px), "the images look"),
    ):
        assert f"{which} {INTERLACED} {abs(px)} px" in interlaced(strips_of(left, right, rows_of(size[0]), 255.0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"noise": 4}, {"smoke": 0.2}, {"blur": 1}])
@pytest.mark.parametrize("size", [(480, 640), (120, 160)])
def test_other_pictures_are_not_called_interlaced(kind, options, size):
    pair = render(kind, *size, seed=4, **options)
    assert INTERLACED not in said_of(pair.left, pair.right)


def textures():
    """Pictures (240, 320) whose neighbouring rows differ by more than rows two apart, or that are mere noise."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:240, :320]
    line = rng.integers(1, 255, 3000)
    noise = rng.integers(1, 255, (240, 320))
    yield from (("noise", noise), ("noisy rows", np.repeat(noise[:, :1], 320, 1)))
    yield "noise along rows only", cv2.GaussianBlur(noise.astype(np.uint8), (0, 0), sigmaX=3, sigmaY=0.01)
    for px in (1, 2, 3):
        yield f"rows of {px} px", (y // px % 2) * 60 + 80 + noise / 25
        yield f"checkerboard of {px} px", ((x // px + y // px) % 2) * 100 + 60 + noise / 25
        yield f"bricks of {2 * px} px", ((x + (y % 2) * px) % (2 * px) < px) * 100 + 60 + noise / 25
        yield f"slanted by {px} px a row", line[x + px * y]
    for step in np.linspace(1.2, 3.2, 9):
        yield f"waves of {step:.2f} a row", 120 + 80 * np.sin(0.4 * x + step * y) + noise / 50


@pytest.mark.parametrize(("name", "image"), list(textures()), ids=lambda value: value if isinstance(value, str) else "")
def test_fine_textures_and_noise_are_not_called_interlaced(name, image):
    assert moved_px(np.clip(image, 1, 255).astype(np.uint8)) == 0


@pytest.mark.parametrize(("kind", "white"), [(np.uint16, 1023), (np.float64, 1), (np.float32, 255)])
def test_interlaced_pictures_of_every_type_are_told(kind, white):
    pair = render("tissue", 240, 320, seed=4)
    views = [(combed(image, 3) * (white / 255)).astype(kind)[..., 1] for image in (pair.left, pair.right)]
    assert f"the images look {INTERLACED} 3 px" in said_of(*views)


def test_black_borders_that_stay_where_they_are_do_not_hide_it():
    image = combed(render("tissue", 240, 320, seed=4).left, 4)
    image[:, :40] = image[:, -40:] = image[:20] = 0
    assert moved_px(image) == 4


def test_a_preset_without_a_law_of_error_looks_at_nothing():
    pair = render("tissue", 240, 320, seed=4)
    result = bdis.StereoMatcher("fast").match(pair.left, combed(pair.right, 3))
    assert result.pictures.strips is None
    assert INTERLACED not in " ".join(result.warnings)


def slow_moved_rows(strips, first_rows):
    """As `_moved_rows` where rows are combed, one product after the other."""
    width = strips.shape[2]
    fits = np.zeros((STRIPS, 2 * MOST_MOVED_PX + 1))
    for strip, first, fit in zip(strips.astype(float), first_rows, fits):
        steps = np.diff(strip, axis=1) * (strip > 0).all(0)[1:] * (strip > 0).all(0)[:-1]
        for row in (1, 2):
            beside = (steps[row - 1] + steps[row + 1]) / 2
            side = 1 if (first + row) % 2 else -1
            for px in range(-MOST_MOVED_PX, MOST_MOVED_PX + 1):
                for x in range(max(0, side * px), min(width - 1, width - 1 + side * px)):
                    fit[px + MOST_MOVED_PX] += steps[row, x] * beside[x - side * px]
    return fits.sum(0).argmax() - MOST_MOVED_PX


@pytest.mark.parametrize("px", [-24, -7, -2, 1, 2, 13, 24])
def test_moved_rows_as_product_after_product_finds_them(px):
    image = combed(render("tissue", 143, 164, seed=4, noise=1).left[..., 1], px)
    image[:, 30:40] = 0
    rows = rows_of(143)
    strips = image[rows].reshape(STRIPS, ROWS, -1).astype(np.float32)
    assert _moved_rows(strips, rows[::ROWS] % 2 == 1) == px
    assert slow_moved_rows(strips, rows[::ROWS]) == px
