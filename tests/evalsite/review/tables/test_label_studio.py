"""Queues in which errors are marked in Label Studio: exported, annotated there, imported."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.review.models import Annotation, Assignment, Queue
from evalsite.review.questions.forms import seal_of
from evalsite.review.selectors.annotation_exports import label_studio_json
from evalsite.review.selectors.subjects import form_of_queue
from evalsite.review.services.annotation_imports import AnnotationImportRefused, import_annotations
from evalsite.review.services.annotation_plans import PeopleChoice
from evalsite.review.services.queues import delete_queue
from evalsite.review.tables.annotations import read_annotations
from tests import factories
from tests.evalsite.review.test_form_queues import created, post
from tests.evalsite.review.views.clients import send, signed_in, take
from tests.factories import NOON

pytestmark = pytest.mark.django_db
SINGLES = "id,question,response\np1,What is 2+2?,\U0001f600 It is four.\np2,What is 3+3?,It is six.\n".encode()
FORM = """
- {key: errors, ask: Mark the errors., kind: spans, labels: [minor, major]}
- {key: topic, ask: Which topic?, kind: choice, options: {sums: Sums, words: Words}}
"""
EVERY = """
- {key: topic, ask: Which topic?, kind: choice, options: {Bill: Billing, bill: A bill}}
- {key: why, ask: Why?, kind: choices, options: [Stil, stil]}
- {key: fine, ask: It is fine., kind: check}
- {key: rank, ask: Order them., kind: ranking}
- {key: cost, ask: How much is it?, kind: number}
- {key: label, ask: How is it called?, kind: text}
- {key: note, ask: Anything else?, kind: text}
"""
PAIR = b"id,question,response_a,response_b\np1,What is 2+2?,Four.,Five.\n"
Task = dict[str, Any]


def label(start: int, end: int, text: str, name: str) -> Task:
    """Return a result as Label Studio writes it for `<Labels name="errors" toName="response">` on a text."""
    value = {"start": start, "end": end, "text": text, "labels": [name]}
    names = {"from_name": "errors", "to_name": "response", "type": "labels"}
    return {"id": "wSu1", "origin": "manual", **names, "value": value}


def topic(word: str) -> Task:
    names = {"from_name": "topic", "to_name": "response", "type": "choices"}
    return {"id": "kX2a", "origin": "manual", **names, "value": {"choices": [word]}}


def annotated(queue: Queue, *results: list[Task] | None) -> list[Task]:
    """Return the tasks of a queue as Label Studio exports them when somebody has annotated, or skipped, each."""
    tasks: list[Task] = json.loads(b"".join(label_studio_json(queue)))
    for number, (task, result) in enumerate(zip(tasks, results, strict=True)):
        task["id"] = 900 + number  # Label Studio numbers tasks itself, and keeps their meta
        task["annotations"] = [
            {
                "id": 70 + number,
                "completed_by": {"id": 3, "email": "ada@example.org", "first_name": "", "last_name": ""},
                "result": result or [],
                "was_cancelled": result is None,
                "created_at": "2026-03-01T12:00:30.500000Z",
                "updated_at": "2026-03-01T12:01:00Z",
                "lead_time": 12.5,
            }
        ]
    return tasks


def bring(queue: Queue, tasks: list[Task]) -> dict[str, int]:
    file = read_annotations(json.dumps(tasks).encode(), "project.json", form_of_queue(queue))
    assert file.value is not None, file.problems
    people = PeopleChoice({"ada@example.org": "ada"})
    return import_annotations(queue=queue, file=file.value, people=people, actor=None, at=NOON).counts()


def test_marks_of_label_studio_become_annotations_and_a_second_import_changes_nothing() -> None:
    queue = created(FORM, SINGLES, quorum="1")
    factories.user("ada", Role.ANNOTATOR)
    marks = [label(2, 4, "It", "minor"), label(8, 12, "four", "major"), topic("Sums")]  # the emoji is one character
    tasks = annotated(queue, marks, [topic("words")])

    first, second = bring(queue, tasks), bring(queue, tasks)
    again = bring(queue, json.loads(b"".join(label_studio_json(queue)).replace(b'"username": "ada"', b'"id": 3')))

    rows = Annotation.objects.order_by("item__material__key").select_related("annotator", "assignment")
    assert [row.parts for row in rows] == [
        {"errors": [seal_of("\U0001f600 It is four."), "2-4:minor", "8-12:major"], "topic": "sums"},
        {"errors": [seal_of("It is six.")], "topic": "words"},
    ]
    assert {(row.annotator.username, row.seconds, row.created_at.isoformat()) for row in rows} == {
        ("ada", 12.5, "2026-03-01T12:00:30.500000+00:00")
    }
    assert (first["answers"], first["unchanged"]) == (2, 0)
    assert [(plan["answers"], plan["unchanged"]) for plan in (second, again)] == [(0, 2), (0, 2)]
    assert list(queue.items.values_list("status", flat=True)) == ["settled", "settled"]


def test_what_was_skipped_in_label_studio_is_skipped_here() -> None:
    queue = created(FORM, SINGLES, quorum="1")
    factories.user("ada", Role.ANNOTATOR)

    bring(queue, annotated(queue, None, [topic("sums")]))

    claims = Assignment.objects.order_by("item__material__key")
    assert [(row.status, row.skip_reason) for row in claims] == [
        ("skipped", "Skipped in Label Studio"),
        ("submitted", ""),
    ]


def without_item(tasks: list[Task]) -> None:
    del tasks[0]["meta"]["item_hash"]


def other_text(tasks: list[Task]) -> None:
    tasks[0]["annotations"][0]["result"][0]["value"] |= {"start": 3, "end": 5}


def other_label(tasks: list[Task]) -> None:
    tasks[0]["annotations"][0]["result"][0]["value"]["labels"] = ["critical"]


def other_control(tasks: list[Task]) -> None:
    tasks[0]["annotations"][0]["result"][0]["from_name"] = "boxes"


def overlapping(tasks: list[Task]) -> None:
    tasks[0]["annotations"][0]["result"].append(label(3, 5, "t ", "major"))


def undated(tasks: list[Task]) -> None:
    tasks[0]["annotations"][0]["created_at"] = "yesterday"


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (without_item, "The task names no item. Export the queue for Label Studio, and annotate these tasks."),
        (other_text, "errors marks “It”, but at 3 to 5 the text says “t ”."),
        (other_label, "errors takes one label each (minor, major) from a start to an end in plain text."),
        (other_control, "No question is called boxes. There are: errors, topic."),
        (undated, "created_at or lead_time of the annotation cannot be read."),
        (
            overlapping,
            "Answer first: Mark the errors. Mark parts of the text as it is shown now, or choose “Nothing to mark”. "
            "Marks must not overlap.",
        ),
    ],
)
def test_what_does_not_fit_is_said_and_nothing_is_stored(spoil: Callable[[list[Task]], None], sentence: str) -> None:
    queue = created(FORM, SINGLES, quorum="1")
    client, _ = signed_in("anna", Role.ADMIN)
    tasks = annotated(queue, [label(2, 4, "It", "minor"), topic("Sums")], [topic("Sums")])
    spoil(tasks)

    file = BytesIO(json.dumps(tasks).encode())
    file.name = "project.json"
    page = client.post(reverse("review:annotation-import", args=[queue.slug]), {"file": file})

    assert [problem.message for problem in page.context["problems"]] == [sentence]
    assert not Annotation.objects.exists()


def test_another_answer_than_the_one_that_is_here_is_refused() -> None:
    queue = created(FORM, SINGLES, quorum="1")
    client, _ = signed_in("ada")
    tasks = annotated(queue, [topic("sums")], [topic("sums")])
    for _ in range(2):
        send(client, take(client, queue), None, **{"part-errors": "none", "part-topic": "words"})

    with pytest.raises(AnnotationImportRefused, match="nothing is overwritten"):
        bring(queue, tasks)


def test_a_queue_without_questions_of_its_own_refuses_tasks_once() -> None:
    queue = created(FORM, SINGLES, quorum="1")
    tasks = annotated(queue, [topic("sums")], [topic("words")])

    read = read_annotations(json.dumps(tasks).encode(), "project.json")

    assert read.value is None
    assert [(said.message, said.hint) for said in read.problems] == [
        (
            "Label Studio's annotations are read into queues with questions of their own.",
            "Import the file as labels, or create a queue with a form from it.",
        )
    ]


def test_an_export_brings_the_answers_of_every_kind_of_question_back() -> None:
    queue = created(EVERY, PAIR, quorum="1")
    client, _ = signed_in("ada")
    claim = take(client, queue)
    said: dict[str, Any] = {
        "topic": "bill",
        "why": ["stil", "Stil"],
        "fine": "met",
        "rank": "a,b",
        "cost": "1234567.25",
        "note": "Asked " * 5000,
    }
    parts = {f"part-{key}": value for key, value in said.items()}
    send(client, claim, label="As it is", note="Beside the questions", **parts)
    before = Annotation.objects.values("parts", "label", "note").get()
    tasks = json.loads(b"".join(label_studio_json(queue)))
    delete_queue(queue=queue, actor=None)  # another site numbers its items otherwise
    again = post(signed_in("lea", Role.RESEARCHER)[0], EVERY, PAIR, quorum="1")
    assert again.status_code == 302

    bring(Queue.objects.get(), tasks)

    assert Annotation.objects.values("parts", "label", "note").get() == before
    assert before["parts"]["topic"] == "bill"
