"""Networks on the command line: bdis match, bdis bench and bdis networks."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from bdis import read_result, write_image
from bdis.cli.app import run
from bdis.cli.other_methods import chosen_methods
from bdis.evaluation.paper.plans import PaperData, paper_plans
from tests.cli.commands import fails

from . import rule

pytest.importorskip("torch", reason="networks need torch: make test-networks")

QUICK = ["--network-option", "max_disparity=32"]


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    for name, image in zip(("left.png", "right.png"), rule.images(64, 96)):
        write_image(folder / name, image)
    return [str(folder / "left.png"), str(folder / "right.png")]


def test_match_writes_what_the_network_finds(images, weights, tmp_path, capsys):
    options = ["--method", "gwcnet-g", "--weights", str(weights["gwcnet-g"]), *QUICK, "--format", "npz"]
    assert run(["match", *images, *options, "-o", str(tmp_path), "--json"]) == 0
    said = capsys.readouterr()
    found = read_result(tmp_path / "result.npz")
    expected = rule.disparity(rule.network("gwcnet-g", 32), rule.images(64, 96))
    np.testing.assert_allclose(found.disparity[found.known], expected[found.known], atol=1e-3)
    assert found.variance is not None
    summary = json.loads(said.out)
    assert summary["method"] == "gwcnet-g"
    assert summary["settings"] == "weights g.ckpt, max_disparity=32"
    assert summary["ms_per_frame"] > 0
    assert any("is no checkpoint that bdis knows" in text for text in summary["warnings"])
    assert "warning: g.ckpt is no checkpoint that bdis knows" in said.err
    assert "gwcnet-g takes about 0.2 GB of memory for images of 96x64 on" in said.err
    assert said.err.index("takes about") < said.err.index("matching with gwcnet-g")
    assert "matching with gwcnet-g: 8 of 8" in said.err


def test_match_with_a_method_that_has_no_confidence_is_assessed(images, tmp_path, capsys):
    assert run(["match", *images, "--method", "sgbm", "--format", "npz", "-o", str(tmp_path)]) == 0
    assert "method sgbm" in capsys.readouterr().out
    assert read_result(tmp_path / "result.npz").variance is not None


def test_masks_are_kept_out(images, weights, tmp_path):
    mask = np.full((64, 96), 255, np.uint8)
    mask[:, 48:] = 0
    write_image(tmp_path / "mask.png", mask)
    for option, covered in (("--mask", slice(48, None)), ("--mask-right", slice(94, None))):
        options = ["--method", "gwcnet-g", "--weights", str(weights["gwcnet-g"]), *QUICK, "--format", "npz"]
        out = tmp_path / option
        assert run(["match", *images, *options, option, str(tmp_path / "mask.png"), "-o", str(out)]) == 0
        found = read_result(out / "result.npz")
        assert found.known.any()
        if option == "--mask":
            assert not found.known[:, covered].any()
        rows, columns = np.nonzero(found.known)
        target = np.rint(columns - found.disparity[rows, columns])
        assert option == "--mask" or (target < 48).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "psmnet"], "needs the weights of the network: --weights FILE"),
        (["--method", "psment"], "unknown method 'psment'"),
        (["--weights", "x.tar"], "add --method psmnet"),
        (["--method", "psmnet", "--weights", "x.tar", "--preset", "fast"], "not for --method psmnet"),
        (["--method", "sgbm", "--weights", "x.tar"], "sgbm is no network"),
        (["--method", "psmnet", "--weights", "x.tar", "--network-option", "corners=1"], "none of the networks"),
        (["--method", "psmnet", "--weights", "x.tar", "--network-option", "threads=0"], "threads must be from 1"),
        (["--method", "psmnet", "--weights", "x.tar", "--network-option", "max_disparity=30"], "a multiple of 16"),
        (["--method", "psmnet", "--weights", "psmnet=x.tar"], "its file alone is expected: x.tar"),
        (["--method", "onnx:"], "there is no file; expected onnx:FILE"),
        (["--method", "psmnet,sgbm"], "expected one method"),
        (["--method", "bdis-fast"], "give --preset fast instead"),
    ],
)
def test_a_wrong_command_line_is_told(images, tmp_path, capsys, arguments, words):
    fails(capsys, ["match", *images, *arguments, "-o", tmp_path / "out"], 2, words)
    assert not (tmp_path / "out").exists()


def test_wrong_weights_end_in_one_line_and_leave_nothing(images, weights, tmp_path, capsys):
    (tmp_path / "part.tar").write_bytes(weights["psmnet"].read_bytes()[:-1000])
    out = ["-o", tmp_path / "out"]
    for file, words in (("part.tar", "cut short"), ("none.tar", "No such file")):
        arguments = ["--method", "psmnet", "--weights", tmp_path / file, *out]
        fails(capsys, ["match", *images, *arguments], 1, words, file)
        arguments = ["--methods", "psmnet", "--weights", f"psmnet={tmp_path / file}", *out]
        fails(capsys, ["bench", "render:plane,frames=1,height=64,width=96", *arguments], 1, words, file)
    fails(
        capsys, ["match", *images, "--method", "psmnet", "--weights", weights["psmnet"], *out], 1, "256x256 px or more"
    )
    assert not (tmp_path / "out").exists()


def test_bench_compares_a_network_with_others(weights, tmp_path, capsys):
    data = "render:plane,frames=1,height=64,width=96"
    arguments = ["bench", data, "--methods", "bdis-fast,gwcnet-g", *QUICK, "-o", str(tmp_path), "--rounds", "1"]
    file = f"gwcnet-g={weights['gwcnet-g']}"
    assert run([*arguments, "--weights", file]) == 0
    said = capsys.readouterr()
    assert "gwcnet-g takes about" in said.err
    with open(tmp_path / "summary.csv") as opened:
        rows = {row["method"]: row for row in csv.DictReader(opened)}
    assert float(rows["gwcnet-g"]["median_ms"]) > 0
    assert rows["gwcnet-g"]["assessed"] == "False", "it has a confidence of its own"
    assert "weights g.ckpt" in (tmp_path / "report.html").read_text()
    before = (tmp_path / "journal.jsonl").read_text()
    assert run([*arguments, "--weights", file]) == 0
    assert (tmp_path / "journal.jsonl").read_text() == before, "nothing was done again"
    assert run([*arguments, "--weights", file, "--network-option", "gwcnet-g.disparity_scale=2"]) == 0
    assert (tmp_path / "journal.jsonl").read_text() != before, "other options, other results"


def test_a_network_joins_the_methods_by_its_weights_alone(weights, tmp_path, capsys):
    """The help says so, but with --methods, and with --paper, the network had to be named twice."""
    methods = chosen_methods(["bdis-fast"], [f"gwcnet-g={weights['gwcnet-g']}"])
    assert [each.name for each in methods] == ["bdis-fast", "gwcnet-g"]
    assert "gwcnet-g" in [each.name for each in chosen_methods([], [f"gwcnet-g={weights['gwcnet-g']}"])]
    (alone,) = chosen_methods([], [f"gwcnet-g={weights['gwcnet-g']}"], default=False)
    assert alone.name == "gwcnet-g"
    for given, words in (
        ("x.tar", "expected NETWORK=FILE, such as psmnet=x.tar"),
        ("psmnet=", "expected NETWORK=FILE"),
        ("sgbm=x.tar", "sgbm is no network with a file of weights; psmnet, gwcnet-g, gwcnet-gc are"),
    ):
        fails(capsys, ["bench", "render:plane", "--weights", given, "-o", tmp_path / "out"], 2, words)


def test_paper_has_a_network_by_its_weights_alone(weights, tmp_path):
    for side, image in zip(("left", "right"), rule.images(288, 720)):
        folder = tmp_path / "20" / "images_rectified" / side
        folder.mkdir(parents=True)
        write_image(folder / "1.png", image)
    found = chosen_methods([], [f"gwcnet-g={weights['gwcnet-g']}"], default=False)
    plan, _, notes = paper_plans(PaperData(tmp_path), found, most=None, rounds=0, jobs=1)
    assert "gwcnet-g" in [each.name for each in plan.methods]
    assert "PSMNet is not run: --weights psmnet=FILE" in notes
    assert not any("GwcNet" in note for note in notes)


def test_bench_gives_a_network_without_confidence_that_of_assess(weights, tmp_path):
    data = "render:plane,frames=1,height=96,width=128"
    arguments = ["bench", data, "--methods", "bdis-fast,gwcnet-g", *QUICK, "-o", str(tmp_path), "--rounds", "0"]
    option = ["--network-option", "confidence=assessed"]
    assert run([*arguments, "--weights", f"gwcnet-g={weights['gwcnet-g']}", *option]) == 0
    with open(tmp_path / "summary.csv") as opened:
        rows = {row["method"]: row for row in csv.DictReader(opened)}
    assert rows["gwcnet-g"]["assessed"] == "True"


def test_list_says_what_is_missing(capsys):
    assert run(["bench", "--list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["psmnet"]["needs"] == "--weights psmnet=FILE"
    code = "import sys; sys.modules['torch'] = None; from bdis.cli.app import run; run(['bench', '--list'])"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert listed.count('pip install "torch') == 3


def test_torch_is_imported_only_when_a_network_is_asked_for(images, tmp_path):
    for arguments in (["match", *images, "-o", str(tmp_path)], ["bench", "--list"], ["--help"]):
        code = (
            f"import sys; from bdis.cli.app import run; run({arguments!r}); import bdis.evaluation.networks.methods; "
            "assert not {'torch', 'onnxruntime'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_an_onnx_file_is_a_method(images, tmp_path, capsys):
    onnx = pytest.importorskip("onnx", reason="the tests make ONNX files with onnx: make test-networks")
    assert onnx
    from .test_onnx import block_matcher

    path = block_matcher(tmp_path / "net.onnx")
    assert run(["match", *images, "--method", f"onnx:{path}", "-o", str(tmp_path / "match")]) == 0
    said = capsys.readouterr()
    assert "warning: net.onnx does not say how it takes images; assumed pixels=imagenet" in said.err
    data = "render:plane,frames=1,height=64,width=96"
    options = ["--network-option", "onnx.pixels=0..1", "--rounds", "0", "-o", str(tmp_path / "bench")]
    assert run(["bench", data, "--methods", f"bdis-fast,onnx:{path}", *options]) == 0
    assert "net.onnx" in (tmp_path / "bench" / "report.html").read_text()
    fails(capsys, ["match", *images, "--method", "onnx:none.onnx", "-o", tmp_path / "x"], 1, "none.onnx: No such file")
