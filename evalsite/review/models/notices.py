"""Tables of notices, and of which of them are sent as mail."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class NoticeKind(models.TextChoices):
    """What the site tells people about."""

    ASSIGNED = "assigned", "Assigned to you"
    NEEDS_ADJUDICATION = "split", "Needs adjudication"
    DONE = "done", "Queue complete"
    FLAGGED = "flagged", "Item flagged"
    COMMENTED = "commented", "New comment"
    PERSON_PAUSED = "person_paused", "Annotator paused"
    NOT_QUALIFIED = "not_qualified", "Training not passed"
    STUCK = "stuck", "No annotator left"
    RUN_ENDED = "run_ended", "Run ended"
    RUN_PAUSED = "run_paused", "Run paused"


class Notice(models.Model):
    """Something one person should know about a page. One unread notice per person, kind and page at most."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=20, choices=NoticeKind)
    name = models.CharField(max_length=200)  # of the queue or run
    address = models.CharField(max_length=200)  # of its page
    detail = models.CharField(max_length=300, blank=True)  # what a notice of a run adds: its counts, or why it paused
    count = models.PositiveIntegerField(default=1)  # how often it happened while unread
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "kind", "address"], condition=models.Q(read_at=None), name="notice_unread_once"
            )
        ]
        indexes = [models.Index(fields=["person", "-created_at"], name="notice_mine")]

    def __str__(self) -> str:
        return f"notice {self.pk}"


class MailChoice(models.Model):
    """A person who wants notices by e-mail as well."""

    person = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="mail_choice")

    def __str__(self) -> str:
        return f"mail to {self.person}"
