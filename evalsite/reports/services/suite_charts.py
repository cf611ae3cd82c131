"""Charts of a suite, tables of its cases, and profiles of its systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.utils.text import Truncator
from django.utils.timezone import localtime

from evalsite.base.formats import ScoreScale, in_numbers, read_scale
from evalsite.base.rows import page_at
from evalsite.base.tables import Row
from evalsite.base.types import JsonDict
from evalsite.reports.selectors.leaderboards import (
    MAX_COLUMNS,
    Grader,
    Options,
    evaluators_with_run,
    graders_of,
    history_of,
    judges_among,
)
from evalsite.reports.selectors.results import (
    SuiteScores,
    case_words,
    first_words,
    labels_of_people,
    newest_scores,
    output_tokens,
    read_criterion_shares,
    read_scores,
    response_lengths,
)
from evalsite.reports.services.charts import (
    TONES,
    Axis,
    Chart,
    Point,
    Series,
    bars,
    draw,
    highest,
    percent_axis,
    round_axis,
    score_axis,
    shade,
)
from evalsite.reports.services.judge_rows import PeopleReader, compared_with_people, rows_of_judge
from evalsite.reports.services.leaderboards import board_of, board_of_run
from evalsite.reports.services.results import ResultCells, StoredResults
from evalsite.reports.services.snapshots import ReportContent, figure, kind_over
from evalsite.review.selectors.final_labels import SubjectLabel
from judging.judges.subjects import flag_in_words
from judging.models import Case, Response, RunEvaluator, Score, Suite, Verdict
from judging.selectors.judges import score_scale_of, score_scales_of
from judging.specs.suites.cases_yaml import media_fields
from judging.statistics.estimates import Estimate, Floats, Ints, MeanKind, Scale, census_mean
from judging.statistics.estimators.agreement import share_equal_of
from judging.statistics.estimators.boards import by_case
from judging.statistics.rank_correlation import spearman_of
from judging.statistics.ratings import Cell
from judging.statistics.texts import ASCII_PER_TOKEN

BINS = 10
STEPS = 1000  # shares are counted as rounded to 1 / STEPS
BANDS = 5
MAX_POINTS = 600
HIGHEST_DRAWN = 99  # percentile of lengths at which the axis ends


def counts_by_score(shares: Floats) -> list[int]:
    """Return how many shares lie in each tenth of the scale; a bound counts upwards, what lies outside at the ends."""
    places = np.rint(shares[~np.isnan(shares)] * STEPS) // (STEPS // BINS)
    counts: list[int] = np.bincount(np.clip(places, 0, BINS - 1).astype(np.int64), minlength=BINS).tolist()
    return counts


def quartiles(shares: Floats) -> list[float] | None:
    """Return the quartiles of what is known; None for nothing."""
    numbers = shares[~np.isnan(shares)]
    return [round(float(cut), 6) for cut in np.quantile(numbers, [0.25, 0.5, 0.75])] if len(numbers) else None


@dataclass(frozen=True, slots=True)
class LengthBand:
    """Responses of about one length: a fifth of them, with the mean score over their cases."""

    low: int  # characters
    high: int
    n: int  # responses
    mean: Estimate


def length_bands(lengths: Floats, shares: Floats, cases: Ints) -> list[LengthBand]:
    """Return up to five bands of responses by length; none where all are of one length."""
    cuts = np.unique(np.quantile(lengths, np.linspace(0, 1, BANDS + 1))) if len(lengths) else np.empty(0)
    if len(cuts) < 2:
        return []
    places = np.clip(np.searchsorted(cuts, lengths, side="left") - 1, 0, len(cuts) - 2)
    return [
        LengthBand(
            int(lengths[places == band].min()),
            int(lengths[places == band].max()),
            int((places == band).sum()),
            census_mean(by_case(shares[places == band], cases[places == band])),
        )
        for band in np.unique(places).tolist()
    ]


def length_correlation(lengths: Floats, shares: Floats, cases: Ints) -> Estimate:
    """Return the rank correlation of length and score over cases, several attempts at one as their mean."""
    return spearman_of(by_case(lengths, cases), by_case(shares, cases))


def drawn_points(lengths: Floats, shares: Floats) -> list[tuple[int, float]]:
    """Return at most `MAX_POINTS` pairs of length and share, taken at even steps from the shortest to the longest."""
    order = np.lexsort((shares, lengths))
    if len(order) > MAX_POINTS:
        order = order[np.rint(np.linspace(0, len(order) - 1, MAX_POINTS)).astype(np.int64)]
    return [(int(lengths[index]), round(float(shares[index]), 4)) for index in order.tolist()]


def longest_drawn(lengths: Floats) -> int:
    """Return where the axis of lengths ends, so that a few very long responses do not press the others together."""
    return max(1, int(np.ceil(np.percentile(lengths, HIGHEST_DRAWN)))) if len(lengths) else 1


def pareto_front(costs: Sequence[float], scores: Sequence[float]) -> list[bool]:
    """Return for each whether no other costs as little or less and scores as much or more, and differs in one."""
    return [
        not any(
            cost <= own_cost and score >= own_score and (cost < own_cost or score > own_score)
            for cost, score in zip(costs, scores, strict=True)
        )
        for own_cost, own_score in zip(costs, scores, strict=True)
    ]


def compute_suite_charts(evaluator_id: int, options: Options) -> ReportContent:
    """Return what the charts of a grader show; the option `evaluators` are its evaluators, newest run first."""
    evaluators = evaluators_with_run(options["evaluators"])
    scores, scale = read_scores(evaluators, {"missing": "skip"}), score_scale_of(evaluators[0])
    board = {row["system_id"]: row["figures"][MeanKind.RAW.value] for row in board_of(evaluators)["rows"]}
    history = history_of(evaluators[0])
    lengths = response_lengths(scores.attempts["response"].tolist())
    return {
        "scale": scale.to_json(),
        "distribution": _distribution(scores, board),
        "lengths": _lengths(scores, lengths, scale),
        "tokens": _tokens(scores, lengths, board),
        "runs": [_run(row) for row in history],
        "agreement": _agreement(judges_among(history)),
    }


def _distribution(scores: SuiteScores, board: Mapping[int, ReportContent]) -> list[ReportContent]:
    rows = {pk: row for row, pk in enumerate(scores.systems)}
    return [
        {
            "system_id": pk,
            "system": scores.systems[pk],
            "mean": mean,
            "n": int((~np.isnan(scores.shares[rows[pk]])).sum()),
            "quartiles": quartiles(scores.shares[rows[pk]]),
            "counts": counts_by_score(scores.shares[rows[pk]]),
        }
        for pk, mean in board.items()
        if pk in rows
    ]


def _lengths(scores: SuiteScores, length_by_response: Mapping[int, int], scale: ScoreScale) -> ReportContent:
    """Return scored responses by length: in all, and the correlation within each system."""
    attempts = scores.attempts[~np.isnan(scores.attempts["share"])]
    lengths = np.array([length_by_response.get(pk, 0) for pk in attempts["response"].tolist()], dtype=np.float64)
    shares, prompts = attempts["share"], attempts["prompt"]
    return {
        "n": len(attempts),
        "longest_drawn": longest_drawn(lengths),
        "points": drawn_points(lengths, shares),
        "bands": [
            {"low": band.low, "high": band.high, "n": band.n, "mean": figure(band.mean, scale)}
            for band in length_bands(lengths, shares, prompts)
        ],
        "systems": [
            {
                "system_id": pk,
                "system": name,
                "n": int(of_system.sum()),
                "mean_length": float(lengths[of_system].mean()) if of_system.any() else None,
                "correlation": figure(length_correlation(lengths[of_system], shares[of_system], prompts[of_system])),
            }
            for row, (pk, name) in enumerate(scores.systems.items())
            for of_system in (attempts["system"] == row,)
        ],
    }


def _tokens(scores: SuiteScores, lengths: Mapping[int, int], board: Mapping[int, ReportContent]) -> list[ReportContent]:
    """Return the mean tokens of each system's responses beside its mean score, and who is on the Pareto front."""
    recorded = output_tokens(scores.attempts["response"].tolist())
    rows: list[ReportContent] = []
    for number, (pk, name) in enumerate(scores.systems.items()):
        ids = scores.attempts["response"][scores.attempts["system"] == number].tolist()
        mean = board.get(pk)
        if not ids or mean is None or mean["value"] is None:
            continue
        is_recorded = all(response_id in recorded for response_id in ids)
        tokens = [
            recorded[response_id] if is_recorded else lengths.get(response_id, 0) / ASCII_PER_TOKEN
            for response_id in ids
        ]
        facts: ReportContent = {"tokens": float(np.mean(tokens)), "is_recorded": is_recorded, "mean": mean}
        rows.append({"system_id": pk, "system": name, **facts})
    front = pareto_front([row["tokens"] for row in rows], [row["mean"]["value"] for row in rows])
    with_front = [row | {"is_on_front": is_on_front} for row, is_on_front in zip(rows, front, strict=True)]
    return sorted(with_front, key=lambda row: (row["tokens"], row["system"]))


