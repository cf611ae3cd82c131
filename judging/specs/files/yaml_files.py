"""YAML read into plain data that remembers its lines, within limits.

The reader walks the parser's events itself, so that nothing is built by tag, aliases are counted at their expanded
size, and every key and value knows its line. Only what JSON knows comes out: dates and times stay text, keys are
always text as written (`1:` is the key "1", `yes:` the key "yes"), infinities and tags of a language are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.emitter import ScalarAnalysis
from yaml.nodes import ScalarNode
from yaml.reader import Reader
from yaml.resolver import Resolver

from judging.specs.files.bundles import Bundle, UnsafePath, folder_of, join_path, normalise_path
from judging.specs.files.encodings import decode_text
from judging.specs.files.findings import Findings, Parsed, Problem, Rule, at_line, error_rule, shorten, warning_rule

_COLON = (
    "A colon followed by a space starts a value, which is not possible here. Indent the line like its neighbours, or "
    "put quotes around a text that contains a colon."
)
_KEY = "The line is indented differently from the lines before it, or a quotation mark or bracket above is not closed."
_QUOTE = "A quotation mark is not closed."

# The words of libyaml and of PyYAML's own parser; the first that is found in a complaint counts.
_WORDS = (
    ("mapping values are not allowed", _COLON),
    ("expected '-' indicator", "An entry of the list is not aligned with the dash of the previous entry."),
    ("expected <block end>", _KEY),
    ("did not find expected key", _KEY),
    ("',' or ']'", "A list that starts with [ is not closed, or a comma is missing."),
    ("',' or '}'", "A mapping that starts with { is not closed, or a comma is missing."),
    ("cannot start any token", "A text cannot start with this character. Put quotes around it; indent with spaces."),
    ("unexpected end of stream", _QUOTE),
    ("node content", "A value is missing here, or a bracket above is not closed."),
    ("expected ':'", "A line above has no colon after its key, or is indented differently from its neighbours."),
    ("block sequence entries are not allowed", "A list cannot start here; begin it on a line of its own."),
    ("comment or line break", "The text after | or > starts on the next line."),
    ("unknown escape character", "In double quotes, write a backslash twice, or use single quotes."),
    ("control characters", "The file contains a control character."),
    ("special characters are not allowed", "The file contains a control character."),
)
_TAB = "There is a tab here. Indent YAML with spaces only."


def explain_problem(problem: str, line: str, column: int) -> str:
    """Return what is wrong, and the parser's own words where they are not known; `column` counts from 0."""
    if line[column : column + 1] == "\t" or line[: len(line) - len(line.lstrip())].find("\t") >= 0:
        return _TAB
    return next((words for fragment, words in _WORDS if fragment in problem), f"The parser says: {problem}.")


Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Scalar = None | bool | int | float | str

BAD_YAML = error_rule("bad-yaml")
TOO_BIG = error_rule("yaml-limit", "Split the file; no benchmark needs YAML this large.")
BAD_TAG = error_rule("yaml-tag", "Remove the tag: only plain text, numbers, lists and mappings are read.")
BAD_VALUE = error_rule("yaml-value", "Put quotes around it if it is meant as text.")
DUPLICATE_KEY = warning_rule("duplicate-key", "Keep one of the two; only the last one counts.")

