"""Sets of debates are made whole or refused with a sentence."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from debate.models import Agent, Debate, DebateSet
from debate.protocol.setups import DebateOptions, draw_orders, options_from_json
from debate.services.set_plans import DebatesRefused, create_debate_set, pairs_of
from judging.models import ModelEndpoint, RunKind
from judging.models.runs import RunStatus
from tests import factories
from tests.debate import rows
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def priced(name: str) -> ModelEndpoint:
    return factories.endpoint(name=name, input_price=Decimal(1), output_price=Decimal(2))


def test_create_debate_set_stores_run_debates_agents_and_tasks() -> None:
    a, b = priced("a"), priced("b")
    wish = rows.wish("One?", "Two?", endpoints=[a, b, a], seed=7)

    made = create_debate_set(wish=wish, actor=None, at=NOON)

    run = made.run
    assert run is not None
    assert (run.kind, run.status, run.total, set(run.systems.all())) == (
        RunKind.DEBATE,
        RunStatus.QUEUED,
        2,
        {wish.system_a, wish.system_b},
    )
    debates = list(made.debates.order_by("pk"))
    assert [debate.case.key for debate in debates] == ["One?", "Two?"]
    assert list(run.tasks.order_by("pk").values_list("subject_id", flat=True)) == [debate.pk for debate in debates]
    for debate in debates:
        orders = draw_orders(
            seed=7,
            key=f"{debate.case.key}|{wish.system_a}|{wish.system_b}|helpfulness",
            endpoints=["a", "b", "a"],
        )
        assert debate.response_order == orders.response_order
        agents = Agent.objects.filter(debate=debate).order_by("number")
        assert tuple(agents.values_list("name", flat=True)) == orders.agents
        assert [agent.endpoint for agent in agents] == [{"a": a, "b": b}[name] for name in orders.agents]
    assert options_from_json(made.setup) == DebateOptions(seed=7)


def test_create_debate_set_leaves_out_cases_that_one_system_did_not_answer() -> None:
    wish = rows.wish("One?", "Two?", endpoints=[priced("a"), priced("b")])
    wish.system_b.responses.filter(prompt__key="One?").delete()

    made = create_debate_set(wish=wish, actor=None, at=NOON)

    assert list(made.debates.values_list("case__key", flat=True)) == ["Two?"]


def test_pairs_of_takes_current_first_attempts_once_per_prompt() -> None:
    suite, a, b = rows.answered_suite("One?")
    case = suite.cases.get()
    twin = factories.case(prompt=case.prompt)
    suite.links.create(case=twin, position=5)
    factories.response(prompt=case.prompt, system=a, attempt=1)
    old = factories.response(prompt=case.prompt, system=b, attempt=0, superseded_at=NOON)

    pairs = pairs_of(suite=suite, system_a=a, system_b=b)

    assert [(pair.case, pair.response_a.attempt) for pair in pairs] == [(case, 0)]
    assert pairs[0].response_b != old


def test_pairs_of_takes_the_first_attempts_where_a_file_counts_them_from_1() -> None:
    suite, a, b = rows.answered_suite("One?")
    prompt = suite.cases.get().prompt
    a.responses.update(attempt=2)
    first = factories.response(prompt=prompt, system=a, attempt=1)

    assert [pair.response_a for pair in pairs_of(suite=suite, system_a=a, system_b=b)] == [first]


def test_create_debate_set_refuses_a_system_against_itself() -> None:
    wish = rows.wish("One?", endpoints=[priced("a"), priced("b")])

    with pytest.raises(DebatesRefused, match="cannot be compared with itself"):
        create_debate_set(wish=replace(wish, system_b=wish.system_a), actor=None, at=NOON)
    assert not DebateSet.objects.exists()


@pytest.mark.parametrize("count", [0, 1, 6])
def test_create_debate_set_refuses_other_than_two_to_five_agents(count: int) -> None:
    wish = rows.wish("One?", endpoints=[priced("a")] * count)

    with pytest.raises(DebatesRefused, match=f"2 to 5 agents; {count} were chosen"):
        create_debate_set(wish=wish, actor=None, at=NOON)


def test_create_debate_set_refuses_an_unknown_criterion_and_names_those_there_are() -> None:
    wish = rows.wish("One?", endpoints=[priced("a"), priced("b")])

    with pytest.raises(DebatesRefused, match=r"no criterion 'beauty'\. It has: helpfulness"):
        create_debate_set(wish=replace(wish, criterion="beauty"), actor=None, at=NOON)


def test_create_debate_set_refuses_systems_without_a_common_case() -> None:
    wish = rows.wish("One?", endpoints=[priced("a"), priced("b")])
    wish.system_b.responses.all().delete()

    with pytest.raises(DebatesRefused, match="have no case of"):
        create_debate_set(wish=wish, actor=None, at=NOON)
    assert not Debate.objects.exists()


def test_create_debate_set_refuses_a_budget_where_a_price_is_unknown() -> None:
    wish = rows.wish("One?", endpoints=[priced("a"), factories.endpoint(name="unknown")])

    with pytest.raises(DebatesRefused, match="the price of unknown is unknown"):
        create_debate_set(wish=replace(wish, budget=Decimal(5)), actor=None, at=NOON)
    assert create_debate_set(wish=wish, actor=None, at=NOON).run is not None  # without a budget nothing must be known


def test_create_debate_set_refuses_an_inactive_agent() -> None:
    wish = rows.wish("One?", endpoints=[priced("a"), factories.endpoint(name="off", is_active=False)])

    with pytest.raises(DebatesRefused, match="off is inactive"):
        create_debate_set(wish=wish, actor=None, at=NOON)
