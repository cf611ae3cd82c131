"""Tests use the product as its callers do: by public names."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.figures import PACKAGES

ROOT = Path(__file__).resolve().parents[2]


def _private_names(tree: ast.Module) -> set[str]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imports = [node for node in imports if (node.module or "").split(".")[0] in PACKAGES]
    names = {alias.name for node in imports for alias in node.names}
    modules = {alias.asname or alias.name for node in imports for alias in node.names}
    names |= {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
    }
    return {name for name in names if name.startswith("_") and not name.startswith("__") and name != "_meta"}


def test_tests_use_no_private_names_of_the_product() -> None:
    private = {
        str(path.relative_to(ROOT)): names
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (names := _private_names(ast.parse(path.read_text(encoding="utf-8"))))
    }

    assert private == {}
