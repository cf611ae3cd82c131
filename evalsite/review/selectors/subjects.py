"""Subjects of items: what they show, their content keys, and the labels that are known of them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from django.db.models import Exists, OuterRef, QuerySet

from debate.models import Debate
from evalsite.base.rows import batches
from evalsite.base.types import JsonDict, JsonObject
from evalsite.review.models import FinalLabel, LabelTable, Material, Provenance, Queue, Referral, ReviewItem, Subject
from evalsite.review.questions.answer_forms import (
    OWN_PROMPT,
    ScoredForm,
    form_of,
    label_form,
    needs_material,
    scale_of,
    scale_of_evaluator,
)
from evalsite.review.questions.form_files import form_of_definition, size_stored
from evalsite.review.questions.forms import LETTERS, AnswerForm, OwnForm, letters_seen, said_text
from evalsite.review.questions.scales import (
    COMPARED,
    JUDGEMENT,
    PREFERENCE,
    Label,
    is_preference,
    label_on,
    labels_from_json,
    nearest_label,
)
from judging.grading.rubric_tree import Value
from judging.judges.judge_kinds import kind_asked
from judging.judges.registry import KINDS
from judging.judges.subjects import JudgeSubject
from judging.llm.chat import canonical_json
from judging.models import Case, EvaluatorKind, Response, Rubric, RubricItem, RunEvaluator, Score, SuiteCase, Verdict
from judging.models.benchmarks import picture_url
from judging.models.runs import AGAINST, BASELINE_RESPONSE
from judging.selectors.judges import read_baselines
from judging.specs.types import NodeSpec
from judging.stored_content import (
    KeyFrame,
    ShownContent,
    content_hash,
    content_key,
    is_turned,
    key_frame,
    part_json,
    shown_content,
    shown_hash,
    subject_key,
    text_hash,
    tree_from_json,
    tree_to_json,
    turned_label,
)

Key = TypeVar("Key", int, str)

CHUNK = 5_000
RANKS: dict[str, int] = {
    Provenance.IMPORTED: 0,
    Provenance.INFORMED: 1,
    Provenance.MAJORITY: 1,
    Provenance.ADJUDICATION: 2,
}
Name = TypeVar("Name")
TURN = re.compile(r"\bturn \d+$")  # at the end of the criterion of what is about one turn of a conversation


@dataclass(frozen=True, slots=True)
class KnownLabel:
    """The final labels of one subject, in its own order."""

    label: str | None = None
    share: float | None = None
    provenance: str = ""
    item_id: int | None = None  # on which people decided
    parts: Mapping[str, Value] = field(default_factory=dict)
    labels: tuple[Label, ...] = ()  # the scale, where it is that of an earlier subject, or of a file
    table_id: int | None = None  # of a file of labels that names no rubric, whose content is this

    @property
    def is_of_file(self) -> bool:
        """Whether a file has it, so that nobody chose it by looking at verdicts."""
        return self.table_id is not None


NO_LABEL = KnownLabel()


def turned_round(label: KnownLabel, *, turned: bool) -> KnownLabel:
    """Return the labels of a pair the other way round."""
    if not turned:
        return label
    return replace(
        label,
        label=None if label.label is None else turned_label(label.label, turned=True),
        share=None if label.share is None else 1.0 - label.share,
    )


def blind_shares(referrals: QuerySet[Referral]) -> dict[int, float | None]:
    """Return what the final blind label of each referred subject is worth, by subject; None: a name."""
    rows = FinalLabel.objects.filter(is_blind=True)
    shares, several = dict[int, float | None](), set[int]()
    referred = rows.filter(subject__in=referrals.order_by().values("subject")).order_by()
    for subject_id, share in referred.values_list("subject_id", "share"):
        if subject_id in shares:
            several.add(subject_id)
        shares[subject_id] = share
    for ids in chunks(sorted(several)):  # few: only these are worth sorting
        repeated = rows.filter(subject__in=ids).order_by("-decided_at", "-pk")
        ranked = sorted(repeated.values_list("subject_id", "share", "provenance"), key=lambda row: RANKS[row[2]])
        shares |= {subject_id: share for subject_id, share, _ in ranked}
    return shares


def blind_labels(subject_ids: Iterable[int]) -> dict[int, KnownLabel]:
    """Return the final blind label of each of these subjects that has one."""
    labels: dict[int, KnownLabel] = {}
    for ids in chunks(sorted(set(subject_ids))):
        by_subject = labels_by(FinalLabel.objects.filter(subject__in=ids), "subject_id")
        labels |= {subject_id: label for subject_id, label in by_subject.items() if label.label is not None}
    return labels


def labels_by(rows: QuerySet[FinalLabel], by: str) -> dict[Any, KnownLabel]:
    """Return labels by a column: an adjudication before a majority, what is imported last, the earliest of equals."""
    blind: dict[Any, KnownLabel] = {}
    informed: dict[Any, KnownLabel] = {}
    fields = (by, "label", "share", "provenance", "item_id", "parts", "is_blind")
    labels = rows.order_by("-decided_at", "-pk").values_list(*fields)
    for key, label, share, provenance, item_id, parts, is_blind in sorted(labels, key=lambda row: RANKS[row[3]]):
        if is_blind:
            blind[key] = KnownLabel(label, share, provenance, item_id, parts=parts)
        else:
            informed[key] = KnownLabel(item_id=item_id)  # its label is in no figure
    return informed | blind


def chunks(ids: Iterable[Key]) -> Iterator[list[Key]]:
    """Yield as many keys at a time as one query takes."""
    return batches(ids, CHUNK)


def machine_labels(*, queue: Queue, item_ids: Collection[int], judge: str = "") -> dict[int, str]:
    """Return the machine's label by item; items on which machines came to nothing are left out.

    Of several judges the one that is named, else the run's first counts, a judge before rules.
    """
    items = queue.items.filter(pk__in=item_ids)
    if queue.run_id is None and is_preference(labels_from_json(queue.labels)):
        referrals = Referral.objects.filter(item__in=items, debate__verdict__isnull=False).order_by("-pk")
        fields = ("item_id", "debate__verdict", "debate__response_a__text_hash", "item__response_a__text_hash")
        return {
            pk: turned_label(str(verdict), turned=first != other)
            for pk, verdict, first, other in referrals.values_list(*fields)
            if pk is not None
        }
    responses = items.values("response_a")
    scores = Score.objects.filter(run=queue.run_id, response__in=responses, share__isnull=False)
    scores = scores.exclude(evaluator__kind=EvaluatorKind.INDEX).order_by("-evaluator__position", "-pk")
    scores = scores.filter(evaluator__name=judge) if judge else scores
    rows = scores.values_list("response_id", "evaluator__criterion", "share", "verdict_id")
    ranked = sorted(rows.iterator(CHUNK), key=lambda row: row[3] is not None)  # what comes last, counts
    shares = {(response_id, criterion): share for response_id, criterion, share, _ in ranked if share is not None}
    fields = ("pk", "response_a_id", "criterion", "subject__labels")
    return {
        pk: label
        for pk, response_id, criterion, scale in items.values_list(*fields)
        if (response_id, criterion) in shares
        and (label := nearest_label(shares[response_id, criterion], labels_from_json(scale)))
    }


@dataclass(frozen=True, slots=True)
class Content:
    """What was asked and what was responded, whoever judges it by what."""

    prompt_hash: str
    text_hashes: tuple[str, ...]  # one, or two of a pair
    benchmark_id: int | None = None


@dataclass(slots=True)
class ContentLabels:
    """Reads labels of files by content; nothing but their criteria where there are none."""

    _criteria: dict[bool, dict[str, set[int]]] | None = None  # of pairs or not: criterion -> benchmarks
    _scales: dict[int, tuple[Label, ...]] = field(default_factory=dict)  # by table

    def are_there(self, *, is_pair: bool) -> bool:
        """Return whether any file has labels of pairs, or of single responses."""
        return bool(self._known_criteria()[is_pair])

    def criteria_for(self, criterion: str, *, is_pair: bool, benchmark_id: int | None) -> list[str]:
        """Return the criteria of labels that tell about a judge's criterion, the nearest first.

        Labels of the same criterion, then labels without one. A judge that names no criterion, or only what it compares
        with, has those of the one criterion that the benchmark's labels have; where they have several, none. What is
        said of one turn is compared with what is said of that turn alone.
        """
        known = self._known_criteria()[is_pair]
        own = [name for name in _names_in(criterion) if name in known]
        if TURN.search(criterion):
            return own
        if own or "" in known:
            return [*own, *([""] if "" in known else [])]
        if criterion and not criterion.startswith(AGAINST):
            return []
        of_benchmark = [name for name, benchmarks in known.items() if benchmark_id in benchmarks]
        return of_benchmark if len(of_benchmark) == 1 else []

    def keys_of(self, content: Content, criterion: str) -> tuple[str, ...]:
        """Return the keys under which labels of a content may stand, the nearest criterion first."""
        is_pair = len(content.text_hashes) == 2
        names = self.criteria_for(criterion, is_pair=is_pair, benchmark_id=content.benchmark_id)
        return tuple(
            content_key(prompt_hash=content.prompt_hash, text_hashes=content.text_hashes, criterion=name)
            for name in names
        )

    def labels_of(self, keys: Iterable[str]) -> dict[str, KnownLabel]:
        """Return the blind labels by key, of several the earliest, pairs in the order of their subject."""
        labels: dict[str, KnownLabel] = {}
        for some in chunks(sorted(set(keys))):
            rows = FinalLabel.objects.filter(
                subject__content_key__in=some, item=None, is_blind=True, table__isnull=False
            )
            columns = ("subject__content_key", "label", "share", "provenance", "table_id")
            found = list(rows.order_by("-decided_at", "-pk").values_list(*columns))
            self._read_scales({table_id for *_, table_id in found if table_id is not None})
            for key, label, share, provenance, table_id in found:
                scale = self._scales[table_id or 0]
                labels[key] = KnownLabel(label, share, provenance, labels=scale, table_id=table_id)
        return labels

    def subjects_of(self, keys: Iterable[str]) -> dict[str, list[int]]:
        """Return the subjects by key, in the order in which they came."""
        subjects: dict[str, list[int]] = defaultdict(list)
        for some in chunks(sorted(set(keys))):
            rows = Subject.objects.filter(content_key__in=some).order_by("pk")
            for key, pk in rows.values_list("content_key", "pk"):
                subjects[key].append(pk)
        return subjects

    def first_of(self, keys: Mapping[Name, Sequence[str]]) -> dict[Name, KnownLabel]:
        """Return the label of each name's first key that has one."""
        labels = self.labels_of(key for several in keys.values() for key in several)
        found = {name: next((labels[key] for key in several if key in labels), None) for name, several in keys.items()}
        return {name: label for name, label in found.items() if label is not None}

    def _known_criteria(self) -> dict[bool, dict[str, set[int]]]:
        if self._criteria is None:
            self._criteria = {True: defaultdict(set), False: defaultdict(set)}
            labelled = FinalLabel.objects.filter(subject=OuterRef("pk"), item=None, table__isnull=False)
            rows = Subject.objects.filter(Exists(labelled)).exclude(content_key="").order_by()
            columns = rows.values_list("criterion", "is_pair", "case__prompt__benchmark").distinct()
            for name, is_pair, benchmark_id in columns:
                self._criteria[is_pair][_folded(name)].add(benchmark_id)
        return self._criteria

    def _read_scales(self, table_ids: set[int]) -> None:
        tables = LabelTable.objects.filter(pk__in=table_ids - self._scales.keys()).values_list("pk", "labels")
        self._scales |= {pk: labels_from_json(labels) for pk, labels in tables}


