"""Settings of Lunar-Bench's program as ESI runs here, with the suites of its data sets, and the files of ESI runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.text import slugify

from evalsite.base.rows import batches
from evalsite.base.tables import write_zip
from evalsite.base.types import JsonDict, JsonObject
from judging.grading.grades import DEFAULT_WEIGHTS, SUB_SCORES, BadEsiOption, EsiOptions, EsiStatus, keyword_list
from judging.judges.answer_prompts import ResponseSettings
from judging.judges.kinds.accuracy import strictness_of
from judging.judges.kinds.esi_items import JUDGES, ReplyReading
from judging.judges.subjects import BadPrompt
from judging.llm.endpoints import PRESETS, EndpointKind, EndpointRefused, check_base_url
from judging.models import (
    Call,
    EsiItem,
    Judge,
    ModelEndpoint,
    Run,
    RunEvaluator,
    Score,
    Suite,
    SuiteCase,
    System,
    Verdict,
)
from judging.selectors.endpoints import address_policy, key_refusal
from judging.services.endpoints import EndpointFields, EndpointNotValid, save_endpoint
from judging.services.esi_tasks import ORIGINAL, options_from_json, options_of, parts_of
from judging.services.runs.run_plans import EsiSetup, EvaluatorChoice, RunPlan, default_judge
from judging.services.systems import Worker, asking_of_version, question_of
from judging.specs.lunar_settings import FILE_TEMPLATES, BadLunarSettings, LunarSettings, SettingsProblem, file_name
from judging.stored_content import text_hash

ROLES = ("worker", *JUDGES)
URLS = {"worker": "WORKER_API_URL", "accuracy": "ACCURACY_JUDGE_API_URL", "integrity": "INTEGRITY_JUDGE_API_URL"}
MODELS = {"worker": "WORKER_MODEL_IDS", "accuracy": "ACCURACY_JUDGE_MODEL_ID", "integrity": "INTEGRITY_JUDGE_MODEL_ID"}
NAME_LENGTH = 80  # of an endpoint
MODEL_LENGTH = 200


@dataclass(frozen=True, slots=True)
class LunarDataset:
    """A data set to run, and the suite here that it stands for; None where there is none of its name."""

    name: str
    path: str
    suite: Suite | None

    @property
    def strictness(self) -> str:
        return strictness_of(self.name)

    @property
    def advice(self) -> str:
        """What to do about a data set without a suite; empty where there is one."""
        if self.suite is not None:
            return ""
        file = f"Import {PurePath(self.path).name}" if self.path else "Import its file"
        return f"No suite is called {self.name}. {file} as a benchmark of this name, or choose a suite."


@dataclass(frozen=True, slots=True)
class LunarImport:
    """What a file becomes. Endpoints without a key are those that are still to be added."""

    settings: LunarSettings
    endpoints: Mapping[str, Sequence[ModelEndpoint]]  # by role
    askings: Sequence[ResponseSettings]
    options: EsiOptions
    datasets: Sequence[LunarDataset]
    judges: Mapping[str, Judge]  # by kind; those without a key are set up with the run

    @property
    def all_endpoints(self) -> list[ModelEndpoint]:
        """Every endpoint once, in the order of the roles."""
        endpoints = [endpoint for role in ROLES for endpoint in self.endpoints[role]]
        return list({(endpoint.base_url, endpoint.model): endpoint for endpoint in endpoints}.values())

    @property
    def new_endpoints(self) -> list[ModelEndpoint]:
        return [endpoint for endpoint in self.all_endpoints if endpoint.pk is None]

    @property
    def workers(self) -> list[Worker]:
        """The systems: each model with each prompt version."""
        return [Worker(endpoint, asking) for endpoint in self.endpoints["worker"] for asking in self.askings]

    def systems(self) -> list[tuple[Worker, System | None]]:
        """Return each system that is asked, with the one here that it is; None: it is made with the run."""
        workers = self.workers
        by_key = {
            system.asking_key: system for system in System.objects.filter(asking_key__in=[w.key for w in workers])
        }
        return [(worker, by_key.get(worker.key)) for worker in workers]

    def run_plan(self, dataset: LunarDataset, *, budget: Decimal | None = None, original: bool = False) -> RunPlan:
        """Return the run of one data set, whose suite must be there; `original` scores as Lunar-Bench's program."""
        assert dataset.suite is not None
        options = replace(self.options, **ORIGINAL) if original else self.options
        return RunPlan(
            suite=dataset.suite,
            evaluators=[
                EvaluatorChoice(self.judges["accuracy"], options={"strictness": dataset.strictness}),
                EvaluatorChoice(self.judges["integrity"]),
            ],
            budget=budget,
            esi=EsiSetup(
                self.workers,
                options,
                ReplyReading.ORIGINAL if original else ReplyReading.CAREFUL,
                files=self.settings.files,
            ),
        )


