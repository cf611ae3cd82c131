"""Addresses of items that tell nothing: neither which came first nor which repeats another. Pure but for the secret.

A number goes through a Feistel network of four rounds keyed with the site's secret, so that an address belongs to one
item, is found without a table, and cannot be guessed from another.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

from django.conf import settings

HALF = 32  # bits
MASK = 2**HALF - 1
ROUNDS = 4
LENGTH = 13  # letters of base 32 that 64 bits take


def address_of(number: int) -> str:
    """Return the address of an item's number. Raises: ValueError for a number of more than 64 bits."""
    if not 0 <= number < 2 ** (2 * HALF):
        raise ValueError(f"{number} has no address")
    left, right = number >> HALF, number & MASK
    for round_number in range(ROUNDS):
        left, right = right, left ^ _mix(round_number, right)
    return base64.b32encode((left << HALF | right).to_bytes(8, "big")).decode().rstrip("=").lower()


def number_at(address: str) -> int:
    """Return the number behind an address. Raises: ValueError where none could be."""
    code = base64.b32decode(address.upper() + "===")
    left, right = int.from_bytes(code[:4], "big"), int.from_bytes(code[4:], "big")
    for round_number in reversed(range(ROUNDS)):
        left, right = right ^ _mix(round_number, left), left
    number = left << HALF | right
    if address_of(number) != address or number >= 2**63:
        raise ValueError(f"{address} is not an address")
    return number


def _mix(round_number: int, half: int) -> int:
    key = f"review item {round_number} {settings.SECRET_KEY}".encode()
    return int.from_bytes(hmac.digest(key, half.to_bytes(4, "big"), hashlib.sha256)[:4], "big")


class ItemConverter:
    """Turns the addresses in paths into items' numbers and back."""

    regex = f"[a-z2-7]{{{LENGTH}}}"

    def to_python(self, value: str) -> int:
        """Return the item's number."""
        return number_at(value)

    def to_url(self, value: int) -> str:
        """Return the item's address."""
        return address_of(int(value))
