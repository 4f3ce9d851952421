"""Thousands of hostile messages to the viewer, raw over its websocket, from several browsers at once.

Run with ``pytest -s tests/torture/viewer_messages.py``.
"""

import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed

import bdis
from bdis.video.sources import RenderedSource
from bdis.video.stream.depth_stream import DepthStream
from bdis.video.stream.statistics import resident_mb
from bdis.viewer import Viewer
from bdis.viewer.guard import Guard

from ..viewer.attack import ODD_VALUES, Attacker, encoded, hostile_messages, opens
from ..viewer.conftest import chromium, open_page  # noqa: F401  (fixtures)
from ..viewer.pages import wait_until
from .figures import figure

MESSAGES = 5000  # of the fuzzer
PLAUSIBLE = 0.3  # share of values that a user could choose: they reach the matcher and the disk
BROWSERS = 4  # that send them at the same time
RECONNECTS = 300
MEMORY_MB = 60  # by which the process may grow
KERNELS_MB = 500  # the same, with kernels for hundreds of settings and Matplotlib, which are loaded once


@pytest.fixture
def viewer(tmp_path):
    source = RenderedSource("tissue", frames=100_000, distinct=12, fps=20, height=120, width=160)
    stream = DepthStream(source, bdis.StereoMatcher("fast", variance=True), paced=True, at_end="loop")
    with Viewer(stream, port=0, preset="fast", out=tmp_path) as viewer:
        assert viewer.wait_for_frame(90)
        wait_until(lambda: viewer._page.shown)
        yield viewer


@pytest.fixture
def received(monkeypatch):
    """What became of each message that the server has received: True if it was let through."""
    outcomes, checked = [], Guard.checked

    def check(guard, raw):
        answer = checked(guard, raw)
        outcomes.append(answer is not None)
        return answer

    monkeypatch.setattr(Guard, "checked", check)
    return outcomes


def check_alive(viewer):
    assert viewer._receiver.error is None
    assert viewer._error is None
    viewer.stream.play()
    before = viewer.stream.statistics().frames
    wait_until(lambda: viewer.stream.statistics().frames > before + 5, 60)
    wait_until(lambda: opens(viewer), 60)


def test_the_viewer_outlives_a_fuzzer(viewer, received, open_page, capfd):  # noqa: F811
    memory_mb = resident_mb()
    reconnects, begin = [], time.monotonic()

    def attack(seed):
        attacker = Attacker(viewer.url)
        for raw in hostile_messages(attacker.controls(), MESSAGES // BROWSERS, seed, PLAUSIBLE):
            try:
                attacker.send_raw(raw)
            except ConnectionClosed:
                reconnects.append(seed)
                attacker = Attacker(viewer.url)
        wait_until(lambda: len(received) >= MESSAGES, 120)  # the server takes only so many per second
        attacker.close()

    attackers = [threading.Thread(target=attack, args=(seed,)) for seed in range(BROWSERS)]
    for thread in attackers:
        thread.start()
    for thread in attackers:
        thread.join()
    check_alive(viewer)
    page = open_page(viewer)
    assert "Frame" in page.inner_text("body")
    page.reload()
    page.get_by_text("Coverage").wait_for()
    grown_mb = resident_mb() - memory_mb
    with capfd.disabled():
        took_s = time.monotonic() - begin
        figure(
            "viewer, hostile messages",
            f"{MESSAGES} from {BROWSERS} browsers in {took_s:.0f} s, {sum(received)} let through: alive, a fresh "
            f"browser works, {len(reconnects)} connections closed, {grown_mb:.0f} MB more memory",
        )
    assert grown_mb < KERNELS_MB
    assert "Traceback" not in capfd.readouterr().err


def test_every_control_with_every_odd_value(viewer, received, capfd):
    count = 0
    with Attacker(viewer.url) as attacker:
        controls = attacker.controls()
        for control in controls:
            for value in ODD_VALUES:
                update = {"type": "GuiUpdateMessage", "uuid": control["uuid"], "updates": {"value": value}}
                attacker.send_raw(encoded(update))
                count += 1
            assert viewer._error is None, control
            assert viewer._receiver.error is None, control
        wait_until(lambda: len(received) > count, 60)
    check_alive(viewer)
    with capfd.disabled():
        figure(
            "viewer, odd values",
            f"{count} for {len(controls)} controls, {sum(received)} let through: alive, the page opens",
        )


def test_many_browsers_that_come_and_go(viewer, capfd):
    memory_mb, threads = resident_mb(), threading.active_count()
    for _ in range(RECONNECTS):
        Attacker(viewer.url).close()
    check_alive(viewer)
    wait_until(lambda: not viewer._server.get_clients(), 30)
    with capfd.disabled():
        figure(
            "viewer, browsers come and go",
            f"{RECONNECTS} connections: {resident_mb() - memory_mb:.0f} MB more memory, "
            f"{threading.active_count() - threads} more threads",
        )
    assert resident_mb() - memory_mb < MEMORY_MB
