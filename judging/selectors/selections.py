"""The part of a suite that a run or a set of debates covers."""

from __future__ import annotations

from collections.abc import Sequence

from evalsite.base.json_types import JsonDict
from judging.models import Case, Suite
from judging.specs.selections import CaseSelection, check_names


def check_selection(*, suite: Suite, selection: CaseSelection) -> None:
    """Pass where the suite has all cases and scenarios that are named.

    Raises:
        SelectionRefused: it lacks one; the message names it.
    """
    cases = Case.objects.filter(links__suite=suite)
    if selection.cases:
        keys = list(cases.order_by("links__position").values_list("key", flat=True))
        check_names(selection.cases, keys, what="case", owner=str(suite))
    if selection.scenarios:
        scenarios = list(cases.exclude(scenario="").order_by("scenario").values_list("scenario", flat=True).distinct())
        check_names(selection.scenarios, scenarios, what="scenario", owner=str(suite))


def part_words(*, suite: Suite, selection: CaseSelection) -> str:
    """Return which part of the suite a selection is; "" for the whole suite, which costs no query."""
    if selection.is_all:
        return ""
    count = Case.objects.filter(links__suite=suite, **case_filters(selection)).count()
    return selection.part_words(count=count, total=suite.links.count())


def case_filters(selection: CaseSelection, *, prefix: str = "") -> JsonDict:
    """Return the conditions of a query that keep to these cases; `prefix` leads to the case."""
    filters: dict[str, Sequence[str]] = {}
    if selection.keys:
        filters[f"{prefix}key__in"] = selection.keys
    if selection.scenarios:
        filters[f"{prefix}scenario__in"] = selection.scenarios
    return filters
