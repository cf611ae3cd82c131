"""Items whose answers are known, what people in training answered to them, and people whose work is paused."""

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
    explanation = models.TextField(blank=True)  # for leads, and for people who have answered it in training
    tolerance = models.FloatField(default=0)  # by which a number or a value of a scale may differ
    is_training = models.BooleanField(default=False)  # shown before the first item, and never handed out unawares
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"gold answer {self.pk}"


class TrainingAnswer(models.Model):
    """What somebody answered to a training item. It is no annotation: no figure, export or board ever reads it."""

    gold = models.ForeignKey(GoldAnswer, on_delete=models.CASCADE, related_name="training_answers")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="training_answers")
    label = models.CharField(max_length=20)
    parts = models.JSONField(default=dict)
    by_question = models.JSONField()  # by question, whether it is right
    answered_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["gold", "person"], name="training_answer_once")]

    def __str__(self) -> str:
        return f"training answer {self.pk}"

    @property
    def is_right(self) -> bool:
        """Whether each question with a known answer is right."""
        return all(self.by_question.values())


class PausedPerson(models.Model):
    """That somebody is handed no more items of a queue, and what became of their labels there."""

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="paused_people")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="pauses")
    right = models.PositiveIntegerField()  # gold items, when they were paused
    answered = models.PositiveIntegerField()
    paused_at = models.DateTimeField()
    in_training = models.BooleanField(default=False)  # they did not pass the training round, so there are no labels
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
