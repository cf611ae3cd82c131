"""Checks imports without storing them, and stores them completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import Any, NotRequired, TypedDict

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.base.rows import batches
from evalsite.base.types import JsonDict
from judging.models import Benchmark, ImportBatch, ImportStatus, Prompt, Response, Rubric, Score, Suite, Upload, Verdict
from judging.services.file_imports.import_batches import open_batch
from judging.services.file_imports.intake import ImportOptions, Intake, read_intake
from judging.services.file_imports.pictures import stored_digests, use_pictures, write_pictures
from judging.services.file_imports.record_plans import ImportTarget
from judging.services.file_imports.responses import (
    ResponsePlan,
    coming_prompts,
    plan_responses,
    prompts_of,
    use_responses,
    write_responses,
)
from judging.services.file_imports.rubrics import (
    RubricOrigin,
    RubricPlan,
    plan_rubric,
    rubric_slug_of,
    use_rubric,
    write_rubric,
)
from judging.services.file_imports.staged_rubrics import StagedItem, StagedRubric, Watch, item_tree, unwatched
from judging.services.file_imports.stored_imports import earlier_import, has_judgments, hash_of_files, use_judgments
from judging.services.file_imports.suites import NewSuite, SuitePlan, plan_suite, use_suite, write_suite
from judging.services.long_jobs import persistently
from judging.specs.files.bundles import Files, sources_of
from judging.specs.files.findings import Findings, Problem, Severity, error_rule, warning_rule
from judging.specs.pictures import encode_picture
from judging.specs.records.collected import Collected
from judging.specs.records.file_records import places, sentence
from judging.specs.records.neutral import CaseRecord, ResponseRecord, SuiteSpec, given
from judging.specs.records.recognition import Reading
from judging.specs.rubrics.outlines import outline_of_grading, outline_of_tree
from judging.specs.types import StoredTurn
from judging.stored_content import storable

NO_KNOWN_CASE = error_rule("no-known-case", "Choose the benchmark that has these cases, or import its suite first.")
UNKNOWN_CASES = warning_rule("unknown-case", "These rows are stored but have no effect until a suite has the case.")

SAMPLES = 3
SAMPLE_TEXT = 1200
LISTED = 12
LISTED_WARNINGS = 2_000  # in the list to be downloaded
FIRST_RECORDS = 5  # of each kind
SHOWN_IMAGES = 4  # of one sample
BATCH = 500


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


NOT_BLIND = (
    "No judge is compared with the labels of people, since nothing says that they are blind. If these people had seen "
    "no verdicts of machines, say so: “Labels were given blind” (--blind)."
)


class PartSample(TypedDict):
    """A case, a response or a tree of criteria, as a preview shows it."""

    title: str
    chips: list[str]
    text: str
    reference: str
    outline: JsonDict | None
    images: list[JsonDict]
    messages: list[StoredTurn]


class ImportPart(TypedDict):
    """What an import would do with one kind of what was read, as the preview of an upload is stored."""

    kind: str
    title: str
    name: NotRequired[str]  # of a rubric
    into: str
    is_new: bool
    changes_nothing: bool
    facts: list[dict[str, str | int]]
    notes: list[str]
    samples: list[PartSample]


def _judgment_parts(collected: Collected, earlier: Upload | None, *, is_blind: bool) -> list[ImportPart]:
    """Return the parts of a preview on scores, verdicts, preferences and labels."""
    kinds = {"scores": "Scores", "verdicts": "Verdicts of judges", "preferences": "Preferences", "labels": "Labels"}
    counts = {label: collected.counts[name] for name, label in kinds.items() if collected.counts[name]}
    if not counts:
        return []
    files = ", ".join(log.file for log in collected.logs[:SAMPLES])
    notes = ["Scores and verdicts become a run without calls; labels of people and of the file become tables."]
    if not is_blind and collected.has_opinions_of_people():
        notes.append(NOT_BLIND)
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


def name_as_stored(rubric: StagedRubric, target: ImportTarget) -> None:
    """Give a rubric a name of its own where another benchmark's rubric already has its name."""
    latest = Rubric.objects.filter(slug=rubric_slug_of(rubric.head.name)).order_by("-version").first()
    if latest is not None and latest.benchmark is not None and latest.benchmark != target.benchmark:
        rubric.rename(f"{rubric.head.name} ({target.name})")


def _fact(label: str, value: int, tone: str = "") -> dict[str, str | int]:
    return {"label": label, "value": value, "tone": tone}


def _listed(keys: Sequence[str]) -> str:
    return _shown(keys, len(keys))


