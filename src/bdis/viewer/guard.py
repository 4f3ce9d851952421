"""Who may see the page: what a browser shows of a patient is not for other pages that are open in it."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from ..common.optional import require

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def is_foreign(headers: Mapping[str, str], host: str) -> bool:
    """Does a request come from a page of elsewhere?

    A page may reach a server on its visitor's own machine, also under a name of its own that leads there; browsers say
    which page asks (Origin) and what it calls the server (Host).

    Parameters
    ----------
    headers : of the request
    host : address the server listens on

    Examples
    --------
    >>> is_foreign({"Host": "localhost:8080", "Origin": "http://localhost:8080"}, "127.0.0.1")
    False
    >>> is_foreign({"Host": "localhost:8080", "Origin": "https://example.org"}, "127.0.0.1")
    True
    >>> is_foreign({"Host": "trap.example.org:8080"}, "127.0.0.1")
    True
    """
    asked, origin = headers.get("Host", ""), headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != asked:
        return True
    return host in LOOPBACK and urlsplit(f"//{asked}").hostname not in LOOPBACK


@contextlib.contextmanager
def own_pages_only(host: str) -> Iterator[None]:
    """Let a server of viser's that is started meanwhile refuse pages of elsewhere; viser has no option for it."""
    server = require("websockets.asyncio.server", "the viewer")
    serve = server.serve

    def guarded(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        async def checked(connection: Any, request: Any) -> Any:
            if is_foreign(request.headers, host):
                return connection.respond(403, "This page belongs to another one.\n")
            answer = None if process_request is None else process_request(connection, request)
            return await answer if inspect.isawaitable(answer) else answer

        return serve(*arguments, process_request=checked, **options)

    server.serve = guarded
    try:
        yield
    finally:
        server.serve = serve
