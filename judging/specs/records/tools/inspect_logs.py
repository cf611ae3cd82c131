"""Inspect AI's logs: `.eval` archives, read member by member, and `.json` documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from evalsite.base.types import JsonDict, JsonObject, as_text, objects
from judging.specs.records.api_replies import Messages
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import CaseRecord, LogRecord, Place, ResponseRecord, as_value
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import Reply, Said, Shape, Told, ToolRow, judged, store
from judging.specs.records.values import (
    as_count,
    as_id,
    as_number,
    at,
    content_text,
    details,
    first_count,
    first_text,
    object_of,
    references,
)
from judging.specs.types import GRADE_VALUES, GRADES, UNKNOWN_SCALE, Scale

HEADERS = ("header.json", "_journal/start.json")  # the second one of a run that was stopped
_ATTACHMENT = "attachment://"
_NO_SAMPLES = "The log has no samples: it holds the summary alone. Write it with log_samples, or export all of it."
_NOT_STORED = {
    "events": "Inspect's events (every call, with its times) are not stored",
    "store": "what solvers kept for themselves in the sample's store is not stored",
    "files": "files of a sample's sandbox are not stored",
}


@dataclass(slots=True)
class _Log:
    """What a log says of all its samples, and what it was told that is not stored."""

    part: Part
    collector: Collector
    header: JsonObject
    judges: frozenset[str] = frozenset()
    grader: str = "score"  # of logs that name no scorer with a sample's score
    left_out: set[str] = field(default_factory=set)

    def place(self, at_: str) -> Place:
        return self.part.place(at_)


def _is_document(part: Part) -> bool:
    document = part.document
    return part.form is Form.DOCUMENT and isinstance(at(document, "eval.task"), str) and "version" in document


def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    header = _header(part)
    log = _Log(part, collector, header, _judges(header), _grader(header))
    run: JsonDict = object_of(header.get("eval"))
    version = as_text(at(run, "packages.inspect_ai"))
    collector.log(LogRecord(part.file, "Inspect AI", version, as_text(run.get("task")), as_text(run.get("created"))))
    count = 0
    for place, sample in _samples(log):
        count += 1
        store(ToolRow(part, collector, upload, place, sample), _told(log, place, sample))
    if not count:
        collector.leave_out("log", _NO_SAMPLES, part.place())
        if len(upload.parts) == 1:
            collector.bad_row(part.place(), _NO_SAMPLES)


def _header(part: Part) -> JsonObject:
    """Return all of a log but its samples."""
    if part.form is Form.DOCUMENT:
        return part.document
    name = next(name for name in HEADERS if name in part.members)
    try:
        with part.members[name].open() as stream:
            header = json.load(stream)
    except ValueError:
        return {}
    return object_of(header)


def _samples(log: _Log) -> Iterator[tuple[Place, JsonDict]]:
    """Yield the samples of a log; what cannot be read is left out by name."""
    for at_, sample in _entries(log.part):
        place = log.place(at_)
        if isinstance(sample, dict):
            yield place, sample
        else:
            why = sample if isinstance(sample, str) else "it is no object"
            log.collector.leave_out("sample", f"{at_}: {why}", place)


def _entries(part: Part) -> Iterator[tuple[str, object]]:
    if part.form is Form.DOCUMENT:
        yield from part.items("samples")
        return
    for name, member in part.members.items():
        if not name.startswith("samples/") or not name.endswith(".json"):
            continue
        if name.count("/") > 1:
            if name.endswith("/sample.json"):
                yield (
                    name,
                    "the sample is written in chunks, which are not read yet",
                )
            continue
        try:
            with member.open() as stream:
                yield name, json.load(stream)
        except ValueError as problem:
            yield name, f"this is no JSON: {problem}"


def _judges(header: JsonObject) -> frozenset[str]:
    """Return the names of scorers that asked a model."""
    named: set[str] = set()
    for entry in (*objects(at(header, "eval.scorers")), *objects(at(header, "results.scores"))):
        names = {as_text(entry.get("name")), as_text(entry.get("scorer"))} - {""}
        settings: JsonDict = next((entry[key] for key in ("options", "params") if isinstance(entry.get(key), dict)), {})
        if settings.get("model") or settings.get("model_role") or any(map(_is_model_graded, names)):
            named |= names
    return frozenset(named)


def _is_model_graded(name: str) -> bool:
    return name.rpartition("/")[2].startswith("model_graded")


def _grader(header: JsonObject) -> str:
    """Return the one scorer of a log whose samples have `score` instead of `scores`."""
    paths = ("results.scores.0.name", "results.scorer.name", "eval.scorers.0.name")
    return first_text(*(at(header, path) for path in paths)) or "score"


def _told(log: _Log, place: Place, raw: JsonDict) -> Told:
    """Return what a sample tells."""
    for name in _NOT_STORED.keys() - log.left_out:
        if raw.get(name):
            log.left_out.add(name)
            log.collector.leave_out(name, _NOT_STORED[name], place)
    sample: JsonDict = {name: value for name, value in raw.items() if name not in ("events", "events_data", "store")}
    if isinstance(sample.get("attachments"), dict):
        sample = {name: _resolved(value, sample["attachments"]) for name, value in sample.items()}
    case, why = _case(log, place, sample), _failure(sample)
    if not why:
        return Told(case, [Reply(_response(log, place, sample), _scores(log, place, sample))])
    what = f"sample {as_id(sample.get('id'))}, epoch {as_text(sample.get('epoch')) or 1}"
    if sample.get("scores") or sample.get("score"):
        log.collector.leave_out("score", f"{what} has no response that its scores could be about", place)
    return Told(case, [Reply(ResponseRecord(what), failure=why)])


def _resolved(value: object, attachments: JsonObject) -> object:
    """Return a value with the texts that Inspect put aside."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolved(entry, attachments) for entry in value]
    if isinstance(value, dict):
        return {key: _resolved(entry, attachments) for key, entry in value.items()}
    return value


