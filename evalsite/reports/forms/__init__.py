"""What a report's address asks for: forms, and choices where anything invalid is the default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict

from debate.models import DebateSet, Experiment, ExperimentKind
from debate.protocol.metaeval import OutcomeRule
from debate.protocol.verdicts import VerdictReading
from evalsite.base.actions.entries import TextsField
from evalsite.base.form_fields import BudgetField, DayField, NameField, check_period, offer_choices
from evalsite.base.formats import finite_number
from evalsite.base.http import whole_numbers
from evalsite.base.types import JsonDict, JsonObject, whole_number
from evalsite.reports.selectors.leaderboards import graders_of
from evalsite.reports.services.publications import GateRefused, Threshold, read_threshold
from evalsite.reports.services.results import Columns, ResultsChoice, RowFilter
from evalsite.reports.services.snapshots import ReportContent
from evalsite.reports.services.spend_reports import SpendGroup
from evalsite.review.models import GoldenSet, LabelTable, Queue, Team
from evalsite.review.routing import MOST_LOOKS, ThresholdTarget
from judging.models import Run, Suite, System
from judging.statistics.estimates import MeanKind
from judging.statistics.estimators.debates import OUTCOME, PEOPLE, DebateFigure
from judging.statistics.judge_quality import ALPHA, DELTA, Annotators
from judging.statistics.ratings import Cell

RULES = {
    OutcomeRule.UNANIMOUS: "all agents agree",
    OutcomeRule.MAJORITY: "most agents agree",
    OutcomeRule.MAJORITY_TIE0: "most agents agree, else a tie",
    OutcomeRule.ADJUDICATED: "all agents agree, else the human label",
    OutcomeRule.HUMAN: "the human label; for agreed debates as estimated by their audit",
}
READINGS = {
    VerdictReading.STRICT: "strictly, from the last line only",
    VerdictReading.RECORDED: "as recorded in the files",
    VerdictReading.AUTHOR_COMPAT: "as repaired by the authors of ScaleEval",
}
EVERY_LOOK = "Intervals and p-values of figures from human labels are valid at every look while labels arrive."


class SpendPeriodForm(forms.Form):
    """Which days of spending to count."""

    to = DayField(label="To", help_text="The last day that is counted")

    def clean(self) -> None:
        """Refuse a period that ends before it begins."""
        super().clean()
        check_period(self, "from", "to")

    @property
    def period(self) -> tuple[date | None, date | None]:
        """The first and the last day that a valid form asks for; None: no limit."""
        return self.cleaned_data["from"], self.cleaned_data["to"]


# a word that Python keeps for itself
SpendPeriodForm.base_fields["from"] = DayField(label="From", help_text="The first day that is counted")


class SpendForm(SpendPeriodForm):
    """Which days to count and what to group by. Sent by GET, so that the choice stays in the address."""

    group = forms.ChoiceField(
        choices=[(group.value, group.value.capitalize()) for group in SpendGroup],
        required=False,
        label="Group by",
        widget=forms.Select(attrs={"class": "form-select"}),
        error_messages={"invalid_choice": "There is no group “%(value)s”. Choose one of the list."},
    )
    field_order = ("from", "to", "group")

    @property
    def chosen_group(self) -> SpendGroup:
        """What a valid form groups by; judges unless it says so."""
        return SpendGroup(self.cleaned_data["group"] or SpendGroup.JUDGE)


class LooksForm(forms.Form):
    """When intervals hold."""

    looks = forms.ChoiceField(
        choices=[("once", "once"), ("every", "every")],
        required=False,
        help_text="Intervals that hold once, or at every look while labels arrive",
    )

    @property
    def options(self) -> dict[str, str]:
        """The choice, where it is not the usual one."""
        self.is_valid()
        return {"looks": "every"} if self.cleaned_data.get("looks") == "every" else {}


class BoardForm(forms.Form):
    """Whose board is shown."""

    suite = forms.ModelChoiceField(
        Suite.objects.all(), help_text="Number, slug or name of its benchmark (the newest), or slug@version"
    )


RULE_WORDS = "SYSTEM=VALUE as the board shows it, such as oak=80%; oak=80%:lower is about the end of its interval"


def read_rule(text: str) -> Threshold:
    """Return what a rule says. Raises: ValidationError: it is none."""
    try:
        return read_threshold(text)
    except GateRefused as refusal:
        raise forms.ValidationError(str(refusal)) from refusal


class MeanForm(forms.Form):
    """Which mean rules are about."""

    mode = forms.ChoiceField(
        choices=[(kind.value, kind.value) for kind in MeanKind], initial=MeanKind.RAW.value, label="Mean"
    )


class GateForm(BoardForm, MeanForm):
    """A rule that is kept."""

    rule = forms.CharField(max_length=200, help_text=RULE_WORDS)
    evaluator = forms.CharField(
        max_length=160,
        required=False,
        label="Grader or judge",
        help_text="Needed where several have scored the suite; baselines count only where there is nothing else",
    )
    field_order = ("suite", "rule", "mode", "evaluator")

    def clean_rule(self) -> str:
        """Refuse what is no rule."""
        rule: str = self.cleaned_data["rule"]
        read_rule(rule)
        return rule


class RulesField(TextsField):
    """Rules about systems."""

    widget = forms.SelectMultiple
    is_repeated = True


class RulesForm(forms.Form):
    """Rules for a pipeline, and where to write what becomes of them."""

    fail_under = RulesField(required=False, help_text=f"The lowest mean: {RULE_WORDS}")
    fail_on_regression = forms.CharField(
        required=False,
        help_text="A run or suite: no system may be worse than in this run, or on the board of this suite: scores "
        "paired by case, p-values adjusted for the number of systems (Holm)",
    )
    min_labels = forms.IntegerField(
        required=False, min_value=0, help_text="Fewer audited cases that people labelled: exit code 4"
    )
    junit = forms.CharField(required=False, help_text="File to write what became of each rule to, as JUnit XML")
    summary = forms.CharField(required=False, help_text="File.md to write a comment for a pull request to")
    site = forms.CharField(required=False, help_text="Address of the site, for links in the summary")

    def clean_fail_under(self) -> tuple[Threshold, ...]:
        """Return what the rules say."""
        return tuple(map(read_rule, self.cleaned_data["fail_under"] or ()))


class RunRulesForm(MeanForm, RulesForm):
    """Rules for the boards of a run, which show every mean."""


class AddressForm(BoardForm):
    """What a page about a suite shows at an address."""

    query = forms.CharField(max_length=4000, required=False, help_text="What the page's address says after ?")

    def clean_query(self) -> str:
        """Refuse what the page would pass over: a program would be told of more rows than it asked for."""
        query: str = self.cleaned_data["query"]
        entries = [(name, text) for name, texts in QueryDict(query).lists() for text in texts if text]
        wrong = [f"{name}={text}" for name, text in entries if not _is_read(name, text)]
        if wrong:
            raise forms.ValidationError(f"No page reads this: {', '.join(wrong)}.")
        systems = {int(text) for name, text in entries if name == "system"}
        missing = systems.difference(System.objects.filter(pk__in=systems).values_list("pk", flat=True))
        if missing:
            raise forms.ValidationError(f"There is no system {min(missing)}.")
        return query

    @property
    def address(self) -> QueryDict:
        """The choices of a valid form."""
        return QueryDict(self.cleaned_data["query"])


class LeaderboardForm(LooksForm):
    """Which leaderboard is shown, over which cases."""

    suite = forms.ModelChoiceField(
        Suite.objects.all(),
        required=False,
        help_text="Number, slug or name of its benchmark (the newest), or slug@version",
    )
    run = forms.ModelChoiceField(Run.objects.all(), required=False, help_text="Number or name of a run, not a suite")
    evaluator = forms.CharField(max_length=160, required=False, help_text="Name or number of the grader or judge")
    mode = forms.ChoiceField(
        choices=[(mode.value, mode.value) for mode in MeanKind], required=False, help_text="Which mean tables are of"
    )
    scenario = forms.CharField(max_length=100, required=False, help_text="Only cases of this scenario")
    lang = forms.CharField(max_length=100, required=False, label="Language", help_text="Only cases in this language")
    type = forms.CharField(max_length=100, required=False, help_text="Only cases of this type of question")
    skip_missing = forms.BooleanField(required=False, help_text="Leave out cases without a response")

    def clean(self) -> None:
        """Refuse neither a suite nor a run."""
        super().clean()
        if not self.errors and self.cleaned_data.get("suite") is None and self.cleaned_data.get("run") is None:
            raise forms.ValidationError("Name a suite or a run.")


class TrustForm(LooksForm):
    """Which version of which judge is beside people."""

    name = forms.CharField(max_length=160, label="Judge", help_text="Its name as the page Judges shows it")
    version = forms.CharField(
        max_length=64, required=False, help_text="The beginning of its key; the version of the newest run unless given"
    )
    annotators = forms.ChoiceField(
        choices=[(kind.value, kind.value) for kind in Annotators],
        required=False,
        help_text="Whom the annotator test takes the people for; skilled unless given",
    )
    tolerance = forms.IntegerField(
        min_value=0, required=False, help_text="By how many points a verdict may differ from the human label"
    )


class GoldenReportForm(forms.Form):
    """Which golden set is reported."""

    golden_set = forms.ModelChoiceField(GoldenSet.objects.all(), help_text="Slug, name or number of a golden set")


class GoldenComparisonForm(GoldenReportForm):
    """Which two versions of judges are compared on development."""

    before = forms.CharField(help_text="Name of a judge (its newest version), or the beginning of a version's key")
    after = forms.CharField(help_text="The same of the version that is compared with it")


class DebatesForm(LooksForm):
    """Which debates are in view, and how their outcomes and verdicts are read."""

    set = forms.ModelMultipleChoiceField(
        DebateSet.objects.all(), required=False, label="Sets", help_text="Names or numbers of sets; all unless given"
    )
    scenario = forms.CharField(max_length=100, required=False, help_text="Only debates of this scenario")
    criterion = forms.CharField(max_length=100, required=False, help_text="Only debates under this criterion")
    rule = forms.ChoiceField(
        choices=[(rule.value, words) for rule, words in RULES.items()],
        required=False,
        help_text="Rule for the outcome of a debate",
    )
    reading = forms.ChoiceField(
        choices=[(reading.value, words) for reading, words in READINGS.items()],
        required=False,
        help_text="How verdicts are read",
    )

    @property
    def options(self) -> JsonDict:
        """The choices, without those that are the usual ones."""
        assert isinstance(self.data, MultiValueDict)
        return debate_options(self.data)


class ArenaForm(DebatesForm):
    """Which debates are ranked."""

    experiment = forms.ModelChoiceField(
        Experiment.objects.all(), required=False, help_text="Name or number of the experiment whose debates are ranked"
    )

    @property
    def options(self) -> JsonDict:
        """The choices, without those that are the usual ones."""
        assert isinstance(self.data, MultiValueDict)
        return arena_options(self.data)


class RobustnessForm(forms.Form):
    """Which experiment with perturbed criteria is reported."""

    experiment = forms.ModelChoiceField(
        Experiment.objects.filter(kind=ExperimentKind.ROBUSTNESS),
        required=False,
        help_text="Name or number of the experiment; the newest unless given",
    )


class ItemGroupForm(forms.Form):
    """Which items of a queue or a label table are counted."""

    criterion = forms.CharField(max_length=100, required=False, help_text="Only items of this criterion")
    scenario = forms.CharField(max_length=100, required=False, help_text="Only items of this scenario")
    language = forms.CharField(max_length=100, required=False, help_text="Only items of this language")

    @property
    def options(self) -> JsonDict:
        """What is chosen and can be."""
        self.is_valid()
        chosen = {name: self.cleaned_data.get(name) for name in ("criterion", "scenario", "language")}
        return {name: value for name, value in chosen.items() if value}


class OfTeamForm(forms.Form):
    """Whose rows the tables by person show."""

    team = forms.ModelChoiceField(
        Team.objects.order_by("name"),
        required=False,
        help_text="Name of a team: the tables by person show its people only. Other figures are of everybody.",
    )

    @property
    def chosen_team(self) -> Team | None:
        """The team that is chosen and can be."""
        self.is_valid()
        team: Team | None = self.cleaned_data.get("team")
        return team


class AgreementForm(ItemGroupForm, OfTeamForm):
    """Whose agreement is measured, and on which items."""

    queue = forms.ModelChoiceField(Queue.objects.all(), required=False, help_text="Slug, name or number of a queue")
    labels = forms.ModelChoiceField(
        LabelTable.objects.all(),
        required=False,
        label="Label table",
        help_text="Slug, name or number of a table of imported labels, instead of a queue",
    )

    def clean(self) -> None:
        """Refuse a queue and a table together, and neither."""
        super().clean()
        if not self.errors and bool(self.cleaned_data.get("queue")) == bool(self.cleaned_data.get("labels")):
            raise forms.ValidationError("Choose either a queue or a table of imported labels.")


class OneQueueForm(forms.Form):
    """Which queue a report is about."""

    queue = forms.ModelChoiceField(Queue.objects.all(), help_text="Slug, name or number of a queue")


class PaceForm(OneQueueForm, OfTeamForm):
    """Which queue the report on its pace is about."""


class JudgeVersionForm(forms.Form):
    """An act on one version of a judge, whose audit is `content`."""

    def __init__(self, data: Mapping[str, Any] | None = None, *, content: ReportContent) -> None:
        super().__init__(data)
        self.content = content


class CertificateForm(JudgeVersionForm):
    """Who the annotators of a judge's audit are."""

    annotators = forms.ChoiceField(
        choices=[(kind.value, kind.value) for kind in Annotators],
        initial=Annotators.SKILLED.value,
        help_text="Kind of annotators, which sets the margin",
    )


