"""What every layer knows: data as JSON holds it, choices with the words people read, refusals, and numbers. Pure."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from json import JSONDecodeError, JSONDecoder, encoder
from typing import Any, Self

JsonObject = Mapping[str, Any]  # read only
JsonDict = dict[str, Any]
MOST_DIGITS = 19  # what a key of any table can hold


class ByName(dict[str, Any]):
    """Facts whose keys are names that people gave: they are printed as they are written, not as words."""


def json_writer(
    *,
    separators: tuple[str, str] = (", ", ": "),
    ensure_ascii: bool = True,
    sort_keys: bool = False,
    allow_nan: bool = True,
    default: Callable[[object], object] | None = None,
) -> Callable[[object], str]:
    """Return what writes values as JSON. It is made once, where `json.dumps` makes an encoder for each value, which
    takes longer than most values do."""
    plain = encoder.JSONEncoder(
        separators=separators, ensure_ascii=ensure_ascii, sort_keys=sort_keys, allow_nan=allow_nan, default=default
    )
    make: Any = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return plain.encode
    text: Any = getattr(encoder, "encode_basestring_ascii" if ensure_ascii else "encode_basestring")
    between, behind_key = separators
    write = make(None, plain.default, text, None, behind_key, between, sort_keys, False, allow_nan)
    return lambda value: "".join(write(value, 0))


json_text = json_writer(ensure_ascii=False)


class JsonDecoder(JSONDecoder):
    """Reads JSON that people send; what is nested too deeply to be read is none."""

    def decode(self, text: str, *arguments: Any) -> Any:
        """Return what it says. Raises: JSONDecodeError."""
        try:
            return super().decode(text, *arguments)
        except RecursionError:
            raise JSONDecodeError("It is nested too deeply", text, 0) from None


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


def in_one_line(name: str) -> str:
    """Return a name as pages show it: one space where there are several, and accents in one way of two."""
    return " ".join(unicodedata.normalize("NFC", name).split())


class Refused(ValueError):
    """What was asked cannot be done; the message says why, in the same words through every door.

    `field` names what was entered wrongly, where it is one field.
    """

    field = ""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


def as_text(value: object) -> str:
    """Return a value as text: texts as they are, numbers and booleans as JSON writes them, nothing for None and NaN."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return str(value) if type(value) is int else json_text(value)


def objects(value: object) -> list[JsonDict]:
    """Return the objects of a list; none where it is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def whole_number(text: str) -> int | None:
    """Return the number, a key of a row for example, that an address or a form holds; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < MOST_DIGITS else None
