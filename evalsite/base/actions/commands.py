"""The door of commands: one command a noun, its actions, list and detail as sub-commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.actions.declarations import (
    CREATE,
    ESTIMATE,
    MOST_ROWS,
    READING,
    Action,
    InvalidInput,
    Noun,
    acting_person,
    declared_nouns,
)
from evalsite.base.actions.entries import (
    NamesField,
    TextsField,
    chosen_form,
    names_of_choices,
    perform,
    said_of,
    shown_texts,
    valid_form,
    words_of_errors,
)
from evalsite.base.actions.reports import NoSuchTable, Report
from evalsite.base.command_base import JsonCommand
from evalsite.base.http import SentFile
from evalsite.base.rows import BadInput, done_through
from evalsite.base.tables import PAPER_TYPES, facts_text, table_bytes
from evalsite.base.types import JsonDict, Refused

STANDARD = "-"  # standard output, where a file is to be named
FIELD, FILE = "field_", "file_"  # before the name of a field: its entry, or the file that holds it


class NounCommand(JsonCommand):
    """What can be done with one noun, as a command."""

    def __init__(self, noun: Noun[Any]) -> None:
        super().__init__()
        self.noun, self.help, self.needs_broker = noun, noun.help, noun.needs_broker

    def run_from_argv(self, argv: list[str]) -> None:
        """Read what all apps declare where the module of the noun does not know the verb."""
        if {*argv[2:3]}.isdisjoint([*self.noun.actions, *READING]):
            declared_nouns()
        super().run_from_argv(argv)

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        """Return the parser; it knows what all apps declare where Python calls the command, which names no program."""
        if not prog_name:
            declared_nouns()
        return super().create_parser(prog_name, subcommand, **options)

    def add_own_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        for verb, words, fields in self._verbs():
            added = verbs.add_parser(verb, help=_escaped(words.partition("\n\n")[0]), description=_escaped(words))
            action = self.noun.actions.get(verb)
            if verb == "show" or (action is not None and action.has_subject):
                added.add_argument("subject", metavar=self.noun.name.upper(), help="number or name")
            add_fields(added, fields)
            if verb == "list":
                added.add_argument("--after", type=int, help="only those behind this number, as `next` says")
                added.add_argument("--rows", type=int, default=50, help=f"how many, at most {MOST_ROWS}")
            if action is not None:
                add_by(added, needs_person=action.options.get("needs_person", False))
            if action is not None and action.options.get("sends_file"):
                added.add_argument(
                    "--output", default=STANDARD, metavar="FILE", help="file to write; default: print it"
                )
            if action is not None and action.options.get("is_long") and self.noun.waits is not None:
                added.add_argument("--wait", action="store_true", help="wait until it has ended, and show it")
            json_help = "print one JSON object on stdout"
            added.add_argument("--json", action="store_true", dest="as_json", default=argparse.SUPPRESS, help=json_help)

    def _verbs(self) -> list[tuple[str, str, dict[str, forms.Field]]]:
        noun = self.noun
        acts = [(verb, action.words, action.fields) for verb, action in noun.actions.items()]
        listed = ("list", f"List {noun.plural_words}, the newest first.", noun.filters)
        return [*acts, listed, ("show", f"Show one {noun.reference.what}.", {})] if noun.reading else acts

    def run(self, **options: Any) -> JsonDict:
        self.verb: str = options["verb"]
        with refused_by_option(), done_through("command"):
            return self._result(self.verb, options)

    def _result(self, verb: str, options: JsonDict) -> JsonDict:
        noun = self.noun
        if verb == "list":
            return _listed(noun, options)
        action = noun.actions.get(verb)
        actor = None if action is None else acting_person(options.get("by", ""), permission=action.permission)
        named = options.get("subject")
        subject = None if named is None else _subject(noun, action, actor, named)
        if action is None:
            return noun.detailed(subject)
        if noun.prepares is not None and verb in (CREATE, ESTIMATE):
            noun.prepares()
        entered = entered_of(action.fields, options)
        result = perform(action, subject, entered, actor=actor, at=timezone.now())
        if isinstance(result, SentFile):
            return {"file": result.name, "output": options["output"], "bytes": written_bytes(result.pieces, options)}
        if options.get("wait") and noun.waits is not None:
            noun.waits(result, not options["as_json"])
            return action.made.detailed(action.made.rows(actor).get(pk=result.pk))
        return action.shown(result)

    def summary(self, result: JsonDict) -> str:
        if self.verb == "list":
            return facts_text(result)
        if "output" in result:  # of a file, which may stand on standard output already
            return "" if result["output"] == STANDARD else facts_text(result)
        action = self.noun.actions.get(self.verb)
        return action.lines(result) if action is not None else self.noun.lines(result)


def written_bytes(pieces: Iterable[bytes], options: JsonDict) -> int:
    """Write a file, drawing on a terminal how far it is, and return how many bytes it has. Raises: BadInput."""
    from tqdm import tqdm

    output: str = options["output"]
    if output == STANDARD and options["as_json"]:
        raise BadInput("Give --output a file: with --json, standard output contains the result.")
    if output == STANDARD:
        return sum(sys.stdout.buffer.write(piece) for piece in pieces)
    try:
        with open(output, "wb") as out, tqdm(unit="B", unit_scale=True, disable=None, leave=False) as bar:
            for piece in pieces:
                bar.update(out.write(piece))
            return out.tell()
    except OSError as error:
        raise BadInput(f"Cannot write {output}: {error.strerror}.") from error


@contextmanager
def refused_by_option() -> Iterator[None]:
    """Raise what is refused inside as BadInput, each sentence behind the option that it is about."""
    try:
        yield
    except InvalidInput as refusal:
        raise BadInput(words_of_errors(refusal.errors, _flag)) from refusal
    except Refused as refusal:
        raise BadInput(f"{_flag(refusal.field)}: {refusal}" if refusal.field else str(refusal)) from refusal


def _subject(noun: Noun[Any], action: Action[Any, Any] | None, actor: User | None, named: str) -> Any:
    """Return the row that is named. Raises: Refused: there is none, or the action is not for it."""
    if action is None:
        return noun.reference.find(noun.rows(actor), named)
    try:
        return noun.reference.find(action.rows(actor), named)
    except Refused:
        row = noun.reference.find(noun.rows(actor), named)
        raise Refused(f"{row}: `{noun.name} {action.verb}` is not for this {noun.reference.what}.") from None


def _listed(noun: Noun[Any], options: JsonDict) -> JsonDict:
    form = valid_form(noun, noun.filter_form, entered_of(noun.filters, options))
    limit = max(1, min(options["rows"], MOST_ROWS))
    return noun.page(form.cleaned_data, among=noun.rows(None), after=options["after"], limit=limit)


def entered_of(fields: Mapping[str, forms.Field], options: JsonDict) -> JsonDict:
    """Return what was given for fields: as it stands, or as the file holds it that was named instead."""
    entered = {name: options[FIELD + name] for name in fields if FIELD + name in options}
    entered |= {name: _uploads(name, entered[name]) for name in entered if isinstance(fields[name], forms.FileField)}
    return entered | {name: _file_text(name, options[FILE + name]) for name in fields if FILE + name in options}


def _uploads(name: str, paths: list[str]) -> list[SimpleUploadedFile]:
    try:
        return [SimpleUploadedFile(Path(path).name, Path(path).read_bytes()) for path in paths]
    except OSError as error:
        raise BadInput(f"{_flag(name)}: {error.filename} cannot be read: {error.strerror}.") from error


def _file_text(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"{_flag(name)}-file: {path} cannot be read as UTF-8 text: {error}.") from error


PRINTED_FORMATS = ("csv", *PAPER_TYPES)


def add_printing(parser: CommandParser) -> None:
    """Add in which form a report is printed, and which table of it."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print one table as CSV")
    form.add_argument("--tex", action="store_true", help="print one table for LaTeX, with booktabs rules")
    form.add_argument("--md", action="store_true", help="print one table as Markdown, as without any of these")
    parser.add_argument("--table", default="", help="name of the table; default: the main one")


