"""Holds the debates of a run: builds their conversations for the call engine and stores how they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from debate.models import Debate, DebateSet, DebateStatus, DecisionMethod, Speaker, Statement
from debate.protocol.consensus import StopReason
from debate.protocol.debate import run_debate, vote_of
from debate.protocol.setups import DebateResult, StatementResult
from debate.selectors.setups import debates_by_id, setups_of
from debate.services.creating import announce_finished
from judging.judges.verdicts import VerdictStatus
from judging.models import Call, Run, RunTask
from judging.services.executors import Finished, Prepared
from judging.services.storable import storable

BATCH = 500
UNSETTLED = (DebateStatus.WAITING, DebateStatus.RUNNING)
STORED_FIELDS = (
    *("status", "verdict", "agreed_round", "round_count", "opening_verdict", "flags", "finished_at"),
    *("call_count", "cost"),
)


class DebateExecutor:
    """Does the tasks of runs of kind debate; registered by `debate.apps`."""

    def prepare(self, *, run: Run, tasks: Sequence[RunTask]) -> list[Prepared]:
        """Return a conversation for each task. Four queries, whatever the number of tasks.

        A debate only fails where a speaker could not be reached, so a retry asks again what was not answered and
        nothing else: the tasks go to the engine as if they were tried for the first time.
        """
        for task in tasks:
            task.retries = 0
        ids = {task.subject_id: task.pk for task in tasks if task.subject_id is not None}
        debates = debates_by_id(list(ids))
        setups = setups_of(debates)
        Debate.objects.filter(pk__in=list(ids), status=DebateStatus.WAITING).update(status=DebateStatus.RUNNING)
        return [
            Prepared(ids[debate.pk], setups[debate.pk].seats[0], run_debate(setups[debate.pk])) for debate in debates
        ]

    def store(self, *, run: Run, finished: Sequence[Finished], at: datetime) -> None:
        """Store statements and outcomes. What an earlier try left of the same debates is replaced."""
        results: dict[int, DebateResult] = {
            item.task.subject_id: item.result for item in finished if item.task.subject_id is not None
        }
        if not results:
            return
        options = DebateSet.objects.values_list("setup", flat=True).get(run=run)
        speakers = {
            (speaker.debate_id, speaker.seat): speaker for speaker in Speaker.objects.filter(debate_id__in=results)
        }
        costs = _costs_of(finished)
        rows = [
            row
            for debate_id, result in results.items()
            for row in _statements(debate_id, result, speakers, at, refusal_as_tie=options["refusal_as_tie"])
        ]
        _price_openings(rows, costs, orders=2 if options["both_orders_opening"] else 1)
        Statement.objects.filter(speaker__debate_id__in=results).delete()
        Statement.objects.bulk_create(rows, batch_size=BATCH)
        debates = list(Debate.objects.filter(pk__in=results))
        for debate in debates:
            _settle(debate, results[debate.pk], at)
            debate.call_count, debate.cost = len(costs[debate.pk]), _sum(costs[debate.pk])
        # An upsert: a bulk update of so many columns takes the database longer than all else here.
        Debate.objects.bulk_create(
            debates, batch_size=BATCH, update_conflicts=True, unique_fields=["id"], update_fields=STORED_FIELDS
        )

    def failure(self, result: Any) -> str:
        """Return why a debate broke off, or an empty text: an unresolved debate is no failure."""
        if not isinstance(result, DebateResult):
            return "failed"
        if result.stop_reason is not StopReason.FAILED:
            return ""
        return next((said.error_kind for said in result.statements if said.error_kind), "") or "failed"

    def forget(self, *, run: Run, task_ids: Sequence[int]) -> None:
        """Make broken-off debates wait again, without the statements they got to; their finished calls stay."""
        subjects = RunTask.objects.filter(pk__in=task_ids).values_list("subject_id", flat=True)
        ids = [subject for subject in subjects if subject is not None]
        Statement.objects.filter(speaker__debate_id__in=ids).delete()
        Debate.objects.filter(pk__in=ids).update(
            status=DebateStatus.WAITING,
            verdict=None,
            agreed_round=None,
            round_count=0,
            opening_verdict=None,
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
        debate_set.debates.filter(status__in=UNSETTLED).update(status=DebateStatus.FAILED, finished_at=at)
        if debate_set.method == DecisionMethod.DEBATE:
            announce_finished(debate_set.pk)


def _costs_of(finished: Sequence[Finished]) -> dict[int, list[Decimal | None]]:
    """Return what each debate's calls cost, in the order they were asked. One query."""
    calls = Call.objects.filter(pk__in={pk for item in finished for pk in item.call_ids})
    costs: dict[int, Decimal | None] = dict(calls.values_list("pk", "cost"))
    return {
        item.task.subject_id: [costs.get(pk) for pk in item.call_ids]
        for item in finished
        if item.task.subject_id is not None
    }


