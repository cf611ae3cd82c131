"""The board of a suite: every grader and version of a judge over all its runs, people and corrected means beside them.

A column's means are those of the leaderboard of its grader, read from the cached report where that is current.

Gates that are stored for a suite are checked on its boards.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.formats import ScoreScale, scale_of_figure
from evalsite.base.rows import BadInput, pick
from evalsite.base.signals import certificate_lapsed, gate_fell
from evalsite.base.types import JsonDict, Refused
from evalsite.reports.models import OfficialBoard, StoredGate
from evalsite.reports.selectors.leaderboards import (
    Grader,
    Options,
    calls_paid_by,
    evaluators_of,
    evaluators_of_run,
    evaluators_with_run,
    failures_by_evaluator,
    judges_among,
    results_version,
    task_count,
)
from evalsite.reports.services.calibration import certificate_states
from evalsite.reports.services.charts import Point, SharedAxis, Tick, common_axis, round_step, shade
from evalsite.reports.services.judge_rows import rows_of_judge
from evalsite.reports.services.leaderboards import best_first, board_of, board_of_run
from evalsite.reports.services.publications import (
    GateRefused,
    RuleOutcome,
    RuleStatus,
    Threshold,
    read_threshold,
    threshold_outcome,
)
from evalsite.reports.services.snapshots import ReportContent, ReportKind, baseline_figure, figure, kind_over
from evalsite.review.audit_plans import ENOUGH_CASES, width_with_more
from evalsite.review.models import Certificate
from judging.judges.reply_rows import ReplyRows, record_of
from judging.judges.subjects import VerdictStatus, failure_in_words
from judging.models import Run, RunEvaluator, RunKind, Suite
from judging.models.runs import RunStatus
from judging.specs.selections import selection_from_json
from judging.statistics.estimates import Ints, MeanKind, undefined


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
        "rows": _rows(boards, [evaluators[0].compared_with for evaluators in graders], columns),
    }


def _rows(
    boards: Sequence[ReportContent], baselines: Sequence[str], columns: Sequence[tuple[int, MeanKind]]
) -> list[ReportContent]:
    """Return every system that was scored, in the order of the first board, with a cell for each board and mean.

    `baselines` are the names of the systems that the boards compare with. Those have no figure on them.
    """
    names = {row["system_id"]: row["system"] for board in boards for row in board["rows"]}
    by_system = [{row["system_id"]: row for row in board["rows"]} for board in boards]
    return [
        {
            "system_id": pk,
            "system": name,
            "cells": [_cell(by_system[n].get(pk), mode, is_baseline=name == baselines[n]) for n, mode in columns],
        }
        for pk, name in names.items()
    ]


def _has(board: ReportContent, mode: MeanKind) -> bool:
    return any(row["figures"][mode.value]["value"] is not None for row in board["rows"])


_NONE_LACKING = {"unscored": 0, "missing": 0}


def _cell(row: ReportContent | None, mode: MeanKind, *, is_baseline: bool) -> ReportContent | None:
    """Return one figure with its ranks; None where the grader has not been asked about the system."""
    if row is None:
        return {"figure": baseline_figure(), "ranks": None, **_NONE_LACKING} if is_baseline else None
    lacking = {name: row[name] for name in _NONE_LACKING}  # a score of a response, or a response
    return {"figure": row["figures"][mode.value], "ranks": row["ranks"][mode.value], **lacking}


def _calls_taken(evaluators: Sequence[RunEvaluator], paid: Mapping[int, Ints]) -> ReportContent:
    """Return what the calls of a judge cost and how long one took on average; nothing for graders that make no calls.

    `paid` are the calls that each run was the first to make.
    """
    judges = judges_among(list(evaluators))
    rows_by_judge = rows_of_judge(judges)
    parts = [rows_by_judge[row.pk].paid_among(paid[row.run_id]) for row in judges]
    if not any(len(rows.calls) for rows in rows_by_judge.values()):
        return {"asks": False}
    return {"asks": True, **_told(parts)}


def _told(parts: Sequence[ReplyRows]) -> ReportContent:
    spent = record_of(parts).spent
    return {
        "calls": spent.calls,
        "cost": spent.known_cost,
        "unpriced": spent.unpriced,
        "seconds": spent.seconds,
        "seconds_mean": spent.seconds_mean,
    }


def _graders(suite_id: int, options: Options) -> list[RunEvaluator]:
    return evaluators_with_run([pk for pks in options["graders"] for pk in pks])


SUITE_BOARD = kind_over("suite-board", _graders, compute_suite_board)


MEAN_WORDS = {"raw": "", "corrected": "corrected", "human": "human only"}


def suite_board(content: ReportContent, graders: Sequence[Grader]) -> JsonDict:
    """Return the columns of a suite's board with the cost and time of their graders, and the rows with their cells."""
    columns = [
        content["graders"][column["grader"]]
        | {
            "grader": grader.key,
            "label": grader.label,
            "caveat": grader.newest.caveat,
            "mode": column["mode"],
            "words": MEAN_WORDS[column["mode"]],
        }
        for column in content["columns"]
        for grader in (graders[column["grader"]],)
    ]
    rows = [
        row
        | {
            "cells": [
                (cell or {}) | {"grader": column["grader"], "mode": column["mode"]}
                for cell, column in zip(row["cells"], columns, strict=True)
            ]
        }
        for row in content["rows"]
    ]
    return {"columns": columns, "rows": rows}


