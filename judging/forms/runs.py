"""The form of a new run. The form for options that only scores depend on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import Q

from evalsite.base.actions.declarations import PageData
from evalsite.base.actions.entries import NamesField
from evalsite.base.form_fields import BudgetField, NameField
from evalsite.base.types import JsonDict, choices_of, whole_number
from judging.forms.esi import EsiOptionsForm, entered_of
from judging.forms.judges import option_field
from judging.forms.new_runs import NewRunForm, SelectionForm
from judging.judges.registry import COMPARING, KINDS, judge_kind
from judging.llm.endpoints import EndpointKind
from judging.models import (
    ASKING,
    Case,
    EvaluatorKind,
    ImportStatus,
    Judge,
    ModelEndpoint,
    Rubric,
    Run,
    RunKind,
    Suite,
    System,
    Upload,
)
from judging.models.runs import RunRefused, RunStatus
from judging.selectors.benchmarks import askable_systems
from judging.selectors.endpoints import active_judges
from judging.selectors.judges import is_baseline, needs_of, needs_rubric, suggest_judges, uses_rubric
from judging.selectors.runs import can_rescore, scoring_options
from judging.services.esi_tasks import options_of
from judging.services.runs.new_runs import TAG_LENGTH, tags_in
from judging.services.runs.run_plans import MAX_ATTEMPTS, AskSetup, EvaluatorChoice, RunPlan
from judging.services.systems import plain_system
from judging.specs.people_choices import AskedPeople
from judging.specs.selections import selection_from_json


class RescoreForm(EsiOptionsForm):
    """The options of one evaluator of a run that change scores and nothing that it is asked."""

    def __init__(self, data: PageData | None = None, *, run: Run, evaluator: str) -> None:
        self.fitting = [each for each in run.evaluators.order_by("position") if can_rescore(each)]
        named = [each for each in self.fitting if evaluator in ("", each.name, str(each.pk))]
        self.evaluator = named[0] if len(named) == 1 else None
        self.is_index = self.evaluator is not None and self.evaluator.kind == EvaluatorKind.INDEX
        super().__init__(data, initial=entered_of(options_of(run)) if self.is_index else None)
        index_fields = {name: self.fields[name] for name in EsiOptionsForm.base_fields}
        self.fields = index_fields if self.is_index else self._judge_fields()

    @property
    def history(self) -> list[JsonDict]:
        """The earlier options, the newest first."""
        return [] if self.evaluator is None else list(reversed(self.evaluator.options.get("history", [])))

    def _judge_fields(self) -> dict[str, forms.Field]:
        if self.evaluator is None:
            return {}
        kind, names = judge_kind(self.evaluator.options["judge_kind"]), scoring_options(self.evaluator)
        now = kind.complete_options(self.evaluator.options["judge_options"])
        return {option.name: option_field(option, now[option.name]) for option in kind.options if option.name in names}

    def clean(self) -> None:
        if self.evaluator is None:
            names = ", ".join(each.name for each in self.fitting) or "none in this run"
            raise forms.ValidationError(f"Say whose scores: {names}.")
        unknown = next((name for name in self.base_fields if name in self.data and name not in self.fields), None)
        if unknown is not None:
            raise forms.ValidationError(f"{self.evaluator.name} has no option {unknown} that affects only scores.")
        if self.is_index:
            super().clean()

    def chosen(self) -> JsonDict:
        """Return a judge's options as entered; the form must be valid."""
        return {
            name: json.loads(value) if isinstance(self.fields[name], forms.ChoiceField) else value
            for name, value in self.cleaned_data.items()
        }


RescoreForm.base_fields |= {
    option.name: option_field(option, option.default)
    for kind in reversed(KINDS.values())
    for option in kind.options
    if option.scoring_only_if or not option.affects_calls
}


def first_choices(query: Mapping[str, str], suite: Suite) -> JsonDict:
    """Return what an address asks for: `like`, a run of this suite, or `import`, an upload that was imported into it.

    Empty where it names neither, or one of another suite.
    """
    run_id, upload_id = whole_number(query.get("like", "")), whole_number(query.get("import", ""))
    if run_id is not None:
        run = Run.objects.filter(pk=run_id, suite=suite, kind=RunKind.GRADING).first()
        return _like(run) if run is not None else {}
    upload = Upload.objects.filter(pk=upload_id, status=ImportStatus.DONE).first() if upload_id is not None else None
    return _for_import(upload, suite) if upload is not None and upload.result.get("suite_id") == suite.pk else {}


