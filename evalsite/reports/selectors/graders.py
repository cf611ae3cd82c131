"""Who scored a suite: rule graders and versions of judges, each over all its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from evalsite.base.types import JsonDict
from evalsite.reports.models import OfficialBoard
from evalsite.reports.selectors.leaderboards import evaluators_of
from judging.judges.judge_kinds import HASH_SHOWN
from judging.models import EvaluatorKind, RunEvaluator
from judging.selectors.judges import versions_of

MAX_COLUMNS = 8  # side by side on a page


@dataclass(frozen=True, slots=True)
class Grader:
    """A rule grader or one version of a judge, with what its runs made of it, the newest first."""

    evaluators: tuple[RunEvaluator, ...]
    label: str

    @property
    def newest(self) -> RunEvaluator:
        return self.evaluators[0]

    @property
    def key(self) -> int:
        """Its key in addresses: the id of its evaluator in the newest run."""
        return self.newest.pk

    @property
    def options(self) -> JsonDict:
        """The options of the reports about it: which evaluators count."""
        return {"evaluators": [evaluator.pk for evaluator in self.evaluators]}

    def holds(self, evaluator_id: int) -> bool:
        """Whether one of its evaluators has this key."""
        return any(evaluator.pk == evaluator_id for evaluator in self.evaluators)


def graders_of(suite_id: int) -> tuple[Grader, ...]:
    """Return who scored a suite, in the order of its leaderboards: real judges and rules before baselines."""
    choices = evaluators_of([suite_id])[suite_id]
    keys = {pk: version.key for pk, version in versions_of([board.evaluator for board in choices.every]).items()}
    grouped: dict[tuple[bool, str, str], list[RunEvaluator]] = {}
    for board in choices.every:
        row = board.evaluator
        grouped.setdefault((row.is_baseline, row.name, keys[row.pk]), []).append(row)
    ranks = {board.evaluator.name: rank for rank, board in enumerate(choices.fullest)}
    ordered = sorted(grouped.items(), key=lambda entry: (ranks[entry[0][1]], -entry[1][0].pk))
    version_counts = Counter((name, rows[0].criterion) for (_, name, _), rows in ordered)
    prompts = Counter((name, rows[0].criterion, _prompt(rows[0])) for (_, name, _), rows in ordered)
    criteria = Counter(name for name, _ in version_counts)
    graders = []
    for (_, name, key), rows in ordered:
        criterion, prompt = rows[0].criterion, _prompt(rows[0])
        label = f"{name}, {criterion}" if criteria[name] > 1 and criterion else name
        if version_counts[name, criterion] > 1:
            is_told_apart = prompt and prompts[name, criterion, prompt] == 1
            label += f" (prompt {prompt})" if is_told_apart else f" ({key[:HASH_SHOWN]})"
        graders.append(Grader(tuple(rows), label))
    return tuple(graders)


def first_graders(graders: Sequence[Grader], official: OfficialBoard | None) -> list[Grader]:
    """Return whom a suite's board shows first: those that were pinned, by any of their evaluators, else all."""
    return (graders_named(graders, official.evaluators if official is not None else ()) or list(graders))[:MAX_COLUMNS]


def graders_named(graders: Sequence[Grader], evaluator_ids: Collection[int]) -> list[Grader]:
    """Return those that hold one of these evaluators, in their own order."""
    return [grader for grader in graders if any(grader.holds(pk) for pk in evaluator_ids)]


def grader_named(graders: Sequence[Grader], evaluator_ids: Sequence[int]) -> Grader | None:
    """Return the one that holds the first known of these evaluators, else the first one; None where there is none."""
    named = (grader for pk in evaluator_ids for grader in graders if grader.holds(pk))
    return next(named, next(iter(graders), None))


def board_options(graders: Sequence[Grader]) -> JsonDict:
    """Return the options of the board of these graders."""
    return {"graders": [[row.pk for row in grader.evaluators] for grader in graders]}


def _prompt(evaluator: RunEvaluator) -> str:
    """Return the head of the hash of a judge's prompt; empty without one."""
    return str(evaluator.options.get("prompt_hash") or "")[:HASH_SHOWN] if evaluator.kind == EvaluatorKind.JUDGE else ""
