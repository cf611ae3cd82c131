"""Records of judges over all their runs. The rows of a run that is over are read once and kept."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence

from django.db import transaction
from django.db.models.functions import Now

from evalsite.reports.models import Snapshot
from evalsite.reports.selectors.judge_rows import read_rows
from evalsite.reports.selectors.marks import results_mark
from evalsite.reports.statistics.reply_rows import JudgeRecord, ReplyRows, record_of
from judging.models import RunEvaluator, RunStatus

KIND = "judge-rows"
OVER = (RunStatus.FINISHED, RunStatus.CANCELLED)
LAYOUT = f"1.{sys.version_info.major}.{sys.version_info.minor}"  # of the kept rows, whose hashes are Python's
READ_AT_ONCE = 20  # kept rows


def record_of_judge(evaluators: Sequence[RunEvaluator]) -> JudgeRecord:
    """Return what a judge did in all its runs. `run` is loaded."""
    return record_of(list(_parts(evaluators)))


def _parts(evaluators: Sequence[RunEvaluator]) -> Iterator[ReplyRows]:
    for start in range(0, len(evaluators), READ_AT_ONCE):
        wanted = {row.pk: _fingerprint(row) for row in evaluators[start : start + READ_AT_ONCE] if _is_over(row)}
        found = Snapshot.objects.filter(kind=KIND, subject_id__in=wanted, fingerprint__in=wanted.values())
        kept = {pk: bytes(packed) for pk, packed in found.values_list("subject_id", "rows") if packed}
        for evaluator in evaluators[start : start + READ_AT_ONCE]:
            packed = kept.pop(evaluator.pk, None)
            if packed is not None:
                yield ReplyRows.unpack(packed)
                continue
            rows = read_rows(evaluator)
            if evaluator.pk in wanted:
                _keep(evaluator.pk, wanted[evaluator.pk], rows)
            yield rows


def _is_over(evaluator: RunEvaluator) -> bool:
    return evaluator.run.status in OVER


def _fingerprint(evaluator: RunEvaluator) -> str:
    """Return what the rows are kept under: their state was read before them, so changed rows look old, never new."""
    return hashlib.sha256(f"{LAYOUT}.{results_mark(evaluator)}".encode()).hexdigest()


@transaction.atomic
def _keep(evaluator_id: int, fingerprint: str, rows: ReplyRows) -> None:
    """Store an evaluator's rows in place of older ones."""
    Snapshot.objects.update_or_create(
        kind=KIND,
        subject_id=evaluator_id,
        fingerprint=fingerprint,
        defaults={"payload": {}, "rows": rows.pack(), "computed_at": Now()},
    )
    Snapshot.objects.filter(kind=KIND, subject_id=evaluator_id).exclude(fingerprint=fingerprint).delete()
