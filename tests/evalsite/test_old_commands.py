"""Commands of the release before say what does the same now."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, get_commands

REPOSITORY = Path(__file__).resolve().parents[2]
MANAGE: dict[str, Any] = runpy.run_path(str(REPOSITORY / "manage.py"))
OLD_COMMANDS: dict[str, str] = MANAGE["OLD_COMMANDS"]


def test_an_old_command_says_what_it_is_now_and_ends_with_2() -> None:
    command = [sys.executable, "manage.py", "control_run", "pause", "--run", "1"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("control_run is now: run pause, run resume, run cancel, ")


@pytest.mark.parametrize(
    ("said", "now"),
    [
        ("--rename=a=b --blind", "--rename is now: --renames."),
        ("--map rater=A --name-all --dry-run", ""),
    ],
)
def test_an_old_option_says_what_it_is_now(said: str, now: str) -> None:
    assert MANAGE["now_called"]("import", "a.csv", *said.split()) == now


def test_the_older_names_of_import_are_taken_for_one_release(tmp_path: Path, own_database: str) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("id,prompt,response_a,response_b,preference\n1,Q?,x,y,1\n2,R?,x,y,2\n3,S?,x,y,1\n4,T?,x,y,2\n")
    settings = {"EVALSITE_DATABASE_URL": own_database, "EVALSITE_SECRET_KEY": "x", "EVALSITE_DATA_DIR": str(tmp_path)}
    said = []
    for name, *more in (
        ["import_suite"],
        ["import", "--blind", "--map", "case=id", "--map", "A=1,B=2,tie=0"],
        ["import", "--map", "A=,C=2"],
    ):
        command = [sys.executable, "manage.py", name, "--json", *more, str(file), "--dry-run"]
        done = subprocess.run(command, cwd=REPOSITORY, env=os.environ | settings, capture_output=True, text=True)
        said.append((done.returncode, done.stderr.strip().splitlines()[-1:]))

    way_out = "Say it with --map 'A=1,B=2,tie=0', in the words of the table; several stand as A=1/2."
    assert said == [
        (2, [f"BadInput: votes.csv: Say what 1, 2 mean. {way_out}"]),
        (0, []),
        (2, ["BadInput: --columns: Write pairs such as A=1, B=2."]),
    ]


@pytest.mark.django_db
def test_a_queue_takes_what_the_message_about_meanings_says(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("id,prompt,response_a,response_b,preference\n1,Q?,x,y,1\n2,R?,x,y,2\n")
    check = ["queue", "check", "--file", str(file), "--json"]

    with pytest.raises(CommandError, match=r"Say what 1, 2 mean. Say it with --map 'A=1,B=2,tie=0'"):
        call_command(*check)
    said = StringIO()
    call_command(*check, "--map", "case=id", "--map", "A=1,B=2,tie=0", stdout=said)

    assert json.loads(said.getvalue())["items"] == 2


@pytest.mark.parametrize("name", OLD_COMMANDS)
def test_old_commands_are_gone_and_stand_in_the_changelog(name: str) -> None:
    assert name not in get_commands()
    assert f"| `{name}` | `{OLD_COMMANDS[name].split(',')[0]}" in (REPOSITORY / "CHANGELOG.md").read_text()
