"""Tables of labels imported from files."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from judging.models import RunEvaluator


class LabelTable(models.Model):
    """Labels that people gave elsewhere, kept for the same reports as a queue's answers."""

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    labels = models.JSONField()  # the declared scale, as in Queue
    source_file = models.CharField(max_length=200)
    item_count = models.PositiveIntegerField()
    label_count = models.PositiveIntegerField()
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="label_tables"
    )
    created_at = models.DateTimeField()
    digest = models.CharField(max_length=64, blank=True)  # of the file and everything said of it; equal: nothing new
    evaluator = models.ForeignKey(  # whose responses the labels are about, under its criterion; None: agreement only
        RunEvaluator, null=True, on_delete=models.SET_NULL, related_name="label_tables"
    )
    source = models.CharField(max_length=200, blank=True)  # from whom
    is_blind = models.BooleanField(default=False)  # as the importer says: nobody had seen machine verdicts
    final_count = models.PositiveIntegerField(default=0)  # final labels that came with it

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["digest"], condition=~models.Q(digest=""), name="label_table_once")
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("reports:labels-detail", args=[self.slug])


class LabelledItem(models.Model):
    """One row of a label table: what was labelled, with the columns that are no labels."""

    table = models.ForeignKey(LabelTable, on_delete=models.CASCADE, related_name="items")
    key = models.CharField(max_length=200)
    criterion = models.CharField(max_length=100, blank=True)
    scenario = models.CharField(max_length=100, blank=True)
    language = models.CharField(max_length=20, blank=True)
    details = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["table", "key"], name="labelled_item_once")]

    def __str__(self) -> str:
        return self.key


class ImportedLabel(models.Model):
    """What one rater, who need not have an account, said of one item."""

    table = models.ForeignKey(LabelTable, on_delete=models.CASCADE, related_name="imported_labels")
    item = models.ForeignKey(LabelledItem, on_delete=models.CASCADE, related_name="imported_labels")
    rater = models.CharField(max_length=150)
    label = models.CharField(max_length=20)
    given_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "rater"], name="imported_label_once")]
        indexes = [models.Index(fields=["table", "item"], name="imported_label_table")]

    def __str__(self) -> str:
        return f"{self.rater}: {self.label}"
