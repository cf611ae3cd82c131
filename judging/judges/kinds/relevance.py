"""The relevance judge: three scores of 0..10 in four lines. Source: Advanced Relevance Evaluator.

The relevance score: accuracy, comprehensiveness and context precision, each 0..10, with caps.

Source: Advanced Relevance Evaluator. Rules in order: no context -> context precision 0; accuracy at most 2 -> the
other two at most 4. The judge's own final number is never the score.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from evalsite.base.formats import ScaleKind, ScoreScale
from evalsite.base.types import JsonDict, JsonObject
from judging.judges import reply_text
from judging.judges.judge_kinds import CONFIDENCE, OptionField, asking_options, gathered, shipped_kind
from judging.judges.questions import AskingOnce
from judging.judges.subjects import JudgeScore, JudgeSubject, JudgeVerdict, as_data
from judging.llm.chat import ChatRequest, Message
from judging.specs.types import AnchorSpec, NodeSpec, ScaleSpec

LOW_ACCURACY = 2
CAP = 4
MAXIMUM = 10
FINAL_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class RelevanceOptions:
    """The points that the source leaves open."""

    enforce_rules: bool = True  # False: trust that the judge applied them
    without_context: str = "zero"  # "drop": the mean of the other two, so that 1.0 can be reached
    decimals: int = 1  # shown; the score itself stays exact


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The three scores, each 0..10. Context precision may be None where there is no context."""

    accuracy: int
    comprehensiveness: int
    context_precision: int | None


@dataclass(frozen=True, slots=True)
class RelevanceScore:
    """`final` is exact, 0..1; `dimensions` are after the rules, `raw` as the judge gave them."""

    final: Fraction
    dimensions: Dimensions
    raw: Dimensions
    flags: tuple[str, ...] = ()

    def shown(self, decimals: int = 1) -> float:
        """Return the score rounded for display; a third never ends in 5, so the rounding mode cannot matter."""
        return float(round(self.final, decimals))


def relevance_score(raw: Dimensions, *, has_context: bool, options: RelevanceOptions | None = None) -> RelevanceScore:
    """Return the exact score (A + C + P) / 30, or (A + C) / 20 where the option drops a missing context.

    Raises:
        ValueError: a score outside 0..10, or no context precision although there is a context.
    """
    options = options or RelevanceOptions()
    if has_context and raw.context_precision is None:
        raise ValueError("Context precision is missing although there is a context.")
    for score in (raw.accuracy, raw.comprehensiveness, raw.context_precision or 0):
        if not 0 <= score <= MAXIMUM:
            raise ValueError(f"A score is from 0 to {MAXIMUM}, not {score}.")
    flags: list[str] = []
    dimensions = replace(raw, context_precision=raw.context_precision or 0)
    if options.enforce_rules:
        dimensions = _apply_rules(dimensions, has_context=has_context, flags=flags)
    if not has_context and options.without_context == "drop":
        return RelevanceScore(
            Fraction(dimensions.accuracy + dimensions.comprehensiveness, 20), dimensions, raw, (*flags, "no_context")
        )
    total = dimensions.accuracy + dimensions.comprehensiveness + (dimensions.context_precision or 0)
    return RelevanceScore(Fraction(total, 30), dimensions, raw, tuple(flags))


def _apply_rules(dimensions: Dimensions, *, has_context: bool, flags: list[str]) -> Dimensions:
    if not has_context and dimensions.context_precision:
        dimensions = replace(dimensions, context_precision=0)
        flags.append("no_context_forced_0")
    if dimensions.accuracy > LOW_ACCURACY:
        return dimensions
    if dimensions.comprehensiveness > CAP:
        dimensions = replace(dimensions, comprehensiveness=CAP)
        flags.append("capped:comprehensiveness")
    if (dimensions.context_precision or 0) > CAP:
        dimensions = replace(dimensions, context_precision=CAP)
        flags.append("capped:context_precision")
    return dimensions


