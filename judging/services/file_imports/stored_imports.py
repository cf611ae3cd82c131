"""Judgments of an import are stored by the apps that own them; what was stored is read back as shown, and undone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import ForeignObjectRel, OuterRef, ProtectedError, QuerySet, RestrictedError, Subquery
from django.utils.dateparse import parse_datetime

from evalsite.accounts.audit import record
from evalsite.base import signals
from evalsite.base.rows import batches, lock_row
from evalsite.base.types import JsonDict, JsonObject, Refused
from judging.grading.rubric_tree import ScoreStatus
from judging.judges.judge_kinds import IMPORTED, IMPORTED_FROM, IMPORTED_JUDGE
from judging.judges.registry import (
    OFF_SCALE,
    SCALE_UNKNOWN,
    ImportedGrader,
    ImportedLog,
    imported_grader,
    short_criterion,
)
from judging.judges.subjects import READ_ELSEWHERE, VerdictStatus
from judging.models import (
    Case,
    EvaluatorKind,
    ImportStatus,
    Judge,
    Prompt,
    Response,
    Rubric,
    RubricItem,
    Run,
    RunEvaluator,
    RunTask,
    Score,
    Suite,
    System,
    TaskStatus,
    Upload,
    Verdict,
)
from judging.models.runs import BASELINE_RESPONSE, RunStatus
from judging.services.evaluator_tasks import frozen_baseline
from judging.services.file_imports.import_batches import copy_rows, table
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.record_plans import response_ids
from judging.services.file_imports.rubrics import RubricOrigin
from judging.services.file_imports.suites import case_spec
from judging.services.registries import record_stores
from judging.services.run_lifecycle import NAME_LENGTH
from judging.services.runs.run_plans import against
from judging.specs.files.bundles import SourceFile
from judging.specs.records.collected import (
    Collected,
    case_json,
    preference_json,
    response_json,
    rubric_json,
    score_json,
    verdict_json,
)
from judging.specs.records.collector import encode
from judging.specs.records.neutral import (
    PREFERENCE_NUMBERS,
    CriterionRecord,
    Giver,
    LogRecord,
    PreferenceRecord,
    ResponseRecord,
    RubricRecord,
    ScoreRecord,
    VerdictRecord,
    given,
)
from judging.specs.records.values import moment_of
from judging.specs.types import Scale
from judging.stored_content import storable

BATCH = 2_000
JUDGE_NAME, EVALUATOR_NAME = 120, 160  # characters
UNNAMED = "unnamed judge"
NOT_READ = "The log has no value: the judge's reply could not be read."
CHOICES = {preference: choice for choice, preference in PREFERENCE_NUMBERS.items()}
SHOWN_AS = "shown_as"  # in the value of a preference: which of the two the judged response was, A or B
ROOM = 255  # values of one evaluator about one response, each beyond the first with an evaluator of its own

Record = ScoreRecord | VerdictRecord | PreferenceRecord
Key = tuple[object, ...]


class RunsInUse(ValueError):
    """Something newer rests on imported runs, so they stay; the message says what."""


@transaction.atomic
def store_imported_runs(
    *,
    collected: Collected,
    suite: Suite,
    responses: Callable[[int], int | None],
    upload: Upload,
    actor: User | None,
    at: datetime,
) -> list[Run]:
    """Store the scores, verdicts and judges' preferences of an upload, one run for each log; return the new runs.

    A log whose values are all stored already, about the same responses, makes none. `responses` gives the row of a
    response by its number in the upload.
    """
    rows = _Rows(collected, responses)
    logs = _read_logs(rows)
    earlier = Run.objects.filter(suite__benchmark=suite.benchmark_id, options__has_key=IMPORTED)
    stored = set(earlier.values_list(f"options__{IMPORTED}__digest", flat=True))
    writers = {
        file: _RunWriter(rows, log, _new_run(log, suite, upload, actor, at), at)
        for file, log in logs.items()
        if log.digest not in stored
    }
    for row in rows if writers else ():
        writer = writers.get(row.place.file)
        if writer is not None:
            writer.add(row)
    return [writer.finish(actor) for writer in writers.values()]


@dataclass(frozen=True, slots=True)
class _Rows:
    """The values of an upload, and the stored responses that they are about."""

    collected: Collected
    find: Callable[[int], int | None]

    def __iter__(self) -> Iterator[Record]:
        """Yield the values; preferences of judges alone, since those of people and files are labels."""
        yield from (row for _, row in self.collected.scores if row.value is not None)
        yield from (row for _, row in self.collected.verdicts)
        yield from (row for _, row in self.collected.preferences if row.kind is Giver.JUDGE)

    def response_id(self, number: int) -> int:
        """Return the row of a response. Raises: LookupError: it is not stored."""
        pk = self.find(number)
        if pk is None:
            raise LookupError(f"The response {number} of the upload is not stored.")
        return pk

    def systems(self, row: PreferenceRecord) -> tuple[str, str]:
        """Return whose responses were compared."""
        return self.collected.identity(row.a)[1], self.collected.identity(row.b)[1]

    def content(self, row: Record) -> list[object]:
        """Return everything that is stored of a value."""
        if isinstance(row, PreferenceRecord):
            shown = preference_json(row, case="", systems=("", ""), attempts=(0, 0))
            return [self.response_id(row.a), self.response_id(row.b), row.is_flipped, shown, row.metadata]
        shown = score_json(row) | {"reason": row.reason} if isinstance(row, ScoreRecord) else verdict_json(row)
        return [self.response_id(row.response), shown, row.metadata]


@dataclass(slots=True)
class _LogFacts:
    """What is known of a log before anything of it is stored."""

    record: LogRecord
    digest: str = ""  # of all its values
    bare_judges: set[str] = field(default_factory=set)  # that name neither criterion nor turn
    scales: dict[Key, Scale] = field(default_factory=dict)  # of verdicts that were read, by judge and question
    pairs: dict[Key, Counter[tuple[str, str]]] = field(default_factory=dict)  # of systems, by judge and question

    def about(self, upload: Upload) -> ImportedLog:
        """Return what its run keeps of it."""
        return ImportedLog(upload.pk, self.record.file, self.record.tool, self.record.version, self.digest)

    @property
    def made_at(self) -> datetime | None:
        """When the log was made, as far as it says so."""
        return moment_of(self.record.at)


def _read_logs(rows: _Rows) -> dict[str, _LogFacts]:
    """Return what each log holds, by file."""
    named = {log.file: log for log in rows.collected.logs}
    logs: dict[str, _LogFacts] = {}
    hashes = defaultdict[str, Any](sha256)
    for row in rows:
        file = row.place.file
        log = logs.setdefault(file, _LogFacts(named.get(file) or LogRecord(file, "")))
        hashes[file].update(encode(rows.content(row)).encode("utf-8", "surrogatepass"))
        if isinstance(row, PreferenceRecord):
            log.pairs.setdefault(_question(row), Counter())[rows.systems(row)] += 1
        elif isinstance(row, VerdictRecord):
            log.bare_judges |= set() if row.criterion or row.turn is not None else {row.judge}
            if row.value is not None:
                log.scales.setdefault((row.judge, row.criterion, row.turn), row.scale)
    for file, log in logs.items():
        hashes[file].update(encode([log.record.tool, log.record.version, log.record.name]).encode())
        log.digest = hashes[file].hexdigest()
    return logs


def _question(row: PreferenceRecord) -> Key:
    return row.by, row.criterion, row.turn


def _baseline_of(pairs: Counter[tuple[str, str]], systems: tuple[str, str]) -> str:
    """Return which system of a pair is its baseline: the one in most pairs of its judge, then in most of the rest.

    Of systems in equally many pairs it is the one that comes first most often, then the first of the alphabet.
    """
    left = dict(pairs)
    while True:
        counts, firsts = Counter[str](), Counter[str]()
        for pair, count in left.items():
            counts.update(dict.fromkeys(pair, count))
            firsts[pair[0]] += count
        baseline = min(counts, key=lambda name: (-counts[name], -firsts[name], name))
        if baseline in systems:
            return baseline
        left = {pair: count for pair, count in left.items() if baseline not in pair}


def _new_run(log: _LogFacts, suite: Suite, upload: Upload, actor: User | None, at: datetime) -> Run:
    """Return a new run for a log; its counts follow."""
    made_at = log.made_at
    name = log.record.name or PurePosixPath(log.record.file).name
    time = f", {made_at:%Y-%m-%d %H:%M}" if made_at else ""
    return Run.objects.create(
        name=storable(f"{name[: NAME_LENGTH - len(time)]}{time}"),
        suite=suite,
        options=storable({"asks_people": False, **log.about(upload).to_json()}),
        status=RunStatus.FINISHED,
        planned_at=at,
        created_at=at,
        created_by=actor,
        started_at=made_at or at,
        finished_at=made_at or at,
    )


@dataclass(slots=True)
class _RunWriter:
    """Writes the values of one log, some thousand at a time."""

    rows: _Rows
    log: _LogFacts
    run: Run
    at: datetime
    evaluators: dict[Key, RunEvaluator] = field(default_factory=dict)
    names: Counter[str] = field(default_factory=Counter)  # of evaluators
    seen: dict[Key, bytearray] = field(default_factory=dict)  # how many values each response has, by number
    judges: dict[str, Judge] = field(default_factory=dict)
    systems: dict[str, System] = field(default_factory=dict)  # baselines
    baselines: dict[Key, str] = field(default_factory=dict)  # by question and pair of systems
    verdicts: list[Verdict] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)

    def add(self, row: Record) -> None:
        """Take a value; it is stored with the next batch."""
        if isinstance(row, ScoreRecord):
            self._add_score(row)
        elif isinstance(row, VerdictRecord):
            self._add_verdict(row)
        else:
            self._add_preference(row)
        if len(self.scores) == BATCH:
            self._flush()

    def finish(self, actor: User | None) -> Run:
        """Store the rest, a finished task for each value, and the counts; announce the run and return it."""
        self._flush()
        rows, run = list(self.evaluators.values()), self.run
        for evaluator in rows:
            evaluator.done = evaluator.total - evaluator.failed
        RunEvaluator.objects.bulk_update(rows, ["total", "done", "failed"])
        _write_tasks(run)
        answered = Response.objects.filter(scores__run=run).order_by()
        run.systems.set(System.objects.filter(pk__in=answered.values("system")))
        run.case_count = answered.values("prompt").distinct().count()
        run.total, run.failed = sum(row.total for row in rows), sum(row.failed for row in rows)
        run.done = run.total - run.failed
        run.save(update_fields=["case_count", "total", "done", "failed"])
        record(actor, "run.imported", run, tasks=run.total, source=run.imported_from)
        transaction.on_commit(lambda: signals.run_finished.send_robust(sender=Run, run_id=run.pk, kind=run.kind))
        return run

    def _flush(self) -> None:
        Verdict.objects.bulk_create(self.verdicts)
        Score.objects.bulk_create(self.scores)
        self.verdicts, self.scores = [], []

    def _add_score(self, row: ScoreRecord) -> None:
        assert row.value is not None
        grader = ImportedGrader(row.grader, self._tool, row.scale, turn=row.turn)
        evaluator = self._evaluator(grader, row.response, is_judge=False)
        detail = ({"reason": row.reason} if row.reason else {}) | _details(row)
        self._score(evaluator, self.rows.response_id(row.response), _scored(grader, row.value, detail))

    def _add_verdict(self, row: VerdictRecord) -> None:
        scale = row.scale if row.value is not None else self.log.scales.get((row.judge, row.criterion, row.turn))
        grader = ImportedGrader(row.judge, self._tool, scale or row.scale, row.criterion, row.turn)
        evaluator, response_id = self._evaluator(grader, row.response), self.rows.response_id(row.response)
        name = "grade" if isinstance(row.value, str) else "score"
        value = {name: row.value} if row.value is not None else None
        verdict = self._verdict(evaluator, response_id, value, row.reason)
        self._score(evaluator, response_id, _scored(grader, row.value, _details(row)), verdict)

    def _add_preference(self, row: PreferenceRecord) -> None:
        grader = ImportedGrader(row.by, self._tool, criterion=row.criterion, turn=row.turn)
        systems = self.rows.systems(row)
        key = (*_question(row), *systems)
        if key not in self.baselines:
            self.baselines[key] = _baseline_of(self.log.pairs[_question(row)], systems)
        baseline = self.baselines[key]
        is_second = systems[0] == baseline != systems[1]  # the response that is judged comes second
        judged, other = (row.b, row.a) if is_second else (row.a, row.b)
        preference = -PREFERENCE_NUMBERS[row.choice] if is_second else PREFERENCE_NUMBERS[row.choice]
        value: JsonDict = {"preference": preference, BASELINE_RESPONSE: self.rows.response_id(other)}
        value[SHOWN_AS] = "B" if is_second else "A"
        value |= {"strength": row.strength} if row.strength is not None else {}
        orders = [PREFERENCE_NUMBERS[choice] for choice in row.orders]
        if orders:  # with the judged response first, then second
            value["orders"] = [-number for number in reversed(orders)] if is_second else orders
        evaluator, response_id = self._evaluator(grader, judged, baseline=baseline), self.rows.response_id(judged)
        verdict = self._verdict(evaluator, response_id, value, row.reason)
        verdict.flags = ["position_flip"] if row.is_flipped else []
        worth = (1 + PREFERENCE_NUMBERS[row.choice]) / 2 if row.worth_of_a is None else row.worth_of_a  # of `row.a`
        share = 1 - worth if is_second else worth
        fields = {"status": ScoreStatus.COMPLETE, "value": share, "full": 1.0, "share": share}
        self._score(evaluator, response_id, fields | {"detail": storable(_details(row))}, verdict)

    @property
    def _tool(self) -> str:
        return " ".join(filter(None, (self.log.record.tool, self.log.record.version)))

    def _verdict(self, evaluator: RunEvaluator, response_id: int, value: JsonDict | None, reason: str) -> Verdict:
        is_read = value is not None
        evaluator.failed += not is_read
        verdict = Verdict(
            run_id=self.run.pk,
            evaluator_id=evaluator.pk,
            response_id=response_id,
            status=VerdictStatus.OK if is_read else VerdictStatus.UNPARSED,
            value=storable(value) if is_read else None,
            rationale=storable(reason),
            reason="" if is_read else NOT_READ,
            parser_version=READ_ELSEWHERE,
            created_at=self.at,
        )
        self.verdicts.append(verdict)
        return verdict

    def _score(
        self, evaluator: RunEvaluator, response_id: int, fields: JsonObject, verdict: Verdict | None = None
    ) -> None:
        evaluator.total += 1
        about = {"run_id": self.run.pk, "evaluator_id": evaluator.pk, "response_id": response_id}
        self.scores.append(Score(**about, verdict=verdict, created_at=self.at, **fields))

    def _evaluator(
        self, grader: ImportedGrader, response: int, *, is_judge: bool = True, baseline: str = ""
    ) -> RunEvaluator:
        """Return the evaluator of a value; each further value about one response has an evaluator of its own."""
        counts = self.seen.setdefault((is_judge, grader, baseline), bytearray())
        counts.extend(bytes(max(0, response + 1 - len(counts))))
        repeat = counts[response]
        counts[response] = min(ROOM, repeat + 1)
        key = (is_judge, grader, baseline, repeat)
        if key not in self.evaluators:
            self.evaluators[key] = self._new_evaluator(replace(grader, repeat=repeat), baseline, is_judge=is_judge)
        return self.evaluators[key]

    def _new_evaluator(self, grader: ImportedGrader, baseline: str, *, is_judge: bool) -> RunEvaluator:
        judge = self._judge(grader) if is_judge else None
        against_words, frozen = "", grader.to_json() | {IMPORTED_FROM: self.run.imported_from}
        if baseline:
            system = self.systems.setdefault(baseline, System.objects.get(name=baseline))
            against_words, frozen = against(system), frozen | frozen_baseline(system)
        if judge is not None:
            frozen |= {"judge_kind": judge.kind, "judge_options": dict(judge.options)}
        criterion = ", ".join(filter(None, (against_words, grader.asked)))
        if is_judge and not criterion and len(self.log.bare_judges) > 1:
            criterion = grader.name  # each asks something of its own, as metrics do, and only its name says what
        return RunEvaluator.objects.create(
            run=self.run,
            position=len(self.evaluators),
            kind=EvaluatorKind.JUDGE if is_judge else EvaluatorKind.GRADER,
            name=self._free_name(" · ".join(filter(None, (grader.name or UNNAMED, grader.asked, against_words)))),
            judge=judge,
            criterion=storable(short_criterion(criterion)) if is_judge else "",
            options=storable(frozen),
        )

    def _free_name(self, name: str) -> str:
        """Return a name that no other evaluator of the run has."""
        name = storable(name[:EVALUATOR_NAME])
        self.names[name] += 1
        end = f" ({self.names[name]})" if self.names[name] > 1 else ""
        return f"{name[: EVALUATOR_NAME - len(end)]}{end}"

    def _judge(self, grader: ImportedGrader) -> Judge:
        """Return the judge of this name that was imported, a new one where there is none."""
        if grader.name not in self.judges:
            self.judges[grader.name] = _judge_named(storable(grader.name) or UNNAMED, self.run.imported_from)
        return self.judges[grader.name]


def _judge_named(name: str, source: str) -> Judge:
    for end in ("", *(f" (imported{number})" for number in ("", *(f" {n}" for n in range(2, 100))))):
        free = f"{name[: JUDGE_NAME - len(end)]}{end}"
        defaults = {"kind": IMPORTED_JUDGE, "description": f"Imported from {source}. It cannot be asked here."}
        judge, _ = Judge.objects.get_or_create(name=free, defaults=defaults)
        if judge.kind == IMPORTED_JUDGE:
            return judge
    raise ValueError(f"There are too many judges called {name}.")


def _details(row: Record) -> JsonDict:
    return {"details": row.metadata} if row.metadata else {}


def _scored(grader: ImportedGrader, value: float | str | None, detail: JsonObject) -> JsonDict:
    """Return the fields of a score: a value off its scale, or on one that is not known, has no share and is no 0."""
    share = grader.share(value) if value is not None else None
    further = {"grade": value, **detail} if isinstance(value, str) else detail
    number = value if isinstance(value, int | float) else share
    flag = OFF_SCALE if grader.letters or grader.ends != (None, None) else SCALE_UNKNOWN
    return {
        "status": ScoreStatus.COMPLETE if share is not None else ScoreStatus.INCOMPLETE,
        "value": number,
        "full": (grader.ends[1] or 1.0) if share is not None else None,
        "share": share,
        "flags": [flag] if share is None and value is not None else [],
        "detail": storable(dict(further)),
    }


def _write_tasks(run: Run) -> None:
    """Give each value the finished task of a run that asks, so that lists and counts of tasks hold it."""
    failed = f"v.status = '{VerdictStatus.UNPARSED}'"
    copy_rows(
        RunTask,
        {
            "run": "s.run_id",
            "evaluator": "s.evaluator_id",
            "response": "s.response_id",
            "status": f"CASE WHEN {failed} THEN '{TaskStatus.FAILED}' ELSE '{TaskStatus.DONE}' END",
            "tries": "1",
            "retries": "0",
            "failure_kind": f"CASE WHEN {failed} THEN v.status ELSE '' END",
        },
        f"FROM {table(Score)} s LEFT JOIN {table(Verdict)} v ON v.id = s.verdict_id WHERE s.run_id = %s ORDER BY s.id",
        [run.pk],
    )
    tasks = RunTask.objects.filter(evaluator=OuterRef("evaluator"), response=OuterRef("response"))
    Verdict.objects.filter(run=run).update(task=Subquery(tasks.values("pk")[:1]))


def runs_of_upload(upload: Upload) -> QuerySet[Run]:
    """Return the runs that an upload made."""
    return Run.objects.filter(**{f"options__{IMPORTED}__upload": upload.pk}).order_by("pk")


def imported_scores(upload: Upload) -> Iterator[JsonDict]:
    """Yield the scores that an upload stored, in the form of its preview."""
    rows = Score.objects.filter(run__in=runs_of_upload(upload), evaluator__kind=EvaluatorKind.GRADER)
    for row in rows.select_related(*_JOINED).order_by("pk").iterator(chunk_size=BATCH):
        grader = _grader_of(row)
        score = ScoreRecord(0, grader.name, row.detail.get("grade", row.value), grader.scale, turn=grader.turn)
        yield _about(row.response) | score_json(score)


def imported_verdicts(upload: Upload) -> Iterator[JsonDict]:
    """Yield the verdicts that an upload stored, in the form of its preview, without those that could not be read."""
    rows = Verdict.objects.filter(run__in=runs_of_upload(upload), value__isnull=False)
    rows = rows.exclude(value__has_key="preference").select_related(*_JOINED).order_by("pk")
    for row in rows.iterator(chunk_size=BATCH):
        grader, value = _grader_of(row), _value_of(row)
        given = value.get("score", value.get("grade"))
        verdict = VerdictRecord(0, grader.name, given, grader.scale, row.rationale, grader.criterion, grader.turn)
        yield _about(row.response) | verdict_json(verdict)


def imported_preferences(upload: Upload) -> Iterator[JsonDict]:
    """Yield the preferences of judges that an upload stored, in the form of its preview."""
    rows = Verdict.objects.filter(run__in=runs_of_upload(upload), value__has_key="preference")
    rows = rows.select_related(*_JOINED).order_by("pk")
    for batch in batches(rows.iterator(chunk_size=BATCH), BATCH):
        other_ids = [_value_of(row)[BASELINE_RESPONSE] for row in batch]
        others = Response.objects.select_related("system").in_bulk(other_ids)
        yield from (_preference(row, others[pk]) for row, pk in zip(batch, other_ids, strict=True))


def _preference(row: Verdict, other: Response) -> JsonDict:
    grader, value = _grader_of(row), _value_of(row)
    is_second = value[SHOWN_AS] == "B"
    first, second = (other, row.response) if is_second else (row.response, other)
    preference = -value["preference"] if is_second else value["preference"]
    stored = PreferenceRecord(0, 0, CHOICES[preference], Giver.JUDGE, grader.name, reason=row.rationale)
    stored.strength, stored.criterion, stored.turn = value.get("strength"), grader.criterion, grader.turn
    return preference_json(
        stored,
        case=row.response.prompt.key,
        systems=(first.system.name, second.system.name),
        attempts=(first.attempt, second.attempt),
    )


_JOINED = ("evaluator", "response__prompt", "response__system")


def _grader_of(row: Score | Verdict) -> ImportedGrader:
    grader = imported_grader(row.evaluator.options)
    assert grader is not None
    return grader


def _value_of(row: Verdict) -> JsonDict:
    return row.value if row.value is not None else {}


def _about(response: Response) -> dict[str, int | str]:
    return {"case": response.prompt.key, "system": response.system.name, "attempt": response.attempt}


@transaction.atomic
def delete_imported_runs(upload: Upload) -> int:
    """Delete the runs that an upload made, with judges that no other run has; return how many runs those were.

    Raises:
        RunsInUse: people were asked about them, or another app has stored something about them.
    """
    runs = runs_of_upload(upload)
    evaluators = RunEvaluator.objects.filter(run__in=runs)
    verdicts = Verdict.objects.filter(run__in=runs)
    for rows in (runs, evaluators, verdicts):
        check_unused(rows)
    judge_ids = set(evaluators.filter(judge__isnull=False).values_list("judge_id", flat=True))
    ids = list(runs.values_list("pk", flat=True))
    for model in (Score, Verdict, RunTask):
        rows_left = model._default_manager.filter(run__in=ids).order_by("pk")
        while batch := list(rows_left.values_list("pk", flat=True)[:BATCH]):
            model._default_manager.filter(pk__in=batch).delete()
    Run.objects.filter(pk__in=ids).delete()
    Judge.objects.filter(pk__in=judge_ids, kind=IMPORTED_JUDGE, evaluators__isnull=True).delete()
    return len(ids)


def check_unused(rows: QuerySet[Any]) -> None:
    """Pass where no other app refers to these rows. Raises: RunsInUse."""
    known = rows.model._meta.get_fields(include_hidden=True)
    for relation in (each for each in known if isinstance(each, ForeignObjectRel)):
        model = relation.related_model
        if isinstance(model, str):
            continue
        is_foreign = model._meta.app_label != rows.model._meta.app_label
        about = {f"{relation.field.name}__in": rows.order_by().values("pk")}
        if is_foreign and model._default_manager.filter(**about).exists():
            raise RunsInUse(f"{str(model._meta.verbose_name_plural).capitalize()} rest on this import, so it stays.")


CHUNK = 2**20


def use_judgments(
    collected: Collected, suite: Suite | None, upload: Upload, origin: RubricOrigin, *, is_blind: bool
) -> JsonDict:
    """Store the scores, verdicts, preferences and labels of an import, and return the ids of what was made: runs, and
    what apps above keep."""
    benchmark_id = suite.benchmark_id if suite is not None else None
    options = ImportOptions.of_json(upload.options)
    if not has_judgments(collected) or earlier_import(upload.content_hash, options, benchmark_id, but=upload):
        return {}
    find = response_ids(collected, suite)
    about: JsonDict = {"collected": collected, "upload": upload, "suite": suite, "responses": find}
    about |= {"actor": origin.actor, "at": origin.at}
    runs = store_imported_runs(**about) if suite is not None else []
    tables = [row for store in record_stores() for row in store.store(**about, is_blind=is_blind)]
    return {"runs": [run.pk for run in runs], "label_tables": [row.pk for row in tables]}


def has_judgments(collected: Collected) -> bool:
    """Return whether an upload holds more than cases, responses and rubrics."""
    return any(collected.counts[name] for name in ("scores", "verdicts", "preferences", "labels"))


def read_judgments(upload: Upload) -> dict[str, list[JsonDict]]:
    """Return what was stored of the judgments of an import, from the database, as its document has it."""
    document: dict[str, list[JsonDict]] = {
        "scores": list(imported_scores(upload)),
        "verdicts": list(imported_verdicts(upload)),
        "preferences": list(imported_preferences(upload)),
        "labels": [],
    }
    for store in record_stores():
        for part, read in store.read.items():
            document[part] += read(upload)
    return document


def earlier_import(
    digest: str, options: ImportOptions, benchmark_id: int | None, *, but: Upload | None = None
) -> Upload | None:
    """Return the import that stored the judgments of the same files in a benchmark before, read as they are now; None
    where there is none."""
    rows = Upload.objects.filter(content_hash=digest, status=ImportStatus.DONE).order_by("-pk")
    for row in rows.exclude(pk=but.pk) if but is not None and but.pk else rows:
        has_stored = row.result.get("runs") or row.result.get("label_tables")
        is_there = row.result.get("benchmark", {}).get("id") == benchmark_id
        if has_stored and is_there and ImportOptions.of_json(row.options).reads_as(options):
            return row
    return None


def hash_of_files(files: Sequence[SourceFile]) -> str:
    """Return the SHA-256 of files with their names, whatever their order."""
    digest = sha256()
    for file in sorted(files, key=lambda file: file.path):
        digest.update(f"{len(file.path.encode())}:{file.path}:{file.size}:".encode())
        with file.open() as stream:
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


STORED_IMPORTS_BATCH = 500


def stored_rows(upload: Upload) -> dict[str, Iterator[object]]:
    """Return the cases, systems, responses, judgments and rubrics of an import as they are stored, as one goes through
    them."""
    result = upload.result
    systems = sorted(result.get("responses", {}).get("systems", []))
    return {
        "cases": _cases(result.get("suite", {}).get("id")),
        "systems": iter(systems),
        "responses": _responses(result.get("suite_id"), systems),
        **{part: iter(rows) for part, rows in read_judgments(upload).items()},
        "rubrics": (row for rubric in result.get("rubrics", ()) for row in _rubric(rubric["id"])),
    }


def _cases(suite_id: int | None) -> Iterator[JsonDict]:
    """Yield the cases of the suite that an import brought; none where it answered a stored one."""
    rows = Case.objects.filter(suites=suite_id).select_related("prompt").order_by("links__position")
    for case in rows.filter(links__suite=suite_id).iterator(chunk_size=STORED_IMPORTS_BATCH) if suite_id else ():
        spec = case_spec(case)
        spec.metadata = dict(case.metadata)
        spec.references = spec.metadata.pop("references", None) or spec.references
        spec.context = given(case.prompt.context.split("\n\n"))
        yield case_json(spec)


def _responses(suite_id: int | None, systems: list[str]) -> Iterator[dict[str, str]]:
    rows = Response.objects.filter(prompt__cases__suites=suite_id, system__name__in=systems, superseded_at=None)
    rows = rows.select_related("prompt", "system").order_by("pk").distinct()
    for row in rows.iterator(chunk_size=STORED_IMPORTS_BATCH) if suite_id and systems else ():
        spec = ResponseRecord(row.system.name, row.text, row.messages, row.attempt, stop=row.stop_reason)
        spec.metadata = row.metadata
        yield {"case": row.prompt.key} | response_json(spec)


def _rubric(rubric_id: int) -> Iterator[dict[str, str]]:
    for item in RubricItem.objects.filter(rubric=rubric_id).exclude(case_key="").order_by("position"):
        criteria = []
        for node in item.tree.get("children", ()):
            levels = {f"{anchor['low']:g}": anchor["text"] for anchor in node.get("anchors", ())}
            criteria.append(CriterionRecord(node["text"], node.get("points"), levels))
        yield {"case": item.case_key} | rubric_json(RubricRecord(0, criteria))


class ImportInUse(Refused):
    """An import cannot be undone, since something newer hangs on it; the message says what."""


@transaction.atomic
def undo_import(*, upload: Upload, actor: User | None) -> Upload:
    """Remove what an import stored: runs and label tables, responses, the suite and the rubrics that it made. Texts
    that it superseded are current again.

    Raises:
        ImportInUse: runs, labels or later imports use what it stored; nothing is removed.
    """
    upload = lock_row(Upload, upload.pk)
    stored_at = parse_datetime(upload.result.get("finished_at", ""))
    if upload.status != ImportStatus.DONE or stored_at is None:
        raise ImportInUse("This import has stored nothing, or is undone already.")
    try:
        for store in record_stores():
            store.delete(upload, actor)
        delete_imported_runs(upload)
        _remove_responses(upload.result.get("suite_id"), stored_at)
        _remove_suite(upload.result.get("suite", {}))
        made = [rubric["id"] for rubric in upload.result.get("rubrics", ()) if rubric["created"]]
        Rubric.objects.filter(pk__in=made).delete()
    except (ProtectedError, RestrictedError) as refusal:
        names = sorted({row._meta.verbose_name for row in getattr(refusal, "protected_objects", ())})
        words = ", ".join(map(str, names)) or "other rows"
        raise ImportInUse(f"It cannot be undone: {words} made since then use what it stored.") from refusal
    except RunsInUse as refusal:
        raise ImportInUse(f"It cannot be undone: {refusal}") from refusal
    if (benchmark_id := upload.benchmark_id) is not None:
        transaction.on_commit(lambda: signals.content_changed.send_robust(sender=Upload, benchmark_id=benchmark_id))
    upload.result = {"undone": True, "changed": False}
    upload.status = ImportStatus.UNDONE
    upload.save(update_fields=["result", "status"])
    record(actor, "import.undone", upload)
    return Upload.objects.select_related("benchmark").get(pk=upload.pk)  # its benchmark may be gone


def _remove_responses(suite_id: int | None, stored_at: datetime) -> None:
    rows = Response.objects.filter(prompt__cases__suites=suite_id)
    Response.objects.filter(pk__in=rows.filter(imported_at=stored_at).values("pk")).delete()
    superseded = rows.filter(superseded_at=stored_at).values("pk")
    Response.objects.filter(pk__in=superseded).update(superseded_at=None)
    System.objects.filter(created_at=stored_at, responses=None, runs=None, endpoint=None).delete()


def _remove_suite(made: JsonDict) -> None:
    """Remove a suite that an import made, with cases and prompts that nothing else has, and an empty benchmark."""
    if not made.get("created"):
        return
    suite = Suite.objects.select_related("benchmark").filter(pk=made["id"]).first()
    if suite is None:
        return
    benchmark = suite.benchmark
    suite.delete()
    Case.objects.filter(prompt__benchmark=benchmark, suites=None).delete()
    Prompt.objects.filter(benchmark=benchmark, cases=None, responses=None).delete()
    if not benchmark.suites.exists() and not benchmark.rubrics.exists() and not benchmark.prompts.exists():
        benchmark.delete()
