"""Second factors, invitations and the organisation; with them the audit log is a table of this app."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from evalsite.accounts.audit import AuditEntry as AuditEntry
from evalsite.base.rows import page_at


class FactorKind(models.TextChoices):
    """How a second factor is shown."""

    CODES = "codes", "App that makes codes"
    PASSKEY = "passkey", "Passkey"


class SecondFactor(models.Model):
    """What a person shows beside their password: an app that makes codes, or a passkey."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factors")
    kind = models.CharField(max_length=10, choices=FactorKind.choices)
    name = models.CharField(max_length=60)
    token = models.TextField()  # encrypted secret of the app, or what a passkey's signatures are checked with
    digest = models.CharField(max_length=64, default="")  # SHA-256 of a passkey's identifier
    counter = models.BigIntegerField(default=0)  # step of the last code, or the passkey's own count of its uses
    made_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint("digest", condition=~models.Q(digest=""), name="passkey_once")]

    def __str__(self) -> str:
        return self.name


class RecoveryCode(models.Model):
    """A code that stands for a second factor once; it is deleted when it is used."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64, unique=True)  # SHA-256

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"recovery code of {self.person_id}"


class RequiredFactor(models.Model):
    """A role whose people have to have a second factor."""

    role = models.CharField(max_length=20, unique=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.role


class Invitation(models.Model):
    """A link by which somebody makes an account with a role: once, until it ends or is revoked."""

    PAGE = "invitations/"

    email = models.EmailField(max_length=254)
    role = models.CharField(max_length=20)  # of evalsite.accounts.roles.Role
    digest = models.CharField(max_length=64, unique=True)  # SHA-256 of the secret in the link
    made_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"invitation {self.pk}"  # the address is somebody's, and goes from the log with them

    def get_absolute_url(self) -> str:
        """Return the list of invitations."""
        return page_at(self.PAGE)


class Organisation(models.Model):
    """Whose site this is: one row at most."""

    name = models.CharField(max_length=100)

    class Meta:
        default_permissions = ()
        constraints = [models.CheckConstraint(condition=models.Q(pk=1), name="one_organisation")]

    def __str__(self) -> str:
        return self.name
