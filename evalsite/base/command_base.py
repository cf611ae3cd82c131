"""Commands that answer with one JSON object and refuse bad input with exit code 2."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.forms import BaseForm, ChoiceField, Field, ModelChoiceField

from evalsite.base.json_types import JsonDict

BrokerGuard = Callable[[], AbstractContextManager[None]]
_guards: list[BrokerGuard] = []


def use_broker_guard(guard: BrokerGuard) -> None:
    """Run every command that `needs_broker` inside this context from now on."""
    _guards[:] = [guard]


class BadInput(CommandError):
    """What the caller gave cannot be used; the message is the one a page would show."""

    def __init__(self, message: str) -> None:
        super().__init__(message, returncode=2)


def form_refusal(form: BaseForm) -> BadInput:
    """Return what is wrong with a form that a command filled in, each error with its field's label and choices."""
    return BadInput(
        " ".join(
            f"{form[name].label}: {error}{_choices_in_words(form.fields[name])}" if name in form.fields else str(error)
            for name, errors in form.errors.items()
            for error in errors
        )
    )


def _choices_in_words(field: Field) -> str:
    """Return the choices of a field that has a few, as a command takes them; a page shows them itself."""
    if not isinstance(field, ChoiceField) or isinstance(field, ModelChoiceField) or callable(field.choices):
        return ""
    values = (str(value).strip('"') for value, _ in field.choices)  # options of judges are JSON
    return f" Choices: {', '.join(values)}."


class JsonCommand(BaseCommand):
    """A command with `--json`. Subclasses implement `run`, which returns the object to print."""

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
        return "\n".join(f"{key}: {value}" for key, value in result.items())

    def handle(self, *args: object, **options: Any) -> None:
        with _guards[0]() if self.needs_broker and _guards else nullcontext():
            result = self.run(**options)
        self.stdout.write(
            json.dumps(result, ensure_ascii=False, default=str) if options["as_json"] else self.summary(result)
        )
