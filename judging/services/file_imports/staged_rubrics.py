"""Rubrics as read from a file, kept outside of memory until they are compared and stored.

A workbook of 100,000 rows is read once: every row becomes an item, the item one JSON text, and that text is what is
hashed, compared and stored. Between reading and storing the texts lie in a private SQLite file that vanishes with its
connection, so that an import takes as much memory for 200,000 rows as for 20,000.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import NamedTuple

from evalsite.base.types import JsonDict
from judging.llm.chat import canonical_json
from judging.specs.files.findings import Findings
from judging.specs.rubrics.rubric_reading import RubricReading, note_duplicate_item, reading_of
from judging.specs.types import RubricItemSpec, RubricSpec
from judging.stored_content import rubric_head_json, tree_digest, tree_text

BATCH = 1000
KEYS_LISTED = 12
SLOTS = 1 << 20  # bytes; a hundred thousand keys fill a tenth of them
SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -8000;
CREATE TABLE item (
    position INTEGER PRIMARY KEY, case_key TEXT UNIQUE, digest TEXT, tree TEXT, metadata TEXT, source TEXT
);
CREATE TABLE before (position INTEGER PRIMARY KEY, case_key TEXT UNIQUE, digest TEXT);
CREATE TABLE known (case_key TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_ADDED = "FROM item WHERE case_key NOT IN (SELECT case_key FROM before)"
_CHANGED = "FROM item JOIN before USING (case_key) WHERE item.digest != before.digest"
_REMOVED = "FROM before WHERE case_key NOT IN (SELECT case_key FROM item)"
_UNKNOWN = "FROM item WHERE case_key != '' AND case_key NOT IN (SELECT case_key FROM known)"

Watch = Callable[[str, int, int], None]  # what is done with the rows, how many are done, how many there are; 0: unknown


def unwatched(stage: str, done: int, total: int) -> None:
    """Watch nothing."""


class StagedItem(NamedTuple):
    """One item as it is stored."""

    position: int
    case_key: str
    digest: str  # SHA-256, 64 hex digits
    tree: str  # JSON
    metadata: str  # JSON
    source: str


@dataclass(frozen=True, slots=True)
class Keys:
    """Some case keys: how many there are, and the first of them."""

    count: int
    first: tuple[str, ...]


class StagedRubric:
    """A rubric that is read, checked and hashed but not stored yet."""

    def __init__(self, head: RubricSpec) -> None:
        self.head = head  # without items
        self.item_count = 0
        self._hash = sha256(rubric_head_json(head))
        self._pending: dict[str, StagedItem] = {}
        self._taken = bytearray(SLOTS)  # by the hash of a key; where none is marked, no item has the key
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(SCHEMA)
        self._db.execute("BEGIN")  # never committed: what would be kept is thrown away in the end

    @property
    def content_hash(self) -> str:
        """The SHA-256 of trees and rules, without the name and without where in a file they stood."""
        return self._hash.hexdigest()

    def rename(self, name: str) -> None:
        """Give it another name, which is no part of its content."""
        self.head = replace(self.head, name=name)

    def add(self, item: RubricItemSpec) -> str | None:
        """Keep an item; where its key is taken already, keep nothing and return where the other stands.

        Raises:
            ValueError: a number in it is not finite.
        """
        slot = hash(item.case_key) % SLOTS
        if self._taken[slot] and (other := self.source_of(item.case_key)) is not None:
            return other
        tree = tree_text(item.root)
        digest = tree_digest(item.case_key, tree)
        metadata = canonical_json(item.metadata).decode()
        self._hash.update(bytes.fromhex(digest) + metadata.encode())
        self._taken[slot] = 1
        staged = StagedItem(self.item_count, item.case_key, digest, tree, metadata, item.source)
        self._pending[item.case_key] = staged
        self.item_count += 1
        if len(self._pending) >= BATCH:
            self.flush()
        return None

    def source_of(self, case_key: str) -> str | None:
        """Return where the item of a case stands in the file; None where there is none."""
        if case_key in self._pending:
            return self._pending[case_key].source
        row = self._db.execute("SELECT source FROM item WHERE case_key = ?", (case_key,)).fetchone()
        return row[0] if row else None

    def flush(self) -> None:
        """Write out what is still in memory; reading wants it."""
        self._db.executemany("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?)", self._pending.values())
        self._pending.clear()

    def items(self) -> Iterator[StagedItem]:
        """Yield all items in the order of the file."""
        return map(StagedItem._make, self._db.execute("SELECT * FROM item ORDER BY position"))

    def sample(self, positions: Iterable[int]) -> list[StagedItem]:
        """Return the items at some positions."""
        query = "SELECT * FROM item WHERE position = ?"
        return [StagedItem._make(row) for position in positions for row in self._db.execute(query, (position,))]

    def keys(self, limit: int) -> list[str]:
        """Return the first keys of cases; none where it is for a whole benchmark."""
        query = "SELECT case_key FROM item WHERE case_key != '' ORDER BY position LIMIT ?"
        return [key for (key,) in self._db.execute(query, (limit,))]

    def keyed_count(self) -> int:
        """Return how many items are for one case each."""
        return int(self._db.execute("SELECT count(*) FROM item WHERE case_key != ''").fetchone()[0])

    def compare(self, before: Iterable[tuple[str, str]]) -> tuple[Keys, Keys, Keys]:
        """Return what was added to, changed in and removed from the version with these keys and digests."""
        self._db.execute("DELETE FROM before")
        self._db.executemany("INSERT INTO before (case_key, digest) VALUES (?, ?)", before)
        return self._found(_ADDED, "item"), self._found(_CHANGED, "item"), self._found(_REMOVED, "before")

    def unknown(self, known_keys: Iterable[str]) -> Keys:
        """Return the keys that are not among the known ones."""
        self._db.execute("DELETE FROM known")
        self._db.executemany("INSERT OR IGNORE INTO known VALUES (?)", ((key,) for key in known_keys))
        return self._found(_UNKNOWN, "item")

    def _found(self, condition: str, table: str) -> Keys:
        count = self._db.execute(f"SELECT count(*) {condition}").fetchone()[0]
        query = f"SELECT {table}.case_key {condition} ORDER BY {table}.position LIMIT ?"
        return Keys(count, tuple(key for (key,) in self._db.execute(query, (KEYS_LISTED,))))

    def close(self) -> None:
        """Let its file go."""
        self._db.close()


def stage_reading(reading: RubricReading, findings: Findings, watch: Watch = unwatched) -> StagedRubric | None:
    """Return a rubric read to its end; None where that found errors, which are among the findings then."""
    staged, rows = StagedRubric(reading.head), reading.rows
    for number, item in enumerate(reading.items):
        if number % BATCH == 0:
            watch("reading", *((rows.rows_read, rows.total) if rows else (number, 0)))
        try:
            other = staged.add(item)
        except (ValueError, UnicodeEncodeError) as problem:
            findings.error(item.source, "not-storable", f"The item {item.case_key!r} cannot be stored: {problem}.")
            continue
        if other is not None:
            note_duplicate_item(item, other, findings)
    if findings.has_errors:
        staged.close()
        return None
    staged.flush()
    return staged


def stage_rubric(rubric: RubricSpec) -> StagedRubric:
    """Return a rubric that is in memory already.

    Raises:
        ValueError: it holds a key twice, or a number that is not finite.
    """
    findings = Findings()
    staged = stage_reading(reading_of(rubric), findings)
    if staged is None:
        raise ValueError(str(findings.listed[0]))
    return staged


def item_tree(item: StagedItem) -> JsonDict:
    """Return an item's tree as JSON-like data."""
    tree: JsonDict = json.loads(item.tree)
    return tree
