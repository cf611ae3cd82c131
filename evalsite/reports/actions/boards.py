"""The reports on a leaderboard and on the board of a suite, and what can be done with gates that are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from django.urls import reverse
from django.utils import timezone

from evalsite.base.actions.declarations import CREATE, DELETE, ActionCall, NoInput, Noun, Reference, columns
from evalsite.base.actions.reports import PValueColumn, Report, ReportColumn, ReportTable, ScoreColumn, plain_columns
from evalsite.base.formats import ScoreScale, in_numbers, read_scale
from evalsite.base.rows import BadInput, batches, pick
from evalsite.base.types import JsonDict, Refused
from evalsite.reports import jobs
from evalsite.reports.forms import (
    AddressForm,
    BoardForm,
    GateForm,
    LeaderboardChoice,
    LeaderboardForm,
    leaderboard_choice,
    two_systems,
)
from evalsite.reports.models import OfficialBoard, StoredGate
from evalsite.reports.selectors.leaderboards import Grader, board_options, evaluators_of, first_graders, graders_of
from evalsite.reports.services.calibration import certificate_beside
from evalsite.reports.services.leaderboards import BREAKDOWN, COMPARISON, LEADERBOARD, best_first
from evalsite.reports.services.publications import EXIT_HELD, EXIT_NOT_HELD, EXIT_TOO_FEW, GatedBoard, RuleStatus
from evalsite.reports.services.snapshots import EVERY_END, ReportContent, stored_figure_column
from evalsite.reports.services.suite_boards import (
    MEAN_WORDS,
    SUITE_BOARD,
    check_gate,
    delete_gate,
    make_gate,
    rank_words,
)
from judging.actions.references import RUN, SUITE
from judging.models import EvaluatorKind, Response, Run, RunEvaluator, Suite
from judging.selectors.judges import score_scale_of
from judging.statistics.estimates import MeanKind

MODE_NAMES = {MeanKind.RAW: "raw", MeanKind.HUMAN: "human only", MeanKind.CORRECTED: "corrected"}
CHUNK = 2000  # of cases, whose texts are read together


@dataclass(frozen=True, slots=True, eq=False)
class LeaderboardShown:
    """A leaderboard in one mode, with the certificate of its judge in words; a grader's points are read when asked."""

    evaluator: RunEvaluator
    content: ReportContent
    options: JsonDict
    mode: MeanKind
    certificate: str
    breakdown: Callable[[], ReportContent]

    @property
    def scale(self) -> ScoreScale:
        """The scale of its scores."""
        return read_scale(self.content["evaluator"].get("scale"))


def _read_leaderboard(form: LeaderboardForm, waits: bool) -> LeaderboardShown:
    data = form.cleaned_data
    evaluator = _evaluator(data["suite"], data["run"], data["evaluator"])
    choice = leaderboard_choice({**data, "missing": "skip" if data["skip_missing"] else ""})
    return leaderboard_shown(evaluator, choice, waits=waits)


def leaderboard_shown(evaluator: RunEvaluator, choice: LeaderboardChoice, *, waits: bool) -> LeaderboardShown:
    """Return the leaderboard of a grader or judge under choices. Raises: BeingComputed."""
    options, at, state = choice.options, timezone.now(), certificate_beside(evaluator)
    return LeaderboardShown(
        evaluator,
        jobs.content_of(LEADERBOARD, subject_id=evaluator.pk, options=options, at=at, waits=waits),
        choice.options,
        choice.mode,
        state.words if state is not None else "",
        lambda: _breakdown(evaluator, waits=waits),
    )


def _breakdown(evaluator: RunEvaluator, *, waits: bool) -> ReportContent:
    if evaluator.kind != EvaluatorKind.GRADER:
        raise Refused("Only rule graders have points by language, type and metric.")
    return jobs.content_of(BREAKDOWN, subject_id=evaluator.pk, options={}, at=timezone.now(), waits=waits)


