"""`adjudicate_item`: the items that people disagree on, and the final label of one."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.review.models import Annotation, ReviewItem
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.selectors.labels.subjects import form_of_item
from evalsite.review.selectors.screens.content import in_order
from evalsite.review.selectors.screens.pages import items_to_adjudicate, question_of
from evalsite.review.services.items.decisions import FinalWord, adjudicate_item
from evalsite.review.services.items.looks import check_may_look, note_look
from evalsite.review.states import ReviewRefused


class Command(JsonCommand):
    """Lists what Review: Adjudication lists, shows an item as its page does, and stores a person's final label."""

    help = (
        "List the items on which annotators disagree. With --item, show one with its annotations and their reasons;"
        " with --label or --adopt, store its final label (1 is side A, -1 side B as the item stores them); with"
        " --part, each part of its form."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--queue", default="", metavar="SLUG", help="list the items of one queue only")
        parser.add_argument("--item", type=int, metavar="ID", help="item to adjudicate")
        word = parser.add_mutually_exclusive_group()
        word.add_argument("--label", help="final label")
        word.add_argument("--adopt", type=int, metavar="ID", help="annotation whose label becomes the final one")
        parser.add_argument(
            "--part",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="value of one part of the item's form (met, not met, or one of its scale); once for each part",
        )
        parser.add_argument(
            "--reason", default="", help="reason, stored with the final label and shown to the annotators"
        )
        parser.add_argument("--by", default="", metavar="NAME", help="user name of the adjudicator")

    def run(self, **options: Any) -> JsonDict:
        """Return the list, the item with its annotations, or the item with its final label."""
        if options["item"] is None:
            return {"items": [_listed(item) for item in items_to_adjudicate(queue_slug=options["queue"])]}
        person = User.objects.filter(username=options["by"], is_active=True).first()
        if person is None or not person.has_perm("review.adjudicate"):
            raise BadInput(f"{options['by']!r} is not an active person who can adjudicate; name one with --by.")
        try:
            if options["label"] is None and options["adopt"] is None and not options["part"]:
                return _shown(item_id=options["item"], person=person)
            word = _final_word(options)
            item = adjudicate_item(item_id=options["item"], adjudicator=person, word=word, at=timezone.now())
        except ReviewItem.DoesNotExist:
            raise BadInput(f"There is no item {options['item']}.") from None
        except ReviewRefused as refusal:
            raise BadInput(str(refusal)) from refusal
        return {"item": item.pk, "queue": item.queue.slug, "status": item.status, "label": item.label}

    def summary(self, result: JsonDict) -> str:
        """Return one line for each item of a list."""
        if "items" not in result:
            return super().summary(result)
        lines = [
            f"{row['item']}  {row['queue']}  {', '.join(row['annotations'])}  {row['question']}"
            for row in result["items"]
        ]
        return "\n".join(lines) or "No item waits for adjudication."


def _listed(item: ReviewItem) -> JsonDict:
    return {
        "item": item.pk,
        "queue": item.queue.slug,
        "question": question_of(item),
        "annotations": [
            f"cannot judge: {annotation.cannot_judge}" if annotation.cannot_judge else annotation.final_label
            for annotation in in_order(item.annotations.all())
        ],
    }


def _shown(*, item_id: int, person: User) -> JsonDict:
    item = ReviewItem.objects.select_related("queue", "subject__rubric_item").get(pk=item_id)
    check_may_look(item=item, person=person)
    note_look(item=item, person=person, at=timezone.now(), saw_verdicts=False)
    return {
        "item": item.pk,
        "queue": item.queue.slug,
        "address": item.get_absolute_url(),
        "labels": {label.value: label.text for label in labels_from_json(item.subject.labels)},
        **_parts(item),
        "annotations": [_annotation(annotation) for annotation in in_order(item.annotations.all())],
    }


def _annotation(annotation: Annotation) -> JsonDict:
    if annotation.cannot_judge:
        return {"annotation": annotation.pk, "cannot_judge": annotation.cannot_judge}
    parts = {"parts": annotation.parts} if annotation.parts else {}
    return {"annotation": annotation.pk, "label": annotation.label, **parts, "reason": annotation.note}


def _parts(item: ReviewItem) -> JsonDict:
    """Return the values that each part of an item's form takes, none for a number; nothing without parts."""
    form = form_of_item(item)
    if form is None:
        return {}
    return {"parts": {part.key: [choice.value for choice in part.choices] for part in form.parts}}


def _final_word(options: JsonDict) -> FinalWord:
    if options["part"]:
        said = dict(text.rpartition("=")[::2] for text in options["part"])
        return FinalWord("", options["reason"], parts=said)
    if options["adopt"] is None:
        return FinalWord(options["label"], options["reason"])
    adopted = Annotation.objects.filter(item=options["item"], pk=options["adopt"]).exclude(label="").first()
    if adopted is None:
        raise BadInput(f"Item {options['item']} has no annotation {options['adopt']}.")
    return FinalWord(adopted.label, options["reason"], adopted.pk)