def _run(evaluator: RunEvaluator) -> ReportContent:
    rows = board_of_run(evaluator)["rows"]
    figures = {str(row["system_id"]): row["figures"][MeanKind.RAW.value] for row in rows}
    return _when(evaluator) | {"figures": figures, "systems": {str(row["system_id"]): row["system"] for row in rows}}


def _agreement(judges: Sequence[RunEvaluator]) -> list[ReportContent]:
    """Return how often a judge agreed with people in each of its runs; runs without labels are left out."""
    replies, reader = rows_of_judge(judges), PeopleReader()
    rows = []
    for judge in judges:
        people = compared_with_people([judge], replies, reader)
        labelled = len(people.compared)
        if labelled:
            rows.append(
                _when(judge) | {"agreement": figure(share_equal_of(people.columns).estimate), "labelled": labelled}
            )
    return rows


def _when(evaluator: RunEvaluator) -> ReportContent:
    run = evaluator.run
    return {
        "evaluator_id": evaluator.pk,
        "run_id": run.pk,
        "run": run.name,
        "suite_id": run.suite_id,
        "suite": f"v{run.suite.number}",
        "at": (run.finished_at or run.created_at).isoformat(),
    }


def _evaluators(evaluator_id: int, options: Options) -> list[RunEvaluator]:
    """Return everything that the report reads of: the grader's evaluators and those of its history."""
    evaluators = evaluators_with_run(options["evaluators"])
    return list({row.pk: row for row in (*evaluators, *history_of(evaluators[0]))}.values())


