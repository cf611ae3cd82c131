"""The reports on the results of a suite and on the charts of one grader's scores, and sending results to review."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from django.db.models import QuerySet
from django.db.models.fields.json import KeyTransform
from django.http import QueryDict
from django.utils import timezone

from evalsite.base.actions.declarations import ActionCall
from evalsite.base.actions.reports import (
    BASELINE,
    BeingComputed,
    Report,
    ReportColumn,
    ReportTable,
    ScoreColumn,
    plain_columns,
)
from evalsite.base.formats import ScoreScale, read_scale
from evalsite.base.rows import batches, page_at
from evalsite.base.tables import Row, facts_text
from evalsite.base.types import ByName, JsonDict, JsonObject, Refused
from evalsite.reports import jobs
from evalsite.reports.forms import AddressForm, results_choice
from evalsite.reports.selectors.leaderboards import Grader, grader_named, graders_of, labels_read_once
from evalsite.reports.selectors.results import ResultCell
from evalsite.reports.services import snapshots
from evalsite.reports.services.results import (
    RESULTS,
    ROW_COLUMNS,
    ResultLine,
    StoredResults,
    SuiteResults,
    column_graders,
)
from evalsite.reports.services.snapshots import EVERY_END, ReportContent, stored_figure_column
from evalsite.reports.services.suite_charts import BINS, SUITE_CHARTS, chart_numbers
from evalsite.review.models import Annotation, ImportedLabel, LabelTable, Queue
from evalsite.review.selectors.verdict_reviews import ChosenQuestion, chosen_by_run, chosen_questions, work_of_chosen
from evalsite.review.services.researcher_referrals import (
    MOST_CHOSEN,
    NOTHING_SENT,
    TOO_MANY_CHOSEN,
    ReferredItems,
    send_chosen,
)
from judging.actions.references import SUITE
from judging.actions.runs import RUNS
from judging.forms.new_runs import AgreedForm
from judging.judges.kinds.panel import votes_in_words
from judging.models import Call, Response, RunEvaluator, Score, Suite, SuiteCase, Verdict
from judging.selectors.judges import cost_of_calls, score_scales_of
from judging.specs.suites.cases_yaml import media_fields

CHUNK = 2000
SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "extra")
CASE = ("case__key", "case__scenario", "case__question_type", "case__lang")
Columns = tuple[ReportColumn[ReportContent], ...]


def _sampling(line: ReportContent) -> str:
    """Return the sampling options of a system that answers here as JSON; empty for others."""
    asking: JsonObject = line["response__system__asking"]
    options = {name: asking[name] for name in SAMPLING if asking.get(name) is not None}
    return json.dumps(options, ensure_ascii=False) if options else ""


def _address(line: ReportContent) -> str:
    """Return the page of the verdict, or of the response where rules graded it."""
    if line["verdict_id"] is None:
        return page_at(Response.PAGE, line["response_id"])
    return page_at(Verdict.PAGE, line["verdict_id"])


SCORE_COLUMNS: Columns = (
    *plain_columns("suite", "run_id", "run__name as run", "evaluator__name as evaluator"),
    *plain_columns("evaluator__is_baseline as is_baseline", "case__key as case", "case__scenario as scenario"),
    *plain_columns("case__question_type as type", "case__lang as lang", "response__system__name as system"),
    *plain_columns("response__attempt as attempt", "response_id", "status", "value", "full", "share", "flags"),
    *plain_columns("verdict_id", "verdict__status as verdict_status", "verdict__reason as reason", "environment"),
    *plain_columns("response__system__endpoint__name as endpoint"),
    *plain_columns("response__system__prompt_version as prompt_version"),
    ReportColumn("sampling", _sampling),
    *plain_columns("response__stop_reason as stop_reason", "response__seconds as seconds"),
    *plain_columns("response__call_id as call_id", "response__prompt__text as prompt", "response__text as response"),
    ReportColumn("words", lambda line: len(line["response__text"].split())),
    *plain_columns("verdict__rationale as judge_reason", "cost"),
    ReportColumn("address", _address),
    *plain_columns("votes"),
)
SCORE_PATHS = (
    *("run_id", "run__name", "evaluator_id", "evaluator__name", "evaluator__is_baseline", "response__prompt_id"),
    *("response__system__name", "response__attempt", "response_id", "status", "value", "full", "share", "flags"),
    *("verdict_id", "verdict__status", "verdict__reason", "response__system__endpoint__name"),
    *("response__system__prompt_version", "response__system__asking", "response__stop_reason", "response__seconds"),
    *("response__call_id", "response__prompt__text", "response__text"),
    *("verdict__rationale", "verdict__call_ids", "verdict__votes"),
)


def _score_lines(scores: QuerySet[Score]) -> Iterator[ReportContent]:
    """Yield the scores, which are of runs over one suite, in the order stored."""
    first = scores.select_related("run__suite__benchmark").order_by("pk").first()
    if first is None:
        return
    suite = first.run.suite
    links = SuiteCase.objects.filter(suite=suite).values("case__prompt_id", *CASE)
    cases = {link["case__prompt_id"]: link for link in links}
    scales = score_scales_of(list(RunEvaluator.objects.filter(run__suite=suite)))
    rows = scores.order_by("pk").values(
        *SCORE_PATHS, environment=KeyTransform("environment", "detail"), shares=KeyTransform("votes", "detail")
    )
    for batch in batches(rows.iterator(chunk_size=CHUNK), CHUNK):
        asked = {pk for row in batch for pk in row["verdict__call_ids"] or ()}
        costs = dict(Call.objects.filter(pk__in=asked).values_list("pk", "cost"))
        for row in batch:
            yield {
                **(cases.get(row["response__prompt_id"]) or dict.fromkeys(CASE, "")),
                **row,
                "suite": str(suite),
                "cost": cost_of_calls([costs.get(pk) for pk in row["verdict__call_ids"] or ()]),
                "votes": votes_in_words(
                    row["verdict__votes"] or (), {"votes": row["shares"]}, scales[row["evaluator_id"]]
                ),
            }


SCORES: ReportTable[QuerySet[Score], ReportContent] = ReportTable("scores", "Scores", SCORE_COLUMNS, rows=_score_lines)

ANNOTATION_COLUMNS = (
    *("item_id", "item__criterion as criterion", "item__scenario as scenario", "annotator__username as annotator"),
    *("label", "cannot_judge", "note", "seconds", "created_at", "revised_label", "revision_note", "revised_at"),
    *("item__status as item_status", "item__label as item_label", "item__arm as arm"),
    "item__inclusion_probability as inclusion_probability",
)
LABEL_COLUMNS = (  # those that the import of labels reads again
    *("item__key as item", "rater", "label", "given_at"),
    *("item__criterion as criterion", "item__scenario as scenario", "item__language as language"),
)


def _paths(columns: Iterable[str]) -> list[str]:
    return [column.partition(" as ")[0] for column in columns]


def _annotations(queue: Queue) -> Iterator[ReportContent]:
    rows = Annotation.objects.filter(queue=queue).order_by("item_id", "pk")
    yield from rows.values(*_paths(ANNOTATION_COLUMNS)).iterator(chunk_size=CHUNK)


def _labels(table: LabelTable) -> Iterator[ReportContent]:
    rows = ImportedLabel.objects.filter(table=table).order_by("item_id", "pk")
    yield from rows.values(*_paths(LABEL_COLUMNS)).iterator(chunk_size=CHUNK)


ANNOTATIONS: ReportTable[Queue, ReportContent] = ReportTable(
    "answers", "Annotations", plain_columns(*ANNOTATION_COLUMNS), rows=_annotations
)
LABELS: ReportTable[LabelTable, ReportContent] = ReportTable(
    "answers", "Imported labels", plain_columns(*LABEL_COLUMNS), rows=_labels
)


def _given(key: str) -> ReportColumn[Row]:
    return ReportColumn(key, lambda line: line.get(key))


RESPONSES: ReportTable[Iterable[Row], Row] = ReportTable(
    "responses",
    "Responses to a case",
    columns=tuple(
        map(
            _given,
            (
                *("case", "system", "attempt", "scored_by", "criterion", "score", "label", "status", "flags"),
                *("reasons", "response", "address", "response_images", "response_messages", "share", "scale"),
            ),
        )
    ),
    rows=lambda lines: lines,
)


MEDIA = ("prompt_images", "prompt_messages", "response_images", "response_messages")


def results_shown(suite: Suite, address: QueryDict, *, waits: bool, site: str = "") -> SuiteResults:
    """Return the results of a suite as the page of an address shows them; links in files begin with `site`.

    Raises:
        Refused: nothing has scored the suite.
        BeingComputed: a column has no figures yet.
    """
    choice = results_choice(address)
    graders = column_graders(graders_of(suite.pk), choice)
    if not graders:
        raise Refused("No run has scored this suite.")
    read = snapshots.up_to_date if waits else jobs.obtain
    with labels_read_once():
        reports = [
            read(RESULTS, subject_id=grader.key, options=grader.options, at=timezone.now(), with_rows=True)
            for grader in graders
        ]
    stored = [StoredResults.of(report.content, report.rows) for report in reports if report.content and report.rows]
    if len(stored) < len(graders):
        raise BeingComputed
    return SuiteResults(suite, choice, list(zip(graders, stored, strict=True)), site=site)


def _cell(key: str, value: Callable[[ResultLine, ResultCell], object]) -> ReportColumn[ResultLine]:
    """Return a column of what a grader said of a response, for programs; a baseline has none of these."""
    return ReportColumn(key, lambda line: None if line.cell is None else value(line, line.cell), in_papers=False)


def _number(key: str, share: Callable[[ResultLine], float | None]) -> ReportColumn[ResultLine]:
    return ReportColumn(key, lambda line: line.column.scale.number_of(share(line)))


def _row_column(key: str) -> ReportColumn[ResultLine]:
    return ReportColumn(key, lambda line: line.row_values[key], in_papers=False)


def _status(line: ResultLine) -> str:
    if line.cell is None:
        return BASELINE
    return next((part.status for part in (line.cell.score, line.cell.verdict) if part), "")


def _votes(line: ResultLine, cell: ResultCell) -> str:
    detail = cell.score.detail if cell.score else {}
    return votes_in_words(cell.verdict.votes, detail, line.column.scale) if cell.verdict else ""


def _media_column(key: str) -> ReportColumn[ResultLine]:
    part = key.partition("_")[0]

    def media(_line: ResultLine, cell: ResultCell) -> object:
        text = cell.response.prompt if part == "prompt" else cell.response
        return media_fields(part, text.images, text.messages).get(key)

    return _cell(key, media)


CELL_COLUMNS: tuple[ReportColumn[ResultLine], ...] = (
    ReportColumn("case", lambda line: line.case.key),
    *plain_columns("case.scenario", "case.language", in_papers=False),
    *plain_columns("system", "column.grader.label as grader"),
    _number("score", lambda line: line.share),
    _number("label", lambda line: line.label),
    _cell("attempts", lambda line, cell: line.attempts),
    ReportColumn("status", _status),
    _cell("flags", lambda line, cell: ", ".join(map(str, cell.score.flags)) if cell.score else ""),
    _cell("confidence", lambda line, cell: cell.verdict and cell.verdict.confidence),
    _cell("reasons", lambda line, cell: cell.verdict.rationale if cell.verdict else ""),
    _cell("votes", _votes),
    _cell("cost", lambda line, cell: cell.cost),
    _cell("prompt", lambda line, cell: cell.response.prompt.text),
    _cell("response", lambda line, cell: cell.response.text),
    _cell("address", lambda line, cell: line.site + page_at(Response.PAGE, cell.response.pk)),
    _cell("verdict", lambda line, cell: line.site + page_at(Verdict.PAGE, cell.verdict.pk) if cell.verdict else ""),
    _cell("share", lambda line, cell: line.share),
    _cell("scale", lambda line, cell: line.column.scale.range_words),
    *(_media_column(key) for key in MEDIA),
)
ROWS: ReportTable[SuiteResults, ResultLine] = ReportTable(
    "rows",
    "Results",
    columns=lambda results: (*CELL_COLUMNS, *(_row_column(column.key) for column in ROW_COLUMNS)),
    rows=lambda results: results.lines(),
    basis=lambda results: "A row for each response and grader.",
)


RESULTS_REPORT = Report(
    "results",
    "The scores of a suite response by response, as the page of results shows them at an address.",
    permission="reports.view_snapshot",
    form_class=AddressForm,
    read=lambda form, waits: results_shown(form.cleaned_data["suite"], form.address, waits=waits),
    facts=lambda results: {"suite": str(results.suite), "rows": list(ROWS.data(results).rows)},
    tables=(ROWS,),
    references={Suite: SUITE},
)


@dataclass(frozen=True, slots=True)
class ChartsShown:
    """What the charts of a grader's scores of a suite are drawn from."""

    suite: Suite
    grader: Grader
    content: ReportContent

    @property
    def scale(self) -> ScoreScale:
        """The scale of the scores."""
        return read_scale(self.content.get("scale"))


