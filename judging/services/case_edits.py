"""Deletes benchmarks, and changes how one case is graded: read, tried on stored responses, stored as a new version."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.actions.declarations import delete_with_dependents, dependents_of
from evalsite.base.rows import lock_row
from evalsite.base.types import JsonDict
from judging.grading.grades import GradingOptions, ResponseGrade
from judging.grading.reports import score_case
from judging.models import Benchmark, Case, ImportBatch, Response, Suite
from judging.services.evaluator_tasks import grade_all, graded_case, program_runner
from judging.services.file_imports.import_batches import open_batch
from judging.services.file_imports.suites import NewSuite, suite_spec, use_suite, write_suite
from judging.services.long_jobs import persistently
from judging.specs.records.neutral import CaseRecord

INLINE_RESPONSES = 1000  # tried while the reader waits; more, or programs to run, are tried by a worker
INLINE_PROGRAMS = 6
MAX_RESPONSES = 20_000
ROWS_LISTED = 200


def is_small_edit(*, case: Case, edited: CaseRecord) -> bool:
    """Return whether an edit is tried on few enough responses, running few enough programs, to wait for it."""
    count = Response.objects.filter(prompt=case.prompt_id, superseded_at__isnull=True).count()
    each = sum(_programs_of(grading) for grading in (case.grading, edited.grading))
    return count <= INLINE_RESPONSES and count * each <= INLINE_PROGRAMS


def try_edit(*, case: Case, suite: Suite, edited: CaseRecord) -> JsonDict:
    """Return, as JSON, what every current response to the case scores now and would score. Nothing is stored."""
    responses = list(
        Response.objects.filter(prompt=case.prompt_id, superseded_at__isnull=True)
        .select_related("system")
        .order_by("system__name", "attempt", "pk")[:MAX_RESPONSES]
    )
    texts = [response.text for response in responses]
    runner, options = program_runner(compat=False), GradingOptions()
    row = replace_grading(case, edited)
    before = grade_all(graded_case(case, suite), texts, options=options, runner=runner)
    after = grade_all(graded_case(row, suite), texts, options=options, runner=runner)
    rows = [_row(response, old, new) for response, old, new in zip(responses, before, after, strict=True)]
    changed = [entry for entry in rows if entry["changed"]]
    return {
        "count": len(rows),
        "changed": len(changed),
        "rows": [*changed, *(entry for entry in rows if not entry["changed"])][:ROWS_LISTED],
        "systems": _systems(suite, (case, before), (row, after), responses),
    }


def save_edit(*, case: Case, suite: Suite, edited: CaseRecord, actor: User | None, at: datetime) -> tuple[Suite, bool]:
    """Store the suite with the edited case as a new version; every other case is reused as it is.

    Returns the suite that has the edited case now, and whether this made it.
    """
    spec = suite_spec(suite)
    cases = tuple(replace(edited, weight=other.weight) if other.key == case.key else other for other in spec.cases)
    with open_batch() as batch:
        new = write_suite(batch=batch, spec=replace(spec, cases=cases), slug=suite.benchmark.slug)
        return persistently(partial(_use_edit, batch, new, case=case, suite=suite, actor=actor, at=at))


@transaction.atomic
def _use_edit(
    batch: ImportBatch, new: NewSuite, *, case: Case, suite: Suite, actor: User | None, at: datetime
) -> tuple[Suite, bool]:
    edited, is_new = use_suite(batch=batch, new=new, actor=actor, at=at, action="suite.edited")
    if is_new:
        record(
            actor,
            "case.edited",
            NamedSubject(f"{case.key} in {edited}", case_in(edited, case.key).pk),
            **{"from": case.pk},
            suite=edited.pk,
            based_on=suite.pk,
        )
    return edited, is_new


def case_in(suite: Suite, key: str) -> Case:
    """Return a suite's revision of a case."""
    return Case.objects.get(links__suite=suite, key=key)


def replace_grading(case: Case, edited: CaseRecord) -> Case:
    """Return an unsaved row of the case graded as edited."""
    return Case(
        prompt_id=case.prompt_id,
        key=case.key,
        lang=edited.lang,
        full_score=edited.full_score,
        null_score=edited.null_score,
        grading=dict(edited.grading),
        handlers=dict(edited.handlers),
    )


def _programs_of(grading: Any) -> int:
    """Return how many programs one response needs: its tests, and one for each handler."""
    unit_test = grading.get("unit_test")
    tests = unit_test.get("tests") if isinstance(unit_test, dict) else None
    handlers = str(grading).count("'post_handler'") + ("customized" in grading)
    return (len(tests) if isinstance(tests, list) else 0) + handlers


def _row(response: Response, old: ResponseGrade, new: ResponseGrade) -> JsonDict:
    return {
        "response": response.pk,
        "system": response.system.name,
        "attempt": response.attempt,
        "old": old.score,
        "new": new.score,
        "old_status": old.status.value,
        "new_status": new.status.value,
        "notes": [note.text for note in new.all_notes()][:3],
        "changed": (old.score, old.status) != (new.score, new.status),
    }


def _systems(
    suite: Suite,
    before: tuple[Case, list[ResponseGrade]],
    after: tuple[Case, list[ResponseGrade]],
    responses: list[Response],
) -> list[JsonDict]:
    """Return what the case comes to for each system, by the suite's way to sum up attempts."""
    names = list(dict.fromkeys(response.system.name for response in responses))
    rows: list[JsonDict] = []
    for name in names:
        indexes = [index for index, response in enumerate(responses) if response.system.name == name]
        old, new = (_case_score(suite, case, [grades[index] for index in indexes]) for case, grades in (before, after))
        rows.append({"system": name, "responses": len(indexes), "old": old, "new": new, "changed": old != new})
    return rows


def _case_score(suite: Suite, case: Case, grades: list[ResponseGrade]) -> float | None:
    full, null = suite.points(case.full_score, case.null_score)
    return score_case(case.key, grades, mode=suite.attempt_reduce_mode, full_score=full, null_score=null).score


@transaction.atomic
def delete_benchmark(*, benchmark: Benchmark, actor: User | None) -> Benchmark:
    """Delete a benchmark with its suites, cases, responses and rubrics.

    Raises:
        InUse: runs, queues or debates rest on it.
    """
    benchmark = lock_row(Benchmark, benchmark.pk)
    found = dependents_of(benchmark)
    record(actor, "benchmark.deleted", str(benchmark), benchmark=benchmark.pk, **found.counts(found.gone))
    delete_with_dependents(benchmark)
    return benchmark
