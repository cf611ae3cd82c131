"""The demo loads through the import services, once, and is what its files say."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from debate.models import DebateSet
from evalsite.accounts.roles import Role, role_of
from evalsite.demo.content import DATA, PEOPLE, SYSTEMS, admit_people, load_content, start_work
from judging.grading.grades import GradingOptions
from judging.grading.rules import GradedCase, grade_responses
from judging.models import Benchmark, Case, Judge, ModelEndpoint, Response, RubricItem, Run, Suite
from judging.services.file_imports.imports import check_import
from judging.services.file_imports.intake import ImportOptions
from judging.services.judges import ensure_baselines
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def test_load_content_stores_the_benchmark_its_answers_and_both_rubrics() -> None:
    content = load_content(actor=None, at=NOON)

    cases = Case.objects.filter(suites=content.suite)
    assert Counter(cases.values_list("scenario", flat=True)) == {
        "shell and git": 8,
        "spreadsheets": 8,
        "statistics basics": 8,
        "travel and logistics": 8,
    }
    assert not cases.filter(reference="").exists()
    assert Counter(Response.objects.values_list("system__name", flat=True)) == dict.fromkeys(SYSTEMS, 32)
    keys = set(cases.values_list("key", flat=True))
    assert set(RubricItem.objects.filter(rubric=content.levels).values_list("case_key", flat=True)) == keys
    assert [child["key"] for child in content.criteria.items.get().tree["children"]] == [
        "helpfulness",
        "accuracy",
        "clarity",
    ]


def test_load_content_again_changes_nothing() -> None:
    first = load_content(actor=None, at=NOON)
    second = load_content(actor=None, at=NOON)

    assert (first.is_new, second.is_new) == (True, False)
    assert (second.suite, second.levels, second.criteria) == (first.suite, first.levels, first.criteria)
    assert (Benchmark.objects.count(), Suite.objects.count(), Response.objects.count()) == (1, 1, 96)


@pytest.mark.parametrize("name", ["suite.yaml", "responses.jsonl", "levels.xlsx", "criteria.yaml"])
def test_every_file_of_the_demo_imports_by_hand_without_a_remark(name: str) -> None:
    load_content(actor=None, at=NOON)

    checked = check_import(files=[(name, (DATA / name).read_bytes())], options=ImportOptions())

    assert [str(problem) for problem in checked.problems] == []


def test_rules_tell_the_three_systems_apart() -> None:
    load_content(actor=None, at=NOON)
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for line in (DATA / "responses.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        texts[row["case_id"]][row["system"]] = row["response"]

    totals: Counter[str] = Counter()
    for case in Case.objects.all():
        grades = grade_responses(
            GradedCase(grading=case.grading, lang=case.lang),
            [texts[case.key][name] for name in SYSTEMS],
            options=GradingOptions(),
        )
        totals.update({name: grade.score or 0 for name, grade in zip(SYSTEMS, grades, strict=True)})

    strong, middling, weak = (totals[name] / 32 for name in SYSTEMS)
    assert strong > middling + 0.15
    assert middling > weak + 0.3


def test_ensure_baselines_makes_what_is_missing_and_leaves_the_rest() -> None:
    first = ensure_baselines()
    ModelEndpoint.objects.filter(name="lexical-reference").update(is_active=False)
    Judge.objects.filter(name="Lexical levels (balance)").delete()

    second = ensure_baselines()

    # 3 lenses, each an endpoint with a judge of levels and one of criteria
    assert (first, second) == (9, 1)
    assert ModelEndpoint.objects.get(name="lexical-reference").is_active is False


def test_start_work_launches_one_run_and_one_set_of_debates_once() -> None:
    ensure_baselines()
    content = load_content(actor=None, at=NOON)

    assert start_work(content=content, actor=None, at=NOON) is True
    assert start_work(content=content, actor=None, at=NOON) is False

    run = Run.objects.get(kind="grading")
    # rules, three lenses over the levels and one over the criteria, for 96 answers
    assert (run.total, [one.is_baseline for one in run.evaluators.order_by("position")]) == (
        5 * 96,
        [False, True, True, True, True],
    )
    debates = DebateSet.objects.get()
    assert (debates.debates.count(), debates.criterion) == (32, "helpfulness")
    assert not any(system in debates.name for system in SYSTEMS)  # annotators read the name


def test_admit_people_gives_new_passwords_at_every_start() -> None:
    first = {one.row.username: one.secret for one in admit_people()}
    second = {one.row.username: (one.row, one.secret) for one in admit_people()}

    assert {name: role_of(person) for name, (person, _) in second.items()} == {
        details.username: role for details, role in PEOPLE
    }
    assert Counter(role for _, role in PEOPLE) == {Role.ANNOTATOR: 3, Role.RESEARCHER: 1, Role.ADMIN: 1}
    for name, (person, password) in second.items():
        person.refresh_from_db()
        assert person.check_password(password)
        assert not person.check_password(first[name])


def test_demo_refuses_to_run_on_a_site_that_is_no_demo() -> None:
    with pytest.raises(Exception, match="EVALSITE_DEMO=1") as refusal:
        call_command("demo")

    assert getattr(refusal.value, "returncode", None) == 2


def test_demo_load_puts_something_on_an_empty_site(client: Client) -> None:
    rosa = factories.user("rosa", Role.RESEARCHER)
    client.force_login(rosa)
    assert "Load the demo" in client.get(reverse("home")).content.decode()

    answer = client.post(reverse("demo-load"))

    benchmark = Benchmark.objects.get()
    assert answer["Location"] == benchmark.get_absolute_url()
    assert (Run.objects.count(), benchmark.created_by) == (2, rosa)
    assert "Load the demo" not in client.get(reverse("home")).content.decode()
