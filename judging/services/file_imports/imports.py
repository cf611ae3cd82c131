"""Checks imports without storing them, and stores them completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.base.json_types import JsonDict
from judging.models import Benchmark, ImportBatch, Suite
from judging.services.file_imports.import_batches import open_batch
from judging.services.file_imports.import_plans import plan_import
from judging.services.file_imports.intake import ImportOptions, Intake, read_intake
from judging.services.file_imports.pictures import stored_digests, use_pictures, write_pictures
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
from judging.specs.files.uploaded_files import Files
from judging.specs.pictures.picture_formats import encode_picture


class ImportRefused(ValueError):
    """The upload has errors; nothing was stored. `problems` lists them."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


@dataclass(frozen=True, slots=True)
class CheckedImport:
    """A dry run: what was read, what would be done, and everything wrong with it."""

    intake: Intake
    parts: tuple[JsonDict, ...]
    changes_nothing: bool
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def is_refused(self) -> bool:
        """Whether there are errors: one, and nothing is imported."""
        return bool(self.errors)

    @property
    def kind(self) -> str:
        return self.intake.kinds[0] if self.intake.kinds else "unknown"

    @property
    def benchmark(self) -> Benchmark | None:
        """The stored benchmark that the files belong to."""
        return self.intake.target.benchmark if self.intake.target else None

    def preview(self) -> JsonDict:
        """Return what the page of the upload shows."""
        target = self.intake.target
        return {
            "kinds": list(self.intake.kinds),
            "parts": list(self.parts),
            "changes_nothing": self.changes_nothing,
            "target": target.name if target else "",
            "choices": [asdict(choice) for choice in self.intake.choices],
            "columns": [asdict(column) for column in self.intake.columns.columns],
            "tables": list(self.intake.columns.fields),
            "is_mapped": bool(self.intake.columns.used),
        }

    def preview_pictures(self) -> dict[str, bytes]:
        """Return the images that the preview shows and that are not stored yet, as they will be."""
        shown = {image["digest"] for part in self.parts for sample in part["samples"] for image in sample["images"]}
        files = self.intake.pictures
        return {digest: encode_picture(files[digest].data).data for digest in sorted(shown - stored_digests(shown))}

    @contextmanager
    def open_written(self, watch: Watch = unwatched) -> Iterator[WrittenImport]:
        """Write what was read into a batch, where nobody sees it until `WrittenImport.use` takes all of it into use.

        Raises:
            ImportRefused: there are errors.
        """
        if self.errors:
            raise ImportRefused(refusal_message(self.errors), self.errors)
        with open_batch() as batch:
            yield _write(batch, self.intake, watch)


def check_import(*, files: Files, options: ImportOptions, watch: Watch = unwatched) -> CheckedImport:
    """Return what importing the files would do. Nothing is stored."""
    intake = read_intake(files, options, watch)
    if intake.has_errors:
        return CheckedImport(intake, (), changes_nothing=False, problems=intake.problems)
    watch("comparing", 0, 0)
    plan = plan_import(intake)
    return CheckedImport(intake, plan.parts, plan.changes_nothing, (*intake.problems, *plan.problems))


def store_import(*, files: Files, options: ImportOptions, source: str, actor: User | None, at: datetime) -> JsonDict:
    """Store everything that the files hold, or nothing, and return what came of it as JSON.

    Raises:
        ImportRefused: there are errors; nothing is stored.
    """
    return store_checked(checked=check_import(files=files, options=options), origin=RubricOrigin(source, actor, at))


def store_checked(*, checked: CheckedImport, origin: RubricOrigin, watch: Watch = unwatched) -> JsonDict:
    """Store what a dry run read, as `store_import` does."""
    with checked.open_written(watch) as written:
        return persistently(partial(written.use, origin))


@dataclass(frozen=True, slots=True)
class WrittenImport:
    """What a dry run read, as a batch holds it."""

    batch: ImportBatch
    intake: Intake
    suite: NewSuite | None
    responses: ResponsePlan | None
    problems: tuple[Problem, ...] = ()  # none are found while writing

    @transaction.atomic
    def use(self, origin: RubricOrigin) -> JsonDict:
        """Take everything that the batch holds into use and return what came of it as JSON."""
        target, actor, at = self.intake.target, origin.actor, origin.at
        result: JsonDict = {"changed": False, "rubrics": []}
        suite: Suite | None = target.suite if target else None
        benchmark: Benchmark | None = target.benchmark if target else None
        if self.intake.pictures:
            use_pictures(batch=self.batch, at=at)
        if self.suite is not None:
            stored_suite = use_suite(batch=self.batch, new=self.suite, actor=actor, at=at)
            suite, benchmark = stored_suite.suite, stored_suite.suite.benchmark
            result["suite"] = {
                "id": suite.pk,
                "name": str(suite),
                "created": stored_suite.created,
                "cases": suite.case_count,
            }
            result["changed"] |= stored_suite.created
        if self.responses is not None and suite is not None:
            plan = self.responses
            use_responses(batch=self.batch, plan=plan, suite=suite, actor=actor, at=at)
            result["responses"] = {
                "new": len(plan.new),
                "changed": len(plan.changed),
                "amended": len(plan.amended),
                "unchanged": plan.unchanged,
                "systems": sorted({response.system for response in self.intake.responses}),
            }
            result["changed"] |= not plan.changes_nothing
        for staged in self.intake.rubrics:
            stored_rubric = use_rubric(batch=self.batch, staged=staged, benchmark=benchmark, origin=origin)
            result["rubrics"].append(
                {"id": stored_rubric.rubric.pk, "name": str(stored_rubric.rubric), "created": stored_rubric.created}
            )
            result["changed"] |= stored_rubric.created
        if suite is not None:
            result["suite_id"] = suite.pk  # what a run would be started on
        if benchmark is not None:
            result["benchmark"] = {"id": benchmark.pk, "slug": benchmark.slug, "name": benchmark.name}
        return result


def _write(batch: ImportBatch, intake: Intake, watch: Watch) -> WrittenImport:
    target = intake.target
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
    write_pictures(batch=batch, files=intake.pictures, watch=watch)
    for staged in intake.rubrics:
        write_rubric(batch=batch, staged=staged, benchmark=target.benchmark if target else None, watch=watch)
    return WrittenImport(batch, intake, suite, responses)


def refusal_message(errors: tuple[Problem, ...]) -> str:
    """Return the sentence that a page and a command show: the first error and how many more there are."""
    more = len(errors) - 1
    return str(errors[0]) + (f" ({more:,} more error{'s' if more > 1 else ''}.)" if more else "")
