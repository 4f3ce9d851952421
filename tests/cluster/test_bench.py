"""``bdis batch bench``: the records of ``bdis bench``, measured elsewhere; sweeps and their front."""

import csv
import re
from pathlib import Path

import pytest

import bdis
from bdis.cli.app import run
from bdis.cluster.bench import BenchRequest, DatasetRequest, measure
from bdis.cluster.journal import BenchProgress
from bdis.evaluation.metrics import Score
from bdis.evaluation.runner import run as run_plan
from bdis.evaluation.summary import Row
from bdis.evaluation.sweep import on_front, swept_methods
from tests.cli.commands import fails

pytest.importorskip("distributed")
SCENE = "render:plane,frames=3,height=48,width=64"


def test_frames_measured_elsewhere_are_those_measured_here(tmp_path):
    request = BenchRequest((DatasetRequest(SCENE, SCENE, None, (), None),), ("bdis-fast", "bm"), rounds=0)
    asked = []

    def elsewhere(works):
        asked.extend(works)
        for work in reversed(works):
            yield work.index, measure(request, work)

    there = run_plan(request.plan(), tmp_path / "there", elsewhere=elsewhere)
    here = run_plan(request.plan(), tmp_path / "here")
    assert str(there.frames) == str(here.frames)
    assert len(asked) == 3
    assert [path.is_file() for path in there.samples.values()] == [True]
    again = run_plan(request.plan(), tmp_path / "there", elsewhere=elsewhere)
    assert len(asked) == 3
    assert str(again.frames) == str(here.frames)


def test_a_sweep_on_this_machine_writes_a_table_and_a_front(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    command = [
        "batch",
        "bench",
        SCENE,
        "--sweep",
        "preset=fast,dis",
        "patch_size=6,8",
        "--rounds",
        "1",
        "--workers",
        "1",
    ]
    assert run([*command, "-o", str(tmp_path)]) == 0
    assert "preset=dis patch_size=8" in capsys.readouterr().out
    lines = list(csv.DictReader((tmp_path / "sweep.csv").read_text().splitlines()))
    assert len(lines) == 4
    assert {line["on_front"] for line in lines} <= {"True", "False"}
    assert (tmp_path / "pareto-rendered-plane.png").read_bytes()[1:4] == b"PNG"
    assert run(["batch", "status", str(tmp_path)]) == 0
    assert f"has ended: {tmp_path / 'report.html'}" in "".join(capsys.readouterr().out.splitlines())


def test_a_benchmark_in_work_is_told_to_other_terminals_and_not_disturbed(tmp_path, capsys):
    with BenchProgress(tmp_path) as progress:
        progress.tell("accuracy", 2, 3)
        assert run(["batch", "status", str(tmp_path)]) == 0
        assert "is running: accuracy, 2 of 3" in capsys.readouterr().out
        arguments = ["batch", "bench", SCENE, "--methods", "bm", "-o", tmp_path]
        fails(capsys, arguments, 1, "another process is recording into")
    assert run(["batch", "status", str(tmp_path)]) == 0
    assert "is not running; its command resumes it: accuracy, 2 of 3" in capsys.readouterr().out


def row(error, time_ms):
    times = None if time_ms is None else {"median_ms": time_ms}
    unused = dict.fromkeys(("lowest_within_95", "highest_within_95", "predicted", "equal_mean", "equal_median"), 0.0)
    return Row(
        "g", "m", Score(mean_mm=error), frames=1, scored=1, failed=0, has_confidence=False, assessed=False, curve=[],
        reliability=None, times=times, in_px=False, **unused,
    )  # fmt: skip


def test_the_front_has_what_nothing_beats():
    rows = [row(1.0, 10.0), row(2.0, 5.0), row(2.0, 6.0), row(0.5, None), row(float("nan"), 1.0), row(1.0, 10.0)]
    assert on_front(rows) == [True, True, False, False, False, True]


def test_swept_methods_match_verged_cameras_with_their_own_settings():
    (method,) = swept_methods(["patch_size=6"])
    matcher = method.make_between(-20.0, 40.0)
    assert (matcher.settings.patch_size, matcher.settings.min_disparity) == (6, -20.0)
    assert method.make(64.0).settings.max_disparity == 64.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([SCENE], ["--methods, --sweep or both"]),
        ([SCENE, "--sweep", "patchsize=6"], ["patchsize"]),
        ([SCENE, "--sweep", "patch_size=6,6"], ["each name and value once"]),
        ([SCENE, SCENE, "--methods", "bm"], ["given twice"]),
        (["--sweep", "patch_size=6", "preset=fast"], ["no data sets"]),
    ],
)
def test_what_cannot_be_compared_is_one_line(capsys, tmp_path, arguments, words):
    fails(capsys, ["batch", "bench", *arguments, "-o", tmp_path / "out"], 2, *words)
    assert not (tmp_path / "out").exists()


def test_only_the_cluster_room_imports_dask():
    root = Path(bdis.__file__).parent
    pattern = re.compile(r"""(require\(["']|import |from )(dask|distributed)""")
    users = {path.relative_to(root).parts[0] for path in root.rglob("*.py") if pattern.search(path.read_text())}
    assert users == {"cluster"}
