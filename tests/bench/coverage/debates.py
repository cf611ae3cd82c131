"""Debates and the arena: agreement with people and with outcomes, win rates, strengths and ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from tests.bench.coverage.tallies import Claim, Kind, Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
WITH_PEOPLE = Kind("Debates: agreement with people, agents and debate")
WITH_OUTCOMES = Kind("Debates: agreement of agents with outcomes")
AGREED_SHARE = Kind("Debates: share that agreed")
WINS = Kind("Debates: win rate by outcomes or votes of one agent")
PEOPLE_WINS = Kind("Debates: win rate by human labels")
DIFFERENCE = Kind("Debates: difference of two in agreement with people")
APART = Kind("Debates: equal agents separated", Claim.FALSE)
OUTCOMES_IN_A_CELL = Kind("Debates: agreement with outcomes in one pair of systems")
IN_A_CELL = Kind("Debates: agreement in one pair of systems")
SYSTEM_LEVEL = Kind("Debates: pairs of systems with the same most frequent label")
STAYS = Kind("Debates: agents that keep their verdict or join the others")
STRENGTH = Kind("Arena: Bradley-Terry strength by outcomes")
PEOPLE_STRENGTH = Kind("Arena: Bradley-Terry strength by human labels")
RANKS = Kind("Arena: rank sets, all systems at once", Claim.BOUND)
LABELS = np.array([1, 0, -1])
AGENTS = ("Ada", "Bob", "Cy")
TIES = 0.15


@dataclass(frozen=True, slots=True)
class DebateCell:
    """One population: how far systems are apart, what debates and agents get right, and the sizes."""

    systems: int
    cases: int
    audited: int
    spread: float = 0.0  # log odds between the best and the worst system
    waiting: float = 0.2  # share of debates that did not agree
    error: float = 0.1  # of debates that agreed
    one_sided: bool = False  # its errors always favour the first system
    accuracy: tuple[float, ...] = (0.7, 0.7, 0.7)  # of the agents on their own
    hardness: float = 0.0  # by how much accuracy varies between cases, for all agents alike

    def __str__(self) -> str:
        words = [
            f"{self.systems} systems",
            f"{self.spread:.1f} apart" if self.spread else "",
            f"{self.audited} of {self.cases} cases",
            f"{self.waiting:.0%} without agreement",
            f"{self.error:.0%} wrong{', one way' if self.one_sided else ''}",
            "hard and easy cases" if self.hardness else "",
            "unequal agents" if len(set(self.accuracy)) > 1 else "",
        ]
        return "; ".join(word for word in words if word)

    @property
    def cost(self) -> int:
        """Milliseconds that one board takes, roughly."""
        return len(self.pairs) * self.cases * 3

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(self.systems), 2))

    @property
    def wanted(self) -> Floats:
        """People's shares of first better, neither, second better, by pair."""
        strengths = np.linspace(self.spread / 2, -self.spread / 2, self.systems)
        better = np.array([scipy.special.expit(strengths[i] - strengths[j]) for i, j in self.pairs])
        return np.stack([(1 - TIES) * better, np.full(len(better), TIES), (1 - TIES) * (1 - better)], axis=1)

    @property
    def decided(self) -> Floats:
        """The chance of each label of a debate that agreed, by people's label."""
        if self.one_sided:
            return (1 - self.error) * np.eye(3) + self.error * np.array([[1.0, 0, 0]] * 3)
        return (1 - self.error) * np.eye(3) + self.error / 2 * (1 - np.eye(3))

    def run(self, tally: Tally, boards: int, random: np.random.Generator) -> None:
        """Count what holds on so many boards."""
        stored = store_debates(self, random)
        for tally.board in range(boards):
            stored.refill(self.draw(random))
            self.count_debates(tally)
            self.count_moves(tally, stored.debates[0, 0].debate_set)
            self.count_arena(tally, stored.systems, "unanimous")
            self.count_arena(tally, stored.systems, "human")
        tally.count_pooled()

    def draw(self, random: np.random.Generator) -> Drawn:
        """Return what people, debates and agents say; places of labels, pairs x cases (x agents)."""
        shape = (len(self.pairs), self.cases)
        people = _picked(self.wanted[:, None, :], random.random(shape))
        verdicts = _picked(self.decided[people], random.random(shape))
        waits = random.random(shape) < self.waiting
        hard = random.uniform(-self.hardness, self.hardness, self.cases)[None, :, None]
        is_right = random.random((*shape, 3)) < np.array(self.accuracy) + hard
        other = (people[:, :, None] + random.integers(1, 3, (*shape, 3))) % 3
        openings = np.where(is_right, people[:, :, None], other)
        mixed = random.permuted(np.broadcast_to(np.arange(3), (*shape, 3)), axis=2)
        votes = np.where(waits[:, :, None], mixed, verdicts[:, :, None])
        return Drawn(people, verdicts, waits, openings, votes)

    def right_with(self, accuracy: float) -> float:
        """Return how often an agent says what a debate that agreed decided."""
        speaks = accuracy * np.eye(3) + (1 - accuracy) / 2 * (1 - np.eye(3))
        by_label = (speaks * self.decided).sum(axis=1)
        return float((self.wanted @ by_label).mean())

    def points(self, says: Floats) -> Floats:
        """Return the first system's points by pair, where this is the chance of each label by people's label."""
        points: Floats = self.wanted @ says @ ((1 + LABELS) / 2)
        return points

    def count_debates(self, tally: Tally) -> None:
        """Compute the meta-evaluation and count what holds."""
        from evalsite.reports.services.debate_reports import compute_debates

        found = compute_debates(0, {}).content
        agreed = float((self.wanted @ np.diag(self.decided)).mean())
        accuracy = dict(zip(AGENTS, self.accuracy, strict=True)) | {"Debate": agreed}
        tally.interval(AGREED_SHARE, found["people"]["agreed_share"], 1 - self.waiting)
        tally.interval(WITH_PEOPLE, found["people"]["agreed_debates"], agreed)
        for row in found["evaluators"]:
            truth = accuracy[row["name"]]
            tally.interval(WITH_PEOPLE, row["people_decided"], truth)
            if row["kind"] == "independent":
                tally.interval(WITH_PEOPLE, row["people"], truth)
                equal = self.right_with(truth)
                tally.interval(WITH_OUTCOMES, row["example"], equal)
                tally.interval(WITH_OUTCOMES, row["of_all"], equal * (1 - self.waiting))
                tally.interval(WITH_OUTCOMES, row["leave_one_out"], equal)
                tally.note(SYSTEM_LEVEL, row["name"], row["system"])
        self.count_wins(tally, found["wins"])
        self.count_cells(tally, found["cells"], accuracy)
        self.count_pairs(tally, found["pairs"], accuracy)

    def count_wins(self, tally: Tally, rows: Sequence[Mapping[str, Any]]) -> None:
        """Count win rates by pair of systems."""
        people, debate = self.points(np.eye(3)), self.points(self.decided)
        for place, row in enumerate(sorted(rows, key=lambda row: row["pair"])):
            tally.interval(PEOPLE_WINS, row["people"], float(people[place]))
            tally.interval(WINS, row["evaluators"]["debate"], float(debate[place]))
            for name, accuracy in zip(AGENTS, self.accuracy, strict=True):
                says = self.points(accuracy * np.eye(3) + (1 - accuracy) / 2 * (1 - np.eye(3)))
                tally.interval(WINS, row["evaluators"][f"independent:{name}"], float(says[place]))

    def count_cells(self, tally: Tally, rows: Sequence[Mapping[str, Any]], accuracy: Mapping[str, float]) -> None:
        """Count agreement with people by pair of systems."""
        for row in rows:
            for name in AGENTS:
                tally.interval(IN_A_CELL, row["people"][f"independent:{name}"]["example"], accuracy[name])
                if not self.one_sided:  # then it is another share for each pair
                    equal = self.right_with(accuracy[name])
                    tally.interval(OUTCOMES_IN_A_CELL, row["evaluators"][f"independent:{name}"]["example"], equal)

    def count_pairs(self, tally: Tally, rows: Sequence[Mapping[str, Any]], accuracy: Mapping[str, float]) -> None:
        """Count paired differences, and whether equal agents are told apart."""
        for row in rows:
            tally.interval(DIFFERENCE, row["difference"], accuracy[row["first"]] - accuracy[row["second"]])
        equal = [row for row in rows if accuracy[row["first"]] == accuracy[row["second"]]]
        if equal:
            tally.add(APART, any(row["separated"] for row in equal))

    def count_moves(self, tally: Tally, debate_set: Any) -> None:
        """Count how agents take it that others differ, as the page of a set shows it."""
        from debate.selectors import conformity_of

        for agent in conformity_of(debate_set)[0]:
            for name, share in (("keeps", agent.stubbornness), ("joins", agent.conformity)):
                low, high = share.interval or (None, None)
                found = {"value": share.value, "low": low, "high": high, "n": share.n}
                tally.note(STAYS, (agent.judge, name), found)

    def count_arena(self, tally: Tally, names: Sequence[str], rule: str) -> None:
        """Compute the ranking under a rule and count what holds."""
        from evalsite.reports.services.debate_reports import compute_arena

        found = compute_arena(0, {"rule": rule})
        by_people = rule == "human"
        points = self.points(np.eye(3) if by_people else self.decided)
        wins = PEOPLE_WINS if by_people else WINS
        order = {(names[i], names[j]): float(points[place]) for place, (i, j) in enumerate(self.pairs)}
        for pair in found["pairs"]:
            tally.interval(wins, pair["win_rate"], order[pair["first"], pair["second"]])
        rows = {row["system"]: row for row in found["whole"]["rows"]}
        if not rows:
            return
        truth = fitted_strengths(self.pairs, points, self.systems)
        held = []
        for place, name in enumerate(names):
            met = [order.get((name, other), 1 - order.get((other, name), 0)) for other in names if other != name]
            tally.interval(wins, rows[name]["win_rate"], float(np.mean(met)))
            tally.interval(PEOPLE_STRENGTH if by_people else STRENGTH, rows[name]["strength"], float(truth[place]))
            first, last = rows[name]["ranks"]
            above = int((truth > truth[place] + 1e-6).sum())
            held.append(first <= above + int((np.abs(truth - truth[place]) <= 1e-6).sum()) and last > above)
        tally.add(RANKS, all(held))


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was said of every debate, as places in LABELS."""

    people: Ints
    verdicts: Ints
    waits: NDArray[np.bool_]
    openings: Ints
    votes: Ints


def _picked(chances: Floats, numbers: Floats) -> Ints:
    """Return a place of the last axis for each number from 0 to 1."""
    picked: Ints = (numbers[..., None] > np.cumsum(chances, axis=-1)[..., :-1]).sum(axis=-1)
    return picked


def fitted_strengths(pairs: Sequence[tuple[int, int]], points: Floats, systems: int) -> Floats:
    """Return the strengths, with mean 0, that fit the true points of all pairs best, each pair counting the same."""
    design = np.zeros((len(pairs), systems))
    for row, (first, second) in enumerate(pairs):
        design[row, first], design[row, second] = 1, -1
    values, middle = np.zeros(systems), np.ones((systems, systems)) / systems
    for _ in range(100):
        expected = scipy.special.expit(design @ values)
        curvature = (design * (expected * (1 - expected))[:, None]).T @ design
        values = values + np.linalg.solve(curvature + middle, design.T @ (points - expected))
    fitted: Floats = values - values.mean()
    return fitted


@dataclass(frozen=True, slots=True)
class StoredDebates:
    """Debates whose votes and labels can be replaced."""

    systems: Sequence[str]
    debates: NDArray[np.object_]  # rows, pairs x cases
    subjects: NDArray[np.object_]  # (key of the subject, whether the debate's pair is turned in it)
    statements: Ints  # keys, pairs x cases x agents x rounds
    is_audited: NDArray[np.bool_]  # by case

    def show(self, orders: Ints) -> None:
        """Store which response was shown first, 0 for the first system's; pairs x cases."""
        from django.db import connection

        rows = [(order, debate.pk) for debate, order in zip(self.debates.ravel(), orders.ravel().tolist(), strict=True)]
        with connection.cursor() as cursor:
            cursor.executemany("UPDATE debate_debate SET response_order = %s WHERE id = %s", rows)

    def refill(self, drawn: Drawn) -> None:
        """Store other votes, outcomes and labels."""
        from django.db import connection

        said = np.stack([LABELS[drawn.openings], LABELS[drawn.votes]], axis=-1)
        ended = [
            ("unresolved" if waits else "agreed", None if waits else int(LABELS[verdict]), debate.pk)
            for debate, waits, verdict in zip(
                self.debates.ravel(), drawn.waits.ravel(), drawn.verdicts.ravel(), strict=True
            )
        ]
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE debate_statement SET verdict = %s WHERE id = %s",
                list(zip(said.ravel().tolist(), self.statements.ravel().tolist(), strict=True)),
            )
            cursor.executemany("UPDATE debate_debate SET status = %s, verdict = %s WHERE id = %s", ended)
        self._label(drawn)

    def _label(self, drawn: Drawn) -> None:
        from evalsite.review.models import FinalLabel, Provenance
        from evalsite.review.questions.scales import PREFERENCE_SHARES
        from judging.stored_content import turned_label
        from tests.factories import NOON

        FinalLabel.objects.filter(item=None).delete()
        rows = []
        is_asked = (drawn.waits | self.is_audited[None, :]).ravel()
        for (subject_id, is_turned), label, asked in zip(
            self.subjects.ravel(), LABELS[drawn.people].ravel(), is_asked, strict=True
        ):
            if asked:
                word = turned_label(str(label), turned=is_turned)
                share = PREFERENCE_SHARES[word]
                about = {"provenance": Provenance.MAJORITY, "is_blind": True, "decided_at": NOON}
                rows.append(FinalLabel(subject_id=subject_id, label=word, share=share, **about))
        FinalLabel.objects.bulk_create(rows)