def _names_in(criterion: str) -> list[str]:
    """Return what a criterion may be called: "against ada, brevity" is one of pairs, called brevity."""
    if not criterion.startswith(AGAINST):
        return [_folded(criterion)] if criterion else []
    pieces = criterion.split(", ")
    return [_folded(", ".join(pieces[start:])) for start in range(1, len(pieces))]


def _folded(criterion: str) -> str:
    return " ".join(criterion.split()).casefold()


JOINED = ("queue", "material", "subject__case", "subject__rubric_item", "response_a__prompt", "response_b")
PAIR_JOINS = ("debate_set", "case", "response_a__prompt", "response_b")
PAIR_TEXTS = ("response_a__text", "response_b__text", "response_a__prompt__text", "case__grading", "case__metadata")


class QuestionSource(Protocol):
    """What was asked: a prompt of a benchmark, or a question out of a file."""

    @property
    def text(self) -> str: ...
    @property
    def context(self) -> str: ...
    @property
    def content(self) -> ShownContent: ...


@dataclass(frozen=True, slots=True)
class Question:
    """What a file asks."""

    text: str
    context: str
    content: ShownContent


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer to be judged, from a benchmark or a file."""

    text: str
    system: str
    content: ShownContent
    is_superseded: bool = False


@dataclass(frozen=True, slots=True)
class ShownSubject:
    """The responses to a prompt, under a rubric's criterion."""

    prompt: QuestionSource
    reference: str
    responses: tuple[Answered, ...]  # A, B and so on
    tree: JsonDict | None  # of the rubric's version that the subject names
    criterion: str

    @property
    def is_pair(self) -> bool:
        return len(self.responses) == 2

    @property
    def is_superseded(self) -> bool:
        """Whether a response has been replaced by another text since."""
        return any(response.is_superseded for response in self.responses)


