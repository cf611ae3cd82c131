"""Leaderboards: the raw, the human and the corrected mean of each system side by side, with their ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalsite.base.json_types import JsonDict
from evalsite.reports.selectors.data_versions import evaluators_version
from evalsite.reports.selectors.leaderboards import evaluators_with_run
from evalsite.reports.selectors.options import Options
from evalsite.reports.selectors.results.case_scores import (
    FILTERS,
    SuiteScores,
    read_newest_scores,
    read_scores,
    suite_cases,
)
from evalsite.reports.selectors.results.response_facts import response_lengths
from evalsite.reports.services import snapshots
from evalsite.reports.services.boards.leaderboard_slices import dimensions_of, pair_slices_content, slices_content
from evalsite.reports.services.report_content import ReportContent, figure
from evalsite.reports.services.snapshots import ReportKind
from evalsite.review.selectors.labels.audits import ends_of_strata
from evalsite.review.selectors.labels.final_labels import SubjectLabel, labels_of_evaluators
from judging.grading.aggregates import reduce_scores
from judging.models import RunEvaluator
from judging.statistics.estimates import Estimate, Floats, Interval, undefined, with_interval, within
from judging.statistics.estimators.boards import (
    Board,
    BoardData,
    MeanKind,
    SystemFigure,
    audited,
    board,
    system_mean,
)
from judging.statistics.estimators.differences import ComparedPair, RankSet
from judging.statistics.estimators.length_control import length_control
from judging.statistics.estimators.strata import Bounds, Inference, Scale

Clip = tuple[float, float]
MODES = tuple(MeanKind)
NO_NUMBERS = "The labels of this queue are not numbers, so they cannot be averaged."
FEW_FOR_SIGN = "Too few cases to compare two systems: {} of {}."
MATRIX_COLUMNS = 40


@dataclass(frozen=True, slots=True, eq=False)
class _Suite:
    """One evaluator's scores and people's labels as arrays, a row for each system."""

    scores: SuiteScores
    data: BoardData
    system_ids: tuple[int, ...]
    labelled: Mapping[int, int]  # responses with a final label, by system
    clip: Clip | None
    without_numbers: frozenset[int]  # systems all of whose audited labels are names


def compute_leaderboard(evaluator_id: int, options: Options) -> ReportContent:
    """Return one evaluator's leaderboard under the options scenario, lang, type, missing and looks.

    With the option `evaluators` it is that of the newest score of each response by all of these, newest run first.
    """
    evaluators = _evaluators(evaluator_id, options)
    evaluator, suite = evaluators[0], _suite(evaluators, options)
    boards = {mode: board(suite.data, mode) for mode in MODES}
    return {
        "evaluator": _described(evaluator),
        "reduce_mode": suite.scores.reduce_mode,
        "n_cases": len(suite.scores.cases),
        "rows": _rows(suite, boards),
        "pairs": {mode.value: [_pair(pair, suite, mode) for pair in ranked.pairs] for mode, ranked in boards.items()},
        "matrix": _matrix(suite),
        "slices": slices_content(dimensions_of(suite.scores), suite.data, suite.system_ids, clip=suite.clip),
        "filters": _filters(evaluator),
    }


def board_of(evaluators: Sequence[RunEvaluator]) -> ReportContent:
    """Return the leaderboard over these evaluators, from the cached report where that is current."""
    options = version_options([row.pk for row in evaluators])
    cached = snapshots.find(LEADERBOARD, subject_id=evaluators[0].pk, options=options)
    return (
        cached.content if cached is not None and cached.is_current else compute_leaderboard(evaluators[0].pk, options)
    )


def version_options(evaluator_ids: Sequence[int]) -> JsonDict:
    """Return the options of the leaderboard over these evaluators; a single one is its run's own."""
    return {"evaluators": list(evaluator_ids)} if len(evaluator_ids) > 1 else {}


