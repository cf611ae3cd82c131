"""What a reader chose in the address of a report, frozen so that a snapshot can be found by it."""

from __future__ import annotations

import hashlib
import json

from evalsite.base.json_types import JsonObject

Options = JsonObject  # JSON values only


def fingerprint(options: Options) -> str:
    """Return 32 hex digits that equal options share, whatever the order of their keys."""
    text = json.dumps(dict(options), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def chosen(options: Options, name: str) -> str:
    """Return one option as text, empty where it was not chosen."""
    return str(options.get(name) or "")
