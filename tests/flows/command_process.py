"""A process that runs management commands on a site of a test's own, one after another.

It reads a command and its arguments from its input, one JSON list a line, and answers each by what `--json` prints
(`run`), by all that a shell would hear of it (`manage`), or by the cookie of somebody who is signed in (`session`).
"""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

from django.core.management import call_command, execute_from_command_line

from tests.judging.services.site_process import answer_commands


def run_command(name: str, *arguments: str) -> Any:
    """Return what a management command says about what it did."""
    said = StringIO()
    call_command(name, *arguments, "--json", stdout=said)
    return json.loads(said.getvalue())


def manage(*arguments: str) -> list[Any]:
    """Return the exit code, the output and the complaints of `manage.py` with these arguments."""
    out, complaints, code = StringIO(), StringIO(), 0
    with redirect_stdout(out), redirect_stderr(complaints):
        try:
            execute_from_command_line(["manage.py", *arguments])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return [code, out.getvalue(), complaints.getvalue()]


def session(username: str) -> str:
    """Sign somebody in, as the form does once it knows their password, which takes long, and return the cookie."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client()
    client.force_login(User.objects.get(username=username))
    return client.cookies[settings.SESSION_COOKIE_NAME].value


if __name__ == "__main__":
    answer_commands({"run": run_command, "manage": manage, "session": session})
