"""A process that runs management commands on a site of a test's own, one after another.

It reads a command and its arguments from its input, one JSON list a line, and answers each by what `--json` prints.
"""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

from django.core.management import call_command

from tests.judging.services.site_process import answer_commands


def run_command(name: str, *arguments: str) -> Any:
    """Return what a management command says about what it did."""
    said = StringIO()
    call_command(name, *arguments, "--json", stdout=said)
    return json.loads(said.getvalue())


if __name__ == "__main__":
    answer_commands({"run": run_command})
