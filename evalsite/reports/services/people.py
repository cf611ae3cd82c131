"""Reports on annotators: agreement and habits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

import numpy as np

from evalsite.base.types import JsonDict
from evalsite.reports.selectors.annotations import (
    Pull,
    QueueAnswers,
    QueueWork,
    RevealedAnswer,
    ScaledAnswers,
    Times,
    groups_in,
    left_out_counts,
    pulls_of,
    read_answers,
    read_labels,
    repeats,
    revealed_answers,
    skips_of,
    status_counts,
    work_of_queue,
)
from evalsite.reports.selectors.leaderboards import Options, queue_version, work_version
from evalsite.reports.selectors.results import PartAnswers, part_answers_of
from evalsite.reports.services.annotators import (
    ComparedFigure,
    EstimatedReport,
    GoldReport,
    Steadiness,
    estimated_report,
    gold_report,
    steadiness_of,
    without_people,
)
from evalsite.reports.services.charts import shade
from evalsite.reports.services.label_tables import (
    KnownShare,
    NumbersOfPeople,
    VotedRanking,
    known_shares,
    numbers_of_people,
    voted_ranking,
)
from evalsite.reports.services.snapshots import ComputedReport, ReportKind
from evalsite.review.models import LabelledItem, LabelTable, Queue
from evalsite.review.questions.forms import Kind, length_in, marks_in
from judging.statistics.agreement import (
    ORDERED_LABELS,
    SET_SEPARATOR,
    AgreementReport,
    Metric,
    Weights,
    against_the_other_labels,
    against_the_rest,
    agreement_report,
    character_alpha,
    character_coincidences,
    conger_kappa,
    describe_reliability,
    disagreeing_items,
    fleiss_form,
    pair_agreements,
)
from judging.statistics.estimates import Estimate, share_of, undefined
from judging.statistics.judge_quality import anchoring_effect
from judging.statistics.rank_correlation import kendall_w, mean_over_items, mean_tau_of, mid_ranks
from judging.statistics.ratings import (
    MISSING,
    AnswerRows,
    Events,
    Grouping,
    RatingTable,
    pack,
    pair_counts,
    rows_of_table,
)
from judging.statistics.texts import mean_f1_of


@dataclass(frozen=True, slots=True)
class AgreementLabel:
    """A label of a scale, with the number that it stands for; None of names."""

    value: str
    text: str
    worth: float | None = None


@dataclass(frozen=True, slots=True)
class LabelCount:
    """How often people chose a label."""

    value: str
    text: str
    n: int


@dataclass(frozen=True, slots=True)
class AnswersPerItem:
    """How many items have how many annotations."""

    answers: int
    items: int


@dataclass(frozen=True, slots=True)
class AgreementSummary:
    """What was counted; `seen_before`, `prefilled` and `unable` are left out of every figure of agreement."""

    items: int
    raters: int
    answers: int
    single: int
    pairable: int
    unanimous: int
    no_majority: int
    off_scale: int
    label_counts: list[LabelCount]
    answers_per_item: list[AnswersPerItem]
    seen_before: int = 0
    prefilled: int = 0
    unable: int = 0
    unable_items: int = 0


@dataclass(frozen=True, slots=True)
class AgreementFigure:
    """One coefficient over all items, with how to read it."""

    key: str
    name: str
    words: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str = ""


FEW_SHARED = 5  # items of two people below which their coefficient is no finding


@dataclass(frozen=True, slots=True)
class PeoplePair:
    """How two people agree on what both annotated; weighted kappas only of labels in an order."""

    first: str
    second: str
    percent: Estimate
    kappa: Estimate
    linear: Estimate | None = None
    quadratic: Estimate | None = None

    @property
    def shade(self) -> int | None:
        """Cohen's kappa in tenths."""
        return shade(self.kappa.value)

    @property
    def is_few(self) -> bool:
        """Whether they have too few items in common for a finding."""
        return self.percent.n < FEW_SHARED


@dataclass(frozen=True, slots=True)
class RaterFigures:
    """One annotator against the majority of the others."""

    name: str
    answers: int
    rest: Estimate
    differs: int