class ThresholdForm(JudgeVersionForm):
    """How often accepted verdicts may be wrong, and how certain that shall be."""

    error = forms.FloatField(
        min_value=0.5,
        max_value=50,
        initial=100 * ALPHA,
        step_size=0.5,
        label="Highest error rate, %",
        help_text="Among the verdicts that are accepted without review.",
        widget=forms.NumberInput(attrs={"step": "0.5"}),
    )
    certainty = forms.FloatField(
        min_value=50,
        max_value=99.9,
        initial=100 * (1 - DELTA),
        label="Certainty, %",
        help_text="Of the bound on the error rate.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    tolerance = forms.IntegerField(
        min_value=0,
        initial=0,
        required=False,
        label="Tolerance, points",
        help_text=(
            "A verdict is wrong if it differs from the human label by more than this many points; neighbouring labels "
            "of the scale are one point apart."
        ),
    )
    plan = forms.TypedChoiceField(
        coerce=int,
        empty_value=None,
        choices=[(MOST_LOOKS, f"Up to {MOST_LOOKS} looks, while labels arrive"), (1, "One look")],
        required=False,
        label="Looks",
        help_text="Fixed by the first look. One look needs fewer labels; nobody can look again after it.",
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, content: ReportContent) -> None:
        super().__init__(data, content=content)
        self.most_tolerance: int = content["most_tolerance"]
        if not self.most_tolerance and not self.data.get("tolerance"):
            del self.fields["tolerance"]  # two labels, or labels without an order

    def clean_tolerance(self) -> int:
        """Refuse a tolerance under which nothing could be wrong."""
        tolerance = self.cleaned_data["tolerance"] or 0
        if tolerance > self.most_tolerance:
            raise forms.ValidationError(
                f"At most {self.most_tolerance}: with more, no verdict on this scale could be wrong."
                if self.most_tolerance
                else "The labels of this judge are two, or have no order: choose 0."
            )
        return int(tolerance)

    @property
    def target(self) -> ThresholdTarget:
        """What a valid form asks for."""
        filled = self.cleaned_data
        return ThresholdTarget(
            alpha=filled["error"] / 100,
            delta=round(1 - filled["certainty"] / 100, 6),
            tolerance=filled.get("tolerance") or 0,
            looks=filled["plan"],
        )


