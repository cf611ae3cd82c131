"""A debate as a conversation: independent votes, discussion rounds, outcome.

`run_debate` asks all agents of a round at once (simultaneous) or, after the independent round, one by one (sequential).
A reply without a verdict is asked for once more before the round counts; what has none then is None, never a tie.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from string import Template

from debate.protocol.setups import (
    DebateResult,
    DebateSetup,
    Method,
    Outcome,
    RoundMode,
    StatementResult,
)
from debate.protocol.transcripts import heard_by
from debate.protocol.verdicts import (
    HowRead,
    StopReason,
    TextReading,
    agreed_since,
    consensus,
    looks_like_refusal,
    most_frequent,
    read_strict,
    stop_reason,
)
from evalsite.base.types import JsonDict, JsonObject
from judging.judges.subjects import VerdictStatus
from judging.llm.chat import ChatReply, ChatRequest, Conversation, Message, ReplyStatus, after_thinking


def independent_request(
    setup: DebateSetup, *, agent_number: int, mirrored: bool = False, sample: int = 0
) -> ChatRequest:
    """Return the blind first question to the agent; `mirrored` shows the responses in the other order.

    `sample` counts how often the agent was asked the same before, by a method without discussion.
    """
    order = 1 - setup.response_order if mirrored else setup.response_order
    task = _fill("independent", criterion_name=setup.criterion.title)
    material: JsonDict = {"round": 0, "own_previous": None, "others": []}
    request = _request(setup, agent_number=agent_number, task=task, order=order, material=material)
    return replace(request, sample_index=request.sample_index + sample * setup.agents.count(request.endpoint))


def discussion_request(
    setup: DebateSetup,
    *,
    agent_number: int,
    round_number: int,
    own: Sequence[StatementResult],
    others: Sequence[StatementResult],
) -> ChatRequest:
    """Return the question to the agent in a discussion round, with what it may read of the others and of itself."""
    statements = sorted((*own, *others), key=lambda statement: (statement.round, statement.agent_number))
    task = _fill(
        "discussion",
        statements="\n\n".join(_quoted(statement, reader=agent_number) for statement in statements)
        or "Nothing could be heard.",
        agent_number=agent_number,
        round=round_number,
        criterion_name=setup.criterion.title,
    )
    material = {
        "round": round_number,
        "own_previous": own[-1].text if own else None,
        "others": [{"agent": other.agent_number, "round": other.round, "text": other.text} for other in others],
    }
    return _request(setup, agent_number=agent_number, task=task, order=setup.response_order, material=material)


def again_request(request: ChatRequest, reply: ChatReply) -> ChatRequest:
    """Return the one repetition of `request` after a reply without a verdict, showing the agent what it said."""
    reminder = _fill("again")
    if reply.text.strip():
        messages = (*request.messages, Message("assistant", reply.text), Message("user", reminder))
    else:
        *before, last = request.messages
        messages = (*before, replace(last, content=f"{last.content}\n\n{reminder}"))
    return replace(request, messages=messages, material={**request.material, "reasked": True})


def fenced(text: str) -> str:
    """Return `text` as a block that it cannot close itself: the fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _request(setup: DebateSetup, *, agent_number: int, task: str, order: int, material: JsonObject) -> ChatRequest:
    shown, endpoint = setup.shown_in(order), setup.agents[agent_number - 1]
    images = setup.images.parts_for(endpoint, order=order)
    heard = setup.method is Method.DEBATE
    role = _fill("role", agent_number=agent_number, agents=len(setup.agents)) if heard else _fill("judge")
    return ChatRequest(
        messages=(Message("system", role), Message("user", f"{_material_text(setup, shown)}\n\n{task}", images)),
        endpoint=endpoint,
        temperature=setup.temperature,
        max_tokens=setup.max_tokens,
        seed=setup.llm_seed,
        sample_index=_earlier_agents_of_same_endpoint(setup.agents, agent_number),
        material={
            "task": "debate_statement",
            "question": setup.question,
            "criterion": {"name": setup.criterion.name, "levels": dict(setup.criterion.levels)},
            "responses": list(shown),
            "reference": setup.reference,
            **material,
        },
    )


