"""Every figure of a recorded cell in one plain dictionary, ready for JSON: positional labels, six decimals.

The layout is stable, so that two runs of the importer, or another program's figures, can be compared key by key.

Conformity says who moved toward whom: how judges keep or give up their verdicts when others disagree, over many
debates. Verdicts are compared within a debate only, so their space (position or system) does not matter. A move is a
change from one verdict to another between two rounds in a row; finding or losing a verdict is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from debate.protocol.metaeval import (
    Agreement,
    DebateVotes,
    OutcomeRule,
    Share,
    Tally,
    Vote,
    agreement,
    changed_by_the_end,
    consensus_by_round,
    for_people,
    independent_votes,
    missing_by_round,
    mode,
    outcome_of,
    position_bias,
    recorded_votes,
    rounds_held,
    tally,
)
from debate.protocol.transcripts import RecordedCell
from debate.protocol.verdicts import TextReading, VerdictReading, read_recorded, read_strict, to_system_space
from evalsite.base.types import JsonDict
from judging.statistics.agreement import Metric, agreement_report, fleiss_kappa
from judging.statistics.estimates import Estimate, Inference, TooFew, people_only, share_of_cases, undefined
from judging.statistics.estimators.boards import case_means, counted_share, paired_difference
from judging.statistics.ratings import from_rows

Label = int | None
Cell = tuple[str, ...]

NO_OUTCOME = "No item has an outcome under this rule."
NOT_ASKED = "This evaluator was asked about none of these items."
NO_CELL = "No cell has a single most frequent label on both sides, so eq. 5 is undefined."


@dataclass(frozen=True, slots=True)
class EvaluatorAgreement:
    """How an evaluator compares with outcomes."""

    example: Estimate  # share of the items with an outcome on which it says the same; a missing label does not
    of_all: Estimate  # the same of all items it was asked about
    system: Estimate  # share of the cells in which both have the same most frequent label (eq. 5), of those defined
    direction: Estimate  # share of the cells in which both put the same system ahead
    missing: int  # items with an outcome on which it gave no label


def agreement_with_outcomes(
    labels: Sequence[Label], outcomes: Sequence[Label], cases: Sequence[Hashable]
) -> tuple[Estimate, int]:
    """Return how often labels equal the outcomes of the same items, and on how many items a label is missing.

    Example-level agreement, item by item, as in the seed paper: a missing label agrees with nothing, items without an
    outcome are not counted, and the interval counts a case once.

    Raises:
        ValueError: labels, outcomes and cases differ in number.
    """
    rows = [row for row in zip(labels, outcomes, cases, strict=True) if row[1] is not None]
    missing = sum(label is None for label, _, _ in rows)
    equal = [label == outcome for label, outcome, _ in rows]
    example = share_of_cases(equal, [case for _, _, case in rows]) if rows else undefined(NO_OUTCOME)
    return example, missing


def standing(
    labels: Mapping[int, Label],
    outcomes: Mapping[int, Label],
    cells: Mapping[Cell, Sequence[int]],
    cases: Mapping[int, Hashable],
) -> EvaluatorAgreement:
    """Return how the evaluator's labels compare with outcomes, over the items it was asked about; `cases` by item."""
    labelled = [item for items in cells.values() for item in items if item in labels]
    if not labelled:
        nothing = undefined(NOT_ASKED)
        return EvaluatorAgreement(nothing, nothing, nothing, nothing, 0)
    item_labels = [labels[item] for item in labelled]
    item_outcomes = [outcomes.get(item) for item in labelled]
    about = [cases[item] for item in labelled]
    example, missing = agreement_with_outcomes(item_labels, item_outcomes, about)
    by_cell = [labelled_by_both(items, labels, outcomes) for items in cells.values()]
    modes = [cell.system_level for cell in by_cell if cell.system_level is not None]
    directions = [cell.same_direction for cell in by_cell if cell.same_direction is not None]
    return EvaluatorAgreement(
        example=example,
        of_all=share_of_cases(
            [
                outcome is not None and label == outcome
                for label, outcome in zip(item_labels, item_outcomes, strict=True)
            ],
            about,
        ),
        system=counted_share(sum(modes), len(modes)) if modes else undefined(NO_CELL),
        direction=counted_share(sum(directions), len(directions)) if directions else undefined(NO_OUTCOME),
        missing=missing,
    )


def labelled_by_both(items: Sequence[int], labels: Mapping[int, Label], outcomes: Mapping[int, Label]) -> Agreement:
    """Return the comparison over the items with a label and an outcome: most frequent labels of the same items."""
    both = [item for item in items if labels.get(item) is not None and outcomes.get(item) is not None]
    return agreement([labels[item] for item in both], [outcomes[item] for item in both])


