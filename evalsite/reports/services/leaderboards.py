"""Leaderboards: the raw, the human and the corrected mean of each system side by side, with ranks that admit ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalsite.reports.selectors.case_scores import FILTERS, CaseFacts, SuiteScores, read_scores, suite_cases
from evalsite.reports.selectors.human_labels import HumanLabel, human_labels
from evalsite.reports.selectors.leaderboards import evaluator_with_run
from evalsite.reports.selectors.marks import evaluator_mark
from evalsite.reports.selectors.options import Options
from evalsite.reports.services.payloads import Payload, figure
from evalsite.reports.services.snapshots import ReportKind
from evalsite.reports.statistics.corrected import classical_mean, ppi_mean, weighted_correction
from evalsite.reports.statistics.estimates import Estimate, Floats, Interval, undefined, with_interval, within
from evalsite.reports.statistics.intervals import mean_interval, of_share
from evalsite.reports.statistics.ranking import Leaderboard, interval_ranks, leaderboard
from judging.models import RunEvaluator

Clip = tuple[float, float]
MODES = ("raw", "human", "corrected")
NOT_ASKED = "No audited response of this system has a final human label yet."
NO_NUMBERS = "The labels of this queue are no numbers, so they cannot be averaged."
REDUCED = "The suite does not average attempts, and human labels are on single responses: the two cannot be compared."
MATRIX_COLUMNS = 40


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """Shares, shape (systems, cases), NaN where a case has none; and which of them stand for no response."""

    shares: Floats
    missing: Floats
    system_ids: tuple[int, ...]


def compute_leaderboard(evaluator_id: int, options: Options) -> Payload:
    """Return one evaluator's leaderboard under the options scenario, lang, type and missing."""
    evaluator = evaluator_with_run(evaluator_id)
    scores = read_scores(evaluator, options)
    values = _values(scores)
    ranked = leaderboard(
        {
            str(pk): {
                case.key: [float(share)]
                for case, share in zip(scores.cases, values.shares[row], strict=True)
                if not np.isnan(share)
            }
            for row, pk in enumerate(values.system_ids)
        }
    )
    labels = _labels_by_system(scores, human_labels(evaluator))
    clip = _clip_of(evaluator)
    means = {pk: _human_means(scores, pk, labels.get(pk, [])) for pk in values.system_ids}
    means = {pk: {mode: _clipped(mean, clip) for mode, mean in found.items()} for pk, found in means.items()}
    ranked = replace(ranked, rows=tuple(replace(row, mean=_clipped(row.mean, clip)) for row in ranked.rows))
    return {
        "evaluator": _described(evaluator),
        "reduce_mode": scores.reduce_mode,
        "n_cases": len(scores.cases),
        "rows": _rows(scores, values, ranked, labels, means),
        "pairs": _pairs(ranked),
        "matrix": _matrix(scores, values, clip),
        "filters": _filters(evaluator),
    }


def compute_comparison(evaluator_id: int, options: Options) -> Payload:
    """Return the cases on which the two systems named by the option `systems` differ most."""
    evaluator = evaluator_with_run(evaluator_id)
    scores = read_scores(evaluator, options)
    first, second = (int(pk) for pk in options["systems"])
    rows = []
    wins = {"first": 0, "ties": 0, "second": 0}
    for case in scores.cases:
        one, other = scores.value(first, case).share, scores.value(second, case).share
        if one is None or other is None:
            continue
        wins["first" if one > other else "second" if one < other else "ties"] += 1
        responses = [_first_response(scores, pk, case) for pk in (first, second)]
        rows.append(
            {
                "case_id": case.pk,
                "key": case.key,
                "scenario": case.scenario,
                "first": one,
                "second": other,
                "difference": one - other,
                "responses": responses,
            }
        )
    rows.sort(key=lambda row: -abs(float(str(row["difference"]))))
    return {
        "evaluator": _described(evaluator),
        "systems": [{"id": pk, "name": scores.systems.get(pk, "")} for pk in (first, second)],
        "n_cases": len(rows),
        "wins": wins,
        "cases": rows,
    }


def _described(evaluator: RunEvaluator) -> Payload:
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


def _values(scores: SuiteScores) -> _Values:
    system_ids = tuple(scores.systems)
    shares = np.full((len(system_ids), len(scores.cases)), np.nan)
    missing = np.zeros(shares.shape)
    for row, pk in enumerate(system_ids):
        for column, case in enumerate(scores.cases):
            value = scores.value(pk, case)
            missing[row, column] = value.is_missing
            if value.share is not None:
                shares[row, column] = value.share
    return _Values(shares, missing, system_ids)


def _rows(
    scores: SuiteScores,
    values: _Values,
    ranked: Leaderboard,
    labels: dict[int, list[HumanLabel]],
    means: dict[int, dict[str, Estimate]],
) -> list[Payload]:
    places = {pk: row for row, pk in enumerate(values.system_ids)}
    wins = _win_rates(values.shares)
    ranks = {mode: interval_ranks({str(pk): mean[mode] for pk, mean in means.items()}) for mode in MODES[1:]}
    rows = []
    for found in ranked.rows:
        pk = int(found.system)
        shares, missing = values.shares[places[pk]], values.missing[places[pk]]
        n_missing = int(missing.sum())
        scored = int((~np.isnan(shares)).sum()) - (n_missing if scores.counts_missing else 0)
        human = ranks["human"][found.system], ranks["corrected"][found.system]
        rows.append(
            {
                "system_id": pk,
                "system": scores.systems[pk],
                "figures": {"raw": figure(found.mean)} | {mode: figure(mean) for mode, mean in means[pk].items()},
                "ranks": {"raw": found.rank, "human": human[0], "corrected": human[1]},
                "tied": {"raw": found.tied} | {mode: _is_tied(means, pk, mode) for mode in MODES[1:]},
                "scored": scored,
                "unscored": len(scores.cases) - scored - n_missing,
                "missing": n_missing,
                "human": len(labels.get(pk, [])),
                "win_rate": figure(wins[places[pk]]),
            }
        )
    return rows


