"""Refers what a run's judges and rules left undecided, and what its audit drew, to people. Safe to repeat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

from django.contrib.auth.models import User
from django.db.models import Avg, Count

from evalsite.base.json_types import JsonDict
from evalsite.review.models import Queue, Referral
from evalsite.review.questions.answer_forms import scale_of
from evalsite.review.questions.scales import COMPARED, Label, joined_scale, nearest_label
from evalsite.review.routing import Facts, ItemArm, Reason, RoutingDecision, RoutingPolicy, route
from evalsite.review.sampling import AuditDraw
from evalsite.review.selectors.labels.audits import drawn_share, plan_of, share_to_draw, strata_of_run
from evalsite.review.selectors.labels.subjects import (
    RubricParts,
    first_cases,
    others_of,
    own_parts_of,
    part_for,
    subject_facts,
)
from evalsite.review.selectors.thresholds import thresholds_of
from evalsite.review.selectors.verdict_reviews import FLIP_FLAGS
from evalsite.review.services.items import queues
from evalsite.review.services.referrals.audits import keep_draw
from evalsite.review.services.referrals.subject_referrals import (
    BATCH,
    ReferredSubject,
    batches,
    draw_of,
    known_arms,
    new_item,
    new_referral,
    policy,
    refer_all,
    shuffle_of,
    standing,
)
from judging.grading.grades import ScoreStatus
from judging.judges.kinds.panel import DISPUTED, kind_asked
from judging.judges.words import doubts_in_words
from judging.models import Case, EvaluatorKind, Response, Run, RunEvaluator, Score, Verdict
from judging.services.trees import tree_from_json

ChosenQuestions = Mapping[tuple[int, str], int]  # response and criterion, with the evaluator whose score was seen
NOTHING_CHOSEN: ChosenQuestions = {}


@dataclass(slots=True)
class _Finding:
    """What was found about one response under one criterion by all evaluators of a run."""

    response_id: int
    criterion: str
    labels: tuple[Label, ...] = ()  # of the criterion's scale
    verdicts: list[Verdict] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)  # of rules only

    @property
    def key(self) -> str:
        return f"{self.response_id}:{self.criterion}"

    @property
    def rows(self) -> list[Verdict | Score]:
        return [*self.verdicts, *self.scores]

    @property
    def evaluator(self) -> RunEvaluator:
        """The first that found something; all of one criterion compare with one baseline, or none does."""
        return self.rows[0].evaluator

    def by_evaluator(self) -> list[_Finding]:
        """Return what each evaluator found alone."""
        about = (self.response_id, self.criterion, self.labels)
        judged = [_Finding(*about, verdicts=[row]) for row in self.verdicts]
        return judged + [_Finding(*about, scores=[row]) for row in self.scores]


@dataclass(frozen=True, slots=True)
class _Routing:
    """What the routing of one run needs to know."""

    queue: Queue
    rules: RoutingPolicy
    draw: AuditDraw
    ends: list[int]  # the last prompt of each stratum of the draw
    close: frozenset[int]  # systems whose rank one answer could change
    parts: RubricParts
    cases: dict[int, Case]  # by prompt
    thresholds: dict[int, float]  # of confidence, by evaluator
    at: datetime
    sent_by: User | None = None  # who asked for it; None: the rules alone
    only: ChosenQuestions = field(default_factory=dict)  # what somebody sends, whatever the rules say; none: by rules


def open_items_for_run(*, run: Run, at: datetime, sent_by: User | None = None) -> int:
    """Refer each response that a run's judges or rules left undecided or the audit drew; return how many items are new.

    People are asked once per response and criterion, however many judges there were. The audit draws from the run's
    cases, which are fixed when it starts, so that a retry changes nobody's chance.
    """
    routing = _routing_of(run, at, sent_by=sent_by)
    opened = refer_all(routing.queue, _run_referred(run, routing), at)
    keep_draw(queue=routing.queue, draw=routing.draw)
    Queue.objects.filter(pk=routing.queue.pk).update(routed_at=at, audit_strata=routing.ends)
    return opened


def open_chosen_items(*, run: Run, chosen: ChosenQuestions, sent_by: User, at: datetime) -> tuple[Queue, int]:
    """Refer what somebody chose, whatever the rules say; return the run's queue and how many of its items are new.

    Whoever chose may have looked at scores, so nothing of it enters the random audit here; the routing draws that.
    """
    routing = _routing_of(run, at, sent_by=sent_by, only=chosen)
    return routing.queue, refer_all(routing.queue, _run_referred(run, routing), at)


def _routing_of(run: Run, at: datetime, *, sent_by: User | None, only: ChosenQuestions = NOTHING_CHOSEN) -> _Routing:
    evaluators, parts = list(run.evaluators.order_by("position")), RubricParts()
    queue = queues.queue_for_run(run=run, labels=_labels_of(evaluators, parts), at=at)
    (strata, ends), seed = strata_of_run(run, queue), run.suite.benchmark_id
    return _Routing(
        queue=queue,
        rules=policy(),
        draw=draw_of(strata, seed=seed, plan=plan_of(run=run), drawn=drawn_share(run=run), share=share_to_draw(run)),
        ends=ends,
        close=close_systems(run),
        parts=parts,
        cases=first_cases(run.suite_id),
        thresholds=thresholds_of(evaluators),
        at=at,
        sent_by=sent_by,
        only=only,
    )


def _labels_of(evaluators: Sequence[RunEvaluator], parts: RubricParts) -> tuple[Label, ...]:
    """Return the scale of a run's queue; where judges compare beside others, each item's own tells of them."""
    single = [evaluator for evaluator in evaluators if not evaluator.compared_with]
    if evaluators and not single:
        return COMPARED
    evaluators = single
    scales = [scale_of(None, judge=kind) for evaluator in evaluators if (kind := own_parts_of(evaluator))]
    scales += [
        scale_of(tree_from_json(tree), criterion=evaluator.criterion)
        for evaluator in evaluators
        if evaluator.rubric_id is not None and evaluator.kind == EvaluatorKind.JUDGE and not own_parts_of(evaluator)
        for tree in parts.trees_of(evaluator.rubric_id)
    ]
    return joined_scale(scales)


def close_systems(run: Run) -> frozenset[int]:
    """Return the systems that one response could bring past a neighbour: their means differ by at most 1/n."""
    rows = Score.objects.filter(run=run, share__isnull=False).values("evaluator_id", "response__system_id")
    means = sorted(
        (row["evaluator_id"], row["mean"], row["response__system_id"], row["n"])
        for row in rows.annotate(mean=Avg("share"), n=Count("pk")).order_by()
    )
    system_ids: set[int] = set()
    for lower, higher in pairwise(means):
        if lower[0] == higher[0] and higher[1] - lower[1] <= 1 / min(lower[3], higher[3]):
            system_ids |= {lower[2], higher[2]}
    return frozenset(system_ids)


def _run_referred(run: Run, routing: _Routing) -> Iterator[ReferredSubject]:
    referrals = standing(Referral.objects.filter(run=run))
    existing_arms = known_arms(referrals.values_list("response_id", "subject__criterion", "arm"))
    for findings in batches(_findings(run, routing.only), BATCH):
        responses = Response.objects.select_related("prompt").in_bulk([finding.response_id for finding in findings])
        others = _others(findings)
        for finding in findings:
            shown = [responses[finding.response_id]]
            if finding.evaluator.compared_with:
                other = others.get(finding.key)
                if other is None:
                    continue  # nothing to compare it with, which its verdict says
                shown.append(other)
            yield from _referred(
                finding, shown, routing, existing_arms.get((finding.response_id, finding.criterion), frozenset())
            )


def _others(findings: Sequence[_Finding]) -> dict[str, Response]:
    """Return what responses were compared with, by finding."""
    by_evaluator: dict[int, list[_Finding]] = {}
    for finding in findings:
        if finding.evaluator.compared_with:
            by_evaluator.setdefault(finding.evaluator.pk, []).append(finding)
    by_finding: dict[str, Response] = {}
    for group in by_evaluator.values():
        others = others_of(group[0].evaluator, [finding.response_id for finding in group])
        by_finding |= {finding.key: others[finding.response_id] for finding in group if finding.response_id in others}
    return by_finding


def _findings(run: Run, only: ChosenQuestions) -> Iterator[_Finding]:
    """Yield what was found, response by response, page by page (see `row_pages`). `only`: about these alone."""
    verdicts = Verdict.objects.filter(run=run).select_related("evaluator", "score").defer("rationale")
    scores = Score.objects.filter(run=run, verdict__isnull=True).exclude(evaluator__kind=EvaluatorKind.INDEX)
    scores = scores.select_related("evaluator")
    response_ids = {response_id for response_id, _ in only} or {
        *verdicts.values_list("response_id", flat=True),
        *scores.values_list("response_id", flat=True),
    }
    for page in batches(sorted(response_ids), BATCH):
        by_key: dict[tuple[int, str], _Finding] = {}
        for verdict in verdicts.filter(response__in=page).order_by("evaluator__position"):
            key = (verdict.response_id, verdict.evaluator.criterion)
            by_key.setdefault(key, _Finding(*key)).verdicts.append(verdict)
        for score in scores.filter(response__in=page).order_by("evaluator__position"):
            key = (score.response_id, score.evaluator.criterion)
            by_key.setdefault(key, _Finding(*key)).scores.append(score)
        findings = sorted(by_key.items(), key=lambda pair: pair[0][0])  # stable: evaluators keep their order
        yield from (finding for key, finding in findings if not only or key in only)


def _referred(
    finding: _Finding, shown: Sequence[Response], routing: _Routing, existing_arms: frozenset[str]
) -> Iterator[ReferredSubject]:
    """Yield the subject of one response, or of it and what it was compared with, unless it was referred before."""
    shuffle, response = shuffle_of(routing.queue, finding.key), shown[0]
    case_key = response.prompt.key
    part = part_for(finding.evaluator, routing.parts, case_key=case_key)
    finding.labels = part.labels
    facts = replace(
        _run_facts(finding, routing),
        can_flip_rank=response.system_id in routing.close,
        shuffle=shuffle,
        audit_probability=None if routing.only else routing.draw.chances.get(case_key),
    )
    decision = route(facts, routing.rules)
    if decision.arms <= existing_arms:
        return
    item = new_item(routing.queue, decision, shuffle, routing.at)
    item.sent_by = routing.sent_by if routing.only or item.arm == ItemArm.ROUTED else None
    item.response_a, item.criterion = response, finding.criterion
    item.response_b = shown[1] if len(shown) == 2 else None
    case = routing.cases.get(response.prompt_id)
    if case is not None:
        item.scenario, item.language = case.scenario, case.lang
    subject = subject_facts(responses=shown, case=case, part=part, criterion=finding.criterion, labels=part.labels)
    yield ReferredSubject(subject, item, _referrals(finding, decision, routing))


def _referrals(finding: _Finding, decision: RoutingDecision, routing: _Routing) -> list[Referral]:
    """Return why one response is referred: an entry of the audit, and one of each evaluator that is in doubt."""
    about: JsonDict = {"run_id": routing.queue.run_id, "response_id": finding.response_id}
    referrals = []
    if ItemArm.AUDIT in decision.arms:
        referrals.append(new_referral(decision, ItemArm.AUDIT, reason=Reason.AUDIT, **about))
    if ItemArm.ROUTED not in decision.arms:
        return referrals
    if routing.only:
        reasons = {routing.only[finding.response_id, finding.criterion]: Reason.SENT_BY_HAND}
    else:
        reasons = {
            alone.rows[0].evaluator_id: decision_alone.reasons[0]
            for alone in finding.by_evaluator()
            if (decision_alone := route(_run_facts(alone, routing), routing.rules)).is_routed
        }
    joint = decision.reason_of(ItemArm.ROUTED)
    reasons = reasons or {row.evaluator_id: joint for row in finding.rows}  # a disagreement of judges is everybody's
    for evaluator_id, reason in reasons.items():
        referrals.append(new_referral(decision, ItemArm.ROUTED, reason=reason, evaluator_id=evaluator_id, **about))
    return referrals


def _run_facts(finding: _Finding, routing: _Routing) -> Facts:
    worst = next((row.status for row in finding.verdicts if row.status in {"failed", "refused", "unparsed"}), "")
    confidence, threshold = _least_sure(finding, routing.thresholds)
    undecided = next((row for row in finding.scores if row.status != ScoreStatus.COMPLETE), None)
    return Facts(
        key=finding.key,
        verdict_status=worst,
        doubts=doubts_in_words(flag for row in finding.verdicts for flag in row.flags),
        confidence=confidence,
        own_threshold=threshold,
        order_flipped=any(FLIP_FLAGS.intersection(row.flags) for row in finding.verdicts),
        judge_labels=_judge_labels(finding),
        panel=next((votes for row in finding.verdicts if (votes := _disputed_votes(row))), ()),
        grader_problem=_problem(undecided) if undecided is not None else "",
        sent=bool(routing.only),
    )


def _least_sure(finding: _Finding, thresholds: dict[int, float]) -> tuple[float | None, float | None]:
    """Return confidence and threshold of the verdict that falls short by most; None where none was measured."""
    rows = ((row.confidence, thresholds[row.evaluator_id]) for row in finding.verdicts)
    measured = [(confidence, threshold) for confidence, threshold in rows if confidence is not None]
    return min(measured, key=lambda pair: pair[0] - pair[1], default=(None, None))


def _disputed_votes(verdict: Verdict) -> tuple[float, ...]:
    """Return the votes of a panel that lie beyond its margin, or have no majority; nothing where they decide it."""
    score: Score | None = getattr(verdict, "score", None)
    if score is None or not DISPUTED.intersection(score.flags):
        return ()
    return tuple(share for share in score.detail["votes"].values() if share is not None)


def _judge_labels(finding: _Finding) -> tuple[str, ...]:
    """Return the labels of the judges that answered one question and disagree, else of the first such judges.

    Judges by one rubric are a panel; two rubrics, or two kinds of judge without one, ask different questions.
    """
    by_question: dict[tuple[int | None, str], list[str]] = {}
    for row in finding.verdicts:
        score = getattr(row, "score", None)
        label = nearest_label(score.share, finding.labels) if score is not None and score.share is not None else ""
        if label:
            evaluator = row.evaluator
            kind = "" if evaluator.rubric_id is not None else kind_asked(evaluator.options)
            by_question.setdefault((evaluator.rubric_id, kind), []).append(label)
    panels = [tuple(labels) for labels in by_question.values()]
    return next((labels for labels in panels if len(set(labels)) > 1), next(iter(panels), ()))


def _problem(score: Score) -> str:
    text = score.detail.get("reason") or score.detail.get("error") or ", ".join(map(str, score.flags))
    return str(text or score.get_status_display().lower())
