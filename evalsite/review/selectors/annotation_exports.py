"""What people said in a queue, with everything that it was about: tables, and tasks as Label Studio exports them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Case, IntegerField, Prefetch, Q, QuerySet, Value, When

from evalsite.base.rows import batches, row_pages
from evalsite.base.tables import Table
from evalsite.base.types import JsonDict, JsonObject, as_text
from evalsite.review.models import Assignment, FinalLabel, Material, Queue, ReviewItem
from evalsite.review.questions.forms import (
    LETTERS,
    SWAPPED,
    AnswerForm,
    FormQuestion,
    Kind,
    letters_seen,
    marks_in,
    value_text,
    weight_of,
)
from evalsite.review.questions.scales import Label, labels_from_json, meaning_of
from evalsite.review.selectors.content import rubric_lines, shown_text
from evalsite.review.selectors.subjects import (
    ShownSubject,
    form_of_item,
    form_of_queue,
    parts_in,
    subject_of,
    with_subjects,
)
from evalsite.review.states import AssignmentStatus, ItemStatus
from evalsite.review.tables.annotations import (
    ACT_COLUMNS,
    ANSWERED,
    COLUMNS,
    FLAGGED,
    ITEM_COLUMNS,
    LABEL,
    MATERIAL,
    NOTE,
    SKIPPED,
    UNABLE,
    ItemRecord,
    parts_text,
)

BATCH = 500
MOST_WORDED = 20  # labels of a scale that are written out
LABEL_STUDIO = "label-studio"
COMMENTS = "comments"  # for leads: no other files have them
WEIGHTS = ("weight", "weight_per_100_words")  # of marks
MATERIAL_COLUMNS = (
    *("question", "question_turns", "context", "reference", "criterion_text"),
    *("response_a", "response_a_turns", "attempt_a", "response_b", "response_b_turns", "attempt_b"),
    *("scale", "blind_label_text", "revised_label_text", "final_label_text"),
)
CHUNK = 2_000
PAIR, RESPONSE = "pair", "response"
_PATHS = {  # column: path from a claim
    "queue": "queue__slug",
    "item": "item_id",
    "item_hash": "item__content_hash",
    "criterion": "item__criterion",
    "scenario": "item__scenario",
    "language": "item__language",
    "reason": "item__reason",
    "reason_text": "item__reason_text",
    "arm": "item__arm",
    "inclusion_probability": "item__inclusion_probability",
    "retest_of": "item__retest_of_id",
    "only_for": "item__only_for__username",
    "quorum": "item__quorum",
    "status": "item__status",
    "final_label": "item__label",
    "settled_at": "item__decided_at",
    "adjudicated_label": "item__adjudication__label",
    "adjudicated_parts": "item__adjudication__parts",
    "adjudicator": "item__adjudication__adjudicator__username",
    "adjudication_reason": "item__adjudication__reason",
    "adjudication_adopted": "item__adjudication__adopted__annotator__username",
    "adjudicated_at": "item__adjudication__created_at",
    "adjudication_is_blind": "item__adjudication__is_blind",
    "annotator": "annotator__username",
    "slot": "annotation__slot",
    "saw_swapped": "swapped",
    "shown_order": "shown_order",
    "blind_label": "annotation__label",
    "blind_parts": "annotation__parts",
    "note": "annotation__note",
    "claimed_at": "claimed_at",
    "answered_at": "annotation__created_at",
    "seconds": "annotation__seconds",
    "edited_at": "annotation__edited_at",
    "revealed_at": "annotation__revealed_at",
    "revised_label": "annotation__revised_label",
    "revised_parts": "annotation__revised_parts",
    "revision_note": "annotation__revision_note",
    "revised_at": "annotation__revised_at",
    "skip_reason": "skip_reason",
    "cannot_judge": "annotation__cannot_judge",
    "flag": "flag",
    "mode": "annotation__mode",
    "guidelines_version": "annotation__guidelines_version",
    "prefilled": "prefilled",
    "prefilled_by": "prefilled_by",
}
_NULLABLE = frozenset(
    {"inclusion_probability", "retest_of", "settled_at", "adjudicated_at", "slot", "answered_at", "seconds"}
    | {"active_seconds", "edited_at", "revealed_at", "revised_at", "guidelines_version"}
    | {"adjudication_is_blind"}
)
SHOWN = {  # columns of the item and where they are found: in a file's row, else in the responses
    "case": ("material__key", "response_a__prompt__key"),
    "system_a": ("material__system_a", "response_a__system__name"),
    "system_b": ("material__system_b", "response_b__system__name"),
}


def annotations_table(queue: Queue, *, with_comments: bool = False) -> Table:
    """Return every annotation, skip and flag of a queue; `queue import-annotations` reads the columns that it knows.

    Of a form each question, of each response, has a column for what the person said and one for what was decided; marks
    have two more for what they weigh. With comments, what annotators and leads wrote to each other of an item is there.
    Columns of the queue's file that nothing reads come last, under their own names where these are free.
    """
    form = form_of_queue(queue)
    most = max((len(more) for more in queue.materials.exclude(more=[]).values_list("more", flat=True)), default=0)
    more = [f"{what}_{letter}" for letter in LETTERS[2 : 2 + most] for what in ("response", "system")]
    parts = form.parts if form is not None else ()
    answers = [f"{what}.{part.key}" for what in ("answer", "final") for part in parts]
    answers += [f"{what}.{part.key}" for what in WEIGHTS for part in parts if part.kind is Kind.SPANS]
    taken = (*COLUMNS, *MATERIAL_COLUMNS, *more, *answers, COMMENTS)
    details = _detail_names(queue, {*taken})
    columns = (*(taken if with_comments else taken[:-1]), *details.values())
    return Table("Annotations", columns, _rows(queue, details, form))


def _detail_names(queue: Queue, taken: Collection[str]) -> dict[str, str]:
    """Return the further columns of the queue's file with the name that each has in exports."""
    rows = Material.objects.filter(queue=queue).exclude(details={}).values_list("details", flat=True)
    names = dict.fromkeys(name for details in rows for name in details)
    return {name: f"details.{name}" if name in taken else name for name in names}


