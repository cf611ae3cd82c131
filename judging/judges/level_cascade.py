"""The level-cascade judge: one holistic score as in the original, or each criterion met or not.

Holistic replies hold `<analysis>` and `<score>`; itemised replies are JSON. Source: LLM-Score of ORD-MMBench.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from judging.grading.cascade import CascadeOptions, criteria_counts, review_score, with_cascade_options
from judging.grading.rubric_tree import score_tree
from judging.judges import reading
from judging.judges.asking import ask
from judging.judges.prompt_texts import Prompt, as_data, chosen_prompt, fill, load_prompt
from judging.judges.scores import JudgeScore
from judging.judges.subjects import JudgeSubject
from judging.judges.verdicts import JudgeVerdict
from judging.llm.chat import ChatRequest, Conversation, Message
from judging.specs.types import NodeSpec

MAX_SCORE_TAGS = 20  # a reply with more is no verdict
_OPEN_SCORE = re.compile(r"<score>", re.IGNORECASE)
_CLOSE_SCORE = re.compile(r"</score>|<score/>|</analysis>", re.IGNORECASE)
_STRICT = re.compile(r"\s*<analysis>(.*?)</analysis>\s*<score>\s*(\d{1,9})\s*</score>\s*", re.DOTALL)
_BOLD_TAG = re.compile(r"\*\*\s*(</?\w+/?>)\s*\*\*")
_WHOLE = re.compile(r"[+]?\d{1,9}")
_DECORATED = re.compile(r"\**\s*(-?\d{1,9})\s*(?:/\s*100|points?|pts?|%)?\s*\**\.?", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])")
_AFTER_EQUALS = re.compile(r"=\s*\**\s*(-?\d{1,9})(?!\d|\.\d)")


@dataclass(frozen=True, slots=True)
class LevelCascadeJudge:
    """Options of the judge; `cascade` decides how verdicts become scores, not what is asked beyond its wording."""

    mode: str = "holistic"  # holistic | itemised
    cascade: CascadeOptions = field(default_factory=CascadeOptions)
    temperature: float | None = 0.0
    max_tokens: int = 1024
    prompt_text: str = ""  # edited version of the shipped prompt

    @property
    def prompt(self) -> Prompt:
        return chosen_prompt(f"level_cascade_{self.mode}", self.prompt_text)

    def build_messages(self, subject: JudgeSubject) -> tuple[Message, ...]:
        """Return what is sent for one subject."""
        rubric = _rubric_of(subject)
        everyone = (
            "If every criterion of it is met" if self.cascade.level_100 == "all" else "If any criterion of it is met"
        )
        values = {
            "question": as_data(subject.question, "QUESTION"),
            "response": as_data(subject.response, "ANSWER"),
            "criteria": _criteria_text(rubric, keys=self.mode == "itemised"),
            "keys": ", ".join(f'"{check.key}"' for level in rubric.children for check in level.children),
            "top_rule": f"{everyone}, the score is 100.",
            "level_25_value": str(self.cascade.level_25_value),
        }
        return (Message("system", load_prompt("system").text), Message("user", fill(self.prompt, values)))

    def request(self, subject: JudgeSubject) -> ChatRequest:
        """Return the one call that judges a subject."""
        rubric = _rubric_of(subject)
        material = {
            "task": "level_cascade",
            "mode": self.mode,
            "question": subject.question,
            "reference": subject.reference,
            "response": subject.response,
            "levels": [
                {"level": int(level.key), "criteria": [{"key": c.key, "text": c.text} for c in level.children]}
                for level in rubric.children
            ],
            "level_25_value": self.cascade.level_25_value,
            "level_100": self.cascade.level_100,
        }
        return ChatRequest(
            self.build_messages(subject),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            response_format={"type": "json_object"} if self.mode == "itemised" else None,
            material=material,
        )

    def parse_reply(self, text: str, subject: JudgeSubject) -> JudgeVerdict:
        """Return the verdict in a reply: {"score": n} or {"nodes": {key: met}}."""
        if self.mode == "holistic":
            counts = criteria_counts(subject.rubric) if subject.rubric else None
            return read_holistic(text, counts)
        return read_itemised(text, _rubric_of(subject))

    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Ask, re-ask once where the reply cannot be read, and return the verdict."""
        return ask(self.request(subject), lambda text: self.parse_reply(text, subject))

    def calls(self, subject: JudgeSubject) -> int:
        """Return the number of calls without re-asks."""
        return 1

    def score(self, value: Mapping[str, Any], subject: JudgeSubject) -> JudgeScore:
        """Return the score in points of 100."""
        full = Fraction(100)
        if "nodes" in value:
            tree = score_tree(with_cascade_options(_rubric_of(subject), self.cascade), value["nodes"])
            return JudgeScore(tree.score, full, tree.flags, {"deciding_level": tree.deciding})
        counts = criteria_counts(subject.rubric) if subject.rubric else None
        reviewed = review_score(int(value["score"]), counts, self.cascade)
        return JudgeScore(None if reviewed.score is None else Fraction(reviewed.score), full, reviewed.flags)


def _rubric_of(subject: JudgeSubject) -> NodeSpec:
    if subject.rubric is None:
        raise ValueError("The level cascade needs a rubric with levels for this case.")
    return subject.rubric


def _criteria_text(rubric: NodeSpec, *, keys: bool) -> str:
    lines: list[str] = []
    for level in rubric.children:
        lines.append(f"Level {level.key}:")
        for number, check in enumerate(level.children, 1):
            lines.append(f"{check.key}: {check.text}" if keys else f"({number}) {check.text}")
    return "\n".join(lines)


