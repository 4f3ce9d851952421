"""``bdis bench`` and ``bdis render`` as a user runs them: what they write, how they go on, and how they fail."""

import csv
import json
import math
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import bdis
from bdis.cli import app, terminal
from bdis.evaluation.baselines import METHODS, Method
from bdis.evaluation.datasets import Dataset, Entry, Frame, open_dataset
from bdis.evaluation.networks import load_network
from bdis.evaluation.run_log import RunLog
from bdis.evaluation.runner import BenchmarkPlan, DatasetChoice, run, with_variance
from bdis.evaluation.samples import Sample
from bdis.evaluation.summary import summarise
from bdis.synthetic.renderer import render

COMMAND = [sys.executable, "-c", "from bdis.cli import main; main()"]
SMALL = "height=64,width=96"


def bdis_command(*arguments, **options):
    """The command in a process of its own."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, **options
    )


def fails(capsys, arguments, code, *words):
    assert app.run([str(argument) for argument in arguments]) == code
    said = capsys.readouterr().err
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, said
    for word in words:
        assert word in errors[0]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small benchmark that has run to its end."""
    out = tmp_path_factory.mktemp("bench") / "out"
    scenes = [f"render:instruments,frames=2,{SMALL}", f"render:plane,frames=1,{SMALL}"]
    done = bdis_command("bench", *scenes, "--methods", "bdis-fast,sgbm", "--rounds", "1", "-o", out)
    assert done.returncode == 0, done.stderr
    return out, done


# --- What it writes ---------------------------------------------------------------------------------------------------


def test_terminal_shows_a_table_per_group(finished):
    _, done = finished
    assert "rendered instruments, 2 frames" in done.stdout
    assert re.search(r"bdis-fast +\d\.\d+ +\d\.\d+", done.stdout)
    assert "median ms" in done.stdout
    assert "inside 95 %" in done.stdout
    assert "log score" not in done.stdout  # what does not fit is in the report
    assert "accuracy: 3 of 3" in done.stderr


def test_json_and_csv_agree(finished):
    out, _ = finished
    content = json.loads((out / "results.json").read_text())
    assert content["command"].startswith("bdis bench render:instruments")
    assert len(content["frames"]) == 3
    with open(out / "summary.csv") as file:
        lines = list(csv.DictReader(file))
    assert [(line["group"], line["method"]) for line in lines[:2]] == [
        ("rendered instruments", "bdis-fast"),
        ("rendered instruments", "sgbm"),
    ]
    first = content["summary"][0]
    assert float(lines[0]["mean_mm"]) == pytest.approx(first["score"]["mean_mm"], rel=1e-5)
    assert float(lines[0]["min_ms"]) <= float(lines[0]["median_ms"]) <= float(lines[0]["p99_ms"])
    with open(out / "frames.csv") as file:
        frames = [line for line in csv.DictReader(file) if line["method"] == "bdis-fast"]
    means = [float(line["mean_mm"]) for line in frames if line["group"] == "rendered instruments"]
    assert np.mean(means) == pytest.approx(first["score"]["mean_mm"], rel=1e-5)  # averaged over frames


def test_the_worst_and_the_best_frame_are_named_beside_the_average(finished):
    out, _ = finished
    with open(out / "frames.csv") as file:
        lines = [line for line in csv.DictReader(file) if line["group"] == "rendered instruments"]
    inside = [float(line["within_95"]) for line in lines if line["method"] == "bdis-fast"]
    assert len(inside) == 2
    with open(out / "summary.csv") as file:
        fast, sgbm = list(csv.DictReader(file))[:2]
    assert [float(fast[name]) for name in ("lowest_within_95", "within_95", "highest_within_95")] == pytest.approx(
        [min(inside), np.mean(inside), max(inside)], rel=1e-4
    )
    assert all(float(fast[name]) > 0 for name in ("within_68", "interval_95", "ause"))
    assert math.isfinite(float(fast["log_score"]))
    assert (fast["assessed"], sgbm["assessed"]) == ("False", "True")
    assert all(float(sgbm[name]) > 0 for name in ("within_68", "interval_95", "ause"))  # of bdis.assess


def test_json_has_the_share_that_the_paper_prints(finished):
    out, _ = finished
    methods = json.loads((out / "results.json").read_text())["frames"][0]["methods"]
    assert 0 < methods["bdis-fast"]["within_196_sigma"] <= 1
    assert methods["sgbm"]["within_196_sigma"] is None


