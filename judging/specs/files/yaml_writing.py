"""YAML as people write it: keys in their order, texts of several lines as blocks."""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.emitter import ScalarAnalysis
from yaml.reader import Reader

WIDTH = 120
_ODD_BREAKS = re.compile(r"[\r\x85\u2028\u2029\ufeff]")  # YAML reads them back as something else unless escaped


def yaml_text(content: object) -> str:
    """Return JSON-like content as YAML that is read back as it was."""
    return yaml.dump(content, Dumper=_BlockDumper, sort_keys=False, allow_unicode=True, width=WIDTH)


class _BlockDumper(yaml.SafeDumper):
    """Writes text of several lines as blocks, and never by reference."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        """Return what the emitter may do: blocks also where lines end in spaces, which reading keeps."""
        analysis = super().analyze_scalar(scalar)
        if analysis.multiline and not Reader.NON_PRINTABLE.search(scalar) and not _ODD_BREAKS.search(scalar):
            analysis.allow_block = True
        return analysis


def _text(dumper: _BlockDumper, text: str) -> Any:
    style = '"' if _ODD_BREAKS.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_BlockDumper.add_representer(str, _text)
