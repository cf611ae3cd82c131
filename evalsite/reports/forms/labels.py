"""The form of a file of labels; apart, since what reads such files takes long to load."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet

from evalsite.base.actions.declarations import Reference
from evalsite.base.command_base import pick
from evalsite.base.http import whole_number
from evalsite.review.questions.scales import words_of
from evalsite.review.selectors.labels.labelled_responses import evaluator_words, evaluators_to_label
from evalsite.review.services.labels.label_tables import LabelUpload
from judging.forms.files import KeptFileForm, SizedFileField
from judging.forms.imports import ColumnsField, chosen_columns
from judging.models import RunEvaluator


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


class LabelImportForm(KeptFileForm):
    """A file of labels, what they are about, and what its columns mean where their names do not say it."""

    OPEN = ("columns",)

    file = SizedFileField(label="File", help_text="A table of labels, or the export of an annotation tool.")
    name = forms.CharField(max_length=200, required=False, help_text="Empty: the name of the file.")
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
    columns = ColumnsField(required=False)

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
            options=chosen_columns(data),
            scale=words_of(data["scale"]),
            evaluator=data["about"],
            source=data["source"].strip(),
            is_blind=data["is_blind"],
        )