def _shown(keys: Sequence[str], count: int) -> str:
    more = count - LISTED
    return ", ".join(keys[:LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _cut(text: str) -> str:
    return text if len(text) <= SAMPLE_TEXT else text[: SAMPLE_TEXT - 1] + "…"


def _suite_part(spec: SuiteSpec, plan: SuitePlan, benchmark_name: str) -> ImportPart:
    facts = [
        _fact("Cases", len(spec.cases)),
        _fact("New", len(plan.new_cases), "ok" if plan.new_cases else ""),
        _fact("Changed", len(plan.changed_cases), "warn" if plan.changed_cases else ""),
        _fact("Reused", plan.reused_cases),
    ]
    if plan.image_count:
        facts.append(_fact("Images", plan.image_count))
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


def _case_sample(case: CaseRecord) -> PartSample:
    sample = _text_sample(case, case.key, given((case.scenario, case.question_type, case.lang)), case.prompt)
    outline = outline_of_grading(case.grading)
    return {**sample, "reference": _cut(case.reference), "outline": outline.as_json() if outline.children else None}


def _responses_to(benchmark: Benchmark | None, keys: Sequence[str]) -> int:
    total = 0
    for batch in batches(keys if benchmark else (), BATCH):
        total += Response.objects.filter(
            prompt__benchmark=benchmark, prompt__key__in=batch, superseded_at__isnull=True
        ).count()
    return total


def _plan_of_responses(intake: Intake, plan: SuitePlan | None, stored: Suite | None) -> ResponsePlan:
    if stored is not None:
        return plan_responses(specs=intake.responses, benchmark=stored.benchmark, prompts=prompts_of(stored))
    assert plan is not None  # reading found a suite, else there were errors
    return plan_responses(specs=intake.responses, benchmark=plan.benchmark, prompts=coming_prompts(plan))


def _responses_part(intake: Intake, plan: ResponsePlan, suite: Suite | None) -> ImportPart:
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
    for batch in batches(responses, BATCH):
        total += Score.objects.filter(response_id__in=batch).count()
        total += Verdict.objects.filter(response_id__in=batch).count()
    return total


def _response_sample(spec: ResponseRecord) -> PartSample:
    chips = [spec.system] + ([f"attempt {spec.attempt}"] if spec.attempt else [])
    return _text_sample(spec, spec.case_key, chips, spec.text)


def _text_sample(spec: CaseRecord | ResponseRecord, title: str, chips: list[str], text: str) -> PartSample:
    """Return a sample with as many images and turns as a preview shows."""
    return {
        "title": title,
        "chips": chips,
        "text": _cut(text),
        "reference": "",
        "outline": None,
        "images": [asdict(image) for image in spec.images[:SHOWN_IMAGES]],
        "messages": list(spec.messages[:LISTED]),
    }


def _rubric_part(rubric: StagedRubric, plan: RubricPlan, intake: Intake, findings: Findings) -> ImportPart:
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
        unknown = rubric.unknown(known_keys)
    if not unknown.count:
        return 0
    location, keyed = rubric.source_of(unknown.first[0]) or "", rubric.keyed_count()
    name = intake.target.name if intake.target else ""
    shown = _shown(unknown.first, unknown.count)
    if unknown.count == keyed:
        message = f"The benchmark {name} has none of the cases of this rubric."
        findings.add(NO_KNOWN_CASE, rubric.head.name, location, message, shown)
    else:
        message = f"The benchmark {name} does not have {unknown.count:,} of the {keyed:,} cases: {shown}."
        findings.add(UNKNOWN_CASES, rubric.head.name, location, message, unknown.first[0])
    return unknown.count


def _item_sample(item: StagedItem) -> PartSample:
    chips = [item.source] if item.source else []
    sample = _text_sample(CaseRecord(), item.case_key or "The whole benchmark", chips, "")
    return {**sample, "outline": outline_of_tree(item_tree(item)).as_json()}


MOST_PATHS = 12  # that a command shown on a page names


class ImportRefused(ValueError):
    """The upload has errors; nothing was stored. `problems` lists them."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


@dataclass(slots=True)
class CheckedImport:
    """A dry run: what was read, what would be done, and everything wrong with it."""

    intake: Intake
    files: Files
    options: ImportOptions
    problems: tuple[Problem, ...] = ()
    content_hash: str = ""  # of the files, where they had to be looked for among earlier imports
    parts: list[ImportPart] = field(default_factory=list)  # what would be done, for the page
    changes_nothing: bool = False  # all of it is stored already
    suite: SuitePlan | None = None
    responses: ResponsePlan | None = None

    def plan(self, earlier: Upload | None) -> None:
        """Find what storing an intake without errors would create, change, reuse and make stale. `earlier` is the
        import that has stored the judgments of the same files."""
        intake, findings = self.intake, Findings()
        stored: Suite | None = intake.target.suite if intake.target else None
        if intake.suite is not None and intake.target is not None:
            self.suite = plan_suite(spec=intake.suite, benchmark_slug=intake.target.slug)
            self.parts.append(_suite_part(intake.suite, self.suite, intake.target.name))
            stored = self.suite.suite
        if intake.responses:
            self.responses = _plan_of_responses(intake, self.suite, stored)
            self.parts.append(_responses_part(intake, self.responses, stored))
        for rubric in intake.rubrics:
            if intake.target is not None:
                name_as_stored(rubric, intake.target)
            plan = plan_rubric(staged=rubric, benchmark=intake.target.benchmark if intake.target else None)
            self.parts.append(_rubric_part(rubric, plan, intake, findings))
        if intake.collected is not None:
            self.parts += _judgment_parts(intake.collected, earlier, is_blind=bool(self.options.is_blind))
        self.changes_nothing = all(part["changes_nothing"] for part in self.parts)
        self.problems = (*intake.problems, *findings.as_tuple())

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def is_refused(self) -> bool:
        """Whether there are errors: one, and nothing is imported."""
        return bool(self.errors)

    @property
    def kind(self) -> str:
        return self.intake.kinds[0] if self.intake.kinds else "unknown"

    @property
    def benchmark(self) -> Benchmark | None:
        """The stored benchmark that the files belong to."""
        return self.intake.target.benchmark if self.intake.target else None

    def preview(self) -> JsonDict:
        """Return what the page of the upload shows."""
        target = self.intake.target
        return {
            "kinds": self.intake.kinds,
            "paths": _paths(self.files),
            "parts": self.parts,
            "changes_nothing": self.changes_nothing,
            "target": target.name if target else "",
            "choices": [{"slug": benchmark.slug, "name": benchmark.name} for benchmark in self.intake.choices],
            **reading_preview(self.intake.reading),
        }

    def preview_pictures(self) -> dict[str, bytes]:
        """Return the images that the preview shows and that are not stored yet, as they will be."""
        shown = {image["digest"] for part in self.parts for sample in part["samples"] for image in sample["images"]}
        files = self.intake.pictures
        return {digest: encode_picture(files[digest].data) for digest in sorted(shown - stored_digests(shown))}

    @contextmanager
    def open_written(self, watch: Watch = unwatched) -> Iterator[WrittenImport]:
        """Write what was read into a batch, where nobody sees it until `WrittenImport.use` takes all of it into use.

        Raises:
            ImportRefused: there are errors.
        """
        if self.errors:
            raise ImportRefused(refusal_message(self.errors), self.errors)
        with open_batch() as batch:
            yield _write(batch, self, watch)


def upload_of(checked: CheckedImport, origin: RubricOrigin) -> Upload:
    """Return the entry among the imports of files that a command stores, which keeps none of their bytes."""
    return Upload.objects.create(
        kind=checked.kind,
        file_name=origin.source_name[:300],
        bytes_name="",
        byte_count=sum(source.size for source in sources_of(checked.files)),
        content_hash=checked.content_hash or hash_of_files(sources_of(checked.files)),
        options=checked.options.as_json(),
        status=ImportStatus.DONE,
        preview=checked.preview(),
        problems=storable([asdict(problem) for problem in checked.problems]),
        benchmark=None,
        created_at=origin.at,
        created_by=origin.actor,
    )


def check_import(*, files: Files, options: ImportOptions, watch: Watch = unwatched) -> CheckedImport:
    """Return what importing the files would do. Nothing is stored."""
    intake = read_intake(files, options, watch)
    checked = CheckedImport(intake, files, options, intake.problems)
    if intake.has_errors:
        return checked
    watch("comparing", 0, 0)
    if intake.collected is not None and has_judgments(intake.collected):
        checked.content_hash = hash_of_files(sources_of(files))
    benchmark = intake.target.benchmark if intake.target else None
    benchmark_id = benchmark.pk if benchmark else None
    checked.plan(earlier_import(checked.content_hash, options, benchmark_id) if checked.content_hash else None)
    return checked


def store_import(*, files: Files, options: ImportOptions, source: str, actor: User | None, at: datetime) -> JsonDict:
    """Store everything that the files hold, or nothing, and return what came of it as JSON.

    Raises:
        ImportRefused: there are errors; nothing is stored.
    """
    return store_checked(checked=check_import(files=files, options=options), origin=RubricOrigin(source, actor, at))


def store_checked(*, checked: CheckedImport, origin: RubricOrigin, watch: Watch = unwatched) -> JsonDict:
    """Store what a dry run read, as `store_import` does."""
    with checked.open_written(watch) as written:
        return persistently(partial(_use_with_entry, checked, written, origin))


@transaction.atomic
def _use_with_entry(checked: CheckedImport, written: WrittenImport, origin: RubricOrigin) -> JsonDict:
    """Take what was written into use, with an entry among the imports where that changes anything."""
    upload = upload_of(checked, origin)
    result = written.use(origin, upload)
    if not result["changed"]:
        upload.delete()
        return result
    upload.result = {**result, "finished_at": origin.at.isoformat()}
    upload.benchmark_id = result.get("benchmark", {}).get("id")
    upload.save(update_fields=["result", "benchmark"])
    return {**result, "import": upload.pk}


@dataclass(frozen=True, slots=True)
class WrittenImport:
    """What a dry run read, as a batch holds it."""

    batch: ImportBatch
    intake: Intake
    suite: NewSuite | None
    responses: ResponsePlan | None
    problems: tuple[Problem, ...] = ()  # none are found while writing
    is_blind: bool = False  # as the importer says of labels

    @transaction.atomic
    def use(self, origin: RubricOrigin, upload: Upload) -> JsonDict:
        """Take everything that the batch holds into use and return what came of it as JSON."""
        target, actor, at = self.intake.target, origin.actor, origin.at
        result: JsonDict = {"changed": False, "rubrics": []}
        suite: Suite | None = target.suite if target else None
        benchmark: Benchmark | None = target.benchmark if target else None
        if self.intake.pictures:
            use_pictures(batch=self.batch, at=at)
        if self.suite is not None:
            suite, is_new = use_suite(batch=self.batch, new=self.suite, actor=actor, at=at)
            benchmark = suite.benchmark
            result["suite"] = {
                "id": suite.pk,
                "name": str(suite),
                "created": is_new,
                "cases": suite.case_count,
            }
            result["changed"] |= is_new
        if self.responses is not None and suite is not None:
            plan = self.responses
            use_responses(batch=self.batch, plan=plan, suite=suite, actor=actor, at=at)
            result["responses"] = {
                "new": len(plan.new),
                "changed": len(plan.changed),
                "amended": len(plan.amended),
                "unchanged": plan.unchanged,
                "systems": sorted(plan.systems),
                "count": len(self.intake.responses),
            }
            result["changed"] |= not plan.changes_nothing
        if self.intake.collected is not None:
            made = use_judgments(self.intake.collected, suite, upload, origin, is_blind=self.is_blind)
            result |= made
            result["changed"] |= any(made.values())
        for staged in self.intake.rubrics:
            rubric, is_new = use_rubric(batch=self.batch, staged=staged, benchmark=benchmark, origin=origin)
            result["rubrics"].append({"id": rubric.pk, "name": str(rubric), "created": is_new})
            result["changed"] |= is_new
        if suite is not None:
            result["suite_id"] = suite.pk  # what a run would be started on
        if benchmark is not None:
            result["benchmark"] = {"id": benchmark.pk, "slug": benchmark.slug, "name": benchmark.name}
        return result


def _write(batch: ImportBatch, checked: CheckedImport, watch: Watch) -> WrittenImport:
    intake, target = checked.intake, checked.intake.target
    suite: NewSuite | None = None
    if intake.suite is not None and target is not None:
        plan = checked.suite
        suite = write_suite(batch=batch, spec=intake.suite, slug=target.slug, name=target.name, watch=watch, plan=plan)
    stored = suite.plan.suite if suite else (target.suite if target else None)
    if checked.responses is not None and target is not None:
        prompts = prompts_of(stored) if stored else coming_prompts(suite.plan) if suite else {}
        owner = str(stored or target.name)
        write_responses(batch=batch, plan=checked.responses, prompts=prompts, owner=owner, watch=watch)
    write_pictures(batch=batch, files=intake.pictures, watch=watch)
    for staged in intake.rubrics:
        write_rubric(batch=batch, staged=staged, benchmark=target.benchmark if target else None, watch=watch)
    return WrittenImport(batch, intake, suite, checked.responses, is_blind=bool(checked.options.is_blind))


def _paths(files: Files) -> list[str]:
    """Return the files and folders of an upload as a command names them; none where they are many."""
    tops = list(dict.fromkeys(source.path.partition("/")[0] for source in sources_of(files)))
    return tops if len(tops) <= MOST_PATHS else []


def refusal_message(errors: tuple[Problem, ...]) -> str:
    """Return the sentence that a page and a command show: the first error and how many more there are."""
    more = len(errors) - 1
    return str(errors[0]) + (f" ({more:,} more error{'s' if more > 1 else ''}.)" if more else "")
