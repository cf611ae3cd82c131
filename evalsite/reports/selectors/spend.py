"""The call ledger and the results that rest on its calls, in columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db.models import BigIntegerField, F, Max, QuerySet, Sum, TextField
from django.db.models.functions import Cast, Round, Substr
from django.utils.timezone import localtime

from debate.models import Statement
from judging.judges.replies.reply_rows import UNPRICED
from judging.judges.spend_rows import CALLED, NOBODY, USED
from judging.llm.chat import ReplyStatus
from judging.models import Ask, Call, EsiItem, EvaluatorKind, ModelEndpoint, PastVerdict, Run, RunEvaluator, Verdict

CHUNK = 5000
MILLION = 1_000_000
MINUTE = len("2026-01-05 12:00")  # of a time as text, in UTC on every backend


def spend_version() -> str:
    """Return a text that differs once a call was made, or a reply used again."""
    last = Call.objects.order_by("-pk").values_list("pk", flat=True).first()
    runs = Run.objects.aggregate(last=Max("pk"), made=Sum("calls_made"), reused=Sum("calls_reused"), done=Sum("done"))
    return f"{last}.{runs['last']}.{runs['made']}.{runs['reused']}.{runs['done']}"


def ledger_size() -> int:
    """Return about how many calls the ledger holds, from the last key."""
    return Call.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def read_called() -> np.ndarray:
    """Return every call of the ledger, sorted by key."""
    rows = Call.objects.order_by().annotate(
        minute=Substr(Cast("finished_at", TextField()), 1, MINUTE),
        micro=Cast(Round(F("cost") * MILLION), BigIntegerField()),
    )
    tokens = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
    fields = ("pk", "run_id", "endpoint_id", "minute", *tokens, "micro", "status")
    parts = [np.empty(0, CALLED)]
    for chunk in _chunks(rows.values_list(*fields).iterator(chunk_size=CHUNK)):
        keys, runs, endpoints, minutes, *counts, costs, statuses = zip(*chunk, strict=True)
        part = np.empty(len(chunk), CALLED)
        part["calls"], part["endpoints"] = keys, endpoints
        part["runs"] = [run or NOBODY for run in runs]
        part["days"] = [day_of(minute) for minute in minutes]
        for name, column in zip(tokens, counts, strict=True):
            part[name] = [count or 0 for count in column]
        part["costs"] = [UNPRICED if cost is None else cost for cost in costs]
        part["failed"] = [status != ReplyStatus.FINISHED for status in statuses]
        parts.append(part)
    called = np.concatenate(parts)
    parts.clear()
    is_sorted = bool((called["calls"][1:] > called["calls"][:-1]).all())
    return called if is_sorted else called[np.argsort(called["calls"])]


def read_used() -> np.ndarray:
    """Return every use of a call by a verdict, by a response, and by a statement of a debate."""
    past = "verdict__evaluator_id", "verdict__run_id"
    of_debate = "agent__debate__debate_set__run_id"
    statements = Statement.objects.filter(**{f"{of_debate.removesuffix('_id')}__isnull": False})
    sources: list[tuple[int, QuerySet[Any], tuple[str, ...]]] = [
        (0, Verdict.objects.all(), ("pk", "evaluator_id", "run_id", "created_at", "call_ids")),
        (0, PastVerdict.objects.all(), ("verdict_id", *past, "created_at", "call_ids")),
        (1, EsiItem.objects.all(), ("pk", "", "run_id", "run__created_at", "call_ids")),
        (3, Ask.objects.all(), ("pk", "", "run_id", "run__created_at", "call_ids")),
        (2, statements, ("pk", "", of_debate, "created_at", "call_ids")),
        (2, statements, ("pk", "", of_debate, "created_at", "mirrored_call_ids")),
    ]
    return np.concatenate(
        [np.empty(0, USED), *(part for kind, rows, fields in sources for part in _uses(kind, rows, fields))]
    )


def _uses(kind: int, rows: QuerySet[Any], fields: Sequence[str]) -> Iterator[np.ndarray]:
    """Yield the uses of calls by rows of one kind. JSON is read as text, many rows at once, as judges' rows are."""
    owner, evaluator, run, at, calls = fields
    read = rows.order_by().annotate(
        minute=Substr(Cast(at, TextField()), 1, MINUTE), used_calls=Cast(calls, TextField())
    )
    columns = (owner, evaluator or owner, run, "minute", "used_calls")
    for chunk in _chunks(read.values_list(*columns).iterator(chunk_size=CHUNK)):
        owners, evaluators, runs, minutes, texts = zip(*chunk, strict=True)
        lists: list[list[int]] = json.loads(f"[{','.join(texts)}]")
        lengths = [len(call_ids) for call_ids in lists]
        part = np.empty(sum(lengths), USED)
        part["calls"] = list(chain.from_iterable(lists))
        part["owners"] = np.repeat(4 * np.asarray(owners, np.int64) + kind, lengths)
        part["evaluators"] = np.repeat(np.asarray(evaluators, np.int64), lengths) if evaluator else NOBODY
        part["runs"] = np.repeat(np.asarray(runs, np.int64), lengths)
        part["days"] = np.repeat([day_of(minute) for minute in minutes], lengths)
        yield part


@lru_cache(maxsize=100_000)
def day_of(minute: str) -> int:
    """Return the ordinal of the site's day in which a minute of UTC lies."""
    return localtime(datetime.fromisoformat(minute).replace(tzinfo=UTC)).toordinal()


def asking_evaluators() -> list[RunEvaluator]:
    """Return the judges of all runs, with their runs and endpoints."""
    judges = RunEvaluator.objects.filter(kind=EvaluatorKind.JUDGE).select_related("run", "judge__endpoint")
    return list(judges.order_by("-run_id", "position"))


def run_facts() -> dict[int, tuple[str, int]]:
    """Return the kind of each run, and the key of the person who started it."""
    return {pk: (kind, person or NOBODY) for pk, kind, person in Run.objects.values_list("pk", "kind", "created_by_id")}


def named_runs(keys: Sequence[int]) -> dict[int, str]:
    """Return the names of all runs, or of these where they are few."""
    runs = Run.objects.filter(pk__in=keys) if len(keys) <= CHUNK else Run.objects.all()
    return dict(runs.values_list("pk", "name"))


def named_endpoints() -> dict[int, tuple[str, str]]:
    """Return the name and the model of each endpoint."""
    return {pk: (name, model) for pk, name, model in ModelEndpoint.objects.values_list("pk", "name", "model")}


def named_people(keys: Sequence[int]) -> dict[int, str]:
    """Return the user names of people."""
    return dict(User.objects.filter(pk__in=keys).values_list("pk", "username"))


def _chunks(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk
