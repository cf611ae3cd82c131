"""The page of differences from InfiBench."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.roles import Role
from judging.models import Case, Run
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan, create_run
from judging.services.runs.run_worker import work_through
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db(transaction=True)


def graded_run(*, compat: bool = False) -> Run:
    case = factories.case(grading={"keywords": [{"or": ["fine", "good"]}]})
    answer = factories.response(prompt=case.prompt, text="it is fine")
    plan = RunPlan(
        suite=factories.suite(cases=[case]), systems=[answer.system], evaluators=[EvaluatorChoice()], compat=compat
    )
    run = create_run(plan=plan, actor=None, at=NOON)
    work_through(run_id=run.pk, threads=2, now=timezone.now)
    return run


def page(run: Run, role: Role) -> tuple[int, str]:
    client = Client()
    client.force_login(factories.user(role=role))
    answer = client.get(reverse("reports:difference-detail", args=[run.pk]))
    return answer.status_code, answer.content.decode()


def test_difference_detail_lists_rules_and_cases() -> None:
    run = graded_run()

    status, html = page(run, Role.RESEARCHER)

    assert status == 200
    assert "1 response compared, 5 differences, each accounted for by a rule below." in html
    assert html.count("13.10") == 6  # once in the table of rules, once beside each difference
    assert run.scores.get().response.prompt.key in html


def test_difference_detail_says_that_a_compat_run_has_none() -> None:
    status, html = page(graded_run(compat=True), Role.RESEARCHER)

    assert status == 200
    assert "graded as InfiBench did" in html


def test_difference_detail_is_not_for_annotators() -> None:
    assert page(graded_run(), Role.ANNOTATOR)[0] == 403


def test_difference_detail_needs_a_rule_grader() -> None:
    assert page(factories.run(), Role.RESEARCHER)[0] == 404


def test_run_detail_links_to_the_differences_where_infibench_can_read_the_suite() -> None:
    run = graded_run()
    client = Client()
    client.force_login(factories.user(role=Role.RESEARCHER))

    inline = client.get(run.get_absolute_url()).text
    Case.objects.update(source_path="cases/fine.yaml")
    own_files = client.get(run.get_absolute_url()).text

    link = reverse("reports:difference-detail", args=[run.pk])
    assert [link in html for html in (inline, own_files)] == [False, True]
    assert reverse("reports:leaderboard-breakdown", args=[run.suite_id]) in inline
