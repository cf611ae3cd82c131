"""Forms of judges: a field for each option of a kind, and the rows of a panel's members.

For a pasted prompt there are fields that ask what its placeholders are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from typing import Any, cast

from django import forms
from django.db.models import Q
from django.utils.datastructures import MultiValueDict

from evalsite.base.actions.entries import TextsField
from evalsite.base.form_fields import NameField, offer_rows
from evalsite.base.rows import grouped
from evalsite.base.types import JsonDict, JsonObject
from judging.forms.endpoints import EndpointField
from judging.judges.judge_kinds import JudgeKind, OptionField, lines_of_members, members_from_lines
from judging.judges.kinds.custom import NAME as CUSTOM
from judging.judges.kinds.custom_templates import AS_TEXT, filled_in, placeholders_of, texts_by_role, words_for
from judging.judges.registry import KINDS
from judging.judges.subjects import VARIABLES, BadPrompt
from judging.models import Judge, ModelEndpoint
from judging.selectors.judges import possible_members
from judging.services.judges import BadJudgeFile, JudgeFile, read_judge_file

PROMPT, SYSTEM = "option_prompt_text", "option_system_text"
PREFIX = "placeholder_"  # of the field of a placeholder
CHECK = "The prompt has placeholders of another tool. Check what each will be, then save again: %s."


class PublishedPrompt:
    """A prompt that was entered in a form: a pasted conversation is split, and each placeholder has a field."""

    def __init__(self, form: forms.Form, stored: JsonObject) -> None:
        """Add the fields. What is in single braces in the judge's `stored` texts was said to be text before."""
        self._form, self._names, self._problem, self._unknown = form, list[str](), "", ""
        self.questions: list[tuple[str, bool]] = []  # what each placeholder will be, and whether somebody must say it
        self._is_confirmed = True
        self._data = cast("MultiValueDict[str, Any]", copy(form.data))  # a copy of a request's data can be changed
        if form.is_bound:
            form.data = self._data
            self._split()
            self._ask(placeholders_of(*(str(stored.get(name, "")) for name in ("prompt_text", "system_text"))))

    def _split(self) -> None:
        data = self._data
        try:
            parts = texts_by_role(data.get(PROMPT) or "")
        except BadPrompt as problem:
            self._problem = str(problem)
            return
        if parts is not None:
            system, data[PROMPT] = parts
            data[SYSTEM] = system or data.get(SYSTEM, "")

    def _ask(self, confirmed: JsonObject) -> None:
        data = self._data
        given = self._given()
        choices = [(name, f"{{{{ {name} }}}}: {meaning}") for name, meaning in VARIABLES.items()]
        for name, variable in placeholders_of(data.get(SYSTEM) or "", data.get(PROMPT) or "").items():
            if name in confirmed:
                continue
            self._names.append(name)
            chosen = data.get(PREFIX + name) or variable
            words = f"{{{name}}} stays text." if chosen == AS_TEXT else words_for(name, chosen)
            self.questions.append((words, not chosen))
            self._form.fields[PREFIX + name] = forms.ChoiceField(
                label=f"{{{name}}}",
                choices=[("", "Choose"), *choices, (AS_TEXT, "text of the prompt, as it is")],
                help_text=words_for(name, variable),
                error_messages={"required": f"Say what {{{name}}} is."},
            )
            if PREFIX + name not in data:
                data[PREFIX + name] = given.get(name, variable)
                self._is_confirmed = self._is_confirmed and name in given
        self._unknown = next((name for name in given if name not in self._names), "")

    def _given(self) -> dict[str, str]:
        """Return what a program said that placeholders are, by name."""
        pairs = (pair.partition("=") for pair in self._data.getlist("placeholders"))
        return {name.strip(): variable for name, _, variable in pairs}

    def clean(self, cleaned: JsonDict) -> None:
        """Put the variables in the place of the placeholders, once somebody has seen them."""
        if self._problem:
            self._form.add_error(PROMPT, self._problem)
        if not self._is_confirmed:
            words = (f"{name}={self._data[PREFIX + name] or '?'}" for name in self._names)
            self._form.add_error(None, CHECK % ", ".join(words))
        if self._unknown:
            self._form.add_error(None, f"The prompt has no placeholder {{{self._unknown}}}.")
        variables = {name: cleaned[PREFIX + name] for name in self._names if PREFIX + name in cleaned}
        cleaned |= {name: filled_in(cleaned[name], variables) for name in (PROMPT, SYSTEM) if cleaned.get(name)}


