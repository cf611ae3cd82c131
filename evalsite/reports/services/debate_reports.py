"""Reports of debates: their outcomes beside people's labels, and the arena of systems that they rank."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from debate.models import Debate, DebateSet
from debate.protocol.figures import (
    Cell,
    EvaluatorAgreement,
    Label,
    accuracy_difference,
    first_place_rate,
    labelled_by_both,
    standing,
    weighted_system_level,
)
from debate.protocol.metaeval import OutcomeRule, agreement, first_consensus, leave_one_out, outcome_of, tally
from debate.protocol.setups import Method, Perturbation
from debate.protocol.verdicts import VerdictReading
from evalsite.reports.selectors.debate_votes import (
    INTACT,
    DebateDecision,
    debates_version,
    decisions_of,
    people_labels,
    sets_by_id,
)
from evalsite.reports.selectors.leaderboards import Options, chosen
from evalsite.reports.selectors.results import response_lengths
from evalsite.reports.services.debates_in_view import (
    PEOPLE_RULES,
    READ,
    REFUSED,
    Evaluator,
    Verdicts,
    View,
    agreement_with_people,
    debates_in_view,
    difference_with_people,
    label_weights,
    people_rate,
    ranking,
    rate_of,
    verdicts_of,
)
from evalsite.reports.services.snapshots import ComputedReport, ReportContent, ReportKind, figure
from judging.statistics.agreement import Metric, agreement_report, fleiss_form
from judging.statistics.estimates import Estimate, Inference, TooFew, census_mean, share_of, undefined
from judging.statistics.estimators.boards import SIGNIFICANT, RankSet, counted_share, holm, mean_of_cases
from judging.statistics.estimators.debates import (
    MARGIN,
    DebateRow,
    Drop,
    Finding,
    fewest_pairs,
    pack,
    robustness,
)
from judging.statistics.estimators.judge_bias import length_control
from judging.statistics.ratings import from_long

LABELS = (1, 0, -1)
PAIRED_AT_MOST = 8
NOT_SPEAKING = "Not an agent in these debates."
NO_PEOPLE = "No debate here has a final human label yet."
UNREAD = "It gave no verdict on the debates that people labelled."
ABSTAINS = "A debate without agreement has no outcome, so only decided debates are compared."
DECIDED_BY_PEOPLE = "These outcomes are human labels, so the debate is not compared with them."


def compute_debates(subject_id: int, options: Options) -> ComputedReport[ReportContent]:
    """Return the meta-evaluation of the chosen sets of debates, or of all, with the debates behind it."""
    in_view = debates_in_view(options)
    sets, every, view, evaluators = in_view.sets, in_view.every, in_view.view, in_view.evaluators
    content: ReportContent = {
        "sets": [{"id": facts.pk, "name": facts.name, "source": facts.source} for facts in sets.values()],
        "criteria": sorted({debate.debate_set.criterion for debate in every}),
        "scenarios": sorted({debate.scenario for debate in every if debate.scenario}),
        "rule": in_view.rule.value,
        "reading": in_view.reading.value,
        "chosen": {name: chosen(options, name) for name in ("criterion", "scenario")},
        "looks": chosen(options, "looks"),
        "n": len(view.debates),
        "resolved": sum(outcome is not None for outcome in view.outcomes.values()),
        "rounds": _rounds(view),
        "people": _people(view),
        "cells": [_cell(cell, items, view, evaluators) for cell, items in view.cells.items()],
        "evaluators": [_row(evaluator, view) for evaluator in evaluators],
        "wins": _wins(view, evaluators),
        "reference": "people" if view.is_by_people else "debates",
        "pairs": _pairs(evaluators, view),
        "open_ids": [debate.pk for debate in view.debates if view.outcomes[debate.pk] is None][:200],
    }
    return ComputedReport(content, pack(_behind(view, evaluators)))


def _behind(view: View, evaluators: Sequence[Evaluator]) -> list[DebateRow]:
    """Return every debate with its outcome and labels."""
    return [
        DebateRow(
            pk=debate.pk,
            pair=debate.debate_set.pair,
            criterion=debate.debate_set.criterion,
            scenario=debate.scenario,
            agreed_in=first_consensus(debate.votes),
            outcome=view.outcomes[debate.pk],
            people=view.verdicts.people.get(debate.pk),
            labels={
                evaluator.key: evaluator.labels[debate.pk] for evaluator in evaluators if debate.pk in evaluator.labels
            },
        )
        for debate in view.debates
    ]


# --- the tables


def _rounds(view: View) -> list[ReportContent]:
    """Return how many debates first agreed in each round, and how many never did."""
    counts = Counter(first_consensus(debate.votes) for debate in view.debates)
    longest = max((len(debate.votes.rounds) - 1 for debate in view.debates), default=0)
    rows: list[ReportContent] = [{"round": number, "n": counts[number]} for number in range(longest + 1)]
    return [*rows, {"round": None, "n": counts[None]}] if view.debates else []


def _people(view: View) -> ReportContent:
    agreed = {debate.pk: outcome_of(debate.votes, OutcomeRule.UNANIMOUS) for debate in view.debates}
    waiting = [pk for pk, outcome in agreed.items() if outcome is None]
    did_agree = [float(outcome is not None) for outcome in agreed.values()]
    audited = [pk for pk in agreed if agreed[pk] is not None and pk in view.people.drawn]
    return {
        "unresolved": len(waiting),
        "agreed_share": figure(mean_of_cases(did_agree, [debate.case_id for debate in view.debates])),
        "decided": sum(pk in view.people.final for pk in waiting),
        "labelled": len(view.people.final),
        "raters": len({rater for _, rater, _ in view.people.annotations}),
        "answers": len(view.people.annotations),
        **_among_people(view.people.annotations),
        "audited": sum(pk in view.verdicts.people for pk in audited),
        "drawn": len(audited),
        "agreed_debates": figure(agreement_with_people(agreed, view.debates, view.verdicts).estimate),
    }


def _among_people(annotations: Iterable[tuple[int, str, int]]) -> ReportContent:
    """Return how far people agree on debates with two annotations or more: A, neither and B are in an order."""
    triples = [(str(item), rater, label) for item, rater, label in annotations]
    if not triples:
        nothing = figure(undefined("There are no annotations yet."))
        return {"alpha": nothing, "fleiss": nothing, "fleiss_form": ""}
    report = agreement_report(from_long(triples, labels=LABELS).nameless(), metrics=(Metric.ORDINAL,))
    return {
        "alpha": figure(dict(report.alpha)[Metric.ORDINAL]),
        "fleiss": figure(report.fleiss),
        "fleiss_form": fleiss_form(report.summary.answers_per_item),
    }


def _cell(cell: Cell, items: Sequence[int], view: View, evaluators: Sequence[Evaluator]) -> ReportContent:
    pair, criterion, scenario = cell
    debates = {debate.pk: debate for debate in view.debates}
    inside = set(items)
    annotations = [row for row in view.people.annotations if row[0] in inside]
    counts = tally(view.outcomes[item] for item in items)
    return {
        "pair": pair,
        "criterion": criterion,
        "scenario": scenario,
        "n": len(items),
        "resolved": sum(view.outcomes[item] is not None for item in items),
        "open": sum(first_consensus(debates[item].votes) is None for item in items),
        "a": counts.a,
        "tie": counts.tie,
        "b": counts.b,
        "mode": counts.mode,
        "labelled": sum(item in view.verdicts.people for item in items),
        **_among_people(annotations),
        "evaluators": {evaluator.key: _in_cell(evaluator.labels, view.outcomes, items) for evaluator in evaluators},
        "people": {evaluator.key: _people_in_cell(evaluator.labels, items, view, debates) for evaluator in evaluators},
    }


def _in_cell(labels: Mapping[int, Label], outcomes: Mapping[int, Label], items: Sequence[int]) -> ReportContent | None:
    labelled = [item for item in items if item in labels]
    if not labelled:
        return None
    compared = agreement([labels[item] for item in labelled], [outcomes.get(item) for item in labelled])
    counts = {"matches": compared.matches, "pairs": compared.n}
    both = labelled_by_both(items, labels, outcomes)
    return {
        "example": figure(share_of(compared.matches, compared.n_with_outcome)) | counts,
        "system": both.system_level,
        "direction": both.same_direction,
    }


def _people_in_cell(
    labels: Mapping[int, Label], items: Sequence[int], view: View, debates: Mapping[int, DebateDecision]
) -> ReportContent | None:
    """Return agreement with people in one cell, routed and audited debates weighted, and the system level."""
    labelled = [item for item in items if item in labels]
    if not labelled:
        return None
    agreement = agreement_with_people(labels, [debates[item] for item in labelled], view.verdicts).estimate
    both = [item for item in labelled if labels[item] is not None and item in view.verdicts.people]
    system = weighted_system_level(labels, view.verdicts.people, label_weights(labelled, view))
    counts = {"matches": sum(labels[item] == view.verdicts.people[item] for item in both), "pairs": len(labelled)}
    return {"example": figure(agreement) | counts, "system": system, "direction": None}


def _people_system(evaluator: Evaluator, view: View) -> Estimate:
    """Return the share of cells in which evaluator and people have the same most frequent label."""
    levels = [
        weighted_system_level(
            evaluator.labels, view.verdicts.people, label_weights([i for i in items if i in evaluator.labels], view)
        )
        for items in view.cells.values()
    ]
    known_levels = [level for level in levels if level is not None]
    return (
        counted_share(sum(known_levels), len(known_levels))
        if known_levels
        else undefined(UNREAD if view.verdicts.people else NO_PEOPLE)
    )


def _row(evaluator: Evaluator, view: View) -> ReportContent:
    against = _against_outcomes(evaluator, view)
    debates = [debate for debate in view.debates if evaluator.name in debate.votes.rounds[0]]
    is_agent = evaluator.kind == "independent" and bool(debates)
    others = leave_one_out([debate.votes for debate in debates], evaluator.name) if is_agent else None
    matches = sum(
        label is not None and label == view.outcomes[item] for item, label in evaluator.labels.items()
    )  # outcomes that are None agree with nothing
    counts = tally(evaluator.labels.values())
    return {
        "key": evaluator.key,
        "name": evaluator.name,
        "kind": evaluator.kind,
        "asked": len(evaluator.labels),
        "missing": sum(label is None for label in evaluator.labels.values()),
        "matches": matches,
        "a": counts.a,
        "tie": counts.tie,
        "b": counts.b,
        "example": figure(against.example),
        "of_all": figure(against.of_all),
        "system": figure(against.system),
        "direction": figure(against.direction),
        "people": figure(_with_people(evaluator, view)),
        "people_decided": figure(
            agreement_with_people(evaluator.labels, view.debates, view.verdicts, decided_only=True).estimate
        ),
        "people_system": figure(_people_system(evaluator, view)),
        "leave_one_out": figure(
            undefined(NOT_SPEAKING) if others is None else share_of(others.matches, others.n_with_outcome)
        ),
        "first": figure(first_place_rate(evaluator.labels, evaluator.orders, view.cases)),
        "statements": evaluator.statements,
        "refused": evaluator.refused,
        "unread": evaluator.unread,
        "disagreements": evaluator.disagreements,
        "calls": evaluator.calls if evaluator.kind != "scores" else None,
        "cost": None if evaluator.cost is None else float(evaluator.cost),
        "calls_per_decision": evaluator.calls / evaluator.decisions if evaluator.decisions else None,
        "cost_per_decision": evaluator.cost_per_decision,
        "agreements_per_dollar": matches / float(evaluator.cost) if evaluator.cost else None,
    }


def _against_outcomes(evaluator: Evaluator, view: View) -> EvaluatorAgreement:
    """Return how labels compare with the outcomes; a debate that people decided is not compared with those people."""
    agreement = standing(evaluator.labels, view.outcomes, view.cells, view.cases)
    if view.verdicts.rule not in PEOPLE_RULES:
        return agreement
    if evaluator.kind == "debate":
        nothing = undefined(DECIDED_BY_PEOPLE)
        return EvaluatorAgreement(nothing, nothing, nothing, nothing, agreement.missing)
    if view.verdicts.rule is OutcomeRule.HUMAN:
        people = agreement_with_people(evaluator.labels, view.debates, view.verdicts).estimate
        return replace(agreement, example=people, of_all=people, system=_people_system(evaluator, view))
    return agreement


def _with_people(evaluator: Evaluator, view: View) -> Estimate:
    if not view.verdicts.people:
        return undefined(NO_PEOPLE)
    if evaluator.kind == "debate":
        return undefined(ABSTAINS)
    return agreement_with_people(evaluator.labels, view.debates, view.verdicts).estimate


def _wins(view: View, evaluators: Sequence[Evaluator]) -> list[ReportContent]:
    """Return A's win rate per pair of systems: by the outcomes, by people and by each evaluator."""
    debates = {debate.pk: debate for debate in view.debates}
    pairs: dict[str, list[int]] = defaultdict(list)
    for (pair, _, _), items in view.cells.items():
        pairs[pair] += items
    return [
        {
            "pair": pair,
            "people": figure(people_rate([debates[item] for item in items], view.verdicts)),
            "evaluators": {
                evaluator.key: figure(_rate([debates[item] for item in items], evaluator.labels))
                for evaluator in evaluators
            },
        }
        for pair, items in pairs.items()
    ]


