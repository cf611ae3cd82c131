"""What people enter in this app."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict

from debate.models import DebateSet
from debate.protocol.setups import (
    FEWEST_AGENTS,
    MOST_AGENTS,
    MOST_ROUNDS,
    MOST_SAMPLES,
    MOST_TOKENS,
    SAMPLING_TEMPERATURE,
    DebateOptions,
    Method,
    OrderScheme,
    RoundMode,
    Visibility,
    samples_for,
    temperature_for,
)
from debate.selectors import criteria_on_offer
from debate.services.set_plans import (
    FEWEST_SYSTEMS,
    MOST_SYSTEMS,
    DebateWish,
    people_cost_of,
    robustness_wishes,
    round_robin_wishes,
)
from debate.services.set_tables import TABLE_FORMATS, TABLES, DebateLabelUpload
from evalsite.base.form_fields import BudgetField, NameField
from evalsite.base.types import JsonDict, choices_of, whole_number
from judging.forms.imports import RecordFileForm, SizedFileField
from judging.forms.new_runs import PeopleForm, SelectionForm
from judging.models import ModelEndpoint, Response, Rubric, Suite, System
from judging.services.runs.people_costs import PeopleCost

PROTOCOL_FIELDS = (
    "max_rounds", "mode", "visibility", "agent_order", "stop_on_consensus", "stop_on_stability",
    "independent_both_orders", "refusal_as_tie", "seed", "temperature", "max_tokens",
)  # fmt: skip


class AgentsField(forms.TypedMultipleChoiceField):
    """Endpoints of the agents, in order; unlike other lists of rows, one may be chosen more than once."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(coerce=int, **kwargs)
        self.names: dict[str, str] = {}

    def offer(self, endpoints: Iterable[ModelEndpoint]) -> None:
        """Let these be chosen: pages by what they are offered as, programs by their names."""
        self.choices = [(str(endpoint.pk), endpoint.offered_as) for endpoint in endpoints]
        self.names = {str(endpoint.pk): endpoint.name for endpoint in endpoints}

    def name_of(self, code: str) -> str:
        """Return what programs call a choice."""
        return self.names.get(code, code)

    def to_python(self, value: Any) -> list[str]:
        return [agent for agent in super().to_python(value) if agent]

    def clean(self, value: Any) -> list[ModelEndpoint]:
        """Return the endpoints, one for each agent."""
        keys = super().clean([entered for entered in value or () if entered])
        rows = ModelEndpoint.objects.in_bulk(keys)
        return [rows[key] for key in keys if key in rows]


class CriterionField(forms.ChoiceField):
    """A criterion of a rubric; programs name the newest alone where one rubric has it, others behind their version."""

    names: Mapping[str, str] = {}

    def offer(self, suite: Suite | None) -> None:
        """Let the criteria be chosen by which a suite can be compared; without one, all."""
        offered = [
            (rubric, names)
            for rubric, names in criteria_on_offer()
            if suite is None or rubric.benchmark_id in (None, suite.benchmark_id)
        ]
        groups = [
            (str(rubric), [(f"{rubric.pk}:{name}", f"{name} · {rubric}") for name in names])
            for rubric, names in offered
        ]
        self.choices = [("", "Choose a criterion"), *groups]
        newest = {(rubric.slug, name): rubric for rubric, names in reversed(offered) for name in names}
        count = Counter(name for _, name in newest)
        self.names = {
            f"{rubric.pk}:{name}": name
            if count[name] == 1 and newest[rubric.slug, name] == rubric
            else f"{rubric.slug}@{rubric.version}:{name}"
            for rubric, names in offered
            for name in names
        }
        listed = ", ".join(self.names.values()).replace("%", "%%") or "none"
        self.error_messages["invalid_choice"] = f"There is no criterion “%(value)s”. There are: {listed}."

    def name_of(self, code: str) -> str:
        """Return what programs call a choice."""
        return self.names.get(code, code)


class DefaultedChoice(forms.ChoiceField):
    """A choice that an address need not name: its initial value stands for what is missing."""

    def clean(self, value: Any) -> Any:
        """Return the choice, or the initial one."""
        return super().clean(value or self.initial)


