"""People: made, changed, and never locked out of their own site."""

from __future__ import annotations

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role, role_of
from evalsite.accounts.services import (
    PersonDetails,
    PersonRefused,
    create_person,
    issue_password,
    update_own_details,
    update_person,
)
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> User:
    return factories.user("ada", Role.ADMIN)


def _details(person: User) -> PersonDetails:
    return PersonDetails(person.username, person.first_name, person.last_name, person.email)


def test_create_person_issues_a_password_that_works_and_is_nowhere_in_clear(admin: User) -> None:
    issued = create_person(details=PersonDetails("ben", "Ben"), role=Role.ANNOTATOR, actor=admin)

    stored = User.objects.get(username="ben")
    entry = AuditEntry.objects.get(action="person.created")
    assert stored.check_password(issued.secret)
    assert issued.secret not in stored.password
    assert (role_of(stored), stored.is_staff, stored.first_name) == (Role.ANNOTATOR, False, "Ben")
    assert (entry.actor, entry.subject, entry.subject_id, entry.detail) == (
        admin,
        "ben",
        stored.pk,
        {"role": "annotator"},
    )


def test_create_person_refuses_a_user_name_that_differs_in_case_only(admin: User) -> None:
    with pytest.raises(PersonRefused, match="'ADA' is taken"):
        create_person(details=PersonDetails("ADA"), role=Role.ANNOTATOR, actor=admin)

    assert User.objects.count() == 1


def test_nobody_gets_the_address_of_somebody_else(admin: User) -> None:
    ben = create_person(details=PersonDetails("ben", email="ben@example.org"), role=Role.VIEWER, actor=None).row
    taken = PersonDetails("cleo", email="Ben@Example.org")
    cleo = create_person(details=PersonDetails("cleo"), role=Role.VIEWER, actor=None).row
    acts = (
        lambda: create_person(details=PersonDetails("dan", email="BEN@example.org"), role=Role.VIEWER, actor=admin),
        lambda: update_person(person=cleo, details=taken, role=Role.VIEWER, is_active=True, actor=admin),
        lambda: update_own_details(person=cleo, details=taken),
    )

    for act in acts:
        with pytest.raises(PersonRefused, match="Somebody with this address has an account already"):
            act()
    update_own_details(person=ben, details=PersonDetails("ben", email="BEN@example.org"))

    assert sorted(User.objects.values_list("username", "email")) == [
        ("ada", admin.email),
        ("ben", "BEN@example.org"),
        ("cleo", ""),
    ]


def test_people_who_have_one_address_since_before_can_be_changed(admin: User) -> None:
    ben, cleo = factories.user("ben", Role.VIEWER), factories.user("cleo", Role.VIEWER)
    User.objects.filter(pk__in=(ben.pk, cleo.pk)).update(email="lab@example.org")
    cleo.refresh_from_db()

    update_person(person=cleo, details=_details(cleo), role=Role.ANNOTATOR, is_active=True, actor=admin)

    assert role_of(cleo) == Role.ANNOTATOR


def test_create_person_refuses_a_weak_given_password() -> None:
    with pytest.raises(PersonRefused, match="too short"):
        create_person(details=PersonDetails("cleo"), role=Role.ADMIN, actor=None, password="short")

    assert not User.objects.exists()


@pytest.mark.parametrize(("role", "is_active"), [(Role.RESEARCHER, True), (Role.ADMIN, False)])
def test_update_person_refuses_admins_who_would_shut_themselves_out(admin: User, role: Role, is_active: bool) -> None:
    factories.user("ben", Role.ADMIN)

    with pytest.raises(PersonRefused, match="your own access"):
        update_person(person=admin, details=_details(admin), role=role, is_active=is_active, actor=admin)

    admin.refresh_from_db()
    assert (role_of(admin), admin.is_active) == (Role.ADMIN, True)


def test_update_person_keeps_the_last_active_admin(admin: User) -> None:
    acting = factories.user("ben", Role.RESEARCHER)
    gone = factories.user("cleo", Role.ADMIN)
    User.objects.filter(pk=gone.pk).update(is_active=False)

    with pytest.raises(PersonRefused, match="last active admin"):
        update_person(person=admin, details=_details(admin), role=Role.ANNOTATOR, is_active=True, actor=acting)


def test_update_person_changes_role_and_access_and_says_so_in_the_log(admin: User) -> None:
    ben = factories.user("ben", Role.ANNOTATOR)

    update_person(person=ben, details=PersonDetails("ben", "Ben"), role=Role.RESEARCHER, is_active=False, actor=admin)

    ben.refresh_from_db()
    assert (role_of(ben), ben.is_active, ben.first_name) == (Role.RESEARCHER, False, "Ben")
    assert AuditEntry.objects.get(action="person.changed").detail == {
        "first_name": ["", "Ben"],
        "is_active": [True, False],
        "role": ["annotator", "researcher"],
    }


def test_update_person_that_changes_nothing_leaves_no_entry(admin: User) -> None:
    ben = factories.user("ben", Role.ANNOTATOR)

    update_person(person=ben, details=_details(ben), role=Role.ANNOTATOR, is_active=True, actor=admin)

    assert not AuditEntry.objects.filter(action="person.changed").exists()


def test_update_own_details_keeps_role_and_access() -> None:
    ben = factories.user("ben", Role.ANNOTATOR)

    update_own_details(person=ben, details=PersonDetails("ben", email="ben@example.org"))

    ben.refresh_from_db()
    assert (ben.email, ben.is_active, role_of(ben)) == ("ben@example.org", True, Role.ANNOTATOR)


def test_issue_password_replaces_the_old_one_and_lifts_a_lockout(admin: User) -> None:
    ben = factories.user("ben", Role.ANNOTATOR)
    AccessAttempt.objects.create(username="ben", ip_address="127.0.0.1", failures_since_start=8)

    issued = issue_password(person=ben, actor=admin)

    ben.refresh_from_db()
    assert ben.check_password(issued.secret)
    assert not ben.check_password("a long passphrase")
    assert not AccessAttempt.objects.exists()
    assert AuditEntry.objects.get(action="person.password_issued").actor == admin
