"""Displays a stream in the browser."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..common.atomic import Place
from ..common.optional import require
from ..video.sources import RenderedSource
from ..video.stream.depth_stream import DepthFrame, DepthStream
from .cloud_panel import CloudPanel
from .cloud_view import CloudView
from .frame_maps import FrameMaps
from .html_text import pixel_text
from .image_panel import ImagePanel
from .map_view import MapView
from .page import Page, Panel
from .pair_check import PairCheck
from .playback_panel import PlaybackPanel
from .receiver import FrameReceiver
from .save_panel import SavePanel
from .scene import FIELD_OF_VIEW, SceneView, Viewpoint
from .server import PageServer, start_server
from .settings_panel import SettingsControls
from .status_panel import StatusPanel

MAX_UPDATES_PER_S = 15.0  # frames in between are not displayed
REFRESH_S = 0.4  # between two updates of the texts
UP = (0.0, -1.0, 0.0)  # y points down
CONTROLS_WIDTH = 330  # px


class SettingsPanel(Panel):
    """The settings of the matcher."""

    def __init__(self, page: Page):
        super().__init__(page)
        SettingsControls(page.gui, page.stream.matcher.settings, page.preset, page.receiver.use)


PANELS: tuple[type[Panel], ...] = (StatusPanel, PlaybackPanel, ImagePanel, CloudPanel, SavePanel, SettingsPanel)


class Viewer:
    """Image, maps and a coloured point cloud of a stream in the browser, with the settings of the matcher.

    It takes frames as fast as the stream delivers them and displays the newest, so that no browser can slow the stream
    down.  The page needs nothing from the internet.

    Parameters
    ----------
    stream : DepthStream
        Not started yet; closed at the end.
    host : str
        Address to listen on; "0.0.0.0" lets other machines open the page as well, with a token in the address.
    port : int
        The next free one is used if it is in use; 0: any.
    out : path, optional
        Folder of this machine for the files that the buttons of the page save.  Default: the browser downloads them.
    preset : str
        Name of the preset that the settings of the matcher began as, for the page.
    max_depth_mm : float, optional
        Pixels that are farther away are displayed as unknown.
    is_turning : bool
        Turn the cloud to and fro until a user moves the view.
    title : str, optional
        Above the controls.  Default: the name of the source.
    names : sequence of str
        Names under which other machines may address the page, besides the numbers and the name of this machine.
    on_frame : callable, optional
        Called with every frame of the stream; must return at once.

    Attributes
    ----------
    url : str
        Address of the page, once the viewer is entered; with the token, if it needs one.
    shared_url : str
        Address for other machines; empty if they cannot open the page.

    Raises
    ------
    ImportError
        viser is not installed.
    OSError
        It cannot listen on the address; raised when the viewer is entered.

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
        out: Place | None = None,
        preset: str = "balanced",
        max_depth_mm: float | None = None,
        is_turning: bool = False,
        title: str | None = None,
        names: Sequence[str] = (),
        on_frame: Callable[[DepthFrame], None] | None = None,
    ):
        require("viser", "the viewer")
        self.stream, self.url, self.shared_url = stream, "", ""
        self._host, self._port, self._title, self._names = host, port, title or stream.source.name, tuple(names)
        self._page_options: dict[str, Any] = {
            "folder": None if out is None else Path(out), "preset": preset, "max_depth_mm": max_depth_mm,
            "is_turning": is_turning,
        }  # fmt: skip
        if isinstance(stream.source, RenderedSource):
            stream.source.render_ahead()  # nobody likes to watch a scene that stands still while it is rendered
        self._receiver, self._pair_check = FrameReceiver(stream, on_frame), PairCheck(stream)
        self._panels: list[Panel] = []
        self._scene: SceneView | None = None
        self._click: tuple[Any, Any] | None = None  # ray of the latest click that was not looked up yet
        self._has_viewpoint = False
        self._error: BaseException | None = None
        self._stop = threading.Event()
        self._running: PageServer | None = None
        self._thread = threading.Thread(target=self._draw, name="bdis-viewer-draw", daemon=True)

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def serve(self) -> None:
        """Wait until Ctrl-C or :meth:`close`.

        Raises
        ------
        Exception
            The one that ended the stream.
        """
        with contextlib.suppress(KeyboardInterrupt):
            while not self._stop.wait(0.2):
                error = self._receiver.error or self._error
                if error is not None:
                    raise error

    def wait_for_frame(self, timeout_s: float | None = None) -> bool:
        """Wait for the first matched frame.

        Parameters
        ----------
        timeout_s : float, optional
            How long to wait at most, seconds.

        Returns
        -------
        bool
            False if the time or the stream is over before there is a frame.
        """
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._receiver.wait_for_frame(0.1):
            if self._receiver.is_over or self._stop.is_set() or (end is not None and time.monotonic() > end):
                break
        return self._receiver.newest is not None

    def close(self) -> None:
        """End the stream, the server and all threads."""
        self._stop.set()
        self._receiver.close()
        self._pair_check.close()
        if self._thread.is_alive():
            self._thread.join()
        if self._running is not None:
            self._running.stop()
            self._running = None
            for panel in self._panels:
                panel.close()

    def _open(self) -> None:
        self._running = start_server(self._host, self._port, self._title, self._names)
        self.url, self.shared_url = self._running.url, self._running.shared_url
        self._server = self._running.viser
        gui = self._server.gui
        gui.configure_theme(dark_mode=True, show_logo=False, show_share_button=False, control_width="medium")
        self._server.scene.set_up_direction("-y")
        self._server.initial_camera.fov = FIELD_OF_VIEW
        self._page = Page(self._running, self._receiver, title=self._title, **self._page_options)
        self._panels = [create(self._page) for create in PANELS]
        gui.main_panel.dock_right()
        gui.main_panel.set_width(CONTROLS_WIDTH)
        self._server.scene.on_click()(self._clicked)
        self._server.on_client_connect(self._connect)
        self._receiver.start()
        self._pair_check.start()
        self._thread.start()

    # ------------------------------------------------------------ drawing, in a thread

    def _draw(self) -> None:
        try:
            self._draw_until_stopped()
        except Exception as error:
            self._error = error

    def _draw_until_stopped(self) -> None:
        """Send what has changed, at a limited rate; viser keeps only the newest state for a slow browser."""
        page = self._page
        last_refresh = 0.0
        turn_began = time.monotonic()
        was_turning = False
        took = 0.0
        # Wait at least as long as drawing took, so that it uses no more than half of a core.
        while not self._stop.wait(max(1 / MAX_UPDATES_PER_S - took, took)):
            now = time.monotonic()
            if self._server.get_clients() or page.shown is None:
                frame = self._receiver.newest
                if frame is not None and (page.needs_redraw or page.shown is None or page.shown.frame is not frame):
                    page.needs_redraw = False
                    self._try_to_show(frame)
                if self._scene is not None:
                    is_turning = page.display.is_turning
                    if is_turning or was_turning:
                        self._scene.turn(now - turn_began if is_turning else None)
                    else:
                        turn_began = now
                    was_turning = is_turning
            if now - last_refresh >= REFRESH_S:
                last_refresh = now
                if page.shown is not None:
                    source = page.stream.source
                    page.show_warnings((*source.warnings, *page.shown.frame.damage, *self._pair_check.warnings))
                for panel in self._panels:
                    panel.refresh()
            took = time.monotonic() - now

    def _try_to_show(self, frame: DepthFrame) -> None:
        """Show a frame; what goes wrong is said on the page, unless there was never anything to show."""
        try:
            self._show(frame)
        except Exception as error:
            if self._page.shown is None:
                raise
            self._page.show_message("drawing", f"Frame {frame.index} cannot be displayed: {error}")
        else:
            self._page.show_message("drawing", None)

    def _show(self, frame: DepthFrame) -> None:
        page, server = self._page, self._server
        height, width = frame.left.shape[:2]
        if self._scene is None:
            size = (width, height)
            self._scene = MapView(server, size) if page.rig is None else CloudView(server, page.rig, size)
        maps = FrameMaps(frame, page.rig, page.display.max_depth_mm)
        self._pair_check.newest = frame
        click, self._click = self._click, None
        if click is not None:
            page.select(self._scene.pick(*click))
        if any(column >= width or row >= height for column, row in page.pixels):
            page.select(None)  # the images have become smaller
        with server.atomic():
            for panel in self._panels:
                panel.show_frame(maps)
            self._scene.show_frame(maps, page.display)
            self._scene.mark(maps, page.pixels, pixel_text(maps, page.pixel)[1])
        page.shown = maps
        if not self._has_viewpoint and self._scene.viewpoint is not None:
            self._move_cameras(self._scene.viewpoint)

    def _move_cameras(self, viewpoint: Viewpoint) -> None:
        """Let the cameras of all browsers, present and future, start at a viewpoint."""
        self._has_viewpoint = True
        start = self._server.initial_camera
        start.position, start.look_at, start.up = viewpoint.position, viewpoint.look_at, UP
        start.near, start.far = viewpoint.distance / 500, viewpoint.distance * 50
        for client in self._server.get_clients().values():
            camera = client.camera
            with client.atomic():
                camera.up_direction, camera.position, camera.look_at = UP, viewpoint.position, viewpoint.look_at
                camera.near, camera.far = start.near, start.far

    # ------------------------------------------------------------ events of the browsers

    def _clicked(self, event: Any) -> None:
        """Look up the pixel with the next drawing: a browser may click more often than anybody can see."""
        self._click = event.ray_origin, event.ray_direction
        self._page.needs_redraw = True

    def _connect(self, client: Any) -> None:
        """Display the newest frame in a new browser, and notice when its user moves the view."""
        self._page.needs_redraw = True
        has_arrived = False

        def moved(camera: Any) -> None:
            nonlocal has_arrived
            viewpoint = self._scene.viewpoint if self._scene is not None else None
            if viewpoint is None:
                return
            if np.allclose(camera.position, viewpoint.position, atol=1e-3 * viewpoint.distance):
                has_arrived = True  # the viewer itself has moved it there
            elif has_arrived:
                for panel in self._panels:
                    panel.view_moved()

        client.camera.on_update(moved)
