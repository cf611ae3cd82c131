"""Reads an upload: detects what it contains and reads every part, without storing anything.

Suites with graders, response folders, ScaleEval's files, criteria and rubrics have readers of their own; everything
else is a table or a log of a tool, and goes through the one recogniser (`judging.specs.records`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from evalsite.base.types import JsonDict
from judging.models import Benchmark
from judging.services.file_imports.pictures import is_stored_copy
from judging.services.file_imports.record_plans import (
    SAMPLE,
    ImportTarget,
    RecordPlanner,
    UnknownTarget,
    find_target,
    known_cases,
    new_target,
)
from judging.services.file_imports.staged_rubrics import StagedRubric, Watch, stage_reading, stage_rubric, unwatched
from judging.specs.files.bundles import (
    HELD_BYTES,
    UNSAFE_PATH,
    Bundle,
    Files,
    HeldFiles,
    SourceFile,
    UnsafePath,
    normalise_path,
    sources_of,
)
from judging.specs.files.encodings import foreign_format
from judging.specs.files.findings import Findings, Parsed, Problem, Severity, error_rule
from judging.specs.files.yaml_files import unreadable_yaml
from judging.specs.pictures import PictureFile, report_unused_images, shelf_of
from judging.specs.records.collected import Collected
from judging.specs.records.files.containers import BAD_PACK, BadContainer, Expansion
from judging.specs.records.files.part_reading import FOREIGN_FORMAT, PASSED_OVER, read_parts
from judging.specs.records.neutral import ResponseRecord, SuiteSpec
from judging.specs.records.parts import Part, RecordOptions
from judging.specs.records.recognition import Reading, is_of_a_tool, read_recognised
from judging.specs.records.shapes import COMPANION
from judging.specs.replies import KnownCases, parse_responses_folder, parse_scaleeval_responses, scaleeval_results
from judging.specs.rubrics.rubric_nested import find_criteria, parse_criteria
from judging.specs.rubrics.rubric_tables import open_rubric
from judging.specs.suites.cases_yaml import MissingFiles
from judging.specs.suites.suites_yaml import parse_suite
from judging.specs.upload_kinds import UploadKind, is_rubric, may_be_columns, own_kinds, own_paths

NOTHING_READ = error_rule("nothing-read", "Is this the right file?")
TWO_KINDS = error_rule("two-shapes", "Say --kind level_rubric or --kind table.", "Choose one under Kind.")
EMPTY_FILE = error_rule("empty-file", "Is this the right file?")


PAIRED = ("columns", "meanings", "renames")  # options whose order counts: pairs, as JSON keeps them


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the person who imports may state in addition to the file. Empty: detected from the file."""

    kind: str = ""  # an UploadKind, or the kind of a shape
    benchmark: str = ""  # slug or name of a stored one, else the name of a new one
    is_new_benchmark: bool = False  # the name is right, though a stored one has a name like it
    suite_id: int | None = None  # what responses answer; None: the benchmark's newest
    system: str = ""  # for responses that name none
    rubric: str = ""  # name of the rubric, of its newest version or of a new one
    allow_missing_files: bool = False
    columns: tuple[tuple[str, str], ...] = ()  # of tables, each with its role; one that is not named: recognised
    meanings: tuple[tuple[str, str], ...] = ()  # "A", "B" or "tie" with the value that says so
    renames: tuple[tuple[str, str], ...] = ()  # name of a system, judge or rater with the one to be taken
    encoding: str = ""
    leave_out_bad_rows: bool = False
    step: str = ""  # of traces: the name of the spans to be taken; empty: each trace as a whole
    adds_cases: bool = False  # the newest suite keeps its cases, and these follow
    is_blind: bool | None = None  # labels: nobody had seen machine verdicts; None: those of a benchmark's authors

    def as_json(self) -> JsonDict:
        return asdict(self)

    @classmethod
    def of_json(cls, data: JsonDict) -> ImportOptions:
        pairs = {name: tuple(map(tuple, data[name])) for name in PAIRED if name in data}
        return cls(**{name: data[name] for name in cls.__dataclass_fields__ if name in data} | pairs)

    def reads_as(self, other: ImportOptions) -> bool:
        """Return whether the same is said of what files hold, whatever is said of where it goes."""
        return (self.of_records(), bool(self.is_blind)) == (other.of_records(), bool(other.is_blind))

    def of_records(self) -> RecordOptions:
        """Return what is said of tables and records."""
        said = {name: getattr(self, name) for name in RecordOptions.__dataclass_fields__}
        kind = "" if self.kind in set(UploadKind) else self.kind
        return RecordOptions(**said | {name: dict(said[name]) for name in PAIRED} | {"kind": kind})