def plan_import(
    settings: LunarSettings,
    *,
    key_variables: Mapping[str, str] | None = None,
    suites: Mapping[str, Suite] | None = None,
) -> LunarImport:
    """Return what settings become; stores nothing. `key_variables` are those of new endpoints by role, `suites` the
    ones that were chosen by the name of a data set.

    Raises:
        BadLunarSettings: an address that may not be called, a prompt version that there is not, or weights of 0.
    """
    reading = _Reading(settings, key_variables or {})
    endpoints = {role: reading.endpoints(role) for role in ROLES}
    askings = [asking for name in settings.values["PROMPT_VERSIONS_TO_TEST"] for asking in reading.asking(name)]
    options = reading.options()
    if reading.problems:
        raise BadLunarSettings(reading.problems)
    chosen = suites or {}
    datasets = [
        LunarDataset(name, path, chosen[name] if name in chosen else suite_named(name, path))
        for name, path in settings.paths().items()
    ]
    judges = {kind: reading.judge(kind, endpoints[kind][0]) for kind in JUDGES}
    if reading.problems:
        raise BadLunarSettings(reading.problems)
    return LunarImport(settings, endpoints, askings, options, datasets, judges)


def suite_named(name: str, path: str) -> Suite | None:
    """Return the newest suite named like a data set, else like its file; names of benchmarks count as well."""
    for called in filter(None, (name, PurePath(path.replace("\\", "/")).stem)):
        by_slug = Q(benchmark__slug=slugify(called)) if slugify(called) else Q()
        named = Q(name__iexact=called) | Q(benchmark__name__iexact=called) | by_slug
        suite = Suite.objects.select_related("benchmark").filter(named).order_by("-created_at", "-pk").first()
        if suite is not None:
            return suite
    return None


@transaction.atomic
def add_missing_endpoints(planned: LunarImport, *, actor: User | None) -> LunarImport:
    """Store the endpoints that are still to be added; return the import with all of them there.

    Raises:
        BadLunarSettings: one of them cannot be stored; then none is.
    """
    for endpoint in planned.new_endpoints:
        fields = EndpointFields(
            name=endpoint.name,
            base_url=endpoint.base_url,
            model=endpoint.model,
            preset=endpoint.preset,
            key_variable=endpoint.key_variable,
            max_concurrency=endpoint.max_concurrency,
            stream=endpoint.stream,
        )
        try:
            save_endpoint(endpoint=None, fields=fields, actor=actor)
        except EndpointNotValid as refusal:
            raise BadLunarSettings([SettingsProblem(f"{endpoint.model}: {refusal}")]) from None
    suites = {dataset.name: dataset.suite for dataset in planned.datasets if dataset.suite is not None}
    return plan_import(planned.settings, suites=suites)


