"""The command that holds debates, against a fake server and with lexical baselines."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from debate.models import DebateSet, Experiment
from judging.models import Rubric
from judging.models.runs import RunStatus
from judging.specs import people_choices
from tests import factories
from tests.debate import rows
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db


def entries() -> dict[str, Any]:
    """Return what names two systems with responses to two cases, and who is to debate."""
    suite, a, b = rows.answered_suite("One?", "Two?")
    rows.criteria()
    return {
        "suite": suite.pk,
        "system_a": a.name,
        "system_b": b.name,
        "criterion": "helpfulness",
        "endpoints": ["x", "y"],
    }


def command(**changes: Any) -> dict[str, Any]:
    return run_command(**entries() | changes)


def run_command(*, verb: str = "create", **entered: Any) -> dict[str, Any]:
    words = [word for name, value in entered.items() for word in _words(f"--{name.replace('_', '-')}", value)]
    out = StringIO()
    call_command("debate_set", verb, *words, *(["--wait"] if verb == "create" else []), "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def _words(flag: str, value: Any) -> list[str]:
    if value is True:
        return [flag]
    return [flag, *map(str, value)] if isinstance(value, list) else [f"{flag}={value}"]


def lexical(**lenses: str) -> None:
    for name, lens in lenses.items():
        factories.endpoint(name=name, kind="lexical", model=lens, base_url="")


def test_create_waits_for_models_and_reports_outcomes(fake_llm: FakeLLM) -> None:
    fake_llm.config(reply="Neither.\n\n0")
    for name in ("x", "y"):
        factories.endpoint(name=name, model=name, base_url=fake_llm.url)

    report = command(max_rounds=1)

    assert (report["status"], report["total"], report["calls_made"]) == (RunStatus.FINISHED, 2, 4)
    assert report["outcomes"] == {
        "agreed": 2,
        "unresolved": 0,
        "failed": 0,
        "open": 0,
        "cancelled": 0,
        "a_better": 0,
        "b_better": 0,
        "neither": 2,
    }


def test_create_asks_again_for_what_was_said_where_that_is_wanted(fake_llm: FakeLLM) -> None:
    fake_llm.config(reply="Neither.\n\n0")
    for name in ("x", "y"):
        factories.endpoint(name=name, model=name, base_url=fake_llm.url)
    arguments = entries()

    fresh = [False, False, True, True, False]
    made = [run_command(**arguments | ({"fresh": True} if each else {}))["calls_made"] for each in fresh]

    assert made == [4, 0, 4, 4, 0]


def test_create_holds_debates_between_baselines() -> None:
    lexical(x="criterion", y="balance")

    report = command()

    assert report["status"] == RunStatus.FINISHED
    assert report["outcomes"]["agreed"] + report["outcomes"]["unresolved"] == 2
    assert report["spent"] == "0.000000"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"suite": "nowhere"}, "no suite “nowhere”. There are: "),
        ({"system_a": "nobody"}, "no system “nobody”"),
        ({"criterion": "beauty"}, "no criterion “beauty”. There are: helpfulness"),
        ({"endpoints": ["x"]}, "2 to 5 agents; 1 were chosen"),
        ({"cases": "Thre?"}, "has no case Thre?"),
        ({"scenarios": "wrote"}, "has no scenario wrote. Did you mean write?"),
        ({"limit": 0}, "--limit: Ensure this value is greater than or equal to 1"),
        ({"endpoints": ["x", "z"]}, "--endpoints: Select a valid choice. z is not"),
        ({"max_rounds": 99}, "--max-rounds: Ensure this value is less than or equal to 8"),
        ({"budget": "lots"}, "--budget: Enter the budget as a number of dollars"),
        ({"plan": "round-robin"}, "--systems: Choose at least 3 systems"),
    ],
)
def test_create_refuses_bad_input_with_a_sentence(changes: dict[str, Any], message: str) -> None:
    lexical(x="criterion", y="balance")

    with pytest.raises(CommandError, match=message) as refusal:
        command(**changes)

    assert refusal.value.returncode == 2
    assert not DebateSet.objects.exists()


def test_create_takes_a_part_of_the_suite() -> None:
    lexical(x="criterion", y="balance")

    report = command(limit=1, seed=4)

    made = DebateSet.objects.get(pk=report["set"])
    assert (report["total"], made.debates.count()) == (1, 1)
    assert made.setup["selection"] == {"cases": [], "scenarios": [], "limit": 1, "seed": 4, "drawn": []}
    assert made.name.endswith("helpfulness, 1 case drawn with seed 4")


def test_create_takes_named_cases_and_scenarios() -> None:
    lexical(x="criterion", y="balance")

    entered = entries()
    named, all_of_it = run_command(**entered, cases="Two?"), run_command(**entered, scenarios="write")

    keys = DebateSet.objects.get(pk=named["set"]).debates.values_list("case__key", flat=True)
    assert (list(keys), all_of_it["total"]) == (["Two?"], 2)


def test_create_makes_an_experiment_of_several_sets() -> None:
    lexical(x="criterion", y="balance")

    report = command(plan="robustness")

    made = Experiment.objects.get()
    assert (report["experiment"], [each["set"] for each in report["sets"]]) == (
        made.pk,
        list(made.sets.order_by("pk").values_list("pk", flat=True)),
    )
    assert [sum(each["outcomes"][name] for name in ("agreed", "unresolved")) for each in report["sets"]] == [2] * 6


def test_a_criterion_that_two_rubrics_have_is_named_behind_its_rubric() -> None:
    lexical(x="criterion", y="balance")
    entered, second = entries(), rows.criteria()

    with pytest.raises(CommandError, match=f"There are: {second.slug}@{second.version}:helpfulness, ") as refusal:
        run_command(**entered)
    report = run_command(**entered | {"criterion": f"{second.slug}@{second.version}:helpfulness"})

    assert refusal.value.returncode == 2
    assert DebateSet.objects.get(pk=report["set"]).rubric == second


def test_a_criterion_alone_is_that_of_the_newest_version_of_its_rubric() -> None:
    """After an edit of the rubric a command that had worked was refused, with both versions named."""
    lexical(x="reference", y="balance")
    wanted = entries()
    former = Rubric.objects.get()
    edited = factories.rubric(slug=former.slug, version=2, trees={"": rows.TREE})

    plain = run_command(verb="create", **wanted)
    earlier = run_command(verb="create", **wanted | {"criterion": f"{former.slug}@1:helpfulness"})

    sets = DebateSet.objects.in_bulk([plain["set"], earlier["set"]])
    assert [sets[plain["set"]].rubric, sets[earlier["set"]].rubric] == [edited, former]


def test_create_says_what_they_ask_of_people_and_starts_nothing_with_estimate() -> None:
    lexical(x="criterion", y="length")

    entered = entries()

    estimate = run_command(verb="estimate", **entered)
    nobody = run_command(verb="estimate", **entered, people="nobody")

    # the site draws at least both of the two cases; two people each
    assert (estimate["debates"], estimate["annotations_at_most"], estimate["annotations_expected"]) == (2, 4, None)
    assert (nobody["annotations_at_most"], DebateSet.objects.count()) == (0, 0)


def test_create_asks_for_more_than_a_day_of_work_only_where_somebody_agrees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lexical(x="criterion", y="length")
    monkeypatch.setattr(people_choices, "DAY_SECONDS", 239)  # two debates, two people each, a minute each: 4 minutes
    entered = entries()

    with pytest.raises(CommandError, match="more than a day of work"):
        run_command(**entered)
    agreed = run_command(**entered, agreed=4)
    audit_only = run_command(**entered, people="audit", agreed=4)

    assert [agreed["total"], audit_only["total"]] == [2, 2]
    options = [debate_set.run.options for debate_set in DebateSet.objects.order_by("pk") if debate_set.run]
    assert [each["asks_open"] for each in options] == [True, False]
