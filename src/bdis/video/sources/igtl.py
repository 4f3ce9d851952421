"""Stereo images from PLUS, 3D Slicer or any other OpenIGTLink server."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from ...common.arrays import Array, size_text
from ...connections import igtl
from .source import BadFrame, OpenOptions, Source, SourceKind, SourceLost, StereoFrame
from .views import Splitter

SCHEME = "igtl://"
EXAMPLE = "igtl://localhost:18944?left=LeftImage&right=RightImage"
CONNECT_S, READ_S = 5.0, 5.0  # to connect, and between two images
LISTEN_S = 1.0  # how long to look what devices there are
MAX_DEVICES = 100  # that are remembered for messages
LARGEST_TOLERANCE_S = 0.02  # between the times of both views; less if images come faster than 25 in a second


@dataclass(frozen=True)
class IgtlPlace:
    """Where images come from, as in ``igtl://HOST:PORT?left=NAME&right=NAME``.

    Attributes
    ----------
    host, port
        The server.
    devices : tuple of str
        Names of the images: of the left and the right view, or of one that holds both; empty if they are not given.
    """

    host: str
    port: int
    devices: tuple[str, ...] = ()


def parse_place(place: str) -> IgtlPlace:
    """Read the address of a server.

    Raises
    ------
    ValueError
        It has another form.

    Examples
    --------
    >>> parse_place("igtl://plus:18944?left=A&right=B")
    IgtlPlace(host='plus', port=18944, devices=('A', 'B'))
    >>> parse_place("igtl://10.0.0.7")
    IgtlPlace(host='10.0.0.7', port=18944, devices=())
    """
    wrong = f"{place!r} is not the address of images; expected one such as {EXAMPLE}, or ?image=NAME for both views"
    try:
        parts = urlsplit(place)
        port, names = parts.port, parse_qs(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise ValueError(wrong) from None
    chosen = {name: values[0] for name, values in names.items()}
    if not parts.hostname or parts.path not in ("", "/") or set(chosen) not in (set(), {"image"}, {"left", "right"}):
        raise ValueError(wrong)
    if any(not value for value in chosen.values()) or len(set(chosen.values())) < len(chosen):
        raise ValueError(wrong)
    order = [name for name in ("image", "left", "right") if name in chosen]
    return IgtlPlace(parts.hostname, port or igtl.DEFAULT_PORT, tuple(chosen[name] for name in order))


class IgtlSource(Source):
    """A client of an OpenIGTLink server that sends both views, each as an IMAGE or both in one.

    Parameters
    ----------
    place : str
        Such as "igtl://localhost:18944?left=LeftImage&right=RightImage".  Without names of devices there must be only
        one that sends images, or two whose names tell left from right.
    splitter : Splitter
        Separates the views of a picture that holds both.
    """

    is_live = True

    def __init__(self, place: str, splitter: Splitter):
        self._place, self._split, self.name = parse_place(place), splitter, place
        self._devices = self._place.devices
        self._socket: socket.socket | None = None
        self._seen: dict[str, str] = {}  # devices and the types of their messages
        self._held: dict[str, tuple[float, Array]] = {}  # images that wait for their partners, with their times
        self._last_left_s = 0.0
        self._tolerance_s = LARGEST_TOLERANCE_S
        self._has_told = False  # that images have no times
        self._index = 0
        self._begin_s: float | None = None

    @property
    def layout(self) -> str | None:
        return self._split.used

    def read(self) -> StereoFrame | None:
        self._open()
        deadline = time.monotonic() + READ_S
        while time.monotonic() < deadline:
            header, body = self._message(deadline)
            if header.device not in self._devices or header.kind != "IMAGE":
                continue
            try:
                image = igtl.parse_image(header, body)
            except ValueError as error:
                raise BadFrame(str(error)) from error
            views = self._split(image) if len(self._devices) == 1 else self._pair(header, image)
            if views is not None:
                now = time.monotonic()
                self._begin_s = now if self._begin_s is None else self._begin_s
                self._index += 1
                return StereoFrame(self._index - 1, now - self._begin_s, *views)
        wanted = " and ".join(map(repr, self._devices))
        raise self._lost(f"no images of {wanted} for {READ_S:g} s; it sends {self._list()}")

    def rewind(self) -> None:
        """Leave the server until the next frame is read: one that is not read from for half a second gives up."""
        self.close()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._held.clear()

    # ------------------------------------------------------------ both views

    def _pair(self, header: igtl.Header, image: Array) -> tuple[Array, Array] | None:
        """Both views, if this image completes a pair.

        Raises
        ------
        BadFrame
            An image has no partner, or the pairs have no times.
        """
        left, right = self._devices
        if header.device == left:
            if 0 < header.time_s - self._last_left_s < 2 * LARGEST_TOLERANCE_S:
                self._tolerance_s = 0.5 * (header.time_s - self._last_left_s)
            self._last_left_s = header.time_s
        replaced = self._held.pop(header.device, None)
        self._held[header.device] = header.time_s, image
        if replaced is not None:
            raise BadFrame(f"an image of {header.device!r} has no partner", 1)
        if len(self._held) < 2:
            return None
        (left_s, left_image), (right_s, right_image) = self._held[left], self._held[right]
        if left_s and right_s and abs(left_s - right_s) > self._tolerance_s:
            older = left if left_s < right_s else right
            del self._held[older]
            raise BadFrame(f"an image of {older!r} is {1e3 * abs(left_s - right_s):.0f} ms older than its partner", 1)
        if left_image.shape != right_image.shape:
            self._held.clear()
            sizes = size_text(left_image.shape), size_text(right_image.shape)
            raise BadFrame(f"{left!r} sends {sizes[0]} and {right!r} sends {sizes[1]}", 1)
        self._held.clear()
        if not (left_s and right_s) and not self._has_told:
            self._has_told = True
            raise BadFrame("the images have no times: they are paired as they come, and may be of two moments", 1)
        return left_image, right_image

    # ------------------------------------------------------------ the connection

    def _open(self) -> None:
        if self._socket is not None:
            return
        where = f"{self._place.host}:{self._place.port}"
        try:
            self._socket = socket.create_connection((self._place.host, self._place.port), CONNECT_S)
        except (OSError, UnicodeError) as error:
            reason = "nothing answers" if isinstance(error, TimeoutError) else getattr(error, "strerror", None)
            reason = reason or "not a name of a machine"
            raise self._lost(
                f"no OpenIGTLink server at {where}: {reason}; is the address right, and is the server started?"
            ) from None
        self._seen.clear()
        if not self._devices:
            try:
                self._devices = self._choose()
            except BaseException:
                self.close()
                raise

    def _choose(self) -> tuple[str, ...]:
        """The devices that send images, if it is clear which is which."""
        deadline = time.monotonic() + READ_S
        first_s: float | None = None
        while (now := time.monotonic()) < deadline and (first_s is None or now - first_s < LISTEN_S):
            header, _ = self._message(deadline)
            if header.kind == "IMAGE" and first_s is None:
                first_s = now
        found = [device for device, kind in self._seen.items() if kind == "IMAGE"]
        if len(found) == 1:
            return (found[0],)
        sides = [[device for device in found if side in device.lower()] for side in ("left", "right")]
        if len(found) == 2 and [len(side) for side in sides] == [1, 1] and sides[0] != sides[1]:
            return sides[0][0], sides[1][0]
        raise ValueError(
            f"{self.name} sends {self._list()}: choose the images of both views, as in {EXAMPLE}, or ?image=NAME"
        )

    def _message(self, deadline: float) -> tuple[igtl.Header, bytes]:
        """The next message of any kind, whole."""
        try:
            header = igtl.parse_header(self._bytes(igtl.HEADER_BYTES, deadline))
        except ValueError as error:
            raise self._lost(str(error)) from None
        if header.device in self._seen or len(self._seen) < MAX_DEVICES:
            self._seen[header.device] = header.kind
        return header, self._bytes(header.body_bytes, deadline)

    def _bytes(self, count: int, deadline: float) -> bytes:
        """Exactly so many bytes; SourceLost or OSError if they do not come in time."""
        assert self._socket is not None
        received = bytearray()
        while len(received) < count:
            try:
                self._socket.settimeout(max(0.01, deadline - time.monotonic()))
                part = self._socket.recv(min(count - len(received), 2**18))
            except TimeoutError:
                raise self._lost(f"nothing comes for {READ_S:g} s; it has sent {self._list()}") from None
            except OSError as error:
                raise self._lost(f"was disconnected: {error.strerror}") from None
            if not part:
                raise self._lost("has ended the connection")
            received += part
        return bytes(received)

    def _lost(self, reason: str) -> OSError:
        """The error after which the connection is made anew, if it ever worked; a mistake of the user is final."""
        self.close()
        return (OSError if self._begin_s is None else SourceLost)(f"{self.name}: {reason}")

    def _list(self) -> str:
        """What the server has sent so far."""
        return ", ".join(f"{device!r} ({kind})" for device, kind in self._seen.items()) or "nothing"


def _open(places: list[str], options: OpenOptions) -> IgtlSource:
    if len(places) == 2:
        raise ValueError(f"the images of both views come from one server: expected an address such as {EXAMPLE}")
    if options.fps is not None:
        raise ValueError(f"fps is for folders and cameras; {places[0]} sends images as they come")
    return IgtlSource(places[0], options.splitter)


IGTL = SourceKind("an OpenIGTLink server", lambda place: place.lower().startswith(SCHEME), _open)
