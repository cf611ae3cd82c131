"""Forms of prompt versions and of trials."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Q

from judging.judges.registry import judge_kind
from judging.models import Judge, PromptVersion, Response, Rubric


class PromptForm(forms.Form):
    """A new version of a prompt."""

    label = forms.CharField(max_length=60, label="Name", help_text="How runs and pages call this version.")
    text = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 18, "class": "mono"}),
        strip=False,
        help_text="The placeholders in double braces must stay; judged texts are put in their place as data.",
    )


class TrialForm(forms.Form):
    """Which judge to try on a response, with which rubric and prompt version."""

    judge = forms.ModelChoiceField(Judge.objects.none(), empty_label="Choose a judge")
    rubric = forms.ModelChoiceField(
        Rubric.objects.none(), required=False, empty_label="none", help_text="For judges that need one."
    )
    prompt = forms.ModelChoiceField(
        PromptVersion.objects.none(),
        required=False,
        label="Prompt version",
        empty_label="the judge's own",
        help_text="One that fits the judge's kind.",
    )

    def __init__(self, *args: Any, response: Response, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        judges = Judge.objects.filter(is_active=True, endpoint__is_active=True).exclude(kind="pairwise")
        self._models("judge").queryset = judges.select_related("endpoint").order_by("name")
        owner = Q(benchmark=response.prompt.benchmark_id) | Q(benchmark__isnull=True)
        self._models("rubric").queryset = Rubric.objects.filter(owner).order_by("slug", "-version")
        self._models("prompt").queryset = PromptVersion.objects.exclude(name="worker").order_by("name", "label")

    def _models(self, name: str) -> forms.ModelChoiceField[Any]:
        field = self.fields[name]
        assert isinstance(field, forms.ModelChoiceField)
        return field

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        judge, prompt = cleaned.get("judge"), cleaned.get("prompt")
        if judge and prompt and judge_kind(judge.kind).build(judge.options).prompt.name != prompt.name:
            self.add_error("prompt", f"{judge} sends another prompt than {prompt.name}.")
        return cleaned
