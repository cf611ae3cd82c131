"""Versions of judges on opened tests of golden sets, as rows of an audit."""

from __future__ import annotations

from collections.abc import Sequence

from evalsite.base.refusals import Refused
from evalsite.reports.selectors.judges.audited_verdicts import AuditedResponse
from evalsite.reports.selectors.judges.judge_rows import judge_evaluators
from evalsite.review.models import GoldenItem, GoldenRun
from evalsite.review.sampling import GoldenPart
from evalsite.review.selectors.golden import GoldenAnswer, golden_answers
from judging.models import EvaluatorKind, RunEvaluator, RunKind
from judging.selectors.judges import versions_of
from judging.states import RunStatus


def tested_evaluators(name: str) -> list[RunEvaluator]:
    """Return the judges of a name that an opened test was finished with, the newest first."""
    rows = RunEvaluator.objects.filter(
        kind=EvaluatorKind.JUDGE,
        name=name,
        run__golden_run__part=GoldenPart.TEST,
        run__status=RunStatus.FINISHED,
    )
    return list(rows.select_related("run__suite", "run__golden_run__golden_set").order_by("-run_id", "position"))


def trusted_evaluators(name: str) -> list[RunEvaluator]:
    """Return what figures about the trust in a judge may rest on: its grading runs, then opened tests."""
    return [*judge_evaluators(name), *tested_evaluators(name)]


def version_key_of(name: str, beginning: str) -> str:
    """Return the key of a judge's version that begins so; of the newest where nothing is given.

    Raises:
        Refused: no run has had this judge, or no or several versions begin so.
    """
    evaluators = trusted_evaluators(name)
    keys = list(dict.fromkeys(version.key for version in versions_of(evaluators).values()))
    matching = [key for key in keys if key.startswith(beginning)] if beginning else keys[:1]
    if not keys:
        raise Refused(f"No run has had a judge “{name}”.", field="name")
    if len(matching) != 1:
        shown = ", ".join(key[:12] for key in keys)
        raise Refused(
            f"“{beginning}” matches {len(matching)} versions of “{name}”. Versions: {shown}.", field="version"
        )
    return matching[0]


def golden_prompts(name: str, version_key: str) -> frozenset[int]:
    """Return the prompts of all golden sets that a version was compared on.

    It was chosen by its figures on development, and its test may still be shut: an audit's labels of these cases say
    too much of it.
    """
    rows = RunEvaluator.objects.filter(run__kind=RunKind.GOLDEN, kind=EvaluatorKind.JUDGE, name=name)
    evaluators = list(rows)
    versions = versions_of(evaluators)
    runs = [evaluator.run_id for evaluator in evaluators if versions[evaluator.pk].key == version_key]
    sets = GoldenRun.objects.filter(run__in=runs).values("golden_set")
    prompts = GoldenItem.objects.filter(golden_set__in=sets) if runs else GoldenItem.objects.none()
    return frozenset(prompts.values_list("response__prompt_id", flat=True))


def tested_responses(evaluators: Sequence[RunEvaluator], *, chance: float) -> list[AuditedResponse]:
    """Return the verdicts of `tested_evaluators` on opened tests, each response once, all drawn with one chance."""
    responses: dict[int, AuditedResponse] = {}
    for evaluator in evaluators:
        answers = golden_answers(evaluator.run.golden_run.golden_set, GoldenPart.TEST, [evaluator])[evaluator.pk]
        for row in as_audited(answers, chance=chance):
            responses.setdefault(row.response_id, row)
    return list(responses.values())


def as_audited(answers: Sequence[GoldenAnswer], *, chance: float = 1.0) -> list[AuditedResponse]:
    """Return answers as rows of an audit that drew each of them with one chance."""
    return [
        AuditedResponse(
            item_id=answer.item_id,
            verdict_id=answer.verdict_id or 0,
            response_id=answer.response_id,
            case=answer.case,
            scale=answer.scale,
            people=answer.people,
            judge=answer.judge,
            confidence=answer.confidence,
            chance=chance,
            people_share=answer.people_share,
            judge_share=answer.judge_share,
        )
        for answer in answers
    ]
