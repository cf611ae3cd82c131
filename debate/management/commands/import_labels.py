"""`import_labels`: what people said of debates elsewhere, from a CSV or XLSX table with item, rater and label."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils.timezone import now

from debate.models import DebateSet
from debate.services.labels import import_labels
from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict


class Command(JsonCommand):
    """Import people's labels of debates; the same table twice changes nothing."""

    help = "Import a table of human labels (item, rater, label: A, B or tie) for the debates of one or more sets."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="CSV or XLSX file")
        parser.add_argument(
            "--set", type=int, action="append", default=[], help="id of a set; can be repeated; default: all sets"
        )

        parser.add_argument(
            "--blind", action="store_true", help="the raters saw neither the debates nor each other's labels"
        )

    def run(self, **options: Any) -> JsonDict:
        path: Path = options["path"]
        if not path.is_file():
            raise BadInput(f"There is no file at {path}.")
        sets = list(DebateSet.objects.filter(pk__in=options["set"]) if options["set"] else DebateSet.objects.all())
        if missing := set(options["set"]) - {debate_set.pk for debate_set in sets}:
            raise BadInput(f"There is no set of debates {', '.join(map(str, sorted(missing)))}.")
        if not sets:
            raise BadInput("There are no debates to label.")
        parsed = import_labels(
            data=path.read_bytes(), file=path.name, sets=sets, is_blind=options["blind"], actor=None, at=now()
        )
        if parsed.value is None:
            raise BadInput("\n".join(str(problem) for problem in parsed.problems))
        return {**asdict(parsed.value), "problems": [asdict(problem) for problem in parsed.problems]}

    def summary(self, result: JsonDict) -> str:
        return (
            f"{result['new']} labels of {len(result['raters'])} raters on {result['debates']} debates stored, "
            f"{result['changed']} changed, {result['unchanged']} already stored."
        )
