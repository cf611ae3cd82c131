"""Whether a judge still agrees with people on its anchors as it did: change, flips, and when to ask again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from evalsite.reports.selectors.judges.anchor_rounds import (
    AnchorHistory,
    JudgedRound,
    ServedModel,
    anchor_history,
    newest_anchor_set,
)
from evalsite.reports.selectors.judges.audited_verdicts import audited_responses
from evalsite.review.models import AnchorSet
from evalsite.review.sampling import uniform_number
from evalsite.review.services.anchors import NewAnchor
from evalsite.review.states import ReviewRefused
from judging.models import Run, RunEvaluator
from judging.statistics.estimates import Estimate
from judging.statistics.estimators.boards import shown_share
from judging.statistics.estimators.judge_bias import Drift, drift
from judging.statistics.estimators.strata import TooFew, people_only

MAX_ANCHORS = 100  # tell a change of 10 points in two of three cases


@dataclass(frozen=True, slots=True)
class DriftRow:
    """One round of an anchor set beside the baseline."""

    run: Run | None
    at: datetime
    agreement: Estimate  # with people's labels
    unread: int
    change: Drift | TooFew | None  # against the baseline; None: it is the baseline
    served: tuple[ServedModel, ...]

    @property
    def change_figure(self) -> Estimate | None:
        """The change with its interval; None of the baseline."""
        if isinstance(self.change, Drift):
            return Estimate(self.change.change, self.change.low, self.change.high, self.change.n)
        return None if self.change is None else self.change.estimate

    @property
    def p_value(self) -> float | None:
        """Of the change, where it was tested."""
        return self.change.p_value if isinstance(self.change, Drift) else None

    @property
    def flips(self) -> float | None:
        """The share of the anchors that agreed once and not the other time."""
        return self.change.flips if isinstance(self.change, Drift) else None

    @property
    def served_as(self) -> str:
        """Who answered."""
        return ", ".join(map(str, self.served))


@dataclass(frozen=True, slots=True)
class AnchorDrift:
    """What an anchor set shows."""

    anchor_set: AnchorSet
    anchors: int
    rows: tuple[DriftRow, ...]
    asks: str  # why the anchors should be asked again now; empty: nothing speaks for it


def drift_of_version(version_key: str) -> AnchorDrift | None:
    """Return what the newest anchor set of a version shows; None where it has none."""
    anchor_set = newest_anchor_set(version_key)
    if anchor_set is None:
        return None
    history = anchor_history(anchor_set)
    first = history.rounds[0]
    rows = [
        _row(history, asked_round, None if asked_round is first else first)
        for asked_round in history.rounds
        if asked_round.labels
    ]
    return AnchorDrift(anchor_set, len(history.people), tuple(rows), _why_ask(history))


def _row(history: AnchorHistory, asked_round: JudgedRound, first: JudgedRound | None) -> DriftRow:
    agrees = _agreement(history, asked_round)
    change = None
    if first is not None:
        before = _agreement(history, first)
        both = sorted(before.keys() & agrees.keys())
        change = drift([before[pk] for pk in both], [agrees[pk] for pk in both])
    return DriftRow(
        run=asked_round.run,
        at=asked_round.at,
        agreement=shown_share([people_only(list(agrees.values()))]).estimate,
        unread=len(asked_round.labels) - len(agrees),
        change=change,
        served=tuple(sorted(asked_round.served)),
    )


def _agreement(history: AnchorHistory, asked_round: JudgedRound) -> dict[int, float]:
    """Return 1 or 0 by response, whether the judge says what people do; unread ones are left out."""
    return {
        response_id: float(label == history.people[response_id])
        for response_id, label in asked_round.labels.items()
        if label is not None and response_id in history.people
    }


def _why_ask(history: AnchorHistory) -> str:
    served_before = frozenset[ServedModel]().union(*(asked_round.served for asked_round in history.rounds))
    fresh = history.served_now - served_before
    if not served_before or not fresh:
        return ""
    return f"The endpoint now serves {_names(fresh)}; the anchor set was judged by {_names(served_before)}."


def _names(served: Iterable[ServedModel]) -> str:
    return ", ".join(str(model) for model in sorted(served))


def anchors_for(evaluators: Sequence[RunEvaluator]) -> tuple[RunEvaluator, list[NewAnchor]]:
    """Return the evaluator of a version with the most audited cases, and its anchors: one response a case, at random.

    Several responses to one question would not be independent observations.

    Raises:
        ReviewRefused: the version has only been tested on a golden set.
    """
    if not evaluators:
        raise ReviewRefused("An anchor set is created from a run with a random audit; start one with this version.")
    candidates = [(evaluator, _anchors(evaluator)) for evaluator in evaluators]
    return max(candidates, key=lambda pair: (len(pair[1]), pair[0].pk))


def _anchors(evaluator: RunEvaluator) -> list[NewAnchor]:
    rows = [row for row in audited_responses([evaluator]).decided if row.judge is not None]
    ranked = sorted(rows, key=lambda row: uniform_number("anchor", row.case, row.response_id))
    by_case = {row.case: row for row in reversed(ranked)}
    chosen = sorted(by_case.values(), key=lambda row: uniform_number("anchor", row.case, row.response_id))
    return [
        NewAnchor(row.response_id, row.verdict_id, row.people, row.judge, row.scale) for row in chosen[:MAX_ANCHORS]
    ]