def _evaluator(suite: Suite | None, run: Run | None, name: str) -> RunEvaluator:
    """Return the grader or judge of a run, or of the fullest runs over a suite; the first where none is named.

    Raises:
        Refused: there is none of this name.
    """
    suite_id = run.suite_id if run is not None else suite.pk if suite is not None else 0
    choices = evaluators_of([suite_id])[suite_id]
    every = (*choices.every, *choices.archived)
    boards = choices.fullest if run is None else tuple(board for board in every if board.evaluator.run_id == run.pk)
    numbered = next((board for board in every if str(board.evaluator.pk) == name), None)
    if numbered is not None:
        return numbered.evaluator
    if not name and boards:
        return boards[0].evaluator
    evaluators = [board.evaluator for board in boards]
    try:
        return pick(evaluators, name, names_of=lambda row: [row.name], what="grader or judge with scores")
    except BadInput as refusal:
        raise Refused(str(refusal)) from refusal


def _leaderboard_facts(shown: LeaderboardShown) -> JsonDict:
    """Return all of a leaderboard as numbers of its scale, each figure with its share beside."""
    points = {"breakdown": shown.breakdown()} if shown.evaluator.kind == EvaluatorKind.GRADER else {}
    numbers = in_numbers(shown.content)
    ends = [bounds for row in numbers["rows"] for bounds in row["bounds"].values() if bounds is not None]
    cells = [cell for rows in numbers["matrix"]["cells"].values() for row in rows.values() for cell in row]
    for figure, names in (*((bounds, ("low", "high")) for bounds in ends), *((cell, ("mean",)) for cell in cells)):
        figure |= {name: shown.scale.number_of(figure[name]) for name in names}
    return {**numbers, **points, "certificate": shown.certificate}


def scale_words(scale: ScoreScale) -> str:
    """Return the scale of a table's scores as a sentence of its caption; nothing for shares."""
    return f"Scores: {scale.range_words}." if scale.is_rating else ""


def _basis(shown: LeaderboardShown) -> str:
    evaluator, n_cases = shown.content["evaluator"], shown.content["n_cases"]
    scored = f"Scored by {evaluator['name']} in the run {evaluator['run_name']}, {n_cases} cases."
    means = f"Means: {MODE_NAMES[shown.mode]}."
    return " ".join(filter(None, (scored, scale_words(shown.scale), shown.certificate, means)))


def _bounds(row: ReportContent, mode: MeanKind) -> ReportContent | None:
    ends = row["bounds"][mode]
    return ends and {"value": None, "n": None, "reason": "", **ends, "scale": row["figures"][mode].get("scale")}


def _rank_column(mode: MeanKind, end: str, place: int) -> ReportColumn[ReportContent]:
    return ReportColumn(
        f"{mode}_rank_{end}", lambda row: row["ranks"][mode] and row["ranks"][mode][place], in_papers=False
    )


def _mean_columns(mode: MeanKind) -> tuple[ReportColumn[ReportContent], ...]:
    """Return what a leaderboard says of one mean of a system; papers have the mean alone."""
    means = {"value": "mean", "low": "low", "high": "high", "share": "share"}
    wins = {"value": "win_rate", "low": "win_rate_low", "high": "win_rate_high"}

    def named(ends: dict[str, str]) -> dict[str, str]:
        return {end: f"{mode}_{name}" for end, name in ends.items()}

    columns: list[ReportColumn[ReportContent]] = [
        _rank_column(mode, "first", 0),
        _rank_column(mode, "last", 1),
        stored_figure_column(MODE_NAMES[mode].replace(" ", "_"), lambda row: row["figures"][mode], ends=named(means)),
        stored_figure_column(f"{mode}_wins", lambda row: row["wins"][mode], ends=named(wins), in_papers=False),
    ]
    if mode is not MeanKind.RAW:
        bounds = named({"low": "worst", "high": "best"})  # if the undecided cases of the audit were all decided one way
        columns.append(stored_figure_column("bounds", lambda row: _bounds(row, mode), ends=bounds, in_papers=False))
    return tuple(columns)


