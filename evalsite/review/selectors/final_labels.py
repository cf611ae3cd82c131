"""Final human labels as reports read them: found by content, with how each subject came to people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import QuerySet

from debate.models import Debate, DebateSet
from debate.selectors.labels import outside_labels
from evalsite.review.answer_forms import LEVELS, RELEVANCE, form_of, share_of
from evalsite.review.models import FinalLabel, ItemArm, Provenance, Queue, Referral, Subject
from evalsite.review.scales import PREFERENCE, PREFERENCE_SHARES, Label, labels_from_json, nearest_label
from evalsite.review.selectors.audits import drawn_share, keys_of_debates, keys_of_run
from evalsite.review.selectors.subjects import RubricParts, SubjectFacts, first_cases, own_parts_of, subject_facts
from evalsite.review.subject_keys import turned_label
from judging.grading.rubric_tree import Value
from judging.judges.registry import KINDS
from judging.judges.subjects import JudgeSubject
from judging.models import Case, Response, Run, RunEvaluator, RunTask, Score
from judging.services.trees import tree_from_json

CHUNK = 5_000
SCORING = {  # options of judges that make other scores of the same parts
    LEVELS: ("level_25_value", "level_100", "clip"),
    RELEVANCE: ("enforce_rules", "without_context"),
}
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
    parts: Mapping[str, Value]  # of the criterion's form, where people agreed on each
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

    def add(self, item_id: int | None, subject_id: int, arm: str, chance: float | None) -> None:
        """Take one referral in; the newest item counts."""
        self.item_id = item_id or self.item_id
        self.subject_ids = (*self.subject_ids, subject_id)
        self.is_routed |= arm == ItemArm.ROUTED
        self.chance = chance if arm == ItemArm.AUDIT else self.chance


NOT_REFERRED = _Referred()


@dataclass(frozen=True, slots=True)
class _Known:
    """The final labels of one subject, in its own order."""

    label: str | None = None
    share: float | None = None
    provenance: str = ""
    item_id: int | None = None  # on which people decided
    informed: str | None = None
    parts: Mapping[str, Value] = field(default_factory=dict)
    labels: tuple[Label, ...] = ()  # the scale, where it is that of an earlier subject


NO_LABEL = _Known()


Judged = dict[int, tuple[Response, SubjectFacts]]  # what was judged, and the subject that it is, by response


class SharedReading:
    """What the labels of several evaluators are made of, read once for all of them.

    Responses and their subjects' keys take a kilobyte each, so they are kept only where more evaluators follow.
    """

    def __init__(self) -> None:
        self.parts = RubricParts()
        self.cases: dict[int, dict[int, Case]] = {}  # by suite and prompt
        self.judged: dict[tuple[int, int | None, str, str], Judged] = defaultdict(dict)

    def judged_by(self, evaluator: RunEvaluator, ids: Sequence[int], kept: Judged) -> Judged:
        """Return these responses as one evaluator is asked about them, in order; new ones are read and kept."""
        suite_id, criterion = evaluator.run.suite_id, evaluator.criterion
        if suite_id not in self.cases:
            self.cases[suite_id] = first_cases(suite_id)
        missing = Response.objects.filter(pk__in=[pk for pk in ids if pk not in kept])
        for response in missing.select_related("prompt").defer("text", "prompt__text").order_by("pk"):
            case = self.cases[suite_id].get(response.prompt_id)
            part = self.parts.get(
                evaluator.rubric_id,
                case_key=response.prompt.key,
                criterion=criterion,
                judge=own_parts_of(evaluator),
            )
            facts = subject_facts(responses=[response], case=case, part=part, criterion=criterion, labels=part.labels)
            kept[response.pk] = response, facts
        return {pk: kept[pk] for pk in ids if pk in kept}


def labels_of_evaluators(
    evaluators: Sequence[RunEvaluator], *, drawn_only: bool = False, shared: SharedReading | None = None
) -> dict[int, list[SubjectLabel]]:
    """Return the labels of what evaluators judged, by evaluator, ordered by response; or of the drawn responses alone.

    A label is found by content, whoever was asked for which run; arm and chance are those of the evaluator's own run.
    `shared` keeps what is read for the evaluators of the next call.
    """
    reading, keeps = shared or SharedReading(), shared is not None
    return {one.pk: list(_of_evaluator(one, reading, drawn_only=drawn_only, keeps=keeps)) for one in evaluators}


def _of_evaluator(
    evaluator: RunEvaluator, reading: SharedReading, *, drawn_only: bool, keeps: bool
) -> Iterator[SubjectLabel]:
    run, criterion = evaluator.run, evaluator.criterion
    if not Queue.objects.filter(run=run).exists():  # it has not been routed yet
        return
    referred = _referred(Referral.objects.filter(run=run, subject__criterion=criterion), "response_id")
    drawn = [pk for pk, told_of in sorted(referred.items()) if told_of.chance is not None]
    options = scoring_options(evaluator)
    kept = reading.judged[run.suite_id, evaluator.rubric_id, criterion, own_parts_of(evaluator)]
    for ids in _chunks(drawn if drawn_only else responses_of(evaluator, referred)):
        judged = reading.judged_by(evaluator, ids, kept if keeps else {})
        cases = reading.cases[run.suite_id]
        for pk, found in _labels_for({pk: facts.key for pk, (_, facts) in judged.items()}, referred).items():
            response, facts = judged[pk]
            known = replace(found, labels=found.labels or facts.labels)
            if options and known.parts:
                known = _as_judged(known, evaluator, response, reading.parts, options)
            told_of = referred.get(pk, NOT_REFERRED)
            yield _of_response(response, cases.get(response.prompt_id), criterion, told_of, known)


def _of_response(
    response: Response, case: Case | None, criterion: str, told_of: _Referred, known: _Known
) -> SubjectLabel:
    return SubjectLabel(
        item_id=told_of.item_id or known.item_id,
        prompt_id=response.prompt_id,
        case_key=response.prompt.key,
        scenario=case.scenario if case is not None else "",
        language=case.lang if case is not None else "",
        criterion=criterion,
        response_ids=(response.pk,),
        system_ids=(response.system_id,),
        attempt=response.attempt,
        debate_id=None,
        label=known.label,
        share=known.share,
        provenance=known.provenance,
        informed_label=known.informed,
        labels=known.labels,
        parts=known.parts,
        is_routed=told_of.is_routed,
        is_drawn=told_of.chance is not None,
        inclusion_probability=told_of.chance,
    )


def facts_of_responses(
    evaluator: RunEvaluator, responses: Iterable[Response], parts: RubricParts, cases: Mapping[int, Case]
) -> dict[int, SubjectFacts]:
    """Return the subjects that responses, with their prompts, are under an evaluator's criterion, by response."""
    found, criterion = dict[int, SubjectFacts](), evaluator.criterion
    for response in responses:
        part = parts.get(
            evaluator.rubric_id, case_key=response.prompt.key, criterion=criterion, judge=own_parts_of(evaluator)
        )
        case = cases.get(response.prompt_id)
        found[response.pk] = subject_facts(
            responses=[response], case=case, part=part, criterion=criterion, labels=part.labels
        )
    return found


