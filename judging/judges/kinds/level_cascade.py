"""The level-cascade judge: one holistic score as in ORD-MMBench, or each criterion met or not.

Holistic replies hold `<analysis>` and `<score>`; itemised replies are JSON. Source: LLM-Score of ORD-MMBench.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from evalsite.base.formats import rating
from evalsite.base.types import JsonDict, JsonObject
from judging.grading.rubric_tree import (
    TOP,
    CascadeOptions,
    criteria_counts,
    level_value,
    review_score,
    score_tree,
    with_cascade_options,
)
from judging.judges import reply_text
from judging.judges.judge_kinds import (
    CONFIDENCE,
    JSON_SCHEMA,
    OptionField,
    asking_options,
    gathered,
    shipped_kind,
)
from judging.judges.questions import AskingOnce
from judging.judges.reply_text import JSON_OBJECT, TRUE_OR_FALSE, reply_form
from judging.judges.subjects import JudgeScore, JudgeSubject, JudgeVerdict, VersionedPrompt, as_data, chosen_prompt
from judging.llm.chat import ChatRequest, Message
from judging.specs.types import NodeSpec

MODES = ("holistic", "itemised")
MAX_ABOUT = 2000  # characters of a benchmark's description that a judge is shown
MAX_SCORE_TAGS = 20  # a reply with more is no verdict
MAX_BLOCK = 200  # characters; a longer score block is prose
_OPEN_SCORE = re.compile(r"<score>", re.IGNORECASE)
_CLOSE_SCORE = re.compile(r"</score>|<score/>|</analysis>", re.IGNORECASE)
_CLOSE_ANALYSIS = re.compile(r"</analysis>|<analysis/>", re.IGNORECASE)
_STRICT = re.compile(r"\s*<analysis>(.*?)</analysis>\s*<score>\s*(\d{1,9})\s*</score>\s*", re.DOTALL)
_BOLD_TAG = re.compile(r"\*\*[ \t]{0,9}(</?\w{1,20}/?>)[ \t]{0,9}\*\*")
_WHOLE = re.compile(r"[+]?\d{1,9}")
_NUMBER = r"(?P<number>-?\d{1,9}) ?(?:(?:/|out of) ?100|points?|pts?|%)? ?\**\.?"
_DECORATED = re.compile(rf"\** ?{_NUMBER}", re.IGNORECASE)
_SUM = re.compile(rf" ?\** ?{_NUMBER}", re.IGNORECASE)  # what stands behind the last "="
_SENTENCE = re.compile(
    r"\**(?:(?:so|thus|therefore|hence|the|my|this|its|answer(?:'s)?|response(?:'s)?|final|total|overall|evaluated|"
    r"resulting|awarded|given)[ ,]+){0,6}score\**(?: (?:is|would be|of)|:|=)+ ?\** ?" + _NUMBER,
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LevelCascadeJudge(AskingOnce):
    """Options of the judge; `cascade` decides how verdicts become scores, not what is asked beyond its wording."""

    mode: str = "holistic"  # holistic | itemised
    cascade: CascadeOptions = field(default_factory=CascadeOptions)
    json_schema: bool = False  # of itemised replies; holistic ones are no JSON

    @property
    def prompt(self) -> VersionedPrompt:
        return chosen_prompt(f"level_cascade_{self.mode}", self.prompt_text)

    def build_messages(self, subject: JudgeSubject) -> tuple[Message, ...]:
        """Return what is sent for one subject."""
        rubric = subject.needed_rubric
        about = as_data(subject.about[:MAX_ABOUT], "DESCRIPTION") if subject.about.strip() else ""
        values = {
            "about": f"\nThe question belongs to a benchmark with this description:\n{about}\n" if about else "",
            "rules": level_rules(criteria_counts(rubric), self.cascade),
            "question": as_data(subject.question, "QUESTION"),
            "response": as_data(subject.response, "ANSWER"),
            "criteria": _criteria_text(rubric, keys=self.mode == "itemised"),
            "keys": ", ".join(f'"{check.key}"' for level in rubric.children for check in level.children),
            "top_rule": _worth(TOP, self.cascade),  # this and the next in prompts edited before levels were listed
            "level_25_value": str(self.cascade.level_25_value),
        }
        return self.messages_with(values, subject.image_parts())

    def request(self, subject: JudgeSubject) -> ChatRequest:
        """Return the one call that judges a subject."""
        rubric = subject.needed_rubric
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
        form = self._reply_form(rubric) if self.mode == "itemised" else None
        return self.request_with(self.build_messages(subject), material, form)

    def _reply_form(self, rubric: NodeSpec) -> JsonDict:
        if not self.json_schema:
            return JSON_OBJECT
        checks = [check for level in rubric.children for check in level.children]
        return reply_form("criteria_met", "met", {check.key: TRUE_OR_FALSE for check in checks})

    def parse_reply(self, text: str, subject: JudgeSubject) -> JudgeVerdict:
        """Return the verdict in a reply: {"score": n} or {"nodes": {key: met}}."""
        if self.mode == "holistic":
            counts = criteria_counts(subject.rubric) if subject.rubric else None
            return read_holistic(text, counts, subject.material, self.cascade)
        return read_itemised(text, subject.needed_rubric, subject.material)

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return the score in points of 100."""
        full = Fraction(100)
        if "nodes" in value:
            tree = score_tree(with_cascade_options(subject.needed_rubric, self.cascade), value["nodes"])
            return JudgeScore(tree.score, full, tree.flags, {"deciding_level": tree.deciding})
        counts = criteria_counts(subject.rubric) if subject.rubric else None
        score, flags = review_score(int(value["score"]), counts, self.cascade)
        return JudgeScore(None if score is None else Fraction(score), full, flags)


