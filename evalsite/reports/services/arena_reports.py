"""A ranking of systems from the outcomes of their debates: all together, and by criterion and scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from debate.models import Debate, DebateSet, DecisionMethod
from evalsite.reports.selectors.debate_votes import INTACT, Decision, debates_mark, decisions_of, sets_by_id
from evalsite.reports.selectors.options import Options, chosen
from evalsite.reports.services.payloads import Payload, figure
from evalsite.reports.services.snapshots import ReportKind
from evalsite.reports.statistics.bradley_terry import Comparison, bradley_terry, win_rate
from evalsite.reports.statistics.ranking import interval_ranks, overlapping

FEWEST_SYSTEMS = 3
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
        "whole": _ranking(picked),
        "pairs": _pair_rows(picked),
        "by_criterion": [
            {"name": name, **_ranking([one for one in picked if one.owner.criterion == name])}
            for name in criteria
            if chosen(options, "criterion") in ("", name)
        ],
        "by_scenario": [
            {"name": name, **_ranking([one for one in picked if one.scenario == name])}
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


def _ranking(decisions: Sequence[Decision]) -> Payload:
    """Return rank, strength and win rate by system; or the reason why these systems have no common ranking.

    The resamples depend on the debates alone, so the same debates have the same intervals wherever they are shown.
    """
    comparisons = _comparisons(decisions)
    systems = sorted({name for one in comparisons for name in (one.first, one.second)})
    base: Payload = {
        "n": len(comparisons),
        "systems": systems,
        "rows": [],
        "groups": [],
        "reason": "",
        "win_rate": None,
    }
    if len(systems) == FEWEST_SYSTEMS - 1:
        base["win_rate"] = figure(win_rate(comparisons, systems[0]))
    if len(systems) < FEWEST_SYSTEMS:
        return base | {"reason": TOO_FEW.format(len(systems) or "none")}
    found = bradley_terry(comparisons)
    if found.reason:
        return base | {"groups": [list(group) for group in found.groups], "reason": found.reason}
    strengths = {one.system: one.estimate for one in found.strengths}
    ranks, ties = interval_ranks(strengths), overlapping(strengths)
    return base | {
        "rows": [
            {
                "system": system,
                "rank": ranks[system],
                "tied_with": list(ties[system]),
                "strength": figure(strength),
                "win_rate": figure(win_rate(comparisons, system)),
                "comparisons": strength.n,
            }
            for system, strength in strengths.items()
        ]
    }


def _pair_rows(decisions: Sequence[Decision]) -> list[Payload]:
    """Return how the debates of every two systems ended, and how often the first was better, ties half."""
    pairs: dict[tuple[str, str], list[Decision]] = {}
    for one in decisions:
        first, second = sorted((one.owner.system_a, one.owner.system_b))
        pairs.setdefault((first, second), []).append(one)
    return [_pair_row(first, second, pairs[first, second]) for first, second in sorted(pairs)]


def _pair_row(first: str, second: str, decisions: Sequence[Decision]) -> Payload:
    comparisons = _comparisons(decisions)
    results = Counter(one.preference if one.first == first else -one.preference for one in comparisons)
    return {
        "first": first,
        "second": second,
        "wins": results[1],
        "ties": results[0],
        "losses": results[-1],
        "undecided": len(decisions) - len(comparisons),
        "win_rate": figure(win_rate(comparisons, first)),
    }


def _mark(subject_id: int, options: Options) -> str:
    return f"win-rates.{debates_mark()}"  # the prefix is new whenever the payload gets another part


def _size(subject_id: int, options: Options) -> int:
    return Debate.objects.count() * 5


ARENA = ReportKind("arena", _mark, _size, compute_arena)
