"""Does the tasks of runs: grades responses by rules, has them judged, and stores grades, verdicts and responses."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from evalsite.base import signals
from evalsite.base.types import JsonDict, JsonObject
from judging.grading.contexts import Program, ProgramOutcome, ProgramRunner
from judging.grading.grades import GradingOptions, ResponseGrade, grade_to_json
from judging.grading.rubric_tree import ScoreStatus
from judging.grading.rules import GradedCase, grade_responses
from judging.judges.judge_kinds import BadJudgeOption
from judging.judges.registry import judge_kind
from judging.judges.subjects import PARSER_VERSION, BadPrompt, JudgeScore, JudgeSubject, JudgeVerdict, VerdictStatus
from judging.llm.chat import Conversation
from judging.models import (
    BASELINE,
    BASELINE_ID,
    Case,
    EvaluatorKind,
    Judge,
    PastScore,
    PastVerdict,
    Response,
    Rubric,
    RubricItem,
    Run,
    RunEvaluator,
    RunTask,
    Score,
    Suite,
    System,
    Verdict,
)
from judging.models.runs import BASELINE_RESPONSE
from judging.sandbox.bubblewrap import SandboxProfile
from judging.sandbox.runner import NO_END, SandboxRunner
from judging.selectors.judges import BaselineResponses, member_judges, read_baselines
from judging.services.registries import Executor, FinishedTask, ReadyTask
from judging.specs.types import image_specs
from judging.stored_content import storable, text_hash, tree_from_json


def frozen_baseline(system: System | None) -> JsonDict:
    """Return what an evaluator freezes of the system that it compares with."""
    return {} if system is None else {BASELINE: system.name, BASELINE_ID: system.pk}


def why_not_compared(baseline: str, other: Response | None) -> str:
    """Return why a response has nothing to be compared with; empty where it has."""
    if other is None:
        return (
            f"{baseline} has no response to this case, or several and none of this attempt. "
            "Import it or ask the system in a run, then retry."
        )
    return "" if other.text else f"The response of {baseline} to this case is empty, so there is nothing to compare."


VERDICT_FIELDS = (
    "status",
    "value",
    "rationale",
    "confidence",
    "flags",
    "reason",
    "call_ids",
    "votes",
    "parser_version",
    "created_at",
)
SCORE_FIELDS = ("status", "value", "full", "share", "detail", "flags", "created_at")
Row = TypeVar("Row", Verdict, Score)


def store_verdicts(*, rows: Sequence[Verdict], at: datetime) -> list[Verdict]:
    """Store verdicts, each in the row of the one it supersedes, and return the superseded ones as they were."""
    superseded = _take_rows(rows, Verdict.objects.all())
    PastVerdict.objects.bulk_create(
        PastVerdict(verdict=old, superseded_at=at, **{name: getattr(old, name) for name in VERDICT_FIELDS})
        for old in superseded
    )
    Verdict.objects.bulk_update([row for row in rows if row.pk is not None], VERDICT_FIELDS)
    Verdict.objects.bulk_create([row for row in rows if row.pk is None])
    return superseded


def store_scores(*, rows: Sequence[Score], at: datetime) -> None:
    """Store scores, each in the row of the one it supersedes."""
    superseded = _take_rows(rows, Score.objects.all())
    PastScore.objects.bulk_create(
        PastScore(score=old, superseded_at=at, **{name: getattr(old, name) for name in SCORE_FIELDS})
        for old in superseded
    )
    Score.objects.bulk_update([row for row in rows if row.pk is not None], [*SCORE_FIELDS, "verdict"])
    Score.objects.bulk_create([row for row in rows if row.pk is None])


def _take_rows(rows: Sequence[Row], stored: QuerySet[Row]) -> list[Row]:
    """Give each new row the key of the stored one about the same response; return the stored ones."""
    current = stored.filter(
        evaluator__in={row.evaluator_id for row in rows}, response__in={row.response_id for row in rows}
    )
    by_subject = {(old.evaluator_id, old.response_id): old for old in current}
    superseded: list[Row] = []
    for row in rows:
        old = by_subject.get((row.evaluator_id, row.response_id))
        if old is not None:
            row.pk = old.pk
            superseded.append(old)
    return superseded


ResponseKey = tuple[int, int, int]  # system, prompt, attempt


@dataclass(frozen=True, slots=True)
class NewResponse:
    """A response of a system to a prompt, and the circumstances of the reply."""

    system_id: int
    prompt_id: int
    attempt: int
    text: str
    completion_tokens: int | None
    seconds: float | None
    stop_reason: str
    call_id: int | None
    is_truncated: bool = False

    @property
    def key(self) -> ResponseKey:
        return self.system_id, self.prompt_id, self.attempt


def store_responses(
    *, run: Run, replies: Sequence[NewResponse], frozen: Mapping[str, JsonObject], at: datetime
) -> list[Response]:
    """Return the rows of what was given, in its order: the current one where it says the same, else a new one in its
    place. `frozen` is what the run keeps of each system, by its key."""
    current_rows = Response.objects.filter(
        system_id__in={reply.system_id for reply in replies},
        prompt_id__in={reply.prompt_id for reply in replies},
        attempt__in={reply.attempt for reply in replies},
        superseded_at__isnull=True,
    )
    current = {(row.system_id, row.prompt_id, row.attempt): row for row in current_rows}
    rows: list[Response] = []
    outdated: list[int] = []
    for reply in replies:
        row = _row(run, reply, frozen[str(reply.system_id)], at)
        stored = current.get(reply.key)
        if (
            stored is not None
            and stored.text_hash == row.text_hash
            and stored.completion_tokens == row.completion_tokens
        ):
            rows.append(stored)
            continue
        if stored is not None:
            outdated.append(stored.pk)
        rows.append(row)
    Response.objects.filter(pk__in=outdated).update(superseded_at=at)
    Response.objects.bulk_create([row for row in rows if row.pk is None])
    if outdated:
        benchmark_id = run.suite.benchmark_id
        transaction.on_commit(lambda: signals.content_changed.send_robust(sender=Response, benchmark_id=benchmark_id))
    return rows


def _row(run: Run, reply: NewResponse, frozen: JsonObject, at: datetime) -> Response:
    text = storable(reply.text)
    return Response(
        prompt_id=reply.prompt_id,
        system_id=reply.system_id,
        attempt=reply.attempt,
        text=text,
        text_hash=text_hash(text),
        completion_tokens=reply.completion_tokens,
        call_id=reply.call_id,
        stop_reason=storable(reply.stop_reason)[:40],
        seconds=reply.seconds,
        metadata={
            "prompt_version": frozen["prompt_version"],
            "prompt_hash": frozen["prompt_hash"],
            "run": run.pk,
            "truncated": reply.is_truncated,
        },
        source=f"run {run.pk}",
        imported_at=at,
    )


LOOK_EVERY_SECONDS = 0.02


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) or 1


@contextmanager
def core_lock(folder: Path | None = None, count: int | None = None) -> Iterator[int]:
    """Hold one of the machine's locks while a program runs, waiting where all are taken; yield its number.

    More programs at once than cores would only be stopped by the wall clock for their neighbours' sake. A process that
    dies gives its lock back: the kernel drops it.
    """
    locks = _open_locks(folder or Path(settings.DATA_DIR) / "cores", count or core_count())
    number: int | None = None
    try:
        while number is None:
            number = next((index for index, descriptor in enumerate(locks) if _lock(descriptor)), None)
            if number is None:
                time.sleep(LOOK_EVERY_SECONDS)
        yield number
    finally:
        for descriptor in locks:
            os.close(descriptor)  # drops the lock with it


def _open_locks(folder: Path, count: int) -> list[int]:
    folder.mkdir(parents=True, exist_ok=True)
    return [os.open(folder / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for number in range(count)]


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


PATIENCE_SECONDS = 0.2  # most rules are decided at once; what takes longer is looked at again

Grades = dict[int, ResponseGrade]  # by task


@dataclass(slots=True)
class SharedOutcomes:
    """Runs equal programs once: a response given twice is tested once, and gets one result."""

    runner: ProgramRunner
    outcomes: dict[tuple[str, str, float], Future[ProgramOutcome]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, program: Program) -> ProgramOutcome:
        """Return the outcome of a program, run now or by whoever asked first."""
        key = (program.language, program.source, program.timeout_seconds)
        with self.lock:
            first = key not in self.outcomes
            outcome = self.outcomes.setdefault(key, Future())
        if first:
            try:
                outcome.set_result(self.runner.run(program))
            except BaseException as error:
                outcome.set_exception(error)
                raise
        return outcome.result()


@dataclass(slots=True)
class CaseBatch:
    """The responses to one case that a worker grades together."""

    case: GradedCase
    options: GradingOptions
    runner: ProgramRunner | None
    texts: dict[int, str] = field(default_factory=dict)  # by task
    together: Future[Grades] | None = None

    def __post_init__(self) -> None:
        if self.runner is not None:
            self.runner = SharedOutcomes(self.runner)

    @property
    def needs_programs(self) -> bool:
        return "unit_test" in self.case.grading or bool(self.case.handlers)

    def converse(self, task_id: int) -> Conversation[ResponseGrade]:
        """Return the grade of one task's response; an empty batch of requests says "not yet"."""
        future = self._begin(task_id)
        try:
            while not future.done():
                yield ()
            return future.result()[task_id]
        finally:
            future.cancel()  # of use only where the engine gives up before a thread has begun

    def _begin(self, task_id: int) -> Future[Grades]:
        if self.needs_programs:
            return _threads(os.getpid()).submit(self.grade, {task_id: self.texts[task_id]})
        if self.together is None:
            self.together = _threads(os.getpid()).submit(self.grade, self.texts)
            wait([self.together], timeout=PATIENCE_SECONDS)
        return self.together

    def grade(self, texts: Mapping[int, str]) -> Grades:
        """Return the grades of some of the responses, now."""
        grades = grade_responses(self.case, list(texts.values()), options=self.options, runner=self.runner)
        return dict(zip(texts, grades, strict=True))


