"""The two orders that the original never wrote down, recovered by equality of texts: never by guessing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from debate.protocol.recorded.recorded_files import ResponseLine

MAX_SEATS = 6  # 720 seatings to try


@dataclass(frozen=True, slots=True)
class FoundOrder:
    """Which response was shown first."""

    submission_order: int  # 0: A first; 1: B first
    line: int  # of the responses files, from 1
    text_a: str
    text_b: str


@dataclass(frozen=True, slots=True)
class FoundSeats:
    """Who sat where."""

    seats: tuple[str, ...]
    matched: int  # seats whose opening text stands verbatim in the judge's own file


def find_submission_order(
    *,
    item_id: int,
    question: str,
    shown: tuple[str, str],
    responses_a: Sequence[ResponseLine],
    responses_b: Sequence[ResponseLine],
) -> FoundOrder | None:
    """Return the order in which `shown` repeats two responses verbatim, or None.

    The line with the item's own number is tried first; only then another line with the same prompt (prompts repeat).
    Nothing is stripped: some responses differ in leading spaces alone.
    """
    last = min(len(responses_a), len(responses_b))
    candidates = [item_id, *(number for number in range(1, last + 1) if number != item_id)]
    for number in candidates:
        if not 1 <= number <= last:
            continue
        a, b = responses_a[number - 1], responses_b[number - 1]
        if question not in (a.prompt, b.prompt) or a.response == b.response:
            continue
        if shown == (a.response, b.response):
            return FoundOrder(0, number, a.response, b.response)
        if shown == (b.response, a.response):
            return FoundOrder(1, number, a.response, b.response)
    return None


def find_seats(opening: Sequence[str | None], own_texts: Mapping[str, str | None]) -> FoundSeats | None:
    """Return the one seating in which most opening texts stand in the judges' own files, or None.

    `own_texts` has the judges in the configured order. All seats, or all but one, must match by a text that is there;
    the last one follows. Where several seatings match equally well, a rotation of the configured order is taken if it
    is the only one among them, as the original seats its speakers by rotation.
    """
    judges = tuple(own_texts)
    if not 2 <= len(judges) == len(opening) <= MAX_SEATS:
        return None
    matches = {
        seats: sum(text is not None and text == own_texts[judge] for text, judge in zip(opening, seats, strict=True))
        for seats in permutations(judges)
    }
    best = max(matches.values())
    if best < len(judges) - 1:
        return None
    best_seats = [seats for seats, count in matches.items() if count == best]
    if len(best_seats) > 1:
        rotations = {(*judges[start:], *judges[:start]) for start in range(len(judges))}
        best_seats = [seats for seats in best_seats if seats in rotations]
    return FoundSeats(best_seats[0], best) if len(best_seats) == 1 else None
