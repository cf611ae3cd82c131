"""Versioned rubrics."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from judging.models.benchmarks import Benchmark

SHAPE_WORDS = {
    "levels": "criteria in levels",
    "criteria": "table of criteria",
    "checklist": "checklist",
    "assertions": "assertions",
    "nested": "nested criteria",
    "scaleeval": "criteria for comparisons",
}


class Rubric(models.Model):
    """One immutable version of a rubric."""

    slug = models.SlugField(max_length=80)
    version = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    benchmark = models.ForeignKey(Benchmark, null=True, on_delete=models.CASCADE, related_name="rubrics")
    content_hash = models.CharField(max_length=64)
    shape = models.CharField(max_length=20)  # levels | criteria | checklist | assertions | nested | scaleeval
    scope = models.CharField(max_length=20)  # benchmark | item
    options = models.JSONField(default=dict)
    benchmark_aggregate = models.JSONField(default=dict)
    licence = models.CharField(max_length=200, blank=True)
    source_name = models.CharField(max_length=300, blank=True)
    item_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["slug", "version"], name="rubric_version_once"),
            models.UniqueConstraint(fields=["slug", "content_hash"], name="rubric_content_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"

    def get_absolute_url(self) -> str:
        return reverse("judging:rubric-detail", args=[self.pk])

    @property
    def shape_words(self) -> str:
        """The shape of its file, for pages; a file may name a shape of its own."""
        return SHAPE_WORDS.get(self.shape, self.shape.replace("_", " "))


class RubricItem(models.Model):
    """The tree of nodes that applies to one case, or to the whole benchmark where `case_key` is empty.

    The tree is kept whole, as read by `judging.services.trees`: it is written once, always read as a whole, and a
    workbook of 100,000 rows imports as 100,000 rows instead of half a million.
    """

    rubric = models.ForeignKey(Rubric, on_delete=models.CASCADE, related_name="items")
    case_key = models.CharField(max_length=200, blank=True)
    position = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)  # SHA-256 of key and tree: two versions are compared without their trees
    tree = models.JSONField()
    metadata = models.JSONField(default=dict)
    source = models.CharField(max_length=100, blank=True)  # "Sheet1!A14"

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rubric", "case_key"], name="rubric_item_once")]

    def __str__(self) -> str:
        return self.case_key or "whole benchmark"
