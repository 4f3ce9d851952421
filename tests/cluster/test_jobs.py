"""Which recordings a batch has, and what it refuses before any work starts."""

import pickle
import socket
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from bdis.cameras.given_cameras import GivenCameras
from bdis.cluster.jobs import find_sources, make_jobs, name_of
from bdis.common.bad_request import BadRequest
from bdis.video.opened_source import SourceRequest
from bdis.video.recording.run_request import RunRequest
from tests.cli.commands import fails


@pytest.fixture
def videos(tmp_path):
    for name in ("b.mp4", "a.MKV", "notes.md"):
        (tmp_path / name).touch()
    return tmp_path


def names(sources):
    return [Path(left).name for left, _ in sources]


def test_a_folder_of_videos_is_its_videos_in_order(videos):
    assert names(find_sources([str(videos)])) == ["a.MKV", "b.mp4"]


def test_a_folder_without_videos_is_one_source(tmp_path):
    (tmp_path / "left").mkdir()
    assert find_sources([str(tmp_path)]) == [(str(tmp_path.resolve()), None)]


def test_a_pattern_is_what_it_matches(videos):
    assert names(find_sources([str(videos / "*.mp4")])) == ["b.mp4"]


def test_a_pattern_that_matches_folders_is_their_videos(videos):
    assert names(find_sources([str(videos.parent / f"{videos.name[:-1]}?")])) == ["a.MKV", "b.mp4"]


def test_a_pattern_in_a_list_that_matches_the_list_does_not_recurse(videos):
    (videos / "all.txt").write_text("**\n")
    with pytest.raises(BadRequest, match="is named in a list, but is a list itself"):
        find_sources([str(videos / "all.txt")])


def test_a_pattern_that_matches_the_whole_disk_is_refused_before_it_fills_the_memory(videos, monkeypatch):
    monkeypatch.setattr("bdis.cluster.patterns.MAX_MATCHES", 1)
    assert names(find_sources([str(videos / "*.mp4")])) == ["b.mp4"]
    with pytest.raises(BadRequest, match=r"matches more than 1 files; give a narrower pattern"):
        find_sources([str(videos / "**")])


def test_hidden_files_of_a_folder_are_not_sources(videos):
    (videos / "._b.mp4").touch()  # what macOS leaves on network drives
    assert names(find_sources([str(videos)])) == ["a.MKV", "b.mp4"]


def test_the_same_pattern_does_not_find_the_results_of_the_batch_as_further_sources(videos):
    (videos / "b").mkdir()
    for name in ("preview.mp4", "manifest.json", "frames.csv"):
        (videos / "b" / name).touch()
    assert names(find_sources([str(videos / "**" / "*.mp4")])) == ["b.mp4"]
    assert names(find_sources([str(videos / "b*")])) == ["b.mp4"]


def test_workers_find_a_calibration_that_was_given_by_a_relative_path(videos, monkeypatch):
    (videos / "rig.toml").touch()
    monkeypatch.chdir(videos)
    request = RunRequest(SourceRequest("b.mp4", cameras=GivenCameras(calib=(Path("rig.toml"),))))
    (job,) = make_jobs([request], videos / "out", 25)
    assert job.request.source.cameras.calib == (videos.resolve() / "rig.toml",)


def test_a_list_has_sources_and_pairs_of_views_beside_it(videos):
    listed = videos / "list.txt"
    listed.write_text("# a comment\n\nb.mp4\na.MKV\tb.mp4\nrender:plane\n")
    found = find_sources([str(listed)])
    assert found[0] == (str((videos / "b.mp4").resolve()), None)
    assert found[1] == (str((videos / "a.MKV").resolve()), str((videos / "b.mp4").resolve()))
    assert found[2] == ("render:plane", None)


def test_nothing_found_and_twice_the_same_are_refused(videos):
    with pytest.raises(BadRequest, match="no sources"):
        find_sources([str(videos / "*.avi")])
    with pytest.raises(BadRequest, match="given twice"):
        find_sources([str(videos), str(videos / "b.mp4")])
    with pytest.raises(FileNotFoundError):
        find_sources([str(videos / "c.mp4")])
    (videos / "empty").mkdir()
    with pytest.raises(BadRequest, match="is empty"):
        find_sources([str(videos / "empty")])


