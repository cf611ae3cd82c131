"""Thresholds and certificates from a stored report on a judge's audit."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import datetime

from django.contrib.auth.models import User

from evalsite.base.refusals import Refused
from evalsite.reports.services.judges.judge_trust import measured_verdicts
from evalsite.reports.services.report_content import ReportContent
from evalsite.review.models import Certificate, ThresholdLook
from evalsite.review.routing import MOST_LOOKS, ThresholdTarget, wrong_in_words
from evalsite.review.selectors.thresholds import plan_of, why_no_look
from evalsite.review.services.items.queues import DEFAULT_QUORUM
from evalsite.review.services.thresholds import (
    ChosenThreshold,
    LookedAt,
    LookRefused,
    issue_certificate,
    record_look,
)
from judging.judges.versions import JudgeVersion, version_from_json
from judging.statistics.coefficients.alternative_annotator import Annotators
from judging.statistics.risk_coverage import (
    Step,
    ThresholdDecision,
    choose_threshold,
    fewest_cases,
    labels_needed,
    risk_coverage,
)

ASSUMED_ERRORS = (0.0, 0.2, 0.5, 0.8)  # parts of the target's error rate
STORED_FIGURES = ("agreement", "kappa", "recalls", "cases", "labels", "confusion")


class CertificateRefused(Refused):
    """The alternative annotator test cannot be run; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What may be seen before a look: the curve, the looks, and the labels they need; never what one would say."""

    target: ThresholdTarget  # as planned, where a look was taken
    steps: tuple[Step, ...]
    taken: tuple[ThresholdLook, ...]
    why_not: str  # why no look can be taken now; empty: it can

    @property
    def wrong(self) -> str:
        """What an error is, in words."""
        return wrong_in_words(self.target.tolerance)

    @property
    def cases(self) -> int:
        """Audited cases, as many of one rate as would prove as much."""
        return self.steps[-1].proving if self.steps else 0

    @property
    def fewest(self) -> int:
        """Audited cases without which no look can succeed."""
        return fewest_cases(alpha=self.target.alpha, delta=self.target.delta_of_look)

    @property
    def next_look(self) -> int:
        return len(self.taken) + 1

    @property
    def looks(self) -> int:
        return self.target.looks or MOST_LOOKS

    @property
    def left(self) -> int:
        return self.looks - len(self.taken)

    @property
    def certainty(self) -> float:
        """Of all looks together."""
        return 1 - self.target.delta

    @property
    def certainty_of_look(self) -> float:
        """With which each look is held, so that all together have the target's."""
        return 1 - self.target.delta_of_look

    @property
    def labels_by_error(self) -> list[tuple[float, int | None]]:
        """How many accepted cases pass at an error rate that is assumed; None: more than anybody would collect."""
        rates = [share * self.target.alpha for share in ASSUMED_ERRORS]
        return [(rate, _accepted_cases(rate, self.target)) for rate in rates]


def _accepted_cases(rate: float, target: ThresholdTarget) -> int | None:
    try:
        return labels_needed(rate, alpha=target.alpha, delta=target.delta_of_look)
    except ValueError:
        return None


def preview(content: ReportContent, wanted: ThresholdTarget) -> Calibration:
    """Return what may be seen before a look at this target."""
    plan = plan_of(content["version"]["key"], wanted)
    wanted = replace(wanted, looks=wanted.looks or (plan.looks if plan else MOST_LOOKS))
    target = replace(wanted, delta=plan.delta, looks=plan.looks) if plan else wanted
    steps = risk_coverage(measured_verdicts(content, tolerance=target.tolerance))
    taken = tuple(plan.taken.all()) if plan else ()
    seen = Calibration(target, steps, taken, why_no_look(plan, wanted, labels_hash=_labels_hash(content)))
    if seen.why_not or seen.cases >= seen.fewest:
        return seen
    return replace(seen, why_not=f"{seen.cases} audited cases; at least {seen.fewest} are needed. No look was used.")


def take_look(content: ReportContent, wanted: ThresholdTarget, *, actor: User | None, at: datetime) -> ThresholdLook:
    """Test the version against the target and store the look, and the threshold where one passes.

    Wrong is what differs from people's label by more than the tolerance, in points of an ordered scale.

    Raises:
        LookRefused: nobody may look now. That uses no look.
    """
    seen = preview(content, wanted)
    if seen.why_not:
        raise LookRefused(seen.why_not)
    decision = choose_threshold(seen.steps, alpha=seen.target.alpha, delta=seen.target.delta_of_look, wrong=seen.wrong)
    return record_look(
        name=content["name"],
        version=version_of_content(content),
        target=seen.target,
        found=LookedAt(_labels_hash(content), seen.steps[-1].cases, _chosen(decision, seen.target), _reason(decision)),
        actor=actor,
        at=at,
    )


def _chosen(decision: ThresholdDecision, target: ThresholdTarget) -> ChosenThreshold | None:
    step = decision.chosen
    return ChosenThreshold(step.threshold, step.coverage, step.bound(target.delta_of_look)) if step else None


def _reason(decision: ThresholdDecision) -> str:
    needed = decision.labels_needed
    if decision.chosen or needed is None:
        return decision.reason
    return f"{decision.reason} About {needed:,} more audited cases are needed if errors stay as frequent."


def _labels_hash(content: ReportContent) -> str:
    return hashlib.sha256(json.dumps(sorted(content["measured"])).encode()).hexdigest()


def annotations_per_thousand(accepted: float) -> int:
    """Return how many annotations 1,000 verdicts cost where this share is accepted, at the quorum of new queues."""
    return round(1000 * (1 - accepted) * DEFAULT_QUORUM)


def version_of_content(content: ReportContent) -> JudgeVersion:
    """Return the version that a stored report is about."""
    return version_from_json(content["version"]["parts"])


def lacks_of(content: ReportContent) -> str:
    """Return why the alternative annotator test cannot be run, "" if it can; the same for all annotators."""
    test = content["tests"][Annotators.SKILLED.value]
    return "" if test["passed"] is not None else str(test["reason"])


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
