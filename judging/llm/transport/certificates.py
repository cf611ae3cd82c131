"""Certificates of authorities that an endpoint's own network uses, as PEM text."""

from __future__ import annotations

import ssl

MOST_PEM = 200_000  # characters
BEGIN = "-----BEGIN CERTIFICATE-----"


def is_pem(verify: object) -> bool:
    """Whether certificates are given as text, not as the name of a file."""
    return isinstance(verify, str) and BEGIN in verify


def certificates_refusal(pem: str) -> str:
    """Return why a text cannot be trusted as certificates; empty where it can."""
    if "PRIVATE KEY" in pem:
        return "Remove the private key: only certificates are stored."
    if len(pem) > MOST_PEM:
        return f"The certificates can have at most {MOST_PEM:,} characters."
    if BEGIN not in pem:
        return f"Enter certificates in PEM, each starting with {BEGIN}."
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError):
        return "These certificates cannot be read. Paste each whole, with its first and last line."
    return ""
