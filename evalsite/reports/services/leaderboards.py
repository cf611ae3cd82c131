"""Leaderboards: the raw, the human and the corrected mean of each system side by side, with their ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.utils import timezone

from evalsite.base.formats import ScoreScale
from evalsite.reports.selectors.leaderboards import Options, evaluators_with_run
from evalsite.reports.selectors.results import (
    FILTERS,
    SuiteScores,
    has_replaced,
    read_scores,
    response_lengths,
    suite_cases,
)
from evalsite.reports.services import snapshots
from evalsite.reports.services.charts import shade
from evalsite.reports.services.snapshots import ReportContent, figure, kind_over
from evalsite.review.selectors.audits import ends_of_strata
from evalsite.review.selectors.final_labels import SubjectLabel, labels_of_evaluators
from judging.grading.reports import METRIC_ROWS_NOTE, SHARE_ROWS_NOTE, reduce_scores
from judging.models import RunEvaluator
from judging.selectors.judges import score_scale_of
from judging.selectors.runs import Clip, clip_of, group_size, rule_report, run_cases
from judging.statistics.estimates import (
    Bounds,
    Estimate,
    Floats,
    Inference,
    Interval,
    MeanKind,
    Scale,
    undefined,
    with_interval,
    within,
)
from judging.statistics.estimators.boards import (
    Board,
    BoardData,
    Claim,
    ComparedPair,
    Flags,
    RankSet,
    SystemFigure,
    audited,
    board,
    compared_pairs,
    length_bands,
    pair_difference,
    pair_slices,
    system_mean,
    system_slices,
)
from judging.statistics.estimators.judge_bias import length_control

MAX_SLICES = 12  # of one dimension: with more, a table is no longer read, and Holm's correction leaves nothing
MIN_SLICES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Dimension:
    """One way to cut a suite into slices."""

    name: str  # scenario | type | lang | length
    slices: dict[str, Flags]  # by case; the largest slices
    left_out: int  # slices beyond those

    @property
    def cases(self) -> dict[str, int]:
        """The number of cases of each slice."""
        return {name: int(inside.sum()) for name, inside in self.slices.items()}


def dimensions_of(scores: SuiteScores) -> list[Dimension]:
    """Return every way in which the suite falls into two slices or more."""
    named = {
        "scenario": [case.scenario for case in scores.cases],
        "type": [case.question_type for case in scores.cases],
        "lang": [case.lang for case in scores.cases],
    }
    dimensions = [_by_name(name, values) for name, values in named.items()]
    dimensions.append(Dimension("length", dict(length_bands(_case_lengths(scores))), 0))
    return [dimension for dimension in dimensions if len(dimension.slices) >= MIN_SLICES]


def _by_name(name: str, values: Sequence[str]) -> Dimension:
    counts = Counter(values)
    frequent = sorted(sorted(counts, key=lambda value: (-counts[value], value))[:MAX_SLICES])
    array = np.array(values)
    return Dimension(name, {value: array == value for value in frequent}, len(counts) - len(frequent))


def _case_lengths(scores: SuiteScores) -> np.ndarray:
    """Return the mean length of the responses to each case, over systems and attempts; NaN where there is none."""
    attempts = scores.attempts
    length_by_response = response_lengths(attempts["response"].tolist())
    lengths = np.array([length_by_response.get(pk, 0) for pk in attempts["response"].tolist()], dtype=np.float64)
    n = int(scores.prompts.max(initial=-1)) + 1
    counts = np.bincount(attempts["prompt"], minlength=n)
    sums = np.bincount(attempts["prompt"], weights=lengths, minlength=n)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    by_case: np.ndarray = means[scores.prompts]
    return by_case


def slices_content(
    dimensions: Sequence[Dimension],
    data: BoardData,
    system_ids: Sequence[int],
    *,
    clip: Clip | None,
    scale: ScoreScale,
) -> list[ReportContent]:
    """Return every system on every slice in every mode, with claims against the system's other slices."""
    return [
        {
            "dimension": dimension.name,
            "columns": [{"name": name, "cases": n} for name, n in dimension.cases.items()],
            "left_out": dimension.left_out,
            "cells": {
                mode.value: {
                    str(pk): [_cell(mean, claim, clip, scale) for mean, claim in row]
                    for pk, row in zip(
                        system_ids, system_slices(data, list(dimension.slices.values()), mode), strict=True
                    )
                }
                for mode in MeanKind
            },
        }
        for dimension in dimensions
    ]


