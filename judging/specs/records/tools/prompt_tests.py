"""Test runners of prompts: promptfoo's results and configurations, and DeepEval."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product

from evalsite.base.types import JsonDict, JsonObject, as_text, objects
from judging.specs.records.collector import SYSTEM_LIMIT, Collector
from judging.specs.records.neutral import CaseRecord, LogRecord, Place, ResponseRecord
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import CASES, Reply, Said, Score, Shape, Told, ToolRow, judged, read_rows, store
from judging.specs.records.values import (
    as_count,
    as_number,
    at,
    details,
    first_text,
    numbered,
    object_of,
    parsed,
    references,
    texts,
)
from judging.specs.rubrics.rubric_tables import ALIASES, CODE_CHECKS, ID_COLUMNS, RATED_CHECKS
from judging.specs.turns import RowMessage, role_of

_promptfoo = partial(
    Shape,
    rank=80,
    export="Run `promptfoo eval -o results.json` (or .jsonl, .csv), or bring an export of `promptfoo export`.",
    comes="Tests as cases, outputs with tokens, times and costs, the score of each assertion, and those that ask a "
    "model as judges' verdicts with their reasons.",
    stays="Providers, prompt templates and grading prompts are not set up; rows with an error have no response.",
)
_VARIABLE = re.compile(r"\{\{-?\s*([\w.]+)\s*-?\}\}")


def keyword_rule(kind: str, assertion: JsonObject, variables: JsonObject) -> JsonDict | None:
    """Return an assertion as a keyword rule; None where no rule says the same."""
    positive = kind.removeprefix("not-")
    if kind in _JSON:
        return _weighted({"content": {"json": _JSON[kind]}}, assertion) if assertion.get("value") is None else None
    wanted = _wanted(positive, assertion.get("value"), variables)
    if positive not in _PATTERNS or not wanted:
        return None
    rule = _literal(kind, wanted) if kind in _LITERAL else _pattern(positive, wanted, is_negated=kind != positive)
    return _weighted(rule, assertion) if rule is not None else None


def _weighted(rule: JsonDict, assertion: JsonObject) -> JsonDict:
    weight = as_number(assertion.get("weight"))
    return rule if weight is None else {**rule, "weight": weight}


def _literal(kind: str, texts: list[str]) -> JsonDict:
    content: object = {"and" if kind.endswith("-all") else "or": texts} if len(texts) > 1 else texts[0]
    return {"content": content} | ({"to_lower": True} if kind.startswith("i") else {})


def _pattern(kind: str, texts: list[str], *, is_negated: bool) -> JsonDict | None:
    text = _PATTERNS[kind](texts)
    if is_negated:
        text = rf"\A(?!{text})" if kind in _ANCHORED else rf"\A(?![\s\S]*{text})"
    try:
        re.compile(text)
    except re.error:
        return None
    return {"content": {"content": text, "regex": True}}


def _wanted(kind: str, value: object, variables: JsonObject) -> list[str]:
    """Return the texts of an assertion with its variables filled in; none where it names code or a file."""
    entries = value if isinstance(value, list) else [value]
    if kind.endswith(("-any", "-all")) and isinstance(value, str):
        entries = [entry.strip() for entry in value.split(",")]
    elif isinstance(value, list) and not kind.endswith(("-any", "-all")):
        return []
    given = [as_text(entry) for entry in entries if isinstance(entry, str | int | float)]
    texts = [_VARIABLE.sub(lambda match: as_text(variables.get(match[1], match[0])), text) for text in given]
    is_plain = all(text and "{{" not in text and "{%" not in text and not text.startswith("file://") for text in texts)
    return texts if is_plain and len(texts) == len(entries) else []


def _any(texts: list[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, texts))})"


def _all(texts: list[str]) -> str:
    return r"\A" + "".join(rf"(?=[\s\S]*{re.escape(text)})" for text in texts)


_JSON: Mapping[str, str] = {"is-json": "whole", "contains-json": "part"}  # without a schema, which no rule has
_LITERAL = frozenset({"contains", "contains-any", "contains-all", "icontains", "icontains-any", "icontains-all"})
_ANCHORED = frozenset({"equals", "starts-with", "contains-all", "icontains-all"})
_PATTERNS: Mapping[str, Callable[[list[str]], str]] = {
    "equals": lambda texts: rf"\A{re.escape(texts[0])}\Z",
    "starts-with": lambda texts: rf"\A{re.escape(texts[0])}",
    "contains": _any,
    "contains-any": _any,
    "contains-all": _all,
    "icontains": lambda texts: f"(?i:{_any(texts)})",
    "icontains-any": lambda texts: f"(?i:{_any(texts)})",
    "icontains-all": lambda texts: f"(?i:{_all(texts)})",
    "regex": lambda texts: f"(?:{texts[0]})",
}


SHARE = (0, 1)
JUDGES = frozenset(
    {"llm-rubric", "g-eval", "factuality", "answer-relevance", "select-best", "agent-rubric", "search-rubric"}
    | {"context-faithfulness", "context-recall", "context-relevance", "conversation-relevance"}
    | {"trajectory:goal-success"}
)
WHOLE = "promptfoo"  # the grader of a row's own score: the weighted mean of its assertions
_RESULT_LISTS = ("results.results", "results", "results.table.body")
_UNREAD = ("could not extract json", "malformed response")  # of grader's replies, in logs without `graderError`
_ERROR = 2  # a failureReason
_OUTPUT_TEXT = re.compile(r"\[(PASS|FAIL|ERROR)\] ?(?:\([\d.]+\) )?")
Rows = Callable[[], Iterator[tuple[str, JsonDict]]]


def _is_row(value: object) -> bool:
    if not isinstance(value, dict) or "prompt" not in value or not isinstance(value.get("vars"), dict):
        return False
    is_named = "provider" in value or at(value, "prompt.display") is not None  # else the display may name it
    return is_named and ("success" in value or "gradingResult" in value)


def _list_of(part: Part) -> str:
    """Return the path of a document's results; empty where it has none."""
    for path in _RESULT_LISTS:
        first = next(part.items(path), None) if isinstance(at(part.document, path), list) else None
        if first is not None and (_is_row(first[1]) or (path.endswith("body") and at(first[1], "outputs") is not None)):
            return path
    return ""


