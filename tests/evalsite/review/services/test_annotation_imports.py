"""Answers leave a queue and come back byte for byte; what does not fit is refused as a whole."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.review.exports import ANNOTATION_COLUMNS, annotation_rows
from evalsite.review.models import (
    Adjudication,
    Annotation,
    Assignment,
    ItemArm,
    ItemStatus,
    Queue,
    QueueStatus,
    ReviewItem,
)
from evalsite.review.services.annotation_imports import Imported, ImportRefused, import_annotations
from evalsite.review.services.annotation_plans import PeopleChoice
from evalsite.review.services.answering import Answer, record_annotation, reveal_item, revise_annotation
from evalsite.review.services.claiming import claim_next, flag_item, skip_item
from evalsite.review.services.queues import recount
from evalsite.review.services.settling import FinalWord, adjudicate_item, ask_more, reopen_item
from evalsite.review.tables.annotations import AnnotationFile, read_annotations
from judging.management.base import BadInput
from judging.tables import write_csv, write_jsonl, write_xlsx
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db
KINDS = ["csv", "jsonl", "xlsx"]


def exported(queue: Queue, kind: str) -> bytes:
    rows = list(annotation_rows(queue))
    if kind == "xlsx":
        return write_xlsx(rows, columns=ANNOTATION_COLUMNS, title="Annotations")
    return b"".join((write_csv if kind == "csv" else write_jsonl)(rows, columns=ANNOTATION_COLUMNS))


def read(data: bytes, kind: str = "csv") -> AnnotationFile:
    parsed = read_annotations(data, f"answers.{kind}")
    assert parsed.value is not None, parsed.problems
    return parsed.value


def bring(queue: Queue, found: AnnotationFile, **people: Any) -> Imported:
    return import_annotations(queue=queue, found=found, people=PeopleChoice(**people), actor=None, at=NOON)


def emptied(queue: Queue) -> Queue:
    """Delete everything that people did in a queue; items and retests stay."""
    Adjudication.objects.filter(item__queue=queue).delete()
    Annotation.objects.filter(queue=queue).delete()
    Assignment.objects.filter(queue=queue).delete()
    items = queue.items.exclude(status=ItemStatus.STALE)
    items.update(status=ItemStatus.OPEN, label="", settled_at=None, answer_count=0, quorum=queue.quorum)
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
        item_id=item.pk, annotator=person, token=str(claim.token), answer=Answer(label, note), at=at
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
    skip_item(item_id=claim.item_id, annotator=eve, token=str(claim.token), reason="-- I know one of them")
    flag_item(item_id=claim.item_id, annotator=eve, text="\ttab")
    flagged = claim_next(queue=queue, annotator=eve, at=NOON)
    flag_item(item_id=flagged.item_id, annotator=eve, text="broken, too")
    answer(items[6], ada, "1")
    ReviewItem.objects.filter(pk=items[6].pk).update(status=ItemStatus.STALE)
    again = factories.review_item(
        queue=queue, debate=items[0].debate, retest_of=items[0], only_for=ada, arm="retest", quorum=2
    )
    ReviewItem.objects.filter(pk=again.pk).update(content_hash=items[0].content_hash)
    answer(again, ada, "-1")
    return recount(queue_id=queue.pk)


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_into_the_emptied_queue_exports_the_same_bytes(kind: str) -> None:
    queue = busy_queue()
    before = exported(queue, kind)
    rows = list(annotation_rows(queue))
    items = list(queue.items.order_by("pk").values())

    done = bring(emptied(queue), read(before, kind))

    assert exported(queue, kind) == before
    assert list(queue.items.order_by("pk").values()) == items
    assert [row["act"] for row in rows].count("answered") == done.plan.counts()["answers"] == 9
    assert {row["status"] for row in rows} == {"settled", "open", "adjudicated", "stale"}
    assert done.plan.counts() == {
        "items": 6,
        "answers": 9,
        "revisions": 1,
        "skips": 1,
        "flags": 2,
        "adjudications": 1,
        "retests": 0,
        "unchanged": 0,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_import_changes_nothing(kind: str) -> None:
    queue = busy_queue()
    found = read(exported(queue, kind), kind)
    tables = (Annotation, Assignment, Adjudication, ReviewItem, Queue, AuditEntry)
    before = [list(table._default_manager.order_by("pk").values()) for table in tables]

    done = bring(queue, found)

    assert [list(table._default_manager.order_by("pk").values()) for table in tables] == before
    assert (done.plan.is_empty, done.plan.unchanged) == (True, found.n_acts)


def test_the_queue_counts_and_hands_out_what_is_left_after_an_import() -> None:
    queue = busy_queue()
    fields = ("open_count", "total_count")
    before = [getattr(queue, name) for name in fields]
    found = read(exported(queue, "csv"))

    bring(emptied(queue), found)

    queue = Queue.objects.get(pk=queue.pk)
    assert [getattr(queue, name) for name in fields] == before
    assert queue.items.filter(answer_count=2, status=ItemStatus.SETTLED).count() == 1
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
    pairs = b"id,question,response_a,response_b,system_a,system_b\np1,Why?,Yes.,No.,oak,elm\np2,Why?,Yes.,No.,oak,elm\n"
    first, second = (_queue_of(pairs) for _ in range(2))
    ada = factories.user("ada", Role.ANNOTATOR)
    for item, label in zip(first.items.order_by("pk"), ("1", "-1"), strict=True):
        answer(item, ada, label, "n")

    done = bring(second, read(exported(first, "csv")))

    assert done.plan.counts()["answers"] == 2
    given = second.annotations.order_by("item__material__key").values_list("item__material__key", "label", "note")
    assert list(given) == [("p1", "1", "n"), ("p2", "-1", "n")]


def _queue_of(data: bytes) -> Queue:
    client = Client()
    client.force_login(User.objects.filter(username="rosa").first() or factories.user("rosa", Role.RESEARCHER))
    values = {"quorum": "2", "mode": "blind", "order": "given", "file": SimpleUploadedFile("pairs.csv", data)}
    client.post(reverse("review:queue-create"), values)
    return Queue.objects.latest("pk")


def test_an_import_makes_the_retest_that_is_missing() -> None:
    queue = busy_queue()
    found = read(exported(queue, "jsonl"), "jsonl")
    emptied(queue)
    queue.items.filter(arm=ItemArm.RETEST).delete()

    bring(queue, found)
    again = bring(queue, found)

    made = queue.items.get(arm=ItemArm.RETEST)
    assert (made.only_for, made.answer_count, made.annotations.get().label) == (
        User.objects.get(username="ada"),
        1,
        "-1",
    )
    assert again.plan.is_empty


def refusal_of(queue: Queue, found: AnnotationFile, **people: Any) -> list[str]:
    before = list(annotation_rows(queue)), User.objects.count()
    with pytest.raises(ImportRefused) as caught:
        bring(queue, found, **people)
    assert (list(annotation_rows(queue)), User.objects.count()) == before
    return [f"{one.place}: {one.message}" for one in caught.value.problems]


def test_an_item_with_another_hash_is_refused_by_name() -> None:
    queue = busy_queue()
    found = read(exported(queue, "csv"))
    first = found.items[0]
    changed = replace(first, facts=replace(first.facts, item_hash="f" * 64))
    gone = replace(found.items[1], facts=replace(found.items[1].facts, item=999_999, item_hash="e" * 64))
    emptied(queue)

    told = refusal_of(queue, AnnotationFile("a.csv", (changed, gone)))

    here = queue.items.get(pk=first.facts.item)
    case = first.facts.case
    assert told == [
        f"line 2: Item {here.pk} ({case}) has other content here: its hash begins with "
        f"{here.content_hash[:12]}, in the file with ffffffffffff.",
        # the first item has two rows, of which a note fills several lines
        f"{gone.place}: Item 999999 ({gone.facts.case}) is not in this queue.",
    ]


def test_nothing_here_is_overwritten() -> None:
    queue = busy_queue()
    found = read(exported(queue, "csv"))
    queue.annotations.filter(annotator__username="bob", label="1").update(note="changed since")
    emptied_one = queue.annotations.get(item__status=ItemStatus.STALE)
    Annotation.objects.filter(pk=emptied_one.pk).delete()

    told = refusal_of(queue, found)

    item = found.items[0].facts
    assert [line.partition(": ")[2] for line in told] == [
        f"{item.name} has another note by bob here; nothing is overwritten."
    ]


def test_the_quorum_is_never_exceeded() -> None:
    queue = factories.queue(quorum=2)
    item = factories.review_item(queue=queue)
    people = [factories.user(f"p{n}", Role.ANNOTATOR) for n in range(4)]
    for person in people[:2]:
        answer(item, person, "1")
    found = read(exported(queue, "csv"))
    emptied(queue)
    for person in people[2:]:
        answer(ReviewItem.objects.get(pk=item.pk), person, "0")

    told = refusal_of(queue, found)

    assert told == [f"line 3: {found.items[0].facts.name} would have 4 answers and asks for 2."]


def test_answers_of_file_and_queue_settle_an_item_together_in_free_slots() -> None:
    queue = factories.queue(quorum=2)
    item = factories.review_item(queue=queue)
    ada, bob = (factories.user(name, Role.ANNOTATOR) for name in ("ada", "bob"))
    answer(item, ada, "1")
    found = read(exported(queue, "csv"))
    emptied(queue)
    answer(ReviewItem.objects.get(pk=item.pk), bob, "1")

    bring(queue, found)

    item.refresh_from_db()
    assert (item.status, item.label, item.answer_count, item.settled_at) == (ItemStatus.SETTLED, "1", 2, NOON)
    assert dict(item.annotations.values_list("annotator__username", "slot")) == {"bob": 0, "ada": 1}
    assert bring(queue, found).plan.is_empty


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"final_label": "-1"}, "cannot be 'settled' with the label '-1': its answers and its adjudication"),
        ({"status": "adjudicated"}, "cannot be 'adjudicated' with the label '1': its answers and its adjudication"),
        ({"status": "open", "final_label": ""}, "cannot be 'open' with the label '': its answers"),
        ({"quorum": 21}, "asks for 21 answers; at most 20 people are asked."),
        ({"final_label": "9"}, "The label '9' is not on this queue's scale."),
    ],
)
def test_a_state_that_the_answers_do_not_bear_is_refused(changes: dict[str, Any], sentence: str) -> None:
    queue = factories.queue(quorum=1)
    answer(factories.review_item(queue=queue), factories.user("ada"), "1")
    found = read(exported(queue, "csv"))
    only = found.items[0]
    emptied(queue)

    told = refusal_of(queue, AnnotationFile("a.csv", (replace(only, facts=replace(only.facts, **changes)),)))

    assert any(sentence in line for line in told)


def test_unknown_people_are_told_mapped_or_added_switched_off() -> None:
    queue = busy_queue()
    found = read(exported(queue, "csv"))
    emptied(queue)
    User.objects.filter(username="eve").update(username="eva")
    AuditEntry.objects.all().delete()
    User.objects.filter(username="bob").update(username="rob")

    told = refusal_of(queue, found)
    half = refusal_of(queue, found, names={"eve": "eva", "bob": "nobody"})
    done = bring(queue, found, names={"eve": "eva"}, create=True)

    assert [line.partition(": ")[2] for line in told] == [
        "There is no person 'bob' here.",
        "There is no person 'eve' here.",
    ]
    assert [line.partition(": ")[2] for line in half] == ["There is no person 'nobody' here."]
    bob = User.objects.get(username="bob")
    assert done.created == ("bob",)
    assert (bob.is_active, bob.has_usable_password(), list(bob.groups.all())) == (False, False, [])
    assert set(queue.assignments.values_list("annotator__username", flat=True)) == {"ada", "bob", "eva"}
    assert AuditEntry.objects.filter(action="person.created", subject="bob").count() == 1
    assert bring(queue, found, names={"eve": "eva"}).plan.is_empty


def test_two_people_of_a_file_cannot_be_one_person_here() -> None:
    queue = busy_queue()
    found = read(exported(queue, "csv"))
    emptied(queue)
    User.objects.filter(username="bob").update(username="rob")

    told = refusal_of(queue, found, names={"bob": "ada"})

    assert f"Two people of the file would be ada on {found.items[0].facts.name}." in told[0]


def test_a_claim_that_somebody_holds_becomes_the_answer_and_keeps_its_draft() -> None:
    queue = factories.queue(quorum=1)
    item = factories.review_item(queue=queue)
    ada = factories.user("ada", Role.ANNOTATOR)
    answer(item, ada, "1")
    found = read(exported(queue, "csv"))
    emptied(queue)
    claim = claim_next(queue=queue, annotator=ada, at=NOON)
    Assignment.objects.filter(pk=claim.pk).update(draft={"note": "half a thought"})

    bring(queue, found)

    claim.refresh_from_db()
    assert (claim.status, claim.draft, claim.annotation.label) == ("submitted", {"note": "half a thought"}, "1")


def test_an_archived_queue_takes_no_import() -> None:
    queue = busy_queue()
    found = read(exported(queue, "csv"))
    queue.status = QueueStatus.ARCHIVED

    with pytest.raises(ImportRefused, match="archived"):
        bring(queue, found)


def test_import_annotations_command_checks_then_imports(tmp_path: Path, capsys: Any) -> None:
    queue = busy_queue()
    path = tmp_path / "answers.xlsx"
    path.write_bytes(exported(queue, "xlsx"))
    emptied(queue)
    User.objects.filter(username="eve").update(username="eva")

    with pytest.raises(BadInput, match="There is no person 'eve' here"):
        call_command("import_annotations", str(path))
    call_command("import_annotations", str(path), "--map", "eve=eva", "--dry-run", "--json")
    dry = json.loads(capsys.readouterr().out)
    assert Annotation.objects.count() == 0
    call_command("import_annotations", str(path), "--map", "eve=eva", "--json")
    told = json.loads(capsys.readouterr().out)

    assert (dry["dry_run"], dry["answers"]) == (True, 9)
    assert (told["queue"], told["answers"], told["people_added"]) == (queue.slug, 9, [])
    assert Annotation.objects.count() == 9
    for arguments, sentence in (
        ([str(tmp_path / "none.csv")], "cannot be read"),
        ([str(path), "--queue", "nowhere"], "There is no queue 'nowhere'"),
        ([str(path), "--map", "eve"], "Write --map FILE=HERE"),
    ):
        with pytest.raises(BadInput, match=sentence):
            call_command("import_annotations", *arguments)


def test_the_page_shows_what_comes_before_it_is_stored() -> None:
    queue = busy_queue()
    data = exported(queue, "csv")
    emptied(queue)
    User.objects.filter(username="eve").update(username="eva")
    rita, admin = Client(), Client()
    rita.force_login(User.objects.get(username="rita"))
    admin.force_login(factories.user("root", Role.ADMIN))
    url = reverse("review:annotation-import", args=[queue.slug])

    shown = rita.post(url, {"file": SimpleUploadedFile("answers.csv", data)})
    sent = {"token": shown.context["token"], "name": "answers.csv"}
    refused = rita.post(url, sent | {"save": "1"})
    checked = rita.post(url, sent | {"person-0": "eva", "check": "1"})
    assert Annotation.objects.count() == 0
    for_admin = admin.post(url, {"file": SimpleUploadedFile("answers.csv", data)})
    stored = rita.post(url, sent | {"person-0": "eva", "save": "1"})

    assert "There is no person &#x27;eve&#x27; here." in shown.content.decode()
    assert "Only an admin may add people" in shown.content.decode()
    assert ('name="create"' in shown.content.decode(), 'name="create"' in for_admin.content.decode()) == (False, True)
    assert refused.status_code == 200
    assert checked.context["plan"].is_refused is False
    assert (stored.status_code, stored["Location"]) == (302, queue.get_absolute_url())
    assert Annotation.objects.count() == 9
    assert rita.post(url, {"token": "0" * 64, "name": "a.csv"})["Location"] == url
    bad = rita.post(url, {"file": SimpleUploadedFile("answers.csv", b"a,b\n1,2\n")}).content.decode()
    assert "has no column item" in bad
