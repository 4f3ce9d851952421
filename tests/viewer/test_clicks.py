"""Clicks on the pictures: depth in plain words, distances, and what no click can do."""

import re

import pytest

import bdis
from bdis.cameras.measure import depth_at, distance_between
from bdis.viewer.image_panel import ImagePanel

from .attack import Attacker
from .conftest import PHONE_PX
from .pages import HEIGHT, WIDTH, StillSource, body, panel, wait_for_page, wait_until, watching


@pytest.fixture
def viewer(scene, rig):
    with watching(StillSource(scene, rig), at_end="wait") as viewer:
        wait_until(lambda: viewer._page.shown)
        yield viewer


def click(page, number, across, down):
    """Click the left image (0) or the map (1) at a share of its width and height."""
    box = page.locator("img[src^='blob:']").nth(number).bounding_box()
    page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])


def clicked(page, across, down):
    """The pixel that the page says was clicked, once it is near the one that was meant; the mouse knows whole px."""
    found = re.search(r"Pixel (\d+), (\d+)", body(page))
    pixel = found and (int(found[1]), int(found[2]))
    return pixel if pixel and abs(pixel[0] - across * WIDTH) <= 1 and abs(pixel[1] - down * HEIGHT) <= 1 else None


def test_clicks_on_both_pictures_read_depths_and_measure_the_distance(viewer, rig, open_page):
    page = open_page(viewer, 1400, 800)
    click(page, 0, 0.5, 0.5)
    first = wait_for_page(page, lambda: clicked(page, 0.5, 0.5))
    result = viewer._page.shown.result
    words = depth_at(rig, result, first).words()
    assert re.fullmatch(r"\d+\.\d mm, 95 % within \d+\.\d", words)
    assert f"depth {words}" in body(page)
    click(page, 1, 0.75, 0.25)
    second = wait_for_page(page, lambda: clicked(page, 0.75, 0.25))
    distance = distance_between(rig, result, first, second)
    assert f"distance {distance.words()}" in body(page)
    assert f"sigma {distance.sigma_mm:.2f} mm" in body(page)
    assert viewer._scene.marker._label.text == depth_at(rig, result, second).words()
    assert viewer._scene.marker._before.visible


def test_a_narrow_window_leaves_room_for_the_view(viewer, open_page):
    page = open_page(viewer, 900, 700)
    wait_for_page(page, lambda: page.locator("canvas").first.bounding_box()["width"] > 0.5 * 900)
    click(page, 1, 0.5, 0.5)
    wait_for_page(page, lambda: clicked(page, 0.5, 0.5))


@pytest.mark.parametrize(("width", "height"), [(900, 700), (1280, 800), (390, 844)])
def test_what_was_read_is_seen_without_scrolling(viewer, open_page, width, height):
    viewer._page.select(None)
    page = open_page(viewer, width, height)
    if width < PHONE_PX:  # there are no pictures to click
        viewer._page.select((40, 40))
        viewer._page.select((90, 70))
    else:
        for across in (0.4, 0.6):
            click(page, 0, across, 0.5)
            wait_for_page(page, lambda across=across: clicked(page, across, 0.5))
    for words in ("depth ", "distance ", "sigma "):
        text = page.get_by_text(words).filter(visible=True).filter(has_text="mm").last
        text.wait_for()
        box = text.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("160, 5 px", "160, 5 px is outside the picture of 160x120 px"),
        ("5, 120 px", "is outside the picture"),
        ("-1, 5 px", "is no pixel"),
        ("5 px", "is no pixel"),
        ("99999999999, 5 px", "is no pixel"),
        ("١٢, 5 px", "is no pixel"),
        ("<script>alert(1)</script> px", "is no pixel"),
    ],
)
def test_what_is_no_pixel_is_refused_and_said(viewer, sent, words):
    with Attacker(viewer.url) as browser:
        browser.set("Pixel", "7, 9 px")
        wait_until(lambda: viewer._page.pixels == ((7, 9),))
        browser.set("Pixel", sent)
        wait_until(lambda: words in viewer._page.messages())
        assert viewer._page.pixels == ((7, 9),)
        assert "<script>" not in viewer._page.messages()
        browser.set("Pixel", "7, 10 px")
        wait_until(lambda: viewer._page.pixels == ((7, 9), (7, 10)))
        wait_until(lambda: words not in viewer._page.messages())
        browser.set("Pixel", "1")  # somebody is typing
        browser.set("Pixel", "")
        wait_until(lambda: viewer._page.pixels == ())


def test_a_point_of_the_cloud_fills_the_field_and_smaller_pictures_forget_it(viewer):
    field = panel(viewer, ImagePanel)._pixel
    with Attacker(viewer.url):
        viewer._page.select((12, 34))
        wait_until(lambda: field.value == "12, 34 px")
        viewer._page.select((12, 34))
        assert viewer._page.pixels == ((12, 34),)
        viewer._page.select((500, 34))
        wait_until(lambda: viewer._page.pixels == ())
        wait_until(lambda: field.value == "")


def test_without_a_variance_no_interval_is_claimed(scene, rig):
    with watching(StillSource(scene, rig), bdis.StereoMatcher("fast"), at_end="wait") as viewer, Attacker(viewer.url):
        viewer._page.select((80, 60))
        values = panel(viewer, ImagePanel)._values
        wait_until(lambda: "depth " in values.content)
        assert re.search(r"depth \d+\.\d mm</b>", values.content)
        assert "within" not in values.content