@_promptfoo(
    "promptfoo-json",
    "promptfoo: results (JSON)",
    lambda part: part.form is Form.DOCUMENT and bool(_list_of(part)),
    "`results` with `vars`, `provider` and `gradingResult`",
)
def _read_document(part: Part, collector: Collector, upload: UploadParts) -> None:
    path, document = _list_of(part), part.document
    heads = objects(at(document, "results.prompts")) or objects(document.get("prompts"))
    if path.endswith("body"):
        head: JsonObject = at(document, "results.table.head")  # type: ignore[assignment]
        heads = objects(at(head, "prompts"))

    def rows() -> Iterator[tuple[str, JsonDict]]:
        for number, (at_, entry) in enumerate(part.items(path)):
            if isinstance(entry, dict):
                yield from ((at_, row) for row in (_of_table(number, entry, head) if "outputs" in entry else [entry]))

    version = first_text(at(document, "metadata.promptfooVersion"))
    name = first_text(at(document, "config.description"), document.get("evalId"))
    time = first_text(at(document, "results.timestamp"), document.get("timestamp"))
    collector.log(LogRecord(part.file, "promptfoo", version, name, time))
    _Results(part, collector, upload, rows, heads).read()


def _of_table(number: int, entry: JsonObject, head: JsonObject) -> Iterator[JsonDict]:
    """Yield the rows of version 2's table, where a text may have the reason of a failure before it."""
    names = [as_text(name) for name in head.get("vars") or ()]
    heads = objects(head.get("prompts"))
    for place, output in enumerate(objects(entry.get("outputs"))):
        text = as_text(output.get("text"))
        if output.get("pass") is False:
            text = text.rpartition("\n---\n")[2]
        known = heads[place] if place < len(heads) else {}
        yield output | {
            "testIdx": number,
            "promptIdx": place,
            "vars": dict(zip(names, entry.get("vars") or (), strict=False)),
            "testCase": entry.get("test"),
            "prompt": {"raw": as_text(output.get("prompt")), "label": first_text(known.get("label"), known.get("raw"))},
            "provider": output.get("provider") or known.get("provider"),
            "response": {"output": text},
        }


