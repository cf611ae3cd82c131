"""The board of a suite: every grader and version of a judge over all its runs, people and corrected means beside them.

A column's means are those of the leaderboard of its grader, read from the cached report where that is current.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evalsite.base.json_types import JsonDict
from evalsite.base.tables import Table
from evalsite.reports.selectors.data_versions import evaluators_version
from evalsite.reports.selectors.leaderboards import evaluators_with_run
from evalsite.reports.selectors.options import Options
from evalsite.reports.selectors.run_facts import calls_paid_by, judges_among
from evalsite.reports.services.boards.leaderboards import board_of
from evalsite.reports.services.judges.judge_records import rows_of_judge
from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.services.snapshots import ReportKind
from judging.judges.replies.reply_rows import record_of
from judging.models import RunEvaluator
from judging.statistics.estimates import Ints
from judging.statistics.estimators.boards import MeanKind

EXPORT_COLUMNS = ("system", "scored_by", "mean", "value", "low", "high", "n", "rank_first", "rank_last", "unscored")


def compute_suite_board(suite_id: int, options: Options) -> ReportContent:
    """Return a row for each system with a cell by column, and the cost and time of each grader.

    The option `graders` is a list of lists of evaluators, newest run first. Each has a column of its own; people have
    one behind the grader with most of their labels, and a corrected mean stands behind the grader that it corrects.
    """
    graders = [evaluators_with_run(pks) for pks in options["graders"]]
    boards = [board_of(evaluators) for evaluators in graders]
    labels = [sum(row["human"] for row in board["rows"]) for board in boards]
    most_labelled = labels.index(max(labels)) if any(labels) else None
    columns = []
    for number, board in enumerate(boards):
        columns.append((number, MeanKind.RAW))
        columns += [(number, MeanKind.CORRECTED)] if _has(board, MeanKind.CORRECTED) else []
        columns += [(number, MeanKind.HUMAN)] if number == most_labelled and _has(board, MeanKind.HUMAN) else []
    by_system = [{row["system_id"]: row for row in board["rows"]} for board in boards]
    names = {row["system_id"]: row["system"] for board in boards for row in board["rows"]}
    judges = judges_among([row for evaluators in graders for row in evaluators])
    paid = {run_id: calls_paid_by(run_id) for run_id in {row.run_id for row in judges}}
    return {
        "graders": [
            {
                "id": evaluators[0].pk,
                "runs": len(evaluators),
                "systems": len(board["rows"]),
                **_calls_taken(evaluators, paid),
            }
            for evaluators, board in zip(graders, boards, strict=True)
        ],
        "columns": [{"grader": number, "mode": mode.value} for number, mode in columns],
        "rows": [
            {"system_id": pk, "system": name, "cells": [_cell(by_system[n].get(pk), mode) for n, mode in columns]}
            for pk, name in names.items()
        ],
    }


def board_table(content: ReportContent, labels: Sequence[str]) -> Table:
    """Return a board as a table with a line for each figure; `labels` are the names of its graders."""

    def rows() -> Iterator[JsonDict]:
        for row in content["rows"]:
            for column, cell in zip(content["columns"], row["cells"], strict=True):
                if cell is not None:
                    figures = {name: cell["figure"][name] for name in ("value", "low", "high", "n")}
                    first, last = cell["ranks"] or (None, None)
                    figures |= {"rank_first": first, "rank_last": last, "unscored": cell["unscored"]}
                    yield {
                        "system": row["system"],
                        "scored_by": labels[column["grader"]],
                        "mean": column["mode"],
                        **figures,
                    }

    return Table("board", EXPORT_COLUMNS, rows())


def _has(board: ReportContent, mode: MeanKind) -> bool:
    return any(row["figures"][mode.value]["value"] is not None for row in board["rows"])


def _cell(row: ReportContent | None, mode: MeanKind) -> ReportContent | None:
    """Return one figure with its ranks; None where the grader has not been asked about the system."""
    if row is None:
        return None
    return {"figure": row["figures"][mode.value], "ranks": row["ranks"][mode.value], "unscored": row["unscored"]}


def _calls_taken(evaluators: Sequence[RunEvaluator], paid: Mapping[int, Ints]) -> ReportContent:
    """Return what the calls of a judge cost and how long one took on average; nothing for graders that make no calls.

    `paid` are the calls that each run was the first to make.
    """
    judges = judges_among(list(evaluators))
    rows_by_judge = rows_of_judge(judges)
    parts = [rows_by_judge[row.pk].paid_among(paid[row.run_id]) for row in judges]
    if not any(len(rows.calls) for rows in rows_by_judge.values()):
        return {"asks": False}
    spent = record_of(parts).spent
    return {"asks": True, "calls": spent.calls, "cost": spent.known_cost, "seconds_mean": spent.seconds_mean}


def _data_version(suite_id: int, options: Options) -> str:
    return evaluators_version(evaluators_with_run([pk for pks in options["graders"] for pk in pks]))


def _rows_to_read(suite_id: int, options: Options) -> int:
    return sum(row.total for row in evaluators_with_run([pk for pks in options["graders"] for pk in pks]))


SUITE_BOARD = ReportKind("suite-board", _data_version, _rows_to_read, compute_suite_board)
