"""How far the people of a queue agree, from their blind answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evalsite.reports.selectors.annotations import QueueAnswers, queue_groups, read_answers, status_counts
from evalsite.reports.selectors.marks import queue_mark
from evalsite.reports.selectors.options import Options, chosen
from evalsite.reports.services.habits import habits_payload
from evalsite.reports.services.payloads import Payload, figure
from evalsite.reports.services.snapshots import ReportKind
from evalsite.reports.statistics.agreement import (
    POINT_ONLY,
    AgreementReport,
    against_the_rest,
    agreement_report,
    pair_agreements,
)
from evalsite.reports.statistics.alpha import Metric
from evalsite.reports.statistics.confusion import confusion, disagreeing_items
from evalsite.reports.statistics.estimates import Estimate
from evalsite.reports.statistics.interpret import describe_reliability
from evalsite.reports.statistics.kappa import Weights, conger_kappa
from evalsite.reports.statistics.ratings import RatingTable
from evalsite.review.models import Queue

ITEMS_SHOWN = 200
RATERS_SHOWN = 25
CELL_ITEMS = 50
CONGER_RATERS = 10
ORDERED_LABELS = 3  # from so many numbers on, the order of the labels says something
METRIC_WORDS = {
    Metric.NOMINAL: "Krippendorff's alpha",
    Metric.ORDINAL: "Krippendorff's alpha, ordinal",
    Metric.INTERVAL: "Krippendorff's alpha, interval",
    Metric.RATIO: "Krippendorff's alpha, ratio",
}


def compute_agreement(queue_id: int, options: Options) -> Payload:
    """Return every figure of agreement in a queue under the options criterion, scenario and language."""
    queue = Queue.objects.get(pk=queue_id)
    answers = read_answers(queue, options)
    found = agreement_payload(answers)
    found["queue"] = {"slug": queue.slug, "name": queue.name}
    found |= {"filters": queue_groups(queue), "statuses": status_counts(queue)}
    return found | habits_payload(queue, answers, options)


def agreement_payload(answers: QueueAnswers) -> Payload:
    """Return every figure of agreement in a table of answers."""
    metrics = _metrics(answers.table)
    busiest = _busiest(answers.table)
    report = agreement_report(busiest, metrics=metrics)
    # the pairs are of the busiest, the figures of everybody
    whole = report if busiest is answers.table else agreement_report(_nameless(answers.table), metrics=metrics)
    figures = _figures(whole)
    if 2 < len(busiest.raters) <= CONGER_RATERS:
        figures.append(_figure_row("conger", "Conger's kappa", conger_kappa(busiest), ""))
    return {
        "labels": [{"value": label, "text": answers.texts[label]} for label in answers.table.labels],
        "summary": _summary(whole, answers),
        "figures": figures,
        "warning": whole.warning,
        "words": describe_reliability(_alpha(whole)),
        "pairs": _pairs(busiest, report, is_ordered=len(metrics) > 1),
        "raters": _raters(answers.table),
        "coincidences": _coincidences(answers.table),
        "items": _items(answers),
        "criteria": _groups(answers, answers.groups["criterion"]),
        "scenarios": _groups(answers, answers.groups["scenario"]),
        "languages": _groups(answers, answers.groups["language"]) if any(answers.groups["language"]) else [],
    }


def _nameless(table: RatingTable) -> RatingTable:
    """Return the same answers without their raters' names, so that no pairs are computed."""
    return RatingTable(table.items, table.raters, table.labels, table.codes, table.values, raters_known=False)


def _pairs(table: RatingTable, report: AgreementReport, *, is_ordered: bool) -> list[Payload]:
    found = [
        {
            "first": pair.first,
            "second": pair.second,
            "percent": figure(pair.percent),
            "kappa": figure(pair.kappa.estimate),
        }
        for pair in report.pairs
    ]
    if is_ordered:
        for weights in (Weights.LINEAR, Weights.QUADRATIC):
            for row, pair in zip(found, pair_agreements(table, weights=weights, bootstrap=POINT_ONLY), strict=True):
                row[weights.value] = figure(pair.kappa.estimate)
    return found


def compute_confusion(queue_id: int, options: Options) -> Payload:
    """Return which label one person gave where another gave which, with the items behind each cell."""
    return confusion_payload(read_answers(Queue.objects.get(pk=queue_id), options), options)


def confusion_payload(answers: QueueAnswers, options: Options) -> Payload:
    """Return the confusion of the two people whom the options name. Raises: RatingsRefused for an unknown one."""
    first, second = chosen(options, "first"), chosen(options, "second")
    found = confusion(answers.table, first, second)
    return {
        "first": first,
        "second": second,
        "labels": [{"value": label, "text": answers.texts[label]} for label in found.labels],
        "counts": [list(row) for row in found.counts],
        "items": [[[int(item) for item in cell[:CELL_ITEMS]] for cell in row] for row in found.items],
        "n": found.n,
        "n_missing": found.n_missing,
    }