def charts_shown(suite: Suite, address: QueryDict, *, waits: bool) -> ChartsShown:
    """Return the charts of the grader that an address names. Raises: Refused, BeingComputed."""
    grader = grader_named(graders_of(suite.pk), results_choice(address).graders)
    if grader is None:
        raise Refused("No run has scored this suite.")
    at = timezone.now()
    content = jobs.content_of(SUITE_CHARTS, subject_id=grader.key, options=grader.options, at=at, waits=waits)
    return ChartsShown(suite, grader, content)


def _figure(of: str) -> ReportColumn[ReportContent]:
    return stored_figure_column("value", lambda line: line[of], ends=EVERY_END)


def _quartile_column(key: str, place: int, scale: ScoreScale) -> ReportColumn[ReportContent]:
    return ScoreColumn(key, lambda row: row["quartiles"] and row["quartiles"][place], scale=scale)


def _distribution_columns(shown: ChartsShown) -> tuple[ReportColumn[ReportContent], ...]:
    quartiles = ("lower_quartile", "median", "upper_quartile")
    return (
        *plain_columns("system"),
        _figure("mean"),
        *plain_columns("n as scored"),
        *(_quartile_column(name, place, shown.scale) for place, name in enumerate(quartiles)),
        *(_bin_column(place) for place in range(BINS)),
    )


