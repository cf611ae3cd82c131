"""People are named by user name, mail address or number, wherever a command names one."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.utils.datastructures import MultiValueDict

from evalsite.accounts.roles import Role
from evalsite.base.actions.declarations import ACTIVE_PERSON, PERSON, acting_person, declared_nouns
from evalsite.base.types import Refused
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    ada = factories.user("ada", Role.RESEARCHER)
    ada.email = "ada@example.org"
    ada.save()
    return ada


def test_a_person_is_found_by_user_name_mail_address_or_number(ada: User) -> None:
    numeric = factories.user(str(ada.pk))  # a name comes before a number
    bob = factories.user("bob")

    found = [PERSON.named(word) for word in ("ada", "ADA", "Ada@example.org", bob.pk, str(bob.pk), str(ada.pk))]

    assert found == [ada, ada, ada, bob, bob, numeric]
    assert [ACTIVE_PERSON.named(text) for text in ("ada@example.org", "bob")] == [ada, bob]


def test_a_whole_number_that_no_column_holds_is_refused_beside_its_field() -> None:
    golden = declared_nouns()["golden"].actions["create"]

    seeds = [golden.form(None, {}, MultiValueDict({"seed": [str(seed)]})) for seed in (2**31 - 1, 2**31, 10**30)]

    assert [form.errors.get("seed") for form in seeds] == [
        None,
        ["Enter a number no further from 0 than 2,147,483,647."],
        ["Enter a number no further from 0 than 2,147,483,647."],
    ]


def test_who_acts_is_active_and_may_do_it(ada: User) -> None:
    factories.user("vera", Role.VIEWER)
    gone = factories.user("gone", Role.RESEARCHER)
    gone.is_active = False
    gone.save()

    assert acting_person("ada@example.org", permission="judging.change_run") == ada
    with pytest.raises(Refused, match=r"^“vera” may not do this. Name somebody who may with --by.$"):
        acting_person("vera", permission="judging.change_run")
    with pytest.raises(Refused, match=r"^There is no active account “gone”. There are: ada, vera.$"):
        acting_person("gone", permission="judging.change_run")
