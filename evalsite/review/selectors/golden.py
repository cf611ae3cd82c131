"""Golden sets: what is labelled, how a set stands, and where versions of judges and people differ."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from evalsite.base.rows import BESIDE
from evalsite.base.types import Refused
from evalsite.review.models import Adjudication, Annotation, GoldenItem, GoldenRun, GoldenSet, Referral, Subject
from evalsite.review.questions.scales import Label, judge_label, labels_from_json
from evalsite.review.routing import GOLDEN_SHARES, GoldenPart, ItemArm
from evalsite.review.selectors.final_labels import criterion_of
from evalsite.review.selectors.subjects import (
    ContentLabels,
    RubricParts,
    blind_labels,
    chunks,
    first_cases,
    own_parts_of,
    own_scale_of,
    part_for,
    subject_facts,
)
from judging.judges.subjects import READ_NOW
from judging.models import BASELINE, SCORED_KINDS, EvaluatorKind, Response, RunEvaluator, Verdict
from judging.models.runs import RunStatus
from judging.selectors.judges import versions_of
from judging.statistics.estimates import FEWEST_CASES, FEWEST_FOR_CLAIMS

FEWEST_GOLDEN = math.ceil(FEWEST_CASES / GOLDEN_SHARES[GoldenPart.TEST])  # labelled cases, so that the test has figures
FEWEST_FOR_KAPPA = math.ceil(FEWEST_FOR_CLAIMS / GOLDEN_SHARES[GoldenPart.TEST])
KEY_SHOWN = 12
MOST_READ = 2_000  # evaluators of the newest runs, among which criteria are offered


@dataclass(frozen=True, slots=True)
class LabelledSubjectResponse:
    """A response with the final blind label of its subject."""

    response_id: int
    case_key: str
    subject_id: int
    label: str
    scale: tuple[Label, ...]


PAIRS = (
    "A golden set holds single responses. How a judge that compares pairs agrees with labels of pairs, those of a "
    "benchmark's authors too, stands on the judge's own page, where a threshold is chosen as well."
)


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
    def counts_in_words(self) -> dict[str, int]:
        """The same by the texts of labels."""
        texts = {label.value: label.text for label in self.scale}
        return {texts.get(value, value): n for value, n in self.counts.items()}

    @property
    def lacks(self) -> str:
        """What is missing for a golden set in words, with the numbers; empty where it is enough."""
        if self.cases >= FEWEST_GOLDEN:
            return ""
        left_out = (
            f" {self.referred:,} labelled responses are left out, because a rule sent them to people after a verdict; "
            "plan a random audit of the run, or include them."
        )
        return (
            f"A golden set needs {FEWEST_GOLDEN} cases with a final blind label, so that its test part has"
            f" {FEWEST_CASES}; there are {self.cases:,}, so {FEWEST_GOLDEN - self.cases:,} are missing."
            f"{left_out if self.referred else ''}"
        )

    @property
    def scale(self) -> tuple[Label, ...]:
        """The commonest scale."""
        scales = Counter(row.scale for row in self.rows).most_common(1)
        return scales[0][0] if scales else ()


def golden_questions() -> list[RunEvaluator]:
    """Return the newest evaluator of each criterion under which responses were judged."""
    rows = _judged().exclude(options__has_key=BASELINE)  # labels of pairs say nothing of one response
    newest: dict[object, RunEvaluator] = {}
    for evaluator in rows.select_related("run__suite__benchmark", "rubric").order_by("-run_id", "position")[:MOST_READ]:
        newest.setdefault((evaluator.run.suite_id, criterion_of(evaluator)), evaluator)
    return list(newest.values())


def compares_pairs() -> bool:
    """Return whether a judge has compared pairs of responses."""
    return _judged().filter(options__has_key=BASELINE).exists()


def _judged() -> QuerySet[RunEvaluator]:
    return RunEvaluator.objects.filter(run__kind__in=SCORED_KINDS).exclude(kind=EvaluatorKind.INDEX)


SHORT_SCALE = 5  # labels


def question_words(evaluator: RunEvaluator) -> str:
    """Return how a criterion is called in a list: its rubric and its name, or the labels of a scale of its own."""
    rubric = str(evaluator.rubric) if evaluator.rubric is not None else ""
    labels = [label.value for label in own_scale_of(evaluator)]
    scale = f"{labels[0]} to {labels[-1]}" if len(labels) > SHORT_SCALE else ", ".join(labels)
    criterion = evaluator.criterion or own_parts_of(evaluator) or scale
    return ", ".join(filter(None, (rubric, criterion))) or "the response as a whole"


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
    of_files = ContentLabels()
    responses = Response.objects.filter(prompt__cases__links__suite=suite_id, superseded_at__isnull=True)
    response_ids = list(dict.fromkeys(responses.order_by("pk").values_list("pk", flat=True)))
    by_response: dict[tuple[int, str], list[int]] = {}
    for ids in chunks(response_ids):
        rows = list(Response.objects.filter(pk__in=ids).select_related("prompt").defer("text", "prompt__text"))
        keys: dict[int, str] = {}
        file_keys: dict[int, tuple[str, ...]] = {}
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
            file_keys[row.pk] = of_files.keys_of(facts.content, evaluator.criterion)
        by_key = dict(Subject.objects.filter(key__in=set(keys.values())).values_list("key", "pk"))
        referred = _referred_as(ids, evaluator.criterion)
        of_content = of_files.subjects_of(key for several in file_keys.values() for key in several)
        for row in rows:
            subject_ids = [by_key[keys[row.pk]]] if keys[row.pk] in by_key else []
            subject_ids += [pk for pk in referred.get(row.pk, ()) if pk not in subject_ids]
            subject_ids += [pk for key in file_keys[row.pk] for pk in of_content.get(key, ()) if pk not in subject_ids]
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


@dataclass(frozen=True, slots=True)
class PartCounts:
    """The size of one part; `labels` counts its responses by label in the order of the scale."""

    part: GoldenPart
    cases: int
    responses: int
    doubted: int  # responses without a label at present: people are deciding them again
    labels: tuple[tuple[Label, int], ...]


def part_counts(golden_set: GoldenSet) -> list[PartCounts]:
    """Return the size of each part, with two queries for each 5,000 responses."""
    rows = list(GoldenItem.objects.filter(golden_set=golden_set).values_list("part", "case_key", "subject_id"))
    labels = blind_labels(subject_id for _, _, subject_id in rows)
    scale = labels_from_json(golden_set.labels)
    part_sizes = []
    for part in GoldenPart:
        members = [(case, subject_id) for row_part, case, subject_id in rows if row_part == part]
        by_label = Counter(labels[pk].label for _, pk in members if pk in labels)
        counts = tuple((label, by_label[label.value]) for label in scale)
        part_sizes.append(
            PartCounts(part, len({case for case, _ in members}), len(members), len(members) - by_label.total(), counts)
        )
    return part_sizes


def rare_labels(counts: list[PartCounts]) -> list[str]:
    """Return the labels that people gave, but of which some part has fewer than two responses."""
    total, least = Counter[str](), dict[str, int]()
    for part in counts:
        for label, n in part.labels:
            total[label.text] += n
            least[label.text] = min(least.get(label.text, n), n)
    return [text for text, n in least.items() if n < 2 and total[text]]


def listed_sets() -> QuerySet[GoldenSet]:
    """Return the golden sets, the newest first, with the number of cases and how often the test was opened."""
    items = GoldenItem.objects.filter(golden_set=OuterRef("pk")).order_by().values("golden_set")
    tests = GoldenRun.objects.filter(golden_set=OuterRef("pk"), part=GoldenPart.TEST).order_by().values("golden_set")
    return (
        GoldenSet.objects.select_related("suite")
        .annotate(
            cases=Subquery(items.annotate(n=Count("case_key", distinct=True)).values("n")),
            opened=Coalesce(Subquery(tests.annotate(n=Count("pk")).values("n")), 0),
        )
        .order_by("-made_at", "-pk")
    )


@dataclass(frozen=True, slots=True)
class ComparedResponse:
    """One response of an audit or of a golden set with people's label and what a version said of it."""

    item_id: int | None  # the review item on which people decided; None: the label was imported
    response_id: int
    case: int  # the prompt's key: all responses to one question are one case
    scale: tuple[Label, ...]
    people: str  # final blind label
    people_share: float | None  # the label from 0 to 1; None: it has no number
    verdict_id: int | None
    judge: str | None  # None: no usable verdict
    judge_share: float | None  # the judge's score from 0 to 1; None: none
    confidence: float | None
    chance: float = 1.0  # with which an audit drew it
    golden_id: int = 0  # of the GoldenItem
    case_key: str = ""  # of a golden set

    @property
    def agrees(self) -> bool:
        return self.judge == self.people


