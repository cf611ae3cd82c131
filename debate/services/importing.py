"""Stores recorded debates: their responses and criteria first, then one set of debates per recorded cell.

A statement keeps its score as filed and the verdict that a strict reading of its text finds; the outcome of a debate
follows the strict reading, and a flag marks where the filed scores would have ended it otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from debate.models import Debate, DebateSet, DebateSource, DebateStatus, Speaker, Statement
from debate.protocol.consensus import agreed_since, consensus, majority
from debate.protocol.options import DebateOptions
from debate.protocol.recorded import read_recorded_debates
from debate.protocol.records import RecordedCell, RecordedItem, RecordedTurn
from debate.protocol.seats import SeatScheme
from debate.protocol.setups import Mode
from debate.protocol.verdicts import TextReading, read_recorded, read_strict, to_system_space
from debate.services.creating import announce, announce_finished
from judging.models import ImportBatch, Response, Rubric, Suite, System
from judging.services.hashing import content_hash, text_hash
from judging.services.import_batches import open_batch
from judging.services.responses import ResponsePlan, coming_prompts, prompts_of, use_responses, write_responses
from judging.services.rubrics import RubricOrigin, use_rubric, write_rubric
from judging.services.staging import StagedRubric, Watch, stage_rubric, unwatched
from judging.services.suites import NewSuite, benchmark_slug_of, use_suite, write_suite
from judging.services.transactions import persistently
from judging.specs.bundles import Bundle
from judging.specs.criteria_yaml import find_criteria, parse_criteria
from judging.specs.problems import Parsed, Problem, Severity
from judging.specs.scaleeval_responses import ScaleEvalImport, parse_scaleeval_responses
from judging.specs.types import RubricSpec

BATCH = 500
BENCHMARK = "ScaleEval"
LONGEST_SCORE = 150  # characters of a filed score that are kept; nothing longer is a verdict
# What is known of how the original held its debates.
ORIGINAL = DebateOptions(mode=Mode.SEQUENTIAL, seating=SeatScheme.CYCLIC, temperature=0.5)
Readings = Mapping[str | None, TextReading]  # by text
Answers = Mapping[str, tuple[int, str]]  # case key -> (response id, hash of its text)


class RecordsRefused(ValueError):
    """Nothing was stored; the message says why, and `problems` lists every finding by file and item."""

    def __init__(self, message: str, problems: Sequence[Problem]) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Records:
    """A folder of recorded debates as read, before anything is stored."""

    cells: tuple[RecordedCell, ...]
    answers: ScaleEvalImport
    rubrics: tuple[RubricSpec, ...]


@dataclass(frozen=True, slots=True)
class RecordsPlan:
    """What storing the records would do."""

    new: tuple[str, ...]  # keys of cells
    known: tuple[str, ...]  # stored already, byte for byte
    debates: int  # in the new cells
    statements: int


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """What was stored."""

    plan: RecordsPlan
    sets: tuple[DebateSet, ...]
    problems: tuple[Problem, ...]  # found while storing: items whose responses are not where they should be


def read_records(bundle: Bundle) -> Parsed[Records]:
    """Return what a folder of recorded debates holds, with everything unusual in it by file and item."""
    debates = read_recorded_debates(bundle)
    answers = parse_scaleeval_responses(bundle, name=BENCHMARK)
    criteria = [parse_criteria(bundle, path) for path in find_criteria(bundle)]
    problems = (*debates.problems, *answers.problems, *(one for parsed in criteria for one in parsed.problems))
    if debates.value is None or answers.value is None:
        return Parsed(None, problems)
    rubrics = tuple(parsed.value for parsed in criteria if parsed.value is not None)
    return Parsed(Records(debates.value, answers.value, rubrics), problems)


def plan_records(records: Records) -> RecordsPlan:
    """Return what `store_records` would create, without storing anything."""
    hashes = {cell.key: cell_hash(cell) for cell in records.cells}
    stored = set(DebateSet.objects.filter(content_hash__in=hashes.values()).values_list("content_hash", flat=True))
    new = [cell for cell in records.cells if hashes[cell.key] not in stored]
    return RecordsPlan(
        new=tuple(cell.key for cell in new),
        known=tuple(key for key, digest in hashes.items() if digest in stored),
        debates=sum(len(cell.items) for cell in new),
        statements=sum(len(stage) for cell in new for item in cell.items for stage in item.stages),
    )


def cell_hash(cell: RecordedCell) -> str:
    """Return the hash of everything that a recorded cell holds but its criterion's text."""
    return content_hash(asdict(replace(cell, criterion_levels={})))


