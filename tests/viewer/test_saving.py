"""Saving on the page: every "Saved" is a file that exists, of its own name, whoever presses and however fast."""

import os
import re
import threading
import time

import numpy as np
import pytest

import bdis
from bdis.files.images import read_image
from bdis.video.stream.depth_stream import DepthStream
from bdis.viewer import Viewer, save_panel
from bdis.viewer.page import Page

from .attack import LOOK, Attacker
from .pages import StillSource, wait_until, watching


@pytest.fixture
def said(monkeypatch):
    """All messages about saving."""
    texts = []
    show = Page.show_message

    def listen(page, topic, text, *arguments, **options):
        if topic == "saved" and text is not None:
            texts.append(text)
        show(page, topic, text, *arguments, **options)

    monkeypatch.setattr(Page, "show_message", listen)
    return texts


def paths_in(said):
    return [re.fullmatch(r"Saved (.*?\.(?:ply|png))(: \d+ points)?", text)[1] for text in said]


def test_sixteen_quick_saves_are_sixteen_files(scene, rig, said, tmp_path):
    with watching(StillSource(scene, rig), at_end="wait", out=tmp_path) as viewer:
        wait_until(lambda: viewer._page.shown)
        with Attacker(viewer.url) as one, Attacker(viewer.url) as other:
            for browser in (one, other):
                browser.controls()
            for number in range(8):
                for browser in (one, other):
                    browser.set("This frame", ("Cloud", "Cloud", "Pictures")[number % 3])
            wait_until(lambda: len(said) == 16, 60)
    paths = paths_in(said)
    assert len(set(paths)) == 16
    assert sorted(map(str, tmp_path.iterdir())) == sorted(paths)
    for path in paths:
        if path.endswith("ply"):
            assert len(bdis.read_ply(path)) > 1000
        else:
            assert read_image(path).size > 1000


def test_two_viewers_that_save_to_one_folder_do_not_overwrite_each_other(scene, rig, said, tmp_path):
    with (
        watching(StillSource(scene, rig), at_end="wait", out=tmp_path) as first,
        watching(StillSource(scene, rig), at_end="wait", out=tmp_path) as second,
    ):
        for viewer in (first, second):
            wait_until(lambda viewer=viewer: viewer._page.shown)
        with Attacker(first.url) as one, Attacker(second.url) as other:
            one.controls(), other.controls()
            for _ in range(5):
                one.set("This frame", "Cloud")
                other.set("This frame", "Cloud")
            wait_until(lambda: len(said) == 10, 30)
    assert len(set(paths_in(said))) == 10 == len(list(tmp_path.iterdir()))


def test_what_cannot_be_saved_is_said_and_leaves_no_file(scene, rig, said, tmp_path, monkeypatch):
    def broken(*arguments, **options):
        raise OSError("the disk is full")

    monkeypatch.setattr(save_panel, "write_ply", broken)
    with watching(StillSource(scene, rig), at_end="wait", out=tmp_path) as viewer, Attacker(viewer.url) as browser:
        wait_until(lambda: viewer._page.shown)
        browser.set("This frame", "Cloud")
        wait_until(lambda: said)
    assert said == ["Not saved: the disk is full"]
    assert not list(tmp_path.iterdir())


def test_a_browser_that_never_renders_does_not_hold_up_the_others(scene, rig, said, tmp_path, monkeypatch):
    monkeypatch.setattr(save_panel, "RENDER_TIMEOUT_S", 2.0)
    with watching(StillSource(scene, rig), at_end="wait", out=tmp_path) as viewer:
        wait_until(lambda: viewer._page.shown)
        with Attacker(viewer.url) as hanging, Attacker(viewer.url) as other:
            for _ in range(save_panel.MOST_WAITING + 5):
                hanging.set("This frame", "Screenshot")
            wait_until(lambda: any("are waiting" in text for text in said))
            other.set("Min. probability", 0.5)
            wait_until(lambda: viewer.stream.matcher.settings.min_probability == 0.5, 10)
            wait_until(lambda: sum("timed out" in text for text in said) == save_panel.MOST_WAITING, 10)
            other.set("This frame", "Cloud")
            wait_until(lambda: said[-1].startswith("Saved"))


