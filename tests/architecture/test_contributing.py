"""CONTRIBUTING.md is true to the code: the files that it names, and the signals with who hears them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db.models import ForeignKey, ManyToManyField, Model
from django.dispatch import Signal

import debate.signals
import evalsite.review.signals
import judging.signals

REPOSITORY = Path(__file__).resolve().parents[2]
CONTRIBUTING = REPOSITORY / "CONTRIBUTING.md"
MODULES = (judging.signals, debate.signals, evalsite.review.signals)
APPS = ("judging", "debate", "review", "reports")


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


def data_model() -> str:
    """Return the diagram of the tables and their keys, without those that imports use while they last."""
    lines, models = ["```mermaid", "erDiagram"], list[type[Model]]()
    for label in APPS:
        models += sorted(apps.get_app_config(label).get_models(), key=lambda model: model.__name__)
    for model in models:
        if not model.__name__.startswith("Batch"):
            lines += [
                f"    {key.related_model.__name__} {_ends(key)} {model.__name__} : {key.name}"
                for key in (*model._meta.fields, *model._meta.many_to_many)
                if isinstance(key, (ForeignKey, ManyToManyField)) and _is_shown(key)
            ]
    return "\n".join([*lines, "```"])


def _is_shown(key: ForeignKey[Any, Any] | ManyToManyField[Any, Any]) -> bool:
    target = key.related_model
    return not isinstance(target, str) and target._meta.app_label in APPS and not target.__name__.endswith("Batch")


def _ends(key: ForeignKey[Any, Any] | ManyToManyField[Any, Any]) -> str:
    if isinstance(key, ManyToManyField):
        return "}o--o{"
    return ("|o" if key.null else "||") + ("--o|" if key.unique else "--o{")


GENERATED = {"signals": signals_table, "data-model": data_model}


@pytest.mark.parametrize("name", GENERATED)
def test_contributing_holds_what_is_generated(name: str) -> None:
    assert part(name) == GENERATED[name]()


def test_contributing_names_files_that_exist() -> None:
    text = CONTRIBUTING.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:judging|debate|evalsite|tests)/[\w/.]+|[A-Z]+\.md|\.ci/run|pyproject\.toml)`", text))

    assert len(named) > 30
    assert {path for path in named if not (REPOSITORY / path).exists()} == set()


def part(name: str) -> str:
    """Return what stands between the markers of that name."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    return text.partition(f"<!-- {name} -->\n")[2].partition(f"\n<!-- /{name} -->")[0]


def write() -> None:
    """Write the generated parts: `python -m tests.architecture.test_contributing`."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    for name, generate in GENERATED.items():
        start, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        head, _, rest = text.partition(start)
        text = head + start + generate() + end + rest.partition(end)[2]
    CONTRIBUTING.write_text(text, "utf-8")


if __name__ == "__main__":
    import os

    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    write()
    sys.exit()