def test_a_recording_takes_no_more_memory_once_it_was_sent_to_a_worker(videos):
    (job,) = make_jobs([RunRequest(SourceRequest("a.mp4"))], videos, 25)
    assert pickle.loads(pickle.dumps(job)) == job
    sent = [job, job.request, job.request.source, job.request.source.cameras, job.request.bag]
    assert not any(hasattr(each, "__dict__") for each in sent)


def test_map_recordings_passes_options_of_the_source_and_of_the_run_on(videos):
    pytest.importorskip("distributed")
    from bdis.cluster import map_recordings

    client = SimpleNamespace(submit=lambda function, job, pure: job)
    place, cameras = str(videos / "b.mp4"), GivenCameras(focal=500, baseline=5)
    (job,) = map_recordings(client, [place], videos, cameras=cameras, layout="top-bottom", fps=30.0, every=2)
    assert job.request == RunRequest(SourceRequest(place, layout="top-bottom", fps=30.0, cameras=cameras), every=2)
    with pytest.raises(TypeError, match="colour"):
        map_recordings(client, [place], videos, colour="red")


def test_a_file_that_only_this_machine_sees_is_told_as_such(videos):
    from bdis.cluster.batch import _with_hint

    place = str(videos / "b.mp4")
    (job,) = make_jobs([RunRequest(SourceRequest(place))], videos / "out", 25)
    reason = f"{place}: no such file or folder, camera or URL (on node7)"
    assert "must see it under the same path" in _with_hint(reason, job)
    assert _with_hint(f"{place} is damaged", job) == f"{place} is damaged"
    (videos / "b.mp4").unlink()
    assert _with_hint(reason, job) == reason


def test_two_recordings_of_one_name_are_refused(videos):
    (videos / "other").mkdir()
    (videos / "other" / "B.mkv").touch()
    sources = [str(videos / "b.mp4"), str(videos / "other" / "B.mkv")]
    with pytest.raises(BadRequest, match="would both be written to"):
        make_jobs([RunRequest(SourceRequest(place)) for place in sources], videos, 25)


def test_a_name_that_is_not_utf_8_hung_the_batch_for_ever(videos):
    requests = [RunRequest(SourceRequest(str(videos / name))) for name in ("b.mp4", "\udcff.mp4")]
    with pytest.raises(BadRequest, match=r"udcff.mp4' is not UTF-8, and cannot be sent to workers; rename it") as error:
        make_jobs(requests, videos / "out", 25)
    assert str(error.value).isprintable()
    with pytest.raises(BadRequest, match="is not UTF-8"):
        make_jobs(requests[:1], videos / "\udcff", 25)


def test_a_name_never_leaves_the_folder_or_hides():
    assert name_of("/x/..mp4") == "recording"
    assert "/" not in name_of("render:colon,texture=/etc/passwd")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["no/such/*.mp4"], 2, ["no sources in no/such/*.mp4"]),
        (["render:plane", "render:plane"], 2, ["given twice"]),
        (["render:plane", "--piece-frames", "30"], 2, ["multiple of 25"]),
        (["render:plane", "--set", "threads=2"], 2, ["one core runs one match"]),
        (["render:plane", "--scheduler", "host"], 2, ["tcp://host:8786"]),
        (["render:plane", "--scheduler", "tcp://h:1", "--slurm", "cores=1,memory=1GB,time=1:00"], 2, ["not both"]),
        (["render:plane", "--slurm", "cores=4"], 2, ["lacks memory, time"]),
        (["render:plane", "--slurm", "cores=4,memory=lots,time=1:00"], 2, ["memory=lots", "16GB"]),
        (["render:plane", "--slurm", "cores=4,memory=1GB,time=tomorrow"], 2, ["time=tomorrow", "04:00:00"]),
        (["render:plane", "--slurm", "cores=4,memory=1GB,time=1:0,partition=a b;rm"], 2, ["letters, digits"]),
        (["render:plane", "--calib", "no-such.yaml"], 1, ["no-such.yaml: no such file"]),
        (["render:plane", "--tls-ca", "x"], 2, ["given together"]),
        (["render:plane", "--scheduler", "tls://h:1"], 2, ["belong to a scheduler at tls"]),
    ],
)
def test_what_cannot_be_is_one_line_before_any_work(capsys, tmp_path, arguments, code, words):
    out = tmp_path / "out"
    fails(capsys, ["batch", "run", *arguments, "-o", out], code, *words)
    assert not out.exists()


