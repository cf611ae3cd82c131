"""Verdicts and debates beside what people decided on the same subjects."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from django.db.models import Count, Max, Sum

from debate.models import Agent, Debate, DebateSet, DebateSource, DebateStatus, ExperimentKind, OutsideLabel, Statement
from debate.protocol.metaeval import DebateVotes, agent_names, debate_votes
from debate.protocol.setups import Method
from debate.protocol.verdicts import VerdictReading, read_author_compat, read_recorded, to_system_space
from debate.selectors import outside_labels
from evalsite.reports.selectors.leaderboards import label_version
from evalsite.review.models import LEFT_OUT, Annotation, Provenance, Referral, ReviewItem
from evalsite.review.questions.scales import judge_label
from evalsite.review.selectors.final_labels import SubjectLabel, labels_of_debates, labels_of_evaluators
from evalsite.review.selectors.golden import ComparedResponse, verdicts_by_response
from evalsite.review.selectors.subjects import chunks
from evalsite.review.states import QueueMode
from judging.judges.subjects import READ_NOW
from judging.models import SCORED_KINDS, EvaluatorKind, RunEvaluator, Score, Verdict
from judging.selectors.judges import versions_of
from judging.stored_content import turned_label


@dataclass(frozen=True, slots=True)
class AuditedResponses:
    """The audit of some evaluators: what was drawn, and the part that people have decided."""

    drawn: int
    decided: tuple[ComparedResponse, ...]
    outdated: int  # decided ones whose reply was read by another parser version; they are left out
    drawn_cases: int


def audited_responses(
    evaluators: Sequence[RunEvaluator], *, leaving_out: frozenset[int] = frozenset()
) -> AuditedResponses:
    """Return the audited responses of evaluators of one version, newest first; each response once.

    Cases whose prompts are in `leaving_out` are not read.
    """
    decided: list[ComparedResponse] = []
    cases = set[int]()
    drawn_count = outdated = 0
    labels_by_evaluator = labels_of_evaluators(evaluators, drawn_only=True)
    runs = _deciding_runs(labels_by_evaluator)
    for evaluator, subject_labels in zip(evaluators, labels_by_evaluator.values(), strict=True):
        drawn = [
            row
            for row in subject_labels
            if runs[row.response_ids[0]] == evaluator.pk and row.prompt_id not in leaving_out
        ]
        cases |= {row.prompt_id for row in drawn}
        drawn_count += len(drawn)
        verdicts = verdicts_by_response(evaluator, [row.response_ids[0] for row in drawn if row.label is not None])
        for row in drawn:
            verdict = verdicts.get(row.response_ids[0])
            if row.label is None or verdict is None:
                continue
            if verdict.parser_version not in READ_NOW:
                outdated += 1
                continue
            score = getattr(verdict, "score", None)
            share = score.share if score is not None else None
            decided.append(
                ComparedResponse(
                    item_id=row.item_id,
                    verdict_id=verdict.pk,
                    response_id=verdict.response_id,
                    case=row.prompt_id,
                    scale=row.labels,
                    people=row.label,
                    judge=judge_label(verdict.value, share, row.labels),
                    confidence=verdict.confidence,
                    chance=row.inclusion_probability or 1.0,
                    people_share=row.share,
                    judge_share=share,
                )
            )
    return AuditedResponses(drawn_count, tuple(decided), outdated, len(cases))


def _deciding_runs(labels_by_evaluator: Mapping[int, Sequence[SubjectLabel]]) -> dict[int, int]:
    """Return by drawn response the evaluator whose draw counts: the likeliest to draw it, of equals the newest.

    Of the evaluators that judged a response one alone decides whether it is in the sample. What any of them drew would
    hold more of the cases that several runs share than their chance says.
    """
    chances = {
        pk: max((row.inclusion_probability or 1.0 for row in rows), default=0.0)
        for pk, rows in labels_by_evaluator.items()
    }
    drawn = {pk: {row.response_ids[0] for row in rows} for pk, rows in labels_by_evaluator.items()}
    judged: dict[int, set[int]] = defaultdict(set)
    for ids in chunks(sorted(set().union(*drawn.values())) if len(labels_by_evaluator) > 1 else []):
        rows = Verdict.objects.filter(evaluator__in=labels_by_evaluator, response__in=ids).order_by()
        for evaluator_id, response_id in rows.values_list("evaluator_id", "response_id"):
            judged[evaluator_id].add(response_id)
    deciding: dict[int, int] = {}
    for pk in sorted(
        labels_by_evaluator, key=lambda evaluator_pk: -chances[evaluator_pk]
    ):  # stable: the newest of equals first
        if chances[pk]:
            deciding = dict.fromkeys(judged[pk] | drawn[pk], pk) | deciding
    return deciding


@dataclass(frozen=True, slots=True)
class BlindAnnotation:
    """One person's label of the subject of an item, given before seeing anything that would bias them."""

    item_id: int
    person: str
    label: str


