"""Letters of the site, and what a mail server says where it takes none."""

from __future__ import annotations

from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import send_mail
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from evalsite.accounts.audit import record
from evalsite.accounts.models import Invitation, Organisation
from evalsite.base.refusals import Refused

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
