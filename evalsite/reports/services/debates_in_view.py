"""The debates that a report is about, who judged each, and their figures beside people.

A debate that did not agree is sent to people for certain; of those that agreed, an audit is drawn. A label of an agreed
debate counts only where the audit drew it. A debate that people decided is never compared with those people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from debate.protocol.figures import Cell, Label
from debate.protocol.metaeval import OutcomeRule, outcome_of
from debate.protocol.setups import Method
from debate.protocol.verdicts import VerdictReading
from evalsite.base.rows import grouped
from evalsite.reports.selectors.debate_votes import (
    DebateDecision,
    PeopleLabels,
    SetFacts,
    baseline_sets_of,
    decisions_of,
    people_labels,
    scored_preferences,
    sets_by_id,
)
from evalsite.reports.selectors.leaderboards import Options, chosen
from evalsite.reports.services.charts import shade
from evalsite.reports.services.snapshots import ReportContent
from judging.statistics.estimates import FEWEST_FOR_CLAIMS, Estimate, Inference, TooFew
from judging.statistics.estimators.agreement import ComparedItem, agreement_difference, share_equal
from judging.statistics.estimators.debates import (
    NEVER,
    PEOPLE,
    DebatedPair,
    Ranking,
    outcome_win_rate,
    ranked_by_outcomes,
    ranked_by_people,
    win_rate,
)

DEBATE = "Debate"
REFUSED = ("refused", "refusal")
READ = ("final_line", "phrase", "out_of_range_phrase")
PEOPLE_RULES = (OutcomeRule.ADJUDICATED, OutcomeRule.HUMAN)


@dataclass(slots=True)
class Evaluator:
    """One source of labels for the debates in view, by debate id."""

    key: str
    name: str
    kind: str  # independent | method | scores | debate
    labels: dict[int, Label] = field(default_factory=dict)
    orders: dict[int, int] = field(default_factory=dict)
    judges: tuple[str, ...] = ()  # endpoints that were asked
    decisions: int = 0  # with a verdict
    calls: int = 0
    cost: Decimal | None = Decimal(0)
    statements: int = 0
    refused: int = 0
    unread: int = 0
    disagreements: int = 0

    def decide(self, verdict: Label, calls: int, cost: Decimal | None) -> None:
        """Count a decision with what it took; one unknown price makes the sum unknown."""
        self.decisions += verdict is not None
        self.calls += calls
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    @property
    def cost_per_decision(self) -> float | None:
        """USD for each verdict; None without one, and where a price is unknown."""
        return None if self.cost is None or not self.decisions else float(self.cost) / self.decisions

    def read(self, statuses: Sequence[str], disagreements: int) -> None:
        """Count how its statements were read."""
        self.statements += len(statuses)
        self.refused += sum(status in REFUSED for status in statuses)
        self.unread += sum(status not in READ and status not in REFUSED for status in statuses)
        self.disagreements += disagreements


@dataclass(frozen=True, slots=True)
class View:
    """The debates that the report is about, with their outcomes."""

    debates: list[DebateDecision]
    outcomes: Mapping[int, Label]
    people: PeopleLabels
    verdicts: Verdicts
    cells: dict[Cell, list[int]]

    @property
    def cases(self) -> dict[int, str]:
        return {debate.pk: str(debate.case_id) for debate in self.debates}

    @property
    def is_by_people(self) -> bool:
        """Whether enough labels may enter an estimate for people to be what evaluators are compared with."""
        return (
            len({debate.case_id for debate in self.debates if debate.pk in self.verdicts.people}) >= FEWEST_FOR_CLAIMS
        )


@dataclass(frozen=True, slots=True)
class DebatesInView:
    """What a report on debates is about, by its options."""

    sets: Mapping[int, SetFacts]
    every: list[DebateDecision]  # of these sets
    view: View  # those that the filters keep
    evaluators: list[Evaluator]
    rule: OutcomeRule
    reading: VerdictReading


def debates_in_view(options: Options) -> DebatesInView:
    """Return the debates of the chosen sets, or of all, and everybody who labelled the same pairs."""
    set_ids = [int(pk) for pk in options.get("sets", [])]
    sets = sets_by_id(set_ids or None, method=Method.DEBATE)
    reading = VerdictReading(chosen(options, "reading") or VerdictReading.STRICT)
    rule = OutcomeRule(chosen(options, "rule") or OutcomeRule.UNANIMOUS)
    every = decisions_of(sets, reading=reading)
    view = _view(
        [decision for decision in every if _fits(decision, options)], rule, looks=bool(chosen(options, "looks"))
    )
    return DebatesInView(sets, every, view, _evaluators(view, sets), rule, reading)


def _fits(decision: DebateDecision, options: Options) -> bool:
    scenario, criterion = chosen(options, "scenario"), chosen(options, "criterion")
    return scenario in ("", decision.scenario) and criterion in ("", decision.debate_set.criterion)


def _view(debates: list[DebateDecision], rule: OutcomeRule, *, looks: bool) -> View:
    people = people_labels([debate.pk for debate in debates])
    cells = grouped(
        ((debate.debate_set.pair, debate.debate_set.criterion, debate.scenario), debate.pk) for debate in debates
    )
    verdicts = verdicts_of(debates, people, rule, looks=looks)
    return View(debates, verdicts.outcomes, people, verdicts, dict(sorted(cells.items())))


# --- who is compared


def _evaluators(view: View, sets: Mapping[int, SetFacts]) -> list[Evaluator]:
    """Return everybody who labelled the same pairs: agents on their own, baselines, judges by score, the debate."""
    evaluators: dict[str, Evaluator] = {}
    for debate in view.debates:
        _add_independent_votes(evaluators, debate)
    _add_baselines(evaluators, view, sets)
    _add_scores(evaluators, view)
    whole = Evaluator("debate", DEBATE, "debate")
    for debate in view.debates:
        whole.labels[debate.pk] = view.verdicts.agent_outcomes[debate.pk]
        whole.orders[debate.pk] = debate.order
        whole.decide(whole.labels[debate.pk], debate.calls, debate.cost)
        for agent in debate.agents:
            whole.read(agent.statuses, agent.disagreements)
    return [*evaluators.values(), whole] if view.debates else []


def _add_independent_votes(evaluators: dict[str, Evaluator], debate: DebateDecision) -> None:
    votes = debate.votes.by_system(0)
    for (name, vote), agent in zip(votes.items(), debate.agents, strict=True):
        evaluator = evaluators.setdefault(
            f"independent:{name}", Evaluator(f"independent:{name}", name, "independent", judges=(name,))
        )
        evaluator.labels[debate.pk], evaluator.orders[debate.pk] = vote, debate.order
        evaluator.decide(vote, 1, agent.independent_cost)
        evaluator.read(agent.statuses, agent.disagreements)


def _add_baselines(evaluators: dict[str, Evaluator], view: View, sets: Mapping[int, SetFacts]) -> None:
    rivals = baseline_sets_of(sets.values())
    subjects: dict[tuple[int, int, str], list[tuple[int, int]]] = defaultdict(list)  # with 1 as they are, -1 turned
    for debate in view.debates:
        a, b, criterion = debate.subject
        subjects[a, b, criterion].append((debate.pk, 1))
        subjects[b, a, criterion].append((debate.pk, -1))
    counted: dict[str, dict[int, tuple[DebateDecision, int]]] = defaultdict(dict)  # of each debate the newest
    for decision in decisions_of(rivals):
        times = f" ×{decision.debate_set.samples}" if decision.debate_set.samples > 1 else ""
        counted[f"{Method(decision.debate_set.method).label}{times}: {', '.join(decision.debate_set.judges)}"] |= {
            debate_id: (decision, sign) for debate_id, sign in subjects.get(decision.subject, ())
        }
    for name, by_debate in counted.items():
        decisions = {decision.pk: decision for decision, _ in by_debate.values()}
        if decisions:
            judges = next(iter(decisions.values())).debate_set.judges
            evaluator = evaluators[f"method:{name}"] = Evaluator(f"method:{name}", name, "method", judges=judges)
        for debate_id, (decision, sign) in by_debate.items():
            verdict = decision.stored_verdict
            evaluator.labels[debate_id] = None if verdict is None else sign * verdict
            evaluator.orders[debate_id] = decision.order if sign == 1 else 1 - decision.order
        for decision in decisions.values():  # one may be about the pair of several debates
            evaluator.decide(decision.stored_verdict, decision.calls, decision.cost)
            for agent in decision.agents:
                evaluator.read(agent.statuses, agent.disagreements)


def _add_scores(evaluators: dict[str, Evaluator], view: View) -> None:
    preferences = scored_preferences([debate.responses for debate in view.debates])
    for name, signs in preferences.items():
        labels: dict[int, Label] = {
            debate.pk: signs[debate.responses] for debate in view.debates if debate.responses in signs
        }
        evaluators[f"scores:{name}"] = Evaluator(f"scores:{name}", name, "scores", labels, cost=None)


def label_weights(items: Sequence[int], view: View) -> dict[int, float]:
    """Return for how many debates each label by people stands: 1 where it was routed, else N / n of those agreed.

    Debates whose sets were audited at different rates are counted apart.
    """
    weights = {item: 1.0 for item in items if item in view.verdicts.open and item in view.verdicts.people}
    agreed: dict[float, list[int]] = defaultdict(list)
    for item in items:
        if item not in view.verdicts.open:
            agreed[view.verdicts.rates.get(item, 0.0)].append(item)
    for group in agreed.values():
        audited = [item for item in group if item in view.verdicts.people]
        weights |= {item: len(group) / len(audited) for item in audited}
    return weights


KINDS = {"independent": "single judge in the debates", "method": "baseline", "scores": "scores", "debate": "debate"}


def column_names(content: ReportContent) -> dict[str, str]:
    """Return one name per evaluator that no other has: its own, with its kind where two share it."""
    names = [evaluator["name"] for evaluator in content["evaluators"]]
    return {
        evaluator["key"]: evaluator["name"]
        if names.count(evaluator["name"]) == 1
        else f"{evaluator['name']} ({KINDS[evaluator['kind']]})"
        for evaluator in content["evaluators"]
    }


BAR_WIDTH = 600  # of the whole of all debates, in the drawing's units
GAP = 2
CHARACTER_WIDTH = 7  # at most, of the words under a bar
MOST_PERCENT = " 100%"


def round_bars(rows: Sequence[ReportContent]) -> list[ReportContent]:
    """Return one rectangle per round side by side, as wide as its share of the debates, with its words."""
    total = sum(row["n"] for row in rows)
    bars, x = [], 0.0
    for row in rows:
        width = BAR_WIDTH * row["n"] / total if total else 0.0
        number = row["round"]
        name = "never" if number is None else "independent round" if number == 0 else f"round {number}"
        share = row["n"] / total if total else 0.0
        bars.append(
            {
                "x": round(x, 1),
                "width": round(max(width - GAP, 0.0), 1),
                "middle": round(x + width / 2, 1),
                "n": row["n"],
                "name": name,
                "share": share,
                "key": NEVER if number is None else str(number),
                "tone": "none" if number is None else str(min(int(number), 3)),
                "fits": width > CHARACTER_WIDTH * len(name + MOST_PERCENT),
            }
        )
        x += width
    return bars


def cell_rows(content: ReportContent) -> list[ReportContent]:
    """Return the cells with one entry per evaluator but the debate: its agreement, shaded, and the system level."""
    keys = [evaluator["key"] for evaluator in content["evaluators"]]
    return [
        cell
        | {
            "entries": [_entry(key, cell["evaluators"].get(key)) for key in keys if key != "debate"],
            "people_entries": [_entry(key, cell["people"].get(key)) for key in keys],
        }
        for cell in content["cells"]
    ]


def _entry(key: str, agreement: ReportContent | None) -> ReportContent | None:
    if agreement is None:
        return None
    return agreement | {"key": key, "shade": shade(agreement["example"]["value"])}


def win_rows(content: ReportContent) -> list[ReportContent]:
    """Return A's win rates by pair: one row per source with its interval, people first where they have spoken."""
    names = {evaluator["key"]: evaluator["name"] for evaluator in content["evaluators"]}
    rows = []
    for pair in content["wins"]:
        sources = [(key, names[key], figure) for key, figure in pair["evaluators"].items() if figure["n"]]
        if pair["people"]["n"]:
            sources.insert(0, (PEOPLE, "People", pair["people"]))
        rows.append({"pair": pair["pair"], "sources": sources})
    return rows


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
