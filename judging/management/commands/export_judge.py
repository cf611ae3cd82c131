"""`export_judge`: a judge as a YAML file, which `add_judge` and the page of a new judge read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from evalsite.base.command_base import BadInput
from judging.models import Judge
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
        judge = Judge.objects.select_related("endpoint").filter(name=options["name"]).first()
        if judge is None:
            known = ", ".join(Judge.objects.order_by("name").values_list("name", flat=True)[:50]) or "none yet"
            raise BadInput(f"There is no judge {options['name']!r}. Judges: {known}.")
        text = judge_file(judge)
        if options["output"]:
            Path(options["output"]).write_text(text, encoding="utf-8")
            self.stdout.write(f"Written: {options['output']}")
        else:
            self.stdout.write(text, ending="")