def grade_all(
    case: GradedCase, texts: Sequence[str], *, options: GradingOptions, runner: ProgramRunner | None
) -> list[ResponseGrade]:
    """Return the grade of each response to one case, with programs on all cores."""
    batch = CaseBatch(case, options, runner, texts=dict(enumerate(texts)))
    if not batch.needs_programs:
        return grade_responses(case, texts, options=options)
    futures = [_threads(os.getpid()).submit(batch.grade, {index: text}) for index, text in batch.texts.items()]
    return [future.result()[index] for index, future in enumerate(futures)]


@lru_cache(maxsize=1)
def _threads(pid: int) -> ThreadPoolExecutor:
    """Return this process's threads; a forked process makes its own."""
    return ThreadPoolExecutor(max_workers=core_count(), thread_name_prefix="grading")


@dataclass(frozen=True, slots=True)
class ConfinedRunner:
    """Runs every program in the sandbox; where there is none, says so instead of running it bare."""

    sandbox: SandboxRunner

    def run(self, program: Program) -> ProgramOutcome:
        """Return what came of a program; never raises for anything it does."""
        with core_lock():
            outcome = self.sandbox.run(program)
        return ProgramOutcome(
            passed=outcome.passed,
            result_text=outcome.result_text,
            not_run_reason=outcome.not_run_reason,
            stdout=outcome.stdout,
            stderr=outcome.stderr,
            seconds=outcome.seconds,
            environment=outcome.environment,
            ended_early=outcome.result_text == NO_END and program.language != "python",
        )