def first_place_rate(labels: Mapping[int, Label], orders: Mapping[int, int], cases: Mapping[int, Hashable]) -> Estimate:
    """Return the share of preferences for what was shown first; 0.5 is unbiased where orders are fair coins.

    `orders` says by item whether A was shown first (0) or B (1), to this evaluator. The interval counts a case once.
    """
    if not orders:
        return undefined("It scored each response on its own, so none came first.")
    preferring = [item for item, label in labels.items() if label in (1, -1) and item in orders]
    first = [(labels[item] == 1) == (orders[item] == 0) for item in preferring]
    if not first:
        return undefined("It never preferred one response to the other.")
    return share_of_cases(first, [cases[item] for item in preferring])


def accuracy_difference(
    first: Mapping[int, Label], second: Mapping[int, Label], outcomes: Mapping[int, Label], cases: Mapping[int, str]
) -> Inference | TooFew:
    """Return how much more often the first says what the outcomes are, over the items both were asked about.

    The unit is the case. A missing label says nothing, so it is counted as not agreeing.
    """
    items = [item for item, outcome in outcomes.items() if outcome is not None and item in first and item in second]
    gaps = [float(first[item] == outcomes[item]) - float(second[item] == outcomes[item]) for item in items]
    return paired_difference([people_only(list(case_means(gaps, [cases[item] for item in items]).values()))])


def weighted_system_level(
    labels: Mapping[int, Label], people: Mapping[int, int], weights: Mapping[int, float]
) -> bool | None:
    """Return whether both have the same most frequent label (eq. 5) over the items both labelled, each weighing as much
    as the items it stands for; None where one has none.
    """
    counts: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for item, weight in weights.items():
        label = labels.get(item)
        if label is not None:
            for count, labelled in zip(counts, (label, people[item]), strict=True):
                count[labelled] = count.get(labelled, 0.0) + weight
    modes = [_leader(count) for count in counts]
    return None if None in modes else modes[0] == modes[1]


def _leader(counts: Mapping[int, float]) -> int | None:
    ranked = sorted(counts.items(), key=lambda pair: -pair[1])
    if not ranked or (len(ranked) > 1 and ranked[0][1] - ranked[1][1] < 1e-9):
        return None
    return ranked[0][0]


@dataclass(frozen=True, slots=True)
class JudgeConformity:
    """One judge's behaviour over all debates it sat in."""

    judge: str
    opposed: int  # turns after a round in which it had a verdict and another agent a different one
    kept: int  # of these, it gave the same verdict again
    outvoted: int  # turns after a round in which more than half of the other agents shared one other verdict
    joined: int  # of these, it took that verdict over
    unopposed: int  # turns after a round in which all other verdicts equalled its own
    strayed: int  # of these, it moved away all the same
    moved: int  # changes from one verdict to another, in all

    @property
    def stubbornness(self) -> Share:
        """The share of opposed turns in which the judge kept its verdict."""
        return Share(self.kept, self.opposed)

    @property
    def conformity(self) -> Share:
        """The share of outvoted turns in which the judge joined the majority of the others."""
        return Share(self.joined, self.outvoted)


@dataclass(frozen=True, slots=True)
class Move:
    """One change of mind."""

    item: int | str
    round: int  # in which the new verdict was given
    judge: str
    before: int  # by position
    after: int
    toward: tuple[str, ...]  # who held the new verdict in the round before


def moves(all_votes: Iterable[DebateVotes]) -> tuple[Move, ...]:
    """Return every change of mind, by debate, round and agent."""
    return tuple(
        Move(votes.item, number, judge, before, after, _holders(votes.rounds[number - 1], after, but=judge))
        for votes in all_votes
        for number in range(1, len(votes.rounds))
        for judge, after in votes.rounds[number].items()
        if after is not None and (before := votes.rounds[number - 1].get(judge)) is not None and before != after
    )


def moved_toward(all_votes: Iterable[DebateVotes]) -> dict[tuple[str, str], int]:
    """Return {(who moved, toward whom): times}; a move toward two counts for both, one toward nobody nowhere."""
    return dict(Counter((move.judge, other) for move in moves(all_votes) for other in move.toward))


def conformity(all_votes: Sequence[DebateVotes]) -> tuple[JudgeConformity, ...]:
    """Return the behaviour of every judge, by name. Turns without a verdict, or after one without, count nowhere."""
    counts: dict[str, Counter[str]] = {}
    for votes in all_votes:
        for judge in votes.rounds[0]:
            counts.setdefault(judge, Counter())
        for before, after in zip(votes.rounds, votes.rounds[1:], strict=False):
            for judge in after:
                counts.setdefault(judge, Counter()).update(_turn(judge, before, after[judge]))
    names = JudgeConformity.__slots__[1:]
    return tuple(JudgeConformity(judge, *(found[name] for name in names)) for judge, found in sorted(counts.items()))