def _is_tied(means: dict[int, dict[str, Estimate]], pk: int, mode: str) -> bool:
    """Whether the interval of some other system reaches into this one's."""
    own = means[pk][mode]
    return any(
        _overlap(own, others[mode])
        for other, others in means.items()
        if other != pk and own.is_defined and others[mode].is_defined
    )


def _overlap(one: Estimate, other: Estimate) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return True
    return one.low <= other.high and other.low <= one.high


def _win_rates(shares: Floats) -> list[Estimate]:
    """Return each system's share of wins against every other on the same case, ties half; n = cases."""
    found = []
    for row, own in enumerate(shares):
        others = np.delete(shares, row, axis=0)
        points = (np.sign(own - others) + 1) / 2
        met = ~np.isnan(points)
        compared = met.any(axis=0)
        if not compared.any():
            found.append(undefined("No other system has a score on the same case."))
            continue
        sums = np.where(met, points, 0.0).sum(axis=0)[compared]
        found.append(of_share(mean_interval(sums / met.sum(axis=0)[compared])))
    return found


def _labels_by_system(scores: SuiteScores, labels: Sequence[HumanLabel]) -> dict[int, list[HumanLabel]]:
    owners = {attempt.response_id: key[0] for key, attempts in scores.attempts.items() for attempt in attempts}
    found: dict[int, list[HumanLabel]] = {}
    for label in labels:
        if label.response_id in owners:
            found.setdefault(owners[label.response_id], []).append(label)
    return found


def _human_means(scores: SuiteScores, system_id: int, labels: Sequence[HumanLabel]) -> dict[str, Estimate]:
    """Return the means that rest on people: of the audited labels alone, and of all scores corrected by them."""
    audited = {label.response_id: label for label in labels if label.is_audit}
    reason = _why_no_human_mean(scores, audited)
    if reason:
        return {"human": undefined(reason, n=len(audited)), "corrected": undefined(reason, n=len(audited))}
    judged = {a.response_id: a.share for a in scores.responses_of(system_id) if a.share is not None}
    truth = {pk: label.share for pk, label in audited.items() if pk in judged and label.share is not None}
    human = classical_mean(list(truth.values()))
    chances = {audited[pk].inclusion for pk in truth}
    if len(chances) == 1 or None in chances:
        others = [share for pk, share in judged.items() if pk not in truth]
        corrected = ppi_mean(list(truth.values()), [judged[pk] for pk in truth], others).estimate
    else:
        inclusion = [(audited[pk].inclusion or 1.0) if pk in truth else 1.0 for pk in judged]
        corrected = weighted_correction(list(judged.values()), [truth.get(pk) for pk in judged], inclusion)
    return {"human": human, "corrected": corrected}


def _why_no_human_mean(scores: SuiteScores, audited: dict[int, HumanLabel]) -> str:
    if not audited:
        return NOT_ASKED
    if all(label.share is None for label in audited.values()):
        return NO_NUMBERS
    if scores.reduce_mode != "avg" and scores.most_attempts > 1:
        return REDUCED
    return ""


def _pairs(ranked: Leaderboard) -> list[Payload]:
    return [
        {
            "first": int(pair.first),
            "second": int(pair.second),
            "difference": figure(pair.difference),
            "p_value": pair.p_value,
            "adjusted_p": pair.adjusted_p,
            "is_separated": pair.is_separated,
        }
        for pair in ranked.pairs
    ]


def _matrix(scores: SuiteScores, values: _Values, clip: Clip | None) -> Payload:
    """Return mean and number of scored cases by system and scenario (question type or language where there is none)."""
    by_name = {
        "scenario": [case.scenario for case in scores.cases],
        "type": [case.question_type for case in scores.cases],
        "lang": [case.lang for case in scores.cases],
    }
    dimension = next((name for name, column in by_name.items() if any(column)), "scenario")
    column_of = by_name[dimension]
    names = sorted(set(column_of))[:MATRIX_COLUMNS]
    cells: dict[str, list[Payload]] = {}
    for row, pk in enumerate(values.system_ids):
        cells[str(pk)] = []
        for name in names:
            inside = values.shares[row][[value == name for value in column_of]]
            known = inside[~np.isnan(inside)]
            mean = (
                with_interval(float(known.mean()), Interval(None, None), n=known.size) if known.size else undefined("")
            )
            cells[str(pk)].append({"mean": _clipped(mean, clip).value, "n": int(known.size)})
    return {"dimension": dimension, "columns": names, "cells": cells}


def _filters(evaluator: RunEvaluator) -> Payload:
    cases = suite_cases(evaluator)
    columns = ([c.scenario for c in cases], [c.lang for c in cases], [c.question_type for c in cases])
    return {name: sorted({value for value in found if value}) for name, found in zip(FILTERS, columns, strict=True)}


def _first_response(scores: SuiteScores, system_id: int, case: CaseFacts) -> int | None:
    attempts = scores.attempts.get((system_id, case.prompt_id))
    return attempts[0].response_id if attempts else None


def _mark(evaluator_id: int, options: Options) -> str:
    return evaluator_mark(evaluator_with_run(evaluator_id))


def _rows_to_read(evaluator_id: int, options: Options) -> int:
    return evaluator_with_run(evaluator_id).total


LEADERBOARD = ReportKind("leaderboard", _mark, _rows_to_read, compute_leaderboard)
COMPARISON = ReportKind("comparison", _mark, _rows_to_read, compute_comparison)
