"""Pictures that are no rectified pair: the page says so where the user looks, and stops when it is no longer true."""

import time
from dataclasses import replace
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

import bdis
from bdis.cameras.rig import Rig
from bdis.synthetic.renderer import render
from bdis.viewer import pair_check
from bdis.viewer.image_panel import ImagePanel
from bdis.viewer.status_panel import StatusPanel

from .attack import Attacker
from .pages import StillSource, body, panel, wait_for_page, wait_until, watching

SIZE = (240, 320)


@pytest.fixture(scope="module")
def pair():
    return render("tissue", *SIZE, seed=3)


@pytest.fixture(scope="module")
def rig(pair):
    return Rig(pair.focal_px, (SIZE[1] - 1) / 2, (SIZE[0] - 1) / 2, pair.baseline_mm, size=SIZE[::-1])


@pytest.fixture(autouse=True)
def checked_often(monkeypatch):
    monkeypatch.setattr(pair_check, "CHECK_S", 0.2)


def still(left, right, rig):
    return StillSource(SimpleNamespace(left=left, right=right), rig)


def warnings_on(viewer):
    """What stands above the pictures and at the top of the controls; both say the same."""
    above, top = panel(viewer, ImagePanel)._warnings.content, panel(viewer, StatusPanel)._messages.content
    return above.lower() if above in top else ""


def tilted(image):
    """A picture of a camera that is turned by 5 degrees."""
    height, width = image.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), 5, 1)
    return cv2.warpAffine(image, turn, (width, height), borderMode=cv2.BORDER_REFLECT)


def test_a_swapped_pair_is_said_on_the_page(pair, rig, open_page):
    with watching(
        still(pair.right, pair.left, rig), bdis.StereoMatcher("balanced", variance=True), at_end="wait"
    ) as viewer:
        page = open_page(viewer)
        wait_for_page(page, lambda: body(page).count("look swapped") == 2)
        assert page.get_by_role("alert").filter(has_text="swapped").count() == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda left, right: (right, left), "look swapped"),
        (lambda left, right: (left, tilted(right)), "does not look rectified"),
        (
            lambda left, right: (left, np.random.default_rng(1).integers(0, 255, right.shape, np.uint8)),
            "features match",
        ),
        (lambda left, right: (left, np.zeros_like(right)), "only 0.0% of the pixels are known"),
        (lambda left, right: (left, left), "the same picture"),
        (lambda left, right: (left, right[:, ::-1].copy()), "mirrored"),
    ],
    ids=["swapped", "unrectified", "unrelated", "black", "same", "mirrored"],
)
def test_what_is_no_pair_is_said_on_the_page(pair, rig, change, words):
    with watching(
        still(*change(pair.left, pair.right), rig), bdis.StereoMatcher(variance=True), at_end="wait"
    ) as viewer:
        wait_until(lambda: words in warnings_on(viewer), what=words)


def test_black_bars_beside_the_views_of_one_picture_are_said_on_the_page(pair, rig, tmp_path):
    bar = np.zeros((SIZE[0], 16, 3), np.uint8)
    bdis.write_image(tmp_path / "both.png", np.hstack([bar, pair.left, pair.right, bar]))
    source = bdis.open_source(tmp_path / "both.png", layout="side-by-side")
    with watching(source, bdis.StereoMatcher("fast", variance=True), at_end="wait") as viewer, Attacker(viewer.url):
        wait_until(lambda: "black bars of 16 px in the left and 0 px in the right view" in warnings_on(viewer))


def test_a_good_pair_has_no_warning(pair, rig):
    with watching(still(pair.left, pair.right, rig), bdis.StereoMatcher(variance=True), at_end="wait") as viewer:
        time.sleep(1.5)
        assert panel(viewer, ImagePanel)._warnings.content == ""
        assert "alert" not in panel(viewer, StatusPanel)._messages.content


def test_a_warning_goes_when_it_no_longer_holds(pair, rig):
    class Exchanged(StillSource):
        def _load(self, index):
            return (self._pair.right, self._pair.left) if index < 10 else (self._pair.left, self._pair.right)

    source = Exchanged(pair, rig)
    source._length, source._fps = 1000, 20.0
    with watching(source, bdis.StereoMatcher("fast"), at_end="wait") as viewer, Attacker(viewer.url):
        viewer.stream.seek(0.0)
        viewer.stream.pause()
        wait_until(lambda: "look swapped" in warnings_on(viewer))
        viewer.stream.seek(1.0)
        wait_until(lambda: panel(viewer, ImagePanel)._warnings.content == "")


