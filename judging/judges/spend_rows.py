"""What calls cost: who asked for each call, and the sums by day, run, endpoint and judge that a report keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judging.judges.replies.reply_rows import MICRO, UNPRICED
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


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """Who asked for calls, and which replies were used without a new call."""

    evaluators: Ints  # of each call; NOBODY where no verdict of the run that paid rests on it; shape (calls,)
    reuses: np.ndarray  # rows of USED that were not paid for
    indexes: Ints  # of their calls; shape (reuses,)


@dataclass(frozen=True, slots=True)
class SpendSum:
    """What some calls came to. A cost is None where no call has a known price."""

    calls: int
    failed: int
    unpriced: int  # finished calls without a known price
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


def attribute(called: np.ndarray, used: np.ndarray) -> Attribution:
    """Return who asked for each call of `called`, which is sorted by `calls`, from the results that rest on calls.

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
    return Attribution(evaluators, used[rest], indexes[rest])


def cells_of(called: np.ndarray, attribution: Attribution, *, judges: Ints, reuse_judges: Ints) -> SpendCells:
    """Return the sums by day, run, endpoint and judge; the judges are those of each call and of each reuse."""
    reuses, reused_calls = attribution.reuses, called[attribution.indexes]
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
        "unpriced": ~priced & ~called["failed"],
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
    is_known = not finished or sums["unpriced"] < finished
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
