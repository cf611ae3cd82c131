"""A process of a site of its own that imports a suite, its responses and a rubric, and may die in the middle.

`store WHEN`  kills itself by SIGKILL once it has told WHEN times that it goes on storing; 0: never. Returns the result
`state`       what the database holds, after everything left by dead processes is taken for dead
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from django.db.models import Model  # noqa: E402 models load only after setup
from django.utils import timezone  # noqa: E402

from judging.models import (  # noqa: E402
    BatchCase,
    BatchResponse,
    BatchRubricItem,
    Benchmark,
    Case,
    ImportBatch,
    Prompt,
    Response,
    Rubric,
    RubricItem,
    Suite,
    SuiteCase,
    System,
)
from judging.services.file_imports.imports import check_import, store_checked  # noqa: E402
from judging.services.file_imports.intake import ImportOptions  # noqa: E402
from judging.services.file_imports.rubrics import RubricOrigin  # noqa: E402
from judging.services.file_imports.staged_rubrics import Watch  # noqa: E402
from tests.judging.import_files import workbook  # noqa: E402
from tests.judging.services.site_process import answer_commands  # noqa: E402

CASES = 1200
SHOWN = (Benchmark, Suite, SuiteCase, Prompt, Case, System, Response, Rubric, RubricItem)
UNSEEN = (ImportBatch, BatchCase, BatchResponse, BatchRubricItem)


def files() -> list[tuple[str, bytes]]:
    """Return a suite, one response to each of its cases, and a criterion for each."""
    cases = [{"id": f"q{n}", "question": f"What is {n}?"} for n in range(CASES)]
    answers = [{"case_id": f"q{n}", "system": "ada", "response": str(n)} for n in range(CASES)]
    lines = [("questions.jsonl", cases), ("answers.jsonl", answers)]
    written = [(name, "\n".join(json.dumps(row) for row in rows).encode()) for name, rows in lines]
    return [*written, workbook(tuple(f"q{n}" for n in range(CASES)))]


def store(when: str) -> dict[str, Any]:
    """Import everything and return what came of it."""
    checked = check_import(files=files(), options=ImportOptions())
    assert checked.errors == (), checked.errors
    origin = RubricOrigin("", None, timezone.now())
    return store_checked(checked=checked, origin=origin, watch=killing_watch(int(when)))


def killing_watch(when: int) -> Watch:
    """Return a watch that ends this process by SIGKILL when it is told something for that time; 0: never."""
    told = 0

    def watch(stage: str, done: int, total: int) -> None:
        nonlocal told
        told += 1
        if told == when:
            os.kill(os.getpid(), signal.SIGKILL)

    return watch


def state() -> dict[str, dict[str, int]]:
    """Return the rows that people see, and those that nobody does, of tables that are not empty."""
    return row_counts(shown=SHOWN, unseen=UNSEEN)


def row_counts(**groups: Sequence[type[Model]]) -> dict[str, dict[str, int]]:
    """Return the rows of each table that is not empty, by group, after every batch was made to look abandoned."""
    ImportBatch.objects.update(touched_at=timezone.now() - timedelta(hours=2))
    counted = {
        name: {model.__name__: model._default_manager.count() for model in group} for name, group in groups.items()
    }
    return {name: {model: count for model, count in counts.items() if count} for name, counts in counted.items()}


if __name__ == "__main__":
    answer_commands({"store": store, "state": state})