def responses_of(evaluator: RunEvaluator, referred: Iterable[int] = ()) -> list[int]:
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
    outside, informed = (outside_majorities(list(facts), is_blind=is_blind) for is_blind in (True, False))
    found = {}
    for debate in debates:
        if not any(debate.pk in labelled for labelled in (known, outside, informed)):
            continue
        told = _turned(known.get(debate.pk, NO_LABEL), turned=facts[debate.pk].is_turned)
        if told.label is None and debate.pk in outside:
            label = outside[debate.pk]
            told = replace(told, label=label, share=PREFERENCE_SHARES[label], provenance=Provenance.IMPORTED)
        if told.informed is None and debate.pk in informed:
            told = replace(told, informed=informed[debate.pk])
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
        parts={},
        is_routed=told_of.is_routed,
        is_drawn=told_of.chance is not None,
        inclusion_probability=told_of.chance,
    )


def scoring_options(evaluator: RunEvaluator) -> dict[str, Any]:
    """Return the options by which a judge makes a score of parts otherwise than as documented; none where it does not.

    People's label is the documented score of what they said; beside a judge's own it is made as the judge's is.
    """
    kind, given = str(evaluator.options.get("judge_kind", "")), evaluator.options.get("judge_options") or {}
    defaults = {option.name: option.default for option in KINDS[kind].options} if kind in KINDS else {}
    names = SCORING.get(kind, ())
    return {name: given[name] for name in names if name in given and given[name] != defaults[name]}


