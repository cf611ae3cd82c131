"""Meta-evaluation of debates: how they end, and how every other evaluator compares with them and with people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from debate.models import Debate
from debate.protocol.meta.evaluators import (
    Cell,
    EvaluatorAgreement,
    Label,
    accuracy_difference,
    cell_agreement,
    first_place_rate,
    labelled_by_both,
    standing,
    weighted_system_level,
)
from debate.protocol.meta.metaeval import OutcomeRule, first_consensus, leave_one_out, outcome_of, tally
from evalsite.reports.selectors.debate_votes import (
    DebateDecision,
    debates_version,
)
from evalsite.reports.selectors.options import Options, chosen
from evalsite.reports.services.debates.debate_people import (
    PEOPLE_RULES,
    agreement_with_people,
    difference_with_people,
    people_rate,
)
from evalsite.reports.services.debates.debates_in_view import Evaluator, View, debates_in_view, label_weights
from evalsite.reports.services.report_content import ReportContent, figure
from evalsite.reports.services.snapshots import ComputedReport, ReportKind
from judging.statistics.coefficients.fleiss import fleiss_kappa
from judging.statistics.coefficients.ratings import from_long
from judging.statistics.debate_rows import DebateRow, pack
from judging.statistics.estimates import Estimate, undefined
from judging.statistics.estimators.differences import SIGNIFICANT, case_means, holm
from judging.statistics.estimators.shares import counted_share
from judging.statistics.estimators.strata import Inference, TooFew, census_mean
from judging.statistics.intervals import share_of

LABELS = (1, 0, -1)
PAIRED_AT_MOST = 8
NOT_SPEAKING = "Not an agent in these debates."
NO_PEOPLE = "No debate here has a final human label yet."
ABSTAINS = "A debate without agreement has no outcome, so only decided debates are compared."
DECIDED_BY_PEOPLE = "These outcomes are human labels, so the debate is not compared with them."


def compute_debates(subject_id: int, options: Options) -> ComputedReport:
    """Return the meta-evaluation of the chosen sets of debates, or of all, with the debates behind it."""
    found = debates_in_view(options)
    sets, every, view, evaluators = found.sets, found.every, found.view, found.evaluators
    content: ReportContent = {
        "sets": [{"id": one.pk, "name": one.name, "source": one.source} for one in sets.values()],
        "criteria": sorted({one.owner.criterion for one in every}),
        "scenarios": sorted({one.scenario for one in every if one.scenario}),
        "rule": found.rule.value,
        "reading": found.reading.value,
        "chosen": {name: chosen(options, name) for name in ("criterion", "scenario")},
        "looks": chosen(options, "looks"),
        "n": len(view.debates),
        "resolved": sum(outcome is not None for outcome in view.outcomes.values()),
        "rounds": _rounds(view),
        "people": _people(view),
        "cells": [_cell(cell, items, view, evaluators) for cell, items in view.cells.items()],
        "evaluators": [_row(one, view) for one in evaluators],
        "wins": _wins(view, evaluators),
        "reference": "people" if view.is_by_people else "debates",
        "pairs": _pairs(evaluators, view),
        "open_ids": [one.pk for one in view.debates if view.outcomes[one.pk] is None][:200],
    }
    return ComputedReport(content, pack(_behind(view, evaluators)))


def _behind(view: View, evaluators: Sequence[Evaluator]) -> list[DebateRow]:
    """Return every debate with what was said of it."""
    return [
        DebateRow(
            pk=one.pk,
            pair=one.owner.pair,
            criterion=one.owner.criterion,
            scenario=one.scenario,
            agreed_in=first_consensus(one.votes),
            outcome=view.outcomes[one.pk],
            people=view.said.people.get(one.pk),
            labels={said.key: said.labels[one.pk] for said in evaluators if one.pk in said.labels},
        )
        for one in view.debates
    ]


# --- the tables


def _rounds(view: View) -> list[ReportContent]:
    """Return how many debates first agreed in each round, and how many never did."""
    counts = Counter(first_consensus(one.votes) for one in view.debates)
    last = max((number for number in counts if number is not None), default=0)
    held = max((len(one.votes.rounds) - 1 for one in view.debates), default=0)
    rows: list[ReportContent] = [{"round": number, "n": counts[number]} for number in range(max(last, held) + 1)]
    return [*rows, {"round": None, "n": counts[None]}] if view.debates else []


def _people(view: View) -> ReportContent:
    waiting = [one.pk for one in view.debates if outcome_of(one.votes, OutcomeRule.UNANIMOUS) is None]
    agreed = {one.pk: outcome_of(one.votes, OutcomeRule.UNANIMOUS) for one in view.debates}
    audited = [pk for pk in agreed if agreed[pk] is not None and pk in view.people.drawn]
    return {
        "sent": len(waiting),
        "agreed_share": figure(_agreed_share(view, agreed)),
        "decided": sum(pk in view.people.final for pk in waiting),
        "labelled": len(view.people.final),
        "raters": len({rater for _, rater, _ in view.people.given}),
        "answers": len(view.people.given),
        "fleiss": figure(_fleiss(list(view.people.given))),
        "audited": sum(pk in view.said.people for pk in audited),
        "drawn": len(audited),
        "agreed_debates": figure(agreement_with_people(agreed, view.debates, view.said).estimate),
    }


def _agreed_share(view: View, agreed: Mapping[int, Label]) -> Estimate:
    """Return the share of debates that came to an agreement; the unit is the case."""
    values = [float(agreed[one.pk] is not None) for one in view.debates]
    return census_mean(list(case_means(values, [one.case_id for one in view.debates]).values()))


def _fleiss(given: Sequence[tuple[int, str, int]]) -> Estimate:
    """Return Fleiss' kappa of the debates with two answers or more; what one person alone said is left out."""
    if not given:
        return undefined("There are no annotations yet.")
    triples = [(str(item), rater, label) for item, rater, label in given]
    return fleiss_kappa(from_long(triples, labels=LABELS).with_pairs())


