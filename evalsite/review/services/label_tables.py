"""Stores label tables from elsewhere: a whole file or nothing, and a second time nothing.

Labels of responses of this site become final labels of their subjects.

Queues that are made of files stand here too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max, QuerySet

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.rows import batches, lock_row
from evalsite.base.signals import labels_imported
from evalsite.base.types import JsonDict, Refused
from evalsite.review.models import (
    FinalLabel,
    ImportedLabel,
    LabelledItem,
    LabelTable,
    Material,
    NoticeKind,
    Provenance,
    Queue,
    ReviewItem,
)
from evalsite.review.questions.form_files import check_fits, for_items, form_of_definition
from evalsite.review.questions.scales import (
    JUDGEMENT,
    PREFERENCE,
    Label,
    label_on,
    labels_from_json,
    labels_to_json,
    short_of,
)
from evalsite.review.routing import ItemArm, uniform_number
from evalsite.review.selectors.final_labels import responses_of
from evalsite.review.selectors.subjects import (
    RubricParts,
    SubjectFacts,
    first_cases,
    material_facts,
    part_for,
    subject_facts,
    subjects_by_key,
)
from evalsite.review.services.decisions import share_of
from evalsite.review.services.notices import notify
from evalsite.review.services.queues import (
    FORM_GUIDELINES,
    PAIR_GUIDELINES,
    SINGLE_GUIDELINES,
    check_name,
    free_slug,
    members_of,
    recount,
)
from evalsite.review.services.run_referrals import store_subjects
from evalsite.review.states import WAITING, QueueStatus, ReviewRefused, outcome
from evalsite.review.tables.label_files import LabelFile, LabelledRow, LabelSheet, NamedResponse, read_labels
from evalsite.review.tables.queue_files import MaterialFile, MaterialRow
from judging.llm.chat import canonical_json
from judging.models import BASELINE, SCORED_KINDS, EvaluatorKind, Response, RunEvaluator
from judging.services.file_imports.pictures import store_pictures
from judging.specs.files.findings import Problem, Severity, said_once
from judging.specs.records.file_records import ParsedFile, problem
from judging.specs.records.neutral import Place
from judging.specs.records.parts import RecordOptions

BATCH = 2_000
SOURCE_LIMIT = 200
CHUNK = 5_000
EVALUATORS_OFFERED = 200


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


@dataclass(slots=True)
class LabelPlan:
    """What an import would do. With errors it does nothing."""

    file: LabelFile
    source: str
    same: LabelTable | None = None  # the very file is here, with the same said of it
    labels: list[tuple[SubjectFacts, str]] = field(default_factory=list)  # final ones that the table brings
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
    about = upload.evaluator.criterion if upload.evaluator is not None else None
    parsed = read_labels(upload.data, upload.file_name, options=upload.options, scale=upload.scale, about=about)
    if parsed.value is None:
        return ParsedFile(None, parsed.problems, parsed.columns)
    source = (upload.source or ", ".join(parsed.value.raters) or upload.file_name)[:SOURCE_LIMIT]
    plan = LabelPlan(parsed.value, source, problems=list(parsed.problems))
    plan.same = LabelTable.objects.filter(digest=upload.digest).first()
    if upload.evaluator is not None and plan.same is None:
        rows, name = plan.file.items, upload.file_name
        subjects = labelled_subjects(evaluator=upload.evaluator, rows=rows, file=name, problems=plan.problems)
        _compare(plan, subjects, upload)
    plan.problems = said_once(plan.problems)
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
            plan.labels.append((subject.facts, label))
        elif (former.label, former.is_blind) == (label, upload.is_blind):
            plan.known += 1
        else:
            plan.problems.append(_contradiction(plan, subject, label, former))


def _of_subjects(rows: QuerySet[Any], names: Mapping[int, str]) -> Iterator[Any]:
    for some in batches(names, BATCH):
        yield from rows.filter(subject__in=some)


def _contradiction(plan: LabelPlan, subject: LabelledSubject, label: str, former: FinalLabel) -> Problem:
    where = f" in the table {former.table.name}" if former.table is not None else ""
    if former.label != label:
        text = f"{plan.source} gave this response the label {former.label!r}{where}; this file has {label!r}."
    else:
        text = f"This label of {plan.source} is stored as {'blind' if former.is_blind else 'not blind'}{where}."
    hint = "Delete that table first, or name another source for these labels."
    return problem(*subject.place, text, offending=label, hint=hint, code="other-label")


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
    store_final_labels(tables[0], plan.labels, at)
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
        store_items(table, _of_sheet(table, sheet))
        detail: dict[str, object] = {"file": origin.file_name, "items": table.item_count, "labels": table.label_count}
        if origin.evaluator is not None:
            detail |= {"from": origin.source, "blind": origin.is_blind} | dict(facts or {})
        record(origin.actor, "labels.imported", table, **detail)
        tables.append(table)
    return tables


def _of_sheet(table: LabelTable, sheet: LabelSheet) -> Iterator[tuple[LabelledItem, list[ImportedLabel]]]:
    for row in sheet.items:
        item = LabelledItem(
            table=table,
            key=row.key,
            criterion=row.criterion,
            scenario=row.scenario,
            language=row.language[:20],
            details=dict(row.details),
            about=dict(row.about),
        )
        yield (
            item,
            [
                ImportedLabel(
                    rater=label.rater,
                    label=label.label,
                    given_at=label.given_at,
                    reason=label.reason,
                    position=position,
                )
                for position, label in enumerate(row.labels)
            ],
        )


def store_items(table: LabelTable, rows: Iterable[tuple[LabelledItem, list[ImportedLabel]]]) -> None:
    """Store the items of a table, each with its labels."""
    for batch in batches(rows, BATCH):
        items = LabelledItem.objects.bulk_create(item for item, _ in batch)
        for item, (_, labels) in zip(items, batch, strict=True):
            for label in labels:
                label.table, label.item = table, item
        ImportedLabel.objects.bulk_create(label for _, labels in batch for label in labels)


def store_final_labels(table: LabelTable, labels: Sequence[tuple[SubjectFacts, str]], at: datetime) -> None:
    """Store the final labels that a table brings, each of a subject."""
    table.final_count = len(labels)
    table.save(update_fields=["final_count"])
    for batch in batches(labels, BATCH):
        subjects = store_subjects(facts=[facts for facts, _ in batch], at=at)
        FinalLabel.objects.bulk_create(
            FinalLabel(
                subject=subjects[facts.key],
                provenance=Provenance.IMPORTED,
                is_blind=table.is_blind,
                label=label,
                share=share_of(label, facts.labels),
                source=table.source,
                table=table,
                decided_at=at,
            )
            for facts, label in batch
        )


@transaction.atomic
def delete_labels(*, table: LabelTable, actor: User | None) -> None:
    """Remove a table with its labels and the final labels that came with it.

    Responses that have no other label are undecided then; the next drawing of their sample asks people about them.
    """
    about = NamedSubject(str(table), table.pk)
    record(actor, "labels.deleted", about, labels=table.label_count, final_labels=table.final_count)
    labels_imported.send(sender=LabelTable)
    table.delete()


def evaluators_to_label(*, also: int | None = None) -> QuerySet[RunEvaluator]:
    """Return the evaluators of the newest runs that score single responses, and the one with the key `also`."""
    scored = RunEvaluator.objects.filter(run__kind__in=SCORED_KINDS).exclude(kind=EvaluatorKind.INDEX)
    scored = scored.exclude(options__has_key=BASELINE)
    newest = list(scored.order_by("-run_id", "position", "pk").values_list("pk", flat=True)[:EVALUATORS_OFFERED])
    evaluators = scored.filter(pk__in=[*newest, also or 0]).select_related("run")
    return evaluators.order_by("-run_id", "position", "pk")


def evaluator_of_run(run_id: int) -> int | None:
    """Return the first evaluator of a run that scores responses."""
    scored = RunEvaluator.objects.filter(run=run_id, run__kind__in=SCORED_KINDS).exclude(kind=EvaluatorKind.INDEX)
    return scored.order_by("position", "pk").values_list("pk", flat=True).first()


def evaluator_words(evaluator: RunEvaluator) -> str:
    """Return how an evaluator whose responses were labelled is called in a list."""
    criterion = f", criterion {evaluator.criterion}" if evaluator.criterion else ""
    return f"{evaluator.run.name}: {evaluator.name}{criterion}"


@dataclass(slots=True)
class LabelledSubject:
    """A subject with what all raters said of it, on its own scale; of a pair in the order of the subject."""

    facts: SubjectFacts
    place: Place  # of the first row about it
    labels: list[str] = field(default_factory=list)


def labelled_subjects(
    *, evaluator: RunEvaluator, rows: Iterable[LabelledRow], file: str, problems: list[Problem]
) -> dict[str, LabelledSubject]:
    """Return the subjects that rows label, by key: responses that an evaluator judges, under its criterion.

    Responses of one content are one subject, and what was said of each counts for it. Why rows are about none joins
    the problems.
    """
    subjects, named = dict[str, LabelledSubject](), _Responses(evaluator)
    resolved: list[tuple[LabelledRow, NamedResponse, int]] = []
    for row in rows:
        if row.response is None or not row.labels:
            continue
        response_id = named.find(row.response)
        if isinstance(response_id, str):
            text, name = response_id, row.response.response_id or row.response.system
            problems.append(problem(file, row.response.location, text, offending=name, code="unknown-response"))
        else:
            resolved.append((row, row.response, response_id))
    parts, cases = RubricParts(), first_cases(evaluator.run.suite_id)
    for chunk in batches(resolved, CHUNK):
        responses = Response.objects.filter(pk__in={pk for _, _, pk in chunk}).select_related("prompt")
        facts = dict[int, SubjectFacts]()
        for stored in responses.defer("text", "prompt__text"):
            part, case = part_for(evaluator, parts, case_key=stored.prompt.key), cases.get(stored.prompt_id)
            facts[stored.pk] = subject_facts(
                responses=[stored], case=case, part=part, criterion=evaluator.criterion, labels=part.labels
            )
        for row, response, pk in chunk:
            subject = subjects.setdefault(facts[pk].key, LabelledSubject(facts[pk], Place(file, response.location)))
            _read_labels(row, subject, problems, file)
    return subjects


def _read_labels(row: LabelledRow, subject: LabelledSubject, problems: list[Problem], file: str) -> None:
    for rated in row.labels:
        label = label_on(subject.facts.labels, rated.label)
        if label is None:
            scale = ", ".join(short_of(label_name) for label_name in subject.facts.labels)
            text = f"The label {rated.label!r} is not on the scale of this response."
            hint = f"Write one of: {scale}."
            problems.append(problem(file, rated.location, text, offending=rated.label, hint=hint, code="off-scale"))
        else:
            subject.labels.append(label)


class _Responses:
    """Finds the response that a row means among those that an evaluator judges. One query for every 5,000."""

    def __init__(self, evaluator: RunEvaluator) -> None:
        self.ids: set[int] = set(responses_of(evaluator))
        self.named: Mapping[tuple[str, str], dict[int, int]] = self._read(sorted(self.ids))

    @staticmethod
    def _read(ids: Sequence[int]) -> Mapping[tuple[str, str], dict[int, int]]:
        by_system: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        for some in batches(ids, CHUNK):
            rows = Response.objects.filter(pk__in=some)
            for pk, key, system, attempt in rows.values_list("pk", "prompt__key", "system__name", "attempt"):
                by_system[key, system.casefold()][attempt] = pk
        return dict(by_system)

    def find(self, named: NamedResponse) -> int | str:
        """Return the response's id, or the sentence that says why there is none."""
        if named.response_id:
            number = int(named.response_id) if named.response_id.isdecimal() else 0
            return number if number in self.ids else f"The run has no response {named.response_id}."
        attempts = self.named.get((named.case, named.system.casefold()))
        if attempts is None:
            return f"The run has no response of {named.system or 'no system'} to the case {named.case!r}."
        if not named.attempt:
            only = next(iter(attempts.values()))
            return only if len(attempts) == 1 else f"There are {len(attempts)} attempts; name one in a column attempt."
        response_id = attempts.get(int(named.attempt)) if named.attempt.isdecimal() else None
        numbers = ", ".join(str(number) for number in sorted(attempts))
        return (
            response_id if response_id is not None else f"There is no attempt {named.attempt!r}; there are {numbers}."
        )


