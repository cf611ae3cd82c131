"""Commands: facts for people or as one JSON object, and exit code 2 for bad input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.base.rows import BadInput, batches
from evalsite.base.tables import facts_text
from evalsite.base.types import JsonDict, Refused, json_writer

AT_ONCE = 100  # entries of a long list that are printed

BrokerGuard = Callable[[], AbstractContextManager[None]]
_guards: list[BrokerGuard] = []


def use_broker_guard(guard: BrokerGuard) -> None:
    """Run every command that `needs_broker` inside this context from now on."""
    _guards[:] = [guard]


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
