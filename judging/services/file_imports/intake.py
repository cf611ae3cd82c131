"""Reads an upload: detects what it contains and parses every part, without storing anything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from evalsite.base.json_types import JsonDict
from judging.services.file_imports.import_targets import (
    NO_TARGET,
    SAMPLE,
    BenchmarkChoice,
    ImportTarget,
    UnknownTarget,
    benchmark_named,
    benchmarks_with,
    cases_of_any,
    find_target,
    known_cases,
    new_target,
)
from judging.services.file_imports.pictures import is_stored_copy
from judging.services.file_imports.staged_rubrics import StagedRubric, Watch, stage_reading, stage_rubric, unwatched
from judging.services.gc_pause import infrequent_gc
from judging.specs.column_choices import READ_KINDS, ColumnChoices, choose_columns
from judging.specs.files.bundles import Bundle
from judging.specs.files.file_formats import foreign_format
from judging.specs.files.findings import Findings, error_rule, warning_rule
from judging.specs.files.problems import Parsed, Problem, Severity
from judging.specs.files.uploaded_files import Files, bundle_of
from judging.specs.files.yaml_reading import unreadable_yaml
from judging.specs.pictures.picture_formats import PictureFile
from judging.specs.pictures.picture_rows import report_unused_images, shelf_of
from judging.specs.replies.data_tables import SHEET_ENDINGS, TABLE_ENDINGS, case_rows, header_names, question_rows
from judging.specs.replies.response_formats import RESPONSE_FORMATS, ROW_ENDINGS
from judging.specs.replies.response_rows import KnownCases
from judging.specs.replies.responses import parse_responses_folder, system_from_path
from judging.specs.replies.scaleeval_responses import parse_scaleeval_responses, scaleeval_files
from judging.specs.replies.table_columns import has_mapped_question
from judging.specs.rubrics.criteria_yaml import find_criteria, find_criteria_lists, parse_criteria
from judging.specs.rubrics.rubric_tables import open_rubric
from judging.specs.suites.case_files import MissingFiles
from judging.specs.suites.questions_jsonl import parse_questions_jsonl, suite_of_rows
from judging.specs.suites.suites_yaml import parse_suite
from judging.specs.types import ResponseSpec, SuiteSpec
from judging.specs.upload_kinds import UploadKind, find_rubric_tables, kind_of_table, sniff_all

UNKNOWN_KIND = error_rule(
    "unknown-kind",
    "Upload a suite (YAML or ZIP), questions (JSONL, CSV, XLSX), a rubric (XLSX, CSV, YAML, JSON), responses (JSONL, "
    "CSV, XLSX or ZIP) or a criteria file.",
)
NOTHING_READ = error_rule("nothing-read", "Is this the right file?")
FOREIGN_FORMAT = error_rule("foreign-format")
LEFT_OUT = warning_rule("foreign-format", "The rest of the upload is read without this file.")
EMPTY_FILE = error_rule("empty-file", "Is this the right file?")
READ_AS_QUESTIONS = warning_rule(
    "read-as-questions",
    "If the column `answer` contains responses of a system, choose Responses as the kind, or add a column `system`.",
)
UNREAD_TABLE = warning_rule("unread-table", "Choose under Columns what its columns are.")
NEW_CASES = warning_rule("new-benchmark", "Choose a benchmark if the questions are cases of a stored one.")
SEVERAL_QUESTION_FILES = error_rule("several-question-files", "Import the files one at a time.")
GUESSED_RUBRIC = warning_rule("read-as-rubric", "Choose the kind of the file if this is wrong.")

RUBRIC_ENDINGS = (*TABLE_ENDINGS, ".json", ".jsonl", ".yaml", ".yml")
QUESTION_ENDINGS = (*ROW_ENDINGS, *TABLE_ENDINGS)
SUITE_KINDS = frozenset({UploadKind.SUITE, UploadKind.QUESTIONS, UploadKind.SCALEEVAL_RESPONSES})
NO_COLUMNS = ColumnChoices()

Responses = tuple[ResponseSpec, ...]
Parser = Callable[[KnownCases | None], Parsed[Responses]]


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the person who imports may state in addition to the file. Empty: detected from the file."""

    kind: str = ""  # an UploadKind, or one of RESPONSE_FORMATS
    benchmark: str = ""  # slug or name of a stored one, else the name of a new one
    suite_id: int | None = None  # what responses answer; None: the benchmark's newest
    system: str = ""  # for responses that name none
    rubric: str = ""  # name of the rubric, of its newest version or of a new one
    allow_missing_files: bool = False
    columns: tuple[tuple[str, str], ...] = ()  # of tables, each with its ColumnField; one that is not named: guessed

    def as_json(self) -> JsonDict:
        return asdict(self)

    @classmethod
    def of_json(cls, data: JsonDict) -> ImportOptions:
        options = cls(**{name: data[name] for name in cls.__dataclass_fields__ if name in data})
        return replace(options, columns=tuple((name, field) for name, field in options.columns))


