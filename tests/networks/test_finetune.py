"""Training a network further: it learns, it can be interrupted, and its checkpoints are files of weights."""

import csv
import json
import os
import re

import numpy as np
import pytest

from bdis.cli.app import run
from bdis.evaluation.datasets import Dataset, Entry, open_dataset
from tests.cli.commands import fails

torch = pytest.importorskip("torch", reason="networks need torch: make test-networks")

from bdis.evaluation.networks import finetune, load_network, open_network  # noqa: E402
from bdis.evaluation.networks.finetune import Finetuning  # noqa: E402
from bdis.evaluation.networks.options import FinetuneOptions  # noqa: E402
from bdis.evaluation.networks.training import crop, loss_of, split  # noqa: E402

PAIRS = "render:tissue,frames=5,height=64,width=96"


@pytest.fixture(scope="module")
def pairs():
    """Five small pairs, rendered once."""
    frames = list(open_dataset(PAIRS).frames())
    return Dataset("small", "rendered", [Entry(each.group, each.name, lambda each=each: each) for each in frames])


def training(weights, pairs, folder, *, epochs=2, scale=None, **options):
    matcher = open_network("gwcnet-g", weights["gwcnet-g"], 32, disparity_scale=scale)
    given = {"batch": 2, "crop_width": 64, "crop_height": 32} | options
    return Finetuning(matcher, "rule", [pairs], folder, FinetuneOptions(epochs=epochs, **given), 1)


def test_twenty_steps_lower_the_loss_and_the_result_loads(weights, pairs, tmp_path):
    losses = []
    made = training(weights, pairs, tmp_path, epochs=10)
    assert made.total_steps == 20
    found = made.run(lambda done, total, loss: losses.append(loss))
    print(f"\nloss {np.mean(losses[:4]):.2f} in the first four steps, {np.mean(losses[-4:]):.2f} in the last four")
    assert np.mean(losses[-4:]) < 0.7 * np.mean(losses[:4])
    assert len(found.history) == 10
    with open(tmp_path / "training.csv") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == list(range(1, 11))
    errors = [float(row["error_px"]) for row in rows]
    assert found.best_epoch == 1 + int(np.argmin(errors))
    frame = pairs[0].read()
    for name in ("last.tar", "best.tar"):
        result = load_network("gwcnet-g", tmp_path / name, 32).match(frame.left, frame.right)  # with no warning
        assert result.disparity.shape == (64, 96)
    assert not list(tmp_path.glob(".*")), "nothing is left of the writing"


def test_how_it_was_trained_is_in_the_checkpoint(weights, pairs, tmp_path):
    matcher = open_network("gwcnet-g", weights["gwcnet-g"], 32, align_corners=True, disparity_scale=1.17)
    options = FinetuneOptions(epochs=1, batch=2, crop_width=32, crop_height=32)
    Finetuning(matcher, "rule", [pairs], tmp_path, options, 1).run()
    found = load_network("gwcnet-g", tmp_path / "best.tar", 32)
    assert (found.network.align_corners, found.disparity_scale) == (True, pytest.approx(1.17))


def test_an_interrupted_training_ends_as_one_that_was_not(weights, pairs, tmp_path, monkeypatch):
    whole = training(weights, pairs, tmp_path / "whole")
    whole.run()
    monkeypatch.setattr(finetune, "SAVE_EVERY_S", -1.0)  # after every step

    def interrupt(done, total, loss):
        if done == 3:  # in the middle of the second epoch
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training(weights, pairs, tmp_path / "two").run(interrupt)
    again = training(weights, pairs, tmp_path / "two")
    assert again.state.steps == 3
    again.run()
    assert again.state.steps_before == 3
    assert again.state.history == whole.state.history
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, again.network.state_dict()[name]), name
    done = training(weights, pairs, tmp_path / "two")
    assert done.run(lambda *_: pytest.fail("there is nothing left to do")).steps == 4


def test_a_failed_write_leaves_the_checkpoint_before(weights, pairs, tmp_path, monkeypatch):
    training(weights, pairs, tmp_path, epochs=1).run()
    before = (tmp_path / "last.tar").read_bytes()
    made = training(weights, pairs, tmp_path, epochs=1)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        made._save("last.tar", with_optimizer=True)
    assert (tmp_path / "last.tar").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best.tar", "last.tar", "training.csv"]


def test_another_training_in_the_folder_is_not_continued(weights, pairs, tmp_path):
    training(weights, pairs, tmp_path, epochs=1).run()
    with pytest.raises(ValueError, match="another training: its learning_rate is 0.001, not 0.01; choose another"):
        training(weights, pairs, tmp_path, epochs=1, learning_rate=0.01)
    (tmp_path / "last.tar").write_bytes((tmp_path / "last.tar").read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"last.tar is no file of weights.*; delete it or choose another folder"):
        training(weights, pairs, tmp_path, epochs=1)
    torch.save({"state_dict": {}}, tmp_path / "last.tar")
    with pytest.raises(ValueError, match=r"last.tar is not from bdis networks finetune"):
        training(weights, pairs, tmp_path, epochs=1)


