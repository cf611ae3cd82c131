"""Opens items for what machines left undecided and for the audit. Safe to repeat: what has an item is skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby, islice, pairwise
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Avg, Count, Prefetch, Q

from debate.models import Debate, DebateSet, DebateStatus, Statement
from evalsite.review.models import AuditPlan, ItemArm, ItemStatus, Queue, ReviewItem
from evalsite.review.routing import Decision, Facts, Reason, RoutingPolicy, route
from evalsite.review.sampling import AuditDraw, draw_audit, draw_sample, uniform_number
from evalsite.review.scales import PREFERENCE, Label, joined_scale, labels_from_json, nearest_label, scale_of
from evalsite.review.selectors.asked import FLIP_FLAGS
from evalsite.review.selectors.audits import debate_keys, drawn_size, plan_of, run_keys
from evalsite.review.selectors.pending import asks_people
from evalsite.review.selectors.subjects import RubricTrees, hash_of
from evalsite.review.services import queues
from evalsite.review.services.audits import mark_audited
from evalsite.review.services.settling import move_item
from judging.judges.words import doubts_in_words
from judging.models import EvaluatorKind, Response, Run, RunEvaluator, Score, ScoreStatus, Verdict
from judging.services.trees import tree_from_json

T = TypeVar("T")

BATCH = 500
RETRIED = "The debate had failed, was tried again and ended with a verdict."
ENDED = (DebateStatus.AGREED, DebateStatus.UNRESOLVED, DebateStatus.FAILED)


def policy() -> RoutingPolicy:
    """Return what the site's settings send to people."""
    return RoutingPolicy(confidence_threshold=settings.REVIEW_CONFIDENCE_THRESHOLD)


def open_items_for_debates(*, debate_set: DebateSet, at: datetime) -> int:
    """Open an item for each unresolved or audited debate of a set, and return how many are new.

    People are not asked about baselines, nor where the criterion was damaged to see what that does.
    """
    if not asks_people(debate_set):
        return 0
    rules = policy()
    queue = queues.queue_for_debates(debate_set=debate_set, labels=PREFERENCE, at=at)
    draw = _draw(debate_keys(debate_set), seed=debate_set.pk, plan=plan_of(debate_set=debate_set), queue=queue)
    _follow_retries(queue, draw, at)
    known = set(queue.items.values_list("debate_id", flat=True))
    ended = debate_set.debates.filter(status__in=ENDED).select_related("case__prompt", "response_a", "response_b")
    ended = ended.prefetch_related(
        Prefetch("speakers__statements", Statement.objects.only("speaker", "round", "verdict"))
    )
    trees = RubricTrees()
    if debate_set.rubric is not None:
        trees.load([debate_set.rubric])

    def found() -> Iterator[ReviewItem]:
        for debate in ended.order_by("pk").iterator(BATCH):
            if debate.pk in known:
                continue
            shuffle = _shuffle(queue, f"debate:{debate.pk}")
            decision = route(_debate_facts(debate, draw, shuffle), rules)
            if decision.is_routed:
                tree = trees.get(debate_set.rubric, debate.case.key)
                fingerprint = hash_of(
                    prompt_hash=debate.case.prompt.content_hash,
                    text_hashes=[debate.response_a.text_hash, debate.response_b.text_hash],
                    tree=tree,
                    criterion=debate_set.criterion,
                )
                item = _item(queue, decision, shuffle, at)
                item.debate, item.content_hash = debate, fingerprint
                item.criterion, item.scenario, item.language = debate_set.criterion, debate.scenario, debate.case.lang
                yield item

    opened = _store(queue, found())
    mark_audited(queue=queue, draw=draw)
    Queue.objects.filter(pk=queue.pk).update(routed_at=at)
    return opened


