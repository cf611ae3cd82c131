"""What every call of the ledger cost and who asked for it, by day, run, endpoint and judge, as a cached report."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.contrib.auth.models import User
from django.db.models import BigIntegerField, F, Max, QuerySet, Sum, TextField
from django.db.models.functions import Cast, Round, Substr
from django.urls import reverse
from django.utils.timezone import localtime

from debate.models import Statement
from evalsite.base.formats import money, number
from evalsite.base.rows import batches
from evalsite.reports.selectors.leaderboards import Options
from evalsite.reports.services.charts import MAX_TICKS, Axis, Chart, Point, Series, draw, round_axis
from evalsite.reports.services.snapshots import ReportKind
from judging.judges.judge_kinds import HASH_SHOWN
from judging.judges.reply_rows import MICRO, UNPRICED
from judging.llm.chat import ReplyStatus
from judging.models import (
    SCORED_KINDS,
    Ask,
    Call,
    EsiItem,
    EvaluatorKind,
    ModelEndpoint,
    PastVerdict,
    Run,
    RunEvaluator,
    RunKind,
    Verdict,
)
from judging.selectors.judges import versions_of
from judging.selectors.runs import RunBudget
from judging.statistics.estimates import Ints

NOBODY = 0  # in place of the key of a run, an evaluator or a person, where there is none
KEYS = ("days", "runs", "endpoints", "judges")
FIGURES = (
    *("calls", "failed", "unpriced", "prompt_tokens", "completion_tokens", "costs"),
    *("cached_tokens", "reasoning_tokens"),
    *("reused", "reused_unpriced", "saved"),
)
CALLED = np.dtype(
    {
        "names": [
            *("calls", "runs", "endpoints", "days", "prompt_tokens", "completion_tokens"),
            *("cached_tokens", "reasoning_tokens", "costs", "failed"),
        ],
        "formats": ["i8", "i8", "i8", "i4", "i4", "i4", "i4", "i4", "i8", "?"],
    }
)
USED = np.dtype({"names": ["calls", "owners", "evaluators", "runs", "days"], "formats": ["i8", "i8", "i8", "i8", "i4"]})


@dataclass(frozen=True, slots=True)
class SpendSum:
    """What some calls came to. A cost is None where no call has a known price."""

    calls: int
    failed: int
    unpriced: int  # calls of which the price or the tokens are unknown
    prompt_tokens: int
    completion_tokens: int
    cost: float | None  # USD
    reused: int  # replies that were used without a new call
    saved: float | None  # USD that those would have cost
    cached_tokens: int = 0  # of the prompt tokens, as far as they are reported
    reasoning_tokens: int = 0  # of the completion tokens, as far as they are reported

    @property
    def reuse_share(self) -> float | None:
        """The share of the replies that were used without a new call; None without any reply."""
        replies = self.calls + self.reused
        return self.reused / replies if replies else None


@dataclass(frozen=True, slots=True, eq=False)
class SpendCells:
    """Sums of one day, run, endpoint and judge each, as columns of one length; costs are millionths of a dollar."""

    columns: Mapping[str, Ints]

    def within(self, first: int | None, last: int | None) -> SpendCells:
        """Return the cells of the days from `first` to `last`, both included; None: no limit."""
        days = self.columns["days"]
        is_within = np.ones(len(days), bool)
        if first is not None:
            is_within &= days >= first
        if last is not None:
            is_within &= days <= last
        return SpendCells({name: column[is_within] for name, column in self.columns.items()})

    def total(self) -> SpendSum:
        """Return the sum of all cells."""
        return _sum_of({name: int(self.columns[name].sum()) for name in FIGURES})

    def sums_by(self, keys: Ints) -> dict[int, SpendSum]:
        """Return the sums of the cells that share a key, in the order of keys; `keys` has one for each cell."""
        groups, indexes = np.unique(keys, return_inverse=True)
        sums = {name: _added(indexes, self.columns[name], len(groups)).tolist() for name in FIGURES}
        return {
            key: _sum_of({name: column[index] for name, column in sums.items()})
            for index, key in enumerate(groups.tolist())
        }


def attribute(called: np.ndarray, used: np.ndarray) -> tuple[Ints, np.ndarray, np.ndarray]:
    """Return who asked for calls, the rows of `used` that were not paid for, and the call of each of these.

    Who asked is told of each call of `called`, which is sorted by `calls`, from the results that rest on calls; NOBODY
    where no verdict of the run that paid rests on it.

    The first result of the run that paid is who asked; every other result had the reply without a new call. A result
    counts a call once, however often it was tried again.
    """
    used = used[np.lexsort((used["days"], used["owners"], used["calls"]))]
    is_repeated = (used["calls"][1:] == used["calls"][:-1]) & (used["owners"][1:] == used["owners"][:-1])
    used = used[np.concatenate([np.ones(min(1, len(used)), bool), ~is_repeated])]
    indexes = np.searchsorted(called["calls"], used["calls"])
    is_called = indexes < len(called)
    is_called[is_called] = called["calls"][indexes[is_called]] == used["calls"][is_called]  # others came in between
    used, indexes = used[is_called], indexes[is_called]
    of_own_run = np.flatnonzero(called["runs"][indexes] == used["runs"])
    paid = of_own_run[np.unique(indexes[of_own_run], return_index=True)[1]]
    evaluators = np.full(len(called), NOBODY, np.int64)
    evaluators[indexes[paid]] = used["evaluators"][paid]
    rest = np.ones(len(used), bool)
    rest[paid] = False
    return evaluators, used[rest], called[indexes[rest]]


def cells_of(
    called: np.ndarray, reuses: np.ndarray, reused_calls: np.ndarray, *, judges: Ints, reuse_judges: Ints
) -> SpendCells:
    """Return the sums by day, run, endpoint and judge; the judges are those of each call and of each reuse."""
    days = np.concatenate([called["days"], reuses["days"]])
    runs = np.concatenate([called["runs"], reuses["runs"]])
    endpoints = np.concatenate([called["endpoints"], reused_calls["endpoints"]])
    keys = [np.asarray(column, np.int64) for column in (days, runs, endpoints, np.concatenate([judges, reuse_judges]))]
    spread = [np.unique(column, return_inverse=True) for column in keys]
    shape = [max(1, len(values)) for values, _ in spread]
    groups, cell_indexes = np.unique(
        np.ravel_multi_index([inverse for _, inverse in spread], shape), return_inverse=True
    )
    parts = np.unravel_index(groups, shape)
    columns = {name: values[part] for name, (values, _), part in zip(KEYS, spread, parts, strict=True)}
    of_calls, of_reuses = cell_indexes[: len(called)], cell_indexes[len(called) :]
    priced = called["costs"] != UNPRICED
    paid = {
        "calls": np.ones(len(called)),
        "failed": called["failed"],
        "unpriced": ~priced,
        "prompt_tokens": called["prompt_tokens"],
        "completion_tokens": called["completion_tokens"],
        "cached_tokens": called["cached_tokens"],
        "reasoning_tokens": called["reasoning_tokens"],
        "costs": np.where(priced, called["costs"], 0),
    }
    is_priced_again = reused_calls["costs"] != UNPRICED
    unpaid = {
        "reused": np.ones(len(reused_calls)),
        "reused_unpriced": ~is_priced_again,
        "saved": np.where(is_priced_again, reused_calls["costs"], 0),
    }
    columns |= {name: _added(of_calls, values, len(groups)) for name, values in paid.items()}
    columns |= {name: _added(of_reuses, values, len(groups)) for name, values in unpaid.items()}
    return SpendCells(columns)


def cells_to_json(cells: SpendCells) -> dict[str, list[int]]:
    """Return the cells as a cached report keeps them."""
    return {name: column.tolist() for name, column in cells.columns.items()}


def cells_from_json(stored: Mapping[str, Sequence[int]]) -> SpendCells:
    """Return the cells that `cells_to_json` wrote."""
    return SpendCells({name: np.asarray(column, np.int64) for name, column in stored.items()})


def _added(places: Ints, values: np.ndarray, groups: int) -> Ints:
    """Return the sums of values by group. Whole numbers below 2**53, which floats hold exactly."""
    return np.rint(np.bincount(places, weights=values, minlength=groups)).astype(np.int64)


def _sum_of(sums: Mapping[str, int]) -> SpendSum:
    finished, reused = sums["calls"] - sums["failed"], sums["reused"]
    is_known = not sums["unpriced"] or sums["unpriced"] < finished
    return SpendSum(
        calls=sums["calls"],
        failed=sums["failed"],
        unpriced=sums["unpriced"],
        prompt_tokens=sums["prompt_tokens"],
        completion_tokens=sums["completion_tokens"],
        cost=sums["costs"] / 10**MICRO if is_known or sums["costs"] else None,
        reused=reused,
        saved=sums["saved"] / 10**MICRO if not reused or sums["reused_unpriced"] < reused else None,
        cached_tokens=sums["cached_tokens"],
        reasoning_tokens=sums["reasoning_tokens"],
    )


CHUNK = 5000
MILLION = 1_000_000
MINUTE = len("2026-01-05 12:00")  # of a time as text, in UTC on every backend


class OtherAsker(StrEnum):
    """Who asked for calls that belong to no judge, or to none that can be told."""

    AGENTS = "Agents in debates"
    RESPONSES = "Responses of ESI runs"
    UNKNOWN = "Calls without a verdict"
    TESTS = "Tests, trials and deleted runs"


OF_KIND: dict[str | None, OtherAsker] = {  # by the kind of run; None: no run
    None: OtherAsker.TESTS,
    RunKind.DEBATE: OtherAsker.AGENTS,
    RunKind.ESI: OtherAsker.RESPONSES,
}


@dataclass(frozen=True, slots=True)
class SpendName:
    """What a row of a table is about: its name, a second line, and what identifies it."""

    name: str
    detail: str
    key: str  # a judge's version, an ISO date, or the id of a run, an endpoint or a person; empty for nobody
    has_page: bool = False


@dataclass(frozen=True, slots=True)
class SpendReport:
    """The sums of the whole ledger as columns, with the judges that the column `judges` numbers."""

    judges: list[SpendName]  # versions of judges, and what is no judge
    cells: dict[str, list[int]]


def compute_spend(subject_id: int, options: Options) -> SpendReport:
    """Return the sums of the whole ledger."""
    called = read_called()
    evaluators, reuses, reused_calls = attribute(called, read_used())
    runs = run_facts()
    askers = _Askers(asking_evaluators(), {key: kind for key, (kind, _) in runs.items()}, named_endpoints())
    of_calls = _numbers(askers, evaluators, called["runs"], called["endpoints"])
    of_reuses = _numbers(askers, reuses["evaluators"], reuses["runs"], reused_calls["endpoints"])
    cells = cells_to_json(cells_of(called, reuses, reused_calls, judges=of_calls, reuse_judges=of_reuses))
    people = [runs[run][1] if run in runs else NOBODY for run in cells["runs"]]
    return SpendReport(askers.rows, cells | {"people": people})


@dataclass(slots=True)
class _Askers:
    """The judges of a report, each numbered by its place in `rows`."""

    evaluators: Sequence[RunEvaluator]
    kinds: dict[int, str]  # of runs
    endpoints: dict[int, tuple[str, str]]  # name and model
    rows: list[SpendName] = field(default_factory=list)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _by_key: dict[int, int] = field(default_factory=dict)
    _by_place: dict[tuple[int, int], set[int]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        versions = versions_of(self.evaluators)
        for row in self.evaluators:
            version = versions[row.pk]
            number = self._number(row.name, version.key, version.model, is_judge=True)
            if row.run.kind in SCORED_KINDS:
                self.rows[number] = replace(self.rows[number], has_page=True)
            self._by_key[row.pk] = number
            if row.judge is not None and row.judge.endpoint_id is not None:
                self._by_place[row.run_id, row.judge.endpoint_id].add(number)

    def number_of(self, evaluator: int, run: int, endpoint: int) -> int:
        """Return who asked: the evaluator, else the only judge of a run that asks this endpoint."""
        if evaluator in self._by_key:
            return self._by_key[evaluator]
        kind = self.kinds.get(run)
        judges = self._by_place.get((run, endpoint), set())
        if kind not in OF_KIND and len(judges) == 1:
            return next(iter(judges))
        name, model = self.endpoints.get(endpoint, ("", ""))
        return self._number(OF_KIND.get(kind, OtherAsker.UNKNOWN), name, model or name, is_judge=False)

    def _number(self, name: str, version: str, model: str, *, is_judge: bool) -> int:
        key = name, version
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            detail = f"{model or 'no model'} · {version[:HASH_SHOWN] if is_judge else version}"
            self.rows.append(SpendName(str(name), detail, version if is_judge else ""))
        return self._numbers[key]


def _numbers(askers: _Askers, evaluators: Ints, runs: Ints, endpoints: Ints) -> Ints:
    """Return the number of who asked, for each call."""
    keys = np.stack([np.asarray(column, np.int64) for column in (evaluators, runs, endpoints)])
    order = np.lexsort(keys)
    keys = keys[:, order]
    starts = np.flatnonzero(np.concatenate([np.ones(min(1, len(order)), bool), (keys[:, 1:] != keys[:, :-1]).any(0)]))
    numbers = [askers.number_of(*key) for key in keys[:, starts].T.tolist()]
    by_call = np.empty(len(order), np.int64)
    by_call[order] = np.repeat(np.asarray(numbers, np.int64), np.diff(np.append(starts, len(order))))
    return by_call


SPEND = ReportKind("spend", lambda *_: spend_version(), lambda *_: last_call(), compute_spend, SpendReport)


MAX_DAYS = 92  # a longer chart is drawn by month
MAX_DOTS = 40


class SpendGroup(StrEnum):
    """What the rows of a table are about; the values are the names of tables and of the address."""

    JUDGE = "judge"
    DAY = "day"
    RUN = "run"
    ENDPOINT = "endpoint"
    PERSON = "person"

    @property
    def column(self) -> str:
        """The column of the report's cells."""
        return "people" if self is SpendGroup.PERSON else f"{self.value}s"


