"""What judges did: how their replies were read, what they cost, and where their verdicts can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any
from zlib import crc32

import numpy as np

from debate.models import Debate, DebateStatus, DecisionMethod
from evalsite.reports.selectors.human_labels import FINAL
from evalsite.reports.statistics.reply_rows import (
    MICRO,
    NOT_ASKED,
    STATUSES,
    UNPRICED,
    CallFacts,
    ReplyRows,
    VerdictFacts,
)
from evalsite.review.models import ItemArm, ReviewItem
from evalsite.review.scales import Label, is_preference, labels_from_json, nearest_label
from judging.models import SCORED_KINDS, Call, EvaluatorKind, PastVerdict, Run, RunEvaluator, Score, Verdict

CHUNK = 5000
PLACES = {status.value: place for place, status in enumerate(STATUSES)}


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


def run_names(run_ids: Sequence[int]) -> dict[int, str]:
    """Return what these runs are called now; a stored report has the names of its time."""
    return dict(Run.objects.filter(pk__in=run_ids).values_list("pk", "name"))


def read_rows(evaluator: RunEvaluator) -> ReplyRows:
    """Return an evaluator's verdicts, and every call ever made for them."""
    called: set[int] = set()
    return ReplyRows.of(_verdict_facts(evaluator, called), _call_facts(called))


def _verdict_facts(evaluator: RunEvaluator, called: set[int]) -> Iterator[VerdictFacts]:
    """Yield an evaluator's verdicts in any order and add their calls to `called`."""
    asked = asked_of(evaluator)
    first = _first_tries(evaluator, called)
    fields = ("pk", "response_id", "call_ids", "status", "score__share", "value__orders")
    verdicts = Verdict.objects.filter(evaluator=evaluator).order_by().values_list(*fields)
    for pk, response_id, call_ids, status, share, orders in verdicts.iterator(chunk_size=CHUNK):
        called.update(call_ids)
        reply = reply_key(response_id, call_ids, asked)
        first_reply, tried = reply, status
        if pk in first:
            tried_calls, tried = first[pk]
            first_reply = reply_key(response_id, tried_calls, asked)
        in_both = isinstance(orders, list) and len(orders) == 2
        preferences = (int(orders[0]), int(orders[1])) if in_both else (NOT_ASKED, NOT_ASKED)
        yield pk, reply, first_reply, PLACES[status], PLACES[tried], nan if share is None else share, *preferences


def asked_of(evaluator: RunEvaluator) -> int:
    """Return a number for what an evaluator asks, the same in every process."""
    return crc32(f"{evaluator.rubric_id}:{evaluator.criterion}".encode())


def reply_key(response_id: int, call_ids: Sequence[int], asked: int) -> int:
    """Return a number that is the same for verdicts read from the same reply; without calls, for the same question.

    Hashes of whole numbers are the same in every process. No call has the key 0.
    """
    return hash((response_id, *sorted(set(call_ids)))) if call_ids else hash((response_id, 0, asked))


def _first_tries(evaluator: RunEvaluator, called: set[int]) -> dict[int, tuple[list[int], str]]:
    """Return calls and status of the first try of verdicts that were tried again; add all past calls to `called`."""
    first: dict[int, tuple[list[int], str]] = {}
    rows = PastVerdict.objects.filter(verdict__evaluator=evaluator).order_by("pk")
    for verdict_id, call_ids, status in rows.values_list("verdict_id", "call_ids", "status").iterator(chunk_size=CHUNK):
        called.update(call_ids)
        first.setdefault(verdict_id, (call_ids, status))
    return first


def _call_facts(called: set[int]) -> Iterator[CallFacts]:
    fields = ("pk", "prompt_tokens", "completion_tokens", "cost", "seconds")
    for chunk in _chunks(sorted(called)):
        for pk, prompt, completion, cost, seconds in Call.objects.filter(pk__in=chunk).values_list(*fields):
            yield pk, prompt or 0, completion or 0, UNPRICED if cost is None else int(cost.scaleb(MICRO)), seconds


def compared_with_people(evaluators: Sequence[RunEvaluator]) -> list[Compared]:
    """Return the settled review items on these evaluators' verdicts, the judge's label on the queue's own scale.

    Of several items about one reply, in queues of several runs, one counts: an audited one where there is one.
    """
    asked = {row.pk: asked_of(row) for row in evaluators}
    items = ReviewItem.objects.filter(verdict__evaluator__in=list(asked), status__in=FINAL, retest_of=None)
    items = items.exclude(label="")
    fields = ("pk", "label", "scenario", "arm", "queue__labels", "verdict__value", "verdict__score__share")
    reply = ("verdict__response_id", "verdict__call_ids", "verdict__evaluator_id")
    found: dict[int, Compared] = {}
    for pk, label, scenario, arm, labels, value, share, response_id, call_ids, evaluator_id in (
        items.order_by("pk").values_list(*fields, *reply).iterator(chunk_size=CHUNK)
    ):
        key = reply_key(response_id, call_ids, asked[evaluator_id])
        is_audit = arm == ItemArm.AUDIT
        if key not in found or (is_audit and not found[key].is_audit):
            judge = judge_label(value, share, labels_from_json(labels))
            found[key] = Compared(pk, judge, label, scenario, is_audit)
    return sorted(found.values(), key=lambda one: one.item_id)


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
