"""Logs of evaluation harnesses: HELM's run folders, and LM Evaluation Harness."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from evalsite.base.types import JsonDict, JsonObject, as_text, objects
from judging.specs.records.collector import Collector
from judging.specs.records.names import Holds
from judging.specs.records.neutral import CaseRecord, LogRecord, Place, ResponseRecord, ScoreRecord
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import (
    CASES,
    COMPANION,
    Reply,
    Shape,
    Stands,
    Told,
    ToolRow,
    read_rows,
    share,
    system_of,
)
from judging.specs.records.tools.annotated_items import named
from judging.specs.records.values import (
    as_count,
    as_id,
    as_number,
    at,
    content_text,
    details,
    first_text,
    is_messages,
    object_of,
    parsed,
    references,
    texts,
)
from judging.specs.turns import role_of

_COUNTS = ("num_", "predicted_index")  # the second one is the place of a choice
_ABOUT_THE_CALL = (*_COUNTS, "finish_reason_", "inference_", "training_", "batch_size", "prompt_truncated", "max_prob")


_helm = partial(
    Shape,
    rank=80,
    export="Bring the run's folder below benchmark_output/runs, with its instances, predictions and run_spec.json.",
    comes="Instances with their references and choices, predictions of every trial, and each instance's statistics.",
    stays="Counts (num_*) are details; means of the run are computed here again.",
)
_companion = partial(
    Shape,
    stage=COMPANION,
    rank=80,
    belongs_to="instances.json with display_predictions.json, or scenario_state.json, of the same run's folder",
)


def _has(part: Part, *names: str) -> bool:
    return part.is_records and set(names) <= part.keys_of_all()


def _describes(part: Part, *names: str) -> bool:
    return part.form is Form.DOCUMENT and set(names) <= part.document.keys()


def _is_instances(part: Part) -> bool:
    if not _has(part, "input", "references", "id"):
        return False
    given = [entry for row in part.sample for entry in objects(row.fields["references"])]
    return bool(given) and all("output" in entry and "tags" in entry for entry in given)


def _is_predictions(part: Part) -> bool:
    return _has(part, "instance_id", "predicted_text")


def _is_state(part: Part) -> bool:
    return _describes(part, "adapter_spec", "request_states")


def _is_run_spec(part: Part) -> bool:
    return _describes(part, "adapter_spec", "scenario_spec") and not _is_state(part)


def _is_instance_stats(part: Part) -> bool:
    return _has(part, "instance_id", "stats") and not _is_predictions(part)


def _is_beside(part: Part) -> bool:
    """Return whether a part is another file of a run folder: means, requests, or the scenario's description."""
    is_means = _has(part, "name", "count", "sum") and isinstance(part.sample[0].fields["name"], dict)
    is_requests = _has(part, "instance_id", "request") and not _is_predictions(part)
    return is_means or is_requests or _describes(part, "definition_path", "description", "tags")


def _system_of_run(part: Part, collector: Collector, upload: UploadParts) -> str:
    """Note whose log a run is, and return the system that responded."""
    specs = [other.document for other in upload.beside(part) if _is_run_spec(other)]
    spec: JsonObject = specs[0] if specs else part.document
    collector.log(LogRecord(part.file, "HELM", name=first_text(spec.get("name"), part.folder.rpartition("/")[2])))
    name = first_text(at(spec, "adapter_spec.model"), at(spec, "adapter_spec.model_deployment"))
    system = name or collector.options.system
    folder = part.folder.rpartition("/")[2].rpartition("model=")[2].partition(",")[0]
    if not system and folder:
        collector.warn_once("system-from-folder", part.place(), folder)
    return system or folder or system_of(collector, part, "", part.place())


@_helm(
    "helm-instances", "HELM: instances", _is_instances, "rows with `input`, `id` and `references` with `tags`", CASES
).rows
def instances(row: ToolRow) -> Told:
    """Return an instance."""
    return Told(_case(row.collector, row.place, row.fields))


def _case(collector: Collector, place: Place, instance: JsonObject) -> CaseRecord:
    outputs = [(_text(entry.get("output")), entry.get("tags")) for entry in objects(instance.get("references"))]
    right = [text for text, tags in outputs if isinstance(tags, list) and "correct" in tags]
    asked, media = instance.get("input"), objects(at(instance, "input.multimedia_content.media_objects"))
    lines = [_text(asked), *(as_text(entry.get("text")) for entry in media)]
    for entry in media:
        if not entry.get("text"):
            collector.leave_out("image", "HELM names a file of its own server", place)
    kept = details(instance, ("input", "references", "id", "perturbation", "contrast_inputs", "contrast_references"))
    if len(outputs) > 1:
        kept["choices"] = [text for text, _ in outputs]
    return CaseRecord(
        key=_key(instance.get("id"), instance.get("perturbation")),
        prompt="\n".join(line for line in lines if line),
        references=list(dict.fromkeys(right)),
        metadata=kept,
    )