def leaderboard_rows(content: ReportContent, *, mode: str, sort: str) -> list[ReportContent]:
    """Return the rows with figure, ranks, bounds and win rate of one mode, sorted; those without a value come last."""
    rows = [
        row
        | {
            "figure": row["figures"][mode],
            "ranks": row["ranks"][mode],
            "bounds": row["bounds"][mode],
            "win_rate": row["wins"][mode],
        }
        for row in content["rows"]
    ]
    keys: dict[str, Callable[[ReportContent], Any]] = {
        "rank": lambda row: row["ranks"] and tuple(row["ranks"]),
        "system": lambda row: row["system"].lower(),
        "score": lambda row: row["figure"]["value"],
        "wins": lambda row: row["win_rate"]["value"],
        "scored": lambda row: row["scored"],
        "audited": lambda row: row["decided"],
    }
    by_score = best_first(rows, mode)
    field = sort.removeprefix("-")
    if field not in keys:
        return by_score
    with_key = [row for row in by_score if keys[field](row) is not None]
    without_key = [row for row in by_score if keys[field](row) is None]
    return sorted(with_key, key=keys[field], reverse=sort.startswith("-")) + without_key


def few_labels(rows: Sequence[ReportContent], *, cases: int) -> JsonDict | None:
    """Return the system with the fewest audited cases, if these are few, and what more would give; else None."""
    known = [row for row in rows if row["figure"]["low"] is not None and row["figure"]["n"] < min(ENOUGH_CASES, cases)]
    if not known:
        return None
    fewest = min(known, key=lambda row: row["figure"]["n"])
    figure, more = fewest["figure"], min(ENOUGH_CASES, cases)
    width = figure["high"] - figure["low"]
    share = min(1.0, max(0.0, figure["value"]))
    expected = width_with_more(share, width, n=figure["n"], more=more, cases=cases)
    return {"system": fewest["system"], "n": figure["n"], "width": width, "more": more, "expected": expected}


def matrix_rows(content: ReportContent, *, mode: str) -> list[ReportContent]:
    """Return the result matrix by system, best first, each cell with its shade."""
    cells = content["matrix"]["cells"][mode]
    return [
        {
            "system_id": row["system_id"],
            "system": row["system"],
            "cells": [cell | {"shade": shade(cell["mean"])} for cell in cells[str(row["system_id"])]],
        }
        for row in content["rows"]
    ]


def find_pair(content: ReportContent, first: int, second: int, *, mode: str) -> ReportContent | None:
    """Return the paired difference first minus second, turned round where it is stored the other way."""
    for pair in content["pairs"][mode]:
        if (pair["first"], pair["second"]) == (first, second):
            return dict(pair)
        if (pair["first"], pair["second"]) == (second, first):
            difference = pair["difference"]
            turned = {end: None if difference[end] is None else -difference[end] for end in ("value", "low", "high")}
            turned["low"], turned["high"] = turned["high"], turned["low"]
            return {**pair, "first": first, "second": second, "difference": {**difference, **turned}}
    return None


WIDTH, LEFT, RIGHT, TOP, BOTTOM = 640, 190, 24, 34, 40
ROW_HEIGHT, GAP = 44, 11  # of a system's row, and between its three means
MAX_SYSTEMS = 50  # the best; the table has all
NAME_LETTERS = 26
LEGEND = {
    MeanKind.RAW: (LEFT, "Raw"),
    MeanKind.HUMAN: (LEFT + 70, "Human only"),
    MeanKind.CORRECTED: (LEFT + 175, "Corrected"),
}


