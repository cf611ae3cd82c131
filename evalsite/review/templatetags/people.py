"""Shows on pages of runs and verdicts what of them is with people; those apps know nothing of this one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template

from evalsite.review.models import Queue
from evalsite.review.selectors import asked
from evalsite.review.selectors.asked import Reuse, RunPeople, VerdictPeople
from judging.models import Run, RunTask, Verdict

register = template.Library()


@register.simple_tag
def people_of_verdict(verdict: Verdict) -> VerdictPeople:
    """Return where the question behind a verdict is."""
    return asked.people_of(verdict)


@register.simple_tag
def people_of_verdicts(verdicts: Iterable[Verdict]) -> dict[int, VerdictPeople]:
    """Return the same for the rows of a table, by verdict."""
    return asked.people_of_verdicts(list(verdicts))


@register.simple_tag
def people_of_tasks(rows: Iterable[tuple[RunTask, Any]]) -> dict[int, VerdictPeople]:
    """Return the same for the rows of a run's table of tasks, each with its one verdict or with those in `said`."""
    found: list[Verdict] = []
    for task, _ in rows:
        said: list[Verdict] = getattr(task, "said", [])
        only: Verdict | None = getattr(task, "verdict", None)
        if only is not None and task.evaluator is not None:
            only.evaluator = task.evaluator
            said = [only]
        found += said
    return asked.people_of_verdicts(found)


@register.simple_tag
def people_of_run(run: Run) -> RunPeople:
    """Return how much of a run is with people."""
    return asked.people_of_run(run)


@register.simple_tag
def reuse_of(queue: Queue) -> Reuse:
    """Return how many subjects of a queue's run or debate set people had to be asked about."""
    return asked.reuse_of(queue)


@register.filter
def of_verdict(people: dict[int, VerdictPeople], verdict: Verdict) -> VerdictPeople | None:
    """Return the entry of one verdict."""
    return people.get(verdict.pk)
