"""Memory that nobody may overstep, for all kernels of all rooms: more cases than the tests run.

python -m pytest -s tests/torture/guard_pages.py
"""

import time

import pytest

from tests import guard_pages
from tests.evaluation import test_elas_memory
from tests.matching import test_memory_safety
from tests.synthetic import test_renderer_memory

from .figures import figure

SEEDS = {  # those that follow the tests' own
    "tests.matching.test_memory_safety": (test_memory_safety.CASES, 3000),
    "tests.evaluation.test_elas_memory": (test_elas_memory.CASES, 900),
    "tests.synthetic.test_renderer_memory": (test_renderer_memory.CASES, 240),
}

pytestmark = pytest.mark.skipif(bool(guard_pages.MISSING), reason=guard_pages.MISSING or "-")


@pytest.mark.parametrize("module", SEEDS)
def test_no_access_outside_arrays(module: str) -> None:
    first, count = SEEDS[module]
    begin = time.perf_counter()
    child = guard_pages.run_child(module, first, first + count)
    guard_pages.assert_finished(child, first + count)
    assert test_memory_safety.DIFFERS not in child.stdout
    room = module.split(".")[1]
    figure(f"guard pages, {room}", f"{count} cases without an access outside, {time.perf_counter() - begin:.0f} s")
