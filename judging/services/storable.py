"""Makes values fit for every database: what PostgreSQL refuses would lose a whole batch for one odd reply."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def storable(value: Any) -> Any:
    """Return a JSON-like value with NUL and lone surrogates replaced by U+FFFD and NaN or infinities by None.

    Models can escape such characters in their JSON, and programs under test can print them.
    """
    if isinstance(value, str):
        return _UNSTORABLE.sub(REPLACEMENT, value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {storable(str(key)): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    return value
