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
        """Make this app hold the debates of runs, and read files of recorded ones."""
        from debate import page_parts
        from debate.services.executors import DebateExecutor
        from debate.services.record_imports import UPLOAD_KIND, check_records
        from judging.models import RunKind
        from judging.services.file_imports.file_readers import add_reader
        from judging.services.tasks.executors import register

        register(RunKind.DEBATE, DebateExecutor())
        add_reader(UPLOAD_KIND, check_records)
        page_parts.add_parts()
