"""What can be done with rubrics: each version is stored as it was imported, and leaves as a file to edit."""

from __future__ import annotations

import json

from django import forms
from django.db.models import QuerySet
from django.utils.text import slugify

from evalsite.base.actions.declarations import ActionCall, Noun, columns
from evalsite.base.http import SentFile
from evalsite.base.tables import CONTENT_TYPES
from evalsite.base.types import Refused
from judging.actions.references import RUBRIC
from judging.models import Rubric
from judging.specs.types import RubricItemSpec, RubricSpec
from judging.stored_content import tree_from_json


class RubricNotTable(ValueError):
    """The rubric has no table form; the message says why."""


def spec_of(rubric: Rubric) -> RubricSpec:
    """Return a stored rubric as the importers read it."""
    items = rubric.items.order_by("position", "pk")
    return RubricSpec(
        name=rubric.name,
        shape=rubric.shape,
        scope=rubric.scope,
        items=tuple(
            RubricItemSpec(item.case_key, tree_from_json(item.tree), item.source, item.metadata) for item in items
        ),
        options=rubric.options,
        licence=rubric.licence,
        benchmark_aggregate=rubric.benchmark_aggregate,
    )


def rubric_workbook_bytes(rubric: Rubric) -> bytes:
    """Return the rubric as a workbook of its shape.

    Raises:
        RubricNotTable: its shape is no table, or a text would be changed by a cell.
    """
    from judging.specs.rubrics.rubric_workbooks import NotRepresentable, export_rubric_xlsx  # loads openpyxl

    try:
        return export_rubric_xlsx(spec_of(rubric))
    except NotRepresentable as reason:
        raise RubricNotTable(str(reason)) from reason


def rubric_json(rubric: Rubric) -> bytes:
    """Return the rubric as JSON that the importer of nested rubrics reads back."""
    items = rubric.items.order_by("position", "pk").values_list("case_key", "tree", "metadata")
    data = {
        "name": rubric.name,
        "shape": rubric.shape,
        "licence": rubric.licence,
        "options": rubric.options,
        "benchmark_aggregate": rubric.benchmark_aggregate,
        "items": [{"case_key": key, "root": tree, "metadata": metadata} for key, tree, metadata in items],
    }
    return json.dumps(data, ensure_ascii=False, indent=2).encode()


JSON = "application/json; charset=utf-8"


def _rows(_person: object) -> QuerySet[Rubric]:
    return Rubric.objects.select_related("benchmark")


RUBRICS: Noun[Rubric] = Noun(
    name="rubric",
    plural="rubrics",
    help="Write a rubric as a workbook or as JSON, list rubrics, or show one; `import` stores them.",
    reference=RUBRIC,
    rows=_rows,
    view_permission="judging.view_benchmark",
    shown=columns("id", "slug", "version", "name", "shape", "scope", "licence", "item_count", "benchmark"),
)


class RubricFileForm(forms.Form):
    """In which form a rubric is sent."""

    format = forms.ChoiceField(
        choices=[("", "xlsx, else json"), ("xlsx", "xlsx"), ("json", "json")],
        required=False,
        help_text="Default: a workbook, or JSON where no table can hold it",
    )


@RUBRICS.one(
    "export",
    permission="judging.view_benchmark",
    form=RubricFileForm,
    sends_file=(CONTENT_TYPES["xlsx"], "application/json"),
)
def export(act: ActionCall[Rubric, RubricFileForm]) -> SentFile:
    """Send a rubric as the workbook to edit and import again, or as JSON."""
    rubric, said = act.subject, act.data["format"]
    name = f"{slugify(rubric.name) or 'rubric'}-v{rubric.version}"
    try:
        if said != "json":
            return SentFile(f"{name}.xlsx", CONTENT_TYPES["xlsx"], [rubric_workbook_bytes(rubric)])
    except RubricNotTable as reason:
        if said:
            raise Refused(str(reason), field="format") from reason
    return SentFile(f"{name}.json", JSON, [rubric_json(rubric)])
