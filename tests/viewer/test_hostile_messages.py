"""Whatever a browser sends: the viewer stays alive, the page opens in a fresh browser, and says what was refused."""

import itertools
import threading
import time

import pytest

import bdis
from bdis.viewer import guard
from bdis.viewer.display_options import DisplayOptions
from bdis.viewer.status_panel import StatusPanel

from .attack import HUGE, LOOK, Attacker, encoded, hostile_messages, opens
from .pages import StillSource, body, enter, field, panel, wait_for_page, wait_until, watching

MESSAGES = 300


@pytest.fixture
def viewer(moving, tmp_path):
    with watching(moving, out=tmp_path) as viewer:
        yield viewer


def lives(viewer):
    """It still draws: neither the stream nor the drawing has ended, and new frames come."""
    if viewer._receiver.error or viewer._error or not viewer._thread.is_alive():
        return False
    viewer.stream.play()
    before = viewer.stream.statistics().frames
    wait_until(lambda: viewer.stream.statistics().frames > before + 2)
    return True


def messages_on(viewer):
    return panel(viewer, StatusPanel)._messages.content


NUMBERS = ("Patch size, px", "Smoothing", "Min. disparity, px", "Max. iterations", "Finest level", "Smoothing rounds",
           "Threads", "Points", "Point size", "Overlap", "Time, s")  # fmt: skip


def test_a_number_beyond_64_bits_does_not_brick_the_page_for_new_browsers(viewer):
    with Attacker(viewer.url) as attacker:
        before = {label: attacker.control(label)["value"] for label in NUMBERS}
        for label in NUMBERS:
            attacker.set(label, float(HUGE))
        time.sleep(1)
        assert opens(viewer)
        with Attacker(viewer.url) as fresh:
            after = {label: fresh.control(label)["value"] for label in NUMBERS if label != "Time, s"}
    assert after.items() <= before.items()
    assert lives(viewer)


@pytest.mark.parametrize(
    ("label", "value"),
    [("Time, s", float("nan")), ("Map", "nothing"), ("Map", "result"), ("Map", "__class__"), ("Colour", "nothing"),
     ("Points", -1), ("Point size", float("nan")), ("Preset", "nothing"), ("Depth, mm", [float("nan"), 1]),
     ("Depth, mm", [1]), ("Video", "Explode"), ("This frame", "Everything")],
)  # fmt: skip
def test_one_message_does_not_end_the_process(viewer, label, value):
    with Attacker(viewer.url) as attacker:
        attacker.set(label, value)
        wait_until(lambda: label in messages_on(viewer), what="a message about it")
    assert lives(viewer)


@pytest.mark.parametrize("name", ["removed", "update_cb", "sync_cb", "props", "__class__"])
def test_a_message_sets_nothing_but_the_value_of_a_control(viewer, name):
    with Attacker(viewer.url) as attacker:
        uuid = attacker.control("Turn")["uuid"]
        handle = viewer._server.gui._gui_input_handle_from_uuid[uuid]
        before = dict(vars(handle._impl))
        attacker.send({"type": "GuiUpdateMessage", "uuid": uuid, "updates": {name: None}})
        attacker.set("Turn", True)
        wait_until(lambda: viewer._page.display.is_turning)
        changed = {key for key, value in vars(handle._impl).items() if value is not before[key]}
    assert changed <= {"value", "update_timestamp"}


def test_a_form_or_an_upload_that_is_not_there_leaves_nothing_behind(viewer):
    buffer = viewer._server._websock_server._broadcast_buffer
    with Attacker(viewer.url) as attacker:
        uuid = attacker.control("Max. depth, mm")["uuid"]
        kinds = {type(message).__name__ for message in buffer.message_from_id.values()}
        for number in range(20):
            attacker.send({"type": "GuiFormDirtyMessage", "uuid": f"{number}"})
            start = {"source_component_uuid": uuid, "transfer_uuid": f"{number}", "filename": "x", "mime_type": "x"}
            attacker.send({"type": "FileTransferStartUpload", **start, "part_count": number, "size_bytes": 0})
        attacker.set("Turn", True)
        wait_until(lambda: viewer._page.display.is_turning)
        assert isinstance(viewer._server.gui._gui_input_handle_from_uuid[uuid].value, str)
    assert not viewer._server.gui._current_file_upload_states
    assert {type(message).__name__ for message in buffer.message_from_id.values()} <= kinds | {"GuiUpdateMessage"}


def test_messages_of_a_fuzzer_leave_the_viewer_alive_and_the_page_open(viewer, monkeypatch, capfd):
    received, checked = [], guard.Guard.checked
    monkeypatch.setattr(guard.Guard, "checked", lambda self, raw: (received.append(raw), checked(self, raw))[1])
    with Attacker(viewer.url) as attacker:
        for raw in hostile_messages(attacker.controls(), MESSAGES, seed=1):
            attacker.send_raw(raw)
        attacker.send_raw("a text")
        wait_until(lambda: len(received) > MESSAGES)
        time.sleep(0.5)
    assert lives(viewer)
    assert opens(viewer)
    assert "Traceback" not in capfd.readouterr().err


