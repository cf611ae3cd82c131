"""Collects the neutral records that mappers read: ids, attempts, equal rows, names, warnings and what is left out.

A mapper gets numbers for cases and responses and hands them back with what is said of them. Keys of cases without an
id are counted when all files are read: they number the distinct prompts 1, 2, 3 in the order of the files.
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

from evalsite.base.types import JsonDict, JsonObject, json_writer
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, error_rule, shorten, visible_key
from judging.specs.pictures import ImageSource, read_images
from judging.specs.records.names import CLASSES
from judging.specs.records.neutral import (
    CaseRecord,
    Giver,
    LabelRecord,
    LogRecord,
    Place,
    PreferenceRecord,
    ResponseRecord,
    RubricRecord,
    ScoreRecord,
    VerdictRecord,
)
from judging.specs.records.parts import RecordOptions
from judging.specs.records.values import finite
from judging.specs.turns import ReadTurns, read_turns
from judging.specs.types import CONTEXT_ROLES, UNKNOWN_SCALE, ImageSpec, StoredTurn, image_specs

SCHEMA = """
CREATE TABLE cases (no INTEGER PRIMARY KEY, id TEXT UNIQUE, digest BLOB, asks_of BLOB,
  is_defined INTEGER, file TEXT, at TEXT, key TEXT NOT NULL DEFAULT '',
  prompt, messages, refs, context, images, metadata, fields);
CREATE TABLE responses (no INTEGER PRIMARY KEY, case_no INTEGER, system TEXT, attempt INTEGER, is_defined INTEGER,
  digest BLOB, row_id TEXT, file TEXT, at TEXT, text, messages, images, stop, seconds, completion_tokens, metadata);
