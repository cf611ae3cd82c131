"""Pages about people, sign-in and the audit log."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from evalsite.accounts.audit import record
from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from tests import factories

pytestmark = pytest.mark.django_db

PERSON = {"username": "ben", "role": "annotator"}


@pytest.fixture
def admin(client: Client) -> User:
    person = factories.user("ada", Role.ADMIN)
    client.force_login(person)
    return person


def _entry(action: str = "run.created", subject: str = "Run 1", day: int = 5, actor: User | None = None) -> AuditEntry:
    at = datetime(2026, 1, day, 12, tzinfo=UTC)
    return AuditEntry.objects.create(at=at, actor=actor, action=action, subject=subject, subject_id=1)


def test_person_create_shows_the_password_once(client: Client, admin: User) -> None:
    answer = client.post(reverse("accounts:person-create"), PERSON)

    issued = answer.context["issued"]
    assert issued.secret in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert User.objects.get(username="ben").check_password(issued.secret)
    listing = client.get(reverse("accounts:person-list")).content.decode()
    assert "ben" in listing
    assert issued.secret not in listing


def test_person_create_says_why_a_user_name_is_refused(client: Client, admin: User) -> None:
    answer = client.post(reverse("accounts:person-create"), PERSON | {"username": "ADA"})

    assert answer.context["form"].errors == {"username": ["The user name 'ADA' is taken."]}


def test_person_update_shows_why_admins_keep_their_own_access(client: Client, admin: User) -> None:
    answer = client.post(reverse("accounts:person-update", args=[admin.pk]), {"role": "annotator", "is_active": "on"})

    assert "You cannot remove your own access" in answer.content.decode()


def test_a_deactivated_person_is_signed_out_at_once(client: Client, admin: User) -> None:
    ben, other = factories.user("ben", Role.ANNOTATOR), Client()
    other.force_login(ben)
    assert other.get(reverse("help")).status_code == 200

    client.post(reverse("accounts:person-update", args=[ben.pk]), {"role": "annotator"})

    assert other.get(reverse("help")).status_code == 302


def test_person_password_ends_the_persons_sessions(client: Client, admin: User) -> None:
    ben, other = factories.user("ben", Role.ANNOTATOR), Client()
    other.force_login(ben)

    answer = client.post(reverse("accounts:person-password", args=[ben.pk]))

    assert other.get(reverse("help")).status_code == 302
    ben.refresh_from_db()
    assert not ben.check_password("a long passphrase")
    assert answer.context["issued"].row == ben


@pytest.mark.parametrize("rows", [1, 3])
def test_person_list_takes_as_many_queries_for_many_people(
    client: Client, admin: User, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(rows):
        factories.user(role=Role.ANNOTATOR)
    client.get(reverse("accounts:person-list"))

    # the fixed shell, then the count, the people and their groups
    with django_assert_num_queries(SHELL_QUERIES + 3):
        client.get(reverse("accounts:person-list"))


@pytest.mark.parametrize("rows", [1, 3])
def test_audit_list_takes_as_many_queries_for_many_entries(
    client: Client, admin: User, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(rows):
        _entry(actor=admin)

    # the shell, then known actions, people to choose from, the count and the entries
    with django_assert_num_queries(SHELL_QUERIES + 4):
        client.get(reverse("accounts:audit-list"))


def test_audit_list_filters_by_person_action_and_days(client: Client, admin: User) -> None:
    wanted = _entry(day=5, actor=admin)
    _entry(day=5)  # nobody's
    _entry(day=5, action="run.paused", actor=admin)
    _entry(day=4, actor=admin)
    _entry(day=6, actor=admin)
    query = {"person": str(admin.pk), "action": "run.created", "since": "2026-01-05", "until": "2026-01-05"}

    answer = client.get(reverse("accounts:audit-list"), query)

    assert list(answer.context["page_obj"]) == [wanted]


def test_audit_list_is_searched_by_words_of_what_it_is_about_and_leads_there(client: Client, admin: User) -> None:
    run = factories.run(name="Orion by rules")
    for subject in (run, factories.run(name="Orion by levels"), "Orion by hand, with rules"):
        record(admin, "run.created", subject)

    answer = client.get(reverse("accounts:audit-list"), {"subject": " RULES orion "})

    shown = [(entry.subject, entry.address) for entry in answer.context["page_obj"]]
    assert shown == [("Orion by hand, with rules", ""), ("Orion by rules", f"/runs/{run.pk}/")]
    assert f'<a href="/runs/{run.pk}/">Orion by rules</a>' in answer.content.decode()


def test_audit_list_says_when_the_period_is_upside_down(client: Client, admin: User) -> None:
    answer = client.get(reverse("accounts:audit-list"), {"since": "2026-01-06", "until": "2026-01-05"})

    assert answer.context["form"].errors == {"until": ["The period ends before it begins."]}


def test_audit_export_escapes_formulas_and_is_logged_itself(client: Client, admin: User) -> None:
    _entry(subject='=HYPERLINK("http://x")', actor=admin)

    answer = client.get(reverse("accounts:audit-export"), {"action": "run.created"})

    rows = list(csv.reader(io.StringIO(b"".join(answer).decode())))
    assert rows == [
        ["at", "person", "action", "subject", "subject_id", "address", "detail"],
        ["2026-01-05T12:00:00+00:00", "ada", "run.created", '\'=HYPERLINK("http://x")', "1", "", ""],
    ]
    assert AuditEntry.objects.get(action="audit.exported").detail == {"filter": {"action": "run.created"}}


def test_preferences_change_only_ones_own_details(client: Client, admin: User) -> None:
    client.post(reverse("accounts:preferences"), {"first_name": "Ada", "role": "annotator", "username": "eve"})

    admin.refresh_from_db()
    assert (admin.username, admin.first_name, admin.is_staff) == ("ada", "Ada", True)


def test_login_locks_out_after_eight_wrong_passwords_and_says_so(client: Client) -> None:
    factories.user("ben", Role.ANNOTATOR)
    wrong = {"username": "ben", "password": "not this one"}

    statuses = [client.post(reverse("login"), wrong).status_code for _ in range(8)]
    right = client.post(reverse("login"), {"username": "ben", "password": "a long passphrase"})

    # the eighth failure is the limit (AXES_FAILURE_LIMIT) and is answered with 429 itself
    assert statuses == [200] * 7 + [429]
    assert right.status_code == 429
    assert "Too many attempts" in right.content.decode()


def test_login_goes_where_the_person_wanted_but_never_to_another_site(client: Client) -> None:
    factories.user("ben", Role.ANNOTATOR)
    right = {"username": "ben", "password": "a long passphrase"}

    inside = client.post(reverse("login"), right | {"next": "/help/"})
    client.post(reverse("logout"))
    gone = []
    for address in ("https://evil.example/", "//evil.example/", "%2f%2fevil.example", "help/"):
        gone.append(client.post(reverse("login"), right | {"next": address})["Location"])
        client.post(reverse("logout"))

    assert (inside["Location"], gone) == ("/help/", ["/"] * 4)


def test_logout_needs_a_post_and_ends_the_session(client: Client) -> None:
    client.force_login(factories.user("ben", Role.ANNOTATOR))

    assert client.get(reverse("logout")).status_code == 405
    assert client.post(reverse("logout"))["Location"] == reverse("login")
    assert client.get(reverse("help")).status_code == 302


def test_password_change_keeps_this_session_and_ends_the_others(client: Client) -> None:
    ben, other = factories.user("ben", Role.ANNOTATOR), Client()
    client.force_login(ben)
    other.force_login(ben)
    passwords = {
        "old_password": "a long passphrase",
        "new_password1": "quite another phrase",
        "new_password2": "quite another phrase",
    }

    answer = client.post(reverse("password_change"), passwords)

    assert answer["Location"] == reverse("password_change_done")
    assert client.get(reverse("password_change_done")).status_code == 200
    assert other.get(reverse("help")).status_code == 302


# session, person, group permissions of the person's and of the groups, waiting items, role
SHELL_QUERIES = 4


def test_person_list_finds_people_by_their_real_name(client: Client, admin: User) -> None:
    User.objects.create_user("gh", first_name="Grace", last_name="Hopper")

    rows = client.get(reverse("accounts:person-list"), {"q": "grace hopp"}).context["rows"]

    assert [row.person.username for row in rows] == ["gh"]