def test_a_picture_that_nobody_asked_for_or_that_is_none_is_not_saved(scene, rig, said, tmp_path, monkeypatch):
    monkeypatch.setattr(save_panel, "RENDER_TIMEOUT_S", 1.0)
    with watching(StillSource(scene, rig), at_end="wait", out=tmp_path) as viewer:
        wait_until(lambda: viewer._page.shown)
        with Attacker(viewer.url) as browser:
            browser.controls()
            browser.set("This frame", "Screenshot")
            browser.read_until(lambda message: message["type"] == "GetRenderRequestMessage")
            asked = next(message for message in browser.messages if message["type"] == "GetRenderRequestMessage")
            bomb = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (60_000).to_bytes(4, "big") * 2
            for payload in (b"GIF89a", bomb, b"x" * 1_000_000):
                reply = {"type": "GetRenderResponseMessage", "payload": payload, "render_uuid": asked["render_uuid"]}
                browser.send(reply)
            wait_until(lambda: said)
            browser.send(LOOK)
    assert said[0].startswith("Not saved")
    assert not list(tmp_path.iterdir())


def test_a_viewer_that_is_closed_finishes_the_file_it_is_writing(scene, rig, tmp_path, monkeypatch):
    began, write = threading.Event(), save_panel.write_ply

    def slowly(path, cloud):
        began.set()
        time.sleep(0.5)
        write(path, cloud)

    monkeypatch.setattr(save_panel, "write_ply", slowly)
    stream = DepthStream(StillSource(scene, rig), bdis.StereoMatcher("fast"), at_end="wait")
    with Viewer(stream, port=0, out=tmp_path) as viewer:
        wait_until(lambda: viewer._page.shown)
        with Attacker(viewer.url) as browser:
            for _ in range(3):
                browser.set("This frame", "Cloud")
            assert began.wait(10)
    sizes = [len(bdis.read_ply(path)) for path in tmp_path.iterdir()]
    assert sizes
    assert min(sizes) > 1000


def downloads(browser):
    """Files that a browser was sent, by name, whole ones only."""
    parts = [message for message in browser.messages if message["type"] == "FileTransferPart"]
    found = {}
    for start in (message for message in browser.messages if message["type"] == "FileTransferStartDownload"):
        content = b"".join(part["content"] for part in parts if part["transfer_uuid"] == start["transfer_uuid"])
        if len(content) == start["size_bytes"]:
            found[start["filename"]] = content
    return found


def test_the_browser_downloads_what_it_saves_and_nothing_stays_here(scene, rig, said, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path)
    with watching(StillSource(scene, rig), at_end="wait") as viewer:
        wait_until(lambda: viewer._page.shown)
        with Attacker(viewer.url) as browser, Attacker(viewer.url) as other:
            other.controls(), browser.controls()
            for button in ("Cloud", "Pictures"):
                browser.set("This frame", button)
                browser.read_until(lambda message: message["type"] == "FileTransferPart")
            wait_until(lambda: len(said) == 2)
            found = downloads(browser)
            assert set(found) == {"cloud-000000.ply", "pictures-000000.png"}
            (tmp_path / "got.ply").write_bytes(found["cloud-000000.ply"])
            assert len(bdis.read_ply(tmp_path / "got.ply")) == np.isfinite(rig.depth(viewer._page.shown.result)).sum()
            assert found["pictures-000000.png"].startswith(b"\x89PNG")
            assert re.fullmatch(r"Sent cloud-000000.ply to the browser: \d+ points", said[0])
            assert not downloads(other), "a file goes to the browser in which the button was pressed"
    assert {path.name for path in tmp_path.rglob("*")} == {"temporary", "got.ply"}


def test_a_browser_that_takes_no_files_does_not_fill_the_memory(scene, rig, said, monkeypatch):
    monkeypatch.setattr(save_panel, "MOST_UNSENT_BYTES", 2_000_000)
    monkeypatch.setattr(save_panel, "write_ply", lambda path, cloud: path.write_bytes(os.urandom(1_500_000)))
    with watching(StillSource(scene, rig), at_end="wait") as viewer:
        wait_until(lambda: viewer._page.shown)
        with Attacker(viewer.url) as hanging:
            hanging.controls()  # and reads nothing after this
            for number in range(60):
                hanging.set("This frame", "Cloud")
                wait_until(lambda number=number: len(said) > number)
            assert any("has not taken the files before" in text for text in said)
            (client,) = viewer._server.get_clients().values()
            waiting = client._websock_connection._state.message_buffer.message_from_id.values()
            assert sum(len(getattr(each, "content", b"")) for each in waiting) <= 3_500_000