def final_disagrees(stated: float, score: RelevanceScore) -> bool:
    """Return whether the judge's own final number is more than 0.05 from the computed one."""
    return abs(stated - float(score.final)) > FINAL_TOLERANCE + 1e-9


FINAL_SCALE = ScoreScale(ScaleKind.RATING, 0.0, 1.0)  # as the prompt asks for: 0.8, and not 80%
DIMENSIONS = ("accuracy", "comprehensiveness", "context_precision")
LABELS = ("Accuracy", "Comprehensiveness", "Context Precision", "Final")
_SCALE = ScaleSpec("numeric", 0, 10, 1)
_MEANINGS = (  # of each range, as the prompt has them
    (
        "Contradicts the context or is false throughout",
        "Mostly wrong",
        "About half right",
        "Mostly right",
        "Right with one small slip",
        "Fully right",
    ),
    (
        "Covers nothing that was asked",
        "A small part",
        "About half",
        "Most of it",
        "Nearly all",
        "Every part of the question",
    ),
    (
        "Makes no use of the context",
        "Little or mistaken use",
        "Some use with gaps",
        "Uses most of what matters",
        "Good use with one small slip",
        "Uses exactly what matters",
    ),
)
_RANGES = ((0, 0), (1, 3), (4, 5), (6, 7), (8, 8), (9, 10))
DIMENSIONS_TREE = NodeSpec(  # what people rate in the place of this judge; the score is `relevance_score`'s
    "relevance",
    "group",
    aggregator={"type": "sum_over", "by": 30},
    children=tuple(
        NodeSpec(
            name,
            "dimension",
            text=label,
            scale=_SCALE,
            anchors=tuple(AnchorSpec(*ends, text) for ends, text in zip(_RANGES, meanings, strict=True)),
        )
        for name, label, meanings in zip(DIMENSIONS, LABELS[:3], _MEANINGS, strict=True)
    ),
)
CONTEXT_NOTES = {
    "reference": "Context, which is the authority on what is right:",
    "supplementary": "Context, which may help but is not the only source of truth:",
    "": "Context:",
}

