"""The shell commands that pages show: which there are, how they run here, and the few that cannot."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```console\n([^`]*)^```|(?<=\n\n)((?:    .*\n|\n(?=    ))+)|`(bdis bench \w.*?)`", re.MULTILINE)
FENCED = re.compile(r"^```(\S*)\n.*?^```\n", re.DOTALL | re.MULTILINE)
# Of blocks that show something else than commands, how they begin.
NO_COMMANDS = ("cli > cluster", "file, folder, camera", "calibration  images rectified", "IJK-to-world")


@dataclass(frozen=True)
class Elsewhere:
    """Commands that are not run by ``tests/test_page_commands.py``.

    Attributes
    ----------
    pattern : str
        Regular expression that such a command begins with.
    reason : str
        Why they are not.
    tests : tuple of str
        Files that run them, or what they call, in another way; none if nothing here can.
    """

    pattern: str
    reason: str
    tests: tuple[str, ...] = ()


NOT_RUN = (
    Elsewhere(r"pip install|python3 -m venv", "installs from the package index", ("packaging/check_dist.py",)),
    Elsewhere(r"make ", "the test suite itself, or minutes to hours; the targets are checked to exist"),
    Elsewhere(
        r"python -m benchmarks(\.hashes)? ", "minutes, and BENCHMARK.md would be written anew",
        ("tests/evaluation/test_benchmark_tables.py", "tests/evaluation/test_hashes.py"),
    ),
    Elsewhere(
        r"bdis bench --paper", "all tables, with times at the sizes of the paper",
        ("tests/evaluation/test_paper_tables.py",),
    ),
    Elsewhere(
        r"bdis (networks|match|bench)\b.*(psmnet|gwcnet|onnx:)", "need torch or ONNX Runtime: make test-networks",
        ("tests/networks/test_page_commands.py",),
    ),
    Elsewhere(
        r"bdis ros1|roscore &|rosparam ", "run until they are ended, beside a ROS 1 master",
        ("tests/connections/test_ros1.py",),
    ),
    Elsewhere(
        r"bdis ros2(?! --write-package)|source /opt/ros|cd ~/ros2_ws|ros2 (launch|param) ", "need ROS 2",
        ("tests/connections/test_ros2.py",),
    ),
    Elsewhere(r'bdis run "igtl://plus-pc', "needs a server of OpenIGTLink", ("tests/video/test_igtl.py",)),
    Elsewhere(r".*(decklink|libndi|ndisrc|v4l2)", "needs a capture card, NDI or a camera"),
    Elsewhere(r"ffmpeg -i (bars|gap)", "needs the program ffmpeg", ("tests/cameras/test_black_bars.py",)),
    Elsewhere(r"ns-train ", "needs Nerfstudio"),
    Elsewhere(r"dask (scheduler|worker) ", "run until they are ended", ("tests/cluster/processes.py",)),
    Elsewhere(r"bdis batch run .*(--tls|--slurm)", "needs certificates, or SLURM", ("tests/cluster/test_jobs.py",)),
)  # fmt: skip

# What a command gets in place of what is not here, or is too large for a test.
STAND_INS = (
    (r"\bview 0 ", "view surgery.mp4 "),  # a camera
    (r"render:(\w+)(,frames=\d+)?", r"render:\1,frames=2,height=64,width=96"),
    (r"^bdis render (.*)--frames \d+", r"bdis render \1--frames 2 --size 96x64"),
    (r"(?<=[ :])/data/", "data/"),
    (r"(?<= )/shared/", "shared-"),
    (r"~/", ""),
    (r"^bdis view ", "bdis view --no-browser --port 0 "),
    (r"^bdis demo --view", "bdis demo --view --no-browser --port 0"),
    (r"^bdis batch (run|bench)(?!.*--scheduler)", r"bdis batch \1 --scheduler tcp://node1:8786"),  # soon started
    (r"--(igtl|foxglove) (0\.0\.0\.0:)?\d+", lambda found: f"--{found[1]} {free_port()}"),  # not for others
)


def pages():
    """Every page that shows commands."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(page for page in found if "generated" not in page.parts and commands(page))


def commands(page):
    """Commands in blocks, and benchmarks that stand in the text, in the order of the page."""
    text = FENCED.sub(lambda found: found[0] if found[1] == "console" else "", page.read_text())
    found = []
    for block in BLOCK.finditer(text):
        lines = textwrap.dedent(next(filter(None, block.groups())))
        if not lines.startswith(NO_COMMANDS):
            lines = re.sub(r"\\\n *", "", re.sub(r"\|\n *", "| ", lines))
            found += [line.partition(" #")[0].strip() for line in lines.splitlines()]
    return [line for line in found if line and not line.startswith("#")]


def elsewhere(command):
    """The entries of NOT_RUN that a command is one of."""
    return [each for each in NOT_RUN if re.match(each.pattern, command)]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def run_command(command, own_files, stand_ins=STAND_INS):
    """Run a command of a page in this process and the current folder; its exit code.

    Parameters
    ----------
    command : str
        As the page shows it.
    own_files : path
        Files that a reader would have.  Those that the command reads, and that no earlier command has made, are put
        into the current folder.
    stand_ins : sequence of (str, str)
        Patterns, and what replaces them.
    """
    from bdis.cli.app import run

    for pattern, stand_in in stand_ins:
        command = re.sub(pattern, stand_in, command)
    writer, _, reader = command.rpartition(" | ")
    for part in reader.split(" && "):
        first, *words = shlex.split(part)
        assert first == "bdis", f"{command}: no bdis, and not in NOT_RUN of tests/page_commands.py"
        bring(words, own_files)
        with piped(shlex.split(writer)):
            code = run(words)
        if code:
            return code
    return 0


def bring(words, own_files):
    """Put what a command reads into the current folder, unless it is there."""
    written = {words[place + 1] for place, word in enumerate(words[:-1]) if word in ("-o", "--out")}
    if words[:2] == ["calib", "convert"]:
        written.add(words[3])
    for word in words:
        first = re.sub(r"^\w+:(?=data/)|^\w+=|^.*onnx:", "", word).split("/")[0]
        for name in ("left.yaml", "right.yaml") if first == "left.yaml" else (first,):  # ROS finds the other beside it
            if word not in written and name and (own_files / name).exists() and not Path(name).exists():
                Path(name).symlink_to(own_files / name)


@contextmanager
def piped(writer):
    """The output of a program as the standard input of this process."""
    if not writer:
        yield
        return
    if not shutil.which(writer[0]):
        pytest.skip(f"no {writer[0]}")
    program, before = subprocess.Popen(writer, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL), os.dup(0)
    os.dup2(program.stdout.fileno(), 0)
    program.stdout.close()
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)
        program.kill()
        program.wait()