class SystemSelect(forms.Select):
    """A list of systems that browsers let go empty: one kind of comparison needs it, another hides it."""

    def use_required_attribute(self, initial: Any) -> bool:
        """Return that it is checked here and not in the browser."""
        return False


class DebateSetForm(PeopleForm, SelectionForm):
    """A wish for debates. Rubric and criterion are one choice, so that nothing has to be reloaded in between."""

    suite = forms.ModelChoiceField(
        Suite.objects.none(),
        empty_label="Choose a suite",
        help_text="Cases with responses of both systems are debated.",
    )
    plan = DefaultedChoice(
        choices=[("pair", "Two systems"), ("round-robin", "All pairs of the selected systems"),
                 ("robustness", "Two systems, the original criterion and five perturbed ones")],
        initial="pair", label="Comparison",
        help_text="All pairs of the selected systems give a ranking; perturbed criteria show whether judges read them.",
    )  # fmt: skip
    system_a = forms.ModelChoiceField(
        System.objects.none(), empty_label="Choose a system", label="System A", widget=SystemSelect
    )
    system_b = forms.ModelChoiceField(
        System.objects.none(), empty_label="Choose a system", label="System B", widget=SystemSelect
    )
    systems = forms.ModelMultipleChoiceField(
        System.objects.none(), required=False, widget=forms.CheckboxSelectMultiple,
        label="Systems to compare in pairs", help_text=f"{FEWEST_SYSTEMS} to {MOST_SYSTEMS}.",
    )  # fmt: skip
    criterion = CriterionField(help_text="The responses are compared by it; agents read its levels.")
    variant_seed = forms.IntegerField(
        required=False,
        initial=0,
        label="Random seed of the perturbation",
        help_text="The same seed gives the same perturbed texts.",
    )
    use_given = forms.BooleanField(
        required=False, initial=True, label="Use perturbed texts of the rubric",
        help_text="Criteria named like the chosen one with the endings -2 to -6; missing ones are generated.",
    )  # fmt: skip
    method = DefaultedChoice(
        choices=choices_of(Method), initial=Method.DEBATE.value,
        help_text="The other three are baselines: the same question without any discussion. For several models that "
        "discuss, then the most frequent answer: Debate with 2 rounds, and in its report the rule “most agents agree”.",
    )  # fmt: skip
    samples = forms.IntegerField(
        required=False, min_value=1, max_value=MOST_SAMPLES, label="Times each judge is asked",
        help_text="Default: 3 for self-consistency, 2 for multi-judge consistency. At temperature 0 all replies agree.",
    )  # fmt: skip
    endpoints = AgentsField(
        label="Agents",
        help_text=f"{FEWEST_AGENTS} to {MOST_AGENTS} in a debate, one for a single judge. Agents do not "
        "learn each other's names; one endpoint can be several agents.",
    )
    name = NameField(max_length=200, required=False, help_text="Default: made from the choices above.")
    budget = BudgetField(
        min_value=0.01, label="Budget in US dollars", help_text="The run pauses before it would spend more."
    )
    max_rounds = forms.IntegerField(
        min_value=0,
        max_value=MOST_ROUNDS,
        initial=2,
        label="Maximum discussion rounds",
        help_text="After the independent round.",
    )
    fresh = forms.BooleanField(
        required=False,
        label="Request every reply again",
        help_text="Replies of earlier runs are not reused, and everything is paid for again.",
    )
    without_images = forms.BooleanField(
        required=False,
        label="Debate without images",
        help_text="For agents whose endpoint cannot see; the others are sent the images, and each debate says so.",
    )
    mode = forms.ChoiceField(
        choices=[(RoundMode.SIMULTANEOUS, "All at once"), (RoundMode.SEQUENTIAL, "One after the other")],
        initial=RoundMode.SIMULTANEOUS.value,
        label="Order within a round",
        help_text="All at once, the order has no effect; one after the other, later agents read earlier ones.",
    )
    visibility = forms.ChoiceField(
        choices=[(Visibility.PREVIOUS, "The previous round"), (Visibility.FULL, "All earlier rounds")],
        initial=Visibility.PREVIOUS.value,
        label="Each agent reads",
    )
    agent_order = forms.ChoiceField(
        choices=[(OrderScheme.PERMUTATIONS, "Any order"), (OrderScheme.CYCLIC, "Rotations only, as in ScaleEval")],
        initial=OrderScheme.PERMUTATIONS.value,
        label="Order of the agents",
    )
    stop_on_consensus = forms.BooleanField(required=False, initial=True, label="Stop when all agree")
    stop_on_stability = forms.BooleanField(
        required=False, label="Stop after a round without changes", help_text="The disagreement is then sent to review."
    )
    independent_both_orders = forms.BooleanField(
        required=False, label="Ask for the independent vote in both orders",
        help_text="A vote that depends on the order is void. This doubles the calls of the independent round.",
    )  # fmt: skip
    refusal_as_tie = forms.BooleanField(
        required=False,
        label="Count a refusal as a tie",
        help_text="As ScaleEval does. Otherwise refusals are never counted.",
    )
    seed = forms.IntegerField(initial=0, help_text="The same seed draws the same orders and cases.")
    temperature = forms.FloatField(
        required=False, min_value=0, max_value=2,
        help_text=f"Default: 0, for self-consistency {SAMPLING_TEMPERATURE}.",
    )  # fmt: skip
    max_tokens = forms.IntegerField(
        min_value=1, max_value=MOST_TOKENS, initial=512, label="Maximum tokens per statement"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        suites = Suite.objects.select_related("benchmark").order_by("-created_at", "-pk")
        self._choices("suite").queryset = suites
        newest = suites.first()
        if newest is not None:
            self.initial.setdefault("suite", newest.pk)
        entered = self.data or self.initial
        if entered.get("plan") == "round-robin":
            self.fields["system_a"].required = self.fields["system_b"].required = False
        key = whole_number(str(entered.get("suite", "")))
        suite = suites.filter(pk=key).first() if key is not None else None
        for name in ("system_a", "system_b", "systems"):
            self._choices(name).queryset = _systems(suite).order_by("name")
        agents, criterion = self.fields["endpoints"], self.fields["criterion"]
        assert isinstance(agents, AgentsField)
        assert isinstance(criterion, CriterionField)
        agents.offer(ModelEndpoint.objects.filter(is_active=True).order_by("kind", "name"))
        criterion.offer(suite)

    @property
    def protocol_fields(self) -> list[forms.BoundField]:
        """The fields that are folded away: how the debates are held."""
        return [self[name] for name in PROTOCOL_FIELDS]

    @property
    def agents(self) -> list[tuple[int, str]]:
        """The number of each agent, and what its list of endpoints shows as chosen."""
        chosen = self["endpoints"].value() or []
        padded = [str(value) for value in chosen][:MOST_AGENTS] + [""] * MOST_AGENTS
        return list(enumerate(padded[:MOST_AGENTS], start=1))

    def clean_method(self) -> Method:
        return Method(self.cleaned_data["method"])

    def clean(self) -> None:
        """Check that what the comparison needs is there."""
        super().clean()
        data = self.cleaned_data
        if data.get("plan") == "round-robin" and len(data.get("systems") or ()) < FEWEST_SYSTEMS:
            self.add_error("systems", f"Choose at least {FEWEST_SYSTEMS} systems.")
        data["selection"] = self.selection_in(data, data.get("suite"), seed=data.get("seed") or 0)

    def clean_criterion(self) -> tuple[Rubric, str]:
        """Return the rubric and the name of its criterion."""
        rubric_id, _, name = str(self.cleaned_data["criterion"]).partition(":")
        return Rubric.objects.get(pk=int(rubric_id)), name

    def wish(self) -> DebateWish:
        """Return what was entered, once it is valid."""
        data = self.cleaned_data
        rubric, criterion = data["criterion"]
        options = {name: data[name] for name in PROTOCOL_FIELDS}
        options |= {
            "mode": RoundMode(data["mode"]),
            "visibility": Visibility(data["visibility"]),
            "agent_order": OrderScheme(data["agent_order"]),
            "method": data["method"],
            "samples": samples_for(data["method"], data["samples"]),
            "temperature": temperature_for(data["method"], data["temperature"]),
        }
        first, second = (data["system_a"], data["system_b"]) if data["system_a"] else list(data["systems"])[:2]
        return DebateWish(
            suite=data["suite"],
            system_a=first,
            system_b=second,
            rubric=rubric,
            criterion=criterion,
            endpoints=data["endpoints"],
            options=DebateOptions(**options),
            budget=data["budget"],
            name=data["name"],
            fresh=data["fresh"],
            people=data["people"],
            without_images=data["without_images"],
            selection=data["selection"],
        )

    def wishes(self) -> list[DebateWish]:
        """Return the sets that a valid form asks for."""
        wish, data = self.wish(), self.cleaned_data
        if data["plan"] == "round-robin":
            return round_robin_wishes(wish, list(data["systems"]))
        if data["plan"] == "robustness":
            return robustness_wishes(wish, seed=data["variant_seed"] or 0, use_given=data["use_given"])
        return [wish]

    def people_cost(self) -> PeopleCost | None:
        """Return what the sets ask of people; nobody is asked about a perturbed criterion."""
        return None if self.cleaned_data["plan"] == "robustness" else people_cost_of(self.wishes())

    def _choices(self, name: str) -> forms.ModelChoiceField[Any]:
        field = self.fields[name]
        if not isinstance(field, forms.ModelChoiceField):
            raise TypeError(f"{name} offers no rows")
        return field


class LabelsForm(RecordFileForm):
    """What people said of debates."""

    OPEN = ("sets", *RecordFileForm.OPEN)

    sets = forms.ModelMultipleChoiceField(
        DebateSet.objects.all(),
        required=False,
        widget=forms.MultipleHiddenInput,
        help_text="The sets that the debates belong to. Default: all.",
    )
    file = SizedFileField(
        label="File of labels",
        help_text="A table with item, rater, label, or the export of an annotation tool. An item is the number in "
        "ScaleEval's file, the key of the case or the id of the debate; a label is A, B, tie or the name of a system, "
        "never first or second.",
    )
    is_blind = forms.BooleanField(
        required=False,
        label="Blind labels",
        help_text="The raters saw neither the debates nor each other's labels. Reports use blind labels only.",
    )

    @property
    def upload(self) -> DebateLabelUpload:
        """The file with the other fields of a valid form."""
        data = self.cleaned_data
        return DebateLabelUpload(data["contents"], data["file_name"], data["is_blind"], self.reading)


class DeleteLabelsForm(forms.Form):
    """The file whose labels are deleted."""

    file = forms.CharField(max_length=200, help_text="Its name, as it was imported.")


class DebateArchiveForm(forms.Form):
    """Whose debates go into a file."""

    sets = forms.ModelMultipleChoiceField(DebateSet.objects.order_by("pk"), label="Sets of debates")


class DebateTableForm(DebateArchiveForm):
    """Which table about them, and in which form."""

    table = forms.ChoiceField(label="Table", choices=[(name, name) for name in TABLES], initial=TABLES[0])
    format = forms.ChoiceField(
        label="Format", choices=[(name, name) for name in TABLE_FORMATS], initial=TABLE_FORMATS[0]
    )


class RecordsForm(forms.Form):
    """A folder of recorded debates as one ZIP file."""

    file = SizedFileField(label="ZIP file", widget=forms.FileInput(attrs={"accept": ".zip"}))


def entered_in(query: QueryDict) -> JsonDict:
    """Return what an address says of the form: some choices, or all of it, where another suite was chosen."""
    several = {"endpoints", "systems"}
    initial: JsonDict = {name: query.getlist(name) if name in several else query[name] for name in query}
    if "max_rounds" in query:  # a whole form, in which a box that is not ticked is not sent
        boxes = (name for name, field in DebateSetForm.base_fields.items() if isinstance(field, forms.BooleanField))
        initial |= {name: name in query for name in boxes}
    return initial


def _systems(suite: Suite | None) -> QuerySet[System]:
    """Return the systems that have answered a suite; all of them where none is chosen yet."""
    if suite is None:
        return System.objects.all()
    answered = Response.objects.filter(prompt__cases__links__suite=suite, superseded_at__isnull=True)
    return System.objects.filter(pk__in=answered.values("system_id"))