@dataclass(frozen=True, slots=True)
class BoardRow:
    """The means of one system, whose intervals lie along the row; what `says` says stands below its name."""

    name: str
    says: str
    y: float
    dots: tuple[tuple[str, Point], ...]  # by the kind of mean


@dataclass(frozen=True, slots=True)
class BoardChart:
    """A chart ready to be drawn."""

    title: str
    rows: tuple[BoardRow, ...]
    ticks: tuple[Tick, ...]
    keys: tuple[tuple[str, float, str], ...]  # of the legend: a mean, where its entry begins, and its name
    left_out: int  # systems that are not drawn
    height: int
    width: int = WIDTH
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP

    @property
    def has_people(self) -> bool:
        """Whether any system has a mean from human labels beside its raw one."""
        return any(len(row.dots) > 1 for row in self.rows)

    @property
    def bottom(self) -> int:
        """Where the axis is."""
        return self.height - BOTTOM


def board_chart(rows: Sequence[ReportContent]) -> BoardChart | None:
    """Return the chart of the rows of `leaderboard_rows`, in their order; None without any mean."""
    drawn = [row for row in rows if any(row["figures"][mode]["value"] is not None for mode in MeanKind)][:MAX_SYSTEMS]
    if not drawn:
        return None
    axis = common_axis([row["figures"][mode] for row in drawn for mode in MeanKind])
    scale = scale_of_figure(drawn[0]["figures"][MeanKind.RAW])
    return BoardChart(
        title="Raw, human-only and corrected means",
        rows=tuple(_row(row, position, axis) for position, row in enumerate(drawn)),
        ticks=tuple(Tick(_x(at, axis), word) for at, word in _ticks(axis, scale)),
        keys=tuple((mode.value, x, name) for mode, (x, name) in LEGEND.items()),
        left_out=len(rows) - len(drawn),
        height=TOP + ROW_HEIGHT * len(drawn) + BOTTOM,
    )


def _row(row: ReportContent, position: int, axis: SharedAxis) -> BoardRow:
    middle = TOP + ROW_HEIGHT * (position + 0.5)
    dots = [
        (mode.value, _dot(row, mode, middle + GAP * (number - 1), axis))
        for number, mode in enumerate(MeanKind)
        if row["figures"][mode]["value"] is not None
    ]
    name = row["system"] if len(row["system"]) <= NAME_LETTERS else f"{row['system'][: NAME_LETTERS - 1]}…"
    facts = [f"rank {rank_words(row['ranks'])}"] if row["ranks"] else []
    facts.append(f"{row['decided']} audited of {row['drawn']}" if row["drawn"] else "not audited")
    return BoardRow(name, ", ".join(facts), middle, tuple(dots))


def rank_words(ranks: Sequence[int] | None) -> str:
    """Return a rank as pages show it: "2", or "2-4" for all the ranks that a system may have; "" for none."""
    if ranks is None:
        return ""
    first, last = ranks
    return str(first) if first == last else f"{first}-{last}"


def _dot(row: ReportContent, mode: MeanKind, y: float, axis: SharedAxis) -> Point:
    mean, name = row["figures"][mode], LEGEND[mode][1]
    scale = scale_of_figure(mean)
    says = f"{row['system']}, {name.lower()}: {scale.whole_words(mean['value'])}"
    if mean["low"] is None:
        return Point(_x(mean["value"], axis), y, says=says)
    says = f"{says}, {scale.words(mean['low'])} to {scale.words(mean['high'])}"
    return Point(_x(mean["value"], axis), y, _x(mean["low"], axis), _x(mean["high"], axis), says)


def _x(value: float, axis: SharedAxis) -> float:
    share = (value - axis.low) / (axis.high - axis.low)
    return round(LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT), 1)


def _ticks(axis: SharedAxis, scale: ScoreScale) -> list[tuple[float, str]]:
    """Return at most six values within an axis that are round on the scale of its scores, with their words."""
    low, high = scale.number(axis.low), scale.number(axis.high)
    step = round_step(high - low)
    numbers = (k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1))
    shares = [round(scale.share(number), 10) for number in numbers]
    return [(share, scale.tick(share)) for share in shares]


