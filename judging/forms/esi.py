"""The form of a new ESI run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.choices import flatten_choices

from evalsite.base.actions.entries import TextsField
from evalsite.base.types import JsonDict
from judging.forms.endpoints import prompt_choices
from judging.forms.imports import SizedFileField
from judging.forms.new_runs import LimitedRunForm, NewRunForm
from judging.grading.grades import DEFAULT_WEIGHTS, SUB_SCORES, BadEsiOption, EsiOptions, keyword_list
from judging.judges.kinds.accuracy import STRICTNESS, strictness_of
from judging.judges.kinds.esi_items import JUDGES, ReplyReading
from judging.llm.endpoints import EndpointKind
from judging.models import Judge, ModelEndpoint, RunKind, Suite, System
from judging.selectors.benchmarks import askable_systems
from judging.selectors.runs import SUB_SCORE_WORDS
from judging.services.runs.lunar_imports import ROLES, LunarDataset, LunarImport, plan_import
from judging.services.runs.run_plans import EsiSetup, EvaluatorChoice, RunPlan, default_judge, default_judge_name
from judging.services.systems import Worker, asking_of_version, worker_of
from judging.specs.lunar_settings import (
    FILE_TEMPLATES,
    MOST_BYTES,
    BadLunarSettings,
    file_template,
    read_lunar_settings,
)
from judging.specs.records.neutral import SuiteSpec
from judging.specs.replies import LineProblem, read_esi_lines


class LunarRunsForm(LimitedRunForm):
    """A settings.json of Lunar-Bench, what is chosen of it, and what its runs may spend."""

    file = SizedFileField(label="settings.json", help_text="Its keys of APIs are never read.")
    start = forms.BooleanField(required=False, label="Start the runs", help_text="One for each data set.")
    datasets = TextsField(
        required=False, widget=forms.SelectMultiple, help_text="Only these data sets. Default: all that the file runs."
    )
    suites = TextsField(
        required=False,
        widget=forms.SelectMultiple,
        help_text="DATASET=SUITE: the suite of a data set by number, slug of its benchmark or slug@number. Default: "
        "the one of its name",
    )
    original = forms.BooleanField(required=False, help_text="Parse and score as Lunar-Bench's program does.")

    def clean(self) -> None:
        """Return also what the file becomes here, with the suites of the names of its data sets: `planned`."""
        super().clean()
        cleaned = self.cleaned_data
        variables = {role: cleaned.get(f"{role}_key_variable") for role in ROLES}
        if cleaned.get("file") is not None:
            try:
                settings = read_lunar_settings(cleaned["file"].read(MOST_BYTES + 1))
                chosen = {role: name for role, name in variables.items() if name}
                cleaned["planned"] = plan_import(settings, key_variables=chosen)
            except BadLunarSettings as refusal:
                self.add_error("file", forms.ValidationError([str(problem) for problem in refusal.problems]))


LunarRunsForm.base_fields |= {
    f"{role}_key_variable": forms.CharField(
        required=False,
        max_length=100,
        label=f"Key variable, {role}",
        help_text=f"Environment variable that contains the key of new {role} endpoints",
    )
    for role in ROLES
}


class LunarImportForm(forms.Form):
    """The suite of each data set, and the variables that hold the keys of new endpoints."""

    settings = forms.CharField(widget=forms.HiddenInput)  # without keys of APIs: `LunarSettings.to_json`

    def __init__(self, *args: Any, planned: LunarImport, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.planned = planned
        self.initial = {"settings": planned.settings.to_json(), **self.initial}
        self.roles = [role for role in ROLES if any(endpoint.pk is None for endpoint in planned.endpoints[role])]
        for role in self.roles:
            self.fields[f"{role}_key_variable"] = forms.CharField(
                required=False,
                max_length=100,
                label=f"Key variable, {role}",
                initial=planned.endpoints[role][0].key_variable,
                help_text="NAME of the environment variable that contains the key, ending in _KEY or _TOKEN.",
            )
        for number, dataset in enumerate(planned.datasets):
            self.fields[f"suite_{number}"] = forms.ModelChoiceField(
                Suite.objects.select_related("benchmark").order_by("-created_at", "-pk"),
                required=False,
                label=f"Suite of {dataset.name}",
                initial=dataset.suite,
                empty_label="choose",
                help_text=dataset.advice,
            )

    def key_fields(self) -> list[forms.BoundField]:
        """Return the fields of key variables, for the template."""
        return [self[f"{role}_key_variable"] for role in self.roles]

    def rows(self) -> list[tuple[LunarDataset, forms.BoundField]]:
        """Return each data set with the field of its suite."""
        return [(dataset, self[f"suite_{number}"]) for number, dataset in enumerate(self.planned.datasets)]

    def key_variables(self) -> dict[str, str]:
        """Return what was entered by role; the form must be valid."""
        return {role: self.cleaned_data[f"{role}_key_variable"] for role in self.roles}

    def suites(self) -> dict[str, Suite]:
        """Return the suites that were chosen, by data set; the form must be valid."""
        chosen = {dataset.name: self.cleaned_data[f"suite_{n}"] for n, dataset in enumerate(self.planned.datasets)}
        return {name: suite for name, suite in chosen.items() if suite is not None}


DEFAULTS = EsiOptions()
JUDGE_HELP = "A judge, or an endpoint for the default one."
LISTS = ("asked", "workers", "prompts")
LINKED = (
    *("accuracy", "integrity", "strictness", "reading", "token_budget", "irrelevant_share", "max_length_ratio"),
    *(
        "length_penalty",
        "unsafe_keywords",
        "length_rule",
        "unknown_as_zero",
        *(f"{name}_file" for name in FILE_TEMPLATES),
    ),
    *(f"weight_{name}" for name in SUB_SCORES),
)


class EsiOptionsForm(forms.Form):
    """Weights and thresholds, which only the index depends on."""

    token_budget = forms.IntegerField(
        min_value=1, initial=DEFAULTS.token_budget, help_text="Efficiency is 0 from this many output tokens."
    )
    irrelevant_share = forms.FloatField(
        min_value=0, max_value=1, initial=DEFAULTS.irrelevant_share, help_text="Share of irrelevant tokens."
    )
    max_length_ratio = forms.FloatField(
        min_value=0,
        initial=DEFAULTS.max_length_ratio,
        help_text="Responses longer than this many times the reference are too long.",
    )
    length_penalty = forms.FloatField(
        min_value=0,
        max_value=100,
        initial=DEFAULTS.length_penalty,
        help_text="Deducted from alignment if the response is too long.",
    )
    unsafe_keywords = forms.CharField(
        required=False,
        initial=", ".join(DEFAULTS.unsafe_keywords),
        help_text="Comma-separated. A response that contains one, even inside a word, has ESI 0.",
    )
    length_rule = forms.ChoiceField(
        choices=[
            ("documented", "deduct the penalty, as documented"),
            ("original", "deduct the ratio, as Lunar-Bench's program does"),
        ],
        initial="documented",
        help_text="What a response that is too long costs.",
    )
    unknown_as_zero = forms.BooleanField(
        required=False,
        label="Count unknown figures as 0",
        help_text="As in Lunar-Bench's program; otherwise the ESI is incomplete.",
    )

    def weights(self) -> list[forms.BoundField]:
        """Return the fields of the five weights, for the template."""
        return [self[f"weight_{name}"] for name in SUB_SCORES]

    def clean(self) -> None:
        super().clean()
        cleaned = self.cleaned_data
        if not self.errors:
            cleaned["options"] = self._options(cleaned)

    def _options(self, data: JsonDict) -> EsiOptions | None:
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


EsiOptionsForm.base_fields |= {  # before the classes that inherit them
    f"weight_{name}": forms.FloatField(
        min_value=0, initial=DEFAULT_WEIGHTS[name], label=f"Weight of {SUB_SCORE_WORDS[name].lower()}"
    )
    for name in SUB_SCORES
}


def entered_of(options: EsiOptions) -> JsonDict:
    """Return index options as the form shows them."""
    names = ("token_budget", "irrelevant_share", "max_length_ratio", "length_penalty", "length_rule", "unknown_as_zero")
    weights = {f"weight_{name}": value for name, value in options.weights.items()}
    return {**weights, "unsafe_keywords": ", ".join(options.unsafe_keywords), **{n: getattr(options, n) for n in names}}


class TemplateField(forms.CharField):
    """The template of an exported file's name; empty for the one of Lunar-Bench's documentation."""

    def clean(self, value: Any) -> str:
        """Return the template."""
        try:
            return file_template(super().clean(value) or self.initial)
        except ValueError as wrong:
            raise forms.ValidationError(str(wrong)) from None


class EsiJudgeField(forms.ChoiceField):
    """A judge, or an endpoint on which one is set up as shipped; both are named by their names."""

    other_names: Mapping[str, str] = {}


class EsiRunForm(NewRunForm, EsiOptionsForm):
    """Which models respond with which prompt, which judges judge, and how the index is computed."""

    kind = RunKind.ESI
    title = "ESI (Efficiency, Safety, Integrity score)"
    template = "judging/_run_fields_esi.html"
    is_estimated_at_once = False

    dataset = forms.CharField(
        required=False, max_length=200, initial="ESI items", help_text="What the suite of the items is to be called."
    )
    items = forms.CharField(
        required=False,
        strip=False,  # lines are counted
        widget=forms.Textarea,
        help_text="In place of a suite: JSON Lines with instruction, question and answer, as Lunar-Bench reads them. "
        "Lines without an item stand in the files of the run.",
    )
    asked = forms.ModelMultipleChoiceField(
        System.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Ask systems",
        help_text="Each is asked with its own prompt and sampling.",
    )
    workers = forms.ModelMultipleChoiceField(
        ModelEndpoint.objects.none(), required=False, widget=forms.CheckboxSelectMultiple, label="Models"
    )
    prompts = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Prompt versions",
        help_text="Each model is used with each version.",
    )
    systems = forms.ModelMultipleChoiceField(
        System.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Stored responses",
        help_text="Judge these responses instead of requesting new ones.",
    )
    accuracy = EsiJudgeField(label="Accuracy judge", help_text=JUDGE_HELP)
    strictness = forms.ChoiceField(
        choices=[("", "as set in the judge"), *((one, one) for one in STRICTNESS)],
        required=False,
        help_text="L1: roughly correct. L2: correct and to the point. L3: the same facts as the reference.",
    )
    integrity = EsiJudgeField(label="Integrity judge", help_text=JUDGE_HELP)
    reading = forms.ChoiceField(
        choices=[
            (ReplyReading.CAREFUL, "carefully, with one repeated request"),
            (ReplyReading.ORIGINAL, "as Lunar-Bench's program does"),
        ],
        initial=ReplyReading.CAREFUL,
        label="Parsing of judges' replies",
    )

    def __init__(self, *args: Any, suite: Suite | None, **kwargs: Any) -> None:
        super().__init__(*args, suite=suite, **kwargs)
        endpoints = ModelEndpoint.objects.filter(is_active=True)
        self._models("asked").queryset = askable_systems()
        self._models("workers").queryset = endpoints.filter(kind=EndpointKind.OPENAI).order_by("name")
        self._choices("prompts").choices = prompt_choices()
        for kind in JUDGES:
            field = self._choices(kind)
            field.choices = judge_choices(kind, endpoints.order_by("kind", "name"))
            flat: Any = flatten_choices(field.choices)
            codes = {label: code for code, label in flat}
            judges = {each.name: codes.get(default_judge_name(kind, each), f"endpoint:{each.pk}") for each in endpoints}
            field.other_names = {name: code for name, code in judges.items() if code in codes.values()}

    def file_names(self) -> list[forms.BoundField]:
        """Return the fields of the three file names, for the template."""
        return [self[f"{name}_file"] for name in FILE_TEMPLATES]

    def _choices(self, name: str) -> Any:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        return field

    def clean_items(self) -> tuple[SuiteSpec, list[LineProblem]] | None:
        """Return the items and the lines that hold none; None where a suite is named."""
        text = self.cleaned_data["items"]
        if bool(text.strip()) == (self.suite is not None):
            raise forms.ValidationError("Name a suite, or give items, one of them.")
        if self.suite is not None:
            return None
        suite, problems = read_esi_lines(text, name=self.cleaned_data.get("dataset") or self.fields["dataset"].initial)
        if not suite.cases:
            raise forms.ValidationError("There is no item with an instruction and a question.")
        return suite, problems

    def clean(self) -> None:
        super().clean()
        cleaned = self.cleaned_data
        workers, asked_systems, systems = (cleaned.get(name) for name in ("workers", "asked", "systems"))
        if bool(workers or asked_systems) == bool(systems):
            raise forms.ValidationError("Choose either systems or models to ask, or stored responses, not both.")
        if workers and not cleaned.get("prompts"):
            self.add_error("prompts", "Choose at least one prompt version.")

    @classmethod
    def linked_values(cls, query: QueryDict) -> JsonDict:
        """Return what an address fills in; see `linking_query`."""
        lists = {name: query.getlist(name) for name in LISTS if name in query}
        return lists | {name: query[name] for name in LINKED if name in query}

    def plan(self) -> RunPlan:
        """Return what was asked for. A judge as shipped is set up where there is none yet."""
        data, (spec, problems) = self.cleaned_data, self.cleaned_data["items"] or (None, ())
        assert self.suite is not None, "one of items is stored beforehand"
        strictness = data["strictness"] or (strictness_of(spec.name) if spec is not None else "")
        stored_workers = [worker_of(system) for system in data["asked"]]
        models = [
            Worker(endpoint, asking_of_version(label)) for endpoint in data["workers"] for label in data["prompts"]
        ]
        keys = {worker.key for worker in stored_workers}
        workers = [*stored_workers, *(worker for worker in models if worker.key not in keys)]
        return RunPlan(
            suite=self.suite,
            evaluators=[
                EvaluatorChoice(
                    chosen_judge("accuracy", data["accuracy"]), options={"strictness": strictness} if strictness else {}
                ),
                EvaluatorChoice(chosen_judge("integrity", data["integrity"])),
            ],
            systems=list(data["systems"]),
            fresh=data["fresh"],
            without_images=data["without_images"],
            name=data["name"],
            budget=data["budget"],
            **self.people_choices(),
            esi=EsiSetup(
                workers,
                data["options"],
                ReplyReading(data["reading"]),
                input_problems=[{"line": one.line, "status": one.status, "reason": one.reason} for one in problems],
                files={name: data[f"{name}_file"] for name in FILE_TEMPLATES},
            ),
        )


EsiRunForm.base_fields |= {
    f"{name}_file": TemplateField(required=False, initial=template, label=f"File name: {name}")
    for name, template in FILE_TEMPLATES.items()
}


def linking_query(plan: RunPlan) -> str:
    """Return the query of an address that fills the form in with a plan whose endpoints are stored."""
    assert plan.esi is not None
    query = QueryDict(mutable=True)
    entered = entered_of(plan.esi.options) | {"reading": plan.esi.reading.value, "kind": RunKind.ESI.value}
    entered |= {kind: _choice_of(choice.judge) for kind, choice in zip(JUDGES, plan.evaluators, strict=True)}
    entered |= {f"{name}_file": template for name, template in plan.esi.files.items()}
    entered |= {"suite": plan.suite.pk, **plan.evaluators[0].options}
    query.update({name: str(value) for name, value in entered.items() if value is not False})
    query.setlist("workers", list(dict.fromkeys(str(worker.endpoint.pk) for worker in plan.workers)))
    query.setlist("prompts", list(dict.fromkeys(worker.asking.prompt_version for worker in plan.workers)))
    return query.urlencode()


def _choice_of(judge: Judge | None) -> str:
    assert judge is not None
    return f"endpoint:{judge.asked_endpoint.pk}" if judge.pk is None else f"judge:{judge.pk}"


def judge_choices(kind: str, endpoints: Iterable[ModelEndpoint]) -> list[Any]:
    """Return the judges of a kind, and the endpoints on which one can be set up as shipped."""
    judges = Judge.objects.filter(kind=kind, is_active=True, endpoint__is_active=True).select_related("endpoint")
    configured = [(f"judge:{judge.pk}", judge.name) for judge in judges.order_by("name")]
    taken_names = set(Judge.objects.filter(kind=kind).values_list("name", flat=True))
    shipped = [
        (f"endpoint:{endpoint.pk}", f"default judge on {endpoint.name}")
        for endpoint in endpoints
        if default_judge_name(kind, endpoint) not in taken_names
    ]
    groups = [("Judges", configured), ("Endpoints", shipped)]
    return [("", "choose"), *((title, rows) for title, rows in groups if rows)]


def chosen_judge(kind: str, choice: str) -> Judge:
    """Return the judge that a choice of `judge_choices` stands for."""
    kind_of_choice, _, pk = choice.partition(":")
    if kind_of_choice == "judge":
        return Judge.objects.select_related("endpoint").get(pk=pk)
    return default_judge(kind=kind, endpoint=ModelEndpoint.objects.get(pk=pk))
