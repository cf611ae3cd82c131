"""The blind answers of a queue, or the labels of a table, as rating tables; its items, its pace and its errors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from itertools import compress, repeat
from operator import itemgetter
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import (
    Case,
    Count,
    Exists,
    FloatField,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Left, TruncDate
from django.urls import reverse
from django.utils.timezone import get_default_timezone
from numpy.typing import NDArray

from evalsite.base.rows import grouped
from evalsite.reports.selectors.leaderboards import Options, chosen
from evalsite.review.models import (
    LEFT_OUT,
    Adjudication,
    Annotation,
    Assignment,
    ImportedLabel,
    LabelledItem,
    LabelTable,
    Queue,
    ReviewItem,
)
from evalsite.review.questions.form_decisions import is_right
from evalsite.review.questions.forms import Kind, OwnForm
from evalsite.review.questions.scales import ANSWERED, MOST_LABELS, Label, joined_scale, labels_from_json
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.pages import AgreementCount, full_agreement_of, question_of
from evalsite.review.selectors.subjects import form_of_item, form_of_queue, machine_labels
from evalsite.review.states import AssignmentStatus, ErrorKind, ItemStatus, QueueMode
from judging.statistics.agreement import Metric, metric_of_scale
from judging.statistics.estimates import Estimate, Floats, Ints, difference_of_shares, share_by_cluster
from judging.statistics.ratings import MISSING, RatingTable, numeric_values

GROUPS = ("criterion", "scenario", "language")
COLUMNS = (*GROUPS, "arm")  # routed items are the hard ones: never pooled with audited ones without saying so
CHUNK = 20_000


MAX_PERIODS = 24
DAYS_BY_DAY, DAYS_BY_WEEK = 21, 7 * 23
JOINED = ("assignment", "item__queue", "item__material", "item__subject__rubric_item")
TEXT_LENGTH = 140
SUBJECTS = ("response_a__prompt__key", "material__key")


@dataclass(frozen=True, slots=True)
class Times:
    """Median seconds of one person per item; `active` leaves idle time out. None where nobody measured."""

    answers: int
    seconds: float | None
    active: float | None


@dataclass(frozen=True, slots=True, eq=False)
class ScaledAnswers:
    """Answers on one scale, and how far apart two of its labels are."""

    table: RatingTable
    metric: Metric


@dataclass(frozen=True, slots=True, eq=False)
class QueueAnswers:
    """The table, whose items are keys of review items (or of labelled items), and where each item belongs."""

    table: RatingTable
    groups: dict[str, tuple[str, ...]]  # by the names of COLUMNS: one for each of the table's items, in its order
    texts: dict[str, str]  # label -> its words
    off_scale: tuple[tuple[int, str], ...]  # (item, person) of answers whose label left the scale: left out
    periods: Ints  # of each item's last answer: its place among `period_starts`, -1 where it is not known
    times: dict[str, Times]  # by person
    order: dict[str, Ints]  # by person: which rows of the table they labelled, as they were read
    scales: dict[str, tuple[Label, ...]]  # by criterion: what its people choose from
    period_starts: tuple[date, ...] = ()
    is_of_scale: bool = False  # the labels are the values of an anchored scale of a form: of them the order counts
    modes: dict[str, int] = field(default_factory=dict)  # of all groups: how many were given in each mode,
    guidelines: dict[str, int] = field(default_factory=dict)  # and under each version of the guidelines

    @property
    def metric(self) -> Metric:
        """How far apart two labels are, those of all criteria together."""
        return self.metric_of(self.table.values)

    def metric_of(self, values: Sequence[float] | None) -> Metric:
        """Return how far apart two labels are that stand for these numbers."""
        metric = metric_of_scale(values)
        return Metric.ORDINAL if self.is_of_scale and metric is Metric.INTERVAL else metric

    @property
    def criteria(self) -> tuple[str, ...]:
        return self.groups["criterion"]

    @property
    def scenarios(self) -> tuple[str, ...]:
        return self.groups["scenario"]

    def of_criterion(self, name: str) -> ScaledAnswers:
        """Return the answers of one criterion on its own scale, in the order of its label values."""
        scale = self.scales[name]
        metric = self.metric_of(_values_of(scale))
        if len(scale) > MOST_LABELS:  # nobody reads a hundred labels: those that were given
            scale = tuple(label for label in scale if label.value in self.table.labels)
        values = _values_of(scale)
        if values is not None:
            scale, values = zip(*sorted(zip(scale, values, strict=True), key=itemgetter(1)), strict=True)
        rows = self.table.subset([criterion == name for criterion in self.criteria])
        return ScaledAnswers(rows.on_scale([label.value for label in scale], values), metric)


def answers_of(queue: Queue, options: Options, *, with_left_out: bool = False) -> QuerySet[Annotation]:
    """Return the valid blind annotations of a queue under the chosen groups, without those of retest items."""
    return _of_items(_blind_labels(queue, with_left_out=with_left_out), options)


def answers_beside_models(queue: Queue, options: Options) -> QuerySet[Annotation]:
    """Return the valid annotations of items that a model answers too, whether that was filled in or the item was drawn
    to be blind."""
    if not Assignment.objects.filter(queue=queue).exclude(prefilled_by="").exists():
        return Annotation.objects.none()  # half a million rows are not joined for nothing
    labels = Annotation.objects.filter(queue=queue, left_out_at=None, seen_before=False).exclude(label="")
    labels = labels.filter(mode__in=(QueueMode.BLIND, QueueMode.PREFILLED)).exclude(assignment__prefilled_by="")
    return _of_items(labels, options)


def _of_items(labels: QuerySet[Annotation], options: Options) -> QuerySet[Annotation]:
    answers = labels.exclude(item__status__in=LEFT_OUT).exclude(item__arm=ItemArm.RETEST)
    return answers.filter(**of_groups(options)).order_by("item_id", "pk")


def of_groups(options: Options, *, prefix: str = "item__") -> dict[str, str]:
    """Return the filter of rows that belong to items of the chosen groups."""
    return {f"{prefix}{name}": chosen(options, name) for name in GROUPS if chosen(options, name)}


_IS_PREFILLED = Q(mode=QueueMode.PREFILLED)
_IS_BLIND = Q(seen_before=False) & ~_IS_PREFILLED  # the transcript of a debate is said with the figures


def left_out_counts(queue: Queue, options: Options) -> dict[str, int]:
    """Return how many answers on the chosen items no figure counts: their authors had looked at the item as its owner
    (`seen_before`), saw a model's answers filled in (`prefilled`), or could not judge it (`unable`, `unable_items`)."""
    said = Annotation.objects.filter(queue=queue, left_out_at=None, item__retest_of=None, **of_groups(options))
    said = said.filter(~_IS_BLIND | Q(label="")).exclude(item__status__in=LEFT_OUT)
    return said.aggregate(
        unable=Count("pk", filter=Q(label="")),
        unable_items=Count("item", filter=Q(label=""), distinct=True),
        prefilled=Count("pk", filter=_IS_PREFILLED & Q(seen_before=False) & ~Q(label="")),
        seen_before=Count("pk", filter=Q(seen_before=True) & ~Q(label="")),  # last: it hides the column of its name
    )


