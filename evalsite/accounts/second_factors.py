"""Second factors: codes of an app, passkeys, recovery codes, and the steps between password and second factor.

Own code on fido2, since allauth.mfa would load all of allauth at each start. Each change tells the audit log.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_lockout_response
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import constant_time_compare, salted_hmac

from evalsite.accounts.audit import record
from evalsite.accounts.models import AuditEntry, FactorKind, RecoveryCode, RequiredFactor, SecondFactor
from evalsite.accounts.roles import Role, role_of
from evalsite.accounts.sessions import OPENED, remove_sessions
from evalsite.base.rows import digest_of, lock_row
from evalsite.base.types import JsonDict, Refused

if TYPE_CHECKING:
    from fido2.server import Fido2Server
    from fido2.webauthn import AttestedCredentialData

SECRET_BYTES = 20
STEP_SECONDS = 30
DIGITS = 6
DRIFT = 1  # steps that a clock may be off, to either side


def new_secret() -> bytes:
    """Return a secret that nobody has."""
    return secrets.token_bytes(SECRET_BYTES)


def code_at(secret: bytes, step: int) -> str:
    """Return the code of a step (half minutes since 1970)."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), "sha1")
    offset = digest[-1] & 15
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**DIGITS).zfill(DIGITS)


def matching_step(secret: bytes, code: str, *, seconds: float, after: int) -> int | None:
    """Return the step of a code that is valid now and later than the last one used; None for any other code."""
    now = int(seconds) // STEP_SECONDS
    steps = range(max(now - DRIFT, after + 1), now + DRIFT + 1)
    return next((step for step in steps if hmac.compare_digest(code_at(secret, step).encode(), code.encode())), None)


def secret_in_letters(secret: bytes) -> str:
    """Return the secret as people type it into an app."""
    return base64.b32encode(secret).decode().rstrip("=")


def app_address(secret: bytes, *, account: str, site: str) -> str:
    """Return what the picture says to an app."""
    values = {"secret": secret_in_letters(secret), "issuer": site, "digits": DIGITS, "period": STEP_SECONDS}
    return f"otpauth://totp/{quote(f'{site}:{account}')}?{urlencode(values, quote_via=quote)}"


WRONG = "This passkey was not accepted. Try again, or use another way."


def ask_for_new(host: str, *, person_key: int, name: str, known: Iterable[str]) -> tuple[str, JsonDict]:
    """Ask a browser to make a passkey for a person, on a device that has none of those known.

    Returns the question in JSON, and what has to be kept until the browser answers.
    """
    from fido2.webauthn import PublicKeyCredentialUserEntity, ResidentKeyRequirement, UserVerificationRequirement

    user = PublicKeyCredentialUserEntity(name=name, id=_handle(person_key), display_name=name)
    options, state = _server(host).register_begin(
        user,
        [_credential(token) for token in known],
        resident_key_requirement=ResidentKeyRequirement.PREFERRED,
        user_verification=UserVerificationRequirement.PREFERRED,
    )
    return json.dumps(dict(options)["publicKey"]), state


def read_new(host: str, *, state: JsonDict, answer: str) -> SecondFactor:
    """Return the passkey that a browser made, not stored yet. Raises: Refused."""
    try:
        made = _server(host).register_complete(state, _read(answer))
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(WRONG) from error
    data = made.credential_data
    assert data is not None, "fido2 has asked for it"
    return SecondFactor(
        kind=FactorKind.PASSKEY,
        token=base64.b64encode(bytes(data)).decode(),
        digest=_passkey_digest(data.credential_id),
        counter=made.counter,
    )


def ask_for_one(host: str, *, known: Iterable[str], alone: bool) -> tuple[str, JsonDict]:
    """Ask a browser for one of these passkeys; `alone`: for any, whose device has to know the person as well.

    Returns what `ask_for_new` does.
    """
    from fido2.webauthn import UserVerificationRequirement

    wanted = UserVerificationRequirement.REQUIRED if alone else UserVerificationRequirement.PREFERRED
    credentials = [_credential(token) for token in known]
    options, state = _server(host).authenticate_begin(credentials or None, user_verification=wanted)
    return json.dumps(dict(options)["publicKey"]), state


def digest_in(answer: str) -> str:
    """Return the digest of the passkey that a browser's answer names. Raises: Refused."""
    from fido2.utils import websafe_decode

    try:
        return _passkey_digest(websafe_decode(_read(answer)["rawId"]))
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(WRONG) from error


