"""Edits of a case: their effect on stored responses, and the new version of the suite."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evalsite.accounts.models import AuditEntry
from judging.models import Case, Response, Score, Suite
from judging.services import case_edits
from judging.services.case_edits import case_in, is_small_edit, save_edit, try_edit
from judging.services.file_imports.suites import case_spec, store_suite, suite_hash, suite_spec
from judging.specs.records.neutral import CaseRecord, SuiteSpec
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db
SPECS = (
    CaseRecord(key="first", prompt="One?", grading={"keywords": ["fine"]}, lang="python", question_type="q"),
    CaseRecord(key="second", prompt="Two?", grading={"keywords": ["good"]}, weight=2.0, references=["good"]),
)


@pytest.fixture
def suite() -> Suite:
    spec = SuiteSpec("Small", "1.0", SPECS, attempt_reduce_mode="avg_max_2")
    return store_suite(spec=spec, benchmark_slug="small", actor=None, at=NOON)[0]


def answers(suite: Suite, *texts: str) -> list[Response]:
    prompt, system = case_in(suite, "first").prompt, factories.system("tester")
    return [
        factories.response(prompt=prompt, system=system, attempt=number, text=text) for number, text in enumerate(texts)
    ]


def edited(case: Case, grading: dict[str, Any]) -> CaseRecord:
    return replace(case_spec(case), grading=grading)


def test_suite_spec_is_what_was_stored(suite: Suite) -> None:
    spec = suite_spec(suite)

    assert spec.cases == SPECS
    assert suite_hash(spec) == suite.content_hash


def test_try_edit_grades_every_current_response_by_both(suite: Suite) -> None:
    case = case_in(suite, "first")
    first, second, third = answers(suite, "it is fine", "it is great", "no")
    factories.response(prompt=case.prompt, system=first.system, attempt=9, text="great", superseded_at=NOON)

    effect = try_edit(case=case, suite=suite, edited=edited(case, {"keywords": ["great"]}))

    rows = [(row["response"], row["old"], row["new"], row["changed"]) for row in effect["rows"]]
    assert (effect["count"], effect["changed"]) == (3, 2)
    assert rows == [(first.pk, 1.0, 0.0, True), (second.pk, 0.0, 1.0, True), (third.pk, 0.0, 0.0, False)]
    # groups of two: bests 1 and 0 by both texts
    assert effect["systems"] == [{"system": "tester", "responses": 3, "old": 0.5, "new": 0.5, "changed": False}]
    assert Score.objects.count() == 0


def test_try_edit_shows_what_cannot_be_decided_as_no_score(suite: Suite) -> None:
    case = case_in(suite, "first")
    answers(suite, "it is fine")
    lost = {"unit_test": {"tests": [{"path": "lost.py", "content": None}]}}

    effect = try_edit(case=case, suite=suite, edited=edited(case, lost))

    row = effect["rows"][0]
    assert (row["old"], row["new"], row["new_status"]) == (1.0, None, "incomplete")
    assert row["notes"] == ["Test 1 was not run: The file 'lost.py' is not stored with the case."]
    assert effect["systems"][0]["new"] is None


@pytest.mark.parametrize(
    ("responses", "programs", "words", "tests"),
    [(3, 9, True, True), (3, 8, True, False), (2, 9, False, False)],  # two tests and a function for each response
)
def test_is_small_edit_counts_responses_and_programs(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, responses: int, programs: int, words: bool, tests: bool
) -> None:
    case = case_in(suite, "first")
    answers(suite, "a", "b", "c")
    programs_of_three = {"unit_test": {"tests": ["assert a", "assert b"]}, "customized": {"module": "m", "func": "f"}}
    monkeypatch.setattr(case_edits, "INLINE_RESPONSES", responses)
    monkeypatch.setattr(case_edits, "INLINE_PROGRAMS", programs)

    assert is_small_edit(case=case, edited=edited(case, {"keywords": ["great"]})) is words
    assert is_small_edit(case=case, edited=edited(case, programs_of_three)) is tests


def test_save_edit_makes_a_version_in_which_only_this_case_differs(suite: Suite) -> None:
    case, ada = case_in(suite, "first"), factories.user("ada")
    answers(suite, "it is great")

    stored, is_new = save_edit(case=case, suite=suite, edited=edited(case, {"keywords": ["great"]}), actor=ada, at=NOON)

    new = case_in(stored, "first")
    assert (is_new, stored.number, stored.label) == (True, 2, "1.0")
    assert (new.grading, new.prompt_id) == ({"keywords": ["great"]}, case.prompt_id)
    assert new.pk != case.pk
    assert case_in(stored, "second") == case_in(suite, "second")
    assert list(stored.links.order_by("position").values_list("weight", flat=True)) == [1.0, 2.0]
    assert case_in(suite, "first").grading == {"keywords": ["fine"]}
    written = AuditEntry.objects.order_by("pk").values_list("action", "subject_id")
    assert list(written) == [("suite.imported", suite.pk), ("suite.edited", stored.pk), ("case.edited", new.pk)]


def test_save_edit_stores_nothing_where_nothing_changes(suite: Suite) -> None:
    case = case_in(suite, "first")

    stored, is_new = save_edit(case=case, suite=suite, edited=case_spec(case), actor=factories.user(), at=NOON)

    assert (is_new, stored, Suite.objects.count()) == (False, suite, 1)
    assert not AuditEntry.objects.filter(action="case.edited").exists()