@transaction.atomic
def _follow_retries(queue: Queue, draw: AuditDraw, at: datetime) -> None:
    """Bring the items of debates that failed and were tried again up to date; what people have begun stays theirs."""
    failed = Q(status=ItemStatus.OPEN, reason=Reason.FAILED_VERDICT.value) & ~Q(debate__status=DebateStatus.FAILED)
    items = queue.items.filter(failed | Q(status=ItemStatus.EXCLUDED, excluded_because=RETRIED), retest_of=None)
    for item in items.select_for_update(of=("self",)).select_related("debate", "queue").order_by("pk"):
        if item.debate is None or item.debate.status not in ENDED:
            continue
        decision = route(_debate_facts(item.debate, draw, item.shuffle), policy())
        if decision.is_routed:
            item.reason, item.reason_text, item.priority = decision.reasons[0].value, decision.text, decision.priority
            item.excluded_because = ""
            item.save(update_fields=["reason", "reason_text", "priority", "excluded_because"])
            if not item.is_open:
                move_item(item=item, status=ItemStatus.OPEN, label="", at=at)
        elif item.is_open and not item.assignments.exists():
            item.excluded_because = RETRIED
            item.save(update_fields=["excluded_because"])
            move_item(item=item, status=ItemStatus.EXCLUDED, label="", at=at)


def _debate_facts(debate: Debate, draw: AuditDraw, shuffle: int) -> Facts:
    key = str(debate.pk)
    return Facts(
        key=key,
        is_debate=True,
        debate_rounds=debate.round_count if debate.status == DebateStatus.UNRESOLVED else None,
        votes=_last_votes(debate),
        verdict_status="failed" if debate.status == DebateStatus.FAILED else "",
        audit_probability=draw.probability if key in draw.chosen else None,
        shuffle=shuffle,
    )


def _last_votes(debate: Debate) -> tuple[int | None, ...]:
    """Return what each speaker said last, in the order of their seats."""
    speakers = sorted(debate.speakers.all(), key=lambda speaker: speaker.seat)
    said = [max(speaker.statements.all(), key=lambda statement: statement.round, default=None) for speaker in speakers]
    return tuple(statement.verdict for statement in said if statement is not None)


@dataclass(slots=True)
class _Finding:
    """What was found about one response under one criterion by all evaluators of a run."""

    response_id: int
    criterion: str
    verdicts: list[Verdict] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)  # of rules only

    @property
    def key(self) -> str:
        return f"{self.response_id}:{self.criterion}"


@dataclass(frozen=True, slots=True)
class _Routing:
    """What the routing of one run needs to know."""

    queue: Queue
    rules: RoutingPolicy
    labels: tuple[Label, ...]
    draw: AuditDraw
    close: frozenset[int]  # systems whose rank one answer could change
    trees: RubricTrees
    groups: dict[int, tuple[str, str]]  # scenario and language by prompt
    at: datetime
    sent_by: User | None = None  # who asked for it; None: the rules alone
    only: Verdict | None = None  # the one verdict that somebody sends, whatever the rules say


def open_items_for_run(*, run: Run, at: datetime, sent_by: User | None = None) -> int:
    """Open an item for each response that a run's judges or rules left undecided or the audit drew; return how many.

    People are asked once per response and criterion, however many judges there were. The audit draws from the run's
    tasks, which are fixed when it starts, so that a retry changes nobody's chance.
    """
    routing = _routing_of(run, at, sent_by=sent_by)
    opened = _store(routing.queue, _run_items(run, routing))
    mark_audited(queue=routing.queue, draw=routing.draw)
    Queue.objects.filter(pk=routing.queue.pk).update(routed_at=at)
    return opened


def open_item_for_verdict(*, verdict: Verdict, sent_by: User, at: datetime) -> Queue:
    """Open an item for the response and criterion of one verdict, whatever the rules say; return its queue."""
    routing = _routing_of(verdict.run, at, sent_by=sent_by, only=verdict)
    _store(routing.queue, _run_items(verdict.run, routing))
    return routing.queue


def _routing_of(run: Run, at: datetime, *, sent_by: User | None, only: Verdict | None = None) -> _Routing:
    evaluators = list(run.evaluators.select_related("rubric").order_by("position"))
    trees = RubricTrees()
    trees.load([evaluator.rubric for evaluator in evaluators if evaluator.rubric is not None])
    queue = queues.queue_for_run(run=run, labels=_labels_of(evaluators, trees), at=at)
    cases = run.suite.cases.order_by("-pk")  # of several cases of one prompt, the first one's groups
    return _Routing(
        queue=queue,
        rules=policy(),
        labels=labels_from_json(queue.labels),
        draw=_draw(run_keys(run), seed=run.pk, plan=plan_of(run=run), queue=queue),
        close=close_systems(run),
        trees=trees,
        groups={pk: (scenario, lang) for pk, scenario, lang in cases.values_list("prompt_id", "scenario", "lang")},
        at=at,
        sent_by=sent_by,
        only=only,
    )


