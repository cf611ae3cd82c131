"""Metrics beside the numbers that people gave the same responses."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from evalsite.reports.services.people import compute_label_agreement
from evalsite.review.models import LabelTable
from judging.services.file_imports.imports import store_import
from judging.services.file_imports.intake import ImportOptions
from tests.factories import NOON

pytestmark = pytest.mark.django_db

SYSTEMS = ("ash", "elm", "oak")
# by case: what two people gave each system, and what the metric did
CASES: list[tuple[list[tuple[int, int]], list[float]]] = [
    ([(1, 1), (2, 2), (3, 3)], [0.1, 0.2, 0.3]),  # the same order: 1, 1, 1
    ([(1, 3), (4, 4), (2, 4)], [0.1, 0.3, 0.2]),  # means 2, 4, 3: the same order again
    ([(3, 3), (2, 2), (1, 1)], [0.2, 0.2, 0.2]),  # the metric never differs: no coefficient
]


def test_a_metric_is_compared_over_responses_within_cases_and_between_systems(researcher: Client) -> None:
    texts = [
        {"id": n, "question": f"Q{n}?", "system": name, "response": f"{name} {n}"} for n in range(3) for name in SYSTEMS
    ]
    labels = [
        {"id": n, "system": name, "rater": rater, "quality": given[place]}
        for n, (people, _) in enumerate(CASES)
        for name, given in zip(SYSTEMS, people, strict=True)
        for place, rater in enumerate(("ann", "ben"))
    ]
    scores = [
        {"id": n, "system": name, "rouge-1": value}
        for n, (_, values) in enumerate(CASES)
        for name, value in zip(SYSTEMS, values, strict=True)
    ]
    files = {"texts.json": texts, "labels.json": labels, "scores.json": scores}
    store_import(
        files=[(name, json.dumps(rows).encode()) for name, rows in files.items()],
        options=ImportOptions(),
        source="t",
        actor=None,
        at=NOON,
    )
    table = LabelTable.objects.get()

    numbers = compute_label_agreement(table.pk, {}).content.numbers

    # means of people: ash 1, 2, 3; elm 2, 4, 2; oak 3, 3, 1; of the metric: ash .4/3, elm .7/3, oak .7/3
    assert numbers is not None
    means: list[object] = [(row.system, row.mean, row.responses, row.labels) for row in numbers.systems]
    assert means == [("elm", pytest.approx(8 / 3), 3, 6), ("oak", pytest.approx(7 / 3), 3, 6), ("ash", 2.0, 3, 6)]
    rows: list[object] = [(row.level, row.n, row.pearson, row.spearman, row.kendall) for row in numbers.metrics[1:]]
    # between systems: deviations 1/3, 0, -1/3 of people and 1, 1, -2 of the metric in thirtieths; ranks 3, 2, 1 and
    # 2.5, 2.5, 1, so that rho is 1.5 / sqrt(2 * 1.5) and tau-b 2 / sqrt(3 * 2)
    between = (1 / (2 / 9 * 6) ** 0.5, 1.5 / 3**0.5, 2 / 6**0.5)
    assert rows == [("cases", 2, *[pytest.approx(1.0)] * 3), ("systems", 3, *map(pytest.approx, between))]
    assert (numbers.metrics[0].level, numbers.metrics[0].n) == ("responses", 9)
    assert "rouge-1" in researcher.get(table.get_absolute_url()).content.decode()
