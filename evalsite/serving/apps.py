"""Django's configuration of this app."""

from __future__ import annotations

from django.apps import AppConfig


class ServingConfig(AppConfig):
    """The serving app."""

    name = "evalsite.serving"
    label = "serving"
    verbose_name = "Serving"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from evalsite.base.command_base import use_broker_guard
        from evalsite.serving.broker import ensure_broker

        use_broker_guard(ensure_broker)