def _system_columns(shown: LeaderboardShown) -> tuple[ReportColumn[ReportContent], ...]:
    counts = ("scored", "unscored", "missing", "human", "drawn")
    return (
        ReportColumn("rank", lambda row: rank_words(row["ranks"][shown.mode]) or None, in_data=False),
        ReportColumn("system", lambda row: row["system"]),
        *(column for mode in MeanKind for column in _mean_columns(mode)),
        stored_figure_column("win_rate", lambda row: row["wins"][shown.mode], in_data=False),
        ReportColumn("audited", lambda row: f"{row['decided']} of {row['drawn']}", in_data=False),
        *plain_columns(*(f"{name} as n_{name}" for name in counts), "decided as n_audited", in_papers=False),
        ReportColumn("scale", lambda row: shown.scale.range_words, in_papers=False),
        ReportColumn("certificate", lambda row: shown.certificate, in_papers=False),
    )


SYSTEMS: ReportTable[LeaderboardShown, ReportContent] = ReportTable(
    "systems",
    "Leaderboard",
    _system_columns,
    rows=lambda shown: best_first(shown.content["rows"], shown.mode),
    basis=_basis,
)


def _pairs_of(shown: LeaderboardShown, *modes: MeanKind) -> Iterator[ReportContent]:
    names = {row["system_id"]: row["system"] for row in shown.content["rows"]}
    for mode in modes:
        for pair in shown.content["pairs"][mode]:
            yield pair | {"mode": mode, "first": names[pair["first"]], "second": names[pair["second"]]}


PAPER_PAIRS: ReportTable[LeaderboardShown, ReportContent] = ReportTable(
    "pairs",
    "Paired differences between systems",
    columns=(
        ReportColumn("mode", lambda pair: pair["mode"], in_papers=False),
        *plain_columns("first", "second"),
        stored_figure_column(
            "difference",
            lambda pair: pair["difference"],
            ends={
                "value": "difference",
                "low": "low",
                "high": "high",
                "n": "n_cases",
                "share": "difference_share",
                "scale": "scale",
            },
        ),
        PValueColumn("p_value", lambda pair: pair["p_value"]),
        PValueColumn("holm_p", lambda pair: pair["adjusted_p"]),
        ReportColumn("separated", lambda pair: pair["is_separated"]),
    ),
    rows=lambda shown: _pairs_of(shown, shown.mode),
    basis=_basis,
)
PAIRS = replace(PAPER_PAIRS, rows=lambda shown: _pairs_of(shown, *MeanKind), for_papers=PAPER_PAIRS)


def _matrix_columns(shown: LeaderboardShown) -> tuple[ReportColumn[ReportContent], ...]:
    cells = shown.content["matrix"]["cells"][shown.mode]

    def column(place: int, name: str) -> ReportColumn[ReportContent]:
        return ScoreColumn(name or "(none)", lambda row: cells[str(row["system_id"])][place]["mean"], scale=shown.scale)

    names = shown.content["matrix"]["columns"]
    system: ReportColumn[ReportContent] = ReportColumn("system", lambda row: row["system"])
    return (system, *(column(place, name) for place, name in enumerate(names)))


MATRIX: ReportTable[LeaderboardShown, ReportContent] = ReportTable(
    "matrix",
    "Mean scores",
    _matrix_columns,
    rows=lambda shown: shown.content["rows"],
    basis=lambda shown: f"By {shown.content['matrix']['dimension']}. {_basis(shown)}",
)


def _slice_lines(shown: LeaderboardShown) -> Iterator[ReportContent]:
    for part in shown.content["slices"]:
        for row in shown.content["rows"]:
            cells = part["cells"][shown.mode][str(row["system_id"])]
            for column, cell in zip(part["columns"], cells, strict=True):
                names = {"dimension": part["dimension"], "slice": column["name"], "system": row["system"]}
                yield {**names, "mean_of": shown.mode, "mean": cell["mean"], **cell["rest"]}


