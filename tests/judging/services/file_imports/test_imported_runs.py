"""Scores, verdicts and preferences of imported logs as runs that asked nobody."""

from __future__ import annotations

import pytest

from judging.judges.registry import ImportedGrader, short_criterion
from judging.models import Judge, Response, Run, RunKind, RunTask, Score, Verdict
from judging.models.runs import RunRefused, RunStatus
from judging.selectors.judges import versions_of
from judging.services.file_imports.stored_imports import (
    RunsInUse,
    delete_imported_runs,
    imported_preferences,
    imported_scores,
    imported_verdicts,
)
from judging.services.run_lifecycle import retry_failed
from judging.services.runs.run_plans import EvaluatorChoice, RunNotPossible, RunPlan, check_plan
from judging.specs.records.collected import Collected
from judging.specs.records.neutral import Choice, Giver, LogRecord, Place, PreferenceRecord, ScoreRecord, VerdictRecord
from judging.specs.types import GRADES
from tests import factories
from tests.factories import NOON
from tests.imported_logs import LOG, ReadLog

pytestmark = pytest.mark.django_db


def test_store_imported_runs_makes_a_finished_run_that_asked_nobody() -> None:
    log = ReadLog()
    for response, value in zip(log.responses, (1, 0, 1, 1, 0, 0.5), strict=True):
        log.collector.score(ScoreRecord(response, "contains", value, (0, 1), place=LOG))
    log.collector.verdict(VerdictRecord(log.responses[0], "llm-rubric", 4, (1, 5), "Good.", place=LOG))
    log.collector.verdict(VerdictRecord(log.responses[1], "llm-rubric", None, (1, 5), "No JSON.", place=LOG))

    upload, (run,) = log.store()

    assert (run.kind, run.status, run.name) == (RunKind.GRADING, RunStatus.FINISHED, "nightly, 2026-01-04 08:30")
    assert (run.total, run.done, run.failed, run.case_count, run.waiting) == (8, 7, 1, 3, 0)
    assert (run.calls_made, run.planned_at, run.created_at) == (0, NOON, NOON)
    assert not run.spent
    assert run.started_at == run.finished_at is not None
    assert run.imported_from == "promptfoo 0.123"
    assert run.options["asks_people"] is False
    assert run.options["imported"]["upload"] == upload.pk
    assert [system.name for system in run.systems.order_by("name")] == ["alpha", "beta"]
    evaluators = run.evaluators.order_by("position")
    assert [(row.kind, row.name, row.total, row.done, row.failed) for row in evaluators] == [
        ("grader", "contains", 6, 6, 0),
        ("judge", "llm-rubric", 2, 1, 1),
    ]
    assert {row.caveat for row in evaluators} == {"imported from promptfoo 0.123"}
    assert not any(row.is_baseline for row in evaluators)


def test_store_imported_runs_gives_verdicts_finished_tasks_and_scores_as_own_judges_do() -> None:
    log = ReadLog()
    log.collector.verdict(VerdictRecord(log.responses[0], "helper", 4, (1, 5), "Good.", "helpfulness", place=LOG))
    log.collector.verdict(VerdictRecord(log.responses[1], "helper", None, (1, 5), "?", "helpfulness", place=LOG))

    log.store()

    read, unread = Verdict.objects.select_related("score", "run").order_by("pk")
    assert (read.status, read.value, read.rationale, read.call_ids) == ("ok", {"score": 4.0}, "Good.", [])
    assert (read.score.value, read.score.full, read.score.share) == (4.0, 5.0, 0.8)  # as 4 of a rubric's 5
    assert (unread.status, unread.value, unread.rationale, unread.score.status) == (
        "unparsed",
        None,
        "?",
        "incomplete",
    )
    tasks = RunTask.objects.order_by("verdict__pk").values_list("status", "failure_kind")
    assert list(tasks) == [("done", ""), ("failed", "unparsed")]
    assert [(row.criterion, row.kind) for row in read.run.evaluators.all()] == [("helpfulness", "judge")]


def test_store_imported_runs_gives_no_share_where_the_scale_is_not_known_and_keeps_the_value() -> None:
    log = ReadLog()
    first, second, third = log.responses[:3]
    log.collector.score(ScoreRecord(first, "brevity", 0.25, place=LOG))
    log.collector.score(ScoreRecord(second, "match", "P", GRADES, place=LOG))
    log.collector.score(ScoreRecord(third, "points", 12, (0, 10), place=LOG))

    upload, _ = log.store()

    rows = Score.objects.order_by("pk").values_list("status", "value", "full", "share", "flags")
    assert list(rows) == [
        ("incomplete", 0.25, None, None, ["scale_unknown"]),
        ("complete", 0.5, 1.0, 0.5, []),
        ("incomplete", 12.0, None, None, ["off_scale"]),
    ]
    assert [(row["grader"], row["value"], row["scale"]) for row in imported_scores(upload)] == [
        ("brevity", 0.25, [None, None]),
        ("match", "P", ["C", "P", "I", "N"]),
        ("points", 12.0, [0, 10]),
    ]