def _blind_labels(queue: Queue, *, with_left_out: bool = False) -> QuerySet[Annotation]:
    labels = Annotation.objects.filter(_IS_BLIND, queue=queue).exclude(label="")
    return labels if with_left_out else labels.filter(left_out_at=None)


def read_answers(queue: Queue, options: Options, *, with_left_out: bool = False) -> QueueAnswers:
    """Return the blind answers of a queue. Revisions after the reveal are not agreement, so they do not count here.

    Nor do answers of people who had looked at the item as its owner before, or saw a model's answers filled in.

    One pass over the answers serves all figures: half a million rows are read once.
    """
    items = ReviewItem.objects.filter(queue=queue).exclude(status__in=LEFT_OUT).exclude(arm=ItemArm.RETEST)
    labels = _blind_labels(queue, with_left_out=with_left_out)
    labels = labels.order_by("created_at", "pk")  # as an index has them
    moments = labels.values_list("created_at", flat=True)
    first, last = moments.first(), moments.last()
    starts = period_starts(first, last) if first and last else ()
    rows = labels.annotate(period=_period_of("created_at", starts))
    names = ("item_id", "annotator_id", "label", "period", "seconds", "active_seconds", "mode", "guidelines_version")
    *read, modes, versions = _columns(rows.values_list(*names), len(names))
    columns = _AnnotationColumns(*read)
    usernames = dict(User.objects.filter(pk__in=set(columns.people)).values_list("pk", "username"))
    people = {person: usernames[person] for person in dict.fromkeys(columns.people)}
    chosen_items = _chosen_items(items, options)
    answers = _answers(columns, chosen_items, people, _scales_of(items, options), keep_unanswered=False)
    is_chosen = [item in chosen_items for item in columns.items]
    form = form_of_queue(queue)
    lead = form.lead if isinstance(form, OwnForm) else None
    return replace(
        answers,
        period_starts=starts,
        is_of_scale=lead is not None and lead.kind is Kind.SCALE,
        modes=dict(Counter(compress(modes, is_chosen))),
        guidelines={str(version): n for version, n in sorted(Counter(compress(versions, is_chosen)).items())},
    )


