"""What an upload holds once all of it is read: keys of cases, folded labels, and the records in their order."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Generic, TypeVar, overload

from evalsite.base.types import JsonDict
from judging.specs.records.collector import (
    AT_ONCE,
    OF_CASE,
    OF_RESPONSE,
    Collector,
    Notes,
    case_of,
    decode,
    encode,
    response_of,
)
from judging.specs.records.neutral import (
    SCENARIO_LENGTH,
    CaseRecord,
    Choice,
    CriterionRecord,
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
from judging.specs.turns import text_of
from judging.specs.types import StoredTurn

T = TypeVar("T")
F = TypeVar("F")
Walk = Callable[[int, int], Iterator[T]]  # from the nth on, so many
FIRST_PLACES = 3
PARTS = ("cases", "responses", "scores", "verdicts", "preferences", "labels", "rubrics")


@dataclass(frozen=True, slots=True)
class WarningGroup:
    """What is warned of, once for each kind."""

    kind: str
    count: int
    places: tuple[tuple[Place, str], ...]  # the first ones, each with its detail


class Stored(Sequence[T], Generic[T]):
    """A sequence that is read each time it is gone through, a few entries at a time. It is equal to a list."""

    def __init__(self, count: int, walk: Walk[T]) -> None:
        self._count, self.walk = count, walk

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        return self.walk(0, self._count)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._count)
            return list(self.walk(start, max(0, stop - start)))[::step]
        place = index + self._count if index < 0 else index
        if not 0 <= place < self._count:
            raise IndexError(index)
        return next(self.walk(place, 1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # equal to lists

    def map(self, convert: Callable[[T], F]) -> Stored[F]:
        """Return what the entries become when they are read."""
        return Stored(self._count, lambda start, most: map(convert, self.walk(start, most)))


def picked(entries: Sequence[T], positions: Sequence[int]) -> Sequence[T]:
    """Return the entries at ascending positions; they stay where they are."""
    if len(positions) == len(entries):
        return entries

    def walk(start: int, most: int) -> Iterator[T]:
        wanted = iter(positions[start : start + most])
        position = next(wanted, None)
        for place, entry in enumerate(entries if position is not None else ()):
            if place == position:
                yield entry
                position = next(wanted, None)
                if position is None:
                    return

    return Stored(len(positions), walk)


class Collected(Notes):
    """All records of an upload. Made once, when every part was read."""

    def __init__(self, collector: Collector, *, folds_labels: bool = True) -> None:
        self.spool, self.logs = collector.spool, list(collector.logs.values())
        self._number_cases()
        if folds_labels:
            self._fold_labels()
        self.counts: dict[str, int] = {}
        self._count()

    def _count(self) -> None:
        self.counts = {name: self.spool.count(name) for name in PARTS}
        self.counts["cases"] = self.spool.count("cases", _DESCRIBED)
        self.counts["responses"] = self.spool.count("responses", "is_defined")

    def _number_cases(self) -> None:
        """Give each case its key: its id, or the next free number; warn of both kinds of gaps."""
        self.spool.write("UPDATE cases SET key = id WHERE id IS NOT NULL")
        used = {row[0] for row in self.spool.rows("SELECT id FROM cases WHERE id IS NOT NULL AND id GLOB '[0-9]*'")}
        free = (key for number in itertools.count(1) if (key := str(number)) not in used)
        unnamed = self.spool.rows("SELECT no FROM cases WHERE id IS NULL ORDER BY no")
        keys = ((key, no) for (no,), key in zip(unnamed, free, strict=False))
        self.spool.database.executemany("UPDATE cases SET key = ? WHERE no = ?", keys)
        self.spool.write(
            "INSERT INTO warnings (kind, file, at, detail) SELECT 'ids-made', file, at, key FROM cases"
            " WHERE id IS NULL ORDER BY no"
        )
        self.spool.write(
            "INSERT INTO warnings (kind, file, at, detail) SELECT 'no-reference', file, at, key FROM cases"
            " WHERE is_defined = 1 AND refs = '' ORDER BY no"
        )

    def _fold_labels(self) -> None:
        """Make one of labels that differ by case, spaces or decimal zeros alone: the first spelling stands."""
        first: dict[tuple[str, str], str] = {}
        decimal = self._decimal_raters()
        changed: list[tuple[int, str, JsonDict, str, str]] = []
        for no, file, at, data in self.spool.rows("SELECT no, file, at, data FROM labels ORDER BY no"):
            record = decode(data)
            label = record["label"]
            plain = " ".join(label.split())
            shown = _whole(plain)
            stands = first.setdefault((record["criterion"], shown.casefold()), shown)
            if stands != label or (label.isdigit() and (record["rater"], record["criterion"]) in decimal):
                changed.append((no, stands, record, file, at))
        for no, stands, record, file, at in changed:
            self.warn("labels-folded", Place(file, at), f"{record['label']!r} is read as {stands!r}")
            self.spool.write("UPDATE labels SET data = ? WHERE no = ?", encode(record | {"label": stands}), no)

    def _decimal_raters(self) -> set[tuple[str, str]]:
        """Return the raters with labels such as 1.0: all of their labels were numbers with a fraction."""
        query = "SELECT data FROM labels WHERE json_extract(data, '$.label') GLOB '*[0-9].0'"
        records = [decode(row[0]) for row in self.spool.rows(query)]
        return {(record["rater"], record["criterion"]) for record in records}

    def case(self, number: int) -> CaseRecord:
        """Return one case; of one that no file describes the key alone is known."""
        row = self.spool.row(f"SELECT {_CASE} FROM cases WHERE no = ?", number)  # noqa: S608 names of our own
        assert row is not None
        return _case(row)

    def response(self, number: int) -> ResponseRecord:
        """Return one response; of one that no file describes, case, system and attempt alone are known."""
        row = self.spool.row(f"SELECT {_RESPONSE} FROM {_WITH_CASES} WHERE r.no = ?", number)  # noqa: S608 our own names
        assert row is not None
        return _response(row)

    def case_keys(self) -> dict[int, str]:
        """Return the key of every case, described or not, by number."""
        return dict(self.spool.rows("SELECT no, key FROM cases ORDER BY no"))

    def rename_cases(self, keys: dict[int, str]) -> None:
        """Give cases other keys: those under which a stored benchmark has their prompts."""
        for no, key in keys.items():
            self.spool.write("UPDATE cases SET key = ? WHERE no = ?", key, no)

    def answer_known(self, keys: dict[int, str]) -> None:
        """Take cases that files describe for those that a suite has under these keys: none of them is stored, so that
        nothing is said of their making."""
        self.rename_cases(keys)
        for number in keys:
            self.spool.write("UPDATE cases SET is_defined = 2 WHERE no = ? AND is_defined", number)
        self.spool.write(f"DELETE FROM warnings WHERE kind IN ({', '.join('?' * len(_OF_NEW_CASES))})", *_OF_NEW_CASES)  # noqa: S608
        self._count()

    @property
    def cases(self) -> Stored[tuple[int, CaseRecord]]:
        """The cases that files describe and no suite has yet, by number."""
        return self._stored("cases", _CASE, _case, _DESCRIBED)

    @property
    def responses(self) -> Stored[tuple[int, ResponseRecord]]:
        """The responses that files describe, by number."""
        return self._stored(_WITH_CASES, _RESPONSE, _response, "r.is_defined", "r.no")

    @property
    def unknown_cases(self) -> Stored[tuple[int, CaseRecord]]:
        """The cases that files name and none describes."""
        return self._stored("cases", _CASE, _case, "NOT is_defined")

    @property
    def scores(self) -> Stored[tuple[int, ScoreRecord]]:
        """The scores of rules and metrics."""
        return self._stored("scores", _DATA, lambda row: _record(ScoreRecord, row))

    @property
    def verdicts(self) -> Stored[tuple[int, VerdictRecord]]:
        """The verdicts of judges, also those that could not be read."""
        return self._stored("verdicts", _DATA, lambda row: _record(VerdictRecord, row))

    @property
    def preferences(self) -> Stored[tuple[int, PreferenceRecord]]:
        """The preferences of people, judges and files."""
        return self._stored("preferences", _DATA, _preference)

    @property
    def labels(self) -> Stored[tuple[int, LabelRecord]]:
        """The labels of people."""
        return self._stored("labels", _DATA, lambda row: _record(LabelRecord, row))

    def has_opinions_of_people(self) -> bool:
        """Return whether a person, and not the file itself or a judge, gave a label or preference."""
        labels = "SELECT 1 FROM labels WHERE json_extract(data, '$.rater') != '' LIMIT 1"
        preferences = "SELECT 1 FROM preferences WHERE json_extract(data, '$.kind') = ? LIMIT 1"
        return self.spool.row(labels) is not None or self.spool.row(preferences, Giver.PERSON) is not None

    @property
    def rubrics(self) -> Stored[tuple[int, RubricRecord]]:
        """The rubrics of single cases."""
        return self._stored("rubrics", _DATA, _rubric)

    @property
    def unknown_responses(self) -> Stored[tuple[int, ResponseRecord]]:
        """The responses that files name and none describes."""
        return self._stored(_WITH_CASES, _RESPONSE, _response, "NOT r.is_defined", "r.no")

    def response_identities(self) -> Iterator[tuple[str, str, int]]:
        """Yield case, system and attempt of the responses that files describe, by number."""
        return self.spool.rows(f"{_IDENTITIES} WHERE r.is_defined ORDER BY r.no")

    def response_systems(self) -> list[str]:
        """Return the systems of all responses, described or not."""
        return [row[0] for row in self.spool.rows("SELECT DISTINCT system FROM responses ORDER BY system")]

    def rows_about(self, cases: Collection[int]) -> list[tuple[str, int, int, str, str]]:
        """Return which responses are about these cases: file, how many, of how many, key and place of the first."""
        self._choose(cases)
        joined = "FROM responses r JOIN cases c ON c.no = r.case_no"
        about = f"SELECT r.file, count(*), min(r.no) {joined} JOIN chosen x ON x.no = c.no GROUP BY r.file"
        found: list[tuple[str, int, int, str, str]] = []
        for file, count, first in list(self.spool.rows(about)):
            total = self.spool.row("SELECT count(*) FROM responses WHERE file = ?", file) or (0,)
            row = self.spool.row(f"SELECT c.key, r.at {joined} WHERE r.no = ?", first) or ("", "")
            found.append((file, count, total[0], row[0], row[1]))
        return found

    def leave_out_rows(self, cases: Collection[int], why: str) -> None:
        """Leave out the responses about these cases with everything that is said of them."""
        self._choose(cases)
        rows = "SELECT r.no, r.file, r.at FROM responses r JOIN chosen c ON c.no = r.case_no ORDER BY r.no"
        for _, file, at in list(self.spool.rows(rows)):
            self.leave_out("row", why, Place(file, at))
            self.warn("row-left-out", Place(file, at), why)
        gone = "SELECT r.no FROM responses r JOIN chosen c ON c.no = r.case_no"
        columns = {"scores": "response", "verdicts": "response", "labels": "response", "preferences": "a"}
        for table, name in columns.items():
            self.spool.write(f"DELETE FROM {table} WHERE json_extract(data, '$.{name}') IN ({gone})")  # noqa: S608
        self.spool.write("DELETE FROM responses WHERE case_no IN (SELECT no FROM chosen)")
        self.spool.write("DELETE FROM rubrics WHERE json_extract(data, '$.case') IN (SELECT no FROM chosen)")
        self._count()

    def _choose(self, cases: Collection[int]) -> None:
        self.spool.write("CREATE TEMP TABLE IF NOT EXISTS chosen (no INTEGER PRIMARY KEY)")
        self.spool.write("DELETE FROM chosen")
        self.spool.database.executemany("INSERT INTO chosen VALUES (?)", ((number,) for number in cases))

    def _stored(
        self, table: str, columns: str, read: Callable[[tuple[Any, ...]], T], where: str = "1", number: str = "no"
    ) -> Stored[tuple[int, T]]:
        def walk(start: int, most: int) -> Iterator[tuple[int, T]]:
            statement = f"SELECT {columns} FROM {table} WHERE {where} ORDER BY {number} LIMIT ? OFFSET ?"  # noqa: S608
            return ((row[0], read(row)) for row in self.spool.rows(statement, most, start))

        return Stored(self.spool.count(table, where), walk)

    def systems(self) -> Counter[str]:
        """Return the systems with the numbers of their responses, in the order in which they first appear."""
        rows = self.spool.rows(
            "SELECT system, count(*) FROM responses WHERE is_defined GROUP BY system ORDER BY min(no)"
        )
        return Counter(dict(rows))

    def warnings(self) -> list[WarningGroup]:
        """Return what is warned of, one entry a kind, the most frequent first."""
        kinds = list(self.spool.rows("SELECT kind, count(*) FROM warnings GROUP BY kind ORDER BY count(*) DESC, kind"))
        return [WarningGroup(kind, count, tuple(self._places(kind, FIRST_PLACES))) for kind, count in kinds]

    def _places(self, kind: str, most: int) -> Iterator[tuple[Place, str]]:
        rows = self.spool.rows("SELECT file, at, detail FROM warnings WHERE kind = ? ORDER BY no LIMIT ?", kind, most)
        return ((Place(file, at), detail) for file, at, detail in rows)

    def warning_rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield every warning as kind, file, place and detail."""
        return self.spool.rows("SELECT kind, file, at, detail FROM warnings ORDER BY no")

    def left_out(self) -> list[tuple[str, str, int]]:
        """Return what is not stored, why, and how often, at most 500 reasons."""
        statement = "SELECT what, why, count(*) FROM left_out GROUP BY what, why ORDER BY min(no) LIMIT ?"
        return list(self.spool.rows(statement, AT_ONCE))

    def shown(self, most: int | None = None) -> dict[str, Iterator[object]]:
        """Return what is stored as JSON, at most so many of each thing, as one goes through it."""
        rows: dict[str, Callable[[Any], JsonDict | None]] = {
            "cases": case_json,
            "responses": lambda row: {"case": row.case_key} | response_json(row),
            "scores": lambda row: self._about(row.response) | score_json(row),
            "verdicts": lambda row: None if row.value is None else self._about(row.response) | verdict_json(row),
            "preferences": self._preference_json,
            "labels": self._label_json,
            "rubrics": lambda row: {"case": self.case_key(row.case)} | rubric_json(row),
        }
        shown: dict[str, Iterator[object]] = {"systems": iter(sorted(self.systems()))}
        for part, json_of in rows.items():
            records: Sequence[tuple[int, Any]] = getattr(self, part)
            firsts = records if most is None else records[:most]
            shown[part] = filter(None, map(json_of, map(itemgetter(1), firsts)))
        return shown

    def document(self, most: int | None = None) -> JsonDict:
        """Return what is stored as JSON, at most so many of each thing: the preview, and what `show_import` prints."""
        return {name: list(rows) for name, rows in self.shown(most).items()}

    def case_key(self, number: int) -> str:
        """Return the key of a case, described or not."""
        row = self.spool.row("SELECT key FROM cases WHERE no = ?", number)
        return str(row[0]) if row is not None else ""

    def identity(self, response: int) -> tuple[str, str, int]:
        """Return case, system and attempt of a response, described or not."""
        row = self.spool.row(f"{_IDENTITIES} WHERE r.no = ?", response)
        assert row is not None
        return row[0], row[1], row[2]

    def _about(self, response: int) -> JsonDict:
        return dict(zip(("case", "system", "attempt"), self.identity(response), strict=True))

    def _preference_json(self, row: PreferenceRecord) -> JsonDict:
        (case, first, attempt), (_, second, other) = self.identity(row.a), self.identity(row.b)
        return preference_json(row, case=case, systems=(first, second), attempts=(attempt, other))

    def _label_json(self, row: LabelRecord) -> JsonDict:
        said: JsonDict = {"case": self.case_key(row.case), "rater": row.rater}
        said |= {"label": row.label, "criterion": row.criterion}
        about = {} if row.response is None else self._about(row.response)
        return said | {name: about[name] for name in about if name != "case"} | _optional(row, ("reason",))