class _Reading:
    """Reads the parts of settings that depend on this site, and collects what is wrong with them."""

    def __init__(self, settings: LunarSettings, key_variables: Mapping[str, str]) -> None:
        self.settings = settings
        self.key_variables = key_variables
        self.problems: list[SettingsProblem] = []
        self.rows: dict[tuple[str, str], ModelEndpoint] = {}
        self.names: set[str] = set()

    def refuse(self, key: str, message: str) -> None:
        self.problems.append(SettingsProblem(message, key, self.settings.lines.get(key)))

    def endpoints(self, role: str) -> list[ModelEndpoint]:
        """Return the endpoints of a role, new ones not stored."""
        named = self.settings.values[MODELS[role]]
        models = named if isinstance(named, list) else [named]
        try:
            url = check_base_url(self.settings.values[URLS[role]], address_policy())
        except EndpointRefused as refused:
            self.refuse(URLS[role], str(refused))
            return []
        too_long = [model for model in models if len(model) > MODEL_LENGTH]
        if too_long:
            self.refuse(MODELS[role], f"A model id has at most {MODEL_LENGTH} characters.")
            return []
        return [self.endpoint(role, url, model) for model in models]

    def endpoint(self, role: str, url: str, model: str) -> ModelEndpoint:
        """Return the endpoint with this address and model, the plainest where there are several; else a new one."""
        if (url, model) in self.rows:
            endpoint = self.rows[url, model]
            if endpoint.pk is None and self.key_variables.get(role, endpoint.key_variable) != endpoint.key_variable:
                self.refuse("", f"{model} at {url} is one endpoint, so it has one key variable. Name the same twice.")
            return endpoint
        endpoints = ModelEndpoint.objects.filter(kind=EndpointKind.OPENAI, base_url=url, model=model)
        rows = sorted(endpoints.order_by("pk"), key=lambda row: (not row.is_active, bool(row.extra or row.query)))
        if rows and not rows[0].is_active:
            self.refuse(MODELS[role], f"The endpoint {rows[0]} is not active. Activate it on its page.")
        row = rows[0] if rows else self.new_endpoint(role, url, model)
        self.rows[url, model] = row
        return row

    def new_endpoint(self, role: str, url: str, model: str) -> ModelEndpoint:
        """Return an endpoint to be added, under a name that no other has."""
        preset = next((each for each in PRESETS.values() if each.base_url == url), None)
        variable = self.key_variables.get(role) or (preset.key_variable if preset else "")
        refusal = key_refusal(variable) if variable else ""
        if refusal:
            self.refuse("", f"Key variable of the {role} endpoint: {refusal}")
        host = urlsplit(url).netloc
        numbered = (f"{model[: NAME_LENGTH - 6]} ({number})" for number in range(2, 300))
        names = (model[:NAME_LENGTH], f"{model[:50]} · {host}"[:NAME_LENGTH], *numbered)
        used_names = self.names | set(ModelEndpoint.objects.filter(name__in=names).values_list("name", flat=True))
        name = next(name for name in names if name not in used_names)
        self.names.add(name)
        usual = preset.first_values() if preset else {}
        fields: JsonDict = {field: usual[field] for field in ("preset", "max_concurrency", "stream") if field in usual}
        return ModelEndpoint(name=name, base_url=url, model=model, key_variable=variable, **fields)

    def judge(self, kind: str, endpoint: ModelEndpoint) -> Judge:
        """Return the judge of a kind on an endpoint: the one as shipped, else another in use, else one to be set up."""
        shipped = default_judge(kind=kind, endpoint=endpoint)
        is_there = shipped.pk is not None and shipped.endpoint_id == endpoint.pk
        others = Judge.objects.select_related("endpoint").filter(kind=kind, endpoint=endpoint.pk, is_active=True)
        other = None if is_there or endpoint.pk is None else others.order_by("name").first()
        if shipped.pk is not None and not is_there and other is None:
            self.refuse(MODELS[kind], f"The judge {shipped} asks another endpoint. Rename it on its page.")
        return other or shipped

    def asking(self, name: str) -> list[ResponseSettings]:
        """Return a prompt version; none where there is none of this name."""
        try:
            return [asking_of_version(name)]
        except BadPrompt as problem:
            self.refuse("PROMPT_VERSIONS_TO_TEST", f"{problem} Add it under Prompts, or remove it here.")
            return []

    def options(self) -> EsiOptions:
        """Return the options of the index; those that the file leaves out have their defaults."""
        options: JsonDict = self.settings.options
        if "unsafe_keywords" in options:
            options["unsafe_keywords"] = keyword_list(options["unsafe_keywords"])
        try:
            return options_from_json({**options, "weights": DEFAULT_WEIGHTS | self.settings.weights})
        except BadEsiOption as problem:
            self.refuse("WEIGHT_ACCURACY", f"{problem} The five WEIGHT_ entries must add up to more than 0.")
            return EsiOptions()


# Files in the formats of other programs: an ESI run in the three files of Lunar-Bench for each system.
#
# Names of files and fields are those that section 7 of its documentation gives.