def read_labels(table: LabelTable, options: Options) -> QueueAnswers:
    """Return the labels of a table from elsewhere, items without any label included."""
    labels = ImportedLabel.objects.filter(table=table)
    span = labels.aggregate(first=Min("given_at"), last=Max("given_at"))
    starts = period_starts(span["first"], span["last"]) if span["first"] else ()
    rows = labels.order_by("item_id", "pk").annotate(period=_period_of("given_at", starts), none=_NONE)
    columns = _AnnotationColumns(*_columns(rows.values_list("item_id", "rater", "label", "period", "none", "none"), 6))
    raters = {name: name for name in dict.fromkeys(columns.people)}
    chosen_items = _chosen_items(LabelledItem.objects.filter(table=table).annotate(arm=Value("")), options)
    scales = _Scales(labels_from_json(table.labels))
    answers = _answers(columns, chosen_items, raters, scales, keep_unanswered=True)
    return replace(answers, period_starts=starts)


_NONE = Value(None, output_field=FloatField())


def period_starts(first: datetime, last: datetime) -> tuple[date, ...]:
    """Return the first days of the days, weeks or months between two moments; at most the last MAX_PERIODS.

    A day is one of the site's time zone, as on its pages.
    """
    zone = get_default_timezone()
    start, end = first.astimezone(zone).date(), last.astimezone(zone).date()
    days = [date.fromordinal(number) for number in range(start.toordinal(), end.toordinal() + 1)]
    if len(days) > DAYS_BY_DAY:
        is_weekly = len(days) <= DAYS_BY_WEEK
        days = [day - timedelta(days=day.weekday()) if is_weekly else day.replace(day=1) for day in days]
    return tuple(dict.fromkeys(days))[-MAX_PERIODS:]


def _period_of(name: str, starts: Sequence[date]) -> Case | Value:
    """Return the expression for the index of a moment among the starts; the database compares, nothing is parsed."""
    if not starts:
        return Value(0, output_field=IntegerField())
    moments = [datetime.combine(day, time(), tzinfo=get_default_timezone()) for day in starts]
    cases = [
        When(**{f"{name}__gte": moment}, then=Value(index)) for index, moment in reversed(list(enumerate(moments)))
    ]
    return Case(*cases, default=Value(MISSING), output_field=IntegerField())


