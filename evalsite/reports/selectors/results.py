"""What the pages of results and cases show, read by response, and the shares of single criteria."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import count
from math import nan
from typing import Any

import numpy as np
from django.db.models import BooleanField, ExpressionWrapper, FloatField, Q, QuerySet, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Length, Substr

from evalsite.base.rows import batches, grouped
from evalsite.reports.selectors.annotations import ScaledAnswers, answers_of
from evalsite.reports.selectors.leaderboards import Grader, Options, chosen
from evalsite.review.models import Annotation, Queue, ReviewItem
from evalsite.review.questions.forms import IN_LISTS, AnswerForm, FormQuestion, Kind, value_text
from evalsite.review.selectors.final_labels import SubjectLabel, criterion_of, labels_on_case
from evalsite.review.selectors.subjects import TREES, form_of_item, own_parts_of
from judging.grading.reports import criterion_metric, reduce_scores
from judging.grading.rubric_tree import BadRubric, is_scored_leaf, walk
from judging.judges.kinds.generic import is_penalty, leaf_share
from judging.models import (
    Ask,
    Call,
    Case,
    EvaluatorKind,
    Prompt,
    Response,
    RubricItem,
    Run,
    RunEvaluator,
    Score,
    SuiteCase,
    System,
    TaskStatus,
    Verdict,
)
from judging.selectors.benchmarks import prompts_with, responses_with
from judging.selectors.judges import cost_of_calls
from judging.selectors.runs import tasks_of
from judging.specs.selections import selection_from_json
from judging.specs.turns import text_of
from judging.specs.types import NodeSpec, StoredTurn, heading_of
from judging.statistics.agreement import ORDERED_LABELS, Metric, metric_of_scale
from judging.statistics.estimates import Floats, Ints
from judging.statistics.ratings import MISSING, RatingTable
from judging.statistics.texts import approximate_tokens, formatting_marks, model_family
from judging.stored_content import tree_from_json

MAX_PARTS = 100  # those with the most annotations are read
CHUNK = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class PartAnswers:
    """The annotations of one part."""

    criterion: str
    part: FormQuestion
    text: str  # the words of the part, or where it stands if they differ from case to case
    answers: ScaledAnswers


@dataclass(slots=True)
class _PartAnnotations:
    """People's annotations of one part."""

    item_id: int  # one that has the part
    rubric_ids: set[int | None] = field(default_factory=set)  # of the rubrics of cases that the part belongs to
    values: dict[tuple[int, str], Any] = field(default_factory=dict)  # (item, person) -> value


def part_answers_of(queue: Queue, options: Options, *, with_left_out: bool = False) -> list[PartAnswers]:
    """Return the blind annotations of each part in a queue, in the order of the forms.

    A part is known by its criterion and its key: where each case has a rubric of its own, parts of one key
    are in one table.
    """
    if not Annotation.objects.filter(queue=queue).exclude(parts={}).exists():
        return []
    annotations = _read(answers_of(queue, options, with_left_out=with_left_out).exclude(parts={}))
    busiest = sorted(annotations, key=lambda key: -len(annotations[key].values))[:MAX_PARTS]
    items = ReviewItem.objects.select_related("queue", "subject__rubric_item")
    by_id = items.in_bulk({annotations[key].item_id for key in busiest})
    wordings = _wordings(annotations[key] for key in busiest)
    rows = []
    for criterion, key in busiest:
        annotated = annotations[criterion, key]
        form = form_of_item(by_id[annotated.item_id])
        position, part = next(
            ((position, part) for position, part in enumerate(form.parts) if part.key == key), (0, None)
        )
        if part is not None and not part.is_open:
            answers = ScaledAnswers(_table(annotated.values, part), metric_of(part))
            texts = {wordings[pk].get(key, "") for pk in annotated.rubric_ids if pk in wordings}
            text = part.text if len(texts) < 2 else _common_words(part, form, len(texts), len(annotated.rubric_ids))
            rows.append((criterion, position, PartAnswers(criterion, part, text, answers)))
    return [row for _, _, row in sorted(rows, key=lambda row: row[:2])]


