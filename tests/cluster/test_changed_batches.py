"""A batch that is given again after its sources, calibration or results have changed."""

import json

import numpy as np
import pytest

import bdis
from bdis.cameras.given_cameras import GivenCameras
from bdis.cli.app import run as bdis_run
from bdis.cli.batch import _options_of
from bdis.cluster import steps
from bdis.cluster.batch import _BEGIN, Batch
from bdis.cluster.cluster_choice import ClusterChoice
from bdis.cluster.conductor import Step
from bdis.cluster.jobs import make_jobs
from bdis.cluster.journal import Journal, read_status
from bdis.cluster.sizes import sizes_of
from bdis.video.opened_source import SourceRequest
from bdis.video.recording import read_manifest
from bdis.video.recording.run_request import RunRequest
from tests.cli.commands import fails
from tests.cli.recordings import contents
from tests.video.videos import flat_pair, write_video

RIG = 'format = "bdis-rig"\nfocal_px = 80.0\ncx = 31.5\ncy = 23.5\nbaseline_mm = 5.0\n'


@pytest.fixture
def job(tmp_path, folder_of_pairs):
    rig = tmp_path / "rig.toml"
    rig.write_text(RIG)
    request = RunRequest(SourceRequest(str(folder_of_pairs), cameras=GivenCameras(calib=(rig,))), preset="fast",
                         save=("depth", "disparity"))  # fmt: skip
    (job,) = make_jobs([request], tmp_path / "out", 25)
    return job


@pytest.fixture
def folder_of_pairs(tmp_path):
    texture = np.random.default_rng(5).integers(0, 255, (48, 68), np.uint8)
    for number in range(4):
        for view, first in (("left", 0), ("right", 4)):
            path = tmp_path / "scene" / view / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            bdis.write_image(path, np.roll(texture, number, 0)[:, first : first + 64])
    return tmp_path / "scene"


def journal_of(job):
    return Journal(job.out, _options_of(job), [job.name], lambda name: sizes_of(job))


def given(job):
    """What the command does with its recording, without a cluster; its state is returned."""
    with journal_of(job) as journal:
        if journal.states[job.name].state != "done":
            batch = Batch([job], journal, ClusterChoice())
            try:
                batch.go_on(Step(_BEGIN, 0), steps.begin(job))
            except ValueError as error:
                batch.fail(Step(_BEGIN, 0), str(error))
        return journal.states[job.name]


def test_a_batch_that_is_done_is_not_opened_again(job, monkeypatch):
    assert given(job).state == "done"
    monkeypatch.setattr("bdis.cluster.steps.begin", None)
    assert given(job).frames == 4


def test_a_batch_whose_calibration_was_edited_said_that_all_is_there_already(job, tmp_path, capsys):
    given(job)
    (calib,) = job.request.source.cameras.calib
    calib.write_text(RIG.replace("5.0", "50.0"))
    command = ["batch", "run", job.request.source.source, "--calib", calib, "--preset", "fast", "--save",
               "depth,disparity", "--piece-frames", 25, "-o", job.out]  # fmt: skip
    fails(capsys, command, 1, "cannot be continued: the content of the calibration file has changed; choose another -o")
    calib.write_text(RIG)
    assert bdis_run(list(map(str, command))) == 0
    assert "1 of 1 recordings are in" in capsys.readouterr().err


def test_a_batch_whose_source_was_replaced_said_that_all_is_there_already(job, folder_of_pairs):
    given(job)
    before = contents(job.folder)
    image = folder_of_pairs / "left" / "2.png"
    original = image.read_bytes()
    image.write_bytes(original + b"more")
    state = given(job)
    assert state.state == "failed"
    assert "cannot be continued: source.content" in state.reason
    assert contents(job.folder) == before
    image.write_bytes(original)
    assert given(job).state == "done"


def test_a_batch_whose_video_was_replaced_by_one_of_the_same_size_said_that_all_is_there_already(tmp_path):
    pytest.importorskip("av")
    video = tmp_path / "video.avi"

    def write(first):
        write_video(video, 6, codec="rawvideo", options={}, pair=lambda i: flat_pair(i + first))
        return video.stat().st_size

    size = write(0)
    (job,) = make_jobs(
        [RunRequest(SourceRequest(str(video)), preset="fast", save=("disparity",))], tmp_path / "out", 25
    )
    state = given(job)
    assert state.state == "done", state.reason
    assert write(7) == size
    state = given(job)
    assert state.state == "failed"
    assert "cannot be continued: source.content.sha256 was" in state.reason
    write(0)
    assert given(job).state == "done"


