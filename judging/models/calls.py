"""The ledger of every call to a model."""

from __future__ import annotations

from django.db import models

from judging.models.endpoints import ModelEndpoint
from judging.models.runs import Run


class Call(models.Model):
    """One chat completion. A finished one is never paid for twice: its key is unique."""

    key = models.CharField(max_length=64)  # judging.llm.identity
    endpoint = models.ForeignKey(ModelEndpoint, on_delete=models.PROTECT, related_name="calls")
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="calls")  # who paid first
    status = models.CharField(max_length=20)  # judging.llm.chat.ReplyStatus
    request = models.JSONField()  # the exact body but for the key
    text = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True)  # USD; None: price unknown
    label_logprobs = models.JSONField(default=dict)
    error_kind = models.CharField(max_length=60, blank=True)
    error_text = models.CharField(max_length=500, blank=True)
    attempts = models.PositiveIntegerField(default=1)
    seconds = models.FloatField(default=0)
    finished_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["key"], condition=models.Q(status="finished"), name="call_finished_once")
        ]
        indexes = [
            models.Index(fields=["key"], name="call_key"),
            models.Index(fields=["run", "status"], name="call_run"),
            models.Index(fields=["endpoint", "finished_at"], name="call_endpoint"),
        ]

    def __str__(self) -> str:
        return self.key[:12]
