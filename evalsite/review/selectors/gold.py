"""Gold items of a queue, how people did on them and in its training round, and the guidelines they have read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q

from evalsite.base.formats import DiffPiece, merge
from evalsite.review.blinding import Stage, Viewer, visible
from evalsite.review.models import (
    Annotation,
    Assignment,
    GoldAnswer,
    GuidelinesReading,
    Look,
    PastGuidelines,
    PausedPerson,
    Queue,
    ReviewItem,
    TrainingAnswer,
)
from evalsite.review.questions.form_decisions import marks
from evalsite.review.questions.forms import SWAPPED
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.routing import GOLD_BLOCK, gold_place, uniform_number
from evalsite.review.selectors.content import ItemContent, order_for, read_content, shown_text, swapped_for
from evalsite.review.selectors.subjects import form_of_item, with_subjects, words_of_answers
from evalsite.review.states import FINAL, QueueMode
from judging.statistics.estimates import Estimate, wilson_share


@dataclass(slots=True)
class TrainingScore:
    """What one person answered; `total` is how many training items there are now."""

    person: User
    total: int
    answers: list[TrainingAnswer] = field(default_factory=list)
    pause: PausedPerson | None = None

    @property
    def answered(self) -> int:
        return len(self.answers)

    @property
    def right(self) -> int:
        return sum(answer.is_right for answer in self.answers)

    @property
    def is_done(self) -> bool:
        return self.answered >= self.total

    def is_below(self, mark: float) -> bool:
        """Whether fewer of all training items are right than the mark asks."""
        return self.right < mark * self.total - 1e-9


def training_scores(queue: Queue) -> list[TrainingScore]:
    """Return the score of each person who began the training round, by name."""
    scores: dict[int, TrainingScore] = {}
    answers = TrainingAnswer.objects.filter(gold__item__queue=queue, gold__is_training=True).select_related("person")
    for answer in answers.order_by("person__username", "pk"):
        scores.setdefault(answer.person_id, TrainingScore(answer.person, queue.training_count)).answers.append(answer)
    for pause in PausedPerson.objects.filter(queue=queue, resumed_at=None, in_training=True, person__in=scores):
        scores[pause.person_id].pause = pause
    return list(scores.values())


def training_of(queue: Queue, person: User) -> TrainingScore:
    """Return how far one person is in the training round."""
    answers = TrainingAnswer.objects.filter(gold__item__queue=queue, gold__is_training=True, person=person)
    pause = PausedPerson.objects.filter(queue=queue, person=person, resumed_at=None, in_training=True).first()
    return TrainingScore(person, queue.training_count, list(answers.select_related("gold").order_by("pk")), pause)


def next_training(queue: Queue, person: User) -> GoldAnswer | None:
    """Return the training item that a person has to answer now, in the order of the file; None once all are done.

    No query where a queue has none.
    """
    if not queue.training_count:
        return None
    known = GoldAnswer.objects.filter(item__queue=queue, is_training=True)
    return known.exclude(training_answers__person=person).order_by("item_id").first()


def order_of(item: ReviewItem, person: User) -> str:
    """Return in which order this person sees the responses of a training item; "" as the item has them."""
    if swapped_for(item=item, person_id=person.pk):
        return SWAPPED
    return order_for(item=item, person_id=person.pk)


@dataclass(frozen=True, slots=True)
class Feedback:
    """What is told of a training item once it is answered."""

    is_right: bool
    by_question: Mapping[str, bool]
    own_text: str
    known_text: str
    explanation: str


@dataclass(frozen=True, slots=True)
class TrainingPanel:
    """One training item as a person sees it; `feedback` once they have answered it."""

    item: ReviewItem
    content: ItemContent
    order: str
    feedback: Feedback | None


def read_training(known: GoldAnswer, person: User) -> TrainingPanel:
    """Return a training item as any other is shown to annotators, and what is right where they have answered it."""
    item = with_subjects(ReviewItem.objects.all()).get(pk=known.item_id)
    order = order_of(item, person)
    content = read_content(
        item=item, parts=visible(Viewer.ANNOTATOR, QueueMode.BLIND, Stage.BEFORE_ANSWER), order=order
    )
    answer = known.training_answers.filter(person=person).first()
    return TrainingPanel(
        item, content, order, None if answer is None else _feedback(item, content, order, known, answer)
    )


def _feedback(
    item: ReviewItem, content: ItemContent, order: str, known: GoldAnswer, answer: TrainingAnswer
) -> Feedback:
    labels = labels_from_json(item.subject.labels)
    places = {part.key: place for place, part in enumerate(content.form.parts)}  # a database keeps no order of keys

    def words(label: str, parts: Mapping[str, object]) -> str:
        if parts:
            return words_of_answers(content.form, parts, order=order)
        return shown_text(label, labels, swapped=order == SWAPPED)

    return Feedback(
        answer.is_right,
        dict(sorted(answer.by_question.items(), key=lambda entry: places.get(entry[0], len(places)))),
        words(answer.label, answer.parts),
        words(known.label, known.parts),
        known.explanation,
    )


def is_gold(item: ReviewItem) -> bool:
    """Return whether copies of an item are handed out, since its answers are known."""
    return hasattr(item, "gold")


@dataclass(slots=True)
class GoldScore:
    """What one person answered: a gold item is right where each question with a known answer is."""

    person: User
    right: int = 0
    answered: int = 0
    unable: int = 0  # gold items that they said they cannot judge: missing in every figure
    by_question: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    pause: PausedPerson | None = None

    @property
    def share(self) -> Estimate:
        """The share of right items, with Wilson's interval."""
        return wilson_share(self.right, self.answered)

    @property
    def questions(self) -> list[tuple[str, Estimate]]:
        """The same for each question."""
        return [(key, wilson_share(sum(rows), len(rows))) for key, rows in self.by_question.items()]

    def add(self, annotation: Annotation, known: GoldAnswer) -> None:
        """Count one annotation of a copy of a gold item."""
        if annotation.cannot_judge:
            self.unable += 1
            return
        found = marks(
            form_of_item(annotation.item),
            label=annotation.label,
            parts=annotation.parts,
            known_label=known.label,
            known_parts=known.parts,
            tolerance=known.tolerance,
        )
        for key, is_right in found.items():
            self.by_question[key].append(is_right)
        self.answered += bool(found)
        self.right += bool(found) and all(found.values())


