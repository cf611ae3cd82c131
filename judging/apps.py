"""Django's configuration of this app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

if TYPE_CHECKING:
    from judging.services.registries import Executor


class JudgingConfig(AppConfig):
    """The judging app."""

    name = "judging"
    nouns = {
        "actions.benchmarks": ("benchmark", "case"),
        "actions.endpoints": ("endpoint",),
        "actions.judges": ("judge",),
        "actions.languages": ("language",),
        "actions.prompts": ("prompt",),
        "actions.rubrics": ("rubric",),
        "actions.runs": ("run",),
        "actions.systems": ("system",),
        "actions.uploads": ("upload",),
    }

    def ready(self) -> None:
        """Register what does the tasks of runs; it is imported when it is used, for every command starts here."""
        from judging.models import RunKind
        from judging.services.registries import register

        connection_created.connect(_register_function)
        register(RunKind.GRADING, _asking_executor)
        for kind in (RunKind.SINGLE, RunKind.ANCHOR, RunKind.GOLDEN):
            register(kind, _grading_executor)
        register(RunKind.ESI, _esi_executor)


def _register_function(connection: BaseDatabaseWrapper, **_: object) -> None:
    from judging.selectors.benchmarks import register_function

    register_function(connection)


def _asking_executor() -> Executor:
    from judging.services.esi_tasks import AskingExecutor

    return AskingExecutor()


def _grading_executor() -> Executor:
    from judging.services.evaluator_tasks import GradingExecutor

    return GradingExecutor()


def _esi_executor() -> Executor:
    from judging.services.esi_tasks import EsiExecutor

    return EsiExecutor()