@dataclass(frozen=True, slots=True)
class Intake:
    """An upload as read. `target` is None where nothing in it needs a benchmark."""

    kinds: tuple[str, ...]
    target: ImportTarget | None = None
    suite: SuiteSpec | None = None
    responses: tuple[ResponseSpec, ...] = ()
    rubrics: tuple[StagedRubric, ...] = ()
    problems: tuple[Problem, ...] = ()
    choices: tuple[BenchmarkChoice, ...] = ()  # benchmarks that fit, where more than one does
    columns: ColumnChoices = NO_COLUMNS
    pictures: Mapping[str, PictureFile] = field(default_factory=dict)  # that cases and responses name, by hash

    @property
    def has_errors(self) -> bool:
        return any(problem.severity is Severity.ERROR for problem in self.problems)


def _some(bundle: Bundle) -> str:
    return ", ".join(list(bundle)[:3])


@infrequent_gc()
def read_intake(files: Files, options: ImportOptions, watch: Watch = unwatched) -> Intake:
    """Return everything that the files hold, with the benchmark it belongs to and all that is wrong with it."""
    bundle = bundle_of(files)
    if bundle.value is None:
        return Intake(kinds=(), problems=bundle.problems)
    reader = _UploadReader(bundle.value, options, watch)
    reader.findings.extend(bundle.problems)
    return reader.read()


