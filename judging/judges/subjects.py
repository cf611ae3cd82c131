"""The interface of every judge: everything that it is shown, what it said, in words too, and what that is worth.

With it what most judges share, and several conversations run side by side as one.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from evalsite.base.types import JsonDict, JsonObject
from judging.llm.chat import ChatReply, ChatRequest, Conversation, MessagePart
from judging.specs.types import ImageSpec, NodeSpec, StoredTurn

# Prompt files, versioned by hash, and the one way in which texts are put into them.
#
# A text is inserted as a value in a single pass: braces in it survive, and nothing in it is read as a placeholder.
# Judged text stands between two marker lines that carry a digest of the text itself, so that the text cannot hold its
# own end.

R = TypeVar("R")
MAX_PROMPT = 10_000_000  # characters of a filled prompt
MAX_BOUNDED = 1_000_000  # of one from a template that a researcher wrote
OTHER = "response_b"
CRITERIA = "criteria"
VARIABLES: Mapping[str, str] = {  # of templates that researchers write -> what each holds
    "question": "what was asked",
    "response": "the response to judge",
    OTHER: "the response of a baseline system to the same case; a prompt with it compares both",
    "reference": "the reference answer of the case; may be empty",
    "context": "the context of the case; may be empty",
    "context_role": "reference, supplementary, or empty",
    "instruction": "what the system was told beside the question; may be empty",
    "description": "the description of the benchmark; may be empty",
    "language": "the language of the case; may be empty",
    "metadata": "what the suite's file says further of the case, by name, such as metadata.topic",
    "messages": "the turns of the case, each under its role, where it is a conversation; empty otherwise",
    "lowest": "the lowest score of the scale",
    "highest": "the highest score of the scale",
    "labels": "the labels of the reply, separated by commas",
    "rubric": "the rubric of the case as text",
    CRITERIA: "the criteria of the rubric, to go through: each has key, text, level, points, scale and anchors",
}
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_MARKER = re.compile(r"\[(?=\s*(?:BEGIN|END)\b)", re.IGNORECASE)


# Placeholders that a prompt had before; texts that were edited then are still filled in.
_EARLIER: Mapping[str, frozenset[str]] = {
    "level_cascade_holistic": frozenset({"question", "criteria", "response", "top_rule", "level_25_value"}),
}


class BadPrompt(ValueError):
    """A prompt text lacks a placeholder that its judge needs, or names one that it does not have."""


@dataclass(frozen=True, slots=True)
class VersionedPrompt:
    """A prompt's text with the hash that versions it."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def placeholders(self) -> frozenset[str]:
        return frozenset(_PLACEHOLDER.findall(self.text))


@cache
def load_prompt(name: str) -> VersionedPrompt:
    """Return the prompt shipped under `name`."""
    path = files("judging.judges").joinpath("prompts", f"{name}.md")
    return VersionedPrompt(name, path.read_text(encoding="utf-8").strip())


def chosen_prompt(name: str, own_text: str) -> VersionedPrompt:
    """Return the shipped prompt, or the edited text that stands in for it.

    Raises:
        BadPrompt: the edited text lacks a placeholder of the shipped one, or has one more.
    """
    shipped = load_prompt(name)
    if not own_text:
        return shipped
    edited = VersionedPrompt(name, own_text.strip())
    if edited.placeholders not in (shipped.placeholders, _EARLIER.get(name)):
        differing = ", ".join(f"{{{{{word}}}}}" for word in sorted(edited.placeholders ^ shipped.placeholders))
        raise BadPrompt(f"The prompt must use exactly the placeholders of {name}.md; these differ: {differing}.")
    return edited


def fill(prompt: VersionedPrompt, values: Mapping[str, str]) -> str:
    """Return the prompt with each placeholder replaced by its value, which is not looked into again.

    Raises:
        BadPrompt: a placeholder has no value, or the text would have more than `MAX_PROMPT` characters.
    """
    missing = prompt.placeholders - set(values)
    if missing:
        raise BadPrompt(f"The prompt {prompt.name!r} needs {', '.join(sorted(missing))}.")
    size = len(prompt.text) + sum(len(values[each[1]]) - len(each[0]) for each in _PLACEHOLDER.finditer(prompt.text))
    if size > MAX_PROMPT:
        raise BadPrompt(f"The prompt {prompt.name!r} has {size:,} characters here; {MAX_PROMPT:,} at most.")
    return _PLACEHOLDER.sub(lambda match: values[match[1]], prompt.text)