def test_pairs_are_split_by_group_and_the_last_ones_validate():
    def data(group, count):
        return Dataset(group, "folder", [Entry(group, str(number), lambda: None) for number in range(count)])

    train, validate = split([data("a", 200), data("b", 100)])
    assert (len(train), len(validate)) == (260, 40)
    assert [sum(each.group == group for each in validate) for group in "ab"] == [27, 13]
    assert validate[0].name == "173"
    assert [each.name for each in split([data("a", 5)], 2)[1]] == ["3", "4"]
    with pytest.raises(ValueError, match="1 pairs, of which 1 are for validation"):
        split([data("a", 1)])


def test_crops_show_both_images_and_the_reference_at_one_place(pairs):
    frame = pairs[0].read()
    seen = crop(pairs[:2], (32, 48), np.random.default_rng(0))
    assert seen.left.shape == seen.right.shape == (2, 3, 32, 48)
    places = [
        (y, x)
        for y in range(33)
        for x in range(49)
        if np.array_equal(seen.disparity[0].numpy(), frame.disparity[y : y + 32, x : x + 48], equal_nan=True)
    ]
    assert len(places) == 1
    (y, x), *_ = places
    expected = (frame.left[y, x] / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    np.testing.assert_allclose(seen.left[0, :, 0, 0].numpy(), expected, atol=1e-5)
    larger = crop(pairs[:1], (80, 128), None)
    assert larger.left.shape == (1, 3, 80, 128)
    assert torch.isnan(larger.disparity[0, :16]).all(), "padded at the top"
    assert torch.isnan(larger.disparity[0, :, 96:]).all(), "and on the right"


def test_pixels_without_a_reference_do_not_count(weights, pairs):
    network = open_network("gwcnet-g", weights["gwcnet-g"], 32).network.train()
    seen = crop(pairs[:2], (32, 32), None)
    seen.disparity[:] = torch.nan
    assert loss_of(network, seen, 1.0) is None
    seen.disparity[:, 4:8] = 3.0
    seen.disparity[:, 8:] = 500.0  # beyond what the network can find
    assert float(loss_of(network, seen, 1.0).detach()) < 100


def test_what_cannot_be_trained_is_told(weights, pairs, tmp_path):
    matcher = open_network("psmnet", weights["psmnet"], 16)
    with pytest.raises(ValueError, match="crops of 64x64, but psmnet takes 256x256 px or more"):
        Finetuning(matcher, "", [pairs], tmp_path, FinetuneOptions(crop_width=64, crop_height=64))
    with pytest.raises(ValueError, match="one pair at a time in crops of 256x256 is too little to train psmnet"):
        Finetuning(matcher, "", [pairs], tmp_path, FinetuneOptions(batch=1, crop_width=256, crop_height=256))
    image = np.full((64, 64), 9, np.uint8)
    from bdis.evaluation.datasets import Frame

    blind = Dataset("x", "folder", [Entry("x", str(n), lambda: Frame("x", "1", image, image)) for n in range(3)])
    with pytest.raises(ValueError, match="x/1 has no reference disparity"):
        training(weights, blind, tmp_path).run()


def test_too_little_memory_is_told_before_the_first_step(weights, pairs, tmp_path, monkeypatch):
    def no_room(megabytes, purpose):
        raise MemoryError(f"bdis needs about {megabytes} MB of memory {purpose}")

    monkeypatch.setattr(finetune, "check_room", no_room)
    with pytest.raises(MemoryError, match=r"MB of memory to train with a batch of 2 \(--batch 1: \d+ MB\)"):
        training(weights, pairs, tmp_path).run()


def test_the_command_trains_tells_the_time_left_and_continues(weights, tmp_path, capsys):
    file, out = str(weights["gwcnet-g"]), str(tmp_path / "out")
    small = ["--epochs", "2", "--batch", "2", "--crop", "64x32", "--validate", "1"]
    option = ["--network-option", "max_disparity=32"]
    arguments = ["networks", "finetune", "gwcnet-g", PAIRS, "--weights", file, "-o", out, *small, *option]
    assert run([*arguments, "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["steps"] == 4
    assert "with 4 pairs, 1 to validate, 4 steps; about 0.4 GB of memory" in said.err
    assert "training: 1 of 4 steps" in said.err
    assert re.search(r" steps/s, \d:\d\d:\d\d left", said.err)
    assert run(arguments) == 0
    said = capsys.readouterr()
    assert "continuing after step 4" in said.err
    assert re.search(r"Try: .*--weights \S+best.tar --network-option max_disparity=32\n", said.out), "as it was trained"
    fails(capsys, [*arguments, "--seed", "1"], 1, "another training: its seed is 0, not 1")
    for wrong, words in (
        (["networks", "finetune", "psm", "--weights", file], "unknown network 'psm'"),
        (["networks", "finetune", "psmnet"], "--weights FILE is missing"),
        (["networks", "finetune", "psmnet", "--weights", file, "--crop", "100x100"], "must be a multiple of 16"),
    ):
        fails(capsys, [*wrong, "-o", tmp_path / "x"], 2, words)
    fails(capsys, ["networks", "finetune", "psmnet", "--weights", file, "-o", tmp_path / "x"], 1, "those of gwcnet-g")
    assert not (tmp_path / "x").exists()