def _draw(keys: Sequence[str], *, seed: int, plan: AuditPlan | None, queue: Queue) -> AuditDraw:
    """Return the sample of the plan, or of the site's share; never a smaller one than what was drawn before."""
    draw = draw_audit(keys, seed=seed, share=settings.REVIEW_AUDIT_SHARE, minimum=settings.REVIEW_AUDIT_MINIMUM)
    if plan is not None:
        draw = draw_sample(keys, seed=seed, size=plan.size)
    drawn = drawn_size(queue=queue, population=len(keys))
    return draw_sample(keys, seed=seed, size=drawn) if drawn > len(draw.chosen) else draw


def _labels_of(evaluators: Sequence[RunEvaluator], trees: RubricTrees) -> tuple[Label, ...]:
    scales = [
        scale_of(tree_from_json(tree), criterion=evaluator.criterion)
        for evaluator in evaluators
        if evaluator.rubric is not None and evaluator.kind == EvaluatorKind.JUDGE
        for tree in trees.of(evaluator.rubric)
    ]
    return joined_scale(scales)


def close_systems(run: Run) -> frozenset[int]:
    """Return the systems that one response could bring past a neighbour: their means differ by at most 1/n."""
    rows = Score.objects.filter(run=run, share__isnull=False).values("evaluator_id", "response__system_id")
    means = sorted(
        (row["evaluator_id"], row["mean"], row["response__system_id"], row["n"])
        for row in rows.annotate(mean=Avg("share"), n=Count("pk")).order_by()
    )
    found: set[int] = set()
    for lower, higher in pairwise(means):
        if lower[0] == higher[0] and higher[1] - lower[1] <= 1 / min(lower[3], higher[3]):
            found |= {lower[2], higher[2]}
    return frozenset(found)


def _run_items(run: Run, routing: _Routing) -> Iterator[ReviewItem]:
    known = _known_subjects(routing.queue)
    for findings in _batches(_findings(run, routing.only), BATCH):
        responses = Response.objects.select_related("prompt").in_bulk([finding.response_id for finding in findings])
        for finding in findings:
            if (finding.response_id, finding.criterion) not in known:
                item = _run_item(finding, responses[finding.response_id], routing)
                if item is not None:
                    yield item


def _known_subjects(queue: Queue) -> set[tuple[int, str]]:
    rows = queue.items.values_list("verdict__response_id", "score__response_id", "criterion")
    return {(by_verdict or by_score or 0, criterion) for by_verdict, by_score, criterion in rows}


def _findings(run: Run, only: Verdict | None) -> Iterator[_Finding]:
    """Yield what was found, response by response; both tables are read once, in step. `only`: about its subject."""
    verdicts = Verdict.objects.filter(run=run).select_related("evaluator__rubric", "score").defer("rationale")
    verdicts = verdicts.order_by("response_id", "evaluator__position")
    scores = Score.objects.filter(run=run, verdict__isnull=True).exclude(evaluator__kind=EvaluatorKind.INDEX)
    scores = scores.select_related("evaluator__rubric")
    scores = scores.order_by("response_id", "evaluator__position")
    if only is not None:
        subject = {"response": only.response_id, "evaluator__criterion": only.evaluator.criterion}
        verdicts, scores = verdicts.filter(**subject), scores.filter(**subject)
    score_groups = groupby(scores.iterator(BATCH), key=lambda row: row.response_id)
    verdict_groups = groupby(verdicts.iterator(BATCH), key=lambda row: row.response_id)
    yield from _merge(verdict_groups, score_groups)


def _merge(verdict_groups: Iterable[Any], score_groups: Iterable[Any]) -> Iterator[_Finding]:
    left, right = iter(verdict_groups), iter(score_groups)
    judged, ruled = next(left, None), next(right, None)
    while judged is not None or ruled is not None:
        response_id = min(group[0] for group in (judged, ruled) if group is not None)
        found: dict[str, _Finding] = {}
        if judged is not None and judged[0] == response_id:
            for verdict in judged[1]:
                criterion = verdict.evaluator.criterion
                found.setdefault(criterion, _Finding(response_id, criterion)).verdicts.append(verdict)
            judged = next(left, None)
        if ruled is not None and ruled[0] == response_id:
            for score in ruled[1]:
                criterion = score.evaluator.criterion
                found.setdefault(criterion, _Finding(response_id, criterion)).scores.append(score)
            ruled = next(right, None)
        yield from found.values()