FILE_BATCH = 1_000
KEYS_SHOWN = 3
REASON = "given"
REASON_TEXT = "Imported from a file."


@transaction.atomic
def create_queue(
    *,
    new_queue: Queue,
    labels: tuple[Label, ...],
    material_file: MaterialFile,
    members: Sequence[User],
    actor: User | None,
    at: datetime,
) -> Queue:
    """Return an open queue with one item per row. Pairs are asked which side is better unless a form says otherwise.

    `new_queue` is what its owner decides, with the form as `read_form` returns it; without a name it gets a neutral
    one, since annotators see it. Labels that the file has become tables of their own.

    Raises:
        ReviewRefused: the name gives a system or the file away.
        BadForm: the form asks what cannot be asked of so many responses.
    """
    queue, file_name = new_queue, new_queue.source_file
    labels = PREFERENCE if material_file.is_pair else labels or JUDGEMENT
    check_fits(queue.form, size=material_file.size)
    if (form := form_of_definition(queue.form, size=material_file.size)) is not None:
        labels = form.labels
    check_name(queue.name, hidden=_names_in(material_file, file_name))
    queue.name = queue.name[:200] or _neutral_name(material_file)
    queue.slug = free_slug(Queue, queue.name)
    queue.guidelines = queue.guidelines or _usual_guidelines(material_file, has_form=form is not None)
    queue.labels, queue.form = labels_to_json(labels), for_items(queue.form, size=material_file.size)
    queue.source_file, queue.created_at, queue.created_by = file_name[:200], at, actor
    queue.save()
    members = members_of(queue.team, chosen=members) or ()
    queue.members.set(members)
    queue = _store_rows(queue, material_file, file_name=file_name, actor=actor, at=at)
    record(actor, "queue.created", queue, file=file_name, items=queue.total_count, members=len(members))
    notify(people=members, kind=NoticeKind.ASSIGNED, subject=queue, at=at)
    return queue


