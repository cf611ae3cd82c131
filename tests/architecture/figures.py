"""Prints figures of the structure of a checkout: `python -m tests.architecture.figures [FOLDER]`.

`--budget` writes budget.toml as the checkout stands: lines, files and record types of each package.

The product is evalsite, judging and debate without their migrations. A view leads to a file where one of its functions,
classes or constants is named by the view itself or by something that the view leads to, followed through imports.
Two templates are near duplicates where six of their lines in a row differ in names, numbers and quoted text alone.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from statistics import quantiles

PACKAGES = ("evalsite", "judging", "debate")
OF_DJANGO = {"Command", "Media", "Meta"}  # Django looks these up by name
RUN = 6  # lines
BUDGET = Path("tests/architecture/budget.toml")
BUDGET_HEAD = """\
# What each package may have at most, as `python -m tests.architecture.figures --budget` writes it of the code as it
# stands. Whoever makes a package smaller lowers its numbers; a commit that raises one says why.
"""
Definition = tuple[str, str]  # module and name


def product_files(root: Path) -> dict[str, Path]:
    """Return every module of the product by its dotted name."""
    paths = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    return {_dotted(path.relative_to(root)): path for path in paths if "migrations" not in path.parts}


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sizes(texts: dict[str, str]) -> dict[str, dict[str, int]]:
    """Return lines, files and record types of each package and of all; a module of an app itself counts for the app."""
    sums: dict[str, Counter[str]] = {"all": Counter()}
    for module, text in texts.items():
        parts = module.split(".")
        is_package = len(parts) > 2 or any(name.startswith(f"{module}.") for name in texts)
        name = ".".join(parts[:2] if is_package else parts[:1])
        found = {"lines": text.count("\n"), "files": 1, "record_types": record_types(ast.parse(text))}
        for package in (name, "all"):
            sums.setdefault(package, Counter()).update(found)
    return {package: dict(sums[package]) for package in sorted(sums)}


def record_types(tree: ast.Module) -> int:
    """Return how many classes of a module are dataclasses or typed dictionaries."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return sum(
        any("dataclass" in ast.dump(part) for part in node.decorator_list)
        or any("TypedDict" in ast.dump(part) or "NamedTuple" in ast.dump(part) for part in node.bases)
        for node in classes
    )


def untyped_dicts(tree: ast.Module) -> int:
    """Return how many functions of a module return a dictionary whose values have no type of their own."""
    named = re.compile(r"\b(JsonDict|JsonObject)\b|\b(dict|Mapping)\[str, (Any|object)\]")
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return sum(node.returns is not None and bool(named.search(ast.unparse(node.returns))) for node in functions)


def names_twice(trees: dict[str, ast.Module]) -> list[str]:
    """Return the class names that stand in two files or more."""
    modules = defaultdict(set)
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name not in OF_DJANGO:
                modules[node.name].add(module)
    return sorted(name for name, places in modules.items() if len(places) > 1)


def files_behind_views(trees: dict[str, ast.Module]) -> list[int]:
    """Return, for each view of a module in a package or module called views, how many files it leads to."""
    bodies, imported = _definitions(trees)
    leads: dict[Definition, set[Definition]] = {}
    for (module, name), body in bodies.items():
        used = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
        used |= {f"{_chain(node)}" for node in ast.walk(body) if isinstance(node, ast.Attribute)}
        meant = {imported[module].get(word, (module, word)) for word in used} - {(module, name)}
        leads[module, name] = {found for target in meant if (found := _resolved(target, bodies, imported))}
    views = [place for place, body in bodies.items() if ".views" in place[0] and _is_view(body)]
    return [len(_reached(view, leads)) for view in views]


def _definitions(
    trees: dict[str, ast.Module],
) -> tuple[dict[Definition, ast.stmt], dict[str, dict[str, Definition]]]:
    """Return what each module defines at its top level, and what its imports stand for."""
    bodies: dict[Definition, ast.stmt] = {}
    imported: dict[str, dict[str, Definition]] = defaultdict(dict)
    for module, tree in trees.items():
        for node in tree.body:
            for name in _defined(node):
                bodies[module, name] = node
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    imported[module][alias.asname or alias.name] = (node.module, alias.name)
    return bodies, imported


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _chain(node: ast.Attribute) -> str:
    return f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""


