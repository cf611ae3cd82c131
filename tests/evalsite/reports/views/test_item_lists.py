"""Every number of an agreement report leads to just as many items."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains

from debate.models import Debate
from evalsite.accounts.roles import Role
from evalsite.review.models import Assignment, LabelTable, Queue, ReviewItem
from evalsite.review.questions.scales import labels_to_json, scale_from_words
from tests import factories

pytestmark = pytest.mark.django_db
LINK = re.compile(
    r'<a[^>]*?href="([^"]*/items/\?[^"]*)"[^>]*>\s*'
    r'(?:All |<span class="stat-label">[^<]*</span>\s*<span class="stat-value">)?([\d,]+)'
)
QUERIES = 11  # who asks 2, what waits in the rail 2, the queue, how far its labels have come 4, the report, the items


def people(*names: str) -> dict[str, User]:
    return {name: factories.user(name) for name in names}


@pytest.fixture
def queue() -> Queue:
    """Return a queue in which everything that a report can show has happened."""
    new_queue = factories.queue(slug="pairs", name="Pairs", quorum=3)
    team = people("ann", "ben", "cat")
    labels_by_item: list[tuple[dict[str, str], dict[str, Any]]] = [
        ({"ann": "1", "ben": "1", "cat": "1"}, {"criterion": "clarity", "scenario": "code"}),
        ({"ann": "1", "ben": "-1", "cat": "0"}, {"criterion": "clarity", "scenario": "letters & more"}),
        ({"ann": "0", "ben": "0", "cat": "-1"}, {"criterion": "depth", "scenario": "code", "language": "de"}),
        ({"ann": "-1", "ben": "1"}, {"criterion": "depth", "scenario": "code", "language": "en"}),
        ({"cat": "1"}, {"scenario": "code"}),
        ({"ann": "7", "ben": "1"}, {"criterion": "clarity", "scenario": "code"}),  # 7 has left the scale
    ]
    for day, (labels, where) in enumerate(labels_by_item):
        item = factories.review_item(queue=new_queue, **where)
        for name, label in labels.items():
            at = factories.NOON + timedelta(days=day // 3)
            factories.annotation(item=item, label=label, annotator=team[name], created_at=at)
    first, second, third, *_, last = items_of(new_queue)
    _reveal(first, second, third)
    _repeat(first, team["ann"], "1")
    _repeat(second, team["ann"], "0")
    _skip(last, team["cat"])
    return new_queue


def items_of(queue: Queue) -> list[ReviewItem]:
    return list(queue.items.order_by("pk"))


def _reveal(*items: ReviewItem) -> None:
    """The machines said 1 of each; ben follows them on the second item, cat leaves them on the first."""
    for item in items:
        Debate.objects.filter(referrals__item=item).update(verdict=1, status="agreed")
        item.annotations.update(revealed_at=factories.NOON)
    items[1].annotations.filter(annotator__username="ben").update(revised_label="1")
    items[0].annotations.filter(annotator__username="cat").update(revised_label="0")


def _repeat(item: ReviewItem, person: User, label: str) -> None:
    again = factories.review_item(queue=item.queue, arm="retest", retest_of=item, only_for=person, quorum=1)
    factories.annotation(item=again, label=label, annotator=person)


def _skip(item: ReviewItem, person: User) -> None:
    fields = {"token": "0" * 32, "claimed_at": factories.NOON, "expires_at": factories.NOON, "status": "skipped"}
    Assignment.objects.create(item=item, queue=item.queue, annotator=person, **fields)


def links_of(page: str) -> list[tuple[str, int]]:
    return [(unescape(url), int(number.replace(",", ""))) for url, number in LINK.findall(page)]


def listed(client: Client, url: str) -> tuple[int, int]:
    """Return the total in the list's heading, and the sum over its rows on every page."""
    response = client.get(url)
    assert response.status_code == 200, url
    pages = range(1, response.context["page_obj"].paginator.num_pages + 1)
    rows = [row for page in pages for row in client.get(f"{url}&page={page}").context["rows"]]
    return response.context["total"], sum(row["weight"] for row in rows)


def check_every_link(client: Client, *urls: str) -> set[str]:
    """Follow each linked number of the pages, compare it with its list, and return the figures that were met."""
    met = set()
    for url in urls:
        links = links_of(client.get(url).content.decode())
        assert links, url
        for target, number in links:
            assert (target, listed(client, target)) == (target, (number, number))
            met.add(re.search(r"show=([a-z-]+)", target)[1])  # type: ignore[index]  # the pattern of LINK has it
    return met