def _cell(mean: Estimate, against_rest: Claim, clip: Clip | None, scale: ScoreScale) -> ReportContent:
    return {"mean": figure(_clipped(mean, clip), scale), "rest": claim_content(against_rest, scale.differences)}


def claim_content(claim: Claim, scale: ScoreScale) -> ReportContent:
    """Return a claim as reports store it: `sign` is 1 or -1 where it holds, else 0."""
    value = claim.difference.value
    sign = 0 if value is None or not claim.holds else 1 if value > 0 else -1
    difference = figure(claim.difference, scale)
    return {"difference": difference, "p_value": claim.p_value, "holm_p": claim.holm_p, "sign": sign}


TITLES = {"scenario": "scenario", "type": "question type", "lang": "language", "length": "length of the responses"}


def shown_slices(content: ReportContent, *, mode: MeanKind) -> list[ReportContent]:
    """Return the slices of a stored leaderboard for its page: a row for each system, best first, cells with shades."""
    return [
        {
            "title": TITLES[part["dimension"]],
            "columns": part["columns"],
            "left_out": part["left_out"],
            "claims": sum(cell["rest"]["sign"] != 0 for row in part["cells"][mode].values() for cell in row),
            "rows": [
                {
                    "system": row["system"],
                    "cells": [
                        cell | {"shade": shade(cell["mean"]["value"])}
                        for cell in part["cells"][mode][str(row["system_id"])]
                    ],
                }
                for row in content["rows"]
            ],
        }
        for part in content["slices"]
    ]


def shown_pair_slices(content: ReportContent, *, mode: MeanKind) -> list[ReportContent]:
    """Return the slices of a stored comparison for its page, each with the difference of the two systems."""
    return [
        {
            "title": TITLES[part["dimension"]],
            "left_out": part["left_out"],
            "rows": [column | claim for column, claim in zip(part["columns"], part["claims"][mode], strict=True)],
        }
        for part in content["slices"]
    ]


MODES = tuple(MeanKind)
RAW = MeanKind.RAW
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
    score_scale: ScoreScale
    without_numbers: frozenset[int]  # systems all of whose audited labels are names


def compute_leaderboard(evaluator_id: int, options: Options) -> ReportContent:
    """Return one evaluator's leaderboard under the options scenario, lang, type, missing and looks.

    With the option `evaluators` it is that of the newest score of each response by all of these, newest run first.
    """
    evaluators = _evaluators(evaluator_id, options)
    evaluator, suite = evaluators[0], _suite(evaluators, options)
    boards = {mode: board(suite.data, mode) for mode in MODES}
    return {
        "evaluator": _described(evaluator, suite.score_scale),
        "reduce_mode": suite.scores.reduce_mode,
        "n_cases": len(suite.scores.cases),
        "rows": best_first([_row(suite, boards, row) for row in range(len(suite.system_ids))], RAW),
        "pairs": {mode.value: [_pair(pair, suite, mode) for pair in ranked.pairs] for mode, ranked in boards.items()},
        "matrix": _matrix(suite),
        "slices": slices_content(
            dimensions_of(suite.scores), suite.data, suite.system_ids, clip=suite.clip, scale=suite.score_scale
        ),
        "filters": _filters(evaluator),
    }


def board_of_run(evaluator: RunEvaluator) -> ReportContent:
    """Return the leaderboard of an evaluator by its run, computed and stored where the stored one is not current."""
    return snapshots.up_to_date(LEADERBOARD, subject_id=evaluator.pk, options={}, at=timezone.now()).content


def board_of(evaluators: Sequence[RunEvaluator]) -> ReportContent:
    """Return that of the newest scores by these evaluators, whose runs are loaded."""
    options, at = version_options(evaluators), timezone.now()
    return snapshots.up_to_date(LEADERBOARD, subject_id=evaluators[0].pk, options=options, at=at).content


def version_options(evaluators: Sequence[RunEvaluator]) -> dict[str, list[int]]:
    """Return the options of the leaderboard of the newest scores by these evaluators.

    That of a single one is its run's own, unless responses that it scored have been replaced.
    """
    is_of_run = len(evaluators) == 1 and not has_replaced(evaluators)
    return {} if is_of_run else {"evaluators": [row.pk for row in evaluators]}


