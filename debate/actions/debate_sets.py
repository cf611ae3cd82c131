"""What can be done with sets of debates, and with what people said of them elsewhere."""

from __future__ import annotations

from dataclasses import asdict

from django.db.models import QuerySet

from debate.actions.references import DEBATE_SET
from debate.forms import DeleteLabelsForm, LabelsForm
from debate.models import DebateSet
from debate.selectors import label_sources, outcomes_of
from debate.services.labels import StoredLabels, delete_labels, import_labels
from evalsite.base.actions.declarations import ActionCall, InvalidInput, Listing, NoInput, Noun
from evalsite.base.json_types import JsonDict
from evalsite.base.refusals import Refused
from judging.specs.records.file_records import ParsedFile


def set_facts(debate_set: DebateSet) -> JsonDict:
    """Return what a set of debates is about."""
    names = ("name", "source", "criterion", "method")
    facts = {name: getattr(debate_set, name) for name in names}
    systems = {"system_a": debate_set.system_a.name, "system_b": debate_set.system_b.name}
    return {
        "set": debate_set.pk,
        "address": debate_set.get_absolute_url(),
        "run": debate_set.run_id,
        **facts,
        **systems,
    }


def _detail(debate_set: DebateSet) -> JsonDict:
    outcomes = outcomes_of([debate_set.pk])[debate_set.pk]
    counts = {name: getattr(outcomes, name) for name in ("agreed", "unresolved", "failed", "open", "cancelled")}
    files = {source.file: source.labels for source in label_sources(debate_set)}
    return set_facts(debate_set) | {"outcomes": counts, "labels": files}


def _rows(_person: object) -> QuerySet[DebateSet]:
    return DebateSet.objects.select_related("system_a", "system_b")


DEBATE_SETS: Noun[DebateSet] = Noun(
    name="debate_set",
    plural="debate-sets",
    reference=DEBATE_SET,
    rows=_rows,
    view_permission="debate.view_debateset",
    shown=set_facts,
    detail=_detail,
    listing=Listing(NoInput, rows=_rows, shown=set_facts),
    references={DebateSet: DEBATE_SET},
)


class LabelsNotPlaced(InvalidInput):
    """A file of labels of which nothing was stored; `parsed` says what is wrong, and how its columns were read."""

    def __init__(self, parsed: ParsedFile[StoredLabels]) -> None:
        super().__init__({"file": map(str, parsed.problems)})
        self.parsed = parsed


def _stored_facts(labels: ParsedFile[StoredLabels]) -> JsonDict:
    assert labels.value is not None, "files that cannot be placed are refused"
    problems = [asdict(problem) for problem in labels.problems]
    return asdict(labels.value) | {"columns": {use.name: use.role for use in labels.columns}, "problems": problems}


@DEBATE_SETS.new(
    "import-labels", permission="debate.add_debateset", form=LabelsForm, calls_models=True, shown=_stored_facts
)
def take_labels(act: ActionCall[None, LabelsForm]) -> ParsedFile[StoredLabels]:
    """Import what people said of debates: a table (item, rater, label), or the export of an annotation tool.

    The same file a second time changes nothing; a new label of the same rater replaces the one before.
    """
    sets = list(act.data["sets"] or DebateSet.objects.all())
    if not sets:
        raise Refused("There are no debates to label.")
    labels = import_labels(upload=act.form.upload, sets=sets, actor=act.actor, at=act.at)
    if labels.value is None:
        raise LabelsNotPlaced(labels)
    return labels


def _deleted_words(facts: JsonDict) -> str:
    return f"{facts['labels']:,} {'label' if facts['labels'] == 1 else 'labels'} of “{facts['file']}” deleted"


@DEBATE_SETS.one(
    "delete-labels",
    permission="debate.add_debateset",
    form=DeleteLabelsForm,
    calls_models=True,
    shown=dict,
    said=_deleted_words,
)
def remove_labels(act: ActionCall[DebateSet, DeleteLabelsForm]) -> JsonDict:
    """Delete the labels of a set of debates that came with one file, and the final labels that follow from them."""
    debate_set, file = act.subject, act.data["file"]
    deleted = delete_labels(debate_set=debate_set, file=file, actor=act.actor)
    if not deleted:
        files = ", ".join(source.file for source in label_sources(debate_set)) or "none"
        raise Refused(f"The set has no labels of a file {file!r}. There are: {files}.", field="file")
    return {"set": debate_set.pk, "file": file, "labels": deleted}
