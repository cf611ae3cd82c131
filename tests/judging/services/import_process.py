"""A process of a site of its own that imports a suite, its responses and a rubric, and may die in the middle.

`store WHEN`  kills itself by SIGKILL once it has told WHEN times that it goes on storing; 0: never. Returns the result
`state`       what the database holds, after everything left by dead processes is taken for dead
"""

from __future__ import annotations

import json
import os
import signal
from datetime import timedelta
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from django.utils import timezone  # noqa: E402 models load only after setup

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
from judging.services.imports import check_import, store_checked  # noqa: E402
from judging.services.intake import ImportOptions  # noqa: E402
from judging.services.rubrics import RubricOrigin  # noqa: E402
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
    told = 0

    def watch(stage: str, done: int, total: int) -> None:
        nonlocal told
        told += 1
        if told == int(when):
            os.kill(os.getpid(), signal.SIGKILL)

    return store_checked(checked=checked, origin=RubricOrigin("", None, timezone.now()), watch=watch)


def state() -> dict[str, dict[str, int]]:
    """Return the rows that people see, and those that nobody does, of tables that are not empty."""
    ImportBatch.objects.update(touched_at=timezone.now() - timedelta(hours=2))
    counted = {name: {model.__name__: model._default_manager.count() for model in models} for name, models in GROUPS}
    return {name: {model: count for model, count in counts.items() if count} for name, counts in counted.items()}


GROUPS = (("shown", SHOWN), ("unseen", UNSEEN))

if __name__ == "__main__":
    answer_commands({"store": store, "state": state})