def _wordings(parts: Iterable[_PartAnnotations]) -> dict[int, dict[str, str]]:
    """Return the text of each node by its key, for the rubrics of parts that belong to several."""
    ids = {pk for part in parts if len(part.rubric_ids) > 1 for pk in part.rubric_ids if pk is not None}
    trees = RubricItem.objects.filter(pk__in=ids).values_list("pk", "tree").iterator(CHUNK)
    return {pk: {node.key: node.text for node in walk(tree_from_json(tree))} for pk, tree in trees}


def _common_words(part: FormQuestion, form: AnswerForm, n_texts: int, n_rubrics: int) -> str:
    """Return where a part stands in forms that word it differently."""
    siblings = [other.key for other in form.parts if other.head == part.head]
    place = f"Item {siblings.index(part.key) + 1} of {part.head.lower() or 'the form'}"
    return f"{place}: {n_texts:,} wordings in the rubrics of {n_rubrics:,} cases"


def metric_of(part: FormQuestion) -> Metric:
    """Return how far apart two values of a part's scale are."""
    if part.kind is Kind.CHOICES:
        return Metric.MASI
    if part.is_check or part.kind is Kind.RANKING or part.scale.kind == "nominal":
        return Metric.NOMINAL
    if part.kind is Kind.SCALE:
        return Metric.ORDINAL if len(part.choices) >= ORDERED_LABELS else Metric.NOMINAL
    return metric_of_scale([float(choice.value) for choice in part.choices]) if part.choices else Metric.INTERVAL


def _read(rows: QuerySet[Annotation]) -> Mapping[tuple[str, str], _PartAnnotations]:
    annotations: dict[tuple[str, str], _PartAnnotations] = {}
    fields = ("item_id", "item__criterion", "item__subject__rubric_item", "annotator__username", "parts")
    for item_id, criterion, rubric_id, person, parts in rows.values_list(*fields).iterator(CHUNK):
        for key, value in parts.items():
            annotated = annotations.setdefault((criterion, key), _PartAnnotations(item_id))
            annotated.values[item_id, person] = value
            annotated.rubric_ids.add(rubric_id)
    return annotations


def _table(values: Mapping[tuple[int, str], Any], part: FormQuestion) -> RatingTable:
    """Return the table of one part, its labels in the order of the scale."""
    labels = [choice.value for choice in part.choices]
    if part.kind in IN_LISTS:
        labels = sorted({value_text(value) for value in values.values()})
    elif not labels:
        labels = [value_text(value) for value in sorted(set(values.values()))]
    is_named = metric_of(part) in (Metric.NOMINAL, Metric.MASI)
    numbers = None if is_named else tuple(float(label) for label in labels)
    items, people = sorted({item for item, _ in values}), sorted({person for _, person in values})
    rows, columns = {item: n for n, item in enumerate(items)}, {person: n for n, person in enumerate(people)}
    codes = np.full((len(items), len(people)), MISSING, dtype=np.int64)
    position = defaultdict(lambda: MISSING, {label: code for code, label in enumerate(labels)})
    for (item, person), value in values.items():
        codes[rows[item], columns[person]] = position[value_text(value)]
    return RatingTable(tuple(map(str, items)), tuple(people), tuple(labels), codes, numbers)


CASE_SCORES_CHUNK = 5000
EXACT = 12  # decimals of a share
FILTERS = ("scenario", "lang", "type")


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """A case of the suite. `null_share` is what a system without a response to it gets."""

    pk: int
    key: str
    prompt_id: int
    scenario: str
    lang: str
    question_type: str
    full_score: float
    null_share: float
    has_rules: bool

    def matches(self, options: Options) -> bool:
        """Whether the filters of a report keep this case."""
        values = (self.scenario, self.lang, self.question_type)
        return all(chosen(options, name) in ("", value) for name, value in zip(FILTERS, values, strict=True))


ATTEMPT = np.dtype([("system", "i8"), ("prompt", "i8"), ("number", "i8"), ("response", "i8"), ("share", "f8")])
AttemptRow = tuple[int, int, int, int, float]  # as ATTEMPT, with the places of a system and a prompt; share NaN: none


