"""Django's configuration of this app."""

from __future__ import annotations

from django.apps import AppConfig


class JudgingConfig(AppConfig):
    """The judging app."""

    name = "judging"
    label = "judging"
    verbose_name = "Judging"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from judging.models import RunKind
        from judging.services.evaluation.esi_tasks import EsiExecutor
        from judging.services.evaluation.evaluator_tasks import GradingExecutor
        from judging.services.tasks.executors import register

        register(RunKind.GRADING, GradingExecutor())
        register(RunKind.SINGLE, GradingExecutor())
        register(RunKind.ANCHOR, GradingExecutor())
        register(RunKind.ESI, EsiExecutor())