MAX_LINE = 1000  # characters; a longer line is no score
MAX_LINES = 1000  # lines with text; a reply with more is no verdict
_LINE = re.compile(
    r"[-*\u2022>#_ \t]{0,12}(?:\d{1,2}[.)])?[*_ \t]{0,6}"
    r"(?P<label>accuracy|comprehensiveness|context[ _-]?precision|final)"
    r"(?:[ \t]{1,4}(?:score|result|rating))?"  # and the scale, as the prompt has it
    r"(?:[ \t]{0,4}[(\[\uff08]0[ \t]{0,4}(?:[-\u2010\u2011\u2013\u2014]|to)[ \t]{0,4}10"
    r"(?:[ \t]{1,4}(?:points?|pts?))?[)\]\uff09])?[ \t*_]{0,6}[:\uff1a](?P<value>.*)",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[ \t]*(?:Accuracy|Comprehensiveness|Context Precision|Final):[ \t]*(?:[-\d./%]+|N/A)[ \t]*")
_SCORE = re.compile(
    r"[\s*_`\[(]{0,12}(?P<number>-?\d{1,9}(?:\.\d{1,9})?)[\s\])]{0,6}(?:/\s{0,4}10|points?|pts?|out of 10)?"
    r"[\s*_`.]{0,12}(?:\([^()]*\))?[\s*_`.]{0,12}",
    re.IGNORECASE,
)
_FINAL = re.compile(r"[\s*_`\[(]{0,12}(-?\d{1,9}(?:\.\d{1,30})?)\s{0,4}(?:(/)\s{0,4}(\d{1,9}(?:\.\d{1,30})?)|(%))?")
_NOT_APPLICABLE = re.compile(r"[\s*_`\[(]{0,12}n\s{0,4}/?\s{0,4}a[\s*_`\]).]{0,12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RelevanceJudge(AskingOnce):
    """Options of the judge; `scoring` decides how the three scores become one."""

    prompt_name: ClassVar[str] = "relevance"
    scoring: RelevanceOptions = field(default_factory=RelevanceOptions)
    max_tokens: int = 256

    def build_messages(self, subject: JudgeSubject) -> tuple[Message, ...]:
        """Return what is sent for one subject."""
        note = (
            CONTEXT_NOTES.get(subject.context_role, CONTEXT_NOTES[""])
            if subject.has_context
            else "There is no context."
        )
        values = {
            "question": as_data(subject.question, "QUESTION"),
            "context_note": note,
            "context": as_data(subject.context, "CONTEXT") if subject.has_context else "",
            "response": as_data(subject.response, "ANSWER"),
        }
        return self.messages_with(values, subject.image_parts())

    def request(self, subject: JudgeSubject) -> ChatRequest:
        """Return the one call that judges a subject."""
        material = {
            "task": "relevance",
            "question": subject.question,
            "reference": subject.reference,
            "context": subject.context,
            "context_role": subject.context_role,
            "response": subject.response,
        }
        return self.request_with(self.build_messages(subject), material)

    def parse_reply(self, text: str, subject: JudgeSubject) -> JudgeVerdict:
        """Return the three scores as given, {"nodes": {dimension: score}, "stated_final": number or None}."""
        return read_relevance(text, has_context=subject.has_context, options=self.scoring, material=subject.material)

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return the exact score of 1 with the three scores after the rules."""
        result = score_of(value, has_context=subject.has_context, options=self.scoring)
        scores = {name: getattr(result.dimensions, name) for name in DIMENSIONS}
        return JudgeScore(
            result.final, Fraction(1), result.flags, {**scores, "shown": result.shown(self.scoring.decimals)}
        )


def score_of(value: JsonObject, *, has_context: bool, options: RelevanceOptions | None = None) -> RelevanceScore:
    """Return the score of a stored verdict."""
    nodes = value["nodes"]
    scores = Dimensions(nodes["accuracy"], nodes["comprehensiveness"], nodes["context_precision"])
    return relevance_score(scores, has_context=has_context, options=options)


def read_relevance(
    text: str, *, has_context: bool, options: RelevanceOptions | None = None, material: str = ""
) -> JudgeVerdict:
    """Return the scores from line-anchored labels in any order; the judge's own final is kept, never used.

    `material` is what was judged: among other lines, a score whose line stands there as well is a quotation.
    """
    body = reply_text.body_of(text)
    if isinstance(body, JudgeVerdict):
        return body
    lines = [line for line in body.splitlines() if line.strip()]
    if len(lines) > MAX_LINES:
        return reply_text.unparsed("The reply has far too many lines.", "too_long")
    matches = [_labelled(line) for line in lines]
    values_by_label: dict[str, list[str]] = {}
    for match in matches:
        if match:
            values_by_label.setdefault(_label(match), []).append(match["value"])
    flags = ["decorated"] if any(match and not _PLAIN.fullmatch(match[0]) for match in matches) else []
    others = not all(matches)
    flags += ["extra_lines"] if others or body != text.strip() else []
    if others and values_by_label and not _scores_in(material).isdisjoint(_scores_of(values_by_label)):
        return reply_text.unparsed("The lines are quoted from what was judged.", "quoted")
    scores: dict[str, int | None] = {}
    for name in DIMENSIONS:
        score, problem = _read_score(
            values_by_label.get(name.replace("_", ""), []), absent_allowed=name == DIMENSIONS[2] and not has_context
        )
        if problem:
            return reply_text.unparsed(_explained(problem, name), f"{problem}:{name}")
        scores[name] = score
    flags += _order_flags(values_by_label)
    value: JsonDict = {"nodes": scores, "stated_final": _stated_final(values_by_label.get("final", []))}
    flags += [
        f"repeated:{name}" for name in (*DIMENSIONS, "final") if len(values_by_label.get(name.replace("_", ""), [])) > 1
    ]
    repaired = bool(flags)
    flags += _final_flags(value, has_context=has_context, options=options, is_given="final" in values_by_label)
    return reply_text.read(value, flags=tuple(flags), repaired=repaired)


def _labelled(line: str) -> re.Match[str] | None:
    return _LINE.fullmatch(line) if len(line) <= MAX_LINE else None


def _label(match: re.Match[str]) -> str:
    return re.sub(r"[ _-]", "", match["label"].lower())


def _scores_of(values_by_label: Mapping[str, list[str]]) -> set[tuple[str, str]]:
    """Return the labels of the three dimensions with the stripped text behind each."""
    return {
        (label, reply_text.stripped_text(value))
        for label, values in values_by_label.items()
        if label != "final"
        for value in values
    }


def _scores_in(material: str) -> set[tuple[str, str]]:
    matches = filter(None, map(_labelled, material.splitlines()))
    return {(_label(match), reply_text.stripped_text(match["value"])) for match in matches}


def _order_flags(values_by_label: Mapping[str, list[str]]) -> list[str]:
    order = [name for name in values_by_label if name != "final"]
    return [] if order == [name.replace("_", "") for name in DIMENSIONS] else ["other_order"]


def _final_flags(
    value: JsonObject, *, has_context: bool, options: RelevanceOptions | None, is_given: bool
) -> list[str]:
    stated = value["stated_final"]
    if stated is None:
        return ["final_unreadable"] if is_given else ["final_missing"]
    score = score_of(value, has_context=has_context, options=options)
    return ["final_mismatch"] if final_disagrees(stated, score) else []


def _read_score(values: list[str], *, absent_allowed: bool) -> tuple[int | None, str]:
    """Return the one score that all lines of a label give, or the problem with them."""
    if not values:
        return None, "missing"
    if absent_allowed and all(_NOT_APPLICABLE.fullmatch(value) for value in values):
        return None, ""
    scores: set[int] = set()
    for value in values:
        match = _SCORE.fullmatch(value)
        if match is None or "." in match["number"]:
            return None, "unreadable"
        if not 0 <= int(match["number"]) <= 10:
            return None, "out_of_range"
        scores.add(int(match["number"]))
    return (scores.pop(), "") if len(scores) == 1 else (None, "conflict")


def _explained(problem: str, name: str) -> str:
    label = LABELS[DIMENSIONS.index(name)]
    sentences = {
        "missing": f"The line {label!r} is missing.",
        "unreadable": f"The value of {label!r} is not one whole number.",
        "out_of_range": f"The value of {label!r} is not from 0 to 10.",
        "conflict": f"The lines of {label!r} give different values.",
    }
    return sentences[problem]


def _stated_final(values: list[str]) -> float | None:
    match = _FINAL.match(values[-1]) if values else None
    if match is None:
        return None
    number = float(match[1])
    if match[4]:
        return number / 100
    return number / float(match[3]) if match[2] and float(match[3]) else number


_RELEVANCE = (
    OptionField(
        "enforce_rules", "boolean", True, "Apply the caps to the score, not only in the prompt.", affects_calls=False
    ),
    OptionField(
        "without_context",
        "choice",
        "zero",
        "Context precision if there is no context.",
        ("zero", "drop"),
        affects_calls=False,
    ),
    OptionField("decimals", "choice", 1, "Decimals shown.", (1, 2), affects_calls=False),
)
KIND = shipped_kind(
    "relevance",
    (),
    (*_RELEVANCE, CONFIDENCE, *asking_options(256)),
    lambda options: RelevanceJudge(**gathered(options, RelevanceOptions, "scoring")),
    rates_on=lambda *_: FINAL_SCALE,
    rates=DIMENSIONS_TREE,
)