_DESCRIBED = "is_defined = 1"  # 0: named, 2: described, but a suite has it
_OF_NEW_CASES = ("ids-made", "no-reference", "answer-index", "last-turn-as-reference", "text-only-items")
_CASE = f"no, key, id, file, at, {OF_CASE}"
_WITH_CASES = "responses r JOIN cases c ON c.no = r.case_no"
_RESPONSE = f"r.no, c.key, r.case_no, r.system, r.attempt, r.file, r.at, r.{OF_RESPONSE.replace(', ', ', r.')}"
_DATA = "no, file, at, data"
_IDENTITIES = f"SELECT c.key, r.system, r.attempt FROM {_WITH_CASES}"  # noqa: S608 names of our own


def _whole(text: str) -> str:
    """Return `4.0` as `4` and `4.50` as `4.5`, any other text as it is."""
    head, dot, tail = text.partition(".")
    return text.rstrip("0").rstrip(".") if dot and head.lstrip("+-").isdigit() and tail.isdigit() else text


def _case(row: tuple[Any, ...]) -> CaseRecord:
    _, key, id_, file, at, *values = row
    case = case_of(values)
    case.key, case.is_made, case.place = key, id_ is None, Place(file, at)
    case.is_numbered, case.scenario = case.is_made and key.isdecimal(), str(case.scenario)[:SCENARIO_LENGTH]
    case.source_path = case.source_path or str(case.place)
    return case