SUITE_CHARTS = kind_over("suite-charts", _evaluators, compute_suite_charts)


MAX_LINES = len(TONES)
NAME_LETTERS = 22
MAX_LABELLED = 30  # dots with a number beside them
LEAST_STEP, MOST_STEP = 0.0045, 0.0055  # Results take 0.005 more at either end, and shares count in 0.001


@dataclass(frozen=True, slots=True)
class SuiteCharts:
    """What the page of charts shows; None where there is nothing to draw."""

    distribution: list[JsonDict]
    systems: list[JsonDict]  # all, best first
    scale: ScoreScale
    drawn: list[int]  # systems that have a line
    time: Chart | None
    runs: list[JsonDict]
    lengths: Chart | None
    bands: list[JsonDict]
    length_rows: list[JsonDict]
    points_drawn: int
    points: int
    tokens: Chart | None
    token_rows: list[JsonDict]
    agreement: Chart | None
    agreement_rows: list[JsonDict]


def suite_charts(content: ReportContent, *, chosen: Sequence[int]) -> SuiteCharts:
    """Return the charts; of the systems asked for, else of the best, at most `MAX_LINES` have a line by time."""
    system_ids = [row["system_id"] for row in content["distribution"]]
    drawn = ([pk for pk in system_ids if pk in chosen] or system_ids)[:MAX_LINES]
    runs = [
        {
            **run,
            "at": datetime.fromisoformat(run["at"]),
            "cells": [{"system_id": pk, "figure": run["figures"].get(str(pk))} for pk in drawn],
        }
        for run in content["runs"]
    ]
    lengths, scale = content["lengths"], read_scale(content.get("scale"))
    agreement = [row | {"at": datetime.fromisoformat(row["at"])} for row in content["agreement"]]
    return SuiteCharts(
        distribution=[_distribution_row(row, scale) for row in content["distribution"]],
        systems=content["distribution"],
        scale=scale,
        drawn=drawn,
        time=time_chart(content["runs"], drawn, scale),
        runs=runs[::-1],
        lengths=_lengths_chart(lengths, scale),
        bands=lengths["bands"],
        length_rows=lengths["systems"],
        points_drawn=len(lengths["points"]),
        points=lengths["n"],
        tokens=_tokens_chart(content["tokens"], scale),
        token_rows=content["tokens"],
        agreement=_agreement_chart(agreement),
        agreement_rows=agreement[::-1],
    )


