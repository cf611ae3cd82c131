"""What two versions of a rubric differ in."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from judging.models import Rubric
from judging.selectors import benchmarks
from judging.selectors.benchmarks import rubric_diff
from tests import factories

pytestmark = pytest.mark.django_db


def version(number: int, **texts: str) -> Rubric:
    """Return a version of one rubric with a tree by case for every text."""
    trees: dict[str, Any] = {key: {"kind": "group", "text": text} for key, text in texts.items()}
    return factories.rubric(slug="levels", version=number, trees=trees)


def test_rubric_diff_tells_what_was_added_changed_and_removed() -> None:
    before = version(1, kept="same", moved="old", gone="away")
    after = version(2, new="here", moved="new", kept="same")

    diff = rubric_diff(before=before, after=after)

    def text(item: Any) -> str | None:
        return str(item.tree["text"]) if item else None

    assert (diff.added, diff.changed, diff.removed) == (1, 1, 1)
    assert [(key, text(before), text(after)) for key, before, after in diff.shown] == [
        ("new", None, "here"),
        ("moved", "old", "new"),
        ("gone", "away", None),
    ]


def test_rubric_diff_loads_only_the_trees_that_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "MAX_CHANGES", 2)
    before = version(1, **{f"k{number}": "old" for number in range(5)})
    after = version(2, **{f"k{number}": "new" for number in range(5)})

    with CaptureQueriesContext(connection) as queries:
        diff = rubric_diff(before=before, after=after)

    assert (diff.total, len(diff.shown)) == (5, 2)
    assert ['"tree"' in query["sql"] for query in queries] == [False, False, True]
