"""The report on the agreement between people."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils import timezone

from evalsite.base.actions.reports import FigureColumn, Report, ReportColumn, ReportTable, coefficient
from evalsite.base.json_types import JsonDict
from evalsite.base.score_scales import COEFFICIENT, SHARE
from evalsite.reports import jobs
from evalsite.reports.forms import AgreementForm
from evalsite.reports.selectors.prefill_pull import Pull
from evalsite.reports.services.estimated_labels import EstimatedPerson
from evalsite.reports.services.gold_people import GoldPerson
from evalsite.reports.services.people import (
    AGREEMENT,
    LABEL_AGREEMENT,
    AgreementFigure,
    DisputedItem,
    GroupFigures,
    PeopleAgreement,
    PeoplePair,
    RaterFigures,
)
from evalsite.reports.services.report_content import result_to_json
from evalsite.review.actions.references import LABEL_TABLE, QUEUE
from evalsite.review.models import LabelTable, Queue


def _basis(report: PeopleAgreement) -> str:
    return f"Annotations of {report.queue.name}."


FIGURES: ReportTable[PeopleAgreement, AgreementFigure] = ReportTable(
    "figures",
    "Agreement between people",
    columns=(
        ReportColumn("key", lambda row: row.key, in_papers=False),
        ReportColumn("name", lambda row: row.name, in_papers=False),
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
        ReportColumn("first", lambda pair: pair.first),
        ReportColumn("second", lambda pair: pair.second),
        FigureColumn("percent", lambda pair: pair.percent, ends={"n": "items", "value": "percent"}),
        FigureColumn(
            "kappa",
            lambda pair: pair.kappa,
            ends={"value": "kappa", "low": "kappa_low", "high": "kappa_high", "reason": "reason"},
            scale=coefficient,
        ),
    ),
    rows=lambda report: report.pairs,
    keys=2,
    basis=_basis,
)
RATERS: ReportTable[PeopleAgreement, RaterFigures] = ReportTable(
    "raters",
    "Each annotator against the others",
    columns=(
        ReportColumn("name", lambda rater: rater.name),
        ReportColumn("answers", lambda rater: rater.answers),
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
    keys=2,
    basis=_basis,
)
ITEMS: ReportTable[PeopleAgreement, DisputedItem] = ReportTable(
    "items",
    "Most disputed items",
    columns=(
        ReportColumn("id", lambda item: item.id),
        ReportColumn("disagreement", lambda item: item.disagreement),
        ReportColumn("criterion", lambda item: item.criterion),
        ReportColumn("scenario", lambda item: item.scenario),
        ReportColumn("given", lambda item: ", ".join(f"{label.text}: {label.n}" for label in item.given)),
    ),
    rows=lambda report: report.items,
    basis=_basis,
)

GOLD: ReportTable[PeopleAgreement, GoldPerson] = ReportTable(
    "gold",
    "Gold items by annotator",
    columns=(
        ReportColumn("name", lambda person: person.name),
        ReportColumn("right", lambda person: person.right),
        ReportColumn("answered", lambda person: person.answered),
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
        ReportColumn("name", lambda person: person.name),
        ReportColumn("answers", lambda person: person.answers),
        FigureColumn("right", lambda person: person.right, ends={"value": "right", "low": "low", "high": "high"}),
    ),
    rows=lambda report: report.estimated.people if report.estimated is not None else (),
    basis=_basis,
)

PULL: ReportTable[PeopleAgreement, Pull] = ReportTable(
    "pull",
    "How far a model's answers pull annotators",
    columns=(
        ReportColumn("answered_by", lambda row: row.source),
        ReportColumn("question", lambda row: row.key),
        ReportColumn("text", lambda row: row.text, in_papers=False),
        FigureColumn("filled_in", lambda row: row.prefilled),
        FigureColumn("blind", lambda row: row.blind),
        FigureColumn("pull", lambda row: row.pull),
    ),
    rows=lambda report: report.pulls,
    keys=2,
    basis=_basis,
)


def _read(form: AgreementForm, waits: bool) -> PeopleAgreement:
    queue, table = form.cleaned_data["queue"], form.cleaned_data["labels"]
    kind, subject_id = (LABEL_AGREEMENT, table.pk) if queue is None else (AGREEMENT, queue.pk)
    return jobs.content_of(kind, subject_id=subject_id, options=form.options, at=timezone.now(), waits=waits)


def _facts(report: PeopleAgreement) -> JsonDict:
    facts: JsonDict = result_to_json(PeopleAgreement, report)
    return facts


REPORT = Report(
    "agreement",
    "How far the people of a queue, or the raters of a table of imported labels, agree.",
    permission="review.adjudicate",  # it names annotators
    form_class=AgreementForm,
    read=_read,
    facts=_facts,
    tables=(FIGURES, PAIRS, RATERS, GROUPS, ITEMS, GOLD, ESTIMATED, PULL),
    references={Queue: QUEUE, LabelTable: LABEL_TABLE},
)
