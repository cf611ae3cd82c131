"""Systems and their responses."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from judging.models.benchmarks import EMPTY_LIST, Prompt
from judging.models.endpoints import ModelEndpoint
from judging.models.pictures import picture_url
from judging.specs.shown_content import ShownContent, shown_content


class System(models.Model):
    """A model with its prompt version. One with an endpoint is asked here; responses of others are imported."""

    name = models.CharField(max_length=120, unique=True)
    model = models.CharField(max_length=120, blank=True)
    prompt_version = models.CharField(max_length=60, blank=True)
    asking_key = models.CharField(max_length=64, blank=True)  # of its endpoint and how it is asked; empty: imported
    endpoint = models.ForeignKey(ModelEndpoint, null=True, on_delete=models.PROTECT, related_name="systems")
    asking = models.JSONField(default=dict)  # judging.judges.answer_prompts.ResponseSettings; empty: imported
    is_active = models.BooleanField(default=True)  # False: retired, asked by no new run
    description = models.TextField(blank=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

    @property
    def is_asked_here(self) -> bool:
        """Whether runs can ask it."""
        return self.endpoint_id is not None and bool(self.asking)

    def get_absolute_url(self) -> str:
        return reverse("judging:system-detail", args=[self.pk])


class Response(models.Model):
    """The nth response of a system to a prompt. A changed text is a new row; the old one is superseded, never lost."""

    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="responses")
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="responses")
    attempt = models.PositiveIntegerField(default=0)
    text = models.TextField(blank=True)  # of several turns, these as text
    text_hash = models.CharField(max_length=64)  # with images and messages, where there are any
    images = models.JSONField(default=list, db_default=EMPTY_LIST)  # as those of a prompt
    messages = models.JSONField(default=list, db_default=EMPTY_LIST)
    completion_tokens = models.PositiveIntegerField(null=True)
    # of a response that was given here; imported ones have none of these
    call = models.ForeignKey("judging.Call", null=True, on_delete=models.SET_NULL, related_name="responses")
    stop_reason = models.CharField(max_length=40, blank=True, default="", db_default="")  # as the provider said it
    seconds = models.FloatField(null=True)  # until the reply was there
    metadata = models.JSONField(default=dict)
    source = models.CharField(max_length=300, blank=True)
    imported_at = models.DateTimeField()
    superseded_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["prompt", "system", "attempt"],
                condition=models.Q(superseded_at__isnull=True),
                name="response_current_once",
            )
        ]
        indexes = [
            models.Index(fields=["system", "prompt", "attempt"], name="response_by_system"),
            # a system's current responses, to be counted and turned over without their texts
            models.Index(
                fields=["system", "id"],
                include=["prompt"],
                condition=models.Q(superseded_at__isnull=True),
                name="response_of_system",
            ),
            # most have no images, so that this is small; counts of those that have read nothing else
            models.Index(fields=["prompt", "system"], condition=~models.Q(images=[]), name="response_with_images"),
        ]

    def __str__(self) -> str:
        return f"response {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("judging:response-detail", args=[self.pk])

    @property
    def content(self) -> ShownContent:
        """What pages show of it."""
        return shown_content(self.text, self.images, self.messages, picture_url)
