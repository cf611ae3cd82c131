"""The problems of one import, collected while its files are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from judging.specs.files.problems import Problem, Severity

SHOWN_CHARACTERS = 120
LISTED_PER_CODE = 200
MORE = "more-problems"


def shorten(text: object) -> str:
    """Return `text` on one line, cut to what fits in a table cell."""
    line = " ".join(str(text).split())
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "…"


def at_line(line: int, key_path: str = "") -> str:
    """Return the location of a finding: `line 12, grading.keywords[0]`."""
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

    At most `LISTED_PER_CODE` of each code are listed; the rest is only counted, since a file with a million bad rows
    needs no million lines of report. `file` is the one that `error` and `warning` speak of.
    """

    file: str = ""
    listed: list[Problem] = field(default_factory=list)
    counts: Counter[tuple[Severity, str]] = field(default_factory=Counter)
    has_errors: bool = False

    def add(self, rule: Rule, file: str, location: str, message: str, offending: object = "") -> None:
        """Note one problem."""
        if self._count(rule.severity, rule.code):
            shown = shorten(offending)
            self.listed.append(Problem(rule.severity, file, location, message, shown, rule.hint, rule.code))

    def error(self, location: str, code: str, message: str, *, offending: object = "", hint: str = "") -> None:
        """Note what prevents the import."""
        self.add(Rule(code, Severity.ERROR, hint), self.file, location, message, offending)

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
        return (*self.listed, *hidden)
