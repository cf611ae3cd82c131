"""Checks imports without storing, and stores them whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.base.json_types import JsonDict
from judging.models import Benchmark, ImportBatch, Suite
from judging.services.file_imports.import_batches import open_batch
from judging.services.file_imports.import_plans import plan_import
from judging.services.file_imports.intake import Files, ImportOptions, Intake, read_intake
from judging.services.file_imports.responses import (
    ResponsePlan,
    coming_prompts,
    prompts_of,
    use_responses,
    write_responses,
)
from judging.services.file_imports.rubrics import RubricOrigin, use_rubric, write_rubric
from judging.services.file_imports.staged_rubrics import Watch, unwatched
from judging.services.file_imports.suites import NewSuite, use_suite, write_suite
from judging.services.transactions import persistently
from judging.specs.files.problems import Problem, Severity


class ImportRefused(ValueError):
    """The upload has errors; nothing was stored. `problems` lists them."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Checked:
    """A dry run: what was read, what would be done, and everything wrong with it."""

    intake: Intake
    parts: tuple[JsonDict, ...]
    changes_nothing: bool
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def kind(self) -> str:
        return self.intake.kinds[0] if self.intake.kinds else "unknown"


def check_import(*, files: Files, options: ImportOptions, watch: Watch = unwatched) -> Checked:
    """Return what importing the files would do. Nothing is stored."""
    intake = read_intake(files, options, watch)
    if intake.has_errors:
        return Checked(intake, (), changes_nothing=False, problems=intake.problems)
    watch("comparing", 0, 0)
    plan = plan_import(intake)
    return Checked(intake, plan.parts, plan.changes_nothing, (*intake.problems, *plan.problems))


def store_import(*, files: Files, options: ImportOptions, source: str, actor: User | None, at: datetime) -> JsonDict:
    """Store everything that the files hold, or nothing, and return what came of it as JSON.

    Raises:
        ImportRefused: there are errors; nothing is stored.
    """
    return store_checked(checked=check_import(files=files, options=options), origin=RubricOrigin(source, actor, at))


def store_checked(*, checked: Checked, origin: RubricOrigin, watch: Watch = unwatched) -> JsonDict:
    """Store what a dry run read, as `store_import` does."""
    with open_batch() as batch:
        written = write_checked(batch=batch, checked=checked, watch=watch)
        return persistently(partial(use_written, batch=batch, written=written, origin=origin))


@dataclass(frozen=True, slots=True)
class Written:
    """What a dry run read, as a batch holds it."""

    checked: Checked
    suite: NewSuite | None
    responses: ResponsePlan | None


def write_checked(*, batch: ImportBatch, checked: Checked, watch: Watch = unwatched) -> Written:
    """Write what a dry run read into a batch, where nobody sees it until `use_written` takes all of it into use.

    Raises:
        ImportRefused: there are errors.
    """
    if checked.errors:
        raise ImportRefused(refusal_message(checked.errors), checked.errors)
    intake, target = checked.intake, checked.intake.target
    suite = responses = None
    if intake.suite is not None and target is not None:
        suite = write_suite(batch=batch, spec=intake.suite, slug=target.slug, name=target.name, watch=watch)
    stored = suite.plan.suite if suite else (target.suite if target else None)
    if intake.responses and target is not None and (suite or stored):
        responses = write_responses(
            batch=batch,
            specs=intake.responses,
            benchmark=target.benchmark,
            prompts=prompts_of(stored) if stored else coming_prompts(intake.suite, target.benchmark),
            owner=str(stored or target.name),
            watch=watch,
        )
    for staged in intake.rubrics:
        write_rubric(batch=batch, staged=staged, benchmark=target.benchmark if target else None, watch=watch)
    return Written(checked, suite, responses)


@transaction.atomic
def use_written(*, batch: ImportBatch, written: Written, origin: RubricOrigin) -> JsonDict:
    """Take everything that a batch holds into use and return what came of it as JSON."""
    intake, target, actor, at = written.checked.intake, written.checked.intake.target, origin.actor, origin.at
    result: JsonDict = {"changed": False, "rubrics": []}
    suite: Suite | None = target.suite if target else None
    benchmark: Benchmark | None = target.benchmark if target else None
    if written.suite is not None:
        stored = use_suite(batch=batch, new=written.suite, actor=actor, at=at)
        suite, benchmark = stored.suite, stored.suite.benchmark
        result["suite"] = {"id": suite.pk, "name": str(suite), "created": stored.created, "cases": suite.case_count}
        result["changed"] |= stored.created
    if written.responses is not None and suite is not None:
        done = written.responses
        use_responses(batch=batch, plan=done, suite=suite, actor=actor, at=at)
        result["responses"] = {
            "new": len(done.new),
            "changed": len(done.changed),
            "amended": len(done.amended),
            "unchanged": done.unchanged,
        }
        result["changed"] |= not done.changes_nothing
    for staged in intake.rubrics:
        kept = use_rubric(batch=batch, staged=staged, benchmark=benchmark, origin=origin)
        result["rubrics"].append({"id": kept.rubric.pk, "name": str(kept.rubric), "created": kept.created})
        result["changed"] |= kept.created
    if suite is not None:
        result["suite_id"] = suite.pk  # what a run would be started on
    if benchmark is not None:
        result["benchmark"] = {"id": benchmark.pk, "slug": benchmark.slug, "name": benchmark.name}
    return result


def refusal_message(errors: tuple[Problem, ...]) -> str:
    """Return the sentence that a page and a command show: the first error and how many more there are."""
    more = len(errors) - 1
    return str(errors[0]) + (f" ({more:,} more error{'s' if more > 1 else ''}.)" if more else "")
