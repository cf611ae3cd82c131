"""Systems ranked by imported preferences of people."""

from __future__ import annotations

import json
from math import log, log10

import pytest
from django.test import Client

from evalsite.reports.services.people import compute_label_agreement
from evalsite.reports.services.votes import VotedRanking
from evalsite.review.models import LabelTable
from judging.services.file_imports.imports import store_import
from judging.services.file_imports.intake import ImportOptions
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def store_votes(*votes: tuple[int, str, str, str]) -> LabelTable:
    rows = [
        {
            "question_id": number,
            "prompt": f"Q{number}?",
            "model_a": a,
            "model_b": b,
            "winner": winner,
            "response_a": f"{a} {number}",
            "response_b": f"{b} {number}",
            "judge": f"expert_{number % 2}",
        }
        for number, a, b, winner in votes
    ]
    data = "\n".join(map(json.dumps, rows)).encode()
    store_import(files=[("human.jsonl", data)], options=ImportOptions(), source="t", actor=None, at=NOON)
    return LabelTable.objects.get()


def ranking_of(table: LabelTable) -> VotedRanking:
    voted = compute_label_agreement(table.pk, {}).content.voted
    assert voted is not None
    return voted


def test_systems_are_ranked_by_votes_on_elos_scale(researcher: Client) -> None:
    votes = [(n, "oak", "elm", "model_b" if n % 4 == 3 else "model_a") for n in range(40)]  # 3 to 1
    votes += [(n, "ash", "elm", "model_a" if n % 4 == 3 else "model_b") for n in range(40)]  # 1 to 3

    table = store_votes(*votes)
    voted = ranking_of(table)

    # odds of 3 between neighbours: strengths log 3, 0 and -log 3, and 400 log10 3 points of Elo's scale
    step = 400 * log10(3)
    rows: list[object] = [
        (row.name, row.votes, row.rating, row.strength.value, row.win_rate.value) for row in voted.systems
    ]
    assert rows == [
        ("oak", 40, pytest.approx(1000 + step), pytest.approx(log(3), abs=1e-6), pytest.approx(0.75)),
        ("elm", 80, pytest.approx(1000), pytest.approx(0.0, abs=1e-6), pytest.approx(0.5)),
        ("ash", 40, pytest.approx(1000 - step), pytest.approx(-log(3), abs=1e-6), pytest.approx(0.25)),
    ]
    assert (voted.votes, [(row.first, row.last) for row in voted.systems]) == (80, [(1, 1), (2, 2), (3, 3)])
    assert "1,191" in researcher.get(table.get_absolute_url()).content.decode()


def test_systems_that_never_met_have_no_common_ranking() -> None:
    voted = ranking_of(store_votes((1, "oak", "elm", "model_a"), (2, "ash", "yew", "tie")))

    reason = "No vote links these groups, so they have no common ranking: ash, yew; elm, oak."
    assert voted == VotedRanking([], 2, reason)