@dataclass(frozen=True, slots=True)
class SpendLine:
    """The sum of a judge, a day, a run, an endpoint or a person."""

    group: SpendGroup
    about: SpendName
    total: SpendSum

    @property
    def url(self) -> str:
        """The address of its page, empty where it has none."""
        if not self.about.has_page:
            return ""
        if self.group is SpendGroup.JUDGE:
            query = urlencode({"name": self.about.name, "version": self.about.key})
            return f"{reverse('reports:judge-detail')}?{query}"
        page = "judging:run-detail" if self.group is SpendGroup.RUN else "judging:endpoint-detail"
        return reverse(page, args=[int(self.about.key)])


@dataclass(frozen=True)
class SpendShown:
    """What was spent in a period, and the budgets of runs that have not ended."""

    report: SpendReport
    period: tuple[date | None, date | None] = (None, None)  # the first day and the last; None: no limit
    budgets: Sequence[RunBudget] = ()

    @cached_property
    def cells(self) -> SpendCells:
        """The cells of the days in the period."""
        first, last = (None if day is None else day.toordinal() for day in self.period)
        return cells_from_json(self.report.cells).within(first, last)

    def sums(self, group: SpendGroup) -> SpendSums:
        """Return the sums of the judges, days, runs, endpoints or people."""
        return SpendSums(self.report, group, self.cells.sums_by(self.cells.columns[group.column]))

    def lines(self, group: SpendGroup) -> list[SpendLine]:
        """Return all lines of a group, the newest day or the most expensive one first."""
        sums = self.sums(group)
        return sums.lines(sums.ordered())