def _resolved(
    target: Definition, bodies: dict[Definition, ast.stmt], imported: dict[str, dict[str, Definition]]
) -> Definition | None:
    """Return where a name is defined, behind re-exports and names of modules; None where it is not of the product."""
    module, name = target
    if "." in name:  # a module and what is taken from it
        owner, _, name = name.partition(".")
        home = imported[module].get(owner)
        module = f"{home[0]}.{home[1]}" if home else ""
    for _ in range(4):
        if (module, name) in bodies:
            return module, name
        if name not in imported.get(module, {}):
            return None
        module, name = imported[module][name]
    return None


def _is_view(body: ast.stmt) -> bool:
    return isinstance(body, ast.FunctionDef) and bool(body.args.args) and "request" in body.args.args[0].arg


def _reached(start: Definition, leads: dict[Definition, set[Definition]]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        fresh = leads.get(waiting.pop(), set()) - seen
        seen |= fresh
        waiting += fresh
    return {module for module, _ in seen}


def template_twins(root: Path) -> int:
    """Return how many pairs of templates are near duplicates of each other in some place."""
    places = defaultdict(set)
    for path in sorted((root / "templates").rglob("*.html")):
        lines = [line for raw in path.read_text(encoding="utf-8").splitlines() if (line := _shape(raw))]
        for start in range(len(lines) - RUN + 1):
            places["\n".join(lines[start : start + RUN])].add(path)
    return len({pair for paths in places.values() for pair in combinations(sorted(paths), 2)})


def _shape(line: str) -> str:
    """Return a line without its quoted text, numbers, variables and words; empty where only punctuation stands."""
    line = re.sub(r'"[^"]*"|\'[^\']*\'', "Q", line.strip())
    line = re.sub(r"\{\{.*?\}\}", "V", line)
    line = re.sub(r"(?<=>)[^<{]+(?=<|\{|$)", "T", line)
    line = re.sub(r"\b(?!for|if|in|else|elif|include|url|with|block|end\w+)[a-z_]+(?:\.[a-z_0-9]+)+\b|\d+", "N", line)
    return line if re.search(r"\w", line) else ""


def texts_of(root: Path) -> dict[str, str]:
    """Return the text of every module of the product by its dotted name."""
    return {module: path.read_text(encoding="utf-8") for module, path in product_files(root).items()}


def write_budget(root: Path) -> None:
    """Write the sizes as they stand as what they may be at most."""
    tables = [
        f'["{package}"]\n' + "".join(f"{name} = {count}\n" for name, count in found.items())
        for package, found in sizes(texts_of(root)).items()
    ]
    (root / BUDGET).write_text(f"{BUDGET_HEAD}\n" + "\n".join(tables), encoding="utf-8")


def main(root: Path) -> None:
    """Print the figures."""
    files, texts = product_files(root), texts_of(root)
    trees = {module: ast.parse(text) for module, text in texts.items()}
    lines = sum(text.count("\n") for text in texts.values())
    modules = [path for path in files.values() if path.stem != "__init__" and path.parent.name != "commands"]
    per_folder = Counter(path.parent for path in modules)
    behind = files_behind_views(trees)
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    calls = Counter(
        node.func.attr for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    words = Counter(word for text in texts.values() for word in re.findall(r"[A-Za-z_]\w*", text))
    print(f"product: {lines:,} lines in {len(files)} files; {sum(map(record_types, trees.values()))} record types")
    print(f"functions that return an untyped dict: {sum(map(untyped_dicts, trees.values()))}")
    print(f"add_argument: {calls['add_argument']}")
    print(f"class names defined twice: {', '.join(names_twice(trees)) or 'none'}")
    print(f"Any: {1000 * words['Any'] / lines:.1f} per 1,000 lines")
    print(f"modules in the fullest folder, management commands aside: {max(per_folder.values())}")
    print(f"files behind a view: median {sorted(behind)[len(behind) // 2]}, p90 {quantiles(behind, n=10)[-1]:.0f}")
    print(f"pairs of templates with six lines of one shape: {template_twins(root)}")


if __name__ == "__main__":
    here = Path(__file__).resolve().parents[2]
    if "--budget" in sys.argv:
        write_budget(here)
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else here)
