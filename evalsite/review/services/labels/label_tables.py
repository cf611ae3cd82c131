"""Stores label tables from elsewhere: a whole file or nothing, and a second time nothing.

Labels of responses of this site become final labels of their subjects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from evalsite.accounts.audit import record
from evalsite.base.refusals import Refused
from evalsite.review.models import FinalLabel, ImportedLabel, LabelledItem, LabelTable, Provenance, ReviewItem, Subject
from evalsite.review.questions.scales import labels_to_json
from evalsite.review.selectors.labels.labelled_responses import LabelledSubject, labelled_subjects
from evalsite.review.selectors.labels.subjects import subjects_by_key
from evalsite.review.services.items.final_labels import share_of
from evalsite.review.services.items.queues import free_slug
from evalsite.review.services.referrals.run_referrals import store_subjects
from evalsite.review.signals import labels_imported
from evalsite.review.states import ItemStatus, outcome
from evalsite.review.tables.label_files import AboutResponses, LabelFile, LabelSheet, read_labels
from judging.llm.identity import canonical_json
from judging.models import RunEvaluator
from judging.specs.files.findings import Problem, Severity
from judging.specs.records.file_records import ParsedFile, problem
from judging.specs.records.recognition import RecordOptions

BATCH = 2_000
MOST_PROBLEMS = 200
WAITING = (ItemStatus.OPEN, ItemStatus.NEEDS_ADJUDICATION)
SOURCE_LIMIT = 200


class LabelsRefused(Refused):
    """The table cannot be imported as it is; nothing was stored."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems if problem.severity is Severity.ERROR))


@dataclass(frozen=True, slots=True)
class LabelUpload:
    """A file of labels and everything that its importer says of it."""

    data: bytes
    file_name: str
    options: RecordOptions = field(default_factory=RecordOptions)  # what the importer says of columns
    scale: tuple[str, ...] = ()  # declared; empty: the labels used
    evaluator: RunEvaluator | None = None  # whose responses the labels are about; None: for agreement only
    source: str = ""  # from whom; empty: the raters
    is_blind: bool = False  # nobody had seen machine verdicts or other people's labels

    @property
    def digest(self) -> str:
        """What is equal where a second import would bring nothing new."""
        evaluator_id = self.evaluator.pk if self.evaluator is not None else None
        settings = [asdict(self.options), list(self.scale), evaluator_id, self.source, self.is_blind]
        return sha256(canonical_json([sha256(self.data).hexdigest(), settings])).hexdigest()


@dataclass(frozen=True, slots=True)
class PlannedLabel:
    """A final label that a table brings."""

    subject: LabelledSubject
    label: str


@dataclass(slots=True)
class LabelPlan:
    """What an import would do. With errors it does nothing."""

    file: LabelFile
    source: str
    same: LabelTable | None = None  # the very file is here, with the same said of it
    labels: list[PlannedLabel] = field(default_factory=list)
    undecided: int = 0  # subjects that the raters do not agree about
    known: int = 0  # labels that are here already from the same people
    decided_here: int = 0  # subjects that people of this site have labelled, whose label counts first
    waiting: int = 0  # subjects that people are being asked about
    problems: list[Problem] = field(default_factory=list)

    @property
    def is_refused(self) -> bool:
        return any(problem.severity is Severity.ERROR for problem in self.problems)

    def counts(self) -> dict[str, int]:
        """Return how many final labels come of the table, and what becomes of the rest."""
        names = ("undecided", "known", "decided_here", "waiting")
        return {"final_labels": len(self.labels)} | {name: getattr(self, name) for name in names}


def plan_labels(upload: LabelUpload) -> ParsedFile[LabelPlan]:
    """Return what a file would bring, or why it cannot be read."""
    about = AboutResponses(upload.evaluator.criterion) if upload.evaluator is not None else None
    parsed = read_labels(upload.data, upload.file_name, options=upload.options, scale=upload.scale, about=about)
    if parsed.value is None:
        return ParsedFile(None, parsed.problems, parsed.columns)
    source = (upload.source or ", ".join(parsed.value.raters) or upload.file_name)[:SOURCE_LIMIT]
    plan = LabelPlan(parsed.value, source, problems=list(parsed.problems))
    plan.same = LabelTable.objects.filter(digest=upload.digest).first()
    if upload.evaluator is not None and plan.same is None:
        subjects = labelled_subjects(evaluator=upload.evaluator, rows=plan.file.items, file=upload.file_name)
        plan.problems += subjects.problems
        _compare(plan, subjects.by_key, upload)
    plan.problems = plan.problems[:MOST_PROBLEMS]
    return ParsedFile(plan, tuple(plan.problems), parsed.columns)


def _compare(plan: LabelPlan, by_key: dict[str, LabelledSubject], upload: LabelUpload) -> None:
    """Sort the subjects by what is known of them already."""
    stored = subjects_by_key(by_key)
    names = {subject.pk: key for key, subject in stored.items()}
    source_labels = FinalLabel.objects.filter(item=None, source=plan.source).select_related("table")
    stored_labels = {names[row.subject_id]: row for row in _of_subjects(source_labels, names)}
    here = {names[row.subject_id] for row in _of_subjects(FinalLabel.objects.exclude(item=None), names)}
    waiting_items = ReviewItem.objects.filter(status__in=WAITING, retest_of=None)
    plan.decided_here = len(here)
    plan.waiting = len({row.subject_id for row in _of_subjects(waiting_items, names)})
    for key, subject in by_key.items():
        label = outcome(subject.labels, quorum=1).label if subject.labels else None
        former = stored_labels.get(key)
        if label is None:
            plan.undecided += 1
        elif former is None:
            plan.labels.append(PlannedLabel(subject, label))
        elif (former.label, former.is_blind) == (label, upload.is_blind):
            plan.known += 1
        else:
            plan.problems.append(_contradiction(plan, subject, label, former, upload))


