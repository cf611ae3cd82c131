"""Queues whose owner wrote a form: made by each door, answered, decided question by question, exported and compared."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.reports.services.people import compute_agreement
from evalsite.review.models import Adjudication, Annotation, Assignment, FinalLabel, Queue, ReviewItem
from evalsite.review.selectors.annotation_exports import act_rows
from evalsite.review.services.annotation_imports import import_annotations
from evalsite.review.services.annotation_plans import PeopleChoice
from evalsite.review.states import ItemStatus
from evalsite.review.tables.annotations import read_annotations
from tests import factories
from tests.evalsite.review.views.clients import HTMX, send, signed_in, take
from tests.factories import NOON
from tests.judging.management.test_run_commands import refusal, run_command

pytestmark = pytest.mark.django_db
PAIRS = b"id,question,response_a,response_b\np1,What is 2+2?,Four.,Five.\np2,What is 3+3?,Six.,Seven.\n"
SINGLES = b"id,question,response\ns1,What is 2+2?,Four.\n"
FORM = """
form:
  - {key: better, ask: Which response is better?, kind: preference, grades: 5}
  - {key: why, ask: Why?, kind: choices, options: {fact: Facts, style: Style}, show_if: {better: [2, -2]}}
  - {key: use, ask: How useful is it?, kind: scale, anchors: {1: useless, 5: complete}, per: response}
  - {key: days, ask: How many days?, kind: number, required: false}
  - {key: note, ask: Anything else?, kind: text, required: false}
"""


def created(text: str = FORM, data: bytes = PAIRS, **fields: str) -> Queue:
    """Return the queue that a researcher makes on the page."""
    rosa, _ = signed_in("rosa", Role.RESEARCHER)
    answer = post(rosa, text, data, **fields)
    assert answer.status_code == 302, answer.text
    return Queue.objects.get()


def post(client: Client, text: str, data: bytes, **fields: str) -> Any:
    values = {"quorum": "2", "mode": "blind", "order": "given", "form": text} | fields
    return client.post(reverse("review:queue-create"), {"file": SimpleUploadedFile("pairs.csv", data)} | values)


def parts(claim: Assignment, *, better: int, a: int, b: int, **more: Any) -> dict[str, Any]:
    """Return what somebody sends who thinks so of the item's responses, as they see the sides."""
    first, second = (b, a) if claim.swapped else (a, b)
    said = {
        "part-better": str(-better if claim.swapped else better),
        "part-use.a": str(first),
        "part-use.b": str(second),
    }
    return said | {f"part-{name}": value for name, value in more.items()}


def give(name: str, queue: Queue, **said: Any) -> tuple[Client, Assignment, Any]:
    client, _ = signed_in(name)
    claim = take(client, queue)
    return client, claim, send(client, claim, HTMX, **parts(claim, **said))


@pytest.mark.parametrize("data", [SINGLES, PAIRS])
def test_usual_guidelines_of_a_form_speak_of_no_rubric_and_no_choice_that_it_does_not_offer(data: bytes) -> None:
    queue = created("form:\n  - {key: note, ask: Anything else?, kind: text}\n", data)

    words = [word for word in ("rubric", "criterion", "Neither", "both") if word in queue.guidelines]
    assert (words, queue.guidelines.splitlines()[0]) == (
        [],
        "Read everything that is shown before you answer what is asked about it.",
    )


def test_a_form_is_asked_on_the_item_page_and_stored_in_the_order_of_the_item() -> None:
    queue = created()
    client, ada = signed_in("ada")
    claim = take(client, queue)

    page = " ".join(client.get(reverse("review:item-detail", args=[claim.item_id])).text.split())
    send(client, claim, HTMX, **parts(claim, better=2, a=5, b=1, why=["style", "fact"], days="3", note="So, so"))

    assert page.count('type="radio"') == 5 + 2 * 5
    assert page.count('type="checkbox" name="part-why"') == 2
    assert "A is slightly better" in page
    assert page.count("<strong>5</strong> complete") == 2
    assert "{&quot;part-better&quot;: [&quot;2&quot;, &quot;-2&quot;]}" in page
    answer = Annotation.objects.get(annotator=ada)
    assert (answer.label, answer.parts) == (
        "1",
        {"better": 2, "why": ["fact", "style"], "use.a": 5, "use.b": 1, "days": 3, "note": "So, so"},
    )
    assert len(answer.asked_hash) == 64


