"""Help: every topic has a page, and each role is offered its own."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.core.management import get_commands
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.help import TOPICS, topics_for
from judging.judges.registry import KINDS
from tests import factories
from tests.bench.bench_coverage import KINDS as MEASURED

pytestmark = pytest.mark.django_db


def _page(slug: str) -> str:
    client = Client()
    client.force_login(factories.user(role=Role.ANNOTATOR))
    return client.get(reverse("help-topic", args=[slug])).content.decode()


@pytest.mark.parametrize("slug", [topic.slug for topic in TOPICS])
def test_help_topic_shows_a_page_for_every_topic(slug: str) -> None:
    page = _page(slug)

    assert next(topic.title for topic in TOPICS if topic.slug == slug) in page
    assert len(page) > 6000  # more than the empty shell


def test_topics_for_offers_each_role_its_own() -> None:
    counts = {role.value: len(topics_for(role)) for role in Role}

    assert counts == {"viewer": 5, "annotator": 3, "researcher": 9, "admin": 10}
    assert topics_for(None) == topics_for(Role.ANNOTATOR)


def test_help_about_runs_names_every_judge_by_its_title() -> None:
    page = _page("runs")

    assert [kind.title for kind in KINDS.values() if kind.title not in page] == []


def test_help_about_operations_names_commands_that_exist() -> None:
    text = _page("operations")
    names = text.partition("<h2>Commands</h2>")[2].partition("With <code>")[0].replace("<p>", "").replace(".", "")

    listed = [name.strip() for name in names.split(",")]

    assert len(listed) == 14
    assert [name for name in listed if name not in get_commands()] == []


def test_help_start_links_every_step(client: Client) -> None:
    client.force_login(factories.user("rita", Role.RESEARCHER))

    steps = client.get(reverse("help-topic", args=["start"])).text.partition("<ol>")[2].partition("</ol>")[0]

    assert [step.count("<a href") > 0 for step in steps.split("<li>")[1:]] == [True] * 7


def test_help_about_figures_shows_what_the_coverage_bench_measured() -> None:
    page = _page("figures")

    rows = [unescape(name) for name in re.findall(r'<th scope="row">(.*?)</th>', page)]

    assert sorted(rows) == sorted(kind.name for kind in MEASURED)
    assert re.search(r'Measured on <time datetime="20\d\d-\d\d-\d\d">', page)
    assert "<code>make bench-coverage</code>" in page