def _of_subjects(rows: QuerySet[Any], names: Mapping[int, str]) -> Iterator[Any]:
    ids = list(names)
    for start in range(0, len(ids), BATCH):
        yield from rows.filter(subject__in=ids[start : start + BATCH])


def _contradiction(
    plan: LabelPlan, subject: LabelledSubject, label: str, former: FinalLabel, upload: LabelUpload
) -> Problem:
    where = f" in the table {former.table.name}" if former.table is not None else ""
    if former.label != label:
        text = f"{plan.source} gave this response the label {former.label!r}{where}; this file has {label!r}."
    else:
        text = f"This label of {plan.source} is stored as {'blind' if former.is_blind else 'not blind'}{where}."
    hint = "Delete that table first, or name another source for these labels."
    return problem(upload.file_name, subject.location, text, offending=label, hint=hint, code="other-label")


@transaction.atomic
def store_labels(*, name: str, upload: LabelUpload, actor: User | None, at: datetime) -> LabelTable:
    """Return the first table that a file has become, with its final labels; the one there is where nothing is new.

    A file with several criteria on scales of their own becomes a table for each.

    Raises:
        LabelsRefused: the file cannot be read, or a row cannot be placed or contradicts what is here.
    """
    parsed = plan_labels(upload)
    if parsed.value is None or parsed.value.is_refused:
        raise LabelsRefused(parsed.problems)
    plan = parsed.value
    if plan.same is not None:
        return plan.same
    source = plan.source if upload.evaluator is not None else upload.source[:SOURCE_LIMIT]
    origin = LabelOrigin(upload.file_name, source, actor, at, upload.digest, upload.evaluator, upload.is_blind)
    tables = store_sheets(plan.file.sheets, name=name, origin=origin, facts=plan.counts())
    _store_final_labels(tables[0], plan.labels, at)
    labels_imported.send(sender=LabelTable)
    return tables[0]


@dataclass(frozen=True, slots=True)
class LabelOrigin:
    """Where labels come from, who brings them, and what is said of them."""

    file_name: str
    source: str
    actor: User | None
    at: datetime
    digest: str = ""
    evaluator: RunEvaluator | None = None
    is_blind: bool = False


def store_sheets(
    sheets: Sequence[LabelSheet], *, name: str, origin: LabelOrigin, facts: Mapping[str, int] | None = None
) -> list[LabelTable]:
    """Return the tables that sheets of labels have become, inside the caller's transaction."""
    tables = []
    for number, sheet in enumerate(sheets):
        shown_name = ", ".join(filter(None, (name, sheet.criterion)))
        table = LabelTable.objects.create(
            slug=free_slug(LabelTable, shown_name),
            name=shown_name[:200],
            labels=labels_to_json(sheet.labels),
            source_file=origin.file_name[:200],
            item_count=len(sheet.items),
            label_count=sheet.n_labels,
            imported_by=origin.actor,
            created_at=origin.at,
            digest="" if number else origin.digest,
            evaluator=origin.evaluator,
            source=origin.source,
            is_blind=origin.is_blind,
        )
        _store_items(table, sheet)
        detail: dict[str, object] = {"file": origin.file_name, "items": table.item_count, "labels": table.label_count}
        if origin.evaluator is not None:
            detail |= {"from": origin.source, "blind": origin.is_blind} | dict(facts or {})
        record(origin.actor, "labels.imported", table, **detail)
        tables.append(table)
    return tables


def _store_items(table: LabelTable, sheet: LabelSheet) -> None:
    waiting = iter(sheet.items)
    while batch := list(islice(waiting, BATCH)):
        rows = LabelledItem.objects.bulk_create(
            LabelledItem(
                table=table,
                key=item.key,
                criterion=item.criterion,
                scenario=item.scenario,
                language=item.language[:20],
                details=dict(item.details),
            )
            for item in batch
        )
        ImportedLabel.objects.bulk_create(
            ImportedLabel(
                table=table,
                item=row,
                rater=label.rater,
                label=label.label,
                given_at=label.given_at,
                reason=label.reason,
                position=position,
            )
            for row, item in zip(rows, batch, strict=True)
            for position, label in enumerate(item.labels)
        )


def _store_final_labels(table: LabelTable, labels: Sequence[PlannedLabel], at: datetime) -> None:
    table.final_count = len(labels)
    table.save(update_fields=["final_count"])
    waiting = iter(labels)
    while batch := list(islice(waiting, BATCH)):
        subjects = store_subjects(facts=[planned.subject.facts for planned in batch], at=at)
        FinalLabel.objects.bulk_create(
            _final_label(table, subjects[planned.subject.facts.key], planned, at) for planned in batch
        )


def _final_label(table: LabelTable, subject: Subject, planned: PlannedLabel, at: datetime) -> FinalLabel:
    return FinalLabel(
        subject=subject,
        provenance=Provenance.IMPORTED,
        is_blind=table.is_blind,
        label=planned.label,
        share=share_of(planned.label, planned.subject.facts.labels),
        source=table.source,
        table=table,
        decided_at=at,
    )


@transaction.atomic
def delete_labels(*, table: LabelTable, actor: User | None) -> None:
    """Remove a table with its labels and the final labels that came with it.

    Responses that have no other label are undecided then; the next drawing of their sample asks people about them.
    """
    record(actor, "labels.deleted", table, labels=table.label_count, final_labels=table.final_count)
    labels_imported.send(sender=LabelTable)
    table.delete()
