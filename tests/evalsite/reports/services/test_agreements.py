"""Agreement in a queue, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from evalsite.reports.services.agreements import OWN_CHANCE, compute_agreement
from evalsite.review.models import Queue
from tests import factories

pytestmark = pytest.mark.django_db


def queue_with(*rows: tuple[str, ...], criterion: str = "", slug: str = "pairs") -> Queue:
    """Return a queue with one item per row and one person per place in it."""
    queue = factories.queue(slug=slug)
    people = [factories.user(f"{slug}-{name}") for name in ("ann", "ben", "cat")]
    for row in rows:
        item = factories.review_item(queue=queue, criterion=criterion)
        for person, label in zip(people, row, strict=False):
            factories.annotation(item=item, label=label, annotator=person)
    return queue


def values(payload: dict[str, Any]) -> dict[str, float | None]:
    return {row["key"]: row["value"] for row in payload["figures"]}


def test_compute_agreement_gives_every_figure() -> None:
    queue = queue_with(("1", "1"), ("1", "-1"), ("0", "0"), ("-1", "-1"))

    payload = compute_agreement(queue.pk, {}).payload

    # 3 of 4 pairs agree. Labels used: 1 three times, -1 three times, 0 twice of 8.
    # Fleiss: pe = 2 (3/8)^2 + (2/8)^2 = 22/64, (3/4 - 22/64) / (42/64) = 26/42
    # alpha: De = (64 - 22) / (8 * 7) = 42/56, Do = 1/4, 1 - 14/42
    # AC1, three declared labels: pe = (2 * 3/8 * 5/8 + 2/8 * 6/8) / 2 = 42/128, (96 - 42) / (128 - 42)
    # Brennan-Prediger: (3/4 - 1/3) / (2/3)
    assert values(payload) == {
        "percent": 0.75,
        "fleiss": pytest.approx(26 / 42),
        "alpha_nominal": pytest.approx(28 / 42),
        "alpha_ordinal": pytest.approx(values(payload)["alpha_ordinal"]),
        "alpha_interval": pytest.approx(values(payload)["alpha_interval"]),
        "ac1": pytest.approx(54 / 86),
        "brennan_prediger": pytest.approx(0.625),
    }
    assert payload["summary"]["pairable"] == 4
    assert payload["summary"]["unanimous"] == 3
    assert payload["coincidences"] == [[2, 0, 1], [0, 2, 0], [1, 0, 2]]


def test_compute_agreement_lists_the_disputed_items_first() -> None:
    queue = queue_with(("1", "1", "0"), ("0", "0", "0"), ("1", "0", "-1"))
    first, _, third = queue.items.order_by("pk")

    items = compute_agreement(queue.pk, {}).payload["items"]

    # of three pairs, all differ on the third item and two on the first
    assert [(item["id"], item["disagreement"]) for item in items] == [
        (third.pk, 1.0),
        (first.pk, pytest.approx(2 / 3)),
    ]
    assert items[1]["given"] == [{"text": "A is better", "n": 2}, {"text": "Neither is better", "n": 1}]


def test_compute_agreement_says_in_words_that_kappa_is_undefined() -> None:
    queue = queue_with(("1", "1"), ("1", "1"))

    payload = compute_agreement(queue.pk, {}).payload

    fleiss = next(row for row in payload["figures"] if row["key"] == "fleiss")
    assert (fleiss["value"], fleiss["reason"]) == (
        None,
        "Everyone chose “1”; chance-corrected agreement is undefined.",
    )
    assert values(payload)["ac1"] == 1.0
    assert "kappa is undefined" in payload["warning"]


def test_compute_agreement_of_a_queue_without_answers_is_empty_not_zero() -> None:
    payload = compute_agreement(factories.queue().pk, {}).payload

    assert payload["summary"]["answers"] == 0
    assert set(values(payload).values()) == {None}


def test_compute_agreement_filters_and_groups_by_criterion() -> None:
    queue = queue_with(("1", "1"), ("1", "0"), criterion="clarity")
    other = factories.review_item(queue=queue, criterion="depth")
    for person in ("ann", "ben"):
        factories.annotation(item=other, label="0", annotator=_person(f"pairs-{person}"))

    whole = compute_agreement(queue.pk, {}).payload
    clarity = compute_agreement(queue.pk, {"criterion": "clarity"}).payload

    assert [(row["name"], row["pairable"], row["percent"]["value"]) for row in whole["criteria"]] == [
        ("clarity", 2, 0.5),
        ("depth", 1, 1.0),
    ]
    assert values(clarity)["percent"] == 0.5
    assert whole["filters"]["criterion"] == ["clarity", "depth"]


def test_compute_agreement_takes_the_blind_answer_and_no_stale_item() -> None:
    queue = queue_with(("1", "0"), ("1", "1"))
    first, second = queue.items.order_by("pk")
    first.annotations.filter(label="0").update(revised_label="1")
    second.status = "stale"
    second.save()

    payload = compute_agreement(queue.pk, {}).payload

    assert (payload["summary"]["pairable"], values(payload)["percent"]) == (1, 0.0)


def _person(name: str) -> Any:
    from django.contrib.auth.models import User

    return User.objects.get(username=name)


def test_compute_agreement_reads_only_alpha_by_the_bounds_of_alpha() -> None:
    queue = factories.queue()
    for label in ("1",) * 9 + ("0",):
        item = factories.review_item(queue=queue, status="settled", label=label, answer_count=2)
        factories.annotation(item=item, label="1")
        factories.annotation(item=item, label=label)

    words = {row["key"]: row["words"] for row in compute_agreement(queue.pk, {}).payload["figures"]}

    assert words["ac1"] == words["brennan_prediger"] == OWN_CHANCE


def test_compute_agreement_tells_routed_items_from_audited_ones() -> None:
    # M18: routed items are the hard ones.
    queue = factories.queue(slug="arms")
    people = [factories.user(name) for name in ("dan", "eve")]
    for arm, labels in (("routed", ("1", "-1")), ("routed", ("0", "0")), ("audit", ("1", "1"))):
        item = factories.review_item(queue=queue, arm=arm)
        for person, label in zip(people, labels, strict=True):
            factories.annotation(item=item, label=label, annotator=person)

    arms = compute_agreement(queue.pk, {}).payload["arms"]

    assert [(row["name"], row["pairable"], row["percent"]["value"]) for row in arms] == [
        ("audit", 1, 1.0),
        ("routed", 2, 0.5),
    ]