SLICES: ReportTable[LeaderboardShown, ReportContent] = ReportTable(
    "slices",
    "Systems by slice",
    columns=(
        *plain_columns("dimension", "slice", "system"),
        stored_figure_column("mean", lambda line: line["mean"]),
        stored_figure_column("against_rest", lambda line: line["difference"]),
        PValueColumn("p_value", lambda line: line["p_value"]),
        PValueColumn("holm_p", lambda line: line["holm_p"]),
        ReportColumn("mean_of", lambda line: line["mean_of"], in_papers=False),
    ),
    rows=_slice_lines,
    basis=lambda shown: f"Means: {shown.mode.value}. p by Holm over all slices and systems of a dimension.",
)


MEANS: ReportTable[LeaderboardShown, tuple[ReportContent, MeanKind]] = ReportTable(
    "means",
    "The means of each system",
    columns=(
        ReportColumn("system", lambda line: line[0]["system"]),
        ReportColumn("mean", lambda line: MODE_NAMES[line[1]]),
        stored_figure_column(
            "value",
            lambda line: line[0]["figures"][line[1]],
            ends=EVERY_END,
        ),
        ReportColumn("rank", lambda line: rank_words(line[0]["ranks"][line[1]])),
        ReportColumn("audited", lambda line: line[0]["decided"]),
        ReportColumn("drawn", lambda line: line[0]["drawn"]),
    ),
    rows=lambda shown: ((row, mode) for row in shown.content["rows"] for mode in MeanKind),
)
POINTS: ReportTable[LeaderboardShown, ReportContent] = ReportTable(
    "breakdown",
    "Points by language, type and metric",
    columns=(
        *plain_columns("system", "dimension", "name", "mean", "std", "full"),
        ScoreColumn("share", lambda row: row["share"]),
        ReportColumn("cases", lambda row: row["cases"]),
    ),
    rows=lambda shown: (
        {"system": table["system"], **row} for table in shown.breakdown()["tables"] for row in table["rows"]
    ),
)
LEADERBOARD_REPORT = Report(
    "leaderboard",
    "The mean scores of systems by one grader or judge, their differences, and the means of slices.",
    permission="reports.view_snapshot",
    form_class=LeaderboardForm,
    read=_read_leaderboard,
    facts=_leaderboard_facts,
    tables=(SYSTEMS, PAIRS, MATRIX, SLICES, MEANS, POINTS),
    references={Suite: SUITE, Run: RUN},
)


def _pair_cases(shown: GatedBoard) -> Iterator[ReportContent]:
    """Yield the cases of a comparison with both responses."""
    cases = shown.content["cases"]
    for part in batches(cases, CHUNK):
        responses = Response.objects.select_related("prompt").in_bulk({pk for row in part for pk in row["responses"]})
        for case in part:
            first, second = (responses.get(pk) for pk in case["responses"])
            yield {**case, "texts": (first, second)}


def _comparison_columns(shown: GatedBoard) -> tuple[ReportColumn[ReportContent], ...]:
    scale = score_scale_of(shown.evaluator)

    def prompt(line: ReportContent) -> str:
        response = line["texts"][0] or line["texts"][1]
        return response.prompt.text if response else ""

    def side(name: str, place: int) -> tuple[ReportColumn[ReportContent], ...]:
        system = shown.content["systems"][place]["name"]
        return (
            ReportColumn(f"{name}_system", lambda line: system, in_papers=False),
            ScoreColumn(name, lambda line: line[name], scale=scale),
            ReportColumn(f"{name}_response_id", lambda line: line["responses"][place], in_papers=False),
            ReportColumn(f"{name}_response", lambda line: _text(line["texts"][place]), in_papers=False),
        )

    return (
        *plain_columns("key as case", "scenario"),
        ReportColumn("prompt", prompt, in_papers=False),
        *side("first", 0),
        *side("second", 1),
        ScoreColumn("difference", lambda line: line["difference"], scale=scale.differences),
        ReportColumn("scale", lambda line: scale.range_words, in_papers=False),
    )