def blind_annotations(item_ids: Iterable[int]) -> list[BlindAnnotation]:
    """Return people's first blind labels of the subjects of these items, on whichever item they gave them."""
    annotations: list[BlindAnnotation] = []
    for ids in chunks(sorted(item_ids)):
        turned, items_of = dict[int, bool](), dict[int, list[int]]()
        items = ReviewItem.objects.filter(pk__in=ids).order_by("pk")
        for pk, subject_id, is_turned in items.values_list("pk", "subject_id", "is_turned"):
            turned[pk] = is_turned
            items_of.setdefault(subject_id, []).append(pk)
        rows = Annotation.objects.filter(item__subject__in=items_of, item__retest_of=None, left_out_at=None)
        rows = rows.filter(seen_before=False, mode=QueueMode.BLIND).exclude(label="").order_by("created_at", "pk")
        first: dict[tuple[int, str], BlindAnnotation] = {}
        fields = ("item__subject_id", "item__is_turned", "annotator__username", "label")
        for subject_id, is_turned, person, label in rows.values_list(*fields):
            for pk in items_of[subject_id]:
                shown_label = turned_label(label, turned=is_turned != turned[pk])
                first.setdefault((pk, person), BlindAnnotation(pk, person, shown_label))
        annotations += first.values()
    return annotations


ENDED = (DebateStatus.AGREED, DebateStatus.UNRESOLVED)
CHUNK = 5000
INTACT = ("", "none")  # what is stored of a criterion that nothing was done to
PREFERENCES = {"1": 1, "0": 0, "-1": -1}


@dataclass(frozen=True, slots=True)
class SetFacts:
    """What a report says of one set."""

    pk: int
    name: str
    method: str
    source: str
    system_a: str
    system_b: str
    criterion: str  # as it is called on pages; of imported ones as ScaleEval's folder has it
    criterion_key: str  # as the rubric has it; equal keys are the same criterion
    judges: tuple[str, ...]
    samples: int
    perturbation: str

    @property
    def pair(self) -> str:
        return f"{self.system_a} vs {self.system_b}"


@dataclass(slots=True)
class AgentPart:
    """One judge's part in one decision."""

    name: str
    independent_cost: Decimal | None = None
    statuses: list[str] = field(default_factory=list)  # how each statement was read, the independent round first
    disagreements: int = 0  # statements whose recorded score is not what the text says


@dataclass(frozen=True, slots=True)
class DebateDecision:
    """One ended debate, or one decision of a baseline. Verdicts are in system space, in the chosen reading."""

    pk: int
    debate_set: SetFacts
    case_id: int
    responses: tuple[int, int]
    scenario: str
    order: int  # 0: A was shown as response 1; 1: B was
    stored_verdict: int | None
    votes: DebateVotes
    agents: tuple[AgentPart, ...]
    calls: int
    cost: Decimal | None

    @property
    def subject(self) -> tuple[int, int, str]:
        """What it is about: decisions with equal subjects can be compared."""
        return (*self.responses, self.debate_set.criterion_key)


