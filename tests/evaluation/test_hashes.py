"""The tool that tells whether results are still the same, bit by bit."""

import json
import sys

import numpy as np
import pytest

from benchmarks import hashes


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["hashes", *map(str, arguments)])
    return hashes.main()


def few_cases():
    return list(hashes.case("small", "fast", hashes.rendered("small"), variance=True))


def test_same_code_gives_the_same_hashes_and_a_changed_one_is_listed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(hashes, "cases", few_cases)
    monkeypatch.setattr(hashes, "input_hashes", lambda: {"small": hashes.digest(*hashes.rendered("small"))})
    file = tmp_path / "before.json"
    assert run(monkeypatch, "write", file) == 0
    assert run(monkeypatch, "compare", file) == 0
    content = json.loads(file.read_text())
    one, three = content["hashes"].values()
    assert one == three, "the result does not depend on the number of threads"
    content["hashes"]["fast, small, threads 3"] = "0"
    file.write_text(json.dumps(content))
    assert run(monkeypatch, "compare", file) == 1
    assert "differs: fast, small, threads 3\n2 hashes compared, 1 differences" in capsys.readouterr().out
    content["inputs"]["small"] = "0"
    file.write_text(json.dumps(content))
    assert run(monkeypatch, "compare", file) == 1
    assert "the rendered images have changed" in capsys.readouterr().out


def test_names_of_cases_are_unique_and_cover_all_presets():
    names = [name for name, _ in hashes.cases()]
    assert len(set(names)) == len(names)
    for words in ("variance paper", "dense", "video", "masks", "black", "RGBA", "uint16", "float32", "finest_level 0"):
        assert any(words in name for name in names), words


@pytest.mark.parametrize("bits", [0x7FC00000, 0xFFC00001])
def test_all_kinds_of_nan_are_the_same(bits):
    value = np.array([bits], np.uint32).view(np.float32)
    assert hashes.digest(value) == hashes.digest(np.array([np.nan], np.float32))
    assert hashes.digest(value) != hashes.digest(np.zeros(1, np.float32))