def _rate(debates: Sequence[DebateDecision], labels: Mapping[int, Label]) -> Estimate:
    """Return A's win rate by an evaluator's labels, ties half; the unit is the case."""
    points_by_case = [
        (debate.case_id, (1 + label) / 2) for debate in debates if (label := labels.get(debate.pk)) is not None
    ]
    return mean_of_cases([points for _, points in points_by_case], [case for case, _ in points_by_case])


def _pairs(evaluators: Sequence[Evaluator], view: View) -> list[ReportContent]:
    """Return paired differences in agreement with people, where they have labelled enough, else with the outcomes.

    The debate takes part only against people, and only over the debates in which it came to an end itself.
    """
    compared = [evaluator for evaluator in evaluators if evaluator.kind != "debate" or view.is_by_people]
    by_reach = sorted(compared, key=lambda evaluator: -len(evaluator.labels))[:PAIRED_AT_MOST]
    differences = [(first, second, _difference(first, second, view)) for first, second in combinations(by_reach, 2)]
    adjusted = iter(holm([difference.p_value for _, _, difference in differences if isinstance(difference, Inference)]))
    rows = []
    for first, second, difference in differences:
        p_value = next(adjusted) if isinstance(difference, Inference) else None
        each = first.cost_per_decision, second.cost_per_decision
        rows.append(
            {
                "first": first.name,
                "second": second.name,
                "keys": [first.key, second.key],
                "difference": figure(difference.estimate),
                "p_value": difference.p_value if isinstance(difference, Inference) else None,
                "holm_p": p_value,
                "separated": p_value is not None and p_value <= SIGNIFICANT,
                "cost_difference": None if each[0] is None or each[1] is None else each[0] - each[1],
            }
        )
    return rows