def _text(response: Response | None) -> str:
    return response.text if response is not None else ""


def _comparison_basis(shown: GatedBoard) -> str:
    first, second = (system["name"] for system in shown.content["systems"])
    told = f"First: {first}. Second: {second}. Scored by {shown.evaluator.name}."
    return " ".join(filter(None, (told, scale_words(score_scale_of(shown.evaluator)))))


PAIR: ReportTable[GatedBoard, ReportContent] = ReportTable(
    "pair", "Two systems case by case", _comparison_columns, rows=_pair_cases, basis=_comparison_basis
)


def _read_comparison(form: AddressForm, waits: bool) -> GatedBoard:
    choice, pair = leaderboard_choice(form.address), two_systems(form.address.getlist("system"))
    suite_id = form.cleaned_data["suite"].pk
    board = evaluators_of([suite_id])[suite_id].named(choice.evaluator)
    if board is None:
        raise Refused("No grader or judge has scored the suite, or not the one that is named.", field="query")
    if pair is None:
        raise Refused("Name the two systems as the address of the page does: system=1&system=2.", field="query")
    shown = comparison_shown(board.evaluator, choice, pair, waits=waits)
    for system in shown.content["systems"]:
        if not system["name"]:
            raise Refused(f"System {system['id']} has no response to this suite.", field="query")
    return shown


def comparison_shown(
    evaluator: RunEvaluator, choice: LeaderboardChoice, pair: tuple[int, int], *, waits: bool
) -> GatedBoard:
    """Return two systems case by case by a grader or judge. Raises: BeingComputed."""
    options, at = choice.options | {"systems": list(pair)}, timezone.now()
    content = jobs.content_of(COMPARISON, subject_id=evaluator.pk, options=options, at=at, waits=waits)
    return GatedBoard(evaluator, content, options)


def _comparison_facts(shown: GatedBoard) -> JsonDict:
    scale = score_scale_of(shown.evaluator)
    scales = {"first": scale, "second": scale, "difference": scale.differences}
    cases = [
        {**case, **{name: of_name.number(case[name]) for name, of_name in scales.items()}}
        for case in shown.content["cases"]
    ]
    return {**in_numbers(shown.content), "cases": cases}


COMPARISON_REPORT = Report(
    "comparison",
    "Two systems of a leaderboard case by case, as its page shows them at an address.",
    permission="reports.view_snapshot",
    form_class=AddressForm,
    read=_read_comparison,
    facts=_comparison_facts,
    tables=(PAIR,),
    references={Suite: SUITE},
)


@dataclass(frozen=True, slots=True)
class BoardShown:
    """The board of a suite, with the names of its graders."""

    content: ReportContent
    labels: list[str]

    def name_of(self, column: ReportContent) -> str:
        """Return the grader of a column with the mean that it shows."""
        return ", ".join(filter(None, (self.labels[column["grader"]], MEAN_WORDS[column["mode"]])))


def _read_board(form: BoardForm, waits: bool) -> BoardShown:
    suite = form.cleaned_data["suite"]
    graders = graders_of(suite.pk)
    if not graders:
        raise Refused(f"No run has scored {suite}.")
    shown = first_graders(graders, OfficialBoard.objects.filter(suite=suite).first())
    return board_shown(suite.pk, shown, waits=waits)


def board_shown(suite_id: int, graders: list[Grader], *, waits: bool) -> BoardShown:
    """Return the board of a suite with these graders. Raises: BeingComputed."""
    options, at = board_options(graders), timezone.now()
    content = jobs.content_of(SUITE_BOARD, subject_id=suite_id, options=options, at=at, waits=waits)
    return BoardShown(content, [grader.label for grader in graders])