@_promptfoo(
    "promptfoo-jsonl",
    "promptfoo: results (JSON Lines)",
    lambda part: part.is_records and bool(part.sample) and all(_is_row(row.fields) for row in part.sample),
    "rows with `vars`, `prompt`, `provider` and `success`",
)
def _read_rows(part: Part, collector: Collector, upload: UploadParts) -> None:
    collector.log(LogRecord(part.file, "promptfoo", name=part.stem))
    _Results(part, collector, upload, lambda: ((row.at, row.fields) for row in part.rows()), []).read()


@dataclass(slots=True)
class _Results:
    """Results, which are gone through twice: repeated tests have the same variables, and are attempts."""

    part: Part
    collector: Collector
    upload: UploadParts
    rows: Rows
    heads: list[JsonDict]
    tests: dict[str, list[int]] = field(default_factory=dict)  # variables -> numbers of their tests, in order
    columns: dict[object, tuple[str, str]] = field(default_factory=dict)  # promptIdx -> provider, label of the prompt
    systems: dict[object, str] = field(default_factory=dict)

    def read(self) -> None:
        has_variables = False
        for _, row in self.rows():
            has_variables = has_variables or bool(row["vars"])
            number = as_count(row.get("testIdx"))
            numbers = self.tests.setdefault(self._variables(row), [])
            if number is not None and number not in numbers:
                numbers.append(number)
            label = first_text(at(row, "prompt.label"), _displayed(row)[1], at(row, "prompt.raw"))
            self.columns.setdefault(self._column(row), (self._provider(row), label))
        for numbers in self.tests.values():
            numbers.sort()
        self.systems = _system_names(self.columns, is_named=has_variables)
        for at_, row in self.rows():
            place = self.part.place(at_)
            store(ToolRow(self.part, self.collector, self.upload, place, row), self._told(place, row))

    def _column(self, row: JsonObject) -> object:
        number = as_count(row.get("promptIdx"))
        return number if number is not None else (self._provider(row), at(row, "prompt.label") or _displayed(row)[1])

    def _provider(self, row: JsonObject) -> str:
        number = as_count(row.get("promptIdx"))
        head: JsonObject = self.heads[number] if number is not None and number < len(self.heads) else {}
        given = row.get("provider")
        own = (given.get("label"), given.get("id")) if isinstance(given, dict) else (given,)
        return first_text(*own, head.get("provider"), _displayed(row)[0])

    @staticmethod
    def _variables(row: JsonObject) -> str:
        return json.dumps(row["vars"] or as_text(at(row, "prompt.raw")), sort_keys=True, default=str)

    def _told(self, place: Place, row: JsonObject) -> Told:
        """Return what a row tells."""
        key = self._variables(row)
        numbers, number = self.tests[key], as_count(row.get("testIdx"))
        is_shared = not row["vars"] and len(self.tests) > 1  # prompts without variables: each is a case, of one test
        counted = list(self.tests).index(key) if not numbers and not is_shared else None
        id_ = "" if is_shared else str(numbers[0] if numbers else counted)
        system, why = self.systems[self._column(row)], _failure(row)
        if why:
            what = f"test {as_text(row.get('testIdx')) or id_}, {system}"
            return Told(_case(row, id_), [Reply(ResponseRecord(what), failure=why)])
        is_repeated = len(numbers) > 1 and not is_shared
        attempt = numbers.index(number) if number is not None and is_repeated else None
        return Told(_case(row, id_), [Reply(_response(row, system, attempt), _scores(self.collector, place, row))])


def _displayed(row: JsonObject) -> tuple[str, str]:
    """Return the provider and the label of the prompt that older versions show as "[provider] label"."""
    shown = as_text(at(row, "prompt.display"))
    match = _HEADER.fullmatch(shown)
    return (match[1], match[2]) if match else ("", shown)


def _system_names(columns: dict[object, tuple[str, str]], *, is_named: bool) -> dict[object, str]:
    """Return a name for each column: its provider, with the prompt's label where there are several prompts."""
    labels = list(dict.fromkeys(label for _, label in columns.values()))
    names: dict[object, str] = {}
    used: dict[str, Counter[str]] = {}  # by label
    for column, (provider, label) in sorted(columns.items(), key=lambda entry: str(entry[0]).zfill(9)):
        name = provider
        if is_named and len(labels) > 1:
            name = f"{provider} ({label})" if label else provider
            if len(name) > SYSTEM_LIMIT:
                name = f"{provider} (prompt {labels.index(label) + 1})"
        names[column] = numbered(name, used.setdefault(label, Counter()))
    return names


