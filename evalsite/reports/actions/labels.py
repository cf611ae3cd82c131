"""What can be done with tables of labels that people gave elsewhere."""

from __future__ import annotations

from functools import partial

from evalsite.base.actions.declarations import CREATE, DELETE, ActionCall, InvalidInput, Listing, NoInput, Noun
from evalsite.base.command_base import facts_text
from evalsite.base.json_types import JsonDict
from evalsite.reports.forms.labels import LabelImportForm
from evalsite.review.actions.references import LABEL_TABLE
from evalsite.review.models import LabelTable
from evalsite.review.services.labels.label_tables import delete_labels, plan_labels, store_labels


def table_facts(table: LabelTable) -> JsonDict:
    """Return what a table is and how much it holds."""
    names = ("name", "source", "is_blind", "item_count", "label_count", "final_count")
    address = {"table": table.slug, "id": table.pk, "address": table.get_absolute_url()}
    return address | {name: getattr(table, name) for name in names}


LABELS: Noun[LabelTable] = Noun(
    name="labels",
    plural="label-tables",
    reference=LABEL_TABLE,
    rows=lambda _person: LabelTable.objects.all(),
    view_permission="reports.view_snapshot",
    shown=table_facts,
    detail=table_facts,
    listing=Listing(NoInput, rows=lambda _filters: LabelTable.objects.all(), shown=table_facts),
)
new = partial(LABELS.new, permission="review.add_queue", form=LabelImportForm)


@new(CREATE)
def create(act: ActionCall[None, LabelImportForm]) -> LabelTable:
    """Import labels: a table (item, rater, label), one column for each rater, or the export of an annotation tool.

    Labels of responses of this site become final labels. The same file a second time changes nothing.
    """
    upload = act.form.upload
    name = act.data["name"] or upload.file_name.rsplit(".", 1)[0]
    return store_labels(name=name, upload=upload, actor=act.actor, at=act.at)


@new("check", is_dry=True, shown=dict, lines=facts_text)
def check(act: ActionCall[None, LabelImportForm]) -> JsonDict:
    """Say what a file of labels would bring, without storing anything."""
    upload = act.form.upload
    parsed = plan_labels(upload)
    plan = parsed.value
    if plan is None or plan.is_refused:
        raise InvalidInput({"file": map(str, parsed.errors)})
    return {
        "items": len(plan.file.items),
        "labels": plan.file.n_labels,
        "raters": list(plan.file.raters),
        "scale": list(dict.fromkeys(label.value for sheet in plan.file.sheets for label in sheet.labels)),
        "columns": {use.name: use.role for use in parsed.columns},
        "known_before": plan.same is not None,
        **(plan.counts() if upload.evaluator is not None else {}),
        "warnings": [str(problem) for problem in parsed.warnings],
    }


@LABELS.one(
    DELETE,
    permission="review.add_queue",
    said=lambda table: f"“{table.name}” was deleted",
    leads_to="reports:agreement-list",
)
def delete(act: ActionCall[LabelTable, NoInput]) -> LabelTable:
    """Delete a table of imported labels, with its labels."""
    delete_labels(table=act.subject, actor=act.actor)
    return act.subject