def level_rules(levels: Collection[int], options: CascadeOptions) -> str:
    """Return the lines that say what each level of a rubric is worth, the highest first."""
    lines = []
    for number, level in enumerate(sorted(levels, reverse=True)):
        lines.append(f"- {'Otherwise look' if number else 'Look'} at level {level}: {_worth(level, options)}")
    return "\n".join(lines)


def _worth(level: int, options: CascadeOptions) -> str:
    if level != TOP:
        return f"the score is {level_value(level, options)} for each criterion met."
    return f"if {'every' if options.level_100 == 'all' else 'any'} criterion of it is met, the score is {TOP}."


def _criteria_text(rubric: NodeSpec, *, keys: bool) -> str:
    lines: list[str] = []
    for level in rubric.children:
        lines.append(f"Level {level.key}:")
        for number, check in enumerate(level.children, 1):
            lines.append(f"{check.key}: {check.text}" if keys else f"({number}) {check.text}")
    return "\n".join(lines)


def read_itemised(text: str, rubric: NodeSpec, material: str = "") -> JudgeVerdict:
    """Return {"nodes": {key: met}} from a JSON reply that decides every criterion and is not quoted from `material`."""
    reply = reply_text.agreed_object(text, "met", repair=True, material=material)
    if isinstance(reply, JudgeVerdict):
        return reply
    readers = {check.key: reply_text.read_boolean for level in rubric.children for check in level.children}
    read = reply_text.read_menu(reply.value, readers, key="met")
    if isinstance(read, JudgeVerdict):
        return read
    values, repaired_names = read
    flags = ((reply.rung,) if reply.is_lenient else ()) + (("string_bool",) if repaired_names else ())
    reasons = reply.value.get("reasoning")
    rationale = reasons if isinstance(reasons, str) else reply_text.reasons_text(reasons)
    return reply_text.read({"nodes": values}, rationale=rationale, flags=flags, repaired=bool(flags))


def read_holistic(
    text: str,
    counts: Mapping[int, int] | None = None,
    material: str = "",
    options: CascadeOptions | None = None,
) -> JudgeVerdict:
    """Return {"score": n} from `<analysis>` and `<score>`; no number is ever taken from the analysis.

    Strict replies are `ok`; a code fence, bold or unclosed tags, a sum or "score is N" in the score block are repaired.
    Any other prose there is no score. `material` is what was judged: a score block quoted from it is not read.
    """
    strict = _STRICT.fullmatch(text) if len(text) <= reply_text.MAX_REPLY else None
    if strict and not _OPEN_SCORE.search(strict[1]):
        return _graded(int(strict[2]), strict[1].strip(), [], counts, options)
    body = reply_text.body_of(text)
    if isinstance(body, JudgeVerdict):
        return body
    reading = _read_leniently(text, body, material)
    if isinstance(reading, JudgeVerdict):
        return reading
    number, analysis, flags = reading
    return _graded(number, analysis, flags or ["loose"], counts, options)