@dataclass(frozen=True, slots=True)
class _Scales:
    """The scale of all items together, and of each criterion; a criterion that is not listed has the scale of all."""

    joined: tuple[Label, ...]
    by_criterion: dict[str, tuple[Label, ...]] = field(default_factory=dict)

    def of(self, criterion: str) -> tuple[Label, ...]:
        return self.by_criterion.get(criterion, self.joined)


def _scales_of(items: QuerySet[ReviewItem], options: Options) -> _Scales:
    """Return the scales of the chosen items: their own where all have one, else what their scales hold together.

    Of a long scale of all items together the labels that were given: nobody reads a hundred of them.
    """
    rows = items.filter(**of_groups(options, prefix="")).order_by().values_list("criterion", "subject__labels")
    scales_by_criterion = grouped((criterion, labels_from_json(labels)) for criterion, labels in rows.distinct())
    by_criterion = {
        criterion: joined_scale(sorted(scales, key=repr)) for criterion, scales in scales_by_criterion.items()
    }
    joined = joined_scale(sorted({scale for scales in scales_by_criterion.values() for scale in scales}, key=repr))
    if len(joined) > MOST_LABELS:
        chosen = Annotation.objects.filter(_IS_BLIND, item__in=items, **of_groups(options))
        label_values = set(chosen.order_by().values_list("label", flat=True).distinct())
        joined = tuple(label for label in joined if label.value in label_values)
    return _Scales(joined, by_criterion)


def _values_of(labels: Sequence[Label]) -> tuple[float, ...] | None:
    """Return the values of labels: the numbers that they spell, else their shares; None where they are only names."""
    shares = tuple(label.share for label in labels if label.share is not None)
    return numeric_values([label.value for label in labels]) or (shares if len(shares) == len(labels) else None)


def _chosen_items(items: QuerySet[Any], options: Options) -> dict[int, tuple[str, ...]]:
    rows = items.filter(**of_groups(options, prefix="")).order_by("pk").values_list("pk", *COLUMNS).iterator(CHUNK)
    return {pk: (criterion, scenario, language, arm) for pk, criterion, scenario, language, arm in rows}


@dataclass(frozen=True, slots=True, eq=False)
class _AnnotationColumns:
    """Answers as columns."""

    items: Sequence[int]
    people: Sequence[Any]
    labels: Sequence[str]
    periods: Sequence[int]
    seconds: Sequence[float | None]
    active: Sequence[float | None]


def _columns(rows: QuerySet[Any, Any], n: int) -> Iterator[list[Any]]:
    """Yield each of n columns as the database gives it: the ORM would handle each of half a million rows twice.

    Column by column: `zip(*fetched)` makes an iterator of every row, and the garbage collector reads them all.
    """
    with connection.cursor() as cursor:
        cursor.execute(*rows.query.sql_with_params())
        fetched = cursor.fetchall()
    return (list(map(itemgetter(index), fetched)) for index in range(n))


