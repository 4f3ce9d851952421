"""``bdis batch run`` while scheduler, workers and the command itself are killed: the files are those of a calm run.

Not part of ``make test``; run it with ``make torture``.
"""

import collections
import random
import time

import pytest

from tests.cli.commands import needs_posix
from tests.cli.recordings import contents, finished
from tests.cluster.processes import Processes, kill, start_command

from .figures import figure

RUNS = 20
WORKERS = 3
LONGEST_S = 600.0  # of one run
SOURCES = [
    "render:tissue,frames=300,distinct=20,height=64,width=96",
    "render:colon,frames=180,distinct=20,height=64,width=96",
    "render:plane,frames=20,height=64,width=96",
]
OPTIONS = ["--preset", "fast", "--save", "depth,video,preview", "--piece-frames", 25]


@needs_posix
def test_kills_of_every_kind_leave_the_files_of_an_undisturbed_run(tmp_path):
    pytest.importorskip("av")
    pytest.importorskip("distributed")
    rng = random.Random(0)
    kills: collections.Counter[str] = collections.Counter()
    whole = tmp_path / "whole"
    for number, source in enumerate(SOURCES):
        code, _, said = finished("run", source, *OPTIONS[:4], "-o", whole / str(number))
        assert code == 0, said
    expected = [contents(whole / str(number)) for number in range(len(SOURCES))]
    took, given_again = [], 0
    with Processes(WORKERS, tmp_path) as cluster:
        for run in range(RUNS):
            out, begin = tmp_path / f"out{run}", time.monotonic()
            command = ["batch", "run", *SOURCES, *OPTIONS, "-o", out, "--scheduler", cluster.address, "--wait", 60]
            kinds = [("worker", "scheduler", "client")[run % 3], *rng.sample(("worker", "worker", "client"), 2)]
            client = start_command(*command)
            for kind in kinds:
                time.sleep(rng.uniform(0.5, 6))
                if kind == "client":
                    kill(client)
                    client.communicate()
                    client = start_command(*command)
                elif client.poll() is None:
                    kill(cluster.scheduler if kind == "scheduler" else rng.choice(cluster.workers))
                kills[kind] += 1
                time.sleep(rng.uniform(0, 1))
                cluster.mend()
            while True:
                assert time.monotonic() - begin < LONGEST_S, "a run hangs"
                cluster.mend()
                time.sleep(0.2)
                if client.poll() is None:
                    continue
                _, said = client.communicate()
                if client.returncode == 0:
                    break
                # The scheduler was killed before the work began: that is said, and the command is given again.
                assert "no Dask scheduler answers" in said or "went away" in said, said
                given_again += 1
                client = start_command(*command)
            assert "Traceback" not in said
            folders = [path for path in sorted(out.iterdir()) if path.name != ".batch"]
            assert sorted(map(_key, map(contents, folders))) == sorted(map(_key, expected))
            assert not list((out / ".batch" / "pieces").iterdir())
            took.append(time.monotonic() - begin)
            print(f"run {run}: {', '.join(kinds)}; {took[-1]:.0f} s", flush=True)
    counts = ", ".join(f"{count} x {kind}" for kind, count in kills.items())
    figure("bdis batch run, kill -9", f"{RUNS} runs, {counts}: all bits the same; {given_again} commands given again")


def _key(files):
    return sorted((name, hash(content)) for name, content in files.items())