def test_a_refused_answer_keeps_what_was_said_and_names_what_is_missing() -> None:
    queue = created()
    client, _ = signed_in("ada")
    claim = take(client, queue)
    said = parts(claim, better=2, a=5, b=1, note="Kept") | {"part-use.a": ""}

    page = " ".join(send(client, claim, HTMX, **said).text.split())

    assert "Answer first: Why?; How useful is it? (response A)" in page
    assert ">Kept</textarea>" in page
    assert not Annotation.objects.exists()


def test_undo_brings_the_answers_back_as_the_person_saw_them() -> None:
    queue = created()
    client, claim, _ = give("ada", queue, better=2, a=5, b=1, why=["fact"])

    client.post(reverse("review:item-undo", args=[claim.item_id]), headers=HTMX)

    claim.refresh_from_db()
    kept = {name: value for name, value in claim.draft.items() if name.startswith("part-")}
    shown = parts(claim, better=2, a=5, b=1, why="fact")
    assert kept == {name: value for name, value in shown.items() if name.startswith("part-")}


def test_an_item_is_decided_question_by_question() -> None:
    queue = created(quorum="3")

    for name, better, a, b in (("ada", 2, 4, 1), ("ben", 1, 5, 1), ("cem", 1, 4, 2)):
        give(name, queue, better=better, a=a, b=b, why=["fact"] if better == 2 else [])

    item = ReviewItem.objects.get(material__key="p1")
    final = FinalLabel.objects.get(item=item)
    assert (item.status, item.label) == (ItemStatus.DECIDED, "1")
    agreed = {"better": 1, "use.a": 4, "use.b": 1}
    turned = {"better": -1, "use.a": 1, "use.b": 4}
    assert final.parts == (turned if item.is_turned else agreed)
    assert final.label == ("-1" if item.is_turned else "1")


def test_the_page_of_a_queue_says_that_only_labels_are_compared() -> None:
    queue = created()
    give("ada", queue, better=2, a=4, b=1, why=["fact"])
    give("ben", queue, better=2, a=2, b=1, why=["fact"])
    lead, _ = signed_in("lea", Role.RESEARCHER)

    page = " ".join(lead.get(queue.get_absolute_url()).text.split())

    assert '100.0%</span> <span class="stat-hint">1 item has two or more annotations; only their labels are' in page


def test_the_list_to_adjudicate_says_which_questions_are_open(django_assert_num_queries: Any) -> None:
    queue = created(data=PAIRS + b"p3,What is 4+4?,Eight.,Nine.\n")
    for name, said in (("ada", [(4, "fact")] * 3), ("ben", [(4, "fact"), (2, "fact"), (4, "style")])):
        client, _ = signed_in(name)
        for use, why in said:
            claim = take(client, queue)
            send(client, claim, HTMX, **parts(claim, better=2, a=use, b=1, why=[why], note=name))
    lead, _ = signed_in("lea", Role.RESEARCHER)

    with django_assert_num_queries(7):
        page = lead.get(reverse("review:adjudication-list"))

    rows = [(row["votes"], row["open_questions"]) for row in page.context["rows"]]
    assert sorted(questions for _, questions in rows) == [("use.a",), ("why",)]
    assert "not agreed: why" in page.text