def test_a_message_that_is_too_large_ends_its_connection_only(viewer):
    with Attacker(viewer.url) as attacker:
        attacker.send_raw(encoded({**LOOK, "padding": b"x" * (guard.MAX_BYTES + 1)}))
        wait_until(lambda: not viewer._server.get_clients(), what="the end of the connection")
    assert opens(viewer)


def test_a_flood_of_messages_is_slowed_down(viewer, monkeypatch):
    seen = itertools.count()
    checked = guard.Guard.checked
    monkeypatch.setattr(guard.Guard, "checked", lambda self, raw: (next(seen), checked(self, raw))[1])
    with Attacker(viewer.url) as attacker:
        raw = encoded(LOOK)
        for _ in range(int(guard.BURST)):
            attacker.send_raw(raw)
        begin = time.monotonic()
        for _ in range(200):
            attacker.send_raw(raw)
        wait_until(lambda: next(seen) > guard.BURST + 180, 30)
    assert time.monotonic() - begin > 0.5 * 180 / guard.MESSAGES_PER_S


def test_too_many_browsers_are_turned_away(viewer):
    crowd = []
    try:
        for _ in range(guard.MAX_BROWSERS):
            crowd.append(Attacker(viewer.url))
        assert not opens(viewer)
    finally:
        for each in crowd:
            each.close()
    wait_until(lambda: opens(viewer))


def test_a_whole_number_is_not_cut_off_in_silence(viewer):
    with Attacker(viewer.url) as attacker:
        attacker.set("Patch size, px", 8.5)
        wait_until(lambda: "whole number" in messages_on(viewer))


def test_a_click_without_a_direction_is_passed_over(viewer):
    nowhere = {"type": "ScenePointerMessage", "event_type": "click", "screen_pos": [[0.5, 0.5]], "modifier": None}
    with Attacker(viewer.url) as attacker:
        for direction in (None, [0, 0, 0], [float("nan")] * 3, [1e300] * 3):
            attacker.send({**nowhere, "ray_origin": [0, 0, 0], "ray_direction": direction})
        attacker.set("Turn", True)
        wait_until(lambda: viewer._page.display.is_turning)
    assert lives(viewer)


def test_an_error_in_a_callback_is_shown_and_ends_nothing(viewer, monkeypatch, capfd):
    def broken(*arguments):
        raise RuntimeError("the disk <b>is</b> on fire")

    monkeypatch.setattr(viewer.stream, "seek", broken)
    monkeypatch.setattr(viewer.stream, "pause", broken)
    with Attacker(viewer.url) as attacker:
        attacker.set("Time, s", 2.0)
        wait_until(lambda: "the disk &lt;b&gt;is&lt;/b&gt; on fire" in messages_on(viewer))
        attacker.set("Video", "Pause")
    assert lives(viewer)
    assert "Traceback" not in capfd.readouterr().err


def test_an_error_while_drawing_is_shown_and_the_next_frame_drawn(viewer, monkeypatch):
    wait_until(lambda: viewer._page.shown is not None)
    draw = viewer._scene.show_frame
    is_well = threading.Event()

    def sometimes(*arguments):
        if not is_well.is_set():
            raise ValueError("nothing to draw with")
        draw(*arguments)

    monkeypatch.setattr(viewer._scene, "show_frame", sometimes)
    with Attacker(viewer.url):
        wait_until(lambda: "nothing to draw with" in messages_on(viewer))
        is_well.set()
        wait_until(lambda: "nothing to draw with" not in messages_on(viewer))
    assert lives(viewer)


@pytest.mark.parametrize(
    "wrong",
    [{"shown_map": "result"}, {"cloud_color": "__class__"}, {"point_size": float("nan")}, {"most_points": 0},
     {"max_depth_mm": -1.0}, {"ranges": {"depth": (1.0, 1.0)}}, {"ranges": {"depth": (float("nan"), 1.0)}}],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_displayed_is_refused(wrong):
    with pytest.raises(ValueError, match="expected"):
        DisplayOptions(**{"shown_map": "depth", **wrong})


def test_the_browser_shows_the_value_that_is_in_use_after_a_refusal(scene, rig, open_page):
    matcher = bdis.StereoMatcher("fast", variance=True)
    with watching(StillSource(scene, rig), matcher, at_end="wait") as viewer:
        page = open_page(viewer)
        enter(page, "Patch size, px", HUGE)
        wait_for_page(page, lambda: "Patch size, px" in messages_on(viewer))
        wait_for_page(page, lambda: float(field(page, "Patch size, px").input_value()) < 1e16)
        wait_for_page(page, lambda: "stays" in body(page))
        assert opens(viewer)
        page.reload()
        page.get_by_text("Coverage").wait_for()


@pytest.mark.parametrize("time_s", [float("nan"), float("inf")])
def test_a_stream_refuses_to_seek_to_no_time(moving, time_s):
    with watching(moving) as viewer:
        with pytest.raises(ValueError, match="expected a number of seconds"):
            viewer.stream.seek(time_s)
        assert lives(viewer)
