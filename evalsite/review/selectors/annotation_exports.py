"""What people said in a queue, with everything that it was about: tables, and tasks as Label Studio exports them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Prefetch

from evalsite.base.json_types import JsonDict, JsonObject
from evalsite.base.tables import Table
from evalsite.review.models import FinalLabel, Material, Queue, ReviewItem
from evalsite.review.questions.forms import LETTERS, SWAPPED, AnswerForm, FormQuestion, Kind, letters_seen, value_text
from evalsite.review.questions.marks import marks_in, weight_of
from evalsite.review.questions.scales import Label, labels_from_json, meaning_of
from evalsite.review.selectors.labels.provenance import act_rows
from evalsite.review.selectors.labels.subjects import (
    ShownSubject,
    form_of_item,
    form_of_queue,
    parts_in,
    subject_of,
    with_subjects,
)
from evalsite.review.selectors.screens.content import rubric_lines, shown_text
from evalsite.review.tables.annotations import ANSWERED, COLUMNS
from judging.specs.records.values import as_text

BATCH = 500
MOST_WORDED = 20  # labels of a scale that are written out
LABEL_STUDIO = "label-studio"
WEIGHTS = ("weight", "weight_per_100_words")  # of marks
MATERIAL_COLUMNS = (
    *("question", "question_turns", "context", "reference", "criterion_text"),
    *("response_a", "response_a_turns", "attempt_a", "response_b", "response_b_turns", "attempt_b"),
    *("scale", "blind_label_text", "revised_label_text", "final_label_text"),
)


def annotations_table(queue: Queue) -> Table:
    """Return every annotation, skip and flag of a queue; `queue import-annotations` reads the columns that it knows.

    Of a form each question, of each response, has a column for what the person said and one for what was decided; marks
    have two more for what they weigh.
    Columns of the queue's file that nothing reads come last, under their own names where these are free.
    """
    details, form = _detail_names(queue), form_of_queue(queue)
    most = max((len(more) for more in queue.materials.exclude(more=[]).values_list("more", flat=True)), default=0)
    more = [f"{what}_{letter}" for letter in LETTERS[2 : 2 + most] for what in ("response", "system")]
    parts = form.parts if form is not None else ()
    answers = [f"{what}.{part.key}" for what in ("answer", "final") for part in parts]
    answers += [f"{what}.{part.key}" for what in WEIGHTS for part in parts if part.kind is Kind.SPANS]
    columns = (*COLUMNS, *MATERIAL_COLUMNS, *more, *answers, *details.values())
    return Table("Annotations", columns, _rows(queue, details, form))


def _detail_names(queue: Queue) -> dict[str, str]:
    """Return the further columns of the queue's file with the name that each has in exports."""
    names: dict[str, str] = {}
    for details in Material.objects.filter(queue=queue).exclude(details={}).values_list("details", flat=True):
        for name in details:
            names.setdefault(name, name if name not in (*COLUMNS, *MATERIAL_COLUMNS) else f"details.{name}")
    return names


@dataclass(frozen=True, slots=True)
class _Shown:
    """One item as exports have it."""

    fields: JsonDict
    details: JsonDict
    labels: tuple[Label, ...]
    systems: tuple[str, ...]
    final: JsonObject  # the answers to a form that were decided, by question

    def words(self, label: str) -> str:
        """Return a label in words, in the order of the responses."""
        return shown_text(label, self.labels, swapped=False)


def _rows(queue: Queue, details: dict[str, str], form: AnswerForm | None) -> Iterator[JsonDict]:
    for row, shown in _with_items(queue):
        yield (
            row
            | shown.fields
            | (_answers(form, row, shown) if form is not None else {})
            | {
                "blind_label_text": shown.words(row["blind_label"]),
                "revised_label_text": shown.words(row["revised_label"]),
                "final_label_text": shown.words(row["adjudicated_label"] or row["final_label"]),
                **{column: as_text(shown.details.get(name)) for name, column in details.items()},
            }
        )