def _cell(cell: Cell, items: Sequence[int], view: View, evaluators: Sequence[Evaluator]) -> ReportContent:
    pair, criterion, scenario = cell
    debates = {one.pk: one for one in view.debates}
    inside = set(items)
    given = [row for row in view.people.given if row[0] in inside]
    found = tally(view.outcomes[item] for item in items)
    return {
        "pair": pair,
        "criterion": criterion,
        "scenario": scenario,
        "n": len(items),
        "resolved": sum(view.outcomes[item] is not None for item in items),
        "open": sum(first_consensus(debates[item].votes) is None for item in items),
        "a": found.a,
        "tie": found.tie,
        "b": found.b,
        "mode": found.mode,
        "labelled": sum(item in view.said.people for item in items),
        "fleiss": figure(_fleiss(given)),
        "evaluators": {one.key: _in_cell(one.labels, view.outcomes, items) for one in evaluators},
        "people": {one.key: _people_in_cell(one.labels, items, view, debates) for one in evaluators},
    }


def _in_cell(labels: Mapping[int, Label], outcomes: Mapping[int, Label], items: Sequence[int]) -> ReportContent | None:
    found = cell_agreement(items, labels, outcomes)
    if found is None:
        return None
    counts = {"matches": found.matches, "pairs": found.n}
    both = labelled_by_both(items, labels, outcomes)
    return {
        "example": figure(share_of(found.matches, found.n_with_outcome)) | counts,
        "system": both.system_level,
        "direction": both.same_direction,
    }


def _people_in_cell(
    labels: Mapping[int, Label], items: Sequence[int], view: View, debates: Mapping[int, DebateDecision]
) -> ReportContent | None:
    """Return agreement with people in one cell, routed and audited debates weighted, and the system level."""
    asked = [item for item in items if item in labels]
    if not asked:
        return None
    found = agreement_with_people(labels, [debates[item] for item in asked], view.said).estimate
    both = [item for item in asked if labels[item] is not None and item in view.said.people]
    system = weighted_system_level(labels, view.said.people, label_weights(asked, view))
    counts = {"matches": sum(labels[item] == view.said.people[item] for item in both), "pairs": len(asked)}
    return {"example": figure(found) | counts, "system": system, "direction": None}


def _people_system(one: Evaluator, view: View) -> Estimate:
    """Return the share of cells in which evaluator and people have the same most frequent label."""
    levels = [
        weighted_system_level(one.labels, view.said.people, label_weights([i for i in items if i in one.labels], view))
        for items in view.cells.values()
    ]
    known = [level for level in levels if level is not None]
    return counted_share(sum(known), len(known)) if known else undefined(NO_PEOPLE)


def _row(one: Evaluator, view: View) -> ReportContent:
    against = _against_outcomes(one, view)
    speaking = [debate for debate in view.debates if one.name in debate.votes.rounds[0]]
    is_agent = one.kind == "independent" and bool(speaking)
    others = leave_one_out([debate.votes for debate in speaking], one.name) if is_agent else None
    decided = sum(label is not None for label in one.labels.values())
    matches = sum(
        label is not None and label == view.outcomes[item] for item, label in one.labels.items()
    )  # outcomes that are None agree with nothing
    given = tally(one.labels.values())
    return {
        "key": one.key,
        "name": one.name,
        "kind": one.kind,
        "asked": len(one.labels),
        "missing": sum(label is None for label in one.labels.values()),
        "matches": matches,
        "a": given.a,
        "tie": given.tie,
        "b": given.b,
        "example": figure(against.example),
        "of_all": figure(against.of_all),
        "system": figure(against.system),
        "direction": figure(against.direction),
        "people": figure(_with_people(one, view)),
        "people_decided": figure(
            agreement_with_people(one.labels, view.debates, view.said, decided_only=True).estimate
        ),
        "people_system": figure(_people_system(one, view)),
        "leave_one_out": figure(
            undefined(NOT_SPEAKING) if others is None else share_of(others.matches, others.n_with_outcome)
        ),
        "first": figure(first_place_rate(one.labels, one.orders, view.cases)),
        "statements": one.statements,
        "refused": one.refused,
        "unread": one.unread,
        "disagreements": one.disagreements,
        "calls": one.calls if one.kind != "scores" else None,
        "cost": None if one.cost is None else float(one.cost),
        "calls_per_decision": one.calls / decided if decided and one.kind != "scores" else None,
        "cost_per_decision": None if one.cost is None or not decided else float(one.cost) / decided,
        "agreements_per_dollar": matches / float(one.cost) if one.cost else None,
    }


