"""The report that charts are drawn from: distribution, length and tokens of one grader's scores, and its runs by time.

Means are those of the leaderboards, read from their cached reports where these are current.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evalsite.reports.selectors.data_versions import evaluators_version
from evalsite.reports.selectors.judges.people_columns import PeopleReader, compared_with_people
from evalsite.reports.selectors.leaderboards import evaluators_with_run, history_of
from evalsite.reports.selectors.options import Options
from evalsite.reports.selectors.results.case_scores import SuiteScores, read_newest_scores
from evalsite.reports.selectors.results.response_facts import output_tokens, response_lengths
from evalsite.reports.selectors.run_facts import judges_among
from evalsite.reports.services.boards.leaderboards import board_of
from evalsite.reports.services.judges.judge_records import rows_of_judge
from evalsite.reports.services.report_content import ReportContent, figure
from evalsite.reports.services.snapshots import ReportKind
from evalsite.reports.services.suite_charts.figures import (
    counts_by_score,
    drawn_points,
    length_bands,
    length_correlation,
    longest_drawn,
    pareto_front,
    quartiles,
)
from judging.models import RunEvaluator
from judging.statistics.estimators.agreement_columns import share_equal_of
from judging.statistics.estimators.boards import MeanKind
from judging.statistics.response_features import ASCII_PER_TOKEN


def compute_suite_charts(evaluator_id: int, options: Options) -> ReportContent:
    """Return what the charts of a grader show; the option `evaluators` are its evaluators, newest run first."""
    evaluators = evaluators_with_run(options["evaluators"])
    scores = read_newest_scores(evaluators, {"missing": "skip"})
    board = {row["system_id"]: row["figures"][MeanKind.RAW.value] for row in board_of(evaluators)["rows"]}
    history = history_of(evaluators[0])
    lengths = response_lengths(scores.attempts["response"].tolist())
    return {
        "distribution": _distribution(scores, board),
        "lengths": _lengths(scores, lengths),
        "tokens": _tokens(scores, lengths, board),
        "runs": [_run(row) for row in history],
        "agreement": _agreement(judges_among(history)),
    }


def _distribution(scores: SuiteScores, board: Mapping[int, ReportContent]) -> list[ReportContent]:
    rows = {pk: row for row, pk in enumerate(scores.systems)}
    return [
        {
            "system_id": pk,
            "system": scores.systems[pk],
            "mean": mean,
            "n": int((~np.isnan(scores.shares[rows[pk]])).sum()),
            "quartiles": quartiles(scores.shares[rows[pk]]),
            "counts": counts_by_score(scores.shares[rows[pk]]),
        }
        for pk, mean in board.items()
        if pk in rows
    ]


def _lengths(scores: SuiteScores, length_by_response: Mapping[int, int]) -> ReportContent:
    """Return scored responses by length: in all, and the correlation within each system."""
    attempts = scores.attempts[~np.isnan(scores.attempts["share"])]
    lengths = np.array([length_by_response.get(pk, 0) for pk in attempts["response"].tolist()], dtype=np.float64)
    shares, prompts = attempts["share"], attempts["prompt"]
    return {
        "n": len(attempts),
        "longest_drawn": longest_drawn(lengths),
        "points": drawn_points(lengths, shares),
        "bands": [
            {"low": band.low, "high": band.high, "n": band.n, "mean": figure(band.mean)}
            for band in length_bands(lengths, shares, prompts)
        ],
        "systems": [
            {
                "system_id": pk,
                "system": name,
                "n": int(of_system.sum()),
                "mean_length": float(lengths[of_system].mean()) if of_system.any() else None,
                "correlation": figure(length_correlation(lengths[of_system], shares[of_system], prompts[of_system])),
            }
            for row, (pk, name) in enumerate(scores.systems.items())
            for of_system in (attempts["system"] == row,)
        ],
    }


def _tokens(scores: SuiteScores, lengths: Mapping[int, int], board: Mapping[int, ReportContent]) -> list[ReportContent]:
    """Return the mean tokens of each system's responses beside its mean score, and who is on the Pareto front."""
    recorded = output_tokens(scores.attempts["response"].tolist())
    rows: list[ReportContent] = []
    for number, (pk, name) in enumerate(scores.systems.items()):
        ids = scores.attempts["response"][scores.attempts["system"] == number].tolist()
        mean = board.get(pk)
        if not ids or mean is None or mean["value"] is None:
            continue
        is_recorded = all(response_id in recorded for response_id in ids)
        tokens = [
            recorded[response_id] if is_recorded else lengths.get(response_id, 0) / ASCII_PER_TOKEN
            for response_id in ids
        ]
        facts: ReportContent = {"tokens": float(np.mean(tokens)), "is_recorded": is_recorded, "mean": mean}
        rows.append({"system_id": pk, "system": name, **facts})
    front = pareto_front([row["tokens"] for row in rows], [row["mean"]["value"] for row in rows])
    with_front = [row | {"is_on_front": is_on_front} for row, is_on_front in zip(rows, front, strict=True)]
    return sorted(with_front, key=lambda row: (row["tokens"], row["system"]))


def _run(evaluator: RunEvaluator) -> ReportContent:
    rows = board_of([evaluator])["rows"]
    figures = {str(row["system_id"]): row["figures"][MeanKind.RAW.value] for row in rows}
    return _when(evaluator) | {"figures": figures, "systems": {str(row["system_id"]): row["system"] for row in rows}}


def _agreement(judges: Sequence[RunEvaluator]) -> list[ReportContent]:
    """Return how often a judge agreed with people in each of its runs; runs without labels are left out."""
    replies, reader = rows_of_judge(judges), PeopleReader()
    rows = []
    for judge in judges:
        people = compared_with_people([judge], replies, reader)
        labelled = len(people.compared)
        if labelled:
            rows.append(
                _when(judge) | {"agreement": figure(share_equal_of(people.columns).estimate), "labelled": labelled}
            )
    return rows


def _when(evaluator: RunEvaluator) -> ReportContent:
    run = evaluator.run
    return {
        "evaluator_id": evaluator.pk,
        "run_id": run.pk,
        "run": run.name,
        "suite_id": run.suite_id,
        "suite": f"v{run.suite.number}",
        "at": (run.finished_at or run.created_at).isoformat(),
    }


def _evaluators(options: Options) -> list[RunEvaluator]:
    """Return everything that the report reads of: the grader's evaluators and those of its history."""
    evaluators = evaluators_with_run(options["evaluators"])
    return list({row.pk: row for row in (*evaluators, *history_of(evaluators[0]))}.values())


def _data_version(evaluator_id: int, options: Options) -> str:
    return evaluators_version(_evaluators(options))


def _rows_to_read(evaluator_id: int, options: Options) -> int:
    return sum(row.total for row in _evaluators(options))


SUITE_CHARTS = ReportKind("suite-charts", _data_version, _rows_to_read, compute_suite_charts)
