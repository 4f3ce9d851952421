"""What the tests of the viewer share: a viewer with its first frame, and how to use its page in a browser."""

import contextlib
import re
import time

import numpy as np

import bdis
from bdis.video.sources import NumberedSource
from bdis.video.stream.depth_stream import DepthStream
from bdis.viewer import Viewer

HEIGHT, WIDTH = 120, 160


class StillSource(NumberedSource):
    """One pair, with or without a rig."""

    def __init__(self, pair, rig):
        super().__init__("still", 1)
        self._pair, self._rig = pair, rig

    @property
    def rig(self):
        return self._rig

    def _load(self, index):
        return self._pair.left, self._pair.right


@contextlib.contextmanager
def watching(source, matcher=None, *, paced=True, at_end="loop", **options):
    """A viewer with its first frame."""
    source.close()  # from its beginning
    matcher = matcher or bdis.StereoMatcher("fast", variance=True)
    stream = DepthStream(source, matcher, paced=paced, at_end=at_end)
    with Viewer(stream, port=0, preset="fast", **options) as viewer:
        assert viewer.wait_for_frame(90)
        yield viewer


def panel(viewer, kind):
    return next(panel for panel in viewer._panels if isinstance(panel, kind))


def wait_until(is_so, seconds=20.0, what="it"):
    end = time.monotonic() + seconds
    while not (value := is_so()):
        assert time.monotonic() < end, f"{what} did not come about in {seconds:g} s"
        time.sleep(0.05)
    return value


def drawn(page):
    """The pixels of the 3-D view."""
    import cv2

    png = page.locator("canvas").first.screenshot()
    return cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR).astype(int)


def wait_for_page(page, is_so, seconds=20.0):
    """As ``wait_until``, but lets the page work meanwhile."""
    end = time.monotonic() + seconds
    while not (value := is_so()):
        assert time.monotonic() < end, page.inner_text("body")
        page.wait_for_timeout(100)
    return value


def body(page):
    return page.inner_text("body")


def statistic(page, name):
    """A number of the live statistics."""
    return float(re.search(rf"{name}\s+([\d.]+)", body(page))[1])


def press(page, button):
    page.get_by_role("button", name=button, exact=True).click()


def field(page, label):
    """Where to type a value: the first input of the row with that label."""
    return (
        page.get_by_text(label, exact=True).locator("xpath=ancestor::*[.//input][1]//input[not(@type='hidden')]").first
    )


def enter(page, label, value):
    field(page, label).fill(str(value))
    field(page, label).press("Enter")


def map_picture(page):
    """Where the picture of the map is: another address for another picture."""
    return page.locator("img").nth(1).get_attribute("src")
