"""What a page or a model is shown of responses in a golden set: texts, people's labels and reasons, judges' reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evalsite.review.models import Adjudication, Annotation, GoldenItem
from evalsite.review.questions.scales import Label, labels_from_json
from evalsite.review.selectors.golden.golden_verdicts import GoldenAnswer
from evalsite.review.selectors.labels.known_labels import blind_labels
from judging.models import Verdict


@dataclass(frozen=True, slots=True)
class AnnotationNote:
    """What somebody said of a response, and why. Pages name nobody."""

    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class JudgeWords:
    """What one version said of a response, in words; `label` is empty where nothing could be read."""

    verdict_id: int | None
    label: str
    reason: str
    agrees: bool


@dataclass(frozen=True, slots=True)
class GoldenText:
    """One response of a golden set with everything that was said of it."""

    item: GoldenItem
    people: str  # the text of the final label
    reasons: tuple[AnnotationNote, ...]  # of people, the adjudicator's last
    judges: tuple[JudgeWords, ...]  # one for each version asked for


def golden_texts(items: Sequence[GoldenItem], answers: Sequence[Mapping[int, GoldenAnswer]]) -> list[GoldenText]:
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
            JudgeWords(
                verdict_id=answer.verdict_id,
                label=_text(scale, answer.judge),
                reason=reasons.get(answer.verdict_id or 0, ""),
                agrees=answer.agrees,
            )
            for answer in row
        )
        label = labels[item.subject_id].label if item.subject_id in labels else None
        notes = tuple(AnnotationNote(_text(scale, note.label), note.reason) for note in people.get(item.subject_id, ()))
        texts.append(GoldenText(item, _text(scale, label), notes, words))
    return texts


def with_texts(golden_ids: Iterable[int]) -> list[GoldenItem]:
    """Return golden items with the texts of question and response, in the order of the keys."""
    rows = GoldenItem.objects.filter(pk__in=list(golden_ids))
    return list(rows.select_related("response__prompt", "response__system", "subject").order_by("pk"))


def people_reasons(subject_ids: Iterable[int]) -> dict[int, list[AnnotationNote]]:
    """Return by subject what people noted with their labels, then why an adjudicator decided. Two queries."""
    ids = list(subject_ids)
    reasons: dict[int, list[AnnotationNote]] = defaultdict(list)
    notes = Annotation.objects.filter(item__subject__in=ids, item__retest_of=None).exclude(label="")
    for subject_id, label, note in notes.order_by("pk").values_list("item__subject_id", "label", "note"):
        reasons[subject_id].append(AnnotationNote(label, note))
    words = Adjudication.objects.filter(item__subject__in=ids).order_by("pk")
    for subject_id, label, reason in words.values_list("item__subject_id", "label", "reason"):
        reasons[subject_id].append(AnnotationNote(label, reason))
    return dict(reasons)


def _text(scale: Mapping[str, Label], label: str | None) -> str:
    return scale[label].text if label in scale and label is not None else label or ""
