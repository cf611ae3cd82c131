"""lm-evaluation-harness: `samples_*.jsonl`, with the `results_*.json` beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.names import Holds
from judging.specs.records.neutral import CaseInput, LogRecord, Place, ResponseRow, ScoreRecord
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import COMPANION, Shape
from judging.specs.records.tool_rows import share, system_of
from judging.specs.records.tools.people.items import named
from judging.specs.records.values import (
    as_count,
    as_id,
    as_number,
    as_text,
    at,
    content_text,
    details,
    first_text,
    is_messages,
    objects,
    parsed,
    references,
    role_of,
    texts,
)

_KEYS = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"})
_HASHES = frozenset({"doc_hash", "prompt_hash", "target_hash"})
_FILE = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)$")
_FEWEST_WORDS = 3  # of a text that may be what a document asks
_MADE_NAME = re.compile(r"[a-z0-9]{8}")  # of a model that has no name


def _is_samples(part: Part) -> bool:
    keys = part.keys_of_all()
    return part.form is Form.ROWS and {"doc_id", "doc"} <= keys and bool({"resps", "filtered_resps"} & keys)


def _is_results(part: Part) -> bool:
    document = part.document
    if part.form is not Form.DOCUMENT or not isinstance(document.get("results"), dict):
        return False
    is_run = any(name in document for name in ("versions", "n-shot", "model_name", "lm_eval_version"))
    return is_run and isinstance(document.get("config"), dict)


@dataclass(slots=True)
class _Doc:
    """The responses to one document, and how often it stood in the file: once for each filter."""

    responses: list[int]
    seen: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Samples:
    """The samples of one task."""

    part: Part
    collector: Collector
    system: str
    task: str
    is_one_task: bool
    filters: list[str]  # in the order of the file; empty where its rows do not name them
    named_filters: list[str]  # of the results file
    docs: dict[str, _Doc] = field(default_factory=dict)


_EXPORT = (
    "Run lm_eval with --log_samples and --output_path, and bring that folder: samples_*.jsonl with results_*.json."
)
RESULTS = Shape(
    "lm-eval-results",
    "lm-evaluation-harness: results",
    _is_results,
    "`results` beside `config` and `versions`",
    COMPANION,
    rank=80,
    belongs_to="samples_*.jsonl of the same run",
    export=_EXPORT,
    comes="The name of the model, for the samples beside it.",
    stays="Means of tasks; without the samples nothing can be stored.",
)


@Shape(
    "lm-eval",
    "lm-evaluation-harness: samples",
    _is_samples,
    "rows with `doc_id`, `doc` and `resps`",
    rank=80,
    export=_EXPORT,
    comes="Each document's question, its choices and target; the response of the model, or its likeliest choice; and "
    "every metric, one for each filter.",
    stays="Few-shot texts are details of responses; means of tasks are computed here again.",
)
def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    results = _results_of(part, upload)
    tasks = {_task(other) for other in upload.parts if _is_samples(other)}
    filters = list(dict.fromkeys(as_text(row.fields["filter"]) for row in part.rows() if row.fields.get("filter")))
    date = as_number(results.get("date"))
    time = datetime.fromtimestamp(date, UTC).isoformat(timespec="seconds") if date and 0 < date < 1e10 else ""
    collector.log(
        LogRecord(part.file, "lm-evaluation-harness", as_text(results.get("lm_eval_version")), _task(part), time)
    )
    samples = _Samples(
        part,
        collector,
        system=_system(part, collector, results),
        task=_task(part),
        is_one_task=len(tasks) == 1,
        filters=filters,
        named_filters=_filters_of(results, _task(part)),
    )
    for row in part.rows():
        _read_row(samples, part.place(row.at), row.fields)


def _task(part: Part) -> str:
    match = _FILE.match(part.stem)
    return match["task"] if match else part.stem


def _results_of(part: Part, upload: UploadParts) -> JsonObject:
    """Return the results file of the same run: of the same date, else the one that stands in the folder."""
    beside = [other for other in upload.beside(part) if _is_results(other)]
    match = _FILE.match(part.stem)
    same = [other for other in beside if match and other.stem.endswith(match["date"])]
    found = same or (beside if len(beside) == 1 else [])
    return found[0].document if found else {}


def _system(part: Part, collector: Collector, results: JsonObject) -> str:
    """Return `model_name` unless the tool made it up, `config.model`, what the person said, or the folder's name."""
    name, model = first_text(results.get("model_name")), first_text(at(results, "config.model"))
    arguments = json.dumps(at(results, "config.model_args"), default=str, ensure_ascii=False)
    if name and not (model and _MADE_NAME.fullmatch(name) and name not in arguments):
        return name
    if model and not name:  # of an adapter, such as hf
        collector.warn_once("system-from-name", part.place(), model)
    found = model or collector.options.system
    folder = part.folder.rpartition("/")[2]
    if not found and folder:
        collector.warn_once("system-from-folder", part.place(), folder)
    return found or folder or system_of(collector, part, "", part.place())


