"""Starts the web server of the page: on a free port, for its own pages only, without output on the terminal."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import socket
from collections.abc import Iterator
from typing import Any

from ..common.optional import require
from .access import refusing_foreign_pages

PORTS_TRIED = 100


def start_server(host: str, port: int, label: str) -> tuple[Any, str]:
    """Start a viser server.

    Parameters
    ----------
    host : str
        Address to listen on.
    port : int
        The first free port from this one on is used; 0: any.
    label : str
        Title of the controls.

    Returns
    -------
    server : viser.ViserServer
        The server; end it with :func:`stop_server`.
    url : str
        Address of the page.

    Raises
    ------
    OSError
        The server cannot listen on ``host``, or all ports are in use.
    """
    viser = require("viser", "the viewer")
    port = _free_port(host, port)
    with _silence(), refusing_foreign_pages(host):
        server = viser.ViserServer(host, port, label=label, verbose=False)
    # A page could request this: it would make the page available through a server on the internet.
    server.request_share_url = _refuse
    shown = "127.0.0.1" if host == "0.0.0.0" else host
    return server, f"http://{f'[{shown}]' if ':' in shown else shown}:{server.get_port()}"


def stop_server(server: Any) -> None:
    """Stop a viser server."""
    with _silence():
        server.stop()


def _refuse(verbose: bool = True) -> None:
    """Do nothing, instead of viser's function to share a page."""


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Suppress what viser prints when it starts and stops."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


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
