"""Collects the problems of one import while it is being read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from judging.specs.problems import Problem, Severity

SHOWN_CHARACTERS = 120


def shorten(text: object) -> str:
    """Return `text` on one line, cut to what fits in a table cell."""
    line = " ".join(str(text).split())
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "…"


def at_line(line: int, key_path: str = "") -> str:
    """Return the place of a finding: `line 12, grading.keywords[0]`."""
    return f"line {line}, {key_path}" if key_path else f"line {line}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing the importers check: its stable code, how bad it is, and what to write instead."""

    code: str
    severity: Severity
    hint: str = ""


def error_rule(code: str, hint: str = "") -> Rule:
    return Rule(code, Severity.ERROR, hint)


def warning_rule(code: str, hint: str = "") -> Rule:
    return Rule(code, Severity.WARNING, hint)


@dataclass(slots=True)
class Findings:
    """The problems found so far in one import, in the order they were met.

    At most `limit` errors and as many warnings are listed; the rest is only counted, since a file with a million bad
    rows needs no million lines of report.
    """

    listed: list[Problem] = field(default_factory=list)
    counts: Counter[Severity] = field(default_factory=Counter)
    limit: int = 1000

    def add(self, rule: Rule, file: str, place: str, message: str, offending: object = "") -> None:
        """Note one problem."""
        if self._count(rule.severity):
            shown = shorten(offending)
            self.listed.append(Problem(rule.severity, file, place, message, shown, rule.hint, rule.code))

    def extend(self, problems: tuple[Problem, ...]) -> None:
        """Take over the problems of a part."""
        self.listed.extend(problem for problem in problems if self._count(problem.severity))

    def _count(self, severity: Severity) -> bool:
        self.counts[severity] += 1
        return self.counts[severity] <= self.limit

    @property
    def has_errors(self) -> bool:
        return self.counts[Severity.ERROR] > 0

    def as_tuple(self) -> tuple[Problem, ...]:
        """Return the listed problems, and one more for each severity of which some are not listed."""
        hidden = [
            Problem(severity, "", "", f"{count - self.limit:,} more are not listed.", code="more-problems")
            for severity, count in self.counts.items()
            if count > self.limit
        ]
        return (*self.listed, *hidden)