def read_itemised(text: str, rubric: NodeSpec) -> JudgeVerdict:
    """Return {"nodes": {key: met}} from a JSON reply that decides every criterion."""
    found = reading.agreed_object(text, "met", repair=True)
    if isinstance(found, JudgeVerdict):
        return found
    wanted = {check.key: reading.truth for level in rubric.children for check in level.children}
    read = reading.menu_of(found.value, wanted, key="met")
    if isinstance(read, JudgeVerdict):
        return read
    values, mended = read
    flags = ((found.rung,) if found.rung == "repaired" else ()) + (("string_bool",) if mended else ())
    reasons = found.value.get("reasoning")
    rationale = reasons if isinstance(reasons, str) else reading.compact(reasons)
    return reading.read({"nodes": values}, rationale=rationale, flags=flags, repaired=bool(flags))


def read_holistic(text: str, counts: Mapping[int, int] | None = None) -> JudgeVerdict:
    """Return {"score": n} from `<analysis>` and `<score>`; no number is ever taken from the analysis.

    Strict replies are `ok`; a code fence, bold or unclosed tags, a sentence or a sum in the score block are repaired.
    """
    if not text.strip():
        return reading.unread("The reply is empty.", "empty")
    if len(text) > reading.MAX_REPLY:
        return reading.unread("The reply is far too long.", "too_long")
    strict = _STRICT.fullmatch(text)
    if strict and not _OPEN_SCORE.search(strict[1]):
        return _graded(int(strict[2]), strict[1].strip(), [], counts)
    return _read_leniently(text, counts)


def _read_leniently(text: str, counts: Mapping[int, int] | None) -> JudgeVerdict:
    flags: list[str] = []
    body = reading.visible_text(text)
    if body != text.strip():
        flags.append("thinking")
    if reading.without_fence(body) != body:
        body = reading.without_fence(body)
        flags.append("fenced")
    if _BOLD_TAG.search(body):
        body = _BOLD_TAG.sub(r"\1", body)
        flags.append("bold_tags")
    opened = list(_OPEN_SCORE.finditer(body))
    if not opened or len(opened) > MAX_SCORE_TAGS:
        found = "score_tags" if opened else "no_score_tag"
        return reading.unread("The reply must hold one <score> tag.", *flags, found)
    last = opened[-1]
    flags += _tag_flags(body, body[: last.start()])
    if len(opened) > 1:
        earlier = _conflicting(body, opened)
        if earlier:
            return reading.unread("The reply holds two different scores.", *flags, "conflict")
        flags.append("several_score_tags")
    rest = body[last.end() :]
    closed = _CLOSE_SCORE.search(rest)
    block = rest[: closed.start()] if closed else rest
    flags += _closing_flags(closed, rest)
    number, rule = _block_number(block)
    if number is None:
        return reading.unread("The score block holds no single whole number.", *flags, "no_number")
    flags += [rule] if rule else []
    analysis = re.sub(r"</?analysis/?>", "", body[: last.start()], flags=re.IGNORECASE).strip()
    return _graded(number, analysis, flags or ["loose"], counts)


def _tag_flags(body: str, before: str) -> list[str]:
    lowered, flags = before.lower(), []
    if "<analysis>" not in lowered:
        flags.append("no_analysis_open")
    if "</analysis>" not in lowered:
        flags.append("analysis_unclosed")
    tags = re.findall(r"</?(?:analysis|score)/?>", body, re.IGNORECASE)
    return flags + (["tag_case"] if any(tag != tag.lower() for tag in tags) else [])


def _closing_flags(closed: re.Match[str] | None, rest: str) -> list[str]:
    if closed is None:
        return ["score_unclosed"]
    wrong = ["wrong_closing_tag"] if closed[0].lower() != "</score>" else []
    return wrong + (["text_after"] if rest[closed.end() :].strip() else [])


def _conflicting(body: str, opened: list[re.Match[str]]) -> bool:
    """Return whether score blocks behind the first end of an analysis differ: a quoted one must never win."""
    start = body.lower().find("</analysis>")  # -1, before everything, where the analysis was never closed
    numbers = set()
    for tag in opened:
        if tag.start() > start:
            rest = body[tag.end() :]
            closed = _CLOSE_SCORE.search(rest) or _OPEN_SCORE.search(rest)
            numbers.add(_block_number(rest[: closed.start()] if closed else rest)[0])
    return len(numbers) > 1


def _block_number(block: str) -> tuple[int | None, str]:
    """Return the number of a score block and the rule that read it; None where it holds no single one."""
    block = block.strip()
    if _WHOLE.fullmatch(block):
        return int(block), ""
    decorated = _DECORATED.fullmatch(block)
    if decorated:
        return int(decorated[1]), "decorated"
    sums = _AFTER_EQUALS.findall(block)
    if sums:
        return int(sums[-1]), "expression"
    numbers = _NUMBER.findall(block)
    if len(numbers) == 1 and "." not in numbers[0] and len(numbers[0]) <= 9:
        return int(numbers[0]), "sentence"
    return None, ""


def _graded(number: int, analysis: str, flags: list[str], counts: Mapping[int, int] | None) -> JudgeVerdict:
    if not 0 <= number <= 100:
        return reading.unread("The score is not from 0 to 100.", "out_of_range")
    repaired = bool(flags)
    found = (*(flag for flag in flags if flag != "loose"), *review_score(number, counts).flags)
    return reading.read({"score": number}, rationale=analysis, flags=found, repaired=repaired)