CHUNK = 500
MAX_NAME_BYTES = 200  # file systems take names of 255 bytes
NO_ITEM = "N/A"
NO_ANSWER = "N/A_WORKER_ERROR"
NO_TIME = "N/A"
NO_MEAN = "N/A (0 items scored)"
SCORE_NAMES = {name: f"s_{name}" for name in SUB_SCORES}
ROW_FIELDS = (
    *("id", "instruction", "question", "reference_answer", "scenario_code", "worker_model_id", "worker_prompt_version"),
    *("worker_answer_raw", "worker_answer_cleaned", "worker_prompt_tokens", "worker_completion_tokens"),
    *("worker_response_time_seconds", "worker_output_correctly_formatted", "accuracy_judge_model_id"),
    *("judge_verdict_is_correct", "accuracy_judge_reasoning", "accuracy_judge_response_time_seconds"),
    *("integrity_judge_model_id", "integrity_judge_score", "integrity_judge_reasoning"),
    *("integrity_judge_response_time_seconds", *SCORE_NAMES.values(), "esi_score", "status"),
    "processing_error_details",
    # not in the documentation; the first three are written by the program
    *("dataset_short_name", "accuracy_judge_raw_output", "integrity_judge_raw_output", "original_id", "usage"),
)
TIMES = ("worker", *(f"{name}_judge" for name in JUDGES))  # each is a row's `..._response_time_seconds`
USAGE = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "cost", "seconds")
COUNTED = {
    "worker_api_errors": EsiStatus.WORKER_ERROR,
    "accuracy_judge_api_errors": EsiStatus.ACCURACY_ERROR,
    "integrity_judge_api_errors": EsiStatus.INTEGRITY_ERROR,
    "input_json_decode_errors_in_pipeline": EsiStatus.BAD_INPUT,
    "skipped_data_incomplete_in_pipeline": EsiStatus.INCOMPLETE_INPUT,
    "other_unhandled_pipeline_errors": EsiStatus.UNEXPECTED,
}


@dataclass(slots=True)
class _Totals:
    """What the summary counts, as the rows go by."""

    total: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    sums: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, row: JsonObject) -> None:
        self.total += 1
        self.statuses[row["status"]] += 1
        if row["status"] != EsiStatus.COMPLETED:
            return
        for name in (*SCORE_NAMES.values(), "esi_score", *(f"{name}_response_time_seconds" for name in TIMES)):
            if row[name] is not None:
                self.sums[name] += row[name]
                self.counts[name] += 1

    def mean(self, name: str, absent: str = NO_MEAN) -> float | str:
        return round(self.sums[name] / self.counts[name], 2) if self.counts[name] else absent


@dataclass(frozen=True, slots=True)
class _RunScores:
    run: Run
    system: System
    judges: Mapping[str, RunEvaluator]
    index: RunEvaluator
    lines: Mapping[int, int]  # case -> the line that it stood on, else its place
    as_zero: bool


def esi_archive(run: Run) -> Iterator[bytes]:
    """Yield a ZIP archive of the files of an ESI run."""
    with TemporaryDirectory(prefix="evalsite-esi-") as folder:
        paths = write_esi_files(run=run, folder=Path(folder))
        yield from write_zip((path.name, [path.read_bytes()]) for path in paths)


def write_esi_files(*, run: Run, folder: Path) -> list[Path]:
    """Write detailed JSONL, summary JSON and skipped log for each system of an ESI run; return the paths."""
    written: list[Path] = []
    used_names: set[str] = set()
    for system in run.systems.order_by("name"):
        names = file_names(run, system, used_names)
        used_names.update(names.values())
        written += _write_system(run, system, {kind: folder / name for kind, name in names.items()})
    return written


def file_names(run: Run, system: System, used_names: Collection[str] = ()) -> dict[str, str]:
    """Return the names of a system's results, summary and skipped log by the run's templates.

    A name that is used already, as by the same model on another server, ends in the system's id.
    """
    values = {
        "dataset_short_name": run.suite.name,
        "model_id": system.model or system.name,
        "prompt_version": system.prompt_version or "IMPORTED",
    }
    names: dict[str, str] = {}
    for kind, template in {**FILE_TEMPLATES, **run.options.get("files", {})}.items():
        name = _short(file_name(template, values))
        if name in used_names or name in names.values():
            stem, dot, ending = name.rpartition(".")
            name = f"{stem or ending}_{system.pk}_{kind}{dot}{ending if stem else ''}"
        names[kind] = name
    return names


