"""Imports recorded debates: their responses and criteria, and one set of debates per recorded cell.

All rows are written in short transactions, where nobody sees them, and one last transaction takes them into use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, Model, OuterRef, QuerySet, Subquery

from debate.models import (
    UPLOAD_KIND,
    Agent,
    BatchDebate,
    BatchStatement,
    Debate,
    DebateSet,
    DebateSource,
    DebateStatus,
    OutsideLabel,
    Statement,
)
from debate.protocol.recorded import read_recorded_debates
from debate.protocol.setups import DebateOptions, OrderScheme, RoundMode
from debate.protocol.transcripts import RecordedCell, RecordedItem, RecordedTurn
from debate.protocol.verdicts import (
    TextReading,
    agreed_since,
    consensus,
    majority,
    read_recorded,
    read_strict,
    to_system_space,
)
from debate.services.set_plans import announce_finished
from evalsite.accounts.audit import record
from evalsite.base.actions.declarations import delete_with_dependents
from evalsite.base.types import JsonDict
from judging.models import Benchmark, Case, ImportBatch, Response, Rubric, Suite, SuiteCase, System, Upload
from judging.services.file_imports.import_batches import (
    BatchLost,
    BatchWriter,
    column,
    copy_rows,
    moment,
    open_batch,
    quoted,
    table,
)
from judging.services.file_imports.imports import ImportRefused, WrittenImport, refusal_message
from judging.services.file_imports.intake import ImportOptions, Intake
from judging.services.file_imports.responses import (
    PromptKey,
    coming_prompts,
    plan_responses,
    prompts_of,
    write_responses,
)
from judging.services.file_imports.rubrics import RubricOrigin, write_rubric
from judging.services.file_imports.staged_rubrics import Watch, stage_rubric, unwatched
from judging.services.file_imports.stored_imports import RunsInUse, check_unused
from judging.services.file_imports.suites import benchmark_slug_of, write_suite
from judging.services.registries import RecordStore
from judging.specs.files.bundles import Bundle, Files
from judging.specs.files.findings import Parsed, Problem, Severity
from judging.specs.records.file_records import bundle_of
from judging.specs.records.neutral import ResponseRecord, SuiteSpec
from judging.specs.replies import parse_scaleeval_responses
from judging.specs.rubrics.rubric_nested import find_criteria, parse_criteria
from judging.specs.types import RubricSpec
from judging.stored_content import content_hash, text_hash

LONGEST_SCORE = 150  # characters of a filed score that are kept; nothing longer is a verdict
# What is known of how the original held its debates.
ORIGINAL = DebateOptions(mode=RoundMode.SEQUENTIAL, agent_order=OrderScheme.CYCLIC, temperature=0.5)
Readings = Mapping[str | None, TextReading]  # by text
Answers = Mapping[str, str]  # case key -> hash of the response's text
# Columns of a row in a batch that its row in use takes over as they are.
_OF_DEBATE = (
    *("debate_set", "case", "response_a", "response_b", "scenario", "source_id", "response_order", "status"),
    *("verdict", "agreed_round", "round_count", "independent_verdict", "flags"),
)
# What the fields of recorded cells are called in their hashes.
_HASHED_AS = {
    "agent_number": "seat",
    "response_a": "submission_a",
    "response_b": "submission_b",
    "response_order": "submission_order",
}
_OF_STATEMENT = ("round", "text", "position_verdict", "verdict", "status", "recorded_verdict")


WrittenCell = tuple[RecordedCell, int, int]  # one whose debates a batch holds; debates, statements


def cell_hash(cell: RecordedCell) -> str:
    """Return the hash of everything that a recorded cell holds; version 0.1 had its criterion's text too, left out."""
    return content_hash(_hashed(asdict(cell)) | {"criterion_levels": {}})