def test_a_setting_that_removes_the_cause_removes_the_warning(pair, rig):
    with watching(still(pair.left, pair.right, rig), bdis.StereoMatcher("fast"), at_end="wait") as viewer:
        viewer._receiver.use(bdis.StereoMatcher("fast", min_probability=1.0))
        with Attacker(viewer.url):
            wait_until(lambda: "of the pixels are known" in warnings_on(viewer))
            viewer._receiver.use(bdis.StereoMatcher("fast"))
            wait_until(lambda: panel(viewer, ImagePanel)._warnings.content == "")


def test_no_caption_says_rectified_of_what_nobody_rectified(pair, rig, moving):
    for source in (still(pair.left, pair.right, rig), still(pair.left, pair.right, None)):
        with watching(source, at_end="wait") as viewer:
            assert "rectified" not in panel(viewer, ImagePanel)._left.label


def test_saved_pictures_carry_the_warnings(pair, rig, tmp_path, monkeypatch):
    titles = []
    monkeypatch.setattr("bdis.viewer.save_panel.write_preview", lambda *a, title, **b: titles.append(title))
    with watching(still(pair.right, pair.left, rig), bdis.StereoMatcher(), at_end="wait", out=tmp_path) as viewer:
        wait_until(lambda: "look swapped" in warnings_on(viewer))
        with Attacker(viewer.url) as browser:
            browser.set("This frame", "Pictures")
            wait_until(lambda: titles)
    assert "look swapped" in titles[0]


def test_the_check_takes_little_of_a_core(pair, rig, monkeypatch):
    """A check that takes long waits long for the next."""
    calls = []

    def slow(frame):
        calls.append(time.monotonic())
        time.sleep(0.1)
        return ()

    monkeypatch.setattr(pair_check, "pair_warnings", slow)
    source = still(pair.left, pair.right, rig)
    source._length, source._fps = 1000, 50.0
    with watching(source, bdis.StereoMatcher("fast")) as viewer, Attacker(viewer.url):
        wait_until(lambda: len(calls) == 3)
    assert min(np.diff(calls)) > 0.9


def test_an_error_of_the_check_is_said_and_ends_nothing(pair, rig, monkeypatch):
    def broken(*arguments):
        raise ImportError("checking the rectification needs cv2")

    monkeypatch.setattr(pair_check, "check_rectification", broken)
    with watching(still(pair.left, pair.right, rig), at_end="wait") as viewer:
        wait_until(lambda: "could not be checked: checking the rectification needs cv2" in warnings_on(viewer))
        assert viewer._thread.is_alive()


def test_a_frame_of_a_damaged_video_is_said_to_be_one(pair, rig):
    class Damaged(StillSource):
        def read(self):
            frame = super().read()
            return None if frame is None else replace(frame, is_suspect=True)

    source = Damaged(SimpleNamespace(left=pair.left, right=pair.right), rig)
    with watching(source, bdis.StereoMatcher("fast"), at_end="wait") as viewer:
        wait_until(lambda: "decoded from a damaged one" in warnings_on(viewer))


def test_a_source_that_may_be_paired_wrongly_is_said_to_be_so(pair, rig):
    class Doubtful(StillSource):
        warnings = ("the videos begin 0.20 s apart",)

    source = Doubtful(SimpleNamespace(left=pair.left, right=pair.right), rig)
    with watching(source, bdis.StereoMatcher("fast"), at_end="wait") as viewer:
        wait_until(lambda: "begin 0.20 s apart" in warnings_on(viewer))


NASTY = "<img src=x onerror=\"document.title='trap'\">[a](javascript:alert(1))</script>'\"`${1}.mp4"


def test_the_name_of_a_file_is_text_on_the_page(pair, rig, open_page):
    source = still(pair.left, pair.right, rig)
    source.name = NASTY
    with watching(source, at_end="wait", out="out", title=f"bdis · {NASTY}") as viewer:
        viewer._page.show_warnings([NASTY])
        viewer._page.show_message("x", NASTY)
        page = open_page(viewer)
        page.wait_for_timeout(500)
        assert page.title() == f"bdis · {NASTY}"
        assert page.locator("img[src='x']").count() == 0
        assert "onerror" in body(page)