def _text(value: object) -> str:
    """Return the text of an input or output; older versions wrote it as it is."""
    return as_text(value.get("text")) if isinstance(value, dict) else as_text(value)


def _key(id_: object, perturbation: object) -> str:
    """Return an instance's id; with the perturbation's name where its input was changed by one."""
    name = as_text(perturbation.get("name")) if isinstance(perturbation, dict) else ""
    is_changed = bool(name) and name != "identity"
    return f"{as_id(id_)}/{name}" if is_changed else as_id(id_)


@_helm("helm-predictions", "HELM: predictions", _is_predictions, "rows with `instance_id` and `predicted_text`")
def predictions(part: Part, collector: Collector, upload: UploadParts) -> None:
    """Read what was predicted, with the statistics of each instance."""
    system = _system_of_run(part, collector, upload)
    read_rows(part, collector, upload, lambda row: _prediction(row, system))


def _prediction(row: ToolRow, system: str) -> Told:
    key = _key(row.get("instance_id"), row.get("perturbation"))
    text = row.fields.get("truncated_predicted_text")  # without the prompt, where the model repeats it
    text = row.fields.get("predicted_text") if text is None else text
    if text is None:
        failed = Reply(ResponseRecord(key), failure="there is no predicted_text")
        return Told(CaseRecord(key), [failed], stands=Stands.ELSEWHERE)
    stats = row.fields_of("stats")
    kept = {name: row.get(name) for name in ("mapped_output", "annotations")}
    kept |= {name: value for name, value in stats.items() if name.startswith(_COUNTS)}
    trial = as_count(row.get("train_trial_index"))
    scores = [_score(name, value) for name, value in stats.items() if not name.startswith(_COUNTS)]
    reply = ResponseRecord(system, as_text(text), attempt=trial, metadata=details(kept, ()))
    return Told(CaseRecord(key), [Reply(reply, scores)], stands=Stands.ELSEWHERE)


def _score(name: str, value: object, response: int = 0) -> ScoreRecord:
    return ScoreRecord(response, name, as_number(value), share(name, value))


@_helm("helm-state", "HELM: state of the scenario", _is_state, "`adapter_spec` beside `request_states`", CASES)
def _read_state(part: Part, collector: Collector, upload: UploadParts) -> None:
    system, beside = _system_of_run(part, collector, upload), upload.beside(part)
    responses: dict[tuple[str, int], int] = {}  # their numbers, by instance and trial
    has_predictions = any(_is_predictions(other) for other in beside)
    for at_, state in part.items("request_states"):
        if isinstance(state, dict) and isinstance(state.get("instance"), dict):
            _read_request(collector, part.place(at_), state, system, None if has_predictions else responses)
    for other in beside if not has_predictions else ():
        if _is_instance_stats(other):
            _read_instance_stats(collector, other, responses)


def _read_request(
    collector: Collector, place: Place, state: JsonDict, system: str, responses: dict[tuple[str, int], int] | None
) -> None:
    """Store the case of a request and, where no other file has them, its responses."""
    row = _case(collector, place, state["instance"])
    case = collector.case_repeated(place, row)
    if case is None or responses is None:
        return
    if state.get("reference_index") is not None:
        why = "a request for each reference has no response of its own; bring display_predictions.json"
        collector.leave_out("response", why, place)
        return
    result = object_of(state.get("result"))
    completions = objects(result.get("completions"))
    if result.get("success") is False or not completions:
        collector.failed(place, row.key, first_text(result.get("error")) or "there is no completion")
        return
    trial = as_count(state.get("train_trial_index")) or 0
    kept = {"rendered_prompt": at(state, "request.prompt"), "annotations": state.get("annotations")}
    for completion in completions:
        reply = ResponseRecord(
            system,
            as_text(completion.get("text")),
            attempt=trial if len(completions) == 1 else None,
            stop=as_text(at(completion, "finish_reason.reason")),
            seconds=as_number(result.get("request_time")),
            metadata=details(kept, ()),
        )
        response = collector.response(place, case, reply)
        if response is not None:
            responses.setdefault((row.key, trial), response)


def _read_instance_stats(collector: Collector, part: Part, responses: dict[tuple[str, int], int]) -> None:
    for row in part.rows():
        key = _key(row.fields.get("instance_id"), row.fields.get("perturbation"))
        response = responses.get((key, as_count(row.fields.get("train_trial_index")) or 0))
        if response is not None:
            for name, value in _means(row.fields):
                score = _score(name, value, response)
                score.place = part.place(row.at)
                collector.score(score)


