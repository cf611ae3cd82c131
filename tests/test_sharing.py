"""Tests that several processes share out: each runs once, and none that fails or dies is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import conftest, sharing

pytestmark = pytest.mark.backend_free
REPOSITORY = Path(__file__).resolve().parents[1]
TESTS = """
import os, pytest
def test_passes(tmp_path): print("not shown")
def test_fails(): print("said before"); assert 1 == 2
@pytest.mark.skip(reason="no moon")
def test_skipped(): pass
"""


def test_tests_of_several_processes_are_reported_as_those_of_one(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"test_{number}.py").write_text(TESTS)
    (tmp_path / "test_dies.py").write_text("import os\ndef test_dies(): os._exit(7)\ndef test_after_it(): pass\n")
    options = ["-p", "tests.sharing", "-p", "no:django", "-p", "no:cacheprovider", "--processes=2"]
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("EVALSITE_", "PYTEST_"))}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-c", os.devnull, f"--rootdir={tmp_path}", *options, tmp_path],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(REPOSITORY), "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (1, "")
    assert "4 failed, 3 passed, 3 skipped" in done.stdout
    assert done.stdout.count("said before\n") == 3
    assert done.stdout.count(":5: no moon\n") == 3
    assert "its process ended with 7; what follows it in the same file was not run" in done.stdout
    assert "not shown" not in done.stdout


def test_every_list_of_test_files_names_files_that_are_there() -> None:
    below = (*conftest.LONGEST_FIRST, *conftest.LAST_FLOWS, *conftest.BACKEND_FREE, *conftest.TWICE)
    whole = (*sharing.REVIEWING, *sharing.BY_THEMSELVES, *sharing.TEST_BY_TEST, sharing.BY_IDENTITY)

    assert [name for name in (*(f"tests/{name}" for name in below), *whole) if not (REPOSITORY / name).exists()] == []
