"""Starts the web server of the page: on a free port, for its own pages only, without output on the terminal."""

from __future__ import annotations

import contextlib
import errno
import inspect
import io
import logging
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..common.optional import require
from .access import Access, is_loopback
from .guard import MAX_BYTES, Guard

PORTS_TRIED = 100
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # and how this machine itself gets there
_starting = threading.Lock()  # two servers that start at once would not both be guarded
_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())  # a port scan is nothing to print


@dataclass(frozen=True)
class PageServer:
    """A running server.

    Attributes
    ----------
    viser : viser.ViserServer
        Serves the page.
    guard : Guard
        Checks what browsers send.
    url : str
        Address of the page on this machine, with the token if it needs one.
    shared_url : str
        Address for other machines; empty if they cannot reach it.
    """

    viser: Any
    guard: Guard
    url: str
    shared_url: str

    def stop(self) -> None:
        """Stop the server."""
        with _silence():
            self.viser.stop()


def start_server(host: str, port: int, label: str, names: tuple[str, ...] = ()) -> PageServer:
    """Start a server.

    Parameters
    ----------
    host : str
        Address to listen on.
    port : int
        The first free port from this one on is used; 0: any.
    label : str
        Title of the controls.
    names : tuple of str
        Further names under which the page may be addressed.

    Returns
    -------
    PageServer

    Raises
    ------
    OSError
        The server cannot listen on ``host``, or all ports are in use.
    """
    viser = require("viser", "the viewer")
    own = () if is_loopback(host) else (socket.gethostname(),)
    access, guard = Access(host, _free_port(host, port), (*names, *own)), Guard()
    with _starting, _silence(), _guarded(access, guard):
        server = viser.ViserServer(host, access.port, label=label, verbose=False)
    # A page could request this: it would make the page available through a server on the internet.
    server.request_share_url = _refuse
    guard.controls = server.gui._gui_input_handle_from_uuid  # there is no public way from a message to its control
    port = server.get_port()
    shared = access.url(_own_address(host) if host in _EVERYWHERE else host, port) if access.token else ""
    return PageServer(server, guard, access.url(_EVERYWHERE.get(host, host), port), shared)


@contextlib.contextmanager
def _guarded(access: Access, guard: Guard) -> Iterator[None]:
    """Guard the requests and messages of a viser server that is started in this context; viser has no option for it."""
    module = require("websockets.asyncio.server", "the viewer")
    serve = module.serve
    is_used = False

    def guarded_serve(handler: Any, *arguments: Any, process_request: Any, **options: Any) -> Any:
        async def check(connection: Any, request: Any) -> Any:
            refusal = access.refusal(request.path, request.headers)
            if refusal is not None:
                return connection.respond(*refusal)
            answer = process_request(connection, request)
            answer = await answer if inspect.isawaitable(answer) else answer
            if answer is not None:
                for name, text in access.headers(request.path).items():
                    answer.headers[name] = text
            return answer

        nonlocal is_used
        is_used = True
        own = {"create_connection": guard.connection_class(), "max_size": MAX_BYTES, "logger": _log}
        return serve(lambda each: guard.handle(each, handler), *arguments, process_request=check, **{**options, **own})

    module.serve = guarded_serve
    try:
        yield
    finally:
        module.serve = serve
    if not is_used:
        raise RuntimeError("this version of viser does not start its server as expected; install viser 1.1")


def _refuse(verbose: bool = True) -> None:
    """Do nothing, instead of viser's function to share a page."""


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Suppress what viser prints when it starts and stops."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _own_address(host: str) -> str:
    """Address of this machine in its network; its name if there is no network."""
    family, anywhere = (socket.AF_INET6, "2001:db8::1") if ":" in host else (socket.AF_INET, "192.0.2.1")
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((anywhere, 9))  # sends nothing
        return str(probe.getsockname()[0])
    return socket.gethostname()


def _free_port(host: str, port: int) -> int:
    """The first free port; viser itself would wait endlessly if ``host`` is not an address of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, min(port + PORTS_TRIED, 65536)):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            if os.name == "posix":  # a port that was just released is free
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, candidate))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                raise OSError(error.errno, f"cannot listen on {host}:{candidate}: {error.strerror}") from None
            return int(probe.getsockname()[1])
    raise OSError(f"ports {port} to {port + PORTS_TRIED - 1} of {host} are all in use")