@transaction.atomic
def pin_board(*, suite: Suite, graders: Sequence[Grader], actor: User, at: datetime) -> None:
    """Make the columns of these graders, kept by all their evaluators, the official board of a suite."""
    keys = [row.pk for grader in graders for row in grader.evaluators]
    fields = {"evaluators": keys, "pinned_by": actor, "pinned_at": at}
    OfficialBoard.objects.update_or_create(suite=suite, defaults=fields)
    record(actor, "board.pinned", suite, graders=[grader.key for grader in graders])


@transaction.atomic
def unpin_board(*, suite: Suite, actor: User) -> None:
    """Leave a suite without an official board."""
    if OfficialBoard.objects.filter(suite=suite).delete()[0]:
        record(actor, "board.unpinned", suite)


WITHOUT_VALUE = (VerdictStatus.UNPARSED, VerdictStatus.REFUSED, VerdictStatus.FAILED)


def compute_run_results(run_id: int, options: Options) -> ReportContent:
    """Return a row for each system, the best first, with a figure by evaluator, and evaluators' cost and failures."""
    evaluators = evaluators_of_run(run_id)
    boards = [board_of_run(evaluator) for evaluator in evaluators]
    columns = [(number, MeanKind.RAW) for number in range(len(boards))]
    rows = _rows(boards, [evaluator.compared_with for evaluator in evaluators], columns)
    not_asked = {"figure": figure(undefined("not asked")), **_NONE_LACKING}
    failures = failures_by_evaluator(run_id)
    replies = rows_of_judge(judges_among(evaluators))
    paid = calls_paid_by(run_id) if replies else np.empty(0, np.int64)
    calls, users = np.unique(np.concatenate([paid[:0], *(rows.calls for rows in replies.values())]), return_counts=True)
    asked = {key: (rows, rows.paid_among(paid), calls[users > 1]) for key, rows in replies.items()}
    return {
        "evaluators": [_evaluator(row, asked.get(row.pk), failures.get(row.pk, ())) for row in evaluators],
        "rows": [
            row
            | {
                "cells": [
                    {"evaluator_id": evaluator.pk, **(cell or not_asked)}
                    for evaluator, cell in zip(evaluators, row["cells"], strict=True)
                ]
            }
            for row in rows
        ],
    }


def _evaluator(
    evaluator: RunEvaluator, asked: tuple[ReplyRows, ReplyRows, Ints] | None, failed_tasks: Sequence[tuple[str, int]]
) -> ReportContent:
    """Return what an evaluator cost: `asked` has its replies, those that its run paid for, and calls of several."""
    content: ReportContent = {
        "id": evaluator.pk,
        "name": evaluator.name,
        "is_baseline": evaluator.is_baseline,
        "caveat": evaluator.caveat,
        "asks": asked is not None and bool(len(asked[0].calls)),
        "failures": [{"kind": kind, "words": failure_in_words(kind), "count": n} for kind, n in failed_tasks],
    }
    if asked is None:
        return content
    replies, paid, shared = asked
    content |= {
        **_told([paid]),
        "reused": len(replies.calls) - len(paid.calls),
        "shared": int(np.isin(paid.calls, shared).sum()),
    }
    if evaluator.run.kind == RunKind.ESI:  # its tasks belong to the index, so only verdicts tell what a judge missed
        statuses = record_of([replies]).statuses
        missed = [(status.value, statuses[status.value]) for status in WITHOUT_VALUE if statuses[status.value]]
        content["failures"] = [{"kind": "", "words": failure_in_words(kind), "count": n} for kind, n in missed]
    return content


def _run_version(run_id: int, options: Options) -> str:
    return " ".join(f"{row.pk}.{results_version(row)}" for row in evaluators_of_run(run_id))


RUN_RESULTS = ReportKind("run-results", _run_version, lambda run_id, options: task_count(run_id), compute_run_results)


BADGE_BYTES = 24
MOST_BOARDS = 10  # of the newest runs, in which a system is looked for


@transaction.atomic
def make_gate(*, suite: Suite, rule: str, mode: str, evaluator: str, actor: User, at: datetime) -> StoredGate:
    """Keep a rule and check it. `evaluator` may be empty where only one grader or judge has scored the suite.

    Raises: Refused where another has too, and where the rule does not fit the board.
    """
    evaluator = evaluator or _only_name(suite)
    gate = StoredGate(suite=suite, rule=rule, mode=mode, evaluator=evaluator, badge=secrets.token_urlsafe(BADGE_BYTES))
    gate.created_by, gate.created_at = actor, at
    try:
        _set_outcome(gate, at=at)
    except GateRefused as refusal:
        raise Refused(str(refusal), field="rule") from refusal
    gate.save()
    record(actor, "gate.made", gate, suite=suite.pk, rule=rule)
    return gate