def asked(variables: JsonObject) -> str:
    """Return what a test asks: the one variable, or each by its name."""
    if len(variables) == 1:
        return as_text(next(iter(variables.values())))
    return "\n".join(f"{name}: {as_text(value)}" for name, value in variables.items())


def _case(row: JsonObject, id_: str) -> CaseRecord:
    test = object_of(row.get("testCase"))
    own = object_of(test.get("metadata"))
    found = {
        **{name: value for name, value in own.items() if not name.startswith("_")},
        "description": first_text(test.get("description"), row.get("description")),
        "vars": row["vars"] if len(row["vars"]) > 1 else None,
    }
    return CaseRecord(key=id_, prompt=asked(row["vars"]) or as_text(at(row, "prompt.raw")), metadata=details(found, ()))


def _failure(row: JsonObject) -> str:
    """Return why a row has no response; a failed assertion is no failure of the response."""
    output = at(row, "response.output")
    why = first_text(at(row, "response.error"), row.get("error"))
    if as_count(row.get("failureReason")) == _ERROR:
        return why or "error"
    return "" if output is not None else why or "the response has no output"


def _response(row: JsonObject, system: str, attempt: int | None) -> ResponseRecord:
    reply: JsonObject = row["response"]
    latency = as_number(row.get("latencyMs"))
    cost = as_number(reply.get("cost")) or as_number(row.get("cost"))
    kept = {
        "rendered_prompt": as_text(at(row, "prompt.raw")),
        "cost": cost or None,
        "provider": at(row, "provider.id") if at(row, "provider.id") != system else None,
    }
    return ResponseRecord(
        system=system,
        text=as_text(reply["output"]),
        attempt=attempt,
        row_id=as_text(row.get("id")),
        stop=as_text(reply.get("finishReason")),
        seconds=latency / 1000 if latency is not None else None,
        completion_tokens=as_count(at(reply, "tokenUsage.completion")),
        metadata=details(kept, ()),
    )


def _scores(collector: Collector, place: Place, row: JsonObject) -> Iterator[Said]:
    grading = object_of(row.get("gradingResult"))
    reason = as_text(grading.get("reason"))
    if reason != "No assertions":
        yield Score(
            WHOLE, as_number(row["score"] if row.get("score") is not None else grading.get("score")), SHARE, reason
        )
    used: Counter[str] = Counter({WHOLE: 1})
    for result in objects(grading.get("componentResults")):
        if isinstance(result.get("assertion"), dict):
            yield _assertion(result, used)
        else:
            collector.leave_out("score", "the sum of a set of assertions, each of which is stored", place)
    named = object_of(row.get("namedScores"))
    for name in named.keys() - used.keys():
        yield Score(name, as_number(named[name]), SHARE)


def _assertion(result: JsonObject, used: Counter[str]) -> Said:
    assertion: JsonObject = result["assertion"]
    kind = as_text(assertion.get("type"))
    name = first_text(assertion.get("metric")) or kind or "assertion"
    value, reason = as_number(result.get("score")), as_text(result.get("reason"))
    kept = details({"type": kind if name != kind else "", "value": assertion.get("value")}, ())
    is_unread = at(result, "metadata.graderError") is True or any(word in reason.lower() for word in _UNREAD)
    is_asking = is_judge(kind)
    return judged(is_asking, numbered(name, used), None if is_asking and is_unread else value, SHARE, reason, kept)


def is_judge(kind: str) -> bool:
    """Return whether an assertion asks a model."""
    kind = kind.removeprefix("not-")
    return kind in JUDGES or kind.startswith("model-graded-")


@dataclass(slots=True)
class _ProviderBlock:
    """The columns of one provider; those of its status stand to the right of its texts."""

    column: str
    provider: str
    label: str
    status: str = ""
    score: str = ""
    reason: str = ""
    comment: str = ""
    named: str = ""
    metrics: dict[str, str] = field(default_factory=dict)  # column -> metric


_HEADER = re.compile(r"\[([^\]]+)\] ?(.*)", re.DOTALL)
_BESIDE = {"Status": "status", "Score": "score", "Grader Reason": "reason", "Comment": "comment"}
_BESIDE |= {"Named Scores": "named"}