def _against_outcomes(one: Evaluator, view: View) -> EvaluatorAgreement:
    """Return how labels compare with the outcomes; a debate that people decided is not compared with those people."""
    found = standing(one.labels, view.outcomes, view.cells, view.cases)
    if view.said.rule not in PEOPLE_RULES:
        return found
    if one.kind == "debate":
        nothing = undefined(DECIDED_BY_PEOPLE)
        return EvaluatorAgreement(nothing, nothing, nothing, nothing, found.missing)
    if view.said.rule is OutcomeRule.HUMAN:
        people = agreement_with_people(one.labels, view.debates, view.said).estimate
        return replace(found, example=people, of_all=people, system=_people_system(one, view))
    return found


def _with_people(one: Evaluator, view: View) -> Estimate:
    if not view.said.people:
        return undefined(NO_PEOPLE)
    if one.kind == "debate":
        return undefined(ABSTAINS)
    return agreement_with_people(one.labels, view.debates, view.said).estimate


def _wins(view: View, evaluators: Sequence[Evaluator]) -> list[ReportContent]:
    """Return A's win rate per pair of systems: by the outcomes, by people and by each evaluator."""
    debates = {one.pk: one for one in view.debates}
    pairs: dict[str, list[int]] = defaultdict(list)
    for (pair, _, _), items in view.cells.items():
        pairs[pair] += items
    return [
        {
            "pair": pair,
            "people": figure(people_rate([debates[item] for item in items], view.said)),
            "evaluators": {one.key: figure(_rate([debates[item] for item in items], one.labels)) for one in evaluators},
        }
        for pair, items in pairs.items()
    ]


def _rate(debates: Sequence[DebateDecision], labels: Mapping[int, Label]) -> Estimate:
    """Return A's win rate by an evaluator's labels, ties half; the unit is the case."""
    given = [(one.case_id, (1 + label) / 2) for one in debates if (label := labels.get(one.pk)) is not None]
    return census_mean(list(case_means([points for _, points in given], [case for case, _ in given]).values()))


def _pairs(evaluators: Sequence[Evaluator], view: View) -> list[ReportContent]:
    """Return paired differences in agreement with people, where they have labelled enough, else with the outcomes.

    The debate takes part only against people, and only over the debates in which it came to an end itself.
    """
    own = [one for one in evaluators if one.kind != "debate" or view.is_by_people]
    by_reach = sorted(own, key=lambda one: -len(one.labels))[:PAIRED_AT_MOST]
    found = [(first, second, _difference(first, second, view)) for first, second in combinations(by_reach, 2)]
    adjusted = iter(holm([one.p_value for _, _, one in found if isinstance(one, Inference)]))
    rows = []
    for first, second, one in found:
        p_value = next(adjusted) if isinstance(one, Inference) else None
        rows.append(
            {
                "first": first.name,
                "second": second.name,
                "keys": [first.key, second.key],
                "difference": figure(one.estimate),
                "p_value": one.p_value if isinstance(one, Inference) else None,
                "holm_p": p_value,
                "separated": p_value is not None and p_value <= SIGNIFICANT,
                "cost_difference": _cost_difference(first, second),
            }
        )
    return rows


def _difference(first: Evaluator, second: Evaluator, view: View) -> Inference | TooFew:
    if view.is_by_people:
        has_debate = "debate" in (first.kind, second.kind)
        return difference_with_people(first.labels, second.labels, view.debates, view.said, decided_only=has_debate)
    return accuracy_difference(first.labels, second.labels, view.outcomes, view.cases)


def _cost_difference(first: Evaluator, second: Evaluator) -> float | None:
    """Return how much more one decision of the first costs, in USD."""
    if first.cost is None or second.cost is None or not first.labels or not second.labels:
        return None
    return float(first.cost / len(first.labels) - second.cost / len(second.labels))


def _data_version(subject_id: int, options: Options) -> str:
    return debates_version()


def _size(subject_id: int, options: Options) -> int:
    sets = options.get("sets") or []
    found = Debate.objects.filter(debate_set__in=sets) if sets else Debate.objects.all()
    return found.count() * 5  # a debate has about five statements


DEBATES = ReportKind("debates", _data_version, _size, compute_debates)
