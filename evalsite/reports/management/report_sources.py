"""What `report` prints: for each report the content of its page, and the tables that its page exports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.http import QueryDict
from django.utils import timezone

from debate.models import DebateSet, Experiment, ExperimentKind
from debate.selectors.records import debates_report
from evalsite.base.command_base import BadInput
from evalsite.base.json_types import JsonDict, JsonObject
from evalsite.base.tables import Table
from evalsite.reports import exports, jobs
from evalsite.reports.forms import SpendForm
from evalsite.reports.models import OfficialBoard, SavedView
from evalsite.reports.report_choices import (
    agreement_options,
    arena_options,
    debate_options,
    leaderboard_choice,
    looks_option,
    results_choice,
    two_systems,
)
from evalsite.reports.selectors.graders import board_options, first_graders, grader_named, graders_of
from evalsite.reports.selectors.judges.certificates import all_certificates
from evalsite.reports.selectors.leaderboards import evaluators_of, suite_named
from evalsite.reports.services.boards.breakdowns import BREAKDOWN
from evalsite.reports.services.boards.leaderboard_slices import slice_table
from evalsite.reports.services.boards.leaderboards import COMPARISON, LEADERBOARD
from evalsite.reports.services.boards.suite_boards import SUITE_BOARD, board_table
from evalsite.reports.services.debates.arena_reports import ARENA
from evalsite.reports.services.debates.debate_reports import DEBATES
from evalsite.reports.services.debates.debate_tables import arena_tables, debate_tables, robustness_tables
from evalsite.reports.services.debates.robustness_reports import ROBUSTNESS
from evalsite.reports.services.judges.judge_bias import JUDGE_BIAS, bias_table
from evalsite.reports.services.judges.judge_certificates import certificate_beside, certificates_of_judges
from evalsite.reports.services.judges.judge_reports import JUDGES
from evalsite.reports.services.judges.trust_tables import certificate_table
from evalsite.reports.services.paper_tables import PaperTable, data_table, paper_table
from evalsite.reports.services.people.agreements import AGREEMENT, LABEL_AGREEMENT
from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.services.report_papers import (
    agreement_papers,
    board_papers,
    breakdown_paper,
    comparison_paper,
    judge_papers,
    suite_board_paper,
)
from evalsite.reports.services.results.results import RESULTS
from evalsite.reports.services.results.suite_results import EXPORT_COLUMNS, StoredResults, SuiteResults, column_graders
from evalsite.reports.services.spend_figures import spend_content, spend_tables
from evalsite.reports.services.spend_reports import SPEND
from evalsite.reports.services.suite_charts.contents import SUITE_CHARTS
from evalsite.reports.services.suite_charts.tables import chart_tables
from evalsite.review.models import LabelTable, Queue
from judging.models import EvaluatorKind, Run, RunEvaluator, Suite
from judging.selectors.runs import open_budgets

Options = JsonDict


@dataclass(frozen=True, slots=True)
class PrintedReport:
    """A report: its figures, and its tables by name, the chief one first. `papers` are those laid out for LaTeX."""

    content: ReportContent
    tables: Mapping[str, Table]
    papers: Mapping[str, PaperTable] = field(default_factory=dict)

    def table(self, name: str, *, is_paper: bool) -> Table:
        """Return a table for programs or for LaTeX. Raises: BadInput where there is no such table."""
        tables: JsonObject = self.papers if is_paper else self.tables
        chosen = name or next(iter(tables), "")
        if chosen not in tables:
            raise BadInput(f"There is no table “{name}” here. Tables: {', '.join(tables) or 'none'}. (--table)")
        return paper_table(self.papers[chosen]) if is_paper else self.tables[chosen]


def _leaderboard(options: Options) -> PrintedReport:
    evaluator = _evaluator(options)
    query = {name: options[name] for name in ("scenario", "lang", "type", "mode", "looks")}
    query["missing"] = "skip" if options["skip_missing"] else ""
    choice, now = leaderboard_choice(query), timezone.now()
    content = jobs.require(LEADERBOARD, subject_id=evaluator.pk, options=choice.options, at=now)
    state = certificate_beside(evaluator)
    words = state.words if state is not None else ""
    tables = exports.leaderboard_tables(content, mode=choice.mode, certificate=words)
    papers = board_papers(content, mode=choice.mode, certificate=words)
    papers["slices"] = slice_table(content, mode=choice.mode)
    tables["slices"] = data_table(papers["slices"])
    if evaluator.kind == EvaluatorKind.GRADER:
        breakdown = jobs.require(BREAKDOWN, subject_id=evaluator.pk, options={}, at=now)
        content = content | {"breakdown": breakdown}
        tables["breakdown"], papers["breakdown"] = exports.breakdown_table(breakdown), breakdown_paper(breakdown)
    return PrintedReport(content | {"certificate": words}, tables, papers)


def _board(options: Options) -> PrintedReport:
    suite = suite_named(options["suite"])
    graders = graders_of(suite.pk) if suite is not None else ()
    if suite is None or not graders:
        raise BadInput("Choose a suite that has scores (--suite, its id or its benchmark's slug).")
    shown = first_graders(graders, OfficialBoard.objects.filter(suite=suite).first())
    content = jobs.require(SUITE_BOARD, subject_id=suite.pk, options=board_options(shown), at=timezone.now())
    labels = [grader.label for grader in shown]
    return PrintedReport(
        content | {"labels": labels},
        {"board": board_table(content, labels)},
        {"board": suite_board_paper(content, labels)},
    )


def _evaluator(options: Options) -> RunEvaluator:
    if options["run"] is not None:
        run = Run.objects.filter(pk=options["run"]).first()
        if run is None:
            raise BadInput(f"There is no run {options['run']}.")
        suite_id, only = run.suite_id, run.pk
    else:
        suite = suite_named(options["suite"])
        if suite is None:
            raise BadInput("Choose a suite (--suite, its id or its benchmark's slug) or a run (--run).")
        suite_id, only = suite.pk, None
    choices = evaluators_of([suite_id])[suite_id]
    name = options["evaluator"]
    if not name and only is None:
        picked = choices.pick("")
    else:
        of_run = [board for board in (*choices.every, *choices.archived) if board.evaluator.run_id == only]
        boards = choices.fullest if only is None else of_run
        picked = next((board for board in boards if name in ("", board.evaluator.name)), None)
    if picked is None:
        names = ", ".join(sorted({board.evaluator.name for board in choices.every})) or "nobody"
        raise BadInput(f"No scores by “{name or 'any evaluator'}”. Scored by: {names}.")
    return picked.evaluator


def _results(options: Options) -> PrintedReport:
    suite = suite_of(options["suite"])
    query = _saved_query(suite, options["view"]) if options["view"] else options["query"]
    rows = list(results_of(suite, query).exported(site=""))
    return PrintedReport({"suite": str(suite), "rows": rows}, {"rows": Table("results", EXPORT_COLUMNS, rows)})


def results_of(suite: Suite, query: str) -> SuiteResults:
    """Return the results of a suite as the page of this address shows them. Raises: BadInput where there are none."""
    choice = results_choice(QueryDict(query))
    stored = []
    for grader in column_graders(graders_of(suite.pk), choice):
        report = jobs.require_with_rows(RESULTS, subject_id=grader.key, options=grader.options, at=timezone.now())
        stored.append((grader, StoredResults.of(report.content, report.rows)))
    if not stored:
        raise BadInput("No run has scored this suite.")
    return SuiteResults(suite.pk, choice, stored)


def _saved_query(suite: Suite, name: str) -> str:
    views = SavedView.objects.filter(suite=suite).order_by("name", "pk")
    matching = list(views.filter(name=name))
    if len(matching) == 1:
        return matching[0].query
    names = ", ".join(dict.fromkeys(views.values_list("name", flat=True)[:50])) or "none yet"
    problem = "Several people have saved a view" if matching else "There is no saved view"
    advice = "Use --query with what the page's address says after ?." if matching else f"Saved views: {names}."
    raise BadInput(f"{problem} “{name}” of this suite (--view). {advice}")


def _charts(options: Options) -> PrintedReport:
    suite = suite_of(options["suite"])
    grader = grader_named(graders_of(suite.pk), results_choice(QueryDict(options["query"])).graders)
    if grader is None:
        raise BadInput("No run has scored this suite.")
    content = jobs.require(SUITE_CHARTS, subject_id=grader.key, options=grader.options, at=timezone.now())
    return PrintedReport({"suite": str(suite), "grader": grader.label, **content}, chart_tables(content))


def _comparison(options: Options) -> PrintedReport:
    suite, query = suite_of(options["suite"]), QueryDict(options["query"])
    choice, pair = leaderboard_choice(query), two_systems(query.getlist("system"))
    board = evaluators_of([suite.pk])[suite.pk].pick(choice.evaluator)
    if board is None or pair is None:
        raise BadInput("Name the two systems as the address of the page does. (--query 'system=1&system=2')")
    chosen = choice.options | {"systems": list(pair)}
    content = jobs.require(COMPARISON, subject_id=board.evaluator.pk, options=chosen, at=timezone.now())
    return PrintedReport(content, {"pair": exports.pair_table(content)}, {"pair": comparison_paper(content)})


def suite_of(name: str) -> Suite:
    """Return the suite that --suite names. Raises: BadInput where there is none."""
    suite = suite_named(name)
    if suite is None:
        raise BadInput("Choose a suite (--suite, its id or its benchmark's slug).")
    return suite


def _agreement(options: Options) -> PrintedReport:
    if options["queue"] and options["labels"]:
        raise BadInput("Choose a queue (--queue) or a table of imported labels (--labels), not both.")
    kind = LABEL_AGREEMENT if options["labels"] else AGREEMENT
    slug = options["labels"] or options["queue"]
    subject_id = _id_of_slug(LabelTable, slug) if options["labels"] else _id_of_slug(Queue, slug)
    if subject_id is None:
        queues = f"Queues: {_known_slugs(Queue)}."
        tables = f"Label tables: {_known_slugs(LabelTable)}."
        missing = "label table" if options["labels"] else "queue"
        raise BadInput(f"There is no {missing} “{slug}”. {queues} (--queue) {tables} (--labels)")
    content = jobs.require(kind, subject_id=subject_id, options=agreement_options(options), at=timezone.now())
    return PrintedReport(content, exports.agreement_tables(content), agreement_papers(content))


def _id_of_slug(model: type[Queue] | type[LabelTable], slug: str) -> int | None:
    return model._default_manager.filter(slug=slug).values_list("pk", flat=True).first()


def _known_slugs(model: type[Queue] | type[LabelTable]) -> str:
    return ", ".join(model._default_manager.order_by("slug").values_list("slug", flat=True)[:50]) or "none yet"


def _judges(options: Options) -> PrintedReport:
    now = timezone.now()
    content = jobs.require(JUDGES, subject_id=0, options=looks_option(options), at=now)
    bias = jobs.require(JUDGE_BIAS, subject_id=0, options={}, at=now)
    words = [state.words for state in certificates_of_judges(content["judges"])]
    papers = {"certificates": certificate_table(all_certificates()), "bias": bias_table(bias)}
    judges = [row | {"certificate": certificate} for row, certificate in zip(content["judges"], words, strict=True)]
    return PrintedReport(
        content | {"judges": judges, "bias": bias["judges"]},
        exports.judge_tables(content, words) | {name: data_table(paper) for name, paper in papers.items()},
        judge_papers(content, words) | papers,
    )


def _debates(options: Options) -> PrintedReport:
    """Return the page's figures under `report`, beside the figures by cell in the layout of recorded debates."""
    sets = DebateSet.objects.order_by("pk")
    if options["set"] is not None:
        sets = sets.filter(pk=options["set"])
        if not sets.exists():
            raise BadInput(f"There is no set of debates {options['set']}.")
    content = jobs.require(DEBATES, subject_id=0, options=debate_options(_query(options)), at=timezone.now())
    cells = debates_report(sets.select_related("system_a", "system_b", "rubric"))
    return _of_papers({**cells, "report": content}, debate_tables(content))


