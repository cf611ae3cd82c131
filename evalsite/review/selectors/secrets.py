"""What a queue's name must not give away: the names of systems, judges and files behind its items."""

from __future__ import annotations

from collections.abc import Iterable

from debate.models import DebateSet, Speaker
from evalsite.review.models import Queue
from judging.models import EvaluatorKind, Run, System


def names_behind(queue: Queue) -> list[str]:
    """Return every name that annotators of a queue are not to know."""
    names = [queue.source_file]
    if queue.run is not None:
        names += names_behind_run(queue.run)
    if queue.debate_set is not None:
        names += names_behind_debates(queue.debate_set)
    for pair in queue.materials.order_by().values_list("system_a", "system_b").distinct():
        names += pair
    return [name for name in names if name]


def names_behind_run(run: Run) -> list[str]:
    """Return the names of a run's systems and judges; rules have names that tell nothing."""
    judges = run.evaluators.filter(kind=EvaluatorKind.JUDGE)
    return [*_of_systems(run.systems.all()), *judges.values_list("name", flat=True)]


def names_behind_debates(debate_set: DebateSet) -> list[str]:
    """Return the names of a set's systems and agents."""
    agents = Speaker.objects.filter(debate__debate_set=debate_set).order_by().values_list("name", flat=True)
    return [*_of_systems([debate_set.system_a, debate_set.system_b]), *agents.distinct()]


def _of_systems(systems: Iterable[System]) -> list[str]:
    return [word for system in systems for word in (system.name, system.model)]
