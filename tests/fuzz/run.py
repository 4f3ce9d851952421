"""Coverage-guided fuzzing of the readers: ``python -m tests.fuzz.run SECONDS [READER ...]``; ``make fuzz`` runs all.

Needs atheris, which ``make fuzz`` installs in a virtual environment of its own.  Each reader runs in a process of its
own for SECONDS, or until a finding.  Contents that reach new code stay in ``.fuzz/corpus`` for the next time, and
findings in ``.fuzz/findings``: move one to ``tests/fuzz/corpus/READER`` once it is understood, so that ``make test``
reads it from then on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from subprocess import PIPE, STDOUT

WORK = Path(os.environ.get("BDIS_FUZZ", ".fuzz")).resolve()
IN_MEMORY = Path("/dev/shm")  # files that live for a moment need no disk
KEPT = Path(__file__).parent / "corpus"
INSTRUMENTED = [
    "bdis.cameras", "bdis.common", "bdis.files", "bdis.evaluation.datasets", "bdis.evaluation.run_log",
    "bdis.evaluation.samples", "bdis.video.recording.frame_log", "bdis.video.recording.manifest",
    "bdis.video.sources.rendered", "json", "tomllib", "xml", "zipfile", "tarfile", "numpy.lib.format",
]  # fmt: skip
TIMEOUT_S, MEMORY_MB, LONGEST = 10, 2048, 4096


def main() -> int:
    """Run readers one after the other; the exit code is 1 after a finding."""
    seconds, *names = sys.argv[1:]
    has_finding = False
    for name in names or sorted(path.name for path in KEPT.iterdir()):
        before = set(_findings(name))
        with tempfile.TemporaryDirectory(prefix="bdis-fuzz-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as scratch:
            command = [sys.executable, "-m", "tests.fuzz.run", "--child", name, seconds, scratch]
            done = subprocess.run(command, stdout=PIPE, stderr=STDOUT, text=True, errors="replace")
        found = sorted(set(_findings(name)) - before)
        ran = re.findall(r"^#(\d+)\s", done.stdout, re.MULTILINE)
        reached = re.findall(r" cov: (\d+) ", done.stdout)
        print(f"{name:18} {ran[-1] if ran else 0:>9} contents, {reached[-1] if reached else 0:>5} branches: ", end="")
        if found or done.returncode:
            has_finding = True
            print(f"FINDING {', '.join(map(str, found)) or 'without a content'}\n{_tail(done.stdout)}", flush=True)
        else:
            print("no finding", flush=True)
    return int(has_finding)


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
    reader, place = READERS[name], Path(scratch, "input")

    def one(content: bytes) -> None:
        place.mkdir()
        try:
            reader.read(place, content)
        except reader.may_raise:
            pass
        finally:
            shutil.rmtree(place)

    corpus, findings, words = WORK / "corpus" / name, WORK / "findings" / name, Path(scratch, "words")
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    words.write_text("".join('"' + word.replace('"', '\\"') + '"\n' for word in reader.words))
    options = [
        f"-max_total_time={seconds}", f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}", f"-max_len={LONGEST}",
        f"-artifact_prefix={findings}/", *([f"-dict={words}"] if reader.words else []),
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus), str(KEPT / name)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        _fuzz(*sys.argv[2:])
    else:
        sys.exit(main())
