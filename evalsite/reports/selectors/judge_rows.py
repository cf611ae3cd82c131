"""What judges did: how their replies were read, what they cost, and where their verdicts can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np
from django.db.models import Count

from debate.models import Debate, DebateStatus, DecisionMethod
from evalsite.reports.selectors.human_labels import FINAL
from evalsite.reports.statistics.estimates import Floats
from evalsite.review.models import ItemArm, ReviewItem
from evalsite.review.scales import Label, is_preference, labels_from_json, nearest_label
from judging.models import SCORED_KINDS, Call, EvaluatorKind, RunEvaluator, Score, Verdict

CHUNK = 5000


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls took. `cost` is None where no call has a known price; `unpriced` counts those without one."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None
    unpriced: int
    seconds_mean: float | None
    seconds_p95: float | None


@dataclass(frozen=True, slots=True)
class Compared:
    """One item on which a judge and somebody else both gave a label; None: the judge gave none."""

    item_id: int  # a review item or a debate
    judge: str | None
    other: str
    scenario: str
    is_audit: bool = False


def judge_evaluators(name: str = "") -> list[RunEvaluator]:
    """Return the judges of all grading runs (those called `name`), the newest run first."""
    rows = RunEvaluator.objects.filter(kind=EvaluatorKind.JUDGE, run__kind__in=SCORED_KINDS).select_related(
        "run__suite"
    )
    if name:
        rows = rows.filter(name=name)
    return list(rows.order_by("-run__created_at", "-run_id", "position"))


def judge_exists(name: str) -> bool:
    """Whether a grading run has a judge of this name."""
    return RunEvaluator.objects.filter(kind=EvaluatorKind.JUDGE, run__kind__in=SCORED_KINDS, name=name).exists()


def status_counts(evaluator_ids: Sequence[int]) -> Counter[str]:
    """Return the number of verdicts by status."""
    rows: Any = Verdict.objects.filter(evaluator__in=evaluator_ids).values_list("status").annotate(n=Count("pk"))
    return Counter(dict(rows))


def spent_by(evaluator_ids: Sequence[int]) -> Spent:
    """Return what the calls behind these evaluators' verdicts took, each call once."""
    found: set[int] = set()
    verdicts = Verdict.objects.filter(evaluator__in=evaluator_ids).values_list("call_ids", flat=True)
    for call_ids in verdicts.iterator(chunk_size=CHUNK):
        found.update(call_ids)
    return spent_on(sorted(found))


def spent_on(call_ids: Iterable[int]) -> Spent:
    """Return what these calls took."""
    rows: list[tuple[int | None, int | None, Decimal | None, float]] = []
    waiting = iter(call_ids)
    while chunk := list(islice(waiting, CHUNK)):
        fields = ("prompt_tokens", "completion_tokens", "cost", "seconds")
        rows += Call.objects.filter(pk__in=chunk).values_list(*fields)
    priced = [cost for _, _, cost, _ in rows if cost is not None]
    seconds = np.array([took for *_, took in rows])
    return Spent(
        calls=len(rows),
        prompt_tokens=sum(tokens or 0 for tokens, *_ in rows),
        completion_tokens=sum(tokens or 0 for _, tokens, *_ in rows),
        cost=sum(priced, Decimal(0)) if priced else None,
        unpriced=len(rows) - len(priced),
        seconds_mean=float(seconds.mean()) if rows else None,
        seconds_p95=float(np.quantile(seconds, 0.95)) if rows else None,
    )


def score_shares(evaluator_ids: Sequence[int]) -> Floats:
    """Return all shares these evaluators gave."""
    shares = Score.objects.filter(evaluator__in=evaluator_ids, share__isnull=False).values_list("share", flat=True)
    return np.fromiter((share for share in shares.iterator(chunk_size=CHUNK) if share is not None), dtype=np.float64)


def swapped_preferences(evaluator_ids: Sequence[int]) -> list[tuple[int, int]]:
    """Return the preferences of comparison judges in both orders, in system space."""
    values = Verdict.objects.filter(evaluator__in=evaluator_ids, value__orders__isnull=False)
    found = values.values_list("value__orders", flat=True).iterator(chunk_size=CHUNK)
    return [(int(orders[0]), int(orders[1])) for orders in found if isinstance(orders, list) and len(orders) == 2]


def compared_with_people(evaluator_ids: Sequence[int]) -> list[Compared]:
    """Return the settled review items on these evaluators' verdicts, the judge's label on the queue's own scale."""
    items = ReviewItem.objects.filter(verdict__evaluator__in=evaluator_ids, status__in=FINAL).exclude(label="")
    fields = ("pk", "label", "scenario", "arm", "queue__labels", "verdict__value", "verdict__score__share")
    found = []
    for pk, label, scenario, arm, labels, value, share in (
        items.order_by("pk").values_list(*fields).iterator(chunk_size=CHUNK)
    ):
        judge = judge_label(value, share, labels_from_json(labels))
        found.append(Compared(pk, judge, label, scenario, arm == ItemArm.AUDIT))
    return found


def judge_label(value: Mapping[str, Any] | None, share: float | None, labels: Sequence[Label]) -> str | None:
    """Return which label of a queue's scale a verdict stands for: its preference, or the one nearest to its score.

    None where the judge gave no verdict, or the scale has no such label.
    """
    if value is None:
        return None
    if is_preference(labels):
        return str(value["preference"]) if "preference" in value else None
    return nearest_label(share, labels) or None if share is not None else None


def compared_with_debates(evaluator_ids: Sequence[int]) -> list[Compared]:
    """Return the agreed debates over two responses that the judge scored, as preferences in system space.

    The judge's preference is the sign of the difference of its two shares; of several scores the newest run's counts.
    """
    debates = Debate.objects.filter(status=DebateStatus.AGREED, debate_set__method=DecisionMethod.DEBATE).order_by("pk")
    rows = list(debates.values_list("pk", "verdict", "response_a_id", "response_b_id", "scenario"))
    wanted = sorted({pk for row in rows for pk in row[2:4]})
    shares: dict[int, float] = {}
    for chunk in _chunks(wanted):
        scores = Score.objects.filter(evaluator__in=evaluator_ids, response__in=chunk, share__isnull=False)
        shares.update(
            (response, share)
            for response, share in scores.order_by("pk").values_list("response_id", "share")
            if share is not None
        )
    return [
        Compared(pk, str(int(np.sign(shares[a] - shares[b]))), str(verdict), scenario)
        for pk, verdict, a, b, scenario in rows
        if verdict is not None and a in shares and b in shares
    ]


def _chunks(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(keys), CHUNK):
        yield keys[start : start + CHUNK]
