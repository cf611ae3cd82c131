"""One item of the ESI from question to score: answer, clean, judge twice at once, score.

Source: Lunar-Bench. `Reading.ORIGINAL` reads judges' replies as its program does, which turns an unreadable accuracy
reply into "not correct" without a word; the default asks once more and then has no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from judging.grading.grades import (
    EsiMeasures,
    EsiOptions,
    EsiScore,
    EsiStatus,
    clean_answer,
    esi_score,
    judged_status,
)
from judging.judges.answer_prompts import is_answer, stop_reason_of
from judging.judges.kinds import accuracy, integrity
from judging.judges.kinds.accuracy import OriginalReading
from judging.judges.questions import read_reply
from judging.judges.subjects import (
    JudgeProgram,
    JudgeSubject,
    JudgeVerdict,
    VerdictStatus,
    addressed,
    converse_together,
)
from judging.llm.chat import ChatReply, ChatRequest, Conversation, ReplyStatus, without_thinking

JUDGES = ("accuracy", "integrity")


class ReplyReading(StrEnum):
    """How judges' replies are read."""

    CAREFUL = "careful"
    ORIGINAL = "original"


@dataclass(frozen=True, slots=True)
class EsiJudge:
    """One of the two judges with the endpoint that it asks."""

    judge: JudgeProgram
    endpoint: str


@dataclass(frozen=True, slots=True)
class EsiResponse:
    """An answer as it came from a model or was imported."""

    text: str
    completion_tokens: int | None = None
    seconds: float | None = None
    flags: tuple[str, ...] = ()
    stop_reason: str = ""


@dataclass(frozen=True, slots=True)
class EsiTask:
    """Everything that one item needs. Either `request` asks for the answer, or `answer` is there already."""

    instruction: str
    question: str
    reference: str
    cleaning: str  # the prompt version by whose rules the answer is cleaned
    accuracy: EsiJudge
    integrity: EsiJudge
    request: ChatRequest | None = None
    answer: EsiResponse | None = None
    reading: ReplyReading = ReplyReading.CAREFUL
    options: EsiOptions = field(default_factory=EsiOptions)
    known_verdicts: Mapping[str, JudgeVerdict] = field(default_factory=dict)  # verdicts of an earlier try, by judge


@dataclass(frozen=True, slots=True)
class EsiOutcome:
    """What came of one item. Without an answer there are no verdicts and no score."""

    status: EsiStatus
    answer: EsiResponse | None = None
    cleaned: str = ""
    formatted_ok: bool = True
    verdicts: Mapping[str, JudgeVerdict] = field(default_factory=dict)
    score: EsiScore | None = None
    failure: str = ""  # why the item has no index; empty where it has one
    reason: str = ""
    callers: tuple[str, ...] = ()  # whom each call asked, in order: worker | accuracy | integrity


def esi_item(task: EsiTask) -> Conversation[EsiOutcome]:
    """Ask for the answer where there is none, then both judges at once; return what came of it."""
    answer = task.answer
    callers: tuple[str, ...] = ()
    if answer is None:
        if task.request is None:
            raise ValueError("An item needs an answer, or a request for one.")
        (reply,) = yield (task.request,)
        callers = ("worker",)
        refused = _refused(reply, task.reading)
        if refused is not None:
            return replace(refused, callers=callers)
        answer = _answer_of(reply, task.reading)
    cleaned, formatted_ok = clean_answer(answer.text, task.cleaning)
    subject = JudgeSubject(
        question=task.question,
        response=cleaned,
        raw_response=answer.text,
        reference=task.reference,
        instruction=task.instruction,
        prompt_version=task.cleaning,
    )
    to_ask = {name: _judging(task, name, subject) for name in JUDGES if name not in task.known_verdicts}
    results, asked_by = yield from converse_together(to_ask)
    verdicts = {name: task.known_verdicts[name] if name in task.known_verdicts else results[name] for name in JUDGES}
    score = score_item(
        verdicts=verdicts,
        answer=answer,
        cleaned=(cleaned, formatted_ok),
        reference=task.reference,
        cleaning=task.cleaning,
        options=task.options,
    )
    status = status_of(verdicts)
    return EsiOutcome(
        status=status,
        answer=answer,
        cleaned=cleaned,
        formatted_ok=formatted_ok,
        verdicts=verdicts,
        score=score,
        failure=failure_of(verdicts, status),
        reason="; ".join(f"{name}: {verdict.reason}" for name, verdict in verdicts.items() if verdict.value is None),
        callers=(*callers, *asked_by),
    )


