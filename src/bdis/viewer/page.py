"""What the panels of the page share, and their interface."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..cameras.measure import Pixel
from .display_options import DisplayOptions
from .frame_maps import FrameMaps, map_names
from .html_text import notice
from .receiver import FrameReceiver
from .server import PageServer

REFUSAL_S = 20.0  # how long the page says that a value was refused


class Page:
    """The state of the page, shared by all panels and all browsers.

    Parameters
    ----------
    server : PageServer
        Serves the page.
    receiver : FrameReceiver
        Has the newest frame.
    title : str
        Of the browser tab.
    folder : Path or None
        Where the buttons save files; None: the browser downloads them.
    preset : str
        Name of the preset that the settings of the matcher began as.
    max_depth_mm, is_turning
        As in :class:`DisplayOptions`.

    Attributes
    ----------
    guard : Guard
        Checks what browsers send.
    gui : viser.GuiApi
        Creates controls.
    stream : DepthStream
        The stream that is displayed.
    rig : Rig or None
        Its rectified cameras; None: there is no depth.
    map_names : tuple of str
        Names of the available maps.
    display : DisplayOptions
        What is displayed; changed by :meth:`change_display`.
    shown : FrameMaps or None
        Maps of the frame that is displayed; None before the first.
    pixels : tuple of (int, int)
        Column and row of the last two pixels that were clicked, the newest last; changed by :meth:`select`.
    needs_redraw : bool
        The frame that is displayed must be drawn again.
    """

    def __init__(
        self,
        server: PageServer,
        receiver: FrameReceiver,
        *,
        title: str,
        folder: Path | None,
        preset: str,
        max_depth_mm: float | None,
        is_turning: bool,
    ):
        self.guard, self.gui, self.receiver, self.stream = server.guard, server.viser.gui, receiver, receiver.stream
        self.title, self.folder, self.preset = title, folder, preset
        self.rig = self.stream.rig
        self.map_names = map_names(self.rig, bool(self.stream.matcher.settings.variance))
        self.display = DisplayOptions(self.map_names[0], max_depth_mm=max_depth_mm, is_turning=is_turning)
        self.shown: FrameMaps | None = None
        self.pixels: tuple[Pixel, ...] = ()
        self.needs_redraw = False
        self._lock = threading.Lock()
        self._messages: dict[str, tuple[str, float]] = {}  # HTML of each topic, and when it disappears
        self.warnings: tuple[str, ...] = ()
        self.guard.refused = self._say_refused

    def on_change(self, control: Any, action: Callable[[Any], None]) -> None:
        """Call a function with viser's event whenever a control changes; the page shows what it raises.

        Parameters
        ----------
        control : viser.GuiInputHandle
            Of this page.
        action : callable
            Its exceptions never reach viser.
        """
        control.on_update(self.answering(control.label, action))

    def on_press(self, buttons: Any, action: Callable[[str, Any], None]) -> None:
        """Call a function with the name of a button of a group and the browser in which it was pressed.

        Parameters
        ----------
        buttons : viser.GuiButtonGroupHandle
            Of this page.
        action : callable
            Must not take long: no browser is served meanwhile.
        """
        act = self.answering(buttons.label, lambda event: action(event.target.value, event.client))

        async def pressed(event: Any) -> None:  # viser calls it at once, before another press changes the value
            act(event)

        buttons.on_click(pressed)

    def answering(self, label: str, action: Callable[[Any], None]) -> Callable[[Any], None]:
        """The same function for a control, but the page shows what it raises, until a user sets the control again."""

        def act(event: Any) -> None:
            try:
                action(event)
            except Exception as error:
                self.show_message(label, f"{label}: {error}")
            else:
                if event.client is not None:  # else the viewer itself has changed it
                    self.show_message(label, None)

        return act

    def _say_refused(self, label: str, reason: str) -> None:
        self.show_message("refused", f"{label}: {reason}. The value before stays in use.", seconds=REFUSAL_S)

    def show_warnings(self, warnings: Sequence[str]) -> None:
        """Show what is wrong with the frame, prominently, until it is called again.

        Parameters
        ----------
        warnings : sequence of str
            Plain sentences; empty: nothing is wrong.
        """
        self.warnings = tuple(dict.fromkeys(warnings))

    @property
    def pixel(self) -> Pixel | None:
        """The pixel that was clicked last; None if there is none."""
        return self.pixels[-1] if self.pixels else None

    @property
    def newest_and_before(self) -> tuple[Pixel | None, Pixel | None]:
        """The pixel that was clicked last, and the one before it; None where there is none."""
        return self.pixel, self.pixels[0] if len(self.pixels) > 1 else None

    def select(self, pixel: Pixel | None) -> None:
        """Show the values of a pixel, and how far it is from the one before; None: of no pixel any more."""
        self.pixels = () if pixel is None else tuple(dict.fromkeys((*self.pixels, pixel)[-2:]))
        self.needs_redraw = True

    def change_display(self, **changes: Any) -> None:
        """Change some of the display options and draw the frame again."""
        with self._lock:
            self.display = replace(self.display, **changes)
        self.needs_redraw = True

    def show_message(self, topic: str, text: str | None, kind: str = "error", seconds: float = float("inf")) -> None:
        """Show a message at the top of the page, instead of the one with the same topic.

        Parameters
        ----------
        topic : str
            What the message is about.
        text : str or None
            Plain text; None removes the message.
        kind : {"error", "done", "busy"}
            Colour of the message.
        seconds : float
            How long it is shown.
        """
        with self._lock:
            others = {other: shown for other, shown in self._messages.items() if other != topic}
            new = {} if text is None else {topic: (notice(text, kind), time.monotonic() + seconds)}
            self._messages = {**others, **new}

    def messages(self) -> str:
        """HTML of all messages that have not expired."""
        now = time.monotonic()
        return "".join(text for text, end_s in self._messages.values() if now < end_s)


class Panel:
    """A group of controls or texts on the page.

    Subclasses create their controls in ``__init__`` and override the methods that they need.

    Parameters
    ----------
    page : Page
        Shared by all panels.
    """

    def __init__(self, page: Page):
        self._page = page

    def show_frame(self, maps: FrameMaps) -> None:
        """Display a frame; called for new frames and after changes of the display options."""

    def refresh(self) -> None:
        """Update texts that change without a new frame; called a few times per second."""

    def view_moved(self) -> None:
        """React to a user who has moved the 3-D view."""

    def close(self) -> None:
        """Finish what must not be interrupted; called at the end."""
