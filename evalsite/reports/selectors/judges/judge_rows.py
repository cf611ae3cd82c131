"""What judges did: how their replies were read, what they cost, and where their verdicts can be compared."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import nan
from typing import TypeVar
from zlib import crc32

import numpy as np
from django.db.models import Q, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from debate.models import Debate, DebateStatus
from debate.protocol.setups import Method
from evalsite.base.json_types import JsonObject
from evalsite.reports.selectors.debate_votes import sets_by_id
from evalsite.review.selectors.labels.known_labels import chunks
from judging.judges.replies.reply_rows import (
    CALL,
    MICRO,
    NOT_ASKED,
    STATUSES,
    UNPRICED,
    VERDICT,
    ReplyRows,
)
from judging.models import SCORED_KINDS, Call, EvaluatorKind, Judge, PastVerdict, Run, RunEvaluator, Score, Verdict
from judging.selectors.judges.judge_versions import versions_of

CHUNK = 5000
CLOSE = 4  # calls are read by a range where no more than so many lie in it for each that is wanted
SHARE = np.dtype([("verdict", "i8"), ("share", "f8")])
STATUS_CODES = {status.value: code for code, status in enumerate(STATUSES)}

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ComparedVerdict:
    """One item on which a judge and somebody else both gave a label."""

    item_id: int  # a review item or a debate
    case_id: int
    judge: str  # empty: no usable verdict
    other: str
    scenario: str
    cell: tuple[str, str] = ("", "")  # of a debate: the two systems and the criterion


def names_in_runs(judge: Judge) -> list[str]:
    """Return what runs call a judge, the name of the newest run first."""
    rows = RunEvaluator.objects.filter(judge=judge, run__kind__in=SCORED_KINDS).order_by("-run_id", "position")
    return list(dict.fromkeys(rows.values_list("name", flat=True)))


def judge_evaluators(name: str = "") -> list[RunEvaluator]:
    """Return the judges of all grading runs (those called `name`), the newest run first."""
    rows = RunEvaluator.objects.filter(kind=EvaluatorKind.JUDGE, run__kind__in=SCORED_KINDS).select_related(
        "run__suite"
    )
    if name:
        rows = rows.filter(name=name)
    return list(rows.order_by("-run__created_at", "-run_id", "position"))


def by_version(evaluators: Sequence[RunEvaluator]) -> dict[tuple[str, str], list[RunEvaluator]]:
    """Return evaluators by name and version, in the order given: another prompt, model or rubric is another judge."""
    versions = versions_of(evaluators)
    grouped: dict[tuple[str, str], list[RunEvaluator]] = {}
    for evaluator in evaluators:
        grouped.setdefault((evaluator.name, versions[evaluator.pk].key), []).append(evaluator)
    return grouped


def judge_exists(name: str) -> bool:
    """Whether a grading run has a judge of this name."""
    return RunEvaluator.objects.filter(kind=EvaluatorKind.JUDGE, run__kind__in=SCORED_KINDS, name=name).exists()


def judge_named(name: str) -> Judge | None:
    """Return the judge as it is set up that runs have under a name, that of the newest run."""
    rows = RunEvaluator.objects.filter(run__kind__in=SCORED_KINDS, name=name, judge__isnull=False)
    newest = rows.select_related("judge").order_by("-run_id").first()
    return newest.judge if newest is not None else None


def run_names(run_ids: Sequence[int]) -> dict[int, str]:
    """Return what these runs are called now; a stored report has the names of its time."""
    return dict(Run.objects.filter(pk__in=run_ids).values_list("pk", "name"))


def read_rows(evaluator: RunEvaluator) -> ReplyRows:
    """Return an evaluator's verdicts, and every call ever made for them.

    Read in columns, and scores apart from verdicts: joined, PostgreSQL goes through the scores of all runs.
    """
    called = array("q")
    verdicts = joined(_verdict_facts(evaluator, called), VERDICT)
    scores = Score.objects.filter(evaluator=evaluator, verdict__isnull=False, share__isnull=False).order_by()
    shares = np.fromiter(scores.values_list("verdict_id", "share").iterator(chunk_size=CHUNK), SHARE)
    verdicts = verdicts[np.argsort(verdicts["verdicts"])]
    shares = shares[np.isin(shares["verdict"], verdicts["verdicts"])]  # others came in between
    verdicts["shares"][np.searchsorted(verdicts["verdicts"], shares["verdict"])] = shares["share"]
    return ReplyRows.of(verdicts, joined(call_facts(called), CALL))


def joined(parts: Iterable[np.ndarray], kind: np.dtype[np.void]) -> np.ndarray:
    """Return the parts as one array of this kind."""
    return np.concatenate([np.empty(0, kind), *parts])


def _verdict_facts(evaluator: RunEvaluator, called: array[int]) -> Iterator[np.ndarray]:
    """Yield an evaluator's verdicts in any order, without scores, and add their calls to `called`.

    JSON is read as text, many rows at once: the conversion of each by itself takes longer than all else.
    """
    question = question_key(evaluator)
    first = _first_tries(evaluator, called)
    stored = Verdict.objects.filter(evaluator=evaluator).order_by()
    rows = stored.annotate(
        calls=Cast("call_ids", TextField()),
        orders=KeyTextTransform("orders", "value"),
        preference=KeyTextTransform("preference", "value"),
        has_value=Q(value__isnull=False),
    ).values_list(*("pk", "response_id", "response__prompt_id", "calls", "status", "orders", "preference", "has_value"))
    for chunk in _batches(rows.iterator(chunk_size=CHUNK)):
        keys, response_ids, prompt_ids, calls, statuses, orders, preferences, has_value = zip(*chunk, strict=True)
        call_lists: list[list[int]] = json.loads(f"[{','.join(calls)}]")
        called.extend(chain.from_iterable(call_lists))
        facts = np.empty(len(chunk), VERDICT)
        facts["verdicts"], facts["responses"], facts["prompts"] = keys, response_ids, prompt_ids
        facts["has_value"] = has_value
        facts["preferences"] = [NOT_ASKED if preference is None else int(preference) for preference in preferences]
        asked_for = zip(response_ids, call_lists, strict=True)
        facts["replies"] = [reply_key(response_id, call_ids, question) for response_id, call_ids in asked_for]
        facts["statuses"] = [STATUS_CODES[status] for status in statuses]
        facts["first_replies"], facts["first_statuses"], facts["shares"] = facts["replies"], facts["statuses"], nan
        for row, key in enumerate(keys if first else ()):
            if key in first:
                tried_calls, tried = first[key]
                facts["first_replies"][row] = reply_key(response_ids[row], tried_calls, question)
                facts["first_statuses"][row] = STATUS_CODES[tried]
        facts["first_order"] = facts["second_order"] = NOT_ASKED
        for row, text in enumerate(orders):
            if text is not None:
                facts["first_order"][row], facts["second_order"][row] = _preferences(json.loads(text))
        yield facts


def _preferences(orders: object) -> tuple[int, int]:
    """Return the preferences of a verdict asked in both orders."""
    if isinstance(orders, list) and len(orders) == 2:
        return int(orders[0]), int(orders[1])
    return NOT_ASKED, NOT_ASKED


def question_key(evaluator: RunEvaluator) -> int:
    """Return a number for what an evaluator asks, the same in every process."""
    return crc32(f"{evaluator.rubric_id}:{evaluator.criterion}".encode())


def reply_key(response_id: int, call_ids: Sequence[int], question: int) -> int:
    """Return a number that is the same for verdicts read from the same reply; without calls, for the same question.

    Hashes of whole numbers are the same in every process. No call has the key 0.
    """
    return hash((response_id, *sorted(set(call_ids)))) if call_ids else hash((response_id, 0, question))


def _first_tries(evaluator: RunEvaluator, called: array[int]) -> dict[int, tuple[list[int], str]]:
    """Return calls and status of the first try of verdicts that were tried again; add all past calls to `called`."""
    first: dict[int, tuple[list[int], str]] = {}
    rows = PastVerdict.objects.filter(verdict__evaluator=evaluator).order_by("pk")
    for verdict_id, call_ids, status in rows.values_list("verdict_id", "call_ids", "status").iterator(chunk_size=CHUNK):
        called.extend(call_ids)
        first.setdefault(verdict_id, (call_ids, status))
    return first


def call_facts(called: array[int]) -> Iterator[np.ndarray]:
    """Yield each call once. Those of a run lie close together, and a range is read sooner than thousands of keys."""
    fields = ("pk", "prompt_tokens", "completion_tokens", "cost", "seconds")
    call_ids = np.unique(np.asarray(called))
    for start in range(0, len(call_ids), CHUNK):
        chunk = call_ids[start : start + CHUNK]
        first, last = int(chunk[0]), int(chunk[-1])
        is_close = last - first < CLOSE * len(chunk)
        calls = Call.objects.filter(pk__range=(first, last)) if is_close else Call.objects.filter(pk__in=chunk.tolist())
        rows = list(calls.values_list(*fields))
        if not rows:
            continue
        keys, prompts, completions, costs, seconds = zip(*rows, strict=True)
        facts = np.empty(len(rows), CALL)
        facts["calls"], facts["seconds"] = keys, seconds
        facts["prompt_tokens"] = [count or 0 for count in prompts]
        facts["completion_tokens"] = [count or 0 for count in completions]
        facts["costs"] = [UNPRICED if cost is None else int(cost.scaleb(MICRO)) for cost in costs]
        yield facts[np.isin(facts["calls"], chunk)] if is_close else facts


def compared_with_debates(evaluators: Sequence[RunEvaluator]) -> list[ComparedVerdict]:
    """Return the agreed debates over two responses that the judge scored, as preferences in system space.

    A judge of one criterion is compared with debates of that criterion. The judge's preference is the sign of the
    difference of its two shares; of several scores the newest run's counts.
    """
    debates = Debate.objects.filter(status=DebateStatus.AGREED, debate_set__method=Method.DEBATE).order_by("pk")
    sets = sets_by_id(method=Method.DEBATE)
    fields = ("pk", "debate_set_id", "case_id", "verdict", "response_a_id", "response_b_id", "scenario")
    criterion = evaluators[0].criterion if evaluators else ""
    rows = [row for row in debates.values_list(*fields) if criterion in ("", sets[row[1]].criterion_key)]
    shares: dict[int, float] = {}
    for chunk in chunks(sorted({pk for row in rows for pk in row[4:6]})):
        scores = Score.objects.filter(evaluator__in=evaluators, response__in=chunk, share__isnull=False)
        shares.update(
            (response, share)
            for response, share in scores.order_by("pk").values_list("response_id", "share")
            if share is not None
        )
    return [
        ComparedVerdict(
            pk,
            case_id,
            str(int(np.sign(shares[a] - shares[b]))),
            str(verdict),
            scenario,
            (sets[set_id].pair, sets[set_id].criterion_key),
        )
        for pk, set_id, case_id, verdict, a, b, scenario in rows
        if verdict is not None and a in shares and b in shares
    ]


def _batches(rows: Iterator[R]) -> Iterator[list[R]]:
    while batch := list(islice(rows, CHUNK)):
        yield batch


def rows_of_members(evaluator: RunEvaluator, members: int) -> list[ReplyRows]:
    """Return the votes of an evaluator's members, in their order, each with every call ever made for it."""
    vote_rows: list[list[tuple[object, ...]]] = [[] for _ in range(members)]
    called = [array("q") for _ in range(members)]
    question = question_key(evaluator)
    rows = Verdict.objects.filter(evaluator=evaluator).order_by("pk")
    fields = ("pk", "response_id", "response__prompt_id", "votes", "call_ids", "score__detail")
    for pk, response_id, prompt_id, votes, call_ids, detail in rows.values_list(*fields).iterator(chunk_size=CHUNK):
        shares = (detail or {}).get("votes") or {}
        for member, vote in enumerate(votes[:members]):
            vote_calls = _calls_of_vote(vote, call_ids)
            called[member].extend(vote_calls)
            vote_rows[member].append(
                _vote_row(pk, response_id, prompt_id, vote, shares, reply_key(response_id, vote_calls, question))
            )
    past = PastVerdict.objects.filter(verdict__evaluator=evaluator).order_by("pk").values_list("votes", "call_ids")
    for votes, call_ids in past.iterator(chunk_size=CHUNK):
        for member, vote in enumerate(votes[:members]):
            called[member].extend(_calls_of_vote(vote, call_ids))
    return [
        ReplyRows.of(np.array(member_rows, VERDICT), joined(call_facts(calls), CALL))
        for member_rows, calls in zip(vote_rows, called, strict=True)
    ]


def _calls_of_vote(vote: JsonObject, call_ids: Sequence[int]) -> list[int]:
    """Return the calls of one member; a verdict's are in the order in which its members asked."""
    return [call_ids[index] for index in vote["calls"] if index < len(call_ids)]


def _vote_row(
    pk: int, response_id: int, prompt_id: int, vote: JsonObject, shares: JsonObject, reply: int
) -> tuple[object, ...]:
    """Return a vote as a row of VERDICT."""
    status, share = STATUS_CODES[vote["status"]], shares.get(vote["judge"])
    return (
        *(pk, reply, reply, response_id, prompt_id),
        *(status, status, vote["value"] is not None, NOT_ASKED, nan if share is None else share),
        *(NOT_ASKED, NOT_ASKED),
    )
