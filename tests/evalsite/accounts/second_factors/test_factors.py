"""Second factors of people: asked for at sign-in, kept secret, counted, required and reset."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts import second_factors as factors
from evalsite.accounts.admissions import Claims, admit
from evalsite.accounts.models import AuditEntry, RecoveryCode, SecondFactor
from evalsite.accounts.personal_data import erase_person, personal_document
from evalsite.accounts.roles import Role, Scope
from evalsite.accounts.second_factors import code_at
from evalsite.accounts.services import PersonDetails
from evalsite.accounts.sessions import OPENED
from evalsite.api.models import ApiToken
from evalsite.api.tokens import make_token
from tests import factories

pytestmark = pytest.mark.django_db

PASSWORD = "quite-a-long-one-42"
SECRET = b"12345678901234567890"
PAGE = "/audit/"


@pytest.fixture
def ada() -> User:
    person = factories.user("ada", Role.ADMIN)
    person.set_password(PASSWORD)
    person.save()
    return person


def _code(steps: int = 0) -> str:
    return code_at(SECRET, int(timezone.now().timestamp()) // 30 + steps)


def _app(person: User) -> list[str]:
    """Give a person an app, whose last code was of long ago, and return their recovery codes."""
    _, codes = factors.add_app(
        person=person, sealed=factors.seal(SECRET), code=_code(), name="Phone", at=timezone.now()
    )
    SecondFactor.objects.update(counter=0)
    return codes


def _password(client: Client, to: str = PAGE) -> Any:
    return client.post(reverse("login"), {"username": "ada", "password": PASSWORD, "next": to})


def _show(client: Client, code: str) -> Any:
    return client.post(reverse("second-factor"), {"code": code})


def _is_in(client: Client) -> bool:
    return client.get(PAGE).status_code == 200


def test_who_has_an_app_is_asked_for_its_code_and_goes_on_to_the_page_wanted(ada: User) -> None:
    _app(ada)
    client = Client()

    first = _password(client)
    before = _is_in(client)
    asked = client.get(first["Location"])
    second = _show(client, _code())

    assert (first["Location"], before) == (reverse("second-factor"), False)
    assert asked.status_code == 200
    assert (second.status_code, second["Location"], _is_in(client)) == (302, PAGE, True)
    opened = AuditEntry.objects.filter(action__startswith="session.").values_list("action", "actor__username")
    assert list(opened) == [("session.opened", "ada")]


def test_a_code_is_good_once_and_a_recovery_code_too(ada: User) -> None:
    codes = _app(ada)
    spent = _code()
    clients = [Client() for _ in range(4)]
    for client in clients:
        _password(client)

    answers = [
        _show(client, code).status_code
        for client, code in zip(clients, (spent, spent, codes[0].upper(), codes[0]), strict=True)
    ]

    assert answers == [302, 400, 302, 400]
    assert RecoveryCode.objects.count() == factors.RECOVERY_CODES - 1
    used = AuditEntry.objects.get(action="person.recovery_code_used")
    assert (used.subject, used.detail) == ("ada", {"left": 9})


def test_wrong_codes_lock_out_like_wrong_passwords_and_the_log_tells_them_apart(ada: User) -> None:
    _app(ada)
    client = Client()
    _password(client)

    tried = [_show(client, "000000x").status_code for _ in range(8)]

    assert tried == [400] * 7 + [429]
    assert _show(client, _code()).status_code == 429
    assert _password(Client()).status_code == 429
    actions = list(AuditEntry.objects.filter(action__startswith="session.").values_list("action", flat=True))
    assert actions == [factors.REFUSED] * 7 + ["session.locked_out"]


def test_wrong_codes_of_one_person_are_counted_from_wherever(ada: User) -> None:
    codes = _app(ada)
    AuditEntry.objects.bulk_create(
        AuditEntry(at=timezone.now(), action=factors.REFUSED, subject="ada") for _ in range(factors.MOST_WRONG)
    )
    client = Client()
    _password(client)

    answer = _show(client, codes[0])

    assert (answer.status_code, _is_in(client)) == (400, False)
    assert "Wait an hour" in answer.content.decode()


@pytest.mark.parametrize("spoil", ["time", "password", "account", "nothing shown"])
def test_a_code_alone_opens_nothing(ada: User, spoil: str) -> None:
    _app(ada)
    client = Client()
    if spoil != "nothing shown":
        _password(client)
    if spoil == "time":
        session = client.session
        session["waits_for_second_factor"][2] = (timezone.now() - timedelta(minutes=11)).isoformat()
        session.save()
    elif spoil == "password":
        ada.set_password("another-long-one-42")
        ada.save()
    elif spoil == "account":
        User.objects.update(is_active=False)

    answer = _show(client, _code())

    assert (answer.status_code, answer["Location"], _is_in(client)) == (302, reverse("login"), False)


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_the_second_step_never_leads_to_another_site(ada: User, to: str) -> None:
    _app(ada)
    client = Client()
    _password(client)
    session = client.session
    session["waits_for_second_factor"][3] = to
    session.save()

    assert _show(client, _code())["Location"] == reverse("home")


def test_an_app_is_set_up_with_the_code_that_it_shows_and_codes_are_shown_once(ada: User) -> None:
    client = Client()
    _password(client)
    page = client.get(reverse("accounts:second-factor-app")).content.decode()
    sealed = client.session["new_app"]
    client.get(reverse("accounts:second-factor-app"))  # what was scanned holds, though the page was opened again

    wrong = client.post(reverse("accounts:second-factor-app"), {"name": "Phone", "code": "1"})
    secret = factors.unseal(sealed)
    now = int(timezone.now().timestamp()) // 30
    right = client.post(reverse("accounts:second-factor-app"), {"name": "Phone", "code": code_at(secret, now)})

    assert "data:image/svg+xml" in page
    assert wrong.status_code == 400
    assert len(re.findall(r"(?:[a-z0-9]{4}-){3}[a-z0-9]{4}", right.content.decode())) == factors.RECOVERY_CODES
    assert "new_app" not in client.session
    actions = AuditEntry.objects.filter(action__startswith="person.").values_list("action", "detail")
    assert list(actions) == [("person.second_factor_added", {"kind": "codes", "name": "Phone"})]


def test_what_is_stored_exported_and_logged_holds_no_secret(ada: User) -> None:
    codes = _app(ada)
    factor = SecondFactor.objects.get()

    document = personal_document(person=ada, actor=None)
    held = json.dumps(document, default=str)
    log = json.dumps(list(AuditEntry.objects.values("subject", "detail")))

    assert factors.unseal(factor.token) == SECRET
    assert list(document["accounts.secondfactor.person"][0]) == [
        "counter",
        "id",
        "kind",
        "made_at",
        "name",
        "person_id",
        "used_at",
    ]
    digests = list(RecoveryCode.objects.values_list("digest", flat=True))
    assert [secret for secret in (factor.token, *codes, *digests) if secret in held + log] == []
    assert [code for code in codes if code in digests] == []


def test_erasing_a_person_removes_their_second_factors_alone(ada: User) -> None:
    ben = factories.user("ben", Role.ANNOTATOR)
    for person in (ada, ben):
        _app(person)

    erase_person(person=ben, actor=ada, at=timezone.now())

    assert list(SecondFactor.objects.values_list("person__username", flat=True)) == ["ada"]
    assert RecoveryCode.objects.count() == factors.RECOVERY_CODES


def test_second_factors_change_shortly_after_signing_in_only(ada: User) -> None:
    _app(ada)
    client = Client()
    _password(client)
    _show(client, _code())
    session = client.session
    session[OPENED] = [(timezone.now() - timedelta(minutes=16)).isoformat(), "", ""]
    session.save()
    key = SecondFactor.objects.get().pk

    answers = [
        client.get(reverse("accounts:second-factor-app")),
        client.get(reverse("accounts:second-factor-passkey")),
        client.post(reverse("accounts:second-factor-codes")),
        client.post(reverse("accounts:second-factor-remove", args=[key])),
    ]

    assert {answer["Location"] for answer in answers} == {"/login/?next=/preferences/second-factor/"}
    assert SecondFactor.objects.count() == 1


def test_a_required_factor_holds_people_back_until_they_have_one(ada: User) -> None:
    other = Client()
    _password(other)
    factors.require_factors(roles=[Role.ADMIN], actor=None)
    assert Session.objects.count() == 0
    client = Client()
    _password(client)

    held_back = [client.get(PAGE), client.get("/api/v1/runs"), client.get(reverse("accounts:second-factor-list"))]
    client.get(reverse("accounts:second-factor-app"))
    secret = factors.unseal(client.session["new_app"])
    code = code_at(secret, int(timezone.now().timestamp()) // 30)
    client.post(reverse("accounts:second-factor-app"), {"name": "Phone", "code": code})

    assert [answer.status_code for answer in held_back] == [302, 401, 200]
    assert held_back[0]["Location"] == reverse("accounts:second-factor-list")
    assert _is_in(client)
    client.post(reverse("accounts:second-factor-remove", args=[SecondFactor.objects.get().pk]))
    assert SecondFactor.objects.count() == 1  # the last one of somebody who needs one stays


def test_who_gets_a_role_that_requires_a_factor_shows_it_at_once(ada: User, client: Client) -> None:
    ben = factories.user("ben", Role.RESEARCHER)
    client.force_login(ben)
    factors.require_factors(roles=[Role.ADMIN], actor=ada)
    opened = Session.objects.count()

    call_command("person", "change", "ben", "--role", "admin")

    assert (opened, Session.objects.count()) == (1, 0)


def test_a_required_factor_comes_before_tokens_of_the_api(ada: User) -> None:
    made = make_token(owner=ada, name="before", scopes=Scope, days=1, at=timezone.now())
    script = Client(headers={"authorization": f"Bearer {made.secret}"})
    own = Client()
    own.force_login(ada)
    factors.require_factors(roles=[Role.ADMIN], actor=ada)  # who requires it keeps their session
    entered = {"name": "script", "scopes": ["read"], "days": 1}

    page = own.post(reverse("token-list"), entered)
    answers = [script.get("/api/v1/runs"), script.post("/api/v1/tokens", entered, content_type="application/json")]
    _app(ada)

    assert "Your role requires a second factor. Set one up before you make a token." in page.content.decode()
    assert [answer.status_code for answer in answers] == [401, 401]
    assert [ApiToken.objects.count(), script.get("/api/v1/runs").status_code] == [1, 200]


def test_an_admins_reset_ends_sessions_and_asks_for_the_password_alone(ada: User) -> None:
    _app(ada)
    client = Client()
    _password(client)
    _show(client, _code())

    factors.reset_factors(person=ada, actor=ada)

    assert (_is_in(client), SecondFactor.objects.count(), RecoveryCode.objects.count()) == (False, 0, 0)
    assert _password(client)["Location"] == PAGE
    with pytest.raises(factors.FactorRefused, match="ada has no second factor"):
        factors.reset_factors(person=ada, actor=ada)


def test_a_passkey_stands_for_a_password_and_not_for_single_sign_on(ada: User) -> None:
    passkey = {"person": ada, "kind": "passkey", "name": "Laptop", "digest": "1", "made_at": timezone.now()}
    SecondFactor.objects.create(**passkey)
    with_password = factors.owner_of_passkey("1")
    ada.set_unusable_password()
    ada.save()

    assert (with_password, factors.owner_of_passkey("1")) == (ada, None)


def test_an_account_that_the_provider_opens_keeps_no_second_factor_of_who_had_it_before(
    ada: User, settings: Any
) -> None:
    settings.OIDC_DOMAINS = ["example.org"]
    _app(ada)
    User.objects.update(email="ada@example.org")
    details = PersonDetails("ada", email="ada@example.org")

    admit(Claims(details, has_verified_email=True, groups=frozenset()), known=None)

    assert (SecondFactor.objects.count(), RecoveryCode.objects.count()) == (0, 0)


def test_another_secret_of_the_site_leaves_recovery_codes(ada: User, settings: Any) -> None:
    codes = _app(ada)
    settings.SECRET_KEY = "another"
    client = Client()
    _password(client)

    assert [_show(client, code).status_code for code in (_code(), codes[0])] == [400, 302]
