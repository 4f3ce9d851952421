"""``bdis certainty``, and the commands that use the factor in a rig file."""

import json
import re

import numpy as np
import pytest

import bdis
from bdis.cli import certainty
from bdis.cli.app import run
from bdis.evaluation.datasets import Dataset, write_rendered
from tests.cli.commands import fails

FAST = ["--preset", "fast"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certainty") / "tissue"
    write_rendered(folder, "tissue", 4, 120, 160, seed=1)
    return folder


@pytest.fixture(scope="module")
def fitted(dataset, tmp_path_factory):
    """The rig file of a fit."""
    path = tmp_path_factory.mktemp("fitted") / "rig.toml"
    assert run(["certainty", "fit", str(dataset), *FAST, "-o", str(path)]) == 0
    return path


@pytest.fixture
def tripled(dataset, tmp_path):
    """A rig file with a factor that cannot be missed."""
    path = tmp_path / "tripled.toml"
    path.write_text(f"{(dataset / 'rig.toml').read_text()}sigma_scale = 3.0\n")
    return path


def fit_rig(dataset, folder, *more):
    """The rig that a fit with ``fast`` and more arguments writes."""
    assert run(["certainty", "fit", str(dataset), *FAST, *more, "-o", str(folder / "fit.toml")]) == 0
    return bdis.Rig.load(folder / "fit.toml")


def answer_of(capsys, *arguments):
    capsys.readouterr()
    assert run([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


# --- Fit --------------------------------------------------------------------------------------------------------------


def test_fit_writes_the_rig_of_the_data_set_with_the_factor(dataset, fitted, capsys, tmp_path):
    said = answer_of(capsys, "certainty", "fit", dataset, *FAST, "-o", tmp_path / "rig.json")
    rig = bdis.Rig.load(tmp_path / "rig.json")
    assert rig == bdis.Rig.load(fitted)
    assert rig.sigma_scale == said["sigma_scale"]
    assert rig.sigma_scale_range == pytest.approx(
        [rig.sigma_scale / said["factor"] * said[end] for end in ("low", "high")]
    )
    assert rig.sigma_preset == "fast"
    assert rig.baseline_mm == bdis.Rig.load(dataset / "rig.toml").baseline_mm
    assert said["low"] < said["factor"] < said["high"]
    assert len(said["frames"]) == 4
    assert fit_rig(dataset, tmp_path, "--set", "patch_size=6").sigma_preset is None
    half = answer_of(capsys, "certainty", "fit", dataset, *FAST, "--set", "sigma_scale=0.5")
    assert half["factor"] == pytest.approx(2 * said["factor"], rel=1e-3)
    assert half["sigma_scale"] == pytest.approx(said["sigma_scale"], rel=1e-3)
    assert half["written"] is None


def test_fit_says_what_it_found_and_how_to_use_it(dataset, capsys, tmp_path):
    assert run(["certainty", "fit", str(dataset), *FAST, "-o", str(tmp_path / "rig.toml"), "--frames", "2"]) == 0
    said = capsys.readouterr()
    assert "warning: fitted to 2 frames, which is too few" in said.err
    for words in ("95 % confidence", "95.0% after", "--set sigma_scale=", f"--calib {tmp_path / 'rig.toml'}"):
        assert words in said.out


def test_fit_without_a_rig_prints_the_number(dataset, capsys, tmp_path, monkeypatch):
    from dataclasses import replace

    from bdis.evaluation.datasets import Entry, open_dataset

    data = open_dataset(dataset)

    def without_rig(entry):
        return Entry(entry.group, entry.name, lambda: replace(entry.read(), rig=None))

    monkeypatch.setattr(certainty, "_open", lambda *_: Dataset("tissue", "folder", list(map(without_rig, data))))
    assert run(["certainty", "fit", str(dataset), *FAST, "-o", str(tmp_path / "rig.toml")]) == 0
    said = capsys.readouterr()
    assert not (tmp_path / "rig.toml").exists()
    assert "rig.toml is not written" in said.err
    assert "give --set sigma_scale=" in said.err
    assert "--calib" not in said.out


def test_fit_that_cannot_be_written_is_not_lost(dataset, capsys, tmp_path):
    fails(capsys, ["certainty", "fit", dataset, *FAST, "-o", tmp_path / "no" / "rig.toml"], 1, "--set sigma_scale=")


def test_wrong_command_lines_are_refused_before_the_work(dataset, capsys, tmp_path):
    fails(capsys, ["certainty", "fit", dataset, "-o", "rig.yaml"], 2, "'rig.yaml'", ".toml or .json")
    fails(capsys, ["certainty", "fit", dataset, "--set", "variance=paper"], 2, "leave it out")
    fails(capsys, ["certainty", "fit", dataset, "--frames", "0"], 2, "expected 1 or more")
    fails(capsys, ["certainty", "fit", "render:plane", "--option", "frames=3"], 2, "after commas")
    fails(capsys, ["certainty", "fit", tmp_path / "none"], 1, "does not exist")
    fails(capsys, ["certainty", "show", dataset, "-o", "picture.jpg"], 2, ".png")
    fails(capsys, ["certainty", "show", dataset, "--rig", dataset / "rig.toml"], 1, "no sigma_scale", "certainty fit")


# --- Show -------------------------------------------------------------------------------------------------------------


def test_show_compares_before_and_after(dataset, fitted, capsys, tmp_path):
    picture = tmp_path / "certainty.png"
    assert run(["certainty", "show", str(dataset), *FAST, "--rig", str(fitted), "-o", str(picture)]) == 0
    said = capsys.readouterr().out
    for words in ("68% interval, before", "95% interval, after", "overall", "rendered tissue/000003"):
        assert words in said
    assert bdis.read_image(picture).shape[1] > 800
    shares = answer_of(capsys, "certainty", "show", dataset, *FAST, "--rig", fitted, "-o", picture)["shares_inside"]
    assert len(shares) == 5
    assert shares["overall"]["after"]["95%"] == pytest.approx(0.95, abs=0.002)
    assert shares["overall"]["before"]["95%"] != shares["overall"]["after"]["95%"]


def test_show_without_a_factor_shows_what_is_and_names_the_fit(dataset, capsys, tmp_path):
    assert run(["certainty", "show", str(dataset), *FAST, "-o", str(tmp_path / "c.png")]) == 0
    said = capsys.readouterr().out
    assert "No factor yet: bdis certainty fit" in said
    assert "after" not in said
    assert (tmp_path / "c.png").is_file()


# --- Commands that use it ---------------------------------------------------------------------------------------------


def test_match_uses_the_factor_of_the_rig(dataset, tripled, capsys, tmp_path):
    def match(calib, *more):
        pair = [dataset / side / "000000.png" for side in ("left", "right")]
        said = answer_of(
            capsys, "match", *pair, "--calib", calib, *FAST, *more, "--format", "npz", "-o", tmp_path / "out"
        )
        return bdis.read_result(tmp_path / "out" / "result.npz"), said

    plain, said = match(dataset / "rig.toml")
    assert not any("sigma" in remark for remark in said["calibration"])
    scaled, said = match(tripled)
    assert "sigma x 3, from tripled.toml" in said["calibration"]
    assert said["settings"]["sigma_scale"] == 3
    np.testing.assert_array_equal(scaled.disparity, plain.disparity)
    np.testing.assert_allclose(scaled.variance, 9 * plain.variance, rtol=1e-5)
    own, said = match(tripled, "--set", "sigma_scale=1")
    assert not any("sigma" in remark for remark in said["calibration"])
    np.testing.assert_array_equal(own.variance, plain.variance)


@pytest.mark.parametrize(("preset", "more", "is_told"), [
    ("fast", ["--set", "threads=2"], False), ("fast", ["--set", "patch_size=6"], True), ("balanced", [], True),
])  # fmt: skip
def test_match_tells_of_a_factor_that_was_fitted_with_other_settings(
    dataset, fitted, capsys, tmp_path, preset, more, is_told
):
    pair = [dataset / side / "000000.png" for side in ("left", "right")]
    given = ["--calib", fitted, "--preset", preset, *more, "-o", tmp_path / "out"]
    told = answer_of(capsys, "match", *pair, *given)["calibration"]
    assert any("fitted with preset fast" in line for line in told)
    assert any("sigma may be wrong" in line for line in told) == is_told


def test_run_uses_the_factor_of_the_rig(dataset, tripled, capsys, tmp_path):
    def sigma_of_run(name, *more):
        said = answer_of(capsys, "run", dataset, *FAST, *more, "--stop", "1", "--save", "sigma", "-o", tmp_path / name)
        return bdis.read_depth(tmp_path / name / "sigma" / "000000.tiff"), said

    plain, _ = sigma_of_run("plain")
    scaled, said = sigma_of_run("scaled", "--calib", tripled)
    assert "sigma x 3, from tripled.toml" in said["calibration"]
    np.testing.assert_allclose(scaled, 3 * plain, rtol=1e-4)
    manifest = json.loads((tmp_path / "scaled" / "manifest.json").read_text())
    assert manifest["run"]["settings"]["sigma_scale"] == 3
    assert bdis.Rig.load(tmp_path / "scaled" / "rig.toml").sigma_scale == 3


def test_view_uses_the_factor_of_the_rig(dataset, tripled, capsys, monkeypatch):
    from bdis.cli import view

    seen = []
    monkeypatch.setattr(view, "show", lambda source, camera, settings, page, **more: seen.append(settings))
    assert run(["view", str(dataset), "--calib", str(tripled), "--no-browser"]) == 0
    assert run(["view", str(dataset), "--calib", str(tripled), "--set", "sigma_scale=2", "--no-browser"]) == 0
    assert [settings.sigma_scale for settings in seen] == [3, 2]
    assert capsys.readouterr().out.count("sigma x 3, from tripled.toml") == 1


def test_calib_show_has_the_factor(tripled, capsys):
    assert answer_of(capsys, "calib", "show", tripled)["rig"]["sigma_scale"] == 3
    assert run(["calib", "show", str(tripled)]) == 0
    assert re.search(r"factor on sigma +x 3 *\n", capsys.readouterr().out)


def test_help_says_what_a_fit_needs(capsys):
    assert run(["certainty", "fit", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in ("bdis certainty fit my-frames -o rig.toml", "Three frames suffice", "belongs to the preset"):
        assert words in said