def _short(name: str) -> str:
    """Return a name that file systems take: one that is too long is cut and ends in its hash."""
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    ending = Path(name).suffix[:20]
    head = name.encode()[: MAX_NAME_BYTES - 9 - len(ending.encode())].decode(errors="ignore")
    return f"{head}_{text_hash(name)[:8]}{ending}"


def _write_system(run: Run, system: System, paths: Mapping[str, Path]) -> list[Path]:
    totals = _Totals()
    with (
        paths["results"].open("w", encoding="utf-8") as results,
        paths["skipped"].open("w", encoding="utf-8") as skipped,
    ):
        for row in _rows(run, system):
            totals.add(row)
            results.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
            if row["status"] != EsiStatus.COMPLETED:
                skipped.write(f"{row['id']}\t{row['status']}\t{row['processing_error_details'] or ''}\n")
    summary = json.dumps(_summary(run, system, totals, paths), indent=2, ensure_ascii=False)
    paths["summary"].write_text(summary + "\n", encoding="utf-8")
    return list(paths.values())


def _summary(run: Run, system: System, totals: _Totals, paths: Mapping[str, Path]) -> JsonDict:
    """Return the summary; its paths start at its own folder."""
    return {
        "combination_details": {
            "dataset_short_name": run.suite.name,
            "worker_model_id": system.model or system.name,
            "prompt_version": system.prompt_version,
        },
        "processing_summary": {
            "total_input_items": totals.total,
            "items_pipeline_completed_for_scoring": totals.statuses[EsiStatus.COMPLETED],
            **{name: totals.statuses[status] for name, status in COUNTED.items()},
        },
        "metrics_summary": {
            **{f"average_{name}": totals.mean(key) for name, key in SCORE_NAMES.items()},
            "average_esi": totals.mean("esi_score"),
            **{
                f"average_{name}_response_times_seconds": totals.mean(f"{name}_response_time_seconds", NO_TIME)
                for name in TIMES
            },
        },
        "final_output_file": paths["results"].name,
        "skipped_items_log": paths["skipped"].name if totals.total > totals.statuses[EsiStatus.COMPLETED] else "None",
        "options": {"esi": run.options["esi"], "reading": run.options["reading"]},
    }


def _rows(run: Run, system: System) -> Iterator[JsonDict]:
    """Yield one row for each line of the data set, in its order; lines without an item among them."""
    links = SuiteCase.objects.filter(suite=run.suite_id).values_list("case_id", "position", "case__metadata")
    lines = {case_id: int(facts.get("line") or position + 1) for case_id, position, facts in links}
    run_scores = _RunScores(run, system, *parts_of(run), lines, options_of(run).unknown_as_zero)
    problems = sorted(run.options["input_problems"], key=lambda problem: problem["line"])
    for row in _item_rows(run_scores):
        while problems and problems[0]["line"] < row["id"]:
            yield _problem_row(run_scores, problems.pop(0))
        yield row
    for problem in problems:
        yield _problem_row(run_scores, problem)


def _item_rows(run_scores: _RunScores) -> Iterator[JsonDict]:
    items = EsiItem.objects.filter(run=run_scores.run, system=run_scores.system).order_by("position")
    for chunk in batches(items.select_related("case__prompt", "response").iterator(chunk_size=CHUNK), CHUNK):
        yield from _chunk_rows(run_scores, chunk)


def _chunk_rows(run_scores: _RunScores, chunk: Sequence[EsiItem]) -> Iterator[JsonDict]:
    responses = [item.response_id for item in chunk if item.response_id]
    names = {evaluator.pk: name for name, evaluator in run_scores.judges.items()}
    verdicts = {
        (names[row.evaluator_id], row.response_id): row
        for row in Verdict.objects.filter(evaluator__in=names, response_id__in=responses)
    }
    scores = {
        row.response_id: row for row in Score.objects.filter(evaluator=run_scores.index, response_id__in=responses)
    }
    call_ids = [pk for item in chunk for pk in item.call_ids]
    call_ids += [pk for row in verdicts.values() for pk in row.call_ids]
    calls = Call.objects.defer("request").in_bulk(call_ids)
    for item in chunk:
        judge_verdicts = {name: verdicts.get((name, item.response_id or 0)) for name in JUDGES}
        yield _item_row(run_scores, item, judge_verdicts, scores.get(item.response_id or 0), calls)


