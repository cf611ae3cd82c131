"""A ranking of systems from the outcomes of their debates: all together, and by criterion and scenario."""

from __future__ import annotations

from collections.abc import Sequence

from debate.models import Debate, DebateSet, DecisionMethod
from evalsite.reports.selectors.debate_votes import INTACT, Decision, debates_mark, decisions_of, sets_by_id
from evalsite.reports.selectors.options import Options, chosen
from evalsite.reports.services.payloads import Payload, figure
from evalsite.reports.services.snapshots import ReportKind
from evalsite.reports.statistics.bootstrap import Bootstrap
from evalsite.reports.statistics.bradley_terry import Comparison, bradley_terry, win_rate
from evalsite.reports.statistics.ranking import interval_ranks

FEWEST_SYSTEMS = 3
RESAMPLES, RESAMPLES_OF_PARTS = 1000, 300
TOO_FEW = "A ranking needs the debates of three systems or more; here are {}."


def compute_arena(subject_id: int, options: Options) -> Payload:
    """Return Bradley-Terry strengths from agreed debates of the chosen experiment, or of all sets of debates."""
    sets = sets_by_id(_set_ids(options), method=DecisionMethod.DEBATE)
    sets = {pk: one for pk, one in sets.items() if one.damage in INTACT}
    every = decisions_of(sets)
    picked = [one for one in every if _fits(one, options)]
    criteria = sorted({one.owner.criterion for one in every})
    scenarios = sorted({one.scenario for one in every if one.scenario})
    return {
        "criteria": criteria,
        "scenarios": scenarios,
        "debates": len(picked),
        "undecided": sum(one.stored_verdict is None for one in picked),
        "whole": _ranking(picked, RESAMPLES),
        "pairs": _pair_rows(picked),
        "by_criterion": [
            {"name": name, **_ranking([one for one in picked if one.owner.criterion == name], RESAMPLES_OF_PARTS)}
            for name in criteria
            if chosen(options, "criterion") in ("", name)
        ],
        "by_scenario": [
            {"name": name, **_ranking([one for one in picked if one.scenario == name], RESAMPLES_OF_PARTS)}
            for name in scenarios
            if chosen(options, "scenario") in ("", name)
        ],
    }


def _set_ids(options: Options) -> list[int] | None:
    experiment = chosen(options, "experiment")
    if not experiment:
        return None
    return list(DebateSet.objects.filter(experiment=int(experiment)).values_list("pk", flat=True))


def _fits(one: Decision, options: Options) -> bool:
    scenario, criterion = chosen(options, "scenario"), chosen(options, "criterion")
    return scenario in ("", one.scenario) and criterion in ("", one.owner.criterion)


def _comparisons(decisions: Sequence[Decision]) -> list[Comparison]:
    return [
        Comparison(str(one.case_id), one.owner.system_a, one.owner.system_b, one.stored_verdict)
        for one in decisions
        if one.stored_verdict is not None
    ]


def _ranking(decisions: Sequence[Decision], resamples: int) -> Payload:
    """Return rank, strength and win rate by system; or the reason why these systems have no common ranking."""
    comparisons = _comparisons(decisions)
    systems = sorted({name for one in comparisons for name in (one.first, one.second)})
    base: Payload = {"n": len(comparisons), "systems": systems, "rows": [], "groups": [], "reason": ""}
    if len(systems) < FEWEST_SYSTEMS:
        return base | {"reason": TOO_FEW.format(len(systems) or "none")}
    found = bradley_terry(comparisons, bootstrap=Bootstrap(resamples=resamples))
    if found.reason:
        return base | {"groups": [list(group) for group in found.groups], "reason": found.reason}
    ranks = interval_ranks({one.system: one.estimate for one in found.strengths})
    shared = [rank for rank in ranks.values() if rank is not None]
    return base | {
        "rows": [
            {
                "system": one.system,
                "rank": ranks[one.system],
                "tied": shared.count(ranks[one.system] or 0) > 1,
                "strength": figure(one.estimate),
                "win_rate": figure(win_rate(comparisons, one.system)),
                "comparisons": one.estimate.n,
            }
            for one in found.strengths
        ]
    }


def _pair_rows(decisions: Sequence[Decision]) -> list[Payload]:
    """Return how the debates of every two systems ended."""
    rows: dict[tuple[str, str], Payload] = {}
    for one in decisions:
        first, second = sorted((one.owner.system_a, one.owner.system_b))
        row = rows.setdefault(
            (first, second), {"first": first, "second": second, "wins": 0, "ties": 0, "losses": 0, "undecided": 0}
        )
        sign = 1 if one.owner.system_a == first else -1
        result = {None: "undecided", 1: "wins", 0: "ties", -1: "losses"}
        row[result[None if one.stored_verdict is None else sign * one.stored_verdict]] += 1
    return [rows[key] for key in sorted(rows)]


def _mark(subject_id: int, options: Options) -> str:
    return debates_mark()


def _size(subject_id: int, options: Options) -> int:
    return Debate.objects.count() * 5


ARENA = ReportKind("arena", _mark, _size, compute_arena)
