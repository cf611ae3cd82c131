"""The base of the import commands: read a path, check it, store it, and report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils.timezone import now

from evalsite.base.actions.commands import add_by, add_fields, entered_of, refused_by_option
from evalsite.base.actions.declarations import acting_person
from evalsite.base.actions.entries import valid_form
from evalsite.base.command_base import JsonCommand
from evalsite.base.rows import BadInput
from evalsite.base.types import JsonDict
from judging.actions.progress import progress_bar
from judging.actions.uploads import UPLOADS, confirm
from judging.forms.imports import ImportOptionsForm
from judging.services.file_imports.imports import (
    CheckedImport,
    ImportRefused,
    check_import,
    refusal_message,
    store_checked,
)
from judging.services.file_imports.rubrics import RubricOrigin
from judging.specs.files.bundles import HELD_BYTES, SourceFile, source_on_disk
from judging.specs.files.yaml_files import named_files, named_images

ROW_ENDINGS = (".jsonl", ".json", ".ndjson")
PROBLEMS_PRINTED = 50
OF_SAMPLES = ("name", "samples")  # what a page alone shows of each part
YAML_SUFFIXES = (".yaml", ".yml")


def read_paths(paths: Sequence[Path]) -> list[SourceFile]:
    """Return files, and every file below folders under the folder's name; of files also what they name beside them.
    Several files or folders of one name are told apart by the folders that they lie in.

    Links are not followed.

    Raises:
        BadInput: there is nothing to read.
    """
    files: dict[str, SourceFile] = {}
    for path, name in _named(paths).items():
        for source in _below(path, name) if path.is_dir() else _file_with_named(path, name):
            files.setdefault(source.path, source)
    return list(files.values())


def _named(paths: Sequence[Path]) -> dict[Path, str]:
    """Return the name of each file and folder in the upload, without those that lie in a folder that is named too."""
    whole = dict.fromkeys(Path(os.path.abspath(path)) for path in paths)
    outer = [path for path in whole if whole.keys().isdisjoint(path.parents)]
    counts = Counter(path.name for path in outer)
    alike = [path.parent for path in outer if counts[path.name] > 1]
    above = os.path.commonpath(alike) if alike else ""
    return {path: path.name if counts[path.name] == 1 else path.relative_to(above).as_posix() for path in outer}


def _below(folder: Path, name: str) -> Iterator[SourceFile]:
    """Yield the files below a folder under its name, without those of hidden folders and of file managers."""
    found = False
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(below for below in folders if not below.startswith("."))
        for base in sorted(names):
            file = Path(parent) / base
            is_hidden = base.startswith(".") and file.suffix not in ROW_ENDINGS
            if is_hidden or file.is_symlink() or not file.is_file():
                continue
            found = True
            yield _source(f"{name}/{file.relative_to(folder).as_posix()}", file)
    if not found:
        raise BadInput(f"{folder}: the folder contains no files.")


def _file_with_named(path: Path, name: str) -> Iterator[SourceFile]:
    """Yield a file under its name, the images that its rows name, and of a YAML file all files that it names, and those
    that they name."""
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file or folder.")
    yield _source(name, path)
    if path.stat().st_size > HELD_BYTES:
        return
    folder = name.removesuffix(path.name)
    waiting, known = [path.name], {path.name}
    while waiting:
        base = waiting.pop()
        file = path.parent / base
        if file.suffix.lower() in YAML_SUFFIXES:
            named = named_files(_read(file), base)
        elif base == path.name and file.suffix.lower() in ROW_ENDINGS:
            named = named_images(_read(file))
        else:
            named = []
        for other in named:
            if other not in known and _is_own_file(path.parent / other, path.parent):
                known.add(other)
                waiting.append(other)
                yield _source(f"{folder}{other}", path.parent / other)


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


class ImportCommand(JsonCommand):
    """Check what an upload takes and store it at once."""

    help = (
        "Import anything: suites, questions, responses, logs of tools, pairs, labels, rubrics. Several files and "
        "folders at once are one upload."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="a file, a ZIP archive or a folder")
        add_fields(parser, ImportOptionsForm.base_fields)
        add_by(parser)
        parser.add_argument("--dry-run", action="store_true", help="report what would be imported and store nothing")

    def run(self, **options: Any) -> JsonDict:
        """Check the paths and, unless it is a dry run, store what they hold."""
        paths: list[Path] = options["paths"]
        with refused_by_option():
            actor = acting_person(options["by"], permission=confirm.permission)
            form = valid_form(UPLOADS, ImportOptionsForm, entered_of(ImportOptionsForm.base_fields, options))
        with progress_bar(shown=not options["as_json"]) as watch:
            checked = check_import(files=read_paths(paths), options=form.options(), watch=watch)
        if checked.errors:
            for problem in checked.errors[1:PROBLEMS_PRINTED]:  # the refusal says the first
                self.stderr.write(str(problem))
            raise BadInput(refusal_message(checked.errors))
        plan = self._plan(checked, with_records=options["as_json"])
        if options["dry_run"]:
            return {"dry_run": True, "changed": False, "would_change": not checked.changes_nothing, **plan}
        origin = RubricOrigin(paths[0].name if len(paths) == 1 else f"{len(paths)} paths", actor, now())
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
            "parts": [
                {name: value for name, value in part.items() if name not in OF_SAMPLES} for part in checked.parts
            ],
        }
        collected = checked.intake.collected
        return plan | ({"stored": collected.shown()} if collected is not None and with_records else {})

    def summary(self, result: JsonDict) -> str:
        """Return a few lines for people."""
        lines = [f"warning: {words}" for words in (*result["remarks"], *result["problems"][:PROBLEMS_PRINTED])]
        lines += [f"left out: {count:,} {what}: {why}" for what, why, count in result["left_out"][:PROBLEMS_PRINTED]]
        for part in result["parts"]:
            facts = ", ".join(f"{fact['label'].lower()} {fact['value']}" for fact in part["facts"])
            lines.append(f"{part['title']} into {part['into']}: {facts}")
            lines += [f"  {note}" for note in part["notes"] if not part["changes_nothing"]]
        if result["dry_run"]:
            lines.append("Dry run: nothing was stored." if result["would_change"] else "Nothing would change.")
        else:
            lines.append("Imported." if result["changed"] else "Nothing changed: everything was already stored.")
        return "\n".join(lines)
