"""Dry runs and imports: what they find and store, and that the same twice changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps

from judging.models import Benchmark, Case, Prompt, Response, Rubric, RubricItem, Suite, SuiteCase, System
from judging.services.file_imports.imports import ImportRefused, check_import, store_import
from judging.services.file_imports.intake import ImportOptions
from tests import factories
from tests.judging import import_files
from tests.judging.import_files import facts

pytestmark = pytest.mark.django_db
TABLES = (Benchmark, Case, Prompt, Response, Rubric, RubricItem, Suite, SuiteCase, System)


def rows() -> dict[str, int]:
    """Return how many rows each table of this app has."""
    return {model.__name__: model._default_manager.count() for model in apps.get_app_config("judging").get_models()}


def store(*files: import_files.File, **options: Any) -> dict[str, Any]:
    return store_import(
        files=files, options=ImportOptions(**options), source=files[0][0], actor=None, at=factories.NOON
    )


def test_check_import_tells_a_suite_and_stores_nothing() -> None:
    checked = check_import(files=[import_files.suite()], options=ImportOptions())

    assert (checked.kind, checked.errors, checked.changes_nothing) == ("suite", (), False)
    assert facts(checked.parts[0]) == {"Cases": 2, "New": 2, "Changed": 0, "Reused": 0}
    assert [sample["title"] for sample in checked.parts[0]["samples"]] == ["france", "poland"]
    assert (checked.parts[0]["samples"][0]["outline"] or {})["label"] == "Grading"
    assert {model.objects.count() for model in TABLES} == {0}


def test_store_import_keeps_a_zip_with_suite_responses_rubric_and_criteria() -> None:
    result = store(
        import_files.zipped(
            import_files.suite(), import_files.responses(), import_files.workbook(), ("c.yaml", import_files.CRITERIA)
        )
    )

    assert result["changed"] is True
    assert result["suite"]["cases"] == 2
    counts = {"count": 2, "new": 2, "changed": 0, "amended": 0, "unchanged": 0}
    assert result["responses"] == counts | {"systems": ["ada"]}
    assert [rubric["name"] for rubric in result["rubrics"]] == ["c v1", "levels v1"]
    assert Response.objects.get(prompt__key="france").text == "Paris, not Lyon."


def test_store_import_of_the_same_bytes_adds_no_row() -> None:
    everything = import_files.zipped(import_files.suite(), import_files.responses(), import_files.workbook())
    store(everything)
    before = rows()

    result = store(everything)

    assert rows() == before
    assert (result["changed"], result["suite"]["created"]) == (False, False)
    assert check_import(files=[everything], options=ImportOptions()).changes_nothing


def test_store_import_of_changed_bytes_reuses_unchanged_cases() -> None:
    store(import_files.suite())
    store(import_files.responses())

    changed = import_files.SUITE.replace(b"keywords: [Warsaw]", b"keywords: [Warszawa]")
    checked = check_import(files=[import_files.suite(changed)], options=ImportOptions())
    store(import_files.suite(changed))

    assert facts(checked.parts[0]) == {"Cases": 2, "New": 0, "Changed": 1, "Reused": 1}
    assert (Suite.objects.count(), Case.objects.count(), Prompt.objects.count()) == (2, 3, 2)


def test_check_import_counts_responses_that_a_changed_prompt_makes_stale() -> None:
    store(import_files.suite())
    store(import_files.responses())

    changed = import_files.SUITE.replace(b"capital of Poland?", b"capital of Poland in 1500?")
    checked = check_import(files=[import_files.suite(changed)], options=ImportOptions())

    assert facts(checked.parts[0])["Responses to an earlier wording"] == 1


def test_check_import_plans_responses_beside_a_suite_that_is_not_stored_yet() -> None:
    store(import_files.suite())
    store(import_files.responses())
    changed = import_files.SUITE.replace(b"capital of Poland?", b"capital of Poland in 1500?")

    # france's prompt is as before and its response too; poland's prompt is new, so its response is.
    files = [import_files.suite(changed), import_files.responses()]
    checked = check_import(files=files, options=ImportOptions())

    assert facts(checked.parts[1]) == {
        "Responses": 2,
        "New": 1,
        "Replace an earlier text": 0,
        "Already stored": 1,
    }
    responses = {"count": 2, "new": 1, "changed": 0, "amended": 0, "unchanged": 1, "systems": ["ada"]}
    assert store(*files)["responses"] == responses


def test_store_import_supersedes_changed_responses_and_says_what_was_scored() -> None:
    store(import_files.suite())
    store(import_files.responses())
    old = Response.objects.get(prompt__key="france")
    run = factories.run(suite=Suite.objects.get())
    factories.score(evaluator=factories.evaluator(run=run), response=old)
    changed = import_files.responses(texts={"france": "Paris.", "poland": "Warsaw."})

    checked = check_import(files=[changed], options=ImportOptions())
    store(changed)

    assert facts(checked.parts[0]) == {
        "Responses": 2,
        "New": 0,
        "Replace an earlier text": 1,
        "Already stored": 1,
        "Scores and verdicts of replaced texts": 1,
    }
    old.refresh_from_db()
    assert old.superseded_at == factories.NOON
    assert Response.objects.get(prompt__key="france", superseded_at=None).text == "Paris."


def test_check_import_finds_the_benchmark_that_has_the_cases() -> None:
    store(import_files.suite())
    other = import_files.SUITE.replace(b"Capitals", b"Others").replace(b"france", b"spain").replace(b"poland", b"italy")
    store(("others.yaml", other))

    checked = check_import(files=[import_files.responses()], options=ImportOptions())

    assert checked.parts[0]["into"] == "Capitals v1"


def test_check_import_asks_for_the_benchmark_when_two_have_the_cases() -> None:
    store(import_files.suite())
    store(import_files.suite(), benchmark="Copies")

    checked = check_import(files=[import_files.responses()], options=ImportOptions())
    named = check_import(files=[import_files.responses()], options=ImportOptions(benchmark="copies"))

    assert [str(problem) for problem in checked.errors] == [
        "More than one benchmark has these cases: Capitals, Copies. Choose the benchmark, or import its suite first."
    ]
    assert (named.errors, named.parts[0]["into"]) == ((), "Capitals v1")


def test_check_import_refuses_responses_to_unknown_cases_by_file() -> None:
    store(import_files.suite())
    file = import_files.responses(texts={"france": "Paris", "atlantis": "?"})

    checked = check_import(files=[file], options=ImportOptions())

    assert [str(problem) for problem in checked.errors] == [
        "responses_ada.jsonl: 1 of 2 rows answer cases that Capitals does not have (first: atlantis, line 2). Import "
        "their questions in the same upload, or leave these rows out: --leave-out-bad-rows."
    ]
    with pytest.raises(ImportRefused, match="atlantis"):
        store(file)
    assert Response.objects.count() == 0


def test_check_import_warns_of_some_unknown_rubric_cases_and_refuses_when_all_are() -> None:
    store(import_files.suite())

    some = check_import(files=[import_files.workbook(("france", "atlantis"))], options=ImportOptions())
    none = check_import(
        files=[import_files.workbook(("atlantis", "thule"))], options=ImportOptions(benchmark="Capitals")
    )

    assert (some.errors, [(p.code, p.place) for p in some.problems]) == ((), [("unknown-case", "Sheet!A3")])
    assert [(p.code, p.place) for p in none.errors] == [("no-known-case", "Sheet!A2")]


def test_store_import_leaves_nothing_of_a_suite_whose_rubric_is_bad() -> None:
    before = rows()

    with pytest.raises(ImportRefused, match="none of the cases"):
        store(import_files.suite(), import_files.workbook(("atlantis",)))

    assert rows() == before


def test_store_import_gives_a_rubric_of_another_benchmark_a_name_of_its_own() -> None:
    store(import_files.suite())
    other = import_files.SUITE.replace(b"Capitals", b"Others").replace(b"france", b"spain").replace(b"poland", b"italy")
    store(("others.yaml", other))

    store(import_files.workbook())
    second = store(import_files.workbook(("spain", "italy")))

    assert [rubric["name"] for rubric in second["rubrics"]] == ["levels (Others) v1"]


@pytest.mark.parametrize("is_equal", [True, False])
def test_store_import_gives_a_rubric_of_a_new_benchmark_a_name_of_its_own(is_equal: bool) -> None:
    """With a suite of its own, equal criteria stayed the other benchmark's, and others became its next version."""
    store(import_files.suite())
    criteria = b"criteria:\n  clarity:\n    '1': Bad.\n    '2': Good.\n"
    store(("crit.yaml", criteria), benchmark="Capitals")
    other = import_files.SUITE.replace(b"Capitals", b"Others").replace(b"france", b"spain").replace(b"poland", b"italy")
    coming = (("others.yaml", other), ("crit.yaml", criteria if is_equal else criteria.replace(b"Bad", b"Poor")))

    store(*coming)
    store(*coming)

    stored = Rubric.objects.order_by("pk").values_list("name", "version", "benchmark__name")
    assert list(stored) == [("crit", 1, "Capitals"), ("crit (Others)", 1, "Others")]