def check_answer(host: str, *, state: JsonDict, answer: str, passkey: SecondFactor, person_key: int) -> int:
    """Return the count of its uses that a passkey tells, where its signature is right.

    Raises:
        Refused: it is not, it names another person, or it has counted less than before: somebody copied it.
    """
    from fido2.webauthn import AuthenticationResponse

    try:
        said = _read(answer)
        _server(host).authenticate_complete(state, [_credential(passkey.token)], said)
        response = AuthenticationResponse.from_dict(said).response
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(WRONG) from error
    count = response.authenticator_data.counter
    is_copy = (count or passkey.counter) and count <= passkey.counter
    if is_copy or (response.user_handle and response.user_handle != _handle(person_key)):
        raise Refused(WRONG)
    return count


def _server(host: str) -> Fido2Server:
    from fido2.server import Fido2Server
    from fido2.webauthn import PublicKeyCredentialRpEntity

    return Fido2Server(PublicKeyCredentialRpEntity(id=host, name="Evalsite"))


def _credential(token: str) -> AttestedCredentialData:
    from fido2.webauthn import AttestedCredentialData

    return AttestedCredentialData(base64.b64decode(token))


def _handle(person_key: int) -> bytes:
    return salted_hmac("evalsite.passkey", str(person_key), algorithm="sha256").digest()


def _passkey_digest(identifier: bytes) -> str:
    return hashlib.sha256(identifier).hexdigest()


def _read(answer: str) -> Mapping[str, Any]:
    said = json.loads(answer)
    if not isinstance(said, dict):
        raise TypeError("not an object")
    return said


RECOVERY_CODES = 10
CODE_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # no two look alike
CODE_LENGTH = 16  # 79 bits, so that a plain hash of it is enough
MOST_WRONG = 30  # codes of one person in an hour, from wherever: a code has six digits only
REFUSED = "session.code_refused"


class FactorRefused(Refused):
    """A second factor is wrong, or cannot go; the message says why."""


def seal(secret: bytes) -> str:
    """Return a secret encrypted with that of the site."""
    from cryptography.fernet import Fernet

    return Fernet(_key()).encrypt(secret).decode()


def unseal(text: str) -> bytes:
    """Return the secret again. Raises: FactorRefused: the site's secret has changed since."""
    from cryptography.fernet import Fernet, InvalidToken

    try:
        return Fernet(_key()).decrypt(text.encode())
    except InvalidToken as error:
        raise FactorRefused(
            "The site cannot read this app's secret any more. Use a recovery code, and set the app up again."
        ) from error


def _key() -> bytes:
    return base64.urlsafe_b64encode(salted_hmac("evalsite.second-factor", "", algorithm="sha256").digest())


def has_factor(person: User) -> bool:
    """Return whether a person has to show a second factor."""
    return SecondFactor.objects.filter(person=person).exists()


def is_required(role: Role | None) -> bool:
    """Return whether people of a role have to have a second factor."""
    return role is not None and RequiredFactor.objects.filter(role=role).exists()


def required_roles() -> list[Role]:
    """Return the roles whose people have to have a second factor, the lowest first."""
    names = set(RequiredFactor.objects.values_list("role", flat=True))
    return [role for role in Role if role in names]


def has_to_enrol(person: User) -> bool:
    """Return whether a person lacks the second factor that their role requires."""
    return is_required(role_of(person)) and not has_factor(person)


def has_codes(person: User) -> bool:
    """Return whether a person has an app that makes codes, or recovery codes."""
    apps = SecondFactor.objects.filter(person=person, kind=FactorKind.CODES)
    return apps.exists() or RecoveryCode.objects.filter(person=person).exists()


def passkeys_of(person: User) -> list[str]:
    """Return what the signatures of a person's passkeys are checked with."""
    passkeys = SecondFactor.objects.filter(person=person, kind=FactorKind.PASSKEY)
    return list(passkeys.order_by("pk").values_list("token", flat=True))


def add_app(*, person: User, sealed: str, code: str, name: str, at: datetime) -> tuple[SecondFactor, list[str]]:
    """Keep the app whose code is right; return it with the recovery codes that come with the first second factor.

    Raises:
        FactorRefused: it is not right.
    """
    step = matching_step(unseal(sealed), plain_code(code), seconds=at.timestamp(), after=0)
    if step is None:
        raise FactorRefused("This is not the code that the app shows now. Check the clock of its device.", field="code")
    return _added(SecondFactor(person=person, kind=FactorKind.CODES, name=name, token=sealed, counter=step), at)


def add_passkey(*, person: User, passkey: SecondFactor, name: str, at: datetime) -> tuple[SecondFactor, list[str]]:
    """Keep a passkey, and return as `add_app`. Raises: FactorRefused: it is somebody's already."""
    if SecondFactor.objects.filter(digest=passkey.digest).exists():
        raise FactorRefused("This passkey is in use already.")
    passkey.person, passkey.name = person, name
    return _added(passkey, at)


