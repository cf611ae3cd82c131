"""Prepares and stores the items of ESI runs, and the asks of runs whose systems respond first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import Any, cast

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Now

from evalsite.base.types import JsonDict, JsonObject
from judging.grading.grades import FULL, SUB_SCORES, BadEsiOption, EsiOptions, EsiScore, EsiStatus
from judging.grading.rubric_tree import ScoreStatus
from judging.judges.answer_prompts import asking_from_json, is_answer, stop_reason_of
from judging.judges.kinds.esi_items import JUDGES, EsiJudge, EsiOutcome, EsiResponse, EsiTask, ReplyReading, esi_item
from judging.judges.registry import judge_kind
from judging.judges.subjects import BadPrompt, JudgeSubject, JudgeVerdict, VerdictStatus
from judging.llm.chat import ChatReply, ChatRequest, Conversation, ReplyStatus, without_thinking
from judging.models import Ask, EsiItem, ModelEndpoint, Response, Run, RunEvaluator, RunTask, Score, Verdict
from judging.services.evaluator_tasks import (
    GradingExecutor,
    NewResponse,
    ResponseKey,
    judge_score_fields,
    store_responses,
    store_scores,
    store_verdicts,
    verdict_fields,
)
from judging.services.registries import Executor, FinishedTask, ReadyTask
from judging.services.systems import SEES_IMAGES, asking_request, question_of
from judging.stored_content import storable

ORIGINAL: JsonObject = {"length_rule": "original", "unknown_as_zero": True}  # what the published program does


def options_to_json(options: EsiOptions) -> JsonDict:
    """Return the options as a run freezes them."""
    return {**asdict(options), "weights": dict(options.weights), "unsafe_keywords": list(options.unsafe_keywords)}


def options_from_json(data: JsonObject) -> EsiOptions:
    """Return options as they were frozen; those left out have their defaults.

    Raises:
        BadEsiOption: there is no such option, or it cannot have this value.
    """
    unknown = set(data) - {field.name for field in fields(EsiOptions)}
    if unknown:
        raise BadEsiOption(f"The ESI has no option {min(unknown)!r}.")
    values = dict(data)
    if "unsafe_keywords" in values:
        values["unsafe_keywords"] = tuple(values["unsafe_keywords"])
    return EsiOptions(**values)


def options_of(run: Run) -> EsiOptions:
    """Return the options by which a run's index is computed at present."""
    return options_from_json(run.options["esi"])


NOTHING_MORE = JudgeSubject(question="", response="")  # these two judges' scores need the verdict alone


def parts_of(run: Run) -> tuple[dict[str, RunEvaluator], RunEvaluator]:
    """Return the evaluators of an ESI run: its judges by name, and its index."""
    rows = list(run.evaluators.select_related("judge").order_by("position"))
    return dict(zip(JUDGES, rows[: len(JUDGES)], strict=True)), rows[len(JUDGES)]


def cleaning_of(run: Run, item: EsiItem) -> str:
    """Return the prompt version by whose rules an item's response is cleaned."""
    frozen = run.options["workers"].get(str(item.system_id))
    return asking_from_json(frozen).cleaning if frozen else item.system.prompt_version