CREATE UNIQUE INDEX response_once ON responses (case_no, system, attempt);
CREATE TABLE scores (no INTEGER PRIMARY KEY, file TEXT, at TEXT, data TEXT);
CREATE TABLE verdicts (no INTEGER PRIMARY KEY, file TEXT, at TEXT, data TEXT);
CREATE TABLE preferences (no INTEGER PRIMARY KEY, file TEXT, at TEXT, data TEXT);
CREATE TABLE labels (no INTEGER PRIMARY KEY, file TEXT, at TEXT, data TEXT);
CREATE TABLE rubrics (no INTEGER PRIMARY KEY, file TEXT, at TEXT, data TEXT);
CREATE TABLE warnings (no INTEGER PRIMARY KEY, kind TEXT, file TEXT, at TEXT, detail TEXT);
CREATE TABLE left_out (no INTEGER PRIMARY KEY, what TEXT, why TEXT, file TEXT, at TEXT);
"""
OF_CASE = "prompt, messages, refs, context, images, metadata, fields"
OF_RESPONSE = "text, messages, images, stop, seconds, completion_tokens, metadata"
_OWN: JsonDict = {  # what few cases have, with what stands for none of it
    **dict.fromkeys(("context_role", "scenario", "question_type", "lang", "source_path"), ""),
    "grading": {},
    "handlers": {},
    "full_score": None,
    "null_score": None,
    "weight": 1.0,
}
AT_ONCE = 500
NO_SYSTEM = "The row does not say which system responded. Name it as the system of the file."
_DECODE = json.JSONDecoder().decode
_ENCODE = json_writer(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode(value: object) -> str:
    """Return a value as JSON in few characters; NaN and infinity, which JSON has not, are null."""
    try:
        return _ENCODE(value)
    except ValueError:
        return _ENCODE(finite(value))


def decode(text: str) -> Any:
    """Return what `encode` wrote."""
    return _DECODE(text)


def _listed(value: Sequence[object] | JsonObject | None) -> str:
    """Return a list or an object as JSON; nothing for an empty one, as most are."""
    return encode(value) if value else ""


def _case_values(row: CaseRecord) -> tuple[object, ...]:
    """Return the values of `OF_CASE`."""
    images = _listed(list(map(asdict, row.images)))
    return row.prompt, _listed(row.messages), _listed(row.references), _listed(row.context), images, *_further(row)


def _further(row: CaseRecord) -> tuple[str, str]:
    own = {name: value for name, default in _OWN.items() if (value := getattr(row, name)) != default}
    return _listed(row.metadata), _listed(own)


def case_of(values: Sequence[Any]) -> CaseRecord:
    """Return a case from its values of `OF_CASE`, all of them None where no file describes it."""
    prompt, messages, references, context, images, metadata, fields = values
    return CaseRecord(
        prompt=prompt or "",
        messages=decode(messages) if messages else (),
        references=decode(references) if references else [],
        context=decode(context) if context else [],
        images=image_specs(decode(images)) if images else (),
        metadata=decode(metadata) if metadata else {},
        **(decode(fields) if fields else {}),
    )


def response_of(values: Sequence[Any]) -> ResponseRecord:
    """Return a response from its values of `OF_RESPONSE`, all of them None where no file describes it."""
    text, messages, images, stop, seconds, tokens, metadata = values
    return ResponseRecord(
        text=text or "",
        messages=decode(messages) if messages else (),
        images=image_specs(decode(images)) if images else (),
        stop=stop or "",
        seconds=seconds,
        completion_tokens=tokens,
        metadata=decode(metadata) if metadata else {},
    )


class Spool:
    """A private database in a temporary file, which SQLite removes however the process ends."""

    def __init__(self) -> None:
        self.database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self.database.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-16000; PRAGMA temp_store=FILE;"
        )
        self.database.executescript(SCHEMA)
        self.database.execute("BEGIN")
        self._close = weakref.finalize(self, self.database.close)

    def write(self, statement: str, *values: object) -> int:
        """Carry out a statement and return the number of the row that it added."""
        return self.database.execute(statement, values).lastrowid or 0

    def add(self, statement: str, *values: object) -> int:
        """Carry out an `INSERT OR IGNORE` and return the number of the row; 0 where there is such a row already."""
        cursor = self.database.execute(statement, values)
        return (cursor.lastrowid or 0) if cursor.rowcount == 1 else 0

    def row(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """Return the first row of a query; None where there is none."""
        first: tuple[Any, ...] | None = self.database.execute(statement, values).fetchone()
        return first

    def rows(self, statement: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, a few at a time; rows may be written in between."""
        cursor = self.database.cursor()
        cursor.execute(statement, values)
        while batch := cursor.fetchmany(AT_ONCE):
            yield from batch

    def count(self, table: str, where: str = "1") -> int:
        """Return how many rows of a table fulfil a condition."""
        first = self.row(f"SELECT count(*) FROM {table} WHERE {where}")  # noqa: S608 names of our own
        return int(first[0]) if first else 0

    def close(self) -> None:
        """Remove the file now."""
        self._close()


SAME_ID = error_rule(
    "duplicate-case",
    "Give each question an id of its own. Or say --map detail=COLUMN for the ids: questions then tell the cases.",
    "Give each question an id of its own. Or keep the ids as a detail: questions then tell the cases.",
    is_of_rows=True,
)
SAME_RESPONSE = error_rule(
    "duplicate-response", "Remove one of the two, or give them different attempts or systems.", is_of_rows=True
)
BAD_ROW = error_rule(
    "bad-row",
    "Other rows come in with --leave-out-bad-rows.",
    "Other rows come in once you choose Leave these rows out.",
    is_of_rows=True,
)
TOO_LONG = error_rule("name-too-long", "Shorten it.")
BAD_ATTEMPT = "The attempt is no whole number from 0: {}."