def _hashed(value: Any) -> Any:
    """Return what is hashed, under the names of version 0.1: a cell that was imported then is known again."""
    if isinstance(value, dict):
        return {_HASHED_AS.get(key, key): _hashed(inner) for key, inner in value.items()}
    return [_hashed(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def write_cells(
    *, batch: ImportBatch, cells: Sequence[RecordedCell], answers: Mapping[str, Answers], watch: Watch
) -> tuple[list[WrittenCell], list[Problem]]:
    """Write the debates of cells into a batch; `use_cells` takes them into use. Return them, and what was left out.

    `answers` are the responses of each system as they will be once the same import is in use.
    """
    total = sum(1 + sum(map(len, item.stages)) for cell in cells for item in cell.items)
    writer = BatchWriter(batch, watch, total)
    written, problems = [], []
    for cell in cells:
        digest, readings = cell_hash(cell), _readings_of(cell)
        items, missing = _items_by_case(cell, answers)
        rows = [_debate(batch, digest, item, key, cell, readings) for key, item in items.items()]
        writer.add(BatchDebate, iter(rows))
        statements = (
            _statement(batch, row, number, agent_number, turn, readings[turn.text])
            for row, item in zip(rows, items.values(), strict=True)
            for number, stage in enumerate(item.stages)
            for agent_number, turn in enumerate(stage, start=1)
        )
        writer.add(BatchStatement, statements)
        written.append((cell, len(rows), sum(len(stage) for item in items.values() for stage in item.stages)))
        problems += missing
    return written, problems


@transaction.atomic
def use_cells(
    *,
    batch: ImportBatch,
    written: Sequence[WrittenCell],
    suite: Suite,
    rubrics: Mapping[str, Rubric],
    actor: User | None,
    at: datetime,
) -> list[DebateSet]:
    """Make a set of each cell that a batch holds, unless somebody stored the same meanwhile, and return these.

    However many debates there are, the database copies them by three statements.

    Raises:
        BatchLost: the batch, or responses that its debates rest on, were removed or replaced meanwhile.
    """
    hashes = [cell_hash(cell) for cell, _, _ in written]
    stored = set(DebateSet.objects.filter(content_hash__in=hashes).values_list("content_hash", flat=True))
    new = [(*row, digest) for row, digest in zip(written, hashes, strict=True) if digest not in stored]
    names = {name for cell, _, _ in written for name in (cell.system_a, cell.system_b)}
    systems = {system.name: system for system in System.objects.filter(name__in=names)}
    sets = []
    for cell, _, _, digest in new:
        debate_set = _make_set(cell, digest, systems, rubrics.get(cell.criterion_key), at)
        _place(BatchDebate.objects.filter(batch=batch, set_hash=digest), debate_set, suite)
        sets.append(debate_set)
    if (_copy_debates(batch, at), _copy_statements(batch, at)) != (
        sum(debates for _, debates, _, _ in new),
        sum(statements for _, _, statements, _ in new),
    ):
        raise BatchLost("Responses of these debates were replaced during the import; nothing was stored. Import again.")
    for debate_set, (_, debates, statements, _) in zip(sets, new, strict=True):
        record(actor, "debates.imported", debate_set, debates=debates, statements=statements)
        announce_finished(debate_set.pk)
    return sets


def _make_set(
    cell: RecordedCell, digest: str, systems: Mapping[str, System], rubric: Rubric | None, at: datetime
) -> DebateSet:
    return DebateSet.objects.create(
        name=_name_of(cell),
        source=DebateSource.IMPORT,
        system_a=systems[cell.system_a],
        system_b=systems[cell.system_b],
        rubric=rubric,
        criterion=(cell.criterion_key if rubric else cell.criterion)[:100],
        setup={**ORIGINAL.to_json(), "endpoints": list(cell.judges), "recorded": _provenance(cell)},
        content_hash=digest,
        created_at=at,
    )


def _place(rows: QuerySet[BatchDebate], debate_set: DebateSet, suite: Suite) -> None:
    """Give debates of a batch their set, their case, and the current responses that have the texts compared."""
    of_suite = Exists(SuiteCase.objects.filter(suite=suite, case=OuterRef("pk")))
    rows.update(
        debate_set=debate_set, case=Subquery(Case.objects.filter(of_suite, key=OuterRef("case_key")).values("pk")[:1])
    )
    current = Response.objects.filter(prompt__cases=OuterRef("case"), attempt=0, superseded_at__isnull=True)
    a = current.filter(system=debate_set.system_a, text_hash=OuterRef("text_hash_a"))
    b = current.filter(system=debate_set.system_b, text_hash=OuterRef("text_hash_b"))
    rows.update(response_a=Subquery(a.values("pk")[:1]), response_b=Subquery(b.values("pk")[:1]))


def _copy_debates(batch: ImportBatch, at: datetime) -> int:
    placed = " AND ".join(f"b.{name}_id IS NOT NULL" for name in ("debate_set", "case", "response_a", "response_b"))
    return copy_rows(
        Debate,
        {"finished_at": "%s", "seed": "0", "call_count": "0", **_taken(BatchDebate, _OF_DEBATE, "b")},
        f"FROM {table(BatchDebate)} b WHERE b.batch_id = %s AND {placed} ORDER BY b.id",
        [moment(at), batch.pk],
    )


def _copy_statements(batch: ImportBatch, at: datetime) -> int:
    """Copy agents, who all have a statement in the independent round, and then every statement."""
    source = (
        f"FROM {table(BatchStatement)} t JOIN {table(BatchDebate)} b ON b.id = t.debate_id"
        f" JOIN {table(Debate)} d ON d.debate_set_id = b.debate_set_id"
        " AND d.response_a_id = b.response_a_id AND d.response_b_id = b.response_b_id"
    )
    copy_rows(
        Agent,
        {"debate": "d.id", "number": "t.agent_number", "name": "t.judge"},
        f"{source} WHERE t.batch_id = %s AND t.round = 0 ORDER BY t.id",
        [batch.pk],
    )
    nothing = {"was_reasked": "FALSE"} | dict.fromkeys(("call_ids", "mirrored_call_ids"), "'[]'")
    nothing |= dict.fromkeys(("first_text", "mirrored_text", "mirrored_position_verdict", "error_kind"), "''")
    return copy_rows(
        Statement,
        {"created_at": "%s", "agent": "p.id", **nothing, **_taken(BatchStatement, _OF_STATEMENT, "t")},
        f"{source} JOIN {table(Agent)} p ON p.debate_id = d.id AND p.number = t.agent_number"
        " WHERE t.batch_id = %s ORDER BY t.id",
        [moment(at), batch.pk],
    )


def _taken(source: type[Model], names: Sequence[str], alias: str) -> dict[str, str]:
    """Return the columns that a row in use takes over from its row in a batch."""
    return {name: f"{alias}.{quoted(column(source, name))}" for name in names}


def _items_by_case(cell: RecordedCell, answers: Mapping[str, Answers]) -> tuple[dict[str, RecordedItem], list[Problem]]:
    """Return the items of a cell by the cases whose responses they compare, and what is wrong with the others."""
    items: dict[str, RecordedItem] = {}
    problems = []
    a, b = answers.get(cell.system_a, {}), answers.get(cell.system_b, {})
    for item in cell.items:
        key = _case_key(cell.scenario, item, a, b)
        if key is None or key in items:
            message = "Its responses are not stored or belong to another item; it was left out."
            problems.append(
                Problem(Severity.WARNING, cell.key, f"item {item.id}", message, code="responses-not-stored")
            )
        else:
            items[key] = item
    return items, problems


def _case_key(scenario: str, item: RecordedItem, a: Answers, b: Answers) -> str | None:
    """Return the key of the case whose responses are the item's: that of its own line, else any other."""
    hashes = (text_hash(item.response_a), text_hash(item.response_b))
    own_key = f"{scenario}-{item.id}"
    for key in (own_key, *(key for key in a if key.rpartition("-")[0] == scenario)):
        if (a.get(key), b.get(key)) == hashes:
            return key
    return None


def _readings_of(cell: RecordedCell) -> Readings:
    """Return every text of a cell's statements as it is read strictly."""
    texts = {turn.text for item in cell.items for stage in item.stages for turn in stage}
    return {text: read_strict(text) for text in texts}


def _debate(
    batch: ImportBatch, digest: str, item: RecordedItem, key: str, cell: RecordedCell, readings: Readings
) -> BatchDebate:
    """Return a debate with its outcome by the strict reading, and flags for what a reader should know."""
    rounds = [tuple(_vote(readings[turn.text].verdict, item) for turn in stage) for stage in item.stages]
    filed = [tuple(_vote(read_recorded(turn.score), item) for turn in stage) for stage in item.stages]
    verdict = consensus(rounds[-1])
    read = [readings[turn.text] for stage in item.stages for turn in stage]
    flags = {f"statement-{_how(reading)}" for reading in read if reading.verdict is None}
    if filed != rounds:
        flags.add("scores-differ-from-texts")
    if consensus(filed[-1]) != verdict:
        flags.add("outcome-differs-from-scores")
    return BatchDebate(
        batch=batch,
        set_hash=digest,
        case_key=key,
        text_hash_a=text_hash(item.response_a),
        text_hash_b=text_hash(item.response_b),
        scenario=cell.scenario[:100],
        source_id=item.id,
        response_order=item.response_order,
        status=DebateStatus.UNRESOLVED if verdict is None else DebateStatus.AGREED,
        verdict=verdict,
        agreed_round=None if verdict is None else agreed_since(rounds),
        round_count=len(rounds) - 1,
        independent_verdict=majority(rounds[0]),
        flags=sorted(flags),
    )


def _statement(
    batch: ImportBatch, debate: BatchDebate, number: int, agent_number: int, turn: RecordedTurn, reading: TextReading
) -> BatchStatement:
    return BatchStatement(
        batch=batch,
        debate=debate,
        agent_number=agent_number,
        judge=turn.judge[:120],
        round=number,
        text=turn.text or "",
        position_verdict="" if reading.verdict is None else str(reading.verdict),
        verdict=to_system_space(reading.verdict, response_order=debate.response_order),
        status=_how(reading),
        recorded_verdict=score_to_text(turn.score),
    )


def score_to_text(score: str | float | None) -> str:
    """Return a filed score as the JSON that is stored: "4", 0 and null stay apart."""
    return json.dumps(score[:LONGEST_SCORE] if isinstance(score, str) else score, ensure_ascii=False)


def _how(reading: TextReading) -> str:
    return "refused" if reading.refused else str(reading.how)


def _vote(position: int | None, item: RecordedItem) -> int | None:
    return to_system_space(position, response_order=item.response_order)


def _provenance(cell: RecordedCell) -> JsonDict:
    """Return how a cell was filed: what the tables have no column for, and each judge's own file beside the debates."""
    spoken = {(item.id, turn.judge): turn.text for item in cell.items for turn in item.stages[0]}
    singles = {
        judge: [
            {"id": row.id, "score": row.score} | ({} if spoken.get((row.id, judge)) == row.text else {"text": row.text})
            for row in rows
        ]
        for judge, rows in cell.singles.items()
    }
    return {"pair": cell.pair, "criterion": cell.criterion, "scenario": cell.scenario, "singles": singles}


BENCHMARK = "ScaleEval"


@dataclass(frozen=True, slots=True)
class Records:
    """A folder of recorded debates as read, before anything is stored."""

    cells: tuple[RecordedCell, ...]
    suite: SuiteSpec
    responses: Sequence[ResponseRecord]
    rubrics: tuple[RubricSpec, ...]


@dataclass(frozen=True, slots=True)
class RecordsPlan:
    """What storing the records would do."""

    new: tuple[str, ...]  # keys of cells
    known: tuple[str, ...]  # stored already, byte for byte
    debates: int  # in the new cells
    statements: int


def read_records(bundle: Bundle) -> Parsed[Records]:
    """Return what a folder of recorded debates holds, with everything unusual in it by file and item."""
    debates = read_recorded_debates(bundle)
    answers = parse_scaleeval_responses(bundle, name=BENCHMARK)
    criteria = [parse_criteria(bundle, path) for path in find_criteria(bundle)]
    problems = (*debates.problems, *answers.problems, *(problem for parsed in criteria for problem in parsed.problems))
    if debates.value is None or answers.value is None:
        return Parsed(None, problems)
    rubrics = tuple(parsed.value for parsed in criteria if parsed.value is not None)
    return Parsed(Records(debates.value, *answers.value, rubrics), problems)


def plan_records(records: Records) -> RecordsPlan:
    """Return what `WrittenRecords.use` would create, without storing anything."""
    hashes = {cell.key: cell_hash(cell) for cell in records.cells}
    stored = set(DebateSet.objects.filter(content_hash__in=hashes.values()).values_list("content_hash", flat=True))
    new = [cell for cell in records.cells if hashes[cell.key] not in stored]
    return RecordsPlan(
        new=tuple(cell.key for cell in new),
        known=tuple(key for key, digest in hashes.items() if digest in stored),
        debates=sum(len(cell.items) for cell in new),
        statements=sum(len(stage) for cell in new for item in cell.items for stage in item.stages),
    )


@dataclass(frozen=True, slots=True)
class WrittenRecords:
    """What a batch holds of recorded debates."""

    plan: RecordsPlan
    imported: WrittenImport  # their suite, responses and criteria
    rubrics: Sequence[RubricSpec]
    cells: Sequence[WrittenCell]
    problems: tuple[Problem, ...]  # items whose responses are not where they should be

    @transaction.atomic
    def use(self, origin: RubricOrigin, upload: Upload) -> JsonDict:
        """Take everything that the batch holds into use, and return what came of it as other imports do, with the sets.

        Raises:
            BatchLost: what the batch holds, or rests on, is gone or replaced.
        """
        counts: JsonDict = {"debates": self.plan.debates}
        if self.problems:
            counts["problems"] = list(map(str, self.problems))
        if not self.plan.new:
            return {"changed": False, "sets": 0, **counts}
        result = self.imported.use(origin, upload)
        stored = Rubric.objects.in_bulk([made["id"] for made in result["rubrics"]])
        rubrics = {
            child.key: stored[made["id"]]
            for spec, made in zip(self.rubrics, result["rubrics"], strict=True)
            for child in spec.items[0].root.children
        }
        suite, batch = Suite.objects.get(pk=result["suite_id"]), self.imported.batch
        sets = use_cells(
            batch=batch, written=self.cells, suite=suite, rubrics=rubrics, actor=origin.actor, at=origin.at
        )
        return {**result, **counts, "changed": bool(sets) or result["changed"], "sets": len(sets)}


@dataclass(frozen=True, slots=True)
class CheckedRecords:
    """A dry run of an uploaded folder of recorded debates."""

    records: Records | None
    plan: RecordsPlan | None
    problems: tuple[Problem, ...]
    kind: str = UPLOAD_KIND
    benchmark: Benchmark | None = None

    @property
    def is_refused(self) -> bool:
        """Whether no debate could be read. A file that cannot be read is reported, and the debates are imported."""
        return self.records is None

    def preview(self) -> JsonDict:
        """Return what the page of the upload shows: the sets of debates and which of them are new."""
        if self.records is None or self.plan is None:
            return {"changes_nothing": False}
        cells = [
            {
                "system_a": cell.system_a,
                "system_b": cell.system_b,
                "criterion": cell.criterion,
                "criterion_key": cell.criterion_key,
                "scenario": cell.scenario,
                "judges": list(cell.judges),
                "debates": len(cell.items),
                "is_new": cell.key in self.plan.new,
            }
            for cell in self.records.cells
        ]
        counts = {"debates": self.plan.debates, "statements": self.plan.statements, "new": len(self.plan.new)}
        records = {**counts, "known": len(self.plan.known), "cells": cells}
        return {"changes_nothing": not self.plan.new, "records": records}

    def preview_pictures(self) -> dict[str, bytes]:
        """Return nothing: recorded debates bring no images."""
        return {}

    def open_written(self, watch: Watch) -> AbstractContextManager[WrittenRecords]:
        """Write what is new into a batch, for `WrittenRecords.use` within the block.

        Raises:
            ImportRefused: nothing could be read.
        """
        if self.records is None:
            raise ImportRefused(refusal_message(self.problems), self.problems)
        return open_written(records=self.records, watch=watch)


def check_records(files: Files, _options: ImportOptions, _watch: Watch = unwatched) -> CheckedRecords:
    """Return what importing an uploaded folder of recorded debates would do. Nothing is stored."""
    bundle = bundle_of(files)
    if bundle.value is None:
        return CheckedRecords(None, None, bundle.problems)
    parsed = read_records(bundle.value)
    if parsed.value is None:
        return CheckedRecords(None, None, (*bundle.problems, *parsed.problems))
    plan = plan_records(parsed.value)
    problems = (*bundle.problems, *parsed.problems, *_recorded_before(parsed.value, plan))
    return CheckedRecords(parsed.value, plan, problems)


def _recorded_before(records: Records, plan: RecordsPlan) -> Iterator[Problem]:
    """Yield which new cells come beside other recordings of the same debates: changed, or with fewer of them."""
    stored = dict(DebateSet.objects.filter(source=DebateSource.IMPORT).values_list("name", "pk"))
    for cell in records.cells:
        if cell.key in plan.new and (number := stored.get(_name_of(cell))):
            message = f"Other records of these debates are stored as set {number}, and reports on all sets count both."
            hint = "If these are to replace them, undo their import first."
            yield Problem(Severity.WARNING, cell.key, "", message, hint=hint, code="recorded-before")


def _name_of(cell: RecordedCell) -> str:
    return f"{cell.system_a} vs {cell.system_b}: {cell.criterion}, {cell.scenario}"[:200]


@contextmanager
def open_written(*, records: Records, watch: Watch) -> Iterator[WrittenRecords]:
    """Write what is new in records into a batch, for `WrittenRecords.use` within the block.

    Raises:
        judging.services.file_imports.responses.UnknownCases: the responses answer cases that the stored suite lacks.
    """
    plan = plan_records(records)
    with open_batch() as batch, ExitStack() as stack:
        rubrics = [stack.enter_context(closing(stage_rubric(spec))) for spec in records.rubrics]
        slug = benchmark_slug_of(BENCHMARK)
        suite = write_suite(batch=batch, spec=records.suite, slug=slug, name=BENCHMARK, watch=watch)
        stored, benchmark = suite.plan.suite, suite.plan.benchmark
        prompts = prompts_of(stored) if stored else coming_prompts(suite.plan)
        responses = plan_responses(specs=records.responses, benchmark=benchmark, prompts=prompts)
        owner = str(stored or BENCHMARK)
        write_responses(batch=batch, plan=responses, prompts=prompts, owner=owner, watch=watch)
        for staged in rubrics:
            write_rubric(batch=batch, staged=staged, benchmark=benchmark, watch=watch)
        new = [cell for cell in records.cells if cell.key in plan.new]
        answers = _coming_answers(records, benchmark, prompts)
        cells, problems = write_cells(batch=batch, cells=new, answers=answers, watch=watch)
        intake = Intake(suite=records.suite, responses=records.responses, rubrics=rubrics)
        imported = WrittenImport(batch, intake, suite, responses)
        yield WrittenRecords(plan, imported, records.rubrics, cells, tuple(problems))


def _store_nothing(**_about: Any) -> Sequence[Model]:
    return ()


def _delete_sets(upload: Upload, _actor: User | None) -> None:
    """Delete the sets that an import of recorded debates made. Raises: RunsInUse: people have worked on them."""
    if upload.kind != UPLOAD_KIND:
        return
    sets = DebateSet.objects.filter(source=DebateSource.IMPORT, created_at=upload.result["finished_at"])
    debates = Debate.objects.filter(debate_set__in=sets)
    check_unused(sets)
    check_unused(debates)
    if OutsideLabel.objects.filter(debate__in=debates).exists():
        raise RunsInUse("Labels of people rest on its debates. Delete them on the pages of the sets first.")
    for debate_set in sets:
        delete_with_dependents(debate_set)


RECORDED_SETS = RecordStore(store=_store_nothing, read={}, delete=_delete_sets)


def _coming_answers(
    records: Records, benchmark: Benchmark | None, prompts: Mapping[str, PromptKey]
) -> dict[str, dict[str, str]]:
    """Return each system's responses, as hashes of texts by case key, as they are once the records are in use."""
    names = {name for cell in records.cells for name in (cell.system_a, cell.system_b)}
    answers: dict[str, dict[str, str]] = {name: {} for name in names}
    keys = {prompt.pk: key for key, prompt in prompts.items()}
    stored = Response.objects.filter(
        prompt__benchmark=benchmark, system__name__in=names, attempt=0, superseded_at__isnull=True
    )
    for prompt_id, name, digest in stored.values_list("prompt_id", "system__name", "text_hash"):
        if prompt_id in keys:
            answers[name][keys[prompt_id]] = digest
    for spec in records.responses:
        if spec.system in answers and spec.attempt == 0:
            answers[spec.system][spec.case_key] = text_hash(spec.text)
    return answers
