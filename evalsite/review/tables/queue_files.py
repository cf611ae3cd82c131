"""Questions with one to six responses each, to be reviewed by people, and the labels that come along. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace

from evalsite.base.types import JsonDict, as_text
from evalsite.review.questions.forms import LETTERS, MOST_RESPONSES
from evalsite.review.tables.label_files import LabelFile, LabelFileReader, item_key, made_names
from judging.specs.files.findings import Problem, Severity, said_once
from judging.specs.pictures import PictureFile
from judging.specs.records import names
from judging.specs.records.collected import Collected
from judging.specs.records.columns import ASKS, CHOSEN, RESPONDS, option
from judging.specs.records.file_records import (
    FileRecords,
    ParsedFile,
    columns_in,
    problem,
    read_file,
    remark,
    said_of_columns,
)
from judging.specs.records.names import Holds
from judging.specs.records.neutral import CaseRecord, Place, ResponseRecord
from judging.specs.records.parts import RecordOptions
from judging.specs.records.values import has_words

LIMITS = {"key": 200, "criterion": 100, "scenario": 100, "language": 40, "system_a": 200, "system_b": 200}
TEXT_LIMIT = 200_000
CRITERION_TEXTS = ("criterion_text", "criterion_description", "rubric")  # what the criterion means, in words
_SHOWN_TO_NOBODY = {"gold", "prefill"}  # words of columns that say what is right, or what a model says: no references


@dataclass(frozen=True, slots=True)
class MaterialRow:
    """One item of a file; `response_b` is None for a single response."""

    key: str
    question: str
    response_a: str
    response_b: str | None = None
    context: str = ""
    reference: str = ""
    system_a: str = ""
    system_b: str = ""
    criterion: str = ""
    criterion_text: str = ""
    scenario: str = ""
    language: str = ""
    more: tuple[tuple[str, str], ...] = ()  # text and system of the responses C to F
    turns: JsonDict = field(default_factory=dict)  # question, response_a to response_f of chats, in the stored form
    images: JsonDict = field(default_factory=dict)  # of the same, those that they show: ImageSpec
    details: JsonDict = field(default_factory=dict)  # what nothing reads; annotators never see it
    place: str = ""  # in the file

    @property
    def texts(self) -> tuple[str, ...]:
        """All responses."""
        second = () if self.response_b is None else (self.response_b,)
        return (self.response_a, *second, *(text for text, _ in self.more))

    @property
    def systems(self) -> tuple[str, ...]:
        """Who gave them, as far as the file says."""
        return (self.system_a, self.system_b, *(system for _, system in self.more))


@dataclass(frozen=True, slots=True)
class MaterialFile:
    """The items of a file, all with as many responses, and the labels that they have there."""

    rows: tuple[MaterialRow, ...]
    size: int
    labels: LabelFile | None = None
    pictures: Mapping[str, PictureFile] = field(default_factory=dict)  # by hash

    @property
    def is_pair(self) -> bool:
        return self.size == 2

    @property
    def kind(self) -> str:
        """What the items are, in words."""
        return {1: "single responses", 2: "pairs"}.get(self.size, f"groups of {self.size} responses")


def read_materials(
    data: bytes, name: str, *, options: RecordOptions | None = None, has_scale: bool = False
) -> ParsedFile[MaterialFile]:
    """Return the items of a file; rows without a key are numbered.

    A scale that was given (`has_scale`) for pairs is warned of.
    """
    options = options or RecordOptions()
    unsaid = [column for column in columns_in(data, name, options) if column not in options.columns]
    # what says what is right or why may be seen by no annotator
    hidden = [column for column in unsaid if not _SHOWN_TO_NOBODY.isdisjoint(names.compared(column).split("_"))]
    options = said_of_columns(options, dict.fromkeys(hidden, str(Holds.DETAIL)))
    records = read_file(data, name, options)
    answer = _answer_of(records)
    if answer:
        records = read_file(data, name, said_of_columns(options, {answer: str(Holds.RESPONSE)}))
    elif records.column_of(Holds.TURNS) and not records.column_of(Holds.SYSTEM, *RESPONDS):
        records = read_file(data, name, replace(options, system=name))  # what a system replied, nobody says which
    if records.collected is None:
        return ParsedFile(None, tuple(records.problems), records.columns)
    reader = _MaterialReader(records)
    rows = reader.rows()
    problems = [*records.problems, *_unasked(records), *said_once(reader.problems)]
    if any(row.severity is Severity.ERROR for row in problems):
        return ParsedFile(None, tuple(problems), records.columns)
    labels = LabelFileReader(records)
    is_labelled = bool(records.collected.counts["labels"] or records.collected.counts["preferences"])
    label_file = labels.read() if is_labelled else None
    size = len(rows[0].texts)
    problems += [*_kept(name, hidden), *_unused_scale(name, has_scale, size == 2)]
    with_labels = label_file if label_file is not None and label_file.n_labels and not labels.has_errors else None
    return ParsedFile(MaterialFile(tuple(rows), size, with_labels, records.pictures), tuple(problems), records.columns)


def _answer_of(records: FileRecords) -> str:
    """Return the column of answers beside questions and nothing else, which is what is reviewed; empty where none."""
    answers = [use for use in records.columns if names.rank(use.name, Holds.ANSWER) and use.why != CHOSEN]
    read = [use for use in records.columns if use not in answers or records.collected is not None]
    is_one = len(answers) == 1 and not any(use.role in RESPONDS for use in read)
    return answers[0].name if is_one else ""


def _unasked(records: FileRecords) -> Iterator[Problem]:
    """Ask about texts beside responses where no column holds what is asked, which annotators would not see."""
    details = [use for use in records.columns if use.role == Holds.DETAIL and use.why != CHOSEN and use.samples]
    texts = [use.name for use in details if all(map(has_words, use.samples)) and not names.is_known(use.name)]
    if texts and records.column_of(*RESPONDS) and not records.column_of(*ASKS):
        text = f"{', '.join(texts)} may hold what is asked, which no column is known to hold."
        hint = f"If so, say {option(Holds.PROMPT, texts[0])}; if not, {option(Holds.DETAIL, *texts)}."
        page_hint = f"Choose {Holds.PROMPT.label} or {Holds.DETAIL.label}."
        yield problem(
            records.name, "", text, hint=hint, page_hint=page_hint, code="queue-columns", columns=tuple(texts)
        )


def _kept(name: str, hidden: Sequence[str]) -> Iterator[Problem]:
    for column in hidden:
        text = f"The column {column!r} is shown to leads only."
        hint = "Choose it for the reference to show it to annotators."
        yield remark(name, "", text, offending=column, hint=hint, code="hidden-column")


def _unused_scale(name: str, has_scale: bool, is_pair: bool) -> Iterator[Problem]:
    if has_scale and is_pair:
        text = "The declared labels are not used: for pairs, annotators choose the better response."
        yield remark(name, "", text, hint="Give one response per row to use them.", code="unused-labels")


@dataclass(slots=True)
class _MaterialReader:
    records: FileRecords
    problems: list[Problem] = field(default_factory=list)
    made_names: set[str] = field(default_factory=set)  # of systems
    empty: set[str] = field(default_factory=set)  # places of rows without a response
    criteria: dict[Place, str] = field(default_factory=dict)  # of rows of tables
    details: dict[tuple[int, ...], JsonDict] = field(default_factory=dict)  # beside labels and preferences

    @property
    def collected(self) -> Collected:
        assert self.records.collected is not None
        return self.records.collected

    def rows(self) -> list[MaterialRow]:
        """Return the items, in the order of the file; those with the same responses to a question are one."""
        self._read_warnings()
        self._read_criteria()
        self._read_details()
        items = self._items()
        name = self.records.name
        if not items:
            hints = {"hint": "Say --map response=COLUMN.", "page_hint": "Choose the columns of the responses."}
            self.problems.append(problem(name, "", "The file has no responses.", **hints, code="queue-columns"))
            return []
        size = self._size(items)
        if size > MOST_RESPONSES:
            text = f"The rows have {size} responses; people compare at most {MOST_RESPONSES}."
            hint = "Choose fewer columns of responses."
            self.problems.append(problem(name, "", text, hint=hint, code="queue-columns"))
            return []
        for numbers, place in items.items():
            if len(numbers) != size and place.at not in self.empty:
                text = f"The row has {len(numbers)} of {size} responses."
                self.problems.append(problem(name, place.at, text, code="queue-row"))
        counts = Counter(self._case_of(numbers, place).key for numbers, place in items.items())
        rows = [self._row(numbers, place, counts) for numbers, place in items.items()]
        self._check(rows)
        return rows

    def _items(self) -> dict[tuple[int, ...], Place]:
        """Return what is reviewed with its first place: responses by number; of texts alone minus the case's."""
        items: dict[tuple[int, ...], Place] = {}
        known: set[frozenset[int]] = set()
        for place, numbers in self.records.collector.rows.items():
            if frozenset(numbers) not in known:  # a pair the other way round is the same
                items[tuple(dict.fromkeys(numbers))] = place
                known.add(frozenset(numbers))
        if items or not self.collected.counts["labels"]:
            return items
        return {(-number,): case.place for number, case in self.collected.cases}

    def _size(self, items: dict[tuple[int, ...], Place]) -> int:
        """Return how many responses each row has: by its columns, else as the first does."""
        roles = Counter(use.role for use in self.records.columns)
        if roles[Holds.RESPONSE_A]:
            return len("AB")
        return roles[Holds.RESPONSES_OF] or len(next(iter(items)))

    def _read_warnings(self) -> None:
        """Find names that stand for systems where the file names none, and rows without a response."""
        self.made_names = {self.records.name, *made_names(self.collected)}
        for kind, _, at, _ in self.collected.warning_rows():
            if kind == "null-response":
                self.empty.add(at)
                self.problems.append(problem(self.records.name, at, "A response is empty.", code="queue-row"))

    def _case_of(self, numbers: tuple[int, ...], place: Place) -> CaseRecord:
        case = -numbers[0] if numbers[0] < 0 else self.collected.response(numbers[0]).case
        return self.collected.case(case)

    def _row(self, numbers: tuple[int, ...], place: Place, counts: Counter[str]) -> MaterialRow:
        case = self._case_of(numbers, place)
        responses = [self.collected.response(number) for number in numbers if number > 0]
        details = self._details_of(numbers, place, case, responses)
        details.pop(self.records.column_of(Holds.CRITERION), None)
        key = case.key
        if counts[case.key] > 1:
            key = details.get(self.records.column_of(Holds.ROW_ID)) or item_key(case.key, *responses)[: LIMITS["key"]]
        text = next((name for name in details if names.compared(name) in CRITERION_TEXTS), "")
        texts = [row.text for row in responses]
        shown: dict[str, CaseRecord | ResponseRecord] = {
            "question": case,
            **{f"response_{letter}": row for letter, row in zip(LETTERS, responses, strict=False)},
        }
        if not responses:  # what is reviewed is a text alone
            shown = {"response_a": case}
        systems = ["" if row.system in self.made_names else row.system for row in responses]
        return MaterialRow(
            key=as_text(key),
            question=case.prompt if responses else "",
            response_a=texts[0] if responses else case.prompt,
            response_b=texts[1] if len(responses) > 1 else None,
            more=tuple(zip(texts[2:], systems[2:], strict=True)),
            context=case.whole_context,
            reference=case.reference,
            system_a=systems[0] if systems else "",
            system_b=systems[1] if len(systems) > 1 else "",
            criterion=self.criteria.get(place, ""),
            criterion_text=as_text(details.pop(text, "")),
            scenario=as_text(case.scenario),
            language=as_text(case.lang),
            turns={name: list(row.messages) for name, row in shown.items() if row.messages},
            images={name: [asdict(image) for image in row.images] for name, row in shown.items() if row.images},
            details=details,
            place=place.at,
        )

    def _details_of(
        self, numbers: tuple[int, ...], place: Place, case: CaseRecord, responses: Sequence[ResponseRecord]
    ) -> JsonDict:
        own = self.records.collector.details.get(place, {})
        details = {**case.metadata, **own, **self.details.get(numbers, {})}
        for row in responses:
            details |= row.metadata
        return details

    def _read_criteria(self) -> None:
        column = self.records.column_of(Holds.CRITERION)
        for taken in self.records.taken if column else ():
            for row in taken.part.rows() if column in taken.part.columns else ():
                self.criteria[taken.part.place(row.at)] = as_text(row.fields.get(column)).strip()

    def _read_details(self) -> None:
        for _, label in self.collected.labels:
            numbers = (label.response,) if label.response is not None else (-label.case,)
            self.details.setdefault(numbers, dict(label.metadata))
        for _, preference in self.collected.preferences:
            self.details.setdefault((preference.a, preference.b), dict(preference.metadata))

    def _check(self, rows: Sequence[MaterialRow]) -> None:
        used: set[str] = set()
        for row in rows:
            wrong = _why_unfit(row, used)
            if wrong:
                self.problems.append(problem(self.records.name, row.place, wrong, code="queue-row"))
            used.add(row.key)


def _why_unfit(row: MaterialRow, used: set[str]) -> str:
    if row.key in used:
        return f"The id {row.key!r} occurs twice."
    for letter, text in zip(LETTERS, row.texts, strict=False):
        if not text.strip() and f"response_{letter}" not in row.images:
            return f"The response {letter} is empty."
        if len(text) > TEXT_LIMIT:
            return f"The response {letter} has more than {TEXT_LIMIT:,} characters."
    if any(len(system) > LIMITS["system_a"] for system in row.systems):
        return f"The name of a system has more than {LIMITS['system_a']} characters."
    for name in (column.name for column in fields(MaterialRow)):
        text = getattr(row, name)
        if isinstance(text, str) and len(text) > LIMITS.get(name, TEXT_LIMIT):
            return f"The {name.replace('_', ' ')} has more than {LIMITS.get(name, TEXT_LIMIT):,} characters."
    return ""
