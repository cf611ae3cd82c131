"""What this site exports, read again: cases, responses, scores, results, a case's page, annotations and labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evalsite.base.tables import unescape_cell
from evalsite.base.types import JsonDict, as_text
from judging.specs.files.findings import shorten
from judging.specs.records.collector import BAD_ATTEMPT, Collector
from judging.specs.records.names import Holds
from judging.specs.records.neutral import CaseRecord, Choice, Giver, LogRecord, ResponseRecord, VerdictRecord, as_value
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import (
    CASES,
    JUDGMENTS,
    RESPONSES,
    BadRow,
    Fits,
    Label,
    Opinion,
    Reads,
    Reply,
    Said,
    Shape,
    Stands,
    Told,
    ToolRow,
    judged,
    read_rows,
)
from judging.specs.records.tools.annotated_items import cancelled, named
from judging.specs.records.values import as_count, as_number, details, printed_list, texts
from judging.specs.types import UNKNOWN_SCALE, Scale

_TOOL = "Evalsite"
_CASE_FIELDS = {"scenario": "scenario", "type": "question_type", "lang": "lang", "context_role": "context_role"}
_CASE_READ = ("id", "question", "messages", "answer", "context", "image", "images", *_CASE_FIELDS)
_RESPONSE = frozenset({"case_id", "system", "attempt", "response"})
_RESPONSE_READ = (*_RESPONSE, "response_messages", "response_images")
_SCORES = frozenset({"run_id", "evaluator", "is_baseline", "case", "system", "attempt", "response_id", "value", "full"})
_RESULTS = frozenset({"case", "system", "grader", "score", "attempts", "address", "prompt", "response"})
_CASE_PAGE = frozenset({"case", "system", "attempt", "scored_by", "score", "address", "response"})
_ANNOTATIONS = frozenset({"item", "item_hash", "act", "annotator", "blind_label"})
_ANSWERS = frozenset({"item_id", "annotator", "label", "cannot_judge", "item_status"})
_LABELS = frozenset({"item", "rater", "label", "given_at"})
_DEBATES = frozenset({"set_id", "debate_id"})
_DEBATE_SETS = (frozenset({"set_id", "method", "setup"}), frozenset({"set_id", "levels", "cases"}))
_CHOICES = {1.0: Choice.A, 0.0: Choice.TIE, -1.0: Choice.B}
_PEOPLE = "people"  # who scored, on a case's page
_RULES = "rules"  # the grader of this site, for which each case has a full score of its own
_SHARE: Scale = (0, 1)


def _of(reads: Callable[[ToolRow], Told | None], tool_of_log: str = "") -> Reads:
    """Return what reads a part row by row; cells of tables are as they were before they were written."""

    def told(row: ToolRow) -> Told | None:
        if row.part.column_numbers:
            fields = row.fields.items()
            row.fields = {name: unescape_cell(value) if isinstance(value, str) else value for name, value in fields}
        attempt = row.text("attempt")
        if attempt and as_count(attempt) is None:
            raise BadRow(BAD_ATTEMPT.format(shorten(attempt)))
        return reads(row)

    def read(part: Part, collector: Collector, upload: UploadParts) -> None:
        read_rows(part, collector, upload, told)
        if tool_of_log:
            collector.log(LogRecord(part.file, tool_of_log, name=part.stem))

    return read


def _has(columns: frozenset[str]) -> Callable[[Part], bool]:
    return lambda part: columns <= set(part.columns)


def _fits_cases(part: Part) -> bool:
    """Tell our cases by fields of cases that no other tool writes together."""
    columns = set(part.columns)
    is_asked = part.keys_of_all() >= {"id"} and bool(columns & {"question", "messages", "instruction"})
    has_facts = "context_role" in columns or len(columns & {"scenario", "type", "lang"}) > 1
    others = [
        name for role in (Holds.RESPONSE, Holds.SYSTEM, Holds.CHOICES, Holds.REFERENCE) for name in named(columns, role)
    ]
    return part.is_records and is_asked and has_facts and not others


def _case(row: ToolRow) -> Told:
    fields = row.fields
    above = as_text(fields.get("instruction")) if fields.get("instruction") else ""
    own = {field: fields[name] for name, field in _CASE_FIELDS.items() if fields.get(name)}
    case = CaseRecord(row.text("id"), "\n\n".join(filter(None, (above, row.text("question")))), **own)
    case.messages = printed_list(row.get("messages")) or None
    case.images = [*printed_list(row.get("images")), *([fields["image"]] if fields.get("image") else [])]
    case.references = [row.text("answer")] if row.text("answer") else []
    case.context = texts(fields["context"]) if fields.get("context") else []
    case.metadata = details(fields, _CASE_READ) | ({"question": row.text("question")} if above else {})
    return Told(case)


def _facts(row: ToolRow, *names: str) -> JsonDict:
    """Return what a row says of its case under these names."""
    return {_CASE_FIELDS.get(name, "lang"): row.text(name) for name in names if row.text(name)}


def _response(row: ToolRow) -> Told:
    reply = _replied(row, as_count(row.get("attempt")), details(row.fields, _RESPONSE_READ))
    return Told(CaseRecord(row.text("case_id")), [reply], stands=Stands.ELSEWHERE)


def _replied(row: ToolRow, attempt: int | None, metadata: JsonDict) -> Reply:
    reply = ResponseRecord(row.text("system"), row.text("response"), attempt=attempt, metadata=metadata)
    reply.messages, reply.images = (
        printed_list(row.get("response_messages")) or None,
        printed_list(row.get("response_images")),
    )
    reply.text = "" if reply.messages else reply.text
    reply.stop, reply.seconds = row.text("stop_reason"), row.number("seconds")
    return Reply(reply)


def _answered(row: ToolRow, said: Sequence[Said]) -> Told:
    """Return what a row says of a response; rows of several graders repeat it, those of a mean have no attempt."""
    prompt, system, facts = row.text("prompt"), row.text("system"), _facts(row, "scenario", "type", "lang", "language")
    case = CaseRecord(row.text("case"), prompt, printed_list(row.get("prompt_messages")), **facts)
    attempt = as_count(row.get("attempt")) or 0
    if row.text("response") or printed_list(row.get("response_messages")):
        reply = _replied(row, attempt, {})
    else:
        reply = Reply(ResponseRecord(system, attempt=attempt), stands=Stands.ELSEWHERE)
    reply.said = said
    return Told(case, [reply] if system else [], stands=Stands.REPEATED if prompt else Stands.ELSEWHERE)


def _marked(row: ToolRow, name: str, is_judge: bool, scale: Scale) -> Said:
    """Return a score; that of a judge is a verdict."""
    value = as_value(row.fields.get("value", row.fields.get("score")))
    kept = {name: row.fields[name] for name in ("status", "flags", "votes", "confidence") if row.text(name)}
    said = judged(is_judge, name, value, scale, row.text("judge_reason", "reasons", "reason"), kept)
    if isinstance(said, VerdictRecord):
        said.criterion = row.text("criterion")
    return said


def _score(row: ToolRow) -> Told:
    full = row.number("full")
    scale: Scale = (0, full) if full else UNKNOWN_SCALE
    if row.text("evaluator") == _RULES:
        row.fields, scale = row.fields | {"value": row.fields.get("share")}, _SHARE
    return _answered(row, [_marked(row, row.text("evaluator"), bool(row.text("verdict_id")), scale)])


def _result(row: ToolRow) -> Told | None:
    """Return a row of a suite's results, whose score is the mean of its attempts."""
    attempts = as_count(row.get("attempts"))
    if attempts is not None and attempts > 1:
        row.collector.leave_out("score", "it is the mean of several attempts; export the scores", row.place)
        return None
    grader, is_judge = row.text("grader"), bool(row.text("verdict"))
    said = [_marked(row, grader, is_judge, _SHARE)] if grader and row.text("score") else []
    return _answered(row, [*said, *_labelled(row)])