@dataclass(frozen=True, slots=True)
class DisputedItem:
    """An item on which people disagree, with the share of pairs of annotations that differ."""

    id: int
    disagreement: float
    criterion: str
    scenario: str
    given: list[LabelCount]


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The main figures of a group of items; `metric` names the coefficient that fits its scale."""

    name: str
    items: int
    fleiss: Estimate
    ac1: Estimate
    warning: str
    pairable: int
    disputed: int
    percent: Estimate
    alpha: Estimate
    metric: str
    words: str


@dataclass(frozen=True, slots=True)
class PartFigures:
    """How far people agree on one part of a criterion's form."""

    criterion: str
    key: str
    text: str
    pairable: int
    disputed: int
    percent: Estimate
    alpha: Estimate
    metric: str
    words: str


@dataclass(frozen=True, slots=True)
class PeriodFigures:
    """Agreement on the items whose last annotation is of a day, week or month."""

    start: str
    pairable: int
    percent: Estimate
    alpha: Estimate
    ac1: Estimate


@dataclass(frozen=True, slots=True)
class RaterPace:
    """How long a person takes for an item, and how often they skipped one."""

    name: str
    skips: int
    answers: int
    seconds: float | None
    active: float | None


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """How often a person gave the same label twice."""

    name: str
    same: Estimate
    differs: int


@dataclass(frozen=True, slots=True)
class Anchoring:
    """What seeing the verdict changed."""

    counts: dict[str, int]
    revised: Estimate
    toward: Estimate
    away: Estimate


@dataclass(frozen=True, slots=True)
class NamedSource:
    """Whose annotations were read: a queue, or a table of imported labels."""

    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """How far the people of a queue, or the raters of a table of labels, agree; habits are of a queue only."""

    labels: list[AgreementLabel]
    summary: AgreementSummary
    figures: list[AgreementFigure]
    warning: str
    leading: str
    words: str
    pairs: list[PeoplePair]
    raters: list[RaterFigures]
    coincidences: list[list[int]]
    items: list[DisputedItem]
    disputed: int
    criteria: list[GroupFigures]
    has_many_scales: bool
    scenarios: list[GroupFigures]
    arms: list[GroupFigures]
    languages: list[GroupFigures]
    queue: NamedSource
    filters: dict[str, list[str]]
    over_time: list[PeriodFigures]
    modes: dict[str, int] = field(default_factory=dict)
    guidelines: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    parts: list[PartFigures] = field(default_factory=list)
    paces: list[RaterPace] = field(default_factory=list)
    steadiness: list[Steadiness] = field(default_factory=list)
    retests: list[SelfAgreement] = field(default_factory=list)
    anchoring: Anchoring | None = None
    gold: GoldReport | None = None
    pulls: list[Pull] = field(default_factory=list)
    estimated: EstimatedReport | None = None
    voted: VotedRanking | None = None  # of imported preferences
    numbers: NumbersOfPeople | None = None  # of imported numbers of responses
    known: list[KnownShare] = field(default_factory=list)  # of imported labels beside known answers


ANCHORING_COUNTS: dict[str, Callable[[RevealedAnswer], bool]] = {
    "revealed": lambda row: True,
    "revised": lambda row: row.blind != row.final,
    "differed": lambda row: row.machine is not None and row.blind != row.machine,
    "toward": lambda row: row.blind != row.machine == row.final,
    "agreed": lambda row: row.blind == row.machine,
    "away": lambda row: row.blind == row.machine != row.final,
}


