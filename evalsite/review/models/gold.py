"""Items whose answers are known, and people whose work was paused because they answered too few of them right."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from evalsite.base.choices import choices_of
from evalsite.review.models.items import Queue, ReviewItem
from evalsite.review.states import LabelsOf


class GoldAnswer(models.Model):
    """The answers to an item that are known. People are handed copies of it unawares (`ReviewItem.retest_of`)."""

    item = models.OneToOneField(ReviewItem, on_delete=models.CASCADE, related_name="gold")
    label = models.CharField(max_length=20)  # in the order of the item, as an annotation has it
    parts = models.JSONField(default=dict)  # the same of a form's questions
    explanation = models.TextField(blank=True)  # for leads
    tolerance = models.FloatField(default=0)  # by which a number or a value of a scale may differ
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"gold answer {self.pk}"


class PausedPerson(models.Model):
    """That somebody is handed no more items of a queue, and what became of their labels there."""

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="paused_people")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="pauses")
    right = models.PositiveIntegerField()  # gold items, when they were paused
    answered = models.PositiveIntegerField()
    paused_at = models.DateTimeField()
    labels = models.CharField(max_length=20, choices=choices_of(LabelsOf), default=LabelsOf.UNDECIDED)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    resolved_at = models.DateTimeField(null=True)
    resumed_at = models.DateTimeField(null=True)  # gold items answered before it count no more

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["queue", "person"], condition=models.Q(resumed_at=None), name="person_paused_once"
            )
        ]

    def __str__(self) -> str:
        return f"pause {self.pk}"