def _bin_column(place: int) -> ReportColumn[ReportContent]:
    return ReportColumn(f"from_{place * 100 // BINS}", lambda row: row["counts"][place])


def _run_figures(shown: ChartsShown) -> Iterator[ReportContent]:
    for run in shown.content["runs"]:
        for key, system in sorted(run["systems"].items(), key=lambda named: named[1]):
            if key in run["figures"]:
                yield {**run, "system": system, "mean": run["figures"][key]}


def _chart(
    name: str,
    title: str,
    columns: tuple[ReportColumn[ReportContent], ...] | Callable[[ChartsShown], tuple[ReportColumn[ReportContent], ...]],
    rows: Callable[[ReportContent], list[ReportContent]],
) -> ReportTable[ChartsShown, ReportContent]:
    return ReportTable(name, title, columns, rows=lambda shown: rows(shown.content))


RUN = plain_columns("at", "suite", "run_id", "run")
CHARTS_REPORT = Report(
    "charts",
    "What the charts of a grader's scores of a suite show: distribution, time, length, tokens, agreement.",
    permission="reports.view_snapshot",
    form_class=AddressForm,
    read=lambda form, waits: charts_shown(form.cleaned_data["suite"], form.address, waits=waits),
    facts=lambda shown: {"suite": str(shown.suite), "grader": shown.grader.label, **chart_numbers(shown.content)},
    tables=(
        _chart(
            "distribution",
            "Scores of each system",
            _distribution_columns,
            lambda content: content["distribution"],
        ),
        ReportTable("runs", "Mean scores by run", (*RUN, *plain_columns("system"), _figure("mean")), rows=_run_figures),
        _chart(
            "lengths",
            "Scores by length",
            (*plain_columns("low as from", "high as to", "n as responses"), _figure("mean")),
            lambda content: content["lengths"]["bands"],
        ),
        _chart(
            "length-correlation",
            "Rank correlation of length and score",
            (*plain_columns("system", "n as responses", "mean_length"), _figure("correlation")),
            lambda content: content["lengths"]["systems"],
        ),
        _chart(
            "tokens",
            "Scores by output tokens",
            (*plain_columns("system", "tokens", "is_recorded", "is_on_front"), _figure("mean")),
            lambda content: content["tokens"],
        ),
        _chart(
            "agreement",
            "Agreement with people by run",
            (*RUN, *plain_columns("labelled"), _figure("agreement")),
            lambda content: content["agreement"],
        ),
    ),
    references={Suite: SUITE},
)