MOST_REFERENCES = 20  # that rows without an id give one case
KEY_LIMIT, SYSTEM_LIMIT, NAME_LIMIT = 200, 120, 150
CUT_OFF = frozenset({"length", "max_tokens", "model_length", "max_output_tokens", "MAX_TOKENS"})  # stop reasons
_FIND_CASE = f"SELECT no, id, digest, is_defined, file, at, {OF_CASE} FROM cases"  # noqa: S608 own names, as below
_MARKS = ", ".join("?" * 9)  # of a place and the values of a case or response
_ADD_CASE = f"INSERT INTO cases (is_defined, id, digest, asks_of, file, at, {OF_CASE}) VALUES (1, ?, ?, ?, {_MARKS})"  # noqa: S608
_DEFINE_CASE = f"UPDATE cases SET is_defined = 1, (file, at, {OF_CASE}) = ({_MARKS}) WHERE no = ?"  # noqa: S608
_ADD_RESPONSE = (
    f"INSERT OR IGNORE INTO responses (is_defined, case_no, system, attempt, digest, row_id, file, at, {OF_RESPONSE})"  # noqa: S608
    f" VALUES (1, ?, ?, ?, ?, ?, {_MARKS})"
)
_DEFINE_RESPONSE = (
    f"UPDATE responses SET is_defined = 1, (digest, row_id, file, at, {OF_RESPONSE}) = (?, ?, {_MARKS}) WHERE no = ?"  # noqa: S608
)
Kept = ScoreRecord | VerdictRecord | PreferenceRecord | LabelRecord | RubricRecord


class Notes:
    """What is said of rows beside what is stored of them."""

    spool: Spool

    def warn(self, kind: str, place: Place, detail: str = "") -> None:
        """Note one thing of a kind of warnings (`judging.specs.records.file_records`)."""
        self.spool.write(
            "INSERT INTO warnings (kind, file, at, detail) VALUES (?, ?, ?, ?)", kind, place.file, place.at, detail
        )

    def leave_out(self, what: str, why: str, place: Place) -> None:
        """Note what of a file is not stored."""
        self.spool.write(
            "INSERT INTO left_out (what, why, file, at) VALUES (?, ?, ?, ?)", what, why, place.file, place.at
        )


