"""Templates include and extend only what is there, and name only what lies in their own app or below."""

from __future__ import annotations

import re
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
NAMED = re.compile(r'{%\s*(?:include|extends)\s+"([^"]+)"')
ADDRESS = re.compile(r"{%\s*(?:url|link_button|post_button)\s+[\"']([a-z-]+):")
LOADED = re.compile(r"{%\s*load\s+([^%]+)%}")
LIBRARIES = {"ui", "static", "django_htmx"}  # those of the base app and of the libraries
LAYERS = ("base", "judging", "debate", "review", "reports", "site")  # from the bottom to the top
FOLDERS = {"accounts": "base", "api": "site", "evalsite": "site", "registration": "site"}  # not named as their layer


def layer_of(name: str) -> str:
    """Return the layer of a template by its path: those in no folder are of the base app."""
    folder = name.partition("/")[0] if "/" in name else "base"
    return FOLDERS.get(folder, folder)


def templates() -> dict[str, str]:
    return {
        str(path.relative_to(TEMPLATES)): path.read_text(encoding="utf-8") for path in sorted(TEMPLATES.rglob("*.html"))
    }


def test_every_template_that_is_named_exists() -> None:
    named = {(name, other) for name, text in templates().items() for other in NAMED.findall(text)}

    assert [pair for pair in sorted(named) if not (TEMPLATES / pair[1]).is_file()] == []
    assert len(named) > 100


def test_templates_point_down_only() -> None:
    upward = [
        (name, other)
        for name, text in templates().items()
        for other in (*NAMED.findall(text), *(f"{space}/" for space in ADDRESS.findall(text)))
        if LAYERS.index(layer_of(other)) > LAYERS.index(layer_of(name))
    ]

    assert upward == []


def test_templates_load_no_library_of_an_app_above() -> None:
    loaded = {word for text in templates().values() for words in LOADED.findall(text) for word in words.split()}

    assert loaded == LIBRARIES