def _earlier_agents_of_same_endpoint(agents: Sequence[str], agent_number: int) -> int:
    """Return which repetition this is of an endpoint in the debate: two agents of it must not share a stored call."""
    return list(agents[: agent_number - 1]).count(agents[agent_number - 1])


def _material_text(setup: DebateSetup, shown: tuple[str, str]) -> str:
    return _fill(
        "material",
        question=fenced(setup.question),
        submission_1=fenced(shown[0]),
        submission_2=fenced(shown[1]),
        reference=f"\n{_fill('reference', reference=fenced(setup.reference))}\n" if setup.reference else "",
        criterion_name=setup.criterion.title,
        criterion_levels="\n".join(f"- {level}: {text}" for level, text in setup.criterion.levels.items())
        or "No levels are described; judge by the name.",
    )


def _quoted(statement: StatementResult, *, reader: int) -> str:
    author = f"You (Speaker {reader})" if statement.agent_number == reader else f"Speaker {statement.agent_number}"
    when = "opening" if statement.round == 0 else f"round {statement.round}"
    return f"{author}, {when}:\n{fenced(after_thinking(statement.text) or statement.text)}"


def _fill(name: str, **values: object) -> str:
    """Return a prompt with its names filled in; filled-in text is never read for names again."""
    return _template(name).substitute({key: str(value) for key, value in values.items()})


@cache
def _template(name: str) -> Template:
    return Template(files("debate.protocol").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip())


Observer = Callable[[StatementResult], None]
RoundVotes = tuple[int | None, ...]  # per agent, in system space

_STATUS = {
    HowRead.FINAL_LINE: VerdictStatus.OK,
    HowRead.PHRASE: VerdictStatus.REPAIRED,
    HowRead.OUT_OF_RANGE_PHRASE: VerdictStatus.REPAIRED,
}


@dataclass(frozen=True, slots=True)
class _Turn:
    """One statement to be made about the responses `shown`."""

    round: int
    agent_number: int
    request: ChatRequest
    response_order: int
    shown: tuple[str, str]
    mirrored: bool = False


def run_debate(setup: DebateSetup, *, observer: Observer | None = None) -> Conversation[DebateResult]:
    """Yield the requests of each step, be sent their replies in the same order, and return the debate's result.

    `observer` is called with each statement once it is final (read, and re-asked where it had to be), in the same order
    on every replay; it is the way to show a debate while it runs, and must not influence it.
    """
    if setup.method is not Method.DEBATE:
        return (yield from _hold_vote(setup, observer))
    statements: list[StatementResult] = []
    rounds: list[RoundVotes] = []
    while True:
        new = yield from _hold_round(setup, len(rounds), statements, observer)
        statements.extend(new)
        rounds.append(round_votes(setup, new))
        if any(statement.status is VerdictStatus.FAILED for statement in new):
            return _result(setup, statements, rounds, StopReason.FAILED)
        reason = stop_reason(
            rounds,
            max_rounds=setup.max_rounds,
            on_consensus=setup.stop_on_consensus,
            on_stability=setup.stop_on_stability,
        )
        if reason is not None:
            return _result(setup, statements, rounds, reason)


def _hold_vote(setup: DebateSetup, observer: Observer | None) -> Conversation[DebateResult]:
    """Ask every judge as often as wanted, all at once, none hearing another; the most frequent vote decides.

    One sample of all judges is a round, so that round 0 is what each judge says when it is asked once.
    """
    turns = [turn for sample in range(setup.samples) for turn in _independent_turns(setup, sample=sample)]
    votes = yield from _speak(turns, observer)
    rounds = [round_votes(setup, [vote for vote in votes if vote.round == sample]) for sample in range(setup.samples)]
    failed = any(statement.status is VerdictStatus.FAILED for statement in votes)
    return _result(setup, votes, rounds, StopReason.FAILED if failed else StopReason.SAMPLES)


