"""Computes stored scores again: by other options of a judge, or other weights and thresholds of the ESI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from evalsite.accounts.audit import record
from evalsite.base import signals
from evalsite.base.rows import batches, check_owner, grouped, lock_row
from evalsite.base.types import JsonDict, JsonObject, Refused
from judging.grading.grades import EsiOptions, EsiStatus
from judging.judges.judge_kinds import BadJudgeOption
from judging.judges.kinds.esi_items import JUDGES, EsiResponse, failure_of, score_item
from judging.judges.registry import judge_kind
from judging.judges.subjects import JudgeVerdict, VerdictStatus
from judging.models import (
    Case,
    EsiItem,
    EvaluatorKind,
    Run,
    RunEvaluator,
    RunKind,
    RunTask,
    Score,
    TaskStatus,
    Verdict,
)
from judging.models.runs import ACTIVE
from judging.selectors.runs import scoring_options
from judging.services.esi_tasks import (
    cleaning_of,
    index_fields,
    options_of,
    options_to_json,
    parts_of,
)
from judging.services.evaluator_tasks import judge_score_fields, subject_of, trees_of
from judging.services.long_jobs import persistently

CHUNK = 500
SCORE_FIELDS = ("status", "value", "full", "share", "flags", "detail")


# a score as it is to be, its value before, and why its task counts as failed; empty where it is done
_NewScore = tuple[Score, float | None, str]


class RescoringRefused(Refused):
    """The scores cannot be computed again like that; the message is shown on the page."""


@transaction.atomic
def begin_judge(*, evaluator_id: int, options: JsonObject, actor: User | None, at: datetime) -> RunEvaluator:
    """Store a judge's other options, and that scores do not follow them yet; `finish_rescoring` computes them.

    Raises:
        NotOwner: it is the run of somebody else.
        RescoringRefused: the run is at work, or an option would change what the judge is asked.
    """
    evaluator = _locked(evaluator_id)
    allowed = scoring_options(evaluator)
    before: JsonDict = dict(evaluator.options["judge_options"])
    foreign = sorted(name for name, value in options.items() if name not in allowed and before.get(name) != value)
    if foreign:
        raise RescoringRefused(f"{foreign[0]} changes the request to the judge; start a new run for it.")
    new_options = {**before, **options}
    try:
        judge_kind(evaluator.options["judge_kind"]).build(new_options)
    except BadJudgeOption as error:
        raise RescoringRefused(str(error)) from None
    evaluator.options = {**evaluator.options, "judge_options": new_options}
    _mark_begun(evaluator, {name: before.get(name) for name in allowed}, actor, at)
    return evaluator


@transaction.atomic
def begin_index(*, run_id: int, options: EsiOptions, actor: User | None, at: datetime) -> RunEvaluator:
    """Store an ESI run's other weights and thresholds, and that its figures do not follow them yet.

    Raises:
        NotOwner: it is the run of somebody else.
        RescoringRefused: the run is at work, or is no ESI run.
    """
    run, new_options = Run.objects.get(pk=run_id), options_to_json(options)
    if run.kind != RunKind.ESI:
        raise RescoringRefused("This run is not an ESI run.")
    index = _locked(parts_of(run)[1].pk)
    run = index.run
    before = run.options["esi"]
    run.options = {**run.options, "esi": new_options}
    run.save(update_fields=["options"])
    index.options = {**index.options, "esi": new_options}
    _mark_begun(index, before, actor, at)
    return index


def _mark_begun(evaluator: RunEvaluator, before: JsonObject, actor: User | None, at: datetime) -> None:
    """Note that scores are being computed again. One that was cut short had the options which its scores followed."""
    check_owner(evaluator.run, actor)
    unfinished = evaluator.options.get("rescoring")
    began = {
        "id": uuid4().hex,
        "at": at.isoformat(),
        "by": actor.pk if actor else None,
        "before": unfinished["before"] if unfinished else dict(before),
        "done": 0,
        "total": _scores_of(evaluator).count(),
    }
    evaluator.options = {**evaluator.options, "rescoring": began}
    evaluator.save(update_fields=["options"])


def finish_rescoring(*, evaluator_id: int, at: datetime) -> tuple[int, int]:
    """Compute scores again as begun, all of them, and note the change in the history. Nothing where none is begun.

    Returns how many scores there are, and how many of them have another value now.

    Raises:
        RescoringRefused: the run was started again meanwhile, or somebody has begun again with other options.
    """
    evaluator = RunEvaluator.objects.select_related("run__suite").get(pk=evaluator_id)
    if "rescoring" not in evaluator.options:
        return (0, 0)
    if evaluator.kind == EvaluatorKind.INDEX:
        counts, after = _store(evaluator, _index_scores(evaluator.run, evaluator)), evaluator.options["esi"]
    else:
        counts, judge_options = _store(evaluator, _judge_scores(evaluator)), evaluator.options["judge_options"]
        after = {name: judge_options.get(name) for name in scoring_options(evaluator)}
    _end(evaluator, after, counts, at)
    return counts


def unfinished_rescorings() -> list[tuple[int, str]]:
    """Return evaluator and id of what was begun and is not finished, where the run is not at work."""
    begun = RunEvaluator.objects.filter(options__has_key="rescoring").exclude(run__status__in=ACTIVE)
    return [(pk, options["rescoring"]["id"]) for pk, options in begun.order_by("pk").values_list("pk", "options")]


def _scores_of(evaluator: RunEvaluator) -> QuerySet[Score]:
    scores = Score.objects.filter(evaluator=evaluator).order_by("pk")
    return scores if evaluator.kind == EvaluatorKind.INDEX else scores.filter(verdict__value__isnull=False)


def _locked(evaluator_id: int) -> RunEvaluator:
    run_id = RunEvaluator.objects.values_list("run_id", flat=True).get(pk=evaluator_id)
    run = lock_row(Run, run_id)  # the run first, as everywhere
    if run.status in ACTIVE:
        raise RescoringRefused("The run is active. Pause it, or wait until it has finished.")
    if run.leases.filter(
        expires_at__gte=Now()
    ).exists():  # their scores are being computed with the options as they were
        raise RescoringRefused("The last calls are still in flight. Recompute when they have finished.")
    evaluator = RunEvaluator.objects.select_related("run__suite").get(pk=evaluator_id)
    evaluator.run = run
    return evaluator


def _judge_scores(evaluator: RunEvaluator) -> Iterator[_NewScore]:
    judge = judge_kind(evaluator.options["judge_kind"]).build(evaluator.options["judge_options"])
    for part in _parts(_scores_of(evaluator).select_related("verdict", "response__prompt")):
        cases, trees = _material(evaluator, part)
        for row in part:
            case = cases[row.response.prompt_id]
            subject = subject_of(
                case=case,
                response=row.response,
                tree=trees.get(case.key) or trees.get(""),
                evaluator=evaluator,
            )
            verdict: Verdict | None = row.verdict
            assert verdict is not None
            fields = judge_score_fields(judge.score(verdict.value or {}, subject))
            yield _filled(row, fields), row.value, "" if fields["value"] is not None else "incomplete"


def _material(evaluator: RunEvaluator, rows: Sequence[Score]) -> tuple[dict[int, Case], dict[str, JsonDict]]:
    prompts = {row.response.prompt_id for row in rows}
    cases = {
        case.prompt_id: case
        for case in Case.objects.filter(links__suite_id=evaluator.run.suite_id, prompt_id__in=prompts)
    }
    return cases, trees_of(evaluator.rubric, cases.values())


def _index_scores(run: Run, index: RunEvaluator) -> Iterator[_NewScore]:
    options, (judges, _) = options_of(run), parts_of(run)
    names = {evaluator.pk: name for name, evaluator in judges.items()}
    for part in _parts(_scores_of(index).select_related("response")):
        responses = [row.response_id for row in part]
        items = {
            item.response_id: item
            for item in EsiItem.objects.filter(run=run, response_id__in=responses).select_related("case", "system")
        }
        stored = {
            (names[row.evaluator_id], row.response_id): JudgeVerdict(VerdictStatus(row.status), value=row.value)
            for row in Verdict.objects.filter(evaluator__in=names, response_id__in=responses)
        }
        for row in part:
            verdicts = {name: stored[name, row.response_id] for name in JUDGES}
            yield _index_score(run, row, items[row.response_id], verdicts, options)


def _index_score(
    run: Run, row: Score, item: EsiItem, verdicts: Mapping[str, JudgeVerdict], options: EsiOptions
) -> _NewScore:
    flags = ("answer_truncated",) if row.response.metadata.get("truncated") else ()
    score = score_item(
        verdicts=verdicts,
        answer=EsiResponse(row.response.text, row.response.completion_tokens, flags=flags),
        cleaned=(item.cleaned, item.formatted_ok),
        reference=item.case.reference,
        cleaning=cleaning_of(run, item),
        options=options,
    )
    status = EsiStatus(item.status)
    return _filled(row, index_fields(score, status)), row.value, failure_of(verdicts, status)


def _parts(rows: QuerySet[Score]) -> Iterator[list[Score]]:
    """Yield the rows part by part. Nothing is being read while a part is written: SQLite would refuse to write then."""
    ids = list(rows.values_list("pk", flat=True))
    for some in batches(ids, CHUNK):
        yield list(rows.filter(pk__in=some))


def _filled(row: Score, fields: JsonObject) -> Score:
    filled = Score(**{field.attname: getattr(row, field.attname) for field in Score._meta.concrete_fields})
    for name in SCORE_FIELDS:
        setattr(filled, name, fields.get(name, {} if name == "detail" else None))
    return filled


def _store(evaluator: RunEvaluator, new_scores: Iterator[_NewScore]) -> tuple[int, int]:
    """Write the new scores, move tasks between done and failed where a score came or went, and count again."""
    total = changed = 0
    for part in batches(new_scores, CHUNK):
        total += len(part)
        changed += sum(before != score.value for score, before, _ in part)
        persistently(partial(_write, evaluator, part))
    return (total, changed)


@transaction.atomic
def _write(evaluator: RunEvaluator, part: Sequence[_NewScore]) -> None:
    _check_begun(evaluator)
    Score.objects.bulk_update([score for score, _, _ in part], SCORE_FIELDS)
    tasks = RunTask.objects.filter(evaluator=evaluator, status__in=[TaskStatus.DONE, TaskStatus.FAILED])
    by_failure = grouped((failure, score.response_id) for score, _, failure in part)
    for failure, responses in by_failure.items():
        status = TaskStatus.FAILED if failure else TaskStatus.DONE
        tasks.filter(response_id__in=responses).update(status=status, failure_kind=failure)
    begun = evaluator.options["rescoring"]
    evaluator.options = {**evaluator.options, "rescoring": {**begun, "done": begun.get("done", 0) + len(part)}}
    evaluator.save(update_fields=["options"])


def _check_begun(evaluator: RunEvaluator) -> None:
    """Lock the run, and pass where nobody has started it or has begun to compute its scores again meanwhile."""
    run = lock_row(Run, evaluator.run_id)
    if run.status in ACTIVE:
        raise RescoringRefused("The run was started again in the meantime. Recompute the scores when it has finished.")
    stored = RunEvaluator.objects.values_list("options", flat=True).get(pk=evaluator.pk)
    if stored.get("rescoring", {}).get("id") != evaluator.options["rescoring"]["id"]:
        raise RescoringRefused("Another person has started to recompute these scores; their options apply.")


@transaction.atomic
def _end(evaluator: RunEvaluator, after: JsonObject, counts: tuple[int, int], at: datetime) -> None:
    """Count again, store the options with their history, tell the audit log, and let reports know."""
    _check_begun(evaluator)
    evaluator_tasks = RunTask.objects.filter(evaluator=evaluator)
    if evaluator_tasks.exists():
        RunEvaluator.objects.filter(pk=evaluator.pk).update(
            done=evaluator_tasks.filter(status=TaskStatus.DONE).count(),
            failed=evaluator_tasks.filter(status=TaskStatus.FAILED).count(),
        )
    run_tasks = RunTask.objects.filter(run_id=evaluator.run_id)
    Run.objects.filter(pk=evaluator.run_id).update(
        done=run_tasks.filter(status=TaskStatus.DONE).count(), failed=run_tasks.filter(status=TaskStatus.FAILED).count()
    )
    begun = evaluator.options["rescoring"]
    before, actor = begun["before"], User.objects.filter(pk=begun.get("by")).first()
    entry = {"at": at.isoformat(), "by": actor.username if actor else "", "before": before, "after": dict(after)}
    entry |= dict(zip(("scores", "changed"), counts, strict=True))
    options = {name: value for name, value in evaluator.options.items() if name != "rescoring"}
    evaluator.options = {**options, "history": [*options.get("history", []), entry]}
    evaluator.save(update_fields=["options"])
    run = evaluator.run
    changes = {name: value for name, value in after.items() if before.get(name) != value}
    record(actor, "run.rescored", run, evaluator=evaluator.name, changes=changes)
    transaction.on_commit(lambda: signals.run_finished.send_robust(sender=Run, run_id=run.pk, kind=run.kind))
