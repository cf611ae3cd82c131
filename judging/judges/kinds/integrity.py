"""The integrity judge: the soundness of the reasoning, 0..100, without a reference. Source: Lunar-Bench."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from evalsite.base.formats import rating
from evalsite.base.types import JsonObject
from judging.judges import reply_text
from judging.judges.judge_kinds import CONFIDENCE, TOP_P, asking_options, shipped_kind
from judging.judges.kinds.accuracy import OriginalReading, original_part
from judging.judges.questions import AskingOnce
from judging.judges.subjects import JudgeScore, JudgeSubject, JudgeVerdict, as_data
from judging.llm.chat import ChatRequest, Message

KEY = "integrity_score"
REASONING = "integrity_reasoning"
SCHEMA = reply_text.reply_schema("integrity_verdict", {KEY: {"type": "integer"}, REASONING: {"type": "string"}})
_ORIGINAL = re.compile(r'\{\s*"integrity_score"\s*:\s*\d{1,9}\s*,\s*"integrity_reasoning"\s*:\s*"', re.IGNORECASE)
_QUOTED_NUMBER = re.compile(r"\s*[+-]?\d{1,6}(?:\.\d{1,6})?\s*")


@dataclass(frozen=True, slots=True)
class IntegrityJudge(AskingOnce):
    """Options of the judge."""

    prompt_name: ClassVar[str] = "integrity"
    max_tokens: int = 1000

    def build_messages(self, subject: JudgeSubject) -> tuple[Message, ...]:
        """Return what is sent for one subject; the reference is not part of it."""
        values = {
            "instruction": as_data(subject.instruction, "INSTRUCTION"),
            "question": as_data(subject.question, "QUESTION"),
            "raw_response": as_data(subject.raw_response or subject.response, "REPLY"),
            "response": as_data(subject.response, "ANSWER"),
        }
        return self.messages_with(values, subject.image_parts())

    def request(self, subject: JudgeSubject) -> ChatRequest:
        """Return the one call that judges a subject."""
        material = {
            "task": "integrity",
            "question": f"{subject.instruction}\n{subject.question}".strip(),
            "response": subject.raw_response or subject.response,
        }
        return self.request_with(self.build_messages(subject), material, SCHEMA)

    def parse_reply(self, text: str, subject: JudgeSubject) -> JudgeVerdict:
        """Return {"integrity": 0..100}."""
        return read_integrity(text, subject.material)

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return the rating, 0..100."""
        return JudgeScore(Fraction(str(value["integrity"])), Fraction(100))


def read_integrity(text: str, material: str = "") -> JudgeVerdict:
    """Return {"integrity": number} from JSON with the key; a decimal or quoted number is repaired.

    `material` is what was judged: an object quoted from it is not read.
    """
    reply = reply_text.agreed_object(text, KEY, repair=False, material=material)
    if isinstance(reply, JudgeVerdict):
        return reply
    value, flags = reply.value[KEY], [reply.rung] if reply.is_lenient else []
    if isinstance(value, str) and _QUOTED_NUMBER.fullmatch(value):
        value = float(value)
        flags.append("string_number")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return reply_text.unparsed(f'"{KEY}" must be a number.', "non_number")
    if not 0 <= value <= 100:
        return reply_text.unparsed(f'"{KEY}" must be from 0 to 100.', "out_of_range")
    if value != int(value):
        flags.append("non_integer")
    reasoning = next((reply.value[name] for name in (REASONING, "reasoning") if name in reply.value), None)
    if not isinstance(reasoning, str):
        flags.append("no_reasoning")
    return reply_text.read(
        {"integrity": float(value)}, rationale=str(reasoning or ""), flags=tuple(flags), repaired=bool(flags)
    )


def read_as_original(text: str) -> OriginalReading:
    """Return Lunar-Bench's reading: a whole number and the two keys in this order, else no score and an error."""
    part = original_part(text, _ORIGINAL)
    try:
        data = json.loads(part) if part else None
    except json.JSONDecodeError:
        data = None
    if data is None or int(data[KEY]) > 100:
        return OriginalReading(None, True)
    reasoning = str(data[REASONING])
    return OriginalReading(int(data[KEY]), "Error" in reasoning, reasoning)


KIND = shipped_kind(
    "integrity",
    (),
    (TOP_P, CONFIDENCE, *asking_options(1000)),
    lambda options: IntegrityJudge(**options),
    rates_on=lambda *_: rating(0, 100),
)