def replay(
    setup: DebateSetup, batches: Iterable[Sequence[ChatReply]]
) -> tuple[tuple[StatementResult, ...], tuple[ChatRequest, ...], DebateResult | None]:
    """Return the state of a debate after the given batches of replies: what was said, what it asks next, its result.

    Statements are complete ones, in the order they became final; nothing is asked when it is over.

    Raises:
        ValueError: a batch does not hold one reply per request, or replies are left when the debate is over.
    """
    statements: list[StatementResult] = []
    conversation = run_debate(setup, observer=statements.append)
    waiting = next(conversation)
    remaining = iter(batches)
    for batch in remaining:
        if len(batch) != len(waiting):
            raise ValueError(f"The debate asked for {len(waiting)} replies and was given {len(batch)}.")
        try:
            waiting = conversation.send(tuple(batch))
        except StopIteration as end:
            if unused := sum(1 for _ in remaining):
                raise ValueError(f"The debate is over, yet {unused} more batches of replies were given.") from None
            return tuple(statements), (), end.value
    conversation.close()
    return tuple(statements), waiting, None


def vote_of(statement: StatementResult, *, refusal_as_tie: bool = False) -> int | None:
    """Return what a statement counts for in system space; a refusal counts only under the compatibility switch."""
    if refusal_as_tie and statement.status is VerdictStatus.REFUSED:
        return 0
    return statement.system_verdict


def round_votes(setup: DebateSetup, statements: Sequence[StatementResult]) -> RoundVotes:
    """Return one vote per agent for one round, in system space.

    An agent asked in both orders votes only if both answers name the same system: a verdict that follows the place is
    void.
    """
    votes: list[int | None] = []
    for agent in range(1, len(setup.agents) + 1):
        cast = {
            vote_of(statement, refusal_as_tie=setup.refusal_as_tie)
            for statement in statements
            if statement.agent_number == agent
        }
        votes.append(cast.pop() if len(cast) == 1 else None)
    return tuple(votes)


def _hold_round(
    setup: DebateSetup, number: int, before: Sequence[StatementResult], observer: Observer | None
) -> Conversation[list[StatementResult]]:
    if number == 0:
        return (yield from _speak(_independent_turns(setup), observer))
    agents = range(1, len(setup.agents) + 1)
    if setup.mode is RoundMode.SIMULTANEOUS:
        return (yield from _speak([_discussion_turn(setup, number, agent, before) for agent in agents], observer))
    statements: list[StatementResult] = []
    for agent in agents:
        turn = _discussion_turn(setup, number, agent, [*before, *statements])
        statements += yield from _speak([turn], observer)
    return statements


def _independent_turns(setup: DebateSetup, *, sample: int = 0) -> list[_Turn]:
    turns: list[_Turn] = []
    for agent_number in range(1, len(setup.agents) + 1):
        request = independent_request(setup, agent_number=agent_number, sample=sample)
        turns.append(_Turn(sample, agent_number, request, setup.response_order, setup.shown))
        if setup.independent_both_orders:
            request = independent_request(setup, agent_number=agent_number, mirrored=True, sample=sample)
            turns.append(_Turn(sample, agent_number, request, 1 - setup.response_order, setup.shown, mirrored=True))
    return turns


def _discussion_turn(setup: DebateSetup, number: int, agent_number: int, before: Sequence[StatementResult]) -> _Turn:
    own, others = heard_by(
        agent_number, round_number=number, statements=before, mode=setup.mode, visibility=setup.visibility
    )
    request = discussion_request(setup, agent_number=agent_number, round_number=number, own=own, others=others)
    return _Turn(number, agent_number, request, setup.response_order, setup.shown)


