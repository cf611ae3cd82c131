"""What a report's address asks for, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

from django import forms
from django.http import QueryDict

from debate.protocol.meta.metaeval import OutcomeRule
from debate.protocol.verdicts import VerdictReading
from evalsite.base.http import whole_number
from evalsite.reports.services.debates.debate_basis import READINGS, RULES
from evalsite.review.questions.scales import words_of
from evalsite.review.selectors.labels.labelled_responses import evaluator_words, evaluators_to_label
from evalsite.review.services.labels.label_tables import LabelUpload
from evalsite.review.tables.labels import LabelColumns
from judging.forms.files import SizedFileField
from judging.models import RunEvaluator
from judging.statistics.coefficients.item_lists import Cell
from judging.statistics.debate_rows import OUTCOME, PEOPLE, Behind
from judging.statistics.estimators.boards import MeanKind
from judging.statistics.risk_coverage import ALPHA, DELTA

Query = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LeaderboardChoice:
    """One leaderboard's choices. `options` is what its figures depend on; mode and order only choose among them."""

    evaluator: str
    mode: MeanKind
    sort: str
    options: dict[str, Any]


def leaderboard_choice(query: Query) -> LeaderboardChoice:
    """Return the choices of an address; what it does not say, or says wrongly, is the default."""
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
    )


def looks_option(query: Query) -> dict[str, Any]:
    """Return whether intervals are to hold at every look while labels arrive."""
    return {"looks": "every"} if query.get("looks") == "every" else {}


def judge_options(query: Query) -> dict[str, Any]:
    """Return the name and, where given, the version of a judge, and the looks."""
    version = str(query.get("version", ""))[:64]
    named = {"name": str(query.get("name", ""))[:160]}
    return named | ({"version": version} if version else {}) | looks_option(query)


def agreement_options(query: Query) -> dict[str, Any]:
    """Return criterion, scenario and language where the address names them."""
    return {name: str(query[name])[:100] for name in ("criterion", "scenario", "language") if query.get(name)}


def cell_of(query: Query) -> Cell:
    """Return which figure's items an address asks for; what it says beside that is not looked at."""
    return Cell(**{field.name: str(query.get(field.name, ""))[:200] for field in fields(Cell)})


def debate_options(query: QueryDict) -> dict[str, Any]:
    """Return the address's choices; what it does not say, or says wrongly, is the default."""
    options: dict[str, Any] = {name: query[name][:100] for name in ("scenario", "criterion") if query.get(name)}
    sets = sorted({key for value in query.getlist("set") if (key := whole_number(value)) is not None})
    if sets:
        options["sets"] = sets
    if query.get("rule") in {rule.value for rule in RULES} - {OutcomeRule.UNANIMOUS.value}:
        options["rule"] = query["rule"]
    if query.get("reading") in {reading.value for reading in READINGS} - {VerdictReading.STRICT.value}:
        options["reading"] = query["reading"]
    return options | looks_option(query)


def arena_options(query: QueryDict) -> dict[str, Any]:
    """Return the choices of debates, and the experiment whose debates are ranked."""
    options = debate_options(query)
    experiment = whole_number(query.get("experiment", ""))
    return options if experiment is None else options | {"experiment": str(experiment)}


def debates_behind_of(query: Query) -> Behind:
    """Return which figure's debates an address asks for; without `of_`, the names are those of the report's filters."""
    names = {"pair": "of_pair", "criterion": "of_criterion", "scenario": "of_scenario", "round": "of_round"}
    chosen = {field: str(query.get(name, ""))[:200] for field, name in names.items()}
    evaluators = {name: str(query.get(name, ""))[:200] for name in ("evaluator", "other")}
    against = str(query.get("against", ""))
    return Behind(**chosen, **evaluators, against=against if against in (OUTCOME, PEOPLE) else "")


def two_systems(values: list[str]) -> tuple[int, int] | None:
    """Return two different keys of systems, None where the address does not name just two."""
    keys = [key for value in values if (key := whole_number(value)) is not None]
    return (keys[0], keys[1]) if len(keys) == 2 and keys[0] != keys[1] else None


