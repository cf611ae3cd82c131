"""Caches of computed reports; everything here can be thrown away and computed again."""

from __future__ import annotations

from django.db import models


class Snapshot(models.Model):
    """A computed report."""

    kind = models.CharField(max_length=40)
    subject_id = models.BigIntegerField()  # what it is about: a suite, a queue, ...
    fingerprint = models.CharField(max_length=64)  # of the options and of the data it was computed from
    content = models.JSONField()
    computed_at = models.DateTimeField()
    seconds = models.FloatField(default=0)
    rows = models.BinaryField(null=True)  # what the items behind its figures are found in, where it links to them

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "subject_id", "fingerprint"], name="snapshot_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject_id}"