def compute_habits(
    queue: Queue, options: Options, answers: QueueAnswers
) -> tuple[list[RaterPace], list[SelfAgreement], Anchoring, dict[str, Events]]:
    """Return how the people of a queue answered under the options, and the answers behind each figure by its name."""
    skipped, repeated, shown = skips_of(queue, options), repeats(queue, options), revealed_answers(queue, options)
    skips = Counter(name for _, name in skipped)
    names = {*answers.times, *skips}
    times = {name: answers.times.get(name, NOBODY) for name in sorted(names)}
    paces = [RaterPace(name, skips.get(name, 0), row.answers, row.seconds, row.active) for name, row in times.items()]
    retests = [(item, name, first == second) for name, pairs in repeated for first, second, item, _ in pairs]
    events = {
        name: [(row.item_id, row.name) for row in shown if holds(row)] for name, holds in ANCHORING_COUNTS.items()
    }
    events["skipped"] = skipped
    events["retest"] = [(item, name) for item, name, _ in retests]
    events["retest-differs"] = [(item, name) for item, name, is_same in retests if not is_same]
    return (
        sorted(paces, key=lambda pace: -pace.answers),
        [_self_agreement(name, pairs) for name, pairs in repeated],
        _anchoring(shown),
        {name: Events.of(rows) for name, rows in events.items()},
    )


NOBODY = Times(0, None, None)


def over_time(answers: QueueAnswers) -> list[PeriodFigures]:
    """Return agreement by day, week or month of the items' last answers, the oldest first; empty where unknown."""
    rows = []
    for period, start in enumerate(answers.period_starts):
        part = answers.table.subset((answers.periods == period).tolist())
        if not part.items:
            continue
        report = agreement_report(
            RatingTable(part.items, part.raters, part.labels, part.codes, part.values, raters_known=False),
            metrics=(answers.metric,),
        )
        alpha = dict(report.alpha)[answers.metric]
        pairable = report.summary.n_pairable
        rows.append(PeriodFigures(start.isoformat(), pairable, report.percent, alpha, report.ac1))
    return rows


def _self_agreement(name: str, pairs: Sequence[tuple[str, str, int, int]]) -> SelfAgreement:
    same = sum(first == second for first, second, _, _ in pairs)
    return SelfAgreement(name, share_of(same, len(pairs)), len(pairs) - same)


def _anchoring(rows: Sequence[RevealedAnswer]) -> Anchoring:
    shares = anchoring_effect([row.blind for row in rows], [row.final for row in rows], [row.machine for row in rows])
    return Anchoring({name: sum(map(holds, rows)) for name, holds in ANCHORING_COUNTS.items()}, *shares)


ITEMS_SHOWN = 200
RATERS_SHOWN = 25
CONGER_RATERS = 10
ORDERED_SCALE = "The labels of this scale are ordered, which this coefficient ignores."
OWN_CHANCE = "Chance agreement depends on the number of labels, so the bounds 0.667 and 0.8 of alpha do not apply."
METRIC_WORDS = {
    Metric.NOMINAL: "Krippendorff's alpha",
    Metric.ORDINAL: "Krippendorff's alpha, ordinal",
    Metric.INTERVAL: "Krippendorff's alpha, interval",
    Metric.RATIO: "Krippendorff's alpha, ratio",
    Metric.MASI: "Krippendorff's alpha, MASI distance",
}


def compute_agreement(queue_id: int, options: Options) -> ComputedReport[PeopleAgreement]:
    """Return every figure of agreement in a queue, and the answers behind each figure."""
    queue = Queue.objects.get(pk=queue_id)
    answers = read_answers(queue, options)
    paces, retests, anchoring, events = compute_habits(queue, options, answers)
    report = agreement_of(answers, NamedSource(queue.slug, queue.name), groups_in(queue.items.all()))
    counted: JsonDict = left_out_counts(queue, options)
    summary = replace(report.summary, **counted)
    content = replace(
        report,
        summary=summary,
        modes=answers.modes,
        guidelines=answers.guidelines,
        statuses=status_counts(queue, options),
        parts=[row for part in part_answers_of(queue, options) for row in _part_figures(part)],
        paces=paces,
        steadiness=steadiness_of(answers),
        retests=retests,
        anchoring=anchoring,
        gold=_gold(queue, options),
        pulls=pulls_of(queue, options),
    )
    return ComputedReport(content, packed_rows(answers, events))


def packed_rows(answers: QueueAnswers, events: Mapping[str, Events]) -> bytes:
    """Return the answers of a report as a snapshot stores them."""
    groups = {name: Grouping.of(names) for name, names in answers.groups.items()}
    groups["period"] = Grouping(tuple(start.isoformat() for start in answers.period_starts), answers.periods)
    off_scale = {"off-scale": Events.of(answers.off_scale)}
    return pack(rows_of_table(answers.table, groups=groups, events={**events, **off_scale}))