class Collector(Notes):
    """Takes neutral records in the order in which they are read."""

    def __init__(self, bundle: Bundle, findings: Findings, options: RecordOptions | None = None) -> None:
        self.bundle, self.findings = bundle, findings
        self.options = options or RecordOptions()
        self.spool = Spool()
        self.logs: dict[str, LogRecord] = {}  # by file
        self._names: dict[tuple[str, str], str] = {}  # (what, folded) -> first spelling
        self._alike: set[tuple[str, str]] = set()
        self._read_names: dict[tuple[str, str], str] = {}  # (what, as written) -> the name that is taken
        self._has_named = self._has_unnamed = False  # cases with and without an id
        self._has_numbered = False  # responses that say their attempt
        self._is_indexed = False  # cases by what they ask
        self._ids: set[int] = set()  # hashes of the ids of cases, so that most new ones are not looked for
        self._warned: set[tuple[str, str, str]] = set()  # (kind, file, detail)
        self._golds: set[tuple[int, int, str, str, int | None]] = set()
        self.bad_rows = 0

    def case(self, place: Place, row: CaseRecord) -> int | None:
        """Return the number of the case that a row describes: an equal one that is known, else a new one.

        None, with an error, where the row asks nothing or contradicts another row of its id.
        """
        key = self._key(row.key, place)
        if row.messages or row.images:
            turns = self._turns(ImageSource(place.file, place.at, f"Case {key}" if key else "The case"), row)
            if turns is None:
                return None
            prompt, messages = _asked(turns, row.prompt)
            row = replace(row, prompt=prompt, messages=messages, images=list(turns.images))
        role = row.context_role
        if not row.prompt.strip() and not row.images:
            self.bad_row(place, "The row has no question.")
            return None
        if role not in CONTEXT_ROLES:
            self.bad_row(place, f"The role of a context is reference or supplementary, not {role!r}.")
            return None
        digest = _digest(row.prompt, row.messages, row.images)
        asks_of = _digest("\n\n".join(row.asks_of)) if row.asks_of else None
        alike = None if key else self._asking("SELECT asks_of FROM cases WHERE digest = ? ORDER BY no", digest)
        if asks_of and alike and alike[0] not in (None, asks_of):  # the same is asked about others
            digest = _digest("\n\n".join([row.prompt, *row.asks_of]), row.messages, row.images)
        return self._place_case(place, (key, digest, asks_of), row, is_asked=bool(key or alike))

    def _asking(self, query: str, digest: bytes) -> tuple[Any, ...] | None:
        """Return what a query finds first of the cases with a prompt; None where no case has it."""
        if not self._is_indexed:  # where all rows name their case, nobody asks
            self.spool.write("CREATE INDEX case_digest ON cases (digest)")
            self._is_indexed = True
        return self.spool.row(f"{query} LIMIT 1", digest)

    def _place_case(
        self, place: Place, identity: tuple[str, bytes, bytes | None], record: CaseRecord, *, is_asked: bool
    ) -> int | None:
        """Return the number of a case by id, prompt and what it asks of; `is_asked` is whether a case may have its
        prompt."""
        key, digest, asks_of = identity
        found = self.spool.row(f"{_FIND_CASE} WHERE id = ?", key) if key and hash(key) in self._ids else None
        if found is None and is_asked and (self._has_unnamed or not key):
            same = "AND id IS NULL" if key else "ORDER BY id IS NULL, no"
            found = self._asking(f"{_FIND_CASE} WHERE digest = ? {same}", digest)
        if key:
            self._ids.add(hash(key))
        if found is None:
            self._has_unnamed, self._has_named = self._has_unnamed or not key, self._has_named or bool(key)
            return self.spool.write(
                _ADD_CASE, key or None, digest, asks_of, place.file, place.at, *_case_values(record)
            )
        number, known_id, known_digest, is_defined, file, at, *values = found
        if is_defined and known_digest != digest:
            message = f"The id {key!r} stands at {Place(file, at)} with another prompt."
            self.findings.add(SAME_ID, place.file, place.at, message, key)
            return None
        if is_defined:
            joins = not key and not known_id and file == place.file
            record.adds_context = record.adds_context and file == place.file
            self._complete(place, number, case_of(values), record, joins=joins)
        else:
            self.spool.write(_DEFINE_CASE, place.file, place.at, *_case_values(record), number)
        if not is_defined or (key and not known_id):
            self.spool.write("UPDATE cases SET id = ?, digest = ? WHERE no = ?", key or known_id, digest, number)
        if asks_of:
            self.spool.write("UPDATE cases SET asks_of = ? WHERE no = ? AND asks_of IS NULL", asks_of, number)
        return int(number)

    def _complete(self, place: Place, number: int, known: CaseRecord, record: CaseRecord, *, joins: bool) -> None:
        """Give a case what another row of it adds; what the row says in another way is left out."""
        if _merge(known, record, joins=joins):
            self.spool.write(
                "UPDATE cases SET refs = ?, context = ?, metadata = ?, fields = ? WHERE no = ?",
                *(_listed(known.references), _listed(known.context), *_further(known), number),
            )
        for name in _unlike(known, record):
            self.leave_out("detail", f"{name}: another row of the case has another one", place)

    def case_named(self, id: str, place: Place) -> int | None:
        """Return the number of the case with an id, which another file of the upload or the site may have."""
        key = self._key(id, place)
        if not key:
            self.bad_row(place, "The row does not say which case it is about.")
            return None
        row = self.spool.row("SELECT no FROM cases WHERE id = ?", key)
        if row is not None:
            return int(row[0])
        self._has_named = True
        self._ids.add(hash(key))
        return self.spool.write(
            "INSERT INTO cases (id, is_defined, file, at) VALUES (?, 0, ?, ?)", key, place.file, place.at
        )

    def case_with_id(self, text: str) -> int | None:
        """Return the number of a case that is described and has this id, which may stand where a prompt is due."""
        if not self._has_named:
            return None
        known = self.spool.row("SELECT no FROM cases WHERE id = ? AND is_defined", text[: KEY_LIMIT + 1])
        return int(known[0]) if known is not None else None

    def case_repeated(self, place: Place, row: CaseRecord) -> int | None:
        """Return the number of a case that another file describes; the row's own words count only where none does."""
        known = self.case_known(row.key, place)
        return known if known is not None else self.case(place, row)

    def case_known(self, id: str, place: Place) -> int | None:
        """Return the number of a case that a file of the upload describes; None, without an error, where none does."""
        known = self.spool.row("SELECT no FROM cases WHERE id = ? AND is_defined", self._key(id, place))
        return int(known[0]) if known is not None else None

    def details_of_case(self, case: int) -> JsonDict:
        """Return what a file of the upload says of a case besides what is asked; {} where none describes it."""
        row = self.spool.row("SELECT metadata FROM cases WHERE no = ? AND is_defined", case)
        return dict(decode(row[0])) if row is not None and row[0] else {}

    def add_references(self, place: Place, case: int, references: Sequence[str]) -> None:
        """Give a case the reference answers that another file has for it, in place of those it has. Those of a case
        that no file describes are left out."""
        if self.spool.row("SELECT 1 FROM cases WHERE no = ? AND is_defined", case) is not None:
            self.spool.write("UPDATE cases SET refs = ? WHERE no = ?", _listed(references), case)
        elif references:
            self.leave_out("reference", "no file of the upload has its question", place)

    def prompt_messages(self, case: int) -> list[StoredTurn]:
        """Return the turns of a case in the stored form, to be put before those of a response; [] where unknown."""
        row = self.spool.row("SELECT prompt, messages FROM cases WHERE no = ? AND is_defined", case)
        if row is None:
            return []
        return decode(row[1]) if row[1] else [{"role": "user", "parts": [{"text": row[0]}]}]

    def response(self, place: Place, case: int, row: ResponseRecord) -> int | None:
        """Return the number of the response that a row has; without an attempt the rows of a case and system are
        numbered in their order. None, with an error, where the row names no system or contradicts another."""
        system = self.name("system", row.system or self.options.system, place)
        if not system:
            self.bad_row(place, NO_SYSTEM)
            return None
        if row.messages or row.images:
            turns = self._turns(ImageSource(place.file, place.at, f"The response of {system}"), row)
            if turns is None:
                return None
            row = replace(row, text=row.text or turns.text, messages=list(turns.messages), images=list(turns.images))
        return self._place_attempt(place, case, system, row)

    def _place_attempt(self, place: Place, case: int, system: str, row: ResponseRecord) -> int | None:
        """Return the number of a response by its attempt, which is counted where it says none."""
        digest, attempt = _digest(row.text, row.messages, row.images), row.attempt
        if attempt is None:
            same = self._same(case, system, digest, row.row_id, is_equal=row.is_same_if_equal)
            if same is not None:
                return same
            attempt = self._next_attempt(case, system) if self._has_numbered else 0
        else:
            self._has_numbered = True
        if row.stop in CUT_OFF:
            self.warn("cut-off", place, row.stop)
        number = self._add_response(place, (case, system, attempt), digest, row)
        if number:
            return number
        if row.attempt is None and not self._has_numbered:
            attempt = self._next_attempt(case, system)
        return self._place_response(place, (case, system, attempt), digest, row)

    def _next_attempt(self, case: int, system: str) -> int:
        last = self.spool.row(
            "SELECT max(attempt) FROM responses WHERE case_no = ? AND system = ? AND is_defined", case, system
        )
        return 0 if last is None or last[0] is None else int(last[0]) + 1

    def _add_response(self, place: Place, identity: tuple[int, str, int], digest: bytes, row: ResponseRecord) -> int:
        """Return the number of a response that was not there; 0 where there is one of its case, system and attempt."""
        return self.spool.add(_ADD_RESPONSE, *identity, *_response_values(place, digest, row))

    def _same(self, case: int, system: str, digest: bytes, row_id: str, *, is_equal: bool) -> int | None:
        if not (row_id or is_equal):
            return None
        condition = "case_no = ? AND system = ? AND digest = ? AND is_defined"
        also = "" if is_equal else " AND row_id = ?"
        row = self.spool.row(
            f"SELECT no FROM responses WHERE {condition}{also} ORDER BY attempt LIMIT 1",  # noqa: S608 our own text
            *(case, system, digest),
            *(() if is_equal else (row_id,)),
        )
        return None if row is None else int(row[0])

    def _place_response(
        self, place: Place, identity: tuple[int, str, int], digest: bytes, row: ResponseRecord
    ) -> int | None:
        found = self.spool.row(
            "SELECT no, is_defined, digest, file, at FROM responses WHERE case_no = ? AND system = ? AND attempt = ?",
            *identity,
        )
        if found is None:
            return self._add_response(place, identity, digest, row)
        number, is_defined, known_digest, file, at = found
        if is_defined and known_digest != digest:
            message = (
                f"Attempt {identity[2]} of {identity[1]!r} at case {self.id_of(identity[0])!r} is already given at "
                f"{Place(file, at)}."
            )
            self.findings.add(SAME_RESPONSE, place.file, place.at, message)
            return None
        if not is_defined:
            self.spool.write(_DEFINE_RESPONSE, *_response_values(place, digest, row), number)
        return int(number)

    def response_named(self, place: Place, case: int, system: str, attempt: int = 0) -> int | None:
        """Return the number of a response that another file of the upload or the site has."""
        system = self.name("system", system, place)
        if not system:
            self.bad_row(place, NO_SYSTEM)
            return None
        row = self.spool.row(
            "SELECT no FROM responses WHERE case_no = ? AND system = ? AND attempt = ?", case, system, attempt
        )
        if row is not None:
            return int(row[0])
        return self.spool.write(
            "INSERT INTO responses (case_no, system, attempt, is_defined, file, at) VALUES (?, ?, ?, 0, ?, ?)",
            *(case, system, attempt, place.file, place.at),
        )

    def responses_to(self, case: int) -> list[tuple[int, str, str]]:
        """Return number, system and text of the responses to a case that files of the upload have, in their order."""
        rows = self.spool.rows(
            "SELECT no, system, text FROM responses WHERE case_no = ? AND is_defined ORDER BY no", case
        )
        return list(rows)

    def failed(self, place: Place, what: str, why: str) -> None:
        """Count a sample that has no response since it failed; its case stays."""
        self.leave_out("response", f"{what}: {why}" if what else why, place)
        self.warn("failed-sample", place, why)

    def score(self, row: ScoreRecord) -> None:
        """Take the score of a rule or metric; a missing value is counted as unscored, and never 0."""
        place = row.place
        if row.value is None:
            self.leave_out("score", f"{row.grader} is empty: not scored, never 0", place)
            self.warn("unscored", place, row.grader)
            return
        if row.scale == UNKNOWN_SCALE:
            self.warn_once("scale-unknown", place, row.grader)
        self._add("scores", place, row)

    def verdict(self, row: VerdictRecord) -> None:
        """Take what a judge said; one without a value is a reply that could not be read, and never 0."""
        if row.value is None:
            self.leave_out("verdict", f"{row.judge}: the judge's reply could not be read", row.place)
            self.warn("unparsed-verdict", row.place, row.judge)
        row.judge = self.name("judge", row.judge, row.place)
        if row.value is not None and row.scale == UNKNOWN_SCALE:
            self.warn_once("scale-unknown", row.place, row.judge)
        self._add("verdicts", row.place, row)

    def preference(self, row: PreferenceRecord) -> None:
        """Take which of two responses is better; what sets say of a pair themselves counts once."""
        if row.kind is Giver.GOLD:
            gold = (row.a, row.b, row.choice, row.criterion, row.turn)
            if gold in self._golds:
                return
            self._golds.add(gold)
        if row.is_flipped:
            self.warn("order-flip", row.place, row.by)
        if row.by:
            row.by = self.name("judge" if row.kind is Giver.JUDGE else "rater", row.by, row.place)
        self._add("preferences", row.place, row)

    def label(self, row: LabelRecord) -> None:
        """Take what a person said of a response or a case. Spellings of one label are folded when all are read."""
        if row.rater:
            row.rater = self.name("rater", row.rater, row.place)
        else:
            self.warn("no-rater", row.place)
        self._add("labels", row.place, row)

    def rubric(self, row: RubricRecord) -> None:
        """Take what the responses to a case are judged by. The same rubric of a case again is one."""
        data = _encoded(row)
        if self.spool.row("SELECT 1 FROM rubrics WHERE data = ?", data) is None:
            self.spool.write(
                "INSERT INTO rubrics (file, at, data) VALUES (?, ?, ?)", row.place.file, row.place.at, data
            )

    def log(self, record: LogRecord) -> None:
        """Say whose log a file is."""
        self.logs[record.file] = record

    def warn_once(self, kind: str, place: Place, detail: str) -> None:
        """Note a thing once for each file and detail, such as that a system is named after its file."""
        if (kind, place.file, detail) not in self._warned:
            self._warned.add((kind, place.file, detail))
            self.warn(kind, place, detail)

    def bad_row(self, place: Place, why: str, *, is_published: bool = False) -> None:
        """Refuse a row, or leave it out where the person said so or the file is a published set."""
        if self.options.leave_out_bad_rows or is_published:
            self.leave_out("row", why, place)
            self.warn("row-left-out", place, why)
            return
        self.bad_rows += 1
        self.findings.add(BAD_ROW, place.file, place.at, why)

    def name(self, what: str, name: str, place: Place) -> str:
        """Return a system's, judge's or rater's name, trimmed; names that differ by case or spaces alone are asked
        about once."""
        known = self._read_names.get((what, name))
        if known is not None:
            return known
        written = name
        name = " ".join(str(name).split())
        name = self.options.renames.get(name, name)
        limit = SYSTEM_LIMIT if what == "system" else NAME_LIMIT
        if len(name) > limit:
            message = f"The name of the {what} has more than {limit} characters."
            self.findings.add(TOO_LONG, place.file, place.at, message, name)
            return name[:limit]
        first = self._names.setdefault((what, name.casefold()), name)
        if first != name and name not in self.options.renames.values() and (what, name) not in self._alike:
            self._alike.add((what, name))
            message = f"Two {what}s differ by case or spaces alone: {first!r} and {name!r}."
            one, two = (f'"{pair}"' if "," in pair else pair for pair in (f"{name}={first}", f"{name}={name}"))
            by_command = [f"'{pair}'" if pair[0] == '"' else f'"{pair}"' for pair in (one, two)]
            hint = f"If they are one, say --renames {by_command[0]}; if they are two, --renames {by_command[1]}."
            page_hint = f"Write {one} under Names taken as others if they are one, else {two}."
            answers = (f"--renames={name}={first}",), (f"--renames={name}={name}",)
            rule = replace(error_rule("alike-names", hint, page_hint), answers=answers)
            self.findings.add(rule, place.file, place.at, message, name)
        self._read_names[what, written] = name
        return name

    def id_of(self, case: int) -> str:
        """Return the id of a case as its file has it; its prompt, shortened, where it has none."""
        row = self.spool.row("SELECT id, prompt FROM cases WHERE no = ?", case)
        return "" if row is None else str(row[0]) if row[0] else shorten(row[1])

    def _add(self, table: str, place: Place, row: Kept) -> None:
        self.spool.write(
            f"INSERT INTO {table} (file, at, data) VALUES (?, ?, ?)",  # noqa: S608 names of our own
            *(place.file, place.at, _encoded(row)),
        )

    def _key(self, id_: str, place: Place) -> str:
        key = visible_key(str(id_), self.findings, place.file, place.at) if id_ else ""
        if len(key) > KEY_LIMIT:
            message = f"The id of the case has more than {KEY_LIMIT} characters."
            self.findings.add(TOO_LONG, place.file, place.at, message, key)
        return key[:KEY_LIMIT]

    def _turns(self, source: ImageSource, row: CaseRecord | ResponseRecord) -> ReadTurns | None:
        """Return the turns of a row in the stored form, with the images of turns and those beside them."""
        read = ReadTurns((), ())
        turns = read_turns(self.bundle, self.findings, source, row.messages) if row.messages else read
        beside = read_images(self.bundle, self.findings, source, row.images) if turns and row.images else ()
        return replace(turns, images=(*turns.images, *beside)) if turns else None


