"""Fields of forms for days and dollars, and the one look of every form: templates/_form.html and _field.html."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.forms.renderers import TemplatesSetting

from evalsite.base.types import in_one_line


class DayField(forms.DateField):
    """A day of the site's time zone that may be left out."""

    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    input_formats = ("%Y-%m-%d",)

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, **options)

    def to_python(self, value: Any) -> date | None:
        """Return the day. Raises: ValidationError, which names what was written instead."""
        try:
            return super().to_python(value)
        except forms.ValidationError as error:
            raise forms.ValidationError(f"“{str(value)[:40]}” is not a day. Write it as 2026-01-31.") from error


_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")


class NameField(forms.CharField):
    """A name in one line, without control characters and what turns the direction of the text around it.

    It is kept as pages show it, so that names which look the same are the same. What cannot be seen is no name.
    """

    def to_python(self, value: Any) -> str | None:
        """Return the name; nothing where there is none."""
        name = in_one_line(_HIDDEN.sub(" ", super().to_python(value) or ""))
        can_be_seen = any(unicodedata.category(character)[0] not in "CZ" for character in name)
        return name if can_be_seen else self.empty_value


def with_plain_ends(text: str) -> str:
    """Return a text with one character at the end of each line: browsers send two."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class LinesField(forms.CharField):
    """A text of several lines, the same whoever sends it."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> str:
        """Return the text with plain ends of lines."""
        return with_plain_ends(super().to_python(value) or "")


class BudgetField(forms.DecimalField):
    """Dollars with as many places as prices of calls have; empty: no limit."""

    def __init__(self, **options: Any) -> None:
        usual: dict[str, Any] = {"required": False, "min_value": Decimal("0.000001"), "label": "Budget in USD"}
        usual["error_messages"] = {"invalid": "Enter the budget as a number of dollars."}
        super().__init__(**usual | {"max_digits": 14, "decimal_places": 6} | options)


def offer_rows(form: forms.BaseForm, name: str, rows: QuerySet[Any]) -> None:
    """Let a field of a form take one of these rows."""
    field = form.fields[name]
    assert isinstance(field, forms.ModelChoiceField)
    field.queryset = rows


def offer_choices(form: forms.BaseForm, name: str, choices: Iterable[tuple[str, str]]) -> None:
    """Let a field of a form take one of these values, each with its words."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = list(choices)


def check_period(form: forms.Form, first_name: str, last_name: str) -> None:
    """Add an error where the days of a form that is being cleaned end before they begin."""
    first, last = form.cleaned_data.get(first_name), form.cleaned_data.get(last_name)
    if first and last and last < first:
        form.add_error(last_name, "The period ends before it begins.")


class SiteFormRenderer(TemplatesSetting):
    """For the setting FORM_RENDERER; needs django.forms among the installed apps."""

    form_template_name = "_form.html"
    field_template_name = "_field.html"
