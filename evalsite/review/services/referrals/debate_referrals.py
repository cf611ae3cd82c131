"""Refers what debates left unresolved, and what the audit of a set drew, to people. Safe to repeat."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import chain

from django.db import transaction
from django.db.models import Prefetch, Q

from debate.models import Debate, DebateSet, DebateStatus, Statement
from evalsite.base.row_pages import row_pages
from evalsite.review.models import Queue, Referral
from evalsite.review.questions.scales import PREFERENCE
from evalsite.review.routing import Facts, ItemArm, Reason, route
from evalsite.review.sampling import AuditDraw
from evalsite.review.selectors.labels.audits import drawn_share, keys_of_debates, plan_of
from evalsite.review.selectors.labels.subjects import RubricParts, pair_facts
from evalsite.review.selectors.unrouted import asks_people
from evalsite.review.services.items import queues
from evalsite.review.services.items.decisions import move_item
from evalsite.review.services.referrals.audits import keep_draw
from evalsite.review.services.referrals.subject_referrals import (
    BATCH,
    ReferredSubject,
    draw_of,
    known_arms,
    new_item,
    new_referral,
    policy,
    refer_all,
    shuffle_of,
    standing,
)
from evalsite.review.states import ItemStatus

RETRIED = "The debate had failed, was retried and ended with a verdict."
ENDED = (DebateStatus.AGREED, DebateStatus.UNRESOLVED, DebateStatus.FAILED)


def open_items_for_debates(*, debate_set: DebateSet, at: datetime) -> int:
    """Refer each unresolved or audited debate of a set to people, and return how many items are new.

    People are not asked about baselines, nor where the criterion was perturbed to see what that does.
    """
    if not asks_people(debate_set):
        return 0
    queue = queues.queue_for_debates(debate_set=debate_set, labels=PREFERENCE, at=at)
    benchmark_id, keys = keys_of_debates(debate_set)
    draw = draw_of(
        [keys], seed=benchmark_id, plan=plan_of(debate_set=debate_set), drawn=drawn_share(debate_set=debate_set)
    )
    _follow_retries(queue, debate_set, draw, at)
    opened = refer_all(queue, _debates_referred(debate_set, queue, draw, at), at)
    keep_draw(queue=queue, draw=draw)
    Queue.objects.filter(pk=queue.pk).update(routed_at=at)
    return opened


def _debates_referred(debate_set: DebateSet, queue: Queue, draw: AuditDraw, at: datetime) -> Iterator[ReferredSubject]:
    rules, parts = policy(), RubricParts()
    referrals = standing(Referral.objects.filter(debate_set=debate_set))
    existing_arms = known_arms(referrals.values_list("debate_id", "arm"))
    ended = debate_set.debates.filter(status__in=ENDED).select_related(
        "case", "response_a__prompt", "response_b__prompt"
    )
    ended = ended.prefetch_related(Prefetch("agents__statements", Statement.objects.only("agent", "round", "verdict")))
    for debate in chain.from_iterable(row_pages(ended, BATCH)):
        shuffle = shuffle_of(queue, f"debate:{debate.pk}")
        decision = route(_debate_facts(debate, draw, shuffle), rules)
        if decision.arms <= existing_arms.get((debate.pk,), frozenset()):
            continue
        item = new_item(queue, decision, shuffle, at)
        item.response_a, item.response_b = debate.response_a, debate.response_b
        item.criterion, item.scenario, item.language = debate_set.criterion, debate.scenario, debate.case.lang
        new_referrals = [
            new_referral(decision, arm, debate_set=debate_set, debate=debate, reason=decision.reason_of(arm))
            for arm in sorted(decision.arms)
        ]
        yield ReferredSubject(pair_facts(debate, parts), item, new_referrals)


@transaction.atomic
def _follow_retries(queue: Queue, debate_set: DebateSet, draw: AuditDraw, at: datetime) -> None:
    """Bring the items of debates that failed and were tried again up to date; what people have begun stays theirs."""
    failed = Q(status=ItemStatus.OPEN, reason=Reason.FAILED_VERDICT.value)
    items = queue.items.filter(failed | Q(status=ItemStatus.EXCLUDED, excluded_because=RETRIED), retest_of=None)
    of_debates = Q(debate_set=debate_set) & ~Q(debate=None)
    for item in items.select_for_update(of=("self",)).select_related("queue").order_by("pk"):
        referral = item.referrals.filter(of_debates).select_related("debate__case").order_by("pk").first()
        debate = referral.debate if referral is not None else None
        if debate is None or debate.status not in ENDED or (item.is_open and debate.status == DebateStatus.FAILED):
            continue
        decision = route(_debate_facts(debate, draw, item.shuffle), policy())
        if decision.is_routed:
            item.reason, item.reason_text, item.priority = decision.reasons[0].value, decision.text, decision.priority
            item.excluded_because = ""
            item.save(update_fields=["reason", "reason_text", "priority", "excluded_because"])
            item.referrals.filter(of_debates, arm=ItemArm.ROUTED).update(reason=item.reason)
            if not item.is_open:
                move_item(item=item, status=ItemStatus.OPEN, label="", at=at)
        elif item.is_open and not item.assignments.exists() and not item.referrals.exclude(of_debates).exists():
            item.excluded_because = RETRIED
            item.save(update_fields=["excluded_because"])
            move_item(item=item, status=ItemStatus.EXCLUDED, label="", at=at)


def _debate_facts(debate: Debate, draw: AuditDraw, shuffle: int) -> Facts:
    key = debate.case.key
    return Facts(
        key=key,
        is_debate=True,
        debate_rounds=debate.round_count if debate.status == DebateStatus.UNRESOLVED else None,
        votes=_last_votes(debate),
        verdict_status="failed" if debate.status == DebateStatus.FAILED else "",
        audit_probability=draw.chances.get(key),
        shuffle=shuffle,
    )


def _last_votes(debate: Debate) -> tuple[int | None, ...]:
    """Return what each agent said last, in the order of their numbers."""
    agents = sorted(debate.agents.all(), key=lambda agent: agent.number)
    last_statements = [
        max(agent.statements.all(), key=lambda statement: statement.round, default=None) for agent in agents
    ]
    return tuple(statement.verdict for statement in last_statements if statement is not None)
