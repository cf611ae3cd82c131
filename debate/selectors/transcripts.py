"""A debate as pages show it: its statements as stored, or, while it runs, as far as its calls are answered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from debate.models import Debate, DebateSource, DebateStatus, Statement
from debate.protocol.debate import Replayed, replay
from debate.protocol.setups import DebateSetup, Method
from debate.protocol.transcripts import ShownStatement, Transcript, shown_statements, transcript
from debate.protocol.verdicts import POSITIONS, readable_statement, to_system_space
from debate.selectors.setups import setups_of
from judging.llm.chat import ChatReply, ReplyStatus
from judging.llm.identity import call_key
from judging.models import Call, ModelEndpoint, RunTask
from judging.selectors.targets import config_of
from judging.services.calls.conversations import repeated
from judging.services.calls.ledger import reply_of

UNFINISHED = (DebateStatus.WAITING, DebateStatus.RUNNING, DebateStatus.CANCELLED)  # their statements are not stored
HEARD = (ReplyStatus.FINISHED, ReplyStatus.TRUNCATED, ReplyStatus.REFUSED)


@dataclass(frozen=True, slots=True)
class DebateView:
    """One debate's transcript, and who is being waited for."""

    transcript: Transcript
    waiting: tuple[str, ...]  # names of agents whose reply is due
    is_live: bool


def view_of(debate: Debate) -> DebateView:
    """Return the transcript of a debate loaded by `debates_by_id`."""
    if debate.status in UNFINISHED:
        return _live(debate)
    return DebateView(transcript(stored_statements(debate), is_heard=_is_heard(debate)), waiting=(), is_live=False)


def anonymous_transcript(debate: Debate, *, swapped: bool) -> Transcript:
    """Return a finished debate for somebody who may not know who spoke, with the sides as they see them. One query.

    Agents keep the numbers by which they address each other; `swapped` readers see system B as A.
    """
    first, second = ("B", "A") if swapped != bool(debate.response_order) else ("A", "B")
    rows = Statement.objects.filter(agent__debate=debate).order_by("round", "agent__number")
    statements = [
        ShownStatement(
            round=number,
            agent_number=agent_number,
            name=f"Agent {agent_number}",
            text=readable_statement(text, first=first, second=second),
            verdict=-verdict if swapped and verdict else verdict,
            status="",
        )
        for number, agent_number, text, verdict in rows.values_list("round", "agent__number", "text", "verdict")
    ]
    return transcript(statements, is_heard=_is_heard(debate))


def _is_heard(debate: Debate) -> bool:
    return debate.debate_set.method == Method.DEBATE


def stored_statements(debate: Debate) -> list[ShownStatement]:
    """Return the statements of a finished debate. One query."""
    rows = Statement.objects.filter(agent__debate=debate).select_related("agent").order_by("round", "agent__number")
    imported = debate.debate_set.source == DebateSource.IMPORT
    return [_said(row, debate, imported=imported) for row in rows]


def calls_of(statement: Statement) -> list[Call]:
    """Return the calls that a statement rests on, in the order asked. One query."""
    call_ids = [*statement.call_ids, *statement.mirrored_call_ids]
    calls = Call.objects.select_related("endpoint", "prompt").in_bulk(call_ids)
    return [calls[pk] for pk in call_ids if pk in calls]


def neighbours(debate: Debate) -> tuple[int | None, int | None]:
    """Return the ids of the debates before and after this one in its set. Two queries."""
    others = Debate.objects.filter(debate_set_id=debate.debate_set_id)
    before = others.filter(pk__lt=debate.pk).order_by("-pk").values_list("pk", flat=True).first()
    after = others.filter(pk__gt=debate.pk).order_by("pk").values_list("pk", flat=True).first()
    return before, after


def _said(row: Statement, debate: Debate, *, imported: bool) -> ShownStatement:
    mirrored = POSITIONS.get(row.mirrored_position_verdict)
    return ShownStatement(
        round=row.round,
        agent_number=row.agent.number,
        name=row.agent.name,
        text=row.text,
        verdict=row.verdict,
        status=row.status,
        reasked=row.was_reasked,
        first_text=row.first_text,
        mirrored_text=row.mirrored_text,
        mirrored_verdict=to_system_space(mirrored, response_order=1 - debate.response_order),
        filed=_filed(row) if imported else "",
        error_kind=row.error_kind,
        statement_id=row.pk if row.call_ids else 0,
    )


def _filed(row: Statement) -> str:
    """Return the score as filed where it does not say what the text says."""
    score = json.loads(row.recorded_verdict or "null")
    if isinstance(score, str):
        return "" if score == row.position_verdict else f"“{score}”"
    return "nothing" if score is None else str(score)


def _live(debate: Debate) -> DebateView:
    setup = setups_of([debate])[debate.pk]
    state = _replayed(setup, debate)
    names = dict.fromkeys(request.endpoint for request in state.waiting)
    return DebateView(
        transcript(shown_statements(state.statements), is_heard=_is_heard(debate)), waiting=tuple(names), is_live=True
    )


def _replayed(setup: DebateSetup, debate: Debate) -> Replayed:
    """Return how far the ledger's replies carry a debate. One query for each step that was answered."""
    configs = {
        endpoint.name: config_of(endpoint) for endpoint in ModelEndpoint.objects.filter(name__in=set(setup.agents))
    }
    run = debate.debate_set.run
    task = RunTask.objects.filter(run=run, subject_id=debate.pk).first()
    batches: list[tuple[ChatReply, ...]] = []
    while True:
        state = replay(setup, batches)
        if not state.waiting or any(request.endpoint not in configs for request in state.waiting):
            return state
        requests = [repeated(request, task, run) if task and run else request for request in state.waiting]
        keys = [call_key(configs[request.endpoint], request) for request in requests]
        replies = _replies(keys)
        if len(replies) < len(set(keys)):
            return state
        batches.append(tuple(replies[key] for key in keys))


def _replies(keys: Iterable[str]) -> dict[str, ChatReply]:
    """Return what was answered to these calls: the latest finished reply, else the latest."""
    replies: dict[str, ChatReply] = {}
    for call in Call.objects.filter(key__in=set(keys), status__in=HEARD).order_by("pk"):
        if call.key not in replies or call.status == ReplyStatus.FINISHED:
            replies[call.key] = reply_of(call)
    return replies
