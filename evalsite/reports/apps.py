"""Django's configuration of this app."""

from __future__ import annotations

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    """The reports app."""

    name = "evalsite.reports"
    label = "reports"
    verbose_name = "Reports"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Start listening to the apps below."""
        from evalsite.reports import page_parts, receivers  # noqa: F401 - receivers connect themselves

        page_parts.add_parts()
