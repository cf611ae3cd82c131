"""Holds the debates of a run: builds their conversations for the call engine and stores how they ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from django.db.models import QuerySet

from debate.models import Agent, Debate, DebateSet, DebateStatus, Statement
from debate.protocol.debate import calls_by_statement, run_debate, vote_of
from debate.protocol.setups import DebateOptions, DebateResult, Method, StatementResult, options_from_json
from debate.protocol.verdicts import StopReason, majority
from debate.selectors import debates_by_id, setups_of
from debate.services.set_plans import announce_finished
from evalsite.base import signals
from judging.judges.subjects import VerdictStatus
from judging.models import Call, Run, RunTask
from judging.services.registries import Executor, FinishedTask, ReadyTask
from judging.stored_content import storable

BATCH = 500
UNFINISHED = (DebateStatus.WAITING, DebateStatus.RUNNING)
STORED_FIELDS = (
    *("status", "verdict", "agreed_round", "round_count", "independent_verdict", "flags", "finished_at"),
    *("call_count", "cost"),
)


class DebateExecutor(Executor):
    """Does the tasks of runs of kind debate; registered by `debate.apps`."""

    def prepare(self, *, run: Run, tasks: Sequence[RunTask]) -> list[ReadyTask]:
        """Return a conversation for each task. Four queries, whatever the number of tasks.

        A debate only fails where an agent could not be reached, so a retry asks again what was not answered and
        nothing else: the tasks go to the engine as if they were tried for the first time.
        """
        for task in tasks:
            task.retries = 0
        ids = {task.subject_id: task.pk for task in tasks if task.subject_id is not None}
        debates = debates_by_id(list(ids))
        setups = setups_of(debates)
        Debate.objects.filter(pk__in=list(ids), status=DebateStatus.WAITING).update(status=DebateStatus.RUNNING)
        return [
            ReadyTask(ids[debate.pk], setups[debate.pk].agents[0], run_debate(setups[debate.pk])) for debate in debates
        ]

    def store(self, *, run: Run, finished: Sequence[FinishedTask], at: datetime) -> None:
        """Store statements and outcomes. What an earlier try left of the same debates is replaced."""
        results: dict[int, DebateResult] = {
            item.task.subject_id: item.result for item in finished if item.task.subject_id is not None
        }
        if not results:
            return
        options = options_from_json(DebateSet.objects.values_list("setup", flat=True).get(run=run))
        agents = {(agent.debate_id, agent.number): agent for agent in Agent.objects.filter(debate_id__in=results)}
        costs = _costs_of(finished)
        rows: list[Statement] = []
        for item in finished:
            if item.task.subject_id is not None:
                rows += _statements(item.task.subject_id, item, agents, at, options)
        for row in rows:
            row.asked_cost = costs.get(row.call_ids[0]) if row.call_ids else None
        Statement.objects.filter(agent__debate_id__in=results).delete()
        Statement.objects.bulk_create(rows, batch_size=BATCH)
        debates = list(Debate.objects.filter(pk__in=results))
        calls = {item.task.subject_id: item.call_ids for item in finished}
        for debate in debates:
            _finish(debate, results[debate.pk], at)
            debate.call_count = len(calls[debate.pk])
            debate.cost = _sum([costs.get(pk) for pk in calls[debate.pk]])
        # An upsert: a bulk update of so many columns takes the database longer than all else here.
        Debate.objects.bulk_create(
            debates, batch_size=BATCH, update_conflicts=True, unique_fields=["id"], update_fields=STORED_FIELDS
        )
        for debate in debates:
            if debate.status == DebateStatus.UNRESOLVED:
                signals.debate_unresolved.send(sender=Debate, debate_id=debate.pk)

    def failure(self, result: object) -> str:
        """Return why a debate broke off, or an empty text: an unresolved debate is no failure."""
        if not isinstance(result, DebateResult):
            return "failed"
        if result.stop_reason is not StopReason.FAILED:
            return ""
        return next((statement.error_kind for statement in result.statements if statement.error_kind), "") or "failed"

    def reset(self, *, run: Run, tasks: QuerySet[RunTask]) -> None:
        """Make broken-off debates wait again, without the statements they got to; their finished calls stay."""
        subjects = tasks.values("subject_id")
        Statement.objects.filter(agent__debate_id__in=subjects).delete()
        Debate.objects.filter(pk__in=subjects).update(
            status=DebateStatus.WAITING,
            verdict=None,
            agreed_round=None,
            round_count=0,
            independent_verdict=None,
            flags=[],
            call_count=0,
            cost=None,
            finished_at=None,
        )

    def finish(self, *, run: Run, at: datetime) -> None:
        """Mark debates whose task crashed as failed, and announce a set of debates once this is committed.

        A baseline without a decision is a finding about the baseline: people are asked where a debate stays open.
        """
        debate_set = DebateSet.objects.get(run=run)
        debate_set.debates.filter(status__in=UNFINISHED).update(status=DebateStatus.FAILED, finished_at=at)
        if debate_set.method == Method.DEBATE:
            announce_finished(debate_set.pk)

    def cancel(self, *, run: Run, at: datetime) -> None:
        """End the debates that are not over; what was asked in them stays in the ledger."""
        Debate.objects.filter(debate_set__run=run, status__in=UNFINISHED).update(
            status=DebateStatus.CANCELLED, finished_at=at
        )


def _costs_of(finished: Sequence[FinishedTask]) -> dict[int, Decimal | None]:
    """Return what each call cost. One query."""
    calls = Call.objects.filter(pk__in={pk for item in finished for pk in item.call_ids})
    return dict(calls.values_list("pk", "cost"))


def _sum(costs: Sequence[Decimal | None]) -> Decimal | None:
    """Return the sum, or None where a cost is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None


