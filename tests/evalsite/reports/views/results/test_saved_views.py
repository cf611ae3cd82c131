"""Views of results are saved and deleted on the page of results, each person's own."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.reports.models import SavedView
from tests import factories
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db


def _save(client: Client, scored: Scored, **fields: str) -> str:
    answer = client.post(reverse("reports:view-save", args=[scored.suite.pk]), fields)
    return str(answer["Location"])


def test_a_view_is_saved_offered_to_others_and_deleted(scored: Scored, researcher: Client) -> None:
    page = reverse("reports:results-detail", args=[scored.suite.pk])

    opened = _save(researcher, scored, name="Worst of ada", query="sort=0&page=3", is_shared="1")
    other, viewer = Client(), Client()
    other.force_login(factories.user("ben", Role.RESEARCHER))
    viewer.force_login(factories.user("vera", Role.VIEWER))
    shown = [client.get(page).content.decode() for client in (researcher, other, viewer)]
    view = SavedView.objects.get()
    delete = reverse("reports:view-delete", args=[view.pk])
    refused = [client.post(delete).status_code for client in (other, viewer)]
    deleted = researcher.post(delete)

    assert opened == deleted["Location"] == f"{page}?sort=0"
    assert ['href="?sort=0"' in text for text in shown] == [True, True, True]
    assert ["Save this view as" in text for text in shown] == [True, True, False]
    assert [delete in text for text in shown] == [True, False, False]
    assert (refused, SavedView.objects.exists()) == ([404, 403], False)
    logged = AuditEntry.objects.filter(action__startswith="view.").order_by("pk")
    assert list(logged.values_list("action", "subject", "detail")) == [
        ("view.saved", "Worst of ada", {"query": "sort=0", "shared": True}),
        ("view.deleted", "Worst of ada", {"query": "sort=0"}),
    ]


def test_a_view_without_a_name_is_refused_in_words_and_the_page_stays(scored: Scored, researcher: Client) -> None:
    page = reverse("reports:results-detail", args=[scored.suite.pk])

    opened = _save(researcher, scored, name=" ", query="show=low")

    assert opened == f"{page}?show=low"
    assert "Enter a name of at most 80 characters." in researcher.get(opened).content.decode()
    assert not SavedView.objects.exists()