@transaction.atomic
def _added(factor: SecondFactor, at: datetime) -> tuple[SecondFactor, list[str]]:
    person = lock_row(User, factor.person_id)
    is_first = not has_factor(person)
    factor.made_at = at
    factor.save()
    record(person, "person.second_factor_added", person, kind=factor.kind, name=factor.name)
    return (factor, _new_codes(person) if is_first else [])


@transaction.atomic
def make_recovery_codes(*, person: User) -> list[str]:
    """Give a person new recovery codes in place of the old ones. Raises: FactorRefused: there is no second factor."""
    if not has_factor(person):
        raise FactorRefused("Add a second factor first.")
    record(person, "person.recovery_codes_made", person)
    return _new_codes(person)


def _new_codes(person: User) -> list[str]:
    codes = ["".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH)) for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.filter(person=person).delete()
    RecoveryCode.objects.bulk_create(RecoveryCode(person=person, digest=digest_of(code)) for code in codes)
    return ["-".join(code[start : start + 4] for start in range(0, CODE_LENGTH, 4)) for code in codes]


def plain_code(text: str) -> str:
    """Return a code as it is stored, however people wrote it."""
    return "".join(letter for letter in text.lower() if letter.isalnum())


def check_patience(*, person: User, at: datetime) -> None:
    """Pass unless too many codes of a person were wrong lately. Raises: FactorRefused."""
    wrong = AuditEntry.objects.filter(action=REFUSED, subject=person.username, at__gte=at - timedelta(hours=1))
    if wrong.count() >= MOST_WRONG:
        raise FactorRefused("Too many wrong codes were tried for this account. Wait an hour, or ask an admin.")


@transaction.atomic
def check_code(*, person: User, text: str, at: datetime) -> None:
    """Take a code of one of a person's apps, or a recovery code; each is good once.

    Raises:
        FactorRefused: it is neither.
    """
    code = plain_code(text)
    for factor in SecondFactor.objects.filter(person=person, kind=FactorKind.CODES).select_for_update():
        step = _step_of(factor, code, at)
        if step is not None:
            factor.counter, factor.used_at = step, at
            factor.save(update_fields=["counter", "used_at"])
            return
    if not RecoveryCode.objects.filter(person=person, digest=digest_of(code)).delete()[0]:
        raise FactorRefused("This code is not right, or it was used already.", field="code")
    left = RecoveryCode.objects.filter(person=person).count()
    record(person, "person.recovery_code_used", person, left=left)


def _step_of(factor: SecondFactor, code: str, at: datetime) -> int | None:
    try:
        secret = unseal(factor.token)
    except FactorRefused:
        return None  # a recovery code still helps
    return matching_step(secret, code, seconds=at.timestamp(), after=factor.counter)


@transaction.atomic
def check_passkey(*, person: User, digest: str, host: str, state: JsonDict, answer: str, at: datetime) -> None:
    """Take what a browser says of a person's passkey. Raises: Refused: it is not theirs, or not right."""
    factor = SecondFactor.objects.select_for_update().filter(person=person, digest=digest).first()
    if factor is None:
        raise FactorRefused("This passkey belongs to no account that you may open with it.")
    factor.counter = check_answer(host, state=state, answer=answer, passkey=factor, person_key=person.pk)
    factor.used_at = at
    factor.save(update_fields=["counter", "used_at"])


def owner_of_passkey(digest: str) -> User | None:
    """Return the active person whose passkey this is, where it stands for their password.

    It does not stand for single sign-on, whose provider has to say each time that somebody is still welcome.
    """
    person = User.objects.filter(second_factors__digest=digest, is_active=True).first()
    return person if person is not None and person.has_usable_password() else None


@transaction.atomic
def remove_factor(*, person: User, key: int) -> None:
    """Remove one of one's own second factors; recovery codes go with the last.

    Raises:
        FactorRefused: there is none of this number, or it is the last one of somebody whose role requires one.
    """
    person = lock_row(User, person.pk)
    factor = SecondFactor.objects.filter(person=person, pk=key).first()
    if factor is None:
        raise FactorRefused("This second factor is gone already.")
    is_last = not SecondFactor.objects.filter(person=person).exclude(pk=key).exists()
    if is_last and is_required(role_of(person)):
        raise FactorRefused("Your role requires a second factor. Add another one before you remove this.")
    factor.delete()
    if is_last:
        RecoveryCode.objects.filter(person=person).delete()
    record(person, "person.second_factor_removed", person, kind=factor.kind, name=factor.name)


