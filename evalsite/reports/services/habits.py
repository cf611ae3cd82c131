"""What an agreement report says of how people answered: over time, pace, self-consistency, sway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from evalsite.reports.selectors.annotations import QueueAnswers, Times
from evalsite.reports.selectors.habits import Repeats, Swayed, repeats, skip_counts, swayed
from evalsite.reports.selectors.options import Options
from evalsite.reports.services.payloads import Payload, figure
from evalsite.reports.statistics.agreement import agreement_report
from evalsite.reports.statistics.alpha import Metric
from evalsite.reports.statistics.intervals import wilson
from evalsite.reports.statistics.judge_quality import sway
from evalsite.reports.statistics.ratings import RatingTable
from evalsite.review.models import Queue

ITEMS_KEPT = 50


def habits_payload(queue: Queue, answers: QueueAnswers, options: Options) -> Payload:
    """Return how the people of a queue answered, beside how far they agree."""
    skips = skip_counts(queue)
    names = {*answers.times, *skips}
    paces = [
        {"name": name, "skips": skips.get(name, 0), **asdict(answers.times.get(name, NOBODY))} for name in sorted(names)
    ]
    return {
        "over_time": over_time(answers),
        "paces": sorted(paces, key=lambda pace: -pace["answers"]),
        "retests": [_repeats_row(row) for row in repeats(queue)],
        "sway": _sway(swayed(queue, options)),
    }


NOBODY = Times(0, None, None)


def over_time(answers: QueueAnswers) -> list[Payload]:
    """Return agreement by day, week or month of the items' last answers, the oldest first; empty where unknown."""
    found = []
    for place, start in enumerate(answers.period_starts):
        part = answers.table.subset((answers.periods == place).tolist())
        if not part.items:
            continue
        report = agreement_report(
            RatingTable(part.items, part.raters, part.labels, part.codes, part.values, raters_known=False)
        )
        found.append(
            {
                "from": start.isoformat(),
                "pairable": report.summary.n_pairable,
                "percent": figure(report.percent),
                "alpha": figure(dict(report.alpha)[Metric.NOMINAL]),
                "ac1": figure(report.ac1),
            }
        )
    return found


def _repeats_row(row: Repeats) -> Payload:
    same = sum(first == second for first, second, _, _ in row.pairs)
    changed = [(item, retest) for first, second, item, retest in row.pairs if first != second]
    return {
        "name": row.name,
        "same": figure(wilson(same, len(row.pairs))),
        "items": [list(pair) for pair in changed[:ITEMS_KEPT]],
    }


def _sway(rows: Sequence[Swayed]) -> Payload:
    found = sway([row.blind for row in rows], [row.final for row in rows], [row.machine for row in rows])
    toward = [row.item_id for row in rows if row.machine is not None and row.blind != row.machine == row.final]
    return {
        "revealed": len(rows),
        "revised": figure(found.revised),
        "toward": figure(found.toward),
        "away": figure(found.away),
        "items": toward[:ITEMS_KEPT],
    }
