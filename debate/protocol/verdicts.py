"""What a statement's text decides: 1 or 2 for the response shown in that place, 0 for neither, None for nothing.

Strict reading (`read_strict`): the last line is the verdict, once trailing tag and fence lines are dropped; failing
that, an unambiguous phrase in that line; failing that, nothing. A number off the scale (a rubric level, say), however
often repeated, lets the line before it speak, by phrase only. Nothing above these two lines can ever decide, nor can
what stands before the last `</think>`. All expressions are tried on lines of bounded length only.

A debate is over by valid verdicts alone: None never equals None here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from judging.judges.reply_text import ends_quoted, stripped_text
from judging.llm.chat import after_thinking

POSITIONS = {"1": 1, "2": 2, "0": 0}


class HowRead(StrEnum):
    """By which rule a text was read. Only the first three carry a verdict."""

    FINAL_LINE = "final_line"
    PHRASE = "phrase"
    OUT_OF_RANGE_PHRASE = "out_of_range_phrase"  # the last line is a number off the scale, the line above decides
    OUT_OF_RANGE = "out_of_range"
    NONE = "none"
    EMPTY = "empty"


class VerdictReading(StrEnum):
    """How recorded statements are turned into verdicts."""

    RECORDED = "recorded"  # the score as written in the file; only the strings "0", "1" and "2" count
    STRICT = "strict"  # the text, read by `read_strict`
    AUTHOR_COMPAT = "author_compat"  # as ScaleEval's authors repaired scores by hand: what is no verdict is a tie


@dataclass(frozen=True, slots=True)
class TextReading:
    """The verdict by position that a text states, or None, and the rule that read it."""

    verdict: int | None  # 1 | 2 | 0
    how: HowRead
    refused: bool = False  # no verdict, and the text says that it will not give one


_TAG_OR_FENCE = re.compile(r"(?:</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>\s*)+|[`~]{3,}\w*")
_DECORATION = " \t*_\"'“”‘’`()[]{}.,:;!#$\\"
_NUMBER = re.compile(r"[-+]?[0-9]+(?:[.,/][0-9]+)*")
_VERDICT_WORD = r"(?:evaluation|verdict|answer|choice|decision|vote|judge?ment|selection|conclusion)"
_LABELLED = re.compile(
    rf"(?:(?:so|thus|therefore|hence)[\s,]+)?(?:my|the)?\s*(?:(?:final|overall)?\s*{_VERDICT_WORD}|final rating)"
    r"\s*(?:is|remains|:|=|-|–|—|\s|\*|_)+[\"'“”‘’`*(\[]*([012])",
    re.IGNORECASE,
)
_LABELLED_LENGTH = 80  # characters; the pattern backtracks, so it is never tried on long lines
MAX_LINE = 4000  # characters; a longer last line decides nothing
_NEXT_TURN = re.compile(
    r"(?:user|human|assistant|system): ?(?P<text>\S{1,20})", re.IGNORECASE
)  # a turn nobody asked for

# In the deciding line: words that take back, or withhold, a choice named beside them.
_WITHHOLDS = re.compile(
    r"\b(?:cannot|can['’]?t|can not|unable|apologi[sz]e|sorry|refuse|decline|comfortable|insufficient|not enough|"
    r"more (?:context|information|details)|lack the|(?:do|did|will|would|should) not|"
    r"(?:do|did|wo|would|should)n['’]t)\b",
    re.IGNORECASE,
)
# In a whole text without a verdict: the agent says in the first person that it will not judge.
_REFUSES = re.compile(
    r"\bI(?: \w+)? (?:cannot|can['’]?t|can not|could not|couldn['’]t|won['’]t|will not|refuse|decline|apologi[sz]e)\b"
    r"|\bI(?: am|['’]m)(?: \w+)? (?:sorry|unable|not able|not comfortable)\b"
    r"|\bI (?:do not|don['’]t) (?:feel|have|think I)\b|\bI lack\b|\b(?:my apologies|as an AI)\b",
    re.IGNORECASE,
)
# A sentence that denies, concedes, supposes, asks or quotes another agent states no verdict of its own.
_NOT_A_STATEMENT = re.compile(
    r"n['’]t\b|\b(?:not|never|no|nor|cannot|without|if|whether|unless|but|however|although|though|while|whereas|despite|"
    r"either|hardly|might|may|could|speakers?|previously|initially|rather|instead)\b|\?",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’*]*\s+")
_QUOTED = re.compile(r"[\"“”`]\s*([0-9]+)\s*[.]?[\"“”`]|\*\*\s*([0-9]+)\s*\*\*|(?<![\w’'])['‘]([0-9]+)['’](?!\w)")
_BETTER = r"(?:better|stronger|superior|preferable|best|winner)"
_SUBMISSION_WINS = (
    re.compile(
        r"\bsubmission ([12]) (?:is|remains)(?: (?:still|the|clearly|slightly|overall|therefore|marginally))*"
        rf" {_BETTER}\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b{_BETTER}(?: (?:submission|response|option|choice|answer|one))?(?: overall)?"
        r" (?:is|remains):? submission ([12])\b",
        re.IGNORECASE,
    ),
    re.compile(r"\bI (?:would )?(?:choose|select|pick|prefer|vote for):? submission ([12])\b", re.IGNORECASE),
)
_DIGIT_CHOSEN = re.compile(
    rf"\b(?:choose|select|pick|vote for|option(?: is)?|{_VERDICT_WORD}(?: is| remains)?"
    r"|neither(?: submission)? is better)"
    r"\s*[:=]?\s*([0-9]+)\b(?!\s*(?:,|/|or\b|and\b|to\b|words?\b|points?\b|out of\b|%)|[.,:][0-9])",
    re.IGNORECASE,
)
_NEITHER_WINS = re.compile(r"\bneither(?: submission| response| of them| one)? is(?: \w+ly)? better\b", re.IGNORECASE)


def read_strict(text: str | None, material: str = "") -> TextReading:
    """Return the verdict that the last line of `text` states, by position. Every text, also None, has a reading.

    `material` is what was compared: a last line that stands there, with what precedes it, is a quotation.
    """
    reply = after_thinking(text or "")
    if reply is None:
        return TextReading(None, HowRead.NONE)
    lines = [line for line in (" ".join(line.split()) for line in reply.splitlines()) if line]
    while lines and len(lines[-1]) <= MAX_LINE and _TAG_OR_FENCE.fullmatch(lines[-1]):
        lines.pop()
    if not lines:
        return TextReading(None, HowRead.EMPTY)
    verdict, how = _read_lines(lines)
    if verdict is not None and ends_quoted(lines, stripped_text(material)):
        verdict, how = None, HowRead.NONE
    return TextReading(verdict, how, refused=verdict is None and looks_like_refusal(reply))


def looks_like_refusal(text: str) -> bool:
    """Return whether the text says that it will not or cannot judge. Only asked of texts without a verdict."""
    return _REFUSES.search(text) is not None


def read_recorded(score: object) -> int | None:
    """Return the verdict that a recorded score states: only the strings "0", "1" and "2" are verdicts."""
    return POSITIONS.get(score) if isinstance(score, str) else None


def read_author_compat(score: object, text: str | None) -> int:
    """Return the verdict as ScaleEval's authors repaired it: a refusal, null or integer is a tie, a number off the
    scale is what a phrase says, else a tie."""
    recorded = read_recorded(score)
    if recorded is not None:
        return recorded
    if not isinstance(score, str):
        return 0
    strict = read_strict(text).verdict
    return 0 if strict is None else strict


def read_verdict(reading: VerdictReading, *, text: str | None, score: object) -> int | None:
    """Return the verdict by position of a recorded statement under `reading`."""
    if reading is VerdictReading.RECORDED:
        return read_recorded(score)
    if reading is VerdictReading.AUTHOR_COMPAT:
        return read_author_compat(score, text)
    return read_strict(text).verdict


_BOTH_SUBMISSIONS = re.compile(r"\bsubmissions 1 and 2\b", re.IGNORECASE)
_SUBMISSION = re.compile(r"\bsubmission #?([12])\b", re.IGNORECASE)
_SPEAKER = re.compile(r"\bspeaker #?([0-9]{1,3})\b", re.IGNORECASE)


def readable_statement(text: str, *, first: str, second: str) -> str:
    """Return a statement for people: responses by the letters they are shown under, agents, no bare number at its end.

    The number is the verdict that the agents' format asks for; a page shows it in words.
    """
    lines = text.rstrip().splitlines()
    if len(lines) > 1 and lines[-1].strip(_DECORATION) in POSITIONS:
        lines.pop()
    letters = {"1": first, "2": second}
    named = _BOTH_SUBMISSIONS.sub(f"responses {first} and {second}", "\n".join(lines).rstrip())
    named = _SUBMISSION.sub(lambda match: f"response {letters[match[1]]}", named)
    return _SPEAKER.sub(r"Agent \1", named)


def to_system_space(verdict: int | None, *, response_order: int) -> int | None:
    """Return 1 where system A won, -1 where B won, 0 for a tie; None stays None.

    `response_order` 0 showed A as response 1, 1 showed B there.
    """
    if verdict is None or verdict == 0:
        return verdict
    return 1 if (verdict == 1) == (response_order == 0) else -1


def _read_lines(lines: list[str]) -> tuple[int | None, HowRead]:
    lines = _without_next_turn(lines)
    last = lines[-1]
    number = last.strip(_DECORATION)
    if number in POSITIONS:
        return POSITIONS[number], HowRead.FINAL_LINE
    labelled = _LABELLED.fullmatch(number) if len(number) <= _LABELLED_LENGTH else None
    if labelled:
        return POSITIONS[labelled[1]], HowRead.FINAL_LINE
    if len(number) <= MAX_LINE and _NUMBER.fullmatch(number):
        before = next((line for line in reversed(lines) if line.strip(_DECORATION) != number), "")
        verdict = _read_phrase(before) if before else None
        return verdict, HowRead.OUT_OF_RANGE if verdict is None else HowRead.OUT_OF_RANGE_PHRASE
    verdict = _read_phrase(last)
    return verdict, HowRead.NONE if verdict is None else HowRead.PHRASE


def _without_next_turn(lines: list[str]) -> list[str]:
    """Return the lines without a last one that repeats the line before it as the turn of a user: "2", "User: 2"."""
    turn = _NEXT_TURN.fullmatch(lines[-1]) if len(lines) > 1 else None
    repeats = turn is not None and turn["text"].strip(_DECORATION) == lines[-2].strip(_DECORATION)
    return lines[:-1] if repeats else lines


def _read_phrase(line: str) -> int | None:
    """Return the one verdict that every statement in the line agrees on, or None."""
    if len(line) > MAX_LINE:
        return None
    if _WITHHOLDS.search(line) and not _decides_plainly(line):
        return None
    stated: set[str] = set()
    for sentence in _SENTENCE_END.split(line):
        if not _NOT_A_STATEMENT.search(sentence):
            stated |= _stated_in(sentence)
    return POSITIONS.get(stated.pop()) if len(stated) == 1 else None


def _decides_plainly(line: str) -> bool:
    """Return whether the line's last sentence states a verdict and is itself no refusal: `It does not cover X. "1"`."""
    last = [sentence for sentence in _SENTENCE_END.split(line) if sentence.strip()][-1]
    return not _WITHHOLDS.search(last) and bool(_stated_in(last))