def sets_by_id(set_ids: Iterable[int] | None = None, *, method: str = "") -> dict[int, SetFacts]:
    """Return sets, or all of a method, by id. One query."""
    sets = DebateSet.objects.select_related("system_a", "system_b").order_by("pk")
    if set_ids is not None:
        sets = sets.filter(pk__in=list(set_ids))
    if method:
        sets = sets.filter(method=method)
    return {debate_set.pk: set_facts(debate_set) for debate_set in sets}


def set_facts(debate_set: DebateSet) -> SetFacts:
    """Return what a report says of a set whose systems are loaded."""
    recorded = debate_set.setup.get("recorded", {})
    # In ScaleEval's files the intact text is called helpfulness-1, or helpfulness.
    key = str(debate_set.setup.get("shown_criterion") or debate_set.criterion).removesuffix("-1")
    return SetFacts(
        pk=debate_set.pk,
        name=debate_set.name,
        method=debate_set.method,
        source=debate_set.source,
        system_a=debate_set.system_a.name,
        system_b=debate_set.system_b.name,
        criterion=str(recorded.get("criterion") or key),
        criterion_key=key,
        judges=agent_names(debate_set.setup.get("endpoints", [])),
        samples=int(debate_set.setup.get("samples", 1)),
        perturbation=str(debate_set.setup.get("perturbation", "none")),
    )


def baseline_sets_of(sets: Iterable[SetFacts]) -> dict[int, SetFacts]:
    """Return the baselines' sets over the same two systems, in either order, and criterion, but no perturbed criterion.

    One query.
    """
    subjects = {(frozenset((facts.system_a, facts.system_b)), facts.criterion_key) for facts in sets}
    others = DebateSet.objects.exclude(method=Method.DEBATE)
    others = others.exclude(experiment__kind=ExperimentKind.ROBUSTNESS).select_related("system_a", "system_b")
    by_id = {facts.pk: set_facts(facts) for facts in others.order_by("pk")}
    return {
        pk: facts
        for pk, facts in by_id.items()
        if (frozenset((facts.system_a, facts.system_b)), facts.criterion_key) in subjects
    }


def decisions_of(sets: dict[int, SetFacts], *, reading: VerdictReading = VerdictReading.STRICT) -> list[DebateDecision]:
    """Return the ended decisions of these sets. Three queries, no text but under `author_compat`."""
    rows = Debate.objects.filter(debate_set__in=list(sets), status__in=ENDED).order_by("pk")
    fields = ("pk", "debate_set_id", "case_id", "response_a_id", "response_b_id", "scenario", "response_order",
              "verdict", "call_count", "cost")  # fmt: skip
    facts = list(rows.values_list(*fields))
    agents, keys = _agents(list(sets))
    votes = _votes(list(sets), keys, {row[0]: row[6] for row in facts}, reading, sets)
    decisions = []
    for pk, set_id, case_id, a, b, scenario, order, verdict, calls, cost in facts:
        members, votes_by_round = agents.get(pk, []), votes.get(pk, {})
        if not members or not votes_by_round:
            continue
        rounds = [
            [votes_by_round[number].get(index) for index in range(len(members))] for number in sorted(votes_by_round)
        ]
        names = agent_names([agent.name for agent in members])
        by_position = debate_votes(item=pk, response_order=order, judges=names, rounds=rounds)
        decisions.append(
            DebateDecision(
                pk, sets[set_id], case_id, (a, b), scenario or "", order, verdict, by_position, tuple(members),
                calls or sum(len(agent.statuses) for agent in members), cost,
            )
        )  # fmt: skip
    return decisions


