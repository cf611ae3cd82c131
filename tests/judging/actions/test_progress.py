"""Progress bars: on a terminal, never in a pipe or beside JSON. Waiting for runs, and readers that go."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from judging.actions.progress import wait_for_run
from judging.models import RunKind
from judging.models.runs import RunStatus
from tests import factories

REPOSITORY = Path(__file__).resolve().parents[3]
SUITE = REPOSITORY / "evalsite" / "demo" / "data" / "suite.yaml"


def _import(own_database: str, folder: Path, *arguments: str, terminal: bool) -> str:
    """Return what a dry run of `import` writes to standard error."""
    environment = {**os.environ, "EVALSITE_DATABASE_URL": own_database, "EVALSITE_DATA_DIR": str(folder)}
    command = [sys.executable, "manage.py", "import", str(SUITE), "--dry-run", *arguments]
    reader, writer = pty.openpty() if terminal else os.pipe()
    if terminal:
        termios.tcsetwinsize(writer, (24, 80))
    process = subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL, stderr=writer)
    os.close(writer)
    heard = b""
    try:
        while piece := os.read(reader, 4096):
            heard += piece
    except OSError:  # a terminal whose other end is gone
        pass
    os.close(reader)
    assert process.wait() == 0, heard
    return heard.decode()


@pytest.mark.django_db(transaction=True)
def test_progress_bar_is_drawn_on_a_terminal_only(own_database: str, tmp_path: Path) -> None:
    drawn = _import(own_database, tmp_path, terminal=True)
    beside_json = _import(own_database, tmp_path, "--json", terminal=True)
    piped = _import(own_database, tmp_path, terminal=False)

    assert "comparing" in drawn
    assert (beside_json, piped) == ("", "")


def test_a_command_whose_reader_has_enough_ends_without_a_traceback(tmp_path: Path) -> None:
    environment = {**os.environ, "EVALSITE_SECRET_KEY": "only-for-a-test", "EVALSITE_DATA_DIR": str(tmp_path)}
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "manage.py", "help", "--commands"],
        cwd=REPOSITORY,
        env=environment,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)

    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.django_db
@pytest.mark.parametrize("status", [RunStatus.PAUSED, RunStatus.FINISHED, RunStatus.CANCELLED])
def test_wait_for_run_returns_a_run_that_nobody_works_on(status: RunStatus) -> None:
    run = factories.run(status=status)

    assert wait_for_run(run.pk).status == status


@pytest.mark.django_db
def test_wait_for_run_works_through_a_run_where_no_worker_lives() -> None:
    run = factories.run(kind=RunKind.GRADING)  # without tasks: ended by whoever looks at it

    assert wait_for_run(run.pk).status == RunStatus.FINISHED