@dataclass(slots=True)
class Intake:
    """An upload as read. `target` is None where nothing in it needs a benchmark."""

    kinds: list[str] = field(default_factory=list)  # each once
    target: ImportTarget | None = None
    suite: SuiteSpec | None = None
    responses: Sequence[ResponseRecord] = ()
    rubrics: list[StagedRubric] = field(default_factory=list)
    problems: tuple[Problem, ...] = ()
    choices: Sequence[Benchmark] = ()  # those that fit, where more than one does
    reading: Reading | None = None  # of the tables and logs
    pictures: Mapping[str, PictureFile] = field(default_factory=dict)  # that cases and responses name, by hash

    @property
    def has_errors(self) -> bool:
        return any(problem.severity is Severity.ERROR for problem in self.problems)

    @property
    def collected(self) -> Collected | None:
        """The records that its tables and logs hold."""
        return self.reading.collected if self.reading is not None else None


def read_intake(files: Files, options: ImportOptions, watch: Watch = unwatched) -> Intake:
    """Return everything that the files hold, with the benchmark it belongs to and all that is wrong with it."""
    findings = Findings()
    sources = _expanded(sources_of(files), findings)
    if findings.has_errors:
        return Intake(problems=findings.as_tuple())
    if not any(source.size for source in sources):
        findings.add(EMPTY_FILE, ", ".join(source.path for source in sources[:3]), "", "The file is empty.")
        return Intake(problems=findings.as_tuple())
    try:
        return _UploadReader(sources, options, watch, findings).read()
    except BadContainer as failure:  # what is damaged further on is seen only where it is read
        findings.add(BAD_PACK, "", "", str(failure))
        return Intake(problems=findings.as_tuple())


def _expanded(files: Sequence[SourceFile], findings: Findings) -> list[SourceFile]:
    """Return the files of an upload out of their archives, each under a path that leads nowhere else."""
    expansion = Expansion(findings)
    for file in files:
        try:
            path = normalise_path(file.path)
        except UnsafePath as refusal:
            findings.add(UNSAFE_PATH, file.path, "", str(refusal), file.path)
            continue
        expansion.add(replace(file, path=path))
    return list(expansion.files.values())


def _without_folder(sources: Sequence[SourceFile]) -> list[SourceFile]:
    """Return files without the one folder that all of them lie in, as suites name their files."""
    tops = {source.path.partition("/")[0] for source in sources}
    if len(tops) != 1 or not all("/" in source.path for source in sources):
        return list(sources)
    return _without_folder([replace(source, path=source.path.partition("/")[2]) for source in sources])


