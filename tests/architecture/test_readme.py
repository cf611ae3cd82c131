"""The README is true to the code: settings, diagrams, commands and targets that it names."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from django.core.management import get_commands

from evalsite.env import KNOWN
from judging.states import TRANSITIONS

REPOSITORY = Path(__file__).resolve().parents[2]
README = REPOSITORY / "README.md"


def settings_table() -> str:
    """Return the table of every variable that the settings read."""
    rows = [f"| `{one.name}` | {one.default or '-'} | {one.meaning} |" for _, one in sorted(KNOWN.items())]
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *rows])


def run_diagram() -> str:
    """Return the diagram of a run's states."""
    arrows = sorted(f"    {row.before} --> {row.after}" for row in TRANSITIONS)
    return "\n".join(["```mermaid", "stateDiagram-v2", *arrows, "```"])


def part(name: str) -> str:
    """Return what stands between the README's markers of that name."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n?<!-- /{name} -->", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"the README has no part {name}"
    return found[1]


def test_readme_settings_are_those_that_are_read() -> None:
    assert part("settings") == settings_table()


def test_readme_diagram_is_the_transition_table() -> None:
    assert part("diagram:run") == run_diagram()


def test_readme_names_files_that_exist() -> None:
    text = README.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:judging|debate|evalsite|tests)/[\w/.]+)`|\((static/[\w/.]+)\)", text))

    assert len(named) > 20
    assert [path for pair in sorted(named) for path in pair if path and not (REPOSITORY / path).exists()] == []


def test_readme_names_commands_that_exist() -> None:
    text = README.read_text(encoding="utf-8")
    named = set(re.findall(r"manage\.py ([a-z_]+)", text)) | set(re.findall(r"`([a-z]+_[a-z_]+)[` ]", text))

    assert named - set(get_commands()) - {"python"} == set()


def test_readme_names_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"`?make ([a-z-]+)", README.read_text(encoding="utf-8")))

    assert named - targets == set()


def write() -> None:
    """Write the generated parts: `python -m tests.architecture.test_readme`."""
    text = README.read_text(encoding="utf-8")
    for name, body in (("settings", settings_table()), ("diagram:run", run_diagram())):
        text = re.sub(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", rf"\g<1>{body}\n\g<2>", text, flags=re.DOTALL)
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import os

    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    write()
    sys.exit()
