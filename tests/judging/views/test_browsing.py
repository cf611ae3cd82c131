"""Browsing pages: a fixed number of queries, what they show, who may see them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from judging.models import Benchmark, Suite
from judging.services.file_imports.suites import store_suite
from judging.specs.records.neutral import CaseRecord, ResponseRecord, SuiteSpec
from judging.specs.rubrics.outlines import outline_of_tree
from judging.specs.types import NodeSpec, RubricItemSpec, RubricSpec, ScaleSpec
from tests import factories
from tests.content import store_responses, store_rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(client: Client) -> Client:
    client.force_login(factories.user("rea", role=Role.RESEARCHER))
    client.get(reverse("judging:benchmark-list"))  # permissions and session are warm
    return client


def filled(count: int, name: str = "Capitals") -> Suite:
    """Return a suite of that many cases, each answered by that many systems and covered by one rubric.

    A last case, z, is answered by nobody.
    """
    cases = tuple(
        CaseRecord(f"c{n}", f"Question {n} <b>bold</b>?", grading={"keywords": ["Paris"]}, scenario="west")
        for n in range(count)
    )
    suite, _ = store_suite(
        spec=SuiteSpec(name, "", (*cases, CaseRecord("z", "Last?"))),
        benchmark_slug=name.lower(),
        actor=None,
        at=factories.NOON,
    )
    answers = [
        ResponseRecord(f"{name}-{n}", f"Paris {n}, <script>alert(1)</script>", case_key=case.key)
        for case in cases
        for n in range(count)
    ]
    store_responses(specs=answers, suite=suite, actor=None, at=factories.NOON)
    root = NodeSpec("root", "group", children=(NodeSpec("a", "check", text="Says so.", scale=ScaleSpec("boolean")),))
    items = tuple(RubricItemSpec(case.key, root) for case in cases)
    spec = RubricSpec(f"{name} rubric", "nested", "item", items)
    store_rubric(spec=spec, benchmark=suite.benchmark, source_name="r.json", actor=None, at=factories.NOON)
    for _ in range(count):
        run = factories.run(suite=suite)
        for response in suite.benchmark.prompts.get(key="c0").responses.all():
            factories.score(evaluator=factories.evaluator(run=run), response=response)
    return suite


def case_url(suite: Suite) -> str:
    return suite.cases.get(key="c0").get_absolute_url()


def response_url(suite: Suite) -> str:
    return suite.cases.get(key="c0").prompt.responses.order_by("pk")[0].get_absolute_url()


def system_url(suite: Suite) -> str:
    return suite.cases.get(key="c0").prompt.responses.order_by("pk")[0].system.get_absolute_url()


def tab(name: str) -> Callable[[Suite], str]:
    return lambda suite: f"{suite.benchmark.get_absolute_url()}?tab={name}"


PAGES: dict[str, tuple[Callable[[Suite], str], int]] = {
    "benchmarks": (lambda suite: reverse("judging:benchmark-list"), 2),
    "cases": (tab("cases"), 5),
    "systems": (tab("systems"), 4),
    "rubrics": (tab("rubrics"), 4),
    "runs": (tab("runs"), 4),
    "versions": (tab("versions"), 4),
    "suite": (lambda suite: suite.get_absolute_url(), 4),
    "case": (case_url, 9),
    "response": (response_url, 7),
    "system": (system_url, 5),
    "rubrics of all": (lambda suite: reverse("judging:rubric-list"), 2),
    "rubric": (lambda suite: suite.benchmark.rubrics.get().get_absolute_url(), 5),
}
SHELL = 4  # session, person with permissions, role, what waits for review


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("screen", PAGES)
def test_pages_take_a_fixed_number_of_queries(
    reader: Client, django_assert_num_queries: Any, screen: str, count: int
) -> None:
    suite = filled(count)
    url_of, queries = PAGES[screen]
    url = url_of(suite)

    with django_assert_num_queries(SHELL + queries):
        answer = reader.get(url)

    assert answer.status_code == 200


@pytest.mark.parametrize("screen", PAGES)
def test_pages_are_not_for_annotators(client: Client, screen: str) -> None:
    suite = filled(1)
    client.force_login(factories.user(role=Role.ANNOTATOR))

    assert client.get(PAGES[screen][0](suite)).status_code == 403


@pytest.mark.parametrize("screen", ["case", "response"])
def test_pages_escape_what_models_wrote(reader: Client, screen: str) -> None:
    html = reader.get(PAGES[screen][0](filled(1))).content.decode()

    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "<b>bold</b>" not in html


def test_benchmark_list_sorts_and_searches_by_allowed_fields_only(reader: Client) -> None:
    for name, cases in (("Alpha", 1), ("Beta", 3)):
        filled(cases, name)
    url = reverse("judging:benchmark-list")

    def names(query: str) -> list[str]:
        return [row.name for row in reader.get(f"{url}?{query}").context["page_obj"]]

    assert names("sort=name") == ["Alpha", "Beta"]
    assert names("sort=-cases") == ["Beta", "Alpha"]
    assert sorted(names("sort=created_by__password")) == ["Alpha", "Beta"]
    assert names("q=bet") == ["Beta"]


def test_benchmark_detail_filters_cases(reader: Client) -> None:
    suite = filled(3)

    page = reader.get(f"{suite.benchmark.get_absolute_url()}?q=Question+2&scenario=west").context["page_obj"]

    assert [link.case.key for link in page] == ["c2"]


def test_case_detail_walks_the_suite_by_arrow_keys(reader: Client) -> None:
    suite = filled(3)
    ids = dict(suite.cases.values_list("key", "pk"))

    html = reader.get(f"{reverse('judging:case-detail', args=[ids['c1']])}?suite={suite.pk}").content.decode()

    for key, other in (("ArrowLeft", "c0"), ("ArrowRight", "c2")):
        link = f'href="{reverse("judging:case-detail", args=[ids[other]])}?suite={suite.pk}"'
        assert link in html
        assert f'data-key="{key}' in html


def test_case_detail_survives_nonsense_in_its_query(reader: Client) -> None:
    page = reader.get(case_url(filled(1)) + "?suite=x&response=99999999999999999999&response=%27&page=-1")

    assert page.status_code == 200


def test_response_detail_marks_what_keyword_rules_matched(reader: Client) -> None:
    suite = filled(1)
    response = suite.cases.get(key="c0").prompt.responses.get()
    response.scores.all().delete()
    detail = {
        "criteria": [
            {
                "name": "keywords",
                "got": 1.0,
                "total": 1.0,
                "status": "complete",
                "detail": {
                    "status": ["match"],
                    "rules": [
                        {
                            "status": "match",
                            "weight": 1.0,
                            "points": 1.0,
                            "tree": {"kind": "text", "needle": "Paris", "matched": True},
                        }
                    ],
                    "spans": [{"start": 0, "end": 5, "rule": 0, "status": "match", "neg": False}],
                },
            }
        ]
    }
    factories.score(evaluator=factories.evaluator(run=factories.run(suite=suite)), response=response, detail=detail)

    html = reader.get(response.get_absolute_url()).content.decode()

    assert '<mark title="Rule 1">Paris</mark> 0, &lt;script&gt;' in html
    assert "“Paris”" in html


def test_response_detail_goes_to_the_same_systems_next_answer(reader: Client) -> None:
    suite = filled(3)
    answers = {row.prompt.key: row for row in suite.benchmark.prompts.get(key="c0").responses.all()[:1]}
    here = answers["c0"]
    following = suite.benchmark.prompts.get(key="c1").responses.get(system=here.system)

    shown = reader.get(here.get_absolute_url()).context

    assert (shown["previous_id"], shown["next_id"]) == (None, following.pk)


def test_rubric_detail_shows_what_a_version_changed(reader: Client) -> None:
    suite = filled(3)
    root = NodeSpec("root", "group", children=(NodeSpec("a", "check", text="Says it twice."),))
    items = tuple(RubricItemSpec(key, root) for key in ("c0", "c9"))
    spec = RubricSpec("Capitals rubric", "nested", "item", items)
    stored = store_rubric(spec=spec, benchmark=suite.benchmark, source_name="", actor=None, at=factories.NOON)

    diff = reader.get(f"{stored.get_absolute_url()}?tab=changes").context["diff"]

    assert [(key, before is not None, after is not None) for key, before, after in diff.shown] == [
        ("c0", True, True),
        ("c9", False, True),
        ("c1", True, False),
        ("c2", True, False),
    ]


def test_rubric_detail_links_its_cases(reader: Client) -> None:
    suite = filled(3)
    rubric = suite.benchmark.rubrics.get()
    newest = factories.case(prompt=suite.benchmark.prompts.get(key="c0"), key="c0", content_hash="b" * 64)

    page = reader.get(rubric.get_absolute_url()).content.decode()

    assert f'<a href="{newest.get_absolute_url()}">c0</a>' in page
    assert "Nested criteria for 3 cases of" in " ".join(page.split())


def test_rubric_detail_shows_its_cases_as_a_table(reader: Client) -> None:
    rubric = filled(3).benchmark.rubrics.get()

    page = reader.get(f"{rubric.get_absolute_url()}?tab=table&q=c1")

    ((item, case, cells),) = page.context["rows"]
    trees = outline_of_tree(item.tree).children
    assert (item.case_key, page.context["columns"]) == ("c1", tuple(part.label for part in trees))
    assert len(cells) == len(trees) > 0
    assert f'<a href="{case.get_absolute_url()}">c1</a>' in page.text
    assert 'name="tab" value="table"' in page.text


def test_rubric_workbook_gives_json_where_no_table_holds_it(reader: Client) -> None:
    rubric = filled(1).benchmark.rubrics.get()

    answer = reader.get(reverse("judging:rubric-workbook", args=[rubric.pk]))

    assert answer["Content-Disposition"] == 'attachment; filename="capitals-rubric-v1.json"'
    assert json.loads(answer.getvalue())["items"][0]["root"]["children"][0]["text"] == "Says so."


def test_lists_are_empty_without_rows(reader: Client, django_user_model: type[User]) -> None:
    empty = Benchmark.objects.create(slug="empty", name="Empty", created_at=factories.NOON)

    for url in (reverse("judging:rubric-list"), empty.get_absolute_url(), f"{empty.get_absolute_url()}?tab=systems"):
        assert reader.get(url).status_code == 200
