"""Stores single parts of what an import stores together, for tests and benches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import datetime

from django.contrib.auth.models import User

from evalsite.base.types import JsonDict
from judging.models import Benchmark, Rubric, Suite, Upload
from judging.services.file_imports.import_batches import open_batch
from judging.services.file_imports.responses import (
    ResponsePlan,
    plan_responses,
    prompts_of,
    use_responses,
    write_responses,
)
from judging.services.file_imports.rubrics import RubricOrigin, use_rubric, write_rubric
from judging.services.file_imports.staged_rubrics import StagedRubric, Watch, stage_rubric, unwatched
from judging.services.file_imports.stored_imports import stored_rows
from judging.specs.records.neutral import ResponseRecord
from judging.specs.types import RubricSpec


def stored_document(upload: Upload) -> JsonDict:
    """Return what `show_import` prints of an import, whole."""
    return {part: list(rows) for part, rows in stored_rows(upload).items()}


def store_responses(
    *, specs: Sequence[ResponseRecord], suite: Suite, actor: User | None, at: datetime, watch: Watch = unwatched
) -> ResponsePlan:
    """Store responses to the cases of a suite and return what was done."""
    with open_batch() as batch:
        prompts = prompts_of(suite)
        plan = plan_responses(specs=specs, benchmark=suite.benchmark, prompts=prompts)
        write_responses(batch=batch, plan=plan, prompts=prompts, owner=str(suite), watch=watch)
        use_responses(batch=batch, plan=plan, suite=suite, actor=actor, at=at)
    return plan


def store_rubric(
    *, spec: RubricSpec, benchmark: Benchmark | None, source_name: str, actor: User | None, at: datetime
) -> Rubric:
    """Store a rubric that is in memory."""
    with closing(stage_rubric(spec)) as staged:
        return store_staged(staged=staged, benchmark=benchmark, origin=RubricOrigin(source_name, actor, at))


def store_staged(
    *, staged: StagedRubric, benchmark: Benchmark | None, origin: RubricOrigin, watch: Watch = unwatched
) -> Rubric:
    """Store a rubric that is read."""
    with open_batch() as batch:
        write_rubric(batch=batch, staged=staged, benchmark=benchmark, watch=watch)
        rubric, _ = use_rubric(batch=batch, staged=staged, benchmark=benchmark, origin=origin)
        return rubric
