"""Indexes of the largest tables: one for each way of reading, none twice."""

from __future__ import annotations

import pytest
from django.db import connection, models

from judging.models import Score, Verdict

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("model", [Score, Verdict])
def test_no_index_repeats_the_beginning_of_another(model: type[models.Model]) -> None:
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, model._meta.db_table)
    indexes = {
        name: tuple(constraint["columns"])
        for name, constraint in constraints.items()
        if constraint["index"] or constraint["unique"]
    }

    repeated = {
        name
        for name, columns in indexes.items()
        for other, more in indexes.items()
        if name != other and more[: len(columns)] == columns and len(more) > len(columns)
    }

    assert repeated == set()


@pytest.mark.parametrize(
    ("model", "field", "names"),
    [
        (Score, "run_id", {"score_run"}),
        (Score, "evaluator_id", {"score_once"}),
        (Verdict, "run_id", {"verdict_run_status"}),
        (Verdict, "evaluator_id", {"verdict_status"}),
    ],
)
def test_rows_of_a_run_and_of_an_evaluator_are_found_by_an_index(
    model: type[models.Model], field: str, names: set[str]
) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")  # an empty table is read whole else

    plan = model._default_manager.filter(**{field: 1}).explain()

    indexed = "INDEX" in plan.upper()
    named = any(name in plan for name in names) or "sqlite_autoindex_" in plan
    assert (indexed, named) == (True, True), plan