class EsiExecutor(Executor):
    """Prepares and stores the items of ESI runs."""

    def prepare(self, *, run: Run, tasks: Sequence[RunTask]) -> list[ReadyTask]:
        """Return a conversation for each item."""
        related = ("case__prompt", "system", "response")
        items = EsiItem.objects.select_related(*related).in_bulk([cast(int, task.subject_id) for task in tasks])
        evaluators, _ = parts_of(run)
        judges = {name: _judge(evaluator) for name, evaluator in evaluators.items()}
        verdicts = _known_verdicts(evaluators, [item.response_id for item in items.values() if item.response_id])
        options = options_of(run)
        return [
            ReadyTask(task.pk, "", esi_item(_task(run, items[cast(int, task.subject_id)], judges, verdicts, options)))
            for task in tasks
        ]

    def store(self, *, run: Run, finished: Sequence[FinishedTask], at: datetime) -> None:
        """Write responses, verdicts and scores."""
        if not finished:
            return
        judges, index = parts_of(run)
        ids = [cast(int, finished_task.task.subject_id) for finished_task in finished]
        items = EsiItem.objects.select_related("case").in_bulk(ids)
        finished_items = [
            _FinishedItem(items[pk], finished_task.task, finished_task.result, finished_task.call_ids)
            for pk, finished_task in zip(ids, finished, strict=True)
        ]
        _store_responses(run, finished_items, at)
        EsiItem.objects.bulk_update(
            [_updated_item(row) for row in finished_items],
            ["response", "status", "reason", "cleaned", "formatted_ok", "answer_seconds", "call_ids"],
        )
        for row in finished_items:
            row.task.response_id = row.item.response_id
        RunTask.objects.bulk_update([row.task for row in finished_items], ["response"])
        judged = [row for row in finished_items if row.outcome.score is not None]
        for name, evaluator in judges.items():
            _store_verdicts(name, evaluator, judged, at)
        store_scores(rows=[_index_score(run, index, row, at) for row in judged], at=at)

    def failure(self, result: Any) -> str:
        """Return why an item has no index."""
        return str(result.failure)

    def reset(self, *, run: Run, tasks: QuerySet[RunTask]) -> None:
        """Let these items wait again; responses, verdicts and scores stay until the next try supersedes them."""
        EsiItem.objects.filter(pk__in=tasks.values("subject_id")).update(status="", reason="")


def _judge(evaluator: RunEvaluator) -> EsiJudge:
    built = judge_kind(evaluator.options["judge_kind"]).build(evaluator.options["judge_options"])
    return EsiJudge(built, evaluator.options["endpoint"])


def _known_verdicts(
    judges: Mapping[str, RunEvaluator], responses: Sequence[int]
) -> dict[tuple[str, int], JudgeVerdict]:
    """Return the verdicts of earlier tries that are still good."""
    names = {evaluator.pk: name for name, evaluator in judges.items()}
    rows = Verdict.objects.filter(evaluator__in=names, response_id__in=responses, value__isnull=False)
    return {
        (names[row.evaluator_id], row.response_id): JudgeVerdict(
            VerdictStatus(row.status), value=row.value, rationale=row.rationale, flags=tuple(row.flags)
        )
        for row in rows
    }


def _task(
    run: Run,
    item: EsiItem,
    judges: Mapping[str, EsiJudge],
    verdicts: Mapping[tuple[str, int], JudgeVerdict],
    options: EsiOptions,
) -> EsiTask:
    instruction, question = question_of(item.case)
    answer, request, response_id = None, None, item.response_id or 0
    if item.response is not None:
        flags = ("answer_truncated",) if item.response.metadata.get("truncated") else ()
        answer = EsiResponse(item.response.text, item.response.completion_tokens, item.answer_seconds, flags)
    else:
        frozen = run.options["workers"][str(item.system_id)]
        request = asking_request(
            item.case,
            asking_from_json(frozen),
            endpoint=frozen["endpoint"],
            with_images=SEES_IMAGES in frozen,  # its judges read texts only, as the run states
        )
    return EsiTask(
        instruction=instruction,
        question=question,
        reference=item.case.reference,
        cleaning=cleaning_of(run, item),
        accuracy=judges["accuracy"],
        integrity=judges["integrity"],
        request=request,
        answer=answer,
        reading=ReplyReading(run.options["reading"]),
        options=options,
        known_verdicts={name: verdicts[name, response_id] for name in JUDGES if (name, response_id) in verdicts},
    )


@dataclass(frozen=True, slots=True)
class _FinishedItem:
    """An item whose conversation has ended."""

    item: EsiItem
    task: RunTask
    outcome: EsiOutcome
    call_ids: tuple[int, ...]

    def calls(self, wanted_role: str) -> list[int]:
        """Return the calls that asked one of worker, accuracy and integrity, in order."""
        return [pk for pk, role in zip(self.call_ids, self.outcome.callers, strict=False) if role == wanted_role]


