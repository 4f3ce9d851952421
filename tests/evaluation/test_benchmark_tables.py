"""The tables of ``python -m benchmarks`` on the honesty of the claimed uncertainty."""

import math
from dataclasses import replace

import numpy as np
import pytest

import bdis
from bdis.evaluation.datasets import frame_of
from bdis.evaluation.errors import Comparison
from bdis.synthetic import render
from benchmarks import others, report, tables, uncertainty
from benchmarks.__main__ import SECTIONS
from benchmarks.real import REAL_PAIRS, real_sets


def small_frames(count):
    pairs = [render("tissue", 120, 160, seed=seed, disparity_px=10, noise=1.0) for seed in range(count)]
    return [frame_of(pair, "small", str(seed)).without_occluded() for seed, pair in enumerate(pairs)]


def named(frames, name):
    return [replace(frame, name=name) for frame in frames]


def comparison(error, sigma, *, in_px=True):
    error, sigma = np.array(error, float), np.array(sigma, float)
    error_mm = np.full(len(error), np.nan) if in_px else error
    return Comparison(error_mm, error, np.linspace(0.5, 1, len(error)), sigma, sigma, len(error))


def cells(table):
    """Cells of a Markdown table by the names of its columns, a dict per row."""
    header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_figures_by_hand():
    """Frames with 90 and 100 % of the errors inside, and one with too few pixels to count."""
    errors = np.repeat([0.0, 5.0], [900, 100])
    found = uncertainty.figures(
        [comparison(errors, np.ones(1000)), comparison(np.zeros(2000), 3 * np.ones(2000)), comparison([9], [1])]
    )
    assert [found[name] for name in ("lowest_within_95", "within_95", "highest_within_95")] == [0.9, 0.95, 1]
    assert found["within_68"] == pytest.approx(0.95)
    assert found["interval_95_px"] == pytest.approx(1.837 * 2, abs=1e-3)
    assert found["ause_unit"] == "px"
    assert uncertainty.figures([comparison(errors, np.ones(1000), in_px=False)])["ause_unit"] == "mm"


def test_a_set_of_frames_without_enough_pixels_has_no_figures():
    found = uncertainty.figures([comparison([1], [1])])
    assert math.isnan(found["within_95"])
    assert math.isnan(found["lowest_within_95"])


def test_honesty_has_a_row_for_each_preset_and_set(monkeypatch):
    monkeypatch.setattr(uncertainty, "real_sets", lambda: {"real/tissue": named(small_frames(1), "phantom-22")})
    found = uncertainty.honesty({"rendered": small_frames(2)})
    rows = cells(tables.table("honesty", found))
    sets = ["real/tissue", "real/tissue, errors of the reference allowed for", "rendered"]
    assert [(row["settings"], row["set"]) for row in rows] == [
        (preset, name) for preset in ("balanced", "accurate") for name in sets
    ]
    for row in rows:
        low, high = (float(part.rstrip("%")) for part in row["worst and best frame"].split(" - "))
        inside = {share: float(row[f"inside {share} %"].rstrip("%")) for share in (68, 95)}
        assert inside[68] <= inside[95]
        assert low <= inside[95] <= high
        assert float(row["95 %: mean +- px"]) > 0
        assert math.isfinite(float(row["log score"]))
        assert row["AUSE"].endswith(" mm")


def test_what_is_allowed_for_the_reference_widens_the_intervals(monkeypatch):
    """0.3 px added in squares: the widths grow, and more errors lie inside."""
    monkeypatch.setattr(uncertainty, "real_sets", lambda: {"real/tissue": named(small_frames(1), "phantom-22")})
    found = uncertainty.honesty({})["balanced"]
    plain, allowed = found.values()
    assert plain["interval_95_px"] < allowed["interval_95_px"] <= plain["interval_95_px"] + 1.837 * 0.3 + 1e-3
    assert plain["within_95"] <= allowed["within_95"]
    assert plain["coverage"] == allowed["coverage"]


def test_paper_and_fast_with_a_variance_had_no_row_of_real_pairs(monkeypatch):
    monkeypatch.setattr(uncertainty, "real_sets", lambda: {"real/tissue": named(small_frames(1), "phantom-22")})
    rows = cells(tables.table("uncertainty", uncertainty.variants({"rendered": small_frames(1)})))
    real = ["real/tissue", "real/tissue, errors of the reference allowed for"]
    for name in uncertainty.VARIANTS:
        sets = [row["set"] for row in rows if row["settings"] == name]
        assert sets == [*(real if name in ("paper", "fast") else []), "rendered"]


def test_other_settings_have_the_same_columns(monkeypatch):
    monkeypatch.setattr(uncertainty, "real_sets", dict)
    frames = small_frames(1)
    found = uncertainty.variants({"rendered": frames})
    assert [row["settings"] for row in cells(tables.table("uncertainty", found))] == list(uncertainty.VARIANTS)


