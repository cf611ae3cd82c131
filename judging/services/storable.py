"""Makes values storable in every database: what PostgreSQL refuses would lose a whole batch for one odd reply."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u(?:0000|d[89a-f])")  # as json.dumps writes them
REPLACEMENT = "\ufffd"


def storable(value: object) -> Any:
    """Return a JSON-like value with NUL and lone surrogates replaced by U+FFFD and NaN or infinities by None.

    Models can escape such characters in their JSON, and programs under test can print them.
    """
    if isinstance(value, str):
        return _UNSTORABLE.sub(REPLACEMENT, value)
    return value if _is_storable(value) else _replaced(value)


def _is_storable(value: object) -> bool:
    """Return whether nothing needs replacing; False where that takes a closer look."""
    try:
        return not _ESCAPED.search(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):  # no plain data, or a number that JSON does not know
        return False


def _replaced(value: object) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub(REPLACEMENT, value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_replaced(str(key)): _replaced(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(item) for item in value]
    return value