def compute_changes(evaluator: RunEvaluator, before: RunEvaluator, options: Options) -> list[ReportContent]:
    """Return how the raw mean of each system changed since `before`, paired by case, adjusted for their number.

    Only systems and cases that both have. Raises: ValueError where the two are on different scales.
    """
    suite, earlier = _suite([evaluator], options), _suite([before], options)
    apart = suite.score_scale.why_apart(earlier.score_scale)
    if apart:
        raise ValueError(apart)
    places = {case.pk: column for column, case in enumerate(earlier.scores.cases)}
    shared = [(column, places[case.pk]) for column, case in enumerate(suite.scores.cases) if case.pk in places]
    now_columns, before_columns = np.array(shared, dtype=np.int64).reshape(-1, 2).T
    system_ids = [pk for pk in suite.system_ids if pk in earlier.system_ids]
    count = len(system_ids)
    judge = np.concatenate(
        [
            part.data.judge[[part.system_ids.index(pk) for pk in system_ids]][:, columns]
            for part, columns in ((suite, now_columns), (earlier, before_columns))
        ]
    )
    none = np.zeros(judge.shape, dtype=bool)
    data = BoardData(judge, np.full(judge.shape, np.nan), none, none, scale_ends(judge, lowest=suite.data.scale.low))
    pairs = compared_pairs({(row, row + count): pair_difference(data, row, row + count, RAW) for row in range(count)})
    return [
        {
            "system": suite.scores.systems[pk],
            "difference": figure(pair.difference.estimate, suite.score_scale.differences),
            "adjusted_p": pair.adjusted_p,
            "is_worse": pair.better == pair.second,
        }
        for pk, pair in zip(system_ids, pairs, strict=True)
    ]


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
        "evaluator": _described(evaluator, suite.score_scale),
        "systems": [{"id": pk, "name": scores.systems.get(pk, "")} for pk in (first, second)],
        "n_cases": len(rows),
        "wins": wins,
        **_length_control(rows),
        "slices": _pair_slices(suite, row_by_system[first], row_by_system[second]) if rows else [],
        "cases": rows,
    }


def _pair_slices(suite: _Suite, first: int, second: int) -> list[ReportContent]:
    """Return the first system minus the second within every slice, in every mode."""
    data, scale = suite.data.systems([first, second]), suite.score_scale.differences
    return [
        {
            "dimension": dimension.name,
            "columns": [{"name": name, "cases": n} for name, n in dimension.cases.items()],
            "left_out": dimension.left_out,
            "claims": {
                mode.value: [
                    claim_content(claim, scale) for claim in pair_slices(data, list(dimension.slices.values()), mode)
                ]
                for mode in MeanKind
            },
        }
        for dimension in dimensions_of(suite.scores)
    ]


def _length_control(rows: Sequence[ReportContent]) -> ReportContent:
    """Return how often the judge's scores prefer the first system, ties half, as it is and at equal length."""
    both = [row for row in rows if all(row["responses"])]
    lengths = response_lengths(pk for row in both for pk in row["responses"])
    estimates = length_control(
        [(1 + float(np.sign(row["difference"]))) / 2 for row in both],
        [lengths[row["responses"][0]] - lengths[row["responses"][1]] for row in both],
        [row["case_id"] for row in both],
    )
    names = ("win_rate", "equal_length", "length_effect")
    return {name: figure(estimate) for name, estimate in zip(names, estimates, strict=True)}


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


def _described(evaluator: RunEvaluator, scale: ScoreScale) -> ReportContent:
    return {
        "id": evaluator.pk,
        "name": evaluator.name,
        "kind": evaluator.kind,
        "is_baseline": evaluator.is_baseline,
        "run_id": evaluator.run_id,
        "run_name": evaluator.run.name,
        "scale": scale.to_json(),
    }


def _clipped(mean: Estimate, clip: Clip | None) -> Estimate:
    return within(mean, *clip) if clip else mean


def _evaluators(evaluator_id: int, options: Options) -> list[RunEvaluator]:
    return evaluators_with_run(options.get("evaluators") or [evaluator_id])