def _distribution_row(row: ReportContent, scale: ScoreScale) -> JsonDict:
    total = max(1, row["n"])
    cells = [
        {
            "n": n,
            "shade": shade(n / total) if n else None,
            "least": scale.typed(step / BINS + LEAST_STEP) if step else "",
            "most": scale.typed((step + 1) / BINS - MOST_STEP) if step < BINS - 1 else "",
        }
        for step, n in enumerate(row["counts"])
    ]
    return row | {"bars": bars(row["counts"], scale), "cells": cells}


def time_chart(runs: Sequence[ReportContent], system_ids: Sequence[int], scale: ScoreScale) -> Chart | None:
    """Return the mean of each system by run, the oldest first; None for fewer than two runs."""
    if len(runs) < 2 or not system_ids:
        return None
    names = {pk: name for run in runs for pk, name in run["systems"].items()}
    series = []
    for tone, pk in zip(TONES, system_ids, strict=False):
        name, points = names.get(str(pk), str(pk)), []
        for position, run in enumerate(runs):
            figure = run["figures"].get(str(pk))
            if figure is not None and figure["value"] is not None:
                says = f"{name}, {run['suite']}, {run['run']}: {scale.whole_words(figure['value'])}"
                points.append(Point(position, figure["value"], figure["low"], figure["high"], says))
        series.append(Series(Truncator(name).chars(NAME_LETTERS), points, tone=tone, has_dots=True))
    return draw("Score by run", _run_axis(runs), _score_axis("Mean score", scale, series), series)


def _agreement_chart(rows: Sequence[JsonDict]) -> Chart | None:
    measured = [row for row in rows if row["agreement"]["value"] is not None]
    if len(measured) < 2:
        return None
    points = [
        Point(
            position,
            row["agreement"]["value"],
            row["agreement"]["low"],
            row["agreement"]["high"],
            f"{row['suite']}, {row['run']}: {row['agreement']['value']:.0%} agree",
        )
        for position, row in enumerate(measured)
    ]
    series = [Series("Agreement with people, 95% intervals", points, has_dots=True)]
    axis = _run_axis([row | {"at": row["at"].isoformat()} for row in measured])
    return draw("Agreement by run", axis, percent_axis("Agrees with people"), series)