def test_an_adjudicator_gets_what_is_agreed_filled_in() -> None:
    queue = created()
    give("ada", queue, better=1, a=4, b=1)
    give("ben", queue, better=-1, a=4, b=1)
    item = ReviewItem.objects.get(material__key="p1")
    lead, _ = signed_in("lea", Role.RESEARCHER)
    url = reverse("review:item-adjudicate", args=[item.pk])

    page = " ".join(lead.get(url).text.split())
    missing = lead.post(url, {"decision": "parts", "reason": "Between", "part-use.a": "4", "part-use.b": "1"}).text
    lead.post(
        url,
        {"decision": "parts", "reason": "B", "part-better": "-1", "part-use.a": "4", "part-use.b": "1"},
    )

    assert item.status == ItemStatus.NEEDS_ADJUDICATION
    assert 'name="part-use.a" value="4" checked' in page
    assert 'name="part-better" value="1" checked' not in page
    assert "better: A is slightly better; use.a: 4; use.b: 1" in page
    assert "Answer first: Which response is better?" in missing
    word = Adjudication.objects.get()
    assert (word.label, word.parts) == ("-1", {"better": -1, "use.a": 4, "use.b": 1})


def test_exports_have_a_column_for_each_question_and_response_and_come_back() -> None:
    queue = created()
    give("ada", queue, better=2, a=4, b=1, why=["style", "fact"], note="A, B")
    owner = User.objects.get(username="rosa")
    rows = list(act_rows(queue))
    rosa = Client()
    rosa.force_login(owner)

    text = b"".join(rosa.get(reverse("review:queue-export", args=[queue.slug, "csv"])).streaming_content).decode()  # type: ignore[attr-defined]
    (row,) = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    data = "\n".join(json.dumps(stored, default=str) for stored in rows).encode()
    Annotation.objects.all().delete()
    Assignment.objects.all().delete()
    ReviewItem.objects.update(answer_count=0, status="open", label="", decided_at=None)
    found = read_annotations(data, "a.jsonl").value
    assert found is not None
    import_annotations(queue=queue, file=found, people=PeopleChoice(), actor=owner, at=NOON)

    answers = {name: value for name, value in row.items() if name.startswith("answer.")}
    page = rosa.get(queue.get_absolute_url()).text
    assert "How useful is it? (response B)" in " ".join(page.split())
    assert answers == {
        "answer.better": "2", "answer.why": "fact,style", "answer.use.a": "4", "answer.use.b": "1", "answer.days": "",
        "answer.note": "A, B",
    }  # fmt: skip
    assert list(act_rows(queue)) == rows


def test_the_command_makes_the_same_queue_and_says_what_a_form_asks(tmp_path: Path) -> None:
    factories.user("rosa", Role.RESEARCHER)
    form, pairs = tmp_path / "form.yaml", tmp_path / "pairs.csv"
    form.write_text(FORM, encoding="utf-8")
    pairs.write_bytes(PAIRS)
    singles = tmp_path / "singles.csv"
    singles.write_bytes(SINGLES)

    asked = run_command("queue", "check-form", "--form-file", form)
    made = run_command("queue", "create", "--file", pairs, "--form-file", form, "--by", "rosa")
    shown = run_command("queue", "show", made["queue"])
    single = refusal("queue", "create", "--file", singles, "--form-file", form)
    wrong = refusal("queue", "check-form", "--form", "- {key: a, ask: A?}")

    assert [row["key"] for row in asked["form"]] == ["better", "why", "use", "days", "note"]
    assert shown["form"] == asked["form"]
    assert shown["labels"] == {"1": "A is better", "0": "Neither is better", "-1": "B is better"}
    assert "“better” compares two responses" in single
    assert "line 1: The question has no “kind”." in wrong


def test_a_new_queue_says_which_rows_nobody_is_asked_about(tmp_path: Path) -> None:
    queue = created(quorum="1")
    give("ada", queue, better=2, a=4, b=1, why=["fact"])
    form, pairs = tmp_path / "form.yaml", tmp_path / "pairs.csv"
    form.write_text(FORM, encoding="utf-8")
    pairs.write_bytes(PAIRS)

    made = run_command("queue", "create", "--file", pairs, "--form-file", form, "--quorum", "1", "--by", "rosa")

    why = "people have decided on the same responses in another queue, or an earlier row has them."
    assert (made["items"], made["warnings"]) == (1, [f"1 of 2 rows are not asked: {why}"])