@dataclass(frozen=True, slots=True, eq=False)
class SuiteScores:
    """Every score of one evaluator over the chosen cases; arrays have the shape (systems, cases) where none is told."""

    cases: tuple[CaseFacts, ...]
    systems: dict[int, str]  # by name
    shares: Floats  # of the case's points, reduced over attempts; NaN where an attempt has no score, which is no zero
    missing: np.ndarray  # whether the system has no response at all; its share is then the null share, or NaN
    firsts: Ints  # key of the first attempt's response; 0: no response
    attempts: np.ndarray  # of ATTEMPT, by system, prompt and number
    prompts: Ints  # the place of each case's prompt, shape (cases,)
    reduce_mode: str

    def among(self, response_ids: Collection[int]) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield the cells, by row and column, that have one of these responses, each with all its attempts."""
        has_response = np.isin(self.attempts["response"], np.fromiter(response_ids, dtype=np.int64))
        keys = self.attempts["system"] * len(self.cases) + self.attempts["prompt"]
        cells = np.unique(keys[has_response])
        starts, ends = np.searchsorted(keys, cells), np.searchsorted(keys, cells, side="right")
        columns = grouped((prompt, column) for column, prompt in enumerate(self.prompts.tolist()))
        for key, start, end in zip(cells.tolist(), starts.tolist(), ends.tolist(), strict=True):
            row, prompt = divmod(key, len(self.cases))
            for column in columns.get(prompt, ()):
                yield row, column, self.attempts[start:end]


def suite_cases(evaluator: RunEvaluator) -> list[CaseFacts]:
    """Return all cases of the evaluator's suite in their order. One query; `evaluator.run.suite` is loaded."""
    suite = evaluator.run.suite
    links = SuiteCase.objects.filter(suite=suite).order_by("position")
    rows = links.values_list(
        "case_id",
        "case__key",
        "case__prompt_id",
        "case__scenario",
        "case__lang",
        "case__question_type",
        "case__full_score",
        "case__null_score",
        ExpressionWrapper(Q(case__grading={}), BooleanField()),
    )
    cases = []
    for pk, key, prompt_id, scenario, lang, kind, full, null, is_bare in rows.iterator(chunk_size=CASE_SCORES_CHUNK):
        points, nothing = suite.points(full, null)
        share = nothing / points if points else 0.0
        cases.append(CaseFacts(pk, key, prompt_id, scenario, lang, kind, points, share, not is_bare))
    return cases


def read_scores(
    evaluators: Sequence[RunEvaluator], options: Options, *, is_newest: bool = True, whole_suite: bool = False
) -> SuiteScores:
    """Return the newest score of each response by evaluators of one suite, the newest of which comes first.

    The options are scenario, lang, type, missing ("skip") and systems (keys). Responses that wait, failed or could not
    be decided are attempts without a share; one without a score keeps that of an earlier run. Responses that were
    replaced are left out where `is_newest`; else the scores are those of a run, as it ended. With `whole_suite` the
    cases that no run is about are there too, so that the cases of several evaluators are the same. Streamed.
    """
    newest, only = evaluators[0], Q(response__superseded_at__isnull=True) if is_newest else Q()
    parts = [_part_of(evaluator.run) for evaluator in evaluators]
    cases = tuple(
        case
        for case in suite_cases(newest)
        if case.matches(options) and (whole_suite or any(is_asked(case) for is_asked in parts))
    )
    runs = [evaluator.run_id for evaluator in evaluators]
    named = System.objects.filter(runs__in=runs).distinct().order_by("name", "pk")
    named = named.exclude(name=newest.compared_with)  # a baseline is not compared with itself
    if all(evaluator.imported_from for evaluator in evaluators):  # each judge of a log has its own systems
        named = named.filter(pk__in=Score.objects.filter(evaluator__in=evaluators).values("response__system"))
    if system_ids := options.get("systems"):
        named, only = named.filter(pk__in=system_ids), only & Q(response__system_id__in=system_ids)
    systems = dict(named.values_list("pk", "name"))
    rows, prompts = {pk: row for row, pk in enumerate(systems)}, _prompt_places(cases)
    attempts = np.concatenate([_attempts(evaluator, rows, prompts, only) for evaluator in evaluators])
    if len(evaluators) > 1:
        attempts = attempts[np.argsort(np.isnan(attempts["share"]), kind="stable")]
        _, firsts = np.unique(attempts["response"], return_index=True)
        attempts = attempts[firsts]
    in_order = np.lexsort((attempts["number"], attempts["prompt"], attempts["system"]))
    scores = _suite_scores(newest, cases, systems, attempts[in_order])
    is_bare = np.zeros(len(cases), dtype=bool)  # a case without rules has no score by rules, nor a null score
    if newest.kind == EvaluatorKind.GRADER and not newest.imported_from:
        is_bare = ~np.array([case.has_rules for case in cases], dtype=bool)
        is_bare &= scores.missing.all(axis=0) | ~is_bare.all()  # scores of a suite without any rules count
        scores.shares[:, is_bare] = nan
    scores.missing[_without_reply(evaluators, scores, is_newest=is_newest) | is_bare] = False
    if chosen(options, "missing") == "skip":
        return scores
    # null scores alone are no mean of a system whose responses have no score
    has_said = ~(scores.missing | is_bare).all(axis=1, keepdims=True)
    is_unread = has_said & np.isnan(scores.shares).all(axis=1, keepdims=True)
    null_shares = np.array([case.null_share for case in cases])
    return replace(scores, shares=np.where(scores.missing & ~is_unread, null_shares, scores.shares))


