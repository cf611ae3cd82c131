"""Stores suites: unchanged cases are reused, changed ones become new revisions, equal bytes change nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils.text import slugify

from evalsite.accounts.audit import record
from evalsite.base import signals
from judging.models import BatchCase, Benchmark, Case, ImportBatch, Prompt, Suite, SuiteCase
from judging.services.file_imports.import_batches import (
    BatchLost,
    BatchWriter,
    copy_rows,
    json_text,
    moment,
    open_batch,
    quoted,
    table,
)
from judging.services.file_imports.staged_rubrics import Watch, unwatched
from judging.services.long_jobs import persistently
from judging.specs.records.neutral import CaseRecord, SuiteSpec, given
from judging.specs.types import image_specs
from judging.stored_content import case_hash, content_hash, hash_of_prompt

# Fields that a case, as read, and its row in a batch name alike, beside those that hold JSON.
_SAME_FIELDS = (
    *("context_role", "reference", "scenario", "question_type", "lang"),
    *("full_score", "null_score", "source_path", "is_numbered"),
)
_NOTHING = tuple(None if name.endswith("_score") else False if name == "is_numbered" else "" for name in _SAME_FIELDS)
_COLUMNS = (
    *("batch", "position", "weight", "case", "key", "prompt_hash", "content_hash", "text", "context"),
    *("images", "messages", "grading", "handlers", "metadata", *_SAME_FIELDS),
)
_OF_PROMPT = ("key", "text", "context", "context_role", "images", "messages", "is_numbered")


Identity = tuple[str, str, str]  # key, hash of the prompt, hash of the grading
WeightedIdentity = tuple[str, str, str, float]


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """What storing a suite would do."""

    benchmark: Benchmark | None  # None: a new one
    suite: Suite | None  # the suite with the same content, where there is one already
    new_cases: tuple[str, ...]  # keys
    changed_cases: tuple[str, ...]  # a new revision of a known key; grading changed
    changed_prompts: tuple[str, ...]  # the prompt changed too: stored responses do not answer it
    reused_cases: int
    identities: tuple[Identity, ...] = ()  # of its cases, in their order
    content_hash: str = ""  # of the suite
    image_count: int = 0  # different images of its cases

    @property
    def changes_nothing(self) -> bool:
        return self.suite is not None


@dataclass(frozen=True, slots=True)
class NewSuite:
    """A suite whose cases a batch holds, where it is to go, and what that will do."""

    slug: str
    name: str  # of a new benchmark
    spec: SuiteSpec
    plan: SuitePlan


def suite_hash(spec: SuiteSpec, cases: Iterable[WeightedIdentity] | None = None) -> str:
    """Return the hash of a suite's cases, order, weights and rules of aggregation; `cases` are its own, if known."""
    listed = [list(case) for case in (map(_weighted, spec.cases) if cases is None else cases)]
    return content_hash([spec.attempt_reduce_mode, spec.full_score, spec.null_score, listed])


def plan_suite(*, spec: SuiteSpec, benchmark_slug: str) -> SuitePlan:
    """Return what `store_suite` would create, change and reuse, without storing anything."""
    benchmark = Benchmark.objects.filter(slug=benchmark_slug).first()
    images: set[str] = set()
    cases: list[WeightedIdentity] = []
    for case in spec.cases:  # once, since they may have to be read for it
        cases.append(_weighted(case))
        images.update(image.digest for image in case.images)
    identities, digest = tuple(case[:3] for case in cases), suite_hash(spec, cases)
    if benchmark is None:
        keys_of_all = tuple(key for key, _, _ in identities)
        return SuitePlan(None, None, keys_of_all, (), (), 0, identities, digest, len(images))
    stored_cases = _known_cases(benchmark)
    prompts = set(Prompt.objects.filter(benchmark=benchmark).values_list("key", "content_hash"))
    keys = {key for key, _ in prompts}
    new = tuple(key for key, _, _ in identities if key not in keys)
    changed = [identity for identity in identities if identity[0] in keys and identity not in stored_cases]
    return SuitePlan(
        benchmark=benchmark,
        suite=benchmark.suites.filter(content_hash=digest).first(),
        new_cases=new,
        changed_cases=tuple(key for key, _, _ in changed),
        changed_prompts=tuple(key for key, prompt, _ in changed if (key, prompt) not in prompts),
        reused_cases=len(spec.cases) - len(new) - len(changed),
        identities=identities,
        content_hash=digest,
        image_count=len(images),
    )