def _answers(form: AnswerForm, row: JsonDict, shown: _Shown) -> JsonDict:
    """Return the answers to each question of a form, several choices joined by commas, and what marks weigh."""
    said = {"answer": parts_in(row["revised_parts"] or row["blind_parts"]), "final": shown.final}
    answers: JsonDict = {
        f"{what}.{part.key}": value_text(values.get(part.key, ""))
        for what, values in said.items()
        for part in form.parts
    }
    for part in form.parts:
        if part.kind is Kind.SPANS and part.key in said["answer"]:
            weight = weight_of(said["answer"][part.key], dict(part.weights))
            words = len(shown.fields[_marked_field(part)].split())
            weights = (weight, round(100 * weight / words, 2) if words else "")
            answers |= {f"{what}.{part.key}": value for what, value in zip(WEIGHTS, weights, strict=True)}
    return answers


def _with_items(queue: Queue) -> Iterator[tuple[JsonDict, _Shown]]:
    """Yield what each person did with its item, some hundred at a time."""
    acts = act_rows(queue)
    while batch := list(islice(acts, BATCH)):
        items = with_subjects(ReviewItem.objects.filter(pk__in={row["item"] for row in batch}))
        items = items.prefetch_related(Prefetch("final_labels", FinalLabel.objects.order_by("-is_blind")))
        shown = {item.pk: _shown(item) for item in items}
        yield from ((row, shown[row["item"]]) for row in batch)


def _shown(item: ReviewItem) -> _Shown:
    subject, labels = subject_of(item, with_names=True), labels_from_json(item.subject.labels)
    texts = [response.text for response in subject.responses]
    fields: JsonDict = {
        "question": subject.prompt.text,
        "question_turns": _turns(item.response_a.prompt.messages) if item.response_a is not None else "",
        "context": subject.prompt.context,
        "response_a": texts[0],
        "response_b": "",
        **{f"response_{letter}": text for letter, text in zip(LETTERS, texts, strict=False)},
        **{f"system_{LETTERS[n]}": row.system for n, row in enumerate(subject.responses) if n > 1},
        "reference": subject.reference,
        "criterion_text": _criterion_text(subject),
        "scale": scale_in_words(labels),
    }
    for letter, response in (("a", item.response_a), ("b", item.response_b)):
        fields[f"response_{letter}_turns"] = _turns(response.messages) if response is not None else ""
        fields[f"attempt_{letter}"] = response.attempt if response is not None else ""
    details = item.material.details if item.material is not None else {}
    systems = tuple(response.system for response in subject.responses)
    return _Shown(fields, details, labels, systems, _final_answers(item))


def _marked_field(part: FormQuestion) -> str:
    """Return the column that has the text which is marked."""
    return f"response_{part.side or 'a'}" if part.marked_in == "response" else part.marked_in


def _final_answers(item: ReviewItem) -> JsonObject:
    """Return what was decided on each question of a form, in the order of the item's responses."""
    parts: JsonObject = next((label.parts for label in item.final_labels.all()), {})
    return form_of_item(item).turned(parts, letters_seen(SWAPPED)) if parts and item.is_turned else parts


def _turns(messages: Sequence[JsonDict]) -> str:
    """Return a conversation as files hold it: as JSON, "" where there is none."""
    return json.dumps(messages, ensure_ascii=False) if messages else ""


def _criterion_text(subject: ShownSubject) -> str:
    """Return the rubric's part that people were shown, a line each."""
    lines = [": ".join(filter(None, (line.title, line.text))) for line in rubric_lines(subject)]
    return "\n".join(filter(None, lines))


def scale_in_words(labels: Sequence[Label]) -> str:
    """Return the labels with what they mean; of a long scale its ends."""
    if len(labels) > MOST_WORDED:
        return f"{labels[0].value} to {labels[-1].value}"
    words = [(row.value, meaning_of(row) or row.text) for row in labels]
    return ", ".join(value if text == value else f"{value} = {text}" for value, text in words)


