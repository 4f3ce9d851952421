"""What workers do, without a cluster: again, at the same time, and with damaged recordings."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from bdis.cluster import steps
from bdis.cluster.jobs import make_jobs
from bdis.cluster.journal import Journal, read_status
from bdis.video.opened_source import SourceRequest
from bdis.video.recording import read_manifest
from bdis.video.recording.run_request import RunRequest
from tests.cli.recordings import contents
from tests.video.test_pieces import RIG, RIG_OPTIONS, by_run
from tests.video.test_pieces import video as video  # a fixture

SOURCE = "render:plane,frames=60,distinct=5,height=48,width=64"


def job_of(source, out, **options):
    (job,) = make_jobs([RunRequest(SourceRequest(source), preset="fast", **options)], out, 25)
    return job


def do_all(job):
    outline = steps.begin(job).outline
    for number in (2, 0, 1):
        steps.record(job, outline, number)
    return outline, steps.finish(job, outline)


def test_steps_done_twice_and_in_any_order_leave_the_files_of_run(tmp_path, capsys):
    job = job_of(SOURCE, tmp_path / "out", save=("depth", "video", "preview"))
    outline = steps.begin(job).outline
    for number in (2, 0, 1, 0):
        assert steps.record(job, outline, number).frames == (10 if number == 2 else 25)
    kept = shutil.copytree(job.work, tmp_path / "kept")
    assert steps.finish(job, outline).frames == 60
    assert not job.work.exists()
    late = steps.record(job, outline, 1)  # a worker that was taken for dead
    assert late.frames == 0
    assert steps.finish(job, outline).frames == 60
    assert steps.begin(job).outline is None
    shutil.copytree(kept, job.work)
    assert steps.finish(job, outline).frames == 60
    assert not job.work.exists()
    whole = by_run(tmp_path / "whole", SOURCE, "--preset", "fast", "--save", "depth,video,preview")
    assert contents(job.folder) == contents(whole)


def test_videos_joined_by_others_are_moved_and_one_that_a_killed_worker_took_along_is_joined_again(tmp_path, capsys):
    job = job_of(SOURCE, tmp_path / "out", save=("depth", "video", "preview"))
    outline = steps.begin(job).outline
    assert outline.videos == ("video", "preview")
    for number in range(3):
        steps.record(job, outline, number)
    for number in (1, 0, 1):
        steps.join_video(job, outline, number)
    joined = job.work / "joined"
    assert sorted(path.name for path in joined.glob("*/*")) == ["depth.mkv", "preview.mp4"]
    assert not list(job.work.glob("attempt-*"))
    moved = (joined / "preview" / "preview.mp4").stat().st_ino
    (joined / "video" / "depth.mkv").rename(tmp_path / "taken.mkv")
    assert steps.finish(job, outline).frames == 60
    assert (job.folder / "preview.mp4").stat().st_ino == moved
    assert not job.work.exists()
    steps.join_video(job, outline, 0)  # by a worker that was taken for dead
    assert not job.work.exists()
    whole = by_run(tmp_path / "whole", SOURCE, "--preset", "fast", "--save", "depth,video,preview")
    assert contents(job.folder) == contents(whole)


def test_a_worker_with_two_threads_does_not_mix_its_recordings_up(tmp_path):
    """One thread each is what the docs say; two used one matcher and one open source, and failed."""
    outs = [job_of(SOURCE, tmp_path / name, save=("depth",)) for name in ("one", "both")]
    do_all(outs[0])
    outline = steps.begin(outs[1]).outline
    with ThreadPoolExecutor(2) as threads:
        assert sum(threads.map(lambda number: steps.record(outs[1], outline, number).frames, range(3))) == 60
    steps.finish(outs[1], outline)
    assert contents(outs[1].folder) == contents(outs[0].folder)


def test_a_piece_that_a_network_drive_shows_late_is_waited_for(tmp_path, monkeypatch):
    job = job_of(SOURCE, tmp_path / "out", save=("depth",))
    outline = steps.begin(job).outline
    for number in range(3):
        steps.record(job, outline, number)
    hidden = (job.work / "piece-00001").rename(job.work / "hidden")
    with monkeypatch.context() as patched:
        patched.setattr("bdis.cluster.steps.SEEN_WITHIN_S", 0.0)
        with pytest.raises(FileNotFoundError, match="do all machines share this folder"):
            steps.finish(job, outline)
    monkeypatch.setattr("bdis.cluster.steps.time.sleep", lambda seconds: hidden.rename(job.work / "piece-00001"))
    assert steps.finish(job, outline).frames == 60


def test_an_attempt_that_failed_leaves_nothing(tmp_path, monkeypatch):
    job = job_of(SOURCE, tmp_path / "out")
    outline = steps.begin(job).outline

    def full(*arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("bdis.cluster.steps.record_piece", full)
        with pytest.raises(OSError, match="No space left"):
            steps.record(job, outline, 0)
    assert list(job.work.iterdir()) == []
    assert steps.record(job, outline, 0).frames == 25


def test_a_recording_that_lost_frames_is_made_in_one_piece(video, tmp_path, capsys):
    damaged = tmp_path / "damaged.mp4"
    content = bytearray(video.read_bytes())
    content[len(content) // 3 : len(content) // 3 + 4000] = bytes(4000)
    damaged.write_bytes(content)
    request = RunRequest(SourceRequest(str(damaged), cameras=RIG), preset="fast")
    (job,) = make_jobs([request], tmp_path / "out", 25)
    outline = steps.begin(job).outline
    for number in range(3):
        steps.record(job, outline, number)
    steps.join_video(job, outline, 0)
    assert not list(job.work.glob("joined/*"))
    done = steps.finish(job, outline)
    assert "in one piece" in done.warnings[0]
    whole = by_run(tmp_path / "whole", damaged, *RIG_OPTIONS, "--preset", "fast")
    assert contents(job.folder) == contents(whole)
    assert read_manifest(job.folder)["lost"] == read_manifest(whole)["lost"] > 0


def test_a_folder_with_something_else_is_not_touched(tmp_path):
    job = job_of(SOURCE, tmp_path / "out")
    job.folder.mkdir(parents=True)
    (job.folder / "thesis.tex").touch()
    with pytest.raises(FileExistsError, match="not empty"):
        steps.begin(job)


def test_a_batch_goes_on_only_with_the_same_options_and_one_process_at_a_time(tmp_path):
    with Journal(tmp_path, {"preset": "fast"}, ["a", "b"]) as journal:
        journal.add("a", "begun", pieces=4)
        journal.add("a", "piece", frames=25)
        journal.add("b", "failed", reason="it is no video")
        assert read_status(tmp_path)["is_running"]
        with pytest.raises(ValueError, match="another process"):
            Journal(tmp_path, {"preset": "fast"}, ["a", "b"])
    status = read_status(tmp_path)
    assert not status["is_running"]
    assert (status["recordings"]["a"].pieces_done, status["recordings"]["b"].reason) == (1, "it is no video")
    with pytest.raises(ValueError, match="preset was 'fast', now 'paper'"):
        Journal(tmp_path, {"preset": "paper"}, ["a"])
    with Journal(tmp_path, {"preset": "fast"}, ["a", "b", "c"]) as journal:
        assert {state.state for state in journal.states.values()} == {"waiting"}


def test_a_recording_of_one_piece_that_is_being_recorded_is_not_called_waiting(tmp_path):
    begun = tmp_path / ".batch" / "pieces" / "a"
    begun.mkdir(parents=True)
    with Journal(tmp_path, {}, ["a", "b"]):
        states = read_status(tmp_path)["recordings"]
        assert (states["a"].state, states["b"].state) == ("working", "waiting")
    assert read_status(tmp_path)["recordings"]["a"].state == "waiting"


def test_a_journal_that_was_cut_or_scribbled_on_is_read_as_far_as_it_goes(tmp_path):
    with Journal(tmp_path, {}, ["a"]) as journal:
        journal.add("a", "begun", pieces=4)
    path = tmp_path / ".batch" / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b'[]\n{"event": "piece"}\n{"event": 1, "recording": 2}\n\xff\n{"even')
    assert read_status(tmp_path)["recordings"]["a"].pieces == 4
