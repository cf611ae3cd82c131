"""An evaluator's scores of a suite's cases, attempt by attempt, and what each case comes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db.models import Q

from evalsite.reports.selectors.options import Options, chosen
from judging.grading.aggregates import reduce_scores
from judging.models import RunEvaluator, RunTask, Score, SuiteCase, TaskStatus

CHUNK = 5000
FILTERS = ("scenario", "lang", "type")


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """A case of the suite. `null_share` is what a system without a response to it gets."""

    pk: int
    key: str
    prompt_id: int
    scenario: str
    lang: str
    question_type: str
    full_score: float
    null_share: float
    max_score: float | None = None
    min_score: float | None = None

    def matches(self, options: Options) -> bool:
        """Whether the filters of a report keep this case."""
        values = (self.scenario, self.lang, self.question_type)
        return all(chosen(options, name) in ("", value) for name, value in zip(FILTERS, values, strict=True))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One response. `share` is None where it has no score, which is not a zero."""

    number: int
    response_id: int
    share: float | None


@dataclass(frozen=True, slots=True)
class CaseValue:
    """A system's share of one case's points: reduced over its attempts, the null share, or None with the reason."""

    share: float | None
    is_missing: bool = False  # no response at all


@dataclass(frozen=True, slots=True, eq=False)
class SuiteScores:
    """Every score of one evaluator over the chosen cases."""

    cases: tuple[CaseFacts, ...]
    systems: dict[int, str]  # by name
    attempts: dict[tuple[int, int], list[Attempt]] = field(default_factory=dict)  # by (system, prompt)
    reduce_mode: str = "avg"
    counts_missing: bool = True  # a case without a response gets its null score, else is left out

    def value(self, system_id: int, case: CaseFacts) -> CaseValue:
        """Return what the case is worth to the system. One attempt without a score leaves the case without one."""
        attempts = self.attempts.get((system_id, case.prompt_id))
        if not attempts:
            return CaseValue(case.null_share if self.counts_missing else None, is_missing=True)
        shares = [attempt.share for attempt in attempts if attempt.share is not None]
        if len(shares) < len(attempts):
            return CaseValue(None)
        return CaseValue(shares[0] if len(shares) == 1 else reduce_scores(shares, self.reduce_mode).score)

    def responses_of(self, system_id: int) -> Iterator[Attempt]:
        """Yield the system's attempts at the chosen cases."""
        for case in self.cases:
            yield from self.attempts.get((system_id, case.prompt_id), ())

    @property
    def most_attempts(self) -> int:
        return max((len(rows) for rows in self.attempts.values()), default=0)


def suite_cases(evaluator: RunEvaluator) -> list[CaseFacts]:
    """Return all cases of the evaluator's suite in their order. One query; `evaluator.run.suite` is loaded."""
    suite = evaluator.run.suite
    links = SuiteCase.objects.filter(suite=suite).order_by("position")
    rows = links.values_list(
        "case_id",
        "case__key",
        "case__prompt_id",
        "case__scenario",
        "case__lang",
        "case__question_type",
        "case__full_score",
        "case__null_score",
        "case__grading__max_score",
        "case__grading__min_score",
    )
    found = []
    for pk, key, prompt_id, scenario, lang, kind, full, null, most, least in rows.iterator(chunk_size=CHUNK):
        points = suite.full_score if full is None else full
        nothing = suite.null_score if null is None else null
        share = nothing / points if points else 0.0
        found.append(CaseFacts(pk, key, prompt_id, scenario, lang, kind, points, share, _number(most), _number(least)))
    return found


def read_scores(evaluator: RunEvaluator, options: Options) -> SuiteScores:
    """Return the evaluator's scores under the options scenario, lang, type, missing ("skip") and systems (keys).

    Five queries, streamed. Responses that wait, failed or could not be decided are attempts without a share.
    """
    cases = tuple(case for case in suite_cases(evaluator) if case.matches(options))
    systems = dict(evaluator.run.systems.order_by("name", "pk").values_list("pk", "name"))
    wanted = options.get("systems")
    if wanted:
        systems = {pk: name for pk, name in systems.items() if pk in wanted}
    scores = SuiteScores(
        cases=cases,
        systems=systems,
        reduce_mode=evaluator.run.suite.attempt_reduce_mode,
        counts_missing=chosen(options, "missing") != "skip",
    )
    prompts = {case.prompt_id for case in cases}
    only = Q(response__system_id__in=list(systems)) if wanted else Q()
    seen: set[int] = set()
    fields = ("response__system_id", "response__prompt_id", "response__attempt", "response_id")
    scored = Score.objects.filter(only, evaluator=evaluator).values_list(*fields, "share")
    for system_id, prompt_id, number, response_id, share in scored.iterator(chunk_size=CHUNK):
        seen.add(response_id)
        if prompt_id in prompts:
            scores.attempts.setdefault((system_id, prompt_id), []).append(Attempt(number, response_id, share))
    open_tasks = RunTask.objects.filter(only, evaluator=evaluator).exclude(status=TaskStatus.DONE)
    for system_id, prompt_id, number, response_id in open_tasks.values_list(*fields).iterator(chunk_size=CHUNK):
        if response_id not in seen and prompt_id in prompts:
            scores.attempts.setdefault((system_id, prompt_id), []).append(Attempt(number, response_id, None))
    for rows in scores.attempts.values():
        rows.sort(key=lambda attempt: attempt.number)
    return scores


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
