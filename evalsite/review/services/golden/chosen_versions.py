"""Sets a judge to the version that was chosen, so that the next runs use it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.base.row_locks import lock_row
from evalsite.review.states import ReviewRefused
from judging.judges.versions import changes_between, version_of_options
from judging.models import Judge, RunEvaluator
from judging.selectors.judges.judge_versions import versions_of
from judging.services.endpoints import JudgeFields, JudgeNotValid, save_judge
from judging.services.evaluation.evaluator_tasks import freeze


def differences_from(evaluator: RunEvaluator) -> tuple[str, ...]:
    """Return in which ways a version's judge as it is set up now differs from it; none: the next run uses it."""
    version = versions_of([evaluator])[evaluator.pk]
    now = version_of_options(
        freeze(judge=evaluator.judge, options={}), rubric_hash=version.rubric, criterion=version.criterion
    )
    return changes_between(version, now)


@transaction.atomic
def use_version(*, evaluator: RunEvaluator, actor: User | None) -> Judge:
    """Give a version's judge the options that the version has; return the judge.

    Raises:
        ReviewRefused: its model is another by now, or its options cannot be stored any more.
    """
    if evaluator.judge is None:
        raise ReviewRefused("This version has no judge; rules are used as the cases state them.")
    judge = lock_row(Judge, evaluator.judge.pk, "endpoint")
    evaluator.judge = judge
    if not differences_from(evaluator):
        return judge
    fields = JudgeFields(judge.name, judge.endpoint, judge.description)
    try:
        options = dict(evaluator.options["judge_options"])
        judge = save_judge(judge=judge, fields=fields, kind=judge.kind, options=options, actor=actor)
    except JudgeNotValid as problem:
        raise ReviewRefused(f"The version cannot be set up again: {problem}") from None
    evaluator.judge = judge
    remaining = differences_from(evaluator)
    if remaining:
        raise ReviewRefused(f"The judge cannot be set to this version: {' '.join(remaining)}")
    return judge