class AnchorForm(JudgeVersionForm):
    """What asking the anchors again may cost."""

    budget = BudgetField(help_text="Empty: no limit.")


class SavedViewForm(AddressForm):
    """A view of results that is kept."""

    name = NameField(required=False, label="Name", help_text="A view of that name is replaced.")
    is_shared = forms.BooleanField(required=False, help_text="Offer the view to everybody who reads results.")


class PinForm(forms.Form):
    """The columns of the official board of a suite."""

    graders = forms.MultipleChoiceField(label="Graders and judges", help_text="Columns, as the board calls them.")

    def __init__(self, *args: Any, suite: Suite, **options: Any) -> None:
        super().__init__(*args, **options)
        offer_choices(self, "graders", ((str(grader.key), grader.label) for grader in graders_of(suite.pk)))


class ShareForm(AddressForm):
    """Which leaderboard a link shares, and how long it is open."""

    days = forms.TypedChoiceField(
        coerce=int,
        choices=[(7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year")],
        initial=30,
        label="The link ends after",
    )


Query = JsonObject  # the choices of an address, by name


@dataclass(frozen=True, slots=True)
class LeaderboardChoice:
    """One leaderboard's choices. `options` is what its figures depend on; mode and order only choose among them."""

    evaluator: str
    mode: MeanKind
    sort: str
    options: JsonDict
    archived: bool = False  # whether boards of archived runs are offered too
    version: int | None = None  # an evaluator of the judge version whose newest scores of all runs count


def leaderboard_choice(query: Query) -> LeaderboardChoice:
    """Return the choices of an address; missing or invalid ones are the default."""
    options = {name: str(query[name])[:100] for name in ("scenario", "lang", "type") if query.get(name)}
    if query.get("missing") == "skip":
        options["missing"] = "skip"
    options |= looks_option(query)
    mode = str(query.get("mode", ""))
    return LeaderboardChoice(
        evaluator=str(query.get("evaluator", "")),
        mode=MeanKind(mode) if mode in set(MeanKind) else MeanKind.RAW,
        sort=str(query.get("sort", "")),
        options=options,
        archived=query.get("archived") == "1",
        version=whole_number(query.get("grader", "")),
    )


def looks_option(query: Query) -> dict[str, str]:
    """Return whether intervals are to hold at every look while labels arrive."""
    return {"looks": "every"} if query.get("looks") == "every" else {}


def judge_options(query: Query) -> dict[str, str]:
    """Return the name and, where given, the version of a judge, and the looks."""
    version = str(query.get("version", ""))[:64]
    named = {"name": str(query.get("name", ""))[:160]}
    return named | ({"version": version} if version else {}) | looks_option(query)


def cell_of(query: Query) -> Cell:
    """Return the figure whose items an address requests; its other parameters are ignored."""
    return Cell(**{field.name: str(query.get(field.name, ""))[:200] for field in fields(Cell)})


def debate_options(query: MultiValueDict[str, str]) -> JsonDict:
    """Return the address's choices; missing or invalid ones are the default."""
    options: JsonDict = {name: query[name][:100] for name in ("scenario", "criterion") if query.get(name)}
    if sets := sorted(whole_numbers(query.getlist("set"))):
        options["sets"] = sets
    if query.get("rule") in {rule.value for rule in RULES} - {OutcomeRule.UNANIMOUS.value}:
        options["rule"] = query["rule"]
    if query.get("reading") in {reading.value for reading in READINGS} - {VerdictReading.STRICT.value}:
        options["reading"] = query["reading"]
    return options | looks_option(query)


def arena_options(query: MultiValueDict[str, str]) -> JsonDict:
    """Return the choices of debates, and the experiment whose debates are ranked."""
    options = debate_options(query)
    experiment = whole_number(query.get("experiment", ""))
    return options if experiment is None else options | {"experiment": str(experiment)}


def debates_behind_of(query: Query) -> DebateFigure:
    """Return which figure's debates an address asks for; without `of_`, the names are those of the report's filters."""
    names = {"pair": "of_pair", "criterion": "of_criterion", "scenario": "of_scenario", "round": "of_round"}
    chosen = {field: str(query.get(name, ""))[:200] for field, name in names.items()}
    evaluators = {name: str(query.get(name, ""))[:200] for name in ("evaluator", "other")}
    against = str(query.get("against", ""))
    return DebateFigure(**chosen, **evaluators, against=against if against in (OUTCOME, PEOPLE) else "")


def two_systems(values: list[str]) -> tuple[int, int] | None:
    """Return two different keys of systems, None where the address does not name just two."""
    keys = whole_numbers(values)
    return (keys[0], keys[1]) if len(keys) == 2 else None


def results_choice(query: QueryDict) -> ResultsChoice:
    """Return the choices of an address; missing or invalid ones are the default."""
    columns, shown = query.get("columns", ""), query.get("show", "")
    return ResultsChoice(
        columns=Columns(columns) if columns in set(Columns) else Columns.SYSTEMS,
        graders=whole_numbers(query.getlist("grader")),
        systems=whole_numbers(query.getlist("system")),
        shown=RowFilter(shown) if shown in set(RowFilter) else RowFilter.ALL,
        other=whole_number(query.get("other", "")) or 1,
        scenario=query.get("scenario", "")[:100] or None,
        language=query.get("lang", "")[:40] or None,
        least=finite_number(query.get("least", "")),
        most=finite_number(query.get("most", "")),
        search=query.get("q", "").strip()[:200],
        sort=query.get("sort", "")[:20],
        row=query.get("row", "")[:40],
    )


def _is_read(name: str, text: str) -> bool:
    """Return whether pages read what an address says under a name."""
    if name in ("grader", "system", "other"):
        return whole_number(text) is not None
    if name in ("least", "most"):
        return finite_number(text) is not None
    choices = {"columns": Columns, "show": RowFilter, "mode": MeanKind}.get(name)
    return choices is None or text in set(choices)


def debate_basis(content: ReportContent) -> str:
    """Return the rule, the reading and the choices of debates that a report on debates was computed with."""
    rule, reading = OutcomeRule(content["rule"]), VerdictReading(content["reading"])
    chosen = {name: content["chosen"][name] for name in ("criterion", "scenario") if content["chosen"][name]}
    only = "".join(f" Only {name} {value}." for name, value in chosen.items())
    looks = f" {EVERY_LOOK}" if content["looks"] else ""
    return f"Outcome of a debate: {RULES[rule]}. Verdicts are read {READINGS[reading]}.{only}{looks}"