def _board_columns(shown: BoardShown) -> tuple[ReportColumn[ReportContent], ...]:
    def column(place: int, name: str) -> ReportColumn[ReportContent]:
        return stored_figure_column(name, lambda row: row["cells"][place] and row["cells"][place]["figure"])

    columns = shown.content["columns"]
    return (*plain_columns("system"), *(column(place, shown.name_of(part)) for place, part in enumerate(columns)))


def _board_lines(shown: BoardShown) -> Iterator[ReportContent]:
    for row in shown.content["rows"]:
        for column, cell in zip(shown.content["columns"], row["cells"], strict=True):
            if cell is not None:
                grader = shown.labels[column["grader"]]
                yield {"system": row["system"], "scored_by": grader, "mean": column["mode"], **cell}


BOARD: ReportTable[BoardShown, ReportContent] = ReportTable(
    "board",
    "Board",
    columns=(
        *plain_columns("system", "scored_by", "mean"),
        stored_figure_column(
            "value",
            lambda line: line["figure"],
            ends=EVERY_END,
        ),
        ReportColumn("rank_first", lambda line: line["ranks"] and line["ranks"][0]),
        ReportColumn("rank_last", lambda line: line["ranks"] and line["ranks"][1]),
        *plain_columns("unscored", "missing"),
        ReportColumn("reason", lambda line: line["figure"]["reason"] if line["figure"]["value"] is None else ""),
    ),
    rows=_board_lines,
    for_papers=ReportTable(
        "board",
        "Board",
        _board_columns,
        rows=lambda shown: shown.content["rows"],
        basis=lambda shown: (
            "The newest score of each response by each grader and version of a judge, over all its runs."
        ),
    ),
)
BOARD_REPORT = Report(
    "board",
    "Every grader and version of a judge of a suite side by side, over all its runs: the official or the first ones.",
    permission="reports.view_snapshot",
    form_class=BoardForm,
    read=_read_board,
    facts=lambda shown: {**in_numbers(shown.content), "labels": shown.labels},
    tables=(BOARD,),
    references={Suite: SUITE},
)


PERMISSION = "reports.add_storedgate"
EXITS = {RuleStatus.HELD: EXIT_HELD, RuleStatus.NOT_HELD: EXIT_NOT_HELD, RuleStatus.TOO_FEW: EXIT_TOO_FEW}


GATES: Noun[StoredGate] = Noun(
    name="gate",
    plural="gates",
    help="Keep rules for boards, check them, list them, or remove one.",
    reference=Reference("gate", ()),
    rows=lambda _about: StoredGate.objects.select_related("suite__benchmark").order_by("-pk"),
    view_permission="reports.view_snapshot",
    shown=columns(
        *("pk as gate", "suite", "rule", "mode", "evaluator", "verdict", "words", "checked_at"),
        exit_code=lambda gate: EXITS[RuleStatus(gate.verdict)],
        badge=lambda gate: reverse("reports:gate-badge", args=[gate.badge]),
    ),
    references={Suite: SUITE},
)
change = partial(GATES.one, permission=PERMISSION)


@GATES.new(
    CREATE,
    permission=PERMISSION,
    form=GateForm,
    needs_person=True,
    said=lambda gate: f"The gate is kept: {gate.verdict}.",
)
def create(act: ActionCall[None, GateForm]) -> StoredGate:
    """Keep a rule for the newest board of a suite. It is checked after each run, and webhooks tell when it falls."""
    return make_gate(**act.data, actor=act.person, at=act.at)


@change("check", said=lambda gate: f"{gate.rule}: {gate.verdict}. {gate.words}")
def check(act: ActionCall[StoredGate, NoInput]) -> StoredGate:
    """Look at the newest board now."""
    return check_gate(gate=act.subject, at=act.at)


@change(DELETE, leads_to="reports:gate-list", said=lambda gate: f"The gate {gate.rule} is deleted.")
def delete(act: ActionCall[StoredGate, NoInput]) -> StoredGate:
    """Remove a gate. Its badge is not found from now on."""
    delete_gate(gate=act.subject, actor=act.actor)
    return act.subject
