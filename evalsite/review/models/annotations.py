"""Tables of items in hand, items looked at, and annotations."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from evalsite.base.choices import choices_of
from evalsite.base.json_types import JsonDict
from evalsite.review.blinding import QueueMode
from evalsite.review.models.items import ReviewItem
from evalsite.review.models.queues import Queue
from evalsite.review.states import AssignmentStatus


class Assignment(models.Model):
    """A person's claim on an item. The token fences off whoever lost the claim."""

    item = models.ForeignKey(ReviewItem, on_delete=models.CASCADE, related_name="assignments")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="assignments")  # the item's, for counting
    item_open = models.BooleanField(default=True)  # the item's status is open, for counting
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="assignments")
    token = models.UUIDField(unique=True)
    status = models.CharField(max_length=20, choices=choices_of(AssignmentStatus), default=AssignmentStatus.LEASED)
    swapped = models.BooleanField(default=False)  # this person sees B on the left
    claimed_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    beat_at = models.DateTimeField(null=True)  # the page's last sign of life
    active_seconds = models.FloatField(default=0)  # at work on the item, idle time left out
    skip_reason = models.CharField(max_length=300, blank=True)
    flag = models.CharField(max_length=300, blank=True)
    seen_before = models.BooleanField(default=False)  # the person had looked at the item as its owner: not blind
    acted_at = models.DateTimeField(null=True)  # when it was answered or skipped: the last act is the one undone
    draft = models.JSONField(default=dict)
    draft_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "annotator"], name="assignment_once")]
        indexes = [
            models.Index(fields=["item", "status", "expires_at"], name="assignment_live"),
            models.Index(fields=["annotator", "queue", "item_open", "status"], name="assignment_mine"),
            models.Index(fields=["queue", "annotator", "status"], name="assignment_progress"),
            models.Index(fields=["queue", "annotator", "-acted_at"], name="assignment_last_act"),
            models.Index(fields=["queue", "item_open", "status", "expires_at"], name="assignment_queue"),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk}"


class Look(models.Model):
    """That somebody saw what annotators of an item must not: as an owner, or in adjudication."""

    item = models.ForeignKey(ReviewItem, on_delete=models.CASCADE, related_name="looks")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="looks")  # the item's, for handing out
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="looks")
    looked_at = models.DateTimeField()
    saw_verdicts = models.BooleanField(default=True)  # of machines too, not other people's answers alone

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "person"], name="look_once")]
        indexes = [models.Index(fields=["queue", "person"], name="look_mine")]

    def __str__(self) -> str:
        return f"look {self.pk}"


class Annotation(models.Model):
    """One annotator's blind answer to one item, with an optional revision after the reveal.

    Who cannot judge the item says why: that is an annotation without a label, and takes no slot.
    """

    item = models.ForeignKey(ReviewItem, on_delete=models.CASCADE, related_name="annotations")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="annotations")  # the item's, for reports
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="annotations")
    slot = models.PositiveSmallIntegerField(null=True)  # 0 to quorum - 1: two labels can never take the same one
    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="annotation")
    label = models.CharField(max_length=20, blank=True)  # one of the subject's labels, in system space
    cannot_judge = models.CharField(max_length=300, blank=True)  # why they cannot judge it, in place of a label
    parts = models.JSONField(default=dict)  # of the criterion's form: key -> value; the label is what they come to
    note = models.TextField(blank=True)
    seconds = models.FloatField(null=True)  # from claim to answer
    active_seconds = models.FloatField(null=True)  # the same without idle time; None where nobody measured it
    created_at = models.DateTimeField()
    seen_before = models.BooleanField(default=False)  # the person had looked at the item as its owner: not blind
    mode = models.CharField(
        max_length=20, choices=choices_of(QueueMode), default=QueueMode.BLIND
    )  # the queue's, when it was given
    guidelines_version = models.PositiveIntegerField(default=1)  # the queue's, when it was given
    source_file = models.CharField(max_length=200, blank=True)  # the file that it was imported from, if it was
    edited_at = models.DateTimeField(null=True)  # last change of the blind answer while the item was open
    revealed_at = models.DateTimeField(null=True)  # when the verdicts were shown; fixes the blind answer
    revised_label = models.CharField(max_length=20, blank=True)
    revised_parts = models.JSONField(default=dict)
    revision_note = models.TextField(blank=True)
    revised_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "annotator"], name="annotation_once"),
            models.UniqueConstraint(fields=["item", "slot"], name="annotation_slot_once"),
            models.CheckConstraint(
                condition=(models.Q(slot__isnull=False, cannot_judge="") & ~models.Q(label=""))
                | (models.Q(slot=None, label="", revised_label="") & ~models.Q(cannot_judge="")),
                name="annotation_label_or_cannot_judge",
            ),
        ]
        indexes = [
            models.Index(fields=["annotator", "created_at"], name="annotation_mine"),
            models.Index(fields=["queue", "created_at"], name="annotation_queue"),
        ]

    def __str__(self) -> str:
        return f"annotation {self.pk}"

    @property
    def final_label(self) -> str:
        return self.revised_label or self.label

    @property
    def final_parts(self) -> JsonDict:
        parts: JsonDict = self.revised_parts if self.revised_label else self.parts
        return parts
