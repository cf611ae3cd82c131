"""Django's configuration of this app."""

from __future__ import annotations

from django.apps import AppConfig


class DebateConfig(AppConfig):
    """The debate app."""

    name = "debate"
    label = "debate"
    verbose_name = "Debate"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Make this app hold the debates of runs."""
        from debate.services.executors import DebateExecutor
        from judging.models import RunKind
        from judging.services.tasks.executors import register

        register(RunKind.DEBATE, DebateExecutor())