def with_subjects(items: QuerySet[ReviewItem]) -> QuerySet[ReviewItem]:
    """Join everything that `subject_of` reads of an item, and no system's name."""
    return items.select_related(*JOINED)


def load_subject(item: ReviewItem) -> ReviewItem:
    """Return one item with the same at hand, with a single query; a file's material is at hand already."""
    if item.material_id is None:
        read = with_subjects(ReviewItem.objects.filter(pk=item.pk)).get()
        item.subject, item.response_a, item.response_b = read.subject, read.response_a, read.response_b
    return item


def form_of_item(item: ReviewItem, shown: ShownSubject | None = None, *, order: str = "") -> AnswerForm:
    """Return the form that an item is answered by: the queue's own, the one of its criterion, or one label.

    `queue` and `subject__rubric_item` are at hand. A form whose score rests on the response or its context costs one
    query, unless they are given as `shown`. `order`: in which somebody sees the responses, of a form by which these are
    marked.
    """
    subject, labels = item.subject, labels_from_json(item.subject.labels)
    own = item.queue.form if item.response_a_id is None else {}
    if (form := form_of_definition(own, size=size_stored(own, is_pair=subject.is_pair))) is not None:
        if form.has_marks and item.material is not None:
            return form.with_texts(_texts_to_mark(item.material, order))
        return form
    if item.response_a_id is None or subject.is_pair:
        return label_form(labels)
    tree, text, context = tree_of(subject), "", ""
    if needs_material(tree, judge=subject.judge):
        if shown is not None:
            text, context = shown.responses[0].text, shown.prompt.context
        else:
            text, context = Response.objects.values_list("text", "prompt__context").get(pk=item.response_a_id)
    about = JudgeSubject("", text, context=context, rubric=tree, criterion_key=subject.criterion)
    return form_of(about, labels, judge=subject.judge) or label_form(labels)