@pytest.mark.parametrize(
    ("value", "scale", "share"),
    [
        (3, (1, 5), 0.6),
        (0.25, (0, 1), 0.25),
        (0, (-1, 1), 0.5),
        (7, (None, None), None),
        (7, (10, 1), None),
        (11, (1, 10), None),
        ("C", GRADES, 1.0),
        ("I", GRADES, 0.0),
        ("good", ("best", "good", "bad"), 0.5),
        ("?", ("best", "bad"), None),
        ("C", (None, None), None),
    ],
)
def test_share_of_an_imported_value(value: float | str, scale: tuple[object, ...], share: float | None) -> None:
    assert ImportedGrader("judge", "tool", scale).share(value) == share  # type: ignore[arg-type]


def test_imported_verdicts_reads_back_what_was_stored() -> None:
    log = ReadLog()
    long = "Is the plan complete? " * 20
    rows = [
        VerdictRecord(log.responses[0], "gpt-4 single-v1", 7, (1, 10), "Rating: [[7]]", turn=1, place=LOG),
        VerdictRecord(log.responses[0], "gpt-4 single-v1", 3, (1, 10), "Rating: [[3]]", turn=2, place=LOG),
        VerdictRecord(log.responses[1], "prometheus", 3, (1, 5), "Fine.", long, place=LOG),
        VerdictRecord(log.responses[2], "prometheus", "I", GRADES, place=LOG),
        VerdictRecord(log.responses[3], "prometheus", None, reason="Unread.", place=LOG),
    ]
    for row in rows:
        log.collector.verdict(row)

    upload, (run,) = log.store()

    expected = Collected(log.collector).document()["verdicts"]
    assert list(imported_verdicts(upload)) == expected
    assert len(expected) == 4
    turns = run.evaluators.filter(name__startswith="gpt-4").order_by("position")
    assert [(row.name, row.criterion) for row in turns] == [
        ("gpt-4 single-v1 · turn 1", "turn 1"),
        ("gpt-4 single-v1 · turn 2", "turn 2"),
    ]
    assert run.evaluators.get(failed=1).total == 2  # the one that was read has the scale of both
    assert run.evaluators.get(criterion=short_criterion(long)).name.startswith("prometheus · Is the plan")


def test_store_imported_runs_gives_a_further_value_about_one_response_an_evaluator_of_its_own() -> None:
    log = ReadLog()
    for value in (1, 0, 1):
        log.collector.score(ScoreRecord(log.responses[0], "contains", value, (0, 1), place=LOG))

    upload, (run,) = log.store()

    assert [row.name for row in run.evaluators.order_by("position")] == ["contains", "contains (2)", "contains (3)"]
    assert [(row["grader"], row["value"]) for row in imported_scores(upload)] == [
        ("contains", 1.0),
        ("contains", 0.0),
        ("contains", 1.0),
    ]


def test_store_imported_runs_stores_preferences_as_verdicts_against_a_baseline() -> None:
    log = ReadLog()
    preferences = zip(log.responses[::2], log.responses[1::2], (Choice.A, Choice.TIE, Choice.B), strict=True)
    for alpha, beta, choice in preferences:
        log.collector.preference(
            PreferenceRecord(
                alpha, beta, choice, Giver.JUDGE, "eval", 0.75, "Since.", is_flipped=choice is Choice.TIE, place=LOG
            )
        )

    upload, (run,) = log.store()

    def about(baseline: int, preference: int) -> dict[str, object]:
        pk = log.stored[log.responses[baseline]]
        return {"preference": preference, "baseline_response": pk, "shown_as": "B", "strength": 0.75}

    (evaluator,) = run.evaluators.all()
    assert (evaluator.name, evaluator.criterion, evaluator.compared_with) == (
        "eval · against alpha",
        "against alpha",
        "alpha",
    )
    verdicts = Verdict.objects.select_related("response__system", "score").order_by("pk")
    assert [(row.response.system.name, row.value, row.score.share, row.flags) for row in verdicts] == [
        ("beta", about(0, -1), 0.0, []),
        ("beta", about(2, 0), 0.5, ["position_flip"]),
        ("beta", about(4, 1), 1.0, []),
    ]
    assert list(imported_preferences(upload)) == Collected(log.collector).document()["preferences"]


def test_store_imported_runs_stores_preferences_between_attempts_of_one_system() -> None:
    log = ReadLog()
    key = log.suite.cases.order_by("pk")[0].key
    second = log.respond(key, "alpha", attempt=1)
    log.collector.preference(PreferenceRecord(log.responses[0], second, Choice.B, Giver.JUDGE, "eval", place=LOG))

    upload, (run,) = log.store()

    (shown,) = imported_preferences(upload)
    assert (shown["a"], shown["b"], shown["attempts"], shown["choice"]) == ("alpha", "alpha", [0, 1], "B")
    assert (run.total, run.case_count) == (1, 1)