class ThresholdForm(forms.Form):
    """How often accepted verdicts may be wrong, and how certain that shall be."""

    error = forms.FloatField(
        min_value=0.5,
        max_value=50,
        initial=100 * ALPHA,
        label="Wrong at most, %",
        help_text="Of the verdicts that no person checks.",
        widget=forms.NumberInput(attrs={"step": "0.5"}),
    )
    certainty = forms.FloatField(
        min_value=50,
        max_value=99.9,
        initial=100 * (1 - DELTA),
        label="Certainty, %",
        help_text="That the error rate is not higher.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )

    @property
    def alpha(self) -> float:
        return float(self.cleaned_data["error"]) / 100

    @property
    def delta(self) -> float:
        return 1 - float(self.cleaned_data["certainty"]) / 100


class AnchorForm(forms.Form):
    """What asking the anchors again may cost."""

    budget = forms.DecimalField(
        required=False,
        min_value=Decimal("0.000001"),
        max_digits=14,
        decimal_places=6,
        label="Budget in USD",
        help_text="Left empty: no cap.",
    )


class EvaluatorChoiceField(forms.ModelChoiceField):  # type: ignore[type-arg]  # it takes no parameter when it runs
    """The evaluator of a run whose responses were labelled."""

    def label_from_instance(self, obj: RunEvaluator) -> str:
        """Return run, judge and criterion."""
        return evaluator_words(obj)


class LabelImportForm(forms.Form):
    """A file of labels, what they are about, and what its columns mean where their names do not say it.

    A file that has been looked at is kept: `kept` is its token.
    """

    kept = forms.CharField(required=False, widget=forms.HiddenInput)
    kept_name = forms.CharField(required=False, widget=forms.HiddenInput)
    file = SizedFileField(label="File", help_text="CSV, XLSX or JSONL.")
    name = forms.CharField(max_length=200, required=False, help_text="The file's name, unless you give another.")
    about = EvaluatorChoiceField(
        queryset=RunEvaluator.objects.none(),
        required=False,
        label="The labels are about",
        empty_label="no response of this site: only agreement between these people",
        help_text="Labels of responses become final labels, used for every judge, run and prompt version over equal"
        " responses. The table names each response by response_id, or by case and system.",
    )
    source = forms.CharField(
        max_length=200, required=False, label="From whom", help_text="The names of the raters, unless you say it."
    )
    is_blind = forms.BooleanField(
        required=False,
        label="Given blind",
        help_text="Nobody had seen machine verdicts or other people's labels. Only such labels enter figures about"
        " judges and corrected scores.",
    )
    scale = forms.CharField(
        max_length=1000,
        required=False,
        label="Label scale",
        help_text="Every label that was possible, in order, separated by commas. Chance-corrected figures need it."
        " For responses of this site it is the criterion's.",
    )
    item_column = forms.CharField(max_length=100, required=False, label="Column of the item")
    rater_column = forms.CharField(max_length=100, required=False, label="Column of the rater (long tables)")
    label_column = forms.CharField(max_length=100, required=False, label="Column of the label (long tables)")
    rater_columns = forms.CharField(
        max_length=2000, required=False, label="Columns of raters (wide tables)", help_text="Separated by commas."
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        about, file = self.fields["about"], self.fields["file"]
        if isinstance(about, EvaluatorChoiceField):
            chosen = whole_number(str(self.data.get("about") or self.initial.get("about") or ""))
            about.queryset = evaluators_to_label(also=chosen)
        if self.data.get("kept"):
            file.required = False
            file.help_text = f"{self.data.get('kept_name')} is kept. Choose a file only to replace it."

    @property
    def columns(self) -> LabelColumns:
        """What the person said of the columns."""
        data = self.cleaned_data
        return LabelColumns(
            item=data["item_column"].strip(),
            rater=data["rater_column"].strip(),
            label=data["label_column"].strip(),
            raters=words_of(data["rater_columns"]),
        )

    def upload(self, data: bytes, file_name: str) -> LabelUpload:
        """Return a file with everything that was said of it."""
        said = self.cleaned_data
        return LabelUpload(
            data=data,
            file_name=file_name,
            columns=self.columns,
            scale=words_of(said["scale"]),
            evaluator=said["about"],
            source=said["source"].strip(),
            is_blind=said["is_blind"],
        )
