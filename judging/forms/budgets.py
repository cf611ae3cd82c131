"""Form fields for the budget of a run or of a day, in dollars and in annotations of people."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms

from evalsite.base.json_types import JsonDict
from judging.llm.endpoints import EndpointKind
from judging.models import ModelEndpoint


class BudgetField(forms.DecimalField):
    """Dollars with as many places as prices of calls have; empty: no limit."""

    def __init__(self, **options: Any) -> None:
        usual: JsonDict = {"required": False, "min_value": Decimal("0.000001"), "label": "Budget in USD"}
        super().__init__(**usual | {"max_digits": 14, "decimal_places": 6} | options)


class DayBudgetForm(forms.Form):
    """What the calls of a day may cost at an endpoint, or without one on the whole site."""

    endpoint = forms.ModelChoiceField(
        ModelEndpoint.objects.exclude(kind=EndpointKind.LEXICAL), required=False, help_text="Default: the whole site."
    )
    amount = BudgetField()


class AgreedForm(forms.Form):
    """How many annotations somebody has agreed to ask for."""

    agreed = forms.IntegerField(
        required=False,
        min_value=1,
        label="Annotations agreed to",
        help_text="Needed where people are asked for more than a day of work; the estimate says how many.",
    )
