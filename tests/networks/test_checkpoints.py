"""Files of weights: published ones load, and what else a file may hold is refused in one line, without running it."""

import contextlib
import os
import pickle
import tarfile
import warnings
import zipfile

import numpy as np
import pytest

from . import rule

torch = pytest.importorskip("torch", reason="networks need torch: make test-networks")

from bdis.evaluation.networks import checkpoints, load_network  # noqa: E402
from bdis.evaluation.networks.checkpoints import Training, git_id, read_checkpoint  # noqa: E402

from .conftest import published  # noqa: E402


@pytest.mark.parametrize("name", ["psmnet", "gwcnet-g", "gwcnet-gc"])
def test_published_form_loads_with_all_tensors(weights, name):
    found = read_checkpoint(weights[name], name)
    assert found.training is None
    for key, value in found.tensors.items():
        np.testing.assert_array_equal(value.numpy(), rule.tensor(key, tuple(value.shape)))


def test_tensors_alone_in_half_precision_and_without_counters_load(tmp_path):
    tensors = {k: v.half() for k, v in rule.state(rule.network("gwcnet-g", 16)).items() if "num_batches" not in k}
    torch.save(tensors, tmp_path / "alone.pt")
    found = read_checkpoint(tmp_path / "alone.pt", "gwcnet-g").tensors
    assert len(found) == 526
    assert {value.dtype for value in found.values()} == {torch.float32, torch.int64}


def refused(path, name, *words):
    with pytest.raises(ValueError, match=path.name) as raised:
        read_checkpoint(path, name)
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 400
    for word in words:
        assert word in message
    return message


class Harmful:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_file_that_would_run_code_is_not_run(tmp_path):
    mark = tmp_path / "code was run"
    content = {**published("gwcnet-g"), "extra": Harmful(mark)}
    torch.save(content, tmp_path / "zip.ckpt")
    torch.save(content, tmp_path / "old.ckpt", _use_new_zipfile_serialization=False)
    for name in ("zip.ckpt", "old.ckpt"):
        refused(tmp_path / name, "gwcnet-g", "holds more than weights", "mkdir", "was not loaded")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / "plain.ckpt").write_bytes(pickle.dumps(Harmful(mark), protocol))
        refused(tmp_path / "plain.ckpt", "gwcnet-g", "holds more than weights", "was not loaded")
    assert not mark.exists()


@pytest.mark.parametrize("name", ["psmnet", "gwcnet-g"])  # the old format and today's
@pytest.mark.parametrize("kept", [0, 1, 7, 100, 5000, 0.3, 0.9, 0.999])
def test_a_truncated_download_is_told(weights, tmp_path, name, kept):
    content = weights[name].read_bytes()
    path = tmp_path / "part.tar"
    path.write_bytes(content[: kept if kept >= 1 else int(kept * len(content))])
    refused(path, name, "cut short")


def test_a_damaged_file_is_refused_or_loads_whole(weights, tmp_path):
    """Flipped bytes anywhere: never another error than ours."""
    content = weights["gwcnet-g"].read_bytes()
    random = np.random.default_rng(0)
    path = tmp_path / "damaged.ckpt"
    for _ in range(12):
        damaged = bytearray(content)
        for place in random.integers(0, min(len(content), 60_000), 20):
            damaged[place] ^= int(random.integers(1, 256))
        path.write_bytes(damaged)
        with contextlib.suppress(ValueError):
            assert len(read_checkpoint(path, "gwcnet-g").tensors) == 526


def test_foreign_files_are_told(tmp_path):
    (tmp_path / "image.tar").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (tmp_path / "page.tar").write_text("<html>Google Drive: too many downloads</html>")
    with tarfile.open(tmp_path / "archive.tar", "w") as archive:
        archive.add(tmp_path / "page.tar")
    with open(tmp_path / "arrays.tar", "wb") as file:
        np.savez(file, a=np.ones(3))
    for name in ("image.tar", "page.tar", "archive.tar", "arrays.tar"):
        refused(tmp_path / name, "psmnet", "published checkpoint")
    for number, content in enumerate(
        ([1, 2], {"a": 1}, {"state_dict": {"a": "b"}}, {"model": 3}, "text", torch.ones(2))
    ):
        torch.save(content, tmp_path / f"{number}.tar")
        refused(tmp_path / f"{number}.tar", "psmnet", "holds no weights")