def test_every_number_of_a_queue_report_is_the_number_of_items_listed(queue: Queue, researcher: Client) -> None:
    report = reverse("reports:agreement-detail", args=[queue.slug])
    confusion = reverse("reports:agreement-confusion", args=[queue.slug])

    met = check_every_link(
        researcher,
        report,
        f"{report}?criterion=clarity",
        f"{report}?scenario=code",
        f"{confusion}?first=ann&second=ben",
    )

    assert met == {
        *("answers", "single", "pairable", "unanimous", "no-majority", "disputed", "off-scale"),
        *("person", "pair", "pair-differs", "together", "rest", "rest-differs", "skipped"),
        *("retest", "retest-differs", "revealed", "revised", "differed", "toward", "agreed", "away"),
    }
    page = researcher.get(report).text
    most_disputed = items_of(queue)[1]
    assert most_disputed.response_a is not None
    assert "each pair counts twice" in page
    assert most_disputed.response_a.prompt.text in page.partition('id="disputed"')[2]


def test_every_number_of_criteria_on_scales_of_their_own_is_the_number_of_items_listed(
    queue: Queue, researcher: Client
) -> None:
    words = scale_from_words(["poor", "fair", "good"])
    for row in (("poor", "fair"), ("good", "good"), ("good", "1")):  # 1 is on the scale of the other criteria only
        item = factories.review_item(queue=queue, criterion="tone")
        item.subject.labels = labels_to_json(words)
        item.subject.save()
        for name, label in zip(("ann", "ben"), row, strict=True):
            factories.annotation(item=item, label=label, annotator=User.objects.get(username=name))

    url = reverse("reports:agreement-detail", args=[queue.slug])
    check_every_link(researcher, url)

    page = researcher.get(url)
    rows = {row.name: (row.pairable, row.disputed) for row in page.context["content"].criteria}
    assert rows["tone"] == (2, 1)
    assertContains(page, "read the figures by criterion")
    assertContains(page, "alpha, ordinal")


def test_every_number_of_a_label_table_report_is_the_number_of_items_listed(researcher: Client) -> None:
    data = b"item,rater,label,scenario\n1,ann,a,code\n1,ben,a,code\n2,ann,b,letters\n2,ben,a,letters\n3,ann,b,code\n"
    file = SimpleUploadedFile("labels.csv", data)
    researcher.post(reverse("reports:labels-create"), {"file": file, "save": "1"})
    table = LabelTable.objects.get()
    confusion = reverse("reports:labels-confusion", args=[table.slug])

    met = check_every_link(researcher, table.get_absolute_url(), f"{confusion}?first=ann&second=ben")

    assert {"answers", "single", "pairable", "disputed", "pair", "together", "person"} <= met


def test_the_list_names_who_said_what(queue: Queue, researcher: Client) -> None:
    url = reverse("reports:agreement-items", args=[queue.slug])
    second = items_of(queue)[1]

    response = researcher.get(url, {"show": "pair", "first": "ann", "second": "ben", "one": "1", "other": "-1"})

    assert [(row["pk"], row["given"]) for row in response.context["rows"]] == [
        (
            second.pk,
            [
                {"name": "ann", "text": "A is better"},
                {"name": "ben", "text": "B is better"},
                {"name": "cat", "text": "Neither is better"},
            ],
        )
    ]
    assert second.get_absolute_url() in response.content.decode()


@pytest.mark.parametrize(
    "query", ["", "show=everything", "show=person&first=nobody", "show=pairable&by=criterion&name=x", "show=together"]
)
def test_a_figure_that_does_not_exist_is_not_found(queue: Queue, researcher: Client, query: str) -> None:
    assert researcher.get(reverse("reports:agreement-items", args=[queue.slug]) + f"?{query}").status_code == 404


def test_annotators_do_not_see_the_lists(queue: Queue) -> None:
    annotator = Client()
    annotator.force_login(factories.user("anna", Role.ANNOTATOR))

    assert annotator.get(reverse("reports:agreement-items", args=[queue.slug]) + "?show=pairable").status_code == 403


def test_a_long_list_comes_in_pages(researcher: Client) -> None:
    queue = factories.queue(slug="many")
    ann = factories.user("ann")
    for _ in range(51):
        factories.annotation(item=factories.review_item(queue=queue), label="1", annotator=ann)
    url = reverse("reports:agreement-items", args=[queue.slug])

    rows = [len(researcher.get(url, {"show": "single", "page": page}).context["rows"]) for page in (1, 2)]

    assert rows == [50, 1]


@pytest.mark.parametrize("items", [1, 3])
def test_the_list_asks_as_much_for_three_items_as_for_one(
    items: int, researcher: Client, django_assert_num_queries: Any
) -> None:
    queue = factories.queue(slug="few")
    for _ in range(items):
        factories.annotation(item=factories.review_item(queue=queue), label="1")
    url = reverse("reports:agreement-items", args=[queue.slug]) + "?show=single"
    researcher.get(url)  # computes the report

    with django_assert_num_queries(QUERIES):
        response = researcher.get(url)

    assert len(response.context["rows"]) == items