def _texts_to_mark(material: Material, order: str) -> dict[str, str]:
    responses = dict(zip(LETTERS, (text for text, _ in material.responses), strict=False))
    seen = {letter: responses[stored] for letter, stored in zip(LETTERS, order or responses, strict=False)}
    return {**seen, "": material.response_a, "context": material.context, "question": material.question}


def form_of_queue(queue: Queue) -> OwnForm | None:
    """Return the form that the owner of a queue wrote; None where each item has one label, or a judge's form."""
    is_pair = bool(queue.form) and queue.materials.filter(is_pair=True).exists()
    return form_of_definition(queue.form, size=size_stored(queue.form, is_pair=is_pair))


@dataclass(frozen=True, slots=True)
class ScoreSoFar:
    """What the parts of a form come to; `score` is empty while some are open, `limits` says what a rule did."""

    score: str
    missing: int
    limits: tuple[str, ...] = ()
    top: str = ""  # the best score


def score_so_far(form: AnswerForm, texts: Mapping[str, str]) -> ScoreSoFar:
    """Return the score of what a person has said of the parts, by key; forms of owners have none."""
    missing = form.missing(texts)
    if missing or not isinstance(form, ScoredForm):
        return ScoreSoFar("", missing)
    values = form.read(texts)
    label = form.label(values)
    words = next(row.text for row in form.labels if row.value == label)
    number, _, of_top = words.partition(" of ")
    return ScoreSoFar(number, 0, form.limits(values), of_top)


