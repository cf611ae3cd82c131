"""Imports recorded debates: their responses and criteria, and one set of debates per recorded cell.

All rows are written in short transactions, where nobody sees them, and one last transaction takes them into use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction

from debate.models import DebateSet
from debate.protocol.recorded.recorded import read_recorded_debates
from debate.protocol.records import RecordedCell
from debate.services.record_rows import WrittenCells, cell_hash, use_cells, write_cells
from evalsite.base.json_types import JsonDict
from judging.models import Benchmark, ImportBatch, Response, Rubric
from judging.services.content_hashes import text_hash
from judging.services.file_imports.import_batches import open_batch
from judging.services.file_imports.imports import ImportRefused, refusal_message
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.responses import (
    PromptKey,
    ResponsePlan,
    coming_prompts,
    prompts_of,
    use_responses,
    write_responses,
)
from judging.services.file_imports.rubrics import RubricOrigin, use_rubric, write_rubric
from judging.services.file_imports.staged_rubrics import StagedRubric, Watch, stage_rubric, unwatched
from judging.services.file_imports.suites import NewSuite, benchmark_slug_of, use_suite, write_suite
from judging.services.transactions import persistently
from judging.specs.files.bundles import Bundle
from judging.specs.files.problems import Parsed, Problem
from judging.specs.files.uploaded_files import Files, bundle_of
from judging.specs.replies.scaleeval_responses import ScaleEvalImport, parse_scaleeval_responses
from judging.specs.rubrics.criteria_yaml import find_criteria, parse_criteria
from judging.specs.types import RubricSpec

BENCHMARK = "ScaleEval"
UPLOAD_KIND = "debates"


@dataclass(frozen=True, slots=True)
class Records:
    """A folder of recorded debates as read, before anything is stored."""

    cells: tuple[RecordedCell, ...]
    answers: ScaleEvalImport
    rubrics: tuple[RubricSpec, ...]


@dataclass(frozen=True, slots=True)
class RecordsPlan:
    """What storing the records would do."""

    new: tuple[str, ...]  # keys of cells
    known: tuple[str, ...]  # stored already, byte for byte
    debates: int  # in the new cells
    statements: int


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """What was stored."""

    plan: RecordsPlan
    sets: tuple[DebateSet, ...]
    problems: tuple[Problem, ...]  # found while storing: items whose responses are not where they should be


def read_records(bundle: Bundle) -> Parsed[Records]:
    """Return what a folder of recorded debates holds, with everything unusual in it by file and item."""
    debates = read_recorded_debates(bundle)
    answers = parse_scaleeval_responses(bundle, name=BENCHMARK)
    criteria = [parse_criteria(bundle, path) for path in find_criteria(bundle)]
    problems = (*debates.problems, *answers.problems, *(problem for parsed in criteria for problem in parsed.problems))
    if debates.value is None or answers.value is None:
        return Parsed(None, problems)
    rubrics = tuple(parsed.value for parsed in criteria if parsed.value is not None)
    return Parsed(Records(debates.value, answers.value, rubrics), problems)


def plan_records(records: Records) -> RecordsPlan:
    """Return what `store_records` would create, without storing anything."""
    hashes = {cell.key: cell_hash(cell) for cell in records.cells}
    stored = set(DebateSet.objects.filter(content_hash__in=hashes.values()).values_list("content_hash", flat=True))
    new = [cell for cell in records.cells if hashes[cell.key] not in stored]
    return RecordsPlan(
        new=tuple(cell.key for cell in new),
        known=tuple(key for key, digest in hashes.items() if digest in stored),
        debates=sum(len(cell.items) for cell in new),
        statements=sum(len(stage) for cell in new for item in cell.items for stage in item.stages),
    )


def store_records(*, records: Records, actor: User | None, at: datetime, watch: Watch = unwatched) -> StoredRecords:
    """Store responses, criteria and debates; what is stored already stays as it is. Unresolved ones go to people.

    Raises:
        judging.services.file_imports.responses.UnknownCases: the responses answer cases that the stored suite lacks.
        judging.services.file_imports.import_batches.BatchLost: see `use_records`.
    """
    with open_written(records=records, watch=watch) as written:
        return persistently(partial(use_records, written=written, actor=actor, at=at))


@dataclass(frozen=True, slots=True)
class WrittenRecords:
    """What a batch holds of recorded debates."""

    plan: RecordsPlan
    batch: ImportBatch
    suite: NewSuite
    responses: ResponsePlan
    rubrics: tuple[tuple[RubricSpec, StagedRubric], ...]
    cells: WrittenCells

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Items whose responses are not where they should be."""
        return self.cells.problems

    def use(self, origin: RubricOrigin) -> JsonDict:
        """Take everything that the batch holds into use and return what came of it as JSON."""
        stored = use_records(written=self, actor=origin.actor, at=origin.at)
        return {"changed": bool(stored.sets), "debates": self.plan.debates, "sets": len(stored.sets)}


