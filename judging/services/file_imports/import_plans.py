"""What an import would change, as pages and commands show it before anything is stored, and the command for it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any

from evalsite.base.json_types import JsonDict
from judging.models import Benchmark, Prompt, Response, Rubric, Score, Suite, Upload, Verdict
from judging.services.file_imports.intake import ImportOptions, Intake
from judging.services.file_imports.responses import ResponsePlan, coming_prompts, plan_responses, prompts_of
from judging.services.file_imports.rubrics import RubricPlan, plan_rubric, rubric_slug_of
from judging.services.file_imports.staged_rubrics import StagedItem, StagedRubric, item_tree
from judging.services.file_imports.suites import SuitePlan, plan_suite
from judging.services.storable import storable
from judging.specs.files.findings import Findings, Problem, error_rule, warning_rule
from judging.specs.records.collected import Collected
from judging.specs.records.recognition import Reading
from judging.specs.records.warnings import places, sentence
from judging.specs.rubrics.outlines import outline_of_grading, outline_of_tree
from judging.specs.types import CaseSpec, ResponseSpec, SuiteSpec

NO_KNOWN_CASE = error_rule("no-known-case", "Choose the benchmark that has these cases, or import its suite first.")
UNKNOWN_CASES = warning_rule("unknown-case", "These rows are stored but have no effect until a suite has the case.")

SAMPLES = 3
SAMPLE_TEXT = 1200
LISTED = 12
LISTED_WARNINGS = 2_000  # in the list to be downloaded
FIRST_RECORDS = 5  # of each kind
SHOWN_IMAGES = 4  # of one sample
BATCH = 500


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """The parts of an import as JSON for the page, whether anything would change, and what else is wrong."""

    parts: tuple[JsonDict, ...]
    changes_nothing: bool
    problems: tuple[Problem, ...] = ()
    suite: SuitePlan | None = None
    responses: ResponsePlan | None = None


def plan_import(intake: Intake, *, earlier: Upload | None = None) -> ImportPlan:
    """Return what storing an intake without errors would create, change, reuse and make stale. `earlier` is the import
    that has stored the judgments of the same files."""
    parts: list[JsonDict] = []
    findings = Findings()
    stored: Suite | None = intake.target.suite if intake.target else None
    plan: SuitePlan | None = None
    response_plan: ResponsePlan | None = None
    if intake.suite is not None and intake.target is not None:
        plan = plan_suite(spec=intake.suite, benchmark_slug=intake.target.slug)
        parts.append(_suite_part(intake.suite, plan, intake.target.name))
        stored = plan.suite
    if intake.responses:
        response_plan = _plan_of_responses(intake, plan, stored)
        parts.append(_responses_part(intake, response_plan, stored))
    for rubric in intake.rubrics:
        benchmark = intake.target.benchmark if intake.target else None
        name_as_stored(rubric, benchmark)
        parts.append(_rubric_part(rubric, plan_rubric(staged=rubric, benchmark=benchmark), intake, findings))
    if intake.reading is not None and intake.reading.collected is not None:
        parts += _judgment_parts(intake.reading.collected, earlier)
    changes_nothing = all(part["changes_nothing"] for part in parts)
    return ImportPlan(tuple(parts), changes_nothing, findings.as_tuple(), plan, response_plan)


def reading_preview(reading: Reading | None) -> JsonDict:
    """Return what a page shows of the tables and logs of an upload: what each was taken for and why, its columns, the
    first records of each kind as they will be stored, what is left out, and warnings by kind."""
    if reading is None:
        return {}
    taken = [
        {
            "file": row.part.file,
            "sheet": row.part.name,
            "kind": row.shape.kind,
            "label": row.shape.label,
            "why": row.shape.why,
            "columns": [asdict(column) for column in row.columns],
        }
        for row in reading.taken
    ]
    head: JsonDict = {"taken": storable(taken), "has_columns": any(row["columns"] for row in taken)}
    if reading.collected is None:
        return head
    groups = reading.collected.warnings()
    return head | {
        "counts": dict(reading.collected.counts),
        "stored": storable(reading.collected.document(FIRST_RECORDS)),
        "warnings": {group.kind: group.count for group in groups},
        "remarks": storable([{"text": sentence(group), "places": places(group)} for group in groups]),
        "warning_rows": storable(list(islice(reading.collected.warning_rows(), LISTED_WARNINGS))),
        "left_out": storable(reading.collected.left_out()),
    }


def _judgment_parts(collected: Collected, earlier: Upload | None) -> list[JsonDict]:
    """Return the parts of a preview on scores, verdicts, preferences and labels."""
    kinds = {"scores": "Scores", "verdicts": "Verdicts of judges", "preferences": "Preferences", "labels": "Labels"}
    counts = {label: collected.counts[name] for name, label in kinds.items() if collected.counts[name]}
    if not counts:
        return []
    files = ", ".join(log.file for log in collected.logs[:SAMPLES])
    notes = ["Scores and verdicts become a run without calls; labels of people and of the file become tables."]
    if earlier is not None:
        notes = [f"The same files were imported on {earlier.created_at:%Y-%m-%d}. Nothing will change."]
    return [
        {
            "kind": "judgments",
            "title": "Scores and labels",
            "into": files or "runs and label tables",
            "is_new": False,
            "changes_nothing": earlier is not None,
            "facts": [_fact(label, count) for label, count in counts.items()],
            "notes": notes,
            "samples": [],
        }
    ]


def name_as_stored(rubric: StagedRubric, benchmark: Benchmark | None) -> None:
    """Give a rubric a name of its own where another benchmark's rubric already has its name."""
    latest = Rubric.objects.filter(slug=rubric_slug_of(rubric.head.name)).order_by("-version").first()
    if latest is not None and benchmark is not None and latest.benchmark_id not in (None, benchmark.pk):
        rubric.rename(f"{rubric.head.name} ({benchmark.name})")


