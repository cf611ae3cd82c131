"""Strengths from pairwise preferences, where every system is compared with the others directly or by a chain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from evalsite.reports.statistics.bootstrap import Bootstrap, percentile_interval, resampled_sums
from evalsite.reports.statistics.estimates import Estimate, Floats, Ints, undefined, with_interval
from evalsite.reports.statistics.intervals import cluster_codes, clustered_mean, of_share
from evalsite.reports.statistics.strength_batches import fit_strengths, have_strengths

TOLERANCE = 1e-10
ITERATIONS = 10_000
OUTCOMES = {1: "X", 0: "Draw", -1: "Y"}  # names of evalica.Winner


@dataclass(frozen=True, slots=True)
class Comparison:
    """One preference between two systems on one case: 1 = first better, 0 = tie, -1 = second better."""

    case: str
    first: str
    second: str
    preference: int


@dataclass(frozen=True, slots=True)
class Strength:
    """A system's strength as natural log odds against an average system (mean 0); n = its comparisons."""

    system: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class BradleyTerry:
    """Strengths, best first; or, when systems cannot be compared, the groups that can and the reason."""

    strengths: tuple[Strength, ...]
    groups: tuple[tuple[str, ...], ...]
    reason: str


def bradley_terry(comparisons: Sequence[Comparison], *, bootstrap: Bootstrap | None = None) -> BradleyTerry:
    """Return each system's strength s with P(i beats j) = 1 / (1 + exp(s_j - s_i)), a tie counting half a win each.

    The interval resamples whole cases, since two orders of one pair are not two observations. Resamples in which some
    system won or lost everything have no finite strengths and are left out. Sources: Bradley and Terry 1952; Ford 1957
    for when strengths exist.

    Raises:
        ValueError: a preference is not 1, 0 or -1, or a system is compared with itself.
    """
    for comparison in comparisons:
        if comparison.preference not in OUTCOMES or comparison.first == comparison.second:
            raise ValueError(f"not a comparison of two systems: {comparison}")
    systems = tuple(sorted({name for c in comparisons for name in (c.first, c.second)}))
    if not systems:
        return BradleyTerry((), (), "No comparisons yet.")
    games = _games(comparisons, systems)
    weights = np.bincount(games.which, minlength=len(games.preferences)).astype(np.float64)
    groups = _groups(games, weights, systems, connection="weak")
    if len(groups) > 1:
        return BradleyTerry((), groups, _cannot_compare(groups))
    groups = _groups(games, weights, systems, connection="strong")
    if len(groups) > 1:
        return BradleyTerry((), groups, _one_sided(groups))
    strengths = _fit(games, weights, len(systems))
    return BradleyTerry(_with_intervals(strengths, games, systems, bootstrap or Bootstrap()), groups, "")


@dataclass(frozen=True, slots=True, eq=False)
class _Games:
    """Distinct (first, second, preference) triples; each comparison's triple and case."""

    firsts: Ints
    seconds: Ints
    preferences: Ints
    which: Ints
    cases: Ints


def _games(comparisons: Sequence[Comparison], systems: tuple[str, ...]) -> _Games:
    index = {name: i for i, name in enumerate(systems)}
    rows = np.array([(index[c.first], index[c.second], c.preference) for c in comparisons], dtype=np.int64)
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    cases = cluster_codes([c.case for c in comparisons])
    return _Games(distinct[:, 0], distinct[:, 1], distinct[:, 2], which.reshape(-1), cases)


def _edges(games: _Games, weights: Floats) -> tuple[Ints, Ints]:
    """Return who did not lose against whom; a tie points both ways."""
    played = weights > 0
    ahead, behind = played & (games.preferences >= 0), played & (games.preferences <= 0)
    return (
        np.concatenate([games.firsts[ahead], games.seconds[behind]]),
        np.concatenate([games.seconds[ahead], games.firsts[behind]]),
    )


def _components(games: _Games, weights: Floats, n: int, *, connection: str) -> tuple[int, Ints]:
    rows, columns = _edges(games, weights)
    graph = scipy.sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    count, labels = scipy.sparse.csgraph.connected_components(graph, directed=True, connection=connection)
    return int(count), labels