@dataclass(frozen=True, slots=True)
class SpendSums:
    """The sums of one group by key; lines are named when they are read."""

    report: SpendReport
    group: SpendGroup
    sums: Mapping[int, SpendSum]

    def ordered(self, column: str = "", *, is_falling: bool = True) -> list[int]:
        """Return the keys in the order of a figure or of the names, those without a figure last.

        Without a column the newest day or the most expensive line is first.
        """
        column = column or ("name" if self.group is SpendGroup.DAY else "cost")
        keys = sorted(self.sums, key=lambda key: (-self.sums[key].calls, -self.sums[key].reused))
        if column == "name" and self.group is SpendGroup.DAY:
            return sorted(keys, reverse=is_falling)
        if column == "name":
            names = NAMES[self.group](self.report, keys)
            return sorted(keys, key=lambda key: names[key].name.lower(), reverse=is_falling)
        figures = {key: getattr(self.sums[key], column) for key in keys}
        with_figure = [key for key in keys if figures[key] is not None]
        with_figure.sort(key=lambda key: figures[key], reverse=is_falling)
        return with_figure + [key for key in keys if figures[key] is None]

    def lines(self, keys: Sequence[int]) -> list[SpendLine]:
        """Return the lines of these keys."""
        names = NAMES[self.group](self.report, keys)
        return [SpendLine(self.group, names[key], self.sums[key]) for key in keys]


