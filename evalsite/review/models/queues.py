"""Tables of queues, their guidelines and scale, and of the audits that fill them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from debate.models import DebateSet
from evalsite.base.choices import choices_of
from evalsite.review.blinding import QueueMode
from evalsite.review.states import ItemStatus, QueueStatus
from judging.models import Run

LEFT_OUT = (ItemStatus.STALE, ItemStatus.EXCLUDED)  # of reports, counters and retests


class OrderPolicy(models.TextChoices):
    """In which order a queue hands its items out."""

    URGENT = "urgent", "Most uncertain first, then random"
    GIVEN = "given", "Order of the file"
    RANDOM = "random", "Random"


class Queue(models.Model):
    """A stream of items with its guidelines, label scale and quorum."""

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)  # what annotators see too: it tells of no system, judge or file
    guidelines = models.TextField(blank=True)  # Markdown
    question = models.CharField(max_length=300, blank=True)  # asked at every item; empty: the usual words
    guidelines_version = models.PositiveIntegerField(default=1)  # counted up by each change of the guidelines
    mode = models.CharField(max_length=20, choices=choices_of(QueueMode), default=QueueMode.BLIND)
    labels = models.JSONField()  # [{"value": "1", "text": "A is better"}, ...], in order
    quorum = models.PositiveSmallIntegerField(default=2)
    status = models.CharField(max_length=20, choices=choices_of(QueueStatus), default=QueueStatus.OPEN)
    run = models.OneToOneField(Run, null=True, on_delete=models.SET_NULL, related_name="queue")
    debate_set = models.OneToOneField(DebateSet, null=True, on_delete=models.SET_NULL, related_name="queue")
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="queues"
    )  # none: every annotator
    open_count = models.PositiveIntegerField(default=0)
    total_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    routed_at = models.DateTimeField(null=True)  # end of the last routing of its run or debate set
    audit_strata = models.JSONField(default=list, blank=True)  # last prompt of each stratum that its run drew from
    source_file = models.CharField(max_length=200, blank=True)  # name of the file that its items came from
    order = models.CharField(max_length=20, choices=OrderPolicy, default=OrderPolicy.URGENT)
    retest_share = models.FloatField(default=0.05)  # of a person's own items that come back to them later
    shows_agreement = models.BooleanField(default=False)  # people may see how far they agree with the rest

    class Meta:
        permissions = [("adjudicate", "Can adjudicate items on which annotators disagree")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("review:queue-detail", args=[self.slug])

    @property
    def origin(self) -> str:
        """Name of the run, the debates or the file that its items come from, for owners only; "" if it is its own."""
        about = self.run or self.debate_set
        origin = self.source_file if about is None else about.name
        return "" if origin == self.name else origin


class AuditPlan(models.Model):
    """How many verdicts of a run, or debates of a set, people check at random; without one the site's share holds."""

    run = models.OneToOneField(Run, null=True, on_delete=models.CASCADE, related_name="audit_plan")
    debate_set = models.OneToOneField(DebateSet, null=True, on_delete=models.CASCADE, related_name="audit_plan")
    size = models.PositiveIntegerField()
    chosen_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="audit_plans"
    )  # None: by a command
    chosen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(run__isnull=False, debate_set=None) | models.Q(run=None, debate_set__isnull=False),
                name="audit_plan_for_one_thing",
            )
        ]

    def __str__(self) -> str:
        return f"audit of {self.size}"
