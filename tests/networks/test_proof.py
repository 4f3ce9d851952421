"""Our networks are those of the papers: the same tensors under the same names, and the same function."""

import os
import zlib
from pathlib import Path

import numpy as np
import pytest

from . import rule

pytest.importorskip("torch", reason="networks need torch: make test-networks")

SHARED = Path(os.environ.get("BDIS_NETWORK_VECTORS", Path(__file__).parents[3] / "shared" / "networks"))
TOLERANCE_PX = 2e-3  # float32 in another order of operations differs by up to 3e-4 px
PARAMETERS = {"psmnet": 5_224_768, "gwcnet-g": 6_518_560, "gwcnet-gc": 6_909_728}
NAMES = list(PARAMETERS)


@pytest.fixture(scope="module")
def authors(request):
    """The vectors that were made with the authors' code."""
    path = SHARED / f"{request.param}.npz"
    if not path.is_file():
        pytest.skip(f"the vectors made with the authors' code are not at {SHARED} (BDIS_NETWORK_VECTORS)")
    with np.load(path) as file:
        return request.param, dict(file)


def keys(made):
    return [(name, rule.shape_text(value.shape)) for name, value in made.state_dict().items()]


@pytest.mark.parametrize("name", NAMES)
def test_names_shapes_and_output_are_as_committed(name):
    with np.load(rule.VECTORS / f"{name}.npz") as file:
        expected = dict(file)
    made, pair = rule.network(name, rule.MAX_DISPARITY), rule.images(*rule.SIZES[name])
    assert keys(made) == list(zip(expected["names"], expected["shapes"]))
    assert sum(parameter.numel() for parameter in made.parameters()) == PARAMETERS[name]
    np.testing.assert_allclose(rule.disparity(made, pair)[::8, ::8], expected["disparity"], rtol=0, atol=TOLERANCE_PX)
    made = rule.network(name, rule.MAX_DISPARITY, align_corners=True)
    np.testing.assert_allclose(
        rule.disparity(made, pair)[::8, ::8], expected["align_corners"], rtol=0, atol=TOLERANCE_PX
    )
    assert np.abs(expected["align_corners"] - expected["disparity"]).max() > 10 * TOLERANCE_PX, "or it proves nothing"


@pytest.mark.parametrize("authors", NAMES, indirect=True)
def test_rule_and_keys_are_those_of_the_authors(authors):
    name, expected = authors
    made = rule.network(name, int(expected["maxdisp"]))
    assert keys(made) == list(zip(expected["names"], expected["shapes"]))
    found = [zlib.crc32(value.numpy().tobytes()) for value in made.state_dict().values()]
    assert found == expected["crc32"].tolist()
    pair = rule.images(*expected["disparity"].shape)
    assert [zlib.crc32(image.tobytes()) for image in pair] == expected["image_crc32"].tolist()


@pytest.mark.parametrize("authors", NAMES, indirect=True)
def test_output_is_that_of_the_authors(authors):
    name, expected = authors
    most, pair = int(expected["maxdisp"]), rule.images(*expected["disparity"].shape)
    found = rule.disparity(rule.network(name, most), pair)
    print(f"{name}: off by {np.abs(found - expected['disparity']).max():.1e} px", end=", ")
    np.testing.assert_allclose(found, expected["disparity"], rtol=0, atol=TOLERANCE_PX)
    found = rule.disparity(rule.network(name, most, align_corners=True), pair)[::4, ::4]
    wanted = expected["disparity_align_corners_true_sample"]
    print(f"with aligned corners by {np.abs(found - wanted).max():.1e} px")
    np.testing.assert_allclose(found, wanted, rtol=0, atol=TOLERANCE_PX)
