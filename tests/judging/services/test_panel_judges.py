"""Panels as judges: what they may be made of, their versions, and what becomes of them when a member changes."""

from __future__ import annotations

from typing import Any

import pytest

from judging.judges.judge_kinds import changes_between, endpoints_asked, kind_asked, version_of_options
from judging.judges.registry import KINDS
from judging.models import Judge, ModelEndpoint
from judging.selectors.judges import is_baseline, needs_of
from judging.services.evaluator_tasks import freeze
from judging.services.judges import (
    JudgeInUse,
    JudgeNotValid,
    delete_judge,
    judge_file,
    read_judge_file,
    save_judge,
    set_judge_active,
)
from judging.services.runs.run_plans import EvaluatorChoice, RunNotPossible, RunPlan, check_plan
from tests import factories
from tests.judging.panel_rows import panel_of
from tests.judging.services.run_rows import answered_suite

pytestmark = pytest.mark.django_db


def accuracy(name: str, **options: Any) -> Judge:
    return factories.judge(name=name, kind="accuracy", options=KINDS["accuracy"].new_options() | options)


def version(judge: Judge) -> Any:
    judge.refresh_from_db()
    return version_of_options(freeze(judge=judge, options={}), rubric_hash="", criterion="")


def test_a_panel_needs_what_its_members_need_and_freezes_each_with_its_endpoint() -> None:
    first, second = accuracy("ada"), accuracy("bea", strictness="L3")

    panel = panel_of(first, second, weights=(2, 1))
    frozen = freeze(judge=panel, options={})

    assert needs_of(panel) == {"reference"}
    assert panel.endpoint is None
    assert not is_baseline(panel)
    members = frozen["judge_options"]["members"]
    assert [
        (member["judge"], member["weight"], member["model"], member["judge_options"]["strictness"])
        for member in members
    ] == [
        ("ada", 2, "fake", "L2"),
        ("bea", 1, "fake", "L3"),
    ]
    assert endpoints_asked(frozen) == (first.asked_endpoint.name, second.asked_endpoint.name)
    assert kind_asked(frozen) == "accuracy"
    assert {prompt.name for prompt in KINDS["panel"].prompts_sent(panel.options)} >= {"ada: accuracy", "bea: accuracy"}


@pytest.mark.parametrize(
    "change", [{"rule": "median"}, {"margin": 0.5}, {"minimum": 2}, {"members": [{"judge": "ada"}, {"judge": "cyd"}]}]
)
def test_every_change_of_a_panel_is_another_version(change: dict[str, Any]) -> None:
    judges = [accuracy(name, strictness=level) for name, level in (("ada", "L1"), ("bea", "L2"), ("cyd", "L3"))]
    panel = panel_of(*judges[:2])
    before = version(panel)

    save_judge(judge=panel, options=panel.options | change, actor=None)

    assert version(panel).key != before.key


def test_a_weight_and_a_change_of_a_member_are_another_version_and_their_names_are_not() -> None:
    first, second = accuracy("ada"), accuracy("bea", strictness="L3")
    panel = panel_of(first, second)
    before = version(panel)

    first.name = "adele"
    save_judge(judge=first, options=first.options, actor=None)
    renamed = version(panel)
    changed = first.options | {"strictness": "L1"}
    save_judge(judge=first, options=changed, actor=None)
    after = version(panel)

    assert [entry["judge"] for entry in panel.options["members"]] == ["adele", "bea"]
    assert renamed.key == before.key
    assert [text for text in changes_between(before, after) if "strictness" in text] == [
        "The option “strictness” was L2 and is L1."
    ]


@pytest.mark.parametrize(
    ("members", "says"),
    [
        (["ada"], "A panel has at least 2 members"),
        (["ada", "nobody"], "There is no judge 'nobody'"),
        (["ada", "whole"], "of one kind"),
        (["ada", "pair"], "of one kind"),
        (["pair", "ada"], "cannot be a member"),
        (["ada", "twin"], "ask one endpoint the same"),
        (["ada", "old"], "old is retired"),
        (["ten", "five"], "different labels or lowest and highest scores"),
        (["ada", "ada"], "ada is a member twice"),
    ],
)
def test_what_cannot_vote_together_is_refused(members: list[str], says: str) -> None:
    first = accuracy("ada")
    factories.judge(name="twin", kind="accuracy", endpoint=first.endpoint, options=first.options)
    factories.judge(name="whole", kind="integrity")
    factories.judge(name="pair", kind="pairwise")
    factories.judge(name="old", kind="accuracy", is_active=False)
    for name, highest in (("ten", 10), ("five", 5)):
        factories.judge(name=name, kind="custom", options={"highest": highest})
    options = {"members": [{"judge": name, "weight": 1} for name in members]}

    with pytest.raises(JudgeNotValid, match=says):
        save_judge(judge=Judge(name="P", kind="panel"), options=options, actor=None)


def test_a_change_of_a_member_that_breaks_the_panel_is_refused() -> None:
    ten, also = (
        factories.judge(name=name, kind="custom", options={"prompt_text": name + " {{ response }}"}) for name in "ab"
    )
    panel_of(ten, also)

    with pytest.raises(JudgeNotValid, match="a is a member of Panel"):
        save_judge(judge=ten, options={"highest": 5}, actor=None)


def test_a_member_is_not_deleted_and_a_retired_one_stops_new_runs() -> None:
    first, second = accuracy("ada"), accuracy("bea")
    panel = panel_of(first, second)
    suite, systems = answered_suite(cases=1, reference="Yes.")
    set_judge_active(judge=second, is_active=False, actor=None)

    with pytest.raises(JudgeInUse, match="ada is a member of Panel"):
        delete_judge(judge=first, actor=None)
    with pytest.raises(RunNotPossible, match="bea: retired"):
        check_plan(RunPlan(suite=suite, systems=systems, evaluators=[EvaluatorChoice(judge=panel)]))


def test_a_panel_with_a_lexical_member_is_a_baseline() -> None:
    lexical = ModelEndpoint.objects.create(name="words", kind="lexical", model="wording")

    panel = panel_of(accuracy("ada"), factories.judge(name="bea", kind="accuracy", endpoint=lexical))

    assert is_baseline(panel)


def test_a_panel_is_written_as_yaml_and_read_again_the_same() -> None:
    panel = panel_of(accuracy("ada"), accuracy("bea"), weights=(1, 2.5), rule="weighted", margin=0.4, minimum=2)

    text = judge_file(panel)
    read = read_judge_file(text.encode(), "panel.yaml")

    assert "  members:\n  - judge: ada\n    weight: 1\n  - judge: bea\n    weight: 2.5\n" in text
    assert (read.name, read.kind.name, read.endpoint) == ("Panel", "panel", "")
    assert read.options == {
        "members": [{"judge": "ada", "weight": 1}, {"judge": "bea", "weight": 2.5}],
        "rule": "weighted",
        "margin": 0.4,
        "minimum": 2,
    }
