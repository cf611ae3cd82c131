"""Labels of a crowd beside the answers that are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from evalsite.reports.services.known_answers import ESTIMATED
from evalsite.reports.services.people import compute_label_agreement
from evalsite.review.models import LabelTable

pytestmark = pytest.mark.django_db

# by item: what ann, ben, cy and dan said, and the known answer, which nobody knows of the last item
ROWS = ["yyyn y", "yyny y", "nnnn n", "nyny n", "ynyy n", "yyyy "]


def test_raters_and_their_majority_are_compared_with_the_known_answers(tmp_path: Path, researcher: Client) -> None:
    path = tmp_path / "crowd.csv"
    lines = [
        f"{number},{rater},{label},{row.partition(' ')[2]}"
        for number, row in enumerate(ROWS)
        for rater, label in zip(("ann", "ben", "cy", "dan"), row, strict=False)
    ]
    path.write_text("\n".join(["item,rater,label,gold", *lines]))
    call_command("labels", "create", "--file", str(path), "--map", "detail=gold")
    table = LabelTable.objects.get()

    shares = compute_label_agreement(table.pk, {}).content.known

    # the majority is right three times, half right where n and y are tied, and wrong once: 3.5 of 5
    told: list[object] = [(row.name, row.right.value, row.right.n) for row in shares if row.name != ESTIMATED]
    assert told == [
        ("majority", pytest.approx(0.7), 5),
        ("ann", pytest.approx(4 / 5), 5),
        ("ben", pytest.approx(4 / 5), 5),
        ("cy", pytest.approx(3 / 5), 5),
        ("dan", pytest.approx(2 / 5), 5),
    ]
    assert [row.right.n for row in shares if row.name == ESTIMATED] == [5]
    assert "Right by the known answers" in researcher.get(table.get_absolute_url()).content.decode()
