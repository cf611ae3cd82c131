"""HTTP connections: shared pools, no redirects, no retries, no cookies, nothing from the environment.

Each new connection checks the address it really reached before a byte is sent, so a host name that resolves to a
private address, or starts to, is caught. Through a proxy the address is checked before, and the proxy connects to it.
"""

from __future__ import annotations

import socket
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NameResolutionError

from judging.llm.endpoints import AddressPolicy, EndpointRefused, address_refusal
from judging.llm.transport.certificates import is_pem
from judging.llm.transport.tunnels import Proxy, public_address

MOST_ADDRESSES = 256  # whose connections are kept
# A reasoning model may be silent for ten minutes; routers and NAT forget a connection that is silent for less.
KEEP_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), seconds)
        for name, seconds in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 30), ("TCP_KEEPCNT", 4))
        if hasattr(socket, name)  # not on every system
    ),
]


def check_peer(connection: socket.socket, policy: AddressPolicy) -> socket.socket:
    """Return the socket, or close it and raise.

    Raises:
        EndpointRefused: it is connected to an address that the policy forbids.
    """
    refusal = address_refusal(connection.getpeername()[0], policy)
    if refusal:
        connection.close()
        raise EndpointRefused(refusal)
    return connection


def connect_through(proxy: Proxy | None, connection: HTTPConnection, policy: AddressPolicy) -> socket.socket | None:
    """Return a socket to the connection's host through the proxy; None where it is to be reached without one.

    Hosts that are not public are reached directly: a proxy would look for them in its own network.

    Raises:
        EndpointRefused: the policy forbids one of the host's addresses.
        NameResolutionError: the host has none.
        ProxyError: the proxy cannot be reached, or refuses.
    """
    if proxy is None:
        return None
    try:
        address = public_address(connection.host, connection.port, policy)
    except socket.gaierror as trouble:
        raise NameResolutionError(connection.host, connection, trouble) from trouble
    if address is None:
        return None
    timeout = connection.timeout if isinstance(connection.timeout, float | int) else None
    return proxy.connect(address, connection.port, timeout=timeout, options=connection.socket_options)


class GuardedAdapter(HTTPAdapter):
    """An adapter whose pools check every new connection.

    It remembers for each address which pool and path belong to
    it: looking those up afresh costs a third of a call.
    """

    def __init__(self, *, policy: AddressPolicy, connections: int, proxy: Proxy | None = None) -> None:
        self._known: dict[tuple[str, Any], HTTPConnectionPool] = {}  # by address and certificates
        self._paths: dict[str, str] = {}

        class GuardedHTTPConnection(HTTPConnection):
            def _new_conn(self) -> socket.socket:
                return connect_through(proxy, self, policy) or check_peer(super()._new_conn(), policy)

        class GuardedHTTPSConnection(HTTPSConnection):
            def _new_conn(self) -> socket.socket:
                return connect_through(proxy, self, policy) or check_peer(super()._new_conn(), policy)

        class GuardedHTTPPool(HTTPConnectionPool):
            ConnectionCls = GuardedHTTPConnection

        class GuardedHTTPSPool(HTTPSConnectionPool):
            ConnectionCls = GuardedHTTPSConnection

        self._pools = {"http": GuardedHTTPPool, "https": GuardedHTTPSPool}
        super().__init__(pool_connections=MOST_ADDRESSES, pool_maxsize=connections, max_retries=0, pool_block=True)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool_kwargs: Any) -> None:
        options = [*HTTPConnection.default_socket_options, *KEEP_ALIVE]
        self.poolmanager = PoolManager(
            num_pools=connections, maxsize=maxsize, block=block, socket_options=options, **pool_kwargs
        )
        self.poolmanager.pool_classes_by_scheme = self._pools

    def get_connection_with_tls_context(
        self, request: requests.PreparedRequest, verify: Any, proxies: Any = None, cert: Any = None
    ) -> HTTPConnectionPool:
        """Return the pool of the request's address; its certificates are set the first time."""
        url = str(request.url)
        if (url, verify) not in self._known:
            if len(self._known) >= MOST_ADDRESSES:  # those kept are then the pools that were used last
                self._known.clear()
                self._paths.clear()
            if is_pem(verify):
                options = {"cert_reqs": "CERT_REQUIRED", "ca_cert_data": verify}
                pool = self.poolmanager.connection_from_url(url, pool_kwargs=options)
            else:
                pool = super().get_connection_with_tls_context(request, verify, proxies, cert)
                super().cert_verify(pool, url, verify, cert)  # type: ignore[no-untyped-call]
            self._known[url, verify] = pool
            self._paths[url] = super().request_url(request, proxies)
        return self._known[url, verify]

    def cert_verify(self, conn: object, url: object, verify: object, cert: object) -> None:
        """Nothing is left to do for a pool that has been looked up."""

    def request_url(self, request: requests.PreparedRequest, proxies: Any) -> str:
        """Return the path that was looked up with the pool."""
        path = self._paths.get(str(request.url))
        return path if path is not None else super().request_url(request, proxies)

    def build_response(self, req: requests.PreparedRequest, resp: BaseHTTPResponse) -> requests.Response:
        """Return the response bare: no cookies are kept, and headers and body are read from `raw`."""
        response = requests.Response()
        response.status_code, response.raw, response.request = resp.status, resp, req
        return response