def _part_of(run: Run) -> Callable[[CaseFacts], bool]:
    """Return whether a run is about a case: what it leaves out of its suite is no missing response."""
    part = selection_from_json(run.options.get("selection") or {})
    keys, scenarios = frozenset(part.keys), frozenset(part.scenarios)
    return lambda case: (not keys or case.key in keys) and (not scenarios or case.scenario in scenarios)


def has_replaced(evaluators: Sequence[RunEvaluator]) -> bool:
    """Whether a response that one of them scored has been replaced since."""
    suites = {evaluator.run.suite_id for evaluator in evaluators}
    replaced = Response.objects.filter(superseded_at__isnull=False, prompt__cases__links__suite__in=suites)
    return Score.objects.filter(evaluator__in=evaluators, response__in=replaced).exists()


def _without_reply(evaluators: Sequence[RunEvaluator], scores: SuiteScores, *, is_newest: bool) -> np.ndarray:
    """Return the cells of which nobody can tell whether a system responds: it was not asked yet, or nobody replied.

    So are responses that a log brought without a score: tasks of runs are about all responses, those of a log are not.
    Among newest scores so are those that took the place of scored ones, and cases that only other systems' runs had.
    """
    unknown = np.full(scores.shares.shape, len(evaluators) > 1)
    rows = {pk: row for row, pk in enumerate(scores.systems)}
    for evaluator in evaluators if len(evaluators) > 1 else ():
        own_rows = [rows[pk] for pk in evaluator.run.systems.values_list("pk", flat=True) if pk in rows]
        unknown[own_rows] &= ~np.array(list(map(_part_of(evaluator.run), scores.cases)), dtype=bool)
    columns = grouped((case.prompt_id, column) for column, case in enumerate(scores.cases))
    known: list[tuple[int, int, bool]] = []
    is_logged = any(evaluator.imported_from for evaluator in evaluators)
    if is_logged or is_newest:
        stored = Response.objects.filter(system__in=rows, prompt__cases__links__suite=evaluators[0].run.suite)
        stored = stored if is_logged else stored.filter(superseded_at__isnull=False)
        known += [(*row, True) for row in stored.order_by().values_list("system_id", "prompt_id").distinct()]
    if runs := {evaluator.run_id for evaluator in evaluators if evaluator.run.asked_systems}:
        asks = Ask.objects.filter(run__in=runs, response__isnull=True).order_by("stop_reason")  # replies win
        fields = asks.values_list("system_id", "case__prompt_id", "stop_reason")
        known += [(system_id, prompt_id, not reason) for system_id, prompt_id, reason in fields]
    for system_id, prompt_id, is_unknown in known:
        if system_id in rows and prompt_id in columns:
            unknown[rows[system_id], columns[prompt_id]] = is_unknown
    return unknown


def _prompt_places(cases: Sequence[CaseFacts]) -> dict[int, int]:
    return {pk: column for column, pk in enumerate(dict.fromkeys(case.prompt_id for case in cases))}


def _suite_scores(
    evaluator: RunEvaluator, cases: tuple[CaseFacts, ...], systems: dict[int, str], attempts: np.ndarray
) -> SuiteScores:
    """Return the attempts, which are in order, reduced by the rule of the suite; what is missing has no share."""
    prompts = _prompt_places(cases)
    mode = evaluator.run.suite.attempt_reduce_mode
    shares, firsts = _reduced(attempts, len(systems), len(prompts), mode)
    columns = np.array([prompts[case.prompt_id] for case in cases], dtype=np.int64)
    shares, firsts = shares[:, columns], firsts[:, columns]
    return SuiteScores(cases, systems, shares, firsts == 0, firsts, attempts, columns, mode)