_TAG = "tag:yaml.org,2002:"
_COLLECTION_TAGS = frozenset({None, "!", _TAG + "map", _TAG + "seq"})
_SCALAR_TAGS = frozenset(_TAG + name for name in ("str", "int", "float", "bool", "null"))
_TEXT_TAGS = frozenset(_TAG + name for name in ("timestamp", "value", "merge"))
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LONGEST_NUMBER = 400  # characters; reading longer ones takes quadratic time
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class YamlLimits:
    """How large a YAML file may be. Nodes are counted with every alias written out."""

    max_bytes: int = 8 * 1024 * 1024
    max_nodes: int = 200_000
    max_depth: int = 60
    max_text: int = 32 * 1024 * 1024  # characters, with every alias written out


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a YAML file with the line it starts on (from 1).

    `content` is a scalar, a tuple of nodes or a dict of nodes; `raw` is a scalar as written; `nodes` and `text`
    are the sizes with every alias written out.
    """

    line: int
    content: Scalar | tuple[Node, ...] | dict[str, Node]
    raw: str = ""
    nodes: int = 1
    text: int = 0

    @property
    def fields(self) -> dict[str, Node]:
        """The entries of a mapping; empty for anything else."""
        return self.content if isinstance(self.content, dict) else {}

    @property
    def items(self) -> tuple[Node, ...]:
        """The entries of a list; empty for anything else."""
        return self.content if isinstance(self.content, tuple) else ()

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.content, dict)

    @property
    def is_list(self) -> bool:
        return isinstance(self.content, tuple)

    @property
    def is_text(self) -> bool:
        return isinstance(self.content, str)

    def get(self, key: str) -> Node | None:
        """Return the value of a key of a mapping; None where there is none."""
        return self.fields.get(key)

    def plain(self) -> Json:
        """Return the value as fresh plain data, which the caller may change."""
        if isinstance(self.content, dict):
            return {key: child.plain() for key, child in self.content.items()}
        if isinstance(self.content, tuple):
            return [child.plain() for child in self.content]
        return self.content


@dataclass(eq=False)
class _Refused(Exception):
    rule: Rule
    line: int
    message: str
    offending: str = ""


class _Scalars(SafeConstructor, Resolver):
    """PyYAML's rules for what an unquoted word means, without a stream."""

    def __init__(self) -> None:
        SafeConstructor.__init__(self)
        Resolver.__init__(self)


