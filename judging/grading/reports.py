"""The suite's table: overall, by language, by question type and by metric, with mean and deviation over groups of
attempts.

As in InfiBench's table, metric rows are not capped by max_score, so they need not sum to the overall row, which is
said beside the table. In compat mode the other rows add shares of cases, whatever their full scores, as InfiBench does.

Two different "±" exist and must not be mixed up: a case's standard deviation over groups of attempts
(`reduce_scores`), and that of a suite's totals over groups (the rows of `suite_report`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from evalsite.base.types import JsonObject
from judging.grading.grades import Note, ResponseGrade
from judging.grading.rubric_tree import ScoreStatus

_PLAIN_MODES: dict[str, Callable[[Sequence[float]], float]] = {
    "avg": lambda scores: float(np.mean(scores)),
    "max": max,
    "min": min,
}
Points = Mapping[str, tuple[float, float]]  # (got, total) by metric
_AVG_MAX = re.compile(r"avg_max_([1-9][0-9]{0,8})")


class UnknownReduceMode(ValueError):
    """The attempt_reduce_mode is none of avg, max, min, avg_max_<k>."""


@dataclass(frozen=True, slots=True)
class CaseScore:
    """A case in a suite's sums. `score` is None where it is left out of them, for the reason in `notes`."""

    key: str
    score: float | None
    std: float
    full_score: float
    status: ScoreStatus
    attempts: int
    notes: tuple[Note, ...] = ()


def check_reduce_mode(mode: str) -> None:
    """Accept avg, max, min and avg_max_<k>.

    Raises:
        UnknownReduceMode: any other.
    """
    if mode not in _PLAIN_MODES and not _AVG_MAX.fullmatch(mode):
        raise UnknownReduceMode(f"attempt_reduce_mode {mode!r} is unknown; use avg, max, min or avg_max_<k>.")


def reduce_scores(scores: Sequence[float], mode: str) -> tuple[float, float]:
    """Return one score for one or more attempts, in their order, and its deviation.

    avg_max_<k>: the best of each consecutive group of k (the last may be short), averaged, and the sample deviation
    (n - 1) of the group bests; with one group, or in another mode, the deviation is 0.

    Raises:
        UnknownReduceMode: as `check_reduce_mode`.
        ValueError: there are no scores.
    """
    check_reduce_mode(mode)
    if not scores:
        raise ValueError("There are no scores to reduce.")
    grouped = _AVG_MAX.fullmatch(mode)
    if not grouped:
        return float(_PLAIN_MODES[mode](scores)), 0.0
    size = int(grouped[1])
    best = [max(scores[start : start + size]) for start in range(0, len(scores), size)]
    return float(np.mean(best)), _sample_std(best)


def score_case(
    key: str, grades: Sequence[ResponseGrade], *, mode: str, full_score: float, null_score: float
) -> CaseScore:
    """Return the case's score over its attempts. Without attempts: the null score as it stands (rules 13.05, 13.06).

    One attempt without a score leaves the case without one: what is not known is not averaged over.
    """
    if not grades:
        note = Note("13.05", f"There are no responses; the null score {null_score:g} counts.")
        return CaseScore(key, null_score, 0.0, full_score, ScoreStatus.COMPLETE, 0, (note,))
    scores = [grade.score for grade in grades if grade.score is not None]
    errors = any(grade.status is ScoreStatus.ERROR for grade in grades)
    if len(scores) == len(grades):
        score, std = reduce_scores(scores, mode)
        status = ScoreStatus.ERROR if errors else ScoreStatus.COMPLETE
        return CaseScore(key, score, std, full_score, status, len(grades))
    missing = len(grades) - len(scores)
    code, status = ("13.07", ScoreStatus.ERROR) if errors else ("not-run", ScoreStatus.INCOMPLETE)
    note = Note(code, f"{missing} of {len(grades)} attempts have no score, so the case is left out of the sums.")
    return CaseScore(key, None, 0.0, full_score, status, len(grades), (note,))


def _sample_std(values: Sequence[float]) -> float:
    """Return the standard deviation with n - 1, 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


# An attempt must reach this sum to count as a group's best, as in the newer original.
_LOWEST_BEST = -1e-6
METRIC_ROWS_NOTE = "Metric rows are not capped by a case's maximum score, so they need not add up to the overall row."
SHARE_ROWS_NOTE = "Overall, language and type rows add each case's share of its points, whatever its full score."


@dataclass(frozen=True, slots=True)
class CaseAttempts:
    """One case's points: for each attempt, (got, total) by metric name, before max_score and min_score."""

    key: str
    lang: str
    question_type: str
    attempts: Sequence[Points]
    full_score: float = 1.0
    max_score: float | None = None
    min_score: float | None = None
    null_score: float = 0.0


@dataclass(frozen=True, slots=True)
class ReportRow:
    """`mean` and `std` (sample, n - 1) over groups; `full_score` is what could be had in `cases` cases."""

    dimension: str  # overall | language | type | metric
    name: str
    mean: float
    std: float
    full_score: float
    cases: int

    @property
    def share(self) -> float | None:
        """Mean as a share of the full score, None where that is 0."""
        return self.mean / self.full_score if self.full_score else None


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """Rows in the table's order: overall, then each dimension by falling full score."""

    rows: tuple[ReportRow, ...]
    groups: int  # the largest number of groups any case has
    left_out: tuple[str, ...]  # keys of cases without points to be had

    def row(self, dimension: str, name: str = "") -> ReportRow | None:
        """Return one row, None where there is none; the overall row has no name."""
        return next((row for row in self.rows if (row.dimension, row.name) == (dimension, name)), None)