def score_item(
    *,
    verdicts: Mapping[str, JudgeVerdict],
    answer: EsiResponse,
    cleaned: tuple[str, bool],
    reference: str,
    cleaning: str,
    options: EsiOptions,
) -> EsiScore:
    """Return sub-scores and index from what was said and measured; asks nobody. `cleaned` is as of `clean_answer`."""
    correct, rated = verdicts["accuracy"].value, verdicts["integrity"].value
    text, formatted_ok = cleaned
    measures = EsiMeasures(
        is_correct=None if correct is None else bool(correct["is_correct"]),
        integrity=None if rated is None else float(rated["integrity"]),
        completion_tokens=answer.completion_tokens,
        cleaned=text,
        reference=reference,
        prompt_version=cleaning,
        formatted_ok=formatted_ok,
    )
    score = esi_score(measures, options)
    return replace(score, flags=(*score.flags, *answer.flags))


def status_of(verdicts: Mapping[str, JudgeVerdict]) -> EsiStatus:
    """Return where a judged item ended; an accuracy error wins over an integrity error."""
    return judged_status(
        accuracy_failed=verdicts["accuracy"].value is None, integrity_failed=verdicts["integrity"].value is None
    )


def failure_of(verdicts: Mapping[str, JudgeVerdict], status: EsiStatus) -> str:
    """Return which judge a judged item lacks, so that it can be asked again; empty where both gave their verdicts.

    An item that both have judged and that has no index, since nobody knows its tokens, is done: asking again cannot
    tell them. It is incomplete, counted as such, and gets its index when the option counts unknown figures as 0.
    """
    if status is EsiStatus.COMPLETED:
        return ""
    failed = "accuracy" if status is EsiStatus.ACCURACY_ERROR else "integrity"
    return f"{failed}-{verdicts[failed].status.value}"


def _refused(reply: ChatReply, reading: ReplyReading) -> EsiOutcome | None:
    """Return the end of an item without an answer; None where there is one.

    A truncated answer is one, and to Lunar-Bench so is an empty one, or one of nothing but thinking.
    """
    if is_answer(reply):
        return None
    is_cut_off_text = reply.status is ReplyStatus.TRUNCATED and bool(reply.text)
    if reading is ReplyReading.ORIGINAL and (reply.error_kind == "empty" or is_cut_off_text):
        return None
    kind = reply.error_kind or reply.status.value
    return EsiOutcome(EsiStatus.WORKER_ERROR, failure=f"answer-{kind}", reason=reply.error_text or kind)


def response_text(text: str, reading: ReplyReading) -> str:
    """Return the response that a reply's text is; to Lunar-Bench all of it, as it came."""
    return text if reading is ReplyReading.ORIGINAL else without_thinking(text)


def _answer_of(reply: ChatReply, reading: ReplyReading) -> EsiResponse:
    flags = ("answer_truncated",) if reply.status is ReplyStatus.TRUNCATED else ()
    is_empty = not reply.text and reply.completion_tokens is not None
    tokens = 0 if is_empty else reply.text_tokens
    return EsiResponse(response_text(reply.text, reading), tokens, reply.seconds, flags, stop_reason_of(reply))


def _judging(task: EsiTask, name: str, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
    chosen: EsiJudge = getattr(task, name)
    if name == "accuracy" and not task.reference.strip():
        return _not_asked("The case has no reference answer.")
    if task.reading is ReplyReading.ORIGINAL:
        conversation = _as_original(name, chosen.judge, subject)
    else:
        conversation = chosen.judge.converse(subject)
    return addressed(conversation, chosen.endpoint)


def _not_asked(reason: str) -> Conversation[JudgeVerdict]:
    yield from ()
    return JudgeVerdict(VerdictStatus.FAILED, reason=reason, flags=("not-asked",))


def _as_original(name: str, judge: JudgeProgram, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
    """Ask once and read as Lunar-Bench does."""
    (reply,) = yield (judge.request(subject),)
    as_original, strictly, key = _READERS[name]
    return read_reply(reply, lambda text: _verdict_of(as_original(text), strictly(text), key))


_READERS: Mapping[str, tuple[Callable[[str], OriginalReading], Callable[[str], JudgeVerdict], str]] = {
    "accuracy": (accuracy.read_as_original, accuracy.read_accuracy, "is_correct"),
    "integrity": (integrity.read_as_original, integrity.read_integrity, "integrity"),
}


def _verdict_of(original: OriginalReading, strict: JudgeVerdict, key: str) -> JudgeVerdict:
    """Return Lunar-Bench's reading as a verdict that says where ours differs."""
    if original.counts_as_error or original.value is None:
        return JudgeVerdict(
            VerdictStatus.UNPARSED,
            rationale=original.reasoning,
            flags=("original_reading",),
            reason="Lunar-Bench's program counts this reply as an error.",
        )
    value = {key: original.value if key == "is_correct" else float(original.value)}
    agrees = strict.value is not None and strict.value[key] == value[key]
    status = strict.status if agrees else VerdictStatus.REPAIRED
    flags = () if agrees else ("original_reading",)
    return JudgeVerdict(status, value=value, rationale=original.reasoning, flags=flags)
