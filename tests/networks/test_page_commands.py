"""The commands of pages that need torch or ONNX Runtime, with small images and weights that were never trained."""

import pytest

pytest.importorskip("torch", reason="networks need torch: make test-networks")
pytest.importorskip("onnx", reason="the tests make ONNX files with onnx: make test-networks")

from bdis import write_image
from bdis.cli.app import run
from bdis.synthetic import render
from tests.page_commands import NOT_RUN, ROOT, STAND_INS, commands, elsewhere, run_command

from .test_onnx import block_matcher

(ENTRY,) = [each for each in NOT_RUN if "torch" in each.reason]
SMALL = (
    *STAND_INS,
    (r"frames=2,height=64,width=96", "frames=1,height=256,width=256"),  # the least that PSMNet takes
    (r"^(.*(?:psmnet|gwcnet).*)", r"\1 --network-option max_disparity=16"),
    (r"^(bdis bench.*?)(?: --rounds 1|$)", r"\1 --rounds 1"),
    (r"(?<=finetune psmnet) (.*)", r" pairs \1 --epochs 1 --batch 2 --crop 256x256 --validate 1"),
    (r"(?<=finetune gwcnet-g) \S+ (.*) --batch 2(.*)", r" pairs \1\2 --epochs 1 --batch 1 --crop 64x32 --validate 1"),
)


@pytest.fixture(scope="module")
def own_files(tmp_path_factory, weights):
    """Images, weights and a model as a reader would have them."""
    folder = tmp_path_factory.mktemp("own")
    pair = render("tissue", 256, 256, seed=3)
    write_image(folder / "left.png", pair.left)
    write_image(folder / "right.png", pair.right)
    (folder / "pretrained_model_KITTI2015.tar").symlink_to(weights["psmnet"])
    (folder / "gwcnet.ckpt").symlink_to(weights["gwcnet-g"])
    block_matcher(folder / "network.onnx")
    assert run(["render", "tissue", "--frames", "3", "--size", "256x256", "-o", str(folder / "pairs")]) == 0
    return folder


@pytest.mark.parametrize("page", ["docs/benchmarking.md", "docs/commands.md"])
def test_commands_run_in_the_order_of_the_page(page, own_files, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = [command for command in commands(ROOT / page) if ENTRY in elsewhere(command)]
    assert found
    for command in found:
        assert run_command(command, own_files, SMALL) == 0, f"{command}\n{capsys.readouterr().err}"