def test_the_command_answers_a_form() -> None:
    queue = created()
    factories.user("ada", Role.ANNOTATOR)

    item = run_command("queue", "next", queue.slug, "--by", "ada")
    said = json.dumps({"better": 2, "why": ["style", "fact"], "use.a": "2", "use.b": 2})
    run_command("assignment", "annotate", item["id"], "--parts", said, "--by", "ada")

    assert Annotation.objects.get().parts["why"] == ["fact", "style"]
    better = Annotation.objects.get().parts["better"]
    assert better == (-2 if Assignment.objects.get().swapped else 2)


def test_an_answer_to_no_question_is_refused_and_json_is_read_as_it_is_meant() -> None:
    queue = created(
        "- {key: fine, ask: It is fine., kind: check}\n- {key: note, ask: Note?, kind: text, required: false}"
    )
    factories.user("ada", Role.ANNOTATOR)
    item = run_command("queue", "next", queue.slug, "--by", "ada")

    wrong = refusal("assignment", "annotate", item["id"], "--parts", '{"fine": true, "notes": "x"}', "--by", "ada")
    run_command("assignment", "annotate", item["id"], "--parts", '{"fine": true, "note": null}', "--by", "ada")

    assert "No question is called notes. There are: fine, note." in wrong
    assert Annotation.objects.get().parts == {"fine": True}


def test_the_preview_shows_the_questions_or_the_line_that_is_wrong() -> None:
    rosa, _ = signed_in("rosa", Role.RESEARCHER)
    url = reverse("review:form-preview")

    shown = rosa.post(url, {"form": FORM}, headers=HTMX).text
    wrong = rosa.post(url, {"form": "- {key: a}"}, headers=HTMX).text
    empty = rosa.post(url, {"form": " "}, headers=HTMX).text

    assert "Which response is better?" in shown
    assert "line 1: The question has no “kind”." in wrong
    assert "to see them here" in empty


def test_a_form_that_cannot_be_used_is_refused_on_its_field_and_the_file_is_kept() -> None:
    rosa, _ = signed_in("rosa", Role.RESEARCHER)

    wrong = post(rosa, "- {key: a, ask: A?, kind: guess}", PAIRS).text
    single = post(rosa, FORM, SINGLES).text
    both = post(rosa, FORM, PAIRS, scale="1, 2").text

    assert "line 1: There is no kind “guess”" in wrong
    assert "“better” compares two responses" in single
    assert "The form says what is asked, so leave the labels empty." in both
    assert not Queue.objects.exists()


def test_equal_responses_under_another_form_are_other_subjects() -> None:
    first = created()
    rosa = Client()
    rosa.force_login(factories.user("rita", Role.RESEARCHER))
    post(rosa, FORM.replace("grades: 5", "grades: 7"), PAIRS)

    second = Queue.objects.exclude(pk=first.pk).get()
    subjects = [set(queue.items.values_list("subject_id", flat=True)) for queue in (first, second)]
    assert not subjects[0] & subjects[1]


def test_agreement_is_reported_for_each_question_by_its_kind() -> None:
    queue = created()
    for name, better, why in (("ada", 2, ["fact", "style"]), ("ben", 2, ["fact"])):
        client, _ = signed_in(name)
        for days in ("3", "4"):
            claim = take(client, queue)
            send(client, claim, HTMX, **parts(claim, better=better, a=int(days), b=1, why=why, days=days, note=name))

    rows = {row.key: row for row in compute_agreement(queue.pk, {}).content.parts}

    assert {key: (row.pairable, row.disputed, row.metric) for key, row in rows.items()} == {
        "better": (2, 0, "Krippendorff's alpha, ordinal"),
        "why": (2, 2, "Krippendorff's alpha, MASI distance"),
        "use.a": (2, 0, "Krippendorff's alpha, ordinal"),
        "use.b": (2, 0, "Krippendorff's alpha, ordinal"),
        "days": (2, 0, "Krippendorff's alpha, interval"),
    }
    assert rows["use.a"].alpha.value == 1.0
    assert rows["better"].alpha.reason.startswith("Everyone chose the same label")
    # two items with {fact, style} and {fact}: Do = d, De = d * 4 * 2 / (4 * 3) = 2 d / 3, so 1 - 3 / 2
    assert rows["why"].alpha.value == pytest.approx(-0.5)