def _store_rows(
    queue: Queue, material_file: MaterialFile, *, file_name: str, actor: User | None, at: datetime
) -> Queue:
    store_pictures(files=material_file.pictures, at=at)
    for batch in batches(material_file.rows, FILE_BATCH):
        materials = Material.objects.bulk_create(_material(queue, row) for row in batch)
        _open(queue, list(zip(materials, batch, strict=True)), at)
    if material_file.labels is not None:
        raters = ", ".join(material_file.labels.raters) or file_name
        origin = LabelOrigin(file_name, raters[:SOURCE_LIMIT], actor, at)
        store_sheets(material_file.labels.sheets, name=file_name.rpartition(".")[0] or queue.name, origin=origin)
    return recount(queue_id=queue.pk)


@dataclass(frozen=True, slots=True)
class AddedItems:
    """What a file brought into a queue that was there."""

    queue: Queue
    rows: int
    repeated: int  # rows that the queue has already, which are left as they are
    items: int  # that are new: rows of equal content are one item


@transaction.atomic
def add_items(
    *, queue: Queue, material_file: MaterialFile, file_name: str, actor: User | None, at: datetime
) -> AddedItems:
    """Add the rows of a file to a queue that came from one; a row that is there already is left as it is.

    Raises:
        ReviewRefused: the queue is of another kind or archived, a row has the key of another one, or the queue's name
            gives a system away.
        BadForm: the queue's form asks what cannot be asked of so many responses.
    """
    queue, first = lock_row(Queue, queue.pk), queue.materials.order_by("pk").first()
    if first is None or queue.status == QueueStatus.ARCHIVED:
        raise ReviewRefused("Items are added to queues that came from a file and are not archived.")
    if len(first.responses) != material_file.size:
        has, new = len(first.responses), material_file.size
        raise ReviewRefused(f"The rows of this queue have {has} responses each; those of the file have {new}.")
    check_fits(queue.form, size=material_file.size)
    check_name(queue.name, hidden=_names_in(material_file, file_name))
    there = {row.key: _asked(row) for row in queue.materials.filter(key__in=[row.key for row in material_file.rows])}
    fresh = [row for row in material_file.rows if row.key not in there]
    known = [row for row in material_file.rows if row.key in there]
    if other := [row.key for row in known if _asked(_material(queue, row)) != there[row.key]]:
        raise ReviewRefused(f"The queue has other rows with these keys: {', '.join(other[:KEYS_SHOWN])}.")
    before = queue.items.count()
    queue = _store_rows(queue, replace(material_file, rows=tuple(fresh)), file_name=file_name, actor=actor, at=at)
    added = AddedItems(queue, len(material_file.rows), len(known), queue.items.count() - before)
    record(actor, "queue.items_added", queue, file=file_name, items=added.items)
    return added


