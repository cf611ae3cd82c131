"""Systems ranked by what people preferred in pairs that were labelled elsewhere, as Chatbot Arena ranks them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import log

from evalsite.reports.selectors.leaderboards import Options, chosen
from evalsite.review.models import LabelTable
from evalsite.review.questions.scales import PREFERENCE_SHARES
from judging.statistics.estimates import Estimate
from judging.statistics.estimators.debates import DebatedPair, outcome_win_rate, ranked_by_outcomes

MEAN_RATING, POINTS = 1000, 400 / log(10)  # of Elo's scale: 400 points are odds of 10 to 1


@dataclass(frozen=True, slots=True)
class VotedSystem:
    """One system: the ranks that it may have, its Bradley-Terry strength in log odds, and its win rate."""

    name: str
    first: int
    last: int
    rating: float  # the strength on Elo's scale
    strength: Estimate
    win_rate: Estimate  # over all systems that it met; unit: the case
    votes: int


@dataclass(frozen=True, slots=True)
class VotedRanking:
    """All systems of a table, best first, or why they have no common ranking."""

    systems: list[VotedSystem]
    votes: int
    reason: str


def voted_ranking(table: LabelTable, options: Options) -> VotedRanking | None:
    """Return the ranking by all votes of a table, each for itself and ties half; None where none is about two systems.

    Options: criterion, scenario, language.
    """
    filters = {f"item__{name}": chosen(options, name) for name in ("criterion", "scenario", "language")}
    labels = table.imported_labels.filter(item__about__has_key="a", label__in=PREFERENCE_SHARES)
    labels = labels.filter(**{name: value for name, value in filters.items() if value})
    pairs, met = list[DebatedPair](), defaultdict[str, list[DebatedPair]](list)
    for about, label in labels.order_by("pk").values_list("item__about", "label").iterator(chunk_size=5000):
        case, a, b, points = about["case"], about["a"], about["b"], PREFERENCE_SHARES[label]
        if a != b:
            pairs.append(DebatedPair(case, a, b, points, points))
            met[a].append(pairs[-1])
            met[b].append(DebatedPair(case, b, a, 1 - points, 1 - points))
    if not pairs:
        return None
    ranking = ranked_by_outcomes(pairs)
    systems = [
        VotedSystem(
            row.name,
            row.ranks.first,
            row.ranks.last,
            MEAN_RATING + POINTS * (row.strength.value or 0.0),
            row.strength,
            outcome_win_rate(met[row.name]),
            row.strength.n,
        )
        for row in ranking.systems
    ]
    return VotedRanking(systems, len(pairs), ranking.reason.replace("No debate links", "No vote links"))
