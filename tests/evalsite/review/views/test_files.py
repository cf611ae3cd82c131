"""Answers brought back on the page: looked at first, stored afterwards."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.review.models import (
    Annotation,
)
from tests import factories
from tests.evalsite.review.exchanged import busy_queue, emptied, exported

pytestmark = pytest.mark.django_db


def test_the_page_shows_what_comes_before_it_is_stored() -> None:
    queue = busy_queue()
    data = exported(queue, "csv")
    emptied(queue)
    User.objects.filter(username="eve").update(username="eva")
    rita, admin = Client(), Client()
    rita.force_login(User.objects.get(username="rita"))
    admin.force_login(factories.user("root", Role.ADMIN))
    url = reverse("review:annotation-import", args=[queue.slug])

    shown = rita.post(url, {"file": SimpleUploadedFile("answers.csv", data)})
    sent = {"token": shown.context["token"], "name": "answers.csv"}
    refused = rita.post(url, sent | {"save": "1"})
    checked = rita.post(url, sent | {"person-0": "eva", "check": "1"})
    assert Annotation.objects.count() == 0
    for_admin = admin.post(url, {"file": SimpleUploadedFile("answers.csv", data)})
    stored = rita.post(url, sent | {"person-0": "eva", "save": "1"})

    assert "There is no person &#x27;eve&#x27; here." in shown.content.decode()
    assert "Only an admin may add people" in shown.content.decode()
    assert ('name="create"' in shown.content.decode(), 'name="create"' in for_admin.content.decode()) == (False, True)
    assert refused.status_code == 200
    assert checked.context["plan"].is_refused is False
    assert (stored.status_code, stored["Location"]) == (302, queue.get_absolute_url())
    assert Annotation.objects.count() == 9
    assert rita.post(url, {"token": "0" * 64, "name": "a.csv"})["Location"] == url
    bad = rita.post(url, {"file": SimpleUploadedFile("answers.csv", b"a,b\n1,2\n")}).content.decode()
    assert "has no column item" in bad
