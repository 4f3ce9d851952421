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

from ..viewer.attack import ODD_VALUES, Attacker, encoded, hostile_messages, opens
from ..viewer.conftest import chromium, open_page  # noqa: F401  (fixtures)
from ..viewer.pages import wait_until

MESSAGES = 5000  # of the fuzzer
BROWSERS = 4  # that send them at the same time
RECONNECTS = 300
MEMORY_MB = 60  # by which the process may grow


@pytest.fixture
def viewer(tmp_path):
    source = RenderedSource("tissue", frames=100_000, distinct=12, fps=20, height=120, width=160)
    stream = DepthStream(source, bdis.StereoMatcher("fast", variance=True), paced=True, at_end="loop")
    with Viewer(stream, port=0, preset="fast", out=tmp_path) as viewer:
        assert viewer.wait_for_frame(90)
        wait_until(lambda: viewer._page.shown)
        yield viewer


def check_alive(viewer):
    assert viewer._receiver.error is None
    assert viewer._error is None
    viewer.stream.play()
    before = viewer.stream.statistics().frames
    wait_until(lambda: viewer.stream.statistics().frames > before + 5, 60)
    wait_until(lambda: opens(viewer), 60)


def test_the_viewer_outlives_a_fuzzer(viewer, open_page, capfd):  # noqa: F811
    memory_mb = resident_mb()
    reconnects, begin = [], time.monotonic()

    def attack(seed):
        attacker = Attacker(viewer.url)
        for raw in hostile_messages(attacker.controls(), MESSAGES // BROWSERS, seed):
            try:
                attacker.send_raw(raw)
            except ConnectionClosed:
                reconnects.append(seed)
                attacker = Attacker(viewer.url)
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
        print(f"\n{MESSAGES} messages from {BROWSERS} browsers in {took_s:.0f} s: alive, a fresh browser works, "
              f"{len(reconnects)} connections closed, {grown_mb:.0f} MB more memory")  # fmt: skip
    assert grown_mb < MEMORY_MB
    assert "Traceback" not in capfd.readouterr().err


def test_every_control_with_every_odd_value(viewer, capfd):
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
    check_alive(viewer)
    with capfd.disabled():
        print(f"\n{count} odd values for {len(controls)} controls: alive, the page opens")


def test_many_browsers_that_come_and_go(viewer, capfd):
    memory_mb, threads = resident_mb(), threading.active_count()
    for _ in range(RECONNECTS):
        Attacker(viewer.url).close()
    check_alive(viewer)
    wait_until(lambda: not viewer._server.get_clients(), 30)
    with capfd.disabled():
        print(f"\n{RECONNECTS} connections: {resident_mb() - memory_mb:.0f} MB more memory, "
              f"{threading.active_count() - threads} more threads")  # fmt: skip
    assert resident_mb() - memory_mb < MEMORY_MB
