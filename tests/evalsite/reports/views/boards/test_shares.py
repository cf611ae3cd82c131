"""Share links: made by researchers, read by whoever has one, and of one leaderboard only."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.reports.models import ShareLink
from tests import factories
from tests.evalsite.reports.conftest import Scored
from tests.evalsite.test_hostile_queries import addresses

pytestmark = pytest.mark.django_db
LINKS = re.compile(r"""(?:href|action|hx-get|hx-post)="([^"]*)\"""")
PUBLIC = (
    *("/static/", "/login/", "/password/forgotten/", "/password/reset/"),
    *("/livez", "/readyz", "/healthz", "/metrics", "/api/v1/openapi.json"),
)


def _shared(researcher: Client, scored: Scored, query: str = "") -> str:
    """Make a link and return its path."""
    page = researcher.post(f"{reverse('reports:share-list')}?suite={scored.suite.pk}{query}", {"days": "30"})
    match = re.search(r'value="http://testserver(/reports/shared/[^"]+)"', page.text)
    assert match is not None
    return match[1]


def test_share_list_shows_the_address_once_and_the_links_with_their_makers(researcher: Client, scored: Scored) -> None:
    path = _shared(researcher, scored)

    page = researcher.get(reverse("reports:share-list"))

    assert path not in page.text
    assert (str(scored.suite) in page.text, "rita" in page.text, "Revoke" in page.text) == (True, True, True)


def test_share_list_refuses_a_time_that_is_not_offered(researcher: Client, scored: Scored) -> None:
    researcher.post(f"{reverse('reports:share-list')}?suite={scored.suite.pk}", {"days": "36500"})

    assert not ShareLink.objects.exists()


@pytest.mark.parametrize("part", ["", "results/", "results/?columns=judges&show=differ", "results/?sort=1"])
def test_shared_pages_lead_only_to_themselves(researcher: Client, scored: Scored, part: str) -> None:
    path = _shared(researcher, scored)
    stranger = Client()

    page = stranger.get(f"{path}{part}")

    assert page.status_code == 200
    assert "ada" in page.text
    assert 'class="rail"' not in page.text
    assert "manage.py" not in page.text
    paths = {urlsplit(urljoin(path + part, unescape(link))).path for link in LINKS.findall(page.text)}
    assert {linked for linked in paths if not linked.startswith("/static/")} <= {path, f"{path}results/"}
    assert (page["X-Robots-Tag"], page["Referrer-Policy"]) == ("noindex, nofollow", "no-referrer")
    assert "no-store" in page["Cache-Control"]


def test_shared_results_open_a_row_with_its_texts_as_a_part_too(researcher: Client, scored: Scored) -> None:
    path = _shared(researcher, scored)
    page = Client().get(f"{path}results/").text
    row = re.search(r'hx-get="([^"]*row=[^"]*)"', page)
    assert row is not None

    part = Client().get(f"{path}results/{unescape(row[1])}", headers={"HX-Request": "true"}).text

    assert 'id="results-panel"' in part
    assert "<html" not in part


def test_a_link_opens_the_leaderboard_as_it_was_filtered(researcher: Client, scored: Scored) -> None:
    path = _shared(researcher, scored, "&scenario=easy&page=1")

    answer = Client().get(path)

    assert (answer.status_code, answer["Location"]) == (302, f"{path}?scenario=easy&page=1")
    assert "2 cases" in Client().get(answer["Location"]).text


def test_a_link_opens_no_other_address(researcher: Client, scored: Scored) -> None:
    stranger = Client()
    stranger.get(_shared(researcher, scored))

    answers = {address: stranger.get(address).status_code for address in addresses() if not address.startswith(PUBLIC)}

    of_scripts = {
        address for address, code in answers.items() if address.startswith(("/api/v1/", "/v1/")) and code in (401, 405)
    }
    refused = {address for address, code in answers.items() if code in (302, 404)}
    assert len(of_scripts) > 5
    assert set(answers) - of_scripts - refused == set()


def test_a_shared_page_is_the_same_for_somebody_who_is_signed_in(researcher: Client, scored: Scored) -> None:
    path = _shared(researcher, scored)

    page = researcher.get(path)

    assert ('class="rail"' in page.text, "rita" in page.text.partition("page-foot")[0]) == (False, False)


def test_unknown_and_revoked_links_are_not_told_apart(researcher: Client, scored: Scored) -> None:
    path = _shared(researcher, scored)
    researcher.post(reverse("reports:share-revoke", args=[ShareLink.objects.get().pk]))

    nobody = Client(headers={"X-Request-ID": "request-1"})
    revoked, unknown = nobody.get(path), nobody.get(path[:-2] + "x/")

    assert (revoked.status_code, revoked.text, dict(revoked.headers)) == (404, unknown.text, dict(unknown.headers))


def test_a_viewer_makes_no_links(scored: Scored) -> None:
    viewer = Client()
    viewer.force_login(factories.user("vera", Role.VIEWER))

    assert viewer.get(reverse("reports:share-list")).status_code == 403
