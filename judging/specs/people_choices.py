"""Whom a run or a set of debates asks when it ends, what that takes, and who has agreed to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalsite.base.formats import duration
from evalsite.base.types import LabelledEnum, Refused

DAY_SECONDS = 8 * 3600  # of work; what takes longer is agreed to by its number
ASSUMED_SECONDS = 60.0  # per annotation, where nobody has annotated anything like it

HOW_TO_AGREE = "Agree to it beside the estimate (commands and the API: agreed), or ask for less."


class AskedPeople(LabelledEnum):
    """What is sent to review when a run or a set of debates ends."""

    NOBODY = "nobody", "Nobody"
    AUDIT = "audit", "Audit only"
    OPEN = "open", "Audit and open results"

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> AskedPeople:
        """Return the choice that options hold; those of an older run may hold none."""
        if options.get("asks_people") is False:
            return cls.NOBODY
        return cls.AUDIT if options.get("asks_open") is False else cls.OPEN

    def to_json(self) -> dict[str, bool]:
        """Return what options hold of the choice."""
        return {"asks_people": self is not AskedPeople.NOBODY, "asks_open": self is AskedPeople.OPEN}


class PeopleNotAsked(Refused):
    """More than a day of people's work that nobody has agreed to; the message is shown on the page."""

    def __init__(self, work: AskedWork, how: str) -> None:
        super().__init__(
            f"This asks people for {work.numbers}: more than a day of work ({duration(DAY_SECONDS)}). {how}"
        )
        self.work = work


@dataclass(frozen=True, slots=True)
class Pace:
    """How long one annotation takes."""

    seconds: float = ASSUMED_SECONDS
    basis: str = ""  # what it is the median of, in words; "": assumed

    @property
    def words(self) -> str:
        """Say how long one takes and how that is known."""
        each = duration(self.seconds)
        return f"{each} per annotation, {self.basis or 'assumed: nothing like it has been annotated here'}"


@dataclass(frozen=True, slots=True)
class AskedWork:
    """Annotations that people are asked for, and the time that they take."""

    most: int  # annotations in the worst case
    expected: int | None = None  # None: nothing is known that an expectation could rest on
    basis: str = ""  # what the expected number rests on, in words
    pace: Pace = Pace()

    @property
    def seconds(self) -> float:
        """Of people's time: expected where that is known, else in the worst case."""
        return (self.most if self.expected is None else self.expected) * self.pace.seconds

    @property
    def most_seconds(self) -> float:
        """Of people's time in the worst case."""
        return self.most * self.pace.seconds

    @property
    def is_long(self) -> bool:
        """Whether it is more than a day of work."""
        return self.seconds > DAY_SECONDS

    @property
    def numbers(self) -> str:
        """Say how many annotations they are and what time they take."""
        noun = "annotation" if self.most == 1 else "annotations"
        text = f"at most {self.most:,} {noun} ({duration(self.most_seconds)} at {self.pace.words})"
        if self.expected is None or self.expected == self.most:
            return text
        return f"{text}; {self.expected:,} expected ({duration(self.seconds)}), {self.basis}"

    def check_agreed(self, agreed: int | None, *, how: str) -> None:
        """Pass unless it is more than a day of work and nobody has agreed to so many annotations.

        Raises:
            PeopleNotAsked: says what it takes, and `how` to agree.
        """
        if self.is_long and (agreed is None or agreed < self.most):
            raise PeopleNotAsked(self, how)