@lru_cache(maxsize=2)
def program_runner(*, compat: bool) -> ConfinedRunner:
    """Return this process's runner. In compat mode a script that exits early with code 0 passes, as in the original."""
    return ConfinedRunner(SandboxRunner(profile=SandboxProfile(hidden=(settings.BASE_DIR,)), require_end=not compat))


NEEDS = {
    "rubric": "a rubric",
    "levels": "a rubric with levels",
    "any_rubric": "a rubric",
    "reference": "a reference answer",
    "pair": "a second response",
}
SEES_IMAGES = "sees_images"  # in the options of an evaluator whose run has images
NOT_RUN = "not-run"  # the code of what could not be run, and the reason that a run's page shows


def words_of_needs(needs: Iterable[str]) -> list[str]:
    """Return what a judge needs in words, each once; levels are those of a rubric."""
    wanted = set(needs)
    return list(dict.fromkeys(NEEDS[need] for need in sorted(wanted - ({"rubric"} if "levels" in wanted else set()))))


def freeze(*, judge: Judge | None, options: JsonObject) -> JsonDict:
    """Return everything that a judge's verdicts depend on, as it is now; a rule grader depends on its options only."""
    if judge is None:
        return dict(options)
    frozen = {**judge.options, **options}
    if judge_kind(judge.kind).asks_members:
        frozen["members"] = options.get("members") or _frozen_members(judge)
        prompt_hash = judge_kind(judge.kind).prompt_hash(frozen)
        return {"judge_kind": judge.kind, "judge_options": frozen, "prompt_hash": prompt_hash}
    frozen_judge: JsonDict = {"judge_kind": judge.kind, "judge_options": frozen}
    endpoint = judge.endpoint
    if endpoint is None:
        return frozen_judge
    endpoint_options = {"reasoning": True, **endpoint.extra} if endpoint.reasoning else dict(endpoint.extra)
    return {
        **({"endpoint_options": endpoint_options} if endpoint_options else {}),
        **frozen_judge,
        "endpoint": endpoint.name,
        "model": endpoint.model,
        "prompt_hash": judge_kind(judge.kind).prompt_hash(frozen),
    }


