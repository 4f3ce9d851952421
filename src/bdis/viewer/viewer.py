"""Viewer: a stream in the browser."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..common.atomic import Place
from ..common.optional import require
from ..matching.matcher import StereoMatcher
from ..video.stream.depth_stream import DepthFrame, DepthStream
from .guard import own_pages_only
from .looks import LookControls
from .maps import Look, Maps, map_names
from .panels import Pictures, figures_in_words, notice, reading_in_words, tab_title
from .playback import Playback
from .saving import SaveButtons
from .scenes import FIELD_OF_VIEW, CloudScene, FlatScene, Standpoint
from .settings_panel import SettingsControls

PUSHES_PER_S = 15.0  # at most; frames in between are not shown
FIGURES_S = 0.4  # between two looks at the figures
QUIET_S = 1.5  # without a frame before the page says what may be going on
TOLD_S = 15.0  # that something was saved
PORTS_TRIED = 100
UP = (0.0, -1.0, 0.0)  # y is down
_NO_DEPTH = "No calibration, so no depth: give --calib FILE, or --focal PX and --baseline MM.  Shown is what there is."
_TRYING = "Compiling the kernels for these settings: once per machine, up to 25 s."
_WAITING = "Waiting for a frame.  A first match compiles the kernels: once per machine, about 25 s."


class Viewer:
    """Image, maps and a coloured cloud of a stream in the browser, with its settings at hand.

    It takes frames as fast as they come and shows the newest, so that no browser can slow the stream down.  The page
    needs nothing from the internet.

    Parameters
    ----------
    stream : DepthStream, not started yet; closed at the end
    host : address to listen on; "0.0.0.0" lets other machines look as well
    port : the next free one is taken if it is in use; 0: any
    out : folder for what the buttons of the page save
    preset : what the matcher's settings began as, for the page
    max_depth_mm : what is further counts as unknown
    is_turning : let the cloud sway until someone takes hold of it
    title : above the controls; None: the source's name

    Attributes
    ----------
    url : where to look, once it is entered

    Raises
    ------
    ImportError
        viser is not installed.
    OSError
        The address cannot be listened on; said when it is entered.

    Examples
    --------
    >>> import bdis
    >>> from bdis.video.sources import open_source
    >>> from bdis.video.stream.depth_stream import DepthStream
    >>> from bdis.viewer import Viewer
    >>> source = open_source("render:plane,frames=3,height=48,width=64")
    >>> stream = DepthStream(source, bdis.StereoMatcher("fast", variance=True), at_end="loop")
    >>> with Viewer(stream, port=0) as viewer:  # viewer.serve() would wait for Ctrl-C here
    ...     viewer.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        stream: DepthStream,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        out: Place = "bdis-view",
        preset: str = "balanced",
        max_depth_mm: float | None = None,
        is_turning: bool = False,
        title: str | None = None,
    ):
        self._viser = require("viser", "the viewer")
        self.stream, self._rig = stream, stream.rig
        self._host, self._port, self._out = host, port, Path(out)
        self._preset, self._title = preset, title or stream.source.name
        self._names = map_names(self._rig, bool(stream.matcher.settings.variance))
        self._first_look = Look(shown=self._names[0], max_depth_mm=max_depth_mm, is_turning=is_turning)
        self._newest: DepthFrame | None = None
        self._shown: Maps | None = None
        self._scene: CloudScene | FlatScene | None = None
        self._pixel: tuple[int, int] | None = None
        self._notices: dict[str, str] = {}
        self._is_stale = self._is_over = self._is_trying = False
        self._is_awaited, self._is_placed = True, False
        self._error: BaseException | None = None
        self._arrived_s = self._tried_s = self._told_s = 0.0
        self._has_first = threading.Event()
        self._stop = threading.Event()
        self._server: Any = None
        self._threads: list[threading.Thread] = []
        self.url = ""

    # ------------------------------------------------------------ for the one who runs it

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open(self) -> None:
        port = _free_port(self._host, self._port)
        with _silence(), own_pages_only(self._host):
            self._server = self._viser.ViserServer(self._host, port, label=self._title, verbose=False)
        self._server.request_share_url = _refuse  # a page could ask for it, and it would go to the internet
        shown = "127.0.0.1" if self._host == "0.0.0.0" else self._host
        self.url = f"http://{f'[{shown}]' if ':' in shown else shown}:{self._server.get_port()}"
        self._build_page()
        self._arrived_s = time.monotonic()
        for target in (self._take, self._push):
            self._threads.append(threading.Thread(target=target, name=f"bdis-viewer{target.__name__}", daemon=True))
            self._threads[-1].start()

    def _build_page(self) -> None:
        server, gui, names = self._server, self._server.gui, self._names
        gui.configure_theme(dark_mode=True, show_logo=False, show_share_button=False, control_width="medium")
        server.scene.set_up_direction("-y")
        server.initial_camera.fov = FIELD_OF_VIEW
        gui.add_html(tab_title(self._title))
        self._status = gui.add_html("")
        self._message = gui.add_html("")
        self._figures = gui.add_html("")
        self._playback = Playback(gui, self.stream)
        self._pictures = Pictures(server, self._rig, names)
        self._looks = LookControls(
            gui, self._rig, names, self._pictures, self._first_look, self._mark_stale,
            lambda text: self._complain("look", text),
        )  # fmt: skip
        SaveButtons(gui, self._out, lambda: self._shown, self._tell, has_depth=self._rig is not None)
        settings = self.stream.matcher.settings
        SettingsControls(gui, settings, self._preset, self._use)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(330)
        server.scene.on_click()(self._click)
        server.on_client_connect(self._welcome)

    def serve(self) -> None:
        """Wait until Ctrl-C or :meth:`close`.

        Raises
        ------
        Exception
            What the stream ended with.
        """
        with contextlib.suppress(KeyboardInterrupt):
            while not self._stop.wait(0.2):
                if self._error is not None:
                    raise self._error

    def wait_for_frame(self, timeout_s: float | None = None) -> bool:
        """Wait for the first matched frame; True if there is one, False if the time or the stream is over."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._has_first.wait(0.1):
            if self._is_over or self._stop.is_set() or (end is not None and time.monotonic() > end):
                break
        return self._newest is not None

    def close(self) -> None:
        """End the stream, the server and all threads."""
        self._stop.set()
        self.stream.close()
        for thread in self._threads:
            thread.join()
        if self._server is not None:
            with _silence():
                self._server.stop()

    # ------------------------------------------------------------ its two threads

    def _take(self) -> None:
        """Take every frame at once and keep the newest: nobody waits for a browser."""
        try:
            for frame in self.stream:
                self._newest, self._is_stale, self._is_awaited = frame, True, False
                self._arrived_s = time.monotonic()
                self._has_first.set()
        except BaseException as error:
            self._error = error
        self._is_over = True

    def _push(self) -> None:
        try:
            self._keep_pushing()
        except Exception as error:
            self._error = error

    def _keep_pushing(self) -> None:
        """Send what has changed, so often and no more; viser keeps only the newest of each for a slow browser."""
        last_figures = 0.0
        begun = time.monotonic()
        was_turning = False
        took = 0.0
        # Half of the time belongs to others, however large the cloud is.
        while not self._stop.wait(max(1 / PUSHES_PER_S - took, took)):
            now = time.monotonic()
            if self._server.get_clients() or self._shown is None:
                if self._is_stale and self._newest is not None:
                    self._is_stale = False
                    self._show(self._newest)
                if self._scene is not None:
                    is_turning = self._looks.look.is_turning
                    if is_turning or was_turning:
                        self._scene.turn(now - begun if is_turning else None)
                    else:
                        begun = now  # the next turn begins straight
                    was_turning = is_turning
            if now - last_figures >= FIGURES_S:
                last_figures = now
                self._show_figures()
            took = time.monotonic() - now

    def _show(self, frame: DepthFrame) -> None:
        height, width = frame.left.shape[:2]
        if self._scene is None:
            size = (width, height)
            self._scene = (
                FlatScene(self._server, size) if self._rig is None else CloudScene(self._server, self._rig, size)
            )
        maps = Maps(frame, self._rig, self._looks.look.max_depth_mm)
        self._looks.fit(maps)
        look = self._looks.look
        if self._pixel is not None and not (self._pixel[0] < width and self._pixel[1] < height):
            self._pixel = None  # the pictures have another size now
        words, short = reading_in_words(maps, self._pixel)
        with self._server.atomic():
            self._pictures.show(maps, look)
            self._pictures.read_out(words)
            self._scene.show(maps, look)
            self._put_mark(maps, short)
        self._shown = maps
        if not self._is_placed and self._scene.standpoint is not None:
            self._place_all(self._scene.standpoint)

    def _put_mark(self, maps: Maps, text: str) -> None:
        assert self._scene is not None
        place = None if self._pixel is None else self._scene.point_at(maps, self._pixel)
        if place is None:
            self._scene.mark.hide()
        else:
            self._scene.mark.put(*place, text)

    def _show_figures(self) -> None:
        maps = self._shown
        is_video = self.stream.source.length != 1
        self._figures.content = figures_in_words(self.stream.statistics(), maps, is_video)
        if maps is not None:
            self._playback.show(maps.frame)
        self._status.content = self._status_in_words()
        if self._notices.get("saved") and time.monotonic() - self._told_s > TOLD_S:
            self._notices["saved"] = ""
            self._message.content = "".join(self._notices.values())

    def _status_in_words(self) -> str:
        if self._error is not None:
            return notice(f"The stream has ended: {self._error}", "error")
        if self._is_over:
            return notice("The stream has ended.", "busy")
        if self._is_trying and time.monotonic() - self._tried_s > QUIET_S:
            return notice(_TRYING, "busy")
        expects = self._is_awaited or not self.stream.is_paused
        if expects and time.monotonic() - self._arrived_s > QUIET_S:
            return notice(_WAITING, "busy")
        return notice(_NO_DEPTH, "busy") if self._rig is None else ""

    # ------------------------------------------------------------ what those who watch do

    def _mark_stale(self) -> None:
        self._is_stale = True

    def _use(self, matcher: StereoMatcher) -> None:
        """Try it first: a picture may be too small for it, and what must be compiled should not hold up the stream."""
        frame = self._newest
        if frame is not None:
            self._tried_s, self._is_trying = time.monotonic(), True
            try:
                matcher.match(frame.left, frame.right)
            finally:
                self._is_trying = False
        self._is_awaited, self._arrived_s = True, time.monotonic()
        self.stream.use(matcher)

    def _complain(self, where: str, text: str | None) -> None:
        """A wrong value is told until it is put right; what was used before it stays in use."""
        self._notices[where] = "" if text is None else notice(text, "error")
        self._message.content = "".join(self._notices.values())

    def _tell(self, text: str, is_good: bool) -> None:
        self._notices["saved"] = notice(f"Saved {text}" if is_good else text, "done" if is_good else "error")
        self._told_s = time.monotonic()
        self._message.content = "".join(self._notices.values())

    def _click(self, event: Any) -> None:
        if self._scene is not None:
            self._pixel = self._scene.pick(event.ray_origin, event.ray_direction)
            self._mark_stale()

    def _welcome(self, client: Any) -> None:
        """A browser has come: show it the newest frame, and notice when someone takes hold of its view."""
        self._mark_stale()
        has_arrived = False

        def moved(camera: Any) -> None:
            nonlocal has_arrived
            standpoint = self._scene.standpoint if self._scene is not None else None
            if standpoint is None:
                return
            close = 1e-3 * float(np.linalg.norm(standpoint.position - standpoint.look_at))
            if np.allclose(camera.position, standpoint.position, atol=close):
                has_arrived = True  # where the page itself has put it
            elif has_arrived:
                self._looks.stop_turning()

        client.camera.on_update(moved)

    def _place_all(self, standpoint: Standpoint) -> None:
        """Let all who watch, now and later, begin where the cloud is seen well."""
        self._is_placed = True
        distance = float(np.linalg.norm(standpoint.position - standpoint.look_at))
        start = self._server.initial_camera
        start.position, start.look_at, start.up = standpoint.position, standpoint.look_at, UP
        start.near, start.far = distance / 500, distance * 50
        for client in self._server.get_clients().values():
            camera = client.camera
            with client.atomic():
                camera.up_direction, camera.position, camera.look_at = UP, standpoint.position, standpoint.look_at
                camera.near, camera.far = start.near, start.far


def _refuse(verbose: bool = True) -> None:
    """Instead of viser's way to show the page through a server elsewhere."""


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """viser prints its own greeting and farewell."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _free_port(host: str, port: int) -> int:
    """The first free port; viser itself would wait for ever on an address that is not this machine's."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, min(port + PORTS_TRIED, 65536)):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            if os.name == "posix":  # a port that was just given back is free
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, candidate))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                raise OSError(error.errno, f"cannot listen on {host}:{candidate}: {error.strerror}") from None
            return int(probe.getsockname()[1])
    raise OSError(f"ports {port} to {port + PORTS_TRIED - 1} of {host} are all in use")
