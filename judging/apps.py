"""Django's configuration of this app."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.backends.signals import connection_created


class JudgingConfig(AppConfig):
    """The judging app."""

    name = "judging"
    label = "judging"
    verbose_name = "Judging"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from judging.models import RunKind
        from judging.selectors.text_search import register_function
        from judging.services.evaluation.ask_tasks import AskingExecutor
        from judging.services.evaluation.esi_tasks import EsiExecutor
        from judging.services.evaluation.evaluator_tasks import GradingExecutor
        from judging.services.tasks.executors import register

        connection_created.connect(register_function)
        register(RunKind.GRADING, AskingExecutor(GradingExecutor()))
        register(RunKind.SINGLE, GradingExecutor())
        register(RunKind.ANCHOR, GradingExecutor())
        register(RunKind.GOLDEN, GradingExecutor())
        register(RunKind.ESI, EsiExecutor())