def compute_comparison(evaluator_id: int, options: Options) -> ReportContent:
    """Return the cases on which the two systems named by the option `systems` differ most."""
    evaluators = _evaluators(evaluator_id, options)
    evaluator, suite = evaluators[0], _suite(evaluators, options)
    scores = suite.scores
    first, second = (int(pk) for pk in options["systems"])
    row_by_system = {pk: row for row, pk in enumerate(scores.systems)}
    rows = (
        _compared(scores, row_by_system[first], row_by_system[second])
        if first in row_by_system and second in row_by_system
        else []
    )
    wins = {"first": 0, "ties": 0, "second": 0}
    for row in rows:
        wins["first" if row["difference"] > 0 else "second" if row["difference"] < 0 else "ties"] += 1
    rows.sort(key=lambda row: -abs(row["difference"]))
    return {
        "evaluator": _described(evaluator),
        "systems": [{"id": pk, "name": scores.systems.get(pk, "")} for pk in (first, second)],
        "n_cases": len(rows),
        "wins": wins,
        **_length_control(rows),
        "slices": _pair_slices(suite, row_by_system[first], row_by_system[second]) if rows else [],
        "cases": rows,
    }


def _pair_slices(suite: _Suite, first: int, second: int) -> list[ReportContent]:
    return pair_slices_content(dimensions_of(suite.scores), suite.data.systems([first, second]))


def _length_control(rows: Sequence[ReportContent]) -> ReportContent:
    """Return how often the judge's scores prefer the first system, ties half, as it is and at equal length."""
    both = [row for row in rows if all(row["responses"])]
    lengths = response_lengths(pk for row in both for pk in row["responses"])
    control = length_control(
        [(1 + float(np.sign(row["difference"]))) / 2 for row in both],
        [lengths[row["responses"][0]] - lengths[row["responses"][1]] for row in both],
        [row["case_id"] for row in both],
    )
    shown = {"win_rate": control.raw, "equal_length": control.equal_length, "length_effect": control.effect}
    return {name: figure(estimate) for name, estimate in shown.items()}


def _compared(scores: SuiteScores, first: int, second: int) -> list[ReportContent]:
    """Return the cases in which both systems, given by their rows, have a share."""
    both = ~np.isnan(scores.shares[[first, second]]).any(axis=0)
    rows = []
    for column in np.flatnonzero(both):
        case = scores.cases[column]
        first_share, second_share = float(scores.shares[first, column]), float(scores.shares[second, column])
        rows.append(
            {
                "case_id": case.pk,
                "key": case.key,
                "scenario": case.scenario,
                "first": first_share,
                "second": second_share,
                "difference": first_share - second_share,
                "responses": [int(scores.firsts[row, column]) or None for row in (first, second)],
            }
        )
    return rows


def _described(evaluator: RunEvaluator) -> ReportContent:
    return {
        "id": evaluator.pk,
        "name": evaluator.name,
        "kind": evaluator.kind,
        "is_baseline": evaluator.is_baseline,
        "run_id": evaluator.run_id,
        "run_name": evaluator.run.name,
    }


def _clip_of(evaluator: RunEvaluator) -> Clip | None:
    """Return the range to which the evaluator's rubric cuts the mean over a benchmark, never one item; None: none."""
    clip = evaluator.rubric.benchmark_aggregate.get("clip") if evaluator.rubric is not None else None
    return (float(clip[0]), float(clip[1])) if clip else None


def _clipped(mean: Estimate, clip: Clip | None) -> Estimate:
    return within(mean, *clip) if clip else mean


def _evaluators(evaluator_id: int, options: Options) -> list[RunEvaluator]:
    return evaluators_with_run(options.get("evaluators") or [evaluator_id])