@dataclass(frozen=True, slots=True)
class GoldenVersion:
    """One version of a judge on a part: its newest finished run counts."""

    key: str
    evaluator: RunEvaluator
    golden_run: GoldenRun


def golden_versions(golden_set: GoldenSet, part: GoldenPart) -> list[GoldenVersion]:
    """Return the versions of judges with a finished run on a part, the newest first. Three queries."""
    runs = golden_set.runs.filter(part=part, run__status=RunStatus.FINISHED).select_related("started_by")
    by_run = {golden_run.run_id: golden_run for golden_run in runs}
    rows = RunEvaluator.objects.filter(run__in=by_run, kind=EvaluatorKind.JUDGE).select_related("run", "judge")
    evaluators = list(rows.order_by("-run_id", "position"))
    keys = versions_of(evaluators)
    versions: dict[str, GoldenVersion] = {}
    for evaluator in evaluators:
        key = keys[evaluator.pk].key
        versions.setdefault(key, GoldenVersion(key, evaluator, by_run[evaluator.run_id]))
    return list(versions.values())


def version_named(golden_set: GoldenSet, name_or_key: str) -> GoldenVersion:
    """Return the version on development that a name of a judge (its newest) or the beginning of a key means.

    Raises:
        Refused: there is none, or several.
    """
    versions = golden_versions(golden_set, GoldenPart.DEVELOPMENT)
    names = (name_or_key, f"{name_or_key}{BESIDE}")
    named = [row for row in versions if row.evaluator.name == names[0] or row.evaluator.name.startswith(names[1])][:1]
    matching = named or [version for version in versions if name_or_key and version.key.startswith(name_or_key)]
    if len(matching) == 1:
        return matching[0]
    listing = "; ".join(f"{version.evaluator.name} ({version.key[:KEY_SHOWN]})" for version in versions) or "none yet"
    raise Refused(
        f"{name_or_key!r} matches {len(matching)} versions that were run on development. Versions: {listing}."
    )


