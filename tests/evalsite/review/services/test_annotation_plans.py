"""What of a file of answers may come in: no overwriting, no answer too many, nobody unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.review.models import Annotation, ReviewItem
from evalsite.review.states import ItemStatus
from evalsite.review.tables.annotations import AnnotationFile
from tests import factories
from tests.evalsite.review.exchanged import answer, bring, busy_queue, emptied, exported, read, refusal_of
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def test_an_item_with_another_hash_is_refused_by_name() -> None:
    queue = busy_queue()
    file = read(exported(queue, "csv"))
    first = file.items[0]
    changed = replace(first, facts=replace(first.facts, item_hash="f" * 64))
    gone = replace(file.items[1], facts=replace(file.items[1].facts, item=999_999, item_hash="e" * 64))
    emptied(queue)

    problems = refusal_of(queue, AnnotationFile("a.csv", (changed, gone)))

    here = queue.items.get(pk=first.facts.item)
    case = first.facts.case
    assert problems == [
        f"line 2: Item {here.pk} ({case}) has different content on this site: its hash begins with "
        f"{here.content_hash[:12]}, in the file with ffffffffffff.",
        # the first item has two rows, of which a note fills several lines
        f"{gone.location}: Item 999999 ({gone.facts.case}) is not in this queue.",
    ]


def test_nothing_here_is_overwritten() -> None:
    queue = busy_queue()
    file = read(exported(queue, "csv"))
    queue.annotations.filter(annotator__username="bob", label="1").update(note="changed since")
    emptied_one = queue.annotations.get(item__status=ItemStatus.STALE)
    Annotation.objects.filter(pk=emptied_one.pk).delete()

    problems = refusal_of(queue, file)

    item = file.items[0].facts
    assert [line.partition(": ")[2] for line in problems] == [
        f"{item.name} already has another note by bob; nothing is overwritten."
    ]


def test_the_quorum_is_never_exceeded() -> None:
    queue = factories.queue(quorum=2)
    item = factories.review_item(queue=queue)
    people = [factories.user(f"p{n}", Role.ANNOTATOR) for n in range(4)]
    for person in people[:2]:
        answer(item, person, "1")
    file = read(exported(queue, "csv"))
    emptied(queue)
    for person in people[2:]:
        answer(ReviewItem.objects.get(pk=item.pk), person, "0")

    problems = refusal_of(queue, file)

    assert problems == [f"line 3: {file.items[0].facts.name} would have 4 annotations; its quorum is 2."]


def test_answers_of_file_and_queue_settle_an_item_together_in_free_slots() -> None:
    queue = factories.queue(quorum=2)
    item = factories.review_item(queue=queue)
    ada, bob = (factories.user(name, Role.ANNOTATOR) for name in ("ada", "bob"))
    answer(item, ada, "1")
    file = read(exported(queue, "csv"))
    emptied(queue)
    answer(ReviewItem.objects.get(pk=item.pk), bob, "1")

    bring(queue, file)

    item.refresh_from_db()
    assert (item.status, item.label, item.answer_count, item.decided_at) == (ItemStatus.DECIDED, "1", 2, NOON)
    assert dict(item.annotations.values_list("annotator__username", "slot")) == {"bob": 0, "ada": 1}
    assert bring(queue, file).is_empty


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"final_label": "-1"}, "cannot be 'settled' with the label '-1': its annotations and adjudication"),
        ({"status": "adjudicated"}, "cannot be 'adjudicated' with the label '1': its annotations and adjudication"),
        ({"status": "open", "final_label": ""}, "cannot be 'open' with the label '': its annotations"),
        ({"quorum": 21}, "has a quorum of 21; the maximum is 20."),
        ({"final_label": "9"}, "The label '9' is not on the scale of"),
    ],
)
def test_a_state_that_the_answers_do_not_bear_is_refused(changes: dict[str, Any], sentence: str) -> None:
    queue = factories.queue(quorum=1)
    answer(factories.review_item(queue=queue), factories.user("ada"), "1")
    file = read(exported(queue, "csv"))
    only = file.items[0]
    emptied(queue)

    problems = refusal_of(queue, AnnotationFile("a.csv", (replace(only, facts=replace(only.facts, **changes)),)))

    assert any(sentence in line for line in problems)


def test_unknown_people_are_told_mapped_or_added_switched_off() -> None:
    queue = busy_queue()
    file = read(exported(queue, "csv"))
    emptied(queue)
    User.objects.filter(username="eve").update(username="eva")
    AuditEntry.objects.all().delete()
    User.objects.filter(username="bob").update(username="rob")

    problems = refusal_of(queue, file)
    half = refusal_of(queue, file, names={"eve": "eva", "bob": "nobody"})
    imported = bring(queue, file, names={"eve": "eva"}, create=True)

    assert [line.partition(": ")[2] for line in problems] == [
        "There is no account 'bob'.",
        "There is no account 'eve'.",
    ]
    assert [line.partition(": ")[2] for line in half] == ["There is no account 'nobody'."]
    bob = User.objects.get(username="bob")
    assert imported.unknown == ("bob",)
    assert (bob.is_active, bob.has_usable_password(), list(bob.groups.all())) == (False, False, [])
    assert set(queue.assignments.values_list("annotator__username", flat=True)) == {"ada", "bob", "eva"}
    assert AuditEntry.objects.filter(action="person.created", subject="bob").count() == 1
    assert bring(queue, file, names={"eve": "eva"}).is_empty


def test_two_people_of_a_file_cannot_be_one_person_here() -> None:
    queue = busy_queue()
    file = read(exported(queue, "csv"))
    emptied(queue)
    User.objects.filter(username="bob").update(username="rob")

    problems = refusal_of(queue, file, names={"bob": "ada"})

    assert f"Two people of the file map to ada on {file.items[0].facts.name}." in problems[0]