def _suite(evaluators: Sequence[RunEvaluator], options: Options) -> _Suite:
    newest = evaluators[0]
    scores = read_newest_scores(evaluators, options) if options.get("evaluators") else read_scores(newest, options)
    labels = _labels(evaluators)
    people = np.where(scores.missing, scores.shares, np.nan)
    drawn = np.zeros(scores.shares.shape, dtype=bool)
    for row, column, attempts in scores.among(labels):
        is_scored = not np.isnan(scores.shares[row, column])
        attempt_labels = [labels.get(pk) for pk in attempts["response"].tolist()]
        share = _case_share(attempt_labels, scores.reduce_mode, is_scored=is_scored)
        drawn[row, column] = any(label is not None and label.is_drawn for label in attempt_labels)
        people[row, column] = np.nan if share is None else share
    ends = ends_of_strata(evaluator.run_id for evaluator in evaluators)
    strata = np.searchsorted(ends, [case.prompt_id for case in scores.cases]) if len(ends) > 1 else None
    planned = int(drawn.any(axis=0).sum()) if options.get("looks") else 0
    data = BoardData(scores.shares, people, drawn, scores.missing, _scale(scores.shares, people), planned, strata)
    system_ids = tuple(scores.systems)
    owned = _labels_by_system(scores, labels)
    return _Suite(
        scores,
        data,
        system_ids,
        {pk: sum(bool(label.label) for label in owned[pk]) for pk in system_ids},
        _clip_of(newest),
        frozenset(pk for pk in system_ids if _has_no_numbers(owned[pk])),
    )


def _labels(evaluators: Sequence[RunEvaluator]) -> dict[int, SubjectLabel]:
    """Return people's labels by response; of two for one response that of the random audit, else of the newer run."""
    by_response: dict[int, SubjectLabel] = {}
    labels = labels_of_evaluators(evaluators)
    for evaluator in reversed(evaluators):
        for label in labels[evaluator.pk]:
            current = by_response.get(label.response_ids[0])
            if current is None or label.is_drawn or not current.is_drawn:
                by_response[label.response_ids[0]] = label
    return by_response


def _case_share(attempts: Sequence[SubjectLabel | None], reduce_mode: str, *, is_scored: bool) -> float | None:
    """Return people's share of a case: of its audited responses, and of others only where the judge gave no score.

    One response that was asked about and is not decided leaves the case undecided.
    """
    labels = [label for label in attempts if label is not None]
    counted = [label for label in labels if label.is_drawn or (label.is_routed and not is_scored)]
    shares = [label.share for label in counted if label.share is not None]
    is_whole = reduce_mode == "avg" or len(counted) == len(attempts)
    if not shares or len(shares) < len(counted) or not is_whole:
        return None
    return shares[0] if len(shares) == 1 else reduce_scores(shares, reduce_mode).score


def _labels_by_system(scores: SuiteScores, labels: Mapping[int, SubjectLabel]) -> dict[int, list[SubjectLabel]]:
    by_system: dict[int, list[SubjectLabel]] = {pk: [] for pk in scores.systems}
    system_ids = list(scores.systems)
    for attempt in scores.attempts[np.isin(scores.attempts["response"], list(labels))]:
        by_system[system_ids[attempt["system"]]].append(labels[int(attempt["response"])])
    return by_system


def _has_no_numbers(labels: Sequence[SubjectLabel]) -> bool:
    decided = [label for label in labels if label.is_drawn and label.label]
    return bool(decided) and all(label.share is None for label in decided)


def _scale(judge: Floats, people: Floats) -> Scale:
    """Return the range from 0 to 1, widened where an evaluator gives less than nothing or more than everything."""
    values = np.concatenate([judge[~np.isnan(judge)], people[~np.isnan(people)]])
    return Scale(min(0.0, float(values.min())), max(1.0, float(values.max()))) if values.size else Scale()


def _rows(suite: _Suite, boards: Mapping[MeanKind, Board]) -> list[ReportContent]:
    rows = [_row(suite, boards, row) for row in range(len(suite.system_ids))]
    rows.sort(key=lambda row: (row["figures"]["raw"]["value"] is None, -(row["figures"]["raw"]["value"] or 0.0)))
    return rows


def _row(suite: _Suite, boards: Mapping[MeanKind, Board], row: int) -> ReportContent:
    pk = suite.system_ids[row]
    judge, missing = suite.data.judge[row], suite.data.missing[row]
    scored = int((~np.isnan(judge) & ~missing).sum())
    n_missing = int(missing.sum())
    decided, drawn = audited(suite.data, row)
    return {
        "system_id": pk,
        "system": suite.scores.systems[pk],
        "figures": {
            mode.value: figure(_shown(suite, pk, mode, ranked.figures[row])) for mode, ranked in boards.items()
        },
        "bounds": {mode.value: _bounds(ranked.figures[row].bounds, suite.clip) for mode, ranked in boards.items()},
        "ranks": {mode.value: _ranks(ranked.ranks[row]) for mode, ranked in boards.items()},
        "wins": {mode.value: figure(ranked.wins[row]) for mode, ranked in boards.items()},
        "scored": scored,
        "unscored": len(suite.scores.cases) - scored - n_missing,
        "missing": n_missing,
        "human": suite.labelled[pk],
        "decided": decided,
        "drawn": drawn,
    }