def _store_responses(run: Run, finished_items: Sequence[_FinishedItem], at: datetime) -> None:
    """Give every answered item its response."""
    replies = {
        row.item: _new_response(row, row.outcome.answer)
        for row in finished_items
        if row.item.response_id is None and row.outcome.answer is not None
    }
    responses = (
        store_responses(run=run, replies=list(replies.values()), frozen=run.options["workers"], at=at)
        if replies
        else []
    )
    for item, response in zip(replies, responses, strict=True):
        item.response, item.response_id = response, response.pk


def _new_response(row: _FinishedItem, answer: EsiResponse) -> NewResponse:
    calls = row.calls("worker")
    return NewResponse(
        system_id=row.item.system_id,
        prompt_id=row.item.case.prompt_id,
        attempt=0,
        text=answer.text,
        completion_tokens=answer.completion_tokens,
        seconds=answer.seconds,
        stop_reason=answer.stop_reason,
        call_id=calls[-1] if calls else None,
        is_truncated="answer_truncated" in answer.flags,
    )


def _updated_item(row: _FinishedItem) -> EsiItem:
    item, outcome = row.item, row.outcome
    item.status, item.reason = outcome.status.value, storable(outcome.reason)[:500]
    item.cleaned, item.formatted_ok = storable(outcome.cleaned), outcome.formatted_ok
    item.call_ids = row.calls("worker") or item.call_ids
    if outcome.answer is not None:
        item.answer_seconds = outcome.answer.seconds
    return item


def _store_verdicts(name: str, evaluator: RunEvaluator, judged: Sequence[_FinishedItem], at: datetime) -> None:
    """Write the new verdicts of one of the judges, with their scores, and count them."""
    judged_ids = set(
        Verdict.objects.filter(
            evaluator=evaluator, response_id__in=[row.item.response_id for row in judged], value__isnull=False
        ).values_list("response_id", flat=True)
    )
    verdicts = [
        Verdict(
            run_id=evaluator.run_id,
            evaluator=evaluator,
            response_id=cast(int, row.item.response_id),
            call_ids=row.calls(name),
            created_at=at,
            **verdict_fields(row.outcome.verdicts[name]),
        )
        for row in judged
        if row.item.response_id not in judged_ids
    ]
    superseded = store_verdicts(rows=verdicts, at=at)  # none of which has a value
    judge = judge_kind(evaluator.options["judge_kind"]).build(evaluator.options["judge_options"])
    scores = [
        Score(
            run_id=evaluator.run_id,
            evaluator=evaluator,
            response_id=verdict.response_id,
            verdict=verdict,
            created_at=at,
            **judge_score_fields(judge.score(verdict.value or {}, NOTHING_MORE)),
        )
        for verdict in verdicts
        if verdict.value is not None
    ]
    store_scores(rows=scores, at=at)
    counts = Counter(verdict.value is not None for verdict in verdicts)
    RunEvaluator.objects.filter(pk=evaluator.pk).update(
        done=F("done") + counts[True], failed=F("failed") + counts[False] - len(superseded)
    )


def index_fields(score: EsiScore, status: EsiStatus) -> JsonDict:
    """Return the fields of an index row; one that did not complete has no number, whatever its parts are."""
    counts = status is EsiStatus.COMPLETED and score.esi is not None
    score_fields = asdict(score)
    return {
        "status": ScoreStatus.COMPLETE if counts else ScoreStatus.INCOMPLETE,
        "value": score.esi if counts else None,
        "full": FULL if counts else None,
        "share": score.esi / FULL if counts and score.esi is not None else None,
        "flags": list(score.flags),
        "detail": {
            "sub_scores": {name: score_fields[name] for name in SUB_SCORES},
            "index": score.esi,  # also of items that do not count, as Lunar-Bench's files have it
            "missing": list(score.missing),
            "ended": status.value,
        },
    }


def _index_score(run: Run, index: RunEvaluator, row: _FinishedItem, at: datetime) -> Score:
    assert row.outcome.score is not None
    return Score(
        run=run,
        evaluator=index,
        response_id=cast(int, row.item.response_id),
        created_at=at,
        **index_fields(row.outcome.score, row.outcome.status),
    )


