"""Lists and figures of sets of debates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, F, Q, QuerySet

from debate.models import Agent, Debate, DebateSet, DebateSource, DebateStatus, Experiment, Statement
from debate.protocol.meta.conformity import JudgeConformity, conformity, moved_toward
from debate.protocol.meta.votes import DebateVotes, agent_names, debate_votes
from debate.protocol.setups import Method
from judging.llm.endpoints import EndpointKind
from judging.models import ModelEndpoint, Run
from judging.states import ACTIVE

OUTCOMES = {"a": 1, "b": -1, "tie": 0}  # in an address
SET_SORTS = {"name": "name", "criterion": "criterion", "created": "created_at"}
DEBATE_SORTS = {"case": "case__key", "scenario": "scenario", "status": "status", "rounds": "round_count"}


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """How the debates of a set stand."""

    agreed: int = 0
    unresolved: int = 0
    failed: int = 0
    open: int = 0
    cancelled: int = 0
    verdicts: Counter[int | None] = field(default_factory=Counter)  # of the agreed ones, in system space

    @property
    def total(self) -> int:
        return self.agreed + self.unresolved + self.failed + self.open + self.cancelled

    @property
    def agreed_share(self) -> float | None:
        """The share of finished debates that ended in agreement."""
        finished = self.agreed + self.unresolved
        return self.agreed / finished if finished else None

    @property
    def a_better(self) -> int:
        return self.verdicts[1]

    @property
    def b_better(self) -> int:
        return self.verdicts[-1]

    @property
    def neither(self) -> int:
        return self.verdicts[0]


@dataclass(frozen=True, slots=True)
class RunPace:
    """How fast a run goes; None where it cannot be told yet."""

    per_minute: float | None
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Conformity:
    """Who keeps its verdict and who gives way, over the finished debates of a set."""

    judges: tuple[JudgeConformity, ...]
    moves: tuple[tuple[str, str, int], ...]  # who moved, toward whom, times; most frequent first
    debates: int


def list_sets(*, sort: str = "-created", source: str = "", method: str = "", words: str = "") -> QuerySet[DebateSet]:
    """Return sets of debates, newest first unless told otherwise."""
    debate_sets = DebateSet.objects.select_related("run", "system_a", "system_b", "rubric").defer("setup")
    if method in list(Method):
        debate_sets = debate_sets.filter(method=method)
    if source in DebateSource.values:
        debate_sets = debate_sets.filter(source=source)
    if words:
        debate_sets = debate_sets.filter(name__icontains=words)
    return debate_sets.order_by(*_order(sort, SET_SORTS, default="-created_at"), "-pk")


def sets_of_experiment(experiment: Experiment) -> list[DebateSet]:
    """Return the sets of an experiment in the order made. One query."""
    return list(experiment.sets.select_related("run", "system_a", "system_b").order_by("pk"))


def sets_by_id(set_ids: Sequence[int]) -> list[DebateSet]:
    """Return these sets with what stands around them, by id. One query."""
    debate_sets = DebateSet.objects.select_related(
        "run__suite__benchmark", "system_a", "system_b", "rubric", "experiment"
    )
    return list(debate_sets.filter(pk__in=set_ids).order_by("pk"))


def outcomes_of(set_ids: Sequence[int]) -> dict[int, OutcomeCounts]:
    """Return how the debates of these sets stand. One query."""
    rows = (
        Debate.objects.filter(debate_set_id__in=set_ids)
        .order_by()
        .values_list("debate_set_id", "status", "verdict")
        .annotate(count=Count("pk"))
    )
    by_set: dict[int, Counter[str]] = {}
    verdicts: dict[int, Counter[int | None]] = {}
    for set_id, status, verdict, count in rows:
        by_set.setdefault(set_id, Counter())[status] += count
        verdicts.setdefault(set_id, Counter())[verdict] += count
    return {set_id: _outcomes(by_set.get(set_id, Counter()), verdicts.get(set_id, Counter())) for set_id in set_ids}


def debates_in(
    debate_set: DebateSet, *, status: str = "", outcome: str = "", scenario: str = "", words: str = "", sort: str = ""
) -> QuerySet[Debate]:
    """Return a set's debates by case, unless told otherwise; `words` stand in the case's key or its question."""
    debates = debate_set.debates.select_related("case").only(
        "case__key", "scenario", "status", "verdict", "agreed_round", "round_count", "independent_verdict", "flags",
        "debate_set_id", "source_id", "response_order",
    )  # fmt: skip
    if status in DebateStatus.values:
        debates = debates.filter(status=status)
    if outcome in OUTCOMES:
        debates = debates.filter(verdict=OUTCOMES[outcome])
    if scenario:
        debates = debates.filter(scenario=scenario)
    if words:
        debates = debates.filter(Q(case__key__icontains=words) | Q(case__prompt__text__icontains=words))
    return debates.order_by(*_order(sort, DEBATE_SORTS, default="pk"), "pk")


def scenarios_of(debate_set: DebateSet) -> list[tuple[str, int]]:
    """Return the scenarios of a set with their number of debates."""
    rows = debate_set.debates.order_by("scenario").values_list("scenario").annotate(count=Count("pk"))
    return [(scenario, count) for scenario, count in rows if scenario]


def baselines_of(debate_set: DebateSet) -> list[str]:
    """Return the names of a set's agents that are no language models."""
    baselines = ModelEndpoint.objects.filter(kind=EndpointKind.LEXICAL, name__in=debate_set.setup.get("endpoints", []))
    return list(baselines.order_by("name").values_list("name", flat=True))


