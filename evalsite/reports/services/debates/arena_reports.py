"""A ranking of systems from their debates under one criterion: by the debates' outcomes or by people's word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from debate.models import Debate, DebateSet
from debate.protocol.meta.metaeval import OutcomeRule
from debate.protocol.setups import Method
from debate.protocol.verdicts import VerdictReading
from evalsite.reports.selectors.debate_votes import (
    INTACT,
    DebateDecision,
    debates_version,
    decisions_of,
    people_labels,
    sets_by_id,
)
from evalsite.reports.selectors.options import Options, chosen
from evalsite.reports.selectors.results.response_facts import response_lengths
from evalsite.reports.services.debates.debate_people import Verdicts, ranking, rate_of, verdicts_of
from evalsite.reports.services.report_content import ReportContent, figure
from evalsite.reports.services.snapshots import ReportKind
from judging.statistics.estimates import undefined
from judging.statistics.estimators.debates import RankedSystem
from judging.statistics.estimators.length_control import length_control

MIN_SYSTEMS = 3
NO_CONTROL = "Only outcomes of debates are controlled for length, since human labels are not a uniform sample."
TOO_FEW = "A ranking needs debates of three or more systems; there are {}."


def compute_arena(subject_id: int, options: Options) -> ReportContent:
    """Return Bradley-Terry strengths from the debates of the chosen experiment or sets under one criterion.

    Without a chosen criterion it is the one with most debates. Options: experiment, sets, criterion, scenario, rule
    and reading.
    """
    sets = sets_by_id(_set_ids(options), method=Method.DEBATE)
    sets = {pk: facts for pk, facts in sets.items() if facts.perturbation in INTACT}
    reading = VerdictReading(chosen(options, "reading") or VerdictReading.STRICT)
    rule = OutcomeRule(chosen(options, "rule") or OutcomeRule.UNANIMOUS)
    every = decisions_of(sets, reading=reading)
    counts = Counter(decision.debate_set.criterion for decision in every)
    criteria = sorted(counts)
    criterion = chosen(options, "criterion") or next(iter(sorted(criteria, key=lambda name: (-counts[name], name))), "")
    of_criterion = [decision for decision in every if decision.debate_set.criterion == criterion]
    scenarios = sorted({decision.scenario for decision in of_criterion if decision.scenario})
    picked = [decision for decision in of_criterion if chosen(options, "scenario") in ("", decision.scenario)]
    people = people_labels([decision.pk for decision in picked])
    verdicts = verdicts_of(picked, people, rule, looks=bool(chosen(options, "looks")))
    return {
        "criteria": criteria,
        "criterion": criterion,
        "scenarios": scenarios,
        "rule": rule.value,
        "reading": reading.value,
        "chosen": {"criterion": criterion, "scenario": chosen(options, "scenario")},
        "looks": chosen(options, "looks"),
        "debates": len(picked),
        "undecided": _undecided(picked, verdicts),
        "audited": sum(decision.pk in verdicts.people and decision.pk not in verdicts.open for decision in picked),
        "whole": _ranking(picked, verdicts),
        "pairs": _pair_rows(picked, verdicts, response_lengths(pk for decision in picked for pk in decision.responses)),
        "by_scenario": [
            {"name": name, **_ranking([decision for decision in picked if decision.scenario == name], verdicts)}
            for name in scenarios
            if chosen(options, "scenario") in ("", name)
        ],
    }


def _set_ids(options: Options) -> list[int] | None:
    experiment = chosen(options, "experiment")
    if experiment:
        return list(DebateSet.objects.filter(experiment=int(experiment)).values_list("pk", flat=True))
    return [int(pk) for pk in options.get("sets", [])] or None


def _undecided(decisions: Sequence[DebateDecision], verdicts: Verdicts) -> int:
    """Return how many debates count for nothing: without an outcome, or waiting for the people who are to decide."""
    if verdicts.rule is OutcomeRule.HUMAN:
        return sum(decision.pk in verdicts.open and decision.pk not in verdicts.people for decision in decisions)
    return sum(verdicts.outcomes[decision.pk] is None for decision in decisions)


def _ranking(decisions: Sequence[DebateDecision], verdicts: Verdicts) -> ReportContent:
    """Return ranks, strength and win rate by system; or the reason why these systems have no common ranking."""
    systems = sorted(
        {name for decision in decisions for name in (decision.debate_set.system_a, decision.debate_set.system_b)}
    )
    n = len(decisions) - _undecided(decisions, verdicts)
    base: ReportContent = {"n": n, "systems": systems, "rows": [], "groups": [], "reason": "", "win_rate": None}
    if len(systems) == MIN_SYSTEMS - 1:
        base["win_rate"] = figure(rate_of(systems[0], decisions, verdicts))
    if len(systems) < MIN_SYSTEMS:
        return base | {"reason": TOO_FEW.format(len(systems) or "none")}
    result = ranking(decisions, verdicts)
    if result.reason:
        return base | {"groups": [list(group) for group in result.groups], "reason": result.reason}
    return base | {"rows": [_row(row, decisions, verdicts) for row in result.systems]}


def _row(row: RankedSystem, decisions: Sequence[DebateDecision], verdicts: Verdicts) -> ReportContent:
    return {
        "system": row.name,
        "ranks": [row.ranks.first, row.ranks.last],
        "strength": figure(row.strength),
        "win_rate": figure(rate_of(row.name, decisions, verdicts)),
        "comparisons": row.strength.n,
    }


def _pair_rows(
    decisions: Sequence[DebateDecision], verdicts: Verdicts, lengths: Mapping[int, int]
) -> list[ReportContent]:
    """Return how the debates of every two systems ended, and how often the first was better, ties half."""
    pairs: dict[tuple[str, str], list[DebateDecision]] = {}
    for decision in decisions:
        first, second = sorted((decision.debate_set.system_a, decision.debate_set.system_b))
        pairs.setdefault((first, second), []).append(decision)
    return [
        _pair_row(first, second, pairs[first, second], verdicts)
        | _length_control(first, pairs[first, second], verdicts, lengths)
        for first, second in sorted(pairs)
    ]


def _length_control(
    first: str, decisions: Sequence[DebateDecision], verdicts: Verdicts, lengths: Mapping[int, int]
) -> ReportContent:
    """Return the first system's win rate at equal length, and what length does; by the outcomes of debates alone."""
    if verdicts.rule is OutcomeRule.HUMAN:
        nothing = figure(undefined(NO_CONTROL))
        return {"equal_length": nothing, "length_effect": nothing}
    wins, longer, cases = list[float](), list[float](), list[int]()
    for decision in decisions:
        outcome = verdicts.outcomes[decision.pk]
        if outcome is not None:
            sign = 1 if decision.debate_set.system_a == first else -1
            wins.append((1 + sign * outcome) / 2)
            longer.append(sign * (lengths[decision.responses[0]] - lengths[decision.responses[1]]))
            cases.append(decision.case_id)
    control = length_control(wins, longer, cases)
    return {"equal_length": figure(control.equal_length), "length_effect": figure(control.effect)}


def _pair_row(first: str, second: str, decisions: Sequence[DebateDecision], verdicts: Verdicts) -> ReportContent:
    results: Counter[int] = Counter()
    for decision in decisions:
        outcome = verdicts.outcomes[decision.pk]
        if outcome is not None:
            results[outcome if decision.debate_set.system_a == first else -outcome] += 1
    return {
        "first": first,
        "second": second,
        "wins": results[1],
        "ties": results[0],
        "losses": results[-1],
        "undecided": len(decisions) - results.total(),
        "win_rate": figure(rate_of(first, decisions, verdicts)),
    }


def _data_version(subject_id: int, options: Options) -> str:
    return debates_version()


def _size(subject_id: int, options: Options) -> int:
    return Debate.objects.count() * 5


ARENA = ReportKind("arena", _data_version, _size, compute_arena)