def _stated_in(sentence: str) -> set[str]:
    """Return the verdicts that one sentence states, as digits; a number off the scale counts as a dissent."""
    stated = {next(group for group in match.groups() if group) for match in _QUOTED.finditer(sentence)}
    for pattern in (*_SUBMISSION_WINS, _DIGIT_CHOSEN):
        stated |= {match[1] for match in pattern.finditer(sentence)}
    if _NEITHER_WINS.search(sentence):
        stated.add("0")
    return stated


Votes = Sequence[int | None]  # one entry per agent, all in the same space; None: no verdict


class StopReason(StrEnum):
    """Why no further round is held."""

    CONSENSUS = "consensus"
    STABILITY = "stability"  # a whole round in which every agent kept its verdict
    ROUNDS = "rounds"  # the last allowed round is over
    SAMPLES = "samples"  # all judges have been asked as often as they were to be, by a method without discussion
    FAILED = "failed"  # an agent could not be reached at all; asked again when the run resumes


def consensus(votes: Votes) -> int | None:
    """Return the verdict that all agents gave, or None: one missing verdict, or a single agent, agrees on nothing."""
    if len(votes) < 2 or votes[0] is None:
        return None
    return votes[0] if all(vote == votes[0] for vote in votes) else None


def majority(votes: Votes) -> int | None:
    """Return the verdict that more than half of all agents gave (missing verdicts count as agents), or None."""
    counts = Counter(vote for vote in votes if vote is not None)
    if not counts:
        return None
    verdict, count = counts.most_common(1)[0]
    return verdict if 2 * count > len(votes) else None


