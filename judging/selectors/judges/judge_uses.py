"""Reads the runs of a judge, the prompts that they sent, and the responses that it can be tried on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet

from judging.judges.registry import judge_kind
from judging.models import (
    UNREPORTED_KINDS,
    Judge,
    Response,
    Rubric,
    RubricItem,
    Run,
    RunEvaluator,
    RunKind,
    Suite,
    SuiteCase,
)
from judging.selectors.judges.judge_needs import needs_rubric, uses_rubric

MAX_SUITES = 100  # that are offered
TRIED_CASES = 10  # of a suite
MAX_TRIALS = 10


@dataclass(frozen=True, slots=True)
class PromptUse:
    """One version of what a judge sent, and the runs that used it; `texts` by name, empty where they are lost."""

    prompt_hash: str
    runs: int
    texts: dict[str, str]
    is_current: bool


def runs_of(judge: Judge) -> QuerySet[RunEvaluator]:
    """Return a judge's part in each run that reports know of, newest first."""
    rows = RunEvaluator.objects.filter(judge=judge).exclude(run__kind__in=UNREPORTED_KINDS)
    return rows.select_related("run__suite__benchmark", "rubric").order_by("-run_id", "position")


def prompt_versions(judge: Judge) -> list[PromptUse]:
    """Return the versions of what a judge sends and its runs sent, the newest first. Two queries."""
    counted = runs_of(judge).order_by().values("options__prompt_hash")
    counted = counted.annotate(n=Count("run", distinct=True), newest=Max("pk"))
    uses = {row["newest"]: row["n"] for row in counted if row["options__prompt_hash"]}
    kind, now = judge_kind(judge.kind), judge_kind(judge.kind).prompt_hash(judge.options)
    versions = [
        PromptUse(
            prompt_hash=(key := str(evaluator.options["prompt_hash"])),
            runs=uses[evaluator.pk],
            texts=_texts(kind.name, evaluator.options.get("judge_options") or {}, key),
            is_current=key == now,
        )
        for evaluator in RunEvaluator.objects.filter(pk__in=uses).order_by("-pk")
    ]
    if now and not any(version.is_current for version in versions):
        versions.insert(0, PromptUse(now, 0, _texts(kind.name, judge.options, now), is_current=True))
    return versions


def _texts(kind: str, options: dict[str, object], prompt_hash: str) -> dict[str, str]:
    """Return the texts that a judge of these options sends today, if they are still those of the wanted hash."""
    described = judge_kind(kind)
    if described.prompt_hash(options) != prompt_hash:
        return {}
    return {prompt.name: prompt.text for prompt in described.prompts_sent(options)}


def suites_to_try() -> list[Suite]:
    """Return the newest suites with responses."""
    responses = Response.objects.filter(prompt__cases__links__suite=OuterRef("pk"), superseded_at__isnull=True)
    suites = Suite.objects.filter(Exists(responses)).select_related("benchmark")
    return list(suites.order_by("-created_at", "-pk")[:MAX_SUITES])


def suite_to_try(judge: Judge, suites: Sequence[Suite]) -> Suite | None:
    """Return the suite that a judge judged last, else the first with a rubric that the judge uses, else the first."""
    offered = {suite.pk: suite for suite in suites}
    judged = RunEvaluator.objects.filter(judge=judge, run__suite__in=offered).order_by("-run_id")
    last = judged.values_list("run__suite", flat=True).first()
    if last is not None:
        return offered[last]
    fitting = _with_rubric(judge, list(offered)) if needs_rubric(judge) else set()
    return next((suite for suite in suites if suite.pk in fitting), suites[0] if suites else None)


def _with_rubric(judge: Judge, suite_ids: Collection[int]) -> set[int]:
    """Return the suites that have a case with a tree in a rubric that a judge uses."""
    used = [rubric.pk for rubric in Rubric.objects.all() if uses_rubric(judge, rubric)]
    owned = Q(rubric__benchmark=OuterRef("suite__benchmark")) | Q(rubric__benchmark__isnull=True)
    trees = RubricItem.objects.filter(owned, Q(case_key=OuterRef("case__key")) | Q(case_key=""), rubric__in=used)
    links = SuiteCase.objects.filter(Exists(trees), suite__in=suite_ids)
    return set(links.values_list("suite", flat=True).distinct())


def responses_to_try(suite: Suite) -> list[Response]:
    """Return the responses to the first cases of a suite."""
    responses = Response.objects.filter(prompt=OuterRef("case__prompt"), superseded_at__isnull=True)
    first = SuiteCase.objects.filter(Exists(responses), suite=suite).order_by("position", "pk")
    positions = {key: index for index, key in enumerate(first.values_list("case__prompt", flat=True)[:TRIED_CASES])}
    rows = Response.objects.filter(prompt__in=positions, superseded_at__isnull=True).select_related("prompt", "system")
    return sorted(rows, key=lambda row: (positions[row.prompt_id], row.system.name, row.attempt))


def trials_of(judge: Judge) -> list[tuple[Run, int]]:
    """Return the newest trials of a judge, each with the response that it was tried on."""
    rows = RunEvaluator.objects.filter(judge=judge, run__kind=RunKind.SINGLE, run__tasks__isnull=False)
    newest = rows.select_related("run").order_by("-run_id").annotate(response=Max("run__tasks__response"))
    return [(row.run, row.response) for row in newest[:MAX_TRIALS]]