def _filters_of(results: JsonObject, task: str) -> list[str]:
    """Return the filters of a task: its results are named `metric,filter`."""
    scores = at(results, "results")
    found = scores.get(task) if isinstance(scores, dict) else None
    return list(dict.fromkeys(key.partition(",")[2] for key in found if "," in key)) if isinstance(found, dict) else []


def _read_row(samples: _Samples, place: Place, row: JsonObject) -> None:
    id_ = as_id(row.get("doc_id"))
    name = as_text(row.get("filter"))
    doc = samples.docs.get(id_)
    if doc is None or (name and name in doc.seen):
        responses = _respond(samples, place, row, id_)
        doc = samples.docs[id_] = _Doc(responses)
    number = len(doc.seen)
    doc.seen.append(name)
    if not name and number:  # of versions that did not name the filter
        known = samples.named_filters
        name = known[number] if number < len(known) else f"filter {number + 1}"
    elif not name and len(samples.named_filters) > 1:
        name = samples.named_filters[0]
    is_named = bool(name) and (name != "none" or len(samples.filters) > 1)
    for response in doc.responses[:1]:
        _read_scores(samples, place, row, response, f" ({name})" if is_named else "")


def _respond(samples: _Samples, place: Place, row: JsonObject, id_: str) -> list[int]:
    """Return the responses of a sample: one for each repeat, the likeliest choice, or none."""
    doc = row["doc"] if isinstance(row.get("doc"), dict) else {"text": row.get("doc")}
    requests = _requests(row.get("arguments"))
    likelihoods = _likelihoods(row)
    choices = _choices(doc, requests, likelihoods)
    key = id_ if samples.is_one_task else f"{samples.task}/{id_}"
    case = samples.collector.case(place, _case(row, doc, key, choices if likelihoods else []))
    if case is None:
        return []
    replies = _replies(samples, place, row, choices, likelihoods)
    rendered = details({"rendered_prompt": requests[0][0] if requests else ""}, ())
    rows = [ResponseRow(samples.system, text, metadata={**rendered, **kept}) for text, kept in replies]
    numbers = [samples.collector.response(place, case, reply) for reply in rows]
    return [number for number in numbers if number is not None]


def _requests(arguments: object) -> list[list[object]]:
    """Return the arguments of each request: the prompt, and its choice or settings."""
    if isinstance(arguments, dict):
        arguments = [list(entry.values()) if isinstance(entry, dict) else [entry] for entry in arguments.values()]
    found = arguments if isinstance(arguments, list) else []
    return [list(entry) if isinstance(entry, list) else [entry] for entry in found]


def _likelihoods(row: JsonObject) -> list[float]:
    """Return the log-likelihood of each request; none where the responses are texts."""
    found: list[float] = []
    for entry in row["resps"] if isinstance(row.get("resps"), list) else []:
        first = entry[0] if isinstance(entry, list) and entry else entry
        pair = first if isinstance(first, list) else parsed(as_text(first).replace("(", "[").replace(")", "]"))
        value = as_number(pair[0]) if isinstance(pair, list) and len(pair) == 2 else None
        if value is None or str(pair[1]) not in ("True", "False"):  # type: ignore[index]
            return []
        found.append(value)
    return found


def _choices(doc: JsonObject, requests: list[list[object]], likelihoods: list[float]) -> list[str]:
    """Return the texts that the likelihoods are of: the document's choices, else what the requests end with."""
    for name in named(doc, Holds.CHOICES):
        value = parsed(doc[name])
        listed = texts(value["text"] if isinstance(value, dict) and "text" in value else value)
        if len(listed) > 1 and len(likelihoods) in (0, len(listed), 2 * len(listed)):
            return listed
    ends = [as_text(request[1]).strip() for request in requests if len(request) > 1]
    if len(set(ends)) > 1:
        return ends
    return [as_text(request[0]) for request in requests]


