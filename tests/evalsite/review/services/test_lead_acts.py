"""What leads do to items, one by one and to all that a filter chooses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.base.tables import table_bytes
from evalsite.reports.services.people import compute_agreement
from evalsite.review.models import Annotation, FinalLabel, Material, OrderPolicy, Queue, ReviewItem
from evalsite.review.selectors.annotation_exports import act_rows, annotations_table
from evalsite.review.selectors.content import read_panel
from evalsite.review.selectors.pages import ItemFilters, items_matching
from evalsite.review.services.annotation_imports import import_annotations
from evalsite.review.services.annotation_plans import AnnotationPlan, PeopleChoice
from evalsite.review.services.annotation_store import (
    GivenAnnotation,
    record_annotation,
    reveal_item,
    revise_annotation,
    undo_annotation,
)
from evalsite.review.services.claims import claim_next, flag_item, skip_item
from evalsite.review.services.decisions import (
    FinalWord,
    adjudicate_item,
    ask_more,
    exclude_item,
    reopen_item,
    requeue_item,
    set_detail,
    set_precedence,
)
from evalsite.review.services.queues import recount
from evalsite.review.states import ItemStatus, ReviewRefused
from evalsite.review.tables.annotations import read_annotations
from judging.stored_content import turned_label
from tests import factories
from tests.evalsite.review.views.clients import signed_in
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def annotate(queue: Queue, **labels: str) -> None:
    """Let people annotate the next item that each is handed."""
    for minutes, (name, label) in enumerate(labels.items()):
        person = User.objects.filter(username=name).first() or factories.user(name, Role.ANNOTATOR)
        at = NOON + timedelta(minutes=minutes)
        claim = claim_next(queue=queue, annotator=person, at=at)
        record_annotation(
            item_id=claim.item_id, annotator=person, token=str(claim.token), answer=GivenAnnotation(label, ""), at=at
        )


def counters(queue: Queue) -> tuple[int, int]:
    queue.refresh_from_db()
    return queue.open_count, queue.total_count


@pytest.mark.parametrize("decide", [False, True])
def test_requeue_item_asks_other_people_and_keeps_what_was_said_out_of_every_figure(decide: bool) -> None:
    rita, queue = factories.user("rita", Role.RESEARCHER), factories.queue(quorum=2)
    item = factories.review_item(queue=queue)
    recount(queue_id=queue.pk)
    annotate(queue, ada="1", ben="-1" if decide else "1")
    if decide:
        adjudicate_item(item_id=item.pk, adjudicator=rita, word=FinalWord("1", "plainly"), at=NOON)
    before, share = counters(queue), FinalLabel.objects.get().share

    requeue_item(item_id=item.pk, actor=rita, reason="the guidelines changed", at=NOON)
    figures = compute_agreement(queue.pk, {}).content.summary.answers
    annotate(queue, eve="-1", fay="-1")

    item.refresh_from_db()
    assert before == (0, 1)
    assert figures == 0
    assert (item.status, item.label, item.quorum, item.answer_count) == (ItemStatus.DECIDED, "-1", 2, 2)
    assert (share, FinalLabel.objects.get().share) in [(1.0, 0.0), (0.0, 1.0)]  # by the order of the pair
    assert counters(queue) == (0, 1)
    assert not items_matching(queue=queue, query="label=1", at=NOON).exists()
    assert Annotation.objects.filter(annotator__username="ada").get().left_out_at == NOON
    assert [row["annotator"] for row in annotations_table(queue).rows] == ["eve", "fay"]
    with pytest.raises(ReviewRefused, match="cannot go back"):
        requeue_item(item_id=exclude(item), actor=rita, reason="again", at=NOON)


def test_a_label_that_was_left_out_is_taken_back_exported_and_imported_by_nobody() -> None:
    queue = factories.queue(quorum=2, order=OrderPolicy.DISPUTED)
    item = factories.review_item(queue=queue)
    recount(queue_id=queue.pk)
    annotate(queue, ada="1", ben="-1")
    ada, table = User.objects.get(username="ada"), annotations_table(queue)
    first_export = b"".join(table_bytes(table, "csv"))
    flag_item(item_id=item.pk, annotator=ada, text="B is cut off", at=NOON)

    requeue_item(item_id=item.pk, actor=None, reason="the guidelines changed", at=NOON)
    item.refresh_from_db()
    dispute, flagged = item.dispute, [(row["act"], row["blind_label"], row["slot"]) for row in act_rows(queue)]
    with pytest.raises(ReviewRefused, match="was left out of all decisions"):
        undo_annotation(item_id=item.pk, annotator=ada, at=NOON)
    panel = read_panel(item_id=item.pk, user=ada, at=NOON)
    again = imported(queue, first_export)
    other = imported(queue, first_export.replace(b",ada,", b",eve,").replace(b",ben,", b",fay,"))

    item.refresh_from_db()
    assert (dispute, flagged, panel.may_undo) == (0, [("flagged", "", None)], False)
    assert [str(problem).partition(": ")[2] for problem in again.problems] == [
        "The label of ada was left out here and stays so.",
        "The label of ben was left out here and stays so.",
    ]
    assert (again.is_empty, again.unchanged, other.counts()["answers"]) == (True, 2, 2)
    assert (item.status, item.answer_count, item.dispute) == (ItemStatus.NEEDS_ADJUDICATION, 2, 1000)


def imported(queue: Queue, data: bytes) -> AnnotationPlan:
    file = read_annotations(data, "export.csv").value
    assert file is not None
    people = PeopleChoice(create=True)
    return import_annotations(queue=queue, file=file, people=people, actor=None, at=NOON)


def exclude(item: ReviewItem) -> int:
    exclude_item(item_id=item.pk, actor=None, reason="cut off", at=NOON)
    return item.pk


def test_requeue_item_asks_who_skipped_it_again() -> None:
    queue, ada = factories.queue(quorum=1), factories.user("ada", Role.ANNOTATOR)
    item = factories.review_item(queue=queue)
    claim = claim_next(queue=queue, annotator=ada, at=NOON)
    skip_item(item_id=item.pk, annotator=ada, token=str(claim.token), reason="unclear", at=NOON)

    requeue_item(item_id=item.pk, actor=None, reason="explained", at=NOON)

    claim.refresh_from_db()
    assert (claim.skip_reason, claim_next(queue=queue, annotator=ada, at=NOON).item_id) == ("", item.pk)
    with pytest.raises(ReviewRefused, match="waits for annotators already"):
        requeue_item(item_id=factories.review_item(queue=queue).pk, actor=None, reason="explained", at=NOON)


def test_ask_more_reopens_a_decided_item_for_one_more_and_counts_all_labels() -> None:
    queue = factories.queue(quorum=1)
    item = factories.review_item(queue=queue)
    recount(queue_id=queue.pk)
    annotate(queue, ada="1")

    ask_more(item_id=item.pk, actor=None, at=NOON)
    waiting = counters(queue), FinalLabel.objects.count()
    annotate(queue, ben="-1")

    item.refresh_from_db()
    assert waiting == ((1, 1), 0)
    assert (item.status, item.quorum, item.answer_count) == (ItemStatus.NEEDS_ADJUDICATION, 2, 2)


@pytest.mark.parametrize("order", ["urgent", "given", "random"])
def test_set_precedence_comes_before_the_order_of_the_queue(order: str) -> None:
    queue = factories.queue(order=order, quorum=1)
    items = [factories.review_item(queue=queue, priority=-place, shuffle=place) for place in range(3)]

    set_precedence(item=items[2], precedence=1, actor=None)
    set_precedence(item=items[0], precedence=-1, actor=None)

    people = [factories.user(name, Role.ANNOTATOR) for name in ("ada", "ben", "eve")]
    handed = [claim_next(queue=queue, annotator=person, at=NOON).item_id for person in people]
    assert handed == [items[2].pk, items[1].pk, items[0].pk]


def test_set_detail_changes_columns_that_filters_find() -> None:
    queue = factories.queue()
    material = Material.objects.create(
        queue=queue, key="1", question="Why?", response_a="So.", is_pair=False, details={"domain": "law", "n": 3}
    )
    item = factories.review_item(queue=queue, material=material, response_a=None)

    set_detail(item=item, name="domain", value="tax", actor=None)
    set_detail(item=item, name="n", value="", actor=None)
    set_detail(item=item, name="language", value="de", actor=None)

    material.refresh_from_db()
    assert (material.details, item.language) == ({"domain": "tax"}, "de")
    assert [
        items_matching(queue=queue, query=f"detail=domain%3D{value}", at=NOON).count() for value in ("tax", "law")
    ] == [
        1,
        0,
    ]
    assert AuditEntry.objects.filter(action="item.described").count() == 3


@pytest.mark.parametrize("column", ["2024", "-5", 'größe "cm"'])
def test_filters_find_columns_whose_names_are_numbers_or_quoted(column: str) -> None:
    queue = factories.queue()
    material = Material.objects.create(
        queue=queue, key="1", question="Why?", response_a="So.", is_pair=False, details={column: "tax"}
    )
    item = factories.review_item(queue=queue, material=material, response_a=None)
    factories.annotation(item=item, label="1", parts={column: "yes"})

    filters = [("detail", "tax"), ("detail", "law"), ("answer", "yes"), ("answer", "no")]
    queries = [urlencode({name: f"{column}={value}"}) for name, value in filters]

    assert [items_matching(queue=queue, query=query, at=NOON).count() for query in queries] == [1, 0, 1, 0]


def test_filters_choose_by_person_label_disagreement_and_answer() -> None:
    queue = factories.queue(quorum=2)
    agreed, disputed, untouched = (factories.review_item(queue=queue) for _ in range(3))
    ada, ben = factories.user("ada", Role.ANNOTATOR), factories.user("ben", Role.ANNOTATOR)
    factories.annotation(item=agreed, label="1", annotator=ada, parts={"why": ["style", "length"], "days": 3})
    factories.annotation(item=agreed, label="1", annotator=ben)
    factories.annotation(item=disputed, label="1", annotator=ada, parts={"why": ["style"], "days": 4})
    factories.annotation(item=disputed, label="-1")

    def chosen(query: str) -> list[int]:
        return sorted(items_matching(queue=queue, query=query, at=NOON).values_list("pk", flat=True))

    assert chosen("person=ada") == [agreed.pk, disputed.pk]
    assert chosen("person=ben") == [agreed.pk]
    assert chosen("label=-1") == [disputed.pk]
    assert chosen("disputed=1") == [disputed.pk]
    assert chosen("answer=why%3Dlength") == [agreed.pk]
    assert chosen("answer=days%3D4") == [disputed.pk]
    assert chosen("") == [agreed.pk, disputed.pk, untouched.pk]
    assert ItemFilters.read(QueryDict("person=ada&disputed=1&x=2&status=gone").dict()).query == "person=ada&disputed=1"


@pytest.fixture
def rita() -> Client:
    return signed_in("rita", Role.RESEARCHER)[0]


def test_all_that_match_are_excluded_and_reopened_from_the_page(rita: Client) -> None:
    queue = factories.queue()
    split = [factories.review_item(queue=queue, status="split") for _ in range(2)]
    kept = factories.review_item(queue=queue)
    recount(queue_id=queue.pk)
    url = reverse("review:queue-exclude-items", args=[queue.slug])

    look = rita.get(url, {"query": "status=split"})
    done = rita.post(url, {"query": "status=split", "matching": 2, "reason": "cut off"})
    excluded = counters(queue)
    other = rita.post(url, {"query": "status=split", "matching": 2, "reason": "cut off"})
    rita.post(
        reverse("review:queue-reopen-items", args=[queue.slug]),
        {"query": "status=excluded", "matching": 2, "reason": "they are whole"},
    )

    assert "2 items chosen." in look.text
    assert look.context["form"]["matching"].value() == 2
    assert done.url == f"{queue.get_absolute_url()}?status=split#items"  # type: ignore[attr-defined]  # a redirect
    assert excluded == (1, 1)
    assert other.context["form"].errors == {"__all__": ["By now the filter chooses 0 items, not 2. Look again."]}
    assert counters(queue) == (3, 3)
    assert set(ReviewItem.objects.values_list("pk", "status")) == {(item.pk, "open") for item in [*split, kept]}


@pytest.mark.parametrize("act", [exclude_item, reopen_item])
def test_counters_stay_what_a_count_of_all_items_gives(act: Callable[..., ReviewItem]) -> None:
    queue = factories.queue()
    for status in ("open", "split", "settled", "adjudicated", "excluded", "stale"):
        factories.review_item(queue=queue, status=status)
    recount(queue_id=queue.pk)

    for item in queue.items.order_by("pk"):
        try:
            act(item_id=item.pk, actor=None, reason="why", at=NOON)
        except ReviewRefused:
            continue

    kept = counters(queue)
    recount(queue_id=queue.pk)
    assert counters(queue) == kept


def revise(item: ReviewItem, name: str, label: str) -> None:
    person = User.objects.get(username=name)
    reveal_item(item_id=item.pk, annotator=person, at=NOON)
    revise_annotation(item_id=item.pk, annotator=person, label=label, reason="I see", at=NOON)


def test_what_people_came_to_after_the_reveal_comes_and_goes_with_their_labels() -> None:
    queue = factories.queue(quorum=3)
    item = factories.review_item(queue=queue)
    recount(queue_id=queue.pk)

    def labels() -> list[tuple[bool, str]]:
        rows = FinalLabel.objects.order_by("is_blind").values_list("is_blind", "label")
        return [(is_blind, turned_label(label, turned=item.is_turned)) for is_blind, label in rows]

    annotate(queue, ada="1", ben="1")
    revise(item, "ada", "-1")
    revise(item, "ben", "-1")
    annotate(queue, cem="1")
    decided = labels()
    requeue_item(item_id=item.pk, actor=None, reason="the guidelines changed", at=NOON)
    annotate(queue, eve="1", fay="0", gil="-1")
    revise(item, "eve", "-1")
    disputed = labels()
    requeue_item(item_id=item.pk, actor=None, reason="again", at=NOON)

    assert (decided, disputed, labels()) == ([(False, "-1"), (True, "1")], [(False, "-1")], [])
