"""DeepEval's test runs: test cases with their metrics, and conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import CaseInput, LogRecord, Place, ResponseRow
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import Shape
from judging.specs.records.tool_rows import Reply, Said, Told, ToolRow, judged, store
from judging.specs.records.values import (
    as_count,
    as_number,
    as_text,
    at,
    details,
    first_text,
    numbered,
    objects,
    references,
    role_of,
    texts,
)

_LISTS = ("testCases", "conversationalTestCases")
_METRICS = ("metricsData", "metricsMetadata")  # the second one of versions before 1.0
_CASE_DETAILS = ("comments", "tags", "scenario", "userDescription", "expectedTools")
_RESPONSE_DETAILS = ("toolsCalled", "tokenCost", "inputTokenCount", "trace")


@dataclass(slots=True)
class _TestRun:
    """One run, its model, and the names that several of its cases have."""

    part: Part
    collector: Collector
    system: str
    repeated: frozenset[str]


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
    system = first_text(*(at(run, path) for path in _MODELS)) or upload.system
    collector.log(LogRecord(part.file, "DeepEval", name=first_text(run.get("identifier"), run.get("testFile"))))
    if not system:
        collector.findings.file = part.file
        message = "The test run does not say which model responded (hyperparameters.model)."
        hints = {"hint": "Name it: --system NAME.", "page_hint": "Name it under System."}
        collector.findings.error("", "no-system", message, **hints)
        return
    names = Counter(as_text(case.get("name")) for _, case in _cases(part))
    repeated = frozenset(name for name, count in names.items() if count > 1)
    for at_, case in _cases(part):
        place = part.place(at_)
        told = _told(_TestRun(part, collector, system, repeated), place, case)
        store(ToolRow(part, collector, upload, place, case), told)


_MODELS = ("hyperparameters.model", "hyperparameters.model.name", "hyperparameters.Model", "configurations.model")


def _cases(part: Part) -> Iterator[tuple[str, JsonDict]]:
    for name in _LISTS:
        for at_, case in part.items(_prefix(part) + name):
            if isinstance(case, dict):
                yield at_, case


def _told(run: _TestRun, place: Place, case: JsonDict) -> Told:
    """Return what a test case tells."""
    name = as_text(case.get("name"))
    own = case["metadata"] if isinstance(case.get("metadata"), dict) else case.get("additionalMetadata")
    kept = details({key: case.get(key) for key in _CASE_DETAILS} | (own if isinstance(own, dict) else {}), ())
    is_repeated = name in run.repeated
    turns = _turns(case)
    row = CaseInput(
        id="" if is_repeated else name,
        prompt=as_text(case.get("input")) if not turns else "",
        messages=[turn for turn in turns if role_of(turn) == "user"],
        references=references(case.get("expectedOutput", case.get("expectedOutcome"))),
        context=list(dict.fromkeys(texts(case.get("context")) + texts(case.get("retrievalContext")))),
        metadata=kept | ({"name": name} if is_repeated else {}),
    )
    metrics: list[JsonDict] = next((objects(case[name]) for name in _METRICS if case.get(name)), [])
    reply = _reply(run, case, turns)
    if reply is None:
        for metric in metrics:
            why = f"{as_text(metric.get('name'))} of {name}, which has no response"
            run.collector.leave_out("score", why, place)
        return Told(row, [Reply(ResponseRow(name), failure="there is no actualOutput")])
    used: Counter[str] = Counter()
    named = [metric for metric in metrics if metric.get("name") or metric.get("metric")]
    for _ in metrics[len(named) :]:
        run.collector.leave_out("score", f"a metric of {name} without a name", place)
        run.collector.warn("unscored", place, "a metric without a name")
    return Told(row, [Reply(reply, [_metric(metric, used) for metric in named])])


def _turns(case: JsonObject) -> list[JsonDict]:
    """Return the turns of a conversation; older versions had a test case for each exchange."""
    turns: list[JsonDict] = []
    for turn in objects(case.get("turns")) or objects(case.get("messages")):
        if "role" in turn:
            turns.append({"role": turn["role"], "content": as_text(turn.get("content"))})
            continue
        turns.append({"role": "user", "content": as_text(turn.get("input"))})
        if turn.get("actualOutput") is not None:
            turns.append({"role": "assistant", "content": as_text(turn["actualOutput"])})
    return turns


def _reply(run: _TestRun, case: JsonObject, turns: list[JsonDict]) -> ResponseRow | None:
    """Return what the system responded: a text, or the whole conversation; None where there is nothing."""
    output = case.get("actualOutput")
    replies = [turn for turn in turns if role_of(turn) == "assistant"]
    if not replies and output is None:
        return None
    is_whole = len(turns) > 2
    return ResponseRow(
        system=run.system,
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