def _case(row: JsonObject, doc: JsonObject, key: str, choices: list[str]) -> CaseInput:
    question, name = _question(doc, row.get("arguments"))
    contexts = [other for other in named(doc, Holds.CONTEXT) if other != name]
    found = _references(row, doc, choices)
    passages = [text for other in contexts for text in texts(doc[other])]
    read = {name, *contexts, *named(doc, Holds.CHOICES)}
    kept = {field_: value for field_, value in details(doc, read).items() if as_text(value) not in found}
    return CaseInput(key, question, references=found, context=passages, metadata=kept | _listed(choices))


def _listed(choices: list[str]) -> JsonDict:
    return {"choices": choices} if choices else {}


def _question(doc: JsonObject, arguments: object) -> tuple[str, str]:
    """Return what a document asks, and the field that has it: by its name, else its longest text of several words in
    the prompt, else the prompt itself."""
    for name in named(doc, Holds.PROMPT):
        if isinstance(doc[name], str) and doc[name].strip():
            return doc[name], name
    sent = _sent(_requests(arguments))
    texts_ = [(value, name) for name, value in doc.items() if isinstance(value, str) and value in sent]
    found = [(value, name) for value, name in texts_ if len(value.split()) >= _FEWEST_WORDS]
    return max(found, key=lambda entry: len(entry[0]), default=(sent or as_text(doc.get("text")), ""))


def _sent(requests: list[list[object]]) -> str:
    """Return the prompt of the first request; of turns the last one of the user."""
    value = requests[0][0] if requests and requests[0] else ""
    value = parsed(value[0] if isinstance(value, list) and len(value) == 1 else value)
    if not is_messages(value):
        return as_text(value)
    asked = [turn for turn in objects(value) if role_of(turn) == "user"]
    return content_text(asked[-1].get("content")) if asked else ""


def _references(row: JsonObject, doc: JsonObject, choices: list[str]) -> list[str]:
    """Return the target; where choices are compared it is the place of the right one."""
    target = parsed(row.get("target"))
    if target is None:
        names = [*named(doc, Holds.REFERENCE), *named(doc, Holds.ANSWER)]
        target = next((parsed(doc[name]) for name in names), None)
    if not choices:
        return references(target)
    places = [as_count(entry) for entry in (target if isinstance(target, list) else [target])]
    if all(place is not None and place < len(choices) for place in places):
        return [choices[place] for place in places if place is not None]
    letters = {chr(ord("A") + place): text for place, text in enumerate(choices)}
    return [letters.get(text.strip(), text) for text in references(target)]


def _replies(
    samples: _Samples, place: Place, row: JsonObject, choices: list[str], likelihoods: list[float]
) -> Iterator[tuple[str, JsonDict]]:
    """Yield the texts of a sample, each with its details."""
    if likelihoods:
        compared_ = likelihoods[: len(choices)]
        if len(compared_) < 2:
            samples.collector.leave_out("response", "the likelihood of one text says no response", place)
            return
        samples.collector.warn("choice-from-likelihood", place, samples.task)
        pairs = list(zip(choices, compared_, strict=False))
        yield max(pairs, key=lambda pair: pair[1])[0], {"log_likelihoods": [list(pair) for pair in pairs]}
        return
    given = row.get("resps")
    if given is None:
        samples.collector.failed(place, as_id(row.get("doc_id")), "the row has no resps; filtered ones are no response")
        return
    first = given[0] if isinstance(given, list) and given else given
    repeats = first if isinstance(first, list) else [first]
    for reply in repeats:
        if isinstance(reply, str):
            yield reply, {}
        else:
            samples.collector.leave_out("response", "a likelihood is no text", place)


def _read_scores(samples: _Samples, place: Place, row: JsonObject, response: int, suffix: str) -> None:
    listed = row.get("metrics")
    names = listed if isinstance(listed, list) else [key for key in row if key not in _KEYS | _HASHES]
    filtered = row.get("filtered_resps")
    answer = filtered[0] if isinstance(filtered, list) and len(filtered) == 1 else None
    for name in map(str, names):
        value = row.get(name)
        if isinstance(value, list | dict | str):
            samples.collector.leave_out("score", f"{name} is no number of one response", place)
            continue
        kept = details({"answer": answer if isinstance(answer, str) else None}, ())
        samples.collector.score(
            ScoreRecord(response, name + suffix, as_number(value), share(name, value), metadata=kept, place=place)
        )
