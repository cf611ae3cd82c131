"""The rules that `evaluate` and `report` take for a pipeline: read, applied to boards, written as files, exit code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

from django.core.management.base import CommandError, CommandParser

from evalsite.base.command_base import BadInput, pick
from evalsite.base.json_types import JsonDict
from evalsite.base.refusals import Refused
from evalsite.base.score_scales import scale_of_figure
from evalsite.base.tables import Table, write_markdown
from evalsite.reports.selectors.leaderboards import evaluators_of
from evalsite.reports.selectors.run_facts import evaluators_of_run
from evalsite.reports.services.gates import (
    EXIT_CODES,
    EXIT_HELD,
    EXIT_NOT_HELD,
    GatedBoard,
    GateRefused,
    RuleOutcome,
    RuleStatus,
    Threshold,
    exit_code,
    held_back,
    label_outcome,
    read_threshold,
    regression_outcome,
    threshold_outcome,
)
from evalsite.reports.services.report_content import ReportContent
from judging.actions.references import RUN, SUITE
from judging.models import Run, Suite

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """The rules that a command was given, and where to write what became of them."""

    thresholds: tuple[Threshold, ...]
    before: Run | Suite | None
    needed: int
    junit: str
    summary: str
    site: str
    mode: str

    @property
    def is_asked(self) -> bool:
        """Whether there is anything to do once the boards are there."""
        return bool(self.thresholds or self.before or self.needed or self.junit or self.summary)


def add_gate(parser: CommandParser) -> None:
    """Add the rules of a pipeline."""
    group = parser.add_argument_group("rules for a pipeline", EXIT_CODES)
    group.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="SYSTEM=VALUE[:lower]",
        help="the lowest mean, or with :lower the lowest lower end of its interval, as the board shows it: "
        "0.8 or 80%%, 7 on a scale of 1 to 10; of the mean that --mode names; may be given again",
    )
    group.add_argument(
        "--fail-on-regression",
        default="",
        metavar="RUN|SUITE",
        help="no system may be worse than in this run, or on the board of this suite: scores paired by case, p-values "
        "adjusted for the number of systems (Holm)",
    )
    group.add_argument(
        "--min-labels", type=int, default=0, metavar="N", help="fewer audited cases that people labelled: exit code 4"
    )
    group.add_argument("--junit", default="", metavar="FILE", help="write what became of each rule as JUnit XML")
    group.add_argument("--summary", default="", metavar="FILE.md", help="write a comment for a pull request")
    group.add_argument("--site", default="", metavar="URL", help="address of the site, for links in the summary")


def read_gate(options: JsonDict) -> Gate:
    """Return the rules. Raises: BadInput, before anything is asked of a model."""
    try:
        thresholds = tuple(map(read_threshold, options["fail_under"]))
    except GateRefused as refusal:
        raise BadInput(f"{refusal} (--fail-under)") from refusal
    if options["min_labels"] < 0:
        raise BadInput("The number of labels is 0 or more. (--min-labels)")
    before = _before(options["fail_on_regression"])
    files = {name: options[name] for name in ("junit", "summary", "site")}
    for name in ("junit", "summary"):
        if files[name] and not Path(files[name]).absolute().parent.is_dir():
            raise BadInput(f"{files[name]}: there is no such folder. (--{name})")
    return Gate(thresholds, before, options["min_labels"], mode=options["mode"], **files)


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
        for threshold in gate.thresholds
    ]
    outcomes = [threshold_outcome(threshold, row, mode=gate.mode, evaluator=name) for threshold, row in named]
    if gate.before is not None:
        outcomes += _regressions(gate.before, board)
    if not gate.needed:
        return outcomes
    concerned = (
        {row["system"]: row for _, row in named}
        if named and gate.before is None
        else {row["system"]: row for row in rows}
    )
    return held_back(outcomes, [label_outcome(row, needed=gate.needed, evaluator=name) for row in concerned.values()])


def _names(row: ReportContent) -> list[str]:
    return [row["system"]]


def _regressions(before: Run | Suite, board: GatedBoard) -> list[RuleOutcome]:
    """Return the outcome for every system of the board that was there before."""
    from evalsite.reports.services.boards.leaderboards import compute_changes  # takes long to load

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
