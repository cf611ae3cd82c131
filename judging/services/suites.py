"""Stores suites: unchanged cases are reused, changed ones become new revisions, equal bytes change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils.text import slugify

from judging import signals
from judging.models import Benchmark, Case, Prompt, Suite, SuiteCase
from judging.services.hashing import case_hash, content_hash, prompt_hash
from judging.services.inserting import BATCH, Inserter
from judging.services.staging import Watch, unwatched
from judging.specs.types import CaseSpec, SuiteSpec


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """What storing a suite would do."""

    benchmark: Benchmark | None  # None: a new one
    suite: Suite | None  # the suite with the same content, where there is one already
    new_cases: tuple[str, ...]  # keys
    changed_cases: tuple[str, ...]  # a new revision of a known key; grading changed
    changed_prompts: tuple[str, ...]  # the prompt changed too: stored responses do not answer it
    reused_cases: int

    @property
    def changes_nothing(self) -> bool:
        return self.suite is not None


@dataclass(frozen=True, slots=True)
class StoredSuite:
    """The suite that holds the content now, and whether this call made it."""

    suite: Suite
    created: bool
    plan: SuitePlan


def suite_hash(spec: SuiteSpec) -> str:
    """Return the hash of a suite's cases, order, weights and rules of aggregation."""
    cases = [[case.key, prompt_hash(case), case_hash(case), case.weight] for case in spec.cases]
    return content_hash([spec.attempt_reduce_mode, spec.full_score, spec.null_score, cases])


def plan_suite(*, spec: SuiteSpec, benchmark_slug: str) -> SuitePlan:
    """Return what `store_suite` would create, change and reuse, without storing anything."""
    benchmark = Benchmark.objects.filter(slug=benchmark_slug).first()
    if benchmark is None:
        return SuitePlan(None, None, tuple(case.key for case in spec.cases), (), (), 0)
    known = _known_cases(benchmark)
    prompts = set(Prompt.objects.filter(benchmark=benchmark).values_list("key", "content_hash"))
    keys = {key for key, _ in prompts}
    new = tuple(case.key for case in spec.cases if case.key not in keys)
    fresh = [case for case in spec.cases if case.key in keys and _identity(case) not in known]
    return SuitePlan(
        benchmark=benchmark,
        suite=benchmark.suites.filter(content_hash=suite_hash(spec)).first(),
        new_cases=new,
        changed_cases=tuple(case.key for case in fresh),
        changed_prompts=tuple(case.key for case in fresh if (case.key, prompt_hash(case)) not in prompts),
        reused_cases=len(spec.cases) - len(new) - len(fresh),
    )


@transaction.atomic
def store_suite(  # noqa: PLR0913 - what is stored and where, beside who does it, when, and who watches
    *,
    spec: SuiteSpec,
    benchmark_slug: str,
    benchmark_name: str = "",
    actor: User | None,
    at: datetime,
    action: str = "suite.imported",
    watch: Watch = unwatched,
) -> StoredSuite:
    """Store a suite as a new version of its benchmark; a suite with equal content is returned as it is."""
    plan = plan_suite(spec=spec, benchmark_slug=benchmark_slug)
    if plan.suite is not None:
        return StoredSuite(plan.suite, created=False, plan=plan)
    benchmark = plan.benchmark or Benchmark.objects.create(
        slug=benchmark_slug, name=benchmark_name or spec.name, created_at=at, created_by=actor
    )
    description = spec.metadata.get("description")
    if isinstance(description, str) and not benchmark.description:
        benchmark.description = description.strip()  # judges are told it
        benchmark.save(update_fields=["description"])
    cases = _store_cases(benchmark, spec.cases, at, watch)
    number = (benchmark.suites.aggregate(last=Max("number"))["last"] or 0) + 1
    suite = Suite.objects.create(
        benchmark=benchmark,
        number=number,
        name=spec.name,
        label=spec.version[:100],
        content_hash=suite_hash(spec),
        attempt_reduce_mode=spec.attempt_reduce_mode,
        full_score=spec.full_score,
        null_score=spec.null_score,
        metadata=dict(spec.metadata),
        case_count=len(cases),
        created_at=at,
        created_by=actor,
    )
    links = [
        SuiteCase(suite=suite, case_id=case_id, position=position, weight=case.weight)
        for position, (case, case_id) in enumerate(zip(spec.cases, cases, strict=True))
    ]
    SuiteCase.objects.bulk_create(links, batch_size=BATCH)
    _announce(actor, action, str(suite), suite.pk, {"cases": len(cases), "number": number})
    transaction.on_commit(lambda: signals.content_changed.send_robust(sender=Suite, benchmark_id=benchmark.pk))
    return StoredSuite(suite, created=True, plan=plan)


def benchmark_slug_of(name: str) -> str:
    """Return the address part of a benchmark's name; "benchmark" where the name has no letters for one."""
    return slugify(name)[:80] or "benchmark"


def _identity(case: CaseSpec) -> tuple[str, str, str]:
    return case.key, prompt_hash(case), case_hash(case)


def _known_cases(benchmark: Benchmark) -> dict[tuple[str, str, str], int]:
    rows = Case.objects.filter(prompt__benchmark=benchmark).values_list(
        "key", "prompt__content_hash", "content_hash", "pk"
    )
    return {(key, prompt, content): pk for key, prompt, content, pk in rows}


def _store_cases(benchmark: Benchmark, specs: Sequence[CaseSpec], at: datetime, watch: Watch) -> list[int]:
    """Return the ids of the case revisions, in the order of `specs`."""
    known = _known_cases(benchmark)
    prompts = {
        (prompt.key, prompt.content_hash): prompt.pk
        for prompt in Prompt.objects.filter(benchmark=benchmark).only("key", "content_hash")
    }
    missing = [case for case in specs if (case.key, prompt_hash(case)) not in prompts]
    new = [case for case in specs if _identity(case) not in known]
    inserter = Inserter(watch, len(missing) + len(new))
    made = inserter.insert(Prompt, [_prompt_row(benchmark, case) for case in missing])
    prompts |= {(prompt.key, prompt.content_hash): prompt.pk for prompt in made}
    rows = inserter.insert(Case, [_case_row(case, prompts[case.key, prompt_hash(case)], at) for case in new])
    known |= {_identity(case): row.pk for case, row in zip(new, rows, strict=True)}
    return [known[_identity(case)] for case in specs]


def _prompt_row(benchmark: Benchmark, case: CaseSpec) -> Prompt:
    return Prompt(
        benchmark=benchmark,
        key=case.key,
        content_hash=prompt_hash(case),
        text=case.prompt,
        context=case.context,
        context_role=case.context_role,
    )


def _case_row(case: CaseSpec, prompt_id: int, at: datetime) -> Case:
    return Case(
        prompt_id=prompt_id,
        key=case.key,
        content_hash=case_hash(case),
        reference=case.reference,
        scenario=case.scenario,
        question_type=case.question_type,
        lang=case.lang,
        full_score=case.full_score,
        null_score=case.null_score,
        grading=dict(case.grading),
        handlers=dict(case.handlers),
        metadata=dict(case.metadata),
        source_path=case.source_path,
        created_at=at,
    )


def _announce(actor: User | None, action: str, subject: str, subject_id: int, detail: dict[str, Any]) -> None:
    signals.acted.send(
        sender=Suite,
        actor_id=actor.pk if actor else None,
        action=action,
        subject=subject,
        subject_id=subject_id,
        detail=detail,
    )