def agreement_of(answers: QueueAnswers, source: NamedSource, groups: dict[str, list[str]]) -> PeopleAgreement:
    """Return every figure of agreement in a table of answers; `groups` is what its items can be filtered by."""
    metrics, leading = _metrics(answers.table), answers.metric
    busiest = _busiest(answers.table)
    report = agreement_report(busiest, metrics=metrics)
    # the pairs are of the busiest, the figures of everybody
    whole = report if busiest is answers.table else agreement_report(answers.table.nameless(), metrics=metrics)
    figures = _figures(whole)
    if 2 < len(busiest.raters) <= CONGER_RATERS:
        figures.append(_figure("conger", "Conger's kappa", conger_kappa(busiest.with_pairs())))
    has_many_scales = len(set(answers.scales.values())) > 1
    by_language, by_arm = answers.groups["language"], answers.groups["arm"]
    return PeopleAgreement(
        labels=_labels(answers),
        summary=_summary(whole, answers),
        figures=figures,
        warning=whole.warning,
        leading=f"alpha_{leading}",
        words=describe_reliability(dict(whole.alpha)[leading]),
        pairs=_pairs(busiest, report, is_ordered=len(metrics) > 1),
        raters=_raters(answers.table),
        coincidences=_coincidences(answers.table),
        items=_items(answers),
        disputed=whole.summary.n_pairable - whole.summary.n_unanimous,
        criteria=[_group(name, answers.of_criterion(name)) for name in sorted(set(answers.criteria))],
        has_many_scales=has_many_scales,
        scenarios=_groups(answers, answers.groups["scenario"]),
        arms=_groups(answers, by_arm) if any(by_arm) else [],
        languages=_groups(answers, by_language) if any(by_language) else [],
        queue=source,
        filters=groups,
        over_time=over_time(answers),
        estimated=None if has_many_scales else estimated_report(answers.table, answers.texts),
    )


def _labels(answers: QueueAnswers) -> list[AgreementLabel]:
    """Return the labels with the numbers that they stand for; words in an order are spread over 0..1."""
    values = answers.table.values or (None,) * answers.table.n_labels
    labels = zip(answers.table.labels, values, strict=True)
    return [AgreementLabel(label, answers.texts[label], worth) for label, worth in labels]


def _pairs(table: RatingTable, report: AgreementReport, *, is_ordered: bool) -> list[PeoplePair]:
    weighted: dict[Weights, list[Estimate | None]] = {
        weights: [pair.kappa for pair in pair_agreements(table, weights=weights)]
        if is_ordered
        else [None] * len(report.pairs)
        for weights in (Weights.LINEAR, Weights.QUADRATIC)
    }
    return [
        PeoplePair(pair.first, pair.second, pair.percent, pair.kappa, linear, quadratic)
        for pair, linear, quadratic in zip(
            report.pairs, weighted[Weights.LINEAR], weighted[Weights.QUADRATIC], strict=True
        )
    ]


@dataclass(frozen=True, slots=True)
class PairConfusion:
    """Which label one person gave where another gave which: counts of shape (labels, labels)."""

    first: str
    second: str
    labels: list[AgreementLabel]
    counts: list[list[int]]
    n_missing: int

    @property
    def n(self) -> int:
        """The items that both annotated."""
        return sum(map(sum, self.counts))

    @property
    def n_differs(self) -> int:
        """Those on which they differ."""
        return self.n - sum(row[index] for index, row in enumerate(self.counts))


def confusion_of(rows: AnswerRows, texts: Mapping[str, str], first: str, second: str) -> PairConfusion:
    """Return the labels of two people. Raises: NoSuchCell for somebody without answers."""
    counts = pair_counts(rows, first, second)
    labels = [AgreementLabel(label, texts[label]) for label in rows.labels]
    return PairConfusion(first, second, labels, counts.tolist(), len(rows.items) - int(counts.sum()))