def test_store_imported_runs_leaves_preferences_of_people_and_files_to_labels() -> None:
    log = ReadLog()
    first, second = log.responses[:2]
    log.collector.preference(PreferenceRecord(first, second, Choice.A, Giver.GOLD, place=LOG))
    log.collector.preference(PreferenceRecord(first, second, Choice.B, Giver.PERSON, "ada", place=LOG))

    upload, runs = log.store()

    assert (runs, list(imported_preferences(upload)), Run.objects.count()) == ([], [], 0)


def test_store_imported_runs_stores_the_same_log_once_and_one_run_a_file() -> None:
    log = ReadLog()
    log.collector.score(ScoreRecord(log.responses[0], "contains", 1, (0, 1), place=LOG))
    log.collector.score(ScoreRecord(log.responses[1], "contains", 1, (0, 1), place=Place("b/other.json", "line 1")))

    upload, runs = log.store()
    _, again = log.store()
    log.stored[log.responses[0]] = factories.response().pk  # another text took over
    _, corrected = log.store()

    assert [(run.name, run.imported_from) for run in runs] == [
        ("nightly, 2026-01-04 08:30", "promptfoo 0.123"),
        ("other.json", "other.json"),
    ]
    assert (again, len(corrected)) == ([], 1)
    assert len(list(imported_scores(upload))) == 2


def test_store_imported_runs_names_a_judge_apart_from_one_of_this_site() -> None:
    factories.judge(name="llm-rubric")
    log = ReadLog()
    log.collector.verdict(VerdictRecord(log.responses[0], "llm-rubric", 1, (0, 1), place=LOG))

    upload, (run,) = log.store()

    judge = run.evaluators.get().judge
    assert judge is not None
    assert (judge.name, judge.kind, judge.description) == (
        "llm-rubric (imported)",
        "imported",
        "Imported from promptfoo 0.123. It cannot be asked here.",
    )
    assert next(iter(imported_verdicts(upload)))["judge"] == "llm-rubric"


def test_store_imported_runs_asks_apart_what_several_judges_without_a_criterion_ask() -> None:
    log = ReadLog()
    for judge in ("Faithfulness", "Answer Relevancy"):
        log.collector.verdict(VerdictRecord(log.responses[0], judge, 0.5, (0, 1), place=LOG))

    upload, (run,) = log.store()

    assert [row.criterion for row in run.evaluators.order_by("position")] == ["Faithfulness", "Answer Relevancy"]
    assert [row.get("criterion") for row in imported_verdicts(upload)] == [None, None]


def test_a_judge_of_several_logs_of_one_tool_is_one_version() -> None:
    log, other = ReadLog(), Place("b/other.json", "line 1")
    log.collector.log(LogRecord("b/other.json", "promptfoo", "0.123"))
    for response, place in zip(log.responses, (LOG, other), strict=False):
        log.collector.verdict(VerdictRecord(response, "llm-rubric", 1, (0, 1), place=place))

    _, runs = log.store()

    evaluators = [run.evaluators.get() for run in runs]
    assert len({version.key for version in versions_of(evaluators).values()}) == 1
    assert Judge.objects.count() == 1


def test_imported_runs_and_judges_are_never_asked() -> None:
    log = ReadLog()
    log.collector.verdict(VerdictRecord(log.responses[0], "llm-rubric", None, (0, 1), place=LOG))
    _, (run,) = log.store()
    judge = Judge.objects.get(kind="imported")
    plan = RunPlan(log.suite, [EvaluatorChoice(judge)], systems=list(run.systems.all()))

    with pytest.raises(RunNotPossible, match="llm-rubric: imported, so it cannot be asked"):
        check_plan(plan)
    with pytest.raises(RunRefused, match="imported from promptfoo"):
        retry_failed(run_id=run.pk, actor=None)


def test_delete_imported_runs_takes_everything_back() -> None:
    log = ReadLog()
    log.collector.score(ScoreRecord(log.responses[0], "contains", 1, (0, 1), place=LOG))
    log.collector.verdict(VerdictRecord(log.responses[0], "llm-rubric", 1, (0, 1), place=LOG))
    upload, _ = log.store()

    deleted = delete_imported_runs(upload)

    left = [model.objects.count() for model in (Run, RunTask, Verdict, Score, Judge)]
    assert (deleted, left, Response.objects.count()) == (1, [0] * 5, 6)


def test_delete_imported_runs_refuses_while_people_are_asked_about_them() -> None:
    log = ReadLog()
    log.collector.verdict(VerdictRecord(log.responses[0], "llm-rubric", 1, (0, 1), place=LOG))
    upload, (run,) = log.store()
    factories.queue(run=run)

    with pytest.raises(RunsInUse, match="rest on this import"):
        delete_imported_runs(upload)

    assert Run.objects.count() == 1