class SendResultsForm(AddressForm, AgreedForm):
    """What a page of results shows, and how many annotations of it somebody has agreed to ask for."""


HOW_TO_AGREE = "Agree to it on the page (commands and the API: agreed), or narrow the filters."
of_results = partial(RUNS.new, permission="review.change_queue", form=SendResultsForm, calls_models=True)


def _chosen(form: SendResultsForm) -> list[ChosenQuestion]:
    cells = results_shown(form.cleaned_data["suite"], form.address, waits=True).judged_cells(most=MOST_CHOSEN + 1)
    if len(cells) > MOST_CHOSEN:
        raise Refused(TOO_MANY_CHOSEN)
    return chosen_questions(cells)


@of_results(
    "send-results",
    needs_person=True,
    shown=lambda referred: {"sent": ByName((sent.queue.slug, sent.count) for sent in referred)},
    said=lambda referred: " ".join(sent.words for sent in referred if sent.count) or NOTHING_SENT,
)
def send_results(act: ActionCall[None, SendResultsForm]) -> list[ReferredItems]:
    """Send the responses that a page of results means to review: the low ones, where it shows low scores."""
    questions = _chosen(act.form)
    work_of_chosen(chosen_by_run(questions), questions).check_agreed(act.data["agreed"], how=HOW_TO_AGREE)
    return send_chosen(questions=questions, actor=act.person, at=act.at)


@of_results("count-results", is_dry=True, shown=dict, lines=facts_text)
def count_results(act: ActionCall[None, SendResultsForm]) -> JsonDict:
    """Count the annotations that sending what a page of results means would ask for, without sending it."""
    questions = _chosen(act.form)
    runs = chosen_by_run(questions)
    work = work_of_chosen(runs, questions)
    names = ("total", "asked", "labelled", "new", "annotations")
    return {
        "suite": str(act.data["suite"]),
        "runs": [{"run": part.run.pk} | {name: getattr(part, name) for name in names} for part in runs],
        "annotations_at_most": work.most,
        "people_seconds_at_most": work.most_seconds,
    }