def gold_scores(queue: Queue, *, person: User | None = None) -> list[GoldScore]:
    """Return the score of each person who was handed gold items, or of one; those with the lowest share first."""
    of_known = {"item__retest_of__gold__isnull": False, "item__retest_of__status__in": FINAL}
    answers = Annotation.objects.filter(queue=queue, **of_known).order_by("pk")
    if person is not None:
        answers = answers.filter(annotator=person)
    joined = ("annotator", "item__queue", "item__subject__rubric_item", "item__retest_of__gold")
    scores: dict[int, GoldScore] = {}
    resumptions = PausedPerson.objects.filter(queue=queue, resumed_at__isnull=False).order_by("resumed_at")
    resumed_at = dict(resumptions.values_list("person_id", "resumed_at"))
    for row in answers.select_related(*joined):
        since = resumed_at.get(row.annotator_id)
        known: GoldAnswer = row.item.retest_of.gold  # type: ignore[union-attr]  # the filter has only copies
        if since is None or row.created_at > since:
            scores.setdefault(row.annotator_id, GoldScore(row.annotator)).add(row, known)
    for pause in PausedPerson.objects.filter(queue=queue, resumed_at=None, person__in=scores):
        scores[pause.person_id].pause = pause
    return sorted(scores.values(), key=lambda score: (score.share.value or 0.0, score.person.username))