def test_a_scheduler_that_does_not_answer_is_named(capsys, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("bdis.cluster.connection.CONNECT_S", 0.3)
    arguments = ["batch", "run", "render:plane", "--scheduler", "tcp://127.0.0.1:9", "-o", tmp_path / "out"]
    fails(capsys, arguments, 1, "no Dask scheduler answers at tcp://127.0.0.1:9")


def test_a_web_server_given_as_scheduler_does_not_hang_the_command(capsys, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("bdis.cluster.connection.CONNECT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        arguments = ["batch", "run", "render:plane", "--scheduler", address, "-o", tmp_path / "out"]
        fails(capsys, arguments, 1, f"no Dask scheduler answers at {address}", "port of its page")


def test_files_that_are_no_certificates_are_one_line(capsys, tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "ca.pem").touch()
    tls = [text for name in ("ca", "cert", "key") for text in (f"--tls-{name}", tmp_path / "ca.pem")]
    arguments = ["batch", "run", "render:plane", "--scheduler", "tls://127.0.0.1:9", *tls, "-o", tmp_path / "out"]
    fails(capsys, arguments, 2, "--tls-ca, --tls-cert and --tls-key cannot be used")


def test_dry_run_of_slurm_shows_the_script(capsys, tmp_path):
    pytest.importorskip("dask_jobqueue")
    from bdis.cli.app import run

    slurm = "partition=cpu,cores=8,memory=16GB,time=04:00:00"
    assert run(["batch", "run", "render:plane", "--slurm", slurm, "--dry-run", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    for line in ("#SBATCH -p cpu", "#SBATCH --cpus-per-task=8", "#SBATCH -t 04:00:00", "--nworkers 8", "--nthreads 1"):
        assert line in said
    assert not (tmp_path / "out").exists()


def test_dry_run_of_a_benchmark_shows_script_frames_and_methods(capsys, tmp_path):
    pytest.importorskip("dask_jobqueue")
    from bdis.cli.app import run

    scene = "render:plane,frames=3,height=48,width=64"
    slurm = ["--slurm", "cores=8,memory=16GB,time=04:00:00", "--dry-run", "-o", str(tmp_path / "out")]
    assert run(["batch", "bench", scene, "--sweep", "patch_size=6,8", *slurm]) == 0
    said = capsys.readouterr().out
    for text in ("#SBATCH --cpus-per-task=8", scene, "3", "patch_size=6", "patch_size=8"):
        assert text in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("sbatch", "words"),
    [
        (None, "this machine has no sbatch"),
        ("echo 'sbatch: error: invalid partition specified: cpu' >&2; exit 1", "invalid partition specified: cpu"),
        ("echo no number", "SLURM does not take the jobs"),
    ],
)
def test_jobs_that_slurm_does_not_take_are_one_line_at_once(capsys, tmp_path, monkeypatch, sbatch, words):
    pytest.importorskip("dask_jobqueue")
    programs = tmp_path / "bin"
    programs.mkdir()
    if sbatch is not None:
        (programs / "sbatch").write_text(f"#!/bin/sh\n{sbatch}\n")
        (programs / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    slurm = ["--slurm", "partition=cpu,cores=1,memory=1GB,time=1:00", "-o", tmp_path / "out"]
    begin = time.monotonic()
    fails(capsys, ["batch", "run", "render:plane,frames=2,height=48,width=64", *slurm], 1, words)
    assert time.monotonic() - begin < 60  # the default of --wait is 300 s