@transaction.atomic
def delete_gate(*, gate: StoredGate, actor: User | None) -> None:
    """Remove a gate; its badge is not found from now on."""
    record(actor, "gate.deleted", NamedSubject(str(gate), gate.pk), suite=gate.suite_id, rule=gate.rule)
    gate.delete()


def check_gate(*, gate: StoredGate, at: datetime) -> StoredGate:
    """Look at the newest board and note whether a gate holds; it is announced when one that held does no longer.

    What is written waits for no board: it may have to be computed first.
    """
    try:
        _set_outcome(gate, at=at)
    except GateRefused as refusal:
        gate.verdict, gate.words, gate.checked_at = RuleStatus.TOO_FEW.value, str(refusal), at
    with transaction.atomic():
        before = StoredGate.objects.select_for_update().filter(pk=gate.pk).values_list("verdict", flat=True).first()
        if before is not None:  # nobody has deleted it meanwhile
            gate.save(update_fields=["verdict", "words", "checked_at"])
        if before == RuleStatus.HELD and gate.verdict == RuleStatus.NOT_HELD:
            gate_fell.send(sender=StoredGate, gate_id=gate.pk)
    return gate


def check_gates(gates: QuerySet[StoredGate], *, at: datetime) -> None:
    """Check these gates, one by one."""
    for gate in gates.select_related("suite__benchmark").order_by("pk"):
        check_gate(gate=gate, at=at)


@transaction.atomic
def note_lapses(*, run: Run, at: datetime) -> int:
    """Announce each certificate that lapsed since its judge ran as another version, once; return how many."""
    count = 0
    for state in certificate_states(list(run.evaluators.all())).values():
        lapsed = state.lapsed
        if lapsed is None or run.created_at < lapsed.issued_at:
            continue
        if Certificate.objects.filter(pk=lapsed.pk, lapsed_at__isnull=True).update(lapsed_at=at):
            facts = {"certificate_id": lapsed.pk, "name": state.name, "changes": list(state.changes)}
            certificate_lapsed.send(sender=Certificate, **facts)
            count += 1
    return count


def _set_outcome(gate: StoredGate, *, at: datetime) -> None:
    outcome = _outcome(gate, read_threshold(gate.rule))
    gate.verdict, gate.words, gate.checked_at = outcome.verdict.value, outcome.words, at


def _outcome(gate: StoredGate, threshold: Threshold) -> RuleOutcome:
    """Return whether the rule holds on the newest board that shows the system."""
    for evaluator in _boards(gate):
        row = _row_of(board_of_run(evaluator), threshold.system)
        if row is not None:
            return threshold_outcome(threshold, row, mode=gate.mode, evaluator=evaluator.name)
    words = "No finished run has scored this system yet."
    return RuleOutcome(gate.rule, threshold.system, gate.evaluator, RuleStatus.TOO_FEW, words)


def _boards(gate: StoredGate) -> list[RunEvaluator]:
    """Return the graders and judges of finished runs that a gate is about: the newest first, runs of a part last."""
    rows = [row for row in _finished(gate.suite_id) if row.name == gate.evaluator]
    return sorted(rows, key=lambda row: _is_part(row.run))[:MOST_BOARDS]


def _is_part(run: Run) -> bool:
    is_all = selection_from_json(run.options.get("selection") or {}).is_all
    return not is_all or bool(run.options.get("first_attempts"))


def _finished(suite_id: int) -> list[RunEvaluator]:
    every = [board.evaluator for board in evaluators_of([suite_id])[suite_id].every]
    return [row for row in every if row.run.status == RunStatus.FINISHED]


def _only_name(suite: Suite) -> str:
    """Return the name of what has scored a suite; baselines count only where there is nothing else."""
    finished = _finished(suite.pk)
    names = sorted({row.name for row in [row for row in finished if not row.is_baseline] or finished})
    if len(names) == 1:
        return names[0]
    why = f"Several have scored this suite: {', '.join(names)}." if names else "Nothing has scored this suite yet."
    raise Refused(f"{why} Name the grader or judge of the rule.", field="evaluator")


def _row_of(content: ReportContent, system: str) -> ReportContent | None:
    rows: list[ReportContent] = content["rows"]
    try:
        return pick(rows, system, names_of=lambda row: [row["system"]], what="system on the board")
    except BadInput:
        return None