def _price_openings(rows: Sequence[Statement], costs: Mapping[int, Sequence[Decimal | None]], *, orders: int) -> None:
    """Note on each opening statement what its question cost.

    A debate's first requests are its seats' opening questions in the order of seats (see `run_debate`), each followed
    by the same in the other order where that was asked for.
    """
    openings = [row for row in rows if row.round == 0]
    seats = Counter(row.speaker.debate_id for row in openings)
    for row in openings:
        debate_id, place = row.speaker.debate_id, (row.speaker.seat - 1) * orders
        own = costs.get(debate_id, ())
        row.asked_cost = own[place] if len(own) >= seats[debate_id] * orders else None


def _sum(costs: Sequence[Decimal | None]) -> Decimal | None:
    """Return the sum, or None where a cost is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None


def flags_of(result: DebateResult) -> list[str]:
    """Return what a reader of a debate should know about how its verdicts came about, sorted."""
    said = result.statements
    flags = {f"statement-{one.status}" for one in said if one.status is not VerdictStatus.OK}
    if any(one.reasked for one in said):
        flags.add("asked-again")
    if _voided_seats(result):
        flags.add("vote-follows-place")
    if result.stop_reason is StopReason.STABILITY:
        flags.add("stable-disagreement")
    return sorted(flags)


def _voided_seats(result: DebateResult) -> set[int]:
    """Return the seats that were asked in both orders at once and named different systems."""
    votes: dict[tuple[int, int], set[int | None]] = {}
    for one in result.statements:
        votes.setdefault((one.round, one.seat), set()).add(one.system_verdict)
    return {seat for (_, seat), given in votes.items() if len(given - {None}) > 1}


def _settle(debate: Debate, result: DebateResult, at: datetime) -> None:
    failed = result.stop_reason is StopReason.FAILED
    debate.status = DebateStatus.FAILED if failed else DebateStatus(result.outcome.value)
    debate.verdict = result.verdict
    debate.agreed_round = result.agreed_round
    debate.round_count = len(result.rounds) - 1
    debate.opening_verdict = result.opening.majority
    debate.flags = flags_of(result)
    debate.finished_at = at


def _statements(
    debate_id: int,
    result: DebateResult,
    speakers: Mapping[tuple[int, int], Speaker],
    at: datetime,
    *,
    refusal_as_tie: bool,
) -> list[Statement]:
    mirrored = {(one.round, one.seat): one for one in result.statements if one.mirrored}
    rows: list[Statement] = []
    for one in result.statements:
        if one.mirrored:
            continue
        row = _row(one, speakers[debate_id, one.seat], at)
        other = mirrored.get((one.round, one.seat))
        row.verdict = vote_of(one, refusal_as_tie=refusal_as_tie)
        if other is not None:
            row.mirrored_text = storable(other.text)
            row.mirrored_position_verdict = position_text(other.position_verdict)
            if vote_of(other, refusal_as_tie=refusal_as_tie) != row.verdict:
                row.verdict = None
        rows.append(row)
    return rows


def _row(one: StatementResult, speaker: Speaker, at: datetime) -> Statement:
    return Statement(
        speaker=speaker,
        round=one.round,
        text=storable(one.text),
        position_verdict=position_text(one.position_verdict),
        status=status_of(one),
        was_reasked=one.reasked,
        first_text=storable(one.first_text),
        error_kind=storable(one.error_kind)[:60],
        created_at=at,
    )


def position_text(verdict: int | None) -> str:
    """Return a verdict by position as it is stored: a digit, or an empty text for none."""
    return "" if verdict is None else str(verdict)


def status_of(one: StatementResult) -> str:
    """Return how a statement was read: the rule that found its verdict, or why it has none."""
    if one.status in (VerdictStatus.REFUSED, VerdictStatus.FAILED):
        return str(one.status)
    return str(one.how)
