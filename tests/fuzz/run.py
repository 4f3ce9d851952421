"""Coverage-guided fuzzing of the readers: ``python -m tests.fuzz.run SECONDS [READER ...]``; ``make fuzz`` runs all.

With ``goal`` for SECONDS, each reader runs for as long as the ledger lacks.

Needs atheris, which ``make fuzz`` installs in a virtual environment of its own.  Each reader runs in a process of its
own for SECONDS of the processor, or until a finding; ``ledger.py`` adds them up.  Contents that reach new code stay in
``.fuzz/corpus`` for the next time, and findings in ``.fuzz/findings``: move one to ``tests/fuzz/corpus/READER`` once it
is understood, so that ``make test`` reads it from then on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from subprocess import PIPE, STDOUT

from tests.fuzz.ledger import GOAL_S, KEPT, Run, add, runs, sources_hash, total

WORK = Path(os.environ.get("BDIS_FUZZ", ".fuzz")).resolve()
IN_MEMORY = Path("/dev/shm")  # files that live for a moment need no disk
INSTRUMENTED = [
    "bdis.cameras", "bdis.common", "bdis.files", "bdis.connections.exports", "bdis.connections.igtl",
    "bdis.connections.ros", "bdis.connections.ros2", "bdis.cluster", "bdis.evaluation.datasets",
    "bdis.evaluation.run_log", "bdis.evaluation.samples", "bdis.video.recording", "bdis.video.sources", "rosbags",
    "json", "tomllib", "xml", "zipfile", "tarfile", "numpy.lib.format",
]  # fmt: skip
SLOWEST_S, MEMORY_MB, LONGEST = 10, 2048, 4096
PART_S = 120.0  # a run that is killed loses no more than this
ENDED = "the time is over"
HANGS_S = 1200  # of the clock, which goes on while a busy or stopped process waits for its turn


def main() -> int:
    """Run readers one after the other; the exit code is 1 after a finding."""
    given, *names = sys.argv[1:]
    has_finding = False
    for name in names or sorted(path.name for path in KEPT.iterdir()):
        left_s = _lacking_s(name) if given == "goal" else float(given)
        while left_s > 0:
            if _has_finding(name, min(left_s, PART_S)):
                has_finding = True
                break
            left_s = _lacking_s(name) if given == "goal" else left_s - PART_S
    return int(has_finding)


def _lacking_s(name: str) -> float:
    """How long a reader has still to run."""
    return GOAL_S - total(name, sources_hash(name), runs()).seconds


def _has_finding(name: str, seconds: float) -> bool:
    """Run a reader for a while; print how it went, and write it into the ledger."""
    sources = sources_hash(name)  # before: what is edited meanwhile was not run
    before = set(_findings(name))
    with tempfile.TemporaryDirectory(prefix="bdis-fuzz-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as scratch:
        command = [sys.executable, "-m", "tests.fuzz.run", "--child", name, str(seconds), scratch]
        done = subprocess.run(command, stdout=PIPE, stderr=STDOUT, text=True, errors="replace")
    found = sorted(set(_findings(name)) - before)
    ran = max(map(int, re.findall(r"^#(\d+)\b", done.stdout, re.MULTILINE)), default=0)
    reached = re.findall(r" cov: (\d+) ", done.stdout)
    is_clean = not found and done.returncode == 0 and ENDED in done.stdout
    add(Run(name, sources, seconds, ran, 0 if is_clean else 1))
    print(f"{name:18} {ran:>9} contents, {reached[-1] if reached else 0:>5} branches: ", end="")
    if is_clean:
        print("no finding", flush=True)
    else:
        print(f"FINDING {', '.join(map(str, found)) or 'without a content'}\n{_tail(done.stdout)}", flush=True)
    return not is_clean


def _findings(name: str) -> list[Path]:
    return list((WORK / "findings" / name).glob("*"))


def _tail(output: str) -> str:
    """What was printed about the finding, without the fuzzer's own figures."""
    lines = [line for line in output.splitlines() if not line.startswith(("#", "INFO:"))]
    return "\n".join(f"    {line}" for line in lines[-25:])


def _fuzz(name: str, seconds: str, scratch: str) -> None:
    """Read invented contents until the time is over or one is not survived; never returns."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.fuzz.readers import READERS

    warnings.simplefilter("error")  # as in the tests
    warnings.simplefilter("ignore", UserWarning)  # what users are told of a file is no fault
    reader, place = READERS[name], Path(scratch, "input")
    count, end_s = 0, time.process_time() + float(seconds)

    def one(content: bytes) -> None:
        nonlocal count
        began_s = time.process_time()
        if began_s > end_s:
            print(f"\n#{count} {ENDED}", flush=True)
            os._exit(0)
        count += 1
        place.mkdir()
        try:
            reader.read(place, content)
        except reader.may_raise:
            pass
        finally:
            shutil.rmtree(place)
        used_s = time.process_time() - began_s
        assert used_s < SLOWEST_S, f"a content took {used_s:.1f} s"

    longest = max(LONGEST, *(path.stat().st_size for path in (KEPT / name).iterdir()))  # a good content is not cut
    corpus, findings, words = WORK / "corpus" / name, WORK / "findings" / name, Path(scratch, "words")
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    words.write_text("".join('"' + word.replace('"', '\\"') + '"\n' for word in reader.words))
    options = [
        f"-timeout={HANGS_S}", f"-report_slow_units={HANGS_S}", f"-rss_limit_mb={MEMORY_MB}", f"-max_len={longest}",
        f"-artifact_prefix={findings}/", *([f"-dict={words}"] if reader.words else []),
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus), str(KEPT / name)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        _fuzz(*sys.argv[2:])
    else:
        sys.exit(main())
