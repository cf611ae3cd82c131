"""Writes the audit log. It hears of acts in their own transaction, so an act and its entry stand or fall together."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate
from django.dispatch import receiver
from django.utils import timezone

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import sync_groups
from judging.signals import acted


@receiver(acted)
def record_act(
    sender: object, *, actor_id: int | None, action: str, subject: str, subject_id: int | None, **extra: Any
) -> None:
    """Append one entry."""
    AuditEntry.objects.create(
        at=timezone.now(),
        actor_id=actor_id,
        action=action,
        subject=subject[:200],
        subject_id=subject_id,
        detail=extra.get("detail") or {},
    )


@receiver(post_migrate)
def refresh_groups(sender: AppConfig, **extra: Any) -> None:
    """Bring the groups' permissions up to date after the last application was migrated, when all permissions exist."""
    last = [config for config in apps.get_app_configs() if config.models_module is not None][-1]
    if sender.label == last.label:
        sync_groups()
