"""Who may open the page: images of a patient are for nobody else, whatever web pages the user visits meanwhile."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PARAMETER = "token"  # in the address of the page

Refusal = tuple[int, str]  # HTTP status and text


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on an address.

    Examples
    --------
    >>> is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("192.168.0.7")
    (True, True, False, False)
    """
    return host == "localhost" or (_is_number(host) and ipaddress.ip_address(host).is_loopback)


@dataclass(frozen=True)
class Access:
    """Decides which requests are answered.

    Any web page can make a browser send requests to a server on the user's own machine, even under a domain name of
    its own that resolves to that machine.  Browsers report which page makes a request (``Origin``) and under which name
    it addresses the server (``Host``).  A server that other machines can reach has a token besides: it is a part of the
    address of the page, and the page keeps it in a cookie for its further requests.

    Attributes
    ----------
    host : str
        Address that the server listens on.
    port : int
        Its port: the cookies of two servers on one machine must differ in name.
    names : tuple of str
        Further names under which the page may be addressed.
    token : str
        Empty if only this machine can reach the server.

    Examples
    --------
    >>> from websockets import Headers
    >>> here = Access("127.0.0.1", 8080)
    >>> here.refusal("/", Headers(Host="localhost:8080", Origin="http://localhost:8080"))
    >>> here.refusal("/", Headers(Host="localhost:8080", Origin="https://example.org"))[0]
    403
    >>> here.refusal("/", Headers(Host="trap.example.org:8080"))[0]
    403
    >>> everywhere = Access("0.0.0.0", 8080)
    >>> everywhere.refusal("/", Headers(Host="192.168.0.7:8080"))[0]
    401
    >>> everywhere.refusal(f"/?token={everywhere.token}", Headers(Host="192.168.0.7:8080"))
    """

    host: str
    port: int
    names: tuple[str, ...] = ()
    token: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "token", "" if is_loopback(self.host) else secrets.token_urlsafe(18))

    def url(self, host: str, port: int) -> str:
        """Address of the page under one of the names of this machine."""
        query = f"/?{_PARAMETER}={self.token}" if self.token else ""
        return f"http://{f'[{host}]' if ':' in host else host}:{port}{query}"

    def refusal(self, path: str, headers: Any) -> Refusal | None:
        """Why a request is refused; None if it may be answered.

        Parameters
        ----------
        path : str
            Path and query of the request.
        headers : websockets.Headers
            Headers of the request.

        Returns
        -------
        (int, str) or None
        """
        try:
            (addressed,) = headers.get_all("Host")
            name, query = urlsplit(f"//{addressed}").hostname or "", urlsplit(path).query
        except ValueError:  # no host, several, or one that is none
            return 400, "The request does not say whom it is for.\n"
        if any(_place_of(origin) != addressed for origin in headers.get_all("Origin")):
            return 403, "Requests from other web pages are refused.\n"
        if not self._is_own(name.removesuffix(".")):
            return 403, "This page is not known under this name; bdis view --name NAME makes it so.\n"
        parameters = dict(parse_qsl(query, keep_blank_values=True))
        if parameters.keys() - {_PARAMETER}:  # viser's page would connect to whatever server ?websocket= names
            return 403, f"The address may have no parameter but {_PARAMETER}.\n"
        if self.token and not any(map(self._is_token, [parameters.get(_PARAMETER, ""), *self._cookies(headers)])):
            return 401, "This page needs the whole address, with the token, that bdis view has printed.\n"
        return None

    def headers(self, path: str) -> dict[str, str]:
        """Headers of an answer: the token for further requests, and that no other page may embed this one."""
        found = {"Content-Security-Policy": "frame-ancestors 'none'", "Referrer-Policy": "no-referrer"}
        if self.token and _PARAMETER in dict(parse_qsl(urlsplit(path).query)):
            found["Set-Cookie"] = f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        return found

    def _is_own(self, name: str) -> bool:
        """Whether this machine may be addressed so.  No other web page has a number for its name."""
        is_reachable_number = not is_loopback(self.host) and _is_number(name)
        return name in {*LOOPBACK, self.host.lower(), *map(str.lower, self.names)} or is_reachable_number

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(errors="replace"), self.token.encode())

    @property
    def _cookie(self) -> str:
        return f"bdis-{self.port}"

    def _cookies(self, headers: Any) -> Iterator[str]:
        """Tokens in the cookies of a request."""
        for line in headers.get_all("Cookie"):
            for pair in line.split(";"):
                name, _, value = pair.strip().partition("=")
                if name == self._cookie:
                    yield value


def _place_of(url: str) -> str | None:
    """Host and port of an address; None if it has none.

    Examples
    --------
    >>> _place_of("http://localhost:8080"), _place_of("null"), _place_of("http://[")
    ('localhost:8080', '', None)
    """
    try:
        return urlsplit(url).netloc
    except ValueError:
        return None


def _is_number(host: str) -> bool:
    """Whether a host is given by its number and not by a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
