"""Where live outputs listen: addresses, and what is said if one cannot be used."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from typing import NamedTuple


class Address(NamedTuple):
    """Where to listen.

    Attributes
    ----------
    host : str
        Name or number of an interface of this machine.
    port : int
        0: any that is free.
    """

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_shared(self) -> bool:
        """Whether other machines can connect.

        >>> Address("127.0.0.1", 1).is_shared, Address("localhost", 1).is_shared, Address("0.0.0.0", 1).is_shared
        (False, False, True)
        """
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host != "localhost"


def parse_address(text: str) -> Address:
    """Read ``[HOST:]PORT``; without a host it is that of this machine alone.

    Parameters
    ----------
    text : str
        Such as "18944", "0.0.0.0:18944" or "[::1]:18944".

    Returns
    -------
    Address

    Raises
    ------
    ValueError
        It has another form.

    Examples
    --------
    >>> parse_address("18944"), parse_address("[::1]:0")
    (Address(host='127.0.0.1', port=18944), Address(host='::1', port=0))
    """
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        port = ""
    if not (port.isascii() and port.isdigit() and int(port) < 65536) or (colon and not host):
        raise ValueError(f"{text!r} is not an address; expected PORT or HOST:PORT, such as 18944 or 0.0.0.0:18944")
    return Address(host or "127.0.0.1", int(port))


def listen(address: Address) -> socket.socket:
    """A socket that listens, and that does not block.

    Raises
    ------
    OSError
        The port is in use, or the host is no address of this machine.

    Examples
    --------
    >>> with listen(Address("127.0.0.1", 0)) as listening:
    ...     listening.getsockname()[0]
    '127.0.0.1'
    """
    try:
        family, *_, where = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise OSError(errno.EADDRNOTAVAIL, f"cannot listen on {address}: {address.host} is not known here") from None
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # a port that was just released is free
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setblocking(False)
        listening.bind(where)
        listening.listen()
    except OSError as error:
        listening.close()
        raise OSError(error.errno, f"cannot listen on {address}: {_reason(error)}") from None
    return listening


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the port is in use by another program; end that, or choose another port"
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine does not have that address; 127.0.0.1 is itself, 0.0.0.0 all that it has"
    if error.errno == errno.EACCES:
        return "only the administrator may use that port; choose one above 1023"
    return error.strerror or str(error)
