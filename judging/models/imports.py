"""Uploads from their check to their confirmation, and rows that are stored but not in use yet."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from evalsite.base.rows import page_at
from judging.models.benchmarks import Benchmark, Case
from judging.models.systems import Response


class ImportStatus(models.TextChoices):
    """An upload is checked first and stored only when its owner confirms."""

    CHECKING = "checking", "Being checked"
    CHECKED = "checked", "Ready to confirm"
    REFUSED = "refused", "Has errors"
    RUNNING = "running", "Importing"
    DONE = "done", "Imported"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"
    UNDONE = "undone", "Undone"


IN_WORK = (ImportStatus.CHECKING, ImportStatus.RUNNING)


class Upload(models.Model):
    """One upload with its dry-run findings."""

    PAGE = "imports/<int:upload_id>/"

    kind = models.CharField(max_length=40)  # judging.specs.upload_kinds.UploadKind
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
        return page_at(self.PAGE, self.pk)


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


class ImportBatch(models.Model):
    """The rows of one import before one short transaction takes them all into use. No page shows them."""

    touched_at = models.DateTimeField(db_default=Now())  # when rows were last added; long ago: its process died

    class Meta:
        indexes = [models.Index(fields=["touched_at"], name="import_batch_touched")]

    def __str__(self) -> str:
        return f"batch {self.pk}"


class BatchCase(models.Model):
    """A case to be taken into use: its prompt, its revision, and its place in the suite."""

    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE)
    position = models.PositiveIntegerField()
    weight = models.FloatField()
    case = models.ForeignKey(Case, null=True, on_delete=models.CASCADE)  # stored before; the fields below are empty
    key = models.CharField(max_length=200)
    prompt_hash = models.CharField(max_length=64)
    text = models.TextField()
    context = models.TextField(blank=True)
    context_role = models.CharField(max_length=20, blank=True)
    images = models.JSONField(default=list)
    messages = models.JSONField(default=list)
    is_numbered = models.BooleanField(default=False)
    content_hash = models.CharField(max_length=64)
    reference = models.TextField(blank=True)
    scenario = models.CharField(max_length=100, blank=True)
    question_type = models.CharField(max_length=100, blank=True)
    lang = models.CharField(max_length=40, blank=True)
    full_score = models.FloatField(null=True)
    null_score = models.FloatField(null=True)
    grading = models.JSONField(default=dict)
    handlers = models.JSONField(default=dict)
    metadata = models.JSONField(default=dict)
    source_path = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return self.key


class BatchResponse(models.Model):
    """A response to be taken into use, or the new details of a stored one."""

    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE)
    amends = models.ForeignKey(Response, null=True, on_delete=models.CASCADE, related_name="+")
    case_key = models.CharField(max_length=200)
    prompt_hash = models.CharField(max_length=64)
    system = models.CharField(max_length=120)
    attempt = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    text_hash = models.CharField(max_length=64)
    images = models.JSONField(default=list)
    messages = models.JSONField(default=list)
    completion_tokens = models.PositiveIntegerField(null=True)
    stop_reason = models.CharField(max_length=40, blank=True, default="", db_default="")
    seconds = models.FloatField(null=True)
    metadata = models.JSONField(default=dict)
    source = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"{self.system}: {self.case_key}"


class BatchPicture(models.Model):
    """An image to be taken into use."""

    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64)
    media_type = models.CharField(max_length=20)
    data = models.BinaryField()

    def __str__(self) -> str:
        return self.digest[:12]


class BatchRubricItem(models.Model):
    """A tree of a rubric to be taken into use."""

    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE)
    rubric_hash = models.CharField(max_length=64)
    case_key = models.CharField(max_length=200, blank=True)
    position = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    tree = models.JSONField()
    metadata = models.JSONField(default=dict)
    source = models.CharField(max_length=100, blank=True)

    def __str__(self) -> str:
        return self.case_key or "whole benchmark"
