"""The viewer in a real browser, and what must hold without one: settings, clicks, memory, and an end without noise."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import numpy as np
import pytest

import bdis
from bdis.cameras.rig import Rig
from bdis.cli.app import run
from bdis.files.images import read_image
from bdis.synthetic.renderer import render
from bdis.video.sources import NumberedSource, RenderedSource
from bdis.video.stream.depth_stream import DepthStream
from bdis.video.stream.statistics import resident_mb
from bdis.viewer import Viewer, html_text
from bdis.viewer import viewer as viewer_module
from bdis.viewer.frame_maps import FrameMaps, colored, map_names
from bdis.viewer.html_text import color_bar
from bdis.viewer.page import Panel
from bdis.viewer.playback_panel import PlaybackPanel
from bdis.viewer.status_panel import StatusPanel

from .pages import (
    HEIGHT,
    WIDTH,
    StillSource,
    body,
    drawn,
    enter,
    field,
    map_picture,
    panel,
    press,
    statistic,
    wait_for_page,
    wait_until,
    watching,
)  # fmt: skip

COMMAND = [sys.executable, "-c", "from bdis.cli import main; main()"]


# ------------------------------------------------------------ with a browser


def test_the_page_shows_a_moving_cloud_and_asks_nobody_else(moving, open_page):
    with watching(moving) as viewer:
        page = open_page(viewer)
        wait_for_page(page, lambda: np.ptp(drawn(page)) > 100)
        first = drawn(page)
        assert (np.abs(first - first[0, 0]).max(2) > 30).mean() > 0.1, "the cloud fills a part of the view"
        wait_for_page(page, lambda: (np.abs(drawn(page) - first).max(2) > 30).mean() > 0.005)
        for url in page.asked:
            assert urllib.parse.urlparse(url.removeprefix("blob:")).hostname == "127.0.0.1", url
        assert any(url.startswith("ws://") for url in page.asked)
        assert viewer._server.request_share_url() is None


def test_pause_step_and_seek(moving, open_page):
    with watching(moving) as viewer:
        page = open_page(viewer)
        press(page, "Pause")
        wait_until(lambda: viewer.stream.is_paused)
        page.wait_for_timeout(700)
        held = statistic(page, "Frame")
        page.wait_for_timeout(700)
        assert statistic(page, "Frame") == held
        press(page, "Step")
        wait_for_page(page, lambda: statistic(page, "Frame") == held + 1)
        viewer.stream.seek(2.0)
        wait_for_page(page, lambda: statistic(page, "Frame") == 40)
        wait_for_page(page, lambda: float(field(page, "Time, s").input_value() or -1) == 2.0)
        enter(page, "Time, s", 3)
        wait_for_page(page, lambda: statistic(page, "Frame") == 60)
        press(page, "Play")
        wait_for_page(page, lambda: statistic(page, "Frame") > 62)


def test_a_setting_changes_the_result_and_a_wrong_one_says_why(scene, rig, open_page):
    with watching(StillSource(scene, rig), at_end="wait") as viewer:
        page = open_page(viewer)
        page.wait_for_timeout(500)
        coverage, picture = statistic(page, "Coverage"), map_picture(page)
        enter(page, "Min. probability", 0.9)
        wait_for_page(page, lambda: statistic(page, "Coverage") < coverage - 1)
        wait_for_page(page, lambda: map_picture(page) != picture)
        assert viewer.stream.matcher.settings.min_probability == 0.9

        less, picture = statistic(page, "Coverage"), map_picture(page)
        enter(page, "Patch size, px", 7)
        wait_for_page(page, lambda: "patch_size must be an even number from 4 to 16, but it is 7" in body(page))
        assert (statistic(page, "Coverage"), map_picture(page)) == (less, picture)
        assert viewer.stream.matcher.settings.patch_size == 8
        enter(page, "Patch size, px", 8)
        wait_for_page(page, lambda: "patch_size" not in body(page))

        page.get_by_text("More settings").click()
        enter(page, "Finest level", 4)
        wait_for_page(page, lambda: map_picture(page) != picture)
        picture = map_picture(page)
        enter(page, "Patch size, px", 16)  # a good value, but not for pictures of this size
        wait_for_page(page, lambda: "patch_size 16 on finest_level 4 needs 256 px" in body(page))
        assert map_picture(page) == picture
        assert viewer.stream.matcher.settings.patch_size == 8
        enter(page, "Finest level", 1)
        wait_for_page(page, lambda: viewer.stream.matcher.settings.patch_size == 16)
        enter(page, "Patch size, px", 8)

        enter(page, "Max. disparity, px", -3)
        wait_for_page(page, lambda: "max_disparity must be None or above min_disparity" in body(page))
        enter(page, "Max. disparity, px", "")
        wait_for_page(page, lambda: "max_disparity" not in body(page))


def test_a_click_reads_depth_and_a_saved_cloud_is_whole(scene, rig, open_page, tmp_path):
    with watching(StillSource(scene, rig), at_end="wait", out=tmp_path / "out") as viewer:
        page = open_page(viewer)
        wait_for_page(page, lambda: np.ptp(drawn(page)) > 100)
        box = page.locator("canvas").first.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        wait_for_page(page, lambda: re.search(r"Pixel \d", body(page)))
        x, y = map(int, re.search(r"Pixel (\d+), (\d+)", body(page)).groups())
        depth, within = map(float, re.search(r"depth ([\d.]+) mm, 95 % within ([\d.]+)", body(page)).groups())
        assert abs(depth - scene.depth_mm[y, x]) < 3
        assert 0 < within < 9
        assert re.search(r"probability [01]\.\d", body(page))

        press(page, "Cloud")
        wait_for_page(page, lambda: "Saved" in body(page))
        cloud = bdis.read_ply(tmp_path / "out" / "cloud-000000.ply")
        result = viewer._page.shown.result
        assert len(cloud) == np.isfinite(rig.depth(result)).sum()
        assert str(len(cloud)) in body(page)
        press(page, "Screenshot")
        wait_for_page(page, lambda: re.search(r"Saved \S*view-000000\.png", body(page)))
        assert np.ptp(read_image(tmp_path / "out" / "view-000000.png").astype(int)) > 100
        press(page, "Pictures")
        wait_for_page(page, lambda: re.search(r"Saved \S*pictures-000000\.png", body(page)))


def test_two_browsers_see_the_same(moving, open_page):
    with watching(moving) as viewer:
        pages = [open_page(viewer, 1000, 500) for _ in range(2)]
        wait_until(lambda: len(viewer._server.get_clients()) == 2)
        press(pages[0], "Pause")
        wait_until(lambda: viewer.stream.is_paused)
        for page in pages:
            page.wait_for_timeout(500)
        assert statistic(pages[0], "Frame") == statistic(pages[1], "Frame")
        pages[0].close()
        wait_until(lambda: len(viewer._server.get_clients()) == 1)
        press(pages[1], "Play")
        held = statistic(pages[1], "Frame")
        wait_for_page(pages[1], lambda: statistic(pages[1], "Frame") > held)


def test_without_a_calibration_there_is_no_depth_and_the_page_says_so(scene, open_page):
    with watching(StillSource(scene, None), at_end="wait") as viewer:
        page = open_page(viewer)
        wait_for_page(page, lambda: "No calibration, so no depth" in body(page))
        assert "Map: disparity, px" in body(page)
        assert not page.get_by_role("button", name="Cloud", exact=True).count()
        wait_for_page(page, lambda: np.ptp(drawn(page)) > 100)
        box = page.locator("canvas").first.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        wait_for_page(page, lambda: re.search(r"disparity [\d.]+ px, 95 % within [\d.]+", body(page)))


def test_memory_handles_and_threads_stay_as_they_are_over_1000_frames(moving, open_page, monkeypatch):
    monkeypatch.setattr(viewer_module, "MAX_UPDATES_PER_S", 100.0)
    monkeypatch.setattr(html_text, "NARROW_PX", 0)  # the controls stay: they leave hardly any view to be drawn
    moving._fps = 60.0
    try:
        with watching(moving) as viewer:
            page = open_page(viewer, 600, 400)
            viewer._server.initial_camera.fov = 0.3  # whatever it draws, less of it: software is slow
            before = None
            while (frames := viewer.stream.statistics().frames) < 1000:
                page.wait_for_timeout(100)
                if before is None and frames >= 300:
                    before = state_of_process()
            after = state_of_process()
            assert len(page.asked) > 100, "pictures were sent all the while"
        assert before is not None
        assert after["memory_mb"] - before["memory_mb"] < 12
        assert after["handles"] <= before["handles"] + 1
        assert after["threads"] <= before["threads"] + 1
    finally:
        moving._fps = 20.0


def state_of_process():
    handles = len(os.listdir("/proc/self/fd")) if sys.platform.startswith("linux") else 0
    return {"memory_mb": resident_mb(), "handles": handles, "threads": threading.active_count()}


# ------------------------------------------------------------ without one


def connect_and_never_read(viewer):
    """A browser that says where it looks from and then hangs."""
    import msgspec
    import viser
    from websockets.sync.client import connect

    client = connect(
        viewer.url.replace("http", "ws"), subprotocols=[f"viser-v{viser.__version__}"], compression=None,
        max_queue=1, max_size=None, ping_interval=None, close_timeout=0.1,
    )  # fmt: skip
    look = {
        "type": "ViewerCameraMessage", "wxyz": (1, 0, 0, 0), "position": (0, 0, 0), "fov": 1.0, "near": 0.1,
        "far": 100.0, "image_height": 100, "image_width": 100, "look_at": (0, 0, 1), "up_direction": (0, -1, 0),
    }  # fmt: skip
    client.send(msgspec.msgpack.encode(look))
    wait_until(viewer._server.get_clients)
    return client


def test_a_browser_that_hangs_costs_neither_speed_nor_memory(moving, monkeypatch):
    monkeypatch.setattr(viewer_module, "MAX_UPDATES_PER_S", 200.0)

    def frames_per_second(count):
        begin, first = time.perf_counter(), viewer.stream.statistics().frames
        wait_until(lambda: viewer.stream.statistics().frames >= first + count, 60)
        return (viewer.stream.statistics().frames - first) / (time.perf_counter() - begin)

    with watching(moving, bdis.StereoMatcher("balanced", variance=True), paced=False) as viewer:
        frames_per_second(300)
        alone = frames_per_second(500)
        hanging = connect_and_never_read(viewer)
        frames_per_second(300)
        memory_mb = resident_mb()
        watched = frames_per_second(1000)
        assert resident_mb() - memory_mb < 12
        assert watched > 0.4 * alone  # it draws for the one that hangs, and shares this machine with it
        hanging.socket.close()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("bdis")]


def test_a_viewer_that_is_closed_at_once_leaves_no_thread(scene, rig):
    for _ in range(10):
        with Viewer(DepthStream(StillSource(scene, rig), bdis.StereoMatcher("fast")), port=0):
            pass
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("bdis")])


def test_the_page_says_what_the_stream_ended_with():
    class Broken(NumberedSource):
        def _load(self, index):
            return (np.zeros((60, 80), np.uint8), np.zeros((60, 90), np.uint8))

    with Viewer(DepthStream(Broken("broken", 3)), port=0) as viewer:
        with pytest.raises(ValueError, match="60"):
            viewer.serve()
        wait_until(lambda: "The stream has ended" in panel(viewer, StatusPanel).status.content)


def test_the_page_warns_of_rows_that_differ(rig):
    lower = render("tissue", HEIGHT, WIDTH, vertical_shift_px=1.5)
    with Viewer(DepthStream(StillSource(lower, rig), bdis.StereoMatcher(), at_end="wait"), port=0) as viewer:
        wait_until(lambda: "The right image lies 1." in panel(viewer, StatusPanel)._messages.content)
        assert "px lower, corrected" in panel(viewer, StatusPanel)._statistics.content


def test_an_error_while_showing_ends_the_viewer_with_it(scene):
    small = Rig(100, 1, 1, 5, size=(WIDTH + 2, HEIGHT))
    stream = DepthStream(StillSource(scene, small), bdis.StereoMatcher("fast"))
    with Viewer(stream, port=0) as viewer, pytest.raises(ValueError, match="the calibration is for"):
        viewer.serve()


def test_the_page_says_what_it_is_waiting_for(scene, rig):
    class Slow(StillSource):
        may_go_on = threading.Event()

        def _load(self, index):
            self.may_go_on.wait(20)
            return super()._load(index)

    with Viewer(DepthStream(Slow(scene, rig), bdis.StereoMatcher("fast"), at_end="wait"), port=0) as viewer:
        wait_until(lambda: "The first match on a machine" in panel(viewer, StatusPanel).status.content)
        Slow.may_go_on.set()
        wait_until(lambda: panel(viewer, StatusPanel).status.content == "")


def test_play_at_the_end_begins_again():
    source = RenderedSource("plane", frames=4, height=48, width=64)
    with watching(source, paced=False, at_end="wait") as viewer:
        wait_until(lambda: viewer.stream.is_paused)
        wait_until(lambda: panel(viewer, PlaybackPanel)._is_at_end)
        panel(viewer, PlaybackPanel)._press("Play")
        wait_until(lambda: viewer.stream.statistics().frames >= 8)


@pytest.mark.parametrize("options", [[], ["--no-average-frames"]], ids=str)
def test_frames_are_averaged_unless_it_is_turned_off(options, monkeypatch):
    seen = []

    def serve(viewer):
        averages, box = viewer.stream.video, panel(viewer, PlaybackPanel)._average
        seen.append((averages, box.value))
        box.value = not averages
        wait_until(lambda: viewer.stream.video is not averages)

    monkeypatch.setattr(Viewer, "serve", serve)
    scene = "render:plane,height=48,width=64,frames=4"
    assert run(["view", scene, "--no-browser", "--port", "0", "--preset", "fast", *options]) == 0
    assert seen == [(not options, not options)]


def test_a_port_in_use_is_passed_over_and_a_foreign_address_refused(scene, rig):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with Viewer(DepthStream(StillSource(scene, rig)), port=port) as viewer:
            assert int(viewer.url.rsplit(":", 1)[1]) > port
    with pytest.raises(OSError, match="cannot listen on 192.0.2.1"):
        Viewer(DepthStream(StillSource(scene, rig)), host="192.0.2.1").__enter__()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "{url}"}, 200),
        ({"Origin": "https://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "trap.example.org"}, 403),
    ],
)
@pytest.mark.parametrize("is_websocket", [False, True])
def test_requests_of_other_web_pages_are_refused(scene, rig, headers, status, is_websocket):
    with watching(StillSource(scene, rig), at_end="wait") as viewer:
        place = urllib.parse.urlsplit(viewer.url)
        lines = {"Host": place.netloc, **{name: text.format(url=viewer.url) for name, text in headers.items()}}
        if is_websocket:
            lines |= {
                "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "viser-v0",
            }  # fmt: skip
            status = 101 if status == 200 else status
        request = "".join(f"{name}: {text}\r\n" for name, text in lines.items())
        with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
            connection.sendall(f"GET / HTTP/1.1\r\n{request}\r\n".encode())
            answer = connection.recv(100).decode(errors="replace")
        assert int(answer.split()[1]) == status


def test_maps_have_units_and_unknown_has_its_own_colour(scene, rig):
    result = bdis.StereoMatcher("fast", variance=True).match(scene.left, scene.right)
    frame = next(iter(DepthStream(StillSource(scene, rig), bdis.StereoMatcher("fast", variance=True))))
    maps = FrameMaps(frame, rig, max_depth_mm=60.0)
    assert np.nanmax(maps.depth) <= 60
    for name in map_names(rig, True):
        unknown = np.isnan(maps[name])
        assert (unknown == np.isnan(maps.depth)).all()
        low, high = maps.fitted_range(name)
        assert low < high
        assert len(np.unique(colored(name, maps[name], (low, high))[unknown], axis=0)) == 1
        assert f"{low:g}" in color_bar(name, name, "mm", (low, high)) or low % 1
    np.testing.assert_array_equal(frame.result.disparity, result.disparity)


def test_a_new_panel_is_one_line_in_the_list(scene, rig, monkeypatch):
    class Recorder(Panel):
        def __init__(self, page):
            super().__init__(page)
            self.coverage, self.refreshed = [], threading.Event()

        def show_frame(self, maps):
            self.coverage.append(maps.coverage)

        def refresh(self):
            self.refreshed.set()

    monkeypatch.setattr(viewer_module, "PANELS", (*viewer_module.PANELS, Recorder))
    with watching(StillSource(scene, rig), at_end="wait") as viewer:
        recorder = panel(viewer, Recorder)
        wait_until(lambda: recorder.coverage and recorder.refreshed.is_set())
        assert recorder.coverage[0] > 0.5


@pytest.mark.parametrize("every", [1, 3])
def test_a_thinned_cloud_has_points_of_the_full_one(scene, rig, every):
    result = bdis.StereoMatcher("fast", variance=True).match(scene.left, scene.right)
    full, thin = rig.cloud(result, scene.left), rig.cloud(result, scene.left, every=every)
    kept = np.zeros_like(result.known)
    kept[::every, ::every] = True
    kept = kept[np.isfinite(rig.depth(result))]
    for name in ("points", "colors", "sigma_mm"):
        np.testing.assert_array_equal(getattr(thin, name), getattr(full, name)[kept])


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C of POSIX")
def test_the_command_prints_its_address_and_ends_quietly_with_ctrl_c():
    arguments = ["view", "render:plane,height=48,width=64,frames=4", "--no-browser", "--port", "0", "--preset", "fast"]
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+", line)[0]
        with urllib.request.urlopen(url) as answer:
            assert b"<html" in answer.read(2000).lower()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert "viser" not in line + out


def test_the_demo_opens_the_viewer(tmp_path, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(Viewer, "serve", lambda viewer: shown.append(viewer.url))
    assert run(["demo", "--view", "--no-browser", "--port", "0", "--preset", "fast", "-o", str(tmp_path)]) == 0
    assert shown[0] in capsys.readouterr().out
    assert (tmp_path / "preview.png").exists()


def test_a_pair_of_images_can_be_viewed_and_matched_again(scene, tmp_path, monkeypatch):
    names = [str(tmp_path / name) for name in ("left.png", "right.png")]
    for name, image in zip(names, (scene.left, scene.right)):
        bdis.write_image(name, image)
    seen = []

    def serve(viewer):
        seen.append(viewer._receiver.newest.result.coverage)
        wait_until(lambda: viewer.stream.is_paused)
        viewer._receiver.use(bdis.StereoMatcher("fast", min_probability=0.9))
        wait_until(lambda: viewer._receiver.newest.result.coverage < seen[0])

    monkeypatch.setattr(Viewer, "serve", serve)
    camera = ["--focal", str(scene.focal_px), "--baseline", str(scene.baseline_mm)]
    assert run(["view", *names, *camera, "--no-browser", "--port", "0", "--preset", "fast"]) == 0
    assert seen[0] > 0.5


@pytest.mark.parametrize("wrong", [["--port", "70000"], ["--max-depth", "-1"], ["--start", "soon"]])
def test_wrong_options_are_refused_in_words(wrong, capsys):
    assert run(["view", "render:plane,height=48,width=64", "--no-browser", *wrong]) == 2
    assert wrong[0].lstrip("-") in capsys.readouterr().err