def _fact(label: str, value: object, tone: str = "") -> JsonDict:
    return {"label": label, "value": value, "tone": tone}


def _listed(keys: Sequence[str]) -> str:
    return _shown(keys, len(keys))


def _shown(keys: Sequence[str], count: int) -> str:
    more = count - LISTED
    return ", ".join(keys[:LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _cut(text: str) -> str:
    return text if len(text) <= SAMPLE_TEXT else text[: SAMPLE_TEXT - 1] + "…"


def _suite_part(spec: SuiteSpec, plan: SuitePlan, benchmark_name: str) -> JsonDict:
    facts = [
        _fact("Cases", len(spec.cases)),
        _fact("New", len(plan.new_cases), "ok" if plan.new_cases else ""),
        _fact("Changed", len(plan.changed_cases), "warn" if plan.changed_cases else ""),
        _fact("Reused", plan.reused_cases),
    ]
    if any(case.images for case in spec.cases):
        facts.append(_fact("Images", len({image.digest for case in spec.cases for image in case.images})))
    stale = _responses_to(plan.benchmark, plan.changed_prompts)
    if stale:
        facts.append(_fact("Responses to an earlier wording", stale, "warn"))
    notes = [f"Changed: {_listed(plan.changed_cases)}."] if plan.changed_cases else []
    if plan.changed_prompts:
        notes.append(f"The prompt changed in {_listed(plan.changed_prompts)}; these cases need new responses.")
    if plan.suite is not None:
        notes = [f"{plan.suite} already has exactly these cases. Nothing will change."]
    return {
        "kind": "suite",
        "title": f"Suite {spec.name}",
        "into": benchmark_name if plan.benchmark else f"new benchmark {benchmark_name}",
        "is_new": plan.benchmark is None,
        "changes_nothing": plan.changes_nothing,
        "facts": facts,
        "notes": notes,
        "samples": [_case_sample(case) for case in _sampled(spec.cases)],
    }


def _sampled(items: Sequence[Any]) -> list[Any]:
    """Return the first, the middle and the last."""
    return [items[index] for index in _sample_positions(len(items))]


def _sample_positions(count: int) -> list[int]:
    return sorted({0, count // 2, count - 1})[:SAMPLES] if count else []


def _case_sample(case: CaseSpec) -> JsonDict:
    outline = outline_of_grading(case.grading)
    return {
        "title": case.key,
        "chips": [chip for chip in (case.scenario, case.question_type, case.lang) if chip],
        "text": _cut(case.prompt),
        "reference": _cut(case.reference),
        **_beside_text(case),
        "outline": outline.as_json() if outline.children else None,
    }


def _responses_to(benchmark: Benchmark | None, keys: Sequence[str]) -> int:
    total = 0
    for start in range(0, len(keys) if benchmark else 0, BATCH):
        batch = keys[start : start + BATCH]
        total += Response.objects.filter(
            prompt__benchmark=benchmark, prompt__key__in=batch, superseded_at__isnull=True
        ).count()
    return total


def _plan_of_responses(intake: Intake, plan: SuitePlan | None, stored: Suite | None) -> ResponsePlan:
    if stored is not None:
        return plan_responses(specs=intake.responses, benchmark=stored.benchmark, prompts=prompts_of(stored))
    assert plan is not None  # reading found a suite, else there were errors
    return plan_responses(specs=intake.responses, benchmark=plan.benchmark, prompts=coming_prompts(plan))


def _responses_part(intake: Intake, plan: ResponsePlan, suite: Suite | None) -> JsonDict:
    facts = [
        _fact("Responses", len(intake.responses)),
        _fact("New", len(plan.new), "ok" if plan.new else ""),
        _fact("Replace an earlier text", len(plan.changed), "warn" if plan.changed else ""),
        _fact("Already stored", plan.unchanged),
    ]
    if plan.amended:
        facts.append(_fact("Stored with changed details", len(plan.amended), "ok"))
    stale = _assessed(plan.outdated)
    if stale:
        facts.append(_fact("Scores and verdicts of replaced texts", stale, "warn"))
    notes = [f"Systems: {_listed([f'{name} ({count:,})' for name, count in sorted(plan.systems.items())])}."]
    if plan.new_systems:
        notes.append(f"New among them: {_listed(plan.new_systems)}.")
    if plan.changed:
        notes.append("Replaced texts are kept with their scores, but reports use the new ones.")
    if plan.amended:
        notes.append("If only details such as token counts differ, they are updated and the response keeps its scores.")
    changes_nothing = plan.changes_nothing
    if changes_nothing:
        notes.append("All of these responses are already stored. Nothing will change.")
    into = str(suite) if suite else (intake.target.name if intake.target else "")
    return {
        "kind": "responses",
        "title": "Responses",
        "into": into,
        "is_new": False,
        "changes_nothing": changes_nothing,
        "facts": facts,
        "notes": notes,
        "samples": [_response_sample(spec) for spec in _sampled(intake.responses)],
    }


def _assessed(responses: Sequence[int]) -> int:
    total = 0
    for start in range(0, len(responses), BATCH):
        batch = responses[start : start + BATCH]
        total += Score.objects.filter(response_id__in=batch).count()
        total += Verdict.objects.filter(response_id__in=batch).count()
    return total


def _response_sample(spec: ResponseSpec) -> JsonDict:
    chips = [spec.system] + ([f"attempt {spec.attempt}"] if spec.attempt else [])
    return {
        "title": spec.case_key,
        "chips": chips,
        "text": _cut(spec.text),
        "reference": "",
        **_beside_text(spec),
        "outline": None,
    }


def _beside_text(spec: CaseSpec | ResponseSpec) -> JsonDict:
    """Return the images and turns of a sample, as many as a preview shows."""
    return {"images": [asdict(image) for image in spec.images[:SHOWN_IMAGES]], "messages": list(spec.messages[:LISTED])}


def _rubric_part(rubric: StagedRubric, plan: RubricPlan, intake: Intake, findings: Findings) -> JsonDict:
    unknown = _check_cases(rubric, plan, intake, findings)
    facts = [_fact("Criteria trees", rubric.item_count)]
    if plan.latest is not None or not plan.changes_nothing:  # one known under another name brings nothing new
        facts.append(_fact("New", plan.added.count, "ok" if plan.added.count else ""))
    if plan.latest is not None:
        facts += [
            _fact("Changed", plan.changed.count, "warn" if plan.changed.count else ""),
            _fact("Removed", plan.removed.count, "warn" if plan.removed.count else ""),
            _fact("Version", plan.latest.version + 1 if plan.rubric is None else plan.rubric.version),
        ]
    if unknown:
        facts.append(_fact("Cases not in the benchmark", unknown, "warn"))
    notes = [f"The rubric has the shape “{rubric.head.shape}”."]
    if plan.rubric is not None:
        notes = [f"{plan.rubric} already has exactly this content. Nothing will change."]
    elif plan.latest is not None:
        stale = Verdict.objects.filter(evaluator__rubric=plan.latest).count()
        notes.append(f"{plan.latest} stays as it is" + (f", with its {stale:,} verdicts." if stale else "."))
    return {
        "kind": "rubric",
        "title": f"Rubric {rubric.head.name}",
        "name": rubric.head.name,
        "into": intake.target.name if intake.target else "any benchmark",
        "is_new": plan.latest is None and not plan.changes_nothing,
        "changes_nothing": plan.changes_nothing,
        "facts": facts,
        "notes": notes,
        "samples": [_item_sample(item) for item in rubric.sample(_sample_positions(rubric.item_count))],
    }


def _check_cases(rubric: StagedRubric, plan: RubricPlan, intake: Intake, findings: Findings) -> int:
    """Return how many trees are for cases that the benchmark does not have; all of them is an error."""
    unknown = plan.unknown_cases
    if intake.target is not None and intake.suite is not None:
        benchmark = intake.target.benchmark
        stored = Prompt.objects.filter(benchmark=benchmark).values_list("key", flat=True) if benchmark else None
        coming = (case.key for case in intake.suite.cases)
        known_keys = chain(stored.iterator(chunk_size=BATCH), coming) if stored is not None else coming
        unknown = rubric.unknown(known_keys, LISTED)
    if not unknown.count:
        return 0
    location, keyed = rubric.source_of(unknown.first[0]), rubric.keyed_count()
    name = intake.target.name if intake.target else ""
    shown = _shown(unknown.first, unknown.count)
    if unknown.count == keyed:
        message = f"The benchmark {name} has none of the cases of this rubric."
        findings.add(NO_KNOWN_CASE, rubric.head.name, location, message, shown)
    else:
        message = f"The benchmark {name} does not have {unknown.count:,} of the {keyed:,} cases: {shown}."
        findings.add(UNKNOWN_CASES, rubric.head.name, location, message, unknown.first[0])
    return unknown.count


def _item_sample(item: StagedItem) -> JsonDict:
    return {
        "title": item.case_key or "The whole benchmark",
        "chips": [item.source] if item.source else [],
        "text": "",
        "reference": "",
        "images": [],
        "messages": [],
        "outline": outline_of_tree(item_tree(item)).as_json(),
    }


def command_of(upload: Upload) -> str:
    """Return the command for the files of an upload, as a shell takes it; empty where it has too many to name."""
    paths = upload.preview.get("paths", ())
    if not paths:
        return ""
    options = ImportOptions.of_json(upload.options)
    pairs = [
        ("--kind", options.kind),
        ("--benchmark", options.benchmark),
        ("--suite", str(options.suite_id or "")),
        ("--system", options.system),
        ("--rubric", options.rubric),
        ("--encoding", options.encoding),
        ("--step", options.step),
        ("--map", ",".join("=".join(pair) for pair in options.meanings)),
        *(("--rename", "=".join(pair)) for pair in options.renames),
        *(("--map", f"{role}={column}") for column, role in options.columns),
    ]
    words = ["manage.py", "import", *paths, *(word for pair in pairs if pair[1] for word in pair)]
    flags = {
        "--leave-out-bad-rows": options.leave_out_bad_rows,
        "--new-benchmark": options.is_new_benchmark,
        "--allow-missing-files": options.allow_missing_files,
        "--blind": options.is_blind,
    }
    return shlex.join([*words, *(flag for flag, is_set in flags.items() if is_set)])