def _asked(material: Material) -> tuple[str, list[tuple[str, str]], JsonDict]:
    return material.question, [(text, system) for text, system in material.responses], material.images


def _usual_guidelines(materials: MaterialFile, *, has_form: bool) -> str:
    if has_form:
        return FORM_GUIDELINES
    return PAIR_GUIDELINES if materials.is_pair else SINGLE_GUIDELINES


def _neutral_name(materials: MaterialFile) -> str:
    """Return a name that tells nothing but the kind: the file's name often names the systems."""
    number = (Queue.objects.aggregate(last=Max("pk"))["last"] or 0) + 1
    return f"Pairs {number}" if materials.is_pair else f"Responses {number}"


def _names_in(materials: MaterialFile, file_name: str) -> set[str]:
    return {name for row in materials.rows for name in row.systems} | {file_name}


def _material(queue: Queue, row: MaterialRow) -> Material:
    return Material(
        queue=queue,
        key=row.key,
        question=row.question,
        context=row.context,
        reference=row.reference,
        criterion_text=row.criterion_text,
        response_a=row.response_a,
        response_b=row.response_b or "",
        is_pair=len(row.texts) == 2,
        more=row.more,
        system_a=row.system_a,
        system_b=row.system_b,
        turns=row.turns,
        images=row.images,
        details=row.details,
    )


