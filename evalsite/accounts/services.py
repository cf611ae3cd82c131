"""People listed, made, invited, given a role or a password, switched off. Each change is in the audit log."""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from smtplib import SMTPException

from axes.utils import reset as clear_lockout
from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.db import transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.timezone import make_aware
from django_rq import job

from evalsite.accounts.audit import record
from evalsite.accounts.models import AuditEntry, Invitation, Organisation
from evalsite.accounts.roles import Role, highest, role_of, set_role
from evalsite.base.rows import Issued, assign, digest_of, lock_row
from evalsite.base.types import JsonDict, Refused

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


def make_password() -> str:
    """Return a password nobody has chosen."""
    return "".join(secrets.choice(PASSWORD_LETTERS) for _ in range(PASSWORD_LENGTH))


@transaction.atomic
def create_person(*, details: PersonDetails, role: Role, actor: User | None, password: str = "") -> Issued[User]:
    """Make an account with a password of its own, unless one is given.

    Raises:
        PersonRefused: the user name or the address is taken, or the given password is too weak.
    """
    if User.objects.filter(username__iexact=details.username).exists():
        raise PersonRefused(f"The user name {details.username!r} is taken.", field="username")
    _check_address(details.email)
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
    return Issued(person, chosen)


@transaction.atomic
def update_person(*, person: User, details: PersonDetails, role: Role, is_active: bool, actor: User | None) -> User:
    """Change a person's name, address, role and whether they may sign in.

    Raises:
        PersonRefused: admins would shut themselves out, the site would be left without an admin, or another person
            has the address.
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
    """Change one's own name and address. Raises: PersonRefused: another person has the address."""
    person = lock_row(User, person.pk)
    changes = _apply(person, details, person.is_active)
    if changes:
        record(person, "person.changed", person, **changes)
    return person


@transaction.atomic
def issue_password(*, person: User, actor: User | None) -> Issued[User]:
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
    return Issued(person, password)


def _apply(person: User, details: PersonDetails, is_active: bool) -> JsonDict:
    fields = {
        "first_name": details.first_name,
        "last_name": details.last_name,
        "email": details.email,
        "is_active": is_active,
    }
    changes = assign(person, fields)
    if "email" in changes:
        _check_address(person.email, of=person)
    person.save(update_fields=list(fields))
    return changes


def has_account(email: str, *, but: User | None = None) -> bool:
    """Return whether somebody but this person has a mail address, by which people are named and signed on."""
    people = User.objects.filter(email__iexact=email)
    return bool(email) and (people.exclude(pk=but.pk) if but is not None else people).exists()


def _check_address(email: str, *, of: User | None = None) -> None:
    if has_account(email, but=of):
        raise PersonRefused("Somebody with this address has an account already.", field="email")


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


ADMINS_SHOWN = 3
PEOPLE_ORDERS = {
    "name": ("username",),
    "-name": ("-username",),
    "last": ("last_login", "username"),
    "-last": ("-last_login", "username"),
    "joined": ("date_joined", "username"),
    "-joined": ("-date_joined", "username"),
}


@dataclass(frozen=True, slots=True)
class PersonRow:
    """One line of the list of people."""

    person: User
    role: Role | None

    @property
    def status(self) -> str:
        return "active" if self.person.is_active else "inactive"


def people(*, search: str = "", role: str = "", sort: str = "name") -> QuerySet[User]:
    """Return people with their groups at hand, in an order from the allow list."""
    users = User.objects.prefetch_related("groups").order_by(*PEOPLE_ORDERS.get(sort, PEOPLE_ORDERS["name"]), "pk")
    if search:
        for word in search.split():
            fields = ("username", "first_name", "last_name", "email")
            users = users.filter(Q(*((f"{name}__icontains", word) for name in fields), _connector=Q.OR))
    return users.filter(groups__name=role) if role in set(Role) else users


def admins_in_words() -> str:
    """Return whom to ask for what only an admin may do: names of active admins, at most three of them."""
    admins = User.objects.filter(Q(groups__name=Role.ADMIN) | Q(is_superuser=True), is_active=True).distinct()
    names = [person.get_full_name() or person.username for person in admins.order_by("username")]
    if not names:
        return "whoever runs the site, which has no admin yet"
    shown = names[:ADMINS_SHOWN]
    if len(names) > len(shown):
        return f"{', '.join(shown)} or one of {len(names) - len(shown)} others"
    return " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def person_row(person: User) -> PersonRow:
    """Return a line; costs no query where the groups were prefetched."""
    if person.is_superuser:
        return PersonRow(person, Role.ADMIN)
    return PersonRow(person, highest(group.name for group in person.groups.all()))


