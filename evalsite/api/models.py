"""Tokens of people, and answers kept for a day."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from evalsite.base.rows import page_at


class ApiToken(models.Model):
    """What a script signs in with; only a hash of it is stored."""

    PAGE = "tokens/"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=20)  # of its text, by which a person knows it again
    digest = models.CharField(max_length=64, unique=True)  # SHA-256, hexadecimal
    scopes = models.JSONField(default=list)  # of evalsite.accounts.roles.Scope
    created_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)  # to the minute
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ("add",)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Return the page of one's own tokens."""
        return page_at(self.PAGE)


class KeptAnswer(models.Model):
    """The answer to a request with an Idempotency-Key, given again to the same request of the same person."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)  # of method, address and body
    status = models.PositiveSmallIntegerField(default=0)
    location = models.CharField(max_length=200)
    body = models.TextField()
    made_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="kept_answer_once")]

    def __str__(self) -> str:
        return self.key


class Webhook(models.Model):
    """An address that is told of events. Its secret is derived from that of the site, and stored nowhere."""

    PAGE = "webhooks/<int:key>/"

    name = models.CharField(max_length=100)
    url = models.URLField(max_length=500)
    events = models.JSONField(default=list)  # of evalsite.api.webhooks.Event
    is_active = models.BooleanField(default=True)
    generation = models.PositiveIntegerField(default=1)  # of its secret
    rotated_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        default_permissions = ("add",)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Return its page, with the log."""
        return page_at(self.PAGE, self.pk)


class WebhookDelivery(models.Model):
    """One event for one webhook: it waits while `due_at` is set."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=40)
    message_id = models.CharField(max_length=40, unique=True)
    body = models.TextField()  # as it is signed
    created_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, db_index=True)
    tries = models.PositiveSmallIntegerField(default=0)
    answered = models.PositiveSmallIntegerField(null=True)  # the status of the last answer
    trouble = models.CharField(max_length=300)  # why there was none
    delivered_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.event} {self.message_id}"

    def get_absolute_url(self) -> str:
        """Return the page of its webhook."""
        return self.webhook.get_absolute_url()

    @property
    def status(self) -> str:
        """Whether it waits, was delivered, or failed for good."""
        return "delivered" if self.delivered_at else "waiting" if self.due_at else "failed"


class TraceSource(models.Model):
    """The traces that programs send to one benchmark, and what has become of them so far."""

    PAGE = "traces/"

    benchmark = models.CharField(max_length=200, unique=True)  # name or slug, as senders have it
    step = models.CharField(max_length=200)  # whose spans are taken; empty: each trace as a whole
    sender = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    received_at = models.DateTimeField()  # the last spans
    stored_at = models.DateTimeField(null=True)  # when traces were last stored
    spans = models.PositiveBigIntegerField(default=0)  # received so far; the others count traces
    stored = models.PositiveBigIntegerField(default=0)
    left_out = models.PositiveBigIntegerField(default=0)  # whole, and could not be stored
    dropped = models.PositiveBigIntegerField(default=0)  # never whole
    trouble = models.CharField(max_length=500)  # why the last that was left out was

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.benchmark

    def get_absolute_url(self) -> str:
        """Return the page of all."""
        return page_at(self.PAGE)


class BufferedTrace(models.Model):
    """A trace whose spans arrive in several requests. Once it is stored its spans stay for a day, in case more come."""

    source = models.ForeignKey(TraceSource, on_delete=models.CASCADE, related_name="traces")
    trace_id = models.CharField(max_length=32)
    has_root = models.BooleanField(default=False)
    span_count = models.PositiveIntegerField(default=0)
    received_at = models.DateTimeField()  # its last new span
    ended_at = models.DateTimeField(null=True)  # when it was stored or left out; None: it waits

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["source", "trace_id"], name="buffered_trace_once")]
        indexes = [models.Index(fields=["source", "ended_at", "received_at"], name="buffered_trace_waiting")]

    def __str__(self) -> str:
        return self.trace_id


class BufferedSpan(models.Model):
    """A span as it was sent; `line` is read as a line of a file of traces."""

    trace = models.ForeignKey(BufferedTrace, on_delete=models.CASCADE, related_name="spans", db_index=False)
    span_id = models.CharField(max_length=16)
    line = models.TextField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["trace", "span_id"], name="buffered_span_once")]

    def __str__(self) -> str:
        return self.span_id