def _response(row: tuple[Any, ...]) -> ResponseRecord:
    _, key, case, system, attempt, file, at, *values = row
    response = response_of(values)
    response.case_key, response.case, response.system, response.attempt = key, case, system, attempt
    response.place = Place(file, at)
    return response


def _record(kind: Callable[..., T], row: tuple[Any, ...]) -> T:
    _, file, at, data = row
    record = decode(data)
    return kind(**(record | {"scale": tuple(record["scale"])}), place=Place(file, at))


def _preference(row: tuple[Any, ...]) -> PreferenceRecord:
    _, file, at, data = row
    record = decode(data)
    record |= {"choice": Choice(record["choice"]), "kind": Giver(record["kind"])}
    record["orders"] = tuple(map(Choice, record["orders"]))
    return PreferenceRecord(**record, place=Place(file, at))


def _rubric(row: tuple[Any, ...]) -> RubricRecord:
    _, file, at, data = row
    record = decode(data)
    criteria = [CriterionRecord(**(line | {"tags": tuple(line["tags"])})) for line in record["criteria"]]
    return RubricRecord(record["case"], criteria, Place(file, at))


def turns_json(messages: Sequence[StoredTurn]) -> list[dict[str, str]]:
    """Return stored turns as role and text."""
    return [{"role": turn["role"], "text": text_of(turn)} for turn in messages]


