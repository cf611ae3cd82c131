"""What values of published sets mean: winners, degrees, two orders of one pair, and the replies of conversations."""

from __future__ import annotations

import re

from evalsite.base.json_types import JsonDict
from judging.specs.records.collector import Collector
from judging.specs.records.names import preference
from judging.specs.records.neutral import Choice, Giver, PreferenceRecord, ResponseRow
from judging.specs.records.tool_rows import NotReadable, Opinion, Reply
from judging.specs.records.values import as_number, as_text, content_text, conversation, is_messages, role_of
from judging.specs.turns import content_of, text_of

_DEGREES = {">>": 2, ">": 1, "=": 0, "<": -1, "<<": -2}
_ORDER = re.compile(r"\[*\s*([AB])\s*(>>|>|=|<|<<)\s*([AB])\s*\]*")


def side(column: str, text: object, system: str = "", **more: object) -> Reply:
    """Return one of two responses, which may stand in several comparisons: of a system, or of a column that names none.

    Raises:
        NotReadable: the row has no such response.
    """
    if text is None:
        raise NotReadable(f"The row has no {column}.")
    return Reply(ResponseRow(system, as_text(text), is_same_if_equal=True, **more), column=column)  # type: ignore[arg-type]


def pair(a: Reply, b: Reply) -> tuple[Reply, Reply]:
    """Return two responses.

    Raises:
        NotReadable: one of both has a system and the other has none.
    """
    if bool(a.row.system) != bool(b.row.system):
        raise NotReadable(f"The row does not say which system {(b if a.row.system else a).column} is of.")
    return a, b


def asks(question: JsonDict, id_: str = "") -> JsonDict:
    """Return what a row asks.

    Raises:
        NotReadable: it asks nothing.
    """
    if not (question.get("messages") or as_text(question.get("prompt")).strip()):
        raise NotReadable(f"The row {id_} has no question.".replace("  ", " "))
    return question


def chosen(value: object, meaning: dict[float, Choice], name: str) -> Choice:
    """Return what a number of a set chooses.

    Raises:
        NotReadable: the set does not use this value.
    """
    number = as_number(value)
    if number is None or number not in meaning:
        raise NotReadable(f"{name} is {as_text(value)!r}, which chooses none of the two responses.")
    return meaning[number]


def winner(value: object) -> Choice | None:
    """Return what a word such as `model_a`, `B`, `tie (bothbad)` chooses; None for any other."""
    text = as_text(value)
    return preference(text) or preference(text.partition("(")[0])


def degree(value: object) -> int | None:
    """Return how much the first is better, 2 to -2, of `A>>B`, `[[B>A]]`, `A=B`; None for what is no such order."""
    match = _ORDER.fullmatch(as_text(value).strip().upper())
    if match is None or match[1] == match[3]:
        return None
    return _DEGREES[match[2]] * (1 if match[1] == "A" else -1)


def signed(value: float, *, first_is_positive: bool = True) -> Choice:
    """Return whom the sign of a number chooses."""
    if value == 0:
        return Choice.TIE
    return Choice.A if (value > 0) == first_is_positive else Choice.B


def swapped(choice: Choice | None) -> Choice | None:
    """Return a choice between two responses that were shown the other way round."""
    return {Choice.A: Choice.B, Choice.B: Choice.A}.get(choice, choice) if choice is not None else None


def ordered(games: list[object]) -> tuple[Choice | None, Choice | None]:
    """Return the choices of two games that are orders such as `A>B`; None for one that is missing or unreadable."""
    found = [None if (value := degree(game)) is None else signed(value) for game in games[:2]]
    return (*found, None, None)[0], (*found, None, None)[1]


def both_orders(first: Choice | None, second: Choice | None, *, is_strict: bool) -> PreferenceRecord | None:
    """Return the one preference of two games, both as to the same first response; None where neither could be read.

    Opposite winners are a tie with an order flip; strictly any two that differ are. Else a win beside a tie wins.
    """
    choices = tuple(choice for choice in (first, second) if choice is not None)
    if not choices:
        return None
    differing, orders = set(choices), choices if len(choices) == 2 else ()
    if len(differing) == 1:
        return Opinion(choices[0], Giver.JUDGE, orders=orders)
    if is_strict or Choice.TIE not in differing:
        return Opinion(Choice.TIE, Giver.JUDGE, is_flipped=True, orders=orders)
    return Opinion(Choice.A if Choice.A in differing else Choice.B, Giver.JUDGE, orders=orders)


def question_of(messages: list[JsonDict]) -> list[JsonDict]:
    """Return the turns of a conversation that ask: all but those of the assistant."""
    return [turn for turn in messages if role_of(turn) != "assistant"]


def reply_of(turns: object, column: str, system: str = "") -> Reply:
    """Return the response in a conversation: its one reply as text, or the whole conversation of several."""
    messages = turns if isinstance(turns, list) else []
    replies = [turn for turn in messages if role_of(turn) == "assistant"]
    if len(replies) == 1 and messages[-1] is replies[0]:
        return side(column, content_text(content_of(replies[0])), system)
    return side(column, "", system, messages=messages)


def several_turns(collector: Collector, case: int | None, replies: list[str]) -> tuple[str, list[JsonDict]]:
    """Return replies, one a turn, as text where there is one, else as the whole conversation with a known case."""
    if len(replies) == 1:
        return replies[0], []
    known = collector.prompt_messages(case) if case is not None else []
    asked = [{"role": turn["role"], "content": text_of(turn)} for turn in known]
    before = [turn for turn in asked if turn["role"] == "system"]
    questions = [turn for turn in asked if turn["role"] == "user"]
    return "", [*before, *conversation(questions[: len(replies)], replies)]


def last_turn_split(value: object) -> tuple[list[JsonDict], str] | None:
    """Return what a conversation asks and its last reply; None for what does not end with the assistant."""
    if not is_messages(value):
        return None
    turns: list[JsonDict] = list(value) if isinstance(value, list) else []
    if role_of(turns[-1]) != "assistant":
        return None
    return turns[:-1], content_text(content_of(turns[-1]))