def store_suite(
    *,
    spec: SuiteSpec,
    benchmark_slug: str,
    actor: User | None,
    at: datetime,
) -> tuple[Suite, bool]:
    """Store a suite as a new version of its benchmark, and return it with whether it is new; one of equal content is
    returned as it is."""
    with open_batch() as batch:
        new = write_suite(batch=batch, spec=spec, slug=benchmark_slug)
        return persistently(partial(use_suite, batch=batch, new=new, actor=actor, at=at))


def write_suite(
    *,
    batch: ImportBatch,
    spec: SuiteSpec,
    slug: str,
    name: str = "",
    watch: Watch = unwatched,
    plan: SuitePlan | None = None,
) -> NewSuite:
    """Write the cases of a suite into a batch, unless the suite is stored already; `use_suite` takes them into use.

    `plan` is what was found just before, if anything.
    """
    new = NewSuite(slug, name or spec.name, spec, plan or plan_suite(spec=spec, benchmark_slug=slug))
    if not new.plan.changes_nothing:
        stored_cases = _known_cases(new.plan.benchmark) if new.plan.benchmark else {}
        cases = zip(new.plan.identities, spec.cases, strict=True)
        rows = (
            _batch_row(batch, position, case, identity, stored_cases.get(identity))
            for position, (identity, case) in enumerate(cases)
        )
        BatchWriter(batch, watch, len(spec.cases)).add_rows(BatchCase, _COLUMNS, rows)
    return new


@transaction.atomic
def use_suite(
    *, batch: ImportBatch, new: NewSuite, actor: User | None, at: datetime, action: str = "suite.imported"
) -> tuple[Suite, bool]:
    """Make the cases that a batch holds a new version of their benchmark, unless somebody stored the same meanwhile.

    Returns the suite that holds them now, and whether this made it.
    """
    spec, digest = new.spec, new.plan.content_hash
    equal_suite = Suite.objects.filter(benchmark__slug=new.slug, content_hash=digest).first()
    if equal_suite is not None:
        return equal_suite, False
    benchmark, _ = Benchmark.objects.get_or_create(
        slug=new.slug, defaults={"name": new.name, "created_at": at, "created_by": actor}
    )
    description = spec.metadata.get("description")
    if isinstance(description, str) and not benchmark.description:
        benchmark.description = description.strip()  # judges see it
        benchmark.save(update_fields=["description"])
    number = (benchmark.suites.aggregate(last=Max("number"))["last"] or 0) + 1
    suite = Suite.objects.create(
        benchmark=benchmark,
        number=number,
        name=spec.name,
        label=spec.version[:100],
        content_hash=digest,
        attempt_reduce_mode=spec.attempt_reduce_mode,
        full_score=spec.full_score,
        null_score=spec.null_score,
        metadata=dict(spec.metadata),
        case_count=len(spec.cases),
        created_at=at,
        created_by=actor,
    )
    _use_cases(batch, suite, at)
    record(actor, action, suite, cases=len(spec.cases), number=number)
    transaction.on_commit(lambda: signals.content_changed.send_robust(sender=Suite, benchmark_id=benchmark.pk))
    return suite, True


def benchmark_slug_of(name: str) -> str:
    """Return the address part of a benchmark's name; "benchmark" where the name has no letters for one."""
    return slugify(name)[:80] or "benchmark"


def _weighted(case: CaseRecord) -> WeightedIdentity:
    return case.key, hash_of_prompt(case), case_hash(case), case.weight


def _known_cases(benchmark: Benchmark) -> dict[Identity, int]:
    rows = Case.objects.filter(prompt__benchmark=benchmark).values_list(
        "key", "prompt__content_hash", "content_hash", "pk"
    )
    return {(key, prompt, content): pk for key, prompt, content, pk in rows}


def _batch_row(
    batch: ImportBatch, position: int, case: CaseRecord, identity: Identity, stored: int | None
) -> tuple[object, ...]:
    """Return the values of `_COLUMNS`; of a case that is stored already, its place alone."""
    place = (batch.pk, position, case.weight, stored, case.key)
    if stored is not None:
        return (*place, "", "", "", "", "[]", "[]", "{}", "{}", "{}", *_NOTHING)
    return (
        *place,
        *identity[1:],
        case.prompt,
        case.whole_context,
        json_text([asdict(image) for image in case.images]),
        json_text(case.messages),
        *(json_text(content) for content in (case.grading, case.handlers, case.details)),
        *(getattr(case, name) for name in _SAME_FIELDS),
    )


