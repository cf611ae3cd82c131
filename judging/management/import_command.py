"""The base of the import commands: read a path, check it, store it, and report."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils.timezone import now

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from judging.management.progress import progress_bar
from judging.services.file_imports.import_commands import COMMANDS
from judging.services.file_imports.imports import (
    CheckedImport,
    ImportRefused,
    check_import,
    refusal_message,
    store_checked,
)
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.rubrics import RubricOrigin
from judging.specs.files.named_files import named_files, named_images
from judging.specs.files.uploaded_files import LIMITS, Files
from judging.specs.replies.response_formats import ROW_ENDINGS
from judging.specs.replies.table_columns import ColumnField

PROBLEMS_PRINTED = 50
YAML_SUFFIXES = (".yaml", ".yml")


def read_path(path: Path) -> Files:
    """Return a file, or every file below a folder by its path in it. Links are not followed.

    Raises:
        BadInput: there is nothing to read, or more than an import takes.
    """
    if path.is_file():
        return [(path.name, _read(path))]
    if not path.is_dir():
        raise BadInput(f"{path}: there is no such file or folder.")
    files: list[tuple[str, bytes]] = []
    total = 0
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            file = Path(folder) / name
            if file.is_symlink() or not file.is_file():
                continue
            total += file.stat().st_size
            if total > LIMITS.max_total_bytes or len(files) >= LIMITS.max_entries:
                raise BadInput(f"{path}: the folder is too large for one import; import it in parts.")
            files.append((file.relative_to(path).as_posix(), _read(file)))
    if not files:
        raise BadInput(f"{path}: the folder contains no files.")
    return files


def read_suite_path(path: Path) -> Files:
    """Return what `read_path` does; beside a single file also the images that its rows name, and beside a single YAML
    file the files that it names, and those that they name.

    Raises:
        BadInput: there is nothing to read, or more than an import takes.
    """
    files = dict(read_path(path))
    if path.is_file() and path.suffix.lower() in ROW_ENDINGS:
        names = named_images(files[path.name])
        images = [name for name in names if _is_own_file(path.parent / name, path.parent)]
        return [*files.items(), *((name, _read(path.parent / name)) for name in images)]
    if not path.is_file() or path.suffix.lower() not in YAML_SUFFIXES:
        return list(files.items())
    waiting, total = [path.name], 0
    while waiting:
        name = waiting.pop()
        for named in named_files(files[name], name):
            file = path.parent / named
            if named in files or not _is_own_file(file, path.parent):
                continue
            files[named] = _read(file)
            total += len(files[named])
            if total > LIMITS.max_total_bytes or len(files) > LIMITS.max_entries:
                raise BadInput(f"{path}: it names more files than one import can have; import it in parts.")
            if file.suffix.lower() in YAML_SUFFIXES:
                waiting.append(named)
    return list(files.items())


def _is_own_file(file: Path, folder: Path) -> bool:
    """Return whether a path is a file below a folder, reached through no link."""
    try:
        return file.is_file() and file.resolve() == folder.resolve() / file.relative_to(folder)
    except (OSError, ValueError):  # a text that is no path
        return False


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as failure:
        raise BadInput(f"{path}: cannot be read: {failure.strerror}.") from failure


def add_map_argument(parser: CommandParser) -> None:
    """Take what columns of tables are."""
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="FIELD=COLUMN",
        help=f"what a column is, such as case=Question_ID; repeatable. Fields: {', '.join(ColumnField)}",
    )


def columns_of(pairs: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return columns and their fields.

    Raises:
        BadInput: one is no pair, or its field does not exist.
    """
    columns: dict[str, str] = {}
    for pair in pairs:
        field, _, column = pair.partition("=")
        if not column or field not in set(ColumnField):
            fields = ", ".join(ColumnField)
            raise BadInput(f"--map {pair}: write FIELD=COLUMN, with one of these fields: {fields}.")
        columns[column.strip()] = field
    return tuple(columns.items())


class ImportCommand(JsonCommand):
    """A command that imports one path. Subclasses name the kinds they take."""

    kinds: tuple[str, ...] = ()  # what the path may hold; the first is taken where that cannot be told

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="a file, a ZIP archive or a folder")
        parser.add_argument("--benchmark", default="", help="name or slug of a stored or new benchmark")
        parser.add_argument("--dry-run", action="store_true", help="report what would be imported and store nothing")

    def read(self, path: Path) -> Files:
        """Return the files to import."""
        return read_path(path)

    def options_of(self, options: JsonDict) -> ImportOptions:
        """Return the import's options from the command's."""
        return ImportOptions(benchmark=options["benchmark"])

    def run(self, **options: Any) -> JsonDict:
        """Check the path and, unless it is a dry run, store what it holds."""
        path: Path = options["path"]
        with progress_bar(shown=not options["as_json"]) as watch:
            checked = check_import(files=self.read(path), options=self.options_of(options), watch=watch)
        self._check_kind(checked, path)
        if checked.errors:
            for problem in checked.errors[:PROBLEMS_PRINTED]:
                self.stderr.write(str(problem))
            raise BadInput(refusal_message(checked.errors))
        plan = {"problems": [str(problem) for problem in checked.problems], "parts": [_brief(p) for p in checked.parts]}
        if options["dry_run"]:
            return {"dry_run": True, "changed": False, "would_change": not checked.changes_nothing, **plan}
        try:
            with progress_bar(shown=not options["as_json"]) as watch:
                result = store_checked(checked=checked, origin=RubricOrigin(path.name, None, now()), watch=watch)
        except ImportRefused as refusal:
            raise BadInput(str(refusal)) from refusal
        return {"dry_run": False, **result, **plan}

    def _check_kind(self, checked: CheckedImport, path: Path) -> None:
        kinds = checked.intake.kinds
        if kinds and not set(kinds) & set(self.kinds):
            words = " and ".join(kind.replace("_", " ") for kind in kinds)
            commands = " and ".join(dict.fromkeys(COMMANDS[kind] for kind in kinds))
            raise BadInput(f"{path}: this contains {words}; import it with {commands}.{self.other_kind_hint(kinds)}")

    def other_kind_hint(self, kinds: tuple[str, ...]) -> str:
        """Return what else may be done about a path that holds another kind of thing, with a space before it."""
        return ""

    def summary(self, result: JsonDict) -> str:
        """Return a few lines for people."""
        lines = [f"warning: {problem}" for problem in result["problems"][:PROBLEMS_PRINTED]]
        for part in result["parts"]:
            facts = ", ".join(f"{fact['label'].lower()} {fact['value']}" for fact in part["facts"])
            lines.append(f"{part['title']} into {part['into']}: {facts}")
        if result["dry_run"]:
            lines.append("Dry run: nothing was stored." if result["would_change"] else "Nothing would change.")
        else:
            lines.append("Imported." if result["changed"] else "Nothing changed: everything was already stored.")
        return "\n".join(lines)


def _brief(part: JsonDict) -> JsonDict:
    return {name: part[name] for name in ("kind", "title", "into", "is_new", "changes_nothing", "facts", "notes")}
