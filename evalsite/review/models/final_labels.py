"""Tables of adjudications and of the one label a subject ends with."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from evalsite.review.models.annotations import Annotation
from evalsite.review.models.items import ReviewItem, Subject


class Provenance(models.TextChoices):
    """How a final label came about. Only blind ones enter figures about judges."""

    MAJORITY = "majority", "Blind majority"
    ADJUDICATION = "adjudication", "Blind adjudication"
    INFORMED = "informed", "Informed: given after seeing machine verdicts"
    IMPORTED = "imported", "Imported"


class Adjudication(models.Model):
    """The final human word on an item that people disagree about."""

    item = models.OneToOneField(ReviewItem, on_delete=models.CASCADE, related_name="adjudication")
    adjudicator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="adjudications")
    label = models.CharField(max_length=20)
    parts = models.JSONField(default=dict)  # as in Annotation
    adopted = models.ForeignKey(Annotation, null=True, on_delete=models.SET_NULL)
    reason = models.TextField()
    created_at = models.DateTimeField()
    is_blind = models.BooleanField(default=True)  # nobody had shown the adjudicator a machine verdict before
    revealed_at = models.DateTimeField(null=True)  # when the verdicts were shown; fixes the label
    revised_label = models.CharField(max_length=20, blank=True)  # beside the label, never in its place
    revised_parts = models.JSONField(default=dict)
    revision_note = models.TextField(blank=True)
    revised_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"adjudication {self.pk}"


class FinalLabel(models.Model):
    """The final human label of a subject, and how it came about; pairs in the order of the subject."""

    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="final_labels")
    item = models.ForeignKey(  # on which people decided; None: imported
        ReviewItem, null=True, on_delete=models.CASCADE, related_name="final_labels"
    )
    provenance = models.CharField(max_length=20, choices=Provenance)
    is_blind = models.BooleanField()
    label = models.CharField(max_length=20)
    share = models.FloatField(null=True)  # the label on the scale from 0 to 1; pairs: 1, 0.5, 0; None: a name
    parts = models.JSONField(default=dict)  # as in Annotation, where people decided on each
    source = models.CharField(max_length=200, blank=True)  # imported: from whom
    table = models.ForeignKey(  # imported with it, and gone with it; None: of labels of debates, which it follows
        "LabelTable", null=True, on_delete=models.CASCADE, related_name="final_labels"
    )
    decided_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "is_blind"], name="final_label_once"),
            models.UniqueConstraint(
                fields=["subject", "source", "is_blind"],
                condition=models.Q(item=None),
                name="final_label_imported_once",
            ),
            models.CheckConstraint(
                condition=models.Q(provenance__in=["majority", "adjudication"], is_blind=True)
                | models.Q(provenance="informed", is_blind=False)
                | models.Q(provenance="imported"),
                name="final_label_blind_by_provenance",
            ),
        ]

    def __str__(self) -> str:
        return f"final label {self.pk}"
