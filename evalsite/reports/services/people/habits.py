"""What an agreement report says of how people answered: over time, pace, self-consistency, anchoring effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict

from evalsite.reports.selectors.annotations import QueueAnswers, Times
from evalsite.reports.selectors.habits import Repeats, RevealedAnswer, repeats, revealed_answers, skips_of
from evalsite.reports.selectors.options import Options
from evalsite.reports.services.report_content import ReportContent, figure
from evalsite.review.models import Queue
from judging.statistics.coefficients.agreement import agreement_report
from judging.statistics.coefficients.alpha import Metric
from judging.statistics.coefficients.answer_rows import Events
from judging.statistics.coefficients.ratings import RatingTable
from judging.statistics.intervals import share_of
from judging.statistics.judge_quality import anchoring_effect

ANCHORING_COUNTS: dict[str, Callable[[RevealedAnswer], bool]] = {
    "revealed": lambda row: True,
    "revised": lambda row: row.blind != row.final,
    "differed": lambda row: row.machine is not None and row.blind != row.machine,
    "toward": lambda row: row.blind != row.machine == row.final,
    "agreed": lambda row: row.blind == row.machine,
    "away": lambda row: row.blind == row.machine != row.final,
}


def compute_habits(queue: Queue, options: Options, answers: QueueAnswers) -> tuple[ReportContent, dict[str, Events]]:
    """Return how the people of a queue answered under the options, and the answers behind each figure by its name."""
    skipped, repeated, shown = skips_of(queue, options), repeats(queue, options), revealed_answers(queue, options)
    skips = Counter(name for _, name in skipped)
    names = {*answers.times, *skips}
    paces = [
        {"name": name, "skips": skips.get(name, 0), **asdict(answers.times.get(name, NOBODY))} for name in sorted(names)
    ]
    content = {
        "over_time": over_time(answers),
        "paces": sorted(paces, key=lambda pace: -pace["answers"]),
        "retests": [_repeats_row(row) for row in repeated],
        "anchoring": _anchoring(shown),
    }
    retests = [(item, row.name, first == second) for row in repeated for first, second, item, _ in row.pairs]
    events = {
        name: [(row.item_id, row.name) for row in shown if holds(row)] for name, holds in ANCHORING_COUNTS.items()
    }
    events["skipped"] = skipped
    events["retest"] = [(item, name) for item, name, _ in retests]
    events["retest-differs"] = [(item, name) for item, name, is_same in retests if not is_same]
    return content, {name: Events.of(rows) for name, rows in events.items()}


NOBODY = Times(0, None, None)


def over_time(answers: QueueAnswers) -> list[ReportContent]:
    """Return agreement by day, week or month of the items' last answers, the oldest first; empty where unknown."""
    rows = []
    for period, start in enumerate(answers.period_starts):
        part = answers.table.subset((answers.periods == period).tolist())
        if not part.items:
            continue
        report = agreement_report(
            RatingTable(part.items, part.raters, part.labels, part.codes, part.values, raters_known=False)
        )
        rows.append(
            {
                "from": start.isoformat(),
                "pairable": report.summary.n_pairable,
                "percent": figure(report.percent),
                "alpha": figure(dict(report.alpha)[Metric.NOMINAL]),
                "ac1": figure(report.ac1),
            }
        )
    return rows


def _repeats_row(row: Repeats) -> ReportContent:
    same = sum(first == second for first, second, _, _ in row.pairs)
    return {"name": row.name, "same": figure(share_of(same, len(row.pairs))), "differs": len(row.pairs) - same}


def _anchoring(rows: Sequence[RevealedAnswer]) -> ReportContent:
    shares = anchoring_effect([row.blind for row in rows], [row.final for row in rows], [row.machine for row in rows])
    counts = {name: sum(map(holds, rows)) for name, holds in ANCHORING_COUNTS.items()}
    return {
        "counts": counts,
        "revised": figure(shares.revised),
        "toward": figure(shares.toward),
        "away": figure(shares.away),
    }