def test_weights_of_another_network_are_named(weights, tmp_path):
    refused(weights["gwcnet-gc"], "gwcnet-g", "they are those of gwcnet-gc")
    refused(weights["gwcnet-g"], "psmnet", "they are those of gwcnet-g", "tensors are missing, such as")
    torch.save({"layer\x1b[2J": torch.ones(2)}, tmp_path / "else.pt")
    assert "\x1b" not in refused(tmp_path / "else.pt", "psmnet", "tensors are missing")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t | {"more\x1b": torch.ones(1)}, "1 tensors are unknown, such as 'more"),
        (
            lambda t: t | {"dres0.0.0.weight": torch.ones(2, 3)},
            "dres0.0.0.weight is (2, 3), expected (32, 40, 3, 3, 3)",
        ),
        (lambda t: t | {"dres0.0.1.bias": torch.full((32,), torch.nan)}, "dres0.0.1.bias holds NaN"),
        (lambda t: t | {"dres0.0.1.bias": torch.ones(32, dtype=torch.complex64)}, "no plain array of numbers"),
        (lambda t: t | {"dres0.0.1.bias": torch.ones(32).to_sparse()}, "no plain array of numbers"),
    ],
)
def test_changed_tensors_are_told(tmp_path, change, words):
    torch.save(change(rule.state(rule.network("gwcnet-g", 16))), tmp_path / "changed.pt")
    refused(tmp_path / "changed.pt", "gwcnet-g", words)


def test_huge_and_missing_files(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError):
        load_network("psmnet", tmp_path / "none.tar")
    monkeypatch.setattr(checkpoints, "MAX_BYTES", 1000)
    (tmp_path / "large.tar").write_bytes(bytes(2000))
    refused(tmp_path / "large.tar", "psmnet", "more than 1000 bytes")


def test_an_archive_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "bomb.tar", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"archive/data/{number}", bytes(2**20))
    monkeypatch.setattr(checkpoints, "MAX_BYTES", 2**21)
    loaded = []
    monkeypatch.setattr(torch, "load", lambda *_, **__: loaded.append(1))
    refused(tmp_path / "bomb.tar", "psmnet", "no file of weights")
    assert not loaded


def test_how_known_weights_were_trained_is_the_default_and_can_be_overruled(weights, monkeypatch):
    identity = git_id(weights["psmnet"].read_bytes())
    monkeypatch.setitem(checkpoints.KNOWN, identity, Training("Scene Flow", align_corners=True, disparity_scale=1.17))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = load_network("psmnet", weights["psmnet"], 32)
        assert (found.network.align_corners, found.disparity_scale) == (True, 1.17)
        assert found.network.feature_extraction.align_corners
        found = load_network("psmnet", weights["psmnet"], 32, align_corners=False, disparity_scale=1)
        assert (found.network.align_corners, found.disparity_scale) == (False, 1.0)


def test_unknown_weights_come_with_a_message(weights):
    identity = git_id(weights["psmnet"].read_bytes())
    with pytest.warns(UserWarning, match=f"psmnet.tar is no checkpoint.*{identity[:12]}.*align_corners=true.*1.17"):
        load_network("psmnet", weights["psmnet"], 32)
    with pytest.warns(UserWarning, match="align_corners=False, as GwcNet's published weights"):
        load_network("gwcnet-g", weights["gwcnet-g"], 32)


def test_the_ids_of_the_published_weights_are_known():
    assert {title.title for title in checkpoints.KNOWN.values()} == {
        "PSMNet KITTI 2015", "PSMNet KITTI 2012", "PSMNet Scene Flow, the first",
    }  # fmt: skip
    assert all(each.align_corners for each in checkpoints.KNOWN.values())
    assert [each.disparity_scale for each in checkpoints.KNOWN.values()] == [1.0, 1.0, 1.17]
    assert all(len(identity) == 40 for identity in checkpoints.KNOWN)


def test_unknown_names_and_options_are_told(weights):
    with pytest.raises(ValueError, match="unknown network 'psm'; there are psmnet, gwcnet-g, gwcnet-gc"):
        load_network("psm", weights["psmnet"])
    with pytest.raises(ValueError, match="unknown option corners; there are align_corners, disparity_scale"):
        load_network("psmnet", weights["psmnet"], corners=True)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="device=cuda, but torch finds no graphics card"):
            load_network("psmnet", weights["psmnet"], device="cuda", align_corners=True)
