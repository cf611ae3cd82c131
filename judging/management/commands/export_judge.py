"""`export_judge`: a judge as a YAML file, which `add_judge` and the page of a new judge read."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from judging.management import choices
from judging.management.output import write_output
from judging.services.judge_files import judge_file


class Command(BaseCommand):
    """Prints the file, or writes it."""

    help = "Print a judge as YAML: name, description, kind, endpoint and all options."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the judge and where to write it."""
        parser.add_argument("name")
        parser.add_argument("--output", default="", metavar="FILE", help="write the file instead of printing it")

    def handle(self, *args: object, **options: Any) -> None:
        """Print or write the file."""
        text = judge_file(choices.judge_of(options["name"]))
        if options["output"]:
            write_output(options["output"], [text.encode()])
            self.stdout.write(f"Written: {options['output']}")
        else:
            self.stdout.write(text, ending="")
