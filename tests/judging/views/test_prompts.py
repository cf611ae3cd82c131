"""Prompts in the site: files, edited versions, and a judge tried on one response."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from judging.judges.prompt_texts import load_prompt
from judging.models import Call, PromptVersion, Run, Score, Verdict
from tests import factories
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(factories.user("ada", Role.RESEARCHER))
    return client


def test_the_list_names_every_prompt_with_its_hash(researcher: Client) -> None:
    page = researcher.get(reverse("judging:prompt-list"))

    assert [file.name for file, _ in page.context["files"]] == [
        "level_cascade_holistic",
        "level_cascade_itemised",
        "relevance",
        "accuracy",
        "integrity",
        "pairwise",
        "generic",
        "worker",
    ]
    assert load_prompt("accuracy").sha256[:12] in page.text


def test_an_edited_prompt_becomes_a_version_that_judges_use(researcher: Client) -> None:
    url = reverse("judging:prompt-detail", args=["integrity"])
    text = load_prompt("integrity").text + "\n\nBe stern."

    stored = researcher.post(url, {"label": "stern", "text": text})
    again = researcher.post(url, {"label": "sterner", "text": text})
    broken = researcher.post(url, {"label": "broken", "text": "Say a number."})

    version = PromptVersion.objects.get()
    factories.judge(name="Stern", kind="integrity", options={"prompt_text": text})
    page = researcher.get(url)
    assert (stored.status_code, version.label, version.created_by.username) == (302, "stern", "ada")  # type: ignore[union-attr]
    assert again.context["form"].errors["text"] == ["This text is there already, as stern."]
    assert "placeholders" in broken.context["form"].errors["text"][0]
    assert [(text.label, [judge.name for judge in text.judges]) for text in page.context["file"].texts] == [
        ("as shipped", []),
        ("stern", ["Stern"]),
    ]
    form = researcher.get(reverse("judging:judge-create"), {"kind": "integrity", "prompt": str(version.pk)})
    assert form.context["form"].initial["option_prompt_text"] == text


def test_a_worker_prompt_must_show_the_question(researcher: Client) -> None:
    url = reverse("judging:prompt-detail", args=["worker"])

    refused = researcher.post(url, {"label": "mine", "text": "Answer!"})
    taken = researcher.post(url, {"label": "cot", "text": "{{question}} Think."})
    fine = researcher.post(url, {"label": "SHORT", "text": "{{question}} Be short."})

    assert refused.context["form"].errors["text"] == [
        "The prompt must show {{question}}; {{instruction}} is there to be used too."
    ]
    assert taken.context["form"].errors["text"] == ["COT is a shipped version; choose another name."]
    assert (fine.status_code, PromptVersion.objects.get().label) == (302, "SHORT")


def test_annotators_see_no_prompts(client: Client) -> None:
    client.force_login(factories.user("bo", Role.ANNOTATOR))

    assert client.get(reverse("judging:prompt-list")).status_code == 403


def test_a_judge_is_tried_on_a_response_and_nothing_is_scored(researcher: Client, fake_llm: FakeLLM) -> None:
    case = factories.case(reference="42")
    response = factories.response(prompt=case.prompt)
    judge = factories.judge(kind="accuracy", endpoint=factories.endpoint(base_url=fake_llm.url))
    shipped = load_prompt("accuracy").text
    version = PromptVersion.objects.create(
        name="accuracy", label="stern", text=shipped + " Be stern.", sha256="0" * 64, created_at=factories.NOON
    )
    url = reverse("judging:response-try", args=[response.pk])

    first = researcher.post(url, {"judge": judge.pk, "prompt": version.pk})
    second = researcher.post(url, {"judge": judge.pk, "prompt": version.pk})

    trial = first.context["trial"]
    assert (trial.verdict.status, first.context["full"]) == ("repaired", 100.0)  # the fake gives no reasoning
    assert trial.calls[0].request.messages[1].content.endswith("Be stern.")
    assert [call.reused for call in second.context["trial"].calls] == [True]
    assert (fake_llm.stats()["calls"], Call.objects.get().run) == (1, None)
    assert (Run.objects.count(), Verdict.objects.count(), Score.objects.count()) == (0, 0, 0)


def test_a_trial_says_what_the_case_lacks(researcher: Client) -> None:
    response = factories.response(prompt=factories.case().prompt)
    judge = factories.judge(kind="accuracy")

    page = researcher.post(reverse("judging:response-try", args=[response.pk]), {"judge": judge.pk})

    assert page.context["form"].non_field_errors() == ["This judge needs a reference answer for the case."]
