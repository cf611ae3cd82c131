"""How far people are in the training round of a queue: items with known answers, explained at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.contrib.auth.models import User

from evalsite.review.blinding import QueueMode, Stage, Viewer, visible
from evalsite.review.models import GoldAnswer, PausedPerson, Queue, ReviewItem, TrainingAnswer
from evalsite.review.questions.forms import SWAPPED
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.selectors.labels.subjects import with_subjects, words_of_answers
from evalsite.review.selectors.screens.content import ItemContent, order_for, read_content, shown_text, swapped_for


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
