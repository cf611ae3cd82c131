"""What annotators, adjudicators and owners of queues send."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet

from evalsite.base.actions.declarations import Reference
from evalsite.base.form_fields import NameField, offer_choices, offer_rows
from evalsite.base.types import JsonDecoder, JsonDict, choices_of
from evalsite.review.models import Annotation, Assignment, PausedPerson, Queue, ReviewItem, Team, TrainingAnswer
from evalsite.review.models.items import number_at
from evalsite.review.questions.forms import LABEL, part_texts_in, said_text
from evalsite.review.questions.scales import Label
from evalsite.review.queue_forms import BY_PARTS, MembersField, PeopleSearchForm, QueryForm, ReasonForm, offer_members
from evalsite.review.services.decisions import FinalWord
from evalsite.review.services.gold import GoldColumn, Resolution, judges_of
from evalsite.review.states import REASON_LIMIT, TEXT_LIMIT, ErrorKind, LabelsOf

NO_FIELD, NO_QUESTION = "I do not know this field", "I do not understand the question"
PAIR_SKIP_REASONS = (
    NO_FIELD,
    NO_QUESTION,
    "The responses cannot be compared",
    "I recognise the system behind a response",
)
SINGLE_SKIP_REASONS = (
    NO_FIELD,
    NO_QUESTION,
    "The response is cut off or illegible",
    "I recognise the system behind the response",
)
UNFIT_RUBRIC = "The rubric does not fit this question"  # offered where there is one
UNABLE_REASONS = (
    "Information needed to decide is missing",
    "Both labels can be justified",
)


class PartsWidget(forms.HiddenInput):
    """The parts of a criterion's form: programs send them as one value, pages as a field each."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        return data.get(name) if name in data else json.dumps(part_texts_in(data))


class PartsField(forms.JSONField):
    """What is said of each part of a criterion's form, by its key."""

    widget = PartsWidget

    def __init__(self) -> None:
        said = "What is said of each part of the item's form, by its key."
        super().__init__(decoder=JsonDecoder, required=False, help_text=said)

    def clean(self, value: Any) -> dict[str, str]:
        parts = super().clean(value) or {}
        if not isinstance(parts, dict) or not all(map(_is_said, parts.values())):
            raise forms.ValidationError("Give each part of the form one value, or a list of choices, by its key.")
        return {key: said_text(said) for key, said in parts.items()}


def _is_said(value: Any) -> bool:
    return all(isinstance(word, str) for word in value) if isinstance(value, list) else not isinstance(value, dict)


class AnswersForm(forms.Form):
    """What is said of the questions about an item; whether these are answers to them is seen under lock."""

    OPEN: ClassVar[tuple[str, ...]] = ("parts",)

    label = forms.CharField(
        required=False,
        help_text="Of an item without a form, in place of parts: one of its labels; A is the first response.",
    )
    parts = PartsField()

    def clean(self) -> None:
        """Take a label as the answer to the one question that there is."""
        super().clean()
        cleaned = self.cleaned_data
        label = cleaned.pop("label", "")
        if "parts" in cleaned and label:
            cleaned["parts"] = cleaned["parts"] | {LABEL: label}


class AnnotationForm(AnswersForm):
    """A blind answer."""

    token = forms.CharField(max_length=36, widget=forms.HiddenInput)
    note = forms.CharField(
        required=False,
        max_length=TEXT_LIMIT,
        label="Reason",
        help_text="Shown to the person who adjudicates the item if annotators disagree.",
        widget=forms.Textarea(attrs={"rows": 4}),
    )


class TrainingForm(AnswersForm):
    """An answer to a training item."""

    OPEN: ClassVar[tuple[str, ...]] = ("item", "parts")

    item = forms.CharField(
        max_length=20, widget=forms.HiddenInput, help_text="What stands for the item, as next-training tells it."
    )

    def clean_item(self) -> int:
        """Return the number of the item."""
        try:
            return number_at(self.cleaned_data["item"])
        except ValueError as error:
            raise forms.ValidationError("This is not an item.") from error


