"""Disparity maps that are not in px were read as if they were: 3.7 mm instead of 59."""

import numpy as np
import pytest

import bdis
from bdis.matching.disparity_px import as_disparity_px

RIG = bdis.Rig(500, 0, 0, 5)
FLAT = np.full((40, 60), 25.0)
RESULT = bdis.StereoResult(FLAT.astype(np.float32), np.ones_like(FLAT, np.float32))
TAKERS = {
    "depth": lambda disparity, _: RIG.depth(disparity),
    "points": lambda disparity, _: RIG.points(disparity),
    "depth of a result": lambda disparity, _: RIG.depth(bdis.StereoResult(disparity, RESULT.probability)),
    "cloud": lambda disparity, _: RIG.cloud(bdis.StereoResult(disparity, RESULT.probability)),
    "compare": lambda disparity, _: RESULT.compare(disparity),
    "write_disparity": lambda disparity, folder: bdis.write_disparity(folder / "disparity.tiff", disparity),
}


@pytest.fixture(params=TAKERS)
def take(request, tmp_path):
    return lambda disparity: TAKERS[request.param](disparity, tmp_path)


@pytest.mark.parametrize("kind", [np.int16, ">i2"])
def test_sixteenths_of_a_px_were_taken_for_px(take, kind):
    with pytest.raises(ValueError, match=r"is int16, which OpenCV uses for 16ths of a px; give px: .* / 16"):
        take((16 * FLAT).astype(kind))
    with pytest.raises(ValueError, match="is int16"):
        take(np.ma.masked_less((16 * FLAT).astype(kind), 0))


def test_the_256ths_of_a_px_of_kitti_were_taken_for_px(take):
    with pytest.raises(ValueError, match=r"is uint16 and reaches 6400, which is more than its width.* / 256"):
        take((256 * FLAT).astype(np.uint16))


@pytest.mark.parametrize("kind", [bool, complex, object, str])
def test_what_holds_no_numbers_is_no_disparity(take, kind):
    with pytest.raises(TypeError, match="must be an array of numbers, but it holds"):
        take(FLAT.astype(kind))


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int32, np.int64, np.float16, np.float64, ">f4"])
def test_whole_px_of_other_types_are_px(kind):
    assert RIG.depth(FLAT.astype(kind))[0, 0] == 100
    assert RIG.depth([[25, 50]]).tolist() == [[100, 50]]


def test_masked_and_infinite_disparities_are_unknown(tmp_path):
    disparity = FLAT.copy()
    disparity[0, :2] = np.inf, 1000
    masked = np.ma.masked_greater(np.ma.masked_array(disparity), 500)
    assert np.isnan(RIG.depth(masked)[0, :2]).all()
    assert np.isnan(RIG.depth(disparity)[0, 0])
    assert np.isnan(RIG.depth(bdis.StereoResult(masked.astype(np.float32), RESULT.probability))[0, :2]).all()
    bdis.write_disparity(tmp_path / "disparity.npy", masked)
    assert np.isnan(bdis.read_disparity(tmp_path / "disparity.npy")[0, :2]).all()
    assert as_disparity_px(25.0).shape == ()


@pytest.mark.parametrize("kind", ["<f4", ">f4", np.float64, np.int32, np.uint32])
def test_256ths_of_a_px_that_had_become_floats_were_taken_for_px(kind):
    stored = np.tile(256 * FLAT, (1, 5))  # 6400 in an image of 300 px
    stored[0] = np.nan if np.dtype(kind).kind == "f" else 0
    with pytest.raises(ValueError, match=r"more than half .* exceed 300 px, .* width .* / 256"):
        as_disparity_px(stored.astype(kind))


@pytest.mark.parametrize("kind", [np.float64, np.int32])
def test_all_that_take_a_disparity_refuse_such_a_map(take, kind):
    with pytest.raises(ValueError, match="exceed 256 px"):
        take((256 * FLAT).astype(kind))


def test_a_map_with_a_few_absurd_disparities_is_one_in_px():
    disparity = np.tile(FLAT, (1, 5))
    disparity[:15] = 1e4
    np.testing.assert_array_equal(as_disparity_px(disparity), disparity)
    assert np.isnan(as_disparity_px(np.full_like(disparity, np.nan))).all()


@pytest.mark.parametrize("part", [(slice(None), slice(7, 8)), (slice(7, 8), slice(None)), slice(0, 20), 7, (7, 8)])
def test_rows_columns_and_pixels_of_a_large_map_are_px(part):
    disparity = np.full((400, 1200), 500.0)
    np.testing.assert_array_equal(as_disparity_px(disparity[part]), disparity[part])


def test_a_map_that_is_mostly_a_mark_of_unknown_pixels_is_told_how_to_say_so():
    disparity = np.tile(FLAT, (1, 5))
    disparity[:30] = 9999
    with pytest.raises(ValueError, match="if 9999 means unknown"):
        as_disparity_px(disparity)
    np.testing.assert_array_equal(as_disparity_px(disparity, unknown=9999)[30:], disparity[30:])