def _answers(
    columns: _AnnotationColumns,
    chosen_items: dict[int, tuple[str, ...]],
    names: dict[Any, str],
    scales: _Scales,
    *,
    keep_unanswered: bool,
) -> QueueAnswers:
    scale = [label.value for label in scales.joined]
    position = {label: code for code, label in enumerate(scale)}
    column_of = {person: column for column, person in enumerate(names)}
    n = len(columns.items)
    item_ids = np.fromiter(chosen_items, dtype=np.int64, count=len(chosen_items))
    answered_ids = np.fromiter(columns.items, dtype=np.int64, count=n)
    rows = np.searchsorted(item_ids, answered_ids)
    rows[rows == len(item_ids)] = 0
    stands = item_ids[rows] == answered_ids if len(item_ids) else np.zeros(n, dtype=bool)
    answers = np.fromiter(map(position.get, columns.labels, repeat(MISSING)), dtype=np.int64, count=n)
    answers[~_is_on_scale(answers, rows, [groups[0] for groups in chosen_items.values()], scales)] = MISSING
    annotator_columns = np.fromiter(map(column_of.__getitem__, columns.people), dtype=np.int64, count=n)
    usable = stands & (answers != MISSING)
    codes = np.full((len(chosen_items), len(names)), MISSING, dtype=np.int64)
    if scales.joined != ANSWERED:  # which stands for a whole form, so that there is nothing to compare
        codes[rows[usable], annotator_columns[usable]] = answers[usable]
    periods = np.full(len(chosen_items), MISSING, dtype=np.int64)
    answer_periods = np.fromiter(columns.periods, dtype=np.int64, count=n)
    np.maximum.at(periods, rows[usable], answer_periods[usable])
    shown_rows, shown_columns = _shown_cells(codes, keep_unanswered=keep_unanswered)
    people, every = list(names.values()), list(chosen_items.values())
    given = {column: np.flatnonzero(usable & (annotator_columns == column)) for column in range(len(people))}
    groups = {name: tuple(every[row][index] for row in shown_rows) for index, name in enumerate(COLUMNS)}
    seconds, active = (
        np.array(columns.seconds, dtype=np.float64),
        np.array(columns.active, dtype=np.float64),
    )  # None: NaN
    return QueueAnswers(
        table=RatingTable(
            items=tuple(str(key) for key in item_ids[shown_rows]),
            raters=tuple(people[column] for column in shown_columns),
            labels=tuple(scale),
            codes=codes[np.ix_(shown_rows, shown_columns)],
            values=_values_of(scales.joined),
        ),
        groups=groups,
        texts={label.value: label.text for label in scales.joined},
        off_scale=tuple(
            sorted(
                (columns.items[row], people[annotator_columns[row]])
                for row in np.flatnonzero(stands & (answers == MISSING)).tolist()
            )
        ),
        periods=periods[shown_rows],
        times={people[column]: _times(seconds, active, own) for column, own in given.items() if len(own)},
        order={people[column]: np.searchsorted(shown_rows, rows[given[column]]) for column in shown_columns},
        scales={name: scales.of(name) for name in set(groups["criterion"])},
    )


def _is_on_scale(answers: Ints, rows: Ints, criteria: Sequence[str], scales: _Scales) -> NDArray[np.bool_]:
    """Return whether each answer is on the scale of its item's criterion; `criteria` has one for each item."""
    if not criteria:
        return np.zeros(len(answers), dtype=np.bool_)
    codes = {name: code for code, name in enumerate(dict.fromkeys(criteria))}
    offered = [{label.value for label in scales.of(name)} for name in codes]
    allowed = [
        [*(label.value in values for label in scales.joined), False] for values in offered
    ]  # the last is MISSING
    criterion = np.fromiter(map(codes.__getitem__, criteria), dtype=np.int64, count=len(criteria))
    is_allowed: NDArray[np.bool_] = np.array(allowed)[criterion[rows], answers]
    return is_allowed


def _times(seconds: Floats, active: Floats, rows: Ints) -> Times:
    return Times(answers=len(rows), seconds=_median(seconds[rows]), active=_median(active[rows]))


def _median(measured: Floats) -> float | None:
    numbers = measured[~np.isnan(measured)]
    return float(np.median(numbers)) if len(numbers) else None


def _shown_cells(codes: Ints, *, keep_unanswered: bool) -> tuple[list[int], list[int]]:
    """Return the rows and columns to show; people come in the order of their first answer."""
    is_answered = codes != MISSING
    if keep_unanswered:
        return list(range(codes.shape[0])), list(range(codes.shape[1]))
    if not is_answered.any():
        return [], []
    answered = is_answered.any(axis=0)
    first = np.where(answered, is_answered.argmax(axis=0), codes.shape[0])
    columns = [int(column) for column in np.argsort(first, kind="stable") if answered[column]]
    return np.flatnonzero(is_answered.any(axis=1)).tolist(), columns


