"""MQM: errors that people marked in translations, one a row, as the WMT shared tasks publish them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from evalsite.base.json_types import JsonDict
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import CaseInput, LabelRecord, Place, ResponseRow, Scale
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import Shape
from judging.specs.records.tool_rows import ToolRow
from judging.specs.records.values import as_text

_MARK = re.compile(r"</?v>")  # around the words of an error
_NO_ERROR = "no-error"
_WEIGHTS = {"major": 5.0, "critical": 5.0, "minor": 1.0, "neutral": 0.0, _NO_ERROR: 0.0}
_SCALE: Scale = (-25.0, 0.0)
_PUNCTUATION, _NO_TRANSLATION = 0.1, 25.0


@dataclass(slots=True)
class _Rating:
    """All errors that a person marked in one translation."""

    case: int
    response: int
    rater: str
    place: Place
    weight: float = 0.0
    errors: list[JsonDict] = field(default_factory=list)


def _weight(category: str, severity: str) -> float | None:
    """Return what an error counts; None for a severity that is not known."""
    weight, kind = _WEIGHTS.get(severity), category.strip().lower()
    if weight and kind.startswith(("non-translation", "source")):
        return _NO_TRANSLATION if kind.startswith("non") else 0.0
    return _PUNCTUATION if weight == 1.0 and kind == "fluency/punctuation" else weight


@Shape(
    "mqm",
    "MQM: errors in translations",
    lambda part: part.has("system", "source", "target", "category", "severity", "rater"),
    "columns system, rater, source, target, category and severity",
    tool_name="WMT MQM",
    export="Take a table with a row for each error (mqm_*.tsv), as the WMT shared tasks publish them.",
    comes="Sources are cases and translations responses. What each person marked in a translation is one label: the "
    "negative sum of the weights (major 5, minor 1, punctuation 0.1, no translation 25); the errors are its details.",
    stays="Errors of a severity that is none of these are counted.",
)
def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    ratings: dict[tuple[int, str], _Rating] = {}
    for place, fields in part.placed():
        row = ToolRow(part, collector, upload, place, fields)
        case = collector.case(place, _case(row))
        translation = _MARK.sub("", row.text("target"))
        response = ResponseRow(row.system("system"), translation, is_same_if_equal=True)
        number = collector.response(place, case, response) if case is not None else None
        if case is None or number is None:
            continue
        rater, category, severity = row.text("rater").strip(), row.text("category"), row.text("severity")
        key = severity.strip().lower().replace("_", "-").replace(" ", "-")
        rating = ratings.setdefault((number, rater), _Rating(case, number, rater, place))
        weight = _weight(category, key)
        if weight is None:
            collector.leave_out("annotation", f"{severity}: a severity without a weight", place)
        elif key != _NO_ERROR:
            error = {"category": category, "severity": severity, "marked": row.text("target", "source")}
            rating.weight += weight
            rating.errors.append(error | row.rest("source", "doc", "doc_id", "seg_id"))
    for rating in ratings.values():
        score = f"{0 - rating.weight:.6g}"
        label = LabelRecord(rating.case, rating.rater, score, rating.response, "MQM", scale=_SCALE)
        label.metadata, label.place = {"errors": rating.errors} if rating.errors else {}, rating.place
        collector.label(label)


def _case(row: ToolRow) -> CaseInput:
    """Return the source of a translation, under the number of its segment."""
    case = CaseInput(row.id("seg_id", "globalSegId", "segment_id"), _MARK.sub("", row.text("source")))
    case.metadata = {name: as_text(row.fields[name]) for name in ("doc", "doc_id") if row.fields.get(name)}
    return case
