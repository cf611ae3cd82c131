"""What a report's address asks for, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import Q

from evalsite.base.day_fields import DayField, check_period
from evalsite.base.http import whole_number
from evalsite.base.json_types import JsonDict, JsonObject
from evalsite.reports.services.spend_figures import SpendGroup, SpendPeriod
from evalsite.review.models import GoldenSet
from evalsite.review.questions.scales import words_of
from evalsite.review.selectors.golden.golden_labels import question_words
from evalsite.review.selectors.labels.labelled_responses import evaluator_words, evaluators_to_label
from evalsite.review.services.labels.label_tables import LabelUpload
from evalsite.review.tables.labels import LabelColumns
from judging.forms.budgets import BudgetField
from judging.forms.files import KeptFileForm, SizedFileField
from judging.judges.registry import COMPARING
from judging.llm.endpoints import EndpointKind
from judging.models import Judge, ModelEndpoint, Rubric, RunEvaluator
from judging.selectors.endpoints import active_judges
from judging.statistics.risk_coverage import ALPHA, DELTA

Query = JsonObject


class SpendForm(forms.Form):
    """Which days to count and what to group by. Sent by GET, so that the choice stays in the address."""

    to = DayField(label="To")
    group = forms.ChoiceField(
        choices=[(group.value, group.value.capitalize()) for group in SpendGroup],
        required=False,
        label="Group by",
        widget=forms.Select(attrs={"class": "form-select"}),
        error_messages={"invalid_choice": "There is no group “%(value)s”. Choose one of the list."},
    )
    field_order = ("from", "to", "group")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["from"] = DayField(label="From")  # a word that Python keeps for itself
        self.order_fields(self.field_order)

    def clean(self) -> JsonDict:
        """Refuse a period that ends before it begins."""
        filled = super().clean() or {}
        check_period(self, "from", "to")
        return filled

    @property
    def period(self) -> SpendPeriod:
        """The days that a valid form asks for."""
        return SpendPeriod(self.cleaned_data["from"], self.cleaned_data["to"])

    @property
    def chosen_group(self) -> SpendGroup:
        """What a valid form groups by; judges unless it says so."""
        return SpendGroup(self.cleaned_data["group"] or SpendGroup.JUDGE)


class ThresholdForm(forms.Form):
    """How often accepted verdicts may be wrong, and how certain that shall be."""

    error = forms.FloatField(
        min_value=0.5,
        max_value=50,
        initial=100 * ALPHA,
        label="Highest error rate, %",
        help_text="Among the verdicts that are accepted without review.",
        widget=forms.NumberInput(attrs={"step": "0.5"}),
    )
    certainty = forms.FloatField(
        min_value=50,
        max_value=99.9,
        initial=100 * (1 - DELTA),
        label="Certainty, %",
        help_text="Of the bound on the error rate.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    tolerance = forms.IntegerField(
        min_value=0,
        initial=0,
        required=False,
        label="Tolerance, points",
        help_text=(
            "A verdict is wrong if it differs from the human label by more than this many points; neighbouring labels "
            "of the scale are one point apart."
        ),
    )

    def __init__(self, *args: Any, most_tolerance: int, **options: Any) -> None:
        super().__init__(*args, **options)
        self.most_tolerance = most_tolerance
        if not most_tolerance and not self.data.get("tolerance"):
            del self.fields["tolerance"]  # two labels, or labels without an order

    def clean_tolerance(self) -> int:
        """Refuse a tolerance under which nothing could be wrong."""
        tolerance = self.cleaned_data["tolerance"] or 0
        if tolerance > self.most_tolerance:
            raise forms.ValidationError(
                f"At most {self.most_tolerance}: with more, no verdict on this scale could be wrong."
                if self.most_tolerance
                else "The labels of this judge are two, or have no order: choose 0."
            )
        return int(tolerance)

    @property
    def alpha(self) -> float:
        return float(self.cleaned_data["error"]) / 100

    @property
    def delta(self) -> float:
        return 1 - float(self.cleaned_data["certainty"]) / 100

    @property
    def tolerance_points(self) -> int:
        return int(self.cleaned_data.get("tolerance") or 0)


class AnchorForm(forms.Form):
    """What asking the anchors again may cost."""

    budget = BudgetField(help_text="Empty: no limit.")


class GoldenQuestionField(forms.TypedChoiceField):
    """Choose the criterion of a suite whose labels a golden set is made of."""

    def __init__(self, **options: Any) -> None:
        super().__init__(coerce=int, empty_value=None, **options)

    def offer(self, questions: Sequence[RunEvaluator]) -> None:
        """Offer these criteria."""
        self.choices = [
            ("", "Choose"),
            *((question.pk, f"{question.run.suite}: {question_words(question)}") for question in questions),
        ]


class GoldenSetForm(forms.Form):
    """A new golden set."""

    question = GoldenQuestionField(label="Suite and criterion")
    name = forms.CharField(max_length=120)
    seed = forms.IntegerField(
        initial=0, min_value=0, label="Random seed", help_text="The same seed splits the same cases alike."
    )
    with_referred = forms.BooleanField(
        required=False,
        label="Include responses that a rule sent to review",
        help_text="A rule selects what a judge was unsure of, so figures on them do not hold for other responses.",
    )

    def __init__(self, *args: Any, questions: Sequence[RunEvaluator], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = "look" not in self.data  # labels are counted without one
        field = self.fields["question"]
        assert isinstance(field, GoldenQuestionField)
        field.offer(questions)


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
        judges, rubric = self.fields["judges"], self.fields["rubric"]
        assert isinstance(judges, forms.ModelMultipleChoiceField)
        assert isinstance(rubric, forms.ModelChoiceField)
        judges.queryset = active_judges().exclude(kind__in=COMPARING).order_by("name")
        benchmark = Q(benchmark=golden_set.suite.benchmark) | Q(benchmark__isnull=True)
        rubric.queryset = Rubric.objects.filter(benchmark).order_by("slug", "-version")


class WordingForm(forms.Form):
    """Which model proposes wording, and what it may cost."""

    endpoint = forms.ModelChoiceField(ModelEndpoint.objects.none(), label="Model that proposes")
    budget = BudgetField(help_text="Nothing is asked that could exceed it. Default: no budget.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["endpoint"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = ModelEndpoint.objects.filter(is_active=True, kind=EndpointKind.OPENAI).order_by("name")


class EvaluatorChoiceField(forms.ModelChoiceField):  # type: ignore[type-arg]  # it takes no parameter when it runs
    """The evaluator of a run whose responses were labelled."""

    def label_from_instance(self, obj: RunEvaluator) -> str:
        """Return run, judge and criterion."""
        return evaluator_words(obj)


class LabelImportForm(KeptFileForm):
    """A file of labels, what they are about, and what its columns mean where their names do not say it."""

    file = SizedFileField(label="File", help_text="CSV, XLSX or JSONL.")
    name = forms.CharField(max_length=200, required=False, help_text="Empty: the name of the file.")
    about = EvaluatorChoiceField(
        queryset=RunEvaluator.objects.none(),
        required=False,
        label="Labelled responses",
        empty_label="none of this site: only agreement between the raters",
        help_text="Labels of responses become final labels, used for every judge, run and prompt version over equal"
        " responses. The table identifies each response by response_id, or by case and system.",
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
    item_column = forms.CharField(max_length=100, required=False, label="Column of the item")
    rater_column = forms.CharField(max_length=100, required=False, label="Column of the rater (long tables)")
    label_column = forms.CharField(max_length=100, required=False, label="Column of the label (long tables)")
    rater_columns = forms.CharField(
        max_length=2000, required=False, label="Columns of raters (wide tables)", help_text="Separated by commas."
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        about = self.fields["about"]
        if isinstance(about, EvaluatorChoiceField):
            chosen = whole_number(str(self.data.get("about") or self.initial.get("about") or ""))
            about.queryset = evaluators_to_label(also=chosen)

    @property
    def columns(self) -> LabelColumns:
        """What the form says the columns mean."""
        data = self.cleaned_data
        return LabelColumns(
            item=data["item_column"].strip(),
            rater=data["rater_column"].strip(),
            label=data["label_column"].strip(),
            raters=words_of(data["rater_columns"]),
        )

    @property
    def upload(self) -> LabelUpload:
        """The file with the other fields of the form."""
        data = self.cleaned_data
        return LabelUpload(
            data=data["contents"],
            file_name=data["file_name"],
            columns=self.columns,
            scale=words_of(data["scale"]),
            evaluator=data["about"],
            source=data["source"].strip(),
            is_blind=data["is_blind"],
        )


class ShareForm(forms.Form):
    """How long a link is open."""

    days = forms.TypedChoiceField(
        coerce=int,
        choices=[(7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year")],
        initial=30,
        label="The link ends after",
    )
