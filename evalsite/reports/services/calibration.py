"""Thresholds and certificates from a stored report on a judge's audit, what state they are in, and its charts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.contrib.auth.models import User
from django.utils.timezone import localtime

from evalsite.base.types import Refused
from evalsite.reports.services import snapshots
from evalsite.reports.services.charts import (
    MAX_TICKS,
    Axis,
    Chart,
    Point,
    Series,
    draw,
    highest,
    percent_axis,
    thinned,
)
from evalsite.reports.services.judge_reports import JUDGES, JudgeFigures
from evalsite.reports.services.judge_trust import AnchorDrift, lacks_of, measured_verdicts
from evalsite.reports.services.snapshots import ReportContent
from evalsite.review.models import Certificate, EvaluatorThreshold, ThresholdLook
from evalsite.review.routing import MOST_LOOKS, ThresholdTarget, wrong_in_words
from evalsite.review.selectors.verdict_reviews import plan_of, why_no_look
from evalsite.review.services.judge_versions import (
    ChosenThreshold,
    LookedAt,
    LookRefused,
    issue_certificate,
    record_look,
)
from evalsite.review.services.queues import DEFAULT_QUORUM
from judging.judges.judge_kinds import JudgeVersion, changes_between, version_from_json
from judging.models import EvaluatorKind, RunEvaluator
from judging.selectors.judges import versions_of
from judging.statistics.judge_quality import (
    Annotators,
    ReliabilityBin,
    Step,
    ThresholdDecision,
    choose_threshold,
    fewest_cases,
    labels_needed,
    risk_coverage,
)

ASSUMED_ERRORS = (0.0, 0.2, 0.5, 0.8)  # parts of the target's error rate
UNMEASURED = (
    "No labelled verdict has a measured confidence. A judge measures it if its option “confidence” is “samples” or "
    "“labels”, or if it is asked in both orders. No look was used."
)
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
    dropped: ThresholdLook | None = None  # the last one, on the labels of now, whose threshold is not in force

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
    why_not = why_no_look(plan, wanted, labels_hash=_labels_hash(content))
    seen = Calibration(target, steps, taken, why_not, _dropped(taken, content) if target == wanted else None)
    if seen.why_not or seen.cases >= seen.fewest:
        return seen
    if content["items"] and not content["measured"]:
        return replace(seen, why_not=UNMEASURED)
    return replace(seen, why_not=f"{seen.cases} audited cases; at least {seen.fewest} are needed. No look was used.")


def _dropped(taken: Sequence[ThresholdLook], content: ReportContent) -> ThresholdLook | None:
    last = taken[-1] if taken and taken[-1].threshold is not None else None
    if last is None or last.labels_hash != _labels_hash(content):
        return None
    return None if EvaluatorThreshold.objects.filter(look=last).exists() else last


def take_look(content: ReportContent, wanted: ThresholdTarget, *, actor: User | None, at: datetime) -> ThresholdLook:
    """Test the version against the target and store the look, and the threshold where one passes.

    A threshold that was removed or replaced since is put in force again where nothing was labelled since its look,
    which uses no other. Wrong is what differs from people's label by more than the tolerance, in points of a scale.

    Raises:
        LookRefused: nobody may look now. That uses no look.
    """
    seen = preview(content, wanted)
    if seen.why_not and seen.dropped is None:
        raise LookRefused(seen.why_not)
    decision = choose_threshold(seen.steps, alpha=seen.target.alpha, delta=seen.target.delta_of_look, wrong=seen.wrong)
    labels, chosen = _labels_hash(content), _chosen(decision, seen.target)
    return record_look(
        name=content["name"],
        version=version_of_content(content),
        target=seen.target,
        found=LookedAt(labels, seen.steps[-1].cases, chosen, _reason(decision), again=seen.dropped),
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


def risk_coverage_chart(calibration: Calibration) -> Chart:
    """Return the error rate by the share of verdicts accepted, with the target; what passes is for a look to say."""
    risks = [
        Point(
            step.coverage,
            step.risk,
            says=f"confidence {step.threshold:.2f} or more: {step.coverage:.0%} accepted, "
            f"{step.risk:.1%} {calibration.wrong}",
        )
        for step in calibration.steps
    ]
    alpha = calibration.target.alpha
    top = min(1.0, highest((point.y for point in risks), least=2.5 * alpha))
    y = percent_axis("Error rate of accepted verdicts", high=top)
    series = [
        Series("Target", [Point(0, alpha), Point(1, alpha)], tone="guide"),
        Series("Error rate", thinned(risks), has_dots=len(risks) <= 40),
    ]
    return draw("Risk and coverage", percent_axis("Verdicts accepted"), y, series)


def reliability_chart(bins: Sequence[ReliabilityBin]) -> Chart:
    """Return agreement with people by measured confidence; on the dashed line both are equal."""
    points = []
    for part in bins:
        agreement = part.agreement
        says = f"confidence {part.low:.2f} to {part.high:.2f}: {agreement.value or 0:.0%} agree, {agreement.n} cases"
        points.append(Point(part.confidence, agreement.value or 0.0, agreement.low, agreement.high, says))
    series = [
        Series("Equal", [Point(0, 0), Point(1, 1)], tone="guide"),
        Series("Judge, 95% intervals", points, has_dots=True),
    ]
    return draw("Reliability", percent_axis("Measured confidence"), percent_axis("Agrees with people"), series)


def drift_chart(drift: AnchorDrift) -> Chart:
    """Return agreement with people on the anchors by date."""
    rows = [row for row in drift.rows if row.agreement.value is not None]
    moments = [row.at.timestamp() for row in rows] or [0.0]
    points = [
        Point(
            row.at.timestamp(),
            row.agreement.value or 0.0,
            row.agreement.low,
            row.agreement.high,
            f"{_day(row.at)}: {row.agreement.value or 0:.0%} of {row.agreement.n} agree",
        )
        for row in rows
    ]
    spread = max(moments) - min(moments) or 86_400.0
    low, high = min(moments) - spread * 0.06, max(moments) + spread * 0.06
    step = max(1, -(-len(rows) // MAX_TICKS))
    ticks = [(row.at.timestamp(), _day(row.at)) for row in rows[::step]]
    x = Axis("Date", low, high, _spaced(ticks, high - low))
    series = [Series("Agreement, 95% intervals", points, has_dots=True)]
    return draw("Drift on the anchor set", x, percent_axis("Agrees with people"), series)


def _spaced(ticks: Sequence[tuple[float, str]], width: float) -> list[tuple[float, str]]:
    """Return the ticks whose labels do not overlap."""
    spaced: list[tuple[float, str]] = []
    for at, text in ticks:
        if not spaced or at - spaced[-1][0] >= width / MAX_TICKS:
            spaced.append((at, text))
    return spaced


def _day(moment: datetime) -> str:
    return f"{localtime(moment):%d %b %Y}"


def certificates_of_judges(rows: Sequence[JudgeFigures]) -> list[CertificateState]:
    """Return the state of the certificate of each row of the judges' report. Two queries."""
    states = states_of([(row.name, version_from_json(row.parts)) for row in rows])
    return [replace(state, lacks=row.test_lacks) for row, state in zip(rows, states, strict=True)]


