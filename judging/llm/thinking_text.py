"""What a model wrote before its answer: thinking that servers without a parser leave in the text.

The tag that begins it is often part of the prompt's template, so that a reply holds only the one that ends it.
"""

from __future__ import annotations

import re

_STARTS = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_ENDS = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)


def after_thinking(text: str) -> str | None:
    """Return the text after the last end of thinking; None where thinking began again and never ended."""
    end = _last_end(text)
    return None if _STARTS.search(text, end) else text[end:].strip()


def without_thinking(text: str) -> str:
    """Return a text that may speak of such tags without the thinking it begins with; empty where that never ends."""
    end = _last_end(text)
    return "" if not end and _STARTS.match(text.lstrip()) else text[end:].strip()


def _last_end(text: str) -> int:
    end = 0
    for end_tag in _ENDS.finditer(text):
        end = end_tag.end()
    return end