def _judge_names(report: SpendReport, keys: Sequence[int]) -> dict[int, SpendName]:
    return {key: report.judges[key] for key in keys}


def _day_names(report: SpendReport, keys: Sequence[int]) -> dict[int, SpendName]:
    days = {key: date.fromordinal(key) for key in keys}
    return {key: SpendName(f"{day:%d %b %Y}".lstrip("0"), f"{day:%A}", day.isoformat()) for key, day in days.items()}


def _run_names(report: SpendReport, keys: Sequence[int]) -> dict[int, SpendName]:
    runs = Run.objects.filter(pk__in=keys) if len(keys) <= CHUNK else Run.objects.all()
    names_by_run = dict(runs.values_list("pk", "name"))
    named = {
        key: SpendName(names_by_run.get(key, "Deleted run"), f"run {key}", str(key), key in names_by_run)
        for key in keys
    }
    return named | ({NOBODY: SpendName("No run", "tests, trials and deleted runs", "")} if NOBODY in named else {})


def _endpoint_names(report: SpendReport, keys: Sequence[int]) -> dict[int, SpendName]:
    names = named_endpoints()
    return {key: SpendName(*names[key], str(key), has_page=True) for key in keys}


def _person_names(report: SpendReport, keys: Sequence[int]) -> dict[int, SpendName]:
    names = dict(User.objects.filter(pk__in=keys).values_list("pk", "username"))
    nobody = SpendName("Nobody", "started by a command, outside of runs, or in deleted ones", "")
    return {key: SpendName(names.get(key, "Deleted account"), "", str(key)) if key else nobody for key in keys}


