"""Codes of six digits that change every half minute: RFC 6238 on RFC 4226, with SHA-1 as every app has it."""

from __future__ import annotations

import base64
import hmac
import secrets
from urllib.parse import quote, urlencode

SECRET_BYTES = 20
STEP_SECONDS = 30
DIGITS = 6
DRIFT = 1  # steps that a clock may be off, to either side


def new_secret() -> bytes:
    """Return a secret that nobody has."""
    return secrets.token_bytes(SECRET_BYTES)


def code_at(secret: bytes, step: int) -> str:
    """Return the code of a step (half minutes since 1970)."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), "sha1")
    offset = digest[-1] & 15
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**DIGITS).zfill(DIGITS)


def matching_step(secret: bytes, code: str, *, seconds: float, after: int) -> int | None:
    """Return the step of a code that is valid now and later than the last one used; None for any other code."""
    now = int(seconds) // STEP_SECONDS
    steps = range(max(now - DRIFT, after + 1), now + DRIFT + 1)
    return next((step for step in steps if hmac.compare_digest(code_at(secret, step).encode(), code.encode())), None)


def secret_in_letters(secret: bytes) -> str:
    """Return the secret as people type it into an app."""
    return base64.b32encode(secret).decode().rstrip("=")


def app_address(secret: bytes, *, account: str, site: str) -> str:
    """Return what the picture says to an app."""
    values = {"secret": secret_in_letters(secret), "issuer": site, "digits": DIGITS, "period": STEP_SECONDS}
    return f"otpauth://totp/{quote(f'{site}:{account}')}?{urlencode(values, quote_via=quote)}"
