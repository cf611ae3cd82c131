"""One judge on one response, now: what is sent, what comes back, how it is read. Nothing is scored or reported.

The calls go to the ledger like any other, so a later run does not pay for them again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from judging.judges.registry import judge_kind
from judging.judges.scores import JudgeScore
from judging.judges.verdicts import JudgeVerdict
from judging.llm.chat import ChatReply, ChatRequest, Conversation
from judging.llm.identity import call_key
from judging.models import Case, Judge, Response, Rubric, RubricItem, RunEvaluator
from judging.selectors.targets import Target, request_body, target_of
from judging.services import ledger, pools
from judging.services.evaluating import NEEDS, freeze, subject_of
from judging.services.ledger import CallRecord
from judging.services.pools import OpenPool

WAIT_SECONDS = 120.0
THREADS = 4
POLL_SECONDS = 0.2


class TrialRefused(ValueError):
    """The judge cannot be tried on this response; the message is shown on the page."""


@dataclass(frozen=True, slots=True)
class TriedCall:
    """One call of a trial."""

    request: ChatRequest
    reply: ChatReply
    cost: Any  # USD; None: unknown
    reused: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it."""

    verdict: JudgeVerdict
    score: JudgeScore | None
    calls: Sequence[TriedCall]


@dataclass(frozen=True, slots=True)
class HeldAlone:
    """The result of a conversation held outside any run, with everything that passed."""

    result: Any
    calls: Sequence[TriedCall]


def try_judge(*, judge: Judge, response: Response, rubric: Rubric | None, prompt_text: str = "", at: datetime) -> Trial:
    """Ask a judge about one response and return everything that passed.

    Raises:
        TrialRefused: the response lacks what the judge needs, or the model did not answer in time.
    """
    case = Case.objects.filter(prompt=response.prompt_id).order_by("-pk").first()
    if case is None:
        raise TrialRefused("No case says what a good answer would be.")
    frozen = freeze(judge=judge, options={"prompt_text": prompt_text} if prompt_text else {})
    evaluator = RunEvaluator(judge=judge, rubric=rubric, options=frozen)
    subject = subject_of(case=case, response=response, tree=_tree(rubric, case), evaluator=evaluator)
    kind = judge_kind(judge.kind)
    missing = kind.missing_needs(subject)
    if missing:
        raise TrialRefused(f"This judge needs {' and '.join(NEEDS[need] for need in missing)} for the case.")
    built = kind.build(frozen["judge_options"])
    held = hold(built.converse(subject), target_of(judge.endpoint), at=at)
    verdict: JudgeVerdict = held.result
    score = built.score(verdict.value, subject) if verdict.value is not None else None
    return Trial(verdict, score, held.calls)


def _tree(rubric: Rubric | None, case: Case) -> dict[str, Any] | None:
    if rubric is None:
        return None
    trees = dict(RubricItem.objects.filter(rubric=rubric, case_key__in=[case.key, ""]).values_list("case_key", "tree"))
    return trees.get(case.key) or trees.get("")


def hold(conversation: Conversation[Any], target: Target, *, at: datetime) -> HeldAlone:
    """Hold one conversation with one endpoint outside any run, with the ledger and the shared limiter.

    Raises:
        TrialRefused: the model did not answer in time.
    """
    calls: list[TriedCall] = []
    pool = pools.open_pool(targets={target.config.name: target}, threads=THREADS)
    replies: tuple[ChatReply, ...] | None = None
    try:
        while True:
            try:
                requests = next(conversation) if replies is None else conversation.send(replies)
            except StopIteration as end:
                return HeldAlone(end.value, calls)
            batch = _ask(requests, target, pool, at)
            calls += batch
            replies = tuple(call.reply for call in batch)
    finally:
        pool.close()


def _ask(requests: Sequence[ChatRequest], target: Target, pool: OpenPool, at: datetime) -> list[TriedCall]:
    named = [replace(request, endpoint=target.config.name) for request in requests]
    keys = [call_key(target.config, request) for request in named]
    known = ledger.find_finished(keys)
    wanted = {key: request for key, request in zip(keys, named, strict=True) if key not in known}
    for key, request in wanted.items():
        pool.submit(key, target, request)
    fresh = _await(pool, len(wanted))
    records = [
        CallRecord(key, target.endpoint_id, request_body(wanted[key]), reply, target.cost(reply))
        for key, reply in fresh.items()
    ]
    with transaction.atomic():
        ledger.store_calls(run_id=None, records=records, at=at)
    found = {key: TriedCall(wanted[key], reply, target.cost(reply), reused=False) for key, reply in fresh.items()}
    for key, request in zip(keys, named, strict=True):
        if key in known:
            found[key] = TriedCall(request, ledger.reply_of(known[key]), known[key].cost, reused=True)
    return [found[key] for key in keys]


def _await(pool: OpenPool, count: int) -> dict[str, ChatReply]:
    got: dict[str, ChatReply] = {}
    deadline = time.monotonic() + WAIT_SECONDS
    while len(got) < count:
        if time.monotonic() > deadline:
            raise TrialRefused("The model did not answer in time. See its endpoint's page.")
        got |= dict(pool.completed(timeout=POLL_SECONDS))
    return got
