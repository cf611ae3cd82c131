"""What runs ask of systems: one attempt at one case, until there is a response or a reason why there is none."""

from __future__ import annotations

from django.db import models

from judging.models.benchmarks import Case
from judging.models.responses import Response, System
from judging.models.runs import Run


class Ask(models.Model):
    """An attempt of a system at a case in a run. Its task carries it out, and graders and judges follow."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="asks", db_index=False)
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="asks")
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="asks")
    attempt = models.PositiveIntegerField(default=0)
    response = models.ForeignKey(Response, null=True, on_delete=models.PROTECT, related_name="asks")
    # of a reply without a response ("content_filter", "refusal", "empty"); empty where nobody replied, or not yet
    stop_reason = models.CharField(max_length=40, blank=True)
    failure = models.CharField(max_length=60, blank=True)  # why there is no response; empty: there is one, or not yet
    reason = models.CharField(max_length=500, blank=True)  # the same in a sentence
    call_ids = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "system", "case", "attempt"], name="ask_once")]

    def __str__(self) -> str:
        return f"ask {self.pk}"
