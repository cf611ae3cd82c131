"""Stored words with the words that people read, and the tables of what may follow on what. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class LabelledEnum(StrEnum):
    """Values as they are stored; `label` is what pages show."""

    label: str

    def __new__(cls, value: str, label: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        return member


def choices_of(kind: Iterable[LabelledEnum]) -> list[tuple[str, str]]:
    """Return the choices of a model's or a form's field."""
    return [(member.value, member.label) for member in kind]


@dataclass(frozen=True, slots=True)
class Transition:
    """One allowed change and what brings it about."""

    before: LabelledEnum
    after: LabelledEnum
    when: str


def is_allowed(transitions: Iterable[Transition], before: str, after: str) -> bool:
    """Return whether a table holds a change."""
    return any((row.before, row.after) == (before, after) for row in transitions)
