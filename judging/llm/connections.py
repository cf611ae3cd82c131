"""The HTTP session: one shared pool, no redirects, no retries, no proxies or passwords from the environment.

Each new connection checks the address it really reached before a byte is sent, so a host name that resolves to a
private address, or starts to, is caught.
"""

from __future__ import annotations

import socket
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from judging.llm.endpoints import AddressPolicy, EndpointRefused, address_refusal


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


class GuardedAdapter(HTTPAdapter):
    """An adapter whose pools check every new connection."""

    def __init__(self, *, policy: AddressPolicy, connections: int) -> None:
        class GuardedHTTPConnection(HTTPConnection):
            def _new_conn(self) -> socket.socket:
                return check_peer(super()._new_conn(), policy)

        class GuardedHTTPSConnection(HTTPSConnection):
            def _new_conn(self) -> socket.socket:
                return check_peer(super()._new_conn(), policy)

        class GuardedHTTPPool(HTTPConnectionPool):
            ConnectionCls = GuardedHTTPConnection

        class GuardedHTTPSPool(HTTPSConnectionPool):
            ConnectionCls = GuardedHTTPSConnection

        self._pools = {"http": GuardedHTTPPool, "https": GuardedHTTPSPool}
        super().__init__(pool_connections=32, pool_maxsize=connections, max_retries=0, pool_block=True)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool_kwargs: Any) -> None:
        self.poolmanager = PoolManager(num_pools=connections, maxsize=maxsize, block=block, **pool_kwargs)
        self.poolmanager.pool_classes_by_scheme = self._pools


def open_session(*, policy: AddressPolicy, connections: int, ca_bundle: str = "") -> requests.Session:
    """Return a session for that many threads at once; `ca_bundle` names a file of certificates to trust instead."""
    session = requests.Session()
    session.trust_env = False
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    if ca_bundle:
        session.verify = ca_bundle
    adapter = GuardedAdapter(policy=policy, connections=connections)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    return session