def _frozen_members(panel: Judge) -> list[JsonDict]:
    """Return the members of a panel, each frozen as a judge of its own would be."""
    weights = {entry["id"]: entry["weight"] for entry in panel.options["members"]}
    return [
        {"judge": member.name, "weight": weights[member.pk], **freeze(judge=member, options={})}
        for member in member_judges(panel)
    ]


def outdated_judges(run: Run) -> list[str]:
    """Return the names of a run's judges that this version of the site would ask with another prompt than it froze."""
    return [
        evaluator.name
        for evaluator in run.evaluators.filter(kind=EvaluatorKind.JUDGE).order_by("position")
        if evaluator.options.get("prompt_hash")
        and _prompt_hash(evaluator.options) not in (None, evaluator.options["prompt_hash"])
    ]


def _prompt_hash(frozen: JsonObject) -> str | None:
    """Return the hash of what a judge would be sent now; None where its options are of another time altogether."""
    try:
        return judge_kind(frozen["judge_kind"]).prompt_hash(frozen["judge_options"])
    except (KeyError, BadJudgeOption):
        return None


@dataclass(frozen=True, slots=True)
class JudgeOutcome:
    """What came of one task: a grade by rules, or a verdict with its score."""

    grade: ResponseGrade | None = None
    verdict: JudgeVerdict | None = None
    score: JudgeScore | None = None


