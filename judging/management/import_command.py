"""The base of the import commands: read a path, check it, store it, and report."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils.timezone import now

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from judging.actions.references import SUITE
from judging.management.progress import progress_bar
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
from judging.specs.files.source_files import HELD_BYTES, SourceFile, source_on_disk
from judging.specs.records.names import MENU
from judging.specs.records.recognition import RecordOptions
from judging.specs.records.tables import TABLE
from judging.specs.records.tools import ALL
from judging.specs.upload_kinds import UploadKind

MEANINGS = ("A", "B", "tie")
ROW_ENDINGS = (".jsonl", ".json", ".ndjson")
PROBLEMS_PRINTED = 50
YAML_SUFFIXES = (".yaml", ".yml")


def read_paths(paths: Sequence[Path]) -> list[SourceFile]:
    """Return files, and every file below folders under the folder's name; of files also what they name beside them.

    Links are not followed.

    Raises:
        BadInput: there is nothing to read.
    """
    files: dict[str, SourceFile] = {}
    for path in paths:
        for source in _below(path) if path.is_dir() else _file_with_named(path):
            files.setdefault(source.path, source)
    return list(files.values())


def _below(folder: Path) -> Iterator[SourceFile]:
    """Yield the files below a folder, without those of hidden folders and of file managers."""
    found = False
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(parent) / name
            is_hidden = name.startswith(".") and file.suffix not in ROW_ENDINGS
            if is_hidden or file.is_symlink() or not file.is_file():
                continue
            found = True
            yield _source(f"{folder.resolve().name}/{file.relative_to(folder).as_posix()}", file)
    if not found:
        raise BadInput(f"{folder}: the folder contains no files.")


def _file_with_named(path: Path) -> Iterator[SourceFile]:
    """Yield a file, the images that its rows name, and of a YAML file all files that it names, and those that they
    name."""
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file or folder.")
    yield _source(path.name, path)
    if path.stat().st_size > HELD_BYTES:
        return
    waiting, known = [path.name], {path.name}
    while waiting:
        name = waiting.pop()
        file = path.parent / name
        if file.suffix.lower() in YAML_SUFFIXES:
            named = named_files(_read(file), name)
        elif name == path.name and file.suffix.lower() in ROW_ENDINGS:
            named = named_images(_read(file))
        else:
            named = []
        for other in named:
            if other not in known and _is_own_file(path.parent / other, path.parent):
                known.add(other)
                waiting.append(other)
                yield _source(other, path.parent / other)


def _source(name: str, file: Path) -> SourceFile:
    try:
        return source_on_disk(name, file)
    except OSError as failure:
        raise BadInput(f"{file}: cannot be read: {failure.strerror}.") from failure


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
        metavar="ROLE=COLUMN",
        help=(
            "what a column is, such as case=Question_ID; repeatable. What values of a preference mean: A=1,B=2,tie=0. "
            f"Roles: {', '.join(MENU)}"
        ),
    )
    parser.add_argument("--encoding", default="", help="of text files whose encoding cannot be told, such as gbk")


def record_options(options: JsonDict) -> RecordOptions:
    """Return what `--map` and `--encoding` say of a file."""
    said = mapping_of(options["map"])
    return RecordOptions(columns=dict(said["columns"]), meanings=dict(said["meanings"]), encoding=options["encoding"])


def mapping_of(pairs: Iterable[str]) -> JsonDict:
    """Return the columns with their roles and the meanings of values, as fields of `ImportOptions`.

    Raises:
        BadInput: one is no pair, or its role does not exist.
    """
    columns: dict[str, str] = {}
    meanings: dict[str, str] = {}
    for pair in pairs:
        role, _, column = pair.partition("=")
        if role in MEANINGS:
            for part in pair.split(","):
                meaning, _, value = part.partition("=")
                if meaning.strip() not in MEANINGS or not value.strip():
                    raise BadInput(f"--map {pair}: write what each value means, such as A=1,B=2,tie=0.")
                meanings[meaning.strip()] = value.strip()
        elif not column or role not in MENU:
            raise BadInput(f"--map {pair}: write ROLE=COLUMN, with one of these roles: {', '.join(MENU)}.")
        else:
            columns[column.strip()] = role
    return {"columns": tuple(columns.items()), "meanings": tuple(meanings.items())}


def _renames(pairs: Iterable[str]) -> tuple[tuple[str, str], ...]:
    renames = [tuple(part.strip() for part in pair.partition("=")[::2]) for pair in pairs]
    wrong = next((pair for pair, (_, name) in zip(pairs, renames, strict=True) if not name), None)
    if wrong is not None:
        raise BadInput(f"--rename {wrong}: write OLD=NEW.")
    return tuple((old, new) for old, new in renames)


class ImportCommand(JsonCommand):
    """`import`, and the names it had for single kinds, each of which may state the kind."""

    help = (
        "Import anything: suites, questions, responses, logs of tools, pairs, labels, rubrics. Several files and "
        "folders at once are one upload."
    )
    kind = ""  # what an older name stands for

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="a file, a ZIP archive or a folder")
        parser.add_argument("--kind", default=self.kind, help=f"what it is: {', '.join(kinds_taken())}")
        parser.add_argument("--benchmark", default="", help="name or slug of a stored or new benchmark")
        parser.add_argument(
            "--new-benchmark", action="store_true", help="--benchmark is a new name, though a stored one is like it"
        )
        parser.add_argument("--rubric", default="", help="name of the rubric; a stored one gets a new version")
        parser.add_argument("--name", default="", help="an older name of --benchmark, of rubrics of --rubric")
        parser.add_argument(
            "--suite",
            help="suite of the responses: id, name, or slug@number; default: the newest",
        )
        parser.add_argument("--system", default="", help="system of the responses if the file does not name it")
        parser.add_argument("--step", default="", help="of traces: take the spans of this name instead of whole traces")
        add_map_argument(parser)
        parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW", help="take a name as another")
        parser.add_argument("--blind", action="store_true", help="labels: nobody had seen verdicts of machines")
        parser.add_argument(
            *("--leave-out-bad-rows", "--skip-bad-rows"), action="store_true", help="leave out rows with errors"
        )
        parser.add_argument("--allow-missing-files", action="store_true", help="accept missing files")
        parser.add_argument("--dry-run", action="store_true", help="report what would be imported and store nothing")

    def options_of(self, options: JsonDict) -> ImportOptions:
        """Return the import's options from the command's."""
        is_rubric = options["kind"] == UploadKind.LEVEL_RUBRIC
        if options["kind"] not in ("", *kinds_taken()):
            raise BadInput(f"--kind {options['kind']}: there is no such kind. Kinds: {', '.join(kinds_taken())}.")
        return ImportOptions(
            kind=options["kind"],
            benchmark=options["benchmark"] or ("" if is_rubric else options["name"]),
            is_new_benchmark=options["new_benchmark"],
            suite_id=SUITE.named(options["suite"]).pk if options["suite"] else None,
            system=options["system"],
            rubric=options["rubric"] or (options["name"] if is_rubric else ""),
            allow_missing_files=options["allow_missing_files"],
            renames=_renames(options["rename"]),
            encoding=options["encoding"],
            leave_out_bad_rows=options["leave_out_bad_rows"],
            step=options["step"],
            is_blind=options["blind"],
            **mapping_of(options["map"]),
        )

    def run(self, **options: Any) -> JsonDict:
        """Check the paths and, unless it is a dry run, store what they hold."""
        paths: list[Path] = options["paths"]
        with progress_bar(shown=not options["as_json"]) as watch:
            checked = check_import(files=read_paths(paths), options=self.options_of(options), watch=watch)
        if checked.errors:
            for problem in checked.errors[:PROBLEMS_PRINTED]:
                self.stderr.write(str(problem))
            raise BadInput(refusal_message(checked.errors))
        plan = self._plan(checked, with_records=options["as_json"])
        if options["dry_run"]:
            return {"dry_run": True, "changed": False, "would_change": not checked.changes_nothing, **plan}
        origin = RubricOrigin(paths[0].name if len(paths) == 1 else f"{len(paths)} paths", None, now())
        try:
            with progress_bar(shown=not options["as_json"]) as watch:
                result = store_checked(checked=checked, origin=origin, watch=watch)
        except ImportRefused as refusal:
            raise BadInput(str(refusal)) from refusal
        return {"dry_run": False, **result, **plan}

    def _plan(self, checked: CheckedImport, *, with_records: bool) -> JsonDict:
        """Return what an import would store, as `show_import` prints it when it is stored."""
        preview = checked.preview()
        plan: JsonDict = {
            "kinds": preview["kinds"],
            "warnings": preview.get("warnings", {}),
            "remarks": [remark["text"] for remark in preview.get("remarks", ())],
            "left_out": preview.get("left_out", []),
            "problems": [str(problem) for problem in checked.problems],
            "parts": [_brief(part) for part in checked.parts],
        }
        collected = checked.collected
        return plan | ({"stored": collected.document()} if collected is not None and with_records else {})

    def summary(self, result: JsonDict) -> str:
        """Return a few lines for people."""
        lines = [f"warning: {words}" for words in (*result["remarks"], *result["problems"][:PROBLEMS_PRINTED])]
        lines += [f"left out: {count:,} {what}: {why}" for what, why, count in result["left_out"][:PROBLEMS_PRINTED]]
        for part in result["parts"]:
            facts = ", ".join(f"{fact['label'].lower()} {fact['value']}" for fact in part["facts"])
            lines.append(f"{part['title']} into {part['into']}: {facts}")
        if result["dry_run"]:
            lines.append("Dry run: nothing was stored." if result["would_change"] else "Nothing would change.")
        else:
            lines.append("Imported." if result["changed"] else "Nothing changed: everything was already stored.")
        return "\n".join(lines)


def kinds_taken() -> list[str]:
    """Return what `--kind` takes: the kinds with readers of their own, and those of shapes."""
    return [*UploadKind, *(shape.kind for shape in (*ALL, TABLE) if not shape.refusal)]


def _brief(part: JsonDict) -> JsonDict:
    return {name: part[name] for name in ("kind", "title", "into", "is_new", "changes_nothing", "facts", "notes")}