def _turn(judge: str, before: Mapping[str, Vote], now: Vote) -> Counter[str]:
    """Return what one turn counts for."""
    own = before.get(judge)
    others = [vote for name, vote in before.items() if name != judge]
    cast = [vote for vote in others if vote is not None]
    if own is None or now is None or not cast:
        return Counter()
    opposed = any(vote != own for vote in cast)
    rival = _rival(own, others)
    return Counter(
        opposed=int(opposed),
        kept=int(opposed and now == own),
        outvoted=int(rival is not None),
        joined=int(rival is not None and now == rival),
        unopposed=int(not opposed),
        strayed=int(not opposed and now != own),
        moved=int(now != own),
    )


def _rival(own: int, others: Sequence[Vote]) -> Vote:
    """Return the verdict, not the judge's own, that more than half of the other agents gave, or None."""
    verdict, count = Counter(vote for vote in others if vote is not None).most_common(1)[0]
    return verdict if 2 * count > len(others) and verdict != own else None


def _holders(votes: Mapping[str, Vote], verdict: int, *, but: str) -> tuple[str, ...]:
    return tuple(name for name, vote in votes.items() if vote == verdict and name != but)


DECIMALS = 6
POSITIONS = (1, 0, 2)  # labels as shown: the first response, a tie, the second
_RULES = {
    "consensus": OutcomeRule.UNANIMOUS,
    "majority": OutcomeRule.MAJORITY,
    "majority_tie0": OutcomeRule.MAJORITY_TIE0,
}
_LETTERS: dict[Vote, str | None] = {1: "A", -1: "B", 0: "0", None: None}


def all_figures(cells: Iterable[RecordedCell]) -> JsonDict:
    """Return {"cells": {cell key: everything}}: the figures of all readings, and how readings and files differ."""
    return {"cells": {cell.key: cell_figures(cell) for cell in cells}}


def cell_figures(cell: RecordedCell) -> JsonDict:
    """Return every figure of one cell: all readings, the single-judge files beside them, and what goes to people."""
    all_votes = {reading: recorded_votes(cell, reading) for reading in VerdictReading}
    recorded, strict = all_votes[VerdictReading.RECORDED], all_votes[VerdictReading.STRICT]
    return {
        **{str(reading): vote_figures(all_votes[reading], cell.judges) for reading in VerdictReading},
        "single_files": {judge: dict(Counter(repr(row.score) for row in rows)) for judge, rows in cell.singles.items()},
        "agreement_with_single_file_scores": _agreement_with_singles(cell, recorded),
        "strict_vs_recorded": _differences(recorded, strict),
        "human_queue_ids": {"recorded": list(for_people(recorded)), "strict": list(for_people(strict))},
    }


def vote_figures(all_votes: Sequence[DebateVotes], judges: Sequence[str]) -> JsonDict:
    """Return the figures of a set of debates with the same judges, of at least one debate.

    Raises:
        ValueError: there is no debate.
    """
    if not all_votes:
        raise ValueError("There are no debates to count.")
    rounds = max(3, max(len(votes.rounds) for votes in all_votes))
    by_rounds, agreed = rounds_held(all_votes), consensus_by_round(all_votes)
    ids = sorted(votes.item for votes in all_votes if isinstance(votes.item, int))
    return {
        "n": len(all_votes),
        "ids": [ids[0], ids[-1]] if ids else [],
        "rounds_executed": {str(number): by_rounds[number] for number in range(rounds)},
        "consensus_at": {**{str(number): agreed[number] for number in range(rounds)}, "never": agreed[None]},
        "no_majority_at_last": sum(outcome_of(votes, OutcomeRule.MAJORITY) is None for votes in all_votes),
        "missing_verdicts": {judge: list(missing_by_round(all_votes, judge, rounds=rounds)) for judge in judges},
        "outcomes": {name: _outcome_figures(all_votes, judges, rule) for name, rule in _RULES.items()},
        "judges": {judge: _judge_figures(all_votes, judge) for judge in judges},
        "iaa_initial": _panel_figures(all_votes, judges, 0),
        "iaa_last": _panel_figures(all_votes, judges, -1),
    }


def _outcome_figures(all_votes: Sequence[DebateVotes], judges: Sequence[str], rule: OutcomeRule) -> JsonDict:
    outcomes = [outcome_of(votes, rule) for votes in all_votes]
    counts = tally(outcomes)
    return {
        "A": counts.a,
        "B": counts.b,
        "tie": counts.tie,
        "none": counts.missing,
        "mode": _LETTERS[counts.mode],
        "judges": {
            judge: _agreement_figures(agreement(independent_votes(all_votes, judge), outcomes)) for judge in judges
        },
    }


