"""Django's entry to this room."""

from __future__ import annotations

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    """The reports room."""

    name = "evalsite.reports"
    label = "reports"
    verbose_name = "Reports"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Start listening to the rooms below."""
        from evalsite.reports import receivers  # noqa: F401 - it registers itself