# ------------------------------------------------------------ Label Studio
def label_studio_json(queue: Queue) -> Iterator[bytes]:
    """Yield the items of a queue with their annotations as Label Studio's JSON export has them, item by item."""
    emails = dict(User.objects.filter(annotations__queue=queue).values_list("username", "email"))
    form = form_of_queue(queue)
    questions = {part.key: part for part in form.parts} if form is not None else {}
    separator = b"["
    for _, group in groupby(_with_items(queue), key=lambda pair: pair[0]["item"]):
        acts = list(group)
        task = _task(acts[0][1], [row for row, _ in acts], emails, questions)
        yield separator + b"\n" + json.dumps(task, ensure_ascii=False, default=str).encode()
        separator = b","
    yield b"\n]\n" if separator == b"," else b"[]\n"


def _task(
    shown: _Shown, acts: Sequence[JsonDict], emails: dict[str, str], questions: dict[str, FormQuestion]
) -> JsonDict:
    first, has_several = acts[0], len(shown.systems) > 1
    data = {name: shown.fields[name] for name in ("question", "context", "reference", "criterion_text", "scale")}
    for letter, system in zip(LETTERS, shown.systems, strict=False):
        data[f"response_{letter}" if has_several else "response"] = shown.fields[f"response_{letter}"]
        data[f"system_{letter}" if has_several else "system"] = system
    data |= {name: first[name] for name in ("case", "criterion", "scenario", "language")}
    data = {name: value for name, value in data.items() if value}
    return {
        "id": first["item"],
        "data": data | {name: value for name, value in shown.details.items() if name not in data},
        "annotations": [_annotation(shown, row, emails, questions) for row in acts if row["act"]],
        "predictions": [],
        "meta": {"queue": first["queue"], "status": first["status"], "final_label": shown.words(_final(first))},
    }


def _final(row: JsonDict) -> str:
    return str(row["adjudicated_label"] or row["final_label"])


def _annotation(shown: _Shown, row: JsonDict, emails: dict[str, str], questions: dict[str, FormQuestion]) -> JsonDict:
    name, is_answer = row["annotator"], row["act"] == ANSWERED
    label = row["revised_label"] or row["blind_label"]
    results = list(_results(shown, row, label, questions)) if is_answer else []
    return {
        "completed_by": {"email": emails.get(name) or name, "username": name},
        "result": results,
        "was_cancelled": not is_answer,
        "ground_truth": False,
        "created_at": _moment(row["answered_at"] or row["claimed_at"]),
        "lead_time": row["active_seconds"] or row["seconds"],
    }


def _moment(value: Any) -> str | None:
    return value.isoformat() if value is not None else None


def _marks(shown: _Shown, part: FormQuestion, value: Sequence[str]) -> Iterator[JsonDict]:
    """Yield marks as Label Studio's labels: where they begin and end, in code points, what is marked, and as what."""
    field = _marked_field(part)
    about = "response" if field == "response_a" and len(shown.systems) == 1 else field
    for mark in marks_in(value):
        marked = {"start": mark.start, "end": mark.end, "text": shown.fields[field][mark.start : mark.end]}
        yield {"from_name": part.key, "to_name": about, "type": "labels", "value": marked | {"labels": [mark.label]}}


def _chosen(control: str, about: str, choices: list[str]) -> JsonDict:
    return {"from_name": control, "to_name": about, "type": "choices", "value": {"choices": choices}}


def _results(shown: _Shown, row: JsonDict, label: str, questions: dict[str, FormQuestion]) -> Iterable[JsonDict]:
    """Yield what a person said as results of controls: the label, the parts of its form, and the note."""
    about = "response_a" if len(shown.systems) > 1 else "response"
    parts = parts_in(row["revised_parts"] or row["blind_parts"])
    yield _chosen("label", about, [shown.words(label)])
    for name, value in parts.items():
        part = questions.get(name)
        if part is not None and part.kind is Kind.SPANS:
            yield from _marks(shown, part, value)
        else:
            yield _chosen(name, about, value if part is not None and part.kind is Kind.CHOICES else [as_text(value)])
    note = row["revision_note"] or row["note"]
    if note:
        yield {"from_name": "note", "to_name": about, "type": "textarea", "value": {"text": [note]}}
