"""Where what an upload holds goes: its benchmark and suite, and records as what is stored of cases and responses."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from operator import itemgetter

from django.db.models import Count, Q

from judging.models import Benchmark, Case, Prompt, Response, Suite
from judging.services.file_imports.suites import benchmark_slug_of, grown_suite
from judging.services.known_cases import (
    StoredPrompts,
    answer_known_cases,
    cases_of_spec,
    cases_of_suite,
)
from judging.specs.files.findings import Findings, Rule, error_rule, shorten
from judging.specs.records.collected import Collected, Stored
from judging.specs.records.neutral import CriterionRecord, ResponseRecord, SuiteSpec
from judging.specs.replies import KnownCases, question_hash
from judging.specs.types import AnchorSpec, NodeSpec, RubricItemSpec, RubricSpec, ScaleSpec

_CHOOSE = "Choose the benchmark, or import its suite first."
NO_TARGET = error_rule("no-benchmark", _CHOOSE)
NO_CASES = error_rule(
    "no-benchmark",
    f"{_CHOOSE} If a column here holds what is asked, say --map prompt=COLUMN.",
    f"{_CHOOSE} If a column here holds what is asked, choose Prompt for it under Columns.",
)

NEAR_NAME = error_rule(
    "near-name",
    "Name that one, or say --is-new-benchmark if it is a new one.",
    "Choose that one, or make a new one, under Benchmark.",
)
COUNTED_NUMBERS = error_rule(
    "counted-numbers",
    "Bring the questions along in a column, or say --benchmark if these numbers are meant.",
    "Bring the questions along in a column, or choose the benchmark under Benchmark if these numbers are meant.",
)

SAMPLE = 500  # case keys that are looked up to find a benchmark
MOST_CHOICES = 12  # benchmarks that are offered
NEAR = 0.8  # how alike two names are that may be one misspelt, as `difflib` counts


class UnknownTarget(ValueError):
    """No benchmark, or more than one, fits; the message says which were looked at, and `choices` which fit."""

    def __init__(self, message: str, choices: Sequence[Benchmark] = (), rule: Rule = NO_TARGET) -> None:
        super().__init__(message)
        self.choices, self.rule = choices, rule


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Where an import goes. `benchmark` is None for a new one."""

    slug: str
    name: str
    benchmark: Benchmark | None = None
    suite: Suite | None = None  # the chosen or the newest


def new_target(named: str, suite_name: str, *, is_new: bool = False) -> ImportTarget:
    """Return the benchmark that a suite goes to: the named one, else the one of the suite's name, stored or new.

    Raises:
        UnknownTarget: no benchmark has the given name, one has a name like it, and nobody said that it `is_new`.
    """
    name = named or suite_name
    stored = benchmark_named(name)
    if stored is not None:
        return ImportTarget(stored.slug, stored.name, stored, newest_suite(stored))
    near = _named_alike(named) if named and not is_new else []
    if near:
        names = ", ".join(benchmark.name for benchmark in near)
        raise UnknownTarget(f"There is no benchmark {named!r}, but there is: {names}.", near, NEAR_NAME)
    return ImportTarget(benchmark_slug_of(name), name)


def _named_alike(name: str) -> list[Benchmark]:
    """Return the benchmarks whose names may be meant by a misspelt one. Other digits are another version, not a
    mistake."""
    slug = benchmark_slug_of(name)
    alike = [
        benchmark
        for benchmark in Benchmark.objects.order_by("name")
        if _digits(benchmark.slug) == _digits(slug)
        and SequenceMatcher(None, benchmark.slug, slug, autojunk=False).ratio() >= NEAR
    ]
    return alike[:MOST_CHOICES]


def _digits(slug: str) -> list[str]:
    return re.findall(r"\d+", slug)