def case_json(case: CaseRecord) -> JsonDict:
    """Return a case as preview and `show_import` have it."""
    shown: JsonDict = {"id": case.key}
    if case.messages:
        shown["messages"] = turns_json(case.messages)
    else:
        shown["prompt"] = case.prompt
    own = {name: value for name in ("scenario", "question_type", "lang") if (value := getattr(case, name))}
    shown |= {"references": case.references, "metadata": case.metadata | own}
    if case.context:
        shown["context"] = case.context
    if case.images:
        shown["images"] = len(case.images)
    return shown


def response_json(response: ResponseRecord) -> JsonDict:
    """Return a response as preview and `show_import` have it, without its case."""
    shown: JsonDict = {"system": response.system, "attempt": response.attempt, "text": response.text}
    if response.messages:
        shown["messages"] = turns_json(response.messages)
    if response.stop:
        shown["stop"] = response.stop
    return shown | ({"metadata": response.details} if response.details else {})


def score_json(row: ScoreRecord) -> JsonDict:
    """Return a score without what it is about."""
    return {"grader": row.grader, "value": row.value, "scale": list(row.scale)} | _optional(row, ("turn",))


def verdict_json(row: VerdictRecord) -> JsonDict:
    """Return a verdict without what it is about."""
    shown: JsonDict = {"judge": row.judge, "value": row.value, "scale": list(row.scale)}
    return shown | _optional(row, ("reason", "criterion", "turn"))


def preference_json(
    row: PreferenceRecord, *, case: str, systems: tuple[str, str], attempts: tuple[int, int]
) -> JsonDict:
    """Return a preference as preview and `show_import` have it."""
    shown: JsonDict = {"case": case, "a": systems[0], "b": systems[1], "choice": str(row.choice), "by": row.by}
    shown["kind"] = str(row.kind)
    if attempts != (0, 0):
        shown["attempts"] = list(attempts)
    return shown | _optional(row, ("strength", "reason", "criterion", "turn"))


def rubric_json(row: RubricRecord) -> JsonDict:
    """Return the rubric of a case as preview and `show_import` have it, without its case."""
    lines: list[JsonDict] = []
    for line in row.criteria:
        shown: JsonDict = {"text": line.text}
        shown |= {"points": line.points} if line.points is not None else {}
        lines.append(shown | ({"levels": dict(line.levels)} if line.levels else {}))
    return {"criteria": lines}


def _optional(row: object, names: Sequence[str]) -> JsonDict:
    return {name: value for name in names if (value := getattr(row, name)) not in (None, "")}


__all__ = ["Collected", "LogRecord", "Stored", "WarningGroup", "picked"]