def _blocks(part: Part) -> tuple[list[str], list[_ProviderBlock]]:
    """Return the columns of variables, and the blocks of providers to their right."""
    variables: list[str] = []
    blocks: list[_ProviderBlock] = []
    for column in part.columns:
        name = re.sub(r" \(\d+\)$", "", column)
        match = _HEADER.fullmatch(column)
        if match:
            blocks.append(_ProviderBlock(column, match[1], match[2]))
        elif not blocks:
            variables.append(column)
        elif name in _BESIDE and not getattr(blocks[-1], _BESIDE[name]):
            setattr(blocks[-1], _BESIDE[name], column)
        elif name.startswith("Metric: "):
            blocks[-1].metrics[column] = name.removeprefix("Metric: ")
    return variables, blocks


def _is_csv(part: Part) -> bool:
    if not part.is_cells:
        return False
    variables, blocks = _blocks(part)
    if not blocks or not variables or any(re.sub(r" \(\d+\)$", "", name) in _BESIDE for name in variables):
        return False
    texts = [as_text(row.fields.get(blocks[0].column)) for row in part.sample]
    return bool(blocks[0].status) or (bool(texts) and all(map(_OUTPUT_TEXT.match, texts)))


@_promptfoo(
    "promptfoo-csv",
    "promptfoo: results (CSV)",
    _is_csv,
    "headers `[provider] prompt` with Status and Score to their right",
    comes="Tests as cases, the outputs of each provider, their scores and reasons.",
    stays="Single assertions are in the JSON results alone; empty cells are no responses.",
)
def _read_csv(part: Part, collector: Collector, upload: UploadParts) -> None:
    variables, blocks = _blocks(part)
    collector.log(LogRecord(part.file, "promptfoo", name=part.stem))
    has_description = variables[0] == "Description" and len(variables) > 1
    names = variables[1:] if has_description else variables
    systems = _system_names({place: (b.provider, b.label) for place, b in enumerate(blocks)}, is_named=True)

    def read(row: ToolRow) -> Told:
        given = {name: row.fields.get(name, "") for name in names}
        kept = {"description": row.fields.get("Description") if has_description else ""}
        kept |= {"vars": given} if len(given) > 1 else {}
        replies = [_block_reply(row, block, systems[number]) for number, block in enumerate(blocks)]
        case = CaseRecord(prompt=asked(given), metadata=details(kept, ()))
        return Told(case, [reply for reply in replies if reply is not None])

    read_rows(part, collector, upload, read)


def _block_reply(row: ToolRow, block: _ProviderBlock, system: str) -> Reply | None:
    """Return the response of a provider; None where its cell is empty."""
    fields, place = row.fields, row.place
    text, status, reason = _cells(block, fields)
    if status == "ERROR":
        why = first_text(reason, text) or "ERROR"
        return Reply(ResponseRecord(f"{place.at}, {system}"), failure=why)
    if not text:
        if status:
            row.collector.leave_out("response", f"{place.at}, {system}: the cell is empty", place)
            row.collector.warn("null-response", place, system)
        return None
    value = as_number(fields.get(block.score)) if block.score else {"PASS": 1.0, "FAIL": 0.0}.get(status)
    kept = details({"comment": fields.get(block.comment)}, ())
    said = [Score(WHOLE, value, SHARE, reason, metadata=kept)] if reason != "No assertions" else []
    named = parsed(fields.get(block.named))
    scores = dict(object_of(named))
    scores |= {name: fields.get(column) for column, name in block.metrics.items() if fields.get(column)}
    said += [Score(name, as_number(score), SHARE) for name, score in scores.items()]
    return Reply(ResponseRecord(system, text), said)


def _cells(block: _ProviderBlock, fields: JsonObject) -> tuple[str, str, str]:
    """Return text, status and reason; older versions wrote all three into one cell."""
    text = as_text(fields.get(block.column))
    match = _OUTPUT_TEXT.match(text) if not block.status else None
    if match is None:
        return text, as_text(fields.get(block.status)), as_text(fields.get(block.reason))
    reason, line, rest = text[match.end() :].partition("\n---\n")
    return (rest, match[1], reason) if line and match[1] == "FAIL" else (text[match.end() :], match[1], "")


