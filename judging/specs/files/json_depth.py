"""How deep a JSON text nests, counted before it is parsed.

The parser recurses, and how deep it may depends on how deep its caller already is: without a limit of our own the same
text would be read in one place and refused in another.
"""

from __future__ import annotations

import re

MAX_DEPTH = 200
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def nests_too_deep(text: str, *, limit: int = MAX_DEPTH) -> bool:
    """Return whether brackets outside strings nest deeper than `limit`."""
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        if bracket[0] in "[{":
            depth += 1
            if depth > limit:
                return True
        elif bracket[0] in "]}":
            depth -= 1
    return False


def opens_too_deep(text: str, *, limit: int = MAX_DEPTH) -> bool:
    """Return whether brackets nest deeper than `limit` anywhere in a text that need not be JSON, strings included."""
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = deepest = 0
    for letter in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if letter in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest > limit