def _difference(first: Evaluator, second: Evaluator, view: View) -> Inference | TooFew:
    if view.is_by_people:
        has_debate = "debate" in (first.kind, second.kind)
        return difference_with_people(first.labels, second.labels, view.debates, view.verdicts, decided_only=has_debate)
    return accuracy_difference(first.labels, second.labels, view.outcomes, view.cases)


def _size(subject_id: int, options: Options) -> int:
    debates = Debate.objects.filter(debate_set__in=sets) if (sets := options.get("sets")) else Debate.objects.all()
    return debates.count() * 5  # a debate has about five statements


DEBATES: ReportKind[ReportContent] = ReportKind("debates", lambda *_: debates_version(), _size, compute_debates)


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
    return base | {"rows": [_arena_row(*row, decisions, verdicts) for row in result.systems]}


def _arena_row(
    name: str, strength: Estimate, ranks: RankSet, decisions: Sequence[DebateDecision], verdicts: Verdicts
) -> ReportContent:
    return {
        "system": name,
        "ranks": [ranks.first, ranks.last],
        "strength": figure(strength),
        "win_rate": figure(rate_of(name, decisions, verdicts)),
        "comparisons": strength.n,
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
    _, equal_length, effect = length_control(wins, longer, cases)
    return {"equal_length": figure(equal_length), "length_effect": figure(effect)}


def _pair_row(first: str, second: str, decisions: Sequence[DebateDecision], verdicts: Verdicts) -> ReportContent:
    results: Counter[int] = Counter()
    outcomes = verdicts.people if verdicts.rule is OutcomeRule.HUMAN else verdicts.outcomes
    for decision in decisions:
        outcome = outcomes.get(decision.pk)
        if outcome is not None:
            results[outcome if decision.debate_set.system_a == first else -outcome] += 1
    return {
        "first": first,
        "second": second,
        "wins": results[1],
        "ties": results[0],
        "losses": results[-1],
        "undecided": _undecided(decisions, verdicts),
        "win_rate": figure(rate_of(first, decisions, verdicts)),
    }


ARENA = ReportKind("arena", lambda *_: debates_version(), _size, compute_arena)


Subject = tuple[int, int]
NOTHING_COMPARED = "No pair has a verdict under both texts."
NO_OUTCOME = "No pair has a reference outcome."
WORDS = {
    Perturbation.NONE: "original text",
    Perturbation.SHORTENED: "shortened",
    Perturbation.GIBBERISH: "letters replaced by symbols",
    Perturbation.SHUFFLED: "words shuffled",
    Perturbation.FLIPPED: "words written backwards",
    Perturbation.MASKED: "letters masked",
}


@dataclass(slots=True)
class Condition:
    """One judge under one text of the criterion."""

    labels: dict[Subject, Label] = field(default_factory=dict)
    statements: int = 0
    refused: int = 0
    unread: int = 0


def compute_robustness(experiment_id: int, options: Options) -> ReportContent:
    """Return agreement with the outcomes, change against the intact text, and refusals by judge and perturbation."""
    sets = sets_by_id(DebateSet.objects.filter(experiment=experiment_id).values_list("pk", flat=True))
    decisions = decisions_of(sets)
    conditions = _conditions(decisions)
    judges = sorted({judge for judge, _ in conditions})
    reference, source = _reference(decisions)
    return {
        "perturbations": [{"name": perturbation.value, "words": WORDS[perturbation]} for perturbation in Perturbation],
        "reference": source,
        "outcomes": len(reference),
        "n": len({decision.responses for decision in decisions}),
        "margin": MARGIN,
        "fewest": fewest_pairs(len(Perturbation) - 1),
        "judges": [_judge_row(judge, conditions, reference) for judge in judges],
    }


def _conditions(decisions: Sequence[DebateDecision]) -> dict[tuple[str, Perturbation], Condition]:
    conditions: dict[tuple[str, Perturbation], Condition] = {}
    for decision in decisions:
        perturbation = Perturbation(decision.debate_set.perturbation or Perturbation.NONE)
        for (name, vote), agent in zip(decision.votes.by_system(0).items(), decision.agents, strict=True):
            condition = conditions.setdefault((name, perturbation), Condition())
            condition.labels[decision.responses] = vote
            condition.statements += len(agent.statuses)
            condition.refused += sum(status in REFUSED for status in agent.statuses)
            condition.unread += sum(status not in READ and status not in REFUSED for status in agent.statuses)
    return conditions


def _reference(decisions: Sequence[DebateDecision]) -> tuple[dict[Subject, int], str]:
    """Return the labels that judges are compared with, and their source: people, else the debates of one set.

    Of several sets of debates over these pairs the one with most outcomes counts, so that no set of other agents
    overwrites it. Where there is nothing, only the change against the intact text can be told.
    """
    if not decisions:
        return {}, ""
    debate_set = decisions[0].debate_set
    debates = {
        pk: facts
        for pk, facts in sets_by_id(method=Method.DEBATE).items()
        if (facts.system_a, facts.system_b) == (debate_set.system_a, debate_set.system_b)
        and facts.perturbation in INTACT
        and facts.criterion_key == debate_set.criterion_key
    }
    subjects = {decision.responses for decision in decisions}
    decided = [decision for decision in decisions_of(debates) if decision.responses in subjects]
    people = people_labels([decision.pk for decision in decided]).final
    labelled = {decision.responses: people[decision.pk] for decision in decided if decision.pk in people}
    outcomes: dict[int, dict[Subject, int]] = {}
    for decision in decided:
        outcome = outcome_of(decision.votes, OutcomeRule.UNANIMOUS)
        if outcome is not None:
            outcomes.setdefault(decision.debate_set.pk, {})[decision.responses] = outcome
    if not outcomes:
        return labelled, "human labels" if labelled else ""
    chosen_set = min(outcomes, key=lambda pk: (-len(outcomes[pk]), pk))
    agreed = f"debates of “{debates[chosen_set].name}” in which all agents agreed"
    return outcomes[chosen_set] | labelled, f"human labels, and {agreed}" if labelled else agreed


def _judge_row(
    judge: str, conditions: Mapping[tuple[str, Perturbation], Condition], reference: Mapping[Subject, int]
) -> ReportContent:
    intact = conditions.get((judge, Perturbation.NONE), Condition())
    by_perturbation = {
        perturbation: conditions.get((judge, perturbation), Condition()) for perturbation in Perturbation
    }
    agreement = {perturbation: _agreement(condition, reference) for perturbation, condition in by_perturbation.items()}
    floor = _largest_share(intact, reference)
    low = agreement[Perturbation.NONE].low
    drops = _drops(intact, by_perturbation, reference, can_hold=low is not None and low > floor)
    verdicts = {drop.verdict for drop in drops.values()}
    return {
        "judge": judge,
        "floor": floor,
        "cells": [
            _cell_of(
                perturbation, condition, agreement[perturbation], _same(intact, condition), drops.get(perturbation)
            )
            for perturbation, condition in by_perturbation.items()
        ],
        "verdict": _overall(verdicts, tested=len(drops)).value,
        "lost": [WORDS[perturbation] for perturbation, drop in drops.items() if drop.verdict is Finding.FALLS],
    }


def _agreement(condition: Condition, reference: Mapping[Subject, int]) -> Estimate:
    """Return the share of pairs with an outcome on which the judge says the same; a missing verdict does not."""
    values = [float(label == reference[subject]) for subject, label in condition.labels.items() if subject in reference]
    return census_mean(values) if values else undefined(NO_OUTCOME)


def _same(intact: Condition, perturbed: Condition) -> Estimate:
    """Return how often the verdict is that under the intact text."""
    both = [(intact.labels.get(subject), label) for subject, label in perturbed.labels.items()]
    values = [float(before == after) for before, after in both if before is not None and after is not None]
    return census_mean(values) if values else undefined(NOTHING_COMPARED)


def _largest_share(intact: Condition, reference: Mapping[Subject, int]) -> float:
    """Return the agreement of naming the commonest label throughout; 1 without any."""
    labels = [reference[subject] for subject in intact.labels if subject in reference]
    return max((labels.count(label) for label in set(labels)), default=1) / max(len(labels), 1)


def _drops(
    intact: Condition,
    by_perturbation: Mapping[Perturbation, Condition],
    reference: Mapping[Subject, int],
    *,
    can_hold: bool,
) -> dict[Perturbation, Drop]:
    """Return the fall in agreement under each perturbation with two pairs or more, tested with Holm's correction.

    A judge whose intact agreement is not above that of naming the commonest label cannot be said to hold.
    """
    before: dict[Perturbation, list[float]] = {}
    after: dict[Perturbation, list[float]] = {}
    for perturbation, condition in by_perturbation.items():
        pairs = [subject for subject in condition.labels if subject in intact.labels and subject in reference]
        if perturbation is not Perturbation.NONE and len(pairs) >= 2:
            before[perturbation] = [float(intact.labels[subject] == reference[subject]) for subject in pairs]
            after[perturbation] = [float(condition.labels[subject] == reference[subject]) for subject in pairs]
    drops = robustness(list(before.values()), list(after.values()), can_hold=can_hold)
    return dict(zip(before, drops, strict=True))


def _overall(verdicts: set[Finding], *, tested: int) -> Finding:
    """Return what can be said of all perturbations together."""
    if Finding.FALLS in verdicts:
        return Finding.FALLS
    if not tested or Finding.CANNOT_TELL in verdicts:
        return Finding.CANNOT_TELL
    return Finding.HOLDS


def _cell_of(
    perturbation: Perturbation, condition: Condition, agreement: Estimate, same: Estimate, drop: Drop | None
) -> ReportContent:
    fall = undefined(NO_OUTCOME) if drop is None else Estimate(drop.drop, drop.low, drop.high, drop.n)
    return {
        "perturbation": perturbation.value,
        "words": WORDS[perturbation],
        "n": len(condition.labels),
        "missing": sum(label is None for label in condition.labels.values()),
        "refused": condition.refused,
        "unread": condition.unread,
        "agreement": figure(agreement),
        "same": figure(same),
        "drop": figure(fall),
        "p_holds": drop.p_holds if drop else None,
        "p_falls": drop.p_falls if drop else None,
        "verdict": drop.verdict.value if drop else None,
    }


ROBUSTNESS = ReportKind(
    "robustness",
    lambda *_: debates_version(),
    lambda experiment_id, _: Debate.objects.filter(debate_set__experiment=experiment_id).count() * 5,
    compute_robustness,
)