def _is_config(part: Part) -> bool:
    document = part.document
    if part.form is not Form.DOCUMENT or not any(document.get(name) for name in ("prompts", "providers", "targets")):
        return False
    tests = (test for _, test in _tests(part))
    return any(isinstance(test, dict) and ("vars" in test or "assert" in test) for test in tests) and not _list_of(part)


def _tests(part: Part) -> Iterator[tuple[str, object]]:
    listed = part.document.get("tests")
    if isinstance(listed, list) and listed:
        return ((f"tests[{number}]", test) for number, test in enumerate(listed))
    return part.items("tests")


@_promptfoo(
    "promptfoo-config",
    "promptfoo: configuration with tests",
    _is_config,
    "`tests` with `vars` or `assert`, beside `prompts` or `providers`",
    CASES,
    export="Bring promptfooconfig.yaml (or .json) with its tests in it.",
    comes="Tests as cases; contains, equals, regex and starts-with assertions as their rules.",
    stays="Providers, templates, judges and assertions that run code are named, and not set up.",
)
def _read_config(part: Part, collector: Collector, upload: UploadParts) -> None:
    document = part.document
    shared = object_of(document.get("defaultTest"))
    for name, why in _NOT_SET_UP.items():
        if document.get(name):
            collector.leave_out(name, why, part.place(name))
    given = objects(shared.get("assert"))
    rules = _rules(collector, part.place("defaultTest"), given, {})
    number = 0
    for at_, test in _tests(part):
        place = part.place(at_)
        if not isinstance(test, dict):
            collector.leave_out("tests", "they are in another file", place)
            continue
        own = objects(test.get("assert"))
        has_shared = at(test, "options.disableDefaultAsserts") is not True
        for combination, variables in enumerate(_combinations({**_variables(shared), **_variables(test)})):
            found = (rules if has_shared else []) + _rules(None if combination else collector, place, own, variables)
            own_data = object_of(test.get("metadata"))
            kept = details({**own_data, "description": test.get("description")}, ())
            grading = {"keywords": found} if found else {}
            collector.case(place, CaseRecord(str(number), asked(variables), metadata=kept, grading=grading))
            number += 1


_EXPECTED = re.compile(r"__expected\d*")
_TYPED = re.compile(r"((?:not-)?([a-z][a-z-]*))(?:\([\d.]+\))?\s*(?::(.*))?", re.DOTALL)


def _is_tests(part: Part) -> bool:
    variables = [name for name in part.columns if name and not name.startswith("__")]
    is_table = part.is_cells and any(map(_EXPECTED.fullmatch, part.columns))
    return is_table and bool(variables) and set(ID_COLUMNS).isdisjoint(variables)


@_promptfoo(
    "promptfoo-tests",
    "promptfoo: tests (CSV)",
    _is_tests,
    "`__expected` beside variables, without a column of ids",
    CASES,
    export="Bring the table that `tests` of the configuration names.",
    comes="Tests as cases; what is expected as the reference answer, or as the rule that it says.",
    stays="Assertions that ask a model or run code are named, and not set up.",
)
def _read_tests(part: Part, collector: Collector, upload: UploadParts) -> None:
    for name in part.columns:
        if name.startswith("__") and not (_EXPECTED.fullmatch(name) or _kept_as(name)):
            collector.leave_out("column", f"{name}: it sets up promptfoo", part.place())
    for number, (place, fields) in enumerate(part.placed()):
        given = {name: value for name, value in fields.items() if value not in (None, "")}
        variables = {name: value for name, value in given.items() if not name.startswith("__")}
        if not variables:
            collector.bad_row(place, "The test has no variables.")
            continue
        assertions = [_written(as_text(value)) for name, value in given.items() if _EXPECTED.fullmatch(name)]
        rules = _rules(collector, place, assertions, variables)
        references = [as_text(wanted["value"]) for wanted in assertions if wanted["type"] == "equals"]
        grading = {"keywords": rules} if rules else {}
        kept = {kept_as: value for name, value in given.items() if (kept_as := _kept_as(name))}
        row = CaseRecord(str(number), asked(variables), references=references, metadata=kept, grading=grading)
        collector.case(place, row)


