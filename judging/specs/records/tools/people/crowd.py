"""Results of Amazon Mechanical Turk and Toloka: one assignment of a person a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.names import Holds
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import JUDGMENTS, Shape
from judging.specs.records.tools.people.annotations import ForeignAnnotation, cancelled, is_free_text, joined, store
from judging.specs.records.tools.people.items import Registrar, item_of, named
from judging.specs.records.values import as_id, as_text, details, is_missing, objects, parsed

_GOLDEN = "GOLDEN:"  # of Toloka: the right answer of a task that checks people


@dataclass(frozen=True, slots=True)
class _Platform:
    """What the columns of a platform are called."""

    shown: str  # before the names of what a task shows
    given: str  # before the names of what a person said
    rater: str
    task: str
    status: str
    kept: tuple[str, ...]  # kept with the labels; the first is when they were given


_PLATFORMS = (
    _Platform("Input.", "Answer.", "WorkerId", "HITId", "AssignmentStatus", ("SubmitTime", "WorkTimeInSeconds")),
    _Platform(
        *("INPUT:", "OUTPUT:", "ASSIGNMENT:worker_id", "ASSIGNMENT:task_id", "ASSIGNMENT:status"),
        kept=("ASSIGNMENT:submitted", "ASSIGNMENT:started"),
    ),
)


def _platform(part: Part) -> _Platform | None:
    return next(
        (
            platform
            for platform in _PLATFORMS
            if platform.rater in part.columns and any(name.startswith(platform.given) for name in part.columns)
        ),
        None,
    )


@Shape(
    "crowd",
    "Mechanical Turk or Toloka: results of a batch",
    lambda part: _platform(part) is not None,
    "columns WorkerId, Input.… and Answer.…, or ASSIGNMENT:worker_id, INPUT:… and OUTPUT:…",
    JUDGMENTS,
    export="Mechanical Turk: Manage, Review results, Download CSV. Toloka: the pool, Download results, TSV.",
    comes="What a task shows is a case, with its responses; each answer of a worker is a label under the name of its "
    "field, and free text its reason.",
    stays="Rejected assignments are counted. What the platform says of a task (title, reward, times) stays.",
)
def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    platform = _platform(part)
    if platform is None:
        return
    sample = [dict(_answers(platform, row.fields)) for row in part.sample]
    questions = dict.fromkeys(question for answers in sample for question in answers)
    remarks = {name for name in questions if is_free_text(name, [answers.get(name) for answers in sample])}
    registrar = Registrar(part, collector, upload.system)
    collector.leave_out("column", "what the platform says of its tasks", part.place())
    for place, fields in part.placed():
        status = as_text(fields.get(platform.status)).strip().lower()
        if status == "rejected":
            cancelled(collector, place, f"the assignment is {status}")
            continue
        shown = {name.removeprefix(platform.shown): fields[name] for name in fields if name.startswith(platform.shown)}
        ids = named(shown, Holds.CASE)
        id_ = as_id(shown.pop(ids[0])) if ids else as_id(fields.get(platform.task))
        item = item_of(shown)
        item.details |= details({name: fields[name] for name in fields if name.startswith(_GOLDEN)}, ())
        subject = registrar.register(place, item, id_)
        if subject is not None:
            annotation = _annotation(platform, fields, remarks)
            annotation.name = f"task {id_}, {annotation.rater}"
            store(collector, place, subject, annotation)


def _annotation(platform: _Platform, fields: JsonObject, remarks: set[str]) -> ForeignAnnotation:
    annotation = ForeignAnnotation("", as_id(fields.get(platform.rater)))
    annotation.metadata = details({name: fields.get(name) for name in platform.kept}, ())
    at = as_text(fields.get(platform.kept[0]))
    annotation.at = at if at[:4].isdigit() else ""
    for question, answer in _answers(platform, fields):
        (annotation.remarks if question in remarks else annotation.labels)[question] = answer
    return annotation


def _answers(platform: _Platform, fields: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield question and answer: of fields, of boxes (a field an option, true or false), and of fields in JSON."""
    boxes: dict[str, JsonDict] = {}
    for name, value in fields.items():
        if not name.startswith(platform.given) or is_missing(value):
            continue
        question, value = name.removeprefix(platform.given).removesuffix(".label"), parsed(value)
        group, dot, option = question.rpartition(".")
        if dot and as_text(value).lower() in ("true", "false"):
            boxes.setdefault(group, {})[option] = as_text(value).lower() == "true"
        elif isinstance(value, list) and value == objects(value):
            yield from ((key, _plain(entry)) for answers in value for key, entry in answers.items() if _plain(entry))
        else:
            yield question, as_id(value)
    yield from ((question, answer) for question, options in boxes.items() if (answer := _plain(options)))


def _plain(answer: object) -> str:
    """Return an answer as text: the label in an object, or the options that are true."""
    if isinstance(answer, dict):
        chosen = [name for name, value in answer.items() if value is True]
        return as_id(answer["label"]) if "label" in answer else joined(chosen)
    return "" if is_missing(answer) else as_id(answer)