TASK_BATCH = 1000
IMAGES = ChatReply(
    ReplyStatus.FAILED,
    error_kind="images-not-sent",
    error_text="The case has images, and the endpoint of the system has not shown in its test that it sees. Test the "
    "endpoint again or state on its page that it sees, then start a new run; or import responses.",
)


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """What came of an ask: a reply, or the response that an earlier run was given to the same."""

    reply: ChatReply | None = None
    response_id: int | None = None

    @property
    def failure(self) -> str:
        """Why there is no response; empty where there is one."""
        if self.reply is None or is_answer(self.reply):
            return ""
        return f"answer-{self.reply.error_kind or self.reply.status.value}"[:60]


class AskingExecutor(GradingExecutor):
    """Prepares and stores asks too, and with them the tasks of graders and judges that follow."""

    def prepare(self, *, run: Run, tasks: Sequence[RunTask]) -> list[ReadyTask]:
        """Return a conversation for each task."""
        asks = [task for task in tasks if task.evaluator_id is None]
        judged = [task for task in tasks if task.evaluator_id is not None]
        ready = super().prepare(run=run, tasks=judged) if judged else []
        return [*ready, *(_prepared(run, asks) if asks else [])]

    def store(self, *, run: Run, finished: Sequence[FinishedTask], at: datetime) -> None:
        """Write responses with the tasks that follow from them; verdicts and scores."""
        asks = [finished_task for finished_task in finished if isinstance(finished_task.result, AskOutcome)]
        if asks:
            _store_asks(run, asks, at)
        super().store(
            run=run, finished=[finished_task for finished_task in finished if finished_task not in asks], at=at
        )

    def failure(self, result: Any) -> str:
        """Return why a task has no result."""
        return result.failure if isinstance(result, AskOutcome) else super().failure(result)

    def reset(self, *, run: Run, tasks: QuerySet[RunTask]) -> None:
        """Let failed asks wait again, with the tasks of graders and judges that will follow from them."""
        asks = Ask.objects.filter(pk__in=tasks.filter(evaluator__isnull=True).values("subject_id"), run=run)
        count = asks.update(failure="", stop_reason="", reason="")
        _expect(run, count)

    def finish(self, *, run: Run, at: datetime) -> None:
        """Count the tasks that there are: no more will follow."""
        if not run.asked_systems:
            return
        Ask.objects.filter(run=run, response__isnull=True, failure="").update(failure="crashed")
        counts = dict(run.tasks.order_by().values_list("evaluator").annotate(n=Count("pk")))
        for pk in run.evaluators.values_list("pk", flat=True):
            RunEvaluator.objects.filter(pk=pk).update(total=counts.get(pk, 0))
        Run.objects.filter(pk=run.pk).update(total=sum(counts.values()))


def _expect(run: Run, count: int) -> None:
    """Count on so many more responses for each grader and judge."""
    more = count * run.evaluators.update(total=F("total") + count)
    Run.objects.filter(pk=run.pk).update(total=F("total") + more)


def _prepared(run: Run, tasks: Sequence[RunTask]) -> list[ReadyTask]:
    asks = Ask.objects.select_related("case__prompt").in_bulk([cast(int, task.subject_id) for task in tasks])
    reusable = {} if run.options.get("fresh") else _reusable_responses(asks.values())
    frozen = run.asked_systems
    ready = []
    for task in tasks:
        ask = asks[cast(int, task.subject_id)]
        frozen_system = frozen[str(ask.system_id)]
        if ask.case.prompt.images and not frozen_system.get(SEES_IMAGES):
            ready.append(ReadyTask(task.pk, frozen_system["endpoint"], _refuse(IMAGES)))
            continue
        response = reusable.get((ask.system_id, ask.case.prompt_id, ask.attempt))
        if response is not None:
            ready.append(ReadyTask(task.pk, frozen_system["endpoint"], _reuse(response)))
            continue
        try:
            request = asking_request(
                ask.case, asking_from_json(frozen_system), endpoint=frozen_system["endpoint"], attempt=ask.attempt
            )
        except BadPrompt as problem:
            refusal = ChatReply(ReplyStatus.FAILED, error_kind="prompt-too-long", error_text=str(problem))
            ready.append(ReadyTask(task.pk, frozen_system["endpoint"], _refuse(refusal)))
        else:
            ready.append(ReadyTask(task.pk, frozen_system["endpoint"], _ask(request)))
    return ready


