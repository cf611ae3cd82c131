"""How much of a random audit people have decided, and between which ends the rest leaves the mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from debate.models import DebateSet
from evalsite.review.models import Referral
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.labels.audits import AuditSubject
from evalsite.review.selectors.labels.final_labels import blind_shares
from evalsite.review.subject_keys import is_turned
from judging.models import Run


@dataclass(frozen=True, slots=True)
class AuditedSystem:
    """The audit of one system under one criterion, or of the debates of two systems; the unit is the case."""

    name: str
    decided: int
    drawn: int
    mean: float | None  # of the decided cases, from 0 to 1; None: none, or labels without numbers
    worst: float | None  # with every undecided case at 0
    best: float | None  # with every undecided case at 1


Told = tuple[str, int, float | None, bool]  # system, case, share, whether it is decided


def audited_systems(subject: AuditSubject) -> list[AuditedSystem]:
    """Return what people have decided of each system's drawn cases, by name. Two queries."""
    if subject.run is not None:
        told = _of_run(subject.run)
    elif subject.debate_set is not None:
        told = _of_debates(subject.debate_set)
    else:
        raise ValueError("an audit of nothing")
    cases: dict[str, dict[int, list[tuple[float | None, bool]]]] = defaultdict(lambda: defaultdict(list))
    for name, case, share, is_decided in told:
        cases[name][case].append((share, is_decided))
    return [_system(name, own) for name, own in sorted(cases.items())]


def _of_run(run: Run) -> Iterator[Told]:
    drawn = Referral.objects.filter(run=run, arm=ItemArm.AUDIT)
    shares = blind_shares(drawn)
    fields = ("subject_id", "response__system__name", "subject__criterion", "response__prompt_id")
    rows = list(drawn.order_by().values_list(*fields))
    several = len({criterion for _, _, criterion, _ in rows}) > 1
    for subject_id, system, criterion, case in rows:
        name = f"{system}, {criterion or 'whole rubric'}" if several else str(system)
        yield name, case or 0, shares.get(subject_id), subject_id in shares


def _of_debates(debate_set: DebateSet) -> Iterator[Told]:
    drawn = Referral.objects.filter(debate_set=debate_set, arm=ItemArm.AUDIT, debate__isnull=False)
    shares = blind_shares(drawn)
    texts = ("debate__response_a__text_hash", "debate__response_b__text_hash")
    name = f"{debate_set.system_a} better than {debate_set.system_b}, ties half"
    for subject_id, case, first, second in drawn.order_by().values_list("subject_id", "debate__case_id", *texts):
        share = shares.get(subject_id)
        if share is not None and is_turned((str(first), str(second))):
            share = 1.0 - share
        yield name, case or 0, share, subject_id in shares


def _system(name: str, cases: Mapping[int, list[tuple[float | None, bool]]]) -> AuditedSystem:
    """Return one row; a case of which something is undecided is undecided."""
    decided = [rows for rows in cases.values() if all(is_decided for _, is_decided in rows)]
    shares = [[share for share, _ in rows if share is not None] for rows in decided]
    drawn, missing = len(cases), len(cases) - len(decided)
    if not all(shares):  # labels that are names have no mean
        return AuditedSystem(name, len(decided), drawn, None, None, None)
    total = sum(sum(own) / len(own) for own in shares)
    mean = total / len(decided) if decided else None
    return AuditedSystem(name, len(decided), drawn, mean, total / drawn, (total + missing) / drawn)