def _metrics(table: RatingTable) -> tuple[Metric, ...]:
    if table.values is None or table.n_labels < ORDERED_LABELS:
        return (Metric.NOMINAL,)
    ordered = (Metric.NOMINAL, Metric.ORDINAL, Metric.INTERVAL)
    return ordered if min(table.values) < 0 else (*ordered, Metric.RATIO)


def _busiest(table: RatingTable) -> RatingTable:
    """Return the table with at most RATERS_SHOWN columns, those with the most answers, for a matrix one can read."""
    if len(table.raters) <= RATERS_SHOWN:
        return table
    answer_counts = (table.codes >= 0).sum(axis=0)
    keep = sorted(np.argsort(-answer_counts, kind="stable")[:RATERS_SHOWN].tolist())
    return table.of_raters(keep)


def _summary(report: AgreementReport, answers: QueueAnswers) -> AgreementSummary:
    summary = report.summary
    return AgreementSummary(
        items=summary.n_items,
        raters=summary.n_raters,
        answers=summary.n_answers,
        single=summary.n_single,
        pairable=summary.n_pairable,
        unanimous=summary.n_unanimous,
        no_majority=summary.n_no_majority,
        off_scale=len(answers.off_scale),
        label_counts=[LabelCount(label, answers.texts[label], n) for label, n in summary.label_counts],
        answers_per_item=[AnswersPerItem(given, items) for given, items in summary.answers_per_item],
    )


def _figures(report: AgreementReport) -> list[AgreementFigure]:
    fleiss_words = f"{describe_reliability(report.fleiss)} {fleiss_form(report.summary.answers_per_item)}".strip()
    equal = "Share of equal pairs of annotations of the same item."
    return [
        _figure("percent", "Percent agreement", report.percent, equal),
        _figure("fleiss", "Fleiss' kappa", report.fleiss, fleiss_words),
        *(_figure(f"alpha_{metric}", METRIC_WORDS[metric], estimate) for metric, estimate in report.alpha),
        _figure("ac1", "Gwet's AC1", report.ac1, OWN_CHANCE),
        _figure("brennan_prediger", "Brennan-Prediger", report.brennan_prediger, OWN_CHANCE),
    ]


def _figure(key: str, name: str, estimate: Estimate, words: str = "") -> AgreementFigure:
    said = words or describe_reliability(estimate)
    ends = (estimate.value, estimate.low, estimate.high)
    return AgreementFigure(key, name, said, *ends, estimate.n, estimate.reason)


def _raters(table: RatingTable) -> list[RaterFigures]:
    answer_counts = (table.codes >= 0).sum(axis=0)
    others, rows = against_the_rest(table), []
    for column, name in enumerate(table.raters):
        rest = others[name]
        differs = round(rest.n * (1 - rest.value)) if rest.value is not None else 0
        rows.append(RaterFigures(name, int(answer_counts[column]), rest, differs))
    return rows


def _coincidences(table: RatingTable) -> list[list[int]]:
    """Return how many ordered pairs of answers on one item carry each two labels, shape (labels, labels)."""
    counts = table.counts()
    together = counts.T @ counts - np.diag(counts.sum(axis=0))
    return [[int(value) for value in row] for row in together]


def _items(answers: QueueAnswers) -> list[DisputedItem]:
    table = answers.table
    rows = {item: row for row, item in enumerate(table.items)}
    counts = table.counts()
    items = []
    for item, share in disagreeing_items(table)[:ITEMS_SHOWN]:
        row = rows[item]
        labels = zip(table.labels, counts[row], strict=True)
        given = [LabelCount(label, answers.texts[label], int(n)) for label, n in labels if n]
        items.append(DisputedItem(int(item), share, answers.criteria[row], answers.scenarios[row], given))
    return items


def _groups(answers: QueueAnswers, groups: Sequence[str]) -> list[GroupFigures]:
    """Return the main figures of each group of items (a scenario, a language) on the scale of all, by name."""
    tables = {name: answers.table.subset([group == name for group in groups]) for name in sorted(set(groups))}
    return [_group(name, ScaledAnswers(table, answers.metric)) for name, table in tables.items()]