def _run_item(finding: _Finding, response: Response, routing: _Routing) -> ReviewItem | None:
    shuffle = _shuffle(routing.queue, finding.key)
    facts = _run_facts(finding, routing, shuffle)
    decision = route(replace(facts, can_flip_rank=response.system_id in routing.close), routing.rules)
    if not decision.is_routed:
        return None
    item = _item(routing.queue, decision, shuffle, routing.at)
    item.sent_by = routing.sent_by if routing.only is not None or item.arm == ItemArm.ROUTED else None
    about = finding.verdicts[0] if finding.verdicts else finding.scores[0]
    if isinstance(about, Verdict):
        item.verdict = about
    else:
        item.score = about
    item.criterion = finding.criterion
    item.scenario, item.language = routing.groups.get(response.prompt_id, ("", ""))
    item.content_hash = hash_of(
        prompt_hash=response.prompt.content_hash,
        text_hashes=[response.text_hash],
        tree=routing.trees.get(about.evaluator.rubric, response.prompt.key),
        criterion=finding.criterion,
    )
    return item


def _run_facts(finding: _Finding, routing: _Routing, shuffle: int) -> Facts:
    worst = next((row.status for row in finding.verdicts if row.status in {"failed", "refused", "unparsed"}), "")
    confidences = [row.confidence for row in finding.verdicts if row.confidence is not None]
    undecided = next((row for row in finding.scores if row.status != ScoreStatus.COMPLETE), None)
    return Facts(
        key=finding.key,
        verdict_status=worst,
        doubts=doubts_in_words(flag for row in finding.verdicts for flag in row.flags),
        confidence=min(confidences, default=None),
        order_flipped=any(FLIP_FLAGS.intersection(row.flags) for row in finding.verdicts),
        jury=_jury(finding, routing.labels),
        grader_problem=_problem(undecided) if undecided is not None else "",
        audit_probability=routing.draw.probability if finding.key in routing.draw.chosen else None,
        sent=routing.only is not None,
        shuffle=shuffle,
    )


def _jury(finding: _Finding, labels: tuple[Label, ...]) -> tuple[str, ...]:
    """Return the labels of the judges that answered one question and split over it, else of the first such judges.

    Judges by one rubric are a panel; two rubrics, or two kinds of judge without one, ask different questions.
    """
    panels: dict[tuple[int | None, str], list[str]] = {}
    for row in finding.verdicts:
        score = getattr(row, "score", None)
        label = nearest_label(score.share, labels) if score is not None and score.share is not None else ""
        if label:
            asked = row.evaluator
            kind = "" if asked.rubric_id is not None else str(asked.options.get("judge_kind", ""))
            panels.setdefault((asked.rubric_id, kind), []).append(label)
    found = [tuple(panel) for panel in panels.values()]
    return next((panel for panel in found if len(set(panel)) > 1), next(iter(found), ()))


def _problem(score: Score) -> str:
    text = score.detail.get("reason") or score.detail.get("error") or ", ".join(map(str, score.flags))
    return str(text or score.get_status_display().lower())


def _batches(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    waiting = iter(rows)
    while batch := list(islice(waiting, size)):
        yield batch


def _shuffle(queue: Queue, key: str) -> int:
    return int(uniform_number("item", queue.pk, key) * 2**53)


def _item(queue: Queue, decision: Decision, shuffle: int, at: datetime) -> ReviewItem:
    return ReviewItem(
        queue=queue,
        reason=decision.reasons[0].value,
        reason_text=decision.text,
        arm=decision.arm.value if decision.arm else "",
        inclusion_probability=decision.inclusion_probability,
        priority=decision.priority,
        shuffle=shuffle,
        quorum=queue.quorum,
        created_at=at,
    )


def _store(queue: Queue, items: Iterable[ReviewItem]) -> int:
    """Store items batch by batch, then bring the counters up to date; an outage in the middle is mended by a repeat."""
    before = ReviewItem.objects.filter(queue=queue).count()
    for batch in _batches(items, BATCH):
        ReviewItem.objects.bulk_create(batch, ignore_conflicts=True)
    with transaction.atomic():
        queues.recount(queue_id=queue.pk)
    return ReviewItem.objects.filter(queue=queue).count() - before
