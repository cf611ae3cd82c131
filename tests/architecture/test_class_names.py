"""A class name stands in one file of the product, so that a search for it finds one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("debate", "evalsite", "judging")
OF_DJANGO = {"Command", "Media", "Meta"}  # Django looks these up by name


def test_class_names_occur_once() -> None:
    files: dict[str, set[Path]] = defaultdict(set)
    for path in (path for package in PRODUCT for path in (ROOT / package).rglob("*.py")):
        if "migrations" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and node.name not in OF_DJANGO:
                    files[node.name].add(path)

    assert {name for name, paths in files.items() if len(paths) > 1} == set()
    assert len(files) > 700
