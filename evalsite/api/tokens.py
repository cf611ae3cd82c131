"""Makes, finds and revokes tokens of the API."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from evalsite.accounts.audit import record
from evalsite.accounts.roles import Scope
from evalsite.accounts.second_factors import FactorRefused, has_to_enrol
from evalsite.api.models import ApiToken
from evalsite.base.rows import Issued, digest_of

PREFIX = "evs_"
SHOWN = len(PREFIX) + 6  # characters of a token that its list shows
USE_IS_WRITTEN_EVERY = timedelta(minutes=1)


@transaction.atomic
def make_token(*, owner: User, name: str, scopes: Iterable[Scope], days: int, at: datetime) -> Issued[ApiToken]:
    """Store a token and return it with its text, which nobody can read again.

    Raises:
        FactorRefused: the owner's role requires a second factor, and they have none yet.
    """
    if has_to_enrol(owner):
        raise FactorRefused("Your role requires a second factor. Set one up before you make a token.")
    text = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        owner=owner,
        name=name,
        prefix=text[:SHOWN],
        digest=digest_of(text),
        scopes=[scope.value for scope in scopes],
        created_at=at,
        ends_at=at + timedelta(days=days),
    )
    record(owner, "token.made", token, days=days, scopes=token.scopes)
    return Issued(token, text)


@transaction.atomic
def revoke_token(*, token: ApiToken, actor: User | None, at: datetime) -> ApiToken:
    """End a token at once."""
    if token.revoked_at is None:
        token.revoked_at = at
        token.save(update_fields=["revoked_at"])
        record(actor, "token.revoked", token)
    return token


def tokens_of(owner: User | None) -> QuerySet[ApiToken]:
    """Return the tokens of a person, or of everybody, that are not revoked, the newest first."""
    tokens = ApiToken.objects.filter(revoked_at__isnull=True).select_related("owner").order_by("-pk")
    return tokens if owner is None else tokens.filter(owner=owner)


def find_token(text: str, *, at: datetime) -> ApiToken | None:
    """Return the token of this text that is valid, and note its use; None for any other text.

    It rests while its owner lacks the second factor that their role requires, as their sessions do.
    """
    tokens = ApiToken.objects.select_related("owner")
    token = tokens.filter(
        digest=digest_of(text), revoked_at__isnull=True, ends_at__gt=at, owner__is_active=True
    ).first()
    if token is None or has_to_enrol(token.owner):
        return None
    if token.last_used_at is None or at - token.last_used_at > USE_IS_WRITTEN_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=at)
    return token
