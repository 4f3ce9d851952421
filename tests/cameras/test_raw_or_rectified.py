"""Raw images are told from rectified ones by the rows of their features, or it is said that they cannot be told."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("cv2")

from bdis.cameras.raw_or_rectified import weigh_rows
from tests.cameras.raw_pairs import raw_pair

RIGS = {  # rotation between the cameras, distortion
    "turned and distorted": ((0.006, -0.03, 0.008), (-0.2, 0.05, 0, 0, 0)),
    "turned towards each other": ((0, -0.03, 0), (0, 0, 0, 0, 0)),
    "distorted": ((0, 0, 0), (-0.2, 0.05, 0, 0, 0)),
    "lower": ((0.015, 0, 0), (0, 0, 0, 0, 0)),
}


@pytest.mark.parametrize("scene", ["tissue", "colon", "instruments"])
@pytest.mark.parametrize("rig", RIGS)
def test_raw_and_rectified_images_are_told_apart(scene, rig):
    left, right, cameras, _ = raw_pair(scene, 3, *RIGS[rig])
    rectifier = cameras.rectify()
    assert weigh_rows([(left, right)], rectifier).verdict == "raw"
    assert weigh_rows([rectifier(left, right)], rectifier).verdict == "rectified"


def test_a_calibration_that_changes_nothing_leaves_nothing_to_tell():
    left, right, cameras, _ = raw_pair(rotation=(0, 0, 0), bend=(0, 0, 0, 0, 0))
    assert weigh_rows([(left, right)], cameras.rectify()).verdict == "alike"


HARDLY = {"hardly turned": ((0.001, -0.002, 0.001), (-0.01, 0, 0, 0, 0))}


def test_cameras_that_are_hardly_turned_are_told_or_refused():
    left, right, cameras, _ = raw_pair("colon", 3, *HARDLY["hardly turned"])
    rectifier = cameras.rectify()
    assert weigh_rows([(left, right)], rectifier).verdict in ("raw", "unclear")
    assert weigh_rows([rectifier(left, right)], rectifier).verdict in ("rectified", "unclear")


@pytest.mark.parametrize("rig", RIGS | HARDLY)
@pytest.mark.parametrize("moved", [1, 2])
def test_an_aged_calibration_never_gives_the_wrong_verdict(rig, moved):
    """All rows of the right image lie a px lower, as after a knock."""
    left, right, cameras, _ = raw_pair("tissue", 5, *(RIGS | HARDLY)[rig])
    rectifier = cameras.rectify()
    assert weigh_rows([(left, np.roll(right, moved, 0))], rectifier).verdict in ("raw", "unclear", "neither")
    rectified = rectifier(left, right)
    lower = np.roll(rectified[1], moved, 0)
    assert weigh_rows([(rectified[0], lower)], rectifier).verdict in ("rectified", "unclear", "neither")


def test_the_calibration_of_other_cameras_fits_in_neither_case():
    left, right, _, _ = raw_pair(rotation=(0.05, 0, 0.02))
    _, _, others, _ = raw_pair(rotation=(-0.02, 0.02, -0.03))
    assert weigh_rows([(left, right)], others.rectify()).verdict == "neither"


VERGED = ((0.009, 0.06, 0.007), (-0.25, 0.08, 0.001, -0.001, 0))


@pytest.mark.parametrize("scene", ["tissue", "colon", "instruments"])
def test_images_of_half_the_size_were_rectified_already_though_rectification_brought_rows_closer(scene):
    """The calibration does not say its size, so it is taken for that of the halves; the depth was 9 times the true.

    They are a little larger than halves: outside of these lies the principal point, which is refused.
    """
    import cv2

    left, right, cameras, _ = raw_pair(scene, 3, *VERGED)
    halves = [cv2.resize(image, (352, 264), interpolation=cv2.INTER_AREA) for image in (left, right)]
    evidence = weigh_rows([tuple(halves)], dataclasses.replace(cameras, size=(352, 264)).rectify())
    assert evidence.rectified_px < evidence.as_given_px
    assert evidence.verdict in ("neither", "unclear")
    assert weigh_rows([(left, right)], cameras.rectify()).verdict == "raw"


def test_further_frames_are_asked_where_the_first_show_nothing():
    left, right, cameras, _ = raw_pair()
    black = np.zeros_like(left), np.zeros_like(right)
    evidence = weigh_rows([black, (left, right)], cameras.rectify())
    assert evidence.verdict == "raw"
    assert weigh_rows([black], cameras.rectify()).verdict == "unclear"
    assert weigh_rows([black], cameras.rectify()).reason == "only 0 features are found in both images"
