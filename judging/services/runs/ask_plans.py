"""The part of a run plan that asks systems: which ones, how often, and the asks to work through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from evalsite.base.json_types import JsonDict
from judging.models import ASKING, Ask, Case, Run, RunTask, Suite, System
from judging.selectors.selections import case_filters
from judging.services.systems import Worker, worker_of
from judging.specs.selections import CaseSelection, selection_from_json

MAX_ATTEMPTS = 100
ASK_BATCH = 1000

AskKey = tuple[int, int, int]  # system, case, attempt


@dataclass(frozen=True, slots=True)
class AskSetup:
    """The systems that a run asks for responses before they are judged, and how many each gives to a case."""

    systems: Sequence[System]
    attempts: int = 1

    @property
    def workers(self) -> list[Worker]:
        """How the systems are asked, in their order."""
        return [worker_of(system) for system in self.systems]

    def to_json(self) -> JsonDict:
        """Return what a run freezes of it."""
        systems = {str(system.pk): worker_of(system).frozen() for system in self.systems}
        return {ASKING: {"attempts": self.attempts, "systems": systems}}


def asked_cases(*, suite: Suite, selection: CaseSelection) -> QuerySet[Case]:
    """Return the cases of a suite that its systems are asked about, in their order."""
    return Case.objects.filter(links__suite=suite, **case_filters(selection)).order_by("links__position")


def count_asked_prompts(*, suite: Suite, selection: CaseSelection) -> int:
    """Return how many prompts these cases have; those that differ only in grading share one, and its responses."""
    return asked_cases(suite=suite, selection=selection).order_by().values("prompt").distinct().count()


def missing_asks(run: Run) -> Iterator[list[AskKey]]:
    """Yield the asks of a run that are not written yet, a transaction's worth at a time, attempt by attempt."""
    selection = selection_from_json(run.options.get("selection", {}))
    cases = asked_cases(suite=run.suite, selection=selection).values_list("prompt_id", "pk")
    by_prompt: dict[int, int] = {}
    for prompt_id, case_id in cases:
        by_prompt.setdefault(prompt_id, case_id)
    written = set(Ask.objects.filter(run=run).values_list("system_id", "case_id", "attempt"))
    keys = [
        (int(system), case_id, attempt)
        for attempt in range(run.options[ASKING]["attempts"])
        for case_id in by_prompt.values()
        for system in run.asked_systems
    ]
    missing = [key for key in keys if key not in written]
    for start in range(0, len(missing), ASK_BATCH):
        yield missing[start : start + ASK_BATCH]


def write_asks(ask_keys: Sequence[AskKey], run_id: int) -> None:
    """Write asks with their tasks; the run is locked, and what another worker has written is left alone."""
    cases = {case_id for _, case_id, _ in ask_keys}
    written = set(Ask.objects.filter(run_id=run_id, case__in=cases).values_list("system_id", "case_id", "attempt"))
    asks = Ask.objects.bulk_create(
        [
            Ask(run_id=run_id, system_id=system_id, case_id=case_id, attempt=attempt)
            for system_id, case_id, attempt in ask_keys
            if (system_id, case_id, attempt) not in written
        ]
    )
    RunTask.objects.bulk_create([RunTask(run_id=run_id, subject_id=ask.pk) for ask in asks])
