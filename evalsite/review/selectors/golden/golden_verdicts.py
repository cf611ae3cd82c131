"""What versions of judges said of a part of a golden set, beside people's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalsite.review.models import GoldenItem, GoldenRun, GoldenSet
from evalsite.review.questions.scales import Label, judge_label
from evalsite.review.sampling import GoldenPart
from evalsite.review.selectors.golden.golden_labels import scales_of
from evalsite.review.selectors.labels.known_labels import blind_labels, chunks
from judging.judges.verdicts import PARSER_VERSION
from judging.models import EvaluatorKind, RunEvaluator, Verdict
from judging.selectors.judges.judge_versions import versions_of
from judging.states import RunStatus


@dataclass(frozen=True, slots=True)
class GoldenAnswer:
    """One response of a part with people's label and what a version said of it."""

    golden_id: int  # of the GoldenItem
    item_id: int | None  # the review item on which people decided; None: the label was imported
    response_id: int
    case: int  # the prompt's key: all responses to one question are one case
    case_key: str
    scale: tuple[Label, ...]
    people: str
    people_share: float | None
    verdict_id: int | None
    judge: str | None  # None: no usable verdict
    judge_share: float | None
    confidence: float | None

    @property
    def agrees(self) -> bool:
        return self.judge == self.people


@dataclass(frozen=True, slots=True)
class GoldenVersion:
    """One version of a judge on a part: its newest finished run counts."""

    key: str
    evaluator: RunEvaluator
    golden_run: GoldenRun


def golden_versions(golden_set: GoldenSet, part: GoldenPart) -> list[GoldenVersion]:
    """Return the versions of judges with a finished run on a part, the newest first. Three queries."""
    runs = golden_set.runs.filter(part=part, run__status=RunStatus.FINISHED).select_related("started_by")
    by_run = {golden_run.run_id: golden_run for golden_run in runs}
    rows = RunEvaluator.objects.filter(run__in=by_run, kind=EvaluatorKind.JUDGE).select_related("run", "judge")
    evaluators = list(rows.order_by("-run_id", "position"))
    keys = versions_of(evaluators)
    versions: dict[str, GoldenVersion] = {}
    for evaluator in evaluators:
        key = keys[evaluator.pk].key
        versions.setdefault(key, GoldenVersion(key, evaluator, by_run[evaluator.run_id]))
    return list(versions.values())


def golden_answers(
    golden_set: GoldenSet, part: GoldenPart, evaluators: Sequence[RunEvaluator]
) -> dict[int, list[GoldenAnswer]]:
    """Return what each of these evaluators said of a part's labelled responses, by evaluator, in one order.

    Of a part, not of a run: a case that was moved to the examples is no longer in it, whoever judged it before.
    """
    items = list(
        GoldenItem.objects.filter(golden_set=golden_set, part=part)
        .select_related("response")
        .only("subject_id", "case_key", "response__prompt_id")
        .order_by("pk")
    )
    labels = blind_labels(item.subject_id for item in items)
    scales = scales_of(labels)
    labelled = [item for item in items if item.subject_id in labels]
    answers = {}
    for evaluator in evaluators:
        verdicts = _verdicts(evaluator, [item.response_id for item in labelled])
        answers[evaluator.pk] = [
            _answer(item, labels[item.subject_id].item_id, labels[item.subject_id].label or "", scales, verdicts)
            for item in labelled
        ]
    return answers


def _answer(
    item: GoldenItem,
    item_id: int | None,
    label: str,
    scales: Mapping[int, tuple[Label, ...]],
    verdicts: Mapping[int, Verdict],
) -> GoldenAnswer:
    scale, verdict = scales[item.subject_id], verdicts.get(item.response_id)
    score = getattr(verdict, "score", None)
    share = score.share if score is not None else None
    return GoldenAnswer(
        golden_id=item.pk,
        item_id=item_id,
        response_id=item.response_id,
        case=item.response.prompt_id,
        case_key=item.case_key,
        scale=scale,
        people=label,
        people_share=next((option.share for option in scale if option.value == label), None),
        verdict_id=verdict.pk if verdict is not None else None,
        judge=judge_label(verdict.value, share, scale) if verdict is not None else None,
        judge_share=share,
        confidence=verdict.confidence if verdict is not None else None,
    )


def _verdicts(evaluator: RunEvaluator, response_ids: Sequence[int]) -> dict[int, Verdict]:
    """Return an evaluator's verdicts by response, as this site reads replies now."""
    verdicts: dict[int, Verdict] = {}
    for ids in chunks(response_ids):
        rows = Verdict.objects.filter(evaluator=evaluator, response__in=ids, parser_version=PARSER_VERSION)
        rows = rows.select_related("score").defer("rationale", "score__detail").order_by("pk")
        verdicts |= {verdict.response_id: verdict for verdict in rows}
    return verdicts
