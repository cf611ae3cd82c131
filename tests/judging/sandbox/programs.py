"""Programs for the sandbox, as short as a test writes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SandboxProgram:
    """A whole program: prelude, answer and test, already put together."""

    language: str
    source: str
    timeout_seconds: float | None = None  # None: the language's own
    test_text: str = ""  # what closes `source` and is not of the response