def _agreement_figures(figures: Agreement) -> dict[str, float | None]:
    return {
        "matches": figures.matches,
        "n_with_outcome": figures.n_with_outcome,
        "n": figures.n,
        "agree_resolved_only": _rounded(figures.of_resolved.value),
        "agree_all": _rounded(figures.of_all.value),
        "system_level": None if figures.system_level is None else int(figures.system_level),
    }


def _judge_figures(all_votes: Sequence[DebateVotes], judge: str) -> dict[str, int | str | None]:
    counts: Tally = tally(independent_votes(all_votes, judge))
    first, second = position_bias(all_votes, judge)
    return {
        "A": counts.a,
        "B": counts.b,
        "tie": counts.tie,
        "missing": counts.missing,
        "mode": _LETTERS[mode({1: counts.a, -1: counts.b, 0: counts.tie})],
        "pos1": first,
        "pos2": second,
        "changed_final": changed_by_the_end(all_votes, judge),
    }


def _panel_figures(all_votes: Sequence[DebateVotes], judges: Sequence[str], round_number: int) -> JsonDict:
    """Return how far judges agree in a round; Fleiss' kappa over the items without a missing label, as in the paper."""
    labels = [[votes.rounds[round_number].get(judge) for judge in judges] for votes in all_votes]
    complete = [item for item in labels if None not in item]
    report = agreement_report(from_rows(labels, POSITIONS, raters=judges))
    pairs = {f"{pair.first}~{pair.second}": pair for pair in report.pairs}
    return {
        "n": len(labels),
        "n_complete": len(complete),
        "fleiss_complete": _rounded(fleiss_kappa(from_rows(complete, POSITIONS, raters=judges)).value),
        "kripp_alpha_nominal": _rounded(dict(report.alpha)[Metric.NOMINAL].value),
        "cohen": {name: _rounded(pair.kappa.value) for name, pair in pairs.items()},
        "raw_agreement": {name: _rounded(pair.percent.value) for name, pair in pairs.items()},
    }


def _agreement_with_singles(cell: RecordedCell, all_votes: Sequence[DebateVotes]) -> dict[str, dict[str, int]]:
    """Count per rule and judge the debates whose outcome is what the judge's own file says."""
    scores: dict[str, dict[int | str, object]] = {
        judge: {row.id: row.score for row in rows} for judge, rows in cell.singles.items()
    }
    labels = {
        judge: [
            to_system_space(read_recorded(scores_by_item.get(votes.item)), response_order=votes.response_order)
            for votes in all_votes
        ]
        for judge, scores_by_item in scores.items()
    }
    outcomes = {name: [outcome_of(votes, rule) for votes in all_votes] for name, rule in _RULES.items()}
    return {name: {judge: agreement(labels[judge], outcomes[name]).matches for judge in labels} for name in _RULES}


def _differences(recorded: Sequence[DebateVotes], strict: Sequence[DebateVotes]) -> JsonDict:
    pairs = list(zip(recorded, strict, strict=True))
    votes = [
        (votes[judge], reread[judge])
        for as_recorded, reread_strictly in pairs
        for votes, reread in zip(as_recorded.rounds, reread_strictly.rounds, strict=True)
        for judge in votes
    ]
    changed = {
        name: [
            as_recorded.item
            for as_recorded, reread_strictly in pairs
            if outcome_of(as_recorded, rule) != outcome_of(reread_strictly, rule)
        ]
        for name, rule in _RULES.items()
    }
    return {
        "verdicts": len(votes),
        "different": sum(vote != reread for vote, reread in votes),
        "consensus_changed": changed["consensus"],
        "majority_changed": changed["majority"],
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, DECIMALS)


def reading_differences(cells: Iterable[RecordedCell]) -> list[JsonDict]:
    """Return every statement whose filed score is not what its text says, with the rule that read the text.

    One line per statement: cell, item, judge, round, the score as filed, what each reading takes it for, and why.
    """
    return [
        {"cell": cell.key, "item": item.id, "round": number, "judge": turn.judge, "agent_number": turn.agent_number}
        | difference
        for cell in cells
        for item in cell.items
        for number, stage in enumerate(item.stages)
        for turn in stage
        if (difference := _difference(turn.score, turn.text))
    ]


def _difference(score: object, text: str | None) -> JsonDict:
    recorded, strict = read_recorded(score), read_strict(text)
    if recorded == strict.verdict:
        return {}
    return {"filed": score, "recorded": recorded, "strict": strict.verdict, "why": _why(recorded, strict)}


def _why(recorded: int | None, strict: TextReading) -> str:
    if strict.verdict is None:
        if strict.refused:
            return "the text refuses to judge; the score is a number from elsewhere in the text"
        return "the last line of the text states no verdict; the score is a number from elsewhere in the text"
    if recorded is None:
        return "the recorded score is not a verdict, but the text states one"
    return "the last line of the text states another verdict than the recorded score"
