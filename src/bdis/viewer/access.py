"""Refuses requests from other web pages: they must not see the images of a patient through the user's browser."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from ..common.optional import require

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def is_foreign(headers: Mapping[str, str], host: str) -> bool:
    """Whether a request was made by a web page of another server.

    Any web page can make a browser send requests to a server on the user's own machine, even under a domain name of
    its own that resolves to that machine.  Browsers report which page makes a request (``Origin``) and under which name
    it addresses the server (``Host``).

    Parameters
    ----------
    headers : mapping of str to str
        Headers of the request.
    host : str
        Address that the server listens on.

    Returns
    -------
    bool
        True if the request must be refused.

    Examples
    --------
    >>> is_foreign({"Host": "localhost:8080", "Origin": "http://localhost:8080"}, "127.0.0.1")
    False
    >>> is_foreign({"Host": "localhost:8080", "Origin": "https://example.org"}, "127.0.0.1")
    True
    >>> is_foreign({"Host": "trap.example.org:8080"}, "127.0.0.1")
    True
    """
    addressed, origin = headers.get("Host", ""), headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != addressed:
        return True
    return host in LOOPBACK and urlsplit(f"//{addressed}").hostname not in LOOPBACK


@contextlib.contextmanager
def refusing_foreign_pages(host: str) -> Iterator[None]:
    """Make a viser server that is started in this context refuse foreign requests; viser has no option for it.

    Parameters
    ----------
    host : str
        Address that the server listens on.
    """
    server = require("websockets.asyncio.server", "the viewer")
    serve = server.serve

    def serve_with_check(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        async def check(connection: Any, request: Any) -> Any:
            if is_foreign(request.headers, host):
                return connection.respond(403, "Requests from other web pages are refused.\n")
            answer = None if process_request is None else process_request(connection, request)
            return await answer if inspect.isawaitable(answer) else answer

        return serve(*arguments, process_request=check, **options)

    server.serve = serve_with_check
    try:
        yield
    finally:
        server.serve = serve
