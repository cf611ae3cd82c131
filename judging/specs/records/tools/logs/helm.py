"""HELM's run folders: instances, predictions or the scenario's state, and statistics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import CaseInput, LogRecord, Place, ResponseRow, ScoreRecord
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import CASES, COMPANION, Shape
from judging.specs.records.tool_rows import Reply, Stands, Told, ToolRow, read_rows, share, system_of
from judging.specs.records.values import as_count, as_id, as_number, as_text, at, details, first_text, objects

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


def _has(part: Part, form: Form, *names: str) -> bool:
    keys = part.document.keys() if form is Form.DOCUMENT else part.keys_of_all()
    return part.form is form and set(names) <= keys


def _is_instances(part: Part) -> bool:
    if not _has(part, Form.ROWS, "input", "references", "id"):
        return False
    given = [entry for row in part.sample for entry in objects(row.fields["references"])]
    return bool(given) and all("output" in entry and "tags" in entry for entry in given)


def _is_predictions(part: Part) -> bool:
    return _has(part, Form.ROWS, "instance_id", "predicted_text")


def _is_state(part: Part) -> bool:
    return _has(part, Form.DOCUMENT, "adapter_spec", "request_states")


def _is_run_spec(part: Part) -> bool:
    return _has(part, Form.DOCUMENT, "adapter_spec", "scenario_spec") and not _is_state(part)


def _is_instance_stats(part: Part) -> bool:
    return _has(part, Form.ROWS, "instance_id", "stats") and not _is_predictions(part)


def _is_beside(part: Part) -> bool:
    """Return whether a part is another file of a run folder: means, requests, or the scenario's description."""
    is_means = _has(part, Form.ROWS, "name", "count", "sum") and isinstance(part.sample[0].fields["name"], dict)
    is_requests = _has(part, Form.ROWS, "instance_id", "request") and not _is_predictions(part)
    return is_means or is_requests or _has(part, Form.DOCUMENT, "definition_path", "description", "tags")


@dataclass(slots=True)
class _HelmRun:
    """The responses of one run, and their numbers by instance and trial."""

    part: Part
    collector: Collector
    system: str
    responses: dict[tuple[str, int], int] = field(default_factory=dict)


def _run_of(part: Part, collector: Collector, upload: UploadParts) -> _HelmRun:
    specs = [other.document for other in upload.beside(part) if _is_run_spec(other)]
    spec: JsonObject = specs[0] if specs else part.document
    collector.log(LogRecord(part.file, "HELM", name=first_text(spec.get("name"), part.folder.rpartition("/")[2])))
    name = first_text(at(spec, "adapter_spec.model"), at(spec, "adapter_spec.model_deployment"))
    system = name or collector.options.system
    folder = part.folder.rpartition("/")[2].rpartition("model=")[2].partition(",")[0]
    if not system and folder:
        collector.warn_once("system-from-folder", part.place(), folder)
    return _HelmRun(part, collector, system or folder or system_of(collector, part, "", part.place()))


@_helm(
    "helm-instances", "HELM: instances", _is_instances, "rows with `input`, `id` and `references` with `tags`", CASES
).rows
def instances(row: ToolRow) -> Told:
    """Return an instance."""
    return Told(_case(row.collector, row.place, row.fields))


def _case(collector: Collector, place: Place, instance: JsonObject) -> CaseInput:
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
    return CaseInput(
        id=_key(instance.get("id"), instance.get("perturbation")),
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
    run = _run_of(part, collector, upload)
    read_rows(part, collector, upload, lambda row: _prediction(row, run.system))


def _prediction(row: ToolRow, system: str) -> Told:
    key = _key(row.get("instance_id"), row.get("perturbation"))
    text = row.fields.get("truncated_predicted_text")  # without the prompt, where the model repeats it
    text = row.fields.get("predicted_text") if text is None else text
    if text is None:
        failed = Reply(ResponseRow(key), failure="there is no predicted_text")
        return Told(CaseInput(key), [failed], stands=Stands.ELSEWHERE)
    stats = row.fields_of("stats")
    kept = {name: row.get(name) for name in ("mapped_output", "annotations")}
    kept |= {name: value for name, value in stats.items() if name.startswith(_COUNTS)}
    trial = as_count(row.get("train_trial_index"))
    scores = [_score(name, value) for name, value in stats.items() if not name.startswith(_COUNTS)]
    reply = ResponseRow(system, as_text(text), attempt=trial, metadata=details(kept, ()))
    return Told(CaseInput(key), [Reply(reply, scores)], stands=Stands.ELSEWHERE)


def _score(name: str, value: object, response: int = 0) -> ScoreRecord:
    return ScoreRecord(response, name, as_number(value), share(name, value))


@_helm("helm-state", "HELM: state of the scenario", _is_state, "`adapter_spec` beside `request_states`", CASES)
def _read_state(part: Part, collector: Collector, upload: UploadParts) -> None:
    run = _run_of(part, collector, upload)
    beside = upload.beside(part)
    has_predictions = any(_is_predictions(other) for other in beside)
    for at_, state in part.items("request_states"):
        if isinstance(state, dict) and isinstance(state.get("instance"), dict):
            _read_request(run, part.place(at_), state, is_case_only=has_predictions)
    for other in beside if not has_predictions else ():
        if _is_instance_stats(other):
            _read_instance_stats(run, other)


def _read_request(run: _HelmRun, place: Place, state: JsonDict, *, is_case_only: bool) -> None:
    collector, row = run.collector, _case(run.collector, place, state["instance"])
    case = collector.case_repeated(place, row)
    if case is None or is_case_only:
        return
    if state.get("reference_index") is not None:
        why = "a request for each reference has no response of its own; bring display_predictions.json"
        collector.leave_out("response", why, place)
        return
    result = state["result"] if isinstance(state.get("result"), dict) else {}
    completions = objects(result.get("completions"))
    if result.get("success") is False or not completions:
        collector.failed(place, row.id, first_text(result.get("error")) or "there is no completion")
        return
    trial = as_count(state.get("train_trial_index")) or 0
    kept = {"rendered_prompt": at(state, "request.prompt"), "annotations": state.get("annotations")}
    for completion in completions:
        reply = ResponseRow(
            run.system,
            as_text(completion.get("text")),
            attempt=trial if len(completions) == 1 else None,
            stop=as_text(at(completion, "finish_reason.reason")),
            seconds=as_number(result.get("request_time")),
            metadata=details(kept, ()),
        )
        response = collector.response(place, case, reply)
        if response is not None:
            run.responses.setdefault((row.id, trial), response)


def _read_instance_stats(run: _HelmRun, part: Part) -> None:
    for row in part.rows():
        key = _key(row.fields.get("instance_id"), row.fields.get("perturbation"))
        response = run.responses.get((key, as_count(row.fields.get("train_trial_index")) or 0))
        if response is not None:
            for name, value in _means(row.fields):
                score = _score(name, value, response)
                score.place = part.place(row.at)
                run.collector.score(score)


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
