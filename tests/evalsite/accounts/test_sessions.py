"""Sessions move on with use, and who has to sign in again comes back to the page they were on."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.roles import Role
from evalsite.accounts.sessions import RENEWED
from evalsite.review.models.items import address_of
from tests import factories

pytestmark = pytest.mark.django_db

PATH = f"/review/items/{address_of(95)}/"
ITEM = f"http://testserver{PATH}"


def _asked(url: str = ITEM, method: str = "post", **headers: str) -> tuple[int, str, str]:
    """Return the status and both addresses that a request of nobody's is sent to."""
    sent = {"HX-Request": "true", "HX-Current-URL": url} | headers
    answer = getattr(Client(), method)(f"{PATH}annotate/", {"label": "1"}, headers=sent)
    return answer.status_code, answer.headers.get("HX-Redirect", ""), answer.headers.get("Location", "")


@pytest.mark.parametrize("method", ["get", "post"])
def test_sign_in_middleware_moves_the_whole_page_of_an_htmx_request(method: str) -> None:
    assert _asked(method=method) == (200, f"/login/?next={PATH}", "")


def test_sign_in_middleware_keeps_the_query_of_the_page() -> None:
    assert _asked(ITEM + "?diff=1") == (200, f"/login/?next={PATH}%3Fdiff%3D1", "")


@pytest.mark.parametrize("url", ["", "https://evil.example/review/", "//evil.example/", "javascript:alert(1)"])
def test_sign_in_middleware_never_leads_to_another_site(url: str) -> None:
    assert _asked(url) == (200, "/login/?next=/", "")


def test_sign_in_middleware_sends_a_form_without_javascript_back_to_its_page() -> None:
    answer = Client().post(f"{PATH}skip/", headers={"Referer": ITEM})

    assert (answer.status_code, answer["Location"]) == (302, f"/login/?next={PATH}")


def test_sign_in_middleware_sends_a_page_back_to_itself() -> None:
    answer = Client().get(f"{PATH}?diff=1")

    assert (answer.status_code, answer["Location"]) == (302, f"/login/?next={PATH}%3Fdiff%3D1")


@pytest.mark.parametrize("act", ["annotate", "revise"])
def test_the_address_of_a_refused_answer_leads_to_the_item(client: Client, act: str) -> None:
    person = factories.user("ada", Role.ANNOTATOR)
    claim = factories.annotation(item=factories.review_item(), label="1", annotator=person).assignment
    client.force_login(claim.annotator)

    answer = client.get(reverse(f"review:item-{act}", args=[claim.item_id]))

    assert (answer.status_code, answer["Location"]) == (302, claim.item.get_absolute_url())


def _old_session(client: Client) -> Session:
    """Sign somebody in whose session was last renewed ten days ago, and return it."""
    client.force_login(factories.user("ada"))
    session = client.session
    session[RENEWED] = "2026-01-01"
    session.save()
    stored = Session.objects.get(pk=session.session_key)
    stored.expire_date -= timedelta(days=10)
    stored.save()
    return stored


def test_session_renewal_middleware_moves_the_end_when_somebody_opens_a_page(client: Client) -> None:
    session = _old_session(client)

    answer = client.get(reverse("home"))

    session.refresh_from_db()
    left = session.expire_date - timezone.now()
    assert timedelta(days=settings.SESSION_DAYS, minutes=-5) < left <= timedelta(days=settings.SESSION_DAYS)
    assert answer.cookies["sessionid"]["max-age"] == settings.SESSION_DAYS * 86400


def test_session_renewal_middleware_leaves_it_where_an_open_page_asks_by_itself(client: Client) -> None:
    session = _old_session(client)
    before = session.expire_date

    client.get(reverse("home"), headers={"HX-Request": "true"})

    session.refresh_from_db()
    assert session.expire_date == before


def test_session_renewal_middleware_writes_once_a_day(client: Client) -> None:
    _old_session(client)

    cookies = [client.get(reverse("help")).cookies.get("sessionid") for _ in range(2)]

    assert [cookie is not None for cookie in cookies] == [True, False]


@pytest.mark.parametrize(("asked", "is_said"), [(f"?next={PATH}", True), ("?next=/", False), ("", False)])
def test_sign_in_says_why_it_is_asked_for(asked: str, *, is_said: bool) -> None:
    factories.user("ada", Role.ADMIN)

    page = Client().get(f"{reverse('login')}{asked}").text

    assert ("your session has ended. What you had typed is kept." in page) == is_said
