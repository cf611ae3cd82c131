"""Every estimator has a door: a page, job or command leads to each public function of the statistics."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
STATISTICS = "judging.statistics"
Name = tuple[str, str]  # module and name in it
PLAIN = {"estimators.agreement.shown_kappa"}  # references of speed-only code, which a test compares; may only shrink


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")


def product() -> dict[str, ast.Module]:
    """Return the product's modules that speak of statistics, by name."""
    files = [path for part in ("evalsite", "debate", "judging") for path in (REPOSITORY / part).rglob("*.py")]
    texts = {module_of(path): path.read_text(encoding="utf-8") for path in files}
    return {
        name: ast.parse(text) for name, text in texts.items() if name.startswith(STATISTICS) or "statistics" in text
    }


def imports(tree: ast.AST) -> Iterator[tuple[str, Name]]:
    """Yield what each imported name means."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                yield alias.asname or alias.name, (node.module, alias.name)


def mentioned(tree: ast.AST) -> set[str]:
    """Return the names that code reads, attributes of modules included."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def unreached(modules: dict[str, ast.Module]) -> list[str]:
    """Return the public functions and classes of the statistics that nothing outside them leads to."""
    inside = {name: tree for name, tree in modules.items() if name.startswith(STATISTICS)}
    definitions: dict[Name, ast.stmt] = {
        (module, node.name): node
        for module, tree in inside.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    meanings = {module: dict(imports(tree)) for module, tree in inside.items()}
    waiting = [name for module, tree in modules.items() if module not in inside for name in _uses(tree, modules)]
    for module, tree in inside.items():  # what a module computes as it is loaded
        loaded = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
        waiting += [(module, word) for node in loaded for word in mentioned(node)]
    reached: set[Name] = set()
    while waiting:
        name = waiting.pop()
        if name in reached or name not in definitions:
            continue
        reached.add(name)
        words = mentioned(definitions[name])
        waiting += [meanings[name[0]].get(word, (name[0], word)) for word in words]
    unused = [name for name in definitions if name not in reached and not name[1].startswith("_")]
    return sorted(f"{module}.{name}".removeprefix(f"{STATISTICS}.") for module, name in unused)


def _uses(tree: ast.Module, modules: dict[str, ast.Module]) -> list[Name]:
    """Return what a module outside uses: imported names, and attributes of imported modules."""
    imported = dict(imports(tree))
    words = mentioned(tree)
    whole = [f"{module}.{name}" for module, name in imported.values() if f"{module}.{name}" in modules]
    return [*imported.values(), *((module, word) for module in whole for word in words)]


def test_every_public_function_of_the_statistics_is_reached_from_outside() -> None:
    assert set(unreached(product())) - PLAIN == set()
