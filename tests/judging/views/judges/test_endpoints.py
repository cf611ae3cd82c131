"""Pages of endpoints."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from judging.models import Call, ModelEndpoint
from judging.services.ledger import add_to_hour
from tests import factories
from tests.fake_llm.fixture import FakeLLM

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_baselines")]

HTMX = {"HX-Request": "true"}
SHELL_QUERIES = 4  # session, person with permissions, groups, what waits for review
FORM = {"name": "local", "base_url": "http://127.0.0.1:11434/v1", "model": "small", "max_concurrency": "8"}


def _call(endpoint: ModelEndpoint, number: int, **fields: Any) -> Call:
    defaults = {"status": "finished", "request": {}, "cost": Decimal("0.5"), "finished_at": timezone.now()}
    call = Call.objects.create(key=f"{number:064x}", endpoint=endpoint, **defaults | fields)
    add_to_hour([call], call.finished_at)
    return call


@pytest.mark.parametrize("rows", [1, 3])
def test_endpoint_list_needs_the_same_queries_for_any_number(
    client: Client, admin: User, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(rows):
        _call(factories.endpoint(), number)

    with django_assert_num_queries(SHELL_QUERIES + 3):  # endpoints, judges, calls
        answer = client.get(reverse("judging:endpoint-list"))

    assert [(row.calls, row.errors, row.spent) for row in answer.context["rows"]] == [(1, 0, Decimal("0.5"))] * rows


def test_endpoint_create_stores_one(client: Client, admin: User) -> None:
    answer = client.post(reverse("judging:endpoint-create"), FORM | {"is_active": "on"})

    endpoint = ModelEndpoint.objects.get()
    assert answer.headers["Location"] == endpoint.get_absolute_url()
    assert (endpoint.name, endpoint.max_concurrency, endpoint.is_active) == ("local", 8, True)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"key_variable": "sk-live-123"}, "never the key itself"),
        ({"base_url": "ftp://host/v1"}, ""),
        ({"max_concurrency": "0"}, "Enter a number from 1 to 1000."),
        ({"input_price": "1"}, "Enter both prices or neither."),
        ({"input_price": "-1", "output_price": "1"}, "A price is 0 USD or more."),
        ({"input_price": "1", "output_price": "1", "cached_price": "-0.5"}, "A price is 0 USD or more."),
        ({"base_url": ""}, "This field is required."),
        ({"extra": "reasoning_effort: low"}, "Enter a JSON object"),
        ({"extra": '["low"]'}, "must be a JSON object"),
    ],
)
def test_endpoint_create_refuses(client: Client, admin: User, changes: dict[str, str], says: str) -> None:
    answer = client.post(reverse("judging:endpoint-create"), FORM | changes)

    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert not ModelEndpoint.objects.exists()


def test_endpoint_create_stores_extra_fields_and_shows_them(client: Client, admin: User) -> None:
    fields = {
        "extra": '{"reasoning_effort": "low"}',
        "reasoning": "on",
        "min_output_tokens": "9000",
        "reuse_days": "30",
    }

    answer = client.post(reverse("judging:endpoint-create"), FORM | fields)

    endpoint = ModelEndpoint.objects.get()
    page = client.get(answer.headers["Location"]).content.decode()
    form = client.get(reverse("judging:endpoint-update", args=[endpoint.pk])).content.decode()
    assert (endpoint.extra, endpoint.min_output_tokens) == ({"reasoning_effort": "low"}, 9000)
    assert (endpoint.reuse_days, "for 30 days" in page) == (30, True)
    assert "reasoning_effort" in page
    assert "9,000 tokens" in page
    assert "reasoning_effort" in form


def test_endpoint_forms_show_no_extra_fields_as_an_empty_field(client: Client, admin: User) -> None:
    stored = factories.endpoint()

    new = client.get(reverse("judging:endpoint-create")).context["form"]["extra"].value()
    stored_value = client.get(reverse("judging:endpoint-update", args=[stored.pk])).context["form"]["extra"].value()

    assert (new, stored_value) == ("", "")


def test_endpoint_create_says_plainly_that_a_name_is_taken(client: Client, admin: User) -> None:
    factories.endpoint(name="local")

    page = client.post(reverse("judging:endpoint-create"), FORM).content.decode()

    assert "Another endpoint has this name." in page
    assert "already exists" not in page


def test_the_sentence_of_a_provider_is_shown_to_admins_only(client: Client, admin: User) -> None:
    endpoint = factories.endpoint()
    _call(endpoint, 1, status="failed", error_text="Ours.", provider_text="Pull the model first.")

    to_admin = client.get(endpoint.get_absolute_url()).content.decode()
    client.force_login(factories.user("ben", Role.RESEARCHER))
    to_researcher = client.get(endpoint.get_absolute_url()).content.decode()

    assert ("Pull the model first." in to_admin, "Ours." in to_admin) == (True, True)
    assert ("Pull the model first." in to_researcher, "Ours." in to_researcher) == (False, True)


def test_endpoint_update_leaves_baselines_alone(client: Client, admin: User) -> None:
    baseline = factories.endpoint(kind="lexical", base_url="", model="criterion")
    mine = factories.endpoint()

    refused = client.post(reverse("judging:endpoint-update", args=[baseline.pk]), FORM)
    changed = client.post(reverse("judging:endpoint-update", args=[mine.pk]), FORM)

    mine.refresh_from_db()
    assert (refused.status_code, changed.status_code, mine.name, mine.is_active) == (404, 302, "local", False)


def test_endpoint_detail_shows_what_went_wrong_and_what_it_cost(client: Client, admin: User) -> None:
    endpoint = factories.endpoint(key_variable="NO_SUCH_KEY", capabilities={"seed": True, "json_schema": False})
    _call(endpoint, 1)
    _call(endpoint, 2, status="failed", error_kind="timeout", error_text="No answer in time.", cost=None)

    answer = client.get(endpoint.get_absolute_url())

    page = answer.content.decode()
    assert [(calls, spent) for _, calls, spent in answer.context["days"]] == [(2, Decimal("0.5"))]
    assert "No answer in time." in page
    assert "is not set in the environment of the site" in page
    assert answer.context["features"] == [
        ("Not refused, effect not verified", ["seed"]),
        ("Refused and left out", ["JSON schema"]),
    ]


def test_endpoint_test_answers_htmx_with_the_fragment(client: Client, admin: User, fake_llm: FakeLLM) -> None:
    endpoint = factories.endpoint(base_url=fake_llm.url, model="fake")
    url = reverse("judging:endpoint-test", args=[endpoint.pk])

    fragment = client.post(url, headers=HTMX)
    page = client.post(url, follow=True)

    assert ('id="endpoint-trial"' in fragment.content.decode(), "<html" in fragment.content.decode()) == (True, False)
    assert fragment.context["trial"]["works"]
    assert "replied in" in page.content.decode()
    assert "It replied in" in client.get(endpoint.get_absolute_url()).content.decode()  # it is kept
    tests = AuditEntry.objects.filter(action="endpoint.tested").values_list("actor", "subject_id", "detail")
    assert list(tests) == [(admin.pk, endpoint.pk, {"works": True})] * 2


@pytest.mark.parametrize(
    ("fields", "behaviour", "words"),
    [
        ({"stream": True}, {}, "Streaming is verified: a reply has arrived as a stream."),
        ({"stream": True}, {"reject": "stream"}, "Streaming was refused: replies are requested at once."),
        ({}, {}, "Streaming was not tested: replies are requested at once."),
    ],
)
def test_endpoint_test_says_whether_streaming_was_verified(
    client: Client, admin: User, fake_llm: FakeLLM, fields: Any, behaviour: Any, words: str
) -> None:
    fake_llm.config(**behaviour)
    endpoint = factories.endpoint(base_url=fake_llm.url, model="fake", **fields)

    page = client.post(reverse("judging:endpoint-test", args=[endpoint.pk]), headers=HTMX).content.decode()

    assert [line.strip() for line in page.splitlines() if "Streaming" in line] == [f'<p class="mb-0">{words}</p>']


def test_endpoint_detail_tells_a_stream_without_effect_from_one_that_nothing_showed_yet(
    client: Client, admin: User
) -> None:
    works = {"works": True, "seconds": 1.0}
    ignored = factories.endpoint(stream=True, last_test=works | {"ignored": ["stream"]})
    silent = factories.endpoint(stream=True, last_test=works)

    sentences = [client.get(endpoint.get_absolute_url()).context["streaming"] for endpoint in (ignored, silent)]

    assert sentences == [
        "Streaming was not refused but had no effect: the reply arrived at once.",
        "Streaming is not verified yet: no reply was received since it was switched on.",
    ]


def test_endpoint_test_shows_a_problem(client: Client, admin: User) -> None:
    endpoint = factories.endpoint(base_url="http://127.0.0.1:9/v1")

    page = client.post(reverse("judging:endpoint-test", args=[endpoint.pk]), headers=HTMX).content.decode()

    assert "connection" in page.lower()


def test_a_failed_test_is_shown_where_endpoints_are_listed_and_chosen(client: Client, admin: User) -> None:
    endpoint = factories.endpoint(name="encke", last_test={"works": False, "problem": "It refuses its key."})
    judge = factories.judge(kind="accuracy", endpoint=endpoint)

    listed = client.get(reverse("judging:endpoint-list")).content.decode()
    chosen = client.get(reverse("judging:judge-update", args=[judge.pk])).content.decode()
    _call(endpoint, 1)
    since = client.get(reverse("judging:endpoint-list")).content.decode()

    assert ("Test failed" in listed, "It refuses its key." in listed) == (True, True)
    assert "encke (its last test failed)" in chosen
    assert "Test failed" not in since  # a call has been answered


def test_endpoint_test_shows_the_sentence_of_the_provider_to_admins(
    client: Client, admin: User, fake_llm: FakeLLM
) -> None:
    fake_llm.config(rate_500=1.0)
    endpoint = factories.endpoint(base_url=fake_llm.url, model="fake")

    fragment = client.post(reverse("judging:endpoint-test", args=[endpoint.pk]), headers=HTMX).content.decode()
    client.force_login(factories.user("ben", Role.RESEARCHER))
    page = client.get(endpoint.get_absolute_url()).content.decode()

    assert ("Message of the provider" in fragment, "asked for 500" in fragment) == (True, True)
    assert ("HTTP 500" in page, "asked for 500" in page) == (True, False)


def test_endpoint_forget_is_for_admins(client: Client, admin: User) -> None:
    endpoint = factories.endpoint(capabilities={"seed": False})
    url = reverse("judging:endpoint-forget", args=[endpoint.pk])

    answer = client.post(url)
    endpoint.refresh_from_db()
    client.force_login(factories.user("ben", Role.RESEARCHER))

    assert (answer.status_code, endpoint.capabilities, client.post(url).status_code) == (302, {}, 403)


def test_endpoints_are_read_by_researchers_and_changed_by_admins(client: Client) -> None:
    endpoint = factories.endpoint()
    client.force_login(factories.user("ben", Role.RESEARCHER))
    pages = {
        name: client.get(reverse(f"judging:endpoint-{name}", args=args)).status_code
        for name, args in (("list", []), ("detail", [endpoint.pk]), ("create", []), ("update", [endpoint.pk]))
    }
    tested = client.post(reverse("judging:endpoint-test", args=[endpoint.pk])).status_code
    client.force_login(factories.user("eve", Role.ANNOTATOR))

    assert pages == {"list": 200, "detail": 200, "create": 403, "update": 403}
    assert (tested, client.get(reverse("judging:endpoint-list")).status_code) == (403, 403)


def test_endpoint_create_begins_with_the_values_of_a_preset(client: Client, admin: User) -> None:
    page = client.get(reverse("judging:endpoint-create"), {"preset": "azure"})
    form = page.context["form"]
    shown = {name: form[name].value() for name in ("preset", "key_variable", "key_header", "max_concurrency")}

    client.post(
        reverse("judging:endpoint-create"),
        FORM | shown | {"query": "api-version=2024-10-21", "headers": '{"X-Title": "Evalsite"}', "read_timeout": "300"},
    )

    endpoint = ModelEndpoint.objects.get()
    assert shown == {
        "preset": "azure",
        "key_variable": "AZURE_OPENAI_API_KEY",
        "key_header": "api-key",
        "max_concurrency": 8,
    }
    assert (endpoint.key_header, endpoint.query, endpoint.headers, endpoint.read_timeout) == (
        "api-key",
        "api-version=2024-10-21",
        {"X-Title": "Evalsite"},
        300,
    )
    page = client.get(endpoint.get_absolute_url())
    assert all(text in page.text for text in ("Azure OpenAI", "api-version=2024-10-21", "X-Title", "5 min"))


def test_endpoint_create_ignores_an_unknown_preset(client: Client, admin: User) -> None:
    page = client.get(reverse("judging:endpoint-create"), {"preset": "nobody"})

    assert (page.status_code, page.context["preset"]) == (200, None)
