"""Turns the bounds of saved views, percent of a full score, into numbers of the scale of the grader that they are about."""

from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.db import migrations

from evalsite.base.formats import SHARE, ScoreScale
from evalsite.review.questions.scales import find_node
from judging.judges.registry import imported_grader
from judging.judges.registry import judge_kind
from judging.stored_content import tree_from_json
from judging.specs.types import NodeSpec

BOUNDS = ("least", "most")


def fill(apps: Any, schema_editor: Any) -> None:
    views = apps.get_model("reports", "SavedView").objects
    for view in views.filter(query__contains="least=") | views.filter(query__contains="most="):
        pairs = parse_qsl(view.query, keep_blank_values=True)
        scale = scale_of(apps, [value for name, value in pairs if name == "grader"], view.suite_id)
        if not scale.is_rating:
            continue
        numbers = [(name, typed(value, scale) if name in BOUNDS else value) for name, value in pairs]
        views.filter(pk=view.pk).update(query="&".join(sorted(urlencode([pair]) for pair in numbers)))


def scale_of(apps: Any, named: list[str], suite_id: int) -> ScoreScale:
    """Return the scale of the first grader that a view names; a page has always named one."""
    ids = [int(value) for value in named if value.isdecimal()]
    known = apps.get_model("judging", "RunEvaluator").objects.filter(run__suite=suite_id).in_bulk(ids)
    evaluator = next((known[pk] for pk in ids if pk in known), None)
    if evaluator is None or evaluator.options.get("baseline"):
        return SHARE
    grader = imported_grader(evaluator.options)
    if grader is not None:
        return grader.score_scale
    if "judge_kind" not in evaluator.options:
        return SHARE
    items = apps.get_model("judging", "RubricItem").objects.filter(rubric=evaluator.rubric_id, case_key="")
    item = items.filter(rubric__scope="benchmark").first() if evaluator.rubric_id else None
    tree = None if item is None else tree_from_json(item.tree)
    if tree is not None and evaluator.criterion:
        node = find_node(tree, evaluator.criterion)
        tree = None if node is None else NodeSpec("root", "group", aggregator={"type": "mean"}, children=(node,))
    return judge_kind(evaluator.options["judge_kind"]).score_scale(evaluator.options.get("judge_options") or {}, tree)


def typed(percent: str, scale: ScoreScale) -> str:
    """Return the number of a percentage; a text that is none stays as it is."""
    try:
        return scale.typed(float(percent) / 100)
    except ValueError:
        return percent


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0040_at_stake"),
        ("reports", "0006_saved_views"),
    ]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
