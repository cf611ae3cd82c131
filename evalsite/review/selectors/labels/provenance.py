"""Every act of people in a queue with what it was about, how it was shown and what became of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When

from evalsite.base.json_types import JsonDict, JsonObject
from evalsite.review.models import Assignment, Queue
from evalsite.review.states import AssignmentStatus
from evalsite.review.tables.annotations import ACT_COLUMNS, ANSWERED, FLAGGED, ITEM_COLUMNS, SKIPPED, UNABLE

CHUNK = 2_000
PAIR, RESPONSE, MATERIAL = "pair", "response", "material"
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
        *("annotation__seen_before", "seen_before"),
    )
    for row in acts.values(*_PATHS.values(), *about, *named, *measured).iterator(CHUNK):
        yield _typed(row)


def parts_text(parts: JsonObject | None) -> str:
    """Return the values of a form's parts as files hold them, "" where there are none."""
    return json.dumps(parts, ensure_ascii=False, sort_keys=True) if parts else ""


def _acts(queue: Queue) -> QuerySet[Assignment]:
    has_act = (
        Q(annotation__isnull=False, annotation__left_out_at=None) | Q(status=AssignmentStatus.SKIPPED) | ~Q(flag="")
    )
    rank = Case(When(annotation__slot__isnull=False, then=Value(0)), default=Value(1), output_field=IntegerField())
    acts = Assignment.objects.filter(has_act, queue=queue).annotate(rank=rank)
    return acts.order_by("item_id", "rank", "annotation__slot", "annotator__username", "pk")


def _typed(row: JsonDict) -> JsonDict:
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