def _group(name: str, answers: ScaledAnswers) -> GroupFigures:
    """Return the figures of a group; those that see no order of labels only where there is none."""
    report = _report_of(answers)
    is_nominal = answers.metric is Metric.NOMINAL
    hidden = undefined(ORDERED_SCALE)
    return GroupFigures(
        name,
        items=len(answers.table.items),
        fleiss=report.fleiss if is_nominal else hidden,
        ac1=report.ac1 if is_nominal else hidden,
        warning=report.warning if is_nominal else "",
        **_figures_on_scale(report),
    )


MOST_DIFFERENT = 200  # answers to a question: with more of them, agreement by label says nothing


W_WORDS = "1: all people order the responses of an item alike; 0: their orders have nothing in common."
TAU_WORDS = "1: two people order the responses of an item alike; -1: the other way round; 0: without any relation."


def _part_figures(part: PartAnswers) -> list[PartFigures]:
    """Return how far people agree on a question; two coefficients of a ranking."""
    if part.part.kind is Kind.RANKING:
        return _ranking_figures(part)
    if part.part.kind is Kind.SPANS:
        return _span_figures(part)
    return [_figures_of_part(part)]


def _gold(queue: Queue, options: Options) -> GoldReport | None:
    """Return how people did on gold items; each question's agreement with and without those who were paused."""
    report = gold_report(queue, options)
    if report is None or not report.paused:
        return report
    figures = list(report.figures)
    for part in part_answers_of(queue, options, with_left_out=True):
        table = without_people(part.answers.table, report.paused)
        others = _part_figures(replace(part, answers=replace(part.answers, table=table)))
        for row, other in zip(_part_figures(part), others, strict=True):
            figures.append(ComparedFigure(f"{part.part.key}: {row.metric}", row.alpha, other.alpha))
    return replace(report, figures=figures)


def _counts_of(part: PartAnswers) -> tuple[str, str, str, int, int, Estimate]:
    """Return what is counted of a question whose answers are compared as wholes."""
    report = agreement_report(part.answers.table.nameless(), metrics=(Metric.NOMINAL,))
    disputed = report.summary.n_pairable - report.summary.n_unanimous
    return part.criterion, part.part.key, part.text, report.summary.n_pairable, disputed, report.percent


def _lists_by_item(part: PartAnswers) -> list[list[list[str]]]:
    """Return the answers that are lists, of each item that two people or more answered."""
    table = part.answers.table
    words = [label.split(SET_SEPARATOR) for label in table.labels]
    lists = ([words[code] for code in row if code != MISSING] for row in table.codes.tolist())
    return [row for row in lists if len(row) > 1]


F1_WORDS = "1: two people give the same characters the same labels, or mark nothing; 0: no character."
SPAN_ALPHA = "Krippendorff's alpha over characters"
SPAN_WORDS = "Nominal; a character without a mark is a category of its own, and texts are resampled for the interval."


def _span_figures(part: PartAnswers) -> list[PartFigures]:
    """Return the mean F1 of pairs over characters, and alpha over characters: of all labels, and of each."""
    labels, texts = part.part.scale.labels, _lists_by_item(part)
    marks = [[marks_in(value) for value in row] for row in texts]
    counts = [
        character_coincidences(people, length=length_in(row[0]), labels=labels)
        for people, row in zip(marks, texts, strict=True)
    ]
    figures = [
        ("F1 over characters, mean of pairs", mean_over_items(map(mean_f1_of, marks), lowest=0.0), F1_WORDS),
        (SPAN_ALPHA, character_alpha(counts), SPAN_WORDS),
    ]
    for position, label in enumerate(labels if len(labels) > 1 else (), start=1):
        alpha = character_alpha([against_the_other_labels(row, position) for row in counts])
        figures.append((f"{SPAN_ALPHA}: {label}", alpha, f"“{label}” against all else."))
    about = _counts_of(part)
    return [PartFigures(*about, value, name, value.reason or words) for name, value, words in figures]