def _shown(suite: _Suite, system_id: int, mode: MeanKind, result: SystemFigure) -> Estimate:
    if mode is not MeanKind.RAW and system_id in suite.without_numbers:
        return undefined(NO_NUMBERS, n=result.estimate.n)
    return _clipped(result.estimate, suite.clip)


def _bounds(bounds: Bounds | None, clip: Clip | None) -> ReportContent | None:
    if bounds is None:
        return None
    low, high = clip or (bounds.low, bounds.high)
    return {"low": max(low, bounds.low), "high": min(high, bounds.high)}


def _ranks(ranks: RankSet | None) -> list[int] | None:
    return None if ranks is None else [ranks.first, ranks.last]


def _pair(pair: ComparedPair, suite: _Suite, mode: MeanKind) -> ReportContent:
    compared = pair.difference
    if isinstance(compared, Inference):
        difference, p_value = compared.estimate, compared.p_value
    else:
        gaps = suite.data.judge[pair.first] - suite.data.judge[pair.second]
        is_raw = mode is MeanKind.RAW and not np.isnan(gaps).all()
        value = float(np.nanmean(gaps)) if is_raw else None
        difference = Estimate(value, None, None, compared.n, FEW_FOR_SIGN.format(compared.n, compared.needed))
        p_value = None
    return {
        "first": suite.system_ids[pair.first],
        "second": suite.system_ids[pair.second],
        "difference": figure(difference),
        "p_value": p_value,
        "adjusted_p": pair.adjusted_p,
        "is_separated": pair.better is not None,
    }


def _matrix(suite: _Suite) -> ReportContent:
    """Return means by system and scenario (question type or language where there is none), in every mode."""
    by_name = {
        "scenario": [case.scenario for case in suite.scores.cases],
        "type": [case.question_type for case in suite.scores.cases],
        "lang": [case.lang for case in suite.scores.cases],
    }
    dimension = next((name for name, column in by_name.items() if any(column)), "scenario")
    names = sorted(set(by_name[dimension]))[:MATRIX_COLUMNS]
    parts = [suite.data.only(np.array([value == name for value in by_name[dimension]])) for name in names]
    cells = {
        mode.value: {
            str(pk): [_cell(suite, part, row, mode) for part in parts] for row, pk in enumerate(suite.system_ids)
        }
        for mode in MODES
    }
    return {"dimension": dimension, "columns": names, "cells": cells}


def _cell(suite: _Suite, part: BoardData, row: int, mode: MeanKind) -> ReportContent:
    if mode is MeanKind.RAW:
        shares = part.judge[row][~np.isnan(part.judge[row])]
        mean = (
            with_interval(float(shares.mean()), Interval(None, None), n=shares.size) if shares.size else undefined("")
        )
    else:
        mean = _shown(suite, suite.system_ids[row], mode, system_mean(part, row, mode))
    return {"mean": _clipped(mean, suite.clip).value, "n": int(mean.n), "reason": mean.reason}


def _filters(evaluator: RunEvaluator) -> ReportContent:
    cases = suite_cases(evaluator)
    columns = ([c.scenario for c in cases], [c.lang for c in cases], [c.question_type for c in cases])
    return {name: sorted({value for value in values if value}) for name, values in zip(FILTERS, columns, strict=True)}


def _data_version(evaluator_id: int, options: Options) -> str:
    return evaluators_version(_evaluators(evaluator_id, options))


def _rows_to_read(evaluator_id: int, options: Options) -> int:
    return sum(evaluator.total for evaluator in _evaluators(evaluator_id, options))


LEADERBOARD = ReportKind("leaderboard", _data_version, _rows_to_read, compute_leaderboard)
COMPARISON = ReportKind("comparison", _data_version, _rows_to_read, compute_comparison)
