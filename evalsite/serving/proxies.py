"""The address of whoever asks, where a proxy of our own stands between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.http import HttpRequest, HttpResponse

Network = IPv4Network | IPv6Network
ADDRESS_IS_TOLD = "evalsite.address_is_told"  # in META: whether a named proxy told the client's address


class ProxyMiddleware:
    """Puts the client's address into REMOTE_ADDR when the request came through a proxy that the settings name.

    A header that anybody else sends is not believed: sign-in attempts are counted by this address.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        forwarded = request.headers.get("X-Forwarded-For", "").split(",")
        peer = str(request.META.get("REMOTE_ADDR", ""))
        address = client_address(peer, forwarded, settings.TRUSTED_PROXIES)
        request.META.update({"REMOTE_ADDR": address, ADDRESS_IS_TOLD: address != peer})
        return self.get_response(request)


def told_address(request: HttpRequest) -> str:
    """Return the address of who asks where a named proxy told it, so that it counts by itself; empty where all clients
    of a proxy may have one, and a limit of the address would be a limit of everybody.
    """
    return str(request.META["REMOTE_ADDR"]) if request.META.get(ADDRESS_IS_TOLD, False) else ""


def client_address(peer: str, forwarded: Sequence[str], proxies: Sequence[Network]) -> str:
    """Return the nearest address that is no proxy of ours, reading `forwarded` from its end.

    Each proxy adds the address that it saw behind those it was told; what stands before the first stranger was made up
    by the stranger or a proxy of theirs.
    """
    address = peer
    for forwarded_address in reversed([word.strip() for word in forwarded if word.strip()]):
        if not _is_ours(address, proxies):
            break
        try:
            address = str(ip_address(forwarded_address))
        except ValueError:
            break
    return address


def _is_ours(address: str, proxies: Sequence[Network]) -> bool:
    try:
        ip = ip_address(address)
    except ValueError:
        return not address and bool(proxies)  # a proxy at the other end of a socket file has no address
    return any(ip in proxy for proxy in proxies)


@register(Tags.security, deploy=True)
def check_proxies(app_configs: Any, **extra: Any) -> list[CheckMessage]:
    """Return a warning where a site with HTTPS names no proxy, so that all its clients seem to have one address."""
    if not settings.HTTPS or settings.TRUSTED_PROXIES:
        return []
    return [
        Warning(
            "No proxy is named: the audit log shows the address of the proxy for everybody, and failed sign-ins are "
            "not counted by address.",
            hint="Set EVALSITE_TRUSTED_PROXIES to the address of the proxy that terminates TLS, and let the proxy send "
            "X-Forwarded-For with the client's address.",
            id="serving.W001",
        )
    ]
