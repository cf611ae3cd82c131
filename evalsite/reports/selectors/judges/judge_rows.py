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
PLACES = {status.value: place for place, status in enumerate(STATUSES)}

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Compared:
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
    found: dict[tuple[str, str], list[RunEvaluator]] = {}
    for evaluator in evaluators:
        found.setdefault((evaluator.name, versions[evaluator.pk].key), []).append(evaluator)
    return found


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
    said = joined(_verdict_facts(evaluator, called), VERDICT)
    scores = Score.objects.filter(evaluator=evaluator, verdict__isnull=False, share__isnull=False).order_by()
    shares = np.fromiter(scores.values_list("verdict_id", "share").iterator(chunk_size=CHUNK), SHARE)
    said = said[np.argsort(said["verdicts"])]
    shares = shares[np.isin(shares["verdict"], said["verdicts"])]  # others came in between
    said["shares"][np.searchsorted(said["verdicts"], shares["verdict"])] = shares["share"]
    return ReplyRows.of(said, joined(call_facts(called), CALL))


def joined(parts: Iterable[np.ndarray], kind: np.dtype[np.void]) -> np.ndarray:
    """Return the parts as one array of this kind."""
    return np.concatenate([np.empty(0, kind), *parts])


def _verdict_facts(evaluator: RunEvaluator, called: array[int]) -> Iterator[np.ndarray]:
    """Yield an evaluator's verdicts in any order, without scores, and add their calls to `called`.

    JSON is read as text, many rows at once: the conversion of each by itself takes longer than all else.
    """
    asked = asked_of(evaluator)
    first = _first_tries(evaluator, called)
    verdicts = Verdict.objects.filter(evaluator=evaluator).order_by()
    rows = verdicts.annotate(
        calls=Cast("call_ids", TextField()),
        orders=KeyTextTransform("orders", "value"),
        preference=KeyTextTransform("preference", "value"),
        has_value=Q(value__isnull=False),
    ).values_list(*("pk", "response_id", "response__prompt_id", "calls", "status", "orders", "preference", "has_value"))
    for chunk in _batches(rows.iterator(chunk_size=CHUNK)):
        keys, response_ids, prompt_ids, calls, statuses, orders, preferences, has_value = zip(*chunk, strict=True)
        call_lists: list[list[int]] = json.loads(f"[{','.join(calls)}]")
        called.extend(chain.from_iterable(call_lists))
        said = np.empty(len(chunk), VERDICT)
        said["verdicts"], said["responses"], said["prompts"] = keys, response_ids, prompt_ids
        said["has_value"] = has_value
        said["preferences"] = [NOT_ASKED if one is None else int(one) for one in preferences]
        asked_for = zip(response_ids, call_lists, strict=True)
        said["replies"] = [reply_key(response_id, call_ids, asked) for response_id, call_ids in asked_for]
        said["statuses"] = [PLACES[status] for status in statuses]
        said["first_replies"], said["first_statuses"], said["shares"] = said["replies"], said["statuses"], nan
        for place, key in enumerate(keys if first else ()):
            if key in first:
                tried_calls, tried = first[key]
                said["first_replies"][place] = reply_key(response_ids[place], tried_calls, asked)
                said["first_statuses"][place] = PLACES[tried]
        said["first_order"] = said["second_order"] = NOT_ASKED
        for place, text in enumerate(orders):
            if text is not None:
                said["first_order"][place], said["second_order"][place] = _preferences(json.loads(text))
        yield said


def _preferences(orders: object) -> tuple[int, int]:
    """Return the preferences of a verdict asked in both orders."""
    if isinstance(orders, list) and len(orders) == 2:
        return int(orders[0]), int(orders[1])
    return NOT_ASKED, NOT_ASKED


def asked_of(evaluator: RunEvaluator) -> int:
    """Return a number for what an evaluator asks, the same in every process."""
    return crc32(f"{evaluator.rubric_id}:{evaluator.criterion}".encode())


def reply_key(response_id: int, call_ids: Sequence[int], asked: int) -> int:
    """Return a number that is the same for verdicts read from the same reply; without calls, for the same question.

    Hashes of whole numbers are the same in every process. No call has the key 0.
    """
    return hash((response_id, *sorted(set(call_ids)))) if call_ids else hash((response_id, 0, asked))


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
    wanted = np.unique(np.asarray(called))
    for start in range(0, len(wanted), CHUNK):
        chunk = wanted[start : start + CHUNK]
        first, last = int(chunk[0]), int(chunk[-1])
        is_close = last - first < CLOSE * len(chunk)
        calls = Call.objects.filter(pk__range=(first, last)) if is_close else Call.objects.filter(pk__in=chunk.tolist())
        rows = list(calls.values_list(*fields))
        if not rows:
            continue
        keys, prompts, completions, costs, seconds = zip(*rows, strict=True)
        made = np.empty(len(rows), CALL)
        made["calls"], made["seconds"] = keys, seconds
        made["prompt_tokens"] = [count or 0 for count in prompts]
        made["completion_tokens"] = [count or 0 for count in completions]
        made["costs"] = [UNPRICED if cost is None else int(cost.scaleb(MICRO)) for cost in costs]
        yield made[np.isin(made["calls"], chunk)] if is_close else made


def compared_with_debates(evaluators: Sequence[RunEvaluator]) -> list[Compared]:
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
        Compared(
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
