"""A panel of three judges of one's own prompt, whose models answer as a script says."""

from __future__ import annotations

from typing import Any

from judging.judges.registry import KINDS
from judging.models import Judge
from judging.services.judges import save_judge
from tests import factories
from tests.fake_llm.fixture import FakeLLM

PROMPT = "{{ question }} {{ response }}"


def grade(number: float | str) -> str:
    """Return a reply that gives this score."""
    return f"Because.\nGRADE: {number}"


def script(**replies: Any) -> list[dict[str, Any]]:
    """Return what each model of these names replies."""
    return [{"model": model, "reply": reply} for model, reply in replies.items()]


def member(fake_llm: FakeLLM, model: str, **endpoint: Any) -> Judge:
    """Return a judge that gives a number from 0 to 10, on an endpoint of its own."""
    return member_at(fake_llm.url, model, **endpoint)


def member_at(url: str, model: str, *, prompt: str = PROMPT, **endpoint: Any) -> Judge:
    """Return the same judge for the server at an address, with a prompt of its own."""
    options = {"prompt_text": prompt, "system_text": "", "reply": "last_line"}
    where = factories.endpoint(base_url=url, model=model, name=f"{model} endpoint", **endpoint)
    return factories.judge(name=model, kind="custom", endpoint=where, options=KINDS["custom"].new_options() | options)


def panel_of(*members: Judge, weights: tuple[float, ...] = (), name: str = "Panel", **options: Any) -> Judge:
    """Return a panel of these judges."""
    told = weights or (1,) * len(members)
    entries = [{"judge": one.name, "weight": weight} for one, weight in zip(members, told, strict=True)]
    complete = KINDS["panel"].new_options() | {"members": entries} | options
    return save_judge(judge=Judge(name=name, kind="panel"), options=complete, actor=None)