def certificate_beside(evaluator: RunEvaluator) -> CertificateState | None:
    """Return the state of the certificate of the judge that scored a board; None for rules.

    Why the test was not run is taken from a stored report on judges, where one is up to date.
    """
    state = certificate_states([evaluator]).get(evaluator.pk)
    if state is None or state.certificate is not None or state.lapsed is not None:
        return state
    key = versions_of([evaluator])[evaluator.pk].key
    report = snapshots.current_content(JUDGES, subject_id=0)
    lacks = (row.test_lacks for row in (report.judges if report is not None else ()) if row.version == key)
    return replace(state, lacks=next(lacks, ""))


@dataclass(frozen=True, slots=True)
class ThresholdState:
    """The threshold of a version, or the newest of an earlier version with what has changed since."""

    saved: EvaluatorThreshold | None
    lapsed: EvaluatorThreshold | None = None
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CertificateState:
    """The certificate of a version, or the newest of an earlier version with what has changed since."""

    name: str
    certificate: Certificate | None
    lapsed: Certificate | None = None
    changes: tuple[str, ...] = ()
    lacks: str = ""  # what the test lacks to be held, where that is known

    @property
    def words(self) -> str:
        """The state in one sentence."""
        if self.certificate is not None:
            outcome = "passed" if self.certificate.passed else "not passed"
            return f"Alternative annotator test {outcome}, {self.certificate.items} audited items."
        if self.lapsed is not None:
            return f"Certificate lapsed. {' '.join(self.changes)}"
        return f"No certificate. {self.why_not}".rstrip()

    @property
    def why_not(self) -> str:
        """Why there is no certificate and none has lapsed; empty where it is not known."""
        return f"No test: {self.lacks}" if self.lacks else ""


def threshold_state(*, name: str, version: JudgeVersion) -> ThresholdState:
    """Return the threshold that the next runs of a version are routed by."""
    saved = EvaluatorThreshold.objects.select_related("saved_by", "look")
    current = saved.filter(version_key=version.key).first()
    if current is not None:
        return ThresholdState(current)
    lapsed = saved.filter(evaluator_name=name).order_by("-saved_at", "-pk").first()
    if lapsed is None:
        return ThresholdState(None)
    return ThresholdState(None, lapsed, changes_between(version_from_json(lapsed.version), version))


def certificate_states(evaluators: Sequence[RunEvaluator]) -> dict[int, CertificateState]:
    """Return the state of each judge's certificate by its key, with three queries; rules have none."""
    judges = [evaluator for evaluator in evaluators if evaluator.kind == EvaluatorKind.JUDGE]
    versions = versions_of(judges)
    return {
        judge.pk: state
        for judge, state in zip(judges, states_of([(judge.name, versions[judge.pk]) for judge in judges]), strict=True)
    }


def certificate_state(content: ReportContent) -> CertificateState:
    """Return the state of the certificate of the version that a stored report is about."""
    return replace(states_of([(content["name"], version_of_content(content))])[0], lacks=lacks_of(content))


def states_of(versions: Sequence[tuple[str, JudgeVersion]]) -> list[CertificateState]:
    """Return the states of the certificates of versions, each with its judge's name, in order. Two queries."""
    certificates = Certificate.objects.select_related("issued_by")
    keys = {version.key for _, version in versions}
    by_key = {row.version_key: row for row in certificates.filter(version_key__in=keys)}
    others = certificates.filter(evaluator_name__in={name for name, _ in versions}).order_by("issued_at", "pk")
    newest = {row.evaluator_name: row for row in others}
    states = []
    for name, version in versions:
        current, lapsed = by_key.get(version.key), newest.get(name)
        if current is not None or lapsed is None:
            states.append(CertificateState(name, current))
        else:
            changes = changes_between(version_from_json(lapsed.version), version)
            states.append(CertificateState(name, None, lapsed, changes))
    return states
