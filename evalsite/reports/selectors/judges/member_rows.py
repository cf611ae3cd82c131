"""What the members of a panel said and what their calls took, as rows of a judge of their own."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import nan

import numpy as np

from evalsite.base.json_types import JsonObject
from evalsite.reports.selectors.judges.judge_rows import CHUNK, PLACES, asked_of, call_facts, joined, reply_key
from judging.judges.replies.reply_rows import CALL, NOT_ASKED, VERDICT, ReplyRows
from judging.models import PastVerdict, RunEvaluator, Verdict


def rows_of_members(evaluator: RunEvaluator, members: int) -> list[ReplyRows]:
    """Return the votes of an evaluator's members, in their order, each with every call ever made for it."""
    said: list[list[tuple[object, ...]]] = [[] for _ in range(members)]
    called = [array("q") for _ in range(members)]
    asked = asked_of(evaluator)
    rows = Verdict.objects.filter(evaluator=evaluator).order_by("pk")
    fields = ("pk", "response_id", "response__prompt_id", "votes", "call_ids", "score__detail")
    for pk, response_id, prompt_id, votes, call_ids, detail in rows.values_list(*fields).iterator(chunk_size=CHUNK):
        shares = (detail or {}).get("votes") or {}
        for place, vote in enumerate(votes[:members]):
            own = _calls_of(vote, call_ids)
            called[place].extend(own)
            said[place].append(_row(pk, response_id, prompt_id, vote, shares, reply_key(response_id, own, asked)))
    past = PastVerdict.objects.filter(verdict__evaluator=evaluator).order_by("pk").values_list("votes", "call_ids")
    for votes, call_ids in past.iterator(chunk_size=CHUNK):
        for place, vote in enumerate(votes[:members]):
            called[place].extend(_calls_of(vote, call_ids))
    return [
        ReplyRows.of(np.array(found, VERDICT), joined(call_facts(calls), CALL))
        for found, calls in zip(said, called, strict=True)
    ]


def _calls_of(vote: JsonObject, call_ids: Sequence[int]) -> list[int]:
    """Return the calls of one member; a verdict's are in the order in which its members asked."""
    return [call_ids[place] for place in vote["calls"] if place < len(call_ids)]


def _row(
    pk: int, response_id: int, prompt_id: int, vote: JsonObject, shares: JsonObject, reply: int
) -> tuple[object, ...]:
    """Return a vote as a row of VERDICT."""
    status, share = PLACES[vote["status"]], shares.get(vote["judge"])
    return (
        *(pk, reply, reply, response_id, prompt_id),
        *(status, status, vote["value"] is not None, NOT_ASKED, nan if share is None else share),
        *(NOT_ASKED, NOT_ASKED),
    )
