"""What says which of two responses is better: labels that name one, words, orders, and what a person said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from judging.specs.files.findings import Answers, Problem, Severity, shorten
from judging.specs.records.names import ANSWERS, Holds, compared
from judging.specs.records.neutral import Choice
from judging.specs.records.parts import Part
from judging.specs.records.values import as_id, as_number

_DEGREES = {">>": 2, ">": 1, "=": 0, "<": -1, "<<": -2}
_ORDER = re.compile(r"\[*\s*([AB])\s*(>>|>|=|<|<<)\s*([AB])\s*\]*")
DEBATE_LABELS: Mapping[str, Choice] = {  # of debates, whose labels name systems by number too
    "1": Choice.A,
    "2": Choice.B,
    "-1": Choice.B,
    "0": Choice.TIE,
    "=": Choice.TIE,
}
_TIE_OF_JUDGES = "[[C]]"  # beside [[A]] and [[B]]
_SIDES = {  # labels that name one of two responses
    f"{word}_{end}": side
    for word in ("model", "response", "output", "completion", *ANSWERS)
    for side, ends in ((Choice.A, "a1"), (Choice.B, "b2"))
    for end in ends
}
_PREFERENCES: Mapping[str, Choice] = {
    **_SIDES,
    **dict.fromkeys(("a", "system_a", "left", "first"), Choice.A),
    **dict.fromkeys(("b", "system_b", "right", "second"), Choice.B),
    **dict.fromkeys(("tie", "ties", "draw", "equal", "same", "neither", "both", "no_preference"), Choice.TIE),
    **dict.fromkeys(("about_the_same", "the_same", "equally_good", "equally_bad", "no_difference"), Choice.TIE),
    **dict.fromkeys(("neither_is_better", "tie_bothbad", "both_bad", "both_good", "unentschieden"), Choice.TIE),
    **dict.fromkeys(
        map(compared, ("égalité", "empate", "pareggio", "ничья", "تعادل", "平局", "引き分け", "무승부")), Choice.TIE
    ),
}
_SIDE_WORDS = "response|answer|output|model|system|option|completion|assistant"
_BETTER = re.compile(  # "A is much better", "Response 2 is slightly better", "the first answer wins"
    rf"(?:the_)?(?:(?P<word>{_SIDE_WORDS})_)?(?P<side>a|b|1|2|left|right|first|second)(?:_(?:{_SIDE_WORDS}))?(?:_is)?"
    r"(?:_(?:much|far|clearly|strongly|significantly|slightly|somewhat|marginally|a_bit|a_little))?_(?:better|wins)"
)


def preference(text: str) -> Choice | None:
    """Return which response a word of the table or an order (`A>>B`, `[[B]]`) says is better; None: it says none."""
    order = degree(text)
    if order is not None:
        return Choice.TIE if order == 0 else Choice.A if order > 0 else Choice.B
    words = compared(text)
    better = _BETTER.fullmatch(words)
    if better is not None and (better["word"] or not better["side"].isdigit()):
        return Choice.A if better["side"] in ("a", "1", "left", "first") else Choice.B
    return Choice.TIE if text.strip().upper() == _TIE_OF_JUDGES else _PREFERENCES.get(words)


def degree(text: str) -> int | None:
    """Return how much the first is better, 2 to -2, of `A>>B`, `[[B>A]]`, `A=B`; None for what is no such order."""
    match = _ORDER.fullmatch(text.strip().upper())
    if match is None or match[1] == match[3]:
        return None
    return _DEGREES[match[2]] * (1 if match[1] == "A" else -1)


def names_a_side(text: str) -> bool:
    """Return whether a label names one of two responses, as model_a and output_2 do."""
    return compared(text) in _SIDES


def meant(text: str, meanings: Mapping[str, str]) -> Choice | None:
    """Return what a person said that a preference means: "A", "B" or another word, to the value that says so, or to
    several between slashes."""
    said = {word.lower(): {as_id(value), *map(as_id, value.split("/"))} for word, value in meanings.items()}
    words = (word for word, values in said.items() if as_id(text) in values)
    return next(({"a": Choice.A, "b": Choice.B}.get(word, Choice.TIE) for word in words), None)


def asked_meanings(part: Part, values: Sequence[str], columns: Sequence[str]) -> Problem:
    """Return the question what values of a preference in these columns mean. Of two numbers, and of as many below zero
    as above, the lower ones are one side and the higher ones the other: which, is the answer."""
    by_command = "Say it with --map 'A=1,B=2,tie=0', in the words of the table; several stand as A=1/2."
    by_page = "Write it under What the values of a preference mean, in the words of the table, several as A=1/2."
    return Problem(
        Severity.ERROR,
        part.file,
        part.name,
        f"Say what {shorten(', '.join(values))} {'mean' if values[1:] else 'means'}.",
        hint=by_command,
        code="unknown-preference",
        page_hint=by_page,
        answers=(*_meanings(values), tuple(f"{Holds.DETAIL}={name}" for name in columns)),
    )


def _meanings(values: Sequence[str]) -> Answers:
    numbers = {number: value for value in values if (number := as_number(value)) is not None}
    is_two = len(numbers) == 2
    middle = sum(numbers) / 2 if is_two else 0.0
    low = "/".join(numbers[number] for number in sorted(numbers) if number < middle)
    high = "/".join(numbers[number] for number in sorted(numbers) if number > middle)
    is_even = is_two or {*numbers} == {-number for number in numbers}
    if len(numbers) < len(values) or not (is_even and low and high):
        return ()
    tie = (f"tie={numbers[0.0]}",) if middle in numbers else ()
    return (f"A={low}", f"B={high}", *tie), (f"A={high}", f"B={low}", *tie)