def store_records(*, records: Records, actor: User | None, at: datetime, watch: Watch = unwatched) -> StoredRecords:
    """Store responses, criteria and debates; what is stored already stays as it is. Unresolved ones go to people.

    Texts are read and responses written before the transaction that shows all of it.

    Raises:
        judging.services.responses.UnknownCases: the responses answer other cases than the stored suite has.
    """
    if not plan_records(records).new:
        return StoredRecords(plan_records(records), (), ())
    readings = _read_all(records.cells)
    with open_batch() as batch, ExitStack() as stack:
        rubrics = [stack.enter_context(closing(stage_rubric(spec))) for spec in records.rubrics]
        slug = benchmark_slug_of(BENCHMARK)
        suite = write_suite(batch=batch, spec=records.answers.suite, slug=slug, name=BENCHMARK)
        stored, benchmark = suite.plan.suite, suite.plan.benchmark
        responses = write_responses(
            batch=batch,
            specs=records.answers.responses,
            benchmark=benchmark,
            prompts=prompts_of(stored) if stored else coming_prompts(records.answers.suite, benchmark),
            owner=str(stored or BENCHMARK),
        )
        for staged in rubrics:
            write_rubric(batch=batch, staged=staged, benchmark=benchmark)
        written = _Written(batch, suite, responses, tuple(rubrics), readings)
        return persistently(partial(_use, records, written, actor, at, watch))


@dataclass(frozen=True, slots=True)
class _Written:
    """What a batch holds of the records, and every text of a statement as it was read."""

    batch: ImportBatch
    suite: NewSuite
    responses: ResponsePlan
    rubrics: tuple[StagedRubric, ...]
    readings: Readings


@transaction.atomic
def _use(records: Records, written: _Written, actor: User | None, at: datetime, watch: Watch) -> StoredRecords:
    plan, batch = plan_records(records), written.batch
    suite = use_suite(batch=batch, new=written.suite, actor=actor, at=at).suite
    use_responses(batch=batch, plan=written.responses, suite=suite, actor=actor, at=at)
    rubrics: dict[str, Rubric] = {}
    for spec, staged in zip(records.rubrics, written.rubrics, strict=True):
        origin = RubricOrigin(spec.items[0].source, actor, at)
        stored = use_rubric(batch=batch, staged=staged, benchmark=suite.benchmark, origin=origin)
        rubrics |= {child.key: stored.rubric for child in spec.items[0].root.children}
    keeper = _Keeper(suite=suite, rubrics=rubrics, readings=written.readings, actor=actor, at=at)
    sets = []
    for number, cell in enumerate(cell for cell in records.cells if cell.key in plan.new):
        watch("sets stored", number, len(plan.new))
        sets.append(keeper.store(cell))
    return StoredRecords(plan, tuple(sets), tuple(keeper.problems))


def _read_all(cells: Sequence[RecordedCell]) -> Readings:
    """Return every text of the cells' statements as it is read strictly."""
    turns = (turn for cell in cells for item in cell.items for stage in item.stages for turn in stage)
    return {text: read_strict(text) for text in {turn.text for turn in turns}}


