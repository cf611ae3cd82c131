"""What is wrong with a file, written so that its author can correct it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class Severity(StrEnum):
    """`error`: nothing is stored. `warning`: stored, but probably not what the author meant."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding in an imported file."""

    severity: Severity
    file: str
    place: str  # "line 12", "Sheet1!C14", "cases[3].grading.keywords[0]"; empty for the file as a whole
    message: str  # what is wrong, a whole sentence
    offending: str = ""  # the text at fault, shortened
    hint: str = ""  # what to write instead
    code: str = ""  # stable short name of the rule, e.g. "nested-weight-ignored"

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.file, self.place) if part)
        return " ".join(part for part in (f"{where}:" if where else "", self.message, self.hint) if part)


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """The value read from a file, or None when an error prevents it, with everything worth saying."""

    value: T | None
    problems: tuple[Problem, ...] = field(default=())

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.WARNING)
