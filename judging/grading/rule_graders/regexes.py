"""Regular expressions of a suite's author, searched as Python's `re` would, under a time limit.

`re` cannot be stopped, so `re` only checks the pattern and the `regex` library searches. Constructs that mean something
else to `regex` (fuzzy braces, POSIX classes) are escaped first. A search that exceeds its time is not decided: callers
must report it as such and never take it for a miss.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

from judging.grading.grades import BadSpecification, NotDecided

LONGEST_PATTERN = 5_000  # characters
_QUANTIFIER = re.compile(r"\{(?:\d+(?:,\d*)?|,\d*)\}")


class Matcher:
    """Searches on behalf of one response; gives up after `timeouts_allowed` searches have run out of time."""

    def __init__(self, *, timeout_seconds: float = 0.25, timeouts_allowed: int = 4) -> None:
        self._timeout_seconds = timeout_seconds
        self._timeouts_left = timeouts_allowed

    def search(self, pattern: str, text: str) -> tuple[int, int] | None:
        """Return start and end of the first match of `pattern` anywhere in `text`, None where there is none.

        Raises:
            NotDecided: out of time or over a limit.
            BadSpecification: `re` rejects the pattern.
        """
        return self._match(pattern, text, "search")

    def fullmatch(self, pattern: str, text: str) -> tuple[int, int] | None:
        """Return start and end if `pattern` matches the whole of `text`. Raises as `search` does."""
        return self._match(pattern, text, "fullmatch")

    def _match(self, pattern: str, text: str, method: str) -> tuple[int, int] | None:
        compiled = compile_pattern(pattern)
        if self._timeouts_left <= 0:
            raise NotDecided("limit.regex", f"{shorten(pattern)} was not tried: too many searches ran out of time.")
        try:
            match = getattr(compiled, method)(text, timeout=self._timeout_seconds)
        except TimeoutError as error:
            self._timeouts_left -= 1
            raise NotDecided(
                "limit.regex", f"{shorten(pattern)} took longer than {self._timeout_seconds} s on this response."
            ) from error
        except (MemoryError, RecursionError) as error:
            raise NotDecided("limit.regex", f"{shorten(pattern)} needs too much memory.") from error
        return None if match is None else (match.start(), match.end())


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Any:
    """Return `pattern` compiled by the `regex` library to mean what it means to `re`.

    Raises:
        BadSpecification: `re` rejects it.
        NotDecided: it is longer than `LONGEST_PATTERN`, or only `re` can compile it.
    """
    import regex  # loaded with the first pattern: commands that search nothing do not wait for it

    if len(pattern) > LONGEST_PATTERN:
        raise NotDecided(
            "limit.regex", f"A pattern of {len(pattern)} characters is too long; {LONGEST_PATTERN} at most."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            checked = re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            kind = "error" if isinstance(error, re.error) else type(error).__name__
            raise BadSpecification(kind, f"{shorten(pattern)} is not a regular expression: {error}.") from error
        try:
            return regex.compile(pattern if checked.flags & re.VERBOSE else escape_extensions(pattern))
        except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
            raise NotDecided(
                "limit.regex", f"{shorten(pattern)} cannot be searched under a time limit: {error}."
            ) from error


def escape_extensions(pattern: str) -> str:
    """Return `pattern` with what only `regex` would interpret made literal: `{e<=1}`, and `[` inside a class."""
    pieces: list[str] = []
    position, inside = 0, False
    while position < len(pattern):
        width, piece = _next_piece(pattern, position, inside=inside)
        if inside:
            inside = piece != "]"
        elif piece[0] == "[":
            inside = True
        pieces.append(piece)
        position += width
    return "".join(pieces)


def _next_piece(pattern: str, position: int, *, inside: bool) -> tuple[int, str]:
    """Return how many characters to read at `position`, and what to write for them."""
    character = pattern[position]
    if character == "\\":
        if pattern.startswith("\\N{", position):
            end = pattern.find("}", position) + 1
            return end - position, pattern[position:end]
        return 2, pattern[position : position + 2]
    if character == "[":
        if inside:
            return 1, "\\["
        opening = re.compile(r"\[\^?\]?").match(pattern, position)
        text = opening.group() if opening else character
        return len(text), text
    if character == "{" and not inside:
        quantifier = _QUANTIFIER.match(pattern, position)
        return (len(quantifier.group()), quantifier.group()) if quantifier else (1, "\\{")
    return 1, character


def shorten(text: str, limit: int = 80) -> str:
    """Return `text` quoted, cut to `limit` characters."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
