"""Edited prompts: named, immutable versions beside the shipped files."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse


class PromptVersion(models.Model):
    """One edited text. `name` is the shipped file that it replaces, or "worker" for one that asks for responses."""

    name = models.CharField(max_length=60)
    label = models.CharField(max_length=60)
    text = models.TextField()
    is_active = models.BooleanField(default=True)  # False: retired, offered for nothing new
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "label"], name="prompt_label_once"),
            models.UniqueConstraint(fields=["name", "sha256"], name="prompt_text_once"),
        ]

    def __str__(self) -> str:
        return self.label

    def get_absolute_url(self) -> str:
        return reverse("judging:prompt-detail", args=[self.name])