def _labelled(row: ToolRow) -> list[Said]:
    label = row.text("label")
    return [Label("", label, None, row.text("criterion"))] if label else []


def _of_case_page(row: ToolRow) -> Told:
    by = row.text("scored_by")
    if by == _PEOPLE:
        return _answered(row, _labelled(row))
    return _answered(row, [_marked(row, by, "/verdicts/" in row.text("address"), _SHARE)] if by else [])


def _annotation(row: ToolRow) -> Told | None:
    """Return what a person did with an item of a queue: a label, or a preference between two systems."""
    act, rater, criterion = row.text("act"), row.text("annotator"), row.text("criterion")
    if act != "answered":
        cancelled(row.collector, row.place, f"item {row.id('item')}, {rater}: {act}")
        return None
    label, reason = row.text("revised_label", "blind_label"), row.text("revision_note", "note")
    names = ("blind_label", "blind_parts", "revised_parts", "mode", "seconds")
    kept = {name: row.fields[name] for name in names if row.text(name)}
    is_pair = row.text("subject") == "pair" or bool(row.text("response_b"))
    found = [_annotated(row, letter) for letter in ("a", "b")[: 1 + is_pair]]
    replies = [reply for reply in found if reply is not None]
    question, facts = row.text("question"), _facts(row, "scenario", "language")
    case = CaseRecord(row.text("case") or row.id("item"), **facts)
    case.prompt, case.messages = question, printed_list(row.get("question_turns")) or None
    case.references, case.context = [*filter(None, [row.text("reference")])], [*filter(None, [row.text("context")])]
    told = Told(case, replies, stands=Stands.REPEATED if question else Stands.ELSEWHERE)
    choice = _CHOICES.get(number) if is_pair and (number := as_number(label)) is not None else None
    if choice is None:
        given = Label(rater, label, None, criterion, reason, row.text("revised_at", "answered_at"), metadata=kept)
        if is_pair or not replies:
            told.labels = [given]
        else:
            replies[0].said = [given]
    elif len(replies) == 2:
        told.opinions = [Opinion(choice, Giver.PERSON, rater, reason=reason, criterion=criterion, metadata=kept)]
    return told


