"""Changes to people: made, given a role, switched off, given a new password. Each change tells the audit log."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from axes.utils import reset as clear_lockout
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.accounts.audit import record
from evalsite.accounts.roles import Role, role_of, set_role
from evalsite.base.json_types import JsonDict
from evalsite.base.refusals import Refused
from evalsite.base.rows import lock_row

PASSWORD_LETTERS = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # noqa: S105 - no two look alike
PASSWORD_LENGTH = 16  # 93 bits


class PersonRefused(Refused):
    """The change would harm the site; the message says why."""


@dataclass(frozen=True, slots=True)
class PersonDetails:
    """What is known of a person beside role and password."""

    username: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class IssuedPassword:
    """A person with a password that was made up just now. It is shown once and stored nowhere in clear."""

    person: User
    password: str

    @property
    def pk(self) -> int:
        """The number of the person."""
        return self.person.pk


def make_password() -> str:
    """Return a password nobody has chosen."""
    return "".join(secrets.choice(PASSWORD_LETTERS) for _ in range(PASSWORD_LENGTH))


@transaction.atomic
def create_person(*, details: PersonDetails, role: Role, actor: User | None, password: str = "") -> IssuedPassword:
    """Make an account with a password of its own, unless one is given.

    Raises:
        PersonRefused: the user name is taken, or the given password is too weak.
    """
    if User.objects.filter(username__iexact=details.username).exists():
        raise PersonRefused(f"The user name {details.username!r} is taken.", field="username")
    person = User(
        username=details.username,
        first_name=details.first_name,
        last_name=details.last_name,
        email=details.email,
    )
    chosen = password or make_password()
    check_password(chosen, person)
    person.set_password(chosen)
    person.save()
    set_role(user=person, role=role)
    record(actor, "person.created", person, role=role.value)
    return IssuedPassword(person, chosen)


@transaction.atomic
def update_person(*, person: User, details: PersonDetails, role: Role, is_active: bool, actor: User | None) -> User:
    """Change a person's name, address, role and whether they may sign in.

    Raises:
        PersonRefused: admins would shut themselves out, or the site would be left without an admin.
    """
    person = lock_row(User, person.pk)
    before = role_of(person)
    stays_admin = role == Role.ADMIN and is_active
    if actor is not None and person.pk == actor.pk and not stays_admin:
        raise PersonRefused("You cannot remove your own access. Ask another admin.")
    if not stays_admin:
        check_admin_stays(person)
    changes = _apply(person, details, is_active)
    if before != role:
        set_role(user=person, role=role)
        changes["role"] = [before.value if before else None, role.value]
    if changes:
        record(actor, "person.changed", person, **changes)
    return person


@transaction.atomic
def update_own_details(*, person: User, details: PersonDetails) -> User:
    """Change one's own name and address."""
    person = lock_row(User, person.pk)
    changes = _apply(person, details, person.is_active)
    if changes:
        record(person, "person.changed", person, **changes)
    return person


@transaction.atomic
def issue_password(*, person: User, actor: User | None) -> IssuedPassword:
    """Give a person a new password, sign them out everywhere and lift a lock-out.

    Raises:
        PersonRefused: the site takes no passwords.
    """
    if not settings.PASSWORDS:
        raise PersonRefused(f"This site takes no passwords: people sign in with {settings.OIDC_NAME}.")
    password = make_password()
    person.set_password(password)
    person.save(update_fields=["password"])
    clear_lockout(username=person.username)
    record(actor, "person.password_issued", person)
    return IssuedPassword(person, password)


def _apply(person: User, details: PersonDetails, is_active: bool) -> JsonDict:
    fields = {
        "first_name": details.first_name,
        "last_name": details.last_name,
        "email": details.email,
        "is_active": is_active,
    }
    changes = {name: [getattr(person, name), value] for name, value in fields.items() if getattr(person, name) != value}
    for name, value in fields.items():
        setattr(person, name, value)
    person.save(update_fields=list(fields))
    return changes


def check_admin_stays(person: User) -> None:
    """Pass where the site has an active admin without this person. Raises: PersonRefused."""
    admins = User.objects.filter(is_active=True).exclude(pk=person.pk)
    others = admins.filter(groups__name=Role.ADMIN).exists() or admins.filter(is_superuser=True).exists()
    if person.is_active and role_of(person) == Role.ADMIN and not others:
        raise PersonRefused("This is the last active admin. Make another person an admin first.")


def check_password(password: str, person: User) -> None:
    try:
        validate_password(password, person)
    except ValidationError as error:
        raise PersonRefused(" ".join(error.messages)) from error