def _asked(turns: ReadTurns, prompt: str) -> tuple[str, list[StoredTurn]]:
    """Return the text of a prompt and its turns; one user turn of text alone is a plain prompt."""
    messages = list(turns.messages)
    if not messages:
        return prompt, []
    is_plain = len(messages) == 1 and messages[0]["role"] == "user" and all("text" in it for it in messages[0]["parts"])
    return turns.text, [] if is_plain else messages


def _encoded(row: Kept) -> str:
    """Return a record without its place, which has columns of its own."""
    record: JsonDict = {name: getattr(row, name) for name in row.__slots__ if name != "place"}
    if isinstance(row, RubricRecord):
        record["criteria"] = [asdict(criterion) for criterion in row.criteria]
    return encode(record)


def _response_values(place: Place, digest: bytes, row: ResponseRecord) -> tuple[object, ...]:
    """Return digest, row, place and the values of `OF_RESPONSE`."""
    texts = row.text, _listed(row.messages), _listed(list(map(asdict, row.images)))
    return (
        *(digest, row.row_id, place.file, place.at, *texts),
        *(row.stop, row.seconds, row.completion_tokens, _listed(row.metadata)),
    )


def _digest(text: str, messages: Sequence[JsonObject] | None = None, images: Sequence[ImageSpec] = ()) -> bytes:
    """Return 16 bytes that are equal for equal content; white space between words does not count."""
    is_plain = text.isprintable() and "  " not in text  # no white space but single blanks
    content = text.strip() if is_plain else " ".join(text.split())
    if messages or images:
        content += "\0" + encode([list(messages or ()), [image.digest for image in images]])
    return sha256(content.encode("utf-8", "surrogatepass")).digest()[:16]


