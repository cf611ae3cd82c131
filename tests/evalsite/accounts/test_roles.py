"""Roles hold their permissions from the first migration on, researchers what viewers and annotators hold."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User

from evalsite.accounts.roles import PERMISSIONS, Role, highest, role_of, set_role
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", list(Role))
def test_groups_hold_every_permission_right_after_one_migration(role: Role) -> None:
    # No call of sync_groups here: the test database was migrated once, as a new site's is.
    held = Group.objects.get(name=role).permissions.values_list("content_type__app_label", "codename")

    assert sorted(f"{room}.{name}" for room, name in held) == sorted(PERMISSIONS[role])


def test_permissions_grow_from_role_to_role() -> None:
    viewer, annotator, researcher, admin = (set(PERMISSIONS[role]) for role in Role)

    assert viewer | annotator < researcher < admin


def test_set_role_replaces_the_role_before() -> None:
    person = factories.user(role=Role.ADMIN)

    set_role(user=person, role=Role.ANNOTATOR)

    person.refresh_from_db()
    assert (role_of(person), person.is_staff, person.groups.count()) == (Role.ANNOTATOR, False, 1)


def test_role_of_is_admin_for_a_superuser_and_none_without_a_group() -> None:
    assert role_of(User.objects.create_superuser("root")) == Role.ADMIN
    assert role_of(factories.user()) is None


def test_highest_ignores_groups_that_are_no_roles() -> None:
    assert highest(["guests", "researcher", "annotator"]) == Role.RESEARCHER
    assert highest(["guests"]) is None