def as_data(text: str, label: str) -> str:
    """Return `text` between marker lines that it cannot imitate; markers inside it lose their bracket."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    body = _MARKER.sub("(", text) or "(empty)"
    return f"[BEGIN {label} {digest}]\n{body}\n[END {label} {digest}]"


def bounded_text(pieces: Iterable[str]) -> str:
    """Return the pieces as one text.

    Raises:
        BadPrompt: it would have more than `MAX_BOUNDED` characters.
    """
    kept, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_BOUNDED:
            raise BadPrompt(f"The prompt for this response has more than {MAX_BOUNDED:,} characters.")
        kept.append(piece)
    return "".join(kept)


# Raised by every change of how a reply is read. 2: only behind thinking, analysis and quotations; 3: <reasoning> too;
# 4: one exact value in the words that decide, keys of JSON once, headings of the relevance judge with its scale.
PARSER_VERSION = 4
READ_ELSEWHERE = 0  # in the place of a parser version: another tool read the reply, so ours changes nothing
READ_NOW = (PARSER_VERSION, READ_ELSEWHERE)  # of verdicts that a reading today would leave as they are


class VerdictStatus(StrEnum):
    """`ok` and `repaired` carry a value; the others never do, and never count as zero."""

    OK = "ok"
    REPAIRED = "repaired"  # read by a lenient rule; the flags name it
    REFUSED = "refused"
    UNPARSED = "unparsed"
    FAILED = "failed"  # no reply could be had


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """One judge's reading of one subject."""

    status: VerdictStatus
    value: JsonObject | None = None  # e.g. {"score": 50}; {"nodes": {"100.1": True}}; {"preference": 1}
    rationale: str = ""
    flags: tuple[str, ...] = ()
    confidence: float | None = None  # 0..1; measured (order swap, samples, label probabilities), never self-reported
    reason: str = ""  # why there is no value
    raw: tuple[str, ...] = field(default_factory=tuple)  # raw replies, in the order received
    votes: tuple[JsonObject, ...] = ()  # of a panel: what each member said, read or not


@dataclass(frozen=True, slots=True)
class JudgeScore:
    """An exact score and the most it could be; `value` is None where the verdict does not give one."""

    value: Fraction | None
    full: Fraction
    flags: tuple[str, ...] = ()
    detail: Mapping[str, object] = field(default_factory=dict)  # e.g. {"deciding_level": 50}