NAMES: dict[SpendGroup, Callable[[SpendReport, Sequence[int]], dict[int, SpendName]]] = {
    SpendGroup.JUDGE: _judge_names,
    SpendGroup.DAY: _day_names,
    SpendGroup.RUN: _run_names,
    SpendGroup.ENDPOINT: _endpoint_names,
    SpendGroup.PERSON: _person_names,
}


def days_chart(cells: SpendCells) -> Chart | None:
    """Return the cost by day, by month where the days are many; of calls where nothing cost anything.

    None where there are no two days to compare.
    """
    days = cells.columns["days"][cells.columns["calls"] > 0]
    if not len(days) or days.min() == days.max():
        return None
    first, last = date.fromordinal(int(days.min())), date.fromordinal(int(days.max()))
    is_monthly = (last - first).days >= MAX_DAYS
    days_between = [first + timedelta(days=count) for count in range((last - first).days + 1)]
    starts = _months(first, last) if is_monthly else days_between
    sums = cells.sums_by(np.searchsorted([day.toordinal() for day in starts], cells.columns["days"], side="right") - 1)
    is_free = not any(total.cost for total in sums.values())
    values = [_value(sums.get(index), is_free=is_free) for index in range(len(starts))]
    form, words = ("%B %Y", "month") if is_monthly else ("%d %b %Y", "day")
    points = [
        Point(index, value, says=f"{starts[index]:{form}}: {_point_words(sums.get(index))}")
        for index, value in enumerate(values)
    ]
    step = max(1, -(-len(starts) // MAX_TICKS))
    ticks = [
        (float(index), f"{starts[index]:{'%b %Y' if is_monthly else '%d %b'}}") for index in range(0, len(starts), step)
    ]
    name = "Calls" if is_free else "Cost"
    x = Axis(words.capitalize(), -0.5, len(starts) - 0.5, ticks)
    y = round_axis(f"{name} per {words}", high=max(values) or 1.0, word="{:,g}".format if is_free else money)
    return draw(f"{name} per {words}", x, y, [Series(name, points, has_dots=len(points) <= MAX_DOTS)])


def _value(total: SpendSum | None, *, is_free: bool) -> float:
    if total is None:
        return 0.0
    return float(total.calls) if is_free else total.cost or 0.0


def _point_words(total: SpendSum | None) -> str:
    if total is None:
        return "no calls"
    cost = "price not known" if total.cost is None else money(total.cost)
    return f"{cost}, {number(total.calls)} call{'' if total.calls == 1 else 's'}"


def _months(first: date, last: date) -> list[date]:
    count = 12 * (last.year - first.year) + last.month - first.month + 1
    return [date(first.year + (first.month - 1 + k) // 12, (first.month - 1 + k) % 12 + 1, 1) for k in range(count)]


def spend_version() -> str:
    """Return a text that differs once a call was made, or a reply used again."""
    runs = Run.objects.aggregate(last=Max("pk"), made=Sum("calls_made"), reused=Sum("calls_reused"), done=Sum("done"))
    return f"{last_call()}.{runs['last']}.{runs['made']}.{runs['reused']}.{runs['done']}"


def last_call() -> int:
    """Return the key of the newest call, 0 without any."""
    return Call.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def read_called() -> np.ndarray:
    """Return every call of the ledger, sorted by key."""
    rows = Call.objects.order_by().annotate(
        minute=Substr(Cast("finished_at", TextField()), 1, MINUTE),
        micro=Cast(Round(F("cost") * MILLION), BigIntegerField()),
    )
    tokens = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
    fields = ("pk", "run_id", "endpoint_id", "minute", *tokens, "micro", "status")
    parts = [np.empty(0, CALLED)]
    for chunk in batches(rows.values_list(*fields).iterator(chunk_size=CHUNK), CHUNK):
        keys, runs, endpoints, minutes, *counts, costs, statuses = zip(*chunk, strict=True)
        part = np.empty(len(chunk), CALLED)
        part["calls"], part["endpoints"] = keys, endpoints
        part["runs"] = [run or NOBODY for run in runs]
        part["days"] = [day_of(minute) for minute in minutes]
        for name, column in zip(tokens, counts, strict=True):
            part[name] = [count or 0 for count in column]
        part["costs"] = [UNPRICED if cost is None else cost for cost in costs]
        part["failed"] = [status != ReplyStatus.FINISHED for status in statuses]
        parts.append(part)
    called = np.concatenate(parts)
    parts.clear()
    is_sorted = bool((called["calls"][1:] > called["calls"][:-1]).all())
    return called if is_sorted else called[np.argsort(called["calls"])]


def read_used() -> np.ndarray:
    """Return every use of a call by a verdict, by a response, and by a statement of a debate."""
    past = "verdict__evaluator_id", "verdict__run_id"
    of_debate = "agent__debate__debate_set__run_id"
    statements = Statement.objects.filter(**{f"{of_debate.removesuffix('_id')}__isnull": False})
    sources: list[tuple[int, QuerySet[Any], tuple[str, ...]]] = [
        (0, Verdict.objects.all(), ("pk", "evaluator_id", "run_id", "created_at", "call_ids")),
        (0, PastVerdict.objects.all(), ("verdict_id", *past, "created_at", "call_ids")),
        (1, EsiItem.objects.all(), ("pk", "", "run_id", "run__created_at", "call_ids")),
        (3, Ask.objects.all(), ("pk", "", "run_id", "run__created_at", "call_ids")),
        (2, statements, ("pk", "", of_debate, "created_at", "call_ids")),
        (2, statements, ("pk", "", of_debate, "created_at", "mirrored_call_ids")),
    ]
    return np.concatenate(
        [np.empty(0, USED), *(part for kind, rows, fields in sources for part in _uses(kind, rows, fields))]
    )


def _uses(kind: int, rows: QuerySet[Any], fields: Sequence[str]) -> Iterator[np.ndarray]:
    """Yield the uses of calls by rows of one kind. JSON is read as text, many rows at once, as judges' rows are."""
    owner, evaluator, run, at, calls = fields
    read = rows.order_by().annotate(
        minute=Substr(Cast(at, TextField()), 1, MINUTE), used_calls=Cast(calls, TextField())
    )
    columns = (owner, evaluator or owner, run, "minute", "used_calls")
    for chunk in batches(read.values_list(*columns).iterator(chunk_size=CHUNK), CHUNK):
        owners, evaluators, runs, minutes, texts = zip(*chunk, strict=True)
        lists: list[list[int]] = json.loads(f"[{','.join(texts)}]")
        lengths = [len(call_ids) for call_ids in lists]
        part = np.empty(sum(lengths), USED)
        part["calls"] = list(chain.from_iterable(lists))
        part["owners"] = np.repeat(4 * np.asarray(owners, np.int64) + kind, lengths)
        part["evaluators"] = np.repeat(np.asarray(evaluators, np.int64), lengths) if evaluator else NOBODY
        part["runs"] = np.repeat(np.asarray(runs, np.int64), lengths)
        part["days"] = np.repeat([day_of(minute) for minute in minutes], lengths)
        yield part


@lru_cache(maxsize=100_000)
def day_of(minute: str) -> int:
    """Return the ordinal of the site's day in which a minute of UTC lies."""
    return localtime(datetime.fromisoformat(minute).replace(tzinfo=UTC)).toordinal()


def asking_evaluators() -> list[RunEvaluator]:
    """Return the judges of all runs, with their runs and endpoints."""
    judges = RunEvaluator.objects.filter(kind=EvaluatorKind.JUDGE).select_related("run", "judge__endpoint")
    return list(judges.order_by("-run_id", "position"))


def run_facts() -> dict[int, tuple[str, int]]:
    """Return the kind of each run, and the key of the person who started it."""
    return {pk: (kind, person or NOBODY) for pk, kind, person in Run.objects.values_list("pk", "kind", "created_by_id")}


def named_endpoints() -> dict[int, tuple[str, str]]:
    """Return the name and the model of each endpoint."""
    return {pk: (name, model) for pk, name, model in ModelEndpoint.objects.values_list("pk", "name", "model")}