TOLERANCE_HELP = "By how much a number or a value of a scale may differ from the known one and still count as right."


class ToleranceForm(forms.Form):
    """How near an answer has to be to the known one, and what the known ones are for."""

    tolerance = forms.FloatField(required=False, min_value=0, initial=0, help_text=TOLERANCE_HELP)
    is_training = forms.BooleanField(
        required=False,
        label="For the training round",
        help_text="Everybody answers it before their first item and is then told what is right and why. It is never "
        "handed out unawares, and what is answered to it is no data.",
    )

    def clean_tolerance(self) -> float:
        """Return the tolerance, 0 unless it was given."""
        return self.cleaned_data["tolerance"] or 0.0


class GoldForm(ToleranceForm):
    """What else is known of an item whose answer is known."""

    explanation = forms.CharField(
        required=False,
        max_length=2_000,
        help_text="Why this is the answer. Annotators are told once they have answered it in training, else never.",
    )
    field_order = ("explanation", "tolerance", "is_training")


class GoldColumnForm(ToleranceForm):
    """Where the file of a queue has the answers that are known."""

    column = forms.CharField(
        max_length=200,
        help_text="The column of the queue's file with the answers: a label, or for several questions JSON. With a "
        "column for each question (gold.rank, gold.use.a), the words before the first full stop (gold).",
    )
    explained_by = forms.CharField(
        required=False, max_length=200, label="Column of explanations", help_text="Empty: none."
    )
    field_order = ("column", "explained_by", "tolerance", "is_training")

    def wanted(self) -> GoldColumn:
        """Return what was entered."""
        return GoldColumn(**self.cleaned_data)


class GuidelinesChangeForm(forms.Form):
    """Which two versions of a queue's guidelines are compared."""

    before = forms.IntegerField(
        required=False,
        min_value=1,
        help_text="A version. Empty: the one that you annotated by last, else the one before the last.",
    )
    after = forms.IntegerField(required=False, min_value=1, help_text="A version. Empty: the one that holds.")