def _item_row(
    run_scores: _RunScores,
    item: EsiItem,
    verdicts: Mapping[str, Verdict | None],
    score: Score | None,
    calls: Mapping[int, Call],
) -> JsonDict:
    instruction, question = question_of(item.case)
    response = item.response
    correct = _value_of(verdicts["accuracy"], "is_correct")
    rated = _value_of(verdicts["integrity"], "integrity")
    return {
        **_head(run_scores, run_scores.lines[item.case_id], item.status or "NOT_PROCESSED"),
        "original_id": item.case.key,
        "scenario_code": item.case.scenario,
        "instruction": instruction,
        "question": question,
        "reference_answer": item.case.reference,
        "worker_answer_raw": response.text if response else None,
        "worker_answer_cleaned": item.cleaned if response else NO_ANSWER,
        "worker_prompt_tokens": next((calls[pk].prompt_tokens for pk in item.call_ids[-1:] if pk in calls), None),
        "worker_completion_tokens": response.completion_tokens if response else None,
        "worker_response_time_seconds": item.answer_seconds,
        "worker_output_correctly_formatted": item.formatted_ok if response else False,
        "judge_verdict_is_correct": False if correct is None and run_scores.as_zero else correct,
        "integrity_judge_score": int(rated) if rated is not None and float(rated).is_integer() else rated,
        **_judges(run_scores, verdicts, calls),
        **_numbers(run_scores, score),
        "processing_error_details": item.reason or None,
        "usage": {
            "worker": _usage(item.call_ids, calls),
            **{name: _usage(row.call_ids, calls) if row else [] for name, row in verdicts.items()},
        },
    }


def _head(run_scores: _RunScores, line: int, status: str) -> JsonDict:
    return {
        **dict.fromkeys(ROW_FIELDS),
        "id": line,
        "status": status,
        "dataset_short_name": run_scores.run.suite.name,
        "worker_model_id": run_scores.system.model or run_scores.system.name,
        "worker_prompt_version": run_scores.system.prompt_version,
    }


def _judges(run_scores: _RunScores, verdicts: Mapping[str, Verdict | None], calls: Mapping[int, Call]) -> JsonDict:
    """Return who judged, why, and for how long: all calls of a judge together, as Lunar-Bench reports it."""
    fields: JsonDict = {}
    for name, verdict in verdicts.items():
        asked = [calls[pk] for pk in verdict.call_ids if pk in calls] if verdict is not None else []
        fields |= {
            f"{name}_judge_model_id": run_scores.judges[name].options.get("model"),
            f"{name}_judge_reasoning": verdict.rationale if verdict is not None else "",
            f"{name}_judge_response_time_seconds": sum(call.seconds for call in asked) if asked else None,
            f"{name}_judge_raw_output": asked[-1].text if asked else None,
        }
    return fields


def _problem_row(run_scores: _RunScores, problem: JsonObject) -> JsonDict:
    """Return the row of a line that holds no item."""
    return {
        **_head(run_scores, problem["line"], problem["status"]),
        "worker_answer_cleaned": NO_ITEM,
        "worker_output_correctly_formatted": False,
        "judge_verdict_is_correct": False if run_scores.as_zero else None,
        **_numbers(run_scores, None),
        "processing_error_details": problem["reason"],
    }


def _numbers(run_scores: _RunScores, score: Score | None) -> JsonDict:
    """Return sub-scores and index; without a score 0 by Lunar-Bench's options, else null."""
    absent = 0.0 if run_scores.as_zero else None
    detail = score.detail if score is not None else {"sub_scores": {}, "index": absent}
    numbers = {key: detail["sub_scores"].get(name, absent) for name, key in SCORE_NAMES.items()}
    return {**numbers, "esi_score": detail["index"]}


def _value_of(verdict: Verdict | None, key: str) -> Any:
    return verdict.value[key] if verdict is not None and verdict.value is not None else None


def _usage(call_ids: Sequence[int], calls: Mapping[int, Call]) -> list[JsonDict]:
    return [
        {**{name: getattr(calls[pk], name) for name in USAGE}, "prices": calls[pk].prices, **_served_by(calls[pk])}
        for pk in call_ids
        if pk in calls
    ]


def _served_by(call: Call) -> JsonDict:
    """Return who answered a call, under names of their own."""
    names = {"model": "model_served", "system_fingerprint": "system_fingerprint", "request_id": "request_id"}
    return {shown_name: call.reply_head.get(name) for name, shown_name in names.items()}
