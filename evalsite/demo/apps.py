"""Django's configuration of this app."""

from __future__ import annotations

from django.apps import AppConfig


class DemoConfig(AppConfig):
    """The demo."""

    name = "evalsite.demo"
    label = "demo"
    verbose_name = "Demo"
    default_auto_field = "django.db.models.BigAutoField"