def image_parts(images_by_owner: Iterable[tuple[str, Iterable[ImageSpec]]]) -> tuple[MessagePart, ...]:
    """Return images, each behind a line that says whose it is."""
    parts: list[MessagePart] = []
    for owner, images in images_by_owner:
        for number, image in enumerate(images, start=1):
            alt = f" ({image.alt})" if image.alt else ""
            parts.append(MessagePart(f"Image {number} of {owner}{alt}:"))
            parts.append(MessagePart(digest=image.digest, media_type=image.media_type))
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class JudgeSubject:
    """One response to judge, or two to compare, with everything that the judge may be shown."""

    question: str
    response: str
    reference: str = ""
    context: str = ""
    context_role: str = ""  # "reference" | "supplementary" | ""
    other_response: str = ""  # the second answer, for a comparison
    rubric: NodeSpec | None = None  # the tree that applies to this case
    criterion_key: str = ""  # judge this node only; for a comparison, the criterion's name
    instruction: str = ""  # what the answering model was told beside the question
    raw_response: str = ""  # before cleaning; empty: the response as it is
    prompt_version: str = ""  # DIRECT | COT | EXPERT | own: how the answer was asked for
    lang: str = ""
    about: str = ""  # the description of the benchmark that the question belongs to
    metadata: JsonObject = field(default_factory=dict)  # what the suite's file says further of the case
    facts: JsonObject = field(default_factory=dict)  # for the rubric's rules
    images: tuple[ImageSpec, ...] = ()  # of the question
    response_images: tuple[ImageSpec, ...] = ()
    other_images: tuple[ImageSpec, ...] = ()  # of the second answer
    messages: tuple[StoredTurn, ...] = ()  # the question's turns, where it is a conversation; `question` is their text

    @property
    def material(self) -> str:
        """Everything that a judge is shown as data: a verdict that stands in it is a quotation, not the judge's."""
        texts = (self.response, self.other_response, self.raw_response, self.question, self.context, self.reference)
        return "\n".join((*texts, self.instruction))

    @property
    def image_count(self) -> int:
        return len(self.images) + len(self.response_images) + len(self.other_images)

    def swapped(self) -> JudgeSubject:
        """Return the same with the two responses in each other's place."""
        return replace(
            self,
            response=self.other_response,
            other_response=self.response,
            response_images=self.other_images,
            other_images=self.response_images,
        )

    def without_images(self) -> JudgeSubject:
        """Return what a judge is shown that cannot see."""
        return replace(self, images=(), response_images=(), other_images=())

    def image_parts(self, *, swapped: bool = False) -> tuple[MessagePart, ...]:
        """Return the images, each behind a line that says whose it is; `swapped`: the second answer is shown first."""
        of_answers = (self.response_images, self.other_images)
        first, second = reversed(of_answers) if swapped else of_answers
        is_pair = bool(self.other_response)
        of_first = "the response A" if is_pair else "the response"
        return image_parts((("the question", self.images), (of_first, first), ("the response B", second)))

    @property
    def has_context(self) -> bool:
        return bool(self.context.strip())

    @property
    def needed_rubric(self) -> NodeSpec:
        """The tree, for a judge that is asked only where there is one."""
        if self.rubric is None:
            raise ValueError("This judge needs a rubric for the case.")
        return self.rubric


STATUS_WORDS: Mapping[str, str] = {
    VerdictStatus.OK: "The reply has exactly the required format.",
    VerdictStatus.REPAIRED: "The reply was not in the required format and was parsed leniently, with repairs.",
    VerdictStatus.REFUSED: "The model, or its provider's filter, refused to answer. There is no score.",
    VerdictStatus.UNPARSED: "No verdict could be parsed, even after a second request, so there is no score.",
    VerdictStatus.FAILED: "There was no reply, so there is no score.",
}