def test_check_import_compares_a_rubric_with_its_latest_version() -> None:
    store(import_files.suite())
    store(import_files.workbook())

    same = check_import(files=[import_files.workbook()], options=ImportOptions())
    fewer = check_import(files=[import_files.workbook(("france",))], options=ImportOptions())

    assert facts(same.parts[0]) == {"Criteria trees": 2, "New": 0, "Changed": 0, "Removed": 0, "Version": 1}
    assert facts(fewer.parts[0]) == {"Criteria trees": 1, "New": 0, "Changed": 0, "Removed": 1, "Version": 2}


def test_check_import_knows_a_rubric_under_another_name() -> None:
    store(import_files.suite())
    name, workbook = import_files.workbook()
    store((name, workbook))

    checked = check_import(files=[("renamed.xlsx", workbook)], options=ImportOptions())

    [part] = checked.parts
    assert (part["is_new"], checked.changes_nothing, facts(part)) == (False, True, {"Criteria trees": 2})
    assert part["notes"][-1].endswith("already has exactly this content. Nothing will change.")


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("what.bin", b"\x00\x01", "no-data"),
        ("broken.zip", b"PK\x03\x04 not really", "bad-archive"),
        ("suite.yaml", b"cases: [{id: a, prompt: [1]}]\nname: [", "bad-yaml"),
        ("responses.jsonl", b'{"case_id": "a", "response": "x"}', "no-benchmark"),
    ],
)
def test_check_import_refuses_what_it_cannot_use(name: str, data: bytes, code: str) -> None:
    checked = check_import(files=[(name, data)], options=ImportOptions())

    assert checked.errors
    assert code in {problem.code for problem in checked.errors}
    assert {model.objects.count() for model in TABLES} == {0}