def _attempts(evaluator: RunEvaluator, systems: Mapping[int, int], prompts: Mapping[int, int], only: Q) -> np.ndarray:
    """Return the attempts of these systems at these prompts, which are given with their places."""
    fields = ("response__system_id", "response__prompt_id", "response__attempt", "response_id")

    def read(rows: Iterator[tuple[Any, ...]]) -> Iterator[AttemptRow]:
        for system_id, prompt_id, number, response_id, share in rows:
            if system_id in systems and prompt_id in prompts:
                yield systems[system_id], prompts[prompt_id], number, response_id, nan if share is None else share

    scored = Score.objects.filter(only, evaluator=evaluator).values_list(*fields, "share")
    open_tasks = tasks_of(evaluator).filter(only).exclude(status=TaskStatus.DONE)
    without = open_tasks.annotate(share=Value(None, FloatField())).values_list(*fields, "share")
    scored_attempts, waiting = (
        np.fromiter(read(rows.iterator(chunk_size=CASE_SCORES_CHUNK)), ATTEMPT) for rows in (scored, without)
    )
    return np.concatenate([scored_attempts, waiting[~np.isin(waiting["response"], scored_attempts["response"])]])


def _reduced(attempts: np.ndarray, systems: int, prompts: int, mode: str) -> tuple[Floats, Ints]:
    """Return by system and prompt the share reduced over attempts, and the first response.

    Sums of floats differ in their last digits; of equal scores none is the better one.
    """
    keys = attempts["system"] * prompts + attempts["prompt"]
    cells, starts, counts = np.unique(keys, return_index=True, return_counts=True)
    reduced = attempts["share"][starts]
    for index in np.flatnonzero(counts > 1):
        shares = attempts["share"][starts[index] : starts[index] + counts[index]]
        reduced[index] = nan if np.isnan(shares).any() else reduce_scores(shares.tolist(), mode)[0]
    values = np.full(systems * prompts, nan)
    firsts = np.zeros(systems * prompts, dtype=np.int64)
    values[cells] = np.round(reduced, EXACT)
    firsts[cells] = attempts["response"][starts]
    shape = (systems, prompts)
    return values.reshape(shape), firsts.reshape(shape)


RESPONSE_FACTS_CHUNK = 1_000  # texts at a time
MANY = 10_000  # numbers at a time


@dataclass(frozen=True, slots=True)
class ResponseFacts:
    """One response as a biased judge may see it."""

    tokens: float
    marks: int
    family: str | None  # of the system's model; None: not known


def response_facts(response_ids: Iterable[int]) -> dict[int, ResponseFacts]:
    """Return the facts by response. One query for each thousand texts."""
    facts = dict[int, ResponseFacts]()
    for ids in batches(sorted(set(response_ids)), RESPONSE_FACTS_CHUNK):
        rows = Response.objects.filter(pk__in=ids).order_by("pk")
        for pk, text, model, name in rows.values_list("pk", "text", "system__model", "system__name"):
            facts[pk] = ResponseFacts(approximate_tokens(text), formatting_marks(text), model_family(model or name))
    return facts


def response_lengths(response_ids: Iterable[int]) -> dict[int, int]:
    """Return the number of characters of each response; the database counts them."""
    lengths = dict[int, int]()
    for ids in batches(sorted(set(response_ids)), MANY):
        lengths |= dict(Response.objects.filter(pk__in=ids).order_by().values_list("pk", Length("text")))
    return lengths


def output_tokens(response_ids: Iterable[int]) -> dict[int, int]:
    """Return the number of tokens of the responses that were imported with it."""
    counts = dict[int, int]()
    for ids in batches(sorted(set(response_ids)), MANY):
        rows = Response.objects.filter(pk__in=ids, completion_tokens__isnull=False).order_by()
        counts |= {pk: tokens for pk, tokens in rows.values_list("pk", "completion_tokens") if tokens is not None}
    return counts


FIRST_WORDS = 320  # characters: some three lines of a wide cell


