"""The rules that `evaluate` and `report` take for a pipeline: read, applied to boards, written as files, exit code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

from django.core.management.base import CommandError
from django.forms import Form

from evalsite.base.actions.commands import entered_of, refused_by_option
from evalsite.base.actions.entries import NamesRows, valid_form
from evalsite.base.formats import scale_of_figure
from evalsite.base.rows import BadInput, pick
from evalsite.base.tables import Table, write_markdown
from evalsite.base.types import JsonDict, Refused
from evalsite.reports.selectors.leaderboards import evaluators_of, evaluators_of_run
from evalsite.reports.services.publications import (
    EXIT_HELD,
    EXIT_NOT_HELD,
    GatedBoard,
    RuleOutcome,
    RuleStatus,
    Threshold,
    exit_code,
    held_back,
    label_outcome,
    regression_outcome,
    threshold_outcome,
)
from evalsite.reports.services.snapshots import ReportContent
from judging.actions.references import RUN, SUITE
from judging.models import Run, Suite

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """The rules that a command was given, and where to write what became of them."""

    fail_under: tuple[Threshold, ...]
    before: Run | Suite | None
    min_labels: int | None
    junit: str
    summary: str
    site: str
    mode: str

    @property
    def is_asked(self) -> bool:
        """Whether there is anything to do once the boards are there."""
        return bool(self.fail_under or self.before or self.min_labels or self.junit or self.summary)


def read_gate(options: JsonDict, form_class: type[Form], *, noun: NamesRows, mode: str = "") -> Gate:
    """Return the rules. Raises: BadInput, before anything is asked of a model."""
    with refused_by_option():
        said = valid_form(noun, form_class, entered_of(form_class.base_fields, options)).cleaned_data
    data = {"mode": mode, **said, "before": _before(said["fail_on_regression"])}
    del data["fail_on_regression"]
    for name in ("junit", "summary"):
        if data[name] and not Path(data[name]).absolute().parent.is_dir():
            raise BadInput(f"{data[name]}: there is no such folder. (--{name})")
    return Gate(**data)


def _before(text: str) -> Run | Suite | None:
    if not text:
        return None
    try:
        return RUN.named(text)
    except Refused:
        try:
            return SUITE.named(text)
        except Refused as refusal:
            raise BadInput(f"There is no run or suite “{text}”. (--fail-on-regression)") from refusal


def outcomes_of(gate: Gate, boards: Sequence[GatedBoard]) -> list[RuleOutcome]:
    """Return what became of each rule on each board. Raises: BadInput where a rule does not fit a board."""
    try:
        return [outcome for board in boards for outcome in _of_board(gate, board)]
    except ValueError as refusal:
        raise BadInput(str(refusal)) from refusal


def _of_board(gate: Gate, board: GatedBoard) -> list[RuleOutcome]:
    rows, name = board.content["rows"], board.evaluator.name
    named = [
        (threshold, pick(rows, threshold.system, names_of=_names, what="system on the board", option="--fail-under"))
        for threshold in gate.fail_under
    ]
    outcomes = [threshold_outcome(threshold, row, mode=gate.mode, evaluator=name) for threshold, row in named]
    if gate.before is not None:
        outcomes += _regressions(gate.before, board)
    if not gate.min_labels:
        return outcomes
    concerned = (
        {row["system"]: row for _, row in named}
        if named and gate.before is None
        else {row["system"]: row for row in rows}
    )
    return held_back(
        outcomes, [label_outcome(row, needed=gate.min_labels, evaluator=name) for row in concerned.values()]
    )


def _names(row: ReportContent) -> list[str]:
    return [row["system"]]


def _regressions(before: Run | Suite, board: GatedBoard) -> list[RuleOutcome]:
    """Return the outcome for every system of the board that was there before."""
    from evalsite.reports.services.leaderboards import compute_changes  # takes long to load

    name, against = board.evaluator.name, str(before)
    if isinstance(before, Run):
        earlier = evaluators_of_run(before.pk)
    else:
        earlier = [other.evaluator for other in evaluators_of([before.pk])[before.pk].every]
    others = [row for row in earlier if row.name == name and row.run_id != board.evaluator.run_id]
    shown = {row["system"] for row in board.content["rows"]}
    changes = compute_changes(board.evaluator, others[0], board.options) if others else []
    found = [regression_outcome(row, against=against, evaluator=name) for row in changes if row["system"] in shown]
    rule = f"no regression against {against}"
    return found or [RuleOutcome(rule, "all", name, RuleStatus.TOO_FEW, "There are no earlier scores to compare with.")]


def gate_report(outcomes: Sequence[RuleOutcome]) -> JsonDict:
    """Return what became of the rules as commands print it."""
    return {"exit_code": exit_code(outcomes), "rules": [asdict(outcome) for outcome in outcomes]}


def gate_lines(outcomes: Sequence[RuleOutcome]) -> list[str]:
    """Return what became of the rules in words, a line each."""
    return [f"{row.verdict}: {row.system}, {row.rule}: {row.words} ({row.evaluator})" for row in outcomes]


def write_files(gate: Gate, outcomes: Sequence[RuleOutcome], boards: Sequence[GatedBoard]) -> None:
    """Write the files that were asked for. Raises: BadInput where one cannot be written."""
    for path, text in ((gate.junit, junit_xml(outcomes)), (gate.summary, summary_text(gate, outcomes, boards))):
        if not path:
            continue
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{path}: {error.strerror}.") from error


def junit_xml(outcomes: Sequence[RuleOutcome]) -> str:
    """Return the rules as test cases: one that does not hold fails, one that cannot be told is an error."""
    counts = Counter(row.verdict for row in outcomes)
    totals = {
        "tests": str(len(outcomes)),
        "failures": str(counts[RuleStatus.NOT_HELD]),
        "errors": str(counts[RuleStatus.TOO_FEW]),
    }
    root = ElementTree.Element("testsuites", totals)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "evalsite", **totals})
    for row in outcomes:
        named = {"classname": _in_xml(row.evaluator), "name": _in_xml(f"{row.system}: {row.rule}")}
        case = ElementTree.SubElement(suite, "testcase", named)
        if row.verdict is not RuleStatus.HELD:
            tag = "failure" if row.verdict is RuleStatus.NOT_HELD else "error"
            problem = ElementTree.SubElement(case, tag, {"message": _in_xml(row.words), "type": str(row.verdict)})
            problem.text = _in_xml(row.words)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _in_xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


def summary_text(gate: Gate, outcomes: Sequence[RuleOutcome], boards: Sequence[GatedBoard]) -> str:
    """Return a comment for a pull request: the outcome, the rules, what changed and the means, with links."""
    title = {EXIT_HELD: "held", EXIT_NOT_HELD: "not held"}.get(exit_code(outcomes), "too few to say")
    columns = ("system", "rule", "evaluator", "verdict", "words")
    rows = [asdict(outcome) for outcome in outcomes]
    parts = [f"## Evaluation: {title}\n", _markdown(Table("rules", columns, rows)) if rows else "No rules given.\n"]
    for board in boards:
        run = board.evaluator.run
        link = f"[{run}]({gate.site.rstrip('/')}{run.get_absolute_url()})" if gate.site else f"{run}"
        parts.append(f"### {board.evaluator.name}, {link}\n")
        parts.append(_markdown(Table("means", ("system", "mean", "interval", "labels"), _mean_rows(gate, board))))
    return "\n".join(parts)


def _mean_rows(gate: Gate, board: GatedBoard) -> list[JsonDict]:
    rows = []
    for row in board.content["rows"]:
        figure = row["figures"][gate.mode]
        scale = scale_of_figure(figure)
        ends = [figure[end] for end in ("low", "high")]
        interval = "" if None in ends else " to ".join(scale.words(end) for end in ends)
        mean = figure["reason"] if figure["value"] is None else scale.words(figure["value"])
        rows.append({"system": row["system"], "mean": mean, "interval": interval, "labels": row["decided"]})
    return rows


def _markdown(table: Table) -> str:
    return b"".join(write_markdown(table)).decode()


def end_by(outcomes: Sequence[RuleOutcome]) -> None:
    """End the command by the exit code of the rules. Raises: CommandError unless all hold."""
    code = exit_code(outcomes)
    if code != EXIT_HELD:
        said = [line for line in gate_lines(outcomes) if not line.startswith(f"{RuleStatus.HELD}:")]
        raise CommandError("\n".join(said), returncode=code)
