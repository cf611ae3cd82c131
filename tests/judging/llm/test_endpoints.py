from __future__ import annotations

import pytest

from judging.llm.endpoints import (
    AddressPolicy,
    Capabilities,
    EndpointConfig,
    EndpointRefused,
    address_refusal,
    check_base_url,
)

PUBLIC, PRIVATE, LOOPBACK = AddressPolicy(), AddressPolicy(allow_private=True), AddressPolicy(allow_loopback=True)


def test_endpoint_never_shows_its_key() -> None:
    endpoint = EndpointConfig("judge", "https://api.example.org/v1", "m", api_key="sk-secret")

    assert "sk-secret" not in repr(endpoint)


@pytest.mark.parametrize(
    ("endpoint", "seconds"),
    [
        (EndpointConfig("a"), 180.0),
        (EndpointConfig("a", reasoning=True), 600.0),
        (EndpointConfig("a", reasoning=True, read_timeout=30.0), 30.0),
    ],
)
def test_read_seconds_are_longer_for_reasoning_models(endpoint: EndpointConfig, seconds: float) -> None:
    assert endpoint.read_seconds == seconds


# address -> allowed by (the default, allow_private, allow_loopback)
ADDRESSES = {
    "93.184.216.34": (True, True, True),
    "2606:2800:220:1::1": (True, True, True),
    "10.1.2.3": (False, True, False),
    "192.168.0.1": (False, True, False),
    "172.16.0.1": (False, True, False),
    "100.64.0.1": (False, True, False),  # shared address space, RFC 6598
    "169.254.169.254": (False, True, False),  # link-local: where clouds keep their credentials
    "fe80::1%eth0": (False, True, False),
    "fd00::1": (False, True, False),
    "127.0.0.1": (False, False, True),
    "127.8.9.1": (False, False, True),
    "::1": (False, False, True),
    "::ffff:127.0.0.1": (False, False, True),
    "::ffff:10.0.0.1": (False, True, False),
    "0.0.0.0": (False, False, False),
    "::": (False, False, False),
    "224.0.0.1": (False, False, False),
}


@pytest.mark.parametrize(("address", "allowed"), ADDRESSES.items())
def test_address_refusal_follows_the_policy(address: str, allowed: tuple[bool, bool, bool]) -> None:
    answers = tuple(address_refusal(address, policy) == "" for policy in (PUBLIC, PRIVATE, LOOPBACK))

    assert answers == allowed


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("api.example.org/v1", "whole address"),
        ("ftp://api.example.org/v1", "whole address"),
        ("file:///etc/passwd", "whole address"),
        ("https://", "whole address"),
        ("https://user:pass@api.example.org/v1", "user name and password"),
        ("https://api.example.org/v1?key=1", r"after \? or #"),
        ("https://api.example.org/v1#x", r"after \? or #"),
        ("https://api.example.org:99999/v1", "not a valid address"),
        ("https://api.example org/v1", "not a valid address"),
        ("https://[::1/v1", "not a valid address"),
        ("http://127.0.0.1:8000/v1", "this machine itself"),
        ("http://localhost:8000/v1", "this machine itself"),
        ("http://[::1]:8000/v1", "this machine itself"),
        ("http://169.254.169.254/latest", "private network"),
    ],
)
def test_check_base_url_says_what_is_wrong(url: str, message: str) -> None:
    with pytest.raises(EndpointRefused, match=message):
        check_base_url(url, PUBLIC)


def test_check_base_url_returns_the_plain_address() -> None:
    urls = [
        check_base_url(" https://api.example.org/v1/ ", PUBLIC),
        check_base_url("http://localhost:8000/v1", LOOPBACK),
        check_base_url("http://10.0.0.5:8000/v1", PRIVATE),
    ]

    assert urls == ["https://api.example.org/v1", "http://localhost:8000/v1", "http://10.0.0.5:8000/v1"]


def test_learn_keeps_a_refusal_for_good() -> None:
    known = Capabilities(seed=True).learn(accepted=frozenset({"temperature"}), refused=frozenset({"seed"}))

    assert known == Capabilities(seed=False, temperature=True)
    assert known.learn(accepted=frozenset({"seed"})) == known
