"""Parity with the original program over the shared data: attempts, programs, aggregates and edge cases."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from judging.grading.blanks import align
from judging.grading.grades import GradingOptions
from judging.grading.reports import CaseAttempts, metric_points, reduce_scores, suite_report
from judging.grading.rules import GradedCase, grade_responses
from judging.grading.unit_tests import canonical_language, extract_code
from tests.parity.grade_differences import Graded, parity_report, recorded_form
from tests.parity.recorded_data import Attempt, attempts, read_jsonl, recorded_report, regrade, sha256

pytestmark = pytest.mark.shared_data


def near(value: float) -> Any:
    """Return what compares equal to `value` but for rounding; untyped, so it fits into a dataclass."""
    return pytest.approx(value, abs=1e-12)


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "grading"


@pytest.fixture(scope="module")
def recorded(folder: Path) -> list[Attempt]:
    return attempts(folder)


@pytest.mark.parametrize("compat", [True, False])
def test_every_recorded_attempt_is_reproduced(recorded: list[Attempt], compat: bool) -> None:
    report = recorded_report(recorded, compat=compat)

    assert len(recorded) > 2500
    assert (report.compared, report.differences) == (len(recorded), ())


def test_responses_are_the_recorded_ones(recorded: list[Attempt]) -> None:
    assert [row["case_id"] for row, _, text in recorded if sha256(text) != row["response_sha256"]] == []


def test_assembled_programs_are_the_recorded_ones(recorded: list[Attempt]) -> None:
    # The older original records the program without the test text, which is not shipped; nor are prefix files, so
    # cases with one are left out.
    wrong, compared = [], 0
    for one in recorded:
        row, case, _ = one
        tests = case.grading.get("unit_test", {}).get("tests", ())
        if row["suite"] != "v2.0.0_dev" or any("prefix_path" in test for test in tests):
            continue
        programs = [program for program in regrade(one, compat=True)[1].programs if program.purpose == "test"]
        for program, test in zip(programs, row["sub"].get("unit_test", {}).get("tests", ()), strict=True):
            compared += 1
            if (sha256(program.code), len(program.code)) != (test["program_sha256"], test["program_chars"]):
                wrong.append((row["case_id"], row["model"], row["attempt"]))

    assert compared > 300
    assert wrong == []


def test_every_recorded_aggregate_is_reproduced(folder: Path) -> None:
    wrong = []
    rows = read_jsonl(folder / "expected_aggregate.jsonl")
    for row in rows:
        reduced = reduce_scores(row["scores"], "avg_max_10")
        if reduced != pytest.approx((row["now_score"], row["now_std"]), abs=1e-9):
            wrong.append((row["suite"], row["case_id"], row["model"]))

    assert len(rows) > 250
    assert wrong == []


def test_the_report_agrees_with_the_recorded_case_scores(folder: Path) -> None:
    # Overall row: groups of ten, best each, so its mean is the sum of the cases' recorded now_score.
    by_system: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in read_jsonl(folder / "expected_aggregate.jsonl"):
        by_system.setdefault((row["suite"], row["model"]), []).append(row)

    for rows in by_system.values():
        report = suite_report([_case_attempts(row) for row in rows])

        assert report.rows[0].mean == pytest.approx(sum(row["now_score"] for row in rows), abs=1e-9)
        assert report.rows[0].full_score == len(rows)
        for dimension in ("language", "type"):
            parts = [row.mean for row in report.rows if row.dimension == dimension]
            assert sum(parts) == pytest.approx(report.rows[0].mean, abs=1e-9)


def _case_attempts(row: dict[str, Any]) -> CaseAttempts:
    names = [(row["real_metric_type"] or "custom") if name == "customized" else name for name in row["criteria"]]
    points = [{name: (got, total) for name, (got, total) in zip(names, sub, strict=True)} for sub in row["sub"]]
    return CaseAttempts(
        row["case_id"], row["lang"], row["type"], points, row["full_score"], row["max_score"], row["min_score"]
    )


def test_metric_points_are_the_recorded_sub_scores(recorded: list[Attempt]) -> None:
    for one in recorded[::7]:
        row, case, _ = one
        real = case.grading.get("customized", {}).get("real_metric_type", "custom")
        expected = {
            real if name == "customized" else name: (near(sub["score"]), sub["total"])
            for name, sub in row["sub"].items()
        }

        assert metric_points(asdict(criterion) for criterion in regrade(one, compat=True)[0].criteria) == expected


def edge_rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    rows = [row for row in read_jsonl(folder / "edge_cases.jsonl") if row["kind"] == kind]
    assert rows
    return rows


def edge_outcome(row: dict[str, Any]) -> dict[str, Any]:
    """Return what our compat grade makes of an edge case, in the words of its record."""
    case = GradedCase(row["grading"], row["lang"], row["full_score"])
    graded = grade_responses(case, [row["response"]], options=GradingOptions(compat=True))[0]
    if graded.fault:
        return {"error": graded.fault.kind}
    detail: dict[str, Any] = {key: row["grading"][key] for key in ("max_score", "min_score") if key in row["grading"]}
    for criterion in graded.criteria:
        form = recorded_form(criterion)
        detail |= {f"{criterion.name}_score": form["score"], f"{criterion.name}_totscore": form["total"]}
        detail |= (
            {"keywords": form["status"]}
            if criterion.name == "keywords"
            else {f"{criterion.name}_detail": form["detail"]}
        )
    return {"score": graded.score, "detail": detail}


def test_every_edge_case_is_graded_as_recorded(folder: Path) -> None:
    wrong = {}
    for row in edge_rows(folder, "grade"):
        outcome = edge_outcome(row)
        expected = {key: row[key] for key in ("error", "score", "detail") if key in row}
        if outcome != expected:
            wrong[row["name"]] = (outcome, expected)

    assert wrong == {}


def test_every_edge_case_of_extraction_is_cut_as_recorded(folder: Path) -> None:
    wrong = {}
    for row in edge_rows(folder, "extract"):
        # the recorder called with an empty prefix, which puts a newline before the response
        code = extract_code("\n" + row["response"], canonical_language(row["lang"]), only_longest=row["only_longest"])
        if code != row["code"]:
            wrong[row["name"]] = (code, row["code"])

    assert wrong == {}


def test_every_edge_case_of_reduction_is_reduced_as_recorded(folder: Path) -> None:
    for row in edge_rows(folder, "reduce"):
        reduced = reduce_scores(row["scores"], row["mode"])

        assert reduced == pytest.approx((row["now_score"], row["now_std"]), abs=1e-9)


def test_every_edge_case_of_alignment_is_aligned_as_recorded(folder: Path) -> None:
    for row in edge_rows(folder, "lcs"):
        alignment = align(row["template"], row["response"])

        assert (alignment.length, list(alignment.positions)) == (row["length"], row["pos"])


def test_default_and_compat_grades_of_edge_cases_differ_only_by_the_spec(folder: Path) -> None:
    graded = []
    for row in edge_rows(folder, "grade"):
        case = GradedCase(row["grading"], row["lang"], row["full_score"])
        default, compat = (
            grade_responses(case, [row["response"]], options=GradingOptions(compat=compat))[0]
            for compat in (False, True)
        )
        graded.append(Graded(row["name"], "", 0, default, other=compat))

    report = parity_report(graded)

    assert report.unexplained == ()
    assert set(report.by_code()) == {"13.07", "13.10", "13.12", "13.16", "13.19", "not-run"}