def answers_seen(form: AnswerForm, parts: JsonObject, *, order: str) -> JsonObject:
    """Return answers as somebody has them who sees the responses in that order."""
    return form.turned(parts, letters_seen(order)) if order else parts


def texts_seen(form: AnswerForm, label: str, parts: JsonObject, order: str) -> dict[str, str]:
    """Return stored answers as the fields of their page hold them, by key."""
    return form.texts(answers_seen(form, form.answers(label, parts), order=order))


def words_of_answers(form: AnswerForm, parts: JsonObject, *, order: str) -> str:
    """Return what is stored beside a label in words, as they have it."""
    return form.words(answers_seen(form, parts, order=order))


def label_of_parts(form: AnswerForm, parts: str) -> str | None:
    """Return the score that a file's JSON of parts comes to; None where it does not give each a value."""
    values = parts_in(parts)
    return form.label(values) if values and form.holds(values) else None


def parts_in(text: str) -> JsonDict:
    """Return the answers to questions that a file's JSON holds; nothing where it cannot be read."""
    try:
        values = json.loads(text or "{}")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def texts_in_file(item: ReviewItem, column: str) -> dict[str, str]:
    """Return the answers to an item's form that its file has, by key: a label or JSON in a column, or a column for each
    question, `column.key`."""
    details = item.material.details if item.material is not None else {}
    text = str(details.get(column) or "").strip()
    form = form_of_item(item)
    only, *others = form.parts
    prefix = f"{column}."
    texts = {name.removeprefix(prefix): str(value) for name, value in details.items() if name.startswith(prefix)}
    texts |= {key: said_text(said) for key, said in parts_in(text).items()}
    if not others and only.key not in texts:
        texts[only.key] = label_on((*only.choices, *form.labels), text) or text
    return {key: value for key, value in texts.items() if value.strip()}


def tree_of(subject: Subject) -> NodeSpec | None:
    """Return the rubric's tree that a subject is judged by."""
    return tree_from_json(subject.rubric_item.tree) if subject.rubric_item is not None else None


def subject_of(item: ReviewItem, *, with_names: bool = False) -> ShownSubject:
    """Return what an item of `with_subjects` is about. Names of systems only where asked."""
    if item.material is not None:
        return _material_subject(item.material, criterion=item.criterion)
    answered = [response for response in (item.response_a, item.response_b) if response is not None]
    case, rubric_item = item.subject.case, item.subject.rubric_item
    return ShownSubject(
        prompt=answered[0].prompt,
        reference=case.reference if case is not None else "",
        responses=tuple(_answered(response, with_names) for response in answered),
        tree=rubric_item.tree if rubric_item is not None else TREES.get(item.subject.judge),
        criterion=item.criterion,
    )


def _answered(response: Response, with_names: bool) -> Answered:
    name = response.system.name if with_names else ""
    return Answered(response.text, name, response.content, response.superseded_at is not None)


