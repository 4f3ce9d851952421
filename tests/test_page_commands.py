"""Whoever copies the commands of a page, in their order, gets what it promises."""

import re

import pytest

pytest.importorskip("typer")
from bdis.viewer import Viewer

from .cluster.processes import Processes
from .own_files import write_own_files
from .page_commands import NOT_RUN, ROOT, STAND_INS, commands, elsewhere, pages, run_command

PAGES = {page.relative_to(ROOT).as_posix(): page for page in pages()}


@pytest.fixture(scope="module")
def own_files(tmp_path_factory):
    """The files that the pages name, as a reader would have them."""
    folder = tmp_path_factory.mktemp("own")
    write_own_files(folder)
    return folder


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """Address of a scheduler with a worker: to start those takes longer than all batches of the pages."""
    pytest.importorskip("distributed")
    with Processes(1, tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster.address


@pytest.mark.parametrize("page", [name for name, page in PAGES.items() if not all(map(elsewhere, commands(page)))])
def test_commands_run_in_the_order_of_the_page(page, own_files, tmp_path, monkeypatch, capsys, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Viewer, "serve", lambda viewer: viewer.wait_for_frame(60))
    stand_ins = STAND_INS
    if "bdis batch" in PAGES[page].read_text():
        stand_ins = (*STAND_INS, ("tcp://node1:8786", request.getfixturevalue("scheduler")))
    for command in commands(PAGES[page]):
        if not elsewhere(command):
            assert run_command(command, own_files, stand_ins) == 0, f"{command}\n{capsys.readouterr().err}"


def test_every_page_with_commands_is_known():
    assert {"README.md", "docs/commands.md", "docs/start/own_camera.md", "docs/video.md"} <= set(PAGES)


@pytest.mark.parametrize("entry", NOT_RUN, ids=lambda entry: entry.reason)
def test_what_is_not_run_is_on_a_page_and_tested_where_it_is_said(entry):
    assert any(entry in elsewhere(command) for page in PAGES.values() for command in commands(page))
    for file in entry.tests:
        assert (ROOT / file).is_file(), file


def test_targets_of_make_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = [command.split() for page in PAGES.values() for command in commands(page) if command.startswith("make ")]
    assert len(shown) > 5
    assert {words[-1] for words in shown} <= targets
