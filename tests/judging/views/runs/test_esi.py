"""The pages of ESI runs, as a researcher walks them."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.roles import Role
from judging.grading.grades import DEFAULT_WEIGHTS
from judging.judges.answer_prompts import shipped_asking
from judging.models import Judge, Run, RunKind, Suite, Verdict
from judging.services.runs.run_worker import work_through
from judging.services.systems import Worker, add_system
from tests import factories
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(factories.user("ada", Role.RESEARCHER))
    return client


def entered(suite: Suite, **changes: Any) -> dict[str, Any]:
    """Return the form as its page shows it, with changes."""
    weights = {f"weight_{name}": value for name, value in DEFAULT_WEIGHTS.items()}
    usual = {"token_budget": 8000, "irrelevant_share": 0, "max_length_ratio": 3, "length_penalty": 10}
    words = {"length_rule": "documented", "reading": "careful", "unsafe_keywords": "bad", "prompts": ["DIRECT", "COT"]}
    return {"kind": "esi", "suite": suite.pk, **weights, **usual, **words, **changes}


def test_a_run_goes_from_the_form_to_its_files(researcher: Client, fake_llm: FakeLLM) -> None:
    suite = factories.suite(cases=[factories.case(reference="42") for _ in range(1)])
    endpoint = factories.endpoint(base_url=fake_llm.url, model="fake/one")
    judge = f"endpoint:{endpoint.pk}"
    data = entered(suite, workers=[endpoint.pk], accuracy=judge, integrity=judge, strictness="L3")

    page = researcher.get(reverse("judging:run-create"), {"kind": "esi", "suite": str(suite.pk)})
    estimate = researcher.post(reverse("judging:run-estimate"), data, headers={"HX-Request": "true"})
    judges_before = Judge.objects.count()
    created = researcher.post(reverse("judging:run-create"), data)

    assert (page.status_code, estimate.status_code, judges_before) == (200, 200, 0)
    assert [part.calls for part in estimate.context["estimate"].evaluators] == [1, 1, 2, 2]
    run = Run.objects.get(kind=RunKind.ESI)
    assert created.headers["Location"] == run.get_absolute_url()
    waiting = researcher.get(run.get_absolute_url())
    assert "fake/one · COT" in waiting.text
    work_through(run_id=run.pk, threads=2, now=timezone.now)
    stored = {name: f"judge:{Judge.objects.get(kind=name).pk}" for name in ("accuracy", "integrity")}
    again, fresh = (
        researcher.post(reverse("judging:run-estimate"), data | stored | more, headers={"HX-Request": "true"})
        for more in ({}, {"fresh": "on"})
    )
    estimates = [each.context["estimate"].evaluators for each in (estimate, again, fresh)]
    assert [[part.reused for part in parts] for parts in estimates] == [[0, 0, 0, 0], [1, 1, 2, 2], [0, 0, 0, 0]]
    assert [sum(part.prompt_tokens for part in parts) > 0 for parts in estimates] == [True, False, True]
    assert ("6 calls already made and not paid for again" in again.text, "already made" in fresh.text) == (True, False)
    finished_page = researcher.get(run.get_absolute_url())
    assert [row.system.name for row in finished_page.context["esi_rows"]] == ["fake/one · COT", "fake/one · DIRECT"]
    accuracy, integrity = (
        list(evaluator.verdicts.order_by("response_id")) for evaluator in run.evaluators.order_by("position")[:2]
    )
    assert _said(finished_page) == [list(pair) for pair in zip(accuracy, integrity, strict=True)]
    assert all(verdict.get_absolute_url() in finished_page.text for verdict in (*accuracy, *integrity))
    by_judge = researcher.get(run.get_absolute_url(), {"evaluator": accuracy[0].evaluator_id})
    assert _said(by_judge) == [[verdict] for verdict in accuracy]
    archive = researcher.get(reverse("judging:esi-files", args=[run.pk]))
    with zipfile.ZipFile(io.BytesIO(b"".join(archive.streaming_content))) as packed:  # type: ignore[attr-defined]
        assert packed.namelist() == [
            name.format(f"fake__one_{prompt}")
            for prompt in ("COT", "DIRECT")
            for name in ("ESI_Result_{}.jsonl", "Summary_{}.json", "Skipped_Log_{}.txt")
        ]


def _said(page: Any) -> list[list[Verdict]]:
    """Return the verdicts that the rows of tasks link to, by response."""
    return [task.judge_verdicts for task, _ in sorted(page.context["rows"], key=lambda row: row[0].response_id)]


def test_the_form_says_what_is_missing(researcher: Client) -> None:
    suite = factories.suite()
    endpoint = factories.endpoint()
    judge = f"endpoint:{endpoint.pk}"

    nobody = researcher.post(reverse("judging:run-create"), entered(suite, accuracy=judge, integrity=judge))
    weightless = researcher.post(
        reverse("judging:run-create"),
        entered(suite, workers=[endpoint.pk], accuracy=judge, integrity=judge)
        | {f"weight_{name}": 0 for name in DEFAULT_WEIGHTS},
    )

    assert nobody.context["form"].non_field_errors() == [
        "Choose either systems or models to ask, or stored responses, not both."
    ]
    assert weightless.context["form"].non_field_errors() == ["Weights are at least 0 and not all 0."]
    assert not Run.objects.exists()


def test_systems_are_asked_with_their_own_sampling_and_each_once(researcher: Client) -> None:
    suite, endpoint = factories.suite(), factories.endpoint()
    judge = f"endpoint:{endpoint.pk}"
    warm, plain = (
        add_system(name=name, worker=Worker(endpoint, asking), description="", actor=None, at=factories.NOON)
        for name, asking in (
            ("warm", replace(shipped_asking("COT"), temperature=0.7)),
            ("plain", shipped_asking("DIRECT")),
        )
    )
    data = entered(suite, accuracy=judge, integrity=judge, workers=[endpoint.pk], asked=[warm.pk, plain.pk])

    page = researcher.get(reverse("judging:run-create"), {"kind": "esi", "suite": str(suite.pk), "asked": str(warm.pk)})
    created = researcher.post(reverse("judging:run-create"), data)

    run = Run.objects.get()
    assert (page.context["form"]["asked"].value(), created.status_code) == ([str(warm.pk)], 302)
    temperatures = {int(key): frozen["temperature"] for key, frozen in run.options["workers"].items()}
    cot = run.systems.get(prompt_version="COT", asking__temperature=0.01)  # of the model and the version chosen
    assert temperatures == {warm.pk: 0.7, plain.pk: 0.01, cot.pk: 0.01}


@pytest.mark.parametrize("cases", [1, 3])
def test_the_run_page_asks_a_fixed_number_of_queries(
    researcher: Client, cases: int, django_assert_num_queries: Any
) -> None:
    suite = factories.suite(cases=cases)
    endpoint = factories.endpoint()
    judge = f"endpoint:{endpoint.pk}"
    researcher.post(
        reverse("judging:run-create"), entered(suite, workers=[endpoint.pk], accuracy=judge, integrity=judge)
    )

    with django_assert_num_queries(25):  # one for its tags, three for its owners, three for its gates
        page = researcher.get(Run.objects.get().get_absolute_url())

    assert page.text.count("task") > 0


def test_the_old_address_leads_to_the_form_of_the_kind(researcher: Client) -> None:
    suite = factories.suite(cases=1)

    page = researcher.get(reverse("judging:esi-create"), {"suite": suite.pk}, follow=True)

    assert page.redirect_chain == [(f"{reverse('judging:run-create')}?suite={suite.pk}&kind=esi", 302)]
    assert page.context["form"].kind == RunKind.ESI