def _kept_as(name: str) -> str:
    """Return the detail that a column of promptfoo's own is; empty for none."""
    return "description" if name == "__description" else name.partition("__metadata:")[2].removesuffix("[]")


def _written(text: str) -> JsonDict:
    """Return the assertion that a cell writes as `type: value`; a text alone is what the output equals."""
    match = _TYPED.fullmatch(text.strip())
    known = _PATTERNS.keys() | _JSON.keys() | RATED_CHECKS | CODE_CHECKS | ALIASES.keys()
    if match is None or not (match[2] in known or is_judge(match[2])) or (match[3] is None and match[2] in _PATTERNS):
        return {"type": "equals", "value": text.strip()}
    return {"type": ALIASES.get(match[1], match[1]), "value": match[3].strip() if match[3] else None}


_NOT_SET_UP = {
    "providers": "promptfoo's providers are not set up here; name the systems under Systems",
    "targets": "promptfoo's targets are not set up here; name the systems under Systems",
    "prompts": "prompt templates belong to systems; the tests' variables are the cases",
    "scenarios": "scenarios are not read; write their tests under `tests`",
}


def _variables(test: JsonObject) -> JsonDict:
    return dict(object_of(test.get("vars")))


def _combinations(variables: JsonDict) -> Iterator[JsonDict]:
    """Yield the tests of one entry: a list of texts as a variable is a test for each."""
    choices = [
        value if isinstance(value, list) and value and isinstance(value[0], str) else [value]
        for value in variables.values()
    ]
    for values in product(*choices):
        yield dict(zip(variables, values, strict=True))


def _rules(
    collector: Collector | None, place: Place, assertions: list[JsonDict], variables: JsonObject
) -> list[JsonDict]:
    """Return the assertions that can be carried out here as rules; the others are named, once for each test."""
    rules: list[JsonDict] = []
    for assertion in assertions:
        kind = as_text(assertion.get("type"))
        rule = keyword_rule(kind, assertion, variables)
        if rule is not None:
            rules.append(rule)
            continue
        if collector is None:
            continue
        why = (
            f"{kind} is a judge, not a rule: set up a judge with this text" if is_judge(kind) else f"{kind} is no rule"
        )
        collector.leave_out("assertion", why, place)
        collector.warn("assertion-not-carried", place, kind)
    return rules


_LISTS = ("testCases", "conversationalTestCases")
_METRICS = ("metricsData", "metricsMetadata")  # the second one of versions before 1.0
_CASE_DETAILS = ("comments", "tags", "scenario", "userDescription", "expectedTools")
_RESPONSE_DETAILS = ("toolsCalled", "tokenCost", "inputTokenCount", "trace")


def _prefix(part: Part) -> str:
    return "testRunData." if isinstance(part.document.get("testRunData"), dict) else ""


def _is_run(part: Part) -> bool:
    if part.form is not Form.DOCUMENT:
        return False
    firsts = [next(part.items(_prefix(part) + name), ("", None))[1] for name in _LISTS]
    return _has_any(firsts[0], (*_METRICS, "actualOutput")) or _has_any(firsts[1], ("turns", "messages"))


def _has_any(entry: object, names: tuple[str, ...]) -> bool:
    return isinstance(entry, dict) and any(name in entry for name in names)


@Shape(
    "deepeval",
    "DeepEval: test run",
    _is_run,
    "`testCases` with `metricsData` and `actualOutput`, or `conversationalTestCases` with `turns`",
    rank=80,
    export="Bring .deepeval/.latest_test_run.json, or the file that DEEPEVAL_RESULTS_FOLDER receives. Log "
    "hyperparameters with `model`, or name the system when you import.",
    comes="Test cases with their expected output and context, actual outputs, conversations as turns, and metrics: "
    "those with an evaluation model as judges' verdicts with their reasons.",
    stays="Verbose logs, traces of components and costs of the evaluation; a case without an output has none.",
)
def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    run: JsonDict = part.document["testRunData"] if _prefix(part) else part.document
    system = first_text(*(at(run, path) for path in _MODELS)) or upload.options.system
    collector.log(LogRecord(part.file, "DeepEval", name=first_text(run.get("identifier"), run.get("testFile"))))
    if not system:
        collector.findings.file = part.file
        message = "The test run does not say which model responded (hyperparameters.model)."
        hints = {"hint": "Name it: --system NAME.", "page_hint": "Name it under System."}
        collector.findings.error("", "no-system", message, **hints)
        return
    names = Counter(as_text(case.get("name")) for _, case in _cases(part))
    repeated = {name for name, count in names.items() if count > 1}
    for at_, case in _cases(part):
        place = part.place(at_)
        told = _test_case(collector, place, case, system, is_repeated=as_text(case.get("name")) in repeated)
        store(ToolRow(part, collector, upload, place, case), told)


