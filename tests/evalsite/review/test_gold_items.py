"""Gold items: strewn in unnoticed, scored by person, and what becomes of people who answer too few of them right."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.reports.selectors.annotations import errors_of_queue
from evalsite.reports.services.people import compute_agreement
from evalsite.review.models import Annotation, GoldAnswer, Notice, PausedPerson, Queue, ReviewItem
from evalsite.review.selectors.gold import gold_scores
from evalsite.review.selectors.waiting_items import standing_of
from evalsite.review.services.annotation_store import GivenAnnotation, record_annotation
from evalsite.review.services.claims import NoItemAvailable, claim_next, hand_items
from evalsite.review.services.decisions import FinalWord, adjudicate_item, exclude_item, reopen_item
from evalsite.review.states import ItemStatus, LabelsOf
from tests import factories
from tests.evalsite.api.doors import api_client
from tests.evalsite.review.views.clients import signed_in
from tests.factories import NOON

pytestmark = pytest.mark.django_db
PAUSED = "Your work in this queue is paused. Its owner has been told, and decides how it goes on."
SCALE = ("bad", "fair", "good")
Answers = Callable[[str], str]


def sheet(items: int, *, gold: int) -> bytes:
    """Return a file of single responses; those at the end have the answer in a column."""
    lines = ["id,question,response,gold_label,gold_why"]
    for number in range(items):
        known = (SCALE[number % 3], "It says so.") if number >= items - gold else ("", "")
        lines.append(f"i{number},Question {number}?,Response {number}.,{known[0]},{known[1]}")
    return "\n".join(lines).encode()


def made(items: int, *, gold: int, quorum: int = 2) -> tuple[Client, Queue]:
    """Return the client of the lead and a queue whose gold items were taken from the file."""
    lea, _ = signed_in("lea", Role.RESEARCHER)
    values = {"quorum": str(quorum), "mode": "blind", "order": "given", "scale": ", ".join(SCALE)}
    lea.post(reverse("review:queue-create"), {"file": SimpleUploadedFile("a.csv", sheet(items, gold=gold))} | values)
    queue = Queue.objects.get()
    Queue.objects.update(retest_share=0.0)
    if gold:
        lea.post(
            reverse("act", args=["queue", queue.pk, "take-gold"]), {"column": "gold_label", "explained_by": "gold_why"}
        )
    queue.refresh_from_db()
    return lea, queue


def truth(item: ReviewItem) -> str:
    return SCALE[int(item.material.key[1:]) % 3]  # type: ignore[union-attr]


def annotate(queue: Queue, person: User, answer: Answers) -> Iterator[ReviewItem]:
    """Yield each item that somebody is handed, answered."""
    while True:
        queue.refresh_from_db()
        try:
            claim = claim_next(queue=queue, annotator=person, at=NOON)
        except NoItemAvailable:
            return
        item = ReviewItem.objects.select_related("material").get(pk=claim.item_id)
        given = GivenAnnotation(label=answer(truth(item)))
        record_annotation(item_id=item.pk, annotator=person, token=str(claim.token), answer=given, at=NOON)
        yield item


def right(label: str) -> str:
    return label


def lazy(_label: str) -> str:
    return "bad"


def test_answers_of_a_column_become_gold_items_that_nobody_is_asked_about() -> None:
    lea, queue = made(9, gold=3)

    page = " ".join(lea.get(queue.get_absolute_url()).text.split())

    gold = {row.item.material.key: (row.label, row.item.status, row.explanation) for row in GoldAnswer.objects.all()}  # type: ignore[union-attr]
    assert gold == {f"i{n}": (SCALE[n % 3], "adjudicated", "It says so.") for n in (6, 7, 8)}
    assert (queue.gold_count, queue.open_count, queue.total_count) == (3, 6, 9)
    assert "3 with a known answer; one item in ten at most is a copy of one. Pass mark 70%" in page


def test_a_column_without_answers_is_refused_by_name() -> None:
    lea, queue = made(3, gold=0)

    said = lea.post(reverse("act", args=["queue", queue.pk, "take-gold"]), {"column": "nowhere"}).text

    assert (
        "No open item of this queue has an answer in a column “nowhere”. The columns kept with its items are: " in said
    )
    assert "A column that was read as something else, such as the reference answer, is not among them" in said
    assert not GoldAnswer.objects.exists()


def test_who_is_not_paused_is_refused_as_such() -> None:
    _, queue = made(3, gold=0)
    factories.user("zoe", Role.ANNOTATOR)
    api = api_client(factories.user("rita", Role.ADMIN))

    refused = api.post(
        f"/api/v1/queues/{queue.pk}/resolve-person",
        {"person": "zoe", "labels": "kept", "resumes": True, "reason": "x"},
        content_type="application/json",
    )

    assert refused.json()["errors"]["person"] == ["There is no paused person “zoe”. There are none yet."]


def test_gold_is_never_more_than_one_in_ten_nor_told_by_the_total() -> None:
    _, queue = made(80, gold=20)
    places, totals = {}, []
    for name in ("ada", "ben"):
        person = factories.user(name, Role.ANNOTATOR)
        handed = []
        for item in annotate(queue, person, right):
            handed.append(item.retest_of_id is not None)
            totals.append(standing_of(queue=queue, user=person).progress.total)
        places[name] = [place for place, is_gold in enumerate(handed, start=1) if is_gold]
        assert all(sum(handed[:n]) <= n / 10 for n in range(1, len(handed) + 1))

    assert {len(rows) for rows in places.values()} <= {5, 6}  # of sixty items and themselves
    assert places["ada"] != places["ben"]
    assert set(totals[:50]) == {totals[0]}  # it stays the same as gold items come


def test_a_copy_reads_as_any_other_item() -> None:
    _, queue = made(30, gold=9)
    client, ada = signed_in("ada")
    pages = {}
    for item in annotate(queue, ada, right):
        page = client.get(reverse("review:item-detail", args=[item.pk])).text
        pages[item.retest_of_id is not None] = page.replace(item.address, "").replace(item.material.key[1:], "")  # type: ignore[union-attr]

    assert sorted(pages) == [False, True]
    for word in ("gold", "Gold", "retest", "It says so"):
        assert word not in pages[True]


def test_a_person_below_the_mark_is_paused_their_work_goes_back_and_the_lead_is_told() -> None:
    _, queue = made(200, gold=20)
    zoe = factories.user("zoe", Role.ANNOTATOR)

    handed = list(annotate(queue, zoe, lazy))

    pause = PausedPerson.objects.get()
    notice = Notice.objects.get(person__username="lea")
    with pytest.raises(NoItemAvailable) as refusal:
        claim_next(queue=queue, annotator=zoe, at=NOON)
    assert (pause.person, pause.labels) == (zoe, LabelsOf.UNDECIDED)
    assert 100 < len(handed) < 180  # the tenth gold item is one of the eleventh ten
    assert pause.answered == sum(item.retest_of_id is not None for item in handed)
    assert notice.detail == f"zoe: {pause.right} of {pause.answered} gold items right"
    assert str(refusal.value) == PAUSED
    assert not queue.assignments.filter(annotator=zoe, status="leased").exists()


def test_gold_is_strewn_in_among_assigned_items_and_what_was_begun_comes_first() -> None:
    _, queue = made(45, gold=5)
    ada = factories.user("ada", Role.ANNOTATOR)
    begun = claim_next(queue=queue, annotator=ada, at=NOON)
    ids = list(ReviewItem.objects.filter(queue=queue, status=ItemStatus.OPEN).values_list("pk", flat=True))
    chosen = [pk for pk in ids if pk != begun.item_id][-30:]
    hand_items(queue=queue, item_ids=chosen, person=ada, actor=None, reason="her field", at=NOON)

    handed = list(islice(annotate(queue, ada, right), 30))

    gold = [n // 10 for n, item in enumerate(handed) if item.retest_of_id is not None]
    assert (handed[0].pk, gold) == (begun.item_id, [1, 2])
    assert [item.pk for item in handed[1:] if item.retest_of_id is None] == sorted(chosen)[:27]


def test_labels_are_left_in_left_out_or_asked_again_by_one_act() -> None:
    lea, queue = made(200, gold=20, quorum=1)
    zoe = factories.user("zoe", Role.ANNOTATOR)
    n = sum(item.retest_of_id is None for item in annotate(queue, zoe, lazy))
    url = reverse("act", args=["queue", queue.pk, "resolve-person"])

    def resolve(labels: str, **more: str) -> tuple[int, int]:
        lea.post(url, {"person": zoe.pk, "labels": labels, "reason": "Always bad"} | more)
        queue.refresh_from_db()
        return queue.open_count, Annotation.objects.filter(left_out_at__isnull=False).count()

    kept = resolve("left-in")
    again = resolve("asked-again", resumes="on")

    assert kept == (180 - n, 0)
    assert again == (180, n)
    assert not PausedPerson.objects.filter(resumed_at=None).exists()
    assert gold_scores(queue) == []  # what they answered before they went on counts no more
    assert claim_next(queue=queue, annotator=zoe, at=NOON).item.status == ItemStatus.OPEN


def test_left_out_labels_decide_nothing_and_their_items_need_one_less() -> None:
    lea, queue = made(200, gold=20, quorum=2)
    zoe, ada = (factories.user(name, Role.ANNOTATOR) for name in ("zoe", "ada"))
    list(annotate(queue, zoe, lazy))
    list(annotate(queue, ada, right))
    disputed = ReviewItem.objects.filter(queue=queue, status=ItemStatus.NEEDS_ADJUDICATION).count()

    lea.post(
        reverse("act", args=["queue", queue.pk, "resolve-person"]),
        {"person": zoe.pk, "labels": "left-out", "reason": "Always bad"},
    )

    touched = ReviewItem.objects.filter(annotations__annotator=zoe, retest_of=None)
    assert disputed > 50
    assert not ReviewItem.objects.filter(queue=queue, status=ItemStatus.NEEDS_ADJUDICATION).exists()
    assert {(item.status, item.quorum, item.label == truth(item)) for item in touched} == {("settled", 1, True)}


@pytest.mark.django_db(transaction=True, reset_sequences=True)  # the places of gold items are drawn from the ids
def test_a_workshop_names_and_pauses_the_two_who_do_not_work_and_asks_their_items_again() -> None:
    lea, queue = made(200, gold=20, quorum=3)
    draw = random.Random(31)

    def good(label: str) -> str:
        return label if draw.random() < 0.92 else draw.choice(SCALE)

    def dice(_label: str) -> str:
        return draw.choice(SCALE)

    people: dict[str, Answers] = {"ada": good, "ben": good, "cem": good, "rex": dice, "zoe": lazy}
    users = {name: factories.user(name, Role.ANNOTATOR) for name in people}
    work = {name: annotate(queue, users[name], answer) for name, answer in people.items()}
    _in_turns(work)
    paused = list(PausedPerson.objects.order_by("person__username").values_list("person__username", flat=True))
    for name in paused:
        lea.post(
            reverse("act", args=["queue", queue.pk, "resolve-person"]),
            {"person": users[name].pk, "labels": "asked-again", "reason": "Below the mark"},
        )
    _in_turns({name: annotate(queue, users[name], people[name]) for name in ("ada", "ben", "cem")})

    queue.refresh_from_db()
    after = compute_agreement(queue.pk, {}).content
    counted = Annotation.objects.filter(queue=queue, left_out_at=None, item__retest_of=None)
    assert paused == ["rex", "zoe"]
    assert queue.open_count == 0
    assert set(counted.values_list("annotator__username", flat=True)) == {"ada", "ben", "cem"}
    assert after.gold is not None
    assert {row.name for row in after.gold.people[:2]} == {"rex", "zoe"}
    assert {row.state for row in after.gold.people[:2]} == {"paused; labels: left out, and asked of other people again"}
    kappa = next(row for row in after.gold.figures if row.name == "Fleiss' kappa")
    everybody, without = kappa.everybody.value or 0.0, kappa.without.value or 0.0
    assert everybody < 0.6 < 0.75 < without
    assert without == pytest.approx(next(row.value for row in after.figures if row.key == "fleiss"))
    page = lea.get(reverse("reports:agreement-detail", args=[queue.slug])).text
    assert "Without those who were paused" in page
    assert "Paused: rex, zoe." in page


def _in_turns(work: dict[str, Any]) -> None:
    """Let everybody annotate one item after the other until nothing is left for anybody."""
    while work:
        for name, items in list(work.items()):
            if next(items, None) is None:
                del work[name]


FORM = """
- {key: good, ask: Is it good?, kind: choice, options: {y: "Yes", n: "No"}}
- {key: use, ask: How useful is it?, kind: scale, low: 1, high: 5}
- {key: note, ask: Anything else?, kind: text, required: false}
"""


def test_the_questions_of_a_form_are_known_from_a_column_each_or_from_json_and_scored_each() -> None:
    lea, _ = signed_in("lea", Role.RESEARCHER)
    rows = "".join(f"i{n},Q{n}?,R{n}.,,\n" for n in range(30))
    data = f"id,question,response,gold.good,gold.use\n{rows}k1,Known?,Yes.,y,4\nk2,Half?,No.,y,\n".encode()
    fields = {"quorum": "1", "mode": "blind", "order": "given", "form": FORM}
    lea.post(reverse("review:queue-create"), {"file": SimpleUploadedFile("a.csv", data)} | fields)
    queue = Queue.objects.get()
    Queue.objects.update(retest_share=0.0)
    lea.post(reverse("act", args=["queue", queue.pk, "take-gold"]), {"column": "gold", "tolerance": "1"})
    ada = factories.user("ada", Role.ANNOTATOR)

    said = {"good": "y", "use": "5", "note": "So"}
    copies: list[ReviewItem] = []
    while len(copies) < 1:
        queue.refresh_from_db()
        claim = claim_next(queue=queue, annotator=ada, at=NOON)
        copies += [claim.item] if claim.item.retest_of_id is not None else []
        given = GivenAnnotation(parts=said)
        record_annotation(item_id=claim.item_id, annotator=ada, token=str(claim.token), answer=given, at=NOON)

    (gold,) = GoldAnswer.objects.all()
    (score,) = gold_scores(queue)
    assert (gold.parts, gold.tolerance) == ({"good": "y", "use": 4}, 1.0)  # the other row lacks a required answer
    assert (score.right, score.answered) == (1, 1)
    assert {key: share.value for key, share in score.questions} == {"good": 1.0, "use": 1.0}


def test_a_decided_item_becomes_a_gold_item_and_ceases_to_be_one() -> None:
    lea, queue = made(12, gold=0, quorum=1)
    ada = factories.user("ada", Role.ANNOTATOR)
    item = next(annotate(queue, ada, right))

    page = " ".join(lea.get(reverse("review:item-detail", args=[item.pk])).text.split())
    lea.post(reverse("act", args=["item", item.pk, "make-gold"]), {"explanation": "It says so.", "tolerance": "0"})
    queue.refresh_from_db()
    counted = (queue.gold_count, list(GoldAnswer.objects.values_list("item", "label", "explanation")))
    lea.post(reverse("act", args=["item", item.pk, "drop-gold"]))
    queue.refresh_from_db()

    assert "Make gold item" in page
    assert counted == (1, [(item.pk, "bad", "It says so.")])
    assert (queue.gold_count, GoldAnswer.objects.exists()) == (0, False)


def test_a_gold_item_is_known_by_what_was_decided_last_and_by_nothing_while_it_is_open_or_left_out() -> None:
    lea, queue = made(40, gold=4, quorum=1)
    rita, ada = factories.user("rita", Role.RESEARCHER), factories.user("ada", Role.ANNOTATOR)
    handed = [item.retest_of_id for item in annotate(queue, ada, right)]
    done, other = [GoldAnswer.objects.get(item=pk) for pk in handed if pk is not None][:2]
    before = score(queue)

    reopen_item(item_id=done.item_id, actor=rita, reason="the key is wrong", at=NOON)
    exclude_item(item_id=other.item_id, actor=rita, reason="cut off", at=NOON)
    meanwhile, shown = score(queue), lea.get(queue.get_absolute_url()).text
    ben = [item.retest_of_id for item in annotate(queue, factories.user("ben", Role.ANNOTATOR), right)]
    word = FinalWord("", "The first key was wrong.", parts={"label": "good" if done.label != "good" else "bad"})
    adjudicate_item(item_id=done.item_id, adjudicator=rita, word=word, at=NOON)

    done.refresh_from_db()
    n = len(handed) - handed.count(None)  # where gold is strewn is drawn
    assert (before, meanwhile, score(queue)) == ((n, n), (n - 2, n - 2), (n - 2, n - 1))
    assert "2 with a known answer;" in shown
    assert (done.label, {done.item_id, other.item_id} & {*ben}) == (word.parts["label"], set())
    queue_page = " ".join(lea.get(queue.get_absolute_url()).text.split())
    assert f'<th scope="row">ada</th> <td class="num">{handed.count(None)}</td>' in queue_page  # without copies
    assert errors_of_queue(queue).items == 0  # nobody disagreed on what the file answers


def score(queue: Queue) -> tuple[int, int]:
    found = [(row.right, row.answered) for row in gold_scores(queue) if row.person.username == "ada"]
    return found[0] if found else (0, 0)
