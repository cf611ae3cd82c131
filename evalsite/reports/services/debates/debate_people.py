"""Debates beside people: which labels may enter a figure, and the figures from them.

A debate that did not agree is sent to people for certain; of those that agreed, an audit is drawn. A label of an agreed
debate counts only where the audit drew it. A debate that people decided is never compared with those people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from debate.protocol.meta.metaeval import OutcomeRule, outcome_of
from evalsite.reports.selectors.debate_votes import DebateDecision, PeopleLabels
from judging.statistics.estimates import Estimate
from judging.statistics.estimators.agreement import ComparedItem, agreement_difference, share_equal
from judging.statistics.estimators.debates import (
    DebatedPair,
    Ranking,
    outcome_win_rate,
    ranked_by_outcomes,
    ranked_by_people,
    win_rate,
)
from judging.statistics.estimators.strata import Inference, TooFew

Label = int | None
PEOPLE_RULES = (OutcomeRule.ADJUDICATED, OutcomeRule.HUMAN)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Outcomes of debates and labels of people, by debate, in system space."""

    agent_outcomes: Mapping[int, Label]  # of the debate itself, without people; None: it abstained
    open: frozenset[int]  # debates whose agents did not all agree: sent to people
    outcomes: Mapping[int, Label]  # under the chosen rule, people's word included where the rule says so
    people: Mapping[int, int]  # labels that may enter an estimate
    rule: OutcomeRule
    rates: Mapping[int, float]  # by debate: the share that its set's audit draws
    planned: int = 0  # cases of agreed debates that the audit drew; 0: intervals are for one look


def verdicts_of(
    decisions: Iterable[DebateDecision], people: PeopleLabels, rule: OutcomeRule, *, looks: bool = False
) -> Verdicts:
    """Return outcomes of debates and people's labels under a rule; `looks`: for intervals valid at every look."""
    debates = list(decisions)
    human: dict[int | str, int] = {pk: label for pk, label in people.final.items()}  # noqa: C416 - widens the key
    agreed = {debate.pk: outcome_of(debate.votes, OutcomeRule.UNANIMOUS) for debate in debates}
    waiting = frozenset(pk for pk, outcome in agreed.items() if outcome is None)
    agent_outcomes = (
        agreed if rule in PEOPLE_RULES else {debate.pk: outcome_of(debate.votes, rule) for debate in debates}
    )
    usable = {pk: label for pk, label in people.final.items() if pk in waiting or pk in people.drawn}
    drawn = {debate.case_id for debate in debates if debate.pk in people.drawn and debate.pk not in waiting}
    outcomes = {debate.pk: outcome_of(debate.votes, rule, human) for debate in debates}
    return Verdicts(agent_outcomes, waiting, outcomes, usable, rule, people.rates, len(drawn) if looks else 0)


def agreement_with_people(
    labels: Mapping[int, Label], debates: Iterable[DebateDecision], verdicts: Verdicts, *, decided_only: bool = False
) -> Inference | TooFew:
    """Return how often labels equal people's over the debates they were asked about, or those that came to an end."""
    compared = _asked(debates, verdicts, (labels,), decided_only=decided_only)
    return share_equal(_items(labels, compared, verdicts), planned=verdicts.planned)


def difference_with_people(
    first: Mapping[int, Label],
    second: Mapping[int, Label],
    debates: Iterable[DebateDecision],
    verdicts: Verdicts,
    *,
    decided_only: bool,
) -> Inference | TooFew:
    """Return by how much more often the first says what people say, over the debates both were asked about."""
    compared = _asked(debates, verdicts, (first, second), decided_only=decided_only)
    return agreement_difference(
        _items(first, compared, verdicts), _items(second, compared, verdicts), planned=verdicts.planned
    )


def _asked(
    debates: Iterable[DebateDecision], verdicts: Verdicts, sources: Sequence[Mapping[int, Label]], *, decided_only: bool
) -> list[DebateDecision]:
    return [
        debate
        for debate in debates
        if all(debate.pk in labels for labels in sources)
        and (not decided_only or verdicts.agent_outcomes[debate.pk] is not None)
    ]


def _items(labels: Mapping[int, Label], debates: Iterable[DebateDecision], verdicts: Verdicts) -> list[ComparedItem]:
    return [
        ComparedItem(
            debate.case_id,
            labels[debate.pk],
            verdicts.people.get(debate.pk),
            is_routed=debate.pk in verdicts.open,
            rate=verdicts.rates.get(debate.pk, 0.0),
        )
        for debate in debates
    ]


def ranking(debates: Iterable[DebateDecision], verdicts: Verdicts) -> Ranking:
    """Return the ranking of systems under the rule."""
    pairs = _pairs(debates, verdicts)
    return (
        ranked_by_people(pairs, planned=verdicts.planned)
        if verdicts.rule is OutcomeRule.HUMAN
        else ranked_by_outcomes(pairs)
    )


def rate_of(system: str, debates: Iterable[DebateDecision], verdicts: Verdicts) -> Estimate:
    """Return a system's win rate against all it met, under the rule."""
    met = [debate for debate in debates if system in (debate.debate_set.system_a, debate.debate_set.system_b)]
    pairs = [pair if pair.first == system else _turned(pair) for pair in _pairs(met, verdicts)]
    return (
        win_rate(pairs, planned=verdicts.planned).estimate
        if verdicts.rule is OutcomeRule.HUMAN
        else outcome_win_rate(pairs)
    )


def people_rate(debates: Iterable[DebateDecision], verdicts: Verdicts) -> Estimate:
    """Return the win rate of system A by people's word over all debates of one pair."""
    pairs = []
    for debate in debates:
        agreed = None if debate.pk in verdicts.open else verdicts.agent_outcomes[debate.pk]
        points = _points(agreed), _points(verdicts.people.get(debate.pk))
        pairs.append(DebatedPair(debate.case_id, "A", "B", *points, rate=verdicts.rates.get(debate.pk, 0.0)))
    return win_rate(pairs, planned=verdicts.planned).estimate


def _pairs(debates: Iterable[DebateDecision], verdicts: Verdicts) -> list[DebatedPair]:
    is_human = verdicts.rule is OutcomeRule.HUMAN
    return [
        DebatedPair(
            debate.case_id,
            debate.debate_set.system_a,
            debate.debate_set.system_b,
            _points(verdicts.agent_outcomes[debate.pk] if is_human else verdicts.outcomes[debate.pk]),
            _points(verdicts.people.get(debate.pk)) if is_human else None,
            rate=verdicts.rates.get(debate.pk, 0.0),
        )
        for debate in debates
    ]


def _points(label: Label) -> float | None:
    """Return the points of A: 1 for a win, 0.5 for a tie, 0 for a loss."""
    return None if label is None else (1 + label) / 2


def _turned(pair: DebatedPair) -> DebatedPair:
    debate, people = (None if value is None else 1 - value for value in (pair.debate, pair.people))
    return DebatedPair(pair.case, pair.second, pair.first, debate, people, pair.rate)