def _like(run: Run) -> JsonDict:
    evaluators = list(run.evaluators.all())
    selection, share = selection_from_json(run.options.get("selection") or {}), run.options.get("audit_share")
    asked_systems = run.asked_systems
    return {
        "limit": selection.limit,
        "seed": selection.seed,
        "cases": ", ".join(selection.cases),
        "scenarios": ", ".join(selection.scenarios),
        "systems": [system.pk for system in run.systems.all() if str(system.pk) not in asked_systems],
        "asked": [f"system:{pk}" for pk in asked_systems],
        "attempts": run.options[ASKING]["attempts"] if asked_systems else None,
        "rules": any(evaluator.kind == EvaluatorKind.GRADER for evaluator in evaluators),
        "judges": [evaluator.judge_id for evaluator in evaluators if evaluator.judge_id],
        "baseline": next((evaluator.compared_with_id for evaluator in evaluators if evaluator.compared_with_id), None),
        "rubrics": [evaluator.rubric_id for evaluator in evaluators if evaluator.rubric_id],
        "budget": run.budget,
        "first_attempts": run.options.get("first_attempts"),
        "compat": bool(run.options.get("compat")),
        "fresh": bool(run.options.get("fresh")),
        "people": AskedPeople.of(run.options),
        "audit_percent": None if share is None else 100 * share,
    }


def _for_import(upload: Upload, suite: Suite) -> JsonDict:
    """Return the systems whose responses were imported, all where none were, and the judges that fit."""
    names = upload.result.get("responses", {}).get("systems", [])
    rubrics = [rubric["id"] for rubric in upload.result.get("rubrics", [])]
    judges, needed = suggest_judges(suite=suite, rubric_ids=rubrics)
    systems = list(System.objects.filter(name__in=names).values_list("pk", flat=True))
    choices: JsonDict = {"judges": list(judges), "rubrics": list(needed)}
    return choices | ({"systems": systems} if systems else {})


class RunNameForm(forms.Form):
    """The name and the tags of a run that exists."""

    name = NameField(max_length=200, label="Name", widget=forms.TextInput(attrs={"size": 60}))
    tags = NamesField(
        required=False,
        max_length=500,
        help_text="The list of runs can be filtered by them.",
        widget=forms.TextInput(attrs={"size": 60}),
    )

    def clean_tags(self) -> list[str]:
        """Return the tags, each once."""
        try:
            return tags_in(self.cleaned_data["tags"])
        except RunRefused as refusal:
            raise forms.ValidationError(str(refusal)) from refusal


class ResumeForm(forms.Form):
    """The budget with which a paused run goes on; the run itself says what it may be."""

    budget = BudgetField(help_text="Higher than what the run has spent. Default: the budget that it has.")


class RunFilterForm(forms.Form):
    """Which runs are listed."""

    status = forms.ChoiceField(required=False, label="Status", choices=[("", "All"), *choices_of(RunStatus)])
    q = forms.CharField(required=False, max_length=200, label="Part of the name of a run or suite")
    tag = forms.CharField(required=False, max_length=TAG_LENGTH, label="Tag")
    single = forms.BooleanField(required=False, label="Judgements of single responses")
    archived = forms.BooleanField(required=False, label="Archived runs")


class _JudgeField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # generic only in the stubs
    def label_from_instance(self, judge: Any) -> str:
        if judge.endpoint and judge.endpoint.failed_test:
            return f"{judge.name} (the last test of {judge.endpoint} failed)"
        return f"{judge.name} (baseline)" if is_baseline(judge) else str(judge.name)


class AskedField(forms.MultipleChoiceField):
    """Systems that a run can ask, and endpoints that it can ask the plain question; both are named by their names."""

    other_names: Mapping[str, str] = {}