def audit_entries(
    *,
    person: User | None = None,
    action: str = "",
    subject: str = "",
    since: date | None = None,
    until: date | None = None,
) -> QuerySet[AuditEntry]:
    """Return entries with their actors, newest first: of a subject with these words, until a day that is included."""
    entries = AuditEntry.objects.select_related("actor").order_by("-at", "-pk")
    if person is not None:
        entries = entries.filter(actor=person)
    if action:
        entries = entries.filter(action=action)
    for word in subject.split():
        entries = entries.filter(subject__icontains=word)
    if since is not None:
        entries = entries.filter(at__gte=_start_of(since))
    if until is not None:
        entries = entries.filter(at__lt=_start_of(until + timedelta(days=1)))
    return entries


def known_actions() -> list[str]:
    """Return every kind of act in the log."""
    return list(AuditEntry.objects.order_by("action").values_list("action", flat=True).distinct())


def _start_of(day: date) -> datetime:
    return make_aware(datetime.combine(day, time.min))


FAILED = "mail.failed"  # in the audit log


class LetterRefused(Refused):
    """A letter did not go; the message says what the mail server answered."""


def has_mail_server() -> bool:
    """Return whether the site can send letters."""
    return not settings.EMAIL_BACKEND.endswith("dummy.EmailBackend")


def organisation_name() -> str:
    """Return whose site this is; empty where nobody has said."""
    return Organisation.objects.values_list("name", flat=True).first() or ""


def send_letter(*, to: str, subject: str, text: str, about: User | Invitation) -> None:
    """Send a letter; the audit log keeps why one is not taken.

    Raises:
        LetterRefused: no mail server is set, or it did not take the letter.
    """
    if not has_mail_server():
        raise LetterRefused("No mail server is set. Set EVALSITE_EMAIL_HOST, restart web and workers, and try again.")
    title = " ".join(f"{organisation_name() or 'Evalsite'}: {subject}".split())
    try:
        send_mail(title[:120], text, None, [to])
    except (SMTPException, OSError) as error:
        server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
        said = f"{server} did not take the letter: {type(error).__name__}: {error}"[:500]
        record(None, FAILED, about, said=said.replace(to, "the address"))
        raise LetterRefused(said) from error


def send_test_mail(*, person: User, actor: User | None) -> User:
    """Send a letter to a person's address.

    Raises:
        LetterRefused: no mail server or address is set, or the letter was not taken.
    """
    if has_mail_server() and not person.email:
        raise LetterRefused(f"{person.username} has no mail address.")
    send_letter(to=person.email, subject="test", text="The site can send mail to you.", about=person)
    record(actor, "person.test_mailed", person)
    return person


def send_reset_links(*, email: str) -> int:
    """Send a link for a new password to each active account with this address and a password; return how many went."""
    sent = 0
    for person in PasswordResetForm().get_users(email) if settings.PASSWORDS else ():
        key = urlsafe_base64_encode(force_bytes(person.pk))
        path = reverse("password_reset_confirm", args=[key, default_token_generator.make_token(person)])
        text = (
            f"Somebody asked for a new password of your account {person.username}. To choose one, open within an hour:"
            f"\n\n{settings.SITE_URL}{path}\n\nIf it was not you, do nothing: your password stays."
        )
        record(None, "person.password_reset_sent", person)
        send_letter(to=person.email, subject="new password", text=text, about=person)
        sent += 1
    return sent


CODE_LENGTH = 24  # hexadecimal digits: 96 bits

logger = logging.getLogger(__name__)


class SetupRefused(Refused):
    """The site is set up already, or the code is wrong."""


def is_new() -> bool:
    """Return whether nobody has an account."""
    return not User.objects.exists()


def setup_code() -> str:
    """Return the code of this database: made of the site's secret and of when its first table was made."""
    first = MigrationRecorder.Migration.objects.order_by("pk").values_list("applied", flat=True).first()
    made = first.isoformat() if first else ""
    return salted_hmac("evalsite.setup", made, algorithm="sha256").hexdigest()[:CODE_LENGTH]


def tell_code() -> None:
    """Print the code in the log of the server, where a stranger does not read it."""
    logger.warning("accounts.setup_code code=%s", setup_code())


