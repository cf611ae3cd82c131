"""Stores what a version of a judge may do alone: from which confidence on, and whether it agrees like an annotator."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.json_types import JsonDict
from evalsite.review.models import Certificate, EvaluatorThreshold
from judging.judges.versions import JudgeVersion


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
        },
    )
    detail = {key: outcome[key] for key in ("passed", "annotators", "items")}
    record(actor, "certificate.issued", NamedSubject(name, certificate.pk), **detail, version=version.key[:12])
    return certificate


@dataclass(frozen=True, slots=True)
class ChosenThreshold:
    """A threshold and what it promises."""

    threshold: float
    alpha: float
    delta: float
    tolerance: int
    accepted: float  # share of the audited verdicts
    bound: float
    cases: int


@transaction.atomic
def save_threshold(
    *, name: str, version: JudgeVersion, chosen: ChosenThreshold, actor: User | None, at: datetime
) -> EvaluatorThreshold:
    """Store the threshold that the next runs of this version are routed by, in place of an earlier one."""
    saved, _ = EvaluatorThreshold.objects.update_or_create(
        version_key=version.key,
        defaults={
            "version": version.to_json(),
            "evaluator_name": name,
            **asdict(chosen),
            "saved_by": actor,
            "saved_at": at,
        },
    )
    promise: JsonDict = {"alpha": chosen.alpha, "delta": chosen.delta, "bound": chosen.bound, "cases": chosen.cases}
    if chosen.tolerance:
        promise["tolerance"] = chosen.tolerance
    _record(saved, actor, "threshold.saved", promise)
    return saved


@transaction.atomic
def remove_threshold(*, saved: EvaluatorThreshold, actor: User | None) -> None:
    """Let the next runs of the version be routed by the site's default again."""
    _record(saved, actor, "threshold.removed", {})
    saved.delete()


def _record(saved: EvaluatorThreshold, actor: User | None, verb: str, promise: JsonDict) -> None:
    subject = NamedSubject(saved.evaluator_name, saved.pk)
    record(actor, verb, subject, threshold=saved.threshold, **promise, version=saved.version_key[:12])