def _material_subject(material: Material, *, criterion: str) -> ShownSubject:
    answers = tuple(
        Answered(text, system, _shown(material, f"response_{letter}", text))
        for letter, (text, system) in zip(LETTERS, material.responses, strict=False)
    )
    question = Question(material.question, material.context, _shown(material, "question", material.question))
    return ShownSubject(question, material.reference, answers, _tree_of(material, criterion), criterion)


def _shown(material: Material, name: str, text: str) -> ShownContent:
    return shown_content(text, material.images.get(name, ()), material.turns.get(name, ()), picture_url)


def _hash_of(material: Material, name: str, text: str) -> str:
    """Return the hash of a response; of a text alone it is that of the text, as a benchmark's is."""
    images = material.images.get(name)
    return content_hash([text, *_images(images)]) if images else text_hash(text)


def _images(images: Sequence[JsonDict]) -> list[JsonDict]:
    return [{"images": [[image["digest"], image["alt"]] for image in images]}] if images else []


def _tree_of(material: Material, criterion: str) -> JsonDict | None:
    """Return a file's criterion in words in the place of a rubric."""
    if not material.criterion_text:
        return None
    return {"key": criterion or "criterion", "kind": "item", "text": material.criterion_text, "children": []}


@dataclass(frozen=True, slots=True)
class SubjectFacts:
    """A subject as it is to be stored, and how one item shows it."""

    key: str
    is_pair: bool
    criterion: str
    case_id: int | None
    rubric_item_id: int | None
    judge: str  # kind that rates without a rubric
    labels: tuple[Label, ...]  # the scale
    content_hash: str  # of what the item shows, a pair in the item's own order
    is_turned: bool
    content: Content
    content_key: str = ""  # of labels that name no rubric


def subject_facts(
    *, responses: Sequence[Response], case: Case | None, part: RubricPart, criterion: str, labels: Sequence[Label]
) -> SubjectFacts:
    """Return the subject of one response, or of a pair, whose prompts are loaded."""
    prompt_hash, texts = responses[0].prompt.content_hash, [response.text_hash for response in responses]
    return SubjectFacts(
        key=subject_key(
            prompt_hash=prompt_hash,
            text_hashes=texts,
            part=part.json,
            criterion=criterion,
            reference=case.reference if case is not None else "",
            scale=_scale(labels),
        ),
        is_pair=len(texts) == 2,
        criterion=criterion,
        case_id=case.pk if case is not None else None,
        rubric_item_id=part.item_id,
        judge=part.judge,
        labels=tuple(labels),
        content_hash=shown_hash(prompt_hash=prompt_hash, text_hashes=texts, part=part.json, criterion=criterion),
        is_turned=is_turned(texts),
        content=Content(prompt_hash, tuple(texts), responses[0].prompt.benchmark_id),
    )


def content_facts(content: Content, *, case_id: int | None, criterion: str, labels: Sequence[Label]) -> SubjectFacts:
    """Return the subject of labels of a file, which name no rubric: of one response, or of a pair."""
    prompt_hash, texts = content.prompt_hash, content.text_hashes
    return SubjectFacts(
        key=subject_key(
            prompt_hash=prompt_hash,
            text_hashes=texts,
            part=NO_RUBRIC.json,
            criterion=criterion,
            reference="",
            scale=_scale(labels),
        ),
        is_pair=len(texts) == 2,
        criterion=criterion,
        case_id=case_id,
        rubric_item_id=None,
        judge="",
        labels=tuple(labels),
        content_hash=shown_hash(prompt_hash=prompt_hash, text_hashes=texts, part=NO_RUBRIC.json, criterion=criterion),
        is_turned=is_turned(texts),
        content=content,
        content_key=content_key(prompt_hash=prompt_hash, text_hashes=texts, criterion=criterion),
    )


def frame_of(*, prompt_hash: str, reference: str, part: RubricPart, criterion: str) -> KeyFrame:
    """Return what the keys of all responses to a question share: `subject_facts` gives a response the same key."""
    return key_frame(
        prompt_hash=prompt_hash, part=part.json, criterion=criterion, reference=reference, scale=_scale(part.labels)
    )