def _speak(turns: Sequence[_Turn], observer: Observer | None) -> Conversation[list[StatementResult]]:
    """Ask for all turns at once, and once more for those that brought no verdict; return them in agent order."""
    replies = yield tuple(turn.request for turn in turns)
    first = [_statement(turn, reply) for turn, reply in zip(turns, replies, strict=True)]
    unclear = (VerdictStatus.REFUSED, VerdictStatus.UNPARSED)
    unread = [index for index, statement in enumerate(first) if statement.status in unclear]
    statements = list(first)
    if unread:
        again = yield tuple(again_request(turns[index].request, replies[index]) for index in unread)
        for index, reply in zip(unread, again, strict=True):
            statements[index] = _statement(turns[index], reply, reasked=True, first_text=first[index].text)
    if observer is not None:
        for statement in statements:
            observer(statement)
    return statements


def _statement(turn: _Turn, reply: ChatReply, *, reasked: bool = False, first_text: str = "") -> StatementResult:
    reading = _read(reply, turn.shown)
    return StatementResult(
        round=turn.round,
        agent_number=turn.agent_number,
        endpoint=turn.request.endpoint,
        text=reply.text,
        status=_status(reply, reading),
        how=reading.how,
        position_verdict=reading.verdict,
        response_order=turn.response_order,
        reasked=reasked,
        first_text=first_text,
        mirrored=turn.mirrored,
        error_kind=reply.error_kind,
    )


def _read(reply: ChatReply, shown: tuple[str, str]) -> TextReading:
    """Return the reading of a reply; a text that was cut off has no last line, so it states nothing."""
    if reply.status is ReplyStatus.FINISHED:
        return read_strict(reply.text, "\n".join(shown))
    return TextReading(None, HowRead.NONE if reply.text.strip() else HowRead.EMPTY, looks_like_refusal(reply.text))


def _status(reply: ChatReply, reading: TextReading) -> VerdictStatus:
    if reply.status is ReplyStatus.FAILED:
        return VerdictStatus.FAILED
    if reply.status is ReplyStatus.REFUSED or (reading.verdict is None and reading.refused):
        return VerdictStatus.REFUSED
    return _STATUS.get(reading.how, VerdictStatus.UNPARSED)


def _result(
    setup: DebateSetup, statements: Sequence[StatementResult], rounds: Sequence[RoundVotes], reason: StopReason
) -> DebateResult:
    voted = reason is StopReason.SAMPLES
    decision = most_frequent([vote for votes in rounds for vote in votes]) if voted else consensus(rounds[-1])
    verdict = None if reason is StopReason.FAILED else decision
    agreed_round = len(rounds) - 1 if voted else agreed_since(rounds)
    return DebateResult(
        statements=tuple(statements),
        outcome=Outcome.UNRESOLVED if verdict is None else Outcome.AGREED,
        agreed_round=None if verdict is None else agreed_round,
        verdict=verdict,
        stop_reason=reason,
        rounds=tuple(rounds),
    )


def calls_by_statement(
    statements: Sequence[StatementResult], call_ids: Sequence[int], *, method: Method, mode: RoundMode
) -> list[tuple[int, ...]]:
    """Return the calls of each statement: the question, and after it the one that asked again.

    A step asks for all its statements and then once more for those without a verdict (see `debate.protocol.debate`).
    Where the number of calls is not what that takes, nothing is known and every statement has none.
    """
    if len(call_ids) != len(statements) + sum(statement.reasked for statement in statements):
        return [()] * len(statements)
    calls: list[tuple[int, ...]] = []
    rest = iter(call_ids)
    for step in _steps(statements, method, mode):
        first = [next(rest) for _ in step]
        calls += [(pk, next(rest)) if statement.reasked else (pk,) for pk, statement in zip(first, step, strict=True)]
    return calls


def _steps(statements: Sequence[StatementResult], method: Method, mode: RoundMode) -> list[list[StatementResult]]:
    """Return the statements that were asked for at once: all of a vote, a round, or a single turn in sequence."""
    if method is not Method.DEBATE:
        return [list(statements)]
    steps: dict[tuple[int, int], list[StatementResult]] = {}
    for statement in statements:
        alone = mode is RoundMode.SEQUENTIAL and statement.round > 0
        steps.setdefault((statement.round, statement.agent_number if alone else 0), []).append(statement)
    return list(steps.values())