def _run_axis(runs: Sequence[ReportContent]) -> Axis:
    """Return an axis with a place for each run, every few of them named by version and day."""
    step = -(-len(runs) // 5)
    ticks = [(float(position), _day(run)) for position, run in enumerate(runs) if position % step == 0]
    return Axis("Run", -0.5, len(runs) - 0.5, ticks)


def _day(run: ReportContent) -> str:
    return f"{run['suite']}, {localtime(datetime.fromisoformat(run['at'])):%d %b}"


def _lengths_chart(lengths: ReportContent, scale: ScoreScale) -> Chart | None:
    if len(lengths["points"]) < 2:
        return None
    longest = lengths["longest_drawn"]
    cloud = [
        Point(min(x, longest), y, says=f"{x:,} characters: {scale.whole_words(y, 0)}") for x, y in lengths["points"]
    ]
    means = [
        Point(
            (band["low"] + min(band["high"], longest)) / 2,
            band["mean"]["value"],
            band["mean"]["low"],
            band["mean"]["high"],
            f"{band['low']:,} to {band['high']:,} characters: mean {scale.whole_words(band['mean']['value'])}",
        )
        for band in lengths["bands"]
    ]
    series = [
        Series("Responses", cloud, tone="cloud", has_dots=True, has_line=False),
        Series("Mean by fifth, 95% intervals", means, tone="second", has_dots=True),
    ]
    x = round_axis("Characters", high=longest, word=lambda at: f"{at:,.0f}")
    return draw("Length and score", x, _score_axis("Score", scale, series), series)


def _tokens_chart(rows: Sequence[ReportContent], scale: ScoreScale) -> Chart | None:
    """Return mean score by mean tokens, a numbered dot for each system, the Pareto front as a line."""
    if len(rows) < 2:
        return None
    dots = [
        Point(
            row["tokens"],
            row["mean"]["value"],
            row["mean"]["low"],
            row["mean"]["high"],
            f"{row['system']}: {row['tokens']:,.0f} tokens, {scale.whole_words(row['mean']['value'])}",
            str(number) if number <= MAX_LABELLED else "",
        )
        for number, row in enumerate(rows, 1)
    ]
    front = [dot for dot, row in zip(dots, rows, strict=True) if row["is_on_front"]]
    line = [Point(dot.x, dot.y, says=f"{dot.says}, on the Pareto front") for dot in front]
    series = [Series("Systems", dots, has_dots=True, has_line=False)]
    series.append(Series("Pareto front", line, tone="second", has_dots=True))
    x = round_axis("Output tokens", high=highest((dot.x for dot in dots), least=1.0), word=lambda at: f"{at:,.0f}")
    return draw("Tokens and score", x, _score_axis("Mean score", scale, series), series)


def _score_axis(title: str, scale: ScoreScale, series: Sequence[Series]) -> Axis:
    """Return an axis of scores: to a full score unless one lies above, and from the lowest unless one lies below."""
    points = [point for line in series for point in line.points]
    top = highest((point.high or point.y for point in points), least=1.0)
    bottom = min((point.y if point.low is None else point.low for point in points), default=0.0)
    return score_axis(title, scale, low=bottom, high=top)


def chart_numbers(content: ReportContent) -> JsonDict:
    """Return all of what the charts show as numbers of the scale, each figure with its share beside."""
    scale, numbers = read_scale(content.get("scale")), in_numbers(content)
    for row in numbers["distribution"]:
        row["quartiles"] = row["quartiles"] and [scale.number(share) for share in row["quartiles"]]
    lengths = numbers["lengths"]
    lengths["points"] = [[length, scale.number(share)] for length, share in lengths["points"]]
    return dict(numbers)


FLAGS_SHOWN = 2


@dataclass(frozen=True, slots=True)
class CaseCell:
    """The score of one grader for one response."""

    score: Score
    scale: ScoreScale

    @property
    def shade(self) -> int | None:
        """The score in tenths."""
        return shade(self.score.share)

    @property
    def address(self) -> str:
        """The page that says why: the verdict's, else the response's."""
        verdict = self.score.verdict_id
        if verdict is not None:
            return page_at(Verdict.PAGE, verdict)
        return page_at(Response.PAGE, self.score.response_id)

    @property
    def flags(self) -> list[str]:
        """The first few, each once."""
        return list(dict.fromkeys(map(flag_in_words, self.score.flags)))[:FLAGS_SHOWN]


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A response with a cell for each column; None: this grader has not scored it."""

    response: Response
    cells: tuple[CaseCell | None, ...]
    labels: tuple[SubjectLabel, ...]  # final ones of people
    waiting: tuple[int, ...]  # items on which people have not decided


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The columns, and the rows of one page."""

    columns: tuple[Grader, ...]
    rows: tuple[CaseRow, ...]
    left_out: int  # graders with scores that have no column

    @property
    def people_scale(self) -> ScoreScale | None:
        """The scale of all columns, which people's labels are shown on too; None where these differ."""
        scales = {cell.scale for row in self.rows for cell in row.cells if cell is not None}
        return scales.pop() if len(scales) == 1 else None

    @property
    def has_people(self) -> bool:
        """Whether people were asked about a response, or have labelled one."""
        return any(row.labels or row.waiting for row in self.rows)


def case_table(case: Case, suite: Suite | None, answers: Sequence[Response], *, most: int = MAX_COLUMNS) -> CaseTable:
    """Return the scores of these responses to a case by the suite's graders, `most` graders side by side."""
    graders = graders_of(suite.pk) if suite is not None else ()
    ids = [answer.pk for answer in answers]
    scores: Mapping[tuple[int, int], Score] = newest_scores(graders, ids) if graders and ids else {}
    labels = labels_of_people(graders, case, ids) if graders and ids else {}
    scoring = {key for key, _ in scores}
    with_scores = [grader for grader in graders if grader.key in scoring]
    columns = tuple(with_scores[:most])
    by_evaluator = score_scales_of([column.newest for column in columns])
    scales = {column.key: by_evaluator[column.newest.pk] for column in columns}
    rows = tuple(
        CaseRow(
            answer,
            tuple(_cell(scores.get((column.key, answer.pk)), scales[column.key]) for column in columns),
            tuple(label for label in labels.get(answer.pk, ()) if label.label is not None),
            tuple(
                sorted({label.item_id for label in labels.get(answer.pk, ()) if label.label is None and label.item_id})
            ),
        )
        for answer in answers
    )
    return CaseTable(columns, rows, len(with_scores) - len(columns))


def _cell(score: Score | None, scale: ScoreScale) -> CaseCell | None:
    return None if score is None else CaseCell(score, scale)


def exported(case: Case, table: CaseTable, whole: Mapping[int, Response], *, site: str) -> Iterator[Row]:
    """Yield a line for each score and each label; addresses begin with `site`, `whole` are responses with all texts."""
    for row in table.rows:
        response_facts: JsonDict = {
            "case": case.key,
            "system": row.response.system.name,
            "attempt": row.response.attempt,
            **_content(whole.get(row.response.pk)),
        }
        own_page = site + row.response.get_absolute_url()
        for grader, cell in zip(table.columns, row.cells, strict=True):
            if cell is not None:
                yield {**response_facts, **_score_line(grader, cell, site)}
        for label in row.labels:
            label_facts = {
                "scored_by": "people",
                "criterion": label.criterion,
                **_on(table.people_scale or label.score_scale, label.share),
            }
            yield response_facts | label_facts | {"label": label.label, "address": own_page}
        if not any(row.cells) and not row.labels:
            yield response_facts | {"address": own_page}


def _content(response: Response | None) -> JsonDict:
    if response is None:
        return {"response": "", **media_fields("response", (), ())}
    return {"response": response.text, **media_fields("response", response.images, response.messages)}


def _on(scale: ScoreScale, share: float | None) -> dict[str, float | str | None]:
    """Return a score as the columns of a table hold it: on its scale, and as a share."""
    return {"score": scale.number_of(share), "share": share, "scale": scale.range_words}


def _score_line(grader: Grader, cell: CaseCell, site: str) -> Row:
    verdict = cell.score.verdict
    return {
        "scored_by": grader.label,
        "criterion": grader.newest.criterion,
        **_on(cell.scale, cell.score.share),
        "status": cell.score.status,
        "flags": ", ".join(map(str, cell.score.flags)),
        "reasons": verdict.rationale if verdict is not None else "",
        "address": site + cell.address,
    }


ITEMS, ANSWERS, PAIRS = "item", "annotation", "pair of annotations"

HEADINGS = {
    "answers": ("Items with an annotation", ANSWERS),
    "single": ("Items with one annotation so far", ITEMS),
    "pairable": ("Items with two or more annotations", ITEMS),
    "unanimous": ("Items on which all agree", ITEMS),
    "no-majority": ("Items without a majority", ITEMS),
    "disputed": ("Items on which people disagree", ITEMS),
    "off-scale": ("Annotations whose label is no longer on the scale", ANSWERS),
    "person": ("Items that {first} annotated", ITEMS),
    "pair": ("Items that {first} and {second} both annotated", ITEMS),
    "pair-differs": ("Items on which {first} and {second} disagree", ITEMS),
    "together": ("Items with the labels “{one}” and “{other}”", PAIRS),
    "rest": ("Items of {first} on which the others have a majority", ITEMS),
    "rest-differs": ("Items on which {first} disagrees with the majority of the others", ITEMS),
    "skipped": ("Items that {first} skipped", ITEMS),
    "retest": ("Items that {first} annotated twice", ITEMS),
    "retest-differs": ("Items that {first} annotated differently the second time", ITEMS),
    "revealed": ("Annotations whose annotator then saw the verdicts", ANSWERS),
    "revised": ("Annotations revised after the verdicts were shown", ANSWERS),
    "differed": ("Annotations that disagreed with the verdict", ANSWERS),
    "toward": ("Annotations that disagreed with the verdict, then adopted it", ANSWERS),
    "agreed": ("Annotations that agreed with the verdict", ANSWERS),
    "away": ("Annotations that agreed with the verdict, then changed", ANSWERS),
}


def words_of(cell: Cell, texts: Mapping[str, str]) -> tuple[str, str]:
    """Return what the list behind a cell is called, and the unit of its total; `texts` are the words of the labels."""
    heading, unit = HEADINGS.get(cell.show, ("Items", ITEMS))
    if cell.show == "pair" and (cell.one or cell.other):
        heading = "Items that {first} labelled “{one}” and {second} “{other}”"
    title = heading.format(
        first=cell.first or "people",
        second=cell.second,
        one=texts.get(cell.one, cell.one),
        other=texts.get(cell.other, cell.other),
    )
    return title + _group(cell), unit


def _group(cell: Cell) -> str:
    if cell.by == "period":
        return f", last annotated from {cell.name}"
    return f", {cell.by} {cell.name or '(none)'}" if cell.by else ""


MAX_PARTS = 60  # scenarios and languages together
EXTREMES = 5  # best and worst responses each
MAX_CRITERIA = 60  # those with the most verdicts; more are not read on a page
MIN_CRITERIA = 2  # one alone is the score


def profile_of(
    stored: Sequence[StoredResults], scales: Sequence[ScoreScale], system_id: int
) -> list[tuple[str, str, list[ReportContent]]]:
    """Return the whole suite and each of its scenarios and languages that a grader has a score of the system in.

    Each is its title, "", "scenario" or "lang", and the system's mean in it under each grader.
    """
    first = stored[0]
    named = [("", "")]
    for field, names in (("scenario", first.scenarios), ("lang", first.languages)):
        filled = [name for name in names if name]
        named += [(field, name) for name in filled] if len(filled) > 1 else []
    parts = [
        (
            title or "All cases",
            field,
            [_mean(results, scale, system_id, field, title) for results, scale in zip(stored, scales, strict=True)],
        )
        for field, title in named[: MAX_PARTS + 1]
    ]
    return [part for part in parts if any(mean["value"] is not None for mean in part[2])]


def _mean(results: StoredResults, scale: ScoreScale, system_id: int, field: str, name: str) -> ReportContent:
    shares, is_counted = _shares(results, system_id), np.ones(len(results.cells.cases), dtype=bool)
    if field:
        names, places = (
            (results.scenarios, results.cells.scenarios)
            if field == "scenario"
            else (results.languages, results.cells.languages)
        )
        is_counted = places == (names.index(name) if name in names else -1)
    counted = shares[is_counted & ~np.isnan(shares)].astype(np.float64)
    return figure(census_mean(counted, scale=Scale(scale.lowest_share)), scale)


def _shares(results: StoredResults, system_id: int) -> np.ndarray:
    row = int(results.places_of([system_id])[0])
    return results.cells.shares[row] if row >= 0 else np.full(len(results.cells.cases), np.nan)


def extremes_of(results: StoredResults, system_id: int) -> tuple[list[JsonDict], list[JsonDict]]:
    """Return the best and the worst scored responses under a grader with their first words. Two queries."""
    shares = _shares(results, system_id)
    scored = np.flatnonzero(~np.isnan(shares))
    order = scored[np.argsort(shares[scored], kind="stable")]
    worst, best = order[:EXTREMES], order[::-1][: min(EXTREMES, max(0, len(order) - EXTREMES))]
    rows = list(_rows(results.cells, shares, np.concatenate([best, worst]), results.places_of([system_id])))
    return rows[: len(best)], rows[len(best) :]


def _rows(cells: ResultCells, shares: np.ndarray, columns: Ints, system: Ints) -> Iterator[JsonDict]:
    if not len(columns):
        return
    responses = [int(key) for key in cells.responses[system[0], columns]]
    keys = [int(key) for key in cells.cases[columns]]
    cases, words = case_words(keys), first_words(responses)
    for column, case, response in zip(columns.tolist(), keys, responses, strict=True):
        yield {
            "case": cases.get(case),
            "response_id": response,
            "share": float(shares[column]),
            "words": words.get(response, ""),
        }


def compute_criteria(evaluator_id: int, options: Options) -> ReportContent:
    """Return the mean share of each criterion by system, over cases, of the option `evaluators`."""
    titles, shares = read_criterion_shares(evaluators_with_run(options["evaluators"]))
    counts = np.bincount(shares["criterion"], minlength=len(titles))
    scored = int((counts > 0).sum())
    shown = sorted(np.argsort(-counts, kind="stable")[: min(scored, MAX_CRITERIA)].tolist())
    if len(shown) < MIN_CRITERIA:
        return {"criteria": [], "left_out": 0}
    systems = np.unique(shares["system"]).tolist()
    criteria = []
    for criterion in shown:
        rows = shares[shares["criterion"] == criterion]
        figures = {str(pk): figure(census_mean(_case_means(rows[rows["system"] == pk]))) for pk in systems}
        criteria.append({"title": titles[criterion], "figures": figures})
    return {"criteria": criteria, "left_out": scored - len(shown)}


def _case_means(rows: np.ndarray) -> Floats:
    """Return the mean share of each case, over attempts and over criteria of one title."""
    _, places = np.unique(rows["prompt"], return_inverse=True)
    sums = np.bincount(places, weights=rows["share"])
    means: Floats = sums / np.bincount(places)
    return means


CRITERIA = kind_over("criteria", lambda _, options: evaluators_with_run(options["evaluators"]), compute_criteria)
