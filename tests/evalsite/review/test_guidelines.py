"""Versions of guidelines: what changed is read before the next item, and each annotation says by which it was given."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.roles import Role
from evalsite.base.formats import MOST_WORDS, DiffPiece, merge
from evalsite.review.models import Annotation, Assignment, GuidelinesReading, PastGuidelines, Queue
from evalsite.review.selectors.gold import change_between, unread_since, versions_of
from evalsite.review.services.claims import ReadFirst, claim_next, hand_item
from evalsite.review.services.queues import PAIR_GUIDELINES, update_queue
from evalsite.review.states import ReviewRefused
from tests import factories
from tests.evalsite.review.views.clients import HTMX, send, signed_in, take

pytestmark = pytest.mark.django_db
TOLD = "The guidelines have changed since your last annotation here."


def made(items: int = 4) -> Queue:
    queue = factories.queue(guidelines="Be kind.", quorum=2)
    for _ in range(items):
        factories.review_item(queue=queue)
    return queue


def rewrite(queue: Queue, text: str, actor: User | None = None) -> None:
    update_queue(queue=queue, fields={"guidelines": text}, members=None, actor=actor, at=timezone.now())
    queue.refresh_from_db()


def page_of(queue: Queue) -> str:
    return reverse("review:guidelines", args=[queue.slug])


def next_of(client: Client, queue: Queue) -> str:
    """Return where the next item leads."""
    return client.post(reverse("review:item-next", args=[queue.slug]))["Location"]


def test_merge_writes_what_is_gone_before_what_is_new() -> None:
    assert merge("Be kind to people. Read once.", "Be strict to people. Read once, then twice.") == (
        DiffPiece("Be ", ""),
        DiffPiece("kind ", "removed"),
        DiffPiece("strict ", "added"),
        DiffPiece("to people. Read once", ""),
        DiffPiece(", then twice", "added"),
        DiffPiece(".", ""),
    )
    assert merge("", "") == ()
    assert merge("same", "same") == (DiffPiece("same", ""),)


def test_merge_of_texts_that_are_too_long_to_compare_is_one_after_the_other() -> None:
    old, new = "a " * MOST_WORDS, "b"

    assert merge(old, new) == (DiffPiece(old, "removed"), DiffPiece(new, "added"))


def test_who_annotated_by_older_guidelines_reads_what_changed_before_the_next_item() -> None:
    queue = made()
    client, ada = signed_in("ada")
    other, _ = signed_in("ben")
    send(client, take(client, queue))
    rewrite(queue, "Be strict.")

    led, fresh = next_of(client, queue), next_of(other, queue)
    by_htmx = client.post(reverse("review:item-next", args=[queue.slug]), headers=HTMX)
    page = client.get(led).text
    held = Assignment.objects.filter(annotator=ada).count()
    confirmed = client.post(led, {"version": 2})

    assert (led, by_htmx["HX-Redirect"]) == (page_of(queue), page_of(queue))
    assert fresh.startswith("/review/items/")
    assert TOLD in page
    assert "Be <del>kind</del><ins>strict</ins>." in page
    assert held == 2  # the one that came after the first annotation was in hand already
    assert confirmed["Location"].startswith("/review/items/")
    assert list(GuidelinesReading.objects.values_list("person__username", "version")) == [("ada", 2)]


def test_an_item_in_hand_may_be_finished_and_says_by_which_guidelines_it_was_annotated() -> None:
    queue = made()
    client, ada = signed_in("ada")
    claim = take(client, queue)
    rewrite(queue, "Be strict.")
    rewrite(queue, "Be brief.")

    send(client, claim)
    with pytest.raises(ReadFirst, match="Read what changed, and confirm it"):
        claim_next(queue=queue, annotator=ada, at=timezone.now())
    client.post(page_of(queue), {"version": 3})
    send(client, take(client, queue))

    assert list(Annotation.objects.order_by("pk").values_list("guidelines_version", flat=True)) == [1, 3]
    assert unread_since(queue, ada) is None


def test_the_note_of_an_item_in_hand_leads_to_what_changed() -> None:
    queue = made()
    client, _ = signed_in("ada")
    send(client, take(client, queue))
    second = take(client, queue)
    before = client.get(second.item.get_absolute_url()).text
    rewrite(queue, "Be strict.")

    after = client.get(second.item.get_absolute_url()).text

    assert (TOLD in before, TOLD in after, f'href="{page_of(queue)}"' in after) == (False, True, True)


def test_a_reserved_item_is_not_opened_before_the_changes_are_read() -> None:
    queue = made()
    client, ada = signed_in("ada")
    send(client, take(client, queue))
    rewrite(queue, "Be strict.")
    item = queue.items.exclude(assignments__annotator=ada).latest("pk")
    hand_item(item_id=item.pk, person=ada, actor=None, reason="for you", at=timezone.now())

    answer = client.get(item.get_absolute_url())

    assert answer["Location"] == page_of(queue)
    assert Assignment.objects.get(item=item).heartbeat_at is None


def test_only_the_version_that_holds_is_confirmed() -> None:
    queue = made()
    client, _ = signed_in("ada")
    send(client, take(client, queue))
    rewrite(queue, "Be strict.")
    rewrite(queue, "Be brief.")

    answer = client.post(page_of(queue), {"version": 2})

    assert answer.status_code == 400
    assert "The guidelines are now version 3. Read what changed first." in answer.text
    assert not GuidelinesReading.objects.exists()


def test_the_author_of_a_change_has_read_it() -> None:
    queue = made()
    client, rita = signed_in("rita", Role.RESEARCHER)
    send(client, take(client, queue))

    rewrite(queue, "Be strict.", rita)

    assert unread_since(queue, rita) is None
    assert next_of(client, queue).startswith("/review/items/")


def test_versions_are_kept_with_their_texts_and_compared_by_number() -> None:
    queue = made()
    rewrite(queue, "Be strict.")
    rewrite(queue, "Be brief.")
    PastGuidelines.objects.filter(version=1).update(replaced_at=timezone.now() - timedelta(days=1))

    versions = [(row.version, row.text, row.pk is None) for row in versions_of(queue)]
    change, far = change_between(queue, 1, 2), change_between(queue, 3, 9)

    assert versions == [(3, "Be brief.", True), (2, "Be strict.", False), (1, "Be kind.", False)]
    assert (change.before.text, change.after.text) == ("Be kind.", "Be strict.")
    assert (far.before.version, far.after.version, far.pieces) == (3, 3, (DiffPiece("Be brief.", ""),))


def test_owners_see_who_has_read_which_version_and_choose_two_to_compare() -> None:
    queue = made()
    client, _ = signed_in("ada")
    send(client, take(client, queue))
    rewrite(queue, "Be strict.")
    rewrite(queue, "Be brief.")
    client.post(page_of(queue), {"version": 3})
    lead, _ = signed_in("rita", Role.RESEARCHER)

    page = lead.get(page_of(queue), {"before": "1", "after": "2"}).text
    own = client.get(page_of(queue)).text

    assert "What changed from version 1 to version 2" in page
    assert "Be <del>kind</del><ins>strict</ins>." in page
    assert "Who has read them" in page
    assert '<th scope="row">ada</th>' in page
    assert "Who has read them" not in own
    assert lead.get(page_of(queue), {"before": "x"}).status_code == 404


def test_of_two_guidelines_that_are_saved_at_once_the_second_is_refused() -> None:
    queue = factories.queue(guidelines="Be kind.")
    rewrite(Queue.objects.get(pk=queue.pk), "Be strict.")

    refusal = (
        "Somebody changed the guidelines meanwhile: they are version 2 now, and this text was made of version 1. "
        "Copy it, and open the settings again."
    )
    with pytest.raises(ReviewRefused, match=re.escape(refusal)):
        update_queue(queue=queue, fields={"guidelines": "Be brief."}, members=None, actor=None, at=timezone.now())
    queue.refresh_from_db()
    assert (queue.guidelines, queue.guidelines_version) == ("Be strict.", 2)


def test_settings_change_guidelines_only_where_they_were_changed_and_undo_nobodys_change() -> None:
    client, _ = signed_in("rita", Role.RESEARCHER)
    queue, text = factories.queue(guidelines=PAIR_GUIDELINES), PAIR_GUIDELINES.replace("\n", "\r\n")  # of a browser
    address = reverse("review:queue-update", args=[queue.slug])
    page = {"name": "Pairs", "mode": "blind", "quorum": 2, "guidelines": text, "guidelines_version": 1}

    def saved(**entered: Any) -> tuple[str, int, int]:
        sent.append(client.post(address, page | entered))
        queue.refresh_from_db()
        return queue.guidelines, queue.guidelines_version, queue.quorum

    sent: list[Any] = []
    assert 'name="guidelines_version" value="1"' in client.get(address).text
    assert saved() == (PAIR_GUIDELINES, 1, 2)
    assert saved(guidelines="New\r\ntext.") == ("New\ntext.", 2, 2)
    assert saved(quorum=3) == ("New\ntext.", 2, 3)  # a page opened before, where nobody touched the guidelines
    assert saved(guidelines="Mine.") == ("New\ntext.", 2, 3)
    assert "they are version 2 now, and this text was made of version 1" in sent[-1].text
    assert saved(guidelines="Mine.", guidelines_version=2) == ("Mine.", 3, 2)
    assert saved(guidelines="Other.", guidelines_version="") == ("Other.", 4, 2)
