"""Checks every message of a browser before viser sees it: which, how large, how often, and what is in it.

viser trusts its browsers: a message may set any attribute of a control, and a value that cannot be sent on closes the
page for every other browser.  So only the messages that this page needs are let through, rebuilt from what was checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..common.optional import require
from .control_values import value_for

MAX_BYTES = 2**16  # of a message
MAX_PICTURE_BYTES = 2**25  # of the picture that a browser was asked for
MESSAGES_PER_S, BURST = 200.0, 400.0  # of one browser; they come in bursts while a slider moves.  More have to wait.
MAX_BROWSERS = 24  # at the same time
MAX_SIDE, MAX_PIXELS = 2**14, 2**25  # of the view in a browser
_FARTHEST = 1e9  # coordinates of cameras and clicks
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"  # then width and height, four bytes each

Point = tuple[float, float, float]


@dataclass
class _Camera:
    """Where a user looks from."""

    wxyz: tuple[float, float, float, float]
    position: Point
    fov: float
    near: float
    far: float
    image_height: int
    image_width: int
    look_at: Point
    up_direction: Point

    def check(self) -> None:
        numbers = (*self.wxyz, *self.position, self.fov, self.near, self.far, *self.look_at, *self.up_direction)
        _require(all(abs(number) <= _FARTHEST for number in numbers))  # NaN is not
        _require(0 <= self.image_height <= MAX_SIDE and 0 <= self.image_width <= MAX_SIDE)


@dataclass
class _Click:
    """A click on the scene."""

    event_type: Literal["click"]
    ray_origin: Point
    ray_direction: Point
    screen_pos: tuple[tuple[float, float]]
    modifier: str | None

    def check(self) -> None:
        numbers = (*self.ray_origin, *self.ray_direction, *self.screen_pos[0])
        _require(all(abs(number) <= _FARTHEST for number in numbers) and any(self.ray_direction))


@dataclass
class _Picture:
    """The view of a browser as PNG, which was asked for; empty if the browser could not draw it."""

    payload: bytes
    render_uuid: str

    def check(self) -> None:
        if self.payload:
            width, height = (int.from_bytes(self.payload[place : place + 4], "big") for place in (16, 20))
            _require(self.payload.startswith(_PNG) and 0 < width * height <= MAX_PIXELS)


@dataclass
class _Update:
    """A control that a user has changed or pressed."""

    uuid: str
    updates: dict[str, Any]

    def check(self) -> None:
        _require(self.updates.keys() == {"value"})


_KINDS: dict[str, type[_Camera | _Click | _Picture | _Update]] = {
    "ViewerCameraMessage": _Camera, "ScenePointerMessage": _Click, "GetRenderResponseMessage": _Picture,
    "GuiUpdateMessage": _Update,
}  # fmt: skip


class Guard:
    """Checks the messages of all browsers of a page.

    Attributes
    ----------
    controls : mapping of str to viser.GuiInputHandle
        The controls of the page by their identifiers.
    refused : callable
        Called with the label of a control and the reason if a browser sent a value that the control cannot have.
    """

    def __init__(self) -> None:
        self.controls: Mapping[str, Any] = {}
        self.refused: Callable[[str, str], None] = lambda label, reason: None
        self._pictures = 0  # that browsers were asked for
        self._connections: set[Any] = set()

    def checked(self, raw: bytes | str) -> bytes | None:
        """The message to hand to viser; None if it is refused.

        Parameters
        ----------
        raw : bytes or str
            As it came.

        Returns
        -------
        bytes or None
            Made anew from what was checked.
        """
        msgspec = require("msgspec", "the viewer")
        try:
            fields = msgspec.msgpack.decode(raw)
            kind = fields.pop("type")
            message = msgspec.convert(fields, _KINDS[kind])
            message.check()
            if isinstance(message, _Picture):
                _require(self._pictures > 0)
            if isinstance(message, _Update) and not self._take(message):
                return None
            return bytes(msgspec.msgpack.encode({"type": kind, **asdict(message)}))
        except Exception:  # a fault of its sender, and nobody else's concern
            return None

    def _take(self, message: _Update) -> bool:
        """Put the value for the control into the message; if it cannot have that value, say so and show the old one."""
        control = self.controls[message.uuid]
        try:
            message.updates["value"] = value_for(control, message.updates["value"])
        except ValueError as error:
            self.refused(control.label, str(error))
            control._queue_update("value", control.value)  # assigning the value that it has would do nothing
            return False
        return True

    @contextlib.contextmanager
    def expecting_picture(self) -> Iterator[None]:
        """Let browsers send a picture meanwhile, which is larger than any other message."""
        self._change_pictures(1)
        try:
            yield
        finally:
            self._change_pictures(-1)

    def _change_pictures(self, change: int) -> None:
        self._pictures += change
        for connection in tuple(self._connections):
            connection.protocol.max_message_size = self._max_bytes

    @property
    def _max_bytes(self) -> int:
        return MAX_PICTURE_BYTES if self._pictures else MAX_BYTES

    async def handle(self, connection: Any, handler: Callable[[Any], Awaitable[None]]) -> None:
        """Serve a browser with viser's handler, if it is of the same version and there are not too many already."""
        viser = require("viser", "the viewer")
        if connection.subprotocol != f"viser-v{viser.__version__}":
            await connection.close(1002, "This page is of another version. Reload it.")
            return
        if len(self._connections) >= MAX_BROWSERS:
            await connection.close(1013, f"The page is open in {MAX_BROWSERS} browsers already.")
            return
        self._connections.add(connection)
        connection.protocol.max_message_size = self._max_bytes
        try:
            await handler(connection)
        finally:
            self._connections.discard(connection)

    def connection_class(self) -> type[Any]:
        """The class of connections for ``websockets``: viser receives only checked messages, and no flood of them."""
        guard = self
        server = require("websockets.asyncio.server", "the viewer")

        class GuardedConnection(server.ServerConnection):  # type: ignore[misc, name-defined]
            _allowance, _counted_s = BURST, 0.0

            async def recv(self, decode: bool | None = None) -> bytes:
                while True:
                    raw = await super().recv(decode)
                    await self._wait_for_turn()
                    checked = guard.checked(raw)
                    if checked is not None:
                        return checked

            async def _wait_for_turn(self) -> None:
                """Slow down who sends too often: what is not received fills the sender's own buffers."""
                now = time.monotonic()
                self._allowance = min(BURST, self._allowance + MESSAGES_PER_S * (now - self._counted_s)) - 1
                self._counted_s = now
                if self._allowance < 0:
                    await asyncio.sleep(-self._allowance / MESSAGES_PER_S)

        return GuardedConnection


def _require(is_so: bool) -> None:
    if not is_so:
        raise ValueError("a message that no browser of this page sends")