FEWEST_ROWS, SPARE_ROWS = 3, 2


class PanelMembersWidget(forms.Textarea):
    """Rows of a judge and a weight; a form that was not sent by the page holds the lines themselves."""

    template_name = "judging/_panel_members.html"
    use_fieldset = True

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        members = members_from_lines(value or "")
        empty = max(FEWEST_ROWS - len(members), SPARE_ROWS)
        rows = [(entry["judge"], f"{entry['weight']:g}") for entry in members] + [("", "1")] * empty
        judges = _by_kind()
        offered = {judge for names in judges.values() for judge in names}
        context |= {"rows": rows, "judges": judges, "named": {entry["judge"] for entry in members} - offered}
        return context

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        if name in data or not hasattr(data, "getlist"):
            return data.get(name)
        pairs = zip(data.getlist(f"{name}_judge"), data.getlist(f"{name}_weight"), strict=False)
        return "\n".join(f"{judge} = {weight.strip() or '1'}" for judge, weight in pairs if judge)

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return name not in data and f"{name}_judge" not in data


class PanelMembersField(forms.CharField):
    """The members of a panel as lines of NAME or NAME = WEIGHT."""

    widget = PanelMembersWidget


def _by_kind() -> Mapping[str, list[str]]:
    """Return the names of the judges that may be members under the title of their kind."""
    return grouped((KINDS[kind].title, name) for name, kind in possible_members().values_list("name", "kind"))


class JudgeFileField(forms.CharField):
    """The text of a judge's file; its value is the judge that it says."""

    widget = forms.Textarea

    def clean(self, value: Any) -> JudgeFile | None:
        text = super().clean(value)
        try:
            return read_judge_file(text.encode(), "judge.yaml") if text else None
        except BadJudgeFile as problem:
            raise forms.ValidationError(str(problem)) from None


class OptionChoiceField(forms.ChoiceField):
    """A choice among values, of which a page sends the JSON."""

    def name_of(self, code: str) -> str:
        """Return a value as programs name it."""
        value = json.loads(code)
        return value if isinstance(value, str) else code