@dataclass(slots=True)
class _NodeBuilder:
    """Builds nodes from parser events."""

    events: Iterator[yaml.Event]
    limits: YamlLimits
    file: str
    findings: Findings
    anchors: dict[str, Node | None] = field(default_factory=dict)
    scalars: _Scalars = field(default_factory=_Scalars)
    nodes: int = 0
    text: int = 0

    def document(self) -> Node:
        """Return the one document of the stream; an empty stream is a null."""
        next(self.events)  # the stream starts
        if not isinstance(next(self.events), yaml.DocumentStartEvent):
            return Node(1, None)
        node = self.value(next(self.events), 1)
        next(self.events)  # the document ends
        event = next(self.events)
        if isinstance(event, yaml.DocumentStartEvent):
            message = "A second document starts here; a file can contain only one document."
            raise _Refused(BAD_YAML, _line(event), message, "---")
        return node

    def value(self, event: yaml.Event, depth: int) -> Node:
        """Return the node that starts with `event`."""
        if depth > self.limits.max_depth:
            raise _Refused(TOO_BIG, _line(event), f"Values are nested deeper than {self.limits.max_depth} levels.")
        if isinstance(event, yaml.AliasEvent):
            return self._count(self._alias(event), event)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self.anchors[anchor] = None  # not complete yet: an alias to it would be a circle
        node = self._scalar(event) if isinstance(event, yaml.ScalarEvent) else self._collection(event, depth)
        if anchor is not None:
            self.anchors[anchor] = node
        return node

    def _alias(self, event: yaml.AliasEvent) -> Node:
        name = str(event.anchor)
        node = self.anchors.get(name)
        if node is None:
            word = "refers to the value it is part of" if name in self.anchors else "is not defined above"
            raise _Refused(BAD_YAML, _line(event), f"The alias *{name} {word}.", f"*{name}")
        return node

    def _count(self, node: Node, event: yaml.Event) -> Node:
        self.nodes += node.nodes
        self.text += node.text
        if self.nodes > self.limits.max_nodes:
            message = f"The file contains more than {self.limits.max_nodes:,} values once aliases are written out."
            raise _Refused(TOO_BIG, _line(event), message)
        if self.text > self.limits.max_text:
            message = f"The file contains more than {self.limits.max_text:,} characters once aliases are written out."
            raise _Refused(TOO_BIG, _line(event), message)
        return node

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        tag, line = event.tag, _line(event)
        if tag is None or tag == "!":
            implicit = (False, True) if tag == "!" else event.implicit
            tag = self.scalars.resolve(ScalarNode, event.value, implicit)  # type: ignore[no-untyped-call]  # PyYAML
        if tag in _TEXT_TAGS:
            tag = _TAG + "str"
        if tag != _TAG + "str" and len(event.value) > _LONGEST_NUMBER:
            raise _Refused(BAD_VALUE, line, "This number is too long.", event.value)
        if tag not in _SCALAR_TAGS:
            raise _Refused(BAD_TAG, line, f"The tag {shorten(tag)} is not allowed.", event.value)
        try:
            value = self.scalars.construct_object(ScalarNode(tag, event.value))
        except (ValueError, KeyError, IndexError, yaml.YAMLError):
            raise _Refused(BAD_VALUE, line, "This is not a number or a truth value.", event.value) from None
        if isinstance(value, str) and _UNSTORABLE.search(value):
            raise _Refused(BAD_VALUE, line, "This text contains a NUL character or invalid Unicode.", repr(value))
        if isinstance(value, float) and not math.isfinite(value):
            raise _Refused(BAD_VALUE, line, "Infinite numbers and .nan are not allowed.", event.value)
        return self._count(Node(line, value, event.value, 1, len(event.value)), event)

    def _collection(self, event: yaml.Event, depth: int) -> Node:
        if getattr(event, "tag", None) not in _COLLECTION_TAGS:
            raise _Refused(BAD_TAG, _line(event), f"The tag {shorten(getattr(event, 'tag', ''))} is not allowed.")
        self._count(Node(0, None), event)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Node] = []
            while not isinstance(child := next(self.events), yaml.SequenceEndEvent):
                items.append(self.value(child, depth + 1))
            return _sized(_line(event), tuple(items))
        return self._mapping(_line(event), depth)

    def _mapping(self, line: int, depth: int) -> Node:
        entries: dict[str, Node] = {}
        lines_by_key: dict[str, int] = {}
        merged: list[Node] = []
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._key(event, depth)
            value = self.value(next(self.events), depth + 1)
            is_merge = key.raw == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0]  # not in quotes
            if is_merge and (value.is_mapping or value.is_list):
                merged.append(value)
                continue
            if key.raw in lines_by_key:
                message = (
                    f"The key {shorten(key.raw)!r} is already set on line {lines_by_key[key.raw]} of the same mapping."
                )
                self.findings.add(DUPLICATE_KEY, self.file, at_line(key.line), message, key.raw)
            lines_by_key[key.raw] = key.line
            entries[key.raw] = value
        for source in (part for value in merged for part in (value.items or (value,))):
            for name, node in source.fields.items():
                entries.setdefault(name, node)
        return _sized(line, entries)

    def _key(self, event: yaml.Event, depth: int) -> Node:
        key = self.value(event, depth + 1)
        if key.is_mapping or key.is_list:
            raise _Refused(BAD_YAML, key.line, "A key must be a word or a number, not a list or a mapping.")
        return key


def _sized(line: int, content: tuple[Node, ...] | dict[str, Node]) -> Node:
    children = content if isinstance(content, tuple) else tuple(content.values())
    keys = sum(len(key) for key in content) if isinstance(content, dict) else 0
    nodes = 1 + sum(child.nodes for child in children) + (len(content) if isinstance(content, dict) else 0)
    return Node(line, content, "", nodes, keys + sum(child.text for child in children))


def _line(event: yaml.Event) -> int:
    return int(event.start_mark.line) + 1 if event.start_mark else 1