def find_target(*, keys: Sequence[str], named: str, suite_id: int | None) -> ImportTarget:
    """Return the stored benchmark for things keyed by case: the named one, else the one that has the cases.

    Raises:
        UnknownTarget: there is no such benchmark or suite, or more than one benchmark has the cases.
    """
    if suite_id is not None:
        suite = Suite.objects.select_related("benchmark").filter(pk=suite_id).first()
        if suite is None:
            raise UnknownTarget("The chosen suite no longer exists.")
        return ImportTarget(suite.benchmark.slug, suite.benchmark.name, suite.benchmark, suite)
    benchmark = benchmark_named(named) if named else _benchmark_with(keys)
    if benchmark is None:
        fitting = benchmarks_with(keys)
        having = f" These cases are in {', '.join(row.name for row in fitting)}." if fitting else ""
        raise UnknownTarget(f"There is no benchmark {named!r}.{having}", fitting or _named_alike(named))
    return ImportTarget(benchmark.slug, benchmark.name, benchmark, newest_suite(benchmark))


def newest_suite(benchmark: Benchmark) -> Suite | None:
    """Return the benchmark's suite with the highest number."""
    return benchmark.suites.order_by("-number").first()


def known_cases(suite: Suite, *, is_named: bool) -> KnownCases:
    """Return the keys of a suite's cases, also by the path that the suite gave them and by what they ask. Numbers that
    were counted here are ids only where the person named the benchmark."""
    keys: set[str] = set()
    by_path: dict[str, str] = {}
    by_question: dict[str, str] = {}
    rows = Case.objects.filter(suites=suite).values_list("key", "source_path", "prompt__text", "prompt__is_numbered")
    for key, path, question, is_numbered in rows.iterator(chunk_size=SAMPLE):
        if is_named or not is_numbered:
            keys.add(key)
        by_question[question_hash(question)] = key
        if path:
            by_path[path] = key
    return KnownCases(frozenset(keys), by_path, by_question)


def benchmark_named(name: str) -> Benchmark | None:
    """Return the stored benchmark of this name or slug."""
    by_slug = Benchmark.objects.filter(slug=name).first() or Benchmark.objects.filter(name__iexact=name).first()
    return by_slug or Benchmark.objects.filter(slug=benchmark_slug_of(name)).first()


def _benchmark_with(keys: Sequence[str]) -> Benchmark:
    """Return the one benchmark that has most of the cases."""
    best = benchmarks_with(keys)
    if not best:
        raise _no_benchmark_with(keys)
    if len(best) > 1:
        message = f"More than one benchmark has these cases: {', '.join(benchmark.name for benchmark in best)}."
        raise UnknownTarget(message, best)
    return best[0]


def _no_benchmark_with(keys: Sequence[str]) -> UnknownTarget:
    """Return the refusal of keys that no benchmark has as ids; those that have such numbers may be chosen."""
    sample = list(dict.fromkeys(keys))[:SAMPLE]
    message = f"No benchmark here has these cases ({', '.join(map(shorten, sample[:3])) or 'none'})."
    counted = _having(Q(key__in=sample, is_numbered=True))
    if not counted:
        return UnknownTarget(message, rule=NO_CASES)
    names = ", ".join(benchmark.name for benchmark in counted)
    verb, was = ("have", "they were") if len(counted) > 1 else ("has", "it was")
    further = f"{names} {verb} cases of these numbers, which were counted when {was} imported and are no ids."
    return UnknownTarget(f"{message} {further}", counted, COUNTED_NUMBERS)


def benchmarks_with(keys: Sequence[str]) -> list[Benchmark]:
    """Return the benchmarks that have most of the cases, named by an id or by the question itself."""
    sample = list(dict.fromkeys(keys))[:SAMPLE]
    return _having(Q(key__in=sample, is_numbered=False)) or _having(Q(text__in=sample))


def _having(prompts: Q) -> list[Benchmark]:
    """Return the benchmarks with the most of the prompts, by name: one, unless several have equally many."""
    counts = list(Prompt.objects.filter(prompts).values_list("benchmark_id").annotate(n=Count("key", distinct=True)))
    most = max((count for _, count in counts), default=0)
    return list(Benchmark.objects.filter(pk__in=[pk for pk, count in counts if count == most]).order_by("name"))


UNKNOWN_CASES = error_rule(
    "unknown-case",
    "Import their questions in the same upload, or leave these rows out: --leave-out-bad-rows.",
    "Import their questions in the same upload, or choose Leave these rows out.",
)
FURTHER_CASES = error_rule(
    "not-in-suite",
    "Add them to the suite, import them on their own, or leave them out: --leave-out-bad-rows.",
    "Add them to the suite, import them on their own, or choose Leave these rows out.",
)
UNKNOWN_RESPONSES = error_rule("unknown-response", "Import the responses in the same upload, or before it.")

