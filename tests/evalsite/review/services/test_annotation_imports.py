"""Answers leave a queue and come back byte for byte; what does not fit is refused as a whole."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.base.tables import write_csv
from evalsite.review.models import Adjudication, Annotation, Assignment, Queue, ReviewItem
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.annotation_exports import act_rows
from evalsite.review.services.annotation_imports import AnnotationImportRefused
from evalsite.review.services.claims import claim_next
from evalsite.review.services.decisions import exclude_item, reopen_item
from evalsite.review.states import ItemStatus, QueueStatus
from evalsite.review.tables.annotations import COLUMNS
from tests import factories
from tests.evalsite.review.exchanged import KINDS, answer, bring, busy_queue, emptied, exported, read
from tests.factories import NOON

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_into_the_emptied_queue_exports_the_same_bytes(kind: str) -> None:
    queue = busy_queue()
    before = exported(queue, kind)
    rows = list(act_rows(queue))
    items = list(queue.items.order_by("pk").values())

    imported = bring(emptied(queue), read(before, kind))

    assert exported(queue, kind) == before
    assert list(queue.items.order_by("pk").values()) == items
    assert [row["act"] for row in rows].count("answered") == imported.counts()["answers"] == 9
    assert {row["status"] for row in rows} == {"settled", "open", "adjudicated", "stale"}
    assert imported.counts() == {
        "items": 6,
        "answers": 9,
        "revisions": 1,
        "cannot_judge": 0,
        "skips": 1,
        "flags": 2,
        "adjudications": 1,
        "retests": 0,
        "unchanged": 0,
    }


def test_an_excluded_item_comes_back_excluded_and_one_excluded_here_stays_so() -> None:
    queue = factories.queue(retest_share=0.0, quorum=2)
    items = [factories.review_item(queue=queue, shuffle=n) for n in (1, 2)]
    ada, rita = factories.user("ada", Role.ANNOTATOR), factories.user("rita", Role.RESEARCHER)
    for item in items:
        answer(item, ada, "1")
    exclude_item(item_id=items[0].pk, actor=rita, reason="Broken", at=NOON)
    file = read(exported(queue, "csv"))
    emptied(queue)
    exclude_item(item_id=items[1].pk, actor=rita, reason="Broken here", at=NOON)

    bring(queue, file)

    assert set(queue.items.values_list("status", "answer_count")) == {(ItemStatus.EXCLUDED, 1)}
    assert (Queue.objects.get().total_count, Queue.objects.get().open_count) == (0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_import_changes_nothing(kind: str) -> None:
    queue = busy_queue()
    file = read(exported(queue, kind), kind)
    tables = (Annotation, Assignment, Adjudication, ReviewItem, Queue, AuditEntry)
    before = [list(table._default_manager.order_by("pk").values()) for table in tables]

    imported = bring(queue, file)

    assert [list(table._default_manager.order_by("pk").values()) for table in tables] == before
    assert (imported.is_empty, imported.unchanged) == (True, file.n_rows)


def test_the_queue_counts_and_hands_out_what_is_left_after_an_import() -> None:
    queue = busy_queue()
    fields = ("open_count", "total_count")
    before = [getattr(queue, name) for name in fields]
    file = read(exported(queue, "csv"))

    bring(emptied(queue), file)

    queue = Queue.objects.get(pk=queue.pk)
    assert [getattr(queue, name) for name in fields] == before
    assert queue.items.filter(answer_count=2, status=ItemStatus.DECIDED).count() == 1
    entry = AuditEntry.objects.filter(action="annotations.imported").get()
    assert entry.detail["answers"] == 9
    bob = User.objects.get(username="bob")
    handed = claim_next(queue=queue, annotator=bob, at=NOON)
    assert handed.item.annotations.filter(annotator=bob).count() == 0


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00\ufffe\uffff"), max_size=40)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.sampled_from(["=", "+", "-", "@", "\t", "\r", "\n", "'", "'=", ""]), texts=st.tuples(TEXT, TEXT, TEXT))
def test_any_text_survives_the_round_trip(kind: str, start: str, texts: tuple[str, str, str]) -> None:
    queue = Queue.objects.first() or busy_queue()
    notes, flags, reasons = (start + text for text in texts)
    queue.annotations.update(note=notes)
    queue.annotations.exclude(revised_label="").update(revision_note=reasons)
    queue.assignments.exclude(flag="").update(flag=flags or "x")
    queue.assignments.filter(status="skipped").update(skip_reason=reasons)
    Adjudication.objects.update(reason=reasons)
    before = exported(queue, kind)

    bring(emptied(queue), read(before, kind))

    assert exported(queue, kind) == before


def test_a_queue_made_of_the_same_file_elsewhere_takes_the_answers_by_content() -> None:
    pairs = (
        b"id,question,response_a,response_b,system_a,system_b\np1,Why?,Yes.,No.,oak,elm\np2,Why?,Yes.,Never.,oak,elm\n"
    )
    first, second = (_queue_of(pairs) for _ in range(2))
    ada = factories.user("ada", Role.ANNOTATOR)
    for item, label in zip(first.items.order_by("pk"), ("1", "-1"), strict=True):
        answer(item, ada, label, "n")

    imported = bring(second, read(exported(first, "csv")))

    assert imported.counts()["answers"] == 2
    annotations = second.annotations.order_by("item__material__key").values_list("item__material__key", "label", "note")
    assert list(annotations) == [("p1", "1", "n"), ("p2", "-1", "n")]


def _queue_of(data: bytes) -> Queue:
    client = Client()
    client.force_login(User.objects.filter(username="rosa").first() or factories.user("rosa", Role.RESEARCHER))
    values = {"quorum": "2", "mode": "blind", "order": "given", "file": SimpleUploadedFile("pairs.csv", data)}
    client.post(reverse("review:queue-create"), values)
    return Queue.objects.latest("pk")


def test_an_import_makes_the_retest_that_is_missing() -> None:
    queue = busy_queue()
    file = read(exported(queue, "jsonl"), "jsonl")
    emptied(queue)
    queue.items.filter(arm=ItemArm.RETEST).delete()

    bring(queue, file)
    again = bring(queue, file)

    retest = queue.items.get(arm=ItemArm.RETEST)
    assert (retest.only_for, retest.answer_count, retest.annotations.get().label) == (
        User.objects.get(username="ada"),
        1,
        "-1",
    )
    assert again.is_empty


def test_a_claim_that_somebody_holds_becomes_the_answer_and_keeps_its_draft() -> None:
    queue = factories.queue(quorum=1)
    item = factories.review_item(queue=queue)
    ada = factories.user("ada", Role.ANNOTATOR)
    answer(item, ada, "1")
    file = read(exported(queue, "csv"))
    emptied(queue)
    claim = claim_next(queue=queue, annotator=ada, at=NOON)
    Assignment.objects.filter(pk=claim.pk).update(draft={"note": "half a thought"})

    bring(queue, file)

    claim.refresh_from_db()
    assert (claim.status, claim.draft, claim.annotation.label) == ("submitted", {"note": "half a thought"}, "1")


def test_an_archived_queue_takes_no_import() -> None:
    queue = busy_queue()
    file = read(exported(queue, "csv"))
    queue.status = QueueStatus.ARCHIVED

    with pytest.raises(AnnotationImportRefused, match="archived"):
        bring(queue, file)


def test_terms_of_an_annotation_come_back_and_it_names_its_file() -> None:
    queue = factories.queue(mode="debate", guidelines_version=3)
    item, ada = factories.review_item(queue=queue), factories.user("ada", Role.ANNOTATOR)
    original = answer(item, ada, "1")
    Annotation.objects.filter(pk=original.pk).update(seen_before=True)
    file = read(exported(queue, "csv"))

    bring(emptied(queue), file)

    back = Annotation.objects.get()
    assert (back.mode, back.guidelines_version, back.seen_before) == ("debate", 3, True)
    assert (original.source_file, back.source_file) == ("", "answers.csv")


def test_files_of_earlier_versions_tell_nothing_of_the_terms() -> None:
    queue = factories.queue()
    answer(factories.review_item(queue=queue), factories.user("ada", Role.ANNOTATOR), "1")
    columns = [name for name in COLUMNS if name not in {"mode", "guidelines_version", "seen_before"}]
    file = read(b"".join(write_csv(list(act_rows(queue)), columns=columns)))

    again = bring(queue, file)
    bring(emptied(queue), file)

    assert (again.is_empty, again.unchanged) == (True, 1)
    assert Annotation.objects.values_list("mode", "guidelines_version", "seen_before").get() == ("blind", 1, False)


def test_a_reopened_item_comes_back_reopened() -> None:
    queue = factories.queue()
    item, rita = factories.review_item(queue=queue), factories.user("rita", Role.RESEARCHER)
    for name in ("ada", "bob"):
        answer(item, factories.user(name, Role.ANNOTATOR), "1")
    reopen_item(item_id=item.pk, actor=rita, reason="misread", at=NOON)
    file = read(exported(queue, "csv"))
    emptied(queue)
    ReviewItem.objects.update(reopened_at=None)

    bring(queue, file)

    item.refresh_from_db()
    assert (item.status, item.reopened_at) == (ItemStatus.NEEDS_ADJUDICATION, NOON)
