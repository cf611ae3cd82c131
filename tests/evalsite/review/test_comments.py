"""What an annotator and the leads say to each other of an item: told to the other side, and to nobody else."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.roles import Role
from evalsite.review.models import Assignment, Notice
from evalsite.review.selectors.annotation_exports import annotations_table, label_studio_json
from evalsite.review.selectors.waiting_items import remarks_on
from evalsite.review.services.claims import comment_on_item
from evalsite.review.services.notices import sentence_of
from evalsite.review.states import ReviewRefused
from tests import factories
from tests.evalsite.review.views.clients import HTMX, send, signed_in, take
from tests.factories import NOON

pytestmark = pytest.mark.django_db
ASKED, ANSWERED = "Is the second response cut off?", "No, it ends there."


def test_a_comment_and_its_answer_reach_the_other_side_and_no_other_annotator() -> None:
    lead, rita = signed_in("rita", Role.RESEARCHER)
    queue = factories.queue(quorum=2, created_by=rita)
    item = factories.review_item(queue=queue)
    ada, person = signed_in("ada")
    ben, _ = signed_in("ben")
    take(ada, queue)
    take(ben, queue)
    url = reverse("review:item-comment", args=[item.pk])

    told = ada.post(url, {"text": ASKED}, headers=HTMX)
    to_lead = Notice.objects.get()
    overview = lead.get(to_lead.address).text
    to_lead.refresh_from_db()
    lead.post(reverse("act", args=["item", item.pk, "comment"]), {"person": person.pk, "text": ANSWERED})
    to_ada = Notice.objects.exclude(pk=to_lead.pk).get()
    own, other = (client.get(item.get_absolute_url()).text for client in (ada, ben))
    to_ada.refresh_from_db()

    assert ASKED in told.text
    assert (to_lead.person, to_lead.read_at is None) == (rita, False)  # by opening the item
    assert sentence_of(to_lead) == f"There is a new comment on an item of “{queue.name}”."
    assert ASKED in overview
    assert (to_ada.person, to_ada.address) == (person, item.get_absolute_url())
    assert to_ada.read_at is not None  # by opening the item
    assert [text in own for text in (ASKED, ANSWERED, "Owner of the queue", "rita")] == [True, True, True, False]
    assert [text in other for text in (ASKED, ANSWERED, "Comments (", "ada")] == [False, False, False, False]
    assert [(remark.kind, remark.name, remark.text) for remark in remarks_on([item.pk])[item.pk]] == [
        ("Commented", "ada", ASKED),
        ("Answered", "a lead, to ada", ANSWERED),
    ]


def test_a_comment_is_only_on_an_item_that_somebody_has_had() -> None:
    item, ben = factories.review_item(), factories.user("ben", Role.ANNOTATOR)
    client, _ = signed_in("ada")

    with pytest.raises(ReviewRefused, match="Comments are on items that somebody has, or has had"):
        comment_on_item(item_id=item.pk, annotator=ben, text=ANSWERED, author=None, at=NOON)
    answer = client.post(reverse("review:item-comment", args=[item.pk]), {"text": ASKED})

    assert (answer.status_code, Assignment.objects.count()) == (404, 0)


def test_a_lead_can_write_where_somebody_has_had_the_item_only() -> None:
    item, (rita, _) = factories.review_item(), signed_in("rita", Role.RESEARCHER)
    ada, _ = signed_in("ada")
    address = reverse("review:item-detail", args=[item.pk])

    before = rita.get(address).content.decode()
    take(ada, item.queue)
    after = rita.get(address).content.decode()

    assert [page.count("Write to an annotator") for page in (before, after)] == [0, 1]


def test_files_for_leads_have_the_comments_of_an_item_and_no_others_have() -> None:
    client, _ = signed_in("ada")
    claim = take(client, factories.review_item(queue=factories.queue(quorum=1)).queue)
    client.post(reverse("review:item-comment", args=[claim.item_id]), {"text": ASKED})
    comment_on_item(item_id=claim.item_id, annotator=claim.annotator, text=ANSWERED, author=None, at=timezone.now())
    send(client, claim)

    files = [annotations_table(claim.queue, with_comments=chosen) for chosen in (True, False)]
    task = b"".join(label_studio_json(claim.queue)).decode()

    assert ["comments" in file.columns for file in files] == [True, False]
    assert [row["comments"] for row in files[0].rows] == [f"ada: {ASKED}\nlead to ada: {ANSWERED}"]
    assert ASKED not in task