class RunForm(NewRunForm, SelectionForm):
    """Suite, systems, graders and judges of a run, with its limits."""

    suite: Suite
    kind = RunKind.GRADING
    title = "Grade responses"
    template = "judging/_run_fields.html"

    systems = forms.ModelMultipleChoiceField(
        System.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        label="Stored responses",
        required=False,
    )
    asked = AskedField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Ask systems",
        help_text="Each is asked for every case of the run; graders and judges score its responses as they arrive. "
        "Responses that it has given before are reused.",
    )
    attempts = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_ATTEMPTS,
        label="Responses per case",
        help_text="How many each asked system gives, each by a call of its own. Default: 1.",
    )
    rules = forms.BooleanField(
        required=False,
        label="Rule graders",
        help_text="Keywords, blanks, unit tests and similarity, as defined by the cases.",
    )
    judges = _JudgeField(Judge.objects.none(), required=False, widget=forms.CheckboxSelectMultiple, label="Judges")
    baseline = forms.ModelChoiceField(
        System.objects.none(),
        required=False,
        empty_label="None",
        help_text="For judges whose prompt has response_b: they compare each response with that of this system to the "
        "same case, so that the mean of a system is its win rate against it. Only stored responses count.",
    )
    rubrics = forms.ModelMultipleChoiceField(
        Rubric.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Rubrics",
        help_text="Each judge that needs a rubric uses every selected rubric of a suitable kind.",
    )
    first_attempts = forms.IntegerField(
        required=False, min_value=1, max_value=1000, label="Attempts", help_text="Only the first n. Default: all."
    )
    seed = forms.IntegerField(
        required=False, initial=0, label="Random seed", help_text="The same seed draws the same cases."
    )
    compat = forms.BooleanField(
        required=False,
        label="Grade like InfiBench's own grader",
        help_text="Also where the default grading deliberately differs from it.",
    )

    def __init__(self, *args: Any, suite: Suite, **kwargs: Any) -> None:
        super().__init__(*args, suite=suite, **kwargs)
        self._models("judges").queryset = (
            active_judges()
            .exclude(kind__in=COMPARING)
            .annotate(is_real=Q(endpoint__isnull=False, endpoint__kind=EndpointKind.OPENAI))
            .order_by("-is_real", "name")
        )
        baseline = self.fields["baseline"]
        assert isinstance(baseline, forms.ModelChoiceField)
        baseline.queryset = self.responding_systems
        self._models("rubrics").queryset = Rubric.objects.filter(
            Q(benchmark=suite.benchmark) | Q(benchmark__isnull=True)
        ).order_by("slug", "-version")
        self.initial.setdefault("systems", list(self.responding_systems.values_list("pk", flat=True)))
        asked_field = self.fields["asked"]
        assert isinstance(asked_field, AskedField)
        asked_field.choices, asked_field.other_names = asked_choices()
        self.has_rules = Case.objects.filter(links__suite=suite).exclude(grading={}).exists()
        if not self.has_rules:
            self.fields["rules"].disabled = True
            self.initial["rules"] = False  # what a disabled field counts as
            self.fields["rules"].help_text = "No case of this suite has grading rules."

    def clean(self) -> None:
        super().clean()
        cleaned = self.cleaned_data
        judges: Sequence[Judge] = list(cleaned.get("judges") or [])
        rubrics: Sequence[Rubric] = list(cleaned.get("rubrics") or [])
        asked_systems = [asked_system(choice) for choice in cleaned.get("asked") or ()]
        stored = [system for system in cleaned.get("systems") or () if system not in asked_systems]
        cleaned |= {"systems": stored, "asked": asked_systems}  # asking a system reuses what it has said
        if not asked_systems and not stored:
            self.add_error("systems", "Choose at least one system.")
        if not cleaned.get("rules") and not judges:
            raise forms.ValidationError("Choose the rule graders, a judge, or both.")
        choices, lacking = pair_judges(judges, rubrics)
        for judge in lacking:
            needed = NEEDED_RUBRICS[next(need for need in NEEDED_RUBRICS if need in needs_of(judge))]
            self.add_error("rubrics", f"{judge.name} needs {needed}; choose one or deselect the judge.")
        unused = [rubric for rubric in rubrics if not any(choice.rubric == rubric for choice in choices)]
        for rubric in unused:
            self.add_error("rubrics", f"No selected judge uses {rubric}; choose one that does or deselect the rubric.")
        cleaned["selection"] = self.selection_in(cleaned, self.suite, seed=cleaned.get("seed") or 0)
        cleaned["evaluators"] = [*([EvaluatorChoice()] if cleaned.get("rules") else []), *choices]

    def plan(self) -> RunPlan:
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
            **self.people_choices(),
            selection=data["selection"],
            without_images=data["without_images"],
            baseline=data["baseline"],
            asks=AskSetup(data["asked"], data["attempts"] or 1) if data["asked"] else None,
        )


def asked_choices() -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Return the systems that a run can ask, with the endpoints that it can ask the plain question and whose system
    for that is not stored yet; and what the name of each endpoint stands for.
    """
    known = {system.asking_key: system for system in askable_systems()}
    choices = [(f"system:{system.pk}", system.name) for system in known.values()]
    names: dict[str, str] = {}
    for endpoint in ModelEndpoint.objects.filter(is_active=True, kind=EndpointKind.OPENAI).order_by("name"):
        stored = known.get(plain_system(endpoint).asking_key)
        names[endpoint.name] = f"endpoint:{endpoint.pk}" if stored is None else f"system:{stored.pk}"
        if stored is None:
            choices.append((names[endpoint.name], f"{endpoint.offered_as}, plain question"))
    return choices, names


def asked_system(choice: str) -> System:
    """Return the system that one of `asked_choices` stands for."""
    kind_of_choice, _, pk = choice.partition(":")
    if kind_of_choice == "system":
        return System.objects.select_related("endpoint").get(pk=pk)
    return plain_system(ModelEndpoint.objects.get(pk=pk))


NEEDED_RUBRICS = {"levels": "a level rubric", "rubric": "a rubric with criteria", "any_rubric": "a rubric"}


def pair_judges(judges: Iterable[Judge], rubrics: Sequence[Rubric]) -> tuple[list[EvaluatorChoice], list[Judge]]:
    """Return each judge with each rubric that fits it, and the judges for which none of them does."""
    choices: list[EvaluatorChoice] = []
    lacking: list[Judge] = []
    for judge in judges:
        if not needs_rubric(judge):
            choices.append(EvaluatorChoice(judge=judge))
            continue
        fitting = [rubric for rubric in rubrics if uses_rubric(judge, rubric)]
        choices += [EvaluatorChoice(judge=judge, rubric=rubric) for rubric in fitting]
        if not fitting:
            lacking.append(judge)
    return choices, lacking