@transaction.atomic
def set_up(*, code: str, details: PersonDetails, password: str, organisation: str) -> User:
    """Make the first admin and keep whose site it is.

    Raises:
        SetupRefused: the code is wrong, or somebody was faster.
        PersonRefused: the password is too weak.
    """
    if not constant_time_compare(code.strip().lower(), setup_code()):
        raise SetupRefused("This is not the code in the log of the web server.", field="code")
    # whoever comes second waits here, and finds an account
    name_organisation(organisation)
    if not is_new():
        raise SetupRefused("The site has an admin already. Sign in.")
    person = create_person(details=details, role=Role.ADMIN, actor=None, password=password).row
    record(person, "site.set_up", organisation or "site")
    return person


def name_organisation(name: str) -> None:
    """Keep whose site it is."""
    Organisation.objects.update_or_create(pk=1, defaults={"name": name})


class InvitationRefused(Refused):
    """Nobody can be invited so, or an invitation is not valid; the message says why."""


@dataclass(frozen=True, slots=True)
class MadeInvitation(Issued[Invitation]):
    """A new invitation whose secret is its link, and why its letter did not go."""

    mail: str  # "sent", or why not


def invite(*, email: str, role: Role, days: int, actor: User | None, at: datetime) -> MadeInvitation:
    """Invite an address; an earlier invitation of it ends. The link goes there by mail, where a server is set.

    Raises:
        InvitationRefused: the site takes no passwords.
        PersonRefused: the address has an account.
    """
    if not settings.PASSWORDS:
        raise InvitationRefused(f"People get their account here by signing in with {settings.OIDC_NAME}.")
    _check_address(email)
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        Invitation.objects.filter(email__iexact=email, used_at=None, revoked_at=None).update(revoked_at=at)
        invitation = Invitation.objects.create(
            email=email, role=role, digest=digest_of(token), made_at=at, ends_at=at + timedelta(days=days)
        )
        record(actor, "invitation.made", invitation, email=email, role=role.value, days=days)
    link = settings.SITE_URL + reverse("invitation-accept", args=[token])
    return MadeInvitation(invitation, link, _mailed(invitation, link, days))


def _mailed(invitation: Invitation, link: str, days: int) -> str:
    if not has_mail_server():
        return "No mail server is set: hand the link over yourself."
    text = (
        f"You are invited to Evalsite{_of_whom()} as {invitation.role}. To make your account, open within {days} days:"
        f"\n\n{link}\n\nThe link works once. If you did not expect it, do nothing."
    )
    try:
        send_letter(to=invitation.email, subject="invitation", text=text, about=invitation)
    except LetterRefused as refusal:
        return str(refusal)
    return "sent"


def _of_whom() -> str:
    name = organisation_name()
    return f" of {name}" if name else ""


def open_invitations(*, at: datetime) -> QuerySet[Invitation]:
    """Return the invitations that can be accepted."""
    return Invitation.objects.filter(used_at=None, revoked_at=None, ends_at__gt=at)


def find_invitation(token: str, *, at: datetime) -> Invitation | None:
    """Return the invitation of a link that can be accepted; None for any other link."""
    return open_invitations(at=at).filter(digest=digest_of(token)).first() if settings.PASSWORDS else None


@transaction.atomic
def revoke(*, invitation: Invitation, actor: User | None, at: datetime) -> Invitation:
    """End an invitation at once. Raises: InvitationRefused: it was used."""
    invitation = lock_row(Invitation, invitation.pk)
    if invitation.used_at is not None:
        raise InvitationRefused("This invitation was used. Turn the account off instead.")
    if invitation.revoked_at is None:
        invitation.revoked_at = at
        invitation.save(update_fields=["revoked_at"])
        record(actor, "invitation.revoked", invitation, email=invitation.email)
    return invitation


@transaction.atomic
def accept(*, invitation: Invitation, details: PersonDetails, password: str, at: datetime) -> User:
    """Make the account of who was invited.

    Raises:
        InvitationRefused: the invitation was used or revoked meanwhile.
        PersonRefused: the user name is taken, or the password too weak.
    """
    invitation = lock_row(Invitation, invitation.pk)
    if invitation.used_at or invitation.revoked_at or invitation.ends_at <= at:
        raise InvitationRefused("This invitation is not valid any more.")
    invitation.used_at = at
    invitation.save(update_fields=["used_at"])
    person = create_person(details=details, role=Role(invitation.role), actor=None, password=password).row
    record(person, "invitation.used", invitation, email=invitation.email)
    return person


@job("default")
def mail_reset_links(email: str) -> None:
    """Send links for a new password: here, so that nobody learns from the time it takes whether there is an account."""
    try:
        logger.info("accounts.reset_links_sent letters=%s", send_reset_links(email=email))
    except LetterRefused:
        logger.warning("accounts.reset_links_refused")  # why stands in the audit log