def _use_cases(batch: ImportBatch, suite: Suite, at: datetime) -> None:
    """Copy what a batch holds: prompts, then revisions, each unless it is stored already, then their places."""
    rows, prompt, case = table(BatchCase), table(Prompt), table(Case)
    new = f"FROM {rows} b WHERE b.batch_id = %s AND b.case_id IS NULL"
    same_prompt = f"p.benchmark_id = %s AND p.{quoted('key')} = b.{quoted('key')} AND p.content_hash = b.prompt_hash"
    same_case = "c.prompt_id = p.id AND c.content_hash = b.content_hash"
    columns = {name: f"b.{quoted(name)}" for name in _OF_PROMPT}
    copy_rows(
        Prompt,
        {**columns, "content_hash": "b.prompt_hash", "benchmark": "%s"},
        f"{new} AND NOT EXISTS (SELECT 1 FROM {prompt} p WHERE {same_prompt}) ORDER BY b.position",  # noqa: S608 own names
        [suite.benchmark_id, batch.pk, suite.benchmark_id],
    )
    columns = {name: f"b.{quoted(name)}" for name in ("key", "content_hash", "grading", "handlers", "metadata")}
    columns |= {name: f"b.{quoted(name)}" for name in _SAME_FIELDS if name not in _OF_PROMPT}
    copy_rows(
        Case,
        {"created_at": "%s", "prompt": "p.id", **columns},
        f"FROM {rows} b JOIN {prompt} p ON {same_prompt} WHERE b.batch_id = %s AND b.case_id IS NULL"  # noqa: S608
        f" AND NOT EXISTS (SELECT 1 FROM {case} c WHERE {same_case}) ORDER BY b.position",
        [moment(at), suite.benchmark_id, batch.pk],
    )
    placed = copy_rows(
        SuiteCase,
        {"suite": "%s", "case": "COALESCE(b.case_id, c.id)", "position": "b.position", "weight": "b.weight"},
        f"FROM {rows} b LEFT JOIN {prompt} p ON b.case_id IS NULL AND {same_prompt}"
        f" LEFT JOIN {case} c ON {same_case} WHERE b.batch_id = %s ORDER BY b.position",
        [suite.pk, suite.benchmark_id, batch.pk],
    )
    if placed != suite.case_count:
        raise BatchLost(f"{placed:,} of {suite.case_count:,} cases of the import remain; nothing was stored.")


_OF_CASE = (  # of a stored case, as it was read
    *("key", "grading", "scenario", "question_type", "lang", "full_score", "null_score"),
    *("source_path", "metadata", "handlers"),
)


def case_spec(case: Case, *, weight: float = 1.0) -> CaseRecord:
    """Return a stored case as importers hand it over; storing it again changes nothing. `case.prompt` is loaded."""
    prompt = case.prompt
    return CaseRecord(
        prompt=prompt.text,
        references=given([case.reference]),
        context=given([prompt.context]),
        context_role=prompt.context_role,
        weight=weight,
        images=image_specs(prompt.images),
        messages=tuple(prompt.messages),
        is_numbered=prompt.is_numbered,
        **{name: getattr(case, name) for name in _OF_CASE},
    )


def suite_spec(suite: Suite) -> SuiteSpec:
    """Return a stored suite as importers hand it over."""
    links = SuiteCase.objects.filter(suite=suite).select_related("case__prompt").order_by("position")
    return SuiteSpec(
        name=suite.name,
        version=suite.label,
        cases=tuple(case_spec(link.case, weight=link.weight) for link in links),
        attempt_reduce_mode=suite.attempt_reduce_mode,
        full_score=suite.full_score,
        null_score=suite.null_score,
        metadata=suite.metadata,
    )


def grown_suite(suite: Suite, cases: Iterable[CaseRecord]) -> SuiteSpec:
    """Return a stored suite with further cases behind its own; one that it has under another content is replaced."""
    spec, further = suite_spec(suite), {case.key: case for case in cases}
    return replace(spec, cases=(*(case for case in spec.cases if case.key not in further), *further.values()))
