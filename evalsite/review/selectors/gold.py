"""How people answered the gold items of a queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q

from evalsite.review.models import Annotation, Assignment, GoldAnswer, Look, PausedPerson, Queue, ReviewItem
from evalsite.review.questions.gold_marks import is_below, marks
from evalsite.review.sampling import GOLD_BLOCK, gold_place, uniform_number
from evalsite.review.selectors.labels.subjects import form_of_item
from judging.statistics.estimates import Estimate
from judging.statistics.intervals import wilson_share


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
        self.answered += 1
        self.right += all(found.values())


def gold_scores(queue: Queue, *, person: User | None = None) -> list[GoldScore]:
    """Return the score of each person who was handed gold items, or of one; those with the lowest share first."""
    answers = Annotation.objects.filter(queue=queue, item__retest_of__gold__isnull=False).order_by("pk")
    if person is not None:
        answers = answers.filter(annotator=person)
    joined = ("annotator", "item__queue", "item__subject__rubric_item", "item__retest_of__gold")
    scores: dict[int, GoldScore] = {}
    resumed_at = _resumptions(queue)
    for row in answers.select_related(*joined):
        since = resumed_at.get(row.annotator_id)
        known: GoldAnswer = row.item.retest_of.gold  # type: ignore[union-attr]  # the filter has only copies
        if since is None or row.created_at > since:
            scores.setdefault(row.annotator_id, GoldScore(row.annotator)).add(row, known)
    for pause in PausedPerson.objects.filter(queue=queue, resumed_at=None, person__in=scores):
        scores[pause.person_id].pause = pause
    return sorted(scores.values(), key=lambda score: (score.share.value or 0.0, score.person.username))


def _resumptions(queue: Queue) -> dict[int, Any]:
    rows = PausedPerson.objects.filter(queue=queue, resumed_at__isnull=False).order_by("resumed_at")
    return dict(rows.values_list("person_id", "resumed_at"))


def is_too_low(score: GoldScore, *, mark: float) -> bool:
    """Return whether a person answered too few gold items right to go on."""
    return is_below(score.right, score.answered, mark=mark)


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
    rows = rows.filter(is_training=False)
    return list(rows.values_list("item_id", flat=True))