FLAG_WORDS: Mapping[str, str] = {
    "reasked": "requested a second time with the problem quoted",
    "truncated": "the reply was cut off before its end",
    "empty": "the reply is empty",
    "too_long": "the reply is far too long",
    "too_deep": "brackets nest too deeply",
    "too_many": "far too many JSON objects",
    "thinking_unclosed": "the reasoning does not end, so no answer follows it",
    "quoted": "the verdict is quoted from what was judged",
    "not_last": "the JSON object is not the last thing in the reply",
    "inline": "the JSON object is within a line of text",
    "score_in_analysis": "the score does not follow the analysis",
    "no_json": "no JSON object in the reply",
    "not_an_object": "the JSON is not an object",
    "missing_keys": "keys are missing",
    "conflict": "two values contradict each other",
    "not-asked": "the case lacks an input that this judge needs, so no call was made",
    "repaired": "invalid JSON was repaired",
    "string_bool": "true or false was given as text",
    "string_number": "a number was given as text",
    "non_boolean": "neither true nor false",
    "non_integer": "not a whole number",
    "no_reasoning": "no reasoning was given",
    "thinking": "a block of reasoning precedes the answer",
    "fenced": "the answer is in a code block",
    "bold_tags": "tags were in bold",
    "tag_case": "tags were in capitals",
    "no_analysis_open": "the analysis tag was never opened",
    "analysis_unclosed": "the analysis tag was never closed",
    "score_unclosed": "the score tag was never closed",
    "wrong_closing_tag": "the score was closed by another tag",
    "text_after": "text follows the score",
    "several_score_tags": "several score tags that agree",
    "score_tags": "too many score tags",
    "no_score_tag": "no score tag",
    "no_number": "no single whole number in the score tag",
    "out_of_range": "the value is out of range",
    "decorated": "the value has extra formatting",
    "expression": "the score was the result of a written calculation",
    "sentence": "the score was within a sentence",
    "extra_lines": "more lines than required",
    "other_order": "lines in another order",
    "final_missing": "the judge's own final score is missing; the computed score counts",
    "final_unreadable": "the judge's own final score cannot be parsed; the computed score counts",
    "final_mismatch": "the judge's own final score differs from the computed score, which counts",
    "off_grid": "a score between the rubric's steps",
    "normalised": "moved to the nearest step",
    "infeasible": "no set of criteria gives this score",
    "no_context": "there is no context, so its dimension is left out",
    "no_context_forced_0": "there is no context, so context precision counts as 0",
    "unmarked": "the choice is not marked",
    "not_alone": "the choice is not on its own line",
    "earlier_marker": "an earlier choice was revised",
    "samples_split": "the verdict was not the same in all samples",
    "samples_tied": "two values were equally frequent; the first counts",
    "original_reading": "parsed as Lunar-Bench's program does, with a different result",
    "answer_truncated": "the response was cut off at the token limit",
    "empty_answer": "the response is empty",
    "panel_disagreement": "the votes of the panel lie further apart than its margin",
    "panel_tied": "two values have equally many votes, so there is no majority",
    "panel_too_few": "too few members gave a vote on one scale",
    "position_flip": "the choice depends on the order of the responses",
    "scale_unknown": "the file did not say its scale",
    "off_scale": "not on the scale that the file said",
}
# Flags of verdicts that people look at by default: the value is impossible, or it is not sure that the judge meant it.
# A fence, a bold tag or a missing end of a tag leaves no doubt of the value.
DOUBTFUL = (
    "infeasible",
    "sentence",
    "expression",
    "several_score_tags",
    "text_after",
    "repaired",
    "inline",
    "unmarked",
)

_WITH_NAME: Mapping[str, str] = {
    "off_menu": "a value that {} does not allow",
    "mended": "the value of {} was repaired",
    "repeated": "{} was given more than once",
    "capped": "{} was capped by a rule",
    "off_scale": "the value of {} is not on its scale",
    "unmapped": "the rubric defines no points for the value of {}",
    "missing": "{} is missing",
    "unreadable": "{} cannot be parsed",
    "out_of_range": "{} is out of range",
    "conflict": "two values of {} contradict each other",
    "no_vote": "{} gave no vote that could be read, and is left out",
}
_FAILURE_WORDS: Mapping[str, str] = {
    "incomplete": "undecided",
    "error": "invalid case",
    "crashed": "internal error",
    "endpoint-not-in-use": "endpoint inactive",
    "answer-images-not-sent": "endpoint cannot see images",
    "not-stored": "result that cannot be stored",
    "tried-too-often": "its workers failed too often",
}


def flag_in_words(flag: str) -> str:
    """Return what a flag of a verdict or score means; an unknown one in its own words."""
    name, _, about = flag.partition(":")
    if about and name in _WITH_NAME:
        return _WITH_NAME[name].format(about.replace("_", " "))
    return FLAG_WORDS.get(flag) or flag.replace("_", " ").replace("-", " ")


def doubts_in_words(flags: Iterable[str]) -> tuple[str, ...]:
    """Return why the value of a verdict with these flags is in doubt, in words; empty where it is not."""
    flags_given = set(flags)
    return tuple(FLAG_WORDS[flag] for flag in DOUBTFUL if flag in flags_given)


def failure_in_words(kind: str) -> str:
    """Return why a task has no result, as a chip shows it."""
    return _FAILURE_WORDS.get(kind) or kind.replace("_", " ").replace("-", " ")


