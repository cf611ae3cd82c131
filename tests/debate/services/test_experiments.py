"""Sets that belong together: all pairs of several systems, and one criterion in six conditions."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from debate.models import Debate, Statement
from debate.protocol.setups import DebateOptions, Method, Perturbation
from debate.selectors import debates_by_id, sets_of_experiment, setups_of
from debate.services.set_plans import (
    DebatesRefused,
    DebateWish,
    create_debate_set,
    create_robustness,
    create_round_robin,
    variants_of,
)
from judging.models import ModelEndpoint, System
from judging.services.runs import run_worker
from tests import factories
from tests.debate import rows
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db


def wished() -> tuple[DebateWish, list[System]]:
    """Return a wish over two cases and three systems; the third has answered the first case only."""
    judges = [factories.endpoint(name=name, model=name) for name in ("x", "y")]
    wish = rows.wish("One?", "Two?", endpoints=judges)
    third = factories.system()
    first = wish.suite.cases.order_by("links__position").first()
    assert first is not None
    factories.response(prompt=first.prompt, system=third)
    return wish, [wish.system_a, wish.system_b, third]


def test_create_round_robin_stores_a_set_for_every_two_and_shares_the_budget() -> None:
    wish, systems = wished()
    ModelEndpoint.objects.update(input_price=1, output_price=1)
    wish = replace(wish, endpoints=list(ModelEndpoint.objects.order_by("pk")))

    made = create_round_robin(wish=replace(wish, budget=Decimal(3)), systems=systems, actor=None, at=NOON)

    sets = sets_of_experiment(made)
    assert [(one.system_a, one.system_b, one.debates.count()) for one in sets] == [
        (systems[0], systems[1], 2),
        (systems[0], systems[2], 1),
        (systems[1], systems[2], 1),
    ]
    assert [one.run.budget for one in sets if one.run] == [Decimal(1)] * 3
    assert made.options == {"systems": [system.name for system in systems], "left_out": []}


def test_create_round_robin_names_what_it_cannot_compare_and_refuses_two_systems() -> None:
    wish, systems = wished()
    silent = factories.system()

    made = create_round_robin(wish=wish, systems=[*systems, silent], actor=None, at=NOON)

    assert made.options["left_out"] == [f"{system} and {silent}" for system in systems]
    with pytest.raises(DebatesRefused, match="3 to 12 systems"):
        create_round_robin(wish=wish, systems=systems[:2], actor=None, at=NOON)


def test_create_robustness_shows_the_same_pairs_under_six_texts_of_the_criterion() -> None:
    wish, _ = wished()

    made = create_robustness(wish=wish, seed=7, use_given=True, actor=None, at=NOON)

    sets = sets_of_experiment(made)
    assert [(one.setup["perturbation"], one.method, one.setup["samples"]) for one in sets] == [
        (perturbation.value, "multi-judge", 1) for perturbation in Perturbation
    ]
    setups = setups_of(debates_by_id([one.debates.order_by("pk").values_list("pk", flat=True)[0] for one in sets]))
    texts = [setup.criterion.levels["5"] for setup in setups.values()]
    assert texts[0] == "Solves it."
    assert texts[4] == "sevloS ti."
    assert len(set(texts)) == 6
    assert {setup.criterion.name for setup in setups.values()} == {"helpfulness"}
    orders = Debate.objects.order_by("case_id", "pk").values_list("case_id", "response_order")
    assert len(set(orders)) == 2  # two cases, each shown alike in all six sets


def test_variants_of_takes_given_texts_where_the_rubric_has_them() -> None:
    names = ["helpfulness-1", "helpfulness-2", "helpfulness-5"]

    found = variants_of(names=names, criterion="helpfulness-1", use_given=True)

    assert found == [
        (Perturbation.NONE, "helpfulness-1", False),
        (Perturbation.SHORTENED, "helpfulness-2", True),
        (Perturbation.GIBBERISH, "helpfulness-1", False),
        (Perturbation.SHUFFLED, "helpfulness-1", False),
        (Perturbation.FLIPPED, "helpfulness-5", True),
        (Perturbation.MASKED, "helpfulness-1", False),
    ]


@pytest.mark.parametrize(
    ("method", "judges", "sentence"),
    [
        (Method.SINGLE, 2, "Single judge needs exactly one judge; 2 were chosen."),
        (Method.SELF_CONSISTENCY, 0, "Self-consistency needs exactly one judge; 0 were chosen."),
        (Method.MULTI_JUDGE, 1, "Multi-judge consistency needs 2 to 5 judges; 1 were chosen."),
        (Method.DEBATE, 1, "A debate needs 2 to 5 agents; 1 were chosen."),
    ],
)
def test_create_debate_set_refuses_a_number_of_judges_that_the_method_does_not_allow(
    method: Method, judges: int, sentence: str
) -> None:
    wish, _ = wished()
    endpoints = list(wish.endpoints)[:judges]

    with pytest.raises(DebatesRefused, match=sentence):
        create_debate_set(
            wish=replace(wish, endpoints=endpoints, options=DebateOptions(method=method)), actor=None, at=NOON
        )


def test_baselines_run_through_the_engine_and_keep_what_they_cost(fake_llm: FakeLLM) -> None:
    fake_llm.config(reply="Neither.\n\n0")
    judge = factories.endpoint(name="x", model="x", base_url=fake_llm.url, input_price=1, output_price=1)
    other = factories.endpoint(name="y", model="y", base_url=fake_llm.url, input_price=1, output_price=1)
    wish = rows.wish("One?", "Two?", endpoints=[judge])

    def held(method: Method, samples: int, endpoints: list[ModelEndpoint]) -> list[Debate]:
        options = DebateOptions(method=method, samples=samples, temperature=0.7)
        made = create_debate_set(wish=replace(wish, endpoints=endpoints, options=options), actor=None, at=NOON)
        assert made.run_id is not None
        run_worker.work_through(run_id=made.run_id, threads=4, now=lambda: NOON)
        assert made.method == Method(method)
        return list(made.debates.order_by("pk"))

    single = held(Method.SINGLE, 1, [judge])
    samples = held(Method.SELF_CONSISTENCY, 3, [judge])
    panel = held(Method.MULTI_JUDGE, 2, [judge, other])

    outcomes = [[(one.status, one.verdict, one.call_count) for one in debates] for debates in (single, samples, panel)]
    assert outcomes == [[("agreed", 0, 1)] * 2, [("agreed", 0, 3)] * 2, [("agreed", 0, 4)] * 2]
    assert fake_llm.stats()["calls"] == 2 * 1 + 2 * 2 + 2 * 2  # what was asked before is taken from the ledger
    assert all(one.cost and one.cost > 0 for one in [*single, *samples, *panel])
    opening = Statement.objects.get(agent__debate=single[0])
    assert opening.asked_cost == single[0].cost