@dataclass(slots=True)
class _UploadReader:
    sources: Sequence[SourceFile]
    options: ImportOptions
    watch: Watch
    findings: Findings
    intake: Intake = field(default_factory=Intake)

    @property
    def missing_files(self) -> MissingFiles:
        return "warn" if self.options.allow_missing_files else "error"

    def tell(self, done: int, total: int) -> None:
        """Pass on how many rows are read."""
        self.watch("reading", done, total)

    def read(self) -> Intake:
        bundle = _bundle(_without_folder(self.sources))
        if own_kinds(bundle) or self.options.kind in set(UploadKind):
            self.sources = self._without_foreign(_without_folder(self.sources), bundle)
        bundle = _bundle(self.sources)
        self.findings.extend(unreadable_yaml(bundle))
        if not self.findings.has_errors:
            shelf = shelf_of(bundle)
            shelf.is_cut, shelf.is_stored_copy = self.options.allow_missing_files, is_stored_copy
            self._read_all(bundle)
        self.intake.kinds = list(dict.fromkeys(self.intake.kinds))
        self.intake.problems, self.intake.pictures = self.findings.as_tuple(), shelf_of(bundle).files
        return self.intake

    def _without_foreign(self, sources: Sequence[SourceFile], bundle: Bundle) -> list[SourceFile]:
        """Leave out documents of formats that nothing reads, which readers of their own do not look at: each is named,
        or refused where there is nothing else."""
        foreign = {path: words for path in bundle if (words := foreign_format(bundle.read(path)))}
        rest = [source for source in sources if source.path not in foreign]
        for path, words in foreign.items():
            self.findings.add(PASSED_OVER if rest else FOREIGN_FORMAT, path, "", words)
        return rest

    def _read_all(self, bundle: Bundle) -> None:
        is_own = self.options.kind in set(UploadKind)
        kinds = [UploadKind(self.options.kind)] if is_own else [] if self.options.kind else own_kinds(bundle)
        for kind in kinds:
            self._read_own(kind, bundle)
        if not is_own and not self.findings.has_errors:
            self._read_records(bundle, own_paths(bundle, kinds))
        if not self.findings.has_errors:
            self._place_rubrics()
            report_unused_images(bundle, self.findings)
        collected = self.intake.collected
        has_records = collected is not None and any(collected.counts.values())
        is_nothing = not (self.intake.suite or self.intake.responses or self.intake.rubrics or has_records)
        if is_nothing and not self.findings.has_errors:
            description = "of the chosen kind" if self.options.kind else "that can be imported"
            names = ", ".join(source.path for source in self.sources[:3])
            message = f"The upload contains nothing {description}.{self._left_out()}"
            self.findings.add(NOTHING_READ, names, "", message)

    def _left_out(self) -> str:
        """Return what was left out and why, as a sentence; empty where nothing was."""
        left_out = self.intake.collected.left_out()[:3] if self.intake.collected is not None else []
        reasons = (f"{count:,} × {what}, {why}" for what, why, count in left_out)
        return f" Left out: {'; '.join(reasons)}." if left_out else ""

    def _read_own(self, kind: UploadKind, bundle: Bundle) -> None:
        """Read what a reader of its own takes."""
        self.intake.kinds.append(kind)
        if kind is UploadKind.SUITE:
            self._take_suite(parse_suite(bundle, missing_files=self.missing_files, report_progress=self.tell))
        elif kind is UploadKind.RESPONSES_FOLDER:
            self._read_folders(bundle)
        elif kind is UploadKind.SCALEEVAL_RESPONSES:
            name = self.options.benchmark or "ScaleEval"
            for path in scaleeval_results(bundle)[:1]:
                message = "Results of judges and debates beside ScaleEval's responses were passed over."
                self.findings.add(PASSED_OVER, path, "", f"{message} Import the same folder under Debates for them.")
            parsed = parse_scaleeval_responses(bundle, name=name, report_progress=self.tell)
            self.findings.extend(parsed.problems)
            if parsed.value is not None:
                suite, responses = parsed.value
                self._take_suite(Parsed(suite))
                self.intake.responses = (*self.intake.responses, *responses)
        elif kind is UploadKind.CRITERIA:
            self._read_criteria(bundle)
        else:
            for path in bundle:
                self._read_rubric(bundle, path)

    def _take_suite(self, parsed: Parsed[SuiteSpec]) -> None:
        self.findings.extend(parsed.problems)
        if parsed.value is not None and self.intake.suite is None:
            self.intake.suite = parsed.value
            named, is_new = self.options.benchmark, self.options.is_new_benchmark
            self._aim(lambda: new_target(named, self.intake.suite.name if self.intake.suite else "", is_new=is_new))

    def _read_criteria(self, bundle: Bundle) -> None:
        for path in find_criteria(bundle) or [""]:
            parsed = parse_criteria(bundle, path)
            self.findings.extend(parsed.problems)
            if parsed.value is not None:
                self.intake.rubrics.append(stage_rubric(parsed.value))

    def _read_rubric(self, bundle: Bundle, path: str) -> None:
        findings = Findings(path)
        reading = open_rubric(bundle, path, findings)
        staged = stage_reading(reading, findings, self.watch) if reading is not None else None
        self.findings.extend(findings.as_tuple())
        if staged is not None:
            self.intake.rubrics.append(staged)

    def _read_folders(self, bundle: Bundle) -> None:
        """Read the responses that lists of files name; those of cases that the suite lacks are left out."""

        def parse(known: KnownCases) -> Parsed[tuple[ResponseRecord, ...]]:
            return parse_responses_folder(
                bundle,
                system=self.options.system,
                known_cases=known,
                missing_files=self.missing_files,
                report_progress=self.tell,
            )

        if self.intake.suite is None:
            every = KnownCases(named=[])
            parse(every)
            self._set_target(every.named or ())
        stored = self.intake.target.suite if self.intake.target is not None else None
        if self.intake.suite is not None:
            known = KnownCases.of(self.intake.suite)
        elif stored is not None:
            known = known_cases(stored, is_named=bool(self.options.benchmark or self.options.suite_id))
        else:
            return
        parsed = parse(known)
        self.findings.extend(parsed.problems)
        self.intake.responses = (*self.intake.responses, *(parsed.value or ()))

    def _read_records(self, bundle: Bundle, taken: Collection[str]) -> None:
        """Read tables and logs, and rubrics among them; beside a suite those that it does not name."""
        rest = [source for source in self.sources if source.path not in taken]
        parts = read_parts(rest, self.options.encoding, self.findings)
        rubrics = [] if self.options.kind else _rubric_files(bundle, parts)
        for path in rubrics:
            if may_be_columns(bundle.read(path)):
                self.findings.add(
                    TWO_KINDS, path, "", "Texts by 0, 1, 2 may be levels of criteria, or cells of columns."
                )
            self.intake.kinds.append(UploadKind.LEVEL_RUBRIC)
            self._read_rubric(bundle, path)
        parts = [part for part in parts if part.file not in rubrics]
        if self.findings.has_errors or not parts:
            return
        self.intake.reading = read_recognised(parts, bundle, self.options.of_records(), self.findings, self.tell)
        self.intake.kinds += [taken.shape.kind for taken in self.intake.reading.taken]
        collected = self.intake.reading.collected
        if collected is None or not any(collected.counts.values()):
            return
        plan = RecordPlanner(
            collected,
            self.findings,
            benchmark=self.options.benchmark,
            is_new_benchmark=self.options.is_new_benchmark,
            suite_id=self.options.suite_id,
            beside=self.intake.suite,
            name=_name_of(self.intake.reading),
            leave_out_unknown=self.options.leave_out_bad_rows,
            adds_cases=self.options.adds_cases,
        )
        plan.make()
        self.intake.choices = plan.choices
        self.intake.target = self.intake.target or plan.target
        self.intake.suite = self.intake.suite or plan.suite
        self.intake.responses = (*self.intake.responses, *plan.responses) if self.intake.responses else plan.responses
        if plan.rubric is not None and not self.findings.has_errors:
            self.intake.rubrics.append(stage_rubric(plan.rubric))

    def _set_target(self, keys: Sequence[str]) -> None:
        options = self.options
        self._aim(lambda: find_target(keys=keys, named=options.benchmark, suite_id=options.suite_id))

    def _aim(self, find: Callable[[], ImportTarget]) -> None:
        """Set the target to what is found, or note why there is none."""
        try:
            self.intake.target = find()
        except UnknownTarget as refusal:
            self.findings.add(refusal.rule, "", "", str(refusal), self.options.benchmark)
            self.intake.choices = refusal.choices

    def _place_rubrics(self) -> None:
        """Find the benchmark of rubrics by case; one for a whole benchmark needs none unless it is named."""
        keys = [key for rubric in self.intake.rubrics for key in rubric.keys(SAMPLE)]
        if self.intake.rubrics and self.intake.target is None and (keys or self.options.benchmark):
            self._set_target(keys)
        if self.options.rubric and len(self.intake.rubrics) == 1:
            self.intake.rubrics[0].rename(self.options.rubric)


def _bundle(sources: Sequence[SourceFile]) -> Bundle:
    return Bundle(HeldFiles([source for source in sources if source.size <= HELD_BYTES]))


def _rubric_files(bundle: Bundle, parts: Sequence[Part]) -> list[str]:
    """Return the files with the structure of a rubric, unless they are a tool's."""
    files = dict.fromkeys(part.file for part in parts)
    of_tools = {part.file for part in parts if is_of_a_tool(part)}
    return [file for file in files if file in bundle and file not in of_tools and is_rubric(bundle, file)]


def _name_of(reading: Reading) -> str:
    """Return what a new benchmark is called where nobody named it: as the log calls its task, else as the file."""
    logs = reading.collected.logs if reading.collected is not None else []
    own = (taken for taken in reading.taken if taken.stage != COMPANION)
    first = min(own, key=lambda taken: taken.stage, default=None)
    names = [log.name for log in logs if log.name] + ([first.part.stem] if first is not None else [])
    return names[0] if names else "benchmark"
