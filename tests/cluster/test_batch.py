"""``bdis batch run`` with a real scheduler and real workers, of which one is killed; and the checks before any work."""

import json
from types import SimpleNamespace

import pytest

from bdis import __version__
from bdis.cluster.batch import _BEGIN, Batch
from bdis.cluster.cluster_choice import ClusterChoice
from bdis.cluster.conductor import Failed, Step
from bdis.cluster.connection import Connection, check_workers
from bdis.cluster.jobs import Job
from bdis.cluster.journal import Journal
from bdis.video.opened_source import SourceRequest
from bdis.video.recording.run_request import RunRequest
from tests.cli.commands import bdis_command, needs_posix
from tests.cli.recordings import contents
from tests.cluster.processes import Processes, kill, start_command, wait_until
from tests.video.test_pieces import by_run

distributed = pytest.importorskip("distributed")
GOOD = "render:tissue,frames=150,distinct=5,height=64,width=96"
NAME = "render-tissue-frames-150-distinct-5-height-64-width-96"


@needs_posix
def test_a_killed_worker_and_a_corrupt_recording_do_not_harm_the_others(tmp_path, capsys):
    pytest.importorskip("av")
    (tmp_path / "corrupt.mp4").write_bytes(b"this is no video")
    out = tmp_path / "out"
    arguments = ["batch", "run", GOOD, tmp_path / "corrupt.mp4", "--preset", "fast", "--piece-frames", 25, "-o", out]
    with Processes(2, tmp_path) as cluster:
        command = start_command(*arguments, "--scheduler", cluster.address, "--json")
        journal = out / ".batch" / "journal.jsonl"
        wait_until(lambda: journal.exists() and '"begun"' in journal.read_text())
        kill(cluster.workers[0])
        answer, said = command.communicate(timeout=120)
        assert command.returncode == 1, said
        assert "corrupt.mp4 is not a video" in said
        assert "Traceback" not in said
        events = [json.loads(line) for line in answer.splitlines()]
        assert events[-1]["done"] == 1
        assert list(events[-1]["failed"]) == ["corrupt"]
        pieces = [event["piece"] for event in events if event["event"] == "piece"]
        assert sorted(pieces) == list(range(6))
    whole = by_run(tmp_path / "whole", GOOD, "--preset", "fast")
    assert contents(out / NAME) == contents(whole)
    status = bdis_command("batch", "status", out)
    assert "has ended" in status.stdout
    assert "corrupt.mp4 is not a video" in status.stdout


class FakeClient:
    """Answers as a client does whose only worker is as given."""

    status, dashboard_link = "running", None

    def __init__(self, workers=1, facts=None, **versions):
        own = {"dask": distributed.__version__, "distributed": distributed.__version__}
        self._workers, self._facts = workers, {"bdis": __version__, "host": "node7", "sees": True} | (facts or {})
        self._packages = {"packages": own | versions}

    def nthreads(self):
        return {f"tcp://node:{number}": 1 for number in range(self._workers)}

    def get_versions(self):
        return {"scheduler": self._packages, "workers": {}}

    def run(self, function, *arguments, on_error):
        is_version = function.__name__ == "version"
        return {"tcp://node:0": self._facts["bdis"] if is_version else self._facts}


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (FakeClient(workers=0), "no workers after 0 s"),
        (FakeClient(distributed="2021.1"), "the scheduler has distributed 2021.1, here it is"),
        (FakeClient(facts={"bdis": ModuleNotFoundError("bdis")}), "worker tcp://node:0 has no bdis"),
        (FakeClient(facts={"bdis": "0.0.1"}), "worker tcp://node:0 has bdis 0.0.1, here it is"),
        (FakeClient(facts={"sees": False}), "worker tcp://node:0 on node7 does not see"),
    ],
)
def test_workers_that_cannot_do_it_are_named_before_any_work(tmp_path, client, said):
    (tmp_path / ".batch").mkdir()
    with pytest.raises(ValueError, match=said):
        check_workers(Connection(client), tmp_path, 0.0)
    assert not list((tmp_path / ".batch").iterdir())


def test_a_worker_that_goes_away_while_it_is_asked_does_not_end_the_batch(tmp_path):
    (tmp_path / ".batch").mkdir()
    client = FakeClient()
    answer = client.run
    client.run = lambda *asked, on_error: answer(*asked, on_error=on_error) | {"tcp://gone:1": OSError("closed")}
    check_workers(Connection(client), tmp_path, 0.0)


class Scheduler:
    """A connection to workers at these addresses, which do nothing; keeps for which machines a step was given out."""

    def __init__(self, *addresses):
        self.addresses, self.meant_for, self.client = addresses, [], self

    def threads(self):
        return dict.fromkeys(self.addresses, 1)

    def submit(self, *call, key, priority, workers):
        self.meant_for.append(workers)
        return SimpleNamespace(key=key, cancel=lambda: None, add_done_callback=lambda told: None)


@pytest.fixture
def batch(tmp_path):
    with Journal(tmp_path, {}, ["a"]) as journal:
        batch = Batch([Job("a", RunRequest(SourceRequest("a.mp4")), tmp_path, 25)], journal, ClusterChoice())
        batch.states = journal.states
        yield batch


STEP = Step(_BEGIN, 0)
FULL = SimpleNamespace(
    status="finished", result=lambda timeout: Failed("No space left on device", host="10.0.0.7", is_of_machine=True)
)


def test_a_machine_that_cannot_do_a_step_leaves_it_to_another(batch, monkeypatch):
    """A full disk on one node: the step is tried once more elsewhere, and then counted as failed."""
    monkeypatch.setattr("bdis.cluster.conductor.LOOK_EVERY_S", 0.01)
    scheduler = Scheduler("tcp://10.0.0.7:1", "tcp://10.0.0.8:1", "tcp://10.0.0.8:2")
    batch.turn(scheduler)
    batch._running.clear()
    batch._take(STEP, FULL)
    assert batch.states["a"].state == "waiting"
    batch.turn(scheduler)
    assert scheduler.meant_for == [None, ["10.0.0.8"]]
    batch._take(STEP, FULL)
    assert batch.states["a"].reason == "No space left on device"


def test_a_batch_does_not_wait_for_ever_for_the_other_machine_when_that_has_gone(batch, monkeypatch):
    monkeypatch.setattr("bdis.cluster.conductor.LOOK_EVERY_S", 0.01)
    scheduler = Scheduler("tcp://10.0.0.7:1", "tcp://10.0.0.8:1")
    batch.turn(scheduler)
    batch._running.clear()
    batch._take(STEP, FULL)
    batch.turn(scheduler)
    scheduler.addresses = ("tcp://10.0.0.7:1", "tcp://10.0.0.9:1")
    batch.turn(scheduler)
    assert scheduler.meant_for == [None, ["10.0.0.8"], ["10.0.0.9"]]
    scheduler.addresses = ("tcp://10.0.0.7:1",)
    batch.turn(scheduler)
    assert not batch.is_going
    assert batch.states["a"].reason == "No space left on device"
