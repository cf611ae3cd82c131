"""Commands: facts for people or as one JSON object, exit code 2 for bad input, and one way to name a thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from difflib import get_close_matches
from typing import Any, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Model, Q, QuerySet

from evalsite.base.http import whole_number
from evalsite.base.rows import batches
from evalsite.base.tables import Table, write_markdown
from evalsite.base.types import ByName, JsonDict, JsonObject, Refused, in_one_line, json_writer

INDENT = "  "
EXACT = 4  # digits of a number that is printed among words
SHOWN = 20  # names listed in a refusal
AT_ONCE = 100  # entries of a long list that are printed
BESIDE = " · "  # between the name of a thing and what it is used with: a judge and its baseline or rubric

Row = TypeVar("Row", bound=Model)
Thing = TypeVar("Thing")

BrokerGuard = Callable[[], AbstractContextManager[None]]
_guards: list[BrokerGuard] = []


def use_broker_guard(guard: BrokerGuard) -> None:
    """Run every command that `needs_broker` inside this context from now on."""
    _guards[:] = [guard]


class BadInput(CommandError):
    """What the caller gave cannot be used; the message is the one a page would show."""

    def __init__(self, message: str) -> None:
        super().__init__(message, returncode=2)


class JsonCommand(BaseCommand):
    """A command with `--json`. Subclasses implement `run`, which returns the object to print."""

    requires_system_checks: list[str] = []  # they load every page; `check` and `migrate` make them
    needs_broker = False  # True: it queues jobs or calls models, so a broker is at hand while it runs

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object on stdout")
        self.add_own_arguments(parser)

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add the subclass's arguments."""

    def run(self, **options: Any) -> JsonDict:
        """Do the work and return what to print."""
        raise CommandError("This command has no own work.")

    def summary(self, result: JsonDict) -> str:
        """Return the lines printed without `--json`."""
        return facts_text(result)

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Do it all. Raises: BadInput for whatever is refused."""
        try:
            return super().execute(*args, **options)
        except Refused as refusal:
            raise BadInput(str(refusal)) from refusal

    def handle(self, *args: object, **options: Any) -> None:
        with _guards[0]() if self.needs_broker and _guards else nullcontext():
            result = self.run(**options)
        for piece in json_pieces(result) if options["as_json"] else ():
            self.stdout.write(piece, ending="")
        words = "" if options["as_json"] else self.summary(result)
        if options["as_json"] or words:  # nothing may follow a file that was printed
            self.stdout.write(words)


def json_pieces(value: object) -> Iterator[str]:
    """Yield a value as JSON piece by piece. An iterator is written as a list, of which a few entries are held."""
    if isinstance(value, Iterator):
        separator = "["
        for entries in batches(value, AT_ONCE):
            yield separator + _json(entries)[1:-1]
            separator = ", "
        yield "]" if separator == ", " else "[]"
    elif _has_iterator(value) and isinstance(value, dict):
        yield "{"
        for number, (name, entry) in enumerate(value.items()):
            yield f"{', ' if number else ''}{_json(name)}: "
            yield from json_pieces(entry)
        yield "}"
    else:
        yield _json(value)


def _has_iterator(value: object) -> bool:
    return isinstance(value, Iterator) or (isinstance(value, dict) and any(map(_has_iterator, value.values())))


_json = json_writer(ensure_ascii=False, default=str)


def facts_text(facts: JsonObject) -> str:
    """Return facts as lines "Name: value", facts within facts indented below, and lists of rows as tables."""
    return "\n".join(_lines(facts, "")).strip("\n")


def _lines(facts: JsonObject, indent: str) -> Iterator[str]:
    for key, value in facts.items():
        label = key if isinstance(facts, ByName) else label_of(str(key))
        if isinstance(value, Mapping) and value:
            yield f"{indent}{label}:"
            yield from _lines(value, indent + INDENT)
        elif isinstance(value, list | tuple) and value and all(isinstance(row, Mapping) for row in value):
            yield ""
            yield table_text(label, value)
        elif isinstance(value, str) and "\n" in value.strip():
            yield f"{indent}{label}:"
            yield from (f"{indent}{INDENT}{line}" for line in value.strip().splitlines())
        else:
            yield f"{indent}{label}: {words_of_value(value)}"


def table_text(title: str, rows: Sequence[JsonObject]) -> str:
    """Return rows as one table, with a column for everything that a row has."""
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    plain = [{label_of(name): _cell(row.get(name)) for name in columns} for row in rows]
    table = Table(title, tuple(map(label_of, columns)), plain)
    return b"".join(write_markdown(table)).decode()


def label_of(key: str) -> str:
    """Return the key of a fact as words: "calls_made" is "Calls made"."""
    words = key.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def words_of_value(value: object) -> str:
    """Return a value as people write it."""
    if value is None or value == "" or value == [] or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) > 9999 else str(value)
    if isinstance(value, float):
        return f"{value:.{EXACT}g}" if abs(value) < 10**EXACT else f"{value:,.0f}"
    if isinstance(value, Mapping):
        names = (
            (key if isinstance(value, ByName) else label_of(str(key)).lower(), part) for key, part in value.items()
        )
        return ", ".join(f"{name} {words_of_value(part)}" for name, part in names)
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(words_of_value(part) for part in value)
    return str(value)


def _cell(value: Any) -> Any:
    """Return a value as a cell of a table takes it: numbers as they are, everything with parts in words."""
    if isinstance(value, Mapping | list | tuple) and value:
        return words_of_value(value)
    return value if value or isinstance(value, bool | int | float) else None


def numbered_row(rows: QuerySet[Row], text: str) -> Row | None:
    """Return the row of this number; None for any other text."""
    number = whole_number(text)
    return None if number is None else rows.filter(pk=number).first()


def look_up(rows: QuerySet[Row], text: str, *, what: str, fields: Sequence[str] = ("name",), option: str = "") -> Row:
    """Return the one row of this name, or of this number where none has it as its name.

    The first of `fields` is the name that a refusal lists.

    Raises:
        BadInput: there is none, or several; the message lists names.
    """
    text = text.strip()
    named = [(field, text) for field in fields if field != "pk"]  # a text is no number of a row
    is_named = bool(named) and rows.filter(Q(*named, _connector=Q.OR)).exists()
    numbered = None if is_named else numbered_row(rows, text)
    if numbered is not None:
        return numbered

    def names_of(row: Row) -> list[str]:
        return [str(getattr(row, field)) for field in fields]

    return pick(rows.order_by(fields[0], "pk"), text, names_of=names_of, what=what, option=option)


def pick(
    things: Iterable[Thing], text: str, *, names_of: Callable[[Thing], Sequence[str]], what: str, option: str = ""
) -> Thing:
    """Return the one thing of this name: as it is written, else in any case, else before what it is used with.

    Raises:
        BadInput: there is none, or several; the message lists names, those like the one that was given first.
    """
    every, text = list(things), text.strip()
    tests: Sequence[Callable[[str], bool]] = (
        lambda name: name == text,
        lambda name: in_one_line(name).casefold() == in_one_line(text).casefold(),
        lambda name: name.casefold().startswith(f"{text}{BESIDE}".casefold()),
    )
    said = f" ({option})" if option else ""
    for test in tests if text else ():
        matching = [thing for thing in every if any(map(test, names_of(thing)))]
        if len(matching) == 1:
            return matching[0]
        if matching:
            names = [names_of(thing)[0] for thing in matching]
            told = names if len(set(names)) == len(names) else map(_numbered, matching)
            raise BadInput(f"“{text}” is the name of several. {listed(told)} Name one of them.{said}")
    problem = f"There is no {what} “{text}”." if text else f"Name a {what}."
    names = [names_of(thing)[0] for thing in every]
    near = get_close_matches(text, names, n=SHOWN)
    raise BadInput(f"{problem} {listed([*near, *names])}{said}")


def listed(names: Iterable[str]) -> str:
    """Return what there is as a sentence: the first names of a list, each once."""
    every = list(dict.fromkeys(names))
    rest = f" and {len(every) - SHOWN:,} more" if len(every) > SHOWN else ""
    return f"There are: {', '.join(every[:SHOWN])}{rest}." if every else "There are none yet."


def _numbered(thing: object) -> str:
    """Return a thing with the number by which it can be named where its name is that of several."""
    return f"{thing} ({thing.pk})" if isinstance(thing, Model) else str(thing)
