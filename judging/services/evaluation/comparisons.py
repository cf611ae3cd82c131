"""Compares a run's grades with results of the original program, with another run, and with its own mode of grading."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from judging.grading.aggregates import score_case
from judging.grading.marks import GradingOptions, ResponseGrade
from judging.grading.parity import (
    TOLERANCE,
    Difference,
    Graded,
    ParityReport,
    accounting_codes,
    compare_with_record,
    parity_report,
)
from judging.grading.rule_graders.programs import Program, ProgramOutcome
from judging.grading.rule_graders.rules import GradedCase, grade_response, grade_responses
from judging.grading.stored import grade_from_json
from judging.models import Case, RunEvaluator, Score
from judging.services.evaluation.evaluator_tasks import graded_case

CHUNK = 500
HANDLER_PLACES = {"customized": "detail", "keywords": "post_handler_detail", "blank_filling": "post_handler_detail"}


class UnreadableRecord(ValueError):
    """A line of recorded results cannot be read; the message says which."""


@dataclass(frozen=True, slots=True)
class StoredGrade:
    """A score of a rule grader with its response, read back."""

    case: Case
    system: str
    attempt: int
    text: str
    grade: ResponseGrade

    @property
    def place(self) -> tuple[str, str, int]:
        return self.case.key, self.system, self.attempt


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared with recorded results and what differed."""

    report: ParityReport
    attempts: int  # compared
    cases: int  # of one system each, compared by what their attempts come to
    skipped: int  # recorded results that say they are not to be compared
    missing: int  # recorded results of the run's systems that the run has no scores for


@dataclass(slots=True)
class _Records:
    """Recorded results by what they are about."""

    attempts: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)
    cases: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    skipped: int = 0


def stored_grades(evaluator: RunEvaluator) -> Iterator[StoredGrade]:
    """Yield the grades of a rule grader, prompt by prompt, system by system, attempt by attempt."""
    suite = evaluator.run.suite
    cases = {case.prompt_id: case for case in Case.objects.filter(links__suite=suite)}
    rows = (
        Score.objects.filter(evaluator=evaluator)
        .select_related("response__system")
        .order_by("response__prompt_id", "response__system__name", "response__attempt", "pk")
    )
    for row in rows.iterator(chunk_size=CHUNK):
        case, answer = cases[row.response.prompt_id], row.response
        full = graded_case(case, suite).full_score
        grade = grade_from_json(row.detail, status=row.status, score=row.value, full_score=full)
        yield StoredGrade(case, answer.system.name, answer.attempt, answer.text, grade)


def compare_with_results(evaluator: RunEvaluator, lines: Iterable[str]) -> Comparison:
    """Return where a run differs from results of the original program: JSON Lines of attempts, of cases, or of both.

    An attempt has case_id, model, attempt, score and `sub` with the parts by criterion; a case has case_id, model,
    now_score and now_std. Results of systems that are not in the run are left alone.

    Raises:
        UnreadableRecord: a line is no such result.
    """
    systems = set(evaluator.run.systems.values_list("name", flat=True))
    records = _read(lines, systems)
    compat = bool(evaluator.run.options.get("compat"))
    attempts = cases = 0
    differences: list[Difference] = []
    for (key, system), group in groupby(stored_grades(evaluator), key=lambda one: one.place[:2]):
        grades = list(group)
        for one in grades:
            record = records.attempts.pop(one.place, None)
            if record is not None:
                attempts += 1
                graded = Graded(*one.place, one.grade)
                differences += compare_with_record(graded, _comparable(record), compat=compat)
        record = records.cases.get((key, system))
        if record is not None and len(record.get("scores", grades)) == len(grades):
            del records.cases[key, system]
            cases += 1
            differences += _compare_case(evaluator, grades, record, compat=compat)
    missing = len(records.attempts) + len(records.cases)
    return Comparison(ParityReport(attempts, tuple(differences)), attempts, cases, records.skipped, missing)


def compare_runs(evaluator: RunEvaluator, other: RunEvaluator) -> ParityReport:
    """Return where the grades of one run differ from those of another, which is taken as graded in compat mode."""
    expected = {one.place: one.grade for one in stored_grades(other)}
    graded = (
        Graded(*one.place, one.grade, other=expected[one.place])
        for one in stored_grades(evaluator)
        if one.place in expected
    )
    return parity_report(graded)


def compare_with_original(evaluator: RunEvaluator) -> ParityReport:
    """Return where a run differs from what compat mode gives for the same responses.

    No program is run again: outcomes of tests and handlers are taken from the stored grades.
    """
    return parity_report(_regraded(evaluator))


def _regraded(evaluator: RunEvaluator) -> Iterator[Graded]:
    suite = evaluator.run.suite
    for _, group in groupby(stored_grades(evaluator), key=lambda one: one.case.pk):
        grades = list(group)
        case = graded_case(grades[0].case, suite)
        for one, compat in zip(grades, _in_compat_mode(case, grades), strict=True):
            yield Graded(*one.place, one.grade, other=compat)