def add_report(parser: CommandParser, report: Report[Any]) -> None:
    """Add what is chosen of a report, and in which form it is printed."""
    parser.description = _escaped(report.words)
    parser.add_argument("--json", action="store_true", dest="as_json", help="print all figures as one JSON object")
    add_printing(parser)
    add_fields(parser, report.fields)


def read_report(report: Report[Any], options: JsonDict) -> Any:
    """Return what a report shows under the options of a command, computed now where necessary. Raises: BadInput."""
    with refused_by_option():
        return report.read(chosen_form(report, entered_of(report.fields, options)), True)


def printed_table(report: Report[Any], shown: Any, options: JsonDict) -> Iterator[str]:
    """Yield a table of a report in the form that was asked for, Markdown unless told. Raises: BadInput."""
    format_name = next((name for name in PRINTED_FORMATS if options[name]), "md")
    try:
        table = report.table(options["table"])
    except NoSuchTable as refusal:
        raise BadInput(f"{refusal} (--table)") from refusal
    for piece in table_bytes(table.in_format(shown, format_name), format_name):
        yield piece.decode()


def add_by(parser: argparse.ArgumentParser, *, needs_person: bool = False) -> None:
    """Add the argument that names the person in whose name something is done."""
    whom = "act as this person" + ("" if needs_person else "; default: the site")
    parser.add_argument("--by", default="", metavar="NAME", help=whom)