def most_frequent(votes: Votes) -> int | None:
    """Return the verdict given most often among the valid ones, or None where two share the lead or none is valid."""
    ranked = Counter(vote for vote in votes if vote is not None).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def is_stable(before: Votes, after: Votes) -> bool:
    """Return whether every agent gave a valid verdict in both rounds, and the same one."""
    return None not in before and tuple(before) == tuple(after)


def stop_reason(
    rounds: Sequence[Votes], *, max_rounds: int, on_consensus: bool = True, on_stability: bool = False
) -> StopReason | None:
    """Return why the debate ends after the rounds held so far (`rounds[0]`: the independent one), or None to go on."""
    if on_consensus and consensus(rounds[-1]) is not None:
        return StopReason.CONSENSUS
    if len(rounds) > max_rounds:
        return StopReason.CONSENSUS if consensus(rounds[-1]) is not None else StopReason.ROUNDS
    if on_stability and len(rounds) > 1 and is_stable(rounds[-2], rounds[-1]):
        return StopReason.STABILITY
    return None


def agreed_since(rounds: Sequence[Votes]) -> int | None:
    """Return the round from which on all agents agreed on one verdict until the end, or None where they do not.

    With `on_consensus` this is the last round held; without it a debate may agree early and hold on.
    """
    final = consensus(rounds[-1]) if rounds else None
    if final is None:
        return None
    first = len(rounds) - 1
    while first > 0 and consensus(rounds[first - 1]) == final:
        first -= 1
    return first
