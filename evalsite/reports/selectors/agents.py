"""What agents said in debates: their votes, how these were read, and the debates' outcomes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Avg, Count, Q, Sum

from debate.models import Agent, Debate, DebateStatus, Statement
from debate.protocol.meta.votes import DebateVotes, agent_names, debate_votes
from debate.protocol.setups import Method
from judging.judges.replies.reply_rows import Spent
from judging.llm.endpoints import EndpointKind
from judging.models import Call

ENDED = (DebateStatus.AGREED, DebateStatus.UNRESOLVED)
HOW_READ = {  # a statement's status in the words used for judges; every other one carries no verdict
    "final_line": "ok",
    "phrase": "repaired",
    "out_of_range_phrase": "repaired",
    "refused": "refused",
    "failed": "failed",
}
POSITION_VOTES = {"1": 1, "2": -1, "0": 0}  # a vote by position, as a preference for the answer shown first


@dataclass(frozen=True, slots=True)
class EndedDebate:
    """One debate that came to its end, its votes in system space."""

    pk: int
    case_id: int
    scenario: str
    verdict: int | None  # None: unresolved
    votes: DebateVotes


@dataclass(slots=True)
class AgentWork:
    """One agent over all debates, by its name."""

    name: str
    is_baseline: bool = False
    endpoint_ids: set[int] = field(default_factory=set)
    run_ids: set[int] = field(default_factory=set)
    how_read: Counter[str] = field(default_factory=Counter)
    orders: list[tuple[int, int]] = field(default_factory=list)  # preferences for one answer, in both orders


def ended_debates() -> list[EndedDebate]:
    """Return the ended debates in which every agent spoke in the independent round. Three queries."""
    debates = Debate.objects.filter(status__in=ENDED, debate_set__method=Method.DEBATE).order_by("pk")
    facts = list(debates.values_list("pk", "case_id", "scenario", "verdict", "response_order"))
    members: dict[int, list[tuple[int, str]]] = defaultdict(list)
    agents = Agent.objects.filter(debate__in=debates).order_by("debate_id", "number")
    for pk, debate_id, name in agents.values_list("pk", "debate_id", "name"):
        members[debate_id].append((pk, name))
    votes: dict[int, dict[int, dict[int, int | None]]] = defaultdict(lambda: defaultdict(dict))
    statements = Statement.objects.filter(agent__debate__in=debates)
    fields = ("agent__debate_id", "round", "agent_id", "verdict")
    for debate_id, number, agent_id, verdict in statements.values_list(*fields).iterator(chunk_size=5000):
        votes[debate_id][number][agent_id] = verdict
    ended = []
    for pk, case_id, scenario, verdict, order in facts:
        if not votes[pk] or not members[pk]:
            continue
        rounds = [[votes[pk][number].get(agent) for agent, _ in members[pk]] for number in sorted(votes[pk])]
        names = [name for _, name in members[pk]]
        by_position = debate_votes(item=pk, response_order=order, judges=names, rounds=rounds)
        ended.append(EndedDebate(pk, case_id, scenario, verdict, by_position))
    return ended


def agent_work() -> dict[str, AgentWork]:
    """Return the work of every agent by name, a judge that takes part twice in a debate as two (see `agent_names`)."""
    work_by_name: dict[str, AgentWork] = {}
    names: dict[int, str] = {}
    by_debate: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    fields = ("pk", "debate_id", "name", "endpoint_id", "endpoint__kind", "debate__debate_set__run_id")
    for row in Agent.objects.order_by("debate_id", "number").values_list(*fields).iterator(chunk_size=5000):
        by_debate[row[1]].append(row)
    for rows in by_debate.values():
        for row, name in zip(rows, agent_names([row[2] for row in rows]), strict=True):
            pk, _, _, endpoint_id, kind, run_id = row
            work = work_by_name.setdefault(name, AgentWork(name))
            names[pk] = name
            work.is_baseline = work.is_baseline or kind == EndpointKind.LEXICAL
            work.endpoint_ids |= {endpoint_id} if endpoint_id else set()
            work.run_ids |= {run_id} if run_id else set()
    _read_statements(work_by_name, names)
    return work_by_name


def _read_statements(work_by_name: dict[str, AgentWork], names: dict[int, str]) -> None:
    fields = ("agent_id", "status", "position_verdict", "mirrored_position_verdict")
    statements = Statement.objects.values_list(*fields)
    for agent_id, status, position, mirrored in statements.iterator(chunk_size=5000):
        work = work_by_name[names[agent_id]]
        work.how_read[HOW_READ.get(status, "unparsed")] += 1
        if position in POSITION_VOTES and mirrored in POSITION_VOTES:
            work.orders.append((POSITION_VOTES[position], -POSITION_VOTES[mirrored]))


def debate_spending(work: AgentWork, others: Sequence[AgentWork]) -> Spent | None:
    """Return what the agent's calls took; None where another agent shares its endpoint in the same runs."""
    shared = any(
        other is not work and other.endpoint_ids & work.endpoint_ids and other.run_ids & work.run_ids
        for other in others
    )
    if shared or not work.run_ids or not work.endpoint_ids:
        return None
    sums = Call.objects.filter(run__in=work.run_ids, endpoint__in=work.endpoint_ids).aggregate(
        calls=Count("pk"),
        prompt=Sum("prompt_tokens"),
        completion=Sum("completion_tokens"),
        spent=Sum("cost"),
        unpriced=Count("pk", filter=Q(cost__isnull=True)),
        seconds=Avg("seconds"),
    )
    return Spent(
        calls=sums["calls"],
        prompt_tokens=sums["prompt"] or 0,
        completion_tokens=sums["completion"] or 0,
        cost=sums["spent"],
        unpriced=sums["unpriced"],
        seconds_mean=sums["seconds"],
        seconds_p95=None,
    )