def test_other_matchers_are_assessed_and_cut_by_their_own_checks(monkeypatch):
    monkeypatch.setattr(others, "real_sets", dict)
    monkeypatch.setattr(others, "ASSESSED", ("bm", "dis-flow"))
    monkeypatch.setattr(others, "KEPT", 0.98)  # so many of this simple scene are unique
    block, flow = cells(tables.table("assessed", others.assessed({"rendered": small_frames(1)})))
    for row in (block, flow):
        assert float(row["AUSE / with a constant confidence"]) < 1
        assert float(row["error of the surest 80 %"]) > 0
        assert float(row["of 80 % by its left-right check"]) > 0
    assert block["by its uniqueness; ours at that coverage"].count(";") == 1
    assert flow["by its uniqueness; ours at that coverage"] == "-"


def test_disparities_of_both_images_that_agree_are_no_distance_apart():
    """The reference of a flat scene, as if a matcher had found it in both images; one pixel is wrong."""
    frame = frame_of(render("plane", 64, 96, seed=1, disparity_px=8), "small", "0").without_occluded()
    truth = frame.disparity.copy()
    truth[20, 40] += 5

    class Knows:
        def match(self, left, right):
            return bdis.StereoResult(truth[:, ::-1], np.ones_like(truth))

    distances = others._left_right(Knows(), frame, truth)
    assert np.median(distances) < 0.5
    within = distances[np.isfinite(distances)]  # the left border is outside of the right image
    assert (within > 4).sum() in (1, 2)  # the wrong one, and the one that matches it
    assert len(within) > 0.85 * len(distances)


def test_combined_results_are_compared_with_the_best_of_their_parts(monkeypatch):
    monkeypatch.setattr(others, "real_sets", dict)
    monkeypatch.setattr(others, "ASSESSED", ("bm",))
    monkeypatch.setattr(others, "COMBINED", (("balanced",), ("balanced", "bm")))
    rows = cells(tables.table("combined", others.combined({"rendered": small_frames(2)})))
    assert [row["combined"] for row in rows] == ["balanced", "balanced + bm"]
    assert float(rows[0]["rendered"]) == 1
    assert 0.5 < float(rows[1]["rendered"]) < 1.1


def test_an_error_of_the_reference_is_common_to_all_matchers(monkeypatch):
    """A reference that is off by a wave: all matchers have that error, and without it the intervals hold."""
    (frame,) = small_frames(1)
    wave = 1.5 * np.sin(np.arange(160) / 25).astype(np.float32)
    wrong = replace(frame, reference_disparity=frame.disparity + wave, reference_depth_mm=None, rig=None)
    monkeypatch.setattr(others, "real_sets", lambda: {"real/tissue": [wrong]})
    monkeypatch.setattr(others, "ASSESSED", ("bm", "dis-flow"))
    monkeypatch.setattr(others, "SMOOTH_PX", 5)
    (row,) = cells(tables.table("common", others.common()))
    assert float(row["smooth part, rms px"]) == pytest.approx(np.sqrt((wave**2).mean()), rel=0.2)
    assert float(row["correlation: bm"]) > 0.9
    assert float(row["correlation: dis-flow"]) > 0.9
    assert float(row["inside 95 %"].rstrip("%")) < 50 < 80 < float(row["without it"].rstrip("%"))


def test_the_page_has_both_tables(monkeypatch):
    """With other sections left empty, as they take long to measure."""
    names = [name for name in SECTIONS if name not in ("honesty", "uncertainty")]
    for name in names:
        monkeypatch.setitem(tables._TABLES, name, lambda found: "")
    figures = uncertainty.figures([comparison(np.linspace(-2, 2, 1000), np.ones(1000))])
    results = dict.fromkeys(names) | {
        "machine": {"cores": 1},
        "steady": {"size": "", "frames": 0, "sets": [], "rounds": 0},
        "honesty": {"balanced": {"real/tissue": figures}},
        "uncertainty": {"fast": {"rendered": figures}},
    }
    page = report.page(results)
    for name in ("honesty", "uncertainty"):
        assert f"\n\n{tables.table(name, results[name])}\n\n" in page


@pytest.mark.skipif(not REAL_PAIRS.is_dir(), reason=f"the real pairs are not at {REAL_PAIRS}")
def test_real_pairs_are_found():
    sets = real_sets()
    names = {frame.name for frames in sets.values() for frame in frames}
    assert set(uncertainty.REFERENCE_SIGMA_PX) - {"aloe-half"} <= names  # that one is of the set "other"
    assert all(frame.has_reference for frames in sets.values() for frame in frames)


def test_the_plot_of_reliability_is_written(tmp_path):
    pytest.importorskip("matplotlib")
    uncertainty.reliability_plot({"rendered": small_frames(1)}, tmp_path / "plot.png")
    assert bdis.read_image(tmp_path / "plot.png").shape[2] >= 3