def groups_in(items: QuerySet[Any]) -> dict[str, list[str]]:
    """Return the criteria, scenarios and languages that occur among items of a queue, or of a table from elsewhere."""
    rows = list(items.order_by().values_list(*GROUPS).distinct())
    return {name: sorted({row[index] for row in rows if row[index]}) for index, name in enumerate(GROUPS)}


def status_counts(queue: Queue, options: Options) -> dict[str, int]:
    """Return how many items of the chosen groups are in each status."""
    items = ReviewItem.objects.filter(queue=queue, retest_of=None, **of_groups(options, prefix=""))
    rows: Any = items.order_by().values_list("status").annotate(n=Count("pk"))
    return dict(rows)


@dataclass(frozen=True, slots=True)
class RevealedAnswer:
    """One annotation by somebody who saw the verdicts afterwards, with the verdict of the machines."""

    item_id: int
    name: str
    blind: str
    final: str
    machine: str | None


def skips_of(queue: Queue, options: Options) -> list[tuple[int, str]]:
    """Return (item, person) of every skip under the chosen groups."""
    skipped = Assignment.objects.filter(queue=queue, status=AssignmentStatus.SKIPPED, **of_groups(options))
    skipped = skipped.exclude(item__status__in=LEFT_OUT)
    rows = skipped.order_by().values_list("item_id", "pk", "annotator__username")
    return [(item, name) for item, _, name in sorted(rows)]  # few of many, which the database would put in order first


def repeats(queue: Queue, options: Options) -> list[tuple[str, list[tuple[str, str, int, int]]]]:
    """Return each person who was given items a second time, with their first and second label, item and retest.

    Under the chosen groups.
    """
    if len(queue.labels) == 1:
        return []  # it stands for a whole form, so that it is always the same
    labelled = Annotation.objects.filter(queue=queue, left_out_at=None).exclude(label="")
    labelled = labelled.exclude(mode=QueueMode.PREFILLED)
    retests = ReviewItem.objects.filter(queue=queue, arm=ItemArm.RETEST, **of_groups(options, prefix=""))
    retests = retests.exclude(retest_of__status__in=LEFT_OUT)
    second = labelled.filter(item__in=list(retests.values_list("pk", flat=True))).order_by("annotator_id", "pk")
    rows: list[Any] = list(
        second.values_list("annotator_id", "annotator__username", "label", "item__retest_of", "item")
    )
    first = labelled.filter(item__in={row[3] for row in rows})
    first_labels = {
        (item, person): label for item, person, label in first.values_list("item_id", "annotator_id", "label")
    }
    by_person: dict[int, tuple[str, list[tuple[str, str, int, int]]]] = {}
    for person, name, label, item, retest in rows:
        if (item, person) in first_labels:
            _, pairs = by_person.setdefault(person, (name, []))
            pairs.append((first_labels[item, person], label, item, retest))
    return list(by_person.values())


def revealed_answers(queue: Queue, options: Options) -> list[RevealedAnswer]:
    """Return every answer whose author saw the verdicts."""
    if not Annotation.objects.filter(queue=queue, revealed_at__isnull=False).exists():
        return []
    rows: list[Any] = list(
        answers_of(queue, options)
        .filter(revealed_at__isnull=False)
        .values_list("item_id", "annotator__username", "label", "revised_label")
    )
    machine = machine_labels(queue=queue, item_ids={row[0] for row in rows})
    return [
        RevealedAnswer(item, name, blind, revised or blind, machine.get(item)) for item, name, blind, revised in rows
    ]


@dataclass(frozen=True, slots=True)
class Pull:
    """How often people agree with a model on a question, with its answer filled in and without, and the difference.

    An answer agrees with the model's as it would with a known one.
    """

    source: str
    key: str
    text: str
    prefilled: Estimate
    blind: Estimate
    pull: Estimate


