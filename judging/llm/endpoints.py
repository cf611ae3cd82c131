"""Where a model is reached, what it is known to accept, and which addresses may be called at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit


class EndpointKind(StrEnum):
    """`openai`: chat completions over HTTP. `lexical`: a baseline computed here, without a model."""

    OPENAI = "openai"
    LEXICAL = "lexical"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint takes: True seen to be accepted, False refused with a 400, None not tried yet."""

    json_schema: bool | None = None
    json_object: bool | None = None
    seed: bool | None = None
    temperature: bool | None = None
    top_p: bool | None = None
    logprobs: bool | None = None
    max_tokens: bool | None = None  # False: the endpoint wants `max_completion_tokens` instead

    def learn(self, *, accepted: frozenset[str] = frozenset(), refused: frozenset[str] = frozenset()) -> Capabilities:
        """Return these capabilities with what one answer taught; a refusal outweighs an earlier acceptance."""
        news: dict[str, bool] = {name: True for name in accepted if getattr(self, name) is None}
        news.update(dict.fromkeys(refused, False))
        return replace(self, **news)


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """One model behind one URL, ready to be called: the key is already resolved and never shown."""

    name: str
    base_url: str = ""  # up to and including /v1; empty for lexical endpoints
    model: str = ""
    kind: EndpointKind = EndpointKind.OPENAI
    api_key: str = field(default="", repr=False)
    reasoning: bool = False
    connect_timeout: float = 10.0  # seconds
    read_timeout: float | None = None  # seconds; None: 180, or 600 for a reasoning model
    max_concurrency: int = 50  # calls in flight over all workers
    capabilities: Capabilities = Capabilities()
    extra: Mapping[str, Any] = field(default_factory=dict)  # further request fields, e.g. reasoning_effort

    @property
    def read_seconds(self) -> float:
        if self.read_timeout is not None:
            return self.read_timeout
        return 600.0 if self.reasoning else 180.0

    @property
    def identity(self) -> tuple[str, str, str]:
        """What one rate limit applies to: URL, key, model."""
        return self.base_url.rstrip("/"), self.api_key, self.model


class EndpointRefused(Exception):
    """This address may not be called, or is not one. The message is for the person who entered it."""


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Which addresses besides public ones may be called. Multicast and unspecified ones never may."""

    allow_private: bool = False  # private, link-local, shared and reserved ranges
    allow_loopback: bool = False


def address_refusal(address: str, policy: AddressPolicy) -> str:
    """Return why this IP address may not be called; empty when it may.

    Raises:
        ValueError: not an IP address.
    """
    ip: IPv4Address | IPv6Address = ip_address(address.split("%")[0])
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if ip.is_multicast or ip.is_unspecified:
        return f"{ip} is not the address of a server."
    if ip.is_loopback:
        return "" if policy.allow_loopback else f"{ip} is this machine itself, which the site's settings forbid."
    if not ip.is_global and not policy.allow_private:
        return f"{ip} is in a private network, which the site's settings forbid."
    return ""


def check_base_url(url: str, policy: AddressPolicy) -> str:
    """Return the URL without its trailing slash.

    A host name is checked here only by spelling; what it resolves to is checked at each new connection, since it may
    change in between.

    Raises:
        EndpointRefused: not an http(s) URL, or with credentials, query or fragment, or an address the policy forbids.
    """
    parts = _split(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EndpointRefused("Write the whole address, starting with https:// or http://.")
    if parts.username is not None or parts.password is not None:
        raise EndpointRefused("Leave user name and password out of the address; name the key's variable instead.")
    if parts.query or parts.fragment:
        raise EndpointRefused("Leave out everything after ? or #.")
    refusal = _host_refusal(parts.hostname, policy)
    if refusal:
        raise EndpointRefused(refusal)
    return url.strip().rstrip("/")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        _ = parts.port  # reading it is what checks it
    except ValueError:
        raise EndpointRefused("This is not a valid address.") from None
    if any(character.isspace() for character in parts.netloc):
        raise EndpointRefused("This is not a valid address.")
    return parts


def _host_refusal(host: str, policy: AddressPolicy) -> str:
    if host == "localhost" or host.endswith(".localhost"):
        host = "127.0.0.1"
    try:
        return address_refusal(host, policy)
    except ValueError:
        return ""
