"""Files on their way in: uploaded, looked at, confirmed."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from judging.models.benchmarks import Benchmark


class ImportStatus(models.TextChoices):
    """An upload is checked first and stored only when its owner confirms."""

    CHECKING = "checking", "Being checked"
    CHECKED = "checked", "Ready to confirm"
    REFUSED = "refused", "Has errors"
    RUNNING = "running", "Importing"
    DONE = "done", "Imported"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


IN_WORK = (ImportStatus.CHECKING, ImportStatus.RUNNING)


class Upload(models.Model):
    """One upload with its dry-run findings."""

    kind = models.CharField(max_length=40)  # judging.specs.sniff
    file_name = models.CharField(max_length=300)
    bytes_name = models.CharField(max_length=300)  # of its `UploadPart`s, until it is imported
    byte_count = models.PositiveBigIntegerField()
    content_hash = models.CharField(max_length=64)
    options = models.JSONField(default=dict)  # benchmark name, system name, ...
    status = models.CharField(max_length=20, choices=ImportStatus)
    preview = models.JSONField(default=dict)
    problems = models.JSONField(default=list)
    result = models.JSONField(default=dict)
    launches = models.PositiveIntegerField(default=0)  # a worker stops when another launch follows its own
    benchmark = models.ForeignKey(Benchmark, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="upload_created")]

    def __str__(self) -> str:
        return self.file_name

    @property
    def is_in_work(self) -> bool:
        return self.status in IN_WORK

    @property
    def can_be_confirmed(self) -> bool:
        """Whether a check found it good, and it is not stored or being stored."""
        return bool(self.preview) and self.status in (
            ImportStatus.CHECKED,
            ImportStatus.FAILED,
            ImportStatus.CANCELLED,
        )

    def get_absolute_url(self) -> str:
        return reverse("judging:import-detail", args=[self.pk])


class UploadPart(models.Model):
    """A part of the bytes of an upload. What is uploaded to one machine is checked and stored by workers on others."""

    name = models.CharField(max_length=300)  # of the whole
    number = models.PositiveIntegerField()
    data = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "number"], name="upload_part_once")]

    def __str__(self) -> str:
        return f"{self.name} part {self.number}"