def progress_of(run: Run, *, at: datetime) -> RunPace:
    """Return the speed of a run and the time it still takes at that speed."""
    ended = run.done + run.failed
    if run.started_at is None or not ended or run.status not in ACTIVE:
        return RunPace(None, None)
    per_second = ended / max((at - run.started_at).total_seconds(), 1.0)
    return RunPace(per_minute=60 * per_second, seconds_left=run.waiting / per_second)


def conformity_of(debate_set: DebateSet) -> Conformity:
    """Return how the agents of a set move. Two queries, without any text."""
    all_votes = votes_of(debate_set)
    moves = moved_toward(all_votes)
    ordered = sorted(moves.items(), key=lambda row: (-row[1], row[0]))
    return Conformity(
        judges=conformity(all_votes),
        moves=tuple((judge, whom, times) for (judge, whom), times in ordered),
        debates=len(all_votes),
    )


def votes_of(debate_set: DebateSet) -> list[DebateVotes]:
    """Return the votes of a set's finished debates, in the reading that their outcome follows."""
    finished = debate_set.debates.filter(status__in=(DebateStatus.AGREED, DebateStatus.UNRESOLVED))
    orders = dict(finished.order_by("pk").values_list("pk", "response_order"))
    names: dict[int, list[str]] = {}
    agents = Agent.objects.filter(debate__debate_set=debate_set).order_by("debate_id", "number")
    for debate_id, name in agents.values_list("debate_id", "name"):
        names.setdefault(debate_id, []).append(name)
    rounds: dict[int, dict[int, list[int | None]]] = {}
    statements = Statement.objects.filter(agent__debate__debate_set=debate_set).order_by("round", "agent__number")
    for debate_id, number, verdict in statements.values_list("agent__debate_id", "round", "verdict"):
        rounds.setdefault(debate_id, {}).setdefault(number, []).append(verdict)
    return [
        debate_votes(
            item=debate_id,
            response_order=order,
            judges=agent_names(names[debate_id]),
            rounds=[rounds[debate_id][number] for number in sorted(rounds[debate_id])],
        )
        for debate_id, order in orders.items()
        if debate_id in rounds
    ]


def _outcomes(statuses: Counter[str], verdicts: Counter[int | None]) -> OutcomeCounts:
    return OutcomeCounts(
        agreed=statuses[DebateStatus.AGREED],
        unresolved=statuses[DebateStatus.UNRESOLVED],
        failed=statuses[DebateStatus.FAILED],
        open=statuses[DebateStatus.WAITING] + statuses[DebateStatus.RUNNING],
        cancelled=statuses[DebateStatus.CANCELLED],
        verdicts=verdicts,
    )


def _order(sort: str, allowed: dict[str, str], *, default: str) -> list[str | F]:
    field_name = allowed.get(sort.lstrip("-"))
    if field_name is None:
        return [default]
    return [f"-{field_name}" if sort.startswith("-") else field_name]