def store_debates(cell: DebateCell, random: np.random.Generator) -> StoredDebates:
    """Store a set of debates for each pair of systems over the same cases, the first of which are audited."""
    from tests import factories

    systems = sorted((factories.system() for _ in range(cell.systems)), key=lambda system: system.name)
    suite = factories.suite(cases=cell.cases)
    cases = list(suite.cases.order_by("pk").select_related("prompt"))
    responses = {system.pk: _responses(system, cases) for system in systems}
    debates = [
        _debates(systems[i], systems[j], cases, (responses[systems[i].pk], responses[systems[j].pk]), random)
        for i, j in cell.pairs
    ]
    is_audited = np.arange(cell.cases) < cell.audited
    subjects = [_subjects(own, is_audited) for own in debates]
    statements = np.array([_statements(own) for own in debates], dtype=np.int64)
    table = np.empty((len(debates), cell.cases), dtype=object)
    keys = np.empty_like(table)
    for row in range(len(debates)):
        table[row, :] = debates[row]
        for column, subject in enumerate(subjects[row]):
            keys[row, column] = subject
    return StoredDebates([system.name for system in systems], table, keys, statements, is_audited)


def _responses(system: Any, cases: Sequence[Any]) -> list[Any]:
    from judging.models import Response
    from judging.stored_content import text_hash
    from tests.factories import NOON

    texts = [f"Response of {system.name} to {case.key}." for case in cases]
    return Response.objects.bulk_create(
        Response(prompt=case.prompt, system=system, text=text, text_hash=text_hash(text), imported_at=NOON)
        for case, text in zip(cases, texts, strict=True)
    )