@dataclass(frozen=True, slots=True)
class CheckedRecords:
    """A dry run of an uploaded folder of recorded debates."""

    records: Records | None
    plan: RecordsPlan | None
    problems: tuple[Problem, ...]
    kind: str = UPLOAD_KIND
    benchmark: Benchmark | None = None

    @property
    def is_refused(self) -> bool:
        """Whether no debate could be read. A file that cannot be read is reported, and the debates are imported."""
        return self.records is None

    def preview(self) -> JsonDict:
        """Return what the page of the upload shows: the sets of debates and which of them are new."""
        if self.records is None or self.plan is None:
            return {"changes_nothing": False}
        cells = [
            {
                "system_a": cell.system_a,
                "system_b": cell.system_b,
                "criterion": cell.criterion,
                "criterion_key": cell.criterion_key,
                "scenario": cell.scenario,
                "judges": list(cell.judges),
                "debates": len(cell.items),
                "is_new": cell.key in self.plan.new,
            }
            for cell in self.records.cells
        ]
        counts = {"debates": self.plan.debates, "statements": self.plan.statements, "new": len(self.plan.new)}
        records = {**counts, "known": len(self.plan.known), "cells": cells}
        return {"changes_nothing": not self.plan.new, "records": records}

    def preview_pictures(self) -> dict[str, bytes]:
        """Return nothing: recorded debates bring no images."""
        return {}

    def open_written(self, watch: Watch) -> AbstractContextManager[WrittenRecords]:
        """Write what is new into a batch, for `WrittenRecords.use` within the block.

        Raises:
            ImportRefused: nothing could be read.
        """
        if self.records is None:
            raise ImportRefused(refusal_message(self.problems), self.problems)
        return open_written(records=self.records, watch=watch)


def check_records(files: Files, _options: ImportOptions, _watch: Watch = unwatched) -> CheckedRecords:
    """Return what importing an uploaded folder of recorded debates would do. Nothing is stored."""
    bundle = bundle_of(files)
    if bundle.value is None:
        return CheckedRecords(None, None, bundle.problems)
    parsed = read_records(bundle.value)
    plan = plan_records(parsed.value) if parsed.value is not None else None
    return CheckedRecords(parsed.value, plan, (*bundle.problems, *parsed.problems))


@contextmanager
def open_written(*, records: Records, watch: Watch) -> Iterator[WrittenRecords]:
    """Write what is new in records into a batch, for `use_records` to take into use within the block.

    Raises:
        judging.services.file_imports.responses.UnknownCases: the responses answer cases that the stored suite lacks.
    """
    plan = plan_records(records)
    with open_batch() as batch, ExitStack() as stack:
        rubrics = [(spec, stack.enter_context(closing(stage_rubric(spec)))) for spec in records.rubrics]
        slug = benchmark_slug_of(BENCHMARK)
        suite = write_suite(batch=batch, spec=records.answers.suite, slug=slug, name=BENCHMARK, watch=watch)
        stored, benchmark = suite.plan.suite, suite.plan.benchmark
        prompts = prompts_of(stored) if stored else coming_prompts(records.answers.suite, benchmark)
        responses = write_responses(
            batch=batch,
            specs=records.answers.responses,
            benchmark=benchmark,
            prompts=prompts,
            owner=str(stored or BENCHMARK),
            watch=watch,
        )
        for _, staged in rubrics:
            write_rubric(batch=batch, staged=staged, benchmark=benchmark, watch=watch)
        new = [cell for cell in records.cells if cell.key in plan.new]
        answers = _coming_answers(records, benchmark, prompts)
        cells = write_cells(batch=batch, cells=new, answers=answers, watch=watch)
        yield WrittenRecords(plan, batch, suite, responses, tuple(rubrics), cells)


@transaction.atomic
def use_records(*, written: WrittenRecords, actor: User | None, at: datetime) -> StoredRecords:
    """Take everything that a batch holds into use.

    Raises:
        judging.services.file_imports.import_batches.BatchLost: what the batch holds, or rests on, is gone or replaced.
    """
    plan, batch = written.plan, written.batch
    if not plan.new:
        return StoredRecords(plan, (), ())
    suite = use_suite(batch=batch, new=written.suite, actor=actor, at=at).suite
    use_responses(batch=batch, plan=written.responses, suite=suite, actor=actor, at=at)
    rubrics: dict[str, Rubric] = {}
    for spec, staged in written.rubrics:
        origin = RubricOrigin(spec.items[0].source, actor, at)
        stored = use_rubric(batch=batch, staged=staged, benchmark=suite.benchmark, origin=origin)
        rubrics |= {child.key: stored.rubric for child in spec.items[0].root.children}
    sets = use_cells(batch=batch, written=written.cells.cells, suite=suite, rubrics=rubrics, actor=actor, at=at)
    return StoredRecords(plan, tuple(sets), written.cells.problems)


def _coming_answers(
    records: Records, benchmark: Benchmark | None, prompts: Mapping[str, PromptKey]
) -> dict[str, dict[str, str]]:
    """Return each system's responses, as hashes of texts by case key, as they are once the records are in use."""
    names = {name for cell in records.cells for name in (cell.system_a, cell.system_b)}
    answers: dict[str, dict[str, str]] = {name: {} for name in names}
    keys = {prompt.pk: key for key, prompt in prompts.items()}
    stored = Response.objects.filter(
        prompt__benchmark=benchmark, system__name__in=names, attempt=0, superseded_at__isnull=True
    )
    for prompt_id, name, digest in stored.values_list("prompt_id", "system__name", "text_hash"):
        if prompt_id in keys:
            answers[name][keys[prompt_id]] = digest
    for spec in records.answers.responses:
        if spec.system in answers and spec.attempt == 0:
            answers[spec.system][spec.case_key] = text_hash(spec.text)
    return answers