def pulls_of(queue: Queue, options: Options) -> list[Pull]:
    """Return the pull of each question that models answered, by model and question; none where none answered."""
    arms: dict[tuple[str, str], dict[bool, list[tuple[bool, int]]]] = defaultdict(lambda: {True: [], False: []})
    texts: dict[str, set[str]] = defaultdict(set)
    for annotation in answers_beside_models(queue, options).select_related(*JOINED).iterator():
        is_shown, source = annotation.mode == QueueMode.PREFILLED, annotation.assignment.prefilled_by
        for key, (text, agrees) in _compared(annotation).items():
            arms[source, key][is_shown].append((agrees, annotation.item_id))
            texts[key].add(text)
    return [
        Pull(
            source,
            key,
            next(iter(texts[key])) if len(texts[key]) == 1 else key,
            shown,
            blind,
            difference_of_shares(shown, blind),
        )
        for (source, key), rows in sorted(arms.items())
        for shown, blind in [(_share(rows[True]), _share(rows[False]))]
    ]


def _share(marks: list[tuple[bool, int]]) -> Estimate:
    return share_by_cluster([agrees for agrees, _ in marks], [item for _, item in marks])


def _compared(annotation: Annotation) -> dict[str, tuple[str, bool]]:
    """Return the text of each question that the model answered and the person was asked, and whether they agree."""
    form, known = form_of_item(annotation.item), annotation.assignment.prefilled
    said = form.answers(annotation.label, annotation.parts)
    return {
        part.key: (
            part.text + (f" (response {part.side.upper()})" if part.side else "") or "Label",
            is_right(part, said.get(part.key), known[part.key]),
        )
        for part in form.shown(said)
        if part.key in known and not part.is_open
    }


@dataclass(frozen=True, slots=True)
class ListedItem:
    """One item as a list shows it."""

    pk: int
    title: str
    url: str
    criterion: str
    scenario: str
    language: str
    status: str = ""  # labels from elsewhere have none
    text: str = ""  # the beginning of the question; labels from elsewhere have none


def review_items(keys: Sequence[int]) -> dict[int, ListedItem]:
    """Return items of a queue by key."""
    begun = (Left("response_a__prompt__text", TEXT_LENGTH), Left("material__question", TEXT_LENGTH))
    rows = ReviewItem.objects.filter(pk__in=keys).values_list(
        "pk", "criterion", "scenario", "language", "status", *begun, *SUBJECTS
    )
    return {
        pk: ListedItem(
            pk=pk,
            title=next((subject for subject in subjects if subject), f"Item {pk}"),
            url=reverse("review:item-detail", args=[pk]),
            criterion=criterion,
            scenario=scenario,
            language=language,
            status=ItemStatus(status).label,
            text=" ".join((of_prompt or of_material or "").split()),
        )
        for pk, criterion, scenario, language, status, of_prompt, of_material, *subjects in rows
    }


def labelled_items(keys: Sequence[int]) -> dict[int, ListedItem]:
    """Return items of a table from elsewhere by key."""
    rows = LabelledItem.objects.filter(pk__in=keys).values_list("pk", "key", "criterion", "scenario", "language")
    return {
        pk: ListedItem(pk, title, reverse("reports:labels-item", args=[pk]), criterion, scenario, language)
        for pk, title, criterion, scenario, language in rows
    }


@dataclass(frozen=True, slots=True)
class PersonDay:
    """What one person did on one day."""

    day: date
    name: str
    items: int  # annotated, those that they cannot judge and those that came back to them included
    cannot_judge: int
    hours: float  # at work, idle time left out where the page measured it

    @property
    def seconds_per_item(self) -> float:
        """Mean time of an item."""
        return self.hours * 3600 / self.items


@dataclass(frozen=True, slots=True)
class QueueWork:
    """The days of the people of a queue, by day and name, and how many annotations of each day count, the first first;
    and on how many items all agree.

    Days are those of the site's time zone.
    """

    people: tuple[PersonDay, ...]
    counted: tuple[tuple[date, int], ...]
    agreement: AgreementCount


