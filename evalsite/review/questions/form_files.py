"""Forms as their owners write them: YAML or JSON, read with every error by its line, and as queues store them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from evalsite.base.types import JsonDict, JsonObject
from evalsite.review.questions.forms import BOOLEAN, EACH, FormQuestion, Kind, OwnForm, ShownIf, own_form
from evalsite.review.questions.scales import MEANING_LIMIT, MOST_LABELS, VALUE_LIMIT, Label
from judging.specs.files.yaml_files import Node, YamlLimits, read_yaml
from judging.specs.types import ScaleSpec

LIMITS = YamlLimits(max_bytes=64 * 1024, max_nodes=5_000)
MOST_QUESTIONS, MOST_OPTIONS = 20, 50
KEY = re.compile(r"[a-z][a-z0-9_]{0,29}")
TEXT_LIMIT, HELP_LIMIT, OPTION_LIMIT = 300, 500, 120
SIZE = "size"  # in a stored form: how many responses its items have, where there are more than two
GRADES = {  # of a preference, from A to B
    2: ("A is better", "B is better"),
    3: ("A is better", "Neither is better", "B is better"),
    5: ("A is much better", "A is slightly better", "Neither is better", "B is slightly better", "B is much better"),
    7: (
        *("A is much better", "A is better", "A is slightly better", "Neither is better"),
        *("B is slightly better", "B is better", "B is much better"),
    ),
}
TAKEN_KEYS = {  # what keys of the page do, whatever question is asked
    "x": "cannot judge", "s": "skip", "f": "flag", "u": "undo", "w": "the reason", "j": "the next question",
    "k": "the previous question",
}  # fmt: skip
MARKED_IN = frozenset({"response", "context", "question"})
MOST_LABELS_OF_MARKS = 9  # each has a digit; 0 says that there is nothing to mark
COMMON = frozenset({"key", "ask", "kind", "help", "required", "per", "show_if", "keys"})
OF_KINDS = {
    Kind.CHECK: frozenset[str](),
    Kind.CHOICE: frozenset({"options"}),
    Kind.CHOICES: frozenset({"options"}),
    Kind.SCALE: frozenset({"anchors", "low", "high"}),
    Kind.PREFERENCE: frozenset({"grades"}),
    Kind.RANKING: frozenset({"ties"}),
    Kind.SPANS: frozenset({"in", "labels"}),
    Kind.NUMBER: frozenset({"low", "high", "step"}),
    Kind.TEXT: frozenset[str](),
}


class BadForm(ValueError):
    """A form that cannot be used; the message names the line and says what to write."""


def _wrong(node: Node, sentence: str) -> BadForm:
    return BadForm(f"line {node.line}: {sentence}")


def read_form(text: str) -> JsonDict:
    """Return the definition of a form of YAML or JSON, as queues store it; `form_of_definition` makes the form.

    Raises:
        BadForm: it cannot be read, or asks something that cannot be asked.
    """
    parsed = read_yaml(text.encode(), "", LIMITS)
    if parsed.value is None or parsed.problems:  # a key that is there twice is a warning elsewhere
        problem = parsed.problems[0]
        raise BadForm(f"{problem.place}: {problem.message}" if problem.place else problem.message)
    document = parsed.value
    listed = document.get("form") if document.is_mapping else document
    if listed is None or not listed.is_list or not listed.items:
        raise _wrong(listed or document, "A form is a list of questions under “form:”, each with key, ask and kind.")
    if len(listed.items) > MOST_QUESTIONS:
        raise _wrong(listed.items[MOST_QUESTIONS], f"A form has at most {MOST_QUESTIONS} questions.")
    for name, node in document.fields.items():
        if name != "form":
            raise _wrong(node, f"There is no field “{name}” beside “form”.")
    reader = _FormReader()
    return {"form": [reader.question(node) for node in listed.items]}


def form_of_definition(definition: JsonObject, *, size: int) -> OwnForm | None:
    """Return the form that a queue stores, of items with so many responses; None where it stores none."""
    if not definition:
        return None
    questions = [_question(row) for row in definition["form"]]
    return own_form(questions, size=size)


def check_fits(definition: JsonObject, *, size: int) -> None:
    """Accept a form for items with so many responses. Raises: BadForm."""
    there = "one" if size == 1 else str(size)
    for row in definition.get("form", ()):
        if row["kind"] == Kind.PREFERENCE and size != 2:
            compares = f"The question “{row['key']}” compares two responses"
            raise BadForm(f"{compares}, and the file has {there} for each item.")
        if row["kind"] == Kind.RANKING and size == 1:
            raise BadForm(f"The question “{row['key']}” orders responses, and the file has one for each item.")


def for_items(definition: JsonObject, *, size: int) -> JsonObject:
    """Return a form as a queue stores it for items with so many responses; of two at most nothing is added."""
    return {**definition, SIZE: size} if definition and size > 2 else definition


def size_stored(definition: JsonObject, *, is_pair: bool) -> int:
    """Return how many responses the items have that a stored form is about."""
    size: int = definition.get(SIZE) or (2 if is_pair else 1)
    return size


def size_asked(definition: JsonObject) -> int:
    """Return how many responses an item has in the preview of a form: as few as show what it asks."""
    kinds = {row["kind"] for row in definition["form"]}
    if Kind.RANKING in kinds and Kind.PREFERENCE not in kinds:
        return 3
    is_of_each = any(row.get("per") and row["kind"] != Kind.SPANS for row in definition["form"])
    return 2 if is_of_each or kinds & {Kind.RANKING, Kind.PREFERENCE} else 1


@dataclass(slots=True)
class _FormReader:
    """Reads questions one after the other: conditions name only those before."""

    earlier: dict[str, JsonDict] = field(default_factory=dict)

    def question(self, node: Node) -> JsonDict:
        """Return one question as it is stored."""
        if not node.is_mapping:
            raise _wrong(node, "A question has fields: key, ask and kind.")
        key, kind = self._key(node), _kind(node)
        row: JsonDict = {"key": key} | _about(node, kind) | READERS[kind](node)
        if "show_if" in node.fields:
            row["show_if"] = self._conditions(node.fields["show_if"], row)
        if "keys" in node.fields:
            row["keys"] = _keys(node.fields["keys"], _question(row))
        self.earlier[key] = row
        return row

    def _key(self, node: Node) -> str:
        key = _text(node, "key", TEXT_LIMIT)
        if not KEY.fullmatch(key):
            words = "small letters, digits and underscores, at most 30, with a letter first"
            raise _wrong(node.fields["key"], f"The key “{key}” is not possible: use {words}.")
        if key in self.earlier:
            raise _wrong(node.fields["key"], f"Two questions have the key “{key}”.")
        return key

    def _conditions(self, node: Node, row: JsonDict) -> JsonDict:
        """Return what must have been answered before for a question to be shown."""
        if not node.fields:
            raise _wrong(node, "Write show_if as {key of an earlier question: [answers]}.")
        return {name: self._condition(name, answers, row) for name, answers in node.fields.items()}

    def _condition(self, name: str, node: Node, row: JsonDict) -> list[object]:
        asked = self.earlier.get(name)
        if asked is None:
            raise _wrong(node, f"There is no earlier question “{name}”.")
        if asked.get("per") and not row.get("per"):
            raise _wrong(node, f"“{name}” is asked of each response, so this question needs “per: response” too.")
        question = _question(asked)
        answer = {Kind.TEXT: "a text", Kind.RANKING: "an order", Kind.SPANS: "marks"}.get(question.kind)
        if answer is not None:
            raise _wrong(node, f"“{name}” is answered by {answer}, so no question can depend on it.")
        nodes = node.items if node.is_list else (node,)
        values = [_answer(question, name, value) for value in nodes]
        if not values:
            raise _wrong(node, f"Name the answers to “{name}” with which the question is shown.")
        if question.kind is Kind.PREFERENCE and {-value for value in values if isinstance(value, int)} != set(values):
            raise _wrong(node, f"Each person may see the sides of “{name}” the other way round: name 2 and -2 alike.")
        return values


def _about(node: Node, kind: Kind) -> JsonDict:
    """Return what questions of all kinds have, beside their key and what depends on other questions."""
    known = COMMON | OF_KINDS[kind]
    for name, value in node.fields.items():
        if name not in known:
            raise _wrong(value, f"A question of the kind {kind} has no field “{name}”: {_listed(known)}.")
    row: JsonDict = {"ask": _text(node, "ask", TEXT_LIMIT), "kind": str(kind)}
    if "help" in node.fields:
        row["help"] = _text(node, "help", HELP_LIMIT)
    if not _is_so(node, "required", otherwise=True):
        row["required"] = False
    if "per" in node.fields:
        if _text(node, "per", TEXT_LIMIT) != "response":
            raise _wrong(node.fields["per"], "Write “per: response” to ask the question of each response.")
        if kind in NOT_PER_RESPONSE:
            raise _wrong(node.fields["per"], NOT_PER_RESPONSE[kind])
        row["per"] = "response"
    return row


def _answer(question: FormQuestion, name: str, node: Node) -> object:
    single = FormQuestion("", "", Kind.CHOICE, scale=question.scale) if question.kind is Kind.CHOICES else question
    value = single.read(node.raw)
    if value is None:
        raise _wrong(node, f"“{node.raw}” is no answer to “{name}”.")
    return value


def _kind(node: Node) -> Kind:
    written = _text(node, "kind", TEXT_LIMIT)
    if written not in OF_KINDS:
        raise _wrong(node.fields["kind"], f"There is no kind “{written}”: {_listed(OF_KINDS)}.")
    return Kind(written)


def _text(node: Node, name: str, limit: int) -> str:
    value = node.get(name)
    if value is None:
        raise _wrong(node, f"The question has no “{name}”.")
    text = " ".join(value.raw.split())
    if value.is_mapping or value.is_list or not text:
        raise _wrong(value, f"“{name}” must be a text.")
    if len(text) > limit:
        raise _wrong(value, f"“{name}” has at most {limit} characters.")
    return text


def _is_so(node: Node, name: str, *, otherwise: bool) -> bool:
    value = node.get(name)
    if value is not None and not isinstance(value.content, bool):
        raise _wrong(value, f"“{name}” must be true or false.")
    return otherwise if value is None else bool(value.content)


NOT_PER_RESPONSE = {
    Kind.PREFERENCE: "A preference compares the responses, so it is asked once.",
    Kind.RANKING: "A ranking orders the responses, so it is asked once.",
    Kind.SPANS: "Write “in: response” to have each response marked.",
}


def _options(node: Node) -> dict[str, list[list[str]]]:
    """Return the options of a choice: a list of words, or words with what they are shown as."""
    listed = node.get("options")
    if listed is None or not (listed.is_list or listed.is_mapping):
        raise _wrong(listed or node, "Write “options” as a list of words, or as {word: what is shown}.")
    shown = [(value.strip(), text) for value, text in listed.fields.items() or [(row.raw, row) for row in listed.items]]
    if not 2 <= len({value for value, _ in shown}) == len(shown) <= MOST_OPTIONS:
        raise _wrong(listed, f"A choice has 2 to {MOST_OPTIONS} different options.")
    options = []
    for value, text in shown:
        if text.is_list or text.is_mapping or not value or len(value) > VALUE_LIMIT or "," in value:
            raise _wrong(text, f"An option is a word of at most {VALUE_LIMIT} characters without commas.")
        if not text.raw.strip() or len(text.raw) > OPTION_LIMIT:
            raise _wrong(text, f"What is shown of an option has 1 to {OPTION_LIMIT} characters.")
        options.append([value, " ".join(text.raw.split())])
    return {"options": options}


def _scale(node: Node) -> JsonDict:
    """Return a scale of whole numbers, from its lowest to its highest anchor unless other ends are given."""
    anchors: dict[int, str] = {}
    listed = node.get("anchors")
    if listed is not None and not listed.is_mapping:
        raise _wrong(listed, "Write “anchors” as {whole number: what it means}.")
    for value, text in (listed.fields if listed is not None else {}).items():
        if not re.fullmatch(r"-?\d{1,3}", value):
            raise _wrong(text, f"The anchor “{value}” is no whole number of the scale.")
        if text.is_list or text.is_mapping or not 0 < len(text.raw.strip()) <= MEANING_LIMIT:
            raise _wrong(text, f"What a value means has 1 to {MEANING_LIMIT} characters.")
        anchors[int(value)] = " ".join(text.raw.split())
    low = _number_in(node, "low") if "low" in node.fields else min(anchors, default=1)
    high = _number_in(node, "high") if "high" in node.fields else max(anchors, default=5)
    if not 1 <= high - low < MOST_LABELS or low != int(low) or high != int(high):
        raise _wrong(listed or node, f"A scale has 2 to {MOST_LABELS} whole numbers. Ask for a number instead.")
    outside = [value for value in anchors if not low <= value <= high]
    if outside:
        raise _wrong(listed or node, f"The anchor {outside[0]} is outside the scale from {low:g} to {high:g}.")
    return {"low": low, "high": high, "anchors": {str(value): anchors[value] for value in sorted(anchors)}}


def _number_in(node: Node, name: str) -> float:
    value = node.fields[name]
    if isinstance(value.content, bool) or not isinstance(value.content, int | float):
        raise _wrong(value, f"“{name}” must be a number.")
    return value.content


def _preference(node: Node) -> dict[str, float | str | None]:
    grades = node.get("grades")
    if grades is None:
        return {"grades": 3}
    if grades.content not in GRADES or isinstance(grades.content, bool):
        raise _wrong(grades, "A preference has 2, 3, 5 or 7 grades.")
    return {"grades": grades.content}


def _spans(node: Node) -> JsonDict:
    """Return which text is marked, and with which labels; a label may have a weight."""
    place = _text(node, "in", TEXT_LIMIT) if "in" in node.fields else "response"
    if place not in MARKED_IN:
        raise _wrong(node.fields["in"], f"There is nothing to mark in “{place}”: {_listed(MARKED_IN)}.")
    listed = node.get("labels")
    names = [name.strip() for name in listed.fields or [item.raw for item in listed.items]] if listed else []
    if listed is None or not 1 <= len(names) <= MOST_LABELS_OF_MARKS or len(set(names)) < len(names):
        most = f"1 to {MOST_LABELS_OF_MARKS} different ones"
        raise _wrong(listed or node, f"Write “labels” as a list of words, or as {{word: weight}}: {most}.")
    if not all(name and len(name) <= VALUE_LIMIT and not set(",:") & set(name) for name in names):
        raise _wrong(listed, f"A label is a word of at most {VALUE_LIMIT} characters without commas and colons.")
    weights = [_number_in(listed, name) for name in listed.fields]
    weighted = dict(zip(names, weights or [1] * len(names), strict=True))
    row: JsonDict = {"in": place, "labels": [[name, weight] for name, weight in weighted.items()]}
    return row | ({"per": "response"} if place == "response" else {})


def _number(node: Node) -> JsonDict:
    row: JsonDict = {name: _number_in(node, name) for name in ("low", "high", "step") if name in node.fields}
    if "low" in row and "high" in row and row["low"] >= row["high"]:
        raise _wrong(node.fields["high"], "“high” must be above “low”.")
    if row.get("step", 1) <= 0:
        raise _wrong(node.fields["step"], "“step” must be above 0.")
    return row


READERS: Mapping[Kind, Callable[[Node], JsonDict]] = {
    Kind.CHECK: lambda _node: {},
    Kind.CHOICE: _options,
    Kind.CHOICES: _options,
    Kind.SCALE: _scale,
    Kind.PREFERENCE: _preference,
    Kind.RANKING: lambda node: {"ties": _is_so(node, "ties", otherwise=False)},
    Kind.SPANS: _spans,
    Kind.NUMBER: _number,
    Kind.TEXT: lambda _node: {},
}


def _keys(node: Node, question: FormQuestion) -> dict[str, str]:
    """Return the keys that an owner gave choices."""
    known = [choice.value for choice in question.choices]
    keys: dict[str, str] = {}
    for value, key in node.fields.items():
        if value not in known:
            raise _wrong(key, f"“{value}” is no choice of the question.")
        if not re.fullmatch(r"[a-z0-9]", key.raw):
            raise _wrong(key, f"The key “{key.raw}” is not possible: use one small letter or digit.")
        if key.raw in TAKEN_KEYS:
            raise _wrong(key, f"The key “{key.raw}” is taken: it is the key for {TAKEN_KEYS[key.raw]}.")
        keys[value] = key.raw
    if question.kind is Kind.SPANS and "0" in keys.values():
        raise _wrong(node, "The key “0” is taken: it says that there is nothing to mark.")
    shown = [keys.get(value) or question.digit(index) for index, value in enumerate(known)]
    double = next((key for key in shown if key and shown.count(key) > 1), "")
    if double:
        raise _wrong(node, f"The key “{double}” would give two choices.")
    return keys


def _listed(names: Sequence[str] | Mapping[Kind, object] | frozenset[str]) -> str:
    return ", ".join(sorted(map(str, names)))


def _question(row: JsonObject) -> FormQuestion:
    """Return a question from its stored definition, not yet of one response."""
    kind = Kind(row["kind"])
    scale, options = _scale_of(kind, row)
    return FormQuestion(
        key=row["key"],
        text=row["ask"],
        kind=kind,
        scale=scale,
        options=options,
        anchors=tuple(sorted(row.get("anchors", {}).items(), key=lambda anchor: int(anchor[0]))),
        help=row.get("help", ""),
        is_required=row.get("required", True),
        side=EACH if row.get("per") else "",
        show_if=tuple(ShownIf(key, tuple(values)) for key, values in row.get("show_if", {}).items()),
        own_keys=tuple(row.get("keys", {}).items()),
        has_ties=row.get("ties", False),
        marked_in=row.get("in", ""),
        weights=tuple((name, weight) for name, weight in row.get("labels", ())),
    )


def _scale_of(kind: Kind, row: JsonObject) -> tuple[ScaleSpec, tuple[Label, ...]]:
    """Return what values an answer may have, and what is offered."""
    if kind in (Kind.CHOICE, Kind.CHOICES):
        options = tuple(Label(value, text) for value, text in row["options"])
        return ScaleSpec("nominal", labels=tuple(option.value for option in options)), options
    if kind is Kind.CHECK:
        return BOOLEAN, ()
    if kind is Kind.SPANS:
        options = tuple(Label(name, name) for name, _ in row["labels"])
        return ScaleSpec("nominal", labels=tuple(option.value for option in options)), options
    if kind is Kind.PREFERENCE:
        most = row["grades"] // 2
        values = [value for value in range(most, -most - 1, -1) if value or row["grades"] % 2]
        texts = GRADES[row["grades"]]
        options = tuple(Label(str(value), text) for value, text in zip(values, texts, strict=True))
        return ScaleSpec("ordinal", -most, most, 1), options
    if kind is Kind.SCALE:
        return ScaleSpec("ordinal", row["low"], row["high"], 1), ()
    if kind is Kind.NUMBER:
        return ScaleSpec("numeric", row.get("low"), row.get("high"), row.get("step")), ()
    return ScaleSpec("text"), ()


def written_form(definition: JsonObject) -> list[JsonDict]:
    """Return the questions of a form as `read_form` reads them again."""
    return [
        {name: value for name, value in row.items() if name != "per" or row["kind"] != Kind.SPANS}
        | {name: dict(row[name]) for name in ("options", "labels") if name in row}
        for row in definition.get("form", ())
    ]


@cache
def starting_forms() -> dict[str, tuple[str, str]]:
    """Return the forms that come with the site, by name: title, the first line of the file, and text."""
    paths = sorted(files("evalsite.review.questions").joinpath("starting_forms").iterdir(), key=lambda path: path.name)
    forms = {}
    for path in paths:
        title, _, text = path.read_text(encoding="utf-8").partition("\n")
        forms[path.name.removesuffix(".yaml")] = (title.removeprefix("# "), text)
    return forms