def _debates(
    first: Any, second: Any, cases: Sequence[Any], responses: tuple[list[Any], list[Any]], random: np.random.Generator
) -> list[Any]:
    from debate.models import Debate, DebateStatus
    from tests import factories

    owner = factories.debate_set(system_a=first, system_b=second, setup={"endpoints": list(AGENTS)})
    orders = random.integers(0, 2, len(cases)).tolist()
    return Debate.objects.bulk_create(
        Debate(
            debate_set=owner,
            case=case,
            response_a=a,
            response_b=b,
            seed=1,
            response_order=order,
            status=DebateStatus.UNRESOLVED,
            round_count=1,
            finished_at=factories.NOON,
        )
        for case, a, b, order in zip(cases, *responses, orders, strict=True)
    )


def _subjects(debates: Sequence[Any], is_audited: NDArray[np.bool_]) -> list[tuple[int, bool]]:
    """Store the subject of each debate, and the audit's referrals; return keys, and which pairs are turned."""
    from evalsite.review.models import Referral
    from evalsite.review.questions.scales import PREFERENCE
    from evalsite.review.selectors.subjects import RubricParts, subject_facts
    from evalsite.review.services.run_referrals import store_subjects
    from tests.factories import NOON

    part = RubricParts().get(None, case_key="", criterion="")
    criterion = debates[0].debate_set.criterion
    facts = [
        subject_facts(
            responses=[debate.response_a, debate.response_b],
            case=debate.case,
            part=part,
            criterion=criterion,
            labels=PREFERENCE,
        )
        for debate in debates
    ]
    subjects = store_subjects(facts=facts, at=NOON)
    about = {"arm": "audit", "reason": "audit", "inclusion_probability": float(is_audited.mean()), "created_at": NOON}
    Referral.objects.bulk_create(
        Referral(subject=subjects[one.key], debate_set=debate.debate_set, debate=debate, **about)
        for one, debate, is_drawn in zip(facts, debates, is_audited, strict=True)
        if is_drawn
    )
    return [(subjects[one.key].pk, one.is_turned) for one in facts]