@dataclass(frozen=True, slots=True)
class _Block:
    """What one opening score tag holds: up to its closing tag, the next opening one or the end of the reply."""

    text: str
    start: int
    end: int  # behind the closing tag
    closing: str  # the closing tag; empty: there is none


def _read_leniently(text: str, body: str, material: str) -> tuple[int, str, list[str]] | JudgeVerdict:
    """Return the number, the analysis before it and the flags of what was repaired; or why there is no number."""
    flags: list[str] = []
    if body != text.strip():
        flags.append("thinking")
    if reply_text.without_fence(body) != body:
        body = reply_text.without_fence(body)
        flags.append("fenced")
    if _BOLD_TAG.search(body):
        body = _BOLD_TAG.sub(r"\1", body)
        flags.append("bold_tags")
    tag_starts = [tag.start() for tag in _OPEN_SCORE.finditer(body)]
    if not tag_starts or len(tag_starts) > MAX_SCORE_TAGS:
        flag = "score_tags" if tag_starts else "no_score_tag"
        return reply_text.unparsed("The reply must hold one <score> tag.", *flags, flag)
    in_form = len(tag_starts) == 1 and _STRICT.fullmatch(body.lower())
    block = _deciding_block(body, tag_starts, "" if in_form else reply_text.stripped_text(material))
    if isinstance(block, JudgeVerdict):
        return replace(block, flags=(*flags, *block.flags))
    flags += _tag_flags(body, body[: block.start])
    flags += ["several_score_tags"] if len(tag_starts) > 1 else []
    flags += _closing_flags(block, body)
    number, rule = _block_number(block.text)
    if number is None:
        return reply_text.unparsed("The score block holds no single whole number.", *flags, "no_number")
    flags += [rule] if rule else []
    analysis = re.sub(r"</?analysis/?>", "", body[: block.start], flags=re.IGNORECASE).strip()
    return number, analysis, flags


def _deciding_block(body: str, tag_starts: list[int], judged: str) -> _Block | JudgeVerdict:
    """Return the last score block behind the analysis that is the judge's own, or why there is none.

    Where an analysis ends, only blocks behind its first end count: what a judge quotes inside it must never win. Blocks
    that stand in `judged`, the stripped material, are quotations.
    """
    analysis_end = _CLOSE_ANALYSIS.search(body)
    later_blocks = [_block(body, start) for start in tag_starts if analysis_end is None or start > analysis_end.start()]
    if not later_blocks:
        return reply_text.unparsed("The score must stand behind </analysis>.", "score_in_analysis")
    own_blocks = [
        block for block in later_blocks if reply_text.stripped_text(body[block.start : block.end]) not in judged
    ]
    if not own_blocks:
        return reply_text.unparsed("The score block is quoted from what was judged.", "quoted")
    if len({_block_number(block.text)[0] for block in own_blocks}) > 1:
        return reply_text.unparsed("The reply holds two different scores.", "conflict")
    if not reply_text.only_courtesy(body[own_blocks[-1].end :]):
        return reply_text.unparsed("Nothing may follow the score.", "text_after")
    return own_blocks[-1]


def _block(body: str, start: int) -> _Block:
    inside = start + len("<score>")
    closed = _CLOSE_SCORE.search(body, inside)
    following = _OPEN_SCORE.search(body, inside)
    if closed and (following is None or closed.start() < following.start()):
        return _Block(body[inside : closed.start()], start, closed.end(), closed[0].lower())
    end = following.start() if following else len(body)
    return _Block(body[inside:end], start, end, "")


