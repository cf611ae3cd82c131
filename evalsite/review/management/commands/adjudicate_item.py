"""`adjudicate_item`: the items that people disagree on, and the final label of one."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.review.models import Annotation, ReviewItem
from evalsite.review.selectors.pages import items_to_adjudicate, question_of
from evalsite.review.services.looking import check_may_look, note_look
from evalsite.review.services.settling import FinalWord, adjudicate_item
from evalsite.review.states import ReviewRefused
from judging.management.base import BadInput, JsonCommand


class Command(JsonCommand):
    """Lists what Review: Adjudication lists, shows an item as its page does, and stores a person's final label."""

    help = (
        "List the items that people disagree on. With --item, show one with its annotations and their reasons; with"
        " --label or --adopt, store its final label (1 is side A, -1 side B as the item stores them)."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--queue", default="", metavar="SLUG", help="list the items of one queue only")
        parser.add_argument("--item", type=int, metavar="ID", help="item to adjudicate")
        word = parser.add_mutually_exclusive_group()
        word.add_argument("--label", help="final label")
        word.add_argument("--adopt", type=int, metavar="ID", help="annotation whose label becomes the final one")
        parser.add_argument("--reason", default="", help="stored beside the final label, and shown to the annotators")
        parser.add_argument("--by", default="", metavar="NAME", help="user name of the adjudicator")

    def run(self, **options: Any) -> dict[str, Any]:
        """Return the list, the item with its annotations, or the item with its final label."""
        if options["item"] is None:
            return {"items": [_listed(item) for item in items_to_adjudicate(queue_slug=options["queue"])]}
        person = User.objects.filter(username=options["by"], is_active=True).first()
        if person is None or not person.has_perm("review.adjudicate"):
            raise BadInput(f"{options['by']!r} is no active person who may adjudicate: name one with --by.")
        try:
            if options["label"] is None and options["adopt"] is None:
                return _shown(item_id=options["item"], person=person)
            word = _final_word(options)
            item = adjudicate_item(item_id=options["item"], adjudicator=person, word=word, at=timezone.now())
        except ReviewItem.DoesNotExist:
            raise BadInput(f"There is no item {options['item']}.") from None
        except ReviewRefused as refusal:
            raise BadInput(str(refusal)) from refusal
        return {"item": item.pk, "queue": item.queue.slug, "status": item.status, "label": item.label}

    def summary(self, result: dict[str, Any]) -> str:
        """Return one line for each item of a list."""
        if "items" not in result:
            return super().summary(result)
        lines = [
            f"{row['item']}  {row['queue']}  {', '.join(row['annotations'])}  {row['question']}"
            for row in result["items"]
        ]
        return "\n".join(lines) or "No item waits for adjudication."


def _listed(item: ReviewItem) -> dict[str, Any]:
    annotations = sorted(item.annotations.all(), key=lambda annotation: annotation.slot)
    return {
        "item": item.pk,
        "queue": item.queue.slug,
        "question": question_of(item),
        "annotations": [annotation.final_label for annotation in annotations],
    }


def _shown(*, item_id: int, person: User) -> dict[str, Any]:
    item = ReviewItem.objects.select_related("queue", "subject").get(pk=item_id)
    check_may_look(item=item, person=person)
    note_look(item=item, person=person, at=timezone.now(), saw_verdicts=False)
    return {
        "item": item.pk,
        "queue": item.queue.slug,
        "address": item.get_absolute_url(),
        "labels": {label["value"]: label["text"] for label in item.subject.labels},
        "annotations": [
            {"annotation": annotation.pk, "label": annotation.label, "reason": annotation.note}
            for annotation in item.annotations.order_by("slot", "pk")
        ],
    }


def _final_word(options: dict[str, Any]) -> FinalWord:
    if options["adopt"] is None:
        return FinalWord(options["label"], options["reason"])
    adopted = Annotation.objects.filter(item=options["item"], pk=options["adopt"]).first()
    if adopted is None:
        raise BadInput(f"Item {options['item']} has no annotation {options['adopt']}.")
    return FinalWord(adopted.label, options["reason"], adopted.pk)
