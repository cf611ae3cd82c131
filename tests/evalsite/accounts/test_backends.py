"""A person of a session comes with the permissions that Django's own backend gives them, in one query."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Permission, User

from evalsite.accounts.backends import PeopleBackend
from evalsite.accounts.roles import PERMISSIONS, Role
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", [None, *Role])
@pytest.mark.parametrize("own", [0, 2])
def test_get_user_reads_the_permissions_of_the_role_and_those_of_ones_own(
    role: Role | None, own: int, django_assert_num_queries: Any
) -> None:
    person = factories.user(role=role)
    given = Permission.objects.filter(codename__in=["add_session", "view_queue"])[:own]
    person.user_permissions.set(given)
    expected = set(PERMISSIONS[role] if role else ()) | (
        {"sessions.add_session", "review.view_queue"} if own else set()
    )

    with django_assert_num_queries(1):
        found = PeopleBackend().get_user(person.pk)
        assert found == person
        assert found is not None
        held = found.get_all_permissions()

    assert held == expected
    assert held == ModelBackend().get_all_permissions(User.objects.get(pk=person.pk))


def test_get_user_lets_a_superuser_do_everything() -> None:
    found = PeopleBackend().get_user(User.objects.create_superuser("root").pk)

    assert found is not None
    assert found.has_perm("review.adjudicate")
    assert len(found.get_all_permissions()) == Permission.objects.count()


def test_get_user_knows_no_inactive_or_missing_person() -> None:
    person = factories.user(role=Role.ADMIN)
    User.objects.filter(pk=person.pk).update(is_active=False)

    assert (PeopleBackend().get_user(person.pk), PeopleBackend().get_user(0)) == (None, None)
