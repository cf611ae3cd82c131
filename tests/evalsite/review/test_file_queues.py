"""Queues out of files, retests, notices and the annotator's own page."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.base.rows import BadInput
from evalsite.base.tables import write_xlsx
from evalsite.reports.services.people import compute_agreement
from evalsite.review.models import Annotation, Assignment, LabelTable, Notice, NoticeKind, Queue, ReviewItem
from evalsite.review.routing import ItemArm
from evalsite.review.services.annotation_store import GivenAnnotation, record_annotation, undo_annotation
from evalsite.review.services.claims import claim_next, record_heartbeat
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db
PAIRS = (
    b"id,question,response_a,response_b,system_a,system_b,scenario,lang,criterion,criterion_text\n"
    b"p1,What is 2+2?,Four.,Five.,secret-oak,secret-elm,maths,en,correctness,Is it right?\n"
    b"p2,What is 3+3?,Six.,Seven.,secret-oak,secret-elm,maths,de,correctness,Is it right?\n"
)


def signed_in(name: str, role: Role) -> Client:
    client = Client()
    client.force_login(factories.user(name, role))
    return client


def send(client: Client, data: bytes, file_name: str = "pairs.csv", **fields: str) -> Any:
    values = {"quorum": "2", "mode": "blind", "order": "given"} | fields
    return client.post(reverse("review:queue-create"), {"file": SimpleUploadedFile(file_name, data)} | values)


def test_a_file_of_pairs_becomes_a_queue_that_hides_the_systems() -> None:
    rosa, ada = signed_in("rosa", Role.RESEARCHER), signed_in("ada", Role.ANNOTATOR)

    answer = send(rosa, PAIRS)
    queue = Queue.objects.get()
    ada.post(reverse("review:item-next", args=[queue.slug]))
    claim = Assignment.objects.get()
    page = ada.get(reverse("review:item-detail", args=[claim.item_id]))

    assert answer["Location"] == queue.get_absolute_url()
    owned = rosa.get(queue.get_absolute_url()).text
    assert ("What is 2+2?" in owned, "Came with the file" in owned, "Imported file" in owned) == (
        True,
        False,
        False,
    )
    assert (queue.total_count, queue.open_count, queue.quorum) == (2, 2, 2)
    assert claim.item.material is not None
    assert claim.item.material.key == "p1"  # the file's own order
    text = page.content.decode()
    for shown in ("What is 2+2?", "Four.", "Five.", "Is it right?", "A is better"):
        assert shown in text
    assert "secret" not in text + str(page.headers)
    shown_first = text.index("Five.") < text.index("Four.")
    assert shown_first == claim.swapped


@pytest.mark.parametrize("kind", ["jsonl", "xlsx"])
def test_single_responses_take_the_scale_of_their_owner(kind: str) -> None:
    rows = [{"id": "1", "question": "Why?", "response": "Because.", "system": "oak"}]
    data = json.dumps(rows[0]).encode() if kind == "jsonl" else write_xlsx(rows, columns=list(rows[0]))
    rosa = signed_in("rosa", Role.RESEARCHER)

    send(rosa, data, f"single.{kind}", scale="1,2,3")

    queue = Queue.objects.get()
    assert [(label["value"], label["share"]) for label in queue.labels] == [("1", 0.0), ("2", 0.5), ("3", 1.0)]
    assert queue.items.count() == 1


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"id,text\n1,a\n", "The file has no responses"),
        (b"question,response_a,response_b\nWhy?,Yes.,\n", "A response is empty"),
        (b"id,question,response\n1,Why?,Yes.\n1,How?,No.\n", "stands at pairs.csv, line 2 with another prompt"),
    ],
)
def test_bad_files_are_refused_and_leave_nothing(data: bytes, sentence: str) -> None:
    page = send(signed_in("rosa", Role.RESEARCHER), data).content.decode()

    assert sentence in page
    assert Queue.objects.count() == 0


def test_members_named_by_a_command_hear_of_their_queue(tmp_path: Path, capsys: Any) -> None:
    ada = factories.user("ada", Role.ANNOTATOR)
    path = tmp_path / "pairs.csv"
    path.write_bytes(PAIRS)

    call_command("queue", "create", "--file", str(path), "--members", "ada", "--quorum", "1", "--json")

    made = json.loads(capsys.readouterr().out)
    notice = Notice.objects.get()
    assert (made["items"], notice.person, notice.kind) == (2, ada, NoticeKind.ASSIGNED)
    with pytest.raises(BadInput, match="no active account “nobody”"):
        call_command("queue", "create", "--file", str(path), "--members", "nobody")
    with pytest.raises(BadInput, match=r"--file: .*gone.csv cannot be read: No such file or directory."):
        call_command("queue", "create", "--file", str(tmp_path / "gone.csv"))


def test_a_search_of_members_keeps_the_file_and_makes_no_queue() -> None:
    ada, rosa = factories.user("ada", Role.ANNOTATOR), signed_in("rosa", Role.RESEARCHER)

    page = send(rosa, PAIRS, search="1", member_search="ada", name="Pilot")
    hidden = dict(
        re.findall(
            r'<input type="hidden"\s+name="(kept|kept_name|member_searched)"\s+value="([^"]*)"', page.content.decode()
        )
    )
    searched = Queue.objects.count()
    answer = rosa.post(
        reverse("review:queue-create"),
        {"quorum": "1", "mode": "blind", "order": "given", "member_search": "ada", "members": [ada.pk]} | hidden,
    )

    assert (searched, hidden["kept_name"], hidden["member_searched"]) == (0, "pairs.csv", "ada")
    queue = Queue.objects.get()
    assert answer["Location"] == queue.get_absolute_url()
    assert (queue.total_count, list(queue.members.all())) == (2, [ada])


def long_queue(items: int, share: float) -> Queue:
    rows = "".join(f"p{number},Question {number}?,Yes.,No.\n" for number in range(items))
    rosa = signed_in("rosa", Role.RESEARCHER)
    send(rosa, f"id,question,response_a,response_b\n{rows}".encode())
    Queue.objects.update(retest_share=share)
    return Queue.objects.get()


def answer_next(queue: Queue, person: Any, minutes: int, label: str = "1") -> Annotation:
    at = NOON + timedelta(minutes=minutes)
    claim = claim_next(queue=queue, annotator=person, at=at)
    done = at + timedelta(seconds=30)
    return record_annotation(
        item_id=claim.item_id, annotator=person, token=str(claim.token), answer=GivenAnnotation(label), at=done
    )


def test_own_items_come_back_with_the_sides_turned_and_look_the_same() -> None:
    queue, ada = long_queue(90, 0.5), factories.user("ada", Role.ANNOTATOR)

    for minute in range(80):  # an item comes back after 20 to 40 others
        answer_next(queue, ada, minute)

    again = list(ReviewItem.objects.filter(arm=ItemArm.RETEST).select_related("retest_of"))
    assert again
    for item in again:
        first, second = (Assignment.objects.get(item=one, annotator=ada) for one in (item.retest_of, item))
        assert first.swapped != second.swapped
        assert item.retest_of is not None
        assert (item.content_hash, item.quorum, item.only_for) == (item.retest_of.content_hash, 1, ada)
    queue.refresh_from_db()
    assert (queue.open_count, queue.total_count) == (90, 90)  # a retest is nobody else's work
    content = compute_agreement(queue.pk, {}).content
    assert content.summary.answers == 80 - len(again)
    assert (content.retests[0].same.value, content.retests[0].same.n) == (1.0, len(again))
    assert claim_next(queue=queue, annotator=factories.user("ben", Role.ANNOTATOR), at=NOON).item.only_for is None


def test_a_retest_can_be_undone_like_any_answer() -> None:
    queue, ada = long_queue(90, 0.5), factories.user("ada", Role.ANNOTATOR)
    minute = 0
    while not ReviewItem.objects.filter(arm=ItemArm.RETEST, answer_count=1).exists():
        answer_next(queue, ada, minute)
        minute += 1
    item = ReviewItem.objects.get(arm=ItemArm.RETEST)

    claim = undo_annotation(item_id=item.pk, annotator=ada, at=NOON + timedelta(minutes=minute))

    assert claim.item_open
    assert claim_next(queue=queue, annotator=ada, at=NOON + timedelta(minutes=minute)).item_id == item.pk


def test_idle_time_is_not_counted_as_work() -> None:
    queue, ada = long_queue(1, 0.0), factories.user("ada", Role.ANNOTATOR)
    claim = claim_next(queue=queue, annotator=ada, at=NOON)
    for seconds, idle in ((30, 0.0), (60, 30.0), (90, 60.0)):
        at = NOON + timedelta(seconds=seconds)
        assert record_heartbeat(item_id=claim.item_id, annotator=ada, token=str(claim.token), at=at, idle_seconds=idle)

    done = record_annotation(
        item_id=claim.item_id,
        annotator=ada,
        token=str(claim.token),
        answer=GivenAnnotation("1"),
        at=NOON + timedelta(seconds=100),
    )

    assert (done.seconds, done.active_seconds) == (100.0, 40.0)  # 30 s, nothing, nothing, 10 s


def test_splits_and_the_end_of_a_queue_are_told_to_adjudicators_once_while_unread() -> None:
    queue = long_queue(2, 0.0)
    ada, ben = factories.user("ada", Role.ANNOTATOR), factories.user("ben", Role.ANNOTATOR)
    for person, label in ((ada, "1"), (ben, "-1")):
        for minute in range(2):
            answer_next(queue, person, minute, label)

    kinds = dict(Notice.objects.filter(person__username="rosa").values_list("kind", "count"))
    assert kinds == {NoticeKind.NEEDS_ADJUDICATION: 2, NoticeKind.DONE: 1}
    assert not Notice.objects.filter(person=ada).exists()


def test_my_work_shows_agreement_only_where_the_owner_allows_it() -> None:
    client = signed_in("ada", Role.ANNOTATOR)
    person = client.get(reverse("review:queue-list")).context["user"]
    item = factories.review_item(status="settled", label="1")
    factories.annotation(item=item, label="1", annotator=person, active_seconds=12.0)
    factories.annotation(item=item, label="1")

    hidden = client.get(reverse("review:my-work")).content.decode()
    Queue.objects.update(shows_agreement=True)
    shown = client.get(reverse("review:my-work")).content.decode()

    assert "not shown by the owner" in hidden
    assert "100" in shown
    assert "12" in shown


def test_queue_create_keeps_the_file_that_was_looked_at() -> None:
    rosa = signed_in("rosa", Role.RESEARCHER)
    seen = send(rosa, PAIRS, check="1")
    form = seen.context["form"]

    answer = rosa.post(
        reverse("review:queue-create"),
        {name: form[name].value() for name in ("kept", "kept_name", "quorum", "mode", "order")},
    )

    assert "pairs.csv is already uploaded." in seen.content.decode()
    queue = Queue.objects.get()
    assert (answer["Location"], queue.source_file, queue.total_count) == (queue.get_absolute_url(), "pairs.csv", 2)


def test_queue_create_says_that_a_file_is_no_longer_kept() -> None:
    rosa = signed_in("rosa", Role.RESEARCHER)
    values = {"kept": "0" * 64, "kept_name": "pairs.csv", "quorum": "2", "mode": "blind", "order": "given"}

    answer = rosa.post(reverse("review:queue-create"), values)

    assert answer.context["form"].errors == {"file": ["This upload has expired. Choose the file again."]}
    assert not Queue.objects.exists()


def test_the_owner_words_the_question(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(PAIRS)
    call_command("queue", "create", "--file", str(path), "--question", "Which one would you send?")
    ada = signed_in("ada", Role.ANNOTATOR)

    page = ada.post(reverse("review:item-next", args=[Queue.objects.get().slug]), follow=True).content.decode()

    assert '<span class="part-text">Which one would you send?' in page
    assert "Which response is better?" not in page


def test_the_owner_changes_the_question_in_the_settings() -> None:
    queue, rosa = factories.queue(), signed_in("rosa", Role.RESEARCHER)
    fields = {"name": queue.name, "question": "Which one would you send?", "mode": "blind", "quorum": "2"}

    rosa.post(reverse("review:queue-update", args=[queue.slug]), fields | {"order": "urgent", "retest_share": "0.05"})

    assert Queue.objects.get().question == "Which one would you send?"


def test_a_file_of_pairs_gives_neither_its_name_nor_its_gold_away() -> None:
    rosa, ada = signed_in("rosa", Role.RESEARCHER), signed_in("ada", Role.ANNOTATOR)
    data = b"question,response_a,response_b,gold,system_a,system_b\nWhat is 2+2?,Four.,Five.,It is A,secret-oak,elm\n"

    refused = send(rosa, data, "gpt-4o_vs_claude-3.csv", name="Is secret-oak better?")
    send(rosa, data, "gpt-4o_vs_claude-3.csv", quorum="1")
    queue = Queue.objects.get()
    ada.post(reverse("review:item-next", args=[queue.slug]))
    claim = Assignment.objects.get()
    seen = [ada.get(reverse("review:item-detail", args=[claim.item_id])), ada.get(reverse("review:queue-list"))]
    values = {"token": str(claim.token), "label": "1"}
    seen.append(ada.post(reverse("review:item-annotate", args=[claim.item_id]), values, follow=True))
    seen.append(ada.get(reverse("review:item-detail", args=[claim.item_id])))
    seen.append(ada.post(reverse("review:item-reveal", args=[claim.item_id]), follow=True))

    assert "Annotators see this name, and it contains “secret-oak”" in refused.content.decode()
    assert re.fullmatch(r"Pairs \d+", queue.name)
    assert queue.slug == queue.name.lower().replace(" ", "-")
    text = "".join(page.content.decode() for page in seen)
    assert [secret in text for secret in ("gpt-4o", "claude", "It is A", "secret-oak")] == [False] * 4
    assert "gpt-4o_vs_claude-3.csv" in rosa.get(reverse("review:queue-list")).content.decode()


def test_a_file_of_single_answers_offers_no_reveal_where_there_is_nothing_to_show() -> None:
    rosa, ada = signed_in("rosa", Role.RESEARCHER), signed_in("ada", Role.ANNOTATOR)
    send(rosa, PAIRS, quorum="2")
    queue = Queue.objects.get()
    ada.post(reverse("review:item-next", args=[queue.slug]))
    claim = Assignment.objects.get()
    url = reverse("review:item-annotate", args=[claim.item_id])
    ada.post(url, {"token": str(claim.token), "label": "1"})

    page = ada.get(reverse("review:item-detail", args=[claim.item_id])).content.decode()
    ada.post(reverse("review:item-reveal", args=[claim.item_id]))

    assert reverse("review:item-reveal", args=[claim.item_id]) not in page
    assert Annotation.objects.get().revealed_at is None


def test_columns_that_nothing_reads_are_for_leads_alone() -> None:
    rosa, ada = signed_in("rosa", Role.RESEARCHER), signed_in("ada", Role.ANNOTATOR)
    data = b"Question text,Response A,Response B,Item ID,Origin\nWhat is 2+2?,Four.,Five.,p1,secret-column\n"

    checked = send(rosa, data, check="1")
    send(rosa, data, quorum="1")
    queue = Queue.objects.get()
    owned = rosa.get(queue.items.get().get_absolute_url()).text
    ada.post(reverse("review:item-next", args=[queue.slug]))
    claim = Assignment.objects.get()
    seen = [ada.get(reverse("review:item-detail", args=[claim.item_id]))]
    seen.append(
        ada.post(
            reverse("review:item-annotate", args=[claim.item_id]),
            {"token": str(claim.token), "label": "1"},
            follow=True,
        )
    )
    seen.append(ada.get(reverse("review:item-detail", args=[claim.item_id])))

    assert [(use.name, use.role) for use in checked.context["columns"]][-1] == ("Origin", "detail")
    assert ("Origin" in owned, "secret-column" in owned) == (True, True)
    assert not any("secret-column" in page.text for page in seen)


def test_the_columns_of_a_file_can_be_changed_on_its_page() -> None:
    rosa = signed_in("rosa", Role.RESEARCHER)
    data = b"foo,bar,baz\nWhat is two and two?,It is four.,It is five.\n"
    refused = send(rosa, data)
    columns = refused.context["columns"]
    form = refused.context["form"]
    kept = {name: form[name].value() for name in ("kept", "kept_name", "quorum", "mode", "order")}
    roles = {"foo": "prompt", "bar": "response-a", "baz": "response-b"}

    answer = rosa.post(
        reverse("review:queue-create"),
        kept | {"column": [use.name for use in columns], "field": [roles[use.name] for use in columns]},
    )

    queue = Queue.objects.get()
    material = queue.materials.get()
    assert answer["Location"] == queue.get_absolute_url()
    assert (material.question, material.response_a, material.response_b) == (
        "What is two and two?",
        "It is four.",
        "It is five.",
    )


def test_labels_of_a_queue_file_become_label_tables() -> None:
    rosa = signed_in("rosa", Role.RESEARCHER)
    data = b"question,response,rater,label\nWhy?,So it is.,ann,good\nWhy?,So it is.,ben,bad\n"

    send(rosa, data, "chats.csv", scale="bad,good")

    table, queue = LabelTable.objects.get(), Queue.objects.get()
    assert (queue.total_count, table.name, table.item_count, table.label_count) == (1, "chats", 1, 2)
    assert rosa.get(table.get_absolute_url()).status_code == 200


def test_chats_of_a_queue_file_are_shown_turn_by_turn() -> None:
    rosa = signed_in("rosa", Role.RESEARCHER)
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    send(rosa, json.dumps({"question": chat, "response": "So."}).encode(), "chats.jsonl")

    page = rosa.get(ReviewItem.objects.get().get_absolute_url()).text

    assert "Be brief." in page
    assert 'class="turn' in page


SINGLE = b"id,question,response\ns1,What is 2+2?,Four.\n"
UPSIDE_DOWN = "1 = best, 2, 3, 4 = worst"


def test_an_answer_to_a_question_about_columns_shows_the_queue_and_does_not_make_it() -> None:
    rosa = signed_in("rosa", Role.RESEARCHER)
    table = b"question,first,second\nWhat is up?,The sky is up there.,A roof.\nAnd down?,The earth is.,A floor is.\n"
    asked = send(rosa, table, name="Made of texts").context

    kept = {name: asked["form"].data[name] for name in ("kept", "kept_name", "name", "quorum", "mode", "order")}
    answer = json.dumps(asked["problems"][0].answers[0])
    shown = rosa.post(reverse("review:queue-create"), kept | {"answer": answer})

    assert answer == '["response=first"]'
    assert [row.texts for row in shown.context["found"].rows] == [("The sky is up there.",), ("The earth is.",)]
    assert Queue.objects.count() == 0


def test_a_scale_typed_highest_first_is_asked_about_with_what_each_label_is_worth() -> None:
    rosa = signed_in("rosa", Role.RESEARCHER)

    doubted = send(rosa, SINGLE, "single.csv", scale=UPSIDE_DOWN)
    stored = Queue.objects.count()
    kept = str(doubted.context["form"]["kept"].value())
    meant = {"scale": UPSIDE_DOWN, "order_is_meant": "on", "quorum": "2", "mode": "blind", "order": "given"}
    answer = rosa.post(reverse("review:queue-create"), meant | {"kept": kept, "kept_name": "single.csv"})

    text = " ".join(re.sub("<[^>]+>", " ", doubted.text).split())
    assert stored == 0
    assert "The scale reads as if its highest label came first: 1: best is worth 0%, 2 is worth 33%, " in text
    assert "1: best 0% 2 33% 3 67% 4: worst 100%" in text
    assert "The worth of the labels is as I mean it" in text
    assert answer["Location"] == Queue.objects.get().get_absolute_url()
    assert [label["share"] for label in Queue.objects.get().labels] == [0.0, 1 / 3, 2 / 3, 1.0]


def test_the_preview_says_what_each_label_is_worth() -> None:
    rosa = signed_in("rosa", Role.RESEARCHER)

    asked = send(rosa, SINGLE, "single.csv", scale="1 = useless, 2, 3 = complete", check="1").text
    default, pairs = send(rosa, SINGLE, "single.csv", check="1").text, send(rosa, PAIRS, check="1").text

    words = " ".join(re.sub("<[^>]+>", " ", asked).split())
    assert "What each label is worth Label Share of a full score 1: useless 0% 2 50% 3: complete 100%" in words
    assert ("Partly right" in default, "What each label is worth" in pairs) == (True, False)
    assert "The worth of the labels is as I mean it" not in asked
    assert Queue.objects.count() == 0


def test_a_command_means_a_scale_that_reads_upside_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "single.csv"
    path.write_bytes(SINGLE)

    call_command("queue", "check", "--file", str(path), "--scale", UPSIDE_DOWN, "--order-is-meant", "--json")

    told = json.loads(capsys.readouterr().out)
    assert told["worth"] == {"1: best": 0.0, "2": 1 / 3, "3": 2 / 3, "4: worst": 1.0}


def test_texts_are_shown_in_the_direction_that_they_are_written_in() -> None:
    ada = signed_in("ada", Role.ANNOTATOR)
    send(signed_in("rosa", Role.RESEARCHER), "id,question,response\nq1,מה השעה?,השעה שבע.\n".encode())
    queue = Queue.objects.get()
    ada.post(reverse("review:item-next", args=[queue.slug]))

    page = ada.get(reverse("review:item-detail", args=[Assignment.objects.get().item_id])).text

    shown = re.findall(r'<div class="(?:card-body|side-body) prose"\s+(?:id="[^"]*"\s+)?dir="auto"', page)
    assert len(shown) == 2  # the question and the response
