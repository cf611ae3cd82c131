"""Forms of golden sets, and of labels that are imported from tables."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Q, QuerySet

from evalsite.base.actions.declarations import Reference
from evalsite.base.form_fields import BudgetField, NameField, offer_choices, offer_rows
from evalsite.base.rows import BadInput, pick
from evalsite.base.types import whole_number
from evalsite.review.models import GoldenRule, GoldenSet, WordingProposal
from evalsite.review.questions.scales import words_of
from evalsite.review.routing import GoldenPart
from evalsite.review.selectors.golden import (
    PAIRS,
    compares_pairs,
    golden_questions,
    golden_versions,
    question_words,
    version_named,
)
from evalsite.review.services.label_tables import LabelUpload, evaluator_words, evaluators_to_label
from judging.forms.imports import RecordFileForm, SizedFileField
from judging.judges.registry import COMPARING
from judging.judges.wordings import wording_lines
from judging.llm.endpoints import EndpointKind
from judging.models import Judge, ModelEndpoint, Rubric, RunEvaluator
from judging.selectors.endpoints import active_judges

ALL = "all"


def find_question(questions: QuerySet[RunEvaluator], text: str) -> RunEvaluator:
    """Return the criterion that a suite, or a suite with its criterion in words, means. Raises: BadInput."""
    rows = list(questions)
    if not rows and compares_pairs():
        raise BadInput(PAIRS)
    numbered = [row for row in rows if str(row.pk) == text]
    return numbered[0] if numbered else pick(rows, text, names_of=_names_of_question, what="criterion")


def _names_of_question(question: RunEvaluator) -> list[str]:
    suite = question.run.suite
    slug = suite.benchmark.slug
    return [f"{suite}: {question_words(question)}", slug, f"{slug}@{suite.number}"]


class QuestionField(forms.ModelChoiceField):  # type: ignore[type-arg]  # it takes no parameter when it runs
    """The criterion of a suite whose labels a golden set is made of."""

    reference = Reference("criterion", finder=find_question)

    def label_from_instance(self, obj: RunEvaluator) -> str:
        """Return the suite with the criterion."""
        return _names_of_question(obj)[0]


class GoldenLabelsForm(forms.Form):
    """Whose labels a golden set would be made of."""

    question = QuestionField(
        RunEvaluator.objects.none(),
        label="Suite and criterion",
        empty_label="Choose",
        help_text="The slug of the suite is enough where it was judged under one criterion.",
    )
    with_referred = forms.BooleanField(
        required=False,
        label="Include responses that a rule sent to review",
        help_text="A rule selects what a judge was unsure of, so figures on them do not hold for other responses.",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        rows = RunEvaluator.objects.filter(pk__in=[question.pk for question in golden_questions()])
        field = self.fields["question"]
        assert isinstance(field, QuestionField)
        field.queryset = rows.select_related("run__suite__benchmark", "rubric").order_by("-run_id", "position")


class GoldenSetForm(GoldenLabelsForm):
    """A new golden set."""

    name = NameField(max_length=120, label="Name")
    seed = forms.IntegerField(
        initial=0, min_value=0, label="Random seed", help_text="The same seed splits the same cases alike."
    )
    field_order = ("question", "name", "seed", "with_referred")


class GoldenRunForm(forms.Form):
    """Judges that are run on the development part of a golden set."""

    judges = forms.ModelMultipleChoiceField(
        Judge.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one judge."},
        help_text="A judge that was changed since its last run here is another version.",
    )
    rubric = forms.ModelChoiceField(
        Rubric.objects.none(), required=False, help_text="For judges that use one. Default: the rubric of the set."
    )
    budget = BudgetField(help_text="The run pauses before a call that could exceed it. Default: no budget.")
    fresh = forms.BooleanField(required=False, label="Request every reply again")

    def __init__(self, *args: Any, golden_set: GoldenSet, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_rows(self, "judges", active_judges().exclude(kind__in=COMPARING).order_by("name"))
        benchmark = Q(benchmark=golden_set.suite.benchmark) | Q(benchmark__isnull=True)
        offer_rows(self, "rubric", Rubric.objects.filter(benchmark).order_by("slug", "-version"))


class VersionField(forms.ModelChoiceField):  # type: ignore[type-arg]  # as above
    """A version of a judge on development, by the evaluator of its newest run."""

    reference: Reference

    def offer(self, golden_set: GoldenSet) -> None:
        """Offer the versions of a set."""
        versions = golden_versions(golden_set, GoldenPart.DEVELOPMENT)
        rows = RunEvaluator.objects.filter(pk__in=[version.evaluator.pk for version in versions])
        self.queryset = rows.select_related("run", "judge", "rubric")
        self.reference = Reference("version", finder=lambda _rows, text: version_named(golden_set, text).evaluator)


class VersionForm(forms.Form):
    """One version of a judge that was run on development."""

    OPEN = ("version",)

    version = VersionField(
        RunEvaluator.objects.none(),
        widget=forms.HiddenInput,
        help_text="The name of a judge (its newest version), or the beginning of a version's key.",
        error_messages={"invalid_choice": "This judge has no finished run on the development part of the golden set."},
    )

    def __init__(self, *args: Any, golden_set: GoldenSet, **options: Any) -> None:
        super().__init__(*args, **options)
        field = self.fields["version"]
        assert isinstance(field, VersionField)
        field.offer(golden_set)


class OpenTestForm(VersionForm):
    """For which version the test is opened, and what it may cost."""

    budget = BudgetField(help_text="Empty: no limit.")


class WordingForm(VersionForm):
    """Which model proposes wording, and what it may cost."""

    endpoint = forms.ModelChoiceField(
        ModelEndpoint.objects.filter(is_active=True, kind=EndpointKind.OPENAI).order_by("name"),
        label="Model that proposes",
    )
    budget = BudgetField(help_text="Nothing is asked that could exceed it. Default: no budget.")


class RuleForm(forms.Form):
    """A rule that was noted."""

    OPEN = ("rule",)

    rule = forms.ModelChoiceField(GoldenRule.objects.none(), widget=forms.HiddenInput, help_text="Its text.")

    def __init__(self, *args: Any, golden_set: GoldenSet, **options: Any) -> None:
        super().__init__(*args, **options)
        offer_rows(self, "rule", golden_set.rules.select_related("golden_set"))


class ExampleForm(forms.Form):
    """The judge that gets an example, and what it should reply."""

    OPEN = ("judge",)

    judge = forms.ModelChoiceField(Judge.objects.all(), widget=forms.HiddenInput, help_text="Of the kind Own prompt.")
    reply = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="What it should reply. Default: the label of people with their reasons, in the judge's own form.",
    )


class NoteRuleForm(forms.Form):
    """A rule for the rubric or the prompt."""

    text = forms.CharField(widget=forms.Textarea, label="Rule", help_text="At most 500 characters.")


class DoubtForm(forms.Form):
    """Why people should decide a label again."""

    reason = forms.CharField(widget=forms.Textarea, required=False, help_text="Why people should decide it again.")


class GoldenItemFilterForm(forms.Form):
    """Which items of golden sets are listed."""

    golden_set = forms.ModelChoiceField(
        GoldenSet.objects.all(), to_field_name="name", required=False, help_text="The name of a golden set."
    )
    part = forms.ChoiceField(
        required=False,
        choices=[("", "All"), *((part.value, part.label) for part in GoldenPart if part != GoldenPart.TEST)],
        help_text="Of the test part no item is shown.",
    )
    version = forms.CharField(
        max_length=200,
        required=False,
        help_text="Only those on which people and this version of a judge in the golden set differ: its name or key.",
    )

    def clean(self) -> None:
        """Read the version in the golden set that is named."""
        super().clean()
        filled = self.cleaned_data
        if filled.get("version"):
            if filled.get("golden_set") is None:
                raise forms.ValidationError("Name the golden set of the version.")
            try:
                filled["version"] = version_named(filled["golden_set"], filled["version"])
            except ValueError as refusal:
                self.add_error("version", str(refusal))


class WordingFilterForm(forms.Form):
    """Which proposals of wording are listed."""

    golden_set = forms.ModelChoiceField(
        GoldenSet.objects.all(), to_field_name="name", required=False, help_text="The name of a golden set."
    )


class WordingLinesForm(forms.Form):
    """Which lines of a proposal are accepted."""

    lines = forms.MultipleChoiceField(
        required=False, help_text=f"The places of the accepted changes, counted from 0, or {ALL}."
    )

    def __init__(self, *args: Any, proposal: WordingProposal, **options: Any) -> None:
        super().__init__(*args, **options)
        self.places = [
            str(line.place) for line in wording_lines(proposal.before, proposal.after) if line.place is not None
        ]
        offer_choices(self, "lines", ((place, place) for place in (*self.places, ALL)))

    @property
    def accepted(self) -> list[int]:
        """The places of a valid form."""
        chosen = self.cleaned_data["lines"]
        return [int(place) for place in (self.places if ALL in chosen else chosen)]


def find_labelled(evaluators: QuerySet[RunEvaluator], text: str) -> RunEvaluator:
    """Return the evaluator that a run, or a run with its judge, means: the first of those of one criterion.

    Raises:
        BadInput: there is none, or several; the message lists them.
    """

    def names_of(row: RunEvaluator) -> list[str]:
        return [evaluator_words(row), row.run.name, f"run {row.run_id}", str(row.pk)]

    every = list(evaluators)
    named = [row for row in every if text in names_of(row)]
    if len({(row.run_id, row.rubric_id, row.criterion) for row in named}) == 1:
        return named[0]
    return pick(every, text, names_of=names_of, what="run with scored responses")


class EvaluatorChoiceField(forms.ModelChoiceField):  # type: ignore[type-arg]  # it takes no parameter when it runs
    """The evaluator of a run whose responses were labelled."""

    reference = Reference("run with scored responses", finder=find_labelled)

    def label_from_instance(self, obj: RunEvaluator) -> str:
        """Return run, judge and criterion."""
        return evaluator_words(obj)


class LabelImportForm(RecordFileForm):
    """A file of labels, and what they are about."""

    field_order = ("file", "name", "about", "source", "is_blind", "scale")

    file = SizedFileField(label="File", help_text="A table of labels, or the export of an annotation tool.")
    name = NameField(max_length=200, required=False, help_text="Empty: the name of the file.")
    about = EvaluatorChoiceField(
        queryset=RunEvaluator.objects.none(),
        required=False,
        label="Labelled responses",
        empty_label="none of this site: only agreement between the raters",
        help_text="Labels of responses become final labels, used for every judge, run and prompt version over equal"
        " responses. The table identifies each response by response_id, or by case and system. Judges of pairs"
        " are not listed: import the pairs with their preferences under Import, and their judges find them.",
    )
    source = forms.CharField(
        max_length=200, required=False, label="Source", help_text="Empty: the names of the raters."
    )
    is_blind = forms.BooleanField(
        required=False,
        label="Blind labels",
        help_text="The raters saw neither machine verdicts nor each other's labels. Only such labels are used for"
        " figures about judges and corrected scores.",
    )
    scale = forms.CharField(
        max_length=1000,
        required=False,
        label="Label scale",
        help_text="All possible labels in order, separated by commas; needed for chance-corrected figures."
        " For responses of this site it is the scale of the criterion.",
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        about = self.fields["about"]
        if isinstance(about, EvaluatorChoiceField):
            chosen = whole_number(str(self.data.get("about") or self.initial.get("about") or ""))
            about.queryset = evaluators_to_label(also=chosen)

    @property
    def upload(self) -> LabelUpload:
        """The file with the other fields of the form."""
        data = self.cleaned_data
        return LabelUpload(
            data=data["contents"],
            file_name=data["file_name"],
            options=self.reading,
            scale=words_of(data["scale"]),
            evaluator=data["about"],
            source=data["source"].strip(),
            is_blind=data["is_blind"],
        )
