"""The training round of a queue: explained at once, never data, and a pass mark before the first item."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.review.models import (
    Adjudication,
    Annotation,
    FinalLabel,
    GoldAnswer,
    Notice,
    PausedPerson,
    Queue,
    ReviewItem,
    TrainingAnswer,
)
from evalsite.review.questions.forms import LABEL
from evalsite.review.selectors.annotation_exports import annotations_table
from evalsite.review.selectors.gold import next_training, training_of
from evalsite.review.selectors.waiting_items import read_waiting, standing_of
from evalsite.review.services.claims import NoItemAvailable, TrainingFirst, claim_next
from evalsite.review.services.decisions import reopen_item
from evalsite.review.services.gold import GoldColumn, drop_gold, record_training, take_gold
from evalsite.review.states import ReviewRefused
from tests import factories
from tests.evalsite.review.test_gold_items import SCALE, annotate, right, sheet
from tests.evalsite.review.views.clients import signed_in
from tests.factories import NOON

pytestmark = pytest.mark.django_db
UNTRAINED = "You did not pass the training of this queue. Its owner has been told, and may let you try again."


def made(*, items: int = 12, training: int = 4, quorum: int = 2) -> tuple[Client, Queue]:
    """Return the client of the lead and a queue whose last items are its training round."""
    lea, _ = signed_in("lea", Role.RESEARCHER)
    values = {"quorum": str(quorum), "mode": "blind", "order": "given", "scale": ", ".join(SCALE)}
    contents = sheet(items, gold=training)
    lea.post(reverse("review:queue-create"), {"file": SimpleUploadedFile("a.csv", contents)} | values)
    queue = Queue.objects.get()
    entered = {"column": "gold_label", "explained_by": "gold_why", "is_training": "on"}
    lea.post(reverse("act", args=["queue", queue.pk, "take-gold"]), entered)
    queue.refresh_from_db()
    return lea, queue


def known_of(item_id: int) -> str:
    return GoldAnswer.objects.get(item=item_id).label


def train(queue: Queue, person: User, *, right: int) -> None:
    """Answer what is left of the round: so many right, the rest wrong."""
    for number in range(queue.training_count):
        known = next_training(queue, person)
        assert known is not None
        label = known.label if number < right else next(word for word in SCALE if word != known.label)
        record_training(queue=queue, item_id=known.item_id, person=person, parts={LABEL: label}, at=NOON)


def test_training_items_leave_the_queue_its_totals_and_its_figures() -> None:
    lea, queue = made()
    ada = factories.user("ada", Role.ANNOTATOR)

    train(queue, ada, right=4)

    assert (queue.training_count, queue.gold_count, queue.total_count, queue.open_count) == (4, 0, 8, 8)
    assert (standing_of(queue=queue, user=ada).progress.total, read_waiting(ada)[0]) == (8, 8)
    assert not FinalLabel.objects.exists()
    assert not Adjudication.objects.exists()
    assert not Annotation.objects.exists()
    assert list(annotations_table(queue).rows) == []
    page = " ".join(lea.get(queue.get_absolute_url()).text.split())
    assert "4 items that everybody answers first; no data. Pass mark 70%" in page
    assert "4 of 4" in page
    assert "let on to the items" in page


def test_nobody_is_handed_an_item_before_the_round_is_done() -> None:
    _, queue = made()
    client, ada = signed_in("ada")

    with pytest.raises(TrainingFirst):
        claim_next(queue=queue, annotator=ada, at=NOON)
    answer = client.post(reverse("review:item-next", args=[queue.slug]))
    swapped = client.post(reverse("review:item-next", args=[queue.slug]), headers={"HX-Request": "true"})
    train(queue, ada, right=4)

    url = reverse("review:training", args=[queue.slug])
    assert (answer["Location"], swapped["HX-Redirect"]) == (url, url)
    assert not GoldAnswer.objects.filter(item=claim_next(queue=queue, annotator=ada, at=NOON).item_id).exists()


def test_what_is_right_and_why_is_told_after_the_answer_and_not_before() -> None:
    _, queue = made()
    client, ada = signed_in("ada")
    url = reverse("review:training", args=[queue.slug])

    before = client.get(url).text
    item = ReviewItem.objects.get(pk=next_training(queue, ada).item_id)  # type: ignore[union-attr]
    wrong = next(word for word in SCALE if word != known_of(item.pk))
    done = client.post(url, {"item": item.address, "part-label": wrong}, follow=True)
    after = " ".join(done.text.split())

    assert "Training item 1 of 4" in before
    assert "It says so" not in before
    assert f'What is right</dt> <dd dir="auto"> {known_of(item.pk)} </dd>' in after
    assert "Not right" in after
    assert "It says so." in after
    assert "Training: 1 of 4 answered" in after
    assert "Training item 2 of 4" in client.get(url).text


def test_an_answer_is_given_once_and_only_of_the_round() -> None:
    _, queue = made()
    client, ada = signed_in("ada")
    url, first = reverse("review:training", args=[queue.slug]), next_training(queue, ada)
    assert first is not None
    other = queue.items.filter(status="open").first()
    assert other is not None

    def said(item: ReviewItem, label: str) -> str:
        return client.post(url, {"item": item.address, "part-label": label}, follow=True).text

    assert "is not on this item" in said(first.item, "no such label")
    assert "This is not a training item of the queue." in said(other, "bad")
    said(first.item, "bad")
    assert "You have already answered this training item." in said(first.item, "bad")
    assert TrainingAnswer.objects.count() == 1


def test_who_is_below_the_mark_is_not_let_on_and_may_be_let_to_try_again() -> None:
    lea, queue = made()
    client, zoe = signed_in("zoe")

    train(queue, zoe, right=2)
    pause, notice = PausedPerson.objects.get(), Notice.objects.get(person__username="lea")
    with pytest.raises(NoItemAvailable) as refusal:
        claim_next(queue=queue, annotator=zoe, at=NOON)
    shown = client.get(reverse("review:training", args=[queue.slug])).text
    said = lea.post(
        reverse("act", args=["queue", queue.pk, "train-again"]), {"person": zoe.pk, "reason": "Read the guidelines"}
    )
    once_more = training_of(queue, zoe)
    train(queue, zoe, right=3)

    assert (pause.in_training, pause.right, pause.answered, notice.detail) == (
        *(True, 2, 4),
        "zoe: 2 of 4 training items right",
    )
    assert str(refusal.value) == UNTRAINED
    assert "2 of 4 are right; the mark is 70%." in shown
    assert (said.status_code, once_more.answered, once_more.pause) == (302, 0, None)
    assert claim_next(queue=queue, annotator=zoe, at=NOON).item.status == "open"


@pytest.mark.parametrize(("mark", "right", "is_let_on"), [(0.75, 3, True), (0.76, 3, False), (0.0, 0, True)])
def test_the_mark_is_a_share_of_all_training_items(mark: float, right: int, is_let_on: bool) -> None:
    _, queue = made()
    queue.training_mark = mark
    queue.save()
    ada = factories.user("ada", Role.ANNOTATOR)

    train(queue, ada, right=right)

    assert PausedPerson.objects.exists() is not is_let_on


def test_a_lead_hands_no_items_to_who_is_not_trained() -> None:
    lea, queue = made()
    ada = factories.user("ada", Role.ANNOTATOR)
    item = queue.items.filter(status="open").first()
    assert item is not None

    said = lea.post(reverse("review:item-give", args=[item.pk]), {"person": ada.pk, "reason": "She knows it"}).text

    assert "This person has not finished the training round of the queue." in said


def test_a_training_item_comes_back_to_the_queue_only_once_nobody_trains_on_it() -> None:
    _, queue = made()
    item = GoldAnswer.objects.earliest("pk").item
    again: Any = {"item_id": item.pk, "actor": None}

    with pytest.raises(ReviewRefused, match="This item is in the training round"):
        reopen_item(**again, reason="real", at=NOON)
    drop_gold(**again)
    reopen_item(**again, reason="real", at=NOON)

    queue.refresh_from_db()
    assert (queue.training_count, queue.total_count, queue.open_count) == (3, 9, 9)


def test_gold_that_is_strewn_in_is_never_a_training_item() -> None:
    _, queue = made(items=40, training=0)
    Queue.objects.update(retest_share=0.0)
    rows: Any = list(queue.items.select_related("material").order_by("pk")[:12])
    for row in rows:
        row.material.details = {"known": "bad"}
        row.material.save()
    wanted = GoldColumn("known", "", 0.0, is_training=False)
    lead = User.objects.get(username="lea")
    for row in rows[6:]:
        row.material.details = {"trains": "bad"}
        row.material.save()
    take_gold(queue=queue, wanted=wanted, actor=lead, at=NOON)
    take_gold(queue=queue, wanted=GoldColumn("trains", "", 0.0, is_training=True), actor=lead, at=NOON)
    queue.refresh_from_db()
    ada = factories.user("ada", Role.ANNOTATOR)
    train(queue, ada, right=6)

    copies = [item.retest_of_id for item in annotate(queue, ada, right) if item.retest_of_id is not None]

    strewn = set(GoldAnswer.objects.filter(is_training=False).values_list("item_id", flat=True))
    assert (queue.gold_count, queue.training_count) == (6, 6)
    assert copies
    assert set(copies) <= strewn


def test_training_of_a_form_marks_each_question() -> None:
    lea, _ = signed_in("lea", Role.RESEARCHER)
    questions = (
        "{key: topic, ask: Topic?, kind: choice, options: [bill, tech]}",
        "{key: use, ask: Use?, kind: number}",
    )
    form = "".join(f"- {question}\n" for question in questions)
    table = b"id,question,response,g.topic,g.use\n1,Q1?,R1,bill,4\n2,Q2?,R2,,\n"
    values = {"quorum": "1", "mode": "blind", "order": "given", "form": form}
    lea.post(reverse("review:queue-create"), {"file": SimpleUploadedFile("a.csv", table)} | values)
    queue = Queue.objects.get()
    lead = User.objects.get(username="lea")
    take_gold(queue=queue, wanted=GoldColumn("g", "", 1.0, is_training=True), actor=lead, at=NOON)
    queue.refresh_from_db()
    client, ada = signed_in("ada")
    known = next_training(queue, ada)
    assert known is not None

    with pytest.raises(ReviewRefused):
        record_training(queue=queue, item_id=known.item_id, person=ada, parts={"topic": "bill"}, at=NOON)
    page = client.post(
        reverse("review:training", args=[queue.slug]),
        {"item": known.item.address, "part-topic": "tech", "part-use": "5"},
        follow=True,
    ).text

    assert TrainingAnswer.objects.get().by_question == {"topic": False, "use": True}
    assert "topic: not right; use: right" in page
