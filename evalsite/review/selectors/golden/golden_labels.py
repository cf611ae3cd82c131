"""Labelled responses of a suite that a golden set can be made of."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evalsite.review.models import Referral, Subject
from evalsite.review.questions.scales import Label, labels_from_json
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.labels.final_labels import criterion_of
from evalsite.review.selectors.labels.known_labels import blind_labels, chunks
from evalsite.review.selectors.labels.subjects import RubricParts, first_cases, part_for, subject_facts
from judging.models import BASELINE, SCORED_KINDS, EvaluatorKind, Response, RunEvaluator, Suite

MOST_READ = 2_000  # evaluators of the newest runs, among which criteria are offered


@dataclass(frozen=True, slots=True)
class LabelledSubjectResponse:
    """A response with the final blind label of its subject."""

    response_id: int
    case_key: str
    subject_id: int
    label: str
    scale: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class GoldenMaterial:
    """What people decided in a suite under one criterion."""

    rows: tuple[LabelledSubjectResponse, ...]
    referred: int  # labelled responses left out: a rule sent them to people because of a verdict
    with_referred: bool  # none is left out

    @property
    def cases(self) -> int:
        return len({row.case_key for row in self.rows})

    @property
    def counts(self) -> dict[str, int]:
        """Responses by label, the commonest first."""
        return dict(Counter(row.label for row in self.rows).most_common())

    @property
    def scale(self) -> tuple[Label, ...]:
        """The commonest scale."""
        scales = Counter(row.scale for row in self.rows).most_common(1)
        return scales[0][0] if scales else ()


def golden_questions(suite: Suite | None = None) -> list[RunEvaluator]:
    """Return the newest evaluator of each criterion under which responses of a suite, or of any, were judged."""
    rows = RunEvaluator.objects.filter(run__kind__in=SCORED_KINDS).exclude(kind=EvaluatorKind.INDEX)
    rows = rows.exclude(options__has_key=BASELINE)  # labels of pairs say nothing of one response
    rows = rows.filter(run__suite=suite) if suite is not None else rows
    newest: dict[object, RunEvaluator] = {}
    for evaluator in rows.select_related("run__suite", "rubric").order_by("-run_id", "position")[:MOST_READ]:
        newest.setdefault((evaluator.run.suite_id, criterion_of(evaluator)), evaluator)
    return list(newest.values())


def question_words(evaluator: RunEvaluator) -> str:
    """Return how a criterion is called in a list: its rubric and its name."""
    rubric = str(evaluator.rubric) if evaluator.rubric is not None else ""
    criterion_name = criterion_of(evaluator)[2]
    return ", ".join(filter(None, (rubric, evaluator.criterion or criterion_name))) or "the response as a whole"


def golden_material(evaluator: RunEvaluator, *, with_referred: bool = False) -> GoldenMaterial:
    """Return the labelled responses of a suite under an evaluator's criterion, each content once.

    Labels of responses that only a rule sent to people are left out unless they are asked for: a rule sends what a
    judge was unsure of, so figures on them say nothing about other responses.
    """
    subjects = _subjects_by_response(evaluator)
    labels = blind_labels(pk for subject_ids in subjects.values() for pk in subject_ids)
    arms: dict[int, set[str]] = defaultdict(set)
    for ids in chunks(sorted(labels)):
        for referred_id, arm in Referral.objects.filter(subject__in=ids).values_list("subject_id", "arm"):
            arms[referred_id].add(arm)
    scales = scales_of(labels)
    rows: dict[int, LabelledSubjectResponse] = {}
    referred = set[int]()
    for (response_id, case_key), subject_ids in subjects.items():
        subject_id = next((pk for pk in subject_ids if pk in labels), None)
        if subject_id is None or subject_id in rows:
            continue
        if not with_referred and arms[subject_id] == {ItemArm.ROUTED}:
            referred.add(subject_id)
            continue
        label = labels[subject_id].label or ""
        rows[subject_id] = LabelledSubjectResponse(response_id, case_key, subject_id, label, scales[subject_id])
    return GoldenMaterial(tuple(rows.values()), len(referred), with_referred)


def scales_of(subject_ids: Iterable[int]) -> dict[int, tuple[Label, ...]]:
    """Return the label scale of each of these subjects."""
    scales: dict[int, tuple[Label, ...]] = {}
    for ids in chunks(sorted(subject_ids)):
        rows = Subject.objects.filter(pk__in=ids).values_list("pk", "labels")
        scales |= {pk: labels_from_json(labels) for pk, labels in rows}
    return scales


def _subjects_by_response(evaluator: RunEvaluator) -> dict[tuple[int, str], list[int]]:
    """Return the subjects that each current response of the suite is, the one of its content before earlier ones."""
    suite_id, parts, cases = evaluator.run.suite_id, RubricParts(), first_cases(evaluator.run.suite_id)
    responses = Response.objects.filter(prompt__cases__links__suite=suite_id, superseded_at__isnull=True)
    response_ids = list(dict.fromkeys(responses.order_by("pk").values_list("pk", flat=True)))
    by_response: dict[tuple[int, str], list[int]] = {}
    for ids in chunks(response_ids):
        rows = list(Response.objects.filter(pk__in=ids).select_related("prompt").defer("text", "prompt__text"))
        keys: dict[int, str] = {}
        for row in rows:
            part = part_for(evaluator, parts, case_key=row.prompt.key)
            facts = subject_facts(
                responses=[row],
                case=cases.get(row.prompt_id),
                part=part,
                criterion=evaluator.criterion,
                labels=part.labels,
            )
            keys[row.pk] = facts.key
        by_key = dict(Subject.objects.filter(key__in=set(keys.values())).values_list("key", "pk"))
        referred = _referred_as(ids, evaluator.criterion)
        for row in rows:
            subject_ids = [by_key[keys[row.pk]]] if keys[row.pk] in by_key else []
            subject_ids += [pk for pk in referred.get(row.pk, ()) if pk not in subject_ids]
            if subject_ids:
                by_response[row.pk, row.prompt.key] = subject_ids
    return by_response


def _referred_as(response_ids: Sequence[int], criterion: str) -> dict[int, list[int]]:
    """Return the subjects that responses came to people as, the newest first: before their reference changed, say."""
    rows = Referral.objects.filter(response__in=response_ids, subject__criterion=criterion, subject__is_pair=False)
    subject_ids: dict[int, list[int]] = defaultdict(list)
    for response_id, subject_id in rows.order_by("-pk").values_list("response_id", "subject_id"):
        if response_id is not None:
            subject_ids[response_id].append(subject_id)
    return subject_ids