@pytest.mark.shared_data
def test_store_import_takes_a_cut_suite_with_missing_files_once(shared_data: Path) -> None:
    files = import_files.folder(shared_data / "grading" / "v2.1")

    strict = check_import(files=files, options=ImportOptions())
    first = store(*files, allow_missing_files=True)
    before = rows()
    second = store(*files, allow_missing_files=True)

    assert {problem.code for problem in strict.errors} == {"missing-file"}
    assert (first["suite"]["cases"], first["changed"], second["changed"]) == (72, True, False)
    assert rows() == before


@pytest.mark.shared_data
def test_store_import_takes_a_suite_with_its_responses_folders(shared_data: Path) -> None:
    files = import_files.folder(shared_data / "grading" / "v2.0.0_dev")

    result = store(*files, allow_missing_files=True)

    # 44 cases, two models, the first five of their attempts.
    assert result["suite"]["cases"] == 44
    counts = {"count": 2 * 44 * 5, "new": 2 * 44 * 5, "changed": 0, "amended": 0, "unchanged": 0}
    assert result["responses"] == counts | {"systems": ["gpt-3.5-turbo", "gpt-4"]}


@pytest.mark.shared_data
def test_store_import_takes_model_answers_and_criteria_once(shared_data: Path) -> None:
    files = import_files.folder(shared_data / "debate" / "original")

    first = store(*files)
    before = rows()
    second = store(*files)

    assert (first["suite"]["cases"], first["responses"]["new"], len(first["rubrics"])) == (120, 240, 4)
    assert second["changed"] is False
    assert rows() == before


@pytest.mark.shared_data
def test_store_import_takes_the_synthetic_workbook_once(shared_data: Path) -> None:
    name = "ord_layout_synthetic.xlsx"
    workbook = (name, (shared_data / "judges" / name).read_bytes())
    parsed = check_import(files=[workbook], options=ImportOptions()).intake.rubrics[0]
    benchmark = factories.benchmark(name="Queries")
    for item in parsed.items():
        factories.prompt(benchmark=benchmark, key=item.case_key)

    first = store(workbook)
    before = rows()
    second = store(workbook)

    assert [rubric["created"] for rubric in first["rubrics"] + second["rubrics"]] == [True, False]
    assert RubricItem.objects.count() == parsed.item_count
    assert rows() == before
