"""YAML as people write it: keys in their order, texts of several lines as blocks."""

from __future__ import annotations

from typing import Any

import yaml

WIDTH = 120


def yaml_text(content: object) -> str:
    """Return JSON-like content as YAML."""
    return yaml.dump(content, Dumper=_BlockDumper, sort_keys=False, allow_unicode=True, width=WIDTH)


class _BlockDumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _text(dumper: _BlockDumper, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_BlockDumper.add_representer(str, _text)