def flags_of(result: DebateResult) -> list[str]:
    """Return what a reader of a debate should know about how its verdicts came about, sorted."""
    statements = result.statements
    flags = {f"statement-{statement.status}" for statement in statements if statement.status is not VerdictStatus.OK}
    if any(statement.reasked for statement in statements):
        flags.add("asked-again")
    if _voided_agents(result):
        flags.add("vote-follows-place")
    if result.stop_reason is StopReason.STABILITY:
        flags.add("stable-disagreement")
    return sorted(flags)


def _voided_agents(result: DebateResult) -> set[int]:
    """Return the agents that were asked in both orders at once and named different systems."""
    votes: dict[tuple[int, int], set[int | None]] = {}
    for statement in result.statements:
        votes.setdefault((statement.round, statement.agent_number), set()).add(statement.system_verdict)
    return {agent_number for (_, agent_number), cast in votes.items() if len(cast - {None}) > 1}


def _finish(debate: Debate, result: DebateResult, at: datetime) -> None:
    failed = result.stop_reason is StopReason.FAILED
    debate.status = DebateStatus.FAILED if failed else DebateStatus(result.outcome.value)
    debate.verdict = result.verdict
    debate.agreed_round = result.agreed_round
    debate.round_count = len(result.rounds) - 1
    debate.independent_verdict = majority(result.rounds[0])
    debate.flags = flags_of(result)
    debate.finished_at = at


def _statements(
    debate_id: int,
    item: FinishedTask,
    agents: Mapping[tuple[int, int], Agent],
    at: datetime,
    options: DebateOptions,
) -> list[Statement]:
    results: Sequence[StatementResult] = item.result.statements
    calls_of_results = calls_by_statement(results, item.call_ids, method=options.method, mode=options.mode)
    mirrored = {
        (result.round, result.agent_number): (result, calls)
        for result, calls in zip(results, calls_of_results, strict=True)
        if result.mirrored
    }
    rows: list[Statement] = []
    for result, calls in zip(results, calls_of_results, strict=True):
        if result.mirrored:
            continue
        row = _row(result, agents[debate_id, result.agent_number], at)
        row.call_ids = list(calls)
        row.verdict = vote_of(result, refusal_as_tie=options.refusal_as_tie)
        if (result.round, result.agent_number) in mirrored:
            _add_mirrored(row, *mirrored[result.round, result.agent_number], options)
        rows.append(row)
    return rows


def _add_mirrored(row: Statement, other: StatementResult, calls: Sequence[int], options: DebateOptions) -> None:
    """Add the vote on the swapped responses; one that names the other system makes both void."""
    row.mirrored_text = storable(other.text)
    row.mirrored_position_verdict = position_text(other.position_verdict)
    row.mirrored_call_ids = list(calls)
    if vote_of(other, refusal_as_tie=options.refusal_as_tie) != row.verdict:
        row.verdict = None


def _row(result: StatementResult, agent: Agent, at: datetime) -> Statement:
    return Statement(
        agent=agent,
        round=result.round,
        text=storable(result.text),
        position_verdict=position_text(result.position_verdict),
        status=status_of(result),
        was_reasked=result.reasked,
        first_text=storable(result.first_text),
        error_kind=storable(result.error_kind)[:60],
        created_at=at,
    )


def position_text(verdict: int | None) -> str:
    """Return a verdict by position as it is stored: a digit, or an empty text for none."""
    return "" if verdict is None else str(verdict)


def status_of(result: StatementResult) -> str:
    """Return how a statement was read: the rule that found its verdict, or why it has none."""
    if result.status in (VerdictStatus.REFUSED, VerdictStatus.FAILED):
        return str(result.status)
    return str(result.how)
