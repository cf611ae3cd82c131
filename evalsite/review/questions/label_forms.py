"""The form of items that people give one label: one question, whose answer is the label itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evalsite.review.questions.answer_forms import words_of_parts
from evalsite.review.questions.forms import (
    LABEL,
    SWAPPED,
    Answer,
    AnswerForm,
    FormQuestion,
    Kind,
    PartsMissing,
    letters_seen,
    value_text,
)
from evalsite.review.questions.scales import Label, is_number_scale, meaning_of, short_of, shown_label
from judging.specs.types import ScaleSpec

BOTH_TURNED = letters_seen(SWAPPED)


@dataclass(frozen=True, slots=True)
class LabelForm(AnswerForm):
    """One question whose answer is the label, so that nothing is stored beside it."""

    def read(self, texts: Mapping[str, str]) -> dict[str, Answer]:
        """Return the label that a person chose, by the question's key. Raises: PartsMissing: none of the scale."""
        said = texts.get(LABEL, "")
        if said and said not in self.parts[0].scale.labels:
            raise PartsMissing(f"“{said}” is not on this item's scale: {', '.join(self.parts[0].scale.labels)}.")
        return super(LabelForm, self).read(texts)

    def _missing(self, parts: Sequence[FormQuestion]) -> str:
        return "Choose a label first."

    def label(self, values: Mapping[str, Answer]) -> str:
        """Return the answer."""
        return value_text(values[LABEL])

    def stored(self, values: Mapping[str, Answer]) -> dict[str, Answer]:
        """Return nothing: the label says it all."""
        return {}

    def answers(self, label: str, parts: Mapping[str, Answer]) -> dict[str, Answer]:
        """Return the label as the answer to the question."""
        return {LABEL: label} if label else {}

    def words(self, values: Mapping[str, Answer]) -> str:
        """Return what was said of the parts of a form that the item had before."""
        return words_of_parts({key: value for key, value in values.items() if key != LABEL})

    def turned(self, values: Mapping[str, Answer], letters: Mapping[str, str]) -> dict[str, Answer]:
        """Return the answer of somebody who sees the sides of a pair the other way round."""
        turned = dict(values)
        if LABEL in values:
            turned[LABEL] = shown_label(value_text(values[LABEL]), self.labels, swapped=letters == BOTH_TURNED)
        return turned

    def asked(self, text: str, *, hint: str) -> LabelForm:
        """Return the form with its question in words."""
        return replace(self, parts=(replace(self.parts[0], text=text, help=hint),))


def label_form(labels: Sequence[Label]) -> LabelForm:
    """Return the form of a scale; what its numbers mean stands beside them."""
    scale = ScaleSpec("nominal", labels=tuple(label.value for label in labels))
    question = FormQuestion(LABEL, "", Kind.CHOICE, scale=scale, options=tuple(labels))
    if is_number_scale(labels):
        options = tuple(replace(label, text=short_of(label)) for label in labels)
        anchors = tuple((short_of(label), meaning_of(label)) for label in labels if meaning_of(label))
        question = replace(question, options=options, anchors=anchors)
    return LabelForm((question,), tuple(labels))
