"""The requests a debate makes: prompts from `prompts/*.md`, filled in; agents known by their agent number only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from string import Template

from debate.protocol.setups import DebateSetup, Method, StatementResult
from debate.protocol.visibility import VisibleStatements
from evalsite.base.json_types import JsonDict, JsonObject
from judging.llm.chat import ChatReply, ChatRequest, Message
from judging.llm.thinking_text import after_thinking


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
    setup: DebateSetup, *, agent_number: int, round_number: int, heard: VisibleStatements
) -> ChatRequest:
    """Return the question to the agent in a discussion round, with what it may read of the others and of itself."""
    statements = sorted((*heard.own, *heard.others), key=lambda statement: (statement.round, statement.agent_number))
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
        "own_previous": heard.own[-1].text if heard.own else None,
        "others": [{"agent": other.agent_number, "round": other.round, "text": other.text} for other in heard.others],
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