def _unlike(known: CaseRecord, record: CaseRecord) -> list[str]:
    """Return the names of what a further row of a case says in another way, which is not taken."""
    texts = {"reference": (known.references, record.references)}
    texts |= {} if record.adds_context else {"context": (known.context, record.context)}
    lists = [name for name, (stands, given) in texts.items() if stands and not set(given) <= set(stands)]
    classes = [name for _, name in CLASSES if getattr(record, name) not in ("", getattr(known, name))]
    return lists + classes + [key for key, value in record.metadata.items() if known.metadata.get(key, value) != value]


def _merge(known: CaseRecord, record: CaseRecord, *, joins: bool) -> bool:
    """Give a case what another row of it adds; return whether it adds anything. Where it `joins`, rows that ask the
    same with other reference answers give several to one case."""
    before = replace(known)
    known.references, known.context = known.references or record.references, known.context or record.context
    if record.adds_context:
        known.context = list(dict.fromkeys([*known.context, *record.context]))
    if joins:
        known.references = list(dict.fromkeys([*known.references, *record.references]))[:MOST_REFERENCES]
    known.metadata = {**record.metadata, **known.metadata}
    for name, default in _OWN.items():
        if getattr(known, name) == default:
            setattr(known, name, getattr(record, name))
    return before != known