@dataclass(frozen=True, slots=True)
class CaseWords:
    """A case as a row shows it."""

    pk: int
    key: str
    scenario: str
    language: str
    prompt: str  # its beginning; of a conversation, that of the user's last turn


def case_words(case_ids: Iterable[int]) -> dict[int, CaseWords]:
    """Return cases by key. One query."""
    rows = Case.objects.filter(pk__in=list(case_ids)).annotate(start=Substr("prompt__text", 1, FIRST_WORDS))
    names = ("pk", "key", "scenario", "lang", "start", "prompt__messages", "prompt__images")
    return {
        pk: CaseWords(pk, key, scenario, language, _beginning(start, messages, len(images), role="user"))
        for pk, key, scenario, language, start, messages, images in rows.values_list(*names)
    }


def first_words(response_ids: Iterable[int]) -> dict[int, str]:
    """Return the beginning of each response by key. One query."""
    rows = Response.objects.filter(pk__in=list(response_ids)).annotate(start=Substr("text", 1, FIRST_WORDS))
    return {
        pk: _beginning(start, messages, len(images), role="assistant")
        for pk, start, messages, images in rows.values_list("pk", "start", "messages", "images")
    }


def _beginning(start: str, messages: Sequence[StoredTurn], images: int, *, role: str) -> str:
    """Return the first words of a text, or of a role's last turn with who speaks, behind how much there is of it."""
    further = []
    if len(messages) > 1:
        turn = next((turn for turn in reversed(messages) if turn["role"] == role), messages[-1])
        start = f"{heading_of(turn)}: {text_of(turn)}"[:FIRST_WORDS]
        further.append(f"{len(messages):,} turns")
    if images:
        further.append(f"{images} image{'' if images == 1 else 's'}")
    return " · ".join(filter(None, (*further, start)))  # tables cut off what is long


def score_words(
    evaluators: Sequence[int], response_ids: Iterable[int]
) -> dict[tuple[int, int], tuple[list[str], str, bool]]:
    """Return flags and first words of the reasons of the newest score by any of the evaluators, and whether it is one.

    By evaluator and response. One query.
    """
    rows = Score.objects.filter(evaluator__in=evaluators, response__in=list(response_ids)).order_by("run_id", "pk")
    rows = rows.annotate(reasons=Substr("verdict__rationale", 1, FIRST_WORDS))
    return {
        (evaluator, response): (list(dict.fromkeys(map(str, flags))), reasons or "", share is not None)
        for evaluator, response, flags, reasons, share in rows.values_list(
            "evaluator_id", "response_id", "flags", "reasons", "share"
        )
    }


def matching(text: str, *, suite_id: int) -> tuple[Ints, Ints]:
    """Return the cases of a suite whose key holds a text or whose prompt holds its words, and the current responses.

    Words are those of the site's search. Three queries: each by an index of its own.
    """
    cases = Case.objects.filter(links__suite=suite_id)
    prompts = Prompt.objects.filter(prompts_with(text), cases__links__suite=suite_id)
    suite_prompts = Prompt.objects.filter(cases__links__suite=suite_id)
    responses = Response.objects.filter(responses_with(text), prompt__in=suite_prompts.order_by())
    with_words = cases.filter(prompt__in=prompts.order_by())
    return np.union1d(_keys(cases.filter(prompt__key__icontains=text)), _keys(with_words)), _keys(responses)


