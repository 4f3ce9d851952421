"""Scenes and browsers for the tests of the viewer."""

import shutil

import pytest

from bdis.cameras.rig import Rig
from bdis.synthetic.renderer import render
from bdis.video.sources import RenderedSource
from bdis.viewer.html_text import NARROW_PX

from .pages import HEIGHT, WIDTH

PHONE_PX = 576  # below it viser has one panel, the controls
FLAGS = [
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="package")
def scene():
    return render("tissue", HEIGHT, WIDTH, seed=2)


@pytest.fixture(scope="package")
def rig(scene):
    return Rig(scene.focal_px, (WIDTH - 1) / 2, (HEIGHT - 1) / 2, scene.baseline_mm, size=(WIDTH, HEIGHT))


@pytest.fixture(scope="package")
def moving():
    """A video whose frames are rendered once for all tests."""
    source = RenderedSource("tissue", frames=100_000, distinct=12, fps=20, height=HEIGHT, width=WIDTH)
    for index in range(12):
        source._load(index)
    return source


@pytest.fixture(scope="package")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("there is no chromium on this machine")
    with playwright.sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        except playwright.Error as error:
            pytest.skip(f"chromium does not start here: {error.message.splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Opens pages that record what they ask the network for, and closes them."""
    opened = []

    def open_page(viewer, width=1000, height=640):
        page = chromium.new_page(viewport={"width": width, "height": height})
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("websocket", lambda websocket: page.asked.append(websocket.url))
        opened.append(page)
        page.goto(viewer.url)
        are_controls_open = width >= NARROW_PX or width < PHONE_PX
        page.get_by_text("Coverage" if are_controls_open else "Map: ").first.wait_for()
        return page

    yield open_page
    for page in opened:
        page.close()
