"""Debates with the labels that people gave them, written in bulk from their votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from debate.models import Agent, Debate, DebateSet, DebateStatus, Statement
from evalsite.review.models import FinalLabel, Provenance, Referral
from evalsite.review.questions.scales import PREFERENCE, PREFERENCE_SHARES
from evalsite.review.selectors.subjects import RubricParts, subject_facts
from evalsite.review.services.run_referrals import store_subjects
from judging.models import Case, Prompt, Response, System
from judging.stored_content import text_hash, turned_label
from tests import factories
from tests.factories import NOON

_numbers = count(1)
Votes = tuple[tuple[int | None, ...], ...]  # by round and agent


@dataclass(frozen=True, slots=True)
class Part:
    """So many debates with the same votes and people's label: None if they did not label them."""

    size: int
    votes: Votes
    people: int | None = None

    @property
    def is_agreed(self) -> bool:
        return len(set(self.votes[-1])) == 1 and self.votes[-1][0] is not None


def store_debates(owner: DebateSet, parts: Sequence[Part]) -> list[Debate]:
    """Store debates over new cases; a label of one that agreed is the audit's, of another one a referral's."""
    made = [part for part in parts for _ in range(part.size)]
    cases = _cases(len(made))
    sides = [_responses(system, cases) for system in (owner.system_a, owner.system_b)]
    debates = Debate.objects.bulk_create(
        Debate(
            debate_set=owner,
            case=case,
            response_a=a,
            response_b=b,
            seed=0,
            status=DebateStatus.AGREED if part.is_agreed else DebateStatus.UNRESOLVED,
            verdict=part.votes[-1][0] if part.is_agreed else None,
            agreed_round=len(part.votes) - 1 if part.is_agreed else None,
            round_count=len(part.votes) - 1,
            finished_at=NOON,
        )
        for part, case, a, b in zip(made, cases, *sides, strict=True)
    )
    _vote(debates, made)
    label_debates(debates, [part.people for part in made])
    return debates


def _cases(size: int) -> list[Case]:
    owner = factories.benchmark()
    prompts = Prompt.objects.bulk_create(
        Prompt(benchmark=owner, key=f"case-{n}", content_hash=f"{next(_numbers):064x}", text="?") for n in range(size)
    )
    return Case.objects.bulk_create(
        Case(prompt=prompt, key=prompt.key, content_hash=f"{next(_numbers):064x}", created_at=NOON)
        for prompt in prompts
    )


def _responses(system: System, cases: Sequence[Case]) -> list[Response]:
    texts = [f"Response of {system.name} to {case.content_hash}." for case in cases]
    return Response.objects.bulk_create(
        Response(prompt=case.prompt, system=system, text=text, text_hash=text_hash(text), imported_at=NOON)
        for case, text in zip(cases, texts, strict=True)
    )


def _vote(debates: Sequence[Debate], made: Sequence[Part]) -> None:
    agents = Agent.objects.bulk_create(
        Agent(debate=debate, number=agent_number, name=f"judge-{agent_number}")
        for debate, part in zip(debates, made, strict=True)
        for agent_number in range(1, len(part.votes[0]) + 1)
    )
    votes = {debate.pk: part.votes for debate, part in zip(debates, made, strict=True)}
    Statement.objects.bulk_create(
        Statement(
            agent=agent,
            round=number,
            text="Reasons.",
            verdict=given[agent.number - 1],
            status="none" if given[agent.number - 1] is None else "final_line",
            created_at=NOON,
        )
        for agent in agents
        for number, given in enumerate(votes[agent.debate_id])
    )


def label_debates(debates: Sequence[Debate], labels: Sequence[int | None]) -> None:
    """Store people's final labels with the referrals that debates come to people by; None: not labelled."""
    part = RubricParts().get(None, case_key="", criterion="")
    asked = [(debate, label) for debate, label in zip(debates, labels, strict=True) if label is not None]
    facts = [
        subject_facts(
            responses=[debate.response_a, debate.response_b],
            case=debate.case,
            part=part,
            criterion=debate.debate_set.criterion,
            labels=PREFERENCE,
        )
        for debate, _ in asked
    ]
    subjects = store_subjects(facts=facts, at=NOON)
    agreed = [debate for debate in debates if debate.status == DebateStatus.AGREED]
    chance = sum(debate.status == DebateStatus.AGREED for debate, _ in asked) / max(len(agreed), 1)
    Referral.objects.bulk_create(
        Referral(
            subject=subjects[fact.key],
            debate_set=debate.debate_set,
            debate=debate,
            created_at=NOON,
            **(
                {"arm": "audit", "reason": "audit", "inclusion_probability": chance}
                if debate.status == DebateStatus.AGREED
                else {"arm": "routed", "reason": "unresolved_debate"}
            ),
        )
        for fact, (debate, _) in zip(facts, asked, strict=True)
    )
    words = [turned_label(str(label), turned=fact.is_turned) for fact, (_, label) in zip(facts, asked, strict=True)]
    FinalLabel.objects.bulk_create(
        FinalLabel(
            subject=subjects[fact.key],
            label=word,
            share=PREFERENCE_SHARES[word],
            provenance=Provenance.MAJORITY,
            is_blind=True,
            decided_at=NOON,
        )
        for fact, word in zip(facts, words, strict=True)
    )