def _metrics(table: RatingTable) -> tuple[Metric, ...]:
    if table.values is None or table.n_labels < ORDERED_LABELS:
        return (Metric.NOMINAL,)
    ordered = (Metric.NOMINAL, Metric.ORDINAL, Metric.INTERVAL)
    return ordered if min(table.values) < 0 else (*ordered, Metric.RATIO)


def _busiest(table: RatingTable) -> RatingTable:
    """Return the table with at most RATERS_SHOWN columns, those with the most answers, for a matrix one can read."""
    if len(table.raters) <= RATERS_SHOWN:
        return table
    given = (table.codes >= 0).sum(axis=0)
    keep = sorted(np.argsort(-given, kind="stable")[:RATERS_SHOWN].tolist())
    names = tuple(table.raters[column] for column in keep)
    return RatingTable(table.items, names, table.labels, table.codes[:, keep], table.values)


def _alpha(report: AgreementReport) -> Any:
    return dict(report.alpha)[Metric.NOMINAL]


def _summary(report: AgreementReport, answers: QueueAnswers) -> Payload:
    found = report.summary
    return {
        "items": found.n_items,
        "raters": found.n_raters,
        "answers": found.n_answers,
        "single": found.n_single,
        "pairable": found.n_pairable,
        "unanimous": found.n_unanimous,
        "no_majority": found.n_no_majority,
        "off_scale": answers.n_other,
        "label_counts": [{"value": label, "text": answers.texts[label], "n": n} for label, n in found.label_counts],
        "answers_per_item": [{"answers": answers_given, "items": n} for answers_given, n in found.answers_per_item],
    }


def _figures(report: AgreementReport) -> list[Payload]:
    rows = [("percent", "Percent agreement", report.percent, "Share of answer pairs on one item that are equal.")]
    rows.append(("fleiss", "Fleiss' kappa", report.fleiss, ""))
    for metric, estimate in report.alpha:
        rows.append((f"alpha_{metric}", METRIC_WORDS[metric], estimate, ""))
    rows.append(("ac1", "Gwet's AC1", report.ac1, ""))
    rows.append(("brennan_prediger", "Brennan-Prediger", report.brennan_prediger, ""))
    return [_figure_row(*row) for row in rows]


def _figure_row(key: str, name: str, estimate: Estimate, words: str) -> Payload:
    return {"key": key, "name": name, "words": words or describe_reliability(estimate), **figure(estimate)}


def _raters(table: RatingTable) -> list[Payload]:
    given = (table.codes >= 0).sum(axis=0)
    return [
        {"name": name, "answers": int(given[column]), "rest": figure(against_the_rest(table, name))}
        for column, name in enumerate(table.raters)
    ]


def _coincidences(table: RatingTable) -> list[list[int]]:
    """Return how many ordered pairs of answers on one item carry each two labels, shape (labels, labels)."""
    counts = table.counts()
    together = counts.T @ counts - np.diag(counts.sum(axis=0))
    return [[int(value) for value in row] for row in together]


def _items(answers: QueueAnswers) -> list[Payload]:
    table = answers.table
    rows = {item: row for row, item in enumerate(table.items)}
    counts = table.counts()
    found = []
    for item, share in disagreeing_items(table)[:ITEMS_SHOWN]:
        row = rows[item]
        given = [
            {"text": answers.texts[label], "n": int(n)} for label, n in zip(table.labels, counts[row], strict=True) if n
        ]
        found.append(
            {
                "id": int(item),
                "disagreement": share,
                "criterion": answers.criteria[row],
                "scenario": answers.scenarios[row],
                "given": given,
            }
        )
    return found


def _groups(answers: QueueAnswers, groups: Sequence[str]) -> list[Payload]:
    """Return the main figures of each group of items (a criterion, a scenario), by name."""
    found = []
    for name in sorted(set(groups)):
        part = answers.table.subset([group == name for group in groups])
        report = agreement_report(_nameless(part))
        found.append(
            {
                "name": name,
                "items": len(part.items),
                "pairable": report.summary.n_pairable,
                "percent": figure(report.percent),
                "fleiss": figure(report.fleiss),
                "alpha": figure(_alpha(report)),
                "ac1": figure(report.ac1),
                "warning": report.warning,
            }
        )
    return found


def _mark(queue_id: int, options: Options) -> str:
    return queue_mark(Queue.objects.get(pk=queue_id))


def _rows_to_read(queue_id: int, options: Options) -> int:
    queue = Queue.objects.get(pk=queue_id)
    return queue.total_count * queue.quorum


AGREEMENT = ReportKind("agreement", _mark, _rows_to_read, compute_agreement)
CONFUSION = ReportKind("confusion", _mark, _rows_to_read, compute_confusion)