@dataclass(frozen=True, slots=True)
class _CaseBests:
    points: list[float]  # per group, scaled to the full score; shares of it in compat mode
    metric_points: list[dict[str, float]]  # per group, scaled to the full score
    metric_full: dict[str, float]


class _Ledger:
    """Sums by dimension, name and group."""

    def __init__(self) -> None:
        self.points: dict[tuple[str, str], dict[int, float]] = defaultdict(lambda: defaultdict(float))
        self.full: dict[tuple[str, str], float] = defaultdict(float)
        self.cases: dict[tuple[str, str], int] = defaultdict(int)

    def open(self, row: tuple[str, str], full_score: float) -> None:
        self.full[row] += full_score
        self.cases[row] += 1

    def rows(self, dimension: str, groups: int) -> list[ReportRow]:
        rows = []
        for key in (key for key in self.full if key[0] == dimension):
            values = [self.points[key].get(group, 0.0) for group in range(groups)]
            mean, std = float(np.mean(values)), _sample_std(values)
            rows.append(ReportRow(*key, mean, std, self.full[key], self.cases[key]))
        return sorted(rows, key=lambda row: -row.full_score)


def criterion_metric(criterion: JsonObject) -> str:
    """Return the metric of a stored criterion; a custom metric goes by its real_metric_type."""
    name = str(criterion["name"])
    return str(criterion.get("detail", {}).get("real_metric_type", "custom")) if name == "customized" else name


def metric_points(criteria: Iterable[JsonObject]) -> Points:
    """Return the points by metric of one attempt's stored criteria; the later one of two of a name counts."""
    return {
        criterion_metric(criterion): (float(criterion.get("got") or 0.0), float(criterion["total"]))
        for criterion in criteria
    }


def suite_report(cases: Iterable[CaseAttempts], *, group_size: int = 10, compat: bool = False) -> SuiteReport:
    """Return the table over cases whose every attempt has a score. A group that a case lacks counts what its others do
    on average, and a case without attempts its null score; both count 0 in compat mode, as in InfiBench.

    Per case and group of `group_size` attempts the one with the highest sum of points counts, the last on a tie.
    """
    ledger = _Ledger()
    bests_of = [(case, _bests(case, group_size, compat)) for case in cases]
    left_out = [case.key for case, bests in bests_of if bests is None]
    groups = max((len(bests.points) for _, bests in bests_of if bests is not None), default=0)
    for case, bests in bests_of:
        if bests is not None:
            _book(ledger, case, bests, len(bests.points) if compat else groups)
    rows = [row for kind in ("overall", "language", "type", "metric") for row in ledger.rows(kind, max(groups, 1))]
    return SuiteReport(tuple(rows), groups, tuple(left_out))


def _book(ledger: _Ledger, case: CaseAttempts, bests: _CaseBests, groups: int) -> None:
    values = dict.fromkeys((("overall", ""), ("language", case.lang), ("type", case.question_type)), bests.points)
    for row in values:
        ledger.open(row, case.full_score)
    for metric, full in bests.metric_full.items():
        ledger.open(("metric", metric), full)
        values["metric", metric] = [points.get(metric, 0.0) for points in bests.metric_points]
    for row, own in values.items():
        for group in range(groups):
            ledger.points[row][group] += own[group] if group < len(own) else fmean(own)


def _bests(case: CaseAttempts, group_size: int, compat: bool) -> _CaseBests | None:
    """Return the best attempts of a case, None where there is nothing to be had."""
    groups = [case.attempts[start : start + group_size] for start in range(0, len(case.attempts), group_size)]
    if not groups:
        return _CaseBests([0.0 if compat else case.null_score], [{}], {})
    last = groups[-1][-1]
    total = sum(full for _, full in last.values()) if case.max_score is None else case.max_score
    if total == 0:
        return None
    chosen = [_best_attempt(group) for group in groups]
    sums = [_LOWEST_BEST if attempt is None else sum(got for got, _ in attempt.values()) for attempt in chosen]
    if case.min_score is not None:
        sums = [max(value, case.min_score) for value in sums]
    scale = case.full_score / total
    return _CaseBests(
        points=[min(value, total) / total * (1 if compat else case.full_score) for value in sums],
        metric_points=[{name: got * scale for name, (got, _) in (attempt or {}).items()} for attempt in chosen],
        metric_full={name: full * scale for name, (_, full) in last.items()},
    )


def _best_attempt(group: Sequence[Mapping[str, tuple[float, float]]]) -> Mapping[str, tuple[float, float]] | None:
    best: Mapping[str, tuple[float, float]] | None = None
    highest = _LOWEST_BEST
    for attempt in group:
        points = sum(got for got, _ in attempt.values())
        if points >= highest:
            best, highest = attempt, points
    return best
