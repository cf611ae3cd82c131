"""The accuracy judge: is an answer correct, against a reference, in three degrees of strictness.

Source: Lunar-Bench. Its program is imitated by `read_as_original`; ours never turns an unreadable reply into "wrong".
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from evalsite.base.types import JsonObject
from judging.judges import reply_text
from judging.judges.judge_kinds import CONFIDENCE, TOP_P, OptionField, asking_options, shipped_kind
from judging.judges.questions import AskingOnce
from judging.judges.subjects import (
    JudgeScore,
    JudgeSubject,
    JudgeVerdict,
    VersionedPrompt,
    as_data,
    load_prompt,
)
from judging.llm.chat import ChatRequest, Message

STRICTNESS = ("L1", "L2", "L3")
KEY = "is_judged_correct"
SCHEMA = reply_text.reply_schema("accuracy_verdict", {KEY: {"type": "boolean"}, "reasoning": {"type": "string"}})
_ORIGINAL = re.compile(r'\{\s*"is_judged_correct"\s*:\s*(?:true|false)\s*,\s*"reasoning"\s*:\s*"', re.IGNORECASE)
_ORIGINAL_END = re.compile(r'"\s*\}')
ORIGINAL_QUOTE = 300  # characters of an unreadable reply that Lunar-Bench quotes in its reasoning


@dataclass(frozen=True, slots=True)
class AccuracyJudge(AskingOnce):
    """Options of the judge."""

    prompt_name: ClassVar[str] = "accuracy"
    strictness: str = "L2"

    @property
    def inserted_prompts(self) -> tuple[VersionedPrompt, ...]:
        """The text of the strictness."""
        return (load_prompt(f"strictness_{self.strictness.lower()}"),)

    def build_messages(self, subject: JudgeSubject) -> tuple[Message, ...]:
        """Return what is sent for one subject."""
        values = {
            "strictness": self.inserted_prompts[0].text,
            "instruction": as_data(subject.instruction, "INSTRUCTION"),
            "question": as_data(subject.question, "QUESTION"),
            "reference": as_data(subject.reference, "REFERENCE"),
            "response": as_data(subject.response, "ANSWER"),
        }
        return self.messages_with(values, subject.image_parts())

    def request(self, subject: JudgeSubject) -> ChatRequest:
        """Return the one call that judges a subject."""
        material = {
            "task": "accuracy",
            "strictness": self.strictness,
            "question": subject.question,
            "reference": subject.reference,
            "response": subject.response,
        }
        return self.request_with(self.build_messages(subject), material, SCHEMA)

    def parse_reply(self, text: str, subject: JudgeSubject) -> JudgeVerdict:
        """Return {"is_correct": bool}."""
        return read_accuracy(text, subject.material)

    def labels(self, subject: JudgeSubject) -> dict[str, dict[str, bool]]:
        """Return true and false."""
        return {"1": {"is_correct": True}, "0": {"is_correct": False}}

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return 100 for a correct answer, else 0."""
        return JudgeScore(Fraction(100 if value["is_correct"] else 0), Fraction(100))


def strictness_of(dataset: str) -> str:
    """Return the strictness that Lunar-Bench picks from a data set's short name; L2 where the name says nothing."""
    return next((level for level in STRICTNESS if level.lower() in dataset.lower()), "L2")


def read_accuracy(text: str, material: str = "") -> JudgeVerdict:
    """Return {"is_correct": bool} from JSON with the key; key order, extra keys and fences do not matter.

    `material` is what was judged: an object quoted from it is not read.
    """
    reply = reply_text.agreed_object(text, KEY, repair=False, material=material)
    if isinstance(reply, JudgeVerdict):
        return reply
    value, flags = reply.value[KEY], [reply.rung] if reply.is_lenient else []
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        value = value.strip().lower() == "true"
        flags.append("string_bool")
    if not isinstance(value, bool):
        return reply_text.unparsed(f'"{KEY}" must be true or false.', "non_boolean")
    reasoning = reply.value.get("reasoning")
    if not isinstance(reasoning, str):
        flags.append("no_reasoning")
    return reply_text.read(
        {"is_correct": value}, rationale=str(reasoning or ""), flags=tuple(flags), repaired=bool(flags)
    )


@dataclass(frozen=True, slots=True)
class OriginalReading:
    """How Lunar-Bench reads a reply. `counts_as_error` is how it decides that the judge failed."""

    value: bool | int | None
    counts_as_error: bool
    reasoning: str = ""


def original_part(text: str, start: re.Pattern[str]) -> str | None:
    """Return what Lunar-Bench's expression matches, from `start` to the first quote before a brace, in one pass."""
    first = start.search(text)
    end = _ORIGINAL_END.search(text, first.end()) if first else None
    return text[first.start() : end.end()] if first and end else None


def read_as_original(text: str) -> OriginalReading:
    """Return Lunar-Bench's reading: the two keys in this order, else "not correct"; an error is the word "Error"."""
    part = original_part(text, _ORIGINAL)
    if part is None:
        return OriginalReading(False, "Error" in text[:ORIGINAL_QUOTE])
    try:
        data = json.loads(part)
    except json.JSONDecodeError:
        return OriginalReading(False, True)
    reasoning = str(data["reasoning"])
    return OriginalReading(bool(data[KEY]), "Error" in reasoning, reasoning)


KIND = shipped_kind(
    "accuracy",
    {"reference"},
    (
        OptionField("strictness", "choice", "L2", "Degree of strictness.", STRICTNESS),
        TOP_P,
        CONFIDENCE,
        *asking_options(1024),
    ),
    lambda options: AccuracyJudge(**options),
    answers={"correct": ("Correct", 1.0), "incorrect": ("Not correct", 0.0)},
)
