"""Whom single sign-on admits, and with which role: the provider's groups say it anew at each sign-in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.accounts.audit import record
from evalsite.accounts.roles import Role, highest, role_of, set_role
from evalsite.accounts.second_factors import drop_factors, sign_out_without_factor
from evalsite.accounts.services import PersonDetails, create_person, has_account
from evalsite.base.rows import lock_row
from evalsite.base.signals import person_linked
from evalsite.base.types import JsonDict, Refused

NAME_LIMIT = 150  # characters of a user name, a first and a last name


class SignOnRefused(Refused):
    """Somebody whom the provider knows may not come in; the message says why and whom to ask."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What the provider says of who signs in."""

    details: PersonDetails
    has_verified_email: bool
    groups: frozenset[str]

    @property
    def role(self) -> Role | None:
        """The highest role that the groups give."""
        return highest(role for group, role in settings.OIDC_ROLES.items() if group in self.groups)


def read_claims(claims: JsonDict) -> Claims:
    """Return what the site uses of the provider's claims; what is missing or of another type is empty."""

    def text(name: str) -> str:
        value = claims.get(name)
        return value.strip() if isinstance(value, str) else ""

    first, _, last = text("name").partition(" ")
    email = text("email")
    details = PersonDetails(
        username=text("preferred_username") or email.partition("@")[0],
        first_name=(text("given_name") or first)[:NAME_LIMIT],
        last_name=(text("family_name") or last)[:NAME_LIMIT],
        email=email,
    )
    groups = claims.get(settings.OIDC_GROUPS_CLAIM)
    names = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    return Claims(details, claims.get("email_verified") is True, frozenset(map(str, names)))


def admit(claims: Claims, *, known: User | None) -> User:
    """Return the account of who signs in, with the role that the groups give; `known` has signed in so before.

    A role that the groups no longer give is gone even where the sign-in is refused.

    Raises:
        SignOnRefused: no account and none is made, it is switched off, or no group has a role.
    """
    role = claims.role
    person = known or _person_with_address(claims)
    if person is not None:
        if not person.is_active:
            raise SignOnRefused("Your account is switched off. Ask an admin of the site.")
        if settings.OIDC_ROLES:
            _follow_groups(person_id=person.pk, role=role)
    if settings.OIDC_ROLES and role is None:
        raise SignOnRefused("None of your groups has a role here. Ask an admin of the site which group you need.")
    if person is None:
        return _create(claims, role)
    if known is None:
        _link(person_id=person.pk)
    return User.objects.get(pk=person.pk)


def _person_with_address(claims: Claims) -> User | None:
    """Return who has the verified address, where the site trusts the provider with its domain."""
    domain = claims.details.email.rpartition("@")[2].lower()
    if not (claims.has_verified_email and domain in {name.lower() for name in settings.OIDC_DOMAINS}):
        return None
    people = User.objects.filter(email__iexact=claims.details.email)[:2]
    if len(people) > 1:
        raise SignOnRefused("Several accounts have your mail address. Ask an admin to remove it from all but one.")
    return people[0] if people else None


def _create(claims: Claims, role: Role | None) -> User:
    if not settings.OIDC_NEW_PEOPLE or role is None:
        raise SignOnRefused("You have no account here. Ask an admin of the site for one.")
    is_taken = has_account(claims.details.email)  # nobody vouches that it is theirs
    details = replace(claims.details, email="") if is_taken else claims.details
    try:
        UnicodeUsernameValidator()(details.username)
        with transaction.atomic():
            person = create_person(details=details, role=role, actor=None).row
            person.set_unusable_password()
            person.save(update_fields=["password"])
    except (ValidationError, Refused) as error:
        raise SignOnRefused(
            f"No account could be made with the user name {claims.details.username!r}: it is taken by an account that "
            "your provider does not open, or it is no user name. Ask an admin of the site."
        ) from error
    return person


@transaction.atomic
def _follow_groups(*, person_id: int, role: Role | None) -> None:
    """Give a person the role of their groups; the provider's word holds for the last admin too."""
    person = lock_row(User, person_id)
    before = role_of(person)
    if before == role:
        return
    if person.is_superuser:
        person.is_superuser = False
        person.save(update_fields=["is_superuser"])
    set_role(user=person, role=role)
    sign_out_without_factor(person)
    record(None, "person.changed", person, role=[before, role], by="single sign-on")


@transaction.atomic
def _link(*, person_id: int) -> None:
    """Open an account to the provider, and close it to whoever may have entered the address of somebody else there."""
    person = lock_row(User, person_id)
    person.set_unusable_password()  # and so all sessions end
    person.save(update_fields=["password"])
    drop_factors(person)
    person_linked.send(sender=User, person=person)
    record(None, "person.linked", person)