@pytest.mark.parametrize("lost", ["depth/000002.tiff", "frames.csv"])
def test_a_batch_of_which_an_output_was_deleted_said_that_all_is_there_already(job, lost):
    given(job)
    (job.folder / lost).unlink()
    state = given(job)
    assert state.state == "failed"
    assert "no longer has all that was recorded: bdis run with the same options and --resume" in state.reason
    for path in sorted(job.folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    job.folder.rmdir()
    assert given(job).state == "done"


def test_a_journal_of_an_earlier_version_is_read_and_what_it_calls_done_is_verified(job, monkeypatch):
    given(job)
    plan, journal = (job.out / ".batch" / name for name in ("batch.json", "journal.jsonl"))
    content = json.loads(plan.read_text())
    del content["options"]["calib_sha256"]
    plan.write_text(json.dumps(content))
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    journal.write_text("".join(json.dumps({**event, "sizes": None}) + "\n" for event in events))
    assert read_status(job.out)["recordings"][job.name].state == "done"
    with journal_of(job) as opened:
        assert opened.states[job.name].state == "waiting"
    assert given(job).state == "done"
    assert "calib_sha256" in json.loads(plan.read_text())["options"]


def test_pieces_of_a_video_that_was_replaced_meanwhile_were_joined_with_those_of_the_new_one(tmp_path):
    def job_of(frames):
        source = f"render:plane,frames={frames},distinct=5,height=48,width=64"
        request = RunRequest(SourceRequest(source), preset="fast", save=("depth",))
        return make_jobs([request], tmp_path / "out", 25)[0]

    earlier, job = job_of(60), job_of(61)
    steps.record(earlier, steps.begin(earlier).outline, 0)
    earlier.work.rename(job.work)
    made = job.work / "piece-00000"
    assert read_manifest(made)["run"]["source"]["frames"] == 60
    outline = steps.begin(job).outline
    assert not made.exists()
    steps.record(job, outline, 0)
    steps.begin(job)
    assert made.exists()


def test_a_worker_that_goes_on_living_took_a_replaced_source_for_the_one_that_it_had_opened(job, folder_of_pairs):
    first = steps._prepared(job.request, print)
    assert steps._prepared(job.request, print) is first
    image = folder_of_pairs / "left" / "2.png"
    image.write_bytes(image.read_bytes() + b"more")
    assert steps._prepared(job.request, print).about != first.about


def test_a_piece_whose_log_lacks_its_last_lines_was_joined_without_those_frames(tmp_path):
    source = "render:plane,frames=60,distinct=5,height=48,width=64"
    (job,) = make_jobs(
        [RunRequest(SourceRequest(source), preset="fast", save=("depth", "video"))], tmp_path / "out", 25
    )
    outline = steps.begin(job).outline
    for number in range(3):
        steps.record(job, outline, number)
    log = job.work / "piece-00002" / "frames.csv"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-4]))
    done = steps.finish(job, outline)
    assert done.frames == 60
    assert "in one piece" in done.warnings[0]


def test_pieces_before_and_after_an_edit_of_the_calibration_were_joined(tmp_path):
    rig, source = tmp_path / "rig.toml", "render:plane,frames=30,distinct=5,height=48,width=64"
    rig.write_text(RIG)
    request = RunRequest(SourceRequest(source, cameras=GivenCameras(calib=(rig,))), preset="fast", save=("depth",))
    (job,) = make_jobs([request], tmp_path / "out", 25)
    outline = steps.begin(job).outline
    steps.record(job, outline, 0)
    rig.write_text(RIG.replace("5.0", "50.0"))
    steps.record(job, outline, 1)
    with pytest.raises(ValueError, match="piece-00000 cannot be continued: .*baseline_mm was 5.0, now 50.0"):
        steps.finish(job, outline)
    assert not job.folder.exists()
    for number in range(2):  # given again, it begins anew
        steps.record(job, steps.begin(job).outline, number)
    assert steps.finish(job, outline).frames == 30