def golden_answers(
    golden_set: GoldenSet, part: GoldenPart, evaluators: Sequence[RunEvaluator]
) -> dict[int, list[ComparedResponse]]:
    """Return what each of these evaluators said of a part's labelled responses, by evaluator, in one order.

    Of a part, not of a run: a case that was moved to the examples is no longer in it, whoever judged it before.
    """
    items = list(
        GoldenItem.objects.filter(golden_set=golden_set, part=part)
        .select_related("response")
        .only("subject_id", "case_key", "response__prompt_id")
        .order_by("pk")
    )
    labels = blind_labels(item.subject_id for item in items)
    scales = scales_of(labels)
    labelled = [item for item in items if item.subject_id in labels]
    answers = {}
    for evaluator in evaluators:
        verdicts = verdicts_by_response(evaluator, [item.response_id for item in labelled])
        verdicts = {pk: row for pk, row in verdicts.items() if row.parser_version in READ_NOW}
        answers[evaluator.pk] = [
            _answer(item, labels[item.subject_id].item_id, labels[item.subject_id].label or "", scales, verdicts)
            for item in labelled
        ]
    return answers


def _answer(
    item: GoldenItem,
    item_id: int | None,
    label: str,
    scales: Mapping[int, tuple[Label, ...]],
    verdicts: Mapping[int, Verdict],
) -> ComparedResponse:
    scale, verdict = scales[item.subject_id], verdicts.get(item.response_id)
    score = getattr(verdict, "score", None)
    share = score.share if score is not None else None
    return ComparedResponse(
        golden_id=item.pk,
        item_id=item_id,
        response_id=item.response_id,
        case=item.response.prompt_id,
        case_key=item.case_key,
        scale=scale,
        people=label,
        people_share=next((option.share for option in scale if option.value == label), None),
        verdict_id=verdict.pk if verdict is not None else None,
        judge=judge_label(verdict.value, share, scale) if verdict is not None else None,
        judge_share=share,
        confidence=verdict.confidence if verdict is not None else None,
    )


