"""Writes tables and archives of commands to a file or to standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from evalsite.base.command_base import BadInput
from evalsite.base.tables import Row, Table
from judging.management.progress import counted
from judging.services.file_imports.staged_rubrics import Watch


class ProgressRows:
    """The rows of a table, which count themselves as they are written and tell who watches."""

    def __init__(self, table: Table, watch: Watch) -> None:
        self._table = table
        self._watch = watch
        self.rows = 0

    def __iter__(self) -> Iterator[Row]:
        for row in counted(self._table.rows, self._watch, step=f"{self._table.name} written"):
            self.rows += 1
            yield row

    @property
    def table(self) -> Table:
        return Table(self._table.name, self._table.columns, self)


def check_output(output: str, *, as_json: bool) -> None:
    """Refuse standard output where the command's own result is printed there."""
    if output == "-" and as_json:
        raise BadInput("Give --output a file: with --json, standard output contains the result.")


def write_output(output: str, pieces: Iterable[bytes]) -> int:
    """Write to a file, or to standard output for "-"; return the number of bytes."""
    if output == "-":
        return sum(sys.stdout.buffer.write(piece) for piece in pieces)
    path = Path(output)
    try:
        with path.open("wb") as file:
            return sum(file.write(piece) for piece in pieces)
    except OSError as error:
        raise BadInput(f"Cannot write {path}: {error.strerror}.") from error
