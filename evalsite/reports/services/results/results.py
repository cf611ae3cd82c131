"""The scores of one grader, response by response, stored as columns of numbers that a page filters and sorts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalsite.reports.selectors.data_versions import evaluators_version
from evalsite.reports.selectors.leaderboards import evaluators_with_run
from evalsite.reports.selectors.options import Options
from evalsite.reports.selectors.results.case_scores import SuiteScores, read_newest_scores
from evalsite.reports.services.results.cells import MAX_ATTEMPTS, ResultCells
from evalsite.reports.services.snapshots import ComputedReport, ReportKind
from evalsite.review.selectors.labels.final_labels import LabelReader
from judging.models import RunEvaluator


def compute_results(evaluator_id: int, options: Options) -> ComputedReport:
    """Return the names of systems, scenarios and languages, and the packed cells of the option `evaluators`."""
    evaluators = evaluators_with_run(options["evaluators"])
    scores = read_newest_scores(evaluators, {"missing": "skip"}, whole_suite=True)
    scenarios = sorted({case.scenario for case in scores.cases})
    languages = sorted({case.lang for case in scores.cases})
    cells = ResultCells(
        shares=scores.shares.astype(np.float32),
        labels=_labels(evaluators, scores),
        responses=scores.firsts,
        attempts=_attempt_counts(scores),
        cases=np.array([case.pk for case in scores.cases], dtype=np.int64),
        scenarios=np.array([scenarios.index(case.scenario) for case in scores.cases], dtype=np.int16),
        languages=np.array([languages.index(case.lang) for case in scores.cases], dtype=np.int16),
    )
    names = [{"id": pk, "name": name} for pk, name in scores.systems.items()]
    return ComputedReport({"systems": names, "scenarios": scenarios, "languages": languages}, cells.pack())


def _labels(evaluators: Sequence[RunEvaluator], scores: SuiteScores) -> np.ndarray:
    """Return people's final labels of the first attempts, whichever run these were requested for."""
    reader, shares = LabelReader(), dict[int, float]()
    for evaluator in reversed(evaluators):
        shares |= {row.response_ids[0]: row.share for row in reader.labels_of(evaluator) if row.share is not None}
    ids = np.fromiter(sorted(shares), dtype=np.int64)
    if not len(ids):
        return np.full(scores.firsts.shape, np.nan, dtype=np.float32)
    values = np.array([shares[pk] for pk in ids.tolist()], dtype=np.float32)
    places = np.minimum(np.searchsorted(ids, scores.firsts), len(ids) - 1)
    return np.where(ids[places] == scores.firsts, values[places], np.float32(np.nan))


def _attempt_counts(scores: SuiteScores) -> np.ndarray:
    shape = scores.shares.shape[0], int(scores.prompts.max(initial=-1)) + 1
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, (scores.attempts["system"], scores.attempts["prompt"]), 1)
    return np.minimum(counts[:, scores.prompts], MAX_ATTEMPTS).astype(np.uint8)


def _data_version(evaluator_id: int, options: Options) -> str:
    return evaluators_version(evaluators_with_run(options["evaluators"]))


def _rows_to_read(evaluator_id: int, options: Options) -> int:
    return sum(evaluator.total for evaluator in evaluators_with_run(options["evaluators"]))


RESULTS = ReportKind("results", _data_version, _rows_to_read, compute_results)
