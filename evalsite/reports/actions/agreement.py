"""What is reported of the people of a queue or of a label table, and what can be done with such tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from operator import attrgetter
from typing import Any

from django import forms
from django.utils import timezone

from evalsite.accounts.audit import record
from evalsite.base.actions.declarations import CREATE, DELETE, ActionCall, InvalidInput, NoInput, Noun, columns
from evalsite.base.actions.reports import FigureColumn, Report, ReportColumn, ReportTable, coefficient, plain_columns
from evalsite.base.formats import COEFFICIENT, SHARE
from evalsite.base.http import SentFile
from evalsite.base.tables import ZIP, facts_text, has_columnar_files, table_bytes, write_markdown, write_zip
from evalsite.base.types import JsonDict, JsonObject
from evalsite.reports import jobs
from evalsite.reports.forms import AgreementForm, ItemGroupForm, OneQueueForm, PaceForm
from evalsite.reports.forms.golden import LabelImportForm
from evalsite.reports.selectors.annotations import (
    AdjudicationErrors,
    ErrorCount,
    PersonDay,
    PersonErrors,
    Pull,
    SilentItem,
    errors_of_queue,
)
from evalsite.reports.services.annotators import (
    BurnDownDay,
    EstimatedPerson,
    GoldPerson,
    QueuePace,
    TeamDay,
    pace_of_queue,
)
from evalsite.reports.services.label_tables import KnownShare, MetricCorrelation, SystemMean, VotedSystem
from evalsite.reports.services.people import (
    AGREEMENT,
    LABEL_AGREEMENT,
    QUEUE_WORK,
    AgreementFigure,
    DisputedItem,
    GroupFigures,
    PeopleAgreement,
    PeoplePair,
    RaterFigures,
)
from evalsite.reports.services.snapshots import result_to_json
from evalsite.review.actions.queues import QUEUES
from evalsite.review.actions.references import LABEL_TABLE, QUEUE, TEAM
from evalsite.review.models import LabelTable, Queue, Team
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.selectors.annotation_exports import annotations_table, scale_in_words
from evalsite.review.services.label_tables import delete_labels, plan_labels, store_labels


def _basis(report: PeopleAgreement) -> str:
    return f"Annotations of {report.queue.name}."


FIGURES: ReportTable[PeopleAgreement, AgreementFigure] = ReportTable(
    "figures",
    "Agreement between people",
    columns=(
        *plain_columns("key", "name", in_papers=False),
        ReportColumn("figure", lambda row: row.name, in_data=False),
        FigureColumn(
            "value",
            lambda row: row,
            ends={end: end for end in ("value", "low", "high", "n", "reason")},
            scale=lambda row: SHARE if row.key == "percent" else COEFFICIENT,
        ),
        ReportColumn("words", lambda row: row.words, in_papers=False),
        ReportColumn("reason", lambda row: row.reason or None, in_data=False),
    ),
    rows=lambda report: report.figures,
    basis=_basis,
)
PAIRS: ReportTable[PeopleAgreement, PeoplePair] = ReportTable(
    "pairs",
    "Agreement by pair of people",
    columns=(
        *plain_columns("first", "second"),
        FigureColumn("percent", lambda pair: pair.percent, ends={"n": "items", "value": "percent"}),
        FigureColumn(
            "kappa",
            lambda pair: pair.kappa,
            ends={"value": "kappa", "low": "kappa_low", "high": "kappa_high", "reason": "reason"},
            scale=coefficient,
        ),
    ),
    rows=lambda report: report.pairs,
    basis=_basis,
)
RATERS: ReportTable[PeopleAgreement, RaterFigures] = ReportTable(
    "raters",
    "Each annotator against the others",
    columns=(
        *plain_columns("name", "answers"),
        FigureColumn(
            "agrees_with_the_rest",
            lambda rater: rater.rest,
            ends={"value": "agrees_with_the_rest", "low": "low", "high": "high", "n": "items"},
        ),
    ),
    rows=lambda report: report.raters,
    basis=_basis,
)


def _groups(report: PeopleAgreement) -> Iterator[tuple[str, GroupFigures]]:
    dimensions = {
        "sample": report.arms,
        "criterion": report.criteria,
        "scenario": report.scenarios,
        "language": report.languages,
    }
    for dimension, groups in dimensions.items():
        yield from ((dimension, group) for group in groups)


GROUPS: ReportTable[PeopleAgreement, tuple[str, GroupFigures]] = ReportTable(
    "groups",
    "Agreement by group",
    columns=(
        ReportColumn("dimension", lambda line: line[0]),
        ReportColumn("name", lambda line: line[1].name),
        ReportColumn("items", lambda line: line[1].items),
        ReportColumn("pairable", lambda line: line[1].pairable),
        FigureColumn("percent", lambda line: line[1].percent, ends={"value": "percent"}),
        FigureColumn("fleiss", lambda line: line[1].fleiss, ends={"value": "fleiss"}, scale=coefficient),
        ReportColumn("coefficient", lambda line: line[1].metric),
        FigureColumn(
            "alpha",
            lambda line: line[1].alpha,
            ends={"value": "alpha", "low": "alpha_low", "high": "alpha_high"},
            scale=coefficient,
        ),
        FigureColumn("ac1", lambda line: line[1].ac1, ends={"value": "ac1"}, scale=coefficient),
        ReportColumn("warning", lambda line: line[1].warning, in_papers=False),
    ),
    rows=_groups,
    basis=_basis,
)
ITEMS: ReportTable[PeopleAgreement, DisputedItem] = ReportTable(
    "items",
    "Most disputed items",
    columns=(
        *plain_columns("id", "disagreement", "criterion", "scenario"),
        ReportColumn("given", lambda item: ", ".join(f"{label.text}: {label.n}" for label in item.given)),
    ),
    rows=lambda report: report.items,
    basis=_basis,
)

GOLD: ReportTable[PeopleAgreement, GoldPerson] = ReportTable(
    "gold",
    "Gold items by annotator",
    columns=(
        *plain_columns("name", "right", "answered"),
        FigureColumn("share", lambda person: person.share, ends={"value": "share", "low": "low", "high": "high"}),
        ReportColumn("state", lambda person: person.state),
    ),
    rows=lambda report: report.gold.people if report.gold is not None else (),
    basis=_basis,
)
ESTIMATED: ReportTable[PeopleAgreement, EstimatedPerson] = ReportTable(
    "estimated",
    "How often annotators are right by Dawid and Skene's estimate",
    columns=(
        *plain_columns("name", "answers"),
        FigureColumn("right", lambda person: person.right, ends={"value": "right", "low": "low", "high": "high"}),
    ),
    rows=lambda report: report.estimated.people if report.estimated is not None else (),
    basis=_basis,
)

SYSTEMS: ReportTable[PeopleAgreement, VotedSystem] = ReportTable(
    "systems",
    "Bradley-Terry ranking by people's preferences; the rating is on Elo's scale, 1000 on average",
    columns=(
        *plain_columns("first as rank_first", "last as rank_last", "name as system"),
        ReportColumn("rating", lambda row: round(row.rating, 1)),
        FigureColumn("strength", lambda row: row.strength, scale=coefficient),
        FigureColumn("win_rate", lambda row: row.win_rate),
        ReportColumn("votes", lambda row: row.votes),
    ),
    rows=lambda report: report.voted.systems if report.voted is not None else (),
    basis=_basis,
)
KNOWN: ReportTable[PeopleAgreement, KnownShare] = ReportTable(
    "known",
    "How often raters, their majority and Dawid and Skene's estimate say the known answer",
    columns=(
        ReportColumn("name", lambda row: row.name),
        FigureColumn(
            "right", lambda row: row.right, ends={"value": "right", "low": "low", "high": "high", "n": "items"}
        ),
    ),
    rows=lambda report: report.known,
    basis=_basis,
)
MEANS: ReportTable[PeopleAgreement, SystemMean] = ReportTable(
    "means",
    "Means of people's numbers by system",
    columns=(
        *plain_columns("system"),
        FigureColumn("mean", lambda row: row.mean, scale=coefficient),
        *plain_columns("responses", "labels"),
    ),
    rows=lambda report: report.numbers.systems if report.numbers is not None else (),
    basis=_basis,
)
METRICS: ReportTable[PeopleAgreement, MetricCorrelation] = ReportTable(
    "metrics",
    "Correlation of metrics and judges with the mean of people's numbers: over responses, within cases, of systems",
    columns=plain_columns("metric", "level", "n", "pearson", "spearman", "kendall"),
    rows=lambda report: report.numbers.metrics if report.numbers is not None else (),
    basis=_basis,
)
PULL: ReportTable[PeopleAgreement, Pull] = ReportTable(
    "pull",
    "How far a model's answers pull annotators",
    columns=(
        *plain_columns("source as answered_by", "key as question"),
        ReportColumn("text", lambda row: row.text, in_papers=False),
        FigureColumn("filled_in", lambda row: row.prefilled),
        FigureColumn("blind", lambda row: row.blind),
        FigureColumn("pull", lambda row: row.pull),
    ),
    rows=lambda report: report.pulls,
    basis=_basis,
)


def of_team(report: PeopleAgreement, team: Team | None) -> PeopleAgreement:
    """Return a report whose tables by person show the people of a team; its other figures are those of everybody."""
    if team is None:
        return report
    names = set(team.members.values_list("username", flat=True))
    gold, estimated = report.gold, report.estimated
    return replace(
        report,
        gold=gold and replace(gold, people=_among(gold.people, names)),
        estimated=estimated and replace(estimated, people=_among(estimated.people, names)),
        raters=_among(report.raters, names),
        paces=_among(report.paces, names),
        steadiness=_among(report.steadiness, names),
        retests=_among(report.retests, names),
    )


def _among(rows: list[Any], names: set[str]) -> list[Any]:
    return [row for row in rows if row.name in names]


def _read(form: AgreementForm, waits: bool) -> PeopleAgreement:
    queue, table = form.cleaned_data["queue"], form.cleaned_data["labels"]
    kind, subject_id = (LABEL_AGREEMENT, table.pk) if queue is None else (AGREEMENT, queue.pk)
    report = jobs.content_of(kind, subject_id=subject_id, options=form.options, at=timezone.now(), waits=waits)
    return of_team(report, form.chosen_team)


REPORT = Report(
    "agreement",
    "How far the people of a queue, or the raters of a table of imported labels, agree, and which systems they prefer.",
    permission="review.adjudicate",  # it names annotators
    form_class=AgreementForm,
    read=_read,
    facts=partial(result_to_json, PeopleAgreement),
    tables=(FIGURES, PAIRS, RATERS, GROUPS, ITEMS, GOLD, ESTIMATED, KNOWN, SYSTEMS, MEANS, METRICS, PULL),
    references={Queue: QUEUE, LabelTable: LABEL_TABLE, Team: TEAM},
)


def _adjudicated(errors: AdjudicationErrors) -> str:
    return f"Adjudications of {errors.queue}."


ERROR_KINDS: ReportTable[AdjudicationErrors, ErrorCount] = ReportTable(
    "kinds",
    "Why annotators disagreed",
    columns=(
        ReportColumn("kind", lambda row: row.kind, in_papers=False),
        *plain_columns("words", "items", "share"),
    ),
    rows=lambda errors: errors.kinds,
    basis=_adjudicated,
)
CHANGED_LABELS: ReportTable[AdjudicationErrors, PersonErrors] = ReportTable(
    "people",
    "Labels that adjudicators changed, by annotator",
    columns=plain_columns("person", "labels", "changed", "kinds"),
    rows=lambda errors: errors.people,
    basis=_adjudicated,
)
SILENT_ITEMS: ReportTable[AdjudicationErrors, SilentItem] = ReportTable(
    "silent",
    "Items of which the guidelines say nothing",
    columns=plain_columns("id", "question", "label", "reason"),
    rows=lambda errors: errors.silent,
    basis=_adjudicated,
)
ADJUDICATIONS = Report(
    "adjudications",
    "Why the annotators of a queue disagreed, as its adjudicators ticked it, and where the guidelines say nothing.",
    permission="review.adjudicate",  # it names annotators
    form_class=OneQueueForm,
    read=lambda form, _waits: errors_of_queue(form.cleaned_data["queue"]),
    facts=asdict,
    tables=(ERROR_KINDS, CHANGED_LABELS, SILENT_ITEMS),
    references={Queue: QUEUE},
)


DAY: ReportColumn[PersonDay] = ReportColumn("day", lambda row: row.day.isoformat(), "Day")
WORK: tuple[ReportColumn[PersonDay], ...] = (
    ReportColumn("items", lambda row: row.items, "Items", "number"),
    ReportColumn("cannot_judge", lambda row: row.cannot_judge, "Cannot judge", "number"),
    ReportColumn("hours", lambda row: round(row.hours, 3), "Hours", "decimal"),
    ReportColumn("seconds_per_item", lambda row: round(row.seconds_per_item, 1), "Seconds per item", "decimal"),
)


def _paced(pace: QueuePace) -> str:
    return f"Annotations of {pace.queue}."


PEOPLE_BY_DAY: ReportTable[QueuePace, PersonDay] = ReportTable(
    "people",
    "Items and hours by day and person",
    columns=(DAY, ReportColumn("person", lambda row: row.name, "Person"), *WORK),
    rows=lambda pace: pace.people,
    basis=_paced,
)
TEAMS_BY_DAY: ReportTable[QueuePace, TeamDay] = ReportTable(
    "teams",
    "Items and hours by day and team",
    columns=(
        DAY,
        ReportColumn("team", lambda row: row.name, "Team"),
        ReportColumn("people", lambda row: row.people, "People", "number"),
        *WORK,
    ),
    rows=lambda pace: pace.teams,
    basis=_paced,
)
BURN_DOWN: ReportTable[QueuePace, BurnDownDay] = ReportTable(
    "burn-down",
    "Annotations left by day",
    columns=(
        ReportColumn("day", lambda row: row.day.isoformat(), "Day"),
        ReportColumn("annotations", lambda row: row.annotations, "Annotations", "number"),
        ReportColumn("left", lambda row: row.left, "Left", "number"),
    ),
    rows=lambda pace: pace.burn_down,
    basis=_paced,
)


_pace_facts = columns(
    *("queue", "left", "stuck", "per_day"),
    finishes_on=lambda pace: None if pace.finishes_on is None else pace.finishes_on.isoformat(),
    hours=attrgetter("hours"),
    people=lambda pace: list(PEOPLE_BY_DAY.data(pace).rows),
    teams=lambda pace: list(TEAMS_BY_DAY.data(pace).rows),
    burn_down=lambda pace: list(BURN_DOWN.data(pace).rows),
)


def _read_pace(form: PaceForm, waits: bool) -> QueuePace:
    queue, at = form.cleaned_data["queue"], timezone.now()
    work = jobs.content_of(QUEUE_WORK, subject_id=queue.pk, options={}, at=at, waits=waits)
    return pace_of_queue(queue, work, team=form.chosen_team, at=at)


PACE = Report(
    "pace",
    "How many items and hours people and teams give each day, what is left, and when a queue is finished at that pace.",
    permission="review.adjudicate",  # it names annotators
    form_class=PaceForm,
    read=_read_pace,
    facts=_pace_facts,
    tables=(PEOPLE_BY_DAY, TEAMS_BY_DAY, BURN_DOWN),
    references={Queue: QUEUE, Team: TEAM},
)


SPLITS = ("train", "validation", "test")
LICENCES = (  # as Hugging Face names them
    *("unknown", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "odc-by", "apache-2.0", "mit", "other"),
)
PEOPLE = ("annotator", "adjudicator", "only_for", "adjudication_adopted")  # columns of names
SELECT = forms.Select({"class": "form-select form-select-sm w-auto"})
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**9, "100K<n<1M"))


class DataSetForm(forms.Form):
    """How a data set is described."""

    licence = forms.ChoiceField(
        label="Licence", choices=[(name, name) for name in LICENCES], initial=LICENCES[0], widget=SELECT
    )
    split = forms.ChoiceField(
        label="Split", choices=[(name, name) for name in SPLITS], initial=SPLITS[-1], widget=SELECT
    )
    names = forms.BooleanField(required=False, label="Names of people", help_text="Otherwise people have numbers.")


def _card(queue: Queue, agreement: PeopleAgreement, path: str, said: JsonObject) -> str:
    """Return the card: what Hugging Face reads of a data set, and what people do; `said` is what the form holds."""
    summary, scale = agreement.summary, scale_in_words(labels_from_json(queue.labels))
    size = next(name for most, name in SIZES if summary.answers < most)
    figures = b"".join(write_markdown(FIGURES.paper(agreement))).decode()
    return CARD.format(
        licence=said["licence"],
        name=json.dumps(queue.name, ensure_ascii=False),
        size=size,
        split=said["split"],
        path=path,
        title=" ".join(queue.name.split()),
        scale=scale or "several questions, a column for each",
        annotators=summary.raters,
        annotations=f"{summary.answers:,}",
        items=f"{summary.items:,}",
        pairable=f"{summary.pairable:,}",
        people="are named as on this site" if said["names"] else "have numbers in place of their names",
        figures=figures,
    )


@QUEUES.one("export-data-set", permission="review.adjudicate", form=DataSetForm, sends_file=[ZIP])
def export_data_set(act: ActionCall[Queue, DataSetForm]) -> SentFile:
    """Send the annotations of a queue as a data set that load_dataset of Hugging Face reads, in a ZIP archive.

    It is a Parquet file (JSON Lines where pyarrow is not installed) and a card that tells of the agreement.
    """
    queue, options = act.subject, ItemGroupForm({}).options
    agreement = jobs.require(AGREEMENT, subject_id=queue.pk, options=options, at=act.at)
    record(act.actor, "annotations.exported", queue, format="data set", names=act.data["names"])
    table = annotations_table(queue)
    if not act.data["names"]:
        table = replace(table, rows=_numbered(table.rows))
    format_name = "parquet" if has_columnar_files() else "jsonl.gz"
    path = f"data/{act.data['split']}.{format_name}"
    card = _card(queue, agreement, path, act.data).encode()
    files = [("README.md", [card]), (path, table_bytes(table, format_name))]
    return SentFile(f"{queue.slug}-data-set.zip", ZIP, write_zip(files))


def _numbered(rows: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Yield rows with numbers in place of people's names, in the order in which they come."""
    numbers: dict[str, str] = {}
    for row in rows:
        people = (column for column in PEOPLE if row[column])
        yield {**row, **{name: numbers.setdefault(row[name], f"person-{len(numbers) + 1}") for name in people}}


CARD = """---
license: {licence}
pretty_name: {name}
size_categories:
- {size}
configs:
- config_name: default
  data_files:
  - split: {split}
    path: {path}
---

# {title}

Annotations by people: a row for each annotation, with what it is about and what was decided.

- Scale: {scale}
- Annotators: {annotators}
- Annotations: {annotations}, of {items} items, {pairable} of them by two or more people
- Licence: {licence}
- Split: {split}

`blind_label` is what a person said before anything else was shown, `revised_label` what they changed it to,
`final_label` or `adjudicated_label` what was decided; labels of pairs are 1 (A is better), 0 and -1.
People {people}.
The file can be imported into Evalsite again.

## Agreement

{figures}"""


LABELS: Noun[LabelTable] = Noun(
    name="labels",
    plural="label-tables",
    help="Import tables of labels that people gave elsewhere, check or delete them, list them, or show one.",
    reference=LABEL_TABLE,
    rows=lambda _person: LabelTable.objects.all(),
    view_permission="reports.view_snapshot",
    shown=columns(
        *("slug as table", "id", "get_absolute_url as address", "name", "source", "is_blind"),
        *("item_count", "label_count", "final_count"),
    ),
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
        "columns": parsed.roles,
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