def _annotated(row: ToolRow, letter: str) -> Reply | None:
    """Return a response of an item: as the file has it, else as it names it."""
    column, system = f"response_{letter}", row.text(f"system_{letter}")
    attempt, turns = as_count(row.get(f"attempt_{letter}")), printed_list(row.get(f"response_{letter}_turns"))
    if not row.text(column):
        return Reply(ResponseRecord(system, attempt=attempt), stands=Stands.ELSEWHERE) if system else None
    if not system:  # a queue's file may name none
        system = column
        row.collector.warn_once("systems-from-header", row.place, column)
    text = "" if turns else row.text(column)
    return Reply(ResponseRecord(system, text, turns or None, attempt, is_same_if_equal=True))


def _answer(row: ToolRow) -> Told | None:
    """Return a row of a queue's answers, or of an imported table of labels."""
    label, item, rater = row.text("revised_label", "label"), row.text("item_id", "item"), row.text("annotator", "rater")
    if not label:
        why = row.text("cannot_judge") or "no label"
        cancelled(row.collector, row.place, f"item {item}, {rater}: {why}")
        return None
    reason, at = row.text("revision_note", "note"), row.text("revised_at", "created_at", "given_at")
    kept = {name: row.text(name) for name in ("scenario", "language") if row.text(name)}
    given = Label(rater, label, None, row.text("criterion"), reason, at, metadata=kept)
    return Told(CaseRecord(item), labels=[given], stands=Stands.ELSEWHERE)


def _fits_debates(part: Part) -> bool:
    columns = set(part.columns) | set(part.document)
    return columns >= _DEBATES or any(columns >= needed for needed in _DEBATE_SETS)


def _debates(part: Part, collector: Collector, upload: UploadParts) -> None:
    collector.leave_out("file", f"{part.file}: debates stay; cases and responses of the archive come", part.place())


def _shape(kind: str, label: str, stage: int, fits: Fits, reads: Reads, why: str) -> Shape:
    export, comes = "On the page of the list, choose Export.", "Everything that the file holds."
    return Shape(kind, f"{_TOOL}: {label}", fits, why, stage, 50, reads, export=export, comes=comes)


SHAPES: tuple[Shape, ...] = (
    _shape("site-cases", "cases", CASES, _fits_cases, _of(_case), "`id` and `question` with facts of cases"),
    _shape(
        "site-responses",
        "responses",
        RESPONSES,
        lambda part: part.keys_of_all() >= _RESPONSE and not named(part.columns, Holds.PROMPT),
        _of(_response),
        "`case_id`, `system`, `attempt`",
    ),
    _shape("site-scores", "scores", RESPONSES, _has(_SCORES), _of(_score, _TOOL), "`evaluator`, `value` and `full`"),
    _shape("site-results", "results", RESPONSES, _has(_RESULTS), _of(_result, _TOOL), "`grader`, `score`, `attempts`"),
    _shape("site-case", "responses to a case", RESPONSES, _has(_CASE_PAGE), _of(_of_case_page, _TOOL), "`scored_by`"),
    _shape("site-annotations", "annotations", JUDGMENTS, _has(_ANNOTATIONS), _of(_annotation), "`item_hash` and `act`"),
    _shape(
        "site-answers", "answers of a queue", JUDGMENTS, _has(_ANSWERS), _of(_answer), "`item_id` and `item_status`"
    ),
    _shape("site-labels", "table of labels", JUDGMENTS, _has(_LABELS), _of(_answer), "`item`, `rater` and `given_at`"),
    _shape("site-debates", "tables of debates", JUDGMENTS, _fits_debates, _debates, "`set_id` and `debate_id`"),
)
