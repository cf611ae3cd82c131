"""Verdicts of judges on audited responses, beside people's final labels and beside each person's own annotation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evalsite.reports.selectors.human_labels import FINAL
from evalsite.reports.selectors.judge_rows import judge_label
from evalsite.review.models import Annotation, ItemArm, QueueMode, ReviewItem
from evalsite.review.scales import Label, labels_from_json
from judging.judges.verdicts import PARSER_VERSION
from judging.models import RunEvaluator, Verdict

CHUNK = 5000


@dataclass(frozen=True, slots=True)
class AuditedResponse:
    """A response that the audit drew and people decided, and what the judge said of it."""

    subject_id: int
    verdict_id: int
    response_id: int
    evaluator_id: int
    case: int  # the prompt's key: all responses to one question are one case
    scale: tuple[Label, ...]
    people: str  # final label
    judge: str | None  # None: no usable verdict
    confidence: float | None


@dataclass(frozen=True, slots=True)
class AuditedResponses:
    """The audit of some evaluators: what was drawn, and the part that people have decided."""

    drawn: int
    decided: tuple[AuditedResponse, ...]
    outdated: int  # decided ones whose reply was read by another parser version; they are left out


@dataclass(frozen=True, slots=True)
class _Drawn:
    subject_id: int
    response_id: int
    case: int
    scale: tuple[Label, ...]
    label: str  # empty: not decided


def audited_responses(evaluators: Sequence[RunEvaluator]) -> AuditedResponses:
    """Return the audited responses of evaluators of one version, newest first; each subject once."""
    seen: set[int] = set()
    decided: list[AuditedResponse] = []
    drawn_count = outdated = 0
    for evaluator in evaluators:
        drawn = [row for row in _drawn(evaluator) if row.subject_id not in seen]
        seen |= {row.subject_id for row in drawn}
        drawn_count += len(drawn)
        verdicts = _verdicts(evaluator, [row.response_id for row in drawn if row.label])
        for row in drawn:
            verdict = verdicts.get(row.response_id)
            if not row.label or verdict is None:
                continue
            if verdict.parser_version != PARSER_VERSION:
                outdated += 1
                continue
            score = getattr(verdict, "score", None)
            said = judge_label(verdict.value, score.share if score is not None else None, row.scale)
            decided.append(
                AuditedResponse(
                    subject_id=row.subject_id,
                    verdict_id=verdict.pk,
                    response_id=row.response_id,
                    evaluator_id=evaluator.pk,
                    case=row.case,
                    scale=row.scale,
                    people=row.label,
                    judge=said,
                    confidence=verdict.confidence,
                )
            )
    return AuditedResponses(drawn_count, tuple(decided), outdated)


def _drawn(evaluator: RunEvaluator) -> list[_Drawn]:
    items = ReviewItem.objects.filter(
        queue__run=evaluator.run_id, criterion=evaluator.criterion, arm=ItemArm.AUDIT, retest_of=None
    )
    fields = ("pk", "verdict__response_id", "verdict__response__prompt_id", "queue__labels", "status", "label")
    rows = items.filter(verdict__isnull=False).order_by("pk").values_list(*fields)
    return [
        _Drawn(pk, response_id, prompt_id, labels_from_json(labels), label if status in FINAL else "")
        for pk, response_id, prompt_id, labels, status, label in rows
    ]


def _verdicts(evaluator: RunEvaluator, response_ids: Sequence[int]) -> dict[int, Verdict]:
    found: dict[int, Verdict] = {}
    for start in range(0, len(response_ids), CHUNK):
        rows = Verdict.objects.filter(evaluator=evaluator, response__in=response_ids[start : start + CHUNK])
        rows = rows.select_related("score").defer("rationale", "score__detail").order_by("pk")
        found |= {verdict.response_id: verdict for verdict in rows}
    return found


@dataclass(frozen=True, slots=True)
class BlindAnnotation:
    """What one person said of a subject before seeing anything that would bias them."""

    subject_id: int
    person: str
    label: str


def blind_annotations(subject_ids: Iterable[int]) -> list[BlindAnnotation]:
    """Return people's first blind labels of these subjects."""
    wanted = sorted(subject_ids)
    found: list[BlindAnnotation] = []
    for start in range(0, len(wanted), CHUNK):
        rows = Annotation.objects.filter(item__in=wanted[start : start + CHUNK], item__retest_of=None)
        rows = rows.filter(seen_before=False, mode=QueueMode.BLIND).order_by("item_id", "pk")
        found += [BlindAnnotation(*row) for row in rows.values_list("item_id", "annotator__username", "label")]
    return found