def _agents(set_ids: Sequence[int]) -> tuple[dict[int, list[AgentPart]], dict[int, tuple[int, int]]]:
    """Return the agents of each debate, and by agent id its debate and its index there."""
    agents: dict[int, list[AgentPart]] = defaultdict(list)
    keys: dict[int, tuple[int, int]] = {}
    rows = Agent.objects.filter(debate__debate_set__in=set_ids).order_by("debate_id", "number")
    for pk, debate_id, name in rows.values_list("pk", "debate_id", "name").iterator(CHUNK):
        keys[pk] = (debate_id, len(agents[debate_id]))
        agents[debate_id].append(AgentPart(name))
    _read_statuses(agents, keys, set_ids)
    return agents, keys


def _read_statuses(
    agents: dict[int, list[AgentPart]], keys: dict[int, tuple[int, int]], set_ids: Sequence[int]
) -> None:
    rows = Statement.objects.filter(agent__debate__debate_set__in=set_ids).order_by("round", "pk")
    fields = ("agent_id", "status", "position_verdict", "recorded_verdict", "round", "asked_cost")
    for agent_id, status, position, recorded, number, cost in rows.values_list(*fields).iterator(CHUNK):
        debate_id, index = keys[agent_id]
        agent = agents[debate_id][index]
        agent.statuses.append(status)
        if number == 0:
            agent.independent_cost = cost
        if recorded:
            recorded_verdict = read_recorded(json.loads(recorded))
            agent.disagreements += ("" if recorded_verdict is None else str(recorded_verdict)) != position


def _votes(
    set_ids: Sequence[int],
    keys: dict[int, tuple[int, int]],
    orders: dict[int, int],
    reading: VerdictReading,
    sets: dict[int, SetFacts],
) -> dict[int, dict[int, dict[int, int | None]]]:
    """Return each debate's votes by round and by agent's index."""
    votes: dict[int, dict[int, dict[int, int | None]]] = defaultdict(lambda: defaultdict(dict))
    rows = Statement.objects.filter(agent__debate__debate_set__in=set_ids, agent__debate__status__in=ENDED)
    fields = ["agent_id", "round", "verdict", "recorded_verdict"]
    if reading is VerdictReading.AUTHOR_COMPAT:
        fields.append("text")
    imported = any(facts.source == DebateSource.IMPORT for facts in sets.values())
    for agent_id, number, verdict, recorded, *text in rows.values_list(*fields).iterator(CHUNK):
        debate_id, index = keys[agent_id]
        vote = verdict
        if imported and recorded and reading is not VerdictReading.STRICT:
            score = json.loads(recorded)
            shown = read_recorded(score) if reading is VerdictReading.RECORDED else read_author_compat(score, text[0])
            vote = to_system_space(shown, response_order=orders[debate_id])
        votes[debate_id][number][index] = vote
    return votes


@dataclass(frozen=True, slots=True)
class PeopleLabels:
    """People's labels of debates, in system space."""

    final: dict[int, int]  # by debate: the agreed or adjudicated label, else the most frequent of the imported ones
    annotations: list[tuple[int, str, int]]  # (debate, rater, label): every blind answer
    drawn: frozenset[int]  # debates in an audit, decided or not; labels from elsewhere were not asked for by outcome
    rates: dict[int, float]  # by debate: the share that the audit of its set draws; 0: none