@dataclass(slots=True)
class _ClaimContext:
    """Everything that a claim's tasks need, read with a fixed number of queries."""

    run: Run
    evaluators: dict[int, RunEvaluator]
    responses: dict[int, Response]
    cases: dict[int, Case]  # by prompt
    trees: dict[tuple[int, str], JsonDict]  # by rubric and case key
    baselines: BaselineResponses
    batches: dict[tuple[int, int], CaseBatch] = field(default_factory=dict)

    def tree_for(self, evaluator: RunEvaluator, case_key: str) -> JsonDict | None:
        if evaluator.rubric_id is None:
            return None
        return self.trees.get((evaluator.rubric_id, case_key)) or self.trees.get((evaluator.rubric_id, ""))


class GradingExecutor(Executor):
    """Prepares and stores the tasks of grading runs. Programs run in the site's sandbox by default."""

    def __init__(self, runner_for: Callable[..., ProgramRunner] = program_runner) -> None:
        self.runner_for = runner_for

    def prepare(self, *, run: Run, tasks: Sequence[RunTask]) -> list[ReadyTask]:
        """Return a conversation for each task."""
        context = _read_context(run, tasks)
        return [self._prepare(context, task) for task in tasks]

    def _prepare(self, context: _ClaimContext, task: RunTask) -> ReadyTask:
        evaluator_id, response_id = _about(task)
        evaluator, response = context.evaluators[evaluator_id], context.responses[response_id]
        case = context.cases[response.prompt_id]
        if evaluator.kind == EvaluatorKind.GRADER:
            batch = self._batch_of(context, evaluator, case)
            batch.texts[task.pk] = response.text
            return ReadyTask(task.pk, "", _grade(batch, task.pk))
        tree = context.tree_for(evaluator, case.key)
        other = context.baselines.beside(evaluator.compared_with_id, response)
        conversation = _judge(evaluator, case, response, tree, other)
        return ReadyTask(task.pk, evaluator.options.get("endpoint", ""), conversation)

    def _batch_of(self, context: _ClaimContext, evaluator: RunEvaluator, case: Case) -> CaseBatch:
        key = (evaluator.pk, case.pk)
        if key not in context.batches:
            compat = bool(context.run.options.get("compat"))
            context.batches[key] = CaseBatch(
                case=graded_case(case, context.run.suite),
                options=GradingOptions(compat=compat),
                runner=self.runner_for(compat=compat),
            )
        return context.batches[key]

    def store(self, *, run: Run, finished: Sequence[FinishedTask], at: datetime) -> None:
        """Write verdicts and scores."""
        judged = [item for item in finished if item.result.verdict is not None]
        verdicts = [_verdict_row(run, item, at) for item in judged]
        store_verdicts(rows=verdicts, at=at)
        rows = [_judge_score_row(run, item, verdict, at) for item, verdict in zip(judged, verdicts, strict=True)]
        graded = [item for item in finished if item.result.grade is not None and not item.result.grade.is_ungraded]
        rows += [_rule_score_row(run, item, at) for item in graded]
        store_scores(rows=rows, at=at)

    def failure(self, result: Any) -> str:
        """Return why a task has no score: what failed, the verdict's status, or what the rules could not decide."""
        verdict: JudgeVerdict | None = result.verdict
        if verdict is not None:
            usable = verdict.status in {VerdictStatus.OK, VerdictStatus.REPAIRED}
            if verdict.status == VerdictStatus.FAILED:  # the flags say how: "timeout", "http-500", "not-asked"
                return next((flag for flag in verdict.flags if flag != "reasked"), verdict.status.value)
            if not usable:
                return verdict.status.value
            return "" if result.score is not None and result.score.value is not None else "incomplete"
        grade: ResponseGrade = result.grade
        if grade.score is not None or grade.is_ungraded:
            return ""
        return NOT_RUN if any(note.code == NOT_RUN for note in grade.all_notes()) else grade.status.value