def _statements(debates: Sequence[Any]) -> list[list[list[int]]]:
    """Store three agents with two rounds each; return the statements' keys by debate, agent and round."""
    from debate.models import Agent, Statement
    from tests.factories import NOON

    agents = Agent.objects.bulk_create(
        Agent(debate=debate, number=agent_number, name=name)
        for debate in debates
        for agent_number, name in enumerate(AGENTS, 1)
    )
    statements = Statement.objects.bulk_create(
        Statement(agent=agent, round=number, verdict=1, status="final_line", created_at=NOON)
        for agent in agents
        for number in (0, 1)
    )
    return np.array([one.pk for one in statements]).reshape(len(debates), 3, 2).tolist()


CELLS = (
    *(DebateCell(2, 100, audited) for audited in (20, 30, 60, 100)),
    *(DebateCell(2, 120, 40, waiting=waiting, error=0.2) for waiting in (0.05, 0.5)),
    DebateCell(2, 120, 30, spread=2.0, error=0.0),
    DebateCell(2, 120, 20, spread=3.0, error=0.1, one_sided=True),
    *(DebateCell(3, 80, audited, hardness=0.25) for audited in (20, 40)),
    DebateCell(3, 80, 40, spread=1.5, accuracy=(0.6, 0.7, 0.8), hardness=0.15),
    DebateCell(3, 100, 30, spread=2.0, one_sided=True, error=0.2),
    DebateCell(5, 40, 30, spread=2.0),
    DebateCell(8, 20, 20, hardness=0.15),  # 28 pairs of systems
)
QUICK = (DebateCell(3, 35, 30, hardness=0.2),)
