"""Slices of a leaderboard: parts of the suite by scenario, question type, language and length of the responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalsite.reports.selectors.results.case_scores import SuiteScores
from evalsite.reports.selectors.results.response_facts import response_lengths
from evalsite.reports.services.paper_tables import Basis, PaperTable
from evalsite.reports.services.report_content import ReportContent, figure
from evalsite.reports.services.shown_rows import shade
from judging.statistics.estimates import within
from judging.statistics.estimators.boards import BoardData, Flags, MeanKind
from judging.statistics.estimators.slices import (
    Claim,
    SliceFigure,
    length_bands,
    pair_slices,
    system_slices,
)

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
    dimensions: Sequence[Dimension], data: BoardData, system_ids: Sequence[int], *, clip: tuple[float, float] | None
) -> list[ReportContent]:
    """Return every system on every slice in every mode, with claims against the system's other slices."""
    return [
        {
            "dimension": dimension.name,
            "columns": [{"name": name, "cases": n} for name, n in dimension.cases.items()],
            "left_out": dimension.left_out,
            "cells": {
                mode.value: {
                    str(pk): [_cell(cell, clip) for cell in row]
                    for pk, row in zip(
                        system_ids, system_slices(data, list(dimension.slices.values()), mode), strict=True
                    )
                }
                for mode in MeanKind
            },
        }
        for dimension in dimensions
    ]


def _cell(cell: SliceFigure, clip: tuple[float, float] | None) -> ReportContent:
    mean = within(cell.mean, *clip) if clip else cell.mean
    return {"mean": figure(mean), "rest": claim_content(cell.against_rest)}


def claim_content(claim: Claim) -> ReportContent:
    """Return a claim as reports store it: `sign` is 1 or -1 where it holds, else 0."""
    value = claim.difference.value
    sign = 0 if value is None or not claim.holds else 1 if value > 0 else -1
    return {"difference": figure(claim.difference), "p_value": claim.p_value, "holm_p": claim.holm_p, "sign": sign}


def pair_slices_content(dimensions: Sequence[Dimension], data: BoardData) -> list[ReportContent]:
    """Return the first system minus the second within every slice, in every mode."""
    return [
        {
            "dimension": dimension.name,
            "columns": [{"name": name, "cases": n} for name, n in dimension.cases.items()],
            "left_out": dimension.left_out,
            "claims": {
                mode.value: [claim_content(claim) for claim in pair_slices(data, list(dimension.slices.values()), mode)]
                for mode in MeanKind
            },
        }
        for dimension in dimensions
    ]


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


def slice_table(content: ReportContent, *, mode: MeanKind) -> PaperTable:
    """Return every system on every slice in one mode, one line each."""
    rows = [
        {
            "dimension": part["dimension"],
            "slice": column["name"],
            "system": row["system"],
            "mean": cell["mean"],
            "against_rest": cell["rest"]["difference"],
            "p_value": cell["rest"]["p_value"],
            "holm_p": cell["rest"]["holm_p"],
        }
        for part in content["slices"]
        for row in content["rows"]
        for column, cell in zip(part["columns"], part["cells"][mode][str(row["system_id"])], strict=True)
    ]
    basis = Basis(
        {"mean_of": mode.value}, f"Means: {mode.value}. p by Holm over all slices and systems of a dimension."
    )
    columns = ("dimension", "slice", "system", "mean", "against_rest", "p_value", "holm_p")
    return PaperTable("Systems by slice", basis, columns, rows, figures=("mean", "against_rest"), keys=3)
