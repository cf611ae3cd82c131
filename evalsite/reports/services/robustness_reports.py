"""What damage to a criterion's text does to each judge of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from debate.models import Debate, DebateSet, DecisionMethod
from debate.protocol.metaeval import OutcomeRule, outcome_of
from debate.protocol.variants import Damage, Robustness, robustness
from evalsite.reports.selectors.debate_votes import (
    INTACT,
    Decision,
    debates_mark,
    decisions_of,
    people_said,
    sets_by_id,
)
from evalsite.reports.selectors.options import Options
from evalsite.reports.services.debate_reports import READ, REFUSED
from evalsite.reports.services.payloads import Payload, figure
from evalsite.reports.services.snapshots import ReportKind
from evalsite.reports.statistics.estimates import Estimate, undefined
from evalsite.reports.statistics.intervals import wilson

Subject = tuple[int, int]
Label = int | None
NOTHING_COMPARED = "No pair has a verdict under both texts."
NO_OUTCOME = "No pair has an outcome to agree with."
WORDS = {
    Damage.NONE: "as it is",
    Damage.SHORTENED: "shortened",
    Damage.GIBBERISH: "letters replaced by symbols",
    Damage.SHUFFLED: "words shuffled",
    Damage.FLIPPED: "words written backwards",
    Damage.MASKED: "letters masked",
}


@dataclass(slots=True)
class Condition:
    """One judge under one text of the criterion."""

    labels: dict[Subject, Label] = field(default_factory=dict)
    statements: int = 0
    refused: int = 0
    unread: int = 0


def compute_robustness(experiment_id: int, options: Options) -> Payload:
    """Return, for each judge and damage, agreement with the outcomes, change against the intact text, and refusals."""
    own = sets_by_id(DebateSet.objects.filter(experiment=experiment_id).values_list("pk", flat=True))
    decisions = decisions_of(own)
    conditions = _conditions(decisions)
    judges = sorted({judge for judge, _ in conditions})
    reference, source = _reference(decisions)
    return {
        "damages": [{"name": damage.value, "words": WORDS[damage]} for damage in Damage],
        "reference": source,
        "outcomes": len(reference),
        "n": len({one.responses for one in decisions}),
        "judges": [_judge_row(judge, conditions, reference) for judge in judges],
    }


def _conditions(decisions: Sequence[Decision]) -> dict[tuple[str, Damage], Condition]:
    found: dict[tuple[str, Damage], Condition] = {}
    for one in decisions:
        damage = Damage(one.owner.damage or Damage.NONE)
        for (name, vote), seat in zip(one.ballot.by_system(0).items(), one.seats, strict=True):
            condition = found.setdefault((name, damage), Condition())
            condition.labels[one.responses] = vote
            condition.statements += len(seat.statuses)
            condition.refused += sum(status in REFUSED for status in seat.statuses)
            condition.unread += sum(status not in READ and status not in REFUSED for status in seat.statuses)
    return found


def _reference(decisions: Sequence[Decision]) -> tuple[dict[Subject, int], str]:
    """Return what the judges are held against: people's labels and unanimous debates over the same pairs.

    Where there are neither, it is empty: then only the change against the intact text can be told.
    """
    if not decisions:
        return {}, ""
    owner = decisions[0].owner
    debates = {
        pk: one
        for pk, one in sets_by_id(method=DecisionMethod.DEBATE).items()
        if (one.system_a, one.system_b) == (owner.system_a, owner.system_b)
        and one.damage in INTACT
        and one.criterion_key == owner.criterion_key
    }
    wanted = {one.responses for one in decisions}
    held = [one for one in decisions_of(debates) if one.responses in wanted]
    agreed = {
        one.responses: outcome for one in held if (outcome := outcome_of(one.ballot, OutcomeRule.UNANIMOUS)) is not None
    }
    people = people_said([one.pk for one in held]).final
    labelled = {one.responses: people[one.pk] for one in held if one.pk in people}
    if labelled:
        return agreed | labelled, "people's labels, and debates in which all speakers agreed"
    return agreed, "debates in which all speakers agreed" if agreed else ""


def _judge_row(
    judge: str, conditions: Mapping[tuple[str, Damage], Condition], reference: Mapping[Subject, int]
) -> Payload:
    intact = conditions.get((judge, Damage.NONE), Condition())
    cells = [_cell(damage, intact, conditions.get((judge, damage), Condition()), reference) for damage in Damage]
    lost = [cell["words"] for cell in cells if cell["holds"] is False]
    return {"judge": judge, "cells": cells, "holds": not lost, "lost": lost}


def _cell(damage: Damage, intact: Condition, own: Condition, reference: Mapping[Subject, int]) -> Payload:
    subjects = [subject for subject in intact.labels if subject in own.labels]
    found = robustness(
        base=[intact.labels[subject] for subject in subjects],
        damaged=[own.labels[subject] for subject in subjects],
        outcomes=[reference.get(subject) for subject in subjects],
    )
    same = found.compared - found.changed
    return {
        "damage": damage.value,
        "words": WORDS[damage],
        "n": len(own.labels),
        "missing": sum(label is None for label in own.labels.values()),
        "refused": own.refused,
        "unread": own.unread,
        "agreement": figure(_agreement(found)),
        "same": figure(wilson(same, found.compared) if found.compared else undefined(NOTHING_COMPARED)),
        "lost": found.lost,
        "gained": found.gained,
        "p_value": found.p_value,
        "holds": None if damage is Damage.NONE or not found.damaged.n_with_outcome else found.holds,
    }


def _agreement(found: Robustness) -> Estimate:
    against = found.damaged
    return wilson(against.matches, against.n_with_outcome) if against.n_with_outcome else undefined(NO_OUTCOME)


def _mark(experiment_id: int, options: Options) -> str:
    return debates_mark()


def _size(experiment_id: int, options: Options) -> int:
    return Debate.objects.filter(debate_set__experiment=experiment_id).count() * 5


ROBUSTNESS = ReportKind("robustness", _mark, _size, compute_robustness)