def people_labels(debate_ids: Sequence[int]) -> PeopleLabels:
    """Return people's labels of these debates, imported ones included."""
    ids = set(debate_ids)
    set_of = dict(Debate.objects.filter(pk__in=ids).order_by().values_list("pk", "debate_set_id"))
    labels = labels_of_debates(sorted(set(set_of.values())))
    labelled = {pk: row for pk, row in labels.items() if pk in ids}
    outside = outside_labels(list(ids))
    annotations = [(pk, f"{rater} (imported)", verdict) for pk, rater, verdict in outside]
    debates: dict[int, list[tuple[int, bool]]] = defaultdict(list)  # by item
    referrals = Referral.objects.filter(debate__in=ids, item__isnull=False).order_by("debate_id").distinct()
    texts = ("debate__response_a__text_hash", "item__response_a__text_hash")
    for pk, item_id, text_hash, other_hash in referrals.values_list("debate_id", "item_id", *texts):
        debates[item_id or 0].append((pk or 0, text_hash != other_hash))
    rows = Annotation.objects.filter(item__in=debates, left_out_at=None, seen_before=False, mode=QueueMode.BLIND)
    rows = rows.exclude(item__status__in=LEFT_OUT).order_by("pk")
    first_labels: dict[tuple[int, str], int] = {}  # of several answers of one person the first
    for item_id, rater, label in rows.values_list("item_id", "annotator__username", "label"):
        if label in PREFERENCES:
            for pk, turned in debates[item_id]:
                first_labels.setdefault((pk, rater), PREFERENCES[turned_label(label, turned=turned)])
    annotations += [(pk, rater, label) for (pk, rater), label in first_labels.items()]
    final = {pk: PREFERENCES[row.label] for pk, row in labelled.items() if row.label in PREFERENCES}
    drawn = {pk for pk, row in labelled.items() if row.is_drawn or row.provenance == Provenance.IMPORTED}
    drawn |= {pk for pk, _, _ in outside}
    rate_of: dict[int, float] = {}  # by set
    for pk, row in labelled.items():
        rate_of[set_of[pk]] = max(rate_of.get(set_of[pk], 0.0), row.inclusion_probability or 0.0)
    return PeopleLabels(
        final, annotations, frozenset(drawn), {pk: rate_of.get(set_id, 0.0) for pk, set_id in set_of.items()}
    )


def scored_preferences(pairs: Iterable[tuple[int, int]]) -> dict[str, dict[tuple[int, int], int]]:
    """Return by the name of each judge the sign of the difference between its scores of a pair's responses.

    The newest version that scored both counts: scores of two versions are not compared. One query per chunk, and two.
    """
    unique_pairs = list(dict.fromkeys(pairs))
    shares: dict[int, dict[int, float]] = defaultdict(dict)  # by evaluator and response
    for ids in chunks(sorted({pk for pair in unique_pairs for pk in pair})):
        scores = Score.objects.filter(response__in=ids, share__isnull=False, run__kind__in=SCORED_KINDS)
        scores = scores.filter(evaluator__kind=EvaluatorKind.JUDGE).order_by("pk")
        for evaluator_id, response_id, share in scores.values_list("evaluator_id", "response_id", "share"):
            shares[evaluator_id][response_id] = share or 0.0
    evaluators = list(RunEvaluator.objects.filter(pk__in=shares).order_by("pk"))
    versions, judged_by = versions_of(evaluators), dict[tuple[str, str], dict[int, float]]()
    for evaluator in evaluators:  # the newest version comes last
        key = evaluator.name, versions[evaluator.pk].key
        judged_by[key] = judged_by.pop(key, {}) | shares[evaluator.pk]
    signs: dict[str, dict[tuple[int, int], int]] = defaultdict(dict)
    for (name, _), judged in judged_by.items():
        for a, b in unique_pairs:
            if a in judged and b in judged:
                signs[name][a, b] = (judged[a] > judged[b]) - (judged[a] < judged[b])
    return dict(signs)


def debates_version() -> str:
    """Return a text that differs once any debate ended, any baseline decided or any label was given or deleted."""
    debates = Debate.objects.aggregate(last=Max("pk"), ended=Max("finished_at"))
    runs = DebateSet.objects.aggregate(
        last=Max("pk"), count=Count("pk"), done=Sum("run__done"), failed=Sum("run__failed")
    )
    labels = OutsideLabel.objects.aggregate(count=Count("pk"), last=Max("pk"), at=Max("created_at"))
    scores = Score.objects.order_by("-pk").values_list("pk", flat=True).first()
    return f"{debates}.{runs}.{labels}.{scores}.{label_version()}"