def _keys(rows: QuerySet[Any]) -> Ints:
    return np.fromiter(rows.order_by().values_list("pk", flat=True), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ResultCell:
    """Everything about one grader's newest score of one response."""

    response: Response
    score: Score | None
    verdict: Verdict | None
    cost: Decimal | None  # of the verdict's calls, in USD; None: no call, or a price is not known


def read_cells(requested: Sequence[tuple[Sequence[int], int]]) -> list[ResultCell | None]:
    """Return cells, given as evaluators (the newest first) and a response; None without a response. Four queries."""
    ids = {response_id for _, response_id in requested}
    responses = Response.objects.select_related("system", "prompt").in_bulk(ids)
    evaluators = {pk for keys, _ in requested for pk in keys}
    stored_scores = Score.objects.filter(evaluator__in=evaluators, response__in=ids).select_related("evaluator", "run")
    scores = {(row.evaluator_id, row.response_id): row for row in stored_scores}
    stored_verdicts = Verdict.objects.filter(evaluator__in=evaluators, response__in=ids).select_related(
        "evaluator", "run"
    )
    verdicts = {(row.evaluator_id, row.response_id): row for row in stored_verdicts.order_by("pk")}
    calls = dict(
        Call.objects.filter(pk__in={pk for row in verdicts.values() for pk in row.call_ids}).values_list("pk", "cost")
    )
    cells: list[ResultCell | None] = []
    for keys, response_id in requested:
        scored = [scores[pk, response_id] for pk in keys if (pk, response_id) in scores]
        score = next((row for row in scored if row.share is not None), next(iter(scored), None))
        judged = [verdicts[pk, response_id] for pk in keys if (pk, response_id) in verdicts]
        verdict = next((row for row in judged if score is None or row.pk == score.verdict_id), None)
        cost = cost_of_calls([calls.get(pk) for pk in (verdict.call_ids if verdict is not None else ())])
        response = responses.get(response_id)
        cells.append(None if response is None else ResultCell(response, score, verdict, cost))
    return cells


def answers_to(case: Case) -> QuerySet[Response]:
    """Return the current responses to a case by system and attempt, each with its first `words`, without its text."""
    return (
        Response.objects.filter(prompt=case.prompt_id, superseded_at__isnull=True)
        .select_related("system")
        .only("pk", "attempt", "completion_tokens", "prompt_id", "system__name")
        .annotate(words=Substr("text", 1, FIRST_WORDS))
        .order_by("system__name", "system_id", "attempt", "pk")
    )


def answers_named(case: Case, response_ids: Sequence[int]) -> list[Response]:
    """Return the responses to a case that have these keys, with their texts, in the order of the keys."""
    rows = Response.objects.filter(prompt=case.prompt_id).select_related("system").in_bulk(list(response_ids))
    return [rows[pk] for pk in response_ids if pk in rows]


def newest_scores(graders: Sequence[Grader], response_ids: Iterable[int]) -> dict[tuple[int, int], Score]:
    """Return the score that counts, by grader and response: the newest with a share, else the newest. One query."""
    rank_and_grader = {row.pk: (rank, grader.key) for grader in graders for rank, row in enumerate(grader.evaluators)}
    rows = Score.objects.filter(evaluator__in=rank_and_grader, response__in=list(response_ids)).order_by("-pk")
    rows = rows.select_related("verdict").only(
        *("pk", "evaluator_id", "response_id", "share", "status", "flags", "verdict_id"),
        *("verdict__rationale", "verdict__reason", "verdict__status"),
    )
    scores: dict[tuple[int, int], Score] = {}
    for score in sorted(rows, key=lambda row: (row.share is None, rank_and_grader[row.evaluator_id][0])):
        scores.setdefault((rank_and_grader[score.evaluator_id][1], score.response_id), score)
    return scores


def labels_of_people(
    graders: Sequence[Grader], case: Case, response_ids: Sequence[int]
) -> Mapping[int, Sequence[SubjectLabel]]:
    """Return people's labels by response: one for each criterion that a grader scores."""
    by_criterion = grouped(
        (criterion_of(evaluator), evaluator)
        for evaluator in sorted((row for grader in graders for row in grader.evaluators), key=lambda row: -row.run_id)
    )
    labels: dict[int, list[SubjectLabel]] = {}
    for evaluators in by_criterion.values():
        for label in labels_on_case(evaluators, case, response_ids):
            labels.setdefault(label.response_ids[0], []).append(label)
    return labels


SHARE = np.dtype([("response", "i8"), ("system", "i8"), ("prompt", "i8"), ("criterion", "i4"), ("share", "f8")])


Criteria = defaultdict[str, int]  # the place of each title: those of one title are one criterion, whatever the case


def read_criterion_shares(evaluators: Sequence[RunEvaluator]) -> tuple[tuple[str, ...], np.ndarray]:
    """Return what evaluators of one version, the newest first, gave each criterion; of several, the newest counts.

    The titles of the criteria, in the order of the rubric, and rows of SHARE, whose `criterion` is a place in them: one
    row for each response and criterion. Two queries for each, streamed. Responses that were replaced are left out.
    """
    criteria = Criteria(count().__next__)
    shares = np.empty(0, SHARE)
    for evaluator in evaluators:
        read = _of_rules if evaluator.kind == EvaluatorKind.GRADER else _judged
        rows = np.fromiter(read(evaluator, criteria), SHARE)
        shares = np.concatenate([shares, rows[~np.isin(rows["response"], shares["response"])]])
    return tuple(criteria), shares


Row = tuple[int, int, int, int, float]  # as SHARE


def _of_rules(evaluator: RunEvaluator, criteria: Criteria) -> Iterator[Row]:
    scores = Score.objects.filter(evaluator=evaluator, share__isnull=False)
    for response, system, prompt, text in _read_criteria(scores, "criteria", "detail"):
        for criterion in json.loads(text):
            got, total = criterion.get("got"), criterion.get("total")
            if got is not None and total:
                yield response, system, prompt, criteria[criterion_metric(criterion)], float(got) / float(total)


def _judged(evaluator: RunEvaluator, criteria: Criteria) -> Iterator[Row]:
    leaves = _Leaves.of(evaluator)
    for title in (leaf.title for tree in leaves.by_key.values() for leaf in tree.values()):
        criteria[title]  # takes its place in the order of the rubric
    verdicts = Verdict.objects.filter(evaluator=evaluator)
    for response, system, prompt, text in _read_criteria(verdicts, "nodes", "value"):
        leaves_by_key = leaves.of_prompt(prompt)
        for key, value in json.loads(text).items():
            leaf = leaves_by_key.get(key)
            share = leaf.share(value) if leaf is not None and value is not None else None
            if leaf is not None and share is not None:
                yield response, system, prompt, criteria[leaf.title], share


def _read_criteria(rows: QuerySet[Any], key: str, column: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield response, system, prompt and the JSON under a key as text, of the rows that have it."""
    current = rows.filter(response__superseded_at__isnull=True).annotate(told=KeyTextTransform(key, column))
    fields = ("response_id", "response__system_id", "response__prompt_id", "told")
    yield from current.exclude(told=None).order_by("response_id").values_list(*fields).iterator(chunk_size=CHUNK)


@dataclass(slots=True)
class _Leaf:
    """A scored leaf with the title that it counts under, and the shares of its values."""

    title: str
    node: NodeSpec
    shares: dict[tuple[type, object], float | None] = field(default_factory=dict)

    def share(self, value: Any) -> float | None:
        key = (type(value), value)
        if key not in self.shares:
            try:
                self.shares[key] = leaf_share(self.node, value)
            except BadRubric:
                self.shares[key] = None
        return self.shares[key]


Tree = Mapping[str, _Leaf]


@dataclass(frozen=True, slots=True)
class _Leaves:
    """The leaves that an evaluator judged a prompt by."""

    by_key: Mapping[str, Tree]  # by case; "" where one tree holds for all
    case_keys: Mapping[int, str]  # by prompt

    @classmethod
    def of(cls, evaluator: RunEvaluator) -> _Leaves:
        text = TREES.get(own_parts_of(evaluator))
        if text is not None:
            return cls({"": _leaves_of(tree_from_json(text))}, {})
        rows = (
            RubricItem.objects.filter(rubric=evaluator.rubric_id).order_by("position").values_list("case_key", "tree")
        )
        trees = {key: _leaves_of(tree_from_json(tree)) for key, tree in rows.iterator(chunk_size=CHUNK)}
        cases = evaluator.run.suite.cases.values_list("prompt_id", "key") if set(trees) - {""} else ()
        return cls(trees, dict(cases))

    def of_prompt(self, prompt_id: int) -> Tree:
        tree = self.by_key.get(self.case_keys.get(prompt_id, ""))
        return tree if tree is not None else self.by_key.get("", {})


def _leaves_of(tree: NodeSpec) -> dict[str, _Leaf]:
    """Return the leaves of a tree: a cascade counts by its levels, for their criteria differ from case to case."""
    if tree.aggregator.get("type") == "cascade":
        return {leaf.key: _Leaf(f"Level {level.key}", leaf) for level in tree.children for leaf in level.children}
    leaves = (node for node in walk(tree) if is_scored_leaf(node))
    return {leaf.key: _Leaf(f"{leaf.key}, avoided" if is_penalty(leaf) else leaf.key, leaf) for leaf in leaves}