def work_of_queue(queue_id: int) -> QueueWork:
    """Return what people did in a queue, from all its annotations."""
    rows = Annotation.objects.filter(queue=queue_id).annotate(day=TruncDate("created_at"))
    sums = (
        rows.values_list("day", "annotator__username")
        .order_by("day", "annotator__username")
        .annotate(
            items=Count("pk"),
            cannot_judge=Count("pk", filter=Q(label="")),
            hours=Sum(Coalesce("active_seconds", "seconds", 0.0)) / 3600.0,
            counted=Count("pk", filter=Q(slot__isnull=False, item__retest_of=None) & ~Q(item__status__in=LEFT_OUT)),
        )
    )
    people, counted = [], Counter[date]()
    for *person_day, n in sums:
        people.append(PersonDay(*person_day))
        counted[person_day[0]] += n
    return QueueWork(tuple(people), tuple(counted.items()), full_agreement_of(queue_id))


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How often one reason was ticked."""

    kind: str
    words: str
    items: int
    share: float | None  # of all adjudicated items; None where there are none


@dataclass(frozen=True, slots=True)
class PersonErrors:
    """How many labels of one person an adjudication changed, and why people disagreed there."""

    person: str
    labels: int  # on adjudicated items
    changed: int
    kinds: str  # of the changed ones: "slip: 2, misread: 1"


@dataclass(frozen=True, slots=True)
class SilentItem:
    """An item of which the guidelines say nothing: what a next version has to say."""

    id: int
    question: str
    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class AdjudicationErrors:
    """What adjudicators ticked in a queue."""

    queue: str
    items: int
    kinds: tuple[ErrorCount, ...]
    people: tuple[PersonErrors, ...]  # those whose labels were changed most first
    silent: tuple[SilentItem, ...]


def errors_of_queue(queue: Queue) -> AdjudicationErrors:
    """Return why annotators disagreed in a queue, by kind and person, and where the guidelines say nothing."""
    disagreed = Exists(Annotation.objects.filter(item=OuterRef("item"))) | ~Q(errors=[])  # not known from the file
    rows = Adjudication.objects.filter(disagreed, item__queue=queue, item__retest_of=None).order_by("item_id")
    words = list(rows.select_related("item__material", "item__response_a__prompt", "item__queue"))
    counts = Counter(kind for word in words for kind in word.errors)
    given, changed = Counter[str](), Counter[str]()
    reasons: dict[str, Counter[str]] = {}
    by_item = {word.item_id: word for word in words}
    labels = queue.annotations.filter(item__in=by_item, left_out_at=None).exclude(label="")
    form = form_of_queue(queue)
    compared = {part.key for part in form.parts if not part.is_open} if form is not None else set[str]()
    for item_id, name, label, parts in labels.values_list("item_id", "annotator__username", "label", "parts"):
        given[name] += 1
        word = by_item[item_id]
        if label != word.label or any(parts[key] != word.parts.get(key) for key in compared & parts.keys()):
            changed[name] += 1
            reasons.setdefault(name, Counter()).update(word.errors)
    people = [
        PersonErrors(
            name, n, changed[name], ", ".join(f"{kind}: {k}" for kind, k in sorted(reasons.get(name, {}).items()))
        )
        for name, n in given.items()
    ]
    return AdjudicationErrors(
        queue=queue.name,
        items=len(words),
        kinds=tuple(
            ErrorCount(kind.value, str(kind.label), counts[kind], counts[kind] / len(words) if words else None)
            for kind in ErrorKind
        ),
        people=tuple(sorted(people, key=lambda row: (-row.changed, row.person))),
        silent=tuple(
            SilentItem(word.item_id, question_of(word.item), word.label, word.reason)
            for word in words
            if ErrorKind.SILENT in word.errors
        ),
    )
