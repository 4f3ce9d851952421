"""``bdis run`` killed at random moments and resumed: no frame is lost, nothing is half-written, the bits are the same.

Not part of ``make test``; run it with ``make torture``.
"""

import collections
import random
import signal
import time

import pytest

from bdis.video.recording import read_manifest
from tests.cli.commands import needs_posix
from tests.cli.recordings import contents, finished, indices, start

from .figures import figure

KILLS = 60
FRAMES = 200
LONGEST_S = 700.0
SOURCE = f"render:tissue,frames={FRAMES},height=64,width=96"
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
SAVES = ("depth,sigma,video,preview", "depth", "video")


@needs_posix
def test_killed_and_resumed_runs_have_the_same_bits(tmp_path):
    pytest.importorskip("av")
    rng, begin = random.Random(0), time.monotonic()
    kills: collections.Counter[str] = collections.Counter()
    at_frames, runs = [], 0
    while sum(kills.values()) < KILLS and time.monotonic() - begin < LONGEST_S:
        command = ["run", SOURCE, "--save", SAVES[runs % len(SAVES)], "-o"]
        code, _, said = finished(*command, tmp_path / f"whole{runs}")
        assert code == 0, said
        out = tmp_path / f"out{runs}"
        for _ in range(rng.randrange(2, 6)):
            name = SIGNALS[sum(kills.values()) % len(SIGNALS)]
            before = set(out.glob("**/*.part"))  # what a SIGKILL left; the next run removes it, if it lives long enough
            process = start(*command, out, *(["--resume"] if (out / "manifest.json").exists() else []))
            _wait_for(out, rng)
            process.send_signal(signal.Signals[name])
            _, said = process.communicate(timeout=120)
            assert "Traceback" not in said
            kills[name] += 1
            at_frames.append(len(indices(out)) if (out / "frames.csv").exists() else 0)
            assert set(out.glob("**/*.part")) <= before or name == "SIGKILL"
            assert not list(out.glob("**/.unfinished-*"))
        code, _, said = finished(*command, out, *(["--resume"] if (out / "manifest.json").exists() else []))
        assert code == 0, said
        assert indices(out) == list(range(FRAMES))
        assert contents(out) == contents(tmp_path / f"whole{runs}")
        assert read_manifest(out)["state"] == "complete"
        assert not list(out.glob("**/*.part"))
        runs += 1
    counts = ", ".join(f"{count} {name}" for name, count in kills.items())
    figure(
        "bdis run killed and resumed",
        f"{counts}, after {min(at_frames)} to {max(at_frames)} of {FRAMES} frames; {runs} runs, all bits the same",
    )


def _wait_for(out, rng):
    """Wait for a random moment: some frames more than there are, or some time after the process was started."""
    there = len(indices(out)) if (out / "frames.csv").exists() else 0
    wanted, end = there + rng.randrange(1, FRAMES // 2), time.monotonic() + 60
    if rng.random() < 0.3:
        time.sleep(rng.uniform(0, 6))
        return
    while time.monotonic() < end and there < min(wanted, FRAMES - 1):
        time.sleep(rng.uniform(0, 0.02))
        there = len(indices(out)) if (out / "frames.csv").exists() else 0
