"""Removes the texts of old calls that nothing needs any more. What they cost stays in the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from evalsite.base.row_pages import row_pages
from judging.llm.chat import ReplyStatus
from judging.models import Ask, Call, CallPrompt, EsiItem, RunKind, Verdict
from judging.states import RunStatus

BATCH = 2000


@dataclass(frozen=True, slots=True)
class PruneCounts:
    """What a pruning would remove, or has removed."""

    calls: int
    errors: int  # of them without a finished reply
    looked_at: int  # calls old enough


def prune_calls(*, older_than: datetime, at: datetime, dry_run: bool) -> PruneCounts:
    """Remove request and reply of calls that ended before `older_than` and that no current result rests on.

    Kept are the calls of current verdicts and of answers, those of debates, whose pages replay them, and those of runs
    that have not ended. A call without its text is not reused: whoever asks the same again pays again.
    """
    needed = _needed()
    calls = errors = looked_at = 0
    for batch in row_pages(_old_calls(older_than).only("status"), BATCH):
        looked_at += len(batch)
        prunable = [call for call in batch if not needed[call.pk] or call.status != ReplyStatus.FINISHED]
        calls += len(prunable)
        errors += sum(call.status != ReplyStatus.FINISHED for call in prunable)
        if prunable and not dry_run:
            rows = Call.objects.filter(pk__in=[call.pk for call in prunable])
            rows.update(request={}, prompt=None, text="", label_logprobs={}, pruned_at=at)
    if not dry_run:
        _drop_unused_prompts()
    return PruneCounts(calls=calls, errors=errors, looked_at=looked_at)


def _drop_unused_prompts() -> None:
    """Delete the messages that no call refers to any more, batch by batch."""
    unused = CallPrompt.objects.filter(~Exists(Call.objects.filter(prompt=OuterRef("pk"))))
    for batch in row_pages(unused.only("pk"), BATCH):
        unused.filter(pk__in=[prompt.pk for prompt in batch]).delete()


def _old_calls(older_than: datetime) -> QuerySet[Call]:
    ended = Q(run=None) | Q(run__status__in=[RunStatus.FINISHED, RunStatus.CANCELLED])
    replayed = Q(run__kind=RunKind.DEBATE, status=ReplyStatus.FINISHED)
    return Call.objects.filter(ended, finished_at__lt=older_than, pruned_at=None).exclude(replayed)


def _needed() -> bytearray:
    """Return one byte per call, 1 where a current verdict or an answer rests on it."""
    last = Call.objects.aggregate(last=Max("pk"))["last"] or 0
    needed = bytearray(last + 1)
    for model in (Verdict, EsiItem, Ask):
        _mark(needed, model._default_manager.values_list("call_ids", flat=True).iterator(chunk_size=BATCH))
    return needed


def _mark(needed: bytearray, call_id_lists: Iterable[list[int]]) -> None:
    for call_ids in call_id_lists:
        for pk in call_ids:
            if pk < len(needed):
                needed[pk] = 1
