"""The form of acts that cannot be taken back: it says what they do, and asks for the name of what is meant."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Model
from django.utils.datastructures import MultiValueDict

from evalsite.base.actions.deletions import dependents_of
from evalsite.base.json_types import JsonObject


class ConfirmForm(forms.Form):
    """The name of what is meant. Without it the form says what would go, so that every door shows it first."""

    confirm = forms.CharField(max_length=300, label="Name", help_text="In full, so that nothing else is meant.")

    def __init__(
        self, data: MultiValueDict[str, Any] | None, *, name: str, consequences: str, refusal: str = ""
    ) -> None:
        super().__init__(data)
        self.name, self.consequences = name, refusal or consequences
        self.refusal = refusal or f"{consequences} To do that, give the name in full: {name}"
        self.fields["confirm"].error_messages["required"] = self.refusal
        self.is_refused = bool(refusal)
        self.fields["confirm"].widget.attrs |= {"autocomplete": "off", "placeholder": name}

    def clean_confirm(self) -> str:
        """Refuse any other name, and tell what would be done."""
        entered = str(self.cleaned_data["confirm"])
        if self.is_refused or entered != self.name:
            raise forms.ValidationError(self.refusal)
        return entered


def deletion_form(row: Model, _first: JsonObject, data: MultiValueDict[str, Any] | None) -> ConfirmForm:
    """Return the form of a deletion, with what hangs on the row."""
    found = dependents_of(row)
    return ConfirmForm(data, name=str(row).strip(), consequences=found.words, refusal=found.refusal)