BATCH = 500


class CollectedResponses(Stored[ResponseRecord]):
    """The responses of an upload as they are stored; `identities` tells them apart without reading their texts."""

    def __init__(self, collected: Collected) -> None:
        self.identities = collected.response_identities
        specs = collected.responses.map(itemgetter(1))
        super().__init__(len(specs), specs.walk)


@dataclass(slots=True)
class RecordPlanner:
    """Finds the benchmark of the records of an upload and gives their cases the keys they have there."""

    collected: Collected
    findings: Findings
    benchmark: str = ""  # as the person named it
    is_new_benchmark: bool = False  # a name like that of a stored one is another one
    suite_id: int | None = None
    beside: SuiteSpec | None = None  # a suite with graders in the same upload
    name: str = ""  # of a new benchmark that nobody named
    leave_out_unknown: bool = False
    adds_cases: bool = False  # the cases of the newest suite stay beside these
    target: ImportTarget | None = None  # None: labels of things that are not here
    suite: SuiteSpec | None = None  # None: the cases are those of the target's suite
    responses: Sequence[ResponseRecord] = ()
    rubric: RubricSpec | None = None
    choices: Sequence[Benchmark] = ()  # those that fit, where more than one does

    def make(self) -> None:
        """Find what the records become; what prevents it goes to the findings."""
        counts = self.collected.counts
        has_more = any(counts[name] for name in counts if name not in ("cases", "rubrics"))
        if self.beside is not None:
            self._answer(self.beside)
        elif counts["cases"]:
            stored = self._stored_suite() if has_more else None
            if stored is None:
                self._make_suite()
            else:
                self._set_target(stored)
        elif self.collected.unknown_cases and (
            counts["responses"] or self.collected.unknown_responses or self.benchmark or self.suite_id
        ):
            self._find_by_ids()
        self._check_unknown()
        self._check_responses()
        self.responses = CollectedResponses(self.collected)
        if counts["rubrics"]:
            name = self.target.name if self.target else self.name
            self.rubric = rubric_spec(self.collected, f"{name} rubric")

    def _answer(self, suite: SuiteSpec) -> None:
        """Give the cases the keys under which a suite has them; those it does not have are errors."""
        known, owner = KnownCases.of(suite), suite.name
        renamed: dict[int, str] = {}
        for number, case in (*self.collected.cases, *self.collected.unknown_cases):
            key = known.key_for_question(case.prompt) if case.prompt else ""
            if key not in known.keys:
                key = case.key if not case.is_made else ""
            if key not in known.keys and case.key and not case.is_made:
                key = known.key_for_question(case.key)
                key = key if key in known.keys else known.key_for_path(case.key)
            if key in known.keys:
                renamed[number] = key
        count = len(self.collected.cases)
        further = [case for number, case in self.collected.cases if number not in renamed]
        answer_known_cases(self.collected, renamed, cases_of_spec(suite))
        if further and not self.leave_out_unknown:
            first = further[0]
            message = (
                f"{len(further):,} of {count:,} questions are not in the suite {owner} of the same "
                f"upload (first: {first.key}, {first.place.at})."
            )
            self.findings.add(FURTHER_CASES, first.place.file, "", message, first.key)
            return
        for case in further:
            self.collected.leave_out("case", f"{owner} does not have it", case.place)
        self._refuse_cases(set(self.collected.case_keys()) - set(renamed), owner)

    def _stored_suite(self) -> ImportTarget | None:
        """Return the stored suite that has all cases of the upload, the named one or the only one."""
        if self.suite_id is not None or (self.benchmark and benchmark_named(self.benchmark)):
            target = self._found(())
            suites = [target] if target is not None else []
        elif self.benchmark:
            return None
        else:
            first = [case for _, case in self.collected.cases[:SAMPLE]]
            fitting = benchmarks_with([case.prompt for case in first])
            suites = [ImportTarget(row.slug, row.name, row, newest_suite(row)) for row in fitting]
        having = [target for target in suites if target.suite is not None and self._renamed_as_in(target.suite)]
        if len(having) > 1:
            self.choices = [target.benchmark for target in having if target.benchmark is not None]
            names = ", ".join(target.name for target in having)
            self.findings.add(NO_TARGET, "", "", f"More than one benchmark has these cases: {names}.")
        return having[0] if having else None

    def _renamed_as_in(self, suite: Suite) -> dict[int, str]:
        """Return the key of each case in a suite; nothing unless the suite has all of them, with their prompts."""
        known = StoredPrompts(Prompt.objects.filter(cases__suites=suite))
        renamed = {number: known.key_of(case) for number, case in self.collected.cases}
        return renamed if all(renamed.values()) else {}

    def _set_target(self, target: ImportTarget) -> None:
        assert target.suite is not None
        self.target = target
        answer_known_cases(self.collected, self._renamed_as_in(target.suite), cases_of_suite(target.suite))

    def _make_suite(self) -> None:
        """Make a suite of the cases, in the benchmark that is named, or in a new one of its own name."""
        name = self.benchmark or self._free_name()
        if self.suite_id is not None:
            target = self._found(())
            name = target.name if target is not None else name
        try:
            self.target = new_target(self.benchmark, name, is_new=self.is_new_benchmark)
        except UnknownTarget as refusal:
            self._refuse_target(refusal)
            return
        if self.target.benchmark is not None:
            self._number_in(self.target.benchmark)
        cases = self.collected.cases.map(itemgetter(1))
        stored = self.target.suite if self.adds_cases else None
        self.suite = grown_suite(stored, cases) if stored else SuiteSpec(self.name or name, "", cases)

    def _number_in(self, benchmark: Benchmark) -> None:
        """Give cases without an id the keys under which a stored benchmark has their prompts, else numbers that it does
        not use: the same number is never another prompt."""
        known = StoredPrompts(Prompt.objects.filter(benchmark=benchmark))
        used = {case.key for _, case in self.collected.cases if not case.is_made}
        free = (key for key in map(str, itertools.count(1)) if key not in known.keys and key not in used)
        keys: dict[int, str] = {}
        for number, case in self.collected.cases:
            if case.is_made:
                key = known.key_of(case)
                keys[number] = key if key and key not in used else next(free)
                used.add(keys[number])
        self.collected.rename_cases(keys)

    def _free_name(self) -> str:
        """Return a benchmark's name that nobody chose: that of the file, unless another benchmark has it that shares no
        prompt with it."""
        number, name = 1, self.name
        while (stored := benchmark_named(name)) is not None:
            prompts = [case.prompt for _, case in self.collected.cases[:SAMPLE]]
            keys = [case.key for _, case in self.collected.cases[:SAMPLE] if not case.is_made]
            rows = Prompt.objects.filter(benchmark=stored)
            with_id = rows.filter(key__in=keys, is_numbered=False)
            if not prompts or rows.filter(text__in=prompts).exists() or with_id.exists():
                break
            number += 1
            name = f"{self.name} {number}"
        return name

    def _find_by_ids(self) -> None:
        """Find the stored benchmark whose ids the rows name."""
        keys = [case.key for _, case in self.collected.unknown_cases[:SAMPLE]]
        target = self._found(keys)
        if target is None:
            return
        if target.suite is None:
            self.findings.add(NO_TARGET, "", "", f"The benchmark {target.name} has no suite yet.", target.name)
            return
        self.target = target

    def _found(self, keys: Sequence[str]) -> ImportTarget | None:
        try:
            return find_target(keys=keys, named=self.benchmark, suite_id=self.suite_id)
        except UnknownTarget as refusal:
            self._refuse_target(refusal)
            return None

    def _refuse_target(self, refusal: UnknownTarget) -> None:
        self.findings.add(refusal.rule, "", "", str(refusal), self.benchmark)
        self.choices = refusal.choices

    def _check_unknown(self) -> None:
        """Refuse responses, scores and rubrics of cases that neither the upload nor the benchmark has."""
        target = self.target
        if self.beside is not None or target is None:
            return
        unknown = self.collected.unknown_cases
        if not unknown or self.findings.has_errors:
            return
        if target.suite is None or self.suite is not None:
            self._refuse_cases({number for number, _ in unknown}, target.name)
            return
        known = known_cases(target.suite, is_named=bool(self.benchmark or self.suite_id))
        renamed: dict[int, str] = {}
        for number, case in unknown:
            tried = (known.key_for_question(case.key), known.key_for_path(case.key))
            key = next((key for key in tried if key in known.keys), None)
            if key is not None:
                renamed[number] = key
        self.collected.rename_cases(renamed)
        self._refuse_cases({number for number, _ in unknown} - set(renamed), target.name)

    def _refuse_cases(self, numbers: set[int], owner: str) -> None:
        """Refuse rows about cases that are not known, or leave them out; labels alone need no case."""
        refused = self.collected.rows_about(numbers)
        if refused and self.leave_out_unknown:
            self.collected.leave_out_rows(numbers, f"{owner} does not have the case")
            return
        for file, count, total, key, at in refused:
            message = f"{count:,} of {total:,} rows answer cases that {owner} does not have (first: {key}, {at})."
            self.findings.add(UNKNOWN_CASES, file, "", message, key)

    def _check_responses(self) -> None:
        """Refuse scores, verdicts and labels of responses that neither the upload nor the benchmark has."""
        unknown = self.collected.unknown_responses
        if not unknown or self.findings.has_errors:
            return
        suite = self.target.suite if self.target is not None and self.suite is None else None
        find = response_ids(self.collected, suite)
        missing = [(number, response) for number, response in unknown if find(number) is None]
        if missing:
            first = missing[0][1]
            message = (
                f"Of the responses that are scored or labelled here, {len(missing):,} are not stored (first: case "
                f"{self.collected.case_key(first.case)}, {first.system}, attempt {first.attempt}, {first.place.at})."
            )
            rows = Response.objects.filter(prompt__cases__suites=suite).order_by("system__name")
            stored = list(rows.values_list("system__name", flat=True).distinct()) if suite else []
            if stored and first.system not in stored:
                message += f" Stored are those of {shorten(', '.join(stored))}."
            self.findings.add(UNKNOWN_RESPONSES, first.place.file, "", message, first.system)


