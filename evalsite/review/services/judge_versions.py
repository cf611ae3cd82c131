"""Stores what a version of a judge may do alone, its certificate, and the anchors that it is asked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.types import JsonDict
from evalsite.review.models import (
    Anchor,
    AnchorRound,
    AnchorSet,
    Certificate,
    EvaluatorThreshold,
    ThresholdLook,
    ThresholdPlan,
)
from evalsite.review.routing import MOST_LOOKS, ThresholdTarget, promise_in_words
from evalsite.review.selectors.verdict_reviews import why_no_look
from evalsite.review.states import ReviewRefused
from judging.judges.judge_kinds import JudgeVersion
from judging.models import Response, Run, RunEvaluator
from judging.selectors.judges import versions_of

FEWEST_ANCHORS = 20


@transaction.atomic
def issue_certificate(
    *, name: str, version: JudgeVersion, outcome: JsonDict, actor: User | None, at: datetime
) -> Certificate:
    """Store the outcome (annotators, passed, items, figures) for this version, in place of an earlier one."""
    certificate, _ = Certificate.objects.update_or_create(
        version_key=version.key,
        defaults={
            "version": version.to_json(),
            "evaluator_name": name,
            **outcome,
            "issued_by": actor,
            "issued_at": at,
            "lapsed_at": None,
        },
    )
    detail = {key: outcome[key] for key in ("passed", "annotators", "items")}
    record(actor, "certificate.issued", NamedSubject(name, certificate.pk), **detail, version=version.key[:12])
    return certificate


class LookRefused(ReviewRefused):
    """Nobody may look now; no look was used."""


@dataclass(frozen=True, slots=True)
class ChosenThreshold:
    """A threshold that a look accepted."""

    threshold: float
    accepted: float  # share of the audited verdicts
    bound: float


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What a look was taken on, and what it came to."""

    labels_hash: str
    cases: int
    chosen: ChosenThreshold | None
    reason: str  # why none was chosen
    again: ThresholdLook | None = None  # the same was found by it before, so that no other is used


@transaction.atomic
def record_look(
    *, name: str, version: JudgeVersion, target: ThresholdTarget, found: LookedAt, actor: User | None, at: datetime
) -> ThresholdLook:
    """Store a look, the plan with the first one, and the threshold that it accepted, in place of an earlier one.

    The next runs of the version are routed by it. A look that accepts none leaves an earlier threshold in force, and
    one that is named again puts its own in force again.

    Raises:
        LookRefused: none is left, the plan is another, or nothing is new.
    """
    about = {"version_key": version.key, "alpha": target.alpha, "tolerance": target.tolerance}
    planned = {"evaluator_name": name, "delta": target.delta, "looks": target.looks or MOST_LOOKS}
    plan, _ = ThresholdPlan.objects.get_or_create(**about, defaults=planned)
    plan = ThresholdPlan.objects.select_for_update().get(pk=plan.pk)
    look = found.again or _taken(plan, target, found, actor, at)
    if found.chosen:
        _save_threshold(name, version, target, found.chosen, look)
    detail = {name: value for name, value in asdict(target).items() if value}
    verb = "threshold.restored" if found.again else "threshold.saved" if found.chosen else "threshold.refused"
    subject = NamedSubject(name, plan.pk)
    record(actor, verb, subject, threshold=look.threshold, look=look.number, **detail, version=version.key[:12])
    return look


def _taken(
    plan: ThresholdPlan, target: ThresholdTarget, found: LookedAt, actor: User | None, at: datetime
) -> ThresholdLook:
    if refusal := why_no_look(plan, target, labels_hash=found.labels_hash):
        raise LookRefused(refusal)
    number = plan.taken.count() + 1
    return plan.taken.create(
        number=number,
        labels_hash=found.labels_hash,
        cases=found.cases,
        threshold=found.chosen.threshold if found.chosen else None,
        outcome=_outcome(target, found, f"look {number} of {plan.looks}"),
        looked_by=actor,
        looked_at=at,
    )


def _outcome(target: ThresholdTarget, found: LookedAt, look: str) -> str:
    if found.chosen is None:
        return f"{found.reason.removesuffix('.')} ({look})."
    chosen = found.chosen
    return promise_in_words(chosen.accepted, chosen.bound, delta=target.delta, tolerance=target.tolerance, look=look)


def _save_threshold(
    name: str, version: JudgeVersion, target: ThresholdTarget, chosen: ChosenThreshold, look: ThresholdLook
) -> None:
    EvaluatorThreshold.objects.update_or_create(
        version_key=version.key,
        defaults={
            "version": version.to_json(),
            "evaluator_name": name,
            **asdict(chosen),
            "alpha": target.alpha,
            "delta": target.delta,
            "tolerance": target.tolerance,
            "cases": look.cases,
            "look": look,
            "saved_by": look.looked_by,
            "saved_at": look.looked_at,
        },
    )


@transaction.atomic
def remove_threshold(*, saved: EvaluatorThreshold, actor: User | None) -> None:
    """Let the next runs of the version be routed by the site's default again; looks that were taken stay taken."""
    subject = NamedSubject(saved.evaluator_name, saved.pk)
    record(actor, "threshold.removed", subject, threshold=saved.threshold, version=saved.version_key[:12])
    saved.delete()


@transaction.atomic
def make_anchor_set(
    *, evaluator: RunEvaluator, anchors: Sequence[Anchor], actor: User | None, at: datetime
) -> AnchorSet:
    """Store an anchor set of an evaluator's labelled responses, whose rows are not stored yet.

    Raises:
        ReviewRefused: there are too few of them.
    """
    if len(anchors) < FEWEST_ANCHORS:
        raise ReviewRefused(
            f"An anchor set needs {FEWEST_ANCHORS} audited cases with a final label and a verdict "
            f"of this judge in one run; there are {len(anchors)}."
        )
    version = versions_of([evaluator])[evaluator.pk]
    anchor_set = AnchorSet.objects.create(
        version_key=version.key,
        version=version.to_json(),
        evaluator_name=evaluator.name,
        evaluator=evaluator,
        made_by=actor,
        made_at=at,
    )
    for anchor in anchors:
        anchor.anchor_set = anchor_set
    Anchor.objects.bulk_create(anchors)
    record(actor, "anchors.made", _about(anchor_set), anchors=len(anchors))
    return anchor_set


@transaction.atomic
def ask_anchors(*, anchor_set: AnchorSet, budget: Decimal | None, actor: User | None, at: datetime) -> Run:
    """Make the run that asks the judge about every anchor again; it still has to be worked.

    Raises:
        ReviewRefused: the run that the set was made from is gone.
        RunNotPossible: the judge has changed or is retired, or the budget cannot be kept.
    """
    if anchor_set.evaluator is None:
        raise ReviewRefused("The run from which this anchor set was created has been deleted. Create a new set.")
    responses = Response.objects.filter(pk__in=anchor_set.anchors.values("response")).order_by("pk")
    from judging.services.runs.new_runs import create_anchor_run  # reports read certificates without all kinds of runs

    run = create_anchor_run(
        evaluator=anchor_set.evaluator, responses=list(responses), budget=budget, actor=actor, at=at
    )
    AnchorRound.objects.create(anchor_set=anchor_set, run=run)
    record(actor, "anchors.asked", _about(anchor_set), run=run.pk)
    return run


def _about(anchor_set: AnchorSet) -> NamedSubject:
    return NamedSubject(anchor_set.evaluator_name, anchor_set.pk)
