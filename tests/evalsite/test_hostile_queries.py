"""No address answers 500, whatever stands behind its question mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import get_resolver, reverse

from debate.models import Experiment, ExperimentKind
from evalsite.accounts.roles import Role
from evalsite.review.models import LabelTable
from evalsite.review.questions.scales import JUDGEMENT, labels_to_json
from judging.models import EvaluatorKind, Upload
from judging.models.runs import RunStatus
from tests import factories
from tests.evalsite.test_access import _addresses
from tests.factories import NOON

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).parents[2]
# A whole number to `isdigit` that `int` refuses; beyond any column; read by `Decimal` alone; a NUL; a key of JSON.
HOSTILE = ["²", "9" * 30, "1e20", "a\x00b", "-5=x"]
SHARES = [  # each value at each address in `make test-slow`; in the gate each address has one of them, each value some
    pytest.param(None, id="shared"),
    *(pytest.param(value, id=str(number), marks=pytest.mark.slow) for number, value in enumerate(HOSTILE)),
]
READS = re.compile(r"""GET(?:\.get(?:list)?\(|\[)\s*["'](\w+)["']""")


def parameters() -> list[str]:
    """Return every query parameter that a view reads by name, those of filter forms, and those of lists."""
    sources = [path for part in ("judging", "debate", "evalsite") for path in (ROOT / part).rglob("*.py")]
    found = {name for path in sources for name in READS.findall(path.read_text(encoding="utf-8"))}
    return sorted(
        found
        | {
            "q",
            "page",
            "size",
            "sort",
            "order",
            "status",
            "scenario",
            "criterion",
            "system",
            "a",
            "b",
            "answer",
            "detail",
        }
    )


def make_objects() -> None:
    """Store one object of each kind that an address can name, its key 1 and its slug "one"."""
    owner = factories.benchmark(pk=1, slug="one")
    case = factories.case(pk=1, prompt=factories.prompt(pk=1, benchmark=owner))
    suite = factories.suite(pk=1, cases=[case])
    rubric = factories.rubric(pk=1, trees={"": {"key": "root", "kind": "group", "text": "Be right."}})
    judge = factories.judge(pk=1, endpoint=factories.endpoint(pk=1))
    run = factories.run(pk=1, suite=suite, status=RunStatus.FINISHED, planned_at=NOON, finished_at=NOON)
    options = {"judge_kind": "generic", "judge_options": {}}
    evaluator = factories.evaluator(
        pk=1, run=run, kind=EvaluatorKind.JUDGE, judge=judge, rubric=rubric, options=options
    )
    systems = [factories.system(), factories.system()]
    first, second = (factories.response(prompt=case.prompt, system=system) for system in systems)
    run.systems.set(systems)
    task = factories.task(evaluator=evaluator, response=first, status="done")
    verdict = factories.verdict(pk=1, task=task, share=0.5)
    queue = factories.queue(pk=1, slug="one", run=run, labels=labels_to_json(JUDGEMENT))
    factories.review_item(pk=1, queue=queue, verdict=verdict)
    experiment = Experiment.objects.create(pk=1, kind=ExperimentKind.ROBUSTNESS, name="One", created_at=NOON)
    held = factories.debate_set(pk=1, experiment=experiment, system_a=systems[0], system_b=systems[1])
    debate = factories.debate(pk=1, debate_set=held, case=case, response_a=first, response_b=second)
    for agent_number in (1, 2):
        factories.statement(debate=debate, agent_number=agent_number)
    Upload.objects.create(pk=1, kind="suite", file_name="one.yaml", byte_count=1, status="checked", created_at=NOON)
    LabelTable.objects.create(
        slug="one", name="One", labels=queue.labels, source_file="one.csv", item_count=0, label_count=0, created_at=NOON
    )


def addresses() -> list[str]:
    """Return each address of the site, its objects being those that `make_objects` stores."""
    fill = {"slug:slug": "one", "str:format": "csv", "slug:format_name": "csv"}
    paths = {path for _, path in _addresses(get_resolver().url_patterns)}
    return sorted("/" + re.sub(r"<([^>]+)>", lambda match: fill.get(match[1], "1"), path) for path in paths)


def places() -> Iterator[tuple[str, str]]:
    """Yield each address with one of the hostile values, in turn."""
    for number, address in enumerate(addresses()):
        yield address, HOSTILE[number % len(HOSTILE)]


@pytest.mark.parametrize("value", SHARES)
def test_no_address_answers_500_to_a_hostile_query(value: str | None) -> None:
    make_objects()
    client = Client(raise_request_exception=False)
    client.force_login(factories.user(role=Role.ADMIN))
    queries = {one: urlencode(dict.fromkeys(parameters(), one)) for one in HOSTILE}

    found = {address: client.get(f"{address}?{queries[value or one]}").status_code for address, one in places()}

    assert {address: status for address, status in found.items() if status == 500} == {}


@pytest.mark.parametrize("value", SHARES)
def test_no_form_answers_500_to_hostile_fields(value: str | None) -> None:
    make_objects()
    client = Client(raise_request_exception=False)
    client.force_login(factories.user(role=Role.ADMIN))
    names = (*parameters(), "budget", "label", "note", "token", "options", "text", "name")
    read = [place for place in places() if place[0] not in ("/logout/", "/demo/")]  # these read no field

    found = {address: client.post(address, dict.fromkeys(names, value or one)).status_code for address, one in read}

    assert {address: status for address, status in found.items() if status == 500} == {}


def test_sign_in_refuses_a_name_that_no_table_holds() -> None:
    answer = Client().post(reverse("login"), {"username": "a" * 300, "password": "wrong"})

    assert (answer.status_code, "A user name has at most 150 characters." in answer.content.decode()) == (200, True)


def test_resume_refuses_a_budget_that_the_column_does_not_hold() -> None:
    run = factories.run(status=RunStatus.PAUSED, budget=1)
    client = Client()
    client.force_login(factories.user(role=Role.RESEARCHER))

    page = client.post(reverse("judging:run-resume", args=[run.pk]), {"budget": "1e20"}, follow=True).content.decode()

    run.refresh_from_db()
    assert ("no more than 14 digits in total." in page, run.status, run.budget) == (True, "paused", Decimal(1))