@dataclass(slots=True)
class _UploadReader:
    bundle: Bundle
    options: ImportOptions
    watch: Watch
    findings: Findings = field(default_factory=Findings)
    suite: SuiteSpec | None = None
    responses: tuple[ResponseSpec, ...] = ()
    rubrics: list[StagedRubric] = field(default_factory=list)
    target: ImportTarget | None = None
    kinds: tuple[str, ...] = ()
    choices: tuple[BenchmarkChoice, ...] = ()
    columns: ColumnChoices = NO_COLUMNS

    @property
    def missing_files(self) -> MissingFiles:
        return "warn" if self.options.allow_missing_files else "error"

    def tell(self, done: int, total: int) -> None:
        """Pass on how many rows are read."""
        self.watch("reading", done, total)

    def read(self) -> Intake:
        self.findings.extend(unreadable_yaml(self.bundle))
        self._leave_out_foreign()
        if not self.findings.has_errors:
            self._read_all()
        return Intake(
            self.kinds,
            self.target,
            self.suite,
            self.responses,
            tuple(self.rubrics),
            self.findings.as_tuple(),
            self.choices,
            self.columns,
            shelf_of(self.bundle).files,
        )

    def _read_all(self) -> None:
        shelf = shelf_of(self.bundle)
        shelf.is_cut, shelf.is_stored_copy = self.options.allow_missing_files, is_stored_copy
        sniffed = sniff_all(self.bundle)
        if not self.options.kind or self.options.kind in READ_KINDS:
            self.columns = choose_columns(self.bundle, sniffed, dict(self.options.columns), self.findings)
            if self.findings.has_errors:  # of what was chosen; all that follows from it would be wrong too
                return
        self._map_columns(self.columns.used)
        self.kinds = self._kinds(sniff_all(self.bundle) if self.columns.used else sniffed)
        if sniffed and not self.options.kind:
            self._name_unread_tables()
        for kind in self.kinds:
            self._read_kind(kind)
        if self.suite is not None or not set(self.kinds) & SUITE_KINDS:  # without its suite, every case is unknown
            self._read_responses()
        if not self.findings.has_errors:
            self._place_rubrics()
            report_unused_images(self.bundle, self.findings)
        if not (self.findings.has_errors or self.suite or self.responses or self.rubrics):
            description = "of the chosen kind" if self.options.kind else "that can be imported"
            self.findings.add(NOTHING_READ, _some(self.bundle), "", f"The upload contains nothing {description}.")

    def _leave_out_foreign(self) -> None:
        """Refuse files of formats that nothing reads; beside files that something reads they are only named."""
        foreign = {path: words for path in self.bundle if (words := foreign_format(self.bundle.read(path)))}
        rest = Bundle({path: data for path, data in self.bundle.files.items() if path not in foreign})
        for path, words in foreign.items():
            self.findings.add(LEFT_OUT if rest.files else FOREIGN_FORMAT, path, "", words)
        self.bundle = rest

    def _name_unread_tables(self) -> None:
        """Warn of tables beside other files that nothing reads until their columns are chosen."""
        for path in self.columns.fields:
            if kind_of_table(self.bundle, path) is None and not path.lower().endswith(SHEET_ENDINGS):
                self.findings.add(UNREAD_TABLE, path, "", "The columns of this table are not known; it is left out.")

    def _map_columns(self, paths: Collection[str]) -> None:
        """Have these tables read by columns."""
        mapped = {path: fields for path, fields in self.columns.fields.items() if path in paths}
        self.bundle = replace(self.bundle, columns={**self.bundle.columns, **mapped})

    def _kinds(self, sniffed: tuple[str, ...]) -> tuple[str, ...]:
        if self.options.kind:
            return (self.options.kind,)
        if sniffed:
            return sniffed
        if not any(self.bundle.read(path).strip() for path in self.bundle):
            self.findings.add(EMPTY_FILE, _some(self.bundle), "", "The file is empty.")
            return ()
        if any(path.lower().endswith(RUBRIC_ENDINGS) for path in self.bundle):
            return (UploadKind.LEVEL_RUBRIC,)
        self.findings.add(UNKNOWN_KIND, _some(self.bundle), "", "The kind of this file cannot be detected.")
        return ()

    def _read_kind(self, kind: str) -> None:
        if kind == UploadKind.SUITE:
            self._take_suite(parse_suite(self.bundle, missing_files=self.missing_files, report_progress=self.tell))
        elif kind == UploadKind.QUESTIONS:
            self._read_questions()
        elif kind == UploadKind.SCALEEVAL_RESPONSES:
            name = self.options.benchmark or "ScaleEval"
            parsed = parse_scaleeval_responses(self.bundle, name=name, report_progress=self.tell)
            self.findings.extend(parsed.problems)
            if parsed.value is not None:
                self._take_suite(Parsed(parsed.value.suite))
                self.responses += parsed.value.responses
        elif kind == UploadKind.CRITERIA:
            self._read_criteria()
        elif kind == UploadKind.LEVEL_RUBRIC:
            self._read_rubrics()

    def _read_criteria(self) -> None:
        for path in find_criteria(self.bundle) or [""]:
            parsed = parse_criteria(self.bundle, path)
            self.findings.extend(parsed.problems)
            if parsed.value is not None:
                self.rubrics.append(stage_rubric(parsed.value))

    def _take_suite(self, parsed: Parsed[SuiteSpec]) -> None:
        self.findings.extend(parsed.problems)
        if parsed.value is not None and self.suite is None:
            self.suite = parsed.value
            self.target = new_target(self.options.benchmark, parsed.value.name)

    def _read_questions(self) -> None:
        paths = [path for path in self.bundle if self._is_table(path, UploadKind.QUESTIONS)]
        if self.suite is not None:
            return
        if len(paths) > 1:
            self.findings.add(
                SEVERAL_QUESTION_FILES, paths[0], "", f"The upload contains {len(paths)} files of questions."
            )
        for path in paths[:1]:
            self._take_suite(self._questions(path))

    def _questions(self, path: str) -> Parsed[SuiteSpec]:
        if not path.lower().endswith(TABLE_ENDINGS) and path not in self.bundle.columns:
            return parse_questions_jsonl(self.bundle, path, report_progress=self.tell)
        findings = Findings()
        is_guess = not self.options.kind and path not in self.bundle.columns
        if is_guess and "answer" in header_names(self.bundle, path):
            message = "Each row has a question, so `answer` was read as its reference answer."
            findings.add(READ_AS_QUESTIONS, path, "", message)
        return suite_of_rows(self.bundle, path, question_rows(self.bundle, path, findings), findings)

    def _is_table(self, path: str, kind: str) -> bool:
        """Return whether a file's rows are of a kind; where the person stated its kind, only its ending counts."""
        if self.options.kind == kind:
            form = RESPONSE_FORMATS.get(kind)
            return path.lower().endswith(QUESTION_ENDINGS if form is None else form.endings)
        return kind_of_table(self.bundle, path) == kind

    def _read_rubrics(self) -> None:
        is_level_rubric = self.options.kind == UploadKind.LEVEL_RUBRIC
        books = [path for path in self.bundle if path.lower().endswith(SHEET_ENDINGS)]
        if not is_level_rubric:
            books = find_rubric_tables(self.bundle)
        books += find_criteria_lists(self.bundle)
        paths = books or [path for path in self.bundle if path.lower().endswith(RUBRIC_ENDINGS)]
        for path in paths:
            if not books and not is_level_rubric:
                self.findings.add(
                    GUESSED_RUBRIC, path, "", "The file matches no other kind, so it was read as a rubric."
                )
            self._read_rubric(path)

    def _read_rubric(self, path: str) -> None:
        findings = Findings(path)
        reading = open_rubric(self.bundle, path, findings)
        staged = stage_reading(reading, findings, self.watch) if reading is not None else None
        self.findings.extend(findings.as_tuple())
        if staged is not None:
            self.rubrics.append(staged)

    def _read_responses(self) -> None:
        known_cases = KnownCases.of(self.suite) if self.suite is not None else None
        for kind in self.kinds:
            for parse in self._response_parsers(kind):
                if known_cases is None:
                    known_cases = self._find_known(parse)
                if known_cases is None:
                    return
                parsed = parse(known_cases)
                self.findings.extend(parsed.problems)
                self.responses += parsed.value or ()

    def _response_parsers(self, kind: str) -> list[Parser]:
        """Return what reads the responses of a kind, one parser per file or one for all folders."""
        if kind == UploadKind.RESPONSES_FOLDER:
            return [self._folder_parser()]
        form = RESPONSE_FORMATS.get(kind)
        return [self._file_parser(form.parse, path) for path in self._response_tables(kind)] if form else []

    def _folder_parser(self) -> Parser:
        def parse(known_cases: KnownCases | None) -> Parsed[Responses]:
            return parse_responses_folder(
                self.bundle,
                system=self.options.system,
                known_cases=known_cases,
                missing_files=self.missing_files,
                report_progress=self.tell,
            )

        return parse

    def _file_parser(self, read: Callable[..., Parsed[Responses]], path: str) -> Parser:
        def parse(known_cases: KnownCases | None) -> Parsed[Responses]:
            return read(
                self.bundle, path, system=self.options.system, known_cases=known_cases, report_progress=self.tell
            )

        return parse

    def _response_tables(self, kind: str) -> list[str]:
        scaleeval_paths = set(scaleeval_files(self.bundle)) if UploadKind.SCALEEVAL_RESPONSES in self.kinds else set()
        return [path for path in self.bundle if path not in scaleeval_paths and self._is_table(path, kind)]

    def _find_known(self, parse: Parser) -> KnownCases | None:
        """Return the cases of the suite that the responses answer; None, with a finding, where none can be found."""
        if self.target is None:
            self._find_target(parse)
        if self.suite is not None:
            return KnownCases.of(self.suite)
        if self.target is None:
            return None
        if self.target.suite is None:
            message = f"The benchmark {self.target.name} has no suite yet."
            self.findings.add(NO_TARGET, "", "", message, self.target.name)
            return None
        return known_cases(self.target.suite)

    def _find_target(self, parse: Parser) -> None:
        """Find the benchmark of responses, or make a new one of the questions that stand beside them.

        Where none can be told, all that is wrong with the responses is said anyway.
        """
        if self.options.suite_id or (self.options.benchmark and benchmark_named(self.options.benchmark)):
            self._set_target(())
            return
        named_cases = KnownCases(named=[])
        parsed = parse(named_cases)
        if not benchmarks_with(named_cases.named or ()) and self._take_new_cases():
            return
        self._set_target(named_cases.named or ())
        if self.target is None:
            self.findings.extend((parse(cases_of_any(self.choices)) if self.choices else parsed).problems)

    def _set_target(self, keys: Sequence[str]) -> None:
        try:
            self.target = find_target(keys=keys, named=self.options.benchmark, suite_id=self.options.suite_id)
        except UnknownTarget as refusal:
            self.findings.add(NO_TARGET, "", "", str(refusal), self.options.benchmark)
            self.choices = refusal.choices

    def _take_new_cases(self) -> bool:
        """Make a suite of the questions of all responses; return whether every response has one."""
        paths = [path for kind in self.kinds for path in self._response_tables(kind)]
        fields = [self.columns.fields.get(path, {}) for path in paths]
        if not paths or not all(map(has_mapped_question, fields)):
            return False
        self._map_columns(paths)
        rows, findings = case_rows(self.bundle, paths, Findings()), Findings()  # the responses are read again below
        name = self.options.benchmark or system_from_path(paths[0])
        message = f"The questions become the cases of a new benchmark, {name}."
        self.findings.add(NEW_CASES, paths[0], "", message)
        self._take_suite(suite_of_rows(self.bundle, paths[0], rows, findings, name))
        return True

    def _place_rubrics(self) -> None:
        """Find the benchmark of rubrics by case; one for a whole benchmark needs none unless it is named."""
        keys = [key for rubric in self.rubrics for key in rubric.keys(SAMPLE)]
        if self.rubrics and self.target is None and (keys or self.options.benchmark):
            self._set_target(keys)
        if self.options.rubric and len(self.rubrics) == 1:
            self.rubrics[0].rename(self.options.rubric)