def test_metrics_are_those_of_the_matcher(finished):
    """The whole way from the command line to the JSON, against a few lines of NumPy."""
    out, _ = finished
    pair = render("plane", 64, 96)
    result = bdis.StereoMatcher("fast", max_disparity=math.ceil((pair.full_disparity.max() + 1) / 16) * 16).match(
        pair.left, pair.right
    )
    depth = pair.focal_px * pair.baseline_mm / result.disparity
    error = np.abs(depth - pair.depth_mm)[np.isfinite(depth) & ~pair.occluded]
    frames = json.loads((out / "results.json").read_text())["frames"]
    found = next(f for f in frames if f["group"] == "rendered plane")["methods"]["bdis-fast"]["score"]
    assert found["valid"] == error.size
    assert found["mean_mm"] == pytest.approx(error.mean(), rel=1e-4)


def test_report_needs_nothing_from_outside(finished):
    out, _ = finished
    page = (out / "report.html").read_text()
    assert not re.search(r"https?:|//[a-z]", re.sub(r"data:image/\w+;base64,[\w+/=]+", "", page))
    for attribute in re.findall(r"(?:src|href)=['\"]([^'\"]*)", page):
        assert attribute.startswith(("data:", "#")), attribute[:60]
    assert not re.search(r"@import|<script|<link|url\((?!#)", page)


def test_report_has_tables_maps_and_plots(finished):
    out, _ = finished
    page = (out / "report.html").read_text()
    for words in (
        "Stereo matching benchmark", "All data sets", "Error against coverage", "Time against error", "Reliability",
        "reference surface", "error, mean", "bdis-fast", "sgbm", "inside 68 %", "inside 95 %", "worst frame %",
        "best frame %", "95 % +- px", "log score", "AUSE", "What the columns are",
    ):  # fmt: skip
        assert words in page, words
    assert page.count("<svg") == 6
    assert page.count("<img") == 2 * (3 + 2 * 3)  # left, reference and its surface; three of each method
    assert page.count("<section") == page.count("</section>")