def material_facts(
    material: Material, *, criterion: str, labels: Sequence[Label], form: JsonObject | None = None
) -> SubjectFacts:
    """Return the subject of a file's row. A question without context is the same as a benchmark's.

    What is asked by another form is another subject, and so are three responses or more in another order.
    """
    texts = [
        _hash_of(material, f"response_{letter}", text)
        for letter, (text, _) in zip(LETTERS, material.responses, strict=False)
    ]
    pictures = _images(material.images.get("question", ()))
    part = part_json(_tree_of(material, criterion), criterion)
    if form:
        part = canonical_json([content_hash(form), part.decode(), *(texts if material.more else ())])
    prompt_hash = content_hash([material.question, material.context, "", *pictures])
    return SubjectFacts(
        key=subject_key(
            prompt_hash=prompt_hash,
            text_hashes=texts,
            part=part,
            criterion=criterion,
            reference=material.reference,
            scale=_scale(labels),
        ),
        is_pair=material.is_pair,
        criterion=criterion,
        case_id=None,
        rubric_item_id=None,
        judge="",
        labels=tuple(labels),
        content_hash=shown_hash(
            prompt_hash=content_hash([material.question, material.context, *pictures]),
            text_hashes=texts,
            part=part,
            criterion=criterion,
        ),
        is_turned=material.is_pair and is_turned(texts),
        content=Content(prompt_hash, tuple(texts)),
    )


def _scale(labels: Iterable[Label]) -> list[tuple[str, float | None]]:
    return [(label.value, label.share) for label in labels]


@dataclass(frozen=True, slots=True)
class RubricPart:
    """What of a rubric a criterion names for one case."""

    item_id: int | None = None
    tree: JsonDict | None = None
    json: bytes = b"{}"
    labels: tuple[Label, ...] = JUDGEMENT  # the criterion's scale, for one response
    judge: str = ""  # kind that rates without a rubric


NO_RUBRIC = RubricPart()
# what kinds of judges rate without a rubric, as people are shown it
TREES = {kind.name: tree_to_json(kind.rates) for kind in KINDS.values() if kind.rates is not None}
WITHOUT_RUBRIC = {
    kind: RubricPart(tree=tree, json=canonical_json({"judge": kind}), labels=scale_of(None, judge=kind), judge=kind)
    for kind, tree in TREES.items()
}


def own_parts_of(evaluator: RunEvaluator) -> str:
    """Return an evaluator's kind of judge where it rates parts of its own, whatever the rubric; else nothing."""
    kind = kind_asked(evaluator.options)
    return kind if kind in TREES else ""


def others_of(evaluator: RunEvaluator, response_ids: Sequence[int]) -> dict[int, Response]:
    """Return what an evaluator compared responses with, by response: what its verdict names, else the baseline's
    current response. Without texts; at most four queries.
    """
    verdicts = Verdict.objects.filter(evaluator=evaluator, response__in=response_ids, value__isnull=False)
    named = {pk: value.get(BASELINE_RESPONSE) for pk, value in verdicts.values_list("response_id", "value") if value}
    bare = Response.objects.defer("text")
    stored = bare.in_bulk([pk for pk in named.values() if pk is not None])
    others = {pk: stored[other] for pk, other in named.items() if other in stored}
    rest = list(bare.filter(pk__in=[pk for pk in response_ids if pk not in others]))
    baselines = read_baselines(system_ids=[evaluator.compared_with_id], prompt_ids=[row.prompt_id for row in rest])
    for row in rest:
        other = baselines.beside(evaluator.compared_with_id, row)
        if other is not None:
            others[row.pk] = other
    return others


def own_scale_of(evaluator: RunEvaluator) -> tuple[Label, ...]:
    """Return the scale of an evaluator that is none of a rubric: of pairs, of an own prompt, or of another tool."""
    return COMPARED if evaluator.compared_with else scale_of_evaluator(evaluator.options)


