"""Reads of people."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from evalsite.accounts.selectors import people
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("search", ["alove", "lovelace", "ada LOVE", "engine@", "ada example.org"])
def test_people_are_found_by_user_name_real_name_and_email(search: str) -> None:
    factories.user("bob")
    User.objects.create_user("alove", email="engine@example.org", first_name="Ada", last_name="Lovelace")

    assert [person.username for person in people(search=search)] == ["alove"]
    assert list(people(search=f"{search} bob")) == []