def _means(fields: JsonObject) -> Iterator[tuple[str, object]]:
    """Yield the statistics of one instance that are scores, by name."""
    for stat in objects(fields.get("stats")):
        name = as_text(at(stat, "name.name"))
        if name and not name.startswith(_ABOUT_THE_CALL):
            yield name, stat.get("mean")


RUN = _companion("helm-run", "HELM: settings of a run", _is_run_spec, "`adapter_spec` beside `scenario_spec`")
STATS = _companion(
    "helm-stats", "HELM: statistics of instances", _is_instance_stats, "rows with `instance_id` and `stats`"
)
MEANS = _companion("helm-means", "HELM: means, requests or the scenario", _is_beside, "a file of a run's folder")


_KEYS = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"})
_HASHES = frozenset({"doc_hash", "prompt_hash", "target_hash"})
_FILE = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)$")
_FEWEST_WORDS = 3  # of a text that may be what a document asks
_MADE_NAME = re.compile(r"[a-z0-9]{8}")  # of a model that has no name


def _is_samples(part: Part) -> bool:
    keys = part.keys_of_all()
    return part.is_records and {"doc_id", "doc"} <= keys and bool({"resps", "filtered_resps"} & keys)


def _is_results(part: Part) -> bool:
    document = part.document
    if not isinstance(document.get("results"), dict):
        return False
    is_run = any(name in document for name in ("versions", "n-shot", "model_name", "lm_eval_version"))
    return is_run and isinstance(document.get("config"), dict)


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
    responses: dict[str, list[int]] = field(default_factory=dict)  # by document
    seen: dict[str, list[str]] = field(default_factory=dict)  # by document, the filters of its rows so far


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


_MODEL_ARGUMENT = re.compile(r"""\b(?:pretrained|model)(?:=|": ?")([^,"]+)""")


def _system(part: Part, collector: Collector, results: JsonObject) -> str:
    """Return `model_name` unless the tool made it up, the model in `config.model_args`, which older versions have
    alone, `config.model`, what the person said, or the folder's name."""
    name, model = first_text(results.get("model_name")), first_text(at(results, "config.model"))
    arguments = json.dumps(at(results, "config.model_args"), default=str, ensure_ascii=False)
    if match := None if name else _MODEL_ARGUMENT.search(arguments):
        return match[1]
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
    if id_ not in samples.seen or (name and name in samples.seen[id_]):
        samples.responses[id_], samples.seen[id_] = _respond(samples, place, row, id_), []
    number = len(samples.seen[id_])
    samples.seen[id_].append(name)
    if not name and number:  # of versions that did not name the filter
        known = samples.named_filters
        name = known[number] if number < len(known) else f"filter {number + 1}"
    elif not name and len(samples.named_filters) > 1:
        name = samples.named_filters[0]
    is_named = bool(name) and (name != "none" or len(samples.filters) > 1)
    for response in samples.responses[id_][:1]:
        _read_scores(samples, place, row, response, f" ({name})" if is_named else "")


def _respond(samples: _Samples, place: Place, row: JsonObject, id_: str) -> list[int]:
    """Return the responses of a sample: one for each repeat, the likeliest choice, or none."""
    doc = row["doc"] if isinstance(row.get("doc"), dict) else {"text": row.get("doc")}
    requests = _requests(row.get("arguments"))
    likelihoods = _likelihoods(row)
    choices = _choices(doc, requests, likelihoods)
    key = id_ if samples.is_one_task else f"{samples.task}/{id_}"
    case = samples.collector.case(place, _case_lm_eval(row, doc, key, choices if likelihoods else []))
    if case is None:
        return []
    replies = _replies(samples, place, row, choices, likelihoods)
    rendered = details({"rendered_prompt": requests[0][0] if requests else ""}, ())
    rows = [ResponseRecord(samples.system, text, metadata={**rendered, **kept}) for text, kept in replies]
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


def _case_lm_eval(row: JsonObject, doc: JsonObject, key: str, choices: list[str]) -> CaseRecord:
    question, name = _question(doc, row.get("arguments"))
    contexts = [other for other in named(doc, Holds.CONTEXT) if other != name]
    found = _references(row, doc, choices)
    passages = [text for other in contexts for text in texts(doc[other])]
    read = {name, *contexts, *named(doc, Holds.CHOICES)}
    kept = {field_: value for field_, value in details(doc, read).items() if as_text(value) not in found}
    return CaseRecord(
        key, question, references=found, context=passages, metadata=kept | ({"choices": choices} if choices else {})
    )


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
