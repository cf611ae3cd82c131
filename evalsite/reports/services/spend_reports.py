"""What every call of the ledger cost, by day, run, endpoint and judge, as a cached report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from evalsite.reports.selectors import spend
from evalsite.reports.selectors.options import Options
from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.services.snapshots import ReportKind
from judging.judges.spend_rows import NOBODY, attribute, cells_of, cells_to_json
from judging.judges.versions import HASH_SHOWN
from judging.models import SCORED_KINDS, RunEvaluator, RunKind
from judging.selectors.judges.judge_versions import versions_of
from judging.statistics.estimates import Ints


class OtherAsker(StrEnum):
    """Who asked for calls that belong to no judge, or to none that can be told."""

    AGENTS = "Agents in debates"
    RESPONSES = "Responses of ESI runs"
    UNKNOWN = "Calls without a verdict"
    TESTS = "Tests and trials outside of runs"


OF_KIND: dict[str | None, OtherAsker] = {  # by the kind of run; None: no run
    None: OtherAsker.TESTS,
    RunKind.DEBATE: OtherAsker.AGENTS,
    RunKind.ESI: OtherAsker.RESPONSES,
}


def compute_spend(subject_id: int, options: Options) -> ReportContent:
    """Return the sums of the whole ledger as columns, with the judges that the column `judges` numbers."""
    called = spend.read_called()
    attributed = attribute(called, spend.read_used())
    reused_calls = called[attributed.indexes]
    runs = spend.run_facts()
    askers = _Askers(spend.asking_evaluators(), {key: kind for key, (kind, _) in runs.items()}, spend.named_endpoints())
    of_calls = _numbers(askers, attributed.evaluators, called["runs"], called["endpoints"])
    of_reuses = _numbers(askers, attributed.reuses["evaluators"], attributed.reuses["runs"], reused_calls["endpoints"])
    cells = cells_to_json(cells_of(called, attributed, judges=of_calls, reuse_judges=of_reuses))
    people = [runs[run][1] if run in runs else NOBODY for run in cells["runs"]]
    return {"judges": askers.rows, "cells": cells | {"people": people}}


@dataclass(slots=True)
class _Askers:
    """The judges of a report, each numbered by its place in `rows`."""

    evaluators: Sequence[RunEvaluator]
    kinds: dict[int, str]  # of runs
    endpoints: dict[int, tuple[str, str]]  # name and model
    rows: list[ReportContent] = field(default_factory=list)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _by_key: dict[int, int] = field(default_factory=dict)
    _by_place: dict[tuple[int, int], set[int]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        versions = versions_of(self.evaluators)
        for row in self.evaluators:
            version = versions[row.pk]
            number = self._number(row.name, version.key, version.model, is_judge=True)
            self.rows[number]["has_report"] |= row.run.kind in SCORED_KINDS
            self._by_key[row.pk] = number
            if row.judge is not None and row.judge.endpoint_id is not None:
                self._by_place[row.run_id, row.judge.endpoint_id].add(number)

    def number_of(self, evaluator: int, run: int, endpoint: int) -> int:
        """Return who asked: the evaluator, else the only judge of a run that asks this endpoint."""
        if evaluator in self._by_key:
            return self._by_key[evaluator]
        kind = self.kinds.get(run)
        judges = self._by_place.get((run, endpoint), set())
        if kind not in OF_KIND and len(judges) == 1:
            return next(iter(judges))
        name, model = self.endpoints.get(endpoint, ("", ""))
        return self._number(OF_KIND.get(kind, OtherAsker.UNKNOWN), name, model or name, is_judge=False)

    def _number(self, name: str, version: str, model: str, *, is_judge: bool) -> int:
        key = name, version
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            self.rows.append(
                {
                    "name": str(name),
                    "version": version if is_judge else "",
                    "detail": f"{model or 'no model'} · {version[:HASH_SHOWN] if is_judge else version}",
                    "has_report": False,
                }
            )
        return self._numbers[key]


def _numbers(askers: _Askers, evaluators: Ints, runs: Ints, endpoints: Ints) -> Ints:
    """Return the number of who asked, for each call."""
    keys = np.stack([np.asarray(column, np.int64) for column in (evaluators, runs, endpoints)])
    order = np.lexsort(keys)
    keys = keys[:, order]
    starts = np.flatnonzero(np.concatenate([np.ones(min(1, len(order)), bool), (keys[:, 1:] != keys[:, :-1]).any(0)]))
    numbers = [askers.number_of(*key) for key in keys[:, starts].T.tolist()]
    by_call = np.empty(len(order), np.int64)
    by_call[order] = np.repeat(np.asarray(numbers, np.int64), np.diff(np.append(starts, len(order))))
    return by_call


def _data_version(subject_id: int, options: Options) -> str:
    return spend.spend_version()


def _rows_to_read(subject_id: int, options: Options) -> int:
    return spend.ledger_size()


SPEND = ReportKind("spend", _data_version, _rows_to_read, compute_spend)
