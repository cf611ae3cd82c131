"""The problems of one import, collected while its files are read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class Severity(StrEnum):
    """`error`: nothing is stored. `warning`: stored, but probably not what the author meant."""

    ERROR = "error"
    WARNING = "warning"


# Each of them is whole: what to say with --map ("response=Column"), or options of their own ("--encoding=gbk").
Answers = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding in an imported file."""

    severity: Severity
    file: str
    place: str  # "line 12", "Sheet1!C14", "cases[3].grading.keywords[0]"; empty for the file as a whole
    message: str  # what is wrong, a whole sentence
    offending: str = ""  # the text at fault, shortened
    hint: str = ""  # what to write instead, and which option of the command says what is asked
    code: str = ""  # stable short name of the rule, e.g. "nested-weight-ignored"
    page_hint: str = ""  # the same for the page, where it differs: which field says it
    columns: tuple[str, ...] = ()  # of which it asks what they are
    answers: Answers = ()  # to what it asks

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


SHOWN_CHARACTERS = 120
LISTED_PER_CODE = 200
LISTED_ALIKE = 3  # errors of rows that say the same of different ids and numbers; more are one
MORE = "more-problems"
_VARYING = re.compile(r"\d+|'[^']*'|\"[^\"]*\"")


def shorten(text: object) -> str:
    """Return `text` on one line, cut to what fits in a table cell."""
    line = " ".join(str(text).split())
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "…"


def at_line(line: int, key_path: str = "") -> str:
    """Return the location of a finding: `line 12, grading.keywords[0]`."""
    return f"line {line}, {key_path}" if key_path else f"line {line}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing the importers check: its stable code, how bad it is, and what to write or say instead."""

    code: str
    severity: Severity
    hint: str = ""
    page_hint: str = ""  # where the command has an option, and the page a field
    is_of_rows: bool = False  # it may be so in each row of a file: then it is said once, with the first rows
    answers: Answers = ()


def error_rule(code: str, hint: str = "", page_hint: str = "", *, is_of_rows: bool = False) -> Rule:
    return Rule(code, Severity.ERROR, hint, page_hint, is_of_rows)


def warning_rule(code: str, hint: str = "") -> Rule:
    return Rule(code, Severity.WARNING, hint)


@dataclass(slots=True)
class Findings:
    """The problems found so far in one import, in the order they were met.

    At most `LISTED_PER_CODE` of each code are listed; the rest is only counted, since a file with a million bad rows
    needs no million lines of report. `file` is the one that `error` and `warning` speak of.
    """

    file: str = ""
    listed: list[Problem] = field(default_factory=list)
    counts: Counter[tuple[Severity, str]] = field(default_factory=Counter)
    has_errors: bool = False
    of_rows: set[str] = field(default_factory=set)  # codes that may be found in each row

    def add(self, rule: Rule, file: str, location: str, message: str, offending: object = "") -> None:
        """Note one problem."""
        if rule.is_of_rows:
            self.of_rows.add(rule.code)
        if self._count(rule.severity, rule.code):
            problem = Problem(rule.severity, file, location, message, shorten(offending), rule.hint, rule.code)
            self.listed.append(replace(problem, page_hint=rule.page_hint, answers=rule.answers))

    def error(
        self, location: str, code: str, message: str, *, offending: object = "", hint: str = "", page_hint: str = ""
    ) -> None:
        """Note what prevents the import."""
        self.add(Rule(code, Severity.ERROR, hint, page_hint), self.file, location, message, offending)

    def warning(self, location: str, code: str, message: str, *, offending: object = "", hint: str = "") -> None:
        """Note what the author should look at."""
        self.add(Rule(code, Severity.WARNING, hint), self.file, location, message, offending)

    def extend(self, problems: Iterable[Problem]) -> None:
        """Take over the problems of a part."""
        self.listed.extend(problem for problem in problems if self._count(problem.severity, problem.code))

    def _count(self, severity: Severity, code: str) -> bool:
        self.counts[severity, code] += 1
        self.has_errors = self.has_errors or severity is Severity.ERROR
        return self.counts[severity, code] <= LISTED_PER_CODE

    def as_tuple(self) -> tuple[Problem, ...]:
        """Return the listed problems, and one more for each code of which some are not listed."""
        hidden = [
            Problem(severity, self.file, "", f"{count - LISTED_PER_CODE:,} more of {code!r} are not listed.", code=MORE)
            for (severity, code), count in sorted(self.counts.items())
            if count > LISTED_PER_CODE
        ]
        return (*_alike_as_one(self.listed, lambda problem: problem.code in self.of_rows), *hidden)


def said_once(problems: Iterable[Problem]) -> list[Problem]:
    """Return the first problems of rows; many that say the same are one, with their number and first rows."""
    return _alike_as_one(problems, lambda _: True)[:LISTED_PER_CODE]


def _alike_as_one(problems: Iterable[Problem], is_of_row: Callable[[Problem], bool]) -> list[Problem]:
    groups: dict[tuple[str, str, object], list[Problem]] = {}
    for number, problem in enumerate(problems):
        kind = _VARYING.sub("", problem.message) if is_of_row(problem) else number
        groups.setdefault((problem.file, problem.code, kind), []).append(problem)
    said: list[Problem] = []
    for alike in groups.values():
        if len(alike) <= LISTED_ALIKE:
            said.extend(alike)
        else:
            places = ", ".join(problem.place for problem in alike[:LISTED_ALIKE])
            message = f"{alike[0].message} It is so in {len(alike):,} rows (first: {places})."
            said.append(replace(alike[0], message=message))
    return said


INVISIBLE = warning_rule("invisible-character", "Type the id again to remove it.")
_UNSEEN = dict.fromkeys((0x00AD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF))


def visible_key(text: str, findings: Findings, file: str, location: str) -> str:
    """Return an id without white space around it and without invisible characters, which are warned of."""
    key = text.strip() if text.isascii() else text.translate(_UNSEEN).strip()
    if key != text.strip():
        codes = ", ".join(sorted({f"U+{ord(letter):04X}" for letter in text if ord(letter) in _UNSEEN}))
        message = f"The id {key!r} contains an invisible character ({codes}); it was removed."
        findings.add(INVISIBLE, file, location, message, key)
    return key
