"""Who may open what: every address of the site, as nobody and as every role.

An address that is not in the table fails `test_every_address_is_in_the_table`. Objects in addresses do not exist here,
so whoever passes the permission check gets 404, and whoever fails it gets 403 before anything is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from evalsite.accounts.roles import Role
from evalsite.review.models.items import address_of
from tests import factories

pytestmark = pytest.mark.django_db

NOBODY, VIEWER, ANNOTATOR, RESEARCHER, ADMIN = "nobody", "viewer", "annotator", "researcher", "admin"
WHO = (NOBODY, VIEWER, ANNOTATOR, RESEARCHER, ADMIN)

# what each role gets, in the order viewer, annotator, researcher, admin
EVERYBODY = {"get": (200, 200, 200, 200)}
EVERYBODY_OBJECT = {"get": (404, 404, 404, 404)}
READERS = {"get": (200, 403, 200, 200)}
READERS_OBJECT = {"get": (404, 403, 404, 404)}
REVIEWERS = {"get": (403, 200, 200, 200)}
REVIEWERS_OBJECT = {"get": (403, 404, 404, 404)}
REVIEWERS_ACT = {"post": (403, 404, 404, 404)}
RESEARCHERS = {"get": (403, 403, 200, 200)}
RESEARCHERS_OBJECT = {"get": (403, 403, 404, 404)}
RESEARCHERS_ACT = {"post": (403, 403, 404, 404)}
ADMINS = {"get": (403, 403, 403, 200)}
ADMINS_OBJECT = {"get": (403, 403, 403, 404)}
ADMINS_ACT = {"post": (403, 403, 403, 404)}

TABLE: dict[str, dict[str, tuple[int, int, int, int]]] = {
    "home": EVERYBODY,
    "home-running": READERS,
    "demo-load": {"post": (403, 403, 302, 302)},
    "site-health": ADMINS,
    "act": {"get": (404, 404, 404, 404), "post": (404, 404, 404, 404)},  # the permission is that of the action
    "job-list": RESEARCHERS,
    "search": EVERYBODY,
    "job-requeue": {"post": (403, 403, 403, 302)},
    "job-delete": {"post": (403, 403, 403, 302)},
    "logout": {"get": (405, 405, 405, 405)},
    "help": EVERYBODY,
    "help-topic": EVERYBODY_OBJECT,
    "password_change": EVERYBODY,
    "password_change_done": EVERYBODY,
    "accounts:person-list": ADMINS,
    "accounts:person-create": ADMINS,
    "accounts:person-update": ADMINS_OBJECT,
    "accounts:person-password": ADMINS_ACT,
    "accounts:person-test-mail": ADMINS_ACT,
    "accounts:person-export": ADMINS_ACT,
    "accounts:person-erase": ADMINS_OBJECT,
    "accounts:audit-list": ADMINS,
    "accounts:audit-export": ADMINS,
    "accounts:preferences": EVERYBODY,
    "accounts:person-reset-second-factor": ADMINS_ACT,
    "accounts:second-factor-require": ADMINS,
    "accounts:second-factor-list": EVERYBODY,
    "accounts:second-factor-app": EVERYBODY,
    "accounts:second-factor-passkey": EVERYBODY,
    "accounts:second-factor-codes": {"post": (302, 302, 302, 302)},
    "accounts:second-factor-remove": {"post": (302, 302, 302, 302)},
    "first-steps": ADMINS,
    "accounts:invitation-list": ADMINS,
    "accounts:invitation-revoke": ADMINS_ACT,
    "accounts:own-data": {"post": (200, 200, 200, 200)},
    "accounts:session-end": {"post": (302, 302, 302, 302)},
    "token-list": EVERYBODY,
    "token-revoke": {"post": (404, 404, 404, 404)},
    "trace-source-list": RESEARCHERS,
    "trace-source-store": RESEARCHERS_ACT,
    "trace-source-delete": RESEARCHERS_ACT,
    "webhook-list": ADMINS,
    "webhook-detail": ADMINS_OBJECT,
    "webhook-secret": ADMINS_ACT,
    "webhook-delete": ADMINS_ACT,
    "delivery-send": ADMINS_ACT,
    "api:openapi-view": EVERYBODY,
    "judging:benchmark-list": READERS,
    "judging:benchmark-detail": READERS_OBJECT,
    "judging:suite-detail": READERS_OBJECT,
    "judging:case-detail": READERS_OBJECT,
    "judging:case-edit": RESEARCHERS_OBJECT,
    "judging:case-edit-trial": RESEARCHERS_OBJECT,
    "judging:response-detail": READERS_OBJECT,
    "judging:system-detail": READERS_OBJECT,
    "judging:system-list": READERS,
    "judging:system-create": RESEARCHERS,
    "judging:system-retire": RESEARCHERS_ACT,
    "judging:system-restore": RESEARCHERS_ACT,
    "judging:system-delete": RESEARCHERS_ACT,
    "judging:rubric-list": READERS,
    "judging:rubric-detail": READERS_OBJECT,
    "judging:rubric-workbook": READERS_OBJECT,
    "judging:import-list": RESEARCHERS,
    "judging:import-create": RESEARCHERS,
    "judging:import-detail": RESEARCHERS_OBJECT,
    "judging:import-recheck": RESEARCHERS_ACT,
    "judging:import-confirm": RESEARCHERS_ACT,
    "judging:import-cancel": RESEARCHERS_ACT,
    "judging:import-template": RESEARCHERS_OBJECT,
    "judging:import-discard": RESEARCHERS_ACT,
    "judging:import-undo": RESEARCHERS_ACT,
    "judging:import-problems": RESEARCHERS_OBJECT,
    "judging:import-picture": RESEARCHERS_OBJECT,
    "judging:picture": EVERYBODY_OBJECT,
    "judging:response-try": RESEARCHERS_OBJECT,
    "judging:trial-detail": RESEARCHERS_OBJECT,
    "judging:trial-cancel": RESEARCHERS_ACT,
    "judging:prompt-list": READERS,
    "judging:prompt-detail": READERS_OBJECT,
    "judging:prompt-retire": RESEARCHERS_ACT,
    "judging:prompt-restore": RESEARCHERS_ACT,
    "judging:prompt-delete": RESEARCHERS_ACT,
    "judging:run-list": READERS,
    "judging:run-create": RESEARCHERS,
    "judging:run-estimate": RESEARCHERS_ACT,
    "judging:esi-create": {"get": (403, 403, 302, 302)},
    "judging:lunar-import": RESEARCHERS,
    "judging:lunar-confirm": {"post": (403, 403, 400, 400)},
    "judging:esi-files": READERS_OBJECT,
    "judging:run-detail": READERS_OBJECT,
    "judging:run-progress": READERS_OBJECT,
    "judging:run-rename": RESEARCHERS_OBJECT,
    "judging:run-pause": RESEARCHERS_ACT,
    "judging:run-archive": RESEARCHERS_ACT,
    "judging:run-restore": RESEARCHERS_ACT,
    "judging:run-resume": RESEARCHERS_ACT,
    "judging:run-cancel": RESEARCHERS_ACT,
    "judging:run-retry": RESEARCHERS_ACT,
    "judging:run-rescore": RESEARCHERS_OBJECT,
    "judging:run-rescoring": RESEARCHERS_OBJECT,
    "judging:verdict-detail": READERS_OBJECT,
    "judging:endpoint-list": RESEARCHERS,
    "judging:endpoint-create": ADMINS,
    "judging:endpoint-detail": RESEARCHERS_OBJECT,
    "judging:endpoint-update": ADMINS_OBJECT,
    "judging:endpoint-test": ADMINS_ACT,
    "judging:endpoint-forget": ADMINS_ACT,
    "judging:day-budgets": RESEARCHERS,
    "judging:day-budget-set": {"get": (403, 403, 403, 200), "post": (403, 403, 403, 302)},
    "judging:language-list": ADMINS,
    "judging:language-probe": {"post": (403, 403, 403, 302)},
    "judging:judge-list": READERS,
    "judging:judge-create": RESEARCHERS,
    "judging:judge-preview": RESEARCHERS_ACT,
    "judging:judge-detail": READERS_OBJECT,
    "judging:judge-export": READERS_OBJECT,
    "judging:judge-prompts": READERS_OBJECT,
    "judging:judge-try": RESEARCHERS_OBJECT,
    "judging:judge-update": RESEARCHERS_OBJECT,
    "judging:judge-retire": RESEARCHERS_ACT,
    "judging:judge-restore": RESEARCHERS_ACT,
    "judging:judge-delete": RESEARCHERS_ACT,
    "debate:set-list": READERS,
    "debate:set-create": RESEARCHERS,
    "debate:set-estimate": RESEARCHERS,
    "debate:record-create": RESEARCHERS,
    "debate:set-archive": RESEARCHERS_OBJECT,
    "debate:set-export": READERS_OBJECT,
    "debate:set-detail": READERS_OBJECT,
    "debate:set-progress": READERS_OBJECT,
    "debate:experiment-detail": READERS_OBJECT,
    "debate:label-create": RESEARCHERS_OBJECT,
    "debate:label-delete": RESEARCHERS_ACT,
    "debate:debate-detail": READERS_OBJECT,
    "debate:debate-live": READERS_OBJECT,
    "debate:statement-detail": READERS_OBJECT,
    "review:queue-list": REVIEWERS,
    "review:team-list": RESEARCHERS,
    "review:queue-give-items": RESEARCHERS_ACT,
    "review:queue-create": RESEARCHERS,
    "review:form-preview": RESEARCHERS,
    "review:my-work": REVIEWERS,
    "review:notice-list": REVIEWERS,
    "review:notice-read": {"post": (403, 302, 302, 302)},
    "review:notice-mail": {"post": (403, 302, 302, 302)},
    "review:queue-detail": REVIEWERS_OBJECT,
    "review:queue-update": RESEARCHERS_OBJECT,
    "review:queue-export": RESEARCHERS_OBJECT,
    "review:annotation-import": RESEARCHERS_OBJECT,
    "review:audit-run": RESEARCHERS_OBJECT,
    "review:audit-debates": RESEARCHERS_OBJECT,
    "review:item-next": REVIEWERS_ACT,
    "review:guidelines": {"get": (403, 404, 404, 404), "post": (403, 404, 404, 404)},
    "review:training": {"get": (403, 404, 404, 404), "post": (403, 404, 404, 404)},
    "review:adjudication-list": RESEARCHERS,
    "review:item-detail": REVIEWERS_OBJECT,
    "review:item-annotate": REVIEWERS_ACT,
    "review:item-score": REVIEWERS_ACT,
    "review:item-skip": REVIEWERS_ACT,
    "review:item-cannot-judge": REVIEWERS_ACT,
    "review:item-flag": REVIEWERS_ACT,
    "review:item-comment": REVIEWERS_ACT,
    "review:item-draft": {"post": (403, 409, 409, 409)},
    "review:item-heartbeat": {"post": (403, 286, 286, 286)},
    "review:item-undo": REVIEWERS_ACT,
    "review:item-reveal": REVIEWERS_ACT,
    "review:item-revise": REVIEWERS_ACT,
    "review:item-adjudicate": RESEARCHERS_ACT,
    "review:item-adjudication-reveal": RESEARCHERS_ACT,
    "review:item-adjudication-revise": RESEARCHERS_ACT,
    "review:item-exclude": RESEARCHERS_ACT,
    "review:queue-exclude-items": RESEARCHERS_ACT,
    "review:queue-ask-more-items": RESEARCHERS_ACT,
    "review:queue-reopen-items": RESEARCHERS_ACT,
    "review:queue-requeue-items": RESEARCHERS_ACT,
    "review:queue-prioritise-items": RESEARCHERS_ACT,
    "review:queue-save-view": RESEARCHERS_ACT,
    "review:queue-set-detail-items": RESEARCHERS_ACT,
    "review:queue-take-back-items": RESEARCHERS_ACT,
    "review:item-reopen": RESEARCHERS_ACT,
    "review:item-ask-more": RESEARCHERS_ACT,
    "review:item-take-back": RESEARCHERS_ACT,
    "review:item-give": RESEARCHERS_OBJECT,
    "review:item-withdraw": RESEARCHERS_ACT,
    "review:queue-release": RESEARCHERS_OBJECT,
    "review:run-people": RESEARCHERS_OBJECT,
    "review:run-send": RESEARCHERS_ACT,
    "review:debates-send": RESEARCHERS_ACT,
    "review:run-take-back": RESEARCHERS_ACT,
    "reports:results-newest": READERS,
    "reports:results-detail": READERS_OBJECT,
    "reports:results-export": READERS_OBJECT,
    "reports:results-send": RESEARCHERS_OBJECT,
    "reports:case-export": READERS_OBJECT,
    "reports:leaderboard-list": READERS,
    "reports:charts-detail": READERS_OBJECT,
    "reports:charts-export": READERS_OBJECT,
    "reports:board-detail": READERS_OBJECT,
    "reports:board-export": READERS_OBJECT,
    "reports:board-pin": RESEARCHERS_ACT,
    "reports:board-unpin": RESEARCHERS_ACT,
    "reports:leaderboard-detail": READERS_OBJECT,
    "reports:leaderboard-compare": READERS_OBJECT,
    "reports:leaderboard-breakdown": READERS_OBJECT,
    "reports:leaderboard-chart": READERS_OBJECT,
    "reports:leaderboard-bundle": READERS_OBJECT,
    "reports:leaderboard-export": READERS_OBJECT,
    "reports:view-save": RESEARCHERS_ACT,
    "reports:view-delete": RESEARCHERS_ACT,
    "reports:gate-list": RESEARCHERS,
    "reports:gate-check": RESEARCHERS_ACT,
    "reports:gate-delete": RESEARCHERS_ACT,
    "reports:share-list": RESEARCHERS,
    "reports:share-revoke": RESEARCHERS_ACT,
    "reports:run-results": READERS_OBJECT,
    "reports:agreement-list": RESEARCHERS,
    "reports:agreement-data-set": RESEARCHERS_OBJECT,
    "reports:agreement-detail": RESEARCHERS_OBJECT,
    "reports:agreement-items": RESEARCHERS_OBJECT,
    "reports:agreement-confusion": RESEARCHERS_OBJECT,
    "reports:agreement-export": RESEARCHERS_OBJECT,
    "reports:labels-create": RESEARCHERS,
    "reports:labels-item": RESEARCHERS_OBJECT,
    "reports:labels-detail": RESEARCHERS_OBJECT,
    "reports:labels-items": RESEARCHERS_OBJECT,
    "reports:labels-confusion": RESEARCHERS_OBJECT,
    "reports:labels-delete": RESEARCHERS_ACT,
    "reports:labels-export": RESEARCHERS_OBJECT,
    "reports:debate-report": READERS,
    "reports:debate-export": READERS_OBJECT,
    "reports:debate-bias": {"get": (302, 403, 302, 302)},
    "reports:debate-bias-export": READERS_OBJECT,
    "reports:debate-items": READERS,
    "reports:arena": READERS,
    "reports:arena-export": READERS_OBJECT,
    "reports:robustness-list": READERS,
    "reports:robustness-detail": READERS_OBJECT,
    "reports:robustness-export": READERS_OBJECT,
    "reports:golden-list": READERS,
    "reports:golden-create": RESEARCHERS,
    "reports:golden-detail": READERS_OBJECT,
    "reports:golden-run": RESEARCHERS_OBJECT,
    "reports:golden-compare": READERS_OBJECT,
    "reports:golden-disagreements": READERS_OBJECT,
    "reports:golden-examples": READERS_OBJECT,
    "reports:golden-item": READERS_OBJECT,
    "reports:golden-example": RESEARCHERS_ACT,
    "reports:golden-rule": RESEARCHERS_ACT,
    "reports:golden-rule-delete": RESEARCHERS_ACT,
    "reports:golden-doubt": RESEARCHERS_ACT,
    "reports:golden-propose": RESEARCHERS_OBJECT,
    "reports:golden-wording": READERS_OBJECT,
    "reports:golden-wording-accept": RESEARCHERS_ACT,
    "reports:golden-open": RESEARCHERS_OBJECT,
    "reports:golden-test": READERS_OBJECT,
    "reports:golden-use": RESEARCHERS_ACT,
    "reports:golden-export": READERS_OBJECT,
    "reports:judge-list": READERS,
    "reports:judge-detail": READERS_OBJECT,
    "reports:judge-export": READERS_OBJECT,
    "reports:spend-report": READERS,
    "reports:spend-export": READERS_OBJECT,
    "reports:pace-export": RESEARCHERS_OBJECT,
    "reports:adjudications-export": RESEARCHERS_OBJECT,
    "reports:judge-bias": {"get": (302, 403, 302, 302)},
    "reports:bias-export": READERS_OBJECT,
    "reports:judge-trust": {"get": (302, 403, 302, 302)},
    "reports:judge-threshold": RESEARCHERS_OBJECT,
    "reports:threshold-remove": RESEARCHERS_ACT,
    "reports:certificate-issue": RESEARCHERS_ACT,
    "reports:anchors-make": RESEARCHERS_ACT,
    "reports:anchors-ask": RESEARCHERS_ACT,
    "reports:trust-chart": READERS_OBJECT,
    "reports:trust-export": READERS_OBJECT,
}
OPEN = {
    "api:openapi-json": 200,
    "api:api-root": 404,
    "login": 302,  # nobody has an account, so it leads to the set-up of the site
    "site-setup": 200,
    "invitation-accept": 404,
    "password-forgotten": 200,
    "password_reset_confirm": 200,
    "passkey-sign-in": 200,
    "second-factor": 302,  # nobody has shown a password
    "healthz": (200, 503),
    "livez": 200,
    "metrics": 404,  # no token is set
    "readyz": 200,
    "reports:gate-badge": 404,  # no gate has this badge
    "reports:shared-board": 404,  # no link has this token
    "reports:shared-results": 404,
    "trace-receiver": 405,  # a token sends, by POST: tests/evalsite/api/test_traces.py
}  # for nobody, by GET

EXAMPLES = {
    "format": "csv",
    "format_name": "csv",
    "table": "rows",
    "token": "none",
    "url": "nowhere",
    "app_label": "auth",
}


def _addresses(patterns: list[URLPattern | URLResolver], names: str = "", path: str = "") -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        here = path + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            space = f"{names}{pattern.namespace}:" if pattern.namespace else names
            yield from _addresses(pattern.url_patterns, space, here)
        else:
            yield f"{names}{pattern.name}", here


def _example(path: str) -> str:
    """Return an address with made-up objects in it: number 999999, or a name that nothing has."""

    def fill(match: re.Match[str]) -> str:
        kind, _, name = match[1].rpartition(":")
        if kind == "item":
            return address_of(999999)
        return EXAMPLES.get(name, "999999" if kind in {"int", ""} else "no-such-thing")

    plain = re.sub(r"\(\?P<\w+>[^)]*\)", "x", path).replace("^", "").replace("$", "").replace("/?", "/")
    return "/" + re.sub(r"<([^>]+)>", fill, plain)


ALL = list(_addresses(get_resolver().url_patterns))
OWN = {name: _example(path) for name, path in ALL}
# Of declared nouns and reports. Without a person: 401, never a way to a page; what each role may do: tests/evalsite/api
API = [name for name in OWN if name.startswith("api:") and name not in {*TABLE, *OPEN}]


def _as(who: str) -> Client:
    client = Client(raise_request_exception=False)
    if who != NOBODY:
        client.force_login(factories.user(role=Role(who)))
    return client


def _status(client: Client, method: str, address: str) -> int:
    return client.get(address).status_code if method == "get" else client.post(address).status_code


def test_every_address_is_in_the_table() -> None:
    assert sorted({*TABLE, *OPEN, *API}) == sorted(OWN)


def test_nobody_is_sent_to_sign_in() -> None:
    closed = [(name, method) for name in OWN if name not in OPEN and name not in API for method in ("GET", "POST")]
    answers = {(name, method): Client().generic(method, OWN[name]) for name, method in closed}
    found = {key: (answer.status_code, answer.headers.get("Location", "")) for key, answer in answers.items()}

    sign_in = f"/{settings.LOGIN_URL}/?next="
    assert {key: (code, to) for key, (code, to) in found.items() if code != 302 or not to.startswith(sign_in)} == {}


def test_the_api_tells_nobody_to_sign_in_with_a_token() -> None:
    client = Client(enforce_csrf_checks=True)
    refused = {
        name: {
            (answer.status_code, answer.headers.get("WWW-Authenticate"))
            for answer in (client.generic(method, OWN[name]) for method in ("GET", "POST", "PATCH", "DELETE"))
        }
        - {(405, None)}
        for name in API
    }

    assert refused == {key: {(401, "Bearer")} for key in API}


def test_open_addresses_answer_nobody() -> None:
    expected = {name: codes if isinstance(codes, tuple) else (codes,) for name, codes in OPEN.items()}
    found = {name: Client().get(OWN[name]).status_code for name in OPEN}

    assert {name: code for name, code in found.items() if code not in expected[name]} == {}


@pytest.mark.parametrize("who", WHO[1:])
def test_each_role_gets_what_the_table_says(who: str) -> None:
    client, place = _as(who), WHO.index(who) - 1
    expected = {(name, method): codes[place] for name, row in TABLE.items() for method, codes in row.items()}

    found = {(name, method): _status(client, method, OWN[name]) for name, method in expected if name in OWN}

    wrong = {key: (found.get(key), code) for key, code in expected.items() if found.get(key) != code}
    assert wrong == {}  # (found, expected)


@pytest.mark.parametrize("who", WHO[1:])
def test_acts_are_never_done_by_get(who: str) -> None:
    client = _as(who)

    found = {name: _status(client, "get", OWN[name]) for name, row in TABLE.items() if "get" not in row}

    assert {name: code for name, code in found.items() if code not in (403, 404, 405)} == {}


@pytest.mark.parametrize("address", ["/admin/", "/rq/", "/rq/workers/0/"])
def test_there_are_no_pages_of_other_projects(address: str) -> None:
    assert _as(ADMIN).get(address).status_code == 404


def test_a_refused_page_keeps_the_navigation() -> None:
    answer = _as(RESEARCHER).get("/people/", headers={"X-Request-ID": "request-403"})

    said = ('class="rail"', "You may not open this page", "<code>request-403</code>")
    assert (answer.status_code, [text in answer.text for text in said]) == (403, [True, True, True])