def subject_of(
    *, case: Case, response: Response, tree: JsonDict | None, evaluator: RunEvaluator, other: Response | None = None
) -> JudgeSubject:
    """Return what a judge is shown of a response; `other` is what it is compared with."""
    prompt = response.prompt
    suite = evaluator.run.suite if evaluator.run_id is not None else None  # one only estimated belongs to no run
    return JudgeSubject(
        question=prompt.text,
        response=response.text,
        other_response=other.text if other is not None else "",
        reference=case.reference,
        context=prompt.context,
        context_role=prompt.context_role,
        rubric=tree_from_json(tree) if tree else None,
        criterion_key=evaluator.criterion,
        instruction=str(case.metadata.get("instruction", "")),
        prompt_version=str(response.metadata.get("prompt_version", "")),
        lang=case.lang,
        metadata=case.metadata,
        about=suite.benchmark.description if suite is not None else "",
        images=image_specs(prompt.images),
        response_images=image_specs(response.images),
        other_images=image_specs(other.images) if other is not None else (),
        messages=tuple(prompt.messages),
    )


def trees_of(rubric: Rubric | None, cases: Iterable[Case]) -> dict[str, JsonDict]:
    """Return what a rubric says of cases, by key; "" is what it says of all others."""
    if rubric is None:
        return {}
    items = RubricItem.objects.filter(rubric=rubric, case_key__in={"", *(case.key for case in cases)})
    return dict(items.values_list("case_key", "tree"))


def graded_case(case: Case, suite: Suite) -> GradedCase:
    """Return what the rule graders need of a case in a suite."""
    full, _ = suite.points(case.full_score, case.null_score)
    return GradedCase(grading=case.grading, lang=case.lang, full_score=full, handlers=case.handlers)


def _about(task: RunTask) -> tuple[int, int]:
    """Return the ids of a task's evaluator and response; only debates' tasks have none."""
    assert task.evaluator_id is not None
    assert task.response_id is not None
    return task.evaluator_id, task.response_id


def _grade(batch: CaseBatch, task_id: int) -> Conversation[JudgeOutcome]:
    grade = yield from batch.converse(task_id)
    return JudgeOutcome(grade=grade)


def _judge(
    evaluator: RunEvaluator, case: Case, response: Response, tree: JsonDict | None, other: Response | None
) -> Generator[Any, Any, JudgeOutcome]:
    """Ask the judge; everything happens inside, so that what cannot be read fails one task and not the claim."""
    lacking = why_not_compared(evaluator.compared_with, other) if evaluator.compared_with else ""
    if lacking:
        return _not_asked(lacking)
    subject = subject_of(case=case, response=response, tree=tree, evaluator=evaluator, other=other)
    unseen = 0 if evaluator.options.get(SEES_IMAGES) else subject.image_count
    subject = subject.without_images() if unseen else subject
    kind = judge_kind(evaluator.options["judge_kind"])
    missing = kind.missing_needs(subject, evaluator.options["judge_options"])
    if missing:
        return _not_asked(f"This judge needs {' and '.join(words_of_needs(missing))} for the case.")
    judge = kind.build(evaluator.options["judge_options"])
    try:
        verdict: JudgeVerdict = yield from judge.converse(subject)
    except BadPrompt as problem:
        return _not_asked(str(problem))
    if unseen and "endpoint" in evaluator.options:
        flag = f"judged without its {unseen} image{'' if unseen == 1 else 's'}"
        verdict = replace(verdict, flags=(*verdict.flags, flag))
    if other is not None and verdict.value is not None:
        verdict = replace(verdict, value={**verdict.value, BASELINE_RESPONSE: other.pk})
    score = judge.score(verdict.value, subject) if verdict.value is not None else None
    return JudgeOutcome(verdict=verdict, score=score)


def _not_asked(reason: str) -> JudgeOutcome:
    return JudgeOutcome(verdict=JudgeVerdict(VerdictStatus.FAILED, reason=reason, flags=("not-asked",)))