def rubric_spec(collected: Collected, name: str) -> RubricSpec:
    """Return the rubrics of cases as one rubric with a tree for each case."""
    items = tuple(
        RubricItemSpec(collected.case_key(rubric.case), _rubric_tree(rubric.criteria), str(rubric.place)[:100])
        for _, rubric in collected.rubrics
    )
    has_points = any(item.root.aggregator.get("type") == "points_over_positive" for item in items)
    aggregate = {"type": "mean", "clip": [0, 1]} if has_points else {"type": "mean"}
    return RubricSpec(name, "nested", "item", items, benchmark_aggregate=aggregate)


def _rubric_tree(criteria: Sequence[CriterionRecord]) -> NodeSpec:
    """Return the criteria of a case: with points as checks that add up, with levels as anchored scales."""
    has_points = any(line.points is not None for line in criteria)
    nodes = tuple(_criterion_node(f"c{number}", line, has_points=has_points) for number, line in enumerate(criteria))
    kind = "points_over_positive" if has_points else "mean"
    return NodeSpec("root", "group", aggregator={"type": kind}, children=nodes)


def _criterion_node(key: str, line: CriterionRecord, *, has_points: bool) -> NodeSpec:
    if not line.levels:
        points = (line.points if line.points is not None else 1.0) if has_points else None
        return NodeSpec(key, "check", text=line.text, points=points, tags=line.tags, scale=ScaleSpec("boolean"))
    values = sorted((float(value), str(text)) for value, text in line.levels.items())
    anchors = tuple(AnchorSpec(value, value, text) for value, text in values)
    scale = ScaleSpec("ordinal", values[0][0], values[-1][0], 1)
    return NodeSpec(key, "dimension", text=line.text, scale=scale, anchors=anchors, tags=line.tags)


def response_ids(collected: Collected, suite: Suite | None) -> Callable[[int], int | None]:
    """Return what gives the row of a response by its number in an upload; None for one that the suite has not."""
    if suite is None:
        return lambda number: None
    rows = Response.objects.filter(
        prompt__cases__suites=suite, system__name__in=collected.response_systems(), superseded_at__isnull=True
    ).values_list("prompt__key", "system__name", "attempt", "pk")
    stored = {(key, system, attempt): pk for key, system, attempt, pk in rows.iterator(chunk_size=BATCH)}
    return lambda number: stored.get(collected.identity(number))