_MODELS = ("hyperparameters.model", "hyperparameters.model.name", "hyperparameters.Model", "configurations.model")


def _cases(part: Part) -> Iterator[tuple[str, JsonDict]]:
    for name in _LISTS:
        for at_, case in part.items(_prefix(part) + name):
            if isinstance(case, dict):
                yield at_, case


def _test_case(collector: Collector, place: Place, case: JsonDict, system: str, *, is_repeated: bool) -> Told:
    """Return what a test case tells."""
    name = as_text(case.get("name"))
    own = case["metadata"] if isinstance(case.get("metadata"), dict) else case.get("additionalMetadata")
    kept = details({key: case.get(key) for key in _CASE_DETAILS} | object_of(own), ())
    turns = _turns(case)
    row = CaseRecord(
        key="" if is_repeated else name,
        prompt=as_text(case.get("input")) if not turns else "",
        messages=[turn for turn in turns if role_of(turn) == "user"],
        references=references(case.get("expectedOutput", case.get("expectedOutcome"))),
        context=list(dict.fromkeys(texts(case.get("context")) + texts(case.get("retrievalContext")))),
        metadata=kept | ({"name": name} if is_repeated else {}),
    )
    metrics: list[JsonDict] = next((objects(case[name]) for name in _METRICS if case.get(name)), [])
    reply = _reply(system, case, turns)
    if reply is None:
        for metric in metrics:
            why = f"{as_text(metric.get('name'))} of {name}, which has no response"
            collector.leave_out("score", why, place)
        return Told(row, [Reply(ResponseRecord(name), failure="there is no actualOutput")])
    used: Counter[str] = Counter()
    named = [metric for metric in metrics if metric.get("name") or metric.get("metric")]
    for _ in metrics[len(named) :]:
        collector.leave_out("score", f"a metric of {name} without a name", place)
        collector.warn("unscored", place, "a metric without a name")
    return Told(row, [Reply(reply, [_metric(metric, used) for metric in named])])


def _turns(case: JsonObject) -> list[RowMessage]:
    """Return the turns of a conversation; older versions had a test case for each exchange."""
    turns: list[RowMessage] = []
    for turn in objects(case.get("turns")) or objects(case.get("messages")):
        if "role" in turn:
            turns.append({"role": turn["role"], "content": as_text(turn.get("content"))})
            continue
        turns.append({"role": "user", "content": as_text(turn.get("input"))})
        if turn.get("actualOutput") is not None:
            turns.append({"role": "assistant", "content": as_text(turn["actualOutput"])})
    return turns


def _reply(system: str, case: JsonObject, turns: list[RowMessage]) -> ResponseRecord | None:
    """Return what the system responded: a text, or the whole conversation; None where there is nothing."""
    output = case.get("actualOutput")
    replies = [turn for turn in turns if role_of(turn) == "assistant"]
    if not replies and output is None:
        return None
    is_whole = len(turns) > 2
    return ResponseRecord(
        system=system,
        text="" if is_whole else as_text(replies[0]["content"] if replies else output),
        messages=turns if is_whole else None,
        seconds=as_number(case.get("completionTime")),
        completion_tokens=as_count(case.get("outputTokenCount")),
        metadata=details({key: case.get(key) for key in _RESPONSE_DETAILS}, ()),
    )


def _metric(metric: JsonObject, used: Counter[str]) -> Said:
    name = numbered(first_text(metric.get("name"), metric.get("metric")), used)
    model = first_text(metric.get("evaluationModel"))
    threshold = metric.get("threshold", metric.get("minimumScore"))
    kept = details({"threshold": threshold, "success": metric.get("success"), "judge_model": model}, ())
    reason = first_text(metric.get("reason"), metric.get("error"))
    return judged(bool(model), name, as_number(metric.get("score")), (0, 1), reason, kept)
