"""``bdis.show``: one page that works offline, below the cell of a notebook or in a browser."""

import re
import sys
import types
import webbrowser

import numpy as np
import pytest

import bdis
from bdis.viewer import inline_page
from bdis.viewer.inline_page import page_of

from .pages import wait_for_page


@pytest.fixture(scope="module")
def result(scene):
    return bdis.StereoMatcher("fast", variance=True).match(scene.left, scene.right)


@pytest.fixture
def opened(monkeypatch):
    """Addresses that a browser was asked to open."""
    found = []
    monkeypatch.setattr(webbrowser, "open", found.append)
    monkeypatch.setattr(inline_page, "has_screen", lambda: True)
    return found


@pytest.fixture
def notebook(monkeypatch):
    """What a notebook was given to display."""
    found = []
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    module.display = types.SimpleNamespace(display=lambda shown, raw: found.append(shown["text/html"]))
    monkeypatch.setitem(sys.modules, "IPython", module)
    return found


def test_a_script_writes_the_page_says_where_and_opens_it(result, rig, scene, opened, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    path = bdis.show(result, rig, scene.left)
    assert path.parent.parent == tmp_path
    assert path.parent.stat().st_mode & 0o077 == 0, "images of a patient are for nobody else"
    assert opened == [path.as_uri()]
    assert capsys.readouterr().err == f"bdis.show: {path}\n"
    assert bdis.show(result, rig, path=tmp_path / "mine.html") == tmp_path / "mine.html"
    assert len(opened) == 1


def test_a_notebook_shows_it_in_a_frame_of_its_own(result, rig, scene, opened, notebook, tmp_path):
    assert bdis.show(result, rig, scene.left) is None
    (frame,) = notebook
    assert re.match(r"<iframe srcdoc='[^']+' sandbox='allow-scripts' title='bdis' width='100%' height='\d+'", frame)
    assert bdis.show(result) is None
    assert "disparity, px" in notebook[1].replace("&#x27;", "'")
    path = bdis.show(result, rig, path=tmp_path / "page.html")
    assert path.exists()
    assert not opened


def test_the_page_asks_nobody_and_is_small(result, rig, scene):
    page = page_of(result, rig, scene.left)
    assert not re.search(r"https?:|src='(?!data:)", page)
    large = np.random.default_rng(0).uniform(20, 60, (1080, 1920)).astype(np.float32)
    assert len(page_of(bdis.StereoResult(large, large, large), bdis.Rig(900, 960, 540, 5))) < 500_000


def test_nothing_known_and_wrong_sizes(rig, scene):
    nothing = np.full((scene.left.shape[0], scene.left.shape[1]), np.nan, np.float32)
    assert "unknown everywhere" in page_of(bdis.StereoResult(nothing, nothing), rig)
    one = np.full_like(nothing, 20)
    with pytest.raises(ValueError, match="left is 159x120 but the result is 160x120"):
        page_of(bdis.StereoResult(one, one), rig, scene.left[:, 1:])


def test_warnings_stand_on_the_page(scene, rig):
    result = bdis.StereoMatcher("fast").match(scene.left, scene.left)
    assert "the same picture" in page_of(result, rig)


def test_a_click_reads_the_depth_in_a_browser(result, rig, scene, chromium, tmp_path):
    path = tmp_path / "page.html"
    bdis.show(result, rig, scene.left, path=path)
    page = chromium.new_page(viewport={"width": 900, "height": 900})
    errors = []
    page.on("pageerror", lambda error: errors.append(error))
    try:
        page.goto(path.as_uri())
        canvas = page.locator("canvas")
        assert re.fullmatch(
            r"Point cloud of \d+ points in the colours of the left image", canvas.get_attribute("aria-label")
        )
        before = canvas.screenshot()
        canvas.click()
        wait_for_page(page, lambda: "depth" in page.inner_text("#said"))
        said = page.inner_text("#said")
        depth, width = map(float, re.match(r"depth ([\d.]+) mm, 95 % within ([\d.]+) mm; point \(", said).groups())
        known = rig.depth(result)
        assert np.nanmin(known) - 0.1 <= depth <= np.nanmax(known) + 0.1
        assert width > 0
        box = canvas.bounding_box()
        page.mouse.move(box["x"] + 300, box["y"] + 200)
        page.mouse.down()
        page.mouse.move(box["x"] + 400, box["y"] + 220, steps=4)
        page.mouse.up()
        wait_for_page(page, lambda: canvas.screenshot() != before)
        assert errors == []
    finally:
        page.close()


def test_names_of_settings_complete_and_results_display_in_ipython(result):
    """The same in IPython itself, where it is installed."""
    shells = pytest.importorskip("IPython.core.interactiveshell")
    from IPython.core.completer import provisionalcompleter

    shell = shells.InteractiveShell.instance()
    try:
        shell.user_ns["bdis"] = bdis
        line = "bdis.StereoMatcher('fast', min_s"
        with provisionalcompleter():
            found = {each.text for each in shell.Completer.completions(line, len(line))}
        assert {"min_support=", "min_surface_probability="} <= found
        shown, _ = shell.display_formatter.format(result)
        assert shown["text/html"] == result._repr_html_()
        assert shown["text/plain"] == repr(result)
    finally:
        shells.InteractiveShell.clear_instance()
