"""Reads any table or list of records by the roles of its columns: cases, responses, pairs, scores, verdicts, labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from evalsite.base.types import JsonDict, JsonObject, as_text
from judging.specs.files.findings import shorten
from judging.specs.records import names, preferences
from judging.specs.records.api_replies import (
    OF_REPLIES,
    error_in,
    failure_in,
    is_api_reply,
    printed,
    replies_of,
    set_reply,
    texts_of,
)
from judging.specs.records.case_reader import DETAILS_OF_CASES, CaseReader, criteria_in
from judging.specs.records.collector import BAD_ATTEMPT, Collector
from judging.specs.records.column_questions import MOST_ALIKE
from judging.specs.records.column_roles import resolve
from judging.specs.records.columns import (
    ASKS,
    CHOSEN_OF_SEVERAL,
    OPINIONS,
    RESPONDS,
    Mapping,
    criteria_of,
    flat,
    header_named,
    is_share,
    number_of,
    question,
    system_beside,
    system_named,
    system_names,
    top_of,
    value_at,
)
from judging.specs.records.names import Holds
from judging.specs.records.neutral import (
    Choice,
    LabelRecord,
    Place,
    PreferenceRecord,
    ResponseRecord,
    RubricRecord,
    ScoreRecord,
    VerdictRecord,
)
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.rows_of_cases import Ranks, giver_of, of_best_and_worst, say_the_same
from judging.specs.records.shapes import CASES, JUDGMENTS, RESPONSES, ColumnUse, Shape
from judging.specs.records.values import (
    are_texts,
    as_count,
    as_id,
    beside_text,
    conversation,
    finite,
    is_messages,
    is_missing,
    is_void,
    listed,
    parsed,
)
from judging.specs.spreadsheets import ErrorValue, FormulaText, LongNumber
from judging.specs.turns import text_of
from judging.specs.types import UNKNOWN_SCALE, Scale

_LABELLED = (Holds.LABEL, Holds.LABELS_OF)
_KEPT = Holds.DETAIL, Holds.COST, Holds.TIME, Holds.ROW_ID, Holds.TOKENS, Holds.ERROR, Holds.CRITERION  # details too
_GIVEN_BY = (Holds.RATER, Holds.LABELS_OF, Holds.JUDGE)
_OF_RESPONSE = (Holds.SYSTEM, *names.ATTEMPTS)  # beside its case
_SIDES = ((Holds.RESPONSE_A, Holds.SYSTEM_A, Choice.A), (Holds.RESPONSE_B, Holds.SYSTEM_B, Choice.B))


def stage_of(uses: Sequence[ColumnUse]) -> int:
    """Return when a table is read: cases first, then responses, then what is said of them."""
    roles = {use.role for use in uses}
    if not roles.isdisjoint(RESPONDS) or (Holds.REFERENCE in roles and roles.isdisjoint(ASKS)):
        return RESPONSES
    return JUDGMENTS if not roles.isdisjoint((*_LABELLED, Holds.SCORE, Holds.RANK)) else CASES


def reads(part: Part, collector: Collector, upload: UploadParts) -> None:
    """Read a table, unless there is something that the person must say first."""
    mapping = resolve(part, upload)
    findings = collector.findings
    findings.file = part.file
    asked = {(problem.code, problem.message, problem.hint) for problem in findings.listed}  # one answer is for all
    questions = mapping.questions.listed
    findings.extend(each for each in questions if (each.code, each.message, each.hint) not in asked)
    if mapping.questions.has_errors:
        return
    if not mapping.has(*ASKS, *RESPONDS):  # of labels alone nothing else is stored, so that counted rows are no loss
        part.remarks[:] = [remark for remark in part.remarks if remark.kind != "index-column"]
    for name in mapping.all(Holds.IGNORE):
        collector.leave_out("column", f"{name}: ignored, as you chose", part.place())
    reader = _Reader(part, collector, upload, mapping)
    unknown = reader.unknown_choices()
    if unknown:
        values = list(dict.fromkeys(value for _, value in unknown))
        columns = list(dict.fromkeys(name for name, _ in unknown))
        findings.extend([preferences.asked_meanings(part, values, columns)])
        return
    for row in part.rows():
        for fields in mapping.rows_in(row.fields):
            reader.read(part.place(row.at), fields)
    for preference in reader.ranks.preferences():
        collector.preference(preference)


TABLE = Shape(
    "table",
    "Table",
    lambda part: bool(part.columns and part.sample),
    "a table whose columns are read by their names and values",
    rank=0,
    reads=reads,
    columns=lambda part, upload: resolve(part, upload).uses(),
    stage_of=stage_of,
)


@dataclass(slots=True)
class _Reader:
    """Reads the rows of one part by its mapping."""

    part: Part
    collector: Collector
    upload: UploadParts
    mapping: Mapping
    cases: CaseReader = field(init=False)
    one: dict[Holds, str] = field(default_factory=dict)  # the column of each role that only one has
    unread: frozenset[str] = frozenset()  # columns with a role of their own, which are no details
    errors: list[tuple[str, str]] = field(default_factory=list)  # columns of errors, with their names as compared
    labels: dict[str, str] = field(default_factory=dict)  # columns of labels, with the criterion that a header says
    given: dict[tuple[int, int | None, str, str], tuple[str, Place]] = field(default_factory=dict)  # labels so far
    scales: dict[str, Scale] = field(default_factory=dict)  # of score columns
    tops: dict[str, float] = field(default_factory=dict)  # the highest scores, of score columns that say theirs
    systems: dict[str, str] = field(default_factory=dict)  # of columns side by side
    beside: dict[str, dict[str, str]] = field(default_factory=dict)  # column of responses -> what judges it -> by what
    ranks: Ranks = field(default_factory=Ranks)
    system: str = ""  # of responses whose row names none
    system_warning: str = ""
    rater: str = ""  # whose labels a part without a column of raters has
    response: str = ""  # the column of the response
    asking: list[str] = field(default_factory=list)  # the columns of what is asked
    are_attempts: bool = False  # columns side by side have the attempts of the system that the row or the person names
    is_pair: bool = False
    is_single: bool = False  # one response in a row
    is_long: bool = False  # each row is one score by the metric that it names
    is_unfilled: bool = False  # the responses seen are all missing, or words for that such as None
    is_full: bool = False  # all rows seen but one have more than what is asked and responded
    keeps_with_case: bool = False  # what nothing reads is a detail of the case

    def __post_init__(self) -> None:
        mapping = self.mapping
        self.one = {role: mapping.one(role) for role in Holds}
        self.one[Holds.ATTEMPT] = self.one[Holds.ATTEMPT] or self.one[Holds.ATTEMPT_FROM_1]
        self.asking = mapping.all(*ASKS, Holds.CASE, Holds.CASE_PATH, Holds.IMAGE)
        time = self.one[Holds.TIME] if mapping.has(*_LABELLED) else ""
        criterion = self.one[Holds.CRITERION] if mapping.has(*OPINIONS) else ""
        known = mapping.all(*(role for role in Holds if role not in _KEPT))
        self.errors = [(name, names.compared(name)) for name in mapping.all(Holds.ERROR)]
        self.labels = criteria_of(mapping)
        self.tops = {name: max(tops) for name in mapping.all(Holds.SCORE) if (tops := mapping.columns[name].tops)}
        self.scales = {name: self._scale_of_column(name) for name in mapping.all(Holds.SCORE)}
        self.systems = system_names(mapping.all(Holds.RESPONSES_OF))
        has_system = bool(self.upload.options.system or self.one[Holds.SYSTEM])
        self.are_attempts = has_system and names.are_numbered(self.systems)
        self.beside = self._judged_beside()
        self.cases = CaseReader(self.collector, mapping, self.one, has_system, self._asks_about_contexts(has_system))
        self.unread = frozenset({"", *known, *mapping.all(*DETAILS_OF_CASES), time, criterion, *self.cases.media})
        self.is_pair = mapping.has(Holds.RESPONSE_A, Holds.SYSTEM_A)
        self.is_single = mapping.has(Holds.RESPONSE, Holds.RESPONSE_TURNS) or self.cases.is_responded
        self.is_long = mapping.has(Holds.CRITERION) and len(self.scales) == 1
        self.response = self.one[Holds.RESPONSE] or self.one[Holds.RESPONSE_TURNS] or self.one[Holds.TURNS]
        self.is_unfilled = any(self.part.values(self.response)) and not mapping.columns[self.response].values
        beside = (each for name, each in mapping.columns.items() if name not in (*self.asking, self.response))
        self.is_full = any(len(each.values) + 1 >= len(self.part.sample) for each in beside)
        says = self.is_single or mapping.has(*_LABELLED, Holds.PREFERENCE, Holds.RANK)
        says = says or (bool(self.scales) and not self.is_pair)
        self.keeps_with_case = not self.are_attempts and (bool(self.systems) or not says)
        self._take_others(self._of_others())

    def _take_others(self, others: Sequence[Part]) -> None:
        """Take a part for a person's where others label the same; ask whose it is where they score it."""
        if others and not self.labels:
            self._ask_who_scores([part for part in self.upload.parts if part is self.part or part in others])
        elif others:
            is_of_file = all(other.file == self.part.file for other in others)
            self.rater = self.part.name if is_of_file else self.part.stem
            self.collector.warn_once("rater-from-file", self.part.place(), self.rater)
        if self.is_single and not (self.upload.options.system or self.one[Holds.SYSTEM]):
            self._name_system(others)

    def _judged_beside(self) -> dict[str, dict[str, str]]:
        """Return of each of several columns of responses which columns judge it, and by what."""
        opinions = [*self.scales, *self.mapping.all(Holds.LABEL, Holds.RANK)]
        said = {
            name: {opinion: names.said_of(opinion, system) for opinion in opinions}
            for name, system in self.systems.items()
        }
        for header in filter(None, (self.one[role] for role, _, _ in _SIDES)):
            said[header] = {opinion: names.said_of_side(opinion, header) for opinion in opinions}
        for name in self.systems if names.are_numbered(self.systems) else ():
            said[name] = {opinion: names.said_of_side(opinion, name) for opinion in opinions}
        return {name: {opinion: by for opinion, by in found.items() if by} for name, found in said.items()}

    def _asks_about_contexts(self, has_system: bool) -> bool:
        """Return whether contexts are what is asked about: nothing responds, or a system is asked the same of two."""
        contexts = self.mapping.all(Holds.CONTEXT)
        if not self.mapping.has(*RESPONDS) and not has_system:
            return True
        is_open = contexts and not self.mapping.has(Holds.CASE, *names.ATTEMPTS)
        if not is_open or any(map(names.is_retrieved, contexts)):
            return False
        asked = [self.one[role] for role in (*ASKS, Holds.INSTRUCTION, Holds.SYSTEM) if self.one[role]]
        known: dict[int, int] = {}
        for row in self.part.rows():
            said, about = (
                hash(str([value_at(row.fields, name, self.mapping) for name in each])) for each in (asked, contexts)
            )
            if known.setdefault(said, about) != about:
                return True
        return False

    def _name_system(self, others: Sequence[Part]) -> None:
        """Name the system of a table that names none after what stands beside its rows, else after its file; after its
        sheet or folder where other sheets have the same columns, or other files the same name."""
        self.system = system_beside(self.part)
        if self.system:
            return
        if others:
            self.system, self.system_warning = self.part.stem, "system-from-file"
            if any(other.file != self.part.file for other in others):
                said = f"{others[0].file} has the same responses: the files seem to be of people, and name no system."
                self._ask_for_system(said)
            return
        sheets = [other for other in self.upload.parts if (other.file, other.form) == (self.part.file, Form.SHEET)]
        titles = [other.name for other in sheets if other.columns == self.part.columns]
        if len(titles) > 1 and (names.are_models(titles) or len({names.unnumbered(name) for name in titles}) > 1):
            self.system, self.system_warning = self.part.name, "system-from-sheet"
            return
        base = self.part.file.rpartition("/")[2]
        folders = {other.folder for other in self.upload.parts if other.file.rpartition("/")[2] == base}
        alike = self.upload.alike(self.part)
        asking = [other for other in alike if other.folder == self.part.folder]
        asking = [other for other in asking[:MOST_ALIKE] if say_the_same(self.part.sample, other.sample, self.asking)]
        folder = self.part.folder.rpartition("/")[2]
        is_model = names.is_model(folder) and not names.is_model(self.part.stem)
        is_of_folder = is_model or (bool(folder) and len(folders) > 1 and not asking)  # else the folder is a case's
        self.system = folder if is_of_folder else names.system_of_file(self.part.stem)
        self.system_warning = "system-from-folder" if is_of_folder else "system-from-file"
        are_cases = bool(alike) and not sheets and all(len(part.sample) == 1 for part in (self.part, *alike))
        is_first = next(part for part in self.upload.parts if part.columns == self.part.columns) is self.part
        if are_cases and is_first and not (is_of_folder or asking):
            self._ask_for_system("each of the files has one case, and none names its system.")

    def _ask_for_system(self, message: str) -> None:
        hint, page_hint = "Say it with --system NAME.", "Write it under System."
        self.collector.findings.error(self.part.name, "unknown-system", message, hint=hint, page_hint=page_hint)

    def _of_others(self) -> list[Part]:
        """Return the sheets or files that label or score the same responses as this one, where no column says who
        does: each is then of a person."""
        own = self.part.sample
        about = [self.response] if self.is_single else self.asking and [*self.asking, *self.mapping.all(*_OF_RESPONSE)]
        if len(own) < 2 or not (about and (self.labels or self.scales)) or self.mapping.has(*_GIVEN_BY):
            return []
        same = [other for other in self.upload.alike(self.part) if say_the_same(own, other.sample, about)]
        return [other for other in same if self.labels or not say_the_same(own, other.sample, list(self.scales))]

    def _ask_who_scores(self, parts: Sequence[Part]) -> None:
        """Ask once whose scores several parts have."""
        if parts[0] is self.part:
            scores, where = ", ".join(self.scales), ", ".join(part.name or part.file for part in parts)
            message = f"{where} have other values of {scores} for the same responses, and no column says whose."
            hint = "If each is of a person, {}; if of a judge, add a column judge."
            answers = [(Holds.LABEL, [*self.scales])]
            asked = question(self.part, "unknown-labels", message, hint, answers, self.mapping.columns)
            self.collector.findings.extend([asked])

    def _scale_of_column(self, name: str) -> Scale:
        """Return the scale of a score that its values or the name of a known metric say."""
        column = self.mapping.columns[name]
        if name in self.tops:
            return 0.0, self.tops[name]
        values = [entry for value in column.values for entry in listed(value) or [value]]
        numbers = [number for value in values if (number := number_of(value)) is not None]
        if not all(0 <= number <= 1 for number in numbers):
            return UNKNOWN_SCALE
        are_shares = all(map(is_share, values))
        return names.SHARE if numbers and are_shares else names.scale_of(name) or UNKNOWN_SCALE

    def read(self, place: Place, fields: JsonObject) -> None:
        """Read one row."""
        is_none = self.part.is_cells and self._is_no_row(place, fields)
        more = {} if is_none else self._details(place, fields)
        case = None if is_none else self.cases.read(place, fields, more if self.keeps_with_case else {})
        if case is None:
            return
        if self.one[Holds.RUBRIC] and (criteria := criteria_in(fields.get(self.one[Holds.RUBRIC]))):
            self.collector.rubric(RubricRecord(case, criteria, place))
        if self.is_pair:
            self._pair(place, case, fields, {} if self.keeps_with_case else more)
        elif self.systems:
            self._side_by_side(place, case, fields, {} if self.keeps_with_case else more)
        elif self.is_single:
            self._single(place, case, fields, more)
        elif not self.keeps_with_case:
            self._say(place, (case, self._named_response(place, case, fields)), fields, more)

    def _single(self, place: Place, case: int, fields: JsonObject, more: JsonDict) -> None:
        """Read the response of a row and what is said of it; one score of several attempts is none of each."""
        said = [name for name in (*self.scales, *self.labels) if not is_missing(fields.get(name))]
        is_labelled = not set(said).isdisjoint(self.labels)
        responses = self._responses(place, case, fields, {} if is_labelled else more)
        if len(responses) < 2:
            self._say(place, (case, next(iter(responses), None)), fields, more if is_labelled else {})
            return
        for name in said:
            given = listed(parsed(fields[name]))
            if len(given) != len(responses):
                self.collector.leave_out("score", f"{name}: the row has several responses", place)
            for response, value in zip(responses, given, strict=False) if len(given) == len(responses) else ():
                if name in self.scales:
                    self._score(place, response, {**fields, name: value}, name)
                else:
                    self._label(place, (case, response), {**fields, name: value}, {}, {name: self.labels[name]})

    def _is_no_row(self, place: Place, fields: JsonObject) -> bool:
        """Return whether the cells of a row are none of a case: a header, or, an error, what stands in part above."""
        is_answered = not is_missing(fields.get(self.response))
        if all(fields.get(name) == name for name in self.part.columns):
            self.collector.leave_out("row", "it repeats the header", place)
        elif is_answered and self.asking and all(is_missing(fields.get(name)) for name in self.asking):
            self.collector.bad_row(place, "The row has no question. If it is that of a row above, write it here, too.")
        elif (
            not is_answered
            and (self.is_full or names.is_sum(self.cases.text(fields, Holds.PROMPT)))
            and [name for name, value in fields.items() if not is_missing(value)] == self.mapping.all(*ASKS)
        ):
            self.collector.bad_row(place, "The row has one cell alone, as a heading or a note has.")
        elif not is_answered and self._sums_up(fields):
            self.collector.bad_row(place, "The row has a score and no response, as a row that sums others up has.")
        else:
            return self.part.form is Form.SHEET and self._has_bad_cell(place, fields)
        return True

    def _sums_up(self, fields: JsonObject) -> bool:
        """Return whether a row without a response has scores or labels, of no system or of what is named as a sum."""
        has_no_system = bool(self.one[Holds.SYSTEM]) and not self.cases.text(fields, Holds.SYSTEM)
        is_sum = names.is_sum(self.cases.text(fields, Holds.PROMPT) or self.cases.text(fields, Holds.CASE))
        return (has_no_system or is_sum) and not all(
            is_missing(fields.get(name)) for name in (*self.scales, *self.labels)
        )

    def _has_bad_cell(self, place: Place, fields: JsonObject) -> bool:
        """Return whether a cell of a column that is read shows no value, which is an error."""
        for name in self.unread:
            value = fields.get(name)
            if type(value) is str or value is None:
                continue
            if isinstance(value, ErrorValue):
                why = f"The cell of {name!r} shows the error {value}."
            elif isinstance(value, FormulaText):
                why = f"The cell of {name!r} is a formula without a result. Save the workbook in a spreadsheet program."
            elif isinstance(value, LongNumber) and name == self.one[Holds.CASE]:
                why = f"The id {value} has more than 15 digits, of which the last are lost. Format the cells as text."
            else:
                continue
            self.collector.bad_row(self.part.cell(place, name), why)
            return True
        return False

    def _details(self, place: Place, fields: JsonObject) -> JsonDict:
        """Return the fields that nothing reads. NaN is missing, which is counted."""
        kept: JsonDict = {}
        for name, value in fields.items():
            if name in self.unread or value is None or value == "":
                continue
            if isinstance(value, float) and not math.isfinite(value):
                self.collector.warn("nan-left-out", place, name)
            else:
                kept[name] = finite(value)
        return kept

    def _responses(self, place: Place, case: int, fields: JsonObject, more: JsonDict) -> list[int | None]:
        """Return the numbers of the responses of a row; none where they failed, are missing or cannot be read."""
        turns = parsed(fields.get(self.one[Holds.RESPONSE_TURNS])) if self.one[Holds.RESPONSE_TURNS] else None
        value = turns if is_messages(turns) else printed(fields.get(self.response))
        failure = failure_in(fields, value, self.errors) or error_in(value)
        if failure:
            self.collector.failed(place, self.cases.text(fields, Holds.CASE), failure)
            return []
        row = None if self._is_null(place, value) else self._row(place, fields, more)
        replies = self._replies(place, case, value, row) if row is not None else ()
        return [None if reply is None else self.collector.response(place, case, reply) for reply in replies]

    def _is_null(self, place: Place, value: object) -> bool:
        """Return whether a row has no response, which is counted; an empty text of JSON is an empty response."""
        is_empty = isinstance(value, str) and (
            not value.strip() if self.part.is_cells else self.is_unfilled and is_missing(value)
        )
        is_empty = is_empty or (bool(self.response) and is_void(value, self.mapping.columns[self.response].values))
        is_null = value is None or is_empty or (isinstance(value, float) and not math.isfinite(value))
        if is_null:
            why = "the cell is empty" if self.part.is_cells else "the response is null"
            self.collector.leave_out("response", why, place)
            self.collector.warn("null-response", place)
        elif is_missing(value) and value != "":
            self.collector.warn("missing-word", place, as_text(value))
        return is_null

    def _row(self, place: Place, fields: JsonObject, more: JsonDict) -> ResponseRecord | None:
        """Return what a row says of its response beside the text; None, with an error, for a bad attempt."""
        attempt, number = self.cases.text(fields, Holds.ATTEMPT), self._attempt(fields)
        if number is None and attempt:
            self.collector.bad_row(self.part.cell(place, self.one[Holds.ATTEMPT]), BAD_ATTEMPT.format(shorten(attempt)))
            return None
        row = ResponseRecord(self.system or self.cases.text(fields, Holds.SYSTEM), attempt=number, metadata=more)
        row.stop, row.row_id = self.cases.text(fields, Holds.STOP), self.cases.text(fields, Holds.ROW_ID)
        row.is_same_if_equal = bool(self.labels or self.one[Holds.JUDGE] or self.one[Holds.RANK] or self.is_long)
        images = self.mapping.all(Holds.RESPONSE_IMAGE) if self.one[Holds.RESPONSE_IMAGE] else ()
        row.images = [fields[name] for name in images if fields.get(name)]
        self._measure(row, fields)
        return row

    def _attempt(self, fields: JsonObject) -> int | None:
        """Return the attempt of a row, from 0; None where it says none."""
        count = as_count(self.cases.text(fields, Holds.ATTEMPT)) if self.one[Holds.ATTEMPT] else None
        first = 1 if self.one[Holds.ATTEMPT_FROM_1] else 0
        return None if count is None or count < first else count - first

    def _measure(self, row: ResponseRecord, fields: JsonObject) -> None:
        """Set the seconds and tokens of a response."""
        seconds, tokens = self.one[Holds.SECONDS], self.one[Holds.TOKENS]
        number = number_of(fields.get(seconds)) if seconds else None
        if number is not None:
            row.seconds = number / 1000 if names.compared(seconds).endswith("_ms") else number
        if tokens and names.compared(tokens) in ("completion_tokens", "output_tokens"):
            row.completion_tokens = as_count(fields.get(tokens))
            if row.completion_tokens is not None:
                row.metadata.pop(tokens, None)

    def _replies(self, place: Place, case: int, value: object, row: ResponseRecord) -> Iterator[ResponseRecord | None]:
        """Yield the response of a row: a text, a conversation, or several attempts where a list has several texts, None
        for one that is null, or an API replied several."""
        if is_api_reply(value):
            yield from self._api_replies(place, value, row)
            return
        if row.system == self.system:
            self._warn_of_name()
        entries, value = listed(value) or [value], texts_of(value)
        if not are_texts([text for text in listed(value) if text is not None]) or row.attempt is not None:
            row.metadata = beside_text(entries[0], value, OF_REPLIES) | row.metadata
            yield set_reply(row, value)
            return
        replies = listed(value)
        asked = self.collector.prompt_messages(case) if len(replies) > 1 else []
        questions = [{"role": "user", "content": text_of(turn)} for turn in asked if turn["role"] == "user"]
        if len(questions) == len(replies) > 1:
            yield replace(row, messages=conversation(questions, replies))
        else:
            for entry, text in zip(entries, replies, strict=True):
                metadata = beside_text(entry, text, OF_REPLIES) | row.metadata
                is_null = text is None and self._is_null(place, text)
                yield None if is_null else replace(row, text=as_text(text), metadata=metadata)

    def _api_replies(self, place: Place, body: JsonObject, row: ResponseRecord) -> Iterator[ResponseRecord]:
        """Yield the responses in a reply of an API, which may name the model that the row does not."""
        replies = replies_of(self.collector, place, body)
        if not replies:
            self.collector.leave_out("response", "the reply has no text", place)
        for said in replies:
            system = said.system if self.system_warning and said.system else row.system
            if system == self.system:
                self._warn_of_name()
            yield replace(
                row,
                system=system,
                text=said.text,
                messages=said.messages or (),
                stop=row.stop or said.stop,
                completion_tokens=row.completion_tokens or said.completion_tokens,
                attempt=row.attempt if len(replies) == 1 else None,
            )

    def _warn_of_name(self) -> None:
        if self.system_warning:
            self.collector.warn_once(self.system_warning, self.part.place(), self.system)

    def _side_by_side(self, place: Place, case: int, fields: JsonObject, more: JsonDict) -> None:
        """Read the responses of a row that has a column for each system, or for each attempt of one."""
        own = self.upload.options.system or self.cases.text(fields, Holds.SYSTEM)
        numbers: dict[str, int] = {}
        for attempt, (name, system) in enumerate(self.systems.items()):
            of_own = ResponseRecord(own, attempt=attempt, metadata=more) if self.are_attempts else None
            row = of_own or ResponseRecord(system, is_same_if_equal=self.mapping.has(*CHOSEN_OF_SEVERAL, *_GIVEN_BY))
            if (number := self._one_of_several(place, case, fields, name, row)) is not None:
                numbers[name] = number
        self._choose(place, fields, numbers)
        for name in self.scales:
            if not self._is_of_one(name):
                self._score(place, None, fields, name)
        shared = {name: by for name, by in self.labels.items() if not self._is_of_one(name)}
        self._label(place, (case, None), fields, {}, shared)

    def _choose(self, place: Place, fields: JsonObject, numbers: dict[str, int]) -> None:
        """Take which of several responses is the best, and which the worst."""
        best, worst = (self._header_in(place, fields, role) for role in CHOSEN_OF_SEVERAL)
        for preference in of_best_and_worst(numbers, best, worst, self._preferred(0, fields, place)):
            self.collector.preference(preference)

    def _header_in(self, place: Place, fields: JsonObject, role: Holds) -> str:
        """Return which of several responses a cell names; empty where it names none, which is an error."""
        text = as_id(self.cases.text(fields, role))
        header = header_named(text, list(self.systems))
        if text and not header:
            self.collector.bad_row(self.part.cell(place, self.one[role]), f"{shorten(text)} is none of the responses.")
        return header

    def _preferred(self, response: int, fields: JsonObject, place: Place) -> PreferenceRecord:
        """Return what a row says of the order of responses, with the first of them."""
        rater, judge = as_id(self.cases.text(fields, Holds.RATER)), self.cases.text(fields, Holds.JUDGE)
        said = PreferenceRecord(response, response, Choice.TIE, giver_of(rater, judge), rater or judge, place=place)
        said.criterion = self.cases.text(fields, Holds.CRITERION)
        return said

    def _is_of_one(self, name: str) -> bool:
        """Return whether a column judges one of several responses of a row."""
        return any(name in said for said in self.beside.values())

    def _one_of_several(
        self, place: Place, case: int, fields: JsonObject, column: str, row: ResponseRecord
    ) -> int | None:
        """Read one of several responses of a row, and what columns say of it; return its number."""
        number = self._response_of_several(place, case, fields, column, row)
        for name, by in self.beside[column].items():
            if name in self.scales:
                self._score(place, number, fields, name, by)
            elif self.mapping.roles[name] is Holds.RANK:
                self._rank(place, (case, number), fields, name)
            elif number is not None:
                criterion = "" if names.is_strong(by, Holds.LABEL) else by
                self._label(place, (case, number), fields, {}, {name: criterion})
            elif not is_missing(fields.get(name)):
                self.collector.leave_out("label", "there is no response", place)
        return number

    def _response_of_several(
        self, place: Place, case: int, fields: JsonObject, column: str, row: ResponseRecord
    ) -> int | None:
        """Return the number of one of several responses of a row; None where it failed, is missing or has no text."""
        value = printed(fields.get(column))
        if failure := error_in(value):
            self.collector.failed(place, self.cases.text(fields, Holds.CASE), failure)
        if failure or self._is_null(place, value):
            return None
        replies = [reply for reply in self._replies(place, case, value, row) if reply is not None]
        if len(replies) > 1 and not is_api_reply(value):
            replies = [set_reply(row, texts_of(value))]
        for _ in replies[1:]:
            self.collector.leave_out("response", "beside other responses the first choice of a reply is read", place)
        return self.collector.response(place, case, replies[0]) if replies else None

    def _named_response(self, place: Place, case: int, fields: JsonObject) -> int | None:
        """Return a response that a row scores or labels and another file has; None where the row names no system."""
        system = self.cases.text(fields, Holds.SYSTEM)
        if not system:
            return None
        return self.collector.response_named(place, case, system, self._attempt(fields) or 0)

    def _say(self, place: Place, about: tuple[int, int | None], fields: JsonObject, more: JsonDict) -> None:
        """Take the scores, verdicts and labels of a row."""
        case, response = about
        for name in self.scales:
            self._score(place, response, fields, name)
        for name in self.mapping.all(Holds.RANK) if self.one[Holds.RANK] else ():
            self._rank(place, about, fields, name)
        if self.labels and response is None and self.is_single:
            self.collector.leave_out("label", "there is no response", place)
        elif self.labels:
            self._label(place, about, fields, more, self.labels)
            if response is None and self.cases.is_asking and not self.cases.is_answered:
                self.collector.warn_once("text-only-items", place, str(case))

    def _score(self, place: Place, response: int | None, fields: JsonObject, name: str, by: str = "") -> None:
        value = fields.get(name)
        number = number_of(value)
        place = self.part.cell(place, name)
        if response is None or (number is None and not is_missing(value)):
            if not is_missing(value):
                none = "the row has several responses" if self.systems and not by else "there is no response"
                why = none if response is None else f"{name}: {shorten(as_text(value))} is no number"
                self.collector.leave_out("score", why, place)
            return
        criterion, judge = self.cases.text(fields, Holds.CRITERION), self.cases.text(fields, Holds.JUDGE)
        reason = self.cases.text(fields, Holds.REASON) if len(self.scales) == 1 else ""
        grader = criterion if self.is_long and criterion and not judge else by or names.bare(name)
        scale = self._scale(name, grader, number)
        if self._is_off_scale(place, name, value):
            return
        if judge:
            criterion = criterion or (grader if len(self.scales) > 1 else "")
            self.collector.verdict(VerdictRecord(response, judge, number, scale, reason, criterion, place=place))
        else:
            self.collector.score(ScoreRecord(response, grader, number, scale, reason, place=place))

    def _is_off_scale(self, place: Place, name: str, value: object) -> bool:
        """Return whether a value is not on the scale that the header or the other cells say, which is an error."""
        said = names.scale_said(name)
        if said is None and name not in self.tops:
            return False
        low, high = said or (0.0, self.tops[name])
        number, top = number_of(value), top_of(value)
        if (number is None or low <= number <= high) and top in (None, high):
            return False
        where = "the header" if said else "its column"
        self.collector.bad_row(place, f"{name}: {shorten(as_text(value))} is not on the scale of {where}.")
        return True

    def _scale(self, name: str, grader: str, number: float | None) -> Scale:
        said = names.scale_said(name)
        if said is not None:
            return said
        is_share = number is None or 0 <= number <= 1
        scale = self.scales[name]
        if grader != names.bare(name) and scale == UNKNOWN_SCALE:
            scale = names.scale_of(grader) or UNKNOWN_SCALE
        return scale if is_share or name in self.tops else UNKNOWN_SCALE

    def _label(
        self, place: Place, about: tuple[int, int | None], fields: JsonObject, more: JsonDict, labels: dict[str, str]
    ) -> None:
        """Take the labels of a row in these columns, each by the criterion that its header says."""
        rater = as_id(self.cases.text(fields, Holds.RATER)) or self.rater
        said = self.cases.text(fields, Holds.CRITERION)
        reason, at = self.cases.text(fields, Holds.REASON), self.cases.text(fields, Holds.TIME)
        for name, by_header in labels.items():
            criterion = said or by_header
            value, cell = parsed(fields.get(name)), self.part.cell(place, name)
            for by, of, label, why in self._given_in(cell, name, value, rater):
                if is_missing(label) or self._is_off_scale(cell, name, label):
                    continue
                by, of = names.rater_and_criterion(name, of) if self.one[Holds.LABELS_OF] else (by or rater, of)
                record = LabelRecord(about[0], by, as_text(label), about[1], of or criterion, why or reason)
                record.at, record.metadata, record.place = at, more, cell
                record.scale = names.scale_said(name) or record.scale
                if not self._is_repeated(record):
                    self.collector.label(record)
                    self.collector.warn_once("scale-from-use", self.part.place(), self.part.name)

    def _given_in(self, cell: Place, name: str, value: object, rater: str) -> Iterator[tuple[str, str, object, str]]:
        """Yield of each label in a cell who gave it, its criterion, itself and the reason. Numbers in a list are those
        of raters by their places, where no column names one."""
        for number, entry in enumerate(value if isinstance(value, list) else [value], start=1):
            if self._is_unsaid(cell, entry, name):
                continue
            if isinstance(entry, list):
                self.collector.leave_out("label", "marks in a text are no label of all of it", cell)
            elif isinstance(entry, dict):
                yield from self._labels_in(cell, entry)
            else:
                by_place = isinstance(value, list) and isinstance(entry, int | float) and not rater
                if by_place:
                    self.collector.warn_once("raters-by-place", self.part.place(), f"rater {number}")
                yield f"rater {number}" if by_place else "", "", entry, ""

    def _is_unsaid(self, place: Place, value: object, name: str) -> bool:
        """Return whether a label is missing; one that is infinite, and a word for it such as N/A, is counted."""
        if isinstance(value, float) and math.isinf(value):
            self.collector.warn("nan-left-out", place, name)
        is_unsaid = is_missing(value)
        if is_unsaid and isinstance(value, str) and value.strip():
            self.collector.leave_out("label", f"{value.strip()} stands for none", place)
        return is_unsaid

    def _labels_in(self, place: Place, entry: JsonDict) -> list[tuple[str, str, object, str]]:
        """Return of each label that an object has who gave it, its criterion, itself and the reason; nothing, which is
        said, where they do not count or there are none."""
        by = next((as_id(value) for key, value in entry.items() if names.rank(key, Holds.RATER)), "")
        why = next((as_text(value) for key, value in entry.items() if names.rank(key, Holds.REASON)), "")
        status = as_text(entry.get("status", "")).lower()
        if status in names.NOT_GIVEN:
            self.collector.leave_out("label", f"its status is {status}", place)
            return []
        plain = [entry[key] for key in ("value", "label", "rating", "answer", "choice", "score") if key in entry]
        if plain and not isinstance(plain[0], dict | list):
            return [(by, "", plain[0], why)]
        numbers = ((key, value) for key, value in entry.items() if isinstance(value, int | float))
        given = [(key, value) for key, value in numbers if not (names.is_known(key) or is_missing(value))]
        if plain or not given:
            self.collector.bad_row(place, f"The label is an object without a plain value: {shorten(as_text(entry))}.")
            return []
        return [(by, key, value, why) for key, value in given]

    def _is_repeated(self, record: LabelRecord) -> bool:
        """Return whether the rater labelled the item before: the same label counts once, another is an error."""
        if not record.rater:
            return False
        key = (record.case, record.response, record.rater, record.criterion)
        label, place = self.given.setdefault(key, (record.label, record.place))
        if place == record.place:
            return False
        if label == record.label:
            self.collector.leave_out("label", "the same label of the same person again", record.place)
        else:
            why = f"{record.rater!r} labelled the same item at {place.at} as {shorten(label)!r}."
            self.collector.bad_row(record.place, why)
        return True

    def _pair(self, place: Place, case: int, fields: JsonObject, more: JsonDict) -> None:
        """Read two responses side by side, or their systems where other files have them, and which is better."""
        numbers = []
        for response, system, _ in _SIDES:
            header = self.one[response]
            if not header:
                numbers.append(self.collector.response_named(place, case, self.cases.text(fields, system), 0))
                continue
            value = fields.get(header)
            name = self.cases.text(fields, system) or (system_named(value) if isinstance(value, dict) else "")
            if not name:
                name = names.system_of_responses(header) or names.named_responses(header) or names.bare(header)
                self.collector.warn_once("systems-from-header", self.part.place(), header)
            row = ResponseRecord(name, is_same_if_equal=True)
            numbers.append(self._one_of_several(place, case, fields, header, row))
        a, b = numbers
        if a is not None and b is not None:
            self._prefer(place, (a, b), fields, more)

    def _prefer(self, place: Place, pair: tuple[int, int], fields: JsonObject, more: JsonDict) -> None:
        judge = self.cases.text(fields, Holds.JUDGE)
        reason, criterion = self.cases.text(fields, Holds.REASON), self.cases.text(fields, Holds.CRITERION)
        for name, rater in self._voters(fields):
            if name and is_missing(fields.get(name)):
                continue
            choice = self._choice(fields[name], fields) if name else Choice.A
            if choice is None:
                why = f"{shorten(fields[name])} is neither of the responses nor a tie."
                self.collector.bad_row(self.part.cell(place, name), why)
                return
            record = PreferenceRecord(*pair, choice, giver_of(rater, judge), rater or judge, reason=reason)
            record.criterion, record.metadata = criterion, more
            record.place = self.part.cell(place, name) if name else place
            if not self.one[Holds.RESPONSE_A]:  # responses of another file, which may be conversations
                turns = (value for column, value in fields.items() if names.compared(column) == "turn")
                record.turn = as_count(next(turns, None))
            self.collector.preference(record)

    def _rank(self, place: Place, about: tuple[int, int | None], fields: JsonObject, name: str) -> None:
        """Take the rank of a response among those of its case."""
        place, value = self.part.cell(place, name), fields.get(name)
        rank, response = number_of(value), about[1]
        if is_missing(value):
            return
        if rank is None or response is None:
            why = "there is no response" if response is None else f"{name}: {shorten(as_text(value))} is no number"
            self.collector.leave_out("rank", why, place)
            return
        self.ranks.add(about[0], rank, self._preferred(response, fields, place))

    def _voters(self, fields: JsonObject) -> list[tuple[str, str]]:
        """Return the columns of preferences with who gave each; no column where the headers say which is better."""
        voters = [(name, name) for name in self.labels if not self._is_of_one(name)]
        rater = as_id(self.cases.text(fields, Holds.RATER))
        voters += [(name, rater) for name in self.mapping.all(Holds.PREFERENCE)]
        if voters:
            return voters
        return [("", "")] if names.compared(self.one[Holds.RESPONSE_A]) in names.PREFERRED_FIRST else []

    def _choice(self, value: object, fields: JsonObject) -> Choice | None:
        """Return which response a value says is better: in the words of the person, of the table of names, by header or
        by system."""
        text = as_text(value).strip()
        said = preferences.meant(text, self.upload.options.meanings)
        if said is not None:
            return said
        for response, system, choice in _SIDES:
            named = {*names.systems_of(self.one[response]), self.cases.text(fields, system)}
            if text.casefold() in map(str.casefold, named):
                return choice
        return preferences.preference(text)

    def unknown_choices(self) -> list[tuple[str, str]]:
        """Return the values of the preferences that nothing explains, each with its column; empty where all are
        clear."""
        rows = [flat(row.fields, self.mapping) for row in self.part.sample] if self.is_pair else []
        given = ((name, row.get(name), row) for row in rows for name, _ in self._voters(row) if name)
        unknown = (
            (name, value) for name, value, row in given if not is_missing(value) and self._choice(value, row) is None
        )
        return [(name, as_text(value).strip()) for name, value in unknown]
