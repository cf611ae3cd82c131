"""Where judges and debate speakers stand: readable replies, cost, and agreement with people and with debates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
from django.db.models import Sum

from debate.models import Debate
from debate.protocol.metaeval import leave_one_out, opening_votes
from evalsite.reports.selectors import judge_rows, speakers
from evalsite.reports.selectors.judge_rows import Compared
from evalsite.reports.selectors.marks import work_mark
from evalsite.reports.selectors.options import Options, chosen
from evalsite.reports.selectors.speakers import EndedDebate, SpeakerWork
from evalsite.reports.services.judge_records import record_of_judge
from evalsite.reports.services.payloads import Payload, figure
from evalsite.reports.services.snapshots import ReportKind
from evalsite.reports.statistics.confusion import confusion_of
from evalsite.reports.statistics.estimates import Estimate, Floats, undefined
from evalsite.reports.statistics.evaluators import agreement_with_outcomes
from evalsite.reports.statistics.intervals import wilson
from evalsite.reports.statistics.judge_quality import (
    example_agreement,
    grouped_agreement,
    position_report,
    reply_rates,
    system_agreement,
)
from evalsite.reports.statistics.reply_rows import Spent
from judging.models import Run, RunEvaluator

STATUSES = ("ok", "repaired", "refused", "unparsed", "failed")
BINS = 10
ITEMS_SHOWN = 100
ONE_ORDER = "This judge was not asked in both orders."
NO_PEOPLE = "No verdict of this judge has a final human label yet."
NO_AUDIT = "No audited verdict of this judge has a final human label yet."
NO_DEBATES = "No agreed debate is about two responses that this judge scored."
NO_OUTCOMES = "No debate that this speaker sat in has come to an agreement."
IMPORTED = "Its debates were imported, and an imported record holds no calls."
SHARED = "Speakers shared this endpoint in the same run, so calls cannot be told apart."
PREFERENCES = {"1": "A better", "0": "tie", "-1": "B better"}


def compute_judges(subject_id: int, options: Options) -> Payload:
    """Return one row per judge (by name, over all grading runs) and one per debate speaker."""
    by_name: dict[str, list[RunEvaluator]] = {}
    for evaluator in judge_rows.judge_evaluators():
        by_name.setdefault(evaluator.name, []).append(evaluator)
    judges = [_judge_row(name, rows, *_compared(rows)) for name, rows in by_name.items()]
    work = speakers.speaker_work()
    ended = speakers.ended_debates()
    seats = [_speaker_row(one, list(work.values()), ended) for one in work.values()]
    return {
        "judges": sorted(judges, key=lambda row: (row["is_baseline"], row["name"])),
        "speakers": sorted(seats, key=lambda row: (row["is_baseline"], row["name"])),
        "debates": len(ended),
    }


def compute_judge(subject_id: int, options: Options) -> Payload:
    """Return the row of the judge that the option `name` names, with what stands behind its figures."""
    rows = judge_rows.judge_evaluators(chosen(options, "name"))
    people, debates = _compared(rows)
    system_level = system_agreement([int(one.judge or 0) for one in debates], [int(one.other) for one in debates])
    return {
        "row": _judge_row(chosen(options, "name"), rows, people, debates),
        "runs": [
            {
                "run_id": row.run_id,
                "run": row.run.name,
                "suite_id": row.run.suite_id,
                "suite": str(row.run.suite),
                "evaluator_id": row.pk,
                "done": row.done,
                "failed": row.failed,
                "options": {key: row.options.get(key) for key in ("judge_kind", "endpoint", "model", "prompt_hash")},
            }
            for row in rows
        ],
        "people": _against(people, NO_PEOPLE, words=PREFERENCES),
        "debates": _against(debates, NO_DEBATES, words=PREFERENCES),
        "debates_system_level": {
            "same_mode": system_level.same_mode,
            "same_direction": system_level.same_direction,
            "judge_win_rate": figure(system_level.first_win_rate),
            "debate_win_rate": figure(system_level.second_win_rate),
            "reason": system_level.reason,
        },
    }


def _compared(rows: Sequence[RunEvaluator]) -> tuple[list[Compared], list[Compared]]:
    return judge_rows.compared_with_people(rows), judge_rows.compared_with_debates([row.pk for row in rows])


def _judge_row(
    name: str, rows: Sequence[RunEvaluator], people: Sequence[Compared], debates: Sequence[Compared]
) -> Payload:
    record = record_of_judge(rows)
    spent = record.spent
    return {
        "name": name,
        "is_baseline": any(row.is_baseline for row in rows),
        "endpoints": sorted({str(row.options.get("endpoint", "")) for row in rows} - {""}),
        "runs": len(rows),
        **_reading(record.statuses),
        "first_try": _reading(record.first_tries)["parsed"],
        "reused": record.verdicts - record.statuses.total(),
        **_cost(spent.cost, record.statuses.total(), reason=_why_no_cost(spent)),
        "calls": spent.calls,
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "unpriced": spent.unpriced,
        "seconds_mean": spent.seconds_mean,
        "seconds_p95": spent.seconds_p95,
        "histogram": _histogram(record.shares),
        "people": figure(_agreement(people, NO_PEOPLE)),
        "people_audit": figure(_agreement([one for one in people if one.is_audit], NO_AUDIT)),
        "debates": figure(_agreement(debates, NO_DEBATES)),
        **_position(record.orders),
    }


def _speaker_row(work: SpeakerWork, others: Sequence[SpeakerWork], ended: Sequence[EndedDebate]) -> Payload:
    sat = [debate for debate in ended if work.name in debate.ballot.rounds[0]]
    ballots = [debate.ballot for debate in sat]
    opening = agreement_with_outcomes(opening_votes(ballots, work.name), [debate.verdict for debate in sat])
    alone = leave_one_out(ballots, work.name).of_resolved
    spent = speakers.debate_spending(work, others)
    no_cost = "No price is known." if spent else SHARED if work.run_ids else IMPORTED
    return {
        "name": work.name,
        "is_baseline": work.is_baseline,
        "debates_held": len(sat),
        **_reading(work.how_read),
        **_cost(spent.cost if spent else None, work.how_read.total(), reason=no_cost),
        "calls": spent.calls if spent else None,
        "prompt_tokens": spent.prompt_tokens if spent else None,
        "completion_tokens": spent.completion_tokens if spent else None,
        "unpriced": spent.unpriced if spent else None,
        "seconds_mean": spent.seconds_mean if spent else None,
        "outcome": figure(opening.example if opening.example.n else undefined(NO_OUTCOMES)),
        "outcome_missing": opening.missing,
        "leave_one_out": figure(wilson(int(alone.count), alone.n) if alone.n else undefined(_nobody_else())),
        **_position(work.openings),
    }


def _nobody_else() -> str:
    return "The other speakers agree on no debate that this one sat in."


def _reading(statuses: Mapping[str, int]) -> Payload:
    counts = {status: int(statuses.get(status, 0)) for status in STATUSES}
    rates = reply_rates([status for status, n in counts.items() for _ in range(n)])
    return {"verdicts": sum(counts.values()), "statuses": counts, "parsed": figure(rates.parsed)}


def _why_no_cost(spent: Spent) -> str:
    if not spent.calls:
        return "No calls were made."
    return "No verdict was given." if not spent.unpriced else "The endpoint has no price."


def _cost(cost: Decimal | None, verdicts: int, *, reason: str) -> Payload:
    each = float(cost) / verdicts if cost is not None and verdicts else None
    total = None if cost is None else float(cost)
    return {"cost": total, "cost_per_verdict": each, "cost_reason": "" if each is not None else reason}


def _position(orders: Sequence[tuple[int, int]]) -> Payload:
    if not orders:
        return {"consistency": figure(undefined(ONE_ORDER)), "first_position": figure(undefined(ONE_ORDER))}
    found = position_report([one for one, _ in orders], [other for _, other in orders])
    return {"consistency": figure(found.consistency), "first_position": figure(found.first_position_rate)}


def _histogram(shares: Floats) -> list[int]:
    """Return how many shares lie in each tenth of the scale; 1 belongs to the last, what lies outside to the ends."""
    counts, _ = np.histogram(np.clip(shares, 0.0, 1.0), bins=BINS, range=(0.0, 1.0))
    return [int(n) for n in counts]


def _agreement(compared: Sequence[Compared], reason: str) -> Estimate:
    found = example_agreement(*_sides(compared)).estimate
    return found if found.n else undefined(reason)


def _sides(compared: Sequence[Compared]) -> tuple[list[str | None], list[str], list[str]]:
    return [one.judge for one in compared], [one.other for one in compared], [str(one.item_id) for one in compared]


def _against(compared: Sequence[Compared], reason: str, words: Mapping[str, str] | None = None) -> Payload:
    """Return agreement in all, by scenario, as a confusion matrix, and the items on which the two differ."""
    judge, other, items = _sides(compared)
    found = example_agreement(judge, other, items)
    used = {label for label in (*judge, *other) if label is not None}
    texts = dict(words or {}) if words and used <= set(words) else {label: label for label in sorted(used)}
    scale = list(texts)
    matrix = confusion_of(judge, other, scale, items)
    groups = grouped_agreement(judge, other, items, [one.scenario for one in compared])
    said = {str(one.item_id): (one.judge, one.other) for one in compared}
    return {
        "agreement": figure(found.estimate if found.estimate.n else undefined(reason)),
        "missing": found.n_missing,
        "scenarios": [
            {"name": name, **figure(group.estimate)} for name, group in sorted(groups.items(), key=lambda pair: pair[0])
        ],
        "labels": [texts[label] for label in scale],
        "counts": [list(row) for row in matrix.counts],
        "differing": [
            {"id": int(item), "judge": texts[str(said[item][0])], "other": texts[said[item][1]]}
            for item in found.disagreeing[:ITEMS_SHOWN]
        ],
        "n_differing": len(found.disagreeing),
    }


def _mark(subject_id: int, options: Options) -> str:
    return f"outcomes.{work_mark()}"  # the prefix is new whenever the rows get another column


def _rows_to_read(subject_id: int, options: Options) -> int:
    """Return the number of verdicts and debates ever finished: each has calls, scores and perhaps labels behind it."""
    sums = Run.objects.aggregate(done=Sum("done"), failed=Sum("failed"))
    imported = Debate.objects.order_by("-pk").values_list("pk", flat=True).first()
    return (sums["done"] or 0) + (sums["failed"] or 0) + (imported or 0)


JUDGES = ReportKind("judges", _mark, _rows_to_read, compute_judges)
JUDGE = ReportKind("judge", _mark, _rows_to_read, compute_judge)
