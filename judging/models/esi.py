"""Items of ESI runs, and attempts of asked systems at cases."""

from __future__ import annotations

from django.db import models

from judging.models.benchmarks import Case
from judging.models.responses import Response, System
from judging.models.runs import Run


class EsiItem(models.Model):
    """One case for one system on its way through responding, cleaning and judging."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="esi_items")
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="esi_items")
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="esi_items")
    response = models.ForeignKey(Response, null=True, on_delete=models.PROTECT, related_name="esi_items")
    position = models.PositiveIntegerField()
    status = models.CharField(max_length=40, blank=True)  # judging.grading.esi.EsiStatus; empty: waits
    reason = models.CharField(max_length=500, blank=True)
    cleaned = models.TextField(blank=True)
    formatted_ok = models.BooleanField(default=True)
    answer_seconds = models.FloatField(null=True)
    call_ids = models.JSONField(default=list)  # the calls that asked for the response

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "position"], name="esi_item_position_once")]
        indexes = [models.Index(fields=["run", "system", "status"], name="esi_item_status")]

    def __str__(self) -> str:
        return f"{self.position}. {self.case_id} by {self.system_id}"


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
