"""What command lines of this app name: queues, items and people, found or refused with what there is."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.core.management.base import CommandParser

from evalsite.base.command_base import BadInput
from evalsite.base.http import whole_number
from evalsite.review.addresses import number_at
from evalsite.review.models import Queue, ReviewItem
from evalsite.review.questions.scales import words_of

SHOWN = 20  # names listed in a refusal


def add_parts(parser: CommandParser) -> None:
    """Add the argument that gives the parts of an item's form their values."""
    parser.add_argument(
        "--part",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="value of one part of the item's form (met, not met, or one of its scale); once for each part",
    )


def part_texts(texts: Iterable[str]) -> dict[str, str]:
    """Return the values of parts by key."""
    return dict(text.rpartition("=")[::2] for text in texts)


def queue_of(slug: str) -> Queue:
    """Return a queue by its slug."""
    queue = Queue.objects.filter(slug=slug).first()
    if queue is None:
        slugs = ", ".join(Queue.objects.order_by("slug").values_list("slug", flat=True)[:SHOWN]) or "none"
        raise BadInput(f"There is no queue {slug!r}. There are: {slugs}.")
    return queue


def item_of(reference: str) -> ReviewItem:
    """Return an item, with its queue, by its number or by what stands for it in the address of its page."""
    number = whole_number(reference)
    try:
        matching = ReviewItem.objects.select_related("queue").filter(
            pk=number_at(reference) if number is None else number
        )
    except ValueError:
        matching = ReviewItem.objects.none()
    item = matching.first()
    if item is None:
        raise BadInput(f"There is no item {reference}.")
    return item


def item_ids(references: str) -> list[int]:
    """Return the numbers of the items in a list separated by commas."""
    return [item_of(word).pk for word in words_of(references)]


def people_named(usernames: str) -> list[User]:
    """Return active people by user name, from a list separated by commas."""
    names = words_of(usernames)
    people = list(User.objects.filter(username__in=names, is_active=True))
    unknown = sorted(set(names) - {person.username for person in people})
    if unknown:
        raise BadInput(f"There is no active person called {unknown[0]!r}.")
    return people


def person_named(name: str) -> User:
    """Return a person by user name, also one who may no longer sign in."""
    person = User.objects.filter(username=name).first()
    if person is None:
        raise BadInput(f"There is no person {name!r}.")
    return person
