"""Final human labels as reports read them: found by content, with how each subject came to people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet

from debate.models import Debate, DebateSet
from debate.selectors.labels import outside_labels
from evalsite.review.models import FinalLabel, ItemArm, Provenance, Queue, Referral, Subject
from evalsite.review.scales import PREFERENCE, PREFERENCE_SHARES, Label, labels_from_json
from evalsite.review.selectors.audits import drawn_share, keys_of_debates, keys_of_run
from evalsite.review.selectors.subjects import RubricParts, SubjectFacts, first_cases, subject_facts
from evalsite.review.subject_keys import turned_label
from judging.models import Case, Response, Run, RunEvaluator, RunTask, Score

CHUNK = 5_000
RANKS = {Provenance.IMPORTED: 0, Provenance.MAJORITY: 1, Provenance.ADJUDICATION: 2}


@dataclass(frozen=True, slots=True)
class SubjectLabel:
    """One response, or the two of a debate, under a criterion, that was referred to people or has a label."""

    item_id: int | None  # to link to; None: the label was imported
    prompt_id: int
    case_key: str
    scenario: str
    language: str
    criterion: str
    response_ids: tuple[int, ...]  # one; of a debate A and B
    system_ids: tuple[int, ...]
    attempt: int  # of the first response
    debate_id: int | None
    label: str | None  # final and blind, a pair in the debate's own order; None: undecided, or informed only
    share: float | None  # the same from 0 to 1; None: no label, or one without a number
    provenance: str  # empty without a blind label
    informed_label: str | None  # beside it; never in a figure
    labels: tuple[Label, ...]  # the scale
    is_routed: bool  # a rule of this run or set sent it
    is_drawn: bool  # the audit of this run or set drew its case
    inclusion_probability: float | None  # of the draw


@dataclass(frozen=True, slots=True)
class DrawnCases:
    """The audit of a run or debate set, counted in cases."""

    population: int
    drawn: int
    seed: int


def drawn_cases(*, run: Run | None = None, debate_set: DebateSet | None = None) -> DrawnCases:
    """Return how many cases of a run or a set the audit has drawn."""
    if run is not None:
        seed, keys = keys_of_run(run)
    elif debate_set is not None:
        seed, keys = keys_of_debates(debate_set)
    else:
        raise ValueError("an audit of nothing")
    return DrawnCases(len(keys), round(drawn_share(run=run, debate_set=debate_set) * len(keys)), seed)


@dataclass(slots=True)
class _Referred:
    """What the referrals of one run or set say of one response or debate."""

    item_id: int | None = None
    subject_ids: tuple[int, ...] = ()
    is_routed: bool = False
    chance: float | None = None

    def add(self, referral: Referral) -> None:
        """Take one referral in; the newest item counts."""
        self.item_id = referral.item_id or self.item_id
        self.subject_ids = (*self.subject_ids, referral.subject_id)
        self.is_routed |= referral.arm == ItemArm.ROUTED
        self.chance = referral.inclusion_probability if referral.arm == ItemArm.AUDIT else self.chance


NOT_REFERRED = _Referred()


@dataclass(frozen=True, slots=True)
class _Known:
    """The final labels of one subject, in its own order."""

    label: str | None = None
    share: float | None = None
    provenance: str = ""
    item_id: int | None = None  # on which people decided
    informed: str | None = None
    labels: tuple[Label, ...] = ()  # the scale, where it is that of an earlier subject


NO_LABEL = _Known()


def labels_of_evaluators(evaluators: Sequence[RunEvaluator]) -> dict[int, list[SubjectLabel]]:
    """Return the labels of what evaluators judged, by evaluator, ordered by response.

    A label is found by content, whoever was asked for which run; arm and chance are those of the evaluator's own run.
    """
    found: dict[int, list[SubjectLabel]] = {}
    parts, by_suite = RubricParts(), dict[int, dict[int, Case]]()
    for evaluator in evaluators:
        run = evaluator.run
        if run.suite_id not in by_suite:
            by_suite[run.suite_id] = first_cases(run.suite_id)
        found[evaluator.pk] = list(_of_evaluator(evaluator, parts, by_suite[run.suite_id]))
    return found


def _of_evaluator(evaluator: RunEvaluator, parts: RubricParts, cases: Mapping[int, Case]) -> Iterator[SubjectLabel]:
    run, criterion = evaluator.run, evaluator.criterion
    if not Queue.objects.filter(run=run).exists():  # it has not been routed yet
        return
    referred = _referred(Referral.objects.filter(run=run, subject__criterion=criterion), "response_id")
    for ids in _chunks(_responses_of(evaluator, referred)):
        responses = Response.objects.filter(pk__in=ids).select_related("prompt").defer("text", "prompt__text")
        by_id = {response.pk: response for response in responses.order_by("pk")}
        facts = dict[int, SubjectFacts]()
        for pk, response in by_id.items():
            part = parts.get(evaluator.rubric_id, case_key=response.prompt.key, criterion=criterion)
            case = cases.get(response.prompt_id)
            facts[pk] = subject_facts(
                responses=[response], case=case, part=part, criterion=criterion, labels=part.labels
            )
        for pk, known in _labels_for({pk: one.key for pk, one in facts.items()}, referred).items():
            response, case, told_of = by_id[pk], cases.get(by_id[pk].prompt_id), referred.get(pk, NOT_REFERRED)
            yield SubjectLabel(
                item_id=told_of.item_id or known.item_id,
                prompt_id=response.prompt_id,
                case_key=response.prompt.key,
                scenario=case.scenario if case is not None else "",
                language=case.lang if case is not None else "",
                criterion=criterion,
                response_ids=(pk,),
                system_ids=(response.system_id,),
                attempt=response.attempt,
                debate_id=None,
                label=known.label,
                share=known.share,
                provenance=known.provenance,
                informed_label=known.informed,
                labels=known.labels or facts[pk].labels,
                is_routed=told_of.is_routed,
                is_drawn=told_of.chance is not None,
                inclusion_probability=told_of.chance,
            )


def _responses_of(evaluator: RunEvaluator, referred: Iterable[int]) -> list[int]:
    """Return the responses that an evaluator scored or is to score, and those that its run referred."""
    tasks = RunTask.objects.filter(evaluator=evaluator, response__isnull=False).order_by()
    found = {pk for pk in tasks.values_list("response_id", flat=True) if pk is not None}
    scores = Score.objects.filter(evaluator=evaluator).order_by()
    return sorted({*referred, *found, *scores.values_list("response_id", flat=True)})


def labels_of_debates(debate_set_ids: Iterable[int]) -> dict[int, SubjectLabel]:
    """Return the labels of debates that were referred to people or that equal content has a label for, by debate."""
    set_ids = list(debate_set_ids)
    referred = _referred(Referral.objects.filter(debate_set__in=set_ids, debate__isnull=False), "debate_id")
    parts, found = RubricParts(), dict[int, SubjectLabel]()
    debates = Debate.objects.filter(debate_set__in=set_ids).order_by("pk")
    for ids in _chunks(list(debates.values_list("pk", flat=True))):
        rows = Debate.objects.filter(pk__in=ids).order_by("pk").select_related(*DEBATE_JOINS)
        found |= _of_debates(list(rows.defer(*DEBATE_TEXTS)), referred, parts)
    return found


DEBATE_JOINS = ("debate_set", "case", "response_a__prompt", "response_b")
DEBATE_TEXTS = ("response_a__text", "response_b__text", "response_a__prompt__text", "case__grading", "case__metadata")


def _of_debates(
    debates: Sequence[Debate], referred: Mapping[int, _Referred], parts: RubricParts
) -> dict[int, SubjectLabel]:
    facts = {}
    for debate in debates:
        owner = debate.debate_set
        facts[debate.pk] = subject_facts(
            responses=[debate.response_a, debate.response_b],
            case=debate.case,
            part=parts.get(owner.rubric_id, case_key=debate.case.key, criterion=owner.criterion),
            criterion=owner.criterion,
            labels=PREFERENCE,
        )
    known = _labels_for({pk: one.key for pk, one in facts.items()}, referred)
    outside = _outside(list(facts))
    found = {}
    for debate in debates:
        if debate.pk not in known and debate.pk not in outside:
            continue
        told = _turned(known.get(debate.pk, NO_LABEL), turned=facts[debate.pk].is_turned)
        if told.label is None and debate.pk in outside:
            label = outside[debate.pk]
            told = replace(told, label=label, share=PREFERENCE_SHARES[label], provenance=Provenance.IMPORTED)
        found[debate.pk] = _of_debate(debate, referred.get(debate.pk, NOT_REFERRED), told)
    return found


def _of_debate(debate: Debate, told_of: _Referred, known: _Known) -> SubjectLabel:
    return SubjectLabel(
        item_id=told_of.item_id or known.item_id,
        prompt_id=debate.response_a.prompt_id,
        case_key=debate.case.key,
        scenario=debate.scenario,
        language=debate.case.lang,
        criterion=debate.debate_set.criterion,
        response_ids=(debate.response_a_id, debate.response_b_id),
        system_ids=(debate.debate_set.system_a_id, debate.debate_set.system_b_id),
        attempt=debate.response_a.attempt,
        debate_id=debate.pk,
        label=known.label,
        share=known.share,
        provenance=known.provenance,
        informed_label=known.informed,
        labels=PREFERENCE,
        is_routed=told_of.is_routed,
        is_drawn=told_of.chance is not None,
        inclusion_probability=told_of.chance,
    )


def _turned(known: _Known, *, turned: bool) -> _Known:
    """Return the labels of a pair the other way round."""
    if not turned:
        return known
    return replace(
        known,
        label=None if known.label is None else turned_label(known.label, turned=True),
        share=None if known.share is None else 1.0 - known.share,
        informed=None if known.informed is None else turned_label(known.informed, turned=True),
    )


def _outside(debate_ids: Sequence[int]) -> dict[int, str]:
    """Return the most frequent of the labels that a table from elsewhere gave each debate; ties have none."""
    votes: dict[int, Counter[int]] = defaultdict(Counter)
    for debate_id, _, verdict in outside_labels(debate_ids):
        votes[debate_id][verdict] += 1
    leads = {debate_id: counted.most_common(2) for debate_id, counted in votes.items()}
    return {pk: str(lead[0][0]) for pk, lead in leads.items() if len(lead) == 1 or lead[0][1] > lead[1][1]}


def _referred(referrals: QuerySet[Referral], by: str) -> dict[int, _Referred]:
    """Return what referrals say, by response or debate."""
    found: dict[int, _Referred] = defaultdict(_Referred)
    for referral in referrals.order_by("pk").iterator(CHUNK):
        found[getattr(referral, by)].add(referral)
    return dict(found)


def _labels_for(keys: Mapping[int, str], referred: Mapping[int, _Referred]) -> dict[int, _Known]:
    """Return the labels of what was referred or has one: by content, else by the subject that it was referred as."""
    by_key = _known_labels(FinalLabel.objects.filter(subject__key__in=set(keys.values())), "subject__key")
    moved = {pk: referred[pk].subject_ids for pk, key in keys.items() if pk in referred and key not in by_key}
    ids = {subject_id for subject_ids in moved.values() for subject_id in subject_ids}
    by_subject = _known_labels(FinalLabel.objects.filter(subject__in=ids), "subject_id")
    for pk, scale in Subject.objects.filter(pk__in=list(by_subject)).values_list("pk", "labels"):
        by_subject[pk] = replace(by_subject[pk], labels=labels_from_json(scale))
    return {
        pk: by_key.get(key) or next((by_subject[one] for one in moved.get(pk, ()) if one in by_subject), NO_LABEL)
        for pk, key in keys.items()
        if key in by_key or pk in referred
    }


def _known_labels(rows: QuerySet[FinalLabel], by: str) -> dict[Any, _Known]:
    """Return labels by a column: an adjudication before a majority, the earliest of equals."""
    blind: dict[Any, _Known] = {}
    informed: dict[Any, _Known] = {}
    fields = (by, "label", "share", "provenance", "item_id", "is_blind")
    for key, label, share, provenance, item_id, is_blind in rows.order_by("-decided_at", "-pk").values_list(*fields):
        if not is_blind:
            informed[key] = _Known(item_id=item_id, informed=label)
        elif key not in blind or RANKS[Provenance(provenance)] >= RANKS[Provenance(blind[key].provenance)]:
            blind[key] = _Known(label, share, provenance, item_id)
    return {
        key: replace(blind.get(key, told), informed=told.informed)
        for key in {*blind, *informed}
        for told in (informed.get(key, NO_LABEL),)
    }


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), CHUNK):
        yield ids[start : start + CHUNK]