@dataclass(frozen=True, slots=True)
class _Shown:
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
    for batch in batches(act_rows(queue), BATCH):
        items = _prepared(ReviewItem.objects.filter(pk__in={row["item"] for row in batch}))
        shown = {item.pk: _shown(item) for item in items}
        yield from ((row, shown[row["item"]]) for row in batch)


def _prepared(items: QuerySet[ReviewItem]) -> QuerySet[ReviewItem]:
    labels = Prefetch("final_labels", FinalLabel.objects.order_by("-is_blind"))
    spoken = Assignment.objects.exclude(comments=[]).select_related("annotator").order_by("pk")
    return with_subjects(items).prefetch_related(labels, Prefetch("assignments", spoken))


def _comments(item: ReviewItem) -> str:
    """Return what annotators and leads wrote to each other of an item, a line each, in order."""
    names = [(claim.annotator.username, claim.comments) for claim in item.assignments.all()]
    said = sorted((at, by_lead, name, text) for name, comments in names for by_lead, text, at in comments)
    return "\n".join(f"{f'lead to {name}' if by_lead else name}: {text}" for _, by_lead, name, text in said)


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
        COMMENTS: _comments(item),
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
    """Yield the items of a queue with their annotations as Label Studio's JSON export has them, item by item.

    Open items without any are there too, to be annotated in Label Studio; `queue import-annotations` reads them then.
    """
    emails = dict(User.objects.filter(annotations__queue=queue).values_list("username", "email"))
    form = form_of_queue(queue)
    questions = {part.key: part for part in form.parts} if form is not None else {}
    separator = b"["
    for _, group in groupby(_with_open_items(queue), key=lambda pair: pair[0]["item"]):
        acts = list(group)
        task = _task(acts[0][1], [row for row, _ in acts], emails, questions)
        yield separator + b"\n" + json.dumps(task, ensure_ascii=False, default=str).encode()
        separator = b","
    yield b"\n]\n" if separator == b"," else b"[]\n"


def _with_open_items(queue: Queue) -> Iterator[tuple[JsonDict, _Shown]]:
    """Yield the same as `_with_items`, then the open items with which nobody has done anything yet."""
    seen = set[int]()
    for row, shown in _with_items(queue):
        seen.add(row["item"])
        yield row, shown
    for page in row_pages(_prepared(queue.items.filter(status=ItemStatus.OPEN, retest_of=None)), BATCH):
        yield from ((_untouched(item, queue), _shown(item)) for item in page if item.pk not in seen)


