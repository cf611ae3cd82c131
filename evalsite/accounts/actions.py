"""What can be done with people, invitations and the audit log."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from evalsite.accounts.audit import record
from evalsite.accounts.forms import (
    ROLE_CHOICES,
    AuditFilterForm,
    InvitationForm,
    PersonCreateForm,
    PersonUpdateForm,
    RequiredRolesForm,
)
from evalsite.accounts.models import AuditEntry, Invitation
from evalsite.accounts.personal_data import erase_person, erasure_in_words, personal_document
from evalsite.accounts.roles import Role, role_of
from evalsite.accounts.second_factors import require_factors, required_roles, reset_factors, sign_out_without_factor
from evalsite.accounts.services import (
    MadeInvitation,
    audit_entries,
    create_person,
    invite,
    issue_password,
    open_invitations,
    people,
    send_test_mail,
    update_person,
)
from evalsite.accounts.services import revoke as revoke_invitation
from evalsite.base.actions.declarations import (
    CHANGE,
    CREATE,
    PERSON,
    ActionCall,
    ConfirmForm,
    NoInput,
    Noun,
    PageData,
    Reference,
    columns,
)
from evalsite.base.http import SentFile
from evalsite.base.rows import Issued
from evalsite.base.tables import CONTENT_TYPES
from evalsite.base.types import JsonDict, JsonObject

person_facts = columns(  # never a password
    *("id", "username", "first_name", "last_name", "email", "is_active"), role=role_of
)


def _issued(issued: Issued[User]) -> JsonDict:
    return person_facts(issued.row) | {"password": issued.secret}


class PeopleFilterForm(forms.Form):
    """Which people are listed."""

    q = forms.CharField(required=False, max_length=200, label="Search", help_text="Words of names and addresses.")
    role = forms.ChoiceField(required=False, choices=[("", "All"), *ROLE_CHOICES])


PEOPLE: Noun[User] = Noun(
    name="person",
    plural="people",
    help="Make or change accounts, give new passwords, list people, or show one.",
    reference=Reference("account", fields=("username",)),
    rows=lambda _person: User.objects.all(),
    view_permission="auth.view_user",
    shown=person_facts,
    filter_form=PeopleFilterForm,
    listed=lambda q, role: people(search=q, role=role),
)


@PEOPLE.new(CREATE, permission="auth.add_user", form=PersonCreateForm, shown=_issued, is_secret=True)
def add_person(act: ActionCall[None, PersonCreateForm]) -> Issued[User]:
    """Make an account with a role. Its password is generated and shown once."""
    details = act.form.details(act.data["username"])
    return create_person(details=details, role=Role(act.data["role"]), actor=act.actor)


def _form(person: User, _first: JsonObject, data: PageData | None) -> PersonUpdateForm:
    return PersonUpdateForm(data, initial=person_facts(person))


@PEOPLE.one(
    CHANGE,
    permission="auth.change_user",
    form=PersonUpdateForm,
    makes_form=_form,
    said=lambda person: f"{person.username} saved.",
)
def change_person(act: ActionCall[User, PersonUpdateForm]) -> User:
    """Change the details, role or access of a person. Admins cannot remove their own access."""
    before = role_of(act.subject)
    person = update_person(
        person=act.subject,
        details=act.form.details(act.subject.username),
        role=Role(act.data["role"]),
        is_active=act.data["is_active"],
        actor=act.actor,
    )
    if role_of(person) != before:
        sign_out_without_factor(person)
    return person


@PEOPLE.one("new-password", permission="auth.change_user", shown=_issued, is_secret=True)
def new_password(act: ActionCall[User, NoInput]) -> Issued[User]:
    """Give a person a new password, shown once; all their sessions end, and so does a lock-out."""
    return issue_password(person=act.subject, actor=act.actor)


@PEOPLE.one(
    "reset-second-factor",
    permission="auth.change_user",
    said=lambda person: f"{person.username} has no second factor any more and is signed out.",
)
def reset_second_factor(act: ActionCall[User, NoInput]) -> User:
    """Remove the second factors and recovery codes of a person who lost them, and end their sessions."""
    return reset_factors(person=act.subject, actor=act.actor)


@PEOPLE.new(
    "require-second-factor",
    permission="auth.change_user",
    form=RequiredRolesForm,
    makes_form=lambda _none, _first, data: RequiredRolesForm(
        data, initial={"roles": [role.value for role in required_roles()]}
    ),
    shown=lambda roles: {"roles": [role.value for role in roles]},
)
def require_second_factor(act: ActionCall[None, RequiredRolesForm]) -> list[Role]:
    """Require a second factor of the people of these roles, and of no others."""
    return require_factors(roles=[Role(name) for name in act.data["roles"]], actor=act.actor)


@PEOPLE.one(
    "test-mail",
    permission="auth.change_user",
    calls_models=True,
    said=lambda person: f"A letter to {person.email} is on its way.",
)
def test_mail(act: ActionCall[User, NoInput]) -> User:
    """Send a test letter to a person's address, or say why the mail server does not take it."""
    return send_test_mail(person=act.subject, actor=act.actor)


