"""Layers between and inside apps, purity and no circles, as the import contracts in pyproject.toml say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TOP_LEVEL = {
    "manage.py",
    "pyproject.toml",
    "README.md",
    "Makefile",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "requirements.txt",
    "requirements-dev.txt",
    "evalsite",
    "judging",
    "debate",
    "templates",
    "static",
    "tests",
}


def tracked_files() -> list[str]:
    """Return every file that git tracks; skip outside a checkout."""
    found = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("not a git checkout")
    return found.stdout.splitlines()


def html_of(name: str) -> str:
    """Return a template without its Django tags."""
    return re.sub(r"{%.*?%}|{#.*?#}", "", (REPOSITORY / name).read_text(encoding="utf-8"), flags=re.DOTALL)


def test_imports_keep_the_contracts() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    found = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert found.returncode == 0, found.stdout[-3000:]


def test_top_level_holds_nothing_else() -> None:
    names = {name.split("/")[0] for name in tracked_files()}

    assert {name for name in names if not name.startswith(".")} - TOP_LEVEL == set()


def test_lock_files_name_no_registry() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        assert "://" not in (REPOSITORY / name).read_text(encoding="utf-8")


def test_no_catch_all_modules() -> None:
    forbidden = re.compile(r"(^|/)(utils|helpers|common)\.py$")

    assert [name for name in tracked_files() if forbidden.search(name)] == []


def test_no_inline_script_or_style_in_templates() -> None:
    inline = re.compile(r"<style|style=\"|<script(?![^>]*\bsrc=)|\bon[a-z]+=\"|hx-on", re.IGNORECASE)
    # a drawing that is downloaded (.svg) is no page, and has to hold its own style
    names = [name for name in tracked_files() if name.startswith("templates/") and name.endswith(".html")]

    assert [name for name in names if inline.search(html_of(name))] == []