def _untouched(item: ReviewItem, queue: Queue) -> JsonDict:
    prompt = item.response_a.prompt.key if item.response_a is not None else ""
    facts = ItemRecord(
        queue=queue.slug,
        item=item.pk,
        item_hash=item.content_hash,
        case=item.material.key if item.material is not None else prompt,
        status=item.status,
        **{name: getattr(item, name) for name in ("criterion", "scenario", "language")},
    )
    return asdict(facts) | {"act": ""}


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
        "meta": {
            "queue": first["queue"],
            "status": first["status"],
            "final_label": shown.words(str(first["adjudicated_label"] or first["final_label"])),
            "item": first["item"],
            "item_hash": first["item_hash"],
        },
    }


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
    controls = {name: f"_{name}" if name in questions else name for name in (LABEL, NOTE)}  # no question begins so
    yield _chosen(controls[LABEL], about, [shown.words(label)])
    for name, value in parts.items():
        part = questions.get(name)
        if part is not None and part.kind is Kind.SPANS:
            yield from _marks(shown, part, value)
        else:
            yield _chosen(name, about, value if part is not None and part.kind is Kind.CHOICES else [value_text(value)])
    note = row["revision_note"] or row["note"]
    if note:
        yield {"from_name": controls[NOTE], "to_name": about, "type": "textarea", "value": {"text": [note]}}


def shown_value(row: JsonDict, name: str, *, prefix: str = "") -> str:
    """Return one of the values of SHOWN from a row that holds all their paths."""
    return next((value for path in SHOWN[name] if (value := row[prefix + path])), "")


def kind_of(*, has_material: bool, is_pair: bool) -> str:
    """Return how files call what an item is about."""
    return MATERIAL if has_material else PAIR if is_pair else RESPONSE


def act_rows(queue: Queue, *, item_ids: Collection[int] | None = None) -> Iterator[JsonDict]:
    """Yield each answer that counts, skip and flag of a queue: by item, answers first by slot, then by person.

    Labels are in system space: 1 = system A is better, whatever side the person saw it on. The rows hold all that
    `queue import-annotations` needs to bring the answers back; a second export then gives the same bytes.
    """
    acts = _acts(queue) if item_ids is None else _acts(queue).filter(item_id__in=item_ids)
    named = [f"item__{path}" for paths in SHOWN.values() for path in paths]
    about = [f"item__{name}_id" for name in ("subject", "material", "response_b")]
    measured = (
        *("status", "annotation__id", "annotation__active_seconds", "active_seconds"),
        *("annotation__seen_before", "seen_before", "annotation__left_out_at"),
    )
    for row in acts.values(*_PATHS.values(), *about, *named, *measured).iterator(CHUNK):
        yield _typed(row)


def _acts(queue: Queue) -> QuerySet[Assignment]:
    has_act = (
        Q(annotation__isnull=False, annotation__left_out_at=None) | Q(status=AssignmentStatus.SKIPPED) | ~Q(flag="")
    )
    rank = Case(When(annotation__slot__isnull=False, then=Value(0)), default=Value(1), output_field=IntegerField())
    acts = Assignment.objects.filter(has_act, queue=queue).annotate(rank=rank)
    return acts.order_by("item_id", "rank", "annotation__slot", "annotator__username", "pk")


def _typed(row: JsonDict) -> JsonDict:
    if row["annotation__left_out_at"] is not None:  # the flag alone is told
        row |= {path: None for path in row if path.startswith("annotation__")}
    is_annotation = row["annotation__id"] is not None
    act = UNABLE if row["annotation__cannot_judge"] else ANSWERED
    is_skip = row["status"] == AssignmentStatus.SKIPPED
    typed = {column: row[path] for column, path in _PATHS.items()} | {
        "subject": kind_of(
            has_material=row["item__material_id"] is not None, is_pair=row["item__response_b_id"] is not None
        ),
        "blind_parts": parts_text(row["annotation__parts"]),
        "revised_parts": parts_text(row["annotation__revised_parts"]),
        "prefilled": parts_text(row["prefilled"]),
        "adjudicated_parts": parts_text(row["item__adjudication__parts"]),
        "subject_id": row["item__subject_id"],
        **{name: shown_value(row, name, prefix="item__") for name in SHOWN},
        "act": act if is_annotation else SKIPPED if is_skip else FLAGGED,
        "active_seconds": row["annotation__active_seconds"] if is_annotation else row["active_seconds"],
        "seen_before": row["annotation__seen_before"] if is_annotation else row["seen_before"],
    }
    columns = (*ITEM_COLUMNS, *ACT_COLUMNS)
    return {name: typed[name] if name in _NULLABLE or typed[name] is not None else "" for name in columns}