@PEOPLE.one("export", permission="auth.change_user", shown=dict, is_secret=True)
def export_person(act: ActionCall[User, NoInput]) -> JsonDict:
    """Return everything that is held about a person: every row that names them, without passwords and tokens."""
    return personal_document(person=act.subject, actor=act.actor)


@PEOPLE.one(
    "erase",
    permission="auth.change_user",
    form=ConfirmForm,
    makes_form=lambda person, _first, data: ConfirmForm(
        data, name=person.username, consequences=erasure_in_words(person)
    ),
    said=lambda person: f"Erased. Their work stays under the name {person.username}.",
)
def erase(act: ActionCall[User, ConfirmForm]) -> User:
    """Remove everything that names a person or is theirs alone. Their work stays under a pseudonym.

    Cached reports with their name go too. Backups made before, and names in files that were imported, are not changed.
    """
    return erase_person(person=act.subject, actor=act.actor, at=act.at)


_invitation_facts = columns("id", "email", "role", "made_at", "ends_at", "used_at", "revoked_at")


INVITATIONS: Noun[Invitation] = Noun(
    name="invitation",
    plural="invitations",
    help="Invite a mail address with a role, list invitations that are open, or end one.",
    reference=Reference("invitation", fields=("email",)),
    rows=lambda _person: Invitation.objects.all(),
    view_permission="auth.view_user",
    shown=_invitation_facts,
    listed=lambda: open_invitations(at=timezone.now()),
)


@INVITATIONS.new(
    CREATE,
    permission="auth.add_user",
    form=InvitationForm,
    shown=lambda made: _invitation_facts(made.row) | {"link": made.secret, "mail": made.mail},
    is_secret=True,
    calls_models=True,
)
def invite_person(act: ActionCall[None, InvitationForm]) -> MadeInvitation:
    """Invite a mail address with a role. The link is shown once, and mailed where a mail server is set."""
    data = act.data
    return invite(email=data["email"], role=Role(data["role"]), days=data["days"], actor=act.actor, at=act.at)


@INVITATIONS.one(
    "revoke", permission="auth.add_user", said=lambda invitation: f"The invitation of {invitation.email} has ended."
)
def revoke(act: ActionCall[Invitation, NoInput]) -> Invitation:
    """End an invitation at once."""
    return revoke_invitation(invitation=act.subject, actor=act.actor, at=act.at)


VIEW = "accounts.view_auditentry"
COLUMNS = ("at", "person", "action", "subject", "subject_id", "address", "detail")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


AUDIT: Noun[AuditEntry] = Noun(
    name="audit",
    plural="audit-entries",
    help="Write the audit log or a part of it as CSV, list its entries, or show one.",
    reference=Reference("audit entry", ()),
    rows=lambda _person: audit_entries(),
    view_permission=VIEW,
    shown=columns(*("id", "action", "subject", "subject_id", "address", "detail", "at", "actor.username as person")),
    filter_form=AuditFilterForm,
    listed=audit_entries,
    references={User: PERSON},
)


@AUDIT.new("export", permission=VIEW, form=AuditFilterForm, sends_file=(CONTENT_TYPES["csv"],))
def export_audit(act: ActionCall[None, AuditFilterForm]) -> SentFile:
    """Send who did what as CSV, the newest first: all of it, or what fits the filters."""
    filters = {name: getattr(value, "pk", str(value)) for name, value in act.data.items() if value}
    record(act.actor, "audit.exported", "audit log", filter=filters)
    return SentFile("audit.csv", CONTENT_TYPES["csv"], map(str.encode, audit_csv(audit_entries(**act.data))))


class _Line:
    """A file that hands back what is written."""

    def write(self, text: str) -> str:
        return text


def plain_cell(value: object) -> str:
    """Return a cell's text that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def audit_csv(entries: QuerySet[AuditEntry]) -> Iterator[str]:
    """Yield the lines of a CSV file with a header, read from the database bit by bit."""
    writer = csv.writer(_Line())
    yield writer.writerow(COLUMNS)
    for entry in entries.iterator(chunk_size=1000):
        person = entry.actor.username if entry.actor else ""
        detail = json.dumps(entry.detail, ensure_ascii=False, sort_keys=True) if entry.detail else ""
        cells = (entry.at.isoformat(), person, entry.action, entry.subject, entry.subject_id, entry.address, detail)
        yield writer.writerow([plain_cell(cell) for cell in cells])
