"""Runs through the API: the same rows, sentences and audit entries as by page and command; nothing hostile is 500."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.audit import record
from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role, Scope, scope_of
from evalsite.api import problems
from evalsite.api.models import ApiToken, KeptAnswer
from evalsite.api.tokens import make_token
from evalsite.base.actions.declarations import NOUNS
from evalsite.base.actions.reports import REPORTS
from evalsite.base.rows import BadInput
from evalsite.serving.middleware import NO_LENGTH
from judging.models import Run, RunKind
from tests import factories
from tests.factories import NOON
from tests.judging.services.run_rows import answered_suite, judged_run, level_judge, ruled_run, work
from tests.own_redis import OwnRedis

pytestmark = pytest.mark.django_db
PROBLEM = "application/problem+json"


def api_of(person: User) -> Client:
    """Return a client that signs in with a new token of a person."""
    token = make_token(owner=person, name="script", scopes=Scope, days=1, at=timezone.now()).secret
    return Client(headers={"authorization": f"Bearer {token}"}, enforce_csrf_checks=True, raise_request_exception=False)


def post(client: Client, path: str, body: Mapping[str, Any] | None = None, **headers: str) -> Any:
    """Return the answer to a JSON body."""
    data = None if body is None else json.dumps(body)
    return client.post(f"/api/v1/{path}", data, content_type="application/json", headers=headers)


# Each role and each scope once: a viewer's token of an admin's scope is bound by the role, an admin's to read by the
# scope.
GATE_PAIRS = [
    (Role.VIEWER, Scope.ADMIN),
    (Role.ANNOTATOR, Scope.ANNOTATE),
    (Role.RESEARCHER, Scope.RUN),
    (Role.ADMIN, Scope.READ),
]


@pytest.fixture
def ada() -> User:
    return factories.user("ada", Role.RESEARCHER)


def run_json(*words: str) -> Any:
    """Return what a command prints."""
    said = StringIO()
    call_command(*words, "--json", stdout=said)
    return json.loads(said.getvalue())


def started(status: str) -> Run:
    return factories.run(name="Run", status=status, failed=0)


def test_retry_says_why_there_is_nothing_to_retry(ada: User) -> None:
    run = ruled_run()
    work(run)

    answer = post(api_of(ada), f"runs/{run.pk}/retry")

    assert (answer.status_code, answer.json()["detail"]) == (409, "No task of this run has failed.")


def test_create_starts_what_the_page_would_and_estimate_starts_nothing(ada: User) -> None:
    suite, (system,) = answered_suite(cases=2, grading={"keywords": ["chmod"]})
    judge, rubric = level_judge()
    api, named = api_of(ada), {"suite": suite.benchmark.slug, "judges": [judge.name], "rubrics": [rubric.slug]}

    estimated = post(api, "runs/estimate", named)
    before = Run.objects.count()
    made = post(api, "runs", {**named, "systems": [system.pk], "name": "By script", "budget": 2.5})

    run = Run.objects.get()
    assert (estimated.status_code, estimated.json()["tasks"], before) == (200, 4, 0)
    assert (made.status_code, made["Location"]) == (202, f"/api/v1/runs/{run.pk}")
    assert (run.name, run.total, run.created_by, str(run.budget)) == ("By script", 4, ada, "2.500000")
    assert api.get(made["Location"]).json()["status"] == "queued"


def test_create_says_what_is_wrong_by_field(ada: User) -> None:
    suite, (system,) = answered_suite(cases=1, grading={})
    api = api_of(ada)

    nothing = post(api, "runs", {})
    named = post(api, "runs", {"suite": suite.pk, "systems": ["nobody"], "rules": True, "judges": [999]})
    kinds = post(api, "runs", {"suite": suite.pk, "fresh": "yes", "limit": True, "wrong": 1, "systems": "x"})

    assert [answer.status_code for answer in (nothing, named, kinds)] == [422] * 3
    assert nothing.json()["errors"] == {"suite": ["This field is required."]}
    errors = named.json()["errors"]
    assert errors["systems"] == [f"There is no system “nobody”. There are: {system.name}."]
    assert errors["judges"] == ["There is no judge 999."]
    assert errors["rules"] == ["No case of this suite has grading rules."]
    assert set(kinds.json()["errors"]) == {"fresh", "limit", "wrong", "systems"}
    assert not Run.objects.exists()


def test_lists_by_cursor_and_filter_and_refuses_a_forged_cursor(ada: User) -> None:
    for name, status in (("a", "paused"), ("b", "finished"), ("c", "paused")):
        factories.run(name=name, status=status)
    api = api_of(ada)

    first = api.get("/api/v1/runs?limit=2").json()
    rest = api.get(f"/api/v1/runs?limit=2&after={first['next']}").json()
    paused = api.get("/api/v1/runs?status=paused").json()

    assert [row["name"] for row in first["rows"] + rest["rows"]] == ["c", "b", "a"]
    assert ([row["name"] for row in paused["rows"]], rest["next"], paused["next"]) == (["c", "a"], None, None)
    for query in (
        "after=x",
        "after=²",
        "after=" + "9" * 30,
        "after={}",
        "limit=0",
        "limit=201",
        "status=gone",
        "page=2",
        "q=a%00",
    ):
        answer = api.get(f"/api/v1/runs?{query}")
        assert (answer.status_code in (400, 422), answer["Content-Type"]) == (True, PROBLEM), query


def test_the_headers_alone_are_had_where_the_whole_answer_is(ada: User) -> None:
    api, run = api_of(ada), factories.run()

    paths = (f"/api/v1/runs/{run.pk}", "/api/v1/runs/999999", f"/api/v1/runs/{run.pk}/pause")

    assert [api.head(path).status_code for path in paths] == [200, 404, 405]
    assert Client().head(paths[0]).status_code == 401


def test_filters_name_what_they_mean_as_entries_of_actions_do() -> None:
    root = factories.user("root", Role.ADMIN)
    ada = factories.user("ada", Role.RESEARCHER)
    for person in (root, ada):
        record(person, "label.noted", "a note")
    factories.run(name="Old", archived_at=NOON)
    factories.run(name="New")
    api = api_of(root)

    by_name, by_number = (api.get(f"/api/v1/audit-entries?person={name}").json()["rows"] for name in ("ada", ada.pk))
    unknown = api.get("/api/v1/audit-entries?person=eve")
    runs = {word: api.get(f"/api/v1/runs?archived={word}").json()["rows"] for word in ("false", "true")}
    listed = run_json("audit", "list", "--person", "ada")["rows"]

    assert [row["person"] for row in by_name] == ["ada"]
    assert by_name == by_number == listed
    assert unknown.json()["errors"] == {"person": ["There is no account “eve”. There are: ada, root."]}
    assert {word: [row["name"] for row in rows] for word, rows in runs.items()} == {"false": ["New"], "true": ["Old"]}


def test_a_command_says_which_rows_an_action_is_for() -> None:
    run = factories.run(name="Rules", kind=RunKind.GRADING)

    with pytest.raises(BadInput, match=rf"^{run}: `run export-esi` is not for this run\.$"):
        run_json("run", "export-esi", str(run.pk))
    with pytest.raises(BadInput, match=r"^There is no run “77”\. There are: Rules\.$"):
        run_json("run", "export-esi", "77")


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b'{"name": "\\ud800"}', "application/json", 400),
        (b'{"budget": NaN}', "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"name": ' + b"9" * 5000 + b"}", "application/json", 400),
        (b"[]", "application/json", 422),
        (b'{"name": "a\\u0000"}', "application/json", 422),
        (b'{"name": {"a": 1}}', "application/json", 422),
        (b'{"name": ["a"]}', "application/json", 422),
        (b"name=a", "application/x-www-form-urlencoded", 415),
        (b"--x\r\n\r\n--x--", "multipart/form-data; boundary=x", 415),
        (b"<a/>", "text/xml", 415),
        (b" " * (2**20 + 1), "application/json", 413),
    ],
)
def test_hostile_bodies_are_problems(ada: User, body: bytes, kind: str, status: int) -> None:
    run = factories.run(name="Run", status="finished")

    answer = api_of(ada).generic("POST", f"/api/v1/runs/{run.pk}/rename", body, content_type=kind)

    assert (answer.status_code, answer["Content-Type"], answer.json()["status"]) == (status, PROBLEM, status)
    assert Run.objects.get().name == "Run"


@pytest.mark.parametrize(
    ("body", "headers", "status", "says"),
    [
        (b"{}", {"Content-Encoding": "gzip"}, 415,
         "Send JSON (Content-Type: application/json) as it is, without Content-Encoding."),
        ('{"name": "Ö"}'.encode("latin-1"), {}, 400, "The body is no JSON in UTF-8."),
        (b'{"name": "a", "tags": [], "name": "b"}', {}, 400, "The body gives “name” twice."),
        (b"", {"Transfer-Encoding": "chunked"}, 400, NO_LENGTH),
    ],
)  # fmt: skip
def test_a_body_that_is_not_taken_is_refused_with_what_to_do(
    ada: User, body: bytes, headers: dict[str, str], status: int, says: str
) -> None:
    run = factories.run(name="Run", status="finished")

    answer = api_of(ada).generic(
        "POST", f"/api/v1/runs/{run.pk}/rename", body, content_type="application/json", headers=headers
    )

    assert (answer.status_code, answer.json()["detail"]) == (status, says)
    assert Run.objects.get().name == "Run"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs?status=queued&status=finished", "status"),
        ("runs?limit=1&limit=2", "limit"),
        ("reports/spend?table=day&table=run", "table"),
        ("reports/spend?from=2026-01-01&from=2026-02-01", "from"),
    ],
)
def test_a_parameter_that_takes_one_value_is_refused_twice(ada: User, path: str, name: str) -> None:
    answer = api_of(ada).get(f"/api/v1/{path}")

    assert (answer.status_code, answer.json()["errors"]) == (422, {name: ["It takes one value."]})


PART = b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
LABELS = PART % (b"file", b'; filename="a.csv"', b"item,rater,label\n1,ada,yes\n")


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (LABELS + b"--x--", "multipart/form-data", 400),
        (LABELS + b"--x--", "multipart/form-data; boundary=" + "y" * 10_000, 400),
        (LABELS + b"--x--", "multipart/form-data; boundary=y", 422),
        (b"--x\r\n" * 10, "multipart/form-data; boundary=x", 422),
        (PART % (b"file", b"", b"a text where a file is due") + b"--x--", "multipart/form-data; boundary=x", 422),
        (LABELS.replace(b"file", b"name", 1) + b"--x--", "multipart/form-data; boundary=x", 422),
        (LABELS + PART % (b"other", b"", b"1") + b"--x--", "multipart/form-data; boundary=x", 422),
        (LABELS + PART % (b"is_blind", b"", b"perhaps") + b"--x--", "multipart/form-data; boundary=x", 422),
        (
            LABELS + PART % (b"name", b"", b"a") + PART % (b"name", b"", b"b") + b"--x--",
            "multipart/form-data; boundary=x",
            422,
        ),
        (LABELS + PART % (b"name", b"", b"a\0b") + b"--x--", "multipart/form-data; boundary=x", 400),
        (LABELS + PART % (b"about", b"", b"9" * 40) + b"--x--", "multipart/form-data; boundary=x", 422),
        (PART % (b"x", b"", b"1") * 2_000 + b"--x--", "multipart/form-data; boundary=x", 400),
        (b'{"file": "a.csv"}', "application/json", 422),
    ],
)
def test_hostile_forms_with_files_are_problems(ada: User, body: bytes, kind: str, status: int) -> None:
    answer = api_of(ada).generic("POST", "/api/v1/label-tables/check", body, content_type=kind)

    assert (answer.status_code, answer["Content-Type"]) == (status, PROBLEM), answer.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/", 404),
        ("GET", "/api/v1/", 404),
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/api/v1/runs/x", 404),
        ("GET", "/api/v1/runs/999", 404),
        ("GET", "/api/v1/runs/" + "9" * 30, 404),
        ("POST", "/api/v1/runs/999/pause", 404),
        ("DELETE", "/api/v1/runs", 405),
        ("GET", "/api/v1/runs/1/pause", 405),
        ("GET", "/api/v1/\x00", 400),
    ],
)
def test_what_is_not_there_is_a_problem(ada: User, method: str, path: str, status: int) -> None:
    answer = api_of(ada).generic(method, path)

    assert (answer.status_code, answer["Content-Type"], answer["Cache-Control"]) == (
        status,
        PROBLEM,
        "no-store, private",
    )


def test_an_address_with_a_name_says_that_rows_stand_there_by_number(ada: User) -> None:
    answer = api_of(ada).get("/api/v1/runs/my-run")

    assert answer.status_code == 404
    assert "rows stand in addresses by the number that their list shows" in answer.json()["detail"]


@pytest.mark.parametrize(("role", "seen", "done"), [("viewer", 200, 403), ("annotator", 403, 403), ("admin", 200, 200)])
def test_each_role_may_do_what_its_pages_allow(role: str, seen: int, done: int) -> None:
    run, api = started("running"), api_of(factories.user(role=Role(role)))

    assert (api.get("/api/v1/runs").status_code, api.get(f"/api/v1/runs/{run.pk}").status_code) == (seen, seen)
    assert post(api, f"runs/{run.pk}/pause").status_code == done
    assert post(api, "runs/estimate", {}).status_code == (403 if done == 403 else 422)


def test_only_a_valid_token_or_a_session_with_its_csrf_token_signs_in(ada: User) -> None:
    run, api = started("running"), api_of(ada)
    session = Client(enforce_csrf_checks=True)
    session.force_login(ada)
    path = f"runs/{run.pk}/pause"

    def refused(client: Client) -> tuple[int, str]:
        answer = post(client, path)
        return answer.status_code, answer["Content-Type"]

    assert refused(Client(enforce_csrf_checks=True)) == (401, PROBLEM)
    assert refused(Client(headers={"authorization": "Bearer evs_wrong"}, enforce_csrf_checks=True)) == (401, PROBLEM)
    assert post(Client(), path).json()["detail"].startswith("Send a valid token of the API")
    assert refused(session) == (403, PROBLEM)
    assert session.get("/api/v1/runs").status_code == 200
    ApiToken.objects.update(ends_at=NOON)
    assert refused(api) == (401, PROBLEM)
    ApiToken.objects.update(ends_at=timezone.now() + timedelta(days=1), revoked_at=NOON)
    assert refused(api) == (401, PROBLEM)
    ApiToken.objects.update(revoked_at=None)
    User.objects.update(is_active=False)
    assert refused(api) == (401, PROBLEM)
    User.objects.update(is_active=True)
    assert post(api, path).status_code == 200


@pytest.mark.parametrize(
    ("role", "scope"),
    [
        pytest.param(role, scope, marks=() if (role, scope) in GATE_PAIRS else pytest.mark.slow)
        for role in Role
        for scope in Scope
    ],
)
def test_scope_of_a_token_and_role_of_its_person_both_bind_at_every_operation(role: Role, scope: Scope) -> None:
    person = factories.user(role=role)
    token = make_token(owner=person, name="script", scopes=[scope], days=1, at=timezone.now())
    api = Client(headers={"authorization": f"Bearer {token.secret}"})
    needed = {f"report-{report.name}": (report.permission, Scope.READ) for report in REPORTS.values()}
    for noun in NOUNS.values():
        needed |= {f"{noun.name}-{verb}": (noun.view_permission, Scope.READ) for verb in noun.reading}
        for verb, action in noun.actions.items():
            needed[f"{noun.name}-{verb}"] = action.permission, scope_of(action.permission)
    answered, expected = {}, {}

    for path, operations in Client().get("/api/v1/openapi.json").json()["paths"].items():
        for method, operation in operations.items():
            name = operation["operationId"]
            answer = api.generic(method.upper(), path.replace("{key}", "0"))
            answered[name] = answer.status_code == 403
            permission, its_scope = needed[name]
            expected[name] = not person.has_perm(permission) or its_scope != scope

    assert answered == expected


def test_more_requests_than_a_token_may_make_wait_for_the_next_minute(
    ada: User, own_redis: OwnRedis, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = own_redis.url
    monkeypatch.setattr(problems, "MOST_REQUESTS", 2)
    monkeypatch.setattr("evalsite.api.problems.time.time", lambda: 6_000_045.0)
    api, other = api_of(ada), api_of(ada)

    answers = [api.get("/api/v1/runs") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert (answers[2]["Retry-After"], answers[2]["Content-Type"]) == ("15", PROBLEM)
    assert other.get("/api/v1/runs").status_code == 200  # each token for itself


def test_an_idempotency_key_answers_again_and_refuses_another_request(ada: User) -> None:
    suite, _ = answered_suite(cases=1, grading={"keywords": ["chmod"]})
    api, key = api_of(ada), {"Idempotency-Key": "one"}

    first = post(api, "runs", {"suite": suite.pk}, **key)
    again = post(api, "runs", {"suite": suite.pk}, **key)
    other = post(api, "runs", {"suite": suite.pk, "name": "x"}, **key)
    wrong = post(api, "runs", {"suite": 999}, **{"Idempotency-Key": "two"})

    assert (first.status_code, again.status_code, first.text == again.text) == (202, 202, True)
    assert first["Location"] == again["Location"]
    assert (other.status_code, wrong.status_code) == (422, 422)
    assert (Run.objects.count(), KeptAnswer.objects.count()) == (1, 1)  # what was refused may be sent again


@pytest.mark.django_db(transaction=True)
def test_four_at_once_with_one_idempotency_key_make_one(ada: User) -> None:
    suite, _ = answered_suite(cases=1, grading={"keywords": ["chmod"]})
    api = api_of(ada)

    def create(_: int) -> tuple[int, str]:
        try:
            answer = post(api, "runs", {"suite": suite.pk}, **{"Idempotency-Key": "one"})
            return answer.status_code, answer.text
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        answers = set(pool.map(create, range(4)))

    assert (len(answers), {status for status, _ in answers}, Run.objects.count()) == (1, {202}, 1)


def test_openapi_describes_every_operation_and_its_page_is_for_who_is_signed_in(ada: User) -> None:
    client = Client()
    described = client.get("/api/v1/openapi.json").json()
    nobody = client.get("/api/v1/docs")
    client.force_login(ada)

    names = {details["operationId"] for path in described["paths"].values() for details in path.values()}
    declared = {f"{noun.name}-{verb}" for noun in NOUNS.values() for verb in (*noun.actions, *noun.reading)}
    assert (described["openapi"], names) == ("3.1.0", declared | {f"report-{name}" for name in REPORTS})
    create = described["paths"]["/api/v1/runs"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert create["properties"]["judges"]["anyOf"][0]["type"] == "array"
    assert (nobody.status_code, client.get("/api/v1/docs").status_code) == (302, 200)


def test_the_page_of_tokens_shows_one_once_and_revokes_it(ada: User) -> None:
    client, other = Client(), factories.user("eve", Role.RESEARCHER)
    client.force_login(ada)
    make_token(owner=other, name="other's", scopes=[Scope.READ], days=1, at=timezone.now())

    made = client.post(reverse("token-list"), {"name": "nightly", "scopes": ["read"], "days": 30})
    listed = client.get(reverse("token-list")).text
    token = ApiToken.objects.get(owner=ada)
    foreign = client.post(reverse("token-revoke", args=[ApiToken.objects.get(owner=other).pk]))
    client.post(reverse("token-revoke", args=[token.pk]))
    refused = client.post(reverse("token-list"), {"name": "", "days": 0})

    assert (made.text.count("evs_") - listed.count("evs_"), "nightly" in listed, "other" in listed) == (1, True, False)
    assert (foreign.status_code, refused.status_code) == (404, 400)
    token.refresh_from_db()
    assert token.revoked_at is not None
    made_and_revoked = AuditEntry.objects.filter(actor=ada).order_by("pk").values_list("action", "subject")
    assert list(made_and_revoked) == [("token.made", "nightly"), ("token.revoked", "nightly")]


def test_a_finished_run_has_figures_in_its_detail(ada: User) -> None:
    run = judged_run(cases=1)
    work(run)

    facts = api_of(ada).get(f"/api/v1/runs/{run.pk}").json()

    assert (facts["status"], facts["done"], len(facts["figures"]) > 0) == ("finished", 1, True)


def test_an_answer_with_a_password_is_carried_out_once_and_kept_nowhere() -> None:
    api, key = api_of(factories.user("root", Role.ADMIN)), {"Idempotency-Key": "one"}

    made = post(api, "people", {"username": "ben"}, **key)
    again = post(api, "people", {"username": "ben"}, **key)

    assert (made.status_code, made["Cache-Control"]) == (201, "no-store, private")
    assert User.objects.get(username="ben").check_password(made.json()["password"])
    assert (again.status_code, "password" in again.json(), KeptAnswer.objects.get().body) == (409, False, "")
