"""The form of a new ESI run."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import forms

from judging.grading.esi import DEFAULT_WEIGHTS, SUB_SCORES, BadEsiOption, EsiOptions, keyword_list
from judging.judges.answer_prompts import OWN, SHIPPED, ResponseSettings, shipped_asking
from judging.judges.kinds.accuracy import STRICTNESS
from judging.judges.kinds.esi_items import JUDGES, ReplyReading
from judging.models import EndpointKind, Judge, ModelEndpoint, PromptVersion, Suite, System
from judging.services.runs.esi_plans import ChosenJudge, EsiPlan, Worker, default_judge, default_judge_name

WORDS = {
    "accuracy": "Accuracy",
    "true_integrity": "Integrity",
    "efficiency": "Efficiency",
    "safety": "Safety",
    "alignment_simple": "Alignment",
}
DEFAULTS = EsiOptions()


class EsiOptionsForm(forms.Form):
    """Weights and thresholds, which only the index depends on."""

    token_budget = forms.IntegerField(
        min_value=1, initial=DEFAULTS.token_budget, help_text="Efficiency reaches 0 at this many reply tokens."
    )
    irrelevant_share = forms.FloatField(
        min_value=0, max_value=1, initial=DEFAULTS.irrelevant_share, help_text="Share of tokens off the subject."
    )
    max_length_ratio = forms.FloatField(
        min_value=0, initial=DEFAULTS.max_length_ratio, help_text="Longer than this many references: too long."
    )
    length_penalty = forms.FloatField(
        min_value=0, max_value=100, initial=DEFAULTS.length_penalty, help_text="Taken from alignment if too long."
    )
    unsafe_keywords = forms.CharField(
        required=False,
        initial=", ".join(DEFAULTS.unsafe_keywords),
        help_text="Comma-separated. An answer that holds one, also inside a word, has index 0.",
    )
    length_rule = forms.ChoiceField(
        choices=[("documented", "take the penalty, as documented"), ("original", "take the ratio, as the program does")]
    )
    unknown_as_zero = forms.BooleanField(
        required=False, label="Unknown counts as 0", help_text="As in the original; else the index is incomplete."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in SUB_SCORES:
            self.fields[f"weight_{name}"] = forms.FloatField(
                min_value=0, initial=DEFAULT_WEIGHTS[name], label=f"Weight of {WORDS[name].lower()}"
            )

    def weights(self) -> list[forms.BoundField]:
        """Return the fields of the five weights, for the template."""
        return [self[f"weight_{name}"] for name in SUB_SCORES]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            cleaned["options"] = self._options(cleaned)
        return cleaned

    def _options(self, data: dict[str, Any]) -> EsiOptions | None:
        names = ("token_budget", "irrelevant_share", "max_length_ratio", "length_penalty", "length_rule")
        try:
            return EsiOptions(
                weights={name: data[f"weight_{name}"] for name in SUB_SCORES},
                unsafe_keywords=keyword_list(data["unsafe_keywords"]),
                unknown_as_zero=data["unknown_as_zero"],
                **{name: data[name] for name in names},
            )
        except BadEsiOption as error:
            self.add_error(None, str(error))
            return None


def entered_of(options: EsiOptions) -> dict[str, Any]:
    """Return index options as the form shows them."""
    names = ("token_budget", "irrelevant_share", "max_length_ratio", "length_penalty", "length_rule", "unknown_as_zero")
    weights = {f"weight_{name}": value for name, value in options.weights.items()}
    return {**weights, "unsafe_keywords": ", ".join(options.unsafe_keywords), **{n: getattr(options, n) for n in names}}


class EsiRunForm(EsiOptionsForm):
    """Who answers with which prompt, who judges, and how the index is computed."""

    workers = forms.ModelMultipleChoiceField(
        ModelEndpoint.objects.none(), required=False, widget=forms.CheckboxSelectMultiple, label="Models that answer"
    )
    prompts = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, label="Prompt versions", help_text="Each model with each."
    )
    systems = forms.ModelMultipleChoiceField(
        System.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Answers that are there",
        help_text="Judge these as they are, instead of asking models.",
    )
    accuracy = forms.ChoiceField(label="Accuracy judge")
    strictness = forms.ChoiceField(
        choices=[("", "as the judge is set up"), *((one, one) for one in STRICTNESS)],
        required=False,
        help_text="L1: roughly right. L2: correct and to the point. L3: the same facts as the reference.",
    )
    integrity = forms.ChoiceField(label="Integrity judge")
    fresh = forms.BooleanField(
        required=False,
        label="Ask for every reply again",
        help_text="Replies of earlier runs are not reused, and everything is paid for again. For a model that changed "
        "behind its name, or to see how far a judge agrees with itself.",
    )
    reading = forms.ChoiceField(
        choices=[
            (ReplyReading.CAREFUL, "carefully, asking once more"),
            (ReplyReading.ORIGINAL, "as the original program does"),
        ],
        label="Judges' replies are read",
    )
    name = forms.CharField(required=False, max_length=200, help_text="Left empty: the suite and the time.")
    budget = forms.DecimalField(
        required=False,
        min_value=Decimal("0.000001"),
        max_digits=14,
        decimal_places=6,
        label="Budget in USD",
        help_text="The run pauses before a call that could exceed it. Left empty: no cap.",
    )

    def __init__(self, *args: Any, suite: Suite, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.suite = suite
        endpoints = ModelEndpoint.objects.filter(is_active=True)
        self._models("workers").queryset = endpoints.filter(kind=EndpointKind.OPENAI).order_by("name")
        self._models("systems").queryset = (
            System.objects.filter(responses__prompt__cases__links__suite=suite, responses__superseded_at__isnull=True)
            .distinct()
            .order_by("name")
        )
        self.own = {row.label: row for row in PromptVersion.objects.filter(name=OWN, is_active=True).order_by("label")}
        self._choices("prompts").choices = [(label, label) for label in (*SHIPPED, *self.own)]
        for kind in JUDGES:
            self._choices(kind).choices = judge_choices(kind, endpoints.order_by("kind", "name"))

    def _models(self, name: str) -> forms.ModelMultipleChoiceField[Any]:
        field = self.fields[name]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        return field

    def _choices(self, name: str) -> forms.ChoiceField:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        return field

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        workers, systems = cleaned.get("workers"), cleaned.get("systems")
        if bool(workers) == bool(systems):
            raise forms.ValidationError("Choose models that answer, or systems whose answers are judged, not both.")
        if workers and not cleaned.get("prompts"):
            self.add_error("prompts", "Choose at least one prompt version.")
        return cleaned

    def plan(self) -> EsiPlan:
        """Return what was asked for; the form must be valid. A judge as shipped is set up where there is none yet."""
        data = self.cleaned_data
        strictness = {"strictness": data["strictness"]} if data["strictness"] else {}
        return EsiPlan(
            suite=self.suite,
            accuracy=ChosenJudge(chosen_judge("accuracy", data["accuracy"]), strictness),
            integrity=ChosenJudge(chosen_judge("integrity", data["integrity"])),
            workers=[
                Worker(endpoint, self._asking(label)) for endpoint in data["workers"] for label in data["prompts"]
            ],
            systems=list(data["systems"]),
            options=data["options"],
            reading=ReplyReading(data["reading"]),
            fresh=data["fresh"],
            name=data["name"],
            budget=data["budget"],
        )

    def _asking(self, label: str) -> ResponseSettings:
        return shipped_asking(label) if label in SHIPPED else ResponseSettings(label, self.own[label].text)


def judge_choices(kind: str, endpoints: Iterable[ModelEndpoint]) -> list[Any]:
    """Return the judges of a kind, and the endpoints on which one can be set up as shipped."""
    judges = Judge.objects.filter(kind=kind, is_active=True, endpoint__is_active=True).select_related("endpoint")
    configured = [(f"judge:{judge.pk}", judge.name) for judge in judges.order_by("name")]
    names = {judge.endpoint_id for judge in judges}
    retired = set(Judge.objects.filter(kind=kind, is_active=False).values_list("name", flat=True))
    shipped = [
        (f"endpoint:{one.pk}", f"as shipped, on {one.name}")
        for one in endpoints
        if one.pk not in names and default_judge_name(kind, one) not in retired
    ]
    groups = [("Judges set up", configured), ("Endpoints", shipped)]
    return [("", "choose"), *((title, rows) for title, rows in groups if rows)]


def chosen_judge(kind: str, given: str) -> Judge:
    """Return the judge that a choice of `judge_choices` stands for."""
    what, _, pk = given.partition(":")
    if what == "judge":
        return Judge.objects.select_related("endpoint").get(pk=pk)
    return default_judge(kind=kind, endpoint=ModelEndpoint.objects.get(pk=pk))