def _case(log: _Log, place: Place, sample: JsonObject) -> CaseRecord:
    asked = sample.get("input")
    choices = [as_text(choice) for choice in sample["choices"]] if isinstance(sample.get("choices"), list) else []
    metadata = dict(object_of(sample.get("metadata")))
    if choices:
        metadata["choices"] = choices
    return CaseRecord(
        key=as_id(sample.get("id")),
        prompt=as_text(asked) if not isinstance(asked, list) else "",
        messages=Messages(log.collector, place).turns("", asked) if isinstance(asked, list) else None,
        references=_references(sample.get("target"), choices),
        metadata=metadata,
    )


def _references(target: object, choices: Sequence[str]) -> list[str]:
    """Return the targets; a letter among choices stands for the choice's text, and either is right."""
    found = references(target)
    letters = [letter for letter in found if len(letter) == 1 and 0 <= ord(letter) - ord("A") < len(choices)]
    return [choices[ord(letter) - ord("A")] for letter in letters] + found


def _failure(sample: JsonObject) -> str:
    """Return why a sample has no response; empty where it has one."""
    output = object_of(sample.get("output"))
    for error in (sample.get("error"), output.get("error") if not _completion(output) else None):
        if error:
            return first_text(at(error, "message"), error if isinstance(error, str) else "") or "error"
    if not output.get("choices") and not _completion(output):
        return "the log has no output"
    return ""


def _completion(output: JsonObject) -> str:
    content = at(output, "choices.0.message.content")
    return first_text(output.get("completion")) or content_text(content)


def _response(log: _Log, place: Place, sample: JsonObject) -> ResponseRecord:
    output: JsonObject = sample["output"]
    text = _completion(output)
    asked, steps = _split(objects(sample.get("messages")), sample.get("input"))
    said = [content_text(turn.get("content")) for turn in steps if turn.get("role") == "assistant"]
    if steps[1:] and text and text != said[-1]:  # an agent handed it in by a tool
        steps.append({"role": "assistant", "content": text})
    system = as_text(at(log.header, "eval.model"))
    if not system or system == "none/none":
        system = as_text(output.get("model"))
    usage = at(sample, "model_usage")
    own_usage = usage.get(system) if isinstance(usage, dict) else None
    tokens = first_count(at(own_usage, "output_tokens"), at(output, "usage.output_tokens"))
    times = (as_number(value) for value in (sample.get("working_time"), sample.get("total_time"), output.get("time")))
    return ResponseRecord(
        system=system,
        text=text,
        messages=Messages(log.collector, place).turns("", steps) if len(steps) > 1 else None,
        attempt=_attempt(log, sample),
        stop=as_text(at(output, "choices.0.stop_reason")),
        seconds=next((time for time in times if time is not None), None),
        completion_tokens=tokens,
        metadata=_response_details(sample, asked, steps),
    )


def _attempt(log: _Log, sample: JsonObject) -> int | None:
    """Return the epoch from 0; None in a log of one epoch, since another log of the system may be brought with it."""
    epoch = as_count(sample.get("epoch")) or 1
    is_single = (as_count(at(log.header, "eval.config.epochs")) or 1) == 1
    return None if is_single and epoch == 1 else epoch - 1


