"""The base of the forms for all kinds of runs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict

from evalsite.base.json_types import JsonDict
from judging.forms.budgets import BudgetField
from judging.models import RunKind, Suite, System
from judging.services.runs.run_plans import RunPlan


class NewRunForm(forms.Form):
    """A run of one kind over a suite: name, budget and reuse of replies, and what else the kind asks for."""

    kind: ClassVar[RunKind]
    title: ClassVar[str]
    template: ClassVar[str]  # the fields of this kind
    do_not_call_in_templates: ClassVar[bool] = True  # pages list the classes as kinds to choose from
    is_estimated_at_once: ClassVar[bool] = True  # what the form offers at first is a run already

    name = forms.CharField(required=False, max_length=200, help_text="Default: number, judges, systems.")
    budget = BudgetField(help_text="The run pauses before a call that could exceed it. Default: no budget.")
    fresh = forms.BooleanField(
        required=False,
        label="Request every reply again",
        help_text="Replies of earlier runs are not reused, and everything is paid for again. Useful if a model "
        "changed without changing its name, or to measure how consistent a judge is.",
    )

    without_images = forms.BooleanField(
        required=False,
        label="Judge without images",
        help_text="For judges whose endpoint cannot see images; each of their verdicts says how many it was given "
        "without. Otherwise such a run is refused.",
    )

    def __init__(self, *args: Any, suite: Suite, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.suite = suite
        self.responding_systems = (
            System.objects.filter(responses__prompt__cases__links__suite=suite, responses__superseded_at__isnull=True)
            .distinct()
            .order_by("name")
        )
        self._models("systems").queryset = self.responding_systems

    @classmethod
    def linked_values(cls, query: QueryDict) -> JsonDict:
        """Return what an address fills in."""
        return {}

    @abstractmethod
    def plan(self) -> RunPlan:
        """Return what was asked for; the form must be valid."""

    def _models(self, name: str) -> forms.ModelMultipleChoiceField[Any]:
        field = self.fields[name]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        return field
