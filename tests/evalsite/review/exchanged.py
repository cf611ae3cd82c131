"""A queue in which everything was done, taken out as a file and brought in again: for tests of imports."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from evalsite.accounts.roles import Role
from evalsite.base.tables import write_csv, write_jsonl, write_xlsx
from evalsite.review.models import Adjudication, Annotation, Assignment, FinalLabel, Queue, ReviewItem
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.annotation_exports import act_rows
from evalsite.review.services.annotation_imports import (
    AnnotationImportRefused,
    import_annotations,
)
from evalsite.review.services.annotation_plans import AnnotationPlan, PeopleChoice
from evalsite.review.services.annotation_store import (
    GivenAnnotation,
    record_annotation,
    reveal_item,
    revise_annotation,
)
from evalsite.review.services.claims import claim_next, flag_item, skip_item
from evalsite.review.services.decisions import FinalWord, adjudicate_item, ask_more, reopen_item
from evalsite.review.services.queues import recount
from evalsite.review.states import ItemStatus
from evalsite.review.tables.annotations import COLUMNS, AnnotationFile, read_annotations
from tests import factories
from tests.factories import NOON

KINDS = ["csv", "jsonl", "xlsx"]


def exported(queue: Queue, kind: str) -> bytes:
    rows = list(act_rows(queue))
    if kind == "xlsx":
        return write_xlsx(rows, columns=COLUMNS, title="Annotations")
    return b"".join((write_csv if kind == "csv" else write_jsonl)(rows, columns=COLUMNS))


def read(data: bytes, kind: str = "csv") -> AnnotationFile:
    parsed = read_annotations(data, f"answers.{kind}")
    assert parsed.value is not None, parsed.problems
    return parsed.value


def bring(queue: Queue, found: AnnotationFile, **people: Any) -> AnnotationPlan:
    return import_annotations(queue=queue, file=found, people=PeopleChoice(**people), actor=None, at=NOON)


def emptied(queue: Queue) -> Queue:
    """Delete everything that people did in a queue; items and retests stay."""
    FinalLabel.objects.filter(item__queue=queue).delete()
    Adjudication.objects.filter(item__queue=queue).delete()
    Annotation.objects.filter(queue=queue).delete()
    Assignment.objects.filter(queue=queue).delete()
    items = queue.items.exclude(status=ItemStatus.STALE)
    items.update(status=ItemStatus.OPEN, label="", decided_at=None, answer_count=0, quorum=queue.quorum)
    Queue.objects.filter(pk=queue.pk).update(open_count=items.count(), total_count=items.count())
    return Queue.objects.get(pk=queue.pk)


def answer(item: ReviewItem, person: User, label: str, note: str = "") -> Annotation:
    claim = Assignment.objects.create(
        item=item,
        queue=item.queue,
        annotator=person,
        token=uuid4(),
        swapped=bool(person.pk % 2),
        claimed_at=NOON,
        expires_at=NOON + timedelta(minutes=2),
    )
    at = NOON + timedelta(seconds=41, microseconds=person.pk)
    return record_annotation(
        item_id=item.pk, annotator=person, token=str(claim.token), answer=GivenAnnotation(label, note), at=at
    )


def busy_queue() -> Queue:
    """Return a queue in which everything that people can do was done: one item settled, one revised, one adjudicated,
    one reopened and asked again, one skipped and flagged, one stale, one repeated, one untouched."""
    queue = factories.queue(retest_share=0.0)
    items = [factories.review_item(queue=queue, shuffle=n, criterion="tone", language="de") for n in range(1, 9)]
    ReviewItem.objects.filter(pk=items[0].pk).update(arm=ItemArm.AUDIT, inclusion_probability=30 / 700)
    ada, bob, eve = (factories.user(name, Role.ANNOTATOR) for name in ("ada", "bob", "eve"))
    rita = factories.user("rita", Role.RESEARCHER)
    answer(items[0], ada, "1", "=cmd|'/c'!A1")
    answer(items[0], bob, "1", "line one\r\nline two\n\n")
    answer(items[1], ada, "1", "'=quoted")
    reveal_item(item_id=items[1].pk, annotator=ada, at=NOON + timedelta(hours=1))
    revise_annotation(item_id=items[1].pk, annotator=ada, label="0", reason="+1 for the judge 😀", at=NOON)
    answer(items[2], ada, "1")
    chosen = answer(items[2], bob, "-1", "\x0b\x01 control")
    word = FinalWord("-1", "@bob is right\n", chosen.pk)
    adjudicate_item(item_id=items[2].pk, adjudicator=rita, word=word, at=NOON + timedelta(days=1))
    for person in (bob, ada):
        answer(items[3], person, "0")
    reopen_item(item_id=items[3].pk, actor=rita, reason="misread", at=NOON)
    ask_more(item_id=items[3].pk, actor=rita, at=NOON)
    claim = claim_next(queue=queue, annotator=eve, at=NOON)
    skip_item(item_id=claim.item_id, annotator=eve, token=str(claim.token), reason="-- I know one of them", at=NOON)
    flag_item(item_id=claim.item_id, annotator=eve, text="\ttab", at=NOON)
    flagged = claim_next(queue=queue, annotator=eve, at=NOON)
    flag_item(item_id=flagged.item_id, annotator=eve, text="broken, too", at=NOON)
    answer(items[6], ada, "1")
    ReviewItem.objects.filter(pk=items[6].pk).update(status=ItemStatus.STALE)
    again = factories.review_item(queue=queue, retest_of=items[0], only_for=ada, arm="retest", quorum=2)
    ReviewItem.objects.filter(pk=again.pk).update(content_hash=items[0].content_hash)
    answer(again, ada, "-1")
    return recount(queue_id=queue.pk)


def refusal_of(queue: Queue, found: AnnotationFile, **people: Any) -> list[str]:
    before = list(act_rows(queue)), User.objects.count()
    with pytest.raises(AnnotationImportRefused) as caught:
        bring(queue, found, **people)
    assert (list(act_rows(queue)), User.objects.count()) == before
    return [f"{one.place}: {one.message}" for one in caught.value.problems]
