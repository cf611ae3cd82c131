"""The comparison judge: which of two answers is better, asked in one order or in both.

Asked in both orders, the verdict is the mean over them: a judge that follows the place contradicts itself, which shows
as a probability of one half and a confidence of zero.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from evalsite.base.formats import WINS
from evalsite.base.types import JsonDict, JsonObject
from judging.grading.rubric_tree import exact, walk
from judging.judges import reply_text
from judging.judges.judge_kinds import OptionField, asking_options, shipped_kind
from judging.judges.questions import AskingJudge, ask_all
from judging.judges.subjects import (
    JudgeScore,
    JudgeSubject,
    JudgeVerdict,
    as_data,
    over_both_orders,
)
from judging.llm.chat import ChatRequest, Conversation, Message

PREFERENCES = {"A": 1, "B": -1, "C": 0, "TIE": 0}
MAX_LINE = 1000  # characters; a longer last line is no verdict
_MARKED = re.compile(r"\[\[ {0,4}([A-Za-z]{1,10}) {0,4}\]\]")
_MARKED_END = re.compile(r"(?P<before>.*?)[*_`\"' ]{0,6}\[\[ {0,4}(?P<label>[A-Za-z]{1,10}) {0,4}\]\][*_`\"'. ]{0,6}")
_NAMING = re.compile(
    r"[\s*_#>-]{0,12}(?:(?:so|thus|therefore|hence),? )?(?:(?:my|the) )?(?:final )?"
    r"(?:verdict|winner|answer|decision|choice)(?: is)? ?[:=]?[\s*_]{0,6}",
    re.IGNORECASE,
)
_SENTENCE_BEFORE = re.compile(r".*[.!?][)\"'*_]{0,4} ?")
_UNMARKED = re.compile(
    rf"(?:{_NAMING.pattern}|[\s*_#>-]{{0,12}})(?:answer |response )?"
    r"[\[(\"'*_]{0,6}(?P<label>A|B|C|tie)[\])\"'*_.]{0,6}\s{0,4}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PairwiseJudge(AskingJudge):
    """Options of the judge."""

    prompt_name: ClassVar[str] = "pairwise"
    both_orders: bool = True
    max_tokens: int = 768

    def build_messages(self, subject: JudgeSubject, *, swapped: bool = False) -> tuple[Message, ...]:
        """Return what is sent for one subject; `swapped` shows the second answer as A."""
        first, second = _shown(subject, swapped=swapped)
        reference = f"\nReference answer, which neither saw:\n{as_data(subject.reference, 'REFERENCE')}\n"
        values = {
            "criterion_note": f' by the criterion "{subject.criterion_key}"' if subject.criterion_key else "",
            "question": as_data(subject.question, "QUESTION"),
            "reference_note": reference if subject.reference else "",
            "criterion": _criterion_text(subject),
            "response_a": as_data(first, "ANSWER A"),
            "response_b": as_data(second, "ANSWER B"),
        }
        return self.messages_with(values, subject.image_parts(swapped=swapped))

    def request(self, subject: JudgeSubject, *, swapped: bool = False) -> ChatRequest:
        """Return the call in one of the two orders."""
        material = {
            "task": "pairwise",
            "question": subject.question,
            "reference": subject.reference,
            "criterion": _criterion_text(subject),
            "responses": list(_shown(subject, swapped=swapped)),
        }
        return self.request_with(self.build_messages(subject, swapped=swapped), material)

    def parse_reply(self, text: str, subject: JudgeSubject) -> JudgeVerdict:
        """Return {"preference": 1 | 0 | -1} for the order in which the answers were shown."""
        return read_preference(text, subject.material)

    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Ask in one or both orders at once, re-ask what cannot be read, and return the verdict over the orders."""
        orders = (False, True) if self.both_orders else (False,)

        def parse(text: str) -> JudgeVerdict:
            return self.parse_reply(text, subject)

        verdicts = yield from ask_all([(self.request(subject, swapped=swapped), parse) for swapped in orders])
        return verdicts[0] if len(verdicts) == 1 else combine_orders(verdicts[0], verdicts[1])

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return the share of preference for the first answer, over both orders where both were asked: 1 better, 1/2
        tie, 0 worse; 3/4 where it is better in one order and ties in the other."""
        if "p_first" in value:
            return JudgeScore(exact(value["p_first"]), Fraction(1))
        return JudgeScore(Fraction(1 + int(value["preference"]), 2), Fraction(1))


def _shown(subject: JudgeSubject, *, swapped: bool) -> tuple[str, str]:
    if swapped:
        return subject.other_response, subject.response
    return subject.response, subject.other_response


def _criterion_text(subject: JudgeSubject) -> str:
    if subject.rubric is None:
        return (
            "Overall quality: correct, complete, to the point." if not subject.criterion_key else subject.criterion_key
        )
    nodes = [node for node in walk(subject.rubric) if node.text and subject.criterion_key in ("", node.key)]
    lines = [f"{node.key}: {node.text}" for node in nodes]
    lines += [f"  {anchor.low:g}: {anchor.text}" for node in nodes for anchor in node.anchors]
    return "\n".join(lines) or subject.criterion_key


def read_preference(text: str, material: str = "") -> JudgeVerdict:
    """Return {"preference": 1 | 0 | -1} from [[A]], [[B]] or [[C]] on the last line.

    A last line that holds a sentence before the marker, or names the choice without one, is repaired. Nothing above the
    last line states a preference, nor does a quotation from `material`, the text that was judged.
    """
    body = reply_text.body_of(text)
    if isinstance(body, JudgeVerdict):
        return body
    lines = [line.strip() for line in body.splitlines() if line.strip(" `\t")]
    last = lines[-1] if lines else ""
    label, flag = _choice(last) if len(last) <= MAX_LINE else ("", "")
    if not label:
        return reply_text.unparsed("The last line is not [[A]], [[B]] or [[C]].", flag or "no_verdict")
    if label not in PREFERENCES:
        return reply_text.unparsed(f"[[{label}]] is not one of [[A]], [[B]] and [[C]].", "off_menu")
    if _is_quoted(lines, flag, reply_text.stripped_text(material)):
        return reply_text.unparsed("The last line is quoted from what was judged.", "quoted")
    flags: tuple[str, ...] = (flag,) if flag else ()
    flags += ("earlier_marker",) if flag != "unmarked" and any(map(_MARKED.search, lines[:-1])) else ()
    return reply_text.read(
        {"preference": PREFERENCES[label]}, rationale="\n".join(lines[:-1]), flags=flags, repaired=bool(flag)
    )


def _choice(line: str) -> tuple[str, str]:
    """Return the label that ends a last line and the flag of the rule that read it, or no label and why."""
    if len({match[1].upper() for match in _MARKED.finditer(line)}) > 1:
        return "", "conflict"
    marked = _MARKED_END.fullmatch(line)
    if marked is None:
        unmarked = _UNMARKED.fullmatch(line) if len(line) <= 200 else None
        return (unmarked["label"].upper(), "unmarked") if unmarked else ("", "")
    if line == f"[[{marked['label']}]]":
        return marked["label"].upper(), ""
    before = marked["before"]
    is_choice = not before or _NAMING.fullmatch(before) or _SENTENCE_BEFORE.fullmatch(before)
    return (marked["label"].upper(), "not_alone") if is_choice else ("", "")


def _is_quoted(lines: Sequence[str], flag: str, judged: str) -> bool:
    """Return whether the judged text holds the marker behind a sentence, or the last line and what precedes it."""
    if flag == "not_alone":
        return any(reply_text.stripped_text(match[0]) in judged for match in _MARKED.finditer(lines[-1]))
    return reply_text.ends_quoted(lines, judged)


def combine_orders(straight: JudgeVerdict, swapped: JudgeVerdict) -> JudgeVerdict:
    """Return one verdict over both orders, with `p_first`, the mean probability that the first answer is better.

    Confidence is 1 where the orders agree, 0 where they contradict each other. Without a value in both there is none.
    """

    def combine(first: JsonObject, second: JsonObject) -> tuple[JsonDict, float, bool]:
        orders = [int(first["preference"]), -int(second["preference"])]
        mean, distance = Fraction(sum(orders), 2), abs(orders[0] - orders[1])
        value = {"preference": (mean > 0) - (mean < 0), "p_first": float((1 + mean) / 2), "orders": orders}
        return value, 1 - distance / 2, distance == 2

    return over_both_orders(straight, swapped, combine)


KIND = shipped_kind(
    "pairwise",
    {"pair"},
    (OptionField("both_orders", "boolean", True, "Ask in both orders of the responses."), *asking_options(768)),
    lambda options: PairwiseJudge(**options),
    rates_on=lambda *_: WINS,
)