def _split(messages: list[JsonDict], asked: object) -> tuple[list[JsonDict], list[JsonDict]]:
    """Return the messages that were sent first, and those from the first reply on."""
    given = sum(turn.get("role") == "assistant" for turn in objects(asked))
    replies = [place for place, turn in enumerate(messages) if turn.get("role") == "assistant"]
    generated = [place for place in replies if messages[place].get("source") == "generate"]
    first = next(iter(generated or replies[given:]), len(messages))
    return messages[:first], messages[first:]


def _response_details(sample: JsonObject, asked: list[JsonDict], steps: list[JsonDict]) -> JsonDict:
    """Return what the solver said before the case, what it made of the case, the limit that ended it, and reasoning."""
    given = sample.get("input")
    own = (
        [content_text(turn.get("content")) for turn in objects(given)] if isinstance(given, list) else [as_text(given)]
    )
    texts = {role: [content_text(turn.get("content")) for turn in asked if turn.get("role") == role] for role in _TOLD}
    reasoning = [part for turn in steps for part in _reasoning(turn.get("content"))]
    limit = sample.get("limit")
    found = {
        "system_text": "\n\n".join(text for text in texts["system"] if text not in own),
        "rendered_prompt": "\n\n".join(text for text in texts["user"] if text not in own),
        "reasoning": "\n\n".join(reasoning),
        "limit": as_text(limit.get("type")) if isinstance(limit, dict) else as_text(limit),
    }
    return details(found, ())


_TOLD = ("system", "user")


def _reasoning(content: object) -> list[str]:
    parts = [part for part in objects(content) if part.get("type") == "reasoning"]
    return [text for part in parts if (text := first_text(part.get("summary"), part.get("reasoning")))]


_PARTS_OF_SCORES = frozenset({"answer", "explanation", "metadata"})


def _scores(log: _Log, place: Place, sample: JsonObject) -> Iterator[Said]:
    scores = sample.get("scores")
    if not isinstance(scores, dict):
        scores = {log.grader: sample["score"]} if sample.get("score") is not None else {}
    for name, score in scores.items():
        if isinstance(score, dict) and "value" not in score and not _PARTS_OF_SCORES.isdisjoint(score):
            log.collector.leave_out("score", f"{name} has no value", place)
            log.collector.warn("unscored", place, name)
            continue
        fields = score if isinstance(score, dict) and "value" in score else {"value": score}
        for grader, value in _values(name, fields["value"]):
            yield _score(log, name, grader, {**fields, "value": value})


def _values(name: str, value: object) -> list[tuple[str, object]]:
    """Return a scorer's values by grader: one a key of an object, one a place of a list."""
    if isinstance(value, dict):
        return [(f"{name}/{key}", entry) for key, entry in value.items()]
    if isinstance(value, list):
        return [(f"{name}/{place}", entry) for place, entry in enumerate(value, start=1)]
    return [(name, value)]


def _score(log: _Log, scorer: str, grader: str, score: JsonObject) -> Said:
    metadata = object_of(score.get("metadata"))
    grading = objects(metadata.get("grading"))
    is_judge = bool(grading) or scorer in log.judges or _is_model_graded(scorer)
    model = first_text(*(turn.get("model") for turn in reversed(grading)))
    kept = details({"answer": score.get("answer"), **metadata}, ("grading",)) | (
        {"judge_model": model} if model else {}
    )
    value, reason = score["value"], as_text(score.get("explanation"))
    return judged(is_judge, grader, as_value(value), _scale(value), reason, kept)


def _scale(value: object) -> Scale:
    """Return the scale of a value: grades, yes and no; of numbers the log does not say it."""
    if isinstance(value, bool):
        return (0, 1)
    return GRADES if isinstance(value, str) and value in GRADE_VALUES else UNKNOWN_SCALE


_inspect = partial(
    Shape,
    rank=90,
    reads=_read,
    export="Bring the .eval files of Inspect's log folder as they are, or the .json files that --log-format json "
    "writes; several logs may come together.",
    comes="Samples with their pictures, turns and targets; outputs with tool calls, tokens and times; every score, and "
    "those of scorers that ask a model as judges' verdicts with their reasons.",
    stays="Events, the store, sandboxes and what solvers are set to; a sample with an error has no response.",
)
ARCHIVE = _inspect(
    "inspect-eval",
    "Inspect AI: log (.eval)",
    lambda part: part.form is Form.ARCHIVE and any(name in part.members for name in HEADERS),
    "a ZIP archive with header.json or a journal, and samples",
)
DOCUMENT = _inspect("inspect-json", "Inspect AI: log (.json)", _is_document, "`version` and `eval.task` beside samples")
