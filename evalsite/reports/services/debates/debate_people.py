"""Debates beside people: which labels may enter a figure, and the figures from them.

A debate that did not agree is sent to people for certain; of those that agreed, an audit is drawn. A label of an agreed
debate counts only where the audit drew it. A debate that people decided is never compared with those people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from debate.protocol.meta.metaeval import OutcomeRule, outcome_of
from evalsite.reports.selectors.debate_votes import DebateDecision, PeopleSaid
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
    """What debates and people said, by debate, in system space."""

    own: Mapping[int, Label]  # the debate's own outcome; None: it abstained
    open: frozenset[int]  # debates whose agents did not all agree: sent to people
    outcomes: Mapping[int, Label]  # under the chosen rule, people's word included where the rule says so
    people: Mapping[int, int]  # labels that may enter an estimate
    rule: OutcomeRule
    rates: Mapping[int, float]  # by debate: the share that its set's audit draws
    planned: int = 0  # cases of agreed debates that the audit drew; 0: intervals are for one look


def verdicts_of(
    debates: Iterable[DebateDecision], people: PeopleSaid, rule: OutcomeRule, *, looks: bool = False
) -> Verdicts:
    """Return what the debates and people said under a rule; with `looks`, for intervals valid at every look."""
    known = list(debates)
    human: dict[int | str, int] = {pk: label for pk, label in people.final.items()}  # noqa: C416 - widens the key
    agreed = {one.pk: outcome_of(one.votes, OutcomeRule.UNANIMOUS) for one in known}
    waiting = frozenset(pk for pk, outcome in agreed.items() if outcome is None)
    own = agreed if rule in PEOPLE_RULES else {one.pk: outcome_of(one.votes, rule) for one in known}
    usable = {pk: label for pk, label in people.final.items() if pk in waiting or pk in people.drawn}
    drawn = {one.case_id for one in known if one.pk in people.drawn and one.pk not in waiting}
    outcomes = {one.pk: outcome_of(one.votes, rule, human) for one in known}
    return Verdicts(own, waiting, outcomes, usable, rule, people.rates, len(drawn) if looks else 0)


def agreement_with_people(
    labels: Mapping[int, Label], debates: Iterable[DebateDecision], said: Verdicts, *, decided_only: bool = False
) -> Inference | TooFew:
    """Return how often labels equal people's over the debates they were asked about, or those that came to an end."""
    asked = _asked(debates, said, (labels,), decided_only=decided_only)
    return share_equal(_items(labels, asked, said), planned=said.planned)


def difference_with_people(
    first: Mapping[int, Label],
    second: Mapping[int, Label],
    debates: Iterable[DebateDecision],
    said: Verdicts,
    *,
    decided_only: bool,
) -> Inference | TooFew:
    """Return by how much more often the first says what people say, over the debates both were asked about."""
    asked = _asked(debates, said, (first, second), decided_only=decided_only)
    return agreement_difference(_items(first, asked, said), _items(second, asked, said), planned=said.planned)


def _asked(
    debates: Iterable[DebateDecision], said: Verdicts, sources: Sequence[Mapping[int, Label]], *, decided_only: bool
) -> list[DebateDecision]:
    return [
        one
        for one in debates
        if all(one.pk in labels for labels in sources) and (not decided_only or said.own[one.pk] is not None)
    ]


def _items(labels: Mapping[int, Label], debates: Iterable[DebateDecision], said: Verdicts) -> list[ComparedItem]:
    return [
        ComparedItem(
            one.case_id,
            labels[one.pk],
            said.people.get(one.pk),
            is_routed=one.pk in said.open,
            rate=said.rates.get(one.pk, 0.0),
        )
        for one in debates
    ]


def ranking(debates: Iterable[DebateDecision], said: Verdicts) -> Ranking:
    """Return the ranking of systems under the rule."""
    pairs = _pairs(debates, said)
    return (
        ranked_by_people(pairs, planned=said.planned) if said.rule is OutcomeRule.HUMAN else ranked_by_outcomes(pairs)
    )


def rate_of(system: str, debates: Iterable[DebateDecision], said: Verdicts) -> Estimate:
    """Return a system's win rate against all it met, under the rule."""
    met = [one for one in debates if system in (one.owner.system_a, one.owner.system_b)]
    pairs = [pair if pair.first == system else _turned(pair) for pair in _pairs(met, said)]
    return win_rate(pairs, planned=said.planned).estimate if said.rule is OutcomeRule.HUMAN else outcome_win_rate(pairs)


def people_rate(debates: Iterable[DebateDecision], said: Verdicts) -> Estimate:
    """Return the win rate of system A by people's word over all debates of one pair."""
    pairs = []
    for one in debates:
        agreed = None if one.pk in said.open else said.own[one.pk]
        points = _points(agreed), _points(said.people.get(one.pk))
        pairs.append(DebatedPair(one.case_id, "A", "B", *points, rate=said.rates.get(one.pk, 0.0)))
    return win_rate(pairs, planned=said.planned).estimate


def _pairs(debates: Iterable[DebateDecision], said: Verdicts) -> list[DebatedPair]:
    is_human = said.rule is OutcomeRule.HUMAN
    return [
        DebatedPair(
            one.case_id,
            one.owner.system_a,
            one.owner.system_b,
            _points(said.own[one.pk] if is_human else said.outcomes[one.pk]),
            _points(said.people.get(one.pk)) if is_human else None,
            rate=said.rates.get(one.pk, 0.0),
        )
        for one in debates
    ]


def _points(label: Label) -> float | None:
    """Return the points of A: 1 for a win, 0.5 for a tie, 0 for a loss."""
    return None if label is None else (1 + label) / 2


def _turned(pair: DebatedPair) -> DebatedPair:
    debate, people = (None if value is None else 1 - value for value in (pair.debate, pair.people))
    return DebatedPair(pair.case, pair.second, pair.first, debate, people, pair.rate)
