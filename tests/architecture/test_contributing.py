"""CONTRIBUTING.md is true to the code: the files that it names, and the signals with who hears them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from django.dispatch import Signal

import debate.signals
import evalsite.review.signals
import judging.signals

REPOSITORY = Path(__file__).resolve().parents[2]
CONTRIBUTING = REPOSITORY / "CONTRIBUTING.md"
MODULES = (judging.signals, debate.signals, evalsite.review.signals)


def signals_table() -> str:
    """Return the table of the project's own signals."""
    rows = [
        f"| `{name}` | `{module.__name__.rpartition('.')[0]}` | {', '.join(heard_by(signal)) or 'nobody'} |"
        for module in MODULES
        for name, signal in sorted(vars(module).items())
        if isinstance(signal, Signal)
    ]
    return "\n".join(["| signal | sent by | heard by |", "|---|---|---|", *rows])


def heard_by(signal: Signal) -> list[str]:
    """Return the receivers of a signal that live in this project, as module and function."""
    receivers = [entry[1]() for entry in signal.receivers]
    return sorted(f"`{one.__module__}.{one.__qualname__}`" for one in receivers if one is not None)


def test_contributing_names_files_that_exist() -> None:
    text = CONTRIBUTING.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:judging|debate|evalsite|tests)/[\w/.]+|[A-Z]+\.md|\.ci/run|pyproject\.toml)`", text))

    assert len(named) > 30
    assert {path for path in named if not (REPOSITORY / path).exists()} == set()


def test_contributing_tells_every_signal_and_who_hears_it() -> None:
    assert part() == signals_table()


def part() -> str:
    """Return what stands between the markers of the table."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    return text.partition("<!-- signals -->\n")[2].partition("\n<!-- /signals -->")[0]


def write() -> None:
    """Write the generated table: `python -m tests.architecture.test_contributing`."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    table = f"<!-- signals -->\n{signals_table()}\n<!-- /signals -->"
    CONTRIBUTING.write_text(re.sub("<!-- signals -->.*<!-- /signals -->", table, text, flags=re.DOTALL), "utf-8")


if __name__ == "__main__":
    import os

    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    write()
    sys.exit()
