"""Frames to other programs with ``bdis run`` and ``bdis view``: what is said, counted and refused."""

import json
import re
import signal
import socket

import pytest

from bdis.cli.app import run
from bdis.video.live import igtl as live
from bdis.video.recording import read_manifest
from tests.cli.commands import fails, needs_posix
from tests.cli.recordings import ENDLESS, FAST, SMALL, start

pyigtl = pytest.importorskip("pyigtl")
pytest.importorskip("foxglove")
OPTIONS = [*FAST, "--save", "depth"]


def port_of(process):
    """Where a command listens, as it says."""
    for line in process.stderr:
        if found := re.search(r"OpenIGTLink on 127.0.0.1:(\d+)", line):
            return int(found[1])
    raise AssertionError("it does not say where it listens")


@needs_posix
def test_a_run_sends_to_a_client_and_counts_what_it_sent(tmp_path):
    out = tmp_path / "out"
    options = ["--igtl", "0", "--foxglove", "0", "--stop", "400", "--json"]
    with start("run", ENDLESS, *OPTIONS, *options, "-o", out) as process:
        client = pyigtl.OpenIGTLinkClient("127.0.0.1", port_of(process))
        message = client.wait_for_message(live.DEPTH, 60)
        client.stop()
        content = json.loads(process.communicate(timeout=60)[0])
    assert message.image.shape == (1, 64, 96)
    slicer, foxglove = content["live"]
    assert slicer["sent"] > 0
    assert slicer["sent"] + slicer["dropped"] + slicer["unheard"] == 400
    assert foxglove["unheard"] + foxglove["dropped"] == 400
    assert read_manifest(out)["live"] == content["live"]


def test_the_summary_says_what_was_sent(tmp_path, capsys):
    assert run(["run", SMALL, *OPTIONS, "--igtl", "0", "-o", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert re.search(
        r"OpenIGTLink on 127.0.0.1:\d+: 0 frames sent, \d+ dropped, \d+ while nobody was connected", said.out
    )
    assert "other machines" not in said.err


def test_listening_for_other_machines_is_said(tmp_path, capsys):
    assert run(["run", SMALL, *OPTIONS, "--foxglove", "0.0.0.0:0", "-o", str(tmp_path)]) == 0
    assert "can be read from other machines, without a password and not encrypted" in capsys.readouterr().err


def test_that_web_pages_can_read_what_foxglove_gets_is_said(tmp_path, capsys):
    assert run(["run", SMALL, *OPTIONS, "--foxglove", "0", "-o", str(tmp_path / "foxglove")]) == 0
    assert "can be read by any web page that is open in a browser on this machine" in capsys.readouterr().err
    assert run(["run", SMALL, *OPTIONS, "--igtl", "0", "-o", str(tmp_path / "igtl")]) == 0
    assert "web page" not in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--igtl", "--foxglove"])
def test_a_port_in_use_is_one_line_and_leaves_no_folder(tmp_path, capsys, option):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words = f"127.0.0.1:{port}: the port is in use by another program", "choose another port"
        fails(capsys, ["run", SMALL, *OPTIONS, option, port, "-o", tmp_path / "out"], 1, *words)
        fails(capsys, ["view", SMALL, *FAST, "--no-browser", option, port], 1, *words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("address", "code", "words"),
    [
        ("99999", 2, "is not an address; expected PORT or HOST:PORT"),
        ("host", 2, "is not an address"),
        (":1", 2, "is not an address"),
        ("::1:18944", 2, "is not an address"),
        ("203.0.113.7:18944", 1, "this machine does not have that address"),
        ("no-such-host.invalid:18944", 1, "is not known here"),
        ("a..b:18944", 1, "is not known here"),
    ],
)
def test_addresses_typed_wrong_are_one_line(tmp_path, capsys, address, code, words):
    fails(capsys, ["run", SMALL, *OPTIONS, "--igtl", address, "-o", tmp_path / "out"], code, words)


def test_depth_is_not_sent_without_a_calibration(tmp_path, capsys):
    from tests.video.videos import write_video

    write_video(tmp_path / "video.mp4")
    fails(
        capsys,
        ["run", tmp_path / "video.mp4", "--igtl", "0", "-o", tmp_path / "out"],
        2,
        "--igtl sends depth: it needs --calib",
    )


@needs_posix
def test_the_viewer_sends_the_same():
    with start("view", ENDLESS, *FAST, "--no-browser", "--port", "0", "--igtl", "0") as process:
        client = pyigtl.OpenIGTLinkClient("127.0.0.1", port_of(process))
        shape = client.wait_for_message(live.SIGMA, 60).image.shape
        client.stop()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert shape == (1, 64, 96)
    assert re.search(r"OpenIGTLink on 127.0.0.1:\d+: [1-9]\d* frames sent", said)
