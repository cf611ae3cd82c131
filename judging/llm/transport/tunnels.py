"""Connections through a forward proxy that end only at addresses that may be called.

The name of the model's host is resolved and checked here, and the proxy is told the address that was checked, so it
cannot resolve the name to another one. Certificates are checked against the name as ever.
"""

from __future__ import annotations

import socket
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from urllib3.exceptions import ProxyError
from urllib3.util.connection import create_connection

from judging.llm.endpoints import AddressPolicy, EndpointRefused, address_refusal

PUBLIC_ONLY = AddressPolicy()
SocketOptions = list[tuple[int, int, int | bytes]]
MOST_HEAD = 16_384  # bytes of a proxy's answer


@dataclass(frozen=True, slots=True)
class Proxy:
    """A forward proxy that tunnels by CONNECT."""

    host: str
    port: int
    credentials: str = field(default="", repr=False)  # user:password
    policy: AddressPolicy | None = None  # which addresses it may have; None: any, for whoever runs the site set it

    def connect(
        self, address: str, port: int, *, timeout: float | None, options: SocketOptions | None
    ) -> socket.socket:
        """Return a connection to the address.

        Raises:
            ProxyError: the proxy cannot be reached, or refuses.
            EndpointRefused: the proxy has an address that the policy forbids.
        """
        try:
            connection = create_connection((self.host, self.port), timeout, socket_options=options)
        except OSError as trouble:
            raise ProxyError("The proxy cannot be reached.", trouble) from trouble
        refusal = address_refusal(connection.getpeername()[0], self.policy) if self.policy is not None else ""
        if refusal:
            connection.close()
            raise EndpointRefused(f"The proxy of the endpoint: {refusal}")
        try:
            connection.sendall(self._request(address, port))
            status = _status_of(connection)
        except OSError as trouble:
            connection.close()
            raise ProxyError("The proxy did not answer.", trouble) from trouble
        if status != 200:
            connection.close()
            raise ProxyError("The proxy refused.", OSError(f"HTTP {status}"))
        return connection

    def _request(self, address: str, port: int) -> bytes:
        target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if self.credentials:
            lines.append(f"Proxy-Authorization: Basic {b64encode(self.credentials.encode()).decode()}")
        return "\r\n".join([*lines, "", ""]).encode()


def proxy_of(url: str, policy: AddressPolicy | None = None) -> Proxy | None:
    """Return the proxy at http://[user:password@]host:port; None for an empty text."""
    if not url:
        return None
    parts = urlsplit(url)
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Proxy(parts.hostname or "", parts.port or 80, credentials, policy)


def public_address(host: str, port: int, policy: AddressPolicy) -> str | None:
    """Return the public address to reach a host at; None where one of its addresses is not public, but allowed.

    Raises:
        EndpointRefused: the policy forbids one of its addresses.
        OSError: the name has none.
    """
    addresses = [str(info[4][0]) for info in socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)]
    for address in addresses:
        refusal = address_refusal(address, policy)
        if refusal:
            raise EndpointRefused(refusal)
    if any(address_refusal(address, PUBLIC_ONLY) for address in addresses):
        return None
    return addresses[0]


def _status_of(connection: socket.socket) -> int:
    """Return the status of a proxy's answer, read to the end of its head: what follows is the model's."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte or len(head) >= MOST_HEAD:
            raise OSError("no HTTP answer")
        head += byte
    words = head.split(b"\r\n", 1)[0].split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        raise OSError("no HTTP answer")
    return int(words[1])
