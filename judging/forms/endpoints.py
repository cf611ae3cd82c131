"""Forms of endpoints and judges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django import forms

from judging.judges.registry import KINDS, OptionField
from judging.models import Judge, ModelEndpoint
from judging.services.endpoints import EndpointFields

if TYPE_CHECKING:
    EndpointModelForm = forms.ModelForm[ModelEndpoint]
else:
    EndpointModelForm = forms.ModelForm


class EndpointForm(EndpointModelForm):
    """An OpenAI-compatible endpoint."""

    base_url = forms.URLField(
        label="Address",
        max_length=300,
        required=False,
        assume_scheme="https",
        help_text="Up to and including /v1, such as https://openrouter.ai/api/v1 or http://127.0.0.1:11434/v1.",
    )

    class Meta:
        model = ModelEndpoint
        fields = [
            "name",
            "base_url",
            "model",
            "key_variable",
            "max_concurrency",
            "reasoning",
            "input_price",
            "output_price",
            "is_active",
        ]
        labels = {
            "model": "Model",
            "key_variable": "Key variable",
            "max_concurrency": "Calls at once",
            "reasoning": "Reasoning model",
            "input_price": "Input price",
            "output_price": "Output price",
            "is_active": "In use",
        }
        help_texts = {
            "name": "How judges and reports call it.",
            "model": "The model id that the endpoint expects.",
            "key_variable": "NAME of the environment variable that holds the key. The key itself is never stored.",
            "max_concurrency": "Over all workers together. The limiter goes below it when the endpoint says so.",
            "reasoning": "Thinks before it answers: up to 10 minutes are allowed for a reply.",
            "input_price": "USD per million tokens. Left empty: the listed price, if there is one.",
            "output_price": "USD per million tokens.",
        }

    def clean_max_concurrency(self) -> int:
        value: int = self.cleaned_data["max_concurrency"]
        if not 1 <= value <= 1000:
            raise forms.ValidationError("Enter a number from 1 to 1000.")
        return value

    def endpoint_fields(self) -> EndpointFields:
        """Return what was entered; the form must be valid."""
        return EndpointFields(**{name: self.cleaned_data[name] for name in self._meta.fields or ()})


class JudgeForm(forms.Form):
    """A judge of one kind, with a field for each of its options."""

    name = forms.CharField(max_length=120, help_text="How runs and reports call it.")
    endpoint = forms.ModelChoiceField(ModelEndpoint.objects.none(), empty_label="Choose an endpoint")

    def __init__(self, *args: Any, kind: str, judge: Judge | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind, self.judge = KINDS[kind], judge
        endpoint = self.fields["endpoint"]
        assert isinstance(endpoint, forms.ModelChoiceField)
        endpoint.queryset = ModelEndpoint.objects.filter(is_active=True).order_by("kind", "name")
        if judge is not None:
            self.initial = {**self.initial, "name": judge.name, "endpoint": judge.endpoint_id}
        for option in self.kind.options:
            value = judge.options.get(option.name, option.default) if judge else option.default
            self.fields[f"option_{option.name}"] = option_field(option, value)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        others = Judge.objects.filter(name=name)
        if self.judge is not None:
            others = others.exclude(pk=self.judge.pk)
        if others.exists():
            raise forms.ValidationError("Another judge has this name.")
        return name

    def options(self) -> dict[str, Any]:
        """Return the options as entered; the form must be valid."""
        found: dict[str, Any] = {}
        for option in self.kind.options:
            value = self.cleaned_data[f"option_{option.name}"]
            if option.kind == "choice":
                value = json.loads(value)
            found[option.name] = option.default if value is None and option.default is not None else value
        return found


def option_field(option: OptionField, value: Any) -> forms.Field:
    """Return the field of one option of a judge."""
    label = option.name.replace("_", " ").capitalize()
    common: dict[str, Any] = {"label": label, "help_text": option.help, "initial": value, "required": False}
    if option.kind == "choice":
        choices = [(json.dumps(choice), str(choice)) for choice in option.choices]
        return forms.ChoiceField(**common | {"choices": choices, "initial": json.dumps(value), "required": True})
    if option.kind == "boolean":
        return forms.BooleanField(**common)
    if option.kind == "text":
        return forms.CharField(**common, widget=forms.Textarea(attrs={"rows": 8}), strip=False)
    limits: dict[str, Any] = {"min_value": option.low, "max_value": option.high}
    return forms.IntegerField(**common, **limits) if option.kind == "integer" else forms.FloatField(**common, **limits)