def verdicts_by_response(evaluator: RunEvaluator, response_ids: Sequence[int]) -> dict[int, Verdict]:
    """Return an evaluator's verdicts with their scores, by response."""
    verdicts: dict[int, Verdict] = {}
    for ids in chunks(response_ids):
        rows = Verdict.objects.filter(evaluator=evaluator, response__in=ids)
        rows = rows.select_related("score").defer("rationale", "score__detail").order_by("pk")
        verdicts |= {verdict.response_id: verdict for verdict in rows}
    return verdicts


@dataclass(frozen=True, slots=True)
class LabelWords:
    """What somebody or one version of a judge said of a response, and why; `label` is empty where it said nothing
    readable. Pages name nobody."""

    label: str
    reason: str
    verdict_id: int | None = None
    agrees: bool = False  # of a judge: with people


@dataclass(frozen=True, slots=True)
class GoldenText:
    """One response of a golden set with everything that was said of it."""

    item: GoldenItem
    people: str  # the text of the final label
    reasons: tuple[LabelWords, ...]  # of people, the adjudicator's last
    judges: tuple[LabelWords, ...]  # one for each version asked for


def golden_texts(items: Sequence[GoldenItem], answers: Sequence[Mapping[int, ComparedResponse]]) -> list[GoldenText]:
    """Return the texts of items of `with_texts`, with the answers of some versions by golden item. Four queries."""
    answers_by_item = [[by_item[item.pk] for by_item in answers if item.pk in by_item] for item in items]
    verdict_ids = {answer.verdict_id for row in answers_by_item for answer in row if answer.verdict_id is not None}
    verdicts = Verdict.objects.filter(pk__in=verdict_ids).values_list("pk", "rationale", "reason")
    reasons = {pk: rationale or reason for pk, rationale, reason in verdicts}
    people = people_reasons(item.subject_id for item in items)
    labels = blind_labels(item.subject_id for item in items)
    texts = []
    for item, row in zip(items, answers_by_item, strict=True):
        scale = {label.value: label for label in labels_from_json(item.subject.labels)}
        words = tuple(
            LabelWords(
                _text(scale, answer.judge), reasons.get(answer.verdict_id or 0, ""), answer.verdict_id, answer.agrees
            )
            for answer in row
        )
        label = labels[item.subject_id].label if item.subject_id in labels else None
        notes = tuple(LabelWords(_text(scale, note.label), note.reason) for note in people.get(item.subject_id, ()))
        texts.append(GoldenText(item, _text(scale, label), notes, words))
    return texts


def with_texts(golden_ids: Iterable[int]) -> list[GoldenItem]:
    """Return golden items with the texts of question and response, in the order of the keys."""
    rows = GoldenItem.objects.filter(pk__in=list(golden_ids))
    return list(rows.select_related("response__prompt", "response__system", "subject").order_by("pk"))


def people_reasons(subject_ids: Iterable[int]) -> dict[int, list[LabelWords]]:
    """Return by subject what people noted with their labels, then why an adjudicator decided. Two queries."""
    ids = list(subject_ids)
    reasons: dict[int, list[LabelWords]] = defaultdict(list)
    notes = Annotation.objects.filter(item__subject__in=ids, item__retest_of=None, left_out_at=None).exclude(label="")
    for subject_id, label, note in notes.order_by("pk").values_list("item__subject_id", "label", "note"):
        reasons[subject_id].append(LabelWords(label, note))
    words = Adjudication.objects.filter(item__subject__in=ids).order_by("pk")
    for subject_id, label, reason in words.values_list("item__subject_id", "label", "reason"):
        reasons[subject_id].append(LabelWords(label, reason))
    return dict(reasons)


def _text(scale: Mapping[str, Label], label: str | None) -> str:
    return scale[label].text if label in scale and label is not None else label or ""