def test_list_and_what_a_method_needs(capsys, monkeypatch):
    lacking = Method("network", "a network", 'pip install "network"', lambda most: None)
    monkeypatch.setitem(METHODS, "network", lacking)
    assert app.run(["bench", "--list"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in METHODS)
    assert 'needs: pip install "network"' in said
    assert app.run(["bench", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sgbm"]["needs"] is None
    fails(capsys, ["bench", "render:plane", "--methods", "network"], 2, 'it needs: pip install "network"')


# --- Interruption -----------------------------------------------------------------------------------------------------


def test_a_network_without_its_package_names_the_command_that_installs_it(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)  # import says: not there
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    data, out = "render:plane,frames=1,height=48,width=64", ["-o", tmp_path / "out"]
    network = ["--methods", "bdis,psmnet", "--weights", "psmnet=kitti.tar"]
    fails(capsys, ["bench", data, *network, *out], 2, "psmnet cannot run here", 'pip install "torch')
    fails(capsys, ["bench", data, "--methods", "onnx:net.onnx", *out], 2, 'pip install "onnxruntime')
    with pytest.raises(ImportError, match=r'the network psmnet needs torch: .* -m pip install "torch'):
        load_network("psmnet", "kitti.tar")


def lines_of(journal):
    return journal.read_text().splitlines() if journal.exists() else []


@pytest.mark.skipif(sys.platform == "win32", reason="uses signals of POSIX")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_goes_on_where_it_stopped(tmp_path, how):
    arguments = ["bench", "render:tissue,frames=12,height=160,width=240", "--methods", "bdis-fast,sgbm"]
    arguments += ["--rounds", "0", "--jobs", "1", "-o", str(tmp_path / "out")]
    journal = tmp_path / "out" / "journal.jsonl"
    running = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while len(lines_of(journal)) < 2 and time.monotonic() < end:
        time.sleep(0.005)
    running.send_signal(how)
    _, said = running.communicate(timeout=60)
    before = lines_of(journal)
    assert 2 <= len(before) < 12
    assert not (tmp_path / "out" / "report.html").exists()
    if how == signal.SIGINT:
        assert running.returncode == 130
        assert "the same command continues from here" in said
    again = bdis_command(*arguments)
    assert again.returncode == 0, again.stderr
    after = lines_of(journal)
    whole = [line for line in before if line.endswith("}")]
    assert after[: len(whole)] == whole  # taken over, not done again
    assert len(after) == 12
    assert len(json.loads((tmp_path / "out" / "results.json").read_text())["frames"]) == 12


def test_a_line_cut_short_is_done_again(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = RunLog(path)
    journal.add("a", {"x": math.nan})
    journal.add("b", {"x": 2})
    path.write_text(path.read_text()[:-5])
    again = RunLog(path)
    assert math.isnan(again.get("a")["x"])
    assert again.get("b") is None
    again.keep_only("a")
    assert len(lines_of(path)) == 1


def made_up(read):
    return Dataset(
        "made up", "folder", [Entry("made up", str(number), lambda n=number: read(n)) for number in range(3)]
    )


def small_frame(number, **changes):
    pair = render("plane", 48, 64, frame=number)
    rig = bdis.Rig(pair.focal_px, pair.cx, pair.cy, pair.baseline_mm)
    reference = {"reference_depth_mm": pair.depth_mm} | changes
    return Frame("made up", str(number), pair.left, pair.right, rig, max_disparity_px=32.0, **reference)


def test_other_methods_or_other_data_start_anew(tmp_path):
    reads = []

    def read(number):
        reads.append(number)
        return small_frame(number)

    def go(identity, *names, rounds=0):
        reads.clear()
        run(
            BenchmarkPlan([DatasetChoice(identity, made_up(read))], [METHODS[name] for name in names], rounds=rounds),
            tmp_path,
        )
        return list(reads)

    assert go("here", "sgbm") == [0, 1, 2]
    assert go("here", "sgbm") == []
    assert go("here", "sgbm", "bdis-fast") == [0, 1, 2]
    assert go("here", "sgbm", "bdis-fast") == []
    assert go("there", "sgbm", "bdis-fast") == [0, 1, 2]


def test_each_run_has_its_own_sample(tmp_path):
    """A report after a run with other methods in the same folder shows its own pictures."""
    shown = []
    for names in (["sgbm"], ["bdis-fast"], ["sgbm"]):
        plan = BenchmarkPlan([DatasetChoice("here", made_up(small_frame))], [METHODS[name] for name in names], rounds=0)
        (path,) = run(plan, tmp_path).samples.values()
        shown.append(list(Sample(path).maps))
    assert shown == [["sgbm"], ["bdis-fast"], ["sgbm"]]


def test_in_parallel_or_not_the_same(tmp_path):
    data = open_dataset(f"render:instruments,frames=5,{SMALL}")
    methods = [METHODS["bdis-fast"], METHODS["sgbm"]]
    one, many = (
        run(BenchmarkPlan([DatasetChoice("x", data)], methods, rounds=0, jobs=jobs), tmp_path / str(jobs)).frames
        for jobs in (1, 3)
    )
    assert json.dumps(one) == json.dumps(many)


# --- Frames and methods that do not work ------------------------------------------------------------------------------


class Broken:
    def match(self, left, right):
        raise ValueError("no support points")


def test_a_method_that_fails_is_recorded(tmp_path):
    broken = Method("broken", "", None, lambda most: Broken())
    outcome = run(
        BenchmarkPlan([DatasetChoice("x", made_up(small_frame))], [broken, METHODS["sgbm"]], rounds=1), tmp_path
    )
    assert outcome.frames[0]["methods"]["broken"] == {"failed": "ValueError: no support points"}
    row, other = summarise(outcome)
    assert (row.failed, row.scored, row.times) == (3, 0, None)
    assert other.scored == 3


def test_frames_without_enough_reference_are_not_scored(tmp_path):
    def read(number):
        sparse = np.full((48, 64), np.nan, np.float32)
        sparse[0, :number] = 60
        return small_frame(number, reference_depth_mm=None if number == 2 else sparse, min_reference=0.1)

    outcome = run(BenchmarkPlan([DatasetChoice("x", made_up(read))], [METHODS["sgbm"]], rounds=0), tmp_path)
    assert [record["skipped"] for record in outcome.frames] == [
        "the reference covers 0% of the pixels; 10% are required",
        "the reference covers 0% of the pixels; 10% are required",
        "no reference",
    ]
    (row,) = summarise(outcome)
    assert (row.frames, row.scored) == (3, 0)
    assert row.predicted > 0.3


def test_variance_is_asked_for_where_there_is_one():
    plain = bdis.StereoMatcher("fast")
    sure = with_variance(plain)
    assert (plain.settings.variance, sure.settings.variance) == (False, True)
    assert sure.settings.patch_size == plain.settings.patch_size
    other = METHODS["sgbm"].make(64)
    assert with_variance(other) is other


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, ["give data sets (folders, or render:SCENE), or --paper PATH"]),
        (["render:plane", "--paper", "x"], 2, ["give data sets"]),
        (["render:plane", "--methods", "bdis,magic"], 2, ["unknown method 'magic'", "sgbm", "bdis bench --list"]),
        (["render:moon"], 1, ["unknown scene 'moon'"]),
        (["nowhere"], 1, ["nowhere does not exist"]),
        (["."], 1, ["is no data set bdis knows", "Experiment_1", "keyframe_M"]),
        (["kitti:."], 1, ["is not KITTI 2015: there is no image_2"]),
        ([".", "--kind", "kitti"], 1, ["is not KITTI 2015"]),
        ([".", "--kind", "city"], 1, ["unknown kind of data set 'city'"]),
        (["render:plane", "--option", "decoding=exact"], 2, ["--option decoding: none of these data sets has it"]),
        (["render:plane", "--option", "decoding"], 2, ["expected NAME=VALUE"]),
        (["hamlyn:video", "--option", "baseline_mm=far"], 1, ["baseline_mm must be a number, but it is 'far'"]),
        (["render:plane", "render:plane"], 2, ["rendered plane is given twice"]),
        (["render:plane", "--rounds", "-1"], 2, ["--rounds must not be negative"]),
        (["render:plane", "--frames", "0"], 1, ["expected 1 or more"]),
        (["--paper", "."], 1, ["is not the authors' set: there is no"]),
    ],
)
def test_wrong_command_lines(capsys, tmp_path, monkeypatch, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "video" / "image01").mkdir(parents=True)
    fails(capsys, ["bench", *arguments, "-o", "out"], code, *words)
    assert not (tmp_path / "out").exists()
    terminal.mode = terminal.Mode()


# --- bdis render ------------------------------------------------------------------------------------------------------


def test_render_writes_what_bench_reads(tmp_path):
    out = tmp_path / "scene"
    done = bdis_command("render", "instruments", "--frames", 2, "--size", "96x64", "--set", "smoke=0.3", "-o", out)
    assert done.returncode == 0, done.stderr
    assert "hidden from the right camera" in done.stdout
    files = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.*"))
    folders = {"left": "png", "right": "png", "depth": "tiff", "disparity": "tiff", "occluded": "png"}
    expected = [f"{folder}/00000{number}.{ending}" for folder, ending in folders.items() for number in range(2)]
    assert files == sorted([*expected, "rig.toml", "scene.json"])
    exact = render("instruments", 64, 96, frame=1, smoke=0.3)
    frame = open_dataset(out)[1].read()
    np.testing.assert_array_equal(frame.left, exact.left)
    np.testing.assert_array_equal(frame.depth_mm, exact.depth_mm)
    bench = bdis_command("bench", out, "--methods", "sgbm", "--rounds", "0", "--json", "-o", tmp_path / "bench")
    assert bench.returncode == 0, bench.stderr
    (row,) = json.loads(bench.stdout)["summary"]
    assert (row["group"], row["frames"]) == ("rendered instruments", 2)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["moon"], 2, ["unknown scene 'moon'; there are tissue"]),
        (["plane", "--size", "big"], 2, ["--size is 'big'; expected WIDTHxHEIGHT"]),
        (["plane", "--set", "gravity=1"], 2, ["unknown option gravity; there are depth_mm"]),
        (["plane", "--set", "smoke=7"], 1, ["smoke must be from 0 to 1"]),
        (["plane", "--frames", "0"], 1, ["frames is 0; expected 1 or more"]),
    ],
)
def test_wrong_renderings(capsys, tmp_path, arguments, code, words):
    fails(capsys, ["render", *arguments, "-o", tmp_path / "out"], code, *words)
    assert not (tmp_path / "out").exists()


def test_render_does_not_write_over_a_folder(capsys, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    fails(capsys, ["render", "plane", "--size", "48x32", "-o", tmp_path], 1, "is not empty")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
