"""Pictures that are no stereo pair: `bdis match` says so on the terminal, in its JSON and in run.json."""

import json

import numpy as np
import pytest

pytest.importorskip("cv2")

import bdis
from bdis.cli.app import run
from tests.cli.commands import fails


@pytest.fixture
def matched(tmp_path, capsys):
    def match(left, right, *options):
        for name, image in (("left", left), ("right", right)):
            bdis.write_image(tmp_path / f"{name}.png", np.ascontiguousarray(image))
        out = tmp_path / "out"
        given = [str(tmp_path / "left.png"), str(tmp_path / "right.png"), "-o", str(out), "--format", "npy"]
        assert run(["match", *given, *options]) == 0
        said = capsys.readouterr()
        return " / ".join(json.loads((out / "run.json").read_text())["warnings"]), said

    return match


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (lambda left, right: (right, left), "swapped"),
        (lambda left, right: (left, left), "the same picture"),
        (lambda left, right: (left, right[:, ::-1]), "mirrored"),
        (lambda left, right: (left, np.maximum(right // 2, 1)), "times as bright"),
        (lambda left, right: (left[..., ::-1], right[..., ::-1]), "BGR"),
        (lambda left, right: (left, np.roll(right, 3, 0)), "does not look rectified"),
    ],
    ids=["swapped", "same", "mirrored", "exposure", "BGR", "rows"],
)
def test_what_is_no_pair_gets_a_warning_where_the_user_looks(scene, made, word, matched):
    written, said = matched(*made(scene.left, scene.right))
    assert word in written
    assert f"{word}" in said.err.replace("\n", " ")


def test_good_pictures_get_none(scene, matched):
    written, said = matched(scene.left, scene.right)
    assert written == ""
    assert "warning" not in said.err


def test_the_bits_of_the_pixels_are_said(scene, matched, tmp_path, capsys):
    left, right = ((image.astype(np.uint16) << 4) + 15 for image in (scene.left, scene.right))
    _, said = matched(left, right)
    assert "12 bits (--set bits=N if that is wrong)" in said.out
    given = ["match", tmp_path / "left.png", tmp_path / "right.png", "--set", "bits=10"]
    fails(capsys, given, 1, "goes up to", "expected at most 1023, as bits=10")


def test_rows_are_not_told_where_nothing_is_known(matched):
    rng = np.random.default_rng(0)
    _, said = matched(*(rng.integers(1, 255, (96, 128), dtype=np.uint8) for _ in range(2)))
    assert "right image" not in said.out
