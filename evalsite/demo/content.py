"""The demo's benchmark, answers and rubrics, imported as a person would import the files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.base.json_types import JsonDict
from judging.models import Rubric, Suite, System
from judging.services.file_imports.imports import store_import
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.staged_rubrics import Watch, unwatched

DATA = Path(__file__).resolve().parent / "data"
BENCHMARK = "Desk questions"
LEVELS = "Desk question levels"
CRITERIA = "Desk question criteria"
SYSTEMS = ("willow-large", "alder-medium", "moss-small")  # strong, middling, weak; no real models

FILES = {
    "suite.yaml": ImportOptions(benchmark=BENCHMARK),
    "responses.jsonl": ImportOptions(benchmark=BENCHMARK),
    "levels.xlsx": ImportOptions(benchmark=BENCHMARK, rubric=LEVELS),
    "criteria.yaml": ImportOptions(benchmark=BENCHMARK, rubric=CRITERIA),
}


@dataclass(frozen=True, slots=True)
class DemoContent:
    """What the demo's files became."""

    suite: Suite
    levels: Rubric
    criteria: Rubric
    systems: tuple[System, ...]
    is_new: bool  # False: every file was stored already


@transaction.atomic
def load_content(*, actor: User | None, at: datetime, watch: Watch = unwatched) -> DemoContent:
    """Import the demo's files; equal files change nothing."""
    results = []
    for number, (name, options) in enumerate(FILES.items()):
        watch("files of the demo imported", number, len(FILES))
        results.append(_store(name, options, actor, at))
    suite = results[0]
    names = {system.name: system for system in System.objects.filter(name__in=SYSTEMS)}
    return DemoContent(
        suite=Suite.objects.get(pk=suite["suite"]["id"]),
        levels=Rubric.objects.get(pk=results[2]["rubrics"][0]["id"]),
        criteria=Rubric.objects.get(pk=results[3]["rubrics"][0]["id"]),
        systems=tuple(names[name] for name in SYSTEMS),
        is_new=any(result["changed"] for result in results),
    )


def _store(name: str, options: ImportOptions, actor: User | None, at: datetime) -> JsonDict:
    files = [(name, (DATA / name).read_bytes())]
    return store_import(files=files, options=options, source=name, actor=actor, at=at)
