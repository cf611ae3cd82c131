"""Forms filled in by programs: what a command or the API is given becomes what the page would send."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Model, QuerySet
from django.utils.choices import flatten_choices
from django.utils.datastructures import MultiValueDict

from evalsite.base.actions.declarations import (
    Action,
    ActionCall,
    Filled,
    InvalidInput,
    PageData,
    PageFiles,
    Reference,
    Subject,
)
from evalsite.base.actions.reports import Report
from evalsite.base.rows import BadInput, look_up
from evalsite.base.types import JsonDict, JsonObject, Refused

NUL = "\0"


TRUTHS = {"yes": "true", "true": "true", "no": "false", "false": "false", "unknown": "unknown"}


class NamesRows(Protocol):
    """What says how rows of a model are named in its forms: a noun, or a report."""

    def reference_to(self, model: type[Model]) -> Reference: ...


PlainForm = TypeVar("PlainForm", bound=forms.Form)


class NamesField(forms.CharField):
    """Names, which programs give as a list and people separate by commas, as the page says."""

    def __init__(self, *, help_text: str = "", **options: Any) -> None:
        super().__init__(help_text=f"{help_text} Separate several by commas.".lstrip(), **options)
        self.program_help = help_text


def said_of(field: forms.Field) -> str:
    """Return what programs are told of a field: its label and its help."""
    parts = (str(field.label or ""), str(getattr(field, "program_help", field.help_text)))
    return ". ".join(part.rstrip(".") for part in parts if part)


class RowField(forms.CharField):
    """A row by its number or a name, which chooses the rows of a list; None where none is named."""

    def __init__(self, rows: QuerySet[Any], *, what: str, fields: Sequence[str], **options: Any) -> None:
        super().__init__(required=False, max_length=200, **options)
        self.rows, self.what, self.names = rows, what, fields

    def clean(self, value: Any) -> Any:
        """Return the row. Raises: ValidationError: there is none."""
        text = super().clean(value)
        try:
            return look_up(self.rows.all(), text, what=self.what, fields=self.names) if text else None
        except BadInput as refusal:
            raise forms.ValidationError(str(refusal)) from None


class TextsField(forms.Field):
    """Several texts, which a page sends one by one, and a command as well where its option `is_repeated`."""

    is_repeated = False


def names_of_choices(field: forms.ChoiceField) -> dict[str, str]:
    """Return the codes that a page sends for the choices of a field, by what programs call them.

    A field whose codes say little to people has a method `name_of`; one that takes more names than these says which
    codes they stand for in `other_names`.
    """
    name_of: Callable[[str], str] = getattr(field, "name_of", str)
    return {name_of(code): code for code, _ in _choices(field) if code != ""}


def _choices(field: forms.ChoiceField) -> list[tuple[str, str]]:
    """Return the choices of a field, those that stand in groups as well: code and label."""
    choices: Any = field.choices
    flat: Any = flatten_choices(choices)
    return [(str(code), str(label)) for code, label in flat]


def perform(
    action: Action[Subject, Filled], subject: Subject, entered: JsonObject, *, actor: User | None, at: datetime
) -> Any:
    """Do what an action says with what a program entered, and return what came of it.

    What is not entered has the value that the page's form shows at first; None empties a field.

    Raises:
        InvalidInput: the form refuses the entries.
        Refused: it cannot be done.
    """
    if actor is None and action.options.get("needs_person"):
        raise Refused("This is done in a person's name. Say in whose: --by NAME.")
    form = filled_form(action, subject, entered)
    if not form.is_valid():
        raise InvalidInput.of(form)
    return action.carry_out(ActionCall(subject, form, actor, at))


def filled_form(action: Action[Subject, Filled], subject: Subject, entered: JsonObject) -> Filled:
    """Return the form of an action with what was entered; it says itself what is wrong.

    Raises:
        InvalidInput: what the form is built from is missing or does not exist.
    """
    first_form = _first_form(action, entered)
    if not first_form.is_valid():
        raise InvalidInput.of(first_form)
    first = first_form.cleaned_data
    data, errors = _page_data(action.noun, action.form(subject, first, None), entered)
    files: PageFiles = MultiValueDict()
    for name, field in action.fields.items():
        if isinstance(field, forms.FileField) and entered.get(name):
            files.setlist(name, entered[name])
    return _with_errors(action.form(subject, first, data, files), errors | _surplus_files(action.fields, files))


def _surplus_files(fields: Mapping[str, forms.Field], files: PageFiles) -> dict[str, str]:
    """Return by field what is wrong where several files are entered and the page lets one be chosen."""
    single = [name for name in files if not getattr(fields[name].widget, "allow_multiple_selected", False)]
    return {
        name: f"This takes one file, not {len(given)}: {', '.join(file.name for file in given)}. Put their rows in one."
        for name in single
        if len(given := files.getlist(name)) > 1
    }


def first_entries(action: Action[Any, Any], entered: JsonObject) -> JsonDict:
    """Return what an address names of what a form is built from; what is wrong there is as if it was not named."""
    first_form = _first_form(action, entered)
    first_form.is_valid()
    return dict.fromkeys(first_form.fields) | first_form.cleaned_data


def _first_form(action: Action[Any, Any], entered: JsonObject) -> _FirstForm:
    first_fields = action.options.get("first_fields", {})
    data, errors = _page_data(action.noun, _FirstForm(first_fields), entered)
    return _with_errors(_FirstForm(first_fields, data), errors)


def chosen_form(report: Report[Any], entered: JsonObject) -> forms.Form:
    """Return the valid form of a report with what a program chose. Raises: InvalidInput."""
    return valid_form(report, report.form_class, entered)


def valid_form(noun: NamesRows, form_class: type[PlainForm], entered: JsonObject) -> PlainForm:
    """Return a valid form with what a program entered. Raises: InvalidInput."""
    data, errors = _page_data(noun, form_class(), entered)
    form = _with_errors(form_class(data), errors)
    if not form.is_valid():
        raise InvalidInput.of(form)
    return form


class _FirstForm(forms.Form):
    """The fields that are read before the form of an action exists."""

    def __init__(self, first_fields: Any, data: PageData | None = None) -> None:
        super().__init__(data)
        self.fields.update(first_fields)


def _with_errors(form: Filled, errors: dict[str, str]) -> Filled:
    """Return the form with errors in place of what it says itself of these fields."""
    for name, sentence in errors.items():
        form.errors[name] = form.error_class([sentence])
    if errors:
        form.errors.pop(NON_FIELD_ERRORS, None)  # may only say that what was named is missing
    return form


def _page_data(noun: NamesRows, form: forms.BaseForm, entered: JsonObject) -> tuple[PageData, dict[str, str]]:
    """Return what the page would send, and by field what names nothing."""
    data: PageData = MultiValueDict()
    errors: dict[str, str] = {}
    declared = {name: field for name, field in _declared(form).items() if name in entered}
    for name, field in {**declared, **form.fields}.items():
        if isinstance(field, forms.FileField):
            continue
        shown = shown_texts(form, name, field) if name in form.fields else []
        try:
            texts = _entered_texts(noun, field, entered[name]) if name in entered else shown
            if field.disabled and texts != shown:
                raise Refused(str(field.help_text) or "This cannot be chosen here.")
        except Refused as refusal:
            texts, errors[name] = [], str(refusal)
        if texts:
            data.setlist(form.add_prefix(name), texts)
    return data, errors


def _declared(form: forms.BaseForm) -> dict[str, forms.Field]:
    """Return the fields of a form, those included that it shows only after other entries."""
    fields: dict[str, forms.Field] = form.base_fields  # type: ignore[attr-defined]  # of every form
    return fields


def shown_texts(form: forms.BaseForm, name: str, field: forms.Field) -> list[str]:
    """Return what the page would send if nobody touched a field."""
    value = form[name].initial
    if isinstance(field, forms.NullBooleanField):
        return [_truth(value)]
    if isinstance(field, forms.BooleanField):
        return ["on"] if value else []
    prepared = field.prepare_value(value)
    if prepared is None or prepared == "":
        return []
    return [str(one) for one in prepared] if isinstance(prepared, list | tuple) else [str(prepared)]


def _entered_texts(noun: NamesRows, field: forms.Field, value: object) -> list[str]:
    """Return an entry as the page would send it. Raises: Refused: it names nothing that can be chosen."""
    if isinstance(field, forms.NullBooleanField):
        return [_truth(value)]
    if value is None or value == "":
        return []
    if isinstance(field, forms.JSONField):
        return [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]
    if isinstance(field, forms.BooleanField):
        return ["on"] if field.to_python(value[-1] if isinstance(value, list) else value) else []
    return _texts_of_values(noun, field, value if isinstance(value, list | tuple) else [value])


def _texts_of_values(noun: NamesRows, field: forms.Field, values: Sequence[object]) -> list[str]:
    if any(NUL in str(one) for one in values):
        raise Refused("Null characters are not allowed.")
    if isinstance(field, forms.ModelChoiceField):
        rows = field.queryset
        assert rows is not None
        reference: Reference = getattr(field, "reference", None) or noun.reference_to(rows.model)
        return [str(field.prepare_value(reference.find(rows, one))) for one in values]
    if isinstance(field, forms.ChoiceField):
        codes = {label: code for code, label in _choices(field)} | names_of_choices(field)  # the page's words as well
        codes = {**getattr(field, "other_names", {}), **codes}
        return [codes.get(str(one), str(one)) for one in values]
    if isinstance(field, TextsField):
        return [str(one) for one in values]
    return [", ".join(map(str, values))]


def _truth(value: object) -> str:
    """Return yes, no or neither as a page sends it. Raises: Refused: it is none of them."""
    text = "unknown" if value in (None, "") else str(value).lower()
    if text not in TRUTHS:
        raise Refused("Say yes, no or unknown.")
    return TRUTHS[text]


def words_of_errors(errors: JsonDict, name_of: Callable[[str], str]) -> str:
    """Return the sentences of a refused form, each behind its field as `name_of` writes it."""
    return " ".join(
        f"{name_of(name)}: {sentence}" if name else sentence
        for name, sentences in errors.items()
        for sentence in sentences
    )
