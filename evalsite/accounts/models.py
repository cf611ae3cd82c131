"""The audit log."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class AuditEntry(models.Model):
    """Who did what, when. Written once; all that ever goes from it are the names of somebody who is erased."""

    at = models.DateTimeField(db_index=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="audit_entries"
    )  # None: a command or the site itself
    action = models.CharField(max_length=60)  # "suite.imported", "run.cancelled", ...
    subject = models.CharField(max_length=200)  # shown text
    subject_id = models.BigIntegerField(null=True)
    address = models.CharField(max_length=200, db_default="")  # of the subject's page; empty where it has none
    detail = models.JSONField(default=dict)
    names_erased_at = models.DateTimeField(null=True)  # subject and detail are changed then, and the rest never

    class Meta:
        default_permissions = ("view",)
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["action", "at"], name="audit_action")]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"

    @property
    def facts(self) -> list[tuple[str, object]]:
        """The details as pairs: a template that asks a dictionary for its items gets the key of that name first."""
        erased = {"names erased": self.names_erased_at.date()} if self.names_erased_at else {}
        return [
            (name, ", ".join(map(str, value)) if isinstance(value, list) else value)
            for name, value in {**self.detail, **erased}.items()
            if value not in (None, "", [])
        ]
