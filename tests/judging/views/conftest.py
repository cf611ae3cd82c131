"""Who looks at the pages of endpoints and judges, and what is there before."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from evalsite.accounts.roles import Role
from judging.models import Judge, ModelEndpoint
from tests import factories


@pytest.fixture
def admin(client: Client) -> User:
    person = factories.user("ada", Role.ADMIN)
    client.force_login(person)
    return person


@pytest.fixture
def no_baselines() -> None:
    """Start from an empty list: what migrations set up is not what these tests are about."""
    Judge.objects.all().delete()
    ModelEndpoint.objects.all().delete()