def _ranking_figures(part: PartAnswers) -> list[PartFigures]:
    """Return Kendall's W of the people of an item, and the mean tau-b of their pairs, each averaged over items."""
    pairable = _lists_by_item(part)
    concordance = [kendall_w([mid_ranks(ranking) for ranking in row]) for row in pairable]
    coefficients = (
        ("Kendall's W, mean of items", mean_over_items(concordance, lowest=0.0), W_WORDS),
        ("Kendall's tau-b, mean of pairs", mean_over_items(map(mean_tau_of, pairable), lowest=-1.0), TAU_WORDS),
    )
    about = _counts_of(part)
    return [PartFigures(*about, value, name, value.reason or words) for name, value, words in coefficients]


def _figures_of_part(part: PartAnswers) -> PartFigures:
    if part.answers.table.n_labels > MOST_DIFFERENT:
        none = undefined(f"More than {MOST_DIFFERENT} different answers were given, so they are not compared.")
        metric = METRIC_WORDS[part.answers.metric]
        return PartFigures(part.criterion, part.part.key, part.text, 0, 0, none, none, metric, none.reason)
    return PartFigures(part.criterion, part.part.key, part.text, **_figures_on_scale(_report_of(part.answers)))


def _report_of(answers: ScaledAnswers) -> AgreementReport:
    return agreement_report(answers.table.nameless(), metrics=(answers.metric,))


class ScaleFigures(TypedDict):
    """Percent agreement and the coefficient of a scale."""

    pairable: int
    disputed: int
    percent: Estimate
    alpha: Estimate
    metric: str
    words: str


def _figures_on_scale(report: AgreementReport) -> ScaleFigures:
    """Return the figures of a report of one metric."""
    ((metric, alpha),) = report.alpha
    return {
        "pairable": report.summary.n_pairable,
        "disputed": report.summary.n_pairable - report.summary.n_unanimous,
        "percent": report.percent,
        "alpha": alpha,
        "metric": METRIC_WORDS[metric],
        "words": describe_reliability(alpha),
    }


def _data_version(queue_id: int, options: Options) -> str:
    return queue_version(Queue.objects.get(pk=queue_id))


def _rows_to_read(queue_id: int, options: Options) -> int:
    queue = Queue.objects.get(pk=queue_id)
    return queue.total_count * queue.quorum


AGREEMENT = ReportKind("agreement", _data_version, _rows_to_read, compute_agreement, PeopleAgreement)
QUEUE_WORK = ReportKind("work", _data_version, _rows_to_read, lambda queue_id, _: work_of_queue(queue_id), QueueWork)


def compute_label_agreement(table_id: int, options: Options) -> ComputedReport[PeopleAgreement]:
    """Return every figure of agreement in a label table, and the labels behind each figure."""
    table = LabelTable.objects.get(pk=table_id)
    answers = read_labels(table, options)
    content = agreement_of(answers, NamedSource(table.slug, table.name), groups_in(table.items.all()))
    voted, numbers = voted_ranking(table, options), numbers_of_people(table, options)
    content = replace(content, voted=voted, numbers=numbers, known=known_shares(table, answers.table))
    return ComputedReport(content, packed_rows(answers, {}))


def _labels_version(table_id: int, options: Options) -> str:
    """Return the table's number, for a corrected file is another table; of responses with the work on them."""
    is_of_responses = LabelledItem.objects.filter(table=table_id, response__isnull=False, response_b=None).exists()
    return f"labels {table_id}{f' {work_version()}' if is_of_responses else ''}"


def _label_count(table_id: int, options: Options) -> int:
    return LabelTable.objects.values_list("label_count", flat=True).get(pk=table_id)


LABEL_AGREEMENT = ReportKind("label-agreement", _labels_version, _label_count, compute_label_agreement, PeopleAgreement)


def pair_matrix(report: PeopleAgreement) -> list[tuple[str, list[tuple[str, PeoplePair | None]]]]:
    """Return Cohen's kappa (and percent agreement) of each person and all, by name; None where there is no pair."""
    pairs = {(pair.first, pair.second): pair for pair in report.pairs}
    shown = [rater.name for rater in report.raters if any(rater.name in pair for pair in pairs)]
    return [
        (name, [(other, pairs.get((name, other)) or pairs.get((other, name))) for other in shown]) for name in shown
    ]
