"""Forms of model endpoints and of systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from evalsite.base.form_fields import NameField
from evalsite.base.types import JsonDecoder, choices_of
from judging.judges.answer_prompts import OWN, PLAIN, SHIPPED, ResponseSettings
from judging.llm.endpoints import EndpointKind, KeyHeader
from judging.models import ModelEndpoint, PromptVersion, System
from judging.services.endpoints import EXTRA_EXAMPLE, HEADERS_EXAMPLE, EndpointFields
from judging.services.systems import NAME_LENGTH, Worker, asking_of_version

if TYPE_CHECKING:
    EndpointModelForm = forms.ModelForm[ModelEndpoint]
else:
    EndpointModelForm = forms.ModelForm


class JsonObjectField(forms.JSONField):
    """A JSON object; an empty one is an empty field, neither {} nor null."""

    def __init__(self, *, example: str, rows: int, **kwargs: Any) -> None:
        super().__init__(
            decoder=JsonDecoder,
            required=False,
            widget=forms.Textarea(attrs={"rows": rows, "spellcheck": "false"}),
            error_messages={"invalid": f"Enter a JSON object, such as {example}."},
            **kwargs,
        )

    def to_python(self, value: Any) -> Any:
        """Return what was entered; an empty object for nothing."""
        return super().to_python(value) or {}

    def prepare_value(self, value: object) -> Any:
        """Return what the field shows."""
        return super().prepare_value(value) if value else ""


class EndpointForm(EndpointModelForm):
    """An OpenAI-compatible endpoint."""

    base_url = forms.URLField(
        label="Address",
        max_length=300,
        assume_scheme="https",
        help_text="Including /v1, such as https://openrouter.ai/api/v1 or http://127.0.0.1:11434/v1.",
    )

    extra = JsonObjectField(
        label="Extra fields",
        example=EXTRA_EXAMPLE,
        rows=3,
        help_text=f"JSON object added to each request, such as {EXTRA_EXAMPLE}.",
    )
    preset = forms.CharField(required=False, widget=forms.HiddenInput)
    key_header = forms.ChoiceField(
        label="Key header",
        required=False,
        choices=choices_of(KeyHeader),
        help_text="How the key is sent. Azure takes api-key, most others Authorization.",
    )
    headers = JsonObjectField(
        label="Further headers",
        example=HEADERS_EXAMPLE,
        rows=2,
        help_text=f"JSON object of headers sent with each request, such as {HEADERS_EXAMPLE}. Never a key.",
    )

    stated_images = forms.NullBooleanField(
        label="Sees images",
        required=False,
        widget=forms.NullBooleanSelect(),
        help_text="Images of cases and responses are sent to endpoints that see. Unknown: as the test shows, which "
        "asks for the colours of a picture.",
    )

    class Meta:
        model = ModelEndpoint
        field_classes = {"name": NameField}
        fields = [
            "preset",
            "name",
            "base_url",
            "model",
            "key_variable",
            "key_header",
            "max_concurrency",
            "requests_per_minute",
            "tokens_per_minute",
            "reasoning",
            "stream",
            "min_output_tokens",
            "reuse_days",
            "read_timeout",
            "extra",
            "headers",
            "query",
            "ca_certificates",
            "proxy",
            "proxy_login_variable",
            "input_price",
            "output_price",
            "cached_price",
            "reasoning_price",
            "stated_images",
            "is_active",
        ]
        error_messages = {"name": {"unique": "Another endpoint has this name. Choose a different one."}}
        widgets = {"ca_certificates": forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})}
        labels = {
            "model": "Model",
            "key_variable": "Key variable",
            "max_concurrency": "Concurrent calls",
            "requests_per_minute": "Requests per minute",
            "tokens_per_minute": "Tokens per minute",
            "reasoning": "Reasoning model",
            "stream": "Streaming",
            "ca_certificates": "Certificates",
            "proxy": "Proxy",
            "proxy_login_variable": "Proxy login variable",
            "min_output_tokens": "Minimum output limit",
            "reuse_days": "Reuse of replies",
            "read_timeout": "Reply timeout",
            "input_price": "Input price",
            "output_price": "Output price",
            "cached_price": "Cached input price",
            "reasoning_price": "Reasoning price",
            "is_active": "Active",
        }
        help_texts = {
            "name": "Shown with judges and in reports.",
            "model": "The model id that the endpoint expects.",
            "key_variable": (
                "NAME of the environment variable that contains the key, ending in _KEY or _TOKEN. "
                "The key itself is never stored. The variable has to be set where web server and workers are started, "
                "and these restarted after it."
            ),
            "max_concurrency": "For all workers together. It is lowered when the endpoint reports too many requests.",
            "requests_per_minute": "For all workers together. Default: no limit.",
            "tokens_per_minute": (
                "For all workers together: input and output. Counted as the most that a request may use, and corrected "
                "by its reply. Default: no limit."
            ),
            "reasoning": "It gets up to 10 minutes and at least 8,192 tokens for a reply, unless set otherwise below.",
            "stream": (
                "Replies are received while they are written, so that proxies do not cut off long thinking. The reply "
                "timeout then applies to silence."
            ),
            "ca_certificates": (
                "PEM. Trusted for this endpoint instead of those of the site. Default: EVALSITE_CA_BUNDLE, else the "
                "public authorities."
            ),
            "proxy": 'http://host:port, or "none". Default: that of the site (EVALSITE_PROXY).',
            "proxy_login_variable": (
                "NAME of the environment variable that contains user:password, ending in _PROXY_LOGIN."
            ),
            "min_output_tokens": (
                "Tokens. Applies if a judge requests fewer, because reasoning tokens count as output. "
                "Default: 8,192 for a reasoning model, otherwise the limit of the judge."
            ),
            "reuse_days": (
                "Days. Older replies are requested and paid for again. Useful for a model that changes without "
                "changing its name. Default: no limit."
            ),
            "read_timeout": "Seconds. Default: 180, or 600 for a reasoning model.",
            "query": "Follows the address of each request, such as api-version=2024-10-21. Usually empty.",
            "input_price": "USD per million tokens. Default: the listed price, if there is one.",
            "output_price": "USD per million tokens.",
            "cached_price": "USD per million input tokens from the provider's cache. Default: the input price.",
            "reasoning_price": (
                "USD per million reasoning tokens, where the provider counts them apart from output, as xAI does. "
                "Default: the output price. A cost that the provider itself reports is used instead of prices."
            ),
        }

    def clean_key_header(self) -> str:
        return self.cleaned_data["key_header"] or KeyHeader.BEARER

    def clean_max_concurrency(self) -> int:
        value: int = self.cleaned_data["max_concurrency"]
        if not 1 <= value <= 1000:
            raise forms.ValidationError("Enter a number from 1 to 1000.")
        return value

    def clean_requests_per_minute(self) -> int | None:
        return self.cleaned_data["requests_per_minute"] or None

    def clean_tokens_per_minute(self) -> int | None:
        return self.cleaned_data["tokens_per_minute"] or None

    def endpoint_fields(self) -> EndpointFields:
        """Return what was entered; the form must be valid."""
        return EndpointFields(**{name: self.cleaned_data[name] for name in self._meta.fields or ()})


class EndpointField(forms.ModelChoiceField):  # type: ignore[type-arg]  # generic only in the stubs
    """A list of endpoints that says which of them failed their last test."""

    def label_from_instance(self, endpoint: Any) -> str:
        return str(endpoint.offered_as)


SAMPLING_EXAMPLE = '{"top_k": 20}'
PROMPT_WORDS = {
    PLAIN: "PLAIN: the question as it is",
    "DIRECT": "DIRECT: the answer alone (Lunar-Bench)",
    "COT": "COT: reasoning, then Final Answer (Lunar-Bench)",
    "EXPERT": "EXPERT: as an expert (Lunar-Bench)",
}


def prompt_choices() -> list[tuple[str, str]]:
    """Return the prompt versions that models can be asked with, the shipped ones first."""
    stored = PromptVersion.objects.filter(name=OWN, is_active=True).order_by("label").values_list("label", flat=True)
    return [*((label, PROMPT_WORDS[label]) for label in SHIPPED), *((label, label) for label in stored)]


class SystemForm(forms.Form):
    """Endpoint, prompt version and sampling of a system."""

    name = NameField(
        required=False, max_length=NAME_LENGTH, help_text="Shown on leaderboards. Default: model and prompt version."
    )
    endpoint = EndpointField(ModelEndpoint.objects.none(), empty_label="Choose an endpoint", label="Endpoint")
    prompt = forms.ChoiceField(
        label="Prompt version", initial=PLAIN, help_text="What is sent for each case. Prompts lists them with texts."
    )
    system_text = forms.CharField(
        required=False,
        max_length=20_000,
        label="System message",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Sent before each question. Default: none.",
    )
    temperature = forms.FloatField(
        required=False,
        initial=0,
        min_value=0,
        max_value=2,
        help_text="Empty: the default of the provider. Several attempts need more than 0 to differ.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    top_p = forms.FloatField(
        required=False, min_value=0, max_value=1, label="Top p", widget=forms.NumberInput(attrs={"step": "any"})
    )
    max_tokens = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=1_000_000,
        label="Token limit",
        help_text="Of a response. Default: 3,000, or 8,000 if the prompt asks for reasoning.",
    )
    seed = forms.IntegerField(
        required=False, min_value=0, label="Random seed", help_text="Sent to the model; each attempt adds its number."
    )
    extra = JsonObjectField(
        label="Extra fields",
        example=SAMPLING_EXAMPLE,
        rows=2,
        help_text=f"JSON object added to each request, such as {SAMPLING_EXAMPLE}.",
    )
    description = forms.CharField(
        required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 2}), label="Description"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        endpoint, prompt = self.fields["endpoint"], self.fields["prompt"]
        assert isinstance(endpoint, forms.ModelChoiceField)
        assert isinstance(prompt, forms.ChoiceField)
        endpoint.queryset = ModelEndpoint.objects.filter(is_active=True, kind=EndpointKind.OPENAI).order_by("name")
        prompt.choices = prompt_choices()

    def worker(self) -> Worker:
        """Return how the system is asked; the form must be valid."""
        data = self.cleaned_data
        version = asking_of_version(data["prompt"])
        names = ("temperature", "top_p", "max_tokens", "system_text", "seed", "extra")
        asking = ResponseSettings(version.prompt_version, version.text, **{name: data[name] for name in names})
        return Worker(data["endpoint"], asking)

    def system_name(self) -> str:
        """Return the name that was entered, else that of model and prompt version; the form must be valid."""
        return self.cleaned_data["name"] or self.worker().system_name


class SystemFilterForm(forms.Form):
    """Which systems are listed."""

    here = forms.BooleanField(required=False, label="Asked here", help_text="Without those of imported responses.")
    q = forms.CharField(required=False, max_length=200, label="Search", help_text="Part of the name or the model.")


def entered_of(system: System) -> dict[str, Any]:
    """Return the settings of a system as the form shows them, for another one that differs."""
    if not system.is_asked_here:
        return {}
    names = ("temperature", "top_p", "max_tokens", "system_text", "seed", "extra")
    settings = {name: system.asking.get(name) for name in names}
    return {**settings, "endpoint": system.endpoint_id, "prompt": system.prompt_version}
