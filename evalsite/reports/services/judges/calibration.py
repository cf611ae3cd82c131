"""Thresholds and certificates from a stored report on a judge's audit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User

from evalsite.reports.services.judges.judge_trust import measured_verdicts
from evalsite.reports.services.report_content import ReportContent
from evalsite.review.models import Certificate, EvaluatorThreshold
from evalsite.review.routing import wrong_in_words
from evalsite.review.services.items.queues import DEFAULT_QUORUM
from evalsite.review.services.thresholds import ChosenThreshold, issue_certificate, save_threshold
from judging.judges.versions import JudgeVersion, version_from_json
from judging.statistics.coefficients.alternative_annotator import Annotators
from judging.statistics.risk_coverage import (
    ALPHA,
    DELTA,
    Step,
    ThresholdDecision,
    choose_threshold,
    risk_coverage,
)

STORED_FIGURES = ("agreement", "kappa", "recalls", "cases", "labels", "confusion")


class CalibrationRefused(ValueError):
    """No threshold keeps the error rate that is wanted; the message says what is missing."""


class CertificateRefused(ValueError):
    """The alternative annotator test cannot be run; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The risk-coverage curve of a judge, and what the wanted error rate makes of it."""

    alpha: float
    delta: float
    tolerance: int  # points of the scale by which a correct verdict may differ from people's label
    steps: tuple[Step, ...]
    decision: ThresholdDecision

    @property
    def wrong(self) -> str:
        """What an error is, in words."""
        return wrong_in_words(self.tolerance)

    @property
    def accepted(self) -> float:
        """The share of verdicts with a measured confidence that no person would check."""
        chosen = self.decision.chosen
        return chosen.coverage if chosen is not None else 0.0

    @property
    def annotations_per_thousand(self) -> int:
        """How many annotations 1,000 verdicts cost, at the quorum of new queues."""
        return round(1000 * (1 - self.accepted) * DEFAULT_QUORUM)


def calibrate(content: ReportContent, *, alpha: float = ALPHA, delta: float = DELTA, tolerance: int = 0) -> Calibration:
    """Return the threshold for an error rate of at most alpha with certainty 1 - delta.

    Wrong is what differs from people's label by more than the tolerance, in points of an ordered scale.
    """
    steps = risk_coverage(measured_verdicts(content, tolerance=tolerance), delta=delta)
    decision = choose_threshold(steps, alpha=alpha, delta=delta, wrong=wrong_in_words(tolerance))
    return Calibration(alpha, delta, tolerance, steps, decision)


def version_of_content(content: ReportContent) -> JudgeVersion:
    """Return the version that a stored report is about."""
    return version_from_json(content["version"]["parts"])


def lacks_of(content: ReportContent) -> str:
    """Return why the alternative annotator test cannot be run, "" if it can; the same for all annotators."""
    test = content["tests"][Annotators.SKILLED.value]
    return "" if test["passed"] is not None else str(test["reason"])


def save_calibration(
    content: ReportContent, calibration: Calibration, *, actor: User | None, at: datetime
) -> EvaluatorThreshold:
    """Store the threshold, so that the next runs of the version are routed by it.

    Raises:
        CalibrationRefused: there is none.
    """
    chosen = calibration.decision.chosen
    if chosen is None:
        raise CalibrationRefused(calibration.decision.reason)
    threshold = ChosenThreshold(
        threshold=chosen.threshold,
        alpha=calibration.alpha,
        delta=calibration.delta,
        tolerance=calibration.tolerance,
        accepted=calibration.accepted,
        bound=chosen.bound,
        cases=calibration.steps[-1].cases,
    )
    return save_threshold(
        name=content["name"], version=version_of_content(content), chosen=threshold, actor=actor, at=at
    )


def certify(content: ReportContent, *, annotators: Annotators, actor: User | None, at: datetime) -> Certificate:
    """Store the outcome of the alternative annotator test as the certificate of the version.

    Raises:
        CertificateRefused: too few people share enough cases.
    """
    test = content["tests"][annotators.value]
    if test["passed"] is None:
        raise CertificateRefused(f"No test: {test['reason']}")
    figures = {key: content[key] for key in STORED_FIGURES} | {"test": test}
    outcome = {"annotators": annotators.value, "items": content["items"], "passed": test["passed"], "figures": figures}
    return issue_certificate(
        name=content["name"], version=version_of_content(content), outcome=outcome, actor=actor, at=at
    )