def _read_context(run: Run, tasks: Sequence[RunTask]) -> _ClaimContext:
    evaluators = {evaluator.pk: evaluator for evaluator in run.evaluators.all()}
    response_ids = {response_id for _, response_id in map(_about, tasks)}
    responses = Response.objects.filter(pk__in=response_ids).select_related("prompt").in_bulk()
    prompt_ids = {response.prompt_id for response in responses.values()}
    cases = {
        case.prompt_id: case for case in Case.objects.filter(links__suite_id=run.suite_id, prompt_id__in=prompt_ids)
    }
    rubrics = {evaluator.rubric_id for evaluator in evaluators.values() if evaluator.rubric_id}
    keys = {case.key for case in cases.values()}
    items = RubricItem.objects.filter(Q(case_key__in=keys) | Q(case_key=""), rubric_id__in=rubrics)
    trees = {(item.rubric_id, item.case_key): item.tree for item in items}
    baseline_ids = {evaluator.compared_with_id for evaluator in evaluators.values()}
    baselines = read_baselines(system_ids=baseline_ids, prompt_ids=prompt_ids)
    return _ClaimContext(run, evaluators, responses, cases, trees, baselines)


def _row_fields(run: Run, item: FinishedTask, at: datetime) -> JsonDict:
    """Return the fields that verdicts and scores have from their task."""
    evaluator_id, response_id = _about(item.task)
    return {"run": run, "evaluator_id": evaluator_id, "response_id": response_id, "created_at": at}


def _verdict_row(run: Run, item: FinishedTask, at: datetime) -> Verdict:
    fields = _row_fields(run, item, at) | verdict_fields(item.result.verdict)
    return Verdict(task=item.task, call_ids=list(item.call_ids), **fields)


def verdict_fields(verdict: JudgeVerdict) -> JsonDict:
    """Return the fields of a verdict row that the verdict itself fills."""
    return {
        "status": verdict.status,
        "value": storable(verdict.value) if verdict.value is not None else None,
        "rationale": storable(verdict.rationale),
        "confidence": verdict.confidence,
        "flags": storable(list(verdict.flags)),
        "reason": storable(verdict.reason)[:500],
        "votes": storable(list(verdict.votes)),
        "parser_version": PARSER_VERSION,
    }


def judge_score_fields(score: JudgeScore | None) -> JsonDict:
    """Return the fields of a score row: a verdict without a value, or a tree not judged whole, gives no number."""
    if score is None or score.value is None:
        flags, detail = (list(score.flags), storable(dict(score.detail))) if score else ([], {})
        unscored = {"flags": flags, "detail": detail}
        return {"status": ScoreStatus.INCOMPLETE, "value": None, "full": None, "share": None, **unscored}
    share = float(score.value / score.full) if score.full else None
    return {
        "status": ScoreStatus.COMPLETE if share is not None else ScoreStatus.INCOMPLETE,
        "value": float(score.value),
        "full": float(score.full),
        "share": share,
        "flags": list(score.flags),
        "detail": storable({"exact": f"{score.value} of {score.full}", **score.detail}),
    }


def _judge_score_row(run: Run, item: FinishedTask, verdict: Verdict, at: datetime) -> Score:
    return Score(verdict=verdict, **_row_fields(run, item, at), **judge_score_fields(item.result.score))


def _rule_score_row(run: Run, item: FinishedTask, at: datetime) -> Score:
    grade: ResponseGrade = item.result.grade
    share = grade.score / grade.full_score if grade.score is not None and grade.full_score else None
    status = ScoreStatus.COMPLETE if share is not None else grade.status
    if share is None and status == ScoreStatus.COMPLETE:
        status = ScoreStatus.INCOMPLETE
    return Score(
        status=status,
        value=grade.score if share is not None else None,
        full=grade.full_score,
        share=share,
        detail=storable(grade_to_json(grade)),
        flags=[note.code for note in grade.all_notes()],
        **_row_fields(run, item, at),
    )
