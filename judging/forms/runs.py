"""The form of a new run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.db.models import Q

from judging.forms.selections import SelectionForm
from judging.judges.registry import judge_kind
from judging.models import Case, EndpointKind, Judge, Rubric, Suite, System
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan

LEVEL_SHAPE = "levels"


class RunNameForm(forms.Form):
    """The name of a run that exists."""

    name = forms.CharField(max_length=200, widget=forms.TextInput(attrs={"size": 60}))


class _JudgeField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # generic only in the stubs
    def label_from_instance(self, judge: Any) -> str:
        if judge.endpoint.failed_test:
            return f"{judge.name} (the last test of {judge.endpoint} failed)"
        return f"{judge.name} (baseline)" if judge.endpoint.is_baseline else str(judge.name)


class RunForm(SelectionForm):
    """Suite, systems, graders and judges of a run, with its limits."""

    systems = forms.ModelMultipleChoiceField(
        System.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        label="Systems",
        error_messages={"required": "Choose at least one system."},
    )
    rules = forms.BooleanField(
        required=False, label="Rule graders", help_text="Keywords, blanks, unit tests, similarity: as the cases say."
    )
    judges = _JudgeField(Judge.objects.none(), required=False, widget=forms.CheckboxSelectMultiple, label="Judges")
    rubrics = forms.ModelMultipleChoiceField(
        Rubric.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Rubrics",
        help_text="Each judge that needs a rubric judges by every chosen one that fits it.",
    )
    name = forms.CharField(required=False, max_length=200, help_text="Left empty: number, judges, systems.")
    budget = forms.DecimalField(
        required=False,
        min_value=Decimal("0.000001"),
        max_digits=14,
        decimal_places=6,
        label="Budget in USD",
        help_text="The run pauses before a call that could exceed it. Left empty: no cap.",
    )
    fresh = forms.BooleanField(
        required=False,
        label="Ask for every reply again",
        help_text="Replies of earlier runs are not reused, and everything is paid for again. For a model that changed "
        "behind its name, or to see how far a judge agrees with itself.",
    )
    asks_nobody = forms.BooleanField(
        required=False,
        label="Send nothing to people",
        help_text="Otherwise, when the run ends, what judges and rules left open goes to the annotators, and with it a "
        "random audit. You can still send it later, from the run's page.",
    )
    audit_percent = forms.FloatField(
        required=False,
        min_value=0,
        max_value=100,
        label="Random audit, % of the cases",
        help_text="Cases that people check whatever judges say of them. Left empty: the site's share. 0: none. The "
        "estimate says how many annotations it takes; its size can be raised later.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    first_attempts = forms.IntegerField(
        required=False, min_value=1, max_value=1000, label="Attempts", help_text="Only the first n. Left empty: all."
    )
    seed = forms.IntegerField(
        required=False, initial=0, label="Seed of the drawn cases", help_text="The same seed draws the same cases."
    )
    compat = forms.BooleanField(
        required=False,
        label="As InfiBench did",
        help_text="Grade like the original program also where our default deliberately differs.",
    )

    def __init__(self, *args: Any, suite: Suite, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.suite = suite
        systems = (
            System.objects.filter(responses__prompt__cases__links__suite=suite, responses__superseded_at__isnull=True)
            .distinct()
            .order_by("name")
        )
        self._field("systems").queryset = systems
        self._field("judges").queryset = (
            Judge.objects.filter(is_active=True, endpoint__is_active=True)
            .exclude(kind="pairwise")  # two answers at once: that is a debate's work
            .select_related("endpoint")
            .annotate(is_real=Q(endpoint__kind=EndpointKind.OPENAI))
            .order_by("-is_real", "name")
        )
        self._field("rubrics").queryset = Rubric.objects.filter(
            Q(benchmark=suite.benchmark) | Q(benchmark__isnull=True)
        ).order_by("slug", "-version")
        self.initial.setdefault("systems", list(systems.values_list("pk", flat=True)))
        self.has_rules = Case.objects.filter(links__suite=suite).exclude(grading={}).exists()
        if not self.has_rules:
            self.fields["rules"].disabled = True
            self.initial["rules"] = False  # what a disabled field counts as
            self.fields["rules"].help_text = "No case of this suite says how rules would grade it."

    def _field(self, name: str) -> forms.ModelMultipleChoiceField[Any]:
        field = self.fields[name]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        return field

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        judges: Sequence[Judge] = list(cleaned.get("judges") or [])
        rubrics: Sequence[Rubric] = list(cleaned.get("rubrics") or [])
        if not cleaned.get("rules") and not judges:
            raise forms.ValidationError("Choose the rule graders, a judge, or both.")
        choices, lacking = pair_judges(judges, rubrics)
        for judge in lacking:
            levels = "levels" in judge_kind(judge.kind).needs
            wanted = "a level rubric" if levels else "a rubric with criteria"
            self.add_error("rubrics", f"{judge.name} needs {wanted}; choose one or leave the judge out.")
        unused = [rubric for rubric in rubrics if not any(choice.rubric == rubric for choice in choices)]
        for rubric in unused:
            self.add_error("rubrics", f"No chosen judge judges by {rubric}; choose one that does or leave it out.")
        cleaned["selection"] = self.selection_in(cleaned, self.suite, seed=cleaned.get("seed") or 0)
        cleaned["evaluators"] = [*([EvaluatorChoice()] if cleaned.get("rules") else []), *choices]
        return cleaned

    def plan(self) -> RunPlan:
        """Return what was asked for; the form must be valid."""
        data = self.cleaned_data
        return RunPlan(
            suite=self.suite,
            systems=list(data["systems"]),
            evaluators=data["evaluators"],
            name=data["name"],
            first_attempts=data["first_attempts"],
            compat=data["compat"],
            budget=data["budget"],
            fresh=data["fresh"],
            asks_people=not data["asks_nobody"],
            audit_share=None if data["audit_percent"] is None else data["audit_percent"] / 100,
            selection=data["selection"],
        )


def pair_judges(judges: Iterable[Judge], rubrics: Sequence[Rubric]) -> tuple[list[EvaluatorChoice], list[Judge]]:
    """Return each judge with each rubric that fits it, and the judges for which none of them does."""
    choices: list[EvaluatorChoice] = []
    lacking: list[Judge] = []
    for judge in judges:
        needs = judge_kind(judge.kind).needs
        if not needs & {"rubric", "levels"}:
            choices.append(EvaluatorChoice(judge=judge))
            continue
        fitting = [rubric for rubric in rubrics if (rubric.shape == LEVEL_SHAPE) == ("levels" in needs)]
        choices += [EvaluatorChoice(judge=judge, rubric=rubric) for rubric in fitting]
        if not fitting:
            lacking.append(judge)
    return choices, lacking