def drop_factors(person: User) -> int:
    """Remove all second factors and recovery codes of a person, and return how many factors these were."""
    RecoveryCode.objects.filter(person=person).delete()
    return SecondFactor.objects.filter(person=person).delete()[0]


@transaction.atomic
def reset_factors(*, person: User, actor: User | None) -> User:
    """Remove all second factors and recovery codes of a person, and end their sessions.

    Raises:
        FactorRefused: there are none.
    """
    person = lock_row(User, person.pk)
    removed = drop_factors(person)
    if not removed:
        raise FactorRefused(f"{person.username} has no second factor.")
    remove_sessions(person)
    record(actor, "person.second_factor_reset", person, removed=removed)
    return person


@transaction.atomic
def require_factors(*, roles: Iterable[Role], actor: User | None) -> list[Role]:
    """Require a second factor of these roles and of no others, and return whose people that are.

    Who has none is signed out, and sets one up at the next sign-in.
    """
    chosen = [role for role in Role if role in set(roles)]
    before = set(RequiredFactor.objects.values_list("role", flat=True))
    RequiredFactor.objects.exclude(role__in=chosen).delete()
    fresh = [role for role in chosen if role not in before]
    RequiredFactor.objects.bulk_create(RequiredFactor(role=role) for role in fresh)
    record(actor, "person.second_factor_required", "second factors", roles=[role.value for role in chosen])
    without = User.objects.filter(is_active=True, second_factors=None)
    remove_sessions(*(person for person in without if person != actor and role_of(person) in fresh))
    return chosen


def sign_out_without_factor(person: User) -> None:
    """End the sessions of who has got a role that requires a second factor and has none: they began without one."""
    if has_to_enrol(person):
        remove_sessions(person)


WAITING = "waits_for_second_factor"  # in the session: who, the hash of their password, since when, and the page wanted
ASKED = "passkey_asked"  # in the session: what the answer of a passkey is checked with
SECOND_STEP = "second_step"  # among credentials that failed
PATIENCE = timedelta(minutes=10)
FRESH = timedelta(minutes=15)
BACKEND = "evalsite.accounts.backends.PeopleBackend"


def wait_for_factor(request: HttpRequest, person: User, *, to: str, at: datetime) -> HttpResponse:
    """Keep who has shown a password, or came from the provider, and lead to the page that asks for more."""
    request.session[WAITING] = [person.pk, person.get_session_auth_hash(), at.isoformat(), to]
    return redirect("second-factor")


def who_waits(request: HttpRequest, *, at: datetime) -> tuple[User, str] | None:
    """Return who has shown the first factor lately, and the page that they want; None for anybody else."""
    waiting = request.session.get(WAITING)
    if not waiting:
        return None
    key, auth_hash, since, to = waiting
    person = User.objects.filter(pk=key, is_active=True).first()
    is_late = at - datetime.fromisoformat(since) > PATIENCE
    if person is None or is_late or not constant_time_compare(auth_hash, person.get_session_auth_hash()):
        return None
    return person, to


def sign_in(request: HttpRequest, person: User) -> None:
    """Open a session for who has shown all that is asked."""
    for name in (WAITING, ASKED):
        request.session.pop(name, None)
    login(request, person, backend=BACKEND)


def lock_out(request: HttpRequest, username: str) -> HttpResponse | None:
    """Return the page of a lock-out, where too much was tried with a name here."""
    credentials = {"username": username}
    if AxesProxyHandler.is_allowed(request, credentials):
        return None
    request.axes_locked_out = True  # type: ignore[attr-defined]  # as the backend of axes says it
    page: HttpResponse = get_lockout_response(request, credentials=credentials)
    return page


def count_failure(request: HttpRequest, username: str) -> None:
    """Count a wrong code or passkey like a wrong password."""
    user_login_failed.send(sender=__name__, credentials={"username": username, SECOND_STEP: True}, request=request)


def keep_question(request: HttpRequest, state: JsonDict) -> None:
    """Keep what the answer of a passkey is checked with."""
    request.session[ASKED] = state


def take_question(request: HttpRequest) -> Any:
    """Return what the answer of a passkey is checked with, once. Raises: Refused: nothing was asked."""
    state = request.session.pop(ASKED, None)
    if state is None:
        raise Refused("The page was open too long. Try again.")
    return state


def is_fresh(request: HttpRequest, *, at: datetime) -> bool:
    """Return whether somebody has signed in a short while ago, as who changes second factors has to."""
    opened = request.session.get(OPENED)
    return opened is not None and at - datetime.fromisoformat(opened[0]) < FRESH