class ConfirmGuidelinesForm(forms.Form):
    """Which version of a queue's guidelines somebody has read."""

    version = forms.IntegerField(
        widget=forms.HiddenInput, min_value=1, help_text="The version that you have read, which has to hold."
    )
    OPEN = ("version",)

    def __init__(self, *arguments: Any, queue: Queue, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.held = queue.guidelines_version

    def clean_version(self) -> int:
        version: int = self.cleaned_data["version"]
        if version != self.held:
            raise forms.ValidationError(f"The guidelines are now version {self.held}. Read what changed first.")
        return version


class ViewForm(QueryForm):
    """A filter to keep, and the name that it is kept under."""

    name = NameField(max_length=80, label="Name", help_text="One that is taken gets the new filter.")

    @property
    def consequences(self) -> str:
        """What is kept, as a page says before it is."""
        return f"Filter: {self['query'].value()}"

    def clean_query(self) -> str:
        """Refuse to keep no filter at all."""
        if query := super().clean_query():
            return query
        raise forms.ValidationError("Set a filter first: without one, all items are shown anyway.")


class ViewNameForm(forms.Form):
    """One of the views that are kept with a queue."""

    OPEN = ("name",)

    name = forms.ChoiceField(label="View")

    def __init__(self, *arguments: Any, queue: Queue, **options: Any) -> None:
        super().__init__(*arguments, **options)
        offer_choices(self, "name", ((name, name) for name in sorted(queue.views)))


class PrefillForm(forms.Form):
    """Where a model's answers to the items of a queue are, and how many items go without."""

    column = forms.CharField(
        max_length=200,
        required=False,
        help_text="The column of the queue's file with the answers: a label, or for several questions JSON. With a "
        "column for each question (prefill.rank, prefill.use.a), the words before the first full stop (prefill). "
        "Annotators never see a column whose name has the word prefill.",
    )
    judge = forms.ChoiceField(required=False, help_text="The judge of the queue's run that answers.")
    unfilled_share = forms.FloatField(
        min_value=0,
        max_value=0.9,
        label="Share without",
        help_text="From 0 to 0.9: of the items with answers, drawn at random, that are asked blind. How often people "
        "agree with the answers there, and where they are filled in, shows how far the answers pull them.",
    )

    def __init__(self, *arguments: Any, queue: Queue, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.initial = {"unfilled_share": queue.unfilled_share, **self.initial}
        asked = "column" if queue.source_file else "judge" if queue.run_id is not None else ""
        for name in {"column", "judge"} - {asked}:
            del self.fields[name]
        if asked:
            self.fields[asked].required = True
        if isinstance(judge := self.fields.get("judge"), forms.ChoiceField):
            judge.choices = lambda: [(name, name) for name in judges_of(queue)]  # read where it is shown


class _PersonField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic at run time
    """One person of those that a queue has as `what`; the form says who they are."""

    def __init__(self, what: str, **options: Any) -> None:
        errors = {"required": "Name a person."}
        super().__init__(User.objects.none(), empty_label=None, error_messages=errors, **options)
        self.reference = Reference(what, fields=("username",))


class ResolveForm(ReasonForm):
    """What becomes of a paused person and of the labels that they gave."""

    person = _PersonField("paused person", help_text="Who is paused.")
    labels = forms.ChoiceField(
        choices=[(value, text) for value, text in choices_of(LabelsOf) if value != LabelsOf.UNDECIDED],
        widget=forms.RadioSelect,
        help_text="Left out: no figure and no decision counts them, and their items need one annotation less. Asked "
        "again: their items go to other people.",
    )
    resumes = forms.BooleanField(
        required=False,
        label="They may go on",
        help_text="They are handed items again; the gold items that they answered so far no longer count.",
    )
    field_order = ("person", "labels", "resumes", "reason")

    def __init__(self, *arguments: Any, queue: Queue, **options: Any) -> None:
        super().__init__(*arguments, **options)
        paused = PausedPerson.objects.filter(queue=queue, resumed_at=None)
        offer_rows(self, "person", User.objects.filter(pauses__in=paused).order_by("username"))

    def resolution(self) -> Resolution:
        """Return what was decided."""
        data = self.cleaned_data
        return Resolution(LabelsOf(data["labels"]), data["resumes"], data["reason"])


class TeamForm(PeopleSearchForm, forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """What a team is called and who is in it."""

    members = MembersField()

    class Meta:
        model = Team
        fields = ("name", "members")
        field_classes = {"name": NameField}

    def __init__(self, *arguments: Any, people: QuerySet[User], **options: Any) -> None:
        super().__init__(*arguments, **options)
        offer_members(self, people)
        self.fields["members"].required, self.fields["members"].help_text = True, ""


class TrainAgainForm(ReasonForm):
    """Who answers the training round of a queue again, and why."""

    person = _PersonField("person in training", help_text="Who has begun the training round.")
    field_order = ("person", "reason")

    def __init__(self, *arguments: Any, queue: Queue, **options: Any) -> None:
        super().__init__(*arguments, **options)
        answers = TrainingAnswer.objects.filter(gold__item__queue=queue)
        offer_rows(self, "person", User.objects.filter(pk__in=answers.values("person")).order_by("username"))


def first_annotation(claim: Assignment) -> JsonDict:
    """Return what the form of an annotation shows at first: what was typed before."""
    return {"token": claim.token, "parts": part_texts_in(claim.draft), "note": claim.draft.get("note")}


class SkipForm(forms.Form):
    """Why an item is given back."""

    token = forms.CharField(max_length=36, widget=forms.HiddenInput)
    reason = forms.CharField(
        max_length=REASON_LIMIT, label="Reason", error_messages={"required": "Give a reason for skipping this item."}
    )


class CannotJudgeForm(forms.Form):
    """Why a person cannot judge an item."""

    token = forms.CharField(max_length=36, widget=forms.HiddenInput)
    reason = forms.CharField(
        max_length=REASON_LIMIT,
        label="Reason",
        error_messages={"required": "Give a reason why you cannot judge this item."},
    )


class FlagForm(forms.Form):
    """What is wrong with an item."""

    text = forms.CharField(
        max_length=REASON_LIMIT, required=False, label="Problem", help_text="Empty: the flag is removed."
    )


class CommentForm(forms.Form):
    """What is said of an item."""

    text = forms.CharField(
        max_length=TEXT_LIMIT,
        label="Comment",
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Write a comment."},
    )


class AnnotatorCommentForm(CommentForm):
    """What a lead says to an annotator of an item."""

    person = forms.ModelChoiceField(
        User.objects.none(), empty_label=None, help_text="Who has the item, or has had it.", label="Annotator"
    )
    field_order = ("person", "text")

    def __init__(self, *arguments: Any, item: ReviewItem, **options: Any) -> None:
        super().__init__(*arguments, **options)
        offer_rows(self, "person", User.objects.filter(assignments__item=item).order_by("username"))


class RevisionForm(AnswersForm):
    """The one change after the reveal: other answers to the same questions."""

    reason = forms.CharField(
        max_length=TEXT_LIMIT, label="Reason for the revision", widget=forms.Textarea(attrs={"rows": 3})
    )


class DecisionField(forms.ChoiceField):
    """Somebody's annotation (`a12`), or one's own answers to the form (`parts`); programs may name a label (`l-1`)."""

    def name_of(self, code: str) -> str:
        """Return what programs call a choice: `annotation 12`, the label, or `parts`."""
        return code if code == BY_PARTS else f"annotation {code[1:]}" if code.startswith("a") else code[1:]


class AdjudicationForm(forms.Form):
    """The final label of an item, and why."""

    OPEN: ClassVar[tuple[str, ...]] = ("parts",)

    decision = DecisionField(
        widget=forms.RadioSelect,
        label="Final label",
        help_text="A label as the item stores it (1: A is better), “annotation 12” to adopt one, or “parts”.",
        error_messages={"required": "Choose the final label."},
    )
    reason = forms.CharField(
        max_length=TEXT_LIMIT,
        label="Reason",
        help_text="Stored with the final label and shown to the annotators of the item.",
        widget=forms.Textarea(attrs={"rows": 4}),
        error_messages={"required": "Give a reason; it is stored with the final label."},
    )
    errors_made = forms.MultipleChoiceField(
        required=False,
        choices=choices_of(ErrorKind),
        widget=forms.CheckboxSelectMultiple,
        label="Why annotators disagreed",
        help_text="Counted in the report on adjudications; annotators do not see it.",
    )
    parts = PartsField()

    def __init__(
        self, *arguments: Any, labels: Sequence[Label], annotations: Iterable[Annotation], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.labels = {f"a{annotation.pk}": annotation.label for annotation in annotations}
        decision, named = self.fields["decision"], [f"l{label.value}" for label in labels]
        if isinstance(decision, forms.ChoiceField):
            decision.choices = [(code, code) for code in (*self.labels, *named, BY_PARTS)]

    def final_word(self) -> FinalWord:
        """Return what was decided."""
        decision, reason = self.cleaned_data["decision"], self.cleaned_data["reason"]
        word = FinalWord("", reason, errors=self.cleaned_data["errors_made"])
        if decision == BY_PARTS:
            return replace(word, parts=self.cleaned_data["parts"])
        if decision in self.labels:
            return replace(word, label=self.labels[decision], adopted_id=int(decision[1:]))
        return replace(word, parts={LABEL: decision[1:]})
