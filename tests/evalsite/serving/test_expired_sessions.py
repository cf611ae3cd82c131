"""What workers do by themselves for accounts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from evalsite.serving.expired_sessions import clear_sessions
from evalsite.serving.workers import RECOVERIES

pytestmark = pytest.mark.django_db


def test_clear_sessions_removes_what_has_expired() -> None:
    moment = timezone.now()
    Session.objects.create(session_key="old", session_data="", expire_date=moment - timedelta(minutes=1))
    Session.objects.create(session_key="live", session_data="", expire_date=moment + timedelta(days=1))

    assert (clear_sessions(), clear_sessions()) == (1, 0)
    assert list(Session.objects.values_list("session_key", flat=True)) == ["live"]
    assert clear_sessions in RECOVERIES
