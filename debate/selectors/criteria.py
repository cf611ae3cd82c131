"""Which criterion a debate is held under: by the case's own rubric tree, or the benchmark's."""

from __future__ import annotations

from collections.abc import Sequence

from debate.protocol.criteria import criteria_in
from debate.protocol.setups import Criterion
from judging.models import Rubric, RubricItem

ITEMS_LOOKED_AT = 200  # trees of one rubric that its criteria are gathered from
RUBRICS_OFFERED = 100


def criterion_names(rubric: Rubric) -> list[str]:
    """Return the names of the criteria a rubric offers, in the order written; the first cases' trees speak for all."""
    names: dict[str, None] = {}
    for tree in rubric.items.order_by("position").values_list("tree", flat=True)[:ITEMS_LOOKED_AT]:
        names |= dict.fromkeys(criteria_in(tree))
    return list(names)


def criteria_on_offer() -> list[tuple[Rubric, list[str]]]:
    """Return the newest rubrics with the criteria of their first tree. Two queries."""
    rubrics = list(Rubric.objects.order_by("-created_at", "-pk")[:RUBRICS_OFFERED])
    names: dict[int, list[str]] = {}
    first = RubricItem.objects.filter(rubric__in=rubrics, position=0).values_list("rubric_id", "tree")
    for rubric_id, tree in first:
        names[rubric_id] = list(criteria_in(tree))
    return [(rubric, names[rubric.pk]) for rubric in rubrics if rubric.pk in names]


def criteria_by_case(*, rubric: Rubric | None, name: str, case_keys: Sequence[str]) -> dict[str, Criterion]:
    """Return the criterion called `name` for each case: with the levels of the case's tree, else the benchmark's.

    A case whose trees know no such criterion has the bare name. One query.
    """
    by_case: dict[str, Criterion] = {}
    if rubric is not None:
        items = RubricItem.objects.filter(rubric=rubric, case_key__in=[*set(case_keys), ""])
        by_case = {item.case_key: criteria[name] for item in items if name in (criteria := criteria_in(item.tree))}
    fallback = by_case.get("", Criterion(name))
    return {key: by_case.get(key, fallback) for key in case_keys}