def _open(queue: Queue, rows: Sequence[tuple[Material, MaterialRow]], at: datetime) -> None:
    """Open an item per row. Rows with equal content are one item; what has a blind final label is not asked again."""
    labels = labels_from_json(queue.labels)
    facts = [
        material_facts(material, criterion=row.criterion, labels=labels, form=queue.form) for material, row in rows
    ]
    subjects = store_subjects(facts=facts, at=at)
    labelled = FinalLabel.objects.filter(subject__in=list(subjects.values()), is_blind=True)
    labelled_ids = set(labelled.values_list("subject_id", flat=True))
    ReviewItem.objects.bulk_create(
        (
            _item(queue, material, row, fact, subjects[fact.key].pk, at)
            for (material, row), fact in zip(rows, facts, strict=True)
            if subjects[fact.key].pk not in labelled_ids
        ),
        ignore_conflicts=True,
    )


def _item(
    queue: Queue, material: Material, row: MaterialRow, facts: SubjectFacts, subject_id: int, at: datetime
) -> ReviewItem:
    return ReviewItem(
        queue=queue,
        subject_id=subject_id,
        material=material,
        is_turned=facts.is_turned,
        reason=REASON,
        reason_text=REASON_TEXT,
        arm=ItemArm.GIVEN,
        shuffle=(shuffle := int(uniform_number("item", queue.pk, row.key) * 2**53)),
        quorum=queue.quorum_of(shuffle),
        criterion=row.criterion,
        scenario=row.scenario,
        language=row.language,
        content_hash=facts.content_hash,
        created_at=at,
    )
