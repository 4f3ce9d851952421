"""Which columns are known, and that leaving out the others does not change what is known."""

import numpy as np
import pytest

import bdis
from bdis.matching.kernels.layout import Maps
from bdis.matching.kernels.pyramid import Image, Seen
from bdis.matching.kernels.spans import SPAN_ROWS, Spans
from bdis.matching.kernels.variational import MARGIN
from bdis.matching.memory import Arena
from bdis.matching.variational import VariationalRefinement, whole_spans
from bdis.vector.crew import Threads
from tests.matching.records import found_spans, map_of, with_padding
from tests.scenes import warped_pair


def known_in(shape, boxes):
    """A result that is known in boxes (top, bottom, left, right)."""
    values = np.full(shape, np.nan, np.float32)
    for top, bottom, left, right in boxes:
        values[top:bottom, left:right] = 1
    return Maps(disparity=values, probability=np.zeros(shape, np.float32), width=shape[1])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [(32, 64), (33, 47), (70, 131), (16, 16), (5, 200)], ids=str)
def test_spans_hold_all_that_is_known_and_less_than_a_vector_more(size, threads):
    rng = np.random.default_rng(sum(size))
    width = size[1]
    for share in (0, 0.0005, 0.01, 1):
        values = np.where(rng.random(size) < share, 1, np.nan).astype(np.float32)
        result = Maps(disparity=values, probability=np.zeros(size, np.float32), width=width)
        for k, (first, last) in enumerate(found_spans(result, threads).columns.tolist()):
            columns = np.flatnonzero((~np.isnan(values[k * SPAN_ROWS : (k + 1) * SPAN_ROWS])).any(0))
            if len(columns) == 0:
                assert (first, last) == (width, 0)
            else:
                assert 0 <= first <= columns[0] < first + 16
                assert last - 16 <= columns[-1] < last <= width


def refined(pair, disparity, spans: Spans, rounds, threads):
    """Disparity, refined where it matters."""
    scale, width = bdis.Settings().intensity_scale, disparity.shape[1]
    images = [Image(pixels=with_padding((scale * image.astype(float)).astype(np.int16)), width=width) for image in pair]
    seen = [Seen(mask=with_padding(np.ones(disparity.shape, np.uint8)), width=width) for _ in pair]
    settings = bdis.Settings(refinement_rounds=rounds, threads=threads)
    stage = VariationalRefinement(*images, *seen, map_of(disparity), spans, settings, Arena(1 << 20))
    Threads(threads).run(lambda crew: stage.run(False, crew))
    return stage.disparity.values[:, :width]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rounds", [1, 2, 4])
@pytest.mark.parametrize(
    "boxes", [[(70, 71, 300, 301)], [(0, 5, 0, 3), (150, 160, 390, 400)], [(40, 90, 64, 96)], [(0, 160, 100, 200)], []]
)
def test_what_is_known_is_refined_as_if_all_were(boxes, rounds, threads):
    shape = (160, 400)
    left, right, _ = warped_pair(*shape, seed=5)
    rng = np.random.default_rng(2)
    disparity = (8 + rng.normal(0, 2, shape)).astype(np.float32)
    known = known_in(shape, boxes)
    everywhere = refined((left, right), disparity, whole_spans(*shape, Arena(0)), rounds, threads)
    near_known = refined((left, right), disparity, found_spans(known), rounds, threads)
    matters = np.zeros(shape, bool)
    for y, x in zip(*np.nonzero(~np.isnan(known.disparity))):
        matters[max(y - MARGIN, 0) : y + MARGIN + 1, max(x - MARGIN, 0) : x + MARGIN + 1] = True
    np.testing.assert_array_equal(near_known[matters], everywhere[matters])
    if rounds == 1 and len(boxes) < 2 and not matters.all():
        assert (near_known == disparity).sum() > (everywhere == disparity).sum()  # the rest is left out