def _suite(evaluators: Sequence[RunEvaluator], options: Options) -> _Suite:
    newest = evaluators[0]
    scores = read_scores(evaluators, options, is_newest=bool(options.get("evaluators")))
    labels = _labels(evaluators)
    people = np.where(scores.missing, scores.shares, np.nan)
    drawn = np.zeros(scores.shares.shape, dtype=bool)
    for row, column, attempts in scores.among(labels):
        is_scored = not np.isnan(scores.shares[row, column])
        attempt_labels = [labels.get(pk) for pk in attempts["response"].tolist()]
        share = _case_share(attempt_labels, scores.reduce_mode, is_scored=is_scored)
        drawn[row, column] = any(label is not None and label.is_drawn for label in attempt_labels)
        people[row, column] = np.nan if share is None else share
    cuts = ends_of_strata(evaluator.run_id for evaluator in evaluators)
    strata = np.searchsorted(cuts, [case.prompt_id for case in scores.cases]) if len(cuts) > 1 else None
    planned = int(drawn.any(axis=0).sum()) if options.get("looks") else 0
    scale = score_scale_of(newest)
    ends = scale_ends(scores.shares, people, lowest=scale.lowest_share)
    data = BoardData(scores.shares, people, drawn, scores.missing, ends, planned, strata)
    system_ids = tuple(scores.systems)
    owned = _labels_by_system(scores, labels)
    return _Suite(
        scores,
        data,
        system_ids,
        {pk: sum(bool(label.label) for label in owned[pk]) for pk in system_ids},
        clip_of(newest),
        scale,
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
    return shares[0] if len(shares) == 1 else reduce_scores(shares, reduce_mode)[0]


def _labels_by_system(scores: SuiteScores, labels: Mapping[int, SubjectLabel]) -> dict[int, list[SubjectLabel]]:
    by_system: dict[int, list[SubjectLabel]] = {pk: [] for pk in scores.systems}
    system_ids = list(scores.systems)
    for attempt in scores.attempts[np.isin(scores.attempts["response"], list(labels))]:
        by_system[system_ids[attempt["system"]]].append(labels[int(attempt["response"])])
    return by_system


def _has_no_numbers(labels: Sequence[SubjectLabel]) -> bool:
    decided = [label for label in labels if label.is_drawn and label.label]
    return bool(decided) and all(label.share is None for label in decided)


def scale_ends(*columns: Floats, lowest: float) -> Scale:
    """Return the range from the share of a scale's lowest number to 1.

    It is widened where an evaluator gives less than nothing or more than everything, or a case without a response
    counts less than the lowest number.
    """
    values = np.concatenate([column[~np.isnan(column)] for column in columns])
    return Scale(min(lowest, float(values.min())), max(1.0, float(values.max()))) if values.size else Scale(lowest)


def best_first(rows: Sequence[ReportContent], mode: str) -> list[ReportContent]:
    """Return rows of a leaderboard by their mean in a mode; those without one come last."""
    return sorted(
        rows, key=lambda row: (row["figures"][mode]["value"] is None, -(row["figures"][mode]["value"] or 0.0))
    )


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
            mode.value: figure(_shown(suite, pk, mode, ranked.figures[row]), suite.score_scale)
            for mode, ranked in boards.items()
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
        "difference": figure(difference, suite.score_scale.differences),
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
            str(pk): [_board_cell(suite, part, row, mode) for part in parts] for row, pk in enumerate(suite.system_ids)
        }
        for mode in MODES
    }
    return {"dimension": dimension, "columns": names, "cells": cells}


def _board_cell(suite: _Suite, part: BoardData, row: int, mode: MeanKind) -> ReportContent:
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


LEADERBOARD = kind_over("leaderboard", _evaluators, compute_leaderboard)
COMPARISON = kind_over("comparison", _evaluators, compute_comparison)


def compute_breakdown(evaluator_id: int, options: Options) -> ReportContent:
    """Return the rows of the grading report for each system."""
    [evaluator] = evaluators_with_run([evaluator_id])
    run = evaluator.run
    cases = run_cases(run)
    tables = []
    for pk, name in run.systems.order_by("name", "pk").values_list("pk", "name"):
        report = rule_report(evaluator, system_id=pk, cases=cases)
        rows = [
            {
                "dimension": row.dimension,
                "name": row.name,
                "mean": row.mean,
                "std": row.std,
                "full": row.full_score,
                "share": row.share,
                "cases": row.cases,
            }
            for row in report.rows
        ]
        tables.append(
            {
                "system_id": pk,
                "system": name,
                "groups": report.groups,
                "left_out": list(report.left_out),
                "rows": rows,
            }
        )
    compat = bool(run.options.get("compat"))
    return {
        "group_size": group_size(mode=run.suite.attempt_reduce_mode, compat=compat),
        "is_best_of_all": run.suite.attempt_reduce_mode == "max" and not compat,
        "notes": [SHARE_ROWS_NOTE, METRIC_ROWS_NOTE] if compat else [METRIC_ROWS_NOTE],
        "tables": tables,
    }


BREAKDOWN = kind_over("breakdown", _evaluators, compute_breakdown)