def _in_compat_mode(case: GradedCase, grades: Sequence[StoredGrade]) -> list[ResponseGrade]:
    options = GradingOptions(compat=True)
    if "unit_test" not in case.grading and not case.handlers:
        return grade_responses(case, [one.text for one in grades], options=options)
    return [
        grade_response(
            grading=case.grading,
            handlers=case.handlers,
            lang=case.lang,
            text=one.text,
            options=options,
            full_score=case.full_score,
            runner=ReplayRunner.of(case, one.grade),
        )
        for one in grades
    ]


@dataclass(slots=True)
class ReplayRunner:
    """Answers with what came of the programs when the response was graded; runs nothing."""

    tests: Sequence[Mapping[str, Any]]
    replies: list[tuple[str, str, list[Any]]]  # source and name of a function, and what it returned

    @classmethod
    def of(cls, case: GradedCase, grade: ResponseGrade) -> ReplayRunner:
        """Return a runner that replays one stored grade."""
        tests = grade.criterion("unit_test")
        replies = []
        for name, place in HANDLER_PLACES.items():
            criterion, spec = grade.criterion(name), _handler_of(case.grading, name)
            if criterion is not None and criterion.got is not None and place in criterion.detail and spec:
                source = case.handlers.get(str(spec.get("module")), "")
                replies.append(
                    (source, str(spec.get("func")), [criterion.got, criterion.total, criterion.detail[place]])
                )
        return cls(tests.detail.get("tests", ()) if tests else (), replies)

    def run(self, program: Program) -> ProgramOutcome:
        """Return the stored outcome of a program."""
        if program.purpose == "handler":
            return self._reply(program)
        if program.test_index >= len(self.tests):
            return ProgramOutcome(None, not_run_reason="It was not run when the response was graded.")
        test = self.tests[program.test_index]
        early = bool(test.get("ended_early"))  # compat mode goes by the exit code alone
        return ProgramOutcome(early or test["passed"], test["result"], test.get("not_run_reason", ""))

    def _reply(self, program: Program) -> ProgramOutcome:
        mark = program.source.rpartition("handler-reply-")[2].partition(":")[0]
        for source, func, reply in self.replies:
            if repr(source) in program.source and f"_names[{func!r}]" in program.source:
                return ProgramOutcome(True, stdout=f"handler-reply-{mark}:{json.dumps(reply)}\n")
        return ProgramOutcome(None, not_run_reason="It was not run when the response was graded.")


def _handler_of(grading: Mapping[str, Any], criterion: str) -> Mapping[str, Any] | None:
    """Return the function that a criterion names."""
    spec = grading.get(criterion)
    if criterion == "keywords":
        rules = [rule for rule in spec or () if isinstance(rule, Mapping) and "post_handler" in rule]
        spec = {"post_handler": rules[-1]["post_handler"]} if rules else None
    if criterion != "customized":
        spec = spec.get("post_handler") if isinstance(spec, Mapping) else None
    return spec if isinstance(spec, Mapping) else None


def _compare_case(
    evaluator: RunEvaluator, grades: Sequence[StoredGrade], record: Mapping[str, Any], *, compat: bool
) -> list[Difference]:
    suite, case = evaluator.run.suite, grades[0].case
    null = suite.null_score if case.null_score is None else case.null_score
    found = score_case(
        case.key,
        [one.grade for one in grades],
        mode=suite.attempt_reduce_mode,
        full_score=grades[0].grade.full_score,
        null_score=null,
    )
    codes: dict[str, None] = {}
    for one in grades:
        codes |= dict.fromkeys(accounting_codes(one.grade, compat=compat))
    actual = {"now_score": found.score, "now_std": found.std if found.score is not None else None}
    return [
        Difference(case.key, grades[0].system, -1, "", what, record[what], value, tuple(codes))
        for what, value in actual.items()
        if what in record and (value is None or abs(value - record[what]) > TOLERANCE)
    ]


def _comparable(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recorded attempt without what only describes how its programs ended."""
    sub = {
        name: {key: value for key, value in part.items() if key != "tests"}
        for name, part in record.get("sub", {}).items()
    }
    return {"sub": sub, **{name: record[name] for name in ("got", "total", "score") if name in record}}


def _read(lines: Iterable[str], systems: set[str]) -> _Records:
    records = _Records()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row, place = _row(line, number)
        if place[1] not in systems:
            continue
        if "note" in row:
            records.skipped += 1
        elif "now_score" in row:
            records.cases[place] = row
        else:
            records.attempts[*place, int(row["attempt"])] = row
    return records


def _row(line: str, number: int) -> tuple[dict[str, Any], tuple[str, str]]:
    try:
        row = json.loads(line)
        place = (str(row["case_id"]), str(row["model"]))
        known = "now_score" in row or (isinstance(row["attempt"], int) and isinstance(row.get("sub", {}), dict))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableRecord(f"Line {number} is no recorded result: {error}") from error
    if not known:
        raise UnreadableRecord(f"Line {number} is no recorded result.")
    return row, place