def _as_judged(
    known: _Known, evaluator: RunEvaluator, response: Response, parts: RubricParts, options: Mapping[str, Any]
) -> _Known:
    """Return a label with the score that its parts come to under a judge's own options."""
    kind = str(evaluator.options["judge_kind"])
    part = parts.get(
        evaluator.rubric_id,
        case_key=response.prompt.key,
        criterion=evaluator.criterion,
        judge=own_parts_of(evaluator),
    )
    tree = tree_from_json(part.tree) if part.tree is not None and not part.judge else None
    about = JudgeSubject("", "", context=response.prompt.context, rubric=tree, criterion_key=evaluator.criterion)
    form = form_of(about, known.labels, judge=part.judge)
    if form is None or form.judge != kind or not form.holds(known.parts):
        return known
    share = share_of(form.score(known.parts, options))
    return known if share is None else replace(known, share=share, label=nearest_label(share, known.labels))


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


def outside_majorities(debate_ids: Sequence[int], *, is_blind: bool) -> dict[int, str]:
    """Return the most frequent of the labels that a table from elsewhere gave each debate; ties have none."""
    votes: dict[int, Counter[int]] = defaultdict(Counter)
    for debate_id, _, verdict in outside_labels(debate_ids, is_blind=is_blind):
        votes[debate_id][verdict] += 1
    leads = {debate_id: counted.most_common(2) for debate_id, counted in votes.items()}
    return {pk: str(lead[0][0]) for pk, lead in leads.items() if len(lead) == 1 or lead[0][1] > lead[1][1]}


def _referred(referrals: QuerySet[Referral], by: str) -> dict[int, _Referred]:
    """Return what referrals say, by response or debate."""
    found: dict[int, _Referred] = defaultdict(_Referred)
    fields = (by, "item_id", "subject_id", "arm", "inclusion_probability")
    for pk, item_id, subject_id, arm, chance in referrals.order_by("pk").values_list(*fields).iterator(CHUNK):
        found[pk].add(item_id, subject_id, arm, chance)
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


@dataclass(frozen=True, slots=True)
class BlindLabel:
    """The final blind label of a subject, in the subject's own order, and what it is worth; None: a name."""

    label: str
    share: float | None


def blind_labels(subject_ids: Iterable[int]) -> dict[int, BlindLabel]:
    """Return the final blind labels of subjects that have one."""
    found: dict[int, BlindLabel] = {}
    for ids in _chunks(sorted(subject_ids)):
        for subject_id, known in _known_labels(FinalLabel.objects.filter(subject__in=ids), "subject_id").items():
            if known.label is not None:
                found[subject_id] = BlindLabel(known.label, known.share)
    return found


def _known_labels(rows: QuerySet[FinalLabel], by: str) -> dict[Any, _Known]:
    """Return labels by a column: an adjudication before a majority, the earliest of equals."""
    blind: dict[Any, _Known] = {}
    informed: dict[Any, _Known] = {}
    fields = (by, "label", "share", "provenance", "item_id", "parts", "is_blind")
    for key, label, share, provenance, item_id, parts, is_blind in rows.order_by("-decided_at", "-pk").values_list(
        *fields
    ):
        if not is_blind:
            informed[key] = _Known(item_id=item_id, informed=label)
        elif key not in blind or RANKS[Provenance(provenance)] >= RANKS[Provenance(blind[key].provenance)]:
            blind[key] = _Known(label, share, provenance, item_id, parts=parts)
    return {
        key: replace(blind.get(key, told), informed=told.informed)
        for key in {*blind, *informed}
        for told in (informed.get(key, NO_LABEL),)
    }


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), CHUNK):
        yield ids[start : start + CHUNK]
