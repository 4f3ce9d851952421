"""What a process of Dask costs beside the work that it does."""

import os
import subprocess
import sys

import pytest

from bdis.cluster.cluster_choice import ClusterChoice
from bdis.cluster.conductor import Conductor, Step
from bdis.cluster.connection import QUIET, connected

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

FRAMES = """
import resource
import numpy as np
from bdis.cluster.freed_memory import keep_freed_memory

def faults_of_frames():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        depth = np.ones((480, 640), np.float32)
        steps = depth * 100
        del depth, steps
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults_of_frames()
assert keep_freed_memory()
faults_of_frames()
print(before, faults_of_frames())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what Dask sets is read by glibc")
def test_a_worker_got_its_memory_anew_from_the_kernel_with_every_frame():
    """Dask sets this variable for its workers; they took 1.5 times as long as bdis run."""
    done = subprocess.run(
        [sys.executable, "-c", FRAMES], env={**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"},
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    as_dask_has_it, kept = map(int, done.stdout.split())
    assert as_dask_has_it > 10_000  # 300 pages for each of 100 arrays
    assert kept < 100


def test_workers_of_this_machine_are_quiet_and_the_configuration_of_the_caller_stays():
    before = {name: dask.config.get(name) for name in QUIET}  # KeyError: Dask has renamed one
    with connected(ClusterChoice(workers=1)) as connection:
        (seen,) = connection.client.run(lambda names: [dask.config.get(name) for name in names], list(QUIET)).values()
    assert seen == list(QUIET.values()) != list(before.values())
    assert {name: dask.config.get(name) for name in QUIET} == before


class Named(Conductor):
    """Steps of recordings with different names, which do nothing."""

    def call_of(self, step):
        return os.getpid, [], ["appendix", "gall bladder", "colon-left", "17"][step.item]

    def go_on(self, step, answer):
        pass

    def fail(self, step, reason):
        pytest.fail(reason)


def test_the_scheduler_kept_eight_kilobytes_of_every_recording_by_its_name():
    choice = ClusterChoice(workers=1)
    with connected(choice) as connection:
        work = Named(choice)
        work.add(Step(0, item) for item in range(4))
        work.run(connection)
        kept = connection.client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert kept == ["getpid"]


def cores_of_worker():
    """Of all its threads."""
    return sorted({tuple(os.sched_getaffinity(int(thread))) for thread in os.listdir("/proc/self/task")})


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system cannot keep a process on a core")
def test_workers_that_woke_each_other_across_the_cores_have_a_core_each():
    """Two were 1.5 times as fast as one, now 1.9 times."""
    cores = sorted(os.sched_getaffinity(0))
    with connected(ClusterChoice()) as connection:
        found = connection.client.run(cores_of_worker)
    assert sorted(found.values()) == [[(core,)] for core in cores]
    assert os.sched_getaffinity(0) == set(cores)  # of the command


@pytest.mark.skipif(len(getattr(os, "sched_getaffinity", lambda _: [0])(0)) < 2, reason="one core")
def test_fewer_workers_than_cores_may_use_any_core():
    cores = os.sched_getaffinity(0)
    with connected(ClusterChoice(workers=len(cores) - 1)) as connection:
        found = connection.client.run(cores_of_worker)
    assert list(found.values()) == [[tuple(cores)]] * (len(cores) - 1)
