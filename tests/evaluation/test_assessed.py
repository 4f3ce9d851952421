"""Methods of ``bdis bench`` without a confidence of their own are given that of ``bdis.assess``."""

import csv
import json

import numpy as np
import pytest

import bdis
from bdis.cli.app import run as run_command
from bdis.evaluation.assessed import with_assessed_confidence
from bdis.evaluation.baselines import METHODS, Method
from bdis.evaluation.datasets import Dataset, Entry, Frame
from bdis.evaluation.report.columns import COLUMNS
from bdis.evaluation.runner import BenchmarkPlan, DatasetChoice, run
from bdis.evaluation.summary import summarise
from bdis.synthetic.renderer import render

SCENE = "render:instruments,frames=2,height=96,width=128"


def frame_of(pair):
    rig = bdis.Rig(pair.focal_px, pair.cx, pair.cy, pair.baseline_mm)
    return Frame("made up", "1", pair.left, pair.right, rig, pair.depth_mm, max_disparity_px=32.0)


@pytest.fixture(scope="module")
def frame():
    return frame_of(render("instruments", 96, 128))


def rows_of(frame, folder, *methods, **options):
    """The summary of methods on one frame, by method."""
    data = Dataset("made up", "folder", [Entry("made up", "1", lambda: frame)])
    plan = BenchmarkPlan([DatasetChoice("x", data)], methods, rounds=0, **options)
    return {row.method: row for row in summarise(run(plan, folder))}


def column(title):
    return next(each for each in COLUMNS if each.title == title)


def test_the_disparities_stay_and_confidence_is_added(frame):
    result = METHODS["sgbm"].make(32).match(frame.left, frame.right)
    assessed = with_assessed_confidence(result, frame)
    np.testing.assert_array_equal(assessed.disparity, result.disparity)
    np.testing.assert_array_equal(np.isfinite(assessed.variance), result.known)
    assert np.ptp(assessed.probability[result.known]) > 0.5
    assert not assessed.probability[~result.known].any()


def test_a_confidence_of_its_own_is_kept(frame):
    matched = bdis.StereoMatcher("fast").match(frame.left, frame.right)
    assert with_assessed_confidence(matched, frame) is None  # a probability
    matched = bdis.StereoMatcher("fast", variance=True).match(frame.left, frame.right)
    assert with_assessed_confidence(matched, frame) is None  # a variance
    nothing = np.full(frame.left.shape[:2], np.nan, np.float32)
    assert with_assessed_confidence(bdis.StereoResult(nothing, np.zeros_like(nothing)), frame) is None


def test_methods_are_cut_by_what_is_assessed(frame, tmp_path):
    """SGBM predicts more than the half that the other method predicts, and its worst pixels are taken away."""

    class Half:
        def match(self, left, right):
            disparity = frame.disparity.copy()
            disparity[:48] = np.nan
            return bdis.StereoResult(disparity, np.isfinite(disparity).astype(np.float32))

    methods = METHODS["sgbm"], Method("half", "", None, lambda most: Half()), METHODS["bdis"]
    on, off = (rows_of(frame, tmp_path / str(assess), *methods, assess=assess) for assess in (True, False))
    assert [(row.assessed, row.has_confidence) for row in on.values()] == [(True, True), (True, True), (False, True)]
    assert [row.assessed for row in off.values()] == [False, False, False]
    assert [row.has_confidence for row in off.values()] == [False, False, True]
    assert off["sgbm"].equal_mean == off["sgbm"].score.mean_mm  # not cut
    assert on["sgbm"].equal_mean < 0.8 * on["sgbm"].score.mean_mm
    assert on["sgbm"].score.mean_mm == off["sgbm"].score.mean_mm
    assert (on["bdis"].score, on["bdis"].equal_mean) == (off["bdis"].score, off["bdis"].equal_mean)
    assert on["sgbm"].reliability is not None
    assert off["sgbm"].reliability is None
    assert column("equal cov.").text(on["sgbm"]).endswith("^")
    assert column("inside 95 %").text(on["sgbm"]).endswith("^")
    assert column("equal cov.").text(off["sgbm"]).endswith("*")
    assert column("inside 95 %").text(off["sgbm"]) == "-"
    assert column("equal cov.").text(on["bdis"])[-1].isdigit()


def test_the_switch_is_part_of_what_is_reused(frame, tmp_path):
    on = rows_of(frame, tmp_path, METHODS["sgbm"])
    off = rows_of(frame, tmp_path, METHODS["sgbm"], assess=False)
    assert (on["sgbm"].assessed, off["sgbm"].assessed) == (True, False)


def test_what_cannot_be_assessed_stays_without_confidence(frame, tmp_path, monkeypatch):
    def too_small(left, right, disparity):
        raise ValueError("too small to judge disparities")

    monkeypatch.setattr("bdis.evaluation.assessed.assess", too_small)
    row = rows_of(frame, tmp_path, METHODS["sgbm"])["sgbm"]
    assert (row.assessed, row.has_confidence, row.scored) == (False, False, 1)


def test_files_and_report_say_which_methods_were_assessed(tmp_path, capsys):
    arguments = ["bench", SCENE, "--methods", "bdis,sgbm", "--rounds", "0", "--jobs", "1", "-o", str(tmp_path / "on")]
    assert run_command(arguments) == 0
    said = capsys.readouterr().out
    assert "^ confidence of bdis.assess, because the method has none of its own" in said
    content = json.loads((tmp_path / "on" / "results.json").read_text())
    assert {row["method"]: row["assessed"] for row in content["summary"]} == {"bdis": False, "sgbm": True}
    assert [frame["methods"]["sgbm"]["assessed"] for frame in content["frames"]] == [True, True]
    # The paper's share of errors within 1.96 sigma is that of a method's own variance.
    assert content["frames"][0]["methods"]["sgbm"]["within_196_sigma"] is None
    for name in ("summary.csv", "frames.csv"):
        with open(tmp_path / "on" / name) as file:
            assert {line["method"]: line["assessed"] for line in csv.DictReader(file)} == {
                "bdis": "False",
                "sgbm": "True",
            }
    page = (tmp_path / "on" / "report.html").read_text()
    assert "Methods without a confidence of their own (sgbm) are given that of bdis.assess" in page


def test_it_can_be_switched_off(tmp_path, capsys):
    arguments = ["bench", SCENE, "--methods", "bdis,sgbm", "--rounds", "0", "--jobs", "1", "--no-assess", "--json"]
    assert run_command([*arguments, "-o", str(tmp_path)]) == 0
    assert [row["assessed"] for row in json.loads(capsys.readouterr().out)["summary"]] == [False, False]
    with open(tmp_path / "summary.csv") as file:
        _, sgbm = csv.DictReader(file)
    for name in ("within_68", "within_95", "lowest_within_95", "highest_within_95", "interval_95", "log_score", "ause"):
        assert sgbm[name] == "", name  # it claims no variance
    assert "are given that of bdis.assess" not in (tmp_path / "report.html").read_text()