def converse_together(conversations: Mapping[str, Conversation[Any]]) -> Conversation[tuple[JsonObject, list[str]]]:
    """Yield what all of them ask at the same moment as one batch; return their results by name.

    With them comes whose request each one was, in the order asked.
    """
    results: JsonDict = {}
    callers: list[str] = []
    waiting: dict[str, tuple[ChatRequest, ...]] = {}
    for name, conversation in conversations.items():
        _step(conversation, None, name, waiting, results)
    while waiting:
        batch = waiting
        callers += [name for name, requests in batch.items() for _ in requests]
        replies = yield tuple(request for requests in batch.values() for request in requests)
        waiting, start = {}, 0
        for name, requests in batch.items():
            part = replies[start : start + len(requests)]
            start += len(requests)
            _step(conversations[name], part, name, waiting, results)
    return results, callers


def changed(conversation: Conversation[R], change: Callable[[ChatRequest], ChatRequest]) -> Conversation[R]:
    """Hold a conversation with each of its requests changed."""
    try:
        requests = next(conversation)
        while True:
            replies = yield tuple(map(change, requests))
            requests = conversation.send(replies)
    except StopIteration as end:
        result: R = end.value
        return result


def over_both_orders(
    straight: JudgeVerdict,
    swapped: JudgeVerdict,
    combine: Callable[[JsonObject, JsonObject], tuple[JsonDict, float, bool]],
) -> JudgeVerdict:
    """Return one verdict over both orders of two responses. Without a value in both there is none.

    `combine` makes one value of both, and says how far they agree, 0 to 1, and whether they contradict each other.
    """
    raw = (*straight.raw, *swapped.raw)
    if straight.value is None or swapped.value is None:
        failed = straight if straight.value is None else swapped
        return JudgeVerdict(failed.status, flags=failed.flags, reason=failed.reason, raw=raw)
    value, confidence, is_flip = combine(straight.value, swapped.value)
    flags = tuple(dict.fromkeys((*straight.flags, *swapped.flags)))
    is_repaired = VerdictStatus.REPAIRED in (straight.status, swapped.status)
    return JudgeVerdict(
        VerdictStatus.REPAIRED if is_repaired else VerdictStatus.OK,
        value=value,
        rationale=f"Shown first: {straight.rationale}\n\nShown second: {swapped.rationale}",
        flags=(*flags, "position_flip") if is_flip else flags,
        confidence=confidence,
        raw=raw,
    )


def addressed(conversation: Conversation[R], endpoint: str) -> Conversation[R]:
    """Send everything that a conversation asks to one endpoint."""
    return changed(conversation, lambda request: replace(request, endpoint=endpoint))


def _step(
    conversation: Conversation[Any],
    replies: tuple[ChatReply, ...] | None,
    name: str,
    waiting: dict[str, tuple[ChatRequest, ...]],
    results: JsonDict,
) -> None:
    """Take one conversation on to its next requests, or to its end."""
    try:
        waiting[name] = next(conversation) if replies is None else conversation.send(replies)
    except StopIteration as end:
        results[name] = end.value


class JudgeProgram(ABC):
    """A judge is frozen: the same options and subject always ask the same."""

    __slots__ = ()

    @property
    def prompts(self) -> tuple[VersionedPrompt, ...]:
        """Every prompt text that it sends; none where it calls no model."""
        return ()

    @abstractmethod
    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Yield what to ask, receive the replies, and return the verdict."""

    @abstractmethod
    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return what the value of a verdict is worth."""

    def request(self, subject: JudgeSubject) -> ChatRequest:
        """Return the first request about a subject; only of a judge that asks a model."""
        return next(self.converse(subject))[0]

    def labels(self, subject: JudgeSubject) -> Mapping[str, JsonObject]:
        """Return one-character labels with the values they stand for; empty where a verdict is no single label."""
        return {}


class ComputedJudge(JudgeProgram):
    """A judge that calls no model: its verdict follows from the subject alone."""

    __slots__ = ()

    @abstractmethod
    def verdict(self, subject: JudgeSubject) -> JudgeVerdict:
        """Return the verdict on a subject."""

    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Return the verdict without asking."""
        yield from ()
        return self.verdict(subject)