def _report_invalid(failure: yaml.MarkedYAMLError, text: str, file: str, findings: Findings) -> None:
    """Note where the parser stopped: the line as it stands in the file, and what is wrong with it."""
    mark, start = failure.problem_mark or failure.context_mark, failure.context_mark
    lines = text.split("\n")
    number = min(mark.line, len(lines) - 1) if mark else 0
    while number and not lines[number].strip():  # the end of the file: show the last line that says something
        number -= 1
    column = mark.column if mark and mark.line == number else len(lines[number])
    message = f"This is not valid YAML. {explain_problem(failure.problem or '', lines[number], column)}"
    if start is not None and start.line < number:
        message += f" The block that contains it starts on line {start.line + 1}."
    findings.add(BAD_YAML, file, f"line {number + 1}, column {column + 1}", message, lines[number])


def unreadable_yaml(bundle: Bundle) -> tuple[Problem, ...]:
    """Return the errors of every YAML file that cannot be read, so that none is left out in silence."""
    return tuple(error for path in yaml_paths(bundle) for error in read_yaml(bundle.read(path), path).errors)


def yaml_paths(bundle: Bundle) -> list[str]:
    """Return the YAML files of a bundle, sorted by path."""
    return [path for path in bundle if path.lower().endswith((".yaml", ".yml"))]


def yaml_files(bundle: Bundle, word: bytes) -> Iterator[tuple[str, Node]]:
    """Yield the YAML files of a bundle that can be read and have a word in them, sorted by path."""
    for path in yaml_paths(bundle):
        node = read_yaml(bundle.read(path), path).value if word in bundle.read(path) else None
        if node is not None:
            yield path, node


def read_yaml(data: bytes, file: str, limits: YamlLimits | None = None) -> Parsed[Node]:
    """Return the single document of a YAML file with line numbers, or the problems that prevent it.

    A key that is set twice is a warning: as in PyYAML the last value counts.
    """
    limits = limits or YamlLimits()
    text = decode_text(data, file, max_bytes=limits.max_bytes)
    if text.value is None:
        return Parsed(None, text.problems)
    findings = Findings()
    try:
        reader = _NodeBuilder(iter(yaml.parse(text.value, Loader=_LOADER)), limits, file, findings)
        return Parsed(reader.document(), findings.as_tuple())
    except _Refused as refusal:
        findings.add(refusal.rule, file, at_line(refusal.line), refusal.message, refusal.offending)
    except yaml.MarkedYAMLError as failure:
        _report_invalid(failure, text.value, file, findings)
    except (yaml.YAMLError, UnicodeError) as failure:
        findings.add(BAD_YAML, file, "", f"This is not valid YAML: {shorten(failure)}")
    return Parsed(None, findings.as_tuple())


LONGEST_PATH = 300
_IMAGE_PATH = re.compile(rf'"([^"\\\n]{{1,{LONGEST_PATH}}}\.(?:png|jpe?g|jfif|webp|gif))"', re.IGNORECASE)


def named_files(data: bytes, path: str) -> list[str]:
    """Return the paths that the texts in a YAML file spell, as seen from its folder and from the top.

    Most are none: whoever asks looks which of them are files. A text with a dotted name may be a Python module.
    """
    node = read_yaml(data, path).value
    paths: dict[str, None] = {}
    for text in _texts(node) if node is not None else ():
        for name in (text, text.rsplit(".", 1)[-1] + ".py"):
            for folder in dict.fromkeys((folder_of(path), "")):
                try:
                    paths[join_path(folder, name)] = None
                except UnsafePath:
                    continue
    return [name for name in paths if name not in (".", path)]


def named_images(data: bytes) -> list[str]:
    """Return the paths of images that the texts in a file of JSON rows spell, as seen from its folder."""
    paths: dict[str, None] = {}
    for text in _IMAGE_PATH.findall(data.decode("utf-8", "replace")):
        try:
            paths[normalise_path(text)] = None
        except UnsafePath:
            continue
    return list(paths)


def _texts(node: Node) -> list[str]:
    texts: list[str] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        waiting += [*part.items, *part.fields.values()]
        if isinstance(part.content, str) and 0 < len(part.content) <= LONGEST_PATH and "\n" not in part.content:
            texts.append(part.content)
    return texts


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