class JudgeForm(forms.Form):
    """A judge of one kind, with a field for each of its options; the class has those of every kind."""

    OPEN = ("placeholders",)

    name = NameField(max_length=120, help_text="Shown in runs and reports.")
    description = forms.CharField(
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="What it judges, for people.",
    )
    endpoint = EndpointField(
        ModelEndpoint.objects.filter(is_active=True).order_by("kind", "name"),
        empty_label="Choose an endpoint",
        help_text="The model that it asks.",
    )
    placeholders = TextsField(
        required=False,
        widget=forms.MultipleHiddenInput,
        help_text="What each {NAME} of a published prompt is: NAME=VARIABLE, or NAME== for text.",
    )

    def __init__(self, *args: Any, kind: str, judge: Judge | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind, self.judge, self.said_kind = KINDS[kind], judge, kind
        asks = {"endpoint": self.kind.asks_model, "placeholders": kind == CUSTOM}
        declared = ("name", "description", *(name for name, is_asked in asks.items() if is_asked))
        self.fields = {name: self.fields[name] for name in declared}
        if judge is not None:
            judge_values = {"name": judge.name, "description": judge.description, "endpoint": judge.endpoint_id}
            self.initial = {**self.initial, **judge_values}
            if self.kind.asks_model:  # it may keep an endpoint that no new judge gets
                known = ModelEndpoint.objects.filter(Q(is_active=True) | Q(pk=judge.endpoint_id))
                offer_rows(self, "endpoint", known.order_by("kind", "name"))
        values = self.kind.new_options() if judge is None else judge.options
        for option in self.kind.options:
            value = values.get(option.name, option.default)
            self.fields[f"option_{option.name}"] = option_field(option, value)
        self.published = PublishedPrompt(self, judge.options if judge else {}) if self.kind is KINDS[CUSTOM] else None

    def clean(self) -> None:
        super().clean()
        cleaned = self.cleaned_data
        if self.said_kind not in ("", self.kind.name):
            self.add_error(None, f"This is a judge of the kind {self.kind.name}.")
        unknown = next((name for name in self.base_fields if name in self.data and name not in self.fields), None)
        if unknown is not None:
            fields = ", ".join(self.fields)
            self.add_error(None, f"A judge of the kind {self.kind.name} has no field {unknown}. It has: {fields}.")
        if self.published is not None:
            self.published.clean(cleaned)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        others = Judge.objects.filter(name=name)
        if self.judge is not None:
            others = others.exclude(pk=self.judge.pk)
        if others.exists():
            raise forms.ValidationError("Another judge has this name. Choose a different one.")
        return name

    def usual_fields(self) -> list[forms.BoundField]:
        """Return the fields that stand open."""
        folded = {name for names in self._groups().values() for name in names}
        return [field for field in self.visible_fields() if field.name not in folded]

    def folded_fields(self) -> list[tuple[str, list[forms.BoundField], bool]]:
        """Return the fields under each heading, and whether one of them has an error, so that it opens."""
        groups = {heading: [self[name] for name in names] for heading, names in self._groups().items()}
        return [(heading, fields, any(field.errors for field in fields)) for heading, fields in groups.items()]

    def _groups(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for option in self.kind.options:
            if option.group:
                groups.setdefault(option.group, []).append(f"option_{option.name}")
        return groups

    def judge_row(self) -> Judge:
        """Return the judge as entered, but for its options; the form must be valid."""
        row = copy(self.judge) if self.judge is not None else Judge(kind=self.kind.name)
        data = self.cleaned_data
        row.name, row.description, row.endpoint = data["name"], data["description"], data.get("endpoint")
        return row

    def options(self) -> JsonDict:
        """Return the options as entered; while the form is not valid, defaults in the place of what is wrong."""
        options: JsonDict = {}
        for option in self.kind.options:
            if f"option_{option.name}" not in self.cleaned_data:
                options[option.name] = option.default
                continue
            value = self.cleaned_data[f"option_{option.name}"]
            if option.kind == "choice":
                value = json.loads(value)
            if option.kind == "members":
                value = members_from_lines(value)
            options[option.name] = option.default if value is None and option.default is not None else value
        return options


def shown_options(kind: JudgeKind, options: JsonObject) -> JsonDict:
    """Return options as the form's fields hold them, by field."""
    return {f"option_{option.name}": _shown_value(option, options[option.name]) for option in kind.options}


def _shown_value(option: OptionField, value: Any) -> Any:
    if option.kind == "members":
        return lines_of_members(value)
    return json.dumps(value) if option.kind == "choice" else value


def option_field(option: OptionField, value: Any) -> forms.Field:
    """Return the field of one option of a judge."""
    common: JsonDict = {"label": option.title, "help_text": option.help, "initial": value, "required": False}
    if option.kind == "choice":
        words = option.words or tuple(map(str, option.choices))
        choices = [(json.dumps(choice), word) for choice, word in zip(option.choices, words, strict=True)]
        return OptionChoiceField(**common | {"choices": choices, "initial": json.dumps(value), "required": True})
    if option.kind == "members":
        return PanelMembersField(**common | {"initial": lines_of_members(value)})
    if option.kind == "boolean":
        return forms.BooleanField(**common)
    if option.kind == "line":
        return forms.CharField(**common, max_length=1000)
    if option.kind == "text":
        return forms.CharField(**common, widget=forms.Textarea(attrs={"rows": option.rows}), strip=False)
    limits: JsonDict = {"min_value": option.low, "max_value": option.high}
    return forms.IntegerField(**common, **limits) if option.kind == "integer" else forms.FloatField(**common, **limits)


JudgeForm.base_fields |= {
    f"option_{option.name}": option_field(option, option.default)
    for kind in reversed(KINDS.values())
    for option in kind.options
}
