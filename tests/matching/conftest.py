"""Pairs and matchers for the tests of what a user may hand in."""

import numpy as np
import pytest

import bdis
from tests.matching.pairs import HEIGHT, WIDTH, sealed
from tests.scenes import warped_pair


@pytest.fixture(scope="module", params=[1, 0], ids=["level 1", "level 0"])
def matcher(request):
    """The default, and one that searches the image itself, which is read by kernels of its own."""
    return bdis.StereoMatcher(finest_level=request.param)


@pytest.fixture(scope="module")
def grey():
    """A grey pair, uint8 and read-only: no test may change it for the next."""
    return sealed(*warped_pair(HEIGHT, WIDTH, seed=1)[:2])


@pytest.fixture(scope="module")
def colour():
    """An RGB pair whose channels differ."""
    channels = [warped_pair(HEIGHT, WIDTH, seed=seed)[:2] for seed in (1, 2, 3)]
    return sealed(*(np.stack(side, axis=2) for side in zip(*channels)))