def _reusable_responses(asks: Collection[Ask]) -> dict[ResponseKey, int]:
    """Return the current responses that earlier runs were given to the same, unless they are too old for it."""
    too_old = Q()
    for pk, days in ModelEndpoint.objects.filter(reuse_days__isnull=False).values_list("pk", "reuse_days"):
        too_old |= Q(call__endpoint_id=pk, call__finished_at__lt=Now() - timedelta(days=days or 0))
    rows = Response.objects.filter(
        system_id__in={ask.system_id for ask in asks},
        prompt_id__in={ask.case.prompt_id for ask in asks},
        call__isnull=False,
        superseded_at__isnull=True,
    )
    rows = rows.exclude(too_old) if too_old else rows
    return {(system, prompt, attempt): pk for system, prompt, attempt, pk in rows.values_list(
        "system_id", "prompt_id", "attempt", "pk"
    )}  # fmt: skip


def _ask(request: ChatRequest) -> Conversation[AskOutcome]:
    (reply,) = yield (request,)
    return AskOutcome(reply)


def _refuse(reply: ChatReply) -> Conversation[AskOutcome]:
    yield from ()
    return AskOutcome(reply)


def _reuse(response_id: int) -> Conversation[AskOutcome]:
    yield from ()
    return AskOutcome(response_id=response_id)


def _store_asks(run: Run, finished: Sequence[FinishedTask], at: datetime) -> None:
    asks = Ask.objects.select_related("case").in_bulk(
        [cast(int, finished_task.task.subject_id) for finished_task in finished]
    )
    finished_asks = [(asks[cast(int, finished_task.task.subject_id)], finished_task) for finished_task in finished]
    answered_asks = [
        (ask, finished_task)
        for ask, finished_task in finished_asks
        if finished_task.result.reply is not None and not finished_task.result.failure
    ]
    rows = store_responses(
        run=run,
        replies=[_response_of_ask(ask, finished_task) for ask, finished_task in answered_asks],
        frozen=run.asked_systems,
        at=at,
    )
    for (ask, _), row in zip(answered_asks, rows, strict=True):
        ask.response_id = row.pk
    for ask, finished_task in finished_asks:
        _update_ask(ask, finished_task)
        finished_task.task.response_id = ask.response_id
    Ask.objects.bulk_update(asks.values(), ["response", "stop_reason", "failure", "reason", "call_ids"])
    RunTask.objects.bulk_update([finished_task.task for _, finished_task in finished_asks], ["response"])
    evaluators = list(run.evaluators.order_by("position").values_list("pk", flat=True))
    responses = [ask.response_id for ask, _ in finished_asks if ask.response_id is not None]
    RunTask.objects.bulk_create(
        [RunTask(run=run, evaluator_id=pk, response_id=response) for response in responses for pk in evaluators],
        batch_size=TASK_BATCH,
        ignore_conflicts=True,
    )
    _expect(run, len(responses) - len(finished_asks))


def _response_of_ask(ask: Ask, finished: FinishedTask) -> NewResponse:
    reply: ChatReply = finished.result.reply
    return NewResponse(
        system_id=ask.system_id,
        prompt_id=ask.case.prompt_id,
        attempt=ask.attempt,
        text=without_thinking(reply.text),
        completion_tokens=reply.text_tokens,
        seconds=reply.seconds,
        stop_reason=stop_reason_of(reply),
        call_id=finished.call_ids[-1] if finished.call_ids else None,
        is_truncated=reply.status is ReplyStatus.TRUNCATED,
    )


def _update_ask(ask: Ask, finished: FinishedTask) -> None:
    outcome: AskOutcome = finished.result
    ask.call_ids = list(finished.call_ids) or ask.call_ids
    ask.failure = outcome.failure
    if outcome.reply is None:
        ask.response_id = outcome.response_id
        return
    ask.stop_reason = stop_reason_of(outcome.reply)
    ask.reason = storable(outcome.reply.error_text)[:500] if outcome.failure else ""