def _arena(options: Options) -> PrintedReport:
    content = jobs.require(ARENA, subject_id=0, options=arena_options(_query(options)), at=timezone.now())
    return _of_papers(content, arena_tables(content))


def _query(options: Options) -> QueryDict:
    """Return a command's choices of debates as the page's address says them."""
    query = QueryDict(mutable=True)
    for name in ("scenario", "criterion", "rule", "reading", "set", "experiment", "looks"):
        if options[name] not in (None, ""):
            query[name] = str(options[name])
    return query


def _robustness(options: Options) -> PrintedReport:
    experiments = Experiment.objects.filter(kind=ExperimentKind.ROBUSTNESS).order_by("-created_at", "-pk")
    experiment_id = options["experiment"]
    experiment = experiments.first() if experiment_id is None else experiments.filter(pk=experiment_id).first()
    if experiment is None:
        ids = ", ".join(str(pk) for pk in experiments.values_list("pk", flat=True)[:50]) or "none yet"
        missing = "robustness experiment yet" if experiment_id is None else f"robustness experiment {experiment_id}"
        raise BadInput(f"There is no {missing} (--experiment). Experiments: {ids}.")
    content = jobs.require(ROBUSTNESS, subject_id=experiment.pk, options={}, at=timezone.now())
    return _of_papers(
        {"experiment": {"id": experiment.pk, "name": experiment.name}} | content, robustness_tables(content)
    )


def _of_papers(content: ReportContent, papers: Mapping[str, PaperTable]) -> PrintedReport:
    return PrintedReport(content, {name: data_table(paper) for name, paper in papers.items()}, papers)


def _spend(options: Options) -> PrintedReport:
    form = SpendForm({name: options[name] for name in ("from", "to")})
    if not form.is_valid():
        raise BadInput(" ".join(f"{error} (--{name})" for name, errors in form.errors.items() for error in errors))
    content = jobs.require(SPEND, subject_id=0, options={}, at=timezone.now())
    budgets = open_budgets()
    tables = spend_tables(content, form.period, budgets)
    return PrintedReport(spend_content(content, form.period, budgets), tables)


REPORTS: dict[str, Callable[[Options], PrintedReport]] = {
    "leaderboard": _leaderboard,
    "comparison": _comparison,
    "results": _results,
    "board": _board,
    "charts": _charts,
    "agreement": _agreement,
    "judges": _judges,
    "debates": _debates,
    "arena": _arena,
    "robustness": _robustness,
    "spend": _spend,
}
