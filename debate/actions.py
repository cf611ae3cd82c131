"""What can be done in this app, declared once for pages, commands and the API; see `evalsite.base.actions`.

Functions here call one service with what their form holds. What a thing is and does belongs in the layers below.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.db.models import QuerySet
from django.utils.text import slugify

from debate.forms import DebateArchiveForm, DebateSetForm, DebateTableForm, DeleteLabelsForm, LabelsForm, RecordsForm
from debate.jobs import launch_debates, launch_record_check
from debate.models import DebateSet, Experiment
from debate.selectors import label_sources, outcomes_of, sets_of_experiment
from debate.services.set_plans import create_debate_set, create_robustness, create_round_robin, estimate_all
from debate.services.set_tables import (
    TABLE_FORMATS,
    StoredLabels,
    debate_table,
    delete_labels,
    import_labels,
    replication_archive,
)
from evalsite.accounts.audit import record
from evalsite.base.actions.declarations import ActionCall, InvalidInput, Noun, PageData, Reference, columns
from evalsite.base.http import SentFile, table_file
from evalsite.base.rows import NotAllowed
from evalsite.base.tables import CONTENT_TYPES, ZIP, facts_text
from evalsite.base.types import ByName, JsonDict, JsonObject, Refused
from judging.actions.progress import wait_for_run
from judging.actions.references import SUITE, SYSTEM
from judging.actions.run_reports import audit_report, dollars, run_facts
from judging.actions.uploads import UPLOADS
from judging.models import Suite, System, Upload
from judging.services.judges import ensure_baselines
from judging.services.runs.people_costs import check_agreed
from judging.specs.people_choices import HOW_TO_AGREE
from judging.specs.records.file_records import ParsedFile

DEBATE_SET = Reference("set of debates", rows=DebateSet.objects.all)
EXPERIMENT = Reference("experiment", rows=Experiment.objects.all)


set_facts = columns(
    *("pk as set", "get_absolute_url as address", "run_id as run", "experiment_id as experiment"),
    *("name", "source", "criterion", "method", "system_a.name as system_a", "system_b.name as system_b"),
)


OUTCOMES = ("agreed", "unresolved", "failed", "open", "cancelled", "a_better", "b_better", "neither")


def _detail(debate_set: DebateSet) -> JsonDict:
    of_experiment = sets_of_experiment(debate_set.experiment) if debate_set.experiment is not None else []
    outcomes = outcomes_of([debate_set.pk, *(each.pk for each in of_experiment)])
    counts = {pk: {name: getattr(counted, name) for name in OUTCOMES} for pk, counted in outcomes.items()}
    files = ByName((source.file, source.labels) for source in label_sources(debate_set))
    return {
        **(run_facts(debate_set.run) if debate_set.run is not None else {}),
        **set_facts(debate_set),
        "outcomes": counts[debate_set.pk],
        "labels": files,
        "sets": [{"set": each.pk, "name": each.name, "outcomes": counts[each.pk]} for each in of_experiment],
    }


def _rows(_person: object) -> QuerySet[DebateSet]:
    return DebateSet.objects.select_related("system_a", "system_b", "experiment", "run__suite__benchmark")


def _wait_for_sets(started: DebateSet, bar: bool) -> None:
    """Wait for a set, and for the others of its experiment."""
    for each in [started] if started.experiment is None else sets_of_experiment(started.experiment):
        if each.run_id is not None:
            wait_for_run(each.run_id, bar=bar)


DEBATE_SETS: Noun[DebateSet] = Noun(
    name="debate_set",
    plural="debate-sets",
    help="Start debates, import or delete labels of debates, list sets, or show one.",
    reference=DEBATE_SET,
    rows=_rows,
    view_permission="debate.view_debateset",
    shown=set_facts,
    detail=_detail,
    references={DebateSet: DEBATE_SET, Suite: SUITE, System: SYSTEM},
    prepares=ensure_baselines,
    waits=_wait_for_sets,
)


def _new_form(_subject: None, first: JsonObject, data: PageData | None) -> DebateSetForm:
    return DebateSetForm(data, initial={"suite": first["suite"].pk})


new = partial(
    DEBATE_SETS.new,
    permission="debate.add_debateset",
    form=DebateSetForm,
    makes_form=_new_form,
    first_fields={
        "suite": forms.ModelChoiceField(
            Suite.objects.all(), help_text="Number, slug of its benchmark (the newest), or slug@version"
        )
    },
)


def _started_lines(facts: JsonDict) -> str:
    """Return the run and a line for each set once they have ended, as `--wait` shows them; before, what was started."""
    if "outcomes" not in facts:
        return facts_text(facts)
    sets = [facts, *(each for each in facts["sets"] if each["set"] != facts["set"])]
    rows = []
    for each in sets:
        counts = ", ".join(f"{n} {outcome}" for outcome, n in each["outcomes"].items() if n)
        rows.append(f"{each['name']}: {counts or 'no debate has ended'}.")
    return "\n".join([f"Run {facts['run']}, {facts['status']}.", *rows])


@new("create", is_long=True, lines=_started_lines)
def create(act: ActionCall[None, DebateSetForm]) -> DebateSet:
    """Start debates about the responses of two systems, of all pairs of several, or under a perturbed criterion.

    What becomes several sets is an experiment; the first of its sets is returned.
    """
    wish, data = act.form.wish(), act.data
    check_agreed(act.form.people_cost(), data["agreed"], how=HOW_TO_AGREE)
    if data["plan"] == "pair":
        sets = [create_debate_set(wish=wish, actor=act.actor, at=act.at)]
    elif data["plan"] == "round-robin":
        systems = list(data["systems"])
        sets = sets_of_experiment(create_round_robin(wish=wish, systems=systems, actor=act.actor, at=act.at))
    else:
        seed, given = data["variant_seed"] or 0, data["use_given"]
        experiment = create_robustness(wish=wish, seed=seed, use_given=given, actor=act.actor, at=act.at)
        sets = sets_of_experiment(experiment)
    launch_debates(sets)
    return sets[0]


@new("estimate", is_dry=True, shown=dict)
def estimate(act: ActionCall[None, DebateSetForm]) -> JsonDict:
    """Say what debates would ask of models and people and what they would cost, without starting them."""
    found = estimate_all(act.form.wishes(), threads=settings.CALL_THREADS, at=act.at)
    return {
        "debates": found.debates,
        "calls_at_least": found.calls_least,
        "calls_at_most": found.calls_most,
        "calls_already_made": found.made,
        "cost_at_least": dollars(found.cost_least),
        "cost_at_most": dollars(found.cost_most),
        "unpriced": list(found.unpriced),
        "seconds_at_least": found.seconds_least,
        "seconds_at_most": found.seconds_most,
        **audit_report(act.form.people_cost()),
    }


@DEBATE_SETS.new("import", permission="debate.add_debateset", form=RecordsForm, makes=UPLOADS)
def take_records(act: ActionCall[None, RecordsForm]) -> Upload:
    """Upload a folder of recorded debates and check it; nothing of it is stored before the upload is confirmed.

    One ZIP file with results/, responses/ and criteria/, as ScaleEval has them.
    """
    file = act.data["file"]
    return launch_record_check(file_name=file.name, data=file.read(), actor=act.actor, at=act.at)


class LabelsNotPlaced(InvalidInput):
    """A file of labels of which nothing was stored; `parsed` says what is wrong, and how its columns were read."""

    def __init__(self, parsed: ParsedFile[StoredLabels]) -> None:
        super().__init__({"file": map(str, parsed.problems)})
        self.parsed = parsed


def _stored_facts(labels: ParsedFile[StoredLabels]) -> JsonDict:
    assert labels.value is not None, "files that cannot be placed are refused"
    problems = [asdict(problem) for problem in labels.problems]
    return asdict(labels.value) | {"columns": labels.roles, "problems": problems}


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


def _sent(act: ActionCall[None, Any], *, table: str, format_name: str) -> tuple[list[DebateSet], str]:
    """Return the sets that are sent, and what their file is called."""
    sets = list(act.data["sets"])
    for debate_set in sets:
        record(act.actor, "report.exported", debate_set, table=table, format=format_name)
    return sets, sets[0].name if len(sets) == 1 else "sets of debates"


NAMES_RATERS = "debate.add_debateset"  # who sees which person gave a label


@DEBATE_SETS.new(
    "export",
    permission="debate.view_debateset",
    form=DebateTableForm,
    sends_file=[CONTENT_TYPES[name] for name in TABLE_FORMATS],
)
def export(act: ActionCall[None, DebateTableForm]) -> SentFile:
    """Send one table about sets of debates: debates, votes, statements, orders, costs, calls, pairs or labels."""
    table, format_name = act.data["table"], act.data["format"]
    if table == "labels" and act.actor is not None and not act.actor.has_perm(NAMES_RATERS):
        raise NotAllowed("Labels name raters. Ask a researcher for them.", field="table")
    sets, name = _sent(act, table=table, format_name=format_name)
    return table_file(debate_table(table, sets), format_name, name=f"{name} {table}")


@DEBATE_SETS.new("archive", permission=NAMES_RATERS, form=DebateArchiveForm, sends_file=[ZIP])
def archive(act: ActionCall[None, DebateArchiveForm]) -> SentFile:
    """Send all tables about sets of debates, with everything that a replication needs, as a ZIP archive."""
    sets, name = _sent(act, table="all", format_name="zip")
    return SentFile(f"{slugify(name) or 'debates'}.zip", ZIP, replication_archive(sets))