def _groups(
    games: _Games, weights: Floats, systems: tuple[str, ...], *, connection: str
) -> tuple[tuple[str, ...], ...]:
    count, labels = _components(games, weights, len(systems), connection=connection)
    groups = (tuple(name for name, label in zip(systems, labels, strict=True) if label == k) for k in range(count))
    return tuple(sorted(groups))


def _cannot_compare(groups: tuple[tuple[str, ...], ...]) -> str:
    listed = "; ".join(", ".join(group) for group in groups)
    return f"No comparison links these groups, so they have no common ranking: {listed}."


def _one_sided(groups: tuple[tuple[str, ...], ...]) -> str:
    listed = "; ".join(", ".join(group) for group in groups)
    return f"Between these groups one side won every comparison, so the distance has no finite estimate: {listed}."


def _fit(games: _Games, weights: Floats, n: int) -> Floats:
    """Return log strengths with mean 0, shape (systems,)."""
    import evalica  # brings pandas, as long to import as the rest of the site: only who ranks by pairs waits for it

    played = weights > 0
    result = evalica.bradley_terry(
        games.firsts[played].tolist(),
        games.seconds[played].tolist(),
        [getattr(evalica.Winner, OUTCOMES[preference]) for preference in games.preferences[played].tolist()],
        weights=weights[played].tolist(),
        tolerance=TOLERANCE,
        limit=ITERATIONS,
    )
    logs = np.log(result.scores.reindex(range(n)).to_numpy(dtype=np.float64))
    centred: Floats = logs - logs.mean()
    return centred


def _with_intervals(
    strengths: Floats, games: _Games, systems: tuple[str, ...], plan: Bootstrap
) -> tuple[Strength, ...]:
    resampled = _resample(games, len(systems), plan)
    n_cases = int(games.cases.max()) + 1
    counts = np.bincount(games.firsts[games.which], minlength=len(systems)) + np.bincount(
        games.seconds[games.which], minlength=len(systems)
    )
    found = []
    for i, system in enumerate(systems):
        point = Estimate(float(strengths[i]), None, None, int(counts[i]), "One case has no interval.")
        if n_cases > 1 and plan.resamples:
            interval = percentile_interval(resampled[:, i], n=n_cases, level=plan.level)
            point = with_interval(float(strengths[i]), interval, n=int(counts[i]))
        found.append(Strength(system, point))
    return tuple(sorted(found, key=lambda row: (-(row.estimate.value or 0.0), row.system)))


def _resample(games: _Games, n_systems: int, plan: Bootstrap) -> Floats:
    """Return log strengths in resamples of whole cases, shape (resamples, systems), NaN where not finite."""
    n_cases, n_games = int(games.cases.max()) + 1, len(games.preferences)
    table = scipy.sparse.coo_array(
        (np.ones(len(games.which)), (games.cases, games.which)), shape=(n_cases, n_games)
    ).tocsr()
    found = np.full((plan.resamples, n_systems), np.nan)
    if n_cases < 2 or not plan.resamples:
        return found
    (weights,) = resampled_sums([table], np.ones(n_cases, dtype=np.int64), plan=plan)
    points = np.zeros((plan.resamples, n_systems, n_systems))
    for column, (first, second, preference) in enumerate(
        zip(games.firsts, games.seconds, games.preferences, strict=True)
    ):
        points[:, first, second] += weights[:, column] * (1 + preference) / 2
        points[:, second, first] += weights[:, column] * (1 - preference) / 2
    finite = have_strengths(points)
    found[finite] = fit_strengths(points[finite])
    return found


def win_rate(comparisons: Iterable[Comparison], system: str) -> Estimate:
    """Return a system's share of wins, ties half, over its comparisons; interval clustered by case, n = cases."""
    points, cases = [], []
    for comparison in comparisons:
        if system in (comparison.first, comparison.second):
            sign = comparison.preference if system == comparison.first else -comparison.preference
            points.append((1 + sign) / 2)
            cases.append(comparison.case)
    if not points:
        return undefined(f"{system} has not been compared yet.")
    return of_share(clustered_mean(points, cases))