def _tag_flags(body: str, before: str) -> list[str]:
    lowered, flags = before.lower(), []
    if "<analysis>" not in lowered:
        flags.append("no_analysis_open")
    if "</analysis>" not in lowered:
        flags.append("analysis_unclosed")
    tags = re.findall(r"</?(?:analysis|score)/?>", body, re.IGNORECASE)
    return flags + (["tag_case"] if any(tag != tag.lower() for tag in tags) else [])


def _closing_flags(block: _Block, body: str) -> list[str]:
    if not block.closing:
        return ["score_unclosed"]
    flags = ["wrong_closing_tag"] if block.closing != "</score>" else []
    return flags + (["text_after"] if body[block.end :].strip() else [])


def _block_number(block: str) -> tuple[int | None, str]:
    """Return the number of a score block and the rule that read it; None where it holds prose or no single number."""
    if len(block) > MAX_BLOCK and len(block.strip()) > MAX_BLOCK:
        return None, ""
    block = " ".join(block.split())
    if _WHOLE.fullmatch(block):
        return int(block), ""
    rules = (("decorated", _DECORATED, block), ("expression", _SUM, block.rpartition("=")[2] if "=" in block else ""))
    for rule, pattern, part in (*rules, ("sentence", _SENTENCE, block)):
        match = pattern.fullmatch(part)
        if match:
            return int(match["number"]), rule
    return None, ""


def _graded(
    number: int, analysis: str, flags: list[str], counts: Mapping[int, int] | None, options: CascadeOptions | None
) -> JudgeVerdict:
    if not 0 <= number <= 100:
        return reply_text.unparsed("The score is not from 0 to 100.", "out_of_range")
    repaired = bool(flags)
    verdict_flags = (*(flag for flag in flags if flag != "loose"), *review_score(number, counts, options)[1])
    return reply_text.read({"score": number}, rationale=analysis, flags=verdict_flags, repaired=repaired)


ITEMISED = {"mode": "itemised"}  # the judge then only says what is met; points are ours
ODD_SCORES = "Unusual scores"
_CASCADE = (
    OptionField(
        "mode",
        "choice",
        "holistic",
        "One score for the response, or each criterion as met or not met.",
        MODES,
    ),
    OptionField(
        "level_25_value",
        "choice",
        25,
        "Points in the prompt and in the score. ORD-MMBench's prompt says 20, but its recorded scores follow 25.",
        (25, 20),
        scoring_only_if=ITEMISED,
        label="Points of a criterion at level 25",
    ),
    OptionField(
        "level_100",
        "choice",
        "any",
        "Whether any or all level-100 criteria give 100.",
        ("any", "all"),
        scoring_only_if=ITEMISED,
    ),
    OptionField(
        "clip",
        "boolean",
        True,
        "Several criteria met at one level can add up to more than 100 points; they count as 100.",
        affects_calls=False,
        label="Keep scores within 0 to 100",
        group=ODD_SCORES,
    ),
    OptionField(
        "off_grid",
        "choice",
        "keep",
        "A score between the rubric's steps, such as 40 where 25, 50, 75 and 100 are the steps.",
        ("keep", "normalise", "reject"),
        affects_calls=False,
        label="A score between the steps",
        words=("Keep it and flag it", "Read 20, 40, 60, 80 as 25, 50, 75, 100", "Leave the response without a score"),
        group=ODD_SCORES,
    ),
    OptionField(
        "infeasible",
        "choice",
        "keep",
        "A score that no set of met criteria gives, such as 25 for a case without a criterion at level 25. "
        "In both cases the verdict is sent to review.",
        ("keep", "reject"),
        affects_calls=False,
        label="An impossible score",
        words=("Keep it and flag it", "Leave the response without a score"),
        group=ODD_SCORES,
    ),
)
KIND = shipped_kind(
    "level_cascade",
    {"rubric", "levels"},
    (*_CASCADE, CONFIDENCE, *asking_options(1024), JSON_SCHEMA),
    lambda options: LevelCascadeJudge(**gathered(options, CascadeOptions, "cascade")),
    prompts={f"level_cascade_{mode}": {"mode": mode} for mode in MODES},
    rates_on=lambda *_: rating(0, 100),
)
