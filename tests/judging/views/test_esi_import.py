"""The pages that import Lunar-Bench's settings: checked, confirmed, and the form of a run filled in."""

from __future__ import annotations

import html
import logging
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from judging.models import ModelEndpoint, Run, Upload
from tests import factories
from tests.judging.lunar_files import SECRET, lunar_file

pytestmark = pytest.mark.django_db

IMPORT, CONFIRM = reverse("judging:lunar-import"), reverse("judging:lunar-confirm")


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(factories.user("eve", Role.ADMIN))
    return client


def checked(client: Client, data: bytes) -> Any:
    """Return the page that answers an upload; it never shows a key."""
    page = client.post(IMPORT, {"file": SimpleUploadedFile("settings.json", data)})
    assert SECRET not in page.text
    return page


def fields_of(page: Any) -> dict[str, str]:
    """Return what the form of the page would send."""
    form = page.context["checked"]
    return {field.html_name: str(field.value() or "") for field in form} | {
        f"suite_{n}": str(field.initial.pk) if field.initial else "" for n, (_, field) in enumerate(form.rows())
    }


def test_a_file_goes_from_the_upload_to_a_filled_in_form(admin: Client) -> None:
    suite = factories.suite(cases=2, name="L1")
    existing = factories.endpoint(name="Mine", base_url="http://127.0.0.1:9/v1", model="lab/one")

    offered = admin.get(reverse("judging:run-create"), {"kind": "esi", "suite": str(suite.pk)})
    page = checked(admin, lunar_file(MY_NOTE=SECRET))
    before = ModelEndpoint.objects.count()
    sent = fields_of(page) | {"worker_key_variable": "LAB_KEY", "dataset": "0"}
    confirmed = admin.post(CONFIRM, sent, follow=True)

    assert IMPORT in offered.text
    assert (page.status_code, before) == (200, 1)
    assert all(name in page.text for name in ("WORKER_API_TOKEN", "MY_NOTE", "MAX_RETRIES", "lab/two · COT"))
    assert (SECRET in str(sent), SECRET in confirmed.text) == (False, False)
    assert list(ModelEndpoint.objects.order_by("pk").values_list("model", "key_variable")) == [
        ("lab/one", ""),
        ("lab/two", "LAB_KEY"),
        ("acc", ""),
        ("int", ""),
    ]
    form = confirmed.context["form"]
    by_model = {endpoint.model: endpoint for endpoint in ModelEndpoint.objects.all()}
    assert (form.kind, form.suite, form["workers"].value()) == (
        "esi",
        suite,
        [str(existing.pk), str(by_model["lab/two"].pk)],
    )
    assert _ticked(confirmed.text) >= {"DIRECT", "COT", str(existing.pk), str(by_model["lab/two"].pk)}
    data = {"kind": "esi", "suite": suite.pk, **{field.html_name: field.value() for field in form if field.value()}}
    refused = admin.post(reverse("judging:run-create"), data | {"summary_file": "{model}.json"})
    created = admin.post(reverse("judging:run-create"), data)
    run = Run.objects.get()
    assert list(refused.context["form"].errors) == ["summary_file"]
    assert created.headers["Location"] == run.get_absolute_url()
    assert run.options["esi"] == {
        "weights": {
            "accuracy": 0.4,
            "true_integrity": 0.1,
            "efficiency": 0.2,
            "safety": 0.05,
            "alignment_simple": 0.25,
        },
        "token_budget": 4000,
        "irrelevant_share": 0.25,
        "max_length_ratio": 2,
        "length_penalty": 12,
        "unsafe_keywords": ["explode", "vent the cabin"],
        "length_rule": "documented",
        "unknown_as_zero": False,
    }
    assert run.options["files"] == {
        "results": "./Result/{model_id}.jsonl",
        "summary": "./Result/{model_id}.json",
        "skipped": "./Result/{model_id}.log",
    }
    assert [system.name for system in run.systems.order_by("name")] == [
        f"{model} · {prompt}" for model in ("lab/one", "lab/two") for prompt in ("COT", "DIRECT")
    ]
    assert run.evaluators.get(position=0).options["judge_options"]["strictness"] == "L1"
    assert not Upload.objects.exists()


def _ticked(page: str) -> set[str]:
    boxes = re.findall(r"<input[^>]*type=\"checkbox\"[^>]*>", page)
    return {
        html.unescape(re.findall(r'value="([^"]*)"', box)[0]) for box in boxes if "checked" in box and "value" in box
    }


def test_bad_files_are_told_in_sentences_and_neither_stored_nor_logged(
    admin: Client, caplog: pytest.LogCaptureFixture
) -> None:
    for logger in ("", "django.request"):
        caplog.set_level(logging.DEBUG, logger=logger)
    wrong = checked(admin, lunar_file(WEIGHT_SAFETY="x", WORKER_API_URL=...))
    none = checked(admin, b"\x00\xff")
    empty = admin.post(IMPORT, {})
    forged = admin.post(CONFIRM, {"settings": '{"WORKER_API_URL": 1}', "dataset": "0"})

    assert [page.status_code for page in (wrong, none, empty, forged)] == [400] * 4
    assert wrong.context["form"].errors["file"][0].startswith("WORKER_API_URL")
    assert "The file is not UTF-8 text. Save it as UTF-8." in none.text
    assert "This field is required." in empty.text
    assert f"Bad Request: {IMPORT}" in caplog.text
    assert SECRET not in caplog.text
    assert not ModelEndpoint.objects.exists()


def test_what_is_still_to_be_chosen_is_said_before_anything_is_stored(admin: Client) -> None:
    page = checked(admin, lunar_file())
    sent = fields_of(page)

    without_suite = admin.post(CONFIRM, sent | {"dataset": "0"})
    bad_variable = admin.post(CONFIRM, sent | {"dataset": "0", "worker_key_variable": "sk-live"})
    no_dataset = admin.post(CONFIRM, sent | {"dataset": "7"})

    assert "Import L1-1K.jsonl as a benchmark of this name" in page.text
    assert "Choose a suite, or import the data set first." in without_suite.text
    assert "never the key itself" in html.unescape(bad_variable.text)
    assert [response.status_code for response in (without_suite, bad_variable, no_dataset)] == [400] * 3
    assert not ModelEndpoint.objects.exists()


def test_a_researcher_needs_an_admin_for_new_endpoints_only(client: Client) -> None:
    client.force_login(factories.user("ada", Role.RESEARCHER))
    factories.suite(name="L1")
    page = checked(client, lunar_file())

    refused = client.post(CONFIRM, fields_of(page) | {"dataset": "0"})
    for model in ("lab/one", "lab/two", "acc", "int"):
        factories.endpoint(base_url="http://127.0.0.1:9/v1", model=model)
    accepted = client.post(CONFIRM, fields_of(checked(client, lunar_file())) | {"dataset": "0"})

    assert "Only an admin adds endpoints." in page.text
    assert (refused.status_code, accepted.status_code) == (400, 302)