def add_fields(parser: argparse.ArgumentParser, fields: Mapping[str, forms.Field]) -> None:
    """Add what is entered in the fields of a form, as options that `entered_of` reads."""
    for name, field in fields.items():
        _add_field(parser, name, field)


def _add_field(parser: argparse.ArgumentParser, name: str, field: forms.Field) -> None:
    """Add the argument of a field; what is not given is not there."""
    said = said_of(field)
    if isinstance(field, forms.ChoiceField) and not isinstance(field, forms.ModelChoiceField):
        names = ", ".join(names_of_choices(field))
        said += f". Choices: {names}" if names else ""
    options: dict[str, Any] = {"default": argparse.SUPPRESS, "help": _escaped(said or name), "dest": FIELD + name}
    if isinstance(field, forms.NullBooleanField):
        options["metavar"] = "yes|no|unknown"
    elif isinstance(field, forms.BooleanField):
        options["action"] = argparse.BooleanOptionalAction
    else:
        options |= _values_of(field)
    add_argument = parser.add_argument
    if isinstance(field.widget, forms.Textarea):
        add_argument = parser.add_mutually_exclusive_group().add_argument
        file_help = "a UTF-8 text file that holds it"
        dest = FILE + name
        add_argument(f"{_flag(name)}-file", default=argparse.SUPPRESS, dest=dest, metavar="PATH", help=file_help)
    add_argument(_flag(name), *getattr(field, "other_flags", ()), **options)


def _values_of(field: forms.Field) -> dict[str, str]:
    """Return how many values the option of a field takes, and what they are called."""
    if _is_repeated(field):
        return {"action": "append", "metavar": "TEXT"}
    if isinstance(field, forms.MultipleChoiceField | forms.ModelMultipleChoiceField | NamesField | TextsField):
        return {"action": "extend", "nargs": "*", "metavar": "NAME"}
    if isinstance(field, forms.FileField):
        return {"action": "extend", "nargs": "+", "metavar": "PATH"}
    return {"metavar": "N" if isinstance(field, forms.IntegerField | forms.DecimalField) else "TEXT"}


def _is_repeated(field: forms.Field) -> bool:
    return isinstance(field, TextsField) and field.is_repeated


def words_of_form(form: forms.BaseForm) -> list[str]:
    """Return the words of a command that say what a form starts with."""
    words = []
    for name, field in form.fields.items():
        texts, flag = shown_texts(form, name, field), getattr(field, "other_flags", [_flag(name)])[0]
        if texts and isinstance(field, forms.BooleanField):
            words.append(flag)
        elif texts:
            given = [[text] for text in texts] if _is_repeated(field) else [texts]
            words += [word for values in given for word in (flag, *values)]
    return words


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _escaped(text: str) -> str:
    return text.replace("%", "%%")