def gold_due(*, queue: Queue, person: User) -> ReviewItem | None:
    """Return the gold item that a person is to be handed a copy of now; None where none is due.

    Of each ten items that somebody is handed one at most is gold, at a drawn place, and none of the first ten: so
    however far they are, gold was never more than one in ten.
    """
    mine = Annotation.objects.filter(queue=queue, annotator=person)
    block, place = divmod(mine.count(), GOLD_BLOCK)
    if not block or place < gold_place(queue.pk, str(person.pk), block):
        return None
    newest = mine.order_by("-created_at", "-pk").values_list("item__retest_of__gold", flat=True)
    if any(gold is not None for gold in newest[:place]):
        return None
    ids = _unused_gold(queue, person)
    first = min(ids, key=lambda item_id: uniform_number("gold", item_id, person.pk), default=None)
    return None if first is None else ReviewItem.objects.get(pk=first)


def _unused_gold(queue: Queue, person: User) -> Iterable[int]:
    """Return the gold items that a person has not met in any way."""
    copies = ReviewItem.objects.filter(retest_of=OuterRef("item_id"), only_for=person)
    held = Assignment.objects.filter(item=OuterRef("item_id"), annotator=person)
    looks = Look.objects.filter(item=OuterRef("item_id"), person=person)
    rows = GoldAnswer.objects.filter(~Q(Exists(copies)), ~Q(Exists(held)), ~Q(Exists(looks)), item__queue=queue)
    rows = rows.filter(is_training=False, item__status__in=FINAL)
    return list(rows.values_list("item_id", flat=True))


@dataclass(frozen=True, slots=True)
class GuidelinesChange:
    """What changed in a queue's guidelines from one version to another."""

    queue: Queue
    before: PastGuidelines
    after: PastGuidelines
    pieces: tuple[DiffPiece, ...]
    unread_since: int | None = None  # what `unread_since` says of who asks


def versions_of(queue: Queue) -> list[PastGuidelines]:
    """Return each version of a queue's guidelines whose text is kept, the one that holds, and is no row, first."""
    now = PastGuidelines(queue=queue, version=queue.guidelines_version, text=queue.guidelines)
    return [now, *PastGuidelines.objects.filter(queue=queue).order_by("-version")]


def change_between(queue: Queue, before: int, after: int) -> GuidelinesChange:
    """Return what changed from one version to another; of one that was not kept, the next that was."""
    versions = versions_of(queue)[::-1]  # the oldest first
    first, second = (
        next(row for row in versions if row.version >= min(number, queue.guidelines_version))
        for number in (before, after)
    )
    return GuidelinesChange(queue, first, second, merge(first.text, second.text))


def unread_since(queue: Queue, person: User) -> int | None:
    """Return the version that a person annotated by, or confirmed, last where it no longer holds.

    None: they have nothing to read again. No query while the guidelines have never been changed.
    """
    read = 0 if queue.guidelines_version == 1 else _last_read(queue.pk, person.pk)
    return read if 0 < read < queue.guidelines_version else None


def version_behind(queue: Queue, claim: Assignment) -> int:
    """Return by which version an item is annotated: the one that held when its person took it, or that they have
    confirmed since. No query while the guidelines have never been changed.
    """
    if queue.guidelines_version == 1:
        return 1
    past = PastGuidelines.objects.filter(queue=queue, replaced_at__gt=claim.claimed_at).order_by("version")
    held = past.values_list("version", flat=True).first() or queue.guidelines_version
    return max(held, _confirmed(queue.pk, claim.annotator_id))


def _last_read(queue_id: int, person_id: int) -> int:
    mine = Annotation.objects.filter(queue=queue_id, annotator=person_id).order_by("-created_at", "-pk")
    return max(mine.values_list("guidelines_version", flat=True).first() or 0, _confirmed(queue_id, person_id))


def _confirmed(queue_id: int, person_id: int) -> int:
    readings = GuidelinesReading.objects.filter(queue=queue_id, person=person_id)
    return readings.values_list("version", flat=True).first() or 0