def part_for(evaluator: RunEvaluator, parts: RubricParts, *, case_key: str) -> RubricPart:
    """Return the part of the rubric that an evaluator's responses to a case are judged by, with the scale that people
    are asked on."""
    scale, kind = own_scale_of(evaluator), own_parts_of(evaluator)
    judge = OWN_PROMPT if kind_asked(evaluator.options) == OWN_PROMPT else kind
    part = parts.get(evaluator.rubric_id, case_key=case_key, criterion=evaluator.criterion, judge=judge)
    return replace(part, labels=scale) if scale else part


class RubricParts:
    """Parts of rubrics by rubric, case and criterion; every version is read at once, when it is first asked for."""

    def __init__(self) -> None:
        self._items: dict[int, dict[str, RubricItem]] = {}
        self._parts: dict[tuple[int, str], RubricPart] = {}  # by item and criterion

    def get(self, rubric_id: int | None, *, case_key: str, criterion: str, judge: str = "") -> RubricPart:
        """Return the part for a case, or the one for the whole benchmark, or none.

        `judge` is a kind that rates parts of its own, or that gives one verdict whatever the rubric.
        """
        if judge in WITHOUT_RUBRIC:
            return WITHOUT_RUBRIC[judge]
        if judge == OWN_PROMPT:
            return replace(self.get(rubric_id, case_key=case_key, criterion=criterion), judge=judge)
        if rubric_id is None:
            return NO_RUBRIC
        items = self._of(rubric_id)
        item = items.get(case_key) or items.get("")
        if item is None:
            return NO_RUBRIC
        key = (item.pk, criterion)
        if key not in self._parts:
            labels = scale_of(tree_from_json(item.tree), criterion=criterion)
            self._parts[key] = RubricPart(item.pk, item.tree, part_json(item.tree, criterion), labels)
        return self._parts[key]

    def trees_of(self, rubric_id: int) -> list[JsonDict]:
        """Return all trees of a rubric."""
        return [item.tree for item in self._of(rubric_id).values()]

    def _of(self, rubric_id: int) -> dict[str, RubricItem]:
        if rubric_id not in self._items:
            rows = RubricItem.objects.filter(rubric=rubric_id).only("case_key", "tree")
            self._items[rubric_id] = {row.case_key: row for row in rows}
        return self._items[rubric_id]


def with_pairs(debates: QuerySet[Debate]) -> QuerySet[Debate]:
    """Join everything that `pair_facts` reads of a debate, without texts."""
    return debates.select_related(*PAIR_JOINS).defer(*PAIR_TEXTS)


def pair_facts(debate: Debate, parts: RubricParts) -> SubjectFacts:
    """Return the subject of the two responses of a debate of `with_pairs`."""
    owner = debate.debate_set
    return subject_facts(
        responses=[debate.response_a, debate.response_b],
        case=debate.case,
        part=parts.get(owner.rubric_id, case_key=debate.case.key, criterion=owner.criterion),
        criterion=owner.criterion,
        labels=PREFERENCE,
    )


def newest_rubric(slug: str) -> Rubric:
    """Return the newest version of a rubric."""
    return Rubric.objects.filter(slug=slug).order_by("-version")[0]


def first_cases(suite_id: int) -> dict[int, Case]:
    """Return a suite's cases by prompt; of several cases of one prompt the first. Their grading is not read."""
    links = SuiteCase.objects.filter(suite=suite_id).select_related("case").order_by("-position")
    links = links.only("case__prompt_id", "case__key", "case__reference", "case__scenario", "case__lang")
    return {link.case.prompt_id: link.case for link in links.iterator(CHUNK)}


def subjects_by_key(keys: Iterable[str]) -> dict[str, Subject]:
    """Return the stored subjects with these keys."""
    subjects = dict[str, Subject]()
    for some in chunks(dict.fromkeys(keys)):
        subjects |= {row.key: row for row in Subject.objects.filter(key__in=some)}
    return subjects
