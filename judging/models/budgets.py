"""Budgets of one day, and amounts reserved for calls in flight."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Coalesce

from judging.models.endpoints import ModelEndpoint
from judging.models.runs import Lease


class DayBudget(models.Model):
    """The most that the calls of one day (UTC) may cost: those of an endpoint, or of the whole site."""

    endpoint = models.OneToOneField(  # None: of the site
        ModelEndpoint, null=True, on_delete=models.CASCADE, related_name="day_budget"
    )
    amount = models.DecimalField(max_digits=14, decimal_places=6)  # USD

    class Meta:
        constraints = [models.UniqueConstraint(Coalesce("endpoint", 0), name="day_budget_once")]

    def __str__(self) -> str:
        return f"{self.endpoint or 'site'}: {self.amount}"


class DayHold(models.Model):
    """Dollars of the day set aside at an endpoint for calls under way: those of a claim, or of a call outside runs.

    What a claim holds goes with it. What a call outside runs holds whose process ended counts as spent on its day.
    """

    lease = models.ForeignKey(Lease, null=True, on_delete=models.CASCADE, related_name="day_holds", db_index=False)
    endpoint = models.ForeignKey(ModelEndpoint, on_delete=models.CASCADE, related_name="day_holds", db_index=False)
    opened_at = models.DateTimeField()
    amount = models.DecimalField(max_digits=14, decimal_places=6)  # USD

    class Meta:
        constraints = [models.UniqueConstraint(fields=["lease", "endpoint"], name="day_hold_once")]

    def __str__(self) -> str:
        return f"{self.endpoint_id}: {self.amount}"