class _Keeper:
    """Stores cells one after the other."""

    def __init__(
        self, *, suite: Suite, rubrics: Mapping[str, Rubric], readings: Readings, actor: User | None, at: datetime
    ) -> None:
        self.suite, self.rubrics, self.readings, self.actor, self.at = suite, rubrics, readings, actor, at
        self.cases = dict(suite.cases.values_list("key", "pk"))
        self.systems = {system.name: system for system in System.objects.all()}
        self.answers: dict[str, Answers] = {}
        self.problems: list[Problem] = []

    def store(self, cell: RecordedCell) -> DebateSet:
        """Return the new set of a cell's debates."""
        rubric = self.rubrics.get(cell.criterion_key)
        made = DebateSet.objects.create(
            name=f"{cell.system_a} vs {cell.system_b}: {cell.criterion}, {cell.scenario}"[:200],
            source=DebateSource.IMPORT,
            system_a=self.systems[cell.system_a],
            system_b=self.systems[cell.system_b],
            rubric=rubric,
            criterion=(cell.criterion_key if rubric else cell.criterion)[:100],
            setup={**ORIGINAL.to_json(), "endpoints": list(cell.judges), "recorded": _provenance(cell)},
            content_hash=cell_hash(cell),
            created_at=self.at,
        )
        debates = self._debates(made, cell)
        Debate.objects.bulk_create([debate for _, debate in debates], batch_size=BATCH)
        speakers = [
            (turns, Speaker(debate=debate, seat=seat, name=judge[:120]))
            for item, debate in debates
            for seat, (judge, turns) in enumerate(zip(item.seats, zip(*item.stages, strict=True), strict=True), start=1)
        ]
        Speaker.objects.bulk_create([speaker for _, speaker in speakers], batch_size=BATCH)
        statements = [
            self._statement(speaker, number, turn) for turns, speaker in speakers for number, turn in enumerate(turns)
        ]
        Statement.objects.bulk_create(statements, batch_size=BATCH)
        announce(made, self.actor, "debates.imported", {"debates": len(debates), "statements": len(statements)})
        announce_finished(made.pk)
        return made

    def _debates(self, made: DebateSet, cell: RecordedCell) -> list[tuple[RecordedItem, Debate]]:
        found: dict[str, tuple[RecordedItem, Debate]] = {}
        a, b = self._answers_of(cell.system_a), self._answers_of(cell.system_b)
        for item in cell.items:
            key = _case_key(cell.scenario, item, a, b)
            if key is None or key in found:
                message = "Its responses are not stored, or are those of another item; it was left out."
                self.problems.append(
                    Problem(Severity.WARNING, cell.key, f"item {item.id}", message, code="responses-not-stored")
                )
                continue
            debate = Debate(
                debate_set=made,
                case_id=self.cases[key],
                response_a_id=a[key][0],
                response_b_id=b[key][0],
                scenario=cell.scenario[:100],
                source_id=item.id,
                seed=0,
                submission_order=item.submission_order,
                finished_at=self.at,
            )
            _settle(debate, item, self.readings)
            found[key] = (item, debate)
        return list(found.values())

    def _answers_of(self, system: str) -> Answers:
        if system not in self.answers:
            rows = Response.objects.filter(
                prompt__cases__suites=self.suite, system__name=system, attempt=0, superseded_at__isnull=True
            )
            self.answers[system] = {
                key: (pk, digest) for key, pk, digest in rows.values_list("prompt__key", "pk", "text_hash")
            }
        return self.answers[system]

    def _statement(self, speaker: Speaker, number: int, turn: RecordedTurn) -> Statement:
        reading = self.readings[turn.text]
        return Statement(
            speaker=speaker,
            round=number,
            text=turn.text or "",
            position_verdict="" if reading.verdict is None else str(reading.verdict),
            verdict=to_system_space(reading.verdict, submission_order=speaker.debate.submission_order),
            status=_how(reading),
            recorded_verdict=score_to_text(turn.score),
            created_at=self.at,
        )


def score_to_text(score: str | float | None) -> str:
    """Return a filed score as the JSON that is stored: "4", 0 and null stay apart."""
    return json.dumps(score[:LONGEST_SCORE] if isinstance(score, str) else score, ensure_ascii=False)


def _how(reading: TextReading) -> str:
    return "refused" if reading.refused else str(reading.how)


def _case_key(scenario: str, item: RecordedItem, a: Answers, b: Answers) -> str | None:
    """Return the key of the case whose stored responses are the item's: that of its own line, else any other."""
    wanted = (text_hash(item.submission_a), text_hash(item.submission_b))
    own = f"{scenario}-{item.id}"
    for key in (own, *(key for key in a if key.rpartition("-")[0] == scenario)):
        if key in a and key in b and (a[key][1], b[key][1]) == wanted:
            return key
    return None


def _settle(debate: Debate, item: RecordedItem, readings: Readings) -> None:
    """Set the outcome by the strict reading, and flag what a reader should know."""
    rounds = [tuple(_vote(readings[turn.text].verdict, item) for turn in stage) for stage in item.stages]
    filed = [tuple(_vote(read_recorded(turn.score), item) for turn in stage) for stage in item.stages]
    verdict = consensus(rounds[-1])
    debate.status = DebateStatus.UNRESOLVED if verdict is None else DebateStatus.AGREED
    debate.verdict = verdict
    debate.agreed_round = None if verdict is None else agreed_since(rounds)
    debate.round_count = len(rounds) - 1
    debate.opening_verdict = majority(rounds[0])
    flags = {f"statement-{_how(reading)}" for reading in _valueless(item, readings)}
    if filed != rounds:
        flags.add("scores-differ-from-texts")
    if consensus(filed[-1]) != verdict:
        flags.add("outcome-differs-from-scores")
    debate.flags = sorted(flags)


def _valueless(item: RecordedItem, readings: Readings) -> list[TextReading]:
    said = [readings[turn.text] for stage in item.stages for turn in stage]
    return [reading for reading in said if reading.verdict is None]


def _vote(position: int | None, item: RecordedItem) -> int | None:
    return to_system_space(position, submission_order=item.submission_order)


def _provenance(cell: RecordedCell) -> dict[str, Any]:
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
